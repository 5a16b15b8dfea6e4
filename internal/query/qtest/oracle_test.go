package qtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
)

// The oracle lists the trails of a pattern by the book: all ways to follow it, no relationship twice. It knows nothing of the engine.

type oracleRel struct {
	from, to int
	typ      string
	w        int
}

type oracleGraph struct {
	n    []int // property n of each vertex
	rels []oracleRel
}

type oracleHop struct {
	dir byte // > < -
	typ string
}

// oracleSeg is a relationship, or a quantified path pattern of some hops; rising: the first vertex of a round must have a lesser n than the last.
type oracleSeg struct {
	hops   []oracleHop
	lo, hi int // hi −1: unbounded
	quant  bool
	rising bool
}

func (s *oracleSeg) text(i int) string {
	var b strings.Builder
	for j, h := range s.hops {
		t := h.typ
		if t != "" {
			t = ":" + t
		}
		name := fmt.Sprintf("e%d_%d", i, j)
		rel := map[byte]string{'>': "-[%s%s]->", '<': "<-[%s%s]-", '-': "-[%s%s]-"}[h.dir]
		if s.quant {
			fmt.Fprintf(&b, "(x%d_%d)", i, j)
		}
		fmt.Fprintf(&b, rel, name, t)
	}
	if !s.quant {
		return b.String()
	}
	fmt.Fprintf(&b, "(x%d_%d)", i, len(s.hops))
	if s.rising {
		fmt.Fprintf(&b, " WHERE x%d_0.n < x%d_%d.n", i, i, len(s.hops))
	}
	q := fmt.Sprintf("{%d,%d}", s.lo, s.hi)
	if s.hi < 0 {
		q = fmt.Sprintf("{%d,}", s.lo)
	}
	return " (" + b.String() + ")" + q + " "
}

// oracleTrail is a match: its ends, relationships and how many rounds each segment took.
type oracleTrail struct {
	s, t   int
	rels   []int
	rounds []int
}

func (g *oracleGraph) trails(segs []oracleSeg) (out []oracleTrail) {
	used := make([]bool, len(g.rels))
	var cur oracleTrail
	var follow func(at, seg, round int)
	var hop func(at, seg, round, j, first int)
	follow = func(at, seg, round int) {
		if seg == len(segs) {
			out = append(out, oracleTrail{cur.s, at, slices.Clone(cur.rels), slices.Clone(cur.rounds)})
			return
		}
		if round >= segs[seg].lo {
			cur.rounds = append(cur.rounds, round)
			follow(at, seg+1, 0)
			cur.rounds = cur.rounds[:len(cur.rounds)-1]
		}
		if segs[seg].hi < 0 || round < segs[seg].hi {
			hop(at, seg, round, 0, at)
		}
	}
	hop = func(at, seg, round, j, first int) {
		s := &segs[seg]
		if j == len(s.hops) {
			if !s.rising || g.n[first] < g.n[at] {
				follow(at, seg, round+1)
			}
			return
		}
		for i, r := range g.rels {
			if used[i] || s.hops[j].typ != "" && s.hops[j].typ != r.typ {
				continue
			}
			var to []int
			if s.hops[j].dir != '<' && r.from == at {
				to = append(to, r.to)
			}
			if s.hops[j].dir != '>' && r.to == at && !(s.hops[j].dir == '-' && r.from == r.to) {
				to = append(to, r.from)
			}
			for _, v := range to {
				used[i] = true
				cur.rels = append(cur.rels, i)
				hop(v, seg, round, j+1, first)
				cur.rels = cur.rels[:len(cur.rels)-1]
				used[i] = false
			}
		}
	}
	for v := range g.n {
		cur = oracleTrail{s: v}
		follow(v, 0, 0)
	}
	return out
}

// choose keeps the trails that a selector wants. Which of several of one length is left open, so that only how many there are counts.
func choose(all []oracleTrail, k int, groups bool) (out []oracleTrail) {
	slices.SortStableFunc(all, func(a, b oracleTrail) int { return len(a.rels) - len(b.rels) })
	type ends struct{ s, t int }
	count, last := map[ends]int{}, map[ends]int{}
	for _, t := range all {
		e := ends{t.s, t.t}
		l, seen := last[e]
		if groups && seen && l == len(t.rels) {
			out = append(out, t)
			continue
		}
		if count[e] >= k {
			if groups {
				last[e] = -1
			}
			continue
		}
		count[e]++
		last[e] = len(t.rels)
		out = append(out, t)
	}
	return out
}

func randomSegs(r *rand.Rand) []oracleSeg {
	hops := func(n int) (out []oracleHop) {
		for range n {
			out = append(out, oracleHop{">><-"[r.IntN(4)], []string{"", "R", "S", "R"}[r.IntN(4)]})
		}
		return
	}
	var segs []oracleSeg
	for range 1 + r.IntN(3) {
		switch r.IntN(4) {
		case 0:
			segs = append(segs, oracleSeg{hops: hops(1), lo: 1, hi: 1})
		case 1:
			lo := r.IntN(2)
			segs = append(segs, oracleSeg{hops: hops(2), lo: lo, hi: []int{-1, lo + 1, 2}[r.IntN(3)], quant: true, rising: r.IntN(3) == 0})
		default:
			lo := r.IntN(3)
			segs = append(segs, oracleSeg{hops: hops(1), lo: lo, hi: []int{-1, lo + 1, max(lo, 1)}[r.IntN(3)], quant: true, rising: r.IntN(4) == 0})
		}
	}
	return segs
}

func TestPathOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	cases := 300
	if testing.Short() {
		cases = 80
	}
	d := New(nil)
	for c := range cases {
		g := &oracleGraph{}
		if err := d.Reset(); err != nil {
			t.Fatal(err)
		}
		for i := range 2 + r.IntN(4) {
			g.n = append(g.n, r.IntN(4))
			d.Must(t, fmt.Sprintf("CREATE (:N {u: %d, n: %d})", i, g.n[i]), nil)
		}
		for i := range 1 + r.IntN(6) {
			e := oracleRel{r.IntN(len(g.n)), r.IntN(len(g.n)), []string{"R", "S"}[r.IntN(2)], i}
			g.rels = append(g.rels, e)
			d.Must(t, fmt.Sprintf("MATCH (a {u: %d}), (b {u: %d}) CREATE (a)-[:%s {w: %d}]->(b)", e.from, e.to, e.typ, i), nil)
		}
		for range 4 {
			segs := randomSegs(r)
			body, ret := "(s)", "RETURN s.u, t.u, [e IN relationships(p) | e.w]"
			for i := range segs {
				if i > 0 {
					body += fmt.Sprintf("(j%d)", i)
				}
				body += segs[i].text(i)
				if segs[i].quant {
					ret += fmt.Sprintf(", size(e%d_0) AS k%d", i, i)
				} else {
					ret += fmt.Sprintf(", 1 AS k%d", i)
				}
			}
			body += "(t)"
			all := g.trails(segs)
			for _, sel := range []struct {
				text   string
				k      int
				groups bool
			}{{"", 1 << 30, true}, {"ANY SHORTEST ", 1, false}, {"SHORTEST 2 ", 2, false}, {"ANY 3 PATHS ", 3, false}, {"ALL SHORTEST ", 1, true}, {"SHORTEST 2 PATH GROUPS ", 2, true}} {
				from := []string{"", "MATCH (s), (t) ", "MATCH (s) ", "MATCH (t) "}[r.IntN(4)]
				q := from + "MATCH p = " + sel.text + body + " " + ret
				want := choose(slices.Clone(all), sel.k, sel.groups)
				d.Exec = exec.Options{BatchSize: []int{1, 3, 1024}[r.IntN(3)], Poison: true}
				if r.IntN(6) == 0 {
					d.Exec = exec.Options{Reference: true}
				}
				res, err := d.Run(q, nil)
				d.Exec = exec.Options{}
				if err != nil {
					t.Fatalf("%s\n%s", q, Explain(err))
				}
				var x, y []string
				for _, w := range want {
					line := fmt.Sprintf("%d | %d", w.s, w.t)
					if sel.groups {
						line += " | " + strings.ReplaceAll(fmt.Sprint(w.rels), " ", ", ")
						for _, n := range w.rounds {
							line += fmt.Sprintf(" | %d", n)
						}
					} else {
						line += fmt.Sprintf(" | %d", len(w.rels))
					}
					y = append(y, line)
				}
				for i := range res.Rows {
					line := strings.TrimSuffix((&Result{Rows: res.Rows[i : i+1]}).Text(), "\n")
					if !sel.groups {
						line = fmt.Sprintf("%d | %d | %d", res.Rows[i][0].Int(), res.Rows[i][1].Int(), res.Rows[i][2].Len())
					}
					x = append(x, line)
				}
				slices.Sort(x)
				slices.Sort(y)
				if !slices.Equal(x, y) {
					missing, extra := bagDiff(y, x)
					t.Fatalf("case %d: %s\nvertices %v, relationships %v\nmissing %s\nunexpected %s\n%s", c, q, g.n, g.rels, clip(missing), clip(extra), res.Plan)
				}
			}
		}
	}
}
