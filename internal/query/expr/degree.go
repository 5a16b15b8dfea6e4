package expr

import (
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// Degree makes the function that counts the relationships of a vertex: what COUNT { (n)-[:T]->() } asks for, without finding each of them. It is not in the
// table: only the planner writes it. A null has none.
func Degree(dir store.Direction, types []string) *Def {
	name := "degree"
	if len(types) > 0 {
		name += "[:" + strings.Join(types, "|") + "]"
	}
	switch dir {
	case store.Out:
		name += "->"
	case store.In:
		name = "<-" + name
	}
	return &Def{Name: name, Category: "entity", Description: "The number of relationships of a node.", Vol: Reads, NullIn: true, Sigs: sigs(sig(TInt, TNode)),
		whole: func(f *frame, n int, args []*vec.Column, _ []store.Hint, out *vec.Column) error {
			g, err := f.graph()
			if err != nil {
				return err
			}
			ids := make([]schema.LabelID, 0, len(types))
			for _, t := range types {
				if id, ok := g.Label(f.c.env.View, t, schema.Edge); ok {
					ids = append(ids, id)
				}
			}
			if len(types) > 0 && len(ids) == 0 {
				clear(out.Fill(value.Int, n))
				return nil
			}
			src, counts := make([]uint64, n), make([]int64, n)
			for i := range n {
				switch args[0].Kinds[i] {
				case value.Node:
					src[i] = args[0].Words[i]
				case value.Null:
				default:
					return wantKind("COUNT", args[0].Value(i), "a Node")
				}
			}
			if err := g.Degree(f.c.env.Ctx, f.c.env.View, src, dir, ids, counts); err != nil {
				return err
			}
			w := out.Fill(value.Int, n)
			for i, c := range counts {
				w[i] = uint64(c)
			}
			return nil
		}}
}
