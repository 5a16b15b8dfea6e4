package store_test

import (
	"slices"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/store"
)

// Relationships are put into one run as long as the upper halves of the ids, the row and the direction stay; a lent run ends one. What was
// handed out keeps its values while memory grows.
func TestRunsPutTogether(t *testing.T) {
	type edge struct {
		row        uint16
		in         bool
		rel, other uint64
	}
	const a, b = 3 << 48, 4 << 48
	in := []edge{
		{0, false, a | 1, b | 7}, {0, false, a | 2, b | 7}, {0, false, a | 3, a | 7}, {0, true, a | 1, a | 7}, {1, true, a | 1, a | 7},
		{1, true, b | 1, a | 7}, {1, true, b | 1<<32 | 1, a | 7}, {1, true, b | 1<<32 | 2, a | 1<<33},
	}
	var r store.Runs
	for round := range 3 {
		r.Reset()
		for i, e := range in {
			if i == 4 {
				r.Lend(store.Run{Row: 1, RelHigh: b, OtherHigh: b, Rel: []uint32{9}, Other: []uint32{8}})
			}
			r.Add(e.row, e.in, e.rel, e.other, store.Hint(i+1))
		}
		for i := range 1000 * round {
			r.Add(2, false, a|uint64(i), b, 0)
		}
		r.Done()
		var got []edge
		lens := []int{}
		for i := range r.Run {
			x := &r.Run[i]
			lens = append(lens, x.Len())
			for k := range x.Len() {
				if x.Row < 2 && x.OtherID(k) != b|8 && x.Hint[k] != store.Hint(len(got)+1) {
					t.Errorf("relationship %d has the hint %d", len(got), x.Hint[k])
				}
				if x.OtherID(k) != b|8 && x.Row < 2 {
					got = append(got, edge{x.Row, x.In, x.RelID(k), x.OtherID(k)})
				}
			}
		}
		if !slices.Equal(got, in) {
			t.Errorf("got %v", got)
		}
		if want := []int{2, 1, 1, 1, 1, 1, 1, 1}; !slices.Equal(lens[:8], want) {
			t.Errorf("runs of %v, want %v", lens, want)
		}
	}
}

// The parts of a run are its relationships without those left out, in order, with what is known of their places.
func TestRunParts(t *testing.T) {
	run := store.Run{Row: 3, RelHigh: 7 << 32, OtherHigh: 9 << 32, Rel: []uint32{1, 2, 3, 4, 5}, Other: []uint32{11, 12, 13, 14, 15}, Hint: []store.Hint{21, 22, 23, 24, 25}}
	for _, c := range []struct{ leave, want []uint64 }{
		{nil, []uint64{1, 2, 3, 4, 5}},
		{[]uint64{7<<32 | 1, 7<<32 | 3}, []uint64{2, 4, 5}},
		{[]uint64{7<<32 | 4, 7<<32 | 5, 8<<32 | 2}, []uint64{1, 2, 3}}, // the last is of another upper half
		{[]uint64{7<<32 | 1, 7<<32 | 2, 7<<32 | 3, 7<<32 | 4, 7<<32 | 5}, nil},
	} {
		var rels, others, want, far []uint64
		var hints, places []store.Hint
		but, at := run.Clashes(c.leave, nil), 0
		for part, ok := run.Part(&at, but); ok; part, ok = run.Part(&at, but) {
			rels, others, hints = part.AppendRels(rels), part.AppendOthers(others), part.AppendHints(hints)
		}
		for _, id := range c.want {
			want, far, places = append(want, 7<<32|id), append(far, 9<<32|(10+id)), append(places, store.Hint(20+id))
		}
		if !slices.Equal(rels, want) || !slices.Equal(others, far) || !slices.Equal(hints, places) {
			t.Errorf("without %x: %x to %x at %d", c.leave, rels, others, hints)
		}
	}
	run.Hint = nil
	if got := run.AppendHints([]store.Hint{1}); !slices.Equal(got, []store.Hint{1, 0, 0, 0, 0, 0}) {
		t.Errorf("hints that are not known are %d", got)
	}
}
