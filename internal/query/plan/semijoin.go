package plan

import (
	"math"

	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// EXISTS and NOT EXISTS of a pattern as a hash join: (a) WHERE EXISTS { (a)-->(:B {k: 1}) } finds all (a)-->(:B {k: 1}) once and keeps the rows whose a is among
// them, where there are so many rows that to look from each costs more.
//
// The pattern is then found without the rows around it, also where no row would have led to it. That is the same answer only if
//   - the statement only reads: both sides see the same graph;
//   - nothing ties the pattern to the rows but vertices that both have and equalities of values; these are the keys. A null is no vertex of a pattern and equals
//     nothing, so it finds no partner: EXISTS is false, NOT EXISTS true;
//   - no condition can raise, whatever it is asked of.

// semiJoin is an EXISTS that may become a join.
type semiJoin struct {
	match *bind.Match // without the conditions that are keys
	keys  []JoinKey   // left: of the rows
}

// semiJoin reads a subquery as a join; nil if it cannot be one.
func (p *planner) semiJoin(q *bind.Subquery) *semiJoin {
	if !p.q.ReadOnly || p.part != NoSlot || !p.opt.on(RuleSemiJoin) || len(q.Query.Parts) != 1 || len(q.Query.Parts[0].Clauses) != 1 {
		return nil
	}
	m, ok := q.Query.Parts[0].Clauses[0].(*bind.Match)
	if !ok || m.Optional || len(m.Pattern.Paths) > 0 || len(m.Hints) > 0 || len(m.Pattern.Rels) > maxInner {
		return nil
	}
	outer, shared := slotSet{}, slotSet{}
	for _, v := range q.Free {
		outer.add(v.Slot, v.Hint)
	}
	j := &semiJoin{match: &bind.Match{Place: m.Place, Pattern: bind.Pattern{Nodes: m.Pattern.Nodes, Rels: m.Pattern.Rels}}}
	for _, n := range m.Pattern.Nodes {
		if !outer.has(n.Var.Slot) {
			continue
		}
		if n.Var.Kind != bind.NodeVar {
			return nil
		}
		shared.add(n.Var.Slot, n.Var.Hint)
		j.keys = append(j.keys, JoinKey{Left: n.Var.Col(-1, -1), Right: n.Var.Col(-1, -1)})
	}
	for _, r := range m.Pattern.Rels {
		if r.Bound || r.VarLen || r.Iter != nil || r.Sel != nil {
			return nil
		}
	}
	only := minus(outer, shared) // of the rows, and not of the pattern
	for _, e := range p.conjuncts(append(append([]expr.Expr(nil), m.Pattern.Preds...), m.Where...)) {
		reads := slotSet{}
		reads.reads(e)
		switch {
		case !calmTest(e):
			return nil
		case !reads.meets(only):
			j.match.Where = append(j.match.Where, e)
		default:
			k, ok := rowKey(e, outer, only)
			if !ok {
				return nil
			}
			j.keys = append(j.keys, k)
		}
	}
	if len(j.keys) == 0 {
		return nil
	}
	return j
}

// rowKey reads an equality between something of the rows and something of the pattern.
func rowKey(e expr.Expr, outer, only slotSet) (JoinKey, bool) {
	b, ok := e.(*expr.Binary)
	if !ok || b.Op != expr.OpEq {
		return JoinKey{}, false
	}
	for _, k := range [...]JoinKey{{b.L, b.R}, {b.R, b.L}} {
		l, r := slotSet{}, slotSet{}
		l.reads(k.Left)
		r.reads(k.Right)
		if outer.covers(l) && !r.meets(only) && !r.empty() {
			return k, true
		}
	}
	return JoinKey{}, false
}

// calmTest reports whether a condition is true, false or null and raises nothing.
func calmTest(e expr.Expr) bool {
	switch e := e.(type) {
	case *expr.HasLabels:
		_, ok := e.X.(*expr.Col)
		return ok
	case *expr.And:
		return allOf(e.Args, calmTest)
	case *expr.Or:
		return allOf(e.Args, calmTest)
	case *expr.Unary:
		switch e.Op {
		case expr.OpNot:
			return calmTest(e.X)
		case expr.OpIsNull, expr.OpIsNotNull:
			return calmValue(e.X)
		}
	case *expr.Binary:
		switch e.Op {
		case expr.OpEq, expr.OpNe, expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe, expr.OpStartsWith, expr.OpEndsWith, expr.OpContains:
			return calmValue(e.L) && calmValue(e.R)
		case expr.OpIn:
			l, ok := e.R.(*expr.ListLit)
			return ok && calmValue(e.L) && allOf(l.Elems, calmValue)
		}
	}
	return false
}

// calmValue reports whether a value is simply there: a constant, a parameter, a variable or a property of a vertex or relationship.
func calmValue(e expr.Expr) bool {
	switch e := e.(type) {
	case *expr.Const, *expr.Param, *expr.Col:
		return true
	case *expr.Prop:
		c, ok := e.Of.(*expr.Col)
		return ok && (c.Type().Is(expr.TNode.Kinds) || c.Type().Is(expr.TRel.Kinds))
	}
	return false
}

func allOf(es []expr.Expr, ok func(expr.Expr) bool) bool {
	for _, e := range es {
		if !ok(e) {
			return false
		}
	}
	return true
}

// pays compares the join with looking for the pattern from each of the rows.
func (j *semiJoin) pays(p *planner, rows float64, q *bind.Subquery) bool {
	alone := p.graph(p.start(&SingleRow{Base: p.base(1)}), []*bind.Match{j.match}, nil)
	if len(alone.comps) != 1 {
		return false // what a row has in common with one part only is better looked for from the row
	}
	if p.opt.Force {
		return true
	}
	if rows = min(rows, p.rowsWanted()); rows <= joinAbove {
		return false
	}
	alone.dup = true
	all := alone.search(&state{card: 1}, []int{0}, true)

	in := &stream{root: &Argument{Base: p.base(1)}, bound: slotSet{}, est: 1, one: true}
	for _, v := range q.Free {
		in.bound.add(v.Slot)
	}
	from := p.graph(in, []*bind.Match{q.Query.Parts[0].Clauses[0].(*bind.Match)}, nil)
	from.dup = true
	var comps []int
	for c := range from.comps {
		comps = append(comps, c)
	}
	one := from.search(&state{done: from.bound, card: 1}, comps, true)
	return 2*(all.cost+2*all.card*costJoinRow+rows*costJoinRow) < rows*one.cost
}

// rowsWanted bounds how many rows a LIMIT behind the clause at hand will pull, where conditions may drop some of them.
func (p *planner) rowsWanted() float64 {
	if p.ahead == nil {
		return math.Inf(1)
	}
	for _, c := range p.ahead.clauses {
		pr, ok := c.(*bind.Projection)
		if !ok {
			continue
		}
		if pr.Agg || pr.Distinct || len(pr.OrderBy) > 0 {
			break // all rows are wanted
		}
		if pr.Limit != nil {
			n := 100.0
			if v, ok := p.valueOf(pr.Limit); ok && v.Kind() == value.Int {
				n = float64(v.Int())
			}
			return 4 * p.wanted(pr.Skip, pr.Limit, n)
		}
	}
	return math.Inf(1)
}

// semiHashJoin puts the join above s.
func (p *planner) semiHashJoin(s *stream, j *semiJoin, anti bool) *stream {
	h := &HashJoin{Base: p.base(s.est * 0.5), Left: s.root, Right: p.semiSide(j), Kind: JoinSemi}
	if anti {
		h.Kind = JoinAnti
	}
	for _, k := range j.keys {
		h.Keys = append(h.Keys, JoinKey{Left: p.expr(k.Left), Right: p.expr(k.Right)})
	}
	s = s.with(h)
	s.est *= 0.5
	return s
}

// semiSide plans the pattern without the rows.
func (p *planner) semiSide(j *semiJoin) Node {
	defer p.enter(NoSlot)()
	defer func(d bool) { p.existsDup = d }(p.existsDup)
	p.existsDup, p.outer = true, slotSet{}
	p.clause++
	return p.match(p.start(&SingleRow{Base: p.base(1)}), []*bind.Match{j.match}, true).root
}
