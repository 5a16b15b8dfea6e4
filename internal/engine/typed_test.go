package engine_test

import (
	"math/rand/v2"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// A property type constraint is there, and judges, after a crash; one that was not committed is not.
func TestPropertyTypeSurvivesACrash(t *testing.T) {
	fs := vfs.NewCrashable()
	db := open(t, fs)
	typ := value.TypeSpec{Kinds: 1 << value.Int}.Union(value.ListType(value.TypeSpec{Kinds: 1 << value.String})).OrNull()
	def := store.ConstraintDef{Name: "typed", Label: "N", Keys: []string{"k"}, Kind: schema.PropertyType, Type: typ}
	update(t, db, func(c *client) {
		c.must(c.tx.CreateGraph(bg, "graph"))
		c.must(c.tx.CreateConstraint(bg, "graph", def))
		onRel := def
		onRel.Name, onRel.Label, onRel.Entity = "typed_rel", "R", schema.Edge
		c.must(c.tx.CreateConstraint(bg, "graph", onRel))
	})
	open1 := begin(t, db, store.ReadCommitted)
	other := def
	other.Name, other.Keys = "lost", []string{"other"}
	open1.must(open1.tx.CreateConstraint(bg, "graph", other))
	clone := fs.CrashClone(rand.New(rand.NewPCG(1, 2)), 0)
	open1.rollback()
	db2 := open(t, clone)
	update(t, db2, func(c *client) {
		c.begin()
		got := c.g.Constraints(c.after())
		if len(got) != 2 || got[0].Type.String() != typ.String() || got[1].Type.String() != typ.String() {
			t.Errorf("constraints %+v", got)
		}
		a, b := c.node([]string{"N"}, "k", 1), c.node([]string{"N"}, "other", "x")
		c.rel("R", a, b, "k", 2)
	})
	for _, bad := range []func(c *client) error{
		func(c *client) error { _, err := c.tryNode([]string{"N"}, "k", "text"); return err },
		func(c *client) error {
			a := c.node([]string{"N"})
			_, err := c.tryRel("R", a, a, "k", "text")
			return err
		},
	} {
		c := begin(t, db2, store.ReadCommitted)
		c.begin()
		if err := bad(c); !dberr.Is(err, dberr.CheckViolation) {
			t.Errorf("%v", err)
		}
		c.rollback()
	}
	clean(t, db2)
	closeDB(t, db2)
	closeDB(t, db)
}
