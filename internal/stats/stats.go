package stats

import (
	"math"

	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Bounds of what is kept (S2).
const (
	MaxKeys     = 1000     // keys of a label that are looked at
	MaxCommon   = 100      // most common values of a key
	Buckets     = 100      // of a histogram
	MaxWidth    = 64       // bytes of a value that is kept; a longer string is cut, anything else longer is only counted
	SampleRows  = 30_000   // rows that are looked at of a label
	SampleBytes = 64 << 20 // memory of a sample
)

// Label is what is known of a vertex label or relationship type.
type Label struct {
	Graph   schema.GraphID
	ID      schema.LabelID
	Rows    float64 // rows that there were
	Sampled float64 // rows that were looked at
	Taken   int64   // when, in µs since 1970
	Keys    []*Key  // by id
	Degrees []*Degree
}

// Key returns the statistics of a key, nil if there are none.
func (l *Label) Key(id schema.KeyID) *Key {
	if l == nil {
		return nil
	}
	lo, hi := 0, len(l.Keys)
	for lo < hi {
		if m := (lo + hi) / 2; l.Keys[m].ID < id {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(l.Keys) && l.Keys[lo].ID == id {
		return l.Keys[lo]
	}
	return nil
}

// Degree returns the statistics of a type and direction, nil if there are none.
func (l *Label) Degree(t schema.LabelID, d Direction) *Degree {
	if l == nil {
		return nil
	}
	for _, x := range l.Degrees {
		if x.Type == t && x.Dir == d {
			return x
		}
	}
	return nil
}

// Key says how the values of a property are distributed. A nil Key knows nothing: its methods answer with the usual guesses.
type Key struct {
	ID       schema.KeyID
	Rows     float64 // rows of the label when the sample was taken
	Null     float64 // share of rows without the key
	Distinct float64 // different values among all rows
	Wide     float64 // share of rows with a value that is too long to be kept
	Width    float64 // mean bytes of a value
	Common   []Common
	// Bounds divide the values that are neither common nor wide, in the total order (rules C9), into parts of equal share.
	Bounds []value.Value

	hashes []uint64 // of Common, so that a look-up compares one value; made by seal
}

// seal makes what look-ups use. The statistics are not changed after it.
func (k *Key) seal() {
	k.hashes = make([]uint64, len(k.Common))
	for i := range k.Common {
		k.hashes[i] = value.Hash(k.Common[i].Value)
	}
}

// Common is a value that many rows have, and their share of all rows.
type Common struct {
	Value value.Value
	Share float64
}

// Guesses where nothing is known.
const (
	GuessEqual   = 0.1
	GuessRange   = 0.3 // one bound
	GuessBetween = 0.1 // two
	GuessPrefix  = 0.05
	GuessNull    = 0.1
	GuessUnknown = 0.25
	GuessNotSame = 0.9
)

// share makes x a share (S1); what is no number becomes def.
func share(x, def float64) float64 {
	if math.IsNaN(x) {
		return def
	}
	return min(1, max(0, x))
}

// amount makes x a number of something (S1).
func amount(x, def float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return def
	}
	return max(0, x)
}

// NotNull is the share of rows that have the key.
func (k *Key) NotNull() float64 {
	if k == nil {
		return 1 - GuessNull
	}
	return share(1-k.Null, 1-GuessNull)
}

// DistinctOf scales the number of different values to a label that has so many rows now: a key whose values were nearly all different is
// taken to have stayed so, one with few values to have kept them.
func (k *Key) DistinctOf(rows float64) float64 {
	if k == nil {
		return max(1, amount(rows, 1)*GuessEqual)
	}
	d, old := max(1, amount(k.Distinct, 1)), amount(k.Rows, 0)
	rows = amount(rows, 1)
	if old > 0 && d > 0.1*old*k.NotNull() {
		d *= rows / old
	}
	return max(1, min(d, rows))
}

// rest is the share of all rows whose value is not among the common ones, and how many different values these have.
func (k *Key) rest() (part, values float64) {
	part = 1 - share(k.Null, 0)
	for i := range k.Common {
		part -= share(k.Common[i].Share, 0)
	}
	return max(0, part), max(1, amount(k.Distinct, 1)-float64(len(k.Common)))
}

// Equal is the share of rows whose value equals v. Nothing equals null.
func (k *Key) Equal(v value.Value) float64 {
	if v.IsNull() {
		return 0
	}
	if k == nil {
		return GuessEqual
	}
	if s, ok := k.common(v); ok {
		return s
	}
	part, values := k.rest()
	return share(part/values, GuessEqual)
}

// common returns the share of v if it is among the common values.
func (k *Key) common(v value.Value) (float64, bool) {
	sealed, h := len(k.hashes) == len(k.Common), uint64(0)
	if sealed {
		h = value.Hash(v)
	}
	for i := range k.Common {
		if (!sealed || k.hashes[i] == h) && value.Equal(k.Common[i].Value, v) == value.True {
			return share(k.Common[i].Share, GuessEqual), true
		}
	}
	return 0, false
}

// EqualAny is the share of rows that equal a value nothing is known of, such as a parameter: one value's mean share.
func (k *Key) EqualAny() float64 {
	if k == nil {
		return GuessEqual
	}
	return share(k.NotNull()/max(1, amount(k.Distinct, 1)), GuessEqual)
}

// IsCommon reports whether v is among the common values: its rows may be far more than [Key.EqualAny] says.
func (k *Key) IsCommon(v value.Value) bool {
	if k == nil {
		return false
	}
	_, ok := k.common(v)
	return ok
}

// Interval is a part of the order of comparable values. A bound that is not there is open; one of the two must be there.
type Interval struct {
	Lower, Upper       value.Value
	HasLower, HasUpper bool
	LowerInc, UpperInc bool
}

// Range is the share of rows whose value is comparable to the bounds and within them.
func (k *Key) Range(r Interval) float64 {
	if r.HasLower && r.Lower.IsNull() || r.HasUpper && r.Upper.IsNull() {
		return 0
	}
	if k == nil || len(k.Common) == 0 && len(k.Bounds) < 2 {
		if r.HasLower && r.HasUpper {
			return GuessBetween
		}
		return GuessRange * k.NotNull()
	}
	sum, left := 0.0, 1-share(k.Null, 0)-share(k.Wide, 0)
	for i := range k.Common {
		c := &k.Common[i]
		s := share(c.Share, 0)
		left -= s
		if r.holds(c.Value) {
			sum += s
		}
	}
	if n := len(k.Bounds); n >= 2 && left > 0 {
		sum += left * k.part(r)
	}
	return share(sum, GuessRange)
}

func (r *Interval) holds(v value.Value) bool {
	if r.HasLower && value.Less(r.Lower, v) != value.True && !(r.LowerInc && value.LessEqual(r.Lower, v) == value.True) {
		return false
	}
	if r.HasUpper && value.Less(v, r.Upper) != value.True && !(r.UpperInc && value.LessEqual(v, r.Upper) == value.True) {
		return false
	}
	return true
}

// part is the share of the histogram within the interval.
func (k *Key) part(r Interval) float64 {
	sample := r.Lower
	if !r.HasLower {
		sample = r.Upper
	}
	lo, hi := k.class(sample)
	if r.HasLower {
		lo = max(lo, k.below(r.Lower))
	}
	if r.HasUpper {
		hi = min(hi, k.below(r.Upper))
	}
	return max(0, hi-lo)
}

// Prefix is the share of rows that are a string beginning with s.
func (k *Key) Prefix(s string) float64 {
	if s == "" || k == nil || len(k.Common) == 0 && len(k.Bounds) < 2 {
		return GuessPrefix
	}
	r := Interval{Lower: value.NewString(s), HasLower: true, LowerInc: true}
	if up, ok := successor(s); ok {
		r.Upper, r.HasUpper = value.NewString(up), true
	}
	return k.Range(r)
}

// successor is the least string above all that begin with s.
func successor(s string) (string, bool) {
	b := []byte(s)
	for len(b) > 0 {
		if b[len(b)-1] < 0xff {
			b[len(b)-1]++
			return string(b), true
		}
		b = b[:len(b)-1]
	}
	return "", false
}

// class returns the part of the histogram that holds values of v's class of the order.
func (k *Key) class(v value.Value) (lo, hi float64) {
	first, last := -1, -1
	for i, b := range k.Bounds {
		if sameClass(b, v) {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	n := float64(len(k.Bounds) - 1)
	if first < 0 {
		at := k.below(v)
		return max(0, at-0.25/n), min(1, at+0.25/n)
	}
	lo, hi = float64(first)/n, float64(last)/n
	if first > 0 {
		lo -= 0.5 / n
	}
	if last < len(k.Bounds)-1 {
		hi += 0.5 / n
	}
	return lo, hi
}

func sameClass(a, b value.Value) bool {
	return a.Kind() == b.Kind() || a.IsNumber() && b.IsNumber()
}

// below is the share of the histogram below v.
func (k *Key) below(v value.Value) float64 {
	b := k.Bounds
	lo, hi := 0, len(b) // the first bound that is not below v
	for lo < hi {
		if m := (lo + hi) / 2; value.Compare(b[m], v) < 0 {
			lo = m + 1
		} else {
			hi = m
		}
	}
	n := float64(len(b) - 1)
	switch {
	case lo == 0:
		return 0
	case lo == len(b):
		return 1
	}
	return (float64(lo-1) + within(b[lo-1], b[lo], v)) / n
}

// within is where v lies between two bounds, from 0 to 1.
func within(lo, hi, v value.Value) float64 {
	if !sameClass(lo, v) || !sameClass(hi, v) {
		return 0.5
	}
	a, b, x := 0.0, 0.0, 0.0
	switch v.Kind() {
	case value.String:
		p := 0
		l, h, s := lo.Str(), hi.Str(), v.Str()
		for p < len(l) && p < len(h) && l[p] == h[p] {
			p++
		}
		a, b, x = digits(l, p), digits(h, p), digits(s, p)
	case value.Int, value.Float, value.Numeric:
		a, b, x = number(lo), number(hi), number(v)
	case value.Date:
		a, b, x = float64(lo.Days()), float64(hi.Days()), float64(v.Days())
	case value.LocalTime:
		a, b, x = float64(lo.Nanos()), float64(hi.Nanos()), float64(v.Nanos())
	case value.DateTime, value.LocalDateTime:
		a, b, x = instant(lo), instant(hi), instant(v)
	default:
		return 0.5
	}
	if !(b > a) {
		return 0.5
	}
	return share((x-a)/(b-a), 0.5)
}

func digits(s string, from int) float64 {
	x, unit := 0.0, 1.0
	for i := range 7 {
		unit /= 256
		if from+i < len(s) {
			x += float64(s[from+i]) * unit
		}
	}
	return x
}

func number(v value.Value) float64 {
	switch v.Kind() {
	case value.Int:
		return float64(v.Int())
	case value.Float:
		return v.Float()
	}
	f, err := v.Decimal().Float64()
	if err != nil {
		return math.NaN()
	}
	return f
}

func instant(v value.Value) float64 {
	sec, ns, _, _ := v.DateTimeParts()
	return float64(sec) + float64(ns)/1e9
}
