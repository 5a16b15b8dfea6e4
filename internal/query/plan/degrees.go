package plan

import (
	"math"

	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/stats"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// Estimates of relationships. The formulas are stated in cardinality.go.

// smallestLabel is the rarest label that the pattern gives to a vertex, or what an earlier clause told of it, or NoLabel.
func (g *graph) smallestLabel(i int) schema.LabelID {
	label, small := schema.NoLabel, math.Inf(1)
	for _, l := range g.nodes[i].labels {
		if id, ok := g.p.cat.Label(g.p.opt.View, l, schema.Vertex); ok {
			if n := g.p.cat.NodeCount(id); n < small {
				small, label = n, id
			}
		}
	}
	if label == schema.NoLabel {
		label = g.p.told[g.nodes[i].v.Root]
	}
	return label
}

// tell keeps the labels that the vertices of a pattern probably have, for the estimates of later clauses.
func (g *graph) tell() {
	for i := range g.nodes {
		l := g.smallestLabel(i)
		for j := 0; j < len(g.rels) && l == schema.NoLabel; j++ {
			if r := &g.rels[j]; (r.l == i || r.r == i) && r.Sel == nil && r.Iter == nil && (!r.VarLen || r.Min > 0) {
				l = g.likelyLabel(r, r.l == i)
			}
		}
		if l != schema.NoLabel {
			g.p.told[g.nodes[i].v.Root] = l
		}
	}
}

// nearLabel is the label of the end of r that is not vertex i.
func (g *graph) nearLabel(r *grel, i int) schema.LabelID {
	if r.VarLen {
		return schema.NoLabel
	}
	if r.l == i {
		return g.smallestLabel(r.r)
	}
	return g.smallestLabel(r.l)
}

type shareKey struct {
	types string // names, joined
	dir   store.Direction
	label string
	near  schema.LabelID
}

// endShare estimates which share of the left or right ends of a relationship pattern has a label, given a label of the other end.
func (p *planner) endShare(r *grel, left bool, label string, near schema.LabelID) float64 {
	d := r.Dir
	if !left && d != store.Both {
		d = 1 - d // seen from the right end
	}
	key := shareKey{typeKey(r.Types), d, label, near}
	if f, ok := p.shares[key]; ok {
		return f
	}
	if p.shares == nil {
		p.shares = map[shareKey]float64{}
	}
	f := saneShare(p.ends(r.Types, d, label, near))
	p.shares[key] = f
	return f
}

func typeKey(types []string) string {
	if len(types) == 1 {
		return types[0]
	}
	s := ""
	for _, t := range types {
		s += t + "\x00"
	}
	return s
}

func (p *planner) ends(types []string, d store.Direction, label string, near schema.LabelID) float64 {
	id, ok := p.cat.Label(p.opt.View, label, schema.Vertex)
	if !ok {
		return 0
	}
	var ends, all float64
	for _, t := range p.types(types) {
		if d != store.In {
			ends += p.cat.RelsBetween(id, t, near)
			all += p.cat.RelsBetween(schema.NoLabel, t, near)
		}
		if d != store.Out {
			ends += p.cat.RelsBetween(near, t, id)
			all += p.cat.RelsBetween(near, t, schema.NoLabel)
		}
	}
	if all <= 0 {
		return 1
	}
	return ends / all
}

// types resolves type names for estimates; unknown ones have no relationships.
func (p *planner) types(names []string) []schema.LabelID {
	if len(names) == 0 {
		return []schema.LabelID{schema.NoLabel}
	}
	var out []schema.LabelID
	for _, n := range names {
		if id, ok := p.cat.Label(p.opt.View, n, schema.Edge); ok {
			out = append(out, id)
		}
	}
	return out
}

type degreeKey struct {
	rel   int
	label schema.LabelID
	dir   store.Direction
	via   int // relationship that led to the vertex, or -1
}

// degree is the mean number of relationships that a vertex has for a pattern relationship, seen from one end, given how it was reached.
func (g *graph) degree(s *state, r *grel, from int, left bool) float64 {
	dir := r.Dir
	if !left && dir != store.Both {
		dir = 1 - dir
	}
	label, via := g.smallestLabel(from), -1
	if s != nil {
		for j := range g.rels {
			q := &g.rels[j]
			if s.done.r&(1<<j) == 0 || q.l != from && q.r != from || q == r {
				continue
			}
			if via < 0 {
				via = j
			}
			if label == schema.NoLabel && !q.VarLen {
				// No label: the ends that the vertex was reached by say more than the mean over all vertices.
				label = g.likelyLabel(q, q.l == from)
			}
		}
	}
	key := degreeKey{r.index, label, dir, via}
	if d, ok := g.degrees[key]; ok {
		return d
	}
	if g.degrees == nil {
		g.degrees = map[degreeKey]float64{}
	}
	d, ok := 0.0, false
	if via >= 0 {
		d, ok = g.biased(&g.rels[via], r, from, label, dir)
	}
	if !ok {
		d = g.p.meanDegree(label, r.Types, dir)
	}
	d = sane(d, 1)
	g.degrees[key] = d
	return d
}

func (p *planner) meanDegree(label schema.LabelID, types []string, dir store.Direction) (d float64) {
	for _, t := range p.types(types) {
		if dir != store.In {
			d += p.cat.DegreeMean(label, t, store.Out)
		}
		if dir != store.Out {
			d += p.cat.DegreeMean(label, t, store.In)
		}
	}
	return d
}

// biased is the degree of a vertex that via led to. The sample gives the ratio to the mean; the mean itself is known exactly.
func (g *graph) biased(via, r *grel, from int, label schema.LabelID, dir store.Direction) (float64, bool) {
	p := g.p
	types := p.types(via.Types)
	if label == schema.NoLabel || len(types) != 1 {
		return 0, false
	}
	back := via.Dir // as seen from the vertex
	if via.r == from && via.l != from && back != store.Both {
		back = 1 - back
	}
	led := p.cat.DegreeStats(label, types[0], back)
	var sum, again float64
	for _, t := range p.types(r.Types) {
		d, ok := led.Then(t, stats.Direction(dir))
		if !ok {
			return 0, false
		}
		// Counts may have changed since the sample.
		if st := p.cat.DegreeStats(label, t, dir); st != nil && st.Mean > 0 {
			if now := p.typeDegree(label, t, dir); now > 0 {
				d *= min(10, max(0.1, now/st.Mean))
			}
		}
		if t == types[0] && via.group == r.group && (dir == back || dir == store.Both) {
			again = 1 // the relationship that led here is not taken twice
		}
		sum += d
	}
	return max(0, sum-again), true
}

func (p *planner) typeDegree(label, t schema.LabelID, dir store.Direction) (d float64) {
	if dir != store.In {
		d += p.cat.DegreeMean(label, t, store.Out)
	}
	if dir != store.Out {
		d += p.cat.DegreeMean(label, t, store.In)
	}
	return sane(d, 0)
}

// nextDegree is the mean degree of the second and later steps of a walk over r, whose first step has d.
func (g *graph) nextDegree(r *grel, d float64, back bool) float64 {
	types := g.p.types(r.Types)
	if len(types) != 1 {
		return d
	}
	dir := r.Dir
	if back && dir != store.Both {
		dir = 1 - dir
	}
	end := r.l
	if back {
		end = r.r
	}
	label := g.smallestLabel(end)
	if label == schema.NoLabel {
		label = g.likelyLabel(r, !back)
	}
	came := dir // as seen from the vertex that the step led to
	if dir != store.Both {
		came = 1 - dir
	}
	next, ok := g.p.cat.DegreeStats(label, types[0], came).Then(types[0], stats.Direction(dir))
	if !ok {
		return d
	}
	if dir == store.Both {
		next-- // not back over the relationship that led there
	}
	return sane(next, d)
}

// between is the share of pairs of vertices with the labels of both ends that a relationship of r connects; not ok if a label is not known.
func (g *graph) between(r *grel) (float64, bool) {
	a, b := g.smallestLabel(r.l), g.smallestLabel(r.r)
	if a == schema.NoLabel || b == schema.NoLabel {
		return 0, false
	}
	n := 0.0
	for _, t := range g.p.types(r.Types) {
		if r.Dir != store.In {
			n += g.p.cat.RelsBetween(a, t, b)
		}
		if r.Dir != store.Out {
			n += g.p.cat.RelsBetween(b, t, a)
		}
	}
	return sane(n/max(1, g.p.cat.NodeCount(a)*g.p.cat.NodeCount(b)), 0), true
}

// likelyLabel is the label that most ends of a relationship pattern have, or NoLabel.
func (g *graph) likelyLabel(r *grel, left bool) schema.LabelID {
	key := 2 * r.index
	if left {
		key++
	}
	if l, ok := g.likely[key]; ok {
		return l
	}
	l := g.findLikely(r, left)
	if g.likely == nil {
		g.likely = map[int]schema.LabelID{}
	}
	g.likely[key] = l
	return l
}

func (g *graph) findLikely(r *grel, left bool) schema.LabelID {
	p := g.p
	best, share := schema.NoLabel, 0.9
	for _, l := range p.vertexLabels() {
		if f := p.endShare(r, left, l.Name, schema.NoLabel); f > share || f == share && best != schema.NoLabel && p.cat.NodeCount(l.ID) < p.cat.NodeCount(best) {
			best, share = l.ID, f
		}
	}
	return best
}

func (p *planner) vertexLabels() []schema.Label {
	if p.labelCache == nil {
		p.labelCache = []schema.Label{}
		for _, l := range p.cat.Labels(p.opt.View) {
			if l.Entity == schema.Vertex && l.ID >= schema.FirstUserLabel {
				p.labelCache = append(p.labelCache, l)
			}
		}
		if len(p.labelCache) > 64 {
			p.labelCache = p.labelCache[:0] // too many to try each
		}
	}
	return p.labelCache
}

// targets is the number of vertices at the far end of a relationship.
func (g *graph) targets(r *grel, back bool) float64 {
	far := r.r
	if back {
		far = r.l
	}
	n := g.p.cat.NodeCount(schema.NoLabel)
	for _, l := range g.nodes[far].labels {
		if id, ok := g.p.cat.Label(g.p.opt.View, l, schema.Vertex); ok {
			n = min(n, g.p.cat.NodeCount(id))
		} else {
			n = 0
		}
	}
	return max(n, 1)
}

// reach estimates a variable-length expansion: rows (ends) and edges touched. d is the degree of its first step.
func (g *graph) reach(r *grel, d float64, back bool) (ends, edges float64) {
	hi := r.Max
	if hi < 0 || hi > 15 {
		hi = 15
	}
	all := g.all(r)
	next := d
	if r.Iter != nil {
		d = g.roundDegree(r, back)
		next = d
	} else if hi > 1 {
		next = g.nextDegree(r, d, back)
	}
	n := g.targets(r, back)
	level := 1.0
	for k := 0; k <= hi; k++ {
		if k > 0 {
			step := next
			if k == 1 {
				step = d
			}
			level *= step
			edges += level
		}
		if k >= r.Min {
			ends += level
		}
		if edges > 4*all+1 {
			break
		}
	}
	if g.prunable(r) {
		ends, edges = different(ends, n), min(edges, 2*all+1)
	}
	return max(sane(ends, 1), 1e-3), sane(edges, 1)
}

// all is the number of relationships of the types of r.
func (g *graph) all(r *grel) (n float64) {
	for _, t := range g.p.types(r.Types) {
		n += g.p.cat.RelCount(t)
	}
	return sane(n, 0)
}

// searchCost is the cost of one shortest path between two vertices: both sides go half of the way, which touches 2·d^(L/2) = 2·√n
// relationships with L = log n / log d, and never more than there are.
func (g *graph) searchCost(r *grel) float64 {
	n := sane(g.p.cat.NodeCount(schema.NoLabel), 1)
	return 1000 + costEdge*8*min(2*math.Sqrt(n)*max(1, sane(g.p.meanDegree(schema.NoLabel, r.Types, r.Dir), 1)), 2*g.all(r)+1)
}

// pathLength is the mean length of the shortest paths from one vertex to n others: log n / log d, and n/2 where each vertex leads to one other.
func (g *graph) pathLength(r *grel, n float64) float64 {
	d := sane(g.p.meanDegree(schema.NoLabel, r.Types, r.Dir), 1)
	l := n / 2
	if d > 1 {
		l = min(l, math.Log(n+1)/math.Log(d))
	}
	if most := r.Max; most >= 0 {
		l = min(l, float64(most))
	}
	return max(l, 1)
}

// roundDegree is the mean number of ways through one round of a quantified path pattern.
func (g *graph) roundDegree(r *grel, back bool) float64 {
	d := 1.0
	for _, h := range r.Iter.Hops {
		dir, one := h.Dir, 0.0
		if back && dir != store.Both {
			dir = 1 - dir
		}
		for _, t := range g.p.types(h.Types) {
			if dir == store.Both {
				one += g.p.cat.DegreeMean(schema.NoLabel, t, store.Out) + g.p.cat.DegreeMean(schema.NoLabel, t, store.In)
			} else {
				one += g.p.cat.DegreeMean(schema.NoLabel, t, dir)
			}
		}
		d *= one
	}
	for _, e := range r.Iter.Preds {
		d *= g.p.selectivity(e)
	}
	return d
}

// joinBias corrects a join on vertex i, which takes the two sides to be independent: the more relationships of one side a vertex has, the more
// it may have of the other.
func (g *graph) joinBias(left, right set, i int) float64 {
	label := g.smallestLabel(i)
	for a := range g.rels {
		via := &g.rels[a]
		if left.r&(1<<a) == 0 || via.l != i && via.r != i || via.VarLen {
			continue
		}
		for b := range g.rels {
			r := &g.rels[b]
			if right.r&(1<<b) == 0 || r.l != i && r.r != i || r.VarLen {
				continue
			}
			dir := r.Dir
			if r.l != i && dir != store.Both {
				dir = 1 - dir
			}
			d, ok := g.biased(via, r, i, label, dir)
			if mean := sane(g.p.meanDegree(label, r.Types, dir), 0); ok && mean > 0 {
				return d / mean
			}
			return 1
		}
	}
	return 1
}

// tame is a catalog whose numbers are numbers: the search need not fear absurd counts.
type tame struct{ Catalog }

func (c tame) NodeCount(l schema.LabelID) float64 { return sane(c.Catalog.NodeCount(l), 0) }
func (c tame) RelCount(t schema.LabelID) float64  { return sane(c.Catalog.RelCount(t), 0) }
func (c tame) Distinct(ix schema.IndexID) float64 { return sane(c.Catalog.Distinct(ix), 0) }

func (c tame) LabelsCount(ls []schema.LabelID) float64 { return sane(c.Catalog.LabelsCount(ls), 0) }

func (c tame) RelsBetween(src, t, dst schema.LabelID) float64 {
	return sane(c.Catalog.RelsBetween(src, t, dst), 0)
}

func (c tame) DegreeMean(l, t schema.LabelID, dir store.Direction) float64 {
	return sane(c.Catalog.DegreeMean(l, t, dir), 0)
}
