package sqlbind

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

var compareOps = map[string]func(c int) bool{
	"=":  func(c int) bool { return c == 0 },
	"<>": func(c int) bool { return c != 0 },
	"<":  func(c int) bool { return c < 0 },
	"<=": func(c int) bool { return c <= 0 },
	">":  func(c int) bool { return c > 0 },
	">=": func(c int) bool { return c >= 0 },
}

// comparisons are SQL's comparison operators: the total order, null for a null operand (Q1).
var comparisons = func() map[string]*expr.Def {
	out := map[string]*expr.Def{}
	for op, test := range compareOps {
		out[op] = expr.NewFunc(op, false, expr.Pure, func(a []value.Value) (value.Value, error) {
			return value.NewBool(test(value.Compare(a[0], a[1]))), nil
		})
	}
	return out
}()

// compare binds a comparison of two operands.
func (b *binder) compare(n sql.Node, op string, l, r texpr) texpr {
	l, r = b.unify(n, l, r)
	return texpr{e: &expr.Func{Def: comparisons[op], Args: []expr.Expr{l.e, r.e}}, t: sqltype.Bool}
}

var arithmetic = map[string]expr.Op{"+": expr.OpAdd, "-": expr.OpSub, "*": expr.OpMul, "/": expr.OpDiv, "%": expr.OpMod, "^": expr.OpPow}

func (b *binder) noOperator(n sql.Node, op string, l, r texpr) {
	e := dberr.New(dberr.UndefinedFunction, "operator does not exist: %s %s %s", l.t.Name, op, r.t.Name).
		WithHint("No operator matches the given name and argument types. You might need to add explicit type casts.")
	e.Phase = dberr.CompileTime
	panic(fault{e.At(n.Pos(), n.End())})
}

func (b *binder) operator(n sql.Node, o *sql.Operator, l, r texpr) texpr {
	op := o.Name
	if op == "!=" {
		op = "<>"
	}
	if compareOps[op] != nil {
		return b.compare(n, op, l, r)
	}
	if a, ok := arithmetic[op]; ok {
		return b.arithmetic(n, op, a, l, r)
	}
	text := func(x texpr) texpr { return b.coerce(n, x, sqltype.Text, implicit) }
	agtype := func(x texpr) texpr { return b.coerce(n, x, sqltype.Agtype, implicit) }
	switch op {
	case "||":
		if l.t == sqltype.Agtype || r.t == sqltype.Agtype {
			return texpr{e: b.call("|| agtype", false, concatAgtype, agtype(l).e, agtype(r).e), t: sqltype.Agtype}
		}
		if l.t.Elem != nil || r.t.Elem != nil {
			arr := l.t
			if arr.Elem == nil {
				arr = r.t
			}
			side := func(x texpr) texpr {
				if x.t == arr || x.t == sqltype.Unknown && x.param == 0 {
					return b.coerce(n, x, arr, implicit)
				}
				return b.coerce(n, x, arr.Elem, implicit)
			}
			l, r = side(l), side(r)
			many := [2]bool{l.t == arr, r.t == arr}
			return texpr{e: b.call(fmt.Sprint("|| ", many), true, func(a []value.Value) (value.Value, error) {
				var out []value.Value
				for i, x := range a {
					switch {
					case !many[i]:
						out = append(out, x)
					case x.IsNull():
						if many[1-i] && a[1-i].IsNull() {
							return value.Value{}, nil
						}
					default:
						for k := range x.Len() {
							out = append(out, x.At(k))
						}
					}
				}
				return value.NewList(out...), nil
			}, l.e, r.e), t: arr}
		}
		if !isText(l.t) && !isText(r.t) && l.t != sqltype.Unknown && r.t != sqltype.Unknown {
			b.noOperator(n, op, l, r)
		}
		l, r = b.coerce(n, l, sqltype.Text, explicit), b.coerce(n, r, sqltype.Text, explicit)
		return texpr{e: b.call(op, false, func(a []value.Value) (value.Value, error) { return value.NewString(a[0].Str() + a[1].Str()), nil }, l.e, r.e), t: sqltype.Text}
	case "~~", "~~*", "!~~", "!~~*":
		e := b.likeCall(text(l).e, text(r).e, &expr.Const{V: value.NewString(`\`)}, strings.HasSuffix(op, "*"))
		return b.negate(e, op[0] == '!')
	case "~", "~*", "!~", "!~*":
		fold := strings.HasSuffix(op, "*")
		e := b.call(op, false, func(a []value.Value) (value.Value, error) {
			p := a[1].Str()
			if fold {
				p = "(?i)" + p
			}
			re, err := regexp.Compile(p)
			if err != nil {
				return value.Value{}, dberr.Wrap(dberr.InvalidParameterValue, err, "invalid regular expression")
			}
			return value.NewBool(re.MatchString(a[0].Str())), nil
		}, text(l).e, text(r).e)
		return b.negate(e, op[0] == '!')
	case "->", "->>":
		if l.t == sqltype.JSON || l.t == sqltype.JSONB {
			return b.jsonAccess(n, op, l, r)
		}
		l = agtype(l)
		switch {
		case isInt(r.t):
		case r.t == sqltype.Unknown && r.param == 0, isText(r.t):
			r = text(r)
		default:
			r = agtype(r)
		}
		if op == "->" {
			return texpr{e: b.call(op, false, access, l.e, r.e), t: sqltype.Agtype}
		}
		return texpr{e: b.call(op, false, func(a []value.Value) (value.Value, error) {
			v, err := access(a)
			return asText(v), err
		}, l.e, r.e), t: sqltype.Text}
	case "#>", "#>>":
		l, r = agtype(l), agtype(r)
		f := func(a []value.Value) (value.Value, error) {
			v := a[0]
			for i := range a[1].Len() {
				var err error
				if v, err = access([]value.Value{v, a[1].At(i)}); err != nil || v.IsNull() {
					return v, err
				}
			}
			return v, nil
		}
		if op == "#>" {
			return texpr{e: b.call(op, false, f, l.e, r.e), t: sqltype.Agtype}
		}
		return texpr{e: b.call(op, false, func(a []value.Value) (value.Value, error) {
			v, err := f(a)
			return asText(v), err
		}, l.e, r.e), t: sqltype.Text}
	case "@>", "<@":
		l, r = agtype(l), agtype(r)
		if op == "<@" {
			l, r = r, l
		}
		return texpr{e: b.call("@>", false, func(a []value.Value) (value.Value, error) { return value.NewBool(contains(a[0], a[1])), nil }, l.e, r.e), t: sqltype.Bool}
	case "?":
		l = agtype(l)
		if isText(r.t) || r.t == sqltype.Unknown {
			r = text(r)
		} else {
			r = agtype(r)
		}
		return texpr{e: b.call(op, false, func(a []value.Value) (value.Value, error) { return value.NewBool(hasKey(a[0], a[1])), nil }, l.e, r.e), t: sqltype.Bool}
	case "?|", "?&":
		l = agtype(l)
		if r.t == sqltype.Unknown {
			r = b.coerce(n, r, sqltype.TextArray, implicit)
		}
		all := op == "?&"
		return texpr{e: b.call(op, false, func(a []value.Value) (value.Value, error) {
			for i := range a[1].Len() {
				if hasKey(a[0], a[1].At(i)) != all {
					return value.NewBool(!all), nil
				}
			}
			return value.NewBool(all), nil
		}, l.e, r.e), t: sqltype.Bool}
	}
	b.noOperator(n, op, l, r)
	return texpr{}
}

func (b *binder) arithmetic(n sql.Node, name string, op expr.Op, l, r texpr) texpr {
	known := func(t *sqltype.Type) bool { return isNumber(t) || t == sqltype.Agtype }
	if l.t == sqltype.Unknown && known(r.t) {
		l = b.coerce(n, l, r.t, implicit)
	}
	if r.t == sqltype.Unknown && known(l.t) {
		r = b.coerce(n, r, l.t, implicit)
	}
	if l.t == sqltype.Unknown && r.t == sqltype.Unknown && l.param+r.param > 0 {
		l, r = b.coerce(n, l, sqltype.Int4, implicit), b.coerce(n, r, sqltype.Int4, implicit)
	}
	if name == "-" && l.t == sqltype.Agtype && (isText(r.t) || r.t == sqltype.Agtype) {
		r = b.coerce(n, r, sqltype.Agtype, implicit)
		return texpr{e: b.call("- agtype", false, minusAgtype, l.e, r.e), t: sqltype.Agtype}
	}
	if !known(l.t) || !known(r.t) {
		b.noOperator(n, name, l, r)
	}
	t := l.t
	switch {
	case l.t == sqltype.Agtype || r.t == sqltype.Agtype:
		t = sqltype.Agtype
		l, r = b.coerce(n, l, t, implicit), b.coerce(n, r, t, implicit)
	case name == "^":
		t = sqltype.Float8
		l, r = b.coerce(n, l, t, explicit), b.coerce(n, r, t, explicit)
	default:
		if rank(r.t) > rank(t) {
			t = r.t
		}
		if t == sqltype.Float4 {
			t = sqltype.Float8
		}
		l, r = b.coerce(n, l, t, implicit), b.coerce(n, r, t, implicit)
	}
	out := texpr{e: &expr.Binary{Base: expr.Base{Pos: n.Pos(), End: n.End()}, Op: op, L: l.e, R: r.e}, t: t}
	if (name == "/" || name == "%") && (isFloat(t) || t == sqltype.Numeric) {
		out.e = b.call(name, false, func(a []value.Value) (value.Value, error) {
			if a[1].Kind() == value.Float && a[1].Float() == 0 {
				return a[0], dberr.New(dberr.DivisionByZero, "division by zero")
			}
			return a[0], nil
		}, l.e, r.e)
		out.e = &expr.Binary{Op: op, L: out.e, R: r.e}
	}
	if t == sqltype.Int2 || t == sqltype.Int4 {
		out.e = b.call("range of "+t.Name, false, func(a []value.Value) (value.Value, error) { return intRange(a[0].Int(), t) }, out.e)
	}
	return out
}

func (b *binder) unary(n *sql.Unary, x texpr) texpr {
	switch n.Op.Name {
	case "-", "+":
		if x.t == sqltype.Unknown {
			x = b.coerce(n, x, sqltype.Float8, implicit)
		}
		if !isNumber(x.t) && x.t != sqltype.Agtype {
			break
		}
		if n.Op.Name == "+" {
			return x
		}
		if c, ok := x.e.(*expr.Const); ok && c.V.Kind() == value.Int {
			return constant(value.NewInt(-c.V.Int()), x.t)
		}
		return texpr{e: &expr.Unary{Base: expr.Base{Pos: n.Pos(), End: n.End()}, Op: expr.OpNeg, X: x.e}, t: x.t}
	}
	b.fail(n, dberr.UndefinedFunction, "operator does not exist: %s %s", n.Op.Name, x.t.Name)
	return texpr{}
}

// jsonAccess binds -> and ->> of json and jsonb: a field by name or an element by number, as json or as text. What is not there is null; a
// null that is there is json's null for -> and null for ->>.
func (b *binder) jsonAccess(n sql.Node, op string, l, r texpr) texpr {
	if !isInt(r.t) {
		r = b.coerce(n, r, sqltype.Text, implicit)
	}
	asJSON := op == "->"
	t := sqltype.Text
	if asJSON {
		t = l.t
	}
	return texpr{e: b.call(op, false, func(a []value.Value) (value.Value, error) {
		doc, err := value.ParseAgtype(a[0].Str())
		if err != nil {
			return value.Value{}, err
		}
		var v value.Value
		found := false
		switch k := a[1]; {
		case doc.Kind() == value.Map && k.Kind() == value.String:
			v, found = doc.Get(k.Str())
		case doc.Kind() == value.List && k.Kind() == value.Int:
			i := k.Int()
			if i < 0 {
				i += int64(doc.Len())
			}
			if found = i >= 0 && i < int64(doc.Len()); found {
				v = doc.At(int(i))
			}
		}
		switch {
		case !found || v.IsNull() && !asJSON:
			return value.Value{}, nil
		case !asJSON && v.Kind() == value.String:
			return v, nil
		}
		return value.NewString(string(value.AppendJSON(nil, v))), nil
	}, l.e, r.e), t: t}
}

// ---- agtype's own -----------------------------------------------------------------------------------------------------

// fields returns the map that a map, vertex or edge shows.
func fields(v value.Value) value.Value {
	switch v.Kind() {
	case value.Map:
		return v
	case value.Node, value.Rel:
		m := value.NewMapBuilder()
		m.Put("id", value.NewInt(int64(v.ID())))
		if v.Materialised() {
			m.Put("properties", v.Properties())
			if v.Kind() == value.Rel {
				m.Put("label", value.NewString(v.RelType()))
				m.Put("start_id", value.NewInt(int64(v.Start())))
				m.Put("end_id", value.NewInt(int64(v.End())))
			} else {
				label := ""
				if l := v.Labels(); len(l) > 0 {
					label = l[0]
				}
				m.Put("label", value.NewString(label))
			}
		}
		return m.Map()
	}
	return value.Value{}
}

// access is x -> key: of a map by text, of a list by number. A vertex or edge gives its properties' value, as AGE does.
func access(a []value.Value) (value.Value, error) {
	x, k := a[0], a[1]
	switch x.Kind() {
	case value.Map:
		if k.Kind() == value.String {
			v, _ := x.Get(k.Str())
			return v, nil
		}
	case value.Node, value.Rel:
		if k.Kind() == value.String {
			if v, ok := x.Properties().Get(k.Str()); ok {
				return v, nil
			}
			v, _ := fields(x).Get(k.Str())
			return v, nil
		}
	case value.List, value.Path:
		if k.Kind() == value.Int {
			i := k.Int()
			if i < 0 {
				i += int64(x.Len())
			}
			if i >= 0 && i < int64(x.Len()) {
				return x.At(int(i)), nil
			}
		}
	}
	return value.Value{}, nil
}

func asText(v value.Value) value.Value {
	if v.IsNull() || v.Kind() == value.String {
		return v
	}
	return value.NewString(string(value.AppendAgtype(nil, v)))
}

func hasKey(x, k value.Value) bool {
	if k.Kind() != value.String {
		return false
	}
	switch x.Kind() {
	case value.Map, value.Node, value.Rel:
		_, ok := fields(x).Get(k.Str())
		return ok
	case value.List:
		for i := range x.Len() {
			if value.Equivalent(x.At(i), k) {
				return true
			}
		}
	}
	return false
}

// contains is jsonb's @>: every key, element and scalar of r is found in l.
func contains(l, r value.Value) bool {
	if l.Kind() == value.Node || l.Kind() == value.Rel {
		l = fields(l)
	}
	if r.Kind() == value.Node || r.Kind() == value.Rel {
		r = fields(r)
	}
	switch {
	case l.Kind() == value.Map && r.Kind() == value.Map:
		for i := range r.Len() {
			k, want := r.Entry(i)
			if have, ok := l.Get(k); !ok || !contains(have, want) {
				return false
			}
		}
		return true
	case l.Kind() == value.List && r.Kind() == value.List:
		for i := range r.Len() {
			want, ok := r.At(i), false
			for j := range l.Len() {
				if contains(l.At(j), want) {
					ok = true
					break
				}
			}
			if !ok {
				return false
			}
		}
		return true
	case l.Kind() == value.List:
		for j := range l.Len() {
			if value.Equivalent(l.At(j), r) {
				return true
			}
		}
		return false
	}
	return value.Equivalent(l, r)
}

func concatAgtype(a []value.Value) (value.Value, error) {
	l, r := a[0], a[1]
	if l.Kind() == value.Map && r.Kind() == value.Map {
		m := value.NewMapBuilder()
		for _, x := range a {
			for i := range x.Len() {
				m.Put(x.Entry(i))
			}
		}
		return m.Map(), nil
	}
	var out []value.Value
	for _, x := range a {
		if x.Kind() == value.List {
			for i := range x.Len() {
				out = append(out, x.At(i))
			}
		} else {
			out = append(out, x)
		}
	}
	return value.NewList(out...), nil
}

// minusAgtype is a difference of numbers, or a map without a key, or a list without an element.
func minusAgtype(a []value.Value) (value.Value, error) {
	l, r := a[0], a[1]
	switch {
	case l.Kind() == value.Map && (r.Kind() == value.String || r.Kind() == value.List):
		drop := map[string]bool{}
		if r.Kind() == value.String {
			drop[r.Str()] = true
		} else {
			for i := range r.Len() {
				if k := r.At(i); k.Kind() == value.String {
					drop[k.Str()] = true
				}
			}
		}
		m := value.NewMapBuilder()
		for i := range l.Len() {
			if k, v := l.Entry(i); !drop[k] {
				m.Put(k, v)
			}
		}
		return m.Map(), nil
	case l.Kind() == value.List && r.Kind() == value.Int:
		var out []value.Value
		drop := r.Int()
		if drop < 0 {
			drop += int64(l.Len())
		}
		for i := range l.Len() {
			if int64(i) != drop {
				out = append(out, l.At(i))
			}
		}
		return value.NewList(out...), nil
	case l.Kind() == value.Int && r.Kind() == value.Int:
		x, y := l.Int(), r.Int()
		if d := x - y; (x >= 0) == (y >= 0) || (d >= 0) == (x >= 0) {
			return value.NewInt(d), nil
		}
		return value.Value{}, dberr.New(dberr.NumericOutOfRange, "bigint out of range")
	case l.IsNumber() && r.IsNumber() && l.Kind() != value.Numeric && r.Kind() != value.Numeric:
		f := func(v value.Value) float64 {
			if v.Kind() == value.Int {
				return float64(v.Int())
			}
			return v.Float()
		}
		return value.NewFloat(f(l) - f(r)), nil
	}
	return value.Value{}, dberr.New(dberr.TypeError, "invalid operands of -: %s and %s", expr.KindName(l.Kind()), expr.KindName(r.Kind()))
}
