package exec

import (
	"math"

	"github.com/hedgerowdb/hedgerow/internal/graph/path"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// closedTrails finds the shortest ways of a PathSearch back to the vertex where it begins, apart from those to other vertices. By a relationship that
// may be walked both ways the least walk back goes over it and returns, and is no trail: by length alone the search would list every trail
// of the graph before it knew that none closes. A pattern that may be more than one relationship in a round keeps to that, as its walks are no other.
type closedTrails struct {
	o      *pathSearch
	search path.Search
	runs   store.Runs
	can    bool // the pattern is one whose closed trails are found here
	left   bool // they are still to be looked for
	turn   bool // the other trails have all been found: it is their turn
	live   bool // there may be more
	held   int64
	rounds []int32
}

func (c *closedTrails) init(o *pathSearch) {
	c.o = o
	c.search.Account = func(n int64) error { c.held = n; return o.charge() }
}

// plan decides, once the number of paths is known.
func (c *closedTrails) plan() {
	o := c.o
	c.can = false
	if len(o.segs) == 1 && len(o.segs[0].hops) == 1 && o.whole == nil && o.limit == 1 {
		s := o.segs[0]
		c.can = s.n.Min == 1 && s.gate == nil && s.hops[0].n.Dir == store.Both
	}
}

// begin says that a search from a vertex begins.
func (c *closedTrails) begin() {
	c.live, c.turn = false, false
	c.left = c.can && (!c.o.n.Into || c.o.ends[c.start()] != nil)
}

func (c *closedTrails) start() uint64 { return c.o.src[c.o.at] }

// next moves to the next trail.
func (c *closedTrails) next() (bool, error) {
	if c.left {
		s := c.o.segs[0]
		longest := s.n.Max
		if longest < 0 {
			longest = math.MaxInt32
		}
		c.left = false
		var err error
		if c.live, err = c.search.FindClosed(c, c.start(), longest, c.o.n.Kind == plan.GroupsByLength); err != nil {
			return false, err
		}
	}
	if !c.live {
		return false, nil
	}
	var err error
	c.live, err = c.search.Next()
	return c.live, err
}

// advance moves to the next trail of the group.
func (o *pathSearch) advance() (bool, error) {
	if !o.closed.turn {
		if ok, err := o.search.Next(); ok || err != nil {
			return ok, err
		}
		o.closed.turn = true
	}
	return o.closed.next()
}

// endOfTrail returns where the current trail ends, and how long it is.
func (o *pathSearch) endOfTrail() (uint64, int) {
	if c := &o.closed; c.turn {
		return c.start(), c.search.Length()
	}
	return o.search.End(), o.search.Length()
}

// trail returns the current trail. The slices are valid until the next.
func (o *pathSearch) trail() (nodes, rels []uint64, rounds []int32) {
	c := &o.closed
	if !c.turn {
		return o.search.Trail()
	}
	nodes, rels = c.search.Trail()
	c.rounds = grow(c.rounds, len(rels)) // all of segment 0
	clear(c.rounds)
	return nodes, rels, c.rounds
}

// Expand implements path.Expander; it is never asked to go back.
func (c *closedTrails) Expand(src []uint64, _ bool, yield func(*store.Runs) error) error {
	return c.o.Rounds(0, src, func(w *path.Ways) error {
		c.runs.Reset()
		for i, row := range w.Row {
			c.runs.Add(uint16(row), false, w.Rel[i], w.Node[i], 0)
		}
		c.runs.Done()
		return yield(&c.runs)
	})
}
