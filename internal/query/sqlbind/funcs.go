package sqlbind

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

type fn = func(a []value.Value) (value.Value, error)

func str(s string) (value.Value, error) { return value.NewString(s), nil }

// builtins are scalar functions that need no session. Types of arguments are coerced to; nil takes any.
var builtins = map[string]*Function{
	"lower": {Args: []*sqltype.Type{sqltype.Text}, Result: sqltype.Text, Call: func(a []value.Value) (value.Value, error) { return str(strings.ToLower(a[0].Str())) }},
	"upper": {Args: []*sqltype.Type{sqltype.Text}, Result: sqltype.Text, Call: func(a []value.Value) (value.Value, error) { return str(strings.ToUpper(a[0].Str())) }},
	"length": {Args: []*sqltype.Type{sqltype.Text}, Result: sqltype.Int4, Call: func(a []value.Value) (value.Value, error) {
		return value.NewInt(int64(utf8.RuneCountInString(a[0].Str()))), nil
	}},
	"btrim": {Args: []*sqltype.Type{sqltype.Text, sqltype.Text}, Optional: 1, Result: sqltype.Text, Call: trim(strings.Trim)},
	"ltrim": {Args: []*sqltype.Type{sqltype.Text, sqltype.Text}, Optional: 1, Result: sqltype.Text, Call: trim(strings.TrimLeft)},
	"rtrim": {Args: []*sqltype.Type{sqltype.Text, sqltype.Text}, Optional: 1, Result: sqltype.Text, Call: trim(strings.TrimRight)},
	"replace": {Args: []*sqltype.Type{sqltype.Text, sqltype.Text, sqltype.Text}, Result: sqltype.Text, Call: func(a []value.Value) (value.Value, error) {
		if a[1].Str() == "" {
			return a[0], nil
		}
		return str(strings.ReplaceAll(a[0].Str(), a[1].Str(), a[2].Str()))
	}},
	"substring": {Args: []*sqltype.Type{sqltype.Text, sqltype.Int4, sqltype.Int4}, Optional: 1, Result: sqltype.Text, Call: substring},
	"position": {Args: []*sqltype.Type{sqltype.Text, sqltype.Text}, Result: sqltype.Int4, Call: func(a []value.Value) (value.Value, error) {
		i := strings.Index(a[0].Str(), a[1].Str()) // position(x IN s) is the call position(s, x)
		if i < 0 {
			return value.NewInt(0), nil
		}
		return value.NewInt(int64(utf8.RuneCountInString(a[0].Str()[:i]) + 1)), nil
	}},
	"concat": {Args: []*sqltype.Type{nil}, Variadic: true, NullIn: true, Result: sqltype.Text, Call: func(a []value.Value) (value.Value, error) {
		var b strings.Builder
		for _, v := range a {
			if !v.IsNull() {
				b.WriteString(asText(v).Str())
			}
		}
		return str(b.String())
	}},
	"quote_ident": {Args: []*sqltype.Type{sqltype.Text}, Result: sqltype.Text, Call: func(a []value.Value) (value.Value, error) {
		s := a[0].Str()
		for i, r := range s {
			if !(r >= 'a' && r <= 'z' || r == '_' || i > 0 && r >= '0' && r <= '9') {
				return str(`"` + strings.ReplaceAll(s, `"`, `""`) + `"`)
			}
		}
		return str(s)
	}},
	"repeat": {Args: []*sqltype.Type{sqltype.Text, sqltype.Int4}, Result: sqltype.Text, Call: func(a []value.Value) (value.Value, error) {
		n := max(0, a[1].Int())
		if n*int64(len(a[0].Str())) > 64<<20 {
			return value.Value{}, dberr.New(dberr.LimitExceeded, "requested length too large")
		}
		return str(strings.Repeat(a[0].Str(), int(n)))
	}},
	"left": {Args: []*sqltype.Type{sqltype.Text, sqltype.Int4}, Result: sqltype.Text, Call: func(a []value.Value) (value.Value, error) {
		r, n := []rune(a[0].Str()), int(a[1].Int())
		if n < 0 {
			n = max(0, len(r)+n)
		}
		return str(string(r[:min(n, len(r))]))
	}},
	"right": {Args: []*sqltype.Type{sqltype.Text, sqltype.Int4}, Result: sqltype.Text, Call: func(a []value.Value) (value.Value, error) {
		r, n := []rune(a[0].Str()), int(a[1].Int())
		if n < 0 {
			n = max(0, len(r)+n)
		}
		return str(string(r[len(r)-min(n, len(r)):]))
	}},
	"array_to_string": {Args: []*sqltype.Type{sqltype.TextArray, sqltype.Text}, Result: sqltype.Text, Call: func(a []value.Value) (value.Value, error) {
		var parts []string
		for i := range a[0].Len() {
			if x := a[0].At(i); !x.IsNull() {
				parts = append(parts, asText(x).Str())
			}
		}
		return str(strings.Join(parts, a[1].Str()))
	}},
	"to_regtype": {Args: []*sqltype.Type{sqltype.Text}, Result: sqltype.Regtype, Call: func(a []value.Value) (value.Value, error) {
		v, err := sqltype.Parse(sqltype.Regtype, a[0].Str())
		if err != nil {
			return value.Value{}, nil
		}
		return v, nil
	}},
	"quote_literal": {Args: []*sqltype.Type{sqltype.Text}, Result: sqltype.Text, Call: func(a []value.Value) (value.Value, error) {
		return str(`'` + strings.ReplaceAll(a[0].Str(), `'`, `''`) + `'`)
	}},
	"sqrt":     {Args: []*sqltype.Type{sqltype.Float8}, Result: sqltype.Float8, Call: float(math.Sqrt)},
	"pg_sleep": {Args: []*sqltype.Type{sqltype.Float8}, Result: sqltype.Void, Vol: expr.Volatile, Call: nil},
	"_graphid": {Args: []*sqltype.Type{sqltype.Int4, sqltype.Int8}, Result: sqltype.Graphid, Call: func(a []value.Value) (value.Value, error) {
		return value.NewInt(a[0].Int()<<48 | a[1].Int()&(1<<48-1)), nil
	}},
	"_extract_label_id": {Args: []*sqltype.Type{sqltype.Graphid}, Result: sqltype.Int4, Call: func(a []value.Value) (value.Value, error) { return value.NewInt(int64(uint64(a[0].Int()) >> 48)), nil }},
	"agtype_access_operator": {Args: []*sqltype.Type{sqltype.Agtype}, Variadic: true, Result: sqltype.Agtype, Call: func(a []value.Value) (value.Value, error) {
		v := a[0]
		for _, k := range a[1:] {
			var err error
			if v, err = access([]value.Value{v, k}); err != nil {
				return v, err
			}
		}
		return v, nil
	}},
	"agtype_build_list": {Args: []*sqltype.Type{sqltype.Agtype}, Variadic: true, NullIn: true, Result: sqltype.Agtype, Call: func(a []value.Value) (value.Value, error) { return value.NewList(a...), nil }},
	"agtype_build_map": {Args: []*sqltype.Type{nil}, Variadic: true, NullIn: true, Result: sqltype.Agtype, Call: func(a []value.Value) (value.Value, error) {
		if len(a)%2 != 0 {
			return value.Value{}, dberr.New(dberr.InvalidParameterValue, "argument list must have been even number of elements")
		}
		m := value.NewMapBuilder()
		for i := 0; i < len(a); i += 2 {
			m.Put(asText(a[i]).Str(), a[i+1])
		}
		return m.Map(), nil
	}},
	"agtype_to_text": {Args: []*sqltype.Type{sqltype.Agtype}, Result: sqltype.Text, Call: func(a []value.Value) (value.Value, error) { return asText(a[0]), nil }},
}

func init() {
	builtins["trim"], builtins["strpos"] = builtins["btrim"], builtins["position"]
	builtins["char_length"], builtins["character_length"], builtins["substr"] = builtins["length"], builtins["length"], builtins["substring"]
	delete(builtins, "pg_sleep") // the session's: it must end when the statement does
}

func float(f func(float64) float64) fn {
	return func(a []value.Value) (value.Value, error) { return value.NewFloat(f(a[0].Float())), nil }
}

func trim(f func(s, cut string) string) fn {
	return func(a []value.Value) (value.Value, error) {
		cut := " "
		if len(a) > 1 {
			cut = a[1].Str()
		}
		return str(f(a[0].Str(), cut))
	}
}

func substring(a []value.Value) (value.Value, error) {
	r := []rune(a[0].Str())
	from := a[1].Int() - 1
	to := int64(len(r))
	if len(a) > 2 {
		if a[2].Int() < 0 {
			return value.Value{}, dberr.New(dberr.InvalidParameterValue, "negative substring length not allowed")
		}
		to = min(to, from+a[2].Int())
	}
	from = max(0, from)
	if from >= to {
		return str("")
	}
	return str(string(r[from:to]))
}

// aggregates by their SQL name.
var aggregates = map[string]string{"count": "count", "sum": "sum", "avg": "avg", "min": "min", "max": "max", "array_agg": "collect", "age_collect": "collect",
	"string_agg": "collect", "bool_and": "min", "bool_or": "max", "every": "min"}

func (b *binder) function(f *sql.Func, sc *scope) texpr {
	name := f.Name.Last()
	if f.Name.Is("ag_catalog", "cypher") {
		e := dberr.New(dberr.FeatureNotSupported, "cypher(...) in expressions is not supported").WithHint("Use subquery instead if possible.")
		panic(fault{e.At(f.Pos(), f.End())})
	}
	if f.Over != nil {
		b.unsupported(f, "a window function")
	}
	if f.WithinGroup {
		b.unsupported(f, "WITHIN GROUP")
	}
	if _, ok := aggregates[name]; ok && (f.Name.Schema() == "" || f.Name.Schema() == "pg_catalog") {
		return b.aggregate(f, sc)
	}
	if f.Distinct || f.Filter != nil || f.Star {
		b.fail(f, dberr.Syntax, "DISTINCT, FILTER and * are for aggregate functions, and %s is none", name)
	}
	var args []texpr
	for _, a := range f.Args {
		if a.Name != nil || a.Variadic {
			b.unsupported(a, "a named or VARIADIC argument")
		}
		args = append(args, b.expr(a.Value, sc))
	}
	switch name {
	case "coalesce", "greatest", "least":
		return b.variadicSame(f, name, args)
	case "nullif":
		if len(args) == 2 {
			l, r := b.unify(f, args[0], args[1])
			return texpr{e: b.call(name, true, func(a []value.Value) (value.Value, error) {
				if !a[0].IsNull() && !a[1].IsNull() && value.Compare(a[0], a[1]) == 0 {
					return value.Value{}, nil
				}
				return a[0], nil
			}, l.e, r.e), t: l.t}
		}
	case "abs", "ceil", "ceiling", "floor", "round", "sign", "trunc":
		switch {
		case len(args) == 1:
			return b.mathFunc(f, name, args[0])
		case len(args) == 2 && (name == "round" || name == "trunc"):
			x, n := b.coerce(f.Args[0], args[0], sqltype.Numeric, implicit), b.coerce(f.Args[1], args[1], sqltype.Int4, implicit)
			return texpr{e: b.call(name+" to digits", false, func(a []value.Value) (value.Value, error) {
				return roundNumeric(a[0], name, max(-2000, min(2000, a[1].Int())))
			}, x.e, n.e), t: sqltype.Numeric}
		}
	case "pg_typeof":
		if len(args) == 1 {
			return constant(value.NewString(args[0].t.Name), sqltype.Text)
		}
	case "array_length", "array_upper", "array_lower", "cardinality":
		if n := len(args); n >= 1 && args[0].t.Elem != nil && (n == 2) == (name != "cardinality") {
			exprs := []expr.Expr{args[0].e}
			if n == 2 {
				exprs = append(exprs, b.coerce(f.Args[1], args[1], sqltype.Int4, implicit).e)
			}
			return texpr{e: b.call(name, false, func(a []value.Value) (value.Value, error) {
				size := value.NewInt(int64(a[0].Len()))
				switch {
				case name == "cardinality":
					return size, nil
				case a[0].Len() == 0 || a[1].Int() != 1:
					return value.Value{}, nil
				case name == "array_lower":
					return value.NewInt(1), nil
				}
				return size, nil
			}, exprs...), t: sqltype.Int4}
		}
	case "generate_series", "unnest":
		b.unsupported(f, "a set-returning function in the select list")
	}
	def := builtins[name]
	if s := f.Name.Schema(); s != "" && s != "pg_catalog" && s != "ag_catalog" && s != "public" {
		def = nil
	}
	if d := b.cat.Function(f.Name.Schema(), name); d != nil {
		def = d
	}
	if def == nil || len(args) < len(def.Args)-def.Optional && !def.Variadic || len(args) > len(def.Args) && !def.Variadic {
		b.noFunction(f, args)
	}
	out := make([]expr.Expr, len(args))
	for i, x := range args {
		want := def.Args[min(i, len(def.Args)-1)]
		switch {
		case want == nil && x.t == sqltype.Unknown:
			x = b.coerce(f.Args[i], x, sqltype.Text, implicit)
		case want == nil:
		case isText(want) && x.t != sqltype.Unknown && !isText(x.t):
			if castFunc(x.t, want, implicit) == nil {
				b.noFunction(f, args)
			}
			x = b.coerce(f.Args[i], x, want, implicit)
		default:
			x = b.coerce(f.Args[i], x, want, implicit)
		}
		out[i] = x.e
	}
	return texpr{e: &expr.Func{Base: expr.Base{Pos: f.Pos(), End: f.End()}, Def: b.def(name, def.NullIn, def.Vol, def.Call), Args: out}, t: def.Result}
}

func (b *binder) noFunction(f *sql.Func, args []texpr) {
	var types []string
	for _, a := range args {
		types = append(types, a.t.Name)
	}
	name := f.Name.Last()
	if s := f.Name.Schema(); s != "" {
		name = s + "." + name
	}
	e := dberr.New(dberr.UndefinedFunction, "function %s(%s) does not exist", name, strings.Join(types, ", ")).
		WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
	e.Phase = dberr.CompileTime
	panic(fault{e.At(f.Name.Pos(), f.Name.End())})
}

func (b *binder) variadicSame(f *sql.Func, name string, args []texpr) texpr {
	if len(args) == 0 {
		b.fail(f, dberr.Syntax, "%s needs an argument", name)
	}
	t := b.common(f, args)
	var xs []expr.Expr
	for i, a := range args {
		xs = append(xs, b.coerce(f.Args[i], a, t, implicit).e)
	}
	if name == "coalesce" {
		c := &expr.Case{}
		for _, x := range xs[:len(xs)-1] {
			c.Whens = append(c.Whens, expr.When{Cond: &expr.Unary{Op: expr.OpIsNotNull, X: x}, Then: x})
		}
		c.Else = xs[len(xs)-1]
		return texpr{e: c, t: t}
	}
	return texpr{e: b.call(name, true, func(a []value.Value) (value.Value, error) {
		var best value.Value
		for _, v := range a {
			if !v.IsNull() && (best.IsNull() || value.Compare(v, best) > 0 == (name == "greatest")) {
				best = v
			}
		}
		return best, nil
	}, xs...), t: t}
}

func (b *binder) mathFunc(f *sql.Func, name string, x texpr) texpr {
	if x.t == sqltype.Unknown {
		x = b.coerce(f, x, sqltype.Float8, implicit)
	}
	if !isNumber(x.t) && x.t != sqltype.Agtype {
		b.noFunction(f, []texpr{x})
	}
	t := x.t
	if isInt(t) && name != "abs" {
		t = sqltype.Float8
		x = b.coerce(f, x, t, implicit)
	}
	if t == sqltype.Numeric {
		return texpr{e: b.call(name+" numeric", false, func(a []value.Value) (value.Value, error) { return roundNumeric(a[0], name, 0) }, x.e), t: t}
	}
	apply := map[string]func(float64) float64{"abs": math.Abs, "ceil": math.Ceil, "ceiling": math.Ceil, "floor": math.Floor, "round": math.RoundToEven, "trunc": math.Trunc,
		"sign": func(f float64) float64 {
			switch {
			case f > 0:
				return 1
			case f < 0:
				return -1
			}
			return f
		}}[name]
	return texpr{e: b.call(name, false, func(a []value.Value) (value.Value, error) {
		switch v := a[0]; v.Kind() {
		case value.Int:
			switch i := v.Int(); {
			case name == "abs" && i == math.MinInt64:
				return v, dberr.New(dberr.NumericOutOfRange, "bigint out of range")
			case name == "abs" && i < 0:
				return value.NewInt(-i), nil
			case name == "sign":
				return value.NewInt(int64(apply(float64(i)))), nil
			}
			return v, nil
		case value.Float:
			return value.NewFloat(apply(v.Float())), nil
		}
		return a[0], dberr.New(dberr.TypeError, "%s() takes a number, not a %s", name, expr.KindName(a[0].Kind()))
	}, x.e), t: t}
}

// roundNumeric applies a function of one numeric; round is half away from zero, as PostgreSQL has it for numeric.
func roundNumeric(v value.Value, name string, digits int64) (value.Value, error) {
	d := v.Decimal()
	if d.Form != apd.Finite {
		return v, nil
	}
	var out apd.Decimal
	ctx := *apd.BaseContext.WithPrecision(uint32(d.NumDigits()) + 4010)
	switch name {
	case "abs":
		out.Abs(d)
		return value.NewNumeric(&out), nil
	case "sign":
		return value.NewNumeric(apd.New(int64(d.Sign()), 0)), nil
	case "ceil", "ceiling":
		ctx.Rounding = apd.RoundCeiling
	case "floor":
		ctx.Rounding = apd.RoundFloor
	case "trunc":
		ctx.Rounding = apd.RoundDown
	default:
		ctx.Rounding = apd.RoundHalfUp // away from zero
	}
	if _, err := ctx.Quantize(&out, d, int32(-digits)); err != nil {
		return v, dberr.New(dberr.NumericOutOfRange, "value overflows numeric format")
	}
	if out.Exponent > 0 { // round(1234, -2) is 1200, not 12E2
		if _, err := ctx.Quantize(&out, &out, 0); err != nil {
			return v, dberr.New(dberr.NumericOutOfRange, "value overflows numeric format")
		}
	}
	if out.IsZero() {
		out.Negative = false
	}
	return value.NewNumeric(&out), nil
}

// aggregate binds a call of an aggregate function.
func (b *binder) aggregate(f *sql.Func, sc *scope) texpr {
	name := f.Name.Last()
	g := sc.aggs
	if g == nil {
		what := sc.what
		if what == "" {
			what = "this place"
		}
		b.fail(f, dberr.GroupingError, "aggregate functions are not allowed in %s", what)
	}
	if g.inAgg {
		b.fail(f, dberr.GroupingError, "aggregate function calls cannot be nested")
	}
	if len(f.OrderBy) > 0 {
		b.unsupported(f, "ORDER BY in an aggregate")
	}
	def, ok := expr.Lookup(aggregates[name])
	if !ok {
		b.unsupported(f, "the aggregate "+name)
	}
	a := &expr.Agg{Def: def, Distinct: f.Distinct}
	var x texpr
	if f.Star {
		if name != "count" {
			b.fail(f, dberr.Syntax, "%s(*) is not an aggregate", name)
		}
		if f.Filter != nil {
			x = constant(value.NewInt(1), sqltype.Int4)
		}
	} else {
		if want := map[bool]int{false: 1, true: 2}[name == "string_agg"]; len(f.Args) != want {
			b.fail(f, dberr.UndefinedFunction, "aggregate %s takes %d arguments", name, want)
		}
		g.inAgg = true
		x = b.expr(f.Args[0].Value, sc)
		g.inAgg = false
		switch name {
		case "string_agg":
			x = b.coerce(f.Args[0], x, sqltype.Text, explicit)
		case "bool_and", "bool_or", "every":
			x = b.coerce(f.Args[0], x, sqltype.Bool, implicit)
		}
		if x.t == sqltype.Unknown {
			x = b.coerce(f, x, sqltype.Text, implicit)
		}
	}
	t := x.t
	switch name {
	case "count":
		t = sqltype.Int8
	case "sum", "avg":
		if !isNumber(x.t) && x.t != sqltype.Agtype {
			b.noFunction(f, []texpr{x})
		}
		if name == "avg" && x.t != sqltype.Agtype {
			t = sqltype.Float8
		} else if isInt(x.t) {
			t = sqltype.Int8
		}
	case "array_agg":
		if t = sqltype.ByName(x.t.Internal + "[]"); t == nil {
			t = sqltype.AgtypeArray
		}
	case "age_collect":
		t = sqltype.Agtype
	}
	if f.Filter != nil {
		g.inAgg = true
		cond := b.coerce(f.Filter, b.expr(f.Filter, sc), sqltype.Bool, implicit)
		g.inAgg = false
		x.e = &expr.Case{Whens: []expr.When{{Cond: cond.e, Then: x.e}}}
	}
	if x.e != nil {
		a.Args = []expr.Expr{x.e}
	}
	out := texpr{e: b.aggSlot(g, a), t: t}
	if name == "string_agg" {
		sep := b.coerce(f.Args[1], b.expr(f.Args[1].Value, &scope{what: "the separator of string_agg"}), sqltype.Text, implicit)
		out = texpr{e: b.call(name, true, func(a []value.Value) (value.Value, error) {
			if a[0].IsNull() || a[0].Len() == 0 {
				return value.Value{}, nil
			}
			var parts []string
			for i := range a[0].Len() {
				parts = append(parts, a[0].At(i).Str())
			}
			between := ""
			if !a[1].IsNull() {
				between = a[1].Str()
			}
			return str(strings.Join(parts, between))
		}, out.e, sep.e), t: sqltype.Text}
	}
	if name == "sum" { // nothing to sum is null in SQL and 0 in Cypher
		count, _ := expr.Lookup("count")
		n := b.aggSlot(g, &expr.Agg{Def: count, Args: a.Args})
		out.e = &expr.Case{Whens: []expr.When{{Cond: &expr.Func{Def: comparisons[">"], Args: []expr.Expr{n, &expr.Const{V: value.NewInt(0)}}}, Then: out.e}}}
	}
	return out
}

// aggSlot returns the slot of an aggregate; equal ones share it.
func (b *binder) aggSlot(g *aggregation, a *expr.Agg) expr.Expr {
	for _, s := range g.seen {
		if expr.Equal(s.e, a) {
			return &expr.Col{Slot: s.slot, Hint: expr.NoSlot}
		}
	}
	slot := b.slot("")
	g.aggs = append(g.aggs, plan.Agg{Slot: slot, Call: a})
	g.seen = append(g.seen, aggSeen{a, slot})
	return &expr.Col{Slot: slot, Hint: expr.NoSlot}
}

// system binds CURRENT_USER and its kin.
func (b *binder) system(e *sql.SystemValue) texpr {
	switch e.Name {
	case "current_timestamp", "localtimestamp", "current_date", "current_time", "localtime":
		t, layout, kind := sqltype.Timestamptz, "2006-01-02T15:04:05.999999Z07:00", value.DateTime
		switch e.Name {
		case "current_date":
			t, layout, kind = sqltype.Date, "2006-01-02", value.Date
		case "localtimestamp":
			t, layout, kind = sqltype.Timestamp, "2006-01-02T15:04:05.999999", value.LocalDateTime
		case "current_time", "localtime":
			b.unsupported(e, e.Name)
		}
		return texpr{e: &expr.Func{Def: b.def(e.Name, true, expr.Statement, func([]value.Value) (value.Value, error) {
			return value.ParseTemporal(kind, time.Now().UTC().Format(layout))
		})}, t: t}
	}
	f := b.cat.Function("pg_catalog", e.Name)
	if f == nil {
		b.unsupported(e, strings.ToUpper(e.Name))
	}
	return texpr{e: &expr.Func{Def: b.def(e.Name, true, f.Vol, f.Call)}, t: f.Result}
}
