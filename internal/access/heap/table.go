package heap

import (
	"context"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Log is what the heap wants of the write-ahead log.
type Log interface {
	Insert(b *wal.Builder) (page.LSN, error)
	RedoLSN() page.LSN
}

var _ Log = (*wal.Log)(nil)

// Options open a [Table].
type Options struct {
	Pool *buffer.Pool
	Log  Log
	Txns *txn.Manager
	File page.RelFile
	// Relation is what row locks are keyed by; it stays when the file is replaced.
	Relation uint64
	// NoIndexes says that no index points into the table: dead line pointers are free at once (H3).
	NoIndexes bool
	// FillPercent is how full inserts make a page; the rest is for heap-only updates. Zero means 90.
	FillPercent int
}

// Counters say what a table did since it was opened.
type Counters struct {
	Inserts, Updates, HotUpdates, Deletes atomic.Int64
	PagesPinned, PagesExtended            atomic.Int64
	Prunes, PrunedVersions                atomic.Int64
	RowWaits                              atomic.Int64
	AllVisibleSet, AllVisibleCleared      atomic.Int64
	FSMSearches, FSMWrong, FSMBad         atomic.Int64
}

const insertSlots = 16

// Table is the rows of one relfile. It may be used by any number of goroutines.
type Table struct {
	o        Options
	reserve  int // bytes of a page that inserts leave free
	slots    [insertSlots]insertSlot
	small    [smallTable]atomic.Uint32 // free space of a table without a map: category + 1, or 0 for unknown
	chunkIDs atomic.Uint64
	counters Counters
}

// insertSlot is where a session inserts at present: block + 1, or 0.
type insertSlot struct {
	block atomic.Uint64
	_     [56]byte
}

// Open returns a table over a relfile that exists.
func Open(o Options) *Table {
	if o.FillPercent == 0 {
		o.FillPercent = 90
	}
	return &Table{o: o, reserve: page.Size * (100 - o.FillPercent) / 100}
}

// File returns the relfile.
func (t *Table) File() page.RelFile { return t.o.File }

// Relation returns what row locks are keyed by.
func (t *Table) Relation() uint64 { return t.o.Relation }

// Counters returns the table's counters.
func (t *Table) Counters() *Counters { return &t.counters }

// Blocks returns the number of pages.
func (t *Table) Blocks() (page.Block, error) { return t.o.Pool.Size(t.o.File, page.Main) }

func (t *Table) pin(ctx context.Context, b page.Block) (*buffer.Frame, error) {
	t.counters.PagesPinned.Add(1)
	return t.o.Pool.Pin(ctx, page.ID{Rel: t.o.File, Fork: page.Main, Block: b})
}

// lockID is what the row lock is keyed by: the id, or the root for rows without one (rules B2).
func lockID(id uint64, root page.TID) uint64 {
	if id != 0 {
		return id
	}
	return uint64(root)
}

// flagAllVisible in the page's flags: every snapshot sees every version on it (H4).
const flagAllVisible = 1

// markPrunable notes that the end of x may make something on the page prunable.
func markPrunable(p page.Page, x txn.XID) {
	if o := p.PruneXID(); o == 0 || uint64(x) < o {
		p.SetPruneXID(uint64(x))
	}
}

func crit(s *txn.Snapshot) *invariant.Crit {
	if tx := s.Tx(); tx != nil {
		return tx.Crit()
	}
	return nil
}
