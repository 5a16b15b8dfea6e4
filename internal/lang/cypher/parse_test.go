package cypher

import (
	"reflect"
	"testing"
)

var (
	spanType = reflect.TypeOf(Span{})
	posType  = reflect.TypeOf(int32(0))
)

// sameTree compares two trees but for spans and source texts.
func sameTree(a, b reflect.Value) bool {
	if a.Kind() != b.Kind() || a.IsValid() && a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return sameTree(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := 0; i < a.Len(); i++ {
			if !sameTree(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		if a.Type() == spanType {
			return true
		}
		for i := 0; i < a.NumField(); i++ {
			f := a.Type().Field(i)
			if f.Name == "Text" || f.Name == "OpPos" || f.Name == "Params" {
				continue
			}
			if !sameTree(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	default:
		return a.Equal(b)
	}
}

// checkSpans walks a tree and checks P3: every child lies within its parent and no span leaves the text.
func checkSpans(t *testing.T, text string, v reflect.Value, lo, hi int) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if n, ok := v.Interface().(Node); ok && v.Kind() == reflect.Pointer {
			if n.Pos() < lo || n.End() > hi || n.Pos() > n.End() {
				t.Fatalf("%q: %T at %d..%d lies outside of %d..%d", text, n, n.Pos(), n.End(), lo, hi)
			}
			lo, hi = n.Pos(), n.End()
		}
		checkSpans(t, text, v.Elem(), lo, hi)
	case reflect.Slice:
		for i := 0; i < v.Len(); i++ {
			checkSpans(t, text, v.Index(i), lo, hi)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			checkSpans(t, text, v.Field(i), lo, hi)
		}
	}
}

// roundTrip parses, checks spans, prints and parses again (P2, P3, P4).
func roundTrip(t *testing.T, text string, opts Options) {
	t.Helper()
	s, err := Parse(text, opts)
	if err != nil {
		return
	}
	checkSpans(t, text, reflect.ValueOf(s), 0, len(text))
	printed := Print(s)
	again, err := Parse(printed, opts)
	if err != nil {
		t.Fatalf("%q printed as %q does not parse: %v", text, printed, err)
	}
	if !sameTree(reflect.ValueOf(s), reflect.ValueOf(again)) {
		t.Fatalf("%q printed as %q is another tree, printed as %q", text, printed, Print(again))
	}
}
