// Package wal is the log (skeleton).
package wal

import (
	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/page"
)

// Rmgr says whose record it is.
type Rmgr uint8

// The resource managers. Numbers are part of the format and never change their meaning.
const (
	RmgrLog      Rmgr = iota // the log itself: flush watermarks, checkpoints, padding
	RmgrXact                 // commit, abort, continuation records, xid assignments
	RmgrStorage              // relfiles: create, drop, truncate, number blocks
	RmgrHeap                 // heap: insert, update, delete, lock, prune, visibility map
	RmgrBTree                // B-tree
	RmgrCatalog              // catalog: tokens, relation map
	RmgrSequence             // sequences
	RmgrGIN                  // reserved
	RmgrEngine               // engine: counters and the like
	NumRmgr
)

// BlockFlags say how a block of a record is treated.
type BlockFlags uint8

const (
	WillInit   BlockFlags = 1 << iota // redo makes the page anew; no image is ever taken
	Standard                          // the page has slots: its hole may be left out of an image
	NoImage                           // never take an image
	ForceImage                        // take an image always; the image is the redo
	KeepData                          // keep the block's data in the record also when it has an image
)

// Builder puts one record together; it is reused. It belongs to one goroutine.
type Builder struct{}

// Log is the write end of the log.
type Log struct{}

func NewBuilder() *Builder { panic("skeleton") }

// Begin starts a record; xid 0 for records that belong to no transaction.
func (b *Builder) Begin(rm Rmgr, info uint8, xid uint64) *Builder { panic("skeleton") }

// Block registers a pinned, exclusively latched page that the record changes; it returns the block's index.
func (b *Builder) Block(f *buffer.Frame, flags BlockFlags) int { panic("skeleton") }

// BlockData appends to the data of block i, which is left out of the record when an image of the page is taken.
func (b *Builder) BlockData(i int, data ...[]byte) { panic("skeleton") }

// Data appends to the record's own data.
func (b *Builder) Data(data ...[]byte) { panic("skeleton") }

// Insert appends the record and sets the LSN of its pages; to be called inside a critical section.
func (l *Log) Insert(b *Builder) (end page.LSN, err error) { panic("skeleton") }

// InsertWith is Insert that calls hook with the record's LSN under the insert lock (A2).
func (l *Log) InsertWith(b *Builder, hook func(end page.LSN)) (end page.LSN, err error) {
	panic("skeleton")
}

// FlushTo returns when everything up to lsn is durable.
func (l *Log) FlushTo(lsn page.LSN) error { panic("skeleton") }

// FlushedLSN returns how far the log is durable.
func (l *Log) FlushedLSN() page.LSN { panic("skeleton") }

// InsertedLSN returns the end of the last record inserted.
func (l *Log) InsertedLSN() page.LSN { panic("skeleton") }

// OnFlush sets what is called with the new flushedLSN after each flush, before those who waited for it go on (A2).
func (l *Log) OnFlush(f func(flushed page.LSN)) { panic("skeleton") }

// RequestFlush asks for a flush soon, without waiting: for asynchronous commits.
func (l *Log) RequestFlush() { panic("skeleton") }

// Record is a decoded record. Its slices point into the reader's buffer and live until the next call of Next.
type Record struct {
	Start  page.LSN // where it begins
	LSN    page.LSN // its name: where it ends (A1)
	XID    uint64
	Rmgr   Rmgr
	Info   uint8
	Blocks []BlockRef
	Data   []byte
}

// BlockRef is a block of a decoded record.
type BlockRef struct {
	ID    page.ID
	Flags BlockFlags
	Data  []byte // nil if an image stands for it
	// HasImage says that the record carries the page itself.
	HasImage bool
}
