package qtest

import (
	"context"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// probe notices every look of a statement at whether it is to stop, in the engine below by the context and elsewhere by the flag.
type probe struct {
	context.Context
	done  chan struct{}
	flag  atomic.Bool
	looks int // so far
	at    int // the look that finds the statement cancelled; 0 means none
	late  int // looks after that one
}

func newProbe(at int) *probe {
	return &probe{Context: context.Background(), done: make(chan struct{}), at: at}
}

func (p *probe) Done() <-chan struct{} { return p.done }

func (p *probe) Err() error {
	p.look()
	if p.flag.Load() {
		return context.Canceled
	}
	return nil
}

func (p *probe) look() {
	if p.flag.Load() {
		p.late++
		return
	}
	if p.looks++; p.looks == p.at {
		p.flag.Store(true)
		close(p.done)
	}
}

// lines is a file of so many lines.
type lines int

func (n lines) Open(string) (io.ReadCloser, string, error) {
	return io.NopCloser(strings.NewReader(strings.Repeat("a,b,c\n", int(n)))), "/lines", nil
}

// loop is a statement that does a known amount of work in one place.
type loop struct {
	name, text string
	looks      int  // the fewest looks that the work needs: one a batch, 1,024 edges, 4,096 comparisons or 256 KiB of text
	small      bool // WorkMem so small that it spills
}

const batch = 1024

var loops = []loop{
	{name: "unwind", text: "UNWIND range(1, 300000) AS x WITH x WHERE x < 0 RETURN x", looks: 300000 / batch},
	{name: "unwind a list", text: "WITH range(1, 300000) AS l UNWIND l AS x WITH x WHERE x < 0 RETURN x", looks: 300000 / batch},
	{name: "sort", text: "UNWIND range(1, 200000) AS x WITH x ORDER BY -x % 1009 RETURN collect(x)[0] AS a", looks: 2 * 200000 / batch},
	{name: "sort, spilled", text: "UNWIND range(1, 200000) AS x WITH x ORDER BY -x % 1009 SKIP 10 RETURN x LIMIT 1", looks: 2 * 200000 / batch, small: true},
	{name: "top", text: "UNWIND range(1, 300000) AS x WITH x ORDER BY -x % 1009 LIMIT 10 RETURN x", looks: 300000 / batch},
	{name: "distinct", text: "UNWIND range(1, 200000) AS x WITH DISTINCT x RETURN max(x) AS m", looks: 200000 / batch},
	{name: "distinct, spilled", text: "UNWIND range(1, 200000) AS x WITH DISTINCT x RETURN max(x) AS m", looks: 200000 / batch, small: true},
	{name: "groups", text: "UNWIND range(1, 200000) AS x WITH x % 50000 AS k, count(*) AS c RETURN max(c) AS m", looks: 200000 / batch},
	{name: "groups, spilled", text: "UNWIND range(1, 200000) AS x WITH x % 50000 AS k, count(*) AS c RETURN max(c) AS m", looks: 200000 / batch, small: true},
	{name: "distinct in an aggregate", text: "UNWIND range(1, 200000) AS x RETURN count(DISTINCT x) AS c", looks: 200000 / batch},
	{name: "percentile", text: "UNWIND range(1, 300000) AS x RETURN percentileDisc(-x, 0.5) AS p", looks: 2 * 300000 / 4096},
	{name: "collect", text: "UNWIND range(1, 300000) AS x RETURN size(collect(x)) AS n", looks: 300000 / batch},
	{name: "collect, spilled", text: "UNWIND range(1, 300000) AS x RETURN size(collect(x)) AS n", looks: 300000 / batch, small: true},
	{name: "union", text: "UNWIND range(1, 100000) AS x RETURN x UNION UNWIND range(1, 100000) AS x RETURN x", looks: 200000 / batch},
	{name: "hash join", text: "MATCH (a:N), (b:N) WHERE a.x = b.y RETURN count(*) AS c", looks: 40000 / batch},
	{name: "hash join, spilled", text: "MATCH (a:N), (b:N) WHERE a.x = b.y RETURN count(*) AS c", looks: 40000 / batch, small: true},
	{name: "hash join of one key", text: "MATCH (a:M), (b:M) WHERE a.one = b.one AND a.x + b.x < 0 RETURN count(*) AS c", looks: 1500 * 1500 / batch},
	{name: "cartesian product", text: "MATCH (a:M), (b:M) WHERE a.x + b.x < 0 RETURN count(*) AS c", looks: 1500 * 1500 / batch},
	{name: "scan", text: "MATCH (n:N) WHERE n.y < 0 RETURN count(*) AS c", looks: 20000 / batch},
	{name: "expand", text: "MATCH (n:N)-[:R]->(m) WHERE m.x < 0 RETURN count(*) AS c", looks: 20000 / batch},
	{name: "expand from a hub", text: "MATCH (h:Hub)-[r:S]->(m) WHERE m.x < 0 RETURN count(*) AS c", looks: 20000 / batch},
	{name: "trails", text: "MATCH (:K {x: 1})-[:T*1..6]->(m) WHERE m.x < 0 RETURN count(*) AS c", looks: 60},
	{name: "quantified path", text: "MATCH (:K {x: 1}) ((a)-[:T]->(b) WHERE b.x > -1){1,6} (m) WHERE m.x < 0 RETURN count(*) AS c", looks: 60},
	{name: "any shortest", text: "MATCH p = ANY SHORTEST (:Hub)-[:S|R]->+(m:N) RETURN count(p) AS c", looks: 20000 / batch},
	{name: "shortest groups", text: "MATCH p = SHORTEST 2 GROUPS (:K {x: 1})-[:T]->+(:K {x: 7}) RETURN count(p) AS c", looks: 1},
	{name: "shortestPath", text: "MATCH (a:N {x: 1}), (b:N {x: 15000}) RETURN length(shortestPath((a)-[:R*]->(b))) AS n", looks: 15000 / batch},
	{name: "allShortestPaths", text: "MATCH (a:N {x: 1}), (b:N {x: 15000}) MATCH p = allShortestPaths((a)-[:R*]->(b)) RETURN count(p) AS n", looks: 15000 / batch},
	{name: "exists", text: "MATCH (n:N) WHERE NOT EXISTS { (n)-->(m) WHERE m.x > -1 } RETURN count(*) AS c", looks: 20000 / batch},
	{name: "pattern comprehension", text: "MATCH (n:N) RETURN sum(size([(n)-->(m) | m.x])) AS c", looks: 20000 / batch},
	{name: "call", text: "UNWIND range(1, 20000) AS x CALL (x) { UNWIND [x] AS y RETURN count(y) AS c } RETURN sum(c) AS s", looks: 20000 / batch},
	{name: "call in transactions", text: "UNWIND range(1, 3000) AS x CALL (x) { CREATE (:New {x: x}) } IN TRANSACTIONS OF 500 ROWS RETURN count(*) AS c", looks: 6},
	{name: "list comprehension", text: "RETURN size([x IN range(1, 300000) WHERE x % 2 = 0 | x + 1]) AS n", looks: 300000 / batch},
	{name: "nested comprehension", text: "RETURN size([x IN range(1, 600) WHERE any(y IN range(1, 600) WHERE y < 0)]) AS n", looks: 360000 / batch},
	{name: "reduce", text: "RETURN reduce(s = 0, x IN range(1, 300000) | s + x) AS s", looks: 300000 / 4096},
	{name: "all", text: "RETURN all(x IN range(1, 300000) WHERE x > 0) AS b", looks: 300000 / batch},
	{name: "range", text: "RETURN size(range(1, 3000000)) AS n", looks: 3000000 / 16384},
	{name: "in", text: "WITH range(1, 1000000) AS l UNWIND [-1, -2, -3] AS x RETURN x IN l AS b", looks: 3000000 / 4096},
	{name: "equal lists", text: "WITH range(1, 1000000) AS l, range(1, 1000000) AS m RETURN l = m AS b", looks: 2*1000000/16384 + 1000000/4096},
	{name: "less than lists", text: "WITH range(1, 1000000) AS l, range(1, 1000000) AS m RETURN l < m AS b", looks: 2*1000000/16384 + 1000000/4096},
	{name: "min of lists", text: "UNWIND range(1, 40) AS i WITH range(1, 100000) + i AS l RETURN size(min(l)) AS m", looks: 4000000 / 16384},
	{name: "distinct lists", text: "UNWIND range(1, 40) AS i WITH DISTINCT range(1, 100000) + (i % 2) AS l RETURN count(l) AS m", looks: 4000000 / 16384},
	{name: "sort of lists", text: "UNWIND range(1, 40) AS i WITH range(1, 100000) + -i AS l ORDER BY l RETURN count(l[0]) AS m, collect(l[100000])[0] AS n", looks: 4000000 / 16384},
	{name: "reverse", text: "RETURN size(reverse(range(1, 1000000))) AS n", looks: 2 * 1000000 / 16384},
	{name: "tail", text: "RETURN size(tail(range(1, 1000000))) AS n", looks: 2 * 1000000 / 16384},
	{name: "list concatenation", text: "WITH range(1, 1000000) AS l RETURN size(l + l) AS n", looks: 3 * 1000000 / 16384},
	{name: "toStringList", text: "RETURN size(toStringList(range(1, 300000))) AS n", looks: 300000 / 16384},
	{name: "toString of a text", text: "WITH " + text + " RETURN size(toString(s)) AS n", looks: 1},
	{name: "toUpper", text: "WITH " + text + " RETURN size(toUpper(s)) AS n", looks: 8},
	{name: "replace", text: "WITH " + text + " RETURN size(replace(s, 'x', 'yz')) AS n", looks: 8},
	{name: "split", text: "WITH " + text + " RETURN size(split(s, 'x')) AS n", looks: 8},
	{name: "reverse of a text", text: "WITH " + text + " RETURN size(reverse(s)) AS n", looks: 8},
	{name: "substring", text: "WITH " + text + " RETURN size(substring(s, 1000)) AS n", looks: 8},
	{name: "trim", text: "WITH " + text + " RETURN size(btrim(s, 'x')) AS n", looks: 8},
	{name: "contains", text: "WITH " + text + " RETURN s CONTAINS 'xy' AS b", looks: 8},
	{name: "concatenation", text: "WITH " + text + " RETURN size(s + s) AS n", looks: 8},
	{name: "normalize", text: "WITH " + text + " RETURN size(normalize(s)) AS n", looks: 8},
	{name: "regular expression", text: "WITH " + text + " RETURN s =~ '(x+x+)+y' AS b", looks: 8},
	{name: "toInteger", text: "WITH " + text + " RETURN toInteger(s) AS n", looks: 1},
	{name: "load csv", text: "LOAD CSV FROM 'file:///lines' AS r WITH r WHERE r[0] = 'z' RETURN count(*) AS c", looks: 100000 / batch},
	{name: "create", text: "UNWIND range(1, 20000) AS x CREATE (:New {x: x})", looks: 20000 / batch},
	{name: "create a path", text: "UNWIND range(1, 10000) AS x CREATE (:New {x: x})-[:R]->(:New)", looks: 10000 / batch},
	{name: "merge", text: "UNWIND range(1, 5000) AS x MERGE (n:Merged {x: x % 100})", looks: 5000 / batch},
	{name: "merge of a path", text: "UNWIND range(1, 2000) AS x MERGE (n:Merged {x: x % 100})-[:P]->(m:Other {x: x % 100})", looks: 2000},
	{name: "set", text: "MATCH (n:N) SET n.z = n.x", looks: 20000 / batch},
	{name: "set labels", text: "MATCH (n:N) SET n:New", looks: 20000 / batch},
	{name: "delete", text: "MATCH (n:N)-[r:R]->() DELETE r", looks: 20000 / batch},
	{name: "detach delete a hub", text: "MATCH (h:Hub) DETACH DELETE h", looks: 20000 / batch},
	{name: "foreach", text: "FOREACH (x IN range(1, 20000) | CREATE (:New {x: x}))", looks: 20000 / batch},
	{name: "eager", text: "MATCH (n:N) CREATE (m:N {x: n.x}) WITH m MATCH (k:N {x: -1}) RETURN count(*) AS c", looks: 20000 / batch},
	{name: "create index", text: "CREATE INDEX new FOR (n:N) ON (n.y)", looks: 20000 / batch},
	{name: "create relationship index", text: "CREATE INDEX new FOR ()-[r:S]-() ON (r.x)", looks: 20000 / batch},
	{name: "create constraint", text: "CREATE CONSTRAINT new FOR (n:N) REQUIRE n.y IS UNIQUE", looks: 20000 / batch},
	{name: "not null constraint", text: "CREATE CONSTRAINT new FOR (n:N) REQUIRE n.x IS NOT NULL", looks: 20000 / batch},
	{name: "analyze", text: "CALL hedgerow.analyze()", looks: 10},
}

// text makes s, of 4 MiB.
const text = "reduce(s = 'xxxx', i IN range(1, 20) | s + s) AS s"

// cancelDB is a graph with chains, a hub and a clique.
func cancelDB(t *testing.T) (*DB, *TempDir) {
	temp := &TempDir{Dir: t.TempDir()}
	d := On(engineStore(t))
	d.Exec.Temp = temp
	for _, q := range []string{
		"UNWIND range(1, 20000) AS x CREATE (:N {x: x, y: x, s: 'some text'})",
		"CREATE INDEX FOR (n:N) ON (n.x)", "CREATE INDEX FOR (n:Merged) ON (n.x)",
		"UNWIND range(1, 1500) AS x CREATE (:M {x: x, one: 1})",
		"UNWIND range(1, 8) AS x CREATE (:K {x: x})",
		"MATCH (a:K), (b:K) WHERE a <> b AND a.x - b.x < 4 AND b.x - a.x < 4 CREATE (a)-[:T]->(b)",
		"MATCH (a:N) MATCH (b:N {x: a.x + 1}) CREATE (a)-[:R]->(b)",
		"CREATE (h:Hub) WITH h MATCH (n:N) CREATE (h)-[:S {x: n.x}]->(n)",
	} {
		d.Must(t, q, nil)
	}
	return d, temp
}

// cancelAt runs a statement that is cancelled at a look, and rolls it back. The rows are counted.
func (d *DB) cancelAt(t *testing.T, l *loop, p *probe) (accounted int64, err error) {
	t.Helper()
	ctx := context.Background()
	tx, err := d.Store.Begin(ctx, store.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tx.Rollback(); err != nil {
			t.Errorf("%s: rolling back: %v", l.name, err)
		}
	}()
	stmt, err := tx.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	g, err := stmt.Graph(ctx, d.Graph)
	if err != nil {
		t.Fatal(err)
	}
	prep, err := d.Prepare(l.text, g, stmt.View(1<<32-1))
	if err != nil {
		t.Fatalf("%s: %s", l.name, Explain(err))
	}
	o := d.Exec
	o.Tx, o.Cancel, o.Probe, o.Import, o.Nested = tx, &p.flag, p.look, lines(100000), nested{d.Store}
	if l.small {
		o.WorkMem = 64 << 10
	}
	cur, err := prep.Run(p, stmt, g, nil, o)
	if err != nil {
		t.Fatalf("%s: %v", l.name, err)
	}
	for {
		n, e := cur.Next()
		if err = e; e != nil || n == 0 {
			break
		}
	}
	cur.Close()
	return cur.Accounted(), err
}

// nested begins the transactions of CALL { } IN TRANSACTIONS.
type nested struct{ s store.Store }

func (n nested) Begin(ctx context.Context) (store.Tx, string, func(), error) {
	tx, err := n.s.Begin(ctx, store.TxOptions{})
	return tx, "nested", func() {}, err
}

// TestCancellation: whatever a statement is at, it looks often enough at whether it is to stop, stops there, and leaves nothing behind: no
// accounted bytes, no file, no lock, no change. The engine below and later statements go on.
func TestCancellation(t *testing.T) {
	d, temp := cancelDB(t)
	for i := range loops {
		l := &loops[i]
		t.Run(strings.ReplaceAll(l.name, " ", "-"), func(t *testing.T) {
			full := newProbe(0)
			if _, err := d.cancelAt(t, l, full); err != nil {
				t.Fatal(Explain(err))
			}
			if full.looks < l.looks {
				t.Errorf("%d looks, want at least %d", full.looks, l.looks)
			}
			for _, at := range []int{1, full.looks / 3, full.looks * 9 / 10} {
				if at == 0 {
					continue
				}
				p := newProbe(at)
				left, err := d.cancelAt(t, l, p)
				if err == nil || dberr.As(err).Code != dberr.Canceled {
					t.Errorf("cancelled at look %d of %d: %v", at, full.looks, err)
				}
				if p.late > 4 {
					t.Errorf("cancelled at look %d of %d: %d looks more", at, full.looks, p.late)
				}
				if files, err := os.ReadDir(temp.Dir); err != nil || len(files) > 0 || left != 0 {
					t.Errorf("cancelled at look %d: %d bytes accounted, files %v, %v", at, left, files, err)
				}
			}
			d.Must(t, "MATCH (n:New) DETACH DELETE n", nil)
			for q, want := range map[string]string{
				"MATCH (n:N {x: 1}) SET n.s = 'another' RETURN count(n) AS c":                     "1",
				"MATCH (h:Hub)-[r:S]->(n:N) WHERE n.x % 100 = 0 SET r.y = 1 RETURN count(n) AS c": "200",
				"MATCH (n) RETURN count(n) AS c":                                                  "21509",
				"MATCH ()-[r]->() RETURN count(r) AS c":                                           "40035",
				"SHOW INDEXES YIELD name WHERE name = 'new' RETURN count(*) AS c":                 "0",
			} {
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				defer cancel()
				tx, err := d.Store.Begin(ctx, store.TxOptions{})
				if err != nil {
					t.Fatal(err)
				}
				res, err := d.RunIn(ctx, tx, q, nil)
				if err != nil {
					t.Fatalf("%s: %s", q, Explain(err))
				}
				if got := Canon(res.Rows[0][0], false); got != want {
					t.Errorf("%s: %s, want %s", q, got, want)
				}
				if err := tx.Commit(ctx); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
