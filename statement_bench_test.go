package hedgerow_test

import (
	"context"
	"testing"

	"github.com/hedgerowdb/hedgerow"
)

// people opens a database with persons, their cities and their friendships: person i has 20 friends where i is a multiple of 100, else about ten.
func people(t testing.TB, n int) *hedgerow.DB {
	t.Helper()
	ctx := context.Background()
	db, err := hedgerow.OpenMemory(&hedgerow.Options{CacheBytes: 256 << 20, AnalyzeInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for _, text := range []string{
		"CREATE CONSTRAINT FOR (n:Person) REQUIRE n.id IS UNIQUE",
		"CREATE CONSTRAINT FOR (n:City) REQUIRE n.id IS UNIQUE",
		"UNWIND range(0, 99) AS i CREATE (:City {id: i, name: 'City ' + toString(i)})",
		"UNWIND range(0, $n - 1) AS i CREATE (:Person {id: i, firstName: 'First' + toString(i % 100), lastName: 'Last' + toString(i), gender: 'x', since: 1000 + i})",
		"MATCH (p:Person), (c:City {id: p.id % 100}) CREATE (p)-[:LIVES_IN]->(c)",
		"MATCH (p:Person) UNWIND range(1, 5) AS k MATCH (f:Person {id: (p.id * 7 + k * 31) % $n}) WHERE f <> p CREATE (p)-[:KNOWS {date: (p.id * 13 + k * 7919) % 100000}]->(f)",
		"MATCH (p:Person) WHERE p.id % 100 = 0 WITH p, COUNT { (p)-[:KNOWS]-() } AS has UNWIND range(1, 20 - has) AS k MATCH (f:Person {id: (p.id + k * 4 + 1) % $n}) CREATE (p)-[:KNOWS {date: p.id + k}]->(f)",
	} {
		if _, err := db.Exec(ctx, text, hedgerow.Params{"n": n}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if _, err := db.ExecSQL(ctx, "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	return db
}

// statements are what a program asks one by one, all day.
var statements = []struct {
	name, text string
	params     func(i int) hedgerow.Params
}{
	{"one", "RETURN 1 AS one", func(int) hedgerow.Params { return nil }},
	{"point", "MATCH (p:Person {id: $id}) RETURN p.firstName AS firstName, p.lastName AS lastName", byID},
	{"city", "MATCH (p:Person {id: $id})-[:LIVES_IN]->(c:City) RETURN c.name AS name", byID},
	{"friends", "MATCH (p:Person {id: $id})-[k:KNOWS]-(f:Person) RETURN f.id AS id, f.firstName AS firstName, k.date AS date ORDER BY date DESC, id", byID},
	{"insert", "MATCH (a:Person {id: $id}), (b:Person {id: $to}) CREATE (a)-[:KNOWS {date: $date}]->(b)",
		func(i int) hedgerow.Params {
			return hedgerow.Params{"id": i * 7 % 2000, "to": i * 11 % 2000, "date": i}
		}},
	{"insert by id", "MATCH (a) WHERE id(a) = $a MATCH (b) WHERE id(b) = $b CREATE (a)-[:KNOWS {date: $date}]->(b)", nil},
}

func byID(i int) hedgerow.Params { return hedgerow.Params{"id": i * 100 % 2000} }

// BenchmarkStatement is one statement of one client from its text to its last row, in this process; writes do not wait for the disk.
func BenchmarkStatement(b *testing.B) {
	ctx := context.Background()
	for _, s := range statements {
		b.Run(s.name, func(b *testing.B) {
			db := people(b, 2000)
			c := db.Conn()
			defer c.Close()
			if err := c.Set("synchronous_commit", "off"); err != nil {
				b.Fatal(err)
			}
			params := s.params
			if params == nil {
				ids := make([]any, 100)
				rows, err := db.Query(ctx, "MATCH (p:Person) RETURN id(p) AS id ORDER BY p.id LIMIT 100", nil)
				for i := 0; err == nil && rows.Next(); i++ {
					ids[i] = rows.Row().Values()[0]
				}
				params = func(i int) hedgerow.Params {
					return hedgerow.Params{"a": ids[i*7%100], "b": ids[i*11%100], "date": i}
				}
			}
			var ps []hedgerow.Params
			for i := range 1000 {
				ps = append(ps, params(i))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				rows, err := c.Run(ctx, s.text, hedgerow.Cypher, ps[i%len(ps)])
				if err != nil {
					b.Fatal(err)
				}
				for rows.Next() {
				}
				if err := rows.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
