package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/graph/path"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// pathSearch is PathSearch: for each row, or for all rows of a batch that begin at the same vertex, one search of the pattern by length.
type pathSearch struct {
	core
	in      input
	n       *plan.PathSearch
	segs    []*segmentOf
	shape   []path.Segment
	whole   *expr.Program
	count   *expr.Program
	limit   int64
	search  path.Product
	closed  closedTrails
	uniq    unique
	batch   *expr.Batch
	first   bool
	src     []uint64
	dst     []uint64
	scratch [2][]uint64
	charged charge
	held    int64 // bytes of the search

	served []bool // rows of the batch that have had their turn
	at     int    // rows before this one have
	group  []uint16
	live   bool // the search of group is under way
	tries  int  // paths found before the condition on whole ones is judged: few at first, since going on for another may be long
	ends   map[uint64]*endOf

	found trailStore
	pairs []pairOf // what is to be put out: the row and the trail
	out1  int      // pairs before this one are out
	idx   []uint16
	stage rows
	sel   []uint16
	elem  []value.Value
	buf   []byte

	edges  store.Edges
	cand   []uint16
	rounds roundStore
}

// segmentOf is a segment of the pattern, compiled.
type segmentOf struct {
	n    *plan.PathSegment
	hops []*hop
	gate *expr.Program
}

// endOf counts the paths kept to one vertex.
type endOf struct {
	rows   []uint16 // of the group that end there
	paths  int64
	groups int64
	last   int // length of the last group
}

type pairOf struct {
	row   uint16
	trail int
}

// trailStore keeps trails in the order in which they were found, one after the other.
type trailStore struct {
	length      []int
	ends        []uint64
	nodes, rels []uint64
	rounds      []int32
	atNode      []int
	atRel       []int
	atRound     []int
}

func (s *trailStore) reset() {
	s.length, s.ends = s.length[:0], s.ends[:0]
	s.nodes, s.rels, s.rounds = s.nodes[:0], s.rels[:0], s.rounds[:0]
	s.atNode, s.atRel, s.atRound = s.atNode[:0], s.atRel[:0], s.atRound[:0]
}

func (s *trailStore) bytes() int64 {
	return int64(8*(cap(s.nodes)+cap(s.rels)+cap(s.ends)) + 4*cap(s.rounds) + 32*cap(s.length))
}

// add copies a trail, turned round if it was walked from the pattern's right end.
func (s *trailStore) add(end uint64, nodes, rels []uint64, rounds []int32, reversed bool, segs int) {
	s.ends, s.length = append(s.ends, end), append(s.length, len(rels))
	s.atNode, s.atRel, s.atRound = append(s.atNode, len(s.nodes)), append(s.atRel, len(s.rels)), append(s.atRound, len(s.rounds))
	if !reversed {
		s.nodes, s.rels, s.rounds = append(s.nodes, nodes...), append(s.rels, rels...), append(s.rounds, rounds...)
		return
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		s.nodes = append(s.nodes, nodes[i])
	}
	for i := len(rels) - 1; i >= 0; i-- {
		s.rels = append(s.rels, rels[i])
	}
	for i := len(rounds) - 1; i >= 0; i-- {
		s.rounds = append(s.rounds, int32(segs-1)-rounds[i])
	}
}

func part[T any](all []T, at []int, i int) []T {
	if i+1 < len(at) {
		return all[at[i]:at[i+1]]
	}
	return all[at[i]:]
}

func (s *trailStore) trail(i int) (nodes, rels []uint64, rounds []int32) {
	return part(s.nodes, s.atNode, i), part(s.rels, s.atRel, i), part(s.rounds, s.atRound, i)
}

func (x *run) pathSearch(n *plan.PathSearch) (operator, error) {
	o := &pathSearch{n: n, ends: map[uint64]*endOf{}}
	o.init(x, n.Info())
	o.uniq.slots = n.Unique
	o.stage.width, o.rounds.stage.width = o.out.width, o.out.width
	if err := x.child(&o.in, n.Child); err != nil {
		return nil, err
	}
	var err error
	for i := range n.Segs {
		s := &segmentOf{n: &n.Segs[i]}
		for j := range s.n.Hops {
			h := &hop{n: &s.n.Hops[j], at: j}
			if h.pred, err = o.program(h.n.Pred); err != nil {
				return nil, err
			}
			s.hops = append(s.hops, h)
		}
		if s.gate, err = o.program(s.n.Gate); err != nil {
			return nil, err
		}
		o.segs = append(o.segs, s)
		o.shape = append(o.shape, path.Segment{Hops: len(s.hops), Min: s.n.Min, Max: s.n.Max, Gate: s.gate != nil})
	}
	if o.whole, err = o.program(n.Whole); err != nil {
		return nil, err
	}
	if o.count, err = o.program(n.Count); err != nil {
		return nil, err
	}
	o.search.Account = func(n int64) error { o.held = n; return o.charge() }
	o.search.Check = x.check
	o.search.Wanted, o.search.Done = o.wanted, o.done
	o.closed.init(o)
	return o, nil
}

func (o *pathSearch) charge() error {
	return o.charged.set(&o.acct, o.held+o.closed.held+o.found.bytes()+o.rounds.bytes()+int64(16*cap(o.pairs)+64*len(o.ends)))
}

func (o *pathSearch) open() error {
	o.restart()
	o.batch, o.first, o.live = nil, true, false
	o.pairs, o.out1 = o.pairs[:0], 0
	return o.in.op.open()
}

func (o *pathSearch) close() {
	_ = o.charged.set(&o.acct, 0)
	o.core.close()
}

func (o *pathSearch) next() (*expr.Batch, error) {
	for {
		if o.out1 < len(o.pairs) {
			return o.emit()
		}
		o.pairs, o.out1 = o.pairs[:0], 0
		var err error
		switch {
		case o.batch == nil:
			var ok bool
			if ok, err = o.begin(); !ok || err != nil {
				return nil, err
			}
		case !o.live:
			err = o.nextGroup()
		default:
			err = o.fill()
		}
		if err != nil {
			return nil, err
		}
	}
}

// begin takes the next input batch.
func (o *pathSearch) begin() (bool, error) {
	b, err := o.in.next()
	if b == nil || err != nil {
		return false, err
	}
	if err := o.sync(); err != nil {
		return false, err
	}
	if o.first {
		o.first, o.limit = false, 1
		for _, s := range o.segs {
			for _, h := range s.hops {
				h.ids, h.some = o.types(h.n.Types, h.ids)
			}
		}
		if o.count != nil {
			if o.limit, err = o.counter(o.count, "SHORTEST"); err != nil {
				return false, err
			}
			if o.limit < 1 {
				return false, noPaths()
			}
		}
		o.closed.plan()
	}
	if o.src, err = ids(b.Cols[o.n.From], value.Node, &o.scratch[0]); err != nil {
		return false, err
	}
	if o.n.Into {
		if o.dst, err = ids(b.Cols[o.n.To], value.Node, &o.scratch[1]); err != nil {
			return false, err
		}
	}
	o.batch, o.at, o.live = b, 0, false
	o.served = grow(o.served, b.N)
	clear(o.served)
	o.uniq.reset()
	return true, nil
}

// nextGroup begins the search for the next row, and for those that can share it.
func (o *pathSearch) nextGroup() error {
	for o.at < o.batch.N && (o.served[o.at] || !o.reachable(o.at)) {
		o.at++
	}
	if o.at >= o.batch.N {
		o.batch = nil
		return nil
	}
	o.group = o.group[:0]
	clear(o.ends)
	to := o.at + 1
	if o.n.Shared {
		to = o.batch.N
	}
	for i := o.at; i < to; i++ {
		if o.served[i] || o.src[i] != o.src[o.at] || !o.reachable(i) {
			continue
		}
		o.served[i] = true
		o.group = append(o.group, uint16(i))
		if o.n.Into {
			e := o.ends[o.dst[i]]
			if e == nil {
				e = &endOf{last: -1}
				o.ends[o.dst[i]] = e
			}
			e.rows = append(e.rows, uint16(i))
		}
	}
	o.live, o.tries = true, 1
	o.closed.begin()
	return o.search.Begin(o, o.shape, o.src[o.at])
}

// reachable: a null begins and ends no path.
func (o *pathSearch) reachable(i int) bool { return o.src[i] != 0 && (!o.n.Into || o.dst[i] != 0) }

func (o *pathSearch) wanted(end uint64, length int) bool {
	if o.closed.left && end == o.closed.start() {
		return false
	}
	e := o.ends[end]
	if e == nil {
		return !o.n.Into
	}
	if o.n.Kind == plan.GroupsByLength {
		return e.groups < o.limit || e.last == length
	}
	return e.paths < o.limit
}

func (o *pathSearch) done(length int) bool {
	if !o.n.Into {
		return false
	}
	for end := range o.ends {
		if o.wanted(end, length) {
			return false
		}
	}
	return true
}

// keep counts a path to a vertex; false if there are enough.
func (o *pathSearch) keepPath(end uint64, length int) (*endOf, bool) {
	if !o.wanted(end, length) {
		return nil, false
	}
	e := o.ends[end]
	if e == nil {
		e = &endOf{last: -1, rows: o.group}
		o.ends[end] = e
	}
	e.paths++
	if e.last != length {
		e.groups, e.last = e.groups+1, length
	}
	return e, true
}

// fill takes trails from the search until there is a batch of them, or they get longer, or it ends.
func (o *pathSearch) fill() error {
	limit := o.take()
	if o.whole != nil {
		limit = o.tries
		o.tries = min(2*o.tries, o.x.opt.BatchSize)
	}
	o.found.reset()
	for len(o.found.ends) < limit {
		ok, err := o.advance()
		if err != nil {
			return err
		}
		if !ok {
			o.live = false
			break
		}
		end, length := o.endOfTrail()
		if o.whole == nil {
			e, ok := o.keepPath(end, length)
			if !ok {
				continue
			}
			for _, r := range e.rows {
				o.pairs = append(o.pairs, pairOf{r, len(o.found.ends)})
			}
		}
		nodes, rels, rounds := o.trail()
		o.found.add(end, nodes, rels, rounds, o.n.Reversed, len(o.segs))
	}
	if o.whole != nil && len(o.found.ends) > 0 {
		if err := o.judge(); err != nil {
			return err
		}
	}
	return o.charge()
}

// judge tests the condition on whole paths and keeps those that are wanted.
func (o *pathSearch) judge() error {
	s := &o.stage
	s.start()
	o.idx = grow(o.idx, len(o.found.ends))
	for i := range o.idx {
		o.idx[i] = o.group[0]
	}
	// With Into the row must be one that ends where the path does; the condition reads no other variable of it if it has companions.
	if o.n.Into {
		for i, end := range o.found.ends {
			o.idx[i] = o.ends[end].rows[0]
		}
	}
	s.gather(o.batch, nil, o.idx)
	for i := range o.idx {
		o.write(s, i, i == 0)
	}
	sel, err := o.whole.Filter(&o.env, &s.b, nil, o.sel[:0])
	if err != nil {
		return err
	}
	o.sel = sel
	for _, i := range sel {
		if e, ok := o.keepPath(o.found.ends[i], o.found.length[i]); ok {
			for _, r := range e.rows {
				o.pairs = append(o.pairs, pairOf{r, int(i)})
			}
		}
	}
	return nil
}

// emit puts out the next paths.
func (o *pathSearch) emit() (*expr.Batch, error) {
	to := min(len(o.pairs), o.out1+o.x.opt.BatchSize)
	o.out.start()
	o.idx = o.idx[:0]
	for i, p := range o.pairs[o.out1:to] {
		o.idx = append(o.idx, p.row)
		o.write(&o.out, p.trail, i == 0)
	}
	o.out1 = to
	o.out.gather(o.batch, o.keep, o.idx)
	return &o.out.b, o.account()
}

// write appends what trail i binds to the columns of r.
func (o *pathSearch) write(r *rows, i int, first bool) {
	nodes, rels, rounds := o.found.trail(i)
	n := o.n
	col := func(s plan.Slot) {
		if first && s != plan.NoSlot {
			r.col(s)
		}
	}
	col(n.Rels)
	col(n.Path)
	for _, v := range n.Vars {
		col(v.Slot)
	}
	if !n.Into {
		col(n.To)
		r.b.Cols[n.To].AppendWord(value.Node, o.found.ends[i])
		if n.ToHint != plan.NoSlot {
			col(n.ToHint)
			r.b.Cols[n.ToHint].AppendWord(value.Int, 0)
		}
	}
	if n.Rels != plan.NoSlot {
		o.list(r, n.Rels, rels, value.NewRel)
	}
	if n.Path != plan.NoSlot {
		o.elem = append(o.elem[:0], value.NewNode(nodes[0]))
		for k, id := range rels {
			o.elem = append(o.elem, value.NewRel(id), value.NewNode(nodes[k+1]))
		}
		r.b.Cols[n.Path].Append(value.NewPath(o.elem...))
	}
	for _, v := range n.Vars {
		o.variable(r, v, nodes, rels, rounds)
	}
}

func (o *pathSearch) list(r *rows, s plan.Slot, idv []uint64, of func(uint64) value.Value) {
	o.elem = o.elem[:0]
	for _, id := range idv {
		o.elem = append(o.elem, of(id))
	}
	o.buf = value.AppendList(o.buf[:0], o.elem...)
	r.b.Cols[s].AppendBytes(value.List, o.buf)
}

// variable appends the value of a variable inside the pattern.
func (o *pathSearch) variable(r *rows, v plan.PathVar, nodes, rels []uint64, rounds []int32) {
	at := 0
	o.elem = o.elem[:0]
	for _, seg := range rounds {
		if int(seg) > v.Seg {
			break
		}
		k := o.hopsOf(int(seg))
		if int(seg) == v.Seg {
			if v.One {
				break
			}
			if v.Rel {
				o.elem = append(o.elem, value.NewRel(rels[at+v.At]))
			} else {
				o.elem = append(o.elem, value.NewNode(nodes[at+v.At]))
			}
		}
		at += k
	}
	c := r.b.Cols[v.Slot]
	switch {
	case v.One && v.Rel:
		c.AppendWord(value.Rel, rels[at])
	case v.One:
		c.AppendWord(value.Node, nodes[at])
	default:
		o.buf = value.AppendList(o.buf[:0], o.elem...)
		c.AppendBytes(value.List, o.buf)
	}
}

// hopsOf returns the hops in a round of a segment, counted in the pattern's order.
func (o *pathSearch) hopsOf(seg int) int {
	if o.n.Reversed {
		seg = len(o.segs) - 1 - seg
	}
	return len(o.segs[seg].hops)
}

// ---- what the search asks ----------------------------------------------------------------------------------------------

// Passes implements path.Rounds.
func (o *pathSearch) Passes(seg int, nodes []uint64, ok []bool) error {
	s, st := o.segs[seg], &o.rounds.stage
	st.start()
	o.idx = grow(o.idx, len(nodes))
	for i := range o.idx {
		o.idx[i] = o.group[0]
	}
	st.gather(o.batch, nil, o.idx)
	st.entityCol(s.n.GateSlot, value.Node, nodes)
	sel, err := s.gate.Filter(&o.env, &st.b, nil, o.sel[:0])
	if err != nil {
		return err
	}
	o.sel = sel
	clear(ok)
	for _, i := range sel {
		ok[i] = true
	}
	return nil
}

// roundStore holds the ways through a round while they grow, a level a hop.
type roundStore struct {
	levels []wayLevel
	ways   path.Ways
	stage  rows
	col    [2][]uint64
	at     []int32
}

type wayLevel struct {
	parent    []int32
	rel, node []uint64
}

func (s *roundStore) bytes() (n int64) {
	for i := range s.levels {
		n += int64(20 * cap(s.levels[i].node))
	}
	return n + int64(20*cap(s.ways.Rel))
}

// roundChunk is how many vertices the rounds of several hops are asked for at a time.
const roundChunk = 64

// Rounds implements path.Rounds.
func (o *pathSearch) Rounds(seg int, src []uint64, yield func(*path.Ways) error) error {
	s := o.segs[seg]
	for _, h := range s.hops {
		if !h.some {
			return nil
		}
	}
	chunk := min(o.x.opt.BatchSize, 1024)
	if len(s.hops) > 1 {
		chunk = min(chunk, roundChunk)
	}
	for from := 0; from < len(src); from += chunk {
		if err := o.roundsOf(s, src, from, min(len(src), from+chunk), yield); err != nil {
			return err
		}
	}
	return nil
}

func (o *pathSearch) roundsOf(s *segmentOf, src []uint64, from, to int, yield func(*path.Ways) error) error {
	r := &o.rounds
	k := len(s.hops)
	for len(r.levels) <= k {
		r.levels = append(r.levels, wayLevel{})
	}
	l := &r.levels[0]
	l.parent, l.rel, l.node = l.parent[:0], l.rel[:0], append(l.node[:0], src[from:to]...)
	for j, h := range s.hops {
		if err := o.walkHop(s, h, j, func() error {
			if j+1 < k {
				return nil
			}
			// The last hop: the ways found so far are whole.
			r.ways.Reset(k)
			last := &r.levels[k]
			for i := range last.node {
				at := len(r.ways.Rel)
				r.ways.Rel, r.ways.Node = append(r.ways.Rel, make([]uint64, k)...), append(r.ways.Node, make([]uint64, k)...)
				row := int32(i)
				for d := k; d > 0; d-- {
					lv := &r.levels[d]
					r.ways.Rel[at+d-1], r.ways.Node[at+d-1] = lv.rel[row], lv.node[row]
					row = lv.parent[row]
				}
				r.ways.Row = append(r.ways.Row, row+int32(from))
			}
			last.parent, last.rel, last.node = last.parent[:0], last.rel[:0], last.node[:0]
			if len(r.ways.Row) == 0 {
				return nil
			}
			return yield(&r.ways)
		}); err != nil {
			return err
		}
	}
	return nil
}

// walkHop makes level j+1 of what continues level j; piece is called after every piece of it.
func (o *pathSearch) walkHop(s *segmentOf, h *hop, j int, piece func() error) error {
	r := &o.rounds
	l, up := &r.levels[j], &r.levels[j+1]
	up.parent, up.rel, up.node = up.parent[:0], up.rel[:0], up.node[:0]
	for from := 0; from < len(l.node); from += o.x.opt.BatchSize {
		to := min(len(l.node), from+o.x.opt.BatchSize)
		cur, err := o.x.g.Expand(o.x.ctx, o.env.View, l.node[from:to:to], h.n.Dir, h.ids)
		if err != nil {
			return err
		}
		for {
			more, err := o.walkPiece(s, h, j, from, cur)
			if err == nil && more {
				err = piece()
			}
			if !more || err != nil {
				cur.Close()
				if err != nil {
					return err
				}
				break
			}
		}
	}
	return o.charge()
}

func (o *pathSearch) walkPiece(s *segmentOf, h *hop, j, from int, cur store.EdgeCursor) (bool, error) {
	if err := o.x.check(); err != nil {
		return false, err
	}
	e, r := &o.edges, &o.rounds
	if err := cur.Next(o.x.ctx, o.x.opt.BatchSize, e); err != nil {
		return false, err
	}
	if len(e.Rel) == 0 {
		return false, nil
	}
	row := int(o.group[0])
	o.cand = o.cand[:0]
	for i, p := range e.Row {
		if !o.uniq.clash(o.batch, row, e.Rel[i]) && !o.inRound(j, int32(from)+int32(p), e.Rel[i]) {
			o.cand = append(o.cand, uint16(i))
		}
	}
	cand := o.cand
	if h.pred != nil && len(cand) > 0 {
		var err error
		if cand, err = o.testHop(s, h, j, from, cand); err != nil {
			return false, err
		}
	}
	up := &r.levels[j+1]
	for _, i := range cand {
		up.parent, up.rel, up.node = append(up.parent, int32(from)+int32(e.Row[i])), append(up.rel, e.Rel[i]), append(up.node, e.Other[i])
	}
	return true, nil
}

// inRound reports whether the way at a row of level j uses the relationship.
func (o *pathSearch) inRound(j int, row int32, rel uint64) bool {
	for ; j > 0; j-- {
		l := &o.rounds.levels[j]
		if l.rel[row] == rel {
			return true
		}
		row = l.parent[row]
	}
	return false
}

// testHop keeps the relationships with which the condition of hop j holds.
func (o *pathSearch) testHop(s *segmentOf, h *hop, j, from int, cand []uint16) ([]uint16, error) {
	r, e := &o.rounds, &o.edges
	st := &r.stage
	st.start()
	o.idx = grow(o.idx, len(cand))
	r.at = grow(r.at, len(cand))
	rel, other := grow(r.col[0], len(cand)), grow(r.col[1], len(cand))
	r.col[0], r.col[1] = rel, other
	for k, i := range cand {
		o.idx[k], r.at[k] = o.group[0], int32(from)+int32(e.Row[i])
		rel[k], other[k] = e.Rel[i], e.Other[i]
	}
	st.gather(o.batch, nil, o.idx)
	st.entityCol(h.n.Rel, value.Rel, rel)
	st.entityCol(h.n.Node, value.Node, other)
	for d := j; d >= 0; d-- {
		l := &r.levels[d]
		for k, at := range r.at {
			other[k] = l.node[at]
		}
		if d == 0 {
			st.entityCol(s.n.First, value.Node, other)
			break
		}
		for k, at := range r.at {
			rel[k], r.at[k] = l.rel[at], l.parent[at]
		}
		st.entityCol(s.hops[d-1].n.Node, value.Node, other)
		st.entityCol(s.hops[d-1].n.Rel, value.Rel, rel)
	}
	sel, err := h.pred.Filter(&o.env, &st.b, nil, o.sel[:0])
	if err != nil {
		return nil, err
	}
	o.sel = sel
	for k, i := range sel {
		cand[k] = cand[i]
	}
	return cand[:len(sel)], nil
}
