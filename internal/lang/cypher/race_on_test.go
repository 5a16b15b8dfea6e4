//go:build race

package cypher

const raceEnabled = true
