package recovery

import (
	"context"
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// numberBlock is how many relfile numbers one record reserves (R6).
const numberBlock = 64

// Storage makes, cuts and removes relation files, and logs it.
type Storage struct {
	log  *wal.Log
	pool *buffer.Pool

	mu    sync.Mutex // guards the fields below
	next  page.RelFile
	limit page.RelFile // numbers below it are reserved
}

// NewStorage returns a Storage whose first number is next.
func NewStorage(log *wal.Log, pool *buffer.Pool, next page.RelFile) *Storage {
	next = max(next, 1)
	return &Storage{log: log, pool: pool, next: next, limit: next}
}

// Limit returns the first number that is not reserved: where a restarted database may go on.
func (s *Storage) Limit() page.RelFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limit
}

// allot returns a number that was never used. It is reserved durably, so that a crash cannot bring it back (R6).
func (s *Storage) allot() (page.RelFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == s.limit {
		limit := s.limit + numberBlock
		if limit > page.MaxRelFile {
			return 0, dberr.New(dberr.LimitExceeded, "relation file numbers are used up")
		}
		b := wal.NewBuilder().Begin(wal.RmgrStorage, infoNumbers, 0)
		b.Data(le.AppendUint64(nil, uint64(limit)))
		end, err := s.log.Insert(b)
		if err != nil {
			return 0, err
		}
		if err := s.log.FlushTo(end); err != nil {
			return 0, err
		}
		s.limit = limit
	}
	n := s.next
	s.next++
	return n, nil
}

// Create makes the files of a new relation for the transaction xid. If that does not commit, its abort, or recovery, removes
// them.
func (s *Storage) Create(xid uint64) (page.RelFile, error) {
	rel, err := s.allot()
	if err != nil {
		return 0, err
	}
	if err := s.pool.Create(rel); err != nil {
		return 0, err
	}
	b := wal.NewBuilder().Begin(wal.RmgrStorage, infoCreate, xid)
	b.Data(le.AppendUint64(nil, uint64(rel)))
	_, err = s.log.Insert(b)
	return rel, err
}

// Drop removes a relation's files at once. It logs nothing: the commit or abort record that named them is flushed.
func (s *Storage) Drop(ctx context.Context, rel page.RelFile) error { return s.pool.Drop(ctx, rel) }

// Truncate cuts a fork to the given number of pages, logged and flushed before it is done: pages that are gone cannot explain
// records that are not.
func (s *Storage) Truncate(ctx context.Context, xid uint64, rel page.RelFile, fork page.Fork, blocks page.Block) error {
	b := wal.NewBuilder().Begin(wal.RmgrStorage, infoTruncate, xid)
	d := le.AppendUint64(nil, uint64(rel))
	d = append(d, byte(fork))
	b.Data(le.AppendUint32(d, uint32(blocks)))
	end, err := s.log.Insert(b)
	if err != nil {
		return err
	}
	if err := s.log.FlushTo(end); err != nil {
		return err
	}
	return s.pool.Truncate(ctx, rel, fork, blocks)
}

// RemoveUnnamed removes, and logs that, the files of every relation that named does not know: what transactions left behind that
// did not end, or whose end did not come to the unlinking (B11). It is called at the end of recovery, with the committed catalog.
func (s *Storage) RemoveUnnamed(ctx context.Context, named func(page.RelFile) bool) ([]page.RelFile, error) {
	all, err := s.pool.Relations()
	if err != nil {
		return nil, err
	}
	var gone []page.RelFile
	for _, rel := range all {
		if !named(rel) {
			gone = append(gone, rel)
		}
	}
	for rest := gone; len(rest) > 0; {
		part := rest[:min(len(rest), 1000)]
		rest = rest[len(part):]
		b := wal.NewBuilder().Begin(wal.RmgrStorage, infoDrop, 0)
		for _, rel := range part {
			b.Data(le.AppendUint64(nil, uint64(rel)))
		}
		end, err := s.log.Insert(b)
		if err != nil {
			return gone, err
		}
		if err := s.log.FlushTo(end); err != nil {
			return gone, err
		}
		for _, rel := range part {
			if err := s.pool.Drop(ctx, rel); err != nil {
				return gone, err
			}
			if err := s.pool.RemoveStray(rel); err != nil {
				return gone, err
			}
		}
	}
	return gone, nil
}

// storageRedo repeats the records of this file.
type storageRedo struct{ next *page.RelFile }

func (storageRedo) Name() string { return "storage" }

func (r storageRedo) Redo(c *Context, rec *wal.Record) error {
	d := rec.Data
	short := func(n int) error {
		return dberr.New(dberr.DataCorrupted, "storage record at %v has %d bytes, needs %d", rec.Start, len(d), n)
	}
	switch rec.Info {
	case infoCheckpoint:
		return nil // the one to begin with was read before redo
	case infoNumbers:
		if len(d) != 8 {
			return short(8)
		}
		*r.next = max(*r.next, page.RelFile(le.Uint64(d)))
		return nil
	case infoCreate:
		if len(d) != 8 {
			return short(8)
		}
		rel := page.RelFile(le.Uint64(d))
		*r.next = max(*r.next, rel+1)
		return c.Pool.Create(rel)
	case infoDrop:
		for ; len(d) >= 8; d = d[8:] {
			if err := c.DropRel(rec, page.RelFile(le.Uint64(d))); err != nil {
				return err
			}
		}
		return nil
	case infoTruncate:
		if len(d) != 13 {
			return short(13)
		}
		rel, fork, blocks := page.RelFile(le.Uint64(d)), page.Fork(d[8]), page.Block(le.Uint32(d[9:]))
		if fork >= page.NumFork {
			return dberr.New(dberr.DataCorrupted, "storage record at %v names fork %d", rec.Start, fork)
		}
		c.forget(rel, func(id page.ID) bool { return id.Fork == fork && id.Block >= blocks })
		return c.Pool.Truncate(c.Ctx, rel, fork, blocks)
	}
	return dberr.New(dberr.DataCorrupted, "storage record at %v has unknown kind %d", rec.Start, rec.Info)
}
