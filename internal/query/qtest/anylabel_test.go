package qtest

import (
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
)

// TestAnyLabel: a node without a label in the pattern is found through all indexes on the key, and among the nodes that no such label has, wherever
// these lie: without any label, with another one, with one that was taken away, in this transaction's changes. Heaps that hold none of them are not read.
func TestAnyLabel(t *testing.T) {
	for name, db := range map[string]*DB{"memory": New(nil), "engine": On(engineStore(t))} {
		t.Run(name, func(t *testing.T) {
			for _, q := range []string{
				"CREATE INDEX FOR (n:A) ON (n.id)", "CREATE INDEX FOR (n:B) ON (n.id)", "CREATE INDEX FOR (n:A) ON (n.name)",
				"UNWIND range(0, 299) AS i CREATE (:A {id: i, name: 'a' + i}), (:B {id: i})",
			} {
				db.Must(t, q, nil)
			}
			find := func(want string) {
				t.Helper()
				for _, off := range []map[plan.Rule]bool{nil, {plan.RuleSeekUnion: true}} {
					db.Plan = plan.Options{Off: off}
					db.Exec = exec.Options{Profile: true}
					res := db.Must(t, "MATCH (n {id: 7}) UNWIND labels(n) + [''] AS l WITH n, l ORDER BY l WITH n, collect(l) AS ls RETURN reduce(s = '', l IN ls | s + l) AS s ORDER BY s", nil)
					if got := strings.Join(strings.Fields(res.Text()), " "); got != want {
						t.Errorf("without %v: %s, want %s", off, got, want)
					}
					if read := res.Counters.RowsRead; name == "engine" && off == nil && read > 30 {
						t.Errorf("%d rows are read to find %s", read, want)
					}
				}
			}
			find("'A' 'B'")
			db.Must(t, "CREATE ({id: 7}), (:C {id: 7}), (:A:B {id: 7}), (:C:A {id: 7})", nil)
			find("'' 'A' 'AB' 'AC' 'B' 'C'")
			db.Must(t, "MATCH (n:A:B {id: 7}) REMOVE n:A", nil)
			find("'' 'A' 'AC' 'B' 'B' 'C'")
			db.Must(t, "MATCH (n:C:A {id: 7}) REMOVE n:C, n:A", nil)
			find("'' '' 'A' 'B' 'B' 'C'")
			db.Plan = plan.Options{}
			if got := db.Must(t, "CREATE (:New {id: 7}) WITH * MATCH (n {id: 7}) WITH count(*) AS before MATCH (n:New) REMOVE n:New SET n:A WITH before MATCH (n {id: 7}) RETURN before, count(*)", nil).Text(); got != "7 | 7\n" {
				t.Errorf("inside a statement that writes: %s", got)
			}
		})
	}
	// A label whose vertices are all read anyway saves nothing.
	db := New(nil)
	db.Must(t, "CREATE INDEX FOR (n:A) ON (n.id)", nil)
	db.Must(t, "UNWIND range(0, 99) AS i CREATE (:A {id: i}), (:B {id: i}), (:C {id: i})", nil)
	db.Exec = exec.Options{Profile: true}
	for _, op := range db.Must(t, "MATCH (n {id: 7}) RETURN count(*)", nil).Profile {
		if op != nil && op.Name == "Union" {
			t.Error("most vertices are read all the same, and an index is asked besides")
		}
	}
}
