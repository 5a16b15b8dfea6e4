//go:build race

package engine_test

const raceDetector = true // it allocates, and empties pools at random
