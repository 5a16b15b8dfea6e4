package catalog

import (
	"context"
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// system runs f in a system transaction of its own in the caller's lock group and commits it at once (rules B7). The commit need
// not be flushed: whatever uses the token is logged behind it (C1).
func (c *Catalog) system(ctx context.Context, caller *txn.Tx, f func(t *txn.Tx) error) error {
	if caller != nil && caller.ReadOnly() {
		return dberr.New(dberr.ReadOnlyTransaction, "cannot make a new name in a read-only transaction")
	}
	t := c.m.BeginSystem(caller, txn.TxOptions{Async: true})
	if err := f(t); err != nil {
		t.Rollback()
		return err
	}
	if _, err := t.Commit(ctx); err != nil {
		t.Rollback()
		return err
	}
	return nil
}

func (c *Catalog) rowID() (uint64, error) { return c.rows.Take(1) }

// EnsureKey returns the id of a property key and makes it if it is missing.
func (g *Graph) EnsureKey(ctx context.Context, caller *txn.Tx, name string) (schema.KeyID, error) {
	if id, ok := g.Key(name); ok {
		return id, nil
	}
	sched.Point("catalog.key.missing")
	g.tokens.Lock()
	defer g.tokens.Unlock()
	if id, ok := g.Key(name); ok {
		return id, nil
	}
	if len(load(&g.keyNames)) > MaxKeys {
		return 0, dberr.New(dberr.LimitExceeded, "graph %q has more than %d property keys", g.Name, MaxKeys)
	}
	n, err := g.keySeq.Take(1)
	if err != nil {
		return 0, err
	}
	r := keyRow{graph: g.ID, id: schema.KeyID(n), name: name}
	err = g.cat.system(ctx, caller, func(t *txn.Tx) error {
		var err error
		if r.row, err = g.cat.rowID(); err != nil {
			return err
		}
		_, err = g.cat.keys.insert(ctx, t, 0, r.encode(), r.key())
		return err
	})
	if err != nil {
		return 0, err
	}
	g.mu.Lock()
	g.keyIDs[name] = r.id
	g.mu.Unlock()
	grow(&g.keyNames, int(r.id), name)
	return r.id, nil
}

// EnsureLabel returns the label of that name and makes it, with its relations, if it is missing.
func (g *Graph) EnsureLabel(ctx context.Context, caller *txn.Tx, name string, e schema.Entity) (l *Label, made bool, err error) {
	if l := g.LiveLabel(caller, name, e); l != nil {
		return l, false, nil
	}
	if err := checkLabelName(name); err != nil {
		return nil, false, err
	}
	sched.Point("catalog.label.missing")
	g.tokens.Lock()
	defer g.tokens.Unlock()
	if l := g.LiveLabel(caller, name, e); l != nil {
		return l, false, nil
	}
	n, err := g.labelSeq.Take(1)
	if err != nil {
		return nil, false, err
	}
	if n > MaxLabels {
		return nil, false, dberr.New(dberr.LimitExceeded, "graph %q has no label ids left", g.Name)
	}
	if l, err = g.makeLabel(ctx, caller, schema.LabelID(n), name, e); err != nil {
		return nil, false, err
	}
	sched.Point("catalog.label.made")
	return l, true, nil
}

// makeLabel writes a label in a system transaction. Its stamp is that of a token: there for everybody.
func (g *Graph) makeLabel(ctx context.Context, caller *txn.Tx, id schema.LabelID, name string, e schema.Entity) (*Label, error) {
	c := g.cat
	seq, err := c.seqIDs.Take(1)
	if err != nil {
		return nil, err
	}
	r := labelRow{graph: g.ID, id: id, entity: e, seq: SeqID(seq), name: name}
	var tid page.TID
	err = c.system(ctx, caller, func(t *txn.Tx) error {
		if id != schema.EdgeLabel { // no relationship is without a type
			files := []*uint64{&r.heap, &r.idx}
			if e == schema.Edge {
				files = append(files, &r.out, &r.in)
			}
			for i, f := range files {
				n, err := c.createFile(ctx, t, i > 0)
				if err != nil {
					return err
				}
				*f = uint64(n)
			}
		}
		var err error
		if r.row, err = c.rowID(); err != nil {
			return err
		}
		tid, err = c.labels.insert(ctx, t, 0, r.encode(), r.key())
		return err
	})
	if err != nil {
		return nil, err
	}
	l := c.newLabel(g, r)
	l.tid = tid
	l.v.Store(&frozen)
	g.addLabel(l)
	c.epoch.Add(1)
	return l, nil
}

// EnsureSet returns the interned set of the labels, which need not be in order.
func (g *Graph) EnsureSet(ctx context.Context, caller *txn.Tx, labels []schema.LabelID) (*LabelSet, error) {
	if !slices.IsSorted(labels) {
		labels = slices.Clone(labels)
		slices.Sort(labels)
	}
	labels = slices.Compact(labels)
	if s := g.findSet(labels); s != nil {
		return s, nil
	}
	g.tokens.Lock()
	defer g.tokens.Unlock()
	if s := g.findSet(labels); s != nil {
		return s, nil
	}
	n, err := g.setSeq.Take(1)
	if err != nil {
		return nil, err
	}
	if n >= 1<<32 {
		return nil, dberr.New(dberr.LimitExceeded, "graph %q has no label set ids left", g.Name)
	}
	r := setRow{graph: g.ID, id: schema.LabelSetID(n), labels: slices.Clone(labels)}
	err = g.cat.system(ctx, caller, func(t *txn.Tx) error {
		var err error
		if r.row, err = g.cat.rowID(); err != nil {
			return err
		}
		_, err = g.cat.sets.insert(ctx, t, 0, r.encode(), r.key())
		return err
	})
	if err != nil {
		return nil, err
	}
	s := &LabelSet{ID: r.id, Labels: r.labels}
	g.addSet(s)
	return s, nil
}

func (g *Graph) findSet(labels []schema.LabelID) *LabelSet {
	var buf [32]byte
	k := buf[:0]
	for _, l := range labels {
		k = append(k, byte(l>>8), byte(l))
	}
	g.mu.RLock()
	id, ok := g.setIDs[string(k)]
	g.mu.RUnlock()
	if !ok {
		return nil
	}
	return g.Set(id)
}

// EnsureHolds makes it known that rows in the heap of h may carry label l, and gives the heap an ordinal in every index on l. The
// caller holds ROW EXCLUSIVE on the growth of l, so that no index on it is being built by anybody else (rules B5).
func (h *Label) EnsureHolds(ctx context.Context, caller *txn.Tx, l *Label) error {
	g := h.Graph
	if !h.MayHold(l.ID) {
		if err := h.makeHold(ctx, caller, l); err != nil {
			return err
		}
	}
	for _, ix := range load(&g.indexes) {
		if ix.Owner == l && ix.live(g.cat.m, caller) {
			if _, err := ix.EnsureOrdinal(ctx, caller, h); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *Label) makeHold(ctx context.Context, caller *txn.Tx, l *Label) error {
	g := h.Graph
	g.tokens.Lock()
	defer g.tokens.Unlock()
	if h.MayHold(l.ID) {
		return nil
	}
	r := heapLabelRow{graph: g.ID, heap: h.ID, label: l.ID}
	err := g.cat.system(ctx, caller, func(t *txn.Tx) error {
		var err error
		if r.row, err = g.cat.rowID(); err != nil {
			return err
		}
		_, err = g.cat.heapLabels.insert(ctx, t, 0, r.encode(), r.key())
		return err
	})
	if err != nil {
		return err
	}
	h.hold(l)
	sched.Point("catalog.heap.holds")
	return nil
}

// EnsureOrdinal gives the heap of l an ordinal in the index (rules B4, C4).
func (ix *Index) EnsureOrdinal(ctx context.Context, caller *txn.Tx, l *Label) (uint16, error) {
	if o, ok := ix.Ordinal(l); ok {
		return o, nil
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if o, ok := ix.Ordinal(l); ok {
		return o, nil
	}
	n := len(ix.Heaps())
	if n >= 1<<16 {
		return 0, dberr.New(dberr.LimitExceeded, "index %q spans too many heaps", ix.Name)
	}
	c := ix.Graph.cat
	r := indexHeapRow{index: ix.ID, ordinal: uint16(n), label: l.ID, relfile: uint64(l.heapFile)}
	err := c.system(ctx, caller, func(t *txn.Tx) error {
		var err error
		if r.row, err = c.rowID(); err != nil {
			return err
		}
		_, err = c.indexHeaps.insert(ctx, t, 0, r.encode(), r.key())
		return err
	})
	if err != nil {
		return 0, err
	}
	add(&ix.heaps, IndexHeap{Ordinal: r.ordinal, Label: l})
	return r.ordinal, nil
}

// Show notes that the transaction uses or declares the label at command cid: whoever sees the transaction is shown the label.
// Once such a use is committed nothing has to be noted any more: whoever sees a later one sees this one too.
func (l *Label) Show(ctx context.Context, tx *txn.Tx, cid uint32) error {
	if l.shown.Load() || l.used.Load() || l.ownUse(tx) {
		return nil
	}
	c := l.Graph.cat
	row, err := c.rowID()
	if err != nil {
		return err
	}
	x, err := tx.XID()
	if err != nil {
		return err
	}
	r := shownRow{row: row, graph: l.Graph.ID, label: l.ID}
	tid, err := c.shown.insert(ctx, tx, cid, r.encode(), r.key())
	if err != nil {
		return err
	}
	s := &stamp{tid: tid}
	s.made(x, cid)
	l.mu.Lock()
	l.uses = append(l.uses, s)
	l.mu.Unlock()
	tx.Join(&epochBump{c: c})
	return nil
}

// ownUse reports whether the transaction need not note its use: it has done so already, or another's is committed.
func (l *Label) ownUse(tx *txn.Tx) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.Graph.cat.m
	own := false
	keep := l.uses[:0]
	for _, s := range l.uses {
		v := *s.v.Load()
		if tx.Owns(v.Xmin) {
			own = true
		} else {
			switch st, _ := m.Outcome(v.Xmin); st {
			case txn.Aborted:
				continue
			case txn.Committed:
				l.used.Store(true)
			}
		}
		keep = append(keep, s)
	}
	clear(l.uses[len(keep):])
	l.uses = keep
	return own || l.used.Load()
}

// Shown reports whether the label is shown to the snapshot (rules B7).
func (l *Label) Shown(snap *txn.Snapshot, cid uint32) bool {
	if !l.seen(snap, cid) {
		return false
	}
	if l.shown.Load() {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.Graph.cat.m
	h := m.RecentHorizon()
	for _, s := range l.uses {
		if h.Past(m, s.v.Load().Xmin) { // for good, and for everybody
			l.shown.Store(true)
			l.uses = nil
			return true
		}
		if s.seen(snap, cid) {
			return true
		}
	}
	return l.shown.Load()
}

// checkLabelName refuses what no door could write.
func checkLabelName(name string) error {
	if name == "" {
		return dberr.New(dberr.InvalidName, "a label must have a name")
	}
	if len(name) > 65535 {
		return dberr.New(dberr.InvalidName, "the label's name is too long")
	}
	return nil
}

// epochBump makes plans look again once a transaction that changed the catalog commits (rules A2).
type epochBump struct{ c *Catalog }

func (e *epochBump) Phase() txn.Phase                     { return txn.PhaseCatalog }
func (e *epochBump) BeforeCommit(*txn.CommitRecord) error { return nil }
func (e *epochBump) Publish(page.LSN)                     { e.c.epoch.Add(1) }
func (e *epochBump) Abort()                               { e.c.epoch.Add(1) }
func (e *epochBump) RollbackSub(uint32)                   { e.c.epoch.Add(1) }
