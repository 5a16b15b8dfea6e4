package txn

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Log is what txn wants of the write-ahead log.
type Log interface {
	Insert(b *wal.Builder) (page.LSN, error)
	InsertWith(b *wal.Builder, hook func(end page.LSN)) (page.LSN, error)
	FlushTo(lsn page.LSN) error
	FlushedLSN() page.LSN
	InsertedLSN() page.LSN
	RequestFlush()
}

var _ Log = (*wal.Log)(nil)

// Options configure a [Manager]. The zero values of the limits work.
type Options struct {
	FS   vfs.FS
	Dir  string // of the status pages: xact/
	Fate *invariant.Fate

	LockTimeout   time.Duration // of lock waits; zero means none
	DeadlockDelay time.Duration // a waiter looks for a deadlock after it; zero means 10 ms
	MaxRowLocks   int           // listed for one transaction; zero means 65,536

	// DropFile removes the files of a relation after the commit or abort that says so is in the log.
	DropFile func(ctx context.Context, rel page.RelFile) error
}

// Manager knows every transaction.
type Manager struct {
	opts Options
	log  Log

	words  words
	status statusPages
	slots  slots
	locks  *lockTable

	// The three numbers of a snapshot (X4). published and oldest are written by the publisher and under run.mu.
	published atomic.Uint64
	oldest    atomic.Uint64
	next      atomic.Uint64

	horizonXmin, horizonCSN atomic.Uint64 // the newest horizon computed

	run struct {
		sync.Mutex // guards the list of running transactions with an xid, in the order of their xids
		head, tail *Tx
		limit      XID // logged: no xid at or above it was handed out
		b          *wal.Builder
	}

	queue struct {
		sync.Mutex // a leaf: taken under the WAL insert lock
		head, tail *Tx
	}
	publishing  sync.Mutex // one publisher at a time; before queue
	compressing sync.Mutex

	straddle struct {
		sync.Mutex
		list []straddler
	}

	payloads map[uint8]PayloadRedo
	redone   redoState

	seq                             atomic.Uint64
	begun, committed, aborted       atomic.Int64
	snapshots, compressed, subxacts atomic.Int64
	live                            atomic.Int64
}

// New returns a manager that can redo records and, after Start, run transactions.
func New(o Options) *Manager {
	if o.DeadlockDelay == 0 {
		o.DeadlockDelay = 10 * time.Millisecond
	}
	if o.MaxRowLocks == 0 {
		o.MaxRowLocks = 1 << 16
	}
	if o.Fate == nil {
		o.Fate = new(invariant.Fate)
	}
	m := &Manager{opts: o, payloads: make(map[uint8]PayloadRedo)}
	m.locks = newLockTable(o.DeadlockDelay, o.LockTimeout)
	m.redone.next = FirstXID
	return m
}

// Start begins to run transactions: recovery is over and the log takes records. Every xid of an earlier run has ended.
func (m *Manager) Start(log Log) error {
	m.log = log
	next := (m.redone.next + chunkSize - 1) &^ (chunkSize - 1)
	m.words.init(next)
	m.run.limit = next
	m.run.b = wal.NewBuilder()
	m.next.Store(uint64(next))
	m.oldest.Store(uint64(next))
	m.published.Store(uint64(log.InsertedLSN()))
	m.redone.subs = nil
	return nil
}

// assign gives tx an xid: its own, or one for a subtransaction.
func (m *Manager) assign(tx *Tx, top bool) (XID, error) {
	if err := m.opts.Fate.Err(); err != nil {
		return 0, err
	}
	m.run.Lock()
	defer m.run.Unlock()
	x := XID(m.next.Load())
	if x >= MaxXID {
		return 0, dberr.New(dberr.LimitExceeded, "out of transaction ids")
	}
	if x >= m.run.limit {
		// The log says how far xids may be in use, so that none is handed out twice after a crash.
		limit := m.run.limit + chunkSize
		m.run.b.Begin(wal.RmgrXact, infoXIDs, 0)
		var b [8]byte
		putU64(b[:], uint64(limit))
		m.run.b.Data(b[:])
		if _, err := m.log.Insert(m.run.b); err != nil {
			return 0, err
		}
		m.run.limit = limit
	}
	m.words.extend(x)
	m.words.chunk(x).owners[x&(chunkSize-1)].Store(tx)
	if top {
		tx.top = x
		tx.runPrev = m.run.tail
		if m.run.tail != nil {
			m.run.tail.runNext = tx
		} else {
			m.run.head = tx
		}
		m.run.tail = tx
		tx.running = true
	}
	m.next.Store(uint64(x) + 1)
	return x, nil
}

// leave takes tx out of the running set (X2).
func (m *Manager) leave(tx *Tx) {
	m.run.Lock()
	defer m.run.Unlock()
	if !tx.running {
		return
	}
	tx.running = false
	if tx.runPrev != nil {
		tx.runPrev.runNext = tx.runNext
	} else {
		m.run.head = tx.runNext
	}
	if tx.runNext != nil {
		tx.runNext.runPrev = tx.runPrev
	} else {
		m.run.tail = tx.runPrev
	}
	tx.runPrev, tx.runNext = nil, nil
	if m.run.head != nil {
		m.oldest.Store(uint64(m.run.head.top))
	} else {
		m.oldest.Store(m.next.Load())
	}
}

// owner returns the running transaction that x belongs to, or nil.
func (m *Manager) owner(x XID) *Tx {
	c := m.words.chunk(x)
	if c == nil {
		return nil
	}
	return c.owners[x&(chunkSize-1)].Load()
}

// WaitXID returns when x has ended or was rolled back to a savepoint before it. What it did is visible to snapshots taken from
// then on. tx is who waits.
func (m *Manager) WaitXID(ctx context.Context, tx *Tx, x XID) error {
	for {
		if err := m.opts.Fate.Err(); err != nil {
			return err // a commit that the log did not take never ends
		}
		on := m.owner(x)
		if on == nil {
			return nil
		}
		if on.group == tx.group {
			if on == tx {
				return nil
			}
			return dberr.New(dberr.Deadlock, "a transaction would wait for its own caller")
		}
		on.waitMu.Lock()
		if w, ok := m.words.load(x); !ok || on.ended || m.rolledBack(w) {
			on.waitMu.Unlock()
			return nil
		}
		w := &waiter{tx: tx, onTx: on, ch: make(chan struct{}, 1)}
		on.waiters = append(on.waiters, w)
		tx.group.waiting.Store(w)
		on.waitMu.Unlock()

		err := m.locks.sleep(ctx, w)

		tx.group.waiting.Store(nil)
		on.waitMu.Lock()
		for i, q := range on.waiters {
			if q == w {
				last := len(on.waiters) - 1
				on.waiters[i] = on.waiters[last]
				on.waiters[last] = nil
				on.waiters = on.waiters[:last]
				break
			}
		}
		on.waitMu.Unlock()
		if err != nil {
			return err
		}
	}
}

// rolledBack follows released words to see whether an ancestor within the running transaction was rolled back.
func (m *Manager) rolledBack(w uint64) bool {
	for w&wordTag == tagReleased {
		var ok bool
		if w, ok = m.words.load(XID(w >> wordTagBits)); !ok {
			return true
		}
	}
	return w == wordAborted
}

// wakeAll wakes who waits for an xid of tx: each looks again.
func (tx *Tx) wakeAll(ended bool) {
	tx.waitMu.Lock()
	defer tx.waitMu.Unlock()
	tx.ended = tx.ended || ended
	for _, w := range tx.waiters {
		w.signal()
	}
}

// NextXID returns the xid that would be assigned next.
func (m *Manager) NextXID() XID { return XID(m.next.Load()) }

// OldestRunning returns the xid below which all have left the running set.
func (m *Manager) OldestRunning() XID { return XID(m.oldest.Load()) }

// PublishedCSN returns up to where commits are visible.
func (m *Manager) PublishedCSN() page.LSN { return page.LSN(m.published.Load()) }

// Stats are counters since the start.
type Stats struct {
	Begun, Committed, Aborted, Live    int64
	Snapshots, Subtransactions         int64
	WordsInMemory, WordsCompressed     int64
	LockWaits, Deadlocks, LockTimeouts int64
	RowLocks                           int64
}

// Stats returns the counters.
func (m *Manager) Stats() Stats {
	return Stats{
		Begun: m.begun.Load(), Committed: m.committed.Load(), Aborted: m.aborted.Load(), Live: m.live.Load(),
		Snapshots: m.snapshots.Load(), Subtransactions: m.subxacts.Load(),
		WordsInMemory: int64(m.words.count()), WordsCompressed: m.compressed.Load(),
		LockWaits: m.locks.waits.Load(), Deadlocks: m.locks.deadlocks.Load(), LockTimeouts: m.locks.timeouts.Load(),
		RowLocks: m.locks.rows.Load(),
	}
}

// Fate returns the switch that poisons the database.
func (m *Manager) Fate() *invariant.Fate { return m.opts.Fate }
