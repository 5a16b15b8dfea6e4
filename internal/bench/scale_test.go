package bench

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// TestScale measures two tiny sizes: every figure is there, and the databases are gone afterwards.
func TestScale(t *testing.T) {
	dir := t.TempDir()
	told := map[string]bool{}
	opt := ScaleOptions{Vertices: []int{200, 400}, Dir: dir, Duration: time.Millisecond, CacheBytes: 64 << 20, Progress: func(_ int, what string) { told[what] = true }}
	rep, err := Scale(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Sizes) != 2 || rep.Interrupted || !told["load"] || !told["CREATE of a vertex"] {
		t.Fatalf("%d sizes, told of %v", len(rep.Sizes), told)
	}
	for i, s := range rep.Sizes {
		if s.Vertices != opt.Vertices[i] || s.Edges != 5*s.Vertices || s.Load <= 0 || s.Open <= 0 || s.VertexBytes <= 0 || s.EdgeBytes <= 0 || s.DiskBytes <= 0 {
			t.Errorf("%+v", s)
		}
		if len(s.Costs) != 1+2*7+4 || s.CacheBytes <= 0 || s.Warm <= 0 {
			t.Errorf("%d costs, %.1f bytes an edge in the cache, filled in %s", len(s.Costs), s.CacheBytes, s.Warm)
		}
		for _, c := range s.Costs {
			if c.P50 <= 0 || c.N < 1 || c.State == "" {
				t.Errorf("%+v", c)
			}
		}
		if c := s.cost("indexes", "two hops, property of each end"); c == nil || c.Edges != 30 || c.Edge <= 0 {
			t.Errorf("two hops: %+v", c)
		}
	}
	text := string(rep.Markdown())
	for _, want := range []string{"| the database | 200 vertices | 400 vertices |", "| edges | 1,000 | 2,000 |", "| one hop |", "an edge)", "| writes |", "| opened just now |", "| cache of neighbourhoods |", "| in the cache of neighbourhoods, an edge |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	// The documentation has the rows that the command prints.
	doc, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(text, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 2 && !strings.Contains(string(doc), "\n|"+cells[1]+"|") {
			t.Errorf("docs/performance.md has no row %q", cells[1])
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	if _, err := Scale(t.Context(), ScaleOptions{Vertices: []int{5}}); err == nil {
		t.Error("five vertices are measured")
	}
}

func TestScaleInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rep, err := Scale(ctx, ScaleOptions{Vertices: []int{200, 400}, Dir: t.TempDir(), Duration: time.Millisecond, CacheBytes: 64 << 20, Progress: func(n int, what string) {
		if n == 400 && what == "writes" {
			cancel()
		}
	}})
	if err != nil || !rep.Interrupted || len(rep.Sizes) != 2 || rep.Sizes[1].cost("writes", "SET of a property") != nil || rep.Sizes[1].cost("indexes", "one hop") == nil {
		t.Errorf("%v, %+v", err, rep)
	}
	if !strings.Contains(string(rep.Markdown()), "Interrupted") {
		t.Error("the tables do not say that they are not whole")
	}
}
