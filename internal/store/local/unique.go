package local

import (
	"context"
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// judgeEntry says how the row behind an entry with an equal key stands in the way of the one in w.judging. The leaf is latched: it
// must not wait (A10).
func (t *tx) judgeEntry(ptr uint64) (btree.Verdict, error) {
	j := &t.writer().judging
	l := j.ix.ByOrdinal(btree.Ordinal(ptr))
	if l == nil || l.FilesGone() {
		return btree.Verdict{Kind: btree.Free}, nil
	}
	var check func(row []byte) bool
	var failed error
	if j.cut { // equal in what was kept and by hash: look at the values
		check = func(row []byte) bool {
			err := checkRow(j.ix.Entity, row)
			ok := false
			if err == nil {
				ok, err = j.g.sameWhole(j.ctx, j.ix, row, j.whole)
			}
			if err != nil {
				failed = err
			}
			return ok
		}
	}
	get := l.Heap.Getter()
	s, x, err := get.Now(j.ctx, t.t, btree.TIDOf(ptr), 0, check)
	get.Release()
	if err == nil {
		err = failed
	}
	if err != nil {
		return btree.Verdict{}, err
	}
	switch s {
	case heap.Present:
		return btree.Verdict{Kind: btree.Conflict}, nil
	case heap.Undecided:
		return btree.Verdict{Kind: btree.Wait, Xid: uint64(x)}, nil
	}
	return btree.Verdict{Kind: btree.Free}, nil
}

// AwaitUnique makes graphView a store.Racer.
func (g *graphView) AwaitUnique(ctx context.Context, labels []schema.LabelID, row *store.PropRow) (bool, error) {
	if err := g.mayWrite(); err != nil {
		return false, err
	}
	t := g.s.tx
	home := g.g.Label(schema.VertexLabel)
	if len(labels) > 0 {
		home = g.g.Label(labels[0])
	}
	set, err := g.setOf(ctx, labels)
	if err != nil || home == nil {
		return false, err
	}
	s, err := g.shapeOf(ctx, home, set)
	if err != nil {
		return false, err
	}
	w := t.writer()
	for _, si := range s.indexes {
		if !si.ix.Unique {
			continue
		}
		w.begin()
		if err := w.m.apply(nil, row); err != nil {
			return false, err
		}
		w.m.set = 0
		w.key = w.key[:0]
		for _, k := range si.ix.Keys {
			v := w.m.get(k)
			if v.IsNull() {
				w.key = w.key[:0]
				break
			}
			w.key = appendStored(w.key, v, true)
		}
		if len(w.key) == 0 {
			continue
		}
		key, whole := w.key, []byte(nil)
		if len(key) > maxWhole {
			whole = key
			key, _ = cutKey(slices.Clone(key), 0)
		}
		j := &w.judging
		j.ctx, j.g, j.ix, j.whole, j.cut = ctx, g, si.ix, whole, whole != nil
		if w.judge == nil {
			w.judge = t.judgeEntry
		}
		for {
			g.s.counters.UniqueProbes++
			out, err := si.ix.Tree.ProbeUnique(ctx, &t.crit, key, w.judge)
			if err != nil {
				return false, err
			}
			if out.Kind == btree.Conflict {
				return true, nil
			}
			if out.Kind != btree.Wait {
				break
			}
			sched.Point("local.unique.await")
			if err := t.t.WaitXID(ctx, txn.XID(out.Xid)); err != nil {
				return false, t.failed(err)
			}
		}
	}
	return false, nil
}

// sameWhole reports whether a row's uncut key is the given one. The buffers of the write in progress are left alone.
func (g *graphView) sameWhole(ctx context.Context, ix *catalog.Index, row, whole []byte) (bool, error) {
	buf, mapBuf := g.r.buf, g.r.mapBuf
	g.r.buf, g.r.mapBuf = nil, nil
	defer func() { g.r.buf, g.r.mapBuf = buf, mapBuf }()
	p, err := g.props(ctx, ix.Entity, row)
	if err != nil {
		return false, err
	}
	var key []byte
	for _, k := range ix.Keys {
		v, ok := p.Get(uint32(k))
		if !ok {
			return false, nil
		}
		if v.Kind() == value.OutOfLine {
			if v, err = g.outOfLine(ctx, v); err != nil {
				return false, err
			}
		}
		key = appendStored(key, v, ix.Unique)
	}
	return string(key) == string(whole), nil
}

// CreateUnique makes graphView a store.Racer. A vertex that another transaction has forestalled is deleted again: it stays behind as a version
// that nobody sees.
func (g *graphView) CreateUnique(ctx context.Context, cid uint32, labels []schema.LabelID, row *store.PropRow, out *store.Hits) (made bool, err error) {
	sched.Point("local.unique.make")
	t := g.s.tx
	w := t.writer()
	err = g.createNodes(ctx, cid, labels, []store.PropRow{*row}, out)
	if !dberr.Is(err, dberr.UniqueViolation) {
		return err == nil, t.failed(err)
	}
	id, hint := rowID(w.rows[0]), store.Hint(w.tids[0])
	home, set := g.g.Label(schema.LabelOf(id)), rowSet(w.rows[0])
	if ok, err := g.remove(ctx, g.s.snap, cid, schema.Vertex, id, &hint); err != nil || !ok {
		if err == nil {
			err = dberr.New(dberr.Internal, "a vertex that was just made is not there")
		}
		return false, t.failed(err)
	}
	// It was never counted as made.
	g.s.counters.NodesDeleted--
	t.deltas.add(cid, nodeKey(g.g.ID, home.ID, set), 1)
	return false, nil
}

// TakeBack makes graphView a store.Racer.
func (g *graphView) TakeBack(ctx context.Context, cid uint32, made []store.Made, before store.Counters) error {
	for i := len(made) - 1; i >= 0; i-- {
		m := &made[i]
		ok, err := g.remove(ctx, g.s.snap, cid, m.Entity, m.ID, &m.Hint)
		if err == nil && !ok {
			err = dberr.New(dberr.Internal, "an entity that was just made is not there")
		}
		if err != nil {
			return g.s.tx.failed(err)
		}
	}
	c := &g.s.counters
	c.NodesCreated, c.NodesDeleted, c.RelsCreated, c.RelsDeleted = before.NodesCreated, before.NodesDeleted, before.RelsCreated, before.RelsDeleted
	c.LabelsAdded, c.PropsSet = before.LabelsAdded, before.PropsSet
	return nil
}

// duplicate is the error for a second row with the key of a unique index.
func (g *graphView) duplicate(ctx context.Context, ix *catalog.Index, row []byte) error {
	name := ix.Constraint
	if name == "" {
		name = ix.Name
	}
	e := dberr.New(dberr.UniqueViolation, "duplicate key value violates unique constraint %q", name).WithToken("ConstraintValidationFailed")
	e.Constraint, e.Table = name, ix.LabelName
	if p, err := g.props(ctx, ix.Entity, row); err == nil {
		var vals []string
		for _, k := range ix.Keys {
			v, _ := p.Get(uint32(k))
			if v.Kind() == value.OutOfLine {
				vals = append(vals, "…")
				continue
			}
			s := string(value.AppendTCK(nil, v))
			if len(s) > 200 {
				s = s[:200] + "…"
			}
			vals = append(vals, s)
		}
		names := make([]string, len(ix.Keys))
		for i, k := range ix.Keys {
			names[i] = g.g.KeyName(schema.KeyID(k))
		}
		e = e.WithDetail("Key (%s)=(%s) of label %q already exists.", strings.Join(names, ", "), strings.Join(vals, ", "), ix.LabelName)
	}
	return e
}
