package value

import (
	"encoding/binary"

	"github.com/cockroachdb/apd/v3"
)

// AppendKey appends an order-preserving key: bytes.Compare of two keys has the sign of [Compare], and no key is a prefix of
// another, so that keys of composite indexes are concatenated (rules C9).
//
// A number is its float64 rounded down and the exact residual; strings and bytes escape 0x00 as 0x00 0xFF and end in 0x00 0x01.
func AppendKey(dst []byte, v Value) []byte {
	c := class(v)
	dst = append(dst, c)
	switch c {
	case classNull, classNaN:
		return dst
	case classNumber:
		return appendNumberKey(dst, v)
	}
	switch v.kind {
	case Map:
		t, _ := readTable(v.Raw())
		dst = binary.BigEndian.AppendUint32(dst, uint32(t.n))
		for i := range t.n {
			k, _ := splitEntry(t.at(i))
			dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(k))), k...)
		}
		for i := range t.n {
			_, b := splitEntry(t.at(i))
			dst = AppendKey(dst, decodeAll(b))
		}
		return dst
	case Node, Rel:
		return binary.BigEndian.AppendUint64(dst, v.word)
	case Bool:
		return append(dst, byte(v.word))
	case Date, LocalTime:
		return appendIntKey(dst, int64(v.word))
	case List:
		for _, e := range v.All() {
			dst = AppendKey(dst, e)
		}
		return append(dst, 0) // below every class, so a shorter list comes first
	case Path:
		for _, e := range v.All() {
			dst = binary.BigEndian.AppendUint64(append(dst, 1), e.word)
		}
		return append(dst, 0)
	case Point:
		coords, n := v.coords()
		dst = append(binary.BigEndian.AppendUint32(dst, v.SRID()), byte(n))
		for _, f := range coords[:n] {
			u := ^uint64(0) // NaN last
			if f == f {
				u = floatBits(f)
			}
			dst = binary.BigEndian.AppendUint64(dst, u)
		}
		return dst
	case DateTime, LocalDateTime, Time:
		s, n := instant(v)
		off, zone := zoneOf(v)
		dst = appendIntKey(dst, s)
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))
		dst = binary.BigEndian.AppendUint32(dst, uint32(off)^1<<31)
		return appendTextKey(dst, zone)
	case Duration:
		hi, lo := durationLength(v)
		m, d, s, n := v.DurationParts()
		dst = binary.BigEndian.AppendUint64(appendIntKey(dst, hi), lo)
		dst = appendIntKey(appendIntKey(appendIntKey(dst, m), d), s)
		return binary.BigEndian.AppendUint32(dst, uint32(n)^1<<31)
	}
	return appendTextKey(dst, v.Str())
}

func appendIntKey(dst []byte, i int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(i)^1<<63)
}

func appendTextKey(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if dst = append(dst, s[i]); s[i] == 0 {
			dst = append(dst, 0xFF)
		}
	}
	return append(dst, 0, 1)
}

// AppendPrefixKey appends the key of a string without its end: every string with the prefix has a key that begins so, and no
// other value has.
func AppendPrefixKey(dst []byte, prefix string) []byte {
	dst = appendTextKey(append(dst, byte(String)), prefix)
	return dst[:len(dst)-2]
}

const (
	residualNegative = 0
	residualZero     = 1
	residualPositive = 2
)

func appendNumberKey(dst []byte, v Value) []byte {
	f := numberFloor(v)
	dst = binary.BigEndian.AppendUint64(dst, floatBits(f))
	switch v.kind {
	case Float:
		return append(dst, residualZero)
	case Int:
		i := v.Int()
		if cmpIntFloat(i, f) == 0 {
			return append(dst, residualZero)
		}
		return appendDecimalKey(append(dst, residualPositive), apd.New(i-int64(f), 0))
	}
	d := v.Decimal()
	if d.Form == apd.Infinite {
		return append(dst, residualZero)
	}
	r := residual(d, f)
	switch {
	case r.Coeff.Sign() == 0:
		return append(dst, residualZero)
	case r.Negative: // only below −MaxFloat64
		dst = append(dst, residualNegative)
		at := len(dst)
		dst = appendDecimalKey(dst, r)
		for i := at; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
		return dst
	}
	return appendDecimalKey(append(dst, residualPositive), r)
}

// appendDecimalKey appends a positive decimal: e biased, then the digits of 0.d₁d₂… × 10^e in pairs plus one, then 0. Trailing
// zeros are dropped, so a value has one form.
func appendDecimalKey(dst []byte, d *apd.Decimal) []byte {
	digits := d.Coeff.String()
	e := int64(d.Exponent) + int64(len(digits))
	for digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(e+1<<31))
	for i := 0; i < len(digits); i += 2 {
		p := (digits[i] - '0') * 10
		if i+1 < len(digits) {
			p += digits[i+1] - '0'
		}
		dst = append(dst, p+1)
	}
	return append(dst, 0)
}

// LongKey bounds an index key (rules B13): what is longer is cut to it and a hash is appended by the index.
const LongKey = 1984
