package catalog

import (
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/access/adjacency"
	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/stats"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// stamp is who made and who dropped an object, as its row on disk has it (C3).
type stamp struct {
	v   atomic.Pointer[txn.Version]
	tid page.TID
}

// frozen is the stamp of everything that was committed when the database opened.
var frozen = txn.Version{Mask: txn.Frozen | txn.XminSeen | txn.XmaxNone}

// hiddenStamp is that of a label that was dropped before the database opened while its heap holds rows of others.
var hiddenStamp = txn.Version{Mask: txn.Frozen | txn.XminSeen | txn.XmaxSeen | txn.XmaxDelete, Xmax: txn.BootstrapXID}

func (s *stamp) made(x txn.XID, cid uint32) {
	s.v.Store(&txn.Version{Xmin: x, CID: cid, Mask: txn.XmaxNone})
}

func (s *stamp) seen(snap *txn.Snapshot, cid uint32) bool {
	ok, _ := snap.Sees(*s.v.Load(), 0, cid)
	return ok
}

// live reports whether the object exists in the newest state: for the transaction itself, and for others as soon as they commit.
// Its creator may still be running; writers hold a lock that excludes that.
func (s *stamp) live(m *txn.Manager, tx *txn.Tx) bool {
	v := *s.v.Load()
	if v.Mask&txn.Frozen == 0 && !tx.Owns(v.Xmin) {
		if st, _ := m.Outcome(v.Xmin); st == txn.Aborted {
			return false
		}
	}
	if v.Mask&txn.XmaxNone != 0 {
		return true
	}
	if tx.Owns(v.Xmax) {
		return false
	}
	if v.Mask&txn.XmaxSeen != 0 {
		return false
	}
	st, _ := m.Outcome(v.Xmax)
	return st != txn.Committed
}

// gone reports whether no transaction, present or future, can see the object.
func (s *stamp) gone(m *txn.Manager, h txn.Horizon) bool {
	v := *s.v.Load()
	if v.Mask&txn.Frozen == 0 {
		if st, _ := m.Outcome(v.Xmin); st == txn.Aborted {
			return true
		}
	}
	return v.Mask&txn.XmaxNone == 0 && h.Past(m, v.Xmax)
}

// Graph is a graph and everything that is named in it.
type Graph struct {
	schema.Graph
	stamp
	cat *Catalog
	row uint64

	labelSeq, keySeq, setSeq *Sequence

	Chunks *heap.Table // values out of line (rules B13)

	// tokens serialises the making of tokens. It is held while a system transaction writes and commits, never over a wait for
	// another transaction (rules B7).
	tokens sync.Mutex

	mu       sync.RWMutex // guards the maps below
	keyIDs   map[string]schema.KeyID
	labelIDs map[labelName][]*Label // newest last
	setIDs   map[string]schema.LabelSetID

	// The arrays are replaced, never changed, so that readers need no lock. An id that is not there has nil or "".
	keyNames atomic.Pointer[[]string]
	labels   atomic.Pointer[[]*Label]
	sets     atomic.Pointer[[]*LabelSet]

	indexes     atomic.Pointer[[]*Index]
	constraints atomic.Pointer[[]*Constraint]
}

type labelName struct {
	name   string
	entity schema.Entity
}

// Label is a vertex label or relationship type with its relations.
type Label struct {
	schema.Label
	stamp // only its end matters: labels are tokens, made for everybody
	Graph *Graph
	row   uint64

	Heap    *heap.Table
	ByID    *btree.Tree
	Out, In *btree.Tree     // of an edge label
	OutRuns adjacency.Runs  // which runs of vertices have entries in Out
	InRuns  adjacency.Runs  // and in In
	OutSide adjacency.Side  // what is in memory of Out
	InSide  adjacency.Side  // and of In
	Roots   adjacency.Roots // where rows were seen
	Seq     *Sequence       // entries of graphids
	seqID   SeqID

	heapFile, idFile, outFile, inFile page.RelFile

	holders atomic.Pointer[[]*Label] // vertex labels whose heaps may hold rows with this one, itself first (C2)
	held    atomic.Pointer[[]bool]   // by label id: labels that rows of this heap may carry beside this one

	filesGone atomic.Bool // its end drops its files

	stats    atomic.Pointer[stats.Label] // nil: never analysed
	statRows []page.TID                  // where they lie; guarded by Catalog.stats

	shown atomic.Bool // somebody's use of it is committed, and every snapshot to come sees it
	used  atomic.Bool // somebody's use of it is committed
	mu    sync.Mutex  // guards uses
	uses  []*stamp    // rows of `shown labels`, until shown
}

// Rel is the number under which the label's heap is locked, and its rows.
func (l *Label) Rel() uint64 { return uint64(l.heapFile) }

// Growth is the number under which the growth of the label is locked: the set of heaps that may hold it, and the heaps that its
// indexes have ordinals for (rules B5). Relation files have 48 bits, so it is no other relation's.
func (l *Label) Growth() uint64 { return 1<<62 | uint64(l.Graph.ID)<<16 | uint64(l.ID) }

// Holders returns the vertex labels whose heaps may hold this label. Read it after taking a snapshot.
func (l *Label) Holders() []*Label { return *l.holders.Load() }

// MayHold reports whether rows in the heap of l may carry label o.
func (l *Label) MayHold(o schema.LabelID) bool {
	if o == l.ID {
		return true
	}
	h := *l.held.Load()
	return int(o) < len(h) && h[o]
}

// LabelSet is an interned set of labels, ordered by id.
type LabelSet struct {
	ID     schema.LabelSetID
	Labels []schema.LabelID
}

// Has reports whether the set holds the label. NoLabel and VertexLabel are in every set.
func (s *LabelSet) Has(l schema.LabelID) bool {
	if l == schema.NoLabel || l == schema.VertexLabel {
		return true
	}
	for _, x := range s.Labels {
		if x == l {
			return true
		}
	}
	return false
}

// HasAny reports whether the set has one of the labels.
func (s *LabelSet) HasAny(ls []schema.LabelID) bool { return slices.ContainsFunc(ls, s.Has) }

// EmptySet is the label set without labels, in every graph.
const EmptySet schema.LabelSetID = 1

func setKey(labels []schema.LabelID) string {
	b := make([]byte, 0, 2*len(labels))
	for _, l := range labels {
		b = binary.BigEndian.AppendUint16(b, uint16(l))
	}
	return string(b)
}

// Index is a property index.
type Index struct {
	schema.Index // LabelName, KeyNames and Constraint are filled in by [Graph.Describe]
	stamp
	Graph   *Graph
	Owner   *Label
	row     uint64
	Tree    *btree.Tree
	relfile page.RelFile
	Built   page.LSN // CSN of the snapshot that it was built with, 0 if that was before the database opened

	mu    sync.Mutex // serialises the making of ordinals
	heaps atomic.Pointer[[]IndexHeap]
}

// IndexHeap is the heap that an ordinal of an index stands for (rules B4).
type IndexHeap struct {
	Ordinal uint16
	Label   *Label
}

// Heaps returns the heaps by ordinal; a Label of nil is an ordinal that stands for nothing any more.
func (ix *Index) Heaps() []IndexHeap {
	if p := ix.heaps.Load(); p != nil {
		return *p
	}
	return nil
}

// Ordinal returns the ordinal for a label's heap.
func (ix *Index) Ordinal(l *Label) (uint16, bool) {
	for _, h := range ix.Heaps() {
		if h.Label == l {
			return h.Ordinal, true
		}
	}
	return 0, false
}

// ByOrdinal returns the label whose heap the ordinal stands for, or nil.
func (ix *Index) ByOrdinal(o uint16) *Label {
	if h := ix.Heaps(); int(o) < len(h) {
		return h[o].Label
	}
	return nil
}

// Constraint is a constraint.
type Constraint struct {
	schema.Constraint
	stamp
	Keys    []schema.KeyID
	IndexID schema.IndexID
	row     uint64
}

// grow returns a copy of the array with x at position i.
func grow[T any](p *atomic.Pointer[[]T], i int, x T) {
	var a []T
	if q := p.Load(); q != nil {
		a = *q
	}
	if i < len(a) {
		a = slices.Clone(a)
	} else {
		// Appending beyond the length of every published slice does not disturb their readers.
		var zero T
		for len(a) <= i {
			a = append(a, zero)
		}
	}
	a[i] = x
	p.Store(&a)
}

// add is grow at the end.
func add[T any](p *atomic.Pointer[[]T], x T) {
	n := 0
	if q := p.Load(); q != nil {
		n = len(*q)
	}
	grow(p, n, x)
}

func load[T any](p *atomic.Pointer[[]T]) []T {
	if q := p.Load(); q != nil {
		return *q
	}
	return nil
}

// Key returns the id of a property key.
func (g *Graph) Key(name string) (schema.KeyID, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	id, ok := g.keyIDs[name]
	return id, ok
}

// KeyName returns the name of a key, "" if there is none.
func (g *Graph) KeyName(id schema.KeyID) string {
	if a := load(&g.keyNames); int(id) < len(a) {
		return a[id]
	}
	return ""
}

// Keys returns the names of all keys by id; holes are "".
func (g *Graph) Keys() []string { return load(&g.keyNames) }

// Label returns a label by id, nil if there is none.
func (g *Graph) Label(id schema.LabelID) *Label {
	if a := load(&g.labels); int(id) < len(a) {
		return a[id]
	}
	return nil
}

// Labels returns all labels by id; holes are nil, and dropped ones are among them.
func (g *Graph) Labels() []*Label { return load(&g.labels) }

// LabelByName returns the label that the name means to the snapshot: the newest whose end it does not see.
func (g *Graph) LabelByName(snap *txn.Snapshot, cid uint32, name string, e schema.Entity) *Label {
	g.mu.RLock()
	all := g.labelIDs[labelName{name, e}]
	g.mu.RUnlock()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].seen(snap, cid) {
			return all[i]
		}
	}
	return nil
}

// LiveLabel returns the label that the name means to a writer.
func (g *Graph) LiveLabel(tx *txn.Tx, name string, e schema.Entity) *Label {
	g.mu.RLock()
	all := g.labelIDs[labelName{name, e}]
	g.mu.RUnlock()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].live(g.cat.m, tx) {
			return all[i]
		}
	}
	return nil
}

// Set returns a label set by id, nil if there is none.
func (g *Graph) Set(id schema.LabelSetID) *LabelSet {
	if a := load(&g.sets); int(id) < len(a) {
		return a[id]
	}
	return nil
}

// Index returns an index by id, nil if there is none.
func (g *Graph) Index(id schema.IndexID) *Index {
	for _, ix := range load(&g.indexes) {
		if ix.ID == id {
			return ix
		}
	}
	return nil
}

// Indexes calls f with the indexes that the snapshot sees.
func (g *Graph) Indexes(snap *txn.Snapshot, cid uint32, f func(*Index)) {
	for _, ix := range load(&g.indexes) {
		if ix.seen(snap, cid) {
			f(ix)
		}
	}
}

// LiveIndexes appends the indexes that a writer of the transaction must keep up to date.
func (g *Graph) LiveIndexes(dst []*Index, tx *txn.Tx) []*Index {
	for _, ix := range load(&g.indexes) {
		if ix.live(g.cat.m, tx) {
			dst = append(dst, ix)
		}
	}
	return dst
}

// HasIndexes reports whether the graph may have an index or constraint at all.
func (g *Graph) HasIndexes() bool { return len(load(&g.indexes)) > 0 || len(load(&g.constraints)) > 0 }

// LiveConstraints appends the constraints that bind a writer.
func (g *Graph) LiveConstraints(dst []*Constraint, tx *txn.Tx) []*Constraint {
	for _, c := range load(&g.constraints) {
		if c.live(g.cat.m, tx) {
			dst = append(dst, c)
		}
	}
	return dst
}

// Constraints calls f with the constraints that the snapshot sees.
func (g *Graph) Constraints(snap *txn.Snapshot, cid uint32, f func(*Constraint)) {
	for _, c := range load(&g.constraints) {
		if c.seen(snap, cid) {
			f(c)
		}
	}
}

// Gone reports whether the label's end is committed: whoever waited for a lock on it must not go on with it.
func (l *Label) Gone() bool {
	v := *l.v.Load()
	if v.Mask&txn.XmaxNone != 0 {
		return false
	}
	if v.Mask&txn.XmaxSeen != 0 {
		return true
	}
	st, _ := l.Graph.cat.m.Outcome(v.Xmax)
	return st == txn.Committed
}

// Live reports whether the label exists for a writer of the transaction.
func (l *Label) Live(tx *txn.Tx) bool { return l.live(l.Graph.cat.m, tx) }

// Live reports whether a writer of the transaction must keep the index up to date.
func (ix *Index) Live(tx *txn.Tx) bool { return ix.live(ix.Graph.cat.m, tx) }

// Usable reports whether a read with the snapshot may go through the index: it sees the index's row, and every version that it sees
// has an entry.
func (ix *Index) Usable(snap *txn.Snapshot, cid uint32) bool {
	return uint64(ix.Built) <= snap.CSN() && ix.seen(snap, cid)
}

// Live reports whether the graph exists for a writer of the transaction.
func (g *Graph) Live(tx *txn.Tx) bool { return g.live(g.cat.m, tx) }

// Gone reports whether the graph's end is committed.
func (g *Graph) Gone() bool {
	v := *g.v.Load()
	if v.Mask&txn.XmaxNone != 0 {
		return false
	}
	st, _ := g.cat.m.Outcome(v.Xmax)
	return st == txn.Committed
}

// Files returns the label's relation files.
func (l *Label) Files() (fs []page.RelFile) {
	for _, f := range [...]page.RelFile{l.heapFile, l.idFile, l.outFile, l.inFile} {
		if f != 0 {
			fs = append(fs, f)
		}
	}
	return fs
}

// File returns the index's relation file.
func (ix *Index) File() page.RelFile { return ix.relfile }

// FilesGone reports whether the label's relations are gone: it was dropped, for everybody, and nothing was left in its heap.
func (l *Label) FilesGone() bool { return l.filesGone.Load() && l.Gone() }
