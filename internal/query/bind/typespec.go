package bind

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

var typeKinds = map[string]value.Kind{"BOOLEAN": value.Bool, "STRING": value.String, "INTEGER": value.Int, "FLOAT": value.Float,
	"NUMERIC": value.Numeric, "BYTES": value.Bytes, "DATE": value.Date, "LOCAL TIME": value.LocalTime, "ZONED TIME": value.Time,
	"LOCAL DATETIME": value.LocalDateTime, "ZONED DATETIME": value.DateTime, "DURATION": value.Duration, "POINT": value.Point,
	"NODE": value.Node, "RELATIONSHIP": value.Rel, "PATH": value.Path, "MAP": value.Map}

// typeSpec binds a type that a predicate or a constraint names. The parser bounds its depth (rules C12).
func (b *binder) typeSpec(t *cypher.Type) value.TypeSpec {
	kind := func(ks ...value.Kind) (s value.TypeSpec) {
		for _, k := range ks {
			s.Kinds |= 1 << k
		}
		return s
	}
	var s value.TypeSpec
	switch t.Name {
	case "UNION":
		return b.unionSpec(t)
	case "ANY":
		s = value.AnyType
	case "PROPERTY VALUE":
		s = value.PropertyValueType()
	case "LIST":
		s = value.ListType(b.typeSpec(t.Elem))
	case "NUMBER":
		s = kind(value.Null, value.Int, value.Float, value.Numeric)
	case "NULL":
		s = kind(value.Null)
	case "NOTHING":
	default:
		k, ok := typeKinds[t.Name]
		if !ok {
			b.fail(dberr.FeatureNotSupported, "", t, "the type %s is not supported", t.Name)
		}
		s = kind(value.Null, k)
	}
	if t.NotNull {
		s = s.NotNull()
	}
	return s
}

// unionSpec binds A | B: null is of all of its types or of none, since it cannot be told to which of them it belongs.
func (b *binder) unionSpec(t *cypher.Type) value.TypeSpec {
	if t.NotNull {
		b.fail(dberr.Syntax, "UnexpectedSyntax", t, "NOT NULL cannot stand behind a union of types; put it behind each of them")
	}
	var s value.TypeSpec
	for i, a := range t.Alts {
		one := b.typeSpec(a)
		if i > 0 && one.Nullable() != s.Nullable() {
			b.fail(dberr.Syntax, "UnexpectedSyntax", t, "all types of a union must take null, or all be NOT NULL")
		}
		s = s.Union(one)
	}
	return s
}
