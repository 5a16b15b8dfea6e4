package heap

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// Batch holds copies of rows; its memory is used again by the next batch.
type Batch struct {
	TID []page.TID // roots
	off []uint32   // where each row begins in buf; one more than rows
	buf []byte
}

// Reset empties b and keeps its memory.
func (b *Batch) Reset() { b.TID, b.off, b.buf = b.TID[:0], b.off[:0], b.buf[:0] }

// Len returns the number of rows.
func (b *Batch) Len() int { return len(b.TID) }

// Row returns the bytes of row i.
func (b *Batch) Row(i int) []byte {
	end := uint32(len(b.buf))
	if i+1 < len(b.off) {
		end = b.off[i+1]
	}
	return b.buf[b.off[i]:end:end]
}

func (b *Batch) add(tid page.TID, row []byte) {
	b.TID = append(b.TID, tid)
	b.off = append(b.off, uint32(len(b.buf)))
	b.buf = append(b.buf, row...)
}

// ringBytes is how much of the pool a scan of a large table passes through.
const ringBytes = 256 << 10

// Scan reads all rows that a snapshot sees, page by page. Between calls of Next it holds nothing but its place.
type Scan struct {
	t          *Table
	s          *txn.Snapshot
	cid        uint32
	next, end  page.Block
	off        int // root offsets of page next up to it were returned already
	refreshing bool
	started    bool
	limited    bool
	past       txn.XID // ended for every snapshot when the scan began
	hints      hints
	ring       *buffer.Ring // of a table that would push everything else out of the pool
}

// Scan begins to read everything. The snapshot must stay open until the last Next.
func (t *Table) Scan(s *txn.Snapshot, cid uint32) *Scan { return &Scan{t: t, s: s, cid: cid} }

// ScanRange reads the blocks from … to-1 only.
func (t *Table) ScanRange(s *txn.Snapshot, cid uint32, from, to page.Block) *Scan {
	return &Scan{t: t, s: s, cid: cid, next: from, end: to, started: true, limited: true}
}

// Blocks returns the next page to read and the end of the scan as known now.
func (c *Scan) Blocks() (next, end page.Block) { return c.next, c.end }

// Next replaces the contents of b with up to max rows; none means the end.
func (c *Scan) Next(ctx context.Context, max int, b *Batch) error {
	b.Reset()
	if c.past == txn.InvalidXID {
		c.past = c.t.o.Txns.Horizon().Xmin // also makes hints of what ended lately possible
	}
	if !c.started {
		end, err := c.t.Blocks()
		if err != nil {
			return err
		}
		c.end, c.started = end, true
	}
	for b.Len() < max {
		if c.next >= c.end {
			if !c.more() {
				return nil
			}
			continue
		}
		if err := ctx.Err(); err != nil {
			return dberr.As(err)
		}
		if err := c.page(ctx, max, b); err != nil {
			return err
		}
	}
	return nil
}

// more looks once more at the size of a table some rows of which are judged newer than the snapshot (rules A9): they may have
// moved behind the end that the scan began with. Other rows there are invisible to it.
func (c *Scan) more() bool {
	if c.refreshing || c.limited || !c.s.Refreshed() {
		return false
	}
	c.refreshing = true
	end, err := c.t.Blocks()
	if err != nil || end <= c.end {
		return false
	}
	c.end = end
	return true
}

func (c *Scan) page(ctx context.Context, max int, b *Batch) error {
	pool := c.t.o.Pool
	if c.ring == nil && int(c.end) > pool.Frames()/4 {
		c.ring = pool.NewRing(ringBytes)
	}
	c.t.counters.PagesPinned.Add(1)
	f, err := pool.PinRing(ctx, page.ID{Rel: c.t.o.File, Fork: page.Main, Block: c.next}, c.ring)
	if err != nil {
		return err
	}
	defer f.Unpin()
	if c.off == 0 {
		c.t.pruneOnRead(ctx, f, crit(c.s))
	}
	if c.read(f, max, b) {
		return c.t.markVisible(ctx, f)
	}
	return nil
}

// read copies the rows of a pinned page; candidate if all of them may be visible to everybody.
func (c *Scan) read(f *buffer.Frame, max int, b *Batch) (candidate bool) {
	f.RLock()
	defer f.RUnlock()
	p := f.Page()
	n := 0
	if !p.IsNew() {
		n = p.NumItems()
	}
	// Marking is for pages that are to be written anyway and need no image in the log: a reader must not cost more than it saves.
	candidate = n > 0 && p.Flags()&flagAllVisible == 0 && !c.s.Refreshed() && f.Dirty() && p.LSN() > c.t.o.Log.RedoLSN()
	for off := c.off + 1; off <= n; off++ {
		id := p.ItemID(off)
		switch id.State() {
		case page.Unused:
			continue
		case page.Dead:
			candidate = false
			continue
		case page.Normal:
			if tupleAt(p, id).mask()&txn.HeapOnly != 0 {
				continue // reached from its root
			}
		}
		if b.Len() >= max {
			c.off = off - 1
			c.hints.set(f)
			return false
		}
		got := c.t.look(f, c.s, c.cid, off, 0, txn.InvalidXID, &c.hints)
		if c.hints.n > len(c.hints.at)/2 {
			c.hints.set(f)
		}
		if got.found {
			b.add(page.MakeTID(c.next, off), got.tup.row())
			m := got.tup.mask()
			candidate = candidate && m&txn.XmaxNone != 0 && (m&(txn.XminSeen|txn.Frozen) != 0 || got.tup.xmin() < c.past)
		} else {
			candidate = false
		}
	}
	c.hints.set(f)
	c.next, c.off = c.next+1, 0
	return candidate
}
