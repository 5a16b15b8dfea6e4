package btree

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
)

func be(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// entriesOf reads the whole tree through a cursor.
func entriesOf(t testing.TB, tr *Tree, r Range, o Options) []entry {
	t.Helper()
	var c Cursor
	c.Init(tr, o)
	c.Seek(r)
	defer c.Close()
	var out []entry
	for {
		ok, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return out
		}
		out = append(out, entry{bytes.Clone(c.Key()), c.Ptr()})
	}
}

// mustVerify fails the test with the first faults of the tree.
func mustVerify(t testing.TB, tr *Tree) Summary {
	t.Helper()
	var faults []string
	sum, err := tr.Verify(t.Context(), Visitor{Fault: func(b page.Block, why string) {
		faults = append(faults, fmt.Sprintf("page %d: %s", b, why))
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(faults) > 0 {
		t.Fatalf("%d faults: %s", len(faults), faults[:min(5, len(faults))])
	}
	return sum
}

func sameEntries(a, b []entry) bool {
	return slices.EqualFunc(a, b, func(x, y entry) bool { return x.ptr == y.ptr && bytes.Equal(x.key, y.key) })
}

func inRange(r Range, k []byte) bool {
	if r.Lower != nil {
		c := bytes.Compare(k[:min(len(k), len(r.Lower))], r.Lower)
		if c < 0 || c == 0 && r.LowerExclusive {
			return false
		}
	}
	if r.Upper != nil {
		c := bytes.Compare(k[:min(len(k), len(r.Upper))], r.Upper)
		if c > 0 || c == 0 && r.UpperExclusive {
			return false
		}
	}
	return true
}

// TestTreeAgreesWithSortedSlice: after every step the tree holds what a sorted slice holds, whichever way it is asked.
func TestTreeAgreesWithSortedSlice(t *testing.T) {
	env := newEnv(t)
	rapid.Check(t, func(rt *rapid.T) {
		tr := env.tree(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))
		limit := rapid.SampledFrom([]int{3, 12, 300, MaxKey}).Draw(rt, "limit")
		alphabet := rapid.SampledFrom([]int{1, 2, 256}).Draw(rt, "alphabet")
		key := func() []byte {
			k := make([]byte, rng.IntN(limit+1))
			for i := range k {
				k[i] = byte(rng.IntN(alphabet))
			}
			return k
		}
		var model []entry
		ctx := t.Context()
		steps := rapid.IntRange(1, 800).Draw(rt, "steps")
		for range steps {
			switch rng.IntN(12) {
			default:
				e := entry{key(), uint64(rng.IntN(1000) + 1)}
				at, found := slices.BinarySearchFunc(model, e, cmpEntry)
				err := tr.Insert(ctx, nil, e.key, e.ptr)
				if found != (err != nil) {
					rt.Fatalf("insert: found %v, error %v", found, err)
				}
				if !found {
					model = slices.Insert(model, at, e)
				}
			case 0, 1:
				e := entry{key(), uint64(rng.IntN(1000) + 1)}
				if len(model) > 0 && rng.IntN(3) > 0 {
					e = model[rng.IntN(len(model))]
				}
				at, found := slices.BinarySearchFunc(model, e, cmpEntry)
				got, err := tr.Delete(ctx, nil, e.key, e.ptr)
				if err != nil || got != found {
					rt.Fatalf("delete: %v %v, want %v", got, err, found)
				}
				if found {
					model = slices.Delete(model, at, at+1)
				}
			case 2:
				k := key()
				if len(model) > 0 && rng.IntN(2) > 0 {
					k = model[rng.IntN(len(model))].key
				}
				var want []uint64
				for _, e := range model {
					if bytes.Equal(e.key, k) {
						want = append(want, e.ptr)
					}
				}
				got, err := tr.LookupEq(ctx, k, nil)
				if err != nil || !slices.Equal(got, want) {
					rt.Fatalf("lookup: %v %v, want %v", got, err, want)
				}
			}
		}
		for range 12 {
			r := Range{LowerExclusive: rng.IntN(2) > 0, UpperExclusive: rng.IntN(2) > 0}
			if rng.IntN(4) > 0 {
				r.Lower = key()
			}
			if rng.IntN(4) > 0 {
				r.Upper = key()
			}
			o := Options{Reverse: rng.IntN(2) > 0, Max: []int{0, 1, 3}[rng.IntN(3)], KeepPin: rng.IntN(2) > 0, Probe: rng.IntN(2) > 0}
			var want []entry
			for _, e := range model {
				if inRange(r, e.key) {
					want = append(want, e)
				}
			}
			n, err := tr.Count(ctx, r)
			if err != nil || n != uint64(len(want)) {
				rt.Fatalf("count %d %v, want %d", n, err, len(want))
			}
			if o.Reverse {
				slices.Reverse(want)
			}
			if got := entriesOf(t, tr, r, o); !sameEntries(got, want) {
				rt.Fatalf("scan %+v %+v: %d entries, want %d", r, o, len(got), len(want))
			}
		}
		if sum := mustVerify(t, tr); sum.Entries != uint64(len(model)) {
			rt.Fatalf("verify counted %d of %d", sum.Entries, len(model))
		}
	})
}

// TestProbes: one cursor asked for many keys finds what fresh ones find, in any order, and without a descent for neighbours.
func TestProbes(t *testing.T) {
	env := newEnv(t)
	tr := env.tree(t)
	ctx := t.Context()
	const n = 20000
	for i := range uint64(n) {
		if err := tr.Insert(ctx, nil, be(i*3), i+1); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, order := range []string{"sorted", "random", "dense"} {
		var probes []uint64
		for range 2000 {
			probes = append(probes, rng.Uint64N(3*n+9))
		}
		if order == "dense" {
			for i := range probes {
				probes[i] = uint64(i)
			}
		}
		if order != "random" {
			slices.Sort(probes)
		}
		var c Cursor
		c.Init(tr, Options{Probe: true})
		descents := tr.Counters.Descents.Load()
		for _, p := range probes {
			k := be(p)
			c.Seek(Prefix(k))
			ok, err := c.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if want := p%3 == 0 && p/3 < n; ok != want || ok && c.Ptr() != p/3+1 {
				t.Fatalf("%s: probe %d: %v", order, p, ok)
			}
			if ok {
				if again, err := c.Next(ctx); again || err != nil {
					t.Fatalf("%s: probe %d found twice", order, p)
				}
			}
		}
		c.Close()
		descents = tr.Counters.Descents.Load() - descents
		switch {
		case order == "dense" && descents > 2:
			t.Errorf("dense: %d descents", descents)
		case order == "sorted" && descents > 400:
			t.Errorf("sorted: %d descents for %d probes", descents, len(probes))
		}
	}
}

func TestUnique(t *testing.T) {
	env := newEnv(t)
	tr := env.tree(t)
	ctx := t.Context()
	key := []byte("ada")
	asked := []uint64{}
	verdicts := map[uint64]Verdict{}
	judge := func(ptr uint64) (Verdict, error) {
		asked = append(asked, ptr)
		return verdicts[ptr], nil
	}
	insert := func(ptr uint64) Outcome {
		t.Helper()
		asked = asked[:0]
		out, err := tr.InsertUnique(ctx, nil, key, ptr, judge)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := insert(1); out.Kind != Free || len(asked) != 0 {
		t.Fatalf("first: %+v", out)
	}
	verdicts[1] = Verdict{Kind: Conflict}
	if out := insert(2); out.Kind != Conflict || out.Ptr != 1 {
		t.Fatalf("conflict: %+v", out)
	}
	verdicts[1] = Verdict{Kind: Wait, Xid: 77}
	if out := insert(2); out.Kind != Wait || out.Xid != 77 || out.Ptr != 1 {
		t.Fatalf("wait: %+v", out)
	}
	verdicts[1] = Verdict{}
	if out := insert(2); out.Kind != Free {
		t.Fatalf("free: %+v", out)
	}
	verdicts[1] = Verdict{Kind: Dead}
	verdicts[2] = Verdict{Kind: Conflict}
	if out := insert(3); out.Kind != Conflict || out.Ptr != 2 {
		t.Fatalf("second of two: %+v", out)
	}
	if out := insert(3); !slices.Equal(asked, []uint64{2}) || out.Kind != Conflict {
		t.Fatalf("a dead entry was asked about again: %v", asked)
	}
	boom := errors.New("boom")
	if _, err := tr.InsertUnique(ctx, nil, key, 9, func(uint64) (Verdict, error) { return Verdict{}, boom }); !errors.Is(err, boom) {
		t.Fatalf("error of the judge: %v", err)
	}
	if _, err := tr.InsertUnique(ctx, nil, make([]byte, MaxKey+1), 9, judge); !dberr.Is(err, dberr.LimitExceeded) {
		t.Fatalf("long key: %v", err)
	}
	mustVerify(t, tr)
}

// TestUniqueLooksAtAllPages: equal keys that fill several leaves are all judged, and the new entry finds its place among them.
func TestUniqueLooksAtAllPages(t *testing.T) {
	env := newEnv(t)
	tr := env.tree(t)
	ctx := t.Context()
	key := bytes.Repeat([]byte("k"), 100)
	free := func(uint64) (Verdict, error) { return Verdict{}, nil }
	const n = 1000
	order := rand.New(rand.NewPCG(3, 3)).Perm(n)
	for _, i := range order {
		if out, err := tr.InsertUnique(ctx, nil, key, uint64(i+1), free); err != nil || out.Kind != Free {
			t.Fatal(out, err)
		}
	}
	for _, k := range []string{"a", "z"} {
		if _, err := tr.InsertUnique(ctx, nil, []byte(k), 1, free); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	last := func(ptr uint64) (Verdict, error) {
		seen++
		if ptr == n {
			return Verdict{Kind: Conflict}, nil
		}
		return Verdict{}, nil
	}
	if out, err := tr.InsertUnique(ctx, nil, key, 5000, last); err != nil || out.Kind != Conflict || seen != n {
		t.Fatalf("%+v %v after %d of %d", out, err, seen, n)
	}
	if sum := mustVerify(t, tr); sum.Entries != n+2 || sum.Leaves < 10 {
		t.Fatalf("%+v", sum)
	}
}

// TestUniqueRace: of many who insert one key at once exactly one wins.
func TestUniqueRace(t *testing.T) {
	env := newEnv(t)
	tr := env.tree(t)
	ctx := t.Context()
	var wins [50]atomic.Int32
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 9))
			for range 300 {
				k := rng.IntN(len(wins))
				out, err := tr.InsertUnique(ctx, nil, be(uint64(k)), uint64(w+1), func(uint64) (Verdict, error) {
					return Verdict{Kind: Conflict}, nil
				})
				if err != nil {
					t.Error(err)
				}
				if out.Kind == Free {
					wins[k].Add(1)
				}
			}
		})
	}
	wg.Wait()
	for k := range wins {
		if got, _ := tr.LookupEq(ctx, be(uint64(k)), nil); len(got) != int(wins[k].Load()) || len(got) > 1 {
			t.Errorf("key %d: %d winners, %d entries", k, wins[k].Load(), len(got))
		}
	}
}

// TestConcurrent: writers, deleters and scanners at once. A scan is in order, holds what was there before it began and stayed,
// and nothing that was never inserted.
func TestConcurrent(t *testing.T) {
	env := newEnv(t)
	tr := env.tree(t)
	ctx := t.Context()
	const writers, each = 4, 1500
	pad := bytes.Repeat([]byte("x"), 60) // few entries a page: many splits
	key := func(i uint64) []byte { return append(be(i), pad...) }
	var done atomic.Int32
	var progress [writers]atomic.Uint64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			defer done.Add(1)
			order := rand.New(rand.NewPCG(uint64(w), 5)).Perm(each)
			if w == 0 {
				slices.Sort(order) // one of them ascends
			}
			for n, i := range order {
				id := uint64(w*each + i)
				if w == 0 {
					id = uint64(writers*each + i)
				}
				if err := tr.Insert(ctx, nil, key(id), id+1); err != nil {
					t.Error(err)
					return
				}
				progress[w].Store(uint64(n + 1))
				if w == 3 && n%3 == 0 {
					if ok, err := tr.Delete(ctx, nil, key(id), id+1); !ok || err != nil {
						t.Errorf("delete: %v %v", ok, err)
					}
				}
			}
		})
	}
	for r := range 4 {
		wg.Go(func() {
			o := Options{Reverse: r%2 == 1, Max: []int{0, 7}[r/2]}
			for last := false; !last; {
				last = done.Load() == writers
				least := progress[1].Load() + progress[2].Load() + progress[0].Load()
				var c Cursor
				c.Init(tr, o)
				c.Seek(Range{})
				var prev []byte
				n := uint64(0)
				for {
					ok, err := c.Next(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					if !ok {
						break
					}
					if cmp := bytes.Compare(c.Key(), prev); prev != nil && (cmp == 0 || cmp < 0 != o.Reverse) {
						t.Errorf("out of order: %x after %x", c.Key()[:8], prev[:8])
						return
					}
					if c.Ptr() != binary.BigEndian.Uint64(c.Key())+1 {
						t.Errorf("entry %x has pointer %d", c.Key()[:8], c.Ptr())
					}
					prev = append(prev[:0], c.Key()...)
					n++
				}
				if n < least {
					t.Errorf("%d entries where at least %d were", n, least)
				}
				c.Close()
			}
		})
	}
	wg.Wait()
	want := uint64(writers*each - (each+2)/3)
	if sum := mustVerify(t, tr); sum.Entries != want || sum.Incomplete != 0 {
		t.Errorf("%+v, want %d entries", sum, want)
	}
}

// TestMarksAreRemovedBeforeASplit (T6): marked entries vanish for readers at once and from the page when room is needed.
func TestMarksAreRemovedBeforeASplit(t *testing.T) {
	env := newEnv(t)
	tr := env.tree(t)
	ctx := t.Context()
	i := uint64(0)
	for ; tr.Counters.Splits.Load() == 0; i++ {
		if err := tr.Insert(ctx, nil, be(i), i+1); err != nil {
			t.Fatal(err)
		}
	}
	total := i
	var c Cursor
	c.Init(tr, Options{})
	c.Seek(Range{Upper: be(49)})
	for {
		ok, err := c.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		c.Kill()
	}
	c.Close()
	if got := tr.Counters.DeadMarked.Load(); got != 50 {
		t.Fatalf("%d marked", got)
	}
	if got, _ := tr.LookupEq(ctx, be(10), nil); len(got) != 0 {
		t.Fatal("a marked entry was found")
	}
	if n, _ := tr.Count(ctx, Range{}); n != total-50 {
		t.Fatalf("count %d, want %d", n, total-50)
	}
	if sum := mustVerify(t, tr); sum.Dead != 50 {
		t.Fatalf("%+v", sum)
	}
	for j := uint64(0); tr.Counters.DeadRemoved.Load() == 0 && j < 200; j++ {
		if err := tr.Insert(ctx, nil, append(be(60), byte(j)), j+1); err != nil {
			t.Fatal(err)
		}
	}
	if tr.Counters.DeadRemoved.Load() != 50 || tr.Counters.Splits.Load() != 1 {
		t.Fatalf("removed %d, splits %d", tr.Counters.DeadRemoved.Load(), tr.Counters.Splits.Load())
	}
	mustVerify(t, tr)
}

// TestStaleMarksAreRefused (B5): a leaf that has changed since it was read takes no marks.
func TestStaleMarksAreRefused(t *testing.T) {
	env := newEnv(t)
	tr := env.tree(t)
	ctx := t.Context()
	for i := range uint64(10) {
		if err := tr.Insert(ctx, nil, be(i), i+1); err != nil {
			t.Fatal(err)
		}
	}
	var c Cursor
	c.Init(tr, Options{})
	c.Seek(Prefix(be(3)))
	if ok, err := c.Next(ctx); !ok || err != nil {
		t.Fatal(ok, err)
	}
	c.Kill()
	if err := tr.Insert(ctx, nil, be(2), 99); err != nil { // item numbers move
		t.Fatal(err)
	}
	c.Close()
	if tr.Counters.DeadMarked.Load() != 0 {
		t.Fatal("an item was marked on a changed page")
	}
	if n, _ := tr.Count(ctx, Range{}); n != 11 {
		t.Fatalf("%d entries", n)
	}
}

func TestBulkDelete(t *testing.T) {
	env := newEnv(t)
	tr := env.tree(t)
	ctx := t.Context()
	const n = 3000
	for i := range uint64(n) {
		if err := tr.Insert(ctx, nil, be(i%700), MakePtr(uint16(i%3), page.MakeTID(page.Block(i), 1))); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := tr.BulkDelete(ctx, nil, 1, func(tid page.TID) bool { return tid.Block()%2 == 0 })
	if err != nil || removed != n/6 {
		t.Fatalf("%d %v, want %d", removed, err, n/6)
	}
	sum, err := tr.Verify(ctx, Visitor{Entry: func(_ []byte, ptr uint64, _ bool) {
		if Ordinal(ptr) == 1 && TIDOf(ptr).Block()%2 == 0 {
			t.Errorf("%x is left", ptr)
		}
	}})
	if err != nil || sum.Entries != n-n/6 || sum.Faults != 0 {
		t.Fatalf("%+v %v", sum, err)
	}
}

// TestAscendingInsertsTakeTheLastLeaf (law 3): no descent, one page touched a row, pages left 90 percent full.
func TestAscendingInsertsTakeTheLastLeaf(t *testing.T) {
	env := newEnv(t)
	tr := env.tree(t)
	ctx := t.Context()
	conflict := func(uint64) (Verdict, error) { return Verdict{Kind: Conflict}, nil }
	const n = 30000
	for i := range uint64(n) {
		if out, err := tr.InsertUnique(ctx, nil, be(i), i+1, conflict); err != nil || out.Kind != Free {
			t.Fatal(out, err)
		}
	}
	c := &tr.Counters
	if d := c.Descents.Load(); d > 2*c.Splits.Load()+2 {
		t.Errorf("%d descents for %d splits", d, c.Splits.Load())
	}
	if p := c.PagesRead.Load(); p > n*105/100 {
		t.Errorf("%d pages for %d rows", p, n)
	}
	sum := mustVerify(t, tr)
	if per := float64(n) / float64(sum.Leaves); per < 330 {
		t.Errorf("%.0f entries a leaf", per)
	}
}

func TestBuild(t *testing.T) {
	env := newEnv(t)
	ctx := t.Context()
	for _, c := range []struct {
		n   uint64
		pad int
	}{{0, 0}, {1, 0}, {400, 0}, {50000, 4}, {3000, MaxKey - 8}, {9, MaxKey - 8}} {
		b, err := NewBuilder(ctx, nil, env.pool, env.log, env.rel(t))
		if err != nil {
			t.Fatal(err)
		}
		pad := make([]byte, c.pad)
		var want []entry
		for i := range c.n {
			e := entry{append(be(i/3), pad...), i + 1}
			if err := b.Add(ctx, e.key, e.ptr); err != nil {
				t.Fatal(err)
			}
			want = append(want, e)
		}
		if c.n > 0 {
			if err := b.Add(ctx, want[0].key, want[0].ptr); err == nil {
				t.Fatal("an entry out of order was taken")
			}
		}
		b.SetHasLong()
		tr, err := b.Finish(ctx)
		if err != nil {
			t.Fatal(err)
		}
		sum := mustVerify(t, tr)
		if sum.Entries != c.n || sum.Leaks != 0 || !sum.HasLong {
			t.Fatalf("%d × %d: %+v", c.n, c.pad, sum)
		}
		if !sameEntries(entriesOf(t, tr, Range{}, Options{}), want) {
			t.Fatalf("%d × %d: entries differ", c.n, c.pad)
		}
		for i := range uint64(500) { // and it goes on as any tree
			if err := tr.Insert(ctx, nil, append(be(i*7%(c.n+1)), 'y'), i+1); err != nil {
				t.Fatal(err)
			}
		}
		mustVerify(t, tr)
	}
}

func TestHasLong(t *testing.T) {
	env := newEnv(t)
	tr := env.tree(t)
	if long, err := tr.HasLong(t.Context()); long || err != nil {
		t.Fatal(long, err)
	}
	if err := tr.SetHasLong(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	again := Open(env.pool, env.log, tr.Rel())
	if long, err := again.HasLong(t.Context()); !long || err != nil {
		t.Fatal(long, err)
	}
}

// TestOldRootIsNoticed: a handle that has seen the root split meanwhile still finds everything.
func TestOldRootIsNoticed(t *testing.T) {
	env := newEnv(t)
	tr := env.tree(t)
	old := Open(env.pool, env.log, tr.Rel())
	ctx := t.Context()
	if _, err := old.LookupEq(ctx, be(1), nil); err != nil { // reads root at level 0
		t.Fatal(err)
	}
	for i := range uint64(5000) {
		if err := tr.Insert(ctx, nil, be(i), i+1); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := old.LookupEq(ctx, be(4999), nil); err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if err := old.Insert(ctx, nil, be(2500), 1); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, tr)
}

func TestLookupDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	env := newEnv(t)
	tr := env.tree(t)
	ctx := context.Background()
	for i := range uint64(2000) {
		if err := tr.Insert(ctx, nil, be(i), i+1); err != nil {
			t.Fatal(err)
		}
	}
	dst := make([]uint64, 0, 4)
	k := be(700)
	var c Cursor
	c.Init(tr, Options{Probe: true})
	if n := testing.AllocsPerRun(1000, func() {
		dst, _ = tr.LookupEq(ctx, k, dst[:0])
		c.Seek(Prefix(k))
		for ok, _ := c.Next(ctx); ok; ok, _ = c.Next(ctx) {
		}
	}); n > 0.01 {
		t.Errorf("%.2f allocations", n)
	}
	i := uint64(1 << 40)
	if n := testing.AllocsPerRun(3000, func() {
		i++
		binary.BigEndian.PutUint64(k, i)
		_ = tr.Insert(ctx, nil, k, i)
	}); n > 1.2 { // splits allocate, and the log may once a record
		t.Errorf("insert: %.2f allocations", n)
	}
}
