package btree

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Delete removes the entry (key, ptr) and reports whether it was there.
func (t *Tree) Delete(ctx context.Context, crit *invariant.Crit, key []byte, ptr uint64) (bool, error) {
	tg := target{key: key, ptr: ptr}
	f, err := t.descend(ctx, crit, tg, 0, true, nil)
	if err != nil {
		return false, err
	}
	defer release(f)
	n := node(f.Page())
	at := n.search(tg)
	if at == n.count() {
		return false, nil
	}
	if it := n.item(at); itemPtr(it) != ptr || !bytes.Equal(itemKey(it), key) {
		return false, nil
	}
	idx := [1]uint16{uint16(at)}
	return true, t.removeItems(crit, f, idx[:])
}

// removeDead removes the items of a leaf that are marked dead.
func (t *Tree) removeDead(crit *invariant.Crit, f *buffer.Frame, s *scratch) error {
	s.idx = node(f.Page()).deadItems(s.idx[:0])
	if len(s.idx) == 0 {
		return nil
	}
	t.Counters.DeadRemoved.Add(uint64(len(s.idx)))
	return t.removeItems(crit, f, s.idx)
}

// removeItems removes items of an exclusively latched leaf by their ascending indexes. Marks are not logged, so the record names
// the items.
func (t *Tree) removeItems(crit *invariant.Crit, f *buffer.Frame, idx []uint16) error {
	var buf [2 * page.Size / lpSize]byte
	data := buf[:0]
	for _, i := range idx {
		data = binary.LittleEndian.AppendUint16(data, i)
	}
	b := beginRecord(opRemove)
	defer builders.Put(b)
	crit.Enter()
	node(f.Page()).remove(idx)
	f.MarkDirty()
	b.Block(f, wal.Standard)
	b.BlockData(0, data)
	_, err := t.log.Insert(b)
	crit.Logged(b.Len())
	crit.Exit()
	return err
}

// markDead marks items of a leaf as dead to every snapshot, if the page is still what it was when they were read (B5, T6).
func (t *Tree) markDead(ctx context.Context, blk uint32, lsn page.LSN, idx []uint16) error {
	f, err := t.pin(ctx, blk)
	if err != nil {
		return err
	}
	defer f.Unpin()
	if !f.TrySXLock() {
		return nil // somebody else is busy here; the next reader finds them dead again
	}
	defer f.SXUnlock()
	n := node(f.Page())
	if f.Page().LSN() != lsn || n.check(0) != nil {
		return nil
	}
	for _, i := range idx {
		if int(i) < n.count() {
			n.markDead(int(i))
		}
	}
	f.MarkHintDirty()
	t.Counters.DeadMarked.Add(uint64(len(idx)))
	return nil
}

// BulkDelete removes every entry of the heap ordinal whose TID is dead, and those marked dead. It takes the cleanup lock of every
// leaf, changed or not: no reader that still relies on an old entry holds a pin then (B5). It returns the number of entries
// removed.
func (t *Tree) BulkDelete(ctx context.Context, crit *invariant.Crit, ordinal uint16, isDead func(tid page.TID) bool) (int, error) {
	blk, err := t.leftmost(ctx)
	if err != nil {
		return 0, err
	}
	s := newScratch()
	defer scratches.Put(s)
	removed := 0
	for blk != 0 {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		f, err := t.pin(ctx, blk)
		if err != nil {
			return removed, err
		}
		if err := f.LockCleanup(ctx); err != nil {
			f.Unpin()
			return removed, err
		}
		n := node(f.Page())
		if err := n.check(0); err != nil {
			release(f)
			return removed, t.corrupt(blk, "%v", err)
		}
		s.idx = s.idx[:0]
		for i := n.first(); i < n.count(); i++ {
			ptr := itemPtr(n.item(i))
			if n.dead(i) || Ordinal(ptr) == ordinal && isDead(TIDOf(ptr)) {
				s.idx = append(s.idx, uint16(i))
			}
		}
		blk = n.next()
		if len(s.idx) > 0 {
			err = t.removeItems(crit, f, s.idx)
			removed += len(s.idx)
		}
		release(f)
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// leftmost returns the first leaf.
func (t *Tree) leftmost(ctx context.Context) (uint32, error) {
	f, err := t.descend(ctx, nil, lowest, 0, false, nil)
	if err != nil {
		return 0, err
	}
	blk := uint32(f.ID().Block)
	unlatch(f, false)
	return blk, nil
}
