package heap

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

type answer struct {
	res Result
	err error
}

func async(f func() (Result, error)) chan answer {
	c := make(chan answer, 1)
	go func() { r, err := f(); c <- answer{r, err} }()
	return c
}

func blocked(t *testing.T, c chan answer) {
	t.Helper()
	select {
	case a := <-c:
		t.Fatalf("did not wait: %+v, %v", a.res, a.err)
	case <-time.After(20 * time.Millisecond):
	}
}

func (e *env) del(t *Table, tx *txn.Tx, tid page.TID, id uint64) chan answer {
	return async(func() (Result, error) {
		s := tx.Snapshot()
		defer s.Close()
		return e.tryUpdate(t, tx, s, tid, id, "", false)
	})
}

func (e *env) keyShare(t *Table, tx *txn.Tx, tid page.TID, id uint64) chan answer {
	s := tx.Snapshot()
	return async(func() (Result, error) {
		defer s.Close()
		return t.LockRow(e.ctx, tx, s, tid, id, txn.RowKeyShare)
	})
}

// An edge insert registers first and looks then; a vertex delete looks into the table under the page's latch. Whoever comes
// second must find the other.
func TestEdgeInsertAgainstVertexDelete(t *testing.T) { // B3
	for _, iso := range []txn.Isolation{txn.ReadCommitted, txn.RepeatableRead} {
		for _, end := range []string{"commit", "rollback"} {
			t.Run(fmt.Sprintf("edge first, iso %d, %s", iso, end), func(t *testing.T) {
				e := newEnv(t)
				h := e.table(Options{})
				setup := e.begin()
				tid := e.insert(h, setup, 1, "vertex")
				e.commit(setup)
				c := sched.Install(t)
				gate := c.Stop("heap.lock.registered")
				edge, del := e.m.Begin(txn.TxOptions{Isolation: iso}), e.m.Begin(txn.TxOptions{Isolation: iso})
				lock := e.keyShare(h, edge, tid, 1)
				gate.Wait() // registered, the row not looked at yet
				d := e.del(h, del, tid, 1)
				blocked(t, d)
				gate.Release()
				if a := <-lock; a.err != nil || a.res.Outcome != OK {
					t.Fatalf("%+v, %v", a.res, a.err)
				}
				blocked(t, d)
				if end == "commit" {
					e.commit(edge)
				} else {
					edge.Rollback()
				}
				if a := <-d; a.err != nil || a.res.Outcome != OK || !a.res.Waited {
					t.Fatalf("%+v, %v", a.res, a.err)
				}
				del.Rollback()
			})
			t.Run(fmt.Sprintf("delete first, iso %d, %s", iso, end), func(t *testing.T) {
				e := newEnv(t)
				h := e.table(Options{})
				setup := e.begin()
				tid := e.insert(h, setup, 1, "vertex")
				e.commit(setup)
				edge, del := e.m.Begin(txn.TxOptions{Isolation: iso}), e.m.Begin(txn.TxOptions{Isolation: iso})
				if a := <-e.del(h, del, tid, 1); a.err != nil {
					t.Fatal(a.err)
				}
				lock := e.keyShare(h, edge, tid, 1)
				blocked(t, lock)
				if end == "rollback" {
					del.Rollback()
					if a := <-lock; a.err != nil || a.res.Outcome != OK || !a.res.Waited {
						t.Fatalf("%+v, %v", a.res, a.err)
					}
					return
				}
				e.commit(del)
				a := <-lock
				if iso == txn.ReadCommitted && (a.err != nil || a.res.Outcome != Gone) {
					t.Fatalf("%+v, %v", a.res, a.err)
				}
				if iso == txn.RepeatableRead && !dberr.Is(a.err, dberr.SerializationFailure) {
					t.Fatalf("%+v, %v", a.res, a.err)
				}
				if edge.RowLocks() != 0 {
					t.Fatal("a lock on a row that is gone is left")
				}
			})
		}
	}
}

// The vertex moves to another page by an update that has not ended; the same transaction then deletes it. An edge insert that looks
// at the version it knows alone would miss that.
func TestEdgeInsertFollowsLiveMove(t *testing.T) { // B3
	for _, iso := range []txn.Isolation{txn.ReadCommitted, txn.RepeatableRead} {
		e := newEnv(t)
		h := e.table(Options{FillPercent: 100})
		setup := e.begin()
		big := strings.Repeat("v", 3000)
		tid := e.insert(h, setup, 1, big)
		e.insert(h, setup, 2, big)
		e.commit(setup)
		mover := e.begin()
		res := e.update(h, mover, tid, 1, big+"moved", false)
		if res.TID.Block() == tid.Block() {
			t.Fatal("did not move")
		}
		edge := e.m.Begin(txn.TxOptions{Isolation: iso})
		if a := <-e.keyShare(h, edge, tid, 1); a.err != nil || a.res.Outcome != OK {
			t.Fatalf("a change that leaves the key alone must not be waited for: %+v, %v", a.res, a.err)
		}
		// The delete meets the lock, though the edge knew only the old place.
		d := e.del(h, mover, res.TID, 1)
		blocked(t, d)
		e.commit(edge)
		if a := <-d; a.err != nil || a.res.Outcome != OK {
			t.Fatalf("%+v, %v", a.res, a.err)
		}
		// Now the other order: the old place shows an update, only the new one the delete.
		late := e.m.Begin(txn.TxOptions{Isolation: iso})
		l := e.keyShare(h, late, tid, 1)
		blocked(t, l)
		e.commit(mover)
		a := <-l
		if iso == txn.ReadCommitted && a.res.Outcome != Gone || iso != txn.ReadCommitted && !dberr.Is(a.err, dberr.SerializationFailure) {
			t.Fatalf("%+v, %v", a.res, a.err)
		}
		late.Rollback()
	}
}

// A savepoint that updated a row locked before it is rolled back: the lock stays, the update goes, in the table and on the page.
func TestSavepointRollbackOverLockedRow(t *testing.T) { // B2
	for _, full := range []bool{false, true} {
		o := txn.Options{}
		if full {
			o.MaxRowLocks = -1 // every exclusive lock is marked on the row
		}
		e := newEnvWith(t, o)
		h := e.table(Options{})
		setup := e.begin()
		tid := e.insert(h, setup, 1, "a")
		e.commit(setup)
		tx := e.begin()
		s := tx.Snapshot()
		if r, err := h.LockRow(e.ctx, tx, s, tid, 1, txn.RowUpdate); err != nil || r.Outcome != OK {
			t.Fatal(r, err)
		}
		s.Close()
		other := e.begin()
		w := async(func() (Result, error) {
			s := other.Snapshot()
			defer s.Close()
			return e.tryUpdate(h, other, s, tid, 1, "stolen", true)
		})
		blocked(t, w)
		must(t, tx.Savepoint("s"))
		if r := e.update(h, tx, tid, 1, "b", true); r.Outcome != OK {
			t.Fatal(r)
		}
		must(t, tx.RollbackTo("s"))
		blocked(t, w)
		if got := e.look(h, tx, tid, 1); got != "a" {
			t.Fatalf("after rollback: %q", got)
		}
		e.commit(tx)
		if a := <-w; a.err != nil || a.res.Outcome != OK {
			t.Fatalf("%+v, %v", a.res, a.err)
		}
		e.commit(other)
	}
}

func TestConflictsByIsolation(t *testing.T) { // A8, A9
	for _, del := range []bool{false, true} {
		for _, move := range []bool{false, true} {
			e := newEnv(t)
			h := e.table(Options{FillPercent: 100})
			setup := e.begin()
			base := strings.Repeat("x", 3000)
			tid := e.insert(h, setup, 1, base)
			e.insert(h, setup, 2, base)
			e.commit(setup)
			rc, rr := e.begin(), e.beginRR()
			src, srr := rc.Snapshot(), rr.Snapshot()
			other := e.begin()
			text := "new"
			if move {
				text = base + "new"
			}
			if del {
				text = ""
			}
			e.update(h, other, tid, 1, text, true)
			lock := async(func() (Result, error) { return h.LockRow(e.ctx, rc, src, tid, 1, txn.RowNoKeyUpdate) })
			up := async(func() (Result, error) { return e.tryUpdate(h, rr, srr, tid, 1, "rr", true) })
			blocked(t, lock)
			blocked(t, up)
			e.commit(other)
			if a := <-up; !dberr.Is(a.err, dberr.SerializationFailure) {
				t.Fatalf("repeatable read: %+v, %v", a.res, a.err)
			}
			rr.Rollback()
			a := <-lock
			if a.err != nil {
				t.Fatal(a.err)
			}
			if del {
				if a.res.Outcome != Gone {
					t.Fatalf("%+v", a.res)
				}
				continue
			}
			if a.res.Outcome != OK || !a.res.Moved || !a.res.Waited {
				t.Fatalf("%+v", a.res)
			}
			if got := e.read(h, src, rc.CurrentCID(), a.res.TID, 1, ByHint); got == text {
				t.Fatal("the snapshot sees the new version without a refresh")
			}
			src.Refresh(1, a.res.CSN)
			if got := e.read(h, src, rc.CurrentCID(), a.res.TID, 1, ByHint); got != text {
				t.Fatalf("after the refresh: %q", got)
			}
			if got := e.all(h, src, rc.CurrentCID()); len(got) != 2 || got[1] != text {
				t.Fatalf("a scan counts %d versions", len(got))
			}
			if r, err := e.tryUpdate(h, rc, src, a.res.TID, 1, "rc", true); err != nil || r.Outcome != OK {
				t.Fatal(r, err)
			}
			e.commit(rc)
		}
	}
}

// Two pages are latched one after the other; what happened in between must be noticed.
func TestUpdateBetweenLatches(t *testing.T) { // H5
	e := newEnv(t)
	h := e.table(Options{FillPercent: 100})
	setup := e.begin()
	big := strings.Repeat("x", 3000)
	tid := e.insert(h, setup, 1, big)
	e.insert(h, setup, 2, big)
	e.commit(setup)
	c := sched.Install(t)
	gate := c.Stop("heap.update.between")
	tx := e.begin()
	s := tx.Snapshot()
	defer s.Close()
	up := async(func() (Result, error) { return e.tryUpdate(h, tx, s, tid, 1, big+"1", false) })
	gate.Wait()
	thief := e.begin()
	if r := e.update(h, thief, tid, 1, "short", true); r.Outcome != OK {
		t.Fatal(r)
	}
	gate.Release()
	blocked(t, up)
	e.commit(thief)
	if a := <-up; a.err != nil || a.res.Outcome != Changed || a.res.CSN == 0 {
		t.Fatalf("%+v, %v", a.res, a.err)
	}
	tx.Rollback()
	if got := e.look(h, nil, tid, 1); got != "short" {
		t.Fatalf("%q", got)
	}
}

// An update waits for the holder of an xmax, who goes on with the same row: that must not be a deadlock.
func TestHolderGoesOnWhileOthersWait(t *testing.T) {
	e := newEnvWith(t, txn.Options{DeadlockDelay: time.Millisecond})
	h := e.table(Options{})
	setup := e.begin()
	tid := e.insert(h, setup, 1, "0")
	e.commit(setup)
	holder := e.begin()
	e.update(h, holder, tid, 1, "1", true)
	var waits []chan answer
	var txs []*txn.Tx
	for range 3 {
		tx := e.begin()
		txs = append(txs, tx)
		s := tx.Snapshot()
		waits = append(waits, async(func() (Result, error) {
			defer s.Close()
			return h.LockRow(e.ctx, tx, s, tid, 1, txn.RowNoKeyUpdate)
		}))
	}
	time.Sleep(20 * time.Millisecond)
	for i := range 5 {
		if r := e.update(h, holder, tid, 1, strconv.Itoa(i+2), true); r.Outcome != OK {
			t.Fatal(r)
		}
	}
	e.commit(holder)
	merged := make(chan int)
	for i, w := range waits {
		go func() {
			if a := <-w; a.err != nil || a.res.Outcome != OK {
				t.Errorf("%+v, %v", a.res, a.err)
			}
			merged <- i
		}()
	}
	for range txs { // one after the other, in any order
		e.commit(txs[<-merged])
	}
}

func TestDeadlockBetweenRows(t *testing.T) {
	e := newEnvWith(t, txn.Options{DeadlockDelay: time.Millisecond})
	h := e.table(Options{})
	setup := e.begin()
	a, b := e.insert(h, setup, 1, "a"), e.insert(h, setup, 2, "b")
	e.commit(setup)
	x, y := e.begin(), e.begin()
	e.update(h, x, a, 1, "x", true)
	e.update(h, y, b, 2, "y", true)
	one := async(func() (Result, error) {
		s := x.Snapshot()
		defer s.Close()
		return e.tryUpdate(h, x, s, b, 2, "x", true)
	})
	two := async(func() (Result, error) {
		s := y.Snapshot()
		defer s.Close()
		return e.tryUpdate(h, y, s, a, 1, "y", true)
	})
	if r := <-two; !dberr.Is(r.err, dberr.Deadlock) {
		t.Fatalf("%+v, %v", r.res, r.err)
	}
	y.Rollback()
	if r := <-one; r.err != nil || r.res.Outcome != OK {
		t.Fatalf("%+v, %v", r.res, r.err)
	}
	e.commit(x)
}

// Writers under read committed lock, refresh and write a counter; none of them is lost. Readers see one version of each row.
func TestCountersUnderFire(t *testing.T) { // A9
	e := newEnvWith(t, txn.Options{DeadlockDelay: 2 * time.Millisecond})
	h := e.table(Options{FillPercent: 100})
	setup := e.begin()
	const rows, writers, rounds = 5, 4, 60
	var tids [rows]page.TID
	for i := range tids {
		tids[i] = e.insert(h, setup, uint64(i+1), "0")
	}
	e.commit(setup)
	var mu sync.Mutex // guards tids: what an id index would know
	var done sync.WaitGroup
	var sum [rows]int
	for w := range writers {
		done.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 5))
			for range rounds {
				i := rng.IntN(rows)
				if e.increment(h, &mu, &tids, i, rng.IntN(3) == 0, strings.Repeat("p", rng.IntN(700))) {
					mu.Lock()
					sum[i]++
					mu.Unlock()
				}
			}
		})
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			s := e.m.Snapshot()
			if got := len(e.all(h, s, 0)); got != rows {
				t.Errorf("%d rows in a snapshot", got)
			}
			s.Close()
		}
	})
	done.Wait()
	close(stop)
	readers.Wait()
	s := e.m.Snapshot()
	defer s.Close()
	for id, text := range e.all(h, s, 0) {
		n, _, _ := strings.Cut(text, " ")
		if n != strconv.Itoa(sum[id-1]) {
			t.Errorf("row %d: %s, want %d", id, n, sum[id-1])
		}
	}
}

// increment adds one to a row as SET n.x = n.x + 1 does under read committed.
func (e *env) increment(h *Table, mu *sync.Mutex, tids *[5]page.TID, i int, rollback bool, pad string) bool {
	tx := e.begin()
	id := uint64(i + 1)
	s := tx.Snapshot()
	defer s.Close()
	mu.Lock()
	tid := tids[i]
	mu.Unlock()
	res, err := h.LockRow(e.ctx, tx, s, tid, id, txn.RowNoKeyUpdate)
	if err != nil || res.Outcome == Missing { // the table of roots is newer than the snapshot: another one, as the next statement has
		tx.Rollback()
		if err != nil && !dberr.Retryable(err) {
			e.Error(err)
		}
		return false
	}
	if res.Outcome != OK {
		e.Errorf("%+v", res)
		return false
	}
	if res.Moved {
		s.Refresh(id, res.CSN)
	}
	g := h.Getter()
	cid, _ := tx.Segment(1)
	r, root, ok, err := g.Get(e.ctx, s, cid, res.TID, id, ByHint)
	if err != nil || !ok {
		e.Errorf("locked row %d not found at %v: %v", id, res.TID, err)
		g.Release()
		tx.Rollback()
		return false
	}
	n, _, _ := strings.Cut(text(r), " ")
	g.Release()
	k, err := strconv.Atoi(n)
	if err != nil {
		e.Error(err)
	}
	up, err := h.Update(e.ctx, tx, s, cid, root, id, row(id, strconv.Itoa(k+1)+" "+pad), UpdateOptions{HOT: true})
	if err != nil || up.Outcome != OK {
		e.Errorf("update of a locked row: %+v, %v", up, err)
		tx.Rollback()
		return false
	}
	if rollback {
		tx.Rollback()
		return false
	}
	mu.Lock() // published together with the new place
	defer mu.Unlock()
	e.commit(tx)
	tids[i] = up.TID
	return true
}

// A snapshot has loaded its numbers and is not announced yet; the version that those numbers would see is replaced and pruned.
// The snapshot must notice and see the new one.
func TestSnapshotAnnouncementAgainstPruning(t *testing.T) { // A3
	for _, point := range []string{"txn.snapshot.loaded", "txn.snapshot.announced"} {
		t.Run(point, func(t *testing.T) { announceAgainstPruning(t, point) })
	}
}

func announceAgainstPruning(t *testing.T, point string) {
	e := newEnv(t)
	h := e.table(Options{})
	setup := e.begin()
	tid := e.insert(h, setup, 1, "v0")
	e.commit(setup)
	c := sched.Install(t)
	gate := c.Stop(point)
	got := make(chan *txn.Snapshot, 1)
	go func() { got <- e.m.Snapshot() }()
	gate.Wait()
	for _, s := range []string{"v1", "v2", "v3"} {
		tx := e.begin()
		e.update(h, tx, tid, 1, s, true)
		e.commit(tx)
	}
	n, err := h.Prune(e.ctx, 0)
	must(t, err)
	if announced := point == "txn.snapshot.announced"; announced != (n == 0) {
		t.Errorf("%s: pruned %d versions", point, n)
	}
	gate.Release()
	s := <-got
	if text := e.read(h, s, 0, tid, 1, ByIndex); text != "v3" {
		t.Errorf("%s: the snapshot sees %q", point, text)
	}
	s.Close()
	if n, err = h.Prune(e.ctx, 0); err != nil {
		t.Fatal(err)
	}
	if text := e.look(h, nil, tid, 1); text != "v3" {
		t.Errorf("%s: after pruning %q", point, text)
	}
	if c.Hits(point) < 2 {
		t.Errorf("%s: the numbers were not loaded again", point)
	}
}
