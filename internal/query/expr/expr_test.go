package expr

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

func k(text string) Expr {
	v, err := value.ParseTCK(text)
	if err != nil {
		panic(err)
	}
	return &Const{V: v}
}

func moment(kind value.Kind, text string) Expr {
	v, err := value.ParseTemporal(kind, text)
	if err != nil {
		panic(err)
	}
	return &Const{V: v}
}

func bin(op Op, l, r Expr) Expr { return &Binary{Op: op, L: l, R: r} }
func un(op Op, x Expr) Expr     { return &Unary{Op: op, X: x} }
func and(a ...Expr) Expr        { return &And{Args: a} }
func or(a ...Expr) Expr         { return &Or{Args: a} }
func col(slot int) Expr         { return &Col{Slot: slot, Hint: NoSlot, Name: fmt.Sprint("c", slot)} }
func prop(x Expr, key string) Expr {
	return &Prop{Of: x, Key: key}
}

func fn(name string, args ...Expr) Expr {
	d, ok := Lookup(name)
	if !ok {
		panic("no function " + name)
	}
	return &Func{Def: d, Args: args}
}

func list(es ...Expr) Expr { return &ListLit{Elems: es} }

func testEnv() *Env {
	now := time.Date(2026, 11, 30, 16, 0, 0, 5e6, time.UTC)
	return &Env{Now: now, TxNow: now, Zone: time.UTC}
}

func eval(t testing.TB, e Expr) (string, error) {
	t.Helper()
	p, err := Compile(e)
	if err != nil {
		t.Fatalf("%s: %v", String(e), err)
	}
	v, err := p.EvalOne(testEnv())
	if err != nil {
		return "", err
	}
	return string(value.AppendTCK(nil, v)), nil
}

type evalCase struct {
	e    Expr
	want string // notation, or ! and code or token of the error
}

func check(t *testing.T, cases []evalCase) {
	t.Helper()
	for _, c := range cases {
		got, err := eval(t, c.e)
		if strings.HasPrefix(c.want, "!") {
			e := dberr.As(err)
			if e == nil || e.Token != c.want[1:] && e.Code.String() != c.want[1:] {
				t.Errorf("%s: got %s, %v; want error %s", String(c.e), got, err, c.want[1:])
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: got %s, %v; want %s", String(c.e), got, err, c.want)
		}
	}
}

func TestArithmetic(t *testing.T) {
	check(t, []evalCase{
		{bin(OpAdd, k("1"), k("2")), "3"}, {bin(OpAdd, k("1"), k("2.5")), "3.5"}, {bin(OpAdd, k("1"), k("null")), "null"},
		{bin(OpAdd, k("9223372036854775807"), k("1")), "!NumericOutOfRange"}, {bin(OpSub, k("-9223372036854775808"), k("1")), "!IntegerOverflow"},
		{bin(OpMul, k("4611686018427387904"), k("2")), "!IntegerOverflow"}, {bin(OpMul, k("-4611686018427387904"), k("2")), "-9223372036854775808"},
		{bin(OpMul, k("-9223372036854775808"), k("-1")), "!IntegerOverflow"}, {bin(OpDiv, k("-9223372036854775808"), k("-1")), "!IntegerOverflow"},
		{un(OpNeg, k("-9223372036854775808")), "!IntegerOverflow"}, {un(OpNeg, k("3")), "-3"}, {un(OpNeg, k("1.5")), "-1.5"},
		{bin(OpDiv, k("1"), k("2")), "0"}, {bin(OpDiv, k("-7"), k("2")), "-3"}, {bin(OpMod, k("-7"), k("2")), "-1"}, {bin(OpMod, k("7"), k("-2")), "1"},
		{bin(OpMod, k("-9223372036854775808"), k("-1")), "0"}, {bin(OpDiv, k("1"), k("0")), "!DivisionByZero"}, {bin(OpMod, k("1"), k("0")), "!DivisionByZero"},
		{bin(OpDiv, k("1.0"), k("0")), "Inf"}, {bin(OpDiv, k("0.0"), k("0.0")), "NaN"}, {bin(OpDiv, k("-1"), k("0.0")), "-Inf"},
		{bin(OpPow, k("2"), k("3")), "8.0"}, {bin(OpMod, k("5.5"), k("2")), "1.5"},
		{bin(OpAdd, k("'a'"), k("'b'")), "'ab'"}, {bin(OpAdd, k("'a'"), k("1")), "'a1'"}, {bin(OpAdd, k("1"), k("'a'")), "'1a'"}, {bin(OpAdd, k("'a'"), k("1.0")), "'a1.0'"},
		{bin(OpAdd, k("[1]"), k("null")), "null"}, {bin(OpAdd, k("[1]"), k("[null]")), "[1, null]"}, {bin(OpAdd, k("1"), k("[2]")), "[1, 2]"},
		{bin(OpAdd, k("[1]"), k("2")), "[1, 2]"}, {bin(OpAdd, k("[[1]]"), k("[2]")), "[[1], 2]"}, {bin(OpAdd, k("{a: 1, b: 2}"), k("{b: 3}")), "{a: 1, b: 3}"},
		{bin(OpAdd, k("1"), k("true")), "!InvalidArgumentType"}, {bin(OpSub, k("'a'"), k("1")), "!InvalidArgumentType"},
		{bin(OpAdd, fn("::numeric", k("'1.50'")), k("1")), "2.50"}, {bin(OpMul, fn("::numeric", k("'1.5'")), fn("::numeric", k("'1.5'"))), "2.25"},
		{bin(OpDiv, fn("::numeric", k("'1'")), k("4")), "0.2500000000000000"}, {bin(OpDiv, fn("::numeric", k("'1'")), k("0")), "!DivisionByZero"},
		{bin(OpMod, fn("::numeric", k("'7.5'")), k("2")), "1.5"},
	})
}

func TestComparison(t *testing.T) {
	chain := func(ops []Op, args ...Expr) Expr { return &Chain{Ops: ops, Args: args} }
	check(t, []evalCase{
		{bin(OpEq, k("1"), k("1.0")), "true"}, {bin(OpEq, k("1"), k("'1'")), "false"}, {bin(OpEq, k("null"), k("null")), "null"}, {bin(OpNe, k("1"), k("null")), "null"},
		{bin(OpEq, k("NaN"), k("NaN")), "false"}, {bin(OpNe, k("NaN"), k("NaN")), "true"}, {bin(OpLt, k("NaN"), k("1")), "false"}, {bin(OpLt, k("NaN"), k("'a'")), "null"},
		{bin(OpLt, k("1"), k("'a'")), "null"}, {bin(OpGe, k("[1, 2]"), k("[1, null]")), "null"}, {bin(OpGe, k("[1, 2]"), k("[3, null]")), "false"}, {bin(OpGe, k("[1, null]"), k("[1]")), "true"},
		{bin(OpEq, k("[1, null]"), k("[1, null]")), "null"}, {bin(OpEq, k("[1, null]"), k("[2, null]")), "false"}, {bin(OpEq, k("{k: null}"), k("{k: null}")), "null"},
		{bin(OpEq, k("{}"), k("{k: null}")), "false"}, {bin(OpLt, k("9007199254740992.0"), k("9007199254740993")), "true"}, {bin(OpEq, k("9007199254740992.0"), k("9007199254740993")), "false"},
		{bin(OpLe, k("'a'"), k("'a'")), "true"}, {bin(OpGt, k("'b'"), k("'a'")), "true"}, {bin(OpEq, k("'a'"), k("'b'")), "false"}, {bin(OpLt, k("false"), k("true")), "true"},
		{chain([]Op{OpLt, OpLt}, k("1"), k("2"), k("3")), "true"}, {chain([]Op{OpLt, OpLt}, k("1"), k("null"), k("3")), "null"}, {chain([]Op{OpLt, OpGt}, k("1"), k("2"), k("3")), "false"},
		{bin(OpEq, moment(value.DateTime, "2020-01-01T00:00Z"), moment(value.DateTime, "2020-01-01T01:00+01:00")), "true"},
		{bin(OpLt, moment(value.Duration, "P1M"), moment(value.Duration, "P30D")), "null"}, {bin(OpLt, moment(value.Date, "2020-01-01"), moment(value.Date, "2020-01-02")), "true"},
		{bin(OpIn, k("1"), k("[]")), "false"}, {bin(OpIn, k("null"), k("[]")), "false"}, {bin(OpIn, k("null"), k("[null]")), "null"}, {bin(OpIn, k("3"), k("[1, null, 3]")), "true"},
		{bin(OpIn, k("3"), k("[1, null]")), "null"}, {bin(OpIn, k("[1]"), k("[[1, null]]")), "false"}, {bin(OpIn, k("[1, 2]"), k("[[1, null]]")), "null"}, {bin(OpIn, k("1"), k("null")), "null"},
		{bin(OpIn, k("1"), k("2")), "!InvalidArgumentType"},
		{bin(OpStartsWith, k("'abc'"), k("'ab'")), "true"}, {bin(OpEndsWith, k("'abc'"), k("'bc'")), "true"}, {bin(OpContains, k("'abc'"), k("''")), "true"}, {bin(OpStartsWith, k("1"), k("'a'")), "null"},
		{bin(OpContains, k("'abc'"), k("null")), "null"}, {bin(OpRegex, k("'abc'"), k("'a.*'")), "true"}, {bin(OpRegex, k("'abc'"), k("'b'")), "false"}, {bin(OpRegex, k("'abc'"), k("'('")), "!ArgumentError"},
	})
}

func TestLogic(t *testing.T) {
	T, F, N := k("true"), k("false"), k("null")
	boom := bin(OpDiv, k("1"), k("0"))
	check(t, []evalCase{
		{and(T, N), "null"}, {and(F, N), "false"}, {and(N, F), "false"}, {and(T, T, T), "true"}, {or(F, N), "null"}, {or(N, T), "true"}, {or(F, F), "false"},
		{un(OpNot, N), "null"}, {un(OpNot, T), "false"}, {bin(OpXor, T, F), "true"}, {bin(OpXor, T, T), "false"}, {bin(OpXor, T, N), "null"},
		{and(F, bin(OpEq, boom, k("1"))), "false"}, {or(T, bin(OpEq, boom, k("1"))), "true"}, {and(T, bin(OpEq, boom, k("1"))), "!DivisionByZero"},
		{and(k("1"), T), "!InvalidArgumentType"}, {un(OpNot, k("1")), "!InvalidArgumentType"}, {un(OpIsNull, N), "true"}, {un(OpIsNotNull, N), "false"},
		{fn("coalesce", N, k("1"), boom), "1"}, {fn("coalesce", N, N), "null"}, {fn("coalesce", N, boom), "!DivisionByZero"},
		{&Case{Whens: []When{{F, boom}, {N, boom}, {T, k("2")}}, Else: boom}, "2"}, {&Case{Whens: []When{{F, k("1")}}}, "null"},
		{&Case{Subject: k("1"), Whens: []When{{k("null"), k("'n'")}, {k("1.0"), k("'one'")}}, Else: k("'x'")}, "'one'"},
		{&Case{Subject: k("null"), Whens: []When{{k("null"), k("'n'")}}, Else: k("'x'")}, "'x'"},
	})
}

func TestListsAndMaps(t *testing.T) {
	l := k("[1, 2, 3, 4, 5]")
	sl := func(from, to Expr) Expr { return &Slice{X: l, From: from, To: to} }
	x := col(9)
	comp := func(list, pred, m Expr) Expr { return &ListComp{Slot: 9, List: list, Pred: pred, Map: m} }
	q := func(kind QuantKind, list string, pred Expr) Expr {
		return &Quantifier{Kind: kind, Slot: 9, List: k(list), Pred: pred}
	}
	gt := bin(OpGt, x, k("2"))
	check(t, []evalCase{
		{&Index{X: l, I: k("0")}, "1"}, {&Index{X: l, I: k("-1")}, "5"}, {&Index{X: l, I: k("5")}, "null"}, {&Index{X: l, I: k("null")}, "null"}, {&Index{X: l, I: k("'x'")}, "!InvalidArgumentType"},
		{&Index{X: k("{a: 1}"), I: k("'a'")}, "1"}, {&Index{X: k("{a: 1}"), I: k("1")}, "!MapElementAccessByNonString"}, {&Index{X: k("1"), I: k("1")}, "!InvalidArgumentType"}, {&Index{X: k("null"), I: k("1")}, "null"},
		{sl(k("1"), k("3")), "[2, 3]"}, {sl(nil, k("-2")), "[1, 2, 3]"}, {sl(k("-2"), nil), "[4, 5]"}, {sl(k("3"), k("1")), "[]"}, {sl(k("0"), k("99")), "[1, 2, 3, 4, 5]"}, {sl(k("null"), k("1")), "null"},
		{prop(k("{a: {b: 7}}"), "a"), "{b: 7}"}, {prop(k("{A: 1}"), "a"), "null"}, {prop(k("null"), "a"), "null"}, {prop(k("1"), "a"), "!InvalidArgumentType"},
		{list(k("1"), k("null"), k("'a'")), "[1, null, 'a']"}, {&MapLit{Keys: []string{"bb", "a"}, Vals: []Expr{k("1"), k("null")}}, "{a: null, bb: 1}"},
		{comp(l, gt, bin(OpMul, x, k("10"))), "[30, 40, 50]"}, {comp(l, nil, nil), "[1, 2, 3, 4, 5]"}, {comp(k("null"), nil, nil), "null"}, {comp(k("[]"), gt, nil), "[]"}, {comp(k("[null, 3, 1]"), gt, nil), "[3]"},
		{comp(l, bin(OpEq, bin(OpMod, x, k("2")), k("0")), nil), "[2, 4]"}, {comp(k("1"), nil, nil), "!InvalidArgumentType"},
		{q(All, "[3, 4]", gt), "true"}, {q(All, "[3, null]", gt), "null"}, {q(All, "[1, null]", gt), "false"}, {q(All, "[]", gt), "true"}, {q(AnyOf, "[1, null]", gt), "null"}, {q(AnyOf, "[1, 3, null]", gt), "true"},
		{q(AnyOf, "[]", gt), "false"}, {q(NoneOf, "[1, null]", gt), "null"}, {q(NoneOf, "[3, null]", gt), "false"}, {q(NoneOf, "[1]", gt), "true"}, {q(Single, "[3]", gt), "true"}, {q(Single, "[3, 4, null]", gt), "false"},
		{q(Single, "[3, null]", gt), "null"}, {q(Single, "[1]", gt), "false"}, {q(Single, "null", gt), "null"},
		{&Reduce{AccSlot: 8, Slot: 9, Init: k("0"), List: l, Body: bin(OpAdd, col(8), x)}, "15"}, {&Reduce{AccSlot: 8, Slot: 9, Init: k("'z'"), List: k("[]"), Body: col(8)}, "'z'"},
		{&Reduce{AccSlot: 8, Slot: 9, Init: k("0"), List: k("null"), Body: col(8)}, "null"},
		{&MapProj{X: k("{a: 1, b: 2}"), Items: []ProjItem{{Key: "a"}, {Key: "z"}, {Key: "c", Val: k("3")}}}, "{a: 1, c: 3, z: null}"},
		{&MapProj{X: k("{a: 1, b: 2}"), Items: []ProjItem{{All: true}, {Key: "a", Val: k("9")}}}, "{a: 9, b: 2}"},
		{comp(k("[[1, 2], [3]]"), nil, &ListComp{Slot: 10, List: x, Map: bin(OpAdd, col(10), fn("size", x))}), "[[3, 4], [4]]"},
	})
}

func TestFunctions(t *testing.T) {
	big := k("9223372036854775807")
	check(t, []evalCase{
		{fn("toInteger", k("'1.9'")), "1"}, {fn("toInteger", k("'foo'")), "null"}, {fn("toInteger", k("-2.7")), "-2"}, {fn("toInteger", k("''")), "null"}, {fn("toInteger", k("[]")), "!InvalidArgumentValue"},
		{fn("toInteger", k("'9223372036854775807'")), "9223372036854775807"}, {fn("toInteger", k("'-9223372036854775808'")), "-9223372036854775808"}, {fn("toInteger", k("'9223372036854775808'")), "!ArgumentError"},
		{fn("toInteger", k("1e300")), "!ArgumentError"}, {fn("toIntegerOrNull", k("1e300")), "null"}, {fn("toIntegerOrNull", k("[]")), "null"}, {fn("toIntegerList", k("['1', 'x', 2.5]")), "[1, null, 2]"},
		{fn("toFloat", k("'1e3'")), "1000.0"}, {fn("toFloat", k("1")), "1.0"}, {fn("toFloat", k("true")), "!TypeError"}, {fn("toBoolean", k("'TRUE'")), "true"}, {fn("toBoolean", k("' tru '")), "null"},
		{fn("toBoolean", k("1.0")), "!InvalidArgumentValue"}, {fn("toString", k("1.0")), "'1.0'"}, {fn("toString", k("true")), "'true'"}, {fn("toString", k("{}")), "!InvalidArgumentValue"},
		{fn("size", k("'日本'")), "2"}, {fn("size", k("[1, null]")), "2"}, {fn("size", k("null")), "null"}, {fn("head", k("[]")), "null"}, {fn("last", k("[1, 2]")), "2"}, {fn("tail", k("[1, 2, 3]")), "[2, 3]"},
		{fn("reverse", k("'aé日'")), "'日éa'"}, {fn("reverse", k("[1, 2]")), "[2, 1]"}, {fn("range", k("5"), k("1"), k("-2")), "[5, 3, 1]"}, {fn("range", k("1"), k("0")), "[]"}, {fn("range", k("1"), k("5"), k("0")), "!NumberOutOfRange"},
		{fn("range", k("1"), big), "!OutOfMemory"}, {fn("range", big, big), "[9223372036854775807]"}, {fn("range", k("1"), k("5"), k("10")), "[1]"},
		{fn("substring", k("'abc'"), k("1")), "'bc'"}, {fn("substring", k("'abc'"), k("1"), big), "'bc'"}, {fn("substring", k("'abc'"), k("null"), k("1")), "!InvalidArgumentValue"}, {fn("substring", k("'abc'"), k("-1")), "!ArgumentError"}, {fn("substring", k("'abc'"), k("9")), "''"},
		{fn("left", k("'abc'"), big), "'abc'"}, {fn("right", k("'日本語'"), k("2")), "'本語'"}, {fn("left", k("null"), k("1")), "null"}, {fn("left", k("'a'"), k("-1")), "!ArgumentError"},
		{fn("split", k("'a,b,,c'"), k("','")), "['a', 'b', '', 'c']"}, {fn("split", k("''"), k("','")), "['']"}, {fn("split", k("'ab'"), k("''")), "['a', 'b']"}, {fn("split", k("'a;b,c'"), k("[';', ',']")), "['a', 'b', 'c']"},
		{fn("replace", k("'aaa'"), k("'aa'"), k("'b'")), "'ba'"}, {fn("trim", k("'  a '")), "'a'"}, {fn("lTrim", k("' a '")), "'a '"}, {fn("rtrim", k("' a '")), "' a'"}, {fn("toUpper", k("'aß'")), "'Aß'"},
		{fn("abs", k("-3")), "3"}, {fn("abs", k("-9223372036854775808")), "!IntegerOverflow"}, {fn("sign", k("-2.5")), "-1"}, {fn("ceil", k("1.2")), "2.0"}, {fn("floor", k("-1.2")), "-2.0"}, {fn("round", k("2.5")), "3.0"},
		{fn("round", k("-2.5")), "-2.0"}, {fn("round", k("0.285"), k("2")), "0.29"}, {fn("round", k("-1.5"), k("0"), k("'HALF_EVEN'")), "-2.0"}, {fn("round", k("1.249"), k("1"), k("'UP'")), "1.3"}, {fn("sqrt", k("-1")), "NaN"},
		{fn("isEmpty", k("''")), "true"}, {fn("isNaN", k("NaN")), "true"}, {fn("nullIf", k("1"), k("1.0")), "null"}, {fn("nullIf", k("1"), k("2")), "1"}, {fn("valueType", k("[1, null]")), "'LIST<INTEGER> NOT NULL'"}, {fn("valueType", k("null")), "'NULL'"},
		{fn("keys", k("{b: null, a: 1}")), "['a', 'b']"}, {fn("properties", k("{a: 1}")), "{a: 1}"}, {fn("timestamp"), "1796054400005"}, {fn("length", k("[]")), "!TypeError"},
		{fn("atan2", k("1"), k("1")), "0.7853981633974483"}, {fn("char_length", k("'日'")), "1"}, {fn("normalize", k("'e\u0301'")), "'é'"},
	})
}

func TestTemporal(t *testing.T) {
	add := func(kind value.Kind, text, dur string) Expr {
		return bin(OpAdd, moment(kind, text), moment(value.Duration, dur))
	}
	dt := fn("datetime", k("{epochMillis: 1450000000000}"))
	check(t, []evalCase{
		{add(value.Date, "2015-01-31", "P1M"), "'2015-02-28'"}, {add(value.Date, "2016-01-31", "P1M"), "'2016-02-29'"}, {add(value.Date, "2015-01-01", "PT25H"), "'2015-01-02'"},
		{add(value.LocalTime, "23:00", "PT2H"), "'01:00'"}, {add(value.LocalDateTime, "2015-12-31T23:59:59", "PT1.5S"), "'2016-01-01T00:00:00.5'"}, {add(value.DateTime, "2015-03-28T12:00[Europe/Berlin]", "P1D"), "'2015-03-29T12:00+02:00[Europe/Berlin]'"},
		{add(value.DateTime, "2015-03-28T12:00[Europe/Berlin]", "PT24H"), "'2015-03-29T13:00+02:00[Europe/Berlin]'"}, {bin(OpSub, moment(value.Date, "2015-03-31"), moment(value.Duration, "P1M")), "'2015-02-28'"},
		{bin(OpAdd, moment(value.Duration, "P1Y"), moment(value.Duration, "P1M1D")), "'P1Y1M1D'"}, {bin(OpMul, moment(value.Duration, "P1DT1H"), k("2")), "'P2DT2H'"}, {bin(OpDiv, moment(value.Duration, "P1D"), k("2")), "'PT12H'"},
		{bin(OpAdd, k("1"), moment(value.Duration, "P1D")), "!InvalidArgumentType"},
		{dt, "'2015-12-13T09:46:40Z'"}, {prop(dt, "month"), "12"}, {prop(dt, "day"), "13"}, {prop(dt, "epochMillis"), "1450000000000"}, {prop(moment(value.Date, "1984-10-11"), "week"), "41"}, {prop(moment(value.Date, "1984-10-11"), "dayOfQuarter"), "11"},
		{prop(moment(value.Date, "1984-10-11"), "hour"), "!ArgumentError"}, {prop(moment(value.Duration, "P1Y4M10DT1H1M1.111111111S"), "minutesOfHour"), "1"}, {prop(moment(value.DateTime, "1984-11-11T12:31:14.645876123+01:00"), "offsetMinutes"), "60"},
		{fn("date", k("'2015-07-21'")), "'2015-07-21'"}, {fn("date", k("{year: 1984, week: 10, dayOfWeek: 3}")), "'1984-03-07'"}, {fn("date", k("{year: 1984, quarter: 3, dayOfQuarter: 45}")), "'1984-08-14'"}, {fn("date", k("{year: 1984, ordinalDay: 202}")), "'1984-07-20'"},
		{fn("date", k("{month: 3}")), "!ArgumentError"}, {fn("date", k("'nope'")), "!InvalidText"}, {fn("localtime", k("{hour: 12, minute: 31, second: 14, millisecond: 645, microsecond: 876, nanosecond: 123}")), "'12:31:14.645876123'"},
		{fn("time", k("{hour: 12, minute: 31, timezone: '+01:00'}")), "'12:31+01:00'"}, {fn("datetime", k("{year: 1984, month: 10, day: 11, hour: 12, timezone: 'Europe/Berlin'}")), "'1984-10-11T12:00+01:00[Europe/Berlin]'"},
		{fn("date", fn("datetime")), "'2026-11-30'"}, {fn("localdatetime"), "'2026-11-30T16:00:00.005'"}, {fn("duration", k("{days: 1, hours: 12}")), "'P1DT12H'"}, {fn("duration", k("{months: 0.75}")), "'P22DT19H51M49.5S'"}, {fn("duration", k("'P14DT16H12M'")), "'P14DT16H12M'"},
		{fn("duration", k("{seconds: 2, milliseconds: -1}")), "'PT1.999S'"}, {fn("date", k("null")), "null"},
	})
}

func TestDurationBetweenAndTruncate(t *testing.T) {
	date := func(s string) Expr { return moment(value.Date, s) }
	dt := func(s string) Expr { return moment(value.DateTime, s) }
	check(t, []evalCase{
		{fn("duration.between", date("1984-10-11"), date("2015-06-24")), "'P30Y8M13D'"}, {fn("duration.between", moment(value.LocalTime, "14:30"), dt("2015-07-21T21:40:32.142+0100")), "'PT7H10M32.142S'"},
		{fn("duration.between", dt("2014-07-21T21:40:36.143+0200"), dt("2015-07-21T21:40:32.142+0100")), "'P1YT59M55.999S'"}, {fn("duration.between", date("-999999999-01-01"), date("+999999999-12-31")), "'P1999999998Y11M30D'"},
		{fn("duration.between", dt("2017-10-28T23:00+02:00[Europe/Berlin]"), dt("2017-10-29T04:00+01:00[Europe/Berlin]")), "'PT6H'"}, {fn("duration.inDays", moment(value.LocalDateTime, "2015-07-21T21:40:32.142"), date("2015-06-24")), "'P-27D'"},
		{fn("duration.inMonths", date("2018-03-11"), date("2016-06-24")), "'P-1Y-8M'"}, {fn("duration.inSeconds", date("1984-10-11"), date("2015-06-24")), "'PT269112H'"}, {fn("duration.between", k("null"), date("2015-06-24")), "null"},
		{fn("date.truncate", k("'millennium'"), date("2017-10-11"), k("{day: 2}")), "'2000-01-02'"}, {fn("date.truncate", k("'week'"), date("1984-10-11"), k("{dayOfWeek: 2}")), "'1984-10-09'"},
		{fn("datetime.truncate", k("'year'"), dt("1984-10-11T12:31:14.645-01:00"), k("{timezone: 'Europe/Berlin'}")), "'1984-01-01T00:00+01:00[Europe/Berlin]'"}, {fn("localtime.truncate", k("'millisecond'"), moment(value.LocalTime, "12:31:14.645876123"), k("{nanosecond: 2}")), "'12:31:14.645000002'"},
		{fn("date.truncate", k("'hour'"), date("2017-10-11")), "!ArgumentError"}, {fn("date.truncate", k("'fortnight'"), date("2017-10-11")), "!ArgumentError"},
	})
}

func TestCheckSignatures(t *testing.T) {
	d, _ := Lookup("SIZE")
	if ty, err := d.Check([]Type{TString}); err != nil || !ty.Is(TInt.Kinds) {
		t.Errorf("%v %v", ty, err)
	}
	_, err := d.Check([]Type{TPath})
	if e := dberr.As(err); e == nil || e.Token != "InvalidArgumentType" {
		t.Errorf("size(path): %v", err)
	}
	_, err = d.Check(nil)
	if e := dberr.As(err); e == nil || e.Token != "InvalidNumberOfArguments" {
		t.Errorf("size(): %v", err)
	}
	for _, d := range Functions() {
		if d.Description == "" || d.Category == "" || len(d.Sigs) == 0 {
			t.Errorf("%s is not described", d.Name)
		}
		for i := range d.Sigs {
			_ = d.Signature(i)
		}
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct {
		e    Expr
		want string
	}{
		{bin(OpAdd, k("1"), bin(OpMul, k("2"), k("3"))), "7"}, {bin(OpDiv, k("1"), k("0")), "1 / 0"}, {bin(OpAdd, col(1), bin(OpAdd, k("1"), k("1"))), "c1 + 2"},
		{fn("rand"), "rand()"}, {fn("timestamp"), "timestamp()"}, {fn("pi"), "3.141592653589793"}, {and(k("true"), bin(OpEq, k("1"), k("1"))), "true"},
		{bin(OpAdd, k("9223372036854775807"), k("1")), "9223372036854775807 + 1"},
	} {
		if got := String(Fold(c.e)); got != c.want {
			t.Errorf("%s folds to %s, want %s", String(c.e), got, c.want)
		}
	}
}

func TestPrintEqualFreeSlots(t *testing.T) {
	e := and(or(bin(OpEq, prop(col(1), "name"), k("'Ada'")), un(OpNot, col(2))), &HasLabels{X: col(1), Labels: []string{"A", "B"}, Hint: NoSlot},
		&Quantifier{Kind: AnyOf, Slot: 9, List: col(3), Pred: bin(OpGt, bin(OpMul, bin(OpAdd, &Col{Slot: 9, Hint: NoSlot, Name: "x"}, k("1")), k("2")), col(4))})
	want := "(c1.name = 'Ada' OR NOT c2) AND c1:A:B AND any(x IN c3 WHERE (x + 1) * 2 > c4)"
	if got := String(e); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	same := Rewrite(e, func(e Expr) Expr { return e })
	if same != e || !Equal(e, same) {
		t.Error("an identity rewrite must share")
	}
	other := Rewrite(e, func(e Expr) Expr {
		if c, ok := e.(*Col); ok && c.Slot == 4 {
			return col(5)
		}
		return e
	})
	if Equal(e, other) || String(e) != want {
		t.Error("rewrite changed the original or nothing")
	}
	if got := fmt.Sprint(FreeSlots(e)); got != "[1 2 3 4]" {
		t.Error(got)
	}
}

// anyExpr draws an expression over columns 0-4 (int, float, string, bool, mixed) and, inside lambdas, slot 9.
func anyExpr(t *rapid.T, depth int, inner bool) Expr {
	if depth == 0 {
		n := 6
		if inner {
			n = 7
		}
		switch i := rapid.IntRange(0, n).Draw(t, "leaf"); i {
		case 7:
			return col(9)
		case 5, 6:
			return k(rapid.SampledFrom([]string{"0", "1", "-2", "3.5", "'a'", "''", "true", "false", "null", "[1, null]", "{a: 1}", "9223372036854775807", "NaN"}).Draw(t, "const"))
		default:
			return col(i)
		}
	}
	sub := func() Expr { return anyExpr(t, rapid.IntRange(0, depth-1).Draw(t, "depth"), inner) }
	switch rapid.IntRange(0, 12).Draw(t, "node") {
	case 0, 1:
		return bin(rapid.SampledFrom([]Op{OpAdd, OpSub, OpMul, OpDiv, OpMod}).Draw(t, "op"), sub(), sub())
	case 2, 3:
		return bin(rapid.SampledFrom([]Op{OpEq, OpNe, OpLt, OpLe, OpGt, OpGe}).Draw(t, "op"), sub(), sub())
	case 4:
		return and(sub(), sub(), sub())
	case 5:
		return or(sub(), sub())
	case 6:
		return un(rapid.SampledFrom([]Op{OpNot, OpIsNull, OpIsNotNull, OpNeg}).Draw(t, "op"), sub())
	case 7:
		return &Case{Whens: []When{{sub(), sub()}, {sub(), sub()}}, Else: sub()}
	case 8:
		return fn("coalesce", sub(), sub(), sub())
	case 9:
		return bin(OpIn, sub(), list(sub(), sub(), sub()))
	case 10:
		return &Case{Subject: sub(), Whens: []When{{sub(), sub()}}}
	case 11:
		if inner {
			return fn("toString", sub())
		}
		in := func() Expr { return anyExpr(t, depth-1, true) }
		switch rapid.IntRange(0, 2).Draw(t, "lambda") {
		case 0:
			return &ListComp{Slot: 9, List: list(sub(), sub()), Pred: in(), Map: in()}
		case 1:
			return &Quantifier{Kind: QuantKind(rapid.IntRange(0, 3).Draw(t, "kind")), Slot: 9, List: list(sub(), sub(), sub()), Pred: in()}
		}
		return &Reduce{AccSlot: 8, Slot: 9, Init: sub(), List: list(sub(), sub()), Body: bin(OpAdd, col(8), in())}
	}
	return fn("size", list(sub(), sub()))
}

func testBatch(n int) *Batch {
	ints := []int64{0, 1, -1, 7, math.MaxInt64, -3}
	b := &Batch{N: n, Cols: make([]*vec.Column, 10)}
	for i := range 5 {
		b.Cols[i] = new(vec.Column)
	}
	mixed := []string{"null", "1", "'x'", "2.5", "true", "[1]", "{a: 1}", "NaN"}
	for i := range n {
		b.Cols[0].Append(value.NewInt(ints[i%len(ints)]))
		b.Cols[1].Append(value.NewFloat(float64(i) / 2))
		b.Cols[2].Append(value.NewString(strings.Repeat("a", i%3)))
		b.Cols[3].Append(value.NewBool(i%2 == 0))
		b.Cols[4].Append(k(mixed[i%len(mixed)]).(*Const).V)
	}
	return b
}

// X1, X2: a row's result does not depend on the rows beside it, nor on how they were selected; a batch raises iff a row does.
func TestBatchAgreesWithRows(t *testing.T) {
	const n = 24
	b := testBatch(n)
	env := testEnv()
	rapid.Check(t, func(t *rapid.T) {
		e := anyExpr(t, 3, false)
		p, err := Compile(e)
		if err != nil {
			t.Fatal(err)
		}
		var all vec.Column
		allErr := p.Eval(env, b, nil, &all)
		sel := make([]uint16, 0, n) // never nil: that means all rows
		var want []value.Value
		failed := false
		for i := range uint16(n) {
			var one vec.Column
			if err := p.Eval(env, b, []uint16{i}, &one); err != nil {
				failed = true
				continue
			}
			if one.Len() != 1 {
				t.Fatalf("%s: %d rows for one", String(e), one.Len())
			}
			sel, want = append(sel, i), append(want, one.Value(0).Clone())
		}
		if (allErr != nil) != failed {
			t.Fatalf("%s: the batch says %v, rows failed: %v", String(e), allErr, failed)
		}
		var some vec.Column
		if err := p.Eval(env, b, sel, &some); err != nil || some.Len() != len(sel) {
			t.Fatalf("%s: %v, %d rows of %d", String(e), err, some.Len(), len(sel))
		}
		for i, w := range want {
			if got := some.Value(i); got.Kind() != w.Kind() || value.Compare(got, w) != 0 {
				t.Fatalf("%s row %d: %s in the batch, %s alone", String(e), sel[i], brief(got), brief(w))
			}
		}
		// A predicate selects exactly the rows whose value is true; a value that is no boolean raises.
		isBool := true
		var trues []uint16
		for i, w := range want {
			if w.Kind() == value.Bool && w.Bool() {
				trues = append(trues, sel[i])
			}
			isBool = isBool && (w.Kind() == value.Bool || w.IsNull())
		}
		got, err := p.Filter(env, b, sel, nil)
		if isBool && (err != nil || fmt.Sprint(got) != fmt.Sprint(trues)) && len(got)+len(trues) > 0 {
			t.Fatalf("%s: filter %v %v, want %v", String(e), got, err, trues)
		}
	})
}

func TestLambdasOverManyElements(t *testing.T) {
	var lb value.ListBuilder
	for i := range 3000 {
		lb.Add(value.NewInt(int64(i)))
	}
	b := &Batch{N: 3, Cols: make([]*vec.Column, 10)}
	b.Cols[0], b.Cols[1] = new(vec.Column), new(vec.Column)
	for i, v := range []value.Value{lb.List(), {}, value.NewList(value.NewInt(5))} {
		b.Cols[0].Append(v)
		b.Cols[1].Append(value.NewInt(int64(i)))
	}
	p, err := Compile(fn("size", &ListComp{Slot: 9, List: col(0), Pred: bin(OpEq, bin(OpMod, col(9), k("2")), bin(OpMod, col(1), k("2")))}))
	if err != nil {
		t.Fatal(err)
	}
	var out vec.Column
	if err := p.Eval(testEnv(), b, nil, &out); err != nil {
		t.Fatal(err)
	}
	if out.Value(0).Int() != 1500 || !out.IsNull(1) || out.Value(2).Int() != 0 {
		t.Errorf("%v %v %v", brief(out.Value(0)), brief(out.Value(1)), brief(out.Value(2)))
	}
}

// IN over a list that is the same in every row goes through a table; nulls and kinds that the table cannot hold stay right.
func TestInTable(t *testing.T) {
	b := testBatch(200)
	for _, text := range []string{"[0, 1, 2.0, 'a', 'aa', true, 7, 100, 101]", "[0, 1, 2.0, 'a', null, true, 7, 100, 101]", "[[1], {a: 1}, 1, 2, 3, 4, 5, 6, 7]"} {
		for c := range 5 {
			p, _ := Compile(bin(OpIn, col(c), k(text)))
			var out vec.Column
			if err := p.Eval(testEnv(), b, nil, &out); err != nil {
				t.Fatal(err)
			}
			l := k(text).(*Const).V
			for i := range b.N {
				if want := in(&call{env: &Env{}}, b.Cols[c].Value(i), l).Value(); value.Compare(out.Value(i), want) != 0 {
					t.Fatalf("%s IN %s: %s", brief(b.Cols[c].Value(i)), text, brief(out.Value(i)))
				}
			}
		}
	}
}

// X3: one program serves many goroutines.
func TestProgramIsShared(t *testing.T) {
	b := testBatch(32)
	e := list(&Chain{Ops: []Op{OpLe, OpLt}, Args: []Expr{k("0"), col(0), k("8")}}, bin(OpAdd, col(2), k("'!'")), fn("coalesce", &Case{Subject: col(1), Whens: []When{{k("0"), k("null")}}, Else: k("7")}, k("9")),
		&ListComp{Slot: 9, List: k("[1, 2, 3]"), Pred: bin(OpGt, col(9), col(1)), Map: fn("toString", col(9))}, bin(OpIn, col(4), k("[1, 'x']")), bin(OpRegex, col(2), k("'a*'")))
	p, err := Compile(e)
	if err != nil {
		t.Fatal(err)
	}
	var want vec.Column
	if err := p.Eval(testEnv(), b, nil, &want); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var out vec.Column
			for range 50 {
				if err := p.Eval(testEnv(), b, nil, &out); err != nil {
					t.Error(err)
					return
				}
				for i := range b.N {
					if value.Compare(out.Value(i), want.Value(i)) != 0 {
						t.Errorf("row %d: %s, want %s", i, brief(out.Value(i)), brief(want.Value(i)))
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func numbers(n int) *Batch {
	b := &Batch{N: n, Cols: make([]*vec.Column, 3)}
	for i := range b.Cols {
		w := make([]uint64, 0)
		b.Cols[i] = new(vec.Column)
		w = b.Cols[i].Fill(value.Int, n)
		for j := range w {
			w[j] = uint64(j * (i + 1) % 1000)
		}
	}
	return b
}

func hot() Expr {
	return and(bin(OpGt, bin(OpAdd, bin(OpMul, col(0), k("3")), col(1)), k("2000")), bin(OpLt, col(2), k("100")))
}

// X5 and rules E2: at most 0.01 allocations a row on typed columns.
func TestTypedPathsDoNotAllocate(t *testing.T) {
	b := numbers(1024)
	env := testEnv()
	p, err := Compile(hot())
	if err != nil {
		t.Fatal(err)
	}
	sel := make([]uint16, 0, 2048)
	var out vec.Column
	run := func() {
		if sel, err = p.Filter(env, b, nil, sel[:0]); err != nil {
			t.Fatal(err)
		}
		if err = p.Eval(env, b, nil, &out); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n > 10 && !raceEnabled {
		t.Errorf("%v allocations for 2,048 rows", n)
	}
}

func benchmark(b *testing.B, e Expr, rows int) {
	batch := numbers(rows)
	p, err := Compile(e)
	if err != nil {
		b.Fatal(err)
	}
	env := testEnv()
	sel := make([]uint16, 0, 2048)
	b.ReportAllocs()
	for b.Loop() {
		if sel, err = p.Filter(env, batch, nil, sel[:0]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

func BenchmarkFilter1024(b *testing.B) { benchmark(b, hot(), 1024) }
func BenchmarkFilter1(b *testing.B)    { benchmark(b, hot(), 1) }
func BenchmarkCompare1024(b *testing.B) {
	benchmark(b, bin(OpLt, col(2), k("100")), 1024)
}
func BenchmarkCompile(b *testing.B) {
	e := hot()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(e); err != nil {
			b.Fatal(err)
		}
	}
}

// A function of constants is computed once for a batch: the rows share its value.
func TestFunctionOfConstants(t *testing.T) {
	calls := 0
	d := &Def{Name: "counted", Sigs: sigs(sig(TInt, TInt)), kernel: func(c *call, a []value.Value) (value.Value, error) {
		calls++
		return value.NewInt(a[0].Int() * 2), nil
	}}
	for _, c := range []struct {
		arg  Expr
		want int
	}{{k("21"), 1}, {col(0), 1000}, {&Func{Def: d, Args: []Expr{k("21")}}, 2}} {
		p, err := Compile(&Func{Def: d, Args: []Expr{c.arg}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // also with a frame that was used before
			calls = 0
			var out vec.Column
			if err := p.Eval(testEnv(), numbers(1000), nil, &out); err != nil {
				t.Fatal(err)
			}
			if calls != c.want || out.Len() != 1000 || out.Value(0).Kind() != value.Int || c.want == 1 && out.Value(999).Int() != 42 {
				t.Errorf("%d calls, want %d; %d values", calls, c.want, out.Len())
			}
		}
	}
}
