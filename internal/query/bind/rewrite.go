package bind

import "github.com/hedgerowdb/hedgerow/internal/query/expr"

// RewriteTop replaces subtrees from the top down: where f answers true its result stands and is not looked into. Unchanged nodes
// are shared. Plans of subqueries are not entered.
func RewriteTop(e expr.Expr, f func(expr.Expr) (expr.Expr, bool)) expr.Expr {
	if e == nil {
		return nil
	}
	if x, done := f(e); done {
		return x
	}
	return MapChildren(e, func(x expr.Expr) expr.Expr { return RewriteTop(x, f) })
}

// MapChildren returns e with each direct child replaced by f(child), or e itself if none changed.
func MapChildren(e expr.Expr, f func(expr.Expr) expr.Expr) expr.Expr {
	changed := false
	one := func(x expr.Expr) expr.Expr {
		if x == nil {
			return nil
		}
		y := f(x)
		changed = changed || y != x
		return y
	}
	all := func(xs []expr.Expr) []expr.Expr {
		if len(xs) == 0 {
			return xs
		}
		out := make([]expr.Expr, len(xs))
		for i, x := range xs {
			out[i] = one(x)
		}
		return out
	}
	var out expr.Expr
	switch e := e.(type) {
	case *expr.Prop:
		c := *e
		c.Of = one(e.Of)
		out = &c
	case *expr.Unary:
		c := *e
		c.X = one(e.X)
		out = &c
	case *expr.Binary:
		c := *e
		c.L, c.R = one(e.L), one(e.R)
		out = &c
	case *expr.Chain:
		c := *e
		c.Args = all(e.Args)
		out = &c
	case *expr.And:
		c := *e
		c.Args = all(e.Args)
		out = &c
	case *expr.Or:
		c := *e
		c.Args = all(e.Args)
		out = &c
	case *expr.Index:
		c := *e
		c.X, c.I = one(e.X), one(e.I)
		out = &c
	case *expr.Slice:
		c := *e
		c.X, c.From, c.To = one(e.X), one(e.From), one(e.To)
		out = &c
	case *expr.Case:
		c := *e
		c.Subject = one(e.Subject)
		c.Whens = make([]expr.When, len(e.Whens))
		for i, w := range e.Whens {
			c.Whens[i] = expr.When{Cond: one(w.Cond), Then: one(w.Then)}
		}
		c.Else = one(e.Else)
		out = &c
	case *expr.Func:
		c := *e
		c.Args = all(e.Args)
		out = &c
	case *expr.Agg:
		c := *e
		c.Args = all(e.Args)
		out = &c
	case *expr.ListLit:
		c := *e
		c.Elems = all(e.Elems)
		out = &c
	case *expr.MapLit:
		c := *e
		c.Vals = all(e.Vals)
		out = &c
	case *expr.ListComp:
		c := *e
		c.List, c.Pred, c.Map = one(e.List), one(e.Pred), one(e.Map)
		out = &c
	case *expr.Quantifier:
		c := *e
		c.List, c.Pred = one(e.List), one(e.Pred)
		out = &c
	case *expr.Reduce:
		c := *e
		c.Init, c.List, c.Body = one(e.Init), one(e.List), one(e.Body)
		out = &c
	case *expr.HasLabels:
		c := *e
		c.X = one(e.X)
		if col, ok := c.X.(*expr.Col); ok {
			c.Hint = col.Hint
		}
		out = &c
	case *expr.IsType:
		c := *e
		c.X = one(e.X)
		out = &c
	case *expr.MapProj:
		c := *e
		c.X = one(e.X)
		c.Items = make([]expr.ProjItem, len(e.Items))
		for i, it := range e.Items {
			it.Val = one(it.Val)
			c.Items[i] = it
		}
		out = &c
	case *expr.MakePath:
		c := *e
		c.Elems = all(e.Elems)
		out = &c
	default: // Const, Param, Col, Subplan
		return e
	}
	if !changed {
		return e
	}
	return out
}
