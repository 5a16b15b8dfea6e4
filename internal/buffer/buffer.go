// Package buffer keeps pages in memory (skeleton).
package buffer

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// LogFlusher is all that the pool wants of the log.
type LogFlusher interface {
	// FlushTo returns when everything up to lsn is durable.
	FlushTo(lsn page.LSN) error
	// FlushedLSN returns how far the log is durable.
	FlushedLSN() page.LSN
}

// Options configure a Pool.
type Options struct {
	FS            vfs.FS
	Dir           string     // the directory base/
	Frames        int        // number of pages kept; zero means 16,384 (128 MiB)
	SegmentBlocks page.Block // pages in one file; zero means 131,072 (1 GiB)
	Log           LogFlusher // may be set later by SetLog
	Fate          *invariant.Fate
}

// Pool is the page cache.
type Pool struct{}

// Frame is a page in memory. A *Frame returned pinned stays what it is until Unpin.
type Frame struct{}

func New(o Options) (*Pool, error)                                  { panic("skeleton") }
func (p *Pool) Close() error                                        { panic("skeleton") }
func (p *Pool) SetLog(l LogFlusher)                                 { panic("skeleton") }
func (p *Pool) Pin(ctx context.Context, id page.ID) (*Frame, error) { panic("skeleton") }
func (p *Pool) Extend(ctx context.Context, rel page.RelFile, f page.Fork) (*Frame, error) {
	panic("skeleton")
}
func (p *Pool) Size(rel page.RelFile, f page.Fork) (page.Block, error) { panic("skeleton") }
func (p *Pool) Exists(rel page.RelFile) (bool, error)                  { panic("skeleton") }
func (p *Pool) Create(rel page.RelFile) error                          { panic("skeleton") }
func (p *Pool) Truncate(ctx context.Context, rel page.RelFile, f page.Fork, blocks page.Block) error {
	panic("skeleton")
}
func (p *Pool) Drop(ctx context.Context, rel page.RelFile) error { panic("skeleton") }
func (p *Pool) FlushAll(ctx context.Context) error               { panic("skeleton") }

func (f *Frame) ID() page.ID     { panic("skeleton") }
func (f *Frame) Page() page.Page { panic("skeleton") }
func (f *Frame) Lock()           { panic("skeleton") }
func (f *Frame) TryLock() bool   { panic("skeleton") }
func (f *Frame) Unlock()         { panic("skeleton") }
func (f *Frame) RLock()          { panic("skeleton") }
func (f *Frame) RUnlock()        { panic("skeleton") }
func (f *Frame) SXLock()         { panic("skeleton") }
func (f *Frame) TrySXLock() bool { panic("skeleton") }
func (f *Frame) SXUnlock()       { panic("skeleton") }

// TryUpgrade turns the caller's own shared latch into share-exclusive if nobody else has it; hint bits use it.
func (f *Frame) TryUpgrade() bool { panic("skeleton") }

// Downgrade turns share-exclusive into shared.
func (f *Frame) Downgrade() { panic("skeleton") }

// TryCleanup takes the exclusive latch if the caller's is the only pin.
func (f *Frame) TryCleanup() bool { panic("skeleton") }

// LockCleanup waits for the exclusive latch with the caller's pin as the only one (vacuum).
func (f *Frame) LockCleanup(ctx context.Context) error { panic("skeleton") }
func (f *Frame) MarkDirty()                            { panic("skeleton") }
func (f *Frame) MarkHintDirty()                        { panic("skeleton") }
func (f *Frame) Unpin()                                { panic("skeleton") }
