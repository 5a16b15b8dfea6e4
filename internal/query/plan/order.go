package plan

import (
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Order from an index: the rows of an index come in the total order (rules C9), so that ORDER BY on the indexed property needs no sort, a LIMIT above it
// reads no more than it passes on, and min and max read one end. A vertex without the property is not in the index (rules B13): where nothing proves
// that the rows have it, those without follow the others (ascending only: null is last).

// orderedAbove: with a LIMIT of k an ordered scan is taken when more than k·orderedAbove rows qualify; with fewer, reading all and sorting costs less than
// visiting rows in the order of the index.
const orderedAbove = 50

// inOrder reports whether rows come in the wanted order, or can be made to by reading an index in order; s.root is changed then. limit is the number of
// rows wanted, or 0 for all.
func (p *planner) inOrder(s *stream, keys []SortKey, limit float64) bool {
	if !p.opt.on(RuleIndexOrder) || p.part != NoSlot || len(keys) == 0 {
		return false
	}
	w := p.walkOrder(s.root, keys[0].Slot, "")
	if w == nil {
		return false
	}
	switch leaf := w.leaf.(type) {
	case *IndexSeek:
		if !p.keysFollow(s.root, keys, leaf) {
			return false
		}
		leaf.Ordered, leaf.Descend = true, keys[0].Desc
		return true
	case *LabelScan:
		if limit <= 0 || s.est <= limit*orderedAbove && !p.opt.Force {
			return false
		}
		ix := p.orderIndex(leaf.Labels[0], w.key)
		if ix == nil || len(keys) > 1 && !(ix.Unique && w.flat) {
			return false
		}
		present := w.present || p.alwaysThere(leaf.Labels[0], w.key)
		if !present && keys[0].Desc {
			return false
		}
		seek := &IndexSeek{Base: leaf.Base, Entity: schema.Vertex, Node: leaf.Node, Hint: leaf.Hint, Start: NoSlot, End: NoSlot, Index: ix.ID, IndexName: ix.Name,
			Label: ix.LabelName, Keys: ix.KeyNames, In: -1, Ordered: true, Descend: keys[0].Desc}
		var from Node = seek
		if !present {
			rest := *leaf
			absent := &expr.Unary{Base: expr.Base{Pos: -1, End: -1, T: expr.TBool}, Op: expr.OpIsNull, X: w.prop}
			u := &Union{Base: leaf.Base, Inputs: []Node{seek, &Filter{Base: leaf.Base, Child: &rest, Preds: []expr.Expr{absent}}}, Opens: []int{-1, -1},
				From: [][]Slot{{leaf.Node}, {leaf.Node}}, Cols: []Slot{leaf.Node}}
			from = u
		}
		if w.parent == nil {
			s.root = from
		} else {
			setChild(w.parent, from)
		}
		return true
	}
	return false
}

// keysFollow reports whether the sort keys are the index's keys behind those fixed by equality, all in one direction.
func (p *planner) keysFollow(root Node, keys []SortKey, leaf *IndexSeek) bool {
	at := len(leaf.Eq)
	for i, k := range keys {
		w := p.walkOrder(root, k.Slot, "")
		if w == nil || w.leaf != Node(leaf) || k.Desc != keys[0].Desc {
			return false
		}
		switch {
		case at < len(leaf.Keys) && leaf.Keys[at] == w.key:
			at++
		case slices.Contains(leaf.Keys[:at], w.key):
			// Fixed by equality: but = holds between values that ORDER BY tells apart, such as 1 and 1.0 or two zones.
			return false
		default:
			return i > 0 && p.uniqueIndex(leaf.Index) && len(leaf.Keys) == 1 && w.flat
		}
	}
	return true
}

func (p *planner) uniqueIndex(id schema.IndexID) bool {
	for _, ix := range p.indexes() {
		if ix.ID == id {
			return ix.Unique
		}
	}
	return false
}

// orderIndex finds the index on one property of a label.
func (p *planner) orderIndex(label, key string) *schema.Index {
	ixs := p.indexes()
	for i := range ixs {
		if ix := &ixs[i]; ix.Entity == schema.Vertex && ix.LabelName == label && len(ix.KeyNames) == 1 && ix.KeyNames[0] == key {
			return ix
		}
	}
	return nil
}

// alwaysThere reports whether a constraint says that all vertices of a label have a property. Not in a statement that writes: constraints are checked as
// rows are written, but a label may be on its way.
func (p *planner) alwaysThere(label, key string) bool {
	if !p.q.ReadOnly {
		return false
	}
	for _, c := range p.cat.Constraints(p.opt.View) {
		if c.Kind != schema.Unique && c.Entity == schema.Vertex && c.LabelName == label && slices.Contains(c.KeyNames, key) {
			return true
		}
	}
	return false
}

// orderWalk is the way from an operator down to the leaf that found a vertex.
type orderWalk struct {
	leaf, parent Node
	key          string     // property that orders
	prop         *expr.Prop // the property of the vertex as the leaf calls it
	present      bool       // a condition on the way drops rows without the property
	flat         bool       // each vertex gives at most one row
}

// walkOrder follows a column down to n.key of a vertex found by a leaf, over operators that keep the order of their input. key is "" if the column itself is
// looked for; nil if the way ends elsewhere.
func (p *planner) walkOrder(n Node, slot Slot, key string) *orderWalk {
	w := &orderWalk{key: key, flat: true}
	type test struct {
		e    expr.Expr
		slot Slot
	}
	var tests []test
	for {
		var down Node
		switch x := n.(type) {
		case *Project:
			if i := slices.IndexFunc(x.Items, func(it Item) bool { return it.Slot == slot }); i >= 0 {
				switch e := x.Items[i].Expr.(type) {
				case *expr.Col:
					slot = e.Slot
				case *expr.Prop:
					c, ok := e.Of.(*expr.Col)
					if !ok || w.key != "" || !c.Type().Is(expr.TNode.Kinds) {
						return nil
					}
					slot, w.key, w.prop = c.Slot, e.Key, e
				default:
					return nil
				}
			}
			down = x.Child
		case *Filter:
			for _, e := range x.Preds {
				tests = append(tests, test{e, slot})
			}
			down = x.Child
		case *PropFetch:
			down = x.Child
		case *ProjectPath:
			down = x.Child
		case *Expand:
			if slot == x.To || slot == x.Rel {
				return nil
			}
			w.flat = false
			down = x.Child
		case *Apply:
			if x.PerRow || x.Kind != Semi && x.Kind != Anti && x.Kind != LetSemi && x.Kind != LetCount && x.Kind != RollUp || slot == x.Slot {
				return nil
			}
			down = x.Left
		case *LabelScan:
			if x.Child != nil || x.Node != slot || len(x.Labels) != 1 || w.key == "" {
				return nil
			}
			down, w.leaf = nil, x
		case *IndexSeek:
			if x.Child != nil || x.Node != slot || x.In >= 0 || w.key == "" || x.Entity != schema.Vertex {
				return nil
			}
			down, w.leaf = nil, x
		default:
			return nil
		}
		if w.leaf != nil {
			break
		}
		if _, ok := n.(*SingleRow); ok || down == nil {
			return nil
		}
		w.parent, n = n, down
	}
	if w.prop != nil {
		pr := *w.prop
		c := *pr.Of.(*expr.Col)
		c.Slot = slot
		if h := p.q.Slots[slot].Hint; h != NoSlot {
			c.Hint = h
		}
		pr.Of = &c
		w.prop = &pr
	}
	for _, t := range tests {
		w.present = w.present || dropsNull(t.e, t.slot, w.key)
	}
	return w
}

// dropsNull reports whether a condition is never true of a row where the property is null.
func dropsNull(e expr.Expr, slot Slot, key string) bool {
	is := func(x expr.Expr) bool {
		pr, ok := x.(*expr.Prop)
		if !ok || pr.Key != key {
			return false
		}
		c, ok := pr.Of.(*expr.Col)
		return ok && c.Slot == slot
	}
	switch e := e.(type) {
	case *expr.Unary:
		return e.Op == expr.OpIsNotNull && is(e.X)
	case *expr.Binary:
		switch e.Op {
		case expr.OpEq, expr.OpNe, expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
			return is(e.L) || is(e.R)
		case expr.OpStartsWith, expr.OpEndsWith, expr.OpContains, expr.OpRegex:
			return is(e.L)
		}
	}
	return false
}

// firstOf recognises min(n.key) and max(n.key) over all rows: with an index on the key they need its first row only. It changes s.root.
func (p *planner) firstOf(s *stream, c *bind.Projection) {
	if !p.opt.on(RuleIndexOrder) || p.part != NoSlot || !c.Agg || len(c.Keys) > 0 || len(c.Aggs) != 1 || !p.q.ReadOnly {
		return
	}
	call := c.Aggs[0].Call
	name := strings.ToLower(call.Def.Name)
	if name != "min" && name != "max" || len(call.Args) != 1 {
		return
	}
	pr, ok := call.Args[0].(*expr.Prop)
	if !ok {
		return
	}
	col, ok := pr.Of.(*expr.Col)
	if !ok || !col.Type().Is(expr.TNode.Kinds) {
		return
	}
	w := p.walkOrder(s.root, col.Slot, pr.Key)
	if w == nil || s.est <= orderedAbove && !p.opt.Force {
		return
	}
	desc := name == "max"
	switch leaf := w.leaf.(type) {
	case *IndexSeek:
		if len(leaf.Eq) >= len(leaf.Keys) || leaf.Keys[len(leaf.Eq)] != pr.Key {
			return
		}
		leaf.Ordered, leaf.Descend = true, desc
	case *LabelScan:
		ix := p.orderIndex(leaf.Labels[0], pr.Key)
		if ix == nil {
			return
		}
		seek := &IndexSeek{Base: leaf.Base, Entity: schema.Vertex, Node: leaf.Node, Hint: leaf.Hint, Start: NoSlot, End: NoSlot, Index: ix.ID, IndexName: ix.Name,
			Label: ix.LabelName, Keys: ix.KeyNames, In: -1, Ordered: true, Descend: desc}
		if w.parent == nil {
			s.root = seek
		} else {
			setChild(w.parent, seek)
		}
	}
	s.root = &Limit{Base: p.base(1), Child: s.root, Count: &expr.Const{Base: expr.Base{Pos: -1, End: -1, T: expr.TInt}, V: value.NewInt(1)}}
}
