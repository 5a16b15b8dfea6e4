package cypher

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Print returns a statement as text that parses to an equal tree. Layout, comments and needless parentheses are gone, and
// so is the difference between spellings of one thing (!= and <>, :A:B and :A&B).
func Print(s *Statement) string {
	var p printer
	switch s.Mode {
	case Explain:
		p.str("EXPLAIN ")
	case Profile:
		p.str("PROFILE ")
	}
	if len(s.Options) > 0 {
		p.str("CYPHER ")
		for _, o := range s.Options {
			p.name(o.Name)
			p.str(" = ")
			p.optionValue(o.Value)
			p.str(" ")
		}
	}
	p.body(s.Body)
	return string(p.b)
}

// Text returns any part of a tree as text.
func Text(n Node) string {
	var p printer
	switch n := n.(type) {
	case *Statement:
		return Print(n)
	case Body:
		p.body(n)
	case *SingleQuery:
		p.clauses(n.Clauses)
	case Clause:
		p.clause(n)
	case *Path:
		p.path(n)
	case Element:
		p.element(n)
	case LabelExpr:
		p.labels(n, 0)
	case *Type:
		p.typ(n)
	case Expr:
		p.expr(n, precLowest)
	case *Item:
		p.items([]*Item{n})
	case *Ident:
		p.name(n.Name)
	case SetItem:
		p.setItem(n)
	case RemoveItem:
		p.removeItem(n)
	default:
		return fmt.Sprintf("%T", n)
	}
	return string(p.b)
}

// QuoteName returns a variable's or alias's name as it must be written: in backticks where it would not be read as one.
func QuoteName(name string) string {
	var p printer
	p.name(name)
	return string(p.b)
}

type printer struct{ b []byte }

func (p *printer) str(s string) { p.b = append(p.b, s...) }

// contextual words are no keywords of the lexer but mean something in a place where a variable may stand.
var contextual = map[string]bool{"NFC": true, "NFD": true, "NFKC": true, "NFKD": true, "LEADING": true, "TRAILING": true,
	"BOTH": true, "DIFFERENT": true, "REPEATABLE": true, "INDEX": true, "CONSTRAINT": true, "DATABASE": true, "TYPED": true,
	"NORMALIZED": true, "FOR": true, "IF": true, "ANALYZE": true, "VERBOSE": true, "GRAPH": true, "OPTIONS": true}

// name prints a variable or alias.
func (p *printer) name(s string) {
	if lookupKeyword(s) != NotKeyword || len(s) <= len("CONSTRAINT") && contextual[upper(s)] {
		p.backticked(s)
		return
	}
	p.key(s)
}

// key prints a name where any word may stand: a label, a type, a property key.
func (p *printer) key(s string) {
	for i, r := range s {
		if r == utf8.RuneError || !(r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) ||
			i > 0 && unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc)) {
			p.backticked(s)
			return
		}
	}
	if s == "" {
		p.backticked(s)
		return
	}
	p.str(s)
}

func (p *printer) backticked(s string) {
	p.b = append(p.b, '`')
	for i := 0; i < len(s); i++ {
		if s[i] == '`' {
			p.b = append(p.b, '`')
		}
		p.b = append(p.b, s[i])
	}
	p.b = append(p.b, '`')
}

func (p *printer) quoted(s string) {
	p.b = append(p.b, '\'')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\', '\'':
			p.b = append(p.b, '\\', c)
		case '\n':
			p.str(`\n`)
		case '\r':
			p.str(`\r`)
		case '\t':
			p.str(`\t`)
		case '\b':
			p.str(`\b`)
		case '\f':
			p.str(`\f`)
		default:
			if c < 0x20 || c == 0x7f {
				p.b = fmt.Appendf(p.b, `\u%04X`, c)
			} else {
				p.b = append(p.b, c)
			}
		}
	}
	p.b = append(p.b, '\'')
}

func (p *printer) optionValue(v string) {
	if toks, err := Lex(v, Cypher); err == nil && len(toks) == 2 && toks[0].Start == 0 && int(toks[0].End) == len(v) &&
		(toks[0].Kind == Integer || toks[0].Kind == Float) {
		p.str(v)
		return
	}
	p.quoted(v)
}

// sep prints a separator between the elements of a list.
func (p *printer) sep(i int, s string) {
	if i > 0 {
		p.str(s)
	}
}

func (p *printer) names(list []*Ident) {
	for i, n := range list {
		p.sep(i, ", ")
		p.name(n.Name)
	}
}

func (p *printer) keys(list []*Ident) {
	for i, n := range list {
		p.sep(i, ", ")
		p.key(n.Name)
	}
}

// dotted prints the keys of a variable.
func (p *printer) dotted(v *Ident, list []*Ident) {
	for i, n := range list {
		p.sep(i, ", ")
		p.name(v.Name)
		p.str(".")
		p.key(n.Name)
	}
}

// ---- Statements and clauses ----

func (p *printer) body(b Body) {
	switch b := b.(type) {
	case *Query:
		p.query(b)
	case *CreateIndex:
		p.createIndex(b)
	case *DropIndex:
		p.str("DROP INDEX ")
		if b.Name != nil {
			p.nameOrParam(b.Name)
		} else {
			p.str("ON :")
			p.key(b.Label.Name)
			p.str("(")
			p.keys(b.Keys)
			p.str(")")
		}
		p.flag(b.IfExists, " IF EXISTS")
	case *CreateConstraint:
		p.createConstraint(b)
	case *DropConstraint:
		p.str("DROP CONSTRAINT ")
		p.nameOrParam(b.Name)
		p.flag(b.IfExists, " IF EXISTS")
	case *CreateDatabase:
		p.str("CREATE ")
		p.flag(b.OrReplace, "OR REPLACE ")
		p.str("DATABASE ")
		p.nameOrParam(b.Name)
		p.flag(b.IfNotExists, " IF NOT EXISTS")
		p.options(b.Options)
	case *DropDatabase:
		p.str("DROP DATABASE ")
		p.nameOrParam(b.Name)
		p.flag(b.IfExists, " IF EXISTS")
	case *Show:
		p.show(b)
	case *Terminate:
		p.str("TERMINATE TRANSACTIONS ")
		p.exprs(b.Names)
		p.yield(b.Yield)
		if b.Return != nil {
			p.str(" ")
			p.clause(b.Return)
		}
	}
}

func (p *printer) flag(on bool, s string) {
	if on {
		p.str(s)
	}
}

func (p *printer) nameOrParam(n *NameOrParam) {
	if n.Param != nil {
		p.expr(n.Param, precLowest)
		return
	}
	p.name(n.Name)
}

func (p *printer) options(x Expr) {
	if x != nil {
		p.str(" OPTIONS ")
		p.expr(x, precLowest)
	}
}

var indexText = [...]string{DefaultIndex: "", RangeIndex: "RANGE ", TextIndex: "TEXT ", PointIndex: "POINT ",
	LookupIndex: "LOOKUP ", FulltextIndex: "FULLTEXT ", VectorIndex: "VECTOR "}

func (p *printer) createIndex(c *CreateIndex) {
	p.str("CREATE ")
	p.flag(c.OrReplace, "OR REPLACE ")
	p.flag(c.Unique, "UNIQUE ")
	p.str(indexText[c.Kind])
	p.str("INDEX ")
	if c.Var == nil {
		p.str("ON :")
		p.key(c.Labels[0].Name)
		p.str("(")
		p.keys(c.Keys)
		p.str(")")
		p.options(c.Options)
		return
	}
	if c.Name != nil {
		p.nameOrParam(c.Name)
		p.str(" ")
	}
	p.flag(c.IfNotExists, "IF NOT EXISTS ")
	p.str("FOR ")
	p.entity(c.OnRel, c.Var, c.Labels)
	p.str(" ON ")
	switch c.Kind {
	case LookupIndex:
		if c.OnRel {
			p.str("EACH type(")
		} else {
			p.str("EACH labels(")
		}
		p.name(c.Var.Name)
		p.str(")")
	case FulltextIndex:
		p.str("EACH [")
		p.dotted(c.Var, c.Keys)
		p.str("]")
	default:
		p.str("(")
		p.dotted(c.Var, c.Keys)
		p.str(")")
	}
	p.options(c.Options)
}

func (p *printer) entity(rel bool, v *Ident, labels []*Ident) {
	open, closing := "(", ")"
	if rel {
		open, closing = "()-[", "]-()"
	}
	p.str(open)
	p.name(v.Name)
	for i, l := range labels {
		if i == 0 {
			p.str(":")
		} else {
			p.str("|")
		}
		p.key(l.Name)
	}
	p.str(closing)
}

func (p *printer) createConstraint(c *CreateConstraint) {
	p.str("CREATE ")
	p.flag(c.OrReplace, "OR REPLACE ")
	p.str("CONSTRAINT ")
	if c.Name != nil {
		p.nameOrParam(c.Name)
		p.str(" ")
	}
	p.flag(c.IfNotExists, "IF NOT EXISTS ")
	p.str("FOR ")
	p.entity(c.OnRel, c.Var, []*Ident{c.Label})
	p.str(" REQUIRE (")
	p.dotted(c.Var, c.Keys)
	p.str(") IS ")
	switch c.Kind {
	case UniqueConstraint:
		p.str("UNIQUE")
	case KeyConstraint:
		p.str("KEY")
	case NotNullConstraint:
		p.str("NOT NULL")
	case TypeConstraint:
		p.str(":: ")
		p.typ(c.Type)
	}
	p.options(c.Options)
}

func (p *printer) show(s *Show) {
	p.str("SHOW ")
	switch s.Kind {
	case ShowCurrentUser:
		p.str("CURRENT USER")
	case ShowSchema:
		p.str("SCHEMA INFO")
	default:
		if s.Filter != "" {
			p.str(s.Filter)
			p.str(" ")
		}
		for _, n := range showNouns {
			if n.kind == s.Kind && (s.Kind != ShowDatabases || n.named == (s.Filter != "" || s.Names != nil)) {
				p.str(n.words[0])
				break
			}
		}
		if s.Names != nil {
			p.str(" ")
			p.exprs(s.Names)
		}
	}
	p.yield(s.Yield)
	p.where(s.Where)
	if s.Return != nil {
		p.str(" ")
		p.clause(s.Return)
	}
}

func (p *printer) query(q *Query) {
	for i, part := range q.Parts {
		if i > 0 {
			if q.Unions[i-1].All {
				p.str(" UNION ALL ")
			} else {
				p.str(" UNION ")
			}
		}
		p.clauses(part.Clauses)
	}
}

func (p *printer) clauses(list []Clause) {
	for i, c := range list {
		p.sep(i, " ")
		p.clause(c)
	}
}

func (p *printer) clause(c Clause) {
	switch c := c.(type) {
	case *Use:
		p.str("USE ")
		if c.Func != "" {
			p.str("graph.")
			p.key(c.Func)
			p.str("(")
			p.expr(c.ByName, precLowest)
			p.str(")")
		} else {
			p.name(c.Name)
		}
	case *Match:
		p.flag(c.Optional, "OPTIONAL ")
		p.str("MATCH ")
		p.flag(c.Mode == DifferentRelationships, "DIFFERENT RELATIONSHIPS ")
		p.flag(c.Mode == RepeatableElements, "REPEATABLE ELEMENTS ")
		p.paths(c.Patterns)
		for _, h := range c.Hints {
			p.hint(h)
		}
		p.where(c.Where)
	case *Unwind:
		p.str("UNWIND ")
		p.expr(c.Expr, precLowest)
		p.str(" AS ")
		p.name(c.Var.Name)
	case *With:
		p.str("WITH ")
		p.projection(&c.Projection)
		p.where(c.Where)
	case *Return:
		p.str("RETURN ")
		p.projection(&c.Projection)
	case *OrderLimit:
		n := len(p.b)
		p.orderLimit(c.OrderBy, c.Skip, c.Limit)
		p.b = append(p.b[:n], p.b[n+1:]...) // the leading space
	case *Create:
		p.str("CREATE ")
		p.paths(c.Patterns)
	case *Merge:
		p.str("MERGE ")
		p.path(c.Pattern)
		for _, a := range c.Actions {
			if a.OnCreate {
				p.str(" ON CREATE SET ")
			} else {
				p.str(" ON MATCH SET ")
			}
			p.setItems(a.Items)
		}
	case *Set:
		p.str("SET ")
		p.setItems(c.Items)
	case *Remove:
		p.str("REMOVE ")
		for i, it := range c.Items {
			p.sep(i, ", ")
			p.removeItem(it)
		}
	case *Delete:
		p.flag(c.Detach, "DETACH ")
		p.flag(c.NoDetach, "NODETACH ")
		p.str("DELETE ")
		p.exprs(c.Exprs)
	case *Foreach:
		p.str("FOREACH (")
		p.name(c.Var.Name)
		p.str(" IN ")
		p.expr(c.List, precLowest)
		p.str(" | ")
		p.clauses(c.Body)
		p.str(")")
	case *Call:
		p.call(c)
	case *Subquery:
		p.subquery(c)
	case *LoadCSV:
		p.str("LOAD CSV ")
		p.flag(c.WithHeaders, "WITH HEADERS ")
		p.str("FROM ")
		p.expr(c.From, precLowest)
		p.str(" AS ")
		p.name(c.Var.Name)
		if c.FieldTerminator != nil {
			p.str(" FIELDTERMINATOR ")
			p.expr(c.FieldTerminator, precLowest)
		}
	case *Finish:
		p.str("FINISH")
	}
}

func (p *printer) where(x Expr) {
	if x != nil {
		p.str(" WHERE ")
		p.expr(x, precLowest)
	}
}

func (p *printer) hint(h *Hint) {
	p.str(" USING ")
	switch h.Kind {
	case HintJoin:
		p.str("JOIN ON ")
		p.names(h.Vars)
		return
	case HintScan:
		p.str("SCAN ")
	case HintIndex:
		p.str(indexText[h.Type])
		p.str("INDEX ")
		p.flag(h.Seek, "SEEK ")
	}
	p.name(h.Vars[0].Name)
	p.str(":")
	p.key(h.Label.Name)
	if h.Kind == HintIndex {
		p.str("(")
		p.keys(h.Keys)
		p.str(")")
	}
}

func (p *printer) projection(pr *Projection) {
	p.flag(pr.Distinct, "DISTINCT ")
	if pr.Star {
		p.str("*")
		p.flag(len(pr.Items) > 0, ", ")
	}
	p.items(pr.Items)
	p.orderLimit(pr.OrderBy, pr.Skip, pr.Limit)
}

func (p *printer) items(items []*Item) {
	for i, it := range items {
		p.sep(i, ", ")
		p.expr(it.Expr, precLowest)
		if it.Alias != nil {
			p.str(" AS ")
			p.name(it.Alias.Name)
		}
	}
}

func (p *printer) orderLimit(order []*SortItem, skip, limit Expr) {
	for i, s := range order {
		if i == 0 {
			p.str(" ORDER BY ")
		} else {
			p.str(", ")
		}
		p.expr(s.Expr, precLowest)
		p.flag(s.Desc, " DESC")
	}
	if skip != nil {
		p.str(" SKIP ")
		p.expr(skip, precLowest)
	}
	if limit != nil {
		p.str(" LIMIT ")
		p.expr(limit, precLowest)
	}
}

func (p *printer) setItems(items []SetItem) {
	for i, it := range items {
		p.sep(i, ", ")
		p.setItem(it)
	}
}

func (p *printer) setItem(it SetItem) {
	switch it := it.(type) {
	case *SetProperty:
		p.target(it.Target)
		p.str(" = ")
		p.expr(it.Value, precLowest)
	case *SetAll:
		p.target(it.Target)
		if it.Add {
			p.str(" += ")
		} else {
			p.str(" = ")
		}
		p.expr(it.Value, precLowest)
	case *SetLabels:
		p.target(it.Target)
		p.labelList(it.Labels)
	}
}

func (p *printer) removeItem(it RemoveItem) {
	switch it := it.(type) {
	case *RemoveProperty:
		p.target(it.Target)
	case *RemoveLabels:
		p.target(it.Target)
		p.labelList(it.Labels)
	}
}

// target prints the left side of an assignment: a property chain over an atom.
func (p *printer) target(x Expr) {
	switch x := x.(type) {
	case *Property:
		p.target(x.X)
		p.str(".")
		p.key(x.Key.Name)
	case *Index:
		p.target(x.X)
		p.str("[")
		p.expr(x.I, precLowest)
		p.str("]")
	case *Slice:
		p.target(x.X)
		p.slice(x)
	default:
		p.expr(x, precAtom)
	}
}

func (p *printer) labelList(list []*LabelName) {
	for _, l := range list {
		p.str(":")
		p.labels(l, 0)
	}
}

func (p *printer) call(c *Call) {
	p.flag(c.Optional, "OPTIONAL ")
	p.str("CALL ")
	for i, n := range c.Name {
		p.sep(i, ".")
		p.name(n.Name)
	}
	if c.HasArgs {
		p.str("(")
		p.exprs(c.Args)
		p.str(")")
	}
	p.yield(c.Yield)
}

func (p *printer) yield(y *Yield) {
	if y == nil {
		return
	}
	p.str(" YIELD ")
	p.flag(y.Star, "*")
	p.flag(y.None, "-")
	for i, it := range y.Items {
		p.sep(i, ", ")
		p.name(it.Column.Name)
		if it.Alias != nil {
			p.str(" AS ")
			p.name(it.Alias.Name)
		}
	}
	p.orderLimit(y.OrderBy, y.Skip, y.Limit)
	p.where(y.Where)
}

func (p *printer) subquery(s *Subquery) {
	p.flag(s.Optional, "OPTIONAL ")
	p.str("CALL ")
	if s.HasScope {
		p.str("(")
		p.flag(s.ScopeStar, "*")
		p.names(s.Scope)
		p.str(") ")
	}
	p.str("{ ")
	p.query(s.Body)
	p.str(" }")
	x := s.InTx
	if x == nil {
		return
	}
	p.str(" IN ")
	if x.Concurrency != nil {
		p.expr(x.Concurrency, precLowest)
		p.str(" ")
	}
	p.flag(x.Concurrent, "CONCURRENT ")
	p.str("TRANSACTIONS")
	if x.BatchRows != nil {
		p.str(" OF ")
		p.expr(x.BatchRows, precLowest)
		p.str(" ROWS")
	}
	p.str([...]string{OnErrorDefault: "", OnErrorContinue: " ON ERROR CONTINUE", OnErrorBreak: " ON ERROR BREAK",
		OnErrorFail: " ON ERROR FAIL"}[x.OnError])
	if x.Status != nil {
		p.str(" REPORT STATUS AS ")
		p.name(x.Status.Name)
	}
}

// ---- Patterns ----

func (p *printer) paths(list []*Path) {
	for i, path := range list {
		p.sep(i, ", ")
		p.path(path)
	}
}

func (p *printer) path(path *Path) {
	if path.Var != nil {
		p.name(path.Var.Name)
		p.str(" = ")
	}
	s := &path.Selector
	p.str([...]string{SelectAll: "", SelectAny: "ANY ", SelectAnyShortest: "ANY SHORTEST ", SelectAllShortest: "ALL SHORTEST ",
		SelectShortest: "SHORTEST ", SelectShortestGroups: "SHORTEST "}[s.Kind])
	if s.Count != nil {
		p.expr(s.Count, precLowest)
		p.str(" ")
	}
	if s.Paths {
		p.flag(s.Kind == SelectAll, "ALL ")
		p.str("PATHS ")
	}
	p.flag(s.Kind == SelectShortestGroups, "GROUPS ")
	switch path.Shortest {
	case ShortestPath:
		p.str("shortestPath(")
	case AllShortestPaths:
		p.str("allShortestPaths(")
	}
	p.elements(path.Elements)
	p.flag(path.Shortest != NoShortest, ")")
}

func (p *printer) elements(list []Element) {
	for _, e := range list {
		p.element(e)
	}
}

func (p *printer) element(e Element) {
	switch e := e.(type) {
	case *NodePattern:
		p.str("(")
		p.inside(e.Var, e.Labels, nil, e.Props, e.Exact, e.Where)
		p.str(")")
	case *RelPattern:
		p.flag(e.Dir == Left, "<")
		p.str("-")
		if e.Var != nil || e.Types != nil || e.Range != nil || e.Props != nil || e.Where != nil {
			p.str("[")
			p.inside(e.Var, e.Types, e.Range, e.Props, e.Exact, e.Where)
			p.str("]")
		}
		p.str("-")
		p.flag(e.Dir == Right, ">")
		p.quantifier(e.Quant)
	case *SubPath:
		p.str("(")
		if e.Var != nil {
			p.name(e.Var.Name)
			p.str(" = ")
		}
		p.elements(e.Elements)
		p.where(e.Where)
		p.str(")")
		p.quantifier(e.Quant)
	}
}

// inside prints what stands in the brackets of a node or relationship.
func (p *printer) inside(v *Ident, l LabelExpr, r *Range, props Expr, exact bool, where Expr) {
	start := len(p.b)
	if v != nil {
		p.name(v.Name)
	}
	if l != nil {
		p.str(":")
		p.labels(l, 0)
	}
	if r != nil {
		p.str("*")
		switch {
		case r.Min == r.Max:
			p.b = strconv.AppendInt(p.b, r.Min, 10)
		case r.Min != 1 || r.Max >= 0:
			p.b = strconv.AppendInt(p.b, r.Min, 10)
			p.str("..")
			if r.Max >= 0 {
				p.b = strconv.AppendInt(p.b, r.Max, 10)
			}
		}
	}
	if props != nil {
		p.flag(len(p.b) > start, " ")
		p.flag(exact, "=")
		p.expr(props, precLowest)
	}
	if where != nil {
		p.flag(len(p.b) > start, " ")
		p.str("WHERE ")
		p.expr(where, precLowest)
	}
}

func (p *printer) quantifier(r *Range) {
	switch {
	case r == nil:
	case r.Min == 0 && r.Max < 0:
		p.str("*")
	case r.Min == 1 && r.Max < 0:
		p.str("+")
	case r.Max < 0:
		p.b = fmt.Appendf(p.b, "{%d,}", r.Min)
	default:
		p.b = fmt.Appendf(p.b, "{%d,%d}", r.Min, r.Max)
	}
}

// labels prints a label expression whose operator binds at least as tightly as min: 0 |, 1 &, 2 !.
func (p *printer) labels(l LabelExpr, min int) {
	list := func(terms []LabelExpr, prec int, op string) {
		p.flag(min > prec, "(")
		for i, t := range terms {
			p.sep(i, op)
			p.labels(t, prec+1)
		}
		p.flag(min > prec, ")")
	}
	switch l := l.(type) {
	case *LabelName:
		if l.Dynamic != nil {
			if l.Any {
				p.str("$any(")
			} else {
				p.str("$(")
			}
			p.expr(l.Dynamic, precLowest)
			p.str(")")
			return
		}
		p.key(l.Name)
	case *LabelAny:
		p.str("%")
	case *LabelNot:
		p.str("!")
		p.labels(l.X, 2)
	case *LabelAnd:
		list(l.Terms, 1, "&")
	case *LabelOr:
		list(l.Terms, 0, "|")
	}
}

// ---- Expressions ----

const precAtom = precPostfix + 1

func precOf(x Expr) int {
	switch x := x.(type) {
	case *Binary:
		return binaryPrec(x.Op)
	case *Compare:
		return precCompare
	case *IsNull, *IsType, *IsNormalized:
		return precPredicate
	case *Unary:
		if x.Op == OpNot {
			return precNot
		}
		return precUnary
	case *IntLit:
		if x.Value < 0 {
			return precUnary
		}
	case *FloatLit:
		if x.Value < 0 || x.Value == 0 && 1/x.Value < 0 {
			return precUnary
		}
	case *Property, *Index, *Slice, *Cast, *HasLabels, *MapProjection:
		return precPostfix
	case *PatternExpr:
		if x.Pattern.Shortest == NoShortest {
			return precPostfix
		}
	}
	return precAtom
}

func binaryPrec(op Op) int {
	switch op {
	case OpOr:
		return precOr
	case OpXor:
		return precXor
	case OpAnd:
		return precAnd
	case OpAdd, OpSub, OpConcat:
		return precAdd
	case OpMul, OpDiv, OpMod:
		return precMul
	case OpPow:
		return precPow
	}
	return precPredicate
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

// guarded prints an expression, and puts it in parentheses if its text begins with one of the bytes: what stands before it
// would take them for its own.
func (p *printer) guarded(x Expr, min int, first string) {
	at := len(p.b)
	p.expr(x, min)
	for i := 0; i < len(first); i++ {
		if at < len(p.b) && p.b[at] == first[i] {
			p.b = append(p.b, 0)
			copy(p.b[at+1:], p.b[at:])
			p.b[at] = '('
			p.str(")")
			return
		}
	}
}

func (p *printer) bare(x Expr) {
	switch x := x.(type) {
	case *NullLit:
		p.str("null")
	case *BoolLit:
		p.b = strconv.AppendBool(p.b, x.Value)
	case *IntLit:
		p.b = strconv.AppendInt(p.b, x.Value, 10)
	case *FloatLit:
		p.float(x.Value)
	case *StringLit:
		p.quoted(x.Value)
	case *ListLit:
		p.str("[")
		for i, e := range x.Elems {
			p.sep(i, ", ")
			if i == 0 {
				p.expr(e, precAdd) // [x IN list] is a comprehension
			} else {
				p.expr(e, precLowest)
			}
		}
		p.str("]")
	case *MapLit:
		p.str("{")
		for i, e := range x.Entries {
			p.sep(i, ", ")
			if e.Key.Name == "" {
				p.str("''") // only the AGE dialect has it
			} else {
				p.key(e.Key.Name)
			}
			p.str(": ")
			p.expr(e.Value, precLowest)
		}
		p.str("}")
	case *Var:
		p.name(x.Name)
	case *Param:
		p.param(x.Name)
	case *Unary:
		switch x.Op {
		case OpNot:
			p.str("NOT ")
			p.expr(x.X, precNot)
		case OpNeg:
			p.str("-")
			p.guarded(x.X, precUnary, "0123456789")
		default:
			p.str("+")
			p.expr(x.X, precUnary)
		}
	case *Binary:
		prec := binaryPrec(x.Op)
		p.expr(x.L, prec)
		p.str(" ")
		p.str(x.Op.String())
		p.str(" ")
		if x.Op == OpSub {
			p.guarded(x.R, prec+1, "-[") // (a) - -(b) and (a) - [b] - c could be patterns
		} else {
			p.expr(x.R, prec+1)
		}
	case *Compare:
		p.expr(x.Operands[0], precCompare+1)
		for i, op := range x.Ops {
			p.str(" ")
			p.str(op.String())
			p.str(" ")
			if op == OpLt {
				p.guarded(x.Operands[i+1], precCompare+1, "-")
			} else {
				p.expr(x.Operands[i+1], precCompare+1)
			}
		}
	case *IsNull:
		p.expr(x.X, precPredicate)
		p.str(" IS ")
		p.flag(x.Not, "NOT ")
		p.str("NULL")
	case *IsType:
		p.expr(x.X, precPredicate)
		p.str(" IS ")
		p.flag(x.Not, "NOT ")
		p.str(":: ")
		p.typ(x.Type)
	case *IsNormalized:
		p.expr(x.X, precPredicate)
		p.str(" IS ")
		p.flag(x.Not, "NOT ")
		p.str(x.Form)
		p.str(" NORMALIZED")
	case *HasLabels:
		// Parentheses keep a | apart from that of a comprehension.
		_, or := x.Labels.(*LabelOr)
		if _, ok := x.X.(*CaseOperand); ok {
			p.str("IS ")
			p.labels(x.Labels, 0)
			return
		}
		p.flag(or, "(")
		if _, ok := x.X.(*HasLabels); ok {
			p.expr(x.X, precAtom)
		} else {
			p.expr(x.X, precPostfix)
		}
		p.str(":")
		p.labels(x.Labels, 0)
		p.flag(or, ")")
	case *Property:
		p.expr(x.X, precPostfix)
		p.str(".")
		p.key(x.Key.Name)
	case *Index:
		p.expr(x.X, precPostfix)
		p.str("[")
		p.expr(x.I, precLowest)
		p.str("]")
	case *Slice:
		p.expr(x.X, precPostfix)
		p.slice(x)
	case *Cast:
		p.expr(x.X, precPostfix)
		p.str("::")
		p.castType(x.Type)
	case *Func:
		p.funcName(x.Name)
		p.str("(")
		p.flag(x.Distinct, "DISTINCT ")
		p.exprs(x.Args)
		p.str(")")
	case *CountStar:
		p.str("count(*)")
	case *Case:
		p.caseExpr(x)
	case *CaseOperand:
	case *ListComp:
		p.str("[")
		p.name(x.Var.Name)
		p.str(" IN ")
		p.expr(x.List, precLowest)
		p.where(x.Where)
		if x.Map != nil {
			p.str(" | ")
			p.expr(x.Map, precLowest)
		}
		p.str("]")
	case *PatternComp:
		p.str("[")
		p.path(x.Pattern)
		p.where(x.Where)
		p.str(" | ")
		p.expr(x.Map, precLowest)
		p.str("]")
	case *Quantified:
		p.str([...]string{QuantAll: "all(", QuantAny: "any(", QuantNone: "none(", QuantSingle: "single("}[x.Kind])
		p.name(x.Var.Name)
		p.str(" IN ")
		p.expr(x.List, precLowest)
		p.where(x.Where)
		p.str(")")
	case *Reduce:
		p.str("reduce(")
		p.name(x.Acc.Name)
		p.str(" = ")
		p.expr(x.Init, precLowest)
		p.str(", ")
		p.name(x.Var.Name)
		p.str(" IN ")
		p.expr(x.List, precLowest)
		p.str(" | ")
		p.expr(x.Expr, precLowest)
		p.str(")")
	case *PatternExpr:
		p.path(x.Pattern)
	case *SubqueryExpr:
		p.str([...]string{ExistsSubquery: "EXISTS { ", CountSubquery: "COUNT { ", CollectSubquery: "COLLECT { "}[x.Kind])
		if x.Query != nil {
			p.query(x.Query)
		} else {
			p.paths(x.Patterns)
			p.where(x.Where)
		}
		p.str(" }")
	case *MapProjection:
		p.expr(x.X, precPostfix)
		p.str(" {")
		for i, e := range x.Items {
			p.sep(i, ", ")
			switch e.Kind {
			case EntryAll:
				p.str(".*")
			case EntryProperty:
				p.str(".")
				p.key(e.Key.Name)
			case EntryValue:
				p.key(e.Key.Name)
				p.str(": ")
				p.expr(e.Value, precLowest)
			case EntryVariable:
				p.name(e.Key.Name)
			}
		}
		p.str("}")
	}
}

func (p *printer) slice(x *Slice) {
	p.str("[")
	if x.From != nil {
		p.expr(x.From, precLowest)
	}
	p.str("..")
	if x.To != nil {
		p.expr(x.To, precLowest)
	}
	p.str("]")
}

func (p *printer) float(f float64) {
	at := len(p.b)
	p.b = strconv.AppendFloat(p.b, f, 'g', -1, 64)
	for _, c := range p.b[at:] {
		if c == '.' || c == 'e' {
			return
		}
	}
	p.str(".0")
}

func (p *printer) param(name string) {
	p.str("$")
	digits := name != ""
	for i := 0; i < len(name); i++ {
		digits = digits && isDigit(name[i])
	}
	if digits {
		p.str(name)
		return
	}
	p.key(name)
}

func (p *printer) castType(s string) {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !(c == '_' || 'a' <= c && c <= 'z' || i > 0 && isDigit(c)) {
			p.backticked(s)
			return
		}
	}
	p.str(s)
}

func (p *printer) funcName(name []*Ident) {
	for i, n := range name {
		p.sep(i, ".")
		if k := lookupKeyword(n.Name); i == 0 && (k == NotKeyword || k == kwCOUNT || k == kwEXISTS || k == kwCOLLECT) || i > 0 {
			p.key(n.Name)
		} else {
			p.name(n.Name)
		}
	}
}

func (p *printer) caseExpr(c *Case) {
	p.str("CASE")
	if c.Operand != nil {
		p.str(" ")
		p.expr(c.Operand, precLowest)
	}
	for _, w := range c.Whens {
		p.str(" WHEN ")
		p.exprs(w.Conds)
		p.str(" THEN ")
		p.expr(w.Then, precLowest)
	}
	if c.Else != nil {
		p.str(" ELSE ")
		p.expr(c.Else, precLowest)
	}
	p.str(" END")
}

func (p *printer) typ(t *Type) {
	switch {
	case t.Name == "UNION":
		p.str("ANY<")
		for i, a := range t.Alts {
			p.sep(i, " | ")
			p.typ(a)
		}
		p.str(">")
	case t.Name == "LIST":
		p.str("LIST<")
		p.typ(t.Elem)
		p.str(">")
	case t.Name == "VECTOR":
		p.str("VECTOR")
		if t.Elem != nil {
			p.str("<")
			p.typ(t.Elem)
			p.str(">")
		}
		if t.Dim > 0 {
			p.b = fmt.Appendf(p.b, "(%d)", t.Dim)
		}
	default:
		p.str(t.Name)
	}
	p.flag(t.NotNull, " NOT NULL")
}
