package hedgerow

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Node is a node as a result shows it.
type Node struct {
	ID     int64 // id(n)
	Labels []string
	Props  map[string]any
}

// Relationship is a relationship as a result shows it.
type Relationship struct {
	ID, StartID, EndID int64
	Type               string
	Props              map[string]any
}

// Path is a walk: Nodes has one element more than Relationships.
type Path struct {
	Nodes         []Node
	Relationships []Relationship
}

// Point is a POINT. SRID names its reference system: 7203 and 9157 (Cartesian, of 2 and 3 dimensions), 4326 and 4979 (WGS 84: X is the
// longitude, Y the latitude, Z the height). Z counts in those of 3 dimensions only.
type Point struct {
	SRID    uint32
	X, Y, Z float64
}

func (p Point) value() (value.Value, error) {
	c := []float64{p.X, p.Y, p.Z}
	if crs, ok := value.CRSBySRID(p.SRID); ok {
		c = c[:crs.Dims]
	}
	return value.MakePoint(p.SRID, c...)
}

// Date is a DATE as a parameter: the day of a time in its own zone. A time.Time alone is a ZONED DATETIME, which equals no date.
type Date time.Time

// LocalDateTime is a LOCAL DATETIME as a parameter: a time's clock without its zone.
type LocalDateTime time.Time

func dateValue(t time.Time) value.Value {
	y, m, d := t.Date()
	return value.NewDate(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

// ElementID returns elementId(n).
func (n Node) ElementID() string         { return strconv.FormatInt(n.ID, 10) }
func (r Relationship) ElementID() string { return strconv.FormatInt(r.ID, 10) }

// fromValue turns a value into its Go form.
func fromValue(v value.Value) any {
	switch v.Kind() {
	case value.Null:
		return nil
	case value.Bool:
		return v.Bool()
	case value.Int:
		return v.Int()
	case value.Float:
		return v.Float()
	case value.String:
		return strings.Clone(v.Str())
	case value.Bytes:
		return append([]byte(nil), v.Raw()...)
	case value.List:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = fromValue(v.At(i))
		}
		return out
	case value.Map:
		return fromMap(v)
	case value.Node:
		return fromNode(v)
	case value.Rel:
		return fromRel(v)
	case value.Path:
		var p Path
		for i := range v.Len() {
			if e := v.At(i); e.Kind() == value.Node {
				p.Nodes = append(p.Nodes, fromNode(e))
			} else {
				p.Relationships = append(p.Relationships, fromRel(e))
			}
		}
		return p
	case value.Date, value.LocalDateTime, value.DateTime:
		text := string(value.AppendTemporal(nil, v))
		if t, ok := parseTime(text); ok {
			return t
		}
		return text
	case value.Point:
		c := append(v.Coords(), 0, 0, 0)
		return Point{v.SRID(), c[0], c[1], c[2]}
	case value.Time, value.LocalTime, value.Duration:
		return string(value.AppendTemporal(nil, v))
	}
	return string(value.AppendAgtype(nil, v))
}

func parseTime(s string) (time.Time, bool) {
	zone := ""
	if i := strings.IndexByte(s, '['); i > 0 {
		zone, s = strings.TrimSuffix(s[i+1:], "]"), s[:i]
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			if l, err := time.LoadLocation(zone); zone != "" && err == nil {
				t = t.In(l)
			}
			return t, true
		}
	}
	return time.Time{}, false
}

// parseDuration reads a Cypher duration that has no months and days, whose length is not fixed.
func parseDuration(s string) (time.Duration, bool) {
	v, err := value.ParseTemporal(value.Duration, s)
	if err != nil {
		return 0, false
	}
	months, days, sec, ns := v.DurationParts()
	if months != 0 || days != 0 || sec > int64(math.MaxInt64/time.Second)-1 || sec < int64(math.MinInt64/time.Second)+1 {
		return 0, false
	}
	return time.Duration(sec)*time.Second + time.Duration(ns), true
}

func fromMap(v value.Value) map[string]any {
	m := make(map[string]any, v.Len())
	for i := range v.Len() {
		k, x := v.Entry(i)
		m[strings.Clone(k)] = fromValue(x)
	}
	return m
}

func fromNode(v value.Value) Node {
	n := Node{ID: int64(v.ID())}
	if v.Materialised() {
		for _, l := range v.Labels() {
			n.Labels = append(n.Labels, strings.Clone(l))
		}
		n.Props = fromMap(v.Properties())
	}
	return n
}

func fromRel(v value.Value) Relationship {
	r := Relationship{ID: int64(v.ID())}
	if v.Materialised() {
		r.StartID, r.EndID, r.Type = int64(v.Start()), int64(v.End()), strings.Clone(v.RelType())
		r.Props = fromMap(v.Properties())
	}
	return r
}

// toValue turns a Go value into a value.
func toValue(x any) (value.Value, error) { return toValueDepth(x, 0) }

func toValueDepth(x any, depth int) (value.Value, error) {
	if depth > 128 {
		return value.Value{}, dberr.New(dberr.StatementTooComplex, "value is nested more than 128 deep")
	}
	switch x := x.(type) {
	case nil:
		return value.Value{}, nil
	case value.Value: // from packages of this module
		return x, nil
	case bool:
		return value.NewBool(x), nil
	case int:
		return value.NewInt(int64(x)), nil
	case int64:
		return value.NewInt(x), nil
	case float64:
		return value.NewFloat(x), nil
	case string:
		return value.NewString(x), nil
	case []byte:
		return value.NewBytes(x), nil
	case time.Time:
		_, offset := x.Zone()
		return value.NewDateTime(x.Unix(), uint32(x.Nanosecond()), int32(offset), ""), nil
	case Date:
		return dateValue(time.Time(x)), nil
	case LocalDateTime:
		t := time.Time(x)
		_, offset := t.Zone()
		return value.NewLocalDateTime(t.Unix()+int64(offset), uint32(t.Nanosecond())), nil
	case time.Duration:
		return value.NewDuration(0, 0, int64(x/time.Second), int64(x%time.Second)), nil
	case Point:
		return x.value()
	case Node:
		return value.NewNode(uint64(x.ID)), nil
	case Relationship:
		return value.NewRel(uint64(x.ID)), nil
	}
	r := reflect.ValueOf(x)
	switch r.Kind() {
	case reflect.Pointer, reflect.Interface:
		if r.IsNil() {
			return value.Value{}, nil
		}
		if t, ok := x.(encoding.TextMarshaler); ok {
			b, err := t.MarshalText()
			return value.NewString(string(b)), err
		}
		return toValueDepth(r.Elem().Interface(), depth+1)
	case reflect.Bool:
		return value.NewBool(r.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return value.NewInt(r.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if r.Uint() > math.MaxInt64 {
			return value.Value{}, dberr.New(dberr.NumericOutOfRange, "%d is out of range for INTEGER", r.Uint())
		}
		return value.NewInt(int64(r.Uint())), nil
	case reflect.Float32, reflect.Float64:
		return value.NewFloat(r.Float()), nil
	case reflect.String:
		return value.NewString(r.String()), nil
	case reflect.Slice, reflect.Array:
		if r.Kind() == reflect.Slice && r.IsNil() {
			return value.Value{}, nil
		}
		elems := make([]value.Value, r.Len())
		for i := range elems {
			v, err := toValueDepth(r.Index(i).Interface(), depth+1)
			if err != nil {
				return v, err
			}
			elems[i] = v
		}
		return value.NewList(elems...), nil
	case reflect.Map:
		if r.Type().Key().Kind() != reflect.String {
			break
		}
		if r.IsNil() {
			return value.Value{}, nil
		}
		b := value.NewMapBuilder()
		for it := r.MapRange(); it.Next(); {
			v, err := toValueDepth(it.Value().Interface(), depth+1)
			if err != nil {
				return v, err
			}
			b.Put(it.Key().String(), v)
		}
		return b.Map(), nil
	case reflect.Struct:
		if t, ok := x.(encoding.TextMarshaler); ok {
			b, err := t.MarshalText()
			return value.NewString(string(b)), err
		}
		b := value.NewMapBuilder()
		for i := range r.NumField() {
			f := r.Type().Field(i)
			name, skip := fieldName(f)
			if skip {
				continue
			}
			v, err := toValueDepth(r.Field(i).Interface(), depth+1)
			if err != nil {
				return v, err
			}
			b.Put(name, v)
		}
		return b.Map(), nil
	}
	return value.Value{}, dberr.New(dberr.TypeError, "a Go value of type %T has no Cypher form", x)
}

// fieldName returns the name that a struct field has in a map.
func fieldName(f reflect.StructField) (name string, skip bool) {
	tag := f.Tag.Get("hedgerow")
	if !f.IsExported() || tag == "-" {
		return "", true
	}
	if tag != "" {
		return tag, false
	}
	return f.Name, false
}

// isValueStruct tells structs that stand for one value from those that stand for a row or map.
func isValueStruct(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[Node](), reflect.TypeFor[Relationship](), reflect.TypeFor[Path](), reflect.TypeFor[Point](), reflect.TypeFor[time.Time](), reflect.TypeFor[Date](), reflect.TypeFor[LocalDateTime]():
		return true
	}
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// assign stores a Go form of a value (see fromValue) in a variable of another type where nothing is lost.
func assign(dst reflect.Value, src any) error {
	if src == nil {
		dst.SetZero()
		return nil
	}
	v := reflect.ValueOf(src)
	if v.Type().AssignableTo(dst.Type()) {
		dst.Set(v)
		return nil
	}
	switch t := dst.Addr().Interface().(type) {
	case *Date:
		if x, ok := src.(time.Time); ok {
			*t = Date(x)
			return nil
		}
	case *LocalDateTime:
		if x, ok := src.(time.Time); ok {
			*t = LocalDateTime(x)
			return nil
		}
	case *time.Duration:
		if text, ok := src.(string); ok {
			if d, ok := parseDuration(text); ok {
				*t = d
				return nil
			}
		}
		return fmt.Errorf("a %s does not fit a time.Duration", cypherType(src))
	case encoding.TextUnmarshaler:
		if text, ok := src.(string); ok {
			return t.UnmarshalText([]byte(text))
		}
	}
	switch dst.Kind() {
	case reflect.Pointer:
		p := reflect.New(dst.Type().Elem())
		if err := assign(p.Elem(), src); err != nil {
			return err
		}
		dst.Set(p)
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if i, ok := src.(int64); ok {
			if dst.OverflowInt(i) {
				return fmt.Errorf("%d does not fit a %s", i, dst.Type())
			}
			dst.SetInt(i)
			return nil
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if i, ok := src.(int64); ok {
			if i < 0 || dst.OverflowUint(uint64(i)) {
				return fmt.Errorf("%d does not fit a %s", i, dst.Type())
			}
			dst.SetUint(uint64(i))
			return nil
		}
	case reflect.Float32, reflect.Float64:
		switch n := src.(type) {
		case float64:
			dst.SetFloat(n)
			return nil
		case int64:
			if int64(float64(n)) == n {
				dst.SetFloat(float64(n))
				return nil
			}
		}
	case reflect.String:
		if s, ok := src.(string); ok {
			dst.SetString(s)
			return nil
		}
	case reflect.Bool:
		if b, ok := src.(bool); ok {
			dst.SetBool(b)
			return nil
		}
	case reflect.Slice:
		if list, ok := src.([]any); ok {
			out := reflect.MakeSlice(dst.Type(), len(list), len(list))
			for i, x := range list {
				if err := assign(out.Index(i), x); err != nil {
					return fmt.Errorf("element %d: %w", i, err)
				}
			}
			dst.Set(out)
			return nil
		}
	case reflect.Map:
		if m, ok := src.(map[string]any); ok && dst.Type().Key().Kind() == reflect.String {
			out := reflect.MakeMapWithSize(dst.Type(), len(m))
			for k, x := range m {
				e := reflect.New(dst.Type().Elem()).Elem()
				if err := assign(e, x); err != nil {
					return fmt.Errorf("key %q: %w", k, err)
				}
				out.SetMapIndex(reflect.ValueOf(k).Convert(dst.Type().Key()), e)
			}
			dst.Set(out)
			return nil
		}
	case reflect.Struct:
		m, ok := src.(map[string]any)
		switch e := src.(type) {
		case Node:
			m, ok = e.Props, true
		case Relationship:
			m, ok = e.Props, true
		}
		if ok && !isValueStruct(dst.Type()) {
			return assignStruct(dst, m)
		}
	}
	return fmt.Errorf("a %s does not fit a %s", cypherType(src), dst.Type())
}

func assignStruct(dst reflect.Value, m map[string]any) error {
	for i := range dst.NumField() {
		name, skip := fieldName(dst.Type().Field(i))
		if skip {
			continue
		}
		x, ok := m[name]
		if !ok {
			for k := range m {
				if strings.EqualFold(k, name) {
					x, ok = m[k], true
					break
				}
			}
		}
		if !ok {
			continue
		}
		if err := assign(dst.Field(i), x); err != nil {
			return fmt.Errorf("field %s: %w", dst.Type().Field(i).Name, err)
		}
	}
	return nil
}

func cypherType(x any) string {
	switch x.(type) {
	case int64:
		return "INTEGER"
	case float64:
		return "FLOAT"
	case string:
		return "STRING"
	case bool:
		return "BOOLEAN"
	case []any:
		return "LIST"
	case map[string]any:
		return "MAP"
	case Node:
		return "NODE"
	case Relationship:
		return "RELATIONSHIP"
	case Path:
		return "PATH"
	case Point:
		return "POINT"
	}
	return fmt.Sprintf("%T", x)
}
