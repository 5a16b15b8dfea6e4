package exec_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/qtest"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// small are statements of which every operator that serves again is a part.
var small = []string{
	"RETURN 1 AS one, $p AS p",
	"MATCH (n:N {id: $p}) RETURN n.name AS name, n",
	"MATCH (n:N) WHERE id(n) = $p RETURN n",
	"MATCH (n:N {id: $p})-[r:R]->(m) RETURN m.id AS id, r, type(r) AS t ORDER BY id",
	"MATCH (n:N {id: $p}) OPTIONAL MATCH (n)-[:R]-(m {id: 99}) RETURN n.id AS id, m",
	"MATCH (a:N {id: $p})-[:R]->(b) MATCH (a)-[r]->(b) RETURN count(r) AS c",
	"MATCH (n:N) RETURN count(*) AS c",
	"MATCH ()-[r:R]->() RETURN count(r) AS c",
	"MATCH (n:N) WHERE n.id > $p RETURN n.id AS id ORDER BY id DESC SKIP 1 LIMIT 3",
	"MATCH (n:N) RETURN n.id % 2 AS k, count(*) AS c, collect(n.name) AS l, max(n.id) AS m ORDER BY k",
	"MATCH (n:N) RETURN DISTINCT n.id % 3 AS k ORDER BY k",
	"UNWIND [1, $p, 3] AS x WITH x WHERE x > 1 RETURN x, toString(x) AS s",
	"UNWIND range(1, $p) AS x RETURN sum(x) AS s",
	"UNWIND range(1, 500 * $p) AS x WITH x WHERE x % 2 = 0 RETURN sum(x) AS s", // batches as large as they become
	"MATCH (n:N {id: $p})-[:R]-()-[:R]-()-[:R]-()-[:R]-()-[:R]-() RETURN count(*) AS c",
	"MATCH path = (n:N {id: $p})-[:R]->(m) RETURN path ORDER BY m.id",
	"MATCH (n:N {id: $p}) WHERE n:N OR n:M RETURN labels(n) AS l",
	"MATCH (n:N {id: $p}) WHERE EXISTS { (n)-[:R]->(:N) } RETURN n.id AS id",
	"MATCH (n:N {id: $p}) RETURN COUNT { (n)--() } AS c, [(n)-[:R]->(m) | m.name] AS names",
	"CREATE (a:New {id: $p, s: 'text'})-[:R {w: $p}]->(b:New) RETURN a, b",
	"MATCH (a:N {id: $p}), (b:N {id: 1}) CREATE (a)-[r:S {w: 1}]->(b) RETURN r.w AS w",
	"MATCH (n:N {id: $p}) SET n.seen = true, n:Seen RETURN n",
	"MATCH (n:N {id: $p}) SET n += {a: $p, b: 'text'} RETURN n.a AS a",
	"MATCH (n:N {id: $p}) REMOVE n.name, n:N RETURN n",
	"MATCH (n:N {id: $p}) DETACH DELETE n RETURN count(*) AS c",
	"MATCH (n:N {id: $p}) WITH n, 1 AS one CREATE (m:New {of: n.id}) WITH m MATCH (x:New) RETURN count(x) AS c",
	"MATCH (n:N {id: $p}) RETURN n.id / ($p - 3) AS q", // fails for 3
}

func smallGraph(t testing.TB) *qtest.DB {
	d := qtest.New(nil)
	d.Must(t, "CREATE CONSTRAINT FOR (n:N) REQUIRE n.id IS UNIQUE", nil)
	d.Must(t, "UNWIND range(1, 6) AS i CREATE (:N {id: i, name: 'name ' + toString(i)})", nil)
	d.Must(t, "MATCH (a:N), (b:N) WHERE a.id < b.id CREATE (a)-[:R {w: a.id}]->(b)", nil)
	d.Exec = exec.Options{Poison: true}
	return d
}

// once runs a prepared statement in a transaction that is rolled back, and returns its rows or its error as text. As long as pulls is not 0, it
// pulls so often only.
func once(t testing.TB, d *qtest.DB, p *exec.Prepared, param int, pulls int, between func()) (out string, stmt store.Stmt, g store.Graph) {
	t.Helper()
	ctx := context.Background()
	tx := begin(t, d)
	defer tx.Rollback()
	stmt, err := tx.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	if g, err = stmt.Graph(ctx, d.Graph); err != nil {
		t.Fatal(err)
	}
	named := map[string]value.Value{"p": value.NewInt(int64(param))}
	params, err := p.Params(named)
	if err != nil {
		t.Fatal(err)
	}
	cur, err := p.Run(ctx, stmt, g, params, d.Exec)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := 0; pulls == 0 || i < pulls; i++ {
		n, err := cur.Next()
		if err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
			break
		}
		if between != nil {
			between()
		}
		if n == 0 {
			break
		}
		for r := range n {
			for _, v := range cur.Row(r) {
				b.Write(value.AppendTCK(nil, v))
				b.WriteByte('\t')
			}
			b.WriteByte('\n')
		}
	}
	cur.Close()
	cur.Close() // twice does no harm: it does not reach what others use by now
	if cur.Accounted() != 0 {
		t.Errorf("%d bytes are accounted after Close", cur.Accounted())
	}
	_ = cur.Counters().RowsRead
	return b.String(), stmt, g
}

// TestReuse is E7: a statement that runs on what another execution of its plan has left gives what it gives with operators of its own,
// whatever the other was: one that ended, that was left in the middle, that failed, or that is still running.
func TestReuse(t *testing.T) {
	d := smallGraph(t)
	for _, text := range small {
		tx := begin(t, d)
		fresh := func() *exec.Prepared { return prepare(t, d, tx, text) }
		p, want := fresh(), map[int]string{}
		for param := 1; param <= 6; param++ {
			want[param], _, _ = once(t, d, fresh(), param, 0, nil)
		}
		check := func(how string, param int, between func()) {
			t.Helper()
			if got, _, _ := once(t, d, p, param, 0, between); got != want[param] {
				t.Errorf("%s, %s, $p = %d:\n%swant\n%s", text, how, param, got, want[param])
			}
		}
		for round := range 2 {
			for param := 1; param <= 6; param++ {
				check("again", param, nil)
				if round == 1 {
					once(t, d, p, 1+param%6, 1, nil)
					check("after one that was left", param, nil)
				}
			}
		}
		if !p.Query.ReadOnly {
			_ = tx.Rollback()
			continue // a writer beside it would wait for it
		}
		check("beside another", 2, func() {
			if got, _, _ := once(t, d, p, 5, 0, nil); got != want[5] {
				t.Errorf("%s inside of itself:\n%swant\n%s", text, got, want[5])
			}
		})
		_ = tx.Rollback()
	}
}

// TestReuseIsUsed: most small statements find what an earlier execution has left, and allocate little.
func TestReuseIsUsed(t *testing.T) {
	if raceDetector {
		t.Skip("a pool drops what it is given at random under the race detector")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools
	d := smallGraph(t)
	for _, text := range small {
		tx := begin(t, d)
		p := prepare(t, d, tx, text)
		for range 3 {
			once(t, d, p, 2, 0, nil)
		}
		subqueries := strings.Contains(text, "EXISTS {") || strings.Contains(text, "COUNT {") || strings.Contains(text, "[(")
		if got := exec.Reused(p); got != 2 && !subqueries {
			t.Errorf("%s: %d of 2 executions found what the one before had left", text, got)
		}
		_ = tx.Rollback()
	}
}

// TestReuseKeepsNothing: what an execution leaves holds nothing of the statement that it served, and no statement that failed, was
// cancelled or was a large one leaves anything.
func TestReuseKeepsNothing(t *testing.T) {
	if raceDetector {
		t.Skip("a pool drops what it is given at random under the race detector")
	}
	d := smallGraph(t)
	tx := begin(t, d)
	defer tx.Rollback()
	for _, text := range small[:len(small)-1] {
		p := prepare(t, d, tx, text)
		_, stmt, g := once(t, d, p, 2, 0, nil)
		left := exec.Idle(p)
		if left == nil {
			continue
		}
		seen := map[any]bool{}
		reach(reflect.ValueOf(left), "run", seen, func(path string, v reflect.Value) {
			if v.Pointer() == reflect.ValueOf(stmt).Pointer() || v.Pointer() == reflect.ValueOf(g).Pointer() {
				t.Errorf("%s: %s holds the statement's %s", text, path, v.Type())
			}
		})
	}
	fails := prepare(t, d, tx, small[len(small)-1])
	if out, _, _ := once(t, d, fails, 3, 0, nil); !strings.HasPrefix(out, "error:") || exec.Idle(fails) != nil {
		t.Errorf("a statement that failed has left its operators: %s", out)
	}
	stopped := prepare(t, d, tx, "MATCH (a:N), (b:N) RETURN a.id AS a, b.id AS b ORDER BY a, b")
	d.Exec.Cancel = new(atomic.Bool)
	d.Exec.Cancel.Store(true)
	if out, _, _ := once(t, d, stopped, 1, 0, nil); !strings.HasPrefix(out, "error:") || exec.Idle(stopped) != nil {
		t.Errorf("a statement that was stopped has left its operators: %s", out)
	}
	d.Exec.Cancel = nil
	for _, text := range []string{
		"UNWIND range(1, 100000) AS x RETURN count(DISTINCT x) AS c",
		"UNWIND range(1, 10) AS x RETURN reduce(s = 'text', i IN range(1, 15) | s + s) AS s",
	} {
		large := prepare(t, d, tx, text)
		if once(t, d, large, 1, 0, nil); exec.Idle(large) != nil {
			t.Errorf("%s has left its operators", text)
		}
	}
}

// reach calls f for every pointer that v leads to, closures apart.
func reach(v reflect.Value, path string, seen map[any]bool, f func(string, reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		f(path, v)
		k := [2]any{v.Pointer(), v.Type()}
		if seen[k] || strings.HasSuffix(path, ".p") || strings.HasSuffix(path, ".q") {
			return
		}
		seen[k] = true
		reach(v.Elem(), path, seen, f)
	case reflect.Interface:
		reach(v.Elem(), path, seen, f)
	case reflect.Struct:
		for i := range v.NumField() {
			reach(v.Field(i), path+"."+v.Type().Field(i).Name, seen, f)
		}
	case reflect.Slice, reflect.Array:
		if k := v.Type().Elem().Kind(); k == reflect.Struct || k == reflect.Pointer || k == reflect.Interface || k == reflect.Slice || k == reflect.Array {
			for i := range v.Len() {
				reach(v.Index(i), fmt.Sprintf("%s[%d]", path, i), seen, f)
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			reach(it.Value(), path+"[]", seen, f)
		}
	}
}
