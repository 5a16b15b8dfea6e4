package plan

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
)

// finish drops what nothing reads, fills Base.Out, the arguments of right sides and the free slots of sub-plans, and numbers the operators.
func (p *planner) finish() {
	l := &liveness{p: p}
	p.q.Root = l.visit(p.q.Root, slotSet{}, nil)
	l.hints(p.q.Root, slotSet{})
	id := 0
	p.q.Walk(func(n Node) {
		n.Info().ID = id
		id++
	})
	p.q.Nodes = id
}

type liveness struct{ p *planner }

// args collects what the Arguments of one right side must yield.
type args struct {
	nodes []*Argument
	need  slotSet
}

// visit handles n given the slots read above it; a belongs to the right side that n is part of. It returns the operator to use instead of n.
func (l *liveness) visit(n Node, need slotSet, a *args) Node {
	// Operators without effect are left out.
	switch x := n.(type) {
	case *ProjectPath:
		if !need.has(x.Path) {
			return l.visit(x.Child, need, a)
		}
	case *Project:
		var items []Item
		for _, it := range x.Items {
			if need.has(it.Slot) || raises(it.Expr) {
				items = append(items, it)
			}
		}
		if len(items) == 0 {
			return l.visit(x.Child, need, a)
		}
		x.Items = items
	case *PropFetch:
		var reads []Read
		for _, r := range x.Reads {
			if need.has(r.Slot) {
				reads = append(reads, r)
			}
		}
		if len(reads) == 0 {
			return l.visit(x.Child, need, a)
		}
		x.Reads = reads
	case *Expand:
		if !need.has(x.Rel) && x.RelHint != NoSlot && !need.has(x.RelHint) && !(x.Pred != nil && (reads(x.Pred, x.Rel) || reads(x.Pred, x.RelHint))) {
			x.Rel, x.RelHint = NoSlot, NoSlot
		}
	case *VarExpand:
		if x.Iter != nil {
			for i := range x.Iter.Groups {
				if gr := &x.Iter.Groups[i]; !need.has(gr.Slot) {
					gr.Slot = NoSlot
				}
			}
		}
		if !need.has(x.Rels) && x.Rels != NoSlot {
			x.Rels = NoSlot
			if x.prune {
				x.Mode = Endpoints
			}
		}
	case *LoadCSV:
		if !need.has(x.Line) {
			x.Line = NoSlot
		}
		if !need.has(x.File) {
			x.File = NoSlot
		}
	case *PathSearch:
		x.prune(need)
	case *ShortestPath:
		if !need.has(x.Rels) {
			x.Rels = NoSlot
		}
		if !need.has(x.Path) {
			x.Path = NoSlot
		}
	}
	out := clone(need)
	b := n.Info()
	b.Out = sorted(out)

	// What n reads itself.
	own := slotSet{}
	exprs(n, func(e *expr.Expr, _ bool) {
		subplans(*e, func(s *expr.Subplan, sp *Subplan) {
			sub := &args{need: slotSet{}}
			top := slotSet{}
			top.add(sp.RowID, sp.From)
			sp.Root = l.visit(sp.Root, top, sub)
			sp.Args = l.close(sub, sp.RowID)
			sp.Shared = l.p.shared(sp.Root)
			s.Free = sp.Args
		})
		own.reads(*e)
	})
	defs := slotSet{}
	switch x := n.(type) {
	case *SingleRow, *CountStore, *SchemaCommand, *Show:
		return n
	case *Argument:
		a.nodes = append(a.nodes, x)
		for s := range need.all() {
			if s != x.RowID {
				a.need.add(s)
			}
		}
		return n
	case *AllNodesScan:
		defs.add(x.Node, x.Hint)
	case *LabelScan:
		defs.add(x.Node, x.Hint)
	case *RelTypeScan:
		defs.add(x.Rel, x.RelHint, x.Start, x.End)
	case *IndexSeek:
		defs.add(x.Node, x.Hint, x.Start, x.End)
	case *ByID:
		defs.add(x.Node, x.Hint, x.Start, x.End)
	case *Expand:
		defs.add(x.Rel, x.RelHint)
		if !x.Into {
			defs.add(x.To, x.ToHint)
		}
		own.add(x.From)
		if x.Into {
			own.add(x.To)
		}
		own.add(x.Unique...)
		own.remove(defs)
	case *ProjectEndpoints:
		own.add(x.Rel)
		for _, e := range []struct {
			s     Slot
			bound bool
		}{{x.Start, x.StartBound}, {x.End, x.EndBound}} {
			if e.bound {
				own.add(e.s)
			} else {
				defs.add(e.s)
			}
		}
		own.add(x.Unique...)
	case *VarExpand:
		defs.add(x.Rels)
		own.drop(x.StepRel, x.StepNode)
		l.dropHint(&own, x.StepRel)
		l.dropHint(&own, x.StepNode)
		if x.Iter != nil {
			for _, s := range x.Iter.slots() {
				own.drop(s)
				l.dropHint(&own, s)
			}
			for _, gr := range x.Iter.Groups {
				defs.add(gr.Slot)
			}
		}
		own.add(x.From, x.BoundRels)
		if x.Into {
			own.add(x.To)
		} else {
			defs.add(x.To, x.ToHint)
		}
		own.add(x.Unique...)
	case *PathSearch:
		x.binds(&defs)
		x.local(l, &own)
		own.remove(defs)
		own.add(x.From)
		if x.Into {
			own.add(x.To)
		}
		own.add(x.Unique...)
	case *ShortestPath:
		defs.add(x.Rels, x.Path, x.Length)
		own.drop(x.StepRel, x.StepNode)
		l.dropHint(&own, x.StepRel)
		l.dropHint(&own, x.StepNode)
		own.add(x.From, x.To)
		own.add(x.Unique...)
	case *ProjectPath:
		defs.add(x.Path)
		for _, pp := range x.Parts {
			own.add(pp.Node, pp.Rel, pp.Rels)
		}
	case *Project:
		for _, it := range x.Items {
			defs.add(it.Slot)
		}
	case *PropFetch:
		for _, r := range x.Reads {
			defs.add(r.Slot)
		}
		own.add(x.Of, x.Hint)
	case *Unwind:
		defs.add(x.Var)
	case *LoadCSV:
		defs.add(x.Var, x.Line, x.File)
	case *Aggregate:
		// Only keys, aggregates and the row id go on; hints end here.
		for _, k := range x.Keys {
			defs.add(k.Slot)
		}
		for _, g := range x.Aggs {
			defs.add(g.Slot)
		}
		own.add(x.Part...)
		b.Out = l.only(need, defs, x.Part)
		x.Child = l.visit(x.Child, own, a)
		return n
	case *Distinct:
		for _, k := range x.Keys {
			defs.add(k.Slot)
		}
		own.add(x.Part...)
		b.Out = l.only(need, defs, x.Part)
		x.Child = l.visit(x.Child, own, a)
		return n
	case *Sort:
		for _, k := range x.Keys {
			own.add(k.Slot)
		}
		own.add(x.Part...)
	case *TopN:
		for _, k := range x.Keys {
			own.add(k.Slot)
		}
		own.add(x.Part...)
	case *Skip:
		own.add(x.Part...)
	case *Limit:
		own.add(x.Part...)
	case *Union:
		for i := range x.Inputs {
			in := slotSet{}
			for c := range x.Cols {
				in.add(x.From[i][c])
			}
			x.Inputs[i] = l.visit(x.Inputs[i], in, a)
		}
		b.Out = l.only(need, setOf(x.Cols), nil)
		return n
	case *TransactionApply:
		l.visit(&x.Apply, need, a)
		return n
	case *Apply:
		sub := &args{need: slotSet{}}
		top := slotSet{}
		right := slotSet{}
		produced(x.Right, &right)
		for s := range need.all() {
			if right.has(s) {
				top.add(s)
			}
		}
		top.add(x.RowID, x.From)
		x.Right = l.visit(x.Right, top, sub)
		x.Args = l.close(sub, x.RowID)
		switch x.Kind {
		case Semi, Anti, LetSemi, LetCount, RollUp:
			x.Shared = !x.PerRow && !x.Exhaustive && l.p.shared(x.Right)
		}
		left := slotSet{}
		for s := range need.all() {
			if !right.has(s) && s != x.Slot {
				left.add(s)
			}
		}
		left.add(x.Args...)
		x.Left = l.visit(x.Left, left, a)
		if len(x.Nulls) > 0 {
			var nulls []Slot
			for _, s := range x.Nulls {
				if need.has(s) {
					nulls = append(nulls, s)
				}
			}
			x.Nulls = nulls
		}
		return n
	case *Merge:
		sub := &args{need: slotSet{}}
		top := slotSet{}
		top.add(x.RowID)
		binds := slotSet{}
		for _, s := range x.Binds {
			top.add(s)
			binds.add(s)
			if h := l.p.q.Slots[s].Hint; h != NoSlot {
				top.add(h)
				binds.add(h)
			}
		}
		x.Right = l.visit(x.Right, top, sub)
		x.Args = l.close(sub, x.RowID)
		for _, it := range x.Create {
			own.add(it.Start, it.End)
		}
		for _, s := range append(append([]SetItem(nil), x.OnCreate...), x.OnMatch...) {
			own.add(s.Slot, s.Hint)
		}
		left := clone(need)
		for s := range own.all() {
			left.add(s)
		}
		left.add(x.Args...)
		for s := range binds.all() {
			left.drop(s)
		}
		x.Left = l.visit(x.Left, left, a)
		return n
	case *CartesianProduct:
		right := slotSet{}
		produced(x.Right, &right)
		x.Left = l.visit(x.Left, minus(need, right), a)
		x.Right = l.visit(x.Right, both(need, right), nil)
		return n
	case *HashJoin:
		right := slotSet{}
		produced(x.Right, &right)
		lneed, rneed := minus(need, right), both(need, right)
		if x.Kind == JoinSemi || x.Kind == JoinAnti {
			lneed, rneed = clone(need), slotSet{}
		}
		for _, k := range x.Keys {
			lneed.reads(k.Left)
			rneed.reads(k.Right)
		}
		x.Left = l.visit(x.Left, lneed, a)
		x.Right = l.visit(x.Right, rneed, nil)
		return n
	case *Create:
		for _, it := range x.Items {
			own.add(it.Start, it.End)
		}
		for _, it := range x.Items {
			defs.add(it.Slot, it.Hint)
			own.drop(it.Slot, it.Hint)
		}
	case *Lock:
		for _, t := range x.Targets {
			own.add(t.Slot, t.Hint)
		}
	case *Set:
		for _, s := range x.Items {
			own.add(s.Slot, s.Hint)
		}
	case *Foreach:
		sub := &args{need: slotSet{}}
		x.Body = l.visit(x.Body, slotSet{}, sub)
		sub.need.drop(x.Var)
		x.Args = l.close2(sub, NoSlot, x.Var)
		own.add(x.Args...)
	case *ProcedureCall:
		for _, y := range x.Yields {
			defs.add(y.Slot)
		}
	case *ProduceResults:
		own.add(x.Cols...)
		for _, s := range x.Cols {
			own.add(l.p.q.Slots[s].Hint)
		}
		b.Out = append([]Slot(nil), x.Cols...)
	}
	c := child(n)
	if c == nil {
		return n
	}
	down := minus(out, defs)
	for s := range own.all() {
		down.add(s)
	}
	// A leaf's own column is not asked of its input.
	setChild(n, l.visit(c, down, a))
	return n
}

// dropHint removes the hint of a slot from what is read.
func (l *liveness) dropHint(s *slotSet, slot Slot) {
	if slot != NoSlot {
		if h := l.p.q.Slots[slot].Hint; h != NoSlot {
			s.drop(h)
		}
	}
}

// only lists the slots of need that are in defs or part.
func (l *liveness) only(need, defs slotSet, part []Slot) []Slot {
	out := both(need, defs)
	out.add(part...)
	return sorted(out)
}

// close gives every Argument of a right side what the side needs from outside.
func (l *liveness) close(a *args, rowID Slot) []Slot { return l.close2(a, rowID, NoSlot) }

// close2 is close for the body of FOREACH, whose variable the operator itself provides.
func (l *liveness) close2(a *args, rowID, extra Slot) []Slot {
	a.need.drop(rowID)
	out := sorted(a.need)
	for _, n := range a.nodes {
		n.Args = out
		if extra != NoSlot {
			n.Args = sorted(setOf(append(append([]Slot(nil), out...), extra)))
		}
		n.Out = n.Args
		if n.RowID != NoSlot {
			n.Out = sorted(setOf(append(append([]Slot(nil), n.Args...), n.RowID)))
		}
	}
	return out
}

// shared reports whether rows that agree in what a right side reads may share its answer: it gives the same whenever it is asked.
func (p *planner) shared(right Node) bool {
	if !p.opt.on(RuleShare) {
		return false
	}
	same := true
	walk(right, func(n Node) {
		switch n.(type) {
		case *Create, *Merge, *Set, *Delete, *Foreach, *Lock, *TransactionApply, *ProcedureCall, *LoadCSV, *External, *SchemaCommand, *Show:
			same = false
			return
		}
		exprs(n, func(e *expr.Expr, _ bool) { same = same && stable(*e) })
	})
	return same
}

// produced collects the slots that a tree binds itself, those of its Arguments not included.
func produced(n Node, s *slotSet) {
	producedBy(n, s)
	switch x := n.(type) {
	case *TransactionApply:
		produced(&x.Apply, s)
	case *Apply:
		if x.Kind == Inner || x.Kind == Optional {
			produced(x.Right, s)
		}
		produced(x.Left, s)
	case *HashJoin:
		if x.Kind == JoinInner || x.Kind == JoinLeft {
			produced(x.Right, s)
		}
		produced(x.Left, s)
	case *Merge:
		produced(x.Left, s)
	case *Foreach:
		produced(x.Child, s)
	case *Union:
	default:
		for _, c := range n.Children() {
			produced(c, s)
		}
	}
}

// producedBy adds the slots that one operator binds.
func producedBy(n Node, s *slotSet) {
	switch x := n.(type) {
	case *AllNodesScan:
		s.add(x.Node, x.Hint)
	case *LabelScan:
		s.add(x.Node, x.Hint)
	case *RelTypeScan:
		s.add(x.Rel, x.RelHint, x.Start, x.End)
	case *IndexSeek:
		s.add(x.Node, x.Hint, x.Start, x.End)
	case *ByID:
		s.add(x.Node, x.Hint, x.Start, x.End)
	case *CountStore:
		s.add(x.Out1)
	case *Expand:
		s.add(x.Rel, x.RelHint)
		if !x.Into {
			s.add(x.To, x.ToHint)
		}
	case *ProjectEndpoints:
		if !x.StartBound {
			s.add(x.Start)
		}
		if !x.EndBound {
			s.add(x.End)
		}
	case *VarExpand:
		s.add(x.Rels)
		if x.Iter != nil {
			for _, g := range x.Iter.Groups {
				s.add(g.Slot)
			}
		}
		if !x.Into {
			s.add(x.To, x.ToHint)
		}
	case *PathSearch:
		x.binds(s)
	case *ShortestPath:
		s.add(x.Rels, x.Path, x.Length)
	case *ProjectPath:
		s.add(x.Path)
	case *Project:
		for _, it := range x.Items {
			s.add(it.Slot)
		}
	case *PropFetch:
		for _, r := range x.Reads {
			s.add(r.Slot)
		}
	case *Unwind:
		s.add(x.Var)
	case *LoadCSV:
		s.add(x.Var, x.Line, x.File)
	case *Aggregate:
		for _, k := range x.Keys {
			if c, ok := k.Expr.(*expr.Col); !ok || c.Slot != k.Slot {
				s.add(k.Slot)
			}
		}
		for _, g := range x.Aggs {
			s.add(g.Slot)
		}
	case *Distinct:
		for _, k := range x.Keys {
			if c, ok := k.Expr.(*expr.Col); !ok || c.Slot != k.Slot {
				s.add(k.Slot)
			}
		}
	case *Union:
		s.add(x.Cols...)
	case *TransactionApply:
		producedBy(&x.Apply, s)
	case *Apply:
		if x.Slot != NoSlot {
			s.add(x.Slot)
		}
		s.add(x.Nulls...)
	case *Create:
		for _, it := range x.Items {
			s.add(it.Slot, it.Hint)
		}
	case *Merge:
		s.add(x.Binds...)
		for _, it := range x.Create {
			s.add(it.Hint)
		}
	case *ProcedureCall:
		for _, y := range x.Yields {
			s.add(y.Slot)
		}
	case *Show:
		for _, y := range x.Fields {
			s.add(y.Slot)
		}
	}
}

// raises reports whether an expression must be evaluated though nothing reads its value: it may raise.
func raises(e expr.Expr) bool {
	switch e := e.(type) {
	case *expr.Const, *expr.Param, *expr.Col:
		return false
	case *expr.Prop:
		return raises(e.Of)
	}
	return true
}

// hints takes out of Out and Args the hints that an operator below has dropped (Aggregate and Distinct keep none), and returns the slots that
// n's rows have. arg is what the enclosing right side passes down.
func (l *liveness) hints(n Node, arg slotSet) slotSet {
	slots := l.p.q.Slots
	keep := func(ss []Slot, have slotSet) []Slot {
		out := ss[:0:0]
		for _, s := range ss {
			if slots[s].Kind != HintWord || have.has(s) {
				out = append(out, s)
			}
		}
		return out
	}
	b := n.Info()
	have := slotSet{}
	join := func(s slotSet) {
		have.join(s)
	}
	subs := func() {
		exprs(n, func(e *expr.Expr, _ bool) {
			subplans(*e, func(s *expr.Subplan, sp *Subplan) {
				sp.Args = keep(sp.Args, have)
				s.Free = sp.Args
				l.hints(sp.Root, setOf(sp.Args))
			})
		})
	}
	switch x := n.(type) {
	case *Argument:
		x.Args = keep(x.Args, arg)
		b.Out = keep(b.Out, arg)
		have.add(x.Args...)
		have.add(x.RowID)
		return have
	case *Union:
		for _, c := range x.Inputs {
			l.hints(c, arg)
		}
		return setOf(x.Cols)
	case *TransactionApply:
		return l.hints(&x.Apply, arg)
	case *Apply:
		join(l.hints(x.Left, arg))
		x.Args = keep(x.Args, have)
		r := l.hints(x.Right, setOf(x.Args))
		if x.Kind == Inner || x.Kind == Optional {
			join(r)
		}
		have.add(x.Slot)
		have.add(x.Nulls...)
		b.Out = keep(b.Out, have)
		return have
	case *Merge:
		join(l.hints(x.Left, arg))
		x.Args = keep(x.Args, have)
		l.hints(x.Right, setOf(x.Args))
		have.add(x.Binds...)
		for _, it := range x.Create {
			have.add(it.Hint)
		}
		b.Out = keep(b.Out, have)
		return have
	case *Foreach:
		join(l.hints(x.Child, arg))
		x.Args = keep(x.Args, have)
		in := setOf(x.Args)
		in.add(x.Var)
		l.hints(x.Body, in)
		subs()
		b.Out = keep(b.Out, have)
		return have
	}
	for i, c := range n.Children() {
		if h := l.hints(c, arg); i == 0 {
			have = h // the set is ours to add to
		} else {
			join(h)
		}
	}
	subs()
	switch n.(type) {
	case *Aggregate, *Distinct:
		return setOf(b.Out)
	}
	one := slotSet{}
	producedBy(n, &one)
	join(one)
	b.Out = keep(b.Out, have)
	return have
}
