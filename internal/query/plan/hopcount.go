package plan

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Counts without the rows of the last hop: MATCH (a)-[:T]-(b)-[:T]-(c) RETURN count(*) adds up how many relationships each b has, less those that the row
// uses already. It is the same number only if
//   - nothing but the count would read the far end or the relationship, and nothing filters them;
//   - of each relationship that the last hop must differ from it is known whether it is one of those counted: whether an end of it is the vertex that they
//     begin at, in that direction, and its type among the counted ones. They differ from each other, so each is taken off once;
//   - the hop sees what the count sees: the statement only reads.

// hopCounts puts degrees in the place of last hops below counts.
func (p *planner) hopCounts() {
	if !p.opt.on(RuleHopCount) || !p.q.ReadOnly {
		return
	}
	p.q.Walk(func(n Node) {
		if a, ok := n.(*Aggregate); ok {
			p.hopCount(a)
		}
	})
}

func (p *planner) hopCount(a *Aggregate) {
	x, ok := a.Child.(*Expand)
	if !ok || x.Into || x.Optional || len(x.Sieves) > 0 || x.CID != a.CID || len(a.Aggs) == 0 {
		return
	}
	found := setOf([]Slot{x.To, x.ToHint, x.Rel, x.RelHint})
	for _, k := range a.Keys {
		r := slotSet{}
		r.reads(k.Expr)
		if r.meets(found) || hasSubplan(k.Expr) {
			return
		}
	}
	for _, s := range a.Part {
		if found.has(s) {
			return
		}
	}
	for _, g := range a.Aggs {
		if g.Call.Def.Name != "count" || g.Call.Distinct || len(g.Call.Args) > 1 {
			return
		}
		if len(g.Call.Args) == 1 {
			if c, ok := g.Call.Args[0].(*expr.Col); !ok || c.Slot != x.To && c.Slot != x.Rel || c.Slot == NoSlot {
				return
			}
		}
	}
	n := expr.Expr(&expr.Func{Base: synthetic(expr.TInt), Def: expr.Degree(x.Dir, x.Types), Args: []expr.Expr{p.nodeCol(x.From)}})
	for _, u := range x.Unique {
		used, ok := p.usedHop(x, u)
		if !ok {
			return
		}
		if used != nil {
			n = &expr.Binary{Base: synthetic(expr.TInt), Op: expr.OpSub, L: n, R: used}
		}
	}
	slot, col := p.temp("hops", expr.TInt)
	below := Node(&Project{Base: Base{Est: x.Child.Info().Est, CID: x.CID, Clause: x.Clause}, Child: x.Child, Items: []Item{{Slot: slot, Expr: n}}})
	if len(a.Keys) > 0 {
		// A group without a row is no group.
		some := &expr.Binary{Base: synthetic(expr.TBool), Op: expr.OpGt, L: col, R: intConst(0)}
		below = &Filter{Base: Base{Est: below.Info().Est, CID: x.CID, Clause: x.Clause}, Child: below, Preds: []expr.Expr{some}}
	}
	sum, ok := expr.Lookup("sum")
	if !ok {
		panic("plan: no function sum")
	}
	a.Child = below
	for i := range a.Aggs {
		a.Aggs[i].Call = &expr.Agg{Base: a.Aggs[i].Call.Base, Def: sum, Args: []expr.Expr{col}}
	}
}

func synthetic(t expr.Type) expr.Base { return expr.Base{Pos: -1, End: -1, T: t} }

func intConst(n int64) expr.Expr {
	return &expr.Const{Base: synthetic(expr.TInt), V: value.NewInt(n)}
}

func (p *planner) nodeCol(s Slot) *expr.Col {
	return &expr.Col{Base: synthetic(expr.TNode), Slot: s, Hint: NoSlot, Name: p.q.Slots[s].Name}
}

// usedHop is 1 where the relationship u of the row is one of those that x's degree counts, and 0 where it is not; nil: it never is. Not ok: the row does not tell.
func (p *planner) usedHop(x *Expand, u Slot) (expr.Expr, bool) {
	q := hopOf(x.Child, u)
	if q == nil || !covers(x.Types, q.Types) {
		return nil, false
	}
	from, to, dir := q.From, q.To, q.Dir
	if x.From == from && x.From == to {
		return intConst(1), true
	}
	switch {
	case x.Dir == store.Both:
		if x.From == from || x.From == to {
			return intConst(1), true
		}
		return oneIf(p.same(x.From, from), p.same(x.From, to)), true
	case dir == store.Both:
		return nil, false
	case dir == x.Dir: // it leaves from where x's leave from
		to = from
	}
	if x.From == to {
		return intConst(1), true
	}
	return oneIf(p.same(x.From, to)), true
}

func (p *planner) same(a, b Slot) expr.Expr {
	return &expr.Binary{Base: synthetic(expr.TBool), Op: expr.OpEq, L: p.nodeCol(a), R: p.nodeCol(b)}
}

func oneIf(conds ...expr.Expr) expr.Expr {
	c := &expr.Case{Base: synthetic(expr.TInt), Else: intConst(0)}
	for _, x := range conds {
		c.Whens = append(c.Whens, expr.When{Cond: x, Then: intConst(1)})
	}
	return c
}

// hopOf finds the hop that bound a relationship, below operators that keep their rows' columns.
func hopOf(n Node, rel Slot) *Expand {
	for {
		switch x := n.(type) {
		case *Expand:
			if x.Rel == rel {
				if x.Optional {
					return nil
				}
				return x
			}
			n = x.Child
		case *Filter:
			n = x.Child
		default:
			return nil
		}
	}
}

// covers reports whether a relationship of any of the types is one of those counted; no types means all.
func covers(counted, types []string) bool {
	if len(counted) == 0 {
		return true
	}
	for _, t := range types {
		if !contains(counted, t) {
			return false
		}
	}
	return len(types) > 0
}
