package sqltype

import (
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// TestText holds the text forms: what goes in, what a PostgreSQL 15 prints for it, and its binary form in hex.
func TestText(t *testing.T) {
	for _, c := range []struct {
		typ           *Type
		in, out, wire string
	}{
		{Bool, "yes", "t", "01"}, {Bool, " FALSE ", "f", "00"}, {Bool, "of", "f", "00"}, {Bool, "tru", "t", "01"},
		{Int2, "-32768", "-32768", "8000"}, {Int4, " 42 ", "42", "0000002a"}, {Int4, "+7", "7", "00000007"},
		{Int8, "-9223372036854775808", "-9223372036854775808", "8000000000000000"},
		{OID, "4294967295", "4294967295", "ffffffff"},
		{Float8, "1", "1", "3ff0000000000000"}, {Float8, "1e15", "1e+15", ""}, {Float8, "100000000000000", "100000000000000", ""},
		{Float8, "999999999999999.9", "999999999999999.9", ""}, {Float8, "0.0001", "0.0001", ""}, {Float8, "0.00001", "1e-05", ""},
		{Float8, "1e100", "1e+100", ""}, {Float8, "-0", "-0", "8000000000000000"}, {Float8, "inf", "Infinity", "7ff0000000000000"},
		{Float8, "NaN", "NaN", ""}, {Float8, "0.1", "0.1", ""}, {Float8, "123456.789", "123456.789", ""},
		{Float4, "0.1", "0.1", "3dcccccd"}, {Float4, "1234567", "1.234567e+06", ""}, {Float4, "123456", "123456", ""},
		{Numeric, "1.50", "1.50", "0002000000000002000113" + "88"}, {Numeric, "0", "0", "0000000000000000"}, {Numeric, "-12345.678", "-12345.678", "00030001400000030001" + "0929" + "1a7c"},
		{Numeric, "0.00001", "0.00001", "0001fffe00000005" + "03e8"}, {Numeric, "1e10", "10000000000", "0001000200000000" + "0064"}, {Numeric, "NaN", "NaN", "00000000c0000000"},
		{Numeric, "0.00", "0.00", "0000000000000002"}, {Numeric, "10000", "10000", "0001000100000000" + "0001"},
		{Text, "a'b", "a'b", "612762"}, {Name, strings.Repeat("x", 70), strings.Repeat("x", 63), ""}, {Char, "vv", "v", "76"},
		{Bytea, `\x00ff`, `\x00ff`, "00ff"}, {Bytea, `a\\b\001`, `\x615c6201`, "615c6201"}, {Bytea, "", `\x`, ""},
		{UUID, "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11"},
		{JSON, `{"b":1,  "a":2}`, `{"b":1,  "a":2}`, ""}, {JSONB, `{"bb":1,"a":[1,2.50,null,"x\u00e9"],"a":3}`, `{"a": 3, "bb": 1}`, ""},
		{JSONB, `[1, 2.50, true, null, "é"]`, `[1, 2.50, true, null, "é"]`, ""},
		{Date, "2020-02-29", "2020-02-29", "00001cc4"}, {Date, "0044-03-15 BC", "0044-03-15 BC", ""}, {Date, "20200229", "2020-02-29", ""},
		{Date, "2020-02-29 10:00:00", "2020-02-29", ""},
		{Time, "10:05", "10:05:00", ""}, {Time, "23:59:59.5", "23:59:59.5", ""},
		{Timestamp, "2000-01-01 00:00:00", "2000-01-01 00:00:00", "0000000000000000"}, {Timestamp, "2020-01-02T03:04:05.678901", "2020-01-02 03:04:05.678901", ""},
		{Timestamp, "2020-01-02", "2020-01-02 00:00:00", ""}, {Timestamp, "1999-12-31 23:59:59.5", "1999-12-31 23:59:59.5", "fffffffffff85ee0"},
		{Timestamptz, "2020-01-02 03:04:05+02", "2020-01-02 01:04:05+00", ""}, {Timestamptz, "2020-01-02 03:04:05 -05:30", "2020-01-02 08:34:05+00", ""},
		{Timestamptz, "2020-01-02 03:04:05Z", "2020-01-02 03:04:05+00", ""},
		{Interval, "1 year 2 mons 3 days 04:05:06.7", "1 year 2 mons 3 days 04:05:06.7", ""}, {Interval, "PT90M", "01:30:00", ""},
		{Interval, "-1 day", "-1 days", ""}, {Interval, "1 day -02:00", "1 day -02:00:00", ""}, {Interval, "@ 2 hours ago", "-02:00:00", ""},
		{Interval, "-1 year 1 day", "-1 years +1 day", ""}, {Interval, "1.5 days", "1 day 12:00:00", ""}, {Interval, "0", "00:00:00", ""}, {Interval, "2 weeks", "14 days", ""},
		{Interval, "100 hours", "100:00:00", "00000053d1ac100000000000" + "00000000"},
		{TextArray, `{a,"b c",NULL,"NULL",""}`, `{a,"b c",NULL,"NULL",""}`, ""}, {TextArray, `{ a , "q\"\\" }`, `{a,"q\"\\"}`, ""}, {TextArray, "{}", "{}", "000000000000000000000019"},
		{TextArray, `{a b}`, `{"a b"}`, ""}, {TextArray, `{\N}`, `{N}`, ""},
		{Int4Array, "{1,NULL,3}", "{1,NULL,3}", "00000001000000010000001700000003000000010000000400000001ffffffff0000000400000003"},
		{BoolArray, "{t,f}", "{t,f}", ""},
		{Regtype, "agtype", "agtype", ""}, {Regtype, "pg_catalog.int4", "integer", "00000017"}, {Regtype, "text[]", "text[]", ""}, {Regtype, "25", "text", ""}, {Regtype, "-", "-", "00000000"},
		{Regclass, "pg_catalog.pg_class", "pg_class", "000004eb"}, {Regproc, "pg_catalog.array_in", "array_in", ""},
		{Agtype, `{"b":1,"a":[1.0,"x",null]}`, `{"a": [1.0, "x", null], "b": 1}`, "01" + hex.EncodeToString([]byte(`{"a": [1.0, "x", null], "b": 1}`))},
		{Agtype, `1.50::numeric`, `1.50::numeric`, ""},
		{Graphid, "844424930131969", "844424930131969", "0003000000000001"},
	} {
		v, err := Parse(c.typ, c.in)
		if err != nil {
			t.Errorf("%s %q: %v", c.typ, c.in, err)
			continue
		}
		got, err := AppendText(nil, c.typ, v)
		if err != nil || string(got) != c.out {
			t.Errorf("%s %q prints %q, want %q (%v)", c.typ, c.in, got, c.out, err)
		}
		again, err := Parse(c.typ, string(got))
		if err != nil || value.Compare(v, again) != 0 { // T3
			t.Errorf("%s %q does not read back: %v", c.typ, got, err)
		}
		if !BinaryOut(c.typ) {
			continue
		}
		wire, err := AppendBinary(nil, c.typ, v)
		if err != nil || c.wire != "" && hex.EncodeToString(wire) != c.wire {
			t.Errorf("%s %q is %x in binary, want %s (%v)", c.typ, c.in, wire, c.wire, err)
			continue
		}
		again, err = ParseBinary(c.typ, wire)
		if err != nil {
			t.Errorf("%s %q: binary form does not read back: %v", c.typ, c.in, err)
			continue
		}
		if back, err := AppendText(nil, c.typ, again); err != nil || string(back) != c.out {
			t.Errorf("%s %q: binary form reads back as %q (%v)", c.typ, c.in, back, err)
		}
	}
}

func TestBadText(t *testing.T) {
	for _, c := range []struct {
		typ     *Type
		in      string
		code    dberr.Code
		message string
	}{
		{Int4, "x", dberr.InvalidText, `invalid input syntax for type integer: "x"`}, {Int4, "", dberr.InvalidText, `invalid input syntax for type integer: ""`},
		{Int2, "32768", dberr.NumericOutOfRange, `value "32768" is out of range for type smallint`},
		{Int8, "9223372036854775808", dberr.NumericOutOfRange, `value "9223372036854775808" is out of range for type bigint`},
		{Float8, "1e400", dberr.NumericOutOfRange, `"1e400" is out of range for type double precision`}, {Float4, "1e39", dberr.NumericOutOfRange, ""},
		{Float8, "1_0", dberr.InvalidText, ""}, {Numeric, "1.2.3", dberr.InvalidText, ""}, {Bool, "maybe", dberr.InvalidText, `invalid input syntax for type boolean: "maybe"`},
		{Bool, "o", dberr.InvalidText, ""}, {UUID, "x", dberr.InvalidText, ""}, {Date, "2020-13-01", dberr.InvalidDatetime, ""},
		{Timestamp, "soon", dberr.InvalidDatetime, `invalid input syntax for type timestamp without time zone: "soon"`},
		{Timestamptz, "now", dberr.FeatureNotSupported, ""}, {Interval, "1 fortnight", dberr.InvalidDatetime, ""}, {JSON, "{", dberr.InvalidText, ""},
		{JSONB, "{a:1}", dberr.InvalidText, ""}, {Bytea, `\xzz`, dberr.InvalidText, ""}, {Bytea, `\9`, dberr.InvalidText, ""},
		{TextArray, "a", dberr.InvalidText, `malformed array literal: "a"`}, {TextArray, "{a,}", dberr.InvalidText, ""}, {TextArray, `{"a}`, dberr.InvalidText, ""},
		{TextArray, "{{a}}", dberr.FeatureNotSupported, ""}, {TextArray, `{a"b}`, dberr.InvalidText, ""}, {Int4Array, "{1,x}", dberr.InvalidText, ""},
		{Regtype, "nosuch", dberr.UndefinedObject, `type "nosuch" does not exist`}, {Regclass, "nosuch", dberr.UndefinedTable, `relation "nosuch" does not exist`},
		{Agtype, "{id: 1}", dberr.InvalidText, ""}, {Record, "(1)", dberr.FeatureNotSupported, ""},
	} {
		v, err := Parse(c.typ, c.in)
		if !dberr.Is(err, c.code) || c.message != "" && err.Error() != c.message {
			t.Errorf("%s %q: %v (%v), want %s %s", c.typ, c.in, err, v, c.code.SQLState(), c.message)
		}
	}
}

// TestBinaryNeverPanics feeds every type with bytes of every length that a client may send.
func TestBinaryNeverPanics(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		typ := rapid.SampledFrom(All).Draw(rt, "type")
		b := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "bytes")
		v, err := ParseBinary(typ, b)
		if err != nil {
			return
		}
		if !BinaryOut(typ) || v.IsNull() {
			return
		}
		if _, err := AppendBinary(nil, typ, v); err != nil && dberr.Is(err, dberr.Internal) {
			rt.Fatal(err)
		}
		AppendText(nil, typ, v)
	})
}

// TestRoundTrip: a number that was read from text is the same after its binary form (T3).
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		whole := rapid.StringMatching(`-?[0-9]{1,30}`).Draw(rt, "whole")
		frac := rapid.StringMatching(`(\.[0-9]{1,20})?`).Draw(rt, "frac")
		v, err := Parse(Numeric, whole+frac)
		if err != nil {
			rt.Fatal(err)
		}
		b, err := AppendBinary(nil, Numeric, v)
		if err != nil {
			rt.Fatal(err)
		}
		w, err := ParseBinary(Numeric, b)
		if err != nil {
			rt.Fatal(err)
		}
		one, _ := AppendText(nil, Numeric, v)
		two, _ := AppendText(nil, Numeric, w)
		if string(one) != string(two) {
			rt.Fatalf("%s became %s", one, two)
		}
	})
}

func TestNames(t *testing.T) {
	seen := map[uint32]bool{}
	for _, typ := range All {
		if seen[typ.OID] {
			t.Errorf("object id %d is used twice", typ.OID)
		}
		seen[typ.OID] = true
		if ByOID(typ.OID) != typ || typ != Char && ByName(typ.Internal) != typ { // char without quotes is character
			t.Errorf("%s is not found again", typ)
		}
		if typ.Elem != nil && typ != CharArray && (ByName(typ.Elem.Internal+"[]") != typ || ByName(typ.Name) != typ) {
			t.Errorf("%s is not found as an array", typ)
		}
	}
	if ByName("nosuch") != nil || ByName("nosuch[]") != nil || ByName("text[][]") != nil {
		t.Error("a type that does not exist was found")
	}
}

func FuzzParse(f *testing.F) {
	for i, s := range []string{"1", "{a,b}", `{"a": 1}`, "2020-01-01 10:00:00+02", "1 day", `\x00`, "1e400"} {
		f.Add(i, s)
	}
	f.Fuzz(func(t *testing.T, i int, s string) {
		typ := All[(i%len(All)+len(All))%len(All)]
		v, err := Parse(typ, s)
		if err != nil || v.IsNull() {
			return
		}
		AppendText(nil, typ, v)
		AppendBinary(nil, typ, v)
	})
}
