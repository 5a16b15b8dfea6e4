package plan

import (
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// Steps along relationships, and from relationships to their ends.

// endsSearch reports whether vertex i is the end of a path search whose other end is found: to look for the ends first, even by a scan, can be
// cheaper than to search the way to every vertex there is.
func (g *graph) endsSearch(s *state, i int) bool {
	for k := range g.rels {
		r := &g.rels[k]
		if r.Sel == nil || s.done.r&(1<<k) != 0 || r.l == r.r {
			continue
		}
		if r.l == i && s.done.n&(1<<r.r) != 0 || r.r == i && s.done.n&(1<<r.l) != 0 {
			return true
		}
	}
	return false
}

// relMoves lists the ways to solve a relationship at a state.
func (g *graph) relMoves(s *state, i int) []*state {
	r := &g.rels[i]
	if !s.done.has(r.need) {
		return nil
	}
	lb, rb := s.done.n&(1<<r.l) != 0, s.done.n&(1<<r.r) != 0
	bit := set{n: 1<<r.l | 1<<r.r, r: 1 << i}
	move := func(k stepKind, back bool, card, cost float64) *state {
		n := &state{done: s.done.or(bit), used: s.used, prev: s, step: step{kind: k, i: i, back: back}}
		n.card, n.cost = max(card, 1e-6), s.cost+cost
		return g.applied(n)
	}
	switch {
	case r.Sel != nil && lb && rb:
		return []*state{move(stepInto, false, s.card, s.card*g.searchCost(r))}
	case r.Sel != nil:
		var out []*state
		for _, back := range []bool{false, true} {
			if back && rb || !back && lb {
				n := g.targets(r, back)
				cost := g.searchCost(r) + 2*g.all(r)*costEdge + n*(costExpandRow+g.pathLength(r, n)*costEdge) // each end gets its path
				if r.Sel.Count != nil || len(r.Sel.Pattern.Preds) > 0 {
					cost += n * g.all(r) * costEdge // for paths longer than the shortest each end is looked at apart
				}
				out = append(out, move(stepExpand, back, s.card*n, s.card*cost))
			}
		}
		return out
	case r.Bound && !r.VarLen:
		return []*state{move(stepEnds, false, s.card, s.card*costByID)}
	}
	if lb && rb {
		back := false
		d := g.degree(s, r, r.l, true)
		if e := g.degree(s, r, r.r, false); e < d {
			d, back = e, true
		}
		n := g.targets(r, back)
		if r.VarLen {
			ends, edges := g.reach(r, d, back)
			return []*state{move(stepInto, back, s.card*min(1, ends/max(1, n)), s.card*(costInto+edges*costEdge*4))}
		}
		if f, ok := g.between(r); ok {
			return []*state{move(stepInto, back, s.card*f, s.card*costInto)}
		}
		return []*state{move(stepInto, back, s.card*min(1, d/max(1, n)), s.card*costInto)}
	}
	var out []*state
	expand := func(back bool, from int) {
		d := g.degree(s, r, from, !back)
		if r.VarLen {
			ends, edges := g.reach(r, d, back)
			out = append(out, move(stepExpand, back, s.card*ends, s.card*(costExpandRow+edges*costEdge*3)))
			return
		}
		out = append(out, move(stepExpand, back, s.card*d, s.card*(costExpandRow+d*costEdge)))
	}
	if lb {
		expand(false, r.l)
	}
	if rb {
		expand(true, r.r)
	}
	return out
}

// prunable reports whether a relationship may be walked for its distinct ends (rules C7), but for the use of its variables.
func (g *graph) prunable(r *grel) bool {
	if !g.dup || !r.VarLen || r.Min > 1 || r.Sel != nil || r.Iter != nil && !r.Iter.Bare() || r.Bound {
		return false
	}
	for i := range g.rels {
		q := &g.rels[i]
		if q.PatRel != r.PatRel && q.group == r.group && overlap(q.Types, r.Types) {
			return false
		}
	}
	for _, q := range g.prior {
		if q.group == r.group && overlap(q.types, r.Types) {
			return false
		}
	}
	return true
}

// relScanMove starts a component at a relationship.
func (g *graph) relScanMove(s *state, i int) *state {
	r := &g.rels[i]
	if r.VarLen || r.Bound || r.l == r.r {
		return nil
	}
	var rows float64
	for _, t := range g.p.types(r.Types) {
		rows += g.p.cat.RelCount(t)
	}
	if r.Dir == store.Both {
		rows *= 2
	}
	n := &state{done: s.done.or(set{n: 1<<r.l | 1<<r.r, r: 1 << i}), used: s.used, prev: s, step: step{kind: stepRelScan, i: i}}
	n.card = max(s.card*rows, 1e-6)
	n.cost = s.cost + s.card*(200+rows*costScanRow*2)
	return g.applied(n)
}

// relSeekMoves finds a relationship by an index on its properties or by its id.
func (g *graph) relSeekMoves(s *state, i int) []*state {
	r := &g.rels[i]
	if r.VarLen || r.Bound {
		return nil
	}
	el := element{slot: r.Var.Slot, need: set{r: 1 << i}}
	var leaves []*leaf
	if g.p.opt.on(RuleByID) {
		leaves = append(leaves, g.idSeeks(s, el)...)
	}
	if g.p.opt.on(RuleIndexSeek) && len(r.Types) == 1 {
		if tests := g.tests(s, el); len(tests) > 0 {
			ixs := g.p.indexes()
			for x := range ixs {
				if ix := &ixs[x]; ix.Entity == schema.Edge && ix.LabelName == r.Types[0] {
					if lf := g.indexLeaf(ix, tests, g.p.relCount(ix.LabelName)); lf != nil {
						leaves = append(leaves, lf)
					}
				}
			}
		}
	}
	var out []*state
	for _, lf := range leaves {
		n := &state{done: s.done.or(set{n: 1<<r.l | 1<<r.r, r: 1 << i}), used: s.used | lf.used, prev: s, step: step{kind: stepRelSeek, i: i, leaf: lf}}
		ways := 1.0
		if r.Dir == store.Both {
			ways = 2
		}
		n.card = max(s.card*lf.rows*ways, 1e-6)
		n.cost = s.cost + s.card*(lf.cost+lf.rows*costByID)
		out = append(out, g.applied(n))
	}
	return out
}

func (p *planner) relCount(name string) float64 {
	if id, ok := p.cat.Label(p.opt.View, name, schema.Edge); ok {
		return p.cat.RelCount(id)
	}
	return 0
}
