package local

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/recovery"
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

// Counts are the committed numbers of vertices and relationships. Changes are published in the order of commits before the
// commits become visible, travel in commit records, and are carried by checkpoints with the CSN that they are good for.
type Counts struct {
	mu  sync.RWMutex // guards the fields below
	csn page.LSN     // commits above it are not counted in
	n   map[countKey]int64
	all map[schema.GraphID]*graphCounts
}

// graphCounts are sums, kept so that a planner's question costs a look-up.
type graphCounts struct {
	nodes, rels int64
	byType      map[schema.LabelID]int64
	bySet       map[schema.LabelSetID]int64
}

var _ recovery.Participant = (*Counts)(nil)

// NewCounts returns counters that Restore and redo fill.
func NewCounts() *Counts {
	return &Counts{n: map[countKey]int64{}, all: map[schema.GraphID]*graphCounts{}}
}

func (c *Counts) addLocked(k countKey, d int64) {
	if v := c.n[k] + d; v != 0 {
		c.n[k] = v
	} else {
		delete(c.n, k)
	}
	g := c.all[k.graph]
	if g == nil {
		g = &graphCounts{byType: map[schema.LabelID]int64{}, bySet: map[schema.LabelSetID]int64{}}
		c.all[k.graph] = g
	}
	if k.kind == countNodes {
		g.nodes += d
		g.bySet[schema.LabelSetID(k.b)] += d
		return
	}
	g.rels += d
	g.byType[schema.LabelID(k.a)] += d
}

const countBytes = 1 + 4 + 2 + 4 + 8

func appendCount(b []byte, k countKey, v int64) []byte {
	b = append(b, k.kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(k.graph))
	b = binary.LittleEndian.AppendUint16(b, k.a)
	b = binary.LittleEndian.AppendUint32(b, k.b)
	return binary.LittleEndian.AppendUint64(b, uint64(v))
}

func (c *Counts) addEncodedLocked(b []byte) error {
	if len(b)%countBytes != 0 {
		return dberr.New(dberr.DataCorrupted, "counters of %d bytes are malformed", len(b))
	}
	for ; len(b) > 0; b = b[countBytes:] {
		k := countKey{kind: b[0], graph: schema.GraphID(binary.LittleEndian.Uint32(b[1:])), a: binary.LittleEndian.Uint16(b[5:]),
			b: binary.LittleEndian.Uint32(b[7:])}
		c.addLocked(k, int64(binary.LittleEndian.Uint64(b[11:])))
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
	c.csn = rec.LSN
	return c.addEncodedLocked(data)
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
	return c.addEncodedLocked(b[8:])
}

func (c *Counts) nodes(g *graphView, l schema.LabelID) int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := c.all[g.g.ID]
	if s == nil {
		return 0
	}
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

func (c *Counts) rels(g schema.GraphID, t schema.LabelID) int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := c.all[g]
	if s == nil {
		return 0
	}
	if t == schema.NoLabel || t == schema.EdgeLabel {
		return s.rels
	}
	return s.byType[t]
}

// relsFrom sums the relationships of type t (any for NoLabel) by the storage label of one end.
func (c *Counts) relsFrom(g schema.GraphID, t, l schema.LabelID, out bool) int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	n := int64(0)
	for k, v := range c.n {
		if k.graph != g || k.kind != countRels || t != schema.NoLabel && k.a != uint16(t) {
			continue
		}
		end := schema.LabelID(k.b >> 16)
		if !out {
			end = schema.LabelID(k.b & 0xffff)
		}
		if end == l {
			n += v
		}
	}
	return n
}

// deltas are a transaction's changes by subtransaction, in the order of their numbers; it hears from txn how they end.
type deltas struct {
	c      *Counts
	tx     *txn.Tx
	list   []delta
	buf    []byte
	joined bool
}

type delta struct {
	sub uint32
	n   map[countKey]int64
}

func (d *deltas) add(k countKey, v int64) {
	if !d.joined {
		d.tx.Join(d)
		d.joined = true
	}
	sub := d.tx.Sub()
	if n := len(d.list); n == 0 || d.list[n-1].sub != sub {
		d.list = append(d.list, delta{sub, map[countKey]int64{}})
	}
	d.list[len(d.list)-1].n[k] += v
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
	d.c.mu.Lock()
	defer d.c.mu.Unlock()
	d.c.csn = max(d.c.csn, csn)
	// buf is what BeforeCommit made; it cannot be malformed.
	_ = d.c.addEncodedLocked(d.buf)
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
