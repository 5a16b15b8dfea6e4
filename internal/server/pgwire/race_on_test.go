//go:build race

package pgwire

const raceDetector = true // it allocates, and empties pools at random
