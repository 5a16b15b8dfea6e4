package value

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

func TestMakePointChecks(t *testing.T) {
	for _, c := range []struct {
		srid   uint32
		coords []float64
	}{
		{1, []float64{1, 2}}, {7203, []float64{1}}, {7203, []float64{1, 2, 3}}, {9157, []float64{1, 2}}, {7203, []float64{math.NaN(), 1}},
		{7203, []float64{math.Inf(1), 1}}, {4326, []float64{0, 90.0001}}, {4979, []float64{0, -91, 0}}, {4326, []float64{math.Inf(-1), 0}},
	} {
		_, err := MakePoint(c.srid, c.coords...)
		if e := dberr.As(err); e == nil || e.Code != dberr.ArgumentError || e.Token != "InvalidArgumentValue" {
			t.Errorf("%d %v: %v", c.srid, c.coords, err)
		}
		if Validate(NewPoint(c.srid, c.coords...)) == nil {
			t.Errorf("Validate takes %d %v", c.srid, c.coords)
		}
	}
}

// A point that MakePoint made is valid, prints and parses in every text form, and its longitude is within ±180.
func TestPointForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		crs := rapid.SampledFrom(crsTable[:]).Draw(t, "crs")
		c := []float64{rapid.Float64Range(-1e6, 1e6).Draw(t, "x"), rapid.Float64Range(-90, 90).Draw(t, "y"), rapid.Float64Range(-1e300, 1e300).Draw(t, "z")}
		p, err := MakePoint(crs.SRID, c[:crs.Dims]...)
		if err != nil {
			t.Fatal(err)
		}
		got := p.Coords()
		if crs.Geographic {
			if math.Abs(got[0]) > 180 || math.Abs(math.Sin((got[0]-c[0])*math.Pi/360)) > 1e-8 {
				t.Fatalf("longitude %v became %v", c[0], got[0])
			}
		}
		if err := Validate(p); err != nil {
			t.Fatal(err)
		}
		for name, parse := range map[string]func() (Value, error){
			"agtype": func() (Value, error) { return ParseAgtype(string(AppendAgtype(nil, p))) },
			"tck":    func() (Value, error) { return ParseTCK(string(AppendTCK(nil, p))) },
		} {
			if back, err := parse(); err != nil || Compare(back, p) != 0 {
				t.Fatalf("%s: %s became %s, %v", name, AppendTCK(nil, p), AppendTCK(nil, back), err)
			}
		}
	})
}

// Distance is symmetric, 0 to itself, and obeys the triangle inequality but for rounding.
func TestDistanceIsAMetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		crs := rapid.SampledFrom(crsTable[:]).Draw(t, "crs")
		point := func(name string) Value {
			c := []float64{rapid.Float64Range(-180, 180).Draw(t, name+"x"), rapid.Float64Range(-90, 90).Draw(t, name+"y"), 0}
			return NewPoint(crs.SRID, c[:crs.Dims]...)
		}
		a, b, c := point("a"), point("b"), point("c")
		ab, _ := Distance(a, b)
		ba, _ := Distance(b, a)
		ac, _ := Distance(a, c)
		cb, _ := Distance(c, b)
		if aa, _ := Distance(a, a); aa != 0 || math.Abs(ab-ba) > 1e-6*(1+ab) || ab > ac+cb+1e-6*(1+ac+cb) {
			t.Fatalf("aa %v ab %v ba %v ac %v cb %v", aa, ab, ba, ac, cb)
		}
	})
}
