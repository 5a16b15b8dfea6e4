package cypher

import (
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// seeds hold each form of the grammar once.
var seeds = []string{
	"RETURN 1", "MATCH (n) RETURN n;", "EXPLAIN MATCH (n) RETURN *", "PROFILE RETURN *, 1 AS x", "CYPHER 5 runtime=slotted RETURN 1",
	"USE g MATCH (n) RETURN n", "USE graph.byName('x') RETURN 1", "USE a.b RETURN 1",
	"MATCH (a:A:B {x: 1})-[r:T|:U*1..3 {y: $p}]->(b)<--(c)--(d) WHERE a.x < b.y <= 3 AND NOT (a)-->(b) RETURN a, b AS c ORDER BY a.x DESC, b SKIP 1 LIMIT $l",
	"OPTIONAL MATCH p = (a)-[*]-(b), (c) USING INDEX c:L(k) USING SCAN c:L USING JOIN ON a, b WHERE p IS NOT NULL RETURN p",
	"MATCH (a:A|B&!C), (b IS D), (c:% WHERE c.x > 1), (:$(x)), (:$any(y)&$all(z)), (x:(A|B)&C) RETURN 1",
	"MATCH (a)-[r:R]->{1,3}(b)-->+(c)--*(d)<-[:X WHERE r.y]-{,2}(e) RETURN 1", "MATCH ((a)-[r]->(b) WHERE a.x){2,} (c)-->(d) ((e)--(f))+ RETURN 1",
	"MATCH p = shortestPath((a)-[*..5]-(b)), q = allShortestPaths((a)-[:T*0..]->(b)) RETURN p",
	"MATCH ANY SHORTEST (a)-->+(b), p = SHORTEST 2 GROUPS (a)--{1,4}(b), ALL SHORTEST (a)-->(b), ANY 3 PATHS (a)-->(b), SHORTEST 1 PATH (a)-->(b) RETURN 1",
	"MATCH p = ANY SHORTEST (q = (a)-->+(b) WHERE length(q) > 1), SHORTEST GROUP (a)--*(b), SHORTEST $k PATHS GROUPS ((a)--(b)){1,2}, ALL PATHS (((a)-->(b))) RETURN 1",
	"MATCH ((a:A {x: 1} WHERE a.y)-[r IS T WHERE r.z]->(b)<--(c) WHERE a.x < c.x){0,2} ((d)--(e))+ RETURN a", "MATCH (s)((a)-->(b)-[r]-(a))* (t)--+(u)((x)--(y)){,3} RETURN r",
	"MATCH (any)-->(all)-->(shortest), ((any)-->(all))+ RETURN any, all, shortest",
	"MATCH DIFFERENT RELATIONSHIPS (a) RETURN 1", "MATCH REPEATABLE ELEMENTS (a)-->(b) RETURN 1",
	"UNWIND [1, 2, [3]] AS x WITH DISTINCT x, x + 1 AS y ORDER BY x WHERE x > 1 RETURN x", "WITH 1 AS x LIMIT 1 SKIP 2 RETURN x",
	"RETURN 1 UNION RETURN 2 UNION DISTINCT RETURN 3", "RETURN 1 AS a UNION ALL RETURN 2 AS a",
	"CREATE (a:A {x: 1})-[:T {y: 2}]->(b $props)", "CREATE (:A)<-[r:T]-()", "MERGE (a:A {x: 1}) ON CREATE SET a.y = 1, a += {z: 2} ON MATCH SET a:B",
	"MATCH (n) SET n.x = 1, n['k'] = 2, n = {a: 1}, n += $p, n:A:B, n IS C, (n).y = 3, n:$(x) REMOVE n.x, n['k'], n:A:B, n IS C",
	"MATCH (n) DETACH DELETE n, n.x[0]", "MATCH (n) NODETACH DELETE n FINISH", "MATCH (n) FOREACH (x IN [1, 2] | SET n.x = x CREATE (:A {x: x}) FOREACH (y IN [x] | DELETE n))",
	"CALL db.labels() YIELD label AS l WHERE l <> 'x' RETURN l", "CALL db.labels", "CALL db.labels YIELD *", "OPTIONAL CALL a.b(1, $x) YIELD c RETURN c",
	"MATCH (n) CALL { WITH n RETURN n AS m UNION RETURN 1 AS m } RETURN m", "MATCH (n) CALL (n, m) { SET n.x = 1 } RETURN n", "MATCH (n) CALL (*) { RETURN 1 AS x } RETURN x",
	"MATCH (n) CALL (n) { DELETE n } IN 3 CONCURRENT TRANSACTIONS OF 100 ROWS ON ERROR CONTINUE REPORT STATUS AS s RETURN s",
	"LOAD CSV WITH HEADERS FROM 'file:///a.csv' AS row FIELDTERMINATOR ';' CREATE (:A {x: row.x})",
	"RETURN 1 + 2 - 3 * 4 / 5 % 6 ^ 7, -x, +x, - 1, -(1), --x, a || b, -1 ^ 2, 1 - -1",
	"RETURN a OR b XOR c AND NOT d = e <> f < g, NOT NOT a, a = (b = c), (a < b) < c, a = NOT b",
	"RETURN a STARTS WITH b, a ENDS WITH b, a CONTAINS b, a =~ b, a IN b, NOT a IN b, a IS NULL, a IS NOT NULL, (a IS NULL) + 1",
	"RETURN a IS :: INTEGER, a IS NOT TYPED LIST<STRING NOT NULL> NOT NULL, a :: BOOLEAN | STRING, a IS :: ANY<DATE | ZONED TIME>, a IS NFKC NORMALIZED, a IS NOT NORMALIZED, a IS :: INTEGER LIST, a IS :: VECTOR<FLOAT>(3)",
	"RETURN n:A, n:A|B, n:A:B, n IS A, (n:A):B, NOT n:A, n.x:A",
	"RETURN CASE WHEN a THEN 1 ELSE 2 END, CASE a WHEN 1 THEN 2 WHEN > 3, IS NULL, IN [4], STARTS WITH 'x' THEN 5 END, CASE CASE a WHEN b THEN c END WHEN d THEN e END",
	"RETURN [], [1, 'a', null, true], {}, {a: 1, `b c`: {d: [2]}}, [x IN l], [x IN l WHERE x:A | x.y], [x IN l | x], [(x IN l)], [x IN l, 1], [x IN l WHERE x:A|B | x]",
	"RETURN [(a)-->(b) | b.x], [p = (a)-[:T]->(b:B|C) WHERE b.x | p], [(a) - (b)], [(a)--(b) WHERE b:A|B | 1]",
	"RETURN all(x IN l WHERE x > 1), any(x IN l WHERE x), none(x IN l WHERE (x)-->()), single(x IN l WHERE x), any(x IN l)",
	"RETURN reduce(a = 0, x IN l | a + x), reduce(a = n:A, x IN l | a OR x:A|B)",
	"RETURN EXISTS { (a)-->(b) WHERE a.x }, EXISTS { MATCH (a) RETURN a }, COUNT { MATCH (a) }, COLLECT { MATCH (a) RETURN a.x }, COUNT { (a)--(b), (c) }, exists((a)-->(b)), exists(a.x)",
	"RETURN n {.a, .*, k: e, w}, n {}, n.a.b, n['a'], n[0], n[1..2], n[..2], n[1..], n[..], (a + b).c, f(x).y[1]",
	"RETURN count(*), count( * ), count(DISTINCT x), f(), a.b.c(1, 2), date({year: 1}), `count`(x), `all`(x IN l)",
	"RETURN $p, $1, $`a b`, `a b`, `a``b`, 'it\\'s', \"x\", 'a\\u0041\\n\\\\', '\\uD83D\\uDE00', 0x1F, 0o17, 017, 1_000, .5, 1e3, 1.5E-3, 9223372036854775807, -9223372036854775808",
	"RETURN trim(BOTH 'x' FROM y), trim(LEADING FROM y), trim(x), normalize(x, NFD), left, right, count, end, order",
	"MATCH (match:Match {match: 1})-[order:ORDER]->(where) WHERE match.where = order.set RETURN match AS return, order AS `order by`",
	"RETURN (a)--(b) AND (a)-->(b) OR NOT ((a)-[:T]-()), shortestPath((a)-[*]-(b)) IS NULL",
	"RETURN a - [1] - b, (a) < -1, (a) < -b, (a) - -(b), (a.x)--(b), 1--2",
	"// comment\nRETURN /* x */ 1 // end", "RETURN 1 AS é, 'ü', n.größe",
	"CREATE INDEX FOR (n:L) ON (n.a)", "CREATE RANGE INDEX i IF NOT EXISTS FOR ()-[r:T]-() ON (r.a, r.b) OPTIONS {x: 1}", "CREATE TEXT INDEX i FOR (n:L) ON n.a",
	"CREATE FULLTEXT INDEX i FOR (n:A|B) ON EACH [n.a, n.b]", "CREATE VECTOR INDEX i FOR (n:L) ON (n.v) OPTIONS {indexConfig: {`vector.dimensions`: 3}}",
	"CREATE LOOKUP INDEX i FOR (n) ON EACH labels(n)", "CREATE LOOKUP INDEX FOR ()-[r]-() ON EACH type(r)", "CREATE INDEX ON :L(a, b)", "CREATE UNIQUE INDEX FOR (n:L) ON (n.a)",
	"CREATE OR REPLACE INDEX $name FOR (n:L) ON (n.a)", "DROP INDEX i IF EXISTS", "DROP INDEX ON :L(a)", "DROP CONSTRAINT c", "DROP CONSTRAINT $c IF EXISTS",
	"CREATE CONSTRAINT FOR (n:L) REQUIRE n.a IS UNIQUE", "CREATE CONSTRAINT c IF NOT EXISTS FOR ()-[r:T]-() REQUIRE (r.a, r.b) IS RELATIONSHIP KEY",
	"CREATE CONSTRAINT c FOR (n:L) REQUIRE n.a IS NOT NULL", "CREATE CONSTRAINT c FOR (n:L) REQUIRE n.a IS :: STRING | INTEGER",
	"CREATE DATABASE d IF NOT EXISTS", "DROP DATABASE a.b IF EXISTS",
	"SHOW INDEXES", "SHOW ALL INDEXES YIELD name, type AS t ORDER BY name SKIP 1 LIMIT 2 WHERE t = 'RANGE' RETURN t", "SHOW FULLTEXT INDEX", "SHOW NODE KEY CONSTRAINTS WHERE name = 'x'",
	"SHOW BUILT IN FUNCTIONS EXECUTABLE BY CURRENT USER YIELD *", "SHOW PROCEDURES", "SHOW TRANSACTIONS 'a', $b", "SHOW SETTINGS", "SHOW DATABASES", "SHOW DATABASE x", "SHOW HOME DATABASE", "SHOW CURRENT USER",
	"TERMINATE TRANSACTIONS 'a', 'b' YIELD message RETURN message",
}

var ageSeeds = []string{
	"RETURN 'it''s', \"a\"\"b\", 1::numeric, -1::float, 'x'::vertex.y, [1, 2]::`My Type`, 99999999999999999999", "MATCH (n ={a: 1})-[={b: 2}]->() RETURN n",
	"MATCH (n) WHERE (n ={a: 1})-[]->() RETURN n::vertex", "RETURN {'a': 1, \"b\": 2}", "EXPLAIN (ANALYZE, VERBOSE on) MATCH (n) RETURN n", "CALL f(1) YIELD - RETURN 1",
}

// FuzzParse: whatever parses prints to an equal tree, with spans in place; nothing panics.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, false)
	}
	for _, s := range ageSeeds {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, age bool) {
		opts := Options{}
		if age {
			opts.Dialect = AGE
		}
		roundTrip(t, text, opts)
		for _, span := range Split(text, opts.Dialect) {
			if span.Start > span.Stop || span.End() > len(text) {
				t.Fatalf("%q: statement at %v", text, span)
			}
		}
	})
}

func TestSeedsParse(t *testing.T) {
	for i, s := range append(append([]string(nil), seeds...), ageSeeds...) {
		opts := Options{}
		if i >= len(seeds) {
			opts.Dialect = AGE
		}
		if _, err := Parse(s, opts); err != nil {
			e := dberr.As(err)
			t.Errorf("%s\n%s^ %v", s, strings.Repeat(" ", e.Pos), err)
		}
		roundTrip(t, s, opts)
	}
}
