package btree

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
)

// TestSecondUniqueInserterSeesTheFirst forces the race: both want one key, the second comes while the first has looked and not
// yet inserted.
func TestSecondUniqueInserterSeesTheFirst(t *testing.T) {
	env := newEnv(t)
	tr := env.tree(t)
	ctx := t.Context()
	for i := range uint64(1000) {
		if err := tr.Insert(ctx, nil, be(i*2), i+1); err != nil {
			t.Fatal(err)
		}
	}
	conflict := func(uint64) (Verdict, error) { return Verdict{Kind: Conflict}, nil }
	ctl := sched.Install(t)
	gate := ctl.Stop("btree.unique.latched")
	outs := make(chan Outcome, 2)
	insert := func(ptr uint64) {
		out, err := tr.InsertUnique(ctx, nil, be(501), ptr, conflict)
		if err != nil {
			t.Error(err)
		}
		outs <- out
	}
	go insert(5001)
	gate.Wait()
	go insert(5002)
	select {
	case out := <-outs:
		t.Fatalf("the second did not wait for the first: %+v", out)
	case <-time.After(20 * time.Millisecond):
	}
	gate.Release()
	a, b := <-outs, <-outs
	if a.Kind+b.Kind != Conflict {
		t.Fatalf("%+v and %+v", a, b)
	}
	if got, _ := tr.LookupEq(ctx, be(501), nil); !slices.Equal(got, []uint64{5001}) {
		t.Fatalf("entries: %v", got)
	}
}

// TestScanGoesOnAfterSplits stops a scan at every entry and splits the pages around it before it goes on: it still returns
// every old entry once, in order.
func TestScanGoesOnAfterSplits(t *testing.T) {
	for _, o := range []Options{{}, {Reverse: true}, {Max: 3}, {Reverse: true, Max: 3}, {Reverse: true, KeepPin: true}} {
		env := newEnv(t)
		tr := env.tree(t)
		ctx := t.Context()
		pad := make([]byte, 300)
		key := func(i uint64) []byte { return append(be(i), pad...) }
		var want []uint64
		for i := range uint64(200) {
			if err := tr.Insert(ctx, nil, key(i*1000), 1); err != nil {
				t.Fatal(err)
			}
			want = append(want, i*1000)
		}
		var c Cursor
		c.Init(tr, o)
		c.Seek(Range{})
		var got []uint64
		splits := tr.Counters.Splits.Load()
		for n := uint64(1); ; n++ {
			ok, err := c.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			k := be8(c.Key())
			if k%1000 == 0 {
				got = append(got, k)
			}
			for d := range uint64(3) { // around the scan, before and behind it
				for _, at := range []uint64{k + n*7 + d + 1, k - n*7 - d - 1, k - 20*1000 + n*3 + d} {
					if at < 1<<40 && at%1000 != 0 && tr.Counters.Inserts.Load() < 3000 {
						if err := tr.Insert(ctx, nil, key(at), n*10+d); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
		c.Close()
		if o.Reverse {
			slices.Reverse(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d of %d entries", o, len(got), len(want))
		}
		if tr.Counters.Splits.Load() < splits+50 {
			t.Errorf("%+v: only %d splits", o, tr.Counters.Splits.Load()-splits)
		}
		mustVerify(t, tr)
	}
}

func be8(k []byte) (v uint64) {
	for _, b := range k[:8] {
		v = v<<8 | uint64(b)
	}
	return v
}

// TestBulkDeleteWaitsForPinnedReaders (B5): a reader that keeps its pin holds vacuum back, one that has moved on does not.
func TestBulkDeleteWaitsForPinnedReaders(t *testing.T) {
	env := newEnv(t)
	tr := env.tree(t)
	ctx := t.Context()
	for i := range uint64(50) {
		if err := tr.Insert(ctx, nil, be(i), MakePtr(0, page.MakeTID(1, int(i+1)))); err != nil {
			t.Fatal(err)
		}
	}
	var c Cursor
	c.Init(tr, Options{KeepPin: true})
	c.Seek(Range{})
	if ok, err := c.Next(ctx); !ok || err != nil {
		t.Fatal(ok, err)
	}
	all := func(page.TID) bool { return true }
	short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	if _, err := tr.BulkDelete(short, nil, 0, all); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("bulk delete did not wait: %v", err)
	}
	if n, _ := tr.Count(ctx, Range{}); n != 50 {
		t.Fatalf("%d entries left", n)
	}
	c.Close()
	if n, err := tr.BulkDelete(ctx, nil, 0, all); n != 50 || err != nil {
		t.Fatal(n, err)
	}
	if err := tr.Insert(ctx, nil, bytes.Repeat([]byte("z"), 9), 1); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, tr)
}
