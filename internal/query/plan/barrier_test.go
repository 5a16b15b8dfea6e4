package plan

import "testing"

// TestBarriers holds the conflict matrix of rules C2: between which clauses a barrier stands.
func TestBarriers(t *testing.T) {
	cat := parseCatalog(t, "node A 100\nnode B 100\nrel T 500 A,B A,B\nrel U 500 A,B A,B\nindex A id unique\nkeys id x y z")
	for _, c := range []struct {
		text   string
		eagers int
		why    string
	}{
		{"MATCH (n:A) CREATE (:A)", 0, "R∩W needs none: the scan reads before the first write"},
		{"MATCH (n:A) WHERE n.x = 1 SET n.x = 2", 0, "R∩W"},
		{"MATCH (n:A)-[r:T]->(m) DELETE r", 0, "R∩W"},
		{"MATCH (n:A) SET n.x = 1 RETURN n.x", 0, "one variable, distinct rows"},
		{"MATCH (n:A) SET n.x = 1 WITH n MATCH (m:A {x: 1}) RETURN count(*)", 1, "W∩R through another variable"},
		{"MATCH (n:A) SET n.x = 1 WITH n MATCH (m:A {y: 1}) RETURN count(*)", 0, "another key"},
		{"MATCH (n:A) SET n:B WITH n MATCH (m:B) RETURN count(*)", 1, "a label that is scanned"},
		{"MATCH (n:A) SET n:B WITH n MATCH (m:A) RETURN count(*)", 0, "another label"},
		{"CREATE (:A) WITH 1 AS one MATCH (m:A) RETURN count(*)", 1, "W∩R: a new node"},
		{"CREATE (:A) WITH 1 AS one MATCH (m:B) RETURN count(*)", 0, "a new node without the label"},
		{"CREATE (:A:B) WITH 1 AS one MATCH (m:B) RETURN count(*)", 1, "a new node with the label among others"},
		{"MATCH (a:A), (b:B) CREATE (a)-[:T]->(b) WITH a MATCH (a)-[:U]->(c) RETURN count(*)", 0, "another type"},
		{"MATCH (a:A), (b:B) CREATE (a)-[:T]->(b) WITH a MATCH (a)-[:T]->(c) RETURN count(*)", 1, "the same type"},
		{"MATCH (a:A), (b:B) CREATE (a)-[:T]->(b) WITH a MATCH (a)-->(c) RETURN count(*)", 1, "any type"},
		{"MATCH (a:A) DELETE a WITH 1 AS one MATCH (b:B) RETURN count(*)", 1, "a deleted node may have any label"},
		{"MATCH (a:A)-[r:T]->(b) SET r.x = 1 SET a.x = 2", 0, "a relationship and a node are never one row; fused"},
		{"MATCH (a:A)-[r:T]->(b) SET a.x = 1 SET b.x = 2", 1, "W∩W: a and b may be one node"},
		{"MATCH (a:A)-[r:T]->(b) SET a.x = 1 SET b.y = 2", 0, "fused: disjoint keys"},
		{"MATCH (n:A) SET n.x = 1 SET n.x = n.x + 1", 0, "one variable, distinct rows"},
		{"UNWIND [1, 2] AS i MATCH (n:A) SET n.x = i SET n.x = n.x + 1", 1, "the same node in several rows"},
		{"CREATE (n:A) SET n.x = 1", 0, "CREATE makes a fresh row"},
		{"UNWIND [1, 2] AS i CREATE (n:A {id: i}) SET n.x = i", 0, "fresh for each input row"},
		{"UNWIND [1, 1] AS i MERGE (n:A {id: i}) SET n.x = i", 1, "W∩W: MERGE may find what it made for an earlier row"},
		{"MERGE (n:A {id: 1}) SET n.x = 1", 0, "one input row"},
		{"UNWIND [1, 2] AS i MERGE (a:A {id: i}) MERGE (b:B {id: i})", 0, "different labels"},
		{"UNWIND [1, 2] AS i MERGE (a:A {id: i}) MERGE (b:A {id: i + 1})", 1, "the second looks for what the first makes"},
		{"MATCH (a:A)-[r:T]->(b:B) DELETE r CREATE (a)-[:T]->(b)", 0, "CREATE reads only that its ends are there"},
		{"MATCH (a:A)-[r:T]->(b:B) DETACH DELETE a CREATE (b)-[:T]->(b)", 1, "O∩W: the search for edges, and the end may be deleted"},
		{"MATCH (n:A) SET n.x = 1 WITH count(*) AS c MATCH (m:A {x: 1}) RETURN c", 1, "the aggregate keeps nothing of the graph, the MATCH reads"},
		{"MATCH (n:A)-[:T]->(m) SET n.x = 1 RETURN n", 1, "encoding reads n.x, rows are not distinct on n"},
		{"MATCH (n:A) SET n.x = 1 RETURN n", 0, "encoding, distinct"},
		{"MATCH (n:A)-[:T]->(m) SET n.x = 1 RETURN m.y, id(n)", 0, "no key in common"},
		{"MATCH (n:A)-[r:T]->(m) DELETE r RETURN type(r), n.x", 0, "type is immutable, n is no relationship"},
		{"MATCH (n:A) CREATE (m:B {x: n.x}) SET n.x = 2", 0, "the property was read before"},
		{"MATCH (n:A) CREATE (m:B {c: COUNT { (:B) }}) CREATE (k:A)", 0, "a subquery reads at its clause's command id"},
		{"MATCH (n:A) CREATE (m:A) CREATE (k:B {c: COUNT { MATCH (x:A) RETURN x }})", 1, "a subquery reads what was created"},
	} {
		q, err := planText(c.text, cat, Options{}, false)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		checkPlan(t, q)
		n := 0
		q.Walk(func(x Node) {
			if _, ok := x.(*Eager); ok {
				n++
			}
		})
		if n != c.eagers {
			t.Errorf("%s: %d barriers, want %d (%s)\n%s", c.text, n, c.eagers, c.why, q.Print(PrintOptions{CIDs: true}))
		}
	}
}

// TestReference: in the reference run a barrier follows every clause that writes and precedes it (rules C5), and no rule is used.
func TestReference(t *testing.T) {
	cat := parseCatalog(t, "node A 100\nindex A id unique\nkeys id x")
	q, err := planText("MATCH (n:A {id: 1}) SET n.x = 1 SET n.y = 2 RETURN n ORDER BY n.x LIMIT 1", cat, Options{Reference: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	eagers := 0
	q.Walk(func(x Node) {
		switch x.(type) {
		case *Eager:
			eagers++
		case *IndexSeek, *TopN, *PropFetch, *Lock:
			t.Errorf("%T in a reference plan", x)
		}
	})
	if eagers < 4 {
		t.Errorf("%d barriers, want one around each clause\n%s", eagers, q)
	}
}
