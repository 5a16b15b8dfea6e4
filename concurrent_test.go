package hedgerow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/sched"
)

// arena is a database that several goroutines use at once.
type arena struct {
	*testing.T
	*hedgerow.DB
	ctx context.Context
}

func newArena(t *testing.T) *arena { return newArenaFor(t, 2*time.Minute) }

// newArenaFor makes an arena whose statements end after some time, however they hang.
func newArenaFor(t *testing.T, limit time.Duration) *arena {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	db, err := hedgerow.Open(t.TempDir(), &hedgerow.Options{CacheBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	a := &arena{t, db, ctx}
	t.Cleanup(func() {
		faults, err := db.Check(ctx)
		if err != nil {
			t.Error(err)
		}
		for _, f := range faults {
			t.Error("fault:", f)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		cancel()
	})
	return a
}

func (a *arena) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

func (a *arena) exec(text string, p hedgerow.Params) {
	a.Helper()
	_, err := a.Exec(a.ctx, text, p)
	a.must(err)
}

// auto runs one statement in a transaction of its own, as a client does, without the retries of Exec.
func (a *arena) auto(text string, p hedgerow.Params) (hedgerow.Result, error) {
	rows, err := a.Query(a.ctx, text, p)
	if err != nil {
		return hedgerow.Result{}, err
	}
	for rows.Next() {
	}
	err = errors.Join(rows.Err(), rows.Close())
	return rows.Result(), err
}

type querier interface {
	Query(context.Context, string, hedgerow.Params) (*hedgerow.Rows, error)
}

func (a *arena) ints(q querier, text string, p hedgerow.Params) []int64 {
	a.Helper()
	rows, err := q.Query(a.ctx, text, p)
	a.must(err)
	out, err := hedgerow.Collect[int64](rows)
	a.must(err)
	return out
}

func (a *arena) int(q querier, text string, p hedgerow.Params) int64 {
	a.Helper()
	out := a.ints(q, text, p)
	if len(out) != 1 {
		a.Fatalf("%s: %d rows", text, len(out))
	}
	return out[0]
}

func (a *arena) begin(iso hedgerow.Isolation) *hedgerow.Tx {
	a.Helper()
	tx, err := a.Begin(a.ctx, hedgerow.TxOptions{Isolation: iso})
	a.must(err)
	return tx
}

func (a *arena) in(tx *hedgerow.Tx, text string, p hedgerow.Params) {
	a.Helper()
	_, err := tx.Exec(a.ctx, text, p)
	a.must(err)
}

func code(err error) string {
	var e *hedgerow.Error
	if errors.As(err, &e) {
		return e.SQLState
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func (a *arena) wants(err error, state string) {
	a.Helper()
	if code(err) != state {
		a.Fatalf("got %q (%v), want %s", code(err), err, state)
	}
}

// all runs f on n goroutines at once.
func all(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// later runs f beside the test; blocked reports that it still waits a moment later.
func later(f func() error) (wait func() error, blocked func() bool) {
	ch := make(chan error, 1)
	go func() { ch <- f() }()
	return func() error {
			select {
			case err := <-ch:
				ch <- err
				return err
			case <-time.After(30 * time.Second):
				return errors.New("it never came back")
			}
		}, func() bool {
			time.Sleep(40 * time.Millisecond)
			return len(ch) == 0
		}
}

func TestConcurrentIncrements(t *testing.T) { // A8, A9
	a := newArena(t)
	a.exec("CREATE CONSTRAINT FOR (n:C) REQUIRE n.k IS UNIQUE", nil)
	a.exec("CREATE (:C {k: 1, c: 0}), (:C {k: 2, c: 0}), (:Plain {k: 1, c: 0})", nil)
	const sessions, each = 16, 15
	all(sessions, func(int) {
		for range each {
			for _, text := range []string{"MATCH (n:C {k: 1}) SET n.c = n.c + 1", "MATCH (n:Plain) WHERE n.c >= 0 SET n.c = n.c + 1"} {
				if r, err := a.auto(text, nil); err != nil || r.PropertiesSet != 1 {
					a.Errorf("%s: %+v %v", text, r, err)
				}
			}
		}
	})
	var collisions atomic.Int64
	all(sessions, func(int) {
		for range each {
			for {
				tx := a.begin(hedgerow.RepeatableRead)
				_, err := tx.Exec(a.ctx, "MATCH (n:C {k: 2}) SET n.c = n.c + 1", nil)
				if err == nil {
					err = tx.Commit(a.ctx)
				}
				tx.Rollback()
				if err == nil {
					break
				}
				if !hedgerow.Retryable(err) {
					a.Errorf("increment: %v", err)
					return
				}
				collisions.Add(1)
			}
		}
	})
	for _, text := range []string{"MATCH (n:C {k: 1}) RETURN n.c", "MATCH (n:C {k: 2}) RETURN n.c", "MATCH (n:Plain) RETURN n.c"} {
		if got := a.int(a, text, nil); got != sessions*each {
			t.Errorf("%s: %d, want %d", text, got, sessions*each)
		}
	}
	t.Logf("%d collisions under repeatable read", collisions.Load())
}

func TestConcurrentMerge(t *testing.T) { // B14
	a := newArena(t)
	a.exec("CREATE CONSTRAINT FOR (n:Keyed) REQUIRE n.k IS UNIQUE", nil)
	a.exec("CREATE (:End {i: 1}), (:End {i: 2})", nil)
	const sessions, keys = 32, 6
	var created atomic.Int64
	all(sessions, func(i int) {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		for _, k := range rng.Perm(keys) {
			for _, text := range []string{
				"MERGE (n:Keyed {k: $k}) ON CREATE SET n.c = 1 ON MATCH SET n.c = n.c + 1",
				"MERGE (n:Loose {k: $k}) ON CREATE SET n.c = 1 ON MATCH SET n.c = n.c + 1",
				"MATCH (a:End {i: 1}), (b:End {i: 2}) MERGE (a)-[r:LINK {k: $k}]->(b) ON CREATE SET r.c = 1 ON MATCH SET r.c = r.c + 1",
				"MERGE (n:Left {k: $k})-[:PAIR]->(m:Right {k: $k}) ON CREATE SET n.c = 1 ON MATCH SET n.c = n.c + 1",
				"UNWIND [$k, $k + 100, $k] AS k MERGE (n:Many {k: k}) ON CREATE SET n.c = 1 ON MATCH SET n.c = n.c + 1",
			} {
				r, err := a.auto(text, hedgerow.Params{"k": k})
				for code(err) == "40P01" {
					r, err = a.auto(text, hedgerow.Params{"k": k})
				}
				if err != nil {
					a.Errorf("%s: %v", text, err)
				}
				created.Add(r.NodesCreated)
			}
		}
	})
	for _, label := range []string{"Keyed", "Loose", "Left", "Many"} {
		want := int64(keys)
		if label == "Many" {
			want *= 2
		}
		if got := a.int(a, "MATCH (n:"+label+") RETURN count(n)", nil); got != want {
			t.Errorf("%d nodes :%s, want %d", got, label, want)
		}
		for _, c := range a.ints(a, "MATCH (n:"+label+") WHERE n.k < 100 RETURN n.c", nil) {
			want := int64(sessions)
			if label == "Many" {
				want *= 2
			}
			if c != want {
				t.Errorf(":%s was merged %d times, want %d", label, c, want)
			}
		}
	}
	if got := a.int(a, "MATCH (:End)-[r:LINK]->(:End) RETURN count(r)", nil); got != keys {
		t.Errorf("%d relationships, want %d", got, keys)
	}
	if got := a.int(a, "MATCH (:End)-[r:LINK]->(:End) RETURN sum(r.c)", nil); got != keys*sessions {
		t.Errorf("relationships were merged %d times, want %d", got, keys*sessions)
	}
	if got := a.int(a, "MATCH (:Left)-[r:PAIR]->(:Right) RETURN count(r)", nil); got != keys {
		t.Errorf("%d pairs, want %d", got, keys)
	}
	if want := int64(keys * 6); created.Load() != want {
		t.Errorf("%d nodes reported as created, want %d", created.Load(), want)
	}
}

func TestConcurrentMergeUnderRepeatableRead(t *testing.T) { // B14: a lost race is 40001
	a := newArena(t)
	a.exec("CREATE CONSTRAINT FOR (n:Keyed) REQUIRE n.k IS UNIQUE", nil)
	a.exec("CREATE (:Other)", nil)
	for _, label := range []string{"Keyed", "Loose"} {
		one, two := a.begin(hedgerow.RepeatableRead), a.begin(hedgerow.RepeatableRead)
		a.int(one, "MATCH (n:Other) RETURN count(n)", nil)
		a.int(two, "MATCH (n:Other) RETURN count(n)", nil)
		a.in(one, "MERGE (n:"+label+" {k: 1})", nil)
		wait, blocked := later(func() error {
			_, err := two.Exec(a.ctx, "MERGE (n:"+label+" {k: 1})", nil)
			return err
		})
		if !blocked() {
			t.Errorf(":%s did not wait", label)
		}
		a.must(one.Commit(a.ctx))
		a.wants(wait(), "40001")
		two.Rollback()
		if got := a.int(a, "MATCH (n:"+label+") RETURN count(n)", nil); got != 1 {
			t.Errorf("%d nodes :%s", got, label)
		}
	}
}

// TestConcurrentMergeAgainstCreate: MERGE waits for a CREATE of its key, and then takes what is there.
func TestConcurrentMergeAgainstCreate(t *testing.T) { // B14
	a := newArena(t)
	a.exec("CREATE CONSTRAINT FOR (n:Keyed) REQUIRE n.k IS UNIQUE", nil)
	for i, commit := range []bool{true, false} {
		p := hedgerow.Params{"k": i}
		one := a.begin(hedgerow.ReadCommitted)
		a.in(one, "CREATE (:Keyed {k: $k, by: 'create'})", p)
		var r hedgerow.Result
		wait, blocked := later(func() (err error) {
			r, err = a.auto("MERGE (n:Keyed {k: $k}) ON CREATE SET n.by = 'merge' ON MATCH SET n.seen = true", p)
			return err
		})
		if !blocked() {
			t.Error("MERGE did not wait")
		}
		if commit {
			a.must(one.Commit(a.ctx))
		}
		one.Rollback()
		a.must(wait())
		if made := r.NodesCreated == 1; made == commit {
			t.Errorf("committed %v: %+v", commit, r)
		}
		if n := a.int(a, "MATCH (n:Keyed {k: $k}) RETURN count(n)", p); n != 1 {
			t.Errorf("%d nodes", n)
		}
	}
	// A node that has the key and is not what MERGE looks for is a duplicate all the same.
	_, err := a.auto("MERGE (n:Keyed {k: 0, by: 'somebody'})", nil)
	a.wants(err, "23505")
}

// TestConcurrentCreateInsideMerge: a CREATE slips in between MERGE's last look and its entry in the unique index. MERGE looks again and takes what is
// there; what it had begun to make is gone, from the counters too.
func TestConcurrentCreateInsideMerge(t *testing.T) { // A9, B14
	a := newArena(t)
	c := sched.Install(t)
	a.exec("CREATE CONSTRAINT FOR (n:Keyed) REQUIRE n.k IS UNIQUE", nil)
	a.exec("CREATE INDEX FOR (n:Keyed) ON (n.by)", nil)
	const text = "MERGE (n:Keyed {k: $k}) ON CREATE SET n.by = 'merge' ON MATCH SET n.seen = true RETURN n.by AS by"
	for i, open := range []bool{false, true} {
		p := hedgerow.Params{"k": i}
		gate := c.Stop("local.unique.make")
		tx := a.begin(hedgerow.ReadCommitted)
		a.in(tx, "CREATE (:Own {i: $k})", p)
		var r hedgerow.Result
		wait, _ := later(func() (err error) {
			r, err = tx.Exec(a.ctx, text, p)
			return err
		})
		gate.Wait()
		one := a.begin(hedgerow.ReadCommitted)
		a.in(one, "CREATE (:Keyed {k: $k, by: 'create'})", p)
		if !open {
			a.must(one.Commit(a.ctx))
		}
		gate.Release()
		if open { // MERGE waits for it at the index
			time.Sleep(20 * time.Millisecond)
			a.must(one.Commit(a.ctx))
		}
		a.must(wait())
		if r.NodesCreated != 0 || r.NodesDeleted != 0 || r.PropertiesSet != 1 {
			t.Errorf("%+v", r)
		}
		a.in(tx, "MATCH (n:Keyed {k: $k}) SET n.again = true", p)
		a.must(tx.Commit(a.ctx))
		if n := a.int(a, "MATCH (n:Keyed) WHERE n.k = $k AND n.by = 'create' AND n.seen AND n.again RETURN count(n)", p); n != 1 {
			t.Errorf("%d nodes", n)
		}
		if n := a.int(a, "MATCH (n:Keyed) RETURN count(n)", nil); n != int64(i+1) {
			t.Errorf("%d nodes by the counters", n)
		}
	}
	// Under repeatable read the lost race is an error that is worth another try.
	gate := c.Stop("local.unique.make")
	tx := a.begin(hedgerow.RepeatableRead)
	wait, _ := later(func() error {
		_, err := tx.Exec(a.ctx, text, hedgerow.Params{"k": 9})
		return err
	})
	gate.Wait()
	a.exec("CREATE (:Keyed {k: 9})", nil)
	gate.Release()
	a.wants(wait(), "40001")
	tx.Rollback()
}

// TestConcurrentCreateInsideLongMerge: the same for the second vertex of a pattern: what MERGE had made before it is taken back, and it looks again.
func TestConcurrentCreateInsideLongMerge(t *testing.T) { // A9, B14
	a := newArena(t)
	c := sched.Install(t)
	a.exec("CREATE CONSTRAINT FOR (n:Second) REQUIRE n.k IS UNIQUE", nil)
	const text = "MERGE (a:First {k: $k})-[r:R {w: 1}]->(b:Second:More {k: $k}) ON CREATE SET a.by = 'merge' ON MATCH SET b.seen = true RETURN a.by AS by"
	// merge runs MERGE until its entry of the second vertex, then what slips in, and then the rest.
	merge := func(tx *hedgerow.Tx, p hedgerow.Params, slip string) (r hedgerow.Result, err error) {
		first := c.Stop("local.unique.make")
		wait, _ := later(func() (err error) {
			r, err = tx.Exec(a.ctx, text, p)
			return err
		})
		first.Wait()
		second := c.Stop("local.unique.make")
		first.Release()
		second.Wait()
		a.exec(slip, p)
		second.Release()
		err = wait()
		return r, err
	}
	for k := range 3 {
		p := hedgerow.Params{"k": k}
		tx := a.begin(hedgerow.ReadCommitted)
		a.in(tx, "CREATE (:Own {k: $k})", p)
		r, err := merge(tx, p, "CREATE (:First {k: $k, by: 'create'})-[:R {w: 1}]->(:Second:More {k: $k})")
		a.must(err)
		if r.NodesCreated != 0 || r.NodesDeleted != 0 || r.RelationshipsCreated != 0 || r.LabelsAdded != 0 || r.PropertiesSet != 1 {
			t.Errorf("%+v", r)
		}
		if n := a.int(tx, "MATCH (n) RETURN count(n)", nil); n != int64(3*k+3) {
			t.Errorf("%d nodes by the counters, in the transaction", n)
		}
		a.must(tx.Commit(a.ctx))
		if n := a.int(a, "MATCH (a:First {k: $k, by: 'create'})-[r:R]->(b:Second {k: $k, seen: true}) RETURN count(*)", p); n != 1 {
			t.Errorf("%d patterns", n)
		}
		for text, want := range map[string]int{"MATCH (n) RETURN count(n)": 3*k + 3, "MATCH (n:First) RETURN count(n)": k + 1, "MATCH (n:Second) RETURN count(n)": k + 1, "MATCH ()-[r:R]->() RETURN count(r)": k + 1} {
			if n := a.int(a, text, nil); n != int64(want) {
				t.Errorf("%s: %d, want %d", text, n, want)
			}
		}
	}
	// The second vertex alone is no match: to make the pattern needs one more of it, which the constraint forbids.
	tx := a.begin(hedgerow.ReadCommitted)
	_, err := merge(tx, hedgerow.Params{"k": 9}, "CREATE (:Second {k: $k})")
	a.wants(err, "23505")
	tx.Rollback()
	if n := a.int(a, "MATCH (n {k: 9}) RETURN count(n)", nil); n != 1 {
		t.Errorf("%d nodes after a MERGE that failed", n)
	}
}

func TestConcurrentEdgesAndDeletes(t *testing.T) { // B3
	a := newArena(t)
	a.exec("CREATE CONSTRAINT FOR (n:V) REQUIRE n.i IS UNIQUE", nil)
	const nodes = 30
	a.exec("UNWIND range(1, $n) AS i CREATE (:V {i: i})", hedgerow.Params{"n": nodes})
	var edges, deletes, refused, collided atomic.Int64
	end := time.Now().Add(1200 * time.Millisecond)
	all(12, func(w int) {
		rng := rand.New(rand.NewPCG(uint64(w), 2))
		iso := []hedgerow.Isolation{hedgerow.ReadCommitted, hedgerow.RepeatableRead}[w%2]
		for time.Now().Before(end) {
			p := hedgerow.Params{"a": 1 + rng.IntN(nodes), "b": 1 + rng.IntN(nodes), "pad": strings.Repeat("x", rng.IntN(1500))}
			text := []string{
				"MATCH (a:V {i: $a}), (b:V {i: $b}) CREATE (a)-[:E]->(b)", "MATCH (a:V {i: $a}), (b:V {i: $b}) MERGE (a)-[:M]->(b)",
				"MATCH (a:V {i: $a}) DELETE a", "MATCH (a:V {i: $a}) DETACH DELETE a", "MERGE (a:V {i: $a})", "MATCH (a:V {i: $a}) SET a.pad = $pad",
			}[rng.IntN(6)]
			tx := a.begin(iso)
			r, err := tx.Exec(a.ctx, text, p)
			if err == nil && rng.IntN(8) > 0 {
				err = tx.Commit(a.ctx)
			}
			tx.Rollback()
			switch code(err) {
			case "":
				edges.Add(r.RelationshipsCreated)
				deletes.Add(r.NodesDeleted)
			case "23503":
				refused.Add(1)
			case "40001", "40P01", "P0002": // P0002: an end was deleted after it was matched
				collided.Add(1)
			default:
				a.Errorf("%s: %v", text, err)
			}
		}
	})
	all, tied := a.int(a, "MATCH ()-[r]->() RETURN count(r)", nil), a.int(a, "MATCH (x)-[r]->(y) WHERE x.i > 0 AND y.i > 0 RETURN count(r)", nil)
	if all != tied {
		t.Errorf("%d relationships, %d of them have both ends", all, tied)
	}
	t.Logf("%d relationships made, %d nodes deleted, %d deletes refused, %d collisions; %d relationships left", edges.Load(), deletes.Load(), refused.Load(), collided.Load(), all)
}

func TestConcurrentFirstUseOfALabel(t *testing.T) { // B7
	a := newArena(t)
	const sessions, rounds = 8, 6
	for round := range rounds {
		text := fmt.Sprintf("CREATE (:L%d {k%d: 1})-[:T%d]->(:M%d)", round, round, round, round)
		all(sessions, func(i int) {
			tx := a.begin(hedgerow.ReadCommitted)
			defer tx.Rollback()
			if _, err := tx.Exec(a.ctx, text, nil); err != nil {
				a.Errorf("%s: %v", text, err)
				return
			}
			if i%2 == 0 {
				if err := tx.Commit(a.ctx); err != nil {
					a.Error(err)
				}
			}
		})
		if got := a.int(a, fmt.Sprintf("MATCH (n:L%d)-[:T%d]->(:M%d) RETURN count(n.k%d)", round, round, round, round), nil); got != sessions/2 {
			t.Errorf("round %d: %d paths", round, got)
		}
	}
	tx := a.begin(hedgerow.ReadCommitted) // only ever used by a transaction that went back
	a.in(tx, "CREATE (:Never {never: 1})", nil)
	tx.Rollback()
	if got := a.int(a, "MATCH (n:Never) RETURN count(n)", nil); got != 0 {
		t.Errorf("%d nodes of a transaction that went back", got)
	}
	a.exec("CREATE (:Never {never: 2})", nil)
	if got := a.int(a, "MATCH (n:Never) RETURN n.never", nil); got != 2 {
		t.Errorf("never is %d", got)
	}
}

func TestConcurrentUniqueKeys(t *testing.T) {
	a := newArena(t)
	a.exec("CREATE CONSTRAINT FOR (n:U) REQUIRE n.k IS UNIQUE", nil)
	a.exec("UNWIND range(1, 8) AS i CREATE (:U {k: -i})", nil)
	const sessions, keys = 12, 10
	var made [keys]atomic.Int64
	all(sessions, func(i int) {
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		for _, k := range rng.Perm(keys) {
			text := "CREATE (:U {k: $k})"
			if i%3 == 0 {
				text = "MATCH (n:U {k: $old}) SET n.k = $k"
			}
			tx := a.begin(hedgerow.ReadCommitted)
			r, err := tx.Exec(a.ctx, text, hedgerow.Params{"k": k, "old": -1 - rng.IntN(8)})
			if err == nil && r.Changed() && rng.IntN(3) > 0 {
				if err = tx.Commit(a.ctx); err == nil {
					made[k].Add(1)
				}
			}
			tx.Rollback()
			if c := code(err); c != "" && c != "23505" && c != "40P01" {
				a.Errorf("%s: %v", text, err)
			}
		}
	})
	for k := range keys {
		if got := a.int(a, "MATCH (n:U) WHERE n.k = $k RETURN count(n)", hedgerow.Params{"k": k}); got != made[k].Load() || got > 1 {
			t.Errorf("key %d is there %d times and was committed %d times", k, got, made[k].Load())
		}
	}
}

func TestConcurrentDeadlock(t *testing.T) {
	a := newArena(t)
	a.exec("CREATE (:D {i: 1, c: 0}), (:D {i: 2, c: 0}), (:D {i: 3, c: 0})", nil)
	set := func(tx *hedgerow.Tx, i int) error {
		_, err := tx.Exec(a.ctx, "MATCH (n:D {i: $i}) SET n.c = n.c + 1", hedgerow.Params{"i": i})
		return err
	}
	var txs [3]*hedgerow.Tx
	for i := range txs {
		txs[i] = a.begin(hedgerow.ReadCommitted)
		a.must(set(txs[i], i+1))
	}
	var victims atomic.Int64
	all(3, func(i int) {
		err := set(txs[i], (i+1)%3+1)
		if err == nil {
			err = txs[i].Commit(a.ctx)
		}
		if code(err) == "40P01" {
			victims.Add(1)
		} else if err != nil {
			a.Error(err)
		}
		txs[i].Rollback()
	})
	if victims.Load() != 1 {
		t.Errorf("%d victims", victims.Load())
	}
	if got := a.int(a, "MATCH (n:D) RETURN sum(n.c)", nil); got != 4 {
		t.Errorf("the others made %d changes, want 4", got)
	}
}

// TestConcurrentAnomalies says what each isolation level allows.
func TestConcurrentAnomalies(t *testing.T) { // A8
	a := newArena(t)
	for _, iso := range []hedgerow.Isolation{hedgerow.ReadCommitted, hedgerow.RepeatableRead} {
		rr := iso == hedgerow.RepeatableRead
		a.exec("MATCH (n) DETACH DELETE n", nil)
		a.exec("CREATE (:X {i: 1, v: 10}), (:X {i: 2, v: 10})", nil)
		read := func(tx *hedgerow.Tx, i int) int64 {
			a.Helper()
			return a.int(tx, "MATCH (n:X {i: $i}) RETURN n.v", hedgerow.Params{"i": i})
		}
		// Nobody reads what is not committed, or what a transaction overwrote later.
		one, two := a.begin(iso), a.begin(iso)
		a.in(one, "MATCH (n:X {i: 1}) SET n.v = 11", nil)
		if got := read(two, 1); got != 10 {
			t.Errorf("dirty read: %d", got)
		}
		a.in(one, "MATCH (n:X {i: 1}) SET n.v = 12", nil)
		a.must(one.Commit(a.ctx))
		if got := read(two, 1); (got == 12) == rr {
			t.Errorf("level %d: a repeated read gives %d", iso, got)
		}
		a.exec("CREATE (:X {i: 3, v: 1})", nil)
		if got := a.int(two, "MATCH (n:X) RETURN count(n)", nil); (got == 3) == rr {
			t.Errorf("level %d: phantoms: %d", iso, got)
		}
		two.Rollback()
		// A value read by one statement and written back by another loses an update under read committed and is refused above.
		one, two = a.begin(iso), a.begin(iso)
		v, w := read(one, 1), read(two, 1)
		a.in(one, "MATCH (n:X {i: 1}) SET n.v = $v", hedgerow.Params{"v": v + 1})
		a.must(one.Commit(a.ctx))
		_, err := two.Exec(a.ctx, "MATCH (n:X {i: 1}) SET n.v = $v", hedgerow.Params{"v": w + 1})
		if rr {
			a.wants(err, "40001")
		} else {
			a.must(err)
			a.must(two.Commit(a.ctx))
		}
		two.Rollback()
		if got := a.int(a, "MATCH (n:X {i: 1}) RETURN n.v", nil); got != 13 {
			t.Errorf("level %d: after two increments: %d", iso, got)
		}
		// Within one statement neither level loses one.
		one, two = a.begin(iso), a.begin(iso)
		read(one, 2)
		read(two, 2)
		a.in(one, "MATCH (n:X {i: 2}) SET n.v = n.v + 1", nil)
		wait, blocked := later(func() error {
			_, err := two.Exec(a.ctx, "MATCH (n:X {i: 2}) WHERE n.v < 100 SET n.v = n.v + 1", nil)
			return err
		})
		if !blocked() {
			t.Error("the second writer did not wait")
		}
		a.must(one.Commit(a.ctx))
		if rr {
			a.wants(wait(), "40001")
		} else {
			a.must(wait())
			a.must(two.Commit(a.ctx))
		}
		two.Rollback()
		if got := a.int(a, "MATCH (n:X {i: 2}) RETURN n.v", nil); got != map[bool]int64{false: 12, true: 11}[rr] {
			t.Errorf("level %d: %d", iso, got)
		}
		// Write skew: each reads both and writes the other one. Both levels allow it; serializable will not.
		one, two = a.begin(iso), a.begin(iso)
		a.int(one, "MATCH (n:X) RETURN sum(n.v)", nil)
		a.int(two, "MATCH (n:X) RETURN sum(n.v)", nil)
		a.in(one, "MATCH (n:X {i: 1}) SET n.v = 0", nil)
		a.in(two, "MATCH (n:X {i: 2}) SET n.v = 0", nil)
		a.must(one.Commit(a.ctx))
		a.must(two.Commit(a.ctx))
	}
	// A row that no longer fits the predicates is left alone under read committed (A9).
	a.exec("CREATE (:Q {i: 1, open: true})", nil)
	one, two := a.begin(hedgerow.ReadCommitted), a.begin(hedgerow.ReadCommitted)
	a.in(one, "MATCH (n:Q {open: true}) SET n.open = false, n.by = 1", nil)
	var r hedgerow.Result
	wait, _ := later(func() (err error) {
		r, err = two.Exec(a.ctx, "MATCH (n:Q {open: true}) SET n.open = false, n.by = 2", nil)
		return err
	})
	time.Sleep(20 * time.Millisecond)
	a.must(one.Commit(a.ctx))
	a.must(wait())
	if r.PropertiesSet != 0 {
		t.Errorf("a job was taken twice: %+v", r)
	}
	a.must(two.Commit(a.ctx))
}

// TestConcurrentQueue: two workers that take the same job do not both get it.
func TestConcurrentQueue(t *testing.T) { // A9
	a := newArena(t)
	const jobs = 60
	a.exec("UNWIND range(1, $n) AS i CREATE (:Job {i: i, open: true})", hedgerow.Params{"n": jobs})
	var mu sync.Mutex
	taken := map[int64]int{}
	var missed int
	all(8, func(w int) {
		for {
			rows, err := a.Query(a.ctx, "MATCH (j:Job {open: true}) WITH j LIMIT 1 SET j.open = false, j.by = $w RETURN j.i", hedgerow.Params{"w": w})
			if err != nil {
				a.Error(err)
				return
			}
			got, err := hedgerow.Collect[int64](rows)
			if err != nil {
				a.Error(err)
				return
			}
			mu.Lock()
			for _, i := range got {
				taken[i]++
			}
			if len(got) == 0 {
				missed++
			}
			mu.Unlock()
			if len(got) == 0 && a.int(a, "MATCH (j:Job {open: true}) RETURN count(j)", nil) == 0 {
				return
			}
		}
	})
	for i, n := range taken {
		if n != 1 {
			t.Errorf("job %d was taken %d times", i, n)
		}
	}
	if len(taken) != jobs {
		t.Errorf("%d jobs were taken, want %d", len(taken), jobs)
	}
	t.Logf("%d times a worker came too late", missed)
}

// TestConcurrentTransfers: readers always find the same sum, in one statement or in several of one snapshot.
func TestConcurrentTransfers(t *testing.T) { // A2, A3
	a := newArena(t)
	const accounts, sum = 20, 2000
	a.exec("CREATE CONSTRAINT FOR (n:Account) REQUIRE n.i IS UNIQUE", nil)
	a.exec("UNWIND range(0, 19) AS i CREATE (:Account {i: i, money: 100})", nil)
	end := time.Now().Add(1200 * time.Millisecond)
	var done, retried, reads atomic.Int64
	all(10, func(w int) {
		rng := rand.New(rand.NewPCG(uint64(w), 4))
		for time.Now().Before(end) {
			if w >= 6 {
				tx := a.begin([]hedgerow.Isolation{hedgerow.ReadCommitted, hedgerow.RepeatableRead}[w%2])
				first := a.int(tx, "MATCH (n:Account) RETURN sum(n.money)", nil)
				second := a.int(tx, "MATCH (n:Account) WHERE n.i >= 0 RETURN sum(n.money)", nil)
				if first != sum || second != sum {
					a.Errorf("a reader finds %d and %d", first, second)
				}
				if w%2 == 1 {
					low := a.int(tx, "MATCH (n:Account) WHERE n.i < 7 RETURN sum(n.money)", nil)
					if high := a.int(tx, "MATCH (n:Account) WHERE n.i >= 7 RETURN sum(n.money)", nil); low+high != sum {
						a.Errorf("a snapshot finds %d and %d", low, high)
					}
				}
				tx.Rollback()
				reads.Add(1)
				continue
			}
			iso := []hedgerow.Isolation{hedgerow.ReadCommitted, hedgerow.RepeatableRead}[w%2]
			tx, err := a.Begin(a.ctx, hedgerow.TxOptions{Isolation: iso, Async: w%3 > 0})
			a.must(err)
			p := hedgerow.Params{"a": rng.IntN(accounts), "b": rng.IntN(accounts), "m": rng.IntN(30)}
			if rng.IntN(2) == 0 {
				_, err = tx.Exec(a.ctx, "MATCH (a:Account {i: $a}), (b:Account {i: $b}) WHERE $a <> $b SET a.money = a.money - $m, b.money = b.money + $m", p)
			} else {
				if _, err = tx.Exec(a.ctx, "MATCH (a:Account {i: $a}) SET a.money = a.money - $m", p); err == nil {
					_, err = tx.Exec(a.ctx, "MATCH (b:Account {i: $b}) SET b.money = b.money + $m", p)
				}
			}
			if err == nil {
				err = tx.Commit(a.ctx)
			}
			tx.Rollback()
			if err == nil {
				done.Add(1)
			} else if hedgerow.Retryable(err) {
				retried.Add(1)
			} else {
				a.Error(err)
			}
		}
	})
	if got := a.int(a, "MATCH (n:Account) RETURN sum(n.money)", nil); got != sum {
		t.Errorf("the money became %d", got)
	}
	t.Logf("%d transfers, %d given up, %d reads", done.Load(), retried.Load(), reads.Load())
}

// TestConcurrentIndexBuilds: indexes and constraints come and go beside writers and readers; nobody notices but by the time it takes.
func TestConcurrentIndexBuilds(t *testing.T) { // B4, B5
	a := newArena(t)
	a.exec("UNWIND range(1, 300) AS i CREATE (:I {i: i, v: i % 10})", nil)
	end := time.Now().Add(1500 * time.Millisecond)
	var builds, writes, reads, again atomic.Int64
	all(8, func(w int) {
		rng := rand.New(rand.NewPCG(uint64(w), 6))
		for time.Now().Before(end) {
			switch {
			case w == 0:
				for _, text := range []string{"CREATE INDEX byv FOR (n:I) ON (n.v)", "CREATE CONSTRAINT byi FOR (n:I) REQUIRE n.i IS UNIQUE",
					"DROP INDEX byv", "DROP CONSTRAINT byi"} {
					if _, err := a.Exec(a.ctx, text, nil); err != nil {
						a.Errorf("%s: %v", text, err)
					}
					time.Sleep(time.Duration(rng.IntN(30)) * time.Millisecond)
				}
				builds.Add(2)
			case w < 5:
				p := hedgerow.Params{"i": 1 + rng.IntN(300), "v": rng.IntN(10), "new": 1000*w + rng.IntN(400)}
				text := []string{"MATCH (n:I {i: $i}) SET n.v = $v", "MATCH (n:I {v: $v}) WITH n LIMIT 3 SET n.seen = $v", "MERGE (n:Extra:I {i: $new}) SET n.v = $v",
					"MATCH (n:I {i: $new}) DELETE n", "MATCH (n:I {i: $i}) SET n:Other"}[rng.IntN(5)]
				_, err := a.auto(text, p)
				if hedgerow.Retryable(err) {
					again.Add(1)
				} else if err != nil {
					a.Errorf("%s: %v", text, err)
				}
				writes.Add(1)
			default:
				iso := []hedgerow.Isolation{hedgerow.ReadCommitted, hedgerow.RepeatableRead}[w%2]
				tx := a.begin(iso)
				rows, err := tx.Query(a.ctx, "MATCH (n:I) WHERE n.i <= 300 RETURN count(n)", nil)
				if err == nil {
					var n []int64
					if n, err = hedgerow.Collect[int64](rows); err == nil && n[0] != 300 {
						a.Errorf("%d of 300 nodes", n[0])
					}
				}
				if hedgerow.Retryable(err) {
					again.Add(1)
				} else if err != nil {
					a.Errorf("a reader: %v", err)
				}
				tx.Rollback()
				reads.Add(1)
			}
		}
	})
	a.exec("CREATE INDEX byv FOR (n:I) ON (n.v)", nil)
	for v := range 10 {
		p := hedgerow.Params{"v": v}
		if x, y := a.int(a, "MATCH (n:I {v: $v}) RETURN count(n)", p), a.int(a, "MATCH (n:I) WHERE n.v + 0 = $v RETURN count(n)", p); x != y {
			t.Errorf("%d nodes by the index, %d without it", x, y)
		}
	}
	t.Logf("%d indexes built, %d writes, %d reads, %d to be run again", builds.Load(), writes.Load(), reads.Load(), again.Load())
}

func TestConcurrentSavepointOverALockedRow(t *testing.T) { // B2, A6
	a := newArena(t)
	a.exec("CREATE (:S {i: 1, v: 0}), (:S {i: 2, v: 0})", nil)
	one, two := a.begin(hedgerow.ReadCommitted), a.begin(hedgerow.ReadCommitted)
	a.in(one, "MATCH (n:S {i: 1}) SET n.v = n.v + 1", nil) // locked before the savepoint
	a.must(one.Savepoint(a.ctx, "s"))
	a.in(one, "MATCH (n:S) SET n.v = n.v + 10", nil)
	free, blocked := later(func() error {
		_, err := two.Exec(a.ctx, "MATCH (n:S {i: 2}) SET n.v = n.v + 100", nil)
		return err
	})
	if !blocked() {
		t.Error("a row changed under a savepoint is not locked")
	}
	a.must(one.RollbackTo("s"))
	a.must(free()) // the row that only the savepoint had changed is free
	held, blocked := later(func() error {
		_, err := two.Exec(a.ctx, "MATCH (n:S {i: 1}) SET n.v = n.v + 100", nil)
		return err
	})
	if !blocked() {
		t.Error("the row locked before the savepoint was let go with it")
	}
	a.must(one.Commit(a.ctx))
	a.must(held())
	a.must(two.Commit(a.ctx))
	if got := a.ints(a, "MATCH (n:S) RETURN n.v ORDER BY n.i", nil); got[0] != 101 || got[1] != 100 {
		t.Errorf("rows hold %v", got)
	}
}

// TestConcurrentLongReaders: a snapshot keeps its versions while others overwrite and prune them.
func TestConcurrentLongReaders(t *testing.T) { // A3, A2
	a := newArena(t)
	a.exec("UNWIND range(1, 40) AS i CREATE (:P {i: i, v: 0, pad: 'some text to fill the page with'})", nil)
	reader := a.begin(hedgerow.RepeatableRead)
	sum := func(q querier) int64 { return a.int(q, "MATCH (n:P) RETURN sum(n.v)", nil) }
	sum(reader)
	stream, err := a.Query(a.ctx, "MATCH (n:P), (m:P) RETURN n.v", nil) // a cursor of read committed, open all the while
	a.must(err)
	if !stream.Next() {
		t.Fatal("no row")
	}
	all(4, func(w int) {
		for i := range 30 {
			if _, err := a.Exec(a.ctx, "MATCH (n:P) WHERE n.i % 4 = $w SET n.v = n.v + 1", hedgerow.Params{"w": w}); err != nil {
				a.Error(err)
			}
			if i == 15 {
				a.must(a.Checkpoint(a.ctx))
			}
		}
	})
	if got := sum(reader); got != 0 {
		t.Errorf("the old snapshot sees %d", got)
	}
	n := 1
	for ok := true; ok; ok = stream.Next() {
		if v := stream.Row().Values()[0].(int64); v != 0 {
			t.Fatalf("row %d of the open cursor holds %d", n, v)
		}
		n++
	}
	if a.must(stream.Err()); n != 1601 {
		t.Errorf("the open cursor gave %d rows", n-1)
	}
	if got := sum(a); got != 1200 {
		t.Errorf("a new snapshot sees %d", got)
	}
	reader.Rollback()
}
