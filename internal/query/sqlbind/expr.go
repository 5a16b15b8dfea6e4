package sqlbind

import (
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// texpr is an expression with its SQL type. A parameter whose type is not known yet has param > 0 and type unknown.
type texpr struct {
	e     expr.Expr
	t     *sqltype.Type
	param int
}

func constant(v value.Value, t *sqltype.Type) texpr { return texpr{e: &expr.Const{V: v}, t: t} }

// call makes a call of a function that is not in the table. Equal names mean the same function, so that two equal expressions of a statement
// are found to be equal: whatever f depends on besides its arguments is part of the name.
func (b *binder) call(name string, nullIn bool, f func([]value.Value) (value.Value, error), args ...expr.Expr) expr.Expr {
	return &expr.Func{Def: b.def(name, nullIn, expr.Pure, f), Args: args}
}

func (b *binder) def(name string, nullIn bool, vol expr.Volatility, f func([]value.Value) (value.Value, error)) *expr.Def {
	d := b.defs[name]
	if d == nil {
		d = expr.NewFunc(name, nullIn, vol, f)
		if b.defs == nil {
			b.defs = map[string]*expr.Def{}
		}
		b.defs[name] = d
	}
	return d
}

func (b *binder) expr(e sql.Expr, sc *scope) texpr {
	switch e := e.(type) {
	case *sql.NullLit:
		return constant(value.Value{}, sqltype.Unknown)
	case *sql.BoolLit:
		return constant(value.NewBool(e.Value), sqltype.Bool)
	case *sql.IntLit:
		t := sqltype.Int4
		if e.Value != int64(int32(e.Value)) {
			t = sqltype.Int8
		}
		return constant(value.NewInt(e.Value), t)
	case *sql.NumericLit:
		v, err := sqltype.Parse(sqltype.Numeric, e.Text)
		b.check(e, err)
		return constant(v, sqltype.Numeric)
	case *sql.StringLit:
		return constant(value.NewString(e.Value), sqltype.Unknown)
	case *sql.Param:
		return b.param(e)
	case *sql.ColumnRef:
		return b.column(e, sc)
	case *sql.Star:
		b.fail(e, dberr.Syntax, "row expansion via \"*\" is not supported here")
	case *sql.Logic:
		var args []expr.Expr
		for _, a := range e.Args {
			args = append(args, b.coerce(a, b.expr(a, sc), sqltype.Bool, implicit).e)
		}
		if e.Or {
			return texpr{e: &expr.Or{Args: args}, t: sqltype.Bool}
		}
		return texpr{e: &expr.And{Args: args}, t: sqltype.Bool}
	case *sql.Not:
		x := b.coerce(e.X, b.expr(e.X, sc), sqltype.Bool, implicit)
		return texpr{e: &expr.Unary{Op: expr.OpNot, X: x.e}, t: sqltype.Bool}
	case *sql.Is:
		return b.is(e, sc)
	case *sql.IsDistinct:
		l, r := b.unify(e, b.expr(e.L, sc), b.expr(e.R, sc))
		not := e.Not
		return texpr{e: b.call(map[bool]string{false: "IS DISTINCT FROM", true: "IS NOT DISTINCT FROM"}[not], true, func(a []value.Value) (value.Value, error) {
			return value.NewBool((value.Compare(a[0], a[1]) == 0) == not), nil
		}, l.e, r.e), t: sqltype.Bool}
	case *sql.Between:
		return b.between(e, sc)
	case *sql.In:
		return b.in(e, sc)
	case *sql.Like:
		return b.like(e, sc)
	case *sql.Quantified:
		return b.quantified(e, sc)
	case *sql.Binary:
		return b.operator(e, e.Op, b.expr(e.L, sc), b.expr(e.R, sc))
	case *sql.Unary:
		return b.unary(e, b.expr(e.X, sc))
	case *sql.Func:
		return b.function(e, sc)
	case *sql.SystemValue:
		return b.system(e)
	case *sql.Case:
		return b.caseExpr(e, sc)
	case *sql.Cast:
		x := b.expr(e.X, sc)
		if e.Type.Name.Last() == "cstring" {
			return x
		}
		return b.coerce(e, x, b.typeName(e.Type), explicit)
	case *sql.Collate:
		return b.expr(e.X, sc)
	case *sql.Array:
		return b.array(e, sc)
	case *sql.Subscript:
		return b.subscript(e, sc)
	case *sql.Row:
		var xs []expr.Expr
		for _, el := range e.Elems {
			xs = append(xs, b.expr(el, sc).e)
		}
		return texpr{e: &expr.ListLit{Elems: xs}, t: sqltype.Record}
	case *sql.Exists:
		return texpr{e: b.subquery(e.Query, sc, expr.SubExists, 0), t: sqltype.Bool}
	case *sql.Subquery:
		return b.scalar(e, sc)
	case *sql.ArrayQuery:
		r, x := b.collect(e.Query, sc)
		t := sqltype.ByName(r.cols[0].typ.Internal + "[]")
		if t == nil {
			t = sqltype.TextArray
		}
		return texpr{e: x, t: t}
	}
	b.unsupported(e, "this expression")
	return texpr{}
}

func (b *binder) param(e *sql.Param) texpr {
	i := e.N - 1
	if i < 0 || i >= len(b.params) {
		b.fail(e, dberr.MissingParameter, "there is no parameter $%d", e.N)
	}
	x := texpr{e: &expr.Param{Name: "", Index: i}, t: b.params[i]}
	if x.t == nil || x.t == sqltype.Unknown {
		x.t, x.param = sqltype.Unknown, e.N
	}
	return x
}

func (b *binder) column(e *sql.ColumnRef, sc *scope) texpr {
	name := e.Parts[len(e.Parts)-1].Name
	table := ""
	if len(e.Parts) > 1 {
		table = e.Parts[len(e.Parts)-2].Name
	}
	tableSeen := false
	for s := sc; s != nil; s = s.up {
		var found *col
		for i := range s.cols {
			c := &s.cols[i]
			if table != "" && c.table == table {
				tableSeen = true
			}
			if c.name != name || table != "" && c.table != table || table == "" && c.hidden {
				continue
			}
			if found != nil && found.slot != c.slot {
				b.fail(e, dberr.AmbiguousColumn, "column reference %q is ambiguous", name)
			}
			found = c
		}
		if found != nil {
			for inner := sc; inner != s; inner = inner.up {
				if inner.free != nil {
					inner.free[found.slot] = true
				}
			}
			return texpr{e: colExpr(*found), t: found.typ}
		}
	}
	switch {
	case table != "" && !tableSeen:
		b.fail(e, dberr.UndefinedTable, "missing FROM-clause entry for table %q", table)
	case table != "":
		b.fail(e, dberr.UndefinedVariable, "column %s.%s does not exist", table, name)
	}
	b.fail(e, dberr.UndefinedVariable, "column %q does not exist", name)
	return texpr{}
}

func (b *binder) is(e *sql.Is, sc *scope) texpr {
	x := b.expr(e.X, sc)
	var want value.Value
	switch e.What {
	case sql.IsNull:
		op := expr.OpIsNull
		if e.Not {
			op = expr.OpIsNotNull
		}
		if x.param > 0 {
			x = b.coerce(e, x, sqltype.Text, implicit)
		}
		return texpr{e: &expr.Unary{Op: op, X: x.e}, t: sqltype.Bool}
	case sql.IsTrue:
		want = value.NewBool(true)
	case sql.IsFalse:
		want = value.NewBool(false)
	case sql.IsUnknown:
	default:
		b.unsupported(e, "this IS test")
	}
	x = b.coerce(e.X, x, sqltype.Bool, implicit)
	not := e.Not
	name := "IS " + map[bool]string{true: "NOT "}[not] + strings.ToUpper(string(value.AppendAgtype(nil, want)))
	return texpr{e: b.call(name, true, func(a []value.Value) (value.Value, error) {
		return value.NewBool((value.Compare(a[0], want) == 0) != not), nil
	}, x.e), t: sqltype.Bool}
}

func (b *binder) between(e *sql.Between, sc *scope) texpr {
	x, lo, hi := b.expr(e.X, sc), b.expr(e.Lo, sc), b.expr(e.Hi, sc)
	within := func(lo, hi texpr) expr.Expr {
		return &expr.And{Args: []expr.Expr{b.compare(e, ">=", x, lo).e, b.compare(e, "<=", x, hi).e}}
	}
	out := within(lo, hi)
	if e.Symmetric {
		out = &expr.Or{Args: []expr.Expr{out, within(hi, lo)}}
	}
	return b.negate(out, e.Not)
}

func (b *binder) negate(e expr.Expr, not bool) texpr {
	if not {
		e = &expr.Unary{Op: expr.OpNot, X: e}
	}
	return texpr{e: e, t: sqltype.Bool}
}

func (b *binder) in(e *sql.In, sc *scope) texpr {
	x := b.expr(e.X, sc)
	if e.Query != nil {
		r, list := b.collect(e.Query, sc)
		x = b.coerceLike(e, x, r.cols[0].typ)
		return b.negate(b.anyOf("=", false, x.e, list), e.Not)
	}
	or := &expr.Or{}
	for _, el := range e.List {
		or.Args = append(or.Args, b.compare(el, "=", x, b.expr(el, sc)).e)
	}
	if len(or.Args) == 1 {
		return b.negate(or.Args[0], e.Not)
	}
	return b.negate(or, e.Not)
}

// coerceLike gives an unknown constant or parameter another's type.
func (b *binder) coerceLike(n sql.Node, x texpr, t *sqltype.Type) texpr {
	if x.t == sqltype.Unknown || x.t == t {
		return b.coerce(n, x, t, implicit)
	}
	return x
}

// anyOf compares a value with the elements of a list: op ANY, or op ALL.
func (b *binder) anyOf(op string, all bool, x, list expr.Expr) expr.Expr {
	test := compareOps[op]
	name := op + " ANY"
	if all {
		name = op + " ALL"
	}
	return b.call(name, true, func(a []value.Value) (value.Value, error) {
		if a[1].IsNull() {
			return value.Value{}, nil
		}
		if a[1].Kind() != value.List {
			return value.Value{}, dberr.New(dberr.DatatypeMismatch, "op ANY/ALL (array) requires array on right side")
		}
		unknown := false
		for i := range a[1].Len() {
			v := a[1].At(i)
			if v.IsNull() || a[0].IsNull() {
				unknown = true
				continue
			}
			if test(value.Compare(a[0], v)) != all {
				return value.NewBool(!all), nil
			}
		}
		if unknown {
			return value.Value{}, nil
		}
		return value.NewBool(all), nil
	}, x, list)
}

func (b *binder) quantified(e *sql.Quantified, sc *scope) texpr {
	x := b.expr(e.X, sc)
	op := e.Op.Name
	if op == "!=" {
		op = "<>"
	}
	if compareOps[op] == nil {
		b.unsupported(e, "this operator with ANY or ALL")
	}
	if e.Query != nil {
		r, list := b.collect(e.Query, sc)
		x = b.coerceLike(e, x, r.cols[0].typ)
		return texpr{e: b.anyOf(op, e.All, x.e, list), t: sqltype.Bool}
	}
	a := b.expr(e.Array, sc)
	if a.t == sqltype.Unknown {
		t := x.t
		if t == sqltype.Unknown {
			t = sqltype.Text
		}
		arr := sqltype.ByName(t.Internal + "[]")
		if arr == nil {
			arr = sqltype.TextArray
		}
		a = b.coerce(e.Array, a, arr, implicit)
	}
	if a.t.Elem != nil {
		x = b.coerceLike(e, x, a.t.Elem)
	}
	return texpr{e: b.anyOf(op, e.All, x.e, a.e), t: sqltype.Bool}
}

func (b *binder) array(e *sql.Array, sc *scope) texpr {
	var xs []texpr
	for _, el := range e.Elems {
		xs = append(xs, b.expr(el, sc))
	}
	if len(xs) == 0 {
		b.fail(e, dberr.IndeterminateDatatype, "cannot determine type of empty array")
	}
	t := b.common(e, xs)
	arr := sqltype.ByName(t.Internal + "[]")
	if arr == nil {
		b.unsupported(e, "an array of "+t.Name)
	}
	list := &expr.ListLit{}
	for i, x := range xs {
		list.Elems = append(list.Elems, b.coerce(e.Elems[i], x, t, implicit).e)
	}
	return texpr{e: list, t: arr}
}

func (b *binder) subscript(e *sql.Subscript, sc *scope) texpr {
	x := b.expr(e.X, sc)
	if e.Slice {
		b.unsupported(e, "an array slice")
	}
	if x.t.Elem == nil {
		b.fail(e, dberr.DatatypeMismatch, "cannot subscript type %s because it does not support subscripting", x.t.Name)
	}
	i := b.coerce(e.From, b.expr(e.From, sc), sqltype.Int8, implicit)
	return texpr{e: b.call("subscript", false, func(a []value.Value) (value.Value, error) {
		if i := a[1].Int(); a[0].Kind() == value.List && i >= 1 && i <= int64(a[0].Len()) {
			return a[0].At(int(i - 1)), nil
		}
		return value.Value{}, nil
	}, x.e, i.e), t: x.t.Elem}
}

func (b *binder) caseExpr(e *sql.Case, sc *scope) texpr {
	out := &expr.Case{}
	var results []texpr
	for _, w := range e.Whens {
		var cond texpr
		if e.Operand != nil {
			cond = b.compare(w, "=", b.expr(e.Operand, sc), b.expr(w.Cond, sc))
		} else {
			cond = b.coerce(w.Cond, b.expr(w.Cond, sc), sqltype.Bool, implicit)
		}
		out.Whens = append(out.Whens, expr.When{Cond: cond.e})
		results = append(results, b.expr(w.Then, sc))
	}
	if e.Else != nil {
		results = append(results, b.expr(e.Else, sc))
	}
	t := b.common(e, results)
	for i := range out.Whens {
		out.Whens[i].Then = b.coerce(e.Whens[i].Then, results[i], t, implicit).e
	}
	if e.Else != nil {
		out.Else = b.coerce(e.Else, results[len(results)-1], t, implicit).e
	}
	return texpr{e: out, t: t}
}

// ---- subqueries -------------------------------------------------------------------------------------------------------

// subquery makes an expression of a query; column is the output that COLLECT gathers.
func (b *binder) subquery(q *sql.Query, sc *scope, kind expr.SubplanKind, column int) expr.Expr {
	_, e := b.nested(q, sc, kind, column)
	return e
}

func (b *binder) collect(q *sql.Query, sc *scope) (*rel, expr.Expr) {
	r, e := b.nested(q, sc, expr.SubCollect, 0)
	if len(r.cols) != 1 {
		b.fail(q, dberr.Syntax, "subquery must return only one column")
	}
	return r, e
}

func (b *binder) nested(q *sql.Query, sc *scope, kind expr.SubplanKind, column int) (*rel, expr.Expr) {
	inner := &scope{up: sc, free: map[plan.Slot]bool{}}
	first := len(b.slots)
	r := b.query(q, inner)
	var free []plan.Slot
	for s := range inner.free {
		if s < first {
			free = append(free, s)
		}
	}
	slices.Sort(free)
	// The rows of the subquery hang below an Argument that hands down the outer row, so that every branch may read it.
	row := b.slot("")
	arg := &plan.Argument{Args: free, RowID: row}
	root := graft(r.node, arg)
	if root == nil {
		b.unsupported(q, "this subquery in an expression")
	}
	from := plan.NoSlot
	if kind == expr.SubCollect && column < len(r.cols) {
		from = r.cols[column].slot
	}
	return r, &expr.Subplan{Kind: kind, Free: free, Plan: &plan.Subplan{Root: root, RowID: row, From: from, Args: free}}
}

// graft puts an Argument below the leaves of a plan; nil if a part of it cannot be run for a batch of outer rows.
func graft(n plan.Node, arg *plan.Argument) plan.Node {
	child := func(c plan.Node) plan.Node { return graft(c, arg) }
	part := []plan.Slot{arg.RowID}
	switch n := n.(type) {
	case *plan.SingleRow:
		return arg
	case *plan.External:
		if n.Child == nil {
			n.Child = arg
			return n
		}
		if n.Child = child(n.Child); n.Child == nil {
			return nil
		}
		return n
	case *plan.Filter:
		if n.Child = child(n.Child); n.Child == nil {
			return nil
		}
		return n
	case *plan.Project:
		if n.Child = child(n.Child); n.Child == nil {
			return nil
		}
		return n
	case *plan.Aggregate:
		if n.Child = child(n.Child); n.Child == nil {
			return nil
		}
		n.Part = part
		return n
	case *plan.Distinct:
		if n.Child = child(n.Child); n.Child == nil {
			return nil
		}
		n.Part = part
		return n
	case *plan.Sort:
		if n.Child = child(n.Child); n.Child == nil {
			return nil
		}
		n.Part = part
		return n
	case *plan.Skip:
		if n.Child = child(n.Child); n.Child == nil {
			return nil
		}
		n.Part = part
		return n
	case *plan.Limit:
		if n.Child = child(n.Child); n.Child == nil {
			return nil
		}
		n.Part = part
		return n
	case *plan.CartesianProduct:
		// Only the left branch carries the outer row; the right one must not need it.
		if n.Left = child(n.Left); n.Left == nil || readsAny(n.Right, arg.Args) {
			return nil
		}
		return n
	case *plan.HashJoin:
		if n.Left = child(n.Left); n.Left == nil || readsAny(n.Right, arg.Args) {
			return nil
		}
		n.Left.Info().Out = nil // the outer row goes on
		return n
	case *plan.LoopJoin:
		if n.Kind == plan.LoopRight || n.Kind == plan.LoopFull {
			return nil
		}
		if n.Left = child(n.Left); n.Left == nil || readsAny(n.Right, arg.Args) {
			return nil
		}
		n.Left.Info().Out = nil
		return n
	}
	return nil
}

// readsAny reports whether a plan reads one of the slots, which it does not fill itself.
func readsAny(n plan.Node, slots []plan.Slot) bool {
	found := false
	look := func(es ...expr.Expr) {
		for _, e := range es {
			if e == nil {
				continue
			}
			expr.Walk(e, func(x expr.Expr) bool {
				switch x := x.(type) {
				case *expr.Col:
					found = found || slices.Contains(slots, x.Slot)
				case *expr.Subplan:
					for _, s := range x.Free {
						found = found || slices.Contains(slots, s)
					}
				}
				return true
			})
		}
	}
	items := func(list []plan.Item) {
		for _, it := range list {
			look(it.Expr)
		}
	}
	switch n := n.(type) {
	case *plan.External:
		look(n.Args...)
	case *plan.Filter:
		look(n.Preds...)
	case *plan.Project:
		items(n.Items)
	case *plan.Distinct:
		items(n.Keys)
	case *plan.Aggregate:
		items(n.Keys)
		for _, a := range n.Aggs {
			look(a.Call)
		}
	case *plan.Limit:
		look(n.Count)
	case *plan.Skip:
		look(n.Count)
	case *plan.HashJoin:
		for _, k := range n.Keys {
			look(k.Left, k.Right)
		}
	case *plan.LoopJoin:
		look(n.Pred)
	case *plan.Values:
		for _, row := range n.Rows {
			look(row...)
		}
	}
	for _, c := range n.Children() {
		found = found || c != nil && readsAny(c, slots)
	}
	return found
}

func (b *binder) scalar(e *sql.Subquery, sc *scope) texpr {
	r, list := b.collect(e.Query, sc)
	return texpr{e: b.call("subquery", false, func(a []value.Value) (value.Value, error) {
		switch a[0].Len() {
		case 0:
			return value.Value{}, nil
		case 1:
			return a[0].At(0), nil
		}
		return value.Value{}, dberr.New(dberr.CardinalityViolation, "more than one row returned by a subquery used as an expression")
	}, list), t: r.cols[0].typ}
}

// ---- LIKE -------------------------------------------------------------------------------------------------------------

func (b *binder) like(e *sql.Like, sc *scope) texpr {
	if e.Kind == sql.LikeSimilar {
		b.unsupported(e, "SIMILAR TO")
	}
	x := b.coerce(e.X, b.expr(e.X, sc), sqltype.Text, implicit)
	p := b.coerce(e.Pattern, b.expr(e.Pattern, sc), sqltype.Text, implicit)
	esc := texpr{e: &expr.Const{V: value.NewString(`\`)}}
	if e.Escape != nil {
		esc = b.coerce(e.Escape, b.expr(e.Escape, sc), sqltype.Text, implicit)
	}
	return b.negate(b.likeCall(x.e, p.e, esc.e, e.Kind == sql.LikeILike), e.Not)
}

func (b *binder) likeCall(x, p, esc expr.Expr, fold bool) expr.Expr {
	name := "LIKE"
	if fold {
		name = "ILIKE"
	}
	return b.call(name, false, func(a []value.Value) (value.Value, error) {
		s, p := a[0].Str(), a[1].Str()
		if fold {
			s, p = strings.ToLower(s), strings.ToLower(p)
		}
		return value.NewBool(like([]rune(s), []rune(p), []rune(a[2].Str()))), nil
	}, x, p, esc)
}

// like matches a pattern without recursion: on a mismatch it goes back to the last %.
func like(s, p, esc []rune) bool {
	i, j, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case j < len(p) && p[j] == '%':
			star, mark = j, i
			j++
			continue
		case j < len(p) && len(esc) == 1 && p[j] == esc[0] && j+1 < len(p):
			if p[j+1] == s[i] {
				i, j = i+1, j+2
				continue
			}
		case j < len(p) && (p[j] == '_' || p[j] == s[i]):
			i, j = i+1, j+1
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		i, j = mark, star+1
	}
	for j < len(p) && p[j] == '%' {
		j++
	}
	return j == len(p)
}
