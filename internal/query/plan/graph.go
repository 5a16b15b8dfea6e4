package plan

import (
	"math/bits"
	"sort"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// The query graph of one or more MATCH clauses: vertices, relationships and the conditions over them. A plan for it is a sequence of
// steps, found by dynamic programming over the sets of elements that are solved (up to dpLimit relationships), else greedily.

const (
	dpLimit   = 10   // relationships up to which all orders are tried
	maxStates = 1500 // states looked at before the search turns greedy
	maxInner  = 48   // relationships of one graph; a larger pattern is planned piece by piece
	joinAbove = 64   // left rows above which a hash join beats a nested seek without an index
)

// Costs in ns.
const (
	costScanRow   = 30.0
	costSeek      = 500.0
	costSeekRow   = 80.0
	costByID      = 300.0
	costExpandRow = 150.0
	costEdge      = 15.0
	costInto      = 250.0
	costJoinRow   = 60.0
	costJoinOut   = 50.0 // a row that a hash join puts together
	costCopyRow   = 10.0
)

type gnode struct {
	v      *bind.Var
	preds  []int // conditions over this vertex alone
	labels []string
	comp   int
}

type grel struct {
	*bind.PatRel
	index int
	l, r  int // nodes
	group int
	comp  int
	need  set  // what its conditions read beside itself: must be solved before
	outer bool // they read a variable of the rows from before
}

// set is a set of vertices and relationships.
type set struct{ n, r uint64 }

func (s set) has(t set) bool     { return t.n&^s.n == 0 && t.r&^s.r == 0 }
func (s set) or(t set) set       { return set{s.n | t.n, s.r | t.r} }
func (s set) touches(t set) bool { return s.n&t.n != 0 || s.r&t.r != 0 }
func (s set) empty() bool        { return s.n == 0 && s.r == 0 }

type gpred struct {
	e    expr.Expr
	need set
	sel  float64
	cost float64
	sub  bool // becomes a semi or anti apply
}

type graph struct {
	p       *planner
	in      *stream
	nodes   []gnode
	rels    []grel
	preds   []gpred
	subs    map[int]*state         // components planned alone
	waysOf  map[int]map[set]*state // the ways to the parts of components planned alone
	depends map[expr.Expr]dependence
	testsOf map[Slot][]keyTest     // all tests of an element, whatever is solved
	likely  map[int]schema.LabelID // by relationship and side
	degrees map[degreeKey]float64
	bySlot  map[int]set
	comps   []set
	paths   []*bind.PatPath
	bound   set // vertices and relationships bound before
	hints   []bind.Hint
	dup     bool
	prior   []priorRel // relationships of the same clauses that an earlier piece solved

	best   map[set]*state // ways that the last search found, by what they solve
	alone  map[int][]part // by component
	single bool           // a search for one part alone: left-deep
	pairs  int
}

type priorRel struct {
	group int
	slot  Slot
	types []string
}

// match plans MATCH clauses as one graph.
func (p *planner) match(s *stream, group []*bind.Match, dup bool) *stream {
	first := group[0]
	if !p.q.ReadOnly {
		e := &effects{name: first.Name, distinct: s.distinctOn}
		for _, m := range group {
			k := p.effects(m)
			e.r.merge(&k.r)
		}
		p.barrier(s, e)
	}
	dup = (dup || p.existsDup) && p.opt.on(RuleDistinctEnds)
	if first.Optional {
		return p.optional(s, first, dup)
	}
	return p.pattern(s, group, dup)
}

// pattern plans the patterns and conditions of MATCH clauses on top of s.
func (p *planner) pattern(s *stream, group []*bind.Match, dup bool) *stream {
	var rels int
	for _, m := range group {
		rels += len(m.Pattern.Rels)
	}
	if rels > maxInner || countNodes(group) > 60 {
		return p.pieces(s, group, dup)
	}
	g := p.graph(s, group, nil)
	g.dup = dup
	return g.plan()
}

func countNodes(group []*bind.Match) int {
	n := 0
	for _, m := range group {
		n += len(m.Pattern.Nodes)
	}
	return n
}

// pieces plans a very large pattern in runs of relationships, in the order of the text.
func (p *planner) pieces(s *stream, group []*bind.Match, dup bool) *stream {
	var prior []priorRel
	var late []*bind.Match
	for gi, m := range group {
		rels := m.Pattern.Rels
		nodes := m.Pattern.Nodes
		placed := map[*bind.Var]bool{}
		for len(rels) > 0 || len(nodes) > 0 {
			k := min(len(rels), 20)
			piece := &bind.Match{Place: m.Place, Pattern: bind.Pattern{Rels: rels[:k]}}
			seen := map[*bind.Var]bool{}
			use := func(v *bind.Var) {
				if !seen[v] {
					seen[v] = true
					placed[v] = true
					piece.Pattern.Nodes = append(piece.Pattern.Nodes, &bind.PatNode{Var: v, Bound: s.bound.has(v.Slot)})
				}
			}
			for _, r := range rels[:k] {
				use(r.Left)
				use(r.Right)
			}
			rels = rels[k:]
			var rest []*bind.PatNode
			for _, n := range nodes {
				if placed[n.Var] {
					continue
				}
				if len(rels) == 0 && len(piece.Pattern.Nodes) < 40 {
					use(n.Var)
					continue
				}
				rest = append(rest, n)
			}
			nodes = rest
			// Conditions that this piece can decide.
			have := clone(s.bound)
			for _, n := range piece.Pattern.Nodes {
				have.add(n.Var.Slot, n.Var.Hint)
			}
			for _, r := range piece.Pattern.Rels {
				for _, v := range r.Binds() {
					have.add(v.Slot, v.Hint)
				}
			}
			var keep []expr.Expr
			for _, e := range m.Pattern.Preds {
				if p.readable(e, have) {
					piece.Where = append(piece.Where, e)
				} else {
					keep = append(keep, e)
				}
			}
			mm := *m
			mm.Pattern.Preds = keep
			m = &mm
			g := p.graph(s, []*bind.Match{piece}, prior)
			for i := range g.rels {
				g.rels[i].group = gi
			}
			g.dup = false
			s = g.plan()
			for _, r := range piece.Pattern.Rels {
				prior = append(prior, priorRel{gi, r.Var.Slot, r.Types})
			}
		}
		late = append(late, &bind.Match{Place: m.Place, Pattern: bind.Pattern{Preds: m.Pattern.Preds, Paths: m.Pattern.Paths}, Where: m.Where})
	}
	for _, m := range late {
		for _, pt := range m.Pattern.Paths {
			s = p.path(s, pt)
		}
		s = p.filter(s, append(append([]expr.Expr(nil), m.Pattern.Preds...), m.Where...))
	}
	return s
}

func (p *planner) readable(e expr.Expr, have slotSet) bool {
	r := slotSet{}
	r.reads(e)
	for x := range r.all() {
		if !have.has(x) && !p.hintOfBound(x, have) {
			return false
		}
	}
	return true
}

// graph builds the query graph.
func (p *planner) graph(in *stream, group []*bind.Match, prior []priorRel) *graph {
	g := &graph{p: p, in: in, bySlot: map[int]set{}, prior: prior}
	node := func(v *bind.Var) int {
		if s, ok := g.bySlot[v.Slot]; ok {
			return bits.TrailingZeros64(s.n)
		}
		i := len(g.nodes)
		g.nodes = append(g.nodes, gnode{v: v})
		s := set{n: 1 << i}
		g.bySlot[v.Slot] = s
		if in.bound.has(v.Slot) {
			g.bound = g.bound.or(s)
		}
		return i
	}
	var preds []expr.Expr
	for gi, m := range group {
		for _, n := range m.Pattern.Nodes {
			node(n.Var)
		}
		for _, r := range m.Pattern.Rels {
			gr := grel{PatRel: r, index: len(g.rels), l: node(r.Left), r: node(r.Right), group: gi}
			i := len(g.rels)
			s := set{r: 1 << i}
			for _, v := range r.Binds() {
				if _, dup := g.bySlot[v.Slot]; !dup {
					g.bySlot[v.Slot] = s
				}
			}
			g.rels = append(g.rels, gr)
		}
		for _, pt := range m.Pattern.Paths {
			var s set
			for _, part := range pt.Parts {
				s = s.or(g.bySlot[part.Var.Slot])
			}
			g.bySlot[pt.Var.Slot] = s
		}
		g.paths = append(g.paths, m.Pattern.Paths...)
		preds = append(preds, m.Pattern.Preds...)
		preds = append(preds, m.Where...)
		g.hints = append(g.hints, m.Hints...)
	}
	for i := range g.rels {
		g.dependsOn(i)
	}
	preds = append(preds, g.boundNodes()...)
	for _, e := range p.conjuncts(preds) {
		gp := gpred{e: e, cost: predCost(e)}
		r := slotSet{}
		r.reads(e)
		for x := range r.all() {
			gp.need = gp.need.or(g.bySlot[x])
		}
		if q, _ := semi(e); q != nil && !q.Lambda && p.opt.on(RuleSemiApply) {
			gp.sub = true
		}
		i := len(g.preds)
		g.preds = append(g.preds, gp)
		if gp.need.r == 0 && bits.OnesCount64(gp.need.n) == 1 {
			n := &g.nodes[bits.TrailingZeros64(gp.need.n)]
			n.preds = append(n.preds, i)
			if h, ok := e.(*expr.HasLabels); ok && !h.Any {
				if c, ok := h.X.(*expr.Col); ok && c.Slot == n.v.Slot {
					n.labels = append(n.labels, h.Labels...)
				}
			}
		}
	}
	g.judge()
	g.components()
	return g
}

// dependsOn notes what the conditions inside relationship i read beside what they bind themselves.
func (g *graph) dependsOn(i int) {
	r := &g.rels[i]
	reads := slotSet{}
	for _, e := range r.Inner() {
		reads.reads(e)
	}
	for x := range reads.all() {
		if s, ok := g.bySlot[x]; ok {
			r.need = r.need.or(s)
			r.outer = r.outer || g.bound.touches(s)
		} else if g.in.bound.has(x) {
			r.outer = true
		}
	}
	r.need.r &^= 1 << i
	if r.Sel != nil {
		r.need.n &^= 1<<r.l | 1<<r.r // judged when the path is there
	}
}

// boundNodes makes the condition that a bound vertex which no relationship of the pattern touches is not null: (b) matches no null.
func (g *graph) boundNodes() []expr.Expr {
	var out []expr.Expr
	for i := range g.nodes {
		v := g.nodes[i].v
		if g.bound.n&(1<<i) == 0 || v.Kind == bind.NodeVar && !g.p.opts.has(v.Root.Slot) {
			continue
		}
		touched := false
		for j := range g.rels {
			touched = touched || g.rels[j].l == i || g.rels[j].r == i
		}
		if !touched {
			out = append(out, &expr.Unary{Base: expr.Base{Pos: -1, End: -1, T: expr.TBool}, Op: expr.OpIsNotNull, X: v.Col(-1, -1)})
		}
	}
	return out
}

// components numbers the connected parts; what hangs on something bound is part 0.
func (g *graph) components() {
	comp := make([]int, len(g.nodes))
	for i := range comp {
		comp[i] = i
	}
	var find func(int) int
	find = func(i int) int {
		for comp[i] != i {
			comp[i] = comp[comp[i]]
			i = comp[i]
		}
		return i
	}
	for _, r := range g.rels {
		comp[find(r.l)] = find(r.r)
		for j := range g.nodes {
			if r.need.n&(1<<j) != 0 {
				comp[find(r.l)] = find(j)
			}
		}
		for j := range g.rels {
			if r.need.r&(1<<j) != 0 {
				comp[find(r.l)] = find(g.rels[j].l)
			}
		}
	}
	// Bound elements are one component together.
	first := -1
	join := func(i int) {
		if first < 0 {
			first = find(i)
		} else {
			comp[find(i)] = find(first)
		}
	}
	for i := range g.nodes {
		if g.bound.n&(1<<i) != 0 {
			join(i)
		}
	}
	for _, r := range g.rels {
		if r.Bound || r.outer {
			join(r.l)
		}
	}
	num := map[int]int{}
	if first >= 0 {
		num[find(first)] = 0
		g.comps = append(g.comps, set{})
	}
	for i := range g.nodes {
		c, ok := num[find(i)]
		if !ok {
			c = len(g.comps)
			num[find(i)] = c
			g.comps = append(g.comps, set{})
		}
		g.nodes[i].comp = c
		g.comps[c].n |= 1 << i
	}
	for i := range g.rels {
		c := g.nodes[g.rels[i].l].comp
		g.rels[i].comp = c
		g.comps[c].r |= 1 << i
	}
}

// ---- search ------------------------------------------------------------------------------------------------------------

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
		for i := range g.nodes {
			bit := set{n: 1 << i}
			if g.nodes[i].comp != c || s.done.has(bit) {
				continue
			}
			lf := g.bestLeaf(s, i)
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
			out = append(out, g.leafMove(s, i, lf))
		}
		if !touched {
			for i := range g.rels {
				if g.rels[i].comp != c {
					continue
				}
				if g.inline(s, fresh, outer) {
					if m := g.relScanMove(s, i); m != nil {
						out = append(out, m)
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

// inline reports whether a scan may simply be nested in what is there: nothing, or a single row.
func (g *graph) inline(s *state, fresh, outer bool) bool {
	if !outer {
		return s.prev == nil
	}
	return fresh && (g.in.one || g.in.est <= 1)
}

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

// ---- leaves ------------------------------------------------------------------------------------------------------------

// leaf is a way to find a vertex.
type leaf struct {
	cost, rows float64 // for one input row
	used       uint64  // conditions that it decides
	seek       bool
	ix         *schema.Index
	eq         []expr.Expr
	in         int
	lower      expr.Expr
	upper      expr.Expr
	lowerInc   bool
	upperInc   bool
	prefix     expr.Expr
	id         expr.Expr
	idIn, elem bool
	labels     []string // label scan: any of these
	all        bool
	union      []*leaf // what several find together, each once
}

func (g *graph) leafMove(s *state, i int, lf *leaf) *state {
	n := &state{done: s.done.or(set{n: 1 << i}), used: s.used | lf.used, prev: s, step: step{kind: stepLeaf, i: i, leaf: lf}}
	n.card = max(s.card*lf.rows, 1e-6)
	n.cost = s.cost + s.card*lf.cost
	return g.applied(n)
}

// scanLeaf is the cheapest scan. plain: the first label in the text, for the reference run.
func (g *graph) scanLeaf(s *state, i int, plain bool) *leaf {
	p := g.p
	nd := &g.nodes[i]
	all := p.cat.NodeCount(schema.NoLabel)
	best := &leaf{all: true, rows: max(all, 1), cost: max(all, 1) * costScanRow, in: -1}
	for _, pi := range nd.preds {
		h, ok := g.preds[pi].e.(*expr.HasLabels)
		if !ok || pi >= 64 || s.used&(1<<pi) != 0 {
			continue
		}
		if c, ok := h.X.(*expr.Col); !ok || c.Slot != nd.v.Slot {
			continue
		}
		rows := 0.0
		labels := h.Labels
		if !h.Any {
			labels = h.Labels[:1]
		}
		for _, l := range labels {
			if id, ok := p.cat.Label(p.opt.View, l, schema.Vertex); ok {
				rows += p.cat.NodeCount(id)
			}
		}
		lf := &leaf{labels: labels, rows: max(rows, 1e-3), cost: 100 + rows*costScanRow, in: -1}
		if h.Any || len(h.Labels) == 1 {
			lf.used = 1 << pi
		}
		if best.all || lf.cost < best.cost && !plain {
			best = lf
		}
		if plain {
			break
		}
	}
	return best
}

// bestLeaf is the cheapest way to find a vertex given what is solved.
func (g *graph) bestLeaf(s *state, i int) *leaf {
	best := g.scanLeaf(s, i, false)
	if g.hinted(i, best) {
		best.cost *= hintWeight
		return best
	}
	for _, lf := range append(g.seeks(s, i), g.unions(s, i)...) {
		if g.hinted(i, lf) {
			lf.cost *= hintWeight
		}
		if g.better(lf, best) {
			best = lf
		}
	}
	return best
}

// better compares two ways. A seek whose estimates tie with a scan is still the better bet: graphs grow.
func (g *graph) better(a, b *leaf) bool {
	if a.seek && !b.seek {
		return a.cost <= b.cost*1.5+1000
	}
	return a.cost < b.cost
}

// given reports whether e can be evaluated with what is solved.
func (g *graph) given(s *state, e expr.Expr) bool {
	d, ok := g.depends[e]
	if !ok {
		d = g.dependence(e)
		if g.depends == nil {
			g.depends = map[expr.Expr]dependence{}
		}
		g.depends[e] = d
	}
	return d.ok && s.done.has(d.need)
}

// dependence is what an expression needs to be solved; not ok: it can never be evaluated before a seek.
type dependence struct {
	need set
	ok   bool
}

func (g *graph) dependence(e expr.Expr) dependence {
	if hasSubplan(e) || !stable(e) {
		return dependence{}
	}
	d := dependence{ok: true}
	r := slotSet{}
	r.reads(e)
	for x := range r.all() {
		if t, ok := g.bySlot[x]; ok {
			d.need = d.need.or(t)
		} else if !g.in.bound.has(x) && !g.isHint(x) && !g.p.hintOfBound(x, g.in.bound) {
			return dependence{}
		}
	}
	return d
}

// keyTest is a condition on one property of a vertex that an index may decide.
type keyTest struct {
	pred int
	key  string
	op   expr.Op
	val  expr.Expr // nil with IS NOT NULL
}

// element is the vertex or relationship that a seek looks for.
type element struct {
	slot Slot
	need set
}

func (g *graph) vertex(i int) element { return element{g.nodes[i].v.Slot, set{n: 1 << i}} }

// tests lists the conditions on properties of an element whose other side is given.
func (g *graph) tests(s *state, el element) []keyTest {
	all, ok := g.testsOf[el.slot]
	if !ok {
		all = g.allTests(el)
		if g.testsOf == nil {
			g.testsOf = map[Slot][]keyTest{}
		}
		g.testsOf[el.slot] = all
	}
	var out []keyTest
	for _, t := range all {
		if s.used&(1<<t.pred) == 0 && (t.val == nil || g.given(s, t.val)) {
			out = append(out, t)
		}
	}
	return out
}

func (g *graph) allTests(el element) []keyTest {
	var out []keyTest
	for pi := range g.preds {
		if pi < 64 && g.preds[pi].need.has(el.need) {
			out = append(out, testsIn(g.preds[pi].e, pi, el.slot)...)
		}
	}
	return out
}

// testsIn reads condition pi as tests of properties of the element in a slot.
func testsIn(e expr.Expr, pi int, slot Slot) []keyTest {
	propOf := func(e expr.Expr) (string, bool) {
		if pr, ok := e.(*expr.Prop); ok {
			if c, ok := pr.Of.(*expr.Col); ok && c.Slot == slot {
				return pr.Key, true
			}
		}
		return "", false
	}
	var out []keyTest
	switch b := e.(type) {
	case *expr.Unary:
		if k, ok := propOf(b.X); ok && b.Op == expr.OpIsNotNull {
			out = append(out, keyTest{pred: pi, key: k, op: b.Op})
		}
	case *expr.Binary:
		switch b.Op {
		case expr.OpEq, expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
			// Both sides may be a property of the element: then neither is given and the seek falls away.
			if k, ok := propOf(b.L); ok {
				out = append(out, keyTest{pred: pi, key: k, op: b.Op, val: b.R})
			}
			if k, ok := propOf(b.R); ok {
				out = append(out, keyTest{pred: pi, key: k, op: flip(b.Op), val: b.L})
			}
		case expr.OpIn, expr.OpStartsWith:
			if k, ok := propOf(b.L); ok {
				out = append(out, keyTest{pred: pi, key: k, op: b.Op, val: b.R})
			}
		}
	}
	return out
}

func flip(op expr.Op) expr.Op {
	switch op {
	case expr.OpLt:
		return expr.OpGt
	case expr.OpLe:
		return expr.OpGe
	case expr.OpGt:
		return expr.OpLt
	case expr.OpGe:
		return expr.OpLe
	}
	return op
}

// seeks lists the seeks that find vertex i.
func (g *graph) seeks(s *state, i int) []*leaf {
	p := g.p
	var out []*leaf
	if p.opt.on(RuleByID) {
		out = append(out, g.idSeeks(s, g.vertex(i))...)
	}
	if !p.opt.on(RuleIndexSeek) {
		return out
	}
	tests := g.tests(s, g.vertex(i))
	if len(tests) == 0 {
		return out
	}
	ixs := p.indexes()
	for x := range ixs {
		ix := &ixs[x]
		if ix.Entity != schema.Vertex || !g.knownLabel(s, i, ix.LabelName) {
			continue
		}
		if lf := g.indexLeaf(ix, tests, p.labelCount(ix.LabelName)); lf != nil {
			// The label is decided by the index (re-checked there).
			for _, pi := range g.nodes[i].preds {
				if h, ok := g.preds[pi].e.(*expr.HasLabels); ok && pi < 64 && !h.Any && len(h.Labels) == 1 && h.Labels[0] == ix.LabelName {
					if c, ok := h.X.(*expr.Col); ok && c.Slot == g.nodes[i].v.Slot {
						lf.used |= 1 << pi
					}
				}
			}
			out = append(out, lf)
		}
	}
	return out
}

// knownLabel reports whether a pending condition says that the vertex has the label.
func (g *graph) knownLabel(s *state, i int, label string) bool {
	return contains(g.nodes[i].labels, label)
}

func (p *planner) indexes() []schema.Index {
	if !p.ixLoaded {
		p.ixCache, p.ixLoaded = p.cat.Indexes(p.opt.View), true
	}
	return p.ixCache
}

// indexLeaf makes the seek of an index over count entities from the tests that it can decide; nil if it decides none.
func (g *graph) indexLeaf(ix *schema.Index, tests []keyTest, count float64) *leaf {
	p := g.p
	lf := &leaf{ix: ix, in: -1, seek: true}
	rows := count
	probes := 1.0
	full := true
	var used []keyTest
	for k, key := range ix.KeyNames {
		var eq *keyTest
		for t := range tests {
			if tests[t].key == key && tests[t].op == expr.OpEq {
				eq = &tests[t]
				break
			}
		}
		if eq != nil {
			lf.eq = append(lf.eq, eq.val)
			lf.used |= 1 << eq.pred
			used = append(used, *eq)
			rows *= 0.1
			continue
		}
		if lf.in < 0 {
			found := false
			for t := range tests {
				if tests[t].key == key && tests[t].op == expr.OpIn {
					lf.in = k
					lf.eq = append(lf.eq, tests[t].val)
					lf.used |= 1 << tests[t].pred
					used = append(used, tests[t])
					probes = g.p.listLen(tests[t].val)
					rows *= 0.1 * probes
					found = true
					break
				}
			}
			if found {
				continue
			}
		}
		full = false
		for t := range tests {
			if tests[t].key != key {
				continue
			}
			switch tests[t].op {
			case expr.OpStartsWith:
				if lf.prefix == nil && lf.lower == nil && lf.upper == nil {
					lf.prefix = tests[t].val
					lf.used |= 1 << tests[t].pred
					used = append(used, tests[t])
					rows *= 0.1
				}
			case expr.OpGt, expr.OpGe:
				if lf.lower == nil && lf.prefix == nil {
					lf.lower, lf.lowerInc = tests[t].val, tests[t].op == expr.OpGe
					lf.used |= 1 << tests[t].pred
					used = append(used, tests[t])
					rows *= 0.4
				}
			case expr.OpLt, expr.OpLe:
				if lf.upper == nil && lf.prefix == nil {
					lf.upper, lf.upperInc = tests[t].val, tests[t].op == expr.OpLe
					lf.used |= 1 << tests[t].pred
					used = append(used, tests[t])
					rows *= 0.4
				}
			}
		}
		break
	}
	// An entity that lacks one of the keys is not in the index (rules B13): every key must be known to be there.
	for _, key := range ix.KeyNames[len(lf.eq):] {
		found := false
		for t := range tests {
			found = found || tests[t].key == key
		}
		if !found {
			return nil
		}
	}
	// Being in the index, an entity has all of the keys.
	for t := range tests {
		if tests[t].op == expr.OpIsNotNull && contains(ix.KeyNames, tests[t].key) {
			lf.used |= 1 << tests[t].pred
			used = append(used, tests[t])
			if rows == count {
				rows *= 0.8
			}
		}
	}
	if r, ok := g.indexRows(ix, used, count); ok && (!full || len(ix.KeyNames) == 1) {
		rows = r
	} else if full {
		if d := p.cat.Distinct(ix.ID); d > 0 {
			rows = count / d * probes
		}
	}
	if full && ix.Unique {
		rows = probes
	}
	lf.rows = max(rows, 1e-3)
	lf.cost = costSeek*probes + lf.rows*costSeekRow
	return lf
}

func (p *planner) listLen(e expr.Expr) float64 {
	if l, ok := e.(*expr.ListLit); ok {
		return float64(max(1, len(l.Elems)))
	}
	if v, ok := p.valueOf(e); ok && v.Kind() == value.List {
		return float64(max(1, v.Len()))
	}
	return 10
}

func (p *planner) labelCount(name string) float64 {
	if id, ok := p.cat.Label(p.opt.View, name, schema.Vertex); ok {
		return p.cat.NodeCount(id)
	}
	return 0
}

// idSeeks recognises id(n) = e, id(n) IN list, elementId(n) = e.
func (g *graph) idSeeks(s *state, el element) []*leaf {
	var out []*leaf
	for pi := range g.preds {
		if pi >= 64 || s.used&(1<<pi) != 0 {
			continue
		}
		if lf := g.idLeaf(s, g.preds[pi].e, el.slot); lf != nil {
			lf.used = 1 << pi
			out = append(out, lf)
		}
	}
	return out
}

// idLeaf reads a condition as a test of the id of the element in a slot; nil if it is none.
func (g *graph) idLeaf(s *state, e expr.Expr, slot Slot) *leaf {
	isID := func(e expr.Expr) (elem, ok bool) {
		f, is := e.(*expr.Func)
		if !is || len(f.Args) != 1 {
			return false, false
		}
		c, is := f.Args[0].(*expr.Col)
		if !is || c.Slot != slot {
			return false, false
		}
		switch strings.ToLower(f.Def.Name) {
		case "id":
			return false, true
		case "elementid":
			return true, true
		}
		return false, false
	}
	b, ok := e.(*expr.Binary)
	if !ok || b.Op != expr.OpEq && b.Op != expr.OpIn {
		return nil
	}
	lf := &leaf{in: -1, seek: true, rows: 1, cost: costByID}
	if elem, is := isID(b.L); is && g.given(s, b.R) {
		lf.id, lf.elem, lf.idIn = b.R, elem, b.Op == expr.OpIn
	} else if elem, is := isID(b.R); is && b.Op == expr.OpEq && g.given(s, b.L) {
		lf.id, lf.elem = b.L, elem
	} else {
		return nil
	}
	if lf.idIn {
		lf.rows = g.p.listLen(lf.id)
		lf.cost *= lf.rows
	}
	return lf
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

// cartesianNotice tells of parts that nothing joins (rules D7).
func (g *graph) cartesianNotice() {
	if len(g.comps) < 2 {
		return
	}
	// Conditions join parts, too.
	par := make([]int, len(g.comps))
	for i := range par {
		par[i] = i
	}
	var find func(int) int
	find = func(i int) int {
		for par[i] != i {
			i = par[i]
		}
		return i
	}
	for _, pr := range g.preds {
		first := -1
		for i := range g.nodes {
			if pr.need.n&(1<<i) != 0 {
				if first < 0 {
					first = g.nodes[i].comp
				} else {
					par[find(g.nodes[i].comp)] = find(first)
				}
			}
		}
	}
	roots := map[int]bool{}
	for i := range par {
		roots[find(i)] = true
	}
	if len(roots) < 2 {
		return
	}
	// Parts that find a single row each multiply nothing.
	big := 0
	for c := range g.comps {
		if st := g.component(c); st == nil || st.card > 1.5 {
			big++
		}
	}
	if big < 2 {
		return
	}
	var names []string
	for i := range g.nodes {
		if !g.nodes[i].v.Anon {
			names = append(names, g.nodes[i].v.Name)
		}
	}
	sort.Strings(names)
	pos := -1
	if len(g.nodes) > 0 {
		pos = g.nodes[len(g.nodes)-1].v.Pos
	}
	g.p.notice("CartesianProduct", "Connect the parts by a relationship or a condition in WHERE.", pos, pos,
		"this MATCH combines every row of one disconnected part with every row of the others (%s)", strings.Join(names, ", "))
}
