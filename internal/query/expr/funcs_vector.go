package expr

import (
	"math"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

func init() {
	vectors := Type{Kinds: TList.Kinds}
	similarity := func(name, doc string, f func(a, b []float64) (float64, error)) *Def {
		return &Def{Name: name, Category: "vector", Description: doc, Sigs: sigs(sig(TFloat, vectors, vectors)), Raises: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				x, err := vector(c, name, a[0])
				if err != nil {
					return value.Value{}, err
				}
				y, err := vector(c, name, a[1])
				if err != nil {
					return value.Value{}, err
				}
				if len(x) != len(y) {
					return value.Value{}, badVector("%s(): the vectors have %d and %d dimensions", name, len(x), len(y))
				}
				s, err := f(x, y)
				return value.NewFloat(float64(float32(s))), err // as the vector indexes of Neo4j score
			}}
	}
	register(
		similarity("vector.similarity.cosine", "How near the directions of two vectors are, from 0 to 1: (1 + cosine) / 2.", func(a, b []float64) (float64, error) {
			var dot, na, nb float64
			for i := range a {
				dot, na, nb = dot+a[i]*b[i], na+a[i]*a[i], nb+b[i]*b[i]
			}
			if na == 0 || nb == 0 {
				return 0, badVector("vector.similarity.cosine(): a vector of length 0 has no direction")
			}
			return (1 + min(max(dot/(math.Sqrt(na)*math.Sqrt(nb)), -1), 1)) / 2, nil
		}),
		similarity("vector.similarity.euclidean", "How near two vectors are, from 0 to 1: 1 / (1 + square of their distance).", func(a, b []float64) (float64, error) {
			var sum float64
			for i := range a {
				d := a[i] - b[i]
				sum += d * d
			}
			return 1 / (1 + sum), nil
		}),
	)
}

func badVector(format string, args ...any) error {
	return dberr.New(dberr.ArgumentError, format, args...).WithToken("InvalidArgumentValue")
}

// vector reads a list of numbers, each within the range of a float32, as vector indexes hold them.
func vector(c *call, fn string, v value.Value) ([]float64, error) {
	if v.Kind() != value.List {
		return nil, wantKind(fn, v, "a List of numbers")
	}
	if v.Len() == 0 {
		return nil, badVector("%s(): a vector must have at least one dimension", fn)
	}
	c.room(8 * v.Len())
	out := make([]float64, 0, v.Len())
	for _, e := range v.All() {
		c.tick()
		if !e.IsNumber() {
			return nil, wantKind(fn, e, "numbers in a vector")
		}
		x := float64(float32(toFloat(e)))
		if x != x || math.IsInf(x, 0) {
			return nil, badVector("%s(): a vector must have finite coordinates, found %s", fn, brief(e))
		}
		out = append(out, x)
	}
	return out, nil
}
