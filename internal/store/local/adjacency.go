package local

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/access/adjacency"
	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// eachRun calls f with every run of vertices that has entries in one of the covering indexes of a type.
func (g *graphView) eachRun(ctx context.Context, l *catalog.Label, in bool, f func(run uint64) error) error {
	_, tree := runsOf(l, in)
	var c btree.Cursor
	c.Init(tree, btree.Options{Max: 1})
	defer c.Close()
	for from := uint64(0); ; from++ {
		if err := ctx.Err(); err != nil {
			return dberr.As(err)
		}
		run, ok, err := firstRun(ctx, &c, from)
		if err != nil || !ok {
			return err
		}
		c.Close()
		if err := f(run); err != nil {
			return err
		}
		from = run
	}
}

// WarmGraph makes store.Warmer of graphView: it builds what readers have not asked for often enough yet.
func (g *graphView) WarmGraph(ctx context.Context, v store.View, types []schema.LabelID) error {
	c := g.s.tx.s.adj
	if c == nil {
		return nil
	}
	ls, err := g.types(ctx, nil, types)
	if err != nil {
		return err
	}
	for _, l := range ls {
		for _, in := range [2]bool{false, true} {
			err := g.eachRun(ctx, l, in, func(run uint64) error { return c.Warm(ctx, sideOf(l, in), run) })
			if err != nil {
				return dberr.As(err)
			}
		}
	}
	return nil
}

var _ = txn.AccessShare
var _ = adjacency.RunOf
