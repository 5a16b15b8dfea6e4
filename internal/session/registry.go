package session

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// record is an open transaction as others see it.
type record struct {
	id    uint64
	s     *Session
	graph string
	outer *record // the transaction that it runs for, or nil
	begun time.Time
	meta  value.Value // what the client says of it: a map, or null

	doomed atomic.Int32 // a doom: why the transaction is to end
	timer  *time.Timer  // of transaction_timeout
}

// doom says why a transaction is ended by somebody else than its client.
type doom int32

const (
	_ doom = iota
	terminated
	outOfTime
	idleTooLong
)

func (d doom) error() *dberr.Error {
	switch d {
	case outOfTime:
		return dberr.New(dberr.TransactionTimeout, "the transaction has been terminated: it has taken longer than transaction_timeout allows").
			WithHint("the transaction was rolled back; run it again with a longer timeout")
	case idleTooLong:
		return dberr.New(dberr.IdleTimeout, "terminating connection due to idle-in-transaction timeout").
			WithHint("the transaction was rolled back; idle_in_transaction_session_timeout says how long a client may wait within one")
	}
	return dberr.New(dberr.Terminated, "the transaction has been terminated").WithHint("it was rolled back; retry it in a new transaction")
}

// name is the transaction's id as SHOW TRANSACTIONS gives it.
func (r *record) name() string { return r.graph + "-transaction-" + strconv.FormatUint(r.id, 10) }

// fate returns why the transaction is to end, or nil.
func (r *record) fate() *dberr.Error {
	if r == nil {
		return nil
	}
	if d := doom(r.doomed.Load()); d != 0 {
		return d.error()
	}
	return nil
}

// register enters a transaction into the list of those that are open.
func (db *Database) register(s *Session, graph string, outer *record, begun time.Time) *record {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.lastTx++
	r := &record{id: db.lastTx, s: s, graph: graph, outer: outer, begun: begun, meta: s.meta}
	db.txs[r.id] = r
	return r
}

func (db *Database) unregister(r *record) {
	if r == nil {
		return
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	delete(db.txs, r.id)
}

// opened notes a transaction that the session has begun.
func (s *Session) opened(tx store.Tx) {
	s.tx = tx
	s.record = s.db.register(s, s.now().graph, nil, s.txTime)
	limit := time.Duration(s.now().txTimeout) * time.Millisecond
	if !s.deadline.IsZero() {
		limit, s.deadline = max(1, time.Until(s.deadline)), time.Time{}
	}
	if limit > 0 {
		r := s.record
		r.timer = time.AfterFunc(limit, func() { s.db.end(r, outOfTime) })
	}
}

// over notes that the session's transaction has ended.
func (s *Session) over() {
	s.db.unregister(s.record)
	s.tx, s.record = nil, nil
}

// SetTimeout bounds the next transaction, whatever transaction_timeout says, by a time that counts from now. With zero that setting holds.
func (s *Session) SetTimeout(d time.Duration) {
	if s.deadline = (time.Time{}); d > 0 {
		s.deadline = time.Now().Add(d)
	}
}

// SetMetadata is what SHOW TRANSACTIONS tells of the transactions that begin from now on: a map, or null for nothing. It is copied.
func (s *Session) SetMetadata(m value.Value) { s.meta = m.Clone() }

// end ends a transaction from outside: what runs is interrupted, and one whose client is idle is rolled back at once.
func (db *Database) end(r *record, why doom) {
	if !r.doomed.CompareAndSwap(0, int32(why)) {
		return
	}
	if r.outer != nil { // the statement around it ends, too
		r.outer.doomed.CompareAndSwap(0, int32(why))
	}
	r.s.Cancel()
	r.s.idle.mu.Lock()
	defer r.s.idle.mu.Unlock()
	if r.s.idle.waiting && r.s.record == r {
		r.s.giveUp(why.error())
	}
}

// giveUp rolls the open transaction back, also in the middle of a block: until its end every statement fails with the cause.
func (s *Session) giveUp(cause *dberr.Error) {
	block := s.block
	for _, p := range s.portals {
		if !p.done {
			p.broken = cause
		}
	}
	s.closePortals()
	if err := s.tx.Rollback(); err != nil {
		s.db.opt.Log.Error("rollback failed", "error", err)
	}
	s.over()
	s.ddl, s.private, s.points, s.failed = false, nil, nil, block
	if block {
		s.cause = cause
	}
}

// Terminate ends the transactions with the names. It returns those that are open, by name.
func (db *Database) terminate(names []string) map[string]*record {
	found := map[string]*record{}
	for _, r := range db.transactions() {
		if n := r.name(); slices.Contains(names, n) {
			found[n] = r
		}
	}
	for _, r := range found {
		db.end(r, terminated)
	}
	return found
}

// transactions lists the open transactions, oldest first.
func (db *Database) transactions() []*record {
	db.mu.Lock()
	defer db.mu.Unlock()
	out := make([]*record, 0, len(db.txs))
	for _, r := range db.txs {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *record) int { return int(a.id) - int(b.id) })
	return out
}

// Idle says that the session waits for its client. While it does, a transaction that is ended from outside is rolled back without the client, and one
// that waits for longer than idle_in_transaction_session_timeout is; expired, if not nil, is then called, by another goroutine.
func (s *Session) Idle(expired func()) {
	s.idle.mu.Lock()
	defer s.idle.mu.Unlock()
	s.idle.waiting = true
	if r := s.record; r != nil && r.fate() != nil { // ended between two statements
		s.giveUp(r.fate())
		return
	}
	ms := s.now().idleTimeout
	if ms <= 0 || !s.block {
		return
	}
	s.idle.timer = time.AfterFunc(time.Duration(ms)*time.Millisecond, func() {
		if s.idleTooLong() && expired != nil {
			expired()
		}
	})
}

// idleTooLong rolls back the block of a session that is still idle.
func (s *Session) idleTooLong() bool {
	s.idle.mu.Lock()
	defer s.idle.mu.Unlock()
	if !s.idle.waiting || !s.block {
		return false
	}
	s.idle.timer = nil
	if s.tx != nil {
		s.giveUp(idleTooLong.error())
	} else {
		s.failed, s.cause = true, idleTooLong.error()
	}
	return true
}

// Wake ends Idle: what the client wants next may be done. It may be called when nothing is idle.
func (s *Session) Wake() {
	s.idle.mu.Lock()
	defer s.idle.mu.Unlock()
	s.idle.waiting = false
	if s.idle.timer != nil {
		s.idle.timer.Stop()
		s.idle.timer = nil
	}
}

// settle looks, before a statement and before a commit, whether the open transaction was ended from outside.
func (s *Session) settle() error {
	if err := s.record.fate(); err != nil {
		s.giveUp(err)
		return err
	}
	if s.failed && s.cause != nil {
		return s.cause
	}
	return nil
}
