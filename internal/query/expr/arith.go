package expr

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/cockroachdb/apd/v3"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/temporal"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

func overflow(what string) error {
	return dberr.New(dberr.NumericOutOfRange, "integer overflow in %s", what).WithToken("IntegerOverflow")
}

func divisionByZero() error { return dberr.New(dberr.DivisionByZero, "division by zero") }

// binary compiles operators whose operands are always both evaluated.
func (c *comp) binary(e *Binary) (evalFn, error) {
	l, err := c.child(e.L)
	if err != nil {
		return nil, err
	}
	r, err := c.child(e.R)
	if err != nil {
		return nil, err
	}
	switch e.Op {
	case OpXor:
		return xorKernel(l, r), nil
	case OpEq, OpNe, OpLt, OpLe, OpGt, OpGe:
		return compareKernel(e.Op, l, r), nil
	case OpIn:
		return c.inKernel(e, l, r), nil
	case OpStartsWith, OpEndsWith, OpContains:
		return stringTest(e.Op, l, r), nil
	case OpRegex:
		return c.regex(l, r), nil
	case OpAdd, OpSub, OpMul, OpDiv, OpMod, OpPow, OpConcat:
		return arithKernel(e.Op, l, r), nil
	}
	return nil, dberr.New(dberr.Internal, "expr: unknown operator %v", e.Op)
}

func arithKernel(op Op, l, r child) evalFn {
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
		kx, okx := x.Uniform()
		ky, oky := y.Uniform()
		if okx && oky {
			switch {
			case kx == value.Int && ky == value.Int && op != OpPow && op != OpConcat:
				return out, intLoop(op, x.Words[:n], y.Words[:n], out.Fill(value.Int, n))
			case (kx == value.Float || kx == value.Int) && (ky == value.Float || ky == value.Int) && op != OpConcat:
				floatLoop(op, x.Words[:n], y.Words[:n], kx == value.Int, ky == value.Int, out.Fill(value.Float, n))
				return out, nil
			}
		}
		out.Reset()
		for i := range n {
			if x.Kinds[i] == value.Int && y.Kinds[i] == value.Int && op <= OpMod {
				v, err := intOp(op, int64(x.Words[i]), int64(y.Words[i]))
				if err != nil {
					return nil, err
				}
				out.AppendWord(value.Int, uint64(v))
				continue
			}
			v, err := arith(op, x.Value(i), y.Value(i), f)
			if err != nil {
				return nil, err
			}
			f.c.walk(len(v.Raw()))
			f.c.room(len(v.Raw()) + len(out.Arena))
			out.Append(v)
		}
		return out, nil
	}
}

// intLoop is the uniform path: overflow is collected in one word and judged after the loop.
func intLoop(op Op, x, y, out []uint64) error {
	var bad uint64
	y, out = y[:len(x)], out[:len(x)]
	switch op {
	case OpAdd:
		for i, a := range x {
			c := a + y[i]
			bad |= (c ^ a) & (c ^ y[i])
			out[i] = c
		}
		if bad>>63 != 0 {
			return overflow("addition")
		}
	case OpSub:
		for i, a := range x {
			c := a - y[i]
			bad |= (a ^ y[i]) & (c ^ a)
			out[i] = c
		}
		if bad>>63 != 0 {
			return overflow("subtraction")
		}
	case OpMul:
		for i, a := range x {
			c, err := intOp(OpMul, int64(a), int64(y[i]))
			if err != nil {
				return err
			}
			out[i] = uint64(c)
		}
	default:
		for i, a := range x {
			c, err := intOp(op, int64(a), int64(y[i]))
			if err != nil {
				return err
			}
			out[i] = uint64(c)
		}
	}
	return nil
}

func intOp(op Op, a, b int64) (int64, error) {
	switch op {
	case OpAdd:
		c := a + b
		if (c^a)&(c^b) < 0 {
			return 0, overflow("addition")
		}
		return c, nil
	case OpSub:
		c := a - b
		if (a^b)&(c^a) < 0 {
			return 0, overflow("subtraction")
		}
		return c, nil
	case OpMul:
		hi, lo := bits.Mul64(uint64(a), uint64(b))
		hi -= uint64(a>>63)&uint64(b) + uint64(b>>63)&uint64(a) // signed high word
		if hi != uint64(int64(lo)>>63) {
			return 0, overflow("multiplication")
		}
		return int64(lo), nil
	case OpDiv:
		if b == 0 {
			return 0, divisionByZero()
		}
		if b == -1 && a == math.MinInt64 {
			return 0, overflow("division")
		}
		return a / b, nil
	}
	if b == 0 {
		return 0, divisionByZero()
	}
	if b == -1 {
		return 0, nil
	}
	return a % b, nil
}

func asFloat(w uint64, isInt bool) float64 {
	if isInt {
		return float64(int64(w))
	}
	return math.Float64frombits(w)
}

func floatLoop(op Op, x, y []uint64, xInt, yInt bool, out []uint64) {
	y, out = y[:len(x)], out[:len(x)]
	if !xInt && !yInt {
		switch op {
		case OpAdd:
			for i := range x {
				out[i] = math.Float64bits(math.Float64frombits(x[i]) + math.Float64frombits(y[i]))
			}
			return
		case OpSub:
			for i := range x {
				out[i] = math.Float64bits(math.Float64frombits(x[i]) - math.Float64frombits(y[i]))
			}
			return
		case OpMul:
			for i := range x {
				out[i] = math.Float64bits(math.Float64frombits(x[i]) * math.Float64frombits(y[i]))
			}
			return
		case OpDiv:
			for i := range x {
				out[i] = math.Float64bits(math.Float64frombits(x[i]) / math.Float64frombits(y[i]))
			}
			return
		}
	}
	for i := range x {
		out[i] = math.Float64bits(floatOp(op, asFloat(x[i], xInt), asFloat(y[i], yInt)))
	}
}

func floatOp(op Op, a, b float64) float64 {
	switch op {
	case OpAdd:
		return a + b
	case OpSub:
		return a - b
	case OpMul:
		return a * b
	case OpDiv:
		return a / b
	case OpMod:
		return math.Mod(a, b)
	}
	return math.Pow(a, b)
}

func toFloat(v value.Value) float64 {
	switch v.Kind() {
	case value.Int:
		return float64(v.Int())
	case value.Float:
		return v.Float()
	}
	f, _ := v.Decimal().Float64()
	return f
}

// arith is the generic path of arithmetic and concatenation over single values.
func arith(op Op, a, b value.Value, f *frame) (value.Value, error) {
	ka, kb := a.Kind(), b.Kind()
	if op == OpAdd || op == OpConcat {
		// A list takes an element from either side, null too; null itself absorbs.
		if ka == value.Null || kb == value.Null {
			return value.Value{}, nil
		}
		if ka == value.List || kb == value.List {
			return concatLists(a, b, f), nil
		}
	}
	if ka == value.Null || kb == value.Null {
		return value.Value{}, nil
	}
	if a.IsNumber() && b.IsNumber() && op != OpConcat {
		switch {
		case ka == value.Int && kb == value.Int && op != OpPow:
			i, err := intOp(op, a.Int(), b.Int())
			return value.NewInt(i), err
		case (ka == value.Numeric || kb == value.Numeric) && op != OpPow:
			return numericOp(op, a, b)
		}
		return value.NewFloat(floatOp(op, toFloat(a), toFloat(b))), nil
	}
	switch op {
	case OpAdd, OpConcat:
		switch {
		case ka == value.String && kb == value.String:
			f.c.room(len(a.Str()) + len(b.Str()))
			f.c.buf = append(append(f.c.buf[:0], a.Str()...), b.Str()...)
			return value.NewStringBytes(f.c.buf), nil
		case ka == value.String && concatenates(kb) && op == OpAdd:
			f.c.buf = appendText(append(f.c.buf[:0], a.Str()...), b)
			return value.NewStringBytes(f.c.buf), nil
		case kb == value.String && concatenates(ka) && op == OpAdd:
			f.c.buf = append(appendText(f.c.buf[:0], a), b.Str()...)
			return value.NewStringBytes(f.c.buf), nil
		case ka == value.Bytes && kb == value.Bytes:
			f.c.room(len(a.Raw()) + len(b.Raw()))
			f.c.buf = append(append(f.c.buf[:0], a.Raw()...), b.Raw()...)
			return value.NewBytes(f.c.buf), nil
		case ka == value.Map && kb == value.Map:
			m := &f.c.mb
			m.Reset()
			for i := range a.Len() {
				m.Put(a.Entry(i))
			}
			for i := range b.Len() {
				m.Put(b.Entry(i))
			}
			return f.c.mapValue(), nil
		}
		if op == OpAdd {
			if v, ok, err := temporal.Add(a, b, 1); ok {
				return v, err
			}
			if v, ok, err := temporal.Add(b, a, 1); ok {
				return v, err
			}
		}
	case OpSub:
		if v, ok, err := temporal.Add(a, b, -1); ok {
			return v, err
		}
	case OpMul, OpDiv:
		if ka == value.Duration && b.IsNumber() {
			x := toFloat(b)
			if op == OpDiv {
				if x == 0 {
					return value.Value{}, divisionByZero()
				}
				x = 1 / x
				if kb == value.Int {
					return temporal.Scale(a, 1, float64(b.Int()))
				}
			}
			return temporal.Scale(a, x, 1)
		}
		if kb == value.Duration && a.IsNumber() && op == OpMul {
			return temporal.Scale(b, toFloat(a), 1)
		}
	}
	return value.Value{}, dberr.New(dberr.TypeError, "%s cannot be applied to %s and %s", op, KindName(ka), KindName(kb)).WithToken("InvalidArgumentType")
}

// concatenates reports whether a value of the kind joins a string by its text.
func concatenates(k value.Kind) bool {
	return k == value.Int || k == value.Float || k == value.Numeric || k == value.Bool || k.IsTemporal()
}

func concatLists(a, b value.Value, f *frame) value.Value {
	f.c.lb.Reset()
	for _, v := range [...]value.Value{a, b} {
		if v.Kind() != value.List {
			f.c.add(v)
			continue
		}
		for _, e := range v.All() {
			f.c.add(e)
		}
	}
	return f.c.list()
}

// numericOp computes with decimals: exact, but for division, which keeps 20 digits after the greater scale.
func numericOp(op Op, a, b value.Value) (value.Value, error) {
	x, y := a.Decimal(), b.Decimal()
	if a.Kind() == value.Float {
		x = shortest(a.Float())
	}
	if b.Kind() == value.Float {
		y = shortest(b.Float())
	}
	ctx := apd.BaseContext
	ctx.MaxExponent, ctx.MinExponent = 131072, -131072
	ctx.Traps = 0
	r := new(apd.Decimal)
	var err error
	switch op {
	case OpAdd:
		_, err = ctx.Add(r, x, y)
	case OpSub:
		_, err = ctx.Sub(r, x, y)
	case OpMul:
		_, err = ctx.Mul(r, x, y)
	default:
		if y.IsZero() {
			return value.Value{}, divisionByZero()
		}
		if x.Form != apd.Finite || y.Form != apd.Finite {
			return value.NewFloat(floatOp(op, toFloat(a), toFloat(b))), nil
		}
		if op == OpMod {
			r = decimalRem(x, y)
			break
		}
		digits := max(x.NumDigits()+int64(x.Exponent)-y.NumDigits()-int64(y.Exponent), 0) + 1
		scale := int64(max(-x.Exponent, -y.Exponent, 16))
		ctx.Precision = uint32(digits + scale + 1)
		if _, err = ctx.Quo(r, x, y); err == nil {
			ctx.Precision += 4
			_, err = ctx.Quantize(r, r, int32(-scale))
		}
	}
	if err != nil || r.Form == apd.Finite && (r.Exponent > 131072 || r.Exponent < -16383) {
		return value.Value{}, dberr.New(dberr.NumericOutOfRange, "value overflows numeric format")
	}
	return value.NewNumeric(r), nil
}

// decimalRem is x − y·trunc(x/y) of finite decimals, y not 0.
func decimalRem(x, y *apd.Decimal) *apd.Decimal {
	exp := min(x.Exponent, y.Exponent)
	scaled := func(d *apd.Decimal) *big.Int {
		c := new(big.Int).Set(d.Coeff.MathBigInt())
		if n := d.Exponent - exp; n > 0 {
			c.Mul(c, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
		}
		return c
	}
	m := new(big.Int).Rem(scaled(x), scaled(y))
	r := &apd.Decimal{Negative: x.Negative && m.Sign() != 0, Exponent: exp}
	r.Coeff.SetMathBigInt(m)
	return r
}

// shortest is the decimal that a float prints as, which is what PostgreSQL casts it to.
func shortest(f float64) *apd.Decimal {
	d := new(apd.Decimal)
	if _, err := d.SetFloat64(f); err != nil {
		d.Form = apd.NaN
	}
	return d
}

func (c *comp) sign(neg bool, x child) evalFn {
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		col, err := x.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		out.Reset()
		for i := range count(b, sel) {
			switch k := col.Kinds[i]; {
			case k == value.Null:
				out.AppendNull()
			case k == value.Int && neg:
				w := col.Words[i]
				if w == 1<<63 {
					return nil, overflow("negation")
				}
				out.AppendWord(value.Int, -w)
			case k == value.Float && neg:
				out.AppendWord(value.Float, col.Words[i]^1<<63)
			case k == value.Numeric && neg:
				d := col.Value(i).Decimal()
				d.Negative = !d.Negative && !d.IsZero()
				out.Append(value.NewNumeric(d))
			case k == value.Duration && neg:
				v, err := temporal.Scale(col.Value(i), -1, 1)
				if err != nil {
					return nil, err
				}
				out.Append(v)
			case !neg && (col.Value(i).IsNumber() || k == value.Duration):
				out.AppendFrom(col, i)
			default:
				return nil, typeError(col.Value(i), "a number")
			}
		}
		return out, nil
	}
}
