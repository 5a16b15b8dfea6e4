package plan

import (
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// searcher makes a PathSearch of a path with a selector.
type searcher struct {
	b    *builder
	r    *grel
	sel  *bind.Selection
	back bool
	into bool
	n    *PathSearch

	segs  []PathSegment // in the pattern's order
	nodes []*bind.Var   // in front of and behind the segments
	ins   map[Slot]int  // slots of the inside: junction i at 2i, single relationship of segment i at 2i+1
	hop   [][]expr.Expr // conditions on a single relationship and its ends, by segment
	gate  [][]expr.Expr // on junctions, by the segment behind them
	start []expr.Expr   // on the vertex where the walk begins
	whole []expr.Expr
	row   bool // some condition reads a variable of the row
}

// search plans a path with a selector as a search by length; nil where the pattern ties its inside to itself or to relationships of the row.
func (b *builder) search(s *stream, st *state, uniq []Slot) *stream {
	p := b.g.p
	r := &b.g.rels[st.step.i]
	x := &searcher{b: b, r: r, sel: r.Sel, back: st.step.back, into: st.step.kind == stepInto, ins: map[Slot]int{}}
	x.n = &PathSearch{Base: p.base(st.made), Child: s.root, From: r.Left.Slot, To: r.Right.Slot, ToHint: r.Right.Hint, Into: x.into, Reversed: x.back,
		Count: p.expr(r.Sel.Count), Rels: r.Var.Slot, Path: r.Sel.Path.Slot, Unique: uniq}
	if x.back {
		x.n.From, x.n.To, x.n.ToHint = r.Right.Slot, r.Left.Slot, r.Left.Hint
	}
	if x.into {
		x.n.ToHint = NoSlot
	}
	if r.Sel.Kind == bind.SelectGroups {
		x.n.Kind = GroupsByLength
	}
	if !x.segments(s) {
		return nil
	}
	x.conditions(s)
	x.finish()
	if len(x.start) > 0 {
		s = p.filter(s, x.start)
		x.n.Child = s.root
	}
	out := s.with(x.n)
	out.bound = clone(s.bound)
	out.bound.add(r.Left.Slot, r.Right.Slot)
	for _, v := range r.Binds() {
		out.bound.add(v.Slot)
	}
	if !x.into {
		out.extend(r.Left.Root.Slot)
		out.extend(r.Right.Root.Slot)
	}
	out.extend(r.Sel.Path.Root.Slot)
	return b.solved(out, st.step.i, false)
}

// segments takes the pattern apart.
func (x *searcher) segments(s *stream) bool {
	p, rels := x.b.g.p, x.sel.Pattern.Rels
	x.nodes = append(x.nodes, rels[0].Left)
	for i, q := range rels {
		if q.Bound || q.Left != x.nodes[i] {
			return false
		}
		seg := PathSegment{Min: 1, Max: 1, GateSlot: NoSlot}
		switch {
		case q.Iter != nil:
			seg.Iteration, seg.Min, seg.Max = *p.iteration(q.Iter, x.back), q.Min, q.Max
			for _, g := range q.Iter.Groups {
				x.n.Vars = append(x.n.Vars, PathVar{Slot: g.Var.Slot, Seg: i, Rel: g.Rel, At: g.At})
			}
			x.reads(s, q.Iter.Preds)
		default:
			h := Hop{Types: q.Types, Dir: q.Dir, Rel: q.Var.Slot, Node: NoSlot}
			if x.back && h.Dir != store.Both {
				h.Dir = 1 - h.Dir
			}
			seg.First = NoSlot
			if q.VarLen {
				seg.Min, seg.Max = q.Min, q.Max
				if h.Rel = NoSlot; q.Step != nil {
					h.Rel = q.Step.Slot
				}
				h.Pred = p.and(q.StepPreds)
				x.reads(s, q.StepPreds)
			} else {
				x.ins[q.Var.Slot] = 2*i + 1
			}
			if q.Var != x.r.Var {
				x.n.Vars = append(x.n.Vars, PathVar{Slot: q.Var.Slot, Seg: i, Rel: true, One: !q.VarLen})
			}
			seg.Hops = []Hop{h}
		}
		x.segs, x.nodes = append(x.segs, seg), append(x.nodes, q.Right)
		if i+1 < len(rels) {
			v := q.Right
			if _, twice := x.ins[v.Slot]; twice || s.bound.has(v.Slot) || v == x.r.Left || v == x.r.Right {
				return false
			}
			x.ins[v.Slot] = 2 * (i + 1)
			x.n.Vars = append(x.n.Vars, PathVar{Slot: v.Slot, Seg: i + 1, One: true})
		}
	}
	x.hop, x.gate = make([][]expr.Expr, len(rels)), make([][]expr.Expr, len(rels))
	return true
}

// reads notes whether conditions read a variable of the row other than where the search begins.
func (x *searcher) reads(s *stream, es []expr.Expr) {
	r := slotSet{}
	for _, e := range es {
		r.reads(e)
	}
	for v := range r.all() {
		if s.bound.has(v) && v != x.n.From {
			x.row = true
		}
	}
}

// conditions puts each condition where it can be tested first.
func (x *searcher) conditions(s *stream) {
	p, preds := x.b.g.p, x.sel.Pattern.Preds
	if q := x.sel.Pattern.Rels[0]; len(x.segs) == 1 && q.VarLen && q.Iter == nil {
		from := x.r.Left
		if x.back {
			from = x.r.Right
		}
		c := p.stepConditions(x.sel, q, from, func(v Slot) bool { return s.bound.has(v) || p.hintOfBound(v, s.bound) })
		tests := append(c.rel, c.node...)
		h := &x.segs[0].Hops[0]
		h.Rel, h.Node, h.Pred = c.relSlot, c.nodeSlot, p.and(tests)
		x.reads(s, tests)
		x.start, preds = c.start, c.whole
	}
	for _, e := range preds {
		x.reads(s, []expr.Expr{e})
		r := slotSet{}
		r.reads(e)
		lo, hi, other := 1<<30, -1, false
		for v := range r.all() {
			switch at, inside := x.ins[v]; {
			case inside:
				lo, hi = min(lo, at), max(hi, at)
			case v == x.n.To && !x.into, !s.bound.has(v) && !x.hint(v, s):
				other = true
			}
		}
		switch {
		case other || hi < 0:
			x.whole = append(x.whole, e)
		case lo == hi && lo%2 == 0:
			x.gate[lo/2] = append(x.gate[lo/2], e)
		default:
			// A single relationship, with its ends.
			i := (lo - lo%2) / 2
			if hi > 2*i+2 || x.sel.Pattern.Rels[i].VarLen {
				x.whole = append(x.whole, e)
				continue
			}
			x.hop[i] = append(x.hop[i], e)
		}
	}
}

// hint reports whether a slot is the hint of something that is there.
func (x *searcher) hint(v Slot, s *stream) bool {
	for in := range x.ins {
		if x.b.g.p.q.Slots[in].Hint == v {
			return true
		}
	}
	return x.b.g.p.hintOfBound(v, s.bound)
}

// finish puts segments and conditions into the order in which they are walked.
func (x *searcher) finish() {
	p, n := x.b.g.p, len(x.segs)
	for i := range x.segs {
		seg := &x.segs[i]
		if len(x.hop[i]) > 0 {
			h := &seg.Hops[0]
			seg.First, h.Node = x.nodes[i].Slot, x.nodes[i+1].Slot
			if x.back {
				seg.First, h.Node = h.Node, seg.First
			}
			p.sortPreds(x.hop[i])
			h.Pred = p.and(x.hop[i])
		}
	}
	for i := range x.segs {
		w := i
		if x.back {
			w = n - 1 - i
		}
		seg := x.segs[w]
		// The junction in front of segment i of the walk.
		j := w
		if x.back {
			j = w + 1
		}
		if j < n && len(x.gate[j]) > 0 {
			p.sortPreds(x.gate[j])
			seg.Gate, seg.GateSlot = p.and(x.gate[j]), x.nodes[j].Slot
		}
		x.n.Segs = append(x.n.Segs, seg)
	}
	p.sortPreds(x.whole)
	x.n.Whole, x.n.Shared = p.and(x.whole), !x.row && len(x.n.Unique) == 0
}

// binds adds the slots that a PathSearch fills.
func (n *PathSearch) binds(s *slotSet) {
	s.add(n.Rels, n.Path)
	for _, v := range n.Vars {
		s.add(v.Slot)
	}
	if !n.Into {
		s.add(n.To, n.ToHint)
	}
}

// prune drops what neither need nor its own condition reads.
func (n *PathSearch) prune(need slotSet) {
	own := slotSet{}
	own.reads(n.Whole)
	if !need.has(n.Rels) && !own.has(n.Rels) {
		n.Rels = NoSlot
	}
	if !need.has(n.Path) && !own.has(n.Path) {
		n.Path = NoSlot
	}
	var keep []PathVar
	for _, v := range n.Vars {
		if need.has(v.Slot) || own.has(v.Slot) {
			keep = append(keep, v)
		}
	}
	n.Vars = keep
}

// local removes from what is read the slots that hold something only while a condition is tested.
func (n *PathSearch) local(l *liveness, own *slotSet) {
	drop := func(s Slot) {
		own.drop(s)
		l.dropHint(own, s)
	}
	for i := range n.Segs {
		for _, s := range n.Segs[i].slots() {
			drop(s)
		}
		drop(n.Segs[i].GateSlot)
	}
	for _, v := range n.Vars {
		drop(v.Slot)
	}
}
