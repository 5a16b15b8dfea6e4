package plan

import (
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// FuzzPlan: whatever parses is refused with a classified error at a place in the text, or gets a plan that keeps its promises; nothing panics.
func FuzzPlan(f *testing.F) {
	for _, s := range []string{
		"MATCH (n) RETURN n", "MATCH p = (a)-[r:T*1..3 {x: 1}]-(b:A|B {k: $p}) WHERE all(x IN nodes(p) WHERE x.y) WITH DISTINCT a, count(*) AS c ORDER BY c SKIP 1 LIMIT 2 RETURN *",
		"CREATE (a:A {id: 1})-[:T]->(b {id: a.id}) SET a.x = b.id REMOVE b:A DETACH DELETE a", "MERGE (a:A {id: $x}) ON CREATE SET a.x = 1 ON MATCH SET a += {y: 2} RETURN a",
		"UNWIND [1, 2] AS x FOREACH (y IN [x] | MERGE (:A {id: y})) RETURN x", "MATCH (n) CALL { WITH n RETURN n.x AS y UNION RETURN 1 AS y } RETURN y",
		"RETURN [x IN [1] WHERE (x) | x], reduce(a = 0, b IN [1] | a + b), EXISTS { (n)-->() }", "MATCH (a), (b), p = shortestPath((a)-[*]-(b)) WHERE length(p) > 2 RETURN p",
		"MATCH (a)-[r]->(b) OPTIONAL MATCH (a)-[r]-(c) RETURN COUNT { MATCH (c)-->(d) RETURN d }, COLLECT { MATCH (c) RETURN c.x }", "SHOW INDEXES YIELD name WHERE name = 'x' RETURN count(*)",
		"MATCH (s:A) ((a:A)-[r:T {x: $p}]->(b)-[q]-(c) WHERE a.x < c.x OR (b)--(s)){1,3} (t)-[f:T]-(u) WHERE size(r) > 1 RETURN a, b, q, f",
		"MATCH p = SHORTEST 2 GROUPS (s:A {id: 1}) ((a)-[r]->(b) WHERE r.x = 1)+ (m:B)-[f:T]-{1,2}(t:B) WHERE length(p) > 2 RETURN p, a, r, m, f",
		"MATCH (s), (t) MATCH ANY 3 (q = (s)-->(m)--*(t) WHERE m.k = s.k AND any(x IN nodes(q) WHERE x.k = t.k)) OPTIONAL MATCH ALL SHORTEST (t)-[*0..3 {x: s.k}]->(s) RETURN m",
		"CREATE INDEX FOR (n:A) ON (n.x)", "CALL db.labels() YIELD label RETURN label", "MATCH (a)-[r1]-(b)-[r2*0..]-(c), (d) WHERE id(d) = id(a) AND a.x = d.x RETURN a{.x, .*, y: b.z}",
		"RETURN 1 AS x UNION ALL RETURN 2 AS x", "MATCH (n) WITH n AS m, n.x AS y WHERE n.z MATCH (m)-->(n) RETURN m ORDER BY y",
	} {
		f.Add(s)
	}
	cat := parseCatalog(f, "node A 10\nnode B 1000\nrel T 5000 A,B A,B\nindex A id unique\nindex B k\nindex T x\nkeys id k x")
	f.Fuzz(func(t *testing.T, text string) {
		for _, opt := range []Options{{}, {Reference: true}, {NoCommandIDs: true}} {
			q, err := planText(text, cat, opt, false)
			if err != nil {
				if e := dberr.As(err); e.Code == dberr.Internal || e.Pos > len(text) || e.End > len(text) {
					t.Fatalf("%v at %d–%d of %d", err, e.Pos, e.End, len(text))
				}
				return
			}
			checkPlan(t, q)
			_ = q.String()
		}
	})
}
