package engine_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

func TestHintsAreCountedAndRepaired(t *testing.T) { // B1
	db := fresh(t)
	a, b := seed(t, db)
	c := begin(t, db, store.ReadCommitted).begin()
	k := c.key("x")
	fetch := func(hints []store.Hint, v store.View) string {
		var col vec.Column
		c.must(c.g.Fetch(bg, v, schema.Vertex, []uint64{a, 0, b}, hints, []schema.KeyID{k}, []*vec.Column{&col}))
		return string(value.AppendTCK(value.AppendTCK(value.AppendTCK(nil, col.Value(0)), col.Value(1)), col.Value(2)))
	}
	hints := make([]store.Hint, 3)
	if got := fetch(hints, c.after()); got != "1null2" {
		t.Errorf("got %s", got)
	}
	n := *c.stmt.Counters()
	if n.HintMissing != 2 || n.IDProbes != 2 || hints[0] == 0 || hints[1] != 0 {
		t.Errorf("first time: %+v %x", n, hints)
	}
	fetch(hints, c.after())
	if m := *c.stmt.Counters(); m.HintOK != 2 || m.IDProbes != 2 {
		t.Errorf("second time: %+v", m)
	}
	hints[0], hints[2] = hints[2], 1<<40|1 // another row's place, and none at all
	if got := fetch(hints, c.after()); got != "1null2" {
		t.Errorf("got %s", got)
	}
	if m := *c.stmt.Counters(); m.HintStale != 2 || m.IDProbes != 2 || m.RootHits != 2 { // the table of places knows them
		t.Errorf("stale: %+v", m)
	}
	// A change that leaves the page is found along the own chain.
	for range 100 {
		c.node([]string{"A"}, "pad", strings.Repeat("x", 500))
	}
	old := hints[0]
	c.must(c.set(schema.Vertex, a, "pad", strings.Repeat("y", 1900)))
	if got := fetch([]store.Hint{old, 0, hints[2]}, c.after()); got != "1null2" {
		t.Errorf("got %s", got)
	}
	if m := *c.stmt.Counters(); m.HintOwnChain != 1 {
		t.Errorf("own chain: %+v", m)
	}
	c.must(c.finish())
	c.must(c.commit())
	clean(t, db)
}

func TestDeletedEntities(t *testing.T) { // C8
	db := fresh(t)
	a, b := seed(t, db)
	c := begin(t, db, store.ReadCommitted).begin()
	r := c.rel("R", a, b, "w", 1)
	c.must(c.finish())
	c.begin()
	v := c.stmt.View(c.cid)
	c.must(c.g.Delete(bg, c.cid, schema.Vertex, []uint64{a, a}, nil, true))
	c.must(c.g.Delete(bg, c.cid, schema.Edge, []uint64{r}, nil, false)) // once more
	if n := c.stmt.Counters(); n.NodesDeleted != 1 || n.RelsDeleted != 1 {
		t.Errorf("counted %+v", *n)
	}
	if got := c.get(v, schema.Vertex, a, "x"); got != "1" {
		t.Errorf("before the clause: %s", got)
	}
	after := c.after()
	if got := c.get(after, schema.Vertex, a, "x"); !strings.Contains(got, "deleted") {
		t.Errorf("after the clause: %s", got)
	}
	after.WithDeleted = true
	if got := c.get(after, schema.Vertex, a, "x"); got != "1" {
		t.Errorf("with deleted: %s", got)
	}
	var start, end [1]uint64
	c.must(c.g.Ends(bg, after, []uint64{r}, nil, start[:], end[:]))
	if start[0] != a || end[0] != b {
		t.Errorf("ends %x %x", start, end)
	}
	c.must(c.tx.Savepoint("s"))
	_, err := c.tryRel("R", b, a)
	wantCode(t, err, dberr.EntityNotFound)
	wantCode(t, c.set(schema.Vertex, a, "x", 2), dberr.EntityNotFound)
	c.must(c.tx.RollbackTo("s"))
	c.must(c.finish())
	c.must(c.commit())
	clean(t, db)
}

func TestDeleteConnected(t *testing.T) {
	db := fresh(t)
	a, b := seed(t, db)
	update(t, db, func(c *client) { c.begin(); c.rel("R", a, b) })
	c := begin(t, db, store.ReadCommitted).begin()
	c.must(c.g.Delete(bg, c.cid, schema.Vertex, []uint64{a}, nil, false))
	wantCode(t, c.stmt.Finish(bg), dberr.ConnectedNode)
	c.rollback()
	c = begin(t, db, store.ReadCommitted).begin() // the relationship goes in a later clause
	c.must(c.g.Delete(bg, c.cid, schema.Vertex, []uint64{a}, nil, false))
	cur, err := c.g.ScanRels(bg, c.after(), nil)
	c.must(err)
	var rels store.Rels
	c.must(cur.Next(bg, 10, &rels))
	c.must(c.g.Delete(bg, c.cid, schema.Edge, rels.ID, rels.Hint, false))
	c.must(c.finish())
	c.must(c.commit())
	clean(t, db)
}

func TestExpand(t *testing.T) {
	db := fresh(t)
	update(t, db, func(c *client) {
		c.begin()
		var n []uint64
		for i := range 6 {
			n = append(n, c.node([]string{"N"}, "i", i))
		}
		type edge struct{ from, to int }
		made := map[edge]uint64{}
		for _, e := range []edge{{0, 1}, {0, 2}, {1, 0}, {0, 0}, {3, 0}, {4, 5}} {
			made[e] = c.rel("R", n[e.from], n[e.to])
		}
		s := c.rel("S", n[0], n[1])
		v := c.after()
		ids := func(dir store.Direction, types ...string) []uint64 {
			var ls []schema.LabelID
			for _, x := range types {
				ls = append(ls, c.typ(x))
			}
			cur, err := c.g.Expand(bg, v, []uint64{0, n[0]}, dir, ls)
			c.must(err)
			defer cur.Close()
			var e store.Edges
			var got []uint64
			for {
				c.must(cur.Next(bg, 2, &e))
				if len(e.Rel) == 0 {
					slices.Sort(got)
					return got
				}
				for i, r := range e.Row {
					if r != 1 {
						t.Errorf("row %d", r)
					}
					if e.In[i] != (schema.LabelOf(e.Rel[i]) == c.typ("R") && e.Rel[i] != made[edge{0, 1}] && e.Rel[i] != made[edge{0, 2}] && e.Rel[i] != made[edge{0, 0}]) && dir == store.Both {
						t.Errorf("direction of %x", e.Rel[i])
					}
				}
				got = append(got, e.Rel...)
			}
		}
		want := func(what string, got []uint64, es ...uint64) {
			t.Helper()
			slices.Sort(es)
			if !slices.Equal(got, es) {
				t.Errorf("%s: got %x, want %x", what, got, es)
			}
		}
		r01, r02, r10, r00, r30 := made[edge{0, 1}], made[edge{0, 2}], made[edge{1, 0}], made[edge{0, 0}], made[edge{3, 0}]
		want("out", ids(store.Out), r01, r02, r00, s)
		want("out R", ids(store.Out, "R"), r01, r02, r00)
		want("in", ids(store.In), r10, r00, r30)
		want("both", ids(store.Both), r01, r02, r00, s, r10, r30)
		want("both S", ids(store.Both, "S"), s)
		out := make([]int64, 3)
		c.must(c.g.Degree(bg, v, []uint64{n[0], 0, n[5]}, store.Both, nil, out))
		if !slices.Equal(out, []int64{6, 0, 1}) {
			t.Errorf("degrees %v", out)
		}
		cur, err := c.g.ExpandInto(bg, v, []uint64{n[0], n[0], n[4]}, []uint64{n[1], n[0], n[0]}, store.Both, nil)
		c.must(err)
		var e store.Edges
		c.must(cur.Next(bg, 100, &e))
		want("into 0-1", slices.Sorted(slices.Values(e.Rel[:3])), r01, s, r10)
		want("into 0-0", e.Rel[3:], r00)
		cur.Close()
	})
	clean(t, db)
}

func TestLongValuesAndKeys(t *testing.T) { // B13
	db := fresh(t)
	update(t, db, func(c *client) {
		c.must(c.tx.CreateIndex(bg, "graph", store.IndexDef{Name: "ix", Label: "L", Keys: []string{"s"}}))
		c.must(c.tx.CreateConstraint(bg, "graph", store.ConstraintDef{Name: "uq", Label: "U", Keys: []string{"s"}, Kind: schema.Unique}))
	})
	long := func(end string) string { return strings.Repeat("long ", 1000) + end }
	var ids []uint64
	update(t, db, func(c *client) {
		c.begin()
		for _, s := range []string{long("b"), "short", long("a"), long("c"), long("")} {
			ids = append(ids, c.node([]string{"L", "U"}, "s", s, "n", 1))
		}
		var wide []any
		for i := range 300 {
			wide = append(wide, "key"+strconv.Itoa(i), "a value of some length "+strconv.Itoa(i))
		}
		ids = append(ids, c.node([]string{"W"}, wide...))
	})
	c := begin(t, db, store.ReadCommitted).begin()
	_, err := c.tryNode([]string{"U"}, "s", long("a"))
	wantCode(t, err, dberr.UniqueViolation)
	c.end()
	wantCode(t, c.tx.Commit(bg), dberr.InFailedTransaction)
	c = begin(t, db, store.ReadCommitted).begin()
	v := c.after()
	if got := c.get(v, schema.Vertex, ids[2], "s"); got != "'"+long("a")+"'" {
		t.Errorf("read %d bytes back", len(got))
	}
	if got := c.get(v, schema.Vertex, ids[5], "key299"); got != "'a value of some length 299'" {
		t.Errorf("got %s", got)
	}
	if got := c.seek(v, "ix", long("a")); !slices.Equal(got, []uint64{ids[2]}) {
		t.Errorf("= finds %x", got)
	}
	if got := c.seek(v, "uq", long("a")+"x"); len(got) != 0 {
		t.Errorf("= finds %x", got)
	}
	rangeSeek := func(s store.Seek) []uint64 {
		s.Index, s.Ordered = c.index(v, "ix"), true
		cur, err := c.g.Seek(bg, v, s, 1)
		c.must(err)
		defer cur.Close()
		return c.hits(cur)
	}
	all := []uint64{ids[4], ids[2], ids[0], ids[3], ids[1]}
	if got := rangeSeek(store.Seek{Prefix: column("long")}); !slices.Equal(got, all[:4]) {
		t.Errorf("prefix finds %x, want %x", got, all[:4])
	}
	if got := rangeSeek(store.Seek{Prefix: column(long(""))}); !slices.Equal(got, all[:4]) {
		t.Errorf("long prefix finds %x, want %x", got, all[:4])
	}
	if got := rangeSeek(store.Seek{Lower: store.Bound{Present: true}, LowerVal: column(long("a"))}); !slices.Equal(got, []uint64{ids[0], ids[3], ids[1]}) {
		t.Errorf("> finds %x", got)
	}
	if got := rangeSeek(store.Seek{}); !slices.Equal(got, all) {
		t.Errorf("all finds %x, want %x", got, all)
	}
	slices.Reverse(all)
	if got := rangeSeek(store.Seek{Descending: true}); !slices.Equal(got, all) {
		t.Errorf("descending finds %x, want %x", got, all)
	}
	// A change elsewhere in the row keeps the pointer and the index entry.
	c.must(c.set(schema.Vertex, ids[2], "n", 2))
	c.must(c.set(schema.Vertex, ids[0], "s", "short now"))
	c.must(c.finish())
	c.must(c.commit())
	update(t, db, func(c *client) {
		c.begin()
		if got := c.seek(c.after(), "ix", long("a")); !slices.Equal(got, []uint64{ids[2]}) {
			t.Errorf("after the change: %x", got)
		}
		c.must(c.g.Delete(bg, c.cid, schema.Vertex, ids, nil, false))
	})
	clean(t, db)
}

// Every probe of an index gives what a scan with the same predicate gives.
func TestSeekAgreesWithScan(t *testing.T) {
	db := fresh(t)
	update(t, db, func(c *client) {
		c.must(c.tx.CreateIndex(bg, "graph", store.IndexDef{Name: "ab", Label: "L", Keys: []string{"a", "b"}}))
	})
	dt := func(s string) value.Value {
		v, err := value.ParseTemporal(value.DateTime, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	pool := []any{1, 2, 3, 2.0, 2.5, -1, "", "a", "ab", "abc", "b", true, false, dt("2020-01-01T12:00:00+01:00"), dt("2020-01-01T11:00:00Z"),
		dt("2020-01-01T11:00:01Z"), value.NewList(value.NewInt(1), value.NewInt(2)), value.NewList(value.NewInt(1)), value.NewFloat(nan())}
	type row struct{ a, b value.Value }
	rows := map[uint64]row{}
	update(t, db, func(c *client) {
		c.begin()
		for i, a := range pool {
			for j, b := range pool {
				if (i+j)%3 == 0 {
					rows[c.node([]string{"L"}, "a", a, "b", b)] = row{val(a), val(b)}
				}
			}
		}
		c.node([]string{"L"}, "a", 1) // no b: not in the index
		c.node([]string{"M"}, "a", 1, "b", 1)
	})
	c := begin(t, db, store.ReadCommitted).begin()
	defer c.rollback()
	v := c.after()
	within := func(lo, x value.Value, inclusive bool) bool {
		return value.Less(lo, x) == value.True || inclusive && value.Equal(lo, x) == value.True
	}
	rapid.Check(t, func(rt *rapid.T) {
		any := rapid.Custom(func(rt *rapid.T) value.Value { return val(pool[rapid.IntRange(0, len(pool)-1).Draw(rt, "value")]) })
		s := store.Seek{Index: c.index(v, "ab"), Ordered: rapid.Bool().Draw(rt, "ordered"), Descending: rapid.Bool().Draw(rt, "descending")}
		keys := rapid.IntRange(0, 2).Draw(rt, "equal")
		eq := []value.Value{any.Draw(rt, "a"), any.Draw(rt, "b")}[:keys]
		for _, x := range eq {
			s.Eq = append(s.Eq, column(x))
		}
		var lo, hi value.Value
		prefix := ""
		if keys < 2 {
			switch rapid.IntRange(0, 2).Draw(rt, "kind") {
			case 0:
				lo, hi = any.Draw(rt, "low"), any.Draw(rt, "high")
				s.Lower = store.Bound{Present: rapid.Bool().Draw(rt, "has low"), Inclusive: rapid.Bool().Draw(rt, "low inclusive")}
				s.Upper = store.Bound{Present: rapid.Bool().Draw(rt, "has high"), Inclusive: rapid.Bool().Draw(rt, "high inclusive")}
				s.LowerVal, s.UpperVal = column(lo), column(hi)
			case 1:
				prefix = rapid.SampledFrom([]string{"", "a", "ab", "z"}).Draw(rt, "prefix")
				s.Prefix = column(prefix)
			}
		}
		var want []uint64
		for id, r := range rows {
			vals, ok := []value.Value{r.a, r.b}, true
			for i, x := range eq {
				ok = ok && value.Equal(vals[i], x) == value.True
			}
			if keys < 2 {
				n := vals[keys]
				ok = ok && (s.Prefix == nil || n.Kind() == value.String && strings.HasPrefix(n.Str(), prefix))
				ok = ok && (!s.Lower.Present || within(lo, n, s.Lower.Inclusive)) && (!s.Upper.Present || within(n, hi, s.Upper.Inclusive))
			}
			if ok {
				want = append(want, id)
			}
		}
		cur, err := c.g.Seek(bg, v, s, 1)
		if err != nil {
			rt.Fatal(err)
		}
		got := c.hits(cur)
		cur.Close()
		if s.Ordered {
			less := func(x, y uint64) int {
				d := value.Compare(rows[x].a, rows[y].a)
				if d == 0 {
					d = value.Compare(rows[x].b, rows[y].b)
				}
				if s.Descending {
					d = -d
				}
				return d
			}
			if !slices.IsSortedFunc(got, less) {
				rt.Fatal("not in order")
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			rt.Fatalf("got %d rows, want %d", len(got), len(want))
		}
	})
}

func nan() float64 {
	z := 0.0
	return z / z
}

func TestIndexOnExistingData(t *testing.T) { // B5
	db := fresh(t)
	var first uint64
	update(t, db, func(c *client) {
		c.begin()
		for i := range 500 {
			id := c.node([][]string{{"P"}, {"Q", "P"}, {"Q"}}[i%3], "k", i%50, "pad", strings.Repeat("x", i))
			if i == 0 {
				first = id
			}
		}
	})
	rr := begin(t, db, store.RepeatableRead).begin() // holds an older version
	update(t, db, func(c *client) { c.begin(); c.must(c.set(schema.Vertex, first, "k", 1000)) })
	writer := begin(t, db, store.ReadCommitted).begin()
	writer.node([]string{"P"}, "k", 7)
	ddl := begin(t, db, store.ReadCommitted)
	wait, done := later(func() error {
		return ddl.tx.CreateIndex(bg, "graph", store.IndexDef{Name: "ix", Label: "P", Keys: []string{"k"}})
	})
	if done() {
		t.Fatal("did not wait for the writer")
	}
	writer.must(writer.commit())
	ddl.must(wait())
	ddl.begin()
	if got := ddl.seek(ddl.after(), "ix", 7); len(got) != 8 {
		t.Errorf("its maker finds %d", len(got))
	}
	ddl.node([]string{"Z", "P"}, "k", 7)
	ddl.must(ddl.finish())
	ddl.must(ddl.commit())
	if n := len(rr.g.Indexes(rr.after())); n != 0 {
		t.Errorf("an older snapshot sees %d indexes", n)
	}
	rr.rollback()
	update(t, db, func(c *client) {
		c.begin()
		if got := c.seek(c.after(), "ix", 7); len(got) != 9 {
			t.Errorf("found %d", len(got))
		}
		if got := c.seek(c.after(), "ix", 1000); !slices.Equal(got, []uint64{first}) {
			t.Errorf("found %x", got)
		}
	})
	c := begin(t, db, store.ReadCommitted)
	wantCode(t, c.tx.CreateIndex(bg, "graph", store.IndexDef{Name: "other", Label: "P", Keys: []string{"k"}}), dberr.DuplicateObject)
	c.rollback()
	c = begin(t, db, store.ReadCommitted)
	err := c.tx.CreateConstraint(bg, "graph", store.ConstraintDef{Name: "uq", Label: "Q", Keys: []string{"k"}, Kind: schema.Unique})
	wantCode(t, err, dberr.UniqueViolation)
	c.rollback()
	c = begin(t, db, store.ReadCommitted)
	err = c.tx.CreateConstraint(bg, "graph", store.ConstraintDef{Label: "Q", Keys: []string{"none"}, Kind: schema.NotNull})
	wantCode(t, err, dberr.NotNullViolation)
	c.rollback()
	update(t, db, func(c *client) {
		c.must(c.tx.CreateConstraint(bg, "graph", store.ConstraintDef{Label: "Q", Keys: []string{"k"}, Kind: schema.NotNull}))
		c.begin()
		c.must(c.tx.Savepoint("s"))
		_, err := c.tryNode([]string{"Q"}, "x", 1)
		wantCode(t, err, dberr.NotNullViolation)
		c.must(c.tx.RollbackTo("s"))
	})
	update(t, db, func(c *client) { c.must(c.tx.DropIndex(bg, "graph", "ix", false)) })
	clean(t, db)
}

func TestDropLabelAndGraph(t *testing.T) { // D1
	db := fresh(t)
	var both, only, other uint64
	update(t, db, func(c *client) {
		c.begin()
		both, only, other = c.node([]string{"A", "B"}), c.node([]string{"A"}), c.node([]string{"B", "A"})
		c.rel("R", both, other)
	})
	files := func() int {
		rels, err := db.Pool().Relations()
		if err != nil {
			t.Fatal(err)
		}
		return len(rels)
	}
	update(t, db, func(c *client) { c.must(c.tx.DropLabel(bg, "graph", "A", schema.Vertex)) })
	update(t, db, func(c *client) {
		c.begin()
		v := c.after()
		if got := c.scan(v, ""); !slices.Equal(got, []uint64{both, other}) {
			t.Errorf("left %x, dropped %x", got, only)
		}
		if got := c.scan(v, "B"); len(got) != 2 {
			t.Errorf("B has %x", got)
		}
		if _, ok := c.g.Label(v, "A", schema.Vertex); ok {
			t.Error("A is still there")
		}
		if n := c.node([]string{"A"}); schema.LabelOf(n) == schema.LabelOf(both) {
			t.Error("a label id was used again")
		}
	})
	clean(t, db)
	c := begin(t, db, store.ReadCommitted)
	wantCode(t, c.tx.DropLabel(bg, "graph", "B", schema.Vertex), dberr.DependentObjects)
	c.rollback()
	before := files()
	update(t, db, func(c *client) { c.must(c.tx.DropLabel(bg, "graph", "R", schema.Edge)) })
	if n := files(); n != before-4 {
		t.Errorf("%d files, had %d", n, before)
	}
	c = begin(t, db, store.ReadCommitted)
	wantCode(t, c.tx.DropGraph(bg, "graph", false), dberr.DependentObjects)
	c.rollback()
	c = begin(t, db, store.ReadCommitted)
	c.must(c.tx.DropGraph(bg, "graph", true))
	c.rollback()
	update(t, db, func(c *client) { c.begin(); c.scan(c.after(), "") })
	update(t, db, func(c *client) { c.must(c.tx.DropGraph(bg, "graph", true)) })
	if n := files(); n != 20 {
		t.Errorf("%d files are left", n)
	}
	clean(t, db)
}

var _ = engine.Open
