package exec

import (
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// merge is MERGE: row by row it looks for the pattern and makes it where it is missing, seeing what earlier rows did (rules C1, B14).
type merge struct {
	core
	left   input
	right  input
	n      *plan.Merge
	arg    *argState
	view   *freshView
	check  []*expr.Program
	locks  [][]*expr.Program
	names  []*expr.Program // of the locks, nil where nothing is computed
	w      creator
	create setter
	match  setter

	bulk   bulkMerge
	one    rows // the row at hand
	made   rows // rows of the pattern for it
	page   rows
	idx    []uint16
	found  rowStore
	acc    spool // finished rows
	have   bool
	col    []vec.Column
	hashes []uint64
	lockID [2][]uint64
	lockH  [2][]uint64
	flags  [2][]bool
}

func (o *merge) open() error {
	o.have = false
	o.acc.reset()
	return o.left.op.open()
}

func (o *merge) close() { o.acc.close(); o.core.close() }

// bytes is what it holds beside the finished rows.
func (o *merge) bytes() int64 { return o.found.size() + o.bulk.size() }

func (o *merge) next() (*expr.Batch, error) {
	for {
		if o.have {
			ok, err := o.acc.read(&o.out, o.x.opt.BatchSize)
			if err != nil {
				return nil, err
			}
			if ok {
				return &o.out.b, nil
			}
			o.have = false
		}
		b, err := o.left.next()
		if b == nil || err != nil {
			return nil, err
		}
		o.acc.reset()
		cid, err := o.stamp()
		if err != nil {
			return nil, err
		}
		if o.n.Batch && b.N > 1 {
			err = o.many(b, cid)
		} else {
			for i := 0; i < b.N && err == nil; i++ {
				if err = o.x.check(); err == nil {
					err = o.row(b, i, cid)
				}
			}
		}
		if err != nil {
			return nil, err
		}
		o.have = true
		o.acc.rewind()
	}
}

// pick makes row i of a batch the row at hand.
func (o *merge) pick(b *expr.Batch, i int) {
	o.idx = append(o.idx[:0], uint16(i))
	o.one.width = o.out.width
	o.one.start()
	o.one.gather(b, nil, o.idx)
}

// begin checks the rows of a batch and locks their keys.
func (o *merge) begin(b *expr.Batch, cid uint32) error {
	o.env.View = o.x.stmt.View(cid + 1)
	for k, p := range o.check {
		c, err := p.EvalRef(&o.env, b, nil, &o.col[0])
		if err != nil {
			return err
		}
		for i := range b.N {
			if c.IsNull(i) {
				return dberr.New(dberr.SemanticError, "cannot merge on a null value of property %q", o.n.NullCheck[k].Key).WithToken("MergeReadOwnWrites")
			}
		}
	}
	return o.lockKeys(b)
}

// row merges the pattern for one row.
func (o *merge) row(b *expr.Batch, i int, cid uint32) error {
	o.pick(b, i)
	if err := o.begin(&o.one.b, cid); err != nil {
		return err
	}
	racer, _ := o.x.g.(store.Racer)
	for try := 0; ; try++ {
		v, err := o.x.stmt.Fresh(o.x.ctx, cid+1)
		if err != nil {
			return err
		}
		o.view.v, o.env.View = v, v
		if err := o.probe(); err != nil {
			return err
		}
		if o.found.n == 0 {
			if err := o.lost(racer, cid); err != nil {
				return err
			}
			// A row that has the key and still does not match is a duplicate: after some tries make says so.
			o.w.racer = nil
			if racer != nil && try < 3 {
				o.w.racer = racer
			}
			if err := o.make(cid); err != nil || !o.w.beaten {
				return err
			}
			continue
		}
		again, err := o.lockFound()
		if err != nil {
			return err
		}
		if !again {
			return o.matched(cid)
		}
	}
}

// lost raises an error if the pattern is there for everybody but the transaction's own, older snapshot (rules B14).
func (o *merge) lost(racer store.Racer, cid uint32) error {
	if racer == nil {
		return nil
	}
	v, ok := racer.Latest(cid + 1)
	if !ok {
		return nil
	}
	own := o.env.View
	o.view.v, o.env.View = v, v
	err := o.probe()
	o.view.v, o.env.View = own, own
	if err == nil && o.found.n > 0 {
		err = dberr.New(dberr.SerializationFailure, "could not serialize access: a concurrent transaction made what MERGE looked for")
	}
	return err
}

// lockKeys takes the hash locks of the rows of a batch, in hash order.
func (o *merge) lockKeys(b *expr.Batch) error {
	o.hashes = o.hashes[:0]
	for k := range o.n.Locks {
		l := &o.n.Locks[k]
		start := uint64(14695981039346656037)
		if !l.Rel {
			for _, n := range l.Labels {
				start = hashText(start, n)
			}
		} else if l.Names == nil {
			start = hashText(start, l.Type)
		}
		at := len(o.hashes)
		for range b.N {
			o.hashes = append(o.hashes, start)
		}
		hs := o.hashes[at:]
		if p := o.names[k]; p != nil {
			c, err := p.EvalRef(&o.env, b, nil, &o.col[0])
			if err != nil {
				return err
			}
			for i := range hs {
				for _, v := range c.Value(i).All() {
					hs[i] = hashText(hs[i], v.Str())
				}
			}
		}
		if l.Rel {
			for i := range hs {
				var ends [2]uint64
				for e, s := range [2]plan.Slot{l.Start, l.End} {
					if s != plan.NoSlot && b.Cols[s] != nil {
						ends[e] = b.Cols[s].Words[i]
					}
				}
				hs[i] = mix(hs[i] ^ mix(min(ends[0], ends[1])) ^ max(ends[0], ends[1]))
			}
		}
		for n, p := range o.locks[k] {
			c, err := p.EvalRef(&o.env, b, nil, &o.col[0])
			if err != nil {
				return err
			}
			for i := range hs {
				hs[i] = mix(hashText(hs[i], l.Keys[n].Key) ^ value.Hash(c.Value(i)))
			}
		}
	}
	if len(o.hashes) == 0 {
		return nil
	}
	slices.Sort(o.hashes)
	return o.x.g.LockKeys(o.x.ctx, slices.Compact(o.hashes))
}

func hashText(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return mix(h)
}

// probe collects the matches of the row: all of them before anything is written, since the match sees the clause's own writes.
func (o *merge) probe() error {
	o.found.reset()
	o.found.slots, o.found.known = o.n.Binds, true
	o.arg.set(&o.one.b)
	if err := o.right.op.open(); err != nil {
		return err
	}
	for {
		rb, err := o.right.next()
		if rb == nil || err != nil {
			return err
		}
		o.found.add(rb)
		if err := o.mem.set(&o.acct, o.bytes()); err != nil {
			return err
		}
	}
}

// lockFound locks what ON MATCH changes; again means that something moved and the probe must be repeated (rules A9).
func (o *merge) lockFound() (again bool, err error) {
	if len(o.n.OnMatch) == 0 {
		return false, nil
	}
	for e := range o.lockID {
		o.lockID[e] = o.lockID[e][:0]
	}
	add := func(k value.Kind, id uint64) {
		switch k {
		case value.Node:
			o.lockID[0] = append(o.lockID[0], id)
		case value.Rel:
			o.lockID[1] = append(o.lockID[1], id)
		}
	}
	for i := range o.n.OnMatch {
		s := o.n.OnMatch[i].Slot
		if s == plan.NoSlot {
			continue
		}
		if k := slices.Index(o.found.slots, s); k >= 0 {
			for _, blk := range o.found.blocks {
				for r := range blk.n {
					add(blk.cols[k].Kinds[r], blk.cols[k].Words[r])
				}
			}
		} else if c := o.one.b.Cols[s]; c != nil {
			add(c.Kinds[0], c.Words[0])
		}
	}
	for e, list := range o.lockID {
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		list = slices.Compact(list)
		o.lockH[e], o.flags[0], o.flags[1] = grow(o.lockH[e], len(list)), grow(o.flags[0], len(list)), grow(o.flags[1], len(list))
		clear(o.lockH[e])
		clear(o.flags[0])
		clear(o.flags[1])
		if err := o.x.g.Lock(o.x.ctx, o.env.View, schema.Entity(e), list, o.lockH[e], o.flags[0], o.flags[1]); err != nil {
			return false, err
		}
		again = again || slices.Contains(o.flags[0], true)
	}
	return again, nil
}

// matched carries ON MATCH out on the matches and passes them on.
func (o *merge) matched(cid uint32) error {
	for _, blk := range o.found.blocks {
		o.idx = grow(o.idx, blk.n)
		clear(o.idx)
		o.made.width = o.out.width
		o.made.start()
		for s, c := range o.one.b.Cols {
			if c != nil {
				o.made.raw(s).Gather(c, o.idx)
			}
		}
		for k, s := range o.found.slots {
			o.made.b.Cols[s] = &blk.cols[k]
		}
		o.made.b.N = blk.n
		if len(o.n.OnMatch) > 0 {
			o.env.View.CID = cid + 1
			for r := range blk.n {
				if err := o.match.row(&o.made.b, r, cid); err != nil {
					return err
				}
			}
		}
		if err := o.emit(); err != nil {
			return err
		}
	}
	return nil
}

// make creates the pattern and carries ON CREATE out.
func (o *merge) make(cid uint32) error {
	if err := o.w.run(&o.one, cid); err != nil || o.w.beaten {
		return err
	}
	if len(o.n.OnCreate) > 0 {
		if err := o.create.row(&o.one.b, 0, cid); err != nil {
			return err
		}
	}
	o.made.width = o.out.width
	o.made.pass(&o.one.b)
	return o.emit()
}

// emit appends the rows of made to the finished ones.
func (o *merge) emit() error {
	if !o.acc.rows.known {
		if o.keep != nil {
			o.acc.rows.choose(&o.made.b, o.keep)
		} else {
			slots := o.keepOr(&o.made.b)
			for _, s := range o.n.Binds {
				if !has(slots, s) {
					slots = append(slots, s)
				}
			}
			o.acc.rows.choose(&o.made.b, slots)
		}
	}
	return o.acc.add(&o.made.b, nil)
}

// foreach runs its body for every element of a list.
type foreach struct {
	core
	in    input
	body  operator
	n     *plan.Foreach
	list  *expr.Program
	arg   *argState
	val   vec.Column
	pairs rows
	idx   []uint16
	of    []uint16
}

func (o *foreach) open() error { o.arg.batch = nil; return o.in.op.open() }

func (o *foreach) next() (*expr.Batch, error) {
	b, err := o.in.next()
	if b == nil || err != nil {
		return nil, err
	}
	// With one segment an iteration every row must read its list when the rows before it are done.
	limit := o.x.opt.BatchSize
	if o.n.Opens >= 0 {
		limit = 1
	}
	o.pairs.width = o.out.width
	for row := 0; row < b.N; {
		if err := o.sync(); err != nil {
			return nil, err
		}
		to := b.N
		if o.n.Opens >= 0 {
			to = row + 1
		}
		sel := o.idx[:0]
		for r := row; r < to; r++ {
			sel = append(sel, uint16(r))
		}
		o.idx = sel
		if err := o.list.Eval(&o.env, b, sel, &o.val); err != nil {
			return nil, err
		}
		if err := o.rows(b, row, to, limit); err != nil {
			return nil, err
		}
		row = to
	}
	o.out.pass(b)
	return &o.out.b, nil
}

// rows runs the body for the elements of the lists of rows from … to-1, which stand in val.
func (o *foreach) rows(b *expr.Batch, from, to, limit int) error {
	var of []uint16
	start := func() { of = o.of[:0]; o.pairs.start(); o.pairs.col(o.n.Var) }
	start()
	run := func() error {
		if len(of) == 0 {
			return nil
		}
		for s, c := range b.Cols {
			if c != nil && s != o.n.Var {
				o.pairs.raw(s).Gather(c, of)
			}
		}
		o.pairs.b.N = len(of)
		if err := o.x.check(); err != nil {
			return err
		}
		if err := o.x.openSegment(o.n.Opens); err != nil {
			return err
		}
		o.arg.set(&o.pairs.b)
		if err := o.body.open(); err != nil {
			return err
		}
		return drain(o.body)
	}
	for r := from; r < to; r++ {
		v := o.val.Value(r - from)
		if v.IsNull() {
			continue
		}
		if v.Kind() != value.List {
			return dberr.New(dberr.TypeError, "FOREACH needs a list, got a %s", expr.KindName(v.Kind())).WithToken("InvalidArgumentType")
		}
		for _, e := range v.All() {
			o.pairs.b.Cols[o.n.Var].Append(e)
			of = append(of, uint16(r))
			o.of = of
			if len(of) >= limit {
				if err := run(); err != nil {
					return err
				}
				start()
			}
		}
	}
	return run()
}
