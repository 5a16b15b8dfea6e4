package expr

import (
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/value"
)

// KindSet is a set of kinds.
type KindSet uint32

// Kinds makes a set.
func Kinds(ks ...value.Kind) (s KindSet) {
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

// Has reports whether k is in s.
func (s KindSet) Has(k value.Kind) bool { return s&(1<<k) != 0 }

// Type is what is known of a value before the statement runs: the kinds that it may have, null always among them unless
// NotNull, and for lists what the elements may be.
type Type struct {
	Kinds   KindSet
	NotNull bool
	Elem    *Type // nil means Any
}

// Common types.
var (
	Any      = Type{Kinds: 1<<value.NumKinds - 1}
	TNull    = Type{Kinds: Kinds(value.Null)}
	TBool    = Type{Kinds: Kinds(value.Bool)}
	TInt     = Type{Kinds: Kinds(value.Int)}
	TFloat   = Type{Kinds: Kinds(value.Float)}
	TNumber  = Type{Kinds: Kinds(value.Int, value.Float, value.Numeric)}
	TString  = Type{Kinds: Kinds(value.String)}
	TBytes   = Type{Kinds: Kinds(value.Bytes)}
	TList    = Type{Kinds: Kinds(value.List)}
	TMap     = Type{Kinds: Kinds(value.Map)}
	TNode    = Type{Kinds: Kinds(value.Node)}
	TRel     = Type{Kinds: Kinds(value.Rel)}
	TPath    = Type{Kinds: Kinds(value.Path)}
	TEntity  = Type{Kinds: Kinds(value.Node, value.Rel)}
	TPoint   = Type{Kinds: Kinds(value.Point)}
	TDate    = Type{Kinds: Kinds(value.Date)}
	TAnyTime = Type{Kinds: Kinds(value.DateTime, value.LocalDateTime, value.Date, value.Time, value.LocalTime)}
)

// ListOf is the type of a list of elem.
func ListOf(elem Type) Type { return Type{Kinds: Kinds(value.List), Elem: &elem} }

// Is reports whether a value of the type is certainly of the set or null.
func (t Type) Is(s KindSet) bool { return t.Kinds&^(s|1<<value.Null) == 0 }

// May reports whether a value of the type may be of the set, or null.
func (t Type) May(s KindSet) bool { return t.Kinds&(s|1<<value.Null) != 0 }

// Element returns the type of a list's elements.
func (t Type) Element() Type {
	if t.Elem == nil {
		return Any
	}
	return *t.Elem
}

// Union is the type of a value that is of t or of u.
func (t Type) Union(u Type) Type {
	r := Type{Kinds: t.Kinds | u.Kinds, NotNull: t.NotNull && u.NotNull}
	switch {
	case !t.Kinds.Has(value.List):
		r.Elem = u.Elem
	case !u.Kinds.Has(value.List):
		r.Elem = t.Elem
	case t.Elem != nil && u.Elem != nil:
		e := t.Elem.Union(*u.Elem)
		r.Elem = &e
	}
	return r
}

var kindNames = [...]string{value.Null: "Null", value.Map: "Map", value.Node: "Node", value.Rel: "Relationship", value.List: "List",
	value.Path: "Path", value.Point: "Point", value.DateTime: "DateTime", value.LocalDateTime: "LocalDateTime", value.Date: "Date",
	value.Time: "Time", value.LocalTime: "LocalTime", value.Duration: "Duration", value.Bytes: "Bytes", value.String: "String",
	value.Bool: "Boolean", value.Int: "Integer", value.Float: "Float", value.Numeric: "Numeric"}

// KindName returns the name of a kind as error messages write it.
func KindName(k value.Kind) string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Unknown"
}

// String lists the kinds, as "Integer or Float".
func (t Type) String() string {
	if t.Kinds == Any.Kinds {
		return "Any"
	}
	var names []string
	for k := value.Null; int(k) < value.NumKinds; k++ {
		if t.Kinds.Has(k) && (k != value.Null || t.Kinds == 1) {
			names = append(names, kindNames[k])
		}
	}
	return strings.Join(names, " or ")
}
