package bind

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
)

// Options of [Bind].
type Options struct {
	AGE   bool  // the dialect inside SQL's cypher() (rules C8)
	Procs Procs // nil: there are no procedures
	// Lifted, if set, makes literals of the text parameters: those of a normal form (rules C6).
	Lifted *cypher.Normalizer
}

// ErrNotLifted means that a text's normal form does not fit its tree: the text must be planned as it is.
var ErrNotLifted = errors.New("bind: a literal is more than a value, or a column's name is not kept")

// Bind resolves a parsed statement. An error is a *dberr.Error.
func Bind(st *cypher.Statement, o Options) (out *Statement, err error) {
	b := &binder{opts: o, st: &Statement{}, params: map[string]int{}}
	if o.Lifted != nil {
		b.met, b.st.Lifted = make([]bool, len(o.Lifted.Lifted), len(o.Lifted.Lifted)+1), o.Lifted.Params
	}
	defer func() {
		// A fault deep inside an expression unwinds by panic(*fault); nothing else is caught here.
		if r := recover(); r != nil {
			f, ok := r.(*fault)
			if !ok {
				panic(r)
			}
			out, err = nil, f.err
		}
	}()
	for _, p := range st.Params {
		b.param(p)
	}
	b.st.Mode, b.st.AGE = Mode(st.Mode), o.AGE
	for _, opt := range st.Options {
		if b.st.Options == nil {
			b.st.Options = map[string]string{}
		}
		b.st.Options[opt.Name] = opt.Value
	}
	b.text = st.Text
	switch body := st.Body.(type) {
	case *cypher.Query:
		b.st.Query = b.query(newScope(nil), body, queryTop)
	case *cypher.Show:
		b.st.Query = b.show(body)
	case *cypher.Terminate:
		b.st.Query = b.terminate(body)
	default:
		b.st.Command = b.command(body)
	}
	if b.unkept || slices.Contains(b.met, false) {
		return nil, ErrNotLifted
	}
	return b.st, nil
}

type binder struct {
	opts   Options
	st     *Statement
	text   string
	params map[string]int
	anon   int
	slots  []*Var // by slot; nil for hints
	met    []bool // literals of the normal form that became parameters; nil without one
	unkept bool   // a column's name depends on text that the normal form does not keep
}

// fault carries an error up to Bind.
type fault struct{ err *dberr.Error }

type spanned interface {
	Pos() int
	End() int
}

// fail ends the binding with an error at n.
func (b *binder) fail(code dberr.Code, token string, n spanned, format string, args ...any) {
	panic(&fault{dberr.Compile(code, token, n.Pos(), n.End(), format, args...)})
}

func (b *binder) failHint(code dberr.Code, token string, n spanned, hint, format string, args ...any) {
	e := dberr.Compile(code, token, n.Pos(), n.End(), format, args...)
	e.Hint = hint
	panic(&fault{e})
}

func (b *binder) notice(code string, n spanned, hint, format string, args ...any) {
	b.st.Notices = append(b.st.Notices, Notice{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint, Pos: n.Pos(), End: n.End()})
}

// slot allots a slot.
func (b *binder) slot() int {
	b.st.Slots++
	b.slots = append(b.slots, nil)
	return b.st.Slots - 1
}

// newVar makes a variable with a slot, and a hint slot if it is an entity that the engine itself finds or makes.
func (b *binder) newVar(name string, kind VarKind, t expr.Type, pos int) *Var {
	v := &Var{Name: name, Kind: kind, Type: t, Slot: b.slot(), Hint: expr.NoSlot, Pos: pos}
	v.Root = v
	if kind == NodeVar || kind == RelVar {
		v.Hint = b.slot()
	}
	b.st.Vars = append(b.st.Vars, v)
	b.slots[v.Slot] = v
	return v
}

// newAnon makes a variable that cannot be named.
func (b *binder) newAnon(kind VarKind, t expr.Type, pos int) *Var {
	b.anon++
	v := b.newVar("anon_"+strconv.Itoa(b.anon), kind, t, pos)
	v.Anon = true
	return v
}

// alias makes the variable of a projected expression.
func (b *binder) alias(name string, e expr.Expr, pos int) *Var {
	t := e.Type()
	kind := ValueVar
	var root *Var
	if c, ok := e.(*expr.Col); ok {
		if w := b.bySlot(c.Slot); w != nil {
			kind, root = w.Kind, w.Root
		}
	}
	v := b.newVar(name, ValueVar, t, pos)
	v.Kind, v.Plain = kind, b.plain(e)
	if root != nil {
		v.Root = root
		if w := b.bySlot(e.(*expr.Col).Slot); w.Hint != expr.NoSlot {
			v.Hint = b.slot()
		}
	}
	return v
}

func (b *binder) bySlot(slot int) *Var {
	if slot < 0 || slot >= len(b.slots) {
		return nil
	}
	return b.slots[slot]
}

// param numbers a parameter.
func (b *binder) param(name string) int {
	if i, ok := b.params[name]; ok {
		return i
	}
	i := b.st.Lifted + len(b.st.Params)
	b.params[name] = i
	b.st.Params = append(b.st.Params, name)
	return i
}

// queryKind is where a query stands; it decides what it may contain.
type queryKind uint8

const (
	queryTop      queryKind = iota
	querySub                // CALL { }
	queryExists             // EXISTS { }, COUNT { }: RETURN may be missing, no writes
	queryCollect            // COLLECT { }: one column, no writes
	queryShowTail           // behind SHOW
)

func (b *binder) query(sc *scope, q *cypher.Query, kind queryKind) *Query {
	out := &Query{}
	for i, u := range q.Unions {
		if i > 0 && u.All != q.Unions[0].All {
			b.fail(dberr.Syntax, "InvalidClauseComposition", u, "UNION and UNION ALL cannot be combined in one query")
		}
	}
	out.Distinct = len(q.Unions) > 0 && !q.Unions[0].All
	for i, sq := range q.Parts {
		p, names := b.single(sc.clone(), sq, kind, len(q.Parts) > 1)
		out.Parts = append(out.Parts, p)
		if i == 0 {
			out.Columns = names
			continue
		}
		if len(names) != len(out.Columns) || !sameNames(names, out.Columns) {
			b.fail(dberr.Syntax, "DifferentColumnsInUnion", q.Unions[i-1], "all parts of a UNION must return the same columns in the same order")
		}
	}
	if len(out.Parts) == 1 {
		out.Cols = out.Parts[0].Out
		return out
	}
	for c, name := range out.Columns {
		out.Cols = append(out.Cols, b.unionVar(name, out.Parts, c, q.Pos()))
	}
	return out
}

// unionVar makes the variable of column c of a UNION.
func (b *binder) unionVar(name string, parts []*Part, c, pos int) *Var {
	t, plain := parts[0].Out[c].Type, parts[0].Out[c].Plain
	for _, p := range parts[1:] {
		t, plain = t.Union(p.Out[c].Type), plain && p.Out[c].Plain
	}
	v := b.newVar(name, ValueVar, t, pos)
	v.Plain = plain
	return v
}

func sameNames(a, c []string) bool {
	for i := range a {
		if a[i] != c[i] {
			return false
		}
	}
	return true
}

// part binds the clauses of one part of a query one after the other.
type part struct {
	b       *binder
	sc      *scope
	out     *Part
	kind    queryKind
	imports *scope // CALL { } of the old form: what a leading WITH may import
	first   bool
	done    cypher.Clause // RETURN or FINISH
	names   []string
	last    cypher.Clause
	writes  bool
	union   bool // one of several parts
}

func (b *binder) single(sc *scope, sq *cypher.SingleQuery, kind queryKind, union bool) (*Part, []string) {
	p := &part{b: b, sc: sc, out: &Part{}, kind: kind, first: true, union: union}
	p.run(sq)
	return p.out, p.names
}

func (p *part) run(sq *cypher.SingleQuery) {
	b := p.b
	if len(sq.Clauses) == 0 && p.kind == queryTop {
		b.fail(dberr.Syntax, "UnexpectedSyntax", sq, "the query is empty")
	}
	for i, c := range sq.Clauses {
		if p.done != nil {
			b.fail(dberr.Syntax, "InvalidClauseComposition", c, "%s cannot follow %s: it ends the query", clauseName(c), clauseName(p.done))
		}
		p.clause(c, i == len(sq.Clauses)-1, len(sq.Clauses) == 1)
		if _, use := c.(*cypher.Use); !use {
			p.first = false // a WITH behind USE imports, too
		}
		p.last = c
	}
	if p.done != nil || p.last == nil {
		return
	}
	switch c := p.last.(type) {
	case *cypher.Match, *cypher.Unwind, *cypher.With, *cypher.LoadCSV, *cypher.OrderLimit:
		if p.kind == queryTop || p.kind == querySub || p.kind == queryCollect {
			b.fail(dberr.Syntax, "InvalidClauseComposition", c, "a query cannot end with %s: RETURN or an updating clause is missing", clauseName(c))
		}
	case *cypher.Use:
		if p.kind == queryTop {
			b.fail(dberr.Syntax, "InvalidClauseComposition", c, "a query cannot consist of USE alone")
		}
	case *cypher.Call:
		if len(sq.Clauses) > 1 && p.names == nil && p.kind == queryTop {
			if k := p.out.Clauses[len(p.out.Clauses)-1].(*CallProc); !k.Proc.Void && !k.Proc.Writes {
				b.fail(dberr.Syntax, "InvalidClauseComposition", c, "a query cannot end with CALL of a reading procedure: RETURN is missing")
			}
		}
	}
	if p.kind == queryCollect {
		b.fail(dberr.Syntax, "InvalidClauseComposition", p.last, "COLLECT { } must end with RETURN of one column")
	}
}

func (p *part) clause(c cypher.Clause, last, alone bool) {
	b := p.b
	readOnly := p.kind == queryExists || p.kind == queryCollect
	if readOnly && updating(c) {
		b.fail(dberr.Syntax, "InvalidClauseComposition", c, "%s is not allowed inside EXISTS, COUNT or COLLECT", clauseName(c))
	}
	switch c := c.(type) {
	case *cypher.Use:
		p.use(c)
	case *cypher.Match:
		p.match(c)
	case *cypher.Unwind:
		e := b.expr(b.ectx(p.sc, "UNWIND"), c.Expr)
		if p.sc.has(c.Var.Name) {
			b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", c.Var, "variable `%s` is already defined", c.Var.Name)
		}
		v := b.newVar(c.Var.Name, ValueVar, elementOf(e.Type()), c.Var.Pos())
		v.Plain = b.plain(e)
		p.sc = p.sc.clone()
		p.sc.add(v)
		p.add(&Unwind{Place: place(c), List: e, Var: v})
	case *cypher.With:
		p.projection(c, &c.Projection, c.Where, false)
	case *cypher.Return:
		p.projection(c, &c.Projection, nil, true)
		p.done = c
	case *cypher.OrderLimit:
		p.orderLimit(c)
	case *cypher.Create:
		p.create(c)
	case *cypher.Merge:
		p.merge(c)
	case *cypher.Set:
		p.writes = true
		p.add(&Set{Place: place(c), Items: b.setItems(p.sc, c.Items, "SET")})
	case *cypher.Remove:
		p.writes = true
		p.add(&Set{Place: place(c), Items: b.removeItems(p.sc, c.Items), Remove: true})
	case *cypher.Delete:
		p.delete(c)
	case *cypher.Foreach:
		p.foreach(c)
	case *cypher.Call:
		p.call(c, last, alone)
	case *cypher.Subquery:
		p.subquery(c)
	case *cypher.LoadCSV:
		p.loadCSV(c)
	case *cypher.Finish:
		p.done = c
	default:
		b.fail(dberr.Internal, "", c, "binder: unknown clause %T", c)
	}
}

func (p *part) add(c Clause) { p.out.Clauses = append(p.out.Clauses, c) }

func (p *part) use(c *cypher.Use) {
	b := p.b
	if p.kind != queryTop && p.kind != querySub || p.last != nil {
		b.fail(dberr.Syntax, "InvalidClauseComposition", c, "USE must be the first clause of a query")
	}
	name := c.Name
	if c.Func != "" {
		s, ok := c.ByName.(*cypher.StringLit)
		if !ok || c.Func != "byName" {
			b.fail(dberr.FeatureNotSupported, "", c, "USE takes a name or graph.byName of a string")
		}
		name = s.Value
	}
	if p.kind == querySub {
		b.st.Inner = append(b.st.Inner, InnerUse{Graph: name, Pos: c.Pos(), End: c.End()})
		return
	}
	if b.st.Graph != "" && b.st.Graph != name {
		b.fail(dberr.FeatureNotSupported, "", c, "a query cannot use more than one graph")
	}
	b.st.Graph = name
}

func (p *part) orderLimit(c *cypher.OrderLimit) {
	b := p.b
	pr := &Projection{Place: place(c)}
	for _, v := range p.sc.named() {
		pr.Items = append(pr.Items, Item{Var: v, Expr: v.Col(c.Pos(), c.Pos()), Name: v.Name})
	}
	for _, s := range c.OrderBy {
		pr.OrderBy = append(pr.OrderBy, SortItem{Expr: b.expr(b.ectx(p.sc, "ORDER BY"), s.Expr), Desc: s.Desc})
	}
	pr.Skip, pr.Limit = b.count(c.Skip, "SKIP"), b.count(c.Limit, "LIMIT")
	p.keepCSV(pr, p.sc, p.sc)
	p.add(pr)
}

func updating(c cypher.Clause) bool {
	switch c := c.(type) {
	case *cypher.Create, *cypher.Merge, *cypher.Set, *cypher.Remove, *cypher.Delete, *cypher.Foreach:
		return true
	case *cypher.Subquery:
		for _, sq := range c.Body.Parts {
			for _, k := range sq.Clauses {
				if updating(k) {
					return true
				}
			}
		}
	}
	return false
}

func place(c cypher.Clause) Place { return Place{Name: clauseName(c), Pos: c.Pos(), End: c.End()} }

func clauseName(c cypher.Clause) string {
	switch c := c.(type) {
	case *cypher.Use:
		return "USE"
	case *cypher.Match:
		if c.Optional {
			return "OPTIONAL MATCH"
		}
		return "MATCH"
	case *cypher.Unwind:
		return "UNWIND"
	case *cypher.With:
		return "WITH"
	case *cypher.Return:
		return "RETURN"
	case *cypher.OrderLimit:
		return "ORDER BY, SKIP or LIMIT"
	case *cypher.Create:
		return "CREATE"
	case *cypher.Merge:
		return "MERGE"
	case *cypher.Set:
		return "SET"
	case *cypher.Remove:
		return "REMOVE"
	case *cypher.Delete:
		return "DELETE"
	case *cypher.Foreach:
		return "FOREACH"
	case *cypher.Call, *cypher.Subquery:
		return "CALL"
	case *cypher.LoadCSV:
		return "LOAD CSV"
	case *cypher.Finish:
		return "FINISH"
	}
	return fmt.Sprintf("%T", c)
}

// elementOf is the type of what UNWIND and list comprehensions yield: a value that is no list stands for itself.
func elementOf(t expr.Type) expr.Type {
	if t.Is(expr.TList.Kinds) {
		if t.Elem == nil {
			return expr.Any
		}
		return *t.Elem
	}
	if !t.May(expr.TList.Kinds) {
		return t
	}
	return expr.Any
}
