package exec

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// Nested begins transactions beside the one of a statement.
type Nested interface {
	// Begin opens a transaction. id is how people name it; ended is called once it has ended.
	Begin(ctx context.Context) (tx store.Tx, id string, ended func(), err error)
}

// transactionApply runs its right side for batches of left rows, each in a transaction of its own. A batch is read to its end before its
// transaction begins, and what it gives is kept, in memory or in a file, until the last one is done.
type transactionApply struct {
	core
	left input
	n    *plan.TransactionApply
	size *expr.Program

	in    *expr.Batch // left rows that are not in a batch yet
	at    int
	sel   []uint16
	batch spool // the rows of one batch
	part  spool // what a batch gave, until its transaction has ended
	done  spool // what all batches gave
	full  bool
	rows  rows       // scratch
	told  vec.Column // of the status
}

func (o *transactionApply) open() error {
	o.full, o.in = false, nil
	o.batch.reset()
	o.part.reset()
	o.done.reset()
	return o.left.op.open()
}

func (o *transactionApply) close() {
	o.batch.close()
	o.part.close()
	o.done.close()
	o.core.close()
}

func (o *transactionApply) next() (*expr.Batch, error) {
	if !o.full {
		if err := o.all(); err != nil {
			return nil, err
		}
		o.full = true
		o.done.rewind()
	}
	if err := o.x.check(); err != nil {
		return nil, err
	}
	ok, err := o.done.read(&o.out, o.x.opt.BatchSize)
	if !ok || err != nil {
		return nil, err
	}
	return &o.out.b, nil
}

// all runs the batches.
func (o *transactionApply) all() error {
	if o.x.opt.Nested == nil || o.x.opt.Tx == nil {
		return dberr.New(dberr.Internal, "CALL { } IN TRANSACTIONS needs transactions")
	}
	size, err := o.batchRows()
	if err != nil {
		return err
	}
	failed := false
	for {
		n, err := o.gather(size)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		st := status{}
		if !failed || o.n.OnError != bind.OnErrorBreak {
			if st, err = o.transaction(); err != nil {
				return err
			}
			failed = failed || !st.committed
		}
		if err := o.keepBatch(st); err != nil {
			return err
		}
	}
	if err := o.batch.mem.set(&o.acct, 0); err != nil {
		return err
	}
	if err := o.x.renew(); err != nil {
		return err
	}
	return o.x.openSegment(o.n.After)
}

func (o *transactionApply) batchRows() (int, error) {
	if o.size == nil {
		return plan.DefaultBatchRows, nil
	}
	one, col := expr.Batch{N: 1, Cols: make([]*vec.Column, o.out.width)}, vec.Column{}
	if err := o.size.Eval(&o.env, &one, nil, &col); err != nil {
		return 0, err
	}
	v := col.Value(0)
	if v.Kind() != value.Int || v.Int() < 1 {
		return 0, dberr.New(dberr.ArgumentError, "OF … ROWS must be a positive integer, found %s", value.AppendTCK(nil, v)).WithToken("InvalidArgumentValue")
	}
	return int(min(v.Int(), 1<<40)), nil
}

// gather reads the next left rows into batch.
func (o *transactionApply) gather(size int) (int, error) {
	o.batch.reset()
	for o.batch.len() < size {
		if o.in == nil || o.at >= o.in.N {
			if err := o.x.check(); err != nil {
				return 0, err
			}
			b, err := o.left.next()
			if err != nil {
				return 0, err
			}
			if o.in, o.at = b, 0; b == nil {
				break
			}
		}
		take := min(size-o.batch.len(), o.in.N-o.at)
		o.sel = o.sel[:0]
		for i := range take {
			o.sel = append(o.sel, uint16(o.at+i))
		}
		o.at += take
		if err := o.batch.add(&expr.Batch{N: o.in.N, Sel: o.sel, Cols: o.in.Cols}, o.left.keep); err != nil {
			return 0, err
		}
	}
	o.batch.rewind()
	return o.batch.len(), nil
}

// status is what REPORT STATUS says of a batch.
type status struct {
	started, committed bool
	id, message        string
}

func (s status) value() value.Value {
	text := func(t string) value.Value {
		if t == "" {
			return value.Value{}
		}
		return value.NewString(t)
	}
	return value.NewMap([]string{"started", "committed", "transactionId", "errorMessage"},
		[]value.Value{value.NewBool(s.started), value.NewBool(s.committed), text(s.id), text(s.message)})
}

// transaction runs one batch. An error that ON ERROR lets pass is in the status; the batch has changed nothing then.
func (o *transactionApply) transaction() (status, error) {
	tx, id, ended, err := o.x.opt.Nested.Begin(o.x.ctx)
	if err != nil {
		return status{}, err
	}
	defer ended()
	st := status{started: true, id: id}
	cost, err := o.run(tx)
	if err == nil {
		if err = tx.Commit(context.WithoutCancel(o.x.ctx)); err == nil {
			o.x.given().Counters().AddDifference(cost, &store.Counters{})
			st.committed = true
			return st, nil
		}
	}
	if rerr := tx.Rollback(); rerr != nil {
		return st, rerr
	}
	if o.n.OnError == bind.OnErrorFail || fatal(err) {
		return st, err
	}
	st.message = dberr.As(err).Error()
	return st, nil
}

// fatal reports whether an error is about more than the batch.
func fatal(err error) bool {
	switch dberr.As(err).Code {
	case dberr.Canceled, dberr.ShuttingDown, dberr.Internal, dberr.IOError, dberr.DataCorrupted, dberr.DiskFull, dberr.TempLimit:
		return true
	}
	return false
}

// run evaluates the body for the batch in a transaction, into part.
func (o *transactionApply) run(tx store.Tx) (*store.Counters, error) {
	x := o.x
	stmt, err := tx.Begin(x.ctx)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	g, err := stmt.Graph(x.ctx, x.g.Name())
	if err != nil {
		return nil, err
	}
	y := &run{
		p: x.p, q: x.q, ctx: x.ctx, stmt: stmt, g: g, params: x.params, opt: x.opt, mem: x.mem, segs: make([]segment, len(x.segs)),
		cancel: x.cancel, profile: x.profile, rowIDs: x.rowIDs,
	}
	y.opt.Tx = tx
	if m, ok := stmt.(store.Meter); ok {
		y.ctx = m.Meter(x.ctx)
	}
	defer y.close()
	// The body is the right side of an Apply whose left side are the rows of the batch.
	source := &batchRows{from: &o.batch}
	source.init(y, o.n.Left.Info())
	y.ops = append(y.ops, source)
	n := o.n.Apply
	n.Slot, n.Exhaustive = plan.NoSlot, true
	if n.Opens = -1; o.n.PerRow {
		n.Opens = o.n.Opens
	} else if err := y.openSegment(o.n.Opens); err != nil {
		return nil, err
	}
	a := &apply{n: &n, arg: &argState{row: n.RowID}, ordered: keepsOrder(n.Right)}
	a.init(y, &n.Base)
	y.ops = append(y.ops, a)
	a.left.init(y, source, o.n.Left.Info())
	if err := y.rightSide(&a.right, n.Right, a.arg); err != nil {
		return nil, err
	}
	if err := a.open(); err != nil {
		return nil, err
	}
	o.part.reset()
	for {
		if err := y.check(); err != nil {
			return nil, err
		}
		b, err := a.next()
		if err != nil {
			return nil, err
		}
		if b == nil {
			break
		}
		if err := o.part.add(b, o.keep); err != nil {
			return nil, err
		}
	}
	o.part.rewind()
	if err := stmt.Finish(y.ctx); err != nil {
		return nil, err
	}
	cost := *stmt.Counters()
	return &cost, nil
}

// close ends the operators of a body.
func (x *run) close() {
	for i := len(x.ops) - 1; i >= 0; i-- {
		x.ops[i].close()
	}
}

// keepBatch adds to done what a batch gave: the rows of part, or of a batch that was not committed the left rows with nulls.
func (o *transactionApply) keepBatch(st status) error {
	from := &o.part
	if !st.committed {
		o.part.reset()
		from = &o.batch
	}
	from.rewind()
	v := st.value()
	o.rows.width = o.out.width
	for {
		ok, err := from.read(&o.rows, o.x.opt.BatchSize)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := o.x.check(); err != nil {
			return err
		}
		if o.n.Slot != plan.NoSlot {
			o.told.Reset()
			for range o.rows.b.N {
				o.told.Append(v)
			}
			o.rows.b.Cols[o.n.Slot] = &o.told
		}
		// A slot that the rows do not have becomes null.
		if err := o.done.add(&o.rows.b, o.keep); err != nil {
			return err
		}
	}
	o.part.reset()
	return nil
}

// batchRows yields the rows of a batch.
type batchRows struct {
	core
	from *spool
}

func (o *batchRows) open() error { o.from.rewind(); return nil }

func (o *batchRows) next() (*expr.Batch, error) {
	ok, err := o.from.read(&o.out, o.x.opt.BatchSize)
	if !ok || err != nil {
		return nil, err
	}
	return &o.out.b, nil
}

// renew gives the execution a new statement of its transaction, which sees what others have committed by now. What was read before is kept by
// identity and is read again.
func (x *run) renew() error {
	stmt, err := x.opt.Tx.Begin(x.ctx)
	if err != nil {
		return err
	}
	g, err := stmt.Graph(x.ctx, x.g.Name())
	if err != nil {
		stmt.Close()
		return err
	}
	x.endRenewed()
	x.first, x.stmt, x.g = x.stmt, stmt, g
	return nil
}

// endRenewed ends the statement that renew began. What it cost goes to the first one.
func (x *run) endRenewed() {
	if x.first == nil {
		return
	}
	x.first.Counters().AddDifference(x.stmt.Counters(), &store.Counters{})
	x.stmt.Close()
	x.stmt, x.first = x.first, nil
}

// given is the statement that the execution was given.
func (x *run) given() store.Stmt {
	if x.first != nil {
		return x.first
	}
	return x.stmt
}

// counters returns what the execution has cost, over both of its statements.
func (x *run) counters() *store.Counters {
	if x.first == nil {
		return x.stmt.Counters()
	}
	sum := *x.first.Counters()
	sum.AddDifference(x.stmt.Counters(), &store.Counters{})
	return &sum
}
