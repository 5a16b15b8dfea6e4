package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// later runs f on another goroutine and returns its error when asked.
func later(f func() error) (wait func() error, done func() bool) {
	ch := make(chan error, 1)
	go func() { ch <- f() }()
	return func() error {
			select {
			case err := <-ch:
				ch <- err
				return err
			case <-time.After(20 * time.Second):
				panic("a session never came back")
			}
		}, func() bool {
			select {
			case err := <-ch:
				ch <- err
				return true
			case <-time.After(30 * time.Millisecond):
				return false
			}
		}
}

func wantCode(t *testing.T, err error, code dberr.Code) {
	t.Helper()
	if !dberr.Is(err, code) {
		t.Fatalf("got %v, want %v", err, code)
	}
}

func seed(t *testing.T, db *engine.DB) (a, b uint64) {
	update(t, db, func(c *client) {
		c.begin()
		a, b = c.node([]string{"A"}, "x", 1), c.node([]string{"A"}, "x", 2)
	})
	return a, b
}

func TestReadCommittedSeesCommitsBetweenStatements(t *testing.T) { // A8
	db := fresh(t)
	a, _ := seed(t, db)
	r := begin(t, db, store.ReadCommitted)
	rr := begin(t, db, store.RepeatableRead)
	r.begin()
	rr.begin()
	update(t, db, func(c *client) { c.begin(); c.must(c.set(schema.Vertex, a, "x", 10)) })
	for _, c := range []*client{r, rr} {
		if got := c.get(c.after(), schema.Vertex, a, "x"); got != "1" {
			t.Errorf("same statement: %s", got)
		}
	}
	r.begin()
	rr.begin()
	if got := r.get(r.after(), schema.Vertex, a, "x"); got != "10" {
		t.Errorf("read committed, next statement: %s", got)
	}
	if got := rr.get(rr.after(), schema.Vertex, a, "x"); got != "1" {
		t.Errorf("repeatable read, next statement: %s", got)
	}
	wantCode(t, rr.set(schema.Vertex, a, "x", 11), dberr.SerializationFailure)
	r.rollback()
	rr.rollback()
	clean(t, db)
}

func TestLostUpdateIsNot(t *testing.T) { // A9
	db := fresh(t)
	a, _ := seed(t, db)
	one, two := begin(t, db, store.ReadCommitted), begin(t, db, store.ReadCommitted)
	one.begin()
	two.begin()
	one.must(one.set(schema.Vertex, a, "x", 100))
	changed, gone := make([]bool, 1), make([]bool, 1)
	hints := make([]store.Hint, 1)
	wait, done := later(func() error {
		return two.g.Lock(bg, two.stmt.View(two.cid), schema.Vertex, []uint64{a}, hints, changed, gone)
	})
	if done() {
		t.Fatal("did not wait")
	}
	one.must(one.commit())
	two.must(wait())
	if !changed[0] || gone[0] {
		t.Fatalf("changed %v gone %v", changed, gone)
	}
	if got := two.get(two.stmt.View(two.cid), schema.Vertex, a, "x"); got != "100" {
		t.Errorf("after the lock: %s", got)
	}
	if got := two.scan(two.stmt.View(two.cid), "A"); len(got) != 2 {
		t.Errorf("%d versions count", len(got))
	}
	two.must(two.g.SetProps(bg, two.cid, schema.Vertex, []uint64{a}, hints, []store.PropRow{two.props("y", 5)}))
	two.must(two.finish())
	two.must(two.commit())
	update(t, db, func(c *client) {
		c.begin()
		if x, y := c.get(c.after(), schema.Vertex, a, "x"), c.get(c.after(), schema.Vertex, a, "y"); x != "100" || y != "5" {
			t.Errorf("x %s y %s", x, y)
		}
	})
	clean(t, db)
}

func TestLockOfDeletedRowSaysGone(t *testing.T) { // A9
	db := fresh(t)
	a, b := seed(t, db)
	one, two := begin(t, db, store.ReadCommitted), begin(t, db, store.ReadCommitted)
	one.begin()
	two.begin()
	one.must(one.g.Delete(bg, one.cid, schema.Vertex, []uint64{a}, nil, false))
	changed, gone := make([]bool, 3), make([]bool, 3)
	wait, done := later(func() error {
		return two.g.Lock(bg, two.stmt.View(two.cid), schema.Vertex, []uint64{b, a, a}, nil, changed, gone)
	})
	if done() {
		t.Fatal("did not wait")
	}
	one.must(one.finish())
	one.must(one.commit())
	two.must(wait())
	if !slices.Equal(gone, []bool{false, true, true}) {
		t.Errorf("gone %v", gone)
	}
	two.rollback()
}

func TestSavepoints(t *testing.T) {
	db := fresh(t)
	a, _ := seed(t, db)
	c := begin(t, db, store.ReadCommitted).begin()
	c.must(c.set(schema.Vertex, a, "x", 2))
	c.must(c.finish())
	c.must(c.tx.Savepoint("s"))
	c.begin()
	c.must(c.set(schema.Vertex, a, "x", 3))
	n := c.node([]string{"New"}, "x", 1)
	c.rel("R", a, n)
	c.must(c.finish())
	c.must(c.tx.RollbackTo("s"))
	c.begin()
	if got := c.get(c.after(), schema.Vertex, a, "x"); got != "2" {
		t.Errorf("after rollback: %s", got)
	}
	if got := c.expand(c.after(), a, store.Both); len(got) != 0 {
		t.Errorf("relationships left: %x", got)
	}
	for _, l := range c.g.Labels(c.after()) {
		if l.Name == "New" {
			t.Error("label of a rolled back use is shown")
		}
	}
	if n := c.g.NodeCount(schema.NoLabel); n != 2 {
		t.Errorf("counted %v", n)
	}
	c.must(c.finish())
	c.must(c.tx.Release("s"))
	c.must(c.commit())
	none := begin(t, db, store.ReadCommitted)
	wantCode(t, none.tx.Release("s"), dberr.InvalidSavepoint)
	none.rollback()
	clean(t, db)
}

func TestUniqueConstraintRace(t *testing.T) {
	db := fresh(t)
	update(t, db, func(c *client) {
		c.must(c.tx.CreateConstraint(bg, "graph", store.ConstraintDef{Name: "uq", Label: "P", Keys: []string{"email"}, Kind: schema.Unique}))
	})
	for _, commit := range []bool{true, false} {
		one, two := begin(t, db, store.ReadCommitted).begin(), begin(t, db, store.ReadCommitted).begin()
		key := map[bool]string{true: "a@x", false: "b@x"}[commit]
		one.node([]string{"P"}, "email", key)
		wait, done := later(func() error {
			_, err := two.tryNode([]string{"P", "Q"}, "email", key)
			return err
		})
		if done() {
			t.Fatal("did not wait")
		}
		if commit {
			one.must(one.commit())
			err := wait()
			wantCode(t, err, dberr.UniqueViolation)
			if d := dberr.As(err); d.Constraint != "uq" || !strings.Contains(d.Detail, "(email)=('a@x')") {
				t.Errorf("constraint %q detail %q", d.Constraint, d.Detail)
			}
			two.rollback()
			continue
		}
		one.rollback()
		two.must(wait())
		two.must(two.commit())
	}
	update(t, db, func(c *client) { // a deleted key is free again, also for its own transaction
		c.begin()
		ids := c.seek(c.after(), "uq", "a@x")
		if len(ids) != 1 {
			t.Fatalf("found %x", ids)
		}
		c.must(c.g.Delete(bg, c.cid, schema.Vertex, ids, nil, false))
		c.node([]string{"P"}, "email", "a@x")
		c.must(c.tx.Savepoint("s"))
		_, err := c.tryNode([]string{"P"}, "email", "a@x")
		wantCode(t, err, dberr.UniqueViolation)
		c.rollback()
		c.tx, err = db.Store().Begin(bg, store.TxOptions{})
		c.must(err)
	})
	clean(t, db)
}

func TestUniqueProbeWaitsOnlyForTheKey(t *testing.T) { // one probe a row and constraint
	db := fresh(t)
	update(t, db, func(c *client) {
		c.must(c.tx.CreateConstraint(bg, "graph", store.ConstraintDef{Name: "uq", Label: "P", Keys: []string{"id"}, Kind: schema.Unique}))
	})
	one := begin(t, db, store.ReadCommitted).begin()
	one.node([]string{"P"}, "id", 1)
	two := begin(t, db, store.ReadCommitted).begin()
	two.node([]string{"P"}, "id", 2)
	if n := two.stmt.Counters().UniqueProbes; n != 1 {
		t.Errorf("%d probes", n)
	}
	if n := two.stmt.Counters(); n.IDProbes != 0 || n.SeqScans != 0 {
		t.Errorf("looked for an id: %+v", *n)
	}
	two.must(two.commit())
	one.must(one.commit())
}

// Edge insert and vertex delete in both orders (B3).

func TestEdgeInsertThenVertexDelete(t *testing.T) {
	for _, commit := range []bool{true, false} {
		db := fresh(t)
		a, b := seed(t, db)
		one, two := begin(t, db, store.ReadCommitted).begin(), begin(t, db, store.ReadCommitted).begin()
		one.rel("R", a, b)
		wait, done := later(func() error {
			return two.g.Delete(bg, two.cid, schema.Vertex, []uint64{b}, nil, false)
		})
		if done() {
			t.Fatal("the delete did not wait for the edge's lock")
		}
		if !commit {
			one.rollback()
			two.must(wait())
			two.must(two.finish())
			two.must(two.commit())
			clean(t, db)
			continue
		}
		one.must(one.finish())
		one.must(one.commit())
		two.must(wait())
		wantCode(t, two.finish(), dberr.ConnectedNode)
		two.rollback()
		clean(t, db)
	}
}

func TestEdgeInsertThenDetachDelete(t *testing.T) {
	db := fresh(t)
	a, b := seed(t, db)
	one, two := begin(t, db, store.ReadCommitted).begin(), begin(t, db, store.ReadCommitted).begin()
	one.rel("R", a, b)
	wait, _ := later(func() error { return two.g.Delete(bg, two.cid, schema.Vertex, []uint64{b}, nil, true) })
	time.Sleep(20 * time.Millisecond)
	one.must(one.finish())
	one.must(one.commit())
	two.must(wait())
	two.must(two.finish())
	if n := two.stmt; n != nil {
		t.Error("statement left open")
	}
	two.must(two.commit())
	update(t, db, func(c *client) {
		c.begin()
		if got := c.expand(c.after(), a, store.Both); len(got) != 0 {
			t.Errorf("edge survived: %x", got)
		}
	})
	clean(t, db)
}

func TestVertexDeleteThenEdgeInsert(t *testing.T) {
	for _, commit := range []bool{true, false} {
		db := fresh(t)
		a, b := seed(t, db)
		one, two := begin(t, db, store.ReadCommitted).begin(), begin(t, db, store.ReadCommitted).begin()
		one.must(one.g.Delete(bg, one.cid, schema.Vertex, []uint64{b}, nil, false))
		wait, done := later(func() error {
			_, err := two.tryRel("R", a, b)
			return err
		})
		if done() {
			t.Fatal("the insert did not wait for the delete")
		}
		if commit {
			one.must(one.finish())
			one.must(one.commit())
			wantCode(t, wait(), dberr.SerializationFailure)
			two.rollback()
		} else {
			one.rollback()
			two.must(wait())
			two.must(two.finish())
			two.must(two.commit())
		}
		clean(t, db)
	}
}

// The vertex moves to another page between the probe and the lock: the insert must follow the chain to its end.
func TestEdgeInsertFollowsAVertexThatMoved(t *testing.T) { // B3
	db := fresh(t)
	a, b := seed(t, db)
	ctl := sched.Install(t)
	two := begin(t, db, store.ReadCommitted).begin()
	typ := two.typ("R")
	gate := ctl.Stop("local.edge.probed")
	wait, _ := later(func() error {
		var out store.Hits
		return two.g.CreateRels(bg, two.cid, typ, []uint64{a}, []uint64{b}, nil, &out)
	})
	gate.Wait()
	update(t, db, func(c *client) { // fill the page, then grow a and b beyond it
		c.begin()
		for range 100 {
			c.node([]string{"A"}, "pad", strings.Repeat("x", 500))
		}
		c.must(c.set(schema.Vertex, a, "pad", strings.Repeat("y", 1500)))
		c.must(c.set(schema.Vertex, b, "pad", strings.Repeat("y", 1500)))
	})
	one := begin(t, db, store.ReadCommitted).begin()
	one.must(one.g.Delete(bg, one.cid, schema.Vertex, []uint64{b}, nil, false))
	gate.Release()
	time.Sleep(30 * time.Millisecond)
	one.must(one.finish())
	one.must(one.commit())
	wantCode(t, wait(), dberr.SerializationFailure)
	two.rollback()
	clean(t, db)
}

func TestDeletedVertexUnderRepeatableRead(t *testing.T) { // B3
	db := fresh(t)
	a, b := seed(t, db)
	rr := begin(t, db, store.RepeatableRead).begin()
	rr.end()
	update(t, db, func(c *client) { c.begin(); c.rel("R", a, b) })
	rr.begin()
	rr.must(rr.g.Delete(bg, rr.cid, schema.Vertex, []uint64{b}, nil, true))
	wantCode(t, rr.finish(), dberr.SerializationFailure)
	rr.rollback()
	clean(t, db)
}

func TestFirstUseOfALabelByTwoSessions(t *testing.T) { // B7
	db := fresh(t)
	ctl := sched.Install(t)
	one, two := begin(t, db, store.ReadCommitted).begin(), begin(t, db, store.ReadCommitted).begin()
	g1, g2 := ctl.Stop("catalog.label.missing"), ctl.Stop("catalog.label.missing")
	var la, lb schema.LabelID
	w1, _ := later(func() (err error) { la, err = one.g.EnsureLabel(bg, "Fresh", schema.Vertex); return err })
	g1.Wait()
	w2, _ := later(func() (err error) { lb, err = two.g.EnsureLabel(bg, "Fresh", schema.Vertex); return err })
	g2.Wait()
	g1.Release()
	g2.Release()
	one.must(w1())
	two.must(w2())
	if la != lb || la == 0 {
		t.Fatalf("labels %d and %d", la, lb)
	}
	x, y := one.node([]string{"Fresh"}), two.node([]string{"Fresh"})
	shown := func() int {
		n := 0
		update(t, db, func(c *client) { c.begin(); n = len(c.g.Labels(c.after())) })
		return n
	}
	if n := shown(); n != 0 {
		t.Errorf("%d labels shown before a commit", n)
	}
	one.rollback()
	if n := shown(); n != 0 {
		t.Errorf("%d labels shown after a rollback", n)
	}
	two.must(two.commit())
	if n := shown(); n != 1 {
		t.Errorf("%d labels shown after the commit", n)
	}
	update(t, db, func(c *client) {
		c.begin()
		if got := c.scan(c.after(), "Fresh"); !slices.Equal(got, []uint64{y}) {
			t.Errorf("found %x, made %x and %x", got, x, y)
		}
	})
	clean(t, db)
}

func TestMergeLocks(t *testing.T) { // B14
	db := fresh(t)
	one, two := begin(t, db, store.ReadCommitted).begin(), begin(t, db, store.ReadCommitted).begin()
	one.must(one.g.LockKeys(bg, []uint64{9, 3, 3}))
	x := one.node([]string{"M"}, "k", 1)
	wait, done := later(func() error { return two.g.LockKeys(bg, []uint64{3}) })
	if done() {
		t.Fatal("did not wait")
	}
	one.must(one.commit())
	two.must(wait())
	v, err := two.stmt.Fresh(bg, two.cid)
	two.must(err)
	if got := two.scan(v, "M"); !slices.Equal(got, []uint64{x}) {
		t.Fatalf("the probe found %x", got)
	}
	// What the probe found is seen by every later read of the statement, once.
	if got := two.scan(two.stmt.View(two.cid), "M"); !slices.Equal(got, []uint64{x}) {
		t.Errorf("later reads find %x", got)
	}
	two.must(two.set(schema.Vertex, x, "seen", true))
	two.must(two.finish())
	two.must(two.commit())
}

func TestTwoGraphsOfOneName(t *testing.T) {
	db := fresh(t)
	one, two := begin(t, db, store.ReadCommitted), begin(t, db, store.ReadCommitted)
	one.must(one.tx.CreateGraph(bg, "other"))
	wait, done := later(func() error { return two.tx.CreateGraph(bg, "other") })
	if done() {
		t.Fatal("did not wait")
	}
	one.must(one.commit())
	wantCode(t, wait(), dberr.DuplicateObject)
	two.rollback()
	one = begin(t, db, store.ReadCommitted)
	one.must(one.tx.DropGraph(bg, "other", true))
	one.must(one.tx.CreateGraph(bg, "other"))
	one.must(one.commit())
	clean(t, db)
}

// A row that a savepoint locked is free again after the rollback to it, and its version is the one before (B2, A6).
func TestSavepointRollbackOverALockedRow(t *testing.T) {
	db := fresh(t)
	a, _ := seed(t, db)
	one, two := begin(t, db, store.ReadCommitted).begin(), begin(t, db, store.ReadCommitted).begin()
	one.end()
	one.must(one.tx.Savepoint("s"))
	one.begin()
	changed, gone := make([]bool, 1), make([]bool, 1)
	one.must(one.g.Lock(bg, one.stmt.View(one.cid), schema.Vertex, []uint64{a}, nil, changed, gone))
	one.must(one.set(schema.Vertex, a, "x", 7))
	one.must(one.finish())
	wait, done := later(func() error {
		return two.g.Lock(bg, two.stmt.View(two.cid), schema.Vertex, []uint64{a}, nil, changed, gone)
	})
	if done() {
		t.Fatal("did not wait")
	}
	one.must(one.tx.RollbackTo("s"))
	two.must(wait())
	if changed[0] || gone[0] {
		t.Errorf("changed %v gone %v", changed, gone)
	}
	two.must(two.set(schema.Vertex, a, "x", 8))
	two.must(two.finish())
	two.must(two.commit())
	one.begin()
	if got := one.get(one.after(), schema.Vertex, a, "x"); got != "8" {
		t.Errorf("x is %s", got)
	}
	one.must(one.set(schema.Vertex, a, "x", 9))
	one.must(one.finish())
	one.must(one.commit())
	clean(t, db)
}

// The same under a transaction lock that a savepoint's write has covered: the outer lock must come back.
func TestSavepointRollbackKeepsTheOuterLock(t *testing.T) {
	db := fresh(t)
	a, _ := seed(t, db)
	one, two := begin(t, db, store.ReadCommitted).begin(), begin(t, db, store.ReadCommitted).begin()
	changed, gone := make([]bool, 1), make([]bool, 1)
	one.must(one.g.Lock(bg, one.stmt.View(one.cid), schema.Vertex, []uint64{a}, nil, changed, gone))
	one.must(one.finish())
	one.must(one.tx.Savepoint("s"))
	one.begin()
	one.must(one.set(schema.Vertex, a, "x", 7))
	one.must(one.finish())
	one.must(one.tx.RollbackTo("s"))
	wait, done := later(func() error { return two.set(schema.Vertex, a, "x", 8) })
	if done() {
		t.Fatal("the outer lock was lost")
	}
	one.must(one.commit())
	two.must(wait())
	two.must(two.finish())
	two.must(two.commit())
	clean(t, db)
}

// An edge is added while its end moves to another page in a transaction that is still running: KEY SHARE need not wait for it (B2), and a
// rollback of the move leaves the edge with its end.
func TestEdgeInsertBesideAMove(t *testing.T) {
	for _, commit := range []bool{true, false} {
		db := fresh(t)
		a, b := seed(t, db)
		update(t, db, func(c *client) {
			c.begin()
			for range 100 {
				c.node([]string{"A"}, "pad", strings.Repeat("x", 500))
			}
		})
		one, two := begin(t, db, store.ReadCommitted).begin(), begin(t, db, store.ReadCommitted).begin()
		one.must(one.set(schema.Vertex, b, "pad", strings.Repeat("y", 1900)))
		two.rel("R", a, b)
		two.must(two.finish())
		two.must(two.commit())
		one.must(one.finish())
		if commit {
			one.must(one.commit())
		} else {
			one.rollback()
		}
		clean(t, db)
	}
}
