package sqlbind

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// from binds the items of FROM and joins them.
func (b *binder) from(items []sql.TableExpr, up *scope) *rel {
	if len(items) == 0 {
		return &rel{node: &plan.SingleRow{}}
	}
	out := b.tableExpr(items[0], up, nil)
	for _, it := range items[1:] {
		r := b.tableExpr(it, up, out)
		b.sameName(it, out, r)
		if e, ok := r.node.(*plan.External); ok && e.Child != nil {
			out = &rel{node: r.node, cols: append(out.cols[:len(out.cols):len(out.cols)], r.cols...)} // it reads what stands left of it
			continue
		}
		out = &rel{node: &plan.CartesianProduct{Left: out.node, Right: keep(r)}, cols: append(out.cols[:len(out.cols):len(out.cols)], r.cols...)}
	}
	return out
}

// keep makes a relation's columns all that goes on, for the side of a join that is read once.
func keep(r *rel) plan.Node {
	r.node.Info().Out = r.slots()
	return r.node
}

func (b *binder) sameName(n sql.Node, l, r *rel) {
	names := map[string]bool{}
	for _, c := range l.cols {
		names[c.table] = true
	}
	for _, c := range r.cols {
		if c.table != "" && names[c.table] {
			b.fail(n, dberr.DuplicateAlias, "table name %q specified more than once", c.table)
		}
	}
}

// tableExpr binds one item. left is what stands left of it, for functions that read it.
func (b *binder) tableExpr(t sql.TableExpr, up *scope, left *rel) *rel {
	switch t := t.(type) {
	case *sql.TableRef:
		r := b.tableRef(t)
		return b.alias(t, r, t.Alias, t.Name.Last())
	case *sql.SubqueryTable:
		if t.Lateral && left != nil {
			b.unsupported(t, "LATERAL over a subquery")
		}
		r := b.query(t.Query, up)
		return b.alias(t, r, t.Alias, "")
	case *sql.FuncTable:
		return b.funcTable(t, up, left)
	case *sql.Join:
		return b.join(t, up)
	}
	b.unsupported(t, "this item of FROM")
	return nil
}

func (b *binder) tableRef(t *sql.TableRef) *rel {
	if t.Sample != nil {
		b.unsupported(t, "TABLESAMPLE")
	}
	if t.Name.Schema() == "" {
		for i := len(b.ctes) - 1; i >= 0; i-- {
			c := b.ctes[i]
			if c.name != t.Name.Last() {
				continue
			}
			mark := b.ctes
			b.ctes = c.up
			r := b.query(c.cte.Body.(*sql.Query), nil)
			b.ctes = mark
			for i, name := range c.cte.Columns {
				if i >= len(r.cols) {
					b.fail(name, dberr.Syntax, "WITH query %q has %d columns available but %d columns specified", c.name, len(r.cols), len(c.cte.Columns))
				}
				r.cols[i].name = name.Name
			}
			return r
		}
	}
	found, err := b.cat.Relation(t.Name.Schema(), t.Name.Last())
	b.check(t.Name, err)
	if found == nil {
		name := t.Name.Last()
		if s := t.Name.Schema(); s != "" {
			name = s + "." + name
		}
		b.fail(t.Name, dberr.UndefinedTable, "relation %q does not exist", name)
	}
	e := &plan.External{Source: found.Source, Ordinality: plan.NoSlot}
	r := &rel{node: e}
	for _, c := range found.Columns {
		s := b.slot(c.Name)
		e.Cols = append(e.Cols, s)
		r.cols = append(r.cols, col{schema: t.Name.Schema(), name: c.Name, slot: s, typ: c.Type})
	}
	return r
}

// alias names a relation and its columns.
func (b *binder) alias(n sql.Node, r *rel, a *sql.Alias, name string) *rel {
	if a != nil && a.Name != nil {
		name = a.Name.Name
	}
	for i := range r.cols {
		r.cols[i].table = name
		r.cols[i].hidden = false
	}
	if a != nil {
		for i, c := range a.Columns {
			if i >= len(r.cols) {
				b.fail(c, dberr.Syntax, "table %q has %d columns available but %d columns specified", name, len(r.cols), len(a.Columns))
			}
			r.cols[i].name = c.Name
		}
	}
	return r
}

func (b *binder) join(j *sql.Join, up *scope) *rel {
	l := b.tableExpr(j.L, up, nil)
	r := b.tableExpr(j.R, up, l)
	b.sameName(j, l, r)
	out := &rel{cols: append(l.cols[:len(l.cols):len(l.cols)], r.cols...)}
	if e, ok := r.node.(*plan.External); ok && e.Child != nil {
		if j.Kind != sql.CrossJoin && j.Kind != sql.InnerJoin {
			b.unsupported(j, "an outer join with a function that reads its left side")
		}
		out.node = r.node
		if j.On != nil {
			x := b.coerce(j.On, b.expr(j.On, &scope{cols: out.cols, up: up, what: "JOIN conditions"}), sqltype.Bool, implicit)
			out.node = &plan.Filter{Child: out.node, Preds: []expr.Expr{x.e}}
		}
		return b.joinAlias(j, out)
	}
	var preds []texpr
	using := j.Using
	if j.Natural {
		for i := range l.cols {
			for k := range r.cols {
				if l.cols[i].name == r.cols[k].name {
					using = append(using, &sql.Ident{Span: j.Span, Name: l.cols[i].name})
				}
			}
		}
	}
	for _, u := range using {
		lc, rc := b.named(u, l.cols, "left"), b.named(u, r.cols, "right")
		preds = append(preds, b.compare(u, "=", texpr{e: colExpr(*lc), t: lc.typ}, texpr{e: colExpr(*rc), t: rc.typ}))
		for i := range out.cols {
			if out.cols[i].slot == rc.slot && j.Kind != sql.RightJoin || out.cols[i].slot == lc.slot && j.Kind == sql.RightJoin {
				out.cols[i].hidden = true
			}
		}
	}
	if j.On != nil {
		for _, e := range conjuncts(j.On) {
			x := b.expr(e, &scope{cols: out.cols, up: up, what: "JOIN conditions"})
			preds = append(preds, b.coerce(e, x, sqltype.Bool, implicit))
		}
	}
	left, right := keep(l), keep(r)
	if j.Kind == sql.InnerJoin || j.Kind == sql.CrossJoin || j.Kind == sql.LeftJoin {
		if n, rest := b.hash(left, right, l, r, preds); n != nil && (len(rest) == 0 || j.Kind == sql.InnerJoin) {
			if j.Kind == sql.LeftJoin {
				n.Kind, n.Nulls = plan.JoinLeft, r.slots()
			}
			out.node = n
			if len(rest) > 0 {
				out.node = &plan.Filter{Child: n, Preds: rest}
			}
			return b.joinAlias(j, out)
		}
	}
	var pred expr.Expr
	if len(preds) == 1 {
		pred = preds[0].e
	} else if len(preds) > 1 {
		and := &expr.And{}
		for _, p := range preds {
			and.Args = append(and.Args, p.e)
		}
		pred = and
	}
	kind := map[sql.JoinKind]plan.LoopKind{sql.LeftJoin: plan.LoopLeft, sql.RightJoin: plan.LoopRight, sql.FullJoin: plan.LoopFull}[j.Kind]
	out.node = &plan.LoopJoin{Left: left, Right: right, Kind: kind, Pred: pred, LeftCols: l.slots(), RightCols: r.slots()}
	return b.joinAlias(j, out)
}

func (b *binder) joinAlias(j *sql.Join, r *rel) *rel {
	if j.Alias == nil {
		return r
	}
	visible := &rel{node: r.node}
	for _, c := range r.cols {
		if !c.hidden {
			visible.cols = append(visible.cols, c)
		}
	}
	return b.alias(j, visible, j.Alias, "")
}

func conjuncts(e sql.Expr) []sql.Expr {
	if l, ok := e.(*sql.Logic); ok && !l.Or {
		var out []sql.Expr
		for _, a := range l.Args {
			out = append(out, conjuncts(a)...)
		}
		return out
	}
	return []sql.Expr{e}
}

func (b *binder) named(u *sql.Ident, cols []col, side string) *col {
	var found *col
	for i := range cols {
		if cols[i].name == u.Name && !cols[i].hidden {
			if found != nil {
				b.fail(u, dberr.AmbiguousColumn, "common column name %q appears more than once in %s table", u.Name, side)
			}
			found = &cols[i]
		}
	}
	if found == nil {
		b.fail(u, dberr.UndefinedVariable, "column %q specified in USING clause does not exist in %s table", u.Name, side)
	}
	return found
}

// hash makes a hash join of the predicates that equate the two sides; rest are the others.
func (b *binder) hash(left, right plan.Node, l, r *rel, preds []texpr) (*plan.HashJoin, []expr.Expr) {
	side := func(e expr.Expr, in *rel) bool {
		ok, any := true, false
		expr.Walk(e, func(x expr.Expr) bool {
			switch x := x.(type) {
			case *expr.Col:
				any = true
				found := false
				for _, c := range in.cols {
					found = found || c.slot == x.Slot
				}
				ok = ok && found
			case *expr.Subplan:
				ok = false
			}
			return true
		})
		return ok && any
	}
	n := &plan.HashJoin{Left: left, Right: right, Equiv: true}
	var rest []expr.Expr
	for _, p := range preds {
		f, ok := p.e.(*expr.Func)
		if ok && f.Def == comparisons["="] {
			a, z := f.Args[0], f.Args[1]
			if side(a, r) && side(z, l) {
				a, z = z, a
			}
			if side(a, l) && side(z, r) {
				n.Keys = append(n.Keys, plan.JoinKey{Left: a, Right: z})
				continue
			}
		}
		rest = append(rest, p.e)
	}
	if len(n.Keys) == 0 {
		return nil, rest
	}
	return n, rest
}

// ---- functions in FROM ------------------------------------------------------------------------------------------------

func (b *binder) funcTable(t *sql.FuncTable, up *scope, left *rel) *rel {
	if len(t.Funcs) != 1 {
		b.unsupported(t, "ROWS FROM with several functions")
	}
	f, ok := t.Funcs[0].Func.(*sql.Func)
	if ok && f.Name.Is("ag_catalog", "cypher") {
		if t.RowsFrom {
			b.fail(t, dberr.FeatureNotSupported, "cypher(...) in ROWS FROM is not supported")
		}
		if t.Ordinality {
			b.fail(t, dberr.FeatureNotSupported, "WITH ORDINALITY is not supported")
		}
		return b.cypher(t, f, up)
	}
	defs := t.Funcs[0].Defs
	if t.Alias != nil && t.Alias.Defs != nil {
		defs = t.Alias.Defs
	}
	if defs != nil {
		b.fail(t, dberr.Syntax, "a column definition list is only allowed for functions returning \"record\"")
	}
	name := "?column?"
	if ok {
		name = f.Name.Last()
	}
	sc := &scope{up: up, what: "functions in FROM"}
	if left != nil {
		sc.cols = left.cols
	}
	var r *rel
	if src := b.setReturning(f, sc); src != nil {
		var leftNode plan.Node
		reads := false
		for _, a := range src.args {
			expr.Walk(a, func(x expr.Expr) bool {
				if c, ok := x.(*expr.Col); ok && left != nil {
					for _, l := range left.cols {
						reads = reads || l.slot == c.Slot
					}
				}
				return true
			})
		}
		if reads {
			leftNode = left.node
		}
		s := b.slot(name)
		r = &rel{node: &plan.External{Child: leftNode, Source: src.source, Args: src.args, Cols: []plan.Slot{s}, Ordinality: plan.NoSlot},
			cols: []col{{name: name, slot: s, typ: src.typ}}}
		if t.Ordinality {
			o := b.slot("ordinality")
			r.node.(*plan.External).Ordinality = o
			r.cols = append(r.cols, col{name: "ordinality", slot: o, typ: sqltype.Int8})
		}
	} else {
		sc.cols = nil
		x := b.expr(t.Funcs[0].Func, sc)
		s := b.slot(name)
		r = &rel{node: &plan.Values{Rows: [][]expr.Expr{{x.e}}, Cols: []plan.Slot{s}}, cols: []col{{name: name, slot: s, typ: x.t}}}
	}
	if t.Alias != nil && t.Alias.Name != nil && len(t.Alias.Columns) == 0 {
		r.cols[0].name = t.Alias.Name.Name // a function of one column: the alias names it too
	}
	return b.alias(t, r, t.Alias, name)
}

// cypher binds FROM cypher(graph, $$ … $$ [, $1]) AS (a agtype, …).
func (b *binder) cypher(t *sql.FuncTable, f *sql.Func, up *scope) *rel {
	if len(f.Args) < 2 {
		b.fail(f, dberr.Syntax, "cypher function requires a minimum of 2 arguments")
	}
	if len(f.Args) > 3 {
		b.fail(f, dberr.UndefinedFunction, "function cypher takes 2 or 3 arguments, not %d", len(f.Args))
	}
	var graph, text *string
	at := 0
	null := func(e sql.Expr) bool { _, ok := stripCasts(e).(*sql.NullLit); return ok }
	if !null(f.Args[0].Value) || !null(f.Args[1].Value) {
		g, ok := stripCasts(f.Args[0].Value).(*sql.StringLit)
		if !ok {
			b.fail(f.Args[0], dberr.Syntax, "a name constant is expected")
		}
		q, ok := stripCasts(f.Args[1].Value).(*sql.StringLit)
		if !ok || q.Form != sql.DollarString {
			b.fail(f.Args[1], dberr.Syntax, "a dollar-quoted string constant is expected")
		}
		graph, text, at = &g.Value, &q.Value, int(q.Body)
	}
	var args []expr.Expr
	if len(f.Args) == 3 {
		switch stripCasts(f.Args[2].Value).(type) {
		case *sql.Param, *sql.StringLit, *sql.NullLit:
			x := b.coerce(f.Args[2], b.expr(f.Args[2].Value, &scope{what: "cypher()"}), sqltype.Agtype, explicit)
			args = append(args, x.e)
		default:
			b.fail(f.Args[2], dberr.Syntax, "third argument of cypher function must be a parameter")
		}
	}
	call, err := b.cat.Cypher(graph, text, at, args)
	if err != nil {
		e := dberr.As(err)
		if e.Pos < 0 {
			n := sql.Node(f)
			if e.Code == dberr.InvalidSchema {
				n = f.Args[0]
			}
			e.At(n.Pos(), n.End())
		}
		panic(fault{e})
	}
	var defs []*sql.ColumnDef
	name := "cypher"
	if t.Alias != nil {
		defs = t.Alias.Defs
		if t.Alias.Name != nil {
			name = t.Alias.Name.Name
		}
	}
	if defs == nil { // rules D4: Cypher's own names, as agtype
		for i, c := range call.Columns {
			if len(c) > 63 {
				c = c[:63]
			}
			if t.Alias != nil && i < len(t.Alias.Columns) {
				c = t.Alias.Columns[i].Name
			}
			defs = append(defs, &sql.ColumnDef{Span: f.Span, Name: &sql.Ident{Span: f.Span, Name: c}})
		}
		if len(call.Columns) == 0 {
			defs = append(defs, &sql.ColumnDef{Span: f.Span, Name: &sql.Ident{Span: f.Span, Name: "cypher"}})
		}
	}
	switch {
	case len(call.Columns) == 0 && len(defs) != 1:
		e := dberr.New(dberr.DatatypeMismatch, "column definition list for a query without RETURN must contain a single agtype attribute").
			WithHint("... cypher($$ ... CREATE ... $$) AS t(c agtype) ...").At(f.Pos(), f.End())
		panic(fault{e})
	case len(call.Columns) > 0 && len(defs) != len(call.Columns):
		b.fail(f, dberr.DatatypeMismatch, "return row and column definition list do not match")
	}
	e := &plan.External{Source: call.Source, Args: args, Ordinality: plan.NoSlot}
	r := &rel{node: e}
	var casts []plan.Item
	for _, d := range defs {
		s := b.slot(d.Name.Name)
		e.Cols = append(e.Cols, s)
		c := col{table: name, name: d.Name.Name, slot: s, typ: sqltype.Agtype}
		if d.Type != nil {
			if want := b.typeName(d.Type); want != sqltype.Agtype {
				x := b.coerce(d, texpr{e: colExpr(c), t: sqltype.Agtype}, want, explicit)
				c.slot, c.typ = b.slot(c.name), want
				casts = append(casts, plan.Item{Slot: c.slot, Expr: x.e})
			}
		}
		r.cols = append(r.cols, c)
	}
	if len(casts) > 0 {
		r.node = &plan.Project{Child: e, Items: casts}
	}
	return r
}

func stripCasts(e sql.Expr) sql.Expr {
	for {
		c, ok := e.(*sql.Cast)
		if !ok {
			return e
		}
		e = c.X
	}
}

// series is a set-returning function that was bound.
type series struct {
	source plan.Source
	args   []expr.Expr
	typ    *sqltype.Type
}

// setReturning binds the set-returning functions that there are; nil if f is none of them.
func (b *binder) setReturning(f *sql.Func, sc *scope) *series {
	if f == nil || f.Name.Schema() != "" && f.Name.Schema() != "pg_catalog" && f.Name.Schema() != "ag_catalog" {
		return nil
	}
	args := func(types ...*sqltype.Type) []expr.Expr {
		var out []expr.Expr
		for i, a := range f.Args {
			x := b.expr(a.Value, sc)
			if t := types[min(i, len(types)-1)]; t != nil {
				x = b.coerce(a, x, t, implicit)
			}
			out = append(out, x.e)
		}
		return out
	}
	switch f.Name.Last() {
	case "generate_series":
		if n := len(f.Args); n != 2 && n != 3 {
			return nil
		}
		return &series{source: listSource{"generate_series", generate}, args: args(sqltype.Int8), typ: sqltype.Int8}
	case "unnest":
		if len(f.Args) != 1 {
			return nil
		}
		x := b.expr(f.Args[0].Value, sc)
		t := sqltype.Agtype
		if x.t.Elem != nil {
			t = x.t.Elem
		}
		return &series{source: listSource{"unnest", unnest}, args: []expr.Expr{x.e}, typ: t}
	}
	return nil
}

// listSource yields the values that a function gives for its arguments.
type listSource struct {
	name string
	open func(args []value.Value) (func() (value.Value, bool), error)
}

func (s listSource) String() string { return s.name }

func (s listSource) Open(_ context.Context, args []value.Value) (plan.SourceRows, error) {
	next, err := s.open(args)
	if err != nil {
		return nil, err
	}
	return &listRows{next: next}, nil
}

type listRows struct {
	next func() (value.Value, bool)
	row  [1]value.Value
}

func (r *listRows) Next(context.Context) ([]value.Value, error) {
	v, ok := r.next()
	if !ok {
		return nil, nil
	}
	r.row[0] = v
	return r.row[:], nil
}

func (r *listRows) Close() {}

func generate(args []value.Value) (func() (value.Value, bool), error) {
	for _, a := range args {
		if a.IsNull() {
			return func() (value.Value, bool) { return value.Value{}, false }, nil
		}
	}
	at, end, step := args[0].Int(), args[1].Int(), int64(1)
	if len(args) == 3 {
		step = args[2].Int()
	}
	if step == 0 {
		return nil, dberr.New(dberr.InvalidParameterValue, "step size cannot equal zero")
	}
	done := false
	return func() (value.Value, bool) {
		if done || step > 0 && at > end || step < 0 && at < end {
			return value.Value{}, false
		}
		v := value.NewInt(at)
		next := at + step
		done = step > 0 && next < at || step < 0 && next > at
		at = next
		return v, true
	}, nil
}

func unnest(args []value.Value) (func() (value.Value, bool), error) {
	l := args[0]
	if l.IsNull() {
		return func() (value.Value, bool) { return value.Value{}, false }, nil
	}
	if l.Kind() != value.List {
		return nil, dberr.New(dberr.DatatypeMismatch, "unnest takes a list")
	}
	l = l.Clone()
	i := 0
	return func() (value.Value, bool) {
		if i >= l.Len() {
			return value.Value{}, false
		}
		i++
		return l.At(i - 1), true
	}, nil
}
