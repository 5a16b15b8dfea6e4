// Package check looks through a database for what cannot be: pages that lie about themselves, rows whose chains are broken,
// index entries without rows and rows without index entries, edges without ends, files that nobody names.
//
// It reads through the buffer pool, so it works on an open database as well as on one opened for the purpose. It changes
// nothing. What one page says about itself it may be asked at any time ([Report.PagesOf]); the parts that hold structures against each
// other ([Report.Tree], [Report.Heap], [Report.Database]) ask for quiet: no transaction that writes may run meanwhile, or what it is doing will
// be reported.
//
// Findings are of two kinds (rules B11). A fault is a broken promise; one is enough for exit status 1. A leak is space that
// nothing reaches and that VACUUM gives back: a crash may leave some.
//
// K1: a fault names file and page wherever it has one. K2: one broken page does not keep the rest from being looked at. K3: the
// memory that a check takes does not grow with the database, one byte a page of a tree apart.
package check

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
)

// Finding is one fault or leak.
type Finding struct {
	Rel    page.RelFile // 0: no file in particular
	Fork   page.Fork
	Block  page.Block // page.NoBlock: no page in particular
	Name   string     // of the relation, if known
	Reason string
}

// File returns the name of the file in base/.
func (f Finding) File() string {
	s := strconv.FormatUint(uint64(f.Rel), 10)
	if f.Fork != page.Main {
		s += "_" + f.Fork.String()
	}
	return s
}

// String is what `hedgerow check` prints: "file F page N: …".
func (f Finding) String() string {
	name := ""
	if f.Name != "" {
		name = " (" + f.Name + ")"
	}
	switch {
	case f.Rel == 0:
		return f.Reason + name
	case f.Block == page.NoBlock:
		return fmt.Sprintf("file %s: %s%s", f.File(), f.Reason, name)
	default:
		return fmt.Sprintf("file %s page %d: %s%s", f.File(), f.Block, f.Reason, name)
	}
}

// Options of a check. The zero value works.
type Options struct {
	// MaxListed bounds how many faults, and how many leaks, are kept; all are counted. Zero means 1,000.
	MaxListed int
	// Progress, if set, is told the pages looked at so far.
	Progress func(pages uint64)
	// EndOfLog is the end of the log: no page may be newer. Zero means not to look.
	EndOfLog page.LSN
}

// Report is what a check found.
type Report struct {
	Faults, Leaks         []Finding
	NumFaults, NumLeaks   uint64
	Relations             int
	Pages, Rows, Entries  uint64
	DeadEntries, Versions uint64
	Edges                 uint64

	opts Options
	name string // of the relation looked at
}

// NewReport begins a report.
func NewReport(o Options) *Report {
	if o.MaxListed == 0 {
		o.MaxListed = 1000
	}
	return &Report{opts: o}
}

// OK reports whether there is no fault.
func (r *Report) OK() bool { return r.NumFaults == 0 }

func (r *Report) fault(f Finding) {
	r.NumFaults++
	if f.Name == "" {
		f.Name = r.name
	}
	if len(r.Faults) < r.opts.MaxListed {
		r.Faults = append(r.Faults, f)
	}
}

func (r *Report) leak(f Finding) {
	r.NumLeaks++
	if f.Name == "" {
		f.Name = r.name
	}
	if len(r.Leaks) < r.opts.MaxListed {
		r.Leaks = append(r.Leaks, f)
	}
}

func (r *Report) faultAt(id page.ID, format string, args ...any) {
	r.fault(Finding{Rel: id.Rel, Fork: id.Fork, Block: id.Block, Reason: fmt.Sprintf(format, args...)})
}

// failed turns an error that says that bytes are wrong into a fault; any other error ends the check.
func (r *Report) failed(id page.ID, err error) error {
	if !dberr.Is(err, dberr.DataCorrupted) {
		return err
	}
	r.faultAt(id, "%s", reasonOf(err))
	return nil
}

// read pins a page, copies it under a shared latch and unpins it. ok is false if it cannot be read for what is in it, which is
// a fault then.
func (r *Report) read(ctx context.Context, pool *buffer.Pool, id page.ID, dst page.Page) (ok bool, err error) {
	f, err := pool.Pin(ctx, id)
	if err != nil {
		return false, r.failed(id, err)
	}
	f.RLock()
	copyShared(dst, f.Page())
	f.RUnlock()
	f.Unpin()
	r.Pages++
	if r.opts.Progress != nil && r.Pages&255 == 0 {
		r.opts.Progress(r.Pages)
	}
	return true, nil
}
