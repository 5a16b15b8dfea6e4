package plan

import (
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
)

// Late properties: every n.key that an operator needs is read by a PropFetch right below it, together with the keys of the same variable that
// operators above need and the same command id reads, so that a row is visited once. A fetched column is used as long as rows keep it
// and the command id stays the same.

type propKey struct {
	slot Slot
	key  string
}

// fetched is a property column and where it was read.
type fetched struct {
	col Slot
	cid CID
}

type lateProps struct {
	p      *planner
	lambda slotSet
	// wanted[n] are the properties that operators above n need, n's own not included.
	wanted map[Node]map[propKey]bool
	order  map[Node][]propKey
}

func (p *planner) lateProps() {
	l := &lateProps{p: p, lambda: slotSet{}, wanted: map[Node]map[propKey]bool{}, order: map[Node][]propKey{}}
	for _, v := range p.vars {
		if v.Lambda {
			l.lambda.add(v.Slot)
		}
	}
	l.demand(p.q.Root, nil)
	root, _ := l.place(p.q.Root)
	p.q.Root = root
}

// entityProp recognises n.key with n an entity column of the row.
func (l *lateProps) entityProp(x expr.Expr) (propKey, schema.Entity, bool) {
	pr, ok := x.(*expr.Prop)
	if !ok {
		return propKey{}, 0, false
	}
	c, ok := pr.Of.(*expr.Col)
	if !ok || l.lambda.has(c.Slot) {
		return propKey{}, 0, false
	}
	t := c.Type()
	switch {
	case t.Is(expr.TNode.Kinds) && t.Kinds&expr.TNode.Kinds != 0:
		return propKey{c.Slot, pr.Key}, schema.Vertex, true
	case t.Is(expr.TRel.Kinds) && t.Kinds&expr.TRel.Kinds != 0:
		return propKey{c.Slot, pr.Key}, schema.Edge, true
	}
	return propKey{}, 0, false
}

// eligible: behind a DELETE a property read may raise, so it stays where it is evaluated.
func (l *lateProps) eligible(n Node) bool {
	b := n.Info()
	if l.p.deleted && b.Clause >= l.p.deletedAt || b.CID.Own {
		return false
	}
	switch n.(type) {
	case *ProduceResults, *HashJoin, *Merge:
		return false
	case *Lock:
		return false // it evaluates only when the rows have changed, on what they are then (rules A9)
	}
	return true
}

// needs lists the properties of n's own expressions that may be fetched before it.
func (l *lateProps) needs(n Node) (keys []propKey, cols map[propKey]*expr.Col, ents map[propKey]schema.Entity) {
	cols, ents = map[propKey]*expr.Col{}, map[propKey]schema.Entity{}
	if !l.eligible(n) {
		return
	}
	exprs(n, func(e *expr.Expr, own bool) {
		if own {
			return
		}
		expr.Walk(*e, func(x expr.Expr) bool {
			if k, ent, ok := l.entityProp(x); ok {
				if cols[k] == nil {
					keys = append(keys, k)
					cols[k], ents[k] = x.(*expr.Prop).Of.(*expr.Col), ent
				}
			}
			return true
		})
	})
	return
}

// demand records what is wanted above each operator.
func (l *lateProps) demand(n Node, above []propKey) {
	l.order[n] = above
	keys, _, _ := l.needs(n)
	down := append(append([]propKey(nil), keys...), above...)
	switch n.(type) {
	case *Aggregate, *Distinct:
		down = keys // columns end here
	case *TopN, *Sort, *Limit, *Eager, *Lock, *TransactionApply:
		down = nil // fewer rows, or another time
	}
	cs := n.Children()
	for i, c := range cs {
		d := down
		if c.Info().CID != n.Info().CID {
			d = nil
		}
		if i > 0 {
			d = nil // the right side of an Apply reads for itself
			switch n.(type) {
			case *CartesianProduct:
				d = down
			}
		}
		if _, ok := n.(*Union); ok {
			d = nil
		}
		l.demand(c, d)
	}
	exprs(n, func(e *expr.Expr, _ bool) {
		subplans(*e, func(_ *expr.Subplan, s *Subplan) { l.demand(s.Root, nil) })
	})
}

// place rewrites n and what is below; it returns the columns that n's rows carry.
func (l *lateProps) place(n Node) (Node, map[propKey]fetched) {
	avail := map[propKey]fetched{}
	cs := n.Children()
	for i, c := range cs {
		nc, a := l.place(c)
		switch {
		case i == 0:
			avail = a
			l.replace(n, i, nc)
		default:
			l.replace(n, i, nc)
			if _, ok := n.(*CartesianProduct); ok {
				for k, v := range a {
					avail[k] = v
				}
			}
		}
	}
	exprs(n, func(e *expr.Expr, _ bool) {
		subplans(*e, func(s *expr.Subplan, sp *Subplan) {
			sp.Root, _ = l.place(sp.Root)
		})
	})
	if _, ok := n.(*Union); ok {
		return n, map[propKey]fetched{}
	}
	n = l.fetchFor(n, avail)
	switch n := n.(type) {
	case *Aggregate, *Distinct, *Lock, *TransactionApply:
		return n, map[propKey]fetched{} // what was read before the lock may be out of date
	case *Apply:
		if n.Kind == Optional || n.Kind == Inner || n.Kind == Unit {
			return n, avail
		}
	case *Argument:
		return n, map[propKey]fetched{}
	}
	return n, avail
}

func (l *lateProps) replace(n Node, i int, c Node) {
	if i == 0 {
		if u, ok := n.(*Union); ok {
			u.Inputs[0] = c
			return
		}
		setChild(n, c)
		return
	}
	switch n := n.(type) {
	case *Apply:
		n.Right = c
	case *TransactionApply:
		n.Right = c
	case *CartesianProduct:
		n.Right = c
	case *HashJoin:
		n.Right = c
	case *Merge:
		n.Right = c
	case *Foreach:
		n.Body = c
	case *Union:
		n.Inputs[i] = c
	}
}

// fetchFor puts the PropFetches below n that its expressions need and makes them read the columns.
func (l *lateProps) fetchFor(n Node, avail map[propKey]fetched) Node {
	keys, cols, ents := l.needs(n)
	if len(keys) == 0 {
		return n
	}
	in := child(n)
	if in == nil {
		return n // a leaf with nothing below: its values read no row
	}
	cid := n.Info().CID
	cid.Write, cid.Own = 0, false
	var fetch []*PropFetch
	bySlot := map[Slot]*PropFetch{}
	add := func(k propKey, col *expr.Col, ent schema.Entity) {
		if f, ok := avail[k]; ok && f.cid == cid {
			return
		}
		pf := bySlot[k.slot]
		if pf == nil {
			pf = &PropFetch{Base: Base{Est: in.Info().Est, CID: cid, Clause: n.Info().Clause}, Entity: ent, Of: k.slot, Hint: col.Hint}
			bySlot[k.slot] = pf
			fetch = append(fetch, pf)
		}
		slot := l.p.slot(col.Name+"."+k.key, AnyValue)
		pf.Reads = append(pf.Reads, Read{Key: k.key, Slot: slot})
		avail[k] = fetched{slot, cid}
	}
	for _, k := range keys {
		add(k, cols[k], ents[k])
	}
	// In the same visit what operators above will want, unless most rows are about to go.
	selective := false
	if f, ok := n.(*Filter); ok && in.Info().Est > 0 {
		selective = f.Est/in.Info().Est < 0.3
	}
	switch n.(type) {
	case *Aggregate, *Distinct, *TopN, *Sort:
		selective = true
	}
	if !selective {
		for _, k := range l.order[n] {
			if pf := bySlot[k.slot]; pf != nil {
				add(k, &expr.Col{Hint: pf.Hint, Name: l.name(k.slot)}, pf.Entity)
			}
		}
	}
	for _, pf := range fetch {
		pf.Child = in
		in = pf
	}
	if len(fetch) > 0 {
		setChild(n, in)
	}
	exprs(n, func(e *expr.Expr, own bool) {
		if own {
			return
		}
		*e = bind.RewriteTop(*e, func(x expr.Expr) (expr.Expr, bool) {
			if k, _, ok := l.entityProp(x); ok {
				if f, ok := avail[k]; ok && f.cid == cid {
					pos, end := x.Span()
					return &expr.Col{Base: expr.Base{Pos: pos, End: end, T: x.Type()}, Slot: f.col, Hint: NoSlot, Name: l.name(k.slot) + "." + k.key}, true
				}
			}
			return x, false
		})
	})
	return n
}

func (l *lateProps) name(slot Slot) string { return l.p.q.Slots[slot].Name }
