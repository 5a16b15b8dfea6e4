package plan

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
)

// scripts are statements of many clauses, as tools write them; the number of operators is what a clause may cost.
var scripts = []struct {
	name string
	text func(n int) string
	ops  int // a clause; 0: all of them are one operator
}{
	{"the same CREATE", func(n int) string { return strings.Repeat("CREATE (:Person {id: 1}) ", n) }, 0},
	{"a chain of CREATEs", func(n int) string {
		var b strings.Builder
		b.WriteString("CREATE (n0:Person) ")
		for i := 1; i < n; i++ {
			fmt.Fprintf(&b, "CREATE (n%d:Person {id: %d})-[:KNOWS]->(n%d) ", i, i, i-1)
		}
		return b.String()
	}, 0},
	{"SETs of one property", func(n int) string { return "MATCH (n) " + strings.Repeat("SET n.x = 1 ", n) }, 1},
	{"SETs of many properties", func(n int) string {
		var b strings.Builder
		b.WriteString("MATCH (n) ")
		for i := range n {
			fmt.Fprintf(&b, "SET n.x%d = 1 ", i)
		}
		return b.String()
	}, 0},
	{"MATCH, CREATE, WITH", func(n int) string {
		return strings.Repeat("MATCH (a:Person {id: 1}) CREATE (a)-[:KNOWS]->(:Person) WITH 1 AS one ", n/3) + "RETURN 1"
	}, 1},
	{"MATCHes", func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "MATCH (n%d:Person {id: %d}) ", i, i)
		}
		return b.String() + "RETURN 1"
	}, 1},
	{"WITHs", func(n int) string { return "WITH 1 AS x " + strings.Repeat("WITH x AS x ", n) + "RETURN x" }, 0},
}

// planScript returns the plan of a text, and how many allocations of how many bytes binding and planning took.
func planScript(t *testing.T, cat Catalog, text string) (q *Query, allocs, bytes uint64) {
	t.Helper()
	st, err := cypher.Parse(text, cypher.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	bound, err := bind.Bind(st, bind.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if q, err = Make(bound, cat, Options{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return q, after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}

// TestLongScripts: a statement of 10,000 clauses is bound and planned, and costs ten times what 1,000 cost and not a hundred times. (The sets of variables in
// scope cost a bit a variable and clause, which is why bytes may grow a little faster.)
func TestLongScripts(t *testing.T) {
	cat := parseCatalog(t, snbCatalog)
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			_, allocs, bytes := planScript(t, cat, s.text(1000))
			q, moreAllocs, moreBytes := planScript(t, cat, s.text(10_000))
			if limit := 10_000*s.ops + 10; q.Nodes > limit {
				t.Errorf("%d operators, want at most %d", q.Nodes, limit)
			}
			if moreAllocs > 15*allocs || moreBytes > 40*bytes {
				t.Errorf("10,000 clauses take %d allocations of %d bytes, 1,000 take %d of %d", moreAllocs, moreBytes, allocs, bytes)
			}
		})
	}
}

// TestScriptsTooLargeToRun: what would take gigabytes for the columns of its operators is refused before it runs (rules C12).
func TestScriptsTooLargeToRun(t *testing.T) {
	_, err := planText(strings.Repeat("MERGE (:Person {id: 1}) ", 12_000), parseCatalog(t, snbCatalog), Options{}, false)
	if !dberr.Is(err, dberr.StatementTooComplex) {
		t.Errorf("got %v", err)
	}
}
