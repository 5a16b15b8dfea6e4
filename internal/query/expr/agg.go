package expr

import (
	"math"
	"slices"

	"github.com/cockroachdb/apd/v3"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/spill"
	"github.com/hedgerowdb/hedgerow/internal/temporal"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// Aggregator is an aggregate over many groups at once: columns of states, pointer-free, no allocation per row. Aggregating
// operators use it; a group number is whatever their hash table says. What the states hold is charged to Env.Mem as they grow.
type Aggregator interface {
	// Grow makes groups 0 … n-1 exist; new ones are empty.
	Grow(n int)
	// Add takes rows: row i belongs to group groups[i], and args[k] has the value of argument k of each row, dense. count(*) gets no args.
	Add(env *Env, groups []uint32, args []*vec.Column) error
	// Results appends the results of groups from … to-1.
	Results(env *Env, from, to int, out *vec.Column) error
	// Size is what has been charged to Env.Mem; who drops the aggregator gives it back.
	Size() int
	// Reset drops all groups and keeps memory, which stays charged.
	Reset()
	// Spill moves what grows with the rows of a group (a list, the values of a percentile, those seen by DISTINCT) to temporary files, where
	// all that comes later goes too. Results are what they would have been in memory; they are asked for once, in ascending order.
	Spill(env *Env, p *spill.Place) error
	// Close gives back what files hold; the aggregator is not used again before Reset.
	Close()
}

// AggState is the state of one group. What it keeps is charged to Env.Mem; Size is what was charged.
type AggState interface {
	// Add takes the value of one row. args has one value for each argument; count(*) gets none.
	Add(env *Env, args []value.Value) error
	// Merge takes the state of another part of the same group; other is of the same aggregate.
	Merge(env *Env, other AggState) error
	// Result ends the group.
	Result(env *Env) (value.Value, error)
	Size() int
}

// states is what an aggregate implements. The rest is shared.
type states interface {
	grow(n int)
	one(env *Env, g uint32, args []value.Value) error
	result(env *Env, g int, out *vec.Column) error
	merge(env *Env, g uint32, from states, fg uint32) error
	size() int
	reset()
}

// columnar is implemented by states that have a fast path over columns; false means that it does not apply.
type columnar interface {
	batch(groups []uint32, args []*vec.Column) (done bool, err error)
}

// external is implemented by states that can go to files.
type external interface {
	spill(p *spill.Place) error
	// finish ends adding, before the first result.
	finish(env *Env) error
	close()
}

type aggregator struct {
	st      states
	n       int
	args    []value.Value
	charged int
}

// NewAggregator makes the aggregator of a call, DISTINCT included.
func NewAggregator(a *Agg) Aggregator { return newAggregator(a) }

func newAggregator(a *Agg) *aggregator {
	st := a.Def.agg(len(a.Args) == 0)
	if a.Distinct {
		st = &distinct{inner: st}
	}
	return &aggregator{st: st, args: make([]value.Value, len(a.Args))}
}

func (a *aggregator) charge(env *Env) error {
	n := a.st.size()
	if env.Mem == nil || n == a.charged {
		return nil
	}
	d := n - a.charged
	a.charged = n
	return env.Mem.Grow(int64(d))
}

func (a *aggregator) Grow(n int) {
	if n > a.n {
		a.st.grow(n)
		a.n = n
	}
}

func (a *aggregator) Add(env *Env, groups []uint32, args []*vec.Column) error {
	done := false
	if c, ok := a.st.(columnar); ok {
		var err error
		if done, err = c.batch(groups, args); err != nil {
			return err
		}
	}
	if !done {
		long, work := slices.ContainsFunc(args, large), 0
		for i, g := range groups {
			for k, c := range args {
				a.args[k] = c.Value(i)
				if long && vec.InBytes(c.Kinds[i]) {
					work += len(a.args[k].Raw())
				}
			}
			if work >= meterStep { // a batch of long values
				work = 0
				if err := env.Check(); err != nil {
					return err
				}
			}
			if err := a.st.one(env, g, a.args); err != nil {
				return err
			}
		}
	}
	return a.charge(env)
}

func (a *aggregator) Results(env *Env, from, to int, out *vec.Column) (err error) {
	defer stopped(&err)
	if x, ok := a.st.(external); ok {
		if err := x.finish(env); err != nil {
			return err
		}
	}
	for g := from; g < to; g++ {
		if err := a.st.result(env, g, out); err != nil {
			return err
		}
	}
	return nil
}

func (a *aggregator) Size() int { return a.charged }

func (a *aggregator) Reset() {
	a.Close()
	a.st.reset()
	a.n = 0
}

func (a *aggregator) Spill(env *Env, p *spill.Place) error {
	x, ok := a.st.(external)
	if !ok {
		return nil
	}
	if err := x.spill(p); err != nil {
		return err
	}
	return a.charge(env)
}

func (a *aggregator) Close() {
	if x, ok := a.st.(external); ok {
		x.close()
	}
}

// oneGroup is an aggregator of a single group as an AggState.
type oneGroup struct{ *aggregator }

// NewAgg makes an empty state for an aggregate call, DISTINCT included.
func NewAgg(a *Agg) AggState {
	s := oneGroup{newAggregator(a)}
	s.Grow(1)
	return s
}

func (s oneGroup) Add(env *Env, args []value.Value) error {
	if err := s.st.one(env, 0, args); err != nil {
		return err
	}
	return s.charge(env)
}

func (s oneGroup) Merge(env *Env, other AggState) error {
	if err := s.st.merge(env, 0, other.(oneGroup).st, 0); err != nil {
		return err
	}
	return s.charge(env)
}

func (s oneGroup) Result(env *Env) (value.Value, error) {
	var out vec.Column
	err := s.st.result(env, 0, &out)
	if err != nil {
		return value.Value{}, err
	}
	return out.Value(0), nil
}

// ---- count

type countStates struct {
	star bool
	n    []int64
}

// extend makes s n long.
func extend[T any](s []T, n int) []T {
	var zero T
	for len(s) < n {
		s = append(s, zero)
	}
	return s
}

func (s *countStates) grow(n int) { s.n = extend(s.n, n) }
func (s *countStates) reset()     { s.n = s.n[:0] }
func (s *countStates) size() int  { return 8 * cap(s.n) }

func (s *countStates) one(_ *Env, g uint32, args []value.Value) error {
	if s.star || !args[0].IsNull() {
		s.n[g]++
	}
	return nil
}

func (s *countStates) batch(groups []uint32, args []*vec.Column) (bool, error) {
	if s.star {
		for _, g := range groups {
			s.n[g]++
		}
		return true, nil
	}
	for i, k := range args[0].Kinds[:len(groups)] {
		s.n[groups[i]] += int64(boolInt(k != value.Null))
	}
	return true, nil
}

func (s *countStates) result(_ *Env, g int, out *vec.Column) error {
	out.AppendWord(value.Int, uint64(s.n[g]))
	return nil
}

func (s *countStates) merge(_ *Env, g uint32, from states, fg uint32) error {
	s.n[g] += from.(*countStates).n[fg]
	return nil
}

// ---- sum and avg

// sumState is an integer sum until a float comes, then a compensated float sum.
type sumState struct {
	i       int64
	f, comp float64
	n       int64
	kind    value.Kind // Null: nothing yet; Int, Float, Numeric or Duration
}

type sumStates struct {
	avg bool
	s   []sumState
	// Decimals and durations are rare: they live aside, by group.
	dec map[uint32]*apd.Decimal
	dur map[uint32]*[4]int64
}

func (s *sumStates) grow(n int) { s.s = extend(s.s, n) }
func (s *sumStates) reset()     { s.s, s.dec, s.dur = s.s[:0], nil, nil }
func (s *sumStates) size() int  { return 40*cap(s.s) + 120*len(s.dec) + 80*len(s.dur) }

// addFloat adds with Neumaier's compensation.
func (t *sumState) addFloat(x float64) {
	sum := t.f + x
	if math.Abs(t.f) >= math.Abs(x) {
		t.comp += t.f - sum + x
	} else {
		t.comp += x - sum + t.f
	}
	t.f = sum
}

func (t *sumState) float() float64 {
	if math.IsInf(t.f, 0) || math.IsNaN(t.f) {
		return t.f
	}
	return t.f + t.comp
}

func (s *sumStates) name() string {
	if s.avg {
		return "avg"
	}
	return "sum"
}

func (s *sumStates) addInt(t *sumState, x int64) error {
	if s.avg {
		t.addFloat(float64(x))
		return nil
	}
	sum := t.i + x
	if (sum^t.i)&(sum^x) < 0 {
		return overflow("sum()")
	}
	t.i = sum
	return nil
}

// toFloat turns an integer sum into a float one.
func (t *sumState) toFloat(avg bool) {
	if t.kind != value.Float {
		if !avg {
			t.addFloat(float64(t.i))
			t.i = 0
		}
		t.kind = value.Float
	}
}

func (s *sumStates) one(_ *Env, g uint32, args []value.Value) error {
	v := args[0]
	t := &s.s[g]
	switch v.Kind() {
	case value.Null:
		return nil
	case value.Int:
		switch t.kind {
		case value.Float:
			t.addFloat(float64(v.Int()))
		case value.Numeric:
			return s.addDecimal(g, v)
		case value.Duration:
			return s.mixed(v)
		default:
			t.kind = value.Int
			if err := s.addInt(t, v.Int()); err != nil {
				return err
			}
		}
	case value.Float:
		switch t.kind {
		case value.Numeric:
			return s.addDecimal(g, value.NewNumeric(shortest(v.Float())))
		case value.Duration:
			return s.mixed(v)
		}
		t.toFloat(s.avg)
		t.addFloat(v.Float())
	case value.Numeric:
		return s.addDecimal(g, v)
	case value.Duration:
		if t.kind != value.Null && t.kind != value.Duration {
			return s.mixed(v)
		}
		t.kind = value.Duration
		if s.dur == nil {
			s.dur = map[uint32]*[4]int64{}
		}
		p := s.dur[g]
		if p == nil {
			p = new([4]int64)
			s.dur[g] = p
		}
		m, d, sec, ns := v.DurationParts()
		for i, x := range [...]int64{m, d, sec, int64(ns)} {
			p[i] += x
		}
		p[2] += p[3] / 1e9
		p[3] %= 1e9
	default:
		return wantKind(s.name(), v, "numbers")
	}
	t.n++
	return nil
}

func (s *sumStates) mixed(v value.Value) error {
	return wantKind(s.name(), v, "numbers or durations, not both")
}

func (s *sumStates) addDecimal(g uint32, v value.Value) error {
	t := &s.s[g]
	if t.kind == value.Duration {
		return s.mixed(v)
	}
	if s.dec == nil {
		s.dec = map[uint32]*apd.Decimal{}
	}
	d := s.dec[g]
	if d == nil {
		d = apd.New(t.i, 0)
		if t.kind == value.Float || s.avg && t.kind == value.Int {
			d = shortest(t.float())
		}
		s.dec[g] = d
	}
	t.kind = value.Numeric
	t.n++
	ctx := apd.BaseContext
	ctx.MaxExponent, ctx.MinExponent, ctx.Traps = 131072, -131072, 0
	_, err := ctx.Add(d, d, v.Decimal())
	return err
}

func (s *sumStates) batch(groups []uint32, args []*vec.Column) (bool, error) {
	kind, ok := args[0].Uniform()
	if !ok {
		return false, nil
	}
	words := args[0].Words[:len(groups)]
	switch kind {
	case value.Null:
		return true, nil
	case value.Int:
		for i, g := range groups {
			t := &s.s[g]
			if t.kind > value.Int {
				if t.kind != value.Float {
					return s.slow(groups[i:], args[0], i)
				}
				t.addFloat(float64(int64(words[i])))
			} else {
				t.kind = value.Int
				if err := s.addInt(t, int64(words[i])); err != nil {
					return true, err
				}
			}
			t.n++
		}
		return true, nil
	case value.Float:
		for i, g := range groups {
			t := &s.s[g]
			if t.kind == value.Numeric || t.kind == value.Duration {
				return s.slow(groups[i:], args[0], i)
			}
			t.toFloat(s.avg)
			t.addFloat(math.Float64frombits(words[i]))
			t.n++
		}
		return true, nil
	}
	return false, nil
}

// slow takes the rest of a batch row by row.
func (s *sumStates) slow(groups []uint32, col *vec.Column, from int) (bool, error) {
	var arg [1]value.Value
	for i, g := range groups {
		arg[0] = col.Value(from + i)
		if err := s.one(nil, g, arg[:]); err != nil {
			return true, err
		}
	}
	return true, nil
}

func (s *sumStates) result(_ *Env, g int, out *vec.Column) error {
	t := &s.s[g]
	switch t.kind {
	case value.Null:
		if s.avg {
			out.AppendNull()
		} else {
			out.AppendWord(value.Int, 0)
		}
	case value.Int, value.Float:
		switch {
		case s.avg:
			out.AppendWord(value.Float, math.Float64bits(t.float()/float64(t.n)))
		case t.kind == value.Int:
			out.AppendWord(value.Int, uint64(t.i))
		default:
			out.AppendWord(value.Float, math.Float64bits(t.float()))
		}
	case value.Numeric:
		v := value.NewNumeric(s.dec[uint32(g)])
		if s.avg {
			var err error
			if v, err = numericOp(OpDiv, v, value.NewInt(t.n)); err != nil {
				return err
			}
		}
		out.Append(v)
	case value.Duration:
		p := s.dur[uint32(g)]
		v := value.NewDuration(p[0], p[1], p[2], p[3])
		if s.avg {
			var err error
			if v, err = temporal.Scale(v, 1, float64(t.n)); err != nil {
				return err
			}
		}
		out.Append(v)
	}
	return nil
}

func (s *sumStates) merge(env *Env, g uint32, from states, fg uint32) error {
	o := from.(*sumStates)
	t, u := &s.s[g], &o.s[fg]
	n := t.n + u.n
	var v value.Value
	switch u.kind {
	case value.Null:
		return nil
	case value.Int, value.Float:
		if t.kind == value.Null {
			*t = *u
			return nil
		}
		if u.kind == value.Int && !s.avg {
			v = value.NewInt(u.i)
		} else {
			v = value.NewFloat(u.float())
		}
		if s.avg && t.kind <= value.Float && t.kind >= value.Int {
			t.addFloat(u.float())
			t.n = n
			t.kind = max(t.kind, u.kind)
			return nil
		}
	case value.Numeric:
		v = value.NewNumeric(o.dec[fg])
	case value.Duration:
		p := o.dur[fg]
		v = value.NewDuration(p[0], p[1], p[2], p[3])
	}
	if err := s.one(env, g, []value.Value{v}); err != nil {
		return err
	}
	t.n = n
	return nil
}

// ---- min and max

// extremes keeps the best value of each group in the total order: a word, or bytes in an arena that is reused in place.
type extremes struct {
	want  int // sign of Compare(new, old) that replaces
	kinds []value.Kind
	words []uint64
	caps  []uint32
	arena []byte
}

func (s *extremes) grow(n int) {
	s.kinds, s.words, s.caps = extend(s.kinds, n), extend(s.words, n), extend(s.caps, n)
}
func (s *extremes) reset() {
	s.kinds, s.words, s.caps, s.arena = s.kinds[:0], s.words[:0], s.caps[:0], s.arena[:0]
}
func (s *extremes) size() int { return 13*cap(s.kinds) + cap(s.arena) }

func (s *extremes) value(g uint32) value.Value {
	k := s.kinds[g]
	if !vec.InBytes(k) {
		return value.FromWord(k, s.words[g])
	}
	off, n := s.words[g]>>32, s.words[g]&0xFFFFFFFF
	return value.FromBytes(k, 0, s.arena[off:off+n])
}

func (s *extremes) one(_ *Env, g uint32, args []value.Value) error {
	v := args[0]
	if v.IsNull() || s.kinds[g] != value.Null && value.Compare(v, s.value(g))*s.want <= 0 {
		return nil
	}
	if !vec.InBytes(v.Kind()) {
		s.kinds[g], s.words[g], s.caps[g] = v.Kind(), v.Word(), 0
		return nil
	}
	b := v.Raw()
	off := s.words[g] >> 32
	if s.caps[g] == 0 || uint32(len(b)) > s.caps[g] { // without a place of its own the word is not an offset
		off = uint64(len(s.arena))
		if off+uint64(len(b)) >= 1<<32 {
			return dberr.New(dberr.OutOfMemory, "min() or max() over values of more than 4 GiB")
		}
		s.caps[g] = uint32(len(b))
		s.arena = append(s.arena, b...)
	} else {
		copy(s.arena[off:], b)
	}
	s.kinds[g], s.words[g] = v.Kind(), off<<32|uint64(len(b))
	return nil
}

func (s *extremes) batch(groups []uint32, args []*vec.Column) (bool, error) {
	if k, ok := args[0].Uniform(); !ok || k != value.Int {
		return false, nil
	}
	words := args[0].Words[:len(groups)]
	var arg [1]value.Value
	for i, g := range groups {
		x := int64(words[i])
		switch s.kinds[g] {
		case value.Int:
			if y := int64(s.words[g]); (s.want > 0) == (x > y) && x != y {
				s.words[g] = uint64(x)
			}
		case value.Null:
			s.kinds[g], s.words[g] = value.Int, uint64(x)
		default:
			arg[0] = value.NewInt(x)
			if err := s.one(nil, g, arg[:]); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

func (s *extremes) result(_ *Env, g int, out *vec.Column) error {
	out.Append(s.value(uint32(g)))
	return nil
}

func (s *extremes) merge(env *Env, g uint32, from states, fg uint32) error {
	return s.one(env, g, []value.Value{from.(*extremes).value(fg)})
}

// ---- standard deviation

// spread is Welford's running mean and sum of squares.
type spread struct {
	n        int64
	mean, m2 float64
}

type spreadStates struct {
	population bool
	s          []spread
}

func (s *spreadStates) grow(n int) { s.s = extend(s.s, n) }
func (s *spreadStates) reset()     { s.s = s.s[:0] }
func (s *spreadStates) size() int  { return 24 * cap(s.s) }

func (s *spreadStates) one(_ *Env, g uint32, args []value.Value) error {
	if args[0].IsNull() {
		return nil
	}
	if !args[0].IsNumber() {
		return wantKind("stDev", args[0], "numbers")
	}
	t := &s.s[g]
	x := toFloat(args[0])
	t.n++
	d := x - t.mean
	t.mean += d / float64(t.n)
	t.m2 += d * (x - t.mean)
	return nil
}

func (s *spreadStates) result(env *Env, g int, out *vec.Column) error {
	t := s.s[g]
	div := float64(t.n)
	if !s.population {
		div--
	}
	if div <= 0 {
		out.AppendWord(value.Float, 0)
		return nil
	}
	out.AppendWord(value.Float, math.Float64bits(math.Sqrt(t.m2/div)))
	return nil
}

func (s *spreadStates) merge(_ *Env, g uint32, from states, fg uint32) error {
	t, u := &s.s[g], from.(*spreadStates).s[fg]
	if u.n == 0 {
		return nil
	}
	n := t.n + u.n
	d := u.mean - t.mean
	t.m2 += u.m2 + d*d*float64(t.n)*float64(u.n)/float64(n)
	t.mean += d * float64(u.n) / float64(n)
	t.n = n
	return nil
}

func init() {
	sumArg := Type{Kinds: TNumber.Kinds | 1<<value.Duration}
	aggregate := func(name, doc string, make func(star bool) states, s ...Sig) *Def {
		return &Def{Name: name, AGE: name, Category: "aggregate", Description: doc, Aggregate: true, NullIn: true, Sigs: s, agg: make}
	}
	register(
		aggregate("count", "The number of rows, or of values that are not null.", func(star bool) states { return &countStates{star: star} }, sig(TInt, Any)),
		aggregate("sum", "The sum of numbers or durations; 0 of none.", func(bool) states { return &sumStates{} },
			sig(TInt, TInt), sig(TFloat, TFloat), sig(Any, sumArg)),
		aggregate("avg", "The mean of numbers or durations.", func(bool) states { return &sumStates{avg: true} }, sig(TFloat, TNumber), sig(Any, sumArg)),
		aggregate("min", "The least value in the order of ORDER BY.", func(bool) states { return &extremes{want: -1} }, sig(Any, Any)),
		aggregate("max", "The greatest value in the order of ORDER BY.", func(bool) states { return &extremes{want: 1} }, sig(Any, Any)),
		aggregate("collect", "A list of the values that are not null.", func(bool) states { return &collectStates{} }, sig(TList, Any)),
		aggregate("stDev", "The standard deviation of a sample.", func(bool) states { return &spreadStates{} }, sig(TFloat, TNumber)),
		aggregate("stDevP", "The standard deviation of a population.", func(bool) states { return &spreadStates{population: true} }, sig(TFloat, TNumber)),
		aggregate("percentileCont", "A percentile by linear interpolation.", func(bool) states { return &percentileStates{bags: bags{byValue: true}, cont: true} }, sig(TFloat, TNumber, TNumber)),
		aggregate("percentileDisc", "A percentile as the nearest value.", func(bool) states { return &percentileStates{bags: bags{byValue: true}} }, sig(TNumber, TNumber, TNumber)),
	)
}
