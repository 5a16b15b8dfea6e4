package hedgerow_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/hedgerowdb/hedgerow"
)

// An index never changes an answer: every comparison of every pair of values is the same through an index, made before or after the
// data, and without one, and WHERE p, NOT p and p IS NULL part the rows.
func TestIndexesDoNotChangeComparisons(t *testing.T) {
	vals := []string{"1", "1.0", "0", "-0.0", "9007199254740992", "9007199254740993", "9007199254740992.0", "9223372036854775807", "9223372036854775808.0", "0.0/0.0", "1.0/0.0",
		"''", "'a'", "'a\\u0000'", "'é'", "true", "[]", "[1]", "[1.0]", "date('2020-01-01')", "datetime('2020-01-01T00:00Z')", "datetime('2020-01-01T01:00+01:00')", "time('12:00Z')", "time('13:00+01:00')",
		"duration('P1D')", "duration('PT24H')", "duration('P1M')", "duration('P30D')", "null"}
	index := "CREATE INDEX FOR (n:L) ON (n.v)"
	var want []string
	for _, kind := range []string{"none", "before", "after"} {
		db, err := hedgerow.OpenMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		ask := func(q string) []string {
			rows, err := db.Query(context.Background(), q, nil)
			if err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			var out []string
			for row, err := range rows.All() {
				if err != nil {
					t.Fatalf("%s: %v", q, err)
				}
				out = append(out, fmt.Sprint(row.Values()...))
			}
			slices.Sort(out)
			return out
		}
		if kind == "before" {
			ask(index)
		}
		for u, v := range vals {
			ask(fmt.Sprintf("CREATE (:L {u: %d, v: %s})", u, v))
		}
		if kind == "after" {
			ask(index)
		}
		var got []string
		for _, v := range vals {
			for _, op := range []string{"=", "<>", "<", "<=", ">", ">="} {
				p := "n.v " + op + " " + v
				yes := ask("MATCH (n:L) WHERE " + p + " RETURN n.u")
				no, unknown := ask("MATCH (n:L) WHERE NOT ("+p+") RETURN n.u"), ask("MATCH (n:L) WHERE ("+p+") IS NULL RETURN n.u")
				if len(yes)+len(no)+len(unknown) != len(vals) {
					t.Errorf("%s, index %s: %d rows are true, %d false, %d unknown of %d", p, kind, len(yes), len(no), len(unknown), len(vals))
				}
				got = append(got, fmt.Sprint(p, yes))
			}
		}
		if want == nil {
			want = got
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("index %s: %s, without %s", kind, got[i], want[i])
			}
		}
	}
}
