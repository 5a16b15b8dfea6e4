package adjacency

import (
	"sync/atomic"
	"unsafe"

	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// Generation is one state of a segment: lists that never change, and the events since. Whoever reads the list of one vertex reads it from one
// generation; it stays what it is, however the segment goes on.
type Generation struct {
	base
	first uint64 // of the run
	delta atomic.Pointer[delta]

	// Guarded by the segment's mutex: events that the builder has read and whose transactions had not ended, so that they may yet be told of.
	seen    map[key]struct{}
	seenMax txn.XID
}

// View is what a reader sees.
type View struct {
	Snap *txn.Snapshot
	CID  uint32
}

// Scratch is the memory of a reader. The zero value is ready.
type Scratch struct {
	ins, del []event
	ps       []Piece
	rel      []uint32 // lent in pieces: never overwritten while those are used
	other    []uint32
	Walked   int // events looked at since the caller set it to zero
}

// Forget says that no piece of earlier lists is used any more.
func (s *Scratch) Forget() { s.rel, s.other = s.rel[:0], s.other[:0] }

// Fresh says that pieces are still used: what comes is put elsewhere.
func (s *Scratch) Fresh() { s.rel, s.other = nil, nil }

// List appends to dst what the view sees of a vertex's relationships, in the order of (far end, relationship). dirty tells that there were events.
func (g *Generation) List(vertex uint64, v View, s *Scratch, dst []Piece) (out []Piece, dirty bool) {
	at := uint16(vertex - g.first)
	d := g.delta.Load()
	if d == nil {
		return g.pieces(at, dst), false
	}
	head := d.head(at)
	if head == 0 {
		return g.pieces(at, dst), false
	}
	var walked int
	s.ins, s.del, walked = d.visible(head, v, anyFar, s.ins, s.del)
	s.Walked += walked
	if len(s.ins) == 0 && len(s.del) == 0 {
		return g.pieces(at, dst), true
	}
	s.ps = g.pieces(at, s.ps[:0])
	return s.merge(dst), true
}

// merge puts the changes into the pieces: what did not change is lent, between what did.
func (s *Scratch) merge(dst []Piece) []Piece {
	ins, del := s.ins, s.del
	for i := range s.ps {
		p := s.ps[i]
		n := len(p.Rel)
		far, rel := p.far(n-1), p.rel(n-1)
		from := 0
		lend := func(to int) {
			if from < to {
				dst = append(dst, p.Cut(from, to))
			}
		}
		for {
			var e *event
			if len(ins) > 0 && (len(del) == 0 || ins[0].before(&del[0]) < 0) {
				e = &ins[0]
			} else if len(del) > 0 {
				e = &del[0]
			}
			if e == nil || e.far > far || e.far == far && e.rel > rel {
				break
			}
			at := from
			if rest := p.Cut(from, n); len(rest.Rel) > 0 {
				at += rest.search(e.far, e.rel)
			}
			lend(at)
			from = at
			if !e.del() {
				dst = s.put(dst, e)
				ins = ins[1:]
				continue
			}
			if at < n && p.rel(at) == e.rel {
				from++
			}
			del = del[1:]
		}
		lend(n)
	}
	for i := range ins {
		dst = s.put(dst, &ins[i])
	}
	return dst
}

// put appends a relationship that came as a piece, or to the last one if that is of scratch memory too and fits.
func (s *Scratch) put(dst []Piece, e *event) []Piece {
	grown := len(s.rel) == cap(s.rel)
	s.rel, s.other = append(s.rel, uint32(e.rel)), append(s.other, uint32(e.far))
	n := len(s.rel)
	if k := len(dst); k > 0 && !grown && n > 1 && cap(s.other) >= n {
		p := &dst[k-1]
		m := len(p.Rel)
		if p.RelHigh == e.rel&high && p.OtherHigh == e.far&high && m < n && &p.Rel[m-1] == &s.rel[n-2] && &p.Other[m-1] == &s.other[n-2] {
			p.Rel, p.Other = s.rel[n-1-m:n:n], s.other[n-1-m:n:n]
			return dst
		}
	}
	return append(dst, Piece{e.rel & high, e.far & high, s.rel[n-1 : n : n], s.other[n-1 : n : n]})
}

// Degree counts what List finds.
func (g *Generation) Degree(vertex uint64, v View, s *Scratch) (n int, dirty bool) {
	at := uint16(vertex - g.first)
	n = g.degree(at)
	d := g.delta.Load()
	if d == nil {
		return n, false
	}
	head := d.head(at)
	if head == 0 {
		return n, false
	}
	log := *d.log.Load()
	for head != 0 {
		e := &log[head-1]
		head = e.prev
		s.Walked++
		if v.Snap.SeesChange(e.xid(), e.cid, e.rel, v.CID) {
			n += 1 - 2*int(e.x&1)
		}
	}
	return n, true
}

// maxWalk is how many changes of a vertex Between looks at: more cost more than a probe of the index.
const maxWalk = 512

// Between appends what List finds of one far end; not ok if the index is the better one to ask.
func (g *Generation) Between(vertex, far uint64, v View, s *Scratch, dst []Piece) (out []Piece, dirty, ok bool) {
	at := uint16(vertex - g.first)
	s.ins, s.del = s.ins[:0], s.del[:0]
	if d := g.delta.Load(); d != nil {
		if head := d.head(at); head != 0 {
			dirty = true
			var walked int
			s.ins, s.del, walked = d.visible(head, v, far, s.ins, s.del)
			if s.Walked += walked; walked > maxWalk {
				return dst, true, false
			}
		}
	}
	if len(s.ins)+len(s.del) == 0 {
		return g.between(at, far, dst), dirty, true
	}
	s.ps = g.between(at, far, s.ps[:0])
	return s.merge(dst), dirty, true
}

// Loops tells whether some vertex may have a relationship with itself.
func (g *Generation) Loops() bool { return g.loops > 0 || g.delta.Load() != nil }

// Edges is the number of relationships in the lists that never change.
func (g *Generation) Edges() int { return g.edges }

// bytes is the memory of a generation; the segment's mutex is held, or nobody else knows the generation.
func (g *Generation) bytes() int64 {
	n := int64(unsafe.Sizeof(*g)) + g.base.bytes() + int64(len(g.seen))*32
	if d := g.delta.Load(); d != nil {
		n += d.bytes()
	}
	return n
}

// push appends an event; the segment's mutex is held.
func (g *Generation) push(vertex uint64, e event) (grew int64) {
	d := g.delta.Load()
	if d == nil {
		d = newDelta(0)
		grew = d.bytes()
		g.delta.Store(d)
	}
	return grew + d.push(uint16(vertex-g.first), e)
}

// byVertex calls f with the first n events in the order in which they were told of. The number was read under the segment's mutex; reading needs none.
func (d *delta) byVertex(w *folder, n int, f func(v uint16, e *event)) {
	log := *d.log.Load()
	of := append(w.of[:0], make([]int32, n)...) // the vertex of each event, + 1
	w.of = of
	for v := range runSize {
		for h := d.head(uint16(v)); h != 0; h = log[h-1].prev {
			if int(h) <= n {
				of[h-1] = int32(v) + 1
			} else if int(h) > len(log) {
				log = *d.log.Load()
			}
		}
	}
	for i := range of {
		if of[i] > 0 {
			f(uint16(of[i]-1), &log[i])
		}
	}
}

// Touch looks at what List of each vertex will read first. Nothing that is looked at depends on what is found for another vertex, so that the
// waits for memory overlap: done for some dozens of vertices before their lists are read, it halves the time of those that are in no cache. The
// result means nothing.
func (d *Side) Touch(vertices []uint64) (sum uint32) {
	for _, vertex := range vertices {
		s := d.at(RunOf(vertex))
		if s == nil {
			continue
		}
		g := s.gen.Load()
		if g == nil {
			continue
		}
		sum += g.touch(vertex)
	}
	return sum
}

func (g *Generation) touch(vertex uint64) (sum uint32) {
	at := uint16(vertex & (runSize - 1))
	if d := g.delta.Load(); d != nil {
		sum = d.head(at)
	}
	if int(at) < len(g.off) && g.ids == nil {
		if lo := int(g.off[at]); lo < len(g.other) {
			sum += g.other[lo] + g.rel[lo]
		}
	}
	return sum
}
