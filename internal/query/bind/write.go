package bind

import (
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// creator binds the patterns of CREATE and the creating half of MERGE, left to right (rules C1).
type creator struct {
	b     *binder
	sc    *scope
	word  string // CREATE or MERGE
	items *[]CreateItem
	paths *[]*PatPath
	fresh *[]*Var
	made  map[*Var]bool
}

func (p *part) create(c *cypher.Create) {
	p.writes = true
	out := &Create{Place: place(c)}
	k := &creator{b: p.b, sc: p.sc.clone(), word: "CREATE", items: &out.Items, paths: &out.Paths, fresh: &out.Fresh, made: map[*Var]bool{}}
	for _, path := range c.Patterns {
		k.path(path)
	}
	p.sc = k.sc
	p.add(out)
}

func (k *creator) path(path *cypher.Path) {
	b := k.b
	if path.Shortest != cypher.NoShortest || path.Selector.Kind != cypher.SelectAll {
		b.fail(dberr.Syntax, "UnexpectedSyntax", path, "a shortest path cannot be used in %s", k.word)
	}
	if path.Var != nil && k.sc.has(path.Var.Name) {
		b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", path.Var, "variable `%s` is already defined", path.Var.Name)
	}
	var parts []PathPart
	var left *Var
	var rel *CreateItem
	var relPat *cypher.RelPattern
	for _, el := range path.Elements {
		switch el := el.(type) {
		case *cypher.NodePattern:
			right := k.node(el, len(path.Elements) == 1)
			if rel != nil {
				rel.Start, rel.End = left, right
				if relPat.Dir == cypher.Left {
					rel.Start, rel.End = right, left
				}
				*k.items = append(*k.items, *rel)
				parts = append(parts, PathPart{Var: rel.Var})
				rel = nil
			}
			parts = append(parts, PathPart{Var: right})
			left = right
		case *cypher.RelPattern:
			rel, relPat = k.rel(el), el
		case *cypher.SubPath:
			b.fail(dberr.Syntax, "UnexpectedSyntax", el, "a quantified or parenthesised path cannot be used in %s", k.word)
		}
	}
	if path.Var != nil {
		v := b.newVar(path.Var.Name, PathVar, expr.TPath, path.Var.Pos())
		k.sc.add(v)
		*k.fresh = append(*k.fresh, v)
		*k.paths = append(*k.paths, &PatPath{Var: v, Parts: parts})
	}
}

func (k *creator) node(el *cypher.NodePattern, alone bool) *Var {
	b := k.b
	if el.Where != nil {
		b.fail(dberr.Syntax, "UnexpectedSyntax", el.Where, "WHERE cannot be used in %s", k.word)
	}
	if el.Var != nil {
		if v := k.sc.find(el.Var.Name); v != nil {
			if alone || el.Labels != nil || el.Props != nil {
				b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", el.Var, "variable `%s` is already defined", v.Name)
			}
			if v.Kind == PathVar || v.Kind == RelListVar || !v.Type.May(expr.TNode.Kinds) {
				b.fail(dberr.DatatypeMismatch, "VariableTypeConflict", el.Var, "variable `%s` is %s, not a Node", v.Name, v.Type)
			}
			return v
		}
	}
	it := CreateItem{Pos: el.Pos(), Stop: el.End()}
	it.Labels, it.Names = k.labels(el.Labels)
	it.Props, it.Map = k.props(el.Props)
	// The variable is declared behind its own properties: they cannot read it.
	if el.Var != nil {
		it.Var = b.newVar(el.Var.Name, NodeVar, expr.TNode, el.Var.Pos())
		k.sc.add(it.Var)
	} else {
		it.Var = b.newAnon(NodeVar, expr.TNode, el.Pos())
	}
	k.made[it.Var] = true
	*k.fresh = append(*k.fresh, it.Var)
	*k.items = append(*k.items, it)
	return it.Var
}

func (k *creator) rel(el *cypher.RelPattern) *CreateItem {
	b := k.b
	if el.Range != nil || el.Quant != nil {
		b.fail(dberr.Syntax, "CreatingVarLength", el, "a variable-length relationship cannot be used in %s", k.word)
	}
	if el.Where != nil {
		b.fail(dberr.Syntax, "UnexpectedSyntax", el.Where, "WHERE cannot be used in %s", k.word)
	}
	if el.Var != nil && k.sc.has(el.Var.Name) {
		b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", el.Var, "variable `%s` is already defined", el.Var.Name)
	}
	name, ok := el.Types.(*cypher.LabelName)
	if !ok {
		b.fail(dberr.Syntax, "NoSingleRelationshipType", el, "exactly one relationship type must be given in %s", k.word)
	}
	if el.Dir == cypher.Both && k.word == "CREATE" {
		b.fail(dberr.Syntax, "RequiresDirectedRelationship", el, "a relationship needs a direction in %s", k.word)
	}
	it := &CreateItem{Rel: true, Pos: el.Pos(), Stop: el.End()}
	it.Type, it.Names = b.writtenType(b.ectx(k.sc, k.word), name)
	it.Props, it.Map = k.props(el.Props)
	if el.Var != nil {
		it.Var = b.newVar(el.Var.Name, RelVar, expr.TRel, el.Var.Pos())
		k.sc.add(it.Var)
	} else {
		it.Var = b.newAnon(RelVar, expr.TRel, el.Pos())
	}
	k.made[it.Var] = true
	*k.fresh = append(*k.fresh, it.Var)
	return it
}

// labels reads the labels of a vertex to be made: the names that are known, and an expression for those that are computed.
func (k *creator) labels(l cypher.LabelExpr) ([]string, expr.Expr) {
	c := k.b.ectx(k.sc, k.word)
	switch l := l.(type) {
	case nil:
		return nil, nil
	case *cypher.LabelName:
		return k.b.writtenNames(c, []*cypher.LabelName{l})
	case *cypher.LabelAnd:
		if names, ok := plainTerms(l.Terms); ok {
			return k.b.writtenNames(c, names)
		}
	}
	k.b.fail(dberr.Syntax, "UnexpectedSyntax", l, "%s takes labels joined by : or &", k.word)
	return nil, nil
}

// plainTerms returns the terms of a conjunction if all are names.
func plainTerms(ts []cypher.LabelExpr) ([]*cypher.LabelName, bool) {
	out := make([]*cypher.LabelName, len(ts))
	for i, t := range ts {
		n, ok := t.(*cypher.LabelName)
		if !ok {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

func (k *creator) props(m cypher.Expr) ([]Prop, expr.Expr) {
	b := k.b
	c := b.ectx(k.sc, k.word)
	switch m := m.(type) {
	case nil:
		return nil, nil
	case *cypher.MapLit:
		keys, vals := b.mapEntries(c, m)
		out := make([]Prop, len(keys))
		for i, key := range keys {
			n := spanOf(vals[i], m)
			b.storable(vals[i], n)
			out[i] = Prop{Key: key, Val: vals[i], Pos: n.Pos(), End: n.End()}
		}
		return out, nil
	}
	x := b.expr(c, m)
	if !x.Type().May(expr.TMap.Kinds | expr.TEntity.Kinds) {
		b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", m, "properties must be a Map, found %s", x.Type())
	}
	return nil, x
}

// storable refuses what can never be a property.
func (b *binder) storable(x expr.Expr, n spanned) {
	if b.opts.AGE {
		return
	}
	t := x.Type()
	bad := expr.TMap.Kinds | expr.TEntity.Kinds | expr.TPath.Kinds
	if t.Kinds&^(1<<value.Null) != 0 && t.Is(bad) {
		b.fail(dberr.TypeError, "InvalidPropertyType", n, "a property cannot hold a %s", t)
	}
	if t.Is(expr.TList.Kinds) && t.Kinds.Has(value.List) && t.Elem != nil && t.Elem.Kinds&^(1<<value.Null) != 0 && t.Elem.Is(bad|expr.TList.Kinds) {
		b.fail(dberr.TypeError, "InvalidPropertyType", n, "a property cannot hold a List of %s", *t.Elem)
	}
}

func (p *part) merge(c *cypher.Merge) {
	b := p.b
	p.writes = true
	out := &Merge{Place: place(c)}
	path := c.Pattern
	// Variables that stand bare and bound are ends; a pattern that binds nothing is an error.
	if len(path.Elements) == 1 {
		if n, ok := path.Elements[0].(*cypher.NodePattern); ok && n.Var != nil && p.sc.has(n.Var.Name) {
			b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", n.Var, "variable `%s` is already defined", n.Var.Name)
		}
	}
	for i, el := range path.Elements {
		switch el := el.(type) {
		case *cypher.NodePattern:
			if el.Var != nil && p.sc.has(el.Var.Name) && (el.Labels != nil || el.Props != nil) {
				b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", el.Var, "variable `%s` is already defined", el.Var.Name)
			}
			if el.Where != nil {
				b.fail(dberr.Syntax, "UnexpectedSyntax", el.Where, "WHERE cannot be used in MERGE")
			}
			if el.Var != nil && (el.Labels != nil || el.Props != nil) && !p.sc.has(el.Var.Name) {
				for _, e := range path.Elements[:i] {
					if m, ok := e.(*cypher.NodePattern); ok && m.Var != nil && m.Var.Name == el.Var.Name {
						b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", el.Var, "variable `%s` is already defined", el.Var.Name)
					}
				}
			}
		case *cypher.RelPattern:
			if el.Range != nil || el.Quant != nil {
				b.fail(dberr.Syntax, "CreatingVarLength", el, "a variable-length relationship cannot be used in MERGE")
			}
			if el.Var != nil && p.sc.has(el.Var.Name) {
				b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", el.Var, "variable `%s` is already defined", el.Var.Name)
			}
			if _, ok := el.Types.(*cypher.LabelName); !ok {
				b.fail(dberr.Syntax, "NoSingleRelationshipType", el, "exactly one relationship type must be given in MERGE")
			}
		}
	}
	if path.Shortest != cypher.NoShortest || path.Selector.Kind != cypher.SelectAll {
		b.fail(dberr.Syntax, "UnexpectedSyntax", path, "a shortest path cannot be used in MERGE")
	}

	// The match half declares the variables; expressions of the pattern may not read what the MERGE itself binds (rules C1).
	pb := b.pattern(p.sc, &out.Pattern, patMerge)
	for _, el := range []*cypher.Path{path} {
		pb.path(el)
	}
	full := pb.sc
	pb.sc = p.sc.clone()
	for _, f := range pb.later {
		f()
	}
	out.Fresh = pb.fresh
	isFresh := map[*Var]bool{}
	for _, v := range pb.fresh {
		isFresh[v] = true
	}
	// The create half makes the same variables.
	k := &creator{b: b, sc: p.sc.clone(), word: "MERGE"}
	ni, ri := 0, 0
	vars := elementVars(&out.Pattern, path, full)
	made := map[*Var]bool{}
	var left *Var
	var rel *CreateItem
	var relPat *cypher.RelPattern
	for i, el := range path.Elements {
		switch el := el.(type) {
		case *cypher.NodePattern:
			v := vars[i]
			ni++
			if isFresh[v] && !made[v] {
				made[v] = true
				it := CreateItem{Var: v, Pos: el.Pos(), Stop: el.End()}
				it.Labels, it.Names = k.labels(el.Labels)
				it.Props, it.Map = k.props(el.Props)
				out.Items = append(out.Items, it)
			}
			if rel != nil {
				rel.Start, rel.End = left, v
				if relPat.Dir == cypher.Left {
					rel.Start, rel.End = v, left
				}
				out.Items = append(out.Items, *rel)
				rel = nil
			}
			left = v
		case *cypher.RelPattern:
			relPat = el
			ri++
			rel = &CreateItem{Rel: true, Var: vars[i], Pos: el.Pos(), Stop: el.End()}
			rel.Type, rel.Names = b.writtenType(b.ectx(k.sc, k.word), el.Types.(*cypher.LabelName))
			rel.Props, rel.Map = k.props(el.Props)
		}
	}
	p.sc = full
	for _, a := range c.Actions {
		items := b.setItems(full, a.Items, "SET")
		if a.OnCreate {
			out.OnCreate = append(out.OnCreate, items...)
		} else {
			out.OnMatch = append(out.OnMatch, items...)
		}
	}
	p.add(out)
}

// elementVars finds the variable of each element of a path that was just bound into pat.
func elementVars(pat *Pattern, path *cypher.Path, sc *scope) []*Var {
	out := make([]*Var, len(path.Elements))
	if len(path.Elements) == 1 {
		out[0] = pat.Nodes[0].Var
		return out
	}
	for i := range path.Elements {
		if i%2 == 1 {
			r := pat.Rels[i/2]
			out[i-1], out[i], out[i+1] = r.Left, r.Var, r.Right
		}
	}
	return out
}

func (b *binder) setItems(sc *scope, items []cypher.SetItem, word string) []SetItem {
	c := b.ectx(sc, word)
	var out []SetItem
	for _, it := range items {
		switch it := it.(type) {
		case *cypher.SetProperty:
			s := b.setTarget(sc, it.Target, word)
			s.Val = b.expr(c, it.Value)
			b.storable(s.Val, it.Value)
			s.Pos, s.End = it.Pos(), it.End()
			out = append(out, s)
		case *cypher.SetAll:
			s := SetItem{Kind: SetMap, Pos: it.Pos(), End: it.End()}
			if it.Add {
				s.Kind = AddMap
			}
			b.entityTarget(sc, &s, it.Target, word)
			s.Val = b.expr(c, it.Value)
			if !s.Val.Type().May(expr.TMap.Kinds | expr.TEntity.Kinds) {
				b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", it.Value, "properties must be a Map, Node or Relationship, found %s", s.Val.Type())
			}
			if m, ok := s.Val.(*expr.MapLit); ok {
				for _, v := range m.Vals {
					b.storable(v, spanOf(v, it.Value))
				}
			}
			out = append(out, s)
		case *cypher.SetLabels:
			s := SetItem{Kind: AddLabels, Pos: it.Pos(), End: it.End()}
			s.Labels, s.KeyExpr = b.writtenNames(b.ectx(sc, word), it.Labels)
			b.entityTarget(sc, &s, it.Target, word)
			if !s.Target.Type().May(expr.TNode.Kinds) {
				b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", it.Target, "labels can only be set on a Node, found %s", s.Target.Type())
			}
			out = append(out, s)
		}
	}
	return out
}

func (b *binder) removeItems(sc *scope, items []cypher.RemoveItem) []SetItem {
	var out []SetItem
	for _, it := range items {
		switch it := it.(type) {
		case *cypher.RemoveProperty:
			s := b.setTarget(sc, it.Target, "REMOVE")
			s.Val = &expr.Const{Base: at(it, expr.TNull)}
			s.Pos, s.End = it.Pos(), it.End()
			out = append(out, s)
		case *cypher.RemoveLabels:
			s := SetItem{Kind: RemoveLabels, Pos: it.Pos(), End: it.End()}
			s.Labels, s.KeyExpr = b.writtenNames(b.ectx(sc, "REMOVE"), it.Labels)
			b.entityTarget(sc, &s, it.Target, "REMOVE")
			if !s.Target.Type().May(expr.TNode.Kinds) {
				b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", it.Target, "labels can only be removed from a Node, found %s", s.Target.Type())
			}
			out = append(out, s)
		}
	}
	return out
}

// setTarget reads the left side of n.k = … and n[k] = ….
func (b *binder) setTarget(sc *scope, t cypher.Expr, word string) SetItem {
	s := SetItem{}
	switch t := t.(type) {
	case *cypher.Property:
		s.Kind, s.Key = SetProp, t.Key.Name
		b.entityTarget(sc, &s, t.X, word)
	case *cypher.Index:
		s.Kind = SetDynamic
		b.entityTarget(sc, &s, t.X, word)
		s.KeyExpr = b.expr(b.ectx(sc, word), t.I)
		if !s.KeyExpr.Type().May(expr.TString.Kinds) {
			b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", t.I, "a property key must be a String, found %s", s.KeyExpr.Type())
		}
		if k, ok := s.KeyExpr.(*expr.Const); ok && k.V.Kind() == value.String {
			s.Kind, s.Key, s.KeyExpr = SetProp, k.V.Str(), nil
		}
	default:
		b.fail(dberr.Syntax, "UnexpectedSyntax", t, "%s needs a property, as in n.key", word)
	}
	return s
}

func (b *binder) entityTarget(sc *scope, s *SetItem, e cypher.Expr, word string) {
	s.Target = b.expr(b.ectx(sc, word), e)
	if !s.Target.Type().May(expr.TEntity.Kinds) {
		b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", e, "%s changes a Node or Relationship, found %s", word, s.Target.Type())
	}
	if c, ok := s.Target.(*expr.Col); ok {
		s.Var = sc.find(c.Name)
	}
}

func (p *part) delete(c *cypher.Delete) {
	b := p.b
	p.writes = true
	out := &Delete{Place: place(c), Detach: c.Detach}
	for _, e := range c.Exprs {
		if _, ok := e.(*cypher.HasLabels); ok {
			b.fail(dberr.Syntax, "InvalidDelete", e, "DELETE takes a Node, Relationship or Path; labels are taken away by REMOVE")
		}
		x := b.expr(b.ectx(p.sc, "DELETE"), e)
		if !x.Type().May(expr.TEntity.Kinds | expr.TPath.Kinds | expr.TList.Kinds) {
			b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", e, "DELETE takes a Node, Relationship or Path, found %s", x.Type())
		}
		out.Exprs = append(out.Exprs, x)
	}
	p.add(out)
}

func (p *part) foreach(c *cypher.Foreach) {
	b := p.b
	p.writes = true
	out := &Foreach{Place: place(c)}
	out.List = b.expr(b.ectx(p.sc, "FOREACH"), c.List)
	b.wantList(out.List, c.List)
	if p.sc.has(c.Var.Name) {
		b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", c.Var, "variable `%s` is already defined", c.Var.Name)
	}
	out.Var = b.newVar(c.Var.Name, ValueVar, elementType(out.List.Type()), c.Var.Pos())
	out.Var.Plain = b.plain(out.List)
	in := &part{b: b, sc: p.sc.clone(), out: &Part{}, kind: p.kind}
	in.sc.add(out.Var)
	for _, k := range c.Body {
		switch k.(type) {
		case *cypher.Create, *cypher.Merge, *cypher.Set, *cypher.Remove, *cypher.Delete, *cypher.Foreach:
			in.clause(k, false, false)
		default:
			b.fail(dberr.Syntax, "InvalidClauseComposition", k, "%s cannot be used inside FOREACH, only updating clauses can", clauseName(k))
		}
	}
	out.Body = in.out.Clauses
	p.add(out)
}

// call binds CALL of a procedure.
func (p *part) call(c *cypher.Call, last, alone bool) {
	b := p.b
	parts := make([]string, len(c.Name))
	for i, id := range c.Name {
		parts[i] = id.Name
	}
	name := strings.Join(parts, ".")
	var proc *Proc
	if b.opts.Procs != nil {
		proc, _ = b.opts.Procs.Procedure(name)
	}
	if proc == nil {
		b.fail(dberr.ProcedureNotFound, "ProcedureNotFound", c, "there is no procedure with the name `%s`", name)
	}
	standalone := alone && p.kind == queryTop
	out := &CallProc{Place: place(c), Proc: proc, Optional: c.Optional}
	if proc.Writes {
		p.writes = true
	}
	if !c.HasArgs {
		if !standalone {
			b.fail(dberr.Syntax, "InvalidArgumentPassingMode", c, "arguments of a procedure inside a query must be written in parentheses")
		}
		for _, f := range proc.In {
			if f.Optional {
				break // its default: whether there is a parameter is not known yet
			}
			out.Args = append(out.Args, &expr.Param{Base: at(c, expr.Any), Name: f.Name, Index: b.param(f.Name)})
		}
	} else {
		need := len(proc.In)
		for need > 0 && proc.In[need-1].Optional {
			need--
		}
		if len(c.Args) > len(proc.In) || len(c.Args) < need {
			b.fail(dberr.Syntax, "InvalidNumberOfArguments", c, "procedure `%s` takes %d arguments, %d were given", name, len(proc.In), len(c.Args))
		}
		for i, a := range c.Args {
			x := b.expr(b.ectx(p.sc, "CALL"), a)
			want := proc.In[i].Type.Kinds
			if want == expr.TFloat.Kinds {
				want |= expr.TInt.Kinds
			}
			if want != 0 && !x.Type().May(want) {
				b.fail(dberr.DatatypeMismatch, "InvalidArgumentType", a, "argument `%s` of `%s` must be %s, found %s", proc.In[i].Name, name, proc.In[i].Type, x.Type())
			}
			out.Args = append(out.Args, x)
		}
	}
	sc := p.sc.clone()
	add := func(f Field, alias *cypher.Ident, n spanned) {
		nm := f.Name
		if alias != nil {
			nm = alias.Name
		}
		if sc.has(nm) {
			b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", n, "variable `%s` is already defined", nm)
		}
		v := b.newVar(nm, ValueVar, f.Type, n.Pos())
		if v.Type.Kinds == 0 {
			v.Type = expr.Any
		}
		sc.add(v)
		out.Yields = append(out.Yields, Yield{Field: f.Name, Var: v})
	}
	p.add(out)
	switch {
	case c.Yield != nil && c.Yield.Star || c.Yield == nil && standalone:
		if c.Yield != nil && !standalone {
			b.fail(dberr.Syntax, "UnexpectedSyntax", c.Yield, "YIELD * is only allowed in a standalone CALL")
		}
		for _, f := range proc.Out {
			add(f, nil, c)
		}
	case c.Yield != nil && !c.Yield.None:
		for _, it := range c.Yield.Items {
			var f *Field
			for i := range proc.Out {
				if proc.Out[i].Name == it.Column.Name {
					f = &proc.Out[i]
				}
			}
			if f == nil {
				b.fail(dberr.UndefinedVariable, "UndefinedVariable", it.Column, "procedure `%s` has no output `%s`", name, it.Column.Name)
			}
			add(*f, it.Alias, it)
		}
	}
	p.sc = sc
	if c.Yield != nil && c.Yield.Where != nil {
		pr := &Projection{Place: place(c), Where: b.predicate(b.ectx(sc, "WHERE"), c.Yield.Where)}
		for _, v := range sc.named() {
			pr.Items = append(pr.Items, Item{Var: v, Expr: v.Col(c.Pos(), c.Pos()), Name: v.Name})
		}
		p.keepCSV(pr, sc, sc)
		p.add(pr)
	}
	if standalone && len(out.Yields) > 0 {
		for _, y := range out.Yields {
			p.out.Out = append(p.out.Out, y.Var)
			p.names = append(p.names, y.Var.Name)
		}
		p.done = c
	}
}

// subquery binds CALL { }.
func (p *part) subquery(c *cypher.Subquery) {
	b := p.b
	if c.InTx != nil {
		p.checkInTransactions(c)
	}
	out := &CallSub{Place: place(c), Optional: c.Optional}
	f := &frame{}
	q := &Query{Distinct: len(c.Body.Unions) > 0 && !c.Body.Unions[0].All}
	inner := newScope(p.sc)
	inner.frame, inner.closed = f, true
	if c.HasScope {
		// The named variables are constants of the whole body.
		imports := newScope(nil)
		if c.ScopeStar {
			for _, v := range p.sc.named() {
				imports.vars.set(v.Name, v)
			}
		}
		for _, id := range c.Scope {
			v := p.sc.find(id.Name)
			if v == nil {
				b.undefined(p.sc, id, id.Name)
			}
			imports.vars.set(id.Name, v)
		}
		for _, v := range imports.named() {
			f.note(v)
		}
		inner = newScope(imports)
	}
	if inner.csv = p.sc.nearestCSV(); inner.csv != nil {
		f.note(inner.csv.Line)
		f.note(inner.csv.File)
	}
	for i, u := range c.Body.Unions {
		if i > 0 && u.All != c.Body.Unions[0].All {
			b.fail(dberr.Syntax, "InvalidClauseComposition", u, "UNION and UNION ALL cannot be combined in one query")
		}
	}
	for i, sq := range c.Body.Parts {
		in := &part{b: b, sc: inner.clone(), out: &Part{}, kind: querySub, first: true}
		if w, ok := firstWith(sq); ok && !c.HasScope && importing(w) {
			open := newScope(p.sc)
			open.frame = f
			in.imports = open
			for n, v := range visible(p.sc) {
				open.vars.set(n, v)
			}
			for _, it := range w.Items {
				if v := p.sc.find(it.Expr.(*cypher.Var).Name); v != nil {
					f.note(v)
				}
			}
			if w.Star {
				for _, v := range p.sc.named() {
					f.note(v)
				}
			}
		}
		in.run(sq)
		out.Writes = out.Writes || in.writes
		q.Parts = append(q.Parts, in.out)
		if i == 0 {
			q.Columns = in.names
		} else if len(in.names) != len(q.Columns) || !sameNames(in.names, q.Columns) {
			b.fail(dberr.Syntax, "DifferentColumnsInUnion", c.Body.Unions[i-1], "all parts of a UNION must return the same columns in the same order")
		}
	}
	p.writes = p.writes || out.Writes && c.InTx == nil // what other transactions write is no write of this one
	if len(q.Parts) == 1 {
		q.Cols = q.Parts[0].Out
	} else {
		for k, name := range q.Columns {
			q.Cols = append(q.Cols, b.unionVar(name, q.Parts, k, c.Pos()))
		}
	}
	sc := p.sc.clone()
	for k, name := range q.Columns {
		if sc.has(name) {
			b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", c, "variable `%s` is already defined in the query around", name)
		}
		sc.vars.set(name, q.Cols[k])
	}
	if c.InTx != nil {
		out.InTx = p.inTransactions(c.InTx, sc)
	}
	p.sc = sc
	out.Body, out.Imports = q, f.free
	p.add(out)
}

func visible(sc *scope) map[string]*Var {
	out := map[string]*Var{}
	for s := sc; s != nil; s = s.parent {
		s.vars.each(func(n string, v *Var) {
			if out[n] == nil {
				out[n] = v
			}
		})
		if s.closed {
			break
		}
	}
	return out
}

func firstWith(sq *cypher.SingleQuery) (*cypher.With, bool) {
	if len(sq.Clauses) == 0 {
		return nil, false
	}
	c := sq.Clauses[0]
	if _, use := c.(*cypher.Use); use && len(sq.Clauses) > 1 {
		c = sq.Clauses[1]
	}
	w, ok := c.(*cypher.With)
	return w, ok
}

// importing reports whether a leading WITH only names variables of the query around.
func importing(w *cypher.With) bool {
	for _, it := range w.Items {
		v, ok := it.Expr.(*cypher.Var)
		if !ok || it.Alias != nil && it.Alias.Name != v.Name {
			return false
		}
	}
	return !w.Distinct && len(w.OrderBy) == 0 && w.Skip == nil && w.Limit == nil
}
