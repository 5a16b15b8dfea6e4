package bind

import (
	"strings"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
)

// loadCSV binds LOAD CSV.
func (p *part) loadCSV(c *cypher.LoadCSV) {
	b := p.b
	out := &LoadCSV{Place: place(c), Headers: c.WithHeaders, Terminator: ','}
	out.From = b.expr(b.ectx(p.sc, "LOAD CSV"), c.From)
	if !out.From.Type().May(expr.TString.Kinds) {
		b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", c.From, "LOAD CSV takes a URL as a String, found %s", out.From.Type())
	}
	if t, ok := c.FieldTerminator.(*cypher.StringLit); ok {
		r, n := utf8.DecodeRuneInString(t.Value)
		if n == 0 || n != len(t.Value) || strings.ContainsRune("\"\r\n", r) {
			b.fail(dberr.Syntax, "InvalidFieldTerminator", t, "a field terminator is one character, and neither a quote nor the end of a line")
		}
		out.Terminator = r
	}
	if p.sc.has(c.Var.Name) {
		b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", c.Var, "variable `%s` is already defined", c.Var.Name)
	}
	t := expr.TList
	if c.WithHeaders {
		t = expr.TMap
	}
	out.Var = b.newVar(c.Var.Name, ValueVar, t, c.Var.Pos())
	out.Line = b.newAnon(ValueVar, expr.TInt, c.Pos())
	out.File = b.newAnon(ValueVar, expr.TString, c.Pos())
	for _, v := range []*Var{out.Var, out.Line, out.File} {
		v.Plain = true
	}
	p.sc = p.sc.clone()
	p.sc.add(out.Var)
	p.sc.csv = out
	p.add(out)
}

// csvFunction binds linenumber() and file(), which read what the nearest LOAD CSV left beside its row; nil without one, where both are null.
func (b *binder) csvFunction(c ectx, e *cypher.Func, name string) expr.Expr {
	var v *Var
	switch strings.ToLower(name) {
	case "linenumber":
		v = c.sc.findCSV(func(l *LoadCSV) *Var { return l.Line })
	case "file":
		v = c.sc.findCSV(func(l *LoadCSV) *Var { return l.File })
	}
	if v == nil || len(e.Args) > 0 {
		return nil
	}
	return v.Col(e.Pos(), e.End())
}

// keepCSV lets linenumber() and file() go on behind a projection that keeps its rows.
func (p *part) keepCSV(pr *Projection, in, next *scope) {
	if in.csv == nil || pr.Agg || pr.Distinct || pr.Return {
		return
	}
	next.csv = in.csv
	for _, v := range []*Var{in.csv.Line, in.csv.File} {
		pr.Items = append(pr.Items, Item{Var: v, Expr: v.Col(pr.Pos, pr.Pos), Name: v.Name})
	}
}
