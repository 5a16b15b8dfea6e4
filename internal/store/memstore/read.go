package memstore

import (
	"context"
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/stats"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// handle is a graph as one statement sees it.
type handle struct {
	g *graph
	s *stmt
}

func (h *handle) Name() string { return h.g.Name }

// Names.

func (h *handle) Label(v store.View, name string, e schema.Entity) (schema.LabelID, bool) {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	id, ok := h.g.byName[e][name]
	return id, ok
}

func (h *handle) LabelName(id schema.LabelID) string {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	if int(id) < len(h.g.labels) {
		return h.g.labels[id].Name
	}
	return ""
}

func (h *handle) LabelSet(id schema.LabelSetID) []schema.LabelID {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	return h.g.sets[id]
}

func (h *handle) Key(name string) (schema.KeyID, bool) {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	id, ok := h.g.keyIDs[name]
	return id, ok
}

func (h *handle) KeyName(id schema.KeyID) string {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	return h.g.keys[id]
}

func (h *handle) EnsureLabel(ctx context.Context, name string, e schema.Entity) (schema.LabelID, error) {
	if err := h.writeLock(ctx); err != nil {
		return 0, err
	}
	defer h.g.db.mu.Unlock()
	return h.g.label(name, e), nil
}

func (h *handle) EnsureKey(ctx context.Context, name string) (schema.KeyID, error) {
	if err := h.writeLock(ctx); err != nil {
		return 0, err
	}
	defer h.g.db.mu.Unlock()
	return h.g.key(name), nil
}

func (h *handle) Labels(store.View) []schema.Label {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	var out []schema.Label
	for _, l := range h.g.labels[schema.FirstUserLabel:] {
		out = append(out, l.Label)
	}
	return out
}

func (h *handle) Keys() []string {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	return slices.Clone(h.g.keys[1:])
}

func (h *handle) Indexes(store.View) []schema.Index {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	var out []schema.Index
	for _, ix := range h.g.indexes {
		if !ix.dead {
			out = append(out, ix.Index)
		}
	}
	return out
}

func (h *handle) Constraints(store.View) []schema.Constraint {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	return slices.Clone(h.g.cons)
}

// Reader.

// row finds a row through its hint, else by id.
func (h *handle) row(e schema.Entity, id uint64, hints []store.Hint, i int) *row {
	t := &h.g.ents[e]
	if hints != nil && hints[i] != 0 {
		if n := hints[i]; n <= uint64(len(t.rows)) && t.rows[n-1].id == id {
			h.s.counters.HintOK++
			return t.rows[n-1]
		}
		h.s.counters.HintStale++
	} else {
		h.s.counters.HintMissing++
	}
	h.s.counters.IDProbes++
	r := t.byID[id]
	if r != nil && hints != nil {
		hints[i] = r.slot
	}
	return r
}

type nodeScan struct {
	h     *handle
	v     store.View
	label schema.LabelID
	but   []schema.LabelID
	pos   int
}

func (h *handle) ScanNodes(_ context.Context, v store.View, label schema.LabelID) (store.HitCursor, error) {
	h.s.counters.SeqScans++
	return &nodeScan{h: h, v: v, label: label}, nil
}

func (h *handle) ScanOthers(_ context.Context, v store.View, labels []schema.LabelID) (store.HitCursor, error) {
	h.s.counters.SeqScans++
	return &nodeScan{h: h, v: v, but: labels}, nil
}

func (c *nodeScan) Next(_ context.Context, max int, out *store.Hits) error {
	out.Reset()
	g := c.h.g
	g.db.mu.RLock()
	defer g.db.mu.RUnlock()
	rows := g.ents[0].rows
	for c.pos < len(rows) && len(out.ID) < max {
		r := rows[c.pos]
		c.pos++
		c.h.s.counters.RowsRead++
		if x := visible(c.v, r); x != nil && g.has(x.labels, c.label) && !slices.ContainsFunc(c.but, func(l schema.LabelID) bool { return g.has(x.labels, l) }) {
			out.Row, out.ID, out.Hint = append(out.Row, 0), append(out.ID, r.id), append(out.Hint, r.slot)
		}
	}
	return nil
}

func (c *nodeScan) Close() {}

type relScan struct {
	h     *handle
	v     store.View
	types []schema.LabelID
	pos   int
}

func (h *handle) ScanRels(_ context.Context, v store.View, types []schema.LabelID) (store.EdgeScan, error) {
	h.s.counters.SeqScans++
	return &relScan{h: h, v: v, types: slices.Clone(types)}, nil
}

func (c *relScan) Next(_ context.Context, max int, out *store.Rels) error {
	out.Reset()
	g := c.h.g
	g.db.mu.RLock()
	defer g.db.mu.RUnlock()
	rows := g.ents[1].rows
	for c.pos < len(rows) && len(out.ID) < max {
		r := rows[c.pos]
		c.pos++
		c.h.s.counters.RowsRead++
		if typed(r, c.types) && visible(c.v, r) != nil {
			out.ID, out.Start, out.End = append(out.ID, r.id), append(out.Start, r.start), append(out.End, r.end)
			out.Hint = append(out.Hint, r.slot)
		}
	}
	return nil
}

func (c *relScan) Close() {}

func typed(r *row, types []schema.LabelID) bool {
	return len(types) == 0 || slices.Contains(types, schema.LabelOf(r.id))
}

func (h *handle) ByID(_ context.Context, v store.View, e schema.Entity, ids []uint64, out *store.Hits) error {
	out.Reset()
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	for i, id := range ids {
		if id == 0 {
			continue
		}
		h.s.counters.IDProbes++
		if r := h.g.ents[e].byID[id]; r != nil && visible(v, r) != nil {
			out.Row, out.ID, out.Hint = append(out.Row, uint16(i)), append(out.ID, id), append(out.Hint, r.slot)
		}
	}
	return nil
}

type expand struct {
	h        *handle
	v        store.View
	src, dst []uint64
	dir      store.Direction
	types    []schema.LabelID
	row, pos int
	in       bool // walking the incoming list of the row
}

func (h *handle) Expand(ctx context.Context, v store.View, src []uint64, dir store.Direction, types []schema.LabelID) (store.EdgeCursor, error) {
	return h.ExpandInto(ctx, v, src, nil, dir, types)
}

func (h *handle) ExpandInto(_ context.Context, v store.View, src, dst []uint64, dir store.Direction, types []schema.LabelID) (store.EdgeCursor, error) {
	return &expand{h: h, v: v, src: slices.Clone(src), dst: slices.Clone(dst), dir: dir, types: slices.Clone(types), in: dir == store.In}, nil
}

func (c *expand) Next(_ context.Context, max int, out *store.Edges) error {
	out.Reset()
	g := c.h.g
	g.db.mu.RLock()
	defer g.db.mu.RUnlock()
	for c.row < len(c.src) {
		var list []*row
		if id := c.src[c.row]; id != 0 {
			if n := g.ents[0].byID[id]; n != nil {
				if list = n.out; c.in {
					list = n.in
				}
			}
		}
		for c.pos < len(list) {
			if len(out.Rel) >= max {
				return nil
			}
			r := list[c.pos]
			c.pos++
			other := r.end
			if c.in {
				other = r.start
			}
			switch {
			case c.dir == store.Both && c.in && r.start == r.end: // a loop was found among the outgoing ones
				continue
			case c.dst != nil && other != c.dst[c.row]:
				continue
			case !typed(r, c.types) || visible(c.v, r) == nil:
				continue
			}
			c.h.s.counters.EdgesRead++
			out.Row, out.Rel, out.Hint = append(out.Row, uint16(c.row)), append(out.Rel, r.id), append(out.Hint, r.slot)
			out.Other, out.In = append(out.Other, other), append(out.In, c.in)
		}
		c.pos = 0
		if c.dir == store.Both && !c.in {
			c.in = true
			continue
		}
		c.in = c.dir == store.In
		c.row++
	}
	return nil
}

func (c *expand) Close() {}

// runs lends what expand finds.
type runs struct {
	x    *expand
	page store.Edges
}

func (h *handle) Neighbours(_ context.Context, v store.View, src []uint64, dir store.Direction, types []schema.LabelID) (store.RunCursor, error) {
	return &runs{x: &expand{h: h, v: v, src: slices.Clone(src), dir: dir, types: slices.Clone(types), in: dir == store.In}}, nil
}

func (c *runs) Next(ctx context.Context, max int, out *store.Runs) error {
	out.Reset()
	if err := c.x.Next(ctx, max, &c.page); err != nil {
		return err
	}
	for i, rel := range c.page.Rel {
		out.Add(c.page.Row[i], c.page.In[i], rel, c.page.Other[i], c.page.Hint[i])
	}
	out.Done()
	return nil
}

func (c *runs) Seek(src []uint64) {
	c.x.src = append(c.x.src[:0], src...)
	c.x.row, c.x.pos, c.x.in = 0, 0, c.x.dir == store.In
}

func (c *runs) Close() {}

func (h *handle) Degree(ctx context.Context, v store.View, src []uint64, dir store.Direction, types []schema.LabelID, out []int64) error {
	cur, err := h.Expand(ctx, v, src, dir, types)
	if err != nil {
		return err
	}
	clear(out[:len(src)])
	var e store.Edges
	for {
		if err := cur.Next(ctx, vec.MaxRows, &e); err != nil {
			return err
		}
		if len(e.Row) == 0 {
			return nil
		}
		for _, r := range e.Row {
			out[r]++
		}
	}
}

// read finds the version of an entity to be read, or the error of rules C8.
func (h *handle) read(v store.View, e schema.Entity, id uint64, hints []store.Hint, i int) (*row, *version, error) {
	r := h.row(e, id, hints, i)
	if r != nil {
		if x := visible(v, r); x != nil {
			return r, x, nil
		}
		if v.WithDeleted {
			for k := len(r.vers) - 1; k >= 0; k-- {
				if r.vers[k].deleted && r.vers[k].endStmt == h.s {
					return r, r.vers[k], nil
				}
			}
		}
	}
	return nil, nil, gone()
}

func (h *handle) Fetch(_ context.Context, v store.View, e schema.Entity, ids []uint64, hints []store.Hint, keys []schema.KeyID, out []*vec.Column) error {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	for i, id := range ids {
		if id == 0 {
			for _, c := range out {
				c.AppendNull()
			}
			continue
		}
		_, x, err := h.read(v, e, id, hints, i)
		if err != nil {
			return err
		}
		for k, key := range keys {
			j, ok := slices.BinarySearchFunc(x.props, key, func(p prop, k schema.KeyID) int { return int(p.key) - int(k) })
			if !ok {
				out[k].AppendNull()
				continue
			}
			out[k].Append(x.props[j].val)
		}
	}
	return nil
}

func (h *handle) FetchMap(_ context.Context, v store.View, e schema.Entity, ids []uint64, hints []store.Hint, out *vec.Column) error {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	for i, id := range ids {
		if id == 0 {
			out.AppendNull()
			continue
		}
		_, x, err := h.read(v, e, id, hints, i)
		if err != nil {
			return err
		}
		b := value.NewMapBuilder()
		for _, p := range x.props {
			b.Put(h.g.keys[p.key], p.val)
		}
		out.Append(b.Map())
	}
	return nil
}

func (h *handle) LabelSets(_ context.Context, v store.View, ids []uint64, hints []store.Hint, out []schema.LabelSetID) error {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	for i, id := range ids {
		out[i] = 0
		if id == 0 {
			continue
		}
		_, x, err := h.read(v, schema.Vertex, id, hints, i)
		if err != nil {
			return err
		}
		out[i] = x.labels
	}
	return nil
}

func (h *handle) Ends(_ context.Context, v store.View, rels []uint64, hints []store.Hint, start, end []uint64) error {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	for i, id := range rels {
		start[i], end[i] = 0, 0
		if id == 0 {
			continue
		}
		r, _, err := h.read(v, schema.Edge, id, hints, i)
		if err != nil {
			return err
		}
		start[i], end[i] = r.start, r.end
	}
	return nil
}

// Stats: counts of rows that are live, whoever sees them.

func (h *handle) NodeCount(l schema.LabelID) float64 {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	n := 0
	for _, r := range h.g.ents[0].rows {
		if len(r.vers) > 0 && r.last().end == nil && h.g.has(r.last().labels, l) {
			n++
		}
	}
	return float64(n)
}

func (h *handle) RelCount(t schema.LabelID) float64 {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	n := 0
	for _, r := range h.g.ents[1].rows {
		if len(r.vers) > 0 && r.last().end == nil && (t == schema.NoLabel || schema.LabelOf(r.id) == t) {
			n++
		}
	}
	return float64(n)
}

// Count knows no counters.
func (h *handle) Count(context.Context, store.View, schema.Entity, schema.LabelID) (n, loops int64, ok bool, err error) {
	return 0, 0, false, nil
}

func (h *handle) LabelsCount(labels []schema.LabelID) float64 {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	n := 0
next:
	for _, r := range h.g.ents[0].rows {
		if len(r.vers) == 0 || r.last().end != nil {
			continue
		}
		for _, l := range labels {
			if !h.g.has(r.last().labels, l) {
				continue next
			}
		}
		n++
	}
	return float64(n)
}

func (h *handle) RelsBetween(src, t, dst schema.LabelID) float64 {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	with := func(id uint64, l schema.LabelID) bool {
		if l == schema.NoLabel {
			return true
		}
		r := h.g.ents[0].byID[id]
		return r != nil && len(r.vers) > 0 && h.g.has(r.last().labels, l)
	}
	n := 0
	for _, r := range h.g.ents[1].rows {
		if len(r.vers) > 0 && r.last().end == nil && (t == schema.NoLabel || schema.LabelOf(r.id) == t) && with(r.start, src) && with(r.end, dst) {
			n++
		}
	}
	return float64(n)
}

func (h *handle) DegreeMean(l, t schema.LabelID, dir store.Direction) float64 {
	n := h.NodeCount(l)
	if n == 0 {
		return 0
	}
	d := h.RelCount(t) / n
	if dir == store.Both {
		d *= 2
	}
	return d
}

func (h *handle) Distinct(id schema.IndexID) float64 {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	for _, ix := range h.g.indexes {
		if ix.ID == id {
			return float64(ix.tree.Len())
		}
	}
	return 1
}

// KeyStats and DegreeStats know nothing: there is no ANALYZE here.
func (h *handle) KeyStats(schema.LabelID, schema.KeyID) *stats.Key { return nil }
func (h *handle) DegreeStats(_, _ schema.LabelID, _ store.Direction) *stats.Degree {
	return nil
}
