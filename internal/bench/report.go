package bench

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Report is what a run measured. Times are nanoseconds, memory is bytes.
type Report struct {
	Version     int          `json:"version"` // of this form
	Made        time.Time    `json:"made"`
	Machine     Machine      `json:"machine"`
	Network     *Network     `json:"network"`
	Options     Options      `json:"options"`
	Targets     []TargetInfo `json:"targets"`
	Cells       []Cell       `json:"cells"`
	Differences []Difference `json:"differences,omitempty"`
	Interrupted bool         `json:"interrupted,omitempty"`
}

// Options of the run that a reader of the report needs.
type Options struct {
	Connections []int         `json:"connections"`
	Duration    time.Duration `json:"duration"`
	Rounds      int           `json:"rounds"`
	Warmup      time.Duration `json:"warmup"`
	Timeout     time.Duration `json:"timeout"`
	Verify      int           `json:"verify"`
}

// TargetInfo is a target as reports name it, without passwords.
type TargetInfo struct {
	DSN
	Version string `json:"version"`
}

// Cell is one target in one scenario with one number of connections.
type Cell struct {
	Scenario    string           `json:"scenario"`
	Group       string           `json:"group"`
	Title       string           `json:"title"`
	Target      string           `json:"target"`
	Connections int              `json:"connections"`
	Skipped     string           `json:"skipped,omitempty"` // why it was not timed
	Requests    int64            `json:"requests"`
	Errors      int64            `json:"errors"`
	ErrorTexts  map[string]int64 `json:"errorTexts,omitempty"`
	Rate        float64          `json:"rate"` // requests, or rows of a bulk scenario, a second: the median of the turns
	Rates       []float64        `json:"rates,omitempty"`
	Variation   float64          `json:"variation"` // of the rates: standard deviation over mean
	Ratio       float64          `json:"ratio"`     // of the rate to the first target's; 0 if it has none
	P50Ratio    float64          `json:"p50Ratio"`  // of the p50 to the first target's, which another job on the machine disturbs less; 0 if it has none
	OverFloor   float64          `json:"overFloor"` // p50 to that of f01_select_1 on the same target; 0 if it was not run
	Mean        time.Duration    `json:"mean"`
	P50         time.Duration    `json:"p50"`
	P95         time.Duration    `json:"p95"`
	P99         time.Duration    `json:"p99"`
	Max         time.Duration    `json:"max"`
	Rows        int              `json:"rows,omitempty"` // of a bulk scenario's statement
	Memory      int64            `json:"memory,omitempty"`
	Growth      int64            `json:"memoryGrowth,omitempty"`
}

func (c *Cell) fill(t *turns) {
	c.Requests, c.Errors, c.Rates = t.times.n, t.errors, t.rates
	if len(t.texts) > 0 {
		c.ErrorTexts = t.texts
	}
	if len(t.rates) > 0 {
		c.Rate, c.Variation = median(t.rates), variation(t.rates)
	}
	c.Mean, c.P50, c.P95, c.P99, c.Max = t.times.mean(), t.times.quantile(0.5), t.times.quantile(0.95), t.times.quantile(0.99), t.times.max
	c.Memory, c.Growth = t.peak, t.growth
}

func newReport(n *Network) *Report {
	return &Report{Version: 1, Made: time.Now().UTC().Truncate(time.Second), Network: n,
		Machine: thisMachine(orElse(n.dir, os.TempDir()))}
}

// finish computes what needs all cells.
func (r *Report) finish() {
	type key struct {
		target string
		n      int
	}
	floor := map[key]time.Duration{}
	for _, x := range r.table() {
		for _, c := range x.cells {
			if first := x.cells[0]; c != nil && first != nil && first.P50 > 0 {
				c.P50Ratio = float64(c.P50) / float64(first.P50)
			}
		}
	}
	for _, c := range r.Cells {
		if c.Scenario == "f01_select_1" {
			floor[key{c.Target, c.Connections}] = c.P50
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if f := floor[key{c.Target, c.Connections}]; f > 0 && c.Rows == 0 {
			c.OverFloor = float64(c.P50) / float64(f)
		}
	}
}

// JSON writes the report whole.
func (r *Report) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	return append(b, '\n'), err
}

// ReadReport reads what JSON wrote.
func ReadReport(b []byte) (*Report, error) {
	r := &Report{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("bench: this is no report: %w", err)
	}
	if r.Version != 1 {
		return nil, fmt.Errorf("bench: the report has form %d, this program reads form 1", r.Version)
	}
	return r, nil
}

// CSV writes a line for each cell; times are microseconds.
func (r *Report) CSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{"scenario", "group", "target", "connections", "requests", "errors", "rate", "variation", "ratio", "p50_ratio", "over_floor", "mean_us", "p50_us", "p95_us", "p99_us", "max_us",
		"rows", "memory_bytes", "memory_growth_bytes", "skipped"})
	num := func(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }
	us := func(d time.Duration) string { return num(float64(d) / 1e3) }
	for _, c := range r.Cells {
		w.Write([]string{c.Scenario, c.Group, c.Target, strconv.Itoa(c.Connections), strconv.FormatInt(c.Requests, 10), strconv.FormatInt(c.Errors, 10), num(c.Rate), num(c.Variation),
			num(c.Ratio), num(c.P50Ratio), num(c.OverFloor), us(c.Mean), us(c.P50), us(c.P95), us(c.P99), us(c.Max), strconv.Itoa(c.Rows), strconv.FormatInt(c.Memory, 10),
			strconv.FormatInt(c.Growth, 10), c.Skipped})
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// row is all targets in one scenario with one number of connections, in the order of targets.
type row struct {
	scenario, group, title string
	connections, rows      int
	cells                  []*Cell // nil where the run had not come
}

// table orders the cells: a row for each scenario and number of connections.
func (r *Report) table() []row {
	var out []row
	for i := range r.Cells {
		c := &r.Cells[i]
		k := slices.IndexFunc(out, func(x row) bool { return x.scenario == c.Scenario && x.connections == c.Connections })
		if k < 0 {
			out = append(out, row{c.Scenario, c.Group, c.Title, c.Connections, c.Rows, make([]*Cell, len(r.Targets))})
			k = len(out) - 1
		}
		if t := slices.IndexFunc(r.Targets, func(t TargetInfo) bool { return t.Name == c.Target }); t >= 0 {
			out[k].cells[t] = c
		}
	}
	return out
}

// Markdown writes a table for each group.
func (r *Report) Markdown() []byte {
	var b strings.Builder
	b.WriteString("# Benchmark\n\n" + r.summary("\n") + "\n")
	if r.Interrupted {
		b.WriteString("\n**The run was interrupted: these are the figures so far.**\n")
	}
	b.WriteString("\nCells are rate, p50 / p95 / p99, coefficient of variation, ratio of the rate (and of p50) to the first target.\n")
	rows := r.table()
	for _, g := range Groups {
		if !slices.ContainsFunc(rows, func(x row) bool { return x.group == g }) {
			continue
		}
		b.WriteString("\n## " + groupTitles[g] + "\n\n| scenario | connections |")
		for _, t := range r.Targets {
			b.WriteString(" " + t.Name + " |")
		}
		b.WriteString("\n|---|---:|" + strings.Repeat("---:|", len(r.Targets)) + "\n")
		for _, x := range rows {
			if x.group != g {
				continue
			}
			name := x.scenario
			if x.rows > 0 {
				name += fmt.Sprintf(" (%d rows)", x.rows)
			}
			fmt.Fprintf(&b, "| %s | %d |", name, x.connections)
			for i, c := range x.cells {
				b.WriteString(" " + cellText(c, i == 0) + " |")
			}
			b.WriteString("\n")
		}
	}
	if list := r.errorLines(); len(list) > 0 {
		b.WriteString("\n## Errors\n\n")
		for _, l := range list {
			b.WriteString("* " + l + "\n")
		}
	}
	for i, d := range r.Differences {
		if i == 0 {
			b.WriteString("\n## Different answers\n")
		}
		b.WriteString("\n```\n" + d.Error() + "\n```\n")
	}
	return []byte(b.String())
}

var groupTitles = map[string]string{Floor: "Floor", Short: "Short reads", Heavy: "Heavy reads", Write: "Writes", Extra: "More reads and writes", Mixed: "Mixed load", BulkG: "Bulk writes"}

// summary says what was measured, in lines.
func (r *Report) summary(end string) string {
	n := r.Network
	lines := []string{fmt.Sprintf("Scale %v: %d persons, %d vertices, %d edges. %s each in %d turns after %s, requests limited to %s. %s, %d processors, %s; one fdatasync %s, a fixed loop %s.",
		n.Scale, n.Persons, n.Vertices, n.Edges, r.Options.Duration, r.Options.Rounds, r.Options.Warmup, r.Options.Timeout, r.Machine.System, r.Machine.Processors,
		r.Made.Format("2006-01-02 15:04 MST"), timeText(r.Machine.Sync), timeText(r.Machine.Loop))}
	for _, t := range r.Targets {
		line := "* " + t.Name + ": " + t.Version
		if t.Sync {
			line += ", commits wait for the disk"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines[:1], "") + end + end + strings.Join(lines[1:], end) + end
}

func cellText(c *Cell, first bool) string {
	switch {
	case c == nil:
		return ""
	case c.Skipped != "":
		return strings.ReplaceAll(short(c.Skipped, 60), "|", `\|`)
	case c.Requests == 0:
		return fmt.Sprintf("%d errors", c.Errors)
	}
	text := fmt.Sprintf("%s/s, %s / %s / %s, %.0f %%", rateText(c.Rate), timeText(c.P50), timeText(c.P95), timeText(c.P99), c.Variation*100)
	if c.Rows > 0 {
		text = fmt.Sprintf("%s rows/s, %s, %.0f %%", rateText(c.Rate), timeText(c.P50), c.Variation*100)
		if c.Memory > 0 {
			text += fmt.Sprintf(", +%d MB", c.Growth>>20)
		}
	}
	if !first && c.Ratio > 0 {
		text += fmt.Sprintf(", %s× (p50 %s×)", ratioText(c.Ratio), ratioText(c.P50Ratio))
	}
	if c.Errors > 0 {
		text += fmt.Sprintf(", %d errors", c.Errors)
	}
	return text
}

// errorLines say which targets failed in what, and why.
func (r *Report) errorLines() (out []string) {
	for _, c := range r.Cells {
		where := fmt.Sprintf("%s, %s, %d connections: ", c.Scenario, c.Target, c.Connections)
		if c.Skipped != "" {
			out = append(out, where+c.Skipped)
		}
		for _, text := range slices.Sorted(maps.Keys(c.ErrorTexts)) {
			out = append(out, fmt.Sprintf("%s%d of %d: %s", where, c.ErrorTexts[text], c.Errors, text))
		}
	}
	return out
}

func short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

func rateText(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(math.Round(x), 'f', 0, 64)
	case x >= 1:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

func ratioText(x float64) string {
	if x >= 10 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// timeText writes a time with two or three digits.
func timeText(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.1f µs", float64(d)/1e3)
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/1e3)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", float64(d)/1e6)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// Write writes the report in all forms below a name without end: .json, .csv, .md and .html. Files of the same names are replaced only when all are
// whole.
func (r *Report) Write(path string) (files []string, err error) {
	if dir := filepath.Dir(path); dir != "." {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	forms := map[string]func() ([]byte, error){".json": r.JSON, ".csv": r.CSV, ".md": func() ([]byte, error) { return r.Markdown(), nil }, ".html": r.HTML}
	ends := slices.SortedFunc(maps.Keys(forms), cmp.Compare[string])
	for _, end := range ends {
		b, err := forms[end]()
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(path+end+".new", b, 0o644); err != nil {
			return nil, err
		}
	}
	for _, end := range ends {
		if err := os.Rename(path+end+".new", path+end); err != nil {
			return nil, err
		}
		files = append(files, path+end)
	}
	return files, nil
}
