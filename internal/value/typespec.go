package value

import (
	"encoding/binary"
	"slices"
	"strings"
)

// TypeSpec is a type as type predicates, property type constraints and valueType() know it: which values are of it. It is a union of single
// types in normal form: none covers another, and null belongs to all of them or to none. The zero TypeSpec is NOTHING.
type TypeSpec struct {
	// Kinds has bit k if every value of kind k is of the type. Bit Null: null is. Bit List: every list is, whatever its elements.
	Kinds uint32
	// Lists are further list types: a list is of the type if its elements all are of one of these.
	Lists []TypeSpec
}

const (
	nullBit  uint32 = 1 << Null
	listBit  uint32 = 1 << List
	allKinds uint32 = 1<<numKinds - 1
)

// AnyType is the type of every value, null included.
var AnyType = TypeSpec{Kinds: allKinds}

// storableKinds are the kinds of a property that is no list.
const storableKinds = 1<<Bool | 1<<String | 1<<Int | 1<<Float | 1<<Numeric | 1<<Date | 1<<LocalTime | 1<<Time | 1<<LocalDateTime | 1<<DateTime |
	1<<Duration | 1<<Point | 1<<Bytes

const numberBits uint32 = 1<<Int | 1<<Float | 1<<Numeric

// PropertyValueType is the type of what a property may hold: PROPERTY VALUE.
func PropertyValueType() TypeSpec {
	t := TypeSpec{Kinds: storableKinds | nullBit, Lists: []TypeSpec{{Kinds: numberBits}}}
	for k := Null; k < numKinds; k++ {
		if storableKinds&^numberBits&(1<<k) != 0 {
			t.Lists = append(t.Lists, TypeSpec{Kinds: 1 << k})
		}
	}
	return t.normal()
}

// ListType is LIST<elem>, null included.
func ListType(elem TypeSpec) TypeSpec {
	if elem.Covers(AnyType) {
		return TypeSpec{Kinds: listBit | nullBit}
	}
	return TypeSpec{Kinds: nullBit, Lists: []TypeSpec{elem}}
}

// NotNull is t without null.
func (t TypeSpec) NotNull() TypeSpec {
	t.Kinds &^= nullBit
	return t
}

// OrNull is t and null.
func (t TypeSpec) OrNull() TypeSpec {
	t.Kinds |= nullBit
	return t
}

// Nullable reports whether null is of the type.
func (t TypeSpec) Nullable() bool { return t.Kinds&nullBit != 0 }

// Union is the type of what is of t or of u.
func (t TypeSpec) Union(u TypeSpec) TypeSpec {
	return TypeSpec{Kinds: t.Kinds | u.Kinds, Lists: append(slices.Clone(t.Lists), u.Lists...)}.normal()
}

// Covers reports whether every value of u is known to be of t.
func (t TypeSpec) Covers(u TypeSpec) bool {
	if u.Kinds&^t.Kinds != 0 {
		return false
	}
	if t.Kinds&listBit != 0 {
		return true
	}
	for _, e := range u.Lists {
		if !t.coversList(e) {
			return false
		}
	}
	return true
}

// coversList reports whether LIST<elem> is part of t.
func (t TypeSpec) coversList(elem TypeSpec) bool {
	if t.Kinds&listBit != 0 {
		return true
	}
	return slices.ContainsFunc(t.Lists, func(e TypeSpec) bool { return e.Covers(elem) })
}

// normal drops list types that another one covers, and orders the rest.
func (t TypeSpec) normal() TypeSpec {
	if t.Kinds&listBit != 0 || len(t.Lists) == 0 {
		return TypeSpec{Kinds: t.Kinds}
	}
	var kept []TypeSpec
	for i, e := range t.Lists {
		covered := slices.ContainsFunc(kept, func(k TypeSpec) bool { return k.Covers(e) })
		for _, later := range t.Lists[i+1:] {
			if covered {
				break
			}
			covered = later.Covers(e) && !e.Covers(later)
		}
		if !covered {
			kept = append(kept, e)
		}
	}
	slices.SortFunc(kept, compareTypes)
	return TypeSpec{Kinds: t.Kinds, Lists: kept}
}

// Has reports whether v is of the type. tick, if not nil, is called for every element of a list that is looked at.
func (t TypeSpec) Has(v Value, tick func()) bool {
	if v.kind != List {
		return t.Kinds&(1<<v.kind) != 0
	}
	if t.Kinds&listBit != 0 {
		return true
	}
	for _, elem := range t.Lists {
		if elem.hasAll(v, tick) {
			return true
		}
	}
	return false
}

func (t TypeSpec) hasAll(list Value, tick func()) bool {
	for _, e := range list.All() {
		if tick != nil {
			tick()
		}
		if !t.Has(e, tick) {
			return false
		}
	}
	return true
}

// TypeOf is the smallest type of a value. tick is as in [TypeSpec.Has].
func TypeOf(v Value, tick func()) TypeSpec {
	if v.kind != List {
		return TypeSpec{Kinds: 1 << v.kind}
	}
	var elem TypeSpec
	for _, e := range v.All() {
		if tick != nil {
			tick()
		}
		one := TypeOf(e, tick)
		if !elem.Covers(one) {
			elem = elem.Union(one)
		}
		for range elem.Lists { // what the union costs grows with them
			if tick != nil {
				tick()
			}
		}
	}
	return TypeSpec{Lists: []TypeSpec{elem}}
}

// typeOrder is the order in which a union names its types; LIST<…> stands where List does.
var typeOrder = [...]Kind{Bool, String, Bytes, Int, Float, Numeric, Date, LocalTime, Time, LocalDateTime, DateTime, Duration, Point, Node, Rel, Map, List, Path}

// typeItem is one single type of a union.
type typeItem struct {
	rank int // in typeOrder
	elem *TypeSpec
}

// items lists the single types in order. A list type whose elements may be anything has no elem.
func (t TypeSpec) items() []typeItem {
	var out []typeItem
	for i, k := range typeOrder {
		if k == List {
			for j := range t.Lists {
				out = append(out, typeItem{i, &t.Lists[j]})
			}
		}
		if t.Kinds&(1<<k) != 0 {
			out = append(out, typeItem{i, nil})
		}
	}
	return out
}

// compareTypes orders types: single ones before unions, unions by their number of types, ANY last, then type by type; what excludes null first.
func compareTypes(a, b TypeSpec) int {
	x, y := a.items(), b.items()
	if c := cmpInt(int64(len(x)), int64(len(y))); c != 0 {
		return c
	}
	for i := range x {
		if c := cmpInt(int64(x[i].rank), int64(y[i].rank)); c != 0 {
			return c
		}
		switch {
		case x[i].elem != nil && y[i].elem != nil:
			if c := compareTypes(*x[i].elem, *y[i].elem); c != 0 {
				return c
			}
		case x[i].elem != y[i].elem:
			return b2i(x[i].elem == nil) - b2i(y[i].elem == nil)
		}
	}
	return b2i(a.Nullable()) - b2i(b.Nullable())
}

// String writes the type as valueType() does: BOOLEAN | LIST<INTEGER NOT NULL>.
func (t TypeSpec) String() string { return string(t.append(nil)) }

func (t TypeSpec) append(dst []byte) []byte {
	end := " NOT NULL"
	if t.Nullable() {
		end = ""
	}
	if t.Kinds|nullBit == allKinds {
		return append(append(dst, "ANY"...), end...)
	}
	items := t.items()
	if len(items) == 0 {
		if t.Nullable() {
			return append(dst, "NULL"...)
		}
		return append(dst, "NOTHING"...)
	}
	for i, it := range items {
		if i > 0 {
			dst = append(dst, " | "...)
		}
		switch k := typeOrder[it.rank]; {
		case it.elem != nil:
			dst = append(it.elem.append(append(dst, "LIST<"...)), '>')
		case k == List:
			dst = append(dst, "LIST<ANY>"...)
		default:
			dst = append(dst, k.String()...)
		}
		dst = append(dst, end...)
	}
	return dst
}

// Storable reports whether a property type constraint may name the type: property types and lists of one of them without null, null included.
func (t TypeSpec) Storable() bool {
	if !t.Nullable() || t.Kinds&^(storableKinds|nullBit) != 0 || t.Kinds == nullBit && len(t.Lists) == 0 {
		return false
	}
	for _, e := range t.Lists {
		one := strings.Count(e.String(), "|") == 0
		if !one || e.Kinds&^storableKinds != 0 || e.Kinds == 0 || len(e.Lists) > 0 {
			return false
		}
	}
	return true
}

// AppendType appends the form in which the catalog keeps a type that is Storable: kinds u32, count u8, kinds u32 of each list's elements.
func AppendType(dst []byte, t TypeSpec) []byte {
	dst = append(binary.LittleEndian.AppendUint32(dst, t.Kinds), byte(len(t.Lists)))
	for _, e := range t.Lists {
		dst = binary.LittleEndian.AppendUint32(dst, e.Kinds)
	}
	return dst
}

// DecodeType reads what AppendType wrote from the front of b; false if there is no such type.
func DecodeType(b []byte) (t TypeSpec, rest []byte, ok bool) {
	if len(b) < 5 || len(b) < 5+4*int(b[4]) {
		return t, nil, false
	}
	t.Kinds = binary.LittleEndian.Uint32(b)
	for i := range int(b[4]) {
		t.Lists = append(t.Lists, TypeSpec{Kinds: binary.LittleEndian.Uint32(b[5+4*i:])})
	}
	return t, b[5+4*len(t.Lists):], t.Kinds&^allKinds == 0
}
