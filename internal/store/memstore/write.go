package memstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// end closes version x of r at cid. Caller holds DB.mu and the token.
func (s *stmt) end(r *row, x *version, cid uint32, deleted bool) {
	x.end, x.endCID, x.deleted = s.tx, cid, deleted
	if deleted {
		x.endStmt = s
	}
	s.tx.undo = append(s.tx.undo, func() { x.end, x.endCID, x.deleted, x.endStmt = nil, 0, false, nil })
}

// renew gives r a new version at cid with the content of x, and returns it to be changed. A version that this command
// made itself is changed in place only through undo-safe replacement, so it too is ended.
func (s *stmt) renew(r *row, x *version, cid uint32) *version {
	s.end(r, x, cid, false)
	n := &version{begin: s.tx, beginCID: cid, labels: x.labels, props: x.props}
	s.push(r, n)
	return n
}

func (s *stmt) push(r *row, n *version) {
	r.vers = append(r.vers, n)
	s.tx.undo = append(s.tx.undo, func() { r.vers = r.vers[:len(r.vers)-1] })
}

func clone(v value.Value) value.Value {
	if raw := v.Raw(); raw != nil {
		return value.FromBytes(v.Kind(), v.Word(), bytes.Clone(raw))
	}
	return v
}

func setProp(props []prop, k schema.KeyID, v value.Value) []prop {
	i, ok := slices.BinarySearchFunc(props, k, func(p prop, k schema.KeyID) int { return int(p.key) - int(k) })
	switch {
	case ok && v.IsNull():
		return slices.Delete(props, i, i+1)
	case ok:
		props[i].val = clone(v)
	case !v.IsNull():
		return slices.Insert(props, i, prop{k, clone(v)})
	}
	return props
}

func apply(old []prop, p *store.PropRow) []prop {
	var out []prop
	if !p.Replace {
		out = slices.Clone(old)
	}
	for i, k := range p.Keys {
		out = setProp(out, k, p.Vals[i])
	}
	return out
}

func (t *table) add(r *row) {
	t.rows = append(t.rows, r)
	r.slot = uint64(len(t.rows))
	t.byID[r.id] = r
}

// newRow makes a row with a fresh id of label l.
func (h *handle) newRow(e schema.Entity, l schema.LabelID) *row {
	g := h.g
	g.labels[l].seq++
	r := &row{id: schema.MakeID(l, g.labels[l].seq)}
	g.ents[e].add(r)
	return r
}

func (h *handle) writeLock(ctx context.Context) error {
	if err := h.s.tx.lock(ctx); err != nil {
		return err
	}
	h.g.db.mu.Lock()
	return nil
}

func (h *handle) CreateNodes(ctx context.Context, cid uint32, labels []schema.LabelID, props []store.PropRow, out *store.Hits) error {
	if err := h.writeLock(ctx); err != nil {
		return err
	}
	defer h.g.db.mu.Unlock()
	ids := slices.Clone(labels)
	slices.Sort(ids)
	set := h.g.setID(slices.Compact(ids))
	storage := schema.VertexLabel
	if len(labels) > 0 {
		storage = labels[0]
	}
	for i := range props {
		r := h.newRow(schema.Vertex, storage)
		x := &version{begin: h.s.tx, beginCID: cid, labels: set, props: apply(nil, &props[i])}
		h.s.push(r, x)
		h.s.counters.NodesCreated++
		h.s.counters.LabelsAdded += int64(len(ids))
		h.s.counters.PropsSet += int64(len(x.props))
		if err := h.enter(schema.Vertex, r, x); err != nil {
			return err
		}
		out.Row = append(out.Row, uint16(i))
		out.ID = append(out.ID, r.id)
		out.Hint = append(out.Hint, r.slot)
	}
	return nil
}

func (h *handle) CreateRels(ctx context.Context, cid uint32, t schema.LabelID, start, end []uint64, props []store.PropRow, out *store.Hits) error {
	if err := h.writeLock(ctx); err != nil {
		return err
	}
	defer h.g.db.mu.Unlock()
	for i := range props {
		a, b := h.g.ents[0].byID[start[i]], h.g.ents[0].byID[end[i]]
		if a == nil || b == nil || live(a) == nil || live(b) == nil {
			return gone()
		}
		r := h.newRow(schema.Edge, t)
		r.start, r.end = a.id, b.id
		a.out, b.in = append(a.out, r), append(b.in, r)
		x := &version{begin: h.s.tx, beginCID: cid, props: apply(nil, &props[i])}
		h.s.push(r, x)
		h.s.counters.RelsCreated++
		h.s.counters.PropsSet += int64(len(x.props))
		if err := h.enter(schema.Edge, r, x); err != nil {
			return err
		}
		out.Row = append(out.Row, uint16(i))
		out.ID = append(out.ID, r.id)
		out.Hint = append(out.Hint, r.slot)
	}
	return nil
}

// target finds the live version of a row to be changed.
func (h *handle) target(e schema.Entity, id uint64, hints []store.Hint, i int) (*row, *version, error) {
	r := h.row(e, id, hints, i)
	if r == nil || len(r.vers) == 0 {
		return nil, nil, gone()
	}
	x := live(r)
	if x == nil {
		return nil, nil, gone()
	}
	return r, x, nil
}

func (h *handle) SetProps(ctx context.Context, cid uint32, e schema.Entity, ids []uint64, hints []store.Hint, rows []store.PropRow) error {
	if err := h.writeLock(ctx); err != nil {
		return err
	}
	defer h.g.db.mu.Unlock()
	for i, id := range ids {
		r, x, err := h.target(e, id, hints, i)
		if err != nil {
			return err
		}
		n := h.s.renew(r, x, cid)
		n.props = apply(x.props, &rows[i])
		if rows[i].Replace {
			h.s.counters.PropsSet += int64(len(x.props))
		}
		h.s.counters.PropsSet += int64(len(rows[i].Keys))
		if err := h.enter(e, r, n); err != nil {
			return err
		}
	}
	return nil
}

func (h *handle) SetLabels(ctx context.Context, cid uint32, ids []uint64, hints []store.Hint, add, remove []schema.LabelID) error {
	if err := h.writeLock(ctx); err != nil {
		return err
	}
	defer h.g.db.mu.Unlock()
	for i, id := range ids {
		r, x, err := h.target(schema.Vertex, id, hints, i)
		if err != nil {
			return err
		}
		set := slices.Clone(h.g.sets[x.labels])
		for _, l := range add {
			if !slices.Contains(set, l) {
				set = append(set, l)
				h.s.counters.LabelsAdded++
			}
		}
		for _, l := range remove {
			if j := slices.Index(set, l); j >= 0 {
				set = slices.Delete(set, j, j+1)
				h.s.counters.LabelsRemoved++
			}
		}
		slices.Sort(set)
		n := h.s.renew(r, x, cid)
		n.labels = h.g.setID(set)
		if err := h.enter(schema.Vertex, r, n); err != nil {
			return err
		}
	}
	return nil
}

func (h *handle) Delete(ctx context.Context, cid uint32, e schema.Entity, ids []uint64, hints []store.Hint, detach bool) error {
	if err := h.writeLock(ctx); err != nil {
		return err
	}
	defer h.g.db.mu.Unlock()
	for i, id := range ids {
		r := h.row(e, id, hints, i)
		if r == nil || len(r.vers) == 0 {
			return gone()
		}
		x := live(r)
		if x == nil {
			continue
		}
		h.s.end(r, x, cid, true)
		if e == schema.Edge {
			h.s.counters.RelsDeleted++
			continue
		}
		h.s.counters.NodesDeleted++
		h.s.deleted = append(h.s.deleted, r)
		h.s.detach = append(h.s.detach, detach)
	}
	return nil
}

func (h *handle) Lock(ctx context.Context, v store.View, e schema.Entity, ids []uint64, hints []store.Hint, changed, gone []bool) error {
	if err := h.writeLock(ctx); err != nil {
		return err
	}
	defer h.g.db.mu.Unlock()
	for i, id := range ids {
		changed[i], gone[i] = false, false
		r := h.row(e, id, hints, i)
		if r == nil || len(r.vers) == 0 {
			gone[i] = true
			continue
		}
		x := r.last()
		foreign := func(t *tx) bool {
			return t != nil && t != h.s.tx && t.csn > h.s.snap.csn && t.csn > h.s.snap.refresh[id]
		}
		if !foreign(x.begin) && !foreign(x.end) {
			gone[i] = x.end != nil && x.end == h.s.tx && visible(v, r) == nil
			continue
		}
		if h.s.tx.opt.Isolation != store.ReadCommitted {
			return dberr.New(dberr.SerializationFailure, "could not serialize access due to concurrent update")
		}
		h.s.snap.refresh[id] = h.g.db.csn
		if v.Snap != store.Snapshot(h.s.snap) {
			v.Snap.(*snapshot).refresh[id] = h.g.db.csn
		}
		changed[i], gone[i] = true, x.end != nil
	}
	return nil
}

func (h *handle) LockKeys(ctx context.Context, _ []uint64) error { return h.s.tx.lock(ctx) }
