package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// table is an open-addressing hash table over entries numbered from 0. The caller compares entries of equal hash.
type table struct {
	slot []uint32 // entry + 1, 0: free
	hash []uint64 // of each entry
}

func (t *table) reset() {
	clear(t.slot)
	t.hash = t.hash[:0]
}

func (t *table) bytes() int64 { return int64(cap(t.slot)*4 + cap(t.hash)*8) }

// reserve makes room for one more entry.
func (t *table) reserve() {
	if 4*(len(t.hash)+1) <= 3*len(t.slot) {
		return
	}
	t.slot = make([]uint32, max(64, 2*len(t.slot)))
	m := uint64(len(t.slot) - 1)
	for i, h := range t.hash {
		p := mix(h) & m
		for t.slot[p] != 0 {
			p = (p + 1) & m
		}
		t.slot[p] = uint32(i + 1)
	}
}

// keyStore numbers the classes of equivalent keys.
type keyStore struct {
	table
	rows rowStore
	cols []*vec.Column // of the batch at hand
	b    expr.Batch
}

func (s *keyStore) init(width int) {
	s.rows.slots = make([]plan.Slot, width)
	for i := range width {
		s.rows.slots[i] = i
	}
	s.cols = make([]*vec.Column, width)
	s.rows.known = true
}

func (s *keyStore) reset() {
	s.table.reset()
	s.rows.reset()
	s.rows.known = true
}

func (s *keyStore) bytes() int64 { return s.table.bytes() + s.rows.size() }

func hashRow(cols []*vec.Column, row int) uint64 {
	h := uint64(0x9E3779B97F4A7C15)
	for _, c := range cols {
		h = mix(h ^ value.Hash(c.Value(row)))
	}
	return h
}

// put returns the number of the class of row of s.cols.
func (s *keyStore) put(row int) (n int, fresh bool) {
	s.reserve()
	n, h, p := s.find(row)
	if n >= 0 {
		return n, false
	}
	s.b.Cols = s.cols
	n = s.rows.addRow(&s.b, row)
	s.slot[p] = uint32(n + 1)
	s.hash = append(s.hash, h)
	return n, true
}

// find returns the number of the class of row of s.cols, or -1, and the row's hash. place is where its entry belongs.
func (s *keyStore) find(row int) (n int, hash, place uint64) {
	h := hashRow(s.cols, row)
	m := uint64(len(s.slot) - 1)
	for p := mix(h) & m; ; p = (p + 1) & m {
		e := s.slot[p]
		if e == 0 {
			return -1, h, p
		}
		if s.hash[e-1] == h && s.same(int(e-1), row) {
			return int(e - 1), h, p
		}
	}
}

func (s *keyStore) same(n, row int) bool {
	blk, i := s.rows.at(n)
	for k, c := range s.cols {
		if !equivalent(&blk.cols[k], i, c, row) {
			return false
		}
	}
	return true
}

// equivalent compares two rows of columns under equivalence, fast where both live in words.
func equivalent(a *vec.Column, i int, b *vec.Column, j int) bool {
	if k := a.Kinds[i]; k == b.Kinds[j] {
		switch k {
		case value.Null:
			return true
		case value.Int, value.Bool, value.Node, value.Rel, value.Date:
			return a.Words[i] == b.Words[j]
		}
	}
	return value.Equivalent(a.Value(i), b.Value(j))
}

// drop gives the memory back.
func (s *keyStore) drop() {
	s.table = table{}
	s.rows.reset()
	s.rows.free, s.rows.blocks, s.rows.known = nil, nil, true
}
