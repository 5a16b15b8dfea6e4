package stats

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/value"
)

func row(kv ...any) value.Props {
	var keys []uint32
	var vals []value.Value
	for i := 0; i < len(kv); i += 2 {
		keys = append(keys, uint32(kv[i].(int)))
		switch x := kv[i+1].(type) {
		case int:
			vals = append(vals, value.NewInt(int64(x)))
		case string:
			vals = append(vals, value.NewString(x))
		case value.Value:
			vals = append(vals, x)
		}
	}
	return value.Props(value.AppendProps(nil, keys, vals))
}

// sampleLabel is a sample of all of 20,000 rows: key 1 unique, key 2 skewed, key 3 long and half missing.
func sampleLabel() *Label {
	r := rand.New(rand.NewPCG(1, 2))
	var s Sampler
	for i := range 20_000 {
		skew := int(200 * r.Float64() * r.Float64() * r.Float64())
		kv := []any{1, i, 2, fmt.Sprintf("v%03d", skew)}
		if i%2 == 0 {
			kv = append(kv, 3, strings.Repeat("é", 40)+fmt.Sprint(i%50))
		}
		s.Row(row(kv...))
	}
	d := NewDegreeSampler([]Kind{{5, Out}, {6, In}})
	for i := range 1000 {
		k := int64(0)
		if i%10 == 0 {
			k = 10
		}
		d.Add([]int64{k, 2 * k})
	}
	d.Neighbours(0, 7)
	return &Label{Rows: 20_000, Sampled: 20_000, Taken: 12345, Keys: s.Keys(20_000), Degrees: d.Degrees(20_000)}
}

func TestSample(t *testing.T) {
	l := sampleLabel()
	id, skew, long := l.Key(1), l.Key(2), l.Key(3)
	near(t, "ids", id.Distinct, 20_000, 0)
	near(t, "ids below 5000", id.Range(Interval{Upper: value.NewInt(5000), HasUpper: true}), 0.25, 0.005)
	near(t, "one id", id.Equal(value.NewInt(77)), 1.0/20_000, 1e-9)
	if len(id.Common) != 0 || len(id.Bounds) != Buckets+1 {
		t.Errorf("unique values have %d common ones and %d bounds", len(id.Common), len(id.Bounds))
	}
	near(t, "the most common value", skew.Equal(value.NewString("v000")), 0.102, 0.01) // P(xyz < 1/200)
	near(t, "a rare value", skew.Equal(value.NewString("v199")), 0, 0.005)
	near(t, "prefix v00", skew.Prefix("v00"), 0.42, 0.03) // below 10/200
	near(t, "half is missing", long.NotNull(), 0.5, 1e-9)
	near(t, "long values that differ at the end", long.Distinct, 25, 0)
	near(t, "width", long.Width, 81.5, 0.6)
	if len(long.Common) != 0 {
		t.Error("a cut value is held for a whole one")
	}
	d := l.Degree(5, Out)
	near(t, "mean", d.Mean, 1, 1e-9)
	near(t, "none", d.Zero, 0.9, 1e-9)
	near(t, "median", d.P50, 0, 0)
	near(t, "p99", d.P99, 10, 0)
	near(t, "neighbours", d.Neighbours, 7, 0)
	b, _ := d.Biased()
	near(t, "size-biased", b, 10, 1e-9)
	b, _ = d.Then(6, In)
	near(t, "the other way from there", b, 20, 1e-9)
}

// The number of different values of all rows is told from a part within a factor of three for even and for unique values.
func TestDistinctFromAPart(t *testing.T) {
	for _, different := range []int{10, 1000, 100_000, 1_000_000} {
		r := rand.New(rand.NewPCG(3, 4))
		var s Sampler
		for range 10_000 {
			s.Row(row(1, r.IntN(different)))
		}
		got := s.Keys(1_000_000)[0].Distinct
		want := float64(different)
		if different == 1_000_000 {
			want *= 1 - 1/2.718281828 // of a million draws
		}
		if got < want/3 || got > want*3 {
			t.Errorf("%g different values are told, there are %g", got, want)
		}
	}
}

// TestEqualSamplesGiveEqualBytes: S3, and what is read back is what was written.
func TestEqualSamplesGiveEqualBytes(t *testing.T) {
	a := sampleLabel()
	b := a.Append(nil)
	if !bytes.Equal(b, sampleLabel().Append(nil)) {
		t.Error("equal samples give different bytes")
	}
	back, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back.Append(nil), b) || !reflect.DeepEqual(back.Degrees, a.Degrees) {
		t.Error("what is read differs from what was written")
	}
}

func TestSampleIsBounded(t *testing.T) { // S2
	var s Sampler
	for i := range 2 * MaxKeys {
		s.Row(row(i+1, strings.Repeat("x", 5000)))
	}
	keys := s.Keys(1e9)
	if len(keys) != MaxKeys {
		t.Errorf("%d keys", len(keys))
	}
	for i := 0; !s.Full(); i++ {
		if s.Row(row(1, fmt.Sprint(i, strings.Repeat("x", 100)))); i > SampleBytes/sampledBytes {
			t.Fatal("the sample never ends")
		}
	}
}

func FuzzDecode(f *testing.F) {
	small := &Label{Rows: 10, Sampled: 10, Taken: 1, Degrees: []*Degree{{Type: 4, Dir: In, Mean: 2, Second: 9, Joint: []Joint{{5, Out, 3}}}},
		Keys: []*Key{{ID: 1, Rows: 10, Distinct: 3, Common: []Common{{value.NewString("x"), 0.5}}, Bounds: []value.Value{value.NewInt(1), value.NewFloat(2.5)}}}}
	f.Add(small.Append(nil))
	f.Add([]byte{version})
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := Decode(b)
		if err != nil {
			return
		}
		for _, k := range l.Keys {
			v := value.NewInt(3)
			for _, s := range []float64{k.Equal(v), k.EqualAny(), k.Range(Interval{Lower: v, HasLower: true}), k.Prefix("a"), k.NotNull()} {
				if !(s >= 0 && s <= 1) {
					t.Fatalf("a share of %g", s)
				}
			}
		}
		if again, err := Decode(l.Append(nil)); err != nil || !bytes.Equal(again.Append(nil), l.Append(nil)) {
			t.Fatal("what was read cannot be written and read again")
		}
	})
}
