package engine_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/stats"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// people makes n vertices A with the keys id and city (a tenth each), every tenth of which begins 20 relationships R.
func people(t testing.TB, db *engine.DB, n int) {
	t.Helper()
	update(t, db, func(c *client) {
		c.begin()
		var ids []uint64
		for i := range n {
			labels := []string{"A"}
			if i%4 == 0 {
				labels = append(labels, "B")
			}
			ids = append(ids, c.node(labels, "id", i, "city", fmt.Sprintf("city %d", i%10)))
		}
		for i := 0; i < n; i += 10 {
			for j := range 20 {
				c.rel("R", ids[i], ids[(i+j)%n], "w", j)
			}
		}
	})
}

func analyzeDue(t testing.TB, db *engine.DB) int {
	t.Helper()
	n, err := db.AnalyzeDue(bg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func about(t testing.TB, what string, got, want float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > 0.05*math.Abs(want) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// What a sample says is right, is kept over a restart, and is renewed when enough has changed and not before.
func TestAnalyze(t *testing.T) {
	fs := vfs.NewMem()
	db := open(t, fs)
	update(t, db, func(x *client) { x.must(x.tx.CreateGraph(bg, "graph")) })
	people(t, db, 1000)
	version := db.Store().CatalogVersion()
	if n := analyzeDue(t, db); n != 3 {
		t.Errorf("%d labels and types are analysed, want 3", n)
	}
	if db.Store().CatalogVersion() == version {
		t.Error("plans do not hear of new statistics")
	}
	if n := analyzeDue(t, db); n != 0 {
		t.Errorf("%d are analysed again without a change", n)
	}
	look := func() {
		t.Helper()
		c := begin(t, db, store.ReadCommitted).begin()
		defer c.rollback()
		a, b, r := c.label("A"), c.label("B"), c.typ("R")
		city := c.g.KeyStats(a, c.key("city"))
		about(t, "a city", city.Equal(value.NewString("city 3")), 0.1)
		about(t, "cities", city.Distinct, 10)
		id := c.g.KeyStats(a, c.key("id"))
		about(t, "ids", id.Distinct, 1000)
		about(t, "ids below 250", id.Range(stats.Interval{Upper: value.NewInt(250), HasUpper: true}), 0.25)
		about(t, "rows of B", c.g.KeyStats(b, c.key("id")).Rows, 250)
		about(t, "weights", c.g.KeyStats(r, c.key("w")).Distinct, 20)
		d := c.g.DegreeStats(a, r, store.Out)
		about(t, "mean degree", d.Mean, 2)
		about(t, "without any", d.Zero, 0.9)
		biased, _ := d.Biased()
		about(t, "degree of a start", biased, 20)
		if d.Neighbours < 1 || d.Neighbours > 4 { // of a quarter of the vertices
			t.Errorf("%g neighbours, want about %g", d.Neighbours, d.Mean)
		}
		about(t, "all types", c.g.DegreeStats(a, schema.NoLabel, store.Both).Mean, 4)
		about(t, "both labels", c.g.LabelsCount([]schema.LabelID{a, b}), 250)
		about(t, "from B", c.g.RelsBetween(b, r, schema.NoLabel), 1000) // half of the starts, by the sample
	}
	look()
	clean(t, db)
	closeDB(t, db)
	db = open(t, fs)
	look()
	if n := analyzeDue(t, db); n != 0 {
		t.Errorf("%d are analysed again after a restart", n)
	}
	update(t, db, func(c *client) {
		c.begin()
		for i, id := range c.scan(c.after(), "A") {
			if i < 100 {
				c.must(c.set(schema.Vertex, id, "city", "elsewhere"))
			}
		}
	})
	if n := analyzeDue(t, db); n != 1 { // 100 of 1,000 are too few for A, enough for B
		t.Errorf("%d are analysed after 100 changes, want 1", n)
	}
	update(t, db, func(c *client) {
		c.begin()
		for i, id := range c.scan(c.after(), "A") {
			if i < 60 {
				c.must(c.set(schema.Vertex, id, "city", "nowhere"))
			}
		}
	})
	analyzeDue(t, db)
	c := begin(t, db, store.ReadCommitted).begin()
	about(t, "the new city", c.g.KeyStats(c.label("A"), c.key("city")).Equal(value.NewString("nowhere")), 0.06)
	c.rollback()
	clean(t, db)
	closeDB(t, db)
}

// A sample of a part of many rows tells about all of them.
func TestAnalyzeAPart(t *testing.T) {
	if testing.Short() {
		t.Skip("40,000 rows; run without -short")
	}
	db := fresh(t)
	update(t, db, func(c *client) {
		c.begin()
		l, row := c.label("A"), c.props("id", 0, "city", "")
		for i := 0; i < 40_000; i += 1000 {
			rows := make([]store.PropRow, 1000)
			for j := range rows {
				rows[j] = store.PropRow{Keys: row.Keys, Vals: []value.Value{val(i + j), val(fmt.Sprint((i + j) % 7))}}
			}
			var out store.Hits
			c.must(c.g.CreateNodes(bg, c.cid, []schema.LabelID{l}, rows, &out))
		}
	})
	analyzeDue(t, db)
	c := begin(t, db, store.ReadCommitted).begin()
	id := c.g.KeyStats(c.label("A"), c.key("id"))
	about(t, "ids", id.Distinct, 40_000)
	about(t, "rows", id.Rows, 40_000)
	about(t, "the upper half", id.Range(stats.Interval{Lower: value.NewInt(20_000), HasLower: true}), 0.5)
	about(t, "cities", c.g.KeyStats(c.label("A"), c.key("city")).Distinct, 7)
	c.rollback()
}

// Statistics are for everybody at once, also when the transaction that asked for them is undone; writers go on meanwhile.
func TestAnalyzeBesideWriters(t *testing.T) {
	db := fresh(t)
	people(t, db, 200)
	ctl := sched.Install(t)
	gate := ctl.Stop("local.analyze.sampled")
	a := begin(t, db, store.ReadCommitted).begin()
	l := a.label("A")
	wait, _ := later(func() error { return a.g.(store.Analyzer).Analyze(bg, a.stmt.View(0), l) })
	gate.Wait()
	update(t, db, func(c *client) { c.begin(); c.node([]string{"A"}, "id", 7777) })
	gate.Release()
	a.must(wait())
	a.rollback()
	c := begin(t, db, store.ReadCommitted).begin()
	about(t, "rows", c.g.KeyStats(l, c.key("id")).Rows, 200)
	c.rollback()
	clean(t, db)
}

// A dropped label takes its statistics along; a graph that is gone leaves rows that the next start removes.
func TestStatisticsOfWhatIsDropped(t *testing.T) {
	fs := vfs.NewMem()
	db := open(t, fs)
	update(t, db, func(x *client) { x.must(x.tx.CreateGraph(bg, "graph")) })
	people(t, db, 100)
	analyzeDue(t, db)
	update(t, db, func(x *client) { x.must(x.tx.DropGraph(bg, "graph", true)) })
	if n := analyzeDue(t, db); n != 0 {
		t.Errorf("%d labels of a dropped graph are analysed", n)
	}
	for range 2 {
		closeDB(t, db)
		db = open(t, fs)
		clean(t, db)
	}
	update(t, db, func(x *client) { x.must(x.tx.CreateGraph(bg, "graph")) })
	people(t, db, 100)
	analyzeDue(t, db)
	clean(t, db)
	closeDB(t, db)
}

// In the background statistics come by themselves, and Close does not wait for them.
func TestStatisticsComeByThemselves(t *testing.T) {
	for _, off := range []bool{false, true} {
		o := options(vfs.NewMem())
		o.Steps, o.AnalyzeInterval = false, time.Millisecond
		if off {
			o.AnalyzeInterval = -1
		}
		db, err := engine.Open(bg, o)
		if err != nil {
			t.Fatal(err)
		}
		update(t, db, func(x *client) { x.must(x.tx.CreateGraph(bg, "graph")) })
		people(t, db, 100)
		known := func() bool {
			c := begin(t, db, store.ReadCommitted).begin()
			defer c.rollback()
			return c.g.KeyStats(c.label("A"), c.key("id")) != nil
		}
		ctx, cancel := context.WithTimeout(bg, 20*time.Second)
		for !off && !known() && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
		if known() == off {
			t.Errorf("switched off: %v, statistics are there: %v", off, known())
		}
		closeDB(t, db)
	}
}
