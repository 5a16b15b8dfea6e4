package wal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"pgregory.net/rapid"
)

var bg = context.Background()

func options(fs vfs.FS) Options {
	return Options{FS: fs, Dir: "wal", DatabaseID: [16]byte{1, 2, 3}, Timeline: 1, SegmentSize: 64 << 10, BufferSize: 256 << 10, Inline: true}
}

func create(t testing.TB, o Options) *Log {
	t.Helper()
	if err := o.FS.MkdirAll(o.Dir); err != nil {
		t.Fatal(err)
	}
	o.FS.SyncDir("/")
	l, err := Create(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func insert(t testing.TB, l *Log, xid uint64, data []byte) page.LSN {
	t.Helper()
	b := NewBuilder().Begin(RmgrHeap, 7, xid)
	b.Data(data)
	end, err := l.Insert(b)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// readAll returns the xids of the records from a place on, and how reading ended.
func readAll(o Options, from page.LSN) (xids []uint64, end, prev page.LSN, err error) {
	r, err := NewReader(o, from)
	if err != nil {
		return nil, 0, 0, err
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err != nil {
			end, prev = r.End()
			return xids, end, prev, err
		}
		xids = append(xids, rec.XID)
	}
}

func body(i, n int) []byte { return bytes.Repeat([]byte{byte(i)}, n) }

func TestRecordsComeBackInOrder(t *testing.T) { // W1
	rapid.Check(t, func(rt *rapid.T) {
		o := options(vfs.NewMem())
		l := create(t, o)
		defer l.Close()
		type want struct {
			end  page.LSN
			data []byte
		}
		var all []want
		last := page.LSN(0)
		for i := range rapid.IntRange(1, 60).Draw(rt, "n") {
			d := body(i, rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(60<<10, 100<<10)).Draw(rt, "len"))
			end := insert(t, l, uint64(i), d)
			if end <= last {
				rt.Fatalf("LSN %v after %v", end, last)
			}
			last = end
			all = append(all, want{end, d})
			if rapid.IntRange(0, 3).Draw(rt, "flush") == 0 {
				if err := l.FlushTo(end); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if err := l.FlushTo(last); err != nil {
			rt.Fatal(err)
		}
		r, _ := NewReader(o, 0)
		defer r.Close()
		for i, w := range all {
			rec, err := r.Next()
			if err != nil {
				rt.Fatalf("record %d of %d: %v", i, len(all), err)
			}
			if rec.LSN != w.end || rec.XID != uint64(i) || !bytes.Equal(rec.Data, w.data) || rec.Info != 7 {
				rt.Fatalf("record %d: %v %d, want %v", i, rec.LSN, rec.XID, w.end)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			rt.Fatalf("end: %v", err)
		}
	})
}

// TestRecordEndsAtSegmentEnd: the place of the next record is then behind the next segment's header; flushing up to there, as a
// checkpoint at that moment does, is flushing what there is.
func TestRecordEndsAtSegmentEnd(t *testing.T) {
	o := options(vfs.NewMem())
	l := create(t, o)
	end := insert(t, l, 1, nil)
	end = insert(t, l, 2, body(1, int(o.SegmentSize)-int(end)-headerSize))
	if int64(end) != o.SegmentSize {
		t.Fatalf("the record ends at %v", end)
	}
	redo := l.BeginCheckpoint(nil)
	if redo != end+segHeaderSize {
		t.Fatalf("redo %v", redo)
	}
	if err := l.FlushTo(redo); err != nil || l.FlushedLSN() != end {
		t.Fatalf("flushed %v: %v", l.FlushedLSN(), err)
	}
	xids, e, prev, err := readAll(o, 0)
	if err != io.EOF || len(xids) != 2 || e != end {
		t.Fatalf("%v %v %v", xids, e, err)
	}
	l.Close()
	if l, err = Open(o, e, prev); err != nil {
		t.Fatal(err)
	}
	l.FlushTo(insert(t, l, 3, nil))
	for _, from := range []page.LSN{0, redo} {
		if xids, _, _, err := readAll(o, from); err != io.EOF || xids[len(xids)-1] != 3 {
			t.Fatalf("from %v: %v %v", from, xids, err)
		}
	}
	l.Close()
}

func TestLogGoesOnAfterReopening(t *testing.T) {
	o := options(vfs.NewMem())
	l := create(t, o)
	for i := range 100 {
		insert(t, l, uint64(i), body(i, 3000))
		if i%20 == 19 {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			xids, end, prev, err := readAll(o, 0)
			if err != io.EOF || len(xids) != i+1 {
				t.Fatalf("%d records, %v", len(xids), err)
			}
			if l, err = Open(o, end, prev); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTornTail crashes while unsynced writes are under way: what was flushed is there, what follows it is a prefix of what was
// inserted, and a log continued from there never shows what the crash had left behind (W2, W3, W4).
func TestTornTail(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 2))
		fs := vfs.NewCrashable()
		var clone *vfs.Mem
		o := options(fs)
		armed := false
		o.FS = vfs.WithHook(fs, func(op vfs.Op, _ string) error {
			if armed && op == vfs.OpSync {
				clone = fs.CrashClone(rng, []float64{0, 0.2, 0.5, 0.9}[rng.IntN(4)])
				armed = false
			}
			return nil
		})
		l := create(t, o)
		n := 0
		for range 1 + rng.IntN(20) {
			insert(t, l, uint64(n), body(n, rng.IntN(4000)))
			n++
		}
		l.FlushTo(l.InsertedLSN())
		acked := n
		for range 5 + rng.IntN(40) {
			insert(t, l, uint64(n), body(n, rng.IntN(4000)))
			n++
		}
		armed = true
		l.FlushTo(l.InsertedLSN())
		l.Close()

		// After the crash, twice: open, look, go on, crash again with everything synced.
		var before []uint64
		for round := range 2 {
			o2 := options(clone)
			xids, end, prev, err := readAll(o2, 0)
			if err != io.EOF {
				t.Fatalf("seed %d round %d: %v", seed, round, err)
			}
			if round == 0 {
				if len(xids) < acked || len(xids) > n {
					t.Fatalf("seed %d: %d records, acknowledged %d, inserted %d", seed, len(xids), acked, n)
				}
				for i, x := range xids {
					if x != uint64(i) {
						t.Fatalf("seed %d: record %d is %d", seed, i, x)
					}
				}
			} else if !slices.Equal(xids, before) {
				t.Fatalf("seed %d: %v after going on, want %v", seed, xids, before)
			}
			l2, err := Open(o2, end, prev)
			if err != nil {
				t.Fatal(err)
			}
			// Whatever ends of lost records lie beyond, valid and in their places, must not follow on these.
			for i := range 1 + rng.IntN(4) {
				x := uint64(1000*(round+1) + i)
				insert(t, l2, x, body(i, rng.IntN(4000)))
				xids = append(xids, x)
			}
			l2.FlushTo(l2.InsertedLSN())
			before = xids
			clone = clone.CrashClone(rng, 0.5)
			l2.Close()
		}
	}
}

// TestDamageInTheMiddleIsRefused is W4.
func TestDamageInTheMiddleIsRefused(t *testing.T) {
	fs := vfs.NewMem()
	o := options(fs)
	l := create(t, o)
	var ends []page.LSN
	for i := range 60 {
		ends = append(ends, insert(t, l, uint64(i), body(i, 2000)))
		if i%10 == 9 {
			l.FlushTo(ends[i])
		}
	}
	l.Close()
	flip := func(at page.LSN) {
		f, _ := fs.Open(l.name(l.number(at)))
		var b [1]byte
		off := int64(at) % o.SegmentSize
		f.ReadAt(b[:], off)
		b[0] ^= 0x40
		f.WriteAt(b[:], off)
	}
	flip(ends[25] - 100)
	if xids, _, _, err := readAll(o, 0); !dberr.Is(err, dberr.DataCorrupted) || len(xids) != 25 {
		t.Fatalf("damage in the middle: %d records, %v", len(xids), err)
	}
	flip(ends[25] - 100)
	flip(ends[55] - 100) // after the last watermark: as if its write had been torn
	if xids, _, _, err := readAll(o, 0); err != io.EOF || len(xids) != 55 {
		t.Fatalf("damage in the last batch: %d records, %v", len(xids), err)
	}
}

// TestRecycledSegmentsShowNothingOld is W3.
func TestRecycledSegmentsShowNothingOld(t *testing.T) {
	fs := vfs.NewMem()
	o := options(fs)
	l := create(t, o)
	var from page.LSN
	count := 0
	for i := range 400 {
		end := insert(t, l, uint64(i), body(i, 1000))
		l.FlushTo(end)
		count++
		if i%50 == 49 {
			from = l.BeginCheckpoint(nil)
			count = 0
			if err := l.Recycle(from, 2); err != nil {
				t.Fatal(err)
			}
		}
		if xids, _, _, err := readAll(o, from); err != io.EOF || len(xids) != count {
			t.Fatalf("after %d: %d records from %v, want %d; %v", i, len(xids), from, count, err)
		}
	}
	if s := l.Stats(); s.Recycled == 0 {
		t.Fatal("nothing was recycled")
	}
	if nums, _ := l.list(); len(nums) > 6 {
		t.Fatalf("%d segments are kept", len(nums))
	}
}

func TestAnotherDatabasesLogIsNotRead(t *testing.T) {
	o := options(vfs.NewMem())
	l := create(t, o)
	l.FlushTo(insert(t, l, 1, nil))
	o.DatabaseID[0]++
	if xids, _, _, err := readAll(o, 0); err != io.EOF || len(xids) != 0 {
		t.Fatalf("%v %v", xids, err)
	}
}

func TestFailedSyncOrShortWriteIsTheEnd(t *testing.T) { // W6
	for _, c := range []struct {
		name string
		op   vfs.Op
		err  error
	}{{"sync", vfs.OpSync, syscall.EIO}, {"short write", vfs.OpWrite, vfs.ErrShort}, {"no space", vfs.OpWrite, syscall.ENOSPC}} {
		for _, inline := range []bool{true, false} {
			t.Run(fmt.Sprint(c.name, inline), func(t *testing.T) {
				var fail atomic.Bool
				o := options(vfs.WithHook(vfs.NewMem(), func(op vfs.Op, _ string) error {
					if op == c.op && fail.CompareAndSwap(true, false) { // only once: the next call would succeed
						return c.err
					}
					return nil
				}))
				o.Inline = inline
				l := create(t, o)
				l.FlushTo(insert(t, l, 1, nil))
				var published atomic.Uint64
				l.onFlush = func(lsn page.LSN) { published.Store(uint64(lsn)) }
				fail.Store(true)
				end := insert(t, l, 2, nil)
				for range 2 {
					if err := l.FlushTo(end); !dberr.Is(err, dberr.IOError) || !errors.Is(err, c.err) {
						t.Fatalf("flush: %v", err)
					}
				}
				if _, err := l.Insert(NewBuilder().Begin(RmgrHeap, 0, 3)); !dberr.Is(err, dberr.IOError) {
					t.Fatalf("insert: %v", err)
				}
				if published.Load() != 0 || l.FlushedLSN() >= end {
					t.Fatal("something was acknowledged")
				}
			})
		}
	}
}

func TestGroupCommit(t *testing.T) { // W2
	o := options(vfs.NewMem())
	o.Inline = false
	var syncs atomic.Int64
	o.FS = vfs.WithHook(o.FS, func(op vfs.Op, _ string) error {
		if op == vfs.OpSync {
			syncs.Add(1)
		}
		return nil
	})
	l := create(t, o)
	var order []page.LSN
	var queue struct {
		sync.Mutex
		lsns []page.LSN
	}
	var last page.LSN
	l.OnFlush(func(f page.LSN) {
		if f <= last {
			t.Errorf("flushed %v after %v", f, last)
		}
		last = f
	})
	ctl := sched.Install(t)
	g := ctl.Stop("wal.flush.begin")
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			b := NewBuilder().Begin(RmgrXact, 0, uint64(i+1))
			end, err := l.InsertWith(b, func(end page.LSN) {
				queue.Lock()
				queue.lsns = append(queue.lsns, end)
				queue.Unlock()
			})
			if err != nil {
				t.Error(err)
			}
			if err := l.FlushTo(end); err != nil {
				t.Error(err)
			}
			if l.FlushedLSN() < end {
				t.Error("acknowledged before it was durable")
			}
		})
	}
	g.Wait()
	for l.Stats().Records < 50 { // all of them come while the first flush stands
	}
	syncs.Store(0)
	g.Release()
	wg.Wait()
	if n := syncs.Load(); n > 4 {
		t.Errorf("%d syncs for 50 commits", n)
	}
	order = queue.lsns
	for i := 1; i < len(order); i++ {
		if order[i] <= order[i-1] {
			t.Fatal("A2: the queue's order is not the order of LSNs")
		}
	}
}

func TestRingFillsUp(t *testing.T) {
	for _, inline := range []bool{true, false} {
		o := options(vfs.NewMem())
		o.Inline, o.BufferSize = inline, 64<<10
		l := create(t, o)
		for i := range 100 {
			insert(t, l, uint64(i), body(i, 20000))
		}
		l.FlushTo(l.InsertedLSN())
		if xids, _, _, err := readAll(o, 0); err != io.EOF || len(xids) != 100 {
			t.Fatalf("%d %v", len(xids), err)
		}
	}
}

func newPool(t testing.TB, fs vfs.FS) *buffer.Pool {
	fs.MkdirAll("base")
	p, err := buffer.New(buffer.Options{FS: fs, Dir: "base", Frames: 32})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func heapPage(t testing.TB, p *buffer.Pool, items int) *buffer.Frame {
	f, err := p.Extend(bg, 5, page.Main)
	if err != nil {
		t.Fatal(err)
	}
	f.Page().Init(page.TypeHeap, 0)
	for i := range items {
		f.Page().AddItem(body(i, 50), 255)
	}
	f.MarkDirty()
	return f
}

func TestImages(t *testing.T) { // W5
	fs := vfs.NewMem()
	o := options(fs)
	l := create(t, o)
	p := newPool(t, fs)
	p.SetLog(l)
	f := heapPage(t, p, 40)
	log := func(flags BlockFlags) *Record {
		b := NewBuilder().Begin(RmgrHeap, 1, 9)
		i := b.Block(f, flags)
		b.BlockData(i, []byte("de"), []byte("lta"))
		b.Data([]byte("main"))
		end, err := l.Insert(b)
		if err != nil {
			t.Fatal(err)
		}
		if f.Page().LSN() != end {
			t.Fatal("the page did not get the LSN")
		}
		l.FlushTo(end)
		r, _ := NewReader(o, 0)
		defer r.Close()
		for {
			rec, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if rec.LSN == end {
				if string(rec.Data) != "main" || rec.Blocks[0].ID != f.ID() {
					t.Fatalf("record %+v", rec)
				}
				return rec
			}
		}
	}
	if r := log(WillInit | Standard); r.Blocks[0].HasImage || string(r.Blocks[0].Data) != "delta" {
		t.Fatal("an image of a page that is made anew")
	}
	if r := log(Standard); r.Blocks[0].HasImage {
		t.Fatal("an image although the page was logged after the redo pointer")
	}
	redo := l.BeginCheckpoint(nil)
	if f.Page().LSN() > redo {
		t.Fatal("redo pointer below the page")
	}
	r := log(Standard)
	if !r.Blocks[0].HasImage || len(r.Blocks[0].Data) != 0 {
		t.Fatal("no image after the redo pointer moved")
	}
	var got [page.Size]byte
	if err := r.Blocks[0].Restore(got[:]); err != nil {
		t.Fatal(err)
	}
	page.Page(got[:]).SetLSN(f.Page().LSN())
	if !bytes.Equal(got[:], f.Page()) {
		t.Fatal("the image is not the page")
	}
	if r := log(Standard); r.Blocks[0].HasImage {
		t.Fatal("a second image")
	}
	if r := log(Standard | ForceImage | KeepData); !r.Blocks[0].HasImage || string(r.Blocks[0].Data) != "delta" {
		t.Fatal("forced image, kept data")
	}
	stop := l.ForceImages()
	if r := log(0); !r.Blocks[0].HasImage {
		t.Fatal("no image during a backup")
	}
	stop()
	f.Unlock()
	f.Unpin()
}

// TestRedoPointerMovesDuringInsert forces the race of W5: the decision about images is made again if a checkpoint begins between
// it and the insert lock.
func TestRedoPointerMovesDuringInsert(t *testing.T) {
	fs := vfs.NewMem()
	o := options(fs)
	l := create(t, o)
	p := newPool(t, fs)
	p.SetLog(l)
	f := heapPage(t, p, 3)
	b := NewBuilder().Begin(RmgrHeap, 1, 9)
	b.Block(f, WillInit|Standard)
	l.Insert(b)
	ctl := sched.Install(t)
	g := ctl.Stop("wal.insert.assembled")
	done := make(chan page.LSN)
	go func() {
		b := NewBuilder().Begin(RmgrHeap, 1, 10)
		b.Block(f, Standard)
		end, err := l.Insert(b)
		if err != nil {
			t.Error(err)
		}
		done <- end
	}()
	g.Wait()
	redo := l.BeginCheckpoint(nil)
	g.Release()
	l.FlushTo(<-done)
	r, _ := NewReader(o, redo)
	defer r.Close()
	rec, err := r.Next()
	if err != nil || rec.XID != 10 || !rec.Blocks[0].HasImage {
		t.Fatalf("the first record after the redo pointer has no image: %+v %v", rec, err)
	}
	f.Unlock()
	f.Unpin()
}

func TestSeveralBlocks(t *testing.T) {
	fs := vfs.NewMem()
	o := options(fs)
	l := create(t, o)
	p := newPool(t, fs)
	b := NewBuilder().Begin(RmgrBTree, 1, 9)
	var frames []*buffer.Frame
	for i := range 5 {
		f := heapPage(t, p, i)
		frames = append(frames, f)
		b.BlockData(b.Block(f, WillInit), body(i, i))
	}
	end, err := l.Insert(b)
	if err != nil {
		t.Fatal(err)
	}
	l.FlushTo(end)
	r, _ := NewReader(o, 0)
	defer r.Close()
	rec, err := r.Next()
	if err != nil || len(rec.Blocks) != 5 {
		t.Fatal(err)
	}
	for i, br := range rec.Blocks {
		if br.ID != frames[i].ID() || !bytes.Equal(br.Data, body(i, i)) || br.Flags != WillInit {
			t.Fatalf("block %d: %+v", i, br)
		}
		frames[i].Unlock()
		frames[i].Unpin()
	}
}

// FuzzDecode: no bytes make the decoder panic or give it slices outside of them.
func FuzzDecode(f *testing.F) {
	b := NewBuilder().Begin(RmgrHeap, 1, 9)
	b.Data([]byte("main"))
	b.assemble(0)
	f.Add(b.buf)
	fs := vfs.NewMem()
	p := newPool(f, fs)
	b.Begin(RmgrHeap, 1, 9)
	b.BlockData(b.Block(heapPage(f, p, 4), ForceImage|KeepData|Standard), []byte("data"))
	b.BlockData(b.Block(heapPage(f, p, 4), WillInit), []byte("data"))
	b.assemble(0)
	f.Add(b.buf)
	f.Fuzz(func(t *testing.T, buf []byte) {
		if len(buf) >= 4 {
			le.PutUint32(buf, uint32(len(buf)))
		}
		var r Record
		if r.decode(buf) != nil {
			return
		}
		var dst [page.Size]byte
		for i := range r.Blocks {
			if r.Blocks[i].HasImage {
				_ = r.Blocks[i].Restore(dst[:])
			}
		}
	})
}

// FuzzReader: no content of a segment makes the reader panic or run on for ever.
func FuzzReader(f *testing.F) {
	f.Add([]byte("x"), uint32(100))
	f.Fuzz(func(t *testing.T, junk []byte, at uint32) {
		fs := vfs.NewMem()
		o := options(fs)
		l := create(t, o)
		for i := range 20 {
			l.FlushTo(insert(t, l, uint64(i), body(i, 100)))
		}
		l.Close()
		file, _ := fs.Open(l.name(0))
		file.WriteAt(junk, int64(at%(64<<10)))
		xids, _, _, err := readAll(o, 0)
		if err == nil || len(xids) > 20 {
			t.Fatalf("%d records, %v", len(xids), err)
		}
		for i, x := range xids {
			if x != uint64(i) {
				t.Fatalf("record %d is %d", i, x)
			}
		}
	})
}

func BenchmarkCommit(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			o := options(vfs.OS)
			o.Inline, o.SegmentSize, o.BufferSize = false, 16<<20, 4<<20
			o.Dir = filepath.Join(b.TempDir(), "wal")
			vfs.OS.MkdirAll(o.Dir)
			l, err := Create(o)
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			b.ResetTimer()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					bld := NewBuilder()
					data := make([]byte, 160)
					for left.Add(-1) >= 0 {
						bld.Begin(RmgrXact, 0, 1).Data(data)
						end, err := l.Insert(bld)
						if err == nil {
							err = l.FlushTo(end)
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/float64(max(1, l.Stats().Flushes)), "commits/flush")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

func BenchmarkInsert(b *testing.B) {
	o := options(vfs.NewMem())
	o.Inline, o.SegmentSize, o.BufferSize = true, 1<<20, 1<<20
	l := create(b, o)
	bld := NewBuilder()
	data := make([]byte, 160)
	b.ReportAllocs()
	for b.Loop() {
		bld.Begin(RmgrXact, 0, 1).Data(data)
		if _, err := l.Insert(bld); err != nil {
			b.Fatal(err)
		}
	}
}
