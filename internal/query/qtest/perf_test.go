package qtest

import (
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/testkit"
)

// cpuTime is the processor time that this process has used: another process on the machine does not count.
func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var timesRE = regexp.MustCompile(`<= (\d+)x the baseline`)

// TestPerfCases: the shared cases about speed take at most so many times the processor time of their baselines as they say. A baseline counts as a
// millisecond at least, so that a bound is never smaller than what the clock and the collector blur.
func TestPerfCases(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	cases, err := LoadCases(testkit.Shared(t, "cases/cases.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range cases {
		m := timesRE.FindStringSubmatch(c.Perf.Bound)
		if c.Kind != "perf" || m == nil {
			continue
		}
		n++
		times, _ := strconv.Atoi(m[1])
		t.Run(c.ID, func(t *testing.T) {
			d := On(engineStore(t))
			d.Exec = exec.Options{}
			params, err := c.params()
			if err != nil {
				t.Fatal(err)
			}
			var ratio float64
			for range 3 { // the collector may strike once or twice
				if err := prepare(d, c, c.times()[0]); err != nil {
					t.Fatal(err)
				}
				measure := func(text string) time.Duration {
					start := cpuTime()
					if _, err := d.Run(expand(text), params); err != nil {
						t.Fatal(err)
					}
					return cpuTime() - start
				}
				base := max(measure(c.Perf.Baseline), time.Millisecond)
				took := measure(c.Query)
				ratio = float64(took) / float64(base)
				t.Logf("%v, baseline %v: %.1f times, %d allowed", took, base, ratio, times)
				if ratio <= float64(times) {
					return
				}
			}
			t.Errorf("%.1f times the baseline, %s", ratio, c.Perf.Bound)
		})
	}
	if n < 5 {
		t.Errorf("%d cases have a bound", n)
	}
}
