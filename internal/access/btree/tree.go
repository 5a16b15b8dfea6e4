package btree

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// MakePtr joins the ordinal of a heap within an index and a TID into the row pointer of an entry: ordinal 16, block 32,
// offset 16 (B4).
func MakePtr(ordinal uint16, tid page.TID) uint64 { return uint64(ordinal)<<48 | uint64(tid) }

// Ordinal returns the heap ordinal of a row pointer.
func Ordinal(ptr uint64) uint16 { return uint16(ptr >> 48) }

// TIDOf returns the TID of a row pointer.
func TIDOf(ptr uint64) page.TID { return page.TID(ptr & (1<<48 - 1)) }

// maxLevel bounds the height: four items on every page already reach all block numbers.
const maxLevel = 24

// metaBlock is where the meta page lies.
const metaBlock = 0

// Tree is one B-tree over the main fork of a relfile. It is shared by all goroutines and holds no page.
type Tree struct {
	pool *buffer.Pool
	log  *wal.Log
	rel  page.RelFile

	// root is level<<32 | block as last read from the meta page, 0 if never. It may be old: a former root is the leftmost page
	// of its level for ever (T3), so a search that begins there is right, and notices by the page's siblings.
	root atomic.Uint64
	// last is the rightmost leaf that an insert appended to, 0 if the last insert elsewhere disproved it.
	last atomic.Uint32
	long atomic.Uint32 // what the meta page says of long keys: 0 not read, longNo, longYes

	Counters Counters
}

// Counters count the work on one tree since it was opened.
type Counters struct {
	Descents    atomic.Uint64 // searches from the root
	PagesRead   atomic.Uint64 // pages latched on any way
	LeafReuse   atomic.Uint64 // probes answered by the leaf of the probe before, or its right sibling
	Appends     atomic.Uint64 // inserts that took the rightmost leaf without a descent
	Probes      atomic.Uint64 // uniqueness probes
	Inserts     atomic.Uint64
	Splits      atomic.Uint64
	Finished    atomic.Uint64 // incomplete splits that somebody else had left
	DeadMarked  atomic.Uint64
	DeadRemoved atomic.Uint64
}

// Open returns the tree in rel, which exists. Nothing is read before it is needed.
func Open(pool *buffer.Pool, log *wal.Log, rel page.RelFile) *Tree {
	return &Tree{pool: pool, log: log, rel: rel}
}

// Rel returns the relfile.
func (t *Tree) Rel() page.RelFile { return t.rel }

// Create makes an empty tree in rel, an empty relfile that the caller has created and logged.
func Create(ctx context.Context, crit *invariant.Crit, pool *buffer.Pool, log *wal.Log, rel page.RelFile) (*Tree, error) {
	t := Open(pool, log, rel)
	meta, err := t.extend(ctx)
	if err != nil {
		return nil, err
	}
	defer release(meta)
	if meta.ID().Block != metaBlock {
		return nil, t.corrupt(uint32(meta.ID().Block), "a new tree found its file in use")
	}
	root, err := t.extend(ctx)
	if err != nil {
		return nil, err
	}
	defer release(root)
	b := beginRecord(opCreate)
	defer builders.Put(b)
	crit.Enter() // Exit is never deferred: whoever recovers from a panic must still see the depth (A11)
	rootBlock := uint32(root.ID().Block)
	formatMeta(meta.Page(), rootBlock, 0)
	node(root.Page()).format(0)
	meta.MarkDirty()
	root.MarkDirty()
	b.Block(meta, wal.WillInit)
	b.Block(root, wal.WillInit)
	_, err = log.Insert(b)
	crit.Logged(b.Len())
	crit.Exit()
	if err != nil {
		return nil, err
	}
	t.root.Store(uint64(rootBlock))
	t.long.Store(longNo)
	return t, nil
}

// corrupt returns the error for bytes that cannot be.
func (t *Tree) corrupt(blk uint32, format string, args ...any) error {
	return dberr.New(dberr.DataCorrupted, "index file %d page %d: %s", t.rel, blk, fmt.Sprintf(format, args...))
}

// pin brings a block into memory.
func (t *Tree) pin(ctx context.Context, blk uint32) (*buffer.Frame, error) {
	return t.pool.Pin(ctx, page.ID{Rel: t.rel, Fork: page.Main, Block: page.Block(blk)})
}

// extend adds a page at the end; it comes pinned and exclusively latched.
func (t *Tree) extend(ctx context.Context) (*buffer.Frame, error) {
	f, err := t.pool.Extend(ctx, t.rel, page.Main)
	if err == nil && f.ID().Block >= page.Block(hasPtrBit) {
		release(f)
		return nil, dberr.New(dberr.LimitExceeded, "index file %d has reached its largest size", t.rel)
	}
	return f, err
}

// latch pins and latches a tree page of the level and looks whether it is one.
func (t *Tree) latch(ctx context.Context, blk uint32, level int, excl bool) (*buffer.Frame, error) {
	f, err := t.pin(ctx, blk)
	if err != nil {
		return nil, err
	}
	if excl {
		f.Lock()
	} else {
		f.RLock()
	}
	t.Counters.PagesRead.Add(1)
	if err := node(f.Page()).check(level); err != nil {
		unlatch(f, excl)
		return nil, t.corrupt(blk, "%v", err)
	}
	return f, nil
}

func unlatch(f *buffer.Frame, excl bool) {
	if excl {
		f.Unlock()
	} else {
		f.RUnlock()
	}
	f.Unpin()
}

// release lets go of an exclusively latched page.
func release(f *buffer.Frame) {
	f.Unlock()
	f.Unpin()
}

// target is a place in the order of entries: just before (key, ptr), or behind all keys that begin with key.
type target struct {
	key  []byte
	ptr  uint64
	past bool
}

var lowest, highest = target{}, target{past: true}

// compareTo orders the target against a key and pointer.
func (tg target) compareTo(k []byte, p uint64) int {
	if tg.past && len(k) > len(tg.key) {
		k = k[:len(tg.key)]
	}
	if c := bytes.Compare(tg.key, k); c != 0 {
		return c
	}
	switch {
	case tg.past:
		return 1
	case tg.ptr < p:
		return -1
	case tg.ptr > p:
		return 1
	}
	return 0
}

// beyond reports whether the target belongs to the right of this page.
func (n node) beyond(tg target) bool {
	if n.next() == 0 {
		return false
	}
	s := n.sep(0)
	return tg.compareTo(s.key, s.ptr) >= 0
}

// search returns the index of the first data item of a leaf that is not before the target, or count.
func (n node) search(tg target) int {
	lo, hi := n.first(), n.count()
	if tg.past {
		for lo < hi {
			mid := int(uint(lo+hi) >> 1)
			k := n.item(mid)[leafOverhead:]
			if len(k) > len(tg.key) {
				k = k[:len(tg.key)]
			}
			if bytes.Compare(k, tg.key) <= 0 {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		return lo
	}
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		it := n.item(mid)
		if c := bytes.Compare(it[leafOverhead:], tg.key); c < 0 || c == 0 && itemPtr(it) < tg.ptr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// searchInner returns the index of the last item of an inner page that is not behind the target. The first item stands for
// minus infinity.
func (n node) searchInner(tg target) int {
	lo, hi := n.first()+1, n.count() // item lo-1 ≤ target < item hi
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		it := n.item(mid)
		k, p := it[innerOverhead:], uint64(0)
		if binary.LittleEndian.Uint32(it)&hasPtrBit != 0 {
			k, p = it[innerOverhead+8:], itemPtr(it[innerOverhead:])
		}
		if tg.past && len(k) > len(tg.key) {
			k = k[:len(tg.key)]
		}
		c := bytes.Compare(k, tg.key)
		if c < 0 || c == 0 && (tg.past || p <= tg.ptr) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

// path remembers, for each level above the leaves, where a descent went down. Entries are hints: the page may have split since.
type path struct {
	blk [maxLevel]uint32
	at  [maxLevel]int
}

// start returns a page to begin a search at and its level; fresh forces a look at the meta page.
func (t *Tree) start(ctx context.Context, fresh bool) (blk uint32, level int, err error) {
	r := t.root.Load()
	if r == 0 || fresh {
		m, err := t.readMeta(ctx)
		if err != nil {
			return 0, 0, err
		}
		r = uint64(m.level)<<32 | uint64(m.root)
		t.root.Store(r)
	}
	return uint32(r), int(r >> 32), nil
}

// descend finds the page of the level whose range holds the target and returns it pinned and latched, exclusively if excl.
// With a path it fills the path and finishes the incomplete splits that it meets, as everybody who inserts must (B6).
func (t *Tree) descend(ctx context.Context, crit *invariant.Crit, tg target, level int, excl bool, p *path) (*buffer.Frame, error) {
	t.Counters.Descents.Add(1)
	blk, lv, err := t.start(ctx, false)
	if err != nil {
		return nil, err
	}
	for fresh := false; ; {
		if lv < level {
			if fresh {
				return nil, t.corrupt(blk, "root is at level %d, level %d is wanted", lv, level)
			}
			fresh = true
			if blk, lv, err = t.start(ctx, true); err != nil {
				return nil, err
			}
			continue
		}
		f, err := t.latch(ctx, blk, lv, excl && lv == level)
		if err != nil {
			return nil, err
		}
		if n := node(f.Page()); !fresh && (n.next() != 0 || n.prev() != 0) {
			// Not alone on its level: there is a newer root, or there soon will be.
			unlatch(f, excl && lv == level)
			fresh = true
			if blk, lv, err = t.start(ctx, true); err != nil {
				return nil, err
			}
			continue
		}
		for {
			if f, err = t.moveRight(ctx, crit, f, tg, lv, excl && lv == level, p); err != nil || lv == level {
				return f, err
			}
			n := node(f.Page())
			i := n.searchInner(tg)
			child := n.child(i)
			if p != nil {
				p.blk[lv], p.at[lv] = uint32(f.ID().Block), i
			}
			unlatch(f, false)
			lv--
			if f, err = t.latch(ctx, child, lv, excl && lv == level); err != nil {
				return nil, err
			}
		}
	}
}

// moveRight follows right links from f until the page's range holds the target. It consumes f. With a path it finishes the
// incomplete splits on the way.
func (t *Tree) moveRight(ctx context.Context, crit *invariant.Crit, f *buffer.Frame, tg target, level int, excl bool, p *path) (*buffer.Frame, error) {
	for {
		n := node(f.Page())
		blk := uint32(f.ID().Block)
		if p != nil && n.incomplete() {
			if !excl {
				f.RUnlock()
				f.Lock()
				if !n.incomplete() {
					f.Unlock()
					f.RLock()
					continue
				}
			}
			t.Counters.Finished.Add(1)
			if err := t.finish(ctx, crit, f, p); err != nil {
				return nil, err
			}
		} else if n.beyond(tg) {
			blk = n.next()
			unlatch(f, excl)
		} else {
			return f, nil
		}
		var err error
		if f, err = t.latch(ctx, blk, level, excl); err != nil {
			return nil, err
		}
	}
}
