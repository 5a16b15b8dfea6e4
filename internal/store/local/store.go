package local

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/access/adjacency"
	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/query/spill"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Options are what the store stands on.
type Options struct {
	Catalog *catalog.Catalog
	Txn     *txn.Manager
	Pool    *buffer.Pool
	Log     *wal.Log
	Counts  *Counts
	// Adjacency is the cache that the catalog's labels use; nil for none.
	Adjacency *adjacency.Cache
	Fate      *invariant.Fate
	Logger    *slog.Logger
	// FS and TempDir are where index builds keep what is beyond SortBytes; without an FS everything stays in memory. Zero SortBytes means 64 MiB.
	FS        vfs.FS
	TempDir   string
	SortBytes int64
	Async     bool // commits do not wait for the log unless a transaction says so
}

// Store is a database on this machine.
type Store struct {
	cat    *catalog.Catalog
	m      *txn.Manager
	pool   *buffer.Pool
	log    *wal.Log
	counts *Counts
	adj    *adjacency.Cache
	fate   *invariant.Fate
	slog   *slog.Logger

	temp      spill.Temp // nil: none
	sortBytes int64      // of an index build

	open     atomic.Int64 // transactions that have not ended
	shut     atomic.Bool
	distinct distincts
	changed  changes
}

// distincts remembers estimates until the label has grown or shrunk by half.
type distincts struct {
	mu sync.Mutex // guards m
	m  map[schema.IndexID]distinctAt
}

type distinctAt struct{ rows, d float64 }

func (s *distincts) get(id schema.IndexID, rows float64) (float64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, ok := s.m[id]
	if !ok || rows > 1.5*x.rows+100 || rows < 0.5*x.rows-100 {
		return 0, false
	}
	return x.d, true
}

func (s *distincts) put(id schema.IndexID, rows, d float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[schema.IndexID]distinctAt{}
	}
	s.m[id] = distinctAt{rows, d}
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.Positioned = (*Store)(nil)
	_ store.Tx         = (*tx)(nil)
	_ store.Stmt       = (*stmt)(nil)
	_ store.Graph      = (*graphView)(nil)
)

// New returns the store over an open database.
func New(o Options) *Store {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{cat: o.Catalog, m: o.Txn, pool: o.Pool, log: o.Log, counts: o.Counts, adj: o.Adjacency, fate: o.Fate, slog: o.Logger, sortBytes: o.SortBytes}
	if s.sortBytes <= 0 {
		s.sortBytes = defaultSortBytes
	}
	if o.FS != nil {
		s.temp = &tempFiles{fs: o.FS, dir: o.TempDir}
	}
	return s
}

// Caps says that command ids and savepoints are there.
func (s *Store) Caps() store.Caps { return store.Caps{CommandIDs: true, Savepoints: true} }

// Position implements store.Positioned: the commit sequence number up to where commits are visible.
func (s *Store) Position() uint64 { return uint64(s.m.PublishedCSN()) }

// CatalogVersion grows with every committed change that may outdate a plan.
func (s *Store) CatalogVersion() uint64 { return s.cat.Epoch() }

// Open returns the number of transactions that have not ended.
func (s *Store) Open() int64 { return s.open.Load() }

// Shut makes every later call fail: the database is being closed. Nothing runs in the background any more when it returns.
func (s *Store) Shut() {
	s.shut.Store(true)
	if s.adj != nil {
		s.adj.Close()
	}
}

// up returns why nothing works any more, or nil.
func (s *Store) up() error {
	if s.shut.Load() {
		return dberr.New(dberr.ShuttingDown, "the database is closed")
	}
	return s.fate.Err()
}

// Begin starts a transaction.
func (s *Store) Begin(ctx context.Context, o store.TxOptions) (store.Tx, error) {
	if err := s.up(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := &tx{s: s, cached: s.adj != nil && !o.NoGraphCache}
	t.t = s.m.BeginInto(&t.own, txn.TxOptions{Isolation: txn.Isolation(o.Isolation), ReadOnly: o.ReadOnly, Async: o.Async, Crit: &t.crit})
	t.deltas = deltas{c: s.counts, tx: t.t, changed: &s.changed}
	s.open.Add(1)
	return t, nil
}
