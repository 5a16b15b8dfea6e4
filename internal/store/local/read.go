package local

import (
	"context"
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/access/adjacency"
	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// gone is what a clause says of an entity that it does not see (rules C8).
func gone(e schema.Entity) error {
	what := "node"
	if e == schema.Edge {
		what = "relationship"
	}
	return dberr.New(dberr.EntityNotFound, "the %s has been deleted", what).WithToken("DeletedEntityAccess")
}

// reader finds rows by hint and by id. It keeps one page of each heap that it visits pinned within one call, never longer (A10).
type reader struct {
	open   []openLabel
	ptrs   []uint64
	key    []byte
	buf    []byte // a value that lay out of line
	mapBuf []byte // a record that lay out of line
	mb     *value.MapBuilder
}

type openLabel struct {
	l *catalog.Label
	g heap.Getter
}

// done lets go of every page.
func (r *reader) done() {
	for i := range r.open {
		r.open[i].g.Release()
	}
	clear(r.open)
	r.open = r.open[:0]
}

// at returns the getter for a label's heap.
func (r *reader) at(l *catalog.Label) *openLabel {
	for i := range r.open {
		if r.open[i].l == l {
			return &r.open[i]
		}
	}
	if len(r.open) == 8 { // keep few pages pinned
		r.done()
	}
	r.open = append(r.open, openLabel{l: l, g: l.Heap.Getter()})
	return &r.open[len(r.open)-1]
}

// labelOf returns the label in whose heap the entity lies, locked for reading; nil if there can be no such entity.
func (g *graphView) labelOf(ctx context.Context, e schema.Entity, id uint64) (*catalog.Label, error) {
	l := g.g.Label(schema.LabelOf(id))
	if l == nil || l.Entity != e || l.Heap == nil || l.FilesGone() {
		return nil, nil
	}
	if g.s.tx.locks[l.Rel()]&(1<<txn.AccessShare) == 0 {
		g.r.done() // no pin while waiting for a lock
		if err := g.s.tx.lockLabel(ctx, l, txn.AccessShare); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// find returns the row that the view sees, through the hint or, failing that, the id index (rules B1). The bytes live until the
// next find. A hint is repaired in place.
func (g *graphView) find(ctx context.Context, v store.View, e schema.Entity, id uint64, hint *store.Hint) (row []byte, ok bool, err error) {
	l, err := g.labelOf(ctx, e, id)
	if l == nil || err != nil {
		return nil, false, err
	}
	s, snap := g.s, snapOf(v)
	want := heap.ByHint
	if v.WithDeleted {
		want = heap.WithDeleted
	}
	o := g.r.at(l)
	if hint != nil && page.TID(*hint).Valid() {
		tid := page.TID(*hint)
		row, root, ok, err := o.g.Get(ctx, snap, v.CID, tid, id, want)
		if err != nil {
			return nil, false, err
		}
		if ok {
			if root == tid {
				s.counters.HintOK++
			} else {
				s.counters.HintOwnChain++
				*hint = store.Hint(root)
			}
			return row, true, checkRow(e, row)
		}
		s.counters.HintStale++
	} else {
		s.counters.HintMissing++
	}
	row, root, ok, err := g.probe(ctx, v, l, id, heap.ByIndex)
	if err == nil && !ok && v.WithDeleted {
		row, root, ok, err = g.probe(ctx, v, l, id, heap.WithDeleted)
	}
	if !ok || err != nil {
		return nil, false, err
	}
	if hint != nil {
		*hint = store.Hint(root)
	}
	return row, true, checkRow(e, row)
}

// probe looks the id up in the id index.
func (g *graphView) probe(ctx context.Context, v store.View, l *catalog.Label, id uint64, want heap.Want) (row []byte, root page.TID, ok bool, err error) {
	g.s.counters.IDProbes++
	r := &g.r
	r.key = appendID(r.key[:0], id)
	if r.ptrs, err = l.ByID.LookupEq(ctx, r.key, r.ptrs[:0]); err != nil {
		return nil, 0, false, err
	}
	o := r.at(l)
	// The newest entry comes from the newest version more often than not.
	for i := len(r.ptrs) - 1; i >= 0; i-- {
		row, root, ok, err = o.g.Get(ctx, snapOf(v), v.CID, btree.TIDOf(r.ptrs[i]), id, want)
		if ok || err != nil {
			return row, root, ok, err
		}
	}
	return nil, 0, false, nil
}

// hintAt returns where hint i is, or nil.
func hintAt(hints []store.Hint, i int) *store.Hint {
	if hints == nil {
		return nil
	}
	return &hints[i]
}

func (g *graphView) ByID(ctx context.Context, v store.View, e schema.Entity, ids []uint64, out *store.Hits) error {
	defer g.r.done()
	out.Reset()
	for i, id := range ids {
		if id == 0 {
			continue
		}
		l, err := g.labelOf(ctx, e, id)
		if err != nil {
			return err
		}
		if l == nil {
			continue
		}
		_, root, ok, err := g.probe(ctx, v, l, id, heap.ByIndex)
		if err != nil {
			return err
		}
		if ok {
			g.s.counters.RowsRead++
			if err := g.found(ctx, v, l, id, root); err != nil {
				return err
			}
			out.Row, out.ID, out.Hint = append(out.Row, uint16(i)), append(out.ID, id), append(out.Hint, store.Hint(root))
		}
	}
	return nil
}

// found notes a row that a probe with a fresh snapshot found: if the statement's snapshot does not see this version, the row enters
// the refresh set and every later read sees it as the probe did (rules A9).
func (g *graphView) found(ctx context.Context, v store.View, l *catalog.Label, id uint64, root page.TID) error {
	if !g.newer(v) {
		return nil
	}
	s, snap, o := g.s, snapOf(v), g.r.at(l)
	_, r, ok, err := o.g.Get(ctx, s.snap, v.CID, root, id, heap.ByHint)
	if err != nil {
		return err
	}
	if !ok || r != root {
		s.snap.Refresh(id, page.LSN(snap.CSN()))
		return nil
	}
	return nil
}

// newer reports whether the view is a probe's, at a snapshot later than the statement's own.
func (g *graphView) newer(v store.View) bool {
	s, snap := g.s, snapOf(v)
	return snap == s.fresh && snap.CSN() > s.snap.CSN() && s.tx.t.Isolation() == txn.ReadCommitted
}

// foundEnd is found for the vertex that a relationship leads to: nothing of it was read yet.
func (g *graphView) foundEnd(ctx context.Context, v store.View, id uint64) error {
	if !g.newer(v) {
		return nil
	}
	l, err := g.labelOf(ctx, schema.Vertex, id)
	if l == nil || err != nil {
		return err
	}
	_, root, ok, err := g.probe(ctx, v, l, id, heap.ByIndex)
	if !ok || err != nil {
		return err
	}
	return g.found(ctx, v, l, id, root)
}

func (g *graphView) foundEnds(ctx context.Context, v store.View, start, end uint64) error {
	if err := g.foundEnd(ctx, v, start); err != nil || start == end {
		return err
	}
	return g.foundEnd(ctx, v, end)
}

func (g *graphView) Fetch(ctx context.Context, v store.View, e schema.Entity, ids []uint64, hints []store.Hint, keys []schema.KeyID, out []*vec.Column) error {
	defer g.r.done()
	for i, id := range ids {
		if id == 0 {
			for _, c := range out {
				c.AppendNull()
			}
			continue
		}
		row, ok, err := g.find(ctx, v, e, id, hintAt(hints, i))
		if err != nil {
			return err
		}
		if !ok {
			return gone(e)
		}
		g.s.counters.RowsRead++
		p, err := g.props(ctx, e, row)
		if err != nil {
			return err
		}
		for k, key := range keys {
			val, ok := p.Get(uint32(key))
			if !ok {
				out[k].AppendNull()
				continue
			}
			if val.Kind() == value.OutOfLine {
				if val, err = g.outOfLine(ctx, val); err != nil {
					return err
				}
			}
			out[k].Append(val)
		}
	}
	return nil
}

func (g *graphView) FetchMap(ctx context.Context, v store.View, e schema.Entity, ids []uint64, hints []store.Hint, out *vec.Column) error {
	defer g.r.done()
	if g.r.mb == nil {
		g.r.mb = value.NewMapBuilder()
	}
	var scratch []byte
	for i, id := range ids {
		if id == 0 {
			out.AppendNull()
			continue
		}
		row, ok, err := g.find(ctx, v, e, id, hintAt(hints, i))
		if err != nil {
			return err
		}
		if !ok {
			return gone(e)
		}
		g.s.counters.RowsRead++
		p, err := g.props(ctx, e, row)
		if err != nil {
			return err
		}
		g.r.mb.Reset()
		for k, n := 0, p.Len(); k < n; k++ {
			key, val := p.At(k)
			if val.Kind() == value.OutOfLine {
				if val, err = g.outOfLine(ctx, val); err != nil {
					return err
				}
				val = val.Clone() // several of them share one buffer
			}
			g.r.mb.Put(g.g.KeyName(schema.KeyID(key)), val)
		}
		scratch = g.r.mb.Append(scratch[:0])
		out.AppendBytes(value.Map, scratch)
	}
	return nil
}

func (g *graphView) LabelSets(ctx context.Context, v store.View, ids []uint64, hints []store.Hint, out []schema.LabelSetID) error {
	defer g.r.done()
	for i, id := range ids {
		out[i] = 0
		if id == 0 {
			continue
		}
		row, ok, err := g.find(ctx, v, schema.Vertex, id, hintAt(hints, i))
		if err != nil {
			return err
		}
		if !ok {
			return gone(schema.Vertex)
		}
		g.s.counters.RowsRead++
		out[i] = rowSet(row)
	}
	return nil
}

func (g *graphView) Ends(ctx context.Context, v store.View, rels []uint64, hints []store.Hint, start, end []uint64) error {
	defer g.r.done()
	for i, id := range rels {
		start[i], end[i] = 0, 0
		if id == 0 {
			continue
		}
		row, ok, err := g.find(ctx, v, schema.Edge, id, hintAt(hints, i))
		if err != nil {
			return err
		}
		if !ok {
			return gone(schema.Edge)
		}
		g.s.counters.RowsRead++
		start[i], end[i] = rowEnds(row)
		if err := g.foundEnds(ctx, v, start[i], end[i]); err != nil {
			return err
		}
	}
	return nil
}

// types returns the relationship types to look at; none given means all that have relations.
func (g *graphView) types(ctx context.Context, dst []*catalog.Label, types []schema.LabelID) ([]*catalog.Label, error) {
	if len(types) == 0 {
		for _, l := range g.g.Labels() {
			var err error
			if dst, err = g.addType(ctx, dst, l); err != nil {
				return nil, err
			}
		}
		return dst, nil
	}
	for _, id := range types {
		if id == schema.EdgeLabel || id == schema.NoLabel {
			return g.types(ctx, dst, nil)
		}
		var err error
		if dst, err = g.addType(ctx, dst, g.g.Label(id)); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func (g *graphView) addType(ctx context.Context, dst []*catalog.Label, l *catalog.Label) ([]*catalog.Label, error) {
	if l == nil || l.Entity != schema.Edge || l.Heap == nil || l.FilesGone() || slices.Contains(dst, l) {
		return dst, nil
	}
	if err := g.s.tx.lockLabel(ctx, l, txn.AccessShare); err != nil {
		return nil, err
	}
	return append(dst, l), nil
}

// expand walks the out and in indexes of the types for each row of a batch.
type expand struct {
	g        *graphView
	v        store.View
	src, dst []uint64
	into     bool // dst holds the far ends
	dir      store.Direction
	types    []*catalog.Label
	curs     []btree.Cursor // one for each type and direction, so that neighbours in a batch share leaves
	row      int
	live     []int32 // the cursors that may find something for vertices of the run, in order
	run      uint64
	step     int // which of live the row is at
	started  bool
	closed   bool
	n, at    int // entries of the leaf that the cursor stands on
	key      []byte
}

func (g *graphView) Expand(ctx context.Context, v store.View, src []uint64, dir store.Direction, types []schema.LabelID) (store.EdgeCursor, error) {
	return g.lendEdges(g.expand(ctx, v, src, nil, dir, types))
}

func (g *graphView) ExpandInto(ctx context.Context, v store.View, src, dst []uint64, dir store.Direction, types []schema.LabelID) (store.EdgeCursor, error) {
	if dst == nil {
		dst = []uint64{}
	}
	return g.lendEdges(g.expand(ctx, v, src, dst, dir, types))
}

func (g *graphView) lendEdges(x *expand, err error) (store.EdgeCursor, error) {
	if err != nil {
		return nil, err
	}
	c := g.spare.edges.take()
	c.x = x
	return c, nil
}

// edgeCursor lends an expand to a caller, who may close it more than once.
type edgeCursor struct{ x *expand }

// Next fills out.
func (c *edgeCursor) Next(ctx context.Context, max int, out *store.Edges) error {
	if c.x == nil {
		out.Reset()
		return nil
	}
	return c.x.Next(ctx, max, out)
}

// Close ends the walk.
func (c *edgeCursor) Close() {
	if c.x != nil {
		c.x.Close()
		c.x = nil
	}
}

func (g *graphView) expand(ctx context.Context, v store.View, src, dst []uint64, dir store.Direction, types []schema.LabelID) (*expand, error) {
	x := g.spare.expand
	if g.spare.expand = nil; x == nil {
		x = new(expand)
	}
	ls, err := g.types(ctx, x.types[:0], types)
	if err != nil {
		return nil, err
	}
	x.g, x.v, x.dir, x.types = g, v, dir, ls
	x.src, x.dst, x.into = append(x.src[:0], src...), append(x.dst[:0], dst...), dst != nil
	x.row, x.step, x.n, x.at, x.started, x.closed = 0, 0, 0, 0, false, false
	n := len(ls)
	if dir == store.Both {
		n *= 2
	}
	if x.curs = x.curs[:cap(x.curs)]; len(x.curs) < n {
		x.curs = append(x.curs, make([]btree.Cursor, n-len(x.curs))...)
	}
	x.curs = x.curs[:n]
	for i := range x.curs {
		l, in := x.side(i)
		t := l.Out
		if in {
			t = l.In
		}
		x.curs[i].Init(t, btree.Options{Probe: true})
		if len(ls) > 1 {
			if err := g.readRuns(ctx, l, in); err != nil {
				x.Close()
				return nil, err
			}
		}
	}
	x.run, x.live = noRun, x.live[:0]
	return x, nil
}

// noRun is no run's number.
const noRun = ^uint64(0)

// runsOf returns which runs of vertices have entries in one of the covering indexes of a type.
func runsOf(l *catalog.Label, in bool) (*adjacency.Runs, *btree.Tree) {
	if in {
		return &l.InRuns, l.In
	}
	return &l.OutRuns, l.Out
}

// readRuns reads once which runs of vertices have relationships of the type at all: a probe a run.
func (g *graphView) readRuns(ctx context.Context, l *catalog.Label, in bool) error {
	runs, tree := runsOf(l, in)
	if runs.Known() {
		return nil
	}
	var c btree.Cursor
	c.Init(tree, btree.Options{})
	defer c.Close()
	key := make([]byte, 0, 8)
	return runs.Build(func(from uint64) (uint64, bool, error) {
		sched.Point("local.runs.read")
		if err := ctx.Err(); err != nil {
			return 0, false, dberr.As(err)
		}
		g.s.counters.IndexProbes++
		key = appendID(key[:0], adjacency.FirstOf(from))
		c.Seek(btree.Range{Lower: key})
		if ok, err := c.Next(ctx); !ok || err != nil {
			return 0, false, err
		}
		if len(c.Key()) != adjKeyLen {
			return 0, false, malformed(c.Key())
		}
		near, _, _ := adjKey(c.Key())
		return adjacency.RunOf(near), true, nil
	})
}

func malformed(key []byte) error {
	return dberr.New(dberr.DataCorrupted, "an adjacency key of %d bytes is malformed", len(key))
}

// choose finds the cursors that may find something for a vertex.
func (x *expand) choose(vertex uint64) {
	run := adjacency.RunOf(vertex)
	if run == x.run {
		return
	}
	x.run, x.live = run, x.live[:0]
	for i := range x.curs {
		if runs, _ := runsOf(x.side(i)); runs.May(run) {
			x.live = append(x.live, int32(i))
		}
	}
}

// side tells which type and direction step i is about: all outgoing ones before the incoming ones.
func (x *expand) side(i int) (l *catalog.Label, in bool) {
	if i < len(x.types) {
		return x.types[i], x.dir == store.In
	}
	return x.types[i-len(x.types)], true
}

// next goes to the next entry of the index that may be an edge of the row.
func (x *expand) next(ctx context.Context) (c *btree.Cursor, more bool, err error) {
	for x.row < len(x.src) {
		id := x.src[x.row]
		if id == 0 || x.into && x.dst[x.row] == 0 {
			x.row++
			continue
		}
		x.choose(id)
		for x.step < len(x.live) {
			c := &x.curs[x.live[x.step]]
			if !x.started {
				x.key = appendID(x.key[:0], id)
				if x.into {
					x.key = appendID(x.key, x.dst[x.row])
				}
				x.g.s.counters.IndexProbes++
				c.Seek(btree.Prefix(x.key))
				x.started, x.n, x.at = true, 0, 0
			}
			if x.at < x.n {
				x.at++
				return c, true, nil
			}
			if x.n, err = c.Page(ctx); err != nil {
				return nil, false, err
			}
			if x.at = 0; x.n > 0 {
				continue
			}
			x.started = false
			x.step++
		}
		x.step, x.started = 0, false
		x.row++
	}
	return nil, false, nil
}

// edge returns the next edge that the view sees.
func (x *expand) edge(ctx context.Context) (rel, other uint64, hint store.Hint, in, ok bool, err error) {
	g := x.g
	for {
		c, more, err := x.next(ctx)
		if !more || err != nil {
			return 0, 0, 0, false, false, err
		}
		key, ptr := c.At(x.at - 1)
		if len(key) != adjKeyLen {
			return 0, 0, 0, false, false, malformed(key)
		}
		near, far, id := adjKey(key)
		l, in := x.side(int(x.live[x.step]))
		if in && x.dir == store.Both && near == far {
			continue // a loop was found among the outgoing ones
		}
		o := g.r.at(l)
		_, root, ok, err := o.g.Get(ctx, snapOf(x.v), x.v.CID, btree.TIDOf(ptr), id, heap.ByIndex)
		if err != nil {
			return 0, 0, 0, false, false, err
		}
		if !ok {
			continue
		}
		g.s.counters.EdgesRead++
		if err := g.found(ctx, x.v, l, id, root); err != nil {
			return 0, 0, 0, false, false, err
		}
		if err := g.foundEnd(ctx, x.v, far); err != nil {
			return 0, 0, 0, false, false, err
		}
		return id, far, store.Hint(root), in, true, nil
	}
}

// Next fills out.
func (x *expand) Next(ctx context.Context, max int, out *store.Edges) error {
	out.Reset()
	if x.closed {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return dberr.As(err)
	}
	defer x.g.r.done()
	for len(out.Rel) < max {
		rel, other, hint, in, ok, err := x.edge(ctx)
		if err != nil {
			return err
		}
		if !ok {
			return nil
		}
		out.Row, out.Rel, out.Hint = append(out.Row, uint16(x.row)), append(out.Rel, rel), append(out.Hint, hint)
		out.Other, out.In = append(out.Other, other), append(out.In, in)
	}
	return nil
}

// Close ends the walk and keeps its memory for the next one.
func (x *expand) Close() {
	if x.closed {
		return
	}
	x.closed = true
	for i := range x.curs {
		x.curs[i].Close()
	}
	x.g.spare.expand = x
}

// runCursor lends an expand's relationships. It may be closed more than once.
type runCursor struct{ x *expand }

func (g *graphView) Neighbours(ctx context.Context, v store.View, src []uint64, dir store.Direction, types []schema.LabelID) (store.RunCursor, error) {
	x, err := g.expand(ctx, v, src, nil, dir, types)
	if err != nil {
		return nil, err
	}
	return &runCursor{x}, nil
}

// Next is store.RunCursor's.
func (c *runCursor) Next(ctx context.Context, max int, out *store.Runs) error {
	out.Reset()
	if c.x == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return dberr.As(err)
	}
	defer c.x.g.r.done()
	for n := 0; n < max; n++ {
		rel, other, hint, in, ok, err := c.x.edge(ctx)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		out.Add(uint16(c.x.row), in, rel, other, hint)
	}
	out.Done()
	return nil
}

// Seek is store.RunCursor's.
func (c *runCursor) Seek(src []uint64) {
	if c.x != nil {
		c.x.src = append(c.x.src[:0], src...)
		c.x.row, c.x.step, c.x.n, c.x.at, c.x.started = 0, 0, 0, 0, false
		c.x.run, c.x.live = noRun, c.x.live[:0]
	}
}

// Close ends the walk.
func (c *runCursor) Close() {
	if c.x != nil {
		c.x.Close()
		c.x = nil
	}
}

func (g *graphView) Degree(ctx context.Context, v store.View, src []uint64, dir store.Direction, types []schema.LabelID, out []int64) error {
	x, err := g.expand(ctx, v, src, nil, dir, types)
	if err != nil {
		return err
	}
	defer x.Close()
	defer g.r.done()
	clear(out[:len(src)])
	for n := 0; ; n++ {
		if n&1023 == 0 {
			if err := ctx.Err(); err != nil {
				return dberr.As(err)
			}
		}
		_, _, _, _, ok, err := x.edge(ctx)
		if err != nil || !ok {
			return err
		}
		out[x.row]++
	}
}
