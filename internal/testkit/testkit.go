// Package testkit is what tests of several packages share. Nothing else imports it.
package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// Shared returns the place of a public data set (the openCypher TCK, SNB data, recorded clients …): below HEDGEROW_SHARED, else below ../shared
// beside the repository. The test is skipped where it is absent.
func Shared(t testing.TB, parts ...string) string {
	t.Helper()
	root := os.Getenv("HEDGEROW_SHARED")
	if root == "" {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				break
			}
			up := filepath.Dir(dir)
			if up == dir {
				t.Skip("not within the repository")
			}
			dir = up
		}
		root = filepath.Join(dir, "..", "shared")
	}
	path := filepath.Join(append([]string{root}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%v: set HEDGEROW_SHARED to the folder of shared data to run this", err)
	}
	return path
}
