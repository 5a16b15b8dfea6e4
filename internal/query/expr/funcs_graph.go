package expr

import (
	"strconv"

	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

func init() {
	// The binder puts the column of the nearest LOAD CSV in the place of these two; without one they are null.
	null := func(*call, []value.Value) (value.Value, error) { return value.Value{}, nil }
	register(
		&Def{Name: "linenumber", Category: "load csv", Description: "The last line that LOAD CSV has read for the row, or null without LOAD CSV.",
			Sigs: sigs(sig(TInt)), kernel: null},
		&Def{Name: "file", Category: "load csv", Description: "The absolute path of the file that LOAD CSV reads, or null without LOAD CSV.",
			Sigs: sigs(sig(TString)), kernel: null},
		&Def{Name: "id", AGE: "id", Category: "entity", Description: "The graphid of a node or relationship.", Sigs: sigs(sig(TInt, TEntity)),
			whole: func(f *frame, n int, args []*vec.Column, _ []store.Hint, out *vec.Column) error {
				for i := range n {
					switch args[0].Kinds[i] {
					case value.Null:
						out.AppendNull()
					case value.Node, value.Rel:
						out.AppendWord(value.Int, args[0].Words[i])
					default:
						v := args[0].Value(i)
						if !v.Materialised() {
							return wantKind("id", v, "a Node or Relationship")
						}
						out.AppendWord(value.Int, v.ID())
					}
				}
				return nil
			}},
		&Def{Name: "elementId", Category: "entity", Description: "The graphid of a node or relationship as a string.", Sigs: sigs(sig(TString, TEntity)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if k := a[0].Kind(); k != value.Node && k != value.Rel {
					return value.Value{}, wantKind("elementId", a[0], "a Node or Relationship")
				}
				c.buf = strconv.AppendUint(c.buf[:0], a[0].ID(), 10)
				return value.NewStringBytes(c.buf), nil
			}},
		&Def{Name: "type", AGE: "type", Category: "entity", Description: "The type of a relationship.", Vol: Reads, Sigs: sigs(sig(TString, TRel)),
			whole: func(f *frame, n int, args []*vec.Column, _ []store.Hint, out *vec.Column) error {
				for i := range n {
					switch args[0].Kinds[i] {
					case value.Null:
						out.AppendNull()
					case value.Rel:
						g, err := f.graph()
						if err != nil {
							return err
						}
						out.Append(value.NewString(g.LabelName(schema.LabelOf(args[0].Words[i]))))
					default:
						v := args[0].Value(i)
						if !v.Materialised() || v.Kind() != value.Rel {
							return argError("type", v)
						}
						out.Append(value.NewString(v.RelType()))
					}
				}
				return nil
			}},
		&Def{Name: "labels", AGE: "labels", Category: "entity", Description: "The labels of a node.", Vol: Reads, Raises: true, Sigs: sigs(sig(ListOf(TString), TNode)),
			whole: func(f *frame, n int, args []*vec.Column, hints []store.Hint, out *vec.Column) error {
				return labelsOf(f, n, args[0], hints, out, false)
			}},
		&Def{Name: "label", AGE: "label", Category: "entity", Description: "The first label of a node, or the type of a relationship.", Vol: Reads, Raises: true, Sigs: sigs(sig(TString, TEntity)),
			whole: func(f *frame, n int, args []*vec.Column, hints []store.Hint, out *vec.Column) error {
				return labelsOf(f, n, args[0], hints, out, true)
			}},
		&Def{Name: "properties", AGE: "properties", Category: "entity", Description: "All properties of a node or relationship as a map.", Vol: Reads, Raises: true,
			Sigs: sigs(sig(TMap, Type{Kinds: TEntity.Kinds | TMap.Kinds})),
			whole: func(f *frame, n int, args []*vec.Column, _ []store.Hint, out *vec.Column) error {
				res, err := propertiesOf(f, args[0], n, out)
				if err == nil && res != out {
					out.Reset()
					out.AppendRows(res, nil)
				}
				return err
			}},
		&Def{Name: "keys", AGE: "keys", Category: "list", Description: "The keys of a node, relationship or map.", Vol: Reads, Raises: true,
			Sigs: sigs(sig(ListOf(TString), Type{Kinds: TEntity.Kinds | TMap.Kinds})),
			whole: func(f *frame, n int, args []*vec.Column, _ []store.Hint, out *vec.Column) error {
				var maps vec.Column
				res, err := propertiesOf(f, args[0], n, &maps)
				if err != nil {
					return err
				}
				for i := range n {
					if res.Kinds[i] == value.Null {
						out.AppendNull()
						continue
					}
					m := res.Value(i)
					f.c.lb.Reset()
					for k := range m.Len() {
						key, _ := m.Entry(k)
						f.c.add(value.NewString(key))
					}
					out.Append(f.c.list())
				}
				return nil
			}},
		endDef("startNode", "The node where a relationship starts.", false, false),
		endDef("endNode", "The node where a relationship ends.", true, false),
		endDef("start_id", "The graphid of the node where a relationship starts.", false, true),
		endDef("end_id", "The graphid of the node where a relationship ends.", true, true),
		&Def{Name: "nodes", AGE: "nodes", Category: "list", Description: "The nodes of a path.", Sigs: sigs(sig(ListOf(TNode), TPath)), kernel: everyOther("nodes", 0)},
		&Def{Name: "relationships", Aliases: []string{"rels"}, AGE: "relationships", Category: "list", Description: "The relationships of a path.", Sigs: sigs(sig(ListOf(TRel), TPath)),
			kernel: everyOther("relationships", 1)},
		&Def{Name: "length", AGE: "length", Category: "scalar", Description: "The number of relationships of a path.", Sigs: sigs(sig(TInt, TPath)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if a[0].Kind() != value.Path {
					return value.Value{}, wantKind("length", a[0], "a Path")
				}
				return value.NewInt(int64(a[0].Len() / 2)), nil
			}},
	)
}

func init() {
	for _, t := range []struct {
		name string
		kind value.Kind
	}{{"vertex", value.Node}, {"edge", value.Rel}, {"path", value.Path}} {
		register(&Def{Name: "::" + t.name, AGE: t.name, Category: "conversion", Description: "A cast of what is a " + KindName(t.kind) + " already.",
			Sigs: sigs(sig(Type{Kinds: 1 << t.kind}, Any)), Raises: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if a[0].Kind() != t.kind {
					return value.Value{}, wantKind("::"+t.name, a[0], KindName(t.kind))
				}
				return a[0], nil
			}})
	}
}

func everyOther(fn string, from int) kernel {
	return func(c *call, a []value.Value) (value.Value, error) {
		if a[0].Kind() != value.Path {
			return value.Value{}, wantKind(fn, a[0], "a Path")
		}
		c.lb.Reset()
		for i, e := range a[0].All() {
			if i&1 == from {
				c.add(e)
			}
		}
		return c.list(), nil
	}
}

func endDef(name, doc string, end, asID bool) *Def {
	result := TNode
	if asID {
		result = TInt
	}
	return &Def{Name: name, AGE: name, Category: "entity", Description: doc, Vol: Reads, Raises: true, Sigs: sigs(sig(result, TRel)),
		whole: func(f *frame, n int, args []*vec.Column, hints []store.Hint, out *vec.Column) error {
			col := args[0]
			whole := false
			for i, k := range col.Kinds[:n] {
				if k == value.Rel || k == value.Null {
					continue
				}
				if v := col.Value(i); !v.Materialised() || v.Kind() != value.Rel {
					return wantKind(name, v, "a Relationship")
				}
				whole = true
			}
			if whole { // rows of SQL, which carry their ends
				for i := range n {
					v := col.Value(i)
					id := v.Start()
					if end {
						id = v.End()
					}
					switch {
					case v.IsNull():
						out.AppendNull()
					case asID:
						out.AppendWord(value.Int, id)
					default:
						out.AppendWord(value.Node, id)
					}
				}
				return nil
			}
			_, ids, err := entities(col, n)
			if err != nil {
				return err
			}
			if ids == nil {
				out.Nulls(n)
				return nil
			}
			g, err := f.graph()
			if err != nil {
				return err
			}
			// The ends of a relationship never change, so one that is deleted still has them (rules C8).
			v := f.env.View
			v.WithDeleted = true
			ends := make([]uint64, 2*n)
			if err := g.Ends(f.env.ctx(), v, ids, hints, ends[:n], ends[n:]); err != nil {
				return err
			}
			if end {
				ends = ends[n:]
			}
			for i, k := range col.Kinds[:n] {
				switch {
				case k == value.Null:
					out.AppendNull()
				case asID:
					out.AppendWord(value.Int, ends[i])
				default:
					out.AppendWord(value.Node, ends[i])
				}
			}
			return nil
		}}
}

// labelsOf fills out with the labels of nodes, or with the first of them (and the type of relationships).
func labelsOf(f *frame, n int, col *vec.Column, hints []store.Hint, out *vec.Column, first bool) error {
	ids := make([]uint64, n)
	found := false
	for i, k := range col.Kinds[:n] {
		switch {
		case k == value.Node:
			ids[i], found = col.Words[i], true
		case k == value.Null || k == value.Rel && first:
		default:
			v := col.Value(i)
			if !v.Materialised() || v.Kind() == value.Rel && !first {
				return argError("labels", v)
			}
		}
	}
	var g store.Graph
	sets := make([]schema.LabelSetID, n)
	if found || !allWhole(col, n) {
		var err error
		if g, err = f.graph(); err != nil {
			return err
		}
	}
	if found {
		if _, ok := col.Uniform(); !ok {
			hints = nil
		}
		if err := g.LabelSets(f.env.ctx(), f.env.View, ids, hints, sets); err != nil {
			return err
		}
	}
	var last schema.LabelSetID
	var cached value.Value
	known := false
	for i, k := range col.Kinds[:n] {
		switch {
		case k == value.Null:
			out.AppendNull()
		case k == value.Rel:
			out.Append(value.NewString(g.LabelName(schema.LabelOf(col.Words[i]))))
		case k != value.Node:
			out.Append(wholeLabels(col.Value(i), first))
		default:
			if !known || sets[i] != last {
				last, known = sets[i], true
				set := g.LabelSet(last)
				if first {
					cached = value.NewString("")
					if l := storageLabel(set, ids[i]); l != schema.NoLabel {
						cached = value.NewString(g.LabelName(l))
					}
				} else {
					f.c.lb.Reset()
					for _, l := range set {
						f.c.add(value.NewString(g.LabelName(l)))
					}
					cached = f.c.lb.List()
				}
			}
			out.Append(cached)
			known = known && !first // the storage label depends on the id
		}
	}
	return nil
}

// allWhole reports whether every row that is not null holds a whole entity.
func allWhole(col *vec.Column, n int) bool {
	for _, k := range col.Kinds[:n] {
		if k == value.Node || k == value.Rel {
			return false
		}
	}
	return true
}

// wholeLabels reads labels, or the first label or type, off a whole entity.
func wholeLabels(v value.Value, first bool) value.Value {
	if v.Kind() == value.Rel {
		return value.NewString(v.RelType())
	}
	l := v.Labels()
	if first {
		if len(l) == 0 {
			return value.NewString("")
		}
		return value.NewString(l[0])
	}
	elems := make([]value.Value, len(l))
	for i, s := range l {
		elems[i] = value.NewString(s)
	}
	return value.NewList(elems...)
}

// storageLabel is the label that AGE's text shows (rules D1): the storage label while the vertex has it, else the lowest.
func storageLabel(set []schema.LabelID, id uint64) schema.LabelID {
	low := schema.NoLabel
	for _, l := range set {
		if l == schema.LabelOf(id) {
			return l
		}
		if low == schema.NoLabel || l < low {
			low = l
		}
	}
	return low
}
