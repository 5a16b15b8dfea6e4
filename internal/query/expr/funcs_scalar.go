package expr

import (
	"crypto/rand"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"github.com/hedgerowdb/hedgerow/internal/value"
)

var tScalar = Type{Kinds: Any.Kinds &^ (TList.Kinds | TMap.Kinds | TEntity.Kinds | TPath.Kinds)}

func init() {
	register(
		&Def{Name: "coalesce", AGE: "coalesce", Category: "scalar", Description: "The first argument that is not null.", Sigs: sigs(sig(Any, Any).many()), NullIn: true, lazy: true},
		&Def{Name: "nullIf", Category: "scalar", Description: "Null if the arguments are equal, else the first.", Sigs: sigs(sig(Any, Any, Any)), NullIn: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if value.Equal(a[0], a[1]) == value.True {
					return value.Value{}, nil
				}
				return a[0], nil
			}},
		&Def{Name: "exists", AGE: "exists", Category: "predicate", Description: "Whether a property is there.", Sigs: sigs(sig(TBool, Any)), NullIn: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) { return value.NewBool(!a[0].IsNull()), nil }},
		&Def{Name: "isEmpty", AGE: "isEmpty", Category: "predicate", Description: "Whether a string, list or map has nothing in it.", Sigs: sigs(sig(TBool, Type{Kinds: TString.Kinds | TList.Kinds | TMap.Kinds})), Raises: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				switch a[0].Kind() {
				case value.String:
					return value.NewBool(len(a[0].Str()) == 0), nil
				case value.List, value.Map:
					return value.NewBool(a[0].Len() == 0), nil
				}
				return value.Value{}, wantKind("isEmpty", a[0], "a String, List or Map")
			}},
		&Def{Name: "isNaN", Category: "predicate", Description: "Whether a number is NaN.", Sigs: sigs(sig(TBool, TNumber)), Raises: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if !a[0].IsNumber() {
					return value.Value{}, wantKind("isNaN", a[0], "a number")
				}
				f := toFloat(a[0])
				return value.NewBool(f != f), nil
			}},
		&Def{Name: "valueType", Category: "scalar", Description: "The type of a value, as GQL writes it.", Sigs: sigs(sig(TString, Any)), NullIn: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				return c.str(value.TypeOf(a[0], c.tick).String()), nil
			}},
		&Def{Name: "timestamp", AGE: "timestamp", Category: "scalar", Description: "Milliseconds since 1970-01-01T00:00Z, fixed for the statement.", Vol: Statement, Sigs: sigs(sig(TInt)),
			kernel: func(c *call, a []value.Value) (value.Value, error) { return value.NewInt(c.env.Now.UnixMilli()), nil }},
		&Def{Name: "randomUUID", Category: "scalar", Description: "A random UUID.", Vol: Volatile, Sigs: sigs(sig(TString)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				var u [16]byte
				rand.Read(u[:])
				u[6], u[8] = u[6]&0x0F|0x40, u[8]&0x3F|0x80
				s := hex.EncodeToString(u[:])
				return c.str(s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]), nil
			}},
		&Def{Name: "::numeric", AGE: "numeric", Category: "conversion", Description: "A cast to an exact decimal.", Sigs: sigs(sig(Type{Kinds: 1 << value.Numeric}, tScalar)), Raises: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				switch a[0].Kind() {
				case value.Int:
					return value.NewNumeric(apd.New(a[0].Int(), 0)), nil
				case value.Float:
					return value.NewNumeric(shortest(a[0].Float())), nil
				case value.Numeric:
					return a[0], nil
				case value.String:
					return value.ParseNumeric(a[0].Str())
				}
				return value.Value{}, argError("numeric", a[0])
			}},
	)
	for _, conv := range []struct {
		name, doc string
		t         Type
		f         func(c *call, v value.Value) (value.Value, bool, error)
	}{
		{"toInteger", "an integer", TInt, toInteger},
		{"toFloat", "a float", TFloat, toFloatValue},
		{"toBoolean", "a boolean", TBool, toBoolean},
		{"toString", "a string", TString, toStringValue},
	} {
		one := func(strict bool) kernel {
			name := conv.name
			if !strict {
				name += "OrNull"
			}
			return func(c *call, a []value.Value) (value.Value, error) {
				v, ok, err := conv.f(c, a[0])
				switch {
				case !strict && (err != nil || !ok):
					return value.Value{}, nil
				case err != nil:
					return value.Value{}, err
				case !ok:
					e := argError(name, a[0])
					e.AGEText = name + "() only supports scalar arguments"
					return value.Value{}, e
				}
				return v, nil
			}
		}
		register(
			&Def{Name: conv.name, AGE: conv.name, Category: "conversion", Description: "Converts to " + conv.doc + "; null for a string that is none.", Sigs: sigs(sig(conv.t, Any)), Raises: true, kernel: one(true)},
			&Def{Name: conv.name + "OrNull", Category: "conversion", Description: "Converts to " + conv.doc + "; null for what is none.", Sigs: sigs(sig(conv.t, Any)), kernel: one(false)},
			&Def{Name: conv.name + "List", AGE: conv.name + "List", Category: "conversion", Description: "Converts each element of a list to " + conv.doc + "; null for what is none.",
				Sigs: sigs(sig(ListOf(conv.t), TList)), Raises: true,
				kernel: func(c *call, a []value.Value) (value.Value, error) {
					if a[0].Kind() != value.List {
						return value.Value{}, wantKind(conv.name+"List", a[0], "a List")
					}
					c.lb.Reset()
					for _, e := range a[0].All() {
						v, ok, err := conv.f(c, e)
						if !ok || err != nil {
							v = value.Value{}
						}
						c.add(v)
					}
					return c.list(), nil
				}},
		)
	}
}

func toInteger(_ *call, v value.Value) (value.Value, bool, error) {
	fromFloat := func(f float64) (value.Value, bool, error) {
		if !(f >= -1<<63 && f < 1<<63) {
			return value.Value{}, true, numberOutOfRange("%s is out of range for an integer", brief(v))
		}
		return value.NewInt(int64(f)), true, nil
	}
	switch v.Kind() {
	case value.Null, value.Int:
		return v, true, nil
	case value.Float:
		return fromFloat(v.Float())
	case value.Numeric:
		var i, frac apd.Decimal
		d := v.Decimal()
		if d.Form != apd.Finite {
			return value.Value{}, true, numberOutOfRange("%s is out of range for an integer", brief(v))
		}
		d.Modf(&i, &frac)
		n, err := i.Int64()
		if err != nil {
			return value.Value{}, true, numberOutOfRange("%s is out of range for an integer", brief(v))
		}
		return value.NewInt(n), true, nil
	case value.Bool:
		return value.NewInt(int64(v.Word())), true, nil
	case value.String:
		s := strings.TrimSpace(v.Str())
		i, err := strconv.ParseInt(s, 10, 64)
		if err == nil {
			return value.NewInt(i), true, nil
		}
		f, ok := parseFloat(s)
		if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
			return value.Value{}, true, nil
		}
		if !strings.ContainsAny(s, ".eE") { // a whole number beyond 64 bits
			return value.Value{}, true, numberOutOfRange("%s is out of range for an integer", brief(v))
		}
		return fromFloat(f)
	}
	return value.Value{}, false, nil
}

// parseFloat reads what Cypher calls a number; Go's further forms (hex, underscores) are none.
func parseFloat(s string) (float64, bool) {
	if s == "" || strings.ContainsAny(s, "_xXpP") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

func toFloatValue(_ *call, v value.Value) (value.Value, bool, error) {
	switch v.Kind() {
	case value.Null, value.Float:
		return v, true, nil
	case value.Int, value.Numeric:
		return value.NewFloat(toFloat(v)), true, nil
	case value.String:
		f, ok := parseFloat(strings.TrimSpace(v.Str()))
		if !ok {
			return value.Value{}, true, nil
		}
		return value.NewFloat(f), true, nil
	}
	return value.Value{}, false, nil
}

func toBoolean(_ *call, v value.Value) (value.Value, bool, error) {
	switch v.Kind() {
	case value.Null, value.Bool:
		return v, true, nil
	case value.Int:
		return value.NewBool(v.Int() != 0), true, nil
	case value.String:
		switch s := strings.TrimSpace(v.Str()); {
		case strings.EqualFold(s, "true"):
			return value.NewBool(true), true, nil
		case strings.EqualFold(s, "false"):
			return value.NewBool(false), true, nil
		}
		return value.Value{}, true, nil
	}
	return value.Value{}, false, nil
}

func toStringValue(c *call, v value.Value) (value.Value, bool, error) {
	switch k := v.Kind(); {
	case k == value.Null || k == value.String:
		return v, true, nil
	case concatenates(k) || k == value.Point || k == value.Bytes:
		c.buf = appendText(c.buf[:0], v)
		return value.NewStringBytes(c.buf), true, nil
	}
	return value.Value{}, false, nil
}

// appendText appends the text that toString gives.
func appendText(dst []byte, v value.Value) []byte {
	switch k := v.Kind(); {
	case k == value.String:
		return append(dst, v.Str()...)
	case k == value.Float:
		return value.AppendFloat(dst, v.Float())
	case k == value.Numeric:
		return value.AppendNumeric(dst, v)
	case k.IsTemporal():
		return value.AppendTemporal(dst, v)
	case k == value.Point:
		return value.AppendPointText(dst, v)
	}
	return value.AppendTCK(dst, v)
}
