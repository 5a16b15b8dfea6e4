package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// bulkMerge is what a MERGE keeps while it works on a batch: the pattern is looked for once for all rows (plan.Merge.Batch), and what its
// rows make is known by the values of its keys, so that no row needs a probe of its own.
type bulkMerge struct {
	found rowStore // matches of all rows
	first []uint32 // of a row: 1 + its first match in found, or 0
	last  []uint32
	next  []uint32 // of a match: 1 + the row's next one, or 0
	late  []bool   // rows with a match that the transaction's snapshot may not see

	keys   []*vec.Column // of the rows, by key
	keyBuf []vec.Column
	head   []uint16 // 1 + a row that makes the vertex, by hash
	chain  []uint16
	hash   []uint64
	maker  []uint16 // of a row without match: the row that makes what it looks for, itself or an earlier one
	place  []uint16 // of a row that makes it: which of those it is
	made   rows     // the makers
	view   expr.Batch
}

func (g *bulkMerge) size() int64 {
	return g.found.size() + int64(cap(g.first)*17+cap(g.next)*4+cap(g.hash)*18) + colBytes(g.keyBuf)
}

// many merges the pattern for the rows of a batch. The probe's snapshot is taken when all their keys are locked (rules B14): another MERGE
// of one of them has ended by then or waits for this transaction.
func (o *merge) many(b *expr.Batch, cid uint32) error {
	g := &o.bulk
	if err := o.x.check(); err != nil {
		return err
	}
	if err := o.begin(b, cid); err != nil {
		return err
	}
	racer, _ := o.x.g.(store.Racer)
	g.late = grow(g.late, b.N)
	clear(g.late)
	if racer != nil {
		if v, ok := racer.Latest(cid + 1); ok {
			if err := o.probeMany(b, v); err != nil {
				return err
			}
			for i := range g.late {
				g.late[i] = g.first[i] != 0
			}
		}
	}
	v, err := o.x.stmt.Fresh(o.x.ctx, cid+1)
	if err != nil {
		return err
	}
	if err := o.probeMany(b, v); err != nil {
		return err
	}
	for i := range b.N {
		if g.first[i] == 0 && g.late[i] {
			return dberr.New(dberr.SerializationFailure, "could not serialize access: a concurrent transaction made what MERGE looked for")
		}
	}
	if err := o.makers(b); err != nil {
		return err
	}
	if len(o.n.OnCreate) == 0 && len(o.n.OnMatch) == 0 && (racer == nil || !o.n.Locks[0].Unique) {
		return o.together(b, cid)
	}
	return o.inTurn(b, v, cid)
}

// probeMany looks for the pattern for all rows of a batch at a view.
func (o *merge) probeMany(b *expr.Batch, v store.View) error {
	g := &o.bulk
	g.found.reset()
	g.found.slots, g.found.known = o.n.Binds, true
	g.first, g.last, g.next = grow(g.first, b.N), grow(g.last, b.N), g.next[:0]
	clear(g.first)
	o.view.v, o.env.View = v, v
	o.arg.set(b)
	if err := o.right.op.open(); err != nil {
		return err
	}
	for {
		rb, err := o.right.next()
		if rb == nil || err != nil {
			return err
		}
		of, err := rowOf(rb, o.n.RowID)
		if err != nil {
			return err
		}
		for i := range rb.N {
			m := uint32(g.found.addRow(rb, i)) + 1
			g.link(int(of[i]), m)
		}
		if err := o.mem.set(&o.acct, o.bytes()); err != nil {
			return err
		}
	}
}

// link adds match m, a number from 1, to those of a row.
func (g *bulkMerge) link(row int, m uint32) {
	g.next = append(g.next, 0)
	if g.first[row] == 0 {
		g.first[row] = m
	} else {
		g.next[g.last[row]-1] = m
	}
	g.last[row] = m
}

// makers decides for the rows without a match which of them make a vertex: those whose keys no earlier row of the batch has, under Cypher's =.
func (o *merge) makers(b *expr.Batch) error {
	g := &o.bulk
	progs := o.locks[0]
	if g.keyBuf == nil {
		g.keyBuf, g.keys = make([]vec.Column, len(progs)), make([]*vec.Column, len(progs))
	}
	for k, p := range progs {
		c, err := p.EvalRef(&o.env, b, nil, &g.keyBuf[k])
		if err != nil {
			return err
		}
		g.keys[k] = c
	}
	n := 64
	for n < 2*b.N {
		n *= 2
	}
	g.head, g.chain, g.hash, g.maker, g.place = grow(g.head, n), grow(g.chain, b.N), grow(g.hash, b.N), grow(g.maker, b.N), grow(g.place, b.N)
	clear(g.head)
	o.idx = o.idx[:0]
	for i := range b.N {
		if g.first[i] != 0 {
			continue
		}
		h := hashRow(g.keys, i)
		g.hash[i] = h
		slot := &g.head[h&uint64(n-1)]
		m := *slot
		for m != 0 && !(g.hash[m-1] == h && g.same(int(m-1), i)) {
			m = g.chain[m-1]
		}
		if m != 0 {
			g.maker[i] = m - 1
			continue
		}
		g.maker[i], g.place[i] = uint16(i), uint16(len(o.idx))
		g.chain[i], *slot = *slot, uint16(i+1)
		o.idx = append(o.idx, uint16(i))
	}
	return nil
}

// same reports whether a row would match what another one makes.
func (g *bulkMerge) same(a, b int) bool {
	for _, c := range g.keys {
		if value.Equal(c.Value(a), c.Value(b)) != value.True {
			return false
		}
	}
	return true
}

// together makes all that is missing at once and passes the rows on; nothing is set.
func (o *merge) together(b *expr.Batch, cid uint32) error {
	g := &o.bulk
	g.made.width = o.out.width
	g.made.start()
	if len(o.idx) > 0 {
		g.made.gather(b, nil, o.idx)
		o.w.racer = nil
		if err := o.w.run(&g.made, cid); err != nil {
			return err
		}
	}
	flush := func() error {
		for s, c := range b.Cols {
			if c != nil && !has(o.n.Binds, s) {
				o.made.raw(s).Gather(c, o.idx)
			}
		}
		o.made.b.N = len(o.idx)
		return o.emit()
	}
	start := func() {
		o.idx = o.idx[:0]
		o.made.width = o.out.width
		o.made.start()
		for _, s := range o.n.Binds {
			o.made.col(s)
		}
	}
	start()
	for i := range b.N {
		for m, once := g.first[i], g.first[i] == 0; m != 0 || once; once = false {
			if len(o.idx) == vec.MaxRows {
				if err := flush(); err != nil {
					return err
				}
				start()
			}
			o.idx = append(o.idx, uint16(i))
			if m == 0 {
				o.bind(&g.made.b, int(g.place[g.maker[i]]))
				break
			}
			blk, r := g.found.at(int(m - 1))
			for k, s := range o.n.Binds {
				o.made.b.Cols[s].AppendFrom(&blk.cols[k], r)
			}
			m = g.next[m-1]
		}
	}
	return flush()
}

// bind appends what a row of made rows binds.
func (o *merge) bind(made *expr.Batch, r int) {
	for _, s := range o.n.Binds {
		if c := made.Cols[s]; c != nil {
			o.made.b.Cols[s].AppendFrom(c, r)
		} else {
			o.made.b.Cols[s].AppendNull()
		}
	}
}

// inTurn makes and sets row by row. A row whose match has moved, or that somebody was faster to make, is looked for again on its own.
func (o *merge) inTurn(b *expr.Batch, v store.View, cid uint32) error {
	g := &o.bulk
	racer, _ := o.x.g.(store.Racer)
	for i := range b.N {
		if err := o.x.check(); err != nil {
			return err
		}
		o.pick(b, i)
		o.env.View, o.view.v = v, v
		if m := g.first[i]; m == 0 && int(g.maker[i]) == i {
			o.w.racer = racer
			if err := o.make(cid); err != nil {
				return err
			}
			if o.w.beaten {
				if err := o.row(b, i, cid); err != nil {
					return err
				}
				continue
			}
			// Later rows with these keys match it.
			g.found.addRow(&o.one.b, 0)
			g.link(i, uint32(g.found.n))
			continue
		}
		from := i
		if g.first[i] == 0 {
			from = int(g.maker[i])
		}
		if g.first[from] == 0 { // it was another transaction that made it
			if err := o.row(b, i, cid); err != nil {
				return err
			}
			continue
		}
		o.found.reset()
		o.found.slots, o.found.known = o.n.Binds, true
		for m := g.first[from]; m != 0; m = g.next[m-1] {
			blk, r := g.found.at(int(m - 1))
			o.found.addRow(g.row(blk, o.n.Binds, o.out.width), r)
		}
		again, err := o.lockFound()
		if err == nil {
			if again {
				err = o.row(b, i, cid)
			} else {
				err = o.matched(cid)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// row is a view of a block of found rows as a batch.
func (g *bulkMerge) row(blk *block, binds []plan.Slot, width int) *expr.Batch {
	if g.view.Cols == nil {
		g.view.Cols = make([]*vec.Column, width)
	}
	for k, s := range binds {
		g.view.Cols[s] = &blk.cols[k]
	}
	return &g.view
}
