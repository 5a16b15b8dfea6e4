package local

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/access/adjacency"
	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/sched"
)

// noRun is no run's number.
const noRun = ^uint64(0)

// runsOf returns which runs of vertices have entries in one of the covering indexes of a type.
func runsOf(l *catalog.Label, in bool) (*adjacency.Runs, *btree.Tree) {
	if in {
		return &l.InRuns, l.In
	}
	return &l.OutRuns, l.Out
}

// readRuns reads once which runs of vertices have relationships of the type at all: a probe a run.
func (g *graphView) readRuns(ctx context.Context, l *catalog.Label, in bool) error {
	runs, tree := runsOf(l, in)
	if runs.Known() {
		return nil
	}
	var c btree.Cursor
	c.Init(tree, btree.Options{})
	defer c.Close()
	return runs.Build(func(from uint64) (uint64, bool, error) {
		sched.Point("local.runs.read")
		if err := ctx.Err(); err != nil {
			return 0, false, dberr.As(err)
		}
		g.s.counters.IndexProbes++
		return firstRun(ctx, &c, from)
	})
}

// firstRun returns the first run from a given one on that has an entry in the cursor's index.
func firstRun(ctx context.Context, c *btree.Cursor, from uint64) (run uint64, ok bool, err error) {
	c.Seek(btree.Range{Lower: appendID(nil, adjacency.FirstOf(from))})
	if ok, err := c.Next(ctx); !ok || err != nil {
		return 0, false, err
	}
	if len(c.Key()) != adjKeyLen {
		return 0, false, malformed(c.Key())
	}
	near, _, _ := adjKey(c.Key())
	return adjacency.RunOf(near), true, nil
}

func malformed(key []byte) error {
	return dberr.New(dberr.DataCorrupted, "an adjacency key of %d bytes is malformed", len(key))
}
