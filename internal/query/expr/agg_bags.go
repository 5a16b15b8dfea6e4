package expr

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/query/spill"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// bags keeps all values of each group, encoded one after another in an arena; or, once they are many, in an external sort by group and
// then by value or arrival. What arrives for one group without another between is a run, and the runs of a group are linked in the order
// of arrival: a value of the only group costs its bytes and nothing else.
type bags struct {
	head, tail []uint32 // 1 + index of a run; 0 for none
	count      []uint32
	runs       []bagRun // in the order of the arena; one ends where the next begins
	arena      []byte

	byValue bool          // the order within a group that is wanted of files
	ext     *spill.Sorter // nil: all in memory
	sorted  bool
	key     []byte
	body    []byte
	ahead   []byte // body of the record that was read but belongs to group aheadOf
	aheadOf uint32
	any     bool
}

func (s *bags) grow(n int) {
	s.head, s.tail, s.count = extend(s.head, n), extend(s.tail, n), extend(s.count, n)
}

// bagRun is a run of values of one group.
type bagRun struct {
	off  uint64
	n    uint32
	next uint32 // 1 + index of the group's next run
}

const (
	// bagRunBytes is the size at which a run ends, so that who reads it can be cancelled in between.
	bagRunBytes = 1 << 16
	// bagDoubles is the size up to which the arena doubles: what is copied as it grows is then about its size.
	bagDoubles = 16 << 20
)

func (s *bags) reset() {
	s.head, s.tail, s.count = s.head[:0], s.tail[:0], s.count[:0]
	s.runs, s.arena = s.runs[:0], s.arena[:0]
}

func (s *bags) size() int { return 12*cap(s.head) + 16*cap(s.runs) + cap(s.arena) }

func (s *bags) add(g uint32, v value.Value) error {
	s.count[g]++
	if s.ext != nil {
		return s.addExternal(g, v)
	}
	if n := cap(s.arena); len(s.arena) > n-16 && n >= 1<<10 && n < bagDoubles {
		s.arena = append(make([]byte, 0, 2*n), s.arena...)
	}
	s.run(g).n++
	s.arena = value.AppendValue(s.arena, v)
	return nil
}

// run returns the run that takes the next value of a group.
func (s *bags) run(g uint32) *bagRun {
	last, t := uint32(len(s.runs)), s.tail[g]
	if t != 0 && t == last {
		if r := &s.runs[t-1]; uint64(len(s.arena))-r.off < bagRunBytes {
			return r
		}
	}
	s.runs = append(s.runs, bagRun{off: uint64(len(s.arena))})
	if last++; t != 0 {
		s.runs[t-1].next = last
	} else {
		s.head[g] = last
	}
	s.tail[g] = last
	return &s.runs[last-1]
}

// bytes are the values of run r, a number from 1.
func (s *bags) bytes(r uint32) []byte {
	if int(r) < len(s.runs) {
		return s.arena[s.runs[r-1].off:s.runs[r].off]
	}
	return s.arena[s.runs[r-1].off:]
}

// runsOf yields the bytes of a group's runs, in order.
func (s *bags) runsOf(g uint32) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for r := s.head[g]; r != 0; r = s.runs[r-1].next {
			if !yield(s.bytes(r)) {
				return
			}
		}
	}
}

func (s *bags) addExternal(g uint32, v value.Value) error {
	s.key = binary.BigEndian.AppendUint32(s.key[:0], g)
	if s.byValue {
		s.key = value.AppendKey(s.key, v)
	}
	s.body = value.AppendValue(s.body[:0], v)
	return s.ext.Add(s.key, s.body)
}

// spill implements external.
func (s *bags) spill(p *spill.Place) error {
	if s.ext != nil {
		return nil
	}
	s.ext, s.sorted, s.any = new(spill.Sorter), false, false
	s.ext.Init(p)
	for g := range s.head {
		for b := range s.runsOf(uint32(g)) {
			for len(b) > 0 {
				var v value.Value
				v, b = takeOwn(b)
				if err := s.addExternal(uint32(g), v); err != nil {
					return err
				}
			}
		}
	}
	s.head, s.tail, s.runs, s.arena = nil, nil, nil, nil
	return nil
}

func (s *bags) finish(*Env) error {
	if s.ext == nil || s.sorted {
		return nil
	}
	s.sorted = true
	if err := s.ext.Sort(); err != nil {
		return err
	}
	return s.read()
}

// read takes the next record.
func (s *bags) read() error {
	key, body, ok, err := s.ext.Next()
	if s.any = ok; ok {
		s.aheadOf, s.ahead = binary.BigEndian.Uint32(key), body
	}
	return err
}

func (s *bags) close() {
	if s.ext != nil {
		s.ext.Close()
		s.ext = nil
	}
}

// ownValue decodes what this package has encoded.
func ownValue(b []byte) value.Value {
	v, _ := takeOwn(b)
	return v
}

// takeOwn decodes the first of several values that this package has encoded.
func takeOwn(b []byte) (v value.Value, rest []byte) {
	v, rest, err := value.DecodeValue(b)
	if err != nil {
		panic("expr: own encoding does not decode")
	}
	return v, rest
}

// each calls f for the values of a group in order; of one in files once only, and after those of lesser groups.
func (s *bags) each(g uint32, f func(v value.Value)) error {
	if s.ext == nil {
		for b := range s.runsOf(g) {
			for len(b) > 0 {
				var v value.Value
				v, b = takeOwn(b)
				f(v)
			}
		}
		return nil
	}
	for s.any && s.aheadOf <= g {
		if s.aheadOf == g {
			f(ownValue(s.ahead))
		}
		if err := s.read(); err != nil {
			return err
		}
	}
	return nil
}

// move adds the values of a group to one of other bags.
func (s *bags) move(g uint32, to *bags, tg uint32) (err error) {
	if e := s.each(g, func(v value.Value) {
		if err == nil {
			err = to.add(tg, v)
		}
	}); e != nil {
		return e
	}
	return err
}

type collectStates struct{ bags }

func (s *collectStates) one(_ *Env, g uint32, args []value.Value) error {
	if args[0].IsNull() {
		return nil
	}
	return s.add(g, args[0])
}

// batch implements columnar.
func (s *collectStates) batch(groups []uint32, args []*vec.Column) (bool, error) {
	c := args[0]
	if s.ext != nil {
		return false, nil
	}
	for i, g := range groups {
		if c.Kinds[i] == value.Null {
			continue
		}
		if err := s.add(g, c.Value(i)); err != nil {
			return true, err
		}
	}
	return true, nil
}

func (s *collectStates) result(env *Env, g int, out *vec.Column) error {
	c := call{env: env}
	if s.ext != nil {
		if err := s.each(uint32(g), c.add); err != nil {
			return err
		}
		v := c.list()
		c.room(len(out.Arena) + len(v.Raw()) + c.lb.Size())
		out.Append(v)
		return nil
	}
	// The bytes of the values are those of the list's elements.
	data := 0
	for b := range s.runsOf(uint32(g)) {
		data += len(b)
	}
	n := int(s.count[g])
	size := value.ListSize(n, data)
	if c.room(size); size >= bigValue {
		c.room(len(out.Arena) + size)
	}
	out.AppendMade(value.List, size, func(dst []byte) []byte {
		return value.AppendEncodedList(dst, n, data, func(yield func([]byte) bool) {
			for b := range s.runsOf(uint32(g)) {
				if c.walk(4 * len(b)); !yield(b) {
					return
				}
			}
		})
	})
	return nil
}

func (s *collectStates) merge(_ *Env, g uint32, from states, fg uint32) error {
	return from.(*collectStates).move(fg, &s.bags, g)
}

// percentileStates collects numbers; the percentile of a group is that of its last row, and it is checked in every row.
type percentileStates struct {
	bags
	cont bool
	p    []float64
}

func (s *percentileStates) grow(n int) { s.bags.grow(n); s.p = extend(s.p, n) }
func (s *percentileStates) reset()     { s.bags.reset(); s.p = s.p[:0] }
func (s *percentileStates) size() int  { return s.bags.size() + 8*cap(s.p) }

func (s *percentileStates) name() string {
	if s.cont {
		return "percentileCont"
	}
	return "percentileDisc"
}

func (s *percentileStates) one(_ *Env, g uint32, args []value.Value) error {
	p := args[1]
	if !p.IsNumber() {
		return wantKind(s.name(), p, "a number as percentile")
	}
	f := toFloat(p)
	if !(f >= 0 && f <= 1) {
		return numberOutOfRange("the percentile of %s() must be between 0.0 and 1.0, not %s", s.name(), brief(p))
	}
	s.p[g] = f
	if args[0].IsNull() {
		return nil
	}
	if !args[0].IsNumber() {
		return wantKind(s.name(), args[0], "numbers")
	}
	return s.add(g, args[0])
}

func (s *percentileStates) result(env *Env, g int, out *vec.Column) error {
	n := int(s.count[g])
	if n == 0 {
		out.AppendNull()
		return nil
	}
	// The places of the one or two values that matter.
	p := s.p[g]
	lo := max(int(math.Ceil(p*float64(n)))-1, 0)
	hi, frac := lo, 0.0
	if s.cont {
		at := p * float64(n-1)
		lo = int(math.Floor(at))
		hi, frac = min(lo+1, n-1), at-float64(lo)
	}
	x, y, err := s.ranks(env, uint32(g), n, lo, hi)
	if err != nil {
		return err
	}
	if !s.cont {
		out.Append(x)
		return nil
	}
	res := toFloat(x)
	if frac > 0 {
		res = res*(1-frac) + toFloat(y)*frac
	}
	out.AppendWord(value.Float, math.Float64bits(res))
	return nil
}

// ranks returns the values at two places of a group in order.
func (s *percentileStates) ranks(env *Env, g uint32, n, lo, hi int) (x, y value.Value, err error) {
	c := call{env: env}
	if s.ext != nil { // files are in order
		i := 0
		err = s.each(g, func(v value.Value) {
			c.walk(elemCost)
			if i == lo {
				x = v.Clone()
			}
			if i == hi {
				y = v.Clone()
			}
			i++
		})
		return x, y, err
	}
	c.room(24 * n)
	vals := make([]value.Value, 0, n)
	_ = s.each(g, func(v value.Value) {
		c.walk(elemCost)
		vals = append(vals, v)
	})
	slices.SortStableFunc(vals, func(x, y value.Value) int {
		c.walk(elemCost)
		return value.Compare(x, y)
	})
	return vals[min(lo, n-1)], vals[min(hi, n-1)], nil
}

func (s *percentileStates) merge(_ *Env, g uint32, from states, fg uint32) error {
	o := from.(*percentileStates)
	if o.count[fg] > 0 {
		s.p[g] = o.p[fg]
	}
	return o.move(fg, &s.bags, g)
}
