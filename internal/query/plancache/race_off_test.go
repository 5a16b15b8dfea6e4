//go:build !race

package plancache_test

// raceEnabled says that the detector is on: its own allocations are counted then, and all is ten times slower.
const raceEnabled = false
