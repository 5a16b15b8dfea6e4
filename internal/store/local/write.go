package local

import (
	"context"
	"math"
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
)

// allOwn is the command id at which every own change is seen: a write follows to the newest version (rules A5).
const allOwn = math.MaxUint32

// writer is the memory of the write paths: it grows to the largest batch and is used again, so that a row costs no allocation.
type writer struct {
	m      merged
	old    []byte // the row that is being changed
	oldMap []byte // its properties, if they lay out of line
	out    []byte // a value on its way out of line
	arena  []byte // new rows, one behind the other
	ends   []int
	rows   [][]byte
	tids   []page.TID
	key    []byte
	okey   []byte
	order  []int32
	ids    []uint64
	hits   store.Hits
	edges  store.Edges
	drops  []value.Value // pointers to chunks that the change leaves behind

	// What judge asks about.
	judging struct {
		ctx   context.Context
		g     *graphView
		ix    *catalog.Index
		whole []byte // the uncut key
		cut   bool
	}
	judge btree.Judge
}

// shape is what a write must know of rows stored in one heap with one label set. It is valid for a statement: the locks that its
// making took keep others from changing it.
type shape struct {
	home    *catalog.Label
	set     *catalog.LabelSet // nil for edges
	indexes []shapeIndex
	checked []*catalog.Constraint // those that look at each row alone
}

type shapeIndex struct {
	ix  *catalog.Index
	ord uint16
}

// shapeOf locks the heap for writing and returns the shape of its rows with the set.
func (g *graphView) shapeOf(ctx context.Context, home *catalog.Label, set *catalog.LabelSet) (*shape, error) {
	for _, s := range g.shapes {
		if s.home == home && s.set == set {
			return s, nil
		}
	}
	t := g.s.tx
	g.r.done()
	s := &shape{home: home, set: set}
	if set != nil {
		// Growth before heaps, as an index build has it. An index on every label spans every heap: a new one must not appear while one is built.
		if err := t.lockRel(ctx, g.g.Label(schema.VertexLabel).Growth(), txn.RowExclusive); err != nil {
			return nil, err
		}
		for _, id := range set.Labels {
			l := g.g.Label(id)
			if l == nil {
				return nil, dberr.New(dberr.DataCorrupted, "label set %d names the unknown label %d", set.ID, id)
			}
			if l == home {
				continue
			}
			if err := t.lockRel(ctx, l.Growth(), txn.RowExclusive); err != nil {
				return nil, err
			}
			if !l.Live(t.t) {
				return nil, dberr.New(dberr.SerializationFailure, "%q was dropped by another transaction", l.Name)
			}
			if err := home.EnsureHolds(ctx, t.t, l); err != nil {
				return nil, err
			}
		}
	}
	if err := t.lockLabel(ctx, home, txn.RowExclusive); err != nil {
		return nil, err
	}
	covers := func(e schema.Entity, l schema.LabelID) bool {
		if set == nil {
			return e == schema.Edge && l == home.ID
		}
		return e == schema.Vertex && (slices.Contains(set.Labels, l) || l == schema.VertexLabel)
	}
	for _, ix := range g.g.LiveIndexes(nil, t.t) {
		if !covers(ix.Entity, ix.Label) {
			continue
		}
		// Inserting into an index means probing it: the heaps that it has ordinals for stay (rules B4).
		for _, h := range ix.Heaps() {
			if h.Label != nil && !h.Label.FilesGone() {
				if err := t.lockLabel(ctx, h.Label, txn.AccessShare); err != nil {
					return nil, err
				}
			}
		}
		ord, err := ix.EnsureOrdinal(ctx, t.t, home)
		if err != nil {
			return nil, err
		}
		s.indexes = append(s.indexes, shapeIndex{ix, ord})
	}
	for _, c := range g.g.LiveConstraints(nil, t.t) {
		if c.Kind.RowByRow() && covers(c.Entity, c.Label) {
			s.checked = append(s.checked, c)
		}
	}
	g.shapes = append(g.shapes, s)
	return s, nil
}

// failed notes that a statement of the transaction failed half-way.
func (t *tx) failed(err error) error {
	if err != nil {
		t.broken = true
	}
	return err
}

// mayWrite refuses early what the heap would refuse late.
func (g *graphView) mayWrite() error {
	t := g.s.tx
	if err := t.check(); err != nil {
		return err
	}
	if t.t.ReadOnly() {
		return dberr.New(dberr.ReadOnlyTransaction, "cannot write in a read-only transaction")
	}
	_, err := t.t.XID()
	return err
}

// checkConstraints holds a new version to the constraints that look at each row alone.
func (g *graphView) checkConstraints(ctx context.Context, s *shape, m *merged) error {
	for _, c := range s.checked {
		for i, k := range c.Keys {
			if err := g.checkValue(ctx, &c.Constraint, c.KeyNames[i], m.get(k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkValue holds one value, which may lie out of line, to a constraint.
func (g *graphView) checkValue(ctx context.Context, c *schema.Constraint, key string, v value.Value) error {
	if v.Kind() == value.OutOfLine && c.Kind == schema.PropertyType {
		var err error
		if v, err = g.outOfLine(ctx, v); err != nil {
			return err
		}
	}
	return store.CheckValue(c, key, v)
}

// appendBody appends the property record of m behind a row's head, which begins at from, moving out of line what is long (B13).
func (g *graphView) appendBody(ctx context.Context, cid uint32, b []byte, from int, m *merged) ([]byte, error) {
	for i, v := range m.vals {
		if len(v.Raw()) > inlineValue && v.Kind() != value.OutOfLine {
			p, err := g.putOut(ctx, cid, v)
			if err != nil {
				return b, err
			}
			m.vals[i] = p
		}
	}
	head := len(b)
	b = value.AppendProps(b, m.keys, m.vals)
	if len(b)-from > inlineRow {
		ptr, err := g.g.Chunks.StoreChunks(ctx, g.s.tx.t, cid, b[head:])
		if err != nil {
			return b, err
		}
		b = append(b[:head], ptr[:]...)
		b[head-1] |= flagMapOut
	}
	return b, nil
}

// enter adds the entry of a new version to a property index. probe says that a unique index must look for others with the key:
// it need not where the row had the same key before.
func (g *graphView) enter(ctx context.Context, si shapeIndex, key, whole []byte, cut bool, tid page.TID, row []byte, probe bool) error {
	t := g.s.tx
	ix := si.ix
	ptr := btree.MakePtr(si.ord, tid)
	if cut {
		if err := ix.Tree.SetHasLong(ctx, &t.crit); err != nil {
			return err
		}
	}
	if !ix.Unique || !probe {
		return ix.Tree.Insert(ctx, &t.crit, key, ptr)
	}
	w := t.writer()
	j := &w.judging
	j.ctx, j.g, j.ix, j.whole, j.cut = ctx, g, ix, whole, cut
	if w.judge == nil {
		w.judge = t.judgeEntry
	}
	for {
		g.s.counters.UniqueProbes++
		out, err := ix.Tree.InsertUnique(ctx, &t.crit, key, ptr, w.judge)
		if err != nil {
			return err
		}
		switch out.Kind {
		case btree.Free:
			return nil
		case btree.Conflict:
			return g.duplicate(ctx, ix, row)
		}
		sched.Point("local.unique.wait")
		if err := t.t.WaitXID(ctx, txn.XID(out.Xid)); err != nil {
			return err
		}
	}
}

// CreateNodes makes vertices.
func (g *graphView) CreateNodes(ctx context.Context, cid uint32, labels []schema.LabelID, props []store.PropRow, out *store.Hits) error {
	return g.s.tx.failed(g.createNodes(ctx, cid, labels, props, out))
}

func (g *graphView) createNodes(ctx context.Context, cid uint32, labels []schema.LabelID, props []store.PropRow, out *store.Hits) error {
	if err := g.mayWrite(); err != nil || len(props) == 0 {
		return err
	}
	t := g.s.tx
	home := g.g.Label(schema.VertexLabel)
	if len(labels) > 0 {
		home = g.g.Label(labels[0])
	}
	if home == nil || home.Entity != schema.Vertex {
		return dberr.New(dberr.UndefinedTable, "there is no such label")
	}
	set, err := g.setOf(ctx, labels)
	if err != nil {
		return err
	}
	s, err := g.shapeOf(ctx, home, set)
	if err != nil {
		return err
	}
	if err := g.show(ctx, cid, labels); err != nil {
		return err
	}
	first, err := home.Seq.Take(uint64(len(props)))
	if err != nil {
		return err
	}
	w := t.writer()
	w.begin()
	for i := range props {
		if err := w.m.apply(nil, &props[i]); err != nil {
			return err
		}
		if err := g.checkConstraints(ctx, s, &w.m); err != nil {
			return err
		}
		from := len(w.arena)
		w.arena = appendVertexHead(w.arena, schema.MakeID(home.ID, first+uint64(i)), set.ID)
		if w.arena, err = g.appendBody(ctx, cid, w.arena, from, &w.m); err != nil {
			return err
		}
		w.ends = append(w.ends, len(w.arena))
	}
	if err := g.store(ctx, cid, s, schema.Vertex); err != nil {
		return err
	}
	for i, tid := range w.tids {
		out.Row, out.ID = append(out.Row, uint16(i)), append(out.ID, schema.MakeID(home.ID, first+uint64(i)))
		out.Hint = append(out.Hint, store.Hint(tid))
	}
	t.deltas.add(cid, nodeKey(g.g.ID, home.ID, set.ID), int64(len(props)))
	t.deltas.touch(home, len(props))
	g.s.counters.NodesCreated += int64(len(props))
	g.s.counters.LabelsAdded += int64(len(props) * len(set.Labels))
	g.s.counters.PropsSet += w.m.set
	w.m.set = 0
	return nil
}

func (w *writer) begin() {
	w.arena, w.ends, w.m.set = w.arena[:0], w.ends[:0], 0
}

// store inserts the rows of the arena and their index entries.
func (g *graphView) store(ctx context.Context, cid uint32, s *shape, e schema.Entity) error {
	t := g.s.tx
	w := t.writer()
	w.rows, w.tids = w.rows[:0], w.tids[:0]
	from := 0
	for _, end := range w.ends {
		w.rows, w.tids = append(w.rows, w.arena[from:end:end]), append(w.tids, 0)
		from = end
	}
	g.r.done()
	if err := s.home.Heap.InsertMany(ctx, t.t, cid, w.rows, w.tids); err != nil {
		return err
	}
	for i, row := range w.rows {
		if err := g.enterFixed(ctx, s.home, e, row, w.tids[i]); err != nil {
			return err
		}
	}
	for _, si := range s.indexes {
		for i, row := range w.rows {
			if err := g.enterProps(ctx, si, e, row, w.tids[i], true); err != nil {
				return err
			}
		}
	}
	return nil
}

// enterFixed adds a version to the indexes that every label has.
func (g *graphView) enterFixed(ctx context.Context, l *catalog.Label, e schema.Entity, row []byte, tid page.TID) error {
	t := g.s.tx
	w := t.writer()
	ptr, id := btree.MakePtr(0, tid), rowID(row)
	w.key = appendID(w.key[:0], id)
	if err := l.ByID.Insert(ctx, &t.crit, w.key, ptr); err != nil {
		return err
	}
	if e == schema.Vertex {
		return nil
	}
	start, end := rowEnds(row)
	w.key = appendAdj(w.key[:0], start, end, id)
	if err := l.Out.Insert(ctx, &t.crit, w.key, ptr); err != nil {
		return err
	}
	w.key = appendAdj(w.key[:0], end, start, id)
	if err := l.In.Insert(ctx, &t.crit, w.key, ptr); err != nil {
		return err
	}
	sched.Point("local.runs.add.before")
	l.OutRuns.Add(adjacency.RunOf(start)) // after the entries are there (J1)
	l.InRuns.Add(adjacency.RunOf(end))
	return nil
}

// enterProps adds a version to a property index if it has all of its keys.
func (g *graphView) enterProps(ctx context.Context, si shapeIndex, e schema.Entity, row []byte, tid page.TID, probe bool) error {
	w := g.s.tx.writer()
	p, err := g.props(ctx, e, row)
	if err != nil {
		return err
	}
	w.key = w.key[:0]
	for _, k := range si.ix.Keys {
		v, ok := p.Get(uint32(k))
		if !ok {
			return nil
		}
		if v.Kind() == value.OutOfLine {
			if v, err = g.outOfLine(ctx, v); err != nil {
				return err
			}
		}
		w.key = appendStored(w.key, v, si.ix.Unique)
	}
	key, whole := w.key, []byte(nil)
	if len(key) > maxWhole {
		whole = key
		key, _ = cutKey(slices.Clone(key), 0)
	}
	return g.enter(ctx, si, key, whole, whole != nil, tid, row, probe)
}

// setOf returns the interned set of the labels.
func (g *graphView) setOf(ctx context.Context, labels []schema.LabelID) (*catalog.LabelSet, error) {
	for _, s := range g.sets {
		if slices.Equal(s.asked, labels) {
			return s.set, nil
		}
	}
	kept := make([]schema.LabelID, 0, len(labels))
	for _, l := range labels {
		if l != schema.VertexLabel && l != schema.NoLabel {
			kept = append(kept, l)
		}
	}
	set, err := g.g.EnsureSet(ctx, g.s.tx.t, kept)
	if err != nil {
		return nil, err
	}
	g.sets = append(g.sets, askedSet{slices.Clone(labels), set})
	return set, nil
}

// show notes that the transaction uses the labels (rules B7).
func (g *graphView) show(ctx context.Context, cid uint32, labels []schema.LabelID) error {
	for _, id := range labels {
		if l := g.g.Label(id); l != nil {
			if err := l.Show(ctx, g.s.tx.t, cid); err != nil {
				return err
			}
		}
	}
	return nil
}

// CreateRels makes relationships (rules B3): their ends are locked in the order of ids, and must be there.
func (g *graphView) CreateRels(ctx context.Context, cid uint32, typ schema.LabelID, start, end []uint64, props []store.PropRow, out *store.Hits) error {
	return g.s.tx.failed(g.createRels(ctx, cid, typ, start, end, props, out))
}

func (g *graphView) createRels(ctx context.Context, cid uint32, typ schema.LabelID, start, end []uint64, props []store.PropRow, out *store.Hits) error {
	if err := g.mayWrite(); err != nil || len(start) == 0 {
		return err
	}
	t := g.s.tx
	home := g.g.Label(typ)
	if home == nil || home.Entity != schema.Edge || home.Heap == nil {
		return dberr.New(dberr.UndefinedTable, "there is no such relationship type")
	}
	s, err := g.shapeOf(ctx, home, nil)
	if err != nil {
		return err
	}
	if !home.Live(t.t) {
		return dberr.New(dberr.SerializationFailure, "%q was dropped by another transaction", home.Name)
	}
	if err := g.show(ctx, cid, []schema.LabelID{typ}); err != nil {
		return err
	}
	if err := g.lockEnds(ctx, start, end); err != nil {
		return err
	}
	first, err := home.Seq.Take(uint64(len(start)))
	if err != nil {
		return err
	}
	w := t.writer()
	w.begin()
	for i := range start {
		var p *store.PropRow
		if props != nil {
			p = &props[i]
		} else {
			p = &noProps
		}
		if err := w.m.apply(nil, p); err != nil {
			return err
		}
		if err := g.checkConstraints(ctx, s, &w.m); err != nil {
			return err
		}
		from := len(w.arena)
		w.arena = appendEdgeHead(w.arena, schema.MakeID(typ, first+uint64(i)), start[i], end[i])
		if w.arena, err = g.appendBody(ctx, cid, w.arena, from, &w.m); err != nil {
			return err
		}
		w.ends = append(w.ends, len(w.arena))
	}
	if err := g.store(ctx, cid, s, schema.Edge); err != nil {
		return err
	}
	for i, tid := range w.tids {
		out.Row, out.ID = append(out.Row, uint16(i)), append(out.ID, schema.MakeID(typ, first+uint64(i)))
		out.Hint = append(out.Hint, store.Hint(tid))
		g.countRel(cid, typ, start[i], end[i], 1)
		if err := g.tell(home, cid, schema.MakeID(typ, first+uint64(i)), start[i], end[i], false); err != nil {
			return err
		}
	}
	t.deltas.touch(home, len(start))
	g.s.counters.RelsCreated += int64(len(start))
	g.s.counters.PropsSet += w.m.set
	w.m.set = 0
	return nil
}

// tell has a relationship that came or went noted at both ends, after the heap and the indexes have it (rules B10).
func (g *graphView) tell(l *catalog.Label, cid uint32, rel, start, end uint64, del bool) error {
	if g.s.tx.s.adj == nil {
		return nil
	}
	t := g.s.tx.t
	x, err := t.XID()
	if err != nil {
		return err
	}
	sched.Point("local.tell.before")
	l.OutSide.Tell(adjacency.Change{Near: start, Far: end, Rel: rel, XID: x, Top: t.TopXID(), CID: cid, Del: del})
	l.InSide.Tell(adjacency.Change{Near: end, Far: start, Rel: rel, XID: x, Top: t.TopXID(), CID: cid, Del: del})
	return nil
}

var noProps store.PropRow

// lockEnds takes KEY SHARE on every vertex that is an end, each once and in the order of ids, and judges the end of its chain.
func (g *graphView) lockEnds(ctx context.Context, start, end []uint64) error {
	t := g.s.tx
	w := t.writer()
	w.ids = append(append(w.ids[:0], start...), end...)
	slices.Sort(w.ids)
	w.ids = slices.Compact(w.ids)
	v := store.View{Snap: g.s.snap, CID: allOwn}
	for _, id := range w.ids {
		l := g.g.Label(schema.LabelOf(id))
		if l == nil || l.Entity != schema.Vertex || l.Heap == nil || l.FilesGone() {
			return gone(schema.Vertex)
		}
		if !t.locks.holds(l, txn.RowShare) {
			g.r.done()
			if err := t.lockLabel(ctx, l, txn.RowShare); err != nil {
				return err
			}
		}
		_, root, ok, err := g.place(ctx, v, l, id, heap.ByHint)
		g.r.done()
		if err != nil {
			return err
		}
		if !ok {
			return gone(schema.Vertex)
		}
		sched.Point("local.edge.probed")
		res, err := l.Heap.LockRow(ctx, t.t, g.s.snap, root, id, txn.RowKeyShare)
		if err != nil {
			return err
		}
		if res.Outcome != heap.OK { // the statement sees it, so another transaction has deleted it since
			return dberr.New(dberr.SerializationFailure, "could not serialize access: the node at an end of the relationship was deleted by another transaction").
				WithHint("Run the transaction again.")
		}
		sched.Point("local.edge.locked")
	}
	return nil
}

// current finds the newest version of a row for a write and copies it to w.old.
func (g *graphView) current(ctx context.Context, e schema.Entity, id uint64, hint *store.Hint) (bool, error) {
	w := g.s.tx.writer()
	row, ok, err := g.find(ctx, store.View{Snap: g.s.snap, CID: allOwn}, e, id, hint)
	if ok {
		w.old = append(w.old[:0], row...)
	}
	g.r.done() // nothing is pinned while we write
	return ok, err
}

// again brings the statement's snapshot to the newest version of a row that somebody else changed under us (rules A9). It returns
// false if the row is gone.
func (g *graphView) again(ctx context.Context, l *catalog.Label, id uint64, hint *store.Hint, mode txn.Mode) (bool, error) {
	res, err := l.Heap.LockRow(ctx, g.s.tx.t, g.s.snap, page.TID(*hint), id, mode)
	if err != nil {
		return false, err
	}
	if res.Outcome != heap.OK {
		return false, nil
	}
	if res.Moved {
		g.s.snap.Refresh(id, res.CSN)
	}
	*hint = store.Hint(res.TID)
	return true, nil
}

// SetProps changes properties.
func (g *graphView) SetProps(ctx context.Context, cid uint32, e schema.Entity, ids []uint64, hints []store.Hint, rows []store.PropRow) error {
	return g.s.tx.failed(g.setProps(ctx, cid, e, ids, hints, rows))
}

func (g *graphView) setProps(ctx context.Context, cid uint32, e schema.Entity, ids []uint64, hints []store.Hint, rows []store.PropRow) error {
	if err := g.mayWrite(); err != nil {
		return err
	}
	w := g.s.tx.writer()
	w.m.set = 0
	for i, id := range ids {
		if id == 0 {
			continue
		}
		var none store.Hint
		hint := &none
		if hints != nil {
			hint = &hints[i]
		}
		if err := g.change(ctx, cid, e, id, hint, &rows[i], nil, nil); err != nil {
			return err
		}
	}
	g.s.counters.PropsSet += w.m.set
	w.m.set = 0
	return nil
}

// SetLabels adds and removes labels.
func (g *graphView) SetLabels(ctx context.Context, cid uint32, ids []uint64, hints []store.Hint, add, remove []schema.LabelID) error {
	return g.s.tx.failed(g.setLabels(ctx, cid, ids, hints, add, remove))
}

func (g *graphView) setLabels(ctx context.Context, cid uint32, ids []uint64, hints []store.Hint, add, remove []schema.LabelID) error {
	if err := g.mayWrite(); err != nil {
		return err
	}
	if err := g.show(ctx, cid, add); err != nil {
		return err
	}
	for i, id := range ids {
		if id == 0 {
			continue
		}
		var none store.Hint
		hint := &none
		if hints != nil {
			hint = &hints[i]
		}
		if err := g.change(ctx, cid, schema.Vertex, id, hint, nil, add, remove); err != nil {
			return err
		}
	}
	return nil
}

// change gives a row a new version: with other properties if p is not nil, and with other labels.
func (g *graphView) change(ctx context.Context, cid uint32, e schema.Entity, id uint64, hint *store.Hint, p *store.PropRow, add, remove []schema.LabelID) error {
	t := g.s.tx
	w := t.writer()
	set0 := w.m.set
	labels := p == nil
	if labels {
		p = &noProps
	}
	for {
		ok, err := g.current(ctx, e, id, hint)
		if err != nil {
			return err
		}
		if !ok {
			return gone(e)
		}
		home := g.g.Label(schema.LabelOf(id))
		var set, newSet *catalog.LabelSet
		if e == schema.Vertex {
			if set = g.g.Set(rowSet(w.old)); set == nil {
				return dberr.New(dberr.DataCorrupted, "node %d has the unknown label set %d", id, rowSet(w.old))
			}
			newSet = set
			if labels {
				if newSet, err = g.changedSet(ctx, set, add, remove); err != nil {
					return err
				}
				if newSet == set {
					return nil
				}
			}
		}
		s, err := g.shapeOf(ctx, home, newSet)
		if err != nil {
			return err
		}
		oldProps, err := g.props(ctx, e, w.old)
		if err != nil {
			return err
		}
		if w.old[headOf(e)-1]&flagMapOut != 0 { // the buffer that it is in will be used again
			w.oldMap = append(w.oldMap[:0], oldProps...)
			oldProps = w.oldMap
		}
		w.m.set = set0
		if err := w.m.apply(oldProps, p); err != nil {
			return err
		}
		if err := g.checkConstraints(ctx, s, &w.m); err != nil {
			return err
		}
		hot, err := g.keepsKeys(ctx, s, set, newSet, oldProps)
		if err != nil {
			return err
		}
		w.arena = w.arena[:0]
		if e == schema.Vertex {
			w.arena = appendVertexHead(w.arena, id, newSet.ID)
		} else {
			start, end := rowEnds(w.old)
			w.arena = appendEdgeHead(w.arena, id, start, end)
		}
		if w.arena, err = g.appendBody(ctx, cid, w.arena, 0, &w.m); err != nil {
			return err
		}
		res, err := home.Heap.Update(ctx, t.t, g.s.snap, cid, page.TID(*hint), id, w.arena, heap.UpdateOptions{HOT: hot})
		if err != nil {
			return err
		}
		switch res.Outcome {
		case heap.SelfDeleted:
			return gone(e)
		case heap.Gone:
			return nil // deleted by somebody else after our snapshot: as if it had been before
		case heap.Missing:
			return dberr.New(dberr.Internal, "row %d was lost while it was changed", id)
		case heap.Changed:
			if ok, err := g.again(ctx, home, id, hint, txn.RowNoKeyUpdate); err != nil || !ok {
				return err
			}
			continue
		}
		*hint = store.Hint(res.TID)
		if err := g.dropOut(ctx, cid, e); err != nil {
			return err
		}
		if !res.HOT {
			if err := g.enterFixed(ctx, home, e, w.arena, res.TID); err != nil {
				return err
			}
			for _, si := range s.indexes {
				had := set == newSet || set.Has(si.ix.Label)
				if err := g.enterChanged(ctx, si, e, oldProps, res.TID, had); err != nil {
					return err
				}
			}
		}
		t.deltas.touch(home, 1)
		if set != newSet {
			t.deltas.add(cid, nodeKey(g.g.ID, home.ID, set.ID), -1)
			t.deltas.add(cid, nodeKey(g.g.ID, home.ID, newSet.ID), 1)
			for _, l := range newSet.Labels {
				if !set.Has(l) {
					g.s.counters.LabelsAdded++
				}
			}
			for _, l := range set.Labels {
				if !newSet.Has(l) {
					g.s.counters.LabelsRemoved++
				}
			}
		}
		return nil
	}
}

// changedSet returns the set with labels added and removed.
func (g *graphView) changedSet(ctx context.Context, set *catalog.LabelSet, add, remove []schema.LabelID) (*catalog.LabelSet, error) {
	var buf [16]schema.LabelID
	ls := append(buf[:0], set.Labels...)
	for _, l := range add {
		if !slices.Contains(ls, l) && l != schema.VertexLabel && l != schema.NoLabel {
			ls = append(ls, l)
		}
	}
	n := 0
	for _, l := range ls {
		if !slices.Contains(remove, l) {
			ls[n] = l
			n++
		}
	}
	ls = ls[:n]
	slices.Sort(ls)
	if slices.Equal(ls, set.Labels) {
		return set, nil
	}
	return g.g.EnsureSet(ctx, g.s.tx.t, ls)
}

// keepsKeys reports whether a change leaves every index alone, so that the new version may be heap-only: no key of an index on the
// row's labels changes, and no label that comes or goes has an index (rules B4).
func (g *graphView) keepsKeys(ctx context.Context, s *shape, set, newSet *catalog.LabelSet, old value.Props) (bool, error) {
	for _, si := range s.indexes {
		if set != newSet && !set.Has(si.ix.Label) {
			return false, nil
		}
		if !g.sameKeys(si.ix, old) {
			return false, nil
		}
	}
	if set == newSet {
		return true, nil
	}
	for _, l := range set.Labels {
		if newSet.Has(l) {
			continue
		}
		for _, ix := range g.g.LiveIndexes(nil, g.s.tx.t) {
			if ix.Entity == schema.Vertex && ix.Label == l {
				return false, nil
			}
		}
	}
	return true, nil
}

// sameKeys reports whether the merged record has the same values under the index's keys as the old one.
func (g *graphView) sameKeys(ix *catalog.Index, old value.Props) bool {
	m := &g.s.tx.writer().m
	for _, k := range ix.Keys {
		a, _ := old.Get(uint32(k))
		if !same(a, m.get(k)) {
			return false
		}
	}
	return true
}

// enterChanged adds the entry of a changed row. A unique index is probed unless the row was in it under the same key.
func (g *graphView) enterChanged(ctx context.Context, si shapeIndex, e schema.Entity, old value.Props, tid page.TID, had bool) error {
	return g.enterProps(ctx, si, e, g.s.tx.writer().arena, tid, !had || !g.sameKeys(si.ix, old))
}

// Delete deletes entities. With detach the relationships of vertices go with them: those that are seen now, at once; others, which
// Finish looks for, at the end of the statement.
func (g *graphView) Delete(ctx context.Context, cid uint32, e schema.Entity, ids []uint64, hints []store.Hint, detach bool) error {
	return g.s.tx.failed(g.deleteRows(ctx, cid, e, ids, hints, detach))
}

func (g *graphView) deleteRows(ctx context.Context, cid uint32, e schema.Entity, ids []uint64, hints []store.Hint, detach bool) error {
	if err := g.mayWrite(); err != nil {
		return err
	}
	chunk, from := max(0, len(g.deleted)-1), 0
	if len(g.deleted) > 0 {
		from = len(g.deleted[chunk])
	}
	for i, id := range ids {
		if id == 0 {
			continue
		}
		var none store.Hint
		hint := &none
		if hints != nil {
			hint = &hints[i]
		}
		done, err := g.remove(ctx, g.s.snap, cid, e, id, hint)
		if err != nil {
			return err
		}
		if done && e == schema.Vertex {
			g.noteDeleted(deletedVertex{id, detach})
		}
	}
	if !detach || e != schema.Vertex {
		return nil
	}
	for ; chunk < len(g.deleted); chunk, from = chunk+1, 0 {
		if err := g.detach(ctx, store.View{Snap: g.s.snap, CID: allOwn}, cid, g.deleted[chunk][from:], false); err != nil {
			return err
		}
	}
	return nil
}

func (g *graphView) noteDeleted(d deletedVertex) {
	n := len(g.deleted) - 1
	switch {
	case n < 0:
		g.deleted, n = append(g.deleted, nil), 0
	case len(g.deleted[n]) == deletedChunk:
		g.deleted, n = append(g.deleted, make([]deletedVertex, 0, deletedChunk)), n+1
	}
	g.deleted[n] = append(g.deleted[n], d)
}

// remove deletes one row; false if it was gone already.
func (g *graphView) remove(ctx context.Context, snap *txn.Snapshot, cid uint32, e schema.Entity, id uint64, hint *store.Hint) (bool, error) {
	t := g.s.tx
	w := t.writer()
	row, ok, err := g.find(ctx, store.View{Snap: snap, CID: allOwn}, e, id, hint)
	if ok {
		w.old = append(w.old[:0], row...)
	}
	g.r.done()
	if err != nil || !ok {
		return false, err // an earlier clause deleted it (rules C8)
	}
	home := g.g.Label(schema.LabelOf(id))
	if err := t.lockLabel(ctx, home, txn.RowExclusive); err != nil {
		return false, err
	}
	for {
		res, err := home.Heap.Delete(ctx, t.t, snap, cid, page.TID(*hint), id)
		if err != nil {
			return false, err
		}
		switch res.Outcome {
		case heap.OK:
		case heap.Changed:
			lock, err := home.Heap.LockRow(ctx, t.t, snap, page.TID(*hint), id, txn.RowUpdate)
			if err != nil || lock.Outcome != heap.OK {
				return false, err
			}
			if lock.Moved {
				snap.Refresh(id, lock.CSN)
			}
			*hint = store.Hint(lock.TID)
			row, ok, err := g.find(ctx, store.View{Snap: snap, CID: allOwn}, e, id, hint)
			if ok {
				w.old = append(w.old[:0], row...)
			}
			g.r.done()
			if err != nil || !ok {
				return false, err
			}
			continue
		default:
			return false, nil
		}
		w.m.keys, w.m.vals = w.m.keys[:0], w.m.vals[:0]
		if err := g.dropOut(ctx, cid, e); err != nil {
			return false, err
		}
		t.deltas.touch(home, 1)
		if e == schema.Vertex {
			g.s.counters.NodesDeleted++
			t.deltas.add(cid, nodeKey(g.g.ID, home.ID, rowSet(w.old)), -1)
		} else {
			g.s.counters.RelsDeleted++
			start, end := rowEnds(w.old)
			g.countRel(cid, home.ID, start, end, -1)
			if err := g.tell(home, cid, id, start, end, true); err != nil {
				return false, err
			}
		}
		return true, nil
	}
}

// detach looks for relationships at deleted vertices. At the end of a statement those of vertices that were not deleted with
// DETACH are an error (rules B3).
func (g *graphView) detach(ctx context.Context, v store.View, cid uint32, list []deletedVertex, finish bool) error {
	const batch = 1024
	snap := snapOf(v)
	for len(list) > 0 {
		n := min(batch, len(list))
		src := g.spare.src[:0]
		for i := range n {
			src = append(src, list[i].id)
		}
		g.spare.src = src
		x, err := g.expand(ctx, v, src, nil, store.Both, nil)
		if err != nil {
			return err
		}
		w := g.s.tx.writer()
		for {
			if err := x.Next(ctx, batch, &w.edges); err != nil {
				x.Close()
				return err
			}
			if len(w.edges.Rel) == 0 {
				break
			}
			for k, rel := range w.edges.Rel {
				vertex := list[w.edges.Row[k]]
				if finish && g.s.tx.t.Isolation() != txn.ReadCommitted {
					if ok, err := g.unseen(ctx, rel, w.edges.Hint[k]); err != nil || ok {
						x.Close()
						if err == nil {
							err = dberr.New(dberr.SerializationFailure, "could not serialize access: a relationship was added to a deleted node")
						}
						return err
					}
				}
				if !vertex.detach {
					x.Close()
					return dberr.New(dberr.ConnectedNode, "cannot delete a node that still has relationships").
						WithDetail("Node %d is an end of relationship %d of type %q.", vertex.id, rel, g.LabelName(schema.LabelOf(rel))).
						WithHint("Delete the relationships first, or use DETACH DELETE.").WithToken("DeleteConnectedNode")
				}
				hint := w.edges.Hint[k]
				if _, err := g.remove(ctx, snap, cid, schema.Edge, rel, &hint); err != nil {
					x.Close()
					return err
				}
			}
		}
		x.Close()
		list = list[n:]
	}
	return nil
}

// unseen reports whether the statement's own snapshot does not see a relationship.
func (g *graphView) unseen(ctx context.Context, rel uint64, hint store.Hint) (bool, error) {
	_, ok, err := g.find(ctx, store.View{Snap: g.s.snap, CID: allOwn}, schema.Edge, rel, &hint)
	g.r.done()
	return !ok, err
}

// Finish looks for relationships that deleted vertices left behind, with a snapshot taken now that every vertex is locked.
func (s *stmt) Finish(ctx context.Context) error { return s.tx.failed(s.finish(ctx)) }

func (s *stmt) finish(ctx context.Context) error {
	if err := s.tx.check(); err != nil {
		return err
	}
	for _, g := range s.graphs {
		if len(g.deleted) == 0 {
			continue
		}
		sched.Point("local.finish.before")
		cid, err := s.tx.t.Segment(1)
		if err != nil {
			return err
		}
		fresh := s.tx.t.Fresh()
		for _, chunk := range g.deleted {
			if err = g.detach(ctx, store.View{Snap: fresh, CID: allOwn}, cid, chunk, true); err != nil {
				break
			}
		}
		fresh.Close()
		if err != nil {
			return err
		}
		g.deleted = g.deleted[:0]
	}
	return nil
}

// Lock locks rows for a change, in the order of ids (rules A9).
func (g *graphView) Lock(ctx context.Context, v store.View, e schema.Entity, ids []uint64, hints []store.Hint, changed, gone []bool) error {
	if err := g.mayWrite(); err != nil {
		return err
	}
	t := g.s.tx
	w := t.writer()
	w.order = w.order[:0]
	for i, id := range ids {
		changed[i], gone[i] = false, false
		if id != 0 {
			w.order = append(w.order, int32(i))
		}
	}
	slices.SortFunc(w.order, func(a, b int32) int {
		switch {
		case ids[a] < ids[b]:
			return -1
		case ids[a] > ids[b]:
			return 1
		}
		return int(a - b)
	})
	snap := snapOf(v)
	for k, i := range w.order {
		id := ids[i]
		if k > 0 && ids[w.order[k-1]] == id {
			j := w.order[k-1]
			changed[i], gone[i] = changed[j], gone[j]
			if hints != nil {
				hints[i] = hints[j]
			}
			continue
		}
		var none store.Hint
		hint := &none
		if hints != nil {
			hint = &hints[i]
		}
		home, err := g.labelOf(ctx, e, id)
		if err != nil {
			return err
		}
		if home == nil {
			gone[i] = true
			continue
		}
		if err := t.lockLabel(ctx, home, txn.RowShare); err != nil {
			return err
		}
		if !page.TID(*hint).Valid() {
			_, ok, err := g.find(ctx, store.View{Snap: snap, CID: allOwn}, e, id, hint)
			g.r.done()
			if err != nil {
				return err
			}
			if !ok {
				gone[i] = true
				continue
			}
		}
		res, err := home.Heap.LockRow(ctx, t.t, snap, page.TID(*hint), id, txn.RowNoKeyUpdate)
		if err == nil && res.Outcome == heap.Missing { // the hint was stale
			_, ok, ferr := g.find(ctx, store.View{Snap: snap, CID: allOwn}, e, id, hint)
			g.r.done()
			if ferr != nil {
				return ferr
			}
			if ok {
				res, err = home.Heap.LockRow(ctx, t.t, snap, page.TID(*hint), id, txn.RowNoKeyUpdate)
			}
		}
		if err != nil {
			return err
		}
		if res.Outcome != heap.OK {
			gone[i] = true
			continue
		}
		*hint = store.Hint(res.TID)
		if res.Moved {
			changed[i] = true
			snap.Refresh(id, res.CSN)
			if snap != g.s.snap {
				g.s.snap.Refresh(id, res.CSN)
			}
		}
	}
	return nil
}

// maxHashes is how many MERGE locks a transaction lists before it takes them all at once (rules B14).
const maxHashes = 1 << 16

// allHashes stands for every MERGE lock: holders of single ones hold it as an intent.
var allHashes = txn.Resource{Kind: txn.KindHash}

// LockKeys takes MERGE's locks, in the order of the hashes.
func (g *graphView) LockKeys(ctx context.Context, hashes []uint64) error {
	if err := g.mayWrite(); err != nil || len(hashes) == 0 {
		return err
	}
	t := g.s.tx
	if t.hashes > maxHashes {
		return t.t.Lock(ctx, allHashes, txn.HashExclusive)
	}
	if err := t.t.Lock(ctx, allHashes, txn.HashIntent); err != nil {
		return err
	}
	w := t.writer()
	w.ids = append(w.ids[:0], hashes...)
	slices.Sort(w.ids)
	w.ids = slices.Compact(w.ids)
	for _, h := range w.ids {
		if err := t.t.Lock(ctx, txn.Resource{Kind: txn.KindHash, A: uint64(g.g.ID), B: h}, txn.HashExclusive); err != nil {
			return err
		}
	}
	if t.hashes += len(w.ids); t.hashes > maxHashes {
		return t.t.Lock(ctx, allHashes, txn.HashExclusive)
	}
	return nil
}
