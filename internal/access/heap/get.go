package heap

import (
	"context"
	"errors"
	"math"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// Want says how far a look-up may go from its TID.
type Want uint8

const (
	// ByIndex looks only at the chain of the root: a version elsewhere has an index entry of its own.
	ByIndex Want = iota
	// ByHint also follows the versions that the own transaction made, to whatever page (rules B1).
	ByHint
	// WithDeleted is ByHint that serves a row which the own transaction deleted (rules C8).
	WithDeleted
)

// Getter reads rows by their TIDs. It keeps the page of the last one pinned: a batch that visits TIDs in the order in which
// they lie pins each page once. Release it before anything that may wait, and before writing to the same table.
type Getter struct {
	t     *Table
	f     *buffer.Frame
	crit  *invariant.Crit
	hints hints
}

// Getter returns a reader.
func (t *Table) Getter() Getter { return Getter{t: t} }

// Release unpins the page; rows that Get returned are invalid from then on.
func (g *Getter) Release() {
	if g.f != nil {
		g.f.Unpin()
		g.f = nil
	}
}

// Table returns what the getter reads.
func (g *Getter) Table() *Table { return g.t }

func (g *Getter) at(ctx context.Context, b page.Block) (bool, error) {
	if g.f != nil {
		if g.f.ID().Block == b {
			return true, nil
		}
		g.Release()
	}
	f, err := g.t.pin(ctx, b)
	if err != nil {
		if errors.Is(err, buffer.ErrNoBlock) {
			err = nil
		}
		return false, err
	}
	g.f = f
	g.t.pruneOnRead(ctx, f, g.crit)
	return true, nil
}

// Get returns the version of row id that a read at (s, cid) sees, looking from tid; an id of 0 is not compared. The bytes live
// until the next call. root is where to look next time. ok is false if there is none from here: through an index that is the
// answer, through a hint the id index has it.
func (g *Getter) Get(ctx context.Context, s *txn.Snapshot, cid uint32, tid page.TID, id uint64, want Want) (row []byte, root page.TID, ok bool, err error) {
	root = tid
	g.crit = crit(s)
	expect := txn.InvalidXID // xmin that the next version must have
	for hops := 0; ; hops++ {
		if ok, err := g.at(ctx, root.Block()); !ok {
			return nil, 0, false, err
		}
		g.f.RLock()
		c := g.t.look(g.f, s, cid, root.Offset(), id, expect, &g.hints)
		g.hints.set(g.f)
		g.f.RUnlock()
		if c.found {
			return c.tup.row(), root, true, nil
		}
		if want == ByIndex || !c.any || !ownEnd(s.Tx(), c.tup) {
			return nil, 0, false, nil
		}
		v := c.tup.version()
		if v.Mask&txn.XmaxDelete != 0 {
			if want == WithDeleted {
				return c.tup.row(), root, true, nil
			}
			return nil, 0, false, nil
		}
		next := c.tup.ctid()
		if next == page.MakeTID(root.Block(), c.off) || hops > math.MaxInt16 {
			return nil, 0, false, nil
		}
		root, expect = next, v.Xmax
	}
}

// ownEnd reports whether the version was ended by the transaction itself.
func ownEnd(tx *txn.Tx, t tuple) bool {
	m := t.mask()
	return m&(txn.XmaxNone|txn.XmaxLock) == 0 && t.xmax() != 0 && tx.Owns(t.xmax())
}

// found is where a walk along a chain on one page ended: at the version seen, or at the last.
type found struct {
	any, found bool
	tup        tuple
	off        int
}

// hints collects hint bits until the latch can be turned into one that allows setting them. What does not fit is found again
// by the next reader.
type hints struct {
	n  int
	at [16]struct {
		tup  tuple
		bits txn.Mask
	}
}

func (h *hints) add(t tuple, bits txn.Mask) {
	if h.n < len(h.at) {
		h.at[h.n].tup, h.at[h.n].bits = t, bits
		h.n++
	}
}

// look walks the chain behind a root for the version seen. The page is latched in any mode.
func (t *Table) look(f *buffer.Frame, s *txn.Snapshot, cid uint32, off int, id uint64, expect txn.XID, hs *hints) (c found) {
	p := f.Page()
	if p.IsNew() {
		return c
	}
	tup, off, ok := head(p, off)
	block := f.ID().Block
	all := p.Flags()&flagAllVisible != 0
	for ok {
		if id != 0 && tup.id() != id || expect != txn.InvalidXID && tup.xmin() != expect {
			return c
		}
		expect = txn.InvalidXID
		c.any, c.tup, c.off = true, tup, off
		if all { // H4
			c.found = true
			return c
		}
		seen, bits := s.Sees(tup.version(), tup.id(), cid)
		if bits != 0 && hs != nil {
			hs.add(tup, bits)
		}
		if seen {
			c.found = true
			return c
		}
		tup, off, ok = tup.next(block)
	}
	return c
}

// set stores the hint bits if the shared latch can be turned into a share-exclusive one at once (H7), and forgets them.
func (h *hints) set(f *buffer.Frame) {
	if h.n > 0 && f.TryUpgrade() {
		for _, x := range h.at[:h.n] {
			x.tup.addMask(x.bits)
		}
		f.MarkHintDirty()
		f.DowngradeSX()
	}
	h.n = 0
}

// Any returns the version that a root stands for, whoever sees it: for rows that are never updated and whose reader has proof that
// they are there (chunks of values out of line, rules B13). The bytes live until the next call.
func (g *Getter) Any(ctx context.Context, root page.TID, id uint64) (row []byte, ok bool, err error) {
	if ok, err := g.at(ctx, root.Block()); !ok {
		return nil, false, err
	}
	g.f.RLock()
	defer g.f.RUnlock()
	if g.f.Page().IsNew() {
		return nil, false, nil
	}
	tup, _, ok := head(g.f.Page(), root.Offset())
	if !ok || tup.id() != id {
		return nil, false, nil
	}
	return tup.row(), true, nil
}

// Chain calls f with every version of row id that lies behind the root on its page, the oldest first, whoever sees it. f runs under the
// page's latch: it must neither wait nor keep the getter busy.
func (g *Getter) Chain(ctx context.Context, root page.TID, id uint64, f func(v txn.Version)) error {
	if ok, err := g.at(ctx, root.Block()); !ok {
		return err
	}
	g.f.RLock()
	defer g.f.RUnlock()
	if g.f.Page().IsNew() {
		return nil
	}
	tup, _, ok := head(g.f.Page(), root.Offset())
	for ; ok && tup.id() == id; tup, _, ok = tup.next(root.Block()) {
		f(tup.version())
	}
	return nil
}
