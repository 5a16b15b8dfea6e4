package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// external yields the rows of a source for every input row.
type external struct {
	core
	in    input
	n     *plan.External
	args  []*expr.Program
	argv  []vec.Column
	batch *expr.Batch
	row   int
	src   plan.SourceRows
	ord   int64
	idx   []uint16
}

func (o *external) open() error {
	o.batch = nil
	o.closeSource()
	o.restart()
	return o.in.op.open()
}

func (o *external) closeSource() {
	if o.src != nil {
		o.src.Close()
		o.src = nil
	}
}

func (o *external) close() {
	o.closeSource()
	o.core.close()
}

func (o *external) next() (*expr.Batch, error) {
	for {
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if o.batch == nil {
			b, err := o.in.next()
			if b == nil || err != nil {
				return nil, err
			}
			o.batch, o.row = b, 0
			if err := o.sync(); err != nil {
				return nil, err
			}
			for i, p := range o.args {
				if err := p.Eval(&o.env, b, nil, &o.argv[i]); err != nil {
					return nil, err
				}
			}
		}
		if o.row >= o.batch.N {
			o.batch = nil
			continue
		}
		if o.src == nil {
			args := make([]value.Value, len(o.args))
			for i := range args {
				args[i] = o.argv[i].Value(o.row)
			}
			var err error
			if o.src, err = o.n.Source.Open(o.x.ctx, args); err != nil {
				return nil, err
			}
			o.ord = 0
		}
		o.out.start()
		for _, s := range o.n.Cols {
			o.out.col(s)
		}
		if o.n.Ordinality != plan.NoSlot {
			o.out.col(o.n.Ordinality)
		}
		limit, n := o.take(), 0
		for n < limit {
			row, err := o.src.Next(o.x.ctx)
			if err != nil {
				return nil, err
			}
			if row == nil {
				o.closeSource()
				break
			}
			for i, s := range o.n.Cols {
				if i < len(row) {
					o.out.b.Cols[s].AppendWhole(row[i])
				} else {
					o.out.b.Cols[s].AppendNull()
				}
			}
			o.ord++
			if o.n.Ordinality != plan.NoSlot {
				o.out.b.Cols[o.n.Ordinality].AppendWord(value.Int, uint64(o.ord))
			}
			n++
		}
		if n > 0 {
			o.out.b.N = n
			o.carry(o.batch, o.row, n, &o.idx)
		}
		if o.src == nil {
			o.row++
		}
		if n > 0 {
			return &o.out.b, o.account()
		}
	}
}

// carry repeats row i of an input batch n times in the output.
func (c *core) carry(in *expr.Batch, i, n int, idx *[]uint16) {
	*idx = grow(*idx, n)
	for k := range *idx {
		(*idx)[k] = uint16(i)
	}
	for s, col := range in.Cols {
		if col != nil && c.out.b.Cols[s] == nil && (c.keep == nil || has(c.keep, s)) {
			c.out.raw(s).Gather(col, *idx)
		}
	}
}

// valuesRows yields constant rows.
type valuesRows struct {
	core
	n     *plan.Values
	progs [][]*expr.Program
	at    int
	one   expr.Batch
	cell  vec.Column
}

func (o *valuesRows) open() error { o.at = 0; return nil }

func (o *valuesRows) next() (*expr.Batch, error) {
	if o.at >= len(o.progs) {
		return nil, nil
	}
	if err := o.sync(); err != nil {
		return nil, err
	}
	o.one.N = 1
	if o.one.Cols == nil {
		o.one.Cols = make([]*vec.Column, o.out.width)
	}
	o.out.start()
	for _, s := range o.n.Cols {
		o.out.col(s)
	}
	for o.at < len(o.progs) && o.out.b.N < o.x.opt.BatchSize {
		for i, p := range o.progs[o.at] {
			if err := p.Eval(&o.env, &o.one, nil, &o.cell); err != nil {
				return nil, err
			}
			o.out.b.Cols[o.n.Cols[i]].AppendWhole(o.cell.Value(0))
		}
		o.out.b.N++
		o.at++
	}
	return &o.out.b, o.account()
}

// loopJoin joins every left row with every right row; the right side is read once.
type loopJoin struct {
	core
	left   input
	right  operator
	n      *plan.LoopJoin
	pred   *expr.Program
	spool  spool
	full   bool
	batch  *expr.Batch
	row    int
	hit    bool // the left row has found a partner
	page   rows
	at     int // ordinal of the page's first right row
	seen   []uint64
	tail   bool // right rows without a partner are due
	tailAt int
	idx    []uint16
	sel    []uint16
}

func (o *loopJoin) open() error {
	o.full, o.batch, o.tail, o.tailAt, o.at = false, nil, false, 0, 0
	o.seen = o.seen[:0]
	o.spool.reset()
	if err := o.left.op.open(); err != nil {
		return err
	}
	return o.right.open()
}

func (o *loopJoin) close() { o.spool.close(); o.core.close() }

func (o *loopJoin) load() error {
	o.full = true
	o.page.width = o.out.width
	for {
		r, err := o.right.next()
		if err != nil {
			return err
		}
		if r == nil {
			break
		}
		if err := o.x.check(); err != nil {
			return err
		}
		if err := o.spool.add(r, o.n.RightCols); err != nil {
			return err
		}
	}
	if o.n.Kind == plan.LoopRight || o.n.Kind == plan.LoopFull {
		o.seen = make([]uint64, (o.spool.len()+63)/64)
	}
	return nil
}

func (o *loopJoin) next() (*expr.Batch, error) {
	if !o.full {
		if err := o.load(); err != nil {
			return nil, err
		}
	}
	for !o.tail {
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if o.batch == nil {
			b, err := o.left.next()
			if err != nil {
				return nil, err
			}
			if b == nil {
				o.tail = true
				o.spool.rewind()
				break
			}
			o.batch, o.row, o.hit, o.at = b, 0, false, 0
			o.spool.rewind()
		}
		if o.row >= o.batch.N {
			o.batch = nil
			continue
		}
		ok, err := o.spool.read(&o.page, o.x.opt.BatchSize)
		if err != nil {
			return nil, err
		}
		if !ok {
			// This left row has met every right row.
			row, hit := o.row, o.hit
			o.row, o.hit, o.at = o.row+1, false, 0
			o.spool.rewind()
			if !hit && (o.n.Kind == plan.LoopLeft || o.n.Kind == plan.LoopFull) {
				o.out.start()
				for _, s := range o.n.RightCols {
					o.out.col(s).AppendNull()
				}
				o.out.b.N = 1
				o.carry(o.batch, row, 1, &o.idx)
				return &o.out.b, nil
			}
			continue
		}
		n := o.page.b.N
		o.out.start()
		for s, c := range o.page.b.Cols {
			o.out.b.Cols[s] = c
		}
		o.out.b.N = n
		o.carry(o.batch, o.row, n, &o.idx)
		if o.pred != nil {
			if err := o.sync(); err != nil {
				return nil, err
			}
			if o.sel, err = o.pred.Filter(&o.env, &o.out.b, nil, o.sel[:0]); err != nil {
				return nil, err
			}
			if o.sel == nil {
				o.sel = []uint16{} // nil would stand for all rows
			}
			o.out.b.Sel = o.sel
		}
		first := o.at
		o.at += n
		if o.out.b.Live() == 0 {
			continue
		}
		o.hit = true
		if len(o.seen) > 0 {
			if o.out.b.Sel == nil {
				for i := range n {
					o.seen[(first+i)/64] |= 1 << ((first + i) % 64)
				}
			}
			for _, i := range o.out.b.Sel {
				k := first + int(i)
				o.seen[k/64] |= 1 << (k % 64)
			}
		}
		return &o.out.b, o.account()
	}
	for len(o.seen) > 0 {
		ok, err := o.spool.read(&o.page, o.x.opt.BatchSize)
		if !ok || err != nil {
			return nil, err
		}
		o.sel = o.sel[:0]
		for i := range o.page.b.N {
			k := o.tailAt + i
			if o.seen[k/64]&(1<<(k%64)) == 0 {
				o.sel = append(o.sel, uint16(i))
			}
		}
		o.tailAt += o.page.b.N
		if len(o.sel) == 0 {
			continue
		}
		o.out.start()
		for s, c := range o.page.b.Cols {
			o.out.b.Cols[s] = c
		}
		for _, s := range o.n.LeftCols {
			c := o.out.col(s)
			for range o.page.b.N {
				c.AppendNull()
			}
		}
		o.out.b.N, o.out.b.Sel = o.page.b.N, o.sel
		return &o.out.b, nil
	}
	return nil, nil
}

// makeSQL makes the operators that only SQL's plans have.
func (x *run) makeSQL(node plan.Node) (operator, error) {
	switch n := node.(type) {
	case *plan.External:
		o := &external{n: n, argv: make([]vec.Column, len(n.Args))}
		o.init(x, n.Info())
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		var err error
		o.args, err = o.compileAll(n.Args)
		return o, err
	case *plan.Values:
		o := &valuesRows{n: n}
		o.init(x, n.Info())
		for _, r := range n.Rows {
			p, err := o.compileAll(r)
			if err != nil {
				return nil, err
			}
			o.progs = append(o.progs, p)
		}
		return o, nil
	case *plan.LoopJoin:
		o := &loopJoin{n: n}
		o.init(x, n.Info())
		o.spool.init(x, &o.acct)
		if err := x.child(&o.left, n.Left); err != nil {
			return nil, err
		}
		var err error
		if o.right, err = x.build(n.Right); err != nil {
			return nil, err
		}
		o.pred, err = o.program(n.Pred)
		return o, err
	}
	return nil, nil
}
