package plan

import (
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// iteration puts a round of a quantified path pattern into the order in which it is walked. Every condition is tested at the first hop at
// which all that it reads of the round is there.
func (p *planner) iteration(it *bind.Iteration, back bool) *Iteration {
	k := len(it.Hops)
	node := func(i int) int { return i }
	hop := func(i int) int { return i }
	if back {
		node = func(i int) int { return k - i }
		hop = func(i int) int { return k - 1 - i }
	}
	out := &Iteration{First: it.Nodes[node(0)].Slot, Hops: make([]Hop, k)}
	at := map[Slot]int{} // hop at which a slot is bound
	at[out.First] = 0
	for i := range out.Hops {
		h, n := it.Hops[hop(i)], it.Nodes[node(i+1)]
		dir := h.Dir
		if back && dir != store.Both {
			dir = 1 - dir
		}
		out.Hops[i] = Hop{Types: h.Types, Dir: dir, Rel: h.Rel.Slot, Node: n.Slot}
		at[h.Rel.Slot], at[n.Slot] = i, i
	}
	preds := make([][]expr.Expr, k)
	for _, e := range it.Preds {
		last := 0
		r := slotSet{}
		r.reads(e)
		for x := range r.all() {
			last = max(last, at[x])
		}
		preds[last] = append(preds[last], e)
	}
	for i := range preds {
		p.sortPreds(preds[i])
		out.Hops[i].Pred = p.and(preds[i])
	}
	for _, g := range it.Groups {
		pos := node(g.At)
		if g.Rel {
			pos = hop(g.At)
		}
		out.Groups = append(out.Groups, Group{Slot: g.Var.Slot, Rel: g.Rel, At: pos})
	}
	return out
}

// slots lists the slots that a round itself fills.
func (it *Iteration) slots() []Slot {
	out := []Slot{it.First}
	for _, h := range it.Hops {
		out = append(out, h.Rel, h.Node)
	}
	return out
}

// maxNaive is the length of paths up to which the reference run lists them all.
const maxNaive = 6

// selection plans a path with a selector.
func (b *builder) selection(s *stream, st *state, uniq []Slot) *stream {
	r := &b.g.rels[st.step.i]
	if b.g.p.opt.Reference && r.Max >= 0 && r.Max <= maxNaive {
		return b.enumerate(s, st)
	}
	if out := b.shortest(s, st, uniq); out != nil {
		return out
	}
	if out := b.search(s, st, uniq); out != nil {
		return out
	}
	return b.enumerate(s, st)
}

// shortest plans the search from both ends: for one or all shortest paths of one repeated relationship, with conditions that each relationship and each
// vertex must satisfy; nil if the path is another.
func (b *builder) shortest(s *stream, st *state, uniq []Slot) *stream {
	g, p := b.g, b.g.p
	r := &g.rels[st.step.i]
	sel := r.Sel
	if st.step.kind != stepInto || sel.Count != nil || len(sel.Pattern.Rels) != 1 {
		return nil
	}
	q := sel.Pattern.Rels[0]
	if !q.VarLen || q.Iter != nil || q.Bound || q.Min > 1 {
		return nil
	}
	steps := p.stepConditions(sel, q, r.Left, func(Slot) bool { return true })
	if len(steps.whole) > 0 {
		return nil
	}
	if len(steps.start) > 0 {
		s = p.filter(s, steps.start)
	}
	n := &ShortestPath{Base: p.base(st.card), Child: s.root, From: r.Left.Slot, To: r.Right.Slot, Rels: q.Var.Slot, Path: sel.Path.Slot, Length: NoSlot, Types: q.Types, Dir: q.Dir,
		Min: q.Min, Max: q.Max, All: sel.Kind == bind.SelectGroups, Unique: uniq, RelPred: p.and(steps.rel), StepRel: steps.relSlot, NodePred: p.and(steps.node), StepNode: steps.nodeSlot}
	n.Shared = len(uniq) == 0
	row := slotSet{}
	for _, e := range append(steps.rel, steps.node...) {
		row.reads(e)
	}
	for v := range row.all() {
		n.Shared = n.Shared && (v == n.From || !s.bound.has(v))
	}
	out := s.with(n)
	out.bound = clone(s.bound)
	for _, v := range r.Binds() {
		out.bound.add(v.Slot)
	}
	if n.All {
		out.extend(sel.Path.Root.Slot)
	}
	return b.solved(out, st.step.i, false)
}

// steps are the conditions of a path of one repeated relationship, by what they are about.
type steps struct {
	rel, node         []expr.Expr // hold for every relationship; for every vertex but the first
	start             []expr.Expr // the vertices' condition on the first
	relSlot, nodeSlot Slot
	whole             []expr.Expr // can only be judged of a whole path
}

// stepConditions finds among the conditions of a path those that steer its search: all(x IN nodes(p) …), none(…), the same over its relationships,
// and what is written inside the relationship. first is the vertex that the search begins at; given tells which
// variables can be read.
func (p *planner) stepConditions(sel *bind.Selection, q *bind.PatRel, first *bind.Var, given func(Slot) bool) steps {
	out := steps{rel: append([]expr.Expr(nil), q.StepPreds...), relSlot: NoSlot, nodeSlot: NoSlot}
	if q.Step != nil {
		out.relSlot = q.Step.Slot
	}
	binds := append(q.Binds(), sel.Path)
	for _, e := range sel.Pattern.Preds {
		x, ok := e.(*expr.Quantifier)
		if !ok || x.Kind != expr.All && x.Kind != expr.NoneOf || hasSubplan(x.Pred) {
			out.whole = append(out.whole, e)
			continue
		}
		inside := false
		of := slotSet{}
		of.reads(x.Pred)
		for v := range of.all() {
			inside = inside || v != x.Slot && !given(v)
		}
		for _, v := range binds {
			inside = inside || of.has(v.Slot)
		}
		list := listOf(x.List, sel.Path.Slot, q.Var.Slot)
		if inside || list == notOfPath {
			out.whole = append(out.whole, e)
			continue
		}
		test := x.Pred
		if x.Kind == expr.NoneOf {
			test = &expr.Unary{Base: expr.Base{Pos: -1, End: -1, T: expr.TBool}, Op: expr.OpNot, X: test}
		}
		if list == relsOfPath {
			if out.relSlot == NoSlot {
				out.relSlot = p.slot("x", RelID)
			}
			out.rel = append(out.rel, renamed(test, x.Slot, out.relSlot, NoSlot, expr.TRel))
			continue
		}
		if out.nodeSlot == NoSlot {
			out.nodeSlot = p.slot("x", NodeID)
		}
		out.node = append(out.node, renamed(test, x.Slot, out.nodeSlot, NoSlot, expr.TNode))
		out.start = append(out.start, renamed(test, x.Slot, first.Slot, first.Hint, expr.TNode))
	}
	return out
}

type ofPath uint8

const (
	notOfPath ofPath = iota
	nodesOfPath
	relsOfPath
)

// listOf recognises nodes(p), relationships(p) and the list variable of the relationships.
func listOf(e expr.Expr, path, rels Slot) ofPath {
	if c, ok := e.(*expr.Col); ok && c.Slot == rels {
		return relsOfPath
	}
	f, ok := e.(*expr.Func)
	if !ok || len(f.Args) != 1 {
		return notOfPath
	}
	if c, ok := f.Args[0].(*expr.Col); !ok || c.Slot != path {
		return notOfPath
	}
	switch strings.ToLower(f.Def.Name) {
	case "nodes":
		return nodesOfPath
	case "relationships":
		return relsOfPath
	}
	return notOfPath
}

// renamed reads another column in place of a lambda's variable.
func renamed(e expr.Expr, from, to, hint Slot, t expr.Type) expr.Expr {
	return bind.RewriteTop(e, func(x expr.Expr) (expr.Expr, bool) {
		if c, ok := x.(*expr.Col); ok && c.Slot == from {
			cc := *c
			cc.Slot, cc.Hint, cc.T = to, hint, t
			return &cc, true
		}
		return x, false
	})
}

// enumerate plans a path with a selector by what it means: for each row all paths that satisfy the conditions are found, and of those between the
// same ends some are kept. It is the reference run's way.
func (b *builder) enumerate(s *stream, st *state) *stream {
	g, p := b.g, b.g.p
	r := &g.rels[st.step.i]
	sel := r.Sel
	rowID := p.slot("row", RowID)
	in := &stream{root: &Argument{Base: p.base(1), RowID: rowID}, bound: clone(s.bound), est: 1, keys: [][]int{{}}, one: true}
	leave := p.enter(rowID)
	out := p.pattern(in, []*bind.Match{{Pattern: sel.Pattern}}, false)
	leave()
	length, _ := p.temp("length", expr.TInt)
	size := p.fn("length", sel.Path.Col(-1, -1))
	items := []Item{{Slot: length, Expr: size}}
	if !out.bound.has(r.Var.Slot) {
		items = append(items, Item{Slot: r.Var.Slot, Expr: p.fn("relationships", sel.Path.Col(-1, -1))})
	}
	var root Node = &Project{Base: p.base(out.est), Child: out.root, Items: items}
	limit := sel.Count
	if limit == nil {
		limit = &expr.Const{Base: expr.Base{Pos: -1, End: -1, T: expr.TInt}, V: value.NewInt(1)}
	}
	root = &TopN{Base: p.base(st.card), Child: root, Keys: []SortKey{{Slot: length}}, Limit: p.expr(limit), Part: []Slot{rowID, r.Left.Slot, r.Right.Slot}, Ties: sel.Kind == bind.SelectGroups, Paths: true}
	n := &Apply{Base: p.base(st.card), Left: s.root, Right: root, Kind: Inner, RowID: rowID, Opens: -1, Slot: NoSlot, From: NoSlot}
	res := s.with(n)
	res.bound = clone(s.bound)
	res.bound.add(r.Left.Slot, r.Right.Slot)
	for _, v := range r.Binds() {
		res.bound.add(v.Slot)
	}
	res.extend(r.Left.Root.Slot)
	res.extend(r.Right.Root.Slot)
	res.extend(sel.Path.Root.Slot)
	return b.solved(res, st.step.i, false)
}

// fn calls a function of the table.
func (p *planner) fn(name string, args ...expr.Expr) expr.Expr {
	def, ok := expr.Lookup(name)
	if !ok {
		panic("plan: no function " + name)
	}
	return &expr.Func{Base: expr.Base{Pos: -1, End: -1, T: expr.Any}, Def: def, Args: args}
}
