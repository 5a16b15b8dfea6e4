package heap

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// Standing says whether a row is there in the newest state, uncommitted changes considered.
type Standing uint8

const (
	// Absent: it is deleted or has moved on to an entry of its own, or never came to be.
	Absent Standing = iota
	// Present: it is there and nothing that still runs can change that, heap-only updates apart.
	Present
	// Undecided: that depends on how a transaction ends.
	Undecided
)

// Judge says how the row behind an index entry stands for a writer of tx: what a unique index asks about an entry with its key.
// match, if not nil, tells whether a version still has the key. It waits for nothing but a shared latch, so it may be called
// with a page of a tree latched. x is whose end decides, if Undecided.
func (t *Table) Judge(ctx context.Context, tx *txn.Tx, root page.TID, match func(row []byte) (bool, error)) (s Standing, x txn.XID, err error) {
	n, err := t.Blocks()
	if err != nil || root.Block() >= n {
		return Absent, 0, err
	}
	f, err := t.pin(ctx, root.Block())
	if err != nil {
		return Absent, 0, err
	}
	defer f.Unpin()
	f.RLock()
	defer f.RUnlock()
	p := f.Page()
	if p.IsNew() {
		return Absent, 0, nil
	}
	tup, _, ok := head(p, root.Offset())
	for ok {
		if match != nil {
			if is, err := match(tup.row()); err != nil || !is {
				return Absent, 0, err
			}
		}
		v := tup.version()
		if v.Mask&(txn.XminSeen|txn.Frozen) == 0 && !tx.Owns(v.Xmin) {
			switch st, _ := t.o.Txns.Outcome(v.Xmin); st {
			case txn.Aborted:
				return Absent, 0, nil
			case txn.InProgress:
				return Undecided, v.Xmin, nil
			}
		}
		if v.Mask&(txn.XmaxNone|txn.XmaxLock) != 0 || v.Xmax == txn.InvalidXID {
			return Present, 0, nil
		}
		if v.Mask&txn.XmaxSeen == 0 && !tx.Owns(v.Xmax) {
			switch st, _ := t.o.Txns.Outcome(v.Xmax); st {
			case txn.Aborted:
				return Present, 0, nil
			case txn.InProgress:
				if v.Mask&txn.HotUpdated != 0 {
					return Present, 0, nil // both versions have the key
				}
				return Undecided, v.Xmax, nil
			}
		}
		if v.Mask&txn.HotUpdated == 0 {
			return Absent, 0, nil
		}
		tup, _, ok = tup.next(root.Block())
	}
	return Absent, 0, nil
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
