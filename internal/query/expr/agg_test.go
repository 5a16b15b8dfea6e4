package expr

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

func aggregate(name string, distinct bool, args int) *Agg {
	d, ok := Lookup(name)
	if !ok {
		panic(name)
	}
	a := &Agg{Def: d, Distinct: distinct}
	for i := range args {
		a.Args = append(a.Args, col(i))
	}
	return a
}

type account struct{ n int64 }

func (a *account) Grow(n int64) error { a.n += n; return nil }

func runAgg(a *Agg, list string, p float64) (string, error) {
	env := testEnv()
	s := NewAgg(a)
	for _, v := range k(list).(*Const).V.All() {
		args := []value.Value{v, value.NewFloat(p)}[:len(a.Args)]
		if err := s.Add(env, args); err != nil {
			return "", err
		}
	}
	v, err := s.Result(env)
	return string(value.AppendTCK(nil, v)), err
}

func TestAggregates(t *testing.T) {
	for _, c := range []struct {
		name     string
		distinct bool
		list     string
		p        float64
		want     string
	}{
		{"count", false, "[1, null, 2]", 0, "2"}, {"count", true, "[1, 1.0, null, 'a', NaN, NaN, 2]", 0, "4"}, {"sum", false, "[]", 0, "0"}, {"sum", false, "[1, 2, null]", 0, "3"}, {"sum", false, "[1, 2.5]", 0, "3.5"},
		{"sum", false, "[9223372036854775807, 1]", 0, "!NumericOutOfRange"}, {"sum", true, "[1, 1, 1.0, 2]", 0, "3"}, {"sum", false, "['a']", 0, "!TypeError"}, {"sum", false, "[0.1, 0.2, 0.3]", 0, "0.6"},
		{"avg", false, "[]", 0, "null"}, {"avg", false, "[1, 2]", 0, "1.5"}, {"avg", false, "[9223372036854775807, 9223372036854775807]", 0, "9.223372036854776e+18"}, {"avg", true, "[1, 1, 4]", 0, "2.5"},
		{"min", false, "[1, 'a', null, [1, 2], 0.2, 'b']", 0, "[1, 2]"}, {"max", false, "[1, 'a', null, [1, 2], 0.2, 'b']", 0, "1"}, {"min", false, "[null]", 0, "null"}, {"max", false, "['a', 'abc', 'ab', 'b']", 0, "'b'"},
		{"min", false, "[9223372036854775807, '']", 0, "''"}, {"min", false, "[true, '', [], 1]", 0, "[]"}, {"max", false, "['', 9223372036854775807]", 0, "9223372036854775807"},
		{"min", false, "['zz', 'y', 'xyz']", 0, "'xyz'"}, {"max", false, "[[1], [2], [2, 1]]", 0, "[2, 1]"}, {"collect", false, "[1, null, 'a', [2]]", 0, "[1, 'a', [2]]"}, {"collect", true, "[1, null, 1.0, 'a', 'a']", 0, "[1, 'a']"}, {"collect", false, "[]", 0, "[]"},
		{"stDev", false, "[2, 4, 4, 4, 5, 5, 7, 9]", 0, "2.138089935299395"}, {"stDevP", false, "[2, 4, 4, 4, 5, 5, 7, 9]", 0, "2.0"}, {"stDev", false, "[1]", 0, "0.0"},
		{"percentileCont", false, "[10.0, 20.0, 30.0]", 0.25, "15.0"}, {"percentileDisc", false, "[10.0, 20.0, 30.0]", 0.5, "20.0"}, {"percentileDisc", false, "[10, 20, 30]", 0, "10"}, {"percentileDisc", false, "[10, 20, 30]", 1, "30"},
		{"percentileCont", false, "[1]", 1000, "!NumberOutOfRange"}, {"percentileCont", false, "[]", 0.5, "null"}, {"percentileCont", true, "[1, 1, 3]", 0.5, "2.0"},
	} {
		n := 1
		if c.name == "percentileCont" || c.name == "percentileDisc" {
			n = 2
		}
		got, err := runAgg(aggregate(c.name, c.distinct, n), c.list, c.p)
		if c.want[0] == '!' {
			if e := dberr.As(err); e == nil || e.Token != c.want[1:] && e.Code.String() != c.want[1:] {
				t.Errorf("%s(%s): %s %v", c.name, c.list, got, err)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s(%s): got %s %v, want %s", c.name, c.list, got, err, c.want)
		}
	}
	d := func(s string) value.Value { v, _ := value.ParseTemporal(value.Duration, s); return v }
	s := NewAgg(aggregate("avg", false, 1))
	for _, v := range []value.Value{d("P1D"), d("P3DT12H")} {
		if err := s.Add(testEnv(), []value.Value{v}); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := s.Result(testEnv()); err != nil || string(value.AppendTemporal(nil, v)) != "P2DT6H" {
		t.Errorf("%s %v", brief(v), err)
	}
}

// One state a row, one aggregator over groups and columns, and parts that are merged all give the same.
func TestAggregatorsAgree(t *testing.T) {
	names := []string{"count", "sum", "avg", "min", "max", "collect", "stDev", "percentileCont", "percentileDisc"}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "name")
		distinct := rapid.Bool().Draw(t, "distinct")
		nargs := 1
		if name[0] == 'p' {
			nargs = 2
		}
		a := aggregate(name, distinct, nargs)
		draw := rapid.SampledFrom([]string{"1", "2", "3", "null", "2.0", "1.5", "-7"})
		if name == "min" || name == "max" || name == "collect" || name == "count" {
			draw = rapid.SampledFrom([]string{"1", "'a'", "null", "2.0", "'abc'", "[1]", "true", "NaN"})
		}
		const groups = 3
		acct := &account{}
		env := testEnv()
		env.Mem = acct
		whole := NewAggregator(a)
		whole.Grow(groups)
		var one, left, right [groups]AggState
		for g := range groups {
			one[g], left[g], right[g] = NewAgg(a), NewAgg(a), NewAgg(a)
		}
		for range rapid.IntRange(0, 3).Draw(t, "batches") {
			var c0, c1 vec.Column
			var gs []uint32
			uniform := rapid.Bool().Draw(t, "uniform") && name != "min" && name != "max"
			for range rapid.IntRange(1, 8).Draw(t, "rows") {
				v := k(draw.Draw(t, "v")).(*Const).V
				if uniform {
					v = value.NewInt(int64(rapid.IntRange(0, 4).Draw(t, "i")))
				}
				g := uint32(rapid.IntRange(0, groups-1).Draw(t, "g"))
				c0.Append(v)
				c1.Append(value.NewFloat(0.3))
				gs = append(gs, g)
				args := []value.Value{v, value.NewFloat(0.3)}[:nargs]
				half := left[g]
				if len(gs)%2 == 0 {
					half = right[g]
				}
				for _, s := range []AggState{one[g], half} {
					if err := s.Add(env, args); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := whole.Add(env, gs, []*vec.Column{&c0, &c1}[:nargs]); err != nil {
				t.Fatal(err)
			}
		}
		var out vec.Column
		if err := whole.Results(env, 0, groups, &out); err != nil {
			t.Fatal(err)
		}
		charged := int64(whole.Size())
		for g := range groups {
			want, err := one[g].Result(env)
			if err != nil {
				t.Fatal(err)
			}
			if err := left[g].Merge(env, right[g]); err != nil {
				t.Fatal(err)
			}
			merged, err := left[g].Result(env)
			if err != nil {
				t.Fatal(err)
			}
			if !near(out.Value(g), want) {
				t.Fatalf("%s group %d: columns give %s, rows %s", name, g, brief(out.Value(g)), brief(want))
			}
			// Which of equivalent values DISTINCT keeps, and the order of collect, depend on the parts.
			if name == "collect" {
				if merged.Len() != want.Len() {
					t.Fatalf("merged %s, want %s", brief(merged), brief(want))
				}
			} else if !near(merged, want) {
				t.Fatalf("%s group %d: merged %s, whole %s", name, g, brief(merged), brief(want))
			}
			charged += int64(one[g].Size() + left[g].Size() + right[g].Size())
		}
		if acct.n != charged {
			t.Fatalf("charged %d, sizes sum to %d", acct.n, charged)
		}
	})
}

func near(a, b value.Value) bool {
	if a.Kind() == value.Float || b.Kind() == value.Float {
		x, y := toFloat(a), toFloat(b)
		return x == y || math.Abs(x-y) <= 1e-9*math.Max(math.Abs(x), 1) || x != x && y != y
	}
	return value.Compare(a, b) == 0
}

func TestColumnarAggregatesDoNotAllocate(t *testing.T) {
	b := numbers(1024)
	groups := make([]uint32, 1024)
	for i := range groups {
		groups[i] = uint32(i % 16)
	}
	env := testEnv()
	for _, name := range []string{"count", "sum", "avg", "min", "max"} {
		a := NewAggregator(aggregate(name, false, 1))
		a.Grow(16)
		args := b.Cols[:1]
		if n := testing.AllocsPerRun(50, func() {
			if err := a.Add(env, groups, args); err != nil {
				t.Fatal(err)
			}
		}); n > 1 {
			t.Errorf("%s: %v allocations for 1,024 rows", name, n)
		}
	}
}

func BenchmarkSum(b *testing.B) {
	batch := numbers(1024)
	groups := make([]uint32, 1024)
	a := NewAggregator(aggregate("sum", false, 1))
	a.Grow(1)
	env := testEnv()
	for b.Loop() {
		if err := a.Add(env, groups, batch.Cols[:1]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/row")
}

// TestCollectCostsItsBytes: what collect() holds of integers that arrive for one group is what they take in a list and little more, and groups
// that take turns get their values in order.
func TestCollectCostsItsBytes(t *testing.T) {
	const n = 200_000
	fill := func(groups int) (Aggregator, *vec.Column) {
		env := testEnv()
		env.Mem = &account{}
		a := NewAggregator(aggregate("collect", false, 1))
		a.Grow(groups)
		var c vec.Column
		gs := make([]uint32, 0, vec.MaxRows)
		for i := range n {
			c.AppendWord(value.Int, uint64(i))
			if gs = append(gs, uint32(i%groups)); len(gs) == vec.MaxRows || i == n-1 {
				if err := a.Add(env, gs, []*vec.Column{&c}); err != nil {
					t.Fatal(err)
				}
				c.Reset()
				gs = gs[:0]
			}
		}
		out := &vec.Column{}
		if err := a.Results(env, 0, groups, out); err != nil {
			t.Fatal(err)
		}
		return a, out
	}
	for _, groups := range []int{1, 3} {
		a, out := fill(groups)
		size := 0
		for g := range groups {
			l := out.Value(g)
			size += len(l.Raw())
			if want := (n - g + groups - 1) / groups; l.Len() != want {
				t.Fatalf("group %d of %d has %d values, not %d", g, groups, l.Len(), want)
			}
			for i, v := range l.All() {
				if v.Int() != int64(i*groups+g) {
					t.Fatalf("value %d of group %d of %d is %d", i, g, groups, v.Int())
				}
			}
		}
		if groups == 1 && a.Size() > 2*size {
			t.Errorf("%d bytes are held for a list of %d", a.Size(), size)
		}
	}
	if per := testing.AllocsPerRun(1, func() { fill(1) }) / n; per > 0.01 {
		t.Errorf("%.4f allocations a value", per)
	}
}
