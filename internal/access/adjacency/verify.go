package adjacency

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// Index is the relationships that a view sees in a run, read from the covering index: near end, far end and relationship, in the order of keys. It
// ends with an id of 0.
type Index func(ctx context.Context) (near, far, rel uint64, err error)

// Differ holds the lists of a generation against the index, and says where the two part first; "" if they agree. lists is how many were compared.
func (g *Generation) Differ(ctx context.Context, v View, index Index) (reason string, lists int, err error) {
	var s Scratch
	var ps []Piece
	near, far, rel, err := index(ctx)
	if err != nil {
		return "", 0, err
	}
	for at := range uint64(runSize) {
		vertex := g.first | at
		s.Forget()
		ps, _ = g.List(vertex, v, &s, ps[:0])
		if n, _ := g.Degree(vertex, v, &s); n != Len(ps) {
			return fmt.Sprintf("node %d has the degree %d and a list of %d", vertex, n, Len(ps)), lists, nil
		}
		if len(ps) > 0 {
			lists++
		}
		for i := range ps {
			p := &ps[i]
			for k := range p.Rel {
				if near != vertex || far != p.far(k) || rel != p.rel(k) || rel == 0 {
					return fmt.Sprintf("node %d has relationship %d to %d in memory; the index goes on with %d of %d to %d", vertex, p.rel(k), p.far(k), rel, near, far), lists, nil
				}
				if near, far, rel, err = index(ctx); err != nil {
					return "", lists, err
				}
			}
		}
		if rel != 0 && near <= vertex {
			return fmt.Sprintf("node %d has relationship %d to %d in the index, not in memory", near, rel, far), lists, nil
		}
	}
	if rel != 0 {
		return fmt.Sprintf("node %d has relationship %d to %d in the index, not in memory", near, rel, far), lists, nil
	}
	return "", lists, nil
}

// Sample calls f with up to n segments of a side that are ready, chosen at random if there are more.
func (d *Side) Sample(n int, f func(run uint64, g *Generation) error) error {
	var some []*Segment
	seen := 0
	d.each(func(s *Segment) bool {
		if s.gen.Load() == nil {
			return true
		}
		if seen++; len(some) < n {
			some = append(some, s)
		} else if k := rand.IntN(seen); k < n {
			some[k] = s
		}
		return true
	})
	for _, s := range some {
		if g := s.gen.Load(); g != nil {
			if err := f(s.run, g); err != nil {
				return err
			}
		}
	}
	return nil
}

// Built returns the generation of a run as a build makes it now, of which nobody else knows.
func Built(ctx context.Context, o Options, src Source, run uint64) (*Generation, error) {
	c := New(o)
	defer c.Close()
	var d Side
	d.Init(c, src)
	if err := c.Warm(ctx, &d, run); err != nil {
		return nil, err
	}
	return d.Segment(run).gen.Load(), nil
}

// Drop makes the segment of a run absent.
func (d *Side) Drop(run uint64) {
	if s := d.at(run); s != nil {
		s.evict(false)
	}
}
