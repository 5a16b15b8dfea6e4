package catalog

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/recovery"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// SeqID names a sequence.
type SeqID uint32

// The catalog's own sequences; those of graphs and labels begin at firstSeq.
const (
	seqSeq   SeqID = 1
	seqGraph SeqID = 2
	seqIndex SeqID = 3
	seqRow   SeqID = 4
	firstSeq SeqID = 16
)

// Blocks in which numbers are reserved in the log (rules B8). What a crash leaves of a block is lost.
const (
	entryBlock = 256
	rowBlock   = 64
)

// Sequence gives out numbers, each once (C5).
type Sequence struct {
	id    SeqID
	block uint64
	set   *Sequences

	mu    sync.Mutex // guards the fields below; held while the log takes a record, never over a wait
	next  uint64
	limit uint64 // numbers below it are reserved in the log
}

// Sequences are all sequences of a database. They are a participant of checkpoints and redo their own records.
type Sequences struct {
	mu  sync.Mutex // guards the map, and before Sequence.mu in the lock order
	all map[SeqID]*Sequence

	log *wal.Log // set once recovery is over
}

var (
	_ recovery.Participant = (*Sequences)(nil)
	_ recovery.Redoer      = (*Sequences)(nil)
)

// NewSequences returns an empty set, to be filled by Restore and Redo.
func NewSequences() *Sequences { return &Sequences{all: map[SeqID]*Sequence{}} }

func (s *Sequences) get(id SeqID, first, block uint64) *Sequence {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.all[id]
	if q == nil {
		q = &Sequence{id: id, set: s, next: first, limit: first}
		s.all[id] = q
	}
	q.block = block
	if q.next < first {
		q.next, q.limit = first, max(q.limit, first)
	}
	return q
}

// raise is what redo does: everything below limit may have been used.
func (s *Sequences) raise(id SeqID, limit uint64) {
	q := s.get(id, 0, 1)
	q.mu.Lock()
	defer q.mu.Unlock()
	if limit > q.limit {
		q.next, q.limit = limit, limit
	}
}

// Take reserves n numbers and returns the first.
func (q *Sequence) Take(n uint64) (uint64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := q.next
	if err := q.reserveLocked(first + n); err != nil {
		return 0, err
	}
	q.next = first + n
	return first, nil
}

// Advance makes the sequence go on behind a number that was chosen by somebody else (rules B8).
func (q *Sequence) Advance(used uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if used < q.next {
		return nil
	}
	if err := q.reserveLocked(used + 1); err != nil {
		return err
	}
	q.next = used + 1
	return nil
}

func (q *Sequence) reserveLocked(end uint64) error {
	if end <= q.limit {
		return nil
	}
	limit := end
	if r := (end - q.limit) % q.block; r != 0 {
		limit += q.block - r
	}
	if limit >= 1<<48 {
		return dberr.New(dberr.LimitExceeded, "sequence is exhausted")
	}
	b := wal.NewBuilder().Begin(wal.RmgrSequence, 0, 0)
	var d [12]byte
	binary.LittleEndian.PutUint32(d[:], uint32(q.id))
	binary.LittleEndian.PutUint64(d[4:], limit)
	b.Data(d[:])
	if _, err := q.set.log.Insert(b); err != nil {
		return err
	}
	q.limit = limit
	return nil
}

// Name is for messages.
func (s *Sequences) Name() string { return "sequence" }

// Redo repeats a reservation.
func (s *Sequences) Redo(_ *recovery.Context, rec *wal.Record) error {
	if len(rec.Data) != 12 {
		return dberr.New(dberr.DataCorrupted, "sequence record at %s is malformed", rec.LSN)
	}
	s.raise(SeqID(binary.LittleEndian.Uint32(rec.Data)), binary.LittleEndian.Uint64(rec.Data[4:]))
	return nil
}

// WaitFinal has nothing to wait for: a limit counts as soon as it is logged.
func (s *Sequences) WaitFinal(context.Context, page.LSN) error { return nil }

// Checkpoint returns the limits. Whatever was logged before redo is in them, since a limit moves under the lock under which it is logged.
func (s *Sequences) Checkpoint(context.Context, page.LSN) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(s.all)))
	for id, q := range s.all {
		q.mu.Lock()
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
		b = binary.LittleEndian.AppendUint64(b, q.limit)
		q.mu.Unlock()
	}
	return b, nil
}

// Restore reads what Checkpoint wrote.
func (s *Sequences) Restore(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	d := decoder{b: b}
	for n := d.u32(); n > 0 && !d.bad; n-- {
		id := SeqID(d.u32())
		s.raise(id, d.u64())
	}
	return d.done("the sequences")
}
