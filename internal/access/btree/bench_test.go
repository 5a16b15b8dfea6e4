package btree

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// benchTree has 16-byte keys in three levels.
func benchTree(b *testing.B, n uint64) *Tree {
	env := newEnv(b)
	w, err := NewBuilder(context.Background(), nil, env.pool, env.log, env.rel(b))
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		if err := w.Add(context.Background(), append(be(3<<48), be(i)...), i+1); err != nil {
			b.Fatal(err)
		}
	}
	tr, err := w.Finish(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return tr
}

// BenchmarkLookup is one descent through three levels to a random key.
func BenchmarkLookup(b *testing.B) {
	const n = 600_000
	tr := benchTree(b, n)
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(1, 1))
	k := append(be(3<<48), be(0)...)
	dst := make([]uint64, 0, 1)
	for b.Loop() {
		binary.BigEndian.PutUint64(k[8:], rng.Uint64N(n))
		dst, _ = tr.LookupEq(ctx, k, dst[:0])
		if len(dst) != 1 {
			b.Fatal("not found")
		}
	}
}

// BenchmarkProbeSorted asks for every tenth key in order.
func BenchmarkProbeSorted(b *testing.B) {
	const n = 600_000
	tr := benchTree(b, n)
	ctx := context.Background()
	k := append(be(3<<48), be(0)...)
	var c Cursor
	c.Init(tr, Options{Probe: true, NoKeys: true, Max: 2})
	i := uint64(0)
	for b.Loop() {
		i = (i + 10) % n
		binary.BigEndian.PutUint64(k[8:], i)
		c.Seek(Prefix(k))
		if ok, _ := c.Next(ctx); !ok {
			b.Fatal("not found")
		}
	}
}

// BenchmarkScan reports the time of one entry of a full scan with keys.
func BenchmarkScan(b *testing.B) {
	const n = 600_000
	tr := benchTree(b, n)
	ctx := context.Background()
	var c Cursor
	c.Init(tr, Options{})
	for b.Loop() {
		c.Seek(Range{})
		for {
			k, err := c.Page(ctx)
			if err != nil || k == 0 {
				break
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
}

// BenchmarkInsert adds ascending and random keys.
func BenchmarkInsert(b *testing.B) {
	for _, order := range []string{"ascending", "random"} {
		b.Run(order, func(b *testing.B) {
			env := newEnv(b)
			tr := env.tree(b)
			ctx := context.Background()
			rng := rand.New(rand.NewPCG(1, 1))
			k := append(be(3<<48), be(0)...)
			i := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				i++
				v := i
				if order == "random" {
					v = rng.Uint64()
				}
				binary.BigEndian.PutUint64(k[8:], v)
				if err := tr.Insert(ctx, nil, k, i); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
