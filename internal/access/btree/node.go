package btree

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/hedgerowdb/hedgerow/internal/page"
)

// The layout of a tree page; docs/format/btree.md draws it. Line pointers begin after the page header; item bytes grow
// down from the special area.
const (
	headerSize  = page.HeaderSize
	specialSize = 16
	specialAt   = page.Size - specialSize
	lpSize      = 4

	// capacity is what line pointers and items of a page share.
	capacity = specialAt - headerSize

	// Header fields that the hot paths read without going through page.Page.
	lowerAt = 16
	upperAt = 18

	specialAtByte = 20

	// A leaf item is the row pointer, then the key; an inner item is the child, an optional row pointer, then the key.
	leafOverhead  = 8
	innerOverhead = 4
	hasPtrBit     = uint32(1 << 31) // in the child word of an inner item or high key: a row pointer follows

	// MaxKey is the longest key that a tree takes: what is left of a long key after it was cut, plus its hash (B13). Four
	// items of that size fit on a page, so a split always finds a place.
	MaxKey = 2000
)

// Special area fields, as offsets from its start.
const (
	spNext  = 0  // u32: right sibling, 0 for none
	spPrev  = 4  // u32: left sibling, 0 for none
	spLevel = 8  // u16: 0 for a leaf
	spFlags = 10 // u16
)

// Flags of a page.
const (
	flagIncomplete = 1 << 0 // the right sibling has no downlink yet (B6)
)

// Line pointer states, the two that a tree uses. A dead item keeps its bytes: it still takes part in searches.
const (
	lpNormal = uint32(page.Normal)
	lpDead   = uint32(page.Dead)
)

// node is the view of a tree page in its frame or in a scratch buffer. Its methods need the latch that fits: shared for
// readers, exclusive for those that change it. markDead alone works under share-exclusive, so line pointers are loaded
// atomically (A10).
type node []byte

func (n node) u16(at int) int          { return int(binary.LittleEndian.Uint16(n[at:])) }
func (n node) setU16(at, v int)        { binary.LittleEndian.PutUint16(n[at:], uint16(v)) }
func (n node) next() uint32            { return binary.LittleEndian.Uint32(n[specialAt+spNext:]) }
func (n node) setNext(b uint32)        { binary.LittleEndian.PutUint32(n[specialAt+spNext:], b) }
func (n node) prev() uint32            { return binary.LittleEndian.Uint32(n[specialAt+spPrev:]) }
func (n node) setPrev(b uint32)        { binary.LittleEndian.PutUint32(n[specialAt+spPrev:], b) }
func (n node) level() int              { return n.u16(specialAt + spLevel) }
func (n node) flags() int              { return n.u16(specialAt + spFlags) }
func (n node) setFlags(v int)          { n.setU16(specialAt+spFlags, v) }
func (n node) rightmost() bool         { return n.next() == 0 }
func (n node) incomplete() bool        { return n.flags()&flagIncomplete != 0 }
func (n node) count() int              { return (n.u16(lowerAt) - headerSize) / lpSize }
func (n node) free() int               { return n.u16(upperAt) - n.u16(lowerAt) }
func (n node) lpAddr(i int) *uint32    { return (*uint32)(unsafe.Pointer(&n[headerSize+i*lpSize])) }
func loadWord(n node, at int) uint32   { return atomic.LoadUint32((*uint32)(unsafe.Pointer(&n[at]))) }
func putWord(n node, at int, v uint32) { binary.LittleEndian.PutUint32(n[at:], v) }
func (n node) lp(i int) uint32         { return atomic.LoadUint32(n.lpAddr(i)) }
func (n node) dead(i int) bool         { return n.lp(i)>>15&3 == lpDead }
func makeLP(off, length int) uint32    { return uint32(page.MakeItemID(off, page.Normal, length)) }
func (n node) markDead(i int)          { atomic.OrUint32(n.lpAddr(i), lpDead<<15) }
func leafSize(key []byte) int          { return leafOverhead + len(key) }
func itemPtr(it []byte) uint64         { return binary.LittleEndian.Uint64(it) }
func itemKey(it []byte) []byte         { return it[leafOverhead:] }

// first is the index of the first data item: item 0 of every page that has a right sibling is its high key.
func (n node) first() int {
	if n.next() == 0 {
		return 0
	}
	return 1
}

// item returns the bytes of item i, dead or not.
func (n node) item(i int) []byte {
	lp := n.lp(i)
	off, length := int(lp&0x7fff), int(lp>>17)
	return n[off : off+length : off+length]
}

// sepKey is a separator: an inner item's key or a high key. A missing pointer stands below every pointer.
type sepKey struct {
	key    []byte
	ptr    uint64
	hasPtr bool
}

// sep reads item i as a separator.
func (n node) sep(i int) sepKey { return decodeSep(n.item(i)) }

func decodeSep(it []byte) sepKey {
	if binary.LittleEndian.Uint32(it)&hasPtrBit == 0 {
		return sepKey{key: it[innerOverhead:]}
	}
	return sepKey{key: it[innerOverhead+8:], ptr: binary.LittleEndian.Uint64(it[innerOverhead:]), hasPtr: true}
}

// child returns the block that inner item i points to.
func (n node) child(i int) uint32 { return binary.LittleEndian.Uint32(n.item(i)) &^ hasPtrBit }

// appendSep appends the inner item (child, s) to dst.
func appendSep(dst []byte, child uint32, s sepKey) []byte {
	if !s.hasPtr {
		dst = binary.LittleEndian.AppendUint32(dst, child)
		return append(dst, s.key...)
	}
	dst = binary.LittleEndian.AppendUint32(dst, child|hasPtrBit)
	dst = binary.LittleEndian.AppendUint64(dst, s.ptr)
	return append(dst, s.key...)
}

// compare orders (key, ptr) against (k, p).
func compare(key []byte, ptr uint64, k []byte, p uint64) int {
	if c := bytes.Compare(key, k); c != 0 {
		return c
	}
	switch {
	case ptr < p:
		return -1
	case ptr > p:
		return 1
	}
	return 0
}

// findChild returns the index of the item that points to the child, looking near hint first, or -1.
func (n node) findChild(child uint32, hint int) int {
	c := n.count()
	if hint >= n.first() && hint < c && n.child(hint) == child {
		return hint
	}
	for i := n.first(); i < c; i++ {
		if n.child(i) == child {
			return i
		}
	}
	return -1
}

// format empties a page and makes it a tree page of the level.
func (n node) format(level int) {
	page.Page(n).Init(page.TypeBTree, specialSize)
	n.setU16(specialAt+spLevel, level)
}

// room is what an item of so many bytes takes from a page.
func room(size int) int { return page.Align(size) + lpSize }

// insertAt makes it item i. The caller has checked that it fits.
func (n node) insertAt(i int, it []byte) {
	size := page.Align(len(it))
	lower, upper := n.u16(lowerAt), n.u16(upperAt)-size
	clear(n[upper+len(it) : upper+size])
	copy(n[upper:], it)
	at := headerSize + i*lpSize
	copy(n[at+lpSize:lower+lpSize], n[at:lower])
	binary.LittleEndian.PutUint32(n[at:], makeLP(upper, len(it)))
	n.setU16(lowerAt, lower+lpSize)
	n.setU16(upperAt, upper)
}

// remove removes the items at the ascending indexes and closes the gaps, so that free space is always in one piece.
func (n node) remove(idx []uint16) {
	var scratch [page.Size]byte
	count, up := n.count(), specialAt
	out, k := 0, 0
	for i := range count {
		if k < len(idx) && int(idx[k]) == i {
			k++
			continue
		}
		lp := n.lp(i)
		off, length := int(lp&0x7fff), int(lp>>17)
		size := page.Align(length)
		up -= size
		copy(scratch[up:], n[off:off+size])
		binary.LittleEndian.PutUint32(n[headerSize+out*lpSize:], lp&^0x7fff|uint32(up))
		out++
	}
	copy(n[up:specialAt], scratch[up:specialAt])
	lower := headerSize + out*lpSize
	clear(n[lower:up])
	n.setU16(lowerAt, lower)
	n.setU16(upperAt, up)
}

// deadItems appends the indexes of the items marked dead.
func (n node) deadItems(dst []uint16) []uint16 {
	for i := n.first(); i < n.count(); i++ {
		if n.dead(i) {
			dst = append(dst, uint16(i))
		}
	}
	return dst
}

// check looks at what the paths through the tree rely on before they trust a page: cheap enough for each visit.
func (n node) check(level int) error {
	if page.Page(n).Type() != page.TypeBTree {
		return fmt.Errorf("page type %d where a tree page was expected", page.Page(n).Type())
	}
	lower, upper := n.u16(lowerAt), n.u16(upperAt)
	if lower < headerSize || lower > upper || upper > specialAt || (lower-headerSize)%lpSize != 0 {
		return fmt.Errorf("bounds lower=%d upper=%d", lower, upper)
	}
	if n.level() != level {
		return fmt.Errorf("level %d where %d was expected", n.level(), level)
	}
	return nil
}

// verify checks everything that one page says about itself (T1, T2, T3). It never panics, whatever the bytes.
func (n node) verify() error {
	if len(n) != page.Size {
		return fmt.Errorf("%d bytes", len(n))
	}
	if err := n.check(n.level()); err != nil {
		return err
	}
	if s := n.u16(specialAtByte); s != specialAt {
		return fmt.Errorf("special area at %d", s)
	}
	if n.flags()&^flagIncomplete != 0 {
		return fmt.Errorf("unknown flags %#x", n.flags())
	}
	if n.incomplete() && n.rightmost() {
		return fmt.Errorf("incomplete split without a right sibling")
	}
	count, first, leaf, upper := n.count(), n.first(), n.level() == 0, n.u16(upperAt)
	if count < first {
		return fmt.Errorf("no high key")
	}
	if !leaf && count == first {
		return fmt.Errorf("inner page without children")
	}
	var used [page.Size / 4]bool
	total := 0
	for i := range count {
		lp := n.lp(i)
		off, state, length := int(lp&0x7fff), lp>>15&3, int(lp>>17)
		size := page.Align(length)
		if off < upper || off+size > specialAt || off%4 != 0 {
			return fmt.Errorf("item %d lies at %d+%d outside %d…%d", i, off, length, upper, specialAt)
		}
		if state != lpNormal && (state != lpDead || !leaf || i < first) {
			return fmt.Errorf("item %d has state %d", i, state)
		}
		minimum := leafOverhead
		if !leaf || i < first {
			minimum = innerOverhead
			if length >= innerOverhead && binary.LittleEndian.Uint32(n[off:])&hasPtrBit != 0 {
				minimum += 8
			}
		}
		if length < minimum || length-minimum > MaxKey {
			return fmt.Errorf("item %d is %d bytes long", i, length)
		}
		for w := off / 4; w < (off+size)/4; w++ {
			if used[w] {
				return fmt.Errorf("item %d overlaps another at byte %d", i, w*4)
			}
			used[w] = true
		}
		total += size
	}
	if total != specialAt-upper {
		return fmt.Errorf("items fill %d of %d bytes", total, specialAt-upper)
	}
	return n.verifyOrder()
}

// verifyOrder checks that the items of the page ascend strictly and stay below the high key.
func (n node) verifyOrder() error {
	count, first := n.count(), n.first()
	var prev sepKey
	for i := first; i < count; i++ {
		var s sepKey
		if n.level() == 0 {
			it := n.item(i)
			s = sepKey{itemKey(it), itemPtr(it), true}
		} else {
			s = n.sep(i)
			if i == first {
				if len(s.key) != 0 || s.hasPtr {
					return fmt.Errorf("first item of an inner page carries a key")
				}
				prev = s
				continue
			}
			if n.child(i) == 0 {
				return fmt.Errorf("item %d points to the meta page", i)
			}
		}
		if i > first && !(n.level() > 0 && i == first+1) && compare(prev.key, prev.ptr, s.key, s.ptr) >= 0 {
			return fmt.Errorf("item %d is not above item %d", i, i-1)
		}
		if first == 1 {
			if hk := n.sep(0); compare(s.key, s.ptr, hk.key, hk.ptr) >= 0 {
				return fmt.Errorf("item %d is not below the high key", i)
			}
		}
		prev = s
	}
	return nil
}
