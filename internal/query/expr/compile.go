package expr

import (
	"errors"
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// evalFn evaluates the rows of sel (nil: all of b) and returns a dense column: out, or a column that somebody else owns and that
// is valid until the frame's next evaluation.
type evalFn func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error)

// filterFn appends to dst the rows of sel for which a predicate is true.
type filterFn func(f *frame, b *Batch, sel []uint16, dst []uint16) ([]uint16, error)

// Program is a compiled expression: immutable and shared (X3).
type Program struct {
	eval   evalFn
	filter filterFn
	isCol  int // slot if the whole expression is a column, else NoSlot

	ncols, nsels, nargs, nany int
	groups                    []*propGroup
	frames                    sync.Pool
}

// frame is the scratch memory of one evaluation.
type frame struct {
	env   *Env
	cols  []vec.Column
	sels  [][]uint16
	args  [][]value.Value
	any   []any // state that a node keeps between batches, such as a compiled pattern
	fetch []groupState
	c     call
	self  *Program

	charged int // of held, against the statement's limit
}

func (p *Program) frame(env *Env) *frame {
	f, _ := p.frames.Get().(*frame)
	if f == nil {
		f = &frame{cols: make([]vec.Column, p.ncols), sels: make([][]uint16, p.nsels), args: make([][]value.Value, p.nargs),
			any: make([]any, p.nany), fetch: make([]groupState, len(p.groups)), self: p}
	}
	f.env, f.c.env = env, env
	for i := range f.fetch {
		f.fetch[i].done = false
	}
	return f
}

// keepFrame bounds the scratch memory of a frame that waits for its next use.
const keepFrame = 1 << 20

// release gives the frame back. One that grew beyond keepFrame is dropped, and its size held against the statement's limit.
func (p *Program) release(f *frame, err error) error {
	n := f.held()
	env := f.env
	if f.charged != 0 {
		_ = env.Mem.Grow(-int64(f.charged))
		f.charged = 0
	}
	f.env, f.c.env = nil, nil
	if n <= keepFrame {
		p.frames.Put(f)
		return err
	}
	if err == nil && env.Mem != nil {
		if err = env.Mem.Grow(int64(n)); err == nil {
			err = env.Mem.Grow(-int64(n))
		}
	}
	return err
}

// count is the number of rows that an evaluation yields.
func count(b *Batch, sel []uint16) int {
	if sel != nil {
		return len(sel)
	}
	return b.N
}

// rowOf is the row of b that dense position i stands for.
func rowOf(sel []uint16, i int) uint16 {
	if sel != nil {
		return sel[i]
	}
	return uint16(i)
}

// Eval resets out and fills it with one row for each row of sel (nil means all rows of b, not b.Sel). out owns its bytes.
func (p *Program) Eval(env *Env, b *Batch, sel []uint16, out *vec.Column) error {
	if err := env.Check(); err != nil {
		return err
	}
	f := p.frame(env)
	return p.release(f, p.run(f, b, sel, out))
}

func (p *Program) run(f *frame, b *Batch, sel []uint16, out *vec.Column) (err error) {
	defer stopped(&err)
	c, err := p.eval(f, b, sel, out)
	if err == nil && c != out {
		f.c.room(len(c.Arena))
		out.Reset()
		out.AppendRows(c, nil)
	}
	return err
}

func (p *Program) runFilter(f *frame, b *Batch, sel, dst []uint16) (out []uint16, err error) {
	out = dst
	defer stopped(&err)
	return p.filter(f, b, sel, dst)
}

// EvalRef is Eval that returns one of b's own columns instead of copying it where the expression is just that; scratch is used
// otherwise.
func (p *Program) EvalRef(env *Env, b *Batch, sel []uint16, scratch *vec.Column) (*vec.Column, error) {
	if p.isCol != NoSlot && sel == nil && p.isCol < len(b.Cols) && b.Cols[p.isCol] != nil {
		return b.Cols[p.isCol], nil
	}
	return scratch, p.Eval(env, b, sel, scratch)
}

// Filter appends to out the rows of sel for which the predicate is true (nil means all rows of b).
func (p *Program) Filter(env *Env, b *Batch, sel []uint16, out []uint16) ([]uint16, error) {
	if err := env.Check(); err != nil {
		return out, err
	}
	f := p.frame(env)
	out, err := p.runFilter(f, b, sel, out)
	return out, p.release(f, err)
}

var oneRow = Batch{N: 1}

// EvalOne evaluates an expression that reads no columns. The result owns its bytes.
func (p *Program) EvalOne(env *Env) (value.Value, error) {
	var out vec.Column
	if err := p.Eval(env, &oneRow, nil, &out); err != nil {
		return value.Value{}, err
	}
	return out.Value(0), nil
}

// comp is the state of one compilation.
type comp struct {
	p       *Program
	guarded int // > 0: what is compiled may see fewer rows than the program
	bySlot  map[int]*propGroup
}

func (c *comp) col() int { c.p.ncols++; return c.p.ncols - 1 }
func (c *comp) sel() int { c.p.nsels++; return c.p.nsels - 1 }
func (c *comp) any() int { c.p.nany++; return c.p.nany - 1 }
func (c *comp) arg() int { c.p.nargs++; return c.p.nargs - 1 }

// child is a compiled operand and the column that it may write.
type child struct {
	fn  evalFn
	col int
}

func (k child) eval(f *frame, b *Batch, sel []uint16) (*vec.Column, error) {
	return k.fn(f, b, sel, &f.cols[k.col])
}

// Compile compiles an expression. It refuses aggregates.
func Compile(e Expr) (*Program, error) {
	p := &Program{isCol: NoSlot}
	c := &comp{p: p, bySlot: map[int]*propGroup{}}
	if col, ok := e.(*Col); ok {
		p.isCol = col.Slot
	}
	c.groupProps(e)
	var err error
	if p.eval, err = c.compile(e); err != nil {
		return nil, err
	}
	if p.filter, err = c.filter(e); err != nil {
		return nil, err
	}
	return p, nil
}

func (c *comp) child(e Expr) (child, error) {
	fn, err := c.compile(e)
	return child{fn, c.col()}, err
}

func (c *comp) children(es []Expr) ([]child, error) {
	out := make([]child, len(es))
	for i, e := range es {
		var err error
		if out[i], err = c.child(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// guard compiles children that see only some of the rows.
func (c *comp) guard(es []Expr) ([]child, error) {
	c.guarded++
	defer func() { c.guarded-- }()
	return c.children(es)
}

// compile compiles a node; what its kernels raise gets the node's position.
func (c *comp) compile(e Expr) (evalFn, error) {
	fn, err := c.node(e)
	if err != nil {
		return nil, err
	}
	switch e.(type) {
	case *Const, *Col, *Param:
		return fn, nil
	}
	pos, end := e.Span()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		col, err := fn(f, b, sel, out)
		if err != nil {
			return nil, locate(err, pos, end)
		}
		if large(col) {
			if err := f.charge(); err != nil {
				return nil, locate(err, pos, end)
			}
			f.c.walk(0)
		}
		return col, nil
	}, nil
}

func locate(err error, pos, end int) error {
	var e *dberr.Error
	if pos >= 0 && end > pos && errors.As(err, &e) && e.Code != dberr.Canceled {
		e.At(pos, end)
	}
	return err
}

func (c *comp) node(e Expr) (evalFn, error) {
	switch e := e.(type) {
	case *Const:
		return c.constant(true, func(*frame) (value.Value, error) { return e.V, nil }), nil
	case *Param:
		return c.constant(false, func(f *frame) (value.Value, error) {
			if e.Index >= len(f.env.Params) {
				return value.Value{}, dberr.New(dberr.MissingParameter, "expected parameter $%s", e.Name).WithToken("MissingParameter").At(e.Pos, e.End)
			}
			return f.env.Params[e.Index], nil
		}), nil
	case *Col:
		return colKernel(e), nil
	case *Prop:
		return c.prop(e)
	case *Unary:
		return c.unary(e)
	case *Binary:
		return c.binary(e)
	case *Chain:
		return c.chain(e)
	case *And:
		return c.andOr(e.Args, true)
	case *Or:
		return c.andOr(e.Args, false)
	case *Index:
		return c.index(e)
	case *Slice:
		return c.slice(e)
	case *Case:
		return c.caseExpr(e)
	case *Func:
		return c.function(e)
	case *ListLit:
		return c.listLit(e)
	case *MapLit:
		return c.mapLit(e)
	case *ListComp:
		return c.listComp(e)
	case *Quantifier:
		return c.quantifier(e)
	case *Reduce:
		return c.reduce(e)
	case *HasLabels:
		return c.hasLabels(e)
	case *IsType:
		return c.isType(e)
	case *MapProj:
		return c.mapProj(e)
	case *MakePath:
		return c.makePath(e)
	case *Subplan:
		return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
			if f.env.Subplan == nil {
				return nil, dberr.New(dberr.Internal, "no evaluator for a subplan")
			}
			out.Reset()
			if count(b, sel) == 0 {
				return out, nil
			}
			return out, f.env.Subplan(f.env, e, b, sel, out)
		}, nil
	case *Agg:
		return nil, dberr.New(dberr.GroupingError, "aggregating function `%s` cannot be used here", e.Def.Name).WithToken("InvalidAggregation").At(e.Pos, e.End)
	}
	return nil, dberr.New(dberr.Internal, "expr: unknown node %T", e)
}

// repeated is what a constant's column holds already.
type repeated struct {
	n    int // rows; 0: nothing
	kind value.Kind
	word uint64
}

// constant repeats one value. The column is kept from batch to batch, so that only the first pays for it; fixed says that get
// always gives the same.
func (c *comp) constant(fixed bool, get func(*frame) (value.Value, error)) evalFn {
	one, own, state := c.col(), c.col(), c.any()
	return func(f *frame, b *Batch, sel []uint16, _ *vec.Column) (*vec.Column, error) {
		v, err := get(f)
		if err != nil {
			return nil, err
		}
		n := count(b, sel)
		col := &f.cols[own]
		st, _ := f.any[state].(*repeated)
		if st == nil {
			st = new(repeated)
			f.any[state] = st
		}
		k, w := v.Kind(), v.Word()
		inBytes := vec.InBytes(k)
		if st.n >= n && n > 0 && st.kind == k && (fixed || !inBytes && st.word == w) {
			col.Kinds, col.Words = col.Kinds[:n], col.Words[:n]
			return col, nil
		}
		if inBytes {
			src := &f.cols[one]
			src.Reset()
			src.Append(v)
			col.Repeat(src, 0, n)
		} else {
			words := col.Fill(k, n)
			for i := range words {
				words[i] = w
			}
		}
		*st = repeated{n, k, w}
		return col, nil
	}
}

func colKernel(e *Col) evalFn {
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		if e.Slot >= len(b.Cols) || b.Cols[e.Slot] == nil {
			return nil, dberr.New(dberr.Internal, "slot %d (%s) is not filled", e.Slot, e.Name)
		}
		src := b.Cols[e.Slot]
		if sel == nil {
			return src, nil
		}
		out.Gather(src, sel)
		return out, nil
	}
}

// typeError is the run-time complaint about a value of a wrong kind.
func typeError(v value.Value, want string) *dberr.Error {
	return dberr.New(dberr.TypeError, "expected %s, found %s %s", want, KindName(v.Kind()), brief(v)).WithToken("InvalidArgumentType")
}

// brief prints a value for a message.
func brief(v value.Value) string {
	s := string(value.AppendTCK(nil, v))
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return s
}

func boolWord(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// appendTri adds a truth value.
func appendTri(out *vec.Column, t value.Tri) {
	if t == value.Unknown {
		out.AppendNull()
		return
	}
	out.AppendWord(value.Bool, uint64(t))
}
