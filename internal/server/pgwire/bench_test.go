package pgwire

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

func bench(b *testing.B, setup []string, text string, args ...any) {
	s := serve(b, Options{})
	c := s.pgx(b)
	exec(b, c, "SELECT create_graph('social')")
	exec(b, c, setup...)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		rows, err := c.Query(ctx, text, append([]any{pgx.QueryResultFormats{pgx.TextFormatCode}}, args...)...)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for rows.Next() {
			n++
		}
		if err := rows.Err(); err != nil || n != 1 {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkSelectOne is a round trip of the extended protocol with the least work behind it.
func BenchmarkSelectOne(b *testing.B) { bench(b, nil, "SELECT 1") }

// BenchmarkPointRead reads one vertex through a unique index: by cypher() with a parameter, and by bare Cypher.
func BenchmarkPointRead(b *testing.B) {
	setup := []string{
		"SET hedgerow.graph = social", "CREATE CONSTRAINT u FOR (n:P) REQUIRE n.id IS UNIQUE",
		"SELECT * FROM cypher('social', $$ UNWIND range(1, 10000) AS x CREATE (:P {id: x, name: 'n' + toString(x)}) $$) AS (a agtype)",
	}
	b.Run("cypher", func(b *testing.B) {
		bench(b, setup, "SELECT * FROM cypher('social', $$ MATCH (n:P {id: $id}) RETURN n.name $$, $1) AS (name text)", `{"id": 77}`)
	})
	b.Run("bare", func(b *testing.B) { bench(b, setup, "MATCH (n:P {id: $1}) RETURN n.name AS name", "77") })
}
