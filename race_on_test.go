//go:build race

package hedgerow_test

const raceDetector = true // it allocates, and empties pools at random
