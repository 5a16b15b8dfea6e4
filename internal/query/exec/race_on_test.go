//go:build race

package exec_test

const raceDetector = true // it allocates, and empties pools at random
