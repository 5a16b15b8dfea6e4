package exec_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/query/qtest"
)

// spilling is a statement that needs several times work_mem; %d is the number of rows.
type spilling struct {
	op   string // operator that spills
	text string
}

var spillingStatements = []spilling{
	{op: "Sort", text: "UNWIND range(1, %d) AS x RETURN x, 'text' + toString(x * 7919 %% 20011) AS s ORDER BY x * 7919 %% 20011"},
	{op: "Distinct", text: "UNWIND range(1, %d) AS x RETURN DISTINCT x * 7919 %% 15013 AS k, 'text' + toString(x * 7919 %% 15013) AS s"},
	{op: "Distinct", text: "UNWIND range(1, %d) AS x WITH CASE WHEN x %% 2 = 0 THEN 'none' ELSE 'key' + toString(x) END AS k RETURN DISTINCT k"},
	// The representative that was met first: 1.0 or 1, by which came first.
	{op: "Distinct", text: "UNWIND range(1, %d) AS x RETURN DISTINCT CASE WHEN x %% 3 = 0 THEN x %% 9001 ELSE toFloat(x %% 9001) END AS k"},
	{op: "Distinct", text: "UNWIND range(1, %d) AS x RETURN x %% 9001 AS k UNION UNWIND range(1, %[1]d) AS x RETURN x * 3 AS k"},
	{op: "Aggregate", text: "UNWIND range(1, %d) AS x RETURN x * 7919 %% 15013 AS k, count(*) AS c, sum(x) AS s, avg(x * 0.1) AS a, min('t' + toString(x)) AS l, max(x) AS m, stDev(x) AS d"},
	{op: "Aggregate", text: "UNWIND range(1, %d) AS x RETURN x %% 5000 AS k, collect(x) AS l, collect(DISTINCT x %% 7) AS d, percentileCont(x, 0.3) AS p, percentileDisc(x %% 11, 0.7) AS q"},
	// Skew: half of the rows are in one group, the others in groups of their own.
	{op: "Aggregate", text: "UNWIND range(1, %d) AS x WITH CASE WHEN x %% 2 = 0 THEN 0 ELSE x END AS k, x RETURN k, count(DISTINCT x) AS c, collect(x)[1..3] AS l, percentileDisc(x, 0.5) AS p"},
	{op: "Aggregate", text: "UNWIND range(1, %d) AS x RETURN collect(x)[7] AS a, count(DISTINCT x) AS b, collect(DISTINCT x %% 9001)[5..9] AS c, percentileCont(x, 0.5) AS d, percentileDisc(DISTINCT x %% 77, 0.4) AS e"},
	{op: "Aggregate", text: "UNWIND range(1, %d) AS x WITH x %% 7001 AS k, sum(DISTINCT x * 0.001) AS s, avg(DISTINCT x %% 13) AS a RETURN k, s, a"},
	{op: "HashJoin", text: "UNWIND range(1, %d) AS x MATCH (n:N) WHERE n.x = x * 3 RETURN x, n.s"},
	{op: "HashJoin", text: "MATCH (a:N), (b:N) WHERE a.k = b.k AND a.x < 200 RETURN a.x, b.x"},
	// All rows of one side have one key.
	{op: "HashJoin", text: "MATCH (a:N), (b:N) WHERE a.one = b.one AND a.x <= 3 RETURN a.x, b.x"},
	{op: "Eager", text: "MATCH (n:N) SET n.y = n.x WITH n MATCH (m:N {x: 1}) RETURN n.x AS a, n.y AS b, m.y AS c"},
	{op: "ProduceResults", text: "UNWIND range(1, %d) AS x CREATE (n:M {x: x}) RETURN n"},
	{op: "Merge", text: "UNWIND range(1, %d) AS x MERGE (n:K {x: x %% 10}) RETURN n.x, x"},
	{op: "CartesianProduct", text: "MATCH (a:N), (b:N) WHERE a.x < 3 RETURN count(*) AS c, sum(a.x + b.x) AS s"},
}

func (s *spilling) on(n int) string {
	if strings.Contains(s.text, "%") {
		return fmt.Sprintf(s.text, n)
	}
	return s.text
}

// nodes makes n vertices N that the statements read.
func nodes(t *testing.T, d *qtest.DB, n int) {
	d.Must(t, fmt.Sprintf("UNWIND range(1, %d) AS x CREATE (:N {x: x, s: 'name' + toString(x), k: x %% 1000, one: 1})", n), nil)
}

// Every operator gives the same rows in the same order whether its state fits work_mem or not, at any batch size.
func TestSpilledIsEqual(t *testing.T) {
	for _, batch := range []int{1, 7, 1024} {
		if testing.Short() && batch != 7 {
			continue
		}
		const rows = 6000
		whole, tight := qtest.New(nil), qtest.New(nil)
		temp := &qtest.TempDir{Dir: t.TempDir()}
		whole.Exec = exec.Options{BatchSize: batch, WorkMem: 1 << 30}
		tight.Exec = exec.Options{BatchSize: batch, WorkMem: 64 << 10, Temp: temp, Poison: batch != 1}
		nodes(t, whole, rows)
		nodes(t, tight, rows)
		for _, s := range spillingStatements {
			text := s.on(rows)
			before := temp.Files
			a, b := whole.Must(t, text, nil), tight.Must(t, text, nil)
			if x, y := a.Text(), b.Text(); x != y {
				t.Errorf("batch size %d: %s\n%s", batch, text, firstDifference(x, y))
			}
			if temp.Files == before {
				t.Errorf("batch size %d: %s used no file\n%s", batch, text, b.Plan)
			}
			if left, err := os.ReadDir(temp.Dir); err != nil || len(left) > 0 {
				t.Fatalf("%s: temporary files are left: %v, %v", text, left, err)
			}
		}
	}
}

// Every kind of join, made of one that matches, gives the same rows in memory and in files, with a key that many rows have and with nulls.
func TestSpilledJoins(t *testing.T) {
	d := qtest.New(nil)
	d.Must(t, "UNWIND range(1, 3000) AS x CREATE (:A {x: x, k: CASE WHEN x % 10 = 0 THEN null WHEN x % 100 = 1 THEN -1 ELSE x % 2000 END})", nil)
	d.Must(t, "UNWIND range(1, 4000) AS x CREATE (:B {x: x, s: 'name' + toString(x), k: CASE WHEN x % 10 = 0 THEN null WHEN x % 2 = 1 THEN -1 ELSE x END})", nil)
	for kind, returns := range map[plan.JoinKind]string{
		plan.JoinInner: "a.x, b.x, b.s", plan.JoinLeft: "a.x, id(b)", plan.JoinSemi: "a.x", plan.JoinAnti: "a.x",
	} {
		var texts [2]strings.Builder
		temp := &qtest.TempDir{Dir: t.TempDir()}
		for i, o := range []exec.Options{{}, {WorkMem: 64 << 10, Temp: temp, Poison: true}} {
			d.Exec = o
			tx := begin(t, d)
			p := prepare(t, d, tx, "MATCH (a:A), (b:B) WHERE a.k = b.k RETURN "+returns)
			j := joinOf(p.Query.Root)
			if j == nil {
				t.Fatalf("no join in\n%s", p.Query)
			}
			if !strings.Contains(slotNames(p.Query, j.Left), "a") {
				j.Left, j.Right = j.Right, j.Left
				for k := range j.Keys {
					j.Keys[k].Left, j.Keys[k].Right = j.Keys[k].Right, j.Keys[k].Left
				}
			}
			j.Kind, j.Fills = kind, nil
			if kind == plan.JoinLeft {
				j.Nulls = j.Right.Info().Out
			}
			cur, end := start(t, d, tx, p)
			for {
				n, err := cur.Next()
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					break
				}
				for r := range n {
					for _, v := range cur.Row(r) {
						texts[i].WriteString(qtest.Canon(v, false) + " | ")
					}
					texts[i].WriteByte('\n')
				}
			}
			end()
		}
		if x, y := texts[0].String(), texts[1].String(); x != y || strings.Count(x, "\n") < 100 {
			t.Errorf("kind %d: %s", kind, firstDifference(x, y))
		}
		if temp.Files == 0 {
			t.Errorf("kind %d used no file", kind)
		}
	}
}

// joinOf finds a hash join in a plan.
func joinOf(n plan.Node) *plan.HashJoin {
	if j, ok := n.(*plan.HashJoin); ok {
		return j
	}
	if n != nil {
		for _, c := range n.Children() {
			if j := joinOf(c); j != nil {
				return j
			}
		}
	}
	return nil
}

func slotNames(q *plan.Query, n plan.Node) string {
	var names []string
	for _, s := range n.Info().Out {
		names = append(names, q.Slots[s].Name)
	}
	return strings.Join(names, " ")
}

func firstDifference(x, y string) string {
	a, b := strings.Split(x, "\n"), strings.Split(y, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("row %d of %d and %d: in memory %.200s, spilled %.200s", i, len(a), len(b), a[i], b[i])
		}
	}
	return fmt.Sprintf("%d rows in memory, %d spilled", len(a), len(b))
}

// PROFILE shows who spilled, and no operator holds much more than work_mem, however many rows come.
func TestSpilledIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("a million rows")
	}
	const work = 256 << 10
	for _, s := range spillingStatements {
		if s.op != "Distinct" && s.op != "Aggregate" && s.op != "Sort" || strings.Contains(s.text, "collect") {
			continue // a list is a value, which must be held; the others grow with what the store holds
		}
		text := strings.NewReplacer("7919 %% 15013", "7919 %% 1000003", "%% 9001", "%% 900001", "%% 7001", "%% 700001", "%% 20011", "%% 2000003").Replace(s.text)
		var peak [2]int64
		for i, n := range []int{10_000, 1_000_000} {
			d := qtest.New(nil)
			d.Exec = exec.Options{WorkMem: work, Temp: &qtest.TempDir{Dir: t.TempDir()}, Profile: true}
			tx := begin(t, d)
			prep := prepare(t, d, tx, fmt.Sprintf(text, n))
			cur, end := start(t, d, tx, prep)
			for {
				n, err := cur.Next()
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					break
				}
			}
			peak[i] = cur.PeakMemory()
			for _, p := range cur.Profile() {
				if p == nil {
					continue
				}
				if p.Memory > 6*work {
					t.Errorf("%s: %s held %d bytes", text, p.Name, p.Memory)
				}
				if i == 1 && strings.HasPrefix(p.Name, s.op) && (p.Spilled == 0 || p.Files == 0) {
					t.Errorf("%s: %s spilled nothing", text, p.Name)
				}
			}
			end()
		}
		t.Logf("%d and %d bytes: %s", peak[0], peak[1], text)
		if peak[1] > 8*work {
			t.Errorf("%s: %d bytes at a million rows, %d at 10,000", text, peak[1], peak[0])
		}
	}
}

// Nothing stays accounted or open after the end, an error in the middle, or a cancellation at any time, whichever operator is at work.
func TestNothingLeaks(t *testing.T) {
	temp := &qtest.TempDir{Dir: t.TempDir()}
	d := qtest.New(nil)
	nodes(t, d, 2000)
	l := &lender{limit: 1 << 40}
	statements := append([]spilling{
		{text: "MATCH (a:N)-[*1..3]-(b) RETURN count(b) AS c"},
		{text: "MATCH (a:N {x: 1}), (b:N {x: 2}) RETURN shortestPath((a)-[*]-(b)) AS p"},
		{text: "MATCH (n:N) WHERE EXISTS { (n)-->() } RETURN n.x"},
		{text: "MATCH (n:N) RETURN [(n)-->(m) | m.x] AS l LIMIT 5"},
		{text: "MATCH (n:N) WITH n ORDER BY n.x DESC LIMIT 100 RETURN collect(n.s) AS l"},
		{text: "UNWIND range(1, %d) AS x RETURN range(1, x)[0] AS a, 1 / (x - 2000) AS b"},
		{text: "UNWIND range(1, %d) AS x WITH collect(x) AS l RETURN reduce(s = 0, x IN l | s + x) AS r"},
	}, spillingStatements...)
	for _, s := range statements {
		text := s.on(2000)
		for stop := -1; stop < 12; stop++ {
			d.Exec = exec.Options{BatchSize: 100, WorkMem: 32 << 10, Temp: temp, Budget: l}
			if stop >= 6 {
				d.Exec.MemLimit = int64(stop-5) * 20 << 10
			}
			tx := begin(t, d)
			cur, end := start(t, d, tx, prepare(t, d, tx, text))
			for i := 0; ; i++ {
				n, err := cur.Next()
				if err != nil && stop < 6 && !dberr.Is(err, dberr.DivisionByZero) {
					t.Fatalf("%s: %v", text, err)
				}
				if n == 0 || err != nil || stop >= 0 && stop < 6 && i == stop {
					break
				}
			}
			end()
			if cur.Accounted() != 0 || l.out != 0 {
				t.Fatalf("%s, stopped at %d: %d bytes are accounted and %d leased after the end", text, stop, cur.Accounted(), l.out)
			}
			if left, err := os.ReadDir(temp.Dir); err != nil || len(left) > 0 {
				t.Fatalf("%s: temporary files are left: %v, %v", text, left, err)
			}
		}
	}
}
