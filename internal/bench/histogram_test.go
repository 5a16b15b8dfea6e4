package bench

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestClasses(t *testing.T) {
	last := -1
	for _, d := range []time.Duration{0, 1, 2, 127, 128, 255, 256, 257, 258, 1000, 1e6, 1e9, 1e12, math.MaxInt64} {
		c := class(d)
		if c < last || c >= classes {
			t.Errorf("%d is in class %d, after %d", d, c, last)
		}
		last = c
		if m := middle(c); math.Abs(float64(m-d)) > float64(d)/128 {
			t.Errorf("the middle of %d's class is %d", d, m)
		}
	}
	if class(-5) != 0 {
		t.Error("a time below zero has no class")
	}
}

// TestQuantiles compares with the sorted times themselves.
func TestQuantiles(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var parts [3]histogram
	var all []time.Duration
	sum := time.Duration(0)
	for range 20000 {
		d := time.Duration(math.Exp(rnd.NormFloat64()*2 + 10))
		parts[rnd.IntN(3)].add(d)
		all = append(all, d)
		sum += d
	}
	var h histogram
	for i := range parts {
		h.merge(&parts[i])
	}
	slices.Sort(all)
	for _, q := range []float64{0, 0.01, 0.5, 0.95, 0.99, 1} {
		want := all[max(0, int(math.Ceil(q*float64(len(all))))-1)]
		if got := h.quantile(q); math.Abs(float64(got-want)) > float64(want)/100 {
			t.Errorf("quantile %v is %v, not %v", q, got, want)
		}
	}
	if h.n != 20000 || h.mean() != sum/20000 || h.max != all[len(all)-1] || h.min != all[0] {
		t.Errorf("%d times, mean %v, from %v to %v", h.n, h.mean(), h.min, h.max)
	}
	var none histogram
	if none.quantile(0.5) != 0 || none.mean() != 0 {
		t.Error("a histogram of nothing has times")
	}
	none.merge(&histogram{})
	if none.n != 0 {
		t.Error("nothing and nothing is something")
	}
}

func TestStatistics(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{4, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.x); got != c.want {
			t.Errorf("the median of %v is %v", c.x, got)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("nothing has a median")
	}
	if v := variation([]float64{2, 4, 4, 4, 5, 5, 7, 9}); math.Abs(v-2.1380899/5) > 1e-6 {
		t.Errorf("variation %v", v)
	}
	if variation([]float64{7}) != 0 || variation([]float64{0, 0}) != 0 {
		t.Error("one number, or zeros, vary")
	}
	// Ratios are of turns beside each other: a slow minute that met both targets does not count.
	if r := ratio([]float64{20, 2, 200}, []float64{10, 1, 100}); r != 2 {
		t.Errorf("ratio %v", r)
	}
	if ratio(nil, []float64{1}) != 0 || ratio([]float64{1}, []float64{0}) != 0 {
		t.Error("a ratio to nothing")
	}
}
