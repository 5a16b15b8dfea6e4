//go:build !race

package hedgerow_test

const raceDetector = false
