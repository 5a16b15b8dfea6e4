package heap

import (
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// Rows cost no allocation in the steady state: those of a statement or a page are shared by its rows.
func TestAllocationsPerRow(t *testing.T) { // E2
	if raceEnabled {
		t.Skip("the race detector's pools forget at random")
	}
	e := newEnv(t)
	h := e.table(Options{})
	tx := e.begin()
	const n = 2000
	rows := make([][]byte, n)
	for i := range rows {
		rows[i] = row(uint64(i+1), "some properties of a vertex")
	}
	tids := make([]page.TID, n)
	must(t, h.InsertMany(e.ctx, tx, 0, rows, tids))
	must(t, commitErr(tx, e))
	next := uint64(n)
	limit := func(what string, perRow float64, f func()) {
		t.Helper()
		if got := testing.AllocsPerRun(5, f) / n; got > perRow {
			t.Errorf("%s: %.3f allocations a row, want at most %.3f", what, got, perRow)
		}
	}
	statement := func(f func(tx *txn.Tx, s *txn.Snapshot, cid uint32)) func() {
		return func() {
			tx := e.begin()
			s := tx.Snapshot()
			cid, err := tx.Segment(1)
			must(t, err)
			f(tx, s, cid)
			s.Close()
			e.commit(tx)
		}
	}
	limit("insert one by one", 0.05, statement(func(tx *txn.Tx, s *txn.Snapshot, cid uint32) {
		for i := range n {
			next++
			le.PutUint64(rows[i], next)
			if _, err := h.Insert(e.ctx, tx, cid, rows[i]); err != nil {
				t.Fatal(err)
			}
		}
	}))
	limit("update", 0.05, statement(func(tx *txn.Tx, s *txn.Snapshot, cid uint32) {
		for i := range n {
			le.PutUint64(rows[i], uint64(i+1))
			res, err := h.Update(e.ctx, tx, s, cid, tids[i], uint64(i+1), rows[i], UpdateOptions{HOT: true})
			if err != nil || res.Outcome != OK {
				t.Fatal(res, err)
			}
			tids[i] = res.TID
		}
	}))
	limit("lock, update", 0.05, statement(func(tx *txn.Tx, s *txn.Snapshot, cid uint32) {
		for i := range n {
			le.PutUint64(rows[i], uint64(i+1))
			if res, err := h.LockRow(e.ctx, tx, s, tids[i], uint64(i+1), txn.RowNoKeyUpdate); err != nil || res.Outcome != OK {
				t.Fatal(res, err)
			}
			res, err := h.Update(e.ctx, tx, s, cid, tids[i], uint64(i+1), rows[i], UpdateOptions{HOT: true})
			if err != nil || res.Outcome != OK {
				t.Fatal(res, err)
			}
			tids[i] = res.TID
		}
		if tx.RowLocks() != 0 {
			t.Error("a statement over many rows lists its locks though each xmax covers them")
		}
	}))
	var b Batch
	limit("scan", 0.01, statement(func(tx *txn.Tx, s *txn.Snapshot, cid uint32) {
		sc := h.Scan(s, cid)
		for b.Len() > 0 || b.buf == nil {
			must(t, sc.Next(e.ctx, 1024, &b))
			if b.Len() == 0 {
				break
			}
		}
		b.TID = append(b.TID, 1) // not empty for the next run
	}))
	limit("get", 0.01, statement(func(tx *txn.Tx, s *txn.Snapshot, cid uint32) {
		g := h.Getter()
		for i := range n {
			if _, _, ok, err := g.Get(e.ctx, s, cid, tids[i], uint64(i+1), ByHint); err != nil || !ok {
				t.Fatal(ok, err)
			}
		}
		g.Release()
	}))
	saved := append([]page.TID(nil), tids...)
	limit("delete", 0.05, func() {
		tx := e.begin()
		s := tx.Snapshot()
		cid, _ := tx.Segment(1)
		for i := range n {
			if res, err := h.Delete(e.ctx, tx, s, cid, saved[i], uint64(i+1)); err != nil || res.Outcome != OK {
				t.Fatal(res, err)
			}
		}
		s.Close()
		tx.Rollback()
	})
}

func commitErr(tx *txn.Tx, e *env) error {
	_, err := tx.Commit(e.ctx)
	return err
}

func BenchmarkInsert(b *testing.B) {
	e := newEnv(b)
	h := e.table(Options{})
	tx := e.begin()
	r := row(1, "some properties of a vertex")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Insert(e.ctx, tx, 0, r); err != nil {
			b.Fatal(err)
		}
	}
	tx.Rollback()
}

func BenchmarkUpdateHOT(b *testing.B) {
	e := newEnv(b)
	h := e.table(Options{})
	tx := e.begin()
	tid := e.insert(h, tx, 1, "some properties of a vertex")
	e.commit(tx)
	r := row(1, "some properties of a vertex")
	b.ReportAllocs()
	for b.Loop() {
		tx := e.m.Begin(txn.TxOptions{})
		s := tx.Snapshot()
		res, err := h.Update(e.ctx, tx, s, 0, tid, 1, r, UpdateOptions{HOT: true})
		if err != nil || res.Outcome != OK {
			b.Fatal(res, err)
		}
		s.Close()
		e.commit(tx)
		tid = res.TID
	}
}

func BenchmarkScan(b *testing.B) {
	e := newEnv(b)
	h := e.table(Options{})
	tx := e.begin()
	rows := make([][]byte, 10_000)
	for i := range rows {
		rows[i] = row(uint64(i+1), "some properties of a vertex")
	}
	must(b, h.InsertMany(e.ctx, tx, 0, rows, make([]page.TID, len(rows))))
	e.commit(tx)
	var batch Batch
	b.ReportAllocs()
	for b.Loop() {
		s := e.m.Snapshot()
		sc := h.Scan(s, 0)
		for {
			must(b, sc.Next(e.ctx, 1024, &batch))
			if batch.Len() == 0 {
				break
			}
		}
		s.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
}

func BenchmarkGet(b *testing.B) {
	e := newEnv(b)
	h := e.table(Options{})
	tx := e.begin()
	tid := e.insert(h, tx, 1, "some properties of a vertex")
	e.commit(tx)
	s := e.m.Snapshot()
	defer s.Close()
	g := h.Getter()
	defer g.Release()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok, err := g.Get(e.ctx, s, 0, tid, 1, ByIndex); !ok || err != nil {
			b.Fatal(err)
		}
	}
}
