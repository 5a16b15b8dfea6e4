package plancache_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/query/plancache"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/stats"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/store/memstore"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// bench is a graph to plan on.
type bench struct {
	t     testing.TB
	stmt  store.Stmt
	graph store.Graph
	cache *plancache.Cache
	clock time.Time
}

func open(t testing.TB, o plancache.Options) *bench {
	t.Helper()
	ctx := context.Background()
	tx, err := memstore.New().Begin(ctx, store.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.CreateGraph(ctx, "main"); err != nil {
		t.Fatal(err)
	}
	stmt, err := tx.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	g, err := stmt.Graph(ctx, "main")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, stmt: stmt, graph: g, clock: time.Unix(1000, 0)}
	o.Now = func() time.Time { return b.clock }
	b.cache = plancache.New(o)
	return b
}

var env = plancache.Env{Graph: "main", Zone: "UTC"}

func (b *bench) find(text string) *plancache.Text {
	b.t.Helper()
	if t := b.cache.Text(&env, text); t != nil {
		return t
	}
	t, err := b.cache.Form(&env, text)
	if err != nil {
		b.t.Fatalf("%s: %v", text, err)
	}
	return t
}

// plan finds or makes a plan and says which.
func (b *bench) plan(text string, cat plan.Catalog, version uint64, params ...value.Value) (*plancache.Variant, bool) {
	b.t.Helper()
	t := b.find(text)
	if t.Entry.Unfit() {
		t = b.cache.Exact(t)
	}
	vals := append(append([]value.Value(nil), t.Lifted...), params...)
	if v, _ := t.Entry.Pick(version, vals, true); v != nil {
		return v, true
	}
	r := plancache.Request{Text: t, Catalog: cat, View: b.stmt.View(0), Version: version, Params: params, Procs: exec.Signatures{Procedures: exec.Builtins}}
	v, err := b.cache.Make(r)
	if plancache.NotLifted(err) {
		r.Text = b.cache.Exact(t)
		v, err = b.cache.Make(r)
	}
	if err != nil {
		b.t.Fatalf("%s: %v", text, err)
	}
	b.cache.Add(r.Text.Entry, v, nil)
	return v, false
}

func TestLiteralsShareAPlan(t *testing.T) {
	b := open(t, plancache.Options{})
	first, hit := b.plan("MATCH (n:A {id: 1}) RETURN n.name", b.graph, 1)
	if hit || first.Prep.Query.Lifted != 1 {
		t.Fatalf("hit %v, %d literals", hit, first.Prep.Query.Lifted)
	}
	for _, text := range []string{"MATCH (n:A {id: 2}) RETURN n.name", "MATCH  (n:A {id:3})  RETURN n.name", "MATCH (n:A {id: 1}) RETURN n.name"} {
		if v, hit := b.plan(text, b.graph, 1); !hit || v != first {
			t.Errorf("%s: hit %v, the same plan: %v", text, hit, v == first)
		}
	}
	for _, text := range []string{"MATCH (n:A {id: 'x'}) RETURN n.name", "MATCH (n:A {id: 1}) RETURN  n . name", "MATCH (n:B {id: 1}) RETURN n.name"} {
		if _, hit := b.plan(text, b.graph, 1); hit {
			t.Errorf("%s: hit", text)
		}
	}
	if _, hit := b.plan("MATCH (n:A {id: 1}) RETURN n.name", b.graph, 2); hit {
		t.Error("a plan serves a newer catalog")
	}
	if s := b.cache.Stats(); s.Plans != 5 {
		t.Errorf("%+v", s)
	}
}

// TestNotLifted has forms that the tree forbids: their texts are planned as they are, and found as they are.
func TestNotLifted(t *testing.T) {
	b := open(t, plancache.Options{})
	text := "MATCH (n) RETURN n.x + 1, count(*) ORDER BY n.x +1"
	for i := range 3 {
		v, hit := b.plan(text, b.graph, 1)
		if hit != (i > 0) {
			t.Errorf("run %d: hit %v", i, hit)
		}
		if v.Prep.Query.Columns[0] != "n.x + 1" {
			t.Errorf("%q", v.Prep.Query.Columns)
		}
	}
}

func TestEviction(t *testing.T) {
	b := open(t, plancache.Options{Entries: 10})
	text := func(i int) string { return fmt.Sprintf("MATCH (n:L%d) RETURN n", i) }
	for i := range 30 {
		b.plan(text(i), b.graph, 1)
		b.plan(text(0), b.graph, 1) // used all the time
	}
	s := b.cache.Stats()
	if s.Entries != 10 || s.Evicted != 20 || s.Texts > 10 {
		t.Errorf("%+v", s)
	}
	for i, want := range map[int]bool{0: true, 29: true, 22: true, 5: false} {
		if _, hit := b.plan(text(i), b.graph, 1); hit != want {
			t.Errorf("statement %d: hit %v", i, hit)
		}
	}
	b.cache.Clear()
	if s := b.cache.Stats(); s.Entries != 0 || s.Texts != 0 || s.Bytes != 0 {
		t.Errorf("after Clear %+v", s)
	}

	b = open(t, plancache.Options{Bytes: 100 << 10})
	for i := range 200 {
		b.plan(text(i), b.graph, 1)
		if s := b.cache.Stats(); s.Bytes > 100<<10 {
			t.Fatalf("%+v", s)
		}
	}
	b.cache.Clear()
	if s := b.cache.Stats(); s.Bytes != 0 {
		t.Errorf("%+v", s)
	}
}

// skewed is a catalog with statistics: of 100,000 :P nearly all have k = 0, and i is evenly spread.
type skewed struct {
	store.Graph
	rows float64
}

func (s *skewed) Label(_ store.View, name string, e schema.Entity) (schema.LabelID, bool) {
	return 7, name == "P" && e == schema.Vertex
}
func (s *skewed) Key(name string) (schema.KeyID, bool) {
	return map[string]schema.KeyID{"k": 1, "i": 2}[name], true
}
func (s *skewed) NodeCount(schema.LabelID) float64 { return s.rows }
func (s *skewed) KeyStats(l schema.LabelID, k schema.KeyID) *stats.Key {
	switch k {
	case 1:
		return &stats.Key{ID: k, Rows: s.rows, Distinct: 50_000, Common: []stats.Common{{Value: value.NewInt(0), Share: 0.5}}}
	case 2:
		out := &stats.Key{ID: k, Rows: s.rows, Distinct: s.rows}
		for i := range 101 {
			out.Bounds = append(out.Bounds, value.NewInt(int64(i*1000)))
		}
		return out
	}
	return nil
}

func TestGuards(t *testing.T) {
	b := open(t, plancache.Options{})
	cat := &skewed{b.graph, 100_000}
	const text = "MATCH (p:P) WHERE p.k = $k RETURN p"
	rare, hit := b.plan(text, cat, 1, value.NewInt(17))
	if hit || !strings.Contains(rare.Guard(), "few") {
		t.Fatalf("hit %v, guard %q", hit, rare.Guard())
	}
	much, hit := b.plan(text, cat, 1, value.NewInt(0))
	if hit || !strings.Contains(much.Guard(), "common") {
		t.Fatalf("hit %v, guard %q", hit, much.Guard())
	}
	for _, c := range []struct {
		v    value.Value
		want *plancache.Variant
	}{{value.NewInt(18), rare}, {value.NewInt(0), much}, {value.NewFloat(0), much}, {value.NewString("x"), rare}} {
		if v, hit := b.plan(text, cat, 1, c.v); !hit || v != c.want {
			t.Errorf("%v: hit %v", c.v, hit)
		}
	}
	if v, hit := b.plan(text, cat, 1, value.Value{}); hit || !strings.Contains(v.Guard(), "null") {
		t.Errorf("null: hit %v, guard %q", hit, v.Guard())
	}
	// Literals have guards as parameters have.
	lit, _ := b.plan("MATCH (p:P) WHERE p.k = 17 RETURN p", cat, 1)
	if v, hit := b.plan("MATCH (p:P) WHERE p.k = 18 RETURN p", cat, 1); !hit || v != lit {
		t.Error("another rare literal misses")
	}
	if _, hit := b.plan("MATCH (p:P) WHERE p.k = 0 RETURN p", cat, 1); hit {
		t.Error("a common literal hits the plan of a rare one")
	}
}

// TestFourVariants: after four plans the next one is for all values.
func TestFourVariants(t *testing.T) {
	b := open(t, plancache.Options{})
	cat := &skewed{b.graph, 100_000}
	const text = "MATCH (p:P) WHERE p.i < $x AND p.k = $k RETURN p"
	made := 0
	try := func(x, k int64) *plancache.Variant {
		v, hit := b.plan(text, cat, 1, value.NewInt(x), value.NewInt(k))
		if !hit {
			made++
		}
		return v
	}
	for _, x := range []int64{50, 500, 5000, 50_000} {
		try(x, 17)
	}
	if made != plancache.MaxVariants {
		t.Fatalf("%d plans", made)
	}
	v := try(50, 0)
	if made != 5 || v.Guard() != "" {
		t.Fatalf("%d plans, guard %q", made, v.Guard())
	}
	for _, x := range []int64{60, 600, 6000, 60_000} {
		try(x, 0)
		try(x, 3)
	}
	if made != 5 {
		t.Errorf("%d plans", made)
	}
}

func TestDrift(t *testing.T) {
	b := open(t, plancache.Options{})
	cat := &skewed{b.graph, 1000}
	const text = "MATCH (p:P) RETURN p"
	v, _ := b.plan(text, cat, 1)
	cat.rows = 2000
	if b.cache.Drifted(v, cat) {
		t.Error("a young plan is due")
	}
	b.clock = b.clock.Add(11 * time.Second)
	cat.rows = 1240
	if b.cache.Drifted(v, cat) {
		t.Error("due after 24 %")
	}
	cat.rows = 1260
	if b.cache.Drifted(v, cat) {
		t.Error("looked twice in 10 seconds")
	}
	b.clock = b.clock.Add(11 * time.Second)
	if !b.cache.Drifted(v, cat) {
		t.Error("not due after 26 %")
	}
}

func TestOutgrown(t *testing.T) {
	b := open(t, plancache.Options{})
	cat := &skewed{b.graph, 3}
	v, _ := b.plan("MATCH (p:P) RETURN p", cat, 1)
	cat.rows = 1_000_000
	if b.cache.Outgrown(v, cat) {
		t.Error("looked at once")
	}
	for _, c := range []struct {
		rows float64
		want bool
	}{{90, false}, {1000, false}, {1001, true}} {
		b.clock = b.clock.Add(time.Second)
		cat.rows = c.rows
		if got := b.cache.Outgrown(v, cat); got != c.want {
			t.Errorf("%v rows: %v", c.rows, got)
		}
	}
	if b.cache.Outgrown(v, cat) {
		t.Error("looked twice in a tenth of a second")
	}
}

func TestPrefix(t *testing.T) {
	b := open(t, plancache.Options{})
	for text, want := range map[string]string{
		"CYPHER 5 RETURN 1": "",
		"CYPHER 5 runtime=slotted planner=cost replan=force RETURN 1": "",
		"EXPLAIN RETURN 1": "",
		"CYPHER runtime = pipelined PROFILE MATCH (n) RETURN n":            "",
		"CYPHER replan=never RETURN 1":                                     "never is not a value of the option replan",
		"CYPHER colour=blue RETURN 1":                                      "there is no option colour",
		"CYPHER 2 RETURN 1":                                                "2 is not a value of the option version",
		"CYPHER expressionEngine=compiled operatorEngine=default RETURN 1": "",
	} {
		_, err := b.cache.Form(&env, text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	b.plan("MATCH (n {id: 1}) RETURN n", b.graph, 1)
	if _, hit := b.plan("CYPHER 5 EXPLAIN MATCH (n {id: 2}) RETURN n", b.graph, 1); !hit {
		t.Error("a prefix is a part of the key")
	}
}

func TestHitAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	b := open(t, plancache.Options{})
	const text = "MATCH (n:Person {id: 933}) RETURN n.firstName AS name"
	b.plan(text, b.graph, 1)
	b.plan(text, b.graph, 1)
	if got := testing.AllocsPerRun(100, func() {
		f := b.cache.Text(&env, text)
		if v, _ := f.Entry.Pick(1, f.Lifted, true); v == nil {
			t.Fatal("miss")
		}
	}); got > 0 {
		t.Errorf("a text that is known: %v allocations", got)
	}
	i := 0
	texts := make([]string, 2000)
	for i := range texts {
		texts[i] = fmt.Sprintf("MATCH (n:Person {id: %d}) RETURN n.firstName AS name", 1000+i)
	}
	if got := testing.AllocsPerRun(1000, func() {
		f, _ := b.cache.Form(&env, texts[i%len(texts)])
		i++
		if v, _ := f.Entry.Pick(1, f.Lifted, true); v == nil {
			t.Fatal("miss")
		}
	}); got > 2 { // the Text and its values
		t.Errorf("a form that is known: %v allocations", got)
	}
}

func BenchmarkHit(b *testing.B) {
	x := open(b, plancache.Options{})
	const text = "MATCH (n:Person {id: 933}) RETURN n.firstName AS name, n.lastName AS last"
	x.plan(text, x.graph, 1)
	x.plan(text, x.graph, 1)
	b.Run("exact", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f := x.cache.Text(&env, text)
			if v, _ := f.Entry.Pick(1, f.Lifted, true); v == nil {
				b.Fatal("miss")
			}
		}
	})
	b.Run("normalised", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f, _ := x.cache.Form(&env, text)
			if v, _ := f.Entry.Pick(1, f.Lifted, true); v == nil {
				b.Fatal("miss")
			}
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	b := open(t, plancache.Options{Entries: 20})
	var mu sync.Mutex // the statement is used by one at a time
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 200 {
				text := fmt.Sprintf("MATCH (n:L%d {id: %d}) RETURN n", (i*7+w)%40, i)
				f := b.cache.Text(&env, text)
				if f == nil {
					f, _ = b.cache.Form(&env, text)
				}
				if v, _ := f.Entry.Pick(1, f.Lifted, true); v != nil {
					continue
				}
				mu.Lock()
				v, err := b.cache.Make(plancache.Request{Text: f, Catalog: b.graph, View: b.stmt.View(0), Version: 1})
				mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				b.cache.Add(f.Entry, v, nil)
			}
		})
	}
	wg.Wait()
	if s := b.cache.Stats(); s.Entries > 20 || s.Texts > 160 {
		t.Errorf("%+v", s)
	}
	b.cache.Clear()
	if s := b.cache.Stats(); s.Bytes != 0 {
		t.Errorf("%+v", s)
	}
}
