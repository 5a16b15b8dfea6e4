package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

const buildRows = 3000

// buildOn makes buildRows nodes whose key k repeats every 1,000 of them and whose u is unique, with zeros and long texts among them,
// in a database whose index builds must use temporary files.
func buildOn(t *testing.T, fs vfs.FS) *engine.DB {
	t.Helper()
	o := options(fs)
	o.IndexSortBytes = 16 << 10
	db, err := engine.Open(bg, o)
	if err != nil {
		t.Fatal(err)
	}
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	update(t, db, func(c *client) {
		c.begin()
		for i := range buildRows {
			n := (i * 7919) % buildRows
			u := fmt.Sprintf("a\x00%d", n)
			if n%100 == 0 {
				u = strings.Repeat("long", 700) + u
			}
			c.node([]string{"A"}, "k", n%1000, "u", u)
		}
	})
	return db
}

func buildIndex(c *client, name, key string, unique bool) error {
	return c.tx.CreateIndex(bg, "graph", store.IndexDef{Name: name, Label: "A", Keys: []string{key}, Unique: unique})
}

func tempLeft(t *testing.T, fs vfs.FS, dir string) int {
	t.Helper()
	l, err := fs.List(vfs.Join(dir, "tmp"))
	if err != nil {
		t.Fatal(err)
	}
	return len(l)
}

// An index that is built by runs in files is the one that inserts would have made, and leaves no file.
func TestBuildBeyondMemory(t *testing.T) {
	mem := vfs.NewMem()
	var made atomic.Int64
	db := buildOn(t, vfs.WithHook(mem, func(op vfs.Op, name string) error {
		if op == vfs.OpCreate && strings.Contains(name, "tmp/") {
			made.Add(1)
		}
		return nil
	}))
	c := begin(t, db, store.ReadCommitted)
	if err := buildIndex(c, "dup", "k", true); !dberr.Is(err, dberr.UniqueViolation) {
		t.Errorf("unique index over equal keys: %v", err)
	}
	c.rollback()
	update(t, db, func(c *client) {
		c.must(buildIndex(c, "k", "k", false))
		c.must(buildIndex(c, "u", "u", true))
	})
	if made.Load() < 2 {
		t.Errorf("%d temporary files", made.Load())
	}
	if n := tempLeft(t, mem, db.Dir()); n > 0 {
		t.Errorf("%d temporary files are left", n)
	}
	update(t, db, func(c *client) {
		c.begin()
		for i := range 1000 {
			if ids := c.seek(c.after(), "k", i); len(ids) != buildRows/1000 {
				t.Fatalf("%d nodes with k = %d", len(ids), i)
			}
		}
		for _, u := range []string{"a\x001", strings.Repeat("long", 700) + "a\x00100"} {
			if ids := c.seek(c.after(), "u", u); len(ids) != 1 {
				t.Errorf("%d nodes with u = %.20q", len(ids), u)
			}
		}
	})
	clean(t, db)
	closeDB(t, db)
}

// A full disk under the sort ends the statement and nothing more.
func TestBuildWithoutSpace(t *testing.T) {
	mem := vfs.NewMem()
	for _, fail := range []vfs.Op{vfs.OpCreate, vfs.OpWrite} {
		var full atomic.Bool
		mem = vfs.NewMem()
		db := buildOn(t, vfs.WithHook(mem, func(op vfs.Op, name string) error {
			if op == fail && full.Load() && strings.Contains(name, "tmp/") {
				return syscall.ENOSPC
			}
			return nil
		}))
		before, err := db.Pool().Relations()
		if err != nil {
			t.Fatal(err)
		}
		full.Store(true)
		c := begin(t, db, store.ReadCommitted)
		if err := buildIndex(c, "k", "k", false); !dberr.Is(err, dberr.DiskFull) {
			t.Errorf("build on a full disk: %v", err)
		}
		c.rollback()
		full.Store(false)
		after, err := db.Pool().Relations()
		if err != nil {
			t.Fatal(err)
		}
		if len(after) != len(before) || tempLeft(t, mem, db.Dir()) > 0 {
			t.Errorf("%d files before, %d after; %d temporary ones", len(before), len(after), tempLeft(t, mem, db.Dir()))
		}
		update(t, db, func(c *client) { c.must(buildIndex(c, "k", "k", false)) })
		clean(t, db)
		closeDB(t, db)
	}
}

// A crash anywhere in a build leaves no index, no file, and a database in order.
func TestBuildCrash(t *testing.T) {
	mem := vfs.NewCrashable()
	var on atomic.Bool
	var clones []*vfs.Mem
	points := vfs.CrashPoints(mem, 3, 1, []float64{0, 0.5, 1}, func(_ int, clone *vfs.Mem) { clones = append(clones, clone) })
	db := buildOn(t, vfs.WithHook(mem, func(op vfs.Op, name string) error {
		if on.Load() {
			return points(op, name)
		}
		return nil
	}))
	if err := db.Checkpoint(bg); err != nil {
		t.Fatal(err)
	}
	on.Store(true)
	c := begin(t, db, store.ReadCommitted)
	c.must(buildIndex(c, "k", "k", false))
	on.Store(false)
	c.rollback()
	closeDB(t, db)
	if len(clones) < 5 {
		t.Fatalf("%d crash points", len(clones))
	}
	rng := rand.New(rand.NewPCG(1, 1))
	rng.Shuffle(len(clones), func(i, j int) { clones[i], clones[j] = clones[j], clones[i] })
	for _, m := range clones[:min(len(clones), 12)] {
		db := open(t, m)
		if n := tempLeft(t, m, db.Dir()); n > 0 {
			t.Errorf("%d temporary files after the restart", n)
		}
		update(t, db, func(c *client) { c.must(buildIndex(c, "k", "k", false)) })
		clean(t, db)
		closeDB(t, db)
	}
}
