//go:build invariant

package invariant

// Enabled reports whether the costly checks are compiled in.
const Enabled = true
