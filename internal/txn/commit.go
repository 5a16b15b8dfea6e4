package txn

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Kinds of records of the resource manager xact. docs/format/xact.md draws them.
const (
	infoCommit uint8 = iota + 1
	infoAbort
	infoSubs // continuation: committed subxids of a commit record still to come (A6)
	infoXIDs // xids below the number may be in use
)

// maxSubsInRecord is how many subxids one record lists.
const maxSubsInRecord = 1 << 16

func putU64(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }

// CommitRecord is what BeforeCommit adds to.
type CommitRecord struct {
	tx   *Tx
	data []byte
	sync bool
}

// Add appends bytes that redo hands to the function registered for the kind.
func (r *CommitRecord) Add(kind uint8, data []byte) {
	r.data = append(r.data, kind)
	r.data = binary.AppendUvarint(r.data, uint64(len(data)))
	r.data = append(r.data, data...)
}

// Synchronous makes the commit wait for the log whatever the session asked for.
func (r *CommitRecord) Synchronous() { r.sync = true }

// Tx returns the transaction.
func (r *CommitRecord) Tx() *Tx { return r.tx }

// straddler is a commit whose list of subxids began in continuation records: a checkpoint between them and the commit record
// carries the list.
type straddler struct {
	tx   *Tx
	top  XID
	subs []XID
	csn  page.LSN
}

// Commit makes what the transaction did durable and visible and returns its CSN (0 if it did nothing). When it returns an error
// before the commit record was written the transaction is still open and must be rolled back; a failing log poisons the
// database (A11) and nothing is acknowledged.
func (tx *Tx) Commit(ctx context.Context) (page.LSN, error) {
	if tx.done {
		return 0, dberr.New(dberr.NoActiveTransaction, "the transaction has ended")
	}
	m := tx.m
	rec := &tx.rec
	*rec = CommitRecord{tx: tx, sync: !tx.opts.Async}
	for _, p := range tx.joined {
		if err := p.BeforeCommit(rec); err != nil {
			return 0, err
		}
	}
	drops := tx.dropList(true)
	if tx.top == InvalidXID && (len(rec.data) > 0 || len(drops) > 0) {
		if _, err := tx.XID(); err != nil {
			return 0, err
		}
	}
	if tx.top == InvalidXID {
		for _, p := range tx.joined {
			p.Publish(m.PublishedCSN())
		}
		tx.finish()
		m.committed.Add(1)
		return 0, nil
	}
	if err := m.opts.Fate.Err(); err != nil {
		return 0, err
	}
	rec.sync = rec.sync || len(drops) > 0 // A2
	// Open savepoints are released with the transaction.
	for i := len(tx.levels) - 1; i > 0; i-- {
		if x := tx.levels[i].xid; x != InvalidXID {
			m.words.store(x, releasedWord(tx.levels[i-1].xid))
		}
	}
	tx.levels, tx.subSeq = tx.levels[:1], 0
	subs := tx.subs
	b := tx.Builder()
	straddles := len(subs) > maxSubsInRecord
	if straddles {
		m.straddle.Lock()
		m.straddle.list = append(m.straddle.list, straddler{tx: tx, top: tx.top, subs: slices.Clone(subs)})
		m.straddle.Unlock()
		for len(subs) > maxSubsInRecord {
			b.Begin(wal.RmgrXact, infoSubs, uint64(tx.top))
			b.Data(appendXIDs(nil, tx.top, subs[:maxSubsInRecord]))
			if _, err := m.insert(tx, b, nil); err != nil {
				return 0, err
			}
			subs = subs[maxSubsInRecord:]
			sched.Point("txn.commit.continued")
		}
	}
	var buf [64]byte
	data := appendXIDs(buf[:0], tx.top, subs)
	data = appendRels(data, drops)
	b.Begin(wal.RmgrXact, infoCommit, uint64(tx.top))
	b.Data(data, rec.data)
	csn, err := m.insert(tx, b, func(end page.LSN) { m.enqueue(tx, end, rec.sync) })
	if err != nil {
		return 0, err
	}
	if straddles {
		m.straddle.Lock()
		for i := range m.straddle.list {
			if m.straddle.list[i].tx == tx {
				m.straddle.list[i].csn, m.straddle.list[i].tx = csn, nil
			}
		}
		m.straddle.Unlock()
	}
	sched.Point("txn.commit.logged")
	if err := m.publishTo(tx, csn, rec.sync); err != nil {
		tx.abandon()
		return 0, err
	}
	sched.Point("txn.commit.published")
	for _, rel := range drops {
		if err := m.dropFile(ctx, rel); err != nil {
			tx.finish()
			return csn, err
		}
	}
	tx.finish()
	if m.committed.Add(1)%256 == 0 || len(tx.subs) > chunkSize {
		m.compress()
	}
	return csn, nil
}

func (m *Manager) insert(tx *Tx, b *wal.Builder, hook func(page.LSN)) (page.LSN, error) {
	crit := tx.opts.Crit
	crit.Enter()
	end, err := m.log.InsertWith(b, hook)
	crit.Logged(b.Len())
	crit.Exit()
	return end, err
}

func (m *Manager) dropFile(ctx context.Context, rel page.RelFile) error {
	if m.opts.DropFile == nil {
		return nil
	}
	if err := m.opts.DropFile(context.WithoutCancel(ctx), rel); err != nil {
		return fmt.Errorf("drop relation file %d: %w", rel, err)
	}
	return nil
}

// enqueue runs under the WAL insert lock: queue order is LSN order (X3).
func (m *Manager) enqueue(tx *Tx, csn page.LSN, sync bool) {
	m.queue.Lock()
	defer m.queue.Unlock()
	tx.csn, tx.qsync = csn, sync
	if m.queue.tail != nil {
		m.queue.tail.qnext = tx
	} else {
		m.queue.head = tx
	}
	m.queue.tail = tx
}

// publishTo returns when tx, which is in the queue, is published.
func (m *Manager) publishTo(tx *Tx, csn page.LSN, sync bool) error {
	if sync {
		if err := m.log.FlushTo(csn); err != nil {
			return err
		}
	} else {
		m.log.RequestFlush()
	}
	for !tx.published.Load() {
		wait, err := m.publish(csn)
		if err != nil {
			return err
		}
		if wait != 0 { // an earlier synchronous commit is not flushed yet, and must not be overtaken
			if err := m.log.FlushTo(wait); err != nil {
				return err
			}
		}
	}
	return nil
}

// publish publishes the head of the queue as far as it can. wait is the CSN of the last synchronous commit up to csn that has to
// be flushed first, 0 if there is none.
func (m *Manager) publish(csn page.LSN) (wait page.LSN, err error) {
	m.publishing.Lock()
	defer m.publishing.Unlock()
	for {
		if err := m.opts.Fate.Err(); err != nil {
			return 0, err
		}
		m.queue.Lock()
		tx := m.queue.head
		if tx == nil || tx.qsync && tx.csn > m.log.FlushedLSN() {
			for ; tx != nil && tx.csn <= csn; tx = tx.qnext {
				if tx.qsync {
					wait = tx.csn
				}
			}
			m.queue.Unlock()
			return wait, nil
		}
		m.queue.head = tx.qnext
		if m.queue.head == nil {
			m.queue.tail = nil
		}
		tx.qnext = nil
		m.queue.Unlock()
		m.publishOne(tx)
	}
}

// publishOne follows A2: status words, counters and shownCSN, catalog epoch, publishedCSN, running set (X2).
func (m *Manager) publishOne(tx *Tx) {
	// Parent pointers of subtransactions were stored before; the top word decides for the whole tree at once.
	m.words.store(tx.top, committedWord(tx.csn))
	sched.Point("txn.publish.word")
	for ph := Phase(0); ph < phases; ph++ {
		for _, p := range tx.joined {
			if p.Phase() == ph {
				p.Publish(tx.csn)
			}
		}
	}
	sched.Point("txn.publish.before")
	m.published.Store(uint64(tx.csn))
	sched.Point("txn.publish.published")
	m.leave(tx)
	tx.published.Store(true)
}

// Rollback undoes the transaction. It does not wait and may be called after the end.
func (tx *Tx) Rollback() {
	if tx.done {
		return
	}
	m := tx.m
	if tx.top != InvalidXID {
		drops := tx.dropList(false)
		b := tx.Builder()
		b.Begin(wal.RmgrXact, infoAbort, uint64(tx.top))
		b.Data(appendRels(nil, drops))
		// Without the record a restart reaches the same end; an error here is a poisoned database.
		_, logErr := m.insert(tx, b, nil)
		for _, x := range tx.subs {
			m.words.store(x, wordAborted)
		}
		m.words.store(tx.top, wordAborted)
		m.leave(tx)
		for i := len(tx.joined) - 1; i >= 0; i-- {
			tx.joined[i].Abort()
		}
		if logErr == nil {
			for _, rel := range drops {
				// Nothing names the file any more: a file that stays is removed at the next recovery (rules B11).
				_ = m.dropFile(context.Background(), rel)
			}
		}
	} else {
		for i := len(tx.joined) - 1; i >= 0; i-- {
			tx.joined[i].Abort()
		}
	}
	tx.finish()
	m.aborted.Add(1)
}

// finish releases locks, wakes who waits, and forgets: the last steps of A2.
func (tx *Tx) finish() {
	tx.done = true
	if tx.base != nil {
		tx.base.Close()
		tx.base = nil
	}
	tx.m.locks.releaseSince(tx, 0)
	if tx.top != InvalidXID {
		tx.m.disown(tx.top)
		for _, x := range tx.subs {
			tx.m.disown(x)
		}
	}
	tx.wakeAll(true)
	tx.m.live.Add(-1)
	tx.joined, tx.files = nil, nil
	if tx.build != nil {
		builders.Put(tx.build)
		tx.build = nil
	}
}

// abandon ends a transaction of a poisoned database: its fate is known after the restart, and its locks hide nothing.
func (tx *Tx) abandon() { tx.finish() }

func (m *Manager) disown(x XID) {
	if c := m.words.chunk(x); c != nil {
		c.owners[x&(chunkSize-1)].Store(nil)
	}
}

// appendXIDs appends a count and xids above base, each as the difference to the one before.
func appendXIDs(dst []byte, base XID, xs []XID) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(xs)))
	for _, x := range xs {
		dst = binary.AppendUvarint(dst, uint64(x-base))
		base = x
	}
	return dst
}

func appendRels(dst []byte, rels []page.RelFile) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(rels)))
	for _, r := range rels {
		dst = binary.AppendUvarint(dst, uint64(r))
	}
	return dst
}
