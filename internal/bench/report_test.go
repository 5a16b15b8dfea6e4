package bench

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// sample is a report with everything in it that a report can have.
func sample() *Report {
	r := &Report{Version: 1, Made: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Machine: Machine{"linux/amd64", 2, "go1.26", 1500 * time.Microsecond, 400 * time.Microsecond},
		Network: &Network{Scale: 0.5, Persons: 1000, Vertices: 12000, Edges: 50000},
		Options: Options{Connections: []int{1, 4}, Duration: 2 * time.Second, Rounds: 3, Warmup: 300 * time.Millisecond, Timeout: time.Minute, Verify: 20},
		Targets: []TargetInfo{{DSN{Name: "mine", Kind: Embedded}, "Hedgerow devel, embedded"},
			{DSN{Name: "theirs", Kind: SQL, Address: "postgres://u:xxxxx@h/db", Sync: true}, "PostgreSQL 15.18 <b>"}},
		Differences: []Difference{{"s05_person_range", "MATCH (p:Person) RETURN p.id", "$low = 1", "mine", "theirs", "2 rows (1) (2)", "1 rows (2)"}},
	}
	cell := func(name, group, target string, n int, rates []float64, p50 time.Duration) *Cell {
		c := Cell{Scenario: name, Group: group, Title: "title of " + name + " & more", Target: target, Connections: n}
		t := &turns{texts: map[string]int64{}, rates: rates}
		for i := range 100 {
			t.times.add(p50 + time.Duration(i-50)*p50/200)
		}
		c.fill(t)
		r.Cells = append(r.Cells, c)
		return &r.Cells[len(r.Cells)-1]
	}
	cell("f01_select_1", Floor, "mine", 1, []float64{99000, 101000, 100000}, 10*time.Microsecond)
	cell("f01_select_1", Floor, "theirs", 1, []float64{39000, 41000, 40000}, 25*time.Microsecond).Ratio = 0.4
	cell("s05_person_range", Short, "mine", 1, []float64{20000, 21000, 22000}, 45*time.Microsecond).Ratio = 1
	r.Cells = append(r.Cells, Cell{Scenario: "s05_person_range", Group: Short, Title: "twenty persons", Target: "theirs", Connections: 1, Skipped: "other answers than mine"})
	cell("s05_person_range", Short, "mine", 4, []float64{60000, 61000, 62000}, 50*time.Microsecond).Ratio = 1
	c := cell("h02_shortest_1_3", Heavy, "mine", 1, []float64{0.5, 0.6, 0.7}, 1700*time.Millisecond)
	c.Errors, c.ErrorTexts = 3, map[string]int64{"too slow | it seems": 2, "gone": 1}
	b := cell("b02_set_new", BulkG, "mine", 1, []float64{2e6, 2.1e6, 2.2e6}, 5*time.Millisecond)
	b.Rows, b.Memory, b.Growth = 10000, 90<<20, 12<<20
	r.finish()
	return r
}

// TestReports holds the forms of a report to what is written in testdata; -rewrite writes them anew.
func TestReports(t *testing.T) {
	r := sample()
	base := filepath.Join(t.TempDir(), "deep", "report")
	files, err := r.Write(base)
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		got, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", filepath.Base(f))
		if *rewrite {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not as in %s (-rewrite after a look):\n%s", filepath.Base(f), golden, got)
		}
	}
	text, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadReport(text)
	if err != nil {
		t.Fatal(err)
	}
	again.Network.friends = r.Network.friends
	if !reflect.DeepEqual(again, r) {
		t.Error("a report that is read again is another")
	}
	for _, wrong := range []string{"", "{}", `{"version": 2}`} {
		if _, err := ReadReport([]byte(wrong)); err == nil {
			t.Errorf("%q is a report", wrong)
		}
	}
	if over := r.Cells[2].OverFloor; over < 4.4 || over > 4.6 {
		t.Errorf("s05 takes %.2f times a round trip", over)
	}
}

// TestPageIsWhole: the page loads nothing, runs nothing, and shows texts of servers as texts.
func TestPageIsWhole(t *testing.T) {
	b, err := sample().HTML()
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	if m := regexp.MustCompile(`(?i)https?:|src\s*=|href\s*=|<script|<link|@import|url\(|javascript:|<iframe|<img|ZgotmplZ`).FindString(page); m != "" {
		t.Errorf("the page has %q", m)
	}
	for _, want := range []string{"<svg", "PostgreSQL 15.18 &lt;b&gt;", "title of s05_person_range &amp; more", "45 µs", "logarithmic", "other answers than mine", "#2f7d4f", "</html>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if n, m := strings.Count(page, "<svg"), strings.Count(page, "</svg>"); n != 4 || m != 4 {
		t.Errorf("%d charts begin, %d end", n, m)
	}
	if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
		t.Error("a chart has a number that is none")
	}
}

// TestEmptyReport: a run that was interrupted before anything was measured has a report too.
func TestEmptyReport(t *testing.T) {
	r := newReport(&Network{})
	r.Interrupted = true
	r.Targets = []TargetInfo{{DSN: DSN{Name: "x"}}}
	r.Cells = []Cell{{Scenario: "s01", Group: Short, Target: "x", Connections: 1}}
	r.finish()
	if _, err := r.Write(filepath.Join(t.TempDir(), "r")); err != nil {
		t.Error(err)
	}
	for d, want := range map[time.Duration]string{0: "0.0 µs", 1500: "1.5 µs", 20500: "20 µs", 1234567: "1.23 ms", 56 * time.Millisecond: "56 ms", 1700 * time.Millisecond: "1.70 s"} {
		if got := timeText(d); got != want {
			t.Errorf("%d is %s", d, got)
		}
	}
}

// TestYardsticks: what runs are put in relation by is measured, and leaves no file.
func TestYardsticks(t *testing.T) {
	dir := t.TempDir()
	m := thisMachine(dir)
	if m.Loop <= 0 || m.Sync <= 0 || m.Processors < 1 {
		t.Errorf("%+v", m)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%d files are left", len(left))
	}
	if m := thisMachine(filepath.Join(dir, "nowhere")); m.Sync != 0 {
		t.Error("a directory that is not there was written to")
	}
}
