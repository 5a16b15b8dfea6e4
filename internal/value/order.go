package value

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strings"
)

// Tri is a truth value of three-valued logic.
type Tri uint8

const (
	False Tri = iota
	True
	Unknown
)

// Not negates; Unknown stays.
func (t Tri) Not() Tri {
	switch t {
	case False:
		return True
	case True:
		return False
	}
	return Unknown
}

// Value returns true, false or null.
func (t Tri) Value() Value {
	if t == Unknown {
		return Value{}
	}
	return Value{kind: Bool, word: uint64(t)}
}

func triOf(b bool) Tri {
	if b {
		return True
	}
	return False
}

// Classes of the total order (rules C9). They are also the first byte of an order-preserving key.
const (
	classNumber byte = 0x20
	classNaN    byte = 0x21
	classNull   byte = 0x30
)

func class(v Value) byte {
	switch v.kind {
	case Null, OutOfLine:
		return classNull
	case Int:
		return classNumber
	case Float, Numeric:
		if v.isNaN() {
			return classNaN
		}
		return classNumber
	}
	return byte(v.kind)
}

// Compare is the one total order of storage, indexes, Cypher's ORDER BY and SQL (rules C9): map < node < relationship < list <
// path < point < datetime < localdatetime < date < time < localtime < duration < bytes < string < boolean < number < NaN < null.
// It is 0 exactly when the values are [Equivalent].
func Compare(a, b Value) int {
	if a.kind == b.kind {
		switch a.kind {
		case Int:
			return cmpInt(a.Int(), b.Int())
		case String:
			return strings.Compare(a.Str(), b.Str())
		}
	}
	ca, cb := class(a), class(b)
	if ca != cb {
		return int(ca) - int(cb)
	}
	switch ca {
	case classNull, classNaN:
		return 0
	case classNumber:
		return cmpNumber(a, b)
	}
	switch a.kind {
	case Map:
		return compareMaps(a, b)
	case Node, Rel, Bool:
		return cmpUint(a.word, b.word)
	case Date, LocalTime:
		return cmpInt(int64(a.word), int64(b.word))
	case List:
		return compareSeq(a, b)
	case Path:
		return comparePaths(a, b)
	case Point:
		return comparePoints(a, b)
	case DateTime, LocalDateTime, Time:
		if c := compareInstants(a, b); c != 0 {
			return c
		}
		oa, za := zoneOf(a)
		ob, zb := zoneOf(b)
		if c := cmpInt(int64(oa), int64(ob)); c != 0 {
			return c
		}
		return strings.Compare(za, zb)
	case Duration:
		return compareDurations(a, b)
	case Bytes:
		return bytes.Compare(a.Raw(), b.Raw())
	}
	return 0
}

func cmpUint(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func compareSeq(a, b Value) int {
	ta, _ := readTable(a.Raw())
	tb, _ := readTable(b.Raw())
	for i := range min(ta.n, tb.n) {
		if c := Compare(decodeAll(ta.at(i)), decodeAll(tb.at(i))); c != 0 {
			return c
		}
	}
	return cmpInt(int64(ta.n), int64(tb.n))
}

// comparePaths compares the ids along the paths.
func comparePaths(a, b Value) int {
	na, nb := a.Len(), b.Len()
	for i := range min(na, nb) {
		if c := cmpUint(a.At(i).word, b.At(i).word); c != 0 {
			return c
		}
	}
	return cmpInt(int64(na), int64(nb))
}

// compareMaps compares the number of keys, then all keys, then all values.
func compareMaps(a, b Value) int {
	ta, _ := readTable(a.Raw())
	tb, _ := readTable(b.Raw())
	if ta.n != tb.n {
		return cmpInt(int64(ta.n), int64(tb.n))
	}
	for i := range ta.n {
		ka, _ := splitEntry(ta.at(i))
		kb, _ := splitEntry(tb.at(i))
		if ka != kb {
			if KeyLess(ka, kb) {
				return -1
			}
			return 1
		}
	}
	for i := range ta.n {
		_, va := splitEntry(ta.at(i))
		_, vb := splitEntry(tb.at(i))
		if c := Compare(decodeAll(va), decodeAll(vb)); c != 0 {
			return c
		}
	}
	return 0
}

// cmpCoord orders floats with −0 = 0 and NaN last.
func cmpCoord(a, b float64) int {
	if a != a || b != b {
		return b2i(a != a) - b2i(b != b)
	}
	return cmpFloat(a, b)
}

func comparePoints(a, b Value) int {
	if c := cmpUint(uint64(a.SRID()), uint64(b.SRID())); c != 0 {
		return c
	}
	ca, na := a.coords()
	cb, nb := b.coords()
	if na != nb {
		return na - nb
	}
	for i := range na {
		if c := cmpCoord(ca[i], cb[i]); c != 0 {
			return c
		}
	}
	return 0
}

// compareInstants compares two values of one of DateTime, LocalDateTime, Time on the time line.
func compareInstants(a, b Value) int {
	sa, na := instant(a)
	sb, nb := instant(b)
	if c := cmpInt(sa, sb); c != 0 {
		return c
	}
	return cmpInt(na, nb)
}

// instant returns seconds and nanoseconds that order two values of one zoned or two-word kind.
func instant(v Value) (sec, ns int64) {
	b := v.Raw()
	switch v.kind {
	case DateTime, LocalDateTime:
		if len(b) >= 12 {
			return int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint32(b[8:]))
		}
	case Time:
		if len(b) == 12 {
			return int64(binary.LittleEndian.Uint64(b)) - int64(int32(binary.LittleEndian.Uint32(b[8:])))*1e9, 0
		}
	}
	return 0, 0
}

func zoneOf(v Value) (offset int32, zone string) {
	b := v.Raw()
	switch {
	case v.kind == DateTime && len(b) >= 16:
		return int32(binary.LittleEndian.Uint32(b[12:])), NewStringBytes(b[16:]).Str()
	case v.kind == Time && len(b) == 12:
		return int32(binary.LittleEndian.Uint32(b[8:])), ""
	}
	return 0, ""
}

// avgMonthSeconds is the average length of a month: 365.2425 days / 12.
const avgMonthSeconds = 2629746

// durationLength is the average length in nanoseconds as a signed 128-bit number.
func durationLength(v Value) (hi int64, lo uint64) {
	m, d, s, n := v.DurationParts()
	for _, t := range [...]struct {
		n    int64
		unit uint64
	}{{m, avgMonthSeconds * 1e9}, {d, 86400 * 1e9}, {s, 1e9}, {int64(n), 1}} {
		abs := uint64(t.n)
		if t.n < 0 {
			abs = -abs
		}
		h, l := bits.Mul64(abs, t.unit)
		var c uint64
		if t.n < 0 {
			lo, c = bits.Sub64(lo, l, 0)
			u, _ := bits.Sub64(uint64(hi), h, c)
			hi = int64(u)
		} else {
			lo, c = bits.Add64(lo, l, 0)
			u, _ := bits.Add64(uint64(hi), h, c)
			hi = int64(u)
		}
	}
	return hi, lo
}

func compareDurations(a, b Value) int {
	ha, la := durationLength(a)
	hb, lb := durationLength(b)
	if c := cmpInt(ha, hb); c != 0 {
		return c
	}
	if c := cmpUint(la, lb); c != 0 {
		return c
	}
	ma, da, sa, na := a.DurationParts()
	mb, db, sb, nb := b.DurationParts()
	for _, p := range [...][2]int64{{ma, mb}, {da, db}, {sa, sb}, {int64(na), int64(nb)}} {
		if c := cmpInt(p[0], p[1]); c != 0 {
			return c
		}
	}
	return 0
}

// Equivalent is the relation of DISTINCT, grouping and indexes: null ≡ null, NaN ≡ NaN, 1 ≡ 1.0, deeply.
func Equivalent(a, b Value) bool {
	if a.kind == b.kind {
		switch a.kind {
		case Int, Bool, Node, Rel, Date, LocalTime:
			return a.word == b.word
		case String, Bytes:
			return a.Str() == b.Str()
		}
	}
	return Compare(a, b) == 0
}

// Equal is Cypher's =: null with anything is Unknown, also deep inside lists and maps unless a difference is certain; NaN equals
// nothing; values of different types differ; entities by id; zoned times by instant.
func Equal(a, b Value) Tri {
	if a.kind == Null || b.kind == Null {
		return Unknown
	}
	if a.IsNumber() && b.IsNumber() {
		if a.isNaN() || b.isNaN() {
			return False
		}
		return triOf(cmpNumber(a, b) == 0)
	}
	if a.kind != b.kind {
		return False
	}
	switch a.kind {
	case List:
		ta, _ := readTable(a.Raw())
		tb, _ := readTable(b.Raw())
		if ta.n != tb.n {
			return False
		}
		res := True
		for i := range ta.n {
			switch Equal(decodeAll(ta.at(i)), decodeAll(tb.at(i))) {
			case False:
				return False
			case Unknown:
				res = Unknown
			}
		}
		return res
	case Map:
		ta, _ := readTable(a.Raw())
		tb, _ := readTable(b.Raw())
		if ta.n != tb.n {
			return False
		}
		res := True
		for i := range ta.n {
			ka, va := splitEntry(ta.at(i))
			kb, vb := splitEntry(tb.at(i))
			if ka != kb {
				return False
			}
			switch Equal(decodeAll(va), decodeAll(vb)) {
			case False:
				return False
			case Unknown:
				res = Unknown
			}
		}
		return res
	case DateTime, Time:
		return triOf(compareInstants(a, b) == 0)
	case Point:
		ca, na := a.coords()
		cb, nb := b.coords()
		for i := range min(na, nb) {
			if ca[i] != ca[i] || cb[i] != cb[i] {
				return False
			}
		}
	}
	return triOf(Equivalent(a, b))
}

// Ordering is the result of a three-valued comparison.
type Ordering int8

const (
	Smaller      Ordering = -1
	Same         Ordering = 0
	Greater      Ordering = 1
	Unordered    Ordering = 2 // every comparison is false: a NaN is involved
	Incomparable Ordering = 3 // every comparison is null
)

// Order3 is Cypher's comparability: <, <=, >, >= between the values. Numbers, strings, booleans, bytes, lists and temporal values
// of one kind are comparable; everything else, and null, is Incomparable. Lists compare by their first unequal elements.
func Order3(a, b Value) Ordering {
	if a.kind == Null || b.kind == Null {
		return Incomparable
	}
	if a.IsNumber() && b.IsNumber() {
		if a.isNaN() || b.isNaN() {
			return Unordered
		}
		return Ordering(cmpNumber(a, b))
	}
	if a.kind != b.kind {
		return Incomparable
	}
	switch a.kind {
	case String, Bool, Bytes, Date, LocalTime, LocalDateTime:
		return sign(Compare(a, b))
	case DateTime, Time:
		return sign(compareInstants(a, b))
	case List:
		ta, _ := readTable(a.Raw())
		tb, _ := readTable(b.Raw())
		for i := range min(ta.n, tb.n) {
			ea, eb := decodeAll(ta.at(i)), decodeAll(tb.at(i))
			switch Equal(ea, eb) {
			case False:
				return Order3(ea, eb)
			case Unknown:
				return Incomparable
			}
		}
		return sign(ta.n - tb.n)
	}
	return Incomparable
}

func sign(c int) Ordering {
	switch {
	case c < 0:
		return Smaller
	case c > 0:
		return Greater
	}
	return Same
}

// Less is Cypher's a < b.
func Less(a, b Value) Tri {
	switch Order3(a, b) {
	case Smaller:
		return True
	case Incomparable:
		return Unknown
	}
	return False
}

// LessEqual is Cypher's a <= b.
func LessEqual(a, b Value) Tri {
	switch Order3(a, b) {
	case Smaller, Same:
		return True
	case Incomparable:
		return Unknown
	}
	return False
}

// floatBits maps floats to integers of the same order, with −0 = 0; f is not NaN.
func floatBits(f float64) uint64 {
	if f == 0 {
		f = 0 // drops the sign of −0
	}
	u := math.Float64bits(f)
	if u>>63 != 0 {
		return ^u
	}
	return u | 1<<63
}
