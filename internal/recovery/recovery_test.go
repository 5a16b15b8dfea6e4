package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

var bg = context.Background()

// toy is the smallest database: a relation of pages to which numbered items are appended, each in a transaction of its own, and
// a status for every transaction that is kept in memory and in checkpoints alone.
type toy struct {
	t       testing.TB
	fs      vfs.FS
	pool    *buffer.Pool
	log     *wal.Log
	ckpt    *Checkpointer
	storage *Storage
	status  *statuses
	rel     page.RelFile
	res     *Result
}

// statuses stands for package txn.
type statuses struct {
	mu        sync.Mutex
	cond      *sync.Cond
	committed map[uint64]page.LSN // by xid: where its final record ends
	pending   map[uint64]page.LSN // record inserted, status not stored
	oldest    page.LSN            // of a commit that needs several records
}

func (s *statuses) OldestContinuation() page.LSN { return s.oldest }

func newStatuses() *statuses {
	s := &statuses{committed: map[uint64]page.LSN{}, pending: map[uint64]page.LSN{}}
	s.cond = sync.NewCond(&s.mu)
	return s
}

func (s *statuses) Name() string { return "toy" }

func (s *statuses) WaitFinal(_ context.Context, redo page.LSN) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		wait := false
		for _, l := range s.pending {
			wait = wait || l <= redo
		}
		if !wait {
			return nil
		}
		s.cond.Wait()
	}
}

func (s *statuses) Checkpoint(_ context.Context, redo page.LSN) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b []byte
	for x, l := range s.committed {
		if l <= redo {
			b = le.AppendUint64(le.AppendUint64(b, x), uint64(l))
		}
	}
	return b, nil
}

func (s *statuses) Restore(b []byte) error {
	for ; len(b) >= 16; b = b[16:] {
		s.committed[le.Uint64(b)] = page.LSN(le.Uint64(b[8:]))
	}
	return nil
}

func (s *statuses) Redo(_ *Context, rec *wal.Record) error {
	s.committed[rec.XID] = rec.LSN
	return nil
}

// toyRedo repeats an append.
type toyRedo struct{}

func (toyRedo) Name() string { return "toy heap" }
func (toyRedo) Redo(c *Context, rec *wal.Record) error {
	f, apply, err := c.Block(rec, 0)
	if err != nil {
		return err
	}
	if !apply {
		c.Release(f)
		return nil
	}
	if rec.Blocks[0].Flags&wal.WillInit != 0 {
		f.Page().Init(page.TypeHeap, 0)
	}
	if !f.Page().AddItemAt(int(rec.Info), rec.Blocks[0].Data) {
		c.Release(f)
		return dberr.New(dberr.DataCorrupted, "item %d does not fit %v", rec.Info, f.ID())
	}
	c.Done(f, rec)
	return nil
}

const segBlocks = 16

// background gives toys opened from now on a flusher of their own.
var background = false

// keepAll makes toys name every relation file in their catalog.
var keepAll = false

func openToy(t testing.TB, fs vfs.FS) (*toy, error) {
	d := &toy{t: t, fs: fs, status: newStatuses()}
	there, err := Exists(fs, "db")
	if err != nil {
		return nil, err
	}
	if !there {
		dir, err := BeginInit(fs, "db")
		if err != nil {
			return nil, err
		}
		if err := d.open(dir, true); err != nil {
			return nil, err
		}
		if d.rel, err = d.storage.Create(0); err != nil {
			return nil, err
		}
		if err := d.close(); err != nil {
			return nil, err
		}
		if err := EndInit(fs, "db"); err != nil {
			return nil, err
		}
		d.status = newStatuses()
	}
	return d, d.open("db", false)
}

func (d *toy) open(dir string, fresh bool) error {
	fate := new(invariant.Fate)
	var err error
	d.pool, err = buffer.New(buffer.Options{FS: d.fs, Dir: dir + "/base", Frames: 16, SegmentBlocks: segBlocks, Fate: fate})
	if err != nil {
		return err
	}
	next := page.RelFile(1)
	var control Control
	if fresh {
		control = NewControl(64<<10, segBlocks)
		control.DatabaseID = [16]byte{1}
		lo := control.LogOptions(d.fs, dir)
		lo.Inline, lo.BufferSize, lo.Fate = !background, 128<<10, fate
		if d.log, err = wal.Create(lo); err != nil {
			return err
		}
	} else {
		d.res, err = Recover(bg, Options{FS: d.fs, Dir: dir, Pool: d.pool, Participants: []Participant{d.status},
			Redoers: map[wal.Rmgr]Redoer{wal.RmgrHeap: toyRedo{}, wal.RmgrXact: redoFunc{d.status}}})
		if err != nil {
			return err
		}
		control, next = d.res.Control, d.res.NextRelFile
		lo := control.LogOptions(d.fs, dir)
		lo.Inline, lo.BufferSize, lo.Fate = !background, 128<<10, fate
		if d.log, err = wal.Open(lo, d.res.End, d.res.Prev); err != nil {
			return err
		}
	}
	d.pool.SetLog(d.log)
	d.storage = NewStorage(d.log, d.pool, next)
	d.ckpt = NewCheckpointer(CheckpointerOptions{FS: d.fs, Dir: dir, Pool: d.pool, Log: d.log, Storage: d.storage,
		Participants: []Participant{d.status}, Fate: fate, Control: control})
	if fresh {
		return nil
	}
	d.rel = 1
	if _, err := d.storage.RemoveUnnamed(bg, func(r page.RelFile) bool { return r == d.rel || keepAll }); err != nil {
		return err
	}
	if !d.res.Clean {
		if _, err := d.ckpt.Run(bg, EndOfRecovery, nil); err != nil {
			return err
		}
	}
	return nil
}

type redoFunc struct{ *statuses }

func (d *toy) close() error {
	_, err := d.ckpt.Run(bg, Shutdown, nil)
	return errors.Join(err, d.log.Close(), d.pool.Close())
}

// abandon gives memory back as a crash would.
func (d *toy) abandon() {
	if d.pool != nil {
		d.pool.Close()
	}
}

// insert adds an item with the transaction's number and returns before it is committed.
func (d *toy) insert(xid uint64, size int) error {
	item := append([]byte(strconv.FormatUint(xid, 10)+" "), bytes.Repeat([]byte{byte(xid)}, size)...)
	var f *buffer.Frame
	n, err := d.pool.Size(d.rel, page.Main)
	if err != nil {
		return err
	}
	flags := wal.Standard
	if n > 0 {
		if f, err = d.pool.Pin(bg, page.ID{Rel: d.rel, Block: n - 1}); err != nil {
			return err
		}
		f.Lock()
		if !f.Page().IsNew() && (f.Page().FreeSpace() < len(item) || f.Page().NumItems() >= 250) {
			f.Unlock()
			f.Unpin()
			f = nil
		}
	}
	if f == nil {
		if f, err = d.pool.Extend(bg, d.rel, page.Main); err != nil {
			return err
		}
	}
	defer f.Unpin()
	defer f.Unlock()
	if f.Page().IsNew() {
		f.Page().Init(page.TypeHeap, 0)
		flags |= wal.WillInit
	}
	off := f.Page().AddItem(item, 250)
	b := wal.NewBuilder().Begin(wal.RmgrHeap, uint8(off), xid)
	b.BlockData(b.Block(f, flags), item)
	_, err = d.log.Insert(b)
	return err
}

// commit is durable, and its status stored, when it returns.
func (d *toy) commit(xid uint64) error {
	s := d.status
	end, err := d.log.InsertWith(wal.NewBuilder().Begin(wal.RmgrXact, 1, xid), func(end page.LSN) {
		s.mu.Lock()
		s.pending[xid] = end
		s.mu.Unlock()
	})
	if err == nil {
		err = d.log.FlushTo(end)
	}
	sched.Point("toy.commit.store")
	s.mu.Lock()
	if err == nil {
		s.committed[xid] = end
	}
	delete(s.pending, xid)
	s.cond.Broadcast()
	s.mu.Unlock()
	return err
}

// visible returns how often each committed transaction's item is there, having verified every page on the way.
func (d *toy) visible() (map[uint64]int, error) {
	out := map[uint64]int{}
	n, err := d.pool.Size(d.rel, page.Main)
	if err != nil {
		return nil, err
	}
	for b := range n {
		f, err := d.pool.Pin(bg, page.ID{Rel: d.rel, Block: b})
		if err != nil {
			return nil, err
		}
		f.RLock()
		for off := 1; off <= f.Page().NumItems(); off++ {
			text, _, _ := strings.Cut(string(f.Page().Item(off)), " ")
			x, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return nil, err
			}
			if d.status.committed[x] != 0 {
				out[x]++
			}
		}
		if l := f.Page().LSN(); l > d.log.InsertedLSN() {
			return nil, fmt.Errorf("page %v has LSN %v, the log ends at %v", f.ID(), l, d.log.InsertedLSN())
		}
		f.RUnlock()
		f.Unpin()
	}
	return out, nil
}

// check opens a clone and holds it against what was promised: acknowledged transactions are there once; what is there was begun.
func check(t *testing.T, what string, fs vfs.FS, acked, begun uint64) *toy {
	t.Helper()
	d, err := openToy(t, fs)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	seen, err := d.visible()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for x := uint64(1); x <= acked; x++ {
		if seen[x] != 1 {
			t.Fatalf("%s: transaction %d of %d acknowledged is there %d times", what, x, acked, seen[x])
		}
	}
	for x, n := range seen {
		if x > begun || n != 1 {
			t.Fatalf("%s: transaction %d is there %d times, %d were begun", what, x, n, begun)
		}
	}
	return d
}

// TestCrashPoints crashes an append workload with checkpoints and a truncation-free relation at every few calls of the file
// system, and each clone again while it recovers (R1, R2, R4). HEDGEROW_CRASH_SEEDS makes it longer.
func TestCrashPoints(t *testing.T) {
	seeds := 6
	if s := os.Getenv("HEDGEROW_CRASH_SEEDS"); s != "" {
		seeds, _ = strconv.Atoi(s)
	}
	total := 0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 3))
		mem := vfs.NewCrashable()
		type crash struct {
			fs           *vfs.Mem
			acked, begun uint64
		}
		var crashes []crash
		var acked, begun uint64
		fs := vfs.WithHook(mem, vfs.CrashPoints(mem, 1+rng.IntN(3), seed, []float64{0, 0.2, 0.5, 1}, func(_ int, c *vfs.Mem) {
			crashes = append(crashes, crash{c, acked, begun})
		}))
		d, err := openToy(t, fs)
		if err != nil {
			t.Fatal(err)
		}
		for x := uint64(1); x <= 40; x++ {
			begun = x
			if err := errors.Join(d.insert(x, rng.IntN(2500)), d.commit(x)); err != nil {
				t.Fatal(err)
			}
			acked = x
			switch rng.IntN(12) {
			case 0:
				if _, err := d.ckpt.Run(bg, Online, nil); err != nil {
					t.Fatal(err)
				}
			case 1:
				d.storage.Create(x) // a leak, removed by recovery (B11)
			}
		}
		if err := d.close(); err != nil {
			t.Fatal(err)
		}
		for i, c := range crashes {
			what := fmt.Sprintf("seed %d point %d", seed, i)
			// A second crash, in the middle of recovery.
			var again []*vfs.Mem
			if i%7 == 0 {
				base := c.fs.CrashClone(rng, 1)
				hooked := vfs.WithHook(base, vfs.CrashPoints(base, 3, seed, []float64{0, 0.5, 1}, func(_ int, m *vfs.Mem) { again = append(again, m) }))
				if d, err := openToy(t, hooked); err != nil {
					t.Fatalf("%s: %v", what, err)
				} else {
					d.abandon()
				}
			}
			for k, m := range append(again, c.fs) {
				total++
				d := check(t, fmt.Sprintf("%s.%d", what, k), m, c.acked, c.begun)
				// And it goes on.
				next := c.begun + 100
				if err := errors.Join(d.insert(next, 10), d.commit(next), d.close()); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
		}
		d2 := check(t, "after a clean stop", mem, acked, begun)
		if !d2.res.Clean {
			t.Fatal("a clean stop was not recognised")
		}
		d2.abandon()
	}
	t.Logf("%d crashes", total)
}

// TestCommitBetweenCheckpointSteps forces the race of A4: a commit record lies below the redo pointer and its status is not
// stored yet. The checkpoint must wait for it; with the status neither in the checkpoint nor in the redone log, the commit would
// be lost.
func TestCommitBetweenCheckpointSteps(t *testing.T) {
	mem := vfs.NewCrashable()
	d, err := openToy(t, mem)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.insert(1, 10), d.commit(1), d.insert(2, 10)); err != nil {
		t.Fatal(err)
	}
	ctl := sched.Install(t)
	atStore := ctl.Stop("toy.commit.store")
	committed := make(chan error, 1)
	go func() { committed <- d.commit(2) }()
	atStore.Wait()
	flushed := ctl.Stop("checkpoint.flushed")
	done := make(chan error, 1)
	go func() { _, err := d.ckpt.Run(bg, Online, nil); done <- err }()
	flushed.Wait()
	flushed.Release()
	select {
	case <-done:
		t.Fatal("the checkpoint did not wait for the status")
	case <-time.After(20 * time.Millisecond):
	}
	atStore.Release()
	if err := errors.Join(<-committed, <-done); err != nil {
		t.Fatal(err)
	}
	check(t, "after the checkpoint", mem.CrashClone(rand.New(rand.NewPCG(1, 1)), 0), 2, 2).abandon()
	d.abandon()
}

// TestCommitsAtEveryCheckpointStep commits at each step of a checkpoint, then crashes at once.
func TestCommitsAtEveryCheckpointStep(t *testing.T) {
	for _, step := range []string{"begin", "redo", "flushed", "final", "status", "written", "synced", "logged", "control"} {
		t.Run(step, func(t *testing.T) {
			mem := vfs.NewCrashable()
			d, err := openToy(t, mem)
			if err != nil {
				t.Fatal(err)
			}
			defer d.abandon()
			if err := errors.Join(d.insert(1, 3000), d.commit(1), d.insert(2, 3000)); err != nil {
				t.Fatal(err)
			}
			ctl := sched.Install(t)
			rng := rand.New(rand.NewPCG(1, 1))
			var clones []*vfs.Mem
			ctl.Call("checkpoint."+step, func() {
				ctl.Call("checkpoint."+step, nil)
				if err := errors.Join(d.commit(2), d.insert(3, 4000), d.commit(3)); err != nil {
					t.Error(err)
				}
				clones = append(clones, mem.CrashClone(rng, 0), mem.CrashClone(rng, 0.5))
			})
			if _, err := d.ckpt.Run(bg, Online, nil); err != nil {
				t.Fatal(err)
			}
			clones = append(clones, mem.CrashClone(rng, 0), mem.CrashClone(rng, 0.5))
			for _, c := range clones {
				check(t, step, c, 3, 3).abandon()
			}
		})
	}
}

// TestTornPage is W5 at work: a page of which one half was written is brought back by its image.
func TestTornPage(t *testing.T) {
	mem := vfs.NewCrashable()
	d, _ := openToy(t, mem)
	for x := uint64(1); x <= 1; x++ {
		if err := errors.Join(d.insert(x, 1500), d.commit(x)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.ckpt.Run(bg, Online, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.insert(2, 1000), d.commit(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.pool.WriteDirty(bg, nil); err != nil { // not synced
		t.Fatal(err)
	}
	torn := 0
	for seed := range uint64(20) {
		c := mem.CrashClone(rand.New(rand.NewPCG(seed, 9)), 0.5)
		f, _ := c.Open("db/base/1")
		b := make([]byte, page.Size)
		f.ReadAt(b, 0)
		if page.Page(b).Verify(page.ID{Rel: 1}) != nil {
			torn++
		}
		check(t, "torn", c, 2, 2).abandon()
	}
	if torn == 0 {
		t.Fatal("no page was torn: the test tests nothing")
	}
	d.abandon()
}

// TestRedoFromAContinuation: a commit of several records holds the redo pointer back (A4, A6). Between there and the checkpoint's
// own place pages have no images; one that was torn later is brought back by the image that follows.
func TestRedoFromAContinuation(t *testing.T) {
	mem := vfs.NewCrashable()
	d, _ := openToy(t, mem)
	append1 := func(x uint64) {
		t.Helper()
		if err := errors.Join(d.insert(x, 1000), d.commit(x)); err != nil {
			t.Fatal(err)
		}
	}
	append1(1)
	d.status.oldest = d.log.InsertedLSN()
	append1(2) // no image
	st, err := d.ckpt.Run(bg, Online, nil)
	if err != nil || st.Redo != d.status.oldest || d.ckpt.Control().Redo != st.Redo {
		t.Fatalf("redo %v, want %v; %v", st.Redo, d.status.oldest, err)
	}
	append1(3) // image
	if _, err := d.pool.WriteDirty(bg, nil); err != nil {
		t.Fatal(err)
	}
	torn := 0
	for seed := range uint64(20) {
		c := mem.CrashClone(rand.New(rand.NewPCG(seed, 9)), 0.5)
		f, _ := c.Open("db/base/1")
		b := make([]byte, page.Size)
		f.ReadAt(b, 0)
		if page.Page(b).Verify(page.ID{Rel: 1}) != nil {
			torn++
		}
		check(t, "torn", c, 3, 3).abandon()
	}
	if torn == 0 {
		t.Fatal("no page was torn")
	}
	d.abandon()
}

// TestPowerFailsAfterAProcessDied: the process dies with files made and pages written but nothing synced; recovery finds all
// done; then the power fails. Recovery must have synced what it relied on (R1).
func TestPowerFailsAfterAProcessDied(t *testing.T) {
	defer func() { keepAll = false }()
	keepAll = true
	mem := vfs.NewCrashable()
	d, _ := openToy(t, mem)
	rel, err := d.storage.Create(1)
	if err != nil {
		t.Fatal(err)
	}
	for x := uint64(1); x <= 10; x++ {
		if err := errors.Join(d.insert(x, 2000), d.commit(x)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.pool.WriteDirty(bg, nil); err != nil {
		t.Fatal(err)
	}
	d.abandon()
	d = check(t, "after kill -9", mem, 10, 10) // the same file system: nothing is lost yet
	d.abandon()
	d = check(t, "after the power failed", mem.CrashClone(rand.New(rand.NewPCG(1, 1)), 0), 10, 10)
	if ok, _ := d.pool.Exists(rel); !ok {
		t.Fatal("a relation whose creation is logged below the redo pointer is gone")
	}
	d.abandon()
}

func TestMissingPagesMustBeExplained(t *testing.T) { // R5
	mem := vfs.NewCrashable()
	d, _ := openToy(t, mem)
	if _, err := d.ckpt.Run(bg, Online, nil); err != nil {
		t.Fatal(err)
	}
	for x := uint64(1); x <= 6; x++ {
		if err := errors.Join(d.insert(x, 3000), d.commit(x)); err != nil {
			t.Fatal(err)
		}
	}
	c := mem.CrashClone(rand.New(rand.NewPCG(1, 9)), 1)
	c.Remove("db/base/1")
	if _, err := openToy(t, c); !dberr.Is(err, dberr.DataCorrupted) || !strings.Contains(err.Error(), "is not there") {
		t.Fatalf("a relation without files: %v", err)
	}
	// A truncation that comes later explains pages beyond it, and is repeated.
	if err := d.storage.Truncate(bg, 0, 1, page.Main, 1); err != nil {
		t.Fatal(err)
	}
	c = mem.CrashClone(rand.New(rand.NewPCG(1, 9)), 1)
	d2, err := openToy(t, c)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := d2.pool.Size(1, page.Main); n != 1 {
		t.Fatalf("%d pages after the truncation", n)
	}
	d2.abandon()
	// So does a drop.
	b := wal.NewBuilder().Begin(wal.RmgrStorage, infoDrop, 0)
	b.Data(le.AppendUint64(nil, 1))
	end, _ := d.log.Insert(b)
	d.log.FlushTo(end)
	c = mem.CrashClone(rand.New(rand.NewPCG(1, 9)), 1)
	c.Remove("db/base/1")
	d3, err := openToy(t, c)
	if err != nil {
		t.Fatal(err)
	}
	d3.abandon()
	d.abandon()
}

func TestControlCopies(t *testing.T) { // R3
	mem := vfs.NewMem()
	mem.MkdirAll("db")
	c := NewControl(0, 0)
	for i := range 3 {
		c.Redo = page.LSN(i + 1)
		if err := WriteControl(mem, "db", &c); err != nil {
			t.Fatal(err)
		}
	}
	newest, older, err := ReadControl(mem, "db")
	if err != nil || newest.Redo != 3 || older.Redo != 2 || newest.DatabaseID != c.DatabaseID {
		t.Fatalf("%+v %+v %v", newest, older, err)
	}
	f, _ := mem.Open("db/control")
	f.WriteAt([]byte{77}, int64(newest.Sequence%2)*copyStride+80)
	if newest, older, err = ReadControl(mem, "db"); err != nil || newest.Redo != 2 || older != nil {
		t.Fatalf("with the newest copy damaged: %+v %v", newest, err)
	}
	f.WriteAt([]byte{77}, int64(newest.Sequence%2)*copyStride+80)
	if _, _, err = ReadControl(mem, "db"); !dberr.Is(err, dberr.DataCorrupted) {
		t.Fatalf("with both damaged: %v", err)
	}
	c.Sequence = 10
	b := c.encode()
	le.PutUint16(b[8:], 2)
	bad, _ := decodeControl(b)
	if bad != nil {
		t.Fatal("a changed copy was believed")
	}
}

func TestForeignDirectoriesAreRefused(t *testing.T) { // R7
	mem := vfs.NewMem()
	mem.MkdirAll("x")
	mem.Create("x/letter.txt")
	if _, err := Exists(mem, "x"); !dberr.Is(err, dberr.InvalidParameterValue) {
		t.Fatalf("err %v", err)
	}
	if ok, err := Exists(mem, "nowhere"); ok || err != nil {
		t.Fatalf("%v %v", ok, err)
	}
}

func TestNumbersAreNeverUsedTwice(t *testing.T) { // R6
	mem := vfs.NewCrashable()
	d, _ := openToy(t, mem)
	rng := rand.New(rand.NewPCG(4, 4))
	seen := map[page.RelFile]bool{1: true}
	for range 10 {
		for range 1 + rng.IntN(100) {
			rel, err := d.storage.Create(1)
			if err != nil {
				t.Fatal(err)
			}
			if seen[rel] {
				t.Fatalf("number %d twice", rel)
			}
			seen[rel] = true
		}
		if rng.IntN(2) == 0 {
			d.ckpt.Run(bg, Online, nil)
		}
		mem = mem.CrashClone(rng, 0.3)
		d.abandon()
		var err error
		if d, err = openToy(t, mem); err != nil {
			t.Fatal(err)
		}
		if rels, _ := d.pool.Relations(); len(rels) != 1 {
			t.Fatalf("%d relations after recovery", len(rels))
		}
	}
	d.abandon()
}

// TestFailingDisk lets the n-th call of a class fail: nothing unacknowledged is claimed, and recovery on a healthy disk has all
// that was acknowledged (A11).
func TestFailingDisk(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpSync, vfs.OpWrite, vfs.OpSyncDir, vfs.OpCreate, vfs.OpRename, vfs.OpPreallocate} {
		for n := 1; n < 60; n += 4 {
			mem := vfs.NewCrashable()
			d, err := openToy(t, mem)
			if err != nil {
				t.Fatal(err)
			}
			d.close()
			d, err = openToy(t, vfs.WithHook(mem, vfs.FailNth(op, n, errors.New("injected"), false)))
			var acked, begun uint64
			if err == nil {
				for x := uint64(1); x <= 20 && err == nil; x++ {
					begun = x
					if err = errors.Join(d.insert(x, 2000), d.commit(x)); err == nil {
						acked = x
					}
					if err == nil && x%5 == 0 {
						_, err = d.ckpt.Run(bg, Online, nil)
					}
				}
				d.abandon()
			}
			for _, p := range []float64{0, 0.5, 1} {
				check(t, fmt.Sprintf("op %x n %d", op, n), mem.CrashClone(rand.New(rand.NewPCG(1, uint64(n))), p), acked, begun).abandon()
			}
		}
	}
}
