package qtest

import (
	"fmt"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
)

// pathsGraph is a line 1→2→3→4 of R with a shortcut 1→3 of S, a way 4→1 of S that closes the circle, and a loop at 2.
const pathsGraph = `CREATE (a:N {n: 1}), (b:N {n: 2}), (c:N {n: 3}), (d:N:End {n: 4}), (a)-[:R {w: 1}]->(b), (b)-[:R {w: 2}]->(c), (c)-[:R {w: 3}]->(d),
	(a)-[:S {w: 4}]->(c), (d)-[:S {w: 5}]->(a), (b)-[:L {w: 6}]->(b)`

// both runs f on the subject at several batch sizes and on the reference run.
func eachRun(t *testing.T, f func(t *testing.T, d *DB)) {
	for _, batch := range []int{1, 3, 1024} {
		t.Run(fmt.Sprint("batch ", batch), func(t *testing.T) {
			d := New(nil)
			d.Exec = exec.Options{BatchSize: batch, Poison: true}
			f(t, d)
		})
	}
	t.Run("reference", func(t *testing.T) {
		d := New(nil)
		d.Exec = exec.Options{Reference: true}
		f(t, d)
	})
}

func TestQuantifiedPaths(t *testing.T) {
	list := "[x IN %s | x.n]"
	nn := func(s string) string { return fmt.Sprintf(list, s) }
	cases := []struct{ q, want string }{
		{"MATCH ((a)-[r:R]->(b)){1,2} RETURN " + nn("a") + " AS a, [x IN r | x.w] AS r, " + nn("b") + " AS b ORDER BY a, size(r)", "[1] | [1] | [2]\n[1, 2] | [1, 2] | [2, 3]\n[2] | [2] | [3]\n[2, 3] | [2, 3] | [3, 4]\n[3] | [3] | [4]\n"},
		{"MATCH (x {n: 1}) ((a)-[r:R]->(b))+ (y:End) RETURN size(r), " + nn("b"), "3 | [2, 3, 4]\n"},
		{"MATCH (x:End) ((a)<-[r:R]-(b))+ (y {n: 2}) RETURN " + nn("a") + ", [i IN r | i.w], " + nn("b"), "[4, 3] | [3, 2] | [3, 2]\n"},
		{"MATCH (x {n: 1}) ((a)-[:R|S]->(b)-[:R]->(c)){1,2} (y) RETURN " + nn("a") + ", " + nn("b") + ", " + nn("c") + " AS c ORDER BY c", "[1] | [2] | [3]\n[1] | [3] | [4]\n[1, 4] | [3, 1] | [4, 2]\n"},
		{"MATCH (x {n: 1}) ((a)-->(b) WHERE a.n < b.n)* (y {n: 4}) RETURN " + nn("b") + " AS b ORDER BY size(b)", "[3, 4]\n[2, 3, 4]\n"},
		{"MATCH (x {n: 1}) ((a)-[r]->(b)){0,1} (y) RETURN y.n AS y, " + nn("a") + ", size(r) AS s ORDER BY s, y", "1 | [] | 0\n2 | [1] | 1\n3 | [1] | 1\n"},
		{"MATCH p = (x {n: 1}) ((a)-[r:R]->(b)){2} (y)-[:R]->(z) RETURN [k IN nodes(p) | k.n], length(p)", "[1, 2, 3, 4] | 3\n"},
		{"MATCH p = ((a)-[:R]->(b)){1,1} ((c)-[:S]->(d)){1,1} RETURN [k IN nodes(p) | k.n] AS n ORDER BY n", "[3, 4, 1]\n"},
		{"MATCH (x {n: 2})((a)-[r]->(b)-[q]->(a)){1} (y) RETURN y.n", ""},
		{"MATCH (x) ((a)-[r]->(b)){1,} (x) RETURN x.n AS n, size(r) AS s ORDER BY n, s", "1 | 3\n1 | 4\n1 | 5\n2 | 1\n2 | 4\n2 | 5\n2 | 5\n3 | 3\n3 | 4\n3 | 5\n4 | 3\n4 | 4\n4 | 5\n"},
		{"MATCH (x {n: 1}) OPTIONAL MATCH (x) ((a)-[r:NONE]->(b))+ (y) RETURN x.n, a, r, y", "1 | null | null | null\n"},
		{"MATCH (x:N) WHERE EXISTS { (x) ((a)-[:R]->(b)){3} (:End) } RETURN x.n", "1\n"},
		{"MATCH (x:N) RETURN x.n AS n, COUNT { (x) ((a)-[:R]->(b))+ () } AS c ORDER BY n", "1 | 3\n2 | 2\n3 | 1\n4 | 0\n"},
		{"MATCH (x:N {n: 1}) RETURN COLLECT { MATCH (x) ((a)-[:R]->(b))+ (y) RETURN y.n ORDER BY y.n } AS c", "[2, 3, 4]\n"},
		{"WITH 2 AS k MATCH ((a)-[r]->(b) WHERE r.w = k){1,3} RETURN " + nn("a"), "[2]\n"},
		{"MATCH (z {n: 3}) MATCH (x {n: 1}) ((a)-[r]->(b) WHERE b.n <= z.n){1,3} (z) RETURN " + nn("b") + " AS b ORDER BY size(b)", "[3]\n[2, 3]\n[2, 2, 3]\n"},
		{"MATCH (x {n: 1}) ((a)-[r {w: 1}]->(b {n: 2}))+ (y) RETURN y.n", "2\n"},
		{"MATCH (x {n: 1})((a)-[:S|R]->(b) WHERE EXISTS { (b)-[:L]->() })+(y) RETURN y.n", "2\n"},
		{"MATCH (x {n: 1}) ((a)-[r]-(b)){2} (x) RETURN count(*) AS c", "0\n"},
		{"MATCH ((a:N)-[r:R]->(b)){2} MATCH (n) WHERE n IN a RETURN n.n AS n ORDER BY n", "1\n2\n2\n3\n"},
		{"MATCH (x {n: 1}), (x)-[r]->(y), (x) ((a)-[q]->(b)){1} (z) RETURN y.n AS y, z.n AS z ORDER BY y", "2 | 3\n3 | 2\n"},
		{"MATCH (x {n: 1}) (()-[r:R]->()){1,3} (y) RETURN size(r) AS s ORDER BY s", "1\n2\n3\n"},
		{"MATCH (x {n: 1})-[r:R WHERE r.w < 3]->{1,3}(y) RETURN y.n AS y ORDER BY y", "2\n3\n"},
		{"MATCH DIFFERENT RELATIONSHIPS (x {n: 1})-[r:R]->+(y) RETURN count(*)", "3\n"},
	}
	eachRun(t, func(t *testing.T, d *DB) {
		d.Must(t, pathsGraph, nil)
		for _, c := range cases {
			res, err := d.Run(c.q, nil)
			if err != nil {
				t.Errorf("%s\n%s", c.q, Explain(err))
				continue
			}
			if got := res.Text(); got != c.want {
				t.Errorf("%s\ngot  %q\nwant %q", c.q, got, c.want)
			}
		}
	})
}

func TestPathSelectors(t *testing.T) {
	n := "[x IN nodes(p) | x.n]"
	cases := []struct{ q, want string }{
		{"MATCH p = ANY SHORTEST (a {n: 1})-->+(b {n: 4}) RETURN " + n, "[1, 3, 4]\n"},
		{"MATCH p = SHORTEST 2 (a {n: 1})-->+(b {n: 4}) RETURN " + n + " AS n ORDER BY size(n)", "[1, 3, 4]\n[1, 2, 3, 4]\n"},
		{"MATCH p = SHORTEST 9 PATHS (a {n: 1})-->+(b {n: 4}) RETURN count(*)", "3\n"},
		{"MATCH p = SHORTEST 2 GROUPS (a {n: 1})-->+(b {n: 4}) RETURN length(p) AS l ORDER BY l", "2\n3\n"},
		{"MATCH p = ALL SHORTEST PATHS (a {n: 1})--+(b {n: 4}) RETURN " + n, "[1, 4]\n"},
		{"MATCH p = ANY (a {n: 1})-[:R]->+(b) RETURN " + n + " AS n ORDER BY size(n)", "[1, 2]\n[1, 2, 3]\n[1, 2, 3, 4]\n"},
		{"MATCH p = ANY 2 PATHS (a {n: 1})-->+(b {n: 4}) RETURN count(*)", "2\n"},
		{"MATCH ANY SHORTEST (p = (a {n: 1})-->+(b {n: 4}) WHERE length(p) > 2) RETURN " + n, "[1, 2, 3, 4]\n"},
		{"MATCH p = ANY SHORTEST (a {n: 1})-->+(b {n: 4}) WHERE length(p) > 2 RETURN " + n, ""},
		{"MATCH p = ANY SHORTEST ((a {n: 1})-[r]->+(b {n: 4}) WHERE any(x IN r WHERE x.w = 6)) RETURN " + n, "[1, 2, 2, 3, 4]\n"},
		{"MATCH p = ALL SHORTEST (a {n: 1})-[:R]->(m)-->+(b {n: 4}) RETURN m.n, " + n, "2 | [1, 2, 3, 4]\n"},
		{"MATCH p = SHORTEST 1 (a {n: 1}) ((x)-[r]->(y) WHERE x.n < y.n)+ (b:End)-[q]->(a) RETURN " + n + ", size(r), q.w", "[1, 3, 4, 1] | 2 | 5\n"},
		{"MATCH p = ANY SHORTEST (a)-->+(a) RETURN a.n AS n, length(p) AS l ORDER BY n", "1 | 3\n2 | 1\n3 | 3\n4 | 3\n"},
		{"MATCH p = ALL (a {n: 1})-[:R]->+(b) RETURN count(p)", "3\n"},
		{"MATCH p = ALL PATHS (a {n: 1})-[:R]->(b) RETURN count(p)", "1\n"},
		{"MATCH p = ANY SHORTEST (a {n: 1})-->*(b) RETURN b.n AS b, length(p) AS l ORDER BY b", "1 | 0\n2 | 1\n3 | 1\n4 | 2\n"},
		{"MATCH p = SHORTEST GROUP (a {n: 1})--{1,2}(b {n: 3}) RETURN length(p)", "1\n"},
		{"MATCH p = ANY SHORTEST (a {n: 1}) RETURN length(p)", "0\n"},
		{"MATCH (a {n: 1}) OPTIONAL MATCH p = ANY SHORTEST (a)-[:NONE]->+(b) RETURN a.n, p", "1 | null\n"},
		{"MATCH (a:N) WHERE EXISTS { ANY SHORTEST (a)-[:R]->+(:End) } RETURN a.n AS n ORDER BY n", "1\n2\n3\n"},
		{"MATCH (m {n: 2}) MATCH p = ANY SHORTEST (a {n: 1})-->(m)-->+(b {n: 4}) RETURN " + n, "[1, 2, 3, 4]\n"},
		{"UNWIND [1, 2] AS s MATCH p = ANY SHORTEST (a {n: s})-->+(b:End) RETURN s, length(p) AS l ORDER BY s", "1 | 2\n2 | 2\n"},
		{"MATCH p = shortestPath((a {n: 1})-[*]->(b {n: 4})) RETURN " + n, "[1, 3, 4]\n"},
		{"MATCH p = shortestPath((a {n: 1})-[*0..]->(b)) RETURN b.n AS b, length(p) AS l ORDER BY b", "1 | 0\n2 | 1\n3 | 1\n4 | 2\n"},
		{"MATCH p = shortestPath((a {n: 1})-[r:R]->(b)) RETURN b.n, r.w", "2 | 1\n"},
		{"MATCH (a {n: 1}), (b {n: 4}) MATCH p = shortestPath((a)-[*]->(b)) WHERE all(x IN nodes(p) WHERE x.n <> 3 OR x = a) RETURN " + n, ""},
		{"MATCH (a {n: 1}), (b {n: 4}) MATCH p = shortestPath((a)-[*]->(b)) WHERE none(r IN relationships(p) WHERE r.w = 4) RETURN " + n, "[1, 2, 3, 4]\n"},
		{"MATCH (a {n: 1}), (b {n: 4}) MATCH p = shortestPath((a)-[r*]->(b)) WHERE length(p) > 2 RETURN " + n + ", size(r)", "[1, 2, 3, 4] | 3\n"},
		{"MATCH (a {n: 1}), (b {n: 4}) MATCH p = allShortestPaths((a)-[*]->(b)) WHERE length(p) > 3 RETURN " + n, "[1, 2, 2, 3, 4]\n"},
		{"MATCH (a {n: 1}), (b {n: 4}) MATCH p = shortestPath((a)-[*]->(b)) MATCH (x) WHERE length(p) > 2 RETURN " + n, ""},
		{"MATCH (a {n: 1}), (b {n: 4}) WITH a, b, shortestPath((a)-[*]->(b)) AS p, allShortestPaths((a)-[:R*]->(b)) AS q RETURN length(p), size(q)", "2 | 1\n"},
	}
	eachRun(t, func(t *testing.T, d *DB) {
		d.Must(t, pathsGraph, nil)
		for _, c := range cases {
			res, err := d.Run(c.q, nil)
			if err != nil {
				t.Errorf("%s\n%s", c.q, Explain(err))
				continue
			}
			if got := res.Text(); got != c.want {
				t.Errorf("%s\ngot  %q\nwant %q", c.q, got, c.want)
			}
		}
	})
}
