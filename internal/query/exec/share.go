package exec

import (
	"bytes"

	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// sharing lets rows of a batch that ask a right side the same question share one answer. The same question is the same to the bit: 1 and 1.0
// may be answered differently.
type sharing struct {
	on    bool
	keys  []plan.Slot // what is compared; hints are not
	args  []plan.Slot
	of    []uint16 // row that asks for each row; nil: each asks for itself
	first []uint16 // the batch's row for each row that asks
	tab   table
	asked rows
}

func (s *sharing) init(x *run, on bool, args []plan.Slot) {
	s.on, s.args = on, args
	s.asked.width = len(x.q.Slots)
	for _, a := range args {
		if x.q.Slots[a].Kind != plan.HintWord {
			s.keys = append(s.keys, a)
		}
	}
}

// ask returns the rows to be handed down for a dense batch. They are valid as long as b is.
func (s *sharing) ask(b *expr.Batch) *expr.Batch {
	s.of = s.of[:0]
	if !s.on || b.N < 2 {
		return b
	}
	s.tab.reset()
	s.first = s.first[:0]
	for i := range b.N {
		s.of = append(s.of, s.find(b, uint16(i)))
	}
	if len(s.first) == b.N {
		s.of = s.of[:0]
		return b
	}
	s.asked.start()
	for _, a := range s.args {
		if c := b.Cols[a]; c != nil {
			s.asked.raw(a).Gather(c, s.first)
		}
	}
	s.asked.b.N = len(s.first)
	return &s.asked.b
}

// find returns the number of the question of row i.
func (s *sharing) find(b *expr.Batch, i uint16) uint16 {
	s.tab.reserve()
	h := uint64(0x9E3779B97F4A7C15)
	for _, k := range s.keys {
		c := b.Cols[k]
		if c == nil {
			continue
		}
		if kind := c.Kinds[i]; vec.InBytes(kind) {
			h = mix(h ^ value.Hash(c.Value(int(i))))
		} else {
			h = mix(h ^ c.Words[i] ^ uint64(kind)<<56)
		}
	}
	m := uint64(len(s.tab.slot) - 1)
	for p := mix(h) & m; ; p = (p + 1) & m {
		e := s.tab.slot[p]
		if e == 0 {
			s.tab.slot[p] = uint32(len(s.tab.hash) + 1)
			s.tab.hash = append(s.tab.hash, h)
			s.first = append(s.first, i)
			return uint16(len(s.first) - 1)
		}
		if s.tab.hash[e-1] == h && s.same(b, int(s.first[e-1]), int(i)) {
			return uint16(e - 1)
		}
	}
}

func (s *sharing) same(b *expr.Batch, i, j int) bool {
	for _, k := range s.keys {
		if c := b.Cols[k]; c != nil && !identical(c, i, j) {
			return false
		}
	}
	return true
}

// identical compares two rows of a column bit by bit.
func identical(c *vec.Column, i, j int) bool {
	if c.Kinds[i] != c.Kinds[j] {
		return false
	}
	if vec.InBytes(c.Kinds[i]) {
		return bytes.Equal(c.Bytes(i), c.Bytes(j))
	}
	return c.Words[i] == c.Words[j]
}

// answer returns which of the rows that ask has the answer for row i.
func (s *sharing) answer(i int) int {
	if len(s.of) == 0 {
		return i
	}
	return int(s.of[i])
}

func (s *sharing) size() int64 {
	return s.tab.bytes() + int64(2*cap(s.of)+2*cap(s.first))
}
