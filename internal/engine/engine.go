package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/access/adjacency"
	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/check"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/recovery"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/store/local"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Options open a database. The zero value of each field works; without a Dir and an FS the database is in memory.
type Options struct {
	Dir string
	FS  vfs.FS // nil means the operating system's, or memory without a Dir

	CacheBytes int64 // page cache; zero means a quarter of memory
	// GraphCacheBytes is the memory for neighbourhoods and places of rows; zero means half of CacheBytes, less that nothing is kept.
	GraphCacheBytes int64
	// GraphCache has other limits of that memory than the usual ones; its Txns, Bytes, Workers and Logger are not looked at.
	GraphCache adjacency.Options

	CheckpointInterval time.Duration // zero means five minutes, negative none
	CheckpointBytes    int64         // log written since the last checkpoint that starts one; zero means 1 GiB
	LogSegmentBytes    int64         // of a new database; zero means 64 MiB
	FileBlocks         uint32        // pages in a data file of a new database; zero means 1 GiB's worth

	LockTimeout time.Duration // of lock waits; zero means none

	IndexSortBytes int64 // what an index build keeps in memory before it moves to temporary files; zero means 64 MiB

	// AnalyzeInterval is how often statistics that are old are looked for; zero means 10 s, less that nobody does.
	AnalyzeInterval time.Duration

	// OnFatal is called once when a failing disk has stopped the database; it may end the process.
	OnFatal func(error)
	Logger  *slog.Logger

	// Steps makes every background task wait for a call: tests and crash harnesses want nothing to run by itself.
	Steps bool
}

// DB is an open database.
type DB struct {
	o      Options
	fs     vfs.FS
	dir    string
	log    *slog.Logger
	lock   io.Closer
	fate   *invariant.Fate
	pool   *buffer.Pool
	wal    *wal.Log
	txns   *txn.Manager
	cat    *catalog.Catalog
	counts *local.Counts
	adj    *adjacency.Cache // nil: off
	store  *local.Store
	cp     *recovery.Checkpointer

	stop    context.CancelFunc
	tasks   sync.WaitGroup
	closing atomic.Bool
	// keepPool leaves the page cache open at the end.
	keepPool bool

	checkpoints atomic.Int64
	recovered   recovery.Result
}

// Open opens the database in o.Dir and makes it if there is none.
func Open(ctx context.Context, o Options) (db *DB, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	inMemory := o.Dir == "" && o.FS == nil
	if inMemory {
		o.FS, o.Dir = vfs.NewMem(), "/memory"
	}
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.CheckpointInterval == 0 {
		o.CheckpointInterval = 5 * time.Minute
	}
	if o.CheckpointBytes == 0 {
		o.CheckpointBytes = 1 << 30
		if inMemory {
			o.CheckpointBytes = 64 << 20 // the log is memory too
		}
	}
	if inMemory && o.LogSegmentBytes == 0 {
		o.LogSegmentBytes = 4 << 20
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCache()
	}
	if o.GraphCacheBytes == 0 {
		o.GraphCacheBytes = o.CacheBytes / 2
	}
	db = &DB{o: o, fs: o.FS, dir: o.Dir, log: o.Logger, fate: &invariant.Fate{OnFatal: o.OnFatal}}
	if err := db.fs.MkdirAll(db.dir); err != nil {
		return nil, dberr.Wrap(dberr.IOError, err, "cannot make directory %s", db.dir)
	}
	// Before the lock: a directory that was named by mistake is left as it was.
	if err := recovery.Refuse(db.fs, db.dir); err != nil {
		return nil, err
	}
	if err := db.takeLock(); err != nil {
		return nil, err
	}
	made := db // a return of nil clears db before the deferred function runs
	defer func() {
		if err != nil {
			made.abandon()
		}
	}()
	there, err := recovery.Exists(db.fs, db.dir)
	if err != nil {
		return nil, err
	}
	if !there {
		if err := db.create(ctx); err != nil {
			return nil, fmt.Errorf("make a database in %s: %w", db.dir, err)
		}
	}
	if err := db.open(ctx); err != nil {
		return nil, err
	}
	db.start()
	return db, nil
}

// takeLock makes the directory ours.
func (db *DB) takeLock() error {
	host, _ := os.Hostname()
	me := fmt.Sprintf("pid %d on %s since %s", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	l, err := db.fs.Lock(vfs.Join(db.dir, "LOCK"), []byte(me))
	var held *vfs.LockedError
	switch {
	case errors.As(err, &held):
		return dberr.New(dberr.FileInUse, "database %s is in use by %s", db.dir, strings.TrimSpace(string(held.Holder))).
			WithHint("A database belongs to one process at a time. Connect to that one, or stop it.")
	case err != nil:
		return dberr.Wrap(dberr.IOError, err, "cannot lock %s", db.dir)
	}
	db.lock = l
	return nil
}

func (db *DB) frames() int { return max(64, int(db.o.CacheBytes/page.Size)) }

// create builds a database in DIR/.init and moves it to its place (rules B12).
func (db *DB) create(ctx context.Context) error {
	dir, err := recovery.BeginInit(db.fs, db.dir)
	if err != nil {
		return err
	}
	c := recovery.Control{LogSegment: uint32(db.o.LogSegmentBytes), SegmentBlocks: page.Block(db.o.FileBlocks), Timeline: 1}
	if c.LogSegment == 0 {
		c.LogSegment = wal.DefaultSegmentSize
	}
	if c.SegmentBlocks == 0 {
		c.SegmentBlocks = 1 << 30 / page.Size
	}
	if _, err := rand.Read(c.DatabaseID[:]); err != nil {
		return err
	}
	lo := c.LogOptions(db.fs, dir)
	lo.Inline, lo.Fate = true, db.fate
	log, err := wal.Create(lo)
	if err != nil {
		return err
	}
	defer log.Close()
	pool, err := buffer.New(buffer.Options{FS: db.fs, Dir: vfs.Join(dir, "base"), Frames: 256, SegmentBlocks: c.SegmentBlocks, Log: log, Fate: db.fate})
	if err != nil {
		return err
	}
	defer pool.Close()
	m := txn.New(txn.Options{FS: db.fs, Dir: vfs.Join(dir, "xact"), Fate: db.fate, DropFile: pool.Drop})
	if err := m.Start(log); err != nil {
		return err
	}
	storage := recovery.NewStorage(log, pool, 1)
	seqs, counts := catalog.NewSequences(), local.NewCounts()
	if _, err := catalog.Create(ctx, catalog.Options{Txn: m, Pool: pool, Log: log, Sequences: seqs, Storage: storage, Logger: db.log}); err != nil {
		return err
	}
	cp := recovery.NewCheckpointer(recovery.CheckpointerOptions{FS: db.fs, Dir: dir, Pool: pool, Log: log, Storage: storage,
		Participants: []recovery.Participant{m, seqs, counts}, Fate: db.fate, Control: c})
	if _, err := cp.Run(ctx, recovery.Shutdown, nil); err != nil {
		return err
	}
	if err := pool.Close(); err != nil {
		return err
	}
	if err := log.Close(); err != nil {
		return err
	}
	return recovery.EndInit(db.fs, db.dir)
}

// open recovers the database and joins its parts.
func (db *DB) open(ctx context.Context) error {
	control, _, err := recovery.ReadControl(db.fs, db.dir)
	if err != nil {
		return err
	}
	db.pool, err = buffer.New(buffer.Options{FS: db.fs, Dir: vfs.Join(db.dir, "base"), Frames: db.frames(), SegmentBlocks: control.SegmentBlocks, Fate: db.fate})
	if err != nil {
		return err
	}
	db.txns = txn.New(txn.Options{FS: db.fs, Dir: vfs.Join(db.dir, "xact"), Fate: db.fate, LockTimeout: db.o.LockTimeout, DropFile: db.pool.Drop})
	seqs := catalog.NewSequences()
	db.counts = local.NewCounts()
	db.txns.OnRedo(local.PayloadCounts, db.counts.Redo)
	participants := []recovery.Participant{db.txns, seqs, db.counts}
	res, err := recovery.Recover(ctx, recovery.Options{FS: db.fs, Dir: db.dir, Pool: db.pool, Participants: participants,
		Redoers: map[wal.Rmgr]recovery.Redoer{
			wal.RmgrXact:     db.txns,
			wal.RmgrHeap:     heap.Redoer{},
			wal.RmgrBTree:    btree.Redoer{},
			wal.RmgrSequence: seqs,
		}})
	if err != nil {
		return fmt.Errorf("recover %s: %w", db.dir, err)
	}
	db.recovered = *res
	lo := res.Control.LogOptions(db.fs, db.dir)
	lo.Fate, lo.Inline = db.fate, db.o.Steps
	if db.wal, err = wal.Open(lo, res.End, res.Prev); err != nil {
		return err
	}
	db.pool.SetLog(db.wal)
	if err := db.txns.Start(db.wal); err != nil {
		return err
	}
	storage := recovery.NewStorage(db.wal, db.pool, res.NextRelFile)
	db.cp = recovery.NewCheckpointer(recovery.CheckpointerOptions{FS: db.fs, Dir: db.dir, Pool: db.pool, Log: db.wal, Storage: storage,
		Participants: participants, Fate: db.fate, Control: res.Control})
	if db.o.GraphCacheBytes > 0 {
		workers := max(1, runtime.GOMAXPROCS(0)/2)
		if db.o.Steps {
			workers = 0
		}
		o := db.o.GraphCache
		o.Txns, o.Bytes, o.Workers, o.Logger = db.txns, db.o.GraphCacheBytes, workers, db.log
		db.adj = adjacency.New(o)
	}
	db.cat, err = catalog.Open(ctx, catalog.Options{Txn: db.txns, Pool: db.pool, Log: db.wal, Sequences: seqs, Storage: storage,
		Adjacency: db.adj, Logger: db.log})
	if err != nil {
		return fmt.Errorf("read the catalog: %w", err)
	}
	// B11: nobody can be told of files that no row names.
	named := db.cat.Files()
	gone, err := storage.RemoveUnnamed(ctx, func(rel page.RelFile) bool { return named[rel] != "" })
	if err != nil {
		return err
	}
	if err := db.cat.Purge(ctx); err != nil {
		return fmt.Errorf("purge the catalog: %w", err)
	}
	if !res.Clean {
		if _, err := db.cp.Run(ctx, recovery.EndOfRecovery, nil); err != nil {
			return err
		}
		db.log.LogAttrs(ctx, slog.LevelInfo, "recovered", slog.String("dir", db.dir), slog.Int("records", res.Records),
			slog.Int("files_removed", len(gone)), slog.Duration("took", res.Took))
	}
	temp := vfs.Join(db.dir, "tmp")
	if err := emptyTemp(db.fs, temp); err != nil {
		return err
	}
	db.store = local.New(local.Options{FS: db.fs, TempDir: temp, SortBytes: db.o.IndexSortBytes, Catalog: db.cat, Txn: db.txns, Pool: db.pool, Log: db.wal, Counts: db.counts,
		Adjacency: db.adj, Fate: db.fate, Logger: db.log})
	return nil
}

// emptyTemp removes the temporary files that a crash has left.
func emptyTemp(fs vfs.FS, dir string) error {
	if err := fs.MkdirAll(dir); err != nil {
		return dberr.Wrap(dberr.IOError, err, "cannot make %s", dir)
	}
	left, err := fs.List(dir)
	if err != nil {
		return dberr.Wrap(dberr.IOError, err, "cannot list %s", dir)
	}
	for _, f := range left {
		if f.Dir || !strings.HasSuffix(f.Name, ".tmp") {
			continue
		}
		if err := fs.Remove(vfs.Join(dir, f.Name)); err != nil {
			return dberr.Wrap(dberr.IOError, err, "cannot remove the temporary file %s", f.Name)
		}
	}
	return nil
}

// Store returns the database as queries see it.
func (db *DB) Store() store.Store { return db.store }

// Fate tells whether a failing disk has stopped the database.
func (db *DB) Fate() *invariant.Fate { return db.fate }

// Dir returns the directory.
func (db *DB) Dir() string { return db.dir }

// Recovered says what Open had to do again.
func (db *DB) Recovered() (records int, clean bool) { return db.recovered.Records, db.recovered.Clean }

// grace is how long Close waits for transactions to end by themselves.
const grace = 2 * time.Second

// Close refuses new work, waits a little for transactions that are open (what is left is rolled back by the next Open), makes a
// checkpoint and gives the directory back.
func (db *DB) Close(ctx context.Context) error {
	if !db.closing.CompareAndSwap(false, true) {
		return nil
	}
	db.store.Shut()
	for end := time.Now().Add(grace); db.store.Open() > 0 && ctx.Err() == nil && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	if db.stop != nil {
		db.stop()
		db.tasks.Wait()
	}
	var errs []error
	left := db.store.Open()
	if db.fate.Err() == nil {
		kind := recovery.Shutdown
		if left > 0 {
			kind = recovery.Online // what they wrote has no commit record
		}
		if _, err := db.cp.Run(context.WithoutCancel(ctx), kind, nil); err != nil {
			errs = append(errs, fmt.Errorf("checkpoint at the end: %w", err))
		}
	} else {
		errs = append(errs, db.fate.Err())
	}
	if left > 0 {
		// Somebody may still look at a page: the cache stays until the process ends.
		db.log.LogAttrs(ctx, slog.LevelWarn, "closed with open transactions", slog.Int64("transactions", left))
		db.keepPool = true
	}
	if err := db.release(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// abandon gives everything back after Open has failed.
func (db *DB) abandon() { _ = db.release() }

func (db *DB) release() error {
	var errs []error
	if db.wal != nil {
		errs = append(errs, db.wal.Close())
	}
	if db.pool != nil && !db.keepPool {
		errs = append(errs, db.pool.Close())
	}
	if db.lock != nil {
		errs = append(errs, db.lock.Close())
		db.lock = nil
	}
	return errors.Join(errs...)
}

// Check looks through the database for faults. Nobody may write meanwhile.
func (db *DB) Check(ctx context.Context, o check.Options) (*check.Report, error) {
	src, done, err := db.store.CheckSource(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	r := check.NewReport(o)
	if err := r.Database(ctx, db.pool, db.txns, src); err != nil {
		return r, err
	}
	return r, nil
}

// Stats are counters since Open, for metrics and tests.
type Stats struct {
	Pool        buffer.Stats
	Log         wal.Stats
	Txn         txn.Stats
	Checkpoints int64
}

// Stats returns the counters.
func (db *DB) Stats() Stats {
	return Stats{Pool: db.pool.Stats(), Log: db.wal.Stats(), Txn: db.txns.Stats(), Checkpoints: db.checkpoints.Load()}
}

// Adjacency returns the cache of neighbourhoods, nil if there is none.
func (db *DB) Adjacency() *adjacency.Cache { return db.adj }

// Pool returns the page cache, for checks and tests.
func (db *DB) Pool() *buffer.Pool { return db.pool }
