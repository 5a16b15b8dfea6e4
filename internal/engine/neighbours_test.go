package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// edge is a relationship as a row of an Expand has it.
type edge struct {
	row        uint16
	in         bool
	rel, other uint64
}

// expanded is what Expand finds, page by page.
func (c *client) expanded(v store.View, src []uint64, dir store.Direction, types []schema.LabelID, max int) (out []edge) {
	c.t.Helper()
	cur, err := c.g.Expand(bg, v, src, dir, types)
	c.must(err)
	defer cur.Close()
	var e store.Edges
	for {
		c.must(cur.Next(bg, max, &e))
		if len(e.Rel) == 0 {
			return out
		}
		for i := range e.Rel {
			out = append(out, edge{e.Row[i], e.In[i], e.Rel[i], e.Other[i]})
		}
	}
}

// lent is what a cursor of Neighbours lends.
func (c *client) lent(cur store.RunCursor, max int) (out []edge) {
	c.t.Helper()
	var r store.Runs
	for {
		c.must(cur.Next(bg, max, &r))
		if len(r.Run) == 0 {
			return out
		}
		n := 0
		for i := range r.Run {
			x := &r.Run[i]
			if x.Len() == 0 || len(x.Other) != x.Len() || x.Hint != nil && len(x.Hint) != x.Len() {
				c.t.Fatalf("a run of %d relationships, %d ends and %d hints", x.Len(), len(x.Other), len(x.Hint))
			}
			n += x.Len()
			for k := range x.Len() {
				out = append(out, edge{x.Row, x.In, x.RelID(k), x.OtherID(k)})
			}
		}
		if n > max {
			c.t.Fatalf("%d relationships at once, at most %d were asked for", n, max)
		}
	}
}

// tangle makes vertices of several labels and relationships of several types between them, loops and parallel ones too.
func tangle(t testing.TB, c *client, rng *rand.Rand, vertices, rels int) (ids []uint64) {
	for i := range vertices {
		ids = append(ids, c.node([]string{fmt.Sprintf("L%d", i%3)}))
	}
	for range rels {
		a, b := ids[rng.IntN(vertices)], ids[rng.IntN(vertices)]
		if rng.IntN(10) == 0 {
			b = a
		}
		c.rel(fmt.Sprintf("T%d", rng.IntN(3)), a, b)
	}
	return ids
}

// Neighbours lends what Expand copies, in the same order, whatever the size of the pages; a cursor that seeks begins again.
func TestNeighboursLendWhatExpandFinds(t *testing.T) {
	db := fresh(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var ids []uint64
	update(t, db, func(c *client) {
		c.begin()
		ids = tangle(t, c, rng, 40, 300)
	})
	c := begin(t, db, store.ReadCommitted).begin()
	defer c.rollback()
	v := c.stmt.View(c.cid)
	var one []schema.LabelID
	for _, l := range c.g.Labels(v) {
		if l.Name == "T1" {
			one = []schema.LabelID{l.ID}
		}
	}
	for _, types := range [][]schema.LabelID{nil, one} {
		for _, dir := range []store.Direction{store.Out, store.In, store.Both} {
			cur, err := c.g.Neighbours(bg, v, nil, dir, types)
			c.must(err)
			for range 10 {
				src := []uint64{0}
				for range rng.IntN(20) {
					src = append(src, ids[rng.IntN(len(ids))])
				}
				want := c.expanded(v, src, dir, types, 1024)
				for _, max := range []int{1, 3, 1024} {
					cur.Seek(src)
					if got := c.lent(cur, max); !slices.Equal(got, want) {
						t.Fatalf("lent %v, want %v", got, want)
					}
				}
			}
			cur.Seek(ids)
			cur.Close()
			cur.Close()
			if got := c.lent(cur, 9); got != nil {
				t.Errorf("a closed cursor lends %v", got)
			}
		}
	}
}
