package sql

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Print returns a statement as text that parses to an equal tree. Layout, comments and needless parentheses are gone, and
// so is the difference between spellings of one thing.
func Print(s *Statement) string {
	if s.Body == nil {
		return ""
	}
	var p printer
	p.stmt(s.Body)
	return string(p.b)
}

// QuoteIdent returns a name as it must be written, in double quotes where it would not be read as itself.
func QuoteIdent(name string) string {
	for i := 0; i < len(name); i++ {
		if c := name[i]; !(c >= 'a' && c <= 'z' || c == '_' || i > 0 && (isDigit(c) || c == '$')) {
			return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
	}
	if name == "" || lookupKeyword(name) != NotKeyword {
		return `"` + name + `"`
	}
	return name
}

// QuoteString returns a string constant.
func QuoteString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

type printer struct{ b []byte }

func (p *printer) str(s string) { p.b = append(p.b, s...) }

func (p *printer) flag(on bool, s string) {
	if on {
		p.str(s)
	}
}

func (p *printer) sep(i int, s string) { p.flag(i > 0, s) }

func (p *printer) ident(id *Ident) { p.str(QuoteIdent(id.Name)) }

func (p *printer) idents(list []*Ident) {
	for i, id := range list {
		p.sep(i, ", ")
		p.ident(id)
	}
}

func (p *printer) columns(list []*Ident) {
	p.str("(")
	p.idents(list)
	p.str(")")
}

func (p *printer) dotted(list []*Ident) {
	for i, id := range list {
		p.sep(i, ".")
		p.ident(id)
	}
}

func (p *printer) name(n *Name) { p.dotted(n.Parts) }

func (p *printer) nameList(list []*Name) {
	for i, n := range list {
		p.sep(i, ", ")
		p.name(n)
	}
}

// ---- Queries ----

func (p *printer) query(q *Query) {
	if q.With != nil {
		p.with(q.With)
	}
	p.queryBody(q.Body)
	p.orderBy(q.OrderBy, " ")
	if q.Offset != nil {
		p.str(" OFFSET ")
		p.expr(q.Offset, precLowest)
	}
	switch {
	case q.WithTies:
		p.str(" FETCH FIRST ")
		if n, ok := q.Limit.(*IntLit); ok && n.Value < 0 {
			p.expr(q.Limit, precLowest)
		} else {
			p.expr(q.Limit, precAtom)
		}
		p.str(" ROWS WITH TIES")
	case q.LimitAll:
		p.str(" LIMIT ALL")
	case q.Limit != nil:
		p.str(" LIMIT ")
		p.expr(q.Limit, precLowest)
	}
	for _, l := range q.Locking {
		p.str([...]string{ForUpdate: " FOR UPDATE", ForNoKeyUpdate: " FOR NO KEY UPDATE", ForShare: " FOR SHARE", ForKeyShare: " FOR KEY SHARE"}[l.Strength])
		if l.Of != nil {
			p.str(" OF ")
			p.nameList(l.Of)
		}
		p.str([...]string{LockBlock: "", LockNoWait: " NOWAIT", LockSkip: " SKIP LOCKED"}[l.Wait])
	}
}

func (p *printer) with(w *With) {
	p.str("WITH ")
	p.flag(w.Recursive, "RECURSIVE ")
	for i, c := range w.CTEs {
		p.sep(i, ", ")
		p.ident(c.Name)
		if c.Columns != nil {
			p.columns(c.Columns)
		}
		p.str(" AS ")
		if c.Materialized != nil {
			p.flag(!*c.Materialized, "NOT ")
			p.str("MATERIALIZED ")
		}
		p.str("(")
		p.stmt(c.Body)
		p.str(")")
	}
	p.str(" ")
}

func (p *printer) queryBody(b QueryBody) {
	switch b := b.(type) {
	case *Select:
		p.selectCore(b)
	case *SetOp:
		p.queryBody(b.L)
		p.str([...]string{Union: " UNION ", Intersect: " INTERSECT ", Except: " EXCEPT "}[b.Op])
		p.flag(b.All, "ALL ")
		p.queryBody(b.R)
	case *Values:
		p.str("VALUES ")
		for i, row := range b.Rows {
			p.sep(i, ", ")
			p.str("(")
			p.exprs(row)
			p.str(")")
		}
	case *TableCmd:
		p.str("TABLE ")
		p.table(b.Table)
	case *Query:
		p.str("(")
		p.query(b)
		p.str(")")
	}
}

func (p *printer) selectCore(s *Select) {
	p.str("SELECT")
	p.flag(s.Distinct, " DISTINCT")
	if s.DistinctOn != nil {
		p.str(" ON (")
		p.exprs(s.DistinctOn)
		p.str(")")
	}
	if len(s.Targets) > 0 {
		p.str(" ")
		p.targets(s.Targets)
	}
	if s.From != nil {
		p.str(" FROM ")
		p.tables(s.From)
	}
	p.where(s.Where)
	if s.GroupBy != nil {
		p.str(" GROUP BY ")
		p.flag(s.GroupDist, "DISTINCT ")
		p.exprs(s.GroupBy)
	}
	if s.Having != nil {
		p.str(" HAVING ")
		p.expr(s.Having, precLowest)
	}
	for i, w := range s.Windows {
		if i == 0 {
			p.str(" WINDOW ")
		} else {
			p.str(", ")
		}
		p.ident(w.Name)
		p.str(" AS ")
		p.window(w)
	}
}

func (p *printer) targets(list []*Target) {
	for i, t := range list {
		p.sep(i, ", ")
		p.expr(t.Expr, precLowest)
		if t.Alias != nil {
			p.str(" AS ")
			p.ident(t.Alias)
		}
	}
}

func (p *printer) where(x Expr) {
	if x != nil {
		p.str(" WHERE ")
		p.expr(x, precLowest)
	}
}

func (p *printer) orderBy(list []*SortItem, before string) {
	for i, s := range list {
		if i == 0 {
			p.str(before)
			p.str("ORDER BY ")
		} else {
			p.str(", ")
		}
		p.expr(s.Expr, precLowest)
		p.flag(s.Desc, " DESC")
		if s.Using != nil {
			p.str(" USING ")
			p.operator(s.Using)
		}
		p.nulls(s.Nulls)
	}
}

func (p *printer) nulls(n NullsOrder) {
	p.str([...]string{NullsDefault: "", NullsFirst: " NULLS FIRST", NullsLast: " NULLS LAST"}[n])
}

// ---- FROM ----

func (p *printer) tables(list []TableExpr) {
	for i, t := range list {
		p.sep(i, ", ")
		p.table(t)
	}
}

func (p *printer) table(t TableExpr) {
	switch t := t.(type) {
	case *TableRef:
		p.flag(t.Only, "ONLY ")
		p.name(t.Name)
		p.alias(t.Alias)
		if t.Sample != nil {
			p.str(" TABLESAMPLE ")
			p.name(t.Sample.Name)
			p.args(t.Sample)
		}
	case *FuncTable:
		p.flag(t.Lateral, "LATERAL ")
		p.flag(t.RowsFrom, "ROWS FROM (")
		for i, f := range t.Funcs {
			p.sep(i, ", ")
			p.tableFunc(f.Func)
			if f.Defs != nil {
				p.str(" AS (")
				p.columnDefs(f.Defs)
				p.str(")")
			}
		}
		p.flag(t.RowsFrom, ")")
		p.flag(t.Ordinality, " WITH ORDINALITY")
		p.alias(t.Alias)
	case *SubqueryTable:
		p.flag(t.Lateral, "LATERAL ")
		p.str("(")
		p.query(t.Query)
		p.str(")")
		p.alias(t.Alias)
	case *Join:
		p.join(t)
	}
}

// tableFunc prints a call in FROM or an index, where a cast must be spelled out.
func (p *printer) tableFunc(x Expr) {
	if c, ok := x.(*Cast); ok {
		p.str("CAST(")
		p.expr(c.X, precLowest)
		p.str(" AS ")
		p.typ(c.Type)
		p.str(")")
		return
	}
	p.expr(x, precLowest)
}

func (p *printer) join(j *Join) {
	p.flag(j.Alias != nil, "(")
	p.table(j.L)
	p.str(" ")
	p.flag(j.Natural, "NATURAL ")
	p.str([...]string{InnerJoin: "", LeftJoin: "LEFT ", RightJoin: "RIGHT ", FullJoin: "FULL ", CrossJoin: "CROSS "}[j.Kind])
	p.str("JOIN ")
	if r, ok := j.R.(*Join); ok && r.Alias == nil {
		p.str("(")
		p.table(r)
		p.str(")")
	} else {
		p.table(j.R)
	}
	switch {
	case j.On != nil:
		p.str(" ON ")
		p.expr(j.On, precLowest)
	case j.Using != nil:
		p.str(" USING ")
		p.columns(j.Using)
		if j.As != nil {
			p.str(" AS ")
			p.ident(j.As)
		}
	}
	if j.Alias != nil {
		p.str(")")
		p.alias(j.Alias)
	}
}

func (p *printer) alias(a *Alias) {
	if a == nil {
		return
	}
	p.str(" AS ")
	if a.Name != nil {
		p.ident(a.Name)
	}
	switch {
	case a.Columns != nil:
		p.columns(a.Columns)
	case a.Defs != nil:
		p.str("(")
		p.columnDefs(a.Defs)
		p.str(")")
	}
}

func (p *printer) columnDefs(list []*ColumnDef) {
	for i, d := range list {
		p.sep(i, ", ")
		p.ident(d.Name)
		p.str(" ")
		p.typ(d.Type)
		p.collate(d.Collate)
	}
}

func (p *printer) collate(n *Name) {
	if n != nil {
		p.str(" COLLATE ")
		p.name(n)
	}
}

// ---- Expressions ----

const precAtom = precPostfix + 1

func precOf(x Expr) int {
	switch x := x.(type) {
	case *Logic:
		if x.Or {
			return precOr
		}
		return precAnd
	case *Not, *Quantified:
		return precNot
	case *Is, *IsDistinct:
		return precIs
	case *Binary:
		if x.Op.Schema != nil {
			return precOp
		}
		return operatorPrec(x.Op.Name)
	case *Between, *In, *Like:
		return precBetween
	case *Unary:
		if x.Op.Schema == nil && (x.Op.Name == "-" || x.Op.Name == "+") {
			return precUnary
		}
		return precOp
	case *IntLit:
		if x.Value < 0 {
			return precUnary
		}
	case *NumericLit:
		if x.Text[0] == '-' {
			return precUnary
		}
	case *AtTimeZone:
		return precAt
	case *Collate:
		return precCollate
	case *Cast:
		if typedOnly(x) {
			return precAtom
		}
		return precPostfix
	}
	return precAtom
}

func (p *printer) exprs(list []Expr) {
	for i, x := range list {
		p.sep(i, ", ")
		p.expr(x, precLowest)
	}
}

// expr prints an expression, in parentheses if its operator is looser than min.
func (p *printer) expr(x Expr, min int) {
	if precOf(x) < min {
		p.str("(")
		p.bare(x)
		p.str(")")
		return
	}
	p.bare(x)
}

func (p *printer) operator(o *Operator) {
	if o.Schema == nil {
		p.str(o.Name)
		return
	}
	p.str("OPERATOR(")
	p.dotted(o.Schema)
	p.str(".")
	p.str(o.Name)
	p.str(")")
}

func (p *printer) bare(x Expr) {
	switch x := x.(type) {
	case *NullLit:
		p.str("NULL")
	case *BoolLit:
		p.b = strconv.AppendBool(p.b, x.Value)
	case *IntLit:
		p.b = strconv.AppendInt(p.b, x.Value, 10)
	case *NumericLit:
		p.str(x.Text)
	case *StringLit:
		p.stringLit(x)
	case *BitLit:
		if x.Hex {
			p.str("X'")
		} else {
			p.str("B'")
		}
		p.str(x.Digits)
		p.str("'")
	case *Param:
		p.b = fmt.Appendf(p.b, "$%d", x.N)
	case *ColumnRef:
		p.dotted(x.Parts)
	case *Star:
		if x.Table != nil {
			p.dotted(x.Table)
			p.str(".")
		}
		p.str("*")
	case *Default:
		p.str("DEFAULT")
	case *Binary:
		prec := precOf(x)
		if prec == precCompare {
			p.expr(x.L, prec+1)
		} else {
			p.expr(x.L, prec)
		}
		p.str(" ")
		p.operator(x.Op)
		p.str(" ")
		p.expr(x.R, prec+1)
	case *Unary:
		p.operator(x.Op)
		p.str(" ")
		if precOf(x) == precUnary {
			p.expr(x.X, precUnary)
		} else {
			p.expr(x.X, precOp+1)
		}
	case *Logic:
		op, prec := " AND ", precAnd
		if x.Or {
			op, prec = " OR ", precOr
		}
		for i, a := range x.Args {
			p.sep(i, op)
			p.expr(a, prec+1)
		}
	case *Not:
		p.str("NOT ")
		p.expr(x.X, precNot)
	case *Is:
		p.expr(x.X, precIs)
		p.str(" IS ")
		p.flag(x.Not, "NOT ")
		if x.What == IsNormalized {
			p.str(x.Form)
			p.str(" ")
		}
		p.str([...]string{IsNull: "NULL", IsTrue: "TRUE", IsFalse: "FALSE", IsUnknown: "UNKNOWN", IsDocument: "DOCUMENT", IsNormalized: "NORMALIZED"}[x.What])
	case *IsDistinct:
		p.expr(x.L, precIs)
		p.str(" IS ")
		p.flag(x.Not, "NOT ")
		p.str("DISTINCT FROM ")
		p.expr(x.R, precIs+1)
	case *Between:
		p.expr(x.X, precBetween+1)
		p.flag(x.Not, " NOT")
		p.str(" BETWEEN ")
		p.flag(x.Symmetric, "SYMMETRIC ")
		p.expr(x.Lo, precAtom)
		p.str(" AND ")
		p.expr(x.Hi, precBetween+1)
	case *In:
		p.expr(x.X, precBetween+1)
		p.flag(x.Not, " NOT")
		p.str(" IN (")
		if x.Query != nil {
			p.query(x.Query)
		} else {
			p.exprs(x.List)
		}
		p.str(")")
	case *Like:
		p.expr(x.X, precBetween+1)
		p.flag(x.Not, " NOT")
		p.str([...]string{LikeLike: " LIKE ", LikeILike: " ILIKE ", LikeSimilar: " SIMILAR TO "}[x.Kind])
		p.expr(x.Pattern, precBetween+1)
		if x.Escape != nil {
			p.str(" ESCAPE ")
			p.expr(x.Escape, precBetween+1)
		}
	case *Quantified:
		p.expr(x.X, precPostfix)
		p.str(" ")
		p.operator(x.Op)
		if x.All {
			p.str(" ALL (")
		} else {
			p.str(" ANY (")
		}
		if x.Query != nil {
			p.query(x.Query)
		} else {
			p.expr(x.Array, precLowest)
		}
		p.str(")")
	case *Func:
		p.call(x)
	case *SystemValue:
		p.str(strings.ToUpper(x.Name))
		if x.Precision != nil {
			p.str("(")
			p.expr(x.Precision, precLowest)
			p.str(")")
		}
	case *Case:
		p.str("CASE")
		if x.Operand != nil {
			p.str(" ")
			p.expr(x.Operand, precLowest)
		}
		for _, w := range x.Whens {
			p.str(" WHEN ")
			p.expr(w.Cond, precLowest)
			p.str(" THEN ")
			p.expr(w.Then, precLowest)
		}
		if x.Else != nil {
			p.str(" ELSE ")
			p.expr(x.Else, precLowest)
		}
		p.str(" END")
	case *Cast:
		if typedOnly(x) {
			p.typedConstant(x)
			return
		}
		p.expr(x.X, precPostfix)
		p.str("::")
		p.typ(x.Type)
	case *Collate:
		p.expr(x.X, precCollate)
		p.collate(x.Name)
	case *AtTimeZone:
		p.expr(x.X, precAt)
		p.str(" AT TIME ZONE ")
		p.expr(x.Zone, precAt+1)
	case *Array:
		p.str("ARRAY")
		p.array(x)
	case *ArrayQuery:
		p.str("ARRAY(")
		p.query(x.Query)
		p.str(")")
	case *Subscript:
		p.base(x.X, true)
		p.subscript(x)
	case *Field:
		p.base(x.X, false)
		p.field(x)
	case *Row:
		p.flag(x.Explicit, "ROW")
		p.str("(")
		p.exprs(x.Elems)
		p.str(")")
	case *Exists:
		p.str("EXISTS (")
		p.query(x.Query)
		p.str(")")
	case *Subquery:
		p.str("(")
		p.query(x.Query)
		p.str(")")
	case *GroupingSet:
		p.str([...]string{GroupingEmpty: "", GroupingRollup: "ROLLUP ", GroupingCube: "CUBE ", GroupingSets: "GROUPING SETS "}[x.Kind])
		p.str("(")
		p.exprs(x.Args)
		p.str(")")
	case *CurrentOf:
		p.str("CURRENT OF ")
		p.ident(x.Cursor)
	}
}

// array prints the brackets; nested ones need no ARRAY, and in the first place of a list must not have it unless written.
func (p *printer) array(a *Array) {
	p.str("[")
	for i, e := range a.Elems {
		p.sep(i, ", ")
		p.expr(e, precLowest)
	}
	p.str("]")
}

// base prints what a subscript or field is taken of. A field of a name would be part of the name.
func (p *printer) base(x Expr, subscript bool) {
	switch y := x.(type) {
	case nil:
		return
	case *Param, *Subscript, *Subquery:
		p.bare(x)
		return
	case *Field:
		if y.Name != nil || subscript {
			p.bare(x)
			return
		}
	case *ColumnRef:
		if subscript {
			p.bare(x)
			return
		}
	}
	p.str("(")
	p.bare(x)
	p.str(")")
}

func (p *printer) subscript(s *Subscript) {
	p.str("[")
	if s.From != nil {
		p.expr(s.From, precLowest)
	}
	if s.Slice {
		p.str(" : ")
		if s.To != nil {
			p.expr(s.To, precLowest)
		}
	}
	p.str("]")
}

func (p *printer) field(f *Field) {
	p.str(".")
	if f.Name == nil {
		p.str("*")
	} else {
		p.ident(f.Name)
	}
}

func (p *printer) stringLit(s *StringLit) {
	switch s.Form {
	case EscapeString:
		p.str("E'")
		p.str(strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s.Value))
		p.str("'")
	case UnicodeString:
		p.str("U&'")
		p.str(strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s.Value))
		p.str("'")
	case DollarString:
		tag := "$$"
		for n := 1; strings.Contains(s.Value+"$", tag); n++ {
			tag = "$q" + strconv.Itoa(n) + "$"
		}
		p.str(tag)
		p.str(s.Value)
		p.str(tag)
	default:
		p.str(QuoteString(s.Value))
	}
}

func (p *printer) call(f *Func) {
	if len(f.Name.Parts) == 1 {
		// These are forms of the grammar, not functions: PostgreSQL has none of such a name.
		switch n := f.Name.Parts[0].Name; n {
		case "coalesce", "greatest", "least", "grouping", "nullif":
			if plainArgs(f) && len(f.Args) > 0 && (n != "nullif" || len(f.Args) == 2) {
				p.str(n)
				p.args(f)
				return
			}
		}
	}
	p.name(f.Name)
	p.args(f)
	if f.WithinGroup {
		p.str(" WITHIN GROUP (")
		p.orderBy(f.OrderBy, "")
		p.str(")")
	}
	if f.Filter != nil {
		p.str(" FILTER (WHERE ")
		p.expr(f.Filter, precLowest)
		p.str(")")
	}
	if f.Over != nil {
		p.str(" OVER ")
		if f.Over.Name != nil {
			p.ident(f.Over.Name)
		} else {
			p.window(f.Over)
		}
	}
}

func plainArgs(f *Func) bool {
	for _, a := range f.Args {
		if a.Name != nil || a.Variadic {
			return false
		}
	}
	return !f.Star && !f.Distinct && f.OrderBy == nil && f.Filter == nil && f.Over == nil
}

func (p *printer) args(f *Func) {
	p.str("(")
	p.flag(f.Star, "*")
	p.flag(f.Distinct, "DISTINCT ")
	for i, a := range f.Args {
		p.sep(i, ", ")
		p.flag(a.Variadic, "VARIADIC ")
		if a.Name != nil {
			p.ident(a.Name)
			p.str(" => ")
		}
		p.expr(a.Value, precLowest)
	}
	if !f.WithinGroup {
		p.orderBy(f.OrderBy, " ")
	}
	p.str(")")
}

func (p *printer) window(w *WindowDef) {
	p.str("(")
	at := len(p.b)
	space := func() { p.flag(len(p.b) > at, " ") }
	if w.Ref != nil {
		p.ident(w.Ref)
	}
	if w.Partition != nil {
		space()
		p.str("PARTITION BY ")
		p.exprs(w.Partition)
	}
	if w.OrderBy != nil {
		space()
		p.orderBy(w.OrderBy, "")
	}
	if f := w.Frame; f != nil {
		space()
		p.str([...]string{FrameRange: "RANGE ", FrameRows: "ROWS ", FrameGroups: "GROUPS "}[f.Mode])
		if f.To.Kind != BoundNone {
			p.str("BETWEEN ")
			p.bound(f.From)
			p.str(" AND ")
			p.bound(f.To)
		} else {
			p.bound(f.From)
		}
		p.str([...]string{ExcludeNone: "", ExcludeCurrentRow: " EXCLUDE CURRENT ROW", ExcludeGroup: " EXCLUDE GROUP",
			ExcludeTies: " EXCLUDE TIES", ExcludeNoOthers: " EXCLUDE NO OTHERS"}[f.Exclude])
	}
	p.str(")")
}

func (p *printer) bound(b FrameBound) {
	if b.Offset != nil {
		p.expr(b.Offset, precAtom)
	}
	p.str([...]string{BoundNone: "", UnboundedPreceding: "UNBOUNDED PRECEDING", OffsetPreceding: " PRECEDING", CurrentRow: "CURRENT ROW",
		OffsetFollowing: " FOLLOWING", UnboundedFollowing: "UNBOUNDED FOLLOWING"}[b.Kind])
}

// ---- Types ----

// systemTypes are the spellings that mean the types of pg_catalog; a % is where modifiers go.
var systemTypes = map[string]string{"int2": "smallint", "int4": "integer", "int8": "bigint", "float4": "real",
	"float8": "double precision", "numeric": "numeric%", "bool": "boolean", "bit": "bit%", "varbit": "bit varying%",
	"bpchar": "character%", "varchar": "character varying%", "timestamp": "timestamp%", "timestamptz": "timestamp% with time zone",
	"time": "time%", "timetz": "time% with time zone"}

func (p *printer) typ(t *TypeName) {
	p.flag(t.SetOf, "SETOF ")
	p.baseType(t)
	for _, n := range t.Array {
		p.str("[")
		if n >= 0 {
			p.b = strconv.AppendInt(p.b, int64(n), 10)
		}
		p.str("]")
	}
}

func (p *printer) baseType(t *TypeName) {
	modifiers := func() {
		if t.Args != nil {
			p.str("(")
			p.exprs(t.Args)
			p.str(")")
		}
	}
	switch {
	case !t.System:
		p.name(t.Name)
		modifiers()
	case t.Name.Last() == "interval":
		p.str("interval")
		if t.Fields == "" {
			modifiers()
		} else {
			p.str(" ")
			p.str(t.Fields)
			modifiers()
		}
	default:
		before, after, has := strings.Cut(systemTypes[t.Name.Last()], "%")
		p.str(before)
		if has {
			modifiers()
		}
		p.str(after)
	}
}

// typedOnly reports whether a cast can only be written as a typed constant: bit and character without a length mean any
// length there, and one elsewhere.
func typedOnly(c *Cast) bool {
	if _, ok := c.X.(*StringLit); !ok || !c.Type.System || c.Type.Args != nil || c.Type.Array != nil || c.Type.SetOf {
		return false
	}
	n := c.Type.Name.Last()
	return n == "bit" || n == "bpchar"
}

func (p *printer) typedConstant(c *Cast) {
	fields := c.Type.Fields
	if fields == "" {
		p.baseType(c.Type)
		p.str(" ")
		p.expr(c.X, precLowest)
		return
	}
	p.str("interval ")
	p.expr(c.X, precLowest)
	p.str(" ")
	p.str(fields)
	if c.Type.Args != nil {
		p.str("(")
		p.exprs(c.Type.Args)
		p.str(")")
	}
}

// ---- Statements ----

func (p *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Query:
		p.query(s)
	case *Insert:
		p.insert(s)
	case *Update:
		if s.With != nil {
			p.with(s.With)
		}
		p.str("UPDATE ")
		p.table(s.Table)
		p.str(" SET ")
		p.assignments(s.Set)
		if s.From != nil {
			p.str(" FROM ")
			p.tables(s.From)
		}
		p.where(s.Where)
		p.returning(s.Returning)
	case *Delete:
		if s.With != nil {
			p.with(s.With)
		}
		p.str("DELETE FROM ")
		p.table(s.Table)
		if s.Using != nil {
			p.str(" USING ")
			p.tables(s.Using)
		}
		p.where(s.Where)
		p.returning(s.Returning)
	case *Truncate:
		p.str("TRUNCATE ")
		p.relations(s.Tables)
		p.flag(s.RestartIdentity, " RESTART IDENTITY")
		p.flag(s.Cascade, " CASCADE")
	case *Copy:
		p.copy(s)
	case *Begin:
		p.str("BEGIN")
		p.txMode(s.Mode)
	case *Commit:
		p.str("COMMIT")
		p.flag(s.Chain, " AND CHAIN")
	case *Rollback:
		p.str("ROLLBACK")
		p.flag(s.Chain, " AND CHAIN")
	case *Savepoint:
		p.str("SAVEPOINT ")
		p.ident(s.Name)
	case *Release:
		p.str("RELEASE SAVEPOINT ")
		p.ident(s.Name)
	case *RollbackTo:
		p.str("ROLLBACK TO SAVEPOINT ")
		p.ident(s.Name)
	case *SetTransaction:
		p.str("SET ")
		p.flag(s.Session, "SESSION CHARACTERISTICS AS ")
		p.str("TRANSACTION")
		if s.Snapshot != "" {
			p.str(" SNAPSHOT ")
			p.str(QuoteString(s.Snapshot))
		}
		p.txMode(s.Mode)
	case *SetConstraints:
		p.str("SET CONSTRAINTS ")
		if s.Names == nil {
			p.str("ALL")
		}
		p.nameList(s.Names)
		if s.Deferred {
			p.str(" DEFERRED")
		} else {
			p.str(" IMMEDIATE")
		}
	case *Lock:
		p.str("LOCK TABLE ")
		p.relations(s.Tables)
		if s.Mode != "" {
			p.str(" IN " + s.Mode + " MODE")
		}
		p.flag(s.NoWait, " NOWAIT")
	case *Set:
		p.set(s)
	case *Reset:
		p.str("RESET ")
		p.setting(s.Name)
	case *Show:
		p.str("SHOW ")
		p.setting(s.Name)
	case *Discard:
		p.str("DISCARD " + s.What)
	case *Load:
		p.str("LOAD " + QuoteString(s.Library))
	case *Listen:
		p.str("LISTEN ")
		p.ident(s.Channel)
	case *Unlisten:
		p.str("UNLISTEN ")
		if s.Channel == nil {
			p.str("*")
		} else {
			p.ident(s.Channel)
		}
	case *Notify:
		p.str("NOTIFY ")
		p.ident(s.Channel)
		if s.Payload != "" {
			p.str(", " + QuoteString(s.Payload))
		}
	case *Prepare:
		p.str("PREPARE ")
		p.ident(s.Name)
		for i, t := range s.Types {
			if i == 0 {
				p.str(" (")
			} else {
				p.str(", ")
			}
			p.typ(t)
		}
		p.flag(s.Types != nil, ")")
		p.str(" AS ")
		p.stmt(s.Body)
	case *Execute:
		p.str("EXECUTE ")
		p.ident(s.Name)
		if s.Args != nil {
			p.str("(")
			p.exprs(s.Args)
			p.str(")")
		}
	case *Deallocate:
		p.str("DEALLOCATE ")
		p.identOrAll(s.Name)
	case *DeclareCursor:
		p.declare(s)
	case *Fetch:
		p.fetch(s)
	case *CloseCursor:
		p.str("CLOSE ")
		p.identOrAll(s.Name)
	case *Explain:
		p.str("EXPLAIN ")
		if s.Options != nil {
			p.utilityOptions(s.Options)
			p.str(" ")
		} else {
			p.flag(s.Analyze, "ANALYZE ")
			p.flag(s.Verbose, "VERBOSE ")
		}
		p.stmt(s.Body)
	case *Vacuum:
		p.vacuum(s)
	case *Reindex:
		p.str("REINDEX " + s.Kind)
		p.flag(s.Concurrently, " CONCURRENTLY")
		if s.Name != nil {
			p.str(" ")
			p.name(s.Name)
		}
	case *Checkpoint:
		p.str("CHECKPOINT")
	case *Comment:
		p.str("COMMENT ON " + s.Kind + " ")
		p.name(s.Name)
		p.str(" IS ")
		if s.Text == nil {
			p.str("NULL")
		} else {
			p.stringLit(s.Text)
		}
	case *Grant:
		p.grant(s)
	default:
		p.definition(s)
	}
}

func (p *printer) identOrAll(id *Ident) {
	if id == nil {
		p.str("ALL")
		return
	}
	p.ident(id)
}

func (p *printer) relations(list []*TableRef) {
	for i, t := range list {
		p.sep(i, ", ")
		p.table(t)
	}
}

func (p *printer) insert(s *Insert) {
	if s.With != nil {
		p.with(s.With)
	}
	p.str("INSERT INTO ")
	p.name(s.Table)
	if s.Alias != nil {
		p.str(" AS ")
		p.ident(s.Alias)
	}
	if s.Columns != nil {
		p.str(" (")
		p.assignees(s.Columns)
		p.str(")")
	}
	p.str([...]string{OverridingNone: "", OverridingUser: " OVERRIDING USER VALUE", OverridingSystem: " OVERRIDING SYSTEM VALUE"}[s.Overriding])
	if s.Query == nil {
		p.str(" DEFAULT VALUES")
	} else {
		p.str(" ")
		p.query(s.Query)
	}
	if c := s.OnConflict; c != nil {
		p.str(" ON CONFLICT")
		switch {
		case c.Target != nil:
			p.str(" ")
			p.indexElems(c.Target)
			p.where(c.TargetWhere)
		case c.Constraint != nil:
			p.str(" ON CONSTRAINT ")
			p.ident(c.Constraint)
		}
		if c.Set == nil {
			p.str(" DO NOTHING")
		} else {
			p.str(" DO UPDATE SET ")
			p.assignments(c.Set)
			p.where(c.Where)
		}
	}
	p.returning(s.Returning)
}

func (p *printer) assignees(list []*Assignee) {
	for i, a := range list {
		p.sep(i, ", ")
		p.ident(a.Column)
		for _, step := range a.Path {
			switch step := step.(type) {
			case *Subscript:
				p.subscript(step)
			case *Field:
				p.field(step)
			}
		}
	}
}

func (p *printer) assignments(list []*Assignment) {
	for i, a := range list {
		p.sep(i, ", ")
		p.flag(a.Multi, "(")
		p.assignees(a.Columns)
		p.flag(a.Multi, ")")
		p.str(" = ")
		p.expr(a.Value, precLowest)
	}
}

func (p *printer) returning(list []*Target) {
	if list != nil {
		p.str(" RETURNING ")
		p.targets(list)
	}
}

func (p *printer) copy(s *Copy) {
	p.str("COPY ")
	if s.Query != nil {
		p.str("(")
		p.stmt(s.Query)
		p.str(")")
	} else {
		p.name(s.Table)
		if s.Columns != nil {
			p.str(" ")
			p.columns(s.Columns)
		}
	}
	if s.From {
		p.str(" FROM ")
	} else {
		p.str(" TO ")
	}
	p.flag(s.Program, "PROGRAM ")
	switch {
	case s.Stdio && s.From:
		p.str("STDIN")
	case s.Stdio:
		p.str("STDOUT")
	default:
		p.str(QuoteString(s.File))
	}
	if s.Options != nil {
		p.str(" ")
		p.utilityOptions(s.Options)
	}
	p.where(s.Where)
}

// utilityOptions prints (name value, …).
func (p *printer) utilityOptions(list []*Option) {
	p.str("(")
	for i, o := range list {
		p.sep(i, ", ")
		p.str(QuoteIdent(o.Name))
		if o.Value != nil {
			p.str(" ")
			p.expr(o.Value, precLowest)
		}
		if o.List != nil {
			p.str(" (")
			p.exprs(o.List)
			p.str(")")
		}
	}
	p.str(")")
}

func (p *printer) txMode(m TxMode) {
	n := 0
	add := func(s string) {
		p.sep(n, ",")
		p.str(" " + s)
		n++
	}
	if m.Isolation != "" {
		add("ISOLATION LEVEL " + m.Isolation)
	}
	if m.ReadOnly != nil {
		if *m.ReadOnly {
			add("READ ONLY")
		} else {
			add("READ WRITE")
		}
	}
	if m.Deferrable != nil {
		if *m.Deferrable {
			add("DEFERRABLE")
		} else {
			add("NOT DEFERRABLE")
		}
	}
}

func (p *printer) setting(name string) {
	if name == "" {
		p.str("ALL")
		return
	}
	parts := strings.Split(name, ".")
	for _, part := range parts {
		if part == "" {
			parts = []string{name}
			break
		}
	}
	for i, part := range parts {
		p.sep(i, ".")
		p.str(QuoteIdent(part))
	}
}

func (p *printer) set(s *Set) {
	p.str("SET ")
	p.flag(s.Local, "LOCAL ")
	if len(s.Values) == 1 {
		if c, ok := s.Values[0].(*Cast); ok {
			p.str("TIME ZONE ")
			p.typedConstant(c)
			return
		}
	}
	p.setting(s.Name)
	p.str(" TO ")
	p.flag(s.Default, "DEFAULT")
	p.exprs(s.Values)
}

func (p *printer) declare(s *DeclareCursor) {
	p.str("DECLARE ")
	p.ident(s.Name)
	p.flag(s.Binary, " BINARY")
	p.flag(s.Insensitive, " INSENSITIVE")
	p.flag(s.Asensitive, " ASENSITIVE")
	if s.Scroll != nil {
		p.flag(!*s.Scroll, " NO")
		p.str(" SCROLL")
	}
	p.str(" CURSOR ")
	if s.Hold != nil {
		if *s.Hold {
			p.str("WITH HOLD ")
		} else {
			p.str("WITHOUT HOLD ")
		}
	}
	p.str("FOR ")
	p.query(s.Query)
}

func (p *printer) fetch(s *Fetch) {
	if s.Move {
		p.str("MOVE ")
	} else {
		p.str("FETCH ")
	}
	p.str([...]string{FetchForward: "FORWARD ", FetchBackward: "BACKWARD ", FetchAbsolute: "ABSOLUTE ", FetchRelative: "RELATIVE "}[s.How])
	if s.Count == math.MaxInt64 {
		p.str("ALL")
	} else {
		p.b = strconv.AppendInt(p.b, s.Count, 10)
	}
	p.str(" FROM ")
	p.ident(s.Cursor)
}

func (p *printer) vacuum(s *Vacuum) {
	if s.OnlyAnalyze {
		p.str("ANALYZE")
	} else {
		p.str("VACUUM")
	}
	if s.Options != nil {
		p.str(" ")
		p.utilityOptions(s.Options)
	} else {
		p.flag(s.Full, " FULL")
		p.flag(s.Freeze, " FREEZE")
		p.flag(s.Verbose, " VERBOSE")
		p.flag(s.Analyze && !s.OnlyAnalyze, " ANALYZE")
	}
	for i, t := range s.Tables {
		if i == 0 {
			p.str(" ")
		} else {
			p.str(", ")
		}
		p.name(t.Name)
		if t.Columns != nil {
			p.str(" ")
			p.columns(t.Columns)
		}
	}
}

func (p *printer) grant(s *Grant) {
	verb, to := "GRANT ", " TO "
	if s.Revoke {
		verb, to = "REVOKE ", " FROM "
	}
	p.str(verb)
	if s.Revoke && s.GrantOption {
		p.str("GRANT OPTION FOR ")
	}
	if s.Roles != nil {
		p.idents(s.Roles)
	} else {
		p.flag(s.Privileges == nil, "ALL")
		for i, v := range s.Privileges {
			p.sep(i, ", ")
			p.str(QuoteIdent(strings.ToLower(v)))
		}
		p.str(" ON " + s.Kind + " ")
		p.nameList(s.Objects)
	}
	p.str(to)
	for i, g := range s.Grantees {
		p.sep(i, ", ")
		p.ident(g)
	}
	if s.Revoke {
		p.flag(s.Cascade, " CASCADE")
	} else {
		p.flag(s.GrantOption, " WITH GRANT OPTION")
	}
}

// ---- Definitions ----

func (p *printer) definition(s Stmt) {
	switch s := s.(type) {
	case *CreateTable:
		p.createTable(s)
	case *CreateIndex:
		p.createIndex(s)
	case *CreateView:
		p.createView(s)
	case *CreateSchema:
		p.str("CREATE SCHEMA")
		p.flag(s.IfNotExists, " IF NOT EXISTS")
		if s.Name != nil {
			p.str(" ")
			p.ident(s.Name)
		}
		if s.Owner != nil {
			p.str(" AUTHORIZATION ")
			p.ident(s.Owner)
		}
	case *CreateExtension:
		p.str("CREATE EXTENSION ")
		p.flag(s.IfNotExists, "IF NOT EXISTS ")
		p.ident(s.Name)
		if s.Schema != nil {
			p.str(" SCHEMA ")
			p.ident(s.Schema)
		}
		if s.Version != "" {
			p.str(" VERSION " + QuoteString(s.Version))
		}
		p.flag(s.Cascade, " CASCADE")
	case *CreateSequence:
		p.str("CREATE ")
		p.flag(s.Temp, "TEMP ")
		p.str("SEQUENCE ")
		p.flag(s.IfNotExists, "IF NOT EXISTS ")
		p.name(s.Name)
		p.sequenceOptions(s.Options)
	case *AlterTable:
		p.str("ALTER TABLE ")
		p.flag(s.IfExists, "IF EXISTS ")
		p.table(s.Table)
		for i, a := range s.Actions {
			p.sep(i, ",")
			p.str(" ")
			p.alterAction(a)
		}
	case *Drop:
		p.str("DROP " + s.Kind + " ")
		p.flag(s.Concurrently, "CONCURRENTLY ")
		p.flag(s.IfExists, "IF EXISTS ")
		p.nameList(s.Names)
		p.flag(s.Cascade, " CASCADE")
	}
}

func (p *printer) createTable(s *CreateTable) {
	p.str("CREATE ")
	p.flag(s.Temp, "TEMP ")
	p.flag(s.Unlogged, "UNLOGGED ")
	p.str("TABLE ")
	p.flag(s.IfNotExists, "IF NOT EXISTS ")
	p.name(s.Name)
	switch {
	case s.Names != nil:
		p.str(" ")
		p.columns(s.Names)
	case s.As == nil:
		p.str(" (")
		n := 0
		for _, c := range s.Columns {
			p.sep(n, ", ")
			n++
			p.tableColumn(c)
		}
		for _, l := range s.Likes {
			p.sep(n, ", ")
			n++
			p.str("LIKE ")
			p.name(l)
		}
		for _, c := range s.Constraints {
			p.sep(n, ", ")
			n++
			p.constraint(c, true)
		}
		p.str(")")
	}
	if s.Inherits != nil {
		p.str(" INHERITS (")
		p.nameList(s.Inherits)
		p.str(")")
	}
	p.relOptions(s.Options)
	if s.OnCommit != "" {
		p.str(" ON COMMIT " + s.OnCommit)
	}
	if s.As != nil {
		p.str(" AS ")
		p.stmt(s.As)
	}
	p.flag(s.NoData, " WITH NO DATA")
}

func (p *printer) relOptions(list []*Option) {
	if list == nil {
		return
	}
	p.str(" WITH (")
	for i, o := range list {
		p.sep(i, ", ")
		p.setting(o.Name)
		if o.Value != nil {
			p.str(" = ")
			p.expr(o.Value, precLowest)
		}
	}
	p.str(")")
}

func (p *printer) tableColumn(c *TableColumn) {
	p.ident(c.Name)
	p.str(" ")
	p.typ(c.Type)
	p.collate(c.Collate)
	for _, k := range c.Constraints {
		p.str(" ")
		p.constraint(k, false)
	}
}

func (p *printer) constraint(c *Constraint, table bool) {
	if c.Name != nil {
		p.str("CONSTRAINT ")
		p.ident(c.Name)
		p.str(" ")
	}
	columns := func() {
		if table {
			p.str(" ")
			p.columns(c.Columns)
		}
	}
	switch c.Kind {
	case ConstraintNotNull:
		p.str("NOT NULL")
	case ConstraintNull:
		p.str("NULL")
	case ConstraintDefault:
		p.str("DEFAULT ")
		p.expr(c.Expr, precAtom)
	case ConstraintCheck:
		p.str("CHECK (")
		p.expr(c.Expr, precLowest)
		p.str(")")
		p.flag(c.NoInherit, " NO INHERIT")
	case ConstraintPrimaryKey:
		p.str("PRIMARY KEY")
		columns()
	case ConstraintUnique:
		p.str("UNIQUE")
		columns()
	case ConstraintReferences:
		if table {
			p.str("FOREIGN KEY")
			columns()
			p.str(" ")
		}
		p.str("REFERENCES ")
		p.name(c.Table)
		if c.RefColumns != nil {
			p.str(" ")
			p.columns(c.RefColumns)
		}
		if c.Match != "" {
			p.str(" MATCH " + c.Match)
		}
		if c.OnDelete != "" {
			p.str(" ON DELETE " + c.OnDelete)
		}
		if c.OnUpdate != "" {
			p.str(" ON UPDATE " + c.OnUpdate)
		}
	case ConstraintGenerated:
		p.str("GENERATED ALWAYS AS (")
		p.expr(c.Expr, precLowest)
		p.str(") STORED")
	case ConstraintIdentity:
		if c.Always {
			p.str("GENERATED ALWAYS AS IDENTITY")
		} else {
			p.str("GENERATED BY DEFAULT AS IDENTITY")
		}
		if c.Options != nil {
			p.str(" (")
			p.sequenceOptions(c.Options)
			p.str(")")
		}
	}
	switch {
	case c.Deferred:
		p.str(" INITIALLY DEFERRED")
	case c.Deferrable:
		p.str(" DEFERRABLE")
	}
}

func (p *printer) sequenceOptions(list []*Option) {
	for _, o := range list {
		p.str(" ")
		switch o.Name {
		case "increment":
			p.str("INCREMENT BY ")
			p.expr(o.Value, precLowest)
		case "start", "cache":
			p.str(strings.ToUpper(o.Name) + " ")
			p.expr(o.Value, precLowest)
		case "minvalue", "maxvalue":
			if o.Value == nil {
				p.str("NO " + strings.ToUpper(o.Name))
			} else {
				p.str(strings.ToUpper(o.Name) + " ")
				p.expr(o.Value, precLowest)
			}
		case "cycle":
			if b, ok := o.Value.(*BoolLit); ok && !b.Value {
				p.str("NO ")
			}
			p.str("CYCLE")
		case "owned_by":
			p.str("OWNED BY ")
			for i, part := range o.List {
				p.sep(i, ".")
				p.str(QuoteIdent(part.(*StringLit).Value))
			}
		case "as":
			p.str("AS " + QuoteIdent(o.Value.(*StringLit).Value))
		}
	}
}

func (p *printer) indexElems(list []*IndexElem) {
	p.str("(")
	for i, e := range list {
		p.sep(i, ", ")
		switch x := e.Expr.(type) {
		case *ColumnRef:
			if len(x.Parts) == 1 {
				p.ident(x.Parts[0])
				break
			}
			p.str("(")
			p.expr(x, precLowest)
			p.str(")")
		case *Func:
			if x.Filter == nil && x.Over == nil && !x.WithinGroup {
				p.expr(x, precLowest)
				break
			}
			p.str("(")
			p.expr(x, precLowest)
			p.str(")")
		default:
			p.str("(")
			p.expr(x, precLowest)
			p.str(")")
		}
		p.collate(e.Collate)
		if e.OpClass != nil {
			p.str(" ")
			p.name(e.OpClass)
		}
		p.flag(e.Desc, " DESC")
		p.nulls(e.Nulls)
	}
	p.str(")")
}

func (p *printer) createIndex(s *CreateIndex) {
	p.str("CREATE ")
	p.flag(s.Unique, "UNIQUE ")
	p.str("INDEX ")
	p.flag(s.Concurrently, "CONCURRENTLY ")
	p.flag(s.IfNotExists, "IF NOT EXISTS ")
	if s.Name != nil {
		p.ident(s.Name)
		p.str(" ")
	}
	p.str("ON ")
	p.table(s.Table)
	if s.Method != "" {
		p.str(" USING " + QuoteIdent(s.Method))
	}
	p.str(" ")
	p.indexElems(s.Elems)
	if s.Include != nil {
		p.str(" INCLUDE ")
		p.columns(s.Include)
	}
	p.relOptions(s.Options)
	p.where(s.Where)
}

func (p *printer) createView(s *CreateView) {
	p.str("CREATE ")
	p.flag(s.OrReplace, "OR REPLACE ")
	p.flag(s.Temp, "TEMP ")
	p.flag(s.Recursive, "RECURSIVE ")
	p.flag(s.Materialized, "MATERIALIZED ")
	p.str("VIEW ")
	p.flag(s.IfNotExists, "IF NOT EXISTS ")
	p.name(s.Name)
	if s.Columns != nil {
		p.str(" ")
		p.columns(s.Columns)
	}
	p.relOptions(s.Options)
	p.str(" AS ")
	p.query(s.Query)
	if s.Check != "" {
		p.str(" WITH " + s.Check + " CHECK OPTION")
	}
	p.flag(s.NoData, " WITH NO DATA")
}

func (p *printer) alterAction(a *AlterAction) {
	column := func() {
		p.str("ALTER COLUMN ")
		p.ident(a.Name)
	}
	drop := func(what string) {
		p.str("DROP " + what + " ")
		p.flag(a.IfExists, "IF EXISTS ")
		p.ident(a.Name)
		p.flag(a.Cascade, " CASCADE")
	}
	switch a.Kind {
	case AddColumn:
		p.str("ADD COLUMN ")
		p.flag(a.IfExists, "IF NOT EXISTS ")
		p.tableColumn(a.Column)
	case DropColumn:
		drop("COLUMN")
	case AddConstraint:
		p.str("ADD ")
		p.constraint(a.Constraint, true)
	case DropConstraint:
		drop("CONSTRAINT")
	case SetDefault:
		column()
		p.str(" SET DEFAULT ")
		p.expr(a.Expr, precLowest)
	case DropDefault:
		column()
		p.str(" DROP DEFAULT")
	case SetNotNull:
		column()
		p.str(" SET NOT NULL")
	case DropNotNull:
		column()
		p.str(" DROP NOT NULL")
	case AlterType:
		column()
		p.str(" TYPE ")
		p.typ(a.Type)
		if a.Expr != nil {
			p.str(" USING ")
			p.expr(a.Expr, precLowest)
		}
	case RenameColumn:
		p.str("RENAME COLUMN ")
		p.ident(a.Name)
		p.str(" TO ")
		p.ident(a.NewName)
	case RenameTable:
		p.str("RENAME TO ")
		p.ident(a.NewName)
	case RenameConstraint:
		p.str("RENAME CONSTRAINT ")
		p.ident(a.Name)
		p.str(" TO ")
		p.ident(a.NewName)
	case SetSchema:
		p.str("SET SCHEMA ")
		p.ident(a.NewName)
	case SetOwner:
		p.str("OWNER TO ")
		p.ident(a.NewName)
	}
}
