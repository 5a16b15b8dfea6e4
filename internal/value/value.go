// Package value holds the values of both languages: one kind set, one total order, one binary form.
//
// A [Value] is a 24-byte tagged word that may point into somebody else's bytes: it is a view, valid as long as the bytes
// are. Batches of rows do not hold Values but the pointer-free columns of package vec; Values appear at function edges,
// in aggregate states and at the doors. Containers are byte strings in the package's binary form, so a list in a column,
// in a row on disk and in a parameter are the same bytes.
//
// V1: kinds are declared in the total order of rules C9, ascending, null last (Null itself is 0 so that the zero Value is null).
// V2: order-equal, equivalent and equal hash agree everywhere; numbers compare by exact mathematical value.
// V3: a decoder never trusts its input: any bytes give a value or an error, never a panic.
package value

import (
	"math"
	"unsafe"
)

// Kind is the type of a value.
type Kind uint8

// The kinds in ascending order (V1). Int, Float and Numeric are one class, compared by mathematical value.
const (
	Null Kind = iota // sorts last, though its number is 0
	Map
	Node
	Rel
	List
	Path
	Point
	DateTime
	LocalDateTime
	Date
	Time
	LocalTime
	Duration
	Bytes
	String
	Bool
	Int
	Float
	Numeric
	numKinds

	// OutOfLine marks, inside a stored property record only, a value kept in chunks: its bytes are a pointer of the store.
	OutOfLine Kind = 0xF0
)

// NumKinds is the number of kinds a Value may have.
const NumKinds = int(numKinds)

// Value is null, a scalar, a container or an entity. The zero Value is null.
//
// Bool, Int, Float (as bits), Date (days since 1970-01-01), LocalTime (ns since midnight) live in the word. String, Bytes,
// Numeric, List, Map, Path, Point, Duration and the two-word temporals point to bytes in the binary form. A Node or Rel
// holds its graphid in the word; it is a bare reference unless it points to bytes, which then are its materialised labels
// or type, ends and properties (see [Value.Materialised]).
type Value struct {
	ptr  *byte
	word uint64
	n    uint32
	kind Kind
}

// NewBool, NewInt, NewFloat and NewString make scalars. NewString does not copy.
func NewBool(b bool) Value {
	if b {
		return Value{kind: Bool, word: 1}
	}
	return Value{kind: Bool}
}
func NewInt(i int64) Value     { return Value{kind: Int, word: uint64(i)} }
func NewFloat(f float64) Value { return Value{kind: Float, word: math.Float64bits(f)} }
func NewString(s string) Value {
	return Value{kind: String, ptr: unsafe.StringData(s), n: uint32(len(s))}
}

// NewNode and NewRel make bare references from graphids.
func NewNode(id uint64) Value { return Value{kind: Node, word: id} }
func NewRel(id uint64) Value  { return Value{kind: Rel, word: id} }

// FromWord makes a value whose kind keeps everything in the word (Bool, Int, Float, Date, LocalTime, bare Node or Rel).
func FromWord(k Kind, word uint64) Value { return Value{kind: k, word: word} }

// FromBytes makes a value of a kind that lives in bytes, without copying. word is the graphid of a materialised entity, else 0.
func FromBytes(k Kind, word uint64, b []byte) Value {
	return Value{kind: k, word: word, ptr: unsafe.SliceData(b), n: uint32(len(b))}
}

// Kind returns the kind; Null for the zero Value.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.kind == Null }

// Word returns the raw word: the int, the float's bits, 0 or 1, days, nanoseconds or the graphid.
func (v Value) Word() uint64 { return v.word }

// Raw returns the bytes that v points to, nil if none. The caller must not change them.
func (v Value) Raw() []byte {
	if v.ptr == nil {
		return nil
	}
	return unsafe.Slice(v.ptr, v.n)
}

// Bool, Int and Float read a scalar of exactly that kind; another kind gives a meaningless result.
func (v Value) Bool() bool     { return v.word != 0 }
func (v Value) Int() int64     { return int64(v.word) }
func (v Value) Float() float64 { return math.Float64frombits(v.word) }

// Str returns the text of a String without copying.
func (v Value) Str() string {
	if v.n == 0 {
		return ""
	}
	return unsafe.String(v.ptr, v.n)
}

// ID returns the graphid of a Node or Rel.
func (v Value) ID() uint64 { return v.word }

// IsNumber reports whether v is an Int, Float or Numeric.
func (v Value) IsNumber() bool { return v.kind >= Int && v.kind <= Numeric }

// Materialised reports whether an entity carries its labels or type, ends and properties.
func (v Value) Materialised() bool { return v.ptr != nil && (v.kind == Node || v.kind == Rel) }
