package engine_test

import (
	"slices"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

func TestCreateReadCloseReopen(t *testing.T) {
	fs := vfs.NewMem()
	db := open(t, fs)
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	var a, b, r uint64
	update(t, db, func(c *client) {
		c.begin()
		a = c.node([]string{"Person"}, "name", "Ada", "age", 36)
		b = c.node([]string{"Person", "Admin"}, "name", "Bob")
		r = c.rel("KNOWS", a, b, "since", 1840)
		if got := c.get(c.after(), schema.Vertex, a, "name"); got != "'Ada'" {
			t.Errorf("own name: %s", got)
		}
		if got := c.get(c.stmt.View(c.cid), schema.Vertex, a, "name"); got[:5] != "error" {
			t.Errorf("seen too early: %s", got)
		}
	})
	look := func() {
		t.Helper()
		update(t, db, func(c *client) {
			c.begin()
			v := c.after()
			if got := c.scan(v, "Person"); !slices.Equal(got, []uint64{a, b}) {
				t.Errorf("Person: %x", got)
			}
			if got := c.scan(v, "Admin"); !slices.Equal(got, []uint64{b}) {
				t.Errorf("Admin: %x", got)
			}
			if got := c.expand(v, a, store.Out); !slices.Equal(got, []uint64{b}) {
				t.Errorf("out of a: %x", got)
			}
			if got := c.expand(v, b, store.In); !slices.Equal(got, []uint64{a}) {
				t.Errorf("in of b: %x", got)
			}
			if got := c.get(v, schema.Edge, r, "since"); got != "1840" {
				t.Errorf("since: %s", got)
			}
			if got := c.g.NodeCount(schema.NoLabel); got != 2 {
				t.Errorf("counted %v nodes", got)
			}
			if got := c.g.RelCount(schema.NoLabel); got != 1 {
				t.Errorf("counted %v relationships", got)
			}
		})
	}
	look()
	clean(t, db)
	closeDB(t, db)
	db = open(t, fs)
	if n, ok := db.Recovered(); !ok {
		t.Errorf("not clean after Close: %d records", n)
	}
	look()
	clean(t, db)
	closeDB(t, db)
}
