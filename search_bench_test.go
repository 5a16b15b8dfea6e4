package hedgerow_test

import (
	"context"
	"math/rand"
	"testing"

	"github.com/hedgerowdb/hedgerow"
)

// BenchmarkSearch asks about friendships at random, of 2,000 persons with twenty each.
func BenchmarkSearch(b *testing.B) {
	ctx := context.Background()
	db, err := hedgerow.OpenMemory(&hedgerow.Options{CacheBytes: 256 << 20, AnalyzeInterval: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	const n = 2000
	rng := rand.New(rand.NewSource(1))
	var pairs []any
	for range 10 * n {
		a := rng.Intn(n)
		pairs = append(pairs, []any{a, (a + 1 + rng.Intn(n-1)) % n}) // nobody is their own friend
	}
	for _, text := range []string{
		"CREATE CONSTRAINT FOR (n:Person) REQUIRE n.id IS UNIQUE",
		"UNWIND range(0, $n - 1) AS i CREATE (:Person {id: i})",
		"UNWIND $pairs AS x MATCH (a:Person {id: x[0]}), (b:Person {id: x[1]}) CREATE (a)-[:KNOWS]->(b)",
	} {
		if _, err := db.Exec(ctx, text, hedgerow.Params{"n": n, "pairs": pairs}); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := db.ExecSQL(ctx, "ANALYZE"); err != nil {
		b.Fatal(err)
	}
	for _, s := range []struct{ name, text string }{
		{"shortestPath", "MATCH p = shortestPath((a:Person {id: $a})-[:KNOWS*]-(b:Person {id: $b})) RETURN length(p) AS n"},
		{"two matches", "MATCH (a:Person {id: $a}), (b:Person {id: $b}) MATCH p = shortestPath((a)-[:KNOWS*]-(b)) RETURN length(p) AS n"},
		{"all", "MATCH (a:Person {id: $a}), (b:Person {id: $b}) MATCH p = allShortestPaths((a)-[:KNOWS*]-(b)) RETURN count(p) AS n"},
		{"min length", "MATCH p = (a:Person {id: $a})-[:KNOWS*1..5]-(b:Person {id: $b}) RETURN min(length(p)) AS n"},
		{"2 hops", "MATCH (a:Person {id: $a})-[:KNOWS]-()-[:KNOWS]-() RETURN count(*) AS n"},
		{"3 hops", "MATCH (a:Person {id: $a})-[:KNOWS]-()-[:KNOWS]-()-[:KNOWS]-() RETURN count(*) AS n"},
	} {
		b.Run(s.name, func(b *testing.B) {
			c := db.Conn()
			defer c.Close()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				rows, err := c.Run(ctx, s.text, hedgerow.Cypher, hedgerow.Params{"a": i * 7919 % n, "b": (i*104729 + 13) % n})
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
