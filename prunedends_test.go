package hedgerow_test

import (
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow"
)

// A relationship that changed and then went leaves versions on several pages. Where the last one was pruned and the first was not, a build of the
// neighbourhoods finds no relationship either (rules B10).
func TestNeighbourhoodsOfPrunedRelationships(t *testing.T) {
	a := newArena(t)
	a.exec("CREATE (:A), (:B)", nil)
	const n = 300
	for round := range 4 {
		a.exec("MATCH (a:A), (b:B) UNWIND range(1, $n) AS i CREATE (a)-[:R {k: i, s: $s}]->(b)", hedgerow.Params{"n": n, "s": strings.Repeat("x", 60)})
		// Half of them move to other pages, since their own are full; those go.
		tx := a.begin(hedgerow.ReadCommitted)
		a.in(tx, "MATCH (:A)-[r:R]->(:B) WHERE r.k % 2 = 0 SET r.s = $s", hedgerow.Params{"s": strings.Repeat("y", 300)})
		if round%2 == 0 {
			a.must(tx.Commit(a.ctx))
			tx = a.begin(hedgerow.ReadCommitted)
		}
		a.in(tx, "MATCH (:A)-[r:R]->(:B) WHERE r.k % 2 = 0 DELETE r", nil)
		a.must(tx.Commit(a.ctx))
		// New ones fill the pages that they left, which are pruned for it.
		a.exec("MATCH (a:A), (b:B) UNWIND range(1, $n) AS i CREATE (a)-[:R {k: -1, s: $s}]->(b)", hedgerow.Params{"n": 3 * n, "s": strings.Repeat("z", 300)})
		a.exec("MATCH (:A)-[r:R]->(:B) WHERE r.k = -1 SET r.k = -2", nil)
		a.exec("MATCH (:A)-[r:R]->(:B) WHERE r.k = -2 SET r.k = -3", nil)
		faults, err := a.Check(a.ctx)
		a.must(err)
		if len(faults) > 0 {
			t.Fatalf("%d faults, the first: %s", len(faults), faults[0])
		}
		a.exec("MATCH (:A)-[r:R]->(:B) DELETE r", nil)
	}
}
