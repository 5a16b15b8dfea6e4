// Package sqltype holds the SQL types that PostgreSQL clients see: object ids, names, and the text and binary form of their values.
//
// A SQL value travels as a value.Value: the integer types, oid, graphid and regtype as Int; float4 and float8 as Float; numeric as Numeric;
// the character types, json, jsonb, uuid, regproc, regnamespace and unknown as String; regclass as Int, or as String for a table that has a
// name only; bytea as Bytes; date, time, timestamp, timestamptz and interval as Date, LocalTime, LocalDateTime, DateTime and Duration; arrays
// and records as List; agtype as any value. NULL is null.
//
// T1: text and binary forms are those of PostgreSQL 15 with its default settings; agtype's is Apache AGE's.
// T2: a parser accepts what PostgreSQL accepts, a few special words for dates apart, and names the type in its error (22P02, 22003, 22007).
// T3: what a parser accepts, the printer prints so that it is accepted again as the same value; in binary form too.
package sqltype

import "strings"

// Type describes one SQL type. Types are compared by pointer; the package's variables are all there are.
type Type struct {
	OID      uint32
	Name     string // as format_type prints it
	Internal string // pg_type.typname
	Len      int16  // fixed size in bytes, -1 for variable
	Category byte   // pg_type.typcategory
	Elem     *Type  // element of an array
	Array    *Type  // array of it, if there is one
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

	BoolArray    = array(1000, Bool)
	ByteaArray   = array(1001, Bytea)
	CharArray    = array(1002, Char)
	NameArray    = array(1003, Name)
	Int2Array    = array(1005, Int2)
	Int4Array    = array(1007, Int4)
	TextArray    = array(1009, Text)
	BpcharArray  = array(1014, Bpchar)
	VarcharArray = array(1015, Varchar)
	Int8Array    = array(1016, Int8)
	Float4Array  = array(1021, Float4)
	Float8Array  = array(1022, Float8)
	OIDArray     = array(1028, OID)
	TstampArray  = array(1115, Timestamp)
	DateArray    = array(1182, Date)
	TimeArray    = array(1183, Time)
	TstamptzArr  = array(1185, Timestamptz)
	IntervalArr  = array(1187, Interval)
	NumericArray = array(1231, Numeric)
	JSONArray    = array(199, JSON)
	JSONBArray   = array(3807, JSONB)
	UUIDArray    = array(2951, UUID)
	RegtypeArray = array(2211, Regtype)
	GraphidArray = array(16399, Graphid)
	AgtypeArray  = array(16477, Agtype)
)

func array(oid uint32, e *Type) *Type {
	return &Type{OID: oid, Name: e.Name + "[]", Internal: "_" + e.Internal, Len: -1, Category: 'A', Elem: e}
}

// All lists every type.
var All = []*Type{
	Bool, Bytea, Char, Name, Int8, Int2, Int4, Regproc, Text, OID, JSON, Float4, Float8, Unknown, Bpchar, Varchar, Date, Time,
	Timestamp, Timestamptz, Interval, Numeric, Regclass, Regtype, Record, Void, UUID, JSONB, Regnamespc, Graphid, Agtype,
	BoolArray, ByteaArray, CharArray, NameArray, Int2Array, Int4Array, TextArray, BpcharArray, VarcharArray, Int8Array, Float4Array, Float8Array,
	OIDArray, TstampArray, DateArray, TimeArray, TstamptzArr, IntervalArr, NumericArray, JSONArray, JSONBArray, UUIDArray, RegtypeArray,
	GraphidArray, AgtypeArray,
}

var byOID, byName = index()

func index() (map[uint32]*Type, map[string]*Type) {
	o, n := map[uint32]*Type{}, map[string]*Type{}
	for _, t := range All {
		o[t.OID] = t
		n[t.Internal] = t
		n[t.Name] = t
		if t.Elem != nil {
			n[t.Elem.Internal+"[]"] = t
			t.Elem.Array = t
		}
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
		if t := byName[e]; t != nil {
			return t.Array
		}
		return nil
	}
	return byName[name]
}
