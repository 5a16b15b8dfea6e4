package local

import (
	"context"
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
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
	if !g.s.tx.locks.holds(l, txn.AccessShare) {
		g.r.done() // no pin while waiting for a lock
		if err := g.s.tx.lockLabel(ctx, l, txn.AccessShare); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// find returns the row that the view sees, through the hint, the table of places or, failing these, the id index (rules B1). The bytes live until the
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
	row, root, ok, err := g.place(ctx, v, l, id, want)
	if !ok || err != nil {
		return nil, false, err
	}
	if hint != nil {
		*hint = store.Hint(root)
	}
	return row, true, checkRow(e, row)
}

// place finds a row of which no hint is known, or a stale one: where somebody saw it last, or through the id index. What the index says is
// noted for the next one.
func (g *graphView) place(ctx context.Context, v store.View, l *catalog.Label, id uint64, want heap.Want) (row []byte, root page.TID, ok bool, err error) {
	cached := g.s.tx.cached
	if at := page.TID(l.Roots.Get(id)); at.Valid() && cached {
		row, root, ok, err := g.r.at(l).g.Get(ctx, snapOf(v), v.CID, at, id, want)
		if err != nil {
			return nil, 0, false, err
		}
		if ok {
			g.s.counters.RootHits++
			return row, root, true, nil
		}
	}
	row, root, ok, err = g.probe(ctx, v, l, id, heap.ByIndex)
	if err == nil && !ok && want == heap.WithDeleted {
		row, root, ok, err = g.probe(ctx, v, l, id, heap.WithDeleted)
	}
	if ok && err == nil && cached {
		l.Roots.Put(id, uint64(root))
	}
	return row, root, ok, err
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
