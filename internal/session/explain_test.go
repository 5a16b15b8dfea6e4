package session

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/plan"
)

// figures returns the line of an operator.
func figures(t *testing.T, lines, op string) string {
	t.Helper()
	for _, l := range strings.Split(lines, "─ ") {
		if strings.Contains(l, op) {
			return l
		}
	}
	t.Fatalf("no %s in\n%s", op, lines)
	return ""
}

func TestProfile(t *testing.T) {
	db := database(t)
	s := open(t, db)
	must(t, s, "UNWIND range(1, 3000) AS i CREATE (:P {x: i})")
	got := must(t, s, "PROFILE MATCH (p:P) WHERE p.x % 2 = 0 RETURN p.x AS x ORDER BY x DESC")
	for op, want := range map[string][]string{
		"LabelScan": {"rows 3000", "hits 3000", "scans 1", "pages_hit"},
		"PropFetch": {"rows 3000", "hits 3000", "hint_ok 3000", "memory"},
		"Filter":    {"rows 1500", "hits 0"},
		"Sort":      {"rows 1500", "hits 0", "memory"},
	} {
		line := figures(t, got, op)
		for _, w := range want {
			if !strings.Contains(line, w) {
				t.Errorf("%s has no %q: %s", op, w, line)
			}
		}
	}
	if line := figures(t, got, "Filter"); strings.Contains(line, "pages") {
		t.Errorf("a filter reads no page: %s", line)
	}
	if !strings.Contains(got, "Peak Memory: ") || !strings.Contains(got, "Execution Time: ") {
		t.Errorf("no summary in\n%s", got)
	}
	// Rows that are written, and the log that it takes.
	got = must(t, s, "PROFILE MATCH (p:P) SET p.y = 1")
	if line := figures(t, got, "Set p.y"); !strings.Contains(line, "log_bytes") || !strings.Contains(line, "hits 3000") {
		t.Errorf("Set: %s", line)
	}
	// What another session does meanwhile is not this statement's.
	idle := must(t, s, "PROFILE RETURN 1 AS x")
	if strings.Contains(idle, "pages") || strings.Contains(idle, "log_bytes") {
		t.Errorf("a statement without reads:\n%s", idle)
	}
	must(t, s, "SET work_mem = '64kB'")
	got = must(t, s, "PROFILE UNWIND range(1, 20000) AS x RETURN x ORDER BY x DESC")
	if line := figures(t, got, "Sort"); !strings.Contains(line, "spilled") || !strings.Contains(line, "files ") {
		t.Errorf("Sort: %s", line)
	}
	// The reason of a barrier.
	if got := must(t, s, "EXPLAIN MATCH (a:P) CREATE (:Q) WITH a MATCH (q:Q) RETURN count(*) AS c"); !strings.Contains(got, "Eager ") {
		t.Errorf("no reason in\n%s", got)
	}
}

// Pages and log bytes are the statement's own, whoever else is at work.
func TestCountersAreOwn(t *testing.T) {
	db := database(t)
	a, b := open(t, db), open(t, db)
	must(t, a, "CREATE (:P {x: 1})")
	p, err := a.Prepare(ctx, Text{Text: "MATCH (p:P) RETURN p.x AS x", Lang: Cypher}, nil)
	if err != nil {
		t.Fatal(err)
	}
	portal, err := a.Bind(ctx, "", p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := portal.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := portal.Next(ctx); err != nil {
		t.Fatal(err)
	}
	before := portal.Summary().Counters
	if before.PagesPinned == 0 || before.WALBytes != 0 {
		t.Errorf("a read: %+v", before)
	}
	must(t, b, "UNWIND range(1, 1000) AS i CREATE (:Q {x: i})")
	if now := portal.Summary().Counters; now != before {
		t.Errorf("counters moved while another session worked: %+v, then %+v", before, now)
	}
	portal.Close()
	if err := a.EndImplicit(ctx); err != nil {
		t.Fatal(err)
	}
}

// A client that asks for the plan aside gets the statement's rows.
func TestPlanAside(t *testing.T) {
	db := database(t)
	s := open(t, db)
	s.PlanAside = true
	must(t, s, "UNWIND range(1, 5) AS i CREATE (:P {x: i})")
	for text, rows := range map[string]int{
		"PROFILE MATCH (p:P) RETURN p.x AS x": 5, "EXPLAIN MATCH (p:P) RETURN p.x AS x": 0, "PROFILE MATCH (p:P) SET p.y = 1 RETURN p.x AS x": 5,
	} {
		p, err := s.Start(ctx, text, Cypher, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c := p.Columns(); len(c) != 1 || c[0].Name != "x" {
			t.Errorf("%s: columns %v", text, c)
		}
		n := 0
		for {
			row, err := p.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if row == nil {
				break
			}
			n++
		}
		r := p.PlanReport()
		if n != rows || r == nil || r.Profiled != (rows > 0) || p.Profiled() != (rows > 0) {
			t.Fatalf("%s: %d rows, plan %+v", text, n, r)
		}
		if rows > 0 && (r.Root.Name != "ProduceResults" || r.Root.Stats.Rows != 5) {
			t.Errorf("%s: root %+v", text, r.Root.Stats)
		}
		var ids []string
		r.Root.Walk(func(o *plan.Tree) { ids = append(ids, o.Identifiers...) })
		if !strings.Contains(strings.Join(ids, " "), "p") {
			t.Errorf("%s: identifiers %v", text, ids)
		}
		p.Close()
		if err := s.EndImplicit(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func TestExplainSQL(t *testing.T) {
	db := database(t)
	s := open(t, db)
	must(t, s, "UNWIND range(1, 50) AS i CREATE (:P {x: i})")
	call := "SELECT count(*) FROM cypher('main', $$ MATCH (p:P) RETURN p.x $$) AS (x agtype)"
	got := must(t, s, "EXPLAIN (ANALYZE, TIMING off, SUMMARY off) "+call)
	if strings.Contains(got, "time") || strings.Contains(got, "Execution Time") || !strings.Contains(figures(t, got, "LabelScan"), "rows 50") {
		t.Errorf("got\n%s", got)
	}
	if got := must(t, s, "EXPLAIN ANALYZE "+call); !strings.Contains(got, "Execution Time: ") {
		t.Errorf("got\n%s", got)
	}
	if got := must(t, s, "EXPLAIN (COSTS off) "+call); strings.Contains(got, "~") || !strings.Contains(got, "LabelScan (p:P)") {
		t.Errorf("got\n%s", got)
	}
	var plans []map[string]any
	if err := json.Unmarshal([]byte(strings.TrimSuffix(must(t, s, "EXPLAIN (ANALYZE, FORMAT json) "+call), "EXPLAIN")), &plans); err != nil {
		t.Fatal(err)
	}
	if len(plans) != 2 || plans[0]["Plan"].(map[string]any)["Node Type"] == "" || plans[0]["Execution Time"] == nil {
		t.Errorf("got %v", plans)
	}
	must(t, s, "PREPARE q AS SELECT 1 AS a")
	if got := must(t, s, "EXPLAIN EXECUTE q"); !strings.Contains(got, "Project") {
		t.Errorf("got\n%s", got)
	}
	for text, want := range map[string]string{"EXPLAIN (NONSENSE) SELECT 1": "42601", "EXPLAIN (FORMAT xml) SELECT 1": "0A000", "EXPLAIN (FORMAT x) SELECT 1": "22023"} {
		if _, err := run(s, text); code(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
