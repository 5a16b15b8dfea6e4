package session

import (
	"slices"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

var statisticsData = []string{
	"UNWIND range(0, 399) AS i CREATE (:P {id: i, city: i % 7, name: 'n' + toString(i % 50)})",
	"MATCH (n:P) WHERE n.id % 3 = 0 SET n:Q REMOVE n.city",
	"MATCH (a:P), (b:P) WHERE b.id = a.id * 7 % 400 OR b.id = a.id % 5 CREATE (a)-[:R {w: a.id % 10}]->(b)",
}

var statisticsQueries = []string{
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
	"MATCH (a:P) WHERE NOT EXISTS { (a)-[:R]->(b:Q) WHERE b.city = a.city } RETURN count(*), sum(a.id)",
	"MATCH (a:P) WHERE (a)-[:R]->(:Q {name: 'n3'}) RETURN count(*), sum(a.id)",
}

// Statistics that were taken of little data, of which much more came, never change an answer.
func TestStatisticsOfTheBeginning(t *testing.T) {
	answers := func(early bool) (out []string) {
		db := database(t)
		s := open(t, db)
		must(t, s, "SET hedgerow.language = cypher")
		must(t, s, "CREATE INDEX FOR (n:P) ON (n.city)")
		must(t, s, "CREATE INDEX FOR (n:P) ON (n.name)")
		if early {
			must(t, s, "CREATE (a:P {id: 1000, city: 3, name: 'n1'})-[:R {w: 1}]->(b:P:Q {id: 1001, city: 3, name: 'n1'}), (b)-[:R {w: 2}]->(a)")
			must(t, s, "ANALYZE")
			must(t, s, "MATCH (n:P) DETACH DELETE n")
		}
		for _, q := range statisticsData {
			must(t, s, q)
		}
		if got := must(t, s, "CALL hedgerow.statistics() YIELD label, of, distinctValues AS d WHERE label = 'P' AND of = 'city' RETURN d"); early && got != "1.0 SELECT 1" {
			t.Errorf("what the sample knows is not from the beginning: %s", got)
		}
		for _, q := range statisticsQueries {
			out = append(out, must(t, s, q))
		}
		return out
	}
	never, early := answers(false), answers(true)
	for i := range never {
		if never[i] != early[i] {
			t.Errorf("%s\nwith old statistics %s\nwithout            %s", statisticsQueries[i], early[i], never[i])
		}
	}
}

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
	for _, q := range statisticsData {
		do(q)
	}
	do("CREATE INDEX FOR (n:P) ON (n.city)")
	do("CREATE INDEX FOR (n:P) ON (n.name)")
	answers := func() (out []string) {
		t.Helper()
		for _, q := range statisticsQueries {
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
