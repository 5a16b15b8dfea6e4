package sqlbind

import (
	"fmt"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Column is a named, typed column.
type Column struct {
	Name string
	Type *sqltype.Type
}

// Relation is a table that a query may read.
type Relation struct {
	Columns []Column
	Source  plan.Source
}

// CypherCall is a call of cypher() that was bound.
type CypherCall struct {
	Columns []string // names that the query gives; none for a query without RETURN
	Source  plan.Source
}

// Catalog is what names mean.
type Catalog interface {
	// Relation finds a table; nil, nil if there is none. schema is "" for an unqualified name.
	Relation(schema, name string) (*Relation, error)
	// Cypher binds a call. graph and text are nil for cypher(NULL, NULL). at is the byte offset of the text in the statement. args holds the
	// third argument, if it is given: an expression of parameters only.
	Cypher(graph, text *string, at int, args []expr.Expr) (*CypherCall, error)
	// Function finds a function of the session, such as create_graph; nil if there is none.
	Function(schema, name string) *Function
	// RegName returns the name of the relation (regclass) or schema (regnamespace) with an object id, RegOID the object id of a name.
	RegName(t *sqltype.Type, oid int64) (string, bool)
	RegOID(t *sqltype.Type, name string) (int64, bool)
}

// Function is a scalar function.
type Function struct {
	Args     []*sqltype.Type // types that arguments are coerced to; the last repeats if Variadic; nil means any
	Optional int
	Variadic bool
	Result   *sqltype.Type
	NullIn   bool
	Vol      expr.Volatility
	Call     func(args []value.Value) (value.Value, error)
}

// Result is a bound query.
type Result struct {
	Query   *plan.Query
	Columns []Column
	Params  []*sqltype.Type
}

// Options of Bind.
type Options struct {
	Params []*sqltype.Type // declared types of $1 …; nil ones are inferred
}

// Bind makes the plan of a query.
func Bind(st *sql.Statement, q *sql.Query, c Catalog, o Options) (res *Result, err error) {
	b := &binder{cat: c, text: st.Text, params: make([]*sqltype.Type, max(st.Params, len(o.Params)))}
	copy(b.params, o.Params)
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(fault)
			if !ok {
				panic(r)
			}
			res, err = nil, f.err
		}
	}()
	rel := b.query(q, nil)
	for i, t := range b.params {
		if t == nil || t == sqltype.Unknown {
			b.params[i] = sqltype.Text
		}
	}
	out := &Result{Params: b.params}
	root := &plan.ProduceResults{Child: rel.node}
	for i, c := range rel.cols {
		t := c.typ
		if t == sqltype.Unknown {
			t = sqltype.Text
		}
		out.Columns = append(out.Columns, Column{c.name, t})
		root.Cols = append(root.Cols, rel.cols[i].slot)
		root.Names = append(root.Names, c.name)
	}
	out.Query = &plan.Query{Root: root, Columns: root.Names, ReadOnly: true, Raw: true, Segments: []plan.Segment{{}}, Slots: b.slots}
	if out.Query.Columns == nil {
		out.Query.Columns = []string{}
	}
	for i := range b.params {
		out.Query.Params = append(out.Query.Params, fmt.Sprint(i+1))
	}
	number(out.Query)
	return out, nil
}

// number gives every operator its ordinal.
func number(q *plan.Query) {
	var walk func(n plan.Node)
	walk = func(n plan.Node) {
		n.Info().ID = q.Nodes
		q.Nodes++
		for _, k := range n.Children() {
			walk(k)
		}
	}
	walk(q.Root)
}

// fault carries an error up through the binder.
type fault struct{ err error }

// fail ends the binding with an error at a node.
func (b *binder) fail(n sql.Node, code dberr.Code, format string, args ...any) {
	e := dberr.New(code, format, args...)
	e.Phase = dberr.CompileTime
	if n != nil {
		e.At(n.Pos(), n.End())
	}
	panic(fault{e})
}

func (b *binder) check(n sql.Node, err error) {
	if err != nil {
		e := dberr.As(err)
		if n != nil {
			e.At(n.Pos(), n.End())
		}
		panic(fault{e})
	}
}

func (b *binder) unsupported(n sql.Node, what string) {
	b.fail(n, dberr.FeatureNotSupported, "%s is not supported", what)
}

type binder struct {
	cat    Catalog
	text   string
	slots  []plan.SlotInfo
	params []*sqltype.Type
	ctes   []*cteScope
	defs   map[string]*expr.Def // functions made for this statement, by name
}

type cteScope struct {
	name string
	cte  *sql.CTE
	up   []*cteScope
}

func (b *binder) slot(name string) plan.Slot {
	b.slots = append(b.slots, plan.SlotInfo{Name: name, Hint: plan.NoSlot})
	return len(b.slots) - 1
}

// col is a column in scope.
type col struct {
	table  string // alias of the item of FROM
	schema string
	name   string
	slot   plan.Slot
	typ    *sqltype.Type
	hidden bool // merged by USING: found only when qualified
}

// rel is a bound relation.
type rel struct {
	node plan.Node
	cols []col
}

func (r *rel) slots() []plan.Slot {
	out := make([]plan.Slot, len(r.cols))
	for i := range r.cols {
		out[i] = r.cols[i].slot
	}
	return out
}

// scope is the columns that an expression may name.
type scope struct {
	cols []col
	up   *scope
	free map[plan.Slot]bool // slots of outer scopes that were used
	aggs *aggregation       // nil where aggregates are not allowed
	what string             // the place, for messages about aggregates
	// outs are the select list's names, for ORDER BY and GROUP BY.
}

// ---- queries ----------------------------------------------------------------------------------------------------------

func (b *binder) query(q *sql.Query, up *scope) *rel {
	mark := b.ctes
	defer func() { b.ctes = mark }()
	if q.With != nil {
		if q.With.Recursive {
			b.unsupported(q.With, "WITH RECURSIVE")
		}
		for _, c := range q.With.CTEs {
			if _, ok := c.Body.(*sql.Query); !ok {
				b.unsupported(c, "a statement that changes rows in WITH")
			}
			b.ctes = append(b.ctes[:len(b.ctes):len(b.ctes)], &cteScope{name: c.Name.Name, cte: c, up: b.ctes})
		}
	}
	if len(q.Locking) > 0 {
		b.unsupported(q.Locking[0], "FOR UPDATE")
	}
	if q.WithTies {
		b.unsupported(q, "WITH TIES")
	}
	var r *rel
	if s, ok := q.Body.(*sql.Select); ok {
		r = b.selectStmt(s, q.OrderBy, up)
	} else {
		r = b.body(q.Body, up)
		r.node = b.orderOutput(r, q.OrderBy)
	}
	return b.limit(r, q, up)
}

func (b *binder) limit(r *rel, q *sql.Query, up *scope) *rel {
	count := func(e sql.Expr, what string) expr.Expr {
		if e == nil {
			return nil
		}
		x := b.expr(e, &scope{up: nil, what: what})
		x = b.coerce(e, x, sqltype.Int8, implicit)
		// NULL means no limit; a negative number is an error.
		neg := dberr.New(dberr.InvalidParameterValue, "%s must not be negative", what)
		return b.call(what, true, func(a []value.Value) (value.Value, error) {
			switch {
			case a[0].IsNull() && what == "LIMIT":
				return value.NewInt(1 << 62), nil
			case a[0].IsNull():
				return value.NewInt(0), nil
			case a[0].Int() < 0:
				return value.Value{}, neg
			}
			return a[0], nil
		}, x.e)
	}
	if e := count(q.Offset, "OFFSET"); e != nil {
		r.node = &plan.Skip{Child: r.node, Count: e}
	}
	if e := count(q.Limit, "LIMIT"); e != nil {
		r.node = &plan.Limit{Child: r.node, Count: e}
	}
	return r
}

func (b *binder) body(q sql.QueryBody, up *scope) *rel {
	switch q := q.(type) {
	case *sql.Select:
		return b.selectStmt(q, nil, up)
	case *sql.Query:
		return b.query(q, up)
	case *sql.Values:
		return b.values(q, up)
	case *sql.TableCmd:
		return b.tableRef(q.Table)
	case *sql.SetOp:
		return b.setOp(q, up)
	}
	b.unsupported(q, "this query")
	return nil
}

func (b *binder) values(v *sql.Values, up *scope) *rel {
	n := &plan.Values{}
	r := &rel{node: n}
	width := len(v.Rows[0])
	typed := make([][]texpr, len(v.Rows))
	for i, row := range v.Rows {
		if len(row) != width {
			b.fail(v, dberr.Syntax, "VALUES lists must all be the same length")
		}
		for _, e := range row {
			typed[i] = append(typed[i], b.expr(e, &scope{up: up, what: "VALUES"}))
		}
	}
	for c := range width {
		var column []texpr
		for i := range typed {
			column = append(column, typed[i][c])
		}
		t := b.common(v, column)
		name := fmt.Sprintf("column%d", c+1)
		s := b.slot(name)
		n.Cols = append(n.Cols, s)
		r.cols = append(r.cols, col{name: name, slot: s, typ: t})
		for i := range typed {
			typed[i][c] = b.coerce(v.Rows[i][c], typed[i][c], t, implicit)
		}
	}
	for i := range typed {
		var row []expr.Expr
		for _, x := range typed[i] {
			row = append(row, x.e)
		}
		n.Rows = append(n.Rows, row)
	}
	return r
}

func (b *binder) setOp(q *sql.SetOp, up *scope) *rel {
	if q.Op != sql.Union {
		b.unsupported(q, "INTERSECT or EXCEPT")
	}
	l, r := b.branch(q.L, up), b.branch(q.R, up)
	if len(l.cols) != len(r.cols) {
		b.fail(q, dberr.Syntax, "each UNION query must have the same number of columns")
	}
	u := &plan.Union{From: make([][]plan.Slot, 2), Opens: []int{-1, -1}}
	out := &rel{}
	var litems, ritems []plan.Item
	for i := range l.cols {
		lx, rx := texpr{e: colExpr(l.cols[i]), t: l.cols[i].typ}, texpr{e: colExpr(r.cols[i]), t: r.cols[i].typ}
		t := b.common(q, []texpr{lx, rx})
		lx, rx = b.settle(q, lx, t), b.settle(q, rx, t)
		ls, rs := b.slot(l.cols[i].name), b.slot(l.cols[i].name)
		litems, ritems = append(litems, plan.Item{Slot: ls, Expr: lx.e}), append(ritems, plan.Item{Slot: rs, Expr: rx.e})
		s := b.slot(l.cols[i].name)
		u.From[0], u.From[1] = append(u.From[0], ls), append(u.From[1], rs)
		u.Cols = append(u.Cols, s)
		out.cols = append(out.cols, col{name: l.cols[i].name, slot: s, typ: t})
	}
	u.Inputs = []plan.Node{&plan.Project{Child: l.node, Items: litems}, &plan.Project{Child: r.node, Items: ritems}}
	out.node = u
	if !q.All {
		out = b.distinct(out)
	}
	return out
}

// branch binds a branch of a set operation. Its string constants and nulls have no type yet: the other branch may give them one.
func (b *binder) branch(q sql.QueryBody, up *scope) *rel {
	if s, ok := q.(*sql.Select); ok {
		return b.selectOf(s, nil, up, true)
	}
	return b.body(q, up)
}

// settle brings a branch's column to the type of both.
func (b *binder) settle(n sql.Node, x texpr, t *sqltype.Type) texpr {
	if x.t == sqltype.Unknown && t != sqltype.Text {
		x.t = sqltype.Text
		return b.coerce(n, x, t, explicit)
	}
	return b.coerce(n, x, t, implicit)
}

func colExpr(c col) *expr.Col { return &expr.Col{Slot: c.slot, Hint: expr.NoSlot, Name: c.name} }

// distinct keeps one row of each class; the columns get new slots.
func (b *binder) distinct(r *rel) *rel {
	d := &plan.Distinct{Child: r.node}
	out := &rel{node: d}
	for _, c := range r.cols {
		s := b.slot(c.name)
		d.Keys = append(d.Keys, plan.Item{Slot: s, Expr: colExpr(c)})
		c.slot = s
		out.cols = append(out.cols, c)
	}
	return out
}

// orderOutput sorts the rows of a set operation by its columns' names or numbers.
func (b *binder) orderOutput(r *rel, keys []*sql.SortItem) plan.Node {
	if len(keys) == 0 {
		return r.node
	}
	var items []texpr
	for _, k := range keys {
		i := b.outputColumn(k.Expr, r.cols, true)
		if i < 0 {
			b.fail(k, dberr.FeatureNotSupported, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
		}
		items = append(items, texpr{e: colExpr(r.cols[i]), t: r.cols[i].typ})
	}
	return b.sort(r.node, keys, items)
}

// outputColumn finds an output column that ORDER BY or GROUP BY means by a number or a bare name; −1 if it means none.
func (b *binder) outputColumn(e sql.Expr, outs []col, names bool) int {
	switch e := e.(type) {
	case *sql.IntLit:
		if e.Value < 1 || e.Value > int64(len(outs)) {
			b.fail(e, dberr.Syntax, "ORDER BY position %d is not in select list", e.Value)
		}
		return int(e.Value - 1)
	case *sql.ColumnRef:
		if len(e.Parts) != 1 || !names {
			return -1
		}
		found := -1
		for i, c := range outs {
			if c.name == e.Parts[0].Name {
				if found >= 0 && outs[found].slot != c.slot {
					b.fail(e, dberr.AmbiguousColumn, "ORDER BY %q is ambiguous", c.name)
				}
				found = i
			}
		}
		return found
	}
	return -1
}

// sort orders by expressions. Nulls stand last ascending and first descending, as the total order has it, unless NULLS says otherwise.
func (b *binder) sort(in plan.Node, keys []*sql.SortItem, exprs []texpr) plan.Node {
	p := &plan.Project{Child: in}
	s := &plan.Sort{Child: p}
	for i, k := range keys {
		desc := k.Desc
		if k.Using != nil {
			switch k.Using.Name {
			case "<":
			case ">":
				desc = true
			default:
				b.fail(k, dberr.Syntax, "operator %s is not a valid ordering operator", k.Using.Name)
			}
		}
		x := exprs[i]
		if x.t == sqltype.Unknown {
			x = b.coerce(k.Expr, x, sqltype.Text, implicit)
		}
		if k.Nulls != sql.NullsDefault && (k.Nulls == sql.NullsFirst) != desc {
			ns := b.slot("")
			p.Items = append(p.Items, plan.Item{Slot: ns, Expr: &expr.Unary{Op: expr.OpIsNull, X: x.e}})
			s.Keys = append(s.Keys, plan.SortKey{Slot: ns, Desc: k.Nulls == sql.NullsFirst})
		}
		c := b.slot("")
		p.Items = append(p.Items, plan.Item{Slot: c, Expr: x.e})
		s.Keys = append(s.Keys, plan.SortKey{Slot: c, Desc: desc})
	}
	return s
}

// aggregation gathers the aggregate calls of one SELECT.
type aggregation struct {
	aggs  []plan.Agg
	seen  []aggSeen
	inAgg bool
	inner *scope // where arguments are bound
}

type aggSeen struct {
	e    expr.Expr // the aggregate as a tree, to find equal ones
	slot plan.Slot
}

func (b *binder) selectStmt(s *sql.Select, order []*sql.SortItem, up *scope) *rel {
	return b.selectOf(s, order, up, false)
}

// selectOf binds a SELECT; open leaves constants of unknown type as they are.
func (b *binder) selectOf(s *sql.Select, order []*sql.SortItem, up *scope, open bool) *rel {
	in := b.from(s.From, up)
	sc := &scope{cols: in.cols, up: up}
	if s.Where != nil {
		sc.what = "WHERE"
		x := b.expr(s.Where, sc)
		x = b.coerce(s.Where, x, sqltype.Bool, implicit)
		in.node = &plan.Filter{Child: in.node, Preds: []expr.Expr{x.e}}
	}
	if len(s.Windows) > 0 {
		b.unsupported(s.Windows[0], "WINDOW")
	}
	// Bind everything over the input first; what aggregates is then rewritten to read the groups.
	agg := &aggregation{inner: sc}
	top := &scope{cols: in.cols, up: up, aggs: agg}
	var outs []col
	var items []texpr
	for _, t := range s.Targets {
		if star, ok := t.Expr.(*sql.Star); ok {
			n := 0
			for _, c := range in.cols {
				if c.hidden && star.Table == nil || star.Table != nil && c.table != star.Table[len(star.Table)-1].Name {
					continue
				}
				outs = append(outs, col{name: c.name, typ: c.typ})
				items = append(items, texpr{e: colExpr(c), t: c.typ})
				n++
			}
			if n == 0 && star.Table != nil {
				b.fail(t, dberr.UndefinedTable, "missing FROM-clause entry for table %q", star.Table[len(star.Table)-1].Name)
			}
			if n == 0 && len(s.From) == 0 {
				b.fail(t, dberr.Syntax, "SELECT * with no tables specified is not valid")
			}
			continue
		}
		x := b.expr(t.Expr, top)
		name := targetName(t.Expr)
		if t.Alias != nil {
			name = t.Alias.Name
		}
		outs = append(outs, col{name: name, typ: x.t})
		items = append(items, x)
	}
	var keys []texpr
	for _, g := range s.GroupBy {
		if gs, ok := g.(*sql.GroupingSet); ok {
			if gs.Kind != sql.GroupingEmpty {
				b.unsupported(gs, "GROUPING SETS, ROLLUP or CUBE")
			}
			continue
		}
		if i := b.groupTarget(g, outs, in.cols); i >= 0 {
			expr.Walk(items[i].e, func(x expr.Expr) bool {
				if c, ok := x.(*expr.Col); ok {
					for _, a := range agg.aggs {
						if a.Slot == c.Slot {
							b.fail(g, dberr.GroupingError, "aggregate functions are not allowed in GROUP BY")
						}
					}
				}
				return true
			})
			keys = append(keys, items[i])
			continue
		}
		keys = append(keys, b.expr(g, &scope{cols: in.cols, up: up, what: "GROUP BY"}))
	}
	var having *texpr
	if s.Having != nil {
		x := b.coerce(s.Having, b.expr(s.Having, top), sqltype.Bool, implicit)
		having = &x
	}
	var sorts []texpr
	for _, k := range order {
		if i := b.outputColumn(k.Expr, outs, true); i >= 0 {
			sorts = append(sorts, items[i])
			continue
		}
		sorts = append(sorts, b.expr(k.Expr, top))
	}
	if len(agg.aggs) > 0 || len(s.GroupBy) > 0 || having != nil {
		a := &plan.Aggregate{Child: in.node, Aggs: agg.aggs}
		var repl []aggSeen
		grouped := map[plan.Slot]bool{} // slots that keep their column
		for _, k := range keys {
			slot := b.slot("")
			if c, ok := k.e.(*expr.Col); ok && !grouped[c.Slot] {
				slot = c.Slot // a subquery above the groups goes on reading the column where it was
				grouped[slot] = true
			}
			a.Keys = append(a.Keys, plan.Item{Slot: slot, Expr: k.e})
			repl = append(repl, aggSeen{k.e, slot})
		}
		in.node = a
		over := func(n sql.Node, x texpr) texpr {
			x.e = b.regroup(n, x.e, repl, in.cols, grouped)
			return x
		}
		for i := range items {
			items[i] = over(s.Targets[min(i, len(s.Targets)-1)], items[i])
		}
		for i := range sorts {
			sorts[i] = over(order[i], sorts[i])
		}
		if having != nil {
			x := over(s.Having, *having)
			in.node = &plan.Filter{Child: in.node, Preds: []expr.Expr{x.e}}
		}
	}
	p := &plan.Project{Child: in.node}
	for i := range outs {
		if _, fixed := items[i].e.(*expr.Const); items[i].t == sqltype.Unknown && !(open && fixed) {
			items[i] = b.coerce(s.Targets[min(i, len(s.Targets)-1)], items[i], sqltype.Text, implicit)
		}
		outs[i].typ = items[i].t
		outs[i].slot = b.slot(outs[i].name)
		p.Items = append(p.Items, plan.Item{Slot: outs[i].slot, Expr: items[i].e})
	}
	out := &rel{node: p, cols: outs}
	switch {
	case len(s.DistinctOn) > 0:
		b.unsupported(s, "DISTINCT ON")
	case s.Distinct:
		out = b.distinct(out)
		for i := range sorts {
			found := false
			for k := range items {
				if expr.Equal(sorts[i].e, items[k].e) {
					sorts[i] = texpr{e: colExpr(out.cols[k]), t: out.cols[k].typ}
					found = true
					break
				}
			}
			if !found {
				b.fail(order[i], dberr.Syntax, "for SELECT DISTINCT, ORDER BY expressions must appear in select list")
			}
		}
	}
	if len(order) > 0 {
		out.node = b.sort(out.node, order, sorts)
	}
	return out
}

// groupTarget finds the output that GROUP BY means by a number, or by a name that the input does not have.
func (b *binder) groupTarget(e sql.Expr, outs, in []col) int {
	if c, ok := e.(*sql.ColumnRef); ok {
		for _, x := range in {
			if len(c.Parts) == 1 && x.name == c.Parts[0].Name {
				return -1
			}
		}
	}
	return b.outputColumn(e, outs, true)
}

// regroup rewrites an expression over the input to one over the groups.
func (b *binder) regroup(n sql.Node, e expr.Expr, repl []aggSeen, in []col, grouped map[plan.Slot]bool) expr.Expr {
	input := map[plan.Slot]string{}
	for _, c := range in {
		name := c.name
		if c.table != "" {
			name = c.table + "." + c.name
		}
		if !grouped[c.slot] {
			input[c.slot] = name
		}
	}
	out := expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		for _, r := range repl {
			if expr.Equal(x, r.e) {
				return &expr.Col{Slot: r.slot, Hint: expr.NoSlot}
			}
		}
		return x
	})
	expr.Walk(out, func(x expr.Expr) bool {
		if s, ok := x.(*expr.Subplan); ok {
			for _, slot := range s.Free {
				if name, bad := input[slot]; bad {
					b.fail(n, dberr.GroupingError, "subquery uses ungrouped column %q from outer query", name)
				}
			}
		}
		if c, ok := x.(*expr.Col); ok {
			if name, bad := input[c.Slot]; bad {
				b.fail(n, dberr.GroupingError, "column %q must appear in the GROUP BY clause or be used in an aggregate function", name)
			}
		}
		return true
	})
	return out
}

// targetName is the name that PostgreSQL gives an output without an alias.
func targetName(e sql.Expr) string {
	name, _ := figureName(e)
	return name
}

// figureName tells how sure it is: 2 for a name that the client wrote, 1 for a kind of expression, 0 for none.
func figureName(e sql.Expr) (string, int) {
	switch e := e.(type) {
	case *sql.ColumnRef:
		return e.Parts[len(e.Parts)-1].Name, 2
	case *sql.Func:
		return e.Name.Last(), 2
	case *sql.SystemValue:
		return e.Name, 2
	case *sql.Cast:
		if n, sure := figureName(e.X); sure == 2 {
			return n, 2
		}
		return typeLabel(e.Type), 1
	case *sql.Case:
		if e.Else != nil {
			if n, sure := figureName(e.Else); sure == 2 {
				return n, 2
			}
		}
		return "case", 1
	case *sql.Subscript:
		return figureName(e.X)
	case *sql.Field:
		if e.Name != nil {
			return e.Name.Name, 2
		}
	case *sql.Collate:
		return figureName(e.X)
	case *sql.Exists:
		return "exists", 2
	case *sql.Array, *sql.ArrayQuery:
		return "array", 2
	case *sql.Row:
		return "row", 2
	case *sql.BoolLit:
		return "bool", 1
	case *sql.Subquery:
		if s, ok := e.Query.Body.(*sql.Select); ok && len(s.Targets) > 0 {
			if s.Targets[0].Alias != nil {
				return s.Targets[0].Alias.Name, 2
			}
			return figureName(s.Targets[0].Expr)
		}
	}
	return "?column?", 0
}

func typeLabel(t *sql.TypeName) string {
	name := t.Name.Last()
	if x := sqltype.ByName(strings.ToLower(name)); x != nil {
		return x.Internal
	}
	return name
}
