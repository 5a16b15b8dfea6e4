package bolt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
	"github.com/neo4j/neo4j-go-driver/v5/neo4j/db"
)

var ctx = context.Background()

// driver opens Neo4j's Go driver.
func (s *testServer) driver(t testing.TB, scheme string) neo4j.DriverWithContext {
	t.Helper()
	d, err := neo4j.NewDriverWithContext(scheme+"://"+s.addr, neo4j.BasicAuth("ada", "pw", ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close(ctx) })
	if err := d.VerifyConnectivity(ctx); err != nil {
		t.Fatal(err)
	}
	return d
}

func run(t testing.TB, d neo4j.DriverWithContext, text string, params map[string]any, opts ...neo4j.ExecuteQueryConfigurationOption) *neo4j.EagerResult {
	t.Helper()
	r, err := neo4j.ExecuteQuery(ctx, d, text, params, neo4j.EagerResultTransformer, opts...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

// code is the Neo4j code of a driver's error.
func code(err error) string {
	var e *db.Neo4jError
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}

// TestGoValues: every type of value there and back, alone, in a list and in a map, and as a property where it may be one.
func TestGoValues(t *testing.T) {
	s := serve(t, Options{})
	d := s.driver(t, "bolt")
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("é", 70000)
	stored := []any{
		true, false, int64(0), int64(-17), int64(128), int64(-129), int64(40000), int64(-40000), int64(math.MaxInt32) + 1, int64(math.MaxInt64), int64(math.MinInt64),
		1.5, math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324, "", "é😀", big, []byte{}, []byte{0, 1, 255},
		neo4j.DateOf(time.Date(2020, 2, 29, 0, 0, 0, 0, time.UTC)), neo4j.DateOf(time.Date(-4, 1, 1, 0, 0, 0, 0, time.UTC)),
		neo4j.LocalTimeOf(time.Date(0, 1, 1, 23, 59, 59, 999999999, time.Local)),
		neo4j.OffsetTimeOf(time.Date(0, 1, 1, 12, 30, 0, 5, time.FixedZone("Offset", -3600))),
		neo4j.LocalDateTimeOf(time.Date(1969, 12, 31, 23, 59, 59, 1, time.Local)),
		time.Date(2020, 7, 1, 12, 0, 0, 123456789, time.FixedZone("Offset", 5400)), time.Date(2020, 7, 1, 12, 0, 0, 7, paris), time.Date(1800, 1, 1, 0, 0, 0, 0, paris),
		neo4j.DurationOf(14, -3, 7, 999), neo4j.DurationOf(0, 0, -1, 1),
		neo4j.Point2D{X: 1, Y: -2.5, SpatialRefId: 7203}, neo4j.Point3D{X: 1, Y: 2, Z: 3, SpatialRefId: 9157},
		neo4j.Point2D{X: 12.5, Y: 55.25, SpatialRefId: 4326}, neo4j.Point3D{X: 12.5, Y: 55.25, Z: 100, SpatialRefId: 4979},
	}
	check := func(what string, got, want any) {
		t.Helper()
		if a, ok := got.(time.Time); ok {
			b, _ := want.(time.Time)
			_, ao := a.Zone()
			_, bo := b.Zone()
			if !a.Equal(b) || ao != bo || a.Location().String() != b.Location().String() {
				t.Errorf("%s: %v came back as %v", what, want, got)
			}
			return
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %.80v came back as %.80v", what, want, got)
		}
	}
	for i, v := range stored {
		r := run(t, d, "CREATE (n:V {i: $i, v: $v}) RETURN $v AS a, n.v AS b, [$v][0] AS c, {k: $v}.k AS d, n", map[string]any{"i": i, "v": v})
		rec := r.Records[0]
		for k := range 4 {
			check(fmt.Sprintf("%T by way %d", v, k), rec.Values[k], v)
		}
		check("property", rec.Values[4].(neo4j.Node).Props["v"], v)
		if found := run(t, d, "MATCH (n:V {v: $v}) RETURN collect(n.i) AS i", map[string]any{"v": v}); !strings.Contains(fmt.Sprint(found.Records[0].Values[0]), fmt.Sprint(i)) {
			t.Errorf("%T %.40v is not found by value", v, v)
		}
	}
	for _, v := range []any{
		nil, []any{}, []any{int64(1), "a", nil, []any{2.5, []any{}}}, map[string]any{}, map[string]any{"": int64(1), "k": map[string]any{"l": []any{nil, true}}},
		[]any{map[string]any{"a": []any{neo4j.DurationOf(1, 2, 3, 4)}}},
	} {
		check("container", run(t, d, "RETURN $v AS v", map[string]any{"v": v}).Records[0].Values[0], v)
	}
	if f := run(t, d, "RETURN $v AS v", map[string]any{"v": math.NaN()}).Records[0].Values[0].(float64); !math.IsNaN(f) {
		t.Errorf("NaN came back as %v", f)
	}
	if f := run(t, d, "RETURN $v AS v", map[string]any{"v": math.Copysign(0, -1)}).Records[0].Values[0].(float64); !math.Signbit(f) {
		t.Errorf("-0.0 came back as %v", f)
	}
}

// TestGoEntities: nodes, relationships and paths carry what belongs to them.
func TestGoEntities(t *testing.T) {
	s := serve(t, Options{})
	d := s.driver(t, "neo4j")
	r := run(t, d, "CREATE p = (a:A:B {k: 1})-[r:R {w: 2}]->(b)<-[q:Q]-(a) RETURN p, a, r, b, elementId(a) AS ea, elementId(r) AS er, id(a) AS ia", nil)
	rec := r.Records[0].AsMap()
	p, a, rel, b := rec["p"].(neo4j.Path), rec["a"].(neo4j.Node), rec["r"].(neo4j.Relationship), rec["b"].(neo4j.Node)
	if !reflect.DeepEqual(a.Labels, []string{"A", "B"}) || !reflect.DeepEqual(a.Props, map[string]any{"k": int64(1)}) || a.ElementId != rec["ea"] || a.GetId() != rec["ia"] {
		t.Errorf("node %+v", a)
	}
	if rel.Type != "R" || rel.StartElementId != a.ElementId || rel.EndElementId != b.ElementId || rel.ElementId != rec["er"] || !reflect.DeepEqual(rel.Props, map[string]any{"w": int64(2)}) {
		t.Errorf("relationship %+v", rel)
	}
	if len(p.Nodes) != 3 || len(p.Relationships) != 2 || p.Nodes[0].ElementId != a.ElementId || p.Nodes[1].ElementId != b.ElementId || p.Nodes[2].ElementId != a.ElementId {
		t.Errorf("path %+v", p)
	}
	if q := p.Relationships[1]; q.Type != "Q" || q.StartElementId != a.ElementId || q.EndElementId != b.ElementId {
		t.Errorf("second relationship %+v", q)
	}
	c := r.Summary.Counters()
	if c.NodesCreated() != 2 || c.RelationshipsCreated() != 2 || c.LabelsAdded() != 2 || c.PropertiesSet() != 2 || !c.ContainsUpdates() {
		t.Errorf("counters %+v", c)
	}
	if r.Summary.Database().Name() != "main" || r.Summary.StatementType() != neo4j.StatementTypeReadWrite {
		t.Errorf("summary: database %s, type %v", r.Summary.Database().Name(), r.Summary.StatementType())
	}
	// Entities are results, not parameters.
	_, err := neo4j.ExecuteQuery(ctx, d, "RETURN $a AS a", map[string]any{"a": a}, neo4j.EagerResultTransformer)
	if err == nil {
		t.Error("a node is taken as a parameter")
	}
	if r := run(t, d, "MATCH (a:A) DELETE a.nothing RETURN 1 AS x", nil); len(r.Records) != 1 {
		t.Error(r.Records)
	}
}

// TestGoErrors: what is wrong comes with the code that drivers and their users branch on.
func TestGoErrors(t *testing.T) {
	s := serve(t, Options{})
	d := s.driver(t, "bolt")
	run(t, d, "CREATE CONSTRAINT FOR (n:U) REQUIRE n.k IS UNIQUE", nil)
	run(t, d, "CREATE (:U {k: 1})-[:R]->(:W)", nil)
	for _, c := range []struct {
		text string
		want string
		opts []neo4j.ExecuteQueryConfigurationOption
	}{
		{"RETURN 1 +", "Neo.ClientError.Statement.SyntaxError", nil},
		{"RETURN x", "Neo.ClientError.Statement.SyntaxError", nil},
		{"DROP INDEX nope", "Neo.ClientError.Schema.IndexNotFound", nil},
		{"DROP CONSTRAINT nope", "Neo.ClientError.Schema.ConstraintNotFound", nil},
		{"RETURN $p AS p", "Neo.ClientError.Statement.ParameterMissing", nil},
		{"WITH $p AS p RETURN p.k.l", "Neo.ClientError.Statement.ParameterMissing", nil},
		{"WITH [1] AS p RETURN p.k", "Neo.ClientError.Statement.TypeError", nil},
		{"RETURN 1 / 0 AS x", "Neo.ClientError.Statement.ArithmeticError", nil},
		{"CREATE (:U {k: 1})", "Neo.ClientError.Schema.ConstraintValidationFailed", nil},
		{"MATCH (n:U) DELETE n", "Neo.ClientError.Schema.ConstraintValidationFailed", nil},
		{"CALL no.such()", "Neo.ClientError.Procedure.ProcedureNotFound", nil},
		{"RETURN 1 AS x", "Neo.ClientError.Database.DatabaseNotFound", []neo4j.ExecuteQueryConfigurationOption{neo4j.ExecuteQueryWithDatabase("nowhere")}},
		{"CREATE (:X)", "Neo.ClientError.Statement.AccessMode", []neo4j.ExecuteQueryConfigurationOption{neo4j.ExecuteQueryWithReadersRouting()}},
	} {
		_, err := neo4j.ExecuteQuery(ctx, d, c.text, map[string]any{"q": 1}, neo4j.EagerResultTransformer, c.opts...)
		if got := code(err); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
	sess := d.NewSession(ctx, neo4j.SessionConfig{})
	defer sess.Close(ctx)
	r, err := sess.Run(ctx, "UNWIND range(1, 1000000000) AS x WITH x WHERE x < 0 RETURN x", nil, neo4j.WithTxTimeout(100*time.Millisecond))
	if err == nil {
		_, err = r.Consume(ctx)
	}
	if code(err) != "Neo.ClientError.Transaction.TransactionTimedOut" {
		t.Error(err)
	}
}

// TestGoRetry: a managed transaction that loses against another one is run again, by itself.
func TestGoRetry(t *testing.T) {
	s := serve(t, Options{})
	d := s.driver(t, "bolt")
	run(t, d, "CREATE (:C {k: 1, n: 0}), (:C {k: 2, n: 0})", nil)
	first := map[bool]chan struct{}{true: make(chan struct{}), false: make(chan struct{})}
	var mu sync.Mutex
	tries := 0
	// Two transactions lock the two nodes in opposite order: one of them is a victim of the deadlock.
	work := func(up bool) error {
		sess := d.NewSession(ctx, neo4j.SessionConfig{})
		defer sess.Close(ctx)
		a, b := 1, 2
		if !up {
			a, b = 2, 1
		}
		once := sync.OnceFunc(func() { close(first[up]) })
		_, err := sess.ExecuteWrite(ctx, func(tx neo4j.ManagedTransaction) (any, error) {
			mu.Lock()
			tries++
			mu.Unlock()
			for _, k := range []int{a, b} {
				r, err := tx.Run(ctx, "MATCH (c:C {k: $k}) SET c.n = c.n + 1", map[string]any{"k": k})
				if err != nil {
					return nil, err
				}
				if _, err = r.Consume(ctx); err != nil {
					return nil, err
				}
				once()
				<-first[!up]
			}
			return nil, nil
		})
		return err
	}
	var wg sync.WaitGroup
	for _, up := range []bool{true, false} {
		wg.Go(func() {
			if err := work(up); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r := run(t, d, "MATCH (c:C) RETURN sum(c.n) AS n", nil)
	if n := r.Records[0].Values[0]; n != int64(4) || tries < 3 {
		t.Errorf("after %d tries the sum is %v", tries, n)
	}
}

// TestGoStream: 100,000 rows are streamed, and nothing of it stays.
func TestGoStream(t *testing.T) {
	s := serve(t, Options{})
	d := s.driver(t, "bolt")
	sess := d.NewSession(ctx, neo4j.SessionConfig{FetchSize: 1000})
	defer sess.Close(ctx)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse)
	}
	before := heap()
	r, err := sess.Run(ctx, "UNWIND range(1, 100000) AS x RETURN x, {k: x, s: 'row ' + toString(x)} AS m", nil)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for r.Next(ctx) {
		if n++; r.Record().Values[0] != n {
			t.Fatalf("row %d is %v", n, r.Record().Values)
		}
		if n%25_000 == 0 {
			if grown := heap() - before; grown > 8<<20 {
				t.Errorf("after %d rows the heap has grown by %d bytes", n, grown)
			}
		}
	}
	if r.Err() != nil || n != 100_000 {
		t.Errorf("%d rows, %v", n, r.Err())
	}
	// Part of a result is enough; the rest is thrown away.
	r, err = sess.Run(ctx, "UNWIND range(1, 1000000000) AS x RETURN x", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Next(ctx)
	if _, err := r.Consume(ctx); err != nil {
		t.Error(err)
	}
}

// TestGoTransactions: explicit transactions with several results, rollback, bookmarks and metadata.
func TestGoTransactions(t *testing.T) {
	s := serve(t, Options{})
	d := s.driver(t, "neo4j")
	sess := d.NewSession(ctx, neo4j.SessionConfig{})
	defer sess.Close(ctx)
	tx, err := sess.BeginTransaction(ctx, neo4j.WithTxMetadata(map[string]any{"app": "test"}), neo4j.WithTxTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	a, err := tx.Run(ctx, "UNWIND range(1, 3000) AS x RETURN x", nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Next(ctx)
	b, err := tx.Run(ctx, "CREATE (n:N {k: 1}) RETURN n.k AS k", nil)
	if err != nil {
		t.Fatal(err)
	}
	if rec, err := b.Single(ctx); err != nil || rec.Values[0] != int64(1) {
		t.Error(rec, err)
	}
	n := 1
	for a.Next(ctx) {
		n++
	}
	if n != 3000 || a.Err() != nil {
		t.Errorf("%d rows, %v", n, a.Err())
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Error(err)
	}
	if _, err := sess.ExecuteWrite(ctx, func(tx neo4j.ManagedTransaction) (any, error) { return tx.Run(ctx, "CREATE (:N)", nil) }); err != nil {
		t.Fatal(err)
	}
	marks := sess.LastBookmarks()
	if len(marks) != 1 || !strings.HasPrefix(marks[0], bookmarkPrefix) {
		t.Errorf("bookmarks %v", marks)
	}
	next := d.NewSession(ctx, neo4j.SessionConfig{Bookmarks: marks, AccessMode: neo4j.AccessModeRead})
	defer next.Close(ctx)
	got, err := next.ExecuteRead(ctx, func(tx neo4j.ManagedTransaction) (any, error) {
		r, err := tx.Run(ctx, "MATCH (n:N) RETURN count(n) AS n", nil)
		if err != nil {
			return nil, err
		}
		rec, err := r.Single(ctx)
		return rec.Values[0], err
	})
	if err != nil || got != int64(1) {
		t.Errorf("behind the bookmark: %v, %v", got, err)
	}
	bad := d.NewSession(ctx, neo4j.SessionConfig{Bookmarks: []string{"FB:whatever"}})
	defer bad.Close(ctx)
	if _, err := bad.Run(ctx, "RETURN 1 AS x", nil); code(err) != "Neo.ClientError.Transaction.InvalidBookmark" {
		t.Errorf("a foreign bookmark: %v", err)
	}
}

// TestGoCancel: a driver whose context ends gives its connection up, and the server notices.
func TestGoCancel(t *testing.T) {
	s := serve(t, Options{})
	d := s.driver(t, "bolt")
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if _, err := neo4j.ExecuteQuery(short, d, "UNWIND range(1, 1000000000) AS x WITH x WHERE x < 0 RETURN x", nil, neo4j.EagerResultTransformer); err == nil {
		t.Error("the statement has ended")
	}
	for start := time.Now(); s.busy() > 0; {
		if time.Since(start) > 30*time.Second {
			t.Fatal("the statement goes on")
		}
		time.Sleep(5 * time.Millisecond)
	}
	run(t, d, "RETURN 1 AS x", nil)
}

// TestGoPlans: EXPLAIN, PROFILE and notices reach the driver's summary.
func TestGoPlans(t *testing.T) {
	s := serve(t, Options{})
	d := s.driver(t, "bolt")
	run(t, d, "UNWIND range(1, 10) AS i CREATE (:P {k: i})-[:R]->(:Q)", nil)
	r := run(t, d, "EXPLAIN MATCH (p:P)-[:R]->(q) RETURN p.k AS k, q", nil)
	if len(r.Records) != 0 || !reflect.DeepEqual(r.Keys, []string{"k", "q"}) {
		t.Errorf("EXPLAIN gives %v, %d rows", r.Keys, len(r.Records))
	}
	p := r.Summary.Plan()
	if p == nil || p.Operator() != "ProduceResults" || !reflect.DeepEqual(p.Identifiers(), []string{"k", "q"}) || len(p.Children()) != 1 || p.Arguments()["planner"] != "COST" {
		t.Errorf("plan %+v", p)
	}
	r = run(t, d, "PROFILE MATCH (p:P)-[:R]->(q) RETURN p.k AS k, q", nil)
	if len(r.Records) != 10 || len(r.Records[0].Keys) != 2 {
		t.Errorf("PROFILE gives %d rows", len(r.Records))
	}
	pr := r.Summary.Profile()
	if pr == nil || pr.Records() != 10 || pr.Operator() != "ProduceResults" {
		t.Fatalf("profile %+v", pr)
	}
	hits := int64(0)
	var walk func(neo4j.ProfiledPlan)
	walk = func(p neo4j.ProfiledPlan) {
		hits += p.DbHits()
		for _, c := range p.Children() {
			walk(c)
		}
	}
	walk(pr)
	if hits < 20 {
		t.Errorf("%d hits for ten nodes and ten relationships", hits)
	}
	r = run(t, d, "MATCH (n:Nope) RETURN n", nil)
	statuses := r.Summary.GqlStatusObjects()
	if len(statuses) != 2 || statuses[0].GqlStatus() != "02000" || statuses[1].GqlStatus() != "01N50" {
		t.Errorf("statuses %+v", statuses)
	}
	if n := r.Summary.Notifications(); len(n) != 1 || n[0].Code() != "Neo.ClientNotification.Statement.UnknownLabelWarning" || n[0].Position().Column() != 10 {
		t.Errorf("notifications %+v", n)
	}
}
