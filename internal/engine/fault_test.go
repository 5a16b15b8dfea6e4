package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// soft is a test whose Fatal ends the step that runs, not the test: a step on a failing disk may fail.
type soft struct {
	testing.TB
	err error
}

type softEnd struct{}

func (s *soft) Fatalf(format string, args ...any) {
	s.err = fmt.Errorf(format, args...)
	for _, a := range args {
		if err, ok := a.(error); ok {
			s.err = err
		}
	}
	panic(softEnd{})
}

func (s *soft) Fatal(args ...any) { s.Fatalf("%v", args...) }

// try runs f and returns what it failed with.
func (s *soft) try(f func()) (err error) {
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case softEnd:
			err, s.err = s.err, nil
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// TestFailingDisk lets the n-th call of each kind fail, once or until somebody notices, under the workload of the crash tests. The
// statement that meets the fault says so. The database then either goes on as if its transaction had been rolled back, or it has stopped: nothing
// is acknowledged any more. After a restart everything acknowledged is there.
func TestFailingDisk(t *testing.T) { // A11
	const steps = 60
	base := vfs.NewCrashable()
	db := open(t, base)
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	closeDB(t, db)
	const seed = 3
	copied := func(n uint64) *vfs.Mem { return base.CrashClone(rand.New(rand.NewPCG(n, 1)), 1) }
	// What each step leaves on a sound disk, and how many calls of each kind all of them make.
	calls := map[vfs.Op]int{}
	var states []string
	{
		active := false
		db := open(t, vfs.WithHook(copied(0), func(op vfs.Op, _ string) error {
			if active {
				calls[op]++
			}
			return nil
		}))
		w := newWorkload(t, db, seed)
		states = append(states, dump(t, db))
		for range steps {
			active = true
			w.step()
			active = false
			states = append(states, dump(t, db))
		}
		for i := range w.lanes {
			if w.lanes[i].c != nil {
				w.lanes[i].c.rollback()
			}
		}
		closeDB(t, db)
	}
	type fault struct {
		op     vfs.Op
		n      int
		err    error
		sticky bool
	}
	var faults []fault
	tries := 12
	if testing.Short() {
		tries = 3
	}
	rng := rand.New(rand.NewPCG(seed, 5))
	for _, f := range []fault{
		{op: vfs.OpWrite, err: syscall.EIO}, {op: vfs.OpWrite, err: errors.Join(vfs.ErrShort, syscall.ENOSPC), sticky: true}, {op: vfs.OpSync, err: syscall.EIO},
		{op: vfs.OpRead, err: syscall.EIO}, {op: vfs.OpCreate, err: syscall.ENOSPC}, {op: vfs.OpPreallocate, err: syscall.ENOSPC, sticky: true},
		{op: vfs.OpSyncDir, err: syscall.EIO}, {op: vfs.OpRename, err: syscall.EIO}, {op: vfs.OpRemove, err: syscall.EIO}, {op: vfs.OpTruncate, err: syscall.EIO},
	} {
		total := calls[f.op]
		for i := range min(tries, total) {
			f.n = 1 + i*total/min(tries, total) + rng.IntN(max(1, total/tries))
			faults = append(faults, f)
		}
	}
	var mu sync.Mutex
	var stopped, failed, unnoticed int
	run := func(t *testing.T, i int, f fault) {
		what := fmt.Sprintf("call %d of %x of %d failing with %v", f.n, f.op, calls[f.op], f.err)
		mem := copied(uint64(i) + 1)
		active, st := false, &soft{TB: t}
		hook := vfs.FailNth(f.op, f.n, f.err, f.sticky)
		db := open(t, vfs.WithHook(mem, func(op vfs.Op, name string) error {
			if active {
				return hook(op, name)
			}
			return nil
		}))
		w := newWorkload(st, db, seed)
		done := 0 // steps that went well
		var err error
		for done < steps && err == nil {
			active = true
			err = st.try(w.step)
			active = false
			if err == nil {
				done++
			}
		}
		if err == nil {
			mu.Lock()
			unnoticed++
			mu.Unlock()
		} else if code := dberr.As(err).Code; code != dberr.IOError && code != dberr.DiskFull {
			t.Errorf("%s: step %d said %v (%s)", what, done+1, err, code)
		}
		dead := db.Fate().Err() != nil
		right := func(got string) bool { return got == states[done] || err != nil && got == states[done+1] }
		open := []*client{w.admin}
		for i := range w.lanes {
			open = append(open, w.lanes[i].c)
		}
		for _, c := range open {
			if c == nil {
				continue
			}
			c.end()
			if dead {
				if err := c.tx.Commit(bg); err == nil {
					t.Errorf("%s: a commit after the database stopped", what)
				}
				_ = c.tx.Rollback()
			} else if err := c.tx.Rollback(); err != nil {
				t.Errorf("%s: rollback: %v", what, err)
			}
		}
		before := ""
		if dead {
			if _, err := db.Store().Begin(bg, store.TxOptions{}); !dberr.Is(err, dberr.IOError) {
				t.Errorf("%s: the database stopped, and Begin says %v", what, err)
			}
		} else {
			before = dump(t, db)
			if !right(before) {
				t.Errorf("%s: after %d steps:\n%s\nagainst the step that failed:\n%s", what, done, diff(states[done], before), diff(states[min(done+1, steps)], before))
			}
			if err := db.Checkpoint(bg); err != nil {
				t.Errorf("%s: checkpoint afterwards: %v", what, err)
			}
		}
		if err != nil {
			mu.Lock()
			failed++
			if dead {
				stopped++
			}
			mu.Unlock()
		}
		clone := mem.CrashClone(rand.New(rand.NewPCG(uint64(i), 2)), []float64{0, 0.5, 1}[i%3])
		if err := db.Close(bg); (err == nil) == dead {
			t.Errorf("%s: close: %v", what, err)
		}
		for j, fs := range []vfs.FS{clone, mem} {
			db, err := engine.Open(bg, options(fs))
			if err != nil {
				t.Errorf("%s: open %d: %v", what, j, err)
				return
			}
			got := dump(t, db)
			if before != "" && got != before || !right(got) {
				t.Errorf("%s: restart %d after %d steps:\n%s\nagainst the step that failed:\n%s", what, j, done, diff(states[done], got), diff(states[min(done+1, steps)], got))
			}
			clean(t, db)
			goesOn(t, db, got)
			closeDB(t, db)
		}
	}
	t.Run("faults", func(t *testing.T) {
		for part := range min(4, runtime.GOMAXPROCS(0)) {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				for i := part; i < len(faults) && !t.Failed(); i += min(4, runtime.GOMAXPROCS(0)) {
					run(t, i, faults[i])
				}
			})
		}
	})
	var kinds []string
	for op, n := range calls {
		kinds = append(kinds, fmt.Sprintf("%x: %d", op, n))
	}
	t.Logf("%d faults: %d made a statement fail, %d of them stopped the database, %d did no harm; calls by kind %s", len(faults), failed, stopped, unnoticed, strings.Join(kinds, ", "))
}
