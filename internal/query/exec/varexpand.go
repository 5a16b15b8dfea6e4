package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// stepper filters the relationships that a traversal meets: uniqueness group, predicates on the relationship and on the vertex reached.
type stepper struct {
	relPred, nodePred *expr.Program
	relSlot, nodeSlot plan.Slot
	uniq              unique
	stage             rows
	sel               []uint16
	pos               []uint16
}

func (s *stepper) init(c *core, relPred, nodePred expr.Expr, relSlot, nodeSlot plan.Slot, group []plan.Slot) (err error) {
	s.relSlot, s.nodeSlot, s.uniq.slots = relSlot, nodeSlot, group
	s.stage.width = c.out.width
	if s.relPred, err = c.program(relPred); err != nil {
		return err
	}
	s.nodePred, err = c.program(nodePred)
	return err
}

// filter returns the positions of edges that pass; rows[i] is the input row that edge i belongs to. cand lists the positions to look at.
func (s *stepper) filter(c *core, in *expr.Batch, e *store.Edges, rows, cand []uint16) ([]uint16, error) {
	if len(s.uniq.slots) > 0 {
		n := 0
		for _, i := range cand {
			if !s.uniq.clash(in, int(rows[i]), e.Rel[i]) {
				cand[n] = i
				n++
			}
		}
		cand = cand[:n]
	}
	if s.relPred == nil && s.nodePred == nil || len(cand) == 0 {
		return cand, nil
	}
	s.pos = grow(s.pos, len(cand))
	rel, other := make64(&c.x.scratch[0], len(cand)), make64(&c.x.scratch[1], len(cand))
	for k, i := range cand {
		s.pos[k] = rows[i]
		rel[k], other[k] = e.Rel[i], e.Other[i]
	}
	s.stage.start()
	s.stage.gather(in, nil, s.pos)
	if s.relPred != nil {
		s.stage.entityCol(s.relSlot, value.Rel, rel)
	}
	if s.nodePred != nil {
		s.stage.entityCol(s.nodeSlot, value.Node, other)
	}
	sel := s.sel[:0]
	var err error
	if s.relPred != nil {
		if sel, err = s.relPred.Filter(&c.env, &s.stage.b, nil, sel); err != nil {
			return nil, err
		}
	} else {
		for k := range cand {
			sel = append(sel, uint16(k))
		}
	}
	s.sel = sel
	if s.nodePred != nil && len(sel) > 0 {
		s.pos = grow(s.pos, len(sel))
		if s.pos, err = s.nodePred.Filter(&c.env, &s.stage.b, sel, s.pos[:0]); err != nil {
			return nil, err
		}
		sel = s.pos
	}
	for k, i := range sel {
		cand[k] = cand[i]
	}
	return cand[:len(sel)], nil
}

// plain reports whether nothing but the uniqueness group decides.
func (s *stepper) plain() bool { return s.relPred == nil && s.nodePred == nil }

func make64(s *[]uint64, n int) []uint64 {
	*s = grow(*s, n)
	return *s
}

// traversal is what the modes of VarExpand share.
type traversal struct {
	core
	in      input
	n       *plan.VarExpand
	step    stepper
	batch   *expr.Batch
	first   bool
	ids     []schema.LabelID
	some    bool
	src     []uint64
	dst     []uint64
	scratch [2][]uint64
	runs    store.Runs  // what is lent
	edges   store.Edges // the same one by one, where predicates are asked
	banned  []uint32    // scratch: lower halves of relationships that may not come again
	cand    []uint16
	rows    []uint16
	idx     []uint16
	to      []uint64
}

func (o *traversal) restart() {
	o.core.restart()
	o.batch, o.first = nil, true
}

// begin takes the next input batch; false at the end.
func (o *traversal) begin() (bool, error) {
	b, err := o.in.next()
	if b == nil || err != nil {
		return false, err
	}
	if err := o.x.check(); err != nil {
		return false, err
	}
	if err := o.sync(); err != nil {
		return false, err
	}
	if o.first {
		o.ids, o.some = o.types(o.n.Types, o.ids)
		o.first = false
	}
	if o.src, err = ids(b.Cols[o.n.From], value.Node, &o.scratch[0]); err != nil {
		return false, err
	}
	if o.n.Into {
		if o.dst, err = ids(b.Cols[o.n.To], value.Node, &o.scratch[1]); err != nil {
			return false, err
		}
	}
	o.batch = b
	o.step.uniq.reset()
	return true, nil
}

func (o *traversal) max() int {
	if o.n.Max < 0 {
		return int(^uint(0) >> 1)
	}
	return o.n.Max
}

// level is a block of partial trails of one length. The trails before them stand in the levels below, as long as the block lives.
type level struct {
	parent []uint16 // row in the level below
	src    []uint16 // input row
	rel    []uint64
	node   []uint64
	cur    store.RunCursor
}

// reset empties the block.
func (l *level) reset() {
	l.parent, l.src, l.rel, l.node = l.parent[:0], l.src[:0], l.rel[:0], l.node[:0]
}

// add adds trails that continue trail p of the level below, which belongs to input row src.
func (l *level) add(p, src uint16, r *store.Run) {
	l.rel, l.node = r.AppendRels(l.rel), r.AppendOthers(l.node)
	l.parent, l.src = repeat(l.parent, p, r.Len()), repeat(l.src, src, r.Len())
}

func (l *level) stop() {
	if l.cur != nil {
		l.cur.Close()
		l.cur = nil
	}
}

// trails is VarExpand by trails: a depth-first search over blocks. Level d holds up to a batch of trails of length d; one store call
// expands the whole block, its relationships come in pieces, each piece is the next level. So the memory is one block a
// level, and the number of calls is that of blocks, not of vertices.
type trails struct {
	traversal
	levels []*level
	depth  int    // of the top level; −1: none
	round  []*hop // of a quantified path pattern; empty: the step is a single relationship
	staged rows   // a round's vertices and relationships, for its predicates
	chain  []value.Value
	buf    []byte
	trail  []uint64 // scratch: relationships of a trail and of its uniqueness group
	set    idSet    // relationships of the trail setRow at the top level, when it is long
	setRow int
}

func (o *trails) open() error {
	o.stop()
	o.traversal.restart()
	return o.in.op.open()
}

func (o *trails) stop() {
	for _, l := range o.levels {
		l.stop()
	}
	o.depth = -1
}

func (o *trails) close() { o.stop(); o.core.close() }

func (o *trails) level(d int) *level {
	for len(o.levels) <= d {
		o.levels = append(o.levels, &level{})
	}
	return o.levels[d]
}

func (o *trails) next() (*expr.Batch, error) {
	for {
		if o.depth < 0 {
			ok, err := o.begin()
			if !ok || err != nil {
				return nil, err
			}
			o.resolve()
			o.root()
			if o.n.Min == 0 {
				if b, err := o.emit(0); b != nil || err != nil {
					return b, err
				}
			}
			continue
		}
		d := o.depth
		more, err := o.pull(d)
		if err != nil {
			return nil, err
		}
		if !more {
			o.levels[d].stop()
			o.depth--
			continue
		}
		if len(o.levels[d+1].rel) == 0 {
			continue
		}
		if d+1 < o.hops(o.max()) {
			o.depth = d + 1
		}
		if k := max(1, len(o.round)); (d+1)%k == 0 && (d+1)/k >= o.n.Min {
			if b, err := o.emit(d + 1); b != nil || err != nil {
				return b, err
			}
		}
	}
}

// root makes level 0 of the input batch: its start vertices.
func (o *trails) root() {
	l := o.level(0)
	l.reset()
	for i := range o.batch.N {
		if id := o.src[i]; id != 0 {
			l.src, l.node, l.rel, l.parent = append(l.src, uint16(i)), append(l.node, id), append(l.rel, 0), append(l.parent, 0)
		}
	}
	o.depth = -1
	if len(l.node) > 0 && o.max() > 0 && o.some {
		o.depth = 0
	}
}

// pull fills level d+1 with the next piece of what continues the trails of level d; false if there is no more.
func (o *trails) pull(d int) (bool, error) {
	up, l := o.level(d+1), o.levels[d]
	dir, ids := o.n.Dir, o.ids
	var at *hop
	if len(o.round) > 0 {
		at = o.round[d%len(o.round)]
		if dir, ids = at.n.Dir, at.ids; !at.some {
			return false, nil
		}
	}
	if l.cur == nil {
		cur, err := o.x.g.Neighbours(o.x.ctx, o.env.View, l.node, dir, ids)
		if err != nil {
			return false, err
		}
		l.cur = cur
	}
	if err := o.x.check(); err != nil {
		return false, err
	}
	if err := l.cur.Next(o.x.ctx, o.take(), &o.runs); err != nil {
		return false, err
	}
	if len(o.runs.Run) == 0 {
		return false, nil
	}
	up.reset()
	if o.step.plain() && (at == nil || at.pred == nil) && d <= longTrail {
		o.extend(d, l, up)
	} else if err := o.sift(d, l, up, at); err != nil {
		return false, err
	}
	return true, o.mem.set(&o.acct, o.out.bytes()+int64(len(o.levels)*o.x.opt.BatchSize*20))
}

// extend fills the level up with what is lent, whole runs at a time, but for the relationships that a trail has already.
func (o *trails) extend(d int, l, up *level) {
	of := -1
	for k := range o.runs.Run {
		r := &o.runs.Run[k]
		p := int(r.Row)
		if p != of {
			of, o.trail = p, o.trail[:0]
			for row, d := p, d; d > 0; d-- {
				o.trail = append(o.trail, o.levels[d].rel[row])
				row = int(o.levels[d].parent[row])
			}
			o.trail = append(o.trail, o.step.uniq.used(o.batch, int(l.src[p]))...)
		}
		o.banned = r.Clashes(o.trail, o.banned[:0])
		at := 0
		for part, ok := r.Part(&at, o.banned); ok; part, ok = r.Part(&at, o.banned) {
			up.add(r.Row, l.src[p], &part)
		}
	}
}

// sift fills the level up with those of what is lent that satisfy the predicates.
func (o *trails) sift(d int, l, up *level, at *hop) error {
	e := &o.edges
	e.Reset()
	o.runs.Edges(e)
	o.rows = grow(o.rows, len(e.Rel))
	o.cand, o.setRow = o.cand[:0], -1
	for i, p := range e.Row {
		o.rows[i] = l.src[p]
		if !o.used(d, int(p), e.Rel[i]) {
			o.cand = append(o.cand, uint16(i))
		}
	}
	cand, err := o.step.filter(&o.core, o.batch, e, o.rows, o.cand)
	if err != nil {
		return err
	}
	if at != nil && at.pred != nil && len(cand) > 0 {
		if cand, err = o.test(at, d, e, cand); err != nil {
			return err
		}
	}
	for _, i := range cand {
		up.parent, up.src = append(up.parent, e.Row[i]), append(up.src, o.rows[i])
		up.rel, up.node = append(up.rel, e.Rel[i]), append(up.node, e.Other[i])
	}
	return nil
}

// longTrail is the length from which a trail's relationships are looked up in a set.
const longTrail = 16

// used reports whether trail row of level d holds the relationship.
func (o *trails) used(d, row int, rel uint64) bool {
	if d <= longTrail {
		for ; d > 0; d-- {
			l := o.levels[d]
			if l.rel[row] == rel {
				return true
			}
			row = int(l.parent[row])
		}
		return false
	}
	if o.setRow != row {
		o.setRow = row
		o.set.reset()
		for r := row; d > 0; d-- {
			l := o.levels[d]
			o.set.add(l.rel[r])
			r = int(l.parent[r])
		}
	}
	return o.set.has(rel)
}

// emit yields the trails of level d that end where they must.
func (o *trails) emit(d int) (*expr.Batch, error) {
	l := o.levels[d]
	o.rows, o.idx, o.to = o.rows[:0], o.idx[:0], o.to[:0]
	for i, node := range l.node {
		if o.n.Into && o.dst[l.src[i]] != node {
			continue
		}
		o.rows, o.idx, o.to = append(o.rows, uint16(i)), append(o.idx, l.src[i]), append(o.to, node)
	}
	if len(o.idx) == 0 {
		return nil, nil
	}
	o.out.start()
	o.out.gather(o.batch, o.keep, o.idx)
	o.ends()
	if o.n.Rels != plan.NoSlot {
		col := o.out.col(o.n.Rels)
		for _, r := range o.rows {
			o.list(d, int(r))
			o.buf = value.AppendList(o.buf[:0], o.chain...)
			col.AppendBytes(value.List, o.buf)
		}
	}
	if o.n.Iter != nil {
		for _, g := range o.n.Iter.Groups {
			if g.Slot != plan.NoSlot {
				o.group(d, g)
			}
		}
	}
	return &o.out.b, o.mem.set(&o.acct, o.out.bytes()+int64(len(o.levels)*o.x.opt.BatchSize*20))
}

// list collects the relationships of trail row of level d in pattern order.
func (o *trails) list(d, row int) {
	o.chain = grow(o.chain, d)
	for k := d; k > 0; k-- {
		l := o.levels[k]
		at := k - 1
		if o.n.Reversed {
			at = d - k
		}
		o.chain[at] = value.NewRel(l.rel[row])
		row = int(l.parent[row])
	}
}

// ends fills the columns of the end vertices from o.to.
func (o *traversal) ends() {
	if o.n.Into {
		return
	}
	o.out.entityCol(o.n.To, value.Node, o.to)
	if o.n.ToHint != plan.NoSlot {
		clear(o.out.raw(o.n.ToHint).Fill(value.Int, len(o.to)))
	}
}

// boundTrail is VarExpand where the list of relationships is bound: it checks that the list is a trail of the pattern.
type boundTrail struct {
	traversal
	rels []uint64
	row  []uint16
	at   []int // first relationship of each row in rels
	end  [2][]uint64
}

func (o *boundTrail) open() error {
	o.traversal.restart()
	return o.in.op.open()
}

func (o *boundTrail) next() (*expr.Batch, error) {
	for {
		ok, err := o.begin()
		if !ok || err != nil {
			return nil, err
		}
		if err := o.match(); err != nil {
			return nil, err
		}
		if len(o.idx) == 0 {
			continue
		}
		o.out.start()
		o.out.gather(o.batch, o.keep, o.idx)
		o.ends()
		if o.n.Rels != plan.NoSlot && o.n.Rels != o.n.BoundRels {
			o.out.raw(o.n.Rels).Gather(o.batch.Cols[o.n.BoundRels], o.idx)
		}
		return &o.out.b, o.account()
	}
}

func (o *boundTrail) match() error {
	b, list := o.batch, o.batch.Cols[o.n.BoundRels]
	o.rels, o.row, o.at, o.idx, o.to = o.rels[:0], o.row[:0], o.at[:0], o.idx[:0], o.to[:0]
	for i := range b.N {
		o.at = append(o.at, len(o.rels))
		if list.Kinds[i] != value.List || o.src[i] == 0 {
			continue
		}
		for _, e := range list.Value(i).All() {
			o.rels, o.row = append(o.rels, e.ID()), append(o.row, uint16(i))
		}
	}
	o.at = append(o.at, len(o.rels))
	n := len(o.rels)
	o.end[0], o.end[1] = grow(o.end[0], n), grow(o.end[1], n)
	const piece = 1024
	for at := 0; at < n; at += piece {
		to := min(n, at+piece)
		if err := o.x.g.Ends(o.x.ctx, o.env.View, o.rels[at:to], nil, o.end[0][at:to], o.end[1][at:to]); err != nil {
			return err
		}
	}
	for i := range b.N {
		rels := o.rels[o.at[i]:o.at[i+1]]
		if list.Kinds[i] != value.List || o.src[i] == 0 || len(rels) < o.n.Min || len(rels) > o.max() || len(rels) > 0 && !o.some {
			continue
		}
		end, ok, err := o.walk(i)
		if err != nil {
			return err
		}
		if ok && (!o.n.Into || o.dst[i] == end) {
			o.idx, o.to = append(o.idx, uint16(i)), append(o.to, end)
		}
	}
	return nil
}

// walk follows the list of row i from its start vertex.
func (o *boundTrail) walk(i int) (end uint64, ok bool, err error) {
	end = o.src[i]
	from, to := o.at[i], o.at[i+1]
	for k := range to - from {
		j := from + k
		if o.n.Reversed {
			j = to - 1 - k
		}
		for _, r := range o.rels[from:j] {
			if r == o.rels[j] {
				return 0, false, nil
			}
		}
		s, e := o.end[0][j], o.end[1][j]
		switch {
		case !typeIn(o.rels[j], o.ids):
			return 0, false, nil
		case s == end && o.n.Dir != store.In:
			end = e
		case e == end && o.n.Dir != store.Out:
			end = s
		default:
			return 0, false, nil
		}
		o.edges.Reset()
		o.edges.Rel, o.edges.Other = append(o.edges.Rel, o.rels[j]), append(o.edges.Other, end)
		o.rows, o.cand = append(o.rows[:0], uint16(i)), append(o.cand[:0], 0)
		cand, err := o.step.filter(&o.core, o.batch, &o.edges, o.rows, o.cand)
		if err != nil || len(cand) == 0 {
			return 0, false, err
		}
	}
	return end, true, nil
}
