package local

import (
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/access/adjacency"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// memory is what the reads of a statement have allocated, for those of the next one: cursors that are closed, and buffers. It holds nothing of
// the statement that has left it.
type memory struct {
	r      reader
	expand stack[expand]
	seek   stack[seek]
}

// Limits of what is kept: a statement that needed more is no small one.
const (
	keptBuffer  = 16 << 10 // bytes of one buffer
	keptCursors = 16       // indexes of an expand
)

var memories = sync.Pool{New: func() any { return new(memory) }}

// take lends a graph's reads the memory of an earlier statement.
func (g *graphView) take() {
	m := memories.Get().(*memory)
	g.mem, g.r, g.spare.expand, g.spare.seek = m, m.r, m.expand, m.seek
	m.r, m.expand, m.seek = reader{}, stack[expand]{}, stack[seek]{}
}

// give gives the memory back at the end of the statement. A cursor that is still open stays its owner's.
func (g *graphView) give() {
	m := g.mem
	if m == nil {
		return
	}
	g.r.done()
	m.r, g.r = g.r, reader{}
	if cap(m.r.buf)+cap(m.r.mapBuf) > keptBuffer || m.r.mb != nil {
		m.r = reader{open: m.r.open, ptrs: m.r.ptrs, key: m.r.key}
	}
	for x := g.spare.expand.pop(); x != nil; x = g.spare.expand.pop() {
		if x.rest() {
			m.expand.push(x)
		}
	}
	for c := g.spare.seek.pop(); c != nil; c = g.spare.seek.pop() {
		if c.rest() {
			m.seek.push(c)
		}
	}
	g.mem, g.spare = nil, spares{}
	memories.Put(m)
}

// rest makes a closed expand forget its statement; false if it is too large to be kept.
func (x *expand) rest() bool {
	if cap(x.curs) > keptCursors || 8*(cap(x.src)+cap(x.dst)) > keptBuffer {
		return false
	}
	x.g, x.v, x.view = nil, store.View{}, adjacency.View{}
	x.counting, x.scratch = nil, adjacency.Scratch{}
	clear(x.types[:cap(x.types)])
	clear(x.segs[:cap(x.segs)])
	clear(x.ps[:cap(x.ps)])
	return true
}

// rest makes a closed seek forget its statement; false if it is too large to be kept.
func (c *seek) rest() bool {
	n := cap(c.lower) + cap(c.upp) + cap(c.pendKey)
	for i := range c.cols[:cap(c.cols)] {
		n += c.cols[:cap(c.cols)][i].Size()
	}
	if n > keptBuffer || cap(c.run) > 0 {
		return false
	}
	eq, vals := c.ask.Eq, c.eq[:cap(c.eq)]
	clear(eq[:cap(eq)])
	clear(vals)
	*c = seek{cur: c.cur, cols: c.cols, eq: vals, lower: c.lower, upp: c.upp, ask: store.Seek{Eq: eq[:0]}, closed: true}
	return true
}

// writers are kept from transaction to transaction.
var writers = sync.Pool{New: func() any { return new(writer) }}

// writer is the memory of the transaction's writes.
func (t *tx) writer() *writer {
	if t.w == nil {
		t.w = writers.Get().(*writer)
	}
	return t.w
}

// rest makes a writer forget its transaction; false if it is too large to be kept.
func (w *writer) rest() bool {
	bytes := cap(w.old) + cap(w.oldMap) + cap(w.out) + cap(w.arena) + cap(w.key) + cap(w.okey) + 24*cap(w.m.vals)
	for _, n := range [...]int{cap(w.ends), cap(w.rows), cap(w.tids), cap(w.order), cap(w.ids), cap(w.hits.ID), cap(w.edges.Rel), cap(w.drops)} {
		bytes += 8 * n
	}
	if bytes > 4*keptBuffer || w.m.last != nil {
		return false
	}
	clear(w.rows[:cap(w.rows)])
	clear(w.drops[:cap(w.drops)])
	clear(w.m.vals[:cap(w.m.vals)])
	*w = writer{
		m: merged{keys: w.m.keys, vals: w.m.vals}, old: w.old, oldMap: w.oldMap, out: w.out, arena: w.arena, ends: w.ends, rows: w.rows,
		tids: w.tids, key: w.key, okey: w.okey, order: w.order, ids: w.ids, hits: w.hits, edges: w.edges, drops: w.drops,
	}
	return true
}

// relLocks are the relation locks that a transaction holds: a bit for each mode.
type relLocks struct {
	few  [6]relLock
	n    int
	many map[uint64]uint16 // beyond few
}

type relLock struct {
	rel   uint64
	modes uint16
}

// modes returns the modes in which a relation is locked.
func (l *relLocks) modes(rel uint64) uint16 {
	for i := range l.few[:l.n] {
		if l.few[i].rel == rel {
			return l.few[i].modes
		}
	}
	return l.many[rel]
}

// add notes a lock.
func (l *relLocks) add(rel uint64, mode txn.Mode) {
	for i := range l.few[:l.n] {
		if l.few[i].rel == rel {
			l.few[i].modes |= 1 << mode
			return
		}
	}
	switch {
	case l.n < len(l.few):
		l.few[l.n] = relLock{rel, 1 << mode}
		l.n++
		return
	case l.many == nil:
		l.many = map[uint64]uint16{}
	}
	l.many[rel] |= 1 << mode
}

// holds reports whether a label's heap is locked in a mode.
func (l *relLocks) holds(label *catalog.Label, mode txn.Mode) bool {
	return l.modes(label.Rel())&(1<<mode) != 0
}
