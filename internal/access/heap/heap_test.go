package heap

import (
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
)

func TestInsertIsSeenByCommandAndCommit(t *testing.T) { // A5
	e := newEnv(t)
	h := e.table(Options{})
	tx := e.begin()
	cid, _ := tx.Segment(1)
	tid, err := h.Insert(e.ctx, tx, cid, row(7, "a"))
	if err != nil {
		t.Fatal(err)
	}
	s := tx.Snapshot()
	if got := e.read(h, s, cid, tid, 7, ByHint); got != "" {
		t.Fatalf("a read at the inserting command saw %q", got)
	}
	if got := e.read(h, s, cid+1, tid, 7, ByHint); got != "a" {
		t.Fatalf("a read at the next command saw %q", got)
	}
	if got := e.look(h, nil, tid, 7); got != "" {
		t.Fatalf("seen before commit: %q", got)
	}
	old := e.m.Snapshot()
	defer old.Close()
	s.Close()
	e.commit(tx)
	if got := e.look(h, nil, tid, 7); got != "a" {
		t.Fatalf("after commit: %q", got)
	}
	if got := e.look(h, nil, tid, 8); got != "" {
		t.Fatalf("a hint with another id found %q", got) // B1
	}
	if got := e.read(h, old, 0, tid, 7, ByIndex); got != "" {
		t.Fatalf("an older snapshot sees %q", got)
	}
}

func TestUpdateKeepsRootAndOldSnapshots(t *testing.T) {
	e := newEnv(t)
	h := e.table(Options{})
	tx := e.begin()
	tid := e.insert(h, tx, 1, "v0")
	e.commit(tx)
	old := e.m.Snapshot()
	defer old.Close()
	tx = e.begin()
	for i, s := range []string{"v1", "v2", "v3"} {
		res := e.update(h, tx, tid, 1, s, true)
		if res.Outcome != OK || !res.HOT || res.TID != tid {
			t.Fatalf("update %d: %+v", i, res)
		}
	}
	if got := e.look(h, tx, tid, 1); got != "v3" {
		t.Fatalf("own newest: %q", got)
	}
	e.commit(tx)
	if got := e.read(h, old, 0, tid, 1, ByIndex); got != "v0" {
		t.Fatalf("old snapshot: %q", got)
	}
	if got := e.look(h, nil, tid, 1); got != "v3" {
		t.Fatalf("new snapshot: %q", got)
	}
}

func TestCommandIDsChooseAmongOwnVersions(t *testing.T) { // A5, combo cids
	e := newEnv(t)
	h := e.table(Options{})
	tx := e.begin()
	base, _ := tx.Segment(4)
	tid, err := h.Insert(e.ctx, tx, base, row(1, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s := tx.Snapshot()
	defer s.Close()
	for j := uint32(1); j < 3; j++ {
		res, err := h.Update(e.ctx, tx, s, base+j, tid, 1, row(1, string('0'+byte(j))), UpdateOptions{HOT: true})
		if err != nil || res.Outcome != OK {
			t.Fatal(res, err)
		}
	}
	if res, err := h.Delete(e.ctx, tx, s, base+3, tid, 1); err != nil || res.Outcome != OK {
		t.Fatal(res, err)
	}
	for cid, want := range []string{"", "0", "1", "2", ""} {
		if got := e.read(h, s, base+uint32(cid), tid, 1, ByHint); got != want {
			t.Errorf("read at %d: %q, want %q", cid, got, want)
		}
	}
	if got := e.read(h, s, base+4, tid, 1, WithDeleted); got != "2" {
		t.Errorf("deleted entity: %q", got) // C8
	}
	if res, err := h.Delete(e.ctx, tx, s, base+3, tid, 1); err != nil || res.Outcome != SelfDeleted {
		t.Errorf("second delete: %+v, %v", res, err)
	}
	e.commit(tx)
}

func TestOwnChainAcrossPages(t *testing.T) {
	e := newEnv(t)
	h := e.table(Options{FillPercent: 100})
	tx := e.begin()
	big := strings.Repeat("x", 3000)
	tid := e.insert(h, tx, 1, big)
	e.insert(h, tx, 2, big)
	base, _ := tx.Segment(1)
	s := tx.Snapshot()
	defer s.Close()
	res, err := h.Update(e.ctx, tx, s, base, tid, 1, row(1, big+"y"), UpdateOptions{HOT: true})
	if err != nil || res.Outcome != OK || res.HOT || res.TID.Block() == tid.Block() {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := e.read(h, s, base+1, tid, 1, ByHint); got != big+"y" {
		t.Fatal("a hint does not follow the own chain") // B1
	}
	if got := e.read(h, s, base+1, tid, 1, ByIndex); got != "" {
		t.Fatal("an index entry must not find a version that has an entry of its own")
	}
	if got := e.read(h, s, base, tid, 1, ByHint); got != big {
		t.Fatal("the clause's own read sees its write")
	}
	// A second update through the stale hint reaches the newest version.
	next, _ := tx.Segment(1)
	res2, err := h.Update(e.ctx, tx, s, next, tid, 1, row(1, "z"), UpdateOptions{HOT: true})
	if err != nil || res2.Outcome != OK || !res2.HOT || res2.TID != res.TID {
		t.Fatalf("%+v, %v", res2, err)
	}
	if got := e.all(h, s, next+1); len(got) != 2 || got[1] != "z" {
		t.Fatalf("scan: %d rows", len(got))
	}
	e.commit(tx)
}

func TestRowTooBig(t *testing.T) {
	e := newEnv(t)
	h := e.table(Options{})
	tx := e.begin()
	defer tx.Rollback()
	if _, err := h.Insert(e.ctx, tx, 0, make([]byte, MaxRow)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Insert(e.ctx, tx, 0, make([]byte, MaxRow+1)); !dberr.Is(err, dberr.LimitExceeded) {
		t.Fatalf("err = %v", err)
	}
}

func TestSavepointRollbackUndoesRows(t *testing.T) { // A6
	e := newEnv(t)
	h := e.table(Options{})
	tx := e.begin()
	a := e.insert(h, tx, 1, "a")
	must(t, tx.Savepoint("s"))
	b := e.insert(h, tx, 2, "b")
	e.update(h, tx, a, 1, "a2", true)
	must(t, tx.Savepoint("inner"))
	e.update(h, tx, a, 1, "a3", true)
	must(t, tx.Release("inner"))
	if got := e.look(h, tx, a, 1); got != "a3" {
		t.Fatalf("in the savepoint: %q", got)
	}
	must(t, tx.RollbackTo("s"))
	if got := e.look(h, tx, a, 1); got != "a" {
		t.Fatalf("after rollback: %q", got)
	}
	if got := e.look(h, tx, b, 2); got != "" {
		t.Fatalf("row of the savepoint: %q", got)
	}
	e.update(h, tx, a, 1, "a4", true)
	e.commit(tx)
	if got := e.look(h, nil, a, 1); got != "a4" {
		t.Fatalf("after commit: %q", got)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPruneFreesMembersAndKeepsDeadRoots(t *testing.T) { // H3
	e := newEnv(t)
	h := e.table(Options{FillPercent: 100})
	tx := e.begin()
	long := strings.Repeat("r", 500)
	var tids []page.TID
	for i := range uint64(10) {
		tids = append(tids, e.insert(h, tx, i+1, long))
	}
	e.commit(tx)
	// Many updates of one row stay on the page: each finds room where the version before last was.
	for i := range 100 {
		tx := e.begin()
		res := e.update(h, tx, tids[0], 1, long+string('a'+byte(i%26)), true)
		if !res.HOT || res.TID != tids[0] {
			t.Fatalf("update %d left the page: %+v", i, res)
		}
		e.commit(tx)
	}
	if n, _ := h.Blocks(); n != 1 {
		t.Fatalf("%d blocks", n)
	}
	tx = e.begin()
	e.update(h, tx, tids[3], 4, "", false)
	e.commit(tx)
	if _, err := h.Prune(e.ctx, 0); err != nil {
		t.Fatal(err)
	}
	f, err := h.pin(e.ctx, 0)
	must(t, err)
	if st := f.Page().ItemID(tids[3].Offset()).State(); st != page.Dead {
		t.Errorf("deleted root is %v", st)
	}
	if st := f.Page().ItemID(tids[0].Offset()).State(); st != page.Redirect {
		t.Errorf("updated root is %v", st)
	}
	if err := f.Page().VerifyHeader(f.ID()); err != nil {
		t.Error(err)
	}
	f.Unpin()
	if got := e.look(h, nil, tids[0], 1); got != long+string('a'+byte(99%26)) {
		t.Error("lost the newest version")
	}
	tx = e.begin()
	if tid := e.insert(h, tx, 99, "new"); tid == tids[3] {
		t.Error("a dead root was used again")
	}
	e.commit(tx)
}

func TestPruneSparesWhatASnapshotSees(t *testing.T) {
	e := newEnv(t)
	h := e.table(Options{})
	tx := e.begin()
	tid := e.insert(h, tx, 1, "old")
	e.commit(tx)
	s := e.m.Snapshot()
	for _, v := range []string{"x", "y", "z"} {
		tx := e.begin()
		e.update(h, tx, tid, 1, v, true)
		e.commit(tx)
	}
	if _, err := h.Prune(e.ctx, 0); err != nil {
		t.Fatal(err)
	}
	if got := e.read(h, s, 0, tid, 1, ByIndex); got != "old" {
		t.Fatalf("snapshot sees %q", got)
	}
	s.Close()
	must(t, e.log.FlushTo(e.log.InsertedLSN()))
	n, err := h.Prune(e.ctx, 0)
	if err != nil || n == 0 {
		t.Fatalf("pruned %d, %v", n, err)
	}
	if got := e.look(h, nil, tid, 1); got != "z" {
		t.Fatalf("now %q", got)
	}
}

func TestVisibilityMapFollowsChanges(t *testing.T) { // H4
	e := newEnv(t)
	h := e.table(Options{})
	tx := e.begin()
	tid := e.insert(h, tx, 1, "a")
	e.insert(h, tx, 2, "b")
	e.commit(tx)
	must(t, e.log.FlushTo(e.log.InsertedLSN()))
	e.m.Horizon()
	s := e.m.Snapshot()
	e.all(h, s, 0)
	s.Close()
	if ok, err := h.AllVisible(e.ctx, 0); err != nil || !ok {
		t.Fatalf("not marked: %v, %v", ok, err)
	}
	tx = e.begin()
	e.update(h, tx, tid, 1, "c", true)
	if ok, _ := h.AllVisible(e.ctx, 0); ok {
		t.Fatal("still marked after an update")
	}
	if got := e.look(h, nil, tid, 1); got != "a" {
		t.Fatalf("others see %q", got)
	}
	tx.Rollback()
	if got := e.look(h, nil, tid, 1); got != "a" {
		t.Fatalf("after rollback: %q", got)
	}
}

func TestManyPagesAndFreeSpace(t *testing.T) {
	e := newEnv(t)
	h := e.table(Options{})
	tx := e.begin()
	const n = 5000
	tids := make([]page.TID, n)
	pad := strings.Repeat("p", 100)
	for i := range tids {
		tids[i] = e.insert(h, tx, uint64(i+1), pad)
	}
	e.commit(tx)
	blocks, _ := h.Blocks()
	tx = e.begin()
	for i := 0; i < n; i += 2 {
		e.update(h, tx, tids[i], uint64(i+1), "", false)
	}
	e.commit(tx)
	must(t, e.log.FlushTo(e.log.InsertedLSN()))
	e.m.Horizon()
	for b := range blocks {
		if _, err := h.Prune(e.ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	s := e.m.Snapshot()
	if got := len(e.all(h, s, 0)); got != n/2 {
		t.Fatalf("%d rows", got)
	}
	s.Close()
	rows := make([][]byte, 300)
	out := make([]page.TID, len(rows))
	for i := range rows {
		rows[i] = row(uint64(100000+i), pad)
	}
	tx = e.begin()
	must(t, h.InsertMany(e.ctx, tx, tx.CurrentCID(), rows, out))
	e.commit(tx)
	for i, tid := range out {
		if got := e.look(h, nil, tid, uint64(100000+i)); got != pad {
			t.Fatalf("row %d at %v: %q", i, tid, got)
		}
	}
}
