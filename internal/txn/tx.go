package txn

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Isolation is a transaction's isolation level (rules A8).
type Isolation uint8

const (
	ReadCommitted Isolation = iota
	RepeatableRead
	Serializable
)

// TxOptions begin a transaction.
type TxOptions struct {
	Isolation Isolation
	ReadOnly  bool
	Async     bool            // Commit does not wait for the log to be flushed
	Session   uint32          // spreads sessions over insert pages
	Crit      *invariant.Crit // of the session; nil where nobody recovers from panics
	// LockTimeout replaces the manager's if it is not zero; negative means none.
	LockTimeout time.Duration
}

// Participant hears how a transaction and its subtransactions end. It joins with [Tx.Join].
type Participant interface {
	// Phase orders publications.
	Phase() Phase
	// BeforeCommit may refuse the commit, or add to its record.
	BeforeCommit(r *CommitRecord) error
	// Publish runs in the order of CSNs before publishedCSN covers csn, perhaps on another goroutine. It must not wait.
	Publish(csn page.LSN)
	// Abort runs when the transaction was rolled back.
	Abort()
	// RollbackSub undoes what was noted in subtransactions numbered sub and above ([Tx.Sub]).
	RollbackSub(sub uint32)
}

// Phase orders what happens at publication (rules A2).
type Phase uint8

const (
	PhaseCounters Phase = iota // B9
	PhaseShown                 // B7's shownCSN
	PhaseCatalog               // the catalog epoch
	phases
)

// Tx is a transaction. It belongs to one goroutine at a time.
type Tx struct {
	m     *Manager
	opts  TxOptions
	seq   uint64 // grows with the time of Begin: the youngest of a deadlock is its victim
	group *Tx    // leader of the lock group: itself, or the caller of a system transaction (B7)

	top     XID   // 0 until the first write
	lastXID XID   // the newest xid of the tree
	subs    []XID // xids of subtransactions that were not rolled back, ascending
	subOf   []uint32
	levels  []level // the stack of open subtransactions; levels[0] is the transaction itself
	subSeq  uint32  // number of the current subtransaction
	subNext uint32
	counter uint32 // next command id (A5)
	done    bool

	combo  combos
	joined []Participant
	files  []fileNote

	base *Snapshot // of repeatable read and above

	// Locks. The list is ours, or of whoever grants us a lock while we sleep.
	lockHead, lockTail *lockRec
	nlocks, nrows      int
	escal              []escalation

	waiting atomic.Pointer[waiter] // of the group, in its leader

	waitMu  sync.Mutex // guards the fields below
	waiters []*waiter
	ended   bool

	// Guarded by Manager.run.
	running          bool
	runPrev, runNext *Tx

	// Guarded by Manager.queue.
	csn       page.LSN
	qsync     bool
	qnext     *Tx
	published atomic.Bool

	build *wal.Builder

	firstLevels [2]level // memory of levels
	rec         CommitRecord
}

type level struct {
	name string
	sub  uint32
	xid  XID
}

// Begin starts a transaction. It costs no xid until it writes.
func (m *Manager) Begin(o TxOptions) *Tx { return m.BeginInto(new(Tx), o) }

// BeginInto is Begin in memory of the caller's, which holds a zero Tx.
func (m *Manager) BeginInto(tx *Tx, o TxOptions) *Tx {
	tx.m, tx.opts, tx.seq, tx.subNext = m, o, m.seq.Add(1), 1
	tx.group = tx
	tx.levels = append(tx.firstLevels[:0], level{})
	m.begun.Add(1)
	m.live.Add(1)
	return tx
}

// BeginSystem starts a transaction of its own in the lock group of caller: their locks do not exclude each other, and its
// waits are the caller's (rules B7). The caller does nothing else meanwhile.
func (m *Manager) BeginSystem(caller *Tx, o TxOptions) *Tx {
	tx := m.Begin(o)
	if caller != nil {
		tx.group = caller.group
		if o.Crit == nil {
			tx.opts.Crit = caller.opts.Crit
		}
	}
	return tx
}

// Manager returns who runs the transaction.
func (tx *Tx) Manager() *Manager { return tx.m }

// Isolation returns the isolation level.
func (tx *Tx) Isolation() Isolation { return tx.opts.Isolation }

// ReadOnly reports whether writes are refused.
func (tx *Tx) ReadOnly() bool { return tx.opts.ReadOnly }

// SetReadOnly changes it; a transaction that has written cannot become read-only.
func (tx *Tx) SetReadOnly(ro bool) {
	if !ro || tx.top == InvalidXID {
		tx.opts.ReadOnly = ro
	}
}

// SetAsync says whether Commit waits for the log.
func (tx *Tx) SetAsync(async bool) { tx.opts.Async = async }

// SetLockTimeout replaces the lock timeout; zero means the manager's, negative none.
func (tx *Tx) SetLockTimeout(d time.Duration) { tx.opts.LockTimeout = d }

func (tx *Tx) lockTimeout(def time.Duration) time.Duration {
	if tx.opts.LockTimeout != 0 {
		return tx.opts.LockTimeout
	}
	return def
}

// Crit returns the session's count of critical sections; may be nil.
func (tx *Tx) Crit() *invariant.Crit { return tx.opts.Crit }

// Session returns the number that spreads sessions over insert pages.
func (tx *Tx) Session() uint32 { return tx.opts.Session }

// Done reports whether the transaction has ended.
func (tx *Tx) Done() bool { return tx.done }

// TopXID returns the transaction's xid, or 0 if it has not written yet.
func (tx *Tx) TopXID() XID { return tx.top }

// Sub returns the number of the current subtransaction: 0 for the transaction itself, growing with each savepoint.
func (tx *Tx) Sub() uint32 { return tx.subSeq }

// Builder returns a record builder for the transaction's goroutine, until the end of the transaction.
func (tx *Tx) Builder() *wal.Builder {
	if tx.build == nil {
		tx.build = builders.Get().(*wal.Builder)
	}
	return tx.build
}

// builders are kept from transaction to transaction for their memory.
var builders = sync.Pool{New: func() any { return wal.NewBuilder() }}

// XID returns the xid that a write of the current subtransaction carries, assigning it (and its parents') if need be.
func (tx *Tx) XID() (XID, error) {
	if x := tx.levels[len(tx.levels)-1].xid; x != InvalidXID {
		return x, nil
	}
	if tx.done {
		return 0, dberr.New(dberr.NoActiveTransaction, "the transaction has ended")
	}
	if tx.opts.ReadOnly {
		return 0, dberr.New(dberr.ReadOnlyTransaction, "cannot write in a read-only transaction")
	}
	for i := range tx.levels {
		l := &tx.levels[i]
		if l.xid != InvalidXID {
			continue
		}
		x, err := tx.m.assign(tx, i == 0)
		if err != nil {
			return 0, err
		}
		l.xid, tx.lastXID = x, x
		if i > 0 {
			tx.subs = append(tx.subs, x)
			tx.subOf = append(tx.subOf, l.sub)
			tx.m.subxacts.Add(1)
		}
	}
	return tx.levels[len(tx.levels)-1].xid, nil
}

// CurrentCID returns the next command id: a read at it sees everything that the transaction did so far.
func (tx *Tx) CurrentCID() uint32 { return tx.counter }

// Segment takes the command ids of a run of clauses with so many write clauses (rules A5).
func (tx *Tx) Segment(writes int) (base uint32, err error) {
	if uint64(tx.counter)+uint64(writes) > math.MaxUint32 {
		return 0, dberr.New(dberr.LimitExceeded, "a transaction cannot have more than 2^32 commands")
	}
	base = tx.counter
	tx.counter += uint32(writes)
	return base, nil
}

// Snapshot takes a snapshot that sees the transaction's own changes: a fresh one under read committed, else always the first.
func (tx *Tx) Snapshot() *Snapshot { return tx.SnapshotInto(new(Snapshot)) }

// SnapshotInto is Snapshot in memory of the caller's, which holds a zero Snapshot.
func (tx *Tx) SnapshotInto(s *Snapshot) *Snapshot {
	if tx.opts.Isolation == ReadCommitted {
		return tx.freshInto(s)
	}
	if tx.base == nil {
		tx.base = &Snapshot{}
		tx.m.take(tx.base, tx.m.slots.take())
	}
	*s = Snapshot{m: tx.m, tx: tx, csn: tx.base.csn, xmin: tx.base.xmin, xmax: tx.base.xmax}
	return s
}

// Fresh takes a snapshot of now whatever the isolation level, for checks that must not miss anything (rules B3, B14).
func (tx *Tx) Fresh() *Snapshot { return tx.freshInto(new(Snapshot)) }

func (tx *Tx) freshInto(s *Snapshot) *Snapshot {
	s.tx = tx
	tx.m.take(s, tx.m.slots.take())
	tx.m.snapshots.Add(1)
	return s
}

// Savepoint opens a subtransaction.
func (tx *Tx) Savepoint(name string) error {
	if tx.done {
		return dberr.New(dberr.NoActiveTransaction, "the transaction has ended")
	}
	if tx.subNext == math.MaxUint32 {
		return dberr.New(dberr.LimitExceeded, "too many savepoints in one transaction")
	}
	tx.subSeq = tx.subNext
	tx.subNext++
	tx.levels = append(tx.levels, level{name: name, sub: tx.subSeq})
	return nil
}

func (tx *Tx) find(name string) (int, error) {
	for i := len(tx.levels) - 1; i > 0; i-- {
		if tx.levels[i].name == name {
			return i, nil
		}
	}
	return 0, dberr.New(dberr.InvalidSavepoint, "savepoint %q does not exist", name)
}

// Release ends the newest savepoint of that name, and those opened since, and keeps what was done (rules A6).
func (tx *Tx) Release(name string) error {
	i, err := tx.find(name)
	if err != nil {
		return err
	}
	for len(tx.levels) > i {
		last := tx.levels[len(tx.levels)-1]
		tx.levels = tx.levels[:len(tx.levels)-1]
		parent := tx.levels[len(tx.levels)-1]
		if last.xid != InvalidXID {
			tx.m.words.store(last.xid, releasedWord(parent.xid))
		}
	}
	tx.subSeq = tx.levels[len(tx.levels)-1].sub
	return nil
}

// RollbackTo undoes everything since the newest savepoint of that name, which stays.
func (tx *Tx) RollbackTo(name string) error {
	i, err := tx.find(name)
	if err != nil {
		return err
	}
	tx.rollbackSub(i)
	return tx.Savepoint(name)
}

// rollbackSub aborts level i and those above it.
func (tx *Tx) rollbackSub(i int) {
	sub := tx.levels[i].sub
	// A6: aborted into all descendants, also released ones.
	keep := 0
	for k, x := range tx.subs {
		if tx.subOf[k] >= sub {
			tx.m.words.store(x, wordAborted)
			continue
		}
		tx.subs[keep], tx.subOf[keep] = x, tx.subOf[k]
		keep++
	}
	tx.subs, tx.subOf = tx.subs[:keep], tx.subOf[:keep]
	tx.levels = tx.levels[:i]
	tx.subSeq = tx.levels[i-1].sub
	for _, p := range tx.joined {
		p.RollbackSub(sub)
	}
	for k := range tx.files {
		f := &tx.files[k]
		if f.sub >= sub {
			f.onCommit, f.onAbort = f.created, f.created // what was made in it goes in any case; what was dropped in it stays
		}
	}
	n := 0
	for _, e := range tx.escal {
		if e.sub < sub {
			tx.escal[n] = e
			n++
		}
	}
	tx.escal = tx.escal[:n]
	tx.m.locks.releaseSince(tx, sub)
	tx.wakeAll(false)
}

// Join makes p hear how the transaction ends.
func (tx *Tx) Join(p Participant) { tx.joined = append(tx.joined, p) }

type fileNote struct {
	rel               page.RelFile
	sub               uint32
	created           bool
	onCommit, onAbort bool
}

// NoteCreated says that the transaction made the files of a relation: they go if it is rolled back.
func (tx *Tx) NoteCreated(rel page.RelFile) {
	tx.files = append(tx.files, fileNote{rel: rel, sub: tx.subSeq, created: true, onAbort: true})
}

// DropAtCommit says that the files of a relation go when the transaction commits; the commit is synchronous then (A2).
func (tx *Tx) DropAtCommit(rel page.RelFile) {
	tx.files = append(tx.files, fileNote{rel: rel, sub: tx.subSeq, onCommit: true})
}

func (tx *Tx) dropList(commit bool) (rels []page.RelFile) {
	for _, f := range tx.files {
		if commit && f.onCommit || !commit && f.onAbort {
			rels = append(rels, f.rel)
		}
	}
	return rels
}

// WaitXID waits for the end of another transaction.
func (tx *Tx) WaitXID(ctx context.Context, x XID) error { return tx.m.WaitXID(ctx, tx, x) }
