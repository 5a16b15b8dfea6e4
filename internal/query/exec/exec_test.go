package exec_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/qtest"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/store/memstore"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// spills runs statements whose state does not fit work_mem and compares with a run that holds everything.
func TestSpill(t *testing.T) {
	statements := []string{
		"UNWIND range(1, 20000) AS x RETURN x, 'text' + toString(x * 7919 % 20011) AS s ORDER BY x * 7919 % 20011",
		"UNWIND range(1, 20000) AS x RETURN x % 10 AS k, x ORDER BY k DESC, x",
		"UNWIND range(1, 20000) AS x CREATE (n:N {x: x}) RETURN n",
		"MATCH (n:N) SET n.y = n.x WITH n MATCH (m:N {x: 1}) RETURN n.x AS a, n.y AS b, m.y AS c",
		"UNWIND range(1, 300) AS x UNWIND range(1, 100) AS y WITH x, y ORDER BY y, x RETURN collect(x)[0] AS a, count(*) AS c",
	}
	for _, batch := range []int{7, 1024} {
		whole, tight := qtest.New(nil), qtest.New(nil)
		temp := &qtest.TempDir{Dir: t.TempDir()}
		whole.Exec = exec.Options{BatchSize: batch, WorkMem: 1 << 30}
		tight.Exec = exec.Options{BatchSize: batch, WorkMem: 64 << 10, Temp: temp, Poison: true}
		for _, q := range statements {
			a, b := whole.Must(t, q, nil), tight.Must(t, q, nil)
			if x, y := a.Text(), b.Text(); x != y {
				t.Errorf("batch size %d: %s\nin memory: %.200s\nspilled:   %.200s", batch, q, x, y)
			}
		}
		if temp.Files < len(statements)-1 {
			t.Errorf("only %d temporary files were used", temp.Files)
		}
		if left, err := os.ReadDir(temp.Dir); err != nil || len(left) > 0 {
			t.Errorf("temporary files are left: %v, %v", left, err)
		}
	}
}

// fullDisk is a temporary file system without room.
type fullDisk struct{}

func (fullDisk) Create() (exec.File, error) {
	return nil, dberr.New(dberr.TempLimit, "temporary files have reached their limit")
}

func TestTempLimit(t *testing.T) {
	d := qtest.New(nil)
	d.Exec = exec.Options{WorkMem: 32 << 10, Temp: fullDisk{}}
	_, err := d.Run("UNWIND range(1, 20000) AS x RETURN x ORDER BY x DESC", nil)
	if !dberr.Is(err, dberr.TempLimit) {
		t.Fatalf("got %v", err)
	}
}

// A statement at its limit of memory ends with OutOfMemory; the next one runs (E3).
func TestMemoryLimit(t *testing.T) {
	d := qtest.New(nil)
	d.Exec = exec.Options{MemLimit: 1 << 20}
	for _, q := range []string{
		"UNWIND range(1, 1000000) AS x RETURN x ORDER BY x DESC",
		"UNWIND range(1, 1000000) AS x RETURN DISTINCT x",
		"UNWIND range(1, 1000000) AS x RETURN x, count(*)",
		"UNWIND range(1, 1000000) AS x RETURN size(collect(x)) AS c",
		"UNWIND range(1, 1000000) AS x CREATE (n:N {x: x}) RETURN x",
	} {
		if _, err := d.Run(q, nil); !dberr.Is(err, dberr.OutOfMemory) {
			t.Errorf("%s: %v", q, err)
		}
		if got := d.Must(t, "RETURN 1 AS x", nil).Text(); got != "1\n" {
			t.Errorf("after %s: %s", q, got)
		}
	}
}

// lender is a budget shared by statements.
type lender struct{ out, most, limit int64 }

func (l *lender) Lease(n int64) error {
	if l.out+n > l.limit {
		return dberr.New(dberr.OutOfMemory, "no memory is left for statements")
	}
	l.out += n
	l.most = max(l.most, l.out)
	return nil
}

func (l *lender) Return(n int64) { l.out -= n }

func TestBudget(t *testing.T) {
	l := &lender{limit: 4 << 20}
	d := qtest.New(nil)
	d.Exec = exec.Options{Budget: l}
	d.Must(t, "UNWIND range(1, 20000) AS x RETURN x ORDER BY x DESC", nil)
	if l.out != 0 || l.most < 200<<10 || l.most%(64<<10) != 0 {
		t.Errorf("%d bytes are still out, %d at most", l.out, l.most)
	}
	if _, err := d.Run("UNWIND range(1, 1000000) AS x RETURN x ORDER BY x DESC", nil); !dberr.Is(err, dberr.OutOfMemory) {
		t.Errorf("got %v", err)
	}
	if l.out != 0 {
		t.Errorf("%d bytes are still out after an error", l.out)
	}
}

// open starts a statement and returns its cursor.
func open(t *testing.T, d *qtest.DB, ctx context.Context, text string) (*exec.Cursor, func()) {
	t.Helper()
	tx := begin(t, d)
	stmt, err := tx.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	g, err := stmt.Graph(ctx, d.Graph)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Prepare(text, g, stmt.View(1<<32-1))
	if err != nil {
		t.Fatal(qtest.Explain(err))
	}
	cur, err := p.Run(ctx, stmt, g, nil, d.Exec)
	if err != nil {
		t.Fatal(err)
	}
	return cur, func() { cur.Close(); stmt.Close(); _ = tx.Rollback() }
}

// Cancellation is noticed within a batch, inside a sort and inside a traversal (E4), by the context and by the flag.
func TestCancel(t *testing.T) {
	d := qtest.New(nil)
	d.Must(t, "UNWIND range(1, 12) AS i CREATE (:N {i: i})", nil)
	d.Must(t, "MATCH (a:N), (b:N) WHERE a <> b CREATE (a)-[:R]->(b)", nil)
	for _, q := range []string{
		"UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y RETURN count(x) AS c",
		"UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y WITH x WHERE x < 0 RETURN x",
		"MATCH (:N {i: 1})-[*]->(m) RETURN count(m) AS c",
		"MATCH (a:N), (b:N), (c:N), (d:N), (e:N), (f:N), (g:N), (h:N) RETURN count(*) AS c",
	} {
		for _, flag := range []bool{false, true} {
			ctx, cancel := context.WithCancel(context.Background())
			d.Exec.Cancel = nil
			if flag {
				d.Exec.Cancel = new(atomic.Bool)
			}
			cur, done := open(t, d, ctx, q)
			go func(f *atomic.Bool) {
				time.Sleep(20 * time.Millisecond)
				if f != nil {
					f.Store(true)
				} else {
					cancel()
				}
			}(d.Exec.Cancel)
			start := time.Now()
			_, err := cur.Next()
			if !dberr.Is(err, dberr.Canceled) {
				t.Errorf("%s: %v", q, err)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("%s: cancelled after %v", q, took)
			}
			done()
			cancel()
		}
	}
}

// A statement with a write is complete before its first row leaves; what a reader leaves unread is written all the same (rules C3).
func TestWritesAreComplete(t *testing.T) {
	for _, q := range []string{
		"UNWIND range(1, 5000) AS x CREATE (:N {x: x}) RETURN x",
		"UNWIND range(1, 5000) AS x CREATE (:N {x: x}) RETURN x LIMIT 1",
		"UNWIND range(1, 5000) AS x CREATE (:N {x: x}) WITH x LIMIT 0 RETURN x",
	} {
		d := qtest.New(nil)
		ctx := context.Background()
		cur, _ := open(t, d, ctx, q)
		if _, err := cur.Next(); err != nil {
			t.Fatal(err)
		}
		if n := cur.Counters().NodesCreated; n != 5000 {
			t.Errorf("%s: %d vertices when the first row leaves", q, n)
		}
		cur.Close()
	}
	// Nothing runs before the first pull.
	d := qtest.New(nil)
	cur, done := open(t, d, context.Background(), "CREATE (:N)")
	defer done()
	if n := cur.Counters().NodesCreated; n != 0 {
		t.Errorf("%d vertices before the first pull", n)
	}
}

// An entity is encoded as the statement leaves it, also in a path or list that was built before (rules C3, C8).
func TestEncodingAtTheEnd(t *testing.T) {
	d := qtest.New(nil)
	d.Must(t, "CREATE (:A {x: 1})-[:R {y: 1}]->(:B)", nil)
	got := d.Must(t, "MATCH p = (a)-[r:R]->(b) WITH p, a, r, [a, {k: r}] AS l SET a.x = 2, r.y = 3, a:C RETURN p, l, a", nil).Text()
	if want := "<(:A:C {x: 2})-[:R {y: 3}]->(:B)> | [(:A:C {x: 2}), {k: [:R {y: 3}]}] | (:A:C {x: 2})\n"; got != want {
		t.Errorf("got %s", got)
	}
	got = d.Must(t, "MATCH (a:A)-[r]->() DETACH DELETE a RETURN a, type(r) AS t, id(a) > 0 AS i", nil).Text()
	if want := "(:A:C {x: 2}) | 'R' | true\n"; got != want {
		t.Errorf("got %s", got)
	}
}

// Same-row aliases of one vertex agree after every SET.
func TestAliases(t *testing.T) {
	for _, batch := range []int{1, 7, 1024} {
		d := qtest.New(nil)
		d.Exec.BatchSize = batch
		d.Must(t, "CREATE (:T)", nil)
		got := d.Must(t, "MATCH (n:T),(m:T) WHERE id(n)=id(m) SET n.a = 1 SET m.b = n.a + 1 RETURN n.a, m.a, m.b", nil).Text()
		if got != "1 | 1 | 2\n" {
			t.Errorf("batch size %d: %s", batch, got)
		}
		if got := d.Must(t, "MATCH (n:T) RETURN n", nil).Text(); got != "(:T {a: 1, b: 2})\n" {
			t.Errorf("batch size %d: stored %s", batch, got)
		}
	}
}

// A semi apply leaves a vertex as soon as its row is decided.
func TestSemiStopsEarly(t *testing.T) {
	d := qtest.New(nil)
	d.Must(t, "CREATE (a:Hub) WITH a UNWIND range(1, 20000) AS i CREATE (a)-[:R]->(:Leaf {i: i})", nil)
	for _, q := range []string{
		"MATCH (a:Hub) WHERE (a)-[:R]->() RETURN count(*) AS c",
		"MATCH (a:Hub) WHERE EXISTS { (a)-[:R]->(b) WHERE b.i > 10 } RETURN count(*) AS c",
		"MATCH (a:Hub) WHERE NOT (a)-[:R]->(:Leaf) RETURN 1 - count(*) AS c",
	} {
		res := d.Must(t, q, nil)
		if res.Text() != "1\n" || res.Counters.EdgesRead > 200 {
			t.Errorf("%s: %s with %d relationships read", q, res.Text(), res.Counters.EdgesRead)
		}
	}
}

// LIMIT does not read what it does not need.
func TestLimitReadsLittle(t *testing.T) {
	d := big(t, 20_000)
	if res := d.Must(t, "MATCH (n:L) RETURN n.x AS x LIMIT 3", nil); res.Counters.RowsRead > 100 {
		t.Errorf("%d rows read", res.Counters.RowsRead)
	}
}

func TestProfile(t *testing.T) {
	d := qtest.New(nil)
	d.Must(t, "UNWIND range(1, 100) AS i CREATE (:L {i: i})", nil)
	d.Exec.Profile = true
	res := d.Must(t, "MATCH (n:L) WHERE n.i > 50 RETURN n.i AS i", nil)
	names := map[string]int64{}
	for _, p := range res.Profile {
		if p != nil {
			names[p.Name] = p.Rows
		}
	}
	if names["LabelScan"] != 100 || names["ProduceResults"] != 50 {
		t.Errorf("profile: %v", names)
	}
}

// waits returns when another transaction is waiting for the one that holds the locks.
func waits(d *qtest.DB) {
	if m, ok := d.Store.(*memstore.DB); ok {
		m.AwaitWaiter()
		return
	}
	time.Sleep(50 * time.Millisecond)
}

// stores are an empty graph in memory and one in the storage engine.
func stores(t *testing.T) map[string]func() *qtest.DB {
	db, err := engine.Open(context.Background(), engine.Options{CacheBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return map[string]func() *qtest.DB{
		"memory": func() *qtest.DB { return qtest.New(nil) },
		"engine": func() *qtest.DB { return qtest.On(db.Store()) },
	}
}

// rules A9: rows that a lock found changed are judged again; those that fail or are gone leave the stream.
func TestLockRechecks(t *testing.T) {
	for name, empty := range stores(t) {
		t.Run(name, func(t *testing.T) { lockRechecks(t, empty) })
	}
}

func lockRechecks(t *testing.T, empty func() *qtest.DB) {
	ctx := context.Background()
	setup := func() *qtest.DB {
		d := empty()
		d.Must(t, "CREATE (:J {id: 1, state: 'new'}), (:J {id: 2, state: 'new'}), (:J {id: 3, state: 'new', n: 5})", nil)
		return d
	}
	type outcome struct {
		rows string
		err  error
	}
	for _, tc := range []struct {
		name, other, mine, rows, after string
		iso                            store.Isolation
		code                           dberr.Code
	}{
		{name: "popped by another", other: "MATCH (j:J {id: 1}) SET j.state = 'taken'", mine: "MATCH (j:J) WHERE j.state = 'new' SET j.state = 'mine' RETURN j.id AS id ORDER BY id", rows: "2\n3\n",
			after: "'taken'\n'mine'\n'mine'\n"},
		{name: "deleted", other: "MATCH (j:J {id: 2}) DELETE j", mine: "MATCH (j:J) SET j.state = 'mine' RETURN j.id AS id ORDER BY id", rows: "1\n3\n", after: "'mine'\n'mine'\n"},
		{name: "right-hand side", other: "MATCH (j:J {id: 3}) SET j.n = 6", mine: "MATCH (j:J {id: 3}) SET j.n = j.n + 1 RETURN j.n AS id", rows: "7\n", after: "'new'\n'new'\n'new'\n"},
		{name: "label lost", other: "MATCH (j:J {id: 1}) REMOVE j:J SET j:K", mine: "MATCH (j:J) DELETE j RETURN count(*) AS id", rows: "2\n", after: ""},
		{name: "repeatable read", other: "MATCH (j:J {id: 1}) SET j.state = 'taken'", mine: "MATCH (j:J {id: 1}) SET j.state = 'mine'", iso: store.RepeatableRead, code: dberr.SerializationFailure,
			after: "'taken'\n'new'\n'new'\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := setup()
			other := begin(t, d)
			if _, err := d.RunIn(ctx, other, tc.other, nil); err != nil {
				t.Fatal(qtest.Explain(err))
			}
			// Mine takes its snapshot while the other is open, then waits for it.
			tx, err := d.Store.Begin(ctx, store.TxOptions{Isolation: tc.iso})
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan outcome, 1)
			go func() {
				res, err := d.RunIn(ctx, tx, tc.mine, nil)
				o := outcome{err: err}
				if err == nil {
					o.rows, o.err = res.Text(), tx.Commit(ctx)
				} else {
					_ = tx.Rollback()
				}
				done <- o
			}()
			waits(d)
			if err := other.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			o := <-done
			if tc.code != 0 {
				if !dberr.Is(o.err, tc.code) {
					t.Fatalf("got %v", o.err)
				}
			} else if o.err != nil || o.rows != tc.rows {
				t.Fatalf("rows %q, %v", o.rows, o.err)
			}
			if got := d.Must(t, "MATCH (j:J) RETURN j.state AS s ORDER BY j.id", nil).Text(); got != tc.after {
				t.Errorf("afterwards %q", got)
			}
		})
	}
}

// rules B14: two MERGEs of one key at the same time give one vertex.
func TestMergeRace(t *testing.T) {
	for name, empty := range stores(t) {
		for _, unique := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s unique %v", name, unique), func(t *testing.T) { mergeRace(t, empty(), unique) })
		}
	}
}

func mergeRace(t *testing.T, d *qtest.DB, unique bool) {
	ctx := context.Background()
	if unique {
		d.Must(t, "CREATE CONSTRAINT FOR (n:U) REQUIRE n.k IS UNIQUE", nil)
	}
	first := begin(t, d)
	if _, err := d.RunIn(ctx, first, "MERGE (n:U {k: 1}) ON CREATE SET n.c = 1 ON MATCH SET n.c = n.c + 1", nil); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	second := begin(t, d)
	go func() {
		_, err := d.RunIn(ctx, second, "MERGE (n:U {k: 1.0}) ON CREATE SET n.c = 1 ON MATCH SET n.c = n.c + 1", nil)
		done <- errors.Join(err, second.Commit(ctx))
	}()
	waits(d)
	if err := first.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := d.Must(t, "MATCH (n:U) RETURN n", nil).Text(); got != "(:U {c: 2, k: 1})\n" {
		t.Errorf("got %s", got)
	}
}

// Sorting agrees with the total order on values of all kinds, ascending and descending, and is stable.
func TestSortOrder(t *testing.T) {
	d := qtest.New(nil)
	vals := "[null, 1, 2.5, -3, 1.0, 'b', 'a', '', true, false, [1], [], [1, 'x'], {a: 1}, {}, 0.0/0.0, 1.0/0.0, -1.0/0.0, 9007199254740993, 9007199254740992.0]"
	for _, batch := range []int{1, 7, 1024} {
		d.Exec.BatchSize = batch
		for _, dir := range []string{"", " DESC"} {
			q := "UNWIND " + vals + " AS v UNWIND [1, 2] AS k RETURN v, k ORDER BY v" + dir
			res := d.Must(t, q, nil)
			sorted := slices.IsSortedFunc(res.Rows, func(a, b []value.Value) int {
				c := value.Compare(a[0], b[0])
				if dir != "" {
					c = -c
				}
				return c
			})
			if !sorted {
				t.Errorf("not sorted%s: %s", dir, strings.ReplaceAll(res.Text(), "\n", " "))
			}
		}
		full := d.Must(t, "UNWIND range(1, 3000) AS x RETURN x, x * 7919 % 101 AS k ORDER BY k SKIP 40 LIMIT 25", nil).Text()
		d2 := qtest.New(nil)
		all := d2.Must(t, "UNWIND range(1, 3000) AS x RETURN x, x * 7919 % 101 AS k ORDER BY k", nil)
		want := &qtest.Result{Rows: all.Rows[40:65]}
		if full != want.Text() {
			t.Errorf("top-n at batch size %d:\n%s\nwant\n%s", batch, full, want.Text())
		}
	}
}

// DISTINCT and grouping work by equivalence: 1 is 1.0, null is null, NaN is NaN; the first of a class is shown (rules C10).
func TestEquivalence(t *testing.T) {
	d := qtest.New(nil)
	for _, batch := range []int{1, 7, 1024} {
		d.Exec.BatchSize = batch
		got := d.Must(t, "UNWIND [1, 1.0, null, 2, null, [1], [1.0], 0.0/0.0, 0.0/0.0, {a: 1}, {a: 1.0}] AS v RETURN DISTINCT v", nil).Text()
		if want := "1\nnull\n2\n[1]\nNaN\n{a: 1}\n"; got != want {
			t.Errorf("distinct: %s", got)
		}
		got = d.Must(t, "UNWIND [1, 1.0, null, 2, null] AS v RETURN v, count(*) AS c", nil).Text()
		if want := "1 | 2\nnull | 2\n2 | 1\n"; got != want {
			t.Errorf("groups: %s", got)
		}
	}
}

// A deep trail is walked without recursion, and a relationship is used once.
func TestDeepTrail(t *testing.T) {
	d := big(t, 3000)
	got := d.Must(t, "MATCH (a:L {x: 1})-[r*]->(b) RETURN count(*) AS c, max(size(r)) AS m", nil).Text()
	if got != "2999 | 2999\n" {
		t.Errorf("got %s", got)
	}
	got = d.Must(t, "MATCH (a:L {x: 1}), (b:L {x: 3000}) RETURN length(shortestPath((a)-[:R*]->(b))) AS l", nil).Text()
	if got != "2999\n" {
		t.Errorf("got %s", got)
	}
}

// Every way through VarExpand agrees with a brute count over a complete small graph.
func TestVarExpandModes(t *testing.T) {
	d := qtest.New(nil)
	d.Must(t, "CREATE (a:N {i: 1})-[:R]->(b:N {i: 2})-[:R]->(a), (b)-[:R]->(c:N {i: 3}), (c)-[:R]->(c), (a)-[:R]->(c)", nil)
	for q, want := range map[string]string{
		"MATCH (a:N {i: 1})-[:R*1..2]->(b) RETURN b.i AS i ORDER BY i":                            "1\n2\n3\n3\n3\n",
		"MATCH (a:N {i: 1})-[:R*1..2]->(b) RETURN DISTINCT b.i AS i ORDER BY i":                   "1\n2\n3\n",
		"MATCH (a:N {i: 3})-[:R*1..5]-(b) RETURN DISTINCT b.i AS i ORDER BY i":                    "1\n2\n3\n",
		"MATCH (a:N {i: 2})-[:R*0..0]->(b) RETURN b.i AS i":                                       "2\n",
		"MATCH (a:N {i: 1})-[r:R*2]->(b) WITH r MATCH (x)-[r*]->(y) RETURN x.i, y.i ORDER BY y.i": "1 | 1\n1 | 3\n1 | 3\n",
		"MATCH p = (a:N {i: 1})-[:R*2..2]->(:N {i: 3}) RETURN length(p), size(nodes(p)) LIMIT 1":  "2 | 3\n",
	} {
		for _, batch := range []int{1, 7, 1024} {
			d.Exec = exec.Options{BatchSize: batch, Poison: true}
			if got := d.Must(t, q, nil).Text(); got != want {
				t.Errorf("%s: %q, want %q", q, got, want)
			}
		}
	}
}

func ExamplePrepared_Run() {
	d := qtest.New(nil)
	res, _ := d.Run("UNWIND [1, 2] AS x RETURN x * $f AS y", qtest.Params{"f": value.NewInt(10)})
	fmt.Print(res.Text())
	// Output:
	// 10
	// 20
}
