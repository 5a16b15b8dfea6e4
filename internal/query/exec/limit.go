package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// countOf reads a SKIP or LIMIT value.
func countOf(v value.Value, what string) (int64, error) {
	if v.Kind() != value.Int {
		return 0, dberr.New(dberr.Syntax, "%s needs a non-negative integer, got %s", what, value.AppendTCK(nil, v)).WithToken("InvalidArgumentType")
	}
	if v.Int() < 0 {
		return 0, dberr.New(dberr.Syntax, "%s must not be negative, got %d", what, v.Int()).WithToken("NegativeIntegerArgument")
	}
	return v.Int(), nil
}

// parts tells apart the rows of the left rows of enclosing Applys (plan P6): it numbers the values of the row-id slots.
type parts struct {
	slots []plan.Slot
	ids   map[[4]uint64]int
}

func (p *parts) reset() {
	if p.ids != nil {
		clear(p.ids)
	}
}

// of returns the number of the part that a row belongs to; 0 throughout without slots.
func (p *parts) of(b *expr.Batch, row int) int {
	if len(p.slots) == 0 {
		return 0
	}
	if p.ids == nil {
		p.ids = map[[4]uint64]int{}
	}
	var k [4]uint64
	for i, s := range p.slots {
		if i < len(k)-1 || i == len(p.slots)-1 {
			k[min(i, len(k)-1)] = b.Cols[s].Words[row]
			continue
		}
		k[len(k)-1] = k[len(k)-1]<<16 ^ b.Cols[s].Words[row]
	}
	n, ok := p.ids[k]
	if !ok {
		n = len(p.ids)
		p.ids[k] = n
	}
	return n
}

// window is Skip and Limit.
type window struct {
	core
	child      operator
	skip       *expr.Program
	limit      *expr.Program
	exhaustive bool
	part       parts
	from, to   int64 // rows of a part that pass: from ≤ n < to
	known      bool
	seen       []int64 // rows of each part so far
	done       bool
	sel        []uint16
}

func (o *window) open() error {
	o.known, o.done, o.seen = false, false, o.seen[:0]
	o.part.reset()
	return o.child.open()
}

func (o *window) next() (*expr.Batch, error) {
	if o.done {
		return nil, nil
	}
	if !o.known {
		o.from, o.to = 0, 1<<62
		var err error
		if o.skip != nil {
			if o.from, err = o.counter(o.skip, "SKIP"); err != nil {
				return nil, err
			}
		}
		if o.limit != nil {
			if o.to, err = o.counter(o.limit, "LIMIT"); err != nil {
				return nil, err
			}
		}
		o.known = true
	}
	for {
		if o.to == 0 && !o.exhaustive {
			o.done = true
			return nil, nil
		}
		b, err := o.child.next()
		if b == nil || err != nil {
			return nil, err
		}
		o.sel = o.sel[:0]
		if b.Sel == nil {
			for i := range b.N {
				o.row(b, i)
			}
		} else {
			for _, i := range b.Sel {
				o.row(b, int(i))
			}
		}
		if len(o.part.slots) == 0 && o.seen[0] >= o.to {
			o.done = true
			if o.exhaustive {
				// The rows that pass are kept before their producer goes on.
				if len(o.sel) > 0 {
					keep := expr.Batch{N: b.N, Sel: o.sel, Cols: b.Cols}
					o.out.width = len(b.Cols)
					o.out.start()
					copyRows(&o.out, &keep, o.keep)
				}
				if err := drain(o.child); err != nil {
					return nil, err
				}
				if len(o.sel) == 0 {
					return nil, nil
				}
				return &o.out.b, nil
			}
		}
		if len(o.sel) == 0 {
			if o.done {
				return nil, nil
			}
			continue
		}
		o.out.pass(b)
		o.out.b.Sel = o.sel
		return &o.out.b, nil
	}
}

func (o *window) row(b *expr.Batch, i int) {
	p := o.part.of(b, i)
	for len(o.seen) <= p {
		o.seen = append(o.seen, 0)
	}
	n := o.seen[p]
	o.seen[p]++
	if n >= o.from && n < o.to {
		o.sel = append(o.sel, uint16(i))
	}
}

// copyRows appends the live rows of b, with their bytes, to the columns of r.
func copyRows(r *rows, b *expr.Batch, keep []plan.Slot) {
	one := func(s plan.Slot) {
		if c := b.Cols[s]; c != nil {
			dst := r.col(s)
			dst.AppendRows(c, b.Sel)
		}
	}
	if keep == nil {
		for s := range b.Cols {
			one(s)
		}
	} else {
		for _, s := range keep {
			one(s)
		}
	}
	r.b.N, r.b.Sel = b.Live(), nil
}
