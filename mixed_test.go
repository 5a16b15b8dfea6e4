package hedgerow_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow"
)

// TestConcurrentMixed lets sessions read and write side by side, each its own part of one graph, and holds every answer to a model of that
// part. The parts interleave: vertices of all of them lie in the same runs, pages and leaves, relationships in the same types, and a hub
// has relationships to all. HEDGEROW_MIXED is how long it lasts, 4 s without.
func TestConcurrentMixed(t *testing.T) {
	length := 4 * time.Second
	if s := os.Getenv("HEDGEROW_MIXED"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		length = d
	} else if testing.Short() {
		length = time.Second
	}
	a := newArenaFor(t, length+2*time.Minute)
	a.exec("CREATE INDEX FOR (n:V) ON (n.k)", nil)
	a.exec("CREATE (:Hub)", nil)
	var checked, commits, rollbacks atomic.Int64
	end := time.Now().Add(length)
	all(4, func(w int) {
		p := &part{a: a, w: w, rnd: rand.New(rand.NewPCG(20, uint64(w))), now: model{vertices: map[int64]bool{}, edges: map[int64]edge{}}, next: int64(w) * 1e9}
		for time.Now().Before(end) && !t.Failed() {
			p.round()
		}
		checked.Add(p.checked)
		commits.Add(p.commits)
		rollbacks.Add(p.rollbacks)
	})
	t.Logf("%d answers compared, %d transactions committed, %d rolled back", checked.Load(), commits.Load(), rollbacks.Load())
	if checked.Load() == 0 || commits.Load() == 0 || rollbacks.Load() == 0 {
		t.Error("nothing was tried")
	}
}

// edge is a relationship of the model.
type edge struct {
	kind     string
	from, to int64
	x        int64
}

// model is what a part of the graph should be: vertices by k, relationships by their k.
type model struct {
	vertices map[int64]bool
	edges    map[int64]edge
}

func (m model) clone() model { return model{maps.Clone(m.vertices), maps.Clone(m.edges)} }

// part is one session's share of the graph.
type part struct {
	a    *arena
	w    int
	rnd  *rand.Rand
	now  model
	next int64

	checked, commits, rollbacks int64
}

// round is a transaction of some changes and reads, and a look afterwards; now and then an older snapshot is held across it.
func (p *part) round() {
	var (
		old  *hedgerow.Tx
		then model
	)
	if p.rnd.IntN(4) == 0 {
		then, old = p.now.clone(), p.a.begin(hedgerow.RepeatableRead)
		p.a.int(old, "RETURN 1", nil) // the first statement takes the snapshot
		p.look(old, then)
	}
	iso := hedgerow.ReadCommitted
	if p.rnd.IntN(2) == 0 {
		iso = hedgerow.RepeatableRead
	}
	tx, m := p.a.begin(iso), p.now.clone()
	for range 1 + p.rnd.IntN(6) {
		if p.rnd.IntN(4) == 0 {
			p.a.must(tx.Savepoint(p.a.ctx, "s"))
			kept := m.clone()
			p.change(tx, m)
			p.look(tx, m)
			if p.rnd.IntN(2) == 0 {
				p.a.must(tx.RollbackTo("s"))
				m = kept
			} else {
				p.a.must(tx.Release(p.a.ctx, "s"))
			}
		} else {
			p.change(tx, m)
		}
		if p.rnd.IntN(2) == 0 {
			p.look(tx, m)
		}
	}
	if p.rnd.IntN(4) == 0 {
		p.a.must(tx.Rollback())
		p.rollbacks++
	} else {
		p.a.must(tx.Commit(p.a.ctx))
		p.now = m
		p.commits++
	}
	p.look(p.a, p.now)
	if old != nil {
		p.look(old, then)
		p.a.must(old.Rollback())
	}
}

func (p *part) key() int64 { p.next++; return p.next }

// some picks a vertex of the part.
func (p *part) some(m model) int64 {
	if len(m.vertices) == 0 {
		return -1
	}
	return sortedKeys(m.vertices)[p.rnd.IntN(len(m.vertices))]
}

func (p *part) someEdge(m model) int64 {
	if len(m.edges) == 0 {
		return -1
	}
	return sortedKeys(m.edges)[p.rnd.IntN(len(m.edges))]
}

func sortedKeys[V any](m map[int64]V) []int64 {
	keys := make([]int64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (p *part) change(tx *hedgerow.Tx, m model) {
	in := func(text string, params hedgerow.Params) {
		if _, err := tx.Exec(p.a.ctx, text, params); err != nil {
			p.a.Errorf("%s: %v", text, err)
		}
	}
	ends := func() (from, to int64) { return p.some(m), p.some(m) }
	switch c := p.rnd.IntN(10); {
	case c < 3 && len(m.vertices) < 40 || len(m.vertices) == 0: // a vertex at the hub
		k, h := p.key(), p.key()
		in("MATCH (h:Hub) CREATE (h)-[:H {k: $h}]->(:V {k: $k, w: $w})", hedgerow.Params{"k": k, "h": h, "w": p.w})
		m.vertices[k] = true
	case c < 7 && len(m.edges) < 60:
		kind := []string{"K", "L"}[p.rnd.IntN(2)]
		from, to := ends()
		k := p.key()
		in("MATCH (x:V {k: $from}), (y:V {k: $to}) CREATE (x)-[:"+kind+" {k: $k, x: 0}]->(y)", hedgerow.Params{"from": from, "to": to, "k": k})
		m.edges[k] = edge{kind, from, to, 0}
	case c < 8: // a relationship goes
		k := p.someEdge(m)
		if e, ok := m.edges[k]; ok {
			in("MATCH (x:V {k: $from})-[r:"+e.kind+" {k: $k}]->() DELETE r", hedgerow.Params{"from": e.from, "k": k})
			delete(m.edges, k)
		}
	case c < 9: // one changes
		k := p.someEdge(m)
		if e, ok := m.edges[k]; ok {
			e.x++
			in("MATCH (x:V {k: $to})<-[r:"+e.kind+" {k: $k}]-() SET r.x = r.x + 1", hedgerow.Params{"to": e.to, "k": k})
			m.edges[k] = e
		}
	default: // a vertex goes with all that it has
		k := p.some(m)
		in("MATCH (n:V {k: $k}) DETACH DELETE n", hedgerow.Params{"k": k})
		delete(m.vertices, k)
		for id, e := range m.edges {
			if e.from == k || e.to == k {
				delete(m.edges, id)
			}
		}
	}
}

// look compares answers of every kind of search with the model.
func (p *part) look(q querier, m model) {
	k := p.some(m)
	if k < 0 {
		return
	}
	to := p.some(m)
	params := hedgerow.Params{"k": k, "to": to, "w": p.w}
	same := func(text string, want []int64) {
		p.a.Helper()
		rows, err := q.Query(p.a.ctx, text, params)
		if err != nil {
			p.a.Errorf("%s: %v", text, err)
			return
		}
		got, err := hedgerow.Collect[int64](rows)
		if err != nil {
			p.a.Errorf("%s: %v", text, err)
			return
		}
		slices.Sort(got)
		slices.Sort(want)
		p.checked++
		if !slices.Equal(got, want) {
			p.a.Errorf("worker %d: %s with k %d, to %d: got %v, want %v", p.w, text, k, to, got, want)
		}
	}
	out := func(f func(e edge, k int64) (int64, bool)) (list []int64) {
		for id, e := range m.edges {
			if v, ok := f(e, id); ok {
				list = append(list, v)
			}
		}
		return list
	}
	switch p.rnd.IntN(9) {
	case 0:
		same("MATCH (:V {k: $k})-[:K]->(m) RETURN m.k", out(func(e edge, _ int64) (int64, bool) { return e.to, e.kind == "K" && e.from == k }))
	case 1:
		same("MATCH (:V {k: $k})<-[r:L|K]-() RETURN r.k * 1000 + r.x", out(func(e edge, id int64) (int64, bool) { return id*1000 + e.x, e.to == k }))
	case 2:
		same("MATCH (:V {k: $k})-[r]-(m:V) RETURN r.k", out(func(_ edge, id int64) (int64, bool) {
			e := m.edges[id]
			return id, e.from == k || e.to == k
		}))
	case 3:
		n := int64(len(out(func(e edge, _ int64) (int64, bool) { return 0, e.kind == "L" && e.from == k && e.to == to })))
		same("MATCH (x:V {k: $k}), (y:V {k: $to}) RETURN count { (x)-[:L]->(y) }", []int64{n})
	case 4:
		same("MATCH p = (:V {k: $k})-[:K|L*1..3]->(y) RETURN reduce(s = 0, r IN relationships(p) | s * 7 + r.k % 7)", m.trails(k))
	case 5:
		var want []int64
		if d, ok := m.distance(k, to); ok && k != to {
			want = []int64{d}
		}
		if k != to {
			same("MATCH (x:V {k: $k}), (y:V {k: $to}) MATCH p = shortestPath((x)-[:K|L*]-(y)) RETURN length(p)", want)
		}
	case 6:
		same("MATCH (:Hub)-[:H]->(n:V {w: $w}) RETURN n.k", sortedKeys(m.vertices))
	case 7:
		d := int64(len(out(func(e edge, _ int64) (int64, bool) { return 0, e.from == k }))) + int64(len(out(func(e edge, _ int64) (int64, bool) { return 0, e.to == k && e.from != k })))
		same("MATCH (n:V {k: $k}) RETURN count { (n)--() }", []int64{d + 1}) // and the hub's
	default:
		same("MATCH (:V {k: $k})-[:K]-()-[:K]-(z:V) RETURN z.k", m.twoHops(k))
	}
}

// trails are the marks of all paths of one to three different relationships along their direction.
func (m model) trails(from int64) (marks []int64) {
	var walk func(at, mark int64, used []int64)
	walk = func(at, mark int64, used []int64) {
		if len(used) > 0 {
			marks = append(marks, mark)
		}
		if len(used) == 3 {
			return
		}
		for id, e := range m.edges {
			if e.from == at && !slices.Contains(used, id) {
				walk(e.to, mark*7+id%7, append(slices.Clone(used), id))
			}
		}
	}
	walk(from, 0, nil)
	return marks
}

func (m model) twoHops(from int64) (ends []int64) {
	each := func(at int64, f func(id, other int64)) {
		for id, e := range m.edges {
			switch {
			case e.kind != "K":
			case e.from == at:
				f(id, e.to)
			case e.to == at:
				f(id, e.from)
			}
		}
	}
	each(from, func(first, mid int64) {
		each(mid, func(second, end int64) {
			if first != second {
				ends = append(ends, end)
			}
		})
	})
	return ends
}

// distance is the length of a shortest path, in either direction.
func (m model) distance(from, to int64) (int64, bool) {
	seen, frontier := map[int64]bool{from: true}, []int64{from}
	for d := int64(0); len(frontier) > 0; d++ {
		if slices.Contains(frontier, to) {
			return d, true
		}
		var next []int64
		for _, v := range frontier {
			for _, e := range m.edges {
				for _, o := range []int64{e.from, e.to} {
					if (e.from == v || e.to == v) && !seen[o] {
						seen[o] = true
						next = append(next, o)
					}
				}
			}
		}
		frontier = next
	}
	return 0, false
}
