package local

import (
	"context"
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/access/adjacency"
	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// expand walks the neighbourhoods of a batch of vertices, type by type and direction by direction: the segments that are in memory, else the out
// and in indexes. The list of one vertex in one direction comes from one of the two, in the same order (rules B10).
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

	// What segments lend.
	cached  bool
	view    adjacency.View
	segs    []*adjacency.Segment // of the run, one a cursor
	ps      []adjacency.Piece    // of the row's step
	p       int                  // the next of them
	lent    bool                 // the step is lent, not read from the index
	scratch adjacency.Scratch
	tally   adjacency.Tally // of the call
	total   adjacency.Tally // until the walk is closed: the cache's counters are shared
	touched int             // rows up to it were looked at in advance
	sum     uint32          // keeps the looks from being left out
	// counting is where numbers are wanted instead of relationships: a segment lends nothing then.
	counting []int64
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
	x := g.spare.expand.pop()
	if x == nil {
		x = new(expand)
	}
	ls, err := g.types(ctx, x.types[:0], types)
	if err != nil {
		return nil, err
	}
	x.g, x.v, x.dir, x.types = g, v, dir, ls
	x.dst, x.into, x.closed = append(x.dst[:0], dst...), dst != nil, false
	// A probe's snapshot puts what it finds into the refresh set, row by row: it reads rows.
	x.cached, x.view = g.s.tx.cached && !g.newer(v), adjacency.View{Snap: snapOf(v), CID: v.CID}
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
	x.seek(src)
	return x, nil
}

// seek begins at other vertices.
func (x *expand) seek(src []uint64) {
	x.src = append(x.src[:0], src...)
	x.row, x.step, x.n, x.at, x.started = 0, 0, 0, 0, false
	x.run, x.live = noRun, x.live[:0]
	x.ps, x.p, x.touched = x.ps[:0], 0, 0
}

// touchAhead is how many rows are looked at before their lists are read; touchSides how many lists of each are worth it.
const touchAhead, touchSides = 64, 4

// touch looks at the lists of the next rows, so that what is in no cache is waited for together.
func (x *expand) touch() {
	to := min(len(x.src), x.row+touchAhead)
	x.touched = to
	if len(x.curs) > touchSides || to-x.row < 4 {
		return
	}
	for i := range x.curs {
		x.sum += sideOf(x.side(i)).Touch(x.src[x.row:to])
	}
}

// choose finds the cursors that may find something for a vertex, and the segments that it is in.
func (x *expand) choose(vertex uint64) {
	run := adjacency.RunOf(vertex)
	if run == x.run {
		return
	}
	x.run, x.live, x.segs = run, x.live[:0], x.segs[:0]
	for i := range x.curs {
		l, in := x.side(i)
		runs, _ := runsOf(l, in)
		if !runs.May(run) {
			continue
		}
		x.live = append(x.live, int32(i))
		var seg *adjacency.Segment
		if x.cached {
			if side := sideOf(l, in); side.On() {
				seg = side.Segment(run)
			}
		}
		x.segs = append(x.segs, seg)
	}
}

// sideOf returns what is in memory of one of the covering indexes of a type.
func sideOf(l *catalog.Label, in bool) *adjacency.Side {
	if in {
		return &l.InSide
	}
	return &l.OutSide
}

// side tells which type and direction step i is about: all outgoing ones before the incoming ones.
func (x *expand) side(i int) (l *catalog.Label, in bool) {
	if i < len(x.types) {
		return x.types[i], x.dir == store.In
	}
	return x.types[i-len(x.types)], true
}

// next goes on until there is something to hand out: pieces that a segment lends (c is nil), or an entry of the index that may be an edge of
// the row.
func (x *expand) next(ctx context.Context) (c *btree.Cursor, more bool, err error) {
	if x.p < len(x.ps) {
		return nil, true, nil
	}
	for x.row < len(x.src) {
		id := x.src[x.row]
		if id == 0 || x.into && x.dst[x.row] == 0 {
			x.row++
			continue
		}
		if x.row >= x.touched && x.cached {
			x.touch()
		}
		x.choose(id)
		for x.step < len(x.live) {
			c := &x.curs[x.live[x.step]]
			if !x.started {
				x.started, x.n, x.at = true, 0, 0
				if x.lent = x.lend(id); x.lent {
					if len(x.ps) > 0 {
						return nil, true, nil
					}
				} else {
					x.key = appendID(x.key[:0], id)
					if x.into {
						x.key = appendID(x.key, x.dst[x.row])
					}
					x.g.s.counters.IndexProbes++
					c.Seek(btree.Prefix(x.key))
				}
			}
			if x.at < x.n {
				x.at++
				return c, true, nil
			}
			if !x.lent {
				if x.n, err = c.Page(ctx); err != nil {
					return nil, false, err
				}
				if x.at = 0; x.n > 0 {
					continue
				}
			}
			x.started = false
			x.step++
		}
		x.step, x.started = 0, false
		x.row++
	}
	return nil, false, nil
}

// lend has the row's list from its segment, if that is ready.
func (x *expand) lend(id uint64) bool {
	x.ps, x.p = x.ps[:0], 0
	seg := x.segs[x.step]
	if seg == nil {
		return false
	}
	gen := seg.Ready()
	if gen == nil {
		x.tally.FallbackHops++
		return false
	}
	var dirty bool
	_, in := x.side(int(x.live[x.step]))
	both := in && x.dir == store.Both
	switch {
	case x.counting != nil:
		var n int
		n, dirty = gen.Degree(id, x.view, &x.scratch)
		if both && gen.Loops() {
			n -= x.loops(gen, id)
		}
		x.counting[x.row] += int64(n)
	case !x.into:
		x.ps, dirty = gen.List(id, x.view, &x.scratch, x.ps)
		if both && gen.Loops() {
			x.ps = adjacency.Without(x.ps, id) // a loop was found among the outgoing ones
		}
	case !both || x.dst[x.row] != id:
		var ok bool
		if x.ps, dirty, ok = gen.Between(id, x.dst[x.row], x.view, &x.scratch, x.ps); !ok {
			x.tally.FallbackHops++
			x.walked(seg)
			return false
		}
	}
	x.tally.Hops++
	if dirty {
		x.walked(seg)
	}
	return true
}

// loops counts a vertex's relationships with itself.
func (x *expand) loops(gen *adjacency.Generation, id uint64) (n int) {
	ps, _, ok := gen.Between(id, id, x.view, &x.scratch, x.ps[:0])
	if !ok {
		ps, _ = gen.List(id, x.view, &x.scratch, x.ps[:0])
		all := adjacency.Len(ps)
		ps = adjacency.Without(ps, id)
		x.ps = ps[:0]
		return all - adjacency.Len(ps)
	}
	x.ps = ps[:0]
	return adjacency.Len(ps)
}

// walked counts a list that had changed.
func (x *expand) walked(seg *adjacency.Segment) {
	x.tally.DirtyHops++
	x.tally.Walks += int64(x.scratch.Walked)
	seg.Walked(x.scratch.Walked)
	x.scratch.Walked = 0
}

// take returns up to max of the relationships that are lent.
func (x *expand) take(max int) (p adjacency.Piece, in bool) {
	at := &x.ps[x.p]
	if p = *at; len(p.Rel) > max {
		p = at.Cut(0, max)
		*at = at.Cut(max, len(at.Rel))
	} else {
		x.p++
	}
	x.tally.Edges += int64(len(p.Rel))
	_, in = x.side(int(x.live[x.step]))
	return p, in
}

// judge reads the relationship behind the entry that the row's cursor stands on.
func (x *expand) judge(ctx context.Context, c *btree.Cursor) (rel, other uint64, hint store.Hint, in, ok bool, err error) {
	g := x.g
	key, ptr := c.At(x.at - 1)
	if len(key) != adjKeyLen {
		return 0, 0, 0, false, false, malformed(key)
	}
	near, far, id := adjKey(key)
	l, in := x.side(int(x.live[x.step]))
	if in && x.dir == store.Both && near == far {
		return 0, 0, 0, false, false, nil // a loop was found among the outgoing ones
	}
	o := g.r.at(l)
	_, root, ok, err := o.g.Get(ctx, snapOf(x.v), x.v.CID, btree.TIDOf(ptr), id, heap.ByIndex)
	if !ok || err != nil {
		return 0, 0, 0, false, false, err
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

// end lets go of pages, and counts what the call has cost.
func (x *expand) end() {
	x.g.r.done()
	t, n := &x.tally, &x.g.s.counters
	if *t == (adjacency.Tally{}) {
		return
	}
	n.HopsCached += t.Hops
	n.HopsDirty += t.DirtyHops
	n.HopsIndex += t.FallbackHops
	n.EdgesRead += t.Edges
	x.total.Add(t)
	*t = adjacency.Tally{}
}

// begin prepares a call that hands out.
func (x *expand) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return dberr.As(err)
	}
	if x.p < len(x.ps) {
		x.scratch.Fresh()
	} else {
		x.scratch.Forget()
	}
	return nil
}

// Next fills out.
func (x *expand) Next(ctx context.Context, max int, out *store.Edges) error {
	out.Reset()
	if x.closed {
		return nil
	}
	if err := x.begin(ctx); err != nil {
		return err
	}
	defer x.end()
	for len(out.Rel) < max {
		c, more, err := x.next(ctx)
		if !more || err != nil {
			return err
		}
		if c == nil {
			p, in := x.take(max - len(out.Rel))
			appendPiece(out, uint16(x.row), &p, in)
			continue
		}
		rel, other, hint, in, ok, err := x.judge(ctx, c)
		if err != nil {
			return err
		}
		if ok {
			out.Row, out.Rel, out.Hint = append(out.Row, uint16(x.row)), append(out.Rel, rel), append(out.Hint, hint)
			out.Other, out.In = append(out.Other, other), append(out.In, in)
		}
	}
	return nil
}

// appendPiece copies relationships that are lent, column by column.
func appendPiece(out *store.Edges, row uint16, p *adjacency.Piece, in bool) {
	n, from := len(p.Rel), len(out.Rel)
	out.Row, out.Rel, out.Hint = longer(out.Row, n), longer(out.Rel, n), longer(out.Hint, n)
	out.Other, out.In = longer(out.Other, n), longer(out.In, n)
	clear(out.Hint[from:]) // not known: who wants the row asks the table of places
	rows, ins := out.Row[from:], out.In[from:]
	for i := range rows {
		rows[i] = row
	}
	for i := range ins {
		ins[i] = in
	}
	rels, others := out.Rel[from:], out.Other[from:]
	for i, rel := range p.Rel {
		rels[i] = p.RelHigh | uint64(rel)
	}
	for i, far := range p.Other {
		others[i] = p.OtherHigh | uint64(far)
	}
}

// longer returns s with n more elements, whatever they are.
func longer[T any](s []T, n int) []T { return slices.Grow(s, n)[:len(s)+n] }

// Close ends the walk and keeps its memory for the next one.
func (x *expand) Close() {
	if x.closed {
		return
	}
	x.closed = true
	for i := range x.curs {
		x.curs[i].Close()
	}
	if x.total != (adjacency.Tally{}) {
		x.g.s.tx.s.adj.Count(&x.total)
		x.total = adjacency.Tally{}
	}
	clear(x.segs)
	clear(x.ps)
	x.g.spare.expand.push(x)
}

// runCursor lends an expand's relationships. It may be closed more than once.
type runCursor struct{ x *expand }

func (g *graphView) Neighbours(ctx context.Context, v store.View, src []uint64, dir store.Direction, types []schema.LabelID) (store.RunCursor, error) {
	x, err := g.expand(ctx, v, src, nil, dir, types)
	if err != nil {
		return nil, err
	}
	c := g.spare.runs.take()
	c.x = x
	return c, nil
}

// Next is store.RunCursor's.
func (c *runCursor) Next(ctx context.Context, max int, out *store.Runs) error {
	out.Reset()
	x := c.x
	if x == nil {
		return nil
	}
	if err := x.begin(ctx); err != nil {
		return err
	}
	defer x.end()
	defer out.Done()
	for n := 0; n < max; {
		c, more, err := x.next(ctx)
		if !more || err != nil {
			return err
		}
		if c == nil {
			p, in := x.take(max - n)
			out.Lend(store.Run{Row: uint16(x.row), In: in, RelHigh: p.RelHigh, OtherHigh: p.OtherHigh, Rel: p.Rel, Other: p.Other})
			n += len(p.Rel)
			continue
		}
		rel, other, hint, in, ok, err := x.judge(ctx, c)
		if err != nil {
			return err
		}
		if ok {
			out.Add(uint16(x.row), in, rel, other, hint)
			n++
		}
	}
	return nil
}

// Seek is store.RunCursor's.
func (c *runCursor) Seek(src []uint64) {
	if c.x != nil {
		c.x.seek(src)
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
	defer x.end()
	clear(out[:len(src)])
	x.counting = out
	defer func() { x.counting = nil }()
	for n := 0; ; n++ {
		if n&1023 == 0 {
			if err := ctx.Err(); err != nil {
				return dberr.As(err)
			}
		}
		c, more, err := x.next(ctx)
		if !more || err != nil {
			return err
		}
		_, _, _, _, ok, err := x.judge(ctx, c)
		if err != nil {
			return err
		}
		if ok {
			out[x.row]++
		}
	}
}
