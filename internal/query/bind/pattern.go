package bind

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

func (p *part) match(c *cypher.Match) {
	m := &Match{Place: place(c), Optional: c.Optional}
	if c.Mode == cypher.RepeatableElements {
		p.b.failHint(dberr.FeatureNotSupported, "", c, "Leave the match mode out, or write DIFFERENT RELATIONSHIPS.",
			"the match mode REPEATABLE ELEMENTS is not part of Cypher 5: a relationship occurs once in a match")
	}
	pb := p.b.pattern(p.sc, &m.Pattern, patMatch)
	pb.bind(c.Patterns)
	p.sc = pb.sc
	m.Where = pb.steer(p.b.predicate(p.b.ectx(p.sc, "WHERE"), c.Where))
	for _, h := range c.Hints {
		if h.Kind == cypher.HintJoin {
			for _, id := range h.Vars {
				v := p.sc.find(id.Name)
				if v == nil {
					p.b.undefined(p.sc, id, id.Name)
				}
				m.Hints = append(m.Hints, Hint{Var: v, Join: true, Pos: id.Pos(), End: id.End()})
			}
			continue
		}
		v := p.sc.find(h.Vars[0].Name)
		if v == nil {
			p.b.undefined(p.sc, h.Vars[0], h.Vars[0].Name)
		}
		hint := Hint{Var: v, Pos: h.Vars[0].Pos(), End: h.Vars[0].End()}
		if h.Label != nil {
			hint.Label = h.Label.Name
		}
		for _, k := range h.Keys {
			hint.Keys = append(hint.Keys, k.Name)
		}
		m.Hints = append(m.Hints, hint)
	}
	p.add(m)
}

// patUse is what a pattern is for.
type patUse uint8

const (
	patMatch     patUse = iota
	patMerge            // MERGE: variables may be new, parameters as maps are refused
	patPredicate        // a pattern predicate: no new names
)

// patBinder binds the patterns of one clause. Variables are declared first and conditions bound after, so that a condition may read any
// variable of its clause.
type patBinder struct {
	b       *binder
	sc      *scope
	before  *scope // what was bound before the clause
	out     *Pattern
	use     patUse
	later   []func()
	fresh   []*Var
	steered []*PatRel     // of shortestPath() and allShortestPaths()
	singles map[*Var]bool // single relationships of this clause
}

func (b *binder) pattern(sc *scope, out *Pattern, use patUse) *patBinder {
	return &patBinder{b: b, sc: sc.clone(), before: sc, out: out, use: use, singles: map[*Var]bool{}}
}

func (p *patBinder) bind(paths []*cypher.Path) {
	for _, path := range paths {
		if len(paths) > 1 && path.Selector.Kind != cypher.SelectAll {
			p.b.failHint(dberr.Syntax, "InvalidRelationshipPattern", &path.Selector, "Write the other patterns in a MATCH of their own.",
				"multiple path patterns cannot be used in the same clause in combination with a selective path pattern")
		}
		p.path(path)
	}
	for _, f := range p.later {
		f()
	}
}

func (p *patBinder) declare(v *Var) {
	p.sc.add(v)
	p.fresh = append(p.fresh, v)
}

// node binds a vertex of the pattern out.
func (p *patBinder) node(el *cypher.NodePattern, out *Pattern) *Var {
	b := p.b
	var v *Var
	if el.Var == nil {
		v = p.anonNode(el.Pos(), out)
	} else {
		v = p.sc.find(el.Var.Name)
		switch {
		case v == nil && p.use == patPredicate:
			b.undefined(p.sc, el.Var, el.Var.Name)
		case v == nil:
			v = b.newVar(el.Var.Name, NodeVar, notNullIf(expr.TNode, false), el.Var.Pos())
			p.declare(v)
			out.Nodes = append(out.Nodes, &PatNode{Var: v})
		default:
			p.mustBe(v, el.Var, expr.TNode, "a Node")
			if !hasNode(out, v) {
				out.Nodes = append(out.Nodes, &PatNode{Var: v, Bound: true})
			}
		}
	}
	p.later = append(p.later, func() { p.nodePreds(b.ectx(p.sc, p.clause()), el, v, &out.Preds) })
	return v
}

// nodePreds adds the conditions written in a vertex.
func (p *patBinder) nodePreds(c ectx, el *cypher.NodePattern, v *Var, dst *[]expr.Expr) {
	x := v.Col(el.Pos(), el.End())
	if el.Labels != nil {
		*dst = append(*dst, splitLabels(p.b.labelExpr(c, x, el.Labels, false))...)
	}
	p.props(c, x, el.Props, el.Exact, dst)
	*dst = append(*dst, p.b.predicate(c, el.Where)...)
}

func (p *patBinder) anonNode(pos int, out *Pattern) *Var {
	v := p.b.newAnon(NodeVar, expr.TNode, pos)
	p.declare(v)
	out.Nodes = append(out.Nodes, &PatNode{Var: v})
	return v
}

func notNullIf(t expr.Type, nn bool) expr.Type { t.NotNull = nn; return t }

func (p *patBinder) clause() string {
	if p.use == patMerge {
		return "MERGE"
	}
	return "MATCH"
}

// mustBe refuses a variable that was bound as something else.
func (p *patBinder) mustBe(v *Var, n spanned, want expr.Type, what string) {
	if v.Kind == PathVar {
		p.b.fail(dberr.DatatypeMismatch, "VariableTypeConflict", n, "variable `%s` is a Path, not %s", v.Name, what)
	}
	if v.Kind == RelListVar || !v.Type.May(want.Kinds) {
		p.b.fail(dberr.DatatypeMismatch, "VariableTypeConflict", n, "variable `%s` is %s, not %s", v.Name, v.Type, what)
	}
}

func hasNode(out *Pattern, v *Var) bool {
	for _, n := range out.Nodes {
		if n.Var == v {
			return true
		}
	}
	return false
}

func direction(d cypher.Direction) Dir {
	switch d {
	case cypher.Right:
		return store.Out
	case cypher.Left:
		return store.In
	}
	return store.Both
}

// rel binds a relationship of the pattern out.
func (p *patBinder) rel(el *cypher.RelPattern, left, right *Var, out *Pattern) *PatRel {
	b := p.b
	r := &PatRel{Left: left, Right: right, Pos: el.Pos(), End: el.End(), Dir: direction(el.Dir)}
	rng := el.Range
	if rng == nil {
		rng = el.Quant
	}
	if rng != nil {
		r.VarLen, r.Min, r.Max = true, clampLen(rng.Min), clampLen(rng.Max)
		if rng.Max < 0 {
			r.Max = -1
		}
	}
	types, typePred := p.types(el.Types)
	r.Types = types
	kind, typ, what := RelVar, expr.TRel, "a Relationship"
	if r.VarLen {
		kind, typ, what = RelListVar, expr.ListOf(expr.TRel), "a List of Relationships"
	}
	switch {
	case el.Var == nil:
		r.Var = b.newAnon(kind, typ, el.Pos())
		p.declare(r.Var)
	default:
		v := p.sc.find(el.Var.Name)
		switch {
		case v == nil && p.use == patPredicate:
			b.undefined(p.sc, el.Var, el.Var.Name)
		case v == nil:
			v = b.newVar(el.Var.Name, kind, typ, el.Var.Pos())
			p.declare(v)
		default:
			p.oldRel(v, el, r.VarLen, typ, what)
			r.Bound = true
		}
		r.Var = v
	}
	p.singles[r.Var] = true
	if typePred || el.Props != nil || el.Where != nil {
		if r.VarLen {
			r.Step = b.newAnon(RelVar, expr.TRel, el.Pos())
		}
	}
	out.Rels = append(out.Rels, r)
	p.later = append(p.later, func() {
		c := b.ectx(p.sc, p.clause())
		dst, x := &out.Preds, r.Var.Col(el.Pos(), el.End())
		if r.VarLen {
			dst = &r.StepPreds
			if r.Step != nil {
				x = r.Step.Col(el.Pos(), el.End())
				if el.Quant != nil && el.Var != nil {
					// Inside a quantified relationship its variable is the single relationship.
					in := newScope(p.sc)
					step := *r.Step
					step.Name, step.Anon = el.Var.Name, false
					in.add(&step)
					c.sc = in
				}
			}
		}
		if typePred {
			*dst = append(*dst, b.labelExpr(c, x, el.Types, true))
		}
		p.props(c, x, el.Props, el.Exact, dst)
		if el.Where != nil {
			if r.VarLen && el.Quant == nil {
				b.fail(dberr.Syntax, "InvalidRelationshipPattern", el.Where, "WHERE is not allowed inside a variable-length relationship")
			}
			*dst = append(*dst, b.predicate(c, el.Where)...)
		}
	})
	return r
}

// maxLen bounds a written length: no trail is longer.
const maxLen = 1 << 30

func clampLen(n int64) int {
	if n > maxLen {
		return maxLen
	}
	return int(n)
}

// oldRel checks a relationship variable that exists.
func (p *patBinder) oldRel(v *Var, el *cypher.RelPattern, varLen bool, typ expr.Type, what string) {
	b := p.b
	if p.before.vars.get(v.Name) != v && p.sc.vars.get(v.Name) == v {
		// Introduced by this clause.
		if p.singles[v] && (v.Kind == RelVar) == !varLen {
			b.fail(dberr.Syntax, "RelationshipUniquenessViolation", el.Var, "relationship `%s` cannot be used twice in one pattern", v.Name)
		}
		p.mustBeRel(v, el, varLen, typ, what)
		return
	}
	if p.use == patMerge {
		b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", el.Var, "variable `%s` is already defined", v.Name)
	}
	if p.singles[v] {
		b.fail(dberr.Syntax, "RelationshipUniquenessViolation", el.Var, "relationship `%s` cannot be used twice in one pattern", v.Name)
	}
	p.mustBeRel(v, el, varLen, typ, what)
}

func (p *patBinder) mustBeRel(v *Var, el *cypher.RelPattern, varLen bool, typ expr.Type, what string) {
	conflict := v.Kind == PathVar || v.Kind == NodeVar || !v.Type.May(typ.Kinds)
	if varLen && v.Type.Is(expr.TList.Kinds) && v.Type.Elem != nil && !v.Type.Elem.May(expr.TRel.Kinds) {
		conflict = true
	}
	if conflict {
		p.b.fail(dberr.DatatypeMismatch, "VariableTypeConflict", el.Var, "variable `%s` is %s, not %s", v.Name, v.Type, what)
	}
}

// types reads the types of a relationship: a plain list of alternatives, or (second result) an expression that must be tested.
func (p *patBinder) types(l cypher.LabelExpr) ([]string, bool) {
	switch l := l.(type) {
	case nil:
		return nil, false
	case *cypher.LabelName:
		if l.Dynamic != nil {
			return nil, true
		}
		return []string{l.Name}, false
	case *cypher.LabelAny:
		return nil, false
	case *cypher.LabelOr:
		if names, ok := labelNames(l.Terms); ok {
			return uniq(names), false
		}
	case *cypher.LabelAnd:
		if names, ok := labelNames(l.Terms); ok && len(uniq(names)) == 1 {
			return uniq(names), false
		}
	}
	return nil, true
}

func uniq(names []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

// splitLabels makes one condition per label of a conjunction, so that each may choose a scan or an index.
func splitLabels(x expr.Expr) []expr.Expr {
	if h, ok := x.(*expr.HasLabels); ok && !h.Any && len(h.Labels) > 1 {
		var out []expr.Expr
		for _, l := range uniq(h.Labels) {
			c := *h
			c.Labels = []string{l}
			out = append(out, &c)
		}
		return out
	}
	return conjuncts(x, nil)
}

// props turns the property map of a pattern into equalities.
func (p *patBinder) props(c ectx, x *expr.Col, m cypher.Expr, exact bool, dst *[]expr.Expr) {
	b := p.b
	switch m := m.(type) {
	case nil:
		return
	case *cypher.Param:
		if !b.opts.AGE || p.use == patMerge {
			b.fail(dberr.Syntax, "InvalidParameterUse", m, "a parameter cannot be the property map of a pattern in %s; name each key: {key: $%s.key}", p.clause(), m.Name)
		}
		// AGE: equality per key of the parameter (rules C8).
		par := &expr.Param{Base: at(m, expr.Any), Name: m.Name, Index: b.param(m.Name)}
		k := b.newAnon(ValueVar, expr.TString, m.Pos())
		k.Lambda = true
		kc := k.Col(m.Pos(), m.End())
		eq := &expr.Binary{Base: at(m, expr.TBool), Op: expr.OpEq, L: &expr.Index{Base: at(m, expr.Any), X: x, I: kc}, R: &expr.Index{Base: at(m, expr.Any), X: par, I: kc}}
		*dst = append(*dst, &expr.Quantifier{Base: at(m, expr.TBool), Kind: expr.All, Slot: k.Slot, List: b.call(m, "keys", par), Pred: eq})
		return
	case *cypher.MapLit:
		keys, vals := b.mapEntries(c, m)
		for i, k := range keys {
			pos := spanOf(vals[i], m)
			prop := &expr.Prop{Base: at(pos, expr.Any), Of: x, Key: k}
			*dst = append(*dst, &expr.Binary{Base: at(pos, expr.TBool), Op: expr.OpEq, L: prop, R: vals[i]})
			if kc, ok := vals[i].(*expr.Const); ok && kc.V.IsNull() && p.use != patMerge {
				b.notice("NullComparison", pos, "Use IS NULL in WHERE.", "a comparison with null is never true")
			}
		}
		if exact {
			n := b.call(m, "size", b.call(m, "keys", x))
			*dst = append(*dst, &expr.Binary{Base: at(m, expr.TBool), Op: expr.OpEq, L: n, R: &expr.Const{Base: at(m, expr.TInt), V: value.NewInt(int64(len(keys)))}})
		}
	default:
		b.fail(dberr.Syntax, "UnexpectedSyntax", m, "a pattern's properties must be a map")
	}
}

type span struct{ pos, end int }

func (s span) Pos() int { return s.pos }
func (s span) End() int { return s.end }

func spanOf(x expr.Expr, or spanned) spanned {
	if p, e := x.Span(); p >= 0 {
		return span{p, e}
	}
	return or
}

// ---- patterns and subqueries as expressions ----

func (b *binder) sub(sc *scope) (*scope, *frame) {
	f := &frame{}
	in := newScope(sc)
	in.frame = f
	return in, f
}

// subplan wraps a bound subquery. What it reads of outer rows crosses the borders of subqueries around it too: find noted that already.
func subplan(n spanned, t expr.Type, kind expr.SubplanKind, q *Query, f *frame, from *Var, pattern bool) *expr.Subplan {
	s := &Subquery{Query: q, From: from, Free: f.free, Lambda: f.lambda, Pattern: pattern, Pos: n.Pos(), End: n.End()}
	out := &expr.Subplan{Base: at(n, t), Kind: kind, Plan: s}
	for _, v := range f.free {
		out.Free = append(out.Free, v.Slot)
		if v.Hint != expr.NoSlot {
			out.Free = append(out.Free, v.Hint)
		}
	}
	return out
}

func (b *binder) patternExpr(c ectx, e *cypher.PatternExpr) expr.Expr {
	if e.Pattern.Shortest != cypher.NoShortest {
		return b.shortestExpr(c, e)
	}
	if !c.pred {
		b.fail(dberr.Syntax, "UnexpectedSyntax", e, "a pattern can only be used as a condition here; use EXISTS { } or a pattern comprehension")
	}
	if len(e.Pattern.Elements) == 1 {
		// (n) alone is no pattern but a variable in parentheses.
		if n, ok := e.Pattern.Elements[0].(*cypher.NodePattern); ok && n.Var != nil {
			x := b.variable(c, n.Var, n.Var.Name)
			b.wantBool(x, n)
			return x
		}
	}
	b.plainPath(e.Pattern, "a pattern predicate")
	in, f := b.sub(c.sc)
	m := &Match{Place: Place{Name: "MATCH", Pos: e.Pos(), End: e.End()}}
	pb := b.pattern(in, &m.Pattern, patPredicate)
	pb.bind([]*cypher.Path{e.Pattern})
	return subplan(e, notNull(expr.TBool), expr.SubExists, &Query{Parts: []*Part{{Clauses: []Clause{m}}}}, f, nil, true)
}

func (b *binder) patternComp(c ectx, e *cypher.PatternComp) expr.Expr {
	b.plainPath(e.Pattern, "a pattern comprehension")
	in, f := b.sub(c.sc)
	m := &Match{Place: Place{Name: "MATCH", Pos: e.Pos(), End: e.End()}}
	pb := b.pattern(in, &m.Pattern, patMatch)
	pb.bind([]*cypher.Path{e.Pattern})
	ic := ectx{sc: pb.sc, where: c.where}
	m.Where = pb.steer(b.predicate(ic, e.Where))
	x := b.expr(ic, e.Map)
	return b.collectOne(e, m, x, f)
}

// collectOne makes COLLECT of one expression over one MATCH.
func (b *binder) collectOne(n spanned, m *Match, x expr.Expr, f *frame) *expr.Subplan {
	v := b.newAnon(ValueVar, x.Type(), n.Pos())
	v.Plain = b.plain(x)
	pr := &Projection{Place: Place{Name: "RETURN", Pos: n.Pos(), End: n.End()}, Return: true, Items: []Item{{Var: v, Expr: x, Name: v.Name}}}
	q := &Query{Parts: []*Part{{Clauses: []Clause{m, pr}, Out: []*Var{v}}}, Columns: []string{v.Name}, Cols: []*Var{v}}
	return subplan(n, notNull(expr.ListOf(x.Type())), expr.SubCollect, q, f, v, true)
}

// shortestExpr binds shortestPath() and allShortestPaths() as values: the path or null, or the list of paths.
func (b *binder) shortestExpr(c ectx, e *cypher.PatternExpr) expr.Expr {
	in, f := b.sub(c.sc)
	m := &Match{Place: Place{Name: "MATCH", Pos: e.Pos(), End: e.End()}}
	pb := b.pattern(in, &m.Pattern, patMatch)
	path := *e.Pattern
	name := path.Var
	if name == nil {
		name = &cypher.Ident{Span: e.Span, Name: " path"}
	}
	path.Var = name
	pb.bind([]*cypher.Path{&path})
	for _, n := range m.Pattern.Nodes {
		if !n.Bound {
			b.fail(dberr.Syntax, "UnexpectedSyntax", e, "both ends of a shortest path must be bound before it is used as an expression")
		}
	}
	v := pb.sc.find(name.Name)
	s := b.collectOne(e, m, v.Col(e.Pos(), e.End()), f)
	if e.Pattern.Shortest == cypher.AllShortestPaths {
		return s
	}
	return b.call(e, "head", s)
}

func (b *binder) subqueryExpr(c ectx, e *cypher.SubqueryExpr) expr.Expr {
	in, f := b.sub(c.sc)
	kind, t := expr.SubExists, notNull(expr.TBool)
	switch e.Kind {
	case cypher.CountSubquery:
		kind, t = expr.SubCount, notNull(expr.TInt)
	case cypher.CollectSubquery:
		kind = expr.SubCollect
	}
	var q *Query
	if e.Query != nil {
		k := queryExists
		if kind == expr.SubCollect {
			k = queryCollect
		}
		q = b.query(in, e.Query, k)
	} else {
		m := &Match{Place: Place{Name: "MATCH", Pos: e.Pos(), End: e.End()}}
		pb := b.pattern(in, &m.Pattern, patMatch)
		pb.bind(e.Patterns)
		m.Where = pb.steer(b.predicate(b.ectx(pb.sc, "WHERE"), e.Where))
		q = &Query{Parts: []*Part{{Clauses: []Clause{m}}}}
	}
	var from *Var
	if kind == expr.SubCollect {
		if len(q.Cols) != 1 {
			b.fail(dberr.Syntax, "InvalidClauseComposition", e, "COLLECT { } must return exactly one column")
		}
		from = q.Cols[0]
		t = notNull(expr.ListOf(from.Type))
	}
	return subplan(e, t, kind, q, f, from, false)
}
