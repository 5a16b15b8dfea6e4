package heap

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// Presence says whether a row exists for one who must not miss anything, as a unique index does.
type Presence uint8

const (
	Absent Presence = iota
	Present
	Undecided // it depends on a transaction that still runs
)

func (p Presence) String() string { return [...]string{"absent", "present", "undecided"}[p] }

// Now judges the row behind an index entry by what is true now, uncommitted changes of others included: a version that one of
// them made or ends is Undecided, and wait is whom to wait for (with nothing pinned or latched). What tx did itself is done.
// check, if not nil, sees the row under the page's latch and may say that it is not the one meant; it must not block.
func (g *Getter) Now(ctx context.Context, tx *txn.Tx, tid page.TID, id uint64, check func(row []byte) bool) (pr Presence, wait txn.XID, err error) {
	if ok, err := g.at(ctx, tid.Block()); !ok {
		return Absent, 0, err
	}
	g.f.RLock()
	defer g.f.RUnlock()
	p := g.f.Page()
	if p.IsNew() {
		return Absent, 0, nil
	}
	m := g.t.o.Txns
	tup, _, ok := head(p, tid.Offset())
	for ; ok; tup, _, ok = tup.next(tid.Block()) {
		if id != 0 && tup.id() != id {
			return Absent, 0, nil
		}
		v := tup.version()
		pr, wait = presence(m, tx, v)
		if pr == Absent || check != nil && !check(tup.row()) {
			continue
		}
		if pr == Undecided && wait == v.Xmax && v.Mask&txn.HotUpdated != 0 {
			// The successor has the same key, so there is a row whether the updater commits or not, unless it went on to end it.
			if n, ok := last(tup, tid.Block()); ok && n.mask()&txn.XmaxNone != 0 {
				return Present, 0, nil
			}
		}
		return pr, wait, nil
	}
	return Absent, 0, nil
}

// last returns the end of the chain behind a version on its page.
func last(t tuple, block page.Block) (tuple, bool) {
	n, _, ok := t.next(block)
	if !ok {
		return t, false
	}
	for {
		m, _, more := n.next(block)
		if !more {
			return n, true
		}
		n = m
	}
}

func presence(m *txn.Manager, tx *txn.Tx, v txn.Version) (Presence, txn.XID) {
	if v.Mask&(txn.XminSeen|txn.Frozen) == 0 && !tx.Owns(v.Xmin) {
		switch st, _ := m.Outcome(v.Xmin); st {
		case txn.Aborted:
			return Absent, 0
		case txn.InProgress:
			return Undecided, v.Xmin
		}
	}
	if v.Mask&(txn.XmaxNone|txn.XmaxLock) != 0 || v.Xmax == txn.InvalidXID {
		return Present, 0
	}
	if v.Mask&txn.XmaxSeen != 0 || tx.Owns(v.Xmax) {
		return Absent, 0
	}
	switch st, _ := m.Outcome(v.Xmax); st {
	case txn.Aborted:
		return Present, 0
	case txn.InProgress:
		return Undecided, v.Xmax
	}
	return Absent, 0
}

// Versions holds copies of all versions of a page that some snapshot may see, chain by chain, the oldest of a chain first.
type Versions struct {
	Root []page.TID
	Last []bool // the newest of its chain
	// Ended says that the newest version of a chain was deleted or replaced by one on another page: recently dead.
	Ended []bool
	rows  Batch
}

// Len returns the number of versions.
func (v *Versions) Len() int { return len(v.Root) }

// Row returns the bytes of version i.
func (v *Versions) Row(i int) []byte { return v.rows.Row(i) }

// ReadVersions fills v with what an index over the table must know of a page (rules B5). h must have been computed, and its
// owner must hold a snapshot, before the scan begins; tx is who builds.
func (t *Table) ReadVersions(ctx context.Context, tx *txn.Tx, b page.Block, h txn.Horizon, v *Versions) error {
	v.Root, v.Last, v.Ended = v.Root[:0], v.Last[:0], v.Ended[:0]
	v.rows.Reset()
	f, err := t.pin(ctx, b)
	if err != nil {
		return err
	}
	defer f.Unpin()
	f.RLock()
	defer f.RUnlock()
	p := f.Page()
	if p.IsNew() {
		return nil
	}
	var pl plan
	for off := 1; off <= p.NumItems(); off++ {
		if tup, ok := normal(p, off); ok && tup.mask()&txn.HeapOnly != 0 {
			continue
		}
		root := page.MakeTID(b, off)
		tup, _, ok := head(p, off)
		first := v.Len()
		for ; ok; tup, _, ok = tup.next(b) {
			ver := tup.version()
			if t.gone(ver, h, &pl) {
				continue
			}
			v.Root = append(v.Root, root)
			v.Last = append(v.Last, false)
			pr, _ := presence(t.o.Txns, tx, ver)
			v.Ended = append(v.Ended, pr == Absent)
			v.rows.add(root, tup.row())
		}
		if v.Len() > first {
			v.Last[v.Len()-1] = true
		}
	}
	return nil
}
