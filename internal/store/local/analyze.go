package local

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/stats"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// Bounds of one look at a label.
const (
	sampleBlocks    = 3000   // pages of a heap that are read
	degreeVertices  = 10_000 // vertices whose relationships are counted
	degreeTypes     = 32     // types that are counted, those with the most relationships first
	neighbourSample = 256    // vertices whose neighbours are told apart
	neighbourEdges  = 100_000
)

var _ store.Analyzer = (*graphView)(nil)

// Analyze is store.Analyzer's. The sample depends on nothing but the label and the rows.
func (g *graphView) Analyze(ctx context.Context, v store.View, id schema.LabelID) error {
	l := g.g.Label(id)
	if l == nil || l.Heap == nil || l.FilesGone() {
		return dberr.New(dberr.UndefinedTable, "there is no label or type with the id %d", id)
	}
	ref := labelRef{g.g.ID, id}
	changed := g.s.tx.s.changed.sum(l)
	r := rand.New(rand.NewPCG(uint64(g.g.ID), uint64(id)))
	s := &labelSample{g: g, v: v, l: l, r: r}
	if err := s.take(ctx); err != nil {
		return err
	}
	total := float64(s.props.Rows())
	if !s.whole {
		total = max(total, g.count(l))
	}
	st := &stats.Label{Graph: g.g.ID, ID: id, Rows: total, Sampled: float64(s.props.Rows()), Taken: time.Now().UnixMicro(), Keys: s.props.Keys(total)}
	if l.Entity == schema.Vertex {
		var err error
		if st.Degrees, err = s.degrees(ctx, total); err != nil {
			return err
		}
	}
	sched.Point("local.analyze.sampled")
	if err := g.s.tx.s.cat.SetStats(ctx, nil, l, st); err != nil {
		return err
	}
	g.s.tx.s.changed.analysed(ref, changed)
	return nil
}

// count is the number of vertices or relationships of a label or type.
func (g *graphView) count(l *catalog.Label) float64 {
	if l.Entity == schema.Edge {
		return g.RelCount(l.ID)
	}
	return g.NodeCount(l.ID)
}

// labelSample is a look at the rows of a label.
type labelSample struct {
	g     *graphView
	v     store.View
	l     *catalog.Label
	r     *rand.Rand
	props stats.Sampler
	ids   []uint64
	whole bool // every row was looked at
}

// take reads whole pages, evenly spread over the heaps, and keeps each row with the chance that makes about stats.SampleRows of them.
func (s *labelSample) take(ctx context.Context) error {
	g := s.g
	heaps := []*catalog.Label{s.l}
	if s.l.Entity == schema.Vertex {
		heaps = g.heapsOf(s.l.ID)
	}
	var blocks float64
	sizes := make([]page.Block, len(heaps))
	for i, h := range heaps {
		if err := g.s.tx.lockLabel(ctx, h, txn.AccessShare); err != nil {
			return err
		}
		n, err := h.Heap.Blocks()
		if err != nil {
			return err
		}
		sizes[i] = n
		blocks += float64(n)
	}
	step := max(1, blocks/sampleBlocks)
	keep := 1.0
	if rows := g.count(s.l) / step; rows > stats.SampleRows {
		keep = stats.SampleRows / rows
	}
	s.whole = step == 1 && keep == 1
	for i, h := range heaps {
		for at := s.r.Float64() * (step - 1); at < float64(sizes[i]); at += step {
			b := page.Block(at)
			if err := s.block(ctx, h, b, keep); err != nil {
				return err
			}
			if s.props.Full() {
				s.whole = false
				return nil
			}
		}
	}
	return nil
}

func (s *labelSample) block(ctx context.Context, h *catalog.Label, at page.Block, keep float64) error {
	sc := h.Heap.ScanRange(snapOf(s.v), s.v.CID, at, at+1)
	var b heap.Batch
	for {
		if err := sc.Next(ctx, vec.MaxRows, &b); err != nil {
			return err
		}
		if b.Len() == 0 {
			return nil
		}
		for i := range b.Len() {
			if keep < 1 && s.r.Float64() >= keep {
				continue
			}
			if err := s.row(ctx, b.Row(i)); err != nil {
				return err
			}
		}
	}
}

func (s *labelSample) row(ctx context.Context, row []byte) error {
	e := s.l.Entity
	if err := checkRow(e, row); err != nil {
		return err
	}
	if e == schema.Vertex {
		set := s.g.g.Set(rowSet(row))
		if set == nil || !set.Has(s.l.ID) {
			return nil
		}
		s.ids = append(s.ids, rowID(row))
	}
	var p value.Props
	p, err := s.g.props(ctx, e, row)
	if err != nil {
		return err
	}
	s.props.Row(p)
	return nil
}

// degrees counts the relationships of the sampled vertices.
func (s *labelSample) degrees(ctx context.Context, total float64) ([]*stats.Degree, error) {
	kinds := s.kinds()
	if len(kinds) == 0 || len(s.ids) == 0 {
		return nil, nil
	}
	s.r.Shuffle(len(s.ids), func(i, j int) { s.ids[i], s.ids[j] = s.ids[j], s.ids[i] })
	ids := s.ids[:min(len(s.ids), degreeVertices)]
	near := slices.Clone(ids[:min(len(ids), neighbourSample)])
	slices.Sort(ids) // neighbours in the tree are read together
	d := stats.NewDegreeSampler(kinds)
	counts := make([][]int64, len(kinds))
	for i := range counts {
		counts[i] = make([]int64, vec.MaxRows)
	}
	deg := make([]int64, len(kinds))
	for len(ids) > 0 {
		n := min(len(ids), vec.MaxRows)
		if err := s.countOf(ctx, kinds, ids[:n], counts); err != nil {
			return nil, err
		}
		for v := range n {
			for k := range kinds {
				deg[k] = counts[k][v]
			}
			d.Add(deg)
		}
		ids = ids[n:]
	}
	for k := range kinds {
		if err := s.neighbours(ctx, d, k, kinds[k], near); err != nil {
			return nil, err
		}
	}
	return d.Degrees(total), nil
}

// kinds are the types and directions that occur at the label, three to a type, and three for all types together.
func (s *labelSample) kinds() []stats.Kind {
	g := s.g
	type found struct {
		t schema.LabelID
		n float64
	}
	var types []found
	for _, t := range g.g.Labels() {
		if t == nil || t.Entity != schema.Edge || t.Heap == nil || t.FilesGone() {
			continue
		}
		if n := g.RelsBetween(s.l.ID, t.ID, schema.NoLabel) + g.RelsBetween(schema.NoLabel, t.ID, s.l.ID); n > 0 {
			types = append(types, found{t.ID, n})
		}
	}
	slices.SortStableFunc(types, func(a, b found) int { return cmp.Compare(b.n, a.n) })
	if len(types) == 0 {
		return nil
	}
	types = types[:min(len(types), degreeTypes)]
	slices.SortFunc(types, func(a, b found) int { return cmp.Compare(a.t, b.t) })
	kinds := []stats.Kind{{Dir: stats.Out}, {Dir: stats.In}, {Dir: stats.Both}}
	for _, t := range types {
		kinds = append(kinds, stats.Kind{Type: t.t, Dir: stats.Out}, stats.Kind{Type: t.t, Dir: stats.In}, stats.Kind{Type: t.t, Dir: stats.Both})
	}
	return kinds
}

// countOf fills the degrees of vertices: those of the single types and directions by probes, the rest by sums.
func (s *labelSample) countOf(ctx context.Context, kinds []stats.Kind, ids []uint64, counts [][]int64) error {
	for k := range 3 {
		clear(counts[k])
	}
	for k := 3; k < len(kinds); k += 3 {
		t := []schema.LabelID{kinds[k].Type}
		for i, dir := range [2]store.Direction{store.Out, store.In} {
			if err := s.g.Degree(ctx, s.v, ids, dir, t, counts[k+i]); err != nil {
				return err
			}
		}
		for v := range ids {
			counts[k+2][v] = counts[k][v] + counts[k+1][v]
			for i := range 3 {
				counts[i][v] += counts[k+i][v]
			}
		}
	}
	return nil
}

func (s *labelSample) neighbours(ctx context.Context, d *stats.DegreeSampler, k int, kind stats.Kind, ids []uint64) error {
	var types []schema.LabelID
	if kind.Type != schema.NoLabel {
		types = []schema.LabelID{kind.Type}
	}
	cur, err := s.g.Expand(ctx, s.v, ids, store.Direction(kind.Dir), types)
	if err != nil {
		return err
	}
	defer cur.Close()
	var e store.Edges
	seen := map[uint64]struct{}{}
	at, edges := 0, 0
	for edges < neighbourEdges {
		if err := cur.Next(ctx, vec.MaxRows, &e); err != nil {
			return err
		}
		if len(e.Row) == 0 {
			for ; at < len(ids); at++ {
				d.Neighbours(k, len(seen))
				clear(seen)
			}
			return nil
		}
		edges += len(e.Row)
		for i, row := range e.Row {
			for ; at < int(row); at++ {
				d.Neighbours(k, len(seen))
				clear(seen)
			}
			seen[e.Other[i]] = struct{}{}
		}
	}
	return nil
}

// labelRef is a label of a graph.
type labelRef struct {
	graph schema.GraphID
	label schema.LabelID
}

// changes count the rows of each heap that committed transactions made, changed or deleted since the database opened.
type changes struct {
	mu   sync.Mutex // guards the fields below
	rows map[labelRef]int64
	at   map[labelRef]int64 // sum when the label was last analysed, or found
}

func (c *changes) add(list []touched) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil {
		c.rows = map[labelRef]int64{}
	}
	for _, t := range list {
		c.rows[t.labelRef] += t.n
	}
}

// sum adds up the heaps that may hold the label.
func (c *changes) sum(l *catalog.Label) int64 {
	heaps := []*catalog.Label{l}
	if l.Entity == schema.Vertex {
		heaps = l.Holders()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int64(0)
	for _, h := range heaps {
		n += c.rows[labelRef{l.Graph.ID, h.ID}]
	}
	return n
}

func (c *changes) since(ref labelRef, sum int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return sum - c.at[ref]
}

func (c *changes) analysed(ref labelRef, sum int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = map[labelRef]int64{}
	}
	c.at[ref] = sum
}

// touched are rows of a heap that a transaction made, changed or deleted.
type touched struct {
	labelRef
	n int64
}

// touch notes n changed rows of a label's heap.
func (d *deltas) touch(l *catalog.Label, n int) {
	d.join()
	ref := labelRef{l.Graph.ID, l.ID}
	for i := range d.touched {
		if d.touched[i].labelRef == ref {
			d.touched[i].n += int64(n)
			return
		}
	}
	d.touched = append(d.touched, touched{ref, int64(n)})
}

// Statistics are due after so many changed rows.
const (
	analyzeRows  = 50
	analyzeShare = 0.1
)

// Due names a label whose statistics are missing or old.
type Due struct {
	Graph string
	Label schema.LabelID
	Name  string
}

// StatsDue lists the labels and types of which so much has changed since they were analysed that it should be done again.
func (s *Store) StatsDue() []Due {
	var out []Due
	for _, g := range s.cat.AllGraphs() {
		if g.Gone() {
			continue
		}
		view := &graphView{g: g}
		for _, l := range g.Labels() {
			if l == nil || l.Heap == nil || l.Gone() || l.ID < schema.FirstUserLabel {
				continue
			}
			var rows float64
			if l.Entity == schema.Edge {
				rows = s.counts.rels(view, l.ID, schema.NoLabel, schema.NoLabel)
			} else {
				rows = float64(s.counts.nodes(view, l.ID))
			}
			changed := float64(s.changed.since(labelRef{g.ID, l.ID}, s.changed.sum(l)))
			base := 0.0
			if st := l.Stats(); st != nil {
				base = st.Rows
				// Before the database was opened somebody may have changed more than is known now.
				changed = max(changed, rows-base, base-rows)
			} else {
				changed = max(changed, rows)
			}
			if changed > analyzeRows+analyzeShare*base {
				out = append(out, Due{g.Name, l.ID, l.Name})
			}
		}
	}
	return out
}
