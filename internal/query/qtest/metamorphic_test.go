package qtest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/query/plancache"
	"github.com/hedgerowdb/hedgerow/internal/testkit"
)

// way is a way to run statements that must not change an answer.
type way struct {
	name    string
	prepare func(*DB)
	// indexes are made on every label and key before the data.
	indexes bool
}

func ways() []way {
	all := map[plan.Rule]bool{}
	for _, r := range plan.Rules {
		all[r] = true
	}
	out := []way{
		{name: "plan cache", prepare: func(d *DB) { d.Cache = plancache.New(plancache.Options{}) }},
		{name: "plan cache, batch 1", prepare: func(d *DB) { d.Cache, d.Exec.BatchSize = plancache.New(plancache.Options{}), 1 }},
		{name: "reference", prepare: func(d *DB) { d.Exec.Reference = true }},
		{name: "batch 1", prepare: func(d *DB) { d.Exec.BatchSize = 1 }},
		{name: "batch 1024", prepare: func(d *DB) { d.Exec.BatchSize = 1024 }},
		{name: "indexes", indexes: true},
		{name: "all rules off", prepare: func(d *DB) { d.Plan.Off = all }},
		{name: "plan cache and indexes", indexes: true, prepare: func(d *DB) { d.Cache = plancache.New(plancache.Options{}) }},
	}
	for _, r := range plan.Rules {
		out = append(out, way{name: string(r) + " off", prepare: func(d *DB) { d.Plan.Off = map[plan.Rule]bool{r: true} }})
	}
	return out
}

// TestMetamorphicTCK runs the TCK's scenarios in every way: each must give what the TCK expects, errors by type, detail and phase. A short run
// takes every scenario once for the plan cache and divides the others among the ways; HEDGEROW_METAMORPHIC=1 runs all in all ways.
func TestMetamorphicTCK(t *testing.T) {
	scenarios, err := LoadTCK(testkit.Shared(t, "tck/tck/features"))
	if err != nil {
		t.Fatal(err)
	}
	graphs, err := LoadGraphs(testkit.Shared(t, "tck/tck/graphs"))
	if err != nil {
		t.Fatal(err)
	}
	only, whole := os.Getenv("HEDGEROW_TCK_ONLY"), os.Getenv("HEDGEROW_METAMORPHIC") != ""
	ws := ways()
	for w, way := range ws {
		t.Run(way.name, func(t *testing.T) {
			d := New(nil)
			n := 0
			for i, s := range scenarios {
				if !strings.Contains(s.ID(), only) || !whole && w > 0 && i%(2*len(ws)) != w {
					continue
				}
				n++
				d.Exec, d.Plan, d.Cache, d.Begin = exec.Options{BatchSize: 7, Poison: true}, plan.Options{}, nil, nil
				if way.prepare != nil {
					way.prepare(d)
				}
				if way.indexes {
					d.Begin = tckIndexes()
				}
				if err := RunScenario(d, graphs, s); err != nil {
					t.Errorf("%s\n      %v", s.ID(), err)
				}
			}
			t.Logf("%d scenarios", n)
		})
	}
}

// tckIndexes make indexes on what the TCK's statements name most.
func tckIndexes() (out []string) {
	for _, l := range []string{"A", "B", "C", "Person", "Label", "L", "X", "N", "Begin", "End", "Foo", "TestLabel"} {
		for _, k := range []string{"name", "num", "id", "num2", "prop", "age", "var", "p1", "created"} {
			out = append(out, fmt.Sprintf("CREATE INDEX FOR (n:%s) ON (n.%s)", l, k))
		}
	}
	for _, r := range []string{"T", "R", "REL", "KNOWS", "TYPE"} {
		out = append(out, fmt.Sprintf("CREATE INDEX FOR ()-[r:%s]-() ON (r.name)", r))
	}
	return out
}

// TestDifferentialCache compares random statements, run by plans that were made for other literals, with the reference run.
func TestDifferentialCache(t *testing.T) {
	n := differentialSize(t)
	d := &Differential{
		Reference: func() Target {
			db := New(nil)
			db.Exec = exec.Options{Reference: true}
			return db
		},
		Subject: func(batch int) Target {
			db := New(nil)
			db.Cache, db.Exec = plancache.New(plancache.Options{}), exec.Options{BatchSize: batch, Poison: true}
			return db
		},
	}
	ran, failed, err := d.Run(900_000, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d statements, of which %d failed alike", ran, failed)
}

// FuzzCache runs a random statement on a random graph with and without the cache.
func FuzzCache(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		plain, cached := New(nil), New(nil)
		cached.Cache = plancache.New(plancache.Options{})
		g := NewGenerator(seed)
		for _, q := range g.Setup() {
			plain.Must(t, q, nil)
			cached.Must(t, q, nil)
		}
		for range 5 {
			st := g.Next()
			a, aerr := run(plain, st.Literal, nil)
			b, berr := run(cached, st.Literal, nil)
			if (aerr == nil) != (berr == nil) || aerr != nil && Explain(aerr) != Explain(berr) {
				t.Fatalf("%s\nplain  %v\ncached %v", st.Literal, aerr, berr)
			}
			if aerr != nil {
				continue
			}
			if strings.Join(a.Columns, "|") != strings.Join(b.Columns, "|") {
				t.Fatalf("%s\ncolumns %q, cached %q", st.Literal, a.Columns, b.Columns)
			}
			if len(a.Rows) != len(b.Rows) {
				t.Fatalf("%s\n%d rows, cached %d", st.Literal, len(a.Rows), len(b.Rows))
			}
			if len(a.Rows) > 2000 { // an input has ten seconds, and the fuzzer's counters slow its comparison tenfold
				continue
			}
			if err := Compare(Table{Columns: a.Columns, Rows: cells(a)}, b, st.Ordered, false); err != nil {
				t.Fatalf("%s\n%v", st.Literal, err)
			}
		}
	})
}

func cells(r *Result) [][]string {
	var out [][]string
	for _, row := range r.Rows {
		var cs []string
		for _, v := range row {
			cs = append(cs, Canon(v, false))
		}
		out = append(out, cs)
	}
	return out
}
