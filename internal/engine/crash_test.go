package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// points is how many crash points a test tries: HEDGEROW_CRASH_POINTS, or the short form.
func points(def int) int {
	if n, err := strconv.Atoi(os.Getenv("HEDGEROW_CRASH_POINTS")); err == nil && n > 0 {
		return n
	}
	return def
}

func TestReopenAfterCrash(t *testing.T) {
	fs := vfs.NewCrashable()
	db := open(t, fs)
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	var ids []uint64
	update(t, db, func(c *client) {
		c.begin()
		for i := range 100 {
			ids = append(ids, c.node([]string{"N"}, "i", i))
		}
		for i := range 99 {
			c.rel("R", ids[i], ids[i+1])
		}
	})
	clone := fs.CrashClone(rand.New(rand.NewPCG(1, 2)), 0)
	db2 := open(t, clone)
	update(t, db2, func(c *client) {
		c.begin()
		if got := c.scan(c.after(), "N"); !slices.Equal(got, ids) {
			t.Errorf("%d nodes", len(got))
		}
		if n := c.g.NodeCount(schema.NoLabel); n != 100 {
			t.Errorf("counted %v", n)
		}
	})
	clean(t, db2)
	closeDB(t, db2)
	closeDB(t, db)
}

// dump writes down everything that a new transaction sees, in a canonical form.
func dump(t testing.TB, db *engine.DB) string {
	t.Helper()
	c := begin(t, db, store.ReadCommitted)
	defer c.rollback()
	gs, err := c.tx.Graphs(bg)
	c.must(err)
	var lines []string
	for _, g := range gs {
		lines = append(lines, "graph "+g.Name)
	}
	if len(gs) == 0 {
		return ""
	}
	c.begin()
	v := c.after()
	fetch := func(e schema.Entity, ids []uint64) *vec.Column {
		col := new(vec.Column)
		c.must(c.g.FetchMap(bg, v, e, ids, nil, col))
		return col
	}
	ids := c.scan(v, "")
	sets := make([]schema.LabelSetID, len(ids))
	c.must(c.g.LabelSets(bg, v, ids, nil, sets))
	props := fetch(schema.Vertex, ids)
	for i, id := range ids {
		var names []string
		for _, l := range c.g.LabelSet(sets[i]) {
			names = append(names, c.g.LabelName(l))
		}
		sort.Strings(names)
		text := value.AppendTCK(nil, props.Value(i))
		if len(text) > 300 {
			text = fmt.Appendf(nil, "%s…%d/%x", text[:100], len(text), value.Hash(props.Value(i)))
		}
		lines = append(lines, fmt.Sprintf("node %x %v %s", id, names, text))
	}
	sc, err := c.g.ScanRels(bg, v, nil)
	c.must(err)
	defer sc.Close()
	var r store.Rels
	for {
		c.must(sc.Next(bg, 100, &r))
		if len(r.ID) == 0 {
			break
		}
		props := fetch(schema.Edge, r.ID)
		for i, id := range r.ID {
			lines = append(lines, fmt.Sprintf("rel %x %x %x %s", id, r.Start[i], r.End[i], value.AppendTCK(nil, props.Value(i))))
		}
	}
	for _, ix := range c.g.Indexes(v) {
		lines = append(lines, fmt.Sprintf("index %s %v %v", ix.Name, ix.KeyNames, ix.Unique))
	}
	for _, k := range c.g.Constraints(v) {
		lines = append(lines, fmt.Sprintf("constraint %s %v", k.Name, k.KeyNames))
	}
	for _, l := range c.g.Labels(v) {
		lines = append(lines, "label "+l.Name)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// workload is a seeded stream of transactions over the whole store.
type workload struct {
	t     testing.TB
	db    *engine.DB
	rng   *rand.Rand
	nodes []uint64
	rels  []uint64
	n     int
	async bool
}

// step runs one transaction; it returns false if it was rolled back.
func (w *workload) step() {
	t, r := w.t, w.rng
	w.n++
	if r.IntN(25) == 0 {
		if err := w.db.Checkpoint(bg); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := w.db.Store().Begin(bg, store.TxOptions{Async: w.async})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, tx: tx}
	nodes, rels := slices.Clone(w.nodes), slices.Clone(w.rels)
	if w.n%40 == 7 {
		c.must(tx.CreateIndex(bg, "graph", store.IndexDef{Name: fmt.Sprintf("ix%d", w.n), Label: "A", Keys: []string{"k", fmt.Sprintf("p%d", w.n%3)}, IfNotExists: true}))
	}
	if w.n == 11 {
		c.must(tx.CreateConstraint(bg, "graph", store.ConstraintDef{Name: "uq", Label: "B", Keys: []string{"u"}, Kind: schema.Unique}))
	}
	if w.n%60 == 59 {
		c.must(tx.DropIndex(bg, "graph", fmt.Sprintf("ix%d", w.n-12), true))
	}
	failed := false
	for range 1 + r.IntN(3) {
		c.begin()
		saved := r.IntN(6) == 0
		if saved {
			c.must(tx.Savepoint("s"))
		}
		before, beforeRels := slices.Clone(nodes), slices.Clone(rels)
		for range 1 + r.IntN(12) {
			nodes, rels, failed = w.op(c, nodes, rels)
			if failed {
				break
			}
		}
		if !failed {
			if err := c.stmt.Finish(bg); err != nil {
				t.Fatal(err)
			}
		}
		c.end()
		if saved {
			if failed || r.IntN(2) == 0 {
				c.must(tx.RollbackTo("s"))
				nodes, rels, failed = before, beforeRels, false
			}
			c.must(tx.Release("s"))
		}
		if failed {
			break
		}
	}
	if failed || r.IntN(8) == 0 {
		c.rollback()
		return
	}
	c.must(c.commit())
	w.nodes, w.rels = nodes, rels
}

var labelSets = [][]string{{"A"}, {"B"}, {"A", "B"}, {"B", "C"}, {}}

func (w *workload) op(c *client, nodes, rels []uint64) (_, _ []uint64, failed bool) {
	r := w.rng
	pick := func(xs []uint64) (int, uint64) {
		i := r.IntN(len(xs))
		return i, xs[i]
	}
	long := func() string {
		switch r.IntN(12) {
		case 0:
			return strings.Repeat(strconv.Itoa(r.IntN(10)), 2500+r.IntN(9000))
		case 1, 2:
			return strings.Repeat("x", r.IntN(1500))
		}
		return "s" + strconv.Itoa(r.IntN(50))
	}
	switch k := r.IntN(12); {
	case k < 4 || len(nodes) < 5:
		kv := []any{"k", r.IntN(20), fmt.Sprintf("p%d", r.IntN(3)), long()}
		if r.IntN(3) == 0 {
			kv = append(kv, "u", r.IntN(100000))
		}
		id, err := c.tryNode(labelSets[r.IntN(len(labelSets))], kv...)
		if err != nil {
			return nodes, rels, true
		}
		return append(nodes, id), rels, false
	case k < 6:
		_, a := pick(nodes)
		_, b := pick(nodes)
		return nodes, append(rels, c.rel([]string{"R", "S"}[r.IntN(2)], a, b, "w", r.IntN(9))), false
	case k < 9:
		_, a := pick(nodes)
		var v any = r.IntN(20)
		if r.IntN(3) == 0 {
			v = long()
		}
		if r.IntN(8) == 0 {
			v = nil
		}
		c.must(c.set(schema.Vertex, a, []string{"k", "p0", "p1", "free"}[r.IntN(4)], v))
	case k == 9 && len(rels) > 0:
		i, e := pick(rels)
		if r.IntN(2) == 0 {
			c.must(c.set(schema.Edge, e, "w", long()))
			break
		}
		c.must(c.g.Delete(bg, c.cid, schema.Edge, []uint64{e}, nil, false))
		rels = slices.Delete(rels, i, i+1)
	case k == 10:
		i, a := pick(nodes)
		var lost []uint64
		cur, err := c.g.Expand(bg, c.stmt.View(1<<31), []uint64{a}, store.Both, nil)
		c.must(err)
		var e store.Edges
		for {
			c.must(cur.Next(bg, 100, &e))
			if len(e.Rel) == 0 {
				break
			}
			lost = append(lost, e.Rel...)
		}
		cur.Close()
		c.must(c.g.Delete(bg, c.cid, schema.Vertex, []uint64{a}, nil, true))
		nodes = slices.Delete(nodes, i, i+1)
		rels = slices.DeleteFunc(rels, func(x uint64) bool { return slices.Contains(lost, x) })
	default:
		_, a := pick(nodes)
		add, rem := []schema.LabelID{c.label("C")}, []schema.LabelID{c.label("A")}
		if r.IntN(2) == 0 {
			add, rem = []schema.LabelID{c.label("A")}, []schema.LabelID{c.label("C")}
		}
		c.must(c.g.SetLabels(bg, c.cid, []uint64{a}, nil, add, rem))
	}
	return nodes, rels, false
}

// TestEveryCrashPointKeepsWhatWasAcknowledged runs the workload and lets the disk crash before every k-th call that changes it. Each
// time the database that comes up must be the one after the last acknowledged commit or, if a commit was on its way, after that
// one; and a check must find nothing. Every fifth recovery is itself cut short in the same way.
func TestEveryCrashPointKeepsWhatWasAcknowledged(t *testing.T) {
	want := points(300)
	seed := uint64(1)
	if s, err := strconv.ParseUint(os.Getenv("HEDGEROW_CRASH_SEED"), 10, 64); err == nil {
		seed = s
	}
	for tried := 0; tried < want && !t.Failed(); seed++ {
		tried += crashRun(t, seed, want-tried)
	}
}

func crashRun(t *testing.T, seed uint64, want int) (tried int) {
	mem := vfs.NewCrashable()
	acked := "" // state after the last acknowledged commit
	var clones []func()
	active := false
	every := 3 + int(seed%5)
	verify := func(point int, clone *vfs.Mem, before string) {
		// The commit that was on its way is judged once we know what it would have been.
		clones = append(clones, func() {
			now := acked
			fs := vfs.FS(clone)
			var inner []*vfs.Mem
			if point%5 == 0 {
				fs = vfs.WithHook(clone, vfs.CrashPoints(clone, 4, seed+uint64(point), []float64{0, 0.5, 1}, func(_ int, m *vfs.Mem) {
					if len(inner) < 3 {
						inner = append(inner, m)
					}
				}))
			}
			judge := func(what string, fs vfs.FS) {
				if t.Failed() {
					return
				}
				db, err := engine.Open(bg, options(fs))
				if err != nil {
					t.Errorf("seed %d point %d%s: open: %v", seed, point, what, err)
					return
				}
				got := dump(t, db)
				if got != before && got != now {
					t.Errorf("seed %d point %d%s: lost or invented data\n--- before\n%s\n--- after\n%s\n--- got\n%s", seed, point, what,
						diff(before, got), diff(now, got), "")
				}
				clean(t, db)
				closeDB(t, db)
			}
			judge("", fs)
			for i, m := range inner {
				judge(fmt.Sprintf(" recovery %d", i), m)
			}
		})
	}
	ps := []float64{0, 0.2, 0.5, 1}
	hook := vfs.CrashPoints(mem, every, seed, ps, func(point int, clone *vfs.Mem) {
		if active && tried < want {
			tried++
			verify(point, clone, acked)
		}
	})
	db := open(t, vfs.WithHook(mem, hook))
	defer func() { _ = db.Close(bg) }()
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	acked = dump(t, db)
	w := &workload{t: t, db: db, rng: rand.New(rand.NewPCG(seed, 99))}
	active = true
	for i := 0; i < 250 && tried < want && !t.Failed(); i++ {
		w.step()
		active = false
		acked = dump(t, db)
		active = true
		for _, f := range clones {
			f()
		}
		clones = clones[:0]
	}
	active = false
	clean(t, db)
	return max(tried, 1)
}

// diff lists the lines that only one of two dumps has.
func diff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	var out []string
	for _, l := range w {
		if !slices.Contains(g, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range g {
		if !slices.Contains(w, l) {
			out = append(out, "+ "+l)
		}
	}
	if len(out) > 20 {
		out = append(out[:20], "…")
	}
	return strings.Join(out, "\n")
}
