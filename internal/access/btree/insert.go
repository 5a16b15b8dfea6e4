package btree

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Verdict is what a [Judge] says of an entry with the key that is to be inserted.
type Verdict struct {
	Kind Kind
	Xid  uint64 // for Wait: whose end decides
}

// Kind of a verdict.
type Kind uint8

const (
	Free     Kind = iota // the entry does not stand in the way: its row is aborted, deleted, or has another key by now
	Dead                 // the same, and its row is dead to every snapshot: the entry may be marked (T6)
	Conflict             // its row is there
	Wait                 // its row depends on a transaction that has not ended
)

// Judge decides about one entry with an equal key. It is called under a page latch of the tree: it may pin and latch heap pages
// but must not wait for a lock or a transaction, nor touch a tree. Keys that were cut (B13) are equal by hash alone, so it
// compares the row's value then.
type Judge func(ptr uint64) (Verdict, error)

// Outcome of InsertUnique. With Conflict or Wait nothing was changed.
type Outcome struct {
	Kind Kind   // Free: inserted; Conflict; Wait
	Ptr  uint64 // the entry in the way
	Xid  uint64 // for Wait: the transaction to wait for, outside any latch, before trying again
}

// scratch is what one insert needs beside its stack.
type scratch struct {
	path path
	item []byte
	idx  []uint16
}

var scratches = sync.Pool{New: func() any { return &scratch{item: make([]byte, 0, MaxKey+16)} }}

func newScratch() *scratch {
	s := scratches.Get().(*scratch)
	s.path = path{}
	return s
}

func (s *scratch) leafItem(key []byte, ptr uint64) []byte {
	s.item = binary.LittleEndian.AppendUint64(s.item[:0], ptr)
	s.item = append(s.item, key...)
	return s.item
}

func checkKey(key []byte) error {
	if len(key) > MaxKey {
		return dberr.New(dberr.LimitExceeded, "index key of %d bytes exceeds the limit of %d", len(key), MaxKey)
	}
	return nil
}

// Insert adds the entry (key, ptr). The same entry must not be there.
func (t *Tree) Insert(ctx context.Context, crit *invariant.Crit, key []byte, ptr uint64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	s := newScratch()
	defer scratches.Put(s)
	if done, err := t.insertLast(ctx, crit, key, ptr, s, false); done || err != nil {
		return err
	}
	f, err := t.descend(ctx, crit, target{key: key, ptr: ptr}, 0, true, &s.path)
	if err != nil {
		return err
	}
	return t.insertLeaf(ctx, crit, f, key, ptr, s)
}

// InsertUnique adds the entry unless the judge finds a row in the way among those with the same key. While it looks, the first
// leaf that may hold the key stays latched, so that of two inserters of one key the second sees what the first has done.
func (t *Tree) InsertUnique(ctx context.Context, crit *invariant.Crit, key []byte, ptr uint64, judge Judge) (Outcome, error) {
	if err := checkKey(key); err != nil {
		return Outcome{}, err
	}
	t.Counters.Probes.Add(1)
	s := newScratch()
	defer scratches.Put(s)
	if done, err := t.insertLast(ctx, crit, key, ptr, s, true); done || err != nil {
		return Outcome{}, err
	}
	f, err := t.descend(ctx, crit, target{key: key}, 0, true, &s.path)
	if err != nil {
		return Outcome{}, err
	}
	sched.Point("btree.unique.latched")
	out, err := t.judgeEqual(ctx, f, key, judge)
	if err != nil || out.Kind != Free {
		release(f)
		return out, err
	}
	// Go to where the entry belongs, each page latched before the one to its left is let go: nobody with the same key can
	// come between.
	for tg := (target{key: key, ptr: ptr}); ; {
		n := node(f.Page())
		if !n.beyond(tg) {
			break
		}
		if n.incomplete() {
			blk := uint32(f.ID().Block)
			t.Counters.Finished.Add(1)
			if err := t.finish(ctx, crit, f, &s.path); err != nil {
				return Outcome{}, err
			}
			// The latch was let go. Whoever came between with the same key must be judged, so begin again.
			if f, err = t.latch(ctx, blk, 0, true); err != nil {
				return Outcome{}, err
			}
			release(f)
			return t.InsertUnique(ctx, crit, key, ptr, judge)
		}
		right, err := t.latch(ctx, n.next(), 0, true)
		release(f)
		if err != nil {
			return Outcome{}, err
		}
		f = right
	}
	return Outcome{}, t.insertLeaf(ctx, crit, f, key, ptr, s)
}

// ProbeUnique asks the judge about the entries with the key and inserts nothing; by the time it returns another may have.
func (t *Tree) ProbeUnique(ctx context.Context, crit *invariant.Crit, key []byte, judge Judge) (Outcome, error) {
	if err := checkKey(key); err != nil {
		return Outcome{}, err
	}
	t.Counters.Probes.Add(1)
	s := newScratch()
	defer scratches.Put(s)
	f, err := t.descend(ctx, crit, target{key: key}, 0, true, &s.path)
	if err != nil {
		return Outcome{}, err
	}
	out, err := t.judgeEqual(ctx, f, key, judge)
	release(f)
	return out, err
}

// judgeEqual asks the judge about each entry with the key, from leaf f, which stays exclusively latched, to the right.
func (t *Tree) judgeEqual(ctx context.Context, f *buffer.Frame, key []byte, judge Judge) (Outcome, error) {
	cur := f
	defer func() {
		if cur != f {
			unlatch(cur, false)
		}
	}()
	for i := node(f.Page()).search(target{key: key}); ; i = 1 {
		n := node(cur.Page())
		if cur != f {
			i = n.first()
		}
		for ; i < n.count(); i++ {
			it := n.item(i)
			if !bytes.Equal(itemKey(it), key) {
				return Outcome{}, nil
			}
			if n.dead(i) {
				continue
			}
			v, err := judge(itemPtr(it))
			if err != nil {
				return Outcome{}, err
			}
			switch v.Kind {
			case Dead:
				if cur == f { // exclusively latched, so the mark is allowed
					n.markDead(i)
					f.MarkHintDirty()
					t.Counters.DeadMarked.Add(1)
				}
			case Conflict, Wait:
				return Outcome{Kind: v.Kind, Ptr: itemPtr(it), Xid: v.Xid}, nil
			}
		}
		if n.rightmost() || bytes.Compare(n.sep(0).key, key) > 0 {
			return Outcome{}, nil
		}
		right, err := t.latch(ctx, n.next(), 0, false)
		if err != nil {
			return Outcome{}, err
		}
		if cur != f {
			unlatch(cur, false)
		}
		cur = right
	}
}

// insertLast puts the entry on the rightmost leaf without a descent if it belongs behind everything on it and fits. Ascending
// ids come this way.
func (t *Tree) insertLast(ctx context.Context, crit *invariant.Crit, key []byte, ptr uint64, s *scratch, unique bool) (bool, error) {
	blk := t.last.Load()
	if blk == 0 {
		return false, nil
	}
	f, err := t.latch(ctx, blk, 0, true)
	if err != nil {
		return false, err
	}
	n := node(f.Page())
	c := n.count()
	if !n.rightmost() || c == 0 || n.free() < room(leafSize(key)) {
		release(f)
		return false, nil
	}
	it := n.item(c - 1)
	if cmp := bytes.Compare(key, itemKey(it)); cmp < 0 || cmp == 0 && (unique || ptr <= itemPtr(it)) {
		t.last.CompareAndSwap(blk, 0) // not an ascending load, or not any more
		release(f)
		return false, nil
	}
	t.Counters.Appends.Add(1)
	t.Counters.Inserts.Add(1)
	return true, t.place(ctx, crit, f, c, s.leafItem(key, ptr), &s.path, nil)
}

// insertLeaf adds the entry to f, the exclusively latched leaf where it belongs, and consumes f.
func (t *Tree) insertLeaf(ctx context.Context, crit *invariant.Crit, f *buffer.Frame, key []byte, ptr uint64, s *scratch) error {
	n := node(f.Page())
	if n.free() < room(leafSize(key)) {
		if err := t.removeDead(crit, f, s); err != nil {
			release(f)
			return err
		}
	}
	at := n.search(target{key: key, ptr: ptr})
	if at < n.count() {
		if it := n.item(at); itemPtr(it) == ptr && bytes.Equal(itemKey(it), key) {
			blk := uint32(f.ID().Block)
			release(f)
			return t.corrupt(blk, "entry for row pointer %#x is there already", ptr)
		}
	}
	t.Counters.Inserts.Add(1)
	if n.rightmost() && at == n.count() {
		t.last.Store(uint32(f.ID().Block))
	}
	return t.place(ctx, crit, f, at, s.leafItem(key, ptr), &s.path, nil)
}

// place puts an item at index at of the exclusively latched page f, splitting it if it must. On an inner page child is the
// latched left half of the split whose downlink this is; its flag falls in the same record (B6). Both frames are consumed.
func (t *Tree) place(ctx context.Context, crit *invariant.Crit, f *buffer.Frame, at int, it []byte, p *path, child *buffer.Frame) error {
	n := node(f.Page())
	if n.free() < room(len(it)) {
		return t.split(ctx, crit, f, at, it, p, child)
	}
	op := uint8(opInsertLeaf)
	if child != nil {
		op = opInsertInner
	}
	b := beginRecord(op)
	defer builders.Put(b)
	var pos [2]byte
	binary.LittleEndian.PutUint16(pos[:], uint16(at))
	crit.Enter()
	n.insertAt(at, it)
	f.MarkDirty()
	b.Block(f, wal.Standard)
	b.BlockData(0, pos[:], it)
	if child != nil {
		completed(node(child.Page()))
		child.MarkDirty()
		b.Block(child, wal.Standard)
	}
	_, err := t.log.Insert(b)
	crit.Logged(b.Len())
	crit.Exit()
	release(f)
	if child != nil {
		release(child)
	}
	return err
}

// completed takes the flag of an incomplete split away.
func completed(n node) { n.setFlags(n.flags() &^ flagIncomplete) }

// split divides f around the new item, then gives the new right page its downlink. It consumes f and child. An error after the
// split itself leaves an incomplete split behind, which the next inserter finishes.
func (t *Tree) split(ctx context.Context, crit *invariant.Crit, f *buffer.Frame, at int, it []byte, p *path, child *buffer.Frame) error {
	fail := func(err error) error {
		release(f)
		if child != nil {
			release(child)
		}
		return err
	}
	ctx = context.Background() // not to be cancelled: a half done change of structure costs others more than the rest of it costs us
	n := node(f.Page())
	s := splitters.Get().(*splitter)
	defer splitters.Put(s)
	s.gather(n, at, it)
	if err := s.choose(n); err != nil {
		return fail(t.corrupt(uint32(f.ID().Block), "%v", err))
	}
	right, err := t.extend(ctx)
	if err != nil {
		return fail(err)
	}
	var sib *buffer.Frame
	if !n.rightmost() {
		if sib, err = t.latch(ctx, n.next(), n.level(), true); err != nil {
			release(right)
			return fail(err)
		}
		if back := node(sib.Page()).prev(); back != uint32(f.ID().Block) {
			err := t.corrupt(uint32(sib.ID().Block), "left link names page %d, not %d", back, f.ID().Block)
			release(sib)
			release(right)
			return fail(err)
		}
	}
	if n.level() == 0 && n.rightmost() && t.last.Load() == uint32(f.ID().Block) {
		defer t.last.Store(uint32(right.ID().Block))
	}
	leftBlock, rightBlock := uint32(f.ID().Block), uint32(right.ID().Block)
	s.build(n, leftBlock, rightBlock)
	if invariant.Enabled {
		for _, pg := range []node{s.left[:], s.right[:]} {
			if err := pg.verify(); err != nil {
				invariant.Failf("split of page %d: %v", leftBlock, err)
			}
		}
	}
	b := beginRecord(opSplit)
	defer builders.Put(b)
	err = t.logSplit(crit, b, s, f, right, sib, child)
	t.Counters.Splits.Add(1)
	release(right)
	if sib != nil {
		release(sib)
	}
	if child != nil {
		release(child)
	}
	if err != nil {
		release(f)
		return err
	}
	sched.Point("btree.split.beforeParent")
	return t.finish(ctx, crit, f, p)
}

// logSplit copies both halves into their frames and logs them with the left link of the old right sibling and, on an inner
// level, the flag of the child (B6).
func (t *Tree) logSplit(crit *invariant.Crit, b *wal.Builder, s *splitter, f, right, sib, child *buffer.Frame) error {
	var head [splitHead]byte
	newOnLeft := s.newAt < s.first
	h := splitRecord{
		first: s.first, newAt: s.newAt, newOnLeft: newOnLeft, level: node(s.right[:]).level(),
		next: node(s.right[:]).next(), sib: sib != nil, child: child != nil,
	}
	h.put(head[:])
	var newItem []byte
	if newOnLeft {
		newItem = s.items[s.newAt]
	}
	s.log = appendItems(s.log[:0], s.right[:])
	var sizes [2]byte
	binary.LittleEndian.PutUint16(sizes[:], uint16(len(s.high)))

	b.Data(head[:])
	crit.Enter()
	// The items alias the old left page, so what the record needs of it is taken before the page changes.
	b.Block(f, wal.Standard)
	b.BlockData(0, sizes[:], s.high, newItem)
	b.Block(right, wal.WillInit)
	b.BlockData(1, s.log)
	copyPage(f.Page(), s.left[:])
	copyPage(right.Page(), s.right[:])
	f.MarkDirty()
	right.MarkDirty()
	if sib != nil {
		node(sib.Page()).setPrev(uint32(right.ID().Block))
		sib.MarkDirty()
		b.Block(sib, wal.Standard)
	}
	if child != nil {
		completed(node(child.Page()))
		child.MarkDirty()
		b.Block(child, wal.Standard)
	}
	_, err := t.log.Insert(b)
	crit.Logged(b.Len())
	crit.Exit()
	return err
}

// copyPage replaces everything but the LSN and the checksum.
func copyPage(dst page.Page, src []byte) {
	lsn := dst.LSN()
	copy(dst, src)
	dst.SetLSN(lsn)
}

// finish gives the right sibling of left, an exclusively latched page with an incomplete split, its downlink. It consumes left.
func (t *Tree) finish(ctx context.Context, crit *invariant.Crit, left *buffer.Frame, p *path) error {
	ctx = context.Background() // not to be cancelled
	n := node(left.Page())
	sep := n.sep(0)
	parent, at, err := t.lockParent(ctx, crit, left, sep, p)
	if err != nil {
		release(left)
		return err
	}
	if parent == nil {
		return nil // a new root was made
	}
	s := newScratch()
	defer scratches.Put(s)
	s.item = appendSep(s.item[:0], n.next(), sep)
	return t.place(ctx, crit, parent, at+1, s.item, p, left)
}

// lockParent finds the page that holds the downlink of left and latches it exclusively. If left is the root it makes a new one,
// which completes the split, releases left and returns nil.
func (t *Tree) lockParent(ctx context.Context, crit *invariant.Crit, left *buffer.Frame, sep sepKey, p *path) (*buffer.Frame, int, error) {
	level, leftBlock := node(left.Page()).level()+1, uint32(left.ID().Block)
	if level >= maxLevel {
		return nil, 0, t.corrupt(leftBlock, "tree is too high")
	}
	if p.blk[level] == 0 {
		meta, m, err := t.latchMeta(ctx, true)
		if err != nil {
			return nil, 0, err
		}
		if m.level == level-1 {
			if m.root != leftBlock {
				release(meta)
				return nil, 0, t.corrupt(leftBlock, "a page of the root's level has split but page %d is the root", m.root)
			}
			return nil, 0, t.newRoot(ctx, crit, meta, left, sep)
		}
		release(meta)
	}
	if blk := p.blk[level]; blk != 0 {
		hint := p.at[level]
		for blk != 0 {
			f, err := t.latch(ctx, blk, level, true)
			if err != nil {
				return nil, 0, err
			}
			n := node(f.Page())
			if n.incomplete() {
				t.Counters.Finished.Add(1)
				if err := t.finish(ctx, crit, f, p); err != nil {
					return nil, 0, err
				}
				continue
			}
			if at := n.findChild(leftBlock, hint); at >= 0 {
				return f, at, nil
			}
			blk, hint = n.next(), -1
			release(f)
		}
	}
	// The path was too short or too old. The separator lies in the range of the parent, so a descent finds it.
	f, err := t.descend(ctx, crit, target{key: sep.key, ptr: sep.ptr}, level, true, p)
	if err != nil {
		return nil, 0, err
	}
	n := node(f.Page())
	if at := n.findChild(leftBlock, n.searchInner(target{key: sep.key, ptr: sep.ptr})); at >= 0 {
		return f, at, nil
	}
	err = t.corrupt(uint32(f.ID().Block), "no downlink to page %d", leftBlock)
	release(f)
	return nil, 0, err
}

// newRoot puts a root above left and its right sibling. It consumes meta and, unless it fails, left.
func (t *Tree) newRoot(ctx context.Context, crit *invariant.Crit, meta, left *buffer.Frame, sep sepKey) error {
	defer release(meta)
	f, err := t.extend(ctx)
	if err != nil {
		return err
	}
	defer release(f)
	ln := node(left.Page())
	leftBlock, level := uint32(left.ID().Block), ln.level()+1
	var scratch [page.Size]byte
	n := node(scratch[:])
	n.format(level)
	var buf [MaxKey + innerOverhead + 8]byte
	n.insertAt(0, appendSep(buf[:0], leftBlock, sepKey{}))
	n.insertAt(1, appendSep(buf[:0], ln.next(), sep))
	items := appendItems(nil, n)

	b := beginRecord(opNewRoot)
	defer builders.Put(b)
	var head [rootHead]byte
	binary.LittleEndian.PutUint32(head[:], uint32(f.ID().Block))
	binary.LittleEndian.PutUint16(head[4:], uint16(level))
	b.Data(head[:])
	crit.Enter()
	copyPage(f.Page(), n)
	f.MarkDirty()
	b.Block(f, wal.WillInit)
	b.BlockData(0, items)
	setMetaRoot(meta.Page(), uint32(f.ID().Block), level)
	meta.MarkDirty()
	b.Block(meta, wal.Standard)
	completed(ln)
	left.MarkDirty()
	b.Block(left, wal.Standard)
	_, err = t.log.Insert(b)
	crit.Logged(b.Len())
	crit.Exit()
	if err != nil {
		return err
	}
	t.root.Store(uint64(level)<<32 | uint64(f.ID().Block))
	release(left)
	return nil
}
