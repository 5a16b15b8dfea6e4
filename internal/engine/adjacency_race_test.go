package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/access/adjacency"
	"github.com/hedgerowdb/hedgerow/internal/check"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// besideBuild is a graph of two vertices with a relationship from a to b and one back, and what changes it.
type besideBuild struct {
	t        *testing.T
	db       *engine.DB
	a, b     uint64
	old      uint64 // from a to b
	mustBe   int    // relationships from a to b that are there after the change
	change   func(c *client)
	rollback bool
}

func newBesideBuild(t *testing.T, what string) *besideBuild {
	x := &besideBuild{t: t, db: smallCache(t, adjacency.Options{FoldMin: 4})}
	x.a, x.b = seed(t, x.db)
	update(t, x.db, func(c *client) {
		c.begin()
		x.old = c.rel("R", x.a, x.b)
		c.rel("R", x.b, x.a)
		c.rel("R", x.a, x.a)
	})
	x.mustBe = 1
	x.change = func(c *client) { c.rel("R", x.a, x.b) }
	switch what {
	case "insert":
		x.mustBe = 2
	case "delete":
		x.mustBe = 0
		x.change = func(c *client) { c.must(c.g.Delete(bg, c.cid, schema.Edge, []uint64{x.old}, nil, false)) }
	case "insert and delete":
		x.change = func(c *client) {
			id := c.rel("R", x.a, x.b)
			c.begin()
			c.must(c.g.Delete(bg, c.cid, schema.Edge, []uint64{id}, nil, false))
		}
	case "update":
		x.change = func(c *client) { c.must(c.set(schema.Edge, x.old, "w", 1)) }
	case "rollback":
		x.rollback = true
	case "rollback of a delete":
		x.rollback = true
		x.change = func(c *client) { c.must(c.g.Delete(bg, c.cid, schema.Edge, []uint64{x.old}, nil, false)) }
	case "savepoint":
		x.change = func(c *client) {
			c.must(c.tx.Savepoint("s"))
			c.rel("R", x.a, x.b)
			c.must(c.g.Delete(bg, c.cid, schema.Edge, []uint64{x.old}, nil, false))
			c.end()
			c.must(c.tx.RollbackTo("s"))
			c.begin()
		}
	}
	return x
}

var changes = []string{"insert", "delete", "insert and delete", "update", "rollback", "rollback of a delete", "savepoint"}

// write makes the change in a transaction of its own.
func (x *besideBuild) write() error {
	c := begin(x.t, x.db, store.ReadCommitted).begin()
	x.change(c)
	if x.rollback {
		c.rollback()
		return nil
	}
	if err := c.finish(); err != nil {
		return err
	}
	return c.commit()
}

// build makes everything ready, or finds it so.
func (x *besideBuild) build() error {
	warm(x.t, x.db)
	return nil
}

// look holds a new reader to what must be there, in memory as in the indexes.
func (x *besideBuild) look(must int, cached bool) {
	x.t.Helper()
	c := begin(x.t, x.db, store.ReadCommitted).begin()
	defer c.rollback()
	c.sameBothWays(c.after(), []uint64{x.a, x.b})
	n := 0
	for _, e := range c.expanded(c.after(), []uint64{x.a}, store.Out, nil, 10) {
		if e.other == x.b {
			n++
		}
	}
	if n != must {
		x.t.Errorf("%d relationships, want %d", n, must)
	}
	if cached && c.stmt.Counters().HopsIndex > 0 {
		x.t.Error("nothing was in memory")
	}
}

// A change that is made and committed while a builder stands anywhere is there once for whoever comes after the commit, whatever the builder
// found of it and whatever it was told.
func TestChangeWhileANeighbourhoodIsBuilt(t *testing.T) { // B10
	for _, point := range []string{"adjacency.build.horizon", "adjacency.build.building", "adjacency.build.read"} {
		for _, what := range changes {
			t.Run(point+"/"+what, func(t *testing.T) {
				x := newBesideBuild(t, what)
				old := begin(t, x.db, store.RepeatableRead).begin()
				ctl := schedInstall(t)
				gate := ctl.Stop(point)
				wait, _ := later(x.build)
				gate.Wait()
				x.must(x.write())
				x.look(x.mustBe, false)
				gate.Release()
				x.must(wait())
				x.look(x.mustBe, true)
				old.sameBothWays(old.after(), []uint64{x.a, x.b})
				old.rollback()
				x.folded(point)
			})
		}
	}
}

func (x *besideBuild) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// folded holds the state after everything was folded to the same, and the database to its checks.
func (x *besideBuild) folded(string) {
	x.t.Helper()
	for range 2 {
		update(x.t, x.db, func(c *client) { // enough for a fold to be due
			c.begin()
			for range 6 {
				c.rel("S", x.a, x.a)
				c.rel("R", x.b, x.b)
			}
		})
		x.db.Adjacency().Work(bg)
		x.look(x.mustBe, false)
	}
	clean(x.t, x.db)
}

// A writer who has changed heap and indexes, and is about to tell, is not counted twice by a builder who has found the change already, and not
// forgotten by one who began too early.
func TestWriterStandsBeforeItTells(t *testing.T) { // B10
	for _, what := range changes {
		t.Run(what, func(t *testing.T) {
			if what == "update" {
				t.Skip("tells nothing")
			}
			x := newBesideBuild(t, what)
			ctl := schedInstall(t)
			gate := ctl.Stop("local.tell.before")
			wait, _ := later(x.write)
			gate.Wait()
			x.must(x.build())
			x.look(1, true)
			gate.Release()
			x.must(wait())
			x.look(x.mustBe, true)
			x.folded(what)
		})
	}
}

// One who is about to tell of a segment that is ready, or built, and finds it given up and perhaps built anew.
func TestSegmentGoesWhileAWriterTells(t *testing.T) { // B10
	for _, again := range []bool{false, true} {
		for _, what := range changes {
			if what == "update" {
				continue
			}
			x := newBesideBuild(t, what)
			x.must(x.build())
			t.Run(what, func(t *testing.T) {
				x.t = t
				ctl := schedInstall(t)
				gate := ctl.Stop("adjacency.tell.before")
				wait, _ := later(x.write)
				gate.Wait()
				x.db.Adjacency().EvictAll()
				if again {
					x.must(x.build())
				}
				x.look(1, again)
				gate.Release()
				x.must(wait())
				x.look(x.mustBe, again)
				x.folded(what)
			})
		}
	}
}

// What is told of while a fold reads, or before its result is put in place, goes with it; a cursor that was in the middle of a list goes on in
// the generation that it has.
func TestChangeWhileANeighbourhoodIsFolded(t *testing.T) { // B10
	for _, point := range []string{"adjacency.fold.read", "adjacency.fold.merged"} {
		for _, what := range changes {
			t.Run(point+"/"+what, func(t *testing.T) {
				x := newBesideBuild(t, what)
				x.must(x.build())
				update(t, x.db, func(c *client) {
					c.begin()
					for range 6 {
						c.rel("R", x.b, x.b)
					}
				})
				reader := begin(t, x.db, store.ReadCommitted).begin()
				cur, err := reader.g.Neighbours(bg, reader.after(), []uint64{x.b}, store.Out, nil)
				reader.must(err)
				var part store.Runs
				reader.must(cur.Next(bg, 2, &part))
				ctl := schedInstall(t)
				gate := ctl.Stop(point)
				wait, _ := later(func() error { x.db.Adjacency().Work(bg); return nil })
				gate.Wait()
				x.must(x.write())
				x.look(x.mustBe, true)
				gate.Release()
				x.must(wait())
				if x.db.Adjacency().Counters().Folds.Load() == 0 {
					t.Error("nothing was folded")
				}
				x.look(x.mustBe, true)
				if rest := reader.lent(cur, 100); len(rest) != 5 {
					t.Errorf("the reader goes on with %d relationships, want 5", len(rest))
				}
				cur.Close()
				reader.rollback()
				x.folded(what)
			})
		}
	}
}

// A transaction that changes more than a segment keeps gives it up, built or being built, and until it has ended nobody builds it.
func TestTooManyChangesOfOneTransaction(t *testing.T) { // B10
	for _, while := range []bool{false, true} {
		db := smallCache(t, adjacency.Options{TxCap: 10})
		a, b := seed(t, db)
		update(t, db, func(c *client) { c.begin(); c.rel("R", a, b) })
		w := begin(t, db, store.ReadCommitted).begin()
		many := func() {
			for range 20 {
				w.rel("R", a, b)
			}
		}
		if while {
			t.Run("while it is built", func(t *testing.T) {
				ctl := schedInstall(t)
				gate := ctl.Stop("adjacency.build.building")
				wait, _ := later(func() error { warm(t, db); return nil })
				gate.Wait()
				many()
				gate.Release()
				if err := wait(); err != nil {
					t.Fatal(err)
				}
			})
		} else {
			warm(t, db)
			many()
		}
		if n := db.Adjacency().Counters().Overflows.Load(); n == 0 {
			t.Error("nothing was given up")
		}
		built := db.Adjacency().Counters().Built.Load()
		warm(t, db)
		if n := db.Adjacency().Counters().Built.Load(); !while && n != built {
			t.Errorf("%d segments were built while the transaction runs", n-built)
		}
		w.sameBothWays(w.after(), []uint64{a, b})
		w.must(w.finish())
		w.must(w.commit())
		warm(t, db)
		c := begin(t, db, store.ReadCommitted).begin()
		c.sameBothWays(c.after(), []uint64{a, b})
		if n := c.stmt.Counters().HopsCached; n == 0 {
			t.Error("nothing is in memory after its end")
		}
		c.rollback()
		clean(t, db)
	}
}

// A build that fails leaves nothing behind; it is tried again when the horizon has moved.
func TestBuildThatFails(t *testing.T) { // B10
	db := smallCache(t, adjacency.Options{})
	a, b := seed(t, db)
	update(t, db, func(c *client) { c.begin(); c.rel("R", a, b) })
	c := begin(t, db, store.ReadCommitted).begin()
	ctx, cancel := context.WithCancel(bg)
	ctl := schedInstall(t)
	ctl.Call("adjacency.build.building", cancel)
	if err := c.g.(store.GraphCache).WarmGraphCache(ctx, c.stmt.View(c.cid), nil); err == nil {
		t.Error("the build went on")
	}
	ctl.Call("adjacency.build.building", func() {})
	n := db.Adjacency().Counters()
	if n.Built.Load() != 0 || n.BuildFailed.Load() != 1 {
		t.Errorf("%d built, %d failed", n.Built.Load(), n.BuildFailed.Load())
	}
	c.rel("R", a, b)
	c.sameBothWays(c.after(), []uint64{a, b})
	c.must(c.finish())
	c.must(c.commit())
	warm(t, db)
	if n.Built.Load() != 2 {
		t.Errorf("%d built afterwards, want 2", n.Built.Load())
	}
}

// The 32nd reader that would have liked a segment has it built, in the background: none of them waits for it.
func TestReadersHaveNeighbourhoodsBuilt(t *testing.T) { // B10
	db := smallCache(t, adjacency.Options{})
	a, b := seed(t, db)
	update(t, db, func(c *client) { c.begin(); c.rel("R", a, b) })
	for i := range 40 {
		c := begin(t, db, store.ReadCommitted).begin()
		c.expanded(c.after(), []uint64{a}, store.Out, nil, 9)
		n := c.stmt.Counters()
		if cached := i >= 32; cached != (n.HopsCached == 1) || cached == (n.HopsIndex == 1) {
			t.Errorf("reader %d: %d lists from memory, %d from the index", i, n.HopsCached, n.HopsIndex)
		}
		if n := db.Adjacency().Counters().Built.Load(); (n > 0) != (i >= 32) {
			t.Errorf("after reader %d, %d are built", i, n)
		}
		c.rollback()
		if i == 31 {
			db.Adjacency().Work(bg)
		}
	}
}

// Above the limit of memory what was read the longest time ago goes, and comes again only when the horizon has moved; the sum of what is accounted
// stays near the limit throughout, and what is not there is read from the indexes.
func TestMemoryOfNeighbourhoodsIsBounded(t *testing.T) { // B10
	opt := options(vfs.NewMem())
	opt.GraphCacheBytes = 96 << 10
	db, err := engine.Open(bg, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer closeDB(t, db)
	update(t, db, func(x *client) { x.must(x.tx.CreateGraph(bg, "graph")) })
	const labels, each, deg = 12, 100, 10
	var ids []uint64
	update(t, db, func(c *client) {
		c.begin()
		for l := range labels {
			var part []uint64
			for range each {
				part = append(part, c.node([]string{fmt.Sprintf("L%d", l)}))
			}
			for i := range each * deg {
				c.rel("R", part[i%each], part[i*7%each])
			}
			ids = append(ids, part...)
		}
	})
	for round := range 3 {
		for l := range labels {
			c := begin(t, db, store.ReadCommitted).begin()
			for range 2 {
				c.sameBothWays(c.after(), ids[l*each:][:each])
				db.Adjacency().Work(bg)
				if used, limit := db.Adjacency().Bytes(); used > limit*11/10+1<<20 || used < 0 {
					t.Fatalf("round %d: %d bytes of %d", round, used, limit)
				}
			}
			if n := c.stmt.Counters(); l == 0 && round == 0 && n.HopsCached == 0 {
				t.Error("nothing was in memory")
			}
			c.rollback()
		}
	}
	n := db.Adjacency().Counters()
	if n.Evictions.Load() == 0 || n.Built.Load() > 2*labels+2 {
		t.Errorf("%d evictions, %d built for %d segments: they come again although the horizon has not moved", n.Evictions.Load(), n.Built.Load(), 2*labels)
	}
	used, _ := db.Adjacency().Bytes()
	z := db.Adjacency().Sizes()
	if z.Segments == 0 || z.Bytes != used {
		t.Errorf("%+v", z)
	}
	built := n.Built.Load()
	update(t, db, func(c *client) { c.begin(); c.node([]string{"N"}) })
	for range 2 {
		c := begin(t, db, store.ReadCommitted).begin()
		c.sameBothWays(c.after(), ids[:each])
		c.rollback()
		db.Adjacency().Work(bg)
	}
	if n.Built.Load() == built {
		t.Error("nothing is built after the horizon has moved")
	}
	db.Adjacency().EvictAll()
	if z := db.Adjacency().Sizes(); z.Bytes != z.Roots+z.Directory || z.Directory > 16<<10 {
		t.Errorf("without a segment: %+v", z)
	}
}

// Sessions write and read side by side while the background builds, folds and evicts under them: what each sees in memory is what it sees in the
// indexes.
func TestNeighbourhoodsUnderManySessions(t *testing.T) { // B10
	total := 2 * time.Second
	if s, err := strconv.Atoi(os.Getenv("HEDGEROW_STRESS_SECONDS")); err == nil {
		total = time.Duration(s) * time.Second
	}
	o := options(vfs.NewMem())
	o.Steps, o.GraphCacheBytes = false, 256<<10
	o.GraphCache = adjacency.Options{FoldMin: 8, HubEdges: 24, ChunkEdges: 6, TxCap: 40}
	db, err := engine.Open(bg, o)
	if err != nil {
		t.Fatal(err)
	}
	defer closeDB(t, db)
	update(t, db, func(x *client) { x.must(x.tx.CreateGraph(bg, "graph")) })
	var ids []uint64
	update(t, db, func(c *client) {
		c.begin()
		ids = tangle(t, c, rand.New(rand.NewPCG(7, 7)), 40, 200)
	})
	end := time.Now().Add(total)
	var lists, changed, fromIndex atomic.Int64
	n := db.Adjacency().Counters()
	// On a busy machine the background may come late: it goes on until everything has happened.
	more := func() bool {
		late := time.Since(end)
		return late < 0 || late < 30*time.Second && (lists.Load() == 0 || changed.Load() == 0 || n.Folds.Load() == 0)
	}
	var wg sync.WaitGroup
	for w := range 5 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 6))
			s := &soft{TB: t}
			for more() && !t.Failed() {
				iso := store.ReadCommitted
				if rng.IntN(2) == 0 {
					iso = store.RepeatableRead
				}
				c := begin(s, db, iso)
				err := s.try(func() {
					for range 1 + rng.IntN(4) {
						c.begin()
						a, b := ids[rng.IntN(5)], ids[rng.IntN(len(ids))]
						switch rng.IntN(6) {
						case 0, 1:
							for range 1 + rng.IntN(5) {
								c.rel(fmt.Sprintf("T%d", rng.IntN(3)), a, b)
							}
						case 2:
							if all := c.expanded(c.stmt.View(c.cid), []uint64{a}, store.Both, nil, 1024); len(all) > 0 {
								c.must(c.g.Delete(bg, c.cid, schema.Edge, []uint64{all[rng.IntN(len(all))].rel}, nil, false))
							}
						}
						c.sameBothWays(c.after(), []uint64{a, b, ids[rng.IntN(len(ids))]})
						c.sameBothWays(c.stmt.View(c.cid), []uint64{a, b})
						n := c.stmt.Counters()
						lists.Add(n.HopsCached)
						changed.Add(n.HopsDirty)
						fromIndex.Add(n.HopsIndex)
						c.must(c.finish())
					}
					if rng.IntN(4) > 0 {
						c.must(c.commit())
					}
				})
				c.end()
				_ = c.tx.Rollback()
				if err != nil {
					switch dberr.As(err).Code {
					case dberr.Deadlock, dberr.SerializationFailure:
						continue
					}
					t.Errorf("session %d: %v", w, err)
				}
			}
		})
	}
	wg.Go(func() {
		for more() && !t.Failed() {
			time.Sleep(50 * time.Millisecond)
			db.Adjacency().EvictAll()
		}
	})
	wg.Wait()
	t.Logf("%d lists in memory, %d changed, %d from the index; built %d, folds %d, overflows %d", lists.Load(), changed.Load(), fromIndex.Load(),
		n.Built.Load(), n.Folds.Load(), n.Overflows.Load())
	if lists.Load() == 0 || changed.Load() == 0 || n.Folds.Load() == 0 {
		t.Error("something never happened")
	}
	clean(t, db)
}

// The check compares what is in memory, and what a build would put there, with the indexes, and says where they differ; so does the procedure's look
// at a sample, which throws away what differs.
func TestDifferencesOfNeighbourhoodsAreFound(t *testing.T) { // B10
	forget := false
	db := smallCache(t, adjacency.Options{Forget: func() bool { return forget }})
	a, b := seed(t, db)
	update(t, db, func(c *client) {
		c.begin()
		c.rel("R", a, b)
		c.rel("R", b, a)
	})
	warm(t, db)
	verify := func() (lists, differences int64) {
		c := begin(t, db, store.ReadCommitted).begin()
		defer c.rollback()
		lists, differences, err := c.g.(store.GraphCache).VerifyGraphCache(bg, c.stmt.View(c.cid), 10)
		c.must(err)
		return lists, differences
	}
	if n, d := verify(); n != 4 || d != 0 {
		t.Errorf("%d lists, %d differences", n, d)
	}
	clean(t, db)
	// A change that a writer forgets to tell.
	update(t, db, func(c *client) {
		c.begin()
		forget = true
		c.rel("R", a, b)
		forget = false
	})
	r, err := db.Check(bg, check.Options{})
	if err != nil || r.NumFaults != 2 {
		t.Errorf("the check finds %d faults, %v", r.NumFaults, err)
	}
	if _, d := verify(); d != 2 {
		t.Errorf("%d differences, want one for each end", d)
	}
	if _, d := verify(); d != 0 {
		t.Errorf("%d differences afterwards", d)
	}
	clean(t, db)
	if n := db.Adjacency().Counters(); n.Differences.Load() != 2 {
		t.Errorf("%d differences are counted", n.Differences.Load())
	}
}

// A probe at a fresh snapshot puts a relationship that was made after the statement began into its refresh set: every later read of the statement
// has it, in memory as in the index (rules A9), and still has it when another one deletes it.
func TestRefreshSetInNeighbourhoods(t *testing.T) { // A9, B10
	db := smallCache(t, adjacency.Options{})
	a, b := seed(t, db)
	update(t, db, func(c *client) { c.begin(); c.rel("R", a, b) })
	warm(t, db)
	c := begin(t, db, store.ReadCommitted).begin()
	var made uint64
	update(t, db, func(o *client) { o.begin(); made = o.rel("R", a, b) })
	count := func(v store.View, want int) {
		t.Helper()
		if got := c.expanded(v, []uint64{a}, store.Out, nil, 9); len(got) != want {
			t.Errorf("%d relationships, want %d", len(got), want)
		}
	}
	count(c.after(), 1)
	fresh, err := c.stmt.Fresh(bg, c.cid)
	c.must(err)
	count(fresh, 2)
	count(c.after(), 2)
	c.sameBothWays(c.after(), []uint64{a, b})
	update(t, db, func(o *client) {
		o.begin()
		o.must(o.g.Delete(bg, o.cid, schema.Edge, []uint64{made}, nil, false))
	})
	count(c.after(), 2)
	c.sameBothWays(c.after(), []uint64{a, b})
	if n := c.stmt.Counters().HopsCached; n == 0 {
		t.Error("nothing was in memory")
	}
	c.rollback()
	clean(t, db)
}

// A type that is dropped, and made again under its name, begins anew; what was in memory of it is given back.
func TestDroppedTypesLeaveNothingInMemory(t *testing.T) { // B10
	db := smallCache(t, adjacency.Options{})
	a, b := seed(t, db)
	var first adjacency.Sizes
	for round := range 5 {
		var rel uint64
		update(t, db, func(c *client) {
			c.begin()
			rel = c.rel("R", a, b, "w", round)
		})
		warm(t, db)
		c := begin(t, db, store.ReadCommitted).begin()
		c.sameBothWays(c.after(), []uint64{a, b})
		if got := c.expanded(c.after(), []uint64{a}, store.Out, nil, 9); len(got) != 1 || got[0].rel != rel {
			t.Errorf("round %d finds %v", round, got)
		}
		c.get(c.after(), schema.Edge, rel, "w")
		if n := c.stmt.Counters(); n.HopsCached == 0 {
			t.Errorf("round %d: nothing was in memory", round)
		}
		c.rollback()
		update(t, db, func(c *client) {
			c.begin()
			c.must(c.g.Delete(bg, c.cid, schema.Edge, []uint64{rel}, nil, false))
		})
		old := begin(t, db, store.RepeatableRead).begin()
		drop := begin(t, db, store.ReadCommitted)
		drop.must(drop.tx.DropLabel(bg, "graph", "R", schema.Edge))
		if round%2 == 0 {
			drop.rollback()
			drop = begin(t, db, store.ReadCommitted)
			drop.must(drop.tx.DropLabel(bg, "graph", "R", schema.Edge))
		}
		drop.must(drop.commit())
		old.rollback()
		db.Adjacency().EvictAll()
		z := db.Adjacency().Sizes()
		if z.Segments != 0 || round > 0 && z.Bytes > first.Bytes {
			t.Errorf("round %d: %+v, after the first %+v", round, z, first)
		}
		if round == 0 {
			first = z
		}
	}
	clean(t, db)
}
