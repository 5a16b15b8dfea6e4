package value

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/cockroachdb/apd/v3"
)

// A Numeric's bytes: form and sign u8, exponent i32, coefficient big-endian. The scale is kept: 1.50 stays 1.50.

const (
	numFinite   = 0
	numNaN      = 1
	numInf      = 2
	numNegative = 4

	// maxNumericExp bounds exponents as PostgreSQL bounds digits, so that no few bytes ask for gigabytes of work.
	maxNumericExp   = 131072
	maxNumericScale = 16383
)

// NewNumeric makes a Numeric.
func NewNumeric(d *apd.Decimal) Value {
	var b [5]byte
	switch d.Form {
	case apd.Finite:
	case apd.Infinite:
		b[0] = numInf
	default:
		b[0] = numNaN
	}
	if d.Negative && b[0] != numNaN {
		b[0] |= numNegative
	}
	out := b[:]
	if d.Form == apd.Finite {
		binary.LittleEndian.PutUint32(b[1:], uint32(d.Exponent))
		out = append(out, d.Coeff.Bytes()...)
	}
	return FromBytes(Numeric, 0, append([]byte(nil), out...))
}

// decimal decodes a Numeric; false if its bytes are not one.
func (v Value) decimal() (*apd.Decimal, bool) {
	b := v.Raw()
	if v.kind != Numeric || len(b) < 5 || b[0]&^numNegative > numInf {
		return nil, false
	}
	d := new(apd.Decimal)
	d.Negative = b[0]&numNegative != 0
	switch b[0] &^ numNegative {
	case numNaN:
		d.Form = apd.NaN
	case numInf:
		d.Form = apd.Infinite
	default:
		d.Exponent = int32(binary.LittleEndian.Uint32(b[1:]))
		if d.Exponent > maxNumericExp || d.Exponent < -maxNumericScale {
			return nil, false
		}
		d.Coeff.SetBytes(b[5:])
		if d.Coeff.Sign() == 0 {
			d.Negative = false
		}
	}
	return d, true
}

// Decimal returns any number as an exact decimal. Bytes that are not a Numeric, and other kinds, give NaN.
func (v Value) Decimal() *apd.Decimal {
	switch v.kind {
	case Int:
		return apd.New(v.Int(), 0)
	case Float:
		return floatDecimal(v.Float())
	case Numeric:
		if d, ok := v.decimal(); ok {
			return d
		}
	}
	return &apd.Decimal{Form: apd.NaN}
}

// floatDecimal is exact: every float64 is a finite decimal.
func floatDecimal(f float64) *apd.Decimal {
	d := new(apd.Decimal)
	switch {
	case f != f:
		d.Form = apd.NaN
		return d
	case math.IsInf(f, 0):
		d.Form, d.Negative = apd.Infinite, f < 0
		return d
	}
	d.Negative = f < 0
	m, exp := math.Frexp(math.Abs(f))
	coeff := new(big.Int).SetUint64(uint64(m * (1 << 53)))
	exp -= 53
	if exp >= 0 {
		coeff.Lsh(coeff, uint(exp))
	} else if coeff.Sign() != 0 {
		tz := min(int(coeff.TrailingZeroBits()), -exp)
		coeff.Rsh(coeff, uint(tz))
		exp += tz
		coeff.Mul(coeff, new(big.Int).Exp(big.NewInt(5), big.NewInt(int64(-exp)), nil))
		d.Exponent = int32(exp)
	}
	d.Coeff.SetMathBigInt(coeff)
	return d
}

// cmpIntFloat compares exactly; f is not NaN.
func cmpIntFloat(i int64, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	t := math.Trunc(f)
	if j := int64(t); i != j {
		if i < j {
			return -1
		}
		return 1
	}
	switch {
	case f > t:
		return -1
	case f < t:
		return 1
	}
	return 0
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// isNaN reports whether a number is NaN.
func (v Value) isNaN() bool {
	switch v.kind {
	case Float:
		f := v.Float()
		return f != f
	case Numeric:
		d, ok := v.decimal()
		return !ok || d.Form == apd.NaN
	}
	return false
}

// cmpNumber compares two numbers by mathematical value; neither is NaN.
func cmpNumber(a, b Value) int {
	switch {
	case a.kind == Int && b.kind == Int:
		return cmpInt(a.Int(), b.Int())
	case a.kind == Float && b.kind == Float:
		return cmpFloat(a.Float(), b.Float())
	case a.kind == Int && b.kind == Float:
		return cmpIntFloat(a.Int(), b.Float())
	case a.kind == Float && b.kind == Int:
		return -cmpIntFloat(b.Int(), a.Float())
	}
	return a.Decimal().Cmp(b.Decimal())
}

func cmpInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// intFloor is the largest float64 that is at most i.
func intFloor(i int64) float64 {
	f := float64(i)
	if cmpIntFloat(i, f) < 0 {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return f
}

// numberFloor is the largest float64 that is at most the number, but never −Inf for a finite one; it is not NaN.
func numberFloor(v Value) float64 {
	switch v.kind {
	case Int:
		return intFloor(v.Int())
	case Float:
		return v.Float()
	}
	return decimalFloor(v.Decimal())
}

func decimalFloor(d *apd.Decimal) float64 {
	if d.Form == apd.Infinite {
		return math.Inf(1 - 2*b2i(d.Negative))
	}
	f, _ := d.Float64() // an error tells of overflow or underflow only; f is then ±Inf or near 0
	if math.IsInf(f, 1) {
		return math.MaxFloat64
	}
	if math.IsInf(f, -1) {
		return -math.MaxFloat64
	}
	if d.Cmp(floatDecimal(f)) < 0 {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return max(f, -math.MaxFloat64)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// residual returns x − f exactly.
func residual(x *apd.Decimal, f float64) *apd.Decimal {
	y := floatDecimal(f)
	cx, cy := new(big.Int).Set(x.Coeff.MathBigInt()), y.Coeff.MathBigInt()
	if x.Negative {
		cx.Neg(cx)
	}
	if y.Negative {
		cy.Neg(cy)
	}
	exp := min(x.Exponent, y.Exponent)
	ten := big.NewInt(10)
	if d := x.Exponent - exp; d > 0 {
		cx.Mul(cx, new(big.Int).Exp(ten, big.NewInt(int64(d)), nil))
	}
	if d := y.Exponent - exp; d > 0 {
		cy.Mul(cy, new(big.Int).Exp(ten, big.NewInt(int64(d)), nil))
	}
	cx.Sub(cx, cy)
	r := &apd.Decimal{Negative: cx.Sign() < 0, Exponent: exp}
	r.Coeff.SetMathBigInt(cx.Abs(cx))
	return r
}
