package heap

import (
	"strings"
	"sync"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

func TestNowJudgesForUniqueIndexes(t *testing.T) {
	e := newEnv(t)
	h := e.table(Options{})
	now := func(tx *txn.Tx, tid page.TID) Presence {
		t.Helper()
		g := h.Getter()
		defer g.Release()
		pr, x, err := g.Now(e.ctx, tx, tid, 1, func(r []byte) bool { return len(r) >= 8 })
		must(t, err)
		if (x != 0) != (pr == Undecided) {
			t.Fatalf("%v, wait for %d", pr, x)
		}
		return pr
	}
	want := func(what string, got, want Presence) {
		t.Helper()
		if got != want {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
	a, b := e.begin(), e.begin()
	tid := e.insert(h, a, 1, "v")
	want("own insert", now(a, tid), Present)
	want("another's insert", now(b, tid), Undecided)
	e.commit(a)
	want("committed", now(b, tid), Present)
	a = e.begin()
	e.update(h, a, tid, 1, "w", true)
	want("another's heap-only update", now(b, tid), Present)
	e.update(h, a, tid, 1, "", false)
	want("and delete behind it", now(b, tid), Undecided)
	want("own delete", now(a, tid), Absent)
	a.Rollback()
	want("rolled back", now(b, tid), Present)
	a = e.begin()
	e.update(h, a, tid, 1, "x", false)
	want("update of what is indexed", now(b, tid), Undecided)
	e.commit(a)
	want("which committed", now(b, tid), Absent)
	b.Rollback()
	g := h.Getter()
	if pr, _, err := g.Now(e.ctx, nil, page.MakeTID(99, 1), 1, nil); pr != Absent || err != nil {
		t.Fatal(pr, err)
	}
}

func TestReadVersionsForIndexBuilds(t *testing.T) { // B5
	e := newEnv(t)
	h := e.table(Options{})
	tx := e.begin()
	a, b, c := e.insert(h, tx, 1, "a0"), e.insert(h, tx, 2, "b0"), e.insert(h, tx, 3, "c0")
	e.commit(tx)
	old := e.m.Snapshot()
	defer old.Close()
	tx = e.begin()
	e.update(h, tx, a, 1, "a1", true)
	e.update(h, tx, b, 2, "", false)
	e.commit(tx)
	ab := e.begin()
	e.update(h, ab, c, 3, "c1", true)
	ab.Rollback()
	tx = e.begin()
	defer tx.Rollback()
	var v Versions
	must(t, h.ReadVersions(e.ctx, tx, 0, e.m.Horizon(), &v))
	type ver struct {
		root        page.TID
		s           string
		last, ended bool
	}
	var got []ver
	for i := range v.Len() {
		got = append(got, ver{v.Root[i], text(v.Row(i)), v.Last[i], v.Ended[i]})
	}
	want := []ver{{a, "a0", false, true}, {a, "a1", true, false}, {b, "b0", true, true}, {c, "c0", true, false}}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %v, want %v", i, got[i], want[i])
		}
	}
}

func TestChangesKeepCommandOrder(t *testing.T) { // H9
	e := newEnv(t)
	h := e.table(Options{})
	tx := e.begin()
	defer tx.Rollback()
	base, _ := tx.Segment(3)
	tid, err := h.Insert(e.ctx, tx, base+2, row(1, "x"))
	must(t, err)
	s := tx.Snapshot()
	defer s.Close()
	defer func() { _ = recover() }() // the checking build panics
	if _, err := h.Update(e.ctx, tx, s, base, tid, 1, row(1, "y"), UpdateOptions{}); !dberr.Is(err, dberr.Internal) {
		t.Fatal(err)
	}
}

// Sessions fill pages of their own, and free space that pruning found is used again.
func TestConcurrentInsertsAndReuse(t *testing.T) { // H8
	e := newEnv(t)
	h := e.table(Options{NoIndexes: true})
	const sessions, each = 4, 1500
	tids := make([][]page.TID, sessions)
	pad := strings.Repeat("x", 60)
	fill := func() {
		var wg sync.WaitGroup
		for g := range sessions {
			tids[g] = make([]page.TID, each)
			wg.Go(func() {
				tx := e.m.Begin(txn.TxOptions{Session: uint32(g)})
				for i := range each {
					id := uint64(g*each + i + 1)
					tid, err := h.Insert(e.ctx, tx, 0, row(id, pad))
					if err != nil {
						t.Error(err)
						return
					}
					tids[g][i] = tid
				}
				if _, err := tx.Commit(e.ctx); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	fill()
	s := e.m.Snapshot()
	if got := len(e.all(h, s, 0)); got != sessions*each {
		t.Fatalf("%d rows", got)
	}
	s.Close()
	full, _ := h.Blocks()
	for round := range 3 {
		tx := e.begin()
		for g := range sessions {
			for i, tid := range tids[g] {
				e.update(h, tx, tid, uint64(g*each+i+1), "", false)
			}
		}
		e.commit(tx)
		n, _ := h.Blocks()
		for b := range n {
			_, err := h.Prune(e.ctx, b)
			must(t, err)
		}
		fill()
		if n, _ := h.Blocks(); n > full+sessions {
			t.Fatalf("round %d: %d pages where %d were enough", round, n, full)
		}
	}
	// The map may say what it likes.
	for b := range full {
		h.fsmRecord(e.ctx, b, page.Size)
	}
	wrong := h.Counters().FSMWrong.Load()
	fill()
	if h.Counters().FSMWrong.Load() == wrong {
		t.Error("nobody noticed that the map was wrong")
	}
}

func TestFreeSpaceTree(t *testing.T) {
	var buf [page.Size]byte
	p := page.Page(buf[:])
	p.Init(page.TypeFSM, 0)
	set := map[int]uint8{0: 3, 1: 9, 4079: 200, 2040: 9, 77: 1}
	for c, v := range set {
		fsmSet(p, c, v)
	}
	for v := uint8(1); v <= 200; v++ {
		for spread := range uint32(8) {
			c, ok := fsmFind(p, v, spread)
			if !ok || set[c] < v {
				t.Fatalf("looking for %d: child %d with %d, %v", v, c, set[c], ok)
			}
		}
	}
	if _, ok := fsmFind(p, 201, 0); ok {
		t.Fatal("found more than there is")
	}
	fsmSet(p, 4079, 0)
	if _, ok := fsmFind(p, 10, 0); ok {
		t.Fatal("a maximum stayed behind")
	}
	seen := map[page.Block]page.Block{}
	for _, b := range []page.Block{0, 1, fsmFan - 1, fsmFan, fsmFan*fsmFan - 1, fsmFan * fsmFan, 1<<32 - 2} {
		at, child := fsmPlace(b)
		if back := (page.Block(child[0])*fsmFan+page.Block(child[1]))*fsmFan + page.Block(child[2]); back != b {
			t.Fatalf("block %d comes back as %d", b, back)
		}
		if o, ok := seen[at[2]]; ok && o/fsmFan != b/fsmFan {
			t.Fatalf("blocks %d and %d share a leaf", o, b)
		}
		seen[at[2]] = b
	}
}
