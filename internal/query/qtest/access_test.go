package qtest

import (
	"fmt"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
)

// TestAccess: however vertices are found (by scan, one index, several, in the order of one), the rows are the same and in the order asked for.
func TestAccess(t *testing.T) {
	data := []string{
		`UNWIND range(0, 299) AS i CREATE (n:P {id: i, a: i % 7, s: 'x' + i}) FOREACH (x IN CASE WHEN i % 3 = 0 THEN [1] ELSE [] END | SET n.b = toFloat(i % 11), n:Q)`,
		`CREATE (:P {id: 1000, a: 'text', b: [1, 2]}), (:P {id: 1001, a: true, b: null}), (:P {id: 1002, a: 0.0 / 0.0, b: 0.0 / 0.0}), (:Q {id: 1003, a: 3, b: 3}), (:P {id: 1004})`,
		`CREATE (:T {t: datetime('2020-01-01T00:00:00Z')}), (:T {t: datetime('2020-01-01T01:00:00+01:00')}), (:T {t: datetime('2021-01-01T00:00:00Z')})`,
		`MATCH (a:P), (b:P) WHERE b.id = a.id + 1 CREATE (a)-[:R {w: a.id}]->(b)`,
	}
	indexes := []string{"CREATE INDEX FOR (n:P) ON (n.a)", "CREATE INDEX FOR (n:P) ON (n.b)", "CREATE INDEX FOR (n:Q) ON (n.b)", "CREATE CONSTRAINT FOR (n:P) REQUIRE n.id IS UNIQUE",
		"CREATE INDEX FOR (n:P) ON (n.a, n.b)", "CREATE INDEX FOR (n:P) ON (n.s)", "CREATE INDEX FOR (n:T) ON (n.t)", "CREATE INDEX FOR ()-[r:R]-() ON (r.w)"}
	queries := []struct{ q, want string }{
		{"MATCH (n:P) WHERE n.a = 3 OR n.b = 3 RETURN count(n), count(DISTINCT n), sum(n.id)", ""},
		{"MATCH (n:P) WHERE n.a = 3 AND n.b = 3.0 OR n.id = 5 OR n.id IN [5, 6, 7, 7] RETURN n.id ORDER BY n.id", ""},
		{"MATCH (n) WHERE n:P AND n.b = 3 OR n:Q AND n.b = 3 RETURN n.id ORDER BY n.id", ""},
		{"MATCH (n:P|Q {b: 3}) RETURN n.id ORDER BY n.id", ""},
		{"MATCH (n:P|T) WHERE n.a = 3 OR n.s = 'x4' RETURN n.id ORDER BY n.id", ""},
		{"UNWIND [3, 4, null, 'text'] AS x MATCH (n:P) WHERE n.a = x OR n.id = x RETURN x, count(*) ORDER BY x", ""},
		{"UNWIND [3, 4] AS x OPTIONAL MATCH (n:P) WHERE n.id = x * 1000 OR n.s = 'x' + x RETURN x, n.id ORDER BY x", ""},
		{"MATCH (n:P) RETURN n.a ORDER BY n.a LIMIT 290", ""},
		{"MATCH (n:P) RETURN n.a ORDER BY n.a DESC LIMIT 290", ""},
		{"MATCH (n:P) WHERE n.a IS NOT NULL RETURN n.a ORDER BY n.a DESC SKIP 3 LIMIT 7", ""},
		{"MATCH (n:P) WHERE n.b IS NOT NULL AND n.id > 10 RETURN n.b AS x ORDER BY x LIMIT 60", ""},
		{"MATCH (n:P) WHERE n.id >= 0 RETURN n.id, n.s ORDER BY n.id, n.s DESC LIMIT 5", ""},
		{"MATCH (n:P {a: 3}) WHERE n.b > 0 RETURN n.b ORDER BY n.b DESC LIMIT 5", ""},
		{"MATCH (n:P)-[:R]->(m) WHERE n.id > 7 RETURN n.id, m.id ORDER BY n.id DESC LIMIT 4", ""},
		{"MATCH (n:P) WITH n AS m ORDER BY m.id LIMIT 3 RETURN collect(m.id)", "[0, 1, 2]\n"},
		{"MATCH (n:P) WITH n.a AS a, n.id AS id ORDER BY id DESC LIMIT 3 WITH id AS a, a AS id RETURN a, id ORDER BY a", ""},
		{"MATCH (n:P) RETURN min(n.a), 1", "'text' | 1\n"},
		{"MATCH (n:P) RETURN max(n.a)", "NaN\n"},
		{"MATCH (n:P) WHERE n.a < 5 RETURN max(n.a), 2", "4 | 2\n"},
		{"MATCH (n:P) WHERE n.id > 10000 RETURN max(n.a)", "null\n"},
		{"MATCH (n:P) WHERE n.id % 50 = 7 RETURN max(n.id)", "257\n"},
		{"MATCH (n:T) WHERE n.t IN [datetime('2020-01-01T00:00:00Z'), datetime('2020-01-01T02:00:00+02:00'), null, 3] RETURN count(*)", "2\n"},
		{"MATCH (n:P) WHERE n.a IS NOT NULL RETURN count(*)", "303\n"},
		{"MATCH ()-[r:R]->() WHERE r.w > 290 RETURN r.w ORDER BY r.w", ""},
	}
	answers := func(withIndex bool, batch int, opt plan.Options) []string {
		db := New(nil)
		db.Exec, db.Plan = exec.Options{BatchSize: batch, Poison: true, Reference: opt.Reference}, opt
		if withIndex {
			for _, ix := range indexes {
				db.Must(t, ix, nil)
			}
		}
		for _, d := range data {
			db.Must(t, d, nil)
		}
		var out []string
		for _, q := range queries {
			out = append(out, db.Must(t, q.q, nil).Text())
		}
		return out
	}
	want := answers(false, 1024, plan.Options{Reference: true})
	for i, q := range queries {
		if q.want != "" && want[i] != q.want {
			t.Errorf("%s\ngot  %q\nwant %q", q.q, want[i], q.want)
		}
	}
	for _, batch := range []int{1, 7, 1024} {
		for _, force := range []bool{false, true} {
			t.Run(fmt.Sprintf("batch %d, force %v", batch, force), func(t *testing.T) {
				for i, got := range answers(true, batch, plan.Options{Force: force}) {
					if got != want[i] {
						t.Errorf("%s\ngot  %q\nwant %q", queries[i].q, got, want[i])
					}
				}
			})
		}
	}
}
