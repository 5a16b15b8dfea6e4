package plan

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
)

// Joins with parts of the pattern that nothing but conditions ties to the rest; bushy.go has those on common vertices.

// joinMove adds a component that is planned on its own, by hash join if an equality ties it, else as a product.
func (g *graph) joinMove(s *state, c int) *state {
	for i := range g.nodes {
		if g.nodes[i].comp == c && g.bound.n&(1<<i) != 0 {
			return nil
		}
	}
	for i := range g.rels {
		if g.rels[i].comp == c && (g.rels[i].Bound || g.rels[i].outer) {
			return nil
		}
	}
	sub := g.component(c)
	if sub == nil {
		return nil
	}
	return g.joinWith(s, c, sub)
}

// scanJoin begins a component with one of its vertices, found for a whole batch of rows from outside by one scan and a hash join on an equality
// with what they bring; nil if there is none.
func (g *graph) scanJoin(s *state, c, i int) *state {
	part := set{n: 1 << i}
	tied := false
	for k := range g.preds {
		l, r := g.joinKey(k, s.done, part)
		tied = tied || l != nil && r != nil
	}
	if !tied || !g.p.opt.on(RuleHashJoin) {
		return nil
	}
	if g.waysOf == nil {
		g.waysOf = map[int]map[set]*state{}
	}
	if g.waysOf[c] == nil {
		g.waysOf[c] = g.ways(c)
	}
	sub := g.waysOf[c][part]
	if sub == nil {
		return nil
	}
	return g.joinWith(s, c, sub)
}

// joinWith joins rows with (a part of) component c that is planned on its own.
func (g *graph) joinWith(s *state, c int, sub *state) *state {
	n := &state{done: s.done.or(sub.done), used: s.used, prev: s, step: step{kind: stepJoin, i: c, sub: sub}}
	pairs := s.card * sub.card
	n.cost = s.cost + sub.cost
	if g.p.opt.on(RuleHashJoin) {
		for i := range g.preds {
			if l, r := g.joinKey(i, s.done, sub.done); l != nil && r != nil {
				n.step.keys = append(n.step.keys, i)
			}
		}
	}
	if len(n.step.keys) > 0 {
		out := pairs
		for _, i := range n.step.keys {
			out *= min(g.preds[i].sel, 1/max(1, min(s.card, sub.card)))
			if i < 64 {
				n.used |= 1 << i
			}
		}
		n.card = max(out, 1e-3)
		n.cost += (s.card+sub.card)*costJoinRow + n.card*costCopyRow
	} else {
		n.card = pairs
		n.cost += pairs * costCopyRow
	}
	n.used |= sub.used
	return g.applied(n)
}

// joinKey recognises an equality between something of left and something of right.
func (g *graph) joinKey(i int, left, right set) (l, r expr.Expr) {
	b, ok := g.preds[i].e.(*expr.Binary)
	if !ok || b.Op != expr.OpEq || i >= 64 || hasSubplan(b) {
		return nil, nil
	}
	ln, lIn := g.needs(b.L)
	rn, rIn := g.needs(b.R)
	switch {
	case right.has(rn) && !rn.empty() && !rIn && left.has(ln) && (!ln.empty() || lIn):
		return b.L, b.R
	case right.has(ln) && !ln.empty() && !lIn && left.has(rn) && (!rn.empty() || rIn):
		return b.R, b.L
	}
	return nil, nil
}

func hasSubplan(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		if _, ok := x.(*expr.Subplan); ok {
			found = true
		}
		return !found
	})
	return found
}

// needs returns the elements that e reads, and whether it reads a variable of the rows from before.
func (g *graph) needs(e expr.Expr) (set, bool) {
	var s set
	before := false
	r := slotSet{}
	r.reads(e)
	for x := range r.all() {
		if t, ok := g.bySlot[x]; ok {
			s = s.or(t)
			if g.bound.touches(t) {
				before = true
			}
		} else if g.in.bound.has(x) {
			before = true
		}
	}
	return s, before
}

// component plans a component without anything else; nil if it cannot start alone.
func (g *graph) component(c int) *state {
	if st, ok := g.subs[c]; ok {
		return st
	}
	start := &state{card: 1}
	sub := *g
	sub.bound, sub.depends, sub.subs = set{}, nil, nil
	sub.in = &stream{bound: slotSet{}, est: 1, one: true}
	st := sub.search(start, []int{c}, false)
	if g.subs == nil {
		g.subs = map[int]*state{}
	}
	g.subs[c] = st
	return st
}
