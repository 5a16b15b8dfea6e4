package hedgerow_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow"
)

func memory(t testing.TB) *hedgerow.DB {
	t.Helper()
	db, err := hedgerow.OpenMemory(&hedgerow.Options{CacheBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func mustExec(t testing.TB, db *hedgerow.DB, q string, p hedgerow.Params) hedgerow.Result {
	t.Helper()
	res, err := db.Exec(context.Background(), q, p)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return res
}

// one returns the only value of a query.
func one(t testing.TB, db *hedgerow.DB, q string, p hedgerow.Params) any {
	t.Helper()
	rows, err := db.Query(context.Background(), q, p)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	list, err := hedgerow.Collect[any](rows)
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: %d rows, %v", q, len(list), err)
	}
	return list[0]
}

func wantState(t testing.TB, err error, state string) *hedgerow.Error {
	t.Helper()
	var e *hedgerow.Error
	if !errors.As(err, &e) || e.SQLState != state {
		t.Fatalf("got %v, want SQLSTATE %s", err, state)
	}
	return e
}

type celsius float64
type tag string
type text struct{ s string }

func (x text) MarshalText() ([]byte, error) { return []byte("<" + x.s + ">"), nil }

// TestParameters: Go values become Cypher's, and come back in their plain form.
func TestParameters(t *testing.T) {
	db := memory(t)
	at := time.Date(2021, 2, 3, 4, 5, 6, 789, time.FixedZone("", 3600))
	seven := 7
	var none *int
	for _, c := range []struct{ in, out any }{
		{nil, nil}, {true, true}, {7, int64(7)}, {int8(-7), int64(-7)}, {uint32(7), int64(7)}, {uint64(math.MaxInt64), int64(math.MaxInt64)},
		{1.5, 1.5}, {float32(0.5), 0.5}, {math.Inf(1), math.Inf(1)}, {celsius(20), 20.0}, {tag("x"), "x"}, {"ä\x00\n", "ä\x00\n"}, {[]byte{0, 255}, []byte{0, 255}},
		{[]int{1, 2}, []any{int64(1), int64(2)}}, {[2]string{"a", "b"}, []any{"a", "b"}}, {[]any{nil, "x", 1}, []any{nil, "x", int64(1)}}, {[]int(nil), nil}, {[]int{}, []any{}},
		{map[string]any{"a": 1, "b": []string{"c"}}, map[string]any{"a": int64(1), "b": []any{"c"}}}, {map[tag]int{"k": 1}, map[string]any{"k": int64(1)}},
		{struct {
			Name string
			Age  int `hedgerow:"age"`
			Skip int `hedgerow:"-"`
		}{"Ada", 36, 1}, map[string]any{"Name": "Ada", "age": int64(36)}},
		{&seven, int64(7)}, {none, nil}, {at, at}, {text{"x"}, "<x>"},
		{hedgerow.Date(at), time.Date(2021, 2, 3, 0, 0, 0, 0, time.UTC)}, {hedgerow.LocalDateTime(at), time.Date(2021, 2, 3, 4, 5, 6, 789, time.UTC)},
		{90 * time.Second, "PT1M30S"},
		{hedgerow.Point{SRID: 4326, X: 12.5, Y: 55.6}, hedgerow.Point{SRID: 4326, X: 12.5, Y: 55.6}}, {&hedgerow.Point{SRID: 9157, X: 1, Y: 2, Z: 3}, hedgerow.Point{SRID: 9157, X: 1, Y: 2, Z: 3}},
	} {
		got := one(t, db, "RETURN $x", hedgerow.Params{"x": c.in})
		if want, ok := c.out.(time.Time); ok {
			if g, ok := got.(time.Time); !ok || !g.Equal(want) {
				t.Errorf("%v (%T): got %v, want %v", c.in, c.in, got, want)
			}
		} else if !reflect.DeepEqual(got, c.out) {
			t.Errorf("%v (%T): got %#v, want %#v", c.in, c.in, got, c.out)
		}
	}
	if one(t, db, "RETURN $d = date('2021-02-03') AND $l = localdatetime('2021-02-03T04:05:06.000000789') AND $z = datetime('2021-02-03T04:05:06.000000789+01:00') AND $n = duration('PT2S')",
		hedgerow.Params{"d": hedgerow.Date(at), "l": hedgerow.LocalDateTime(at), "z": at, "n": 2 * time.Second}) != true {
		t.Error("temporal parameters are not what Cypher makes")
	}
	for _, bad := range []any{uint64(math.MaxUint64), make(chan int), func() {}, map[int]int{1: 1}, complex(1, 2), hedgerow.Point{SRID: 1}, hedgerow.Point{SRID: 4326, Y: 91}} {
		if _, err := db.Query(context.Background(), "RETURN $x", hedgerow.Params{"x": bad}); err == nil || !strings.Contains(err.Error(), "parameter $x") {
			t.Errorf("%T: %v", bad, err)
		}
	}
	type loop struct{ Next *loop }
	l := &loop{}
	l.Next = l
	if _, err := db.Query(context.Background(), "RETURN $x", hedgerow.Params{"x": l}); err == nil {
		t.Error("a structure that holds itself was taken")
	}
	_, err := db.Query(context.Background(), "RETURN $x", nil)
	wantState(t, err, "42P02")
}

func TestResults(t *testing.T) {
	db := memory(t)
	mustExec(t, db, `CREATE (:A:B {n: 1, at: date('2020-02-29')})-[:R {w: 0.5}]->(:C)`, nil)
	p := one(t, db, "MATCH p = ()-[]->() RETURN p", nil).(hedgerow.Path)
	a, c, r := p.Nodes[0], p.Nodes[1], p.Relationships[0]
	if !reflect.DeepEqual(a.Labels, []string{"A", "B"}) || a.Props["n"] != int64(1) || r.Type != "R" || r.StartID != a.ID || r.EndID != c.ID || r.Props["w"] != 0.5 {
		t.Errorf("%+v", p)
	}
	if one(t, db, "MATCH (n) WHERE id(n) = $id RETURN elementId(n)", hedgerow.Params{"id": a.ID}) != a.ElementID() {
		t.Error("ElementID is not elementId()")
	}
	if one(t, db, "MATCH (n:A) RETURN n = $n", hedgerow.Params{"n": a}) != true {
		t.Error("a node as a parameter is another node")
	}
	type entity struct {
		N  int
		At time.Time
	}
	rows, err := db.Query(context.Background(), "MATCH (n:A) RETURN n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	var e entity
	if err := rows.Scan(&e); err != nil || e.N != 1 || e.At.Day() != 29 {
		t.Errorf("%+v, %v", e, err)
	}
	var node hedgerow.Node
	if err := rows.Scan(&node); err != nil || node.ID != a.ID {
		t.Errorf("%+v, %v", node, err)
	}
	for _, bad := range []any{new(int), node, nil, new(func())} {
		if err := rows.Scan(bad); err == nil {
			t.Errorf("a node was stored in a %T", bad)
		}
	}
	if err := rows.Scan(&e, &e); err == nil || !strings.Contains(err.Error(), "2 variables for 1 columns") {
		t.Error(err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	if rows.Next() || rows.Close() != nil {
		t.Error("closed rows go on")
	}

	type wide struct {
		I  int8
		U  uint
		F  float64
		S  *string
		L  []float64
		M  map[string]int
		D  time.Duration
		In struct{ X int }
	}
	rows, err = db.Query(context.Background(), "RETURN 100 AS i, 3 AS u, 2 AS f, null AS s, [1, 2.5] AS l, {a: 1} AS m, duration('PT3S') AS d, {x: 4, y: 5} AS in", nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := hedgerow.Collect[wide](rows)
	if err != nil || !reflect.DeepEqual(w, []wide{{100, 3, 2, nil, []float64{1, 2.5}, map[string]int{"a": 1}, 3 * time.Second, struct{ X int }{4}}}) {
		t.Errorf("%+v, %v", w, err)
	}
	for q, text := range map[string]string{"RETURN 1000 AS i": "field I: 1000 does not fit a int8", "RETURN -1 AS u": "field U: -1 does not fit a uint",
		"RETURN 'x' AS l": "field L: a STRING does not fit a []float64", "RETURN ['x'] AS l": "element 0: a STRING does not fit a float64", "RETURN 9007199254740993 AS f": "does not fit"} {
		rows, err := db.Query(context.Background(), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := hedgerow.Collect[wide](rows); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", q, err)
		}
	}
	type named struct {
		Name string
		Born *int
	}
	born := 1815
	for _, q := range []string{"CREATE (n:Whole {name: 'Ada', born: 1815}) RETURN n", "MATCH (n:Whole) RETURN n {.*}", "MATCH (n:Whole) RETURN n.name AS name, n.born AS born"} {
		rows, err := db.Query(context.Background(), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := hedgerow.Collect[named](rows); err != nil || !reflect.DeepEqual(got, []named{{"Ada", &born}}) {
			t.Errorf("%s: %+v, %v", q, got, err)
		}
	}
	rows, err = db.Query(context.Background(), "RETURN 1, 2", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hedgerow.Collect[int](rows); err == nil {
		t.Error("two columns in an int")
	}
}

func TestResult(t *testing.T) {
	db := memory(t)
	res := mustExec(t, db, "CREATE (:A {x: 1})-[:R]->(:B); MATCH (a:A) SET a:C SET a.x = 2 REMOVE a:C; MATCH (b:B) DETACH DELETE b; CREATE INDEX FOR (n:A) ON (n.x);", nil)
	want := hedgerow.Result{NodesCreated: 2, NodesDeleted: 1, RelationshipsCreated: 1, RelationshipsDeleted: 1, PropertiesSet: 2, LabelsAdded: 3, LabelsRemoved: 1, IndexesAdded: 1}
	if res != want {
		t.Errorf("got  %+v\nwant %+v", res, want)
	}
	if s := res.String(); s != "Created 2 nodes, deleted 1 node, created 1 relationship, deleted 1 relationship, set 2 properties, added 3 labels, removed 1 label, added 1 index" {
		t.Error(s)
	}
	if (hedgerow.Result{}).Changed() || (hedgerow.Result{}).String() != "" {
		t.Error("nothing is something")
	}
}

// TestErrors: a fault has its SQLSTATE and its place in the whole text, in characters.
func TestErrors(t *testing.T) {
	db := memory(t)
	mustExec(t, db, "CREATE CONSTRAINT FOR (p:P) REQUIRE p.k IS UNIQUE; CREATE (:P {k: 1})", nil)
	for _, c := range []struct {
		text, state string
		line, col   int
		excerpt     string
	}{
		{"RETURN 1 +", "42601", 1, 11, "RETURN 1 +\n          ^"},
		{"MATCH (n)\r\n\tRETURN 'ä', m", "42703", 2, 14, "\tRETURN 'ä', m\n\t            ^"},
		{"RETURN foo(1)", "42883", 1, 8, "RETURN foo(1)\n       ^"},
		{"RETURN 1;\n RETURN x", "42703", 2, 9, " RETURN x\n        ^"},
		{"RETURN 1/0", "22012", 0, 0, ""},
		{"CREATE (:P {k: 1})", "23505", 0, 0, ""},
	} {
		_, err := db.Exec(context.Background(), c.text, nil)
		e := wantState(t, err, c.state)
		if e.Line != c.line && c.line > 0 || e.Column != c.col && c.col > 0 {
			t.Errorf("%q: line %d, column %d", c.text, e.Line, e.Column)
		}
		if x := e.Excerpt(); c.excerpt != "" && x != c.excerpt {
			t.Errorf("%q:\n%s\nwant\n%s", c.text, x, c.excerpt)
		}
		if e.Neo4jCode == "" || e.Message == "" || errors.Unwrap(e) == nil {
			t.Errorf("%q: %+v", c.text, e)
		}
	}
	e := wantState(t, func() error { _, err := db.Exec(context.Background(), "CREATE (:P {k: 1})", nil); return err }(), "23505")
	if !strings.Contains(e.Detail, "(k)=(1)") || hedgerow.Retryable(e) {
		t.Errorf("%+v", e)
	}
	for _, empty := range []string{"", " ; ", "// nothing"} {
		if _, err := db.Query(context.Background(), empty, nil); err == nil {
			t.Errorf("%q is no statement", empty)
		}
		if _, err := db.Exec(context.Background(), empty, nil); err == nil {
			t.Errorf("%q is no statement", empty)
		}
	}
	if _, err := db.Query(context.Background(), "RETURN 1; RETURN 2", nil); err == nil || !strings.Contains(err.Error(), "2 statements") {
		t.Error(err)
	}
	if _, err := hedgerow.Open("", nil); err == nil {
		t.Error("no directory was opened")
	}
}

func TestNotices(t *testing.T) {
	db := memory(t)
	mustExec(t, db, "UNWIND range(1, 3) AS i CREATE (:Person {name: 'Ada'})", nil)
	for q, want := range map[string]string{
		"MATCH (p:Persn) RETURN p":                      "Person",
		"MATCH (p:Person {nme: 'Ada'}) RETURN p":        "name",
		"MATCH (p:Person) WHERE p.name = null RETURN p": "null",
		"MATCH (a:Person), (b:Person) RETURN a":         "disconnected part",
	} {
		rows, err := db.Query(context.Background(), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		rows.Close()
		found := false
		for _, n := range rows.Notices() {
			found = found || strings.Contains(n.Message+n.Hint, want)
		}
		if !found {
			t.Errorf("%s: notices %v, want one with %q", q, rows.Notices(), want)
		}
	}
	rows, err := db.Query(context.Background(), "PROFILE MATCH (p:Person) RETURN p", nil)
	if err != nil {
		t.Fatal(err)
	}
	rows.Close()
	if !strings.Contains(rows.Plan(), "Person") {
		t.Errorf("plan %q", rows.Plan())
	}
}

// TestCancel: a statement ends soon after its context (57014), and the database goes on.
func TestCancel(t *testing.T) {
	db := memory(t)
	mustExec(t, db, "UNWIND range(1, 300) AS i CREATE (:N {i: i})", nil)
	const long = "MATCH (a:N), (b:N), (c:N), (d:N) WHERE a.i + b.i + c.i + d.i < 0 RETURN count(*)"
	for name, run := range map[string]func(ctx context.Context) error{
		"query": func(ctx context.Context) error {
			rows, err := db.Query(ctx, long, nil)
			if err != nil {
				return err
			}
			for rows.Next() {
			}
			return rows.Close()
		},
		"exec": func(ctx context.Context) error { _, err := db.Exec(ctx, long, nil); return err },
		"update": func(ctx context.Context) error {
			return db.Update(ctx, func(tx *hedgerow.Tx) error { _, err := tx.Exec(ctx, long, nil); return err })
		},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		began := time.Now()
		err := run(ctx)
		wantState(t, err, "57014")
		if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "context") {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: cancelled after %s", name, took)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := db.Query(ctx, "RETURN 1", nil); err == nil {
		t.Error("a statement ran with a context that had ended")
	}
	if one(t, db, "RETURN 1", nil) != int64(1) {
		t.Error("the database does not answer any more")
	}
	c := db.Conn()
	defer c.Close()
	go func() {
		time.Sleep(30 * time.Millisecond)
		c.Cancel()
	}()
	rows, err := c.Run(context.Background(), long, hedgerow.Cypher, nil)
	if err == nil {
		for rows.Next() {
		}
		err = rows.Close()
	}
	wantState(t, err, "57014")
}

// TestConcurrentUpdates: increments of one node by many goroutines sum up at both isolation levels.
func TestConcurrentUpdates(t *testing.T) {
	db := memory(t)
	mustExec(t, db, "CREATE (:Counter {n: 0, m: 0})", nil)
	const workers, each = 8, 25
	var wg sync.WaitGroup
	errs := make(chan error, workers*each)
	for range workers {
		wg.Go(func() {
			for range each {
				errs <- db.Update(context.Background(), func(tx *hedgerow.Tx) error {
					_, err := tx.Exec(context.Background(), "MATCH (c:Counter) SET c.n = c.n + 1", nil)
					return err
				})
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := one(t, db, "MATCH (c:Counter) RETURN c.n", nil); n != int64(workers*each) {
		t.Errorf("%v increments, want %d", n, workers*each)
	}
}

// TestRetry: Update runs its function again after 40001 and gives up on other errors at once.
func TestRetry(t *testing.T) {
	db := memory(t)
	mustExec(t, db, "CREATE (:C {n: 0})", nil)
	tries := 0
	err := db.Update(context.Background(), func(tx *hedgerow.Tx) error {
		if tries++; tries < 3 {
			rr, err := db.Begin(context.Background(), hedgerow.TxOptions{Isolation: hedgerow.RepeatableRead})
			if err != nil {
				return err
			}
			defer rr.Rollback()
			if _, err := rr.Exec(context.Background(), "MATCH (c:C) RETURN c.n", nil); err != nil {
				return err
			}
			mustExec(t, db, "MATCH (c:C) SET c.n = c.n + 1", nil)
			_, err = rr.Exec(context.Background(), "MATCH (c:C) SET c.n = 100", nil)
			wantState(t, err, "40001")
			return err
		}
		return nil
	})
	if err != nil || tries != 3 {
		t.Errorf("%d tries, %v", tries, err)
	}
	tries = 0
	mine := errors.New("mine")
	if err := db.Update(context.Background(), func(*hedgerow.Tx) error { tries++; return mine }); err != mine || tries != 1 {
		t.Errorf("%d tries, %v", tries, err)
	}
	func() {
		defer func() { recover() }()
		db.Update(context.Background(), func(tx *hedgerow.Tx) error {
			tx.Exec(context.Background(), "MATCH (c:C) SET c.n = 999", nil)
			panic("mine")
		})
	}()
	if n := one(t, db, "MATCH (c:C) RETURN c.n", nil); n != int64(2) {
		t.Errorf("after a panic in Update: %v", n)
	}
	err = db.View(context.Background(), func(tx *hedgerow.Tx) error {
		_, err := tx.Exec(context.Background(), "CREATE (:X)", nil)
		return err
	})
	wantState(t, err, "25006")
}

func TestTx(t *testing.T) {
	db := memory(t)
	ctx := context.Background()
	tx, err := db.Begin(ctx, hedgerow.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "CREATE (:A)", nil); err != nil {
		t.Fatal(err)
	}
	if n := one(t, db, "MATCH (a:A) RETURN count(a)", nil); n != int64(0) {
		t.Error("what is not committed can be seen")
	}
	_, err = tx.Exec(ctx, "RETURN 1/0", nil)
	wantState(t, err, "22012")
	_, err = tx.Exec(ctx, "RETURN 1", nil)
	wantState(t, err, "25P02")
	if err := tx.Commit(ctx); err == nil {
		t.Error("a failed transaction was committed")
	}
	for _, err := range []error{tx.Commit(ctx), tx.Savepoint(ctx, "s"), tx.RollbackTo("s"), tx.Release(ctx, "s")} {
		if err != hedgerow.ErrTxDone {
			t.Error(err)
		}
	}
	if _, err := tx.Query(ctx, "RETURN 1", nil); err != hedgerow.ErrTxDone {
		t.Error(err)
	}
	if _, err := tx.Exec(ctx, "RETURN 1", nil); err != hedgerow.ErrTxDone {
		t.Error(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	if n := one(t, db, "MATCH (a:A) RETURN count(a)", nil); n != int64(0) {
		t.Error("a failed transaction left something")
	}
	// Rows left open are closed by the next statement and by the end.
	tx, _ = db.Begin(ctx, hedgerow.TxOptions{})
	open, err := tx.Query(ctx, "UNWIND range(1, 100000) AS i RETURN i", nil)
	if err != nil || !open.Next() {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "CREATE (:A)", nil); err != nil {
		t.Fatal(err)
	}
	if open.Next() {
		t.Error("rows go on after the next statement")
	}
	if err := tx.Commit(ctx); err != nil {
		t.Error(err)
	}
}

// TestRowsClosedEarly: closing rows changes nothing of what a statement writes (rules C3), and a read needs no more than its first rows.
func TestRowsClosedEarly(t *testing.T) {
	db := memory(t)
	ctx := context.Background()
	rows, err := db.Query(ctx, "UNWIND range(1, 5000) AS i CREATE (n:N {i: i}) RETURN n.i", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	if n := one(t, db, "MATCH (n:N) RETURN count(n)", nil); n != int64(5000) {
		t.Errorf("%v nodes before the rows were closed", n)
	}
	rows.Close()
	if res := rows.Result(); res.NodesCreated != 5000 {
		t.Errorf("%+v", res)
	}
	rows, err = db.Query(ctx, "UNWIND range(1, 1000000000) AS i RETURN i", nil)
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range rows.All() {
		if err != nil || row.Values()[0] == int64(3) {
			break
		}
	}
	if rows.Next() {
		t.Error("All leaves the rows open")
	}
}

func TestSchemaAndGraphs(t *testing.T) {
	db := memory(t)
	ctx := context.Background()
	mustExec(t, db, "CREATE (:A)", nil)
	other := db.Graph("other")
	if _, err := other.Exec(ctx, "CREATE (:B), (:B)", nil); err != nil {
		t.Fatal(err)
	}
	if n := one(t, other, "MATCH (n) RETURN count(n)", nil); n != int64(2) {
		t.Errorf("%v nodes in the other graph", n)
	}
	if err := other.Close(); err != nil { // its Close does nothing
		t.Error(err)
	}
	c := db.Conn()
	defer c.Close()
	names, err := c.Graphs(ctx)
	if err != nil || !reflect.DeepEqual(names, []string{"main", "other"}) {
		t.Errorf("%v, %v", names, err)
	}
	if s := c.Status(); s != 'I' {
		t.Errorf("status %c after Graphs", s)
	}
	sc, err := c.Schema(ctx)
	if err != nil || len(sc.Labels) != 1 || sc.Labels[0] != (hedgerow.Count{Name: "A", Count: 1}) {
		t.Errorf("%+v, %v", sc, err)
	}
}

// TestDirectory: what was committed is there after Close, a second process is told who holds the directory, Close may be called twice.
func TestDirectory(t *testing.T) {
	if dir := os.Getenv("HEDGEROW_TEST_OPEN"); dir != "" { // the second process
		_, err := hedgerow.Open(dir, nil)
		fmt.Println("answer:", err)
		return
	}
	dir := filepath.Join(t.TempDir(), "a.hedge")
	db, err := hedgerow.Open(dir, &hedgerow.Options{CacheBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, db, "CREATE (:A {x: 1})", nil)
	_, err = hedgerow.Open(dir, nil)
	e := wantState(t, err, "55006")
	pid := fmt.Sprintf("in use by pid %d", os.Getpid())
	if !strings.Contains(e.Message, pid) || e.Hint == "" {
		t.Errorf("%v", e)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestDirectory$", "-test.v")
	cmd.Env = append(os.Environ(), "HEDGEROW_TEST_OPEN="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), pid) {
		t.Errorf("second process: %v\n%s", err, out)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := db.Query(context.Background(), "RETURN 1", nil); err == nil {
		t.Error("a closed database answers")
	}
	db, err = hedgerow.Open(dir, &hedgerow.Options{CacheBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if one(t, db, "MATCH (a:A) RETURN a.x", nil) != int64(1) {
		t.Error("what was committed is gone")
	}
	if faults, err := db.Check(context.Background()); err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}
	if err := db.Checkpoint(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestQuerySQL(t *testing.T) {
	db := memory(t)
	ctx := context.Background()
	mustExec(t, db, "CREATE (:P {n: 1}), (:P {n: 2})", nil)
	rows, err := db.QuerySQL(ctx, "SELECT n FROM cypher('main', $$ MATCH (p:P) RETURN p.n $$) AS (n agtype) WHERE n > $1 ORDER BY n", 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := hedgerow.Collect[int](rows)
	if err != nil || !reflect.DeepEqual(got, []int{2}) {
		t.Errorf("%v, %v", got, err)
	}
	if tag, err := db.ExecSQL(ctx, "SELECT create_graph('another')"); err != nil || tag != "SELECT 1" {
		t.Errorf("%q, %v", tag, err)
	}
	if _, err = db.ExecSQL(ctx, "SELECT $2::int", 1); err == nil {
		t.Error("two parameters, one argument")
	}
	_, err = db.ExecSQL(ctx, "SELECT $1::int", "x")
	wantState(t, err, "22P02")
	_, err = db.QuerySQL(ctx, "SELECT nonsense FROM nowhere")
	if e := wantState(t, err, "42P01"); e.Line != 1 {
		t.Errorf("%+v", e)
	}
}
