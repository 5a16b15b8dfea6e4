package heap

import (
	"context"
	"errors"
	"math"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Outcome says how a change of a row ended.
type Outcome uint8

const (
	// OK: it was done.
	OK Outcome = iota
	// Missing: no version that the snapshot sees is reached from the TID. The hint is stale; ask the id index.
	Missing
	// Changed: somebody else's committed update came after the snapshot. Lock the row and judge the new version (rules A9).
	Changed
	// Gone: somebody else deleted the row after the snapshot.
	Gone
	// SelfDeleted: the transaction itself has deleted the row already.
	SelfDeleted
)

func (o Outcome) String() string {
	return [...]string{"ok", "missing", "changed", "gone", "self-deleted"}[o]
}

// Result is what a change of a row came to.
type Result struct {
	Outcome Outcome
	// TID is the root of the row's newest version: after OK where the row is now, after Changed where to go on.
	TID page.TID
	// HOT says that indexes need no entry for the new version.
	HOT bool
	// Waited says that the call waited for another transaction.
	Waited bool
	// Moved says that LockRow ended at a version that the snapshot does not see: Refresh(id, CSN) makes it seen (rules A9).
	Moved bool
	CSN   page.LSN
}

// UpdateOptions say what an update changes.
type UpdateOptions struct {
	// HOT says that nothing indexed changes.
	HOT bool
	// KeyChange says that the key which others may refer to changes.
	KeyChange bool
}

// spot is the version that a write is about: pinned and exclusively latched.
type spot struct {
	f, vm   *buffer.Frame
	root    page.TID
	off     int
	tup     tuple
	outcome Outcome
	wait    txn.XID // another transaction's xmax in force, if not 0
	next    page.TID
}

func (s *spot) release() {
	if s.f != nil {
		s.f.Unlock()
		unpin(s.vm)
		s.f.Unpin()
		*s = spot{}
	}
}

// everything sees all own changes: writes follow to the newest own version (rules A5).
const everything = math.MaxUint32

// target finds the version of the row that a write must change. With need > 0 it prunes on the way if room for a new version is
// short. The result's page is latched unless the outcome is not OK.
func (t *Table) target(ctx context.Context, tx *txn.Tx, s *txn.Snapshot, tid page.TID, id uint64, need int) (sp spot, err error) {
	root, expect := tid, txn.InvalidXID
	for {
		f, err := t.pin(ctx, root.Block())
		if err != nil {
			if errors.Is(err, buffer.ErrNoBlock) {
				return spot{outcome: Missing}, nil
			}
			return sp, err
		}
		f.Lock()
		if need > 0 {
			t.pruneFor(f, tx.Crit(), need)
		}
		p := f.Page()
		var vm *buffer.Frame
		if !p.IsNew() && p.Flags()&flagAllVisible != 0 {
			// A10: the page of the visibility map is pinned before the heap page is latched.
			f.Unlock()
			if vm, err = t.vmPin(ctx, root.Block()); err != nil {
				f.Unpin()
				return sp, err
			}
			f.Lock()
		}
		c := t.look(f, s, everything, root.Offset(), id, expect, nil)
		sp = spot{f: f, vm: vm, root: root, off: c.off, tup: c.tup}
		if c.found {
			v := c.tup.version()
			if v.Mask&txn.XmaxNone != 0 || v.Xmax == txn.InvalidXID || tx.Owns(v.Xmax) {
				return sp, nil
			}
			switch st, _ := t.o.Txns.Outcome(v.Xmax); {
			case st == txn.InProgress:
				sp.wait = v.Xmax
			case st == txn.Aborted || v.Mask&txn.XmaxLock != 0:
			case v.Mask&txn.XmaxDelete != 0:
				sp.outcome = Gone
			default:
				sp.outcome, sp.next = Changed, c.tup.ctid()
				if v.Mask&txn.HotUpdated != 0 {
					sp.next = root
				}
			}
			return sp, nil
		}
		if !c.any || !ownEnd(tx, c.tup) {
			sp.release()
			return spot{outcome: Missing}, nil
		}
		v := c.tup.version()
		next := c.tup.ctid()
		self := page.MakeTID(root.Block(), c.off)
		sp.release()
		if v.Mask&txn.XmaxDelete != 0 {
			return spot{outcome: SelfDeleted, root: root}, nil
		}
		if next == self {
			return spot{outcome: Missing}, nil
		}
		root, expect = next, v.Xmax
	}
}

// queue makes those who wait for one row's xmax line up; only they look at it.
func queue(rel, id uint64) txn.Resource { return txn.Resource{Kind: txn.KindRowQueue, A: rel, B: id} }

// wait waits for whoever is in the way of a write: x's xmax on the row, or with x = 0 row locks in the table. Nothing is pinned.
func (t *Table) wait(ctx context.Context, tx *txn.Tx, id uint64, mode txn.Mode, x txn.XID, queued *bool) error {
	t.counters.RowWaits.Add(1)
	if x == txn.InvalidXID {
		return tx.LockRow(ctx, t.o.Relation, id, mode)
	}
	if !*queued {
		if err := tx.Lock(ctx, queue(t.o.Relation, id), txn.HashExclusive); err != nil {
			return err
		}
		*queued = true
	}
	sched.Point("heap.wait.xid")
	return tx.WaitXID(ctx, x)
}

func (t *Table) leaveQueue(tx *txn.Tx, id uint64, queued bool) {
	if queued {
		tx.Unlock(queue(t.o.Relation, id), txn.HashExclusive)
	}
}

// acquire brings a write to its version, with nothing in the way any more (H5), or to another outcome.
func (t *Table) acquire(ctx context.Context, tx *txn.Tx, s *txn.Snapshot, tid page.TID, id uint64, mode txn.Mode, need int, queued *bool) (spot, bool, error) {
	waited, listed := false, false
	for {
		sp, err := t.target(ctx, tx, s, tid, id, need)
		if err != nil || sp.f == nil {
			return sp, waited, err
		}
		if sp.outcome != OK {
			return t.conflict(tx, sp, waited)
		}
		lock := lockID(id, sp.root)
		x := sp.wait
		if x != txn.InvalidXID && sp.tup.mask()&txn.XmaxLock != 0 && !txn.Conflicts(mode, xmaxMode(sp.tup.mask())) {
			x = txn.InvalidXID
		}
		if x == txn.InvalidXID && !tx.RowBlocked(t.o.Relation, lock, mode) {
			return sp, waited, nil
		}
		sp.release()
		waited = true
		if listed && x != txn.InvalidXID {
			// A lock in the table would stop the holder of the xmax from going on with the row.
			tx.Unlock(txn.Resource{Kind: txn.KindRow, A: t.o.Relation, B: lock}, mode)
			listed = false
		}
		n := tx.RowLocks()
		if err := t.wait(ctx, tx, lock, mode, x, queued); err != nil {
			return sp, waited, err
		}
		listed = listed || tx.RowLocks() > n
	}
}

// conflict ends at a row that somebody else changed after the snapshot: an error above read committed (rules A8).
func (t *Table) conflict(tx *txn.Tx, sp spot, waited bool) (spot, bool, error) {
	out := spot{outcome: sp.outcome, root: sp.root, next: sp.next}
	sp.release()
	if tx.Isolation() != txn.ReadCommitted {
		return out, waited, errSerialize(out.outcome)
	}
	return out, waited, nil
}

func errSerialize(o Outcome) error {
	what := "update"
	if o == Gone {
		what = "delete"
	}
	return dberr.New(dberr.SerializationFailure, "could not serialize access due to concurrent %s", what).
		WithHint("The transaction may succeed if it is run again.")
}

// Update gives the row a new version. s is the statement's snapshot, tid a root of the row or an older one of the own
// transaction. It waits for other writers of the row.
func (t *Table) Update(ctx context.Context, tx *txn.Tx, s *txn.Snapshot, cid uint32, tid page.TID, id uint64, row []byte, o UpdateOptions) (Result, error) {
	if len(row) > MaxRow {
		return Result{}, tooBig(len(row))
	}
	x, err := tx.XID()
	if err != nil {
		return Result{}, err
	}
	mode := txn.RowNoKeyUpdate
	if o.KeyChange {
		mode = txn.RowUpdate
	}
	need := page.Align(HeaderSize + len(row))
	queued := false
	res := Result{}
	lock := lockID(id, tid)
	defer func() { t.leaveQueue(tx, lock, queued) }()
	for {
		sp, waited, err := t.acquire(ctx, tx, s, tid, id, mode, need, &queued)
		res.Waited = res.Waited || waited
		if err != nil {
			return res, err
		}
		if sp.f == nil {
			res.Outcome, res.TID = sp.outcome, sp.next
			if sp.outcome == Changed {
				res.CSN = t.o.Txns.PublishedCSN()
			}
			return res, nil
		}
		if err := t.checkCmin(tx, sp.tup, cid); err != nil {
			sp.release()
			return res, err
		}
		root := sp.root
		p := sp.f.Page()
		if p.FreeSpace() >= need && hasPointer(p) {
			tid, err := t.updateSame(tx, x, cid, &sp, row, o)
			sp.release()
			if err != nil {
				return res, err
			}
			res.TID, res.HOT = tid, o.HOT
			if o.HOT {
				res.TID = root
				t.counters.HotUpdates.Add(1)
			}
		} else {
			at, ok, err := t.updateMove(ctx, tx, x, cid, &sp, id, mode, row, o)
			if err != nil {
				return res, err
			}
			if !ok {
				continue // the row or the room was gone in between
			}
			res.TID, res.HOT = at, false
		}
		t.counters.Updates.Add(1)
		tx.RowCovered(t.o.Relation, lock, mode)
		return res, nil
	}
}

// checkCmin is H9.
func (t *Table) checkCmin(tx *txn.Tx, tup tuple, cid uint32) error {
	v := tup.version()
	if v.Mask&txn.Frozen == 0 && tx.Owns(v.Xmin) && tx.Cmin(v) > cid {
		if invariant.Enabled {
			invariant.Failf("H9: version of command %d changed by command %d", tx.Cmin(v), cid)
		}
		return dberr.New(dberr.Internal, "a version of command %d cannot be changed by command %d", tx.Cmin(v), cid)
	}
	return nil
}

// end computes what the old version gets, and records first a lock that would be overwritten by a subtransaction (rules B2).
func (t *Table) end(tx *txn.Tx, x txn.XID, cid uint32, tup tuple, id uint64, bits txn.Mask) (uint32, txn.Mask) {
	v := tup.version()
	if v.Mask&txn.XmaxLock != 0 && v.Mask&txn.XmaxNone == 0 && v.Xmax != x && tx.Owns(v.Xmax) {
		tx.AdoptRowLock(t.o.Relation, id, xmaxMode(v.Mask))
	}
	stamp, combo := tx.StampMax(v, cid)
	return stamp, bits | combo
}

// updateSame puts the new version on the page of the old one.
func (t *Table) updateSame(tx *txn.Tx, x txn.XID, cid uint32, sp *spot, row []byte, o UpdateOptions) (page.TID, error) {
	p := sp.f.Page()
	block := sp.f.ID().Block
	w := works.Get().(*work)
	defer works.Put(w)
	newMask := txn.Updated
	oldBits := txn.Mask(0)
	if o.HOT {
		newMask |= txn.HeapOnly
		oldBits |= txn.HotUpdated
	}
	if !o.KeyChange {
		oldBits |= txn.XmaxNoKey
	}
	stamp, bits := t.end(tx, x, cid, sp.tup, lockID(sp.tup.id(), sp.root), oldBits)
	b := tx.Builder()
	c := tx.Crit()
	c.Enter()
	defer c.Exit()
	off := p.AddItem(appendTuple(w.item[:0], x, cid, newMask, page.MakeTID(block, 0), row), MaxTuples)
	tid := page.MakeTID(block, off)
	tup, _ := normal(p, off)
	tup.setCtid(tid)
	sp.tup.setXmax(x, stamp, bits, tid)
	markPrunable(p, x)
	sp.f.MarkDirty()
	b.Begin(wal.RmgrHeap, infoUpdate, uint64(x))
	i := b.Block(sp.f, wal.Standard)
	w.body[0], w.body[1] = byte(off), byte(sp.off)
	le.PutUint16(w.body[2:], uint16(newMask))
	le.PutUint16(w.body[4:], uint16(bits&^txn.ComboCID))
	b.BlockData(i, append(w.body[:6], row...))
	return tid, t.log(tx.Crit(), b, heapPage{sp.f, sp.vm})
}

// updateMove puts the new version on another page. It lets go of the spot to find one, and comes back; ok is false if the
// row's state has changed meanwhile. The spot is released in any case.
func (t *Table) updateMove(ctx context.Context, tx *txn.Tx, x txn.XID, cid uint32, sp *spot, id uint64, mode txn.Mode, row []byte, o UpdateOptions) (at page.TID, ok bool, err error) {
	old := sp.f
	oldOff, root, oldVM := sp.off, sp.root, sp.vm
	before := sp.tup.version()
	old.Unlock() // the pin stays, so the version keeps its place
	sp.f = nil
	defer func() {
		unpin(oldVM)
		old.Unpin()
	}()
	n, nvm, err := t.room(ctx, tx, len(row), t.reserve, old.ID().Block)
	if err != nil {
		return 0, false, err
	}
	defer func() {
		unpin(nvm)
		n.Unpin()
	}()
	// Two heap pages are latched in ascending order (rules A10).
	if n.ID().Block < old.ID().Block {
		old.Lock()
	} else {
		n.Unlock()
		sched.Point("heap.update.between")
		old.Lock()
		n.Lock()
	}
	defer old.Unlock()
	defer n.Unlock()
	np, p := n.Page(), old.Page()
	need := page.Align(HeaderSize + len(row))
	if !np.IsNew() && (np.FreeSpace() < need || !hasPointer(np) || np.Flags()&flagAllVisible != 0 && nvm == nil) {
		return 0, false, nil
	}
	tup, found := normal(p, oldOff)
	if !found || p.Flags()&flagAllVisible != 0 && oldVM == nil {
		return 0, false, nil
	}
	now := tup.version()
	const hintBits = txn.XminSeen | txn.XminAborted | txn.XmaxSeen | txn.XmaxNone
	if now.Xmin != before.Xmin || now.Xmax != before.Xmax || now.CID != before.CID || (now.Mask^before.Mask)&^hintBits != 0 ||
		tx.RowBlocked(t.o.Relation, lockID(id, root), mode) {
		return 0, false, nil
	}
	bits := txn.Mask(0)
	if !o.KeyChange {
		bits |= txn.XmaxNoKey
	}
	stamp, bits := t.end(tx, x, cid, tup, lockID(id, root), bits)
	w := works.Get().(*work)
	defer works.Put(w)
	flags := wal.Standard
	b := tx.Builder()
	c := tx.Crit()
	c.Enter()
	defer c.Exit()
	if np.IsNew() {
		np.Init(page.TypeHeap, 0)
		flags |= wal.WillInit
	}
	off := np.AddItem(appendTuple(w.item[:0], x, cid, txn.Updated, page.MakeTID(n.ID().Block, 0), row), MaxTuples)
	at = page.MakeTID(n.ID().Block, off)
	nt, _ := normal(np, off)
	nt.setCtid(at)
	tup.setXmax(x, stamp, bits, at)
	markPrunable(p, x)
	n.MarkDirty()
	old.MarkDirty()
	b.Begin(wal.RmgrHeap, infoMove, uint64(x))
	i := b.Block(n, flags)
	w.body[0] = byte(off)
	b.BlockData(i, append(w.body[:1], row...))
	j := b.Block(old, wal.Standard)
	var d [9]byte
	d[0] = byte(oldOff)
	le.PutUint16(d[1:], uint16(bits&^txn.ComboCID))
	putU48(d[3:], uint64(at))
	b.BlockData(j, d[:])
	return at, true, t.log(tx.Crit(), b, heapPage{n, nvm}, heapPage{old, oldVM})
}

// Delete deletes the row.
func (t *Table) Delete(ctx context.Context, tx *txn.Tx, s *txn.Snapshot, cid uint32, tid page.TID, id uint64) (Result, error) {
	x, err := tx.XID()
	if err != nil {
		return Result{}, err
	}
	queued := false
	lock := lockID(id, tid)
	defer func() { t.leaveQueue(tx, lock, queued) }()
	sp, waited, err := t.acquire(ctx, tx, s, tid, id, txn.RowUpdate, 0, &queued)
	res := Result{Waited: waited}
	if err != nil {
		return res, err
	}
	if sp.f == nil {
		res.Outcome, res.TID = sp.outcome, sp.next
		if sp.outcome == Changed {
			res.CSN = t.o.Txns.PublishedCSN()
		}
		return res, nil
	}
	defer sp.release()
	if err := t.checkCmin(tx, sp.tup, cid); err != nil {
		return res, err
	}
	res.TID = sp.root
	if err := t.mark(tx, x, cid, &sp, txn.XmaxDelete, infoDelete); err != nil {
		return res, err
	}
	t.counters.Deletes.Add(1)
	tx.RowCovered(t.o.Relation, lock, txn.RowUpdate)
	return res, nil
}

// mark sets an xmax that makes no new version.
func (t *Table) mark(tx *txn.Tx, x txn.XID, cid uint32, sp *spot, bits txn.Mask, info uint8) error {
	p := sp.f.Page()
	stamp := sp.tup.cid()
	if bits&txn.XmaxLock == 0 {
		stamp, bits = t.end(tx, x, cid, sp.tup, lockID(sp.tup.id(), sp.root), bits)
	} else {
		bits |= sp.tup.mask() & txn.ComboCID // cid stays as it is
	}
	b := tx.Builder()
	c := tx.Crit()
	c.Enter()
	defer c.Exit()
	sp.tup.setXmax(x, stamp, bits, page.MakeTID(sp.f.ID().Block, sp.off))
	if bits&txn.XmaxLock == 0 {
		markPrunable(p, x)
	}
	sp.f.MarkDirty()
	b.Begin(wal.RmgrHeap, info, uint64(x))
	i := b.Block(sp.f, wal.Standard)
	var d [3]byte
	d[0] = byte(sp.off)
	le.PutUint16(d[1:], uint16(bits&^txn.ComboCID))
	b.BlockData(i, d[:])
	return t.log(tx.Crit(), b, heapPage{sp.f, sp.vm})
}
