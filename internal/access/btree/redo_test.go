package btree

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/recovery"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// replay repeats the log of env, up to and with record number upto (0: all), into an empty pool and returns that and what the
// last record was. after, if not nil, is called after each record.
func replay(t testing.TB, e *env, rel page.RelFile, upto int, after func(pool *buffer.Pool, n int, info uint8, lsn page.LSN)) *buffer.Pool {
	t.Helper()
	if err := e.log.FlushTo(e.log.InsertedLSN()); err != nil {
		t.Fatal(err)
	}
	fs := vfs.NewMem()
	if err := fs.MkdirAll("base"); err != nil {
		t.Fatal(err)
	}
	pool, err := buffer.New(buffer.Options{FS: fs, Dir: "base", Frames: 2048})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() }) //nolint:errcheck // nothing of it is kept
	if err := pool.Create(rel); err != nil {
		t.Fatal(err)
	}
	again(t, e, pool, upto, after)
	return pool
}

// again repeats the log into a pool.
func again(t testing.TB, e *env, pool *buffer.Pool, upto int, after func(pool *buffer.Pool, n int, info uint8, lsn page.LSN)) {
	t.Helper()
	rd, err := wal.NewReader(wal.Options{FS: e.fs, Dir: "wal"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	rc := recovery.NewContext(t.Context(), pool)
	for n := 1; upto == 0 || n <= upto; n++ {
		rec, err := rd.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.Rmgr != wal.RmgrBTree {
			n--
			continue
		}
		info, lsn := rec.Info, rec.LSN
		if err := (Redoer{}).Redo(rc, rec); err != nil {
			t.Fatal(err)
		}
		if after != nil {
			after(pool, n, info, lsn)
		}
	}
}

// eachRecord calls f for each record of a tree in the log.
func eachRecord(t testing.TB, e *env, f func()) {
	t.Helper()
	rd, err := wal.NewReader(wal.Options{FS: e.fs, Dir: "wal"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close() //nolint:errcheck // it has read only
	for {
		rec, err := rd.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.Rmgr == wal.RmgrBTree {
			f()
		}
	}
}

// image copies a page without what redo does not repeat: checksum and dead marks.
func image(t testing.TB, pool *buffer.Pool, id page.ID) []byte {
	t.Helper()
	f, err := pool.Pin(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Unpin()
	p := slices.Clone(f.Page())
	clear(p[8:12])
	if page.Page(p).Type() == page.TypeBTree {
		for off := 1; off <= p.NumItems(); off++ {
			id := p.ItemID(off)
			p.SetItemID(off, page.MakeItemID(id.Offset(), page.Normal, id.Len()))
		}
	}
	return p
}

func samePages(t *testing.T, a, b *buffer.Pool, rel page.RelFile) {
	t.Helper()
	na, err := a.Size(rel, page.Main)
	if err != nil {
		t.Fatal(err)
	}
	if nb, err := b.Size(rel, page.Main); err != nil || na != nb {
		t.Fatalf("%d pages, want %d (%v)", nb, na, err)
	}
	for blk := range na {
		id := page.ID{Rel: rel, Block: blk}
		if !bytes.Equal(image(t, a, id), image(t, b, id)) {
			t.Fatalf("page %d differs", blk)
		}
	}
}

// work does random things to a tree and returns its model.
func work(t testing.TB, tr *Tree, seed uint64, steps, keyLen int, after func(model []entry)) []entry {
	rng := rand.New(rand.NewPCG(seed, 7))
	ctx := t.Context()
	var model []entry
	for i := range steps {
		switch op := rng.IntN(10); {
		case op < 8 || len(model) == 0:
			k := make([]byte, rng.IntN(keyLen+1))
			for j := range k {
				k[j] = byte(rng.IntN(3))
			}
			if rng.IntN(3) == 0 {
				k = append(bytes.Repeat([]byte{9}, keyLen/2), be(uint64(i))...) // some ascend
			}
			e := entry{k, uint64(i + 1)}
			if err := tr.Insert(ctx, nil, e.key, e.ptr); err != nil {
				t.Fatal(err)
			}
			at, _ := slices.BinarySearchFunc(model, e, cmpEntry)
			model = slices.Insert(model, at, e)
		case op == 8:
			i := rng.IntN(len(model))
			if ok, err := tr.Delete(ctx, nil, model[i].key, model[i].ptr); !ok || err != nil {
				t.Fatal(ok, err)
			}
			model = slices.Delete(model, i, i+1)
		default: // mark a few; marks are hints, so the model forgets the entries as a reader would
			i := rng.IntN(len(model))
			var c Cursor
			c.Init(tr, Options{Max: 2})
			c.Seek(Range{Lower: model[i].key})
			if ok, err := c.Next(ctx); !ok || err != nil {
				t.Fatal(ok, err)
			}
			e := entry{bytes.Clone(c.Key()), c.Ptr()}
			c.Kill()
			c.Close()
			at, found := slices.BinarySearchFunc(model, e, cmpEntry)
			if !found {
				t.Fatal("a marked entry came back")
			}
			model = slices.Delete(model, at, at+1)
		}
		if after != nil {
			after(model)
		}
	}
	return model
}

// TestRedoRebuildsTheTree: the log alone makes the same pages, byte by byte, and repeating it once more changes nothing.
func TestRedoRebuildsTheTree(t *testing.T) {
	for i, keyLen := range []int{10, 10, 200, 1500, 1500} {
		e := newEnv(t)
		if i%2 == 1 {
			defer e.log.ForceImages()() // every record carries its pages, and redo is just them
		}
		tr := e.tree(t)
		work(t, tr, uint64(keyLen), 1500, keyLen, nil)
		if err := tr.SetHasLong(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		mustVerify(t, tr)
		pool := replay(t, e, tr.Rel(), 0, nil)
		samePages(t, e.pool, pool, tr.Rel())
		again(t, e, pool, 0, nil)
		samePages(t, e.pool, pool, tr.Rel())
	}
}

func TestRedoRebuildsABuiltTree(t *testing.T) {
	e := newEnv(t)
	ctx := t.Context()
	b, err := NewBuilder(ctx, nil, e.pool, e.log, e.rel(t))
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(20000) {
		if err := b.Add(ctx, be(i/2), i); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := b.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	pool := replay(t, e, tr.Rel(), 0, nil)
	samePages(t, e.pool, pool, tr.Rel())
}

// TestEveryPrefixOfTheLogIsATree: after each record the tree is whole, incomplete splits apart, and holds every entry that was
// inserted by then.
func TestEveryPrefixOfTheLogIsATree(t *testing.T) {
	e := newEnv(t)
	tr := e.tree(t)
	type state struct {
		lsn   page.LSN
		model []entry
	}
	var states []state
	ctx := t.Context()
	rng := rand.New(rand.NewPCG(4, 4))
	var model []entry
	for i := range uint64(260) {
		k := make([]byte, 1400) // few a page, separators as long, so the tree grows high
		for j := range 4 {
			k[len(k)-1-j] = byte(rng.IntN(256))
		}
		if err := tr.Insert(ctx, nil, k, i+1); err != nil {
			t.Fatal(err)
		}
		en := entry{k, i + 1}
		at, _ := slices.BinarySearchFunc(model, en, cmpEntry)
		model = slices.Insert(model, at, en)
		states = append(states, state{e.log.InsertedLSN(), slices.Clone(model)})
	}
	if sum := mustVerify(t, tr); sum.Levels < 4 {
		t.Fatalf("only %d levels", sum.Levels)
	}
	incomplete, at := 0, 0
	var splits []int
	replay(t, e, tr.Rel(), 0, func(pool *buffer.Pool, n int, info uint8, lsn page.LSN) {
		got := Open(pool, e.log, tr.Rel())
		sum := mustVerify(t, got)
		incomplete += sum.Incomplete
		if info == opSplit {
			splits = append(splits, n)
		}
		for at < len(states) && states[at].lsn < lsn {
			at++
		}
		if at < len(states) && states[at].lsn == lsn {
			if n%16 == 0 && !sameEntries(entriesOf(t, got, Range{}, Options{Reverse: false}), states[at].model) {
				t.Fatalf("entries differ after record %d", n)
			}
			if sum.Incomplete != 0 || sum.Entries != uint64(len(states[at].model)) {
				t.Fatalf("after an insert was done: %+v", sum)
			}
		}
	})
	if incomplete == 0 || len(splits) < 40 {
		t.Fatalf("%d incomplete splits seen, %d splits", incomplete, len(splits))
	}

	// A crash right behind a split: readers find everything, the next inserter finishes it.
	for i, n := range splits {
		if raceEnabled && i%8 != 0 {
			continue
		}
		pool := replay(t, e, tr.Rel(), n, nil)
		other := newEnv(t)
		got := Open(pool, other.log, tr.Rel())
		before := mustVerify(t, got)
		if before.Incomplete == 0 {
			t.Fatalf("record %d: no incomplete split", n)
		}
		all := entriesOf(t, got, Range{}, Options{})
		back := entriesOf(t, got, Range{}, Options{Reverse: true})
		slices.Reverse(back)
		if uint64(len(all)) != before.Entries || !sameEntries(all, back) {
			t.Fatalf("record %d: readers see %d of %d", n, len(all), before.Entries)
		}
		for i, en := range all {
			if err := got.Insert(ctx, nil, append(bytes.Clone(en.key), 0), uint64(i+1)); err != nil {
				t.Fatalf("record %d: %v", n, err)
			}
		}
		if after := mustVerify(t, got); after.Incomplete != 0 || after.Entries != 2*before.Entries {
			t.Fatalf("record %d: %+v, then %+v", n, before, after)
		}
		if got.Counters.Finished.Load() == 0 {
			t.Fatalf("record %d: nobody finished the split", n)
		}
	}
}

// TestRedoRefusesNonsense: records that do not fit their pages are errors, not panics.
func TestRedoRefusesNonsense(t *testing.T) {
	n := newNode(0)
	if err := loadItems(n, []byte{9}); err == nil {
		t.Error("a cut length was taken")
	}
	if err := loadItems(n, []byte{200, 0, 1}); err == nil {
		t.Error("a cut item was taken")
	}
	if _, err := decodeSplit([]byte{1, 2}); err == nil {
		t.Error("a short split record was taken")
	}
}
