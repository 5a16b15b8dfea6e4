// Package sqltype holds the SQL types that PostgreSQL clients see: object ids, names, and the text and binary form of their values.
//
// A SQL value travels as a value.Value: the integer types, oid, graphid and regclass as Int; float4 and float8 as Float; the
// character types, json and unknown as String; bytea as Bytes; arrays as List; agtype as any value. NULL is null.
//
// T1: text forms are those of PostgreSQL 15 with its default settings; agtype's is Apache AGE's.
// T2: a parser accepts what PostgreSQL accepts and names the type in its error (22P02, 22003).
package sqltype

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Type describes one SQL type. Types are compared by pointer; the package's variables are all there are.
type Type struct {
	OID      uint32
	Name     string // as format_type prints it
	Internal string // pg_type.typname
	Len      int16  // fixed size in bytes, -1 for variable
	Category byte   // pg_type.typcategory
	Elem     *Type  // element of an array
}

func (t *Type) String() string { return t.Name }

// The types.
var (
	Bool        = &Type{OID: 16, Name: "boolean", Internal: "bool", Len: 1, Category: 'B'}
	Bytea       = &Type{OID: 17, Name: "bytea", Internal: "bytea", Len: -1, Category: 'U'}
	Char        = &Type{OID: 18, Name: `"char"`, Internal: "char", Len: 1, Category: 'Z'}
	Name        = &Type{OID: 19, Name: "name", Internal: "name", Len: 64, Category: 'S'}
	Int8        = &Type{OID: 20, Name: "bigint", Internal: "int8", Len: 8, Category: 'N'}
	Int2        = &Type{OID: 21, Name: "smallint", Internal: "int2", Len: 2, Category: 'N'}
	Int4        = &Type{OID: 23, Name: "integer", Internal: "int4", Len: 4, Category: 'N'}
	Regproc     = &Type{OID: 24, Name: "regproc", Internal: "regproc", Len: 4, Category: 'N'}
	Text        = &Type{OID: 25, Name: "text", Internal: "text", Len: -1, Category: 'S'}
	OID         = &Type{OID: 26, Name: "oid", Internal: "oid", Len: 4, Category: 'N'}
	JSON        = &Type{OID: 114, Name: "json", Internal: "json", Len: -1, Category: 'U'}
	Float4      = &Type{OID: 700, Name: "real", Internal: "float4", Len: 4, Category: 'N'}
	Float8      = &Type{OID: 701, Name: "double precision", Internal: "float8", Len: 8, Category: 'N'}
	Unknown     = &Type{OID: 705, Name: "unknown", Internal: "unknown", Len: -2, Category: 'X'}
	Bpchar      = &Type{OID: 1042, Name: "character", Internal: "bpchar", Len: -1, Category: 'S'}
	Varchar     = &Type{OID: 1043, Name: "character varying", Internal: "varchar", Len: -1, Category: 'S'}
	Date        = &Type{OID: 1082, Name: "date", Internal: "date", Len: 4, Category: 'D'}
	Time        = &Type{OID: 1083, Name: "time without time zone", Internal: "time", Len: 8, Category: 'D'}
	Timestamp   = &Type{OID: 1114, Name: "timestamp without time zone", Internal: "timestamp", Len: 8, Category: 'D'}
	Timestamptz = &Type{OID: 1184, Name: "timestamp with time zone", Internal: "timestamptz", Len: 8, Category: 'D'}
	Interval    = &Type{OID: 1186, Name: "interval", Internal: "interval", Len: 16, Category: 'T'}
	Numeric     = &Type{OID: 1700, Name: "numeric", Internal: "numeric", Len: -1, Category: 'N'}
	Regclass    = &Type{OID: 2205, Name: "regclass", Internal: "regclass", Len: 4, Category: 'N'}
	Regtype     = &Type{OID: 2206, Name: "regtype", Internal: "regtype", Len: 4, Category: 'N'}
	Record      = &Type{OID: 2249, Name: "record", Internal: "record", Len: -1, Category: 'P'}
	Void        = &Type{OID: 2278, Name: "void", Internal: "void", Len: 4, Category: 'P'}
	UUID        = &Type{OID: 2950, Name: "uuid", Internal: "uuid", Len: 16, Category: 'U'}
	JSONB       = &Type{OID: 3802, Name: "jsonb", Internal: "jsonb", Len: -1, Category: 'U'}
	Regnamespc  = &Type{OID: 4089, Name: "regnamespace", Internal: "regnamespace", Len: 4, Category: 'N'}

	// Those of Apache AGE. Clients look their ids up by name, so any free ids do.
	Graphid = &Type{OID: 16394, Name: "graphid", Internal: "graphid", Len: 8, Category: 'U'}
	Agtype  = &Type{OID: 16472, Name: "agtype", Internal: "agtype", Len: -1, Category: 'U'}

	BoolArray   = array(1000, Bool)
	NameArray   = array(1003, Name)
	Int2Array   = array(1005, Int2)
	Int4Array   = array(1007, Int4)
	TextArray   = array(1009, Text)
	VarcharArr  = array(1015, Varchar)
	Int8Array   = array(1016, Int8)
	Float8Array = array(1022, Float8)
	OIDArray    = array(1028, OID)
	AgtypeArray = array(16477, Agtype)
)

func array(oid uint32, e *Type) *Type {
	return &Type{OID: oid, Name: e.Name + "[]", Internal: "_" + e.Internal, Len: -1, Category: 'A', Elem: e}
}

// All lists every type.
var All = []*Type{
	Bool, Bytea, Char, Name, Int8, Int2, Int4, Regproc, Text, OID, JSON, Float4, Float8, Unknown, Bpchar, Varchar, Date, Time,
	Timestamp, Timestamptz, Interval, Numeric, Regclass, Regtype, Record, Void, UUID, JSONB, Regnamespc, Graphid, Agtype,
	BoolArray, NameArray, Int2Array, Int4Array, TextArray, VarcharArr, Int8Array, Float8Array, OIDArray, AgtypeArray,
}

var byOID, byName = index()

func index() (map[uint32]*Type, map[string]*Type) {
	o, n := map[uint32]*Type{}, map[string]*Type{}
	for _, t := range All {
		o[t.OID] = t
		n[t.Internal] = t
		n[t.Name] = t
	}
	for alias, t := range map[string]*Type{
		"int": Int4, "smallint": Int2, "bigint": Int8, "real": Float4, "float": Float8, "decimal": Numeric, "dec": Numeric,
		"char": Bpchar, "string": Text, "timestamp": Timestamp, "timestamp with time zone": Timestamptz, "time": Time, "cstring": Text,
	} {
		n[alias] = t
	}
	return o, n
}

// ByOID returns the type with the object id, or nil.
func ByOID(oid uint32) *Type { return byOID[oid] }

// ByName returns the type by its SQL or internal name (lower case, without schema), or nil. A trailing [] names the array.
func ByName(name string) *Type {
	if e, ok := strings.CutSuffix(name, "[]"); ok {
		if t := ByName(e); t != nil {
			for _, a := range All {
				if a.Elem == t {
					return a
				}
			}
		}
		return nil
	}
	return byName[name]
}

// AppendText appends v in t's text form. v is not null.
func AppendText(dst []byte, t *Type, v value.Value) ([]byte, error) {
	switch t {
	case Agtype:
		return value.AppendAgtype(dst, v), nil
	case Bool:
		if v.Bool() {
			return append(dst, 't'), nil
		}
		return append(dst, 'f'), nil
	case Void:
		return dst, nil
	case Bytea:
		return append(append(dst, `\x`...), hex.EncodeToString(v.Raw())...), nil
	case Float4:
		return appendFloat(dst, v.Float(), 32), nil
	case Float8:
		return appendFloat(dst, v.Float(), 64), nil
	case JSON, JSONB:
		if v.Kind() != value.String {
			return value.AppendJSON(dst, v), nil
		}
	}
	if t.Elem != nil && v.Kind() == value.List {
		return appendArray(dst, t.Elem, v)
	}
	switch v.Kind() {
	case value.String:
		if strings.IndexByte(v.Str(), 0) >= 0 {
			return dst, dberr.New(dberr.UntranslatableCharacter, "unsupported Unicode escape sequence").WithDetail(`\u0000 cannot be converted to text.`)
		}
		return append(dst, v.Str()...), nil
	case value.Int:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case value.Float:
		return appendFloat(dst, v.Float(), 64), nil
	case value.Bool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case value.Date, value.Time, value.LocalTime, value.LocalDateTime, value.DateTime, value.Duration, value.Numeric:
		if v.Kind() == value.Numeric {
			return value.AppendNumeric(dst, v), nil
		}
		return value.AppendTemporal(dst, v), nil
	}
	return value.AppendAgtype(dst, v), nil
}

func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	exp := 0
	if f != 0 {
		exp = int(math.Floor(math.Log10(math.Abs(f))))
	}
	limit := 15
	if bits == 32 {
		limit = 6
	}
	if exp < -4 || exp >= limit {
		return strconv.AppendFloat(dst, f, 'e', -1, bits)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, bits)
}

func appendArray(dst []byte, e *Type, v value.Value) ([]byte, error) {
	dst = append(dst, '{')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		x := v.At(i)
		if x.IsNull() {
			dst = append(dst, "NULL"...)
			continue
		}
		item, err := AppendText(nil, e, x)
		if err != nil {
			return dst, err
		}
		if s := string(item); s == "" || strings.EqualFold(s, "null") || strings.ContainsAny(s, `{}", \`+"\t\n\r\v\f") {
			dst = append(dst, '"')
			for _, c := range item {
				if c == '"' || c == '\\' {
					dst = append(dst, '\\')
				}
				dst = append(dst, c)
			}
			dst = append(dst, '"')
		} else {
			dst = append(dst, item...)
		}
	}
	return append(dst, '}'), nil
}

// BinaryOut reports whether AppendBinary knows t.
func BinaryOut(t *Type) bool {
	switch t {
	case Bool, Int2, Int4, Int8, OID, Float4, Float8, Text, Varchar, Name, Unknown, Bpchar, JSON, JSONB, Bytea, Agtype, Graphid, Void, Char, Regclass, Regtype:
		return true
	}
	return false
}

// AppendBinary appends v in t's binary form.
func AppendBinary(dst []byte, t *Type, v value.Value) ([]byte, error) {
	switch t {
	case Bool:
		return append(dst, byte(v.Word()&1)), nil
	case Int2:
		return binary.BigEndian.AppendUint16(dst, uint16(v.Int())), nil
	case Int4, OID, Regclass, Regtype:
		return binary.BigEndian.AppendUint32(dst, uint32(v.Int())), nil
	case Int8, Graphid:
		return binary.BigEndian.AppendUint64(dst, uint64(v.Int())), nil
	case Float4:
		return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(v.Float()))), nil
	case Float8:
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(v.Float())), nil
	case Bytea:
		return append(dst, v.Raw()...), nil
	case Agtype, JSONB:
		return AppendText(append(dst, 1), t, v)
	case Text, Varchar, Name, Unknown, Bpchar, JSON, Void, Char:
		return AppendText(dst, t, v)
	}
	return dst, dberr.New(dberr.FeatureNotSupported, "type %s has no binary output", t.Name).WithHint("Ask for the text format.")
}

func bad(t *Type, s string) error {
	return dberr.New(dberr.InvalidText, "invalid input syntax for type %s: %q", t.Name, s)
}

// Parse reads t's text form.
func Parse(t *Type, s string) (value.Value, error) {
	trim := func() string { return strings.TrimSpace(s) }
	switch t {
	case Agtype:
		return value.ParseAgtype(s)
	case Bool:
		switch x := strings.ToLower(trim()); x {
		case "t", "true", "y", "yes", "on", "1", "tr", "tru", "ye":
			return value.NewBool(true), nil
		case "f", "false", "n", "no", "off", "0", "fa", "fal", "fals", "of":
			return value.NewBool(false), nil
		}
		return value.Value{}, bad(t, s)
	case Int2, Int4, Int8, OID, Graphid, Regclass, Regtype:
		bits := 64
		switch t {
		case Int2:
			bits = 16
		case Int4:
			bits = 32
		}
		i, err := strconv.ParseInt(trim(), 10, bits)
		if err != nil {
			if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
				return value.Value{}, dberr.New(dberr.NumericOutOfRange, "value %q is out of range for type %s", s, t.Name)
			}
			return value.Value{}, bad(t, s)
		}
		return value.NewInt(i), nil
	case Float4, Float8:
		f, err := strconv.ParseFloat(trim(), 64)
		if err != nil {
			if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
				return value.Value{}, dberr.New(dberr.NumericOutOfRange, "%q is out of range for type %s", s, t.Name)
			}
			return value.Value{}, bad(t, s)
		}
		return value.NewFloat(f), nil
	case Numeric:
		v, err := value.ParseNumeric(trim())
		if err != nil {
			return value.Value{}, bad(t, s)
		}
		return v, nil
	case Bytea:
		if h, ok := strings.CutPrefix(s, `\x`); ok {
			b, err := hex.DecodeString(h)
			if err != nil {
				return value.Value{}, bad(t, s)
			}
			return value.FromBytes(value.Bytes, 0, b), nil
		}
		return value.FromBytes(value.Bytes, 0, []byte(s)), nil
	}
	if t.Elem != nil {
		return parseArray(t, s)
	}
	return value.NewString(s), nil
}

func parseArray(t *Type, s string) (value.Value, error) {
	x := strings.TrimSpace(s)
	if len(x) < 2 || x[0] != '{' || x[len(x)-1] != '}' {
		return value.Value{}, dberr.New(dberr.InvalidText, "malformed array literal: %q", s)
	}
	x = x[1 : len(x)-1]
	var elems []value.Value
	for len(strings.TrimSpace(x)) > 0 {
		x = strings.TrimLeft(x, " \t\n")
		var item strings.Builder
		quoted := false
		if x[0] == '"' {
			quoted = true
			i := 1
			for ; i < len(x) && x[i] != '"'; i++ {
				if x[i] == '\\' && i+1 < len(x) {
					i++
				}
				item.WriteByte(x[i])
			}
			if i >= len(x) {
				return value.Value{}, dberr.New(dberr.InvalidText, "malformed array literal: %q", s)
			}
			x = strings.TrimLeft(x[i+1:], " ")
			if x != "" && x[0] != ',' {
				return value.Value{}, dberr.New(dberr.InvalidText, "malformed array literal: %q", s)
			}
		} else {
			i := strings.IndexByte(x, ',')
			if i < 0 {
				i = len(x)
			}
			item.WriteString(strings.TrimSpace(x[:i]))
			x = x[i:]
		}
		x = strings.TrimPrefix(x, ",")
		if !quoted && strings.EqualFold(item.String(), "null") {
			elems = append(elems, value.Value{})
			continue
		}
		v, err := Parse(t.Elem, item.String())
		if err != nil {
			return value.Value{}, err
		}
		elems = append(elems, v)
	}
	return value.NewList(elems...), nil
}

// ParseBinary reads t's binary form.
func ParseBinary(t *Type, b []byte) (value.Value, error) {
	size := func(n int) error {
		if len(b) != n {
			return dberr.New(dberr.ProtocolViolation, "incorrect binary data format for type %s: %d bytes, not %d", t.Name, len(b), n)
		}
		return nil
	}
	switch t {
	case Bool:
		if err := size(1); err != nil {
			return value.Value{}, err
		}
		return value.NewBool(b[0] != 0), nil
	case Int2:
		if err := size(2); err != nil {
			return value.Value{}, err
		}
		return value.NewInt(int64(int16(binary.BigEndian.Uint16(b)))), nil
	case Int4:
		if err := size(4); err != nil {
			return value.Value{}, err
		}
		return value.NewInt(int64(int32(binary.BigEndian.Uint32(b)))), nil
	case OID, Regclass, Regtype:
		if err := size(4); err != nil {
			return value.Value{}, err
		}
		return value.NewInt(int64(binary.BigEndian.Uint32(b))), nil
	case Int8, Graphid:
		if err := size(8); err != nil {
			return value.Value{}, err
		}
		return value.NewInt(int64(binary.BigEndian.Uint64(b))), nil
	case Float4:
		if err := size(4); err != nil {
			return value.Value{}, err
		}
		return value.NewFloat(float64(math.Float32frombits(binary.BigEndian.Uint32(b)))), nil
	case Float8:
		if err := size(8); err != nil {
			return value.Value{}, err
		}
		return value.NewFloat(math.Float64frombits(binary.BigEndian.Uint64(b))), nil
	case Bytea:
		return value.FromBytes(value.Bytes, 0, append([]byte(nil), b...)), nil
	case Agtype, JSONB:
		if len(b) == 0 || b[0] != 1 {
			return value.Value{}, dberr.New(dberr.ProtocolViolation, "unsupported %s version number %d", t.Name, first(b))
		}
		return Parse(t, string(b[1:]))
	case Text, Varchar, Name, Unknown, Bpchar, JSON, Char:
		return value.NewString(string(b)), nil
	}
	return value.Value{}, dberr.New(dberr.FeatureNotSupported, "type %s has no binary input", t.Name).WithHint("Send the parameter in text format.")
}

func first(b []byte) int {
	if len(b) == 0 {
		return -1
	}
	return int(b[0])
}
