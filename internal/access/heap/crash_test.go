package heap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/recovery"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// disk is a database of one table that is opened from a file system, recovering as need be.
type disk struct {
	env
	fate    *invariant.Fate
	storage *recovery.Storage
	ckpt    *recovery.Checkpointer
	h       *Table
}

func openDisk(t testing.TB, fs vfs.FS) (*disk, error) {
	there, err := recovery.Exists(fs, "db")
	if err != nil {
		return nil, err
	}
	if !there {
		dir, err := recovery.BeginInit(fs, "db")
		if err != nil {
			return nil, err
		}
		d := &disk{env: env{TB: t, ctx: context.Background()}}
		if err := d.open(fs, dir, true); err != nil {
			return nil, err
		}
		if _, err := d.storage.Create(0); err != nil {
			return nil, err
		}
		if err := d.close(); err != nil {
			return nil, err
		}
		if err := recovery.EndInit(fs, "db"); err != nil {
			return nil, err
		}
	}
	d := &disk{env: env{TB: t, ctx: context.Background()}}
	return d, d.open(fs, "db", false)
}

func (d *disk) open(fs vfs.FS, dir string, fresh bool) (err error) {
	d.fate = new(invariant.Fate)
	if d.pool, err = buffer.New(buffer.Options{FS: fs, Dir: dir + "/base", Frames: 24, SegmentBlocks: 64, Fate: d.fate}); err != nil {
		return err
	}
	d.m = txn.New(txn.Options{FS: fs, Dir: dir + "/xact", Fate: d.fate})
	control, next := recovery.NewControl(64<<10, 64), page.RelFile(1)
	if fresh {
		control.DatabaseID = [16]byte{7}
		lo := control.LogOptions(fs, dir)
		lo.Inline, lo.BufferSize, lo.Fate = true, 128<<10, d.fate
		if d.log, err = wal.Create(lo); err != nil {
			return err
		}
	} else {
		res, err := recovery.Recover(d.ctx, recovery.Options{FS: fs, Dir: dir, Pool: d.pool,
			Participants: []recovery.Participant{d.m},
			Redoers:      map[wal.Rmgr]recovery.Redoer{wal.RmgrHeap: Redoer{}, wal.RmgrXact: d.m}})
		if err != nil {
			return err
		}
		control, next = res.Control, res.NextRelFile
		lo := control.LogOptions(fs, dir)
		lo.Inline, lo.BufferSize, lo.Fate = true, 128<<10, d.fate
		if d.log, err = wal.Open(lo, res.End, res.Prev); err != nil {
			return err
		}
	}
	d.pool.SetLog(d.log)
	d.storage = recovery.NewStorage(d.log, d.pool, next)
	d.ckpt = recovery.NewCheckpointer(recovery.CheckpointerOptions{FS: fs, Dir: dir, Pool: d.pool, Log: d.log, Storage: d.storage,
		Participants: []recovery.Participant{d.m}, Fate: d.fate, Control: control})
	if err := d.m.Start(d.log); err != nil {
		return err
	}
	d.h = Open(Options{Pool: d.pool, Log: d.log, Txns: d.m, File: 1, Relation: 1, FillPercent: 100})
	if !fresh {
		_, err = d.ckpt.Run(d.ctx, recovery.EndOfRecovery, nil)
	}
	return err
}

func (d *disk) close() error {
	_, err := d.ckpt.Run(d.ctx, recovery.Shutdown, nil)
	return errors.Join(err, d.log.Close(), d.pool.Close())
}

// verify checks the pages' own invariants and that the visibility map says nothing wrong.
func (d *disk) verify() error {
	n, err := d.h.Blocks()
	if err != nil {
		return err
	}
	hor := d.m.Horizon()
	for b := range n {
		f, err := d.h.pin(d.ctx, b)
		if err != nil {
			return err
		}
		p := f.Page()
		marked := !p.IsNew() && p.Flags()&flagAllVisible != 0
		if err := errors.Join(p.VerifyHeader(f.ID()), p.CheckOverlap(f.ID())); err != nil {
			return err
		}
		if marked && !d.h.allVisible(p, hor) {
			return fmt.Errorf("page %v is marked all-visible and is not", f.ID())
		}
		f.Unpin()
		if vm, err := d.h.AllVisible(d.ctx, b); err != nil || vm != marked {
			return fmt.Errorf("page %d: map says %v, page says %v (%v)", b, vm, marked, err)
		}
	}
	return nil
}

// TestCrashPoints crashes a random workload at many calls of the file system. What was acknowledged is there; what was not is
// there wholly or not at all.
func TestCrashPoints(t *testing.T) {
	total, marked := 0, int64(0)
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 9))
		mem := vfs.NewCrashable()
		type crash struct {
			fs           *vfs.Mem
			acked, maybe map[uint64]string
		}
		var crashes []crash
		acked := map[uint64]string{}
		maybe := acked
		fs := vfs.WithHook(mem, vfs.CrashPoints(mem, 1+rng.IntN(3), seed, []float64{0, 0.3, 0.7, 1}, func(_ int, c *vfs.Mem) {
			crashes = append(crashes, crash{c, acked, maybe})
		}))
		d, err := openDisk(t, fs)
		must(t, err)
		tids := map[uint64]page.TID{}
		next := uint64(1)
		for range 60 {
			tx := d.begin()
			now, where := maps.Clone(acked), maps.Clone(tids)
			work := func() {
				for range 1 + rng.IntN(4) {
					text := strings.Repeat(string('a'+byte(rng.IntN(26))), 1+rng.IntN(900))
					var ids []uint64
					for id := uint64(1); id < next; id++ { // in a repeatable order
						if _, ok := now[id]; ok {
							ids = append(ids, id)
						}
					}
					if len(ids) == 0 || rng.IntN(3) == 0 {
						where[next] = d.insert(d.h, tx, next, text)
						now[next] = text
						next++
						continue
					}
					id := ids[rng.IntN(len(ids))]
					if rng.IntN(5) == 0 {
						text = ""
					}
					res := d.update(d.h, tx, where[id], id, text, rng.IntN(2) == 0)
					if res.Outcome != OK {
						t.Fatalf("seed %d: %v", seed, res.Outcome)
					}
					where[id] = res.TID
					if text == "" {
						delete(now, id)
					} else {
						now[id] = text
					}
				}
			}
			work()
			if rng.IntN(4) == 0 {
				must(t, tx.Savepoint("s"))
				n, w := maps.Clone(now), maps.Clone(where)
				work()
				if rng.IntN(2) == 0 {
					must(t, tx.RollbackTo("s"))
					now, where = n, w
				}
			}
			if rng.IntN(6) == 0 {
				tx.Rollback()
			} else {
				maybe = now
				d.commit(tx)
				acked, tids = now, where
			}
			maybe = acked
			switch rng.IntN(8) {
			case 0:
				_, err := d.ckpt.Run(d.ctx, recovery.Online, nil)
				must(t, err)
			case 1:
				n, _ := d.h.Blocks()
				for b := range n {
					_, err := d.h.Prune(d.ctx, b)
					must(t, err)
				}
			case 2, 3, 4:
				s := d.m.Snapshot()
				if got := d.all(d.h, s, 0); !maps.Equal(got, acked) {
					t.Fatalf("seed %d: %d rows, want %d", seed, len(got), len(acked))
				}
				s.Close()
			}
		}
		must(t, d.verify())
		marked += d.h.Counters().AllVisibleSet.Load()
		must(t, d.close())
		for i, c := range crashes {
			total++
			d, err := openDisk(t, c.fs)
			if err != nil {
				t.Fatalf("seed %d point %d: %v", seed, i, err)
			}
			s := d.m.Snapshot()
			got := d.all(d.h, s, 0)
			s.Close()
			if !maps.Equal(got, c.acked) && !maps.Equal(got, c.maybe) {
				t.Fatalf("seed %d point %d: %d rows are neither the %d acknowledged nor the %d in the making", seed, i, len(got), len(c.acked), len(c.maybe))
			}
			if err := d.verify(); err != nil {
				t.Fatalf("seed %d point %d: %v", seed, i, err)
			}
			tx := d.begin()
			d.insert(d.h, tx, 1<<40, "goes on")
			d.commit(tx)
			must(t, d.close())
		}
	}
	if marked == 0 {
		t.Error("no page was marked all-visible")
	}
	t.Logf("%d crashes", total)
}
