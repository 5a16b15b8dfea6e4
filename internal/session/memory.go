package session

import (
	"context"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/spill"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// queryMemory is what all statements of a database may hold together.
type queryMemory struct {
	limit int64 // 0: no limit
	used  atomic.Int64
}

// freeShare is what a statement gets whatever the others hold, so that small statements go on beside a big one.
const freeShare = 1 << 20

// leases is what one statement has of it. It implements exec.Budget.
type leases struct {
	q    *queryMemory
	held int64
}

// Lease takes n bytes.
func (l *leases) Lease(n int64) error {
	if used := l.q.used.Add(n); l.q.limit > 0 && used > l.q.limit && l.held+n > freeShare {
		l.q.used.Add(-n)
		return dberr.New(dberr.OutOfMemory, "statements hold %d bytes of memory together, of %d that they may", used-n, l.q.limit).
			WithDetail("This statement holds %d and asked for %d more.", l.held, n).
			WithHint("Try again when others have ended, lower work_mem, or let the server give statements more memory (serve --query-memory-mb).")
	}
	l.held += n
	return nil
}

// Return gives n bytes back.
func (l *leases) Return(n int64) {
	l.q.used.Add(-n)
	l.held -= n
}

// Grow makes leases a spill.Account.
func (l *leases) Grow(n int64) error {
	if n > 0 {
		return l.Lease(n)
	}
	l.Return(-n)
	return nil
}

// QueryMemory returns what all statements hold now.
func (db *Database) QueryMemory() int64 { return db.memory.used.Load() }

// heldRows are rows that are kept until the statement ends: a block in memory, the rest in a temporary file.
type heldRows struct {
	log  spill.Log
	n    int
	body []byte
	row  []value.Value
	at   int
}

func (s *Session) holdRows() *heldRows {
	h := &heldRows{}
	h.log.Init(&spill.Place{Temp: s.db.temp, Share: s.now().workMem, Mem: &leases{q: &s.db.memory}})
	return h
}

// add keeps a copy of a row.
func (h *heldRows) add(row []value.Value) error {
	h.body = h.body[:0]
	for _, v := range row {
		h.body = value.AppendValue(h.body, v)
	}
	h.n++
	return h.log.Add(h.body)
}

// all keeps the rest of a result.
func (h *heldRows) all(ctx context.Context, r rows) error {
	for {
		row, err := r.Next(ctx)
		if row == nil || err != nil {
			return err
		}
		if err := h.add(row); err != nil {
			return err
		}
	}
}

// rewind begins to read; nothing is added afterwards.
func (h *heldRows) rewind() error {
	h.at = 0
	return h.log.Rewind()
}

// Next returns the next row, nil at the end. It is valid until the next call.
func (h *heldRows) Next(context.Context) ([]value.Value, error) {
	if h.at == h.n {
		return nil, nil
	}
	h.at++
	b, _, err := h.log.Next()
	if err != nil {
		return nil, err
	}
	h.row = h.row[:0]
	for len(b) > 0 {
		v, rest, err := value.DecodeValue(b)
		if err != nil {
			return nil, dberr.Wrap(dberr.IOError, err, "a temporary file is damaged")
		}
		h.row, b = append(h.row, v), rest
	}
	if h.row == nil {
		h.row = []value.Value{}
	}
	return h.row, nil
}

// Close is for the readers, who may come again; free ends it.
func (h *heldRows) Close() {}

func (h *heldRows) free() {
	if h != nil {
		h.log.Close()
	}
}
