package path

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/store"
)

type edge struct{ from, to uint64 }

// memory is a graph of edges whose relationship ids are their positions from 1.
type memory struct {
	edges []edge
	both  bool
}

func (m *memory) Expand(src []uint64, back bool, yield func(*store.Runs) error) error {
	var e store.Runs
	n := 0
	for row, v := range src {
		for i, x := range m.edges {
			a, b := x.from, x.to
			if back {
				a, b = b, a
			}
			add := func(other uint64) {
				e.Add(uint16(row), back, uint64(i+1), other, 0)
				n++
			}
			if a == v {
				add(b)
			} else if m.both && b == v {
				add(a)
			}
			if n > 2 {
				e.Done()
				if err := yield(&e); err != nil {
					return err
				}
				e.Reset()
				n = 0
			}
		}
	}
	if n > 0 {
		e.Done()
		return yield(&e)
	}
	return nil
}

// brute enumerates all trails of the least length by depth-first search.
func (m *memory) brute(from, to uint64, min, max int) (out []string) {
	var trail []uint64
	used := map[uint64]bool{}
	best := max
	var walk func(v uint64)
	walk = func(v uint64) {
		if v == to && len(trail) >= min && len(trail) <= best {
			if len(trail) < best {
				best, out = len(trail), nil
			}
			out = append(out, fmt.Sprint(trail))
		}
		if len(trail) == best {
			return
		}
		for i, x := range m.edges {
			id := uint64(i + 1)
			var next uint64
			switch {
			case used[id]:
				continue
			case x.from == v:
				next = x.to
			case m.both && x.to == v:
				next = x.from
			default:
				continue
			}
			used[id] = true
			trail = append(trail, id)
			walk(next)
			trail = trail[:len(trail)-1]
			used[id] = false
		}
	}
	walk(from)
	slices.Sort(out)
	return out
}

// The trails found are exactly those of a search that tries everything, also closed ones, with loops and parallel edges.
func TestShortestAgainstBruteForce(t *testing.T) {
	var s Search
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := &memory{both: r.IntN(2) == 0}
		n := 1 + r.Uint64N(6)
		for range r.IntN(10) {
			m.edges = append(m.edges, edge{1 + r.Uint64N(n), 1 + r.Uint64N(n)})
		}
		from, to := 1+r.Uint64N(n), 1+r.Uint64N(n)
		min, max := r.IntN(2), 1+r.IntN(5)
		want := m.brute(from, to, min, max)
		for k := range 3 {
			var got []string
			all := k > 0
			find := func() (bool, error) { return s.Find(m, from, to, min, max, all) }
			if k == 2 { // a closed one, without a step back
				if from != to || min == 0 {
					continue
				}
				find = func() (bool, error) { return s.FindClosed(ahead{m}, from, max, all) }
			}
			ok, err := find()
			if err != nil {
				t.Fatal(err)
			}
			for ok {
				more, err := s.Next()
				if err != nil {
					t.Fatal(err)
				}
				if !more {
					break
				}
				nodes, rels := s.Trail()
				if len(nodes) != len(rels)+1 || nodes[0] != from || nodes[len(rels)] != to || len(rels) != s.Length() {
					t.Fatalf("seed %d: nodes %v do not fit relationships %v from %d to %d", seed, nodes, rels, from, to)
				}
				got = append(got, fmt.Sprint(rels))
			}
			slices.Sort(got)
			if all && !slices.Equal(got, want) || !all && (len(got) != min1(len(want)) || len(got) == 1 && !slices.Contains(want, got[0])) {
				t.Fatalf("seed %d all=%v both=%v %d→%d *%d..%d over %v:\ngot  %v\nwant %v", seed, all, m.both, from, to, min, max, m.edges, got, want)
			}
		}
	}
}

// ahead fails where it is asked to go back.
type ahead struct{ *memory }

func (m ahead) Expand(src []uint64, back bool, yield func(*store.Runs) error) error {
	if back {
		panic("asked to go back")
	}
	return m.memory.Expand(src, back, yield)
}

func min1(n int) int {
	if n > 1 {
		return 1
	}
	return n
}
