package plan

import (
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
)

// exprs calls f with the place of every expression of n. own tells that the expression reads what the clause itself writes, or what
// the operator makes while it runs, so a property must not be fetched before the operator.
func exprs(n Node, f func(e *expr.Expr, own bool)) {
	one := func(e *expr.Expr, own bool) {
		if *e != nil {
			f(e, own)
		}
	}
	list := func(es []expr.Expr, own bool) {
		for i := range es {
			one(&es[i], own)
		}
	}
	items := func(is []Item) {
		for i := range is {
			one(&is[i].Expr, false)
		}
	}
	create := func(is []CreateItem, own bool) {
		for i := range is {
			o := own || is[i].ReadsOwn
			for j := range is[i].Props {
				one(&is[i].Props[j].Val, o)
			}
			one(&is[i].Map, o)
			one(&is[i].Names, o)
		}
	}
	sets := func(is []SetItem, own bool) {
		for i := range is {
			one(&is[i].Target, own)
			one(&is[i].KeyExp, own)
			one(&is[i].Val, own)
		}
	}
	switch n := n.(type) {
	case *IndexSeek:
		list(n.Eq, false)
		one(&n.Lower, false)
		one(&n.Upper, false)
		one(&n.Prefix, false)
	case *ByID:
		one(&n.ID, false)
	case *Expand:
		one(&n.Pred, true)
	case *VarExpand:
		one(&n.RelPred, true)
		one(&n.NodePred, true)
		if n.Iter != nil {
			for i := range n.Iter.Hops {
				one(&n.Iter.Hops[i].Pred, true)
			}
		}
	case *ShortestPath:
		one(&n.RelPred, true)
		one(&n.NodePred, true)
	case *PathSearch:
		for i := range n.Segs {
			one(&n.Segs[i].Gate, true)
			for j := range n.Segs[i].Hops {
				one(&n.Segs[i].Hops[j].Pred, true)
			}
		}
		one(&n.Count, true)
		one(&n.Whole, true)
	case *Filter:
		list(n.Preds, false)
	case *Project:
		items(n.Items)
	case *Unwind:
		one(&n.List, false)
	case *LoadCSV:
		one(&n.From, false)
	case *Aggregate:
		items(n.Keys)
		for i := range n.Aggs {
			var e expr.Expr = n.Aggs[i].Call
			f(&e, false)
			n.Aggs[i].Call = e.(*expr.Agg)
		}
	case *Distinct:
		items(n.Keys)
	case *TopN:
		one(&n.Skip, true)
		one(&n.Limit, true)
	case *Skip:
		one(&n.Count, true)
	case *Limit:
		one(&n.Count, true)
	case *HashJoin:
		for i := range n.Keys {
			one(&n.Keys[i].Left, true)
			one(&n.Keys[i].Right, true)
		}
	case *Create:
		create(n.Items, false)
	case *Lock:
		for i := range n.Targets {
			list(n.Targets[i].Recheck, true)
		}
	case *Set:
		sets(n.Items, n.RowByRow)
	case *Delete:
		list(n.Exprs, false)
	case *Merge:
		for i := range n.Locks {
			for j := range n.Locks[i].Keys {
				one(&n.Locks[i].Keys[j].Val, true)
			}
			one(&n.Locks[i].Names, true)
		}
		create(n.Create, true)
		for i := range n.NullCheck {
			one(&n.NullCheck[i].Val, true)
		}
		sets(n.OnCreate, true)
		sets(n.OnMatch, true)
	case *TransactionApply:
		one(&n.BatchRows, true)
	case *Foreach:
		one(&n.List, false)
	case *ProcedureCall:
		list(n.Args, false)
	case *Show:
		list(n.Args, true)
	}
}

// reads adds the slots that an expression reads of its row, those of sub-plans included.
func (s *slotSet) reads(e expr.Expr) {
	if e == nil {
		return
	}
	lambda := lambdas(e)
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Col:
			if !lambda.has(x.Slot) {
				s.add(x.Slot, x.Hint)
			}
		case *expr.HasLabels:
			s.add(x.Hint)
		case *expr.Subplan:
			for _, f := range x.Free {
				if !lambda.has(f) {
					s.add(f)
				}
			}
		}
		return true
	})
}

// lambdas are the slots that variables inside e take.
func lambdas(e expr.Expr) slotSet {
	out := slotSet{}
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.ListComp:
			out.add(x.Slot)
		case *expr.Quantifier:
			out.add(x.Slot)
		case *expr.Reduce:
			out.add(x.Slot, x.AccSlot)
		}
		return true
	})
	return out
}

// subplans calls f for the sub-plans of e that were planned.
func subplans(e expr.Expr, f func(*expr.Subplan, *Subplan)) {
	expr.Walk(e, func(x expr.Expr) bool {
		if s, ok := x.(*expr.Subplan); ok {
			if p, ok := s.Plan.(*Subplan); ok {
				f(s, p)
			}
		}
		return true
	})
}

// subqueries calls f for the bound subqueries of e.
func subqueries(e expr.Expr, f func(*expr.Subplan, *bind.Subquery)) {
	if e == nil {
		return
	}
	expr.Walk(e, func(x expr.Expr) bool {
		if s, ok := x.(*expr.Subplan); ok {
			if q, ok := s.Plan.(*bind.Subquery); ok {
				f(s, q)
			}
		}
		return true
	})
}

// setChild replaces the single input of an operator (the left one of an Apply, join or Merge).
func setChild(n, c Node) {
	switch n := n.(type) {
	case *AllNodesScan:
		n.Child = c
	case *LabelScan:
		n.Child = c
	case *RelTypeScan:
		n.Child = c
	case *IndexSeek:
		n.Child = c
	case *ByID:
		n.Child = c
	case *Expand:
		n.Child = c
	case *ProjectEndpoints:
		n.Child = c
	case *VarExpand:
		n.Child = c
	case *ShortestPath:
		n.Child = c
	case *PathSearch:
		n.Child = c
	case *ProjectPath:
		n.Child = c
	case *Filter:
		n.Child = c
	case *Project:
		n.Child = c
	case *PropFetch:
		n.Child = c
	case *Unwind:
		n.Child = c
	case *LoadCSV:
		n.Child = c
	case *Aggregate:
		n.Child = c
	case *Distinct:
		n.Child = c
	case *Sort:
		n.Child = c
	case *TopN:
		n.Child = c
	case *Skip:
		n.Child = c
	case *Limit:
		n.Child = c
	case *Eager:
		n.Child = c
	case *Create:
		n.Child = c
	case *Lock:
		n.Child = c
	case *Set:
		n.Child = c
	case *Delete:
		n.Child = c
	case *Foreach:
		n.Child = c
	case *ProcedureCall:
		n.Child = c
	case *ProduceResults:
		n.Child = c
	case *EmptyRows:
		n.Child = c
	case *Apply:
		n.Left = c
	case *TransactionApply:
		n.Left = c
	case *CartesianProduct:
		n.Left = c
	case *HashJoin:
		n.Left = c
	case *Merge:
		n.Left = c
	}
}

// child returns the input that setChild replaces, or nil.
func child(n Node) Node {
	if u, ok := n.(*Union); ok {
		_ = u
		return nil
	}
	if c := n.Children(); len(c) > 0 {
		if _, leaf := n.(*Argument); !leaf {
			return c[0]
		}
	}
	return nil
}

// walk calls f for n and all operators below it, sub-plans of expressions included, inputs after their reader.
func walk(n Node, f func(Node)) {
	f(n)
	for _, c := range n.Children() {
		walk(c, f)
	}
	exprs(n, func(e *expr.Expr, _ bool) {
		subplans(*e, func(_ *expr.Subplan, p *Subplan) { walk(p.Root, f) })
	})
}

// Walk calls f for every operator of the plan.
func (q *Query) Walk(f func(Node)) { walk(q.Root, f) }
