package pgwire

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// asked is one statement of BenchmarkWire as its client sends it.
type asked struct {
	name string
	do   func(i int) error
	took []time.Duration
}

// BenchmarkWire asks small statements in turn over one connection and reports the median round trip of each, and how many times that of
// SELECT 1 it is. HEDGEROW_BENCH_POSTGRES, a connection string, has a PostgreSQL answer SELECT 1 in the same turns.
func BenchmarkWire(b *testing.B) {
	s := serve(b, Options{})
	c := s.pgx(b)
	for _, text := range []string{
		"SELECT create_graph('social')", "SET hedgerow.graph = social", "CREATE CONSTRAINT u FOR (n:P) REQUIRE n.id IS UNIQUE",
		"SELECT * FROM cypher('social', $$ UNWIND range(1, 10000) AS x CREATE (:P {id: x, name: 'n' + toString(x)}) $$) AS (a agtype)",
		"SELECT * FROM cypher('social', $$ MATCH (p:P), (q:P {id: (p.id * 7) % 10000 + 1}) CREATE (p)-[:R]->(q) $$) AS (a agtype)", "ANALYZE",
		"SET synchronous_commit = off",
	} {
		exec(b, c, text)
	}
	conn := c.PgConn()
	prepared := func(conn *pgconn.PgConn, name, text string, args func(i int) [][]byte) func(int) error {
		if _, err := conn.Prepare(ctx, name, text, nil); err != nil {
			b.Fatal(err)
		}
		return func(i int) error {
			var v [][]byte
			if args != nil {
				v = args(i)
			}
			r := conn.ExecPrepared(ctx, name, v, nil, nil).Read()
			if r.Err == nil && len(r.Rows) > 1 {
				return fmt.Errorf("%d rows", len(r.Rows))
			}
			return r.Err
		}
	}
	pasted := func(text string) func(int) error {
		return func(i int) error {
			_, err := conn.Exec(ctx, fmt.Sprintf(text, i%10000+1)).ReadAll()
			return err
		}
	}
	unnamed := func(text string, args func(i int) [][]byte) func(int) error {
		return func(i int) error { return conn.ExecParams(ctx, text, args(i), nil, nil, nil).Read().Err }
	}
	id := func(i int) [][]byte { return [][]byte{fmt.Appendf(nil, `{"id": %d}`, i%10000+1)} }
	bare := func(i int) [][]byte { return [][]byte{fmt.Appendf(nil, `%d`, i%10000+1)} }
	ends := func(i int) [][]byte {
		return [][]byte{fmt.Appendf(nil, `{"a": %d, "b": %d}`, i*7%10000+1, i*11%10000+1)}
	}
	const (
		point = "SELECT * FROM cypher('social', $$ MATCH (n:P {id: $id}) RETURN n.name $$, $1) AS (name text)"
		hop   = "SELECT * FROM cypher('social', $$ MATCH (n:P {id: $id})-[:R]->(m) RETURN m.name $$, $1) AS (name agtype)"
		edge  = "SELECT * FROM cypher('social', $$ MATCH (a:P {id: $a}), (b:P {id: $b}) CREATE (a)-[:S]->(b) $$, $1) AS (x agtype)"
	)
	all := []*asked{
		{name: "one", do: prepared(conn, "one", "SELECT 1", nil)},
		{name: "point", do: prepared(conn, "point", point, id)},
		{name: "hop", do: prepared(conn, "hop", hop, id)},
		{name: "bare", do: prepared(conn, "bare", "MATCH (n:P {id: $1}) RETURN n.name AS name", bare)},
		{name: "insert", do: prepared(conn, "insert", edge, ends)},
		{name: "unnamed", do: unnamed(point, id)},
		{name: "simple-one", do: func(int) error { _, err := conn.Exec(ctx, "SELECT 1").ReadAll(); return err }},
		{name: "literal-point", do: pasted("SELECT * FROM cypher('social', $$ MATCH (n:P {id: %d}) RETURN n.name $$) AS (name text)")},
		{name: "literal-hop", do: pasted("SELECT * FROM cypher('social', $$ MATCH (n:P {id: %d})-[:R]->(m) RETURN m.name $$) AS (name agtype)")},
	}
	if dsn := os.Getenv("HEDGEROW_BENCH_POSTGRES"); dsn != "" {
		pg, err := pgconn.Connect(ctx, dsn)
		if err != nil {
			b.Fatal(err)
		}
		defer pg.Close(ctx)
		all = append(all, &asked{name: "postgres-one", do: prepared(pg, "one", "SELECT 1", nil)})
	}
	for i := 0; i < 200; i++ {
		for _, a := range all {
			if err := a.do(i); err != nil {
				b.Fatalf("%s: %v", a.name, err)
			}
		}
	}
	const run = 50 // statements of a kind on end
	b.ResetTimer()
	for i := 0; b.Loop(); i += run {
		for _, a := range all {
			for k := range run {
				begun := time.Now()
				if err := a.do(i + k); err != nil {
					b.Fatalf("%s: %v", a.name, err)
				}
				a.took = append(a.took, time.Since(begun))
			}
		}
	}
	b.StopTimer()
	median := func(a *asked) float64 {
		slices.Sort(a.took)
		return float64(a.took[len(a.took)/2].Nanoseconds()) / 1000
	}
	one := median(all[0])
	for _, a := range all {
		b.ReportMetric(median(a), a.name+"-µs")
		b.ReportMetric(median(a)/one, a.name+"/one")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkServe is what one statement costs client and server together, allocations of both included.
func BenchmarkServe(b *testing.B) {
	for _, q := range [][2]string{
		{"one", "SELECT 1"},
		{"point", "SELECT * FROM cypher('main', $$ MATCH (n:P {id: $id}) RETURN n.name $$, $1) AS (name text)"},
	} {
		b.Run(q[0], func(b *testing.B) {
			s := serve(b, Options{})
			c := s.pgx(b)
			exec(b, c, "SELECT create_graph('main')", "CREATE CONSTRAINT u FOR (n:P) REQUIRE n.id IS UNIQUE",
				"SELECT * FROM cypher('main', $$ UNWIND range(1, 10000) AS x CREATE (:P {id: x, name: 'n' + toString(x)}) $$) AS (a agtype)")
			conn := c.PgConn()
			if _, err := conn.Prepare(ctx, "q", q[1], nil); err != nil {
				b.Fatal(err)
			}
			var args [][]byte
			if q[0] != "one" {
				args = [][]byte{[]byte(`{"id": 77}`)}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				if r := conn.ExecPrepared(ctx, "q", args, nil, nil).Read(); r.Err != nil || len(r.Rows) != 1 {
					b.Fatal(len(r.Rows), r.Err)
				}
			}
		})
	}
}
