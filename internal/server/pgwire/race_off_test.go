//go:build !race

package pgwire

const raceDetector = false
