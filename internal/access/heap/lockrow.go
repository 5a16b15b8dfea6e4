package heap

import (
	"context"
	"errors"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// LockRow locks a row and follows it to its newest version. It registers the lock in the table first and then looks at the
// chain's end, also through versions made by transactions that still run (rules B3); if one of them is in the way it takes the
// lock back, waits, and begins again. After OK nobody but the transaction can change the row in a way that the mode excludes.
//
// A version that came after the snapshot is [Result.Moved] under read committed. Above it that is a serialization failure,
// except for KEY SHARE, to which only a delete and a change of the key matter.
func (t *Table) LockRow(ctx context.Context, tx *txn.Tx, s *txn.Snapshot, tid page.TID, id uint64, mode txn.Mode) (Result, error) {
	res := Result{}
	queued := false
	lock := lockID(id, tid)
	defer func() { t.leaveQueue(tx, lock, queued) }()
	for {
		if tx.RowLocksFull() && (mode == txn.RowNoKeyUpdate || mode == txn.RowUpdate) {
			return t.lockMark(ctx, tx, s, tid, id, mode, queued)
		}
		n := tx.RowLocks()
		if err := tx.LockRow(ctx, t.o.Relation, lock, mode); err != nil {
			return res, err
		}
		mine := tx.RowLocks() > n
		sched.Point("heap.lock.registered")
		e, err := t.chainEnd(ctx, tx, s, tid, id, mode)
		if err == nil && e.wait == txn.InvalidXID {
			res.Outcome, res.TID, res.Moved = e.outcome, e.root, e.moved
			if tx.Isolation() != txn.ReadCommitted {
				if res.Outcome == Gone || res.Moved && mode != txn.RowKeyShare || res.Moved && e.keyMoved {
					err = errSerialize(res.Outcome)
				}
			}
			if res.Moved {
				res.CSN = t.o.Txns.PublishedCSN() // after the grant (rules A9)
			}
			if err != nil || res.Outcome != OK {
				if mine {
					tx.Unlock(txn.Resource{Kind: txn.KindRow, A: t.o.Relation, B: lock}, mode)
				}
				return res, err
			}
			return res, nil
		}
		if mine {
			tx.Unlock(txn.Resource{Kind: txn.KindRow, A: t.o.Relation, B: lock}, mode)
		}
		if err != nil {
			return res, err
		}
		res.Waited = true
		if err := t.wait(ctx, tx, lock, mode, e.wait, &queued); err != nil {
			return res, err
		}
	}
}

// end is where a row's chain of versions ends.
type chainEnd struct {
	outcome  Outcome
	root     page.TID
	moved    bool // newer than what the snapshot sees, and not our own
	keyMoved bool
	wait     txn.XID // an xmax in force that the mode must wait for
}

// chainEnd follows the row from the version that the snapshot sees to the newest one that is not aborted.
func (t *Table) chainEnd(ctx context.Context, tx *txn.Tx, s *txn.Snapshot, tid page.TID, id uint64, mode txn.Mode) (e chainEnd, err error) {
	e.root = tid
	expect := txn.InvalidXID
	seen := false // a version that the snapshot sees was passed
	for {
		f, err := t.pin(ctx, e.root.Block())
		if err != nil {
			if errors.Is(err, buffer.ErrNoBlock) {
				e.outcome, err = Missing, nil
			}
			return e, err
		}
		f.RLock()
		next, x := t.chainEndOn(f.Page(), tx, s, id, mode, expect, &seen, &e)
		f.RUnlock()
		f.Unpin()
		if next == page.NoTID {
			return e, nil
		}
		e.root, expect = next, x
	}
}

// chainEndOn does it for one page; next is not NoTID if the row goes on elsewhere.
func (t *Table) chainEndOn(p page.Page, tx *txn.Tx, s *txn.Snapshot, id uint64, mode txn.Mode, expect txn.XID, seen *bool, e *chainEnd) (next page.TID, x txn.XID) {
	missing := func() (page.TID, txn.XID) {
		if *seen {
			// The chain broke behind a version that we saw: its successor was aborted and pruned.
			return page.NoTID, 0
		}
		e.outcome = Missing
		return page.NoTID, 0
	}
	if p.IsNew() {
		return missing()
	}
	block := e.root.Block()
	tup, off, ok := head(p, e.root.Offset())
	for ok {
		if id != 0 && tup.id() != id || expect != txn.InvalidXID && tup.xmin() != expect {
			return missing()
		}
		v := tup.version()
		if !*seen {
			*seen, _ = s.Sees(v, tup.id(), everything)
			if !*seen && ownEnd(tx, tup) {
				*seen = true // our own change of what we saw
			}
		} else if !tx.Owns(v.Xmin) {
			e.moved = true
		}
		if *seen {
			done, nx := t.judgeEnd(tx, v, mode, e)
			if done {
				return page.NoTID, 0
			}
			if nx == txn.InvalidXID {
				return page.NoTID, 0
			}
		}
		c := tup.ctid()
		expect = v.Xmax
		if n, noff, hot := tup.next(block); hot {
			tup, off = n, noff
			continue
		}
		if c == page.MakeTID(block, off) || v.Mask&txn.HotUpdated != 0 {
			return missing()
		}
		if !*seen {
			return missing() // other pages are reached through what we see only
		}
		return c, v.Xmax
	}
	return missing()
}

// judgeEnd judges the xmax of a version of the chain: done if the row's fate is known, else the xmax to follow (0 if this is the
// newest version).
func (t *Table) judgeEnd(tx *txn.Tx, v txn.Version, mode txn.Mode, e *chainEnd) (done bool, follow txn.XID) {
	if v.Mask&txn.XmaxNone != 0 || v.Xmax == txn.InvalidXID {
		return false, 0
	}
	if tx.Owns(v.Xmax) {
		switch {
		case v.Mask&txn.XmaxLock != 0:
			return false, 0
		case v.Mask&txn.XmaxDelete != 0:
			e.outcome = SelfDeleted
			return true, 0
		}
		return false, v.Xmax
	}
	st, _ := t.o.Txns.Outcome(v.Xmax)
	switch {
	case st == txn.Aborted:
		return false, 0
	case st == txn.InProgress:
		if txn.Conflicts(mode, xmaxMode(v.Mask)) {
			e.wait = v.Xmax
			return true, 0
		}
		if v.Mask&txn.XmaxLock != 0 {
			return false, 0
		}
		return false, v.Xmax // through a version made by a live xid
	case v.Mask&txn.XmaxLock != 0:
		return false, 0
	case v.Mask&txn.XmaxDelete != 0:
		e.outcome = Gone
		return true, 0
	}
	if v.Mask&txn.XmaxNoKey == 0 {
		e.keyMoved = true
	}
	return false, v.Xmax
}

// lockMark locks the row by an xmax that only locks: for transactions that hold too many row locks to list them.
func (t *Table) lockMark(ctx context.Context, tx *txn.Tx, s *txn.Snapshot, tid page.TID, id uint64, mode txn.Mode, queued bool) (Result, error) {
	x, err := tx.XID()
	if err != nil {
		return Result{}, err
	}
	res := Result{TID: tid}
	inQueue := queued
	defer func() { t.leaveQueue(tx, lockID(id, tid), inQueue && !queued) }()
	at := tid
	for {
		sp, waited, err := t.acquire(ctx, tx, s, at, id, mode, 0, &inQueue)
		res.Waited = res.Waited || waited
		if err != nil {
			return res, err
		}
		if sp.f == nil {
			if sp.outcome != Changed {
				res.Outcome, res.TID = sp.outcome, sp.next
				return res, nil
			}
			// Judge the newer version as the statement will after the lock (rules A9).
			csn := t.o.Txns.PublishedCSN()
			s.Refresh(id, csn)
			at, res.Moved, res.CSN = sp.next, true, csn
			continue
		}
		res.TID = sp.root
		bits := txn.XmaxLock
		if mode == txn.RowNoKeyUpdate {
			bits |= txn.XmaxNoKey
		}
		v := sp.tup.version()
		if held := v.Mask&txn.XmaxNone == 0 && v.Xmax != txn.InvalidXID && tx.Owns(v.Xmax); !held || txn.Conflicts(xmaxMode(v.Mask), txn.RowKeyShare) != txn.Conflicts(mode, txn.RowKeyShare) && mode == txn.RowUpdate {
			if held && v.Xmax != x {
				tx.AdoptRowLock(t.o.Relation, lockID(id, sp.root), xmaxMode(v.Mask))
			}
			err = t.mark(tx, x, 0, &sp, bits, infoLock)
		}
		sp.release()
		return res, err
	}
}
