package check

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/page"
)

// Tree checks a B-tree: its pages, then order, high keys, sibling and parent links. entry, if not nil, gets the entries in order.
func (r *Report) Tree(ctx context.Context, pool *buffer.Pool, t *btree.Tree, entry func(key []byte, ptr uint64, dead bool)) error {
	rel := t.Rel()
	before := r.NumFaults
	leaks := r.NumLeaks
	if err := r.PagesOf(ctx, pool, rel, page.Main, page.TypeBTree, page.TypeBMeta); err != nil {
		return err
	}
	if r.NumFaults > before {
		// The walk would say it all again and lose its way besides.
		return nil
	}
	r.NumLeaks, r.Leaks = leaks, r.Leaks[:min(len(r.Leaks), int(leaks))] // the walk tells the leaks of a tree
	at := func(b page.Block, reason string) Finding {
		return Finding{Rel: rel, Block: b, Reason: reason}
	}
	sum, err := t.Verify(ctx, btree.Visitor{
		Fault: func(b page.Block, reason string) { r.fault(at(b, reason)) },
		Leak:  func(b page.Block, reason string) { r.leak(at(b, reason)) },
		Entry: entry,
	})
	r.Entries += sum.Entries
	r.DeadEntries += sum.Dead
	return err
}
