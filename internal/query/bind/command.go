package bind

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
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
