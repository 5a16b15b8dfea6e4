package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// hashJoin joins on equality; the right side is read into a table, or sorted into files when it outgrows work_mem (see spilledJoin).
// Left rows keep their order, and so do the right rows of each.
type hashJoin struct {
	core
	left      input
	right     input
	n         *plan.HashJoin
	leftProg  []*expr.Program
	rightProg []*expr.Program
	buf       []vec.Column
	cols      []*vec.Column
	build     rowStore
	keys      rowStore
	hashes    []uint64 // of the build rows
	head      []uint32 // first row of a bucket, row + 1
	chain     []uint32 // next row of the bucket, row + 1; rows of a bucket keep their order
	rightKeep []plan.Slot
	built     bool
	sieves    []*sieve // of n.Fills

	batch *expr.Batch
	row   int
	hash  uint64
	at    uint32 // candidate, row + 1
	fresh bool   // row has not been looked up
	hit   bool
	idx   []uint16
	match []uint32 // build row + 1, 0: none

	sp spilledJoin
}

func (o *hashJoin) close() {
	o.sp.close()
	o.core.close()
}

// held is what the table takes.
func (o *hashJoin) held() int64 {
	n := o.build.size() + o.keys.size() + int64(cap(o.hashes)*8+cap(o.head)*4+cap(o.chain)*4)
	for _, s := range o.sieves {
		n += s.size()
	}
	return n
}

func (o *hashJoin) open() error {
	o.built, o.batch = false, nil
	o.sp.close()
	o.build.reset()
	o.keys.reset()
	o.hashes = o.hashes[:0]
	for _, s := range o.sieves {
		s.reset()
	}
	if err := o.left.op.open(); err != nil {
		return err
	}
	return o.right.op.open()
}

func (o *hashJoin) eval(progs []*expr.Program, b *expr.Batch) error {
	for i, p := range progs {
		c, err := p.EvalRef(&o.env, b, nil, &o.buf[i])
		if err != nil {
			return err
		}
		o.cols[i] = c
	}
	return nil
}

func nullRow(cols []*vec.Column, row int) bool {
	for _, c := range cols {
		if c.Kinds[row] == value.Null {
			return true
		}
	}
	return false
}

func (o *hashJoin) load() error {
	o.keys.slots = o.keys.slots[:0]
	for i := range o.rightProg {
		o.keys.slots = append(o.keys.slots, i)
	}
	o.keys.known = true
	kb := expr.Batch{Cols: o.cols}
	for {
		b, err := o.right.next()
		if err != nil {
			return err
		}
		if b == nil {
			o.link()
			for _, s := range o.sieves {
				s.full = true
			}
			return nil
		}
		if err := o.x.check(); err != nil {
			return err
		}
		if err := o.sync(); err != nil {
			return err
		}
		if err := o.eval(o.rightProg, b); err != nil {
			return err
		}
		for i, f := range o.n.Fills {
			c := o.cols[f.Key]
			o.sieves[i].add(value.Node, c.Words, c.Kinds)
		}
		o.build.choose(b, o.rightKeep)
		for i := range b.N {
			if nullRow(o.cols, i) {
				continue
			}
			h := hashRow(o.cols, i)
			if o.sp.on {
				if err := o.sp.addBuild(h, o.cols, b, i); err != nil {
					return err
				}
				continue
			}
			o.build.addRow(b, i)
			o.keys.addRow(&kb, i)
			o.hashes = append(o.hashes, h)
		}
		size := o.held() + int64(cap(o.hashes)*16) // with the buckets that link makes
		if !o.sp.on && len(o.hashes) > 0 && o.full(size) {
			if err := o.spillBuild(); err != nil {
				return err
			}
			size = o.held()
		}
		if err := o.mem.set(&o.acct, size); err != nil {
			return err
		}
	}
}

// link makes the buckets.
func (o *hashJoin) link() {
	n := 64
	for n < len(o.hashes) {
		n *= 2
	}
	o.head, o.chain = grow(o.head, n), grow(o.chain, len(o.hashes))
	clear(o.head)
	m := uint64(n - 1)
	for i := len(o.hashes) - 1; i >= 0; i-- {
		p := o.hashes[i] & m
		o.chain[i], o.head[p] = o.head[p], uint32(i+1)
	}
}

// find moves to the next build row that equals the current left row.
func (o *hashJoin) find() bool {
	for o.at != 0 {
		e := int(o.at - 1)
		o.at = o.chain[e]
		if o.hashes[e] == o.hash && o.equal(e) {
			o.match = append(o.match, uint32(e+1))
			return true
		}
	}
	return false
}

func (o *hashJoin) equal(e int) bool {
	blk, i := o.keys.at(e)
	for k, c := range o.cols {
		l, r := c.Value(o.row), blk.cols[k].Value(i)
		if o.n.Equiv && !value.Equivalent(l, r) || !o.n.Equiv && value.Equal(l, r) != value.True {
			return false
		}
	}
	return true
}

func (o *hashJoin) next() (*expr.Batch, error) {
	for {
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if o.sp.ready {
			return o.sp.emit(o)
		}
		if o.batch == nil {
			if len(o.sieves) > 0 && !o.built {
				o.built = true
				if err := o.load(); err != nil {
					return nil, err
				}
			}
			b, err := o.left.next()
			if b == nil || err != nil {
				return nil, err
			}
			if err := o.sync(); err != nil {
				return nil, err
			}
			if !o.built {
				o.built = true
				if err := o.load(); err != nil {
					return nil, err
				}
				if err := o.sync(); err != nil {
					return nil, err
				}
			}
			if o.sp.on {
				if err := o.joinSpilled(b); err != nil {
					return nil, err
				}
				return o.sp.emit(o)
			}
			if err := o.eval(o.leftProg, b); err != nil {
				return nil, err
			}
			o.batch, o.row, o.fresh = b, 0, true
		}
		o.probe()
		b := o.batch
		if o.row >= b.N {
			o.batch = nil
		}
		if len(o.idx) > 0 {
			return o.emit(b)
		}
	}
}

// probe looks left rows up until a batch of pairs is full.
func (o *hashJoin) probe() {
	o.idx, o.match = o.idx[:0], o.match[:0]
	for o.row < o.batch.N && len(o.idx) < o.x.opt.BatchSize {
		if o.fresh {
			o.fresh, o.hit, o.at = false, false, 0
			if !nullRow(o.cols, o.row) {
				o.hash = hashRow(o.cols, o.row)
				o.at = o.head[o.hash&uint64(len(o.head)-1)]
			}
		}
		found := o.find()
		row := uint16(o.row)
		switch {
		case found && o.n.Kind <= plan.JoinLeft:
			o.hit = true
			o.idx = append(o.idx, row)
			continue
		case found && o.n.Kind == plan.JoinSemi:
			o.idx = append(o.idx, row)
		case !found && o.n.Kind == plan.JoinLeft && !o.hit || !found && o.n.Kind == plan.JoinAnti:
			o.idx, o.match = append(o.idx, row), append(o.match, 0)
		}
		o.row, o.fresh = o.row+1, true
	}
}

func (o *hashJoin) emit(in *expr.Batch) (*expr.Batch, error) {
	o.out.start()
	o.out.gather(in, o.keep, o.idx)
	if o.n.Kind <= plan.JoinLeft {
		for k, s := range o.build.slots {
			if in.Cols[s] != nil && has(o.keep, s) {
				continue
			}
			col := o.out.col(s)
			for _, m := range o.match {
				if m == 0 {
					col.AppendNull()
					continue
				}
				blk, i := o.build.at(int(m - 1))
				col.AppendFrom(&blk.cols[k], i)
			}
		}
		for _, s := range o.n.Nulls {
			if o.out.b.Cols[s] == nil {
				o.out.raw(s).Nulls(len(o.idx))
			}
		}
	}
	o.out.b.N = len(o.idx)
	return &o.out.b, o.mem.set(&o.acct, o.out.bytes()+o.held())
}
