// Package path searches for shortest trails over batches of neighbours, whoever holds them.
//
// A [Search] runs breadth-first from both ends and always expands the smaller frontier, a whole level at a time. It keeps ids
// only; what a relationship or vertex must satisfy is the business of the [Expander], which yields nothing that fails.
//
// S1: the first level at which the two sides meet gives the least length, and every vertex met there lies on a shortest trail.
// S2: a shortest trail between two different vertices repeats no vertex, so no relationship either; only closed
// trails need care, and are found as one relationship and a shortest way back that avoids it.
// S3: for one order of relationships the result is always the same.
package path

import (
	"errors"

	"github.com/hedgerowdb/hedgerow/internal/store"
)

// Expander yields relationships.
type Expander interface {
	// Expand yields the relationships of the vertices in pieces; Run.Row is the position in src. Back asks for those that lead to
	// the vertices instead. The runs are lent until yield returns.
	Expand(src []uint64, back bool, yield func(*store.Runs) error) error
}

// maxChunk is how many vertices one call of Expand asks for.
const maxChunk = 1024

// Search finds shortest trails between two vertices. Its memory is kept for the next search.
type Search struct {
	// Account is told how many bytes the search holds; nil: nobody.
	Account func(n int64) error

	x        Expander
	from, to uint64
	max      int
	all      bool
	ban      uint64 // relationship that the trail may not use

	side  [2]side
	meet  []uint64
	many  bool // side 1 holds the vertices looked for, and does not grow
	ahead bool // only side 0 grows

	// Enumeration: the relationships chosen from meet[at] back to from, then on to to, as positions in the sides' parent lists.
	at     int
	fwd    int // length of the first part
	length int
	ptr    []uint32
	rels   []uint64
	nodes  []uint64

	// Closed trails.
	firsts
}

// firsts are the relationships at which a closed trail may begin.
type firsts struct {
	rel, other []uint64
	next       int
	best       int
	closed     bool
	lead       uint64 // relationship in front of the current enumeration
	leadNode   uint64
}

// side is the tree that grows from one end.
type side struct {
	index  table
	node   []uint64
	depth  []uint32
	head   []uint32 // first parent link of a vertex, 0: none
	tail   []uint32 // last one
	pnext  []uint32 // links; link 0 is unused
	parent []uint32
	rel    []uint64
	lo, hi int // frontier
	level  uint32
}

func (s *side) reset(root uint64) {
	s.index.reset()
	s.node, s.depth = append(s.node[:0], root), append(s.depth[:0], 0)
	s.head, s.tail = append(s.head[:0], 0), append(s.tail[:0], 0)
	s.pnext, s.parent, s.rel = append(s.pnext[:0], 0), append(s.parent[:0], 0), append(s.rel[:0], 0)
	s.index.put(root, 0)
	s.lo, s.hi, s.level = 0, 1, 0
}

// link adds a parent at the end of the list, so that enumeration follows the order of discovery (S3).
func (s *side) link(v, parent uint32, rel uint64) {
	n := uint32(len(s.parent))
	s.pnext, s.parent, s.rel = append(s.pnext, 0), append(s.parent, parent), append(s.rel, rel)
	if s.head[v] == 0 {
		s.head[v] = n
	} else {
		s.pnext[s.tail[v]] = n
	}
	s.tail[v] = n
}

func (s *side) bytes() int64 {
	return s.index.bytes() + int64(cap(s.node)*8+cap(s.depth)*4+cap(s.head)*8+cap(s.parent)*16)
}

// errFound ends an expansion that has found what it was for.
var errFound = errors.New("path: found")

// Find looks for the shortest trails of min (0 or 1) to max relationships. It reports whether there is one; [Search.Next] then yields it, or
// all of the same length.
func (s *Search) Find(x Expander, from, to uint64, min, max int, all bool) (bool, error) {
	s.x, s.all, s.ban, s.closed, s.lead, s.many, s.ahead = x, all, 0, false, 0, false, false
	if from != to {
		return s.find(from, to, max)
	}
	if min == 0 {
		s.from, s.to, s.length, s.fwd, s.at = from, to, 0, 0, -1
		s.meet = append(s.meet[:0], from)
		return true, nil
	}
	return s.findClosed(from, max)
}

// FindClosed looks for the shortest closed trails through a vertex, of 1 to max relationships, as Find does, but never asks the expander to go back.
func (s *Search) FindClosed(x Expander, v uint64, max int, all bool) (bool, error) {
	s.x, s.all, s.ban, s.closed, s.lead, s.many, s.ahead = x, all, 0, false, 0, false, true
	return s.findClosed(v, max)
}

func (s *Search) find(from, to uint64, max int) (bool, error) {
	s.from, s.to, s.max, s.at, s.length = from, to, max, -1, 0
	s.side[0].reset(from)
	s.side[1].reset(to)
	s.meet = s.meet[:0]
	for {
		f, b := &s.side[0], &s.side[1]
		if int(f.level)+int(b.level) >= max {
			return false, nil
		}
		k := 0
		if b.hi-b.lo < f.hi-f.lo && !s.ahead {
			k = 1
		}
		if s.side[k].lo == s.side[k].hi {
			return false, nil
		}
		if err := s.grow(k); err != nil {
			return false, err
		}
		if len(s.meet) > 0 {
			s.fwd = int(f.level)
			s.length = s.fwd + int(b.level)
			return true, nil
		}
	}
}

// FindMany looks for the shortest trails of at most max relationships from one vertex to each of many others. [Search.To] then turns to those to one
// of them.
func (s *Search) FindMany(x Expander, from uint64, to []uint64, max int, all bool) error {
	s.x, s.all, s.ban, s.closed, s.lead, s.many, s.ahead = x, all, 0, false, 0, true, false
	s.from, s.at, s.length, s.fwd = from, -1, 0, 0
	s.meet = s.meet[:0]
	f, t := &s.side[0], &s.side[1]
	f.reset(from)
	t.reset(from)
	t.index.reset()
	for _, id := range to {
		if id != from {
			t.index.put(id, 0)
		}
	}
	for len(s.meet) < t.index.n && f.lo < f.hi && int(f.level) < max {
		if err := s.grow(0); err != nil {
			return err
		}
	}
	return nil
}

// To turns to the trails that FindMany found to a vertex, other than the one that they begin at; false if there is none.
func (s *Search) To(to uint64) bool {
	v, ok := s.side[0].index.get(to)
	s.meet, s.at = append(s.meet[:0], to), -1
	if !ok || v == 0 {
		return false
	}
	s.length = int(s.side[0].depth[v])
	s.fwd = s.length
	return true
}

// grow expands the frontier of side k by one level.
func (s *Search) grow(k int) error {
	t, o := &s.side[k], &s.side[1-k]
	base, level := t.lo, t.level+1
	yield := func(runs *store.Runs) error {
		for k := range runs.Run {
			r := &runs.Run[k]
			p := uint32(base + int(r.Row))
			for i := range r.Rel {
				rel, other := r.RelID(i), r.OtherID(i)
				if rel == s.ban {
					continue
				}
				v, fresh := t.index.put(other, uint32(len(t.node)))
				if !fresh {
					if s.all && t.depth[v] == level {
						t.link(v, p, rel)
					}
					continue
				}
				t.node, t.depth = append(t.node, other), append(t.depth, level)
				t.head, t.tail = append(t.head, 0), append(t.tail, 0)
				t.link(v, p, rel)
				if _, ok := o.index.get(other); ok {
					s.meet = append(s.meet, other)
					if !s.all && !s.many {
						return errFound
					}
				}
			}
		}
		return nil
	}
	for base = t.lo; base < t.hi; base += maxChunk {
		err := s.x.Expand(t.node[base:min(t.hi, base+maxChunk)], k == 1, yield)
		if err == errFound {
			break
		}
		if err != nil {
			return err
		}
		if s.Account != nil {
			if err := s.Account(s.side[0].bytes() + s.side[1].bytes()); err != nil {
				return err
			}
		}
	}
	t.lo, t.hi, t.level = t.hi, len(t.node), level
	return nil
}

// findClosed looks for the shortest closed trails through a vertex.
func (s *Search) findClosed(v uint64, max int) (bool, error) {
	s.rel, s.other = s.rel[:0], s.other[:0]
	if max < 1 {
		return false, nil
	}
	err := s.x.Expand([]uint64{v}, false, func(runs *store.Runs) error {
		for k := range runs.Run {
			r := &runs.Run[k]
			for i := range r.Rel {
				s.rel, s.other = append(s.rel, r.RelID(i)), append(s.other, r.OtherID(i))
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	s.best = 0
	first := 0
	for i, rel := range s.rel {
		if s.other[i] == v {
			if s.best != 1 {
				s.best, first = 1, i
			}
			continue
		}
		limit := max - 1
		if s.best > 0 {
			limit = min(limit, s.best-2)
		}
		s.ban = rel
		ok, err := s.find(s.other[i], v, limit)
		if err != nil {
			return false, err
		}
		if ok {
			s.best, first = s.length+1, i
		}
	}
	if s.best == 0 {
		return false, nil
	}
	s.closed, s.next, s.leadNode = true, first, v
	s.meet, s.at = s.meet[:0], 0
	return true, nil
}

// Next moves to the next trail that Find found.
func (s *Search) Next() (bool, error) {
	if !s.closed {
		return s.step(), nil
	}
	for {
		if s.step() {
			return true, nil
		}
		if s.next >= len(s.rel) || s.lead != 0 && !s.all {
			return false, nil
		}
		i := s.next
		s.next++
		s.lead, s.ban = s.rel[i], s.rel[i]
		if s.other[i] == s.leadNode {
			if s.best == 1 {
				s.meet, s.at, s.fwd, s.length = append(s.meet[:0], s.leadNode), -1, 0, 0
			}
			continue
		}
		ok, err := s.find(s.other[i], s.leadNode, s.best-1)
		if err != nil {
			return false, err
		}
		if !ok {
			s.meet, s.at = s.meet[:0], 0
		}
	}
}

// step moves to the next trail between from and to.
func (s *Search) step() bool {
	if s.at >= 0 && s.at < len(s.meet) {
		for i := s.length - 1; i >= 0; i-- {
			if n := s.sideOf(i).pnext[s.ptr[i]]; n != 0 {
				s.ptr[i] = n
				return s.fill(i + 1)
			}
		}
	}
	if s.at+1 >= len(s.meet) {
		s.at = len(s.meet)
		return false
	}
	s.at++
	if cap(s.ptr) < s.length {
		s.ptr = make([]uint32, s.length)
	}
	s.ptr = s.ptr[:s.length]
	return s.fill(0)
}

func (s *Search) sideOf(i int) *side {
	if i < s.fwd {
		return &s.side[0]
	}
	return &s.side[1]
}

// fill chooses the first parent at positions from i on.
func (s *Search) fill(i int) bool {
	for ; i < s.length; i++ {
		t := s.sideOf(i)
		var v uint32
		if i == 0 || i == s.fwd {
			v, _ = t.index.get(s.meet[s.at])
		} else {
			v = t.parent[s.ptr[i-1]]
		}
		s.ptr[i] = t.head[v]
	}
	return true
}

// Trail returns the current trail: its relationships, and its vertices, one more. The slices are valid until the next call.
func (s *Search) Trail() (nodes, rels []uint64) {
	s.nodes, s.rels = s.nodes[:0], s.rels[:0]
	if s.closed {
		s.nodes, s.rels = append(s.nodes, s.leadNode), append(s.rels, s.lead)
	}
	f, b := &s.side[0], &s.side[1]
	for i := s.fwd - 1; i >= 0; i-- {
		s.nodes, s.rels = append(s.nodes, f.node[f.parent[s.ptr[i]]]), append(s.rels, f.rel[s.ptr[i]])
	}
	s.nodes = append(s.nodes, s.meet[s.at])
	for i := s.fwd; i < s.length; i++ {
		s.nodes, s.rels = append(s.nodes, b.node[b.parent[s.ptr[i]]]), append(s.rels, b.rel[s.ptr[i]])
	}
	return s.nodes, s.rels
}

// Length returns the number of relationships of the trails found.
func (s *Search) Length() int {
	if s.closed {
		return s.best
	}
	return s.length
}

// table maps ids to positions. A slot is in use if it bears the table's number, so that a search that meets a few vertices does not pay for the
// memory of one that met many.
type table struct {
	slot   []slot
	number uint32
	n      int
}

type slot struct {
	id     uint64
	at     uint32
	number uint32
}

func (t *table) reset() {
	t.n = 0
	if t.number++; t.number == 0 {
		clear(t.slot)
		t.number = 1
	}
}

func (t *table) bytes() int64 { return int64(cap(t.slot) * 16) }

func hash(x uint64) uint64 {
	x ^= x >> 32
	x *= 0x9E3779B97F4A7C15
	return x ^ x>>29
}

func (t *table) put(id uint64, at uint32) (uint32, bool) {
	if 4*(t.n+1) > 3*len(t.slot) {
		t.rehash()
	}
	m := uint64(len(t.slot) - 1)
	for i := hash(id) & m; ; i = (i + 1) & m {
		s := &t.slot[i]
		if s.number != t.number {
			*s = slot{id, at, t.number}
			t.n++
			return at, true
		}
		if s.id == id {
			return s.at, false
		}
	}
}

func (t *table) get(id uint64) (uint32, bool) {
	if len(t.slot) == 0 {
		return 0, false
	}
	m := uint64(len(t.slot) - 1)
	for i := hash(id) & m; ; i = (i + 1) & m {
		switch s := &t.slot[i]; {
		case s.number != t.number:
			return 0, false
		case s.id == id:
			return s.at, true
		}
	}
}

func (t *table) rehash() {
	old := *t
	t.slot, t.number, t.n = make([]slot, max(64, 2*len(old.slot))), 1, 0
	for _, s := range old.slot {
		if s.number == old.number {
			t.put(s.id, s.at)
		}
	}
}
