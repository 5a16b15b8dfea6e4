package plan

import (
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Ways to find a vertex without a relationship: scans, indexes, ids.

// leaf is a way to find a vertex.
type leaf struct {
	cost, rows float64 // for one input row
	used       uint64  // conditions that it decides
	seek       bool
	ix         *schema.Index
	eq         []expr.Expr
	in         int
	lower      expr.Expr
	upper      expr.Expr
	lowerInc   bool
	upperInc   bool
	prefix     expr.Expr
	id         expr.Expr
	idIn, elem bool
	labels     []string // label scan: any of these
	all        bool
	but        []string // all: with none of these labels
	union      []*leaf  // what several find together, each once
}

func (g *graph) leafMove(s *state, i int, lf *leaf) *state {
	n := &state{done: s.done.or(set{n: 1 << i}), used: s.used | lf.used, prev: s, step: step{kind: stepLeaf, i: i, leaf: lf}}
	n.card = max(s.card*lf.rows, 1e-6)
	n.cost = s.cost + s.card*lf.cost
	return g.applied(n)
}

// scanLeaf is the cheapest scan. plain: the first label in the text, for the reference run.
func (g *graph) scanLeaf(s *state, i int, plain bool) *leaf {
	p := g.p
	nd := &g.nodes[i]
	all := p.cat.NodeCount(schema.NoLabel)
	best := &leaf{all: true, rows: max(all, 1), cost: max(all, 1) * costScanRow, in: -1}
	for _, pi := range nd.preds {
		h, ok := g.preds[pi].e.(*expr.HasLabels)
		if !ok || pi >= 64 || s.used&(1<<pi) != 0 {
			continue
		}
		if c, ok := h.X.(*expr.Col); !ok || c.Slot != nd.v.Slot {
			continue
		}
		rows := 0.0
		labels := h.Labels
		if !h.Any {
			labels = h.Labels[:1]
		}
		for _, l := range labels {
			if id, ok := p.cat.Label(p.opt.View, l, schema.Vertex); ok {
				rows += p.cat.NodeCount(id)
			}
		}
		lf := &leaf{labels: labels, rows: max(rows, 1e-3), cost: 100 + rows*costScanRow, in: -1}
		if h.Any || len(h.Labels) == 1 {
			lf.used = 1 << pi
		}
		if best.all || lf.cost < best.cost && !plain {
			best = lf
		}
		if plain {
			break
		}
	}
	return best
}

// bestLeaf is the cheapest way to find a vertex given what is solved.
func (g *graph) bestLeaf(s *state, i int) *leaf {
	best := g.scanLeaf(s, i, false)
	if g.hinted(i, best) {
		best.cost *= hintWeight
		return best
	}
	for _, lf := range append(g.seeks(s, i), g.unions(s, i)...) {
		if g.hinted(i, lf) {
			lf.cost *= hintWeight
		}
		if g.better(lf, best) {
			best = lf
		}
	}
	return best
}

// better compares two ways. A seek whose estimates tie with a scan is still the better bet: graphs grow.
func (g *graph) better(a, b *leaf) bool {
	if a.seek && !b.seek {
		return a.cost <= b.cost*1.5+1000
	}
	return a.cost < b.cost
}

// given reports whether e can be evaluated with what is solved.
func (g *graph) given(s *state, e expr.Expr) bool {
	d, ok := g.depends[e]
	if !ok {
		d = g.dependence(e)
		if g.depends == nil {
			g.depends = map[expr.Expr]dependence{}
		}
		g.depends[e] = d
	}
	return d.ok && s.done.has(d.need)
}

// dependence is what an expression needs to be solved; not ok: it can never be evaluated before a seek.
type dependence struct {
	need set
	ok   bool
}

func (g *graph) dependence(e expr.Expr) dependence {
	if hasSubplan(e) || !stable(e) {
		return dependence{}
	}
	d := dependence{ok: true}
	r := slotSet{}
	r.reads(e)
	for x := range r.all() {
		if t, ok := g.bySlot[x]; ok {
			d.need = d.need.or(t)
		} else if !g.in.bound.has(x) && !g.isHint(x) && !g.p.hintOfBound(x, g.in.bound) {
			return dependence{}
		}
	}
	return d
}

// seeks lists the seeks that find vertex i.
func (g *graph) seeks(s *state, i int) []*leaf {
	p := g.p
	var out []*leaf
	if p.opt.on(RuleByID) {
		out = append(out, g.idSeeks(s, g.vertex(i))...)
	}
	if !p.opt.on(RuleIndexSeek) {
		return out
	}
	tests := g.tests(s, g.vertex(i))
	if len(tests) == 0 {
		return out
	}
	ixs := p.indexes()
	for x := range ixs {
		ix := &ixs[x]
		if ix.Entity != schema.Vertex || !g.knownLabel(s, i, ix.LabelName) {
			continue
		}
		if lf := g.indexLeaf(ix, tests, p.labelCount(ix.LabelName)); lf != nil {
			// The label is decided by the index (re-checked there).
			for _, pi := range g.nodes[i].preds {
				if h, ok := g.preds[pi].e.(*expr.HasLabels); ok && pi < 64 && !h.Any && len(h.Labels) == 1 && h.Labels[0] == ix.LabelName {
					if c, ok := h.X.(*expr.Col); ok && c.Slot == g.nodes[i].v.Slot {
						lf.used |= 1 << pi
					}
				}
			}
			out = append(out, lf)
		}
	}
	return out
}

// knownLabel reports whether a pending condition says that the vertex has the label.
func (g *graph) knownLabel(s *state, i int, label string) bool {
	return contains(g.nodes[i].labels, label)
}

func (p *planner) indexes() []schema.Index {
	if !p.ixLoaded {
		p.ixCache, p.ixLoaded = p.cat.Indexes(p.opt.View), true
	}
	return p.ixCache
}

// indexLeaf makes the seek of an index over count entities from the tests that it can decide; nil if it decides none.
func (g *graph) indexLeaf(ix *schema.Index, tests []keyTest, count float64) *leaf {
	p := g.p
	lf := &leaf{ix: ix, in: -1, seek: true}
	rows := count
	probes := 1.0
	full := true
	var used []keyTest
	for k, key := range ix.KeyNames {
		var eq *keyTest
		for t := range tests {
			if tests[t].key == key && tests[t].op == expr.OpEq {
				eq = &tests[t]
				break
			}
		}
		if eq != nil {
			lf.eq = append(lf.eq, eq.val)
			lf.used |= 1 << eq.pred
			used = append(used, *eq)
			rows *= 0.1
			continue
		}
		if lf.in < 0 {
			found := false
			for t := range tests {
				if tests[t].key == key && tests[t].op == expr.OpIn {
					lf.in = k
					lf.eq = append(lf.eq, tests[t].val)
					lf.used |= 1 << tests[t].pred
					used = append(used, tests[t])
					probes = g.p.listLen(tests[t].val)
					rows *= 0.1 * probes
					found = true
					break
				}
			}
			if found {
				continue
			}
		}
		full = false
		for t := range tests {
			if tests[t].key != key {
				continue
			}
			switch tests[t].op {
			case expr.OpStartsWith:
				if lf.prefix == nil && lf.lower == nil && lf.upper == nil {
					lf.prefix = tests[t].val
					lf.used |= 1 << tests[t].pred
					used = append(used, tests[t])
					rows *= 0.1
				}
			case expr.OpGt, expr.OpGe:
				if lf.lower == nil && lf.prefix == nil {
					lf.lower, lf.lowerInc = tests[t].val, tests[t].op == expr.OpGe
					lf.used |= 1 << tests[t].pred
					used = append(used, tests[t])
					rows *= 0.4
				}
			case expr.OpLt, expr.OpLe:
				if lf.upper == nil && lf.prefix == nil {
					lf.upper, lf.upperInc = tests[t].val, tests[t].op == expr.OpLe
					lf.used |= 1 << tests[t].pred
					used = append(used, tests[t])
					rows *= 0.4
				}
			}
		}
		break
	}
	// An entity that lacks one of the keys is not in the index (rules B13): every key must be known to be there.
	for _, key := range ix.KeyNames[len(lf.eq):] {
		found := false
		for t := range tests {
			found = found || tests[t].key == key
		}
		if !found {
			return nil
		}
	}
	// Being in the index, an entity has all of the keys.
	for t := range tests {
		if tests[t].op == expr.OpIsNotNull && contains(ix.KeyNames, tests[t].key) {
			lf.used |= 1 << tests[t].pred
			used = append(used, tests[t])
			if rows == count {
				rows *= 0.8
			}
		}
	}
	if r, ok := g.indexRows(ix, used, count); ok && (!full || len(ix.KeyNames) == 1) {
		rows = r
	} else if full {
		if d := p.cat.Distinct(ix.ID); d > 0 {
			rows = count / d * probes
		}
	}
	if full && ix.Unique {
		rows = probes
	}
	lf.rows = max(rows, 1e-3)
	lf.cost = costSeek*probes + lf.rows*costSeekRow
	return lf
}

func (p *planner) listLen(e expr.Expr) float64 {
	if l, ok := e.(*expr.ListLit); ok {
		return float64(max(1, len(l.Elems)))
	}
	if v, ok := p.valueOf(e); ok && v.Kind() == value.List {
		return float64(max(1, v.Len()))
	}
	return 10
}

func (p *planner) labelCount(name string) float64 {
	if id, ok := p.cat.Label(p.opt.View, name, schema.Vertex); ok {
		return p.cat.NodeCount(id)
	}
	return 0
}

// idSeeks recognises id(n) = e, id(n) IN list, elementId(n) = e.
func (g *graph) idSeeks(s *state, el element) []*leaf {
	var out []*leaf
	for pi := range g.preds {
		if pi >= 64 || s.used&(1<<pi) != 0 {
			continue
		}
		if lf := g.idLeaf(s, g.preds[pi].e, el.slot); lf != nil {
			lf.used = 1 << pi
			out = append(out, lf)
		}
	}
	return out
}

// idLeaf reads a condition as a test of the id of the element in a slot; nil if it is none.
func (g *graph) idLeaf(s *state, e expr.Expr, slot Slot) *leaf {
	isID := func(e expr.Expr) (elem, ok bool) {
		f, is := e.(*expr.Func)
		if !is || len(f.Args) != 1 {
			return false, false
		}
		c, is := f.Args[0].(*expr.Col)
		if !is || c.Slot != slot {
			return false, false
		}
		switch strings.ToLower(f.Def.Name) {
		case "id":
			return false, true
		case "elementid":
			return true, true
		}
		return false, false
	}
	b, ok := e.(*expr.Binary)
	if !ok || b.Op != expr.OpEq && b.Op != expr.OpIn {
		return nil
	}
	lf := &leaf{in: -1, seek: true, rows: 1, cost: costByID}
	if elem, is := isID(b.L); is && g.given(s, b.R) {
		lf.id, lf.elem, lf.idIn = b.R, elem, b.Op == expr.OpIn
	} else if elem, is := isID(b.R); is && b.Op == expr.OpEq && g.given(s, b.L) {
		lf.id, lf.elem = b.L, elem
	} else {
		return nil
	}
	if lf.idIn {
		lf.rows = g.p.listLen(lf.id)
		lf.cost *= lf.rows
	}
	return lf
}
