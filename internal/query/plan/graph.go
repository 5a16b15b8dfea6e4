package plan

import (
	"math/bits"

	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
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
	costScanRow = 30.0
	// what beginning with a scan must save where the part could begin with a seek: graphs grow, and who made an index expects to see it used
	costScanBeside = 2000.0
	costSeek       = 500.0
	costSeekRow    = 80.0
	costByID       = 300.0
	costExpandRow  = 150.0
	costEdge       = 15.0
	costInto       = 250.0
	costJoinRow    = 60.0
	costJoinOut    = 50.0 // a row that a hash join puts together
	costCopyRow    = 10.0
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
