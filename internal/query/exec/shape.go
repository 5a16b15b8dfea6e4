package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// filter keeps the rows where every predicate is true.
type filter struct {
	core
	child operator
	preds []*expr.Program
	sel   [2][]uint16
}

func (o *filter) open() error { return o.child.open() }

func (o *filter) next() (*expr.Batch, error) {
	for {
		b, err := o.child.next()
		if b == nil || err != nil {
			return nil, err
		}
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if err := o.sync(); err != nil {
			return nil, err
		}
		sel := b.Sel
		for i, p := range o.preds {
			buf := &o.sel[i&1]
			if *buf, err = p.Filter(&o.env, b, sel, (*buf)[:0]); err != nil {
				return nil, err
			}
			if sel = *buf; len(sel) == 0 {
				break
			}
		}
		if len(o.preds) > 0 && len(sel) == 0 || sel != nil && len(sel) == 0 {
			continue // nil stands for all rows only where nothing was tested
		}
		o.out.pass(b)
		o.out.b.Sel = sel
		return &o.out.b, nil
	}
}

// project computes items.
type project struct {
	core
	in    input
	n     *plan.Project
	progs []*expr.Program
	fresh []vec.Column // results, put in place when all are computed: an item may read a slot that another one replaces
}

func (o *project) open() error { return o.in.op.open() }

func (o *project) next() (*expr.Batch, error) {
	b, err := o.in.next()
	if b == nil || err != nil {
		return nil, err
	}
	if err := o.x.check(); err != nil {
		return nil, err
	}
	if err := o.sync(); err != nil {
		return nil, err
	}
	for i, p := range o.progs {
		if p != nil {
			if err := p.Eval(&o.env, b, nil, &o.fresh[i]); err != nil {
				return nil, err
			}
		}
	}
	o.out.pass(b)
	if o.n.Cut {
		clear(o.out.b.Cols)
		for s, info := range o.x.q.Slots {
			if info.Kind == plan.RowID || info.Kind == plan.HintWord {
				o.out.b.Cols[s] = b.Cols[s]
			}
		}
		for _, s := range o.n.Keep {
			o.out.b.Cols[s] = b.Cols[s]
		}
	}
	for i, it := range o.n.Items {
		if o.progs[i] != nil {
			o.out.b.Cols[it.Slot] = &o.fresh[i]
			continue
		}
		o.out.b.Cols[it.Slot] = b.Cols[it.Expr.(*expr.Col).Slot]
	}
	return &o.out.b, o.mem.set(&o.acct, colBytes(o.fresh))
}

func colBytes(cols []vec.Column) (n int64) {
	for i := range cols {
		n += int64(cols[i].Size())
	}
	return n
}

// propFetch reads properties of one variable.
type propFetch struct {
	core
	in      input
	n       *plan.PropFetch
	keys    []schema.KeyID
	cols    []*vec.Column
	scratch []uint64
}

func (o *propFetch) open() error { return o.in.op.open() }

func (o *propFetch) next() (*expr.Batch, error) {
	b, err := o.in.next()
	if b == nil || err != nil {
		return nil, err
	}
	if err := o.x.check(); err != nil {
		return nil, err
	}
	if err := o.sync(); err != nil {
		return nil, err
	}
	o.out.pass(b)
	kind := value.Node
	if o.n.Entity == schema.Edge {
		kind = value.Rel
	}
	idv, err := ids(b.Cols[o.n.Of], kind, &o.scratch)
	if err != nil {
		return nil, err
	}
	o.keys, o.cols = o.keys[:0], o.cols[:0]
	for _, r := range o.n.Reads {
		col := o.out.col(r.Slot)
		if k, ok := o.x.g.Key(r.Key); ok {
			o.keys, o.cols = append(o.keys, k), append(o.cols, col)
			continue
		}
		col.Nulls(b.N)
	}
	// Also without keys: an entity that is gone must be noticed (rules C8).
	if err := o.x.g.Fetch(o.x.ctx, o.env.View, o.n.Entity, idv[:b.N], hints(b, o.n.Hint), o.keys, o.cols); err != nil {
		return nil, err
	}
	return &o.out.b, o.account()
}

// unwind yields a row for each element of a list.
type unwind struct {
	core
	in    input
	n     *plan.Unwind
	list  *expr.Program
	rng   *counting // instead of list
	batch *expr.Batch
	val   vec.Column
	row   int
	elem  int
	idx   []uint16
}

func (o *unwind) open() error {
	o.restart()
	o.batch = nil
	return o.in.op.open()
}

func (o *unwind) next() (*expr.Batch, error) {
	for {
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if o.batch == nil {
			b, err := o.in.next()
			if b == nil || err != nil {
				return nil, err
			}
			if err := o.sync(); err != nil {
				return nil, err
			}
			if o.rng != nil {
				err = o.rng.begin(&o.env, b)
			} else {
				err = o.list.Eval(&o.env, b, nil, &o.val)
			}
			if err != nil {
				return nil, err
			}
			o.batch, o.row, o.elem = b, 0, 0
		}
		limit := o.take()
		o.out.start()
		col := o.out.col(o.n.Var)
		o.idx = o.idx[:0]
		for o.rng != nil && o.row < o.batch.N && len(o.idx) < limit {
			if i, ok := o.rng.next(o.row); ok {
				col.AppendWord(value.Int, uint64(i))
				o.idx = append(o.idx, uint16(o.row))
			} else {
				o.row++
			}
		}
		for o.rng == nil && o.row < o.batch.N && len(o.idx) < limit {
			v := o.val.Value(o.row)
			switch {
			case v.Kind() == value.List && o.elem < v.Len():
				if e := v.At(o.elem); virtual(e) {
					col.AppendWhole(e)
				} else {
					col.Append(e)
				}
				o.idx = append(o.idx, uint16(o.row))
				o.elem++
				continue
			case v.Kind() != value.List && v.Kind() != value.Null:
				col.Append(v)
				o.idx = append(o.idx, uint16(o.row))
			}
			o.row, o.elem = o.row+1, 0
		}
		if len(o.idx) == 0 {
			o.batch = nil
			continue
		}
		for _, s := range o.keepOr(o.batch) {
			if s != o.n.Var {
				if c := o.batch.Cols[s]; c != nil {
					o.out.raw(s).Gather(c, o.idx)
				}
			}
		}
		o.out.b.N = len(o.idx)
		return &o.out.b, o.mem.set(&o.acct, o.out.bytes()+int64(o.val.Size()+cap(col.Arena)))
	}
}

// counting is the list of an UNWIND that is a call of range(): it is never made.
type counting struct {
	args []*expr.Program
	read func(a []value.Value) (start, step int64, n uint64, err error)
	cols []vec.Column
	rows []countRow
}

type countRow struct {
	at, step int64
	left     uint64
}

func (r *counting) begin(env *expr.Env, b *expr.Batch) error {
	for i, p := range r.args {
		if err := p.Eval(env, b, nil, &r.cols[i]); err != nil {
			return err
		}
	}
	r.rows = r.rows[:0]
	a := make([]value.Value, len(r.args))
	for row := range b.N {
		for i := range a {
			a[i] = r.cols[i].Value(row)
		}
		var c countRow
		var err error
		if c.at, c.step, c.left, err = r.read(a); err != nil {
			return err
		}
		r.rows = append(r.rows, c)
	}
	return nil
}

func (r *counting) next(row int) (int64, bool) {
	c := &r.rows[row]
	if c.left == 0 {
		return 0, false
	}
	i := c.at
	c.at, c.left = c.at+c.step, c.left-1 // the sum after the last one may wrap; nobody reads it
	return i, true
}

// keepOr lists the slots that go on; without a list all that are filled.
func (c *core) keepOr(b *expr.Batch) []plan.Slot {
	if c.keep != nil {
		return c.keep
	}
	var out []plan.Slot
	for s, col := range b.Cols {
		if col != nil {
			out = append(out, s)
		}
	}
	return out
}

// emptyRows yields nothing.
type emptyRows struct {
	core
	child operator
	n     *plan.EmptyRows
}

func (o *emptyRows) open() error {
	if o.child == nil {
		return nil
	}
	return o.child.open()
}

func (o *emptyRows) next() (*expr.Batch, error) {
	if o.child == nil || !o.n.Exhaustive {
		return nil, nil
	}
	return nil, drain(o.child)
}

// drain pulls an operator to its end.
func drain(op operator) error {
	for {
		b, err := op.next()
		if b == nil || err != nil {
			return err
		}
	}
}

// counter evaluates the number of SKIP or LIMIT, once an execution.
func (c *core) counter(p *expr.Program, what string) (int64, error) {
	if p == nil {
		return 0, nil
	}
	v, err := p.EvalOne(&c.env)
	if err != nil {
		return 0, err
	}
	return countOf(v, what)
}
