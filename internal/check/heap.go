package check

import (
	"context"
	"fmt"

	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// Transactions tells what became of a transaction. [txn.Manager] is one.
type Transactions interface {
	NextXID() txn.XID
	Outcome(x txn.XID) (txn.State, page.LSN)
}

// Heap checks the pages of a heap and the chains of versions on them. live, if not nil, gets the root and the bytes of each row
// that a snapshot taken now would see; the bytes live until it returns.
func (r *Report) Heap(ctx context.Context, pool *buffer.Pool, xs Transactions, rel page.RelFile, live func(root page.TID, row []byte) error) error {
	size, err := pool.Size(rel, page.Main)
	if err != nil {
		return err
	}
	c := &heapPage{r: r, xs: xs, next: xs.NextXID(), p: make(page.Page, page.Size)}
	vm := &mapPage{r: r, pool: pool, rel: rel, loaded: page.NoBlock, p: make(page.Page, page.Size)}
	for b := page.Block(0); b < size; b++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.id = page.ID{Rel: rel, Block: b}
		ok, err := r.read(ctx, pool, c.id, c.p)
		if err != nil {
			return err
		}
		if !ok || !r.page(c.id, c.p, []page.Type{page.TypeHeap}) {
			continue
		}
		if mapped, err := vm.visible(ctx, b); err != nil {
			return err
		} else if mapped != heap.MarkedAllVisible(c.p) {
			r.faultAt(c.id, "visibility map says all-visible %t, the page %t", mapped, !mapped)
		}
		if !c.check() {
			continue
		}
		for off, n := 1, c.p.NumItems(); off <= n; off++ {
			row, found := c.liveAt(off)
			if !found {
				continue
			}
			r.Rows++
			if live != nil {
				if err := live(page.MakeTID(b, off), row); err != nil {
					return err
				}
			}
		}
	}
	if err := r.PagesOf(ctx, pool, rel, page.VM, page.TypeVM); err != nil {
		return err
	}
	return r.freeSpace(ctx, pool, rel)
}

// freeSpace looks at the free space map. It is not logged, so damaged pages are read as empty (A7) and a wrong one is no fault;
// but what is read as a page of it must be one.
func (r *Report) freeSpace(ctx context.Context, pool *buffer.Pool, rel page.RelFile) error {
	size, err := pool.Size(rel, page.FSM)
	if err != nil {
		return err
	}
	for b := page.Block(0); b < size; b++ {
		id := page.ID{Rel: rel, Fork: page.FSM, Block: b}
		f, err := pool.PinOrZero(ctx, id)
		if err != nil {
			return err
		}
		f.RLock()
		isNew, typ := f.Page().IsNew(), f.Page().Type()
		f.RUnlock()
		f.Unpin()
		r.Pages++
		if !isNew && typ != page.TypeFSM {
			r.faultAt(id, "is a %v page in a free space map", typ)
		}
	}
	return nil
}

// mapPage holds a copy of the page of the visibility map that was asked last.
type mapPage struct {
	r      *Report
	pool   *buffer.Pool
	rel    page.RelFile
	loaded page.Block
	ok     bool
	p      page.Page
}

func (m *mapPage) visible(ctx context.Context, b page.Block) (bool, error) {
	block := heap.MapBlock(b)
	if m.loaded != block {
		size, err := m.pool.Size(m.rel, page.VM)
		if err != nil {
			return false, err
		}
		m.loaded, m.ok = block, false
		if block < size {
			// What is wrong with the page itself is told when the map is looked at.
			quiet := NewReport(Options{MaxListed: 1})
			if m.ok, err = quiet.read(ctx, m.pool, page.ID{Rel: m.rel, Fork: page.VM, Block: block}, m.p); err != nil {
				return false, err
			}
		}
	}
	return m.ok && heap.MappedVisible(m.p, b), nil
}

// heapPage checks one page at a time.
type heapPage struct {
	r    *Report
	xs   Transactions
	next txn.XID
	id   page.ID
	p    page.Page
}

func (c *heapPage) fault(off int, format string, args ...any) {
	c.r.faultAt(c.id, "item %d: %s", off, fmt.Sprintf(format, args...))
}

// over says whether an xmax is in force and committed, that is, whether the version is over.
func (c *heapPage) over(v txn.Version) bool {
	if v.Mask&(txn.XmaxNone|txn.XmaxLock) != 0 || v.Xmax == txn.InvalidXID {
		return false
	}
	if v.Mask&txn.XmaxSeen != 0 {
		return true
	}
	st, _ := c.xs.Outcome(v.Xmax)
	return st == txn.Committed
}

// born says whether the version's maker committed.
func (c *heapPage) born(v txn.Version) bool {
	if v.Mask&(txn.XminSeen|txn.Frozen) != 0 {
		return true
	}
	if v.Mask&txn.XminAborted != 0 {
		return false
	}
	st, _ := c.xs.Outcome(v.Xmin)
	return st == txn.Committed
}

// check reports what is wrong on the page; it returns false if its chains are better not followed.
func (c *heapPage) check() bool {
	before := c.r.NumFaults
	n := c.p.NumItems()
	if n > heap.MaxTuples {
		c.r.faultAt(c.id, "%d line pointers, more than %d", n, heap.MaxTuples)
		return false
	}
	var pointed [heap.MaxTuples + 1]bool
	for off := 1; off <= n; off++ {
		switch id := c.p.ItemID(off); id.State() {
		case page.Redirect:
			target := id.Target()
			it, ok := heap.Inspect(c.p, target)
			switch {
			case !ok:
				c.fault(off, "redirects to %d, which is no version", target)
			case it.Version.Mask&txn.HeapOnly == 0:
				c.fault(off, "redirects to %d, which is not heap-only", target)
			case pointed[target]:
				c.fault(off, "redirects to %d, which has a predecessor already", target)
			default:
				pointed[target] = true
			}
		case page.Normal:
			it, ok := heap.Inspect(c.p, off)
			if !ok {
				c.fault(off, "%d bytes are no version", id.Len())
				continue
			}
			c.version(off, it, &pointed)
		}
	}
	if c.r.NumFaults > before {
		return false
	}
	for off := 1; off <= n; off++ {
		if it, ok := heap.Inspect(c.p, off); ok && it.Version.Mask&txn.HeapOnly != 0 && !pointed[off] && c.born(it.Version) {
			c.fault(off, "heap-only version that no chain leads to")
		}
	}
	return c.r.NumFaults == before
}

// version checks one version for itself and its link to the next.
func (c *heapPage) version(off int, it heap.Item, pointed *[heap.MaxTuples + 1]bool) {
	v := it.Version
	c.r.Versions++
	if it.HeaderLen != heap.HeaderSize {
		c.fault(off, "header length %d", it.HeaderLen)
	}
	if len(it.Row) < 8 {
		c.fault(off, "row of %d bytes has no id", len(it.Row))
	}
	if v.Xmin == txn.InvalidXID || v.Xmin >= c.next {
		c.fault(off, "xmin %d is not below the next xid, %d", v.Xmin, c.next)
		return
	}
	if v.Xmax >= c.next {
		c.fault(off, "xmax %d is not below the next xid, %d", v.Xmax, c.next)
		return
	}
	if v.Mask&(txn.XminSeen|txn.Frozen) != 0 && v.Mask&txn.XminAborted != 0 {
		c.fault(off, "hints say that xmin both committed and aborted")
	}
	if v.Mask&txn.Frozen == 0 {
		switch st, _ := c.xs.Outcome(v.Xmin); {
		case v.Mask&txn.XminSeen != 0 && st != txn.Committed:
			c.fault(off, "hint says that xmin %d committed, its status is %v", v.Xmin, st)
		case v.Mask&txn.XminAborted != 0 && st != txn.Aborted:
			c.fault(off, "hint says that xmin %d aborted, its status is %v", v.Xmin, st)
		}
	}
	if v.Xmax != txn.InvalidXID && v.Mask&txn.XmaxLock == 0 {
		switch st, _ := c.xs.Outcome(v.Xmax); {
		case v.Mask&txn.XmaxSeen != 0 && st != txn.Committed:
			c.fault(off, "hint says that xmax %d committed, its status is %v", v.Xmax, st)
		case v.Mask&txn.XmaxNone != 0 && st == txn.Committed:
			c.fault(off, "hint says that xmax %d aborted, its status is %v", v.Xmax, st)
		}
	}
	if heap.MarkedAllVisible(c.p) {
		switch {
		case !c.born(v):
			c.fault(off, "page is marked all-visible but xmin %d did not commit", v.Xmin)
		case c.over(v):
			c.fault(off, "page is marked all-visible but xmax %d committed", v.Xmax)
		}
	}
	if v.Mask&txn.HotUpdated == 0 || v.Mask&txn.XmaxNone != 0 {
		return
	}
	next := it.Next.Offset()
	succ, ok := heap.Inspect(c.p, next)
	linked := it.Next.Block() == c.id.Block && ok && succ.Version.Xmin == v.Xmax && succ.Version.Mask&txn.HeapOnly != 0
	switch {
	case linked && pointed[next]:
		c.fault(off, "successor %d has a predecessor already", next)
	case linked:
		pointed[next] = true
	case c.over(v):
		c.fault(off, "heap-only successor %v is missing", it.Next)
	}
}

// liveAt returns the bytes of the version behind root off that a snapshot taken now would see.
func (c *heapPage) liveAt(off int) (row []byte, ok bool) {
	id := c.p.ItemID(off)
	at := off
	if id.State() == page.Redirect {
		at = id.Target()
	} else if it, ok := heap.Inspect(c.p, off); !ok || it.Version.Mask&txn.HeapOnly != 0 {
		return nil, false
	}
	for range heap.MaxTuples {
		it, has := heap.Inspect(c.p, at)
		if !has {
			return row, ok
		}
		if c.born(it.Version) && !c.over(it.Version) {
			if ok {
				c.fault(off, "two versions of the row are alive")
			}
			row, ok = it.Row, true
		}
		if it.Version.Mask&txn.HotUpdated == 0 || it.Next.Block() != c.id.Block {
			return row, ok
		}
		succ, has := heap.Inspect(c.p, it.Next.Offset())
		if !has || succ.Version.Xmin != it.Version.Xmax || succ.Version.Mask&txn.HeapOnly == 0 {
			return row, ok
		}
		at = it.Next.Offset()
	}
	c.fault(off, "chain goes in a circle")
	return row, ok
}

// chainRows calls f with the bytes of each version behind the root, until it returns true. found says what stands at the root.
func chainRows(p page.Page, block page.Block, off int, f func(row []byte) bool) (state page.State) {
	if off < 1 || off > p.NumItems() {
		return page.Unused
	}
	id := p.ItemID(off)
	if id.State() == page.Redirect {
		off = id.Target()
	}
	for range heap.MaxTuples {
		it, ok := heap.Inspect(p, off)
		if !ok || f(it.Row) || it.Version.Mask&txn.HotUpdated == 0 || it.Next.Block() != block {
			return id.State()
		}
		succ, ok := heap.Inspect(p, it.Next.Offset())
		if !ok || succ.Version.Xmin != it.Version.Xmax || succ.Version.Mask&txn.HeapOnly == 0 {
			return id.State()
		}
		off = it.Next.Offset()
	}
	return id.State()
}
