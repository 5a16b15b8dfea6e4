package expr

import (
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// Labels and types whose names are computed: $(expr), $all(expr), $any(expr). The binder makes calls of these functions; they have no name that a
// statement could write.
func init() {
	register(
		&Def{Name: "::names", Category: "entity", Description: "Names of labels from strings and lists of strings.", Raises: true, NullIn: true,
			Sigs: sigs(sig(ListOf(TString), Any).many()),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				c.lb.Reset()
				for _, v := range a {
					if err := addNames(c, v, "a label"); err != nil {
						return value.Value{}, err
					}
				}
				return c.list(), nil
			}},
		&Def{Name: "::type", Category: "entity", Description: "The name of one relationship type.", Raises: true, NullIn: true,
			Sigs: sigs(sig(ListOf(TString), Any)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				c.lb.Reset()
				if err := addNames(c, a[0], "a relationship type"); err != nil {
					return value.Value{}, err
				}
				if n := c.lb.Len(); n != 1 {
					return value.Value{}, dberr.New(dberr.ArgumentError, "a relationship has exactly one type, found %d names", n).WithToken("InvalidArgumentValue")
				}
				return c.list(), nil
			}},
		&Def{Name: "::hasLabels", Category: "entity", Description: "Whether a node has all (or any) of some labels, or a relationship the type.", Vol: Reads, Raises: true,
			Sigs: sigs(sig(TBool, TEntity, TList, TBool)), whole: hasNames},
	)
}

// addNames adds the names that a value gives: a string, or a list of strings.
func addNames(c *call, v value.Value, what string) error {
	switch v.Kind() {
	case value.String:
		if v.Str() == "" {
			return dberr.New(dberr.ArgumentError, "the name of %s must not be empty", what).WithToken("InvalidArgumentValue")
		}
		c.add(v)
		return nil
	case value.List:
		for _, e := range v.All() {
			if e.Kind() != value.String {
				return typeError(e, "a String as the name of "+what)
			}
			if err := addNames(c, e, what); err != nil {
				return err
			}
		}
		return nil
	}
	return typeError(v, "a String or a List of Strings as the name of "+what)
}

// hasNames tests entities for labels or types by name: all of the names, or any of them.
func hasNames(f *frame, n int, args []*vec.Column, hints []store.Hint, out *vec.Column) error {
	col, names, anyOf := args[0], args[1], args[2]
	ids, nodes := make([]uint64, n), false
	for i, k := range col.Kinds[:n] {
		if k == value.Node {
			ids[i], nodes = col.Words[i], true
		}
	}
	g, err := f.graph()
	if err != nil {
		return err
	}
	sets := make([]schema.LabelSetID, n)
	if nodes {
		if _, ok := col.Uniform(); !ok {
			hints = nil
		}
		if err := g.LabelSets(f.env.ctx(), f.env.View, ids, hints, sets); err != nil {
			return err
		}
	}
	for i, k := range col.Kinds[:n] {
		var has func(name string) bool
		switch k {
		case value.Null:
			out.AppendNull()
			continue
		case value.Node:
			set := g.LabelSet(sets[i])
			has = func(name string) bool {
				id, ok := g.Label(f.env.View, name, schema.Vertex)
				return ok && slices.Contains(set, id)
			}
		case value.Rel:
			has = func(name string) bool {
				id, ok := g.Label(f.env.View, name, schema.Edge)
				return ok && id == schema.LabelOf(col.Words[i])
			}
		default:
			return typeError(col.Value(i), "a Node or Relationship")
		}
		out.AppendWord(value.Bool, boolWord(holdsNames(names.Value(i), anyOf.Words[i] != 0, has)))
	}
	return nil
}

func holdsNames(names value.Value, anyOf bool, has func(string) bool) bool {
	for _, e := range names.All() {
		if has(e.Str()) == anyOf {
			return anyOf
		}
	}
	return !anyOf
}

// computedLabels takes a test for computed labels apart, for EXPLAIN.
func computedLabels(e *Func) (names []Expr, word string, ok bool) {
	if e.Def.Name != "::hasLabels" || len(e.Args) != 3 {
		return nil, "", false
	}
	f, ok := e.Args[1].(*Func)
	anyOf, ok2 := e.Args[2].(*Const)
	if !ok || !ok2 {
		return nil, "", false
	}
	if anyOf.V.Bool() {
		return f.Args, "$any", true
	}
	return f.Args, "$", true
}
