package sqltype

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// epoch is PostgreSQL's, 2000-01-01, in days since 1970-01-01.
const (
	epoch      = 10957
	maxSeconds = math.MaxInt64/1000000 - 1
)

// BinaryOut reports whether AppendBinary knows t.
func BinaryOut(t *Type) bool {
	if t.Elem != nil {
		return BinaryOut(t.Elem)
	}
	return t != Record && t != Regproc && t != Regnamespc
}

// AppendBinary appends v in t's binary form. v is not null.
func AppendBinary(dst []byte, t *Type, v value.Value) ([]byte, error) {
	be := binary.BigEndian
	switch t {
	case Bool:
		return append(dst, byte(v.Word()&1)), nil
	case Int2:
		return be.AppendUint16(dst, uint16(v.Int())), nil
	case Int4, OID, Regtype:
		return be.AppendUint32(dst, uint32(v.Int())), nil
	case Regclass:
		if v.Kind() == value.Int {
			return be.AppendUint32(dst, uint32(v.Int())), nil
		}
	case Int8, Graphid:
		return be.AppendUint64(dst, uint64(v.Int())), nil
	case Float4:
		return be.AppendUint32(dst, math.Float32bits(float32(v.Float()))), nil
	case Float8:
		return be.AppendUint64(dst, math.Float64bits(v.Float())), nil
	case Bytea:
		return append(dst, v.Raw()...), nil
	case Agtype, JSONB:
		return AppendText(append(dst, 1), t, v)
	case Text, Varchar, Name, Unknown, Bpchar, JSON, Void, Char:
		return AppendText(dst, t, v)
	case UUID:
		b, err := hex.DecodeString(strings.ReplaceAll(v.Str(), "-", ""))
		if err != nil || len(b) != 16 {
			return dst, bad(t, v.Str())
		}
		return append(dst, b...), nil
	case Date:
		d := v.Days() - epoch
		if d != int64(int32(d)) {
			return dst, dberr.New(dberr.NumericOutOfRange, "date out of range")
		}
		return be.AppendUint32(dst, uint32(d)), nil
	case Time:
		return be.AppendUint64(dst, uint64(v.Nanos()/1000)), nil
	case Timestamp, Timestamptz:
		sec, ns, _, _ := v.DateTimeParts()
		if sec -= epoch * day; sec > maxSeconds || sec < -maxSeconds {
			return dst, dberr.New(dberr.NumericOutOfRange, "timestamp out of range")
		}
		return be.AppendUint64(dst, uint64(sec*1e6+int64(ns)/1000)), nil
	case Interval:
		months, days, sec, ns := v.DurationParts()
		if months != int64(int32(months)) || days != int64(int32(days)) || sec > maxSeconds || sec < -maxSeconds {
			return dst, dberr.New(dberr.NumericOutOfRange, "interval out of range")
		}
		dst = be.AppendUint64(dst, uint64(sec*1e6+int64(ns)/1000))
		return be.AppendUint32(be.AppendUint32(dst, uint32(days)), uint32(months)), nil
	case Numeric:
		return appendNumericBinary(dst, v.Decimal()), nil
	}
	if t.Elem != nil && BinaryOut(t.Elem) && v.Kind() == value.List {
		return appendArrayBinary(dst, t.Elem, v)
	}
	return dst, dberr.New(dberr.FeatureNotSupported, "type %s has no binary output", t.Name).WithHint("Ask for the text format.")
}

func appendArrayBinary(dst []byte, e *Type, v value.Value) ([]byte, error) {
	be := binary.BigEndian
	n := v.Len()
	nulls := uint32(0)
	for i := range n {
		if v.At(i).IsNull() {
			nulls = 1
		}
	}
	if n == 0 {
		return be.AppendUint32(be.AppendUint32(be.AppendUint32(dst, 0), 0), e.OID), nil
	}
	dst = be.AppendUint32(be.AppendUint32(be.AppendUint32(dst, 1), nulls), e.OID)
	dst = be.AppendUint32(be.AppendUint32(dst, uint32(n)), 1)
	for i := range n {
		x := v.At(i)
		if x.IsNull() {
			dst = be.AppendUint32(dst, 0xFFFFFFFF)
			continue
		}
		at := len(dst)
		var err error
		if dst, err = AppendBinary(append(dst, 0, 0, 0, 0), e, x); err != nil {
			return dst, err
		}
		be.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst, nil
}

const (
	numericPositive = 0x0000
	numericNegative = 0x4000
	numericNaN      = 0xC000
	numericPInf     = 0xD000
	numericNInf     = 0xF000
)

// appendNumericBinary writes digits to base 10,000: count, weight of the first, sign, digits after the point, digits.
func appendNumericBinary(dst []byte, d *apd.Decimal) []byte {
	be := binary.BigEndian
	head := func(n int, weight int16, sign uint16, scale int) {
		dst = be.AppendUint16(be.AppendUint16(be.AppendUint16(be.AppendUint16(dst, uint16(n)), uint16(weight)), sign), uint16(scale))
	}
	switch {
	case d.Form == apd.Infinite && d.Negative:
		head(0, 0, numericNInf, 0)
		return dst
	case d.Form == apd.Infinite:
		head(0, 0, numericPInf, 0)
		return dst
	case d.Form != apd.Finite:
		head(0, 0, numericNaN, 0)
		return dst
	}
	scale := max(0, -int(d.Exponent))
	digits := d.Coeff.String() + strings.Repeat("0", max(0, int(d.Exponent)))
	if d.Coeff.Sign() == 0 {
		digits = ""
	}
	// Pad on both sides so that the point stands between two groups of four.
	frac := min(scale, len(digits))
	if len(digits) < scale {
		digits = strings.Repeat("0", scale-len(digits)) + digits
		frac = scale
	}
	if digits == "" {
		frac = 0
	}
	digits += strings.Repeat("0", (4-frac%4)%4)
	frac += (4 - frac%4) % 4
	digits = strings.Repeat("0", (4-len(digits)%4)%4) + digits
	weight := (len(digits)-frac)/4 - 1
	var groups []uint16
	for i := 0; i < len(digits); i += 4 {
		groups = append(groups, uint16(digits[i]-'0')*1000+uint16(digits[i+1]-'0')*100+uint16(digits[i+2]-'0')*10+uint16(digits[i+3]-'0'))
	}
	for len(groups) > 0 && groups[0] == 0 {
		groups, weight = groups[1:], weight-1
	}
	for len(groups) > 0 && groups[len(groups)-1] == 0 {
		groups = groups[:len(groups)-1]
	}
	sign := uint16(numericPositive)
	if d.Negative && len(groups) > 0 {
		sign = numericNegative
	}
	if len(groups) == 0 {
		weight = 0
	}
	head(len(groups), int16(weight), sign, scale)
	for _, g := range groups {
		dst = be.AppendUint16(dst, g)
	}
	return dst
}

func parseNumericBinary(b []byte) (value.Value, bool) {
	be := binary.BigEndian
	if len(b) < 8 {
		return value.Value{}, false
	}
	n, weight, sign, scale := int(be.Uint16(b)), int16(be.Uint16(b[2:])), be.Uint16(b[4:]), int(be.Uint16(b[6:]))
	b = b[8:]
	if len(b) != 2*n || scale > 0x3FFF {
		return value.Value{}, false
	}
	d := new(apd.Decimal)
	switch sign {
	case numericPositive, numericNegative:
	case numericNaN:
		d.Form = apd.NaN
		return value.NewNumeric(d), true
	case numericPInf, numericNInf:
		d.Form, d.Negative = apd.Infinite, sign == numericNInf
		return value.NewNumeric(d), true
	default:
		return value.Value{}, false
	}
	var text strings.Builder
	for i := range n {
		g := be.Uint16(b[2*i:])
		if g > 9999 {
			return value.Value{}, false
		}
		text.Write([]byte{byte('0' + g/1000), byte('0' + g/100%10), byte('0' + g/10%10), byte('0' + g%10)})
	}
	coeff, ok := new(big.Int).SetString("0"+text.String(), 10)
	if !ok {
		return value.Value{}, false
	}
	// value = coeff × 10,000^(weight-n+1), brought to the declared scale
	exp := 4 * (int(weight) - n + 1)
	if coeff.Sign() == 0 {
		exp = -scale
	}
	ten := big.NewInt(10)
	switch {
	case exp > -scale:
		coeff.Mul(coeff, new(big.Int).Exp(ten, big.NewInt(int64(exp+scale)), nil))
	case exp < -scale:
		coeff.Quo(coeff, new(big.Int).Exp(ten, big.NewInt(int64(-scale-exp)), nil))
	}
	d.Coeff.SetMathBigInt(coeff)
	d.Exponent = int32(-scale)
	d.Negative = sign == numericNegative && coeff.Sign() != 0
	return value.NewNumeric(d), true
}

// ParseBinary reads t's binary form.
func ParseBinary(t *Type, b []byte) (value.Value, error) {
	be := binary.BigEndian
	fail := func() (value.Value, error) {
		return value.Value{}, dberr.New(dberr.InvalidBinary, "incorrect binary data format for type %s", t.Name)
	}
	if t.Len > 0 && t != Name && t != Char && t != Void && len(b) != int(t.Len) {
		return fail()
	}
	switch t {
	case Bool:
		return value.NewBool(b[0] != 0), nil
	case Int2:
		return value.NewInt(int64(int16(be.Uint16(b)))), nil
	case Int4:
		return value.NewInt(int64(int32(be.Uint32(b)))), nil
	case OID, Regclass, Regtype:
		return value.NewInt(int64(be.Uint32(b))), nil
	case Int8, Graphid:
		return value.NewInt(int64(be.Uint64(b))), nil
	case Float4:
		return value.NewFloat(float64(math.Float32frombits(be.Uint32(b)))), nil
	case Float8:
		return value.NewFloat(math.Float64frombits(be.Uint64(b))), nil
	case Bytea:
		return value.FromBytes(value.Bytes, 0, append([]byte(nil), b...)), nil
	case Agtype, JSONB:
		if len(b) == 0 || b[0] != 1 {
			n := -1
			if len(b) > 0 {
				n = int(b[0])
			}
			return value.Value{}, dberr.New(dberr.InvalidBinary, "unsupported %s version number %d", t.Name, n)
		}
		return parseUTF8(t, b[1:])
	case Text, Varchar, Name, Unknown, Bpchar, JSON, Char:
		return parseUTF8(t, b)
	case UUID:
		return value.NewString(uuidText(b)), nil
	case Date:
		d := int32(be.Uint32(b))
		if d == math.MaxInt32 || d == math.MinInt32 {
			return value.Value{}, dberr.New(dberr.FeatureNotSupported, "infinite dates are not supported")
		}
		return value.NewDate(int64(d) + epoch), nil
	case Time:
		us := int64(be.Uint64(b))
		if us < 0 || us >= day*1e6 {
			return fail()
		}
		return value.NewLocalTime(us * 1000), nil
	case Timestamp, Timestamptz:
		us := int64(be.Uint64(b))
		if us == math.MaxInt64 || us == math.MinInt64 {
			return value.Value{}, dberr.New(dberr.FeatureNotSupported, "infinite timestamps are not supported")
		}
		sec, rest := floor(us, 1e6)
		if t == Timestamp {
			return value.NewLocalDateTime(sec+epoch*day, uint32(rest*1000)), nil
		}
		return value.NewDateTime(sec+epoch*day, uint32(rest*1000), 0, ""), nil
	case Interval:
		sec, rest := floor(int64(be.Uint64(b)), 1e6)
		return value.NewDuration(int64(int32(be.Uint32(b[12:]))), int64(int32(be.Uint32(b[8:]))), sec, rest*1000), nil
	case Numeric:
		if v, ok := parseNumericBinary(b); ok {
			return v, nil
		}
		return fail()
	}
	if t.Elem != nil {
		return parseArrayBinary(t, b)
	}
	return value.Value{}, dberr.New(dberr.FeatureNotSupported, "type %s has no binary input", t.Name).WithHint("Send the parameter in text format.")
}

func parseUTF8(t *Type, b []byte) (value.Value, error) {
	if !utf8.Valid(b) {
		return value.Value{}, dberr.New(dberr.InvalidEncoding, `invalid byte sequence for encoding "UTF8"`)
	}
	if strings.IndexByte(string(b), 0) >= 0 {
		return value.Value{}, dberr.New(dberr.InvalidEncoding, `invalid byte sequence for encoding "UTF8": 0x00`)
	}
	return Parse(t, string(b))
}

func parseArrayBinary(t *Type, b []byte) (value.Value, error) {
	be := binary.BigEndian
	fail := func() (value.Value, error) {
		return value.Value{}, dberr.New(dberr.InvalidBinary, "incorrect binary data format for type %s", t.Name)
	}
	if len(b) < 12 {
		return fail()
	}
	dims, oid := be.Uint32(b), be.Uint32(b[8:])
	b = b[12:]
	switch {
	case oid != t.Elem.OID:
		return value.Value{}, dberr.New(dberr.DatatypeMismatch, "binary data has array element type %d instead of expected %d (%s)", oid, t.Elem.OID, t.Elem.Name)
	case dims == 0:
		return value.NewList(), nil
	case dims > 1:
		return value.Value{}, dberr.New(dberr.FeatureNotSupported, "arrays of more than one dimension are not supported")
	case len(b) < 8:
		return fail()
	}
	n := be.Uint32(b)
	b = b[8:]
	if uint64(n)*4 > uint64(len(b)) { // every element has a length of four bytes
		return fail()
	}
	elems := make([]value.Value, 0, n)
	for range n {
		if len(b) < 4 {
			return fail()
		}
		size := int32(be.Uint32(b))
		b = b[4:]
		if size == -1 {
			elems = append(elems, value.Value{})
			continue
		}
		if size < 0 || int(size) > len(b) {
			return fail()
		}
		v, err := ParseBinary(t.Elem, b[:size])
		if err != nil {
			return v, err
		}
		elems, b = append(elems, v), b[size:]
	}
	if len(b) > 0 {
		return fail()
	}
	return value.NewList(elems...), nil
}
