package plan

import (
	"math/bits"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// The search for the cheapest order of steps: exhaustive, greedy, or by the text.

type stepKind uint8

const (
	stepLeaf stepKind = iota
	stepRelScan
	stepExpand   // from one solved end
	stepInto     // both ends solved
	stepEnds     // the relationship is bound, its ends follow
	stepRelSeek  // the relationship is found by an index or its id, its ends follow
	stepJoin     // a whole component, planned apart
	stepNodeJoin // a part of the component, planned apart and joined on the vertices that both have
)

type step struct {
	kind stepKind
	i    int  // node, relationship or component
	back bool // expand from the right end
	leaf *leaf
	sub  *state // stepJoin, stepNodeJoin
	keys []int  // stepJoin: conditions that become hash keys
}

// state is a set of solved elements and the cheapest way to it that was found.
type state struct {
	done set
	used uint64 // conditions applied (first 64; later ones are never in a leaf)
	cost float64
	card float64
	made float64 // rows of the step alone, before the conditions that are tested behind it
	prev *state
	step step
	// hints that the way follows (the first 64)
	hints uint64
}

// before reports whether a is the better way to what both solve: the one that follows more hints, then the cheaper one.
func (a *state) before(b *state) bool {
	if m, n := bits.OnesCount64(a.hints), bits.OnesCount64(b.hints); m != n {
		return m > n
	}
	return a.cost < b.cost
}

func (g *graph) goal(comps []int) set {
	var s set
	for _, c := range comps {
		s = s.or(g.comps[c])
	}
	return s
}

// plan finds the cheapest order and builds it.
func (g *graph) plan() *stream {
	var comps []int
	for c := range g.comps {
		comps = append(comps, c)
	}
	start := &state{done: g.bound, card: max(g.in.est, 1)}
	end := g.search(start, comps, true)
	g.cartesianNotice()
	g.hintNotices(end)
	g.tell()
	return g.build(end)
}

// search finds a way from a state to the components' elements.
func (g *graph) search(start *state, comps []int, outer bool) *state {
	goal := g.goal(comps).or(start.done)
	start = g.applied(start)
	nrels := 0
	for _, c := range comps {
		nrels += bits.OnesCount64(g.comps[c].r)
	}
	if !g.p.opt.on(RuleJoinOrder) {
		return g.textual(start, goal, comps, outer)
	}
	if nrels > dpLimit || len(comps) > 8 {
		return g.greedy(start, goal, comps, outer)
	}
	best := map[set]*state{start.done: start}
	g.best = best
	layer := []*state{start}
	var end *state
	looked := 0
	for len(layer) > 0 {
		next := map[set]*state{}
		var order []set
		for _, s := range layer {
			if best[s.done] != s {
				continue
			}
			if s.done.has(goal) {
				if end == nil || s.before(end) {
					end = s
				}
				continue
			}
			if looked++; looked > maxStates {
				return g.greedy(start, goal, comps, outer)
			}
			for _, n := range g.moves(s, comps, outer) {
				if old := best[n.done]; old != nil && !n.before(old) {
					continue
				}
				best[n.done] = n
				if next[n.done] == nil {
					order = append(order, n.done)
				}
				next[n.done] = n
			}
		}
		layer = layer[:0]
		for _, k := range order {
			layer = append(layer, next[k])
		}
	}
	if end == nil {
		return g.textual(start, goal, comps, outer)
	}
	return end
}

// greedy takes the cheapest next step, weighing what it costs and how many rows it leaves.
func (g *graph) greedy(s *state, goal set, comps []int, outer bool) *state {
	for !s.done.has(goal) {
		var best *state
		for _, n := range g.moves(s, comps, outer) {
			if best == nil || n.hints != best.hints && n.before(best) || n.hints == best.hints && n.cost+n.card*costExpandRow < best.cost+best.card*costExpandRow {
				best = n
			}
		}
		if best == nil {
			return g.textual(s, goal, comps, outer)
		}
		s = best
	}
	return s
}

// textual follows the order of the text: the plan of the reference run.
func (g *graph) textual(s *state, goal set, comps []int, outer bool) *state {
	for !s.done.has(goal) {
		var pick *state
		for i := range g.rels {
			bit := set{r: 1 << i}
			if !goal.has(bit) || s.done.has(bit) {
				continue
			}
			for _, n := range g.relMoves(s, i) {
				if n.step.kind != stepRelScan {
					pick = n
					break
				}
			}
			if pick == nil {
				for _, n := range g.relNodes(i) {
					if s.done.n&(1<<n) == 0 {
						pick = g.leafMove(s, n, g.scanLeaf(s, n, true))
						break
					}
				}
			}
			if pick != nil {
				break // else its conditions wait for something else
			}
		}
		if pick == nil {
			for i := range g.nodes {
				if goal.n&(1<<i) != 0 && s.done.n&(1<<i) == 0 {
					pick = g.leafMove(s, i, g.scanLeaf(s, i, true))
					break
				}
			}
		}
		if pick == nil {
			r := g.rels[bits.TrailingZeros64(goal.r&^s.done.r)]
			g.p.fail(dberr.Compile(dberr.FeatureNotSupported, "", r.Pos, r.End, "conditions inside variable-length relationships of one MATCH read each other's variables"))
		}
		s = pick
	}
	return s
}

func (g *graph) relNodes(i int) [2]int { return [2]int{g.rels[i].l, g.rels[i].r} }

// moves lists the next states.
func (g *graph) moves(s *state, comps []int, outer bool) []*state {
	var out []*state
	in := g.goal(comps)
	for i := range g.rels {
		bit := set{r: 1 << i}
		if in.has(bit) && !s.done.has(bit) {
			out = append(out, g.relMoves(s, i)...)
		}
	}
	fresh := s.done == g.bound && s.prev == nil
	for _, c := range comps {
		touched := g.comps[c].touches(s.done)
		if s.done.has(g.comps[c]) {
			continue
		}
		leaves, sought := g.leavesOf(s, c)
		scan := func(n *state) *state { return n }
		if sought && !touched && g.p.opt.on(RuleIndexSeek) {
			scan = func(n *state) *state { n.cost += s.card * costScanBeside; return n }
		}
		for i, lf := range leaves {
			if lf == nil {
				continue
			}
			// A component is begun in place by a seek, or when there is nothing yet to combine it with; a second start inside a
			// component only by a seek that finds few. Rows that are handed down in batches are not looked for by a scan each.
			if !touched && !lf.seek && fresh && outer && g.in.batch {
				if m := g.scanJoin(s, c, i); m != nil {
					out = append(out, m)
					continue
				}
			}
			switch {
			case !touched && (lf.seek || g.inline(s, fresh, outer)):
			case touched && lf.seek && lf.rows <= 16:
			case touched && !lf.seek && g.endsSearch(s, i):
			default:
				continue
			}
			n := g.leafMove(s, i, lf)
			if !lf.seek {
				n = scan(n)
			}
			out = append(out, n)
		}
		if !touched {
			for i := range g.rels {
				if g.rels[i].comp != c {
					continue
				}
				if g.inline(s, fresh, outer) {
					if m := g.relScanMove(s, i); m != nil {
						out = append(out, scan(m))
					}
				}
				out = append(out, g.relSeekMoves(s, i)...)
			}
		}
		if touched {
			out = append(out, g.nodeJoins(s, c)...)
		}
		if !touched && len(comps) > 1 || !touched && outer && !g.inline(s, fresh, outer) {
			if m := g.joinMove(s, c); m != nil {
				out = append(out, m)
			}
		}
	}
	return out
}

// leavesOf lists, by vertex, the best way to find each vertex of a component that is not solved, and tells whether one of them is a seek.
func (g *graph) leavesOf(s *state, c int) (leaves []*leaf, sought bool) {
	leaves = make([]*leaf, len(g.nodes))
	for i := range g.nodes {
		if g.nodes[i].comp == c && s.done.n&(1<<i) == 0 {
			leaves[i] = g.bestLeaf(s, i)
			sought = sought || leaves[i].seek
		}
	}
	return leaves, sought
}

// inline reports whether a scan may simply be nested in what is there: nothing, or a single row.
func (g *graph) inline(s *state, fresh, outer bool) bool {
	if !outer {
		return s.prev == nil
	}
	return fresh && (g.in.one || g.in.est <= 1)
}

// applied applies the conditions that have become decidable.
func (g *graph) applied(s *state) *state {
	s.made = s.card
	g.follow(s)
	for i := range g.preds {
		if i >= 64 {
			break
		}
		pr := &g.preds[i]
		if s.used&(1<<i) != 0 || !s.done.has(pr.need) || !g.decidable(s, i) {
			continue
		}
		s.used |= 1 << i
		s.cost += s.card * pr.cost
		s.card = max(s.card*g.predSel(s, pr), 1e-6)
	}
	return s
}

// decidable: inside a component that is planned alone only conditions without outside variables may be tested.
func (g *graph) decidable(s *state, i int) bool {
	if !g.in.bound.empty() || g.in.root != nil {
		return true
	}
	// Planned alone: no variable from before.
	r := slotSet{}
	r.reads(g.preds[i].e)
	for x := range r.all() {
		if _, ok := g.bySlot[x]; !ok && !g.isHint(x) {
			return false
		}
	}
	return !g.preds[i].need.empty()
}

func (g *graph) isHint(slot int) bool {
	for i := range g.nodes {
		if g.nodes[i].v.Hint == slot {
			return true
		}
	}
	for i := range g.rels {
		if g.rels[i].Var.Hint == slot {
			return true
		}
	}
	return false
}
