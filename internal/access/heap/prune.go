package heap

import (
	"context"
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

var builders = sync.Pool{New: func() any { return wal.NewBuilder() }}

// pruneOnRead prunes a pinned page that a reader came to, if it is nearly full and something may be gone.
func (t *Table) pruneOnRead(ctx context.Context, f *buffer.Frame, c *invariant.Crit) {
	f.RLock()
	p := f.Page()
	want := !p.IsNew() && p.PruneXID() != 0 && p.ExactFreeSpace() < page.Size/10 && t.ended(txn.XID(p.PruneXID()))
	f.RUnlock()
	if want && f.TryCleanup() {
		n, free := t.prune(f, c), freeOf(p)
		f.Unlock()
		if n > 0 {
			t.fsmRecord(ctx, f.ID().Block, free)
		}
	}
}

// pruneFor prunes a page, pinned and exclusively latched, that a writer needs room on.
func (t *Table) pruneFor(f *buffer.Frame, c *invariant.Crit, need int) {
	p := f.Page()
	if !p.IsNew() && p.PruneXID() != 0 && (p.FreeSpace() < need || !hasPointer(p)) && t.ended(txn.XID(p.PruneXID())) && f.UpgradeCleanup() {
		t.prune(f, c)
	}
}

// ended reports whether x has ended for every snapshot.
func (t *Table) ended(x txn.XID) bool {
	m := t.o.Txns
	if x < m.RecentHorizon().Xmin {
		return true
	}
	return x < m.OldestRunning() && x < m.Horizon().Xmin
}

// plan is what pruning does to a page.
type plan struct {
	redirect [MaxTuples + 1]uint8 // root → target, 0 for none
	dead     [MaxTuples + 1]bool
	unused   [MaxTuples + 1]bool
	reached  [MaxTuples + 1]bool
	changes  int
	pruneXID txn.XID // the oldest xid that may make more prunable
}

// Prune removes from the page what no snapshot can see any more, if nobody else has it pinned. It returns how many versions went.
func (t *Table) Prune(ctx context.Context, b page.Block) (int, error) {
	f, err := t.pin(ctx, b)
	if err != nil {
		return 0, err
	}
	defer f.Unpin()
	if !f.TryCleanup() {
		return 0, nil
	}
	n, free := t.prune(f, nil), freeOf(f.Page())
	f.Unlock()
	if n > 0 {
		t.fsmRecord(ctx, b, free)
	}
	return n, nil
}

// prune works under the cleanup lock (H6).
func (t *Table) prune(f *buffer.Frame, c *invariant.Crit) int {
	h := t.o.Txns.Horizon()
	sched.Point("heap.prune.horizon")
	if t.o.Txns.Fate().Err() != nil {
		return 0
	}
	p := f.Page()
	if p.IsNew() {
		return 0
	}
	pl := plans.Get().(*plan)
	defer plans.Put(pl)
	*pl = plan{}
	t.planPrune(p, f.ID().Block, h, pl)
	if pl.changes == 0 {
		if p.PruneXID() != uint64(pl.pruneXID) {
			p.SetPruneXID(uint64(pl.pruneXID)) // a hint: not logged
			f.MarkHintDirty()
		}
		return 0
	}
	w := works.Get().(*work)
	defer works.Put(w)
	// Body: number of redirects, pairs; number of dead, offsets; number of unused, offsets.
	body := append(w.body[:0], 0)
	n := p.NumItems()
	for off := 1; off <= n; off++ {
		if pl.redirect[off] != 0 {
			body = append(body, byte(off), pl.redirect[off])
			body[0]++
		}
	}
	body = appendOffsets(body, pl.dead[:n+1])
	body = appendOffsets(body, pl.unused[:n+1])
	b := builders.Get().(*wal.Builder)
	defer builders.Put(b)
	c.Enter()
	defer c.Exit()
	applyPrune(p, body)
	p.SetPruneXID(uint64(pl.pruneXID))
	f.MarkDirty()
	b.Begin(wal.RmgrHeap, infoPrune, 0)
	i := b.Block(f, wal.Standard)
	b.BlockData(i, body)
	if _, err := t.o.Log.Insert(b); err != nil {
		return 0 // the database is poisoned; whoever comes next hears of it
	}
	c.Logged(b.Len())
	t.counters.Prunes.Add(1)
	t.counters.PrunedVersions.Add(int64(pl.changes))
	return pl.changes
}

var plans = sync.Pool{New: func() any { return new(plan) }}

func appendOffsets(body []byte, set []bool) []byte {
	at := len(body)
	body = append(body, 0)
	for off, in := range set {
		if in {
			body = append(body, byte(off))
			body[at]++
		}
	}
	return body
}

// applyPrune carries a prune record's body out. It reports false if the body does not fit the page.
func applyPrune(p page.Page, body []byte) bool {
	take := func() (byte, bool) {
		if len(body) == 0 {
			return 0, false
		}
		v := body[0]
		body = body[1:]
		return v, true
	}
	n, ok := take()
	for ; ok && n > 0; n-- {
		from, _ := take()
		var to byte
		if to, ok = take(); !ok || int(from) > p.NumItems() || from == 0 {
			return false
		}
		p.SetItemID(int(from), page.MakeRedirect(int(to)))
	}
	for _, id := range [2]page.ItemID{page.MakeItemID(0, page.Dead, 0), 0} {
		var k byte
		if k, ok = take(); !ok {
			return false
		}
		for ; k > 0; k-- {
			off, ok := take()
			if !ok || off == 0 || int(off) > p.NumItems() {
				return false
			}
			p.SetItemID(int(off), id)
		}
	}
	p.Compact()
	return true
}

// planPrune follows every chain. A version is dead if its maker aborted, or if its end is committed at or below the horizon.
func (t *Table) planPrune(p page.Page, block page.Block, h txn.Horizon, pl *plan) {
	n := p.NumItems()
	for off := 1; off <= n; off++ {
		id := p.ItemID(off)
		switch id.State() {
		case page.Normal:
			if tupleAt(p, id).mask()&txn.HeapOnly == 0 {
				t.planChain(p, block, off, h, pl)
			}
		case page.Redirect:
			t.planChain(p, block, off, h, pl)
		case page.Dead:
			if t.o.NoIndexes {
				pl.unused[off] = true
				pl.changes++
			}
		}
	}
	// Heap-only versions that no chain reaches were left behind by aborted updates.
	for off := 1; off <= n; off++ {
		if pl.reached[off] {
			continue
		}
		if tup, ok := normal(p, off); ok && tup.mask()&txn.HeapOnly != 0 && t.gone(tup.version(), h, pl) {
			pl.unused[off] = true
			pl.changes++
		}
	}
}

func (t *Table) planChain(p page.Page, block page.Block, root int, h txn.Horizon, pl *plan) {
	var chain [MaxTuples]uint8
	n, lastDead := 0, -1
	tup, off, ok := head(p, root)
	redirected := off != root
	for ok && n < MaxTuples {
		if n > 0 || redirected {
			pl.reached[off] = true
		}
		chain[n] = uint8(off)
		if t.gone(tup.version(), h, pl) {
			lastDead = n
		}
		n++
		// A live version in front keeps what is behind it from being freed: stop at the first one that somebody may see.
		if lastDead != n-1 {
			for {
				if tup, off, ok = tup.next(block); !ok || pl.reached[off] {
					break
				}
				pl.reached[off] = true
				if t.gone(tup.version(), h, pl) { // made by an update that was aborted
					pl.unused[off] = true
					pl.changes++
				}
			}
			break
		}
		tup, off, ok = tup.next(block)
	}
	if n == 0 {
		if redirected || p.ItemID(root).State() == page.Redirect {
			t.kill(root, pl) // the target is gone
		}
		return
	}
	if lastDead < 0 {
		return
	}
	for i := 0; i <= lastDead; i++ {
		if o := int(chain[i]); o != root {
			pl.unused[o] = true
			pl.changes++
		}
	}
	if lastDead == n-1 {
		t.kill(root, pl)
		return
	}
	pl.redirect[root] = chain[lastDead+1]
	pl.changes++
}

// kill makes a root dead, or free if no index may know it (H3).
func (t *Table) kill(root int, pl *plan) {
	if t.o.NoIndexes {
		pl.unused[root] = true
	} else {
		pl.dead[root] = true
	}
	pl.changes++
}

// gone reports whether no snapshot, present or future, sees the version; if that may change it notes by whose end.
func (t *Table) gone(v txn.Version, h txn.Horizon, pl *plan) bool {
	m := t.o.Txns
	if v.Mask&(txn.XminSeen|txn.Frozen) == 0 {
		if v.Mask&txn.XminAborted != 0 {
			return true
		}
		switch st, _ := m.Outcome(v.Xmin); st {
		case txn.Aborted:
			return true
		case txn.InProgress:
			pl.note(v.Xmin)
			return false
		}
	}
	if v.Mask&(txn.XmaxNone|txn.XmaxLock) != 0 || v.Xmax == txn.InvalidXID {
		return false
	}
	if v.Mask&txn.XmaxSeen != 0 {
		return true
	}
	switch st, csn := m.Outcome(v.Xmax); {
	case st == txn.Committed && csn <= h.CSN:
		return true
	case st == txn.Aborted:
		return false
	}
	pl.note(v.Xmax)
	return false
}

func (pl *plan) note(x txn.XID) {
	if pl.pruneXID == 0 || x < pl.pruneXID {
		pl.pruneXID = x
	}
}
