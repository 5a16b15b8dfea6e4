package hedgerow

import (
	"context"
	"strings"
	"testing"
)

// TestClausesOfNeo4j5: FINISH, ORDER BY, SKIP and LIMIT by themselves, OPTIONAL CALL, and USE where one graph is meant.
func TestClausesOfNeo4j5(t *testing.T) {
	db := movies(t)
	for _, c := range []struct{ query, want string }{
		{"MATCH (n) FINISH", ""},
		{"UNWIND [1, 2] AS x CREATE (:F {x: x}) FINISH", ""},
		{"MATCH (f:F) RETURN count(f)", "2"},
		{"MATCH (f:F) DETACH DELETE f FINISH", ""},
		{"UNWIND [3, 1, 2] AS x ORDER BY x RETURN x", "1 2 3"},
		{"UNWIND [3, 1, 2] AS x ORDER BY x DESC LIMIT 2 RETURN x", "3 2"},
		{"UNWIND [3, 1, 2] AS x SKIP 1 RETURN x", "1 2"},
		{"UNWIND [3, 1, 2] AS x OFFSET 1 LIMIT 1 RETURN x", "1"},
		{"UNWIND range(1, 5) AS x LIMIT 3 CREATE (:F {x: x}) RETURN count(*)", "3"},
		{"MATCH (f:F) ORDER BY f.x LIMIT 1 SET f.first = true RETURN f.x", "1"},
		{"MATCH (p:Person) ORDER BY p.name SKIP 1 MATCH (p)-[:ACTED_IN]->(m) RETURN p.name, m.title ORDER BY m.title", "'Keanu'|'Reloaded' 'Keanu'|'The Matrix'"},
		{"MATCH (m:Movie) OPTIONAL CALL (m) { MATCH (m)<-[:ACTED_IN]-(p:Person) WHERE p.name = 'Hugo' RETURN p.name AS who } RETURN m.title, who ORDER BY m.title", "'Reloaded'|null 'The Matrix'|'Hugo'"},
		{"UNWIND [0, 2] AS n OPTIONAL CALL (n) { UNWIND range(1, n) AS i CREATE (g:G {i: i}) RETURN g.i AS i } RETURN n, i ORDER BY n, i", "0|null 2|1 2|2"},
		{"OPTIONAL CALL db.labels() YIELD label RETURN count(label)", "5"},
		{"OPTIONAL CALL dbms.listConfig('no such setting') YIELD name RETURN name", "null"},
		{"UNWIND [1, 2] AS i OPTIONAL CALL dbms.listConfig('no such setting') YIELD name, value RETURN i, name, value", "1|null|null 2|null|null"},
		{"USE main MATCH (p:Person) RETURN count(p)", "2"},
		{"USE graph.byName('main') MATCH (p:Person) RETURN count(p)", "2"},
		{"USE main RETURN 1 AS x UNION USE main RETURN 2 AS x", "1 2"},
		{"CALL () { USE main MATCH (p:Person) RETURN count(p) AS c } RETURN c", "2"},
		{"CALL { USE main MATCH (p:Person) RETURN count(p) AS c } RETURN c", "2"},
		{"MATCH (m:Movie) CALL (m) { USE main MATCH (m)<--(p) RETURN count(p) AS c } RETURN m.title, c ORDER BY c", "'Reloaded'|1 'The Matrix'|2"},
		{"MATCH (m:Movie) CALL { USE main WITH m MATCH (m)<--(p) RETURN count(p) AS c } RETURN m.title, c ORDER BY c", "'Reloaded'|1 'The Matrix'|2"},
	} {
		if got := cells(t, db, c.query, nil); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.query, got, c.want)
		}
	}
	for query, want := range map[string]string{
		"MATCH (n) FINISH RETURN n":                            "42601",
		"USE main RETURN 1 AS x UNION USE other RETURN 2 AS x": "0A000",
		"CALL () { USE other RETURN 1 AS x } RETURN x":         "0A000",
		"MATCH (n) USE main RETURN n":                          "42601",
		"USE other RETURN 1 AS x":                              "3F000",
	} {
		_, err := db.Exec(context.Background(), query, nil)
		if got, _, _ := strings.Cut(state(err), " "); got != want {
			t.Errorf("%s: got %v, want %s", query, err, want)
		}
	}
}
