package engine_test

import (
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// inserter inserts vertices, one transaction each, as cheaply as a client can.
type inserter struct {
	t     testing.TB
	db    *engine.DB
	label schema.LabelID
	key   schema.KeyID
	n     int
	c     store.Counters
}

func (w *inserter) one() {
	tx, err := w.db.Store().Begin(bg, store.TxOptions{Async: true})
	if err != nil {
		w.t.Fatal(err)
	}
	st, err := tx.Begin(bg)
	if err != nil {
		w.t.Fatal(err)
	}
	cid, err := st.Segment(1)
	if err != nil {
		w.t.Fatal(err)
	}
	g, err := st.Graph(bg, "graph")
	if err != nil {
		w.t.Fatal(err)
	}
	w.n++
	var out store.Hits
	p := []store.PropRow{{Keys: []schema.KeyID{w.key}, Vals: []value.Value{value.NewInt(int64(w.n) * 7919 % 1000003)}}}
	if err := g.CreateNodes(bg, cid, []schema.LabelID{w.label}, p, &out); err != nil {
		w.t.Fatal(err)
	}
	if err := st.Finish(bg); err != nil {
		w.t.Fatal(err)
	}
	c := st.Counters()
	w.c.UniqueProbes += c.UniqueProbes
	w.c.IDProbes += c.IDProbes
	w.c.SeqScans += c.SeqScans
	w.c.RowsRead += c.RowsRead
	st.Close()
	if err := tx.Commit(bg); err != nil {
		w.t.Fatal(err)
	}
}

func newInserter(t testing.TB, db *engine.DB) *inserter {
	w := &inserter{t: t, db: db}
	c := begin(t, db, store.ReadCommitted)
	c.must(c.tx.CreateConstraint(bg, "graph", store.ConstraintDef{Name: "uq", Label: "L", Keys: []string{"k"}, Kind: schema.Unique}))
	c.must(c.commit())
	update(t, db, func(c *client) {
		c.begin()
		w.label, w.key = c.label("L"), c.key("k")
	})
	return w
}

// TestInsertCostIsFlat holds what an insert costs against the size of the label: pages, probes and log bytes stay the same (law 3).
func TestInsertCostIsFlat(t *testing.T) {
	rows, part := 20000, 2000
	o := options(vfs.NewMem())
	o.AnalyzeInterval = -1
	o.CacheBytes = 64 << 20
	db, err := engine.Open(bg, o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(bg)
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	w := newInserter(t, db)
	measure := func(n int) (pins, log, perRow float64) {
		a := db.Stats()
		began := time.Now()
		for range n {
			w.one()
		}
		b := db.Stats()
		f := float64(n)
		return float64(b.Pool.Pins-a.Pool.Pins) / f, float64(b.Log.Bytes-a.Log.Bytes-(b.Log.ImageBytes-a.Log.ImageBytes)) / f,
			float64(time.Since(began).Microseconds()) / f
	}
	for range 200 {
		w.one()
	}
	w.c = store.Counters{}
	p1, l1, t1 := measure(part)
	measure(rows - 2*part)
	p2, l2, t2 := measure(part)
	t.Logf("first: %.2f pages, %.1f log bytes, %.1f µs a row; last: %.2f pages, %.1f log bytes, %.1f µs", p1, l1, t1, p2, l2, t2)
	if p2 > 1.1*p1+1 { // a tree may gain a level
		t.Errorf("pages a row grew from %.2f to %.2f", p1, p2)
	}
	if l2 > 1.1*l1 {
		t.Errorf("log bytes a row grew from %.1f to %.1f", l1, l2)
	}
	if w.c.UniqueProbes != int64(rows) || w.c.IDProbes != 0 || w.c.SeqScans != 0 || w.c.RowsRead != 0 {
		t.Errorf("%d rows took %+v", rows, w.c)
	}
	clean(t, db)
}

// TestWritesDoNotAllocate is rule E2 for the store: what a batch needs is kept for the next one. Creates allocate for what lasts, page
// splits and lock records, by the slab.
func TestWritesDoNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	o := engine.Options{Dir: t.TempDir(), CacheBytes: 128 << 20, Steps: true, AnalyzeInterval: -1} // files in memory would allocate
	db, err := engine.Open(bg, o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(bg)
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	update(t, db, func(c *client) {
		c.must(c.tx.CreateIndex(bg, "graph", store.IndexDef{Name: "ix", Label: "L", Keys: []string{"k"}}))
	})

	const batch, batches = 1000, 20
	tx, err := db.Store().Begin(bg, store.TxOptions{Async: true})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, tx: tx}
	c.begin()
	l, typ, k, x := c.label("L"), c.typ("R"), c.key("k"), c.key("x")
	props := make([]store.PropRow, batch)
	set := make([]store.PropRow, batch)
	for i := range props {
		props[i] = store.PropRow{Keys: []schema.KeyID{k, x}, Vals: []value.Value{value.NewInt(int64(i)), value.NewString("some text")}}
		set[i] = store.PropRow{Keys: []schema.KeyID{x}, Vals: []value.Value{value.NewInt(1)}}
	}
	ids, hints := make([][]uint64, batches+1), make([][]store.Hint, batches+1)
	rels, relHints := make([][]uint64, batches+1), make([][]store.Hint, batches+1)
	var hits store.Hits
	n := 0
	perRow := func(what string, most float64, f func(b int)) {
		t.Helper()
		f(batches) // grows the buffers
		n = -1
		got := testing.AllocsPerRun(batches-1, func() { n++; f(n) }) / batch
		t.Logf("%s: %.4f allocations a row", what, got)
		if got > most {
			t.Errorf("%s: %.4f allocations a row", what, got)
		}
	}
	for b := range ids {
		ids[b], hints[b] = make([]uint64, batch), make([]store.Hint, batch)
		rels[b], relHints[b] = make([]uint64, batch), make([]store.Hint, batch)
	}
	perRow("create nodes", 0.02, func(b int) {
		hits.Reset()
		c.must(c.g.CreateNodes(bg, c.cid, []schema.LabelID{l}, props, &hits))
		copy(ids[b], hits.ID)
		copy(hints[b], hits.Hint)
	})
	perRow("create relationships", 0.05, func(b int) {
		hits.Reset()
		c.must(c.g.CreateRels(bg, c.cid, typ, ids[b], ids[batches], nil, &hits))
		copy(rels[b], hits.ID)
		copy(relHints[b], hits.Hint)
	})
	c.must(c.finish())
	c.begin()
	changed, gone := make([]bool, batch), make([]bool, batch)
	perRow("lock and set", 0.01, func(b int) {
		c.must(c.g.Lock(bg, c.stmt.View(c.cid), schema.Vertex, ids[b], hints[b], changed, gone))
		c.must(c.g.SetProps(bg, c.cid, schema.Vertex, ids[b], hints[b], set))
	})
	var col vec.Column
	perRow("fetch", 0.01, func(b int) {
		col.Reset()
		c.must(c.g.Fetch(bg, c.after(), schema.Vertex, ids[b], hints[b], []schema.KeyID{x}, []*vec.Column{&col}))
	})
	if s := c.stmt.Counters(); s.HintStale != 0 || s.IDProbes != 0 {
		t.Errorf("hints failed: %+v", *s)
	}
	c.must(c.finish())
	c.begin()
	perRow("delete relationships", 0.01, func(b int) {
		c.must(c.g.Delete(bg, c.cid, schema.Edge, rels[b], relHints[b], false))
	})
	perRow("delete nodes", 0.01, func(b int) {
		c.must(c.g.Delete(bg, c.cid, schema.Vertex, ids[b], hints[b], false))
	})
	c.must(c.finish())
	c.must(c.commit())
	clean(t, db)
}

func BenchmarkInsertVertex(b *testing.B) {
	o := options(vfs.NewMem())
	o.AnalyzeInterval = -1
	o.CacheBytes = 64 << 20
	db, err := engine.Open(bg, o)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close(bg)
	update(b, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	w := newInserter(b, db)
	for b.Loop() {
		w.one()
	}
}
