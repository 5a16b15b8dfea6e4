package adjacency

import (
	"slices"
	"sort"
	"sync"
)

const (
	runSize = 1 << runBits
	high    = ^uint64(1<<32 - 1) // the upper half of an id

	// sparseBelow is how many vertices of a run must have neighbours for their places to be kept in an array (rules B10).
	sparseBelow = runSize / 8
)

// sizes say from how many relationships on a vertex is a hub: its list is kept in chunks, so that folding a change copies one of them. One that
// has shrunk below half of that is none any more.
type sizes struct{ hub, chunk int }

// Piece is a part of the list of one vertex: relationships in the order of (far end, relationship), the upper halves of their ids apart.
type Piece struct {
	RelHigh, OtherHigh uint64
	Rel, Other         []uint32
}

func (p *Piece) rel(i int) uint64 { return p.RelHigh | uint64(p.Rel[i]) }
func (p *Piece) far(i int) uint64 { return p.OtherHigh | uint64(p.Other[i]) }

// Cut returns the relationships from … to-1.
func (p *Piece) Cut(from, to int) Piece {
	return Piece{p.RelHigh, p.OtherHigh, p.Rel[from:to:to], p.Other[from:to:to]}
}

// Len counts the relationships of a list.
func Len(ps []Piece) (n int) {
	for i := range ps {
		n += len(ps[i].Rel)
	}
	return n
}

// Without takes the relationships with one far end out of a list.
func Without(ps []Piece, far uint64) []Piece {
	for i := 0; i < len(ps); i++ {
		p := ps[i]
		if p.OtherHigh != far&high {
			continue
		}
		lo, hi := p.search(far, 0), p.search(far+1, 0)
		if lo == hi {
			continue
		}
		n := len(p.Rel)
		switch {
		case lo > 0 && hi < n:
			ps[i] = p.Cut(0, lo)
			i++
			ps = slices.Insert(ps, i, p.Cut(hi, n))
		case lo > 0:
			ps[i] = p.Cut(0, lo)
		case hi < n:
			ps[i] = p.Cut(hi, n)
		default:
			ps = slices.Delete(ps, i, i+1)
			i--
		}
	}
	return ps
}

// search returns the first relationship that does not come before (far, rel).
func (p *Piece) search(far, rel uint64) int {
	lo, hi := 0, len(p.Rel)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if f := p.far(mid); f < far || f == far && p.rel(mid) < rel {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// base is the lists of a run of vertices. It never changes.
type base struct {
	ids    []uint16 // sparse: the vertices that have a list, ascending; nil: off has a place for each
	off    []uint32 // where lists begin in rel and other, and the end of the last
	rel    []uint32
	other  []uint32
	breaks []brk // where upper halves change, ascending
	hubs   []hub // ascending
	edges  int   // hubs' too
	loops  int
}

type brk struct{ at, rel, other uint32 }

// hub is the list of a vertex that has very many.
type hub struct {
	v      uint16
	n      int
	chunks []Piece
}

// span returns where the list of a vertex lies.
func (b *base) span(v uint16) (lo, hi uint32) {
	if b.ids == nil {
		if len(b.off) == 0 {
			return 0, 0
		}
		return b.off[v], b.off[v+1]
	}
	i, ok := slices.BinarySearch(b.ids, v)
	if !ok {
		return 0, 0
	}
	return b.off[i], b.off[i+1]
}

func (b *base) hub(v uint16) *hub {
	i := sort.Search(len(b.hubs), func(i int) bool { return b.hubs[i].v >= v })
	if i < len(b.hubs) && b.hubs[i].v == v {
		return &b.hubs[i]
	}
	return nil
}

// pieces appends the list of a vertex to dst.
func (b *base) pieces(v uint16, dst []Piece) []Piece {
	lo, hi := b.span(v)
	if lo == hi {
		if len(b.hubs) > 0 {
			if h := b.hub(v); h != nil {
				return append(dst, h.chunks...)
			}
		}
		return dst
	}
	i := 0
	if len(b.breaks) > 1 {
		i = sort.Search(len(b.breaks), func(i int) bool { return b.breaks[i].at > lo }) - 1
	}
	for lo < hi {
		end := hi
		if i+1 < len(b.breaks) {
			end = min(end, b.breaks[i+1].at)
		}
		k := &b.breaks[i]
		dst = append(dst, Piece{uint64(k.rel) << 32, uint64(k.other) << 32, b.rel[lo:end:end], b.other[lo:end:end]})
		lo, i = end, i+1
	}
	return dst
}

// between appends what pieces has of one far end.
func (b *base) between(v uint16, far uint64, dst []Piece) []Piece {
	from := len(dst)
	if h := b.hubOf(v); h != nil {
		i := sort.Search(len(h.chunks), func(i int) bool { p := &h.chunks[i]; return p.far(len(p.Rel)-1) >= far })
		for ; i < len(h.chunks) && h.chunks[i].far(0) <= far; i++ {
			dst = append(dst, h.chunks[i])
		}
	} else {
		dst = b.pieces(v, dst)
	}
	k := from
	for _, p := range dst[from:] {
		if p.OtherHigh != far&high {
			continue
		}
		if lo, hi := p.search(far, 0), p.search(far+1, 0); lo < hi {
			dst[k] = p.Cut(lo, hi)
			k++
		}
	}
	return dst[:k]
}

// hubOf returns the hub that a vertex is, or nil.
func (b *base) hubOf(v uint16) *hub {
	if len(b.hubs) == 0 {
		return nil
	}
	return b.hub(v)
}

// degree returns the length of the list of a vertex.
func (b *base) degree(v uint16) int {
	lo, hi := b.span(v)
	if lo == hi && len(b.hubs) > 0 {
		if h := b.hub(v); h != nil {
			return h.n
		}
	}
	return int(hi - lo)
}

// vertices calls f with every vertex that has a list, ascending.
func (b *base) vertices(f func(v uint16)) {
	h := 0
	one := func(v uint16) {
		for ; h < len(b.hubs) && b.hubs[h].v < v; h++ {
			f(b.hubs[h].v)
		}
		f(v)
	}
	if b.ids != nil {
		for _, v := range b.ids {
			one(v)
		}
	} else {
		for v := range len(b.off) - 1 {
			if b.off[v] < b.off[v+1] {
				one(uint16(v))
			}
		}
	}
	for ; h < len(b.hubs); h++ {
		f(b.hubs[h].v)
	}
}

// bytes is the memory of the lists.
func (b *base) bytes() int64 {
	n := 2*cap(b.ids) + 4*(cap(b.off)+cap(b.rel)+cap(b.other)) + 12*cap(b.breaks)
	for i := range b.hubs {
		n += 40 + 64*cap(b.hubs[i].chunks) + 8*b.hubs[i].n
	}
	return int64(n)
}

// maker makes a base of lists that come in order.
type maker struct {
	sizes
	first uint64 // the first vertex of the run
	b     base
	ids   []uint16
	begin int // where the last vertex's list begins
	brk   int // its breaks
}

// makers keep their memory from base to base.
var makers = sync.Pool{New: func() any { return new(maker) }}

func (z sizes) maker(first uint64) *maker {
	m := makers.Get().(*maker)
	b := &m.b
	*m = maker{sizes: z, first: first, ids: m.ids[:0], b: base{off: b.off[:0], rel: b.rel[:0], other: b.other[:0], breaks: b.breaks[:0]}}
	return m
}

// free gives the memory back; the base that was made has none of it.
func (m *maker) free() {
	m.b.hubs = nil
	makers.Put(m)
}

func (m *maker) vertex(v uint16) {
	if n := len(m.ids); n > 0 && m.ids[n-1] == v {
		return
	}
	m.close()
	m.ids = append(m.ids, v)
	m.b.off = append(m.b.off, uint32(len(m.b.rel)))
	m.begin, m.brk = len(m.b.rel), len(m.b.breaks)
}

func (m *maker) high(rel, other uint64) {
	r, o := uint32(rel>>32), uint32(other>>32)
	if n := len(m.b.breaks); n == 0 || m.b.breaks[n-1].rel != r || m.b.breaks[n-1].other != o {
		m.b.breaks = append(m.b.breaks, brk{uint32(len(m.b.rel)), r, o})
	}
}

// add adds a relationship. Vertices ascend, and (far, rel) of one vertex.
func (m *maker) add(v uint16, far, rel uint64) {
	m.vertex(v)
	m.high(rel, far)
	m.b.rel, m.b.other = append(m.b.rel, uint32(rel)), append(m.b.other, uint32(far))
	m.b.edges++
	if far == m.first|uint64(v) {
		m.b.loops++
	}
}

// copy adds a vertex's whole list.
func (m *maker) copy(v uint16, ps []Piece) {
	self := m.first | uint64(v)
	for i := range ps {
		p := &ps[i]
		m.vertex(v)
		m.high(p.RelHigh, p.OtherHigh)
		m.b.rel, m.b.other = append(m.b.rel, p.Rel...), append(m.b.other, p.Other...)
		m.b.edges += len(p.Rel)
		if p.OtherHigh == self&high {
			m.b.loops += p.search(self+1, 0) - p.search(self, 0)
		}
	}
}

// addHub adds a hub whose list is in chunks already.
func (m *maker) addHub(h hub) {
	m.close()
	m.b.hubs = append(m.b.hubs, h)
	m.b.edges += h.n
	self := m.first | uint64(h.v)
	for i := range h.chunks {
		if p := &h.chunks[i]; p.OtherHigh == self&high {
			m.b.loops += p.search(self+1, 0) - p.search(self, 0)
		}
	}
}

// close ends the list of the last vertex: a long one becomes a hub's.
func (m *maker) close() {
	n := len(m.b.rel) - m.begin
	if n <= m.sizes.hub {
		m.begin, m.brk = len(m.b.rel), len(m.b.breaks)
		return
	}
	at := len(m.ids) - 1
	v := m.ids[at]
	h := hub{v: v, n: n}
	tmp := base{ids: []uint16{v}, off: []uint32{uint32(m.begin), uint32(len(m.b.rel))}, rel: m.b.rel, other: m.b.other, breaks: m.b.breaks}
	for _, p := range tmp.pieces(v, nil) {
		h.chunks = m.appendChunks(h.chunks, p)
	}
	m.b.hubs = append(m.b.hubs, h)
	m.b.rel, m.b.other, m.b.breaks = m.b.rel[:m.begin], m.b.other[:m.begin], m.b.breaks[:m.brk]
	m.ids, m.b.off = m.ids[:at], m.b.off[:at]
	m.begin = len(m.b.rel)
}

// appendChunks cuts a piece into copies of the size of chunks.
func (z sizes) appendChunks(dst []Piece, p Piece) []Piece {
	for n := len(p.Rel); n > 0; n = len(p.Rel) {
		k := n
		if k > z.chunk+z.chunk/2 {
			k = z.chunk
		}
		dst = append(dst, Piece{p.RelHigh, p.OtherHigh, slices.Clone(p.Rel[:k]), slices.Clone(p.Other[:k])})
		p = p.Cut(k, n)
	}
	return dst
}

// done returns the base, in memory of its size.
func (m *maker) done() base {
	m.close()
	b := base{rel: fit(m.b.rel), other: fit(m.b.other), breaks: fit(m.b.breaks), hubs: m.b.hubs, edges: m.b.edges, loops: m.b.loops}
	end := uint32(len(b.rel))
	if len(m.ids) >= sparseBelow {
		k := 0
		b.off = make([]uint32, runSize+1)
		for v := range b.off {
			for k < len(m.ids) && int(m.ids[k]) < v {
				k++
			}
			if b.off[v] = end; k < len(m.ids) {
				b.off[v] = m.b.off[k]
			}
		}
	} else if len(m.ids) > 0 {
		m.b.off = append(m.b.off, end)
		b.ids, b.off = fit(m.ids), fit(m.b.off)
	}
	return b
}

func fit[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return append(make([]T, 0, len(s)), s...)
}
