package local

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// Graphs lists the graphs that the transaction sees now.
func (t *tx) Graphs(context.Context) ([]schema.Graph, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	s := t.t.Snapshot()
	defer s.Close()
	var out []schema.Graph
	for _, g := range t.s.cat.Graphs(s, t.t.CurrentCID()) {
		out = append(out, g.Graph)
	}
	return out, nil
}

// change runs a change of the catalog as a statement with one command.
func (t *tx) change(ctx context.Context, f func(s *stmt, cid uint32) error) error {
	if err := t.check(); err != nil {
		return err
	}
	if t.t.ReadOnly() {
		return dberr.New(dberr.ReadOnlyTransaction, "cannot change the catalog in a read-only transaction")
	}
	t.ddl = true
	cid, err := t.t.Segment(1)
	if err != nil {
		return err
	}
	st, err := t.Begin(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	err = t.failed(f(st.(*stmt), cid))
	c := st.Counters()
	t.schema.IndexesAdded += c.IndexesAdded
	t.schema.IndexesRemoved += c.IndexesRemoved
	t.schema.ConstraintsAdded += c.ConstraintsAdded
	t.schema.ConstraintsRemoved += c.ConstraintsRemoved
	return err
}

// SchemaChanges is store.SchemaCounter.
func (t *tx) SchemaChanges() store.Counters {
	c := t.schema
	t.schema = store.Counters{}
	return c
}

var _ store.SchemaCounter = (*tx)(nil)

// changeGraph is change within a graph.
func (t *tx) changeGraph(ctx context.Context, name string, f func(g *graphView, cid uint32) error) error {
	return t.change(ctx, func(s *stmt, cid uint32) error {
		g, err := s.Graph(ctx, name)
		if err != nil {
			return err
		}
		return f(g.(*graphView), cid)
	})
}

// CreateGraph makes a graph.
func (t *tx) CreateGraph(ctx context.Context, name string) error {
	return t.change(ctx, func(_ *stmt, cid uint32) error {
		_, err := t.s.cat.CreateGraph(ctx, t.t, cid, name)
		return err
	})
}

// DropGraph drops a graph with everything in it.
func (t *tx) DropGraph(ctx context.Context, name string, cascade bool) error {
	return t.changeGraph(ctx, name, func(g *graphView, cid uint32) error {
		if err := t.lockRel(ctx, graphLock(g.g), txn.AccessExclusive); err != nil {
			return err
		}
		if !g.g.Live(t.t) {
			return dberr.New(dberr.InvalidSchema, "graph %q does not exist", name)
		}
		var labels []*catalog.Label
		for _, l := range g.g.Labels() {
			if l != nil && l.Heap != nil && !l.FilesGone() {
				if err := t.lockLabel(ctx, l, txn.AccessExclusive); err != nil {
					return err
				}
				labels = append(labels, l)
			}
		}
		if !cascade {
			s := t.t.Fresh()
			defer s.Close()
			for _, l := range labels {
				if any, err := hasRows(ctx, l, s); err != nil {
					return err
				} else if any {
					return dberr.New(dberr.DependentObjects, "cannot drop graph %q because it is not empty", name).
						WithHint("Use CASCADE to drop what is in it too.")
				}
			}
		}
		return t.s.cat.DropGraph(ctx, t.t, cid, g.g)
	})
}

func hasRows(ctx context.Context, l *catalog.Label, s *txn.Snapshot) (bool, error) {
	var b heap.Batch
	err := l.Heap.Scan(s, allOwn).Next(ctx, 1, &b)
	return b.Len() > 0, err
}

// CreateLabel declares a label.
func (t *tx) CreateLabel(ctx context.Context, graph, name string, e schema.Entity) error {
	return t.changeGraph(ctx, graph, func(g *graphView, cid uint32) error {
		l := g.g.LiveLabel(t.t, name, e)
		if l != nil && l.Shown(g.s.snap, allOwn) {
			return dberr.New(dberr.DuplicateObject, "label %q already exists", name)
		}
		if l == nil {
			var err error
			if l, _, err = g.g.EnsureLabel(ctx, t.t, name, e); err != nil {
				return err
			}
		}
		return l.Show(ctx, t.t, cid)
	})
}

// DropLabel drops a label (rules D1): rows that have no other go with it, the rest lose it.
func (t *tx) DropLabel(ctx context.Context, graph, name string, e schema.Entity) error {
	return t.changeGraph(ctx, graph, func(g *graphView, cid uint32) error {
		l := g.g.LiveLabel(t.t, name, e)
		if l == nil || l.ID < schema.FirstUserLabel {
			return dberr.New(dberr.UndefinedTable, "label %q does not exist", name)
		}
		if err := t.lockRel(ctx, l.Growth(), txn.AccessExclusive); err != nil {
			return err
		}
		heaps := []*catalog.Label{l}
		if e == schema.Vertex {
			// B3: who wants to add a relationship to one of the rows must not be on the way.
			for _, o := range g.g.Labels() {
				if o != nil && o.Entity == schema.Edge && o.Heap != nil && !o.FilesGone() {
					if err := t.lockLabel(ctx, o, txn.Share); err != nil {
						return err
					}
				}
			}
			heaps = l.Holders()
		}
		for _, h := range heaps {
			if err := t.lockLabel(ctx, h, txn.AccessExclusive); err != nil {
				return err
			}
		}
		if !l.Live(t.t) {
			return dberr.New(dberr.UndefinedTable, "label %q does not exist", name)
		}
		// The rows as they are after the grants.
		old := g.s.snap
		g.s.snap = t.t.Fresh()
		old.Close()
		keep := false
		for _, h := range heaps {
			left, err := g.dropRows(ctx, cid, l, h)
			if err != nil {
				return err
			}
			keep = keep || left && h == l
		}
		if err := g.s.Finish(ctx); err != nil {
			if dberr.Is(err, dberr.ConnectedNode) {
				return dberr.New(dberr.DependentObjects, "cannot drop label %q because relationships depend on its nodes", name).
					WithHint("Delete the relationships first.")
			}
			return err
		}
		last, err := t.t.Segment(1)
		if err != nil {
			return err
		}
		return t.s.cat.DropLabel(ctx, t.t, last, l, keep)
	})
}

// dropRows removes label l from the rows of h's heap, and those rows that have no other. left tells whether rows remain.
func (g *graphView) dropRows(ctx context.Context, cid uint32, l, h *catalog.Label) (left bool, err error) {
	sc := h.Heap.Scan(g.s.snap, cid)
	var b heap.Batch
	var gone, change []uint64
	var goneAt, changeAt []store.Hint
	for {
		if err := sc.Next(ctx, 1024, &b); err != nil {
			return false, err
		}
		if b.Len() == 0 {
			return left, nil
		}
		gone, change, goneAt, changeAt = gone[:0], change[:0], goneAt[:0], changeAt[:0]
		for i := range b.Len() {
			row := b.Row(i)
			if err := checkRow(l.Entity, row); err != nil {
				return false, err
			}
			id := rowID(row)
			if l.Entity == schema.Vertex {
				set := g.g.Set(rowSet(row))
				switch {
				case set == nil:
					return false, dberr.New(dberr.DataCorrupted, "node %d has the unknown label set %d", id, rowSet(row))
				case !set.Has(l.ID):
					left = true
					continue
				case len(set.Labels) > 1:
					left = true
					change, changeAt = append(change, id), append(changeAt, store.Hint(b.TID[i]))
					continue
				}
			}
			gone, goneAt = append(gone, id), append(goneAt, store.Hint(b.TID[i]))
		}
		if err := g.Delete(ctx, cid, l.Entity, gone, goneAt, false); err != nil {
			return false, err
		}
		if len(change) > 0 {
			if err := g.SetLabels(ctx, cid, change, changeAt, nil, []schema.LabelID{l.ID}); err != nil {
				return false, err
			}
		}
	}
}

// owner finds or makes the label that an index or constraint is on, and its keys.
func (g *graphView) owner(ctx context.Context, cid uint32, label string, e schema.Entity, names []string) (*catalog.Label, []schema.KeyID, error) {
	if len(names) == 0 {
		return nil, nil, dberr.New(dberr.InvalidParameterValue, "an index or constraint needs at least one property")
	}
	t := g.s.tx.t
	var l *catalog.Label
	switch {
	case label == "" && e == schema.Vertex:
		l = g.g.Label(schema.VertexLabel)
	case label == "":
		return nil, nil, dberr.New(dberr.FeatureNotSupported, "an index on relationships needs a type")
	default:
		var err error
		if l, _, err = g.g.EnsureLabel(ctx, t, label, e); err != nil {
			return nil, nil, err
		}
		if err := l.Show(ctx, t, cid); err != nil {
			return nil, nil, err
		}
	}
	keys := make([]schema.KeyID, len(names))
	for i, n := range names {
		k, err := g.g.EnsureKey(ctx, t, n)
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(keys[:i], k) {
			return nil, nil, dberr.New(dberr.InvalidParameterValue, "property %q is named twice", n)
		}
		keys[i] = k
	}
	return l, keys, nil
}

func makeName(what, label string, keys []string) string {
	n := strings.ToLower(what + label + "_" + strings.Join(keys, "_"))
	return strings.TrimLeft(n, "_")
}

// CreateIndex makes an index and fills it.
func (t *tx) CreateIndex(ctx context.Context, graph string, def store.IndexDef) error {
	return t.changeGraph(ctx, graph, func(g *graphView, cid uint32) error {
		ix, err := g.createIndex(ctx, cid, def)
		if ix != nil {
			g.s.counters.IndexesAdded++ // the index of a constraint counts as the constraint
		}
		return err
	})
}

func (g *graphView) createIndex(ctx context.Context, cid uint32, def store.IndexDef) (*catalog.Index, error) {
	l, keys, err := g.owner(ctx, cid, def.Label, def.Entity, def.Keys)
	if err != nil {
		return nil, err
	}
	spec := catalog.IndexSpec{Name: def.Name, Owner: l, Keys: keys, Unique: def.Unique}
	if spec.Name == "" {
		spec.Name = makeName("", l.Name, def.Keys)
	}
	heaps, err := g.lockForBuild(ctx, l)
	if err != nil {
		return nil, err
	}
	if ix := g.g.SameIndex(g.s.tx.t, spec); ix != nil {
		if def.IfNotExists {
			return nil, nil
		}
		return nil, dberr.New(dberr.DuplicateObject, "an equivalent index already exists: %q", ix.Name)
	}
	sched.Point("local.index.locked")
	ix, err := g.s.tx.s.cat.CreateIndex(ctx, g.s.tx.t, cid, spec, func(ix *catalog.Index, file page.RelFile) error {
		return g.build(ctx, ix, file, heaps, def.Progress)
	})
	if err != nil {
		return nil, err
	}
	return ix, nil
}

// lockForBuild keeps writers away from every heap that may hold the label, and from new ones (rules B5).
func (g *graphView) lockForBuild(ctx context.Context, l *catalog.Label) ([]*catalog.Label, error) {
	t := g.s.tx
	if err := t.lockRel(ctx, l.Growth(), txn.Share); err != nil {
		return nil, err
	}
	heaps := []*catalog.Label{l}
	if l.Entity == schema.Vertex {
		heaps = slices.Clone(l.Holders())
	}
	if l.ID == schema.VertexLabel {
		heaps = heaps[:0]
		for _, o := range g.g.Labels() {
			if o != nil && o.Entity == schema.Vertex {
				heaps = append(heaps, o)
			}
		}
	}
	n := 0
	for _, h := range heaps {
		if h.FilesGone() {
			continue
		}
		if err := t.lockLabel(ctx, h, txn.Share); err != nil {
			return nil, err
		}
		heaps[n] = h
		n++
	}
	if !l.Live(t.t) {
		return nil, dberr.New(dberr.SerializationFailure, "%q was dropped by another transaction", l.Name)
	}
	return heaps[:n], nil
}

// DropIndex drops an index that no constraint owns.
func (t *tx) DropIndex(ctx context.Context, graph, name string, ifExists bool) error {
	return t.changeGraph(ctx, graph, func(g *graphView, cid uint32) error {
		ix := g.g.IndexByName(t.t, name)
		if ix == nil {
			if ifExists {
				return nil
			}
			return dberr.New(dberr.UndefinedIndex, "index %q does not exist", name)
		}
		if c := g.g.ConstraintByName(t.t, ix.Constraint); c != nil {
			return dberr.New(dberr.DependentObjects, "cannot drop index %q because constraint %q requires it", name, c.Name).
				WithHint("Drop the constraint instead.")
		}
		if err := g.lockForDrop(ctx, ix); err != nil {
			return err
		}
		if !ix.Live(t.t) {
			return dberr.New(dberr.UndefinedIndex, "index %q does not exist", name)
		}
		g.s.counters.IndexesRemoved++
		return t.s.cat.DropIndex(ctx, t.t, cid, ix)
	})
}

func (g *graphView) lockForDrop(ctx context.Context, ix *catalog.Index) error {
	if err := g.s.tx.lockRel(ctx, ix.Owner.Growth(), txn.AccessExclusive); err != nil {
		return err
	}
	for _, h := range ix.Heaps() {
		if h.Label != nil && !h.Label.FilesGone() {
			if err := g.s.tx.lockLabel(ctx, h.Label, txn.AccessExclusive); err != nil {
				return err
			}
		}
	}
	return nil
}

// CreateConstraint makes a constraint, with the index behind it.
func (t *tx) CreateConstraint(ctx context.Context, graph string, def store.ConstraintDef) error {
	return t.changeGraph(ctx, graph, func(g *graphView, cid uint32) error {
		l, keys, err := g.owner(ctx, cid, def.Label, def.Entity, def.Keys)
		if err != nil {
			return err
		}
		spec := catalog.ConstraintSpec{Name: def.Name, Owner: l, Keys: keys, Kind: def.Kind, Type: def.Type}
		if spec.Name == "" {
			spec.Name = makeName("constraint_", l.Name, def.Keys)
			switch def.Kind {
			case schema.NotNull:
				spec.Name += "_not_null"
			case schema.PropertyType:
				spec.Name += "_type"
			}
		}
		heaps, err := g.lockForBuild(ctx, l)
		if err != nil {
			return err
		}
		if c := g.g.SameConstraint(t.t, spec); c != nil {
			return store.SameConstraint(&def, &c.Constraint)
		}
		if def.Kind.RowByRow() {
			c := &schema.Constraint{Name: spec.Name, LabelName: l.Name, KeyNames: def.Keys, Kind: def.Kind, Type: def.Type}
			if err := g.checkPresent(ctx, l, c, keys, heaps); err != nil {
				return err
			}
		}
		if def.Kind.Indexed() {
			ix, err := g.createIndex(ctx, cid, store.IndexDef{Name: spec.Name, Entity: def.Entity, Label: def.Label, Keys: def.Keys, Unique: true})
			if err != nil {
				return err
			}
			spec.Index = ix
		}
		_, err = t.s.cat.CreateConstraint(ctx, t.t, cid, spec)
		if err == nil {
			g.s.counters.ConstraintsAdded++
		}
		return err
	})
}

// checkPresent holds every row with the label to a constraint.
func (g *graphView) checkPresent(ctx context.Context, l *catalog.Label, c *schema.Constraint, keys []schema.KeyID, heaps []*catalog.Label) error {
	snap := g.s.tx.t.Fresh()
	defer snap.Close()
	for _, h := range heaps {
		sc := h.Heap.Scan(snap, allOwn)
		var b heap.Batch
		for {
			if err := sc.Next(ctx, 1024, &b); err != nil {
				return err
			}
			if b.Len() == 0 {
				break
			}
			for i := range b.Len() {
				row := b.Row(i)
				if err := checkRow(l.Entity, row); err != nil {
					return err
				}
				if l.Entity == schema.Vertex {
					if set := g.g.Set(rowSet(row)); set == nil || !set.Has(l.ID) {
						continue
					}
				}
				p, err := g.props(ctx, l.Entity, row)
				if err != nil {
					return err
				}
				for k, key := range keys {
					v, _ := p.Get(uint32(key))
					if err := g.checkValue(ctx, c, c.KeyNames[k], v); err != nil {
						return dberr.As(err).WithDetail("the entity with the id %d has been there before the constraint", rowID(row))
					}
				}
			}
		}
	}
	return nil
}

// DropConstraint drops a constraint and the index behind it.
func (t *tx) DropConstraint(ctx context.Context, graph, name string, ifExists bool) error {
	return t.changeGraph(ctx, graph, func(g *graphView, cid uint32) error {
		c := g.g.ConstraintByName(t.t, name)
		if c == nil {
			if ifExists {
				return nil
			}
			return dberr.New(dberr.UndefinedConstraint, "constraint %q does not exist", name)
		}
		if ix := g.g.Index(c.IndexID); ix != nil {
			if err := g.lockForDrop(ctx, ix); err != nil {
				return err
			}
		} else if l := g.g.Label(c.Label); l != nil {
			if err := t.lockRel(ctx, l.Growth(), txn.AccessExclusive); err != nil {
				return err
			}
			for _, h := range l.Holders() {
				if err := t.lockLabel(ctx, h, txn.AccessExclusive); err != nil {
					return err
				}
			}
		}
		g.s.counters.ConstraintsRemoved++
		return t.s.cat.DropConstraint(ctx, t.t, cid, g.g, c)
	})
}

// Distinct estimates the number of different values of an index from the entries of its first leaves.
func (g *graphView) Distinct(id schema.IndexID) float64 {
	ix := g.g.Index(id)
	if ix == nil {
		return 1
	}
	n := g.NodeCount(ix.Label)
	if ix.Entity == schema.Edge {
		n = g.RelCount(ix.Label)
	}
	if ix.Unique {
		return max(1, n)
	}
	st := &g.s.tx.s.distinct
	if d, ok := st.get(id, n); ok {
		return d
	}
	var c btree.Cursor
	c.Init(ix.Tree, btree.Options{})
	c.Seek(btree.Range{})
	defer c.Close()
	var last []byte
	seen, different := 0.0, 0.0
	ctx := context.Background()
	for seen < 2000 {
		ok, err := c.Next(ctx)
		if err != nil || !ok {
			break
		}
		if seen == 0 || !bytes.Equal(last, c.Key()) {
			different++
			last = append(last[:0], c.Key()...)
		}
		seen++
	}
	d := max(1, different)
	if seen >= 2000 {
		d = max(1, n*different/seen)
	}
	st.put(id, n, d)
	return d
}
