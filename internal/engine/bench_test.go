package engine_test

import (
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// star is a graph of n persons with deg relationships each, in a database on disk.
func star(b testing.TB, n, deg int) (db *engine.DB, ids []uint64) {
	db, err := engine.Open(bg, engine.Options{Dir: b.TempDir(), CacheBytes: 256 << 20})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close(bg) })
	update(b, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	update(b, db, func(c *client) {
		c.begin()
		l, typ, k := c.label("P"), c.typ("K"), c.key("k")
		var out store.Hits
		props := make([]store.PropRow, 0, 1000)
		for i := 0; i < n; i += 1000 {
			props = props[:0]
			for j := range min(1000, n-i) {
				props = append(props, store.PropRow{Keys: []schema.KeyID{k}, Vals: []value.Value{value.NewInt(int64(i + j))}})
			}
			c.must(c.g.CreateNodes(bg, c.cid, []schema.LabelID{l}, props, &out))
		}
		ids = append(ids, out.ID...)
		var start, end []uint64
		var rels store.Hits
		x := uint64(1)
		for i := range n * deg {
			x = x*6364136223846793005 + 1442695040888963407
			start, end = append(start, ids[i/deg]), append(end, ids[x>>33%uint64(n)])
			if len(start) == 1000 || i == n*deg-1 {
				rels.Reset()
				c.must(c.g.CreateRels(bg, c.cid, typ, start, end, nil, &rels))
				start, end = start[:0], end[:0]
			}
		}
	})
	return db, ids
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		star(b, 10000, 5)
	}
	b.ReportMetric(60000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkExpand(b *testing.B) {
	db, ids := star(b, 10000, 10)
	c := begin(b, db, store.ReadCommitted).begin()
	defer c.rollback()
	var e store.Edges
	edges := 0
	for b.Loop() {
		cur, err := c.g.Expand(bg, c.after(), ids[:1000], store.Out, nil)
		c.must(err)
		for {
			c.must(cur.Next(bg, 1024, &e))
			if len(e.Rel) == 0 {
				break
			}
			edges += len(e.Rel)
		}
		cur.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(edges), "ns/edge")
}

func BenchmarkFetch(b *testing.B) {
	db, ids := star(b, 10000, 1)
	c := begin(b, db, store.ReadCommitted).begin()
	defer c.rollback()
	var col vec.Column
	k := c.key("k")
	hints := make([]store.Hint, 1000)
	for b.Loop() {
		col.Reset()
		c.must(c.g.Fetch(bg, c.after(), schema.Vertex, ids[:1000], hints, []schema.KeyID{k}, []*vec.Column{&col}))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/row")
}

func BenchmarkLockAndSet(b *testing.B) {
	db, ids := star(b, 20000, 1)
	k := schema.KeyID(0)
	hints := make([]store.Hint, 1000)
	changed, gone := make([]bool, 1000), make([]bool, 1000)
	rows := make([]store.PropRow, 1000)
	n := 0
	for b.Loop() {
		c := begin(b, db, store.ReadCommitted).begin()
		k = c.key("x")
		n++
		for i := range rows {
			rows[i] = store.PropRow{Keys: []schema.KeyID{k}, Vals: []value.Value{value.NewInt(int64(n))}}
		}
		for at := 0; at < len(ids); at += 1000 {
			clear(hints)
			c.must(c.g.Lock(bg, c.stmt.View(c.cid), schema.Vertex, ids[at:at+1000], hints, changed, gone))
			c.must(c.g.SetProps(bg, c.cid, schema.Vertex, ids[at:at+1000], hints, rows))
		}
		c.must(c.finish())
		c.tx.SetAsync(true)
		c.must(c.commit())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20000, "ns/row")
}
