package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// hop is one relationship of a round of a quantified path pattern.
type hop struct {
	n    *plan.Hop
	at   int // in the round
	pred *expr.Program
	ids  []schema.LabelID
	some bool
}

// prepare compiles the hops of a round.
func (o *trails) prepare() error {
	if o.n.Iter == nil {
		return nil
	}
	o.staged.width = o.out.width
	for i := range o.n.Iter.Hops {
		h := &hop{n: &o.n.Iter.Hops[i], at: i}
		var err error
		if h.pred, err = o.program(h.n.Pred); err != nil {
			return err
		}
		o.round = append(o.round, h)
	}
	return nil
}

// resolve looks up the types of the hops; a round one of whose hops has none cannot be walked.
func (o *trails) resolve() {
	if len(o.round) == 0 {
		return
	}
	o.some = true
	for _, h := range o.round {
		h.ids, h.some = o.types(h.n.Types, h.ids)
		o.some = o.some && h.some
	}
}

// hops is the number of relationships in n rounds.
func (o *trails) hops(n int) int {
	k := max(1, len(o.round))
	if n > int(^uint(0)>>1)/k {
		return int(^uint(0) >> 1)
	}
	return n * k
}

// test keeps the relationships of a piece with which the condition of a hop holds; d is the level that they continue.
func (o *trails) test(h *hop, d int, e *store.Edges, cand []uint16) ([]uint16, error) {
	s := &o.staged
	s.start()
	pos := grow(o.step.pos, len(cand))
	rel, other := make64(&o.x.scratch[0], len(cand)), make64(&o.x.scratch[1], len(cand))
	for k, i := range cand {
		pos[k] = o.rows[i]
		rel[k], other[k] = e.Rel[i], e.Other[i]
	}
	o.step.pos = pos
	s.gather(o.batch, nil, pos)
	s.entityCol(h.n.Rel, value.Rel, rel)
	s.entityCol(h.n.Node, value.Node, other)
	// What the round has met before stands in the levels below.
	at := grow(o.idx, len(cand))
	o.idx = at
	for k, i := range cand {
		at[k] = e.Row[i]
	}
	for j := h.at; j >= 0; j-- {
		l := o.levels[d-(h.at-j)]
		slot := o.n.Iter.First
		if j > 0 {
			slot = o.round[j-1].n.Node
		}
		for k := range at {
			other[k] = l.node[at[k]]
		}
		s.entityCol(slot, value.Node, other)
		if j > 0 {
			for k := range at {
				rel[k] = l.rel[at[k]]
				at[k] = l.parent[at[k]]
			}
			s.entityCol(o.round[j-1].n.Rel, value.Rel, rel)
		}
	}
	sel, err := h.pred.Filter(&o.env, &s.b, nil, o.step.sel[:0])
	if err != nil {
		return nil, err
	}
	o.step.sel = sel
	for k, i := range sel {
		cand[k] = cand[i]
	}
	return cand[:len(sel)], nil
}

// group fills the list of a group variable for the trails of level d that emit has chosen.
func (o *trails) group(d int, g plan.Group) {
	col := o.out.col(g.Slot)
	k := len(o.round)
	n := d / k
	for _, r := range o.rows {
		o.chain = grow(o.chain, n)
		row := int(r)
		for at := d; at >= 0 && n > 0; at-- {
			l := o.levels[at]
			i, v := -1, value.Value{}
			switch {
			case g.Rel && at > 0 && (at-1)%k == g.At:
				i, v = (at-1)/k, value.NewRel(l.rel[row])
			case !g.Rel && g.At == k && at > 0 && at%k == 0:
				i, v = at/k-1, value.NewNode(l.node[row])
			case !g.Rel && g.At < k && at%k == g.At && at < d:
				i, v = at/k, value.NewNode(l.node[row])
			}
			if i >= 0 {
				if o.n.Reversed {
					i = n - 1 - i
				}
				o.chain[i] = v
			}
			row = int(l.parent[row])
		}
		o.buf = value.AppendList(o.buf[:0], o.chain...)
		col.AppendBytes(value.List, o.buf)
	}
}
