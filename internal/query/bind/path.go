package bind

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// path binds one path pattern of a clause: what it is made of, and which of its matches are wanted.
func (p *patBinder) path(path *cypher.Path) {
	b := p.b
	elems, where, id := p.unwrap(path)
	sel := p.selection(path, elems)
	if id != nil && p.use == patPredicate {
		b.undefined(p.sc, id, id.Name)
	}
	if id != nil && p.sc.has(id.Name) {
		b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", id, "variable `%s` is already defined", id.Name)
	}
	var pathVar *Var
	if id != nil {
		pathVar = b.newVar(id.Name, PathVar, expr.TPath, id.Pos())
	}
	c := chain{p: p, out: p.out}
	if sel != nil {
		c.out = &sel.Pattern
	}
	for _, el := range elems {
		c.add(el)
	}
	c.finish(path.End())
	if pathVar != nil {
		if p.sc.has(pathVar.Name) {
			b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", id, "variable `%s` is already defined", pathVar.Name)
		}
		p.declare(pathVar)
	}
	if where != nil {
		p.later = append(p.later, func() {
			c.out.Preds = append(c.out.Preds, b.predicate(b.ectx(p.sc, "MATCH"), where)...)
		})
	}
	switch {
	case sel != nil:
		if pathVar == nil {
			pathVar = b.newAnon(PathVar, expr.TPath, path.Pos())
		}
		sel.Path = pathVar
		sel.Pattern.Paths = []*PatPath{{Var: pathVar, Parts: c.parts}}
		p.selected(path, sel, c.parts)
	case pathVar != nil:
		p.out.Paths = append(p.out.Paths, &PatPath{Var: pathVar, Parts: c.parts})
	}
}

// unwrap takes off the parentheses around a whole path.
func (p *patBinder) unwrap(path *cypher.Path) (elems []cypher.Element, where cypher.Expr, id *cypher.Ident) {
	elems, id = path.Elements, path.Var
	for len(elems) == 1 {
		s, ok := elems[0].(*cypher.SubPath)
		if !ok || s.Quant != nil {
			return
		}
		if s.Var != nil && id != nil {
			p.b.fail(dberr.Syntax, "UnexpectedSyntax", s.Var, "the path has two names, `%s` and `%s`", id.Name, s.Var.Name)
		}
		if s.Var != nil {
			id = s.Var
		}
		if s.Where != nil && where != nil {
			p.b.fail(dberr.Syntax, "UnexpectedSyntax", s.Where, "a path has one WHERE inside its parentheses; join the conditions by AND")
		}
		if s.Where != nil {
			where = s.Where
		}
		elems = s.Elements
	}
	return
}

// selection reads the selector or function of a path; nil if all its matches are wanted.
func (p *patBinder) selection(path *cypher.Path, elems []cypher.Element) *Selection {
	b := p.b
	sel := &Selection{}
	if path.Shortest != cypher.NoShortest {
		name := "shortestPath(...)"
		sel.Kind = SelectPaths
		if path.Shortest == cypher.AllShortestPaths {
			sel.Kind, name = SelectGroups, "allShortestPaths(...)"
		}
		p.shortestShape(path, elems, name)
		return sel
	}
	switch path.Selector.Kind {
	case cypher.SelectAll:
		return nil
	case cypher.SelectAny:
		sel.Kind = SelectAny
	case cypher.SelectAnyShortest, cypher.SelectShortest:
		sel.Kind = SelectPaths
	case cypher.SelectAllShortest, cypher.SelectShortestGroups:
		sel.Kind = SelectGroups
	}
	switch n := path.Selector.Count.(type) {
	case *cypher.IntLit:
		if n.Value < 1 {
			b.fail(dberr.Syntax, "NegativeIntegerArgument", n, "the number of paths or groups behind a selector must be greater than 0")
		}
		if n.Value > 1 {
			sel.Count = &expr.Const{Base: at(n, notNull(expr.TInt)), V: value.NewInt(n.Value)}
		}
	case *cypher.Param:
		sel.Count = &expr.Param{Base: at(n, expr.Any), Name: n.Name, Index: b.param(n.Name)}
	}
	return sel
}

// shortestShape checks the pattern in shortestPath(): one relationship, of a least length of 0 or 1.
func (p *patBinder) shortestShape(path *cypher.Path, elems []cypher.Element, name string) {
	b := p.b
	if path.Selector.Kind != cypher.SelectAll {
		b.fail(dberr.Syntax, "InvalidRelationshipPattern", &path.Selector, "a path selector and %s cannot be combined", name)
	}
	for _, el := range elems {
		if s, ok := el.(*cypher.SubPath); ok {
			b.fail(dberr.Syntax, "InvalidRelationshipPattern", s, "%s cannot hold a quantified path pattern; write ANY SHORTEST or ALL SHORTEST instead", name)
		}
	}
	var rel *cypher.RelPattern
	if len(elems) == 3 {
		rel, _ = elems[1].(*cypher.RelPattern)
	}
	switch {
	case rel == nil:
		b.fail(dberr.Syntax, "InvalidRelationshipPattern", path, "%s requires a pattern containing a single relationship", name)
	case rel.Quant != nil:
		b.fail(dberr.Syntax, "InvalidRelationshipPattern", rel, "%s cannot hold a quantified relationship; write its length in the brackets, or ANY SHORTEST", name)
	case rel.Range != nil && rel.Range.Min > 1:
		b.fail(dberr.Syntax, "InvalidRelationshipPattern", rel.Range, "%s does not support a minimal length different from 0 or 1", name)
	}
}

// chain is a path pattern under construction: vertices, and what joins them.
type chain struct {
	p     *patBinder
	out   *Pattern
	parts []PathPart
	left  *Var
	rel   *cypher.RelPattern // waits for the vertex behind it
	quant *cypher.SubPath    // likewise
}

func (c *chain) add(el cypher.Element) {
	switch el := el.(type) {
	case *cypher.NodePattern:
		c.node(c.p.node(el, c.out))
	case *cypher.RelPattern:
		c.rel = el
	case *cypher.SubPath:
		switch {
		case el.Quant == nil:
			c.p.b.failHint(dberr.Syntax, "InvalidRelationshipPattern", el, "Leave the parentheses out, or put a quantifier behind them.",
				"a parenthesised path pattern beside other parts of a path needs a quantifier")
		case c.p.use != patMatch:
			c.p.b.fail(dberr.Syntax, "CreatingVarLength", el, "a quantified path pattern cannot be used in %s", c.p.clause())
		case c.left == nil || c.quant != nil:
			// Between two quantified patterns, and before the first, stands a vertex that was not written.
			c.node(c.p.anonNode(el.Pos(), c.out))
		}
		c.quant = el
	}
}

// node ends what waits for a vertex.
func (c *chain) node(v *Var) {
	var r *PatRel
	switch {
	case c.rel != nil:
		r = c.p.rel(c.rel, c.left, v, c.out)
	case c.quant != nil:
		r = c.p.quantified(c.quant, c.left, v, c.out)
	}
	if r != nil {
		c.parts = append(c.parts, PathPart{Var: r.Var, List: r.VarLen})
	}
	c.parts = append(c.parts, PathPart{Var: v})
	c.left, c.rel, c.quant = v, nil, nil
}

func (c *chain) finish(end int) {
	if c.quant != nil {
		c.node(c.p.anonNode(end, c.out))
	}
}

// quantified binds a quantified path pattern. Inside it a variable is a single element; outside it is the list of them.
func (p *patBinder) quantified(el *cypher.SubPath, left, right *Var, out *Pattern) *PatRel {
	b := p.b
	if el.Var != nil {
		b.fail(dberr.Syntax, "UnexpectedSyntax", el.Var, "assigning a path in a quantified path pattern is not supported; name the whole path")
	}
	r := &PatRel{Left: left, Right: right, Pos: el.Pos(), End: el.End(), VarLen: true, Min: clampLen(el.Quant.Min), Max: clampLen(el.Quant.Max)}
	if el.Quant.Max < 0 {
		r.Max = -1
	}
	r.Var = b.newAnon(RelListVar, expr.ListOf(expr.TRel), el.Pos())
	p.declare(r.Var)
	in := newScope(p.before)
	in.same = p.sc
	it := &Iteration{}
	r.Iter = it
	q := iteration{p: p, it: it, sc: in}
	for _, x := range el.Elements {
		q.add(x)
	}
	if len(it.Hops) == 0 {
		b.fail(dberr.Syntax, "InvalidRelationshipPattern", el, "a quantified path pattern needs to have at least one relationship")
	}
	r.Types = unionTypes(len(it.Hops), func(i int) []string { return it.Hops[i].Types })
	out.Rels = append(out.Rels, r)
	p.later = append(p.later, func() {
		c := b.ectx(in, "MATCH")
		for _, f := range q.preds {
			f(c)
		}
		it.Preds = append(it.Preds, b.predicate(c, el.Where)...)
	})
	return r
}

// unionTypes joins the types of n relationships; nil if one of them may be of any.
func unionTypes(n int, of func(int) []string) []string {
	var all []string
	for i := range n {
		t := of(i)
		if len(t) == 0 {
			return nil
		}
		all = append(all, t...)
	}
	return uniq(all)
}

// iteration binds the inside of a quantified path pattern.
type iteration struct {
	p     *patBinder
	it    *Iteration
	sc    *scope
	preds []func(ectx) // bind conditions once all variables are known
}

func (q *iteration) add(el cypher.Element) {
	b, it := q.p.b, q.it
	switch el := el.(type) {
	case *cypher.NodePattern:
		at := len(it.Nodes)
		v := q.variable(el.Var, NodeVar, expr.TNode, el.Pos(), Group{At: at})
		it.Nodes = append(it.Nodes, v)
		q.preds = append(q.preds, func(c ectx) { q.p.nodePreds(c, el, v, &it.Preds) })
	case *cypher.RelPattern:
		if el.Range != nil || el.Quant != nil {
			b.fail(dberr.Syntax, "InvalidRelationshipPattern", el, "variable-length and quantified relationships cannot be part of a quantified path pattern")
		}
		v := q.variable(el.Var, RelVar, expr.TRel, el.Pos(), Group{Rel: true, At: len(it.Hops)})
		types, typePred := q.p.types(el.Types)
		it.Hops = append(it.Hops, Hop{Rel: v, Dir: direction(el.Dir), Types: types})
		q.preds = append(q.preds, func(c ectx) {
			x := v.Col(el.Pos(), el.End())
			if typePred {
				it.Preds = append(it.Preds, b.labelExpr(c, x, el.Types, true))
			}
			q.p.props(c, x, el.Props, el.Exact, &it.Preds)
			it.Preds = append(it.Preds, b.predicate(c, el.Where)...)
		})
	case *cypher.SubPath:
		if el.Quant != nil {
			b.fail(dberr.Syntax, "InvalidRelationshipPattern", el, "quantified path patterns are not allowed to be nested")
		}
		b.fail(dberr.Syntax, "InvalidRelationshipPattern", el, "a parenthesised path pattern cannot be part of a quantified path pattern")
	}
}

// variable declares a variable of an iteration and the list that stands for it outside.
func (q *iteration) variable(id *cypher.Ident, kind VarKind, t expr.Type, pos int, g Group) *Var {
	b := q.p.b
	if id == nil {
		return b.newAnon(kind, t, pos)
	}
	if old := q.sc.vars.get(id.Name); old != nil {
		switch {
		case old.Kind != kind:
			b.fail(dberr.DatatypeMismatch, "VariableTypeConflict", id, "variable `%s` is %s, not %s", id.Name, old.Type, t)
		case kind == RelVar:
			b.fail(dberr.Syntax, "RelationshipUniquenessViolation", id, "relationship `%s` cannot be used twice in one pattern", id.Name)
		}
		// The same vertex again.
		v := b.newAnon(kind, t, pos)
		eq := &expr.Binary{Base: at(id, expr.TBool), Op: expr.OpEq, L: old.Col(id.Pos(), id.End()), R: v.Col(id.Pos(), id.End())}
		q.it.Preds = append(q.it.Preds, eq)
		return v
	}
	switch {
	case q.p.before.has(id.Name):
		b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", id,
			"the variable `%s` is already defined in a previous clause, it cannot be used as a node or relationship variable inside of a quantified path pattern", id.Name)
	case q.p.sc.has(id.Name):
		b.failHint(dberr.VariableAlreadyBound, "VariableAlreadyBound", id, "Rename one of them, and compare them in WHERE.",
			"the variable `%s` occurs in a quantified path pattern and elsewhere in the same MATCH", id.Name)
	}
	v := b.newVar(id.Name, kind, t, id.Pos())
	q.sc.add(v)
	gkind := ValueVar
	if kind == RelVar {
		gkind = RelListVar
	}
	g.Var = b.newVar(id.Name, gkind, expr.ListOf(t), id.Pos())
	q.p.declare(g.Var)
	q.it.Groups = append(q.it.Groups, g)
	return v
}

// selected makes the relationship of the outer pattern that stands for a path with a selector.
func (p *patBinder) selected(path *cypher.Path, sel *Selection, parts []PathPart) {
	b := p.b
	left, right := parts[0].Var, parts[len(parts)-1].Var
	inner := sel.Pattern.Nodes
	for i, n := range inner {
		if n.Var != left && n.Var != right {
			continue
		}
		if !hasNode(p.out, n.Var) {
			p.out.Nodes = append(p.out.Nodes, &PatNode{Var: n.Var, Bound: n.Bound})
		}
		inner[i] = &PatNode{Var: n.Var, Bound: true}
	}
	if len(sel.Pattern.Rels) == 0 {
		// A path of one vertex is the only one between its ends.
		p.out.Paths = append(p.out.Paths, sel.Pattern.Paths...)
		p.later = append(p.later, func() { p.out.Preds = append(p.out.Preds, sel.Pattern.Preds...) })
		return
	}
	rels := sel.Pattern.Rels
	r := &PatRel{Left: left, Right: right, Pos: path.Pos(), End: path.End(), VarLen: true, Sel: sel}
	if q := rels[0]; len(rels) == 1 && q.VarLen && !q.Bound {
		r.Var = q.Var
	} else {
		r.Var = b.newAnon(RelListVar, expr.ListOf(expr.TRel), path.Pos())
		p.declare(r.Var)
	}
	r.Types = unionTypes(len(rels), func(i int) []string { return rels[i].Types })
	for _, q := range rels {
		lo, hi := q.lengths()
		r.Min = min(r.Min+lo, maxLen)
		if r.Max >= 0 && hi >= 0 {
			r.Max = min(r.Max+hi, maxLen)
		} else {
			r.Max = -1
		}
	}
	p.out.Rels = append(p.out.Rels, r)
	if path.Shortest != cypher.NoShortest {
		p.steered = append(p.steered, r)
	}
	p.later = append(p.later, func() {
		// Conditions on the ends alone hold for all paths between them or for none.
		var keep []expr.Expr
		for _, e := range sel.Pattern.Preds {
			if readsOf(e, r.Binds()) {
				keep = append(keep, e)
			} else {
				p.out.Preds = append(p.out.Preds, e)
			}
		}
		sel.Pattern.Preds = keep
	})
}

// lengths are the least and the greatest number of relationships that r may stand for, −1 without a bound.
func (r *PatRel) lengths() (lo, hi int) {
	if !r.VarLen {
		return 1, 1
	}
	n := 1
	if r.Iter != nil {
		n = len(r.Iter.Hops)
	}
	lo, hi = min(r.Min*n, maxLen), -1
	if r.Max >= 0 {
		hi = min(r.Max*n, maxLen)
	}
	return
}

// readsOf reports whether e reads one of the variables.
func readsOf(e expr.Expr, vars []*Var) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		var slots []int
		switch x := x.(type) {
		case *expr.Col:
			slots = []int{x.Slot}
		case *expr.Subplan:
			slots = x.Free
		}
		for _, s := range slots {
			for _, v := range vars {
				found = found || v.Slot == s
			}
		}
		return !found
	})
	return found
}

// steer takes the conditions of a MATCH that belong to the search of a shortestPath() in it: the path wanted is the shortest of those that
// satisfy them. A condition on several such paths is judged when all are found.
func (p *patBinder) steer(where []expr.Expr) []expr.Expr {
	if len(p.steered) == 0 {
		return where
	}
	var rest []expr.Expr
	for _, e := range where {
		var of *PatRel
		n := 0
		for _, r := range p.steered {
			if readsOf(e, r.Binds()) {
				of = r
				n++
			}
		}
		if n != 1 || isPathTest(e, of.Sel.Path) {
			rest = append(rest, e)
			continue
		}
		of.Sel.Pattern.Preds = append(of.Sel.Pattern.Preds, e)
	}
	return rest
}

// isPathTest recognises `p IS NOT NULL` and `p IS NULL`, which say nothing about which path.
func isPathTest(e expr.Expr, path *Var) bool {
	u, ok := e.(*expr.Unary)
	if !ok || u.Op != expr.OpIsNotNull && u.Op != expr.OpIsNull {
		return false
	}
	c, ok := u.X.(*expr.Col)
	return ok && c.Slot == path.Slot
}

// plainPath refuses quantified path patterns and selectors where only relationships may stand.
func (b *binder) plainPath(path *cypher.Path, where string) {
	if path.Selector.Kind != cypher.SelectAll {
		b.failHint(dberr.Syntax, "UnexpectedSyntax", &path.Selector, "Use COLLECT { }, COUNT { } or EXISTS { } with a MATCH.", "a path selector cannot be used in %s", where)
	}
	for _, el := range path.Elements {
		if s, ok := el.(*cypher.SubPath); ok {
			b.failHint(dberr.Syntax, "UnexpectedSyntax", s, "Use COLLECT { }, COUNT { } or EXISTS { } with a MATCH.", "a quantified path pattern cannot be used in %s", where)
		}
	}
}
