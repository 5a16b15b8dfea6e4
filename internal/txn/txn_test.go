package txn

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/recovery"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

func TestCommitIsSeenByLaterSnapshotsOnly(t *testing.T) {
	e := newEnv(t, Options{})
	tx := e.m.Begin(TxOptions{})
	x := e.write(tx)
	before := e.m.Snapshot()
	defer before.Close()
	if e.sees(x) {
		t.Fatal("a running transaction is seen")
	}
	e.commit(tx)
	if before.SeesXID(x) {
		t.Fatal("an older snapshot sees the commit")
	}
	if !e.sees(x) {
		t.Fatal("a later snapshot does not see the commit")
	}
	ab := e.m.Begin(TxOptions{})
	y := e.write(ab)
	ab.Rollback()
	if e.sees(y) {
		t.Fatal("an aborted transaction is seen")
	}
	if st, _ := e.m.Outcome(y); st != Aborted {
		t.Fatal(st)
	}
	ro := e.m.Begin(TxOptions{ReadOnly: true})
	if _, err := ro.XID(); !dberr.Is(err, dberr.ReadOnlyTransaction) {
		t.Fatal(err)
	}
	if csn := e.commit(ro); csn != 0 {
		t.Fatal("a read-only commit has a CSN")
	}
	if _, err := ro.Commit(e.ctx); !dberr.Is(err, dberr.NoActiveTransaction) {
		t.Fatal(err)
	}
}

func TestIsolationChoosesSnapshots(t *testing.T) { // A8
	e := newEnv(t, Options{})
	rc, rr := e.m.Begin(TxOptions{}), e.m.Begin(TxOptions{Isolation: RepeatableRead})
	a, b := rc.Snapshot(), rr.Snapshot()
	tx := e.m.Begin(TxOptions{})
	x := e.write(tx)
	e.commit(tx)
	for _, s := range []*Snapshot{a, b} {
		if s.SeesXID(x) {
			t.Fatal("an open snapshot changed")
		}
		s.Close()
	}
	a, b = rc.Snapshot(), rr.Snapshot()
	if !a.SeesXID(x) || b.SeesXID(x) {
		t.Fatalf("read committed sees it: %v, repeatable read sees it: %v", a.SeesXID(x), b.SeesXID(x))
	}
	f := rr.Fresh()
	if !f.SeesXID(x) {
		t.Fatal("a fresh snapshot misses it")
	}
	// The slot of repeatable read holds the horizon back between statements.
	a.Close()
	b.Close()
	f.Close()
	rc.Rollback()
	if h := e.m.Horizon(); h.Xmin > x {
		t.Fatalf("horizon %d passed a live snapshot", h.Xmin)
	}
	rr.Rollback()
	if h := e.m.Horizon(); h.Xmin <= x {
		t.Fatalf("horizon stayed at %d", h.Xmin)
	}
}

func TestSubtransactions(t *testing.T) { // A6
	e := newEnv(t, Options{})
	tx := e.m.Begin(TxOptions{})
	top := e.write(tx)
	e.must(tx.Savepoint("a"))
	a := e.write(tx)
	e.must(tx.Savepoint("b"))
	b := e.write(tx)
	if top >= a || a >= b {
		t.Fatal("a parent's xid is not below its children's")
	}
	e.must(tx.Release("b"))
	if e.write(tx) != a {
		t.Fatal("after RELEASE writes do not carry the parent's xid")
	}
	e.must(tx.Savepoint("c"))
	c := e.write(tx)
	e.must(tx.RollbackTo("c"))
	if tx.Owns(c) || !tx.Owns(b) || !tx.Owns(a) || !tx.Owns(top) {
		t.Fatal("ownership after ROLLBACK TO")
	}
	if st, _ := e.m.Outcome(b); st != InProgress {
		t.Fatal("a released subtransaction is ", st)
	}
	d := e.write(tx) // in c, which stays
	e.must(tx.Savepoint("c"))
	e.must(tx.RollbackTo("a"))
	for _, x := range []XID{a, b, c, d} {
		if st, _ := e.m.Outcome(x); st != Aborted {
			t.Fatalf("%d is %v after the rollback of its ancestor", x, st)
		}
	}
	if err := tx.Release("c"); !dberr.Is(err, dberr.InvalidSavepoint) {
		t.Fatal(err)
	}
	f := e.write(tx)
	e.commit(tx)
	for x, want := range map[XID]bool{top: true, a: false, b: false, c: false, d: false, f: true} {
		if e.sees(x) != want {
			t.Errorf("sees(%d) = %v", x, !want)
		}
	}
}

func TestCommandIDsRunOut(t *testing.T) { // A5
	e := newEnv(t, Options{})
	tx := e.m.Begin(TxOptions{})
	defer tx.Rollback()
	if b, err := tx.Segment(3); err != nil || b != 0 || tx.CurrentCID() != 3 {
		t.Fatal(b, err)
	}
	tx.counter = 1<<32 - 2
	if _, err := tx.Segment(2); !dberr.Is(err, dberr.LimitExceeded) {
		t.Fatal(err)
	}
}

// witness notes the order of what happens at publication.
type witness struct {
	name  string
	phase Phase
	m     *Manager
	note  func(string)
	subs  []uint32
}

func (w *witness) Phase() Phase { return w.phase }
func (w *witness) BeforeCommit(r *CommitRecord) error {
	r.Add(byte(w.phase)+1, []byte(w.name))
	return nil
}
func (w *witness) Publish(csn page.LSN) {
	if w.m.PublishedCSN() >= csn {
		w.note("published too early")
	}
	w.note(w.name)
}
func (w *witness) Abort()                 { w.note("abort " + w.name) }
func (w *witness) RollbackSub(sub uint32) { w.subs = append(w.subs, sub) }

func TestPublicationOrder(t *testing.T) { // A2
	e := newEnv(t, Options{})
	var got []string
	note := func(s string) { got = append(got, s) }
	tx := e.m.Begin(TxOptions{})
	tx.Join(&witness{name: "catalog", phase: PhaseCatalog, m: e.m, note: note})
	tx.Join(&witness{name: "shown", phase: PhaseShown, m: e.m, note: note})
	w := &witness{name: "counters", phase: PhaseCounters, m: e.m, note: note}
	tx.Join(w)
	x := e.write(tx)
	e.must(tx.Savepoint("s"))
	e.must(tx.RollbackTo("s"))
	if !slices.Equal(w.subs, []uint32{1}) {
		t.Fatal(w.subs)
	}
	c := sched.Install(t)
	c.Call("txn.publish.word", func() {
		note("word")
		if st, _ := e.m.resolve(x); st != Committed || e.m.OldestRunning() > x {
			note("wrong at word")
		}
	})
	c.Call("txn.publish.published", func() {
		note("published")
		if e.m.OldestRunning() > x {
			note("left too early")
		}
	})
	e.commit(tx)
	if want := []string{"word", "counters", "shown", "catalog", "published"}; !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	if e.m.OldestRunning() <= x {
		t.Fatal("still in the running set")
	}
	got = nil
	tx = e.m.Begin(TxOptions{})
	tx.Join(&witness{name: "c", m: e.m, note: note})
	e.write(tx)
	tx.Rollback()
	tx.Rollback()
	if !slices.Equal(got, []string{"abort c"}) {
		t.Fatal(got)
	}
}

// An asynchronous commit behind a synchronous one that is not flushed yet must not be seen first.
func TestAsyncCommitDoesNotOvertake(t *testing.T) { // A2, X3
	e := newEnv(t, Options{})
	c := sched.Install(t)
	slow := e.m.Begin(TxOptions{})
	x := e.write(slow)
	gate := c.Stop("txn.commit.logged")
	done := make(chan error, 1)
	go func() {
		_, err := slow.Commit(e.ctx)
		done <- err
	}()
	gate.Wait() // the synchronous commit is in the log and the queue, not flushed
	if e.sees(x) {
		t.Fatal("seen before it is durable")
	}
	fast := e.m.Begin(TxOptions{Async: true})
	y := e.write(fast)
	e.commit(fast)
	s := e.m.Snapshot()
	if !s.SeesXID(y) || !s.SeesXID(x) {
		t.Fatalf("own commit seen: %v, the earlier one: %v", s.SeesXID(y), s.SeesXID(x))
	}
	s.Close()
	gate.Release()
	e.must(<-done)
}

// A commit between the choice of the redo pointer and the writing of statuses must be whole either way.
func TestCommitBetweenCheckpointSteps(t *testing.T) { // A4
	e := newEnv(t, Options{})
	c := sched.Install(t)
	// One whose record is below redo, but whose word is not stored when the checkpoint begins.
	below := e.m.Begin(TxOptions{})
	x := e.write(below)
	gate := c.Stop("txn.commit.logged")
	done := make(chan error, 1)
	go func() {
		_, err := below.Commit(e.ctx)
		done <- err
	}()
	gate.Wait()
	redo := e.log.BeginCheckpoint(nil)
	// One that commits above redo before the statuses are written.
	above := e.m.Begin(TxOptions{})
	y := e.write(above)
	e.must(e.m.WaitFinal(e.ctx, redo))
	if st, _ := e.m.resolve(x); st != Committed {
		t.Fatal("WaitFinal returned before the word was stored")
	}
	e.commit(above)
	data, err := e.m.Checkpoint(e.ctx, redo)
	e.must(err)
	gate.Release()
	e.must(<-done)

	// A restart that loses everything behind redo.
	n := New(Options{FS: e.fs, Dir: "xact"})
	e.must(n.Restore(data))
	if n.status.get(x) != statusCommitted {
		t.Error("a commit below redo is lost")
	}
	if n.status.get(y) != statusNone {
		t.Error("a commit above redo is in the status pages already")
	}
	// One that finds the whole log.
	e.redo(n, redo)
	if n.status.get(x) != statusCommitted || n.status.get(y) != statusCommitted {
		t.Error("redo lost a commit")
	}
	if n.redone.next <= y {
		t.Error("redo would hand out an xid twice")
	}
}

// redo feeds the records of the log from an LSN on.
func (e *env) redo(m *Manager, from page.LSN) (n int) {
	e.Helper()
	e.must(e.log.FlushTo(e.log.InsertedLSN()))
	r, err := wal.NewReader(e.wo, from)
	e.must(err)
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) || err == nil && rec == nil {
			return n
		}
		e.must(err)
		if rec.Rmgr == wal.RmgrXact {
			e.must(m.Redo(&recovery.Context{Ctx: e.ctx}, rec))
			n++
		}
	}
}

func TestRedoOfPayloadsAndContinuations(t *testing.T) { // A6
	e := newEnv(t, Options{})
	tx := e.m.Begin(TxOptions{})
	top := e.write(tx)
	const n = maxSubsInRecord + 10
	for range n {
		e.must(tx.Savepoint("s"))
		e.write(tx)
		e.must(tx.Release("s"))
	}
	last := tx.lastXID
	w := &witness{name: "hello", m: e.m, note: func(string) {}}
	tx.Join(w)
	// A checkpoint between the continuation and the commit record: what it carries completes the list.
	var redo page.LSN
	c := sched.Install(t)
	c.Call("txn.commit.continued", func() { redo = e.log.BeginCheckpoint(nil) })
	e.commit(tx)
	data, err := e.m.Checkpoint(e.ctx, redo)
	e.must(err)
	m := New(Options{FS: e.fs, Dir: "xact"})
	var got string
	m.OnRedo(1, func(_ *recovery.Context, _ *wal.Record, data []byte) error { got = string(data); return nil })
	e.must(m.Restore(data))
	for range 2 { // redo is idempotent, but for the list that came with the checkpoint
		e.redo(m, redo)
	}
	if got != "hello" {
		t.Errorf("payload %q", got)
	}
	for x := top; x <= last; x++ {
		if m.status.get(x) != statusCommitted {
			t.Fatalf("subtransaction %d of %d…%d is lost", x, top, last)
		}
	}
	// The next checkpoint above the commit carries nothing any more.
	redo = e.log.BeginCheckpoint(nil)
	if data, err = e.m.Checkpoint(e.ctx, redo); err != nil || len(data) != 9 {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
}

func TestWordsAreCompressed(t *testing.T) { // A3, A7
	e := newEnv(t, Options{})
	var xs []XID
	hold := e.m.Snapshot()
	for i := range 3 * chunkSize {
		tx := e.m.Begin(TxOptions{Async: true})
		xs = append(xs, e.write(tx))
		if i%3 == 0 {
			tx.Rollback()
		} else {
			e.commit(tx)
		}
	}
	e.must(e.log.FlushTo(e.log.InsertedLSN()))
	before := e.m.words.count()
	e.m.compress()
	if e.m.words.count() != before {
		t.Fatal("words were freed that a snapshot may ask for")
	}
	hold.Close()
	e.m.compress()
	if got := e.m.words.count(); got > 2*chunkSize {
		t.Fatalf("%d words are left", got)
	}
	for i, x := range xs {
		if e.sees(x) != (i%3 != 0) {
			t.Fatalf("xid %d (%d) changed its fate", x, i)
		}
	}
}

// A snapshot that has loaded its numbers but is not announced must not be overtaken by a horizon.
func TestSnapshotAnnouncementAgainstHorizon(t *testing.T) { // A3, X5
	e := newEnv(t, Options{})
	c := sched.Install(t)
	loaded := c.Stop("txn.snapshot.loaded")
	got := make(chan *Snapshot, 1)
	go func() { got <- e.m.Snapshot() }()
	loaded.Wait() // numbers loaded, nothing announced
	tx := e.m.Begin(TxOptions{})
	x := e.write(tx)
	e.commit(tx)
	h := e.m.Horizon() // sees no slot
	loaded.Release()
	s := <-got
	defer s.Close()
	if s.csn < h.CSN || s.xmin < h.Xmin {
		t.Fatalf("snapshot %d/%d is older than the horizon %d/%d", s.csn, s.xmin, h.CSN, h.Xmin)
	}
	if !s.SeesXID(x) {
		t.Fatal("what is past the horizon is not seen")
	}
	// The other way round: the horizon has loaded its numbers, then a snapshot is taken and things go on.
	gate := c.Stop("txn.horizon.loaded")
	hs := make(chan Horizon, 1)
	go func() { hs <- e.m.Horizon() }()
	gate.Wait()
	s2 := e.m.Snapshot()
	defer s2.Close()
	tx = e.m.Begin(TxOptions{})
	e.write(tx)
	e.commit(tx)
	gate.Release()
	if h := <-hs; h.CSN > s2.csn || h.Xmin > s2.xmin {
		t.Fatalf("horizon %d/%d passed the snapshot %d/%d", h.CSN, h.Xmin, s2.csn, s2.xmin)
	}
}

func TestStatusPagesAreChecked(t *testing.T) { // A7
	e := newEnv(t, Options{})
	var s statusPages
	for x := FirstXID; x < FirstXID+5*pageXIDs; x += 7 {
		s.set(x, statusCommitted+uint32(x%2))
	}
	dir := statusDir{e.fs, "xact"}
	n, err := s.write(e.ctx, dir)
	e.must(err)
	if n < 5 {
		t.Fatal(n)
	}
	if n, err := s.write(e.ctx, dir); n != 0 || err != nil {
		t.Fatal("clean pages were written again", n, err)
	}
	var r statusPages
	e.must(r.read(dir, FirstXID+5*pageXIDs))
	for x := FirstXID; x < FirstXID+5*pageXIDs; x++ {
		if r.get(x) != s.get(x) {
			t.Fatalf("xid %d: %d, want %d", x, r.get(x), s.get(x))
		}
	}
	f, err := e.fs.Open("xact/" + statusFile(0))
	e.must(err)
	defer f.Close()
	var b [1]byte
	_, err = f.ReadAt(b[:], 3*sectorSize+100+page.Size)
	e.must(err)
	b[0] ^= 0x10
	_, err = f.WriteAt(b[:], 3*sectorSize+100+page.Size)
	e.must(err)
	if err := r.read(dir, FirstXID+5*pageXIDs); !dberr.Is(err, dberr.DataCorrupted) {
		t.Fatal(err)
	}
}

func TestFilesGoWithTheTransaction(t *testing.T) {
	var gone []page.RelFile
	e := newEnv(t, Options{})
	e.m.opts.DropFile = func(_ context.Context, rel page.RelFile) error { gone = append(gone, rel); return nil }
	tx := e.m.Begin(TxOptions{Async: true})
	e.write(tx)
	tx.NoteCreated(1)
	tx.DropAtCommit(2)
	e.must(tx.Savepoint("s"))
	tx.NoteCreated(3)
	tx.DropAtCommit(4)
	e.must(tx.RollbackTo("s"))
	csn := e.commit(tx)
	if !slices.Equal(gone, []page.RelFile{2, 3}) {
		t.Fatal(gone)
	}
	if uint64(e.log.FlushedLSN()) < csn {
		t.Fatal("a commit that drops files was not flushed") // A2
	}
	gone = nil
	tx = e.m.Begin(TxOptions{})
	e.write(tx)
	tx.NoteCreated(5)
	tx.DropAtCommit(6)
	tx.Rollback()
	if !slices.Equal(gone, []page.RelFile{5}) {
		t.Fatal(gone)
	}
}

// With the log's own goroutine: whoever was acknowledged is seen by every snapshot taken later, in the order of CSNs.
func TestCommitsUnderFire(t *testing.T) { // A2
	fs := vfs.NewMem()
	fate := new(invariant.Fate)
	for _, d := range []string{"wal", "xact"} {
		if err := fs.MkdirAll(d); err != nil {
			t.Fatal(err)
		}
	}
	log, err := wal.Create(wal.Options{FS: fs, Dir: "wal", SegmentSize: 1 << 20, Fate: fate})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	m := New(Options{FS: fs, Dir: "xact", Fate: fate})
	if err := m.Start(log); err != nil {
		t.Fatal(err)
	}
	var acked atomic.Uint64 // the newest CSN
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 300 {
				tx := m.Begin(TxOptions{Async: (g+i)%3 == 0})
				before := acked.Load()
				s := tx.Snapshot()
				if s.CSN() < before {
					t.Errorf("a snapshot at %d misses the acknowledged commit at %d", s.CSN(), before)
				}
				s.Close()
				x, err := tx.XID()
				if err != nil {
					t.Error(err)
					return
				}
				if i%7 == 0 {
					tx.Rollback()
					continue
				}
				csn, err := tx.Commit(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if (g+i)%3 != 0 && log.FlushedLSN() < csn {
					t.Error("acknowledged before it was durable")
				}
				storeMax(&acked, uint64(csn))
				s = m.Snapshot()
				if !s.SeesXID(x) {
					t.Errorf("own commit %d at %d is not seen at %d", x, csn, s.CSN())
				}
				s.Close()
				m.Horizon()
			}
		})
	}
	wg.Wait()
	if m.OldestRunning() != m.NextXID() || m.Stats().Live != 0 {
		t.Errorf("oldest %d, next %d, live %d", m.OldestRunning(), m.NextXID(), m.Stats().Live)
	}
}
