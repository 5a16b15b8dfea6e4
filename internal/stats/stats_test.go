package stats

import (
	"math"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/value"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tol {
		t.Errorf("%s = %g, want %g", what, got, want)
	}
}

func TestKeyShares(t *testing.T) {
	k := &Key{Rows: 1000, Null: 0.2, Distinct: 102, Common: []Common{{value.NewInt(7), 0.3}, {value.NewString("x"), 0.1}}}
	for i := range 11 {
		k.Bounds = append(k.Bounds, value.NewInt(int64(10*i)))
	}
	k.seal()
	near(t, "common value", k.Equal(value.NewInt(7)), 0.3, 1e-9)
	near(t, "the same number as a float", k.Equal(value.NewFloat(7)), 0.3, 1e-9)
	near(t, "another value", k.Equal(value.NewInt(8)), 0.4/100, 1e-9)
	near(t, "null", k.Equal(value.Value{}), 0, 0)
	near(t, "any value", k.EqualAny(), 0.8/102, 1e-9)
	near(t, "not null", k.NotNull(), 0.8, 1e-9)
	// Half of the histogram (0.4), and 7.
	near(t, "< 50", k.Range(Interval{Upper: value.NewInt(50), HasUpper: true}), 0.5, 1e-9)
	near(t, "≥ 50", k.Range(Interval{Lower: value.NewInt(50), HasLower: true, LowerInc: true}), 0.2, 1e-9)
	near(t, "25 … 35", k.Range(Interval{Lower: value.NewInt(25), HasLower: true, Upper: value.NewFloat(35), HasUpper: true}), 0.04, 1e-9)
	near(t, "strings", k.Range(Interval{Lower: value.NewString("a"), HasLower: true}), 0.1, 0.02)
	near(t, "a contradiction", k.Range(Interval{Lower: value.NewInt(60), HasLower: true, Upper: value.NewInt(40), HasUpper: true}), 0, 0)
	near(t, "different values of twice the rows", k.DistinctOf(2000), 204, 1e-9)
	few := &Key{Rows: 1000, Distinct: 5}
	near(t, "a few values of twice the rows", few.DistinctOf(2000), 5, 0)
}

func TestPrefix(t *testing.T) {
	k := &Key{Rows: 1000, Distinct: 1000}
	for _, s := range []string{"aa", "ab", "b", "ca", "cb", "cc"} {
		k.Bounds = append(k.Bounds, value.NewString(s))
	}
	near(t, "c", k.Prefix("c"), 0.5, 0.15)
	near(t, "z", k.Prefix("z"), 0, 1e-9)
	near(t, "\\xff", k.Prefix("\xff"), 0, 1e-9)
	near(t, "everything", k.Prefix(""), GuessPrefix, 1e-9)
}

// TestAbsurd: S1.
func TestAbsurd(t *testing.T) {
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e300, 5e-324}
	vals := []value.Value{{}, value.NewInt(1), value.NewFloat(math.NaN()), value.NewString(""), value.NewFloat(math.Inf(1)), value.NewList()}
	for _, x := range bad {
		for _, y := range bad {
			k := &Key{Rows: x, Null: y, Distinct: x, Wide: y, Common: []Common{{value.NewInt(1), y}, {value.NewInt(1), x}}, Bounds: vals}
			for _, key := range []*Key{k, nil, {}, {Bounds: vals[:1]}} {
				for _, v := range vals {
					for _, s := range []float64{key.Equal(v), key.EqualAny(), key.NotNull(), key.Prefix("a"), key.Range(Interval{Lower: v, HasLower: true}),
						key.Range(Interval{Lower: v, HasLower: true, Upper: vals[1], HasUpper: true}), key.Range(Interval{Upper: v, HasUpper: true})} {
						if !(s >= 0 && s <= 1) {
							t.Fatalf("a share of %g with %g, %g and %v", s, x, y, v)
						}
					}
				}
				if d := key.DistinctOf(y); !(d >= 1) || math.IsInf(d, 0) {
					t.Fatalf("%g different values", d)
				}
			}
			d := &Degree{Mean: x, Second: y, Joint: []Joint{{5, In, y}}}
			for _, dg := range []*Degree{d, nil} {
				if b, _ := dg.Biased(); !(b >= 0) || math.IsInf(b, 0) {
					t.Fatalf("a degree of %g", b)
				}
				if b, _ := dg.Then(5, In); !(b >= 0) || math.IsInf(b, 0) {
					t.Fatalf("a degree of %g", b)
				}
			}
		}
	}
}
