package bolt

import (
	"slices"
	"testing"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
)

// BenchmarkDriver asks small statements in turn over one session of Neo4j's driver and reports the median round trip of each, and how many
// times that of RETURN 1 it is. A statement is RUN and PULL, and the commit of its own transaction.
func BenchmarkDriver(b *testing.B) {
	s := serve(b, Options{})
	d := s.driver(b, "bolt")
	run(b, d, "CREATE CONSTRAINT FOR (n:P) REQUIRE n.id IS UNIQUE", nil)
	run(b, d, "UNWIND range(1, 10000) AS x CREATE (:P {id: x, name: 'n' + toString(x)})", nil)
	run(b, d, "MATCH (p:P), (q:P {id: (p.id * 7) % 10000 + 1}) CREATE (p)-[:R]->(q)", nil)
	sess := d.NewSession(ctx, neo4j.SessionConfig{})
	defer sess.Close(ctx)
	kinds := []struct {
		name, text string
		took       []time.Duration
	}{
		{name: "one", text: "RETURN 1 AS one"},
		{name: "point", text: "MATCH (n:P {id: $id}) RETURN n.name AS name"},
		{name: "hop", text: "MATCH (n:P {id: $id})-[:R]->(m) RETURN m.name AS name"},
		{name: "insert", text: "MATCH (a:P {id: $id}), (b:P {id: $id}) CREATE (a)-[:S]->(b)"},
	}
	const turn = 50 // statements of a kind on end
	ask := func(text string, i int) error {
		r, err := sess.Run(ctx, text, map[string]any{"id": i%10000 + 1})
		if err != nil {
			return err
		}
		_, err = r.Consume(ctx)
		return err
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i += turn {
		for k := range kinds {
			for j := range turn {
				begun := time.Now()
				if err := ask(kinds[k].text, i+j); err != nil {
					b.Fatal(err)
				}
				kinds[k].took = append(kinds[k].took, time.Since(begun))
			}
		}
	}
	b.StopTimer()
	median := func(k int) float64 {
		slices.Sort(kinds[k].took)
		return float64(kinds[k].took[len(kinds[k].took)/2].Nanoseconds()) / 1000
	}
	for k := range kinds {
		b.ReportMetric(median(k), kinds[k].name+"-µs")
		b.ReportMetric(median(k)/median(0), kinds[k].name+"/one")
	}
	b.ReportMetric(0, "ns/op")
}
