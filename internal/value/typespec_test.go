package value

import (
	"testing"

	"pgregory.net/rapid"
)

func anySpec(t *rapid.T, depth int) TypeSpec {
	s := TypeSpec{Kinds: rapid.SampledFrom([]uint32{0, nullBit, 1 << Int, 1<<Int | 1<<Float, 1<<String | nullBit, 1 << Bool, allKinds}).Draw(t, "kinds")}
	if depth > 0 {
		for range rapid.IntRange(0, 3).Draw(t, "lists") {
			s.Lists = append(s.Lists, anySpec(t, depth-1))
		}
	}
	return s.normal()
}

// A value has its own type and every type that covers it; union has what either has; a type covers another only if it has all its values.
func TestTypesAgreeWithValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(t, 3)
		own := TypeOf(v, nil)
		a, b := anySpec(t, 2), anySpec(t, 2)
		u := a.Union(b)
		switch {
		case !own.Has(v, nil) || !AnyType.Has(v, nil):
			t.Fatalf("%s is not of its type %s", AppendTCK(nil, v), own)
		case u.Has(v, nil) != (a.Has(v, nil) || b.Has(v, nil)):
			t.Fatalf("%s and the union %s of %s and %s", AppendTCK(nil, v), u, a, b)
		case a.Covers(b) && b.Has(v, nil) && !a.Has(v, nil):
			t.Fatalf("%s covers %s, but has not %s", a, b, AppendTCK(nil, v))
		case a.Covers(own) && !a.Has(v, nil):
			t.Fatalf("%s covers %s, but has not %s", a, own, AppendTCK(nil, v))
		case !u.Covers(a) || !u.Covers(b):
			t.Fatalf("the union %s of %s and %s", u, a, b)
		case u.String() != b.Union(a).String():
			t.Fatalf("union of %s and %s depends on the order: %s, %s", a, b, u, b.Union(a))
		case a.Has(Value{}, nil) != a.Nullable():
			t.Fatalf("%s and null", a)
		}
	})
}

func TestPropertyTypesRoundTrip(t *testing.T) {
	spec := TypeSpec{Kinds: 1<<Int | 1<<Point | nullBit, Lists: []TypeSpec{{Kinds: 1 << String}, {Kinds: 1 << Date}}}.normal()
	if !spec.Storable() || AnyType.Storable() || spec.NotNull().Storable() || ListType(TypeSpec{Kinds: 1<<Int | nullBit}).Storable() || ListType(spec).Storable() {
		t.Error("Storable")
	}
	back, rest, ok := DecodeType(append(AppendType(nil, spec), 7))
	if !ok || len(rest) != 1 || back.String() != spec.String() || spec.String() != "INTEGER | POINT | LIST<STRING NOT NULL> | LIST<DATE NOT NULL>" {
		t.Errorf("%s came back as %s", spec, back)
	}
	for n := range AppendType(nil, spec) {
		if _, _, ok := DecodeType(AppendType(nil, spec)[:n]); ok {
			t.Errorf("%d bytes are taken for a type", n)
		}
	}
}
