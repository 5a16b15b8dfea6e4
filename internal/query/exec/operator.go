package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// operator is a node of a running plan.
type operator interface {
	// open starts (again) from the beginning, as if the operator was new (E7). It does no work that reads.
	open() error
	// next returns the next batch, nil at the end. A batch has at least one live row and is valid until the next call (E1).
	next() (*expr.Batch, error)
	// close frees what is held; the operator is not used again.
	close()
}

// freshView is the view of a MERGE's probe, shared by the operators of its match.
type freshView struct{ v store.View }

// core is what operators share.
type core struct {
	x     *run
	info  *plan.Base
	env   expr.Env
	fresh *freshView
	out   rows
	keep  []plan.Slot // slots that go on
	size  int         // rows of the next batch: adaptive
	acct  account     // everything that the operator holds, its expressions included
	mem   charge      // of it: what the operator itself counts
	pure  bool        // nothing that it evaluates reads the graph
	subs  map[*expr.Subplan]*subplan
}

func (c *core) init(x *run, info *plan.Base) {
	c.x, c.info, c.keep = x, info, x.keepOf(info)
	c.acct.t = x.mem
	if n := len(x.fresh); n > 0 {
		c.fresh = x.fresh[n-1]
	}
	c.env.Mem = &c.acct
	c.bind()
	c.out.width = len(x.q.Slots)
	x.cores, x.outs = append(x.cores, c), append(x.outs, &c.out)
}

// bind gives the expressions what they know of the statement.
func (c *core) bind() {
	x, e := c.x, &c.env
	e.Ctx, e.Graph, e.Params, e.Cancel, e.Probe, e.AGE = x.ctx, x.g, x.params, x.cancel, x.opt.Probe, x.opt.AGE
	e.Now, e.TxNow, e.Zone = x.opt.Now, x.opt.TxNow, x.opt.Zone
}

// unbind forgets the statement, and what was accounted for it.
func (c *core) unbind() {
	e := &c.env
	e.Ctx, e.Graph, e.Params, e.Cancel, e.Probe, e.View = nil, nil, nil, nil, nil, store.View{}
	c.acct = account{t: c.acct.t}
	c.mem, c.size = charge{}, 0
}

func (c *core) close() {
	c.mem = charge{}
	c.acct.release()
}

func (c *core) ledger() *account { return &c.acct }

// firstSize is the size of an operator's first batch, so that a LIMIT or a point query does not read too much.
const firstSize = 32

func (c *core) restart() { c.size = 0 }

// take returns how many rows the next batch may have.
func (c *core) take() int {
	switch {
	case c.size == 0:
		c.size = min(firstSize, c.x.opt.BatchSize)
	case c.size < c.x.opt.BatchSize:
		c.size = min(4*c.size, c.x.opt.BatchSize)
	}
	return c.size
}

// sync sets the view of the operator's clause (E2).
func (c *core) sync() error {
	if c.fresh != nil {
		c.env.View = c.fresh.v
		return nil
	}
	if c.pure && !c.x.segs[c.info.CID.Seg].open {
		return nil // such as DISTINCT above a UNION, whose last branch has not begun
	}
	base, err := c.x.base(c.info.CID.Seg)
	if err != nil {
		return err
	}
	cid := base + uint32(c.info.CID.Read)
	if c.info.CID.Own {
		cid = base + uint32(c.info.CID.Write) + 1
	}
	c.env.View, c.env.Graph = c.x.stmt.View(cid), c.x.g // both change at CALL { } IN TRANSACTIONS
	return nil
}

// stamp returns the command id that a write of the operator's clause carries.
func (c *core) stamp() (uint32, error) {
	base, err := c.x.base(c.info.CID.Seg)
	return base + uint32(c.info.CID.Write), err
}

// account charges the output batch.
func (c *core) account() error { return c.mem.set(&c.acct, c.out.bytes()) }

func (c *core) program(e expr.Expr) (*expr.Program, error) {
	if e == nil {
		return nil, nil
	}
	p, err := c.x.p.program(e)
	if err != nil {
		return nil, err
	}
	c.pure = c.pure && !p.reads
	for _, s := range p.subs {
		c.x.lasting = false
		if c.subs[s] != nil {
			continue
		}
		sp, err := c.x.subplan(s)
		if err != nil {
			return nil, err
		}
		if c.subs == nil {
			c.subs = map[*expr.Subplan]*subplan{}
			c.env.Subplan = c.evalSubplan
		}
		c.subs[s] = sp
	}
	return p.prog, nil
}

// types resolves relationship types at the operator's view. ok is false if names are given and none exists.
func (c *core) types(names []string, dst []schema.LabelID) (ids []schema.LabelID, ok bool) {
	dst = dst[:0]
	for _, n := range names {
		if id, found := c.x.g.Label(c.env.View, n, schema.Edge); found {
			dst = append(dst, id)
		}
	}
	return dst, len(names) == 0 || len(dst) > 0
}

// rows is an output batch and the columns that it owns.
type rows struct {
	width int
	b     expr.Batch
	own   columns
}

// columns are an operator's own columns by slot. In a statement with very many slots an operator has few of them.
type columns struct {
	dense []*vec.Column
	few   map[plan.Slot]*vec.Column
}

// manySlots is the width above which columns are kept by slot number.
const manySlots = 2048

func (c *columns) at(s plan.Slot) *vec.Column {
	if c.dense != nil {
		return c.dense[s]
	}
	return c.few[s]
}

func (c *columns) each(f func(*vec.Column)) {
	for _, x := range c.dense {
		if x != nil {
			f(x)
		}
	}
	for _, x := range c.few {
		f(x)
	}
}

func (c *columns) set(s plan.Slot, x *vec.Column) {
	if c.dense != nil {
		c.dense[s] = x
		return
	}
	c.few[s] = x
}

func (c *columns) init(width int) {
	if width > manySlots {
		c.few = map[plan.Slot]*vec.Column{}
		return
	}
	c.dense = make([]*vec.Column, width)
}

// start begins a new batch without columns.
func (r *rows) start() {
	if r.b.Cols == nil {
		r.b.Cols = make([]*vec.Column, r.width)
		r.own.init(r.width)
	}
	clear(r.b.Cols)
	r.b.N, r.b.Sel = 0, nil
}

// pass begins a batch with the columns of in.
func (r *rows) pass(in *expr.Batch) {
	if r.b.Cols == nil {
		r.b.Cols = make([]*vec.Column, r.width)
		r.own.init(r.width)
	}
	copy(r.b.Cols, in.Cols)
	r.b.N, r.b.Sel = in.N, in.Sel
}

// raw returns the operator's own column of a slot and puts it into the batch; its content is what it was.
func (r *rows) raw(s plan.Slot) *vec.Column {
	c := r.own.at(s)
	if c == nil {
		c = new(vec.Column)
		r.own.set(s, c)
	}
	r.b.Cols[s] = c
	return c
}

// col returns the empty column of a slot that the operator fills by appending.
func (r *rows) col(s plan.Slot) *vec.Column {
	c := r.raw(s)
	c.Reset()
	return c
}

// gather takes the rows idx of a batch for the slots that go on (nil: all).
func (r *rows) gather(in *expr.Batch, keep []plan.Slot, idx []uint16) {
	if keep == nil {
		for s, c := range in.Cols {
			if c != nil {
				r.raw(s).Gather(c, idx)
			}
		}
	} else {
		for _, s := range keep {
			if c := in.Cols[s]; c != nil {
				r.raw(s).Gather(c, idx)
			}
		}
	}
	r.b.N = len(idx)
}

func (r *rows) bytes() (n int64) {
	r.own.each(func(c *vec.Column) { n += int64(cap(c.Kinds) + 8*cap(c.Words)) })
	return n
}

// input is a child operator whose batches are made dense: no selection.
type input struct {
	op    operator
	keep  []plan.Slot
	dense rows
}

func (i *input) init(x *run, op operator, info *plan.Base) {
	i.op, i.keep, i.dense.width = op, x.keepOf(info), len(x.q.Slots)
	x.outs = append(x.outs, &i.dense)
}

// next returns the next dense batch of the child.
func (i *input) next() (*expr.Batch, error) {
	b, err := i.op.next()
	if b == nil || err != nil || b.Sel == nil {
		return b, err
	}
	if len(b.Sel) == b.N {
		b.Sel = nil
		return b, nil
	}
	i.dense.start()
	i.dense.gather(b, i.keep, b.Sel)
	return &i.dense.b, nil
}

func has(slots []plan.Slot, s plan.Slot) bool {
	for _, o := range slots {
		if o == s {
			return true
		}
	}
	return false
}

// ids returns the entity ids of a column: the words themselves where the column is uniform, 0 for null. A value of
// another kind is a TypeError.
func ids(c *vec.Column, k value.Kind, scratch *[]uint64) ([]uint64, error) {
	if c == nil {
		return nil, dberr.New(dberr.Internal, "an entity column is missing")
	}
	if u, ok := c.Uniform(); ok && u == k {
		return c.Words, nil
	}
	out := grow(*scratch, c.Len())
	*scratch = out
	for i, kk := range c.Kinds {
		switch kk {
		case k:
			out[i] = c.Words[i]
		case value.Null:
			out[i] = 0
		default:
			return nil, dberr.New(dberr.TypeError, "expected a %s, got a %s", expr.KindName(k), expr.KindName(kk)).WithToken("InvalidArgumentType")
		}
	}
	return out, nil
}

// hints returns the words of a hint column, nil if there is none.
func hints(b *expr.Batch, s plan.Slot) []store.Hint {
	if s == plan.NoSlot || b.Cols[s] == nil {
		return nil
	}
	return b.Cols[s].Words
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		m := n
		if m > 8 {
			m = max(n, 2*cap(s))
		}
		s = make([]T, m)
	}
	return s[:n]
}

// entityCol fills an entity column of a slot with ids; 0 becomes null.
func (r *rows) entityCol(s plan.Slot, k value.Kind, idv []uint64) {
	if s == plan.NoSlot {
		return
	}
	c := r.raw(s)
	copy(c.Fill(k, len(idv)), idv)
	nulls := false
	for i, id := range idv {
		if id == 0 {
			c.Kinds[i], nulls = value.Null, true
		}
	}
	if nulls {
		c.Retype()
	}
}

// noHint gives an entity whose place is not known a hint column of zeros: the first visit fills it in, and later ones need no probe.
func (c *core) noHint(s plan.Slot, n int) {
	if s == plan.NoSlot {
		return
	}
	if h := c.x.q.Slots[s].Hint; h != plan.NoSlot {
		clear(c.out.raw(h).Fill(value.Int, n))
	}
}

// hintCol fills a hint column.
func (r *rows) hintCol(s plan.Slot, h []store.Hint) {
	if s == plan.NoSlot {
		return
	}
	copy(r.raw(s).Fill(value.Int, len(h)), h)
}
