package bind

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// command binds a schema command.
func (b *binder) command(body cypher.Body) *Command {
	out := &Command{NameParam: -1, Place: Place{Pos: body.Pos(), End: body.End()}}
	name := func(n *cypher.NameOrParam) string {
		if n == nil {
			return ""
		}
		if n.Param != nil {
			out.NameParam = b.param(n.Param.Name)
		}
		return n.Name
	}
	switch c := body.(type) {
	case *cypher.CreateIndex:
		out.Place.Name, out.Kind = "CREATE INDEX", CreateIndex
		switch c.Kind {
		case cypher.DefaultIndex, cypher.RangeIndex, cypher.TextIndex:
			// A text index is kept as a range index, which serves equality, ranges and prefixes.
		case cypher.LookupIndex:
			b.fail(dberr.FeatureNotSupported, "", c, "labels and types need no LOOKUP index, they are always indexed")
		case cypher.PointIndex:
			b.failHint(dberr.FeatureNotSupported, "", c, "CREATE INDEX makes one that serves equality of points.", "POINT indexes are not supported")
		default:
			b.fail(dberr.FeatureNotSupported, "", c, "full-text and vector indexes are not supported")
		}
		if c.OrReplace {
			b.fail(dberr.FeatureNotSupported, "", c, "CREATE OR REPLACE INDEX is not supported; drop the index first")
		}
		b.noOptions(c.Options)
		if len(c.Labels) != 1 || len(c.Keys) == 0 {
			b.fail(dberr.Syntax, "UnexpectedSyntax", c, "an index is on one label or type and at least one property")
		}
		if c.Unique {
			out.Kind = CreateConstraint
			out.Constraint = store.ConstraintDef{Name: name(c.Name), Entity: entity(c.OnRel), Label: c.Labels[0].Name, Keys: b.keys(c.Keys), Kind: schema.Unique, IfNotExists: c.IfNotExists}
			out.Name = out.Constraint.Name
			return out
		}
		out.Index = store.IndexDef{Name: name(c.Name), Entity: entity(c.OnRel), Label: c.Labels[0].Name, Keys: b.keys(c.Keys), IfNotExists: c.IfNotExists}
		out.Name = out.Index.Name
	case *cypher.DropIndex:
		out.Place.Name, out.Kind, out.Name, out.IfExists = "DROP INDEX", DropIndex, name(c.Name), c.IfExists
		if c.Name == nil {
			out.By = &store.IndexDef{Label: c.Label.Name, Keys: b.keys(c.Keys)}
		}
	case *cypher.CreateConstraint:
		out.Place.Name, out.Kind = "CREATE CONSTRAINT", CreateConstraint
		if c.OrReplace {
			b.fail(dberr.FeatureNotSupported, "", c, "CREATE OR REPLACE CONSTRAINT is not supported; drop the constraint first")
		}
		b.noOptions(c.Options)
		d := store.ConstraintDef{Name: name(c.Name), Entity: entity(c.OnRel), Label: c.Label.Name, Keys: b.keys(c.Keys), IfNotExists: c.IfNotExists}
		switch c.Kind {
		case cypher.UniqueConstraint:
			d.Kind = schema.Unique
		case cypher.NotNullConstraint:
			d.Kind = schema.NotNull
			if len(d.Keys) != 1 {
				b.fail(dberr.Syntax, "UnexpectedSyntax", c, "a NOT NULL constraint is on one property")
			}
		case cypher.KeyConstraint:
			d.Kind = schema.NodeKey
		case cypher.TypeConstraint:
			d.Kind, d.Type = schema.PropertyType, b.typeSpec(c.Type)
			if !d.Type.Storable() {
				b.failHint(dberr.Syntax, "UnexpectedSyntax", c.Type, "Use property types and lists of one of them such as LIST<STRING NOT NULL>, or unions of these, without NOT NULL behind them.",
					"a property type constraint cannot be for %s", d.Type)
			}
		}
		out.Constraint, out.Name = d, d.Name
	case *cypher.DropConstraint:
		out.Place.Name, out.Kind, out.Name, out.IfExists = "DROP CONSTRAINT", DropConstraint, name(c.Name), c.IfExists
	case *cypher.CreateDatabase:
		out.Place.Name, out.Kind, out.Name, out.IfExists = "CREATE DATABASE", CreateGraph, name(c.Name), c.IfNotExists
		if c.OrReplace {
			b.fail(dberr.FeatureNotSupported, "", c, "CREATE OR REPLACE DATABASE is not supported; drop the database first")
		}
		b.noOptions(c.Options)
	case *cypher.DropDatabase:
		out.Place.Name, out.Kind, out.Name, out.IfExists, out.Cascade = "DROP DATABASE", DropGraph, name(c.Name), c.IfExists, true
	default:
		b.fail(dberr.FeatureNotSupported, "", body, "this command is not supported yet")
	}
	return out
}

func (b *binder) noOptions(e cypher.Expr) {
	if m, ok := e.(*cypher.MapLit); e == nil || ok && len(m.Entries) == 0 {
		return
	}
	b.fail(dberr.FeatureNotSupported, "", e, "OPTIONS are not supported")
}

func entity(rel bool) schema.Entity {
	if rel {
		return schema.Edge
	}
	return schema.Vertex
}

func (b *binder) keys(ids []*cypher.Ident) []string {
	var out []string
	for i, id := range ids {
		for _, k := range ids[:i] {
			if k.Name == id.Name {
				b.fail(dberr.Syntax, "UnexpectedSyntax", id, "property `%s` is named twice", id.Name)
			}
		}
		out = append(out, id.Name)
	}
	return out
}

type showCol struct {
	name string
	t    expr.Type
	all  bool // shown with YIELD * only
}

// showColumns are the columns of each SHOW command, in order.
var showColumns = map[ShowKind][]showCol{
	ShowIndexes: {{"id", expr.TInt, false}, {"name", expr.TString, false}, {"state", expr.TString, false}, {"populationPercent", expr.TFloat, false}, {"type", expr.TString, false},
		{"entityType", expr.TString, false}, {"labelsOrTypes", expr.TList, false}, {"properties", expr.TList, false}, {"owningConstraint", expr.TString, false},
		{"unique", expr.TBool, false}, {"createStatement", expr.TString, true}},
	ShowConstraints: {{"id", expr.TInt, false}, {"name", expr.TString, false}, {"type", expr.TString, false}, {"entityType", expr.TString, false},
		{"labelsOrTypes", expr.TList, false}, {"properties", expr.TList, false}, {"ownedIndex", expr.TString, false}, {"propertyType", expr.TString, false}, {"createStatement", expr.TString, true}},
	ShowFunctions: {{"name", expr.TString, false}, {"category", expr.TString, false}, {"description", expr.TString, false}, {"signature", expr.TString, true},
		{"aggregating", expr.TBool, true}},
	ShowProcedures:   {{"name", expr.TString, false}, {"description", expr.TString, false}, {"mode", expr.TString, false}, {"worksOnSystem", expr.TBool, false}, {"signature", expr.TString, true}},
	ShowGraphs:       {{"name", expr.TString, false}, {"type", expr.TString, false}, {"access", expr.TString, false}, {"currentStatus", expr.TString, false}, {"default", expr.TBool, false}, {"home", expr.TBool, false}},
	ShowSettings:     {{"name", expr.TString, false}, {"value", expr.TString, false}, {"isDynamic", expr.TBool, false}, {"defaultValue", expr.TString, false}, {"description", expr.TString, false}},
	ShowTransactions: {{"database", expr.TString, false}, {"transactionId", expr.TString, false}, {"currentQueryId", expr.TString, false}, {"connectionId", expr.TString, false}, {"clientAddress", expr.TString, false}, {"username", expr.TString, false}, {"currentQuery", expr.TString, false}, {"startTime", expr.TString, false}, {"status", expr.TString, false}, {"elapsedTime", expr.Any, false}},
}

// show binds a SHOW command as a query over its rows.
func (b *binder) show(c *cypher.Show) *Query {
	kinds := map[cypher.ShowKind]ShowKind{cypher.ShowIndexes: ShowIndexes, cypher.ShowConstraints: ShowConstraints, cypher.ShowFunctions: ShowFunctions,
		cypher.ShowProcedures: ShowProcedures, cypher.ShowDatabases: ShowGraphs, cypher.ShowSettings: ShowSettings, cypher.ShowTransactions: ShowTransactions}
	kind, ok := kinds[c.Kind]
	if !ok {
		b.fail(dberr.FeatureNotSupported, "", c, "this SHOW command is not supported yet")
	}
	place := Place{Name: "SHOW", Pos: c.Pos(), End: c.End()}
	src := &ShowRows{Place: place, Kind: kind}
	p := &part{b: b, sc: newScope(nil), out: &Part{}, kind: queryShowTail}
	p.add(src)
	full := newScope(nil)
	star := c.Yield != nil && (c.Yield.Star || len(c.Yield.Items) > 0)
	vars := map[string]*Var{}
	var order []*Var
	for _, col := range showColumns[kind] {
		if col.all && !star {
			continue
		}
		v := b.newVar(col.name, ValueVar, col.t, c.Pos())
		src.Yields = append(src.Yields, Yield{Field: col.name, Var: v})
		vars[col.name] = v
		full.add(v)
		order = append(order, v)
	}
	if len(c.Names) > 0 {
		// SHOW SETTINGS 'a', 'b' and the like: a condition on the first naming column.
		key := order[0]
		if kind == ShowTransactions {
			key = vars["transactionId"]
		}
		var alts []expr.Expr
		for _, n := range c.Names {
			x := b.expr(ectx{sc: newScope(nil), where: "SHOW", const_: true}, n)
			alts = append(alts, &expr.Binary{Base: at(n, expr.TBool), Op: expr.OpEq, L: key.Col(n.Pos(), n.End()), R: x})
		}
		var cond expr.Expr = &expr.Or{Base: at(c, expr.TBool), Args: alts}
		if len(alts) == 1 {
			cond = alts[0]
		}
		pass := &Projection{Place: place, Where: []expr.Expr{cond}}
		for _, v := range order {
			pass.Items = append(pass.Items, Item{Var: v, Expr: v.Col(c.Pos(), c.Pos()), Name: v.Name})
		}
		p.add(pass)
	}
	p.sc = full
	if y := c.Yield; y != nil {
		pr := &Projection{Place: place}
		next := newScope(nil)
		if y.Star {
			for _, v := range order {
				pr.Items = append(pr.Items, Item{Var: v, Expr: v.Col(y.Pos(), y.Pos()), Name: v.Name})
				next.add(v)
			}
		}
		var outVars []*Var
		for _, it := range y.Items {
			v := vars[it.Column.Name]
			if v == nil {
				b.undefined(full, it.Column, it.Column.Name)
			}
			nv := v
			if it.Alias != nil && it.Alias.Name != v.Name {
				nv = b.alias(it.Alias.Name, v.Col(it.Pos(), it.End()), it.Pos())
			}
			if next.vars.get(nv.Name) != nil {
				b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", it, "column `%s` is defined more than once", nv.Name)
			}
			pr.Items = append(pr.Items, Item{Var: nv, Expr: v.Col(it.Pos(), it.End()), Name: nv.Name})
			next.add(nv)
			outVars = append(outVars, nv)
		}
		for _, s := range y.OrderBy {
			pr.OrderBy = append(pr.OrderBy, SortItem{Expr: b.expr(b.ectx(next, "ORDER BY"), s.Expr), Desc: s.Desc})
		}
		pr.Skip, pr.Limit = b.count(y.Skip, "SKIP"), b.count(y.Limit, "LIMIT")
		pr.Where = b.predicate(b.ectx(next, "WHERE"), y.Where)
		p.add(pr)
		p.sc = next
		if !y.Star {
			order = outVars
		}
	}
	if c.Where != nil {
		pr := &Projection{Place: place, Where: b.predicate(b.ectx(p.sc, "WHERE"), c.Where)}
		for _, v := range order {
			pr.Items = append(pr.Items, Item{Var: v, Expr: v.Col(c.Pos(), c.Pos()), Name: v.Name})
		}
		p.add(pr)
	}
	if c.Return != nil {
		p.projection(c.Return, &c.Return.Projection, nil, true)
		return &Query{Parts: []*Part{p.out}, Columns: p.names, Cols: p.out.Out}
	}
	pr := &Projection{Place: place, Return: true}
	for _, v := range order {
		pr.Items = append(pr.Items, Item{Var: v, Expr: v.Col(c.Pos(), c.Pos()), Name: v.Name})
		p.names = append(p.names, v.Name)
	}
	p.add(pr)
	p.out.Out = order
	return &Query{Parts: []*Part{p.out}, Columns: p.names, Cols: order}
}
