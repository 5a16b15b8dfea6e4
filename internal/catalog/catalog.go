package catalog

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/access/adjacency"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// The fixed relation files.
const (
	fileGraphs page.RelFile = 1 + 2*iota
	fileLabels
	fileKeys
	fileSets
	fileHeapLabels
	fileShown
	fileIndexes
	fileIndexHeaps
	fileConstraints
	fileStats
	fileEnd
)

// MaxKeys bounds the property keys of a graph (rules B7).
const MaxKeys = 1_000_000

// MaxLabels is what fits the label part of a graphid.
const MaxLabels = 1<<16 - 1

// Catalog is the catalog of a database.
type Catalog struct {
	m       *txn.Manager
	pool    *buffer.Pool
	log     *wal.Log
	seqs    *Sequences
	storage Storage
	slog    *slog.Logger

	graphs, labels, keys, sets, heapLabels, shown, indexes, indexHeaps, constraints, statistics *table

	graphIDs, indexIDs, rows, seqIDs *Sequence

	epoch   atomic.Uint64
	orphans bool // Open met rows of a graph or index that does not exist

	// ddl serialises changes of transactional objects, so that of two who want one name the second sees the first. It is the
	// first of all locks and is not held while waiting for a transaction.
	ddl sync.Mutex

	adjacency *adjacency.Cache

	stats sync.Mutex // held while statistics are replaced

	mu     sync.RWMutex // guards the maps
	byName map[string][]*Graph
	byID   map[schema.GraphID]*Graph
}

// Options are what a catalog stands on.
type Options struct {
	Txn       *txn.Manager
	Pool      *buffer.Pool
	Log       *wal.Log
	Sequences *Sequences
	Storage   Storage
	Adjacency *adjacency.Cache // nil: nothing of neighbourhoods is kept in memory
	Logger    *slog.Logger
}

// Storage makes relation files, numbered from 1 in a new database, and logs it.
type Storage interface {
	Create(xid uint64) (page.RelFile, error)
}

func newCatalog(o Options) *Catalog {
	c := &Catalog{
		m: o.Txn, pool: o.Pool, log: o.Log, seqs: o.Sequences, storage: o.Storage, slog: o.Logger, adjacency: o.Adjacency,
		byName: map[string][]*Graph{}, byID: map[schema.GraphID]*Graph{},
	}
	if c.slog == nil {
		c.slog = slog.New(slog.DiscardHandler)
	}
	c.seqs.log = o.Log
	c.seqIDs = c.seqs.get(seqSeq, uint64(firstSeq), 1)
	c.graphIDs = c.seqs.get(seqGraph, 1, 1)
	c.indexIDs = c.seqs.get(seqIndex, 1, 1)
	c.rows = c.seqs.get(seqRow, 1, rowBlock)
	return c
}

func (c *Catalog) tables() []**table {
	return []**table{&c.graphs, &c.labels, &c.keys, &c.sets, &c.heapLabels, &c.shown, &c.indexes, &c.indexHeaps, &c.constraints, &c.statistics}
}

// Create makes the catalog of a new database.
func Create(ctx context.Context, o Options) (*Catalog, error) {
	c := newCatalog(o)
	for i, t := range c.tables() {
		tab, err := c.createTable(ctx, fileGraphs+page.RelFile(2*i))
		if err != nil {
			return nil, err
		}
		*t = tab
	}
	return c, nil
}

// Open reads the catalog of an existing database. No other transaction may run.
func Open(ctx context.Context, o Options) (*Catalog, error) {
	c := newCatalog(o)
	for i, t := range c.tables() {
		*t = c.openTable(fileGraphs + page.RelFile(2*i))
	}
	if err := c.load(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Epoch grows with every committed change that may outdate a plan, before the commit is published.
func (c *Catalog) Epoch() uint64 { return c.epoch.Load() }

// Bump outdates every plan. It is called once more after a commit that changed something: a plan that was made between the
// growth of the epoch and the publication knows the new epoch and the old catalog.
func (c *Catalog) Bump() { c.epoch.Add(1) }

// Txn returns the transaction manager.
func (c *Catalog) Txn() *txn.Manager { return c.m }

func (c *Catalog) load(ctx context.Context) error {
	snap := c.m.Snapshot()
	defer snap.Close()
	err := c.graphs.scan(ctx, snap, func(tid page.TID, b []byte) error {
		var r graphRow
		if err := r.decode(b); err != nil {
			return err
		}
		g := c.newGraph(r)
		g.tid = tid
		g.v.Store(&frozen)
		c.addGraph(g)
		return nil
	})
	if err != nil {
		return err
	}
	var hidden []labelRow
	err = c.labels.scan(ctx, snap, func(tid page.TID, b []byte) error {
		var r labelRow
		if err := r.decode(b); err != nil {
			return err
		}
		g := c.byID[r.graph]
		if g == nil {
			c.orphans = true // left by a graph that is gone
			return nil
		}
		if r.hidden() {
			hidden = append(hidden, r)
			return nil
		}
		l := c.newLabel(g, r)
		l.tid = tid
		l.v.Store(&frozen)
		g.addLabel(l)
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range hidden {
		g := c.byID[r.graph]
		l := c.newLabel(g, r)
		l.v.Store(&hiddenStamp)
		g.addLabel(l)
	}
	err = c.keys.scan(ctx, snap, func(_ page.TID, b []byte) error {
		var r keyRow
		if err := r.decode(b); err != nil {
			return err
		}
		if g := c.byID[r.graph]; g != nil {
			g.keyIDs[r.name] = r.id
			grow(&g.keyNames, int(r.id), r.name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.sets.scan(ctx, snap, func(_ page.TID, b []byte) error {
		var r setRow
		if err := r.decode(b); err != nil {
			return err
		}
		if g := c.byID[r.graph]; g != nil {
			g.addSet(&LabelSet{ID: r.id, Labels: r.labels})
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.heapLabels.scan(ctx, snap, func(_ page.TID, b []byte) error {
		var r heapLabelRow
		if err := r.decode(b); err != nil {
			return err
		}
		if g := c.byID[r.graph]; g != nil {
			if h, l := g.Label(r.heap), g.Label(r.label); h != nil && l != nil {
				h.hold(l)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.shown.scan(ctx, snap, func(_ page.TID, b []byte) error {
		var r shownRow
		if err := r.decode(b); err != nil {
			return err
		}
		if g := c.byID[r.graph]; g != nil {
			if l := g.Label(r.label); l != nil {
				l.shown.Store(true)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	byIndex := map[schema.IndexID]*Index{}
	err = c.indexes.scan(ctx, snap, func(tid page.TID, b []byte) error {
		var r indexRow
		if err := r.decode(b); err != nil {
			return err
		}
		g := c.byID[r.graph]
		if g == nil {
			return nil
		}
		ix := c.newIndex(g, r)
		if ix == nil {
			return dberr.New(dberr.DataCorrupted, "index %q is on a label that does not exist", r.name)
		}
		ix.tid = tid
		ix.v.Store(&frozen)
		add(&g.indexes, ix)
		byIndex[ix.ID] = ix
		return nil
	})
	if err != nil {
		return err
	}
	err = c.indexHeaps.scan(ctx, snap, func(_ page.TID, b []byte) error {
		var r indexHeapRow
		if err := r.decode(b); err != nil {
			return err
		}
		ix := byIndex[r.index]
		if ix == nil {
			c.orphans = true
			return nil
		}
		l := ix.Graph.Label(r.label)
		if l != nil && l.heapFile != page.RelFile(r.relfile) {
			l = nil
		}
		grow(&ix.heaps, int(r.ordinal), IndexHeap{Ordinal: r.ordinal, Label: l})
		return nil
	})
	if err != nil {
		return err
	}
	err = c.constraints.scan(ctx, snap, func(tid page.TID, b []byte) error {
		var r constraintRow
		if err := r.decode(b); err != nil {
			return err
		}
		if g := c.byID[r.graph]; g != nil {
			k := c.newConstraint(g, r)
			k.tid = tid
			k.v.Store(&frozen)
			add(&g.constraints, k)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.loadStats(ctx, snap)
}

func (c *Catalog) newGraph(r graphRow) *Graph {
	g := &Graph{
		Graph: schema.Graph{ID: r.id, Name: r.name}, cat: c, row: r.row,
		labelSeq: c.seqs.get(r.labelSeq, uint64(schema.FirstUserLabel), 1),
		keySeq:   c.seqs.get(r.keySeq, 1, 1),
		setSeq:   c.seqs.get(r.setSeq, uint64(EmptySet)+1, 1),
		Chunks:   heap.Open(heap.Options{Pool: c.pool, Log: c.log, Txns: c.m, File: page.RelFile(r.chunks), Relation: r.chunks, NoIndexes: true}),
		keyIDs:   map[string]schema.KeyID{}, labelIDs: map[labelName][]*Label{}, setIDs: map[string]schema.LabelSetID{},
	}
	g.addSet(&LabelSet{ID: EmptySet})
	return g
}

func (c *Catalog) addGraph(g *Graph) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byName[g.Name] = append(c.byName[g.Name], g)
	c.byID[g.ID] = g
}

func (c *Catalog) newLabel(g *Graph, r labelRow) *Label {
	l := &Label{
		Label: schema.Label{ID: r.id, Name: r.name, Entity: r.entity &^ hiddenBit}, Graph: g, row: r.row,
		heapFile: page.RelFile(r.heap), idFile: page.RelFile(r.idx), outFile: page.RelFile(r.out), inFile: page.RelFile(r.in),
		Seq: c.seqs.get(r.seq, 1, entryBlock), seqID: r.seq,
	}
	if l.heapFile != 0 {
		l.Heap = c.openHeap(l.heapFile)
		l.ByID = c.openTree(l.idFile)
		if c.adjacency != nil {
			l.Roots.Init(c.adjacency, l.FilesGone)
		}
	}
	if l.outFile != 0 {
		l.Out, l.In = c.openTree(l.outFile), c.openTree(l.inFile)
		if c.adjacency != nil {
			src := adjacency.Source{Heap: l.Heap, Index: l.Out, Lock: l.lockToRead, Gone: l.FilesGone}
			l.OutSide.Init(c.adjacency, src)
			src.Index = l.In
			l.InSide.Init(c.adjacency, src)
		}
	}
	empty := []bool{}
	l.held.Store(&empty)
	if l.Entity == schema.Vertex {
		l.holders.Store(&[]*Label{l})
	} else {
		l.holders.Store(&[]*Label{})
	}
	if r.id < schema.FirstUserLabel {
		l.shown.Store(true)
	}
	return l
}

// lockToRead keeps the label's files for a builder of its adjacency, if nobody is about to drop them.
func (l *Label) lockToRead() (unlock func(), err error) {
	tx := l.Graph.cat.m.Begin(txn.TxOptions{ReadOnly: true})
	if !tx.TryLock(txn.Resource{Kind: txn.KindRelation, A: l.Rel()}, txn.AccessShare) || l.FilesGone() {
		tx.Rollback()
		return nil, dberr.New(dberr.LockTimeout, "%q is locked by another transaction", l.Name)
	}
	return tx.Rollback, nil
}

func (g *Graph) addLabel(l *Label) {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := labelName{l.Name, l.Entity}
	g.labelIDs[k] = append(g.labelIDs[k], l)
	slices.SortStableFunc(g.labelIDs[k], func(a, b *Label) int { return cmp.Compare(a.ID, b.ID) })
	grow(&g.labels, int(l.ID), l)
}

func (g *Graph) addSet(s *LabelSet) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.setIDs[setKey(s.Labels)] = s.ID
	grow(&g.sets, int(s.ID), s)
}

// hold records in memory that the heap of h may hold label l.
func (h *Label) hold(l *Label) {
	if h.MayHold(l.ID) {
		return
	}
	grow(&h.held, int(l.ID), true)
	add(&l.holders, h)
}

func (c *Catalog) newIndex(g *Graph, r indexRow) *Index {
	owner := g.Label(r.label)
	if owner == nil {
		return nil
	}
	ix := &Index{
		Index: schema.Index{ID: r.id, Graph: g.ID, Name: r.name, Entity: r.entity, Label: r.label, LabelName: owner.Name,
			Keys: r.keys, Unique: r.flags&indexUnique != 0},
		Graph: g, Owner: owner, row: r.row, relfile: page.RelFile(r.relfile),
	}
	for _, k := range r.keys {
		ix.KeyNames = append(ix.KeyNames, g.KeyName(k))
	}
	ix.Tree = c.openTree(ix.relfile)
	return ix
}

func (c *Catalog) newConstraint(g *Graph, r constraintRow) *Constraint {
	k := &Constraint{
		Constraint: schema.Constraint{Graph: g.ID, Name: r.name, Entity: r.entity, Label: r.label, Kind: r.kind, Type: r.typ},
		Keys:       r.keys, IndexID: r.index, row: r.row,
	}
	if l := g.Label(r.label); l != nil {
		k.LabelName = l.Name
	}
	for _, id := range r.keys {
		k.KeyNames = append(k.KeyNames, g.KeyName(id))
	}
	if ix := g.Index(r.index); ix != nil {
		k.Constraint.Index = ix.Name
		ix.Constraint = k.Name
	}
	return k
}

// Graph returns the graph that the name means to the snapshot, or nil.
func (c *Catalog) Graph(snap *txn.Snapshot, cid uint32, name string) *Graph {
	c.mu.RLock()
	all := c.byName[name]
	c.mu.RUnlock()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].seen(snap, cid) {
			return all[i]
		}
	}
	return nil
}

// Graphs returns the graphs that the snapshot sees, by id.
func (c *Catalog) Graphs(snap *txn.Snapshot, cid uint32) []*Graph {
	c.mu.RLock()
	var out []*Graph
	for _, g := range c.byID {
		if g.seen(snap, cid) {
			out = append(out, g)
		}
	}
	c.mu.RUnlock()
	slices.SortFunc(out, func(a, b *Graph) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// GraphByID returns a graph by id whether somebody sees it or not, nil if there is none.
func (c *Catalog) GraphByID(id schema.GraphID) *Graph {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byID[id]
}

// AllGraphs returns every graph in memory, also ones that not everybody sees.
func (c *Catalog) AllGraphs() []*Graph {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]*Graph, 0, len(c.byID))
	for _, g := range c.byID {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *Graph) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Files returns every relation file that the catalog names, to tell the others from them (C6).
func (c *Catalog) Files() map[page.RelFile]string {
	out := map[page.RelFile]string{}
	for f := fileGraphs; f < fileEnd; f++ {
		out[f] = "catalog"
	}
	for _, g := range c.AllGraphs() {
		out[g.Chunks.File()] = "chunks of " + g.Name
		for _, l := range g.Labels() {
			if l == nil {
				continue
			}
			for what, f := range map[string]page.RelFile{"heap": l.heapFile, "id index": l.idFile, "out index": l.outFile, "in index": l.inFile} {
				if f != 0 {
					out[f] = what + " of " + g.Name + "." + l.Name
				}
			}
		}
		for _, ix := range load(&g.indexes) {
			out[ix.relfile] = "index " + g.Name + "." + ix.Name
		}
	}
	return out
}

// CatalogRelation is a catalog table, for those who check pages.
type CatalogRelation struct {
	Name string
	Heap page.RelFile
	Tree page.RelFile
}

// Tables lists the catalog's own relations.
func (c *Catalog) Tables() []CatalogRelation {
	names := [(fileEnd - fileGraphs) / 2]string{"graphs", "labels", "keys", "label sets", "heap labels", "shown labels", "indexes", "index heaps", "constraints", "statistics"}
	out := make([]CatalogRelation, len(names))
	for i, n := range names {
		f := fileGraphs + page.RelFile(2*i)
		out[i] = CatalogRelation{n, f, f + 1}
	}
	return out
}

// Purge removes the rows of names whose graph or index does not exist: what was left by a graph that was dropped or whose making was
// rolled back. It is called when the database opens.
func (c *Catalog) Purge(ctx context.Context) error {
	if !c.orphans {
		return nil
	}
	snap := c.m.Snapshot()
	defer snap.Close()
	indexes := map[schema.IndexID]bool{}
	for _, g := range c.byID {
		for _, ix := range load(&g.indexes) {
			indexes[ix.ID] = true
		}
	}
	type victim struct {
		t   *table
		tid page.TID
	}
	var dead []victim
	graphOf := func(b []byte) schema.GraphID {
		d := decoder{b: b}
		d.u64()
		return schema.GraphID(d.u32())
	}
	for _, t := range []*table{c.labels, c.keys, c.sets, c.heapLabels, c.shown, c.constraints} {
		err := t.scan(ctx, snap, func(tid page.TID, b []byte) error {
			if c.byID[graphOf(b)] == nil {
				dead = append(dead, victim{t, tid})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	err := c.statistics.scan(ctx, snap, func(tid page.TID, b []byte) error {
		var r statsRow
		if err := r.decode(b); err != nil {
			return err
		}
		if g := c.byID[r.graph]; g == nil || g.Label(r.label) == nil {
			dead = append(dead, victim{c.statistics, tid})
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.indexes.scan(ctx, snap, func(tid page.TID, b []byte) error {
		var r indexRow
		if err := r.decode(b); err != nil {
			return err
		}
		if c.byID[r.graph] == nil {
			dead = append(dead, victim{c.indexes, tid})
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.indexHeaps.scan(ctx, snap, func(tid page.TID, b []byte) error {
		var r indexHeapRow
		if err := r.decode(b); err != nil {
			return err
		}
		if !indexes[r.index] {
			dead = append(dead, victim{c.indexHeaps, tid})
		}
		return nil
	})
	if err != nil || len(dead) == 0 {
		return err
	}
	return c.system(ctx, nil, func(t *txn.Tx) error {
		for _, v := range dead {
			if err := v.t.delete(ctx, t, 0, v.tid); err != nil {
				return err
			}
		}
		return nil
	})
}
