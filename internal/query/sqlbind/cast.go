package sqlbind

import (
	"math"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// castMode says how far a coercion may go.
type castMode uint8

const (
	implicit castMode = iota
	explicit
)

func (b *binder) typeName(t *sql.TypeName) *sqltype.Type {
	name := strings.ToLower(t.Name.Last())
	for range t.Array {
		name += "[]"
		break
	}
	x := sqltype.ByName(name)
	if x == nil {
		b.fail(t, dberr.UndefinedObject, "type %q does not exist", t.Name.Last())
	}
	return x
}

func isText(t *sqltype.Type) bool {
	switch t {
	case sqltype.Text, sqltype.Varchar, sqltype.Bpchar, sqltype.Name, sqltype.Char:
		return true
	}
	return false
}

func isInt(t *sqltype.Type) bool {
	switch t {
	case sqltype.Int2, sqltype.Int4, sqltype.Int8, sqltype.OID, sqltype.Regclass, sqltype.Regtype, sqltype.Regnamespc, sqltype.Regproc:
		return true
	}
	return false
}

func isFloat(t *sqltype.Type) bool { return t == sqltype.Float4 || t == sqltype.Float8 }

func isNumber(t *sqltype.Type) bool { return isInt(t) || isFloat(t) || t == sqltype.Numeric }

// rank orders the number types by how much they hold.
func rank(t *sqltype.Type) int {
	switch t {
	case sqltype.Int2:
		return 1
	case sqltype.Int4:
		return 2
	case sqltype.Int8, sqltype.OID, sqltype.Regclass, sqltype.Regtype:
		return 3
	case sqltype.Numeric:
		return 4
	case sqltype.Float4:
		return 5
	case sqltype.Float8:
		return 6
	}
	return 0
}

// coerce makes x a value of type t, or fails.
func (b *binder) coerce(n sql.Node, x texpr, t *sqltype.Type, mode castMode) texpr {
	if x.param > 0 {
		switch was := b.params[x.param-1]; {
		case was == nil || was == sqltype.Unknown:
			b.params[x.param-1] = t
			return texpr{e: x.e, t: t}
		default:
			x.t = was
		}
	}
	if x.t == t {
		return x
	}
	if x.t == sqltype.Unknown {
		if c, ok := x.e.(*expr.Const); ok {
			if c.V.IsNull() {
				return texpr{e: c, t: t}
			}
			var v value.Value
			var err error
			if isReg(t) {
				v, err = b.regIn(t, c.V.Str())
			} else {
				v, err = sqltype.Parse(t, c.V.Str())
			}
			b.check(n, err)
			return texpr{e: &expr.Const{V: v}, t: t}
		}
		x.t = sqltype.Text
		if x.t == t {
			return x
		}
	}
	f := castFunc(x.t, t, mode)
	switch {
	case isReg(x.t) && isText(t) && mode == explicit:
		from := x.t
		f = func(v value.Value) (value.Value, error) {
			if v.Kind() == value.Int {
				if name, ok := b.cat.RegName(from, v.Int()); ok {
					return value.NewString(name), nil
				}
			}
			text, err := sqltype.AppendText(nil, from, v)
			return value.NewString(string(text)), err
		}
	case isReg(t) && isText(x.t) && mode == explicit:
		f = func(v value.Value) (value.Value, error) { return b.regIn(t, v.Str()) }
	}
	if f == nil {
		switch {
		case mode == explicit:
			b.fail(n, dberr.CannotCoerce, "cannot cast type %s to %s", x.t.Name, t.Name)
		case t == sqltype.Bool:
			b.fail(n, dberr.DatatypeMismatch, "argument must be type boolean, not type %s", x.t.Name)
		}
		b.fail(n, dberr.DatatypeMismatch, "an expression of type %s is needed here, not of type %s", t.Name, x.t.Name)
	}
	return texpr{e: b.call(x.t.Name+"::"+t.Name, false, func(a []value.Value) (value.Value, error) { return f(a[0]) }, x.e), t: t}
}

// isReg reports whether a type's names are known to the catalog alone.
func isReg(t *sqltype.Type) bool { return t == sqltype.Regclass || t == sqltype.Regnamespc }

func (b *binder) regIn(t *sqltype.Type, s string) (value.Value, error) {
	if oid, ok := b.cat.RegOID(t, strings.TrimSpace(s)); ok {
		return value.NewInt(oid), nil
	}
	return sqltype.Parse(t, s)
}

type castFn func(v value.Value) (value.Value, error)

func same(v value.Value) (value.Value, error) { return v, nil }

// castFunc returns the conversion between two types, nil if there is none in the mode.
func castFunc(from, to *sqltype.Type, mode castMode) castFn {
	textIn := func(v value.Value) (value.Value, error) { return sqltype.Parse(to, v.Str()) }
	textOut := func(v value.Value) (value.Value, error) {
		b, err := sqltype.AppendText(nil, from, v)
		return value.NewString(string(b)), err
	}
	switch {
	case isText(from) && isText(to), from == sqltype.Void:
		return same
	case from == sqltype.Agtype:
		return fromAgtype(to, mode)
	case to == sqltype.Agtype:
		return toAgtype(from, mode)
	case isInt(from) && isInt(to) || isInt(from) && to == sqltype.Graphid && mode == explicit || from == sqltype.Graphid && to == sqltype.Int8 && mode == explicit:
		if rank(to) < rank(from) && mode == implicit {
			return nil
		}
		return func(v value.Value) (value.Value, error) { return intRange(v.Int(), to) }
	case isInt(from) && isFloat(to):
		return func(v value.Value) (value.Value, error) { return value.NewFloat(float64(v.Int())), nil }
	case isInt(from) && to == sqltype.Numeric:
		return func(v value.Value) (value.Value, error) {
			b, _ := sqltype.AppendText(nil, from, v)
			return sqltype.Parse(sqltype.Numeric, string(b))
		}
	case isFloat(from) && isFloat(to):
		return same
	case isFloat(from) && isInt(to) && mode == explicit:
		return func(v value.Value) (value.Value, error) { return floatToInt(v.Float(), to) }
	case from == sqltype.Numeric && isFloat(to), from == sqltype.Numeric && isInt(to) && mode == explicit, isFloat(from) && to == sqltype.Numeric && mode == explicit:
		return func(v value.Value) (value.Value, error) {
			b, err := sqltype.AppendText(nil, from, v)
			if err != nil {
				return v, err
			}
			if !isInt(to) {
				return sqltype.Parse(to, string(b))
			}
			return numericToInt(v, to)
		}
	case from == sqltype.Date && (to == sqltype.Timestamp || to == sqltype.Timestamptz):
		return func(v value.Value) (value.Value, error) {
			if to == sqltype.Timestamptz {
				return value.NewDateTime(v.Days()*86400, 0, 0, ""), nil
			}
			return value.NewLocalDateTime(v.Days()*86400, 0), nil
		}
	case from == sqltype.Timestamp && to == sqltype.Timestamptz:
		return func(v value.Value) (value.Value, error) {
			sec, ns, _, _ := v.DateTimeParts()
			return value.NewDateTime(sec, ns, 0, ""), nil
		}
	case (from == sqltype.Timestamp || from == sqltype.Timestamptz) && (to == sqltype.Date || to == sqltype.Time || to == sqltype.Timestamp) && mode == explicit:
		return func(v value.Value) (value.Value, error) {
			sec, ns, _, _ := v.DateTimeParts()
			rest := (sec%86400 + 86400) % 86400
			switch to {
			case sqltype.Date:
				return value.NewDate((sec - rest) / 86400), nil
			case sqltype.Time:
				return value.NewLocalTime(rest*1e9 + int64(ns)), nil
			}
			return value.NewLocalDateTime(sec, ns), nil
		}
	case from == sqltype.Bool && to == sqltype.Int4 && mode == explicit:
		return func(v value.Value) (value.Value, error) { return value.NewInt(int64(v.Word())), nil }
	case isInt(from) && to == sqltype.Bool && mode == explicit:
		return func(v value.Value) (value.Value, error) { return value.NewBool(v.Int() != 0), nil }
	case (from == sqltype.JSON || from == sqltype.JSONB) && (to == sqltype.JSON || to == sqltype.JSONB):
		return same
	case isText(to) && mode == explicit:
		return textOut
	case isText(from) && mode == explicit:
		return textIn
	case from.Elem != nil && to.Elem != nil:
		f := castFunc(from.Elem, to.Elem, mode)
		if from.Elem == to.Elem {
			f = same
		}
		if f == nil {
			return nil
		}
		return func(v value.Value) (value.Value, error) {
			out := make([]value.Value, v.Len())
			for i := range out {
				x := v.At(i)
				if !x.IsNull() {
					var err error
					if x, err = f(x); err != nil {
						return x, err
					}
				}
				out[i] = x
			}
			return value.NewList(out...), nil
		}
	}
	return nil
}

func intRange(i int64, t *sqltype.Type) (value.Value, error) {
	switch {
	case t == sqltype.Int2 && i != int64(int16(i)):
		return value.Value{}, dberr.New(dberr.NumericOutOfRange, "smallint out of range")
	case t == sqltype.Int4 && i != int64(int32(i)):
		return value.Value{}, dberr.New(dberr.NumericOutOfRange, "integer out of range")
	}
	return value.NewInt(i), nil
}

func floatToInt(f float64, t *sqltype.Type) (value.Value, error) {
	r := math.RoundToEven(f)
	if math.IsNaN(f) || r < -(1<<63) || r >= 1<<63 {
		return value.Value{}, dberr.New(dberr.NumericOutOfRange, "%s out of range", t.Name)
	}
	return intRange(int64(r), t)
}

// numericToInt rounds half away from zero.
func numericToInt(v value.Value, t *sqltype.Type) (value.Value, error) {
	r, err := roundNumeric(v, "round", 0)
	if err != nil {
		return r, err
	}
	i, err := r.Decimal().Int64()
	if err != nil {
		return value.Value{}, dberr.New(dberr.NumericOutOfRange, "%s out of range", t.Name)
	}
	return intRange(i, t)
}

// toAgtype is the cast of another type to agtype.
func toAgtype(from *sqltype.Type, mode castMode) castFn {
	switch {
	case from == sqltype.Bool || isNumber(from) || from == sqltype.Graphid:
		return same
	case from == sqltype.JSON || from == sqltype.JSONB:
		return func(v value.Value) (value.Value, error) { return value.ParseAgtype(v.Str()) }
	case isText(from) && mode == explicit:
		return func(v value.Value) (value.Value, error) { return value.ParseAgtype(v.Str()) }
	case from == sqltype.Date, from == sqltype.Timestamp, from == sqltype.Timestamptz, from.Elem != nil && mode == explicit, from == sqltype.Record && mode == explicit:
		return same
	}
	return nil
}

// fromAgtype is the cast of agtype to another type. Where AGE has no cast and a sensible one exists, there is one.
func fromAgtype(to *sqltype.Type, mode castMode) castFn {
	bad := func(v value.Value) error {
		return dberr.New(dberr.CannotCoerce, "cannot cast agtype %s to type %s", expr.KindName(v.Kind()), to.Name)
	}
	switch {
	case to == sqltype.Bool:
		return func(v value.Value) (value.Value, error) {
			switch v.Kind() {
			case value.Bool:
				return v, nil
			case value.String:
				return sqltype.Parse(sqltype.Bool, v.Str())
			case value.Int:
				return value.NewBool(v.Int() != 0), nil
			}
			return v, bad(v)
		}
	case mode == implicit && to != sqltype.Graphid && to != sqltype.Int8 && to != sqltype.Float8 && to != sqltype.Text:
		return nil
	case isInt(to) || to == sqltype.Graphid:
		return func(v value.Value) (value.Value, error) {
			switch v.Kind() {
			case value.Int:
				return intRange(v.Int(), to)
			case value.Float:
				return floatToInt(v.Float(), to)
			case value.String:
				return sqltype.Parse(to, v.Str())
			case value.Bool:
				return value.NewInt(int64(v.Word())), nil
			case value.Node, value.Rel:
				if to == sqltype.Graphid {
					return value.NewInt(int64(v.ID())), nil
				}
			case value.Numeric:
				return numericToInt(v, to)
			}
			return v, bad(v)
		}
	case isFloat(to):
		return func(v value.Value) (value.Value, error) {
			switch v.Kind() {
			case value.Float:
				return v, nil
			case value.Int:
				return value.NewFloat(float64(v.Int())), nil
			case value.String:
				return sqltype.Parse(to, v.Str())
			case value.Numeric:
				return sqltype.Parse(to, string(value.AppendNumeric(nil, v)))
			}
			return v, bad(v)
		}
	case to == sqltype.Numeric:
		return func(v value.Value) (value.Value, error) {
			switch v.Kind() {
			case value.Numeric:
				return v, nil
			case value.Int, value.Float:
				return sqltype.Parse(to, string(value.AppendAgtype(nil, v)))
			case value.String:
				return sqltype.Parse(to, v.Str())
			}
			return v, bad(v)
		}
	case isText(to):
		return func(v value.Value) (value.Value, error) {
			if v.Kind() == value.String {
				return v, nil
			}
			return value.NewString(string(value.AppendAgtypeOptions(nil, v, value.TextOptions{Plain: true}))), nil
		}
	case to == sqltype.JSON || to == sqltype.JSONB:
		return func(v value.Value) (value.Value, error) {
			return value.NewString(string(value.AppendJSON(nil, v))), nil
		}
	case to.Elem != nil:
		f := castFunc(sqltype.Agtype, to.Elem, explicit)
		if f == nil {
			return nil
		}
		return func(v value.Value) (value.Value, error) {
			if v.Kind() != value.List {
				return v, bad(v)
			}
			out := make([]value.Value, v.Len())
			for i := range out {
				if x := v.At(i); !x.IsNull() {
					var err error
					if out[i], err = f(x); err != nil {
						return v, err
					}
				}
			}
			return value.NewList(out...), nil
		}
	}
	return nil
}

// common returns the type that several expressions are brought to, as in UNION and CASE.
func (b *binder) common(n sql.Node, xs []texpr) *sqltype.Type {
	var t *sqltype.Type
	for _, x := range xs {
		xt := x.t
		if x.param > 0 && b.params[x.param-1] != nil {
			xt = b.params[x.param-1]
		}
		switch {
		case xt == sqltype.Unknown || xt == t:
		case t == nil:
			t = xt
		case isNumber(t) && isNumber(xt):
			if rank(xt) > rank(t) {
				t = xt
			}
		case isText(t) && isText(xt):
			t = sqltype.Text
		case t == sqltype.Agtype && castFunc(xt, t, implicit) != nil:
		case xt == sqltype.Agtype && castFunc(t, xt, implicit) != nil:
			t = xt
		default:
			b.fail(n, dberr.DatatypeMismatch, "types %s and %s cannot be matched", t.Name, xt.Name)
		}
	}
	if t == nil {
		return sqltype.Text
	}
	return t
}

// unify brings the operands of an operator to one type.
func (b *binder) unify(n sql.Node, l, r texpr) (texpr, texpr) {
	t := b.common(n, []texpr{l, r})
	return b.coerce(n, l, t, implicit), b.coerce(n, r, t, implicit)
}
