package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/query/spill"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// distinct keeps the first row of every class, in the order of the input. When the table has reached work_mem it grows no more: rows of
// classes that it does not hold come after all that it let pass, so they wait in an external sort and go out at the end, in order too.
type distinct struct {
	core
	in      input
	n       *plan.Distinct
	progs   []*expr.Program
	scratch []vec.Column
	keys    keyStore
	sel     []uint16

	late  spill.Dedup
	spill bool // late is in use
	last  bool // the input is at its end, late gives rows
	body  []byte
	cols  []*vec.Column
}

func (o *distinct) open() error {
	o.keys.reset()
	o.late.Close()
	o.spill, o.last = false, false
	return o.in.op.open()
}

func (o *distinct) close() {
	o.late.Close()
	o.core.close()
}

func (o *distinct) next() (*expr.Batch, error) {
	for !o.last {
		b, err := o.in.next()
		if err != nil {
			return nil, err
		}
		if b == nil {
			if !o.spill {
				return nil, nil
			}
			o.last = true
			if err := o.late.Finish(func(a, b []byte) (bool, error) { return sameRows(a, b, len(o.keys.cols)) }); err != nil {
				return nil, err
			}
			break
		}
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if err := o.sync(); err != nil {
			return nil, err
		}
		if err := o.eval(b); err != nil {
			return nil, err
		}
		if err := o.pick(b.N); err != nil {
			return nil, err
		}
		if len(o.sel) > 0 {
			o.out.b.N, o.out.b.Sel = b.N, o.sel
			return &o.out.b, nil
		}
	}
	return o.rest()
}

// eval fills the key columns from a batch.
func (o *distinct) eval(b *expr.Batch) error {
	o.out.start()
	for i, p := range o.progs {
		c, err := p.EvalRef(&o.env, b, nil, &o.scratch[i])
		if err != nil {
			return err
		}
		o.keys.cols[i] = c
		o.out.b.Cols[o.n.Keys[i].Slot] = c
	}
	for i, s := range o.n.Part {
		o.keys.cols[len(o.progs)+i] = b.Cols[s]
		o.out.b.Cols[s] = b.Cols[s]
	}
	return nil
}

// pick selects the rows that are the first of their class; those of which that is not known yet are put by.
func (o *distinct) pick(n int) error {
	o.sel = o.sel[:0]
	for i := range n {
		if !o.spill {
			if _, fresh := o.keys.put(i); fresh {
				o.sel = append(o.sel, uint16(i))
			}
			continue
		}
		if k, hash, _ := o.keys.find(i); k < 0 {
			o.body = appendRow(o.body[:0], o.keys.cols, i)
			if err := o.late.Add(hash, o.body); err != nil {
				return err
			}
		}
	}
	size := o.keys.bytes()
	if !o.spill && o.full(size) {
		o.spill = true
		o.late.Init(o.place(o.x.opt.WorkMem))
	}
	return o.mem.set(&o.acct, size+colBytes(o.scratch)+int64(cap(o.body)))
}

// rest yields the rows that were put by.
func (o *distinct) rest() (*expr.Batch, error) {
	if err := o.x.check(); err != nil {
		return nil, err
	}
	o.keys.drop()
	o.out.start()
	o.cols = o.cols[:0]
	for _, it := range o.n.Keys {
		o.cols = append(o.cols, o.out.col(it.Slot))
	}
	for _, s := range o.n.Part {
		o.cols = append(o.cols, o.out.col(s))
	}
	n := 0
	for ; n < o.x.opt.BatchSize; n++ {
		b, ok, err := o.late.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if _, err := decodeRow(b, o.cols); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, nil
	}
	o.out.b.N = n
	return &o.out.b, o.mem.set(&o.acct, o.keys.bytes()+o.out.bytes()+int64(cap(o.body)))
}
