package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/check"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

var bg = context.Background()

func options(fs vfs.FS) engine.Options {
	return engine.Options{Dir: "/db", FS: fs, CacheBytes: 4 << 20, LogSegmentBytes: 1 << 20, Steps: true}
}

func open(t testing.TB, fs vfs.FS) *engine.DB {
	t.Helper()
	db, err := engine.Open(bg, options(fs))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func closeDB(t testing.TB, db *engine.DB) {
	t.Helper()
	if err := db.Close(bg); err != nil {
		t.Fatal(err)
	}
}

// fresh is a new database with an empty graph g.
func fresh(t testing.TB) *engine.DB {
	t.Helper()
	db := open(t, vfs.NewMem())
	t.Cleanup(func() { _ = db.Close(bg) })
	update(t, db, func(x *client) { x.must(x.tx.CreateGraph(bg, "graph")) })
	return db
}

// client is a session: a transaction and its current statement on graph "graph".
type client struct {
	t    testing.TB
	tx   store.Tx
	stmt store.Stmt
	g    store.Graph
	cid  uint32

	isolation store.Isolation
}

func (c *client) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("%v", err)
	}
}

func begin(t testing.TB, db *engine.DB, iso store.Isolation) *client {
	t.Helper()
	tx, err := db.Store().Begin(bg, store.TxOptions{Isolation: iso})
	if err != nil {
		t.Fatal(err)
	}
	return &client{t: t, tx: tx, isolation: iso}
}

// begin opens a statement with one write clause.
func (c *client) begin() *client {
	c.t.Helper()
	c.end()
	var err error
	c.stmt, err = c.tx.Begin(bg)
	c.must(err)
	c.cid, err = c.stmt.Segment(1)
	c.must(err)
	c.g, err = c.stmt.Graph(bg, "graph")
	c.must(err)
	return c
}

func (c *client) end() {
	if c.stmt != nil {
		c.stmt.Close()
		c.stmt = nil
	}
}

// finish runs the checks of the statement's end and closes it.
func (c *client) finish() error {
	err := c.stmt.Finish(bg)
	c.end()
	return err
}

func (c *client) commit() error {
	c.end()
	return c.tx.Commit(bg)
}

func (c *client) rollback() {
	c.end()
	c.must(c.tx.Rollback())
}

// after is what a clause behind the write sees.
func (c *client) after() store.View { return c.stmt.View(c.cid + 1) }

func update(t testing.TB, db *engine.DB, f func(c *client)) {
	t.Helper()
	c := begin(t, db, store.ReadCommitted)
	f(c)
	if c.stmt != nil {
		c.must(c.finish())
	}
	c.must(c.commit())
}

func (c *client) label(name string) schema.LabelID {
	c.t.Helper()
	l, err := c.g.EnsureLabel(bg, name, schema.Vertex)
	c.must(err)
	return l
}

func (c *client) typ(name string) schema.LabelID {
	c.t.Helper()
	l, err := c.g.EnsureLabel(bg, name, schema.Edge)
	c.must(err)
	return l
}

func (c *client) key(name string) schema.KeyID {
	c.t.Helper()
	k, err := c.g.EnsureKey(bg, name)
	c.must(err)
	return k
}

// props makes a change from names and values.
func (c *client) props(kv ...any) store.PropRow {
	c.t.Helper()
	var p store.PropRow
	for i := 0; i < len(kv); i += 2 {
		p.Keys = append(p.Keys, c.key(kv[i].(string)))
		p.Vals = append(p.Vals, val(kv[i+1]))
	}
	return p
}

func val(x any) value.Value {
	switch x := x.(type) {
	case nil:
		return value.Value{}
	case int:
		return value.NewInt(int64(x))
	case string:
		return value.NewString(x)
	case bool:
		return value.NewBool(x)
	case float64:
		return value.NewFloat(x)
	case value.Value:
		return x
	}
	panic(fmt.Sprintf("no value for %T", x))
}

func (c *client) node(labels []string, kv ...any) uint64 {
	c.t.Helper()
	id, err := c.tryNode(labels, kv...)
	c.must(err)
	return id
}

func (c *client) tryNode(labels []string, kv ...any) (uint64, error) {
	c.t.Helper()
	var ids []schema.LabelID
	for _, l := range labels {
		ids = append(ids, c.label(l))
	}
	var out store.Hits
	if err := c.g.CreateNodes(bg, c.cid, ids, []store.PropRow{c.props(kv...)}, &out); err != nil {
		return 0, err
	}
	return out.ID[0], nil
}

func (c *client) rel(typ string, start, end uint64, kv ...any) uint64 {
	c.t.Helper()
	id, err := c.tryRel(typ, start, end, kv...)
	c.must(err)
	return id
}

func (c *client) tryRel(typ string, start, end uint64, kv ...any) (uint64, error) {
	c.t.Helper()
	var out store.Hits
	err := c.g.CreateRels(bg, c.cid, c.typ(typ), []uint64{start}, []uint64{end}, []store.PropRow{c.props(kv...)}, &out)
	if err != nil {
		return 0, err
	}
	return out.ID[0], nil
}

func (c *client) set(e schema.Entity, id uint64, kv ...any) error {
	c.t.Helper()
	return c.g.SetProps(bg, c.cid, e, []uint64{id}, nil, []store.PropRow{c.props(kv...)})
}

// get reads one property as TCK text, or the error.
func (c *client) get(v store.View, e schema.Entity, id uint64, key string) string {
	c.t.Helper()
	var col vec.Column
	k, ok := c.g.Key(key)
	if !ok {
		k = 1 << 30
	}
	if err := c.g.Fetch(bg, v, e, []uint64{id}, nil, []schema.KeyID{k}, []*vec.Column{&col}); err != nil {
		return "error: " + err.Error()
	}
	return string(value.AppendTCK(nil, col.Value(0)))
}

// scan returns the ids of the nodes with the label ("" for all).
func (c *client) scan(v store.View, label string) []uint64 {
	c.t.Helper()
	l := schema.NoLabel
	if label != "" {
		var ok bool
		if l, ok = c.g.Label(v, label, schema.Vertex); !ok {
			return nil
		}
	}
	cur, err := c.g.ScanNodes(bg, v, l)
	c.must(err)
	defer cur.Close()
	return c.hits(cur)
}

func (c *client) hits(cur store.HitCursor) (ids []uint64) {
	c.t.Helper()
	var h store.Hits
	for {
		c.must(cur.Next(bg, 7, &h))
		if len(h.ID) == 0 {
			return ids
		}
		ids = append(ids, h.ID...)
	}
}

// expand returns the far ends of the relationships of a node.
func (c *client) expand(v store.View, id uint64, dir store.Direction) (others []uint64) {
	c.t.Helper()
	cur, err := c.g.Expand(bg, v, []uint64{id}, dir, nil)
	c.must(err)
	defer cur.Close()
	var e store.Edges
	for {
		c.must(cur.Next(bg, 3, &e))
		if len(e.Rel) == 0 {
			return others
		}
		others = append(others, e.Other...)
	}
}

// index returns the id of an index that the view sees.
func (c *client) index(v store.View, name string) schema.IndexID {
	c.t.Helper()
	for _, ix := range c.g.Indexes(v) {
		if ix.Name == name {
			return ix.ID
		}
	}
	c.t.Fatalf("no index %q", name)
	return 0
}

func column(xs ...any) *vec.Column {
	c := new(vec.Column)
	for _, x := range xs {
		c.Append(val(x))
	}
	return c
}

// seek finds nodes by equality.
func (c *client) seek(v store.View, index string, xs ...any) []uint64 {
	c.t.Helper()
	var eq []*vec.Column
	for _, x := range xs {
		eq = append(eq, column(x))
	}
	cur, err := c.g.Seek(bg, v, store.Seek{Index: c.index(v, index), Eq: eq}, 1)
	c.must(err)
	defer cur.Close()
	return c.hits(cur)
}

// clean runs a check and fails on faults.
func clean(t testing.TB, db *engine.DB) {
	t.Helper()
	r, err := db.Check(bg, check.Options{})
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	for _, f := range r.Faults {
		t.Errorf("fault: %v", f)
	}
	if t.Failed() {
		t.FailNow()
	}
}

func schedInstall(t testing.TB) *sched.Controller { return sched.Install(t) }
