package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// Under repeatable read a vertex that somebody deleted is still seen, but no edge may be tied to it.
func TestEdgeInsertAtADeletedVertexUnderRepeatableRead(t *testing.T) { // B3
	db := fresh(t)
	a, b := seed(t, db)
	rr := begin(t, db, store.RepeatableRead).begin()
	rr.end()
	update(t, db, func(c *client) { c.begin(); c.must(c.g.Delete(bg, c.cid, schema.Vertex, []uint64{b}, nil, false)) })
	rr.begin()
	if got := rr.get(rr.after(), schema.Vertex, b, "x"); got != "2" {
		t.Errorf("the snapshot finds %s", got)
	}
	_, err := rr.tryRel("R", a, b)
	wantCode(t, err, dberr.SerializationFailure)
	rr.rollback()
	clean(t, db)
}

// A label goes only when no edge is left at its vertices; it waits for those that may be on their way (B3).
func TestDropLabelBesideAnEdgeInsert(t *testing.T) {
	for _, commit := range []bool{true, false} {
		db := fresh(t)
		a, b := seed(t, db)
		update(t, db, func(c *client) { c.begin(); c.typ("R") })
		one := begin(t, db, store.ReadCommitted).begin()
		one.rel("R", a, b)
		one.must(one.finish())
		two := begin(t, db, store.ReadCommitted)
		wait, done := later(func() error { return two.tx.DropLabel(bg, "graph", "A", schema.Vertex) })
		if done() {
			t.Fatal("the drop did not wait for the edge")
		}
		if commit {
			one.must(one.commit())
			wantCode(t, wait(), dberr.DependentObjects)
			two.rollback()
		} else {
			one.rollback()
			two.must(wait())
			two.must(two.commit())
		}
		clean(t, db)
	}
}

func TestEdgeInsertBesideADropOfTheLabel(t *testing.T) { // B3
	for _, commit := range []bool{true, false} {
		db := fresh(t)
		a, b := seed(t, db)
		update(t, db, func(c *client) { c.begin(); c.typ("R") })
		two := begin(t, db, store.ReadCommitted).begin()
		one := begin(t, db, store.ReadCommitted)
		one.must(one.tx.DropLabel(bg, "graph", "A", schema.Vertex))
		wait, done := later(func() error {
			_, err := two.tryRel("R", a, b)
			return err
		})
		if done() {
			t.Fatal("the edge did not wait for the drop")
		}
		if commit {
			one.must(one.commit())
			if err := wait(); err == nil {
				t.Error("an edge was tied to a vertex that is gone")
			}
			two.rollback()
		} else {
			one.rollback()
			two.must(wait())
			two.must(two.finish())
			two.must(two.commit())
		}
		clean(t, db)
	}
}

// The label comes to a heap that did not hold it while an index on it is built: either the build waits, or the new row enters the index.
func TestLabelGrowthBesideAnIndexBuild(t *testing.T) { // B4, B5
	find := func(c *client, want ...uint64) {
		c.t.Helper()
		c.begin()
		if got := c.seek(c.after(), "ix", 7); !slices.Equal(got, want) {
			c.t.Errorf("the index finds %x, want %x", got, want)
		}
	}
	t.Run("growth first", func(t *testing.T) {
		db := fresh(t)
		seed(t, db)
		ctl := sched.Install(t)
		gate := ctl.Stop("catalog.heap.holds")
		one := begin(t, db, store.ReadCommitted).begin()
		var id uint64
		grown, _ := later(func() (err error) { id, err = one.tryNode([]string{"B", "A"}, "k", 7); return err })
		gate.Wait()
		two := begin(t, db, store.ReadCommitted)
		built, done := later(func() error {
			return two.tx.CreateIndex(bg, "graph", store.IndexDef{Name: "ix", Label: "A", Keys: []string{"k"}})
		})
		if done() {
			t.Error("the build did not wait for a heap that gets the label")
		}
		gate.Release()
		one.must(grown())
		one.must(one.finish())
		one.must(one.commit())
		two.must(built())
		two.must(two.commit())
		update(t, db, func(c *client) { find(c, id) })
		clean(t, db)
	})
	t.Run("build first", func(t *testing.T) {
		db := fresh(t)
		seed(t, db)
		ctl := sched.Install(t)
		gate := ctl.Stop("local.index.locked")
		two := begin(t, db, store.ReadCommitted)
		built, _ := later(func() error {
			return two.tx.CreateIndex(bg, "graph", store.IndexDef{Name: "ix", Label: "A", Keys: []string{"k"}})
		})
		gate.Wait()
		one := begin(t, db, store.ReadCommitted).begin()
		var id uint64
		grown, done := later(func() (err error) { id, err = one.tryNode([]string{"B", "A"}, "k", 7); return err })
		if done() {
			t.Error("a heap got the label while an index on it was built")
		}
		gate.Release()
		two.must(built())
		two.must(two.commit())
		one.must(grown())
		one.must(one.finish())
		one.must(one.commit())
		update(t, db, func(c *client) { find(c, id) })
		clean(t, db)
	})
}

// An index holds the newest versions alone: a snapshot from before it must not be answered from it (B5).
func TestOldSnapshotsDoNotUseANewIndex(t *testing.T) {
	db := fresh(t)
	a, _ := seed(t, db)
	old := begin(t, db, store.RepeatableRead).begin()
	old.end()
	update(t, db, func(c *client) { c.begin(); c.must(c.set(schema.Vertex, a, "x", 5)) })
	update(t, db, func(c *client) {
		c.must(c.tx.CreateIndex(bg, "graph", store.IndexDef{Name: "ix", Label: "A", Keys: []string{"x"}}))
	})
	old.begin()
	if ix := old.g.Indexes(old.after()); len(ix) != 0 {
		t.Errorf("an old snapshot is offered %v", ix)
	}
	update(t, db, func(c *client) {
		c.begin()
		if got := c.seek(c.after(), "ix", 5); !slices.Equal(got, []uint64{a}) {
			t.Errorf("found %x", got)
		}
	})
	old.rollback()
	clean(t, db)
}

// A value out of line is read without a test of visibility: it must last as long as a version that points to it (B13).
func TestOldSnapshotsReadLongValues(t *testing.T) {
	db := fresh(t)
	a, b := seed(t, db)
	long := func(i int) string { return strings.Repeat(fmt.Sprint(i), 9000) }
	update(t, db, func(c *client) {
		c.begin()
		c.must(c.set(schema.Vertex, a, "long", long(1)))
		c.must(c.set(schema.Vertex, b, "long", long(2)))
	})
	old := begin(t, db, store.RepeatableRead).begin()
	for i := range 30 {
		update(t, db, func(c *client) {
			c.begin()
			c.must(c.set(schema.Vertex, a, "long", long(3+i)))
			if i == 10 {
				c.must(c.g.Delete(bg, c.cid, schema.Vertex, []uint64{b}, nil, false))
			}
			for range 20 { // pages fill up, so that dead rows are pruned
				c.node([]string{"Other"}, "pad", strings.Repeat("x", 1500))
			}
		})
	}
	if err := db.Checkpoint(bg); err != nil {
		t.Fatal(err)
	}
	for i, id := range []uint64{a, b} {
		if got := old.get(old.after(), schema.Vertex, id, "long"); got != "'"+long(i+1)+"'" {
			t.Errorf("value %d became %.40s… of %d bytes", i+1, got, len(got))
		}
	}
	old.rollback()
	clean(t, db)
}

// A commit that drops files waits for the log, whatever its transaction asked for: the files go at once, and must not come back (A2).
func TestDropIsSynchronous(t *testing.T) {
	mem := vfs.NewCrashable()
	db := open(t, mem)
	defer db.Close(bg)
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	seed(t, db)
	tx, err := db.Store().Begin(bg, store.TxOptions{Async: true})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, tx: tx}
	c.must(tx.DropGraph(bg, "graph", true))
	c.must(c.commit())
	for seed, p := range []float64{0, 0.5, 1} {
		db2 := open(t, mem.CrashClone(rand.New(rand.NewPCG(uint64(seed), 1)), p))
		if got := dump(t, db2); got != "" {
			t.Errorf("left after the crash:\n%s", got)
		}
		clean(t, db2)
		closeDB(t, db2)
	}
}

func TestFirstUseOfAKeyByTwoSessions(t *testing.T) { // B7
	db := fresh(t)
	a, b := seed(t, db)
	ctl := sched.Install(t)
	one, two := begin(t, db, store.ReadCommitted).begin(), begin(t, db, store.ReadCommitted).begin()
	g1, g2 := ctl.Stop("catalog.key.missing"), ctl.Stop("catalog.key.missing")
	var ka, kb schema.KeyID
	w1, _ := later(func() (err error) { ka, err = one.g.EnsureKey(bg, "fresh"); return err })
	g1.Wait()
	w2, _ := later(func() (err error) { kb, err = two.g.EnsureKey(bg, "fresh"); return err })
	g2.Wait()
	g2.Release()
	two.must(w2())
	g1.Release()
	one.must(w1())
	if ka != kb {
		t.Fatalf("keys %d and %d", ka, kb)
	}
	one.must(one.set(schema.Vertex, a, "fresh", 1))
	one.rollback() // the key stays
	two.must(two.set(schema.Vertex, b, "fresh", 2))
	two.must(two.finish())
	two.must(two.commit())
	update(t, db, func(c *client) {
		c.begin()
		if x, y := c.get(c.after(), schema.Vertex, a, "fresh"), c.get(c.after(), schema.Vertex, b, "fresh"); x != "null" || y != "2" {
			t.Errorf("%s and %s", x, y)
		}
	})
	clean(t, db)
}
