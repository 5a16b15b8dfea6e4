package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// A sieve lets pass the rows whose vertex a hash join above can find a partner for (plan.Sieve). It is filled before the operators below the
// join's left side are asked for their first row.
type sieve struct {
	ids  idSet
	full bool // filled: until then everything passes
}

func (s *sieve) reset() { s.ids.reset(); s.full = false }

// add puts the vertices of a column in.
func (s *sieve) add(k value.Kind, ids []uint64, kinds []value.Kind) {
	for i, id := range ids {
		if kinds[i] == k {
			s.ids.add(id)
		}
	}
}

func (s *sieve) size() int64 { return int64(8 * cap(s.ids.slots)) }

// sieveOf returns a sieve of the run.
func (x *run) sieveOf(id int) *sieve {
	if x.sieves == nil {
		x.sieves = make([]*sieve, x.q.Sieves)
	}
	if x.sieves[id] == nil {
		x.sieves[id] = &sieve{}
	}
	return x.sieves[id]
}

// sieved drops the rows of an operator that no join above can use.
type sieved struct {
	operator
	by  []plan.Sieve
	set []*sieve
	out rows
	sel []uint16
	// A sieve that lets nearly all pass is not asked any more.
	seen, passed int
}

// worthAfter is how many rows a sieve is tried on before it is judged.
const worthAfter = 8192

func (o *sieved) open() error {
	o.seen, o.passed = 0, 0
	return o.operator.open()
}

func (o *sieved) next() (*expr.Batch, error) {
	for {
		b, err := o.operator.next()
		if b == nil || err != nil || o.seen > worthAfter && o.passed > o.seen/10*9 {
			return b, err
		}
		o.sel = o.sel[:0]
		live := len(b.Sel)
		if b.Sel == nil {
			live = b.N
			for i := range b.N {
				if o.pass(b, i) {
					o.sel = append(o.sel, uint16(i))
				}
			}
		} else {
			for _, i := range b.Sel {
				if o.pass(b, int(i)) {
					o.sel = append(o.sel, i)
				}
			}
		}
		o.seen, o.passed = o.seen+live, o.passed+len(o.sel)
		switch len(o.sel) {
		case 0:
			continue
		case live:
			return b, nil
		}
		o.out.pass(b)
		o.out.b.Sel = o.sel
		return &o.out.b, nil
	}
}

func (o *sieved) pass(b *expr.Batch, row int) bool {
	for i, s := range o.set {
		if !s.full {
			continue
		}
		if c := b.Cols[o.by[i].Slot]; c != nil && (c.Kinds[row] != value.Node || !s.ids.has(c.Words[row])) {
			return false
		}
	}
	return true
}
