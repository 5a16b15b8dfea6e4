//go:build race

package expr

const raceEnabled = true // sync.Pool drops some of what it is given
