package plan

import "github.com/hedgerowdb/hedgerow/internal/query/expr"

// Sideways information: a hash join on vertices knows which of them can find a partner as soon as its build side is read. Whatever finds those vertices on the
// other side then drops the rest at once, before expansions, property reads and filters between there and the join see them.

// Sieve is a set of entities that one operator fills and others drop rows by.
type Sieve struct {
	ID   int  // Query.Sieves counts them
	Slot Slot // the entity that must be in the set
	Key  int  // at the join: which of its keys fills the set
}

// sideways gives the joins of a plan their sieves. A statement that writes has none: its clauses open in order, the left side first (P5).
func (p *planner) sideways() {
	if !p.opt.on(RuleSideways) || !p.q.ReadOnly {
		return
	}
	p.q.Walk(func(n Node) {
		h, ok := n.(*HashJoin)
		if !ok || h.Kind != JoinInner && h.Kind != JoinSemi {
			return
		}
		for i, k := range h.Keys {
			l, ok := k.Left.(*expr.Col)
			r, ok2 := k.Right.(*expr.Col)
			if !ok || !ok2 || p.q.Slots[l.Slot].Kind != NodeID || p.q.Slots[r.Slot].Kind != NodeID {
				continue
			}
			t, slot := finder(h.Left, l.Slot)
			if t == nil || 2*h.Right.Info().Est > t.Info().Est && !p.opt.Force {
				continue
			}
			sv := Sieve{ID: p.q.Sieves, Slot: slot, Key: i}
			p.q.Sieves++
			h.Fills = append(h.Fills, sv)
			t.Info().Sieves = append(t.Info().Sieves, sv)
		}
	})
}

// finder returns the operator below n that finds the vertex in a slot, and the slot that it has there; nil if rows dropped there might change more than which
// rows come out on top.
func finder(n Node, slot Slot) (Node, Slot) {
	side := func(l, r Node) (Node, Slot) {
		var has slotSet
		if produced(l, &has); has.has(slot) {
			return finder(l, slot)
		}
		return finder(r, slot)
	}
	var down Node
	switch x := n.(type) {
	case *Filter:
		down = x.Child
	case *PropFetch:
		down = x.Child
	case *ProjectPath:
		down = x.Child
	case *Unwind:
		down = x.Child
	case *Project:
		down = x.Child
		for _, it := range x.Items {
			if it.Slot == slot {
				c, ok := it.Expr.(*expr.Col)
				if !ok {
					return nil, NoSlot
				}
				return finder(x.Child, c.Slot)
			}
		}
	case *Expand:
		if x.To == slot && !x.Into {
			if x.Optional {
				return nil, NoSlot // its null rows must stay
			}
			return x, slot
		}
		down = x.Child
	case *VarExpand:
		if x.To == slot && !x.Into {
			return x, slot
		}
		down = x.Child
	case *RelTypeScan:
		if x.Start == slot || x.End == slot {
			return x, slot
		}
		down = x.Child
	case *LabelScan:
		if x.Node == slot {
			return x, slot
		}
		down = x.Child
	case *AllNodesScan:
		if x.Node == slot {
			return x, slot
		}
		down = x.Child
	case *IndexSeek:
		if x.Node == slot {
			return x, slot
		}
		down = x.Child
	case *HashJoin:
		if x.Kind == JoinInner {
			return side(x.Left, x.Right)
		}
		down = x.Left
	case *CartesianProduct:
		return side(x.Left, x.Right)
	case *Apply:
		var right slotSet
		if produced(x.Right, &right); right.has(slot) || x.PerRow {
			return nil, NoSlot
		}
		down = x.Left
	}
	if down == nil {
		return nil, NoSlot
	}
	return finder(down, slot)
}
