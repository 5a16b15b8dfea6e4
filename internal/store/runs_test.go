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
