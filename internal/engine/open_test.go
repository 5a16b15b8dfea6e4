package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSecondOpenNamesTheHolder(t *testing.T) {
	dir := t.TempDir()
	o := engine.Options{Dir: dir, CacheBytes: 1 << 20}
	db, err := engine.Open(bg, o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = engine.Open(bg, o)
	wantCode(t, err, dberr.FileInUse)
	if !strings.Contains(err.Error(), "pid ") {
		t.Errorf("the error does not name the holder: %v", err)
	}
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	closeDB(t, db)
	closeDB(t, db) // idempotent
	db, err = engine.Open(bg, o)
	if err != nil {
		t.Fatal(err)
	}
	update(t, db, func(c *client) { c.begin(); c.node([]string{"A"}) })
	closeDB(t, db)
}

// A directory of something else is refused and left as it was.
func TestOpenRefusesAForeignDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := engine.Open(bg, engine.Options{Dir: dir, CacheBytes: 1 << 20})
	wantCode(t, err, dberr.InvalidParameterValue)
	if db != nil || !strings.Contains(err.Error(), "note.txt") {
		t.Errorf("got %v, %v", db, err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("the directory has %d files now", len(list))
	}
}

// A database that cannot be opened gives its lock back.
func TestOpenThatFailsUnlocks(t *testing.T) {
	dir := t.TempDir()
	o := engine.Options{Dir: dir, CacheBytes: 1 << 20}
	db, err := engine.Open(bg, o)
	if err != nil {
		t.Fatal(err)
	}
	closeDB(t, db)
	logs, moved := filepath.Join(dir, "wal"), filepath.Join(t.TempDir(), "wal")
	if err := os.Rename(logs, moved); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second would find the lock of the first
		_, err = engine.Open(bg, o)
		if err == nil || dberr.Is(err, dberr.FileInUse) {
			t.Fatalf("opened without its log: %v", err)
		}
	}
	if err := os.Rename(moved, logs); err != nil {
		t.Fatal(err)
	}
	if db, err = engine.Open(bg, o); err != nil {
		t.Fatal(err)
	}
	closeDB(t, db)
}

func TestInMemory(t *testing.T) {
	db, err := engine.Open(bg, engine.Options{CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	update(t, db, func(c *client) {
		c.begin()
		for i := range 5000 { // more pages than the cache has
			c.node([]string{"A"}, "pad", strings.Repeat("x", 1000), "i", i)
		}
	})
	update(t, db, func(c *client) {
		c.begin()
		if n := len(c.scan(c.after(), "A")); n != 5000 {
			t.Errorf("%d nodes", n)
		}
	})
	clean(t, db)
	closeDB(t, db)
}

// A crash while the database is made leaves a database or none (B12).
func TestCrashWhileMaking(t *testing.T) {
	mem := vfs.NewCrashable()
	var clones []*vfs.Mem
	hook := vfs.CrashPoints(mem, 1, 7, []float64{0, 0.5, 1}, func(_ int, c *vfs.Mem) { clones = append(clones, c) })
	db := open(t, vfs.WithHook(mem, hook))
	closeDB(t, db)
	if len(clones) < 20 {
		t.Fatalf("only %d points", len(clones))
	}
	step := max(1, len(clones)/60)
	for i := 0; i < len(clones); i += step {
		db, err := engine.Open(bg, options(clones[i]))
		if err != nil {
			t.Fatalf("point %d: %v", i, err)
		}
		update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
		clean(t, db)
		closeDB(t, db)
	}
}

// A sync that fails stops the database: nothing is acknowledged any more, and what was is there after a restart (A11).
func TestFailedSyncPoisons(t *testing.T) {
	mem := vfs.NewCrashable()
	var failing atomic.Bool
	broken := errors.New("disk on fire")
	fs := vfs.WithHook(mem, func(op vfs.Op, _ string) error {
		if op == vfs.OpSync && failing.Load() {
			return broken
		}
		return nil
	})
	var fatal atomic.Int32
	o := options(fs)
	o.OnFatal = func(error) { fatal.Add(1) }
	db, err := engine.Open(bg, o)
	if err != nil {
		t.Fatal(err)
	}
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	update(t, db, func(c *client) { c.begin(); c.node([]string{"A"}) })
	c := begin(t, db, store.ReadCommitted).begin()
	c.node([]string{"A"})
	c.end()
	failing.Store(true)
	wantCode(t, c.tx.Commit(bg), dberr.IOError)
	failing.Store(false)
	if fatal.Load() != 1 {
		t.Errorf("OnFatal ran %d times", fatal.Load())
	}
	_, err = db.Store().Begin(bg, store.TxOptions{})
	wantCode(t, err, dberr.IOError)
	if err := db.Close(bg); !dberr.Is(err, dberr.IOError) {
		t.Errorf("close: %v", err)
	}
	clone := mem.CrashClone(rand.New(rand.NewPCG(1, 1)), 0)
	db = open(t, clone)
	update(t, db, func(c *client) {
		c.begin()
		if n := len(c.scan(c.after(), "A")); n != 1 {
			t.Errorf("%d nodes after the restart", n)
		}
	})
	clean(t, db)
	closeDB(t, db)
}

// A transaction that never ended, and files that only it knew, are gone after a restart (B11).
func TestUnendedTransactionLeavesNothing(t *testing.T) {
	mem := vfs.NewCrashable()
	db := open(t, mem)
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	update(t, db, func(c *client) { c.begin(); c.node([]string{"A"}, "k", 1) })
	c := begin(t, db, store.ReadCommitted)
	c.must(c.tx.CreateGraph(bg, "other"))
	c.must(c.tx.CreateIndex(bg, "graph", store.IndexDef{Label: "A", Keys: []string{"k"}}))
	c.begin()
	c.node([]string{"A"}, "k", 2)
	c.end()
	if err := db.Checkpoint(bg); err != nil {
		t.Fatal(err)
	}
	had, err := db.Pool().Relations()
	if err != nil {
		t.Fatal(err)
	}
	db2 := open(t, mem.CrashClone(rand.New(rand.NewPCG(1, 1)), 1))
	left, err := db2.Pool().Relations()
	if err != nil {
		t.Fatal(err)
	}
	if len(left) >= len(had) {
		t.Errorf("%d files before, %d after", len(had), len(left))
	}
	update(t, db2, func(c *client) {
		c.begin()
		if n := len(c.scan(c.after(), "A")); n != 1 {
			t.Errorf("%d nodes", n)
		}
		if n := c.g.NodeCount(schema.NoLabel); n != 1 {
			t.Errorf("counted %v", n)
		}
		if ix := c.g.Indexes(c.after()); len(ix) != 0 {
			t.Errorf("indexes %v", ix)
		}
	})
	update(t, db2, func(c *client) { c.must(c.tx.CreateGraph(bg, "other")) })
	clean(t, db2)
	closeDB(t, db2)
	c.rollback()
	closeDB(t, db)
}

// Commits go on between the steps of a checkpoint, and are all there after a crash at its end.
func TestCommitsDuringCheckpoint(t *testing.T) { // A4
	mem := vfs.NewCrashable()
	db := open(t, mem)
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	n := 0
	done := false
	add := func() {
		if done {
			return
		}
		n++
		update(t, db, func(c *client) { c.begin(); c.node([]string{"A"}, "i", n) })
	}
	add()
	ctl := schedInstall(t)
	for _, p := range []string{"checkpoint.begin", "checkpoint.redo", "checkpoint.flushed", "checkpoint.final", "checkpoint.status", "checkpoint.written",
		"checkpoint.synced", "checkpoint.logged", "checkpoint.control"} {
		ctl.Call(p, add)
	}
	for range 3 {
		if err := db.Checkpoint(bg); err != nil {
			t.Fatal(err)
		}
		for _, p := range []float64{0, 0.5, 1} {
			want := n // the other database's checkpoints add to this one too
			db2 := open(t, mem.CrashClone(rand.New(rand.NewPCG(uint64(n), 1)), p))
			update(t, db2, func(c *client) {
				c.begin()
				if got := len(c.scan(c.after(), "A")); got != want {
					t.Errorf("%d nodes, want %d", got, want)
				}
				if got := c.g.NodeCount(schema.NoLabel); got != float64(want) {
					t.Errorf("counted %v, want %d", got, want)
				}
			})
			clean(t, db2)
			closeDB(t, db2)
		}
	}
	done = true
	closeDB(t, db)
}

func TestCloseUnderAnOpenTransaction(t *testing.T) {
	mem := vfs.NewMem()
	db := open(t, mem)
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	c := begin(t, db, store.ReadCommitted).begin()
	c.node([]string{"A"})
	c.end()
	ctx, cancel := context.WithTimeout(bg, 50*time.Millisecond)
	defer cancel()
	if err := db.Close(ctx); err != nil {
		t.Fatal(err)
	}
	wantCode(t, c.tx.Commit(bg), dberr.ShuttingDown)
	_, err := db.Store().Begin(bg, store.TxOptions{})
	wantCode(t, err, dberr.ShuttingDown)
	db = open(t, mem)
	update(t, db, func(c *client) {
		c.begin()
		if n := len(c.scan(c.after(), "")); n != 0 {
			t.Errorf("%d nodes", n)
		}
	})
	clean(t, db)
	closeDB(t, db)
}
