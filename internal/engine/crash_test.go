package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/sched"
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
		lines = c.dumpGraph(g.Name, lines)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func (c *client) dumpGraph(name string, lines []string) []string {
	c.t.Helper()
	c.end()
	var err error
	c.stmt, err = c.tx.Begin(bg)
	c.must(err)
	defer c.end()
	c.cid, err = c.stmt.Segment(1)
	c.must(err)
	c.g, err = c.stmt.Graph(bg, name)
	c.must(err)
	v := c.after()
	fetch := func(e schema.Entity, ids []uint64) *vec.Column {
		col := new(vec.Column)
		c.must(c.g.FetchMap(bg, v, e, ids, nil, col))
		return col
	}
	line := func(format string, args ...any) { lines = append(lines, name+": "+fmt.Sprintf(format, args...)) }
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
		line("node %x %v %s", id, names, text)
	}
	sc, err := c.g.ScanRels(bg, v, nil)
	c.must(err)
	defer sc.Close()
	var r store.Rels
	rels := 0
	for {
		c.must(sc.Next(bg, 100, &r))
		if len(r.ID) == 0 {
			break
		}
		props := fetch(schema.Edge, r.ID)
		for i, id := range r.ID {
			line("rel %x %x %x %s", id, r.Start[i], r.End[i], value.AppendTCK(nil, props.Value(i)))
		}
		rels += len(r.ID)
	}
	for _, ix := range c.g.Indexes(v) {
		line("index %s %v %v", ix.Name, ix.KeyNames, ix.Unique)
	}
	for _, k := range c.g.Constraints(v) {
		line("constraint %s %v", k.Name, k.KeyNames)
	}
	for _, l := range c.g.Labels(v) {
		line("label %s", l.Name)
	}
	if n := c.g.NodeCount(schema.NoLabel); n != float64(len(ids)) { // B9
		c.t.Errorf("%s: %v nodes counted, %d there", name, n, len(ids))
	}
	if n := c.g.RelCount(schema.NoLabel); n != float64(rels) {
		c.t.Errorf("%s: %v relationships counted, %d there", name, n, rels)
	}
	return lines
}

// workload is a seeded stream of steps over the whole store. Three sessions take turns, each with a transaction of several steps, so
// that a crash finds some of them open. They keep to nodes of their own, for one goroutine cannot wait for itself, and meet at hubs: nodes
// that all of them connect to, and whose properties one of them changes.
type workload struct {
	t     testing.TB
	db    *engine.DB
	rng   *rand.Rand
	lanes [3]lane
	hubs  []uint64
	n     int
	made  int     // numbers what DDL makes
	drain bool    // no session begins until all have ended, for DDL
	saves bool    // a checkpoint runs
	admin *client // the transaction of DDL
}

// lane is one session: what it has committed, and its open transaction.
type lane struct {
	i           int
	nodes, rels []uint64
	c           *client
	now         content // with what the open transaction did
}

type content struct{ nodes, rels []uint64 }

func (c content) clone() content { return content{slices.Clone(c.nodes), slices.Clone(c.rels)} }

func newWorkload(t testing.TB, db *engine.DB, seed uint64) *workload {
	w := &workload{t: t, db: db, rng: rand.New(rand.NewPCG(seed, 99))}
	for i := range w.lanes {
		w.lanes[i].i = i
	}
	update(t, db, func(c *client) {
		c.begin()
		for range 4 {
			w.hubs = append(w.hubs, c.node([]string{"Hub"}, "k", 0))
		}
	})
	return w
}

// step goes one step on in some session, or makes a checkpoint, or changes the catalog while no other session is at work.
func (w *workload) step() {
	r := w.rng
	w.n++
	if r.IntN(25) == 0 {
		w.saves = true
		if err := w.db.Checkpoint(bg); err != nil {
			w.t.Fatal(err)
		}
		w.saves = false
	}
	w.drain = w.drain || w.n%15 == 7
	idle := true
	for i := range w.lanes {
		idle = idle && w.lanes[i].c == nil
	}
	if w.drain && idle {
		w.drain = false
		w.ddl()
		return
	}
	l := &w.lanes[r.IntN(len(w.lanes))]
	switch {
	case l.c == nil && w.drain:
	case l.c == nil:
		l.c = begin(w.t, w.db, []store.Isolation{store.ReadCommitted, store.RepeatableRead}[r.IntN(2)])
		l.now = content{l.nodes, l.rels}.clone()
		w.statements(l)
	case r.IntN(3) == 0:
		w.statements(l)
	default:
		w.end(l)
	}
}

// end commits the session's transaction, or seldom rolls it back.
func (w *workload) end(l *lane) {
	if w.rng.IntN(8) == 0 {
		l.c.rollback()
	} else {
		l.c.must(l.c.commit())
		l.nodes, l.rels = l.now.nodes, l.now.rels
	}
	l.c = nil
}

// statements runs a few; some of them under a savepoint that may take them back.
func (w *workload) statements(l *lane) {
	r, c := w.rng, l.c
	for range 1 + r.IntN(3) {
		saved := r.IntN(4) == 0
		if saved {
			c.end()
			c.must(c.tx.Savepoint("s"))
		}
		before, failed := l.now.clone(), false
		c.begin()
		if r.IntN(15) == 0 { // B7: a label, a type and a key that nobody has used before
			w.made++
			id := c.node([]string{fmt.Sprintf("First%d", w.made)}, fmt.Sprintf("first%d", w.made), 1)
			l.now.rels = append(l.now.rels, c.rel(fmt.Sprintf("TO%d", w.made), id, w.hubs[r.IntN(4)]))
			l.now.nodes = append(l.now.nodes, id)
		}
		if len(l.now.nodes) < 60 && r.IntN(8) == 0 { // enough for pages to split
			for range 30 {
				key := strconv.FormatUint(r.Uint64(), 36)
				l.now.nodes = append(l.now.nodes, c.node([]string{"A", "B"}[:1+r.IntN(2)], "k", r.IntN(1000), fmt.Sprintf("p%d", r.IntN(3)), strings.Repeat(key, 1+r.IntN(60))))
			}
		}
		for range 1 + r.IntN(10) {
			if failed = w.op(l); failed {
				break
			}
		}
		if !failed {
			c.must(c.stmt.Finish(bg))
		}
		c.end()
		if saved {
			if failed || r.IntN(2) == 0 {
				c.must(c.tx.RollbackTo("s"))
				l.now, failed = before, false
			}
			c.must(c.tx.Release("s"))
		}
		if failed {
			c.rollback()
			l.c = nil
			return
		}
	}
}

// ddl is one transaction that changes the catalog and seldom is rolled back.
func (w *workload) ddl() {
	r := w.rng
	w.made++
	c := begin(w.t, w.db, store.ReadCommitted)
	w.admin = c
	defer func() { w.admin = nil }()
	name := fmt.Sprintf("x%d", w.made)
	switch r.IntN(7) {
	case 0, 1:
		c.must(c.tx.CreateIndex(bg, "graph", store.IndexDef{Name: name, Label: []string{"A", "B"}[r.IntN(2)], Keys: []string{"k", fmt.Sprintf("p%d", r.IntN(3))}, IfNotExists: true}))
	case 2:
		err := c.tx.CreateConstraint(bg, "graph", store.ConstraintDef{Name: name, Label: []string{"A", "B", "C"}[r.IntN(3)], Keys: []string{"u"}, Kind: schema.Unique, IfNotExists: true})
		if dberr.Is(err, dberr.UniqueViolation) { // there are duplicates already
			c.rollback()
			return
		}
		c.must(err)
	case 3: // drop an old one
		c.begin()
		ix, cs := c.g.Indexes(c.after()), c.g.Constraints(c.after())
		c.end()
		if len(cs) > 0 && r.IntN(3) == 0 {
			c.must(c.tx.DropConstraint(bg, "graph", cs[0].Name, false))
			break
		}
		owned := func(x schema.Index) bool {
			return slices.ContainsFunc(cs, func(k schema.Constraint) bool { return k.Name == x.Name })
		}
		ix = slices.DeleteFunc(slices.Clone(ix), owned)
		if len(ix) > 0 {
			c.must(c.tx.DropIndex(bg, "graph", ix[r.IntN(len(ix))].Name, false))
		}
	case 4: // a graph of its own
		gs, err := c.tx.Graphs(bg)
		c.must(err)
		for _, g := range gs {
			if g.Name != "graph" {
				c.must(c.tx.DropGraph(bg, g.Name, true))
			}
		}
		c.must(c.tx.CreateGraph(bg, "other"+name))
		c.must(c.tx.CreateIndex(bg, "other"+name, store.IndexDef{Name: "ix", Label: "A", Keys: []string{"k"}}))
	case 5: // a label that comes with rows and goes with them
		c.must(c.tx.CreateLabel(bg, "graph", name, schema.Vertex))
		c.begin()
		for i := range 1 + r.IntN(30) {
			c.node([]string{name}, "k", i, "p0", strings.Repeat("y", r.IntN(200)))
		}
		c.must(c.finish())
	case 6:
		c.begin()
		labels := c.g.Labels(c.after())
		c.end()
		for _, l := range labels {
			if l.Name[0] == 'x' {
				c.must(c.tx.DropLabel(bg, "graph", l.Name, schema.Vertex))
				break
			}
		}
	}
	if r.IntN(6) == 0 {
		c.rollback()
		return
	}
	c.must(c.commit())
}

var labelSets = [][]string{{"A"}, {"B"}, {"A", "B"}, {"B", "C"}, {}}

// op is one write of a session; it reports whether the statement failed, as on a duplicate key.
func (w *workload) op(l *lane) (failed bool) {
	r, c := w.rng, l.c
	nodes, rels := &l.now.nodes, &l.now.rels
	pick := func(xs []uint64) (int, uint64) {
		i := r.IntN(len(xs))
		return i, xs[i]
	}
	long := func() string {
		switch r.IntN(16) {
		case 0:
			return strings.Repeat(strconv.Itoa(r.IntN(10)), 2500+r.IntN(9000))
		case 1, 2:
			return strings.Repeat("x", r.IntN(1500))
		}
		return "s" + strconv.Itoa(r.IntN(50))
	}
	switch k := r.IntN(13); {
	case (k < 4 || len(*nodes) < 5) && len(*nodes) < 120:
		kv := []any{"k", r.IntN(20), fmt.Sprintf("p%d", r.IntN(3)), long()}
		if r.IntN(3) == 0 {
			kv = append(kv, "u", r.IntN(10000)*len(w.lanes)+l.i)
		}
		id, err := c.tryNode(labelSets[r.IntN(len(labelSets))], kv...)
		if dberr.Is(err, dberr.UniqueViolation) {
			return true
		}
		c.must(err)
		*nodes = append(*nodes, id)
	case k < 6:
		_, a := pick(*nodes)
		_, b := pick(*nodes)
		if r.IntN(3) == 0 {
			_, b = pick(w.hubs)
		}
		*rels = append(*rels, c.rel([]string{"R", "S"}[r.IntN(2)], a, b, "w", r.IntN(9)))
	case k < 9:
		_, a := pick(*nodes)
		var v any = r.IntN(20)
		if r.IntN(3) == 0 {
			v = long()
		}
		if r.IntN(8) == 0 {
			v = nil
		}
		c.must(c.set(schema.Vertex, a, []string{"k", "p0", "p1", "free"}[r.IntN(4)], v))
	case k == 9 && len(*rels) > 0:
		i, e := pick(*rels)
		if r.IntN(2) == 0 {
			c.must(c.set(schema.Edge, e, "w", long()))
			break
		}
		c.must(c.g.Delete(bg, c.cid, schema.Edge, []uint64{e}, nil, false))
		*rels = slices.Delete(*rels, i, i+1)
	case k == 10:
		i, a := pick(*nodes)
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
		*nodes = slices.Delete(*nodes, i, i+1)
		*rels = slices.DeleteFunc(*rels, func(x uint64) bool { return slices.Contains(lost, x) })
	case k == 11 && l.i == 0 && c.isolation == store.ReadCommitted:
		_, a := pick(w.hubs)
		c.must(c.set(schema.Vertex, a, "k", r.IntN(1000)))
	default:
		_, a := pick(*nodes)
		add, rem := []schema.LabelID{c.label("C")}, []schema.LabelID{c.label("A")}
		if r.IntN(2) == 0 {
			add, rem = []schema.LabelID{c.label("A")}, []schema.LabelID{c.label("C")}
		}
		err := c.g.SetLabels(bg, c.cid, []uint64{a}, nil, add, rem)
		if dberr.Is(err, dberr.UniqueViolation) {
			return true
		}
		c.must(err)
	}
	return false
}

// TestEveryCrashPointKeepsWhatWasAcknowledged runs the workload and lets the disk crash before every k-th call that changes it. Each
// time the database that comes up must be the one after the last acknowledged commit or, if a commit was on its way, after that
// one; a check must find nothing, and it must be fit for use. Every fifth recovery is itself cut short in the same way.
func TestEveryCrashPointKeepsWhatWasAcknowledged(t *testing.T) {
	want := points(2000)
	if testing.Short() {
		want = points(200)
	}
	seed := uint64(1)
	if s, err := strconv.ParseUint(os.Getenv("HEDGEROW_CRASH_SEED"), 10, 64); err == nil {
		seed = s
	}
	var next, left atomic.Int64
	next.Store(int64(seed) - 1)
	left.Store(int64(want))
	var sum crashes
	ctl := sched.Install(t)
	t.Run("runs", func(t *testing.T) {
		for i := range min(4, runtime.GOMAXPROCS(0)) {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				for left.Load() > 0 && !t.Failed() {
					crashRun(t, uint64(next.Add(1)), &left, &sum)
				}
			})
		}
	})
	t.Logf("%d crash points and %d more within a recovery; %d in checkpoints, %d found the commit on its way, %d were before it; %d index splits",
		sum.points.Load(), sum.inner.Load(), sum.checkpoint.Load(), sum.kept.Load(), sum.lost.Load(), ctl.Hits("btree.split.beforeParent"))
}

type crashes struct{ points, inner, checkpoint, kept, lost atomic.Int64 }

func crashRun(t *testing.T, seed uint64, left *atomic.Int64, sum *crashes) {
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
						left.Add(-1)
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
					t.Errorf("seed %d point %d%s: lost or invented data\n--- before\n%s\n--- after\n%s\n", seed, point, what, diff(before, got), diff(now, got))
				}
				if before != now {
					map[bool]*atomic.Int64{true: &sum.kept, false: &sum.lost}[got == now].Add(1)
				}
				clean(t, db)
				if point%4 == 0 {
					goesOn(t, db, got)
				}
				closeDB(t, db)
			}
			judge("", fs)
			for i, m := range inner {
				sum.inner.Add(1)
				judge(fmt.Sprintf(" recovery %d", i), m)
			}
		})
	}
	ps := []float64{0, 0.2, 0.5, 1}
	var w *workload
	hook := vfs.CrashPoints(mem, every, seed, ps, func(point int, clone *vfs.Mem) {
		if !active || w.saves && point%3 != 0 { // checkpoints make most of the calls
			return
		}
		if left.Add(-1) >= 0 {
			sum.points.Add(1)
			if w.saves {
				sum.checkpoint.Add(1)
			}
			verify(point, clone, acked)
		}
	})
	db := open(t, vfs.WithHook(mem, hook))
	defer func() { _ = db.Close(bg) }()
	update(t, db, func(c *client) { c.must(c.tx.CreateGraph(bg, "graph")) })
	w = newWorkload(t, db, seed)
	acked = dump(t, db)
	active = true
	for i := 0; i < 400 && left.Load() > 0 && !t.Failed(); i++ {
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
	for i := range w.lanes {
		if w.lanes[i].c != nil {
			w.end(&w.lanes[i])
		}
	}
	clean(t, db)
}

// goesOn uses a database that was recovered: a new node has an id of its own, a unique key is refused twice, and a checkpoint keeps it all.
func goesOn(t testing.TB, db *engine.DB, had string) {
	t.Helper()
	const key = 1 << 40
	c := begin(t, db, store.ReadCommitted)
	c.begin()
	id := c.node([]string{"A", "B", "C"}, "u", key)
	if strings.Contains(had, fmt.Sprintf("node %x ", id)) {
		t.Errorf("id %x was given twice", id)
	}
	c.rel("R", id, id)
	constraints := c.g.Constraints(c.after())
	c.must(c.finish())
	c.must(c.commit())
	for _, k := range constraints {
		c = begin(t, db, store.ReadCommitted)
		c.begin()
		_, err := c.tryNode([]string{k.LabelName}, "u", key)
		if !dberr.Is(err, dberr.UniqueViolation) {
			t.Errorf("a duplicate key under constraint %s: %v", k.Name, err)
		}
		c.rollback()
	}
	if err := db.Checkpoint(bg); err != nil {
		t.Error(err)
	}
	clean(t, db)
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
