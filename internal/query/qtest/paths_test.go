package qtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/value"
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

// TestSharedSearch: rows that begin at the same vertex share a search: the relationships read are those of one walk through the graph, whatever the
// number of ends (query.md §3.11, IC1).
func TestSharedSearch(t *testing.T) {
	const n = 1000
	d := On(engineStore(t))
	d.Must(t, fmt.Sprintf("UNWIND range(0, %d) AS i CREATE (:P {i: i})", n-1), nil)
	d.Must(t, fmt.Sprintf("MATCH (a:P) WITH a ORDER BY a.i WITH collect(a) AS l UNWIND range(0, %d) AS i UNWIND [1, 7, 31] AS s WITH l[i] AS a, l[(i * 5 + s) %% %d] AS b CREATE (a)-[:K]->(b)", n-1, n), nil)
	all := int64(2 * 3 * n) // each relationship seen from both ends
	for _, c := range []struct {
		q    string
		most int64 // walks through the graph: one for each batch of candidates, which are made of 32, 128, 512 … rows
		want string
	}{
		{"MATCH (p:P {i: 0}) MATCH (f:P) WHERE f <> p WITH p, f MATCH path = shortestPath((p)-[:K*]-(f)) RETURN count(path), max(length(path)) < 9", 6, "999 | true\n"},
		{"MATCH (p:P {i: 0}) MATCH (f:P) WHERE f <> p WITH p, f MATCH path = allShortestPaths((p)-[:K*..3]-(f)) RETURN count(path) > 100", 6, "true\n"},
		{"MATCH (p:P {i: 0}) MATCH (f:P) WHERE f <> p WITH p, f MATCH path = ANY SHORTEST (p) ((a)-[r:K]-(b))+ (f) RETURN count(path)", 6, "999\n"},
		{"MATCH (p:P {i: 0}) MATCH path = ANY SHORTEST (p)-[:K]-+(f:P) RETURN count(path) >= 999", 2, "true\n"},
	} {
		res := d.Must(t, c.q, nil)
		if got := res.Text(); got != c.want {
			t.Errorf("%s\ngot  %q\nwant %q", c.q, got, c.want)
		}
		if read := res.Counters.EdgesRead; read == 0 || read > c.most*all {
			t.Errorf("%s\nread %d relationships, a walk through the graph is %d\n%s", c.q, read, all, res.Plan)
		}
	}
}

// TestPathLimits: a search is accounted for, and does not recurse on the length of paths.
func TestPathLimits(t *testing.T) {
	d := New(nil)
	d.Must(t, "CREATE (:P {i: 0})", nil)
	d.Must(t, "UNWIND range(1, 3000) AS i CREATE (:P {i: i})", nil)
	d.Must(t, "MATCH (a:P) WITH a ORDER BY a.i WITH collect(a) AS l UNWIND range(0, 2999) AS i WITH l[i] AS a, l[i + 1] AS b CREATE (a)-[:K]->(b)", nil)
	for _, q := range []string{
		"MATCH p = ANY SHORTEST (a:P {i: 0}) ((x)-[r:K]->(y))+ (b:P {i: 3000}) RETURN length(p), size(r)",
		"MATCH p = SHORTEST 2 (a:P {i: 0}) ((x)-[r:K]->(y)-[:K]->(z) WHERE x.i < z.i)+ (b:P {i: 3000}) RETURN length(p), size(r) * 2",
		"MATCH p = (a:P {i: 0}) ((x)-[r:K]->(y))+ (b:P {i: 3000}) RETURN length(p), size(r)",
	} {
		if got := d.Must(t, q, nil).Text(); got != "3000 | 3000\n" {
			t.Errorf("%s: %q", q, got)
		}
	}
	d.Exec = exec.Options{MemLimit: 64 << 10}
	_, err := d.Run("MATCH p = ANY SHORTEST (a:P {i: 0}) ((x)-[r:K]->(y))+ (b:P {i: 3000}) RETURN length(p)", nil)
	if !dberr.Is(err, dberr.OutOfMemory) {
		t.Errorf("a search beyond the memory limit: %v", err)
	}
}

func TestPathErrors(t *testing.T) {
	d := New(nil)
	for _, c := range []struct{ q, want string }{
		{"MATCH ((a)-->(b)) (c)-->(d) RETURN a", "needs a quantifier"},
		{"MATCH ((a)){2} RETURN a", "at least one relationship"},
		{"MATCH (((a)-->(b)){2} (c)-->(d)){2} RETURN a", "nested"},
		{"MATCH ((a)-->(b) ((c)-->(d)){2} (e)){2} RETURN a", "nested"},
		{"MATCH ((a)-[*]->(b)){2} RETURN a", "cannot be part of a quantified path pattern"},
		{"MATCH ((a)-->+(b)){2} RETURN a", "cannot be part of a quantified path pattern"},
		{"MATCH (p = (a)-->(b)){2} RETURN a", "assigning a path"},
		{"MATCH (a) MATCH ((a)-->(b)){2} RETURN a", "already defined in a previous clause"},
		{"MATCH ((a)-->(b)){2} ((a)-->(c)){2} RETURN a", "elsewhere in the same MATCH"},
		{"MATCH ((a)-[r]->(b)-[r]->(c)){2} RETURN a", "cannot be used twice"},
		{"MATCH (x) ((a)-->(b) WHERE a.n = x.n){2} RETURN a", "already bound in a previous clause"},
		{"MATCH ((a)-->(b)){2}, (a)-->(c) RETURN a", "not a Node"},
		{"MATCH ((a)-->(b)){2} RETURN a.n", "no propert"},
		{"MATCH ((a)-->(b)){0} RETURN a", "upper bound must be at least one"},
		{"MATCH ((a)-->(b)){3,2} RETURN a", "not below the lower"},
		{"MATCH (shortestPath((a)-[*]->(b))) RETURN a", "whole path"},
		{"MATCH (ANY SHORTEST (a)-->(b)){2} RETURN a", "whole path"},
		{"MATCH shortestPath((a) ((x)-->(y)){2} (b)) RETURN a", "cannot hold a quantified path pattern"},
		{"MATCH shortestPath((a)-->+(b)) RETURN a", "cannot hold a quantified relationship"},
		{"MATCH shortestPath((a)-->(b)-->(c)) RETURN a", "a single relationship"},
		{"MATCH shortestPath((a)-[*2..]->(b)) RETURN a", "does not support a minimal length different from 0 or 1"},
		{"MATCH allShortestPaths((a)-[*3]->(b)) RETURN a", "does not support a minimal length different from 0 or 1"},
		{"MATCH ANY SHORTEST shortestPath((a)-[*]->(b)) RETURN a", "cannot be combined"},
		{"MATCH ANY SHORTEST (a)-->+(b), (c) RETURN a", "multiple path patterns"},
		{"MATCH SHORTEST 1 (a)-->+(b), SHORTEST 1 (c)-->+(d) RETURN a", "multiple path patterns"},
		{"MATCH SHORTEST 0 (a)-->+(b) RETURN a", "greater than 0"},
		{"MATCH SHORTEST (a)-->+(b) RETURN a", "a number of paths"},
		{"MATCH REPEATABLE ELEMENTS (a)-->(b) RETURN a", "not part of Cypher 5"},
		{"MATCH (a) RETURN [(a) ((x)-->(y)){2} (b) | 1]", ""},
		{"MATCH (a) RETURN [p = ANY SHORTEST (a)-->(b) | p]", ""},
		{"CREATE ((a)-[:T]->(b)){2}", ""},
		{"CREATE ANY SHORTEST (a)-[:T]->(b)", "matched only"},
		{"MERGE ((a)-[:T]->(b)){2}", ""},
	} {
		_, err := d.Run(c.q, nil)
		if err == nil {
			t.Errorf("%s is accepted", c.q)
			continue
		}
		e := dberr.As(err)
		if text := e.Error() + " " + e.Hint; !strings.Contains(text, c.want) || e.Phase != dberr.CompileTime || e.Code == dberr.Internal {
			t.Errorf("%s\n%s", c.q, Explain(err))
		}
	}
	d.Must(t, "CREATE (:A)-[:T]->(:B)", nil)
	for _, k := range []value.Value{value.NewInt(0), value.NewInt(-1), value.NewString("x"), {}} {
		if _, err := d.Run("MATCH SHORTEST $k (a:A)-->+(b) RETURN a", Params{"k": k}); err == nil || dberr.Is(err, dberr.Internal) {
			t.Errorf("SHORTEST %s: %v", Canon(k, false), err)
		}
	}
	if got := d.Must(t, "MATCH p = SHORTEST $k PATHS (a:A)-->+(b) RETURN length(p)", Params{"k": value.NewInt(2)}).Text(); got != "1\n" {
		t.Errorf("SHORTEST $k: %q", got)
	}
}

// TestShortestToItself: a documented difference to Neo4j, which raises an error by default.
func TestShortestToItself(t *testing.T) {
	eachRun(t, func(t *testing.T, d *DB) {
		d.Must(t, pathsGraph, nil)
		for q, want := range map[string]string{
			"MATCH (a {n: 1}) MATCH p = shortestPath((a)-[*]->(a)) RETURN length(p)":                                "3\n",
			"MATCH (a {n: 1}) MATCH p = shortestPath((a)-[*0..]->(a)) RETURN length(p)":                             "0\n",
			"MATCH (a {n: 1}), (b {n: 1}) MATCH p = allShortestPaths((a)-[*]->(b)) RETURN length(p)":                "3\n",
			"MATCH (a {n: 1}), (b) MATCH p = shortestPath((a)-[*]->(b)) RETURN b.n AS n, length(p) AS l ORDER BY n": "1 | 3\n2 | 1\n3 | 1\n4 | 2\n",
			"MATCH (a {n: 1})-[:R*1..2]->(x)-[:R]->{1,2}(b) RETURN x.n AS x, b.n AS b ORDER BY x, b":                "2 | 3\n2 | 4\n3 | 4\n",
		} {
			if got := d.Must(t, q, nil).Text(); got != want {
				t.Errorf("%s\ngot  %q\nwant %q", q, got, want)
			}
		}
	})
}

// TestPathWrites: what a path binds may be written, and paths see what earlier clauses wrote.
func TestPathWrites(t *testing.T) {
	script := []struct{ q, want string }{
		{"MATCH ANY SHORTEST (a {n: 1})-[f:R]->(m:N)-->+(b {n: 4}) SET m.seen = true, f.seen = 1 RETURN m.n", "2\n"},
		{"MATCH (a {n: 1}) ((x)-[r:R]->(y)){1,2} (b) FOREACH (i IN y | SET i.k = coalesce(i.k, 0) + 1) RETURN count(*)", "2\n"},
		{"MATCH (x) WHERE x.k IS NOT NULL RETURN x.n, x.k ORDER BY x.n", "2 | 2\n3 | 1\n"},
		{"MATCH (d {n: 4}) CREATE (d)-[:R]->(e:N {n: 5}) WITH e MATCH p = SHORTEST 1 (a {n: 1})-[:R]->+(e) RETURN length(p)", "4\n"},
		{"MATCH (a {n: 1}) MATCH p = shortestPath((a)-[:R*]->(e {n: 5})) WHERE length(p) > 2 SET e.l = length(p) RETURN e.l", "4\n"},
		{"MATCH p = ALL SHORTEST (a {n: 1})-[:R]->+(e {n: 5}) UNWIND relationships(p) AS r DELETE r RETURN count(*)", "4\n"},
		{"MATCH (a {n: 1}) OPTIONAL MATCH p = ANY SHORTEST (a) ((x)-[:R]->(y))+ (b) RETURN p, x", "null | null\n"},
		{"MATCH (a {n: 1}) MATCH SHORTEST 1 (a)-[s]->(m)-[q]->(b {n: 4}) RETURN count(*)", "0\n"},
		{"MATCH (a {n: 1}), (b {n: 3}) MERGE (a)-[:R]->(b) WITH a MATCH p = ANY (a)-[:R]->{1,5}(c) RETURN c.n", "3\n"},
	}
	eachRun(t, func(t *testing.T, d *DB) {
		d.Must(t, pathsGraph, nil)
		for _, s := range script {
			if got := d.Must(t, s.q, nil).Text(); got != s.want {
				t.Errorf("%s\ngot  %q\nwant %q", s.q, got, s.want)
			}
		}
	})
}

// TestFewerPathsThanWanted: a search that is asked for more paths than there are ends when none is left, and does not try all lengths up to the number of
// relationships, which on a star would take its square.
func TestFewerPathsThanWanted(t *testing.T) {
	d := New(nil)
	d.Must(t, "CREATE (h:Hub) WITH h UNWIND range(1, 1000) AS i CREATE (h)-[:K]->(:Leaf {i: i})", nil)
	for q, want := range map[string]string{
		"MATCH (a:Leaf {i: 1}), (b:Leaf {i: 2}) MATCH p = SHORTEST 3 (a)-[:K]-+(b) RETURN length(p)":                        "2\n",
		"MATCH (a:Leaf {i: 1}), (b:Leaf {i: 2}) MATCH p = SHORTEST 2 GROUPS (a) ((x)-[:K]-(y))+ (b) RETURN length(p)":       "2\n",
		"MATCH (a:Leaf {i: 1}), (b:Leaf {i: 2}) MATCH p = shortestPath((a)-[:K*]-(b)) WHERE length(p) > 2 RETURN length(p)": "",
	} {
		if got := d.Must(t, q, nil).Text(); got != want {
			t.Errorf("%s\ngot  %q\nwant %q", q, got, want)
		}
	}
}

// A vertex that hangs on one relationship has no trail back to itself, however many walks there are: the search does not list what lies behind
// it to find that out.
func TestPathsBackToTheirStart(t *testing.T) {
	for _, batch := range []int{1, 3, 1024} {
		d := New(nil)
		d.Exec = exec.Options{BatchSize: batch, Poison: true}
		d.Must(t, "UNWIND range(1, 16) AS n CREATE (:N {n: n})", nil)
		d.Must(t, "MATCH (a:N), (b:N) WHERE a.n < b.n CREATE (a)-[:R]->(b)", nil)
		d.Must(t, "MATCH (a:N {n: 1}) CREATE (a)-[:R]->(:X {n: 0})", nil)
		for _, c := range []struct{ q, want string }{
			{"MATCH (x:X) MATCH p = shortestPath((x)-[*]-(y)) RETURN length(p) AS l, count(*) AS c ORDER BY l", "1 | 1\n2 | 15\n"},
			{"MATCH p = ANY SHORTEST (x:X)--+(y) RETURN length(p) AS l, count(*) AS c ORDER BY l", "1 | 1\n2 | 15\n"},
			{"MATCH p = ANY SHORTEST (x:X)--*(y) RETURN length(p) AS l, count(*) AS c ORDER BY l", "0 | 1\n1 | 1\n2 | 15\n"},
			{"MATCH p = ANY SHORTEST (x:X)--+(x) RETURN length(p)", ""},
			{"MATCH p = ALL SHORTEST (x:X)--{,40}(y:X) RETURN length(p)", "0\n"},
			{"MATCH p = ANY SHORTEST (x:N {n: 3})-[r]-+(y) RETURN length(p) AS l, count(*) AS c, sum(size(r)) AS s ORDER BY l", "1 | 15 | 15\n2 | 1 | 2\n3 | 1 | 3\n"},
			{"MATCH p = ALL SHORTEST (x:N {n: 3})--+(y:N {n: 3}) RETURN length(p) AS l, count(*) AS c, count(DISTINCT nodes(p)[1]) AS f", "3 | 210 | 15\n"},
			{"MATCH p = SHORTEST 1 GROUP (x:N {n: 3})--+(x) RETURN length(p) AS l, count(*) AS c", "3 | 210\n"},
			{"UNWIND [3, 4, 3] AS n MATCH p = ANY SHORTEST (x:N {n: n})--+(y:N {n: 3}) RETURN n, length(p) AS l ORDER BY n, l", "3 | 3\n3 | 3\n4 | 1\n"},
		} {
			res, err := d.Run(c.q, nil)
			if err != nil {
				t.Errorf("%s\n%s", c.q, Explain(err))
			} else if got := res.Text(); got != c.want {
				t.Errorf("batch %d: %s\ngot  %q\nwant %q", batch, c.q, got, c.want)
			}
		}
	}
}
