package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// counted is what counters say; -1 if they do not tell.
func (c *client) counted(v store.View, e schema.Entity, name string) (n, loops int64) {
	c.t.Helper()
	l := schema.NoLabel
	if name != "" {
		var ok bool
		if l, ok = c.g.Label(v, name, e); !ok {
			return 0, 0
		}
	}
	n, loops, ok, err := c.g.Count(bg, v, e, l)
	c.must(err)
	if !ok {
		return -1, -1
	}
	return n, loops
}

// found is what a scan says.
func (c *client) found(v store.View, e schema.Entity, name string) (n, loops int64) {
	c.t.Helper()
	if e == schema.Vertex {
		return int64(len(c.scan(v, name))), 0
	}
	var types []schema.LabelID
	if name != "" {
		l, ok := c.g.Label(v, name, e)
		if !ok {
			return 0, 0
		}
		types = append(types, l)
	}
	cur, err := c.g.ScanRels(bg, v, types)
	c.must(err)
	defer cur.Close()
	var r store.Rels
	for {
		c.must(cur.Next(bg, 100, &r))
		if len(r.ID) == 0 {
			return n, loops
		}
		for i := range r.ID {
			if n++; r.Start[i] == r.End[i] {
				loops++
			}
		}
	}
}

// sameCounts compares counters and scans. It reports whether counters told everything.
func (c *client) sameCounts(v store.View) bool {
	c.t.Helper()
	all := true
	for _, x := range []struct {
		e    schema.Entity
		name string
	}{{schema.Vertex, ""}, {schema.Vertex, "A"}, {schema.Vertex, "B"}, {schema.Edge, ""}, {schema.Edge, "R"}, {schema.Edge, "S"}} {
		n, loops := c.counted(v, x.e, x.name)
		if n < 0 {
			all = false
			continue
		}
		if m, l := c.found(v, x.e, x.name); n != m || loops != l {
			c.t.Fatalf("cid %d: %d with %d loops are counted of %v %q, %d with %d are there", v.CID, n, loops, x.e, x.name, m, l)
		}
	}
	return all
}

// A count sees a commit exactly when rows do, though counters move before the commit is visible (rules A2, B9).
func TestCountsMoveWithTheCommit(t *testing.T) {
	for _, point := range []string{"txn.publish.word", "counts.published", "txn.publish.before", "txn.publish.published"} {
		t.Run(point, func(t *testing.T) {
			db := fresh(t)
			seed(t, db)
			old := begin(t, db, store.RepeatableRead).begin()
			before, _ := old.counted(old.after(), schema.Vertex, "A")
			w := begin(t, db, store.ReadCommitted).begin()
			a := w.node([]string{"A"})
			w.rel("R", a, a)
			w.must(w.finish())
			ctl := sched.Install(t)
			gate := ctl.Stop(point) // what made the type R is over
			committed, _ := later(w.commit)
			gate.Wait()
			r := begin(t, db, store.ReadCommitted).begin()
			if !r.sameCounts(r.after()) {
				t.Error("counters do not tell while somebody commits")
			}
			gate.Release()
			w.must(committed())
			if n, _ := old.counted(old.after(), schema.Vertex, "A"); n != before {
				t.Errorf("an old snapshot counts %d, it counted %d", n, before)
			}
			old.sameCounts(old.after())
			r.begin()
			if n, _ := r.counted(r.after(), schema.Vertex, "A"); n != before+1 || !r.sameCounts(r.after()) {
				t.Errorf("%d are counted after the commit, there were %d", n, before)
			}
			r.rollback()
			old.rollback()
			clean(t, db)
		})
	}
}

// Own changes count from the command id on that makes them, and no longer when they are undone (rules B9).
func TestCountsOfOwnChanges(t *testing.T) {
	db := fresh(t)
	a, _ := seed(t, db)
	c := begin(t, db, store.ReadCommitted).begin()
	n0, _ := c.counted(c.stmt.View(c.cid), schema.Vertex, "A")
	x := c.node([]string{"A"})
	c.rel("R", x, x)
	c.rel("R", a, x)
	check := func(cid uint32, wantA, wantR, wantLoops int64) {
		t.Helper()
		v := c.stmt.View(cid)
		n, _ := c.counted(v, schema.Vertex, "A")
		r, loops := c.counted(v, schema.Edge, "R")
		if n != wantA || r != wantR || loops != wantLoops {
			t.Errorf("at %d: %d, %d, %d are counted, want %d, %d, %d", cid, n, r, loops, wantA, wantR, wantLoops)
		}
		c.sameCounts(v)
	}
	check(c.cid, n0, 0, 0)
	check(c.cid+1, n0+1, 2, 1)
	c.must(c.finish())
	c.must(c.tx.Savepoint("s"))
	c.begin()
	c.must(c.g.SetLabels(bg, c.cid, []uint64{x}, nil, []schema.LabelID{c.label("B")}, []schema.LabelID{c.label("A")}))
	check(c.cid, n0+1, 2, 1)
	check(c.cid+1, n0, 2, 1)
	c.must(c.g.Delete(bg, c.cid, schema.Vertex, []uint64{x}, nil, true))
	check(c.cid+1, n0, 0, 0)
	c.must(c.finish())
	c.must(c.tx.RollbackTo("s"))
	c.begin()
	check(c.cid, n0+1, 2, 1)
	c.must(c.finish())
	c.must(c.commit())
	clean(t, db)
}

// Rows judged newer than the snapshot are not in its counters (rules A9).
func TestCountsWithARefreshSet(t *testing.T) {
	db := fresh(t)
	a, _ := seed(t, db)
	c := begin(t, db, store.ReadCommitted).begin()
	update(t, db, func(o *client) { o.begin(); o.must(o.set(schema.Vertex, a, "x", 9)) })
	c.must(c.g.Lock(bg, c.stmt.View(c.cid), schema.Vertex, []uint64{a}, nil, make([]bool, 1), make([]bool, 1)))
	if n, _ := c.counted(c.after(), schema.Vertex, "A"); n >= 0 {
		t.Errorf("counters tell %d", n)
	}
	c.rollback()
}

// Counters and scans agree in every transaction, whoever writes what meanwhile, and after every restart.
func TestCountsRandomly(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 9))
			fs := vfs.NewMem()
			db := open(t, fs)
			update(t, db, func(x *client) { x.must(x.tx.CreateGraph(bg, "graph")) })
			update(t, db, func(x *client) { x.begin(); x.typ("R"); x.typ("S"); x.label("A"); x.label("B") })
			told := 0
			for range 8 {
				var cs []*client
				var mine [][]uint64
				for i := range 3 {
					iso := store.ReadCommitted
					if i == 2 {
						iso = store.RepeatableRead
					}
					cs, mine = append(cs, begin(t, db, iso)), append(mine, nil)
				}
				for range 40 {
					i := r.IntN(len(cs))
					c := cs[i]
					c.begin()
					for range 1 + r.IntN(3) {
						// Clients keep to what they made themselves, so that nobody waits.
						switch own := mine[i]; {
						case len(own) < 2 || r.IntN(3) == 0:
							mine[i] = append(own, c.node([][]string{{"A"}, {"B"}, {"A", "B"}, nil}[r.IntN(4)]))
						case r.IntN(2) == 0:
							c.rel([]string{"R", "S"}[r.IntN(2)], own[r.IntN(len(own))], own[r.IntN(len(own))])
						case r.IntN(2) == 0:
							c.must(c.g.SetLabels(bg, c.cid, []uint64{own[r.IntN(len(own))]}, nil, []schema.LabelID{c.label("A")}, []schema.LabelID{c.label("B")}))
						default:
							k := r.IntN(len(own))
							c.must(c.g.Delete(bg, c.cid, schema.Vertex, own[k:k+1], nil, true))
							mine[i] = append(own[:k:k], own[k+1:]...)
						}
						if c.sameCounts(c.stmt.View(c.cid)) && c.sameCounts(c.after()) {
							told++
						}
						var err error
						c.cid, err = c.stmt.Segment(1)
						c.must(err)
					}
					c.must(c.finish())
					switch r.IntN(12) {
					case 0:
						c.must(c.commit())
						cs[i], mine[i] = begin(t, db, c.isolation), nil
					case 1:
						c.rollback()
						cs[i], mine[i] = begin(t, db, c.isolation), nil
					}
				}
				for _, c := range cs {
					c.rollback()
				}
				if r.IntN(2) == 0 {
					if err := db.Checkpoint(bg); err != nil {
						t.Fatal(err)
					}
				}
				clean(t, db)
				if r.IntN(3) == 0 {
					closeDB(t, db)
					db = open(t, fs)
					clean(t, db)
				}
			}
			closeDB(t, db)
			if told == 0 {
				t.Error("counters never told anything")
			}
		})
	}
}
