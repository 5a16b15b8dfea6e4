package bench

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// histogram counts times in classes that are at most 1/128 of their value wide (K5).
type histogram struct {
	classes  [classes]uint32
	n        int64
	sum      time.Duration
	min, max time.Duration
}

const (
	fine    = 7 // bits of a value that its class keeps
	classes = (64 - fine) << fine
)

// class numbers times: below 2^(fine+1) each has its own, above each power of two has 2^fine.
func class(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(0, bits.Len64(v)-fine-1)
	return shift<<fine + int(v>>shift)
}

// middle is the time in the middle of a class.
func middle(c int) time.Duration {
	shift := max(0, c>>fine-1)
	low := uint64(c-shift<<fine) << shift
	return time.Duration(low + (uint64(1)<<shift)/2)
}

func (h *histogram) add(d time.Duration) {
	h.classes[class(d)]++
	if h.n == 0 || d < h.min {
		h.min = d
	}
	h.n++
	h.sum += d
	h.max = max(h.max, d)
}

func (h *histogram) merge(o *histogram) {
	if o.n == 0 {
		return
	}
	if h.n == 0 || o.min < h.min {
		h.min = o.min
	}
	for i, k := range o.classes {
		h.classes[i] += k
	}
	h.n += o.n
	h.sum += o.sum
	h.max = max(h.max, o.max)
}

// quantile returns the least time that a share q of all times does not exceed, to the width of a class.
func (h *histogram) quantile(q float64) time.Duration {
	rank := int64(math.Ceil(q * float64(h.n)))
	for c, k := range h.classes {
		if rank -= int64(k); k > 0 && rank <= 0 {
			return min(max(middle(c), h.min), h.max)
		}
	}
	return h.max
}

func (h *histogram) mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	return h.sum / time.Duration(h.n)
}

// median of numbers; of an even count the mean of the middle two, of none NaN.
func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	m := len(x) / 2
	if len(x)%2 == 1 {
		return x[m]
	}
	return (x[m-1] + x[m]) / 2
}

// variation is the coefficient of variation: the sample's standard deviation over its mean; 0 of fewer than two numbers.
func variation(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	mean := 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	if mean == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum/float64(len(x)-1)) / mean
}
