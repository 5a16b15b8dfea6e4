package txn

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// Mode is a lock mode. Modes of one kind of resource conflict only among themselves.
type Mode uint8

// Relation modes, as PostgreSQL's; row modes, as PostgreSQL's; and intent and exclusive for hashes and tokens.
const (
	_ Mode = iota
	AccessShare
	RowShare
	RowExclusive
	ShareUpdateExclusive
	Share
	ShareRowExclusive
	Exclusive
	AccessExclusive

	RowKeyShare    // the row must stay and keep its key: what an edge asks of its ends
	RowShared      // the row must not change
	RowNoKeyUpdate // the holder changes the row, not its key
	RowUpdate      // the holder deletes the row or changes its key

	HashIntent
	HashExclusive
	modes
)

var modeNames = [modes]string{"", "ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE", "SHARE",
	"SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE", "FOR KEY SHARE", "FOR SHARE", "FOR NO KEY UPDATE", "FOR UPDATE",
	"INTENT", "EXCLUSIVE"}

func (m Mode) String() string { return modeNames[m] }

func set(ms ...Mode) (r uint16) {
	for _, m := range ms {
		r |= 1 << m
	}
	return r
}

var conflicts = [modes]uint16{
	AccessShare:          set(AccessExclusive),
	RowShare:             set(Exclusive, AccessExclusive),
	RowExclusive:         set(Share, ShareRowExclusive, Exclusive, AccessExclusive),
	ShareUpdateExclusive: set(ShareUpdateExclusive, Share, ShareRowExclusive, Exclusive, AccessExclusive),
	Share:                set(RowExclusive, ShareUpdateExclusive, ShareRowExclusive, Exclusive, AccessExclusive),
	ShareRowExclusive:    set(RowExclusive, ShareUpdateExclusive, Share, ShareRowExclusive, Exclusive, AccessExclusive),
	Exclusive:            set(RowShare, RowExclusive, ShareUpdateExclusive, Share, ShareRowExclusive, Exclusive, AccessExclusive),
	AccessExclusive: set(AccessShare, RowShare, RowExclusive, ShareUpdateExclusive, Share, ShareRowExclusive, Exclusive,
		AccessExclusive),
	RowKeyShare:    set(RowUpdate),
	RowShared:      set(RowNoKeyUpdate, RowUpdate),
	RowNoKeyUpdate: set(RowShared, RowNoKeyUpdate, RowUpdate),
	RowUpdate:      set(RowKeyShare, RowShared, RowNoKeyUpdate, RowUpdate),
	HashIntent:     set(HashExclusive),
	HashExclusive:  set(HashIntent, HashExclusive),
}

// Conflicts reports whether two modes exclude each other.
func Conflicts(a, b Mode) bool { return conflicts[a]&(1<<b) != 0 }

// covers reports whether holding a makes asking for b needless.
func covers(a, b Mode) bool {
	return conflicts[a]&conflicts[b] == conflicts[b] && conflicts[b] != 0 && kindOf(a) == kindOf(b)
}

func kindOf(m Mode) int {
	switch {
	case m <= AccessExclusive:
		return 0
	case m <= RowUpdate:
		return 1
	}
	return 2
}

// Kind says what a [Resource] is.
type Kind uint8

const (
	KindRelation Kind = iota + 1 // A = relation
	KindRow                      // A = relation, B = row id
	KindRows                     // A = relation: row locks too many to list
	KindHash                     // A, B = a hash and what it is over (MERGE)
	KindRowQueue                 // A, B as KindRow: those who wait for the row's xmax line up
	KindToken                    // A, B = a graph and a hash of a name
	KindObject                   // A, B = anything else: an index build, a checkpoint
)

// Resource is what a lock is on.
type Resource struct {
	Kind Kind
	A, B uint64
}

func (r Resource) hash() uint64 {
	h := (r.A+uint64(r.Kind))*0x9e3779b97f4a7c15 ^ r.B
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>29
}

const partitions = 16

// lockSlab is how many heads or records are allocated at once: a statement that locks many rows does not allocate for each (E2).
const lockSlab = 256

// lockTable is the in-memory table of all locks.
type lockTable struct {
	parts [partitions]partition

	delay    time.Duration // until a waiter looks for a deadlock
	timeout  time.Duration // zero means none
	detector sync.Mutex    // one search at a time

	rows      atomic.Int64 // row and rows locks held or awaited, so that writers of unlocked rows skip the table
	waits     atomic.Int64
	deadlocks atomic.Int64
	timeouts  atomic.Int64
}

// A partition's mutex comes after page latches in the lock order; two of them are taken in ascending order only.
type partition struct {
	mu    sync.Mutex // guards everything below and the heads and records reachable from it
	heads map[Resource]*lockHead
	freeH *lockHead
	freeR *lockRec

	// Heads of relations that nobody holds stay here, in heads too, for whoever comes next: every statement locks the same few.
	kept   [keptHeads]*lockHead
	keptAt int
	_      [64]byte
}

// keptHeads is how many heads of relations a partition keeps.
const keptHeads = 4

type lockHead struct {
	res     Resource
	holders *lockRec
	queue   []*waiter
	next    *lockHead // free list
	kept    bool      // it stays when nobody holds it
}

// lockRec is one mode held by one transaction since one subtransaction.
type lockRec struct {
	head       *lockHead
	tx         *Tx
	mode       Mode
	sub        uint32
	next       *lockRec // of the head, or free list
	prevT, nxT *lockRec // of the transaction, in the order of acquisition
}

type waitState uint8

const (
	waiting waitState = iota
	granted
	victim
)

// waiter is one wait. All but state is constant; state is guarded by the partition of head or by onTx.waitMu.
type waiter struct {
	tx    *Tx
	head  *lockHead // nil while waiting for an xid
	mode  Mode
	onTx  *Tx // the transaction waited for, if head is nil
	state waitState
	ch    chan struct{}
}

func newLockTable(delay, timeout time.Duration) *lockTable {
	t := &lockTable{delay: delay, timeout: timeout}
	for i := range t.parts {
		t.parts[i].heads = make(map[Resource]*lockHead)
	}
	return t
}

func (t *lockTable) part(r Resource) *partition { return &t.parts[r.hash()%partitions] }

func isRow(k Kind) bool { return k == KindRow || k == KindRows }

// blockedLocked reports whether the mode conflicts with a holder of another group.
func (h *lockHead) blockedLocked(tx *Tx, mode Mode) bool {
	for r := h.holders; r != nil; r = r.next {
		if r.tx.group != tx.group && Conflicts(mode, r.mode) {
			return true
		}
	}
	return false
}

func (t *lockTable) headLocked(p *partition, r Resource) *lockHead {
	h := p.heads[r]
	if h == nil {
		if h = p.freeH; h != nil {
			p.freeH = h.next
			h.next = nil
		} else {
			slab := make([]lockHead, lockSlab)
			for i := 1; i < len(slab); i++ {
				slab[i].next, p.freeH = p.freeH, &slab[i]
			}
			h = &slab[0]
		}
		h.res = r
		p.heads[r] = h
		if isRow(r.Kind) {
			t.rows.Add(1)
		}
	}
	return h
}

// slab is how many heads or records are made at once.
const slab = 128

func (t *lockTable) dropHeadLocked(p *partition, h *lockHead) {
	if h.holders != nil || len(h.queue) > 0 {
		return
	}
	if h.kept {
		return
	}
	if h.res.Kind == KindRelation {
		old := p.kept[p.keptAt]
		p.kept[p.keptAt], h.kept = h, true
		p.keptAt = (p.keptAt + 1) % keptHeads
		if old == nil {
			return
		}
		if h = old; h.holders != nil || len(h.queue) > 0 {
			h.kept = false // it goes when it is dropped
			return
		}
		h.kept = false
	}
	delete(p.heads, h.res)
	if isRow(h.res.Kind) {
		t.rows.Add(-1)
	}
	h.next, p.freeH = p.freeH, h
}

// grantLocked records the lock. The waiting transaction is asleep or is the caller, so its list is ours.
func grantLocked(p *partition, h *lockHead, tx *Tx, mode Mode) {
	r := p.freeR
	if r != nil {
		p.freeR = r.next
	} else {
		slab := make([]lockRec, lockSlab)
		for i := 1; i < len(slab); i++ {
			slab[i].next, p.freeR = p.freeR, &slab[i]
		}
		r = &slab[0]
	}
	*r = lockRec{head: h, tx: tx, mode: mode, sub: tx.subSeq, next: h.holders, prevT: tx.lockTail}
	h.holders = r
	if tx.lockTail != nil {
		tx.lockTail.nxT = r
	} else {
		tx.lockHead = r
	}
	tx.lockTail = r
	tx.nlocks++
	if h.res.Kind == KindRow {
		tx.nrows++
	}
}

// acquire takes the lock, waiting if need be. try makes it give up instead: it returns false.
func (t *lockTable) acquire(ctx context.Context, tx *Tx, res Resource, mode Mode, try bool) (bool, error) {
	p := t.part(res)
	p.mu.Lock()
	h := t.headLocked(p, res)
	mine := false
	for r := h.holders; r != nil; r = r.next {
		if r.tx == tx && covers(r.mode, mode) {
			p.mu.Unlock()
			return true, nil
		}
		mine = mine || r.tx.group == tx.group
	}
	blocked := h.blockedLocked(tx, mode)
	if !blocked && !mine { // do not overtake, unless we would wait for ourselves
		for _, w := range h.queue {
			if w.tx.group != tx.group && Conflicts(mode, w.mode) {
				blocked = true
				break
			}
		}
	}
	if !blocked {
		grantLocked(p, h, tx, mode)
		p.mu.Unlock()
		return true, nil
	}
	if try {
		t.dropHeadLocked(p, h)
		p.mu.Unlock()
		return false, nil
	}
	w := &waiter{tx: tx, head: h, mode: mode, ch: make(chan struct{}, 1)}
	if mine {
		h.queue = append(h.queue, nil)
		copy(h.queue[1:], h.queue)
		h.queue[0] = w
	} else {
		h.queue = append(h.queue, w)
	}
	tx.group.waiting.Store(w)
	p.mu.Unlock()

	err := t.sleep(ctx, w)

	p.mu.Lock()
	tx.group.waiting.Store(nil)
	if w.state == granted { // also when a cancellation came too late
		p.mu.Unlock()
		return true, nil
	}
	h.unqueueLocked(w)
	t.wakeLocked(p, h)
	t.dropHeadLocked(p, h)
	p.mu.Unlock()
	return false, err
}

func (h *lockHead) unqueueLocked(w *waiter) {
	for i, q := range h.queue {
		if q == w {
			copy(h.queue[i:], h.queue[i+1:])
			h.queue[len(h.queue)-1] = nil
			h.queue = h.queue[:len(h.queue)-1]
			return
		}
	}
}

// wakeLocked grants what has become free, in the order of the queue.
func (t *lockTable) wakeLocked(p *partition, h *lockHead) {
	ahead := h.queue[:0:0]
	for i := 0; i < len(h.queue); i++ {
		w := h.queue[i]
		ok := w.state == waiting && !h.blockedLocked(w.tx, w.mode)
		for _, a := range ahead {
			ok = ok && (a.tx.group == w.tx.group || !Conflicts(a.mode, w.mode))
		}
		if !ok {
			ahead = append(ahead, w)
			continue
		}
		copy(h.queue[i:], h.queue[i+1:])
		h.queue[len(h.queue)-1] = nil
		h.queue = h.queue[:len(h.queue)-1]
		i--
		grantLocked(p, h, w.tx, w.mode)
		w.state = granted
		w.signal()
	}
}

func (w *waiter) signal() {
	select {
	case w.ch <- struct{}{}:
	default:
	}
}

// sleep returns when w was signalled, with an error when the wait must end without what it was for.
func (t *lockTable) sleep(ctx context.Context, w *waiter) error {
	t.waits.Add(1)
	delay := t.delay
	look := time.NewTimer(delay)
	defer look.Stop()
	var late <-chan time.Time
	if d := w.tx.lockTimeout(t.timeout); d > 0 {
		lt := time.NewTimer(d)
		defer lt.Stop()
		late = lt.C
	}
	for {
		select {
		case <-w.ch:
			if t.stateOf(w) == victim {
				t.deadlocks.Add(1)
				return dberr.New(dberr.Deadlock, "deadlock detected").
					WithHint("the transaction was rolled back so that others can go on; run it again")
			}
			return nil
		case <-ctx.Done():
			return dberr.As(ctx.Err())
		case <-late:
			t.timeouts.Add(1)
			return dberr.New(dberr.LockTimeout, "canceling statement due to lock timeout")
		case <-look.C:
			t.detect(w.tx.group)
			if delay < time.Second { // a cycle is closed by its last waiter, but edges of queues may appear later
				delay *= 4
			}
			look.Reset(delay)
		}
	}
}

// stateOf reads w.state under the lock that guards it.
func (t *lockTable) stateOf(w *waiter) waitState {
	if w.head != nil {
		p := t.part(w.head.res)
		p.mu.Lock()
		defer p.mu.Unlock()
		return w.state
	}
	w.onTx.waitMu.Lock()
	defer w.onTx.waitMu.Unlock()
	return w.state
}

// releaseRec gives one lock back and unlinks it from its transaction.
func (t *lockTable) releaseRec(r *lockRec) {
	h := r.head
	p := t.part(h.res)
	p.mu.Lock()
	t.releaseRecLocked(p, r)
	p.mu.Unlock()
}

func (t *lockTable) releaseRecLocked(p *partition, r *lockRec) {
	h, tx := r.head, r.tx
	for at := &h.holders; *at != nil; at = &(*at).next {
		if *at == r {
			*at = r.next
			break
		}
	}
	if r.prevT != nil {
		r.prevT.nxT = r.nxT
	} else {
		tx.lockHead = r.nxT
	}
	if r.nxT != nil {
		r.nxT.prevT = r.prevT
	} else {
		tx.lockTail = r.prevT
	}
	tx.nlocks--
	if h.res.Kind == KindRow {
		tx.nrows--
	}
	*r = lockRec{next: p.freeR}
	p.freeR = r
	if len(h.queue) > 0 {
		t.wakeLocked(p, h)
	}
	t.dropHeadLocked(p, h)
}

// releaseSince gives back everything acquired in subtransactions numbered sub and above (X8).
func (t *lockTable) releaseSince(tx *Tx, sub uint32) {
	for tx.lockTail != nil && tx.lockTail.sub >= sub {
		t.releaseRec(tx.lockTail)
	}
}

// conflict reports whether a transaction of another group holds a lock that excludes mode. It takes no lock itself.
func (t *lockTable) conflict(tx *Tx, res Resource, mode Mode) bool {
	p := t.part(res)
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.heads[res]
	return h != nil && h.blockedLocked(tx, mode)
}

// Lock takes a lock to the end of the transaction or until a rollback to an earlier savepoint. It waits for transactions in
// the way: never call it with a page latched.
func (tx *Tx) Lock(ctx context.Context, res Resource, mode Mode) error {
	_, err := tx.m.locks.acquire(ctx, tx, res, mode, false)
	return err
}

// TryLock is Lock without the wait; it returns false instead.
func (tx *Tx) TryLock(res Resource, mode Mode) bool {
	ok, _ := tx.m.locks.acquire(context.Background(), tx, res, mode, true)
	return ok
}

// Unlock gives one lock back before the end. Only for locks whose early release is harmless (a token's mutex).
func (tx *Tx) Unlock(res Resource, mode Mode) {
	t := tx.m.locks
	p := t.part(res)
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.heads[res]
	if h == nil {
		return
	}
	for r := h.holders; r != nil; r = r.next {
		if r.tx == tx && r.mode == mode {
			t.releaseRecLocked(p, r)
			return
		}
	}
}

// LockRelation locks a relation.
func (tx *Tx) LockRelation(ctx context.Context, rel uint64, mode Mode) error {
	return tx.Lock(ctx, Resource{KindRelation, rel, 0}, mode)
}

// LockRow takes a row lock in the table (rules B2). More than the cap of shared ones become one on the relation, which
// excludes only deletes and key updates (KEY SHARE) or every change (SHARE).
func (tx *Tx) LockRow(ctx context.Context, rel, id uint64, mode Mode) error {
	t := tx.m.locks
	whole := Resource{KindRows, rel, 0}
	row := Resource{KindRow, rel, id}
	if mode == RowKeyShare || mode == RowShared {
		if tx.escalated(rel, mode) {
			return tx.waitRowFree(ctx, row, mode)
		}
		if tx.nrows >= tx.m.opts.MaxRowLocks {
			if err := tx.Lock(ctx, whole, mode); err != nil {
				return err
			}
			tx.noteEscalated(rel, mode)
			return tx.waitRowFree(ctx, row, mode)
		}
		return tx.Lock(ctx, row, mode)
	}
	for {
		if _, err := t.acquire(ctx, tx, row, mode, false); err != nil {
			return err
		}
		if !t.conflict(tx, whole, mode) {
			return nil
		}
		// Each side registers first and then looks at the other, so one of them sees the other. We step back.
		tx.Unlock(row, mode)
		if err := tx.waitFree(ctx, whole, mode); err != nil {
			return err
		}
	}
}

// waitRowFree waits until nobody holds a lock on the row that excludes mode; nothing is kept.
func (tx *Tx) waitRowFree(ctx context.Context, row Resource, mode Mode) error {
	if !tx.m.locks.conflict(tx, row, mode) {
		return nil
	}
	return tx.waitFree(ctx, row, mode)
}

func (tx *Tx) waitFree(ctx context.Context, res Resource, mode Mode) error {
	if err := tx.Lock(ctx, res, mode); err != nil {
		return err
	}
	tx.Unlock(res, mode)
	return nil
}

// RowBlocked reports whether another transaction's row lock in the table excludes the mode. Whoever sets an xmax asks, under
// the exclusive latch of the row's page (rules B2, B3).
func (tx *Tx) RowBlocked(rel, id uint64, mode Mode) bool {
	t := tx.m.locks
	if t.rows.Load() == 0 {
		return false
	}
	return t.conflict(tx, Resource{KindRow, rel, id}, mode) || t.conflict(tx, Resource{KindRows, rel, 0}, mode)
}

// RowCovered gives back the row lock of at most the given strength that the current subtransaction took: its xmax on the row
// protects it from now on. It keeps a statement over many rows from listing them all.
func (tx *Tx) RowCovered(rel, id uint64, mode Mode) {
	if tx.nrows == 0 {
		return
	}
	t := tx.m.locks
	res := Resource{KindRow, rel, id}
	p := t.part(res)
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.heads[res]
	if h == nil {
		return
	}
	for r := h.holders; r != nil; {
		next := r.next
		if r.tx == tx && r.sub == tx.subSeq && covers(mode, r.mode) {
			last := h.holders == r && r.next == nil && len(h.queue) == 0
			t.releaseRecLocked(p, r)
			if last {
				return // h is on the free list now
			}
		}
		r = next
	}
}

// RowLocks returns how many row locks the transaction has listed; beyond MaxRowLocks the heap marks rows instead.
func (tx *Tx) RowLocks() int { return tx.nrows }

// RowLocksFull reports whether a further exclusive row lock should be marked on the row instead of being listed.
func (tx *Tx) RowLocksFull() bool { return tx.nrows >= tx.m.opts.MaxRowLocks }

type escalation struct {
	rel  uint64
	mode Mode
	sub  uint32
}

func (tx *Tx) escalated(rel uint64, mode Mode) bool {
	for _, e := range tx.escal {
		if e.rel == rel && covers(e.mode, mode) {
			return true
		}
	}
	return false
}

func (tx *Tx) noteEscalated(rel uint64, mode Mode) {
	tx.escal = append(tx.escal, escalation{rel, mode, tx.subSeq})
}

// AdoptRowLock lists a row lock that the transaction holds by an xmax which one of its subtransactions is about to overwrite
// (rules B2). It belongs to the whole transaction: it was taken before the subtransaction, and nobody can hold another.
func (tx *Tx) AdoptRowLock(rel, id uint64, mode Mode) {
	t := tx.m.locks
	res := Resource{KindRow, rel, id}
	p := t.part(res)
	p.mu.Lock()
	defer p.mu.Unlock()
	h := t.headLocked(p, res)
	for r := h.holders; r != nil; r = r.next {
		if r.tx == tx && r.sub == 0 && covers(r.mode, mode) {
			return
		}
	}
	grantFirstLocked(p, h, tx, mode)
}

// grantFirstLocked is grantLocked for a lock that counts as taken before all others.
func grantFirstLocked(p *partition, h *lockHead, tx *Tx, mode Mode) {
	r := p.freeR
	if r != nil {
		p.freeR = r.next
	} else {
		slab := make([]lockRec, lockSlab)
		for i := 1; i < len(slab); i++ {
			slab[i].next, p.freeR = p.freeR, &slab[i]
		}
		r = &slab[0]
	}
	*r = lockRec{head: h, tx: tx, mode: mode, next: h.holders, nxT: tx.lockHead}
	h.holders = r
	if tx.lockHead != nil {
		tx.lockHead.prevT = r
	} else {
		tx.lockTail = r
	}
	tx.lockHead = r
	tx.nlocks++
	tx.nrows++
}
