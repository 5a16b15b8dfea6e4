package qtest

import (
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
)

// TestSharedAnswers: rows that ask a subquery the same are answered once a batch, in each place where a subquery may stand; what is not the same to the
// bit, or may be another answer each time, is asked for each row. "asked" is how many rows reach the subquery.
func TestSharedAnswers(t *testing.T) {
	db := New(nil)
	db.Must(t, "UNWIND range(0, 9) AS i CREATE (:P {id: i})", nil)
	db.Must(t, "MATCH (a:P), (b:P) WHERE a.id < 3 AND b.id > 6 CREATE (a)-[:R]->(b)", nil)
	for _, c := range []struct {
		q, want string
		asked   int64
	}{
		{"MATCH (a)-[:R]->(b) RETURN sum(size(COLLECT { MATCH (b)<-[:R]-(c) RETURN c.id })) AS n", "27\n", 3},
		{"MATCH (a)-[:R]->(b) RETURN sum(size([(b)<-[:R]-(c) | c.id])) AS n", "27\n", 3},
		{"MATCH (a)-[:R]->(b) RETURN sum(COUNT { (b)<-[:R]-(c:P)-[:R]->() }) AS n", "54\n", 3},
		{"MATCH (a)-[:R]->(b) WITH EXISTS { (b)<-[:R]-({id: 2}) } AS e RETURN count(e), min(e)", "9 | true\n", 3},
		{"MATCH (a)-[:R]->(b) WHERE EXISTS { (b)<-[:R]-(c) WHERE c.id = 1 } RETURN count(*)", "9\n", 3},
		{"MATCH (a)-[:R]->(b) WHERE NOT EXISTS { (b)<-[:R]-(c) WHERE c.id = b.id - 7 } RETURN count(*)", "0\n", 3},
		{"MATCH p = ()-[:R]->() WITH collect(p) AS ps UNWIND ps + ps AS p RETURN sum(reduce(w = 0, x IN [r IN relationships(p) | size([(c)<-[:R]-(d) WHERE d = startNode(r) | 1])] | w + x)) AS n", "54\n", 9},
		{"UNWIND [1, 1.0, 1, 2] AS x RETURN COLLECT { RETURN x AS y } AS l", "[1]\n[1.0]\n[1]\n[2]\n", 3},
		{"UNWIND ['a', '', 'a', null, null, [1], [1.0], [1]] AS x RETURN COLLECT { RETURN x AS y } AS l", "['a']\n['']\n['a']\n[null]\n[null]\n[[1]]\n[[1.0]]\n[[1]]\n", 5},
		{"UNWIND [1, 1, 1] AS x WITH COLLECT { RETURN x + 0 * rand() AS y } AS l RETURN count(l)", "3\n", 3},
		{"UNWIND range(1, 5) AS x RETURN sum(COUNT { MATCH (p:P) WHERE p.id > 7 }) AS n", "10\n", 1},
	} {
		for _, batch := range []int{0, 1, 2} {
			db.Exec = exec.Options{BatchSize: batch, Poison: true, Profile: true}
			res := db.Must(t, c.q, nil)
			if got := res.Text(); got != c.want {
				t.Errorf("%s, batches of %d:\n%swant\n%s", c.q, batch, got, c.want)
			}
			if asked := argumentRows(res); batch == 0 && asked != c.asked {
				t.Errorf("%s: %d rows are asked, want %d", c.q, asked, c.asked)
			}
		}
	}
	db.Plan = plan.Options{Off: map[plan.Rule]bool{plan.RuleShare: true}}
	db.Exec = exec.Options{Profile: true}
	if n := argumentRows(db.Must(t, "UNWIND [1, 1, 1] AS x RETURN COLLECT { RETURN x AS y } AS l", nil)); n != 3 {
		t.Errorf("without the rule %d of 3 rows are asked", n)
	}
}

func argumentRows(res *Result) (n int64) {
	for _, op := range res.Profile {
		if op != nil && op.Name == "Argument" {
			n += op.Rows
		}
	}
	return n
}
