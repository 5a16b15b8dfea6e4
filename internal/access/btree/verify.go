package btree

import (
	"bytes"
	"context"
	"fmt"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
)

// VerifyPage checks what one page of a tree's file says about itself, meta page or node. It never panics, whatever the bytes.
func VerifyPage(p page.Page) error {
	if len(p) == page.Size && p.Type() == page.TypeBMeta {
		_, err := decodeMeta(p)
		return err
	}
	return node(p).verify()
}

// Visitor is told what Verify finds. Any of its functions may be nil.
type Visitor struct {
	Fault func(block page.Block, reason string)
	// Leak reports pages that no search reaches: space lost, no fault (B11).
	Leak func(block page.Block, reason string)
	// Entry gets every entry in order, also those marked dead. The key lives until it returns.
	Entry func(key []byte, ptr uint64, dead bool)
}

// Summary is what Verify counted.
type Summary struct {
	Levels     int
	Pages      uint64 // reachable ones, without the meta page
	Leaves     uint64
	Entries    uint64
	Dead       uint64
	Incomplete int
	Leaks      uint64
	Faults     int
	HasLong    bool
}

// Verify checks T1 to T5 over the whole tree. Nobody may write to it meanwhile. The error is for what kept it from looking.
func (t *Tree) Verify(ctx context.Context, v Visitor) (Summary, error) {
	c := &verifier{t: t, v: v}
	size, err := t.pool.Size(t.rel, page.Main)
	if err != nil {
		return c.sum, err
	}
	c.seen = make([]bool, size)
	if size == 0 {
		c.fault(0, "file is empty")
		return c.sum, nil
	}
	buf := make(node, page.Size)
	if ok, err := c.load(ctx, metaBlock, buf); !ok || err != nil {
		return c.sum, err
	}
	c.seen[metaBlock] = true
	m, err := decodeMeta(page.Page(buf))
	if err != nil {
		c.fault(metaBlock, "%v", err)
		return c.sum, nil
	}
	c.sum.HasLong = m.flags&metaHasLong != 0
	c.sum.Levels = m.level + 1
	first, parent := m.root, uint32(0)
	for level := m.level; level >= 0; level-- {
		below, err := c.level(ctx, level, first, parent)
		if err != nil {
			return c.sum, err
		}
		if below == 0 && level > 0 {
			break // the way down is lost; the fault has been told
		}
		first, parent = below, first
	}
	return c.sum, c.unreached(ctx)
}

type verifier struct {
	t    *Tree
	v    Visitor
	sum  Summary
	seen []bool
}

func (c *verifier) fault(blk uint32, format string, args ...any) {
	c.sum.Faults++
	if c.v.Fault != nil {
		c.v.Fault(page.Block(blk), fmt.Sprintf(format, args...))
	}
}

// load copies a page; false if it cannot be read for what is in it.
func (c *verifier) load(ctx context.Context, blk uint32, dst node) (bool, error) {
	if int(blk) >= len(c.seen) {
		c.fault(blk, "lies beyond the end of the file, %d pages", len(c.seen))
		return false, nil
	}
	f, err := c.t.pin(ctx, blk)
	if err != nil {
		if dberr.Is(err, dberr.DataCorrupted) {
			c.fault(blk, "%v", err)
			return false, nil
		}
		return false, err
	}
	f.RLock()
	src := node(f.Page())
	copy(dst[:headerSize], src[:headerSize])
	upper := min(max(src.u16(lowerAt), headerSize), page.Size)
	for at := headerSize; at+lpSize <= upper; at += lpSize { // line pointers are read by words (A10)
		putWord(dst, at, loadWord(src, at))
	}
	copy(dst[upper:], src[upper:])
	unlatch(f, false)
	return true, nil
}

// level walks one level from its first page and the level above it in step. It returns the first child, 0 if there is none.
func (c *verifier) level(ctx context.Context, level int, first, parent uint32) (uint32, error) {
	up := downlinks{c: c, next: parent, level: level + 1, page: make(node, page.Size)}
	n := make(node, page.Size)
	var below, left uint32
	var low sepKey // high key of the page to the left
	incomplete := false
	for blk := first; blk != 0; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		ok, err := c.load(ctx, blk, n)
		if !ok || err != nil {
			return below, err
		}
		if c.seen[blk] {
			c.fault(blk, "is reached twice")
			return below, nil
		}
		c.seen[blk] = true
		if page.Page(n).IsNew() {
			c.fault(blk, "is linked but was never written")
			return below, nil
		}
		if err := n.verify(); err != nil {
			c.fault(blk, "%v", err)
			return below, nil
		}
		if n.level() != level {
			c.fault(blk, "is at level %d among pages of level %d", n.level(), level)
			return below, nil
		}
		c.sum.Pages++
		if n.prev() != left {
			c.fault(blk, "T4: left link names page %d, not %d", n.prev(), left)
		}
		if left != 0 {
			c.checkLow(n, blk, low)
		}
		if parent != 0 {
			if err := c.checkDownlink(ctx, &up, blk, left, low, incomplete); err != nil {
				return below, err
			}
		} else if left != 0 && !incomplete {
			c.fault(blk, "T5: has siblings at the level of the root")
		}
		if level == 0 {
			c.leaf(n)
		} else if left == 0 {
			below = n.child(n.first())
		}
		if incomplete = n.incomplete(); incomplete {
			c.sum.Incomplete++
		}
		if !n.rightmost() {
			s := n.sep(0)
			low = sepKey{bytes.Clone(s.key), s.ptr, s.hasPtr}
		}
		left, blk = blk, n.next()
	}
	if parent != 0 {
		if d, ok, err := up.peek(ctx); err != nil {
			return below, err
		} else if ok {
			c.fault(up.blk, "T5: downlink to page %d, which is not on its level", d)
		}
	}
	return below, nil
}

// checkLow holds a page against the high key of its left neighbour (T1).
func (c *verifier) checkLow(n node, blk uint32, low sepKey) {
	i := n.first()
	if n.level() > 0 {
		i++ // the first item of an inner page carries no key
	}
	if i >= n.count() {
		return
	}
	s := sepKey{}
	if n.level() == 0 {
		s = sepKey{itemKey(n.item(i)), itemPtr(n.item(i)), true}
		if compare(s.key, s.ptr, low.key, low.ptr) >= 0 {
			return
		}
	} else if s = n.sep(i); compare(s.key, s.ptr, low.key, low.ptr) > 0 {
		return
	}
	c.fault(blk, "T1: first key is below the high key of the page to the left")
}

// checkDownlink holds a page against the next downlink of the level above (T5).
func (c *verifier) checkDownlink(ctx context.Context, up *downlinks, blk, left uint32, low sepKey, incomplete bool) error {
	child, ok, err := up.peek(ctx)
	if err != nil {
		return err
	}
	if incomplete {
		if ok && child == blk {
			c.fault(left, "T5: split is flagged incomplete but page %d has its downlink", blk)
			up.advance()
		}
		return nil
	}
	if !ok || child != blk {
		c.fault(blk, "T5: has no downlink at its place")
		return nil
	}
	sep, first := up.sep()
	up.advance()
	switch {
	case left == 0:
		if !first {
			c.fault(blk, "T5: first page of its level is not the first child")
		}
	case first:
		c.fault(blk, "T5: first child of the level above is not the first page")
	case compare(sep.key, sep.ptr, low.key, low.ptr) != 0 || sep.hasPtr != low.hasPtr:
		c.fault(blk, "T5: downlink's key differs from the high key of the page to the left")
	}
	return nil
}

func (c *verifier) leaf(n node) {
	c.sum.Leaves++
	for i := n.first(); i < n.count(); i++ {
		it := n.item(i)
		c.sum.Entries++
		dead := n.dead(i)
		if dead {
			c.sum.Dead++
		}
		if c.v.Entry != nil {
			c.v.Entry(itemKey(it), itemPtr(it), dead)
		}
	}
}

// unreached looks at the pages that no link led to.
func (c *verifier) unreached(ctx context.Context) error {
	buf := make(node, page.Size)
	for blk := range c.seen {
		if c.seen[blk] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		ok, err := c.load(ctx, uint32(blk), buf)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		reason := "is not linked into the tree"
		if page.Page(buf).IsNew() {
			reason = "was never written"
		} else if err := VerifyPage(page.Page(buf)); err != nil {
			c.fault(uint32(blk), "%v", err)
			continue
		}
		c.sum.Leaks++
		if c.v.Leak != nil {
			c.v.Leak(page.Block(blk), reason)
		}
	}
	return nil
}

// downlinks reads the items of an inner level from left to right.
type downlinks struct {
	c     *verifier
	level int
	page  node
	blk   uint32 // page held, 0 before the first
	next  uint32
	at    int
	low   sepKey // high key of the page to the left of the one held
	left  bool   // whether there is one
	seen  int
}

// peek returns the child that the next downlink points to.
func (d *downlinks) peek(ctx context.Context) (uint32, bool, error) {
	for d.blk == 0 || d.at >= d.page.count() {
		if d.next == 0 {
			return 0, false, nil
		}
		if d.seen++; d.seen > len(d.c.seen) {
			return 0, false, nil // a circle, reported when that level was walked
		}
		if d.blk != 0 && !d.page.rightmost() {
			s := d.page.sep(0)
			d.low, d.left = sepKey{bytes.Clone(s.key), s.ptr, s.hasPtr}, true
		}
		blk := d.next
		f, err := d.c.t.pin(ctx, blk)
		if err != nil {
			if dberr.Is(err, dberr.DataCorrupted) {
				d.next = 0
				return 0, false, nil // reported when that level was walked
			}
			return 0, false, err
		}
		f.RLock()
		copy(d.page, f.Page()) // an inner page has no marks that change under a shared latch
		unlatch(f, false)
		if d.page.verify() != nil || d.page.level() != d.level {
			d.next = 0
			d.blk = 0
			return 0, false, nil
		}
		d.blk, d.next, d.at = blk, d.page.next(), d.page.first()
	}
	return d.page.child(d.at), true, nil
}

// sep returns the key of the downlink that peek showed, that of its page's lower end for a first one. first says that it has none.
func (d *downlinks) sep() (s sepKey, first bool) {
	if d.at > d.page.first() {
		return d.page.sep(d.at), false
	}
	return d.low, !d.left
}

func (d *downlinks) advance() { d.at++ }
