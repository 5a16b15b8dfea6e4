package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// Relationships of all types are looked for in the indexes of those alone that the neighbourhood of a vertex has, however many there are.
func TestTypesThatAreElsewhereAreNotAskedFor(t *testing.T) {
	const types, vertices = 60, 500
	db := fresh(t)
	var ids []uint64
	update(t, db, func(c *client) {
		c.begin()
		for i := range types {
			a := c.node([]string{fmt.Sprintf("L%d", i)})
			c.rel(fmt.Sprintf("T%d", i), a, a)
		}
		hub := c.node([]string{"Hub"})
		for range vertices {
			n := c.node([]string{"N"})
			ids = append(ids, n)
			c.rel("R", hub, n)
		}
	})
	for range 2 {
		c := begin(t, db, store.ReadCommitted).begin()
		cur, err := c.g.Expand(bg, c.stmt.View(c.cid), ids, store.Both, nil)
		c.must(err)
		var e store.Edges
		c.must(cur.Next(bg, 2*vertices, &e))
		cur.Close()
		if len(e.Rel) != vertices {
			t.Errorf("%d relationships are found, want %d", len(e.Rel), vertices)
		}
		// One probe a vertex, for incoming ones of the type; to read an index once takes two, to its only run and past it.
		if n := c.stmt.Counters().IndexProbes; n > vertices+4*(types+2) {
			t.Errorf("%d probes", n)
		}
		c.end()
		c.rollback()
	}
	update(t, db, func(c *client) {
		c.begin()
		c.must(c.g.Delete(bg, c.cid, schema.Vertex, ids, nil, true))
		c.must(c.stmt.Finish(bg))
		if n := c.stmt.Counters().IndexProbes; n > 4*vertices {
			t.Errorf("%d probes to delete %d vertices", n, vertices)
		}
	})
	clean(t, db)
}

// A relationship whose writer stands anywhere between its index entry and its commit, while others read which vertices have any, is
// found by whoever comes after the commit.
func TestRunsBesideAnEdgeInsert(t *testing.T) { // B10
	for _, point := range []string{"local.runs.add.before", "local.runs.read"} {
		t.Run(point, func(t *testing.T) { runsBesideAnInsert(t, point) })
	}
}

func runsBesideAnInsert(t *testing.T, point string) {
	db := fresh(t)
	a, b := seed(t, db)
	update(t, db, func(c *client) {
		c.begin()
		o := c.node([]string{"Other"}) // its run lies behind that of a and b
		c.rel("R", o, o)
		c.rel("S", o, o)
	})
	look := func(want ...uint64) error {
		t.Helper()
		c := begin(t, db, store.ReadCommitted).begin()
		if got := c.expand(c.stmt.View(c.cid), a, store.Out); !slices.Equal(got, want) {
			t.Errorf("found %v, want %v", got, want)
		}
		c.end()
		c.rollback()
		return nil
	}
	write := func() error {
		update(t, db, func(c *client) { c.begin(); c.rel("R", a, b) })
		return nil
	}
	ctl := schedInstall(t)
	if point == "local.runs.read" {
		ctl.Stop(point).Release() // the reader has passed the run when it is stopped
	}
	gate := ctl.Stop(point)
	if point == "local.runs.read" {
		wait, _ := later(func() error { return look() })
		gate.Wait()
		write()
		look(b)
		gate.Release()
		wait()
	} else {
		wait, _ := later(write)
		gate.Wait()
		look()
		gate.Release()
		wait()
	}
	look(b)
	clean(t, db)
}
