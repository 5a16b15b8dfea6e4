package expr

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

func init() {
	float := func(name, doc string, age bool, f func(float64) float64, aliases ...string) *Def {
		d := &Def{Name: name, Aliases: aliases, Category: "math", Description: doc, Sigs: sigs(sig(TFloat, TNumber)), Raises: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if !a[0].IsNumber() {
					return value.Value{}, wantKind(name, a[0], "a number")
				}
				return value.NewFloat(f(toFloat(a[0]))), nil
			}}
		if age {
			d.AGE = name
		}
		return d
	}
	register(
		&Def{Name: "abs", AGE: "abs", Category: "math", Description: "The absolute value.", Sigs: sigs(sig(TInt, TInt), sig(TFloat, TFloat), sig(TNumber, TNumber)), Raises: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				switch a[0].Kind() {
				case value.Int:
					i := a[0].Int()
					if i == math.MinInt64 {
						return value.Value{}, overflow("abs()")
					}
					return value.NewInt(max(i, -i)), nil
				case value.Float:
					return value.NewFloat(math.Abs(a[0].Float())), nil
				case value.Numeric:
					d := a[0].Decimal()
					d.Negative = false
					return value.NewNumeric(d), nil
				}
				return value.Value{}, wantKind("abs", a[0], "a number")
			}},
		&Def{Name: "sign", AGE: "sign", Category: "math", Description: "-1, 0 or 1.", Sigs: sigs(sig(TInt, TNumber)), Raises: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if !a[0].IsNumber() {
					return value.Value{}, wantKind("sign", a[0], "a number")
				}
				f := toFloat(a[0])
				return value.NewInt(int64(boolInt(f > 0) - boolInt(f < 0))), nil
			}},
		float("ceil", "The least whole number that is not below, as a float.", true, math.Ceil, "ceiling"),
		float("floor", "The greatest whole number that is not above, as a float.", true, math.Floor),
		float("sqrt", "The square root.", true, math.Sqrt),
		float("exp", "e to the power.", true, math.Exp),
		float("log", "The natural logarithm.", true, math.Log, "ln"),
		float("log10", "The decimal logarithm.", true, math.Log10),
		float("sin", "The sine.", true, math.Sin),
		float("cos", "The cosine.", true, math.Cos),
		float("tan", "The tangent.", true, math.Tan),
		float("cot", "The cotangent.", true, func(x float64) float64 { return 1 / math.Tan(x) }),
		float("asin", "The arcsine.", true, math.Asin),
		float("acos", "The arccosine.", true, math.Acos),
		float("atan", "The arctangent.", true, math.Atan),
		float("sinh", "The hyperbolic sine.", false, math.Sinh),
		float("cosh", "The hyperbolic cosine.", false, math.Cosh),
		float("tanh", "The hyperbolic tangent.", false, math.Tanh),
		float("coth", "The hyperbolic cotangent.", false, func(x float64) float64 { return 1 / math.Tanh(x) }),
		float("degrees", "Radians as degrees.", true, func(x float64) float64 { return x * 180 / math.Pi }),
		float("radians", "Degrees as radians.", true, func(x float64) float64 { return x * math.Pi / 180 }),
		float("haversin", "Half the versine.", false, func(x float64) float64 { return (1 - math.Cos(x)) / 2 }),
		&Def{Name: "atan2", AGE: "atan2", Category: "math", Description: "The angle of a point from its y and x.", Sigs: sigs(sig(TFloat, TNumber, TNumber)), Raises: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				for _, v := range a {
					if !v.IsNumber() {
						return value.Value{}, wantKind("atan2", v, "numbers")
					}
				}
				return value.NewFloat(math.Atan2(toFloat(a[0]), toFloat(a[1]))), nil
			}},
		&Def{Name: "pi", AGE: "pi", Category: "math", Description: "π.", Sigs: sigs(sig(TFloat)),
			kernel: func(c *call, a []value.Value) (value.Value, error) { return value.NewFloat(math.Pi), nil }},
		&Def{Name: "e", AGE: "e", Category: "math", Description: "Euler's number.", Sigs: sigs(sig(TFloat)),
			kernel: func(c *call, a []value.Value) (value.Value, error) { return value.NewFloat(math.E), nil }},
		&Def{Name: "rand", AGE: "rand", Category: "math", Description: "A random float from 0 to below 1.", Vol: Volatile, Sigs: sigs(sig(TFloat)),
			kernel: func(c *call, a []value.Value) (value.Value, error) { return value.NewFloat(rand.Float64()), nil }},
		&Def{Name: "round", AGE: "round", Category: "math", Raises: true,
			Description: "Rounds to a whole number or to so many decimals, ties by mode: UP, DOWN, CEILING, FLOOR, HALF_UP, HALF_DOWN, HALF_EVEN.",
			Sigs:        sigs(sig(TFloat, TNumber, TNumber, TString).opt(2)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if !a[0].IsNumber() {
					return value.Value{}, wantKind("round", a[0], "a number")
				}
				x := toFloat(a[0])
				if len(a) == 1 { // ties go toward +∞, as Java's Math.round
					f := math.Floor(x)
					if x-f >= 0.5 {
						f++
					}
					return value.NewFloat(f), nil
				}
				precision := a[1]
				if precision.Kind() == value.Float {
					precision, _, _ = toInteger(c, precision)
				}
				if precision.Kind() != value.Int {
					return value.Value{}, wantKind("round", a[1], "an Integer as precision")
				}
				mode := "HALF_UP"
				if len(a) > 2 {
					mode = strings.ToUpper(a[2].Text())
				}
				return roundTo(x, precision.Int(), mode)
			}},
	)
}

var rounders = map[string]apd.Rounder{"UP": apd.RoundUp, "DOWN": apd.RoundDown, "CEILING": apd.RoundCeiling, "FLOOR": apd.RoundFloor,
	"HALF_UP": apd.RoundHalfUp, "HALF_DOWN": apd.RoundHalfDown, "HALF_EVEN": apd.RoundHalfEven}

// roundTo rounds the decimal that a float prints as, so that round(0.285, 2) is 0.29.
func roundTo(x float64, precision int64, mode string) (value.Value, error) {
	r, ok := rounders[mode]
	if !ok {
		return value.Value{}, dberr.New(dberr.ArgumentError, "unknown rounding mode %q", mode).WithToken("InvalidArgumentValue").
			WithHint("Use UP, DOWN, CEILING, FLOOR, HALF_UP, HALF_DOWN or HALF_EVEN.")
	}
	if math.IsNaN(x) || math.IsInf(x, 0) || precision > 324 {
		return value.NewFloat(x), nil
	}
	if precision < -308 {
		return value.NewFloat(0), nil
	}
	d := shortest(x)
	ctx := apd.BaseContext
	ctx.Rounding, ctx.Precision, ctx.Traps = r, 800, 0
	var out apd.Decimal
	if _, err := ctx.Quantize(&out, d, int32(-precision)); err != nil {
		return value.NewFloat(x), nil
	}
	f, _ := out.Float64()
	return value.NewFloat(f), nil
}
