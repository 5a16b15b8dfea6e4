package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// reachable is VarExpand by end points: a breadth-first search that visits a vertex once for each input row (rules C7).
type reachable struct {
	traversal
	seen  pairSet
	node  []uint64
	row   []uint16
	depth []uint32
	rel   []uint64 // relationship by which it was reached
	first []uint64 // first relationship of the way to it
	from  int      // start of the chunk that cur expands
	asked int      // entries before this one have been asked for
	lvl   uint32
	cur   store.RunCursor
	home  []bool // the start vertex of the row has been found as an end
}

func (o *reachable) open() error {
	o.stop()
	o.traversal.restart()
	return o.in.op.open()
}

func (o *reachable) stop() {
	if o.cur != nil {
		o.cur.Close()
		o.cur = nil
	}
}

func (o *reachable) close() { o.stop(); o.core.close() }

func (o *reachable) next() (*expr.Batch, error) {
	for {
		if o.batch == nil {
			ok, err := o.begin()
			if !ok || err != nil {
				return nil, err
			}
			o.root()
			if o.n.Min == 0 {
				if b, err := o.emit(); b != nil || err != nil {
					return b, err
				}
			}
			continue
		}
		o.idx, o.to = o.idx[:0], o.to[:0]
		more, err := o.pull()
		if err != nil {
			return nil, err
		}
		if !more {
			o.batch = nil
			continue
		}
		if b, err := o.emit(); b != nil || err != nil {
			return b, err
		}
	}
}

func (o *reachable) root() {
	o.seen.reset()
	o.node, o.row, o.depth, o.rel, o.first = o.node[:0], o.row[:0], o.depth[:0], o.rel[:0], o.first[:0]
	o.home = grow(o.home, o.batch.N)
	clear(o.home)
	o.idx, o.to, o.asked, o.lvl = o.idx[:0], o.to[:0], 0, 0
	for i := range o.batch.N {
		id := o.src[i]
		if id == 0 {
			continue
		}
		o.seen.add(id, uint16(i), uint32(len(o.node)))
		o.push(id, uint16(i), 0, 0, 0)
		if o.n.Min == 0 {
			o.home[i] = true
			o.found(uint16(i), id)
		}
	}
}

func (o *reachable) push(id uint64, row uint16, depth uint32, rel, first uint64) {
	o.node, o.row, o.depth = append(o.node, id), append(o.row, row), append(o.depth, depth)
	o.rel, o.first = append(o.rel, rel), append(o.first, first)
}

func (o *reachable) found(row uint16, id uint64) {
	if !o.n.Into || o.dst[row] == id {
		o.idx, o.to = append(o.idx, row), append(o.to, id)
	}
}

// pull takes the next piece of relationships; false when the search has ended.
func (o *reachable) pull() (bool, error) {
	if err := o.x.check(); err != nil {
		return false, err
	}
	if o.cur == nil {
		if o.asked >= len(o.node) || !o.some || int(o.depth[o.asked]) >= o.max() {
			return false, nil
		}
		// A chunk holds vertices of one depth only, so that every vertex is met first at its least depth.
		o.from = o.asked
		for o.asked < len(o.node) && o.asked-o.from < o.x.opt.BatchSize && o.depth[o.asked] == o.depth[o.from] {
			o.asked++
		}
		cur, err := o.x.g.Neighbours(o.x.ctx, o.env.View, o.node[o.from:o.asked:o.asked], o.n.Dir, o.ids)
		if err != nil {
			return false, err
		}
		o.cur = cur
	}
	if err := o.cur.Next(o.x.ctx, o.take(), &o.runs); err != nil {
		return false, err
	}
	if len(o.runs.Run) == 0 {
		o.stop()
		return true, nil
	}
	if o.step.plain() {
		o.spread()
	} else if err := o.sift(); err != nil {
		return false, err
	}
	return true, o.mem.set(&o.acct, o.out.bytes()+o.seen.bytes()+int64(cap(o.node)*30))
}

// spread visits what is lent.
func (o *reachable) spread() {
	for k := range o.runs.Run {
		r := &o.runs.Run[k]
		p := o.from + int(r.Row)
		o.banned = r.Clashes(o.step.uniq.used(o.batch, int(o.row[p])), o.banned[:0])
		at := 0
		for part, ok := r.Part(&at, o.banned); ok; part, ok = r.Part(&at, o.banned) {
			for i := range part.Rel {
				o.visit(p, part.RelID(i), part.OtherID(i))
			}
		}
	}
}

// sift visits those of what is lent that satisfy the predicates.
func (o *reachable) sift() error {
	e := &o.edges
	e.Reset()
	o.runs.Edges(e)
	o.rows = grow(o.rows, len(e.Rel))
	o.cand = o.cand[:0]
	for i, p := range e.Row {
		o.rows[i] = o.row[o.from+int(p)]
		o.cand = append(o.cand, uint16(i))
	}
	cand, err := o.step.filter(&o.core, o.batch, e, o.rows, o.cand)
	if err != nil {
		return err
	}
	for _, i := range cand {
		o.visit(o.from+int(e.Row[i]), e.Rel[i], e.Other[i])
	}
	return nil
}

// visit follows one relationship from entry p of the queue.
func (o *reachable) visit(p int, rel, other uint64) {
	row, depth := o.row[p], o.depth[p]+1
	first := o.first[p]
	if first == 0 {
		first = rel
	}
	at, fresh := o.seen.put(other, row, uint32(len(o.node)))
	if fresh {
		o.push(other, row, depth, rel, first)
		if int(depth) >= o.n.Min {
			o.found(row, other)
		}
		return
	}
	if o.home[row] {
		return
	}
	// Min is 1 and the start vertex is not an end yet: is there a closed trail through it of at most Max relationships?
	start := o.src[row]
	switch {
	case o.n.Dir != store.Both:
		if other != start {
			return
		}
	case rel == o.rel[p] || rel == o.rel[at]: // the way that we came by
		if !(other == start && o.node[p] == start) {
			return
		}
	case other == start && o.node[p] == start: // a loop
	case other == start:
		// A relationship back to the start that is not the first of this branch closes a cycle.
		if first == rel {
			return
		}
	case o.node[p] == start && o.first[at] == rel:
		return
	case first == o.first[at] || int(depth)+int(o.depth[at]) > o.max():
		return
	}
	o.home[row] = true
	o.found(row, start)
}

func (o *reachable) emit() (*expr.Batch, error) {
	if len(o.idx) == 0 {
		return nil, nil
	}
	o.out.start()
	o.out.gather(o.batch, o.keep, o.idx)
	o.ends()
	return &o.out.b, o.mem.set(&o.acct, o.out.bytes()+o.seen.bytes()+int64(cap(o.node)*30))
}

// pairSet maps (vertex, input row) to a position.
type pairSet struct {
	id  []uint64
	row []uint16
	at  []uint32
	n   int
}

func (s *pairSet) reset() {
	if s.n > 0 {
		clear(s.id)
		s.n = 0
	}
}

func (s *pairSet) bytes() int64 { return int64(cap(s.id) * 14) }

func (s *pairSet) add(id uint64, row uint16, at uint32) { s.put(id, row, at) }

// put enters a pair, or returns where it stands already.
func (s *pairSet) put(id uint64, row uint16, at uint32) (uint32, bool) {
	if 4*(s.n+1) > 3*len(s.id) {
		s.rehash()
	}
	m := uint64(len(s.id) - 1)
	for i := mix(id+uint64(row)*0x9E3779B97F4A7C15) & m; ; i = (i + 1) & m {
		switch {
		case s.id[i] == 0:
			s.id[i], s.row[i], s.at[i] = id, row, at
			s.n++
			return at, true
		case s.id[i] == id && s.row[i] == row:
			return s.at[i], false
		}
	}
}

func (s *pairSet) rehash() {
	old := *s
	n := max(64, 2*len(old.id))
	s.id, s.row, s.at, s.n = make([]uint64, n), make([]uint16, n), make([]uint32, n), 0
	for i, id := range old.id {
		if id != 0 {
			s.put(id, old.row[i], old.at[i])
		}
	}
}
