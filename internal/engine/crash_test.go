package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

func points(def int) int {
	if s := os.Getenv("HEDGEROW_CRASH_POINTS"); s != "" {
		if n, err := strconv.Atoi(s); err == nil {
			return n
		}
	}
	return def
}

var _ = []any{context.Background, fmt.Sprint, rand.New, slices.Equal[[]int], dberr.Is, engine.Open, schema.NoLabel, store.Out}

func TestReopenAfterCrash(t *testing.T) {
	fs := vfs.NewCrashable()
	db := open(t, fs)
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	var ids []uint64
	update(t, db, func(c *client) {
		c.begin()
		for i := range 100 {
			ids = append(ids, c.node([]string{"N"}, "i", i))
		}
		for i := range 99 {
			c.rel("R", ids[i], ids[i+1])
		}
	})
	clone := fs.CrashClone(rand.New(rand.NewPCG(1, 2)), 0)
	db2 := open(t, clone)
	update(t, db2, func(c *client) {
		c.begin()
		if got := c.scan(c.after(), "N"); !slices.Equal(got, ids) {
			t.Errorf("%d nodes", len(got))
		}
		if n := c.g.NodeCount(schema.NoLabel); n != 100 {
			t.Errorf("counted %v", n)
		}
	})
	clean(t, db2)
	closeDB(t, db2)
	closeDB(t, db)
}
