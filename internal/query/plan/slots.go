package plan

import (
	"iter"
	"math/bits"
)

// slotSet is a set of slots. It keeps the words between its lowest and its highest member only, so that a set of a few neighbours
// is small in a statement of many thousand variables, and that copying one costs a bit a slot. Its members come in ascending
// order. A copy of the struct shares the words: clone before adding to one of two.
type slotSet struct {
	lo int // index of the first word
	w  []uint64
}

// setOf makes a set.
func setOf(slots []Slot) slotSet {
	var s slotSet
	s.add(slots...)
	return s
}

// add adds slots; NoSlot is left out.
func (s *slotSet) add(slots ...Slot) {
	for _, x := range slots {
		if x >= 0 {
			s.reach(x>>6, x>>6+1)
			s.w[x>>6-s.lo] |= 1 << (x & 63)
		}
	}
}

// reach makes room for the words from lo to hi.
func (s *slotSet) reach(lo, hi int) {
	switch {
	case len(s.w) == 0:
		s.lo, s.w = lo, append(s.w, make([]uint64, hi-lo)...)
		return
	case lo < s.lo:
		w := make([]uint64, s.lo-lo+len(s.w))
		copy(w[s.lo-lo:], s.w)
		s.lo, s.w = lo, w
	}
	for s.lo+len(s.w) < hi {
		s.w = append(s.w, 0)
	}
}

func (s *slotSet) drop(slots ...Slot) {
	for _, x := range slots {
		if s.has(x) {
			s.w[x>>6-s.lo] &^= 1 << (x & 63)
		}
	}
}

func (s slotSet) has(x Slot) bool {
	i := x>>6 - s.lo
	return i >= 0 && i < len(s.w) && s.w[i]&(1<<(x&63)) != 0
}

func (s slotSet) empty() bool {
	for _, w := range s.w {
		if w != 0 {
			return false
		}
	}
	return true
}

// all yields the members in ascending order.
func (s slotSet) all() iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for i, w := range s.w {
			for ; w != 0; w &= w - 1 {
				if !yield((s.lo+i)<<6 + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}

// join adds the members of t.
func (s *slotSet) join(t slotSet) {
	if len(t.w) == 0 {
		return
	}
	s.reach(t.lo, t.lo+len(t.w))
	for i, w := range t.w {
		s.w[t.lo+i-s.lo] |= w
	}
}

// remove takes the members of t out.
func (s *slotSet) remove(t slotSet) {
	for i, w := range t.w {
		if j := t.lo + i - s.lo; j >= 0 && j < len(s.w) {
			s.w[j] &^= w
		}
	}
}

// covers reports whether every member of t is in s.
func (s slotSet) covers(t slotSet) bool {
	for i, w := range t.w {
		j := t.lo + i - s.lo
		if j < 0 || j >= len(s.w) {
			if w != 0 {
				return false
			}
		} else if w&^s.w[j] != 0 {
			return false
		}
	}
	return true
}

// meets reports whether the sets have a member in common.
func (s slotSet) meets(t slotSet) bool {
	for i, w := range t.w {
		if j := t.lo + i - s.lo; j >= 0 && j < len(s.w) && w&s.w[j] != 0 {
			return true
		}
	}
	return false
}

func clone(s slotSet) slotSet { return slotSet{s.lo, append([]uint64(nil), s.w...)} }

func minus(a, b slotSet) slotSet {
	out := clone(a)
	out.remove(b)
	return out
}

func both(a, b slotSet) slotSet {
	out := clone(a)
	for i := range out.w {
		j := out.lo + i - b.lo
		if j < 0 || j >= len(b.w) {
			out.w[i] = 0
		} else {
			out.w[i] &= b.w[j]
		}
	}
	return out
}

// sorted lists the members in ascending order.
func sorted(s slotSet) []Slot {
	n := 0
	for _, w := range s.w {
		n += bits.OnesCount64(w)
	}
	out := make([]Slot, 0, n)
	for x := range s.all() {
		out = append(out, x)
	}
	return out
}
