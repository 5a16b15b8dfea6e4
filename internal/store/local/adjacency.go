package local

import (
	"context"
	"fmt"
	"log/slog"
	"math"

	"github.com/hedgerowdb/hedgerow/internal/access/adjacency"
	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

var _ store.GraphCache = (*graphView)(nil)

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

// eachSide calls f with every covering index of the types.
func (g *graphView) eachSide(ctx context.Context, types []schema.LabelID, f func(l *catalog.Label, in bool) error) error {
	ls, err := g.types(ctx, nil, types)
	if err != nil {
		return err
	}
	for _, l := range ls {
		for _, in := range [2]bool{false, true} {
			if err := f(l, in); err != nil {
				return err
			}
		}
	}
	return nil
}

// WarmGraphCache is store.GraphCache's.
func (g *graphView) WarmGraphCache(ctx context.Context, v store.View, types []schema.LabelID) error {
	c := g.s.tx.s.adj
	if c == nil {
		return nil
	}
	evicted := c.Counters().Evictions.Load()
	return g.eachSide(ctx, types, func(l *catalog.Label, in bool) error {
		return g.eachRun(ctx, l, in, func(run uint64) error {
			if used, limit := c.Bytes(); used >= limit || c.Counters().Evictions.Load() > evicted {
				return nil // what is there would have to go
			}
			if err := c.Warm(ctx, sideOf(l, in), run); err != nil {
				return dberr.As(err)
			}
			return nil
		})
	})
}

// ClearGraphCache is store.GraphCache's.
func (g *graphView) ClearGraphCache() {
	if c := g.s.tx.s.adj; c != nil {
		c.EvictAll()
	}
}

// VerifyGraphCache is store.GraphCache's.
func (g *graphView) VerifyGraphCache(ctx context.Context, v store.View, sample int) (lists, differences int64, err error) {
	s := g.s.tx.s
	if s.adj == nil {
		return 0, 0, nil
	}
	err = g.eachSide(ctx, nil, func(l *catalog.Label, in bool) error {
		side := sideOf(l, in)
		return side.Sample(sample, func(run uint64, gen *adjacency.Generation) error {
			reason, n, err := g.differ(ctx, v, l, in, run, gen)
			if err != nil {
				return err
			}
			lists += int64(n)
			if reason != "" {
				differences++
				side.Drop(run)
				s.slog.LogAttrs(ctx, slog.LevelError, "neighbourhoods in memory differ from the index", slog.String("graph", g.g.Name), slog.String("type", l.Name),
					slog.Bool("in", in), slog.Uint64("run", run), slog.String("difference", reason))
			}
			return nil
		})
	})
	n := s.adj.Counters()
	n.Verified.Add(lists)
	n.Differences.Add(differences)
	return lists, differences, err
}

// differ holds a generation against what the view sees in the index.
func (g *graphView) differ(ctx context.Context, v store.View, l *catalog.Label, in bool, run uint64, gen *adjacency.Generation) (string, int, error) {
	defer g.r.done()
	_, tree := runsOf(l, in)
	var c btree.Cursor
	c.Init(tree, btree.Options{})
	defer c.Close()
	first := adjacency.FirstOf(run)
	c.Seek(btree.Range{Lower: appendID(nil, first), Upper: appendID(nil, adjacency.FirstOf(run+1)-1)})
	index := func(ctx context.Context) (near, far, rel uint64, err error) {
		for {
			if err := ctx.Err(); err != nil {
				return 0, 0, 0, dberr.As(err)
			}
			if ok, err := c.Next(ctx); !ok || err != nil {
				return 0, 0, 0, err
			}
			if len(c.Key()) != adjKeyLen {
				return 0, 0, 0, malformed(c.Key())
			}
			near, far, rel = adjKey(c.Key())
			_, _, ok, err := g.r.at(l).g.Get(ctx, snapOf(v), v.CID, btree.TIDOf(c.Ptr()), rel, heap.ByIndex)
			if ok || err != nil {
				return near, far, rel, err
			}
		}
	}
	return gen.Differ(ctx, adjacency.View{Snap: snapOf(v), CID: v.CID}, index)
}

// GraphCacheStatus is store.GraphCache's.
func (g *graphView) GraphCacheStatus() []store.Figure {
	c := g.s.tx.s.adj
	if c == nil {
		return []store.Figure{{Name: "enabled", Value: 0}}
	}
	n, z := c.Counters(), c.Sizes()
	return []store.Figure{
		{Name: "enabled", Value: 1},
		{Name: "cache_bytes", Value: z.Bytes}, {Name: "cache_limit", Value: z.Limit}, {Name: "place_bytes", Value: z.Roots}, {Name: "directory_bytes", Value: z.Directory},
		{Name: "segments", Value: z.Segments}, {Name: "edges", Value: z.Edges}, {Name: "delta_entries", Value: z.Changes},
		{Name: "seg_built", Value: n.Built.Load()}, {Name: "seg_build_ns", Value: n.BuildNanos.Load()}, {Name: "seg_build_failed", Value: n.BuildFailed.Load()},
		{Name: "seg_build_refused", Value: n.Refused.Load()},
		{Name: "seg_folds", Value: n.Folds.Load()}, {Name: "fold_blocked_by_horizon", Value: n.FoldBlocked.Load()},
		{Name: "delta_told", Value: n.DeltaEntries.Load()}, {Name: "delta_overflows", Value: n.Overflows.Load()}, {Name: "evictions", Value: n.Evictions.Load()},
		{Name: "hops", Value: n.Hops.Load()}, {Name: "dirty_hops", Value: n.DirtyHops.Load()}, {Name: "fallback_hops", Value: n.FallbackHops.Load()},
		{Name: "delta_walks", Value: n.Walks.Load()}, {Name: "edges_scanned", Value: n.Edges.Load()},
		{Name: "verified_lists", Value: n.Verified.Load()}, {Name: "verified_differences", Value: n.Differences.Load()},
	}
}

// Derived holds what is in memory of neighbourhoods, and what a build would put there now, against the indexes.
func (c *checkSource) Derived(ctx context.Context, report func(reason string)) error {
	for _, g := range c.graphs() {
		v := store.View{Snap: c.stmt.snap, CID: 0}
		err := g.eachSide(ctx, nil, func(l *catalog.Label, in bool) error {
			tell := func(what string, run uint64, gen *adjacency.Generation) error {
				reason, _, err := g.differ(ctx, v, l, in, run, gen)
				if err == nil && reason != "" {
					report(fmt.Sprintf("%s of type %q of graph %q: %s", what, l.Name, g.g.Name, reason))
				}
				return err
			}
			err := sideOf(l, in).Sample(math.MaxInt, func(run uint64, gen *adjacency.Generation) error { return tell("neighbourhoods in memory", run, gen) })
			if err != nil {
				return err
			}
			return g.eachRun(ctx, l, in, func(run uint64) error {
				_, tree := runsOf(l, in)
				src := adjacency.Source{Heap: l.Heap, Index: tree, Lock: func() (func(), error) { return func() {}, nil }}
				gen, err := adjacency.Built(ctx, adjacency.Options{Txns: c.s.m, Bytes: math.MaxInt64 / 4, DeltaCap: math.MaxInt32}, src, run)
				if err != nil {
					return err
				}
				return tell("neighbourhoods as a build reads them", run, gen)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
