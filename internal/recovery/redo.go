package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Redoer repeats the changes of one resource manager's records. It must be idempotent (R4): for pages Context.Block sees to that.
type Redoer interface {
	Name() string
	Redo(c *Context, rec *wal.Record) error
}

// Context is what a Redoer works with.
type Context struct {
	Ctx  context.Context
	Pool *buffer.Pool

	missing map[page.ID]missed // pages that records asked for in vain, and have not got since (R5)
}

// missed is the first record that found a page missing or damaged.
type missed struct {
	at  page.LSN
	err error // what was wrong with the page; nil: it was not there
}

// NewContext returns a Context for redo outside of Recover, as tests do.
func NewContext(ctx context.Context, pool *buffer.Pool) *Context {
	return &Context{Ctx: ctx, Pool: pool, missing: map[page.ID]missed{}}
}

// Block brings page i of the record into memory, pinned and exclusively latched.
//
// apply is true if the record's change must be made on it; then the caller ends with Done. If apply is false the page has the
// change already, or got it from an image; then the caller may look at it and ends with Release. f is nil if the page is not
// there: a later record must explain that (R5), or bring the whole page, and this one has nothing to do; Release(nil) is allowed.
func (c *Context) Block(rec *wal.Record, i int) (f *buffer.Frame, apply bool, err error) {
	if i >= len(rec.Blocks) {
		return nil, false, dberr.New(dberr.DataCorrupted, "%v record at %v has %d blocks, needs %d", rec.Rmgr, rec.Start, len(rec.Blocks), i+1)
	}
	br := &rec.Blocks[i]
	ok, err := c.Pool.Exists(br.ID.Rel)
	if err != nil {
		return nil, false, err
	}
	if !ok {
		c.miss(br.ID, rec.Start, nil)
		return nil, false, nil
	}
	if br.HasImage || br.Flags&wal.WillInit != 0 {
		f, err := c.Pool.PinZero(c.Ctx, br.ID)
		if err != nil {
			return nil, false, err
		}
		delete(c.missing, br.ID)
		if f.Page().LSN() >= rec.LSN {
			return f, false, nil
		}
		if !br.HasImage {
			return f, true, nil
		}
		if err := br.Restore(f.Page()); err != nil {
			c.Release(f)
			return nil, false, err
		}
		f.Page().SetLSN(rec.LSN)
		f.MarkDirty()
		if err := f.Page().VerifyHeader(br.ID); err != nil {
			c.Release(f)
			return nil, false, dberr.Wrap(dberr.DataCorrupted, err, "the image in the log record at %v is damaged", rec.Start)
		}
		return f, false, nil
	}
	f, err = c.Pool.Pin(c.Ctx, br.ID)
	if errors.Is(err, buffer.ErrNoBlock) {
		c.miss(br.ID, rec.Start, nil)
		return nil, false, nil
	}
	if dberr.Is(err, dberr.DataCorrupted) {
		// Where redo begins before the checkpoint's own place (A6), a page may have been torn after it; then its image follows.
		c.miss(br.ID, rec.Start, err)
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	f.Lock()
	if f.Page().IsNew() {
		c.Release(f)
		c.miss(br.ID, rec.Start, nil)
		return nil, false, nil
	}
	return f, f.Page().LSN() < rec.LSN, nil
}

// Done gives the page the record's LSN, marks it dirty, and lets go of latch and pin.
func (c *Context) Done(f *buffer.Frame, rec *wal.Record) {
	f.Page().SetLSN(rec.LSN)
	f.MarkDirty()
	c.Release(f)
}

// Release lets go of latch and pin of a page that was not changed; nil is allowed.
func (c *Context) Release(f *buffer.Frame) {
	if f != nil {
		f.Unlock()
		f.Unpin()
	}
}

// DropRel removes a relation's files, as the list in a commit or abort record says. Doing it again does no harm.
func (c *Context) DropRel(_ *wal.Record, rel page.RelFile) error {
	c.forget(rel, func(page.ID) bool { return true })
	if err := c.Pool.Drop(c.Ctx, rel); err != nil {
		return err
	}
	return c.Pool.RemoveStray(rel)
}

func (c *Context) miss(id page.ID, at page.LSN, err error) {
	if _, ok := c.missing[id]; !ok {
		c.missing[id] = missed{at, err}
	}
}

func (c *Context) forget(rel page.RelFile, which func(page.ID) bool) {
	for id := range c.missing {
		if id.Rel == rel && which(id) {
			delete(c.missing, id)
		}
	}
}

// unexplained returns an error if a page stayed missing (R5).
func (c *Context) unexplained() error {
	if len(c.missing) == 0 {
		return nil
	}
	var ids []page.ID
	for id := range c.missing {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b page.ID) int { return cmp.Compare(c.missing[a].at, c.missing[b].at) })
	first := c.missing[ids[0]]
	if first.err != nil {
		return first.err
	}
	return dberr.New(dberr.DataCorrupted, "the log record at %v changes page %v, which is not there", first.at, ids[0]).
		WithDetail("%d pages are missing", len(ids))
}

// Options tell Recover what to work on.
type Options struct {
	FS   vfs.FS
	Dir  string
	Pool *buffer.Pool // without a log yet: all that redo brings into pages is durable in the log
	// Redoers by resource manager; Recover itself knows RmgrStorage.
	Redoers      map[wal.Rmgr]Redoer
	Participants []Participant
}

// Result is what recovery found out.
type Result struct {
	Control     Control
	End, Prev   page.LSN // of the log: wal.Open goes on here
	MaxXID      uint64   // highest xid in a record read; participants know those before
	NextRelFile page.RelFile
	Records     int
	Clean       bool // the database was shut down; nothing had to be done again
	Took        time.Duration
}

// LogOptions returns the options of the database's log, as its control file has them.
func (c *Control) LogOptions(fs vfs.FS, dir string) wal.Options {
	return wal.Options{FS: fs, Dir: vfs.Join(dir, "wal"), DatabaseID: c.DatabaseID, Timeline: c.Timeline, SegmentSize: int64(c.LogSegment)}
}

// Recover brings the pages of a database to the end of its log. The caller then opens the log at Result.End, gives it to the pool,
// removes files that nobody names, and makes an EndOfRecovery checkpoint before it lets anybody in.
func Recover(ctx context.Context, o Options) (*Result, error) {
	began := time.Now()
	control, _, err := ReadControl(o.FS, o.Dir)
	if err != nil {
		return nil, err
	}
	lo := control.LogOptions(o.FS, o.Dir)
	// What redo reads may still be in the system's memory only; pages must not reach the disk before it (buffer's B1).
	if err := wal.SyncSegments(lo); err != nil {
		return nil, err
	}
	res := &Result{Control: *control, NextRelFile: max(control.NextRelFile, 1)}
	states := map[string][]byte{}
	if control.Checkpoint != 0 {
		cp, err := readCheckpoint(lo, control)
		if err != nil {
			return nil, err
		}
		states = cp.states
		res.NextRelFile = max(res.NextRelFile, cp.nextRelFile)
	}
	for _, p := range o.Participants {
		if err := p.Restore(states[p.Name()]); err != nil {
			return nil, fmt.Errorf("restore %s: %w", p.Name(), err)
		}
	}

	c := NewContext(ctx, o.Pool)
	redoers := map[wal.Rmgr]Redoer{wal.RmgrStorage: storageRedo{&res.NextRelFile}}
	for rm, r := range o.Redoers {
		redoers[rm] = r
	}
	r, err := wal.NewReader(lo, control.Redo)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	changed := 0
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		rd := redoers[rec.Rmgr]
		if rd == nil {
			return nil, dberr.New(dberr.DataCorrupted, "nobody knows the %v record at %v", rec.Rmgr, rec.Start)
		}
		if err := rd.Redo(c, rec); err != nil {
			return nil, fmt.Errorf("redo of the %s record at %v: %w", rd.Name(), rec.Start, err)
		}
		res.MaxXID = max(res.MaxXID, rec.XID)
		res.Records++
		if rec.Rmgr != wal.RmgrStorage || rec.Info != infoCheckpoint {
			changed++
		}
		sched.Point("recovery.record")
	}
	res.End, res.Prev = r.End()
	if res.End < control.CheckpointEnd {
		return nil, dberr.New(dberr.DataCorrupted, "the log ends at %v, before the last checkpoint at %v", res.End, control.CheckpointEnd)
	}
	if err := c.unexplained(); err != nil {
		return nil, err
	}
	res.Clean = control.State == ShutDown && changed == 0
	if !res.Clean {
		// What the process that died had written without a sync looks done to redo, and is in the system's memory only. The
		// next checkpoint moves the redo pointer behind it, so it must be durable by then (R1).
		for _, s := range []string{"base", "xact", "csn"} {
			if err := syncFiles(o.FS, vfs.Join(o.Dir, s)); err != nil {
				return nil, err
			}
		}
	}
	res.Took = time.Since(began)
	return res, nil
}

func readCheckpoint(lo wal.Options, control *Control) (*checkpointRecord, error) {
	r, err := wal.NewReader(lo, control.Checkpoint)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	rec, err := r.Next()
	if err == io.EOF {
		return nil, dberr.New(dberr.DataCorrupted, "the checkpoint record at %v is not there", control.Checkpoint)
	}
	if err != nil {
		return nil, err
	}
	if rec.Start != control.Checkpoint || rec.Rmgr != wal.RmgrStorage || rec.Info != infoCheckpoint {
		return nil, dberr.New(dberr.DataCorrupted, "the record at %v is not the checkpoint that the control file names", control.Checkpoint)
	}
	cp, err := decodeCheckpoint(rec.Data)
	if err != nil {
		return nil, err
	}
	if cp.redo != control.Redo {
		return nil, dberr.New(dberr.DataCorrupted, "the checkpoint at %v redoes from %v, the control file from %v", control.Checkpoint, cp.redo, control.Redo)
	}
	return cp, nil
}

// syncFiles makes every file of a directory, and its names, durable.
func syncFiles(fs vfs.FS, dir string) error {
	list, err := fs.List(dir)
	if errors.Is(err, vfs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return wrapIO(err, "list", dir)
	}
	for _, e := range list {
		if e.Dir {
			continue
		}
		name := vfs.Join(dir, e.Name)
		f, err := fs.Open(name)
		if err == nil {
			err = f.Sync()
			f.Close()
		}
		if err != nil {
			return wrapIO(err, "sync", name)
		}
	}
	return wrapIO(fs.SyncDir(dir), "sync", dir)
}
