package btree

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/page"
)

// Fill of the left page, in percent of the capacity, when a split happens at the right end of a level or of a run of equal
// keys: what comes next will most likely go to the right, so the left page is left as full as a bulk build leaves it.
const (
	fillLeaf  = 90
	fillInner = 70
)

// splitter divides a page and one new item. It lives in a pool: its buffers are the scratch of one split.
type splitter struct {
	items    [page.Size/lpSize + 1][]byte // data items in order, the new one among them
	n        int
	newAt    int // index of the new item in items
	first    int // index of the first item that goes right
	left     [page.Size]byte
	right    [page.Size]byte
	high     []byte // high key item of the left page, in highBuf
	highBuf  [MaxKey + innerOverhead + 8]byte
	firstBuf [innerOverhead]byte
	log      []byte // items of the right page as the record carries them
}

var splitters = sync.Pool{New: func() any { return new(splitter) }}

// gather collects the data items of n with it placed before index at.
func (s *splitter) gather(n node, at int, it []byte) {
	first := n.first()
	s.n, s.newAt = 0, at-first
	for i := first; i <= n.count(); i++ {
		if i == at {
			s.items[s.n] = it
			s.n++
		}
		if i < n.count() {
			s.items[s.n] = n.item(i)
			s.n++
		}
	}
}

// choose picks first: the place nearest to the wanted fill whose separator is short. Both pages are known to fit there.
func (s *splitter) choose(n node) error {
	leaf := n.level() == 0
	oldHigh := 0
	if !n.rightmost() {
		oldHigh = room(len(n.item(0)))
	}
	total := 0
	for _, it := range s.items[:s.n] {
		total += room(len(it))
	}
	// want is the number of bytes wished for on the left.
	want := total / 2
	if n.rightmost() {
		if leaf {
			want = capacity * fillLeaf / 100
		} else {
			want = capacity * fillInner / 100
		}
		want = min(want, total)
	} else if leaf && s.newAt == s.n-1 && s.n > 1 && s.equalKeys(s.n-1) {
		want = min(capacity*fillLeaf/100, total) // appending to a run of equal keys
	}
	best, bestDelta := -1, 0
	s.each(leaf, oldHigh, total, func(r, delta int) {
		if best < 0 || delta < bestDelta {
			best, bestDelta = r, delta
		}
	}, want)
	if best < 0 {
		return fmt.Errorf("no place to split %d items of %d bytes", s.n, total)
	}
	if leaf { // a little imbalance buys a short separator, more of it one between different keys
		slack := bestDelta + capacity/20
		s.shortest(leaf, oldHigh, total, want, slack, &best)
		if s.equalKeys(best) {
			s.shortest(leaf, oldHigh, total, want, total/3, &best)
		}
	}
	s.first = best
	return nil
}

// each calls f for every place where both pages fit, with the distance in bytes from the wanted one.
func (s *splitter) each(leaf bool, oldHigh, total int, f func(r, delta int), want int) {
	left := 0
	for r := 1; r < s.n; r++ {
		left += room(len(s.items[r-1]))
		right := total - left + oldHigh
		if !leaf {
			right -= room(len(s.items[r])) - room(innerOverhead) // the first item of an inner page loses its key
		}
		if left+room(s.sepSize(leaf, r)) > capacity || right > capacity {
			continue
		}
		f(r, max(left-want, want-left))
	}
}

// shortest moves best to the place with the shortest separator within slack of the wanted one.
func (s *splitter) shortest(leaf bool, oldHigh, total, want, slack int, best *int) {
	size, dist := s.sepSize(leaf, *best), -1
	if s.equalKeys(*best) {
		size += page.Size // any place between different keys is better
	}
	s.each(leaf, oldHigh, total, func(r, delta int) {
		if delta > slack {
			return
		}
		sz := s.sepSize(leaf, r)
		if s.equalKeys(r) {
			sz += page.Size
		}
		if sz < size || sz == size && dist >= 0 && delta < dist {
			*best, size, dist = r, sz, delta
		}
	}, want)
}

// equalKeys reports whether a split before leaf item r would divide equal keys.
func (s *splitter) equalKeys(r int) bool {
	return bytes.Equal(itemKey(s.items[r-1]), itemKey(s.items[r]))
}

// sepSize is the size of the high key item that a split before r makes.
func (s *splitter) sepSize(leaf bool, r int) int {
	if !leaf {
		return len(s.items[r])
	}
	a, b := itemKey(s.items[r-1]), itemKey(s.items[r])
	if n := commonPrefix(a, b); n < len(b) {
		return innerOverhead + n + 1
	}
	return innerOverhead + 8 + len(b)
}

// separator returns the shortest (key, pointer) that lies above the item left of r and not above item r.
func (s *splitter) separator(leaf bool, r int) sepKey {
	if !leaf {
		return decodeSep(s.items[r])
	}
	a, b := itemKey(s.items[r-1]), itemKey(s.items[r])
	if n := commonPrefix(a, b); n < len(b) {
		return sepKey{key: b[:n+1]}
	}
	return sepKey{key: b, ptr: itemPtr(s.items[r]), hasPtr: true} // equal keys: the pointer decides
}

// commonPrefix returns the length of the longest common prefix.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if binary.LittleEndian.Uint64(a[i:]) != binary.LittleEndian.Uint64(b[i:]) {
			break
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// build makes both pages in s.left and s.right from the old page and the chosen place. Block numbers and LSNs are the caller's.
func (s *splitter) build(n node, leftBlock, rightBlock uint32) {
	level := n.level()
	sep := s.separator(level == 0, s.first)
	s.high = appendSep(s.highBuf[:0], 0, sep)

	right := node(s.right[:])
	right.format(level)
	right.setPrev(leftBlock)
	right.setNext(n.next())
	if n.incomplete() {
		right.setFlags(flagIncomplete) // never so: an incomplete page is finished before it is split again
	}
	at := 0
	if !n.rightmost() {
		right.insertAt(at, n.item(0))
		at++
	}
	for r := s.first; r < s.n; r++ {
		it := s.items[r]
		if level > 0 && r == s.first {
			it = s.firstBuf[:]
			binary.LittleEndian.PutUint32(it, binary.LittleEndian.Uint32(s.items[r])&^hasPtrBit)
		}
		right.insertAt(at, it)
		at++
	}
	buildLeft(node(s.left[:]), n, s.items[:s.first], s.high, rightBlock)
}

// buildLeft makes the left page of a split in dst; redo uses it with the old page that it found on disk.
func buildLeft(dst, old node, items [][]byte, high []byte, rightBlock uint32) {
	dst.format(old.level())
	dst.setPrev(old.prev())
	dst.setNext(rightBlock)
	dst.setFlags(flagIncomplete)
	dst.insertAt(0, high)
	for i, it := range items {
		dst.insertAt(i+1, it)
	}
}

// appendItems appends the items of n in the form in which the log carries a whole page: length, bytes.
func appendItems(dst []byte, n node) []byte {
	for i := range n.count() {
		it := n.item(i)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(len(it)))
		dst = append(dst, it...)
	}
	return dst
}

// loadItems is the inverse of appendItems on a formatted page.
func loadItems(n node, data []byte) error {
	for i := 0; len(data) > 0; i++ {
		if len(data) < 2 {
			return fmt.Errorf("item %d is cut short", i)
		}
		l := int(binary.LittleEndian.Uint16(data))
		data = data[2:]
		if l > len(data) || n.free() < room(l) {
			return fmt.Errorf("item %d of %d bytes does not fit", i, l)
		}
		n.insertAt(i, data[:l])
		data = data[l:]
	}
	return nil
}
