package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// gathered collects what a right side gives for each left row: whether there is a row, how many, or their values.
type gathered struct {
	count []int64
	left  int // rows without a hit
	vals  vec.Column
	of    []uint16
	at    []uint32
	elems []value.Value
	order []uint32
	buf   []byte
	once  vec.Column
}

func (g *gathered) reset(n int) {
	g.count = grow(g.count, n)
	clear(g.count)
	g.left = n
	g.vals.Reset()
	g.of = g.of[:0]
}

func (g *gathered) hit(row int) {
	if g.count[row]++; g.count[row] == 1 {
		g.left--
	}
}

func (g *gathered) size() int64 { return int64(g.vals.Size() + g.once.Size() + 6*cap(g.of)) }

// lists makes col one list a row, of the values in the order in which they came.
func (g *gathered) lists(s *sharing, col *vec.Column) {
	if len(s.of) == 0 {
		col.Reset()
		g.each(col)
		return
	}
	g.once.Reset()
	g.each(&g.once)
	col.Gather(&g.once, s.of)
}

// each appends one list for each row that was handed down.
func (g *gathered) each(col *vec.Column) {
	n := len(g.count)
	g.at = grow(g.at, n+1)
	clear(g.at)
	for _, r := range g.of {
		g.at[r+1]++
	}
	for i := range n {
		g.at[i+1] += g.at[i]
	}
	g.order = grow(g.order, len(g.of))
	for i, r := range g.of {
		g.order[g.at[r]] = uint32(i)
		g.at[r]++
	}
	from := uint32(0)
	for i := range n {
		g.elems = g.elems[:0]
		for _, k := range g.order[from:g.at[i]] {
			g.elems = append(g.elems, g.vals.Value(int(k)))
		}
		from = g.at[i]
		g.buf = value.AppendList(g.buf[:0], g.elems...)
		col.AppendBytes(value.List, g.buf)
	}
}

// rowOf returns the words of the row-id column of a right batch.
func rowOf(b *expr.Batch, s plan.Slot) ([]uint64, error) {
	if b.Cols[s] == nil {
		return nil, dberr.New(dberr.Internal, "a row id is lost on the right side of an apply")
	}
	return b.Cols[s].Words, nil
}

// apply runs its right side for the rows of the left, a batch at a time or one by one.
type apply struct {
	core
	left    input
	right   input
	n       *plan.Apply
	arg     *argState
	ordered bool // right rows come in the order of the left ones

	whole *expr.Batch // left batch
	row   int         // PerRow: next row of whole
	one   rows        // PerRow: the row at hand
	idx1  [1]uint16
	batch *expr.Batch // what was handed down; nil: nothing is under way
	rb    *expr.Batch // right batch being consumed
	k     int         // Optional: next row of rb
	want  int         // Optional: left rows before this one are out
	share sharing
	got   gathered
	done  []bool
	idx   []uint16
	ridx  []uint16
	sel   []uint16
}

func (o *apply) open() error {
	o.whole, o.batch, o.rb, o.arg.batch = nil, nil, nil, nil
	return o.left.op.open()
}

// begin hands the next left rows down and opens the right side; false at the end.
func (o *apply) begin() (bool, error) {
	if err := o.x.check(); err != nil {
		return false, err
	}
	if o.whole == nil || !o.n.PerRow || o.row >= o.whole.N {
		b, err := o.left.next()
		if b == nil || err != nil {
			return false, err
		}
		o.whole, o.row = b, 0
	}
	o.batch = o.whole
	if o.n.PerRow {
		o.idx1[0] = uint16(o.row)
		o.row++
		o.one.width = o.out.width
		o.one.start()
		o.one.gather(o.whole, nil, o.idx1[:])
		o.batch = &o.one.b
		if err := o.x.openSegment(o.n.Opens); err != nil {
			return false, err
		}
	}
	asked := o.share.ask(o.batch)
	o.arg.set(asked)
	o.rb, o.k, o.want = nil, 0, 0
	o.got.reset(asked.N)
	o.arg.done = nil
	if (o.n.Kind == plan.Semi || o.n.Kind == plan.Anti || o.n.Kind == plan.LetSemi) && !o.n.Exhaustive && !o.n.PerRow {
		o.done = grow(o.done, asked.N)
		clear(o.done)
		o.arg.done = o.done
	}
	return true, o.right.op.open()
}

// rowIDs returns the left row of each row of a right batch.
func (o *apply) rowIDs(b *expr.Batch) ([]uint64, error) {
	if o.n.PerRow {
		if o.n.RowID == plan.NoSlot || b.Cols[o.n.RowID] == nil {
			w := grow(o.x.zeros, b.N)
			o.x.zeros = w
			clear(w)
			return w, nil
		}
	}
	return rowOf(b, o.n.RowID)
}

func (o *apply) next() (*expr.Batch, error) {
	for {
		if o.batch == nil {
			ok, err := o.begin()
			if !ok || err != nil {
				return nil, err
			}
		}
		var b *expr.Batch
		var err error
		switch o.n.Kind {
		case plan.Inner:
			b, err = o.inner()
		case plan.Optional:
			b, err = o.optional()
		case plan.Unit:
			if err = drain(o.right.op); err == nil {
				b = o.leftOnly(nil)
			}
			o.batch = nil
		default:
			b, err = o.collect()
		}
		if b != nil || err != nil {
			return b, err
		}
	}
}

// leftOnly passes left rows on, those of sel if it is not nil.
func (o *apply) leftOnly(sel []uint16) *expr.Batch {
	o.out.pass(o.batch)
	o.out.b.Sel = sel
	return &o.out.b
}

// join puts a right batch and the left rows idx beside each other. ridx, if not nil, are the rows of the right batch, or vec.NoRow.
func (o *apply) join(rb *expr.Batch, idx, ridx []uint16) *expr.Batch {
	o.out.start()
	for s, c := range rb.Cols {
		switch {
		case c == nil || o.batch.Cols[s] != nil:
		case ridx == nil:
			o.out.b.Cols[s] = c
		default:
			o.out.raw(s).Gather(c, ridx)
		}
	}
	for _, s := range o.keepOr(o.batch) {
		if c := o.batch.Cols[s]; c != nil {
			o.out.raw(s).Gather(c, idx)
		}
	}
	o.out.b.N = len(idx)
	return &o.out.b
}

func (o *apply) inner() (*expr.Batch, error) {
	rb, err := o.right.next()
	if err != nil {
		return nil, err
	}
	if rb == nil {
		o.batch = nil
		return nil, nil
	}
	rid, err := o.rowIDs(rb)
	if err != nil {
		return nil, err
	}
	o.idx = grow(o.idx, rb.N)
	for i := range o.idx {
		o.idx[i] = uint16(rid[i])
	}
	return o.join(rb, o.idx, nil), o.account()
}

func (o *apply) optional() (*expr.Batch, error) {
	if o.rb == nil {
		rb, err := o.right.next()
		if err != nil {
			return nil, err
		}
		if rb == nil {
			return o.rest()
		}
		o.rb, o.k = rb, 0
	}
	rid, err := o.rowIDs(o.rb)
	if err != nil {
		return nil, err
	}
	o.idx, o.ridx = o.idx[:0], o.ridx[:0]
	for o.k < o.rb.N && len(o.idx) < vec.MaxRows {
		r := int(rid[o.k])
		// Left rows without a match go out in their place where the right side keeps the order.
		if o.ordered && o.want < r {
			if o.got.count[o.want] == 0 {
				o.idx, o.ridx = append(o.idx, uint16(o.want)), append(o.ridx, vec.NoRow)
			}
			o.want++
			continue
		}
		o.got.hit(r)
		o.idx, o.ridx = append(o.idx, uint16(r)), append(o.ridx, uint16(o.k))
		o.k++
	}
	b := o.join(o.rb, o.idx, o.ridx)
	for _, s := range o.n.Nulls {
		if b.Cols[s] == nil {
			o.out.raw(s).Nulls(b.N)
		}
	}
	if o.k >= o.rb.N {
		o.rb = nil
	}
	return b, o.account()
}

// rest yields the left rows that had no match.
func (o *apply) rest() (*expr.Batch, error) {
	o.sel = o.sel[:0]
	for i := o.want; i < o.batch.N; i++ {
		if o.got.count[i] == 0 {
			o.sel = append(o.sel, uint16(i))
		}
	}
	if len(o.sel) == 0 {
		o.batch = nil
		return nil, nil
	}
	b := o.leftOnly(o.sel)
	for _, s := range o.n.Nulls {
		if o.batch.Cols[s] == nil {
			o.out.raw(s).Nulls(b.N)
		}
	}
	o.batch = nil
	return b, nil
}

// collect uses the right side up and yields the left rows with what was learnt.
func (o *apply) collect() (*expr.Batch, error) {
	semi := o.n.Kind == plan.Semi || o.n.Kind == plan.Anti || o.n.Kind == plan.LetSemi
	for {
		rb, err := o.right.next()
		if err != nil {
			return nil, err
		}
		if rb == nil {
			break
		}
		rid, err := o.rowIDs(rb)
		if err != nil {
			return nil, err
		}
		for i := range rb.N {
			r := int(rid[i])
			o.got.hit(r)
			if o.arg.done != nil {
				o.done[r] = true
			}
			if o.n.Kind == plan.RollUp {
				o.got.of = append(o.got.of, uint16(r))
				o.got.vals.AppendFrom(rb.Cols[o.n.From], i)
			}
		}
		if semi && !o.n.Exhaustive && o.got.left == 0 {
			break
		}
		if err := o.mem.set(&o.acct, o.out.bytes()+o.got.size()+o.share.size()); err != nil {
			return nil, err
		}
	}
	o.arg.done = nil
	var b *expr.Batch
	switch o.n.Kind {
	case plan.Semi, plan.Anti:
		o.sel = o.sel[:0]
		for i := range o.batch.N {
			if o.got.count[o.share.answer(i)] > 0 == (o.n.Kind == plan.Semi) {
				o.sel = append(o.sel, uint16(i))
			}
		}
		if len(o.sel) > 0 {
			b = o.leftOnly(o.sel)
		}
	case plan.LetSemi:
		b = o.leftOnly(nil)
		w := o.out.raw(o.n.Slot).Fill(value.Bool, b.N)
		for i := range w {
			w[i] = uint64(min(o.got.count[o.share.answer(i)], 1))
		}
	case plan.LetCount:
		b = o.leftOnly(nil)
		w := o.out.raw(o.n.Slot).Fill(value.Int, b.N)
		for i := range w {
			w[i] = uint64(o.got.count[o.share.answer(i)])
		}
	case plan.RollUp:
		b = o.leftOnly(nil)
		o.got.lists(&o.share, o.out.raw(o.n.Slot))
	default:
		return nil, dberr.New(dberr.Internal, "unknown apply")
	}
	o.batch = nil
	return b, o.mem.set(&o.acct, o.out.bytes()+o.got.size()+o.share.size())
}

// keepsOrder reports whether the rows of a right side come in the order of the argument's rows.
func keepsOrder(n plan.Node) bool {
	switch n := n.(type) {
	case nil:
		return false
	case *plan.Argument:
		return true
	case *plan.VarExpand:
		if n.BoundRels == plan.NoSlot {
			return false
		}
	case *plan.Union, *plan.PathSearch:
		return false
	case *plan.Sort:
		return len(n.Part) > 0 && keepsOrder(n.Child)
	case *plan.TopN:
		return len(n.Part) > 0 && keepsOrder(n.Child)
	case *plan.Aggregate:
		return len(n.Part) > 0 && keepsOrder(n.Child)
	case *plan.Apply:
		return keepsOrder(n.Left) && (n.Kind != plan.Optional || n.PerRow || keepsOrder(n.Right))
	}
	kids := n.Children()
	return len(kids) > 0 && keepsOrder(kids[0])
}

// subplan evaluates EXISTS, COUNT and COLLECT of an expression for the rows of a batch.
type subplan struct {
	s     *expr.Subplan
	plan  *plan.Subplan
	in    input
	arg   *argState
	left  rows
	share sharing
	got   gathered
	done  []bool
	busy  bool
	mem   charge
}

func (c *core) evalSubplan(_ *expr.Env, s *expr.Subplan, b *expr.Batch, sel []uint16, out *vec.Column) error {
	p := c.subs[s]
	if p == nil {
		return dberr.New(dberr.Internal, "a subquery was not prepared")
	}
	x := c.x
	if p.busy {
		return dberr.New(dberr.Internal, "a subquery contains itself")
	}
	p.busy = true
	defer func() { p.busy = false; p.arg.done, p.arg.batch = nil, nil }()
	out.Reset()
	n := b.N
	if sel != nil {
		n = len(sel)
	}
	if n == 0 {
		return nil
	}
	p.left.width = len(x.q.Slots)
	p.left.start()
	for _, s := range p.plan.Args {
		if c := b.Cols[s]; c != nil {
			if sel == nil {
				p.left.b.Cols[s] = c
			} else {
				p.left.raw(s).Gather(c, sel)
			}
		}
	}
	p.left.b.N = n
	asked := p.share.ask(&p.left.b)
	p.arg.set(asked)
	p.got.reset(asked.N)
	p.arg.done = nil
	if p.s.Kind == expr.SubExists {
		p.done = grow(p.done, asked.N)
		clear(p.done)
		p.arg.done = p.done
	}
	if err := p.in.op.open(); err != nil {
		return err
	}
	for {
		rb, err := p.in.next()
		if err != nil {
			return err
		}
		if rb == nil {
			break
		}
		rid, err := rowOf(rb, p.arg.row)
		if err != nil {
			return err
		}
		for i := range rb.N {
			r := int(rid[i])
			p.got.hit(r)
			switch p.s.Kind {
			case expr.SubExists:
				p.done[r] = true
			case expr.SubCollect:
				p.got.of = append(p.got.of, uint16(r))
				p.got.vals.AppendFrom(rb.Cols[p.plan.From], i)
			}
		}
		if p.s.Kind == expr.SubExists && p.got.left == 0 {
			break
		}
		if err := p.mem.set(&c.acct, p.got.size()+p.share.size()); err != nil {
			return err
		}
	}
	switch p.s.Kind {
	case expr.SubExists:
		w := out.Fill(value.Bool, n)
		for i := range w {
			w[i] = uint64(min(p.got.count[p.share.answer(i)], 1))
		}
	case expr.SubCount:
		w := out.Fill(value.Int, n)
		for i := range w {
			w[i] = uint64(p.got.count[p.share.answer(i)])
		}
	default:
		p.got.lists(&p.share, out)
	}
	return p.mem.set(&c.acct, p.got.size()+p.share.size())
}
