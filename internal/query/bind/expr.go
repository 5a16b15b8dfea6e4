package bind

import (
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// aggMode says whether an aggregate may stand where an expression is bound.
type aggMode uint8

const (
	aggNo     aggMode = iota // InvalidAggregation
	aggYes                   // in an item or sort key of WITH or RETURN
	aggInside                // in an aggregate's argument: NestedAggregation
)

// ectx is what surrounds an expression. It is passed by value.
type ectx struct {
	sc     *scope
	where  string // the clause, for messages
	agg    aggMode
	pred   bool // a truth value is wanted: a bare pattern is a predicate here
	const_ bool // no variables but those of the expression itself: NonConstantExpression
	caseOp expr.Expr
}

func (b *binder) ectx(sc *scope, where string) ectx { return ectx{sc: sc, where: where} }

func (c ectx) value() ectx { c.pred = false; return c }

func (c ectx) bool() ectx { c.pred = true; return c }

func at(n spanned, t expr.Type) expr.Base { return expr.Base{Pos: n.Pos(), End: n.End(), T: t} }

// predicate binds a condition and splits it into conjuncts.
func (b *binder) predicate(c ectx, e cypher.Expr) []expr.Expr {
	if e == nil {
		return nil
	}
	x := b.expr(c.bool(), e)
	b.wantBool(x, e)
	return conjuncts(x, nil)
}

func conjuncts(x expr.Expr, out []expr.Expr) []expr.Expr {
	if a, ok := x.(*expr.And); ok {
		for _, y := range a.Args {
			out = conjuncts(y, out)
		}
		return out
	}
	return append(out, x)
}

func (b *binder) wantBool(x expr.Expr, n spanned) {
	if !x.Type().May(expr.TBool.Kinds) {
		b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", n, "expected a Boolean, found %s", x.Type())
	}
}

func (b *binder) exprs(c ectx, es []cypher.Expr) []expr.Expr {
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		out[i] = b.expr(c, e)
	}
	return out
}

// expr binds an expression. The parser bounds its depth (rules C12).
func (b *binder) expr(c ectx, e cypher.Expr) expr.Expr {
	switch e := e.(type) {
	case *cypher.NullLit:
		return &expr.Const{Base: at(e, expr.TNull)}
	case *cypher.BoolLit:
		return &expr.Const{Base: at(e, notNull(expr.TBool)), V: value.NewBool(e.Value)}
	case *cypher.IntLit:
		if p := b.lifted(e, expr.TInt); p != nil {
			return p
		}
		return &expr.Const{Base: at(e, notNull(expr.TInt)), V: value.NewInt(e.Value)}
	case *cypher.FloatLit:
		if p := b.lifted(e, expr.TFloat); p != nil {
			return p
		}
		return &expr.Const{Base: at(e, notNull(expr.TFloat)), V: value.NewFloat(e.Value)}
	case *cypher.StringLit:
		if p := b.lifted(e, expr.TString); p != nil {
			return p
		}
		return &expr.Const{Base: at(e, notNull(expr.TString)), V: value.NewString(e.Value)}
	case *cypher.ListLit:
		if p := b.liftedList(e); p != nil {
			return p
		}
		return b.listLit(c.value(), e)
	case *cypher.MapLit:
		keys, vals := b.mapEntries(c.value(), e)
		return &expr.MapLit{Base: at(e, notNull(expr.TMap)), Keys: keys, Vals: vals}
	case *cypher.Var:
		return b.variable(c, e, e.Name)
	case *cypher.Param:
		return &expr.Param{Base: at(e, expr.Any), Name: e.Name, Index: b.param(e.Name)}
	case *cypher.Unary:
		return b.unary(c, e)
	case *cypher.Binary:
		return b.binary(c, e)
	case *cypher.Compare:
		return b.compare(c.value(), e)
	case *cypher.IsNull:
		op := expr.OpIsNull
		if e.Not {
			op = expr.OpIsNotNull
		}
		return &expr.Unary{Base: at(e, notNull(expr.TBool)), Op: op, X: b.expr(c.value(), e.X)}
	case *cypher.IsType:
		return &expr.IsType{Base: at(e, notNull(expr.TBool)), X: b.expr(c.value(), e.X), Spec: b.typeSpec(e.Type), Not: e.Not}
	case *cypher.IsNormalized:
		test := b.call(e, "::normalized", b.expr(c.value(), e.X), &expr.Const{Base: at(e, notNull(expr.TString)), V: value.NewString(e.Form)})
		if e.Not {
			return &expr.Unary{Base: at(e, expr.TBool), Op: expr.OpNot, X: test}
		}
		return test
	case *cypher.HasLabels:
		x := b.expr(c.value(), e.X)
		if !x.Type().May(expr.TEntity.Kinds) {
			b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", e.X, "expected a Node or Relationship, found %s", x.Type())
		}
		return b.labelExpr(c, x, e.Labels, false)
	case *cypher.Property:
		return b.property(c, e)
	case *cypher.Index:
		x, i := b.expr(c.value(), e.X), b.expr(c.value(), e.I)
		if !x.Type().May(expr.TList.Kinds | expr.TMap.Kinds | expr.TEntity.Kinds | expr.Kinds(value.Point)) {
			b.fail(dberr.TypeError, "InvalidArgumentType", e.X, "%s cannot be indexed", x.Type())
		}
		t := expr.Any
		if x.Type().Is(expr.TList.Kinds) {
			t = x.Type().Element()
		}
		return &expr.Index{Base: at(e, t), X: x, I: i}
	case *cypher.Slice:
		s := &expr.Slice{X: b.expr(c.value(), e.X)}
		s.Base = at(e, expr.Any)
		if s.X.Type().Is(expr.TList.Kinds) {
			s.Base.T = s.X.Type()
		}
		if e.From != nil {
			s.From = b.expr(c.value(), e.From)
		}
		if e.To != nil {
			s.To = b.expr(c.value(), e.To)
		}
		return s
	case *cypher.Cast:
		return b.cast(c.value(), e)
	case *cypher.Func:
		return b.function(c, e)
	case *cypher.CountStar:
		return b.aggregate(c, e, "count", nil, false)
	case *cypher.Case:
		return b.caseExpr(c, e)
	case *cypher.CaseOperand:
		if c.caseOp == nil {
			b.fail(dberr.Syntax, "UnexpectedSyntax", e, "a comparison without a left side")
		}
		return c.caseOp
	case *cypher.ListComp:
		list := b.expr(c.value(), e.List)
		b.wantList(list, e.List)
		in, v := b.lambda(c, e.Var, elementType(list.Type()))
		out := &expr.ListComp{Slot: v.Slot, List: list}
		if e.Where != nil {
			out.Pred = b.expr(in.bool(), e.Where)
			b.wantBool(out.Pred, e.Where)
		}
		elem := v.Type
		if e.Map != nil {
			out.Map = b.expr(in.value(), e.Map)
			elem = out.Map.Type()
		}
		out.Base = at(e, expr.ListOf(elem))
		return out
	case *cypher.Quantified:
		list := b.expr(c.value(), e.List)
		b.wantList(list, e.List)
		in, v := b.lambda(c, e.Var, elementType(list.Type()))
		out := &expr.Quantifier{Base: at(e, expr.TBool), Kind: expr.QuantKind(e.Kind), Slot: v.Slot, List: list}
		if e.Where != nil {
			out.Pred = b.expr(in.bool(), e.Where)
			b.wantBool(out.Pred, e.Where)
		} else {
			out.Pred = v.Col(e.Var.Pos(), e.Var.End())
			b.wantBool(out.Pred, e)
		}
		return out
	case *cypher.Reduce:
		list := b.expr(c.value(), e.List)
		b.wantList(list, e.List)
		init := b.expr(c.value(), e.Init)
		in, acc := b.lambda(c, e.Acc, expr.Any)
		in, v := b.lambda(in, e.Var, elementType(list.Type()))
		body := b.expr(in.value(), e.Expr)
		return &expr.Reduce{Base: at(e, expr.Any), AccSlot: acc.Slot, Slot: v.Slot, Init: init, List: list, Body: body}
	case *cypher.PatternExpr:
		return b.patternExpr(c, e)
	case *cypher.PatternComp:
		return b.patternComp(c, e)
	case *cypher.SubqueryExpr:
		return b.subqueryExpr(c, e)
	case *cypher.MapProjection:
		return b.mapProjection(c, e)
	}
	b.fail(dberr.Internal, "", e, "binder: unknown expression %T", e)
	return nil
}

func notNull(t expr.Type) expr.Type { t.NotNull = true; return t }

func (b *binder) variable(c ectx, n spanned, name string) *expr.Col {
	v := c.sc.find(name)
	if v == nil {
		if c.const_ {
			b.fail(dberr.Syntax, "NonConstantExpression", n, "%s must be given by an expression without variables", c.where)
		}
		b.undefined(c.sc, n, name)
	}
	return v.Col(n.Pos(), n.End())
}

func (b *binder) undefined(sc *scope, n spanned, name string) {
	for s := sc; s != nil && !s.closed; s = s.parent {
		if s.same != nil && s.same.has(name) {
			b.failHint(dberr.Syntax, "UndefinedVariable", n, "Bind it in a MATCH before, or move the condition to the WHERE of the MATCH.",
				"from within a quantified path pattern, one may only reference variables that are already bound in a previous clause; `%s` is bound in the same MATCH", name)
		}
	}
	hint := ""
	if s := Similar(name, sc.names()); s != "" {
		hint = "Did you mean `" + s + "`?"
	}
	b.failHint(dberr.UndefinedVariable, "UndefinedVariable", n, hint, "variable `%s` is not defined", name)
}

// lambda opens the scope of a variable that lives inside one expression.
func (b *binder) lambda(c ectx, id *cypher.Ident, t expr.Type) (ectx, *Var) {
	v := b.newVar(id.Name, ValueVar, t, id.Pos())
	v.Lambda = true
	sc := newScope(c.sc)
	sc.add(v)
	c.sc = sc
	if c.agg == aggYes {
		c.agg = aggNo
	}
	return c, v
}

func elementType(t expr.Type) expr.Type {
	if t.Is(expr.TList.Kinds) {
		return t.Element()
	}
	return expr.Any
}

func (b *binder) wantList(x expr.Expr, n spanned) {
	if !x.Type().May(expr.TList.Kinds) {
		b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", n, "expected a List, found %s", x.Type())
	}
}

func (b *binder) listLit(c ectx, e *cypher.ListLit) expr.Expr {
	elems := b.exprs(c, e.Elems)
	t := notNull(expr.TList)
	for i, x := range elems {
		xt := x.Type()
		if i == 0 {
			t.Elem = &xt
			continue
		}
		u := t.Elem.Union(xt)
		t.Elem = &u
	}
	return &expr.ListLit{Base: at(e, t), Elems: elems}
}

// mapEntries binds a literal map; of a repeated key the last entry wins.
func (b *binder) mapEntries(c ectx, e *cypher.MapLit) (keys []string, vals []expr.Expr) {
	place := make(map[string]int, len(e.Entries))
	for _, en := range e.Entries {
		v := b.expr(c, en.Value)
		if i, dup := place[en.Key.Name]; dup {
			vals[i] = v
			continue
		}
		place[en.Key.Name] = len(keys)
		keys, vals = append(keys, en.Key.Name), append(vals, v)
	}
	return keys, vals
}

const (
	numberKinds = expr.KindSet(1<<value.Int | 1<<value.Float | 1<<value.Numeric)
	timeKinds   = expr.KindSet(1<<value.DateTime | 1<<value.LocalDateTime | 1<<value.Date | 1<<value.Time | 1<<value.LocalTime)
	durKind     = expr.KindSet(1 << value.Duration)
)

func (b *binder) unary(c ectx, e *cypher.Unary) expr.Expr {
	switch e.Op {
	case cypher.OpNot:
		x := b.expr(c.bool(), e.X)
		b.wantBool(x, e.X)
		return &expr.Unary{Base: at(e, expr.TBool), Op: expr.OpNot, X: x}
	case cypher.OpNeg, cypher.OpPlus:
		x := b.expr(c.value(), e.X)
		b.wantKinds(x, e.X, numberKinds|durKind, e.Op.String())
		op := expr.OpNeg
		if e.Op == cypher.OpPlus {
			op = expr.OpPos
		}
		return &expr.Unary{Base: at(e, x.Type()), Op: op, X: x}
	}
	b.fail(dberr.Internal, "", e, "binder: unknown operator %s", e.Op)
	return nil
}

func (b *binder) wantKinds(x expr.Expr, n spanned, ks expr.KindSet, op string) {
	if !x.Type().May(ks) {
		b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", n, "%s cannot be applied to %s", op, x.Type())
	}
}

var binaryOps = map[cypher.Op]expr.Op{cypher.OpXor: expr.OpXor, cypher.OpRegex: expr.OpRegex, cypher.OpStartsWith: expr.OpStartsWith,
	cypher.OpEndsWith: expr.OpEndsWith, cypher.OpContains: expr.OpContains, cypher.OpIn: expr.OpIn, cypher.OpAdd: expr.OpAdd,
	cypher.OpSub: expr.OpSub, cypher.OpMul: expr.OpMul, cypher.OpDiv: expr.OpDiv, cypher.OpMod: expr.OpMod, cypher.OpPow: expr.OpPow,
	cypher.OpConcat: expr.OpConcat, cypher.OpEq: expr.OpEq, cypher.OpNe: expr.OpNe, cypher.OpLt: expr.OpLt, cypher.OpLe: expr.OpLe,
	cypher.OpGt: expr.OpGt, cypher.OpGe: expr.OpGe}

func (b *binder) binary(c ectx, e *cypher.Binary) expr.Expr {
	switch e.Op {
	case cypher.OpAnd, cypher.OpOr:
		// Long chains lean to the left; they become one flat node.
		var args []expr.Expr
		var spine []*cypher.Binary
		var l cypher.Expr = e
		for {
			x, ok := l.(*cypher.Binary)
			if !ok || x.Op != e.Op {
				break
			}
			spine = append(spine, x)
			l = x.L
		}
		add := func(n cypher.Expr) {
			x := b.expr(c.bool(), n)
			b.wantBool(x, n)
			args = append(args, x)
		}
		add(l)
		for i := len(spine) - 1; i >= 0; i-- {
			add(spine[i].R)
		}
		if e.Op == cypher.OpAnd {
			return &expr.And{Base: at(e, expr.TBool), Args: args}
		}
		return &expr.Or{Base: at(e, expr.TBool), Args: args}
	case cypher.OpXor:
		l, r := b.expr(c.bool(), e.L), b.expr(c.bool(), e.R)
		b.wantBool(l, e.L)
		b.wantBool(r, e.R)
		return &expr.Binary{Base: at(e, expr.TBool), Op: expr.OpXor, L: l, R: r}
	}
	op, ok := binaryOps[e.Op]
	if !ok {
		b.fail(dberr.Internal, "", e, "binder: unknown operator %s", e.Op)
	}
	// A long sum leans to the left as well; the loop keeps the depth of the recursion that of the parentheses.
	var spine []*cypher.Binary
	var cur cypher.Expr = e
	for {
		x, ok := cur.(*cypher.Binary)
		if !ok || x.Op == cypher.OpAnd || x.Op == cypher.OpOr || x.Op == cypher.OpXor {
			break
		}
		spine = append(spine, x)
		cur = x.L
	}
	l := b.expr(c.value(), cur)
	for i := len(spine) - 1; i >= 0; i-- {
		n := spine[i]
		op = binaryOps[n.Op]
		r := b.expr(c.value(), n.R)
		l = &expr.Binary{Base: at(n, b.binaryType(n, op, l, r)), Op: op, L: l, R: r}
	}
	return l
}

// binaryType checks what is known of the operands and says what is known of the result.
func (b *binder) binaryType(n *cypher.Binary, op expr.Op, l, r expr.Expr) expr.Type {
	lt, rt := l.Type(), r.Type()
	want := func(ks expr.KindSet) {
		b.wantKinds(l, n.L, ks, n.Op.String())
		b.wantKinds(r, n.R, ks, n.Op.String())
	}
	bothNumbers := lt.Is(numberKinds) && rt.Is(numberKinds)
	numeric := func() expr.Type {
		switch {
		case lt.Is(expr.TInt.Kinds) && rt.Is(expr.TInt.Kinds):
			return expr.TInt
		case lt.Is(expr.TFloat.Kinds) && rt.Is(numberKinds), rt.Is(expr.TFloat.Kinds) && lt.Is(numberKinds):
			return expr.TFloat
		}
		return expr.TNumber
	}
	switch op {
	case expr.OpAdd:
		switch {
		case bothNumbers:
			return numeric()
		case lt.Is(expr.TString.Kinds) && rt.Is(expr.TString.Kinds) && lt.Kinds != expr.TNull.Kinds && rt.Kinds != expr.TNull.Kinds:
			return expr.TString
		case lt.Is(expr.TList.Kinds) && rt.Is(expr.TList.Kinds) && lt.Kinds != expr.TNull.Kinds && rt.Kinds != expr.TNull.Kinds:
			return lt.Union(rt)
		case lt.Is(expr.TList.Kinds) && lt.Kinds.Has(value.List), rt.Is(expr.TList.Kinds) && rt.Kinds.Has(value.List):
			return expr.TList
		}
		if bad := expr.TBool.Kinds | expr.TMap.Kinds | expr.TEntity.Kinds | expr.TPath.Kinds; lt.Is(bad) && lt.Kinds != expr.TNull.Kinds && !rt.May(expr.TList.Kinds) {
			b.wantKinds(l, n.L, 0, "+")
		}
		return expr.Any
	case expr.OpSub:
		want(numberKinds | durKind | timeKinds)
		if bothNumbers {
			return numeric()
		}
	case expr.OpMul, expr.OpDiv:
		want(numberKinds | durKind)
		if bothNumbers {
			return numeric()
		}
	case expr.OpMod:
		want(numberKinds)
		if bothNumbers {
			return numeric()
		}
	case expr.OpPow:
		want(numberKinds)
		return expr.TFloat
	case expr.OpIn:
		b.wantList(r, n.R)
		return expr.TBool
	case expr.OpStartsWith, expr.OpEndsWith, expr.OpContains, expr.OpRegex:
		return expr.TBool
	case expr.OpConcat:
		want(expr.TString.Kinds | expr.TList.Kinds | expr.TBytes.Kinds)
		if lt.Is(expr.TString.Kinds) {
			return expr.TString
		}
	}
	return expr.Any
}

func (b *binder) compare(c ectx, e *cypher.Compare) expr.Expr {
	args := b.exprs(c, e.Operands)
	ops := make([]expr.Op, len(e.Ops))
	for i, o := range e.Ops {
		ops[i] = binaryOps[o]
	}
	if slices.ContainsFunc(args, func(x expr.Expr) bool { k, ok := x.(*expr.Const); return ok && k.V.IsNull() }) {
		b.notice("NullComparison", e, "Use IS NULL or IS NOT NULL.", "a comparison with null is never true")
	}
	if len(ops) == 1 {
		return &expr.Binary{Base: at(e, expr.TBool), Op: ops[0], L: args[0], R: args[1]}
	}
	return &expr.Chain{Base: at(e, expr.TBool), Ops: ops, Args: args}
}

// labelExpr turns a label expression into a condition over x. rel: x is a relationship of a pattern.
func (b *binder) labelExpr(c ectx, x expr.Expr, l cypher.LabelExpr, rel bool) expr.Expr {
	hint := expr.NoSlot
	if col, ok := x.(*expr.Col); ok {
		hint = col.Hint
	}
	switch l := l.(type) {
	case *cypher.LabelName:
		if l.Dynamic != nil {
			return b.dynamicLabel(c, x, l, hint)
		}
		return &expr.HasLabels{Base: at(l, expr.TBool), X: x, Labels: []string{l.Name}, Hint: hint}
	case *cypher.LabelAny:
		if rel || x.Type().Is(expr.TRel.Kinds) {
			return &expr.Unary{Base: at(l, expr.TBool), Op: expr.OpIsNotNull, X: x}
		}
		labels := b.call(l, "labels", x)
		return &expr.Binary{Base: at(l, expr.TBool), Op: expr.OpGt, L: b.call(l, "size", labels), R: &expr.Const{Base: at(l, expr.TInt), V: value.NewInt(0)}}
	case *cypher.LabelNot:
		return &expr.Unary{Base: at(l, expr.TBool), Op: expr.OpNot, X: b.labelExpr(c, x, l.X, rel)}
	case *cypher.LabelAnd:
		if names, ok := labelNames(l.Terms); ok {
			return &expr.HasLabels{Base: at(l, expr.TBool), X: x, Labels: names, Hint: hint}
		}
		out := &expr.And{Base: at(l, expr.TBool)}
		for _, t := range l.Terms {
			out.Args = append(out.Args, b.labelExpr(c, x, t, rel))
		}
		return out
	case *cypher.LabelOr:
		if names, ok := labelNames(l.Terms); ok {
			return &expr.HasLabels{Base: at(l, expr.TBool), X: x, Labels: names, Any: true, Hint: hint}
		}
		out := &expr.Or{Base: at(l, expr.TBool)}
		for _, t := range l.Terms {
			out.Args = append(out.Args, b.labelExpr(c, x, t, rel))
		}
		return out
	}
	b.fail(dberr.Internal, "", l, "binder: unknown label expression %T", l)
	return nil
}

// dynamicLabel turns $(e), $all(e) and $any(e) into a condition over x. A name that is known now is like one that is written.
func (b *binder) dynamicLabel(c ectx, x expr.Expr, l *cypher.LabelName, hint int) expr.Expr {
	name := b.expr(c.value(), l.Dynamic)
	if k, ok := name.(*expr.Const); ok && k.V.Kind() == value.String && k.V.Str() != "" {
		return &expr.HasLabels{Base: at(l, expr.TBool), X: x, Labels: []string{k.V.Str()}, Hint: hint}
	}
	return b.call(l, "::hasLabels", x, b.call(l, "::names", name), &expr.Const{Base: at(l, notNull(expr.TBool)), V: value.NewBool(l.Any)})
}

// writtenNames splits names of labels to be written into those that are known and an expression for the others, nil if there are none.
func (b *binder) writtenNames(c ectx, ls []*cypher.LabelName) ([]string, expr.Expr) {
	var known []string
	var computed []expr.Expr
	for _, l := range ls {
		switch {
		case l.Dynamic == nil:
			known = append(known, l.Name)
		case l.Any:
			b.fail(dberr.Syntax, "UnexpectedSyntax", l, "$any(…) cannot be used in %s; use $(…) or $all(…)", c.where)
		default:
			computed = append(computed, b.expr(c.value(), l.Dynamic))
		}
	}
	if computed == nil {
		return uniq(known), nil
	}
	return uniq(known), b.call(ls[0], "::names", computed...)
}

// writtenType is the type of a relationship to be made: a name, or an expression that gives one.
func (b *binder) writtenType(c ectx, l *cypher.LabelName) (string, expr.Expr) {
	switch {
	case l.Dynamic == nil:
		return l.Name, nil
	case l.Any:
		b.fail(dberr.Syntax, "UnexpectedSyntax", l, "$any(…) cannot be used in %s; use $(…)", c.where)
	}
	return "", b.call(l, "::type", b.expr(c.value(), l.Dynamic))
}

func labelNames(ts []cypher.LabelExpr) ([]string, bool) {
	var out []string
	for _, t := range ts {
		n, ok := t.(*cypher.LabelName)
		if !ok || n.Dynamic != nil {
			return nil, false
		}
		out = append(out, n.Name)
	}
	return out, true
}

// call makes a call of a function of the table by name.
func (b *binder) call(n spanned, name string, args ...expr.Expr) expr.Expr {
	def, ok := expr.Lookup(name)
	if !ok {
		b.fail(dberr.Internal, "", n, "binder: function %s is missing", name)
	}
	types := make([]expr.Type, len(args))
	for i, a := range args {
		types[i] = a.Type()
	}
	t, err := def.Check(types)
	if err != nil {
		panic(&fault{compileErr(err, n)})
	}
	return &expr.Func{Base: at(n, refine(def.Name, args, t)), Def: def, Args: args}
}

func compileErr(err error, n spanned) *dberr.Error {
	e := dberr.As(err)
	e.Phase = dberr.CompileTime
	return e.At(n.Pos(), n.End())
}

func (b *binder) property(c ectx, e *cypher.Property) expr.Expr {
	x := b.expr(c.value(), e.X)
	t := x.Type()
	if !t.May(expr.TEntity.Kinds | expr.TMap.Kinds | timeKinds | durKind | expr.Kinds(value.Point)) {
		code := dberr.TypeError
		if t.Is(expr.TPath.Kinds) {
			code = dberr.DatatypeMismatch // the TCK calls this one a SyntaxError
		}
		b.fail(code, "InvalidArgumentType", e.X, "%s has no properties", t)
	}
	rt := expr.Any
	if m, ok := x.(*expr.MapLit); ok {
		rt = expr.TNull
		for i, k := range m.Keys {
			if k == e.Key.Name {
				rt = m.Vals[i].Type()
			}
		}
	}
	return &expr.Prop{Base: at(e, rt), Of: x, Key: e.Key.Name}
}

func (b *binder) cast(c ectx, e *cypher.Cast) expr.Expr {
	x := b.expr(c, e.X)
	name := map[string]string{"int": "toInteger", "integer": "toInteger", "int8": "toInteger", "bigint": "toInteger", "int4": "toInteger",
		"float": "toFloat", "float8": "toFloat", "text": "toString", "varchar": "toString", "bool": "toBoolean", "boolean": "toBoolean",
		"pg_catalog.int8": "toInteger", "pg_catalog.float8": "toFloat"}[strings.ToLower(e.Type)]
	if name == "" {
		name = "::" + strings.ToLower(e.Type)
	}
	if _, ok := expr.Lookup(name); !ok {
		b.fail(dberr.FeatureNotSupported, "", e, "a cast to %s is not supported", e.Type)
	}
	return b.call(e, name, x)
}

func (b *binder) function(c ectx, e *cypher.Func) expr.Expr {
	parts := make([]string, len(e.Name))
	for i, p := range e.Name {
		parts[i] = p.Name
	}
	name := strings.Join(parts, ".")
	if strings.EqualFold(name, "exists") && len(e.Args) == 1 {
		return b.existsFunc(c, e)
	}
	def, ok := expr.Lookup(name)
	if !ok {
		var all []string
		for _, d := range expr.Functions() {
			all = append(all, d.Name)
		}
		hint := ""
		if s := Similar(name, all); s != "" {
			hint = "Did you mean `" + s + "`?"
		}
		b.failHint(dberr.UndefinedFunction, "UnknownFunction", e, hint, "unknown function `%s`", name)
	}
	if def.Aggregate {
		return b.aggregate(c, e, name, e.Args, e.Distinct)
	}
	if e.Distinct {
		b.fail(dberr.Syntax, "UnexpectedSyntax", e, "DISTINCT is for aggregating functions; `%s` is none", def.Name)
	}
	if x := b.csvFunction(c, e, name); x != nil {
		return x
	}
	args := b.exprs(c.value(), e.Args)
	if def.Name == "point" && len(args) == 1 && args[0].Type().May(expr.TEntity.Kinds) && !args[0].Type().Is(expr.TMap.Kinds) {
		args[0] = b.call(e.Args[0], "properties", args[0]) // a point from the properties of a node or relationship
	}
	types := make([]expr.Type, len(args))
	for i, a := range args {
		types[i] = a.Type()
	}
	t, err := def.Check(types)
	if err != nil {
		panic(&fault{compileErr(err, e)})
	}
	if c.agg == aggInside && def.Vol == expr.Volatile {
		b.fail(dberr.Syntax, "NonConstantExpression", e, "`%s` cannot be used inside an aggregating function", def.Name)
	}
	return &expr.Func{Base: at(e, refine(def.Name, args, t)), Def: def, Args: args}
}

// existsFunc binds exists(pattern) and the old exists(n.p).
func (b *binder) existsFunc(c ectx, e *cypher.Func) expr.Expr {
	switch a := e.Args[0].(type) {
	case *cypher.PatternExpr:
		return b.patternExpr(c.bool(), a)
	case *cypher.Property, *cypher.Index:
		return &expr.Unary{Base: at(e, expr.TBool), Op: expr.OpIsNotNull, X: b.expr(c.value(), a)}
	}
	b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", e.Args[0], "exists() takes a pattern or a property")
	return nil
}

func (b *binder) aggregate(c ectx, n spanned, name string, args []cypher.Expr, distinct bool) expr.Expr {
	switch c.agg {
	case aggNo:
		b.fail(dberr.GroupingError, "InvalidAggregation", n, "aggregating function `%s` cannot be used here (%s)", name, c.where)
	case aggInside:
		b.fail(dberr.GroupingError, "NestedAggregation", n, "aggregating functions cannot be nested")
	}
	def, ok := expr.Lookup(name)
	if !ok {
		b.fail(dberr.Internal, "", n, "binder: function %s is missing", name)
	}
	c.agg = aggInside
	a := &expr.Agg{Def: def, Distinct: distinct}
	a.Args = b.exprs(c.value(), args)
	t := expr.TInt
	if _, star := n.(*cypher.CountStar); !star {
		types := make([]expr.Type, len(a.Args))
		for i, x := range a.Args {
			types[i] = x.Type()
		}
		var err error
		if t, err = def.Check(types); err != nil {
			panic(&fault{compileErr(err, n)})
		}
		t = refine(def.Name, a.Args, t)
	}
	a.Base = at(n, t)
	return a
}

// refine sharpens a function's result by what is known of its arguments.
func refine(name string, args []expr.Expr, t expr.Type) expr.Type {
	arg := func(i int) expr.Type {
		if i < len(args) {
			return args[i].Type()
		}
		return expr.Any
	}
	switch name {
	case "collect":
		e := arg(0)
		e.Kinds &^= 1 << value.Null
		if e.Kinds == 0 {
			return t
		}
		return expr.ListOf(e)
	case "head", "last":
		if arg(0).Is(expr.TList.Kinds) && arg(0).Kinds.Has(value.List) {
			return arg(0).Element()
		}
	case "tail", "reverse":
		if arg(0).Is(expr.TList.Kinds) && arg(0).Kinds.Has(value.List) {
			return arg(0)
		}
	case "coalesce":
		u := arg(0)
		for i := 1; i < len(args); i++ {
			u = u.Union(arg(i))
		}
		return u
	case "min", "max":
		return arg(0)
	case "nodes":
		return expr.ListOf(expr.TNode)
	case "relationships", "rels":
		return expr.ListOf(expr.TRel)
	case "startNode", "endNode":
		return expr.TNode
	}
	return t
}

func (b *binder) caseExpr(c ectx, e *cypher.Case) expr.Expr {
	out := &expr.Case{}
	var subject expr.Expr
	if e.Operand != nil {
		subject = b.expr(c.value(), e.Operand)
	}
	extended := false
	for _, w := range e.Whens {
		for _, k := range w.Conds {
			extended = extended || hasCaseOperand(k)
		}
		extended = extended || len(w.Conds) > 1
	}
	var once func(expr.Expr) expr.Expr
	if extended && subject != nil && isVolatile(subject) {
		// The branches compare one value: it becomes the only element of a list, and a variable in the branches.
		c, subject, once = b.evalOnce(c, e.Operand, subject)
	}
	in := c
	if subject != nil {
		in.caseOp = subject
	}
	var t expr.Type
	join := func(x expr.Expr) {
		if t.Kinds == 0 {
			t = x.Type()
		} else {
			t = t.Union(x.Type())
		}
	}
	for _, w := range e.Whens {
		var cond expr.Expr
		switch {
		case subject == nil:
			cond = b.expr(c.bool(), w.Conds[0])
			b.wantBool(cond, w.Conds[0])
		case !extended:
			cond = b.expr(c.value(), w.Conds[0])
		default:
			var alts []expr.Expr
			for _, k := range w.Conds {
				if hasCaseOperand(k) {
					alts = append(alts, b.expr(in.bool(), k))
				} else {
					alts = append(alts, &expr.Binary{Base: at(k, expr.TBool), Op: expr.OpEq, L: subject, R: b.expr(c.value(), k)})
				}
			}
			cond = alts[0]
			if len(alts) > 1 {
				cond = &expr.Or{Base: at(w, expr.TBool), Args: alts}
			}
		}
		then := b.expr(c.value(), w.Then)
		join(then)
		out.Whens = append(out.Whens, expr.When{Cond: cond, Then: then})
	}
	if !extended {
		out.Subject = subject
	}
	if e.Else != nil {
		out.Else = b.expr(c.value(), e.Else)
		join(out.Else)
	} else {
		t = t.Union(expr.TNull)
	}
	out.Base = at(e, t)
	if once != nil {
		return once(out)
	}
	return out
}

// evalOnce gives x a variable, in a scope of its own; once closes the scope around what is made of it.
func (b *binder) evalOnce(c ectx, n cypher.Expr, x expr.Expr) (in ectx, v expr.Expr, once func(expr.Expr) expr.Expr) {
	in, local := b.lambda(c, &cypher.Ident{Span: cypher.Span{Start: int32(n.Pos()), Stop: int32(n.End())}, Name: " once"}, x.Type())
	return in, local.Col(n.Pos(), n.End()), func(body expr.Expr) expr.Expr {
		list := &expr.ListLit{Base: at(n, expr.ListOf(x.Type())), Elems: []expr.Expr{x}}
		return b.call(n, "head", &expr.ListComp{Base: at(n, expr.ListOf(body.Type())), Slot: local.Slot, List: list, Map: body})
	}
}

// isVolatile reports whether two evaluations of an expression may differ.
func isVolatile(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		f, ok := x.(*expr.Func)
		found = found || ok && f.Def.Vol == expr.Volatile
		return !found
	})
	return found
}

// hasCaseOperand reports whether a branch of an extended CASE compares its operand: the operand stands at the left end.
func hasCaseOperand(e cypher.Expr) bool {
	for {
		switch x := e.(type) {
		case *cypher.CaseOperand:
			return true
		case *cypher.Compare:
			e = x.Operands[0]
		case *cypher.Binary:
			e = x.L
		case *cypher.IsNull:
			e = x.X
		case *cypher.IsType:
			e = x.X
		case *cypher.IsNormalized:
			e = x.X
		case *cypher.HasLabels:
			e = x.X
		default:
			return false
		}
	}
}

func (b *binder) mapProjection(c ectx, e *cypher.MapProjection) expr.Expr {
	x := b.expr(c.value(), e.X)
	if !x.Type().May(expr.TEntity.Kinds | expr.TMap.Kinds) {
		b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", e.X, "a map projection needs a Node, Relationship or Map, found %s", x.Type())
	}
	out := &expr.MapProj{Base: at(e, expr.TMap), X: x}
	for _, it := range e.Items {
		switch it.Kind {
		case cypher.EntryAll:
			out.Items = append(out.Items, expr.ProjItem{All: true})
		case cypher.EntryProperty:
			out.Items = append(out.Items, expr.ProjItem{Key: it.Key.Name})
		case cypher.EntryVariable:
			out.Items = append(out.Items, expr.ProjItem{Key: it.Key.Name, Val: b.variable(c, it.Key, it.Key.Name)})
		case cypher.EntryValue:
			out.Items = append(out.Items, expr.ProjItem{Key: it.Key.Name, Val: b.expr(c.value(), it.Value)})
		}
	}
	return out
}

// count binds the expression of SKIP or LIMIT.
func (b *binder) count(e cypher.Expr, where string) expr.Expr {
	if e == nil {
		return nil
	}
	x := b.expr(ectx{sc: newScope(nil), where: where, const_: true}, e)
	if k, ok := x.(*expr.Const); ok {
		switch {
		case k.V.Kind() == value.Int && k.V.Int() < 0:
			b.fail(dberr.Syntax, "NegativeIntegerArgument", e, "%s must not be negative", where)
		case k.V.Kind() != value.Int:
			b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", e, "%s must be an integer, found %s", where, x.Type())
		}
		return x
	}
	if !x.Type().May(expr.TInt.Kinds) || x.Type().Kinds == expr.TNull.Kinds {
		b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", e, "%s must be an integer, found %s", where, x.Type())
	}
	return x
}
