package exec_test

import (
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/value"
)

func BenchmarkPoint(b *testing.B) {
	d := big(b, 1000)
	d.Must(b, "CREATE INDEX FOR (n:L) ON (n.x)", nil)
	tx := begin(b, d)
	p := prepare(b, d, tx, "MATCH (n:L {x: $x}) RETURN n.s AS s")
	b.ReportAllocs()
	for b.Loop() {
		drain(b, d, p, tx, []value.Value{value.NewInt(500)})
	}
}

func benchRows(b *testing.B, text string) {
	d := big(b, 10_000)
	tx := begin(b, d)
	p := prepare(b, d, tx, text)
	b.ReportAllocs()
	for b.Loop() {
		drain(b, d, p, tx, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/row")
}

func BenchmarkScanFilter(b *testing.B) { benchRows(b, "MATCH (n:L) WHERE n.x % 2 = 0 RETURN n.x AS x") }
func BenchmarkExpand(b *testing.B)     { benchRows(b, "MATCH (n:L)-[:R]->(m) RETURN count(m) AS c") }
func BenchmarkGroup(b *testing.B) {
	benchRows(b, "MATCH (n:L) RETURN n.x % 100 AS k, count(*) AS c, sum(n.x) AS s")
}
func BenchmarkTopN(b *testing.B) {
	benchRows(b, "MATCH (n:L) RETURN n.x AS x ORDER BY x DESC LIMIT 20")
}
func BenchmarkSort(b *testing.B) { benchRows(b, "MATCH (n:L) RETURN n.x AS x ORDER BY x DESC") }
func BenchmarkUnwind(b *testing.B) {
	benchRows(b, "UNWIND range(1, 10000) AS x WITH x WHERE x > 5 RETURN sum(x) AS s")
}
