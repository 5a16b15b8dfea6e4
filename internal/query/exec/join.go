package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
)

// union concatenates its inputs.
type union struct {
	core
	inputs []operator
	n      *plan.Union
	at     int
	opened bool
}

func (o *union) open() error {
	o.at, o.opened = 0, false
	return nil
}

func (o *union) next() (*expr.Batch, error) {
	for o.at < len(o.inputs) {
		if !o.opened {
			// A branch begins when those before it are exhausted (rules C2).
			if o.at < len(o.n.Opens) {
				if err := o.x.openSegment(o.n.Opens[o.at]); err != nil {
					return nil, err
				}
			}
			if err := o.inputs[o.at].open(); err != nil {
				return nil, err
			}
			o.opened = true
		}
		b, err := o.inputs[o.at].next()
		if err != nil {
			return nil, err
		}
		if b == nil {
			o.at, o.opened = o.at+1, false
			continue
		}
		o.out.start()
		for _, s := range o.x.rowIDs {
			o.out.b.Cols[s] = b.Cols[s]
		}
		for c, s := range o.n.Cols {
			o.out.b.Cols[s] = b.Cols[o.n.From[o.at][c]]
		}
		o.out.b.N, o.out.b.Sel = b.N, b.Sel
		return &o.out.b, nil
	}
	return nil, nil
}

// cartesian pairs every left row with every right row; the right side is read once.
type cartesian struct {
	core
	left  input
	right operator
	keepR []plan.Slot
	spool spool
	full  bool
	batch *expr.Batch
	page  rows // rows of the right side
	have  bool
	row   int
	idx   []uint16
}

func (o *cartesian) open() error {
	o.full, o.batch, o.have = false, nil, false
	o.spool.reset()
	if err := o.left.op.open(); err != nil {
		return err
	}
	return o.right.open()
}

func (o *cartesian) close() { o.spool.close(); o.core.close() }

func (o *cartesian) next() (*expr.Batch, error) {
	for {
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if o.batch == nil {
			b, err := o.left.next()
			if b == nil || err != nil {
				return nil, err
			}
			if !o.full {
				for {
					r, err := o.right.next()
					if err != nil {
						return nil, err
					}
					if r == nil {
						break
					}
					if err := o.x.check(); err != nil {
						return nil, err
					}
					if err := o.spool.add(r, o.keepR); err != nil {
						return nil, err
					}
				}
				o.full = true
				o.page.width = o.out.width
			}
			if o.spool.len() == 0 {
				return nil, nil
			}
			o.batch, o.row, o.have = b, 0, false
			o.spool.rewind()
		}
		if !o.have {
			ok, err := o.spool.read(&o.page, o.x.opt.BatchSize)
			if err != nil {
				return nil, err
			}
			if !ok {
				// This left row has seen all of the right side.
				if o.row++; o.row >= o.batch.N {
					o.batch = nil
				} else {
					o.spool.rewind()
				}
				continue
			}
		}
		o.have = false
		n := o.page.b.N
		o.idx = grow(o.idx, n)
		for i := range o.idx {
			o.idx[i] = uint16(o.row)
		}
		o.out.start()
		for s, c := range o.page.b.Cols {
			o.out.b.Cols[s] = c
		}
		for _, s := range o.keepOr(o.batch) {
			if c := o.batch.Cols[s]; c != nil {
				o.out.raw(s).Gather(c, o.idx)
			}
		}
		o.out.b.N = n
		return &o.out.b, o.account()
	}
}
