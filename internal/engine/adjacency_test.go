package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/access/adjacency"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// smallCache is a database whose neighbourhoods are folded, chunked and given up after few changes.
func smallCache(t testing.TB, o adjacency.Options) *engine.DB {
	t.Helper()
	opt := options(vfs.NewMem())
	opt.GraphCache = o
	db, err := engine.Open(bg, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(bg) })
	update(t, db, func(x *client) { x.must(x.tx.CreateGraph(bg, "graph")) })
	return db
}

// cache makes the client's reads use what is in memory, or not.
func (c *client) cache(on bool) { c.tx.(store.GraphCacher).SetGraphCache(on) }

// warm builds every segment.
func warm(t testing.TB, db *engine.DB) {
	t.Helper()
	c := begin(t, db, store.ReadCommitted).begin()
	c.must(c.g.(store.GraphCache).WarmGraphCache(bg, c.stmt.View(c.cid), nil))
	c.rollback()
}

// sameBothWays compares what the memory says of vertices with what the indexes say, to one view.
func (c *client) sameBothWays(v store.View, src []uint64) {
	c.t.Helper()
	for _, dir := range []store.Direction{store.Out, store.In, store.Both} {
		c.cache(false)
		want := c.expanded(v, src, dir, nil, 1024)
		degrees := make([]int64, len(src))
		c.must(c.g.Degree(bg, v, src, dir, nil, degrees))
		c.cache(true)
		for _, max := range []int{2, 1024} {
			if got := c.expanded(v, src, dir, nil, max); !slices.Equal(got, want) {
				c.t.Fatalf("direction %d at %d of %d: expand finds\n%v, want\n%v", dir, v.CID, v.Snap.CSN(), got, want)
			}
			cur, err := c.g.Neighbours(bg, v, src, dir, nil)
			c.must(err)
			if got := c.lent(cur, max); !slices.Equal(got, want) {
				c.t.Fatalf("direction %d at %d: lent\n%v, want\n%v", dir, v.CID, got, want)
			}
			cur.Close()
		}
		got := make([]int64, len(src))
		c.must(c.g.Degree(bg, v, src, dir, nil, got))
		if !slices.Equal(got, degrees) {
			c.t.Fatalf("direction %d: degrees %v, want %v", dir, got, degrees)
		}
		dst := make([]uint64, len(src))
		for i := range dst {
			dst[i] = src[(i*7+1)%len(src)]
		}
		var into []edge
		for _, e := range want {
			if e.other == dst[e.row] {
				into = append(into, e)
			}
		}
		cur, err := c.g.ExpandInto(bg, v, src, dst, dir, nil)
		c.must(err)
		var e store.Edges
		c.must(cur.Next(bg, 1024, &e))
		cur.Close()
		var found []edge
		for i := range e.Rel {
			found = append(found, edge{e.Row[i], e.In[i], e.Rel[i], e.Other[i]})
		}
		if !slices.Equal(found, into) {
			c.t.Fatalf("direction %d: between %v, want %v", dir, found, into)
		}
	}
}

// Transactions side by side add, change and delete relationships, some under savepoints, while segments are built, folded, given up and evicted.
// Whatever each of them may see at any of its command ids, and at snapshots however old, it sees in memory as in the indexes.
func TestNeighbourhoodsInMemoryAreThoseOfTheIndexes(t *testing.T) { // B10
	steps := 2500
	if testing.Short() || raceDetector {
		steps = 600
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { adjacencyModel(t, seed, steps) })
	}
}

func adjacencyModel(t *testing.T, seed uint64, steps int) {
	rng := rand.New(rand.NewPCG(seed, 11))
	o := adjacency.Options{FoldMin: 8, HubEdges: 24, ChunkEdges: 6}
	if seed%2 == 1 {
		o.TxCap, o.DeltaCap = 5, 40
	}
	db := smallCache(t, o)
	var ids []uint64
	update(t, db, func(c *client) {
		c.begin()
		ids = tangle(t, c, rng, 25, 120)
	})
	update(t, db, func(c *client) {
		c.must(c.tx.CreateIndex(bg, "graph", store.IndexDef{Name: "w", Entity: schema.Edge, Label: "T0", Keys: []string{"w"}}))
	})
	hub := ids[0]
	lanes := make([]*client, 4)
	open := func(i int) {
		iso := store.ReadCommitted
		if rng.IntN(2) == 0 {
			iso = store.RepeatableRead
		}
		lanes[i] = begin(t, db, iso).begin()
		lanes[i].tx.SetLockTimeout(time.Millisecond)
	}
	for i := range lanes {
		open(i)
	}
	rels := func(c *client) (out []edge) { return c.expanded(c.stmt.View(c.cid), ids, store.Out, nil, 1024) }
	var cached, dirty int64
	for range steps {
		i := rng.IntN(len(lanes))
		c := lanes[i]
		var err error
		switch k := rng.IntN(20); {
		case k < 6:
			a, b := ids[rng.IntN(len(ids))], ids[rng.IntN(len(ids))]
			if rng.IntN(3) == 0 {
				a = hub
			}
			if rng.IntN(12) == 0 {
				b = a
			}
			for range 1 + rng.IntN(6) {
				if _, err = c.tryRel(fmt.Sprintf("T%d", rng.IntN(3)), a, b, "w", rng.IntN(9)); err != nil {
					break
				}
			}
		case k < 9:
			if all := rels(c); len(all) > 0 {
				err = c.g.Delete(bg, c.cid, schema.Edge, []uint64{all[rng.IntN(len(all))].rel}, nil, false)
			}
		case k < 11:
			if all := rels(c); len(all) > 0 {
				err = c.set(schema.Edge, all[rng.IntN(len(all))].rel, "w", rng.IntN(9))
			}
		case k == 11:
			if n := 1 + rng.IntN(len(ids)-1); rng.IntN(3) == 0 {
				if err = c.g.Delete(bg, c.cid, schema.Vertex, ids[n:n+1], nil, true); err == nil {
					err = c.finish()
					c.begin()
				}
			}
		case k == 12:
			err = c.tx.Savepoint("s")
		case k == 13:
			_ = c.tx.RollbackTo("s")
			c.begin()
		case k == 14:
			_ = c.tx.Release("s")
		case k == 15:
			if err = c.finish(); err == nil {
				if rng.IntN(3) == 0 {
					c.rollback()
				} else if err = c.commit(); err != nil {
					open(i)
					continue
				}
				open(i)
				continue
			}
			c.begin()
		case k == 16:
			db.Adjacency().Work(bg)
		case k == 17:
			if rng.IntN(4) == 0 {
				db.Adjacency().EvictAll()
			} else {
				c := begin(t, db, store.ReadCommitted).begin()
				c.must(c.g.(store.GraphCache).WarmGraphCache(bg, c.stmt.View(c.cid), nil))
				c.rollback()
			}
		default:
			src := make([]uint64, 1+rng.IntN(4))
			for k := range src {
				src[k] = ids[rng.IntN(len(ids))]
			}
			v := c.stmt.View(c.cid + uint32(rng.IntN(2)))
			if rng.IntN(3) == 0 {
				v.CID = uint32(rng.IntN(int(c.cid) + 1))
			}
			c.sameBothWays(v, src)
			cached += c.stmt.Counters().HopsCached
			dirty += c.stmt.Counters().HopsDirty
			continue
		}
		if err != nil {
			c.rollback()
			open(i)
			continue
		}
		if rng.IntN(3) == 0 {
			c.begin()
		}
	}
	for _, c := range lanes {
		c.sameBothWays(c.after(), ids)
		c.rollback()
	}
	n := db.Adjacency().Counters()
	t.Logf("built %d, failed %d, folds %d, blocked %d, changes %d, evictions %d, overflows %d; lists %d, changed %d", n.Built.Load(), n.BuildFailed.Load(), n.Folds.Load(),
		n.FoldBlocked.Load(), n.DeltaEntries.Load(), n.Evictions.Load(), n.Overflows.Load(), cached, dirty)
	if cached == 0 || dirty == 0 || n.Built.Load() == 0 || n.Folds.Load() == 0 || n.Evictions.Load() == 0 || o.TxCap > 0 && n.Overflows.Load() == 0 {
		t.Error("something never happened")
	}
	clean(t, db)
}

// Whoever writes allocates nothing for what he tells, beside memory that grows with powers of two; whoever walks lists borrows them, changed
// or not.
func TestNeighbourhoodsInMemoryAllocateNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	const n = 2000
	db := fresh(t)
	var ids []uint64
	update(t, db, func(c *client) {
		c.begin()
		ids = tangle(t, c, rand.New(rand.NewPCG(3, 4)), n, 4*n)
	})
	warm(t, db)
	side := func(tell bool) float64 {
		c := begin(t, db, store.ReadCommitted)
		c.cache(true)
		c.begin()
		typ := c.typ("T0")
		var out store.Hits
		var r store.Runs
		start, end := make([]uint64, 1000), make([]uint64, 1000)
		i := 0
		at := testing.AllocsPerRun(4, func() {
			for k := range start {
				start[k], end[k] = ids[i%n], ids[(i*7)%n]
				i++
			}
			out.Reset()
			if tell {
				c.must(c.g.CreateRels(bg, c.cid, typ, start, end, nil, &out))
				return
			}
			cur, err := c.g.Neighbours(bg, c.after(), start, store.Both, nil)
			c.must(err)
			for c.must(cur.Next(bg, 1024, &r)); len(r.Run) > 0; c.must(cur.Next(bg, 1024, &r)) {
			}
			cur.Close()
		})
		if !tell && c.stmt.Counters().HopsCached == 0 {
			t.Error("nothing was in memory")
		}
		c.rollback()
		return at / 1000
	}
	if per := side(true); per > 0.1 {
		t.Errorf("%.3f allocations for a relationship that is made", per)
	}
	if per := side(false); per > 0.1 {
		t.Errorf("%.3f allocations for a list", per)
	}
}

// BenchmarkNeighbours walks the neighbourhoods of random vertices, a batch of 1,000 at a time: with everything folded, and with a change at one
// vertex in a hundred.
func BenchmarkNeighbours(b *testing.B) {
	const deg = 10
	db, ids := star(b, 50000, deg)
	warm(b, db)
	z := db.Adjacency().Sizes()
	perEdge := float64(z.Bytes-z.Roots) / float64(z.Edges/2)
	rng := rand.New(rand.NewPCG(1, 2))
	src := make([][]uint64, 50)
	for i := range src {
		for range 1000 {
			src[i] = append(src[i], ids[rng.IntN(len(ids))])
		}
	}
	walk := func(b *testing.B) {
		c := begin(b, db, store.ReadCommitted).begin()
		defer c.rollback()
		cur, err := c.g.Neighbours(bg, c.after(), nil, store.Out, []schema.LabelID{c.typ("K")})
		c.must(err)
		defer cur.Close()
		var r store.Runs
		edges, sum, n := 0, uint64(0), 0
		for b.Loop() {
			cur.Seek(src[n%len(src)])
			n++
			for {
				if err := cur.Next(bg, 4096, &r); err != nil {
					b.Fatal(err)
				}
				if len(r.Run) == 0 {
					break
				}
				for i := range r.Run {
					x := &r.Run[i]
					for k := range x.Other {
						sum += x.OtherID(k)
					}
					edges += x.Len()
				}
			}
		}
		if sum == 0 || c.stmt.Counters().HopsIndex > 0 {
			b.Errorf("%d lists were read from the index", c.stmt.Counters().HopsIndex)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(edges), "ns/edge")
		b.ReportMetric(perEdge, "B/edge")
	}
	b.Run("clean", walk)
	b.Run("one", func(b *testing.B) {
		c := begin(b, db, store.ReadCommitted).begin()
		defer c.rollback()
		cur, err := c.g.Neighbours(bg, c.after(), nil, store.Out, []schema.LabelID{c.typ("K")})
		c.must(err)
		defer cur.Close()
		var r store.Runs
		n := 0
		for b.Loop() {
			cur.Seek(src[0][n%1000:][:1])
			n++
			for {
				if err := cur.Next(bg, 4096, &r); err != nil {
					b.Fatal(err)
				}
				if len(r.Run) == 0 {
					break
				}
			}
		}
	})
	update(b, db, func(c *client) {
		c.begin()
		for i := 0; i < len(ids); i += 100 {
			c.rel("K", ids[i], ids[i/2])
		}
	})
	b.Run("changed", walk)
}

// A relationship takes at most 28 bytes in memory, both directions together, where nodes have four or more; of a type that few nodes have it takes
// no more than its own row.
func TestBytesOfNeighbourhoodsInMemory(t *testing.T) {
	const nodes = 12000
	for _, c := range []struct {
		name string
		rels int
		most float64
	}{
		{"four a node", 4 * nodes, 28},
		{"one in twenty nodes", nodes / 20, 57}, // line pointer, header and row without properties
	} {
		db := fresh(t)
		update(t, db, func(x *client) {
			x.begin()
			var out store.Hits
			x.must(x.g.CreateNodes(bg, x.cid, []schema.LabelID{x.label("N")}, make([]store.PropRow, nodes), &out))
			rng := rand.New(rand.NewPCG(5, 5))
			start, end := make([]uint64, c.rels), make([]uint64, c.rels)
			for i := range start {
				start[i], end[i] = out.ID[rng.IntN(nodes)], out.ID[rng.IntN(nodes)]
			}
			var rels store.Hits
			for at := 0; at < c.rels; at += 1000 {
				to := min(c.rels, at+1000)
				x.must(x.g.CreateRels(bg, x.cid, x.typ("R"), start[at:to], end[at:to], nil, &rels))
			}
		})
		before, _ := db.Adjacency().Bytes()
		warm(t, db)
		z := db.Adjacency().Sizes()
		per := float64(z.Bytes-before) / float64(c.rels)
		t.Logf("%s: %.1f bytes a relationship", c.name, per)
		if z.Edges != int64(2*c.rels) || per > c.most {
			t.Errorf("%s: %d relationships, %.1f bytes each", c.name, z.Edges, per)
		}
	}
}

// Rows of which a reader knows no hint are found where somebody saw them last, by writers of relationships too. A row that has moved is found
// through the index once, and then where it is now; older snapshots find what they see.
func TestPlacesOfRows(t *testing.T) { // B1
	db := fresh(t)
	a, b := seed(t, db)
	update(t, db, func(c *client) {
		c.must(c.tx.CreateIndex(bg, "graph", store.IndexDef{Name: "x", Entity: schema.Vertex, Label: "A", Keys: []string{"x"}}))
	})
	read := func(c *client, want string, probes, places int64) {
		t.Helper()
		before := *c.stmt.Counters()
		if got := c.get(c.after(), schema.Vertex, a, "x"); got != want {
			t.Errorf("read %s, want %s", got, want)
		}
		n := c.stmt.Counters()
		if p, r := n.IDProbes-before.IDProbes, n.RootHits-before.RootHits; p != probes || r != places {
			t.Errorf("%d probes, %d rows found by place; want %d, %d", p, r, probes, places)
		}
	}
	with := func(f func(c *client)) {
		c := begin(t, db, store.ReadCommitted).begin()
		f(c)
		c.rollback()
	}
	with(func(c *client) { read(c, "1", 1, 0) })
	with(func(c *client) { read(c, "1", 0, 1) })
	old := begin(t, db, store.RepeatableRead).begin()
	read(old, "1", 0, 1)
	update(t, db, func(c *client) { // a new version with an entry of its own
		c.begin()
		c.must(c.set(schema.Vertex, a, "x", 7))
		read(c, "7", 0, 1) // along the own chain
	})
	with(func(c *client) { read(c, "7", 1, 0) })
	read(old, "1", 1, 0) // it takes the place back
	with(func(c *client) { read(c, "7", 1, 0) })
	with(func(c *client) { read(c, "7", 0, 1) })
	old.rollback()
	update(t, db, func(c *client) {
		c.begin()
		c.get(c.after(), schema.Vertex, b, "x")
		before := *c.stmt.Counters()
		c.rel("R", a, b)
		if n := c.stmt.Counters(); n.IDProbes != before.IDProbes || n.RootHits != before.RootHits+2 {
			t.Errorf("the ends of a relationship: %d probes, %d found by place", n.IDProbes-before.IDProbes, n.RootHits-before.RootHits)
		}
	})
	with(func(c *client) {
		c.cache(false)
		read(c, "7", 1, 0)
	})
	update(t, db, func(c *client) {
		c.begin()
		c.must(c.g.Delete(bg, c.cid, schema.Vertex, []uint64{a}, nil, true))
	})
	with(func(c *client) {
		if got := c.get(c.after(), schema.Vertex, a, "x"); got != "error: the node has been deleted" {
			t.Errorf("deleted: %s", got)
		}
	})
	clean(t, db)
}
