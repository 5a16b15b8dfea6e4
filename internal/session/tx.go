package session

import (
	"context"
	"os"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// Status is the transaction state as PostgreSQL's ReadyForQuery gives it: I idle, T in a block, E in a failed block.
func (s *Session) Status() byte {
	switch {
	case !s.block:
		return 'I'
	case s.failed:
		return 'E'
	}
	return 'T'
}

func isolationText(i store.Isolation) string {
	switch i {
	case store.RepeatableRead:
		return "repeatable read"
	case store.Serializable:
		return "serializable"
	}
	return "read committed"
}

func parseIsolation(v string) store.Isolation {
	switch v {
	case "repeatable read":
		return store.RepeatableRead
	case "serializable":
		return store.Serializable
	}
	return store.ReadCommitted
}

func (s *Session) setIsolation(v string) error {
	if s.tx != nil {
		return dberr.New(dberr.ActiveTransaction, "SET TRANSACTION ISOLATION LEVEL must be called before any query")
	}
	s.isolation = parseIsolation(v)
	return nil
}

// need returns the open transaction, or begins one (S2).
func (s *Session) need(ctx context.Context) (store.Tx, error) {
	if err := s.settle(); err != nil {
		return nil, err
	}
	if s.failed {
		return nil, dberr.New(dberr.InFailedTransaction, "current transaction is aborted, commands ignored until end of transaction block")
	}
	if s.tx != nil {
		s.tx.SetLockTimeout(s.lockTimeout()) // the setting may have changed within the block
		return s.tx, nil
	}
	if !s.block {
		s.isolation = parseIsolation(s.now().isolation)
	}
	if s.committed {
		s.isolation = store.ReadCommitted
	}
	tx, err := s.db.store.Begin(ctx, store.TxOptions{
		Isolation:    s.isolation,
		ReadOnly:     s.readOnly(),
		Async:        s.now().async,
		NoGraphCache: !s.graphCache(),
	})
	if err != nil {
		return nil, err
	}
	tx.SetLockTimeout(s.lockTimeout())
	if s.txTime, s.used = s.clock, false; s.clock.IsZero() {
		s.txTime = time.Now()
	}
	s.opened(tx)
	return tx, nil
}

func (s *Session) lockTimeout() time.Duration {
	return time.Duration(s.now().lockTimeout) * time.Millisecond
}

// renew begins the open transaction again, with a fresh snapshot.
func (s *Session) renew(ctx context.Context) (store.Tx, error) {
	if err := s.tx.Rollback(); err != nil {
		return nil, err
	}
	s.over()
	return s.need(ctx)
}

// Modes are the options of BEGIN.
type Modes struct {
	Isolation string // "" means the default
	ReadOnly  *bool
}

// Begin opens a block.
func (s *Session) Begin(m Modes) error {
	if s.block {
		if s.failed {
			return dberr.New(dberr.InFailedTransaction, "current transaction is aborted, commands ignored until end of transaction block")
		}
		s.notice("WARNING", "25001", "there is already a transaction in progress")
		return nil
	}
	if s.tx == nil {
		s.isolation = parseIsolation(s.raw(settings["default_transaction_isolation"]))
		if m.Isolation != "" {
			s.isolation = parseIsolation(m.Isolation)
		}
	}
	readOnly := s.boolSetting("default_transaction_read_only")
	if m.ReadOnly != nil {
		readOnly = *m.ReadOnly
	}
	s.block = true
	if s.tx != nil && readOnly {
		s.tx.SetReadOnly(true)
	}
	s.remember("transaction_read_only", true)
	s.set["transaction_read_only"] = onOff(readOnly)
	s.changed()
	return nil
}

// Commit ends the block, or the implicit transaction. rolledBack tells that the transaction had failed and was undone instead.
func (s *Session) Commit(ctx context.Context) (rolledBack bool, err error) {
	if !s.block && s.tx == nil {
		s.notice("WARNING", "25P01", "there is no transaction in progress")
		return false, nil
	}
	if err := s.settle(); err != nil {
		s.rollback()
		return true, err
	}
	if s.failed {
		s.rollback()
		return true, nil
	}
	return false, s.commit(ctx)
}

func (s *Session) commit(ctx context.Context) error {
	s.closePortals()
	if err := s.record.fate(); err != nil { // it came after the last statement
		s.rollback()
		return err
	}
	tx := s.tx
	defer s.db.unregister(s.record)
	s.ended()
	if tx == nil {
		s.restoreLocals(true)
		return nil
	}
	// A commit that has begun is carried to its end: nobody could tell whether one that was interrupted has happened.
	if ctx.Done() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if err := tx.Commit(ctx); err != nil {
		tx.Rollback()
		s.restoreLocals(false)
		return err
	}
	s.restoreLocals(true)
	return nil
}

// Rollback ends the block and undoes it.
func (s *Session) Rollback() {
	if !s.block && s.tx == nil {
		s.notice("WARNING", "25P01", "there is no transaction in progress")
	}
	s.rollback()
}

func (s *Session) rollback() {
	s.closePortals()
	if s.tx != nil {
		if err := s.tx.Rollback(); err != nil {
			s.db.opt.Log.Error("rollback failed", "error", err)
		}
	}
	s.db.unregister(s.record)
	s.ended()
	s.restoreLocals(false)
}

// ended forgets the open transaction and its block.
func (s *Session) ended() {
	s.tx, s.record, s.cause, s.ran, s.clock = nil, nil, nil, 0, time.Time{}
	s.block, s.failed, s.ddl, s.private, s.points = false, false, false, nil, nil
}

// Fail tells the session that a statement ended with an error (S2, S3).
func (s *Session) Fail() {
	if s.block {
		if err := s.record.fate(); err != nil {
			s.giveUp(err) // its locks are not kept for a client that may never come back
			return
		}
		s.closePortals()
		s.failed = true
		return
	}
	s.rollback()
}

// Abort is Fail after a panic: nothing of the statement is trusted. A panic inside a critical section has left pages half changed that must
// never reach the disk, so it ends the process (rules A11). false means that not even the rollback worked: the session is of no use any more.
func (s *Session) Abort() (usable bool) {
	if c, ok := s.tx.(interface{ InCritical() bool }); ok && c.InCritical() {
		s.db.opt.Log.Error("a panic inside a critical section ends the process")
		exit(134)
	}
	defer func() {
		if p := recover(); p != nil {
			s.db.opt.Log.Error("rollback after a panic failed", "panic", p)
			s.db.unregister(s.record)
			s.tx, s.record, s.failed, usable = nil, nil, s.block, false
			clear(s.portals)
		}
	}()
	s.Fail()
	return true
}

var exit = os.Exit // a test replaces it

// EndImplicit commits the implicit transaction, if one is open and no block is.
func (s *Session) EndImplicit(ctx context.Context) error {
	s.multi = false
	if s.block {
		return nil
	}
	if s.tx == nil {
		s.closePortals()
		s.ran = 0
		return nil
	}
	return s.commit(ctx)
}

// InMulti tells the session whether the statements that follow share one implicit transaction.
func (s *Session) InMulti(on bool) { s.multi = on }

// Savepoint, Release and RollbackTo work inside a block.
func (s *Session) Savepoint(ctx context.Context, name string) error {
	if !s.block {
		return dberr.New(dberr.NoActiveTransaction, "SAVEPOINT can only be used in transaction blocks")
	}
	tx, err := s.need(ctx)
	if err != nil {
		return err
	}
	if err := tx.Savepoint(name); err != nil {
		return err
	}
	s.points = append(s.points, name)
	return nil
}

func (s *Session) findPoint(name, verb string) (int, error) {
	if !s.block {
		return 0, dberr.New(dberr.NoActiveTransaction, "%s can only be used in transaction blocks", verb)
	}
	for i := len(s.points) - 1; i >= 0; i-- {
		if s.points[i] == name {
			return i, nil
		}
	}
	return 0, dberr.New(dberr.InvalidSavepoint, "savepoint %q does not exist", name)
}

func (s *Session) Release(ctx context.Context, name string) error {
	if s.failed {
		_, err := s.need(ctx)
		return err
	}
	i, err := s.findPoint(name, "RELEASE SAVEPOINT")
	if err != nil {
		return err
	}
	if err := s.tx.Release(name); err != nil {
		return err
	}
	s.points = s.points[:i]
	return nil
}

func (s *Session) RollbackTo(name string) error {
	if s.cause != nil {
		return s.cause
	}
	i, err := s.findPoint(name, "ROLLBACK TO SAVEPOINT")
	if err != nil {
		return err
	}
	s.closePortals()
	if err := s.tx.RollbackTo(name); err != nil {
		return err
	}
	s.points = s.points[:i+1]
	s.failed, s.private = false, nil
	return nil
}
