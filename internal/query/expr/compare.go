package expr

import (
	"cmp"
	"math"
	"regexp"
	"strings"
	"unsafe"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// compareCost is what a comparison of two elements counts for: a look at the cancel flag every 4,096.
const compareCost = meterStep / 4096

// longList is the size in bytes from which lists are compared element by element here, where that can be stopped.
const longList = 1 << 14

// equal is value.Equal, also of lists that take long.
func (c *call) equal(a, b value.Value) value.Tri {
	if a.Kind() != value.List || b.Kind() != value.List || len(a.Raw()) < longList {
		return value.Equal(a, b)
	}
	if a.Len() != b.Len() {
		return value.False
	}
	res := value.True
	for i, x := range a.All() {
		c.walk(compareCost)
		switch c.equal(x, b.At(i)) {
		case value.False:
			return value.False
		case value.Unknown:
			res = value.Unknown
		}
	}
	return res
}

// order is value.Order3, also of lists that take long.
func (c *call) order(a, b value.Value) value.Ordering {
	if a.Kind() != value.List || b.Kind() != value.List || len(a.Raw()) < longList {
		return value.Order3(a, b)
	}
	n := b.Len()
	for i, x := range a.All() {
		if i == n {
			break
		}
		c.walk(compareCost)
		y := b.At(i)
		switch c.equal(x, y) {
		case value.False:
			return c.order(x, y)
		case value.Unknown:
			return value.Incomparable
		}
	}
	return value.Ordering(cmp.Compare(a.Len(), n))
}

// compareValues is one comparison in three-valued logic.
func compareValues(c *call, op Op, a, b value.Value) value.Tri {
	switch op {
	case OpEq:
		return c.equal(a, b)
	case OpNe:
		return c.equal(a, b).Not()
	}
	o := c.order(a, b)
	if o == value.Incomparable {
		return value.Unknown
	}
	var t bool
	switch op {
	case OpLt:
		t = o == value.Smaller
	case OpLe:
		t = o == value.Smaller || o == value.Same
	case OpGt:
		t = o == value.Greater
	case OpGe:
		t = o == value.Greater || o == value.Same
	}
	if t {
		return value.True
	}
	return value.False
}

// wordCompare tells that rows of two uniform kinds compare by their words, and how.
type wordCompare uint8

const (
	byValue wordCompare = iota
	byInt               // signed words
	byFloat
	byIntFloat // mixed, exact within ±2^53
	byWord     // equality only
	byText
)

func classify(op Op, x, y *vec.Column) wordCompare {
	kx, okx := x.Uniform()
	ky, oky := y.Uniform()
	if !okx || !oky {
		return byValue
	}
	if kx != ky {
		return byValue
	}
	switch kx {
	case value.Int, value.Date, value.LocalTime, value.Bool:
		return byInt
	case value.Float:
		return byFloat
	case value.Node, value.Rel:
		if op == OpEq || op == OpNe {
			return byWord
		}
	case value.String, value.Bytes:
		return byText
	}
	return byValue
}

// text reads row i of a column of strings without copying.
func text(c *vec.Column, i int) string {
	w := c.Words[i]
	off, n := w>>32, w&0xFFFFFFFF
	if n == 0 {
		return ""
	}
	return unsafe.String(unsafe.SliceData(c.Arena[off:off+n]), n)
}

func compareKernel(op Op, l, r child) evalFn {
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		x, err := l.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		y, err := r.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		n := count(b, sel)
		return compareColumns(&f.c, op, x, y, n, out), nil
	}
}

func compareColumns(c *call, op Op, x, y *vec.Column, n int, out *vec.Column) *vec.Column {
	switch classify(op, x, y) {
	case byInt, byWord:
		intCompare(op, x.Words[:n], y.Words[:n], out.Fill(value.Bool, n))
	case byFloat:
		floatCompare(op, x.Words[:n], y.Words[:n], out.Fill(value.Bool, n))
	case byText:
		w := out.Fill(value.Bool, n)
		switch op {
		case OpEq:
			for i := range w {
				w[i] = boolWord(text(x, i) == text(y, i))
			}
		case OpNe:
			for i := range w {
				w[i] = boolWord(text(x, i) != text(y, i))
			}
		default:
			for i := range w {
				w[i] = boolWord(ordered(op, strings.Compare(text(x, i), text(y, i))))
			}
		}
	default:
		out.Reset()
		for i := range n {
			if x.Kinds[i] == value.Int && y.Kinds[i] == value.Int {
				a, z := int64(x.Words[i]), int64(y.Words[i])
				out.AppendWord(value.Bool, boolWord(ordered(op, boolInt(a > z)-boolInt(a < z))))
				continue
			}
			appendTri(out, compareValues(c, op, x.Value(i), y.Value(i)))
		}
	}
	return out
}

// ordered judges the sign of a comparison.
func ordered(op Op, c int) bool {
	switch op {
	case OpEq:
		return c == 0
	case OpNe:
		return c != 0
	case OpLt:
		return c < 0
	case OpLe:
		return c <= 0
	case OpGt:
		return c > 0
	}
	return c >= 0
}

func intCompare(op Op, x, y, out []uint64) {
	y, out = y[:len(x)], out[:len(x)]
	switch op {
	case OpEq:
		for i, a := range x {
			out[i] = boolWord(a == y[i])
		}
	case OpNe:
		for i, a := range x {
			out[i] = boolWord(a != y[i])
		}
	case OpLt:
		for i, a := range x {
			out[i] = boolWord(int64(a) < int64(y[i]))
		}
	case OpLe:
		for i, a := range x {
			out[i] = boolWord(int64(a) <= int64(y[i]))
		}
	case OpGt:
		for i, a := range x {
			out[i] = boolWord(int64(a) > int64(y[i]))
		}
	case OpGe:
		for i, a := range x {
			out[i] = boolWord(int64(a) >= int64(y[i]))
		}
	}
}

func floatCompare(op Op, x, y, out []uint64) {
	y, out = y[:len(x)], out[:len(x)]
	for i, w := range x {
		a, b := math.Float64frombits(w), math.Float64frombits(y[i])
		var t bool
		switch op {
		case OpEq:
			t = a == b
		case OpNe:
			t = a != b
		case OpLt:
			t = a < b
		case OpLe:
			t = a <= b
		case OpGt:
			t = a > b
		case OpGe:
			t = a >= b
		}
		out[i] = boolWord(t)
	}
}

// compareFilter writes the selection of a comparison without branches.
func (c *comp) compareFilter(e *Binary) (filterFn, error) {
	l, err := c.child(e.L)
	if err != nil {
		return nil, err
	}
	r, err := c.child(e.R)
	if err != nil {
		return nil, err
	}
	op, res := e.Op, c.col()
	pos, end := e.Span()
	return func(f *frame, b *Batch, sel []uint16, dst []uint16) ([]uint16, error) {
		x, err := l.eval(f, b, sel)
		if err != nil {
			return dst, locate(err, pos, end)
		}
		y, err := r.eval(f, b, sel)
		if err != nil {
			return dst, locate(err, pos, end)
		}
		n := count(b, sel)
		if classify(op, x, y) == byInt {
			at := len(dst)
			dst = grow(dst, n)
			at = selectInts(op, x.Words[:n], y.Words[:n], sel, dst, at)
			return dst[:at], nil
		}
		out := compareColumns(&f.c, op, x, y, n, &f.cols[res])
		at := len(dst)
		dst = grow(dst, n)
		for i, w := range out.Words[:n] { // a null row's word is 0
			dst[at] = rowOf(sel, i)
			at += int(w)
		}
		return dst[:at], nil
	}, nil
}

func selectInts(op Op, x, y []uint64, sel, dst []uint16, at int) int {
	y = y[:len(x)]
	if sel == nil {
		switch op {
		case OpEq:
			for i, a := range x {
				dst[at] = uint16(i)
				at += boolInt(a == y[i])
			}
			return at
		case OpLt:
			for i, a := range x {
				dst[at] = uint16(i)
				at += boolInt(int64(a) < int64(y[i]))
			}
			return at
		case OpLe:
			for i, a := range x {
				dst[at] = uint16(i)
				at += boolInt(int64(a) <= int64(y[i]))
			}
			return at
		case OpGt:
			for i, a := range x {
				dst[at] = uint16(i)
				at += boolInt(int64(a) > int64(y[i]))
			}
			return at
		case OpGe:
			for i, a := range x {
				dst[at] = uint16(i)
				at += boolInt(int64(a) >= int64(y[i]))
			}
			return at
		}
	}
	for i, a := range x {
		c := boolInt(int64(a) > int64(y[i])) - boolInt(int64(a) < int64(y[i]))
		dst[at] = rowOf(sel, i)
		at += boolInt(ordered(op, c))
	}
	return at
}

// chain is a ◦ b ◦ c: the conjunction of its comparisons, each argument evaluated once.
func (c *comp) chain(e *Chain) (evalFn, error) {
	kids, err := c.children(e.Args)
	if err != nil {
		return nil, err
	}
	state := c.any()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		cols, err := evalAll(f, b, sel, kids, state)
		if err != nil {
			return nil, err
		}
		out.Reset()
		for i := range count(b, sel) {
			res := value.True
			for k, op := range e.Ops {
				t := compareValues(&f.c, op, cols[k].Value(i), cols[k+1].Value(i))
				if t == value.False {
					res = t
					break
				}
				if t == value.Unknown {
					res = t
				}
			}
			appendTri(out, res)
		}
		return out, nil
	}, nil
}

// stringTest is STARTS WITH, ENDS WITH, CONTAINS: null unless both are strings.
func stringTest(op Op, l, r child) evalFn {
	test := strings.HasPrefix
	switch op {
	case OpEndsWith:
		test = strings.HasSuffix
	case OpContains:
		test = strings.Contains
	}
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		x, err := l.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		y, err := r.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		out.Reset()
		for i := range count(b, sel) {
			if x.Kinds[i] != value.String || y.Kinds[i] != value.String {
				out.AppendNull()
				continue
			}
			out.AppendWord(value.Bool, boolWord(test(text(x, i), text(y, i))))
		}
		return out, nil
	}
}

type compiledRegex struct {
	src string
	re  *regexp.Regexp
}

// regex is =~: the whole string must match; null unless the left is a string.
func (c *comp) regex(l, r child) evalFn {
	state := c.any()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		x, err := l.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		y, err := r.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		out.Reset()
		cur, _ := f.any[state].(*compiledRegex)
		for i := range count(b, sel) {
			if x.Kinds[i] != value.String || y.Kinds[i] != value.String {
				if k := y.Kinds[i]; k != value.String && k != value.Null {
					return nil, typeError(y.Value(i), "a String")
				}
				out.AppendNull()
				continue
			}
			if p := text(y, i); cur == nil || cur.src != p {
				re, err := regexp.Compile("^(?:" + p + ")$")
				if err != nil {
					return nil, dberr.New(dberr.ArgumentError, "invalid regular expression: %v", err).WithToken("InvalidArgumentValue")
				}
				cur = &compiledRegex{src: strings.Clone(p), re: re}
				f.any[state] = cur
			}
			out.AppendWord(value.Bool, boolWord(cur.match(&f.c, text(x, i))))
		}
		return out, nil
	}
}

// slowMatch is the length from which a text is matched a character at a time, so that it can be cancelled.
const slowMatch = 1 << 20

func (r *compiledRegex) match(c *call, s string) bool {
	c.walk(len(s))
	if len(s) < slowMatch {
		return r.re.MatchString(s)
	}
	return r.re.MatchReader(&metered{c, strings.NewReader(s)})
}

// metered is a text that notes how much of it was read.
type metered struct {
	c *call
	r *strings.Reader
}

func (m *metered) ReadRune() (rune, int, error) {
	m.c.walk(8 * elemCost)
	return m.r.ReadRune()
}

// in is x IN list for one row: true if some element equals x, else null if some comparison was null, else false. An empty list
// holds nothing, not even null.
func in(c *call, x, list value.Value) value.Tri {
	res := value.False
	for _, e := range list.All() {
		c.walk(compareCost)
		switch c.equal(x, e) {
		case value.True:
			return value.True
		case value.Unknown:
			res = value.Unknown
		}
	}
	return res
}

// member is a constant list turned into a table for IN: Simple holds if its elements are scalars that hash and compare alone.
type member struct {
	list    value.Value
	buckets map[uint64][]value.Value
	hasNull bool
	simple  bool
}

// Size is the list and some 96 bytes for a bucket of one element.
func (m *member) Size() int { return len(m.list.Raw()) + 96*len(m.buckets) }

func newMember(c *call, list value.Value) *member {
	c.room(96 * list.Len())
	m := &member{list: list, simple: true, buckets: make(map[uint64][]value.Value, min(list.Len(), 1<<12))}
	for _, e := range list.All() {
		c.walk(8 * elemCost)
		switch e.Kind() {
		case value.Null:
			m.hasNull = true
		case value.List, value.Map:
			m.simple = false
			return m
		default:
			h := value.Hash(e)
			m.buckets[h] = append(m.buckets[h], e)
		}
	}
	return m
}

func (m *member) has(c *call, x value.Value) value.Tri {
	if !m.simple || x.Kind() == value.List || x.Kind() == value.Map || x.IsNull() {
		return in(c, x, m.list)
	}
	for _, e := range m.buckets[value.Hash(x)] {
		if value.Equal(x, e) == value.True {
			return value.True
		}
	}
	if m.hasNull {
		return value.Unknown
	}
	return value.False
}

// tableFrom is the number of elements and of rows from which a table pays for a list that is the same in every row.
const tableFrom = 8

func (c *comp) inKernel(e *Binary, l, r child) evalFn {
	state := c.any()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		x, err := l.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		y, err := r.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		n := count(b, sel)
		out.Reset()
		if n == 0 {
			return out, nil
		}
		// Rows that ask the same list stand together: the rows of one outer row, or all of them. A long list becomes a table once.
		for i := 0; i < n; {
			switch y.Kinds[i] {
			case value.Null:
				out.AppendNull()
				i++
				continue
			case value.List:
			default:
				return nil, typeError(y.Value(i), "a List")
			}
			end := i + 1
			for end < n && y.Kinds[end] == value.List && y.Words[end] == y.Words[i] {
				end++
			}
			list := y.Value(i)
			m, _ := f.any[state].(*member)
			if m != nil && string(m.list.Raw()) != string(list.Raw()) {
				m = nil
			}
			if m == nil && end-i >= tableFrom && list.Len() >= tableFrom {
				m = newMember(&f.c, list.Clone())
				f.any[state] = m
			}
			for ; i < end; i++ {
				if m != nil {
					appendTri(out, m.has(&f.c, x.Value(i)))
				} else {
					appendTri(out, in(&f.c, x.Value(i), list))
				}
			}
		}
		return out, nil
	}
}
