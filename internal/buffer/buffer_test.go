package buffer

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"pgregory.net/rapid"
)

var bg = context.Background()

func newPool(t testing.TB, fs vfs.FS, frames int) *Pool {
	t.Helper()
	if err := fs.MkdirAll("base"); err != nil {
		t.Fatal(err)
	}
	p, err := New(Options{FS: fs, Dir: "base", Frames: frames, SegmentBlocks: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// addPage extends a fork by a heap page with one item.
func addPage(t testing.TB, p *Pool, rel page.RelFile, item string) page.ID {
	t.Helper()
	f, err := p.Extend(bg, rel, page.Main)
	if err != nil {
		t.Fatal(err)
	}
	f.Page().Init(page.TypeHeap, 0)
	f.Page().AddItem([]byte(item), 255)
	f.MarkDirty()
	id := f.ID()
	f.Unlock()
	f.Unpin()
	return id
}

func readItem(p *Pool, id page.ID) (string, error) {
	f, err := p.Pin(bg, id)
	if err != nil {
		return "", err
	}
	defer f.Unpin()
	f.RLock()
	defer f.RUnlock()
	return string(f.Page().Item(1)), nil
}

func TestPagesSurviveEvictionAndReopening(t *testing.T) {
	fs := vfs.NewMem()
	p := newPool(t, fs, 16)
	if err := p.Create(7); err != nil {
		t.Fatal(err)
	}
	var ids []page.ID
	for i := range 100 {
		ids = append(ids, addPage(t, p, 7, strings.Repeat("x", i+1)))
	}
	check := func(p *Pool) {
		t.Helper()
		for i, id := range ids {
			if got, err := readItem(p, id); err != nil || len(got) != i+1 {
				t.Fatalf("page %v: %d bytes, %v", id, len(got), err)
			}
		}
		if n, err := p.Size(7, page.Main); n != 100 || err != nil {
			t.Fatalf("size %d %v", n, err)
		}
	}
	check(p)
	if s := p.Stats(); s.Evictions < 84 || s.Reads == 0 || s.Writes == 0 {
		t.Fatalf("stats %+v", s)
	}
	if err := p.FlushAll(bg); err != nil {
		t.Fatal(err)
	}
	if p.ToSync() != 0 {
		t.Fatal("files left to sync")
	}
	check(newPool(t, fs, 16))
	if _, err := p.Pin(bg, page.ID{Rel: 7, Block: 100}); !errors.Is(err, ErrNoBlock) {
		t.Fatalf("block beyond the end: %v", err)
	}
	if _, err := p.Pin(bg, page.ID{Rel: 8}); !errors.Is(err, ErrNoBlock) {
		t.Fatalf("relation without files: %v", err)
	}
}

func TestDamagedPagesAreNamed(t *testing.T) { // B7
	fs := vfs.NewMem()
	p := newPool(t, fs, 16)
	var ids []page.ID
	for range 10 {
		ids = append(ids, addPage(t, p, 7, "x"))
	}
	p.FlushAll(bg)
	f, _ := fs.Open("base/7.1")
	f.WriteAt([]byte{0xff}, page.Size+5000)
	p = newPool(t, fs, 16)
	_, err := readItem(p, ids[9])
	if !dberr.Is(err, dberr.DataCorrupted) || !strings.Contains(err.Error(), "file base/7.1 page 1:") {
		t.Fatalf("error %v", err)
	}
	if _, err := readItem(p, ids[9]); err == nil {
		t.Fatal("the second read was let through")
	}
	fr, err := p.PinOrZero(bg, ids[9])
	if err != nil || !fr.Page().IsZero() || p.Stats().BadFSM != 1 {
		t.Fatalf("PinOrZero: %v", err)
	}
	fr.Unpin()

	// A page at another's place is as wrong as a damaged one (P2).
	a, _ := fs.Open("base/7")
	b := make([]byte, page.Size)
	a.ReadAt(b, 0)
	a.WriteAt(b, page.Size)
	if _, err := readItem(newPool(t, fs, 16), ids[1]); !dberr.Is(err, dberr.DataCorrupted) {
		t.Fatalf("misplaced page: %v", err)
	}
}

type fakeLog struct{ flushed, asked atomic.Uint64 }

func (l *fakeLog) FlushTo(lsn page.LSN) error {
	l.asked.Store(uint64(lsn))
	l.flushed.Store(uint64(lsn))
	return nil
}
func (l *fakeLog) FlushedLSN() page.LSN { return page.LSN(l.flushed.Load()) }

func TestLogFirst(t *testing.T) { // B1
	fs := vfs.NewMem()
	p := newPool(t, fs, 16)
	log := &fakeLog{}
	p.SetLog(log)
	id := addPage(t, p, 7, "x")
	f, _ := p.Pin(bg, id)
	f.Lock()
	f.Page().SetLSN(500)
	f.MarkDirty()
	f.Unlock()
	f.Unpin()
	if err := p.FlushAll(bg); err != nil || log.asked.Load() != 500 {
		t.Fatalf("flushed to %d: %v", log.asked.Load(), err)
	}
}

func TestAllPinned(t *testing.T) { // B8
	p := newPool(t, vfs.NewMem(), 16)
	var held []*Frame
	for range 16 {
		f, err := p.Extend(bg, 7, page.Main)
		if err != nil {
			t.Fatal(err)
		}
		f.Unlock()
		held = append(held, f)
	}
	ctx, cancel := context.WithTimeout(bg, 20*time.Millisecond)
	defer cancel()
	if _, err := p.Extend(ctx, 7, page.Main); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("err %v", err)
	}
	go func() {
		time.Sleep(10 * time.Millisecond)
		held[3].Unpin()
	}()
	f, err := p.Extend(bg, 7, page.Main)
	if err != nil {
		t.Fatal(err)
	}
	f.Unlock()
	f.Unpin()
}

func TestDropAndTruncate(t *testing.T) {
	fs := vfs.NewMem()
	p := newPool(t, fs, 32)
	for range 20 {
		addPage(t, p, 7, "a")
		addPage(t, p, 9, "b")
	}
	f, _ := p.Extend(bg, 7, page.VM)
	f.Unlock()
	f.Unpin()
	p.FlushAll(bg)
	if err := p.Truncate(bg, 7, page.Main, 9); err != nil {
		t.Fatal(err)
	}
	if n, _ := p.Size(7, page.Main); n != 9 {
		t.Fatalf("size %d", n)
	}
	if n, _ := newPool(t, fs, 16).Size(7, page.Main); n != 9 {
		t.Fatalf("size on disk %d", n)
	}
	id := addPage(t, p, 7, "new")
	if got, err := readItem(p, id); id.Block != 9 || got != "new" || err != nil {
		t.Fatalf("%v %q %v", id, got, err)
	}
	if err := p.Drop(bg, 7); err != nil {
		t.Fatal(err)
	}
	if rels, _ := p.Relations(); len(rels) != 1 || rels[0] != 9 {
		t.Fatalf("left: %v", rels)
	}
	if ok, _ := p.Exists(7); ok {
		t.Fatal("still exists")
	}
	if err := p.FlushAll(bg); err != nil {
		t.Fatal(err)
	}
	if got, err := readItem(p, page.ID{Rel: 9, Block: 19}); got != "b" || err != nil {
		t.Fatalf("%q %v", got, err)
	}
}

func TestFailedSyncPoisons(t *testing.T) { // A11
	fs := vfs.WithHook(vfs.NewMem(), vfs.FailNth(vfs.OpSync, 1, syscall.EIO, false))
	p := newPool(t, fs, 16)
	id := addPage(t, p, 7, "x")
	if err := p.FlushAll(bg); !dberr.Is(err, dberr.IOError) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("flush: %v", err)
	}
	if err := p.FlushAll(bg); !dberr.Is(err, dberr.IOError) {
		t.Fatalf("the second sync was believed: %v", err)
	}
	if _, err := p.Extend(bg, 7, page.Main); !dberr.Is(err, dberr.IOError) {
		t.Fatalf("extend after poison: %v", err)
	}
	_ = id
}

func TestFullDiskIsMetAtExtend(t *testing.T) {
	full := atomic.Bool{}
	fs := vfs.WithHook(vfs.NewMem(), func(op vfs.Op, _ string) error {
		if full.Load() && op&(vfs.OpPreallocate|vfs.OpWrite) != 0 {
			return syscall.ENOSPC
		}
		return nil
	})
	p := newPool(t, fs, 16)
	addPage(t, p, 7, "x")
	full.Store(true)
	var err error
	for range 100 {
		var f *Frame
		if f, err = p.Extend(bg, 7, page.Main); err != nil {
			break
		}
		f.Unlock()
		f.Unpin()
	}
	if !dberr.Is(err, dberr.DiskFull) {
		t.Fatalf("extend: %v", err)
	}
	if err := p.FlushAll(bg); !dberr.Is(err, dberr.DiskFull) {
		t.Fatalf("flush: %v", err)
	}
	full.Store(false)
	if err := p.FlushAll(bg); err != nil {
		t.Fatalf("a full disk must not be the end: %v", err)
	}
}

// TestSyncThatBeganBeforeTheWrite forces A4: a write that is under way while its file is being synced keeps the file in the set.
func TestSyncThatBeganBeforeTheWrite(t *testing.T) {
	p := newPool(t, vfs.NewMem(), 16)
	id := addPage(t, p, 7, "x")
	p.FlushAll(bg)
	f, _ := p.Pin(bg, id)
	defer f.Unpin()
	f.Lock()
	f.MarkDirty()
	f.Unlock()
	ctl := sched.Install(t)
	g := ctl.Stop("buffer.write.returned")
	done := make(chan error)
	go func() { _, err := p.WriteDirty(bg, nil); done <- err }()
	g.Wait() // the write has returned, its note has not
	if err := p.SyncFiles(bg); err != nil {
		t.Fatal(err)
	}
	if p.ToSync() != 1 || !f.Dirty() {
		t.Fatal("the file left the set, or the frame was clean, before the write was over")
	}
	g.Release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if f.Dirty() || p.ToSync() != 1 {
		t.Fatal("frame dirty, or file not to be synced, after the write")
	}
	if p.SyncFiles(bg); p.ToSync() != 0 {
		t.Fatal("a sync after the write must empty the set")
	}
}

// TestCheckpointWaitsForAnEvictorsWrite forces A4: a round of writing does not pass a page that somebody else is writing.
func TestCheckpointWaitsForAnEvictorsWrite(t *testing.T) {
	p := newPool(t, vfs.NewMem(), 16)
	id := addPage(t, p, 7, "x")
	f, _ := p.Pin(bg, id)
	defer f.Unpin()
	ctl := sched.Install(t)
	g := ctl.Stop("buffer.write.copied")
	go p.writeOut(f, true)
	g.Wait()
	done := make(chan struct{})
	go func() { p.WriteDirty(bg, nil); close(done) }()
	select {
	case <-done:
		t.Fatal("the round ended while a write was under way")
	case <-time.After(20 * time.Millisecond):
	}
	g.Release()
	<-done
	if f.Dirty() {
		t.Fatal("dirty after the round")
	}
}

// TestChangeDuringWriteStaysDirty is B5.
func TestChangeDuringWriteStaysDirty(t *testing.T) {
	p := newPool(t, vfs.NewMem(), 16)
	f, _ := p.Pin(bg, addPage(t, p, 7, "x"))
	defer f.Unpin()
	ctl := sched.Install(t)
	g := ctl.Stop("buffer.write.copied")
	done := make(chan struct{})
	go func() { p.WriteDirty(bg, nil); close(done) }()
	g.Wait()
	f.Lock() // no latch is held over the write
	f.Page().AddItem([]byte("more"), 255)
	f.MarkDirty()
	f.Unlock()
	g.Release()
	<-done
	if !f.Dirty() {
		t.Fatal("a change made during the write was forgotten")
	}
}

func TestCleanupLock(t *testing.T) {
	p := newPool(t, vfs.NewMem(), 16)
	id := addPage(t, p, 7, "x")
	a, _ := p.Pin(bg, id)
	b, _ := p.Pin(bg, id)
	if a.TryCleanup() {
		t.Fatal("cleanup with two pins")
	}
	ctl := sched.Install(t)
	g := ctl.Stop("buffer.cleanup.wait")
	done := make(chan error)
	go func() { done <- a.LockCleanup(bg) }()
	g.Wait()
	g.Release()
	b.RLock() // the waiter holds no latch
	b.RUnlock()
	b.Unpin()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	a.Unlock()
	if !a.TryCleanup() {
		t.Fatal("cleanup with one pin")
	}
	a.Unlock()
	b, _ = p.Pin(bg, id)
	ctx, cancel := context.WithTimeout(bg, 5*time.Millisecond)
	defer cancel()
	if err := a.LockCleanup(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("err %v", err)
	}
	a.Unpin()
	b.Unpin()
}

// TestPoolAgainstAMap drives a tiny pool with random calls and compares every page with a map.
func TestPoolAgainstAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fs := vfs.NewMem()
		p := newPool(t, fs, 16)
		defer p.Close()
		model := map[page.RelFile][]byte{}
		for range rapid.IntRange(1, 120).Draw(rt, "n") {
			rel := page.RelFile(rapid.IntRange(1, 3).Draw(rt, "rel"))
			pages := model[rel]
			switch op := rapid.IntRange(0, 9).Draw(rt, "op"); {
			case op < 3:
				v := rapid.Byte().Draw(rt, "v")
				id := addPage(t, p, rel, string([]byte{v}))
				if int(id.Block) != len(pages) {
					rt.Fatalf("extended to %v, have %d", id, len(pages))
				}
				model[rel] = append(pages, v)
			case op < 6 && len(pages) > 0:
				b := rapid.IntRange(0, len(pages)-1).Draw(rt, "b")
				f, err := p.Pin(bg, page.ID{Rel: rel, Block: page.Block(b)})
				if err != nil {
					rt.Fatal(err)
				}
				f.Lock()
				f.Page().Item(1)[0]++
				pages[b]++
				f.MarkDirty()
				f.Unlock()
				f.Unpin()
			case op == 6:
				n := rapid.IntRange(0, 20).Draw(rt, "keep")
				if err := p.Truncate(bg, rel, page.Main, page.Block(n)); err != nil {
					rt.Fatal(err)
				}
				if n < len(pages) {
					model[rel] = pages[:n]
				}
			case op == 7 && rapid.IntRange(0, 4).Draw(rt, "really") == 0:
				if err := p.Drop(bg, rel); err != nil {
					rt.Fatal(err)
				}
				delete(model, rel)
			case op == 8:
				if err := p.FlushAll(bg); err != nil {
					rt.Fatal(err)
				}
				p.Close()
				p = newPool(t, fs, 16)
			case op == 9:
				if _, err := p.BackgroundWrite(bg, 3); err != nil {
					rt.Fatal(err)
				}
			}
			for rel, pages := range model {
				for b, v := range pages {
					got, err := readItem(p, page.ID{Rel: rel, Block: page.Block(b)})
					if err != nil || got != string([]byte{v}) {
						rt.Fatalf("page %d:%d is %q, want %q; %v", rel, b, got, v, err)
					}
				}
			}
		}
	})
}

// TestManyAtOnce lets readers, writers, extenders, a checkpoint and a background writer loose on a pool that is far too small.
func TestManyAtOnce(t *testing.T) {
	fs := vfs.NewMem()
	p := newPool(t, fs, 24)
	const pages = 64
	for range pages {
		addPage(t, p, 1, "\x00\x00\x00\x00\x00\x00\x00\x00")
	}
	var wg sync.WaitGroup
	var adds [pages]atomic.Uint64
	stop := make(chan struct{})
	for w := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for range 3000 {
				b := rng.IntN(pages)
				f, err := p.Pin(bg, page.ID{Rel: 1, Block: page.Block(b)})
				if err != nil {
					t.Error(err)
					return
				}
				switch rng.IntN(4) {
				case 0:
					f.Lock()
					f.Page().Item(1)[0]++
					if f.Page().Item(1)[0] == 0 {
						f.Page().Item(1)[1]++
					}
					adds[b].Add(1)
					f.MarkDirty()
					f.Unlock()
				case 1:
					f.RLock()
					if f.TryUpgrade() {
						f.Page().SetItemID(1, f.Page().ItemID(1))
						f.DowngradeSX()
					}
					f.RUnlock()
				default:
					f.RLock()
					_ = f.Page().Item(1)[0]
					f.RUnlock()
				}
				f.Unpin()
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			addPage(t, p, 2, "y")
		}
	})
	var bgw sync.WaitGroup
	bgw.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := p.FlushAll(bg); err != nil {
				t.Error(err)
			}
			p.BackgroundWrite(bg, 4)
		}
	})
	wg.Wait()
	close(stop)
	bgw.Wait()
	if err := p.FlushAll(bg); err != nil {
		t.Fatal(err)
	}
	q := newPool(t, fs, 24)
	for b := range pages {
		s, err := readItem(q, page.ID{Rel: 1, Block: page.Block(b)})
		if err != nil {
			t.Fatal(err)
		}
		if got := uint64(s[0]) | uint64(s[1])<<8; got != adds[b].Load() {
			t.Errorf("page %d: %d, want %d", b, got, adds[b].Load())
		}
	}
}

// TestDropBesideACheckpoint drops and cuts relations while checkpoints and evictions look at their pages.
func TestDropBesideACheckpoint(t *testing.T) {
	fs := vfs.NewMem()
	p := newPool(t, fs, 32)
	stop := make(chan struct{})
	var bgw, wg sync.WaitGroup
	for range 2 {
		bgw.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := p.FlushAll(bg); err != nil {
					t.Error(err)
				}
				p.BackgroundWrite(bg, 8)
			}
		})
	}
	for w := range 3 {
		wg.Go(func() {
			for i := range 40 {
				rel := page.RelFile(1000*w + i + 1)
				for range 20 {
					f, err := p.Extend(bg, rel, page.Main)
					if err != nil {
						t.Error(err)
						return
					}
					f.Page().Init(page.TypeHeap, 0)
					f.MarkDirty()
					f.Unlock()
					f.Unpin()
				}
				if err := p.Truncate(bg, rel, page.Main, 7); err != nil {
					t.Error(err)
				}
				if i%4 != 0 {
					if err := p.Drop(bg, rel); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	bgw.Wait()
	if err := p.FlushAll(bg); err != nil {
		t.Fatal(err)
	}
	rels, _ := newPool(t, fs, 16).Relations()
	if len(rels) != 30 {
		t.Fatalf("%d relations are left, want 30", len(rels))
	}
	q := newPool(t, fs, 16)
	for _, rel := range rels {
		if n, err := q.Size(rel, page.Main); n != 7 || err != nil {
			t.Errorf("relation %d has %d pages: %v", rel, n, err)
		}
	}
}

func TestRingLeavesTheRestAlone(t *testing.T) {
	p := newPool(t, vfs.NewMem(), 64)
	for range 300 {
		addPage(t, p, 1, "x")
	}
	for range 20 {
		addPage(t, p, 2, "hot")
	}
	for range 4 {
		for b := range 20 {
			readItem(p, page.ID{Rel: 2, Block: page.Block(b)})
		}
	}
	r := p.NewRing(256 << 10)
	for b := range 300 {
		f, err := p.PinRing(bg, page.ID{Rel: 1, Block: page.Block(b)}, r)
		if err != nil {
			t.Fatal(err)
		}
		f.Unpin()
	}
	before := p.Stats().Reads
	for b := range 20 {
		readItem(p, page.ID{Rel: 2, Block: page.Block(b)})
	}
	if n := p.Stats().Reads - before; n != 0 {
		t.Fatalf("the scan pushed out %d hot pages", n)
	}
}

func TestOpenFilesAreLimited(t *testing.T) {
	fs := vfs.NewMem()
	fs.MkdirAll("base")
	p, err := New(Options{FS: fs, Dir: "base", Frames: 16, OpenFiles: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for rel := range page.RelFile(40) {
		addPage(t, p, rel+1, "x")
	}
	p.FlushAll(bg)
	if n := p.files.open.Load(); n > 10 {
		t.Fatalf("%d files open", n)
	}
	for rel := range page.RelFile(40) {
		if got, err := readItem(p, page.ID{Rel: rel + 1}); got != "x" || err != nil {
			t.Fatalf("%q %v", got, err)
		}
	}
	if n := p.files.open.Load(); n > 10 {
		t.Fatalf("%d files open", n)
	}
}

// Where more files than may be open have unsynced writes, a file without any is still read and extended.
func TestOpenFilesWithUnsyncedWrites(t *testing.T) {
	fs := vfs.NewMem()
	fs.MkdirAll("base")
	p, err := New(Options{FS: fs, Dir: "base", Frames: 64, OpenFiles: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	clean := addPage(t, p, 100, "x")
	if err := p.FlushAll(bg); err != nil {
		t.Fatal(err)
	}
	if err := p.SyncFiles(bg); err != nil {
		t.Fatal(err)
	}
	for rel := range page.RelFile(30) {
		id := addPage(t, p, rel+1, "x")
		if err := p.files.read(clean, make([]byte, page.Size)); err != nil {
			t.Fatal(err)
		}
		if err := p.files.write(id, make([]byte, page.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.files.open.Load(); n > 32 {
		t.Fatalf("%d files open", n)
	}
	if err := p.FlushAll(bg); err != nil {
		t.Fatal(err)
	}
	if err := p.SyncFiles(bg); err != nil {
		t.Fatal(err)
	}
	if n := p.files.open.Load(); n > 10 {
		t.Fatalf("%d files open after a sync", n)
	}
}

func BenchmarkPin(b *testing.B) {
	p := newPool(b, vfs.NewMem(), 4096)
	id := addPage(b, p, 1, "x")
	b.Run("pin", func(b *testing.B) {
		for b.Loop() {
			f, _ := p.Pin(bg, id)
			f.Unpin()
		}
	})
	b.Run("pin+latch", func(b *testing.B) {
		for b.Loop() {
			f, _ := p.Pin(bg, id)
			f.RLock()
			f.RUnlock()
			f.Unpin()
		}
	})
	b.Run("miss", func(b *testing.B) {
		p := newPool(b, vfs.NewMem(), 64)
		for range 256 {
			addPage(b, p, 1, "x")
		}
		p.FlushAll(bg)
		i := 0
		for b.Loop() {
			f, _ := p.Pin(bg, page.ID{Rel: 1, Block: page.Block(i % 256)})
			f.Unpin()
			i++
		}
	})
}
