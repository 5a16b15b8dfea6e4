package plan

import (
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// build turns the way to a state into operators.
func (g *graph) build(end *state) *stream {
	b := &builder{g: g, used: map[int]bool{}, paths: map[*bind.PatPath]bool{}, done: g.bound}
	s := *g.in
	s.bound, s.keys = clone(s.bound), g.in.keys
	if g.p.opt.on(RulePushDown) || g.p.opt.Reference {
		b.push = !g.p.opt.Reference
	}
	out := b.steps(&s, end)
	for _, pt := range g.paths {
		out = b.path(out, pt)
	}
	b.push = true
	out = b.filters(out, true)
	for i := range g.nodes {
		out.bound.add(g.nodes[i].v.Slot)
	}
	for i := range g.rels {
		for _, v := range g.rels[i].Binds() {
			out.bound.add(v.Slot)
		}
	}
	g.notePreds()
	out.one = false
	return out
}

type builder struct {
	g     *graph
	used  map[int]bool // conditions decided
	paths map[*bind.PatPath]bool
	done  set
	rels  []int // solved relationships
	push  bool
	alone bool // a component that is planned alone
}

func (b *builder) steps(s *stream, end *state) *stream {
	var chain []*state
	for st := end; st.prev != nil; st = st.prev {
		chain = append(chain, st)
	}
	s = b.filters(s, false)
	for i := len(chain) - 1; i >= 0; i-- {
		st := chain[i]
		s = b.step(s, st)
		b.done = st.done
		s.est = st.card
		s = b.filters(s, false)
	}
	return s
}

// leafChild is the input of a leaf: nil above nothing.
func leafChild(n Node) Node {
	if _, ok := n.(*SingleRow); ok {
		return nil
	}
	return n
}

func (b *builder) step(s *stream, st *state) *stream {
	g, p := b.g, b.g.p
	switch st.step.kind {
	case stepLeaf:
		return b.leaf(s, st)
	case stepRelScan:
		r := &g.rels[st.step.i]
		n := &RelTypeScan{Base: p.base(st.made), Child: leafChild(s.root), Rel: r.Var.Slot, RelHint: r.Var.Hint, Start: r.Left.Slot, End: r.Right.Slot, Types: r.Types, Dir: r.Dir}
		if r.Dir == store.In {
			n.Start, n.End, n.Dir = r.Right.Slot, r.Left.Slot, store.Out
		}
		s = s.with(n)
		s.extend(r.Var.Root.Slot)
		if r.Dir == store.Both {
			s.extend(r.Left.Root.Slot)
		}
		s.bound = clone(s.bound)
		s.bound.add(r.Var.Slot, r.Left.Slot, r.Right.Slot)
		return b.solved(s, st.step.i, true)
	case stepEnds:
		r := &g.rels[st.step.i]
		n := &ProjectEndpoints{Base: p.base(st.made), Child: s.root, Rel: r.Var.Slot, Start: r.Left.Slot, End: r.Right.Slot, Types: r.Types, Dir: r.Dir, Unique: b.unique(st.step.i)}
		lb, rb := st.prev.done.n&(1<<r.l) != 0, st.prev.done.n&(1<<r.r) != 0
		if r.l == r.r && !lb {
			// (a)-[r]-(a) with a new: the second end is compared to the first.
			n.End = p.slot("end", NodeID)
		}
		n.StartBound, n.EndBound = lb, rb
		if r.Dir == store.In {
			n.Start, n.End, n.StartBound, n.EndBound, n.Dir = n.End, n.Start, n.EndBound, n.StartBound, store.Out
		}
		s = s.with(n)
		s.bound = clone(s.bound)
		s.bound.add(r.Left.Slot, r.Right.Slot)
		if r.Dir == store.Both {
			s.extend(r.Left.Root.Slot)
		}
		if r.l == r.r && !lb {
			eq := &expr.Binary{Base: expr.Base{Pos: -1, End: -1, T: expr.TBool}, Op: expr.OpEq, L: r.Left.Col(-1, -1),
				R: &expr.Col{Base: expr.Base{Pos: -1, End: -1, T: expr.TNode}, Slot: other(n, r.Left.Slot), Hint: NoSlot, Name: "end"}}
			s = s.with(&Filter{Base: p.base(st.made), Child: s.root, Preds: []expr.Expr{eq}})
		}
		return b.solved(s, st.step.i, false)
	case stepRelSeek:
		r := &g.rels[st.step.i]
		s = b.seek(s, st, schema.Edge, r.Var)
		ends := &state{done: st.done, card: st.card, made: st.made, prev: st.prev, step: step{kind: stepEnds, i: st.step.i}}
		return b.step(s, ends)
	case stepExpand, stepInto:
		return b.expand(s, st)
	case stepNodeJoin:
		return b.nodeJoin(s, st)
	}
	return b.join(s, st)
}

func other(n *ProjectEndpoints, slot Slot) Slot {
	if n.Start == slot {
		return n.End
	}
	return n.Start
}

func (b *builder) leaf(s *stream, st *state) *stream {
	g, p := b.g, b.g.p
	v, lf := g.nodes[st.step.i].v, st.step.leaf
	if lf.union != nil {
		return b.union(s, st, v)
	}
	if lf.seek {
		return b.seek(s, st, schema.Vertex, v)
	}
	b.consume(lf)
	var n Node
	c := leafChild(s.root)
	if lf.all {
		n = &AllNodesScan{Base: p.base(st.made), Child: c, Node: v.Slot, Hint: v.Hint, But: lf.but}
		b.missingLabel(st.step.i, lf)
	} else {
		n = &LabelScan{Base: p.base(st.made), Child: c, Node: v.Slot, Hint: v.Hint, Labels: lf.labels}
		b.missingIndex(st.step.i, lf)
	}
	s = s.with(n)
	s.bound = clone(s.bound)
	s.bound.add(v.Slot)
	s.extend(v.Root.Slot)
	return s
}

func (b *builder) consume(lf *leaf) {
	for i := range b.g.preds {
		if i < 64 && lf.used&(1<<i) != 0 {
			b.used[i] = true
		}
	}
}

// seek finds a vertex or relationship by index or id.
func (b *builder) seek(s *stream, st *state, ent schema.Entity, v *bind.Var) *stream {
	p, lf := b.g.p, st.step.leaf
	b.consume(lf)
	c := leafChild(s.root)
	var n Node
	single := false
	if lf.id != nil {
		n = &ByID{Base: p.base(st.made), Child: c, Entity: ent, Node: v.Slot, Hint: v.Hint, Start: NoSlot, End: NoSlot, ID: p.expr(lf.id), In: lf.idIn, Element: lf.elem}
		single = !lf.idIn
	} else {
		x := &IndexSeek{Base: p.base(st.made), Child: c, Entity: ent, Node: v.Slot, Hint: v.Hint, Start: NoSlot, End: NoSlot, Index: lf.ix.ID, IndexName: lf.ix.Name,
			Label: lf.ix.LabelName, Keys: lf.ix.KeyNames, In: lf.in, LowerInc: lf.lowerInc, UpperInc: lf.upperInc, Unique: lf.ix.Unique && len(lf.eq) == len(lf.ix.KeyNames)}
		for _, e := range lf.eq {
			x.Eq = append(x.Eq, p.expr(e))
		}
		x.Lower, x.Upper, x.Prefix = p.expr(lf.lower), p.expr(lf.upper), p.expr(lf.prefix)
		single = x.Unique && x.In < 0
		n = x
	}
	s = s.with(n)
	s.bound = clone(s.bound)
	s.bound.add(v.Slot)
	if !single {
		s.extend(v.Root.Slot)
	}
	return s
}

// missingIndex tells of an equality that an index would have served (rules D7).
func (b *builder) missingIndex(i int, lf *leaf) {
	g, p := b.g, b.g.p
	if lf.rows < 1000 || len(lf.labels) != 1 || !p.opt.on(RuleIndexSeek) {
		return
	}
	for _, t := range g.tests(&state{done: b.done}, g.vertex(i)) {
		if t.op == expr.OpEq && !p.hasIndex(lf.labels[0], []string{t.key}) { // with one, a hint asked for the scan
			v := g.nodes[i].v
			name := v.Name
			if v.Anon {
				name = "n"
			}
			pos, end := g.preds[t.pred].e.Span()
			p.notice("MissingIndex", "CREATE INDEX FOR (n:"+ident(lf.labels[0])+") ON (n."+ident(t.key)+")", pos, end,
				"all :%s nodes are read to find `%s` by `%s`: there is no index", lf.labels[0], name, t.key)
			return
		}
	}
}

// missingLabel tells of an equality that indexes would serve if a label said which of them.
func (b *builder) missingLabel(i int, lf *leaf) {
	g, p := b.g, b.g.p
	if p.cat.NodeCount(schema.NoLabel) < 1000 || !p.opt.on(RuleIndexSeek) || len(g.nodes[i].labels) > 0 {
		return
	}
	for _, t := range g.tests(&state{done: b.done}, g.vertex(i)) {
		if t.op != expr.OpEq {
			continue
		}
		var labels []string
		for _, ix := range p.indexes() {
			if ix.Entity == schema.Vertex && ix.KeyNames[0] == t.key && len(labels) < 3 && !contains(labels, ix.LabelName) {
				labels = append(labels, ix.LabelName)
			}
		}
		v := g.nodes[i].v
		name, hint := v.Name, "Give the node a label that has an index on "+ident(t.key)+"."
		if v.Anon {
			name = "n"
		}
		for k, l := range labels {
			labels[k] = ":" + ident(l)
		}
		if len(labels) > 0 {
			hint = "Give the node a label: indexes on " + ident(t.key) + " have " + strings.Join(labels, ", ") + "."
		}
		pos, end := g.preds[t.pred].e.Span()
		what := "all nodes are read to find `%s` by `%s`: without a label no index serves"
		if len(lf.but) > 0 {
			what = "every index on that key, and all nodes outside of them, are asked for `%s` by `%s`: a label would say which"
		}
		p.notice("MissingIndex", hint, pos, end, what, name, t.key)
		return
	}
}

// unique lists the relationships that relationship i must differ from.
func (b *builder) unique(i int) []Slot {
	g := b.g
	r := &g.rels[i]
	var out []Slot
	for _, j := range b.rels {
		if q := &g.rels[j]; q.group == r.group && g.coincide(q.Types, r.Types) {
			out = append(out, q.Var.Slot)
		}
	}
	for _, q := range g.prior {
		if q.group == r.group && g.coincide(q.types, r.Types) {
			out = append(out, q.slot)
		}
	}
	return out
}

func (g *graph) coincide(a, b []string) bool {
	return !g.p.opt.on(RuleTypeUnique) || overlap(a, b)
}

// solved records relationship i; test adds the uniqueness as a condition where the operator itself does not test it.
func (b *builder) solved(s *stream, i int, test bool) *stream {
	g, p := b.g, b.g.p
	if test {
		var preds []expr.Expr
		for _, j := range b.rels {
			if q := &g.rels[j]; q.group == g.rels[i].group && g.coincide(q.Types, g.rels[i].Types) {
				preds = append(preds, p.differ(q.Var, g.rels[i].Var))
			}
		}
		if len(preds) > 0 {
			s = s.with(&Filter{Base: p.base(s.est), Child: s.root, Preds: preds})
		}
	}
	b.rels = append(b.rels, i)
	return s
}

// differ is the condition that two relationships, or lists of them, share nothing.
func (p *planner) differ(a, b *bind.Var) expr.Expr {
	base := expr.Base{Pos: -1, End: -1, T: expr.TBool}
	if a.Kind == bind.RelListVar && b.Kind != bind.RelListVar {
		a, b = b, a
	}
	switch {
	case b.Kind != bind.RelListVar:
		return &expr.Binary{Base: base, Op: expr.OpNe, L: a.Col(-1, -1), R: b.Col(-1, -1)}
	case a.Kind != bind.RelListVar:
		return &expr.Unary{Base: base, Op: expr.OpNot, X: &expr.Binary{Base: base, Op: expr.OpIn, L: a.Col(-1, -1), R: b.Col(-1, -1)}}
	}
	slot, col := p.temp("r", expr.TRel)
	return &expr.Quantifier{Base: base, Kind: expr.NoneOf, Slot: slot, List: a.Col(-1, -1), Pred: &expr.Binary{Base: base, Op: expr.OpIn, L: col, R: b.Col(-1, -1)}}
}

func (b *builder) expand(s *stream, st *state) *stream {
	g, p := b.g, b.g.p
	r := &g.rels[st.step.i]
	from, to, dir := r.Left, r.Right, r.Dir
	if st.step.back {
		from, to = to, from
		if dir != store.Both {
			dir = 1 - dir
		}
	}
	into := st.step.kind == stepInto
	uniq := b.unique(st.step.i)
	hint := to.Hint
	if into {
		hint = NoSlot
	}
	s2 := s
	switch {
	case r.Sel != nil:
		return b.selection(s, st, uniq)
	case r.VarLen:
		n := &VarExpand{Base: p.base(st.made), Child: s.root, From: from.Slot, To: to.Slot, ToHint: hint, Rels: r.Var.Slot, Reversed: st.step.back, Types: r.Types, Dir: dir,
			Min: r.Min, Max: r.Max, Into: into, Unique: uniq, StepRel: NoSlot, StepNode: NoSlot, BoundRels: NoSlot}
		switch {
		case r.Iter != nil:
			n.Iter = p.iteration(r.Iter, st.step.back)
			if n.prune = g.prunable(r); n.prune {
				n.Dir, n.Iter = n.Iter.Hops[0].Dir, nil // nothing reads what a round is made of
			}
		default:
			if n.RelPred = p.and(r.StepPreds); r.Step != nil {
				n.StepRel = r.Step.Slot
			}
			n.prune = g.prunable(r) && stablePreds(r.StepPreds)
		}
		if r.Bound {
			n.BoundRels, n.Rels = r.Var.Slot, NoSlot
		}
		s2 = s.with(n)
		switch {
		case n.prune && !into:
			s2.extend(to.Root.Slot)
		case n.prune:
		default:
			s2.extend(r.Var.Root.Slot)
		}
	default:
		n := &Expand{Base: p.base(st.made), Child: s.root, From: from.Slot, To: to.Slot, ToHint: hint, Rel: r.Var.Slot, RelHint: r.Var.Hint, Types: r.Types, Dir: dir, Into: into, Unique: uniq}
		s2 = s.with(n)
		old := s.keys
		s2.extend(r.Var.Root.Slot)
		if dir != store.Both {
			// A directed relationship determines the vertex it was reached from.
			for _, k := range old {
				if len(k) == 1 && k[0] == from.Root.Slot {
					s2.keys = append(s2.keys, []int{r.Var.Root.Slot})
				}
			}
		}
	}
	s2.bound = clone(s.bound)
	s2.bound.add(to.Slot)
	for _, v := range r.Binds() {
		s2.bound.add(v.Slot)
	}
	return b.solved(s2, st.step.i, false)
}

func stablePreds(es []expr.Expr) bool {
	for _, e := range es {
		if !stable(e) {
			return false
		}
	}
	return true
}

func (p *planner) and(es []expr.Expr) expr.Expr {
	switch len(es) {
	case 0:
		return nil
	case 1:
		return p.expr(es[0])
	}
	a := &expr.And{Base: expr.Base{Pos: -1, End: -1, T: expr.TBool}}
	for _, e := range es {
		a.Args = append(a.Args, p.expr(e))
	}
	return a
}

// join adds a component that was planned alone.
func (b *builder) join(s *stream, st *state) *stream {
	g, p := b.g, b.g.p
	sub, right := b.apart(st.step.sub, st.step.keys) // what is joined on is not tested below
	if len(st.step.keys) == 0 {
		return b.beside(s, right, sub, &CartesianProduct{Base: p.base(st.made), Left: s.root, Right: right.root})
	}
	h := &HashJoin{Base: p.base(st.made), Left: s.root, Right: right.root, Kind: JoinInner}
	for _, i := range st.step.keys {
		l, r := g.joinKey(i, st.prev.done, st.step.sub.done)
		h.Keys = append(h.Keys, JoinKey{Left: p.expr(l), Right: p.expr(r)})
		b.used[i] = true
	}
	return b.beside(s, right, sub, h)
}

// filters tests the conditions that have become decidable. all: whatever is left.
func (b *builder) filters(s *stream, all bool) *stream {
	if !b.push && !all {
		return s
	}
	g := b.g
	var now []expr.Expr
	for i := range g.preds {
		pr := &g.preds[i]
		if b.used[i] || !all && !b.done.has(pr.need) {
			continue
		}
		if b.alone && !b.aloneDecidable(i) {
			continue
		}
		b.used[i] = true
		for _, pt := range g.paths {
			if !b.paths[pt] && reads(pr.e, pt.Var.Slot) {
				s = b.path(s, pt)
			}
		}
		now = append(now, pr.e)
	}
	if len(now) == 0 {
		return s
	}
	est := s.est
	s = g.p.filter(s, now)
	if !all {
		s.est = est // the search has counted the selectivity
		s.root.Info().Est = est
	}
	return s
}

func (b *builder) aloneDecidable(i int) bool {
	g := b.g
	if g.preds[i].need.empty() {
		return false
	}
	r := slotSet{}
	r.reads(g.preds[i].e)
	for x := range r.all() {
		if _, ok := g.bySlot[x]; !ok && !g.isHint(x) {
			return false
		}
	}
	return true
}

func reads(e expr.Expr, slot Slot) bool {
	r := slotSet{}
	r.reads(e)
	return r.has(slot)
}

func (b *builder) path(s *stream, pt *bind.PatPath) *stream {
	if b.paths[pt] {
		return s
	}
	b.paths[pt] = true
	return b.g.p.path(s, pt)
}

func (p *planner) path(s *stream, pt *bind.PatPath) *stream {
	n := &ProjectPath{Base: p.base(s.est), Child: s.root, Path: pt.Var.Slot}
	for i, part := range pt.Parts {
		pp := PathPart{Node: NoSlot, Rel: NoSlot, Rels: NoSlot}
		switch {
		case i%2 == 0:
			pp.Node = part.Var.Slot
		case part.List:
			pp.Rels = part.Var.Slot
		default:
			pp.Rel = part.Var.Slot
		}
		n.Parts = append(n.Parts, pp)
	}
	s = s.with(n)
	s.bound = clone(s.bound)
	s.bound.add(pt.Var.Slot)
	return s
}

// notePreds remembers the conditions of each variable, to be evaluated again behind a lock (rules A9).
func (g *graph) notePreds() {
	p := g.p
	if p.q.ReadOnly {
		return
	}
	for i := range g.preds {
		e := g.preds[i].e
		if hasSubplan(e) || !stable(e) {
			continue
		}
		for x := range g.bySlot {
			if t := g.bySlot[x]; !t.empty() && g.preds[i].need.has(t) && reads(e, x) {
				p.preds[x] = append(p.preds[x], e)
			}
		}
	}
	// Inside a path with a selector a variable may have conditions of its own.
	for i := range g.rels {
		if g.rels[i].Sel == nil {
			continue
		}
		for _, e := range g.rels[i].Sel.Pattern.Preds {
			for _, v := range g.rels[i].Binds() {
				if !hasSubplan(e) && stable(e) && reads(e, v.Slot) {
					p.preds[v.Slot] = append(p.preds[v.Slot], e)
				}
			}
		}
	}
}

// optional plans OPTIONAL MATCH.
func (p *planner) optional(s *stream, m *bind.Match, dup bool) *stream {
	var fresh []*bind.Var
	for _, n := range m.Pattern.Nodes {
		if !s.bound.has(n.Var.Slot) {
			fresh = append(fresh, n.Var)
		}
	}
	for _, r := range m.Pattern.Rels {
		for _, v := range r.Binds() {
			if !s.bound.has(v.Slot) {
				fresh = append(fresh, v)
			}
		}
	}
	for _, pt := range m.Pattern.Paths {
		fresh = append(fresh, pt.Var)
	}
	finish := func(out *stream) *stream {
		out.bound = clone(s.bound)
		for _, v := range fresh {
			out.bound.add(v.Slot)
			out.extend(v.Root.Slot)
			p.opts.add(v.Slot)
		}
		return out
	}
	if n := p.optionalExpand(s, m); n != nil {
		out := s.with(n)
		out.est = max(s.est, n.Est)
		return finish(out)
	}
	rowID := p.slot("row", RowID)
	arg := &Argument{Base: p.base(1), RowID: rowID}
	in := &stream{root: arg, bound: clone(s.bound), est: 1, keys: [][]int{{}}, one: true, batch: true}
	leave := p.enter(rowID)
	right := p.pattern(in, []*bind.Match{m}, dup)
	leave()
	n := &Apply{Base: p.base(max(s.est, s.est*right.est)), Left: s.root, Right: right.root, Kind: Optional, RowID: rowID, Opens: -1, Slot: NoSlot, From: NoSlot}
	for _, v := range fresh {
		n.Nulls = append(n.Nulls, v.Slot)
	}
	out := s.with(n)
	out.est = n.Est
	return finish(out)
}

// optionalExpand recognises the one-hop OPTIONAL MATCH.
func (p *planner) optionalExpand(s *stream, m *bind.Match) *Expand {
	pt := &m.Pattern
	if !p.opt.on(RuleOptionalExpand) || len(pt.Rels) != 1 || len(pt.Paths) > 0 {
		return nil
	}
	r := pt.Rels[0]
	if r.VarLen || r.Bound || s.bound.has(r.Var.Slot) {
		return nil
	}
	for _, n := range pt.Nodes {
		if n.Var != r.Left && n.Var != r.Right {
			return nil
		}
	}
	preds := p.conjuncts(append(append([]expr.Expr(nil), pt.Preds...), m.Where...))
	for _, e := range preds {
		if hasSubplan(e) {
			return nil
		}
	}
	lb, rb := s.bound.has(r.Left.Slot), s.bound.has(r.Right.Slot)
	from, to, dir := r.Left, r.Right, r.Dir
	switch {
	case !lb && !rb:
		return nil
	case !lb:
		from, to = to, from
		if dir != store.Both {
			dir = 1 - dir
		}
	}
	g := p.graph(s, []*bind.Match{m}, nil)
	d := g.degree(nil, &g.rels[0], indexOf(g, from), from == r.Left)
	n := &Expand{Base: p.base(max(s.est, s.est*d)), Child: s.root, From: from.Slot, To: to.Slot, ToHint: to.Hint, Rel: r.Var.Slot, RelHint: r.Var.Hint, Types: r.Types, Dir: dir,
		Into: lb && rb, Optional: true}
	if n.Into {
		n.ToHint = NoSlot
	}
	p.sortPreds(preds)
	n.Pred = p.and(preds)
	return n
}

func indexOf(g *graph, v *bind.Var) int {
	for i := range g.nodes {
		if g.nodes[i].v == v {
			return i
		}
	}
	return 0
}

// countStore recognises MATCH (n:L) RETURN count(*) and MATCH ()-[:T]->() RETURN count(*).
func (p *planner) countStore(s *stream, group []*bind.Match, rest []bind.Clause) (*stream, bool) {
	if !p.opt.on(RuleCountStore) || len(group) != 1 || group[0].Optional || !s.one || p.part != NoSlot || len(rest) == 0 || !p.q.ReadOnly {
		return nil, false
	}
	if _, ok := s.root.(*SingleRow); !ok {
		return nil, false
	}
	pr, ok := rest[0].(*bind.Projection)
	if !ok || !pr.Agg || len(pr.Keys) > 0 || len(pr.Aggs) != 1 || pr.Distinct {
		return nil, false
	}
	call, pt := pr.Aggs[0].Call, &group[0].Pattern
	if strings.ToLower(call.Def.Name) != "count" || len(pt.Paths) > 0 || len(group[0].Where) > 0 || len(group[0].Hints) > 0 {
		return nil, false
	}
	var what *bind.Var
	n := &CountStore{Out1: pr.Aggs[0].Slot}
	preds := pt.Preds
	switch {
	case len(pt.Nodes) == 1 && len(pt.Rels) == 0:
		what = pt.Nodes[0].Var
		if len(preds) > 1 {
			return nil, false
		}
		if len(preds) == 1 {
			h, ok := preds[0].(*expr.HasLabels)
			if !ok || len(h.Labels) != 1 {
				return nil, false
			}
			n.Label = h.Labels[0]
		}
	case len(pt.Rels) == 1 && len(pt.Nodes) == 2 && len(preds) == 0:
		r := pt.Rels[0]
		if r.VarLen || r.Bound || len(r.Types) > 1 {
			return nil, false
		}
		what, n.Entity, n.Both = r.Var, schema.Edge, r.Dir == store.Both
		if len(r.Types) == 1 {
			n.Label = r.Types[0]
		}
	default:
		return nil, false
	}
	if len(call.Args) == 1 {
		c, ok := call.Args[0].(*expr.Col)
		if !ok || c.Slot != what.Slot || call.Distinct && n.Entity == schema.Edge && n.Both {
			return nil, false
		}
	} else if call.Distinct {
		return nil, false
	}
	n.Base = p.base(1)
	out := s.with(n)
	out.bound = setOf([]Slot{n.Out1})
	// The rest of the projection runs over the single row.
	rest2 := *pr
	rest2.Agg, rest2.Aggs = false, nil
	return p.projection(out, &rest2), true
}

// csvRows is the guess of how many records a file has: nobody knows before it is read.
const csvRows = 1000

func (p *planner) loadCSV(s *stream, c *bind.LoadCSV) *stream {
	n := &LoadCSV{Child: s.root, From: p.expr(c.From), Headers: c.Headers, Terminator: c.Terminator, Var: c.Var.Slot, Line: c.Line.Slot, File: c.File.Slot}
	n.Base = p.base(s.est * csvRows)
	s = s.with(n)
	s.est *= csvRows
	s.keys = nil
	s.bound = clone(s.bound)
	s.bound.add(n.Var, n.Line, n.File)
	return s
}
