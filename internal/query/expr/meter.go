package expr

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// A batch has few rows, but one value may be as long as the statement's memory: kernels that make or walk long values tell the frame's
// meter. It ends them by a panic of type stop, which Program.Eval turns into the error.

const (
	// MaxValue bounds one value, in bytes.
	MaxValue = 1<<30 - 1
	// meterStep is how many bytes are made or walked between two looks at the cancel flag; an element of a list counts for elemCost more.
	meterStep = 1 << 18
	elemCost  = 16
	// bigValue is the size from which memory is asked for before it is used, and columns are charged.
	bigValue = 1 << 16
)

// stop ends an evaluation from inside a kernel.
type stop struct{ err error }

// stopped is deferred by who calls kernels: it turns a stop into *err.
func stopped(err *error) {
	switch p := recover().(type) {
	case nil:
	case stop:
		*err = p.err
	case *dberr.Error: // a column that would grow over its limit
		*err = p
	default:
		panic(p)
	}
}

// room is called before a value of n bytes is made.
func (c *call) room(n int) {
	if n < bigValue {
		return
	}
	if n > MaxValue {
		panic(stop{dberr.New(dberr.OutOfMemory, "a value may have at most %d bytes", MaxValue)})
	}
	if c.env.Mem == nil {
		return
	}
	if err := c.env.Mem.Grow(int64(n)); err != nil {
		panic(stop{err})
	}
	_ = c.env.Mem.Grow(-int64(n))
}

// walk notes that n bytes were made or looked at.
func (c *call) walk(n int) {
	if c.work += n; c.work < meterStep {
		return
	}
	c.work = 0
	if err := c.env.Check(); err != nil {
		panic(stop{err})
	}
}

// add adds an element to the list that is being made.
func (c *call) add(v value.Value) { c.addTo(&c.lb, v) }

func (c *call) addTo(lb *value.ListBuilder, v value.Value) {
	n := len(v.Raw())
	if c.work += n + elemCost; c.work >= meterStep {
		c.walk(0)
		c.room(lb.Size() + n)
	}
	lb.Add(v)
}

// pieces calls f for parts of s of at most some 64 KiB, cut between characters.
func (c *call) pieces(s string, f func(part string)) {
	const size = 1 << 16
	for len(s) > size {
		n := size
		for n > size-4 && s[n]&0xC0 == 0x80 {
			n--
		}
		f(s[:n])
		c.walk(meterStep)
		c.room(len(c.buf))
		s = s[n:]
	}
	f(s)
}

// sized is state of a node that keeps memory between batches.
type sized interface{ Size() int }

// held is the scratch memory of a frame.
func (f *frame) held() int {
	n := cap(f.c.buf) + cap(f.c.listBuf) + cap(f.c.mapBuf) + f.c.lb.Size()
	for i := range f.cols {
		n += f.cols[i].Held()
	}
	for _, s := range f.any {
		if s, ok := s.(sized); ok {
			n += s.Size()
		}
	}
	return n
}

// charge holds what the frame has against the statement's limit, until it is released.
func (f *frame) charge() error {
	if f.env.Mem == nil {
		return nil
	}
	n := f.held()
	d := n - f.charged
	if err := f.env.Mem.Grow(int64(d)); err != nil {
		return err
	}
	f.charged = n
	return nil
}

// Size is what a lambda's columns hold.
func (s *flat) Size() int {
	n := s.elem.Held() + s.acc.Held() + s.tmp.Held() + s.res.Held() + 24*cap(s.lists)
	for i := range s.outer {
		n += s.outer[i].Held()
	}
	return n
}

// large reports whether a column has so much that it is worth charging.
func large(c *vec.Column) bool { return len(c.Arena) >= bigValue }
