package local

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/recovery"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// PayloadCounts is the kind of the counter changes in commit records.
const PayloadCounts uint8 = 1

// Kinds of counters (rules B9).
const (
	countNodes uint8 = 1 // a: storage label, b: label set
	countRels  uint8 = 2 // a: type, b: storage labels of start and end
	countLoops uint8 = 3 // a: type; relationships whose ends are one vertex, which are counted by countRels too
)

// countKey names a counter.
type countKey struct {
	graph schema.GraphID
	kind  uint8
	a     uint16
	b     uint32
}

func nodeKey(g schema.GraphID, heap schema.LabelID, set schema.LabelSetID) countKey {
	return countKey{g, countNodes, uint16(heap), uint32(set)}
}

func relKey(g schema.GraphID, t, src, dst schema.LabelID) countKey {
	return countKey{g, countRels, uint16(t), uint32(src)<<16 | uint32(dst)}
}

func loopKey(g schema.GraphID, t schema.LabelID) countKey {
	return countKey{g, countLoops, uint16(t), 0}
}

func (k countKey) ends() (src, dst schema.LabelID) {
	return schema.LabelID(k.b >> 16), schema.LabelID(k.b & 0xffff)
}

// Counts are the committed numbers of vertices and relationships. Changes are published in the order of commits before the
// commits become visible, travel in commit records, and are carried by checkpoints with the CSN that they are good for. What the newest
// commits changed is kept, so that a snapshot which does not see them all still finds its own numbers.
type Counts struct {
	mu   sync.RWMutex // guards the fields below
	csn  page.LSN     // commits above it are not counted in
	n    map[countKey]int64
	all  map[schema.GraphID]*graphCounts
	undo undo
}

// graphCounts are sums, kept so that a planner's question costs a look-up.
type graphCounts struct {
	nodes int64
	bySet map[schema.LabelSetID]int64
	heaps map[schema.LabelID]map[schema.LabelSetID]int64
	rels  map[relTriple]int64
}

// relTriple is type, storage label of the start and of the end; NoLabel stands for any.
type relTriple struct{ t, src, dst schema.LabelID }

var _ recovery.Participant = (*Counts)(nil)

// NewCounts returns counters that Restore and redo fill.
func NewCounts() *Counts {
	return &Counts{n: map[countKey]int64{}, all: map[schema.GraphID]*graphCounts{}}
}

// change is what a commit did to a counter.
type change struct {
	k countKey
	d int64
}

func addTo[K comparable](m map[K]int64, k K, d int64) {
	if v := m[k] + d; v != 0 {
		m[k] = v
	} else {
		delete(m, k)
	}
}

func (c *Counts) addLocked(k countKey, d int64) {
	addTo(c.n, k, d)
	g := c.all[k.graph]
	if g == nil {
		g = &graphCounts{bySet: map[schema.LabelSetID]int64{}, heaps: map[schema.LabelID]map[schema.LabelSetID]int64{}, rels: map[relTriple]int64{}}
		c.all[k.graph] = g
	}
	switch k.kind {
	case countNodes:
		g.nodes += d
		heap, set := schema.LabelID(k.a), schema.LabelSetID(k.b)
		addTo(g.bySet, set, d)
		if g.heaps[heap] == nil {
			g.heaps[heap] = map[schema.LabelSetID]int64{}
		}
		addTo(g.heaps[heap], set, d)
	case countRels:
		src, dst := k.ends()
		for _, t := range [2]schema.LabelID{schema.LabelID(k.a), schema.NoLabel} {
			for _, s := range [2]schema.LabelID{src, schema.NoLabel} {
				for _, e := range [2]schema.LabelID{dst, schema.NoLabel} {
					addTo(g.rels, relTriple{t, s, e}, d)
				}
			}
		}
	}
}

const countBytes = 1 + 4 + 2 + 4 + 8

func appendCount(b []byte, k countKey, v int64) []byte {
	b = append(b, k.kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(k.graph))
	b = binary.LittleEndian.AppendUint16(b, k.a)
	b = binary.LittleEndian.AppendUint32(b, k.b)
	return binary.LittleEndian.AppendUint64(b, uint64(v))
}

// decodeCounts calls f with every counter of an encoded run.
func decodeCounts(b []byte, f func(countKey, int64)) error {
	if len(b)%countBytes != 0 {
		return dberr.New(dberr.DataCorrupted, "counters of %d bytes are malformed", len(b))
	}
	for ; len(b) > 0; b = b[countBytes:] {
		k := countKey{kind: b[0], graph: schema.GraphID(binary.LittleEndian.Uint32(b[1:])), a: binary.LittleEndian.Uint16(b[5:]),
			b: binary.LittleEndian.Uint32(b[7:])}
		f(k, int64(binary.LittleEndian.Uint64(b[11:])))
	}
	return nil
}

// Redo adds the changes of a commit that the checkpoint did not know.
func (c *Counts) Redo(_ *recovery.Context, rec *wal.Record, data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if rec.LSN <= c.csn {
		return nil
	}
	c.csn, c.undo.floor = rec.LSN, rec.LSN
	return decodeCounts(data, c.addLocked)
}

// Name is for messages.
func (c *Counts) Name() string { return "counts" }

// Checkpoint returns the present values and the CSN that they are good for. Commits between redo and that CSN are not added again.
func (c *Counts) Checkpoint(_ context.Context, redo page.LSN) ([]byte, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	// Every commit below redo is published (A4), so no commit lies between the newest one that is counted in and redo.
	b := binary.LittleEndian.AppendUint64(nil, uint64(max(c.csn, redo)))
	for k, v := range c.n {
		b = appendCount(b, k, v)
	}
	return b, nil
}

// WaitFinal has nothing to wait for: the transaction manager publishes what is below redo.
func (c *Counts) WaitFinal(context.Context, page.LSN) error { return nil }

// Restore reads what Checkpoint returned.
func (c *Counts) Restore(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(b) == 0 {
		return nil
	}
	if len(b) < 8 {
		return dberr.New(dberr.DataCorrupted, "counters of %d bytes are malformed", len(b))
	}
	c.csn = page.LSN(binary.LittleEndian.Uint64(b))
	c.undo.floor = c.csn
	return decodeCounts(b[8:], c.addLocked)
}

func (c *Counts) nodes(g *graphView, l schema.LabelID) int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := c.all[g.g.ID]
	if s == nil {
		return 0
	}
	return s.nodesOf(g, l)
}

func (s *graphCounts) nodesOf(g *graphView, l schema.LabelID) int64 {
	if l == schema.NoLabel || l == schema.VertexLabel {
		return s.nodes
	}
	n := int64(0)
	for id, v := range s.bySet {
		if set := g.g.Set(id); set != nil && set.Has(l) {
			n += v
		}
	}
	return n
}

// together is the number of vertices that have all the labels.
func (c *Counts) together(g *graphView, labels []schema.LabelID) int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := c.all[g.g.ID]
	if s == nil {
		return 0
	}
	n := int64(0)
next:
	for id, v := range s.bySet {
		set := g.g.Set(id)
		for _, l := range labels {
			if set == nil || !set.Has(l) {
				continue next
			}
		}
		n += v
	}
	return n
}

// rels is the number of relationships of a type from vertices with one label to vertices with another; NoLabel stands for any. It is
// exact while the vertices that are stored under one label have the same labels, else relationships are shared out evenly among them.
func (c *Counts) rels(g *graphView, t, src, dst schema.LabelID) float64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := c.all[g.g.ID]
	if s == nil {
		return 0
	}
	if t == schema.EdgeLabel {
		t = schema.NoLabel
	}
	from, to := s.storedAs(g, src), s.storedAs(g, dst)
	n := 0.0
	for _, a := range from {
		for _, b := range to {
			n += float64(s.rels[relTriple{t, a.heap, b.heap}]) * a.part * b.part
		}
	}
	return n
}

// storage is a storage label and the part of the vertices there that has a label.
type storage struct {
	heap schema.LabelID
	part float64
}

// whole reports whether a label is on all or none of the vertices of every storage label: then [Counts.rels] is exact.
func (c *Counts) whole(g *graphView, l schema.LabelID) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if s := c.all[g.g.ID]; s != nil {
		for _, x := range s.storedAs(g, l) {
			if x.part < 1 {
				return false
			}
		}
	}
	return true
}

func (s *graphCounts) storedAs(g *graphView, l schema.LabelID) []storage {
	if l == schema.NoLabel || l == schema.VertexLabel {
		return []storage{{schema.NoLabel, 1}}
	}
	var out []storage
	for heap, sets := range s.heaps {
		var with, all int64
		for id, v := range sets {
			all += v
			if set := g.g.Set(id); set != nil && set.Has(l) {
				with += v
			}
		}
		if with > 0 && all > 0 {
			out = append(out, storage{heap, float64(with) / float64(all)})
		}
	}
	return out
}

// exact is the committed number of what match picks at a snapshot's CSN; not ok if too much was committed since (rules B9).
func (c *Counts) exact(g *graphView, csn page.LSN, e schema.Entity, l schema.LabelID, match func(countKey) int64) (n int64, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if csn < c.undo.floor {
		return 0, false
	}
	if s := c.all[g.g.ID]; s != nil {
		if e == schema.Vertex {
			n = s.nodesOf(g, l)
		} else {
			n = s.rels[relTriple{t: l}]
		}
	}
	c.undo.since(csn, func(ch change) { n -= ch.d * match(ch.k) })
	return n, true
}

// loops is exact for relationships that begin and end at one vertex.
func (c *Counts) loops(g *graphView, csn page.LSN, match func(countKey) int64) (n int64, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if csn < c.undo.floor {
		return 0, false
	}
	for k, v := range c.n {
		n += v * match(k)
	}
	c.undo.since(csn, func(ch change) { n -= ch.d * match(ch.k) })
	return n, true
}

// each calls f for what makes up every counter at a snapshot's CSN; not ok if too much was committed since.
func (c *Counts) each(csn page.LSN, f func(countKey, int64)) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if csn < c.undo.floor {
		return false
	}
	for k, v := range c.n {
		f(k, v)
	}
	c.undo.since(csn, func(ch change) { f(ch.k, -ch.d) })
	return true
}

// Bounds of what is kept to go back.
const (
	undoCommits = 1024
	undoChanges = 1 << 16
)

// undo holds the changes of the newest commits. Values at a CSN of floor or more can be told.
type undo struct {
	floor   page.LSN
	commits []undoCommit // by CSN
	changes int
}

type undoCommit struct {
	csn     page.LSN
	changes []change
}

func (u *undo) push(csn page.LSN, ch []change) {
	u.commits = append(u.commits, undoCommit{csn, ch})
	u.changes += len(ch)
	drop := 0
	for len(u.commits)-drop > undoCommits || u.changes > undoChanges && drop < len(u.commits) {
		u.floor = u.commits[drop].csn
		u.changes -= len(u.commits[drop].changes)
		u.commits[drop].changes = nil
		drop++
	}
	u.commits = u.commits[drop:] // append moves what is left to fresh memory now and then
}

// since calls f with what commits above csn changed.
func (u *undo) since(csn page.LSN, f func(change)) {
	for i := len(u.commits) - 1; i >= 0 && u.commits[i].csn > csn; i-- {
		for _, ch := range u.commits[i].changes {
			f(ch)
		}
	}
}

// deltas are a transaction's changes by subtransaction and command id, in the order of the subtransactions' numbers; it hears from txn how
// they end.
type deltas struct {
	c      *Counts
	tx     *txn.Tx
	list   []delta
	buf    []byte
	joined bool

	changed *changes
	touched []touched // whatever becomes of subtransactions: it decides nothing but when to analyse
}

// delta is what commands lo … hi of a subtransaction changed.
type delta struct {
	sub    uint32
	lo, hi uint32
	n      map[countKey]int64
}

// maxDeltas is how many commands are kept apart; then neighbours are put together, and a count that would have to part them is a scan.
const maxDeltas = 64

func (d *deltas) join() {
	if !d.joined {
		d.tx.Join(d)
		d.joined = true
	}
}

func (d *deltas) add(cid uint32, k countKey, v int64) {
	d.join()
	addTo(d.at(d.tx.Sub(), cid).n, k, v)
}

// at finds the changes of a command. The clauses of one segment take turns, so it is among the newest.
func (d *deltas) at(sub, cid uint32) *delta {
	for i := len(d.list) - 1; i >= max(0, len(d.list)-8) && d.list[i].sub == sub; i-- {
		if l := &d.list[i]; l.lo == cid && l.hi == cid {
			return l
		}
	}
	if len(d.list) >= maxDeltas {
		d.compress()
	}
	d.list = append(d.list, delta{sub, cid, cid, map[countKey]int64{}})
	return &d.list[len(d.list)-1]
}

// compress puts neighbours of the same subtransaction together.
func (d *deltas) compress() {
	keep := d.list[:0]
	for i := 0; i < len(d.list); i++ {
		l := d.list[i]
		if i+1 < len(d.list) && d.list[i+1].sub == l.sub {
			i++
			o := d.list[i]
			for k, v := range o.n {
				addTo(l.n, k, v)
			}
			l.lo, l.hi = min(l.lo, o.lo), max(l.hi, o.hi)
		}
		keep = append(keep, l)
	}
	clear(d.list[len(keep):])
	d.list = keep
}

// before sums what commands below cid changed; not ok if that cannot be told apart from what others did.
func (d *deltas) before(cid uint32, match func(countKey) int64) (n int64, ok bool) {
	ok = d.each(cid, func(k countKey, v int64) { n += v * match(k) })
	return n, ok
}

// each calls f for every change by commands below cid; not ok as with before.
func (d *deltas) each(cid uint32, f func(countKey, int64)) bool {
	for i := range d.list {
		l := &d.list[i]
		if l.lo >= cid {
			continue
		}
		if l.hi >= cid {
			return false
		}
		for k, v := range l.n {
			f(k, v)
		}
	}
	return true
}

// Phase makes counters move before anybody can see the commit (rules A2).
func (d *deltas) Phase() txn.Phase { return txn.PhaseCounters }

// BeforeCommit puts the sums into the commit record.
func (d *deltas) BeforeCommit(r *txn.CommitRecord) error {
	sum := map[countKey]int64{}
	for _, l := range d.list {
		for k, v := range l.n {
			sum[k] += v
		}
	}
	d.buf = d.buf[:0]
	for k, v := range sum {
		if v != 0 {
			d.buf = appendCount(d.buf, k, v)
		}
	}
	if len(d.buf) > 0 {
		r.Add(PayloadCounts, d.buf)
	}
	return nil
}

// Publish adds the changes.
func (d *deltas) Publish(csn page.LSN) {
	changes := make([]change, 0, len(d.buf)/countBytes)
	// buf is what BeforeCommit made; it cannot be malformed.
	_ = decodeCounts(d.buf, func(k countKey, v int64) { changes = append(changes, change{k, v}) })
	d.c.mu.Lock()
	for _, ch := range changes {
		d.c.addLocked(ch.k, ch.d)
	}
	d.c.csn = max(d.c.csn, csn)
	if len(changes) > 0 {
		d.c.undo.push(csn, changes)
	}
	d.c.mu.Unlock()
	if len(d.touched) > 0 {
		d.changed.add(d.touched)
	}
	sched.Point("counts.published")
}

// Abort forgets them.
func (d *deltas) Abort() { d.list = nil }

// RollbackSub forgets those of subtransactions that were undone.
func (d *deltas) RollbackSub(sub uint32) {
	keep := d.list[:0]
	for _, l := range d.list {
		if l.sub < sub {
			keep = append(keep, l)
		}
	}
	d.list = keep
}
