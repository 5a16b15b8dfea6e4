package hedgerow

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/check"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/session"
)

// Options of a database. The zero value works, and so does a nil pointer.
type Options struct {
	CacheBytes int64 // memory of the page cache; zero means a quarter of the machine's, 64 MiB to 16 GiB
	// GraphCacheBytes is the memory for neighbourhoods of nodes, and for where rows lie; zero means half of CacheBytes, less that there is none.
	GraphCacheBytes int64
	Graph           string // graph of statements that name none; "" means "main"
	WorkMem         int64  // bytes of a sort, hash table or spool before it goes to disk; zero means 16 MiB
	// QueryMemory is what all statements together may hold, in bytes; zero sets no limit beyond that of each.
	QueryMemory int64
	// AnalyzeInterval is how often old statistics are looked for and collected anew; zero means 10 s, less that only ANALYZE does.
	AnalyzeInterval time.Duration
	ImportDir       string       // directory below which LOAD CSV may read; "" refuses LOAD CSV
	Log             *slog.Logger // nil is silent
	// OnFatal is called when the database can promise nothing more, as after a failed fsync. Every later call returns that error. A program
	// that would rather end than go on without its database exits here.
	OnFatal func(error)
}

// DB is an open database.
type DB struct {
	eng   *engine.DB
	db    *session.Database
	graph string
	owner bool
	idle  *sync.Pool // of *client: those of single statements that left nothing behind
}

// Open opens the database in a directory and makes it if there is none. The directory is locked until Close.
func Open(dir string, o *Options) (*DB, error) {
	if dir == "" {
		return nil, publicError(dberr.New(dberr.InvalidParameterValue, "no directory given").WithHint("OpenMemory opens a database without one."), "")
	}
	return open(dir, o)
}

// OpenMemory opens an empty database that lives in memory and is gone after Close.
func OpenMemory(o *Options) (*DB, error) { return open("", o) }

func open(dir string, o *Options) (*DB, error) {
	if o == nil {
		o = &Options{}
	}
	eng, err := engine.Open(context.Background(), engine.Options{Dir: dir, CacheBytes: o.CacheBytes, GraphCacheBytes: o.GraphCacheBytes, Logger: o.Log, OnFatal: o.OnFatal, AnalyzeInterval: o.AnalyzeInterval})
	if err != nil {
		return nil, publicError(err, "")
	}
	set := map[string]string{}
	if o.WorkMem > 0 {
		set["work_mem"] = session.KB(o.WorkMem)
	}
	db := session.New(eng.Store(), session.Options{Log: o.Log, Settings: set, QueryMemory: o.QueryMemory, ImportDir: o.ImportDir, Checkpoint: eng.Checkpoint})
	return &DB{eng: eng, db: db, graph: o.Graph, owner: true, idle: new(sync.Pool)}, nil
}

// Close ends what runs, writes a checkpoint and unlocks the directory.
func (db *DB) Close() error {
	if !db.owner {
		return nil
	}
	db.db.CancelAll()
	db.db.Close()
	return publicError(db.eng.Close(context.Background()), "")
}

// Graph returns the same database with another default graph. Its Close does nothing.
func (db *DB) Graph(name string) *DB {
	d := *db
	d.graph, d.owner, d.idle = name, false, new(sync.Pool)
	return &d
}

// Checkpoint writes everything committed to the data files, so that the next Open has nothing to recover.
func (db *DB) Checkpoint(ctx context.Context) error { return publicError(db.eng.Checkpoint(ctx), "") }

// Check verifies the database and returns every fault found; none means that all is well.
func (db *DB) Check(ctx context.Context) (faults []string, err error) {
	report, err := db.eng.Check(ctx, check.Options{})
	if err != nil {
		return nil, publicError(err, "")
	}
	for _, f := range report.Faults {
		faults = append(faults, f.String())
	}
	return faults, nil
}

func (db *DB) session() *session.Session {
	return db.db.Open(session.Client{User: "go", Database: db.graph, Graph: db.graph, Language: session.Cypher, Application: "go"})
}

// Query runs one Cypher statement in a transaction of its own, which ends when the rows are read to their end or closed. A statement that
// writes is committed before Query returns.
func (db *DB) Query(ctx context.Context, cypher string, params Params) (*Rows, error) {
	return db.query(ctx, cypher, session.Cypher, params, nil)
}

// QuerySQL runs one SQL statement; $1 … $n are args.
func (db *DB) QuerySQL(ctx context.Context, sql string, args ...any) (*Rows, error) {
	return db.query(ctx, sql, session.SQL, nil, args)
}

func (db *DB) query(ctx context.Context, text string, lang session.Language, params Params, args []any) (*Rows, error) {
	s := db.client()
	rows, err := start(ctx, s, text, lang, params, args)
	if err != nil {
		s.Fail()
		s.Close()
		return nil, publicError(err, text)
	}
	if rows.portal.Wrote() { // C3: everything is done already, so that the commit need not wait for the reader
		if err := s.CommitBefore(ctx, rows.portal); err != nil {
			s.Close()
			return nil, publicError(err, text)
		}
	}
	rows.owner = db
	return rows, nil
}

// ended is told by the rows of a statement that ran alone.
func (db *DB) ended(r *Rows, ok bool) error {
	if !ok {
		r.s.Fail()
		r.s.Close()
		return nil
	}
	if err := r.s.EndImplicit(r.ctx); err != nil {
		r.s.Close()
		return err
	}
	if db.idle == nil {
		r.s.Close()
	} else if r.s.Park() {
		db.idle.Put(r.s)
	}
	return nil
}

// client returns a session for one statement: one that served another before, or a new one.
func (db *DB) client() *client {
	if db.idle != nil {
		if s, _ := db.idle.Get().(*client); s != nil {
			s.Resume()
			return s
		}
	}
	return newClient(db.session())
}

// Exec runs Cypher and returns what it changed. The text may hold several statements, separated by semicolons; all of them are one transaction.
func (db *DB) Exec(ctx context.Context, cypher string, params Params) (Result, error) {
	var res Result
	err := db.run(ctx, TxOptions{}, func(tx *Tx) (err error) { res, err = tx.Exec(ctx, cypher, params); return err })
	if dberr.Is(err, dberr.ImplicitTransaction) { // CALL { } IN TRANSACTIONS, which has done nothing yet
		return db.execAlone(ctx, cypher, params)
	}
	return res, err
}

// execAlone runs a statement that brings its own transactions; another one beside it is refused.
func (db *DB) execAlone(ctx context.Context, cypher string, params Params) (Result, error) {
	rows, err := db.Query(ctx, cypher, params)
	if err != nil {
		return Result{}, err
	}
	for rows.Next() {
	}
	if err := rows.Close(); err != nil {
		return Result{}, err
	}
	return rows.Result(), rows.Err()
}

// ExecSQL runs one SQL statement and returns its command tag.
func (db *DB) ExecSQL(ctx context.Context, sql string, args ...any) (tag string, err error) {
	rows, err := db.QuerySQL(ctx, sql, args...)
	if err != nil {
		return "", err
	}
	for rows.Next() {
	}
	if err := rows.Close(); err != nil {
		return "", err
	}
	return rows.portal.Tag(), rows.Err()
}

// Isolation is a transaction's isolation level.
type Isolation uint8

const (
	ReadCommitted  Isolation = iota // every statement sees what was committed when it began
	RepeatableRead                  // the transaction sees what was committed when it began; a collision is an error to retry
)

// TxOptions begin a transaction.
type TxOptions struct {
	Isolation Isolation
	ReadOnly  bool
	Async     bool // Commit does not wait for the disk: a crash may lose the last moments, never part of a transaction
}

// Tx is a transaction. After an error only Rollback and RollbackTo work.
type Tx struct {
	s    *client
	done bool
	rows *Rows
}

// Begin opens a transaction. It must be ended with Commit or Rollback.
func (db *DB) Begin(ctx context.Context, o TxOptions) (*Tx, error) {
	s := db.session()
	m := session.Modes{ReadOnly: &o.ReadOnly}
	if o.Isolation == RepeatableRead {
		m.Isolation = "repeatable read"
	}
	if o.Async {
		s.Set("synchronous_commit", "off", false)
	}
	if err := s.Begin(m); err != nil {
		s.Close()
		return nil, publicError(err, "")
	}
	s.Idle(nil)
	return &Tx{s: newClient(s)}, nil
}

// ErrTxDone is returned by a transaction that was committed or rolled back.
var ErrTxDone = errors.New("hedgerow: transaction has already been committed or rolled back")

// Query runs one Cypher statement in the transaction. The rows must be read or closed before the next statement.
func (tx *Tx) Query(ctx context.Context, cypher string, params Params) (*Rows, error) {
	return tx.query(ctx, cypher, session.Cypher, params, nil)
}

// QuerySQL runs one SQL statement in the transaction.
func (tx *Tx) QuerySQL(ctx context.Context, sql string, args ...any) (*Rows, error) {
	return tx.query(ctx, sql, session.SQL, nil, args)
}

func (tx *Tx) query(ctx context.Context, text string, lang session.Language, params Params, args []any) (*Rows, error) {
	if tx.done {
		return nil, ErrTxDone
	}
	if tx.rows != nil {
		tx.rows.Close()
	}
	rows, err := tx.start(ctx, text, lang, params, args)
	if err != nil {
		return nil, publicError(err, text)
	}
	return rows, nil
}

// start is query with an error as it came.
func (tx *Tx) start(ctx context.Context, text string, lang session.Language, params Params, args []any) (*Rows, error) {
	tx.s.Wake()
	rows, err := start(ctx, tx.s, text, lang, params, args)
	if err != nil {
		tx.s.Fail()
		tx.s.Idle(nil)
		return nil, err
	}
	tx.rows, rows.owner = rows, tx
	return rows, nil
}

// ended is told by the rows of a statement.
func (tx *Tx) ended(_ *Rows, ok bool) error {
	tx.rows = nil
	if !ok {
		tx.s.Fail()
	}
	tx.s.Idle(nil)
	return nil
}

// Exec runs Cypher in the transaction and returns what it changed. The text may hold several statements, separated by semicolons.
func (tx *Tx) Exec(ctx context.Context, cypher string, params Params) (Result, error) {
	var res Result
	if tx.done {
		return res, ErrTxDone
	}
	tx.s.Wake()
	parts, err := tx.s.SplitAs(cypher, session.Cypher)
	if err != nil {
		tx.s.Fail()
		return res, publicError(err, cypher)
	}
	if len(parts) == 0 {
		tx.s.Fail()
		return res, publicError(dberr.New(dberr.Syntax, "there is no statement in the text"), "")
	}
	if tx.rows != nil {
		tx.rows.Close()
	}
	for _, part := range parts {
		rows, err := tx.start(ctx, part.Text, part.Lang, params, nil)
		if err != nil {
			if e := dberr.As(err); e.Pos >= 0 { // its place is in the part
				e.Pos, e.End = e.Pos+part.Offset, e.End+part.Offset
				err = e
			}
			return res, publicError(err, cypher)
		}
		for rows.Next() {
		}
		if err := rows.Close(); err != nil {
			return res, err
		}
		res.add(rows.Result())
	}
	return res, nil
}

// Savepoint marks a point that RollbackTo goes back to. Release forgets it.
func (tx *Tx) Savepoint(ctx context.Context, name string) error {
	if tx.done {
		return ErrTxDone
	}
	tx.s.Wake()
	defer tx.s.Idle(nil)
	return publicError(tx.s.Savepoint(ctx, name), "")
}

// Release forgets a savepoint and keeps what was done since.
func (tx *Tx) Release(ctx context.Context, name string) error {
	if tx.done {
		return ErrTxDone
	}
	tx.s.Wake()
	defer tx.s.Idle(nil)
	return publicError(tx.s.Release(ctx, name), "")
}

// RollbackTo undoes what was done since a savepoint; the transaction goes on, also after an error.
func (tx *Tx) RollbackTo(name string) error {
	if tx.done {
		return ErrTxDone
	}
	tx.s.Wake()
	defer tx.s.Idle(nil)
	return publicError(tx.s.RollbackTo(name), "")
}

// Commit makes the transaction durable and visible.
func (tx *Tx) Commit(ctx context.Context) error {
	if tx.done {
		return ErrTxDone
	}
	if tx.rows != nil {
		tx.rows.Close()
	}
	tx.done = true
	tx.s.Wake()
	defer tx.s.Close()
	undone, err := tx.s.Commit(ctx)
	if err == nil && undone {
		err = dberr.New(dberr.InFailedTransaction, "the transaction had failed and was rolled back")
	}
	return publicError(err, "")
}

// Rollback undoes the transaction. After Commit or Rollback it does nothing, so it may be deferred.
func (tx *Tx) Rollback() error {
	if tx.done {
		return nil
	}
	tx.done = true
	tx.s.Wake()
	tx.s.Rollback()
	tx.s.Close()
	return nil
}

// Update runs f in a transaction and commits it. If it collides with another (SQLSTATE 40001 or 40P01), it is rolled back and f runs again,
// with a growing pause, until ctx ends or it has run ten times; f must therefore do nothing that cannot be repeated.
func (db *DB) Update(ctx context.Context, f func(tx *Tx) error) error {
	return db.run(ctx, TxOptions{}, f)
}

// View runs f in a read-only transaction that sees one state of the database throughout.
func (db *DB) View(ctx context.Context, f func(tx *Tx) error) error {
	return db.run(ctx, TxOptions{ReadOnly: true, Isolation: RepeatableRead}, f)
}

const attempts = 10

func (db *DB) run(ctx context.Context, o TxOptions, f func(tx *Tx) error) error {
	for try := 1; ; try++ {
		err := db.once(ctx, o, f)
		if err == nil || try == attempts || !Retryable(err) {
			return err
		}
		pause := time.Duration(rand.Int64N(int64(time.Millisecond) << min(try, 8)))
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

func (db *DB) once(ctx context.Context, o TxOptions, f func(tx *Tx) error) error {
	tx, err := db.Begin(ctx, o)
	if err != nil {
		return err
	}
	defer tx.Rollback() // also when f panics
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
