package expr

import (
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// lambda is an inner expression over the elements of a list: the elements of many rows are laid end to end into sub-batches, in
// which the columns that the inner expression reads are repeated and the variable has a column of its own.
type lambda struct {
	slot  int
	free  []int // slots of the outer row that the inner expressions read
	width int
	state int
}

// flat is the running state of a lambda.
type flat struct {
	b     Batch
	elem  vec.Column
	outer []vec.Column
	own   []uint16 // dense outer position of each element
	rows  []uint16 // its row in the outer batch
	acc   vec.Column
	tmp   vec.Column
	sel   []uint16
	res   vec.Column
	lists []value.Value
	tally [][3]int
}

func (c *comp) lambda(slot int, bound []int, inner ...Expr) *lambda {
	l := &lambda{slot: slot, state: c.any(), width: slot + 1}
	seen := map[int]bool{slot: true}
	for _, s := range bound {
		seen[s] = true
		l.width = max(l.width, s+1)
	}
	add := func(s int) {
		if s >= 0 && !seen[s] {
			seen[s] = true
			l.free = append(l.free, s)
			l.width = max(l.width, s+1)
		}
	}
	for _, e := range inner {
		for _, s := range FreeSlots(e) {
			add(s)
		}
	}
	return l
}

func (l *lambda) flat(f *frame) *flat {
	s, _ := f.any[l.state].(*flat)
	if s == nil {
		s = &flat{outer: make([]vec.Column, len(l.free))}
		f.any[l.state] = s
	}
	return s
}

// bind prepares the sub-batch for the elements in s.elem.
func (l *lambda) bind(s *flat, b *Batch) *Batch {
	width := max(l.width, len(b.Cols))
	if len(s.b.Cols) < width {
		s.b.Cols = make([]*vec.Column, width)
	}
	clear(s.b.Cols)
	for i, slot := range l.free {
		if slot < len(b.Cols) && b.Cols[slot] != nil {
			s.outer[i].Gather(b.Cols[slot], s.rows)
			s.b.Cols[slot] = &s.outer[i]
		}
	}
	s.b.Cols[l.slot] = &s.elem
	s.b.N = len(s.rows)
	return &s.b
}

// each calls do for sub-batches of at most vec.MaxRows elements, in order. s.own tells to which rows the elements belong.
func (l *lambda) each(f *frame, b *Batch, sel []uint16, lists *vec.Column, do func(s *flat, sub *Batch) error) error {
	s := l.flat(f)
	n := count(b, sel)
	start := func() { s.elem.Reset(); s.own, s.rows = s.own[:0], s.rows[:0] }
	flush := func() error {
		if len(s.own) == 0 {
			return nil
		}
		if err := f.env.Check(); err != nil {
			return err
		}
		if err := do(s, l.bind(s, b)); err != nil {
			return err
		}
		start()
		return nil
	}
	start()
	for i := range n {
		switch lists.Kinds[i] {
		case value.Null:
			continue
		case value.List:
		default:
			return typeError(lists.Value(i), "a List")
		}
		row := rowOf(sel, i)
		for _, e := range lists.Value(i).All() {
			f.c.room(len(s.elem.Arena) + len(e.Raw()))
			s.elem.Append(e)
			s.own, s.rows = append(s.own, uint16(i)), append(s.rows, row)
			if len(s.own) == vec.MaxRows {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

func (c *comp) listComp(e *ListComp) (evalFn, error) {
	list, err := c.child(e.List)
	if err != nil {
		return nil, err
	}
	l := c.lambda(e.Slot, nil, e.Pred, e.Map)
	c.guarded++
	defer func() { c.guarded-- }()
	var pred filterFn
	var body child
	if e.Pred != nil {
		if pred, err = c.filter(e.Pred); err != nil {
			return nil, err
		}
	}
	if e.Map != nil {
		if body, err = c.child(e.Map); err != nil {
			return nil, err
		}
	}
	state := c.any()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		lists, err := list.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		n := count(b, sel)
		lb, _ := f.any[state].(*value.ListBuilder)
		if lb == nil {
			lb = new(value.ListBuilder)
			f.any[state] = lb
		}
		lb.Reset()
		out.Reset()
		done := 0
		finish := func(upto int) { // emits rows below upto
			for ; done < upto; done++ {
				if lists.Kinds[done] == value.Null {
					out.AppendNull()
					continue
				}
				f.c.room(2 * lb.Size())
				f.c.buf = lb.Append(f.c.buf[:0])
				out.AppendBytes(value.List, f.c.buf)
				lb.Reset()
			}
		}
		err = l.each(f, b, sel, lists, func(s *flat, sub *Batch) error {
			var keep []uint16
			if pred != nil {
				var err error
				if s.sel, err = pred(f, sub, nil, s.sel[:0]); err != nil {
					return err
				}
				if keep = s.sel; len(keep) == 0 {
					return nil
				}
			}
			res := &s.elem
			m := len(s.own)
			if e.Map != nil {
				var err error
				if res, err = body.eval(f, sub, keep); err != nil {
					return err
				}
			}
			if keep != nil {
				m = len(keep)
			}
			for i := range m {
				r := int(rowOf(keep, i))
				finish(int(s.own[r]))
				if e.Map != nil {
					f.c.addTo(lb, res.Value(i))
				} else {
					f.c.addTo(lb, res.Value(r))
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		finish(n)
		return out, nil
	}, nil
}

func (c *comp) quantifier(e *Quantifier) (evalFn, error) {
	list, err := c.child(e.List)
	if err != nil {
		return nil, err
	}
	l := c.lambda(e.Slot, nil, e.Pred)
	c.guarded++
	defer func() { c.guarded-- }()
	pred, err := c.child(e.Pred)
	if err != nil {
		return nil, err
	}
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		lists, err := list.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		n := count(b, sel)
		s := l.flat(f)
		s.tally = s.tally[:0]
		for range n {
			s.tally = append(s.tally, [3]int{})
		}
		err = l.each(f, b, sel, lists, func(s *flat, sub *Batch) error {
			col, err := pred.eval(f, sub, nil)
			if err != nil {
				return err
			}
			for i, own := range s.own {
				t, err := truth(col, i)
				if err != nil {
					return err
				}
				s.tally[own][t]++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		out.Reset()
		for i := range n {
			if lists.Kinds[i] == value.Null {
				out.AppendNull()
				continue
			}
			appendTri(out, judge(e.Kind, s.tally[i]))
		}
		return out, nil
	}, nil
}

// judge is the three-valued result of a quantifier over so many false, true and unknown elements.
func judge(k QuantKind, n [3]int) value.Tri {
	no, yes, unknown := n[value.False], n[value.True], n[value.Unknown]
	switch k {
	case All:
		if no > 0 {
			return value.False
		}
	case AnyOf:
		if yes > 0 {
			return value.True
		}
	case NoneOf:
		if yes > 0 {
			return value.False
		}
	case Single:
		if yes > 1 {
			return value.False
		}
	}
	if unknown > 0 {
		return value.Unknown
	}
	switch k {
	case AnyOf:
		return value.False
	case Single:
		if yes != 1 {
			return value.False
		}
	}
	return value.True
}

// reduce takes step j of every row's list together: the rows are independent, the steps are not.
func (c *comp) reduce(e *Reduce) (evalFn, error) {
	init, err := c.child(e.Init)
	if err != nil {
		return nil, err
	}
	list, err := c.child(e.List)
	if err != nil {
		return nil, err
	}
	l := c.lambda(e.Slot, []int{e.AccSlot}, e.Body)
	c.guarded++
	defer func() { c.guarded-- }()
	body, err := c.child(e.Body)
	if err != nil {
		return nil, err
	}
	last, at := c.col(), c.sel()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		acc0, err := init.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		lists, err := list.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		n := count(b, sel)
		s := l.flat(f)
		s.acc.Reset()
		s.lists, s.own = s.lists[:0], s.own[:0]
		final := &f.cols[last] // accumulators of finished rows, in the order of finishing
		final.Reset()
		where := f.sels[at][:0]
		for i := range n {
			where = append(where, noBranch)
			switch lists.Kinds[i] {
			case value.Null:
			case value.List:
				s.own = append(s.own, uint16(i))
				s.lists = append(s.lists, lists.Value(i))
				s.acc.AppendFrom(acc0, i)
			default:
				return nil, typeError(lists.Value(i), "a List")
			}
		}
		f.sels[at] = where
		for j := 0; len(s.own) > 0; j++ {
			if j&63 == 63 {
				if err := f.env.Check(); err != nil {
					return nil, err
				}
			}
			s.elem.Reset()
			s.tmp.Reset()
			s.rows = s.rows[:0]
			m := 0
			for i, own := range s.own {
				if j >= s.lists[i].Len() {
					where[own] = uint16(final.Len())
					final.AppendFrom(&s.acc, i)
					continue
				}
				s.elem.Append(s.lists[i].At(j))
				s.tmp.AppendFrom(&s.acc, i)
				s.rows = append(s.rows, rowOf(sel, int(own)))
				s.own[m], s.lists[m] = own, s.lists[i]
				m++
			}
			if s.own, s.lists = s.own[:m], s.lists[:m]; m == 0 {
				break
			}
			sub := l.bind(s, b)
			sub.Cols[e.AccSlot] = &s.tmp
			res, err := body.eval(f, sub, nil)
			if err != nil {
				return nil, err
			}
			f.c.room(len(res.Arena))
			f.c.walk(len(res.Arena))
			s.acc.Reset()
			s.acc.AppendRows(res, nil)
		}
		out.Reset()
		for _, w := range where {
			if w == noBranch {
				out.AppendNull()
			} else {
				out.AppendFrom(final, int(w))
			}
		}
		return out, nil
	}, nil
}
