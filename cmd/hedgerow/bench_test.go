package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/bench"
)

func TestBench(t *testing.T) {
	dir := t.TempDir()
	net, data, base := filepath.Join(dir, "net"), filepath.Join(dir, "b.hedge"), filepath.Join(dir, "out", "result")
	code, out, errs := hedge(t, "", "bench", "generate", "--sf", "0.05", "--out", net)
	if code != 0 || !strings.Contains(out, "100 persons, 10 organisations, 100 tags, 4 forums, 500 posts, 500 comments") {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	if code, out, errs = hedge(t, "", "bench", "load", "--in", net, "--target", "mine=embedded:"+data); code != 0 || !strings.Contains(out, "mine: ") {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	code, out, errs = hedge(t, "", "bench", "run", "--in", net, "--target", "mine=embedded:"+data, "--duration", "4ms", "--rounds", "2", "--warmup", "0", "--verify", "3",
		"--scenario", "floor,short,b02_set_new", "--rows", "50", "--connections", "1,2", "--report", base)
	if code != 0 || !strings.Contains(out, "## Short reads") || !strings.Contains(out, "b02_set_new (50 rows)") || !strings.Contains(errs, base+".html") {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	for format, want := range map[string]string{"markdown": "| s05_person_range | 2 |", "csv": "s05_person_range,short,mine,2,", "html": "<svg", "json": `"scenario": "s05_person_range"`} {
		if code, out, errs := hedge(t, "", "bench", "report", base+".json", "--format", format); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, %s%s", format, code, out, errs)
		}
	}
	if code, out, _ := hedge(t, "", "bench", "list"); code != 0 || strings.Count(out, "\n  s") != 10 || !strings.Contains(out, "\nbulk\n") {
		t.Errorf("exit %d, %s", code, out)
	}
	for format, want := range map[string]string{"markdown": "| point read |", "json": `"What": "point read"`} {
		if code, out, errs := hedge(t, "", "bench", "scale", "--vertices", "200", "--duration", "1ms", "--dir", dir, "--format", format); code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, %s%s", code, out, errs)
		}
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{2, []string{"scale", "--degree", "0"}, "--degree"},
		{1, []string{"scale", "--vertices", "5"}, "too small"},
		{2, []string{"generate"}, "--out DIR"},
		{1, []string{"generate", "--out", net, "--sf", "0.001"}, "between"},
		{2, []string{"run", "--target", "embedded:"}, "--in DIR"},
		{2, []string{"run", "--in", net}, "--target"},
		{2, []string{"run", "--in", net, "--target", "oracle://x"}, "no target has the scheme oracle"},
		{2, []string{"run", "--in", net, "--target", "embedded:", "--scenario", "zz"}, "bench list"},
		{2, []string{"run", "--in", net, "--target", "embedded:", "--connections", "0"}, "--connections"},
		{2, []string{"run", "--in", net, "--target", "embedded:", "--rounds", "0"}, "--rounds"},
		{2, []string{"run", "--in", net, "--target", "embedded:", "--timeout", "0"}, "--timeout"},
		{2, []string{"run", "--in", net, "--target", "embedded:", "--format", "pdf"}, "--format"},
		{1, []string{"run", "--in", dir, "--target", "embedded:"}, "bench generate"},
		{1, []string{"run", "--in", net, "--target", "embedded:", "--target", "embedded:"}, "two targets are named embedded"},
		{1, []string{"report", filepath.Join(net, "knows.csv")}, "no report"},
	} {
		if code, _, errs := hedge(t, "", append([]string{"bench"}, c.args...)...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("bench %v: exit %d, %s", c.args, code, errs)
		}
	}
}

// TestBenchInterrupted: Ctrl-C ends a long run with a report of what there is, and status 1.
func TestBenchInterrupted(t *testing.T) {
	dir := t.TempDir()
	net := filepath.Join(dir, "net")
	if code, out, errs := hedge(t, "", "bench", "generate", "--sf", "0.05", "--out", net, "--quiet"); code != 0 || out != "" {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	cmd := exec.Command(os.Args[0], "bench", "run", "--in", net, "--load", "--target", "embedded:", "--scenario", "s04*,w01*", "--duration", "1h", "--rounds", "1800000", "--warmup", "0",
		"--format", "json", "--report", filepath.Join(dir, "r"))
	cmd.Env = append(os.Environ(), "HEDGEROW_TEST_MAIN=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(4*time.Second, func() { cmd.Process.Signal(syscall.SIGINT) })
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Fatalf("exit %d, %v: %s", code, err, errs.String())
	}
	var rep bench.Report
	if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
		t.Fatalf("%v: %.300s", err, out.String())
	}
	if !rep.Interrupted || len(rep.Cells) != 1 || rep.Cells[0].Requests == 0 || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("%d cells, %s", len(rep.Cells), errs.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "r.html")); err != nil {
		t.Error(err)
	}
}
