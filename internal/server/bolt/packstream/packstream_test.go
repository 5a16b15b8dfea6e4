package packstream

import (
	"bytes"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

var (
	modern = Format{ElementIDs: true, UTC: true}
	old    = Format{}
)

func encode(t testing.TB, v value.Value, f Format) string {
	t.Helper()
	b, err := Append(nil, v, f)
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

func decode(t testing.TB, text string) (value.Value, error) {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDecoder(b)
	v, err := d.Value()
	if err == nil && d.Rest() != 0 {
		t.Fatalf("%s: %d bytes are left", text, d.Rest())
	}
	return v, err
}

// TestBytes: each type in each of its widths, as the specification draws them.
func TestBytes(t *testing.T) {
	str := func(n int) value.Value { return value.NewString(strings.Repeat("x", n)) }
	xs := func(n int) string { return strings.Repeat("78", n) }
	ones := func(n int) value.Value {
		var b value.ListBuilder
		for range n {
			b.Add(value.NewInt(1))
		}
		return b.List()
	}
	for _, c := range []struct {
		v    value.Value
		want string
	}{
		{value.Value{}, "c0"}, {value.NewBool(true), "c3"}, {value.NewBool(false), "c2"},
		{value.NewInt(0), "00"}, {value.NewInt(127), "7f"}, {value.NewInt(-1), "ff"}, {value.NewInt(-16), "f0"},
		{value.NewInt(-17), "c8ef"}, {value.NewInt(-128), "c880"}, {value.NewInt(128), "c90080"}, {value.NewInt(-129), "c9ff7f"},
		{value.NewInt(32767), "c97fff"}, {value.NewInt(-32768), "c98000"}, {value.NewInt(32768), "ca00008000"}, {value.NewInt(-32769), "caffff7fff"},
		{value.NewInt(math.MaxInt32), "ca7fffffff"}, {value.NewInt(math.MinInt32), "ca80000000"}, {value.NewInt(math.MaxInt32 + 1), "cb0000000080000000"},
		{value.NewInt(math.MaxInt64), "cb7fffffffffffffff"}, {value.NewInt(math.MinInt64), "cb8000000000000000"},
		{value.NewFloat(1.5), "c13ff8000000000000"}, {value.NewFloat(math.Copysign(0, -1)), "c18000000000000000"}, {value.NewFloat(math.Inf(1)), "c17ff0000000000000"},
		{str(0), "80"}, {value.NewString("é"), "82c3a9"}, {str(15), "8f" + xs(15)}, {str(16), "d010" + xs(16)}, {str(255), "d0ff" + xs(255)},
		{str(256), "d10100" + xs(256)}, {str(65535), "d1ffff" + xs(65535)}, {str(65536), "d200010000" + xs(65536)},
		{value.NewBytes([]byte{1, 2}), "cc020102"}, {value.NewBytes(make([]byte, 256)), "cd0100" + strings.Repeat("00", 256)},
		{value.NewBytes(make([]byte, 65536)), "ce00010000" + strings.Repeat("00", 65536)},
		{ones(0), "90"}, {ones(3), "93010101"}, {ones(16), "d410" + strings.Repeat("01", 16)}, {ones(256), "d50100" + strings.Repeat("01", 256)},
		{ones(65536), "d600010000" + strings.Repeat("01", 65536)},
		{value.NewMap(nil, nil), "a0"}, {value.NewMap([]string{"a"}, []value.Value{value.NewInt(1)}), "a1816101"},
		{value.NewDate(-1), "b144ff"}, {value.NewLocalTime(1), "b17401"}, {value.NewTime(1, -3600), "b25401c9f1f0"},
		{value.NewLocalDateTime(-1, 5), "b264ff05"}, {value.NewDuration(1, 2, 3, 4), "b44501020304"}, {value.NewDuration(0, 0, 0, -1), "b4450000ffca3b9ac9ff"},
		{value.NewDateTime(0, 7, 3600, ""), "b3490007c90e10"}, {value.NewDateTime(0, 7, 3600, "Europe/Paris"), "b36900078c" + hex.EncodeToString([]byte("Europe/Paris"))},
		{value.NewPoint(7203, 1, 2), "b358c91c23c13ff0000000000000c14000000000000000"},
		{value.NewPoint(4979, 1, 2, 3), "b459c91373c13ff0000000000000c14000000000000000c14008000000000000"},
	} {
		if got := encode(t, c.v, modern); got != c.want {
			t.Errorf("%s is written as %.80s, want %.80s", value.AppendTCK(nil, c.v), got, c.want)
		}
		back, err := decode(t, c.want)
		if err != nil || !value.Equivalent(back, c.v) || back.Kind() != c.v.Kind() {
			t.Errorf("%.80s is read as %.80s: %v", c.want, value.AppendTCK(nil, back), err)
		}
	}
}

// TestOldDateTimes: without the patch, 4.4 counts zoned date times from the local clock.
func TestOldDateTimes(t *testing.T) {
	for _, c := range []struct {
		v    value.Value
		want string
	}{
		{value.NewDateTime(0, 7, 3600, ""), "b346c90e1007c90e10"},
		{value.NewDateTime(0, 7, 3600, "Europe/Paris"), "b366c90e10078c" + hex.EncodeToString([]byte("Europe/Paris"))},
	} {
		if got := encode(t, c.v, old); got != c.want {
			t.Errorf("written as %s, want %s", got, c.want)
		}
		if back, err := decode(t, c.want); err != nil || !value.Equivalent(back, c.v) {
			t.Errorf("%s is read as %s: %v", c.want, value.AppendTCK(nil, back), err)
		}
	}
}

func TestNumeric(t *testing.T) {
	v, err := value.ParseNumeric("1.50")
	if err != nil {
		t.Fatal(err)
	}
	if got := encode(t, v, modern); got != "c13ff8000000000000" {
		t.Errorf("a decimal is written as %s", got)
	}
}

// TestEntities: the fields of each version, and a path that meets a node again.
func TestEntities(t *testing.T) {
	props := value.NewMap([]string{"k"}, []value.Value{value.NewInt(1)})
	n := value.NewNodeFull(5, []string{"A"}, props)
	m := value.NewNodeFull(6, nil, value.Value{})
	r := value.NewRelFull(7, 5, 6, "T", props)
	s := value.NewRelFull(8, 6, 6, "L", value.Value{})
	for _, c := range []struct {
		v              value.Value
		modern, before string
	}{
		{n, "b44e05918141a1816b018135", "b34e05918141a1816b01"},
		{r, "b8520705068154a1816b01813781358136", "b5520705068154a1816b01"},
		{value.NewPath(n), "b35091b44e05918141a1816b0181359090", "b35091b34e05918141a1816b019090"},
		// (5)-[7]->(6)-[8]->(6)<-[7]-(5)
		{value.NewPath(n, r, m, s, m, r, n),
			"b35094b44e05918141a1816b018135b44e0690a08136b44e0690a08136b44e05918141a1816b01813592b472078154a1816b018137b47208814ca081389601010202ff03",
			"b35094b34e05918141a1816b01b34e0690a0b34e0690a0b34e05918141a1816b0192b372078154a1816b01b37208814ca09601010202ff03"},
	} {
		if got := encode(t, c.v, modern); got != c.modern {
			t.Errorf("%s is written as\n%s, want\n%s", value.AppendTCK(nil, c.v), got, c.modern)
		}
		if got := encode(t, c.v, old); got != c.before {
			t.Errorf("%s in 4.4 is written as\n%s, want\n%s", value.AppendTCK(nil, c.v), got, c.before)
		}
	}
}

// TestRefused: bytes that are no value, and values that mean nothing.
func TestRefused(t *testing.T) {
	zone := func(name string) string {
		return "b3690000" + hex.EncodeToString(AppendString(nil, name))
	}
	for _, c := range []struct {
		bytes string
		code  dberr.Code
		says  string
	}{
		{"", dberr.ProtocolViolation, "ends within"},
		{"c7", dberr.ProtocolViolation, "marks no value"}, {"df", dberr.ProtocolViolation, "marks no value"}, {"dc0144", dberr.ProtocolViolation, "marks no value"},
		{"d2ffffffff", dberr.ProtocolViolation, "ends within"}, {"d6ffffffff01", dberr.ProtocolViolation, "ends within"}, {"daffffffff", dberr.ProtocolViolation, "ends within"},
		{"ceffffffff", dberr.ProtocolViolation, "ends within"}, {"cb00", dberr.ProtocolViolation, "ends within"}, {"9301", dberr.ProtocolViolation, "ends within"},
		{"81ff", dberr.ProtocolViolation, "UTF-8"}, {"a10101", dberr.ProtocolViolation, "key is no string"}, {"a2816101816102", dberr.ProtocolViolation, "twice"},
		{strings.Repeat("91", 129) + "01", dberr.ProtocolViolation, "deeper"},
		{"b15a00", dberr.ProtocolViolation, "not known"}, {"b2440000", dberr.ProtocolViolation, "has 1 fields"}, {"b1448161", dberr.ProtocolViolation, "is no INTEGER"},
		{"b34e0190a0", dberr.TypeError, "cannot be a parameter"},
		{"b174ff", dberr.ArgumentError, "nanosecond -1"}, {"b25400ca000fffff", dberr.ArgumentError, "offset"}, {"b144cb7fffffffffffffff", dberr.ArgumentError, "day"},
		{zone("Nowhere/Land"), dberr.ArgumentError, "time zone"}, {zone("../../etc/passwd"), dberr.ArgumentError, "time zone"},
		{"b35801c10000000000000000c10000000000000000", dberr.ArgumentError, "reference system"}, {"b358c91c23c17ff8000000000000c10000000000000000", dberr.ArgumentError, "finite"},
		{"b358c91373c10000000000000000c10000000000000000", dberr.ArgumentError, "3 coordinates"},
	} {
		_, err := decode(t, c.bytes)
		if !dberr.Is(err, c.code) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.40s: %v, want %v with %q", c.bytes, err, c.code, c.says)
		}
	}
	// Go's name for the zone of its own machine means nothing here, and the client is told what to send.
	if _, err := decode(t, zone("Local")); err == nil || !strings.Contains(dberr.As(err).Hint, "UTC()") {
		t.Errorf("the zone Local: %v", err)
	}
	// A value that means nothing does not stop the decoder.
	b, _ := hex.DecodeString("92b174ff0107")
	d := NewDecoder(b)
	if _, err := d.Value(); err == nil {
		t.Error("a bad time inside a list is accepted")
	}
	if v, err := d.Value(); err != nil || v.Int() != 7 {
		t.Errorf("what follows is read as %v, %v", v, err)
	}
	deep := value.NewInt(1)
	for range MaxDepth + 1 {
		deep = value.NewList(deep)
	}
	if _, err := Append(nil, deep, modern); !dberr.Is(err, dberr.LimitExceeded) {
		t.Errorf("too deep a value: %v", err)
	}
}

// FuzzDecode: any bytes give a value or an error, and a value that was read is written and read again as the same.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"c0", "92b174ff01", "a2816101816202", "d2ffffffff", "b369000083474d54", "b358c91c23c13ff0000000000000c14000000000000000", "b44501020304", "cc020102",
		"d6ffffffff", "9193a1816b9191b144ff", "b36600078c4575726f70652f5061726973"} {
		b, _ := hex.DecodeString(s)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := NewDecoder(bytes.Clone(b))
		v, err := d.Value()
		if err != nil {
			if e := dberr.As(err); e.Code == dberr.Internal {
				t.Fatalf("%x: %v", b, err)
			}
			return
		}
		if err := value.Validate(v); err != nil {
			t.Fatalf("%x gives a value that is not valid: %v", b, err)
		}
		for _, format := range []Format{modern, old} {
			out, err := Append(nil, v, format)
			if err != nil {
				t.Fatalf("%x is read as %s and cannot be written: %v", b, value.AppendTCK(nil, v), err)
			}
			again := NewDecoder(out)
			w, err := again.Value()
			if err != nil || again.Rest() > 0 {
				t.Fatalf("%x is read as %s, written as %x and not read again: %v", b, value.AppendTCK(nil, v), out, err)
			}
			if twice, _ := Append(nil, w, format); !bytes.Equal(out, twice) {
				t.Fatalf("%x is read as %s, written as %x and then as %x", b, value.AppendTCK(nil, v), out, twice)
			}
		}
	})
}

func BenchmarkAppendRow(b *testing.B) {
	row := []value.Value{value.NewInt(1 << 40), value.NewString("Ada Lovelace"), value.NewFloat(1.5), value.NewNodeFull(5, []string{"Person"}, value.NewMap([]string{"name"}, []value.Value{value.NewString("Ada")}))}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = buf[:0]
		for _, v := range row {
			buf, _ = Append(buf, v, modern)
		}
	}
}
