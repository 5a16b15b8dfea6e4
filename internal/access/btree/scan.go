package btree

import (
	"bytes"
	"context"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/page"
)

// Range is a run of keys. A bound compares a key by its first len(bound) bytes: an inclusive bound takes every key that begins
// with it, an exclusive one none of them. So for keys made of self-delimiting parts a bound may name the leading parts only,
// and Lower = Upper = p, both inclusive, is "begins with p". A nil bound is open.
type Range struct {
	Lower, Upper                   []byte
	LowerExclusive, UpperExclusive bool
}

// Prefix is the range of keys that begin with p.
func Prefix(p []byte) Range { return Range{Lower: p, Upper: p} }

func (r Range) lower() target {
	if r.Lower == nil {
		return lowest
	}
	return target{key: r.Lower, past: r.LowerExclusive}
}

func (r Range) upper() target {
	if r.Upper == nil {
		return highest
	}
	return target{key: r.Upper, past: !r.UpperExclusive}
}

// Options choose how a cursor works; the zero value scans forward and returns pointers and keys.
type Options struct {
	Reverse bool
	NoKeys  bool // Key is not asked for
	// KeepPin keeps the leaf pinned until the cursor moves on, so that vacuum does not pass it: for readers that trust the
	// visibility map or whose snapshot is not an MVCC one (B5). The pin must not outlive the operator's Next (A10).
	KeepPin bool
	// Max bounds how many entries are copied at once; zero means a whole leaf. A caller that wants one row says so.
	Max int
	// Probe keeps what the cursor knows of its leaf for the next Seek: a key on the same leaf, or the one to its right, is found
	// without a descent. For batches of probes, best in key order.
	Probe bool
}

// Cursor returns the entries of a range in order. It copies what it returns: between calls it holds no latch, and a pin only if
// Options say so. The zero Cursor is ready for Init. It belongs to one goroutine; its slices live until the next call.
type Cursor struct {
	t    *Tree
	opts Options

	loKey, hiKey []byte // the bounds, copied
	lo, hi       target

	// The entries copied from the leaf, in the order of the page.
	ptrs []uint64
	ends []uint32 // ends[i] is where key i ends in keys
	keys []byte
	idx  []uint16 // item index on the page
	pos  int      // of the current entry
	step int      // +1 or -1

	blk     uint32 // leaf that they came from
	lsn     page.LSN
	pinned  *buffer.Frame
	killed  []uint16
	resume  resume
	nextBlk uint32 // sibling to go on with
	more    bool   // there may be entries beyond those copied

	// What the last leaf covers, for the next probe.
	hint      bool
	hintLow   []byte // a key above it is not to the left of hintBlk; nil: the leaf is the first
	hintFirst bool
	hintHigh  []byte
	hintHighP uint64
	hintBlk   uint32
	hintLSN   page.LSN
	hintNext  uint32 // 0: the leaf is the last
	misses    int
	lastKey   []byte
	lastPtr   uint64
}

// resume says how the next leaf is found.
type resume uint8

const (
	fromBound resume = iota // descend to the first bound
	fromBlock               // go on at nextBlk
	fromEntry               // go on behind lastKey, lastPtr, at or right of blk
)

// Init binds the cursor to a tree. Memory of an earlier use is kept.
func (c *Cursor) Init(t *Tree, o Options) {
	c.Close()
	c.t, c.opts, c.hint, c.misses = t, o, false, 0
	c.more, c.ptrs = false, c.ptrs[:0]
}

// Seek sets the range; the first Next goes there. The bounds are copied.
func (c *Cursor) Seek(r Range) {
	c.leave(context.Background())
	c.lo, c.hi = r.lower(), r.upper()
	c.loKey = append(c.loKey[:0], c.lo.key...)
	c.hiKey = append(c.hiKey[:0], c.hi.key...)
	c.lo.key, c.hi.key = c.loKey, c.hiKey
	c.ptrs, c.pos, c.step = c.ptrs[:0], 0, 1
	c.resume, c.more = fromBound, true
}

// Next goes to the next entry and reports whether there is one.
func (c *Cursor) Next(ctx context.Context) (bool, error) {
	c.pos += c.step
	for c.pos < 0 || c.pos >= len(c.ptrs) {
		if !c.more {
			c.leave(ctx)
			return false, nil
		}
		if err := c.load(ctx); err != nil {
			c.more, c.ptrs = false, c.ptrs[:0]
			return false, err
		}
	}
	return true, nil
}

// Page goes to the next run of entries and returns how many there are, 0 at the end; At reads them. It serves callers that work
// in batches, in place of Next.
func (c *Cursor) Page(ctx context.Context) (int, error) {
	c.ptrs, c.pos = c.ptrs[:0], 0
	for len(c.ptrs) == 0 {
		if !c.more {
			c.leave(ctx)
			return 0, nil
		}
		if err := c.load(ctx); err != nil {
			c.more, c.ptrs = false, c.ptrs[:0]
			return 0, err
		}
	}
	return len(c.ptrs), nil
}

// At returns entry i of the run, in the order of the scan.
func (c *Cursor) At(i int) (key []byte, ptr uint64) {
	if c.opts.Reverse {
		i = len(c.ptrs) - 1 - i
	}
	return c.key(i), c.ptrs[i]
}

func (c *Cursor) key(i int) []byte {
	if c.opts.NoKeys {
		return nil
	}
	from := uint32(0)
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.keys[from:c.ends[i]:c.ends[i]]
}

// Key returns the key of the current entry.
func (c *Cursor) Key() []byte { return c.key(c.pos) }

// Ptr returns the row pointer of the current entry.
func (c *Cursor) Ptr() uint64 { return c.ptrs[c.pos] }

// Kill says that the current entry's row is dead to every snapshot whose end is durable (A2): it will be marked when the cursor
// leaves the leaf, if nobody has changed the leaf by then (B5).
func (c *Cursor) Kill() { c.killed = append(c.killed, c.idx[c.pos]) }

// KillAt is Kill for entry i of the run.
func (c *Cursor) KillAt(i int) {
	if c.opts.Reverse {
		i = len(c.ptrs) - 1 - i
	}
	c.killed = append(c.killed, c.idx[i])
}

// Close lets go of what the cursor holds; Init or Seek may follow.
func (c *Cursor) Close() {
	if c.t != nil {
		c.leave(context.Background())
	}
	c.more, c.ptrs = false, c.ptrs[:0]
}

// leave marks the killed entries of the leaf and unpins it. Marks are hints, so an error is nobody's loss.
func (c *Cursor) leave(ctx context.Context) {
	if len(c.killed) > 0 {
		_ = c.t.markDead(ctx, c.blk, c.lsn, c.killed)
		c.killed = c.killed[:0]
	}
	if c.pinned != nil {
		c.pinned.Unpin()
		c.pinned = nil
	}
}

// load copies the entries of the next leaf.
func (c *Cursor) load(ctx context.Context) error {
	c.leave(ctx)
	if c.opts.Reverse {
		return c.loadReverse(ctx)
	}
	return c.loadForward(ctx)
}

func (c *Cursor) loadForward(ctx context.Context) error {
	t, from := c.t, c.lo
	var f *buffer.Frame
	var err error
	switch c.resume {
	case fromBound:
		f, err = c.first(ctx)
	case fromBlock:
		from = lowest
		f, err = t.latch(ctx, c.nextBlk, 0, false)
	case fromEntry:
		from = target{key: c.lastKey, ptr: c.lastPtr + 1}
		if f, err = t.latch(ctx, c.blk, 0, false); err == nil {
			f, err = t.moveRight(ctx, nil, f, from, 0, false, nil)
		}
	}
	if err != nil {
		return err
	}
	n := node(f.Page())
	start := n.first()
	if c.resume != fromBlock {
		start = n.search(from)
	}
	end := n.search(c.hi)
	partial := c.opts.Max > 0 && end-start > c.opts.Max
	if partial {
		end = start + c.opts.Max
	}
	c.copy(f, start, end)
	c.pos = 0
	c.step = 1
	switch {
	case partial:
		c.more, c.resume = true, fromEntry
		it := n.item(end - 1)
		c.lastKey, c.lastPtr = append(c.lastKey[:0], itemKey(it)...), itemPtr(it)
	case end < n.count() || n.rightmost():
		c.more = false
	default:
		// Go on only if the range reaches the high key: all to the right is at or above it.
		hk := n.sep(0)
		c.more, c.resume, c.nextBlk = c.hi.compareTo(hk.key, hk.ptr) > 0, fromBlock, n.next()
	}
	c.release(f)
	return nil
}

func (c *Cursor) loadReverse(ctx context.Context) error {
	t, to := c.t, c.hi
	var f *buffer.Frame
	var err error
	switch c.resume {
	case fromBound:
		f, err = t.descend(ctx, nil, c.hi, 0, false, nil)
	case fromBlock:
		// The left link was read with the page it belonged to. If the left page has split since, its right half lies between.
		if f, err = t.latch(ctx, c.nextBlk, 0, false); err != nil {
			return err
		}
		for node(f.Page()).next() != c.blk {
			next := node(f.Page()).next()
			blk := uint32(f.ID().Block)
			unlatch(f, false)
			if next == 0 {
				return t.corrupt(blk, "page %d is not to its right", c.blk)
			}
			if f, err = t.latch(ctx, next, 0, false); err != nil {
				return err
			}
		}
		to = highest
	case fromEntry:
		to = target{key: c.lastKey, ptr: c.lastPtr}
		if f, err = t.latch(ctx, c.blk, 0, false); err == nil {
			f, err = t.moveRight(ctx, nil, f, to, 0, false, nil)
		}
	}
	if err != nil {
		return err
	}
	n := node(f.Page())
	start, end := n.search(c.lo), n.search(to)
	partial := c.opts.Max > 0 && end-start > c.opts.Max
	if partial {
		start = end - c.opts.Max
	}
	start = min(start, end)
	c.copy(f, start, end)
	c.pos = len(c.ptrs) - 1
	c.step = -1
	switch {
	case partial:
		c.more, c.resume = true, fromEntry
		it := n.item(start)
		c.lastKey, c.lastPtr = append(c.lastKey[:0], itemKey(it)...), itemPtr(it)
	case start > n.first() || n.prev() == 0:
		c.more = false
	default:
		c.more, c.resume, c.nextBlk = true, fromBlock, n.prev()
	}
	c.release(f)
	return nil
}

// copy takes the live entries [start, end) of the leaf.
func (c *Cursor) copy(f *buffer.Frame, start, end int) {
	n := node(f.Page())
	c.blk, c.lsn = uint32(f.ID().Block), f.Page().LSN()
	c.ptrs, c.ends, c.keys, c.idx = c.ptrs[:0], c.ends[:0], c.keys[:0], c.idx[:0]
	for i := start; i < end; i++ {
		lp := n.lp(i)
		if lp>>15&3 == lpDead {
			continue
		}
		off, length := int(lp&0x7fff), int(lp>>17)
		it := n[off : off+length]
		c.ptrs = append(c.ptrs, itemPtr(it))
		c.idx = append(c.idx, uint16(i))
		if !c.opts.NoKeys {
			c.keys = append(c.keys, it[leafOverhead:]...)
			c.ends = append(c.ends, uint32(len(c.keys)))
		}
	}
}

// release ends the visit of a leaf.
func (c *Cursor) release(f *buffer.Frame) {
	if c.opts.Probe {
		c.remember(f)
	}
	f.RUnlock()
	if c.opts.KeepPin {
		c.pinned = f
	} else {
		f.Unpin()
	}
}

// remember notes which keys the leaf answers for. A leaf's range only shrinks, at the right (T3), and whoever comes back moves
// right from there, so the note stays good.
func (c *Cursor) remember(f *buffer.Frame) {
	if c.hint && c.hintBlk == c.blk && c.hintLSN == c.lsn {
		return // nothing has changed since
	}
	n := node(f.Page())
	c.hintLSN = c.lsn
	c.hint, c.hintBlk, c.hintNext, c.hintFirst = true, uint32(f.ID().Block), n.next(), n.prev() == 0
	if !c.hintFirst {
		if n.count() == n.first() {
			c.hint = false // an empty leaf does not know where it begins
			return
		}
		c.hintLow = append(c.hintLow[:0], itemKey(n.item(n.first()))...)
	}
	if c.hintNext != 0 {
		hk := n.sep(0)
		c.hintHigh, c.hintHighP = append(c.hintHigh[:0], hk.key...), hk.ptr
	}
}

// first latches the leaf where the range begins: the one of the probe before, its right sibling, or what a descent finds.
func (c *Cursor) first(ctx context.Context) (*buffer.Frame, error) {
	t := c.t
	if c.hint && (c.hintFirst || bytes.Compare(c.lo.key, c.hintLow) > 0) {
		if c.hintNext == 0 || c.lo.compareTo(c.hintHigh, c.hintHighP) < 0 {
			f, err := t.latch(ctx, c.hintBlk, 0, false)
			if err != nil {
				return nil, err
			}
			t.Counters.LeafReuse.Add(1)
			c.misses = 0
			return t.moveRight(ctx, nil, f, c.lo, 0, false, nil)
		}
		// Sparse probes jump over leaves: after a few vain looks at the right sibling look only now and then.
		if c.misses++; c.misses <= 4 || c.misses&15 == 0 {
			f, err := t.latch(ctx, c.hintNext, 0, false)
			if err != nil {
				return nil, err
			}
			if !node(f.Page()).beyond(c.lo) {
				t.Counters.LeafReuse.Add(1)
				c.misses = 0
				return f, nil
			}
			unlatch(f, false)
		}
	}
	return t.descend(ctx, nil, c.lo, 0, false, nil)
}

// LookupEq appends the row pointers of the entries whose key is exactly key to dst: no cursor, no allocation beyond dst.
func (t *Tree) LookupEq(ctx context.Context, key []byte, dst []uint64) ([]uint64, error) {
	f, err := t.descend(ctx, nil, target{key: key}, 0, false, nil)
	if err != nil {
		return dst, err
	}
	for i := node(f.Page()).search(target{key: key}); ; {
		n := node(f.Page())
		for ; i < n.count(); i++ {
			it := n.item(i)
			if !bytes.Equal(itemKey(it), key) {
				unlatch(f, false)
				return dst, nil
			}
			if !n.dead(i) {
				dst = append(dst, itemPtr(it))
			}
		}
		if n.rightmost() || bytes.Compare(n.sep(0).key, key) > 0 {
			unlatch(f, false)
			return dst, nil
		}
		next := n.next()
		unlatch(f, false)
		if f, err = t.latch(ctx, next, 0, false); err != nil {
			return dst, err
		}
		i = node(f.Page()).first()
	}
}

// Count returns the number of entries in the range that are not marked dead, copying nothing.
func (t *Tree) Count(ctx context.Context, r Range) (uint64, error) {
	lo, hi := r.lower(), r.upper()
	f, err := t.descend(ctx, nil, lo, 0, false, nil)
	if err != nil {
		return 0, err
	}
	total := uint64(0)
	for i := node(f.Page()).search(lo); ; {
		n := node(f.Page())
		end := n.search(hi)
		for ; i < end; i++ {
			if !n.dead(i) {
				total++
			}
		}
		done := end < n.count() || n.rightmost()
		if !done {
			hk := n.sep(0)
			done = hi.compareTo(hk.key, hk.ptr) <= 0
		}
		next := n.next()
		unlatch(f, false)
		if done {
			return total, nil
		}
		if err := ctx.Err(); err != nil {
			return total, err
		}
		if f, err = t.latch(ctx, next, 0, false); err != nil {
			return total, err
		}
		i = node(f.Page()).first()
	}
}

// Has reports whether the entry (key, ptr) is there and not marked dead.
func (t *Tree) Has(ctx context.Context, key []byte, ptr uint64) (bool, error) {
	tg := target{key: key, ptr: ptr}
	f, err := t.descend(ctx, nil, tg, 0, false, nil)
	if err != nil {
		return false, err
	}
	defer unlatch(f, false)
	n := node(f.Page())
	i := n.search(tg)
	if i == n.count() || n.dead(i) {
		return false, nil
	}
	it := n.item(i)
	return itemPtr(it) == ptr && bytes.Equal(itemKey(it), key), nil
}
