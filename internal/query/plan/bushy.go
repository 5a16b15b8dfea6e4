package plan

import (
	"math/bits"
	"sort"

	"github.com/hedgerowdb/hedgerow/internal/query/expr"
)

// Joins of two parts of one pattern on the vertices that they share: (a {x: 1})-->(b)<--(c {y: 2}) by a hash join of two expansions on b, where walking on
// from either end would pass many more relationships than both have. The part on the build side is planned without the other.

const (
	maxAlone = 256  // parts of a component that are offered as build sides, the cheapest first
	maxPairs = 4000 // pairs of parts looked at
)

// part is a connected part of a component and the best way to find it without anything else.
type part struct{ *state }

// parts lists the connected parts of a component with a relationship, in a fixed order.
func (g *graph) parts(c int) []part {
	if ps, ok := g.alone[c]; ok {
		return ps
	}
	if g.alone == nil {
		g.alone = map[int][]part{}
	}
	var ps []part
	for done, st := range g.ways(c) {
		if done.r != 0 && g.mayStandAlone(done) {
			ps = append(ps, part{st})
		}
	}
	sort.Slice(ps, func(i, j int) bool {
		a, b := ps[i], ps[j]
		switch {
		case a.cost != b.cost:
			return a.cost < b.cost
		case a.done.r != b.done.r:
			return a.done.r < b.done.r
		}
		return a.done.n < b.done.n
	})
	if len(ps) > maxAlone {
		ps = ps[:maxAlone]
	}
	g.alone[c] = ps
	return ps
}

// ways returns the best way to each part of a component that a search without anything else meets.
func (g *graph) ways(c int) map[set]*state {
	sub := *g
	sub.bound, sub.depends, sub.subs, sub.alone, sub.best, sub.single = set{}, nil, nil, nil, nil, true
	sub.in = &stream{bound: slotSet{}, est: 1, one: true}
	sub.search(&state{card: 1}, []int{c}, false)
	return sub.best
}

// mayStandAlone: a relationship that is bound before or has conditions on the rows from before, or a path with a selector, has no way of its own.
func (g *graph) mayStandAlone(s set) bool {
	for i := range g.rels {
		if r := &g.rels[i]; s.r&(1<<i) != 0 && (r.Bound || r.outer || r.Sel != nil) {
			return false
		}
	}
	return true
}

// nodeJoins lists the joins of a state with the parts of a component that share vertices, and nothing else, with it.
func (g *graph) nodeJoins(s *state, c int) []*state {
	if g.single || g.p.part != NoSlot || !g.p.opt.on(RuleNodeJoin) || s.done.r&g.comps[c].r == 0 && g.bound.n&g.comps[c].n == 0 {
		return nil
	}
	var out []*state
	for _, p := range g.parts(c) {
		shared := p.done.n & s.done.n
		if shared == 0 || p.done.r&s.done.r != 0 || s.done.has(p.done) {
			continue
		}
		if g.pairs++; g.pairs > maxPairs {
			break
		}
		n := &state{done: s.done.or(p.done), used: s.used | p.used, prev: s, step: step{kind: stepNodeJoin, i: c, sub: p.state}}
		n.card = s.card * p.card
		for m := shared; m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m)
			n.card *= g.joinBias(s.done, p.done, i) / g.nodeRows(i)
		}
		n.card = max(n.card, 1e-6)
		n.cost = s.cost + p.cost + (s.card+2*p.card)*costJoinRow + n.card*costJoinOut
		if g.p.opt.Force || g.joinHinted(shared) {
			n.cost = s.cost
		}
		out = append(out, g.applied(n))
	}
	return out
}

// nodeRows estimates how many vertices satisfy the conditions on one vertex of the pattern.
func (g *graph) nodeRows(i int) float64 {
	n := g.p.cat.NodeCount(0)
	for _, l := range g.nodes[i].labels {
		n = min(n, g.p.labelCount(l))
	}
	for _, pi := range g.nodes[i].preds {
		if _, label := g.preds[pi].e.(*expr.HasLabels); !label {
			n *= g.preds[pi].sel
		}
	}
	return max(n, 1)
}

// nodeJoin builds the hash join of a stepNodeJoin.
func (b *builder) nodeJoin(s *stream, st *state) *stream {
	g, p := b.g, b.g.p
	sub, right := b.apart(st.step.sub, nil)
	h := &HashJoin{Base: p.base(st.made), Left: s.root, Right: right.root, Kind: JoinInner}
	for m := st.step.sub.done.n & st.prev.done.n; m != 0; m &= m - 1 {
		v := g.nodes[bits.TrailingZeros64(m)].v
		h.Keys = append(h.Keys, JoinKey{Left: v.Col(-1, -1), Right: v.Col(-1, -1)})
	}
	return b.beside(s, right, sub, h)
}

// apart builds a part of the pattern without the rows at hand. The conditions of but are left to the caller.
func (b *builder) apart(end *state, but []int) (*builder, *stream) {
	sub := &builder{g: b.g, used: map[int]bool{}, paths: b.paths, push: b.push, alone: true}
	one := &stream{root: &SingleRow{Base: b.g.p.base(1)}, bound: slotSet{}, est: 1, keys: [][]int{{}}, one: true}
	for _, k := range but {
		sub.used[k] = true
	}
	right := sub.steps(one, end)
	for i := range sub.used {
		b.used[i] = true
	}
	return sub, right
}

// beside is the stream above a join n of s with the rows of a part built alone.
func (b *builder) beside(s, right *stream, sub *builder, n Node) *stream {
	g, p := b.g, b.g.p
	est := n.Info().Est
	out := s.with(n)
	out.bound = clone(s.bound)
	out.bound.join(right.bound)
	out.keys = nil
	for _, k := range s.keys {
		for _, l := range right.keys {
			if len(k)+len(l) <= 8 && len(out.keys) < maxKeys {
				out.keys = append(out.keys, append(append([]int(nil), k...), l...))
			}
		}
	}
	// Relationships of the two sides must differ where they are of one MATCH.
	var preds []expr.Expr
	for _, j := range sub.rels {
		for _, i := range b.rels {
			if q, r := &g.rels[i], &g.rels[j]; q.group == r.group && g.coincide(q.Types, r.Types) {
				preds = append(preds, p.differ(q.Var, r.Var))
			}
		}
		for _, q := range g.prior {
			if r := &g.rels[j]; q.group == r.group && g.coincide(q.types, r.Types) {
				if v := p.vars[q.slot]; v != nil {
					preds = append(preds, p.differ(v, r.Var))
				}
			}
		}
	}
	b.rels = append(b.rels, sub.rels...)
	if len(preds) > 0 {
		out = out.with(&Filter{Base: p.base(est), Child: out.root, Preds: preds})
	}
	return out
}
