// Package page knows the bytes of a page and nothing about where it is kept.
//
// A page is 8,192 bytes: a header of 32, an array of line pointers that grows upwards, items that grow downwards, and a special
// area at the end whose meaning belongs to the page's type. Heap and B-tree pages use the same slots. What is drawn here is
// drawn for people in docs/format/page.md.
//
// P1: 32 ≤ lower ≤ upper ≤ special ≤ 8192; lower − 32 is a multiple of 4; items lie in [upper, special), start at multiples of
// 4 and do not overlap.
//
// P2: the checksum is CRC32C over (relfile, fork, block) and the page with the checksum field zero, so that a page that was
// written to the wrong place is as wrong as one whose bits fell over. A page of zeros only is a new page and valid.
//
// P3: line pointers are read and written by single atomic words, so that a reader under a shared latch may look at one while
// the holder of the share-exclusive latch marks it (A10). Everything else in the header changes under the exclusive latch.
//
// P4: an LSN names the end of a record (A1): page.lsn is the end of the last record that changed the page.
//
// Nothing here checks an offset that its caller passes beyond what Go's slices check; [Page.Verify] makes bytes from a disk
// safe to use.
package page

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Sizes of every page of every database (B12).
const (
	Size       = 8192
	HeaderSize = 32
	// ItemIDSize is the size of a line pointer.
	ItemIDSize = 4
	// MaxItem is the size of the largest item that fits a page without a special area.
	MaxItem = Size - HeaderSize - ItemIDSize
	// Layout is the version of the page layout that this code writes.
	Layout = 1
)

// LSN is a position in the log: the number of bytes before it since the database was made. Where it names a record it is the
// position just behind the record (A1).
type LSN uint64

// String prints an LSN as PostgreSQL does: high and low half in hexadecimal.
func (l LSN) String() string { return fmt.Sprintf("%X/%X", uint64(l)>>32, uint32(l)) }

// RelFile names a relation's files. It has 48 bits and is never used twice (B11).
type RelFile uint64

// MaxRelFile is the largest relfile number.
const MaxRelFile RelFile = 1<<48 - 1

// Fork is one of the files of a relation.
type Fork uint8

const (
	Main    Fork = iota
	FSM          // free space map
	VM           // visibility map
	NumFork = 3
)

func (f Fork) String() string {
	switch f {
	case Main:
		return "main"
	case FSM:
		return "fsm"
	case VM:
		return "vm"
	}
	return fmt.Sprintf("fork %d", uint8(f))
}

// Block is the number of a page within a fork.
type Block uint32

// NoBlock is not the number of any block.
const NoBlock Block = 1<<32 - 1

// ID names a page.
type ID struct {
	Rel   RelFile
	Fork  Fork
	Block Block
}

func (id ID) String() string {
	switch id.Fork {
	case Main:
		return fmt.Sprintf("%d:%d", id.Rel, id.Block)
	default:
		return fmt.Sprintf("%d_%s:%d", id.Rel, id.Fork, id.Block)
	}
}

// TID names an item: block << 16 | offset. The zero TID names nothing, since offsets start at 1.
type TID uint64

// NoTID names nothing.
const NoTID TID = 0

// MakeTID joins a block and an offset.
func MakeTID(b Block, off int) TID { return TID(b)<<16 | TID(off) }

// Block returns the block part.
func (t TID) Block() Block { return Block(t >> 16) }

// Offset returns the offset part.
func (t TID) Offset() int { return int(t & 0xffff) }

// Valid reports whether t can name an item.
func (t TID) Valid() bool { return t&0xffff != 0 && t>>48 == 0 }

func (t TID) String() string { return fmt.Sprintf("(%d,%d)", t.Block(), t.Offset()) }

// Type says what a page holds; it decides what the special area means.
type Type uint8

const (
	TypeNone  Type = iota // a page that was never initialised
	TypeHeap              // row versions
	TypeBTree             // B-tree node
	TypeBMeta             // B-tree meta page
	TypeFSM               // free space map
	TypeVM                // visibility map
	TypeChunk             // reserved for values out of line that do not live in a heap
	NumType   = 7
)

func (t Type) String() string {
	names := [NumType]string{"none", "heap", "btree", "btree meta", "fsm", "vm", "chunk"}
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Header fields, by their offsets.
const (
	offLSN       = 0  // u64
	offChecksum  = 8  // u32
	offFlags     = 12 // u16
	offType      = 14 // u8
	offLayout    = 15 // u8
	offLower     = 16 // u16
	offUpper     = 18 // u16
	offSpecial   = 20 // u16
	offPruneHint = 22 // u16
	offPruneXID  = 24 // u48, then two bytes of zero
)

// Page is a view of the 8,192 bytes of one page. It owns nothing: bytes of a frame may be used while the frame is pinned and
// latched as package buffer says.
type Page []byte

var le = binary.LittleEndian

// Init makes the page an empty one of the given type with room for a special area; the area is zero.
func (p Page) Init(t Type, special int) {
	clear(p[:Size])
	p[offType] = byte(t)
	p[offLayout] = Layout
	le.PutUint16(p[offLower:], HeaderSize)
	le.PutUint16(p[offUpper:], uint16(Size-special))
	le.PutUint16(p[offSpecial:], uint16(Size-special))
}

// IsNew reports whether the page was never initialised.
func (p Page) IsNew() bool { return p.upper() == 0 }

// LSN returns the end of the last record that changed the page.
func (p Page) LSN() LSN { return LSN(le.Uint64(p[offLSN:])) }

// SetLSN is called under the exclusive latch, within the critical section of the change.
func (p Page) SetLSN(l LSN) { le.PutUint64(p[offLSN:], uint64(l)) }

// Type returns what the page holds.
func (p Page) Type() Type { return Type(p[offType]) }

// Layout returns the version of the layout that the page was written in.
func (p Page) Layout() uint8 { return p[offLayout] }

// Flags returns sixteen bits that belong to the page's type.
func (p Page) Flags() uint16 { return le.Uint16(p[offFlags:]) }

// SetFlags stores the flags.
func (p Page) SetFlags(f uint16) { le.PutUint16(p[offFlags:], f) }

func (p Page) lower() int { return int(le.Uint16(p[offLower:])) }
func (p Page) upper() int { return int(le.Uint16(p[offUpper:])) }

// Lower returns where the free space begins.
func (p Page) Lower() int { return p.lower() }

// Upper returns where the free space ends and the items begin.
func (p Page) Upper() int { return p.upper() }

// SpecialStart returns where the special area begins.
func (p Page) SpecialStart() int { return int(le.Uint16(p[offSpecial:])) }

// Special returns the special area.
func (p Page) Special() []byte { return p[p.SpecialStart():Size] }

// Body returns everything between header and special area: what a page without slots has for itself.
func (p Page) Body() []byte { return p[HeaderSize:p.SpecialStart()] }

// PruneHint returns sixteen bits for the heap's pruning.
func (p Page) PruneHint() uint16 { return le.Uint16(p[offPruneHint:]) }

// SetPruneHint stores them.
func (p Page) SetPruneHint(v uint16) { le.PutUint16(p[offPruneHint:], v) }

// PruneXID returns the oldest xid whose end may make something on the page prunable, or 0.
func (p Page) PruneXID() uint64 { return le.Uint64(p[offPruneXID:]) & (1<<48 - 1) }

// SetPruneXID stores it.
func (p Page) SetPruneXID(x uint64) { le.PutUint64(p[offPruneXID:], x&(1<<48-1)) }

// Word returns the aligned four bytes at off for atomic use, as line pointers, infomasks and visibility bits have (P3).
func (p Page) Word(off int) *uint32 {
	return (*uint32)(unsafe.Pointer(unsafe.SliceData(p[off : off+4]))) // slicing checks the bounds without a read
}

func init() {
	// P3 reads little-endian fields of the format as machine words.
	if x := uint16(1); *(*byte)(unsafe.Pointer(&x)) != 1 {
		panic("page: this machine is big-endian; the page format is not")
	}
}

// State says what a line pointer stands for.
type State uint8

const (
	Unused   State = iota // free for use
	Normal                // an item
	Redirect              // stands for the item of another line pointer of this page: Target
	Dead                  // the item is gone; indexes may still point here. It may keep its storage (Len > 0)
)

func (s State) String() string { return [...]string{"unused", "normal", "redirect", "dead"}[s&3] }

// ItemID is a line pointer: offset in 15 bits, state in 2, length in 15, from the low end.
type ItemID uint32

// MakeItemID builds a line pointer.
func MakeItemID(off int, s State, n int) ItemID {
	return ItemID(off)&0x7fff | ItemID(s&3)<<15 | ItemID(n)<<17
}

// MakeRedirect builds a line pointer that stands for another of the page.
func MakeRedirect(target int) ItemID { return MakeItemID(target, Redirect, 0) }

// Offset returns where the item begins.
func (i ItemID) Offset() int { return int(i & 0x7fff) }

// Len returns the length of the item.
func (i ItemID) Len() int { return int(i >> 17) }

// State returns what the pointer stands for.
func (i ItemID) State() State { return State(i >> 15 & 3) }

// Target returns the offset number that a redirect stands for.
func (i ItemID) Target() int { return int(i & 0x7fff) }

// HasStorage reports whether the pointer owns bytes of the page.
func (i ItemID) HasStorage() bool { return i.Len() > 0 && i.State() != Redirect && i.State() != Unused }

// Dead returns the pointer marked dead, its storage kept: what a reader that found an index entry dead may set under the
// share-exclusive latch (A10, B5).
func (i ItemID) Dead() ItemID { return i&^(3<<15) | ItemID(Dead)<<15 }

// NumItems returns the number of line pointers, used or not. Offsets run from 1 to it.
func (p Page) NumItems() int {
	if n := p.lower() - HeaderSize; n > 0 {
		return n / ItemIDSize
	}
	return 0
}

// ItemID returns the line pointer with the number off (1 …).
func (p Page) ItemID(off int) ItemID {
	return ItemID(atomic.LoadUint32(p.Word(HeaderSize + (off-1)*ItemIDSize)))
}

// SetItemID replaces a line pointer.
func (p Page) SetItemID(off int, id ItemID) {
	atomic.StoreUint32(p.Word(HeaderSize+(off-1)*ItemIDSize), uint32(id))
}

// CompareAndSwapItemID replaces a line pointer if it is still old.
func (p Page) CompareAndSwapItemID(off int, old, new ItemID) bool {
	return atomic.CompareAndSwapUint32(p.Word(HeaderSize+(off-1)*ItemIDSize), uint32(old), uint32(new))
}

// Item returns the bytes of a normal or dead item; nil if the pointer owns none.
func (p Page) Item(off int) []byte {
	id := p.ItemID(off)
	if !id.HasStorage() {
		return nil
	}
	o := id.Offset()
	return p[o : o+id.Len() : o+id.Len()]
}

// FreeSpace returns the bytes that an item added with a new line pointer may have: contiguous room less the pointer, rounded
// down to what alignment allows.
func (p Page) FreeSpace() int {
	n := (p.upper() - p.lower() - ItemIDSize) &^ 3
	if n < 0 {
		return 0
	}
	return n
}

// ExactFreeSpace returns the contiguous free bytes.
func (p Page) ExactFreeSpace() int {
	if n := p.upper() - p.lower(); n > 0 {
		return n
	}
	return 0
}

// UsableSpace returns the free bytes that there would be after Compact: also those of items that no pointer owns any more.
func (p Page) UsableSpace() int {
	used := 0
	for off, n := 1, p.NumItems(); off <= n; off++ {
		if id := p.ItemID(off); id.HasStorage() {
			used += align(id.Len())
		}
	}
	return p.SpecialStart() - p.lower() - used
}

func align(n int) int { return (n + 3) &^ 3 }

// Align rounds the length of an item up to the space that it takes.
func Align(n int) int { return align(n) }

// AddItem stores an item in the first unused line pointer, or a new one if none is unused and there are fewer than maxItems.
// It returns the number, or 0 if there is no room. The page must not need compaction first.
func (p Page) AddItem(item []byte, maxItems int) int {
	n := p.NumItems()
	off := 0
	for i := 1; i <= n; i++ {
		if p.ItemID(i).State() == Unused {
			off = i
			break
		}
	}
	if off == 0 {
		if n >= maxItems {
			return 0
		}
		off = n + 1
	}
	if !p.AddItemAt(off, item) {
		return 0
	}
	return off
}

// AddItemAt stores an item in line pointer off, which must be unused or NumItems()+1 or beyond; pointers skipped become
// unused. It is what redo uses. It reports false, with nothing changed, if there is no room.
func (p Page) AddItemAt(off int, item []byte) bool {
	n := p.NumItems()
	lower := p.lower()
	if off > n {
		lower = HeaderSize + off*ItemIDSize
	} else if p.ItemID(off).State() != Unused {
		return false
	}
	upper := p.upper() - align(len(item))
	if upper < lower {
		return false
	}
	for i := n + 1; i < off; i++ {
		p.SetItemID(i, 0)
	}
	copy(p[upper:], item)
	clear(p[upper+len(item) : upper+align(len(item))])
	p.SetItemID(off, MakeItemID(upper, Normal, len(item)))
	le.PutUint16(p[offLower:], uint16(lower))
	le.PutUint16(p[offUpper:], uint16(upper))
	return true
}

// InsertItemAt makes room in the pointer array and stores an item as number off (1 … NumItems()+1); the numbers of those behind
// it grow by one. For pages on which an item's number is not its identity (B-trees). It reports false if there is no room.
func (p Page) InsertItemAt(off int, item []byte) bool {
	n := p.NumItems()
	lower := p.lower() + ItemIDSize
	upper := p.upper() - align(len(item))
	if upper < lower {
		return false
	}
	for i := n; i >= off; i-- {
		p.SetItemID(i+1, p.ItemID(i))
	}
	copy(p[upper:], item)
	clear(p[upper+len(item) : upper+align(len(item))])
	p.SetItemID(off, MakeItemID(upper, Normal, len(item)))
	le.PutUint16(p[offLower:], uint16(lower))
	le.PutUint16(p[offUpper:], uint16(upper))
	return true
}

// RemoveItems takes the line pointers with the given ascending numbers out of the array, so that the numbers behind them
// shrink, and compacts the page. For pages on which an item's number is not its identity (B-trees).
func (p Page) RemoveItems(offs ...int) {
	if len(offs) == 0 {
		return
	}
	n, k, w := p.NumItems(), 0, offs[0]
	for i := offs[0]; i <= n; i++ {
		if k < len(offs) && offs[k] == i {
			k++
			continue
		}
		p.SetItemID(w, p.ItemID(i))
		w++
	}
	for i := w; i <= n; i++ {
		p.SetItemID(i, 0)
	}
	le.PutUint16(p[offLower:], uint16(HeaderSize+(w-1)*ItemIDSize))
	p.Compact()
}

// ReplaceItem gives number off, which must own storage, other bytes. The old place is used if the item fits it, else the free
// space; it reports false, with nothing changed, if there is no room.
func (p Page) ReplaceItem(off int, item []byte) bool {
	id := p.ItemID(off)
	if align(len(item)) <= align(id.Len()) {
		o := id.Offset()
		copy(p[o:], item)
		clear(p[o+len(item) : o+align(id.Len())])
		p.SetItemID(off, MakeItemID(o, id.State(), len(item)))
		return true
	}
	upper := p.upper() - align(len(item))
	if upper < p.lower() {
		return false
	}
	copy(p[upper:], item)
	clear(p[upper+len(item) : upper+align(len(item))])
	p.SetItemID(off, MakeItemID(upper, id.State(), len(item)))
	le.PutUint16(p[offUpper:], uint16(upper))
	return true
}

// SetUnused frees a line pointer and its storage; the bytes come back at the next Compact.
func (p Page) SetUnused(off int) { p.SetItemID(off, 0) }

// Compact moves the items together at the end of the page, in their present order, and clears what becomes free. Numbers do
// not change; trailing unused line pointers are given back. It needs the exclusive latch and, where readers keep slices of items
// under a pin alone, the cleanup lock.
func (p Page) Compact() {
	n := p.NumItems()
	for n > 0 && p.ItemID(n).State() == Unused {
		n--
	}
	var tmp [Size]byte
	special := p.SpecialStart()
	copy(tmp[:special], p[:special])
	old := Page(tmp[:])
	upper := special
	for off := 1; off <= n; off++ {
		id := old.ItemID(off)
		if !id.HasStorage() {
			if id.State() != Redirect && id.State() != Dead {
				p.SetItemID(off, 0)
			}
			continue
		}
		size := align(id.Len())
		upper -= size
		o := id.Offset()
		copy(p[upper:upper+size], old[o:o+size])
		p.SetItemID(off, MakeItemID(upper, id.State(), id.Len()))
	}
	lower := HeaderSize + n*ItemIDSize
	clear(p[lower:upper])
	le.PutUint16(p[offLower:], uint16(lower))
	le.PutUint16(p[offUpper:], uint16(upper))
}

// TruncateItems shortens the array of line pointers to n; those cut off must be unused.
func (p Page) TruncateItems(n int) {
	lower := HeaderSize + n*ItemIDSize
	clear(p[lower:p.lower()])
	le.PutUint16(p[offLower:], uint16(lower))
}

// Hole returns the free space between line pointers and items: bytes that an image may leave out. Pages without slots have
// none, since all between header and special area is theirs.
func (p Page) Hole() (off, n int) {
	lower, upper := p.lower(), p.upper()
	if lower < HeaderSize || upper > Size || lower >= upper {
		return 0, 0
	}
	return lower, upper - lower
}
