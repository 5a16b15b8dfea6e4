package expr

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// truth reads row i of a column as a truth value.
func truth(c *vec.Column, i int) (value.Tri, error) {
	switch c.Kinds[i] {
	case value.Bool:
		return value.Tri(c.Words[i]), nil
	case value.Null:
		return value.Unknown, nil
	}
	return value.Unknown, typeError(c.Value(i), "a Boolean")
}

// andOr evaluates an argument only for the rows that those before it left open (X1): not false for AND, not true for OR.
func (c *comp) andOr(args []Expr, and bool) (evalFn, error) {
	if len(args) == 0 {
		return c.compile(&Const{V: value.NewBool(and)})
	}
	first, err := c.child(args[0])
	if err != nil {
		return nil, err
	}
	rest, err := c.guard(args[1:])
	if err != nil {
		return nil, err
	}
	kids := append([]child{first}, rest...)
	rowBuf, posBuf := c.sel(), c.sel()
	decided := value.True // a value that ends the evaluation of a row
	if and {
		decided = value.False
	}
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		n := count(b, sel)
		res := out.Fill(value.Bool, n)
		start := uint64(decided.Not())
		for i := range res {
			res[i] = start
		}
		rows, pos := sel, []uint16(nil)
		all, nulls := true, false
		for k := range kids {
			col, err := kids[k].eval(f, b, rows)
			if err != nil {
				return nil, err
			}
			m := n
			if !all {
				m = len(pos)
			}
			nextRows, nextPos := f.sels[rowBuf][:0], f.sels[posBuf][:0]
			for i := range m {
				t, err := truth(col, i)
				if err != nil {
					return nil, err
				}
				p := uint16(i)
				if !all {
					p = pos[i]
				}
				switch t {
				case decided:
					out.Kinds[p], res[p] = value.Bool, uint64(decided)
					continue
				case value.Unknown:
					out.Kinds[p], res[p] = value.Null, 0
					nulls = true
				}
				nextRows = append(nextRows, rowOf(sel, int(p)))
				nextPos = append(nextPos, p)
			}
			// The buffers are read and written at once; a write never overtakes the reading.
			f.sels[rowBuf], f.sels[posBuf] = nextRows, nextPos
			rows, pos, all = nextRows, nextPos, false
			if len(rows) == 0 {
				break
			}
		}
		if nulls {
			out.Retype()
		}
		return out, nil
	}, nil
}

func (c *comp) unary(e *Unary) (evalFn, error) {
	x, err := c.child(e.X)
	if err != nil {
		return nil, err
	}
	switch e.Op {
	case OpNot:
		return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
			col, err := x.eval(f, b, sel)
			if err != nil {
				return nil, err
			}
			n := count(b, sel)
			if k, ok := col.Uniform(); ok && k == value.Bool {
				w := out.Fill(value.Bool, n)
				for i, v := range col.Words[:n] {
					w[i] = v ^ 1
				}
				return out, nil
			}
			out.Reset()
			for i := range n {
				t, err := truth(col, i)
				if err != nil {
					return nil, err
				}
				appendTri(out, t.Not())
			}
			return out, nil
		}, nil
	case OpIsNull, OpIsNotNull:
		want := e.Op == OpIsNull
		return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
			col, err := x.eval(f, b, sel)
			if err != nil {
				return nil, err
			}
			w := out.Fill(value.Bool, count(b, sel))
			for i := range w {
				w[i] = boolWord((col.Kinds[i] == value.Null) == want)
			}
			return out, nil
		}, nil
	case OpNeg, OpPos:
		return c.sign(e.Op == OpNeg, x), nil
	}
	return nil, dberr.New(dberr.Internal, "expr: unknown operator %v", e.Op)
}

// xor is three-valued and evaluates both sides.
func xorKernel(l, r child) evalFn {
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		a, err := l.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		d, err := r.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		out.Reset()
		for i := range count(b, sel) {
			s, err := truth(a, i)
			if err != nil {
				return nil, err
			}
			t, err := truth(d, i)
			if err != nil {
				return nil, err
			}
			if s == value.Unknown || t == value.Unknown {
				out.AppendNull()
			} else {
				out.AppendWord(value.Bool, uint64(s^t))
			}
		}
		return out, nil
	}
}

// filter compiles a predicate. AND narrows the selection argument by argument; comparisons write it without branches.
func (c *comp) filter(e Expr) (filterFn, error) {
	switch e := e.(type) {
	case *And:
		if len(e.Args) == 0 {
			break
		}
		fs := make([]filterFn, len(e.Args))
		for i, a := range e.Args {
			if i == 1 {
				c.guarded++
				defer func() { c.guarded-- }()
			}
			var err error
			if fs[i], err = c.filter(a); err != nil {
				return nil, err
			}
		}
		bufs := [2]int{c.sel(), c.sel()}
		return func(f *frame, b *Batch, sel []uint16, dst []uint16) ([]uint16, error) {
			cur := sel
			for i, fn := range fs {
				if i == len(fs)-1 {
					return fn(f, b, cur, dst)
				}
				buf := bufs[i&1]
				next, err := fn(f, b, cur, f.sels[buf][:0])
				if err != nil {
					return dst, err
				}
				f.sels[buf] = next
				if len(next) == 0 {
					return dst, nil
				}
				cur = next
			}
			return dst, nil
		}, nil
	case *Binary:
		if e.Op >= OpEq && e.Op <= OpGe {
			return c.compareFilter(e)
		}
	}
	x, err := c.child(e)
	if err != nil {
		return nil, err
	}
	return func(f *frame, b *Batch, sel []uint16, dst []uint16) ([]uint16, error) {
		col, err := x.eval(f, b, sel)
		if err != nil {
			return dst, err
		}
		n := count(b, sel)
		if k, ok := col.Uniform(); ok && k == value.Bool {
			at := len(dst)
			dst = grow(dst, n)
			for i, w := range col.Words[:n] {
				dst[at] = rowOf(sel, i)
				at += int(w)
			}
			return dst[:at], nil
		}
		for i := range n {
			t, err := truth(col, i)
			if err != nil {
				return dst, err
			}
			if t == value.True {
				dst = append(dst, rowOf(sel, i))
			}
		}
		return dst, nil
	}, nil
}

// grow returns s with n more elements of any content and one to spare, so that a branchless loop may write one too many.
func grow(s []uint16, n int) []uint16 {
	need := len(s) + n + 1
	if cap(s) < need {
		t := make([]uint16, len(s), max(need, 2*cap(s)))
		copy(t, s)
		s = t
	}
	return s[:need]
}

// parts puts the results of branches, each over some of the rows, back into the order of the rows.
type parts struct {
	cols   []*vec.Column
	branch []uint16 // of each row
	at     []uint16 // row of the branch's column
}

const noBranch = 0xFFFF

func (p *parts) start(n int) {
	p.cols = p.cols[:0]
	p.branch, p.at = p.branch[:0], p.at[:0]
	for range n {
		p.branch = append(p.branch, noBranch)
		p.at = append(p.at, 0)
	}
}

// add takes the result for the dense positions pos (nil: all).
func (p *parts) add(col *vec.Column, pos []uint16) {
	k := uint16(len(p.cols))
	p.cols = append(p.cols, col)
	if pos == nil {
		for i := range p.branch {
			p.branch[i], p.at[i] = k, uint16(i)
		}
		return
	}
	for i, at := range pos {
		p.branch[at], p.at[at] = k, uint16(i)
	}
}

func (p *parts) finish(out *vec.Column) *vec.Column {
	if len(p.cols) == 1 && p.cols[0].Len() == len(p.branch) {
		return p.cols[0]
	}
	out.Reset()
	for i, k := range p.branch {
		if k == noBranch {
			out.AppendNull()
		} else {
			out.AppendFrom(p.cols[k], int(p.at[i]))
		}
	}
	return out
}

func (f *frame) parts(i, n int) *parts {
	p, _ := f.any[i].(*parts)
	if p == nil {
		p = new(parts)
		f.any[i] = p
	}
	p.start(n)
	return p
}

// caseExpr evaluates conditions and results only for the rows that reach them.
func (c *comp) caseExpr(e *Case) (evalFn, error) {
	var subject child
	var err error
	if e.Subject != nil {
		if subject, err = c.child(e.Subject); err != nil {
			return nil, err
		}
	}
	c.guarded++
	defer func() { c.guarded-- }()
	type branch struct {
		cond, then child
		rows, pos  int // selection of the rows that take the branch
	}
	branches := make([]branch, len(e.Whens))
	for i, w := range e.Whens {
		br := &branches[i]
		if br.cond, err = c.child(w.Cond); err != nil {
			return nil, err
		}
		if br.then, err = c.child(w.Then); err != nil {
			return nil, err
		}
		br.rows, br.pos = c.sel(), c.sel()
	}
	var other child
	if e.Else != nil {
		if other, err = c.child(e.Else); err != nil {
			return nil, err
		}
	}
	openRows, openPos, state := c.sel(), c.sel(), c.any()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		n := count(b, sel)
		ps := f.parts(state, n)
		var sub *vec.Column
		var err error
		if e.Subject != nil {
			if sub, err = subject.eval(f, b, sel); err != nil {
				return nil, err
			}
		}
		rows, pos := f.sels[openRows][:0], f.sels[openPos][:0]
		for i := range n {
			rows, pos = append(rows, rowOf(sel, i)), append(pos, uint16(i))
		}
		for k := range branches {
			br := &branches[k]
			if len(rows) == 0 {
				break
			}
			cond, err := br.cond.eval(f, b, rows)
			if err != nil {
				return nil, err
			}
			hitRows, hitPos := f.sels[br.rows][:0], f.sels[br.pos][:0]
			open := 0
			for i := range rows {
				var t value.Tri
				if sub != nil {
					t = value.Equal(sub.Value(int(pos[i])), cond.Value(i))
				} else if t, err = truth(cond, i); err != nil {
					return nil, err
				}
				if t == value.True {
					hitRows, hitPos = append(hitRows, rows[i]), append(hitPos, pos[i])
					continue
				}
				rows[open], pos[open] = rows[i], pos[i]
				open++
			}
			rows, pos = rows[:open], pos[:open]
			f.sels[br.rows], f.sels[br.pos] = hitRows, hitPos
			if len(hitRows) > 0 {
				col, err := br.then.eval(f, b, hitRows)
				if err != nil {
					return nil, err
				}
				ps.add(col, hitPos)
			}
		}
		f.sels[openRows], f.sels[openPos] = rows, pos
		if e.Else != nil && len(rows) > 0 {
			col, err := other.eval(f, b, rows)
			if err != nil {
				return nil, err
			}
			ps.add(col, pos)
		}
		return ps.finish(out), nil
	}, nil
}

// coalesce evaluates an argument only for the rows in which all before it were null.
func (c *comp) coalesce(args []Expr) (evalFn, error) {
	first, err := c.child(args[0])
	if err != nil {
		return nil, err
	}
	rest, err := c.guard(args[1:])
	if err != nil {
		return nil, err
	}
	kids := append([]child{first}, rest...)
	// Each argument keeps the selection that it was evaluated for until the end.
	type buf struct{ rows, pos int }
	bufs := make([]buf, len(kids))
	for i := range bufs {
		bufs[i] = buf{c.sel(), c.sel()}
	}
	state := c.any()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		ps := f.parts(state, count(b, sel))
		rows, pos := sel, []uint16(nil)
		for k := range kids {
			col, err := kids[k].eval(f, b, rows)
			if err != nil {
				return nil, err
			}
			ps.add(col, pos)
			nextRows, nextPos := f.sels[bufs[k].rows][:0], f.sels[bufs[k].pos][:0]
			for i, kind := range col.Kinds[:count(b, rows)] {
				if kind != value.Null {
					continue
				}
				p := uint16(i)
				if pos != nil {
					p = pos[i]
				}
				nextRows, nextPos = append(nextRows, rowOf(sel, int(p))), append(nextPos, p)
			}
			f.sels[bufs[k].rows], f.sels[bufs[k].pos] = nextRows, nextPos
			if rows, pos = nextRows, nextPos; len(rows) == 0 {
				break
			}
		}
		return ps.finish(out), nil
	}, nil
}
