package qtest

import (
	"fmt"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
)

// Subqueries and FOREACH see what their own earlier iterations wrote, in row order, and work on each row apart, at every batch size
// (rules A5, C1; plan P6).
func TestSubqueries(t *testing.T) {
	script := []struct{ q, want string }{
		{"UNWIND [1,2,3] AS x CALL { WITH x MERGE (n:C) ON CREATE SET n.k = x ON MATCH SET n.k = n.k + x RETURN n.k AS k } RETURN x, k", "1 | 1\n2 | 3\n3 | 6\n"},
		{"UNWIND [1,2,3] AS x CALL { WITH x CREATE (:U {x: x}) } RETURN x", "1\n2\n3\n"},
		{"MATCH (u:U) CALL { WITH u MATCH (v:U) WHERE v.x >= u.x RETURN count(v) AS c } RETURN u.x, c ORDER BY u.x", "1 | 3\n2 | 2\n3 | 1\n"},
		{"MATCH (u:U) CALL { WITH u MATCH (v:U) WHERE v.x > u.x + 5 RETURN count(v) AS c, collect(v) AS l } RETURN u.x, c, l ORDER BY u.x", "1 | 0 | []\n2 | 0 | []\n3 | 0 | []\n"},
		{"MATCH (u:U) CALL { WITH u MATCH (v:U) WHERE v.x > u.x RETURN v.x AS c ORDER BY c DESC LIMIT 1 } RETURN u.x, c ORDER BY u.x", "1 | 3\n2 | 3\n"},
		{"MATCH (u:U) CALL { WITH u RETURN u.x AS c UNION WITH u RETURN u.x * 10 AS c } RETURN u.x, c ORDER BY u.x, c", "1 | 1\n1 | 10\n2 | 2\n2 | 20\n3 | 3\n3 | 30\n"},
		{"MATCH (u:U) CALL { WITH u UNWIND [1,1,2] AS z RETURN DISTINCT z * u.x AS c } RETURN u.x, c ORDER BY u.x, c", "1 | 1\n1 | 2\n2 | 2\n2 | 4\n3 | 3\n3 | 6\n"},
		{"UNWIND [1,2] AS x CALL { WITH x MATCH (u:U) SET u.y = coalesce(u.y, 0) + x RETURN sum(u.y) AS s } RETURN x, s", "1 | 3\n2 | 9\n"},
		{"CALL { MATCH (u:U) RETURN collect(u.x) AS l } RETURN size(l)", "3\n"},
		{"MATCH (u:U) RETURN u.x, [(u)--(v) | v.x] AS l, COLLECT { MATCH (w:U) WHERE w.x < u.x RETURN w.x ORDER BY w.x } AS c, COUNT { MATCH (w:U) WHERE w.x < u.x } AS k ORDER BY u.x",
			"1 | [] | [] | 0\n2 | [] | [1] | 1\n3 | [] | [1, 2] | 2\n"},
		{"MATCH (u:U) WHERE COUNT { MATCH (w:U) WHERE w.x < u.x } = 1 RETURN u.x", "2\n"},
		{"UNWIND [1,2,3] AS x CALL { WITH x CALL { WITH x RETURN x * 2 AS y } RETURN y + 1 AS z } RETURN x, z", "1 | 3\n2 | 5\n3 | 7\n"},
		{"UNWIND [1,2,1] AS x CALL { WITH x MATCH (n:U {x: x}) DETACH DELETE n RETURN count(*) AS c } RETURN x, c", "1 | 1\n2 | 1\n1 | 0\n"},
		{"FOREACH (x IN [1,2,3] | MERGE (d:D) ON CREATE SET d.n = 1 ON MATCH SET d.n = d.n + 1)", ""},
		{"MATCH (d:D) RETURN d.n", "3\n"},
		{"UNWIND [1,2,3] AS x FOREACH (y IN range(1, x) | CREATE (:E {x: x, y: y}))", ""},
		{"MATCH (e:E) RETURN count(*), sum(e.y)", "6 | 10\n"},
		{"MATCH (e:E) WITH e ORDER BY e.x, e.y LIMIT 2 CALL { WITH e SET e.z = 1 } RETURN e.z", "1\n1\n"},
		{"MATCH (e:E) OPTIONAL MATCH (e)-[:NONE]->(f) WITH e, f ORDER BY e.x DESC, e.y DESC RETURN collect(e.y), count(f)", "[3, 2, 1, 2, 1, 1] | 0\n"},
	}
	for _, batch := range []int{1, 7, 1024} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			d := New(nil)
			d.Exec = exec.Options{BatchSize: batch, Poison: true}
			for _, s := range script {
				if got := d.Must(t, s.q, nil).Text(); got != s.want {
					t.Errorf("%s\ngot  %q\nwant %q", s.q, got, s.want)
				}
			}
		})
	}
}
