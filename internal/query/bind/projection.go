package bind

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
)

// projection binds WITH and RETURN.
func (p *part) projection(c cypher.Clause, pj *cypher.Projection, where cypher.Expr, ret bool) {
	b := p.b
	pr := &Projection{Place: place(c), Return: ret, Distinct: pj.Distinct}
	in := p.sc
	if p.imports != nil && p.first && !ret {
		in = p.imports // the importing WITH of CALL { }
	}
	ctx := b.ectx(in, clauseName(c))
	ctx.agg = aggYes

	type named struct {
		name  string
		n     spanned
		e     expr.Expr
		agg   bool
		alias *cypher.Ident
		item  *cypher.Item
		keep  *Var // passed on unchanged
	}
	var items []named
	if pj.Star {
		vs := in.named()
		if len(vs) == 0 && len(pj.Items) == 0 && ret {
			b.fail(dberr.Syntax, "NoVariablesInScope", c, "RETURN * is not allowed when there are no variables in scope")
		}
		for _, v := range vs {
			items = append(items, named{name: v.Name, n: c, e: v.Col(c.Pos(), c.Pos()), keep: v})
		}
	}
	for _, it := range pj.Items {
		e := b.expr(ctx, it.Expr)
		if ret {
			b.keeps(it)
		}
		nm := named{name: it.Name(), n: it, e: e, agg: hasAgg(e), alias: it.Alias, item: it}
		if col, ok := e.(*expr.Col); ok && col.Name == nm.name {
			nm.keep = in.find(nm.name)
		}
		items = append(items, nm)
	}
	if !(b.opts.AGE && ret && p.kind == queryTop) {
		seen := make(map[string]bool, len(items))
		for i := range items {
			if seen[items[i].name] {
				b.fail(dberr.DuplicateAlias, "ColumnNameConflict", items[i].n, "column `%s` is defined more than once", items[i].name)
			}
			seen[items[i].name] = true
		}
	}
	taken := map[*Var]bool{}
	for i := range items {
		it := &items[i]
		v := it.keep
		if v == nil || taken[v] || v.Lambda {
			v = b.alias(it.name, it.e, it.n.Pos())
		}
		taken[v] = true
		pr.Items = append(pr.Items, Item{Var: v, Expr: it.e, Name: it.name})
		pr.Agg = pr.Agg || it.agg
	}
	g := &grouping{b: b, pr: pr, in: in}
	if pr.Agg {
		g.split()
	}

	// ORDER BY and WHERE see the new names before the old ones.
	both := in.clone()
	for _, it := range pr.Items {
		both.vars.set(it.Name, it.Var)
	}
	octx := b.ectx(both, "ORDER BY")
	if pr.Agg {
		octx.agg = aggYes
	}
	for _, s := range pj.OrderBy {
		e := b.expr(octx, s.Expr)
		pr.OrderBy = append(pr.OrderBy, SortItem{Expr: g.after(e, s.Expr), Desc: s.Desc})
	}
	pr.Skip, pr.Limit = b.count(pj.Skip, "SKIP"), b.count(pj.Limit, "LIMIT")
	if where != nil {
		wctx := b.ectx(both, "WHERE")
		for _, w := range b.predicate(wctx, where) {
			pr.Where = append(pr.Where, g.after(w, where))
		}
	}
	if !ret {
		for _, it := range items {
			if _, isVar := it.e.(*expr.Col); it.item != nil && it.alias == nil && !isVar {
				b.failHint(dberr.Syntax, "NoExpressionAlias", it.n, "Write "+it.item.Text+" AS name.", "an expression in WITH must have an alias")
			}
		}
	}
	next := in.cut()
	if p.imports != nil && p.first && !ret {
		next = p.sc.cut()
	}
	for _, it := range pr.Items {
		if it.Var.Name != it.Name {
			it.Var.Name = it.Name
		}
		next.vars.set(it.Name, it.Var)
	}
	p.keepCSV(pr, in, next)
	p.sc = next
	if ret {
		for _, it := range pr.Items {
			p.out.Out = append(p.out.Out, it.Var)
			p.names = append(p.names, it.Name)
		}
	}
	p.add(pr)
}

func hasAgg(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		if _, ok := x.(*expr.Agg); ok {
			found = true
		}
		return !found
	})
	return found
}

// grouping separates keys from aggregates (openCypher CIP 2021-07-07).
type grouping struct {
	b  *binder
	pr *Projection
	in *scope
	// plain are the items without an aggregate, with the expressions as written.
	plain []Item
}

// split fills Keys and Aggs and makes the items read them.
func (g *grouping) split() {
	pr := g.pr
	orig := append([]Item(nil), pr.Items...)
	for _, it := range orig {
		if !hasAgg(it.Expr) {
			g.plain = append(g.plain, it)
			pr.Keys = append(pr.Keys, it)
		}
	}
	for i, it := range orig {
		if hasAgg(it.Expr) {
			pr.Items[i].Expr = g.over(it.Expr, nil)
		} else {
			pos, end := it.Expr.Span()
			pr.Items[i].Expr = it.Var.Col(pos, end)
		}
	}
}

// aggSlot returns the column of an aggregate call; equal calls share one.
func (g *grouping) aggSlot(a *expr.Agg) *expr.Col {
	for _, x := range g.pr.Aggs {
		if expr.Equal(x.Call, a) {
			return g.b.bySlot(x.Slot).Col(a.Pos, a.End)
		}
	}
	v := g.b.newAnon(ValueVar, a.Type(), a.Pos)
	if a.Pos >= 0 && a.End <= len(g.b.text) {
		v.Name = g.b.text[a.Pos:a.End]
	}
	v.Plain = g.b.plain(a)
	g.pr.Aggs = append(g.pr.Aggs, AggItem{Slot: v.Slot, Call: a})
	return v.Col(a.Pos, a.End)
}

// over rewrites an expression with aggregates so that it reads only keys and aggregates. Beside an aggregate only constants,
// parameters, grouping variables and grouping properties may stand; order is not nil for a key of ORDER BY.
func (g *grouping) over(e expr.Expr, order spanned) expr.Expr {
	e = g.replace(e)
	g.check(e, order, true)
	return e
}

// replace puts columns in place of aggregates and of grouping variables and properties.
func (g *grouping) replace(e expr.Expr) expr.Expr {
	// Children first: an aggregate's own argument must not be touched, so aggregates are cut out before.
	e = RewriteTop(e, func(x expr.Expr) (expr.Expr, bool) {
		if a, ok := x.(*expr.Agg); ok {
			return g.aggSlot(a), true
		}
		switch x.(type) {
		case *expr.Col, *expr.Prop:
			for _, it := range g.plain {
				if expr.Equal(it.Expr, x) {
					pos, end := x.Span()
					return it.Var.Col(pos, end), true
				}
			}
		}
		return x, false
	})
	return e
}

// check refuses a variable that is neither grouped nor aggregated.
func (g *grouping) check(e expr.Expr, order spanned, withAgg bool) {
	ok := map[int]bool{}
	for _, it := range g.pr.Items {
		ok[it.Var.Slot] = true
	}
	for _, a := range g.pr.Aggs {
		ok[a.Slot] = true
	}
	g.freeCols(e, func(c *expr.Col) {
		if ok[c.Slot] {
			return
		}
		n := span{c.Pos, c.End}
		if order != nil && !g.inPlain(c.Slot) {
			g.b.fail(dberr.UndefinedVariable, "UndefinedVariable", n, "variable `%s` is not projected, so it is not visible behind an aggregation or DISTINCT", c.Name)
		}
		if withAgg {
			g.b.failHint(dberr.GroupingError, "AmbiguousAggregationExpression", n, "Project it first: WITH … AS name.",
				"an expression with an aggregating function may only use grouping variables and their properties; `%s` is neither", c.Name)
		}
		g.b.fail(dberr.UndefinedVariable, "UndefinedVariable", n, "variable `%s` is not projected, so it is not visible behind an aggregation or DISTINCT", c.Name)
	})
}

// inPlain reports whether some item without aggregates reads the slot.
func (g *grouping) inPlain(slot int) bool {
	found := false
	for _, it := range g.plain {
		g.freeCols(it.Expr, func(c *expr.Col) { found = found || c.Slot == slot })
	}
	return found
}

// freeCols calls f for the columns of the row that e reads, those of subqueries included and lambda variables not.
func (g *grouping) freeCols(e expr.Expr, f func(*expr.Col)) {
	lambda := map[int]bool{}
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.ListComp:
			lambda[x.Slot] = true
		case *expr.Quantifier:
			lambda[x.Slot] = true
		case *expr.Reduce:
			lambda[x.Slot], lambda[x.AccSlot] = true, true
		}
		return true
	})
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Col:
			if !lambda[x.Slot] {
				f(x)
			}
		case *expr.Subplan:
			for _, v := range x.Plan.(*Subquery).Free {
				if !lambda[v.Slot] && !v.Lambda {
					f(v.Col(x.Pos, x.End))
				}
			}
		}
		return true
	})
}

// after rewrites a key of ORDER BY or a condition behind the projection: what equals an item reads its column, and behind an aggregation or
// DISTINCT nothing else of the old row may be read.
func (g *grouping) after(e expr.Expr, n spanned) expr.Expr {
	pr := g.pr
	whole := func(x expr.Expr) (expr.Expr, bool) {
		for i, it := range pr.Items {
			src := it.Expr
			if pr.Agg {
				src = g.source(i)
			}
			if src != nil && expr.Equal(src, x) {
				pos, end := x.Span()
				return it.Var.Col(pos, end), true
			}
		}
		return x, false
	}
	switch {
	case pr.Agg:
		if hasAgg(e) {
			if x, ok := whole(e); ok {
				return x
			}
			before := len(pr.Aggs)
			x := g.replace(e)
			if len(pr.Aggs) > before {
				// A new aggregate: its argument may only use what is projected, and reads it as it was before the grouping.
				for i := before; i < len(pr.Aggs); i++ {
					call := *pr.Aggs[i].Call
					call.Args = append([]expr.Expr(nil), call.Args...)
					for j, arg := range call.Args {
						g.check(arg, n, false)
						call.Args[j] = RewriteTop(arg, g.unalias)
					}
					pr.Aggs[i].Call = &call
				}
			}
			g.check(x, n, true)
			return x
		}
		e = RewriteTop(e, whole)
		g.check(e, n, false)
	case pr.Distinct:
		e = RewriteTop(e, whole)
		g.check(e, n, false)
	default:
		e = RewriteTop(e, whole)
	}
	return e
}

// source is item i as written.
func (g *grouping) source(i int) expr.Expr {
	for _, it := range g.plain {
		if it.Var == g.pr.Items[i].Var {
			return it.Expr
		}
	}
	// An item that is one aggregate call: find it by its column.
	if c, ok := g.pr.Items[i].Expr.(*expr.Col); ok {
		for _, a := range g.pr.Aggs {
			if a.Slot == c.Slot {
				return a.Call
			}
		}
	}
	return nil
}

// unalias replaces the column of a grouping item by the item as written.
func (g *grouping) unalias(x expr.Expr) (expr.Expr, bool) {
	if c, ok := x.(*expr.Col); ok {
		for _, it := range g.plain {
			if it.Var.Slot == c.Slot {
				return it.Expr, true
			}
		}
	}
	return x, false
}
