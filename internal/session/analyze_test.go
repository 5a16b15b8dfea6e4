package session

import (
	"slices"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// Statistics that are missing, old or new never change an answer.
func TestStatisticsChangeNoAnswer(t *testing.T) {
	db := database(t)
	s := open(t, db)
	do := func(text string) []string {
		t.Helper()
		out, err := run(s, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return out
	}
	do("SET hedgerow.language = cypher")
	do("UNWIND range(0, 399) AS i CREATE (:P {id: i, city: i % 7, name: 'n' + toString(i % 50)})")
	do("MATCH (n:P) WHERE n.id % 3 = 0 SET n:Q REMOVE n.city")
	do("MATCH (a:P), (b:P) WHERE b.id = a.id * 7 % 400 OR b.id = a.id % 5 CREATE (a)-[:R {w: a.id % 10}]->(b)")
	do("CREATE INDEX FOR (n:P) ON (n.city)")
	do("CREATE INDEX FOR (n:P) ON (n.name)")
	queries := []string{
		"MATCH (n:P) WHERE n.city = 3 RETURN count(*), sum(n.id)",
		"MATCH (n:P:Q) WHERE n.city IS NULL AND n.id > 17 AND n.id <= 200 RETURN count(*), sum(n.id)",
		"MATCH (n:P) WHERE n.name STARTS WITH 'n1' AND n.city IN [1, 2, null, 99] RETURN count(*), sum(n.id)",
		"MATCH (a:P {city: 1})-[r:R]->(b)<-[:R]-(c:Q) WHERE r.w <> 3 RETURN count(*), sum(c.id), min(b.id)",
		"MATCH (a:P)-[:R]-(b:P)-[:R]-(c:P) WHERE a.name = 'n7' AND c.name < 'n3' RETURN count(*), sum(c.id)",
		"MATCH (a:P {id: 3})-[:R*1..3]->(b:Q) RETURN count(*), count(DISTINCT b)",
		"MATCH (a:P {id: 3})-[:R*1..3]-(b) RETURN count(DISTINCT b)",
		"MATCH (a:P)-[:R]->(b:P), (b)-[:R]->(a) RETURN count(*), sum(a.id)",
		"MATCH (a:P), (b:Q) WHERE a.city = b.id AND a.name = b.name RETURN count(*), sum(a.id)",
		"MATCH (a:P) WHERE EXISTS { (a)-[:R]->(:Q) } AND NOT a.city = 2 RETURN count(*), sum(a.id)",
		"MATCH p = shortestPath((a:P {id: 3})-[:R*]-(b:P {id: 399})) RETURN length(p)",
	}
	answers := func() (out []string) {
		t.Helper()
		for _, q := range queries {
			out = append(out, do(q)...)
		}
		return out
	}
	none := answers()
	got := do("CALL hedgerow.analyze() YIELD label RETURN label ORDER BY label")
	if !slices.Equal(got, []string{`"P"`, `"Q"`, `"R"`, "SELECT 3"}) {
		t.Errorf("analysed: %v", got)
	}
	if fresh := answers(); !slices.Equal(none, fresh) {
		t.Errorf("with statistics:\n%v\nwithout:\n%v", fresh, none)
	}
	// Everything is different from what the sample said.
	do("MATCH (n:P) SET n.city = n.id + 1000, n.name = 'm', n:Z")
	do("MATCH (n:P) WHERE n.id > 20 DETACH DELETE n")
	do("MATCH (a:P), (b:P) CREATE (a)-[:R {w: 3}]->(b)")
	old := answers()
	do("ANALYZE")
	do(`ANALYZE main."P", main."R"`)
	if fresh := answers(); !slices.Equal(old, fresh) {
		t.Errorf("with new statistics:\n%v\nwith old ones:\n%v", fresh, old)
	}
	if got := do("CALL hedgerow.statistics() YIELD label, of, distinctValues AS d WHERE label = 'P' AND of = 'name' RETURN d"); !slices.Equal(got, []string{"1.0", "SELECT 1"}) {
		t.Errorf("different names: %v", got)
	}
	if _, err := run(s, "ANALYZE nothing"); !dberr.Is(err, dberr.UndefinedTable) {
		t.Errorf("ANALYZE of no label: %v", err)
	}
}
