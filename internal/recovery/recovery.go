// Package recovery brings a database back after a crash (skeleton).
package recovery

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Redoer repeats the changes of one resource manager's records. Redo must be idempotent; Context.Block sees to that for pages.
type Redoer interface {
	Name() string
	Redo(rc *Context, rec *wal.Record) error
}

// Context is what a Redoer works with.
type Context struct {
	Ctx  context.Context
	Pool *buffer.Pool
}

// Block brings block i of the record into memory. apply is true if the record's change must be made: the frame is pinned and
// exclusively latched then, and the caller ends with Done(f, rec). If apply is false, f may still be non-nil (the page has the
// change already, or was restored from an image); call Release(f) then. A page that is gone because a later record drops or truncates it: f is nil.
func (c *Context) Block(rec *wal.Record, i int) (f *buffer.Frame, apply bool, err error) {
	panic("skeleton")
}

// Done sets the page's LSN, marks it dirty, and lets go of latch and pin.
func (c *Context) Done(f *buffer.Frame, rec *wal.Record) { panic("skeleton") }

// Release lets go of latch and pin without a change; nil is allowed.
func (c *Context) Release(f *buffer.Frame) { panic("skeleton") }

// DropRel repeats the drop of a relfile, from a commit or abort record's list.
func (c *Context) DropRel(rec *wal.Record, rel page.RelFile) error { panic("skeleton") }

// Participant has state that a checkpoint carries: transactions, counters, catalog.
type Participant interface {
	Name() string
	// WaitFinal returns when every final record below redo is stored in its status word (A4).
	WaitFinal(ctx context.Context, redo page.LSN) error
	// Checkpoint writes what must be on disk by itself and syncs it, then returns what the checkpoint record shall carry.
	Checkpoint(ctx context.Context, redo page.LSN) ([]byte, error)
	// Restore gets the bytes back before redo begins; nil for a database that never had any.
	Restore(data []byte) error
}
