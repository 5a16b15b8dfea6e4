package hedgerow_test

import (
	"context"
	"testing"

	"github.com/hedgerowdb/hedgerow"
)

// TestUniqueInstants: a unique constraint judges as = does, so one moment written in two zones is there once (rules C9), whether the
// constraint came before the data or after it.
func TestUniqueInstants(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct{ name, one, same, other string }{
		{"datetime", "datetime('2020-01-01T00:00Z')", "datetime('2020-01-01T01:00+01:00')", "datetime('2020-01-01T01:00Z')"},
		{"time", "time('10:00Z')", "time('11:00+01:00')", "time('11:00Z')"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, err := hedgerow.OpenMemory(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			exec := func(text string) error {
				t.Helper()
				_, err := db.Exec(ctx, text, nil)
				return err
			}
			state := func(err error) string {
				if e, ok := err.(*hedgerow.Error); ok {
					return e.SQLState
				}
				return ""
			}
			if err := exec("CREATE CONSTRAINT u FOR (n:U) REQUIRE n.s IS UNIQUE"); err != nil {
				t.Fatal(err)
			}
			if err := exec("CREATE (:U {s: " + c.one + "}), (:U {s: " + c.other + "})"); err != nil {
				t.Fatal(err)
			}
			if got := state(exec("CREATE (:U {s: " + c.same + "})")); got != "23505" {
				t.Errorf("the same moment in another zone: %q", got)
			}
			if err := exec("MATCH (n:U {s: " + c.one + "}) SET n.s = " + c.same); err != nil {
				t.Errorf("a node may move its own moment to another zone: %v", err)
			}
			for _, look := range []string{c.one, c.same} {
				rows, err := db.Query(ctx, "MATCH (n:U {s: "+look+"}) RETURN count(n)", nil)
				if err != nil {
					t.Fatal(err)
				}
				if n, err := hedgerow.Collect[int64](rows); err != nil || n[0] != 1 {
					t.Errorf("%s finds %v nodes, %v", look, n, err)
				}
			}
			if err := exec("MERGE (n:U {s: " + c.one + "}) SET n.m = 1"); err != nil {
				t.Error(err)
			}
			if err := exec("CREATE (:V {s: " + c.one + "}), (:V {s: " + c.same + "})"); err != nil {
				t.Fatal(err)
			}
			if got := state(exec("CREATE CONSTRAINT v FOR (n:V) REQUIRE n.s IS UNIQUE")); got != "23505" {
				t.Errorf("a constraint over two equal moments: %q", got)
			}
			faults, err := db.Check(ctx)
			if err != nil || len(faults) > 0 {
				t.Errorf("check: %v, %v", faults, err)
			}
		})
	}
}
