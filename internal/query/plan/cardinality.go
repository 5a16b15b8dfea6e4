package plan

import (
	"math"
	"math/bits"
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/stats"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// How many rows a plan will have. Whatever is said here chooses among plans of one answer; wrong, old or missing statistics never
// change it.
//
// Conditions, as shares of the rows of the label or type of the variable whose property they read:
//   - key = v: the share of v if it is among the common values, else (1 − null − Σ common) / (distinct − common); a value that is not known:
//     (1 − null) / distinct; the key of a unique index: 1 / rows. Two properties: 1 / the larger number of different values.
//   - key IN list: the sum over a known list, else its length times the mean.
//   - <, ≤, >, ≥, STARTS WITH: the histogram; two bounds on one key are one interval. IS [NOT] NULL: the share of missing keys.
//   - <>: what has the key and another value, else 0.9. OR: 1 − Π(1 − s). Anything else: 0.25.
//   - a label: from the numbers of vertices by label set, given the labels that are tested already.
//   - several conditions on one variable are taken to be partly the same: s₁ · √s₂ · ∜s₃ …, most selective first.
//
// Relationships:
//   - a vertex with label A has R(A,T)/N(A) of type T; the far ends have label B in the share R(A,T,B)/R(A,T).
//   - a vertex that was reached over another relationship has more: E[d·d']/E[d] from the sample of its label, less the
//     relationship that led there where it cannot be taken twice.
//   - both ends known: R(A,T,B) / (N(A)·N(B)).
//   - k draws among n vertices are n·(1 − e^(−k/n)) different ones; a walk for its ends finds no more than that.

// sane makes x an estimate: a number that is not negative and not absurd.
func sane(x, def float64) float64 {
	if math.IsNaN(x) {
		return def
	}
	return min(1e15, max(0, x))
}

func saneShare(x float64) float64 { return min(1, sane(x, stats.GuessUnknown)) }

// different is how many different ones k draws among n find.
func different(k, n float64) float64 {
	if n <= 0 || k <= 0 {
		return 0
	}
	return n * -math.Expm1(-k/n)
}

// backoff combines the shares of conditions that are not independent.
func backoff(shares []float64) float64 {
	slices.Sort(shares)
	s, e := 1.0, 1.0
	for _, x := range shares {
		s *= math.Pow(x, e)
		e /= 2
	}
	return s
}

// ---- conditions --------------------------------------------------------------------------------------------------------

// estimator judges conditions. owner tells the labels or types of a variable; nil: nothing is known of variables.
type estimator struct {
	p     *planner
	owner func(Slot) []schema.LabelID
}

// selectivity judges a condition outside of a pattern.
func (p *planner) selectivity(e expr.Expr) float64 { return (&estimator{p: p}).share(e) }

func (g *graph) estimator() *estimator { return &estimator{p: g.p, owner: g.labelsOf} }

// labelsOf returns the labels that the pattern gives to a vertex, or the only type of a relationship.
func (g *graph) labelsOf(slot Slot) []schema.LabelID {
	s, ok := g.bySlot[slot]
	if !ok {
		return nil
	}
	var out []schema.LabelID
	if s.n != 0 {
		i := bits.TrailingZeros64(s.n)
		for _, l := range g.nodes[i].labels {
			if id, ok := g.p.cat.Label(g.p.opt.View, l, schema.Vertex); ok {
				out = append(out, id)
			}
		}
		if len(out) > 0 {
			return out
		}
		if l := g.smallestLabel(i); l != schema.NoLabel {
			return []schema.LabelID{l}
		}
		for j := range g.rels {
			if r := &g.rels[j]; !r.VarLen && (r.l == i || r.r == i) {
				if l := g.likelyLabel(r, r.l == i); l != schema.NoLabel {
					return []schema.LabelID{l}
				}
			}
		}
		return nil
	}
	if r := &g.rels[bits.TrailingZeros64(s.r)]; len(r.Types) == 1 && !r.VarLen {
		return g.p.types(r.Types)
	}
	return nil
}

func (t *estimator) share(e expr.Expr) float64 { return saneShare(t.judge(e)) }

func (t *estimator) judge(e expr.Expr) float64 {
	switch e := e.(type) {
	case *expr.Const:
		if e.V.Kind() == value.Bool && e.V.Bool() {
			return 1
		}
		return 0.001
	case *expr.HasLabels:
		return t.p.labelShare(e)
	case *expr.Binary:
		return t.binary(e)
	case *expr.Unary:
		switch e.Op {
		case expr.OpNot:
			return max(0.05, 1-t.share(e.X))
		case expr.OpIsNull:
			if k, _, ok := t.key(e.X); ok && k != nil {
				return 1 - k.NotNull()
			}
			return 0.2
		case expr.OpIsNotNull:
			if k, _, ok := t.key(e.X); ok && k != nil {
				return k.NotNull()
			}
			return 0.8
		}
	case *expr.Or:
		none := 1.0
		for _, a := range e.Args {
			none *= 1 - t.share(a)
		}
		return 1 - none
	case *expr.And:
		var all []float64
		for _, a := range e.Args {
			all = append(all, t.share(a))
		}
		return backoff(all)
	case *expr.Subplan:
		return 0.5
	}
	return stats.GuessUnknown
}

func (p *planner) labelShare(e *expr.HasLabels) float64 {
	all := p.cat.NodeCount(schema.NoLabel)
	if !e.X.Type().May(expr.TNode.Kinds) || all <= 0 {
		return 0.5
	}
	var ids []schema.LabelID
	sum := 0.0
	for _, l := range e.Labels {
		if id, ok := p.cat.Label(p.opt.View, l, schema.Vertex); ok {
			ids = append(ids, id)
			sum += p.cat.NodeCount(id)
		}
	}
	if !e.Any {
		sum = 0
		if len(ids) == len(e.Labels) {
			sum = p.cat.LabelsCount(ids)
		}
	}
	return min(1, max(sum/all, 1e-4))
}

// key returns what is known of the property that e reads, and how many rows its label has. ok: e is a property.
func (t *estimator) key(e expr.Expr) (k *stats.Key, rows float64, ok bool) {
	pr, is := e.(*expr.Prop)
	if !is {
		return nil, 0, false
	}
	id, known := t.p.cat.Key(pr.Key)
	c, is := pr.Of.(*expr.Col)
	if !known || !is || t.owner == nil {
		return nil, 0, true
	}
	for _, l := range t.owner(c.Slot) {
		n := t.p.cat.NodeCount(l)
		if x := t.p.cat.KeyStats(l, id); x != nil && (k == nil || n < rows) {
			k, rows = x, n
		}
	}
	return k, rows, true
}

func (t *estimator) binary(e *expr.Binary) float64 {
	prop, val, op := e.L, e.R, e.Op
	k, rows, ok := t.key(prop)
	if other, n, is := t.key(val); !ok && is {
		k, rows, ok = other, n, true
		prop, val, op = e.R, e.L, flip(e.Op)
	} else if ok && is {
		return t.twoProps(e, k, other, rows, n)
	}
	v, known := t.p.valueOf(val)
	switch op {
	case expr.OpEq:
		if s, ok := t.unique(prop); ok {
			return s
		}
		switch {
		case k != nil && known:
			return k.Equal(v)
		case k != nil:
			return k.NotNull() / k.DistinctOf(max(rows, k.Rows))
		}
		return t.p.eqGuess(e)
	case expr.OpNe:
		if k != nil && known {
			return k.NotNull() - k.Equal(v)
		}
		return stats.GuessNotSame
	case expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
		if k != nil && known {
			return k.Range(interval(op, v))
		}
		return 0.4
	case expr.OpStartsWith:
		if k != nil && known && v.Kind() == value.String {
			return k.Prefix(v.Str())
		}
		return 0.1
	case expr.OpIn:
		return t.in(k, rows, prop, val)
	}
	return stats.GuessUnknown
}

// interval is the values x with x op v.
func interval(op expr.Op, v value.Value) (r stats.Interval) {
	switch op {
	case expr.OpLt, expr.OpLe:
		r.Upper, r.HasUpper, r.UpperInc = v, true, op == expr.OpLe
	default:
		r.Lower, r.HasLower, r.LowerInc = v, true, op == expr.OpGe
	}
	return r
}

// in is the share of rows whose property is in a list.
func (t *estimator) in(k *stats.Key, rows float64, prop, list expr.Expr) float64 {
	n := t.p.listLen(list)
	if s, ok := t.unique(prop); ok {
		return s * n
	}
	if k == nil {
		return min(0.5, 0.05*n)
	}
	mean := k.NotNull() / k.DistinctOf(max(rows, k.Rows))
	var elems []value.Value
	unknown := 0.0
	if l, ok := list.(*expr.ListLit); ok {
		for _, e := range l.Elems {
			if v, ok := t.p.valueOf(e); ok {
				elems = append(elems, v)
			} else {
				unknown++
			}
		}
	} else if v, ok := t.p.valueOf(list); ok && v.Kind() == value.List && v.Len() <= 1000 {
		for _, e := range v.All() {
			elems = append(elems, e)
		}
	} else {
		unknown = n
	}
	s := unknown * mean
	for i, v := range elems {
		if !slices.ContainsFunc(elems[:min(i, 100)], func(o value.Value) bool { return value.Equivalent(o, v) }) {
			s += k.Equal(v)
		}
	}
	return min(s, k.NotNull())
}

// twoProps judges a comparison of two properties.
func (t *estimator) twoProps(e *expr.Binary, a, b *stats.Key, rowsA, rowsB float64) float64 {
	switch e.Op {
	case expr.OpEq:
		if a == nil || b == nil {
			return t.p.eqGuess(e)
		}
		return min(a.NotNull()/a.DistinctOf(max(rowsA, a.Rows)), b.NotNull()/b.DistinctOf(max(rowsB, b.Rows)))
	case expr.OpNe:
		return stats.GuessNotSame
	case expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
		return 0.4
	}
	return stats.GuessUnknown
}

// unique is the share of one row, if a unique index says that there is at most one with a value of the property.
func (t *estimator) unique(e expr.Expr) (float64, bool) {
	pr, ok := e.(*expr.Prop)
	if !ok || t.owner == nil {
		return 0, false
	}
	c, ok := pr.Of.(*expr.Col)
	if !ok {
		return 0, false
	}
	ixs := t.p.indexes()
	for _, l := range t.owner(c.Slot) {
		for i := range ixs {
			if ix := &ixs[i]; ix.Label == l && ix.Unique && len(ix.KeyNames) == 1 && ix.KeyNames[0] == pr.Key {
				n := t.p.cat.NodeCount(l)
				if ix.Entity == schema.Edge {
					n = t.p.cat.RelCount(l)
				}
				return 1 / max(1, n), true
			}
		}
	}
	return 0, false
}

// eqGuess is the selectivity of an equality that statistics say nothing of: some index may know one of the sides.
func (p *planner) eqGuess(e *expr.Binary) float64 {
	for _, side := range [...]expr.Expr{e.L, e.R} {
		if s, ok := p.eqSel(side); ok {
			return s
		}
	}
	return stats.GuessEqual
}

// eqSel is the selectivity of an equality on a property that some index knows.
func (p *planner) eqSel(e expr.Expr) (float64, bool) {
	pr, ok := e.(*expr.Prop)
	if !ok {
		return 0, false
	}
	best, found := 0.0, false
	ixs := p.indexes()
	for i := range ixs {
		if ixs[i].KeyNames[0] != pr.Key {
			continue
		}
		if d := p.cat.Distinct(ixs[i].ID); d > 0 && len(ixs[i].KeyNames) == 1 {
			if s := 1 / d; !found || s > best {
				best, found = s, true
			}
		}
	}
	return best, found
}

// judge fills in what the conditions of the graph let pass. Conditions on the same variable are damped by their rank.
func (g *graph) judge() {
	t := g.estimator()
	damped := map[set][]int{}
	for i := range g.preds {
		pr := &g.preds[i]
		pr.sel = t.share(pr.e)
		if _, label := pr.e.(*expr.HasLabels); !label && !pr.need.empty() && bits.OnesCount64(pr.need.n)+bits.OnesCount64(pr.need.r) == 1 {
			damped[pr.need] = append(damped[pr.need], i)
		}
	}
	for _, list := range damped {
		list = g.intervals(t, list)
		slices.SortStableFunc(list, func(a, b int) int {
			switch x, y := g.preds[a].sel, g.preds[b].sel; {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return a - b
		})
		e := 1.0
		for _, i := range list {
			g.preds[i].sel = math.Pow(g.preds[i].sel, e)
			e /= 2
		}
	}
}

// intervals makes one estimate of two bounds on one property: the second gets what is left of the interval, and is not damped.
func (g *graph) intervals(t *estimator, list []int) []int {
	type bound struct {
		i  int
		in stats.Interval
	}
	open := map[*stats.Key]bound{}
	out := list[:0:0]
	for _, i := range list {
		b, ok := g.preds[i].e.(*expr.Binary)
		if !ok {
			out = append(out, i)
			continue
		}
		k, _, is := t.key(b.L)
		v, known := t.p.valueOf(b.R)
		if !is || k == nil || !known || b.Op != expr.OpLt && b.Op != expr.OpLe && b.Op != expr.OpGt && b.Op != expr.OpGe {
			out = append(out, i)
			continue
		}
		in := interval(b.Op, v)
		if o, ok := open[k]; ok && o.in.HasLower != in.HasLower {
			if in.HasLower {
				o.in.Lower, o.in.HasLower, o.in.LowerInc = in.Lower, true, in.LowerInc
			} else {
				o.in.Upper, o.in.HasUpper, o.in.UpperInc = in.Upper, true, in.UpperInc
			}
			g.preds[i].sel = saneShare(k.Range(o.in) / max(1e-9, g.preds[o.i].sel))
			delete(open, k)
			continue
		}
		open[k] = bound{i, in}
		out = append(out, i)
	}
	return out
}

// predSel is the selectivity of a condition at a state. A label is judged by the other labels that are tested, or by the way to the vertex.
func (g *graph) predSel(s *state, pr *gpred) float64 {
	h, ok := pr.e.(*expr.HasLabels)
	if !ok || h.Any || pr.need.r != 0 || bits.OnesCount64(pr.need.n) != 1 {
		return pr.sel
	}
	i := bits.TrailingZeros64(pr.need.n)
	if f, ok := g.labelGiven(s, i, pr, h); ok {
		return f
	}
	best := pr.sel
	// The vertex was reached over a relationship: which part of that type's ends has the label?
	for j := range g.rels {
		r := &g.rels[j]
		if s.done.r&(1<<j) == 0 || (r.l != i && r.r != i) {
			continue
		}
		if f := g.p.endShare(r, i == r.l, h.Labels[0], g.nearLabel(r, i)); f > best {
			best = f
		}
	}
	return best
}

// labelGiven is the share of vertices with the labels tested before that have those of h too.
func (g *graph) labelGiven(s *state, i int, pr *gpred, h *expr.HasLabels) (float64, bool) {
	var before []schema.LabelID
	add := func(names []string) bool {
		for _, l := range names {
			id, ok := g.p.cat.Label(g.p.opt.View, l, schema.Vertex)
			if !ok {
				return false
			}
			before = append(before, id)
		}
		return true
	}
	for _, pi := range g.nodes[i].preds {
		o, ok := g.preds[pi].e.(*expr.HasLabels)
		if !ok || o.Any || pi >= 64 || s.used&(1<<pi) == 0 || &g.preds[pi] == pr {
			continue
		}
		if c, ok := o.X.(*expr.Col); !ok || c.Slot != g.nodes[i].v.Slot {
			continue
		}
		if !add(o.Labels) {
			return 0, true
		}
	}
	if len(before) == 0 {
		return 0, false
	}
	n := g.p.cat.LabelsCount(before)
	if !add(h.Labels) {
		return 0, true
	}
	return saneShare(g.p.cat.LabelsCount(before) / max(1, n)), true
}

// indexRows estimates how many of count entities the tests of an index let pass; not ok if nothing is known of a key.
func (g *graph) indexRows(ix *schema.Index, tests []keyTest, count float64) (float64, bool) {
	t := g.estimator()
	var shares []float64
	bounds := map[*stats.Key]stats.Interval{}
	var ranged []*stats.Key
	for i := range tests {
		c := &tests[i]
		id, ok := g.p.cat.Key(c.key)
		k := g.p.cat.KeyStats(ix.Label, id)
		if !ok || k == nil {
			return 0, false
		}
		var v value.Value
		known := false
		if c.val != nil {
			v, known = g.p.valueOf(c.val)
		}
		s := stats.GuessUnknown
		switch {
		case c.op == expr.OpIsNotNull:
			s = k.NotNull()
		case c.op == expr.OpIn:
			s = t.in(k, count, nil, c.val)
		case c.op == expr.OpEq && known:
			s = k.Equal(v)
		case c.op == expr.OpEq:
			s = k.NotNull() / k.DistinctOf(max(count, k.Rows))
		case c.op == expr.OpStartsWith && known && v.Kind() == value.String:
			s = k.Prefix(v.Str())
		case c.op == expr.OpStartsWith:
			s = 0.1
		case !known:
			s = 0.4
		default:
			in := interval(c.op, v)
			o, both := bounds[k]
			if !both {
				ranged = append(ranged, k)
			} else if in.HasLower {
				in.Upper, in.HasUpper, in.UpperInc = o.Upper, o.HasUpper, o.UpperInc
			} else {
				in.Lower, in.HasLower, in.LowerInc = o.Lower, o.HasLower, o.LowerInc
			}
			bounds[k] = in
			continue
		}
		shares = append(shares, saneShare(s))
	}
	for _, k := range ranged {
		shares = append(shares, saneShare(k.Range(bounds[k])))
	}
	return sane(count*backoff(shares), 1), true
}
