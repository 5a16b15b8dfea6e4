package check

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/page"
)

// copyShared copies a page that others may mark under the same latch: every word of the part that marks may change, from the
// line pointers to the row headers among the items, is read at once (rules A10).
func copyShared(dst, src page.Page) {
	copy(dst[:page.HeaderSize], src[:page.HeaderSize])
	for at := page.HeaderSize; at < page.Size; at += 4 {
		*dst.Word(at) = atomic.LoadUint32(src.Word(at))
	}
}

// reasonOf takes the file and page out of the text of an error that names them: the finding has its own.
func reasonOf(err error) string {
	var f *page.Fault
	if errors.As(err, &f) {
		return f.Reason
	}
	return err.Error()
}

// PagesOf checks every page of a fork by itself: checksum (on the way from the disk), header, line pointers, overlap of items,
// and an LSN that the log has reached. types are those that may be there; none means any. A page of zeros is a leak.
func (r *Report) PagesOf(ctx context.Context, pool *buffer.Pool, rel page.RelFile, fork page.Fork, types ...page.Type) error {
	size, err := pool.Size(rel, fork)
	if err != nil {
		return err
	}
	p := make(page.Page, page.Size)
	for b := page.Block(0); b < size; b++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		id := page.ID{Rel: rel, Fork: fork, Block: b}
		ok, err := r.read(ctx, pool, id, p)
		if err != nil {
			return err
		}
		if ok {
			r.page(id, p, types)
		}
	}
	return nil
}

// page checks one page by itself and reports whether its items may be looked at.
func (r *Report) page(id page.ID, p page.Page, types []page.Type) bool {
	if p.IsNew() {
		if !p.IsZero() {
			r.faultAt(id, "header is empty but the page is not")
		} else if id.Fork == page.Main { // the maps grow ahead of what they describe
			r.leak(Finding{Rel: id.Rel, Fork: id.Fork, Block: id.Block, Reason: "was never written"})
		}
		return false
	}
	if err := p.VerifyHeader(id); err != nil {
		r.faultAt(id, "%s", reasonOf(err))
		return false
	}
	if err := p.CheckOverlap(id); err != nil && (p.Type() == page.TypeHeap || p.Type() == page.TypeBTree) {
		r.faultAt(id, "%s", reasonOf(err))
		return false
	}
	if end := r.opts.EndOfLog; end != 0 && p.LSN() > end {
		r.faultAt(id, "LSN %v lies beyond the end of the log, %v", p.LSN(), end)
	}
	for _, t := range types {
		if p.Type() == t {
			return true
		}
	}
	if len(types) > 0 {
		r.faultAt(id, "is a %v page in a file of %v pages", p.Type(), types[0])
		return false
	}
	return true
}
