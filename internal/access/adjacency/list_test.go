package adjacency

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

type pair struct{ far, rel uint64 }

func comparePairs(a, b pair) int { return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.rel, b.rel)) }

func pairsOf(ps []Piece) (out []pair) {
	for i := range ps {
		p := &ps[i]
		if len(p.Rel) == 0 || len(p.Rel) != len(p.Other) {
			panic("a piece of no or of uneven length")
		}
		for k := range p.Rel {
			out = append(out, pair{p.far(k), p.rel(k)})
		}
	}
	return out
}

// Bases are made, and changes folded into them again and again, as a map of sorted lists has it: with few vertices and many, hubs that come and
// go, loops, and ids whose upper halves differ in label and beyond 4 G.
func TestBasesAgainstLists(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 1))
		z := sizes{hub: 6, chunk: 1 + rng.IntN(5)}
		first := uint64(3)<<48 | uint64(rng.IntN(3))<<32
		vertices := []int{3, 40, 600, 4096}[seed%4]
		model := map[uint16][]pair{}
		newRel := func() func() uint64 {
			n := uint64(0)
			return func() uint64 { n++; return 9<<48 | n<<(31*(seed%2)) }
		}()
		far := func(v uint16) uint64 {
			switch rng.IntN(8) {
			case 0:
				return first | uint64(v)
			case 1:
				return 4<<48 | uint64(rng.IntN(3))<<33 | 7
			}
			return uint64(3+rng.IntN(2))<<48 | uint64(rng.IntN(50))
		}
		var b base
		for round := range 12 {
			var past []change
			n := rng.IntN(2 * vertices)
			if round > 8 {
				n = 4
			}
			for range n {
				v := uint16(rng.IntN(vertices))
				if rng.IntN(4) == 0 {
					v = uint16(seed) % uint16(vertices) // a hub
				}
				list := model[v]
				if len(list) > 0 && rng.IntN(3) == 0 {
					i := rng.IntN(len(list))
					past = append(past, change{v, event{far: list[i].far, rel: list[i].rel, x: 1}})
					model[v] = slices.Delete(slices.Clone(list), i, i+1)
					continue
				}
				p := pair{far(v), newRel()}
				past = append(past, change{v, event{far: p.far, rel: p.rel}})
				if rng.IntN(10) == 0 {
					past = append(past, change{v, event{far: p.far, rel: p.rel, x: 1}}) // came and went
					continue
				}
				model[v] = append(slices.Clone(list), p)
				slices.SortFunc(model[v], comparePairs)
			}
			before := b
			b = z.folded(&before, first, past)
			edges, loops := 0, 0
			var with []uint16
			for v := range vertices {
				want := model[uint16(v)]
				got := pairsOf(b.pieces(uint16(v), nil))
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d, round %d: vertex %d has\n%v, want\n%v", seed, round, v, got, want)
				}
				if n := b.degree(uint16(v)); n != len(want) {
					t.Fatalf("degree %d of %d", n, len(want))
				}
				if edges += len(want); len(want) > 0 {
					with = append(with, uint16(v))
				}
				for range 3 {
					f := far(uint16(v))
					var want []pair
					for _, p := range model[uint16(v)] {
						if p.far == f {
							want = append(want, p)
						}
					}
					if got := pairsOf(b.between(uint16(v), f, nil)); !slices.Equal(got, want) {
						t.Fatalf("between %d and %d: %v, want %v", v, f, got, want)
					}
				}
				self := first | uint64(v)
				rest := slices.DeleteFunc(slices.Clone(want), func(p pair) bool { return p.far == self })
				loops += len(want) - len(rest)
				if got := pairsOf(Without(b.pieces(uint16(v), nil), self)); !slices.Equal(got, rest) {
					t.Fatalf("without loops %v, want %v", got, rest)
				}
				if h := b.hub(uint16(v)); (h != nil) != (len(want) > z.hub) && (len(want) <= z.hub/2 || len(want) > z.hub) {
					t.Fatalf("%d relationships make a hub: %v", len(want), h != nil)
				}
			}
			var got []uint16
			b.vertices(func(v uint16) { got = append(got, v) })
			if !slices.Equal(got, with) || b.edges != edges || b.loops != loops {
				t.Fatalf("%d vertices, %d relationships, %d loops; want %d, %d, %d", len(got), b.edges, b.loops, len(with), edges, loops)
			}
			if lists := len(with) - len(b.hubs); (b.ids != nil) != (lists > 0 && lists < sparseBelow) {
				t.Fatalf("sparse: %v with %d vertices", b.ids != nil, lists)
			}
		}
	}
}

// A fold copies the chunks of a hub that changed, and no other.
func TestFoldOfAHubCopiesWhatChanged(t *testing.T) {
	z := sizes{hub: 100, chunk: 50}
	m := z.maker(1 << 48)
	for i := range uint64(5000) {
		m.add(7, 1<<48|i, 2<<48|i)
	}
	b := m.done()
	m.free()
	next := z.folded(&b, 1<<48, []change{{7, event{far: 1<<48 | 2001, rel: 2<<48 | 9000}}})
	kept := 0
	for i := range next.hubs[0].chunks {
		for k := range b.hubs[0].chunks {
			if &next.hubs[0].chunks[i].Rel[0] == &b.hubs[0].chunks[k].Rel[0] {
				kept++
			}
		}
	}
	if n := len(b.hubs[0].chunks); kept != n-1 || next.edges != 5001 {
		t.Errorf("%d of %d chunks are kept, %d relationships", kept, n, next.edges)
	}
}

func transactions(t testing.TB) *txn.Manager {
	t.Helper()
	fs := vfs.NewMem()
	for _, dir := range []string{"wal", "xact"} {
		if err := fs.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	fate := new(invariant.Fate)
	log, err := wal.Create(wal.Options{FS: fs, Dir: "wal", Inline: true, Fate: fate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	m := txn.New(txn.Options{FS: fs, Dir: "xact", Fate: fate})
	if err := m.Start(log); err != nil {
		t.Fatal(err)
	}
	return m
}

// Segments are found whatever their label and number, while others are made.
func TestSegmentsAreFound(t *testing.T) {
	c := New(Options{Txns: transactions(t), Bytes: 1 << 20})
	defer c.Close()
	var d Side
	d.Init(c, Source{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			for range 3000 {
				vertex := uint64(1+rng.IntN(5))<<48 | uint64(rng.IntN(1<<20))
				if rng.IntN(20) == 0 {
					vertex |= uint64(rng.IntN(3)) << 44
				}
				s := d.Segment(RunOf(vertex))
				if s.run != RunOf(vertex) || d.at(RunOf(vertex)) != s {
					t.Errorf("vertex %x is in run %x", vertex, s.run)
					return
				}
			}
		})
	}
	wg.Wait()
	seen := map[uint64]bool{}
	d.each(func(s *Segment) bool {
		if seen[s.run] {
			t.Errorf("run %x twice", s.run)
		}
		seen[s.run] = true
		return true
	})
	if len(seen) < 1000 {
		t.Errorf("%d segments", len(seen))
	}
}

// Places are kept as long as there is memory, and counted.
func TestPlacesAreHints(t *testing.T) {
	c := New(Options{Txns: transactions(t), Bytes: 10 * chunkBytes})
	defer c.Close()
	var none, r Roots
	none.Put(1, 2)
	if none.Get(1) != 0 {
		t.Error("a table without a cache keeps something")
	}
	r.Init(c, nil)
	for i := range uint64(10) {
		r.Put(3<<48|i<<runBits|5, i+1)
	}
	r.Put(3<<48|1<<47, 9) // too far out for an array
	kept := 0
	for i := range uint64(10) {
		switch r.Get(3<<48 | i<<runBits | 5) {
		case i + 1:
			kept++
		case 0:
		default:
			t.Errorf("place %d is another one's", i)
		}
	}
	if used, limit := c.Bytes(); kept != 4 || used > limit || used < 4*chunkBytes {
		t.Errorf("%d chunks, %d bytes of %d", kept, used, limit)
	}
	if r.Get(3<<48|1<<47) != 0 || r.Get(3<<48|6) != 0 {
		t.Error("what nobody put there is known")
	}
	r.drop()
	if used, _ := c.Bytes(); used != 0 || r.Get(3<<48|5) != 0 {
		t.Errorf("%d bytes after all were dropped", used)
	}
}

// BenchmarkLists walks the lists of random vertices of a graph of a million vertices, degree 16, in batches: folded, with changes at one vertex in a
// hundred, and what a relationship takes in both directions.
func BenchmarkLists(b *testing.B) {
	const runs, deg = 256, 16
	m := transactions(b)
	c := New(Options{Txns: m, Bytes: 1 << 40})
	defer c.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	gens := make([]*Generation, runs)
	var bytes int64
	for r := range gens {
		first := FirstOf(uint64(1)<<labelShift | uint64(r))
		mk := c.sizes.maker(first)
		for v := range uint16(runSize) {
			fars := make([]uint64, deg)
			for i := range fars {
				fars[i] = 1<<48 | uint64(rng.IntN(runs*runSize))
			}
			slices.Sort(fars)
			for i, f := range fars {
				mk.add(v, f, 2<<48|uint64(r*runSize+int(v))*deg+uint64(i))
			}
		}
		gens[r] = &Generation{first: first, base: mk.done()}
		mk.free()
		bytes += gens[r].bytes()
	}
	ids := make([]uint32, 1<<20)
	for i := range ids {
		ids[i] = uint32(rng.IntN(runs * runSize))
	}
	walk := func(b *testing.B) {
		snap := m.Snapshot()
		defer snap.Close()
		v := View{Snap: snap, CID: 1}
		var s Scratch
		var ps []Piece
		sum, edges, i := uint64(0), 0, 0
		for b.Loop() {
			s.Forget()
			ps = ps[:0]
			for k := range 64 {
				id := ids[(i+k)&(len(ids)-1)]
				sum += uint64(gens[id>>runBits].touch(uint64(id)))
			}
			for range 64 {
				id := ids[i&(len(ids)-1)]
				i++
				ps, _ = gens[id>>runBits].List(1<<48|uint64(id), v, &s, ps)
			}
			for k := range ps {
				for _, o := range ps[k].Other {
					sum += ps[k].OtherHigh | uint64(o)
				}
				edges += len(ps[k].Other)
			}
		}
		if sum == 0 {
			b.Error("nothing was read")
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(edges), "ns/edge")
		b.ReportMetric(2*float64(bytes)/(runs*runSize*deg), "B/edge")
	}
	b.Run("clean", walk)
	tx := m.Begin(txn.TxOptions{})
	x, err := tx.XID()
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < runs*runSize; i += 100 {
		for k := range 4 {
			gens[i>>runBits].push(1<<48|uint64(i), event{far: 1<<48 | uint64(k), rel: 2<<48 | uint64(1<<31+i*4+k), x: uint64(x) << 1})
		}
	}
	if _, err := tx.Commit(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Run("changed", walk)
}

func ExampleRunOf() {
	fmt.Println(RunOf(3<<48|5000) == RunOf(3<<48|4096), FirstOf(RunOf(5000)))
	// Output: true 4096
}
