package memstore

import (
	"context"
	"slices"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

var ctx = context.Background()

type client struct {
	t  *testing.T
	tx store.Tx
	st store.Stmt
	g  store.Graph
}

func open(t *testing.T) *DB {
	t.Helper()
	d := New()
	tx, _ := d.Begin(ctx, store.TxOptions{})
	if err := tx.CreateGraph(ctx, "g"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	return d
}

func begin(t *testing.T, d *DB, iso store.Isolation) *client {
	t.Helper()
	tx, err := d.Begin(ctx, store.TxOptions{Isolation: iso})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, tx: tx}
	c.next()
	return c
}

// next begins the client's next statement.
func (c *client) next() {
	c.t.Helper()
	var err error
	if c.st, err = c.tx.Begin(ctx); err != nil {
		c.t.Fatal(err)
	}
	if c.g, err = c.st.Graph(ctx, "g"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) node(cid uint32, x int64, labels ...string) uint64 {
	c.t.Helper()
	var ls []schema.LabelID
	for _, l := range labels {
		id, err := c.g.EnsureLabel(ctx, l, schema.Vertex)
		c.must(err)
		ls = append(ls, id)
	}
	k, err := c.g.EnsureKey(ctx, "x")
	c.must(err)
	var h store.Hits
	c.must(c.g.CreateNodes(ctx, cid, ls, []store.PropRow{{Keys: []schema.KeyID{k}, Vals: []value.Value{value.NewInt(x)}}}, &h))
	return h.ID[0]
}

func (c *client) set(cid uint32, id uint64, x int64) error {
	k, _ := c.g.EnsureKey(ctx, "x")
	return c.g.SetProps(ctx, cid, schema.Vertex, []uint64{id}, []uint64{0}, []store.PropRow{{Keys: []schema.KeyID{k}, Vals: []value.Value{value.NewInt(x)}}})
}

func (c *client) x(v store.View, id uint64) (int64, error) {
	k, _ := c.g.Key("x")
	var col vec.Column
	err := c.g.Fetch(ctx, v, schema.Vertex, []uint64{id}, nil, []schema.KeyID{k}, []*vec.Column{&col})
	if err != nil {
		return 0, err
	}
	return col.Value(0).Int(), nil
}

func (c *client) scan(v store.View) (ids []uint64) {
	cur, err := c.g.ScanNodes(ctx, v, schema.NoLabel)
	c.must(err)
	defer cur.Close()
	var h store.Hits
	for {
		c.must(cur.Next(ctx, 2, &h))
		if len(h.ID) == 0 {
			return ids
		}
		ids = append(ids, h.ID...)
	}
}

// A read at a command id sees the writes of lower ones only (rules A5), also of an update that the same transaction made of its own row.
func TestCommandIDs(t *testing.T) {
	c := begin(t, open(t), store.ReadCommitted)
	base, err := c.st.Segment(3)
	c.must(err)
	id := c.node(base, 1, "A")
	c.must(c.set(base+1, id, 2))
	c.must(c.g.Delete(ctx, base+2, schema.Vertex, []uint64{id}, []uint64{0}, false))
	if n := len(c.scan(c.st.View(base))); n != 0 {
		t.Fatalf("at its own cid the vertex is seen %d times", n)
	}
	for i, want := range []int64{1, 2} {
		if got, err := c.x(c.st.View(base+1+uint32(i)), id); err != nil || got != want {
			t.Fatalf("at +%d: x = %d, %v; want %d", i+1, got, err, want)
		}
	}
	if _, err := c.x(c.st.View(base+3), id); !dberr.Is(err, dberr.EntityNotFound) {
		t.Fatalf("a deleted vertex gives %v", err)
	}
	v := c.st.View(base + 3)
	v.WithDeleted = true
	if got, err := c.x(v, id); err != nil || got != 2 {
		t.Fatalf("with deleted: x = %d, %v", got, err)
	}
}

// Read committed takes a snapshot for each statement, repeatable read one for the transaction (rules A8); what a lock found joins
// the refresh set, or is a 40001 (rules A9).
func TestIsolation(t *testing.T) {
	d := open(t)
	w := begin(t, d, store.ReadCommitted)
	id := w.node(1, 1)
	w.must(w.tx.Commit(ctx))
	rc, rr := begin(t, d, store.ReadCommitted), begin(t, d, store.RepeatableRead)
	w = begin(t, d, store.ReadCommitted)
	w.must(w.set(1, id, 2))
	for _, c := range []*client{rc, rr} {
		if x, err := c.x(c.st.View(9), id); err != nil || x != 1 {
			t.Fatalf("an uncommitted write is seen: %d, %v", x, err)
		}
	}
	w.must(w.tx.Commit(ctx))
	if x, _ := rc.x(rc.st.View(9), id); x != 1 {
		t.Fatalf("the statement's snapshot moved: %d", x)
	}
	changed, gone := []bool{false}, []bool{false}
	err := rr.g.Lock(ctx, rr.st.View(9), schema.Vertex, []uint64{id}, []uint64{0}, changed, gone)
	if !dberr.Is(err, dberr.SerializationFailure) {
		t.Fatalf("repeatable read: %v", err)
	}
	rr.must(rr.tx.Rollback())
	rc.must(rc.g.Lock(ctx, rc.st.View(9), schema.Vertex, []uint64{id}, []uint64{0}, changed, gone))
	if x, _ := rc.x(rc.st.View(9), id); !changed[0] || gone[0] || x != 2 {
		t.Fatalf("after the lock: changed %v, gone %v, x = %d", changed, gone, x)
	}
}

func TestSavepoints(t *testing.T) {
	c := begin(t, open(t), store.ReadCommitted)
	a := c.node(1, 1)
	c.must(c.tx.Savepoint("s"))
	c.must(c.set(2, a, 5))
	b := c.node(2, 2)
	c.must(c.tx.RollbackTo("s"))
	if got := c.scan(c.st.View(9)); !slices.Equal(got, []uint64{a}) {
		t.Fatalf("after the rollback: %v, with %d gone", got, b)
	}
	if x, _ := c.x(c.st.View(9), a); x != 1 {
		t.Fatalf("x = %d", x)
	}
	c.must(c.tx.Release("s"))
	if err := c.tx.RollbackTo("s"); !dberr.Is(err, dberr.InvalidSavepoint) {
		t.Fatalf("a released savepoint: %v", err)
	}
}

func TestEdges(t *testing.T) {
	c := begin(t, open(t), store.ReadCommitted)
	a, b := c.node(1, 1), c.node(1, 2)
	typ, err := c.g.EnsureLabel(ctx, "R", schema.Edge)
	c.must(err)
	var h store.Hits
	c.must(c.g.CreateRels(ctx, 1, typ, []uint64{a, b, a}, []uint64{b, a, a}, make([]store.PropRow, 3), &h))
	count := func(src []uint64, dir store.Direction) (n int) {
		cur, err := c.g.Expand(ctx, c.st.View(2), src, dir, nil)
		c.must(err)
		defer cur.Close()
		var e store.Edges
		for {
			c.must(cur.Next(ctx, 1, &e))
			if len(e.Rel) == 0 {
				return n
			}
			n++
		}
	}
	if o, i, both := count([]uint64{a}, store.Out), count([]uint64{a}, store.In), count([]uint64{0, a}, store.Both); o != 2 || i != 2 || both != 3 {
		t.Fatalf("out %d, in %d, both %d: a loop is found once by Both", o, i, both)
	}
	c.must(c.g.Delete(ctx, 3, schema.Vertex, []uint64{b}, []uint64{0}, false))
	if err := c.st.Finish(ctx); !dberr.Is(err, dberr.ConnectedNode) {
		t.Fatalf("a vertex with relationships is deleted: %v", err)
	}
}

func TestIndexAndUnique(t *testing.T) {
	d := open(t)
	c := begin(t, d, store.ReadCommitted)
	ids := []uint64{c.node(1, 10, "A"), c.node(1, 20, "A", "B"), c.node(1, 10, "B")}
	c.must(c.tx.CreateConstraint(ctx, "g", store.ConstraintDef{Label: "A", Keys: []string{"x"}, Kind: schema.Unique}))
	c.next()
	ix := c.g.Indexes(c.st.View(9))[0]
	seek := func(s store.Seek, n int) []uint64 {
		s.Index = ix.ID
		cur, err := c.g.Seek(ctx, c.st.View(9), s, n)
		c.must(err)
		var h store.Hits
		c.must(cur.Next(ctx, 100, &h))
		return slices.Clone(h.ID)
	}
	col := func(vals ...value.Value) *vec.Column {
		var out vec.Column
		for _, v := range vals {
			out.Append(v)
		}
		return &out
	}
	// 10.0 is 10, null finds nothing.
	if got := seek(store.Seek{Eq: []*vec.Column{col(value.NewFloat(10), value.Value{}, value.NewInt(20))}}, 3); !slices.Equal(got, ids[:2]) {
		t.Fatalf("equality: %v", got)
	}
	if got := seek(store.Seek{Lower: store.Bound{Present: true}, LowerVal: col(value.NewInt(10))}, 1); !slices.Equal(got, ids[1:2]) {
		t.Fatalf("range: %v", got)
	}
	if err := c.set(2, ids[1], 10); !dberr.Is(err, dberr.UniqueViolation) {
		t.Fatalf("duplicate: %v", err)
	}
}

// Neighbours lends what Expand copies.
func TestNeighbours(t *testing.T) {
	c := begin(t, open(t), store.ReadCommitted)
	a, b := c.node(1, 1), c.node(1, 2)
	typ, err := c.g.EnsureLabel(ctx, "R", schema.Edge)
	c.must(err)
	var out store.Hits
	c.must(c.g.CreateRels(ctx, 1, typ, []uint64{a, a, b, b}, []uint64{b, a, a, b}, make([]store.PropRow, 4), &out))
	v, src := c.st.View(2), []uint64{a, 0, b}
	for _, dir := range []store.Direction{store.Out, store.In, store.Both} {
		cur, err := c.g.Expand(ctx, v, src, dir, nil)
		c.must(err)
		var e store.Edges
		c.must(cur.Next(ctx, 100, &e))
		lend, err := c.g.Neighbours(ctx, v, nil, dir, nil)
		c.must(err)
		lend.Seek(src)
		var got store.Edges
		for {
			var r store.Runs
			c.must(lend.Next(ctx, 2, &r))
			if len(r.Run) == 0 {
				break
			}
			for i := range r.Run {
				for k := range r.Run[i].Len() {
					got.Row, got.In = append(got.Row, r.Run[i].Row), append(got.In, r.Run[i].In)
					got.Rel, got.Other = append(got.Rel, r.Run[i].RelID(k)), append(got.Other, r.Run[i].OtherID(k))
				}
			}
		}
		lend.Close()
		if !slices.Equal(got.Rel, e.Rel) || !slices.Equal(got.Other, e.Other) || !slices.Equal(got.Row, e.Row) || !slices.Equal(got.In, e.In) {
			t.Errorf("direction %d: lent %v, found %v", dir, got, e)
		}
	}
}
