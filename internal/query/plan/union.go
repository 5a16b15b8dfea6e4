package plan

import (
	"math/bits"

	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
)

// A vertex may be found by several seeks together: n.a = 1 OR n.b = 2 by one for each side, (n:A|B {id: 1}) by one for each label. What more than one of
// them finds comes once. Without a label (n {id: 1}) is found by one seek for each label that has an index, and a scan of the vertices that have none of those labels.

// unions lists the ways to find vertex i by several seeks.
func (g *graph) unions(s *state, i int) []*leaf {
	if !g.p.opt.on(RuleSeekUnion) {
		return nil
	}
	var out []*leaf
	el := g.vertex(i)
	for pi := range g.preds {
		pr := &g.preds[pi]
		if pi >= 64 || s.used&(1<<pi) != 0 || !pr.need.has(el.need) {
			continue
		}
		var lf *leaf
		switch e := pr.e.(type) {
		case *expr.Or:
			lf = g.eitherLeaf(s, i, pi, e.Args)
		case *expr.HasLabels:
			if c, ok := e.X.(*expr.Col); ok && e.Any && c.Slot == el.slot {
				lf = g.labelsLeaf(s, i, pi, e.Labels)
			}
		}
		if lf != nil {
			out = append(out, lf)
		}
	}
	if lf := g.anyLabelLeaf(s, i); lf != nil {
		out = append(out, lf)
	}
	return out
}

// anyLabelLeaf finds a vertex of which no label is known through the indexes of all labels that serve; nil where a scan of the rest would leave little to
// be saved.
func (g *graph) anyLabelLeaf(s *state, i int) *leaf {
	for _, pi := range g.nodes[i].preds {
		if _, ok := g.preds[pi].e.(*expr.HasLabels); ok {
			return nil
		}
	}
	tests := g.tests(s, g.vertex(i))
	if len(tests) == 0 {
		return nil
	}
	var parts []*leaf
	all := max(g.p.cat.NodeCount(schema.NoLabel), 1)
	rest := &leaf{all: true, rows: all, in: -1}
	for _, l := range g.p.indexedLabels() {
		var best *leaf
		for _, lf := range g.indexLeaves([]string{l}, tests) {
			if best == nil || lf.cost < best.cost {
				best = lf
			}
		}
		if best == nil {
			continue
		}
		if len(parts) == maxAnyLabel {
			return nil
		}
		best.used = 0
		parts, rest.but = append(parts, best), append(rest.but, l)
		rest.rows -= g.p.labelCount(l)
	}
	if rest.rows > all/2 {
		return nil
	}
	rest.rows = max(rest.rows, 1e-3)
	rest.cost = 1000 + rest.rows*costScanRow
	return together(append(parts, rest), 0)
}

// maxAnyLabel is the number of indexes that are asked where the pattern has no label.
const maxAnyLabel = 64

// indexedLabels lists the labels of vertices that have an index, in the order of the indexes.
func (p *planner) indexedLabels() (out []string) {
	ixs := p.indexes()
	for i := range ixs {
		if ixs[i].Entity == schema.Vertex && !contains(out, ixs[i].LabelName) {
			out = append(out, ixs[i].LabelName)
		}
	}
	return out
}

// together makes one leaf of several.
func together(parts []*leaf, used uint64) *leaf {
	lf := &leaf{union: parts, in: -1, seek: true, used: used}
	for _, x := range parts {
		lf.rows += x.rows
		lf.cost += x.cost + x.rows*costJoinRow
	}
	return lf
}

// eitherLeaf finds a seek for each side of an OR.
func (g *graph) eitherLeaf(s *state, i, pi int, args []expr.Expr) *leaf {
	el := g.vertex(i)
	var parts []*leaf
	exact := true
	for _, side := range args {
		var tests []keyTest
		var ids []*leaf
		ands := g.p.conjuncts([]expr.Expr{side})
		labels := g.nodes[i].labels
		decided := uint64(0)
		if len(ands) > 64 {
			return nil
		}
		for k, e := range ands {
			if h, ok := e.(*expr.HasLabels); ok && !h.Any && len(h.Labels) == 1 {
				if c, ok := h.X.(*expr.Col); ok && c.Slot == el.slot {
					labels = append(labels[:len(labels):len(labels)], h.Labels[0])
				}
			}
			for _, t := range testsIn(e, k, el.slot) {
				if t.val == nil || g.given(s, t.val) {
					tests = append(tests, t)
				}
			}
			if g.p.opt.on(RuleByID) {
				if lf := g.idLeaf(s, e, el.slot); lf != nil {
					lf.used = 1 << k
					ids = append(ids, lf)
				}
			}
		}
		var best *leaf
		for _, lf := range append(ids, g.indexLeaves(labels, tests)...) {
			if best == nil || lf.cost < best.cost {
				best = lf
			}
		}
		if best == nil {
			return nil
		}
		decided = best.used
		for k, e := range ands {
			if h, ok := e.(*expr.HasLabels); ok && !h.Any && len(h.Labels) == 1 && best.ix != nil && h.Labels[0] == best.ix.LabelName {
				decided |= 1 << k
			}
		}
		exact = exact && bits.OnesCount64(decided) == len(ands)
		best.used = 0
		parts = append(parts, best)
	}
	if exact {
		return together(parts, 1<<pi)
	}
	return together(parts, 0)
}

// labelsLeaf finds a seek for each of the labels that a vertex may have, or scans it.
func (g *graph) labelsLeaf(s *state, i, pi int, labels []string) *leaf {
	tests := g.tests(s, g.vertex(i))
	if len(tests) == 0 {
		return nil
	}
	var parts []*leaf
	seeks := 0
	decided := ^uint64(0)
	for _, l := range labels {
		var best *leaf
		for _, lf := range g.indexLeaves([]string{l}, tests) {
			if best == nil || lf.cost < best.cost {
				best = lf
			}
		}
		if best != nil {
			seeks++
		} else {
			n := g.p.labelCount(l)
			best = &leaf{labels: []string{l}, rows: max(n, 1e-3), cost: 100 + n*costScanRow, in: -1}
		}
		decided &= best.used
		best.used = 0
		parts = append(parts, best)
	}
	if seeks == 0 {
		return nil
	}
	return together(parts, decided|1<<pi)
}

// indexLeaves lists the seeks that the indexes of some labels of a vertex offer.
func (g *graph) indexLeaves(labels []string, tests []keyTest) []*leaf {
	if len(tests) == 0 || !g.p.opt.on(RuleIndexSeek) {
		return nil
	}
	var out []*leaf
	ixs := g.p.indexes()
	for x := range ixs {
		if ix := &ixs[x]; ix.Entity == schema.Vertex && contains(labels, ix.LabelName) {
			if lf := g.indexLeaf(ix, tests, g.p.labelCount(ix.LabelName)); lf != nil {
				out = append(out, lf)
			}
		}
	}
	return out
}

// union builds a leaf of several seeks.
func (b *builder) union(s *stream, st *state, v *bind.Var) *stream {
	p, lf := b.g.p, st.step.leaf
	b.consume(lf)
	rowID := NoSlot
	alone := leafChild(s.root) == nil
	if !alone {
		rowID = p.slot("row", RowID)
	}
	u := &Union{Base: p.base(st.made)}
	for _, part := range lf.union {
		in := &stream{root: &SingleRow{Base: p.base(1)}, bound: clone(s.bound), est: 1, keys: [][]int{{}}, one: true}
		from := []Slot{v.Slot}
		if !alone {
			in.root = &Argument{Base: p.base(s.est), RowID: rowID}
			from = append(from, rowID)
		}
		one := &state{card: s.est * part.rows, made: s.est * part.rows, prev: st.prev, step: step{kind: stepLeaf, i: st.step.i, leaf: part}}
		u.Inputs = append(u.Inputs, b.leaf(in, one).root)
		u.From, u.Opens = append(u.From, from), append(u.Opens, -1)
	}
	u.Cols = u.From[0]
	d := &Distinct{Base: p.base(st.made), Child: u, Keys: []Item{{Slot: v.Slot, Expr: v.Col(-1, -1)}}}
	if !alone {
		u.Part, d.Part = []Slot{rowID}, []Slot{rowID}
	}
	out := s.with(d)
	if !alone {
		out.root = &Apply{Base: p.base(st.made), Left: s.root, Right: d, Kind: Inner, RowID: rowID, Opens: -1, Slot: NoSlot, From: NoSlot}
	}
	out.bound = clone(s.bound)
	out.bound.add(v.Slot)
	out.extend(v.Root.Slot)
	return out
}
