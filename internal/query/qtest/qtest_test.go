package qtest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/access/adjacency"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/testkit"
)

// TestTCK runs the openCypher TCK over the in-memory store. HEDGEROW_TCK_REPORT names a file for the failures; HEDGEROW_TCK_ONLY is a
// part of the scenario's id.
func TestTCK(t *testing.T) {
	t.Run("memory", func(t *testing.T) { tck(t, New(nil)) })
	t.Run("engine", func(t *testing.T) {
		table := tck(t, On(cachedStore(t)))
		if *rewriteDocs {
			if err := os.WriteFile("../../../docs/tck.md", []byte(table), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
}

var rewriteDocs = flag.Bool("rewrite-docs", false, "write the result into docs/tck.md")

// engineStore opens a storage engine whose files are in memory.
func engineStore(t *testing.T) store.Store {
	t.Helper()
	return engineWith(t, adjacency.Options{})
}

// cachedStore is an engine that answers from neighbourhoods in memory whenever it can, in the smallest parts that there are.
func cachedStore(t *testing.T) store.Store {
	t.Helper()
	return engineWith(t, adjacency.Options{Eager: true, FoldMin: 3, HubEdges: 4, ChunkEdges: 2})
}

func engineWith(t *testing.T, o adjacency.Options) store.Store {
	t.Helper()
	db, err := engine.Open(context.Background(), engine.Options{CacheBytes: 64 << 20, GraphCache: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n := db.Adjacency().Counters(); o.Eager && (n.Built.Load() == 0 || n.DeltaEntries.Load() == 0) {
			t.Errorf("%d neighbourhoods were built, %d changes told of", n.Built.Load(), n.DeltaEntries.Load())
		}
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return db.Store()
}

// tck runs the scenarios and returns the result as a table.
func tck(t *testing.T, d *DB) string {
	scenarios, err := LoadTCK(testkit.Shared(t, "tck/tck/features"))
	if err != nil {
		t.Fatal(err)
	}
	graphs, err := LoadGraphs(testkit.Shared(t, "tck/tck/graphs"))
	if err != nil {
		t.Fatal(err)
	}
	only := os.Getenv("HEDGEROW_TCK_ONLY")
	d.Exec = exec.Options{BatchSize: 7, Poison: true}
	pass, total := map[string]int{}, map[string]int{}
	var failures []string
	for _, s := range scenarios {
		if !strings.Contains(s.ID(), only) {
			continue
		}
		area := s.File[:strings.LastIndexByte(s.File, '/')]
		total[area]++
		if err := RunScenario(d, graphs, s); err != nil {
			failures = append(failures, fmt.Sprintf("%s\n      %v", s.ID(), err))
			t.Errorf("%s\n      %v", s.ID(), err)
			continue
		}
		pass[area]++
	}
	var areas []string
	for a := range total {
		areas = append(areas, a)
	}
	sort.Strings(areas)
	p, n := 0, 0
	for _, a := range areas {
		t.Logf("%5d of %5d %s", pass[a], total[a], a)
		p, n = p+pass[a], n+total[a]
	}
	t.Logf("%5d of %5d in all", p, n)
	table := "# The openCypher TCK\n\nScenarios of the feature files at hand, outlines expanded, run in process over the storage engine: rows, side effects, and errors by type, detail and phase.\n" +
		"Made by `go test ./internal/query/qtest -run TestTCK/engine -rewrite-docs`.\n\n| part | passed | of |\n|---|---:|---:|\n"
	for _, a := range areas {
		table += fmt.Sprintf("| %s | %d | %d |\n", a, pass[a], total[a])
	}
	table += fmt.Sprintf("| **all** | **%d** | **%d** |\n", p, n)
	if report := os.Getenv("HEDGEROW_TCK_REPORT"); report != "" {
		if err := os.WriteFile(report, []byte(strings.Join(failures, "\n")+"\n"), 0o666); err != nil {
			t.Error(err)
		}
	}
	return table
}

// later lists the cases that need what is not built yet, with the reason.
var later = map[string]string{}

func TestCases(t *testing.T) {
	t.Run("memory", func(t *testing.T) { runCases(t, New(nil), false) })
	t.Run("engine", func(t *testing.T) { runCases(t, On(engineStore(t)), !testing.Short()) })
	t.Run("engine, neighbourhoods in memory", func(t *testing.T) { runCases(t, On(cachedStore(t)), false) })
}

// runCases runs the cases; those about speed only where an index is one and a scan is not a walk through all versions.
func runCases(t *testing.T, d *DB, perf bool) {
	cases, err := LoadCases(testkit.Shared(t, "cases/cases.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	only := os.Getenv("HEDGEROW_CASE")
	d.Exec = exec.Options{BatchSize: 7, Poison: true}
	pass, total := map[string]int{}, map[string]int{}
	for _, c := range cases {
		if !strings.Contains(c.ID, only) || c.Kind == "perf" && !perf {
			continue
		}
		if d.Exec = (exec.Options{BatchSize: 7, Poison: true}); c.Kind == "perf" {
			d.Exec = exec.Options{}
		}
		err := RunCase(d, c)
		if err == ErrNotHere {
			continue
		}
		total[c.Area]++
		switch why, known := later[c.ID]; {
		case err == nil && known:
			t.Errorf("%s passes now: take it off the list", c.ID)
		case err == nil:
			pass[c.Area]++
		case known:
			t.Logf("later: %s: %s", c.ID, why)
		default:
			t.Errorf("%s (%s): %v", c.ID, c.Area, err)
		}
	}
	var areas []string
	for a := range total {
		areas = append(areas, a)
	}
	sort.Strings(areas)
	for _, a := range areas {
		t.Logf("%3d of %3d %s", pass[a], total[a], a)
	}
}

// differentialSize is the number of random statements to compare.
func differentialSize(testing.TB) int {
	n := 2000
	if testing.Short() {
		n = 300
	}
	if s := os.Getenv("HEDGEROW_DIFF_STATEMENTS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	return n
}

// TestDifferential compares random statements with the reference run over the in-memory store (rules C5), the subject over the same
// store and over the storage engine. HEDGEROW_DIFF_STATEMENTS asks for more of them and HEDGEROW_DIFF_SEED for another start.
func TestDifferential(t *testing.T) {
	n, seed := differentialSize(t), uint64(1)
	if s := os.Getenv("HEDGEROW_DIFF_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	reference := func() Target {
		db := New(nil)
		db.Exec = exec.Options{Reference: true}
		return db
	}
	compare := func(t *testing.T, n int, seed uint64, subject *DB) {
		d := &Differential{Reference: reference, Subject: func(batch int) Target {
			if err := subject.Reset(); err != nil {
				t.Fatal(err)
			}
			subject.Exec = exec.Options{BatchSize: batch, Poison: true}
			return subject
		}}
		ran, failed, err := d.Run(seed, n)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d statements, of which %d failed alike", ran, failed)
	}
	t.Run("memory", func(t *testing.T) { compare(t, n, seed, New(nil)) })
	t.Run("engine", func(t *testing.T) { compare(t, n/3, seed+1<<32, On(engineStore(t))) })
	t.Run("engine, neighbourhoods in memory", func(t *testing.T) { compare(t, n/3, seed+2<<32, On(cachedStore(t))) })
}

// TestTCKRules runs the TCK with every rule of the planner off, and with those that pay only for many rows applied to few.
func TestTCKRules(t *testing.T) {
	if testing.Short() {
		t.Skip("the TCK itself is enough with -short")
	}
	off := map[plan.Rule]bool{}
	for _, r := range plan.Rules {
		off[r] = true
	}
	for name, opt := range map[string]plan.Options{"all off": {Off: off}, "forced": {Force: true}} {
		t.Run(name, func(t *testing.T) {
			d := New(nil)
			d.Plan = opt
			tck(t, d)
		})
	}
}
