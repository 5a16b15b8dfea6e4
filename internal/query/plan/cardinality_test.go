package plan

import (
	"math"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/stats"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// knowing is a catalog with statistics.
type knowing struct {
	*fakeCatalog
	key    *stats.Key
	degree *stats.Degree
	counts float64 // in place of every count, if it is not 1
}

func (c *knowing) KeyStats(schema.LabelID, schema.KeyID) *stats.Key { return c.key }
func (c *knowing) DegreeStats(_, _ schema.LabelID, _ store.Direction) *stats.Degree {
	return c.degree
}

func (c *knowing) NodeCount(l schema.LabelID) float64 {
	if c.counts != 1 {
		return c.counts
	}
	return c.fakeCatalog.NodeCount(l)
}

func (c *knowing) RelsBetween(a, t, b schema.LabelID) float64 {
	if c.counts != 1 {
		return c.counts
	}
	return c.fakeCatalog.RelsBetween(a, t, b)
}

const knownCatalog = `
node A 1000
node B 500
rel R 3000 A B
rel S 2000 A A
keys k m o
index A k
`

// rowsOf returns the estimate of the operator just below the projection of a plan for MATCH … RETURN.
func rowsOf(t *testing.T, cat Catalog, match string) float64 {
	t.Helper()
	q, err := planText(match+" RETURN 1 AS x", cat, Options{}, false)
	if err != nil {
		t.Fatalf("%s: %v", match, err)
	}
	return q.Root.Info().Est
}

// TestEstimates holds the formulas at the head of cardinality.go.
func TestEstimates(t *testing.T) {
	k := &stats.Key{Rows: 1000, Null: 0.2, Distinct: 102, Common: []stats.Common{{Value: value.NewInt(7), Share: 0.3}, {Value: value.NewString("x"), Share: 0.1}}}
	for i := range 11 {
		k.Bounds = append(k.Bounds, value.NewInt(int64(10*i)))
	}
	cat := &knowing{fakeCatalog: parseCatalog(t, knownCatalog), key: k, counts: 1}
	for _, c := range []struct {
		match string
		want  float64
	}{
		{"MATCH (a:A) WHERE a.k = 7", 300},
		{"MATCH (a:A) WHERE a.m = 7", 300},
		{"MATCH (a:A) WHERE a.m = 8", 4},
		{"MATCH (a:A) WHERE a.m = $p", 800.0 / 102},
		{"MATCH (a:A) WHERE a.m IN [7, 8, 7]", 304},
		{"MATCH (a:A) WHERE a.m < 50", 500},
		{"MATCH (a:A) WHERE a.k >= 20 AND a.k < 50", 120},
		{"MATCH (a:A) WHERE a.m >= 20 AND a.m < 50", 120},
		{"MATCH (a:A) WHERE a.m IS NOT NULL", 800},
		{"MATCH (a:A) WHERE a.m IS NULL", 200},
		{"MATCH (a:A) WHERE a.m <> 7", 500},
		{"MATCH (a:A) WHERE a.m <> a.k", 900},
		{"MATCH (a:A) WHERE a.m = 7 OR a.m = 'x'", 370},
		{"MATCH (a:A) WHERE a.m = 7 AND a.o < 50", 300 * math.Sqrt(0.5)},
		{"MATCH (a:A)-[:R]->(b:B)", 3000},
		{"MATCH (a:A)-[:S]->(b:A)", 2000},
		{"MATCH (a:A) WITH a AS x MATCH (x)-[:R]->(y)", 3000},
		{"MATCH ()-[:R]->(b) WITH DISTINCT b MATCH (b)<-[:R]-(c)", 9000},
	} {
		if got := rowsOf(t, cat, c.match); math.Abs(got-c.want) > 0.02*c.want {
			t.Errorf("%s: %g rows are expected, want %g", c.match, got, c.want)
		}
	}
	// From the ends of one relationship more go on than the mean: E[d²]/E[d] = 20, less the one that led there.
	cat.degree = &stats.Degree{Mean: 4, Second: 80, Rows: 1000}
	for _, d := range []stats.Direction{stats.Out, stats.In, stats.Both} {
		cat.degree.Joint = append(cat.degree.Joint, stats.Joint{Type: 0, Dir: d, Product: 80})
	}
	all, _ := cat.Label(store.View{}, "S", schema.Edge)
	cat.degree.Type, cat.degree.Dir = all, stats.Both
	one, two := rowsOf(t, cat, "MATCH (a:A)-[:S]-(b:A)"), rowsOf(t, cat, "MATCH (a:A)-[:S]-(b:A)-[:S]-(c:A)")
	if got := two / one; math.Abs(got-19) > 0.5 {
		t.Errorf("a second step multiplies by %g, want 19", got)
	}
}

// Absurd statistics make no absurd plan: no panic, and every estimate is a number.
func TestAbsurdStatistics(t *testing.T) {
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -3, 0, 1e300, 5e-324}
	vals := []value.Value{{}, value.NewFloat(math.NaN()), value.NewString("zzz"), value.NewInt(3)}
	for _, x := range bad {
		for _, y := range bad {
			cat := &knowing{fakeCatalog: parseCatalog(t, knownCatalog), counts: 1}
			cat.key = &stats.Key{Rows: x, Null: y, Distinct: x, Wide: y, Common: []stats.Common{{Value: value.NewInt(7), Share: y}}, Bounds: vals}
			cat.degree = &stats.Degree{Mean: x, Second: y, Rows: x, Joint: []stats.Joint{{Type: 0, Dir: stats.Both, Product: y}}}
			for _, counts := range []float64{1, x} {
				cat.counts = counts
				for _, m := range []string{
					"MATCH (a:A)-[:R]->(b:B) WHERE a.k = 7 AND b.m < 3 AND a.m STARTS WITH 'q'",
					"MATCH (a:A {k: 7})-[:S*1..4]-(b:A)-[:R]->(c:B), (a)-[:S]->(b)",
					"MATCH (a:A), (b:B) WHERE a.k = b.m AND a.m IN [1, null, 7]",
					"MATCH p = shortestPath((a:A {k: 1})-[:S*]-(b:A {k: 2}))",
				} {
					if got := rowsOf(t, cat, m); math.IsNaN(got) || got < 0 {
						t.Errorf("%s with %g and %g: %g rows are expected", m, x, y, got)
					}
				}
			}
		}
	}
}
