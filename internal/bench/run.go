package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// RunOptions say how targets are measured. The zero value of a field means what its comment says.
type RunOptions struct {
	Scenarios   []*Scenario
	Connections []int         // {1}
	Duration    time.Duration // of all turns of a target in a scenario, without warming up; 2 s
	Rounds      int           // turns of each target; 5
	Warmup      time.Duration // before the first turn; negative: none; 300 ms
	Timeout     time.Duration // of one request; 60 s
	Verify      int           // requests of each scenario that are compared before it is timed; negative: none; 20
	// KeepGoing reports different answers and leaves the target that differs out, instead of ending the run.
	KeepGoing bool
	Progress  func(Progress) // may be nil
}

// Progress is how far a run is, in turns.
type Progress struct {
	Scenario, Target string
	Done, Total      int
}

func (o RunOptions) withDefaults() RunOptions {
	if len(o.Connections) == 0 {
		o.Connections = []int{1}
	}
	o.Duration = cmp.Or(o.Duration, 2*time.Second)
	o.Rounds = cmp.Or(o.Rounds, 5)
	o.Warmup = cmp.Or(o.Warmup, 300*time.Millisecond)
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.Verify = cmp.Or(o.Verify, 20)
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return o
}

// Opened is a target with what it was opened by.
type Opened struct {
	DSN
	Target
}

// OpenAll opens targets, and closes those that were opened when one fails.
func OpenAll(dsns []DSN) (out []Opened, err error) {
	seen := map[string]bool{}
	for _, d := range dsns {
		if seen[d.Name] {
			err = fmt.Errorf("two targets are named %s; give them names: NAME=%s", d.Name, d.redacted().Address)
		}
		seen[d.Name] = true
		var t Target
		if err == nil {
			t, err = Open(d)
		}
		if err != nil {
			CloseAll(out)
			return nil, fmt.Errorf("target %s: %w", d.Name, err)
		}
		out = append(out, Opened{d, t})
	}
	return out, nil
}

// CloseAll closes targets.
func CloseAll(list []Opened) {
	for _, t := range list {
		t.Target.Close()
	}
}

// runner is a run in progress.
type runner struct {
	net     *Network
	opt     RunOptions
	names   []string
	dsns    []DSN
	targets []Target
	conns   [][]Conn // of each target; as many as were needed so far
	report  *Report
	done    int
	total   int
}

// Run measures targets, which hold the network. A cancelled run returns its report so far, marked as interrupted, and no error (K6).
func Run(ctx context.Context, n *Network, targets []Opened, opt RunOptions) (*Report, error) {
	r := &runner{net: n, opt: opt.withDefaults(), report: newReport(n)}
	defer r.close()
	for _, t := range targets {
		r.names, r.dsns, r.targets = append(r.names, t.Name), append(r.dsns, t.DSN), append(r.targets, t.Target)
		c, err := t.Connect(ctx)
		if err != nil {
			return nil, fmt.Errorf("target %s: %w", t.Name, err)
		}
		r.conns = append(r.conns, []Conn{c})
		r.report.Targets = append(r.report.Targets, TargetInfo{DSN: t.redacted(), Version: t.Version(ctx)})
	}
	r.report.Options = Options{Connections: r.opt.Connections, Duration: r.opt.Duration, Rounds: r.opt.Rounds, Warmup: max(0, r.opt.Warmup), Timeout: r.opt.Timeout, Verify: max(0, r.opt.Verify)}
	for _, s := range r.opt.Scenarios {
		r.total += len(r.targets) * r.opt.Rounds
		if s.Bulk == nil {
			r.total += len(r.targets) * r.opt.Rounds * (len(r.opt.Connections) - 1)
		}
	}
	var err error
	for _, s := range r.opt.Scenarios {
		if s.Bulk != nil {
			err = r.bulk(ctx, s)
		} else {
			err = r.scenario(ctx, s)
		}
		if err != nil {
			break
		}
	}
	r.report.finish()
	if ctx.Err() != nil {
		r.report.Interrupted = true
		return r.report, nil
	}
	return r.report, err
}

func (r *runner) close() {
	for _, list := range r.conns {
		for _, c := range list {
			c.Close()
		}
	}
}

// need opens connections until each target has n.
func (r *runner) need(ctx context.Context, n int) error {
	for i, t := range r.targets {
		for len(r.conns[i]) < n {
			c, err := t.Connect(ctx)
			if err != nil {
				return fmt.Errorf("target %s: connection %d: %w", r.names[i], len(r.conns[i])+1, err)
			}
			r.conns[i] = append(r.conns[i], c)
		}
	}
	return nil
}

// each runs statements of a scenario's preparation or restoration on a target; those that it has no words for are left out.
func (r *runner) each(ctx context.Context, i int, list []Statement, p Params) error {
	for k := range list {
		st := &list[k]
		if r.targets[i].text(st) == "" {
			continue
		}
		if _, err := r.conns[i][0].Do(ctx, st, p, false); err != nil {
			return fmt.Errorf("target %s: %.100s: %w", r.names[i], st.Cypher, err)
		}
	}
	return nil
}

// turns are the turns of one target in a scenario.
type turns struct {
	times   histogram
	rates   []float64 // requests, or rows, a second in each turn
	errors  int64
	texts   map[string]int64
	peak    int64
	growth  int64
	next    atomic.Int64 // number of the next request
	done    bool         // no request is left
	deleted []Params
}

func (r *runner) scenario(ctx context.Context, s *Scenario) error {
	for i := range r.targets {
		if err := r.each(ctx, i, s.Setup, nil); err != nil {
			return err
		}
	}
	out, err := r.checked(s, func() (map[int]error, []*Difference, error) { return r.verify(ctx, s) })
	if err != nil {
		return errors.Join(err, r.restore(s, make([]*turns, len(r.targets))))
	}
	for _, n := range r.opt.Connections {
		if err = r.need(ctx, n); err != nil {
			break
		}
		if err = r.measure(ctx, s, n, out); err != nil {
			break
		}
	}
	return err
}

// checked runs a verification and returns what keeps each target from being timed.
func (r *runner) checked(s *Scenario, verify func() (map[int]error, []*Difference, error)) (map[int]string, error) {
	out := map[int]string{}
	if r.opt.Verify < 0 {
		for i, t := range r.targets {
			for k := range s.Statements {
				if t.text(&s.Statements[k]) == "" {
					out[i] = errUnsupported.Error()
				}
			}
		}
		return out, nil
	}
	failed, different, err := verify()
	if err != nil {
		return nil, err
	}
	for i, e := range failed {
		out[i] = firstLine(e.Error())
	}
	for _, d := range different {
		if !r.opt.KeepGoing {
			return nil, d
		}
		r.report.Differences = append(r.report.Differences, *d)
		out[slices.Index(r.names, d.Other)] = "other answers than " + d.First
	}
	return out, nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// measure times one scenario with n connections, target after target in each round (K3).
func (r *runner) measure(ctx context.Context, s *Scenario, n int, out map[int]string) error {
	all := make([]*turns, len(r.targets))
	for i := range all {
		all[i] = &turns{texts: map[string]int64{}}
	}
	ring, err := r.ring(s)
	if err != nil {
		return err
	}
	var failure error
	for round := -1; round < r.opt.Rounds && failure == nil; round++ {
		length := r.opt.Duration / time.Duration(r.opt.Rounds)
		if round < 0 {
			if length = r.opt.Warmup; length <= 0 {
				continue
			}
		}
		for i := range r.targets {
			if out[i] == "" && !all[i].done && ctx.Err() == nil {
				if failure = r.turn(ctx, s, i, n, length, ring, all[i], round < 0); failure != nil {
					break
				}
			}
			if round >= 0 && ctx.Err() == nil {
				r.done++
				r.opt.Progress(Progress{s.Name, r.names[i], r.done, r.total})
			}
		}
	}
	r.cells(s, n, all, out)
	return errors.Join(failure, r.restore(s, all), ctx.Err())
}

// ring draws requests that only read once for all targets; those that write are drawn as they come, for each is another.
func (r *runner) ring(s *Scenario) ([]Request, error) {
	if s.Writes() {
		return nil, nil
	}
	d, err := newDraw(r.net, s, 0)
	if err != nil {
		return nil, err
	}
	out := make([]Request, 0, 4096)
	for n := range cap(out) {
		req, ok := d.request(s, n)
		if !ok {
			break
		}
		out = append(out, req)
	}
	return out, nil
}

// turn lets n connections of a target send one request after the other for a time.
func (r *runner) turn(ctx context.Context, s *Scenario, i, n int, length time.Duration, ring []Request, t *turns, warmup bool) error {
	pid := r.dsns[i].PID
	if r.dsns[i].Kind == Embedded {
		pid = os.Getpid()
	}
	workers := make([]*worker, n)
	for k := range workers {
		w := &worker{scenario: s, conn: r.conns[i][k], ring: ring, next: &t.next, timeout: r.opt.Timeout, texts: map[string]int64{}}
		if ring == nil {
			var err error
			if w.draw, err = newDraw(r.net, s, i); err != nil {
				return err
			}
		}
		workers[k] = w
	}
	memory := watch(pid)
	began := time.Now()
	var all sync.WaitGroup
	for _, w := range workers {
		all.Go(func() { w.run(ctx, began.Add(length)) })
	}
	all.Wait()
	took := time.Since(began)
	peak, growth := memory.end()
	requests := int64(0)
	for _, w := range workers {
		t.deleted = append(t.deleted, w.deleted...)
		t.done = t.done || w.exhausted
		requests += w.times.n
		if warmup {
			continue
		}
		t.times.merge(&w.times)
		t.errors += w.errors
		for text, k := range w.texts {
			note(t.texts, text, k)
		}
	}
	if !warmup && ctx.Err() == nil {
		t.rates = append(t.rates, float64(requests)/took.Seconds())
		t.peak, t.growth = max(t.peak, peak), max(t.growth, growth)
	}
	return nil
}

// worker is one connection in a turn.
type worker struct {
	scenario  *Scenario
	conn      Conn
	ring      []Request
	draw      *Draw
	next      *atomic.Int64
	timeout   time.Duration
	times     histogram
	errors    int64
	texts     map[string]int64
	deleted   []Params
	exhausted bool
}

// run sends requests until a moment. The last one may end after it: what it took counts.
func (w *worker) run(ctx context.Context, until time.Time) {
	limited, cancel := context.WithDeadline(ctx, until.Add(w.timeout)) // one for all requests: a timer for each costs more than a short read
	defer cancel()
	last := len(w.scenario.Statements) - 1
	for now := time.Now(); now.Before(until) && ctx.Err() == nil; {
		n := int(w.next.Add(1) - 1)
		var req Request
		if w.ring != nil {
			req = w.ring[n%len(w.ring)]
		} else {
			var ok bool
			if req, ok = w.draw.request(w.scenario, n); !ok {
				w.exhausted = true
				return
			}
		}
		began := time.Now()
		_, err := w.conn.Do(limited, &w.scenario.Statements[req.Statement], req.Params, false)
		now = time.Now()
		if ctx.Err() != nil {
			return // it was cancelled, not refused
		}
		if err != nil {
			w.errors++
			note(w.texts, errorText(err), 1)
			continue
		}
		w.times.add(now.Sub(began))
		if w.scenario.Deletes && req.Statement == last {
			w.deleted = append(w.deleted, req.Params)
		}
	}
}

var longNumber = regexp.MustCompile(`[0-9]{4,}`)

// errorText is an error's first line without the numbers that make each different.
func errorText(err error) string { return longNumber.ReplaceAllString(firstLine(err.Error()), "…") }

// note counts an error by its text; only so many texts are kept (K5).
func note(texts map[string]int64, text string, n int64) {
	if texts[text] == 0 && len(texts) >= 5 {
		text = "others"
	}
	texts[text] += n
}

// remake makes a friendship again that was deleted. Where two targets are doors of one database both may have deleted it, one of them for nothing.
var remake = Statement{
	Cypher: `MATCH (a:Person {id: $a}), (b:Person {id: $b}) MERGE (a)-[:KNOWS {since: $since}]->(b)`,
	SQL:    `INSERT INTO knows (src, dst, since) SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT FROM knows WHERE src = $1 AND dst = $2)`,
	Args:   []string{"a", "b", "since"}}

// restore takes back what a scenario has written, also after the run was cancelled (K4).
func (r *runner) restore(s *Scenario, all []*turns) error {
	if len(s.Restore) == 0 && !s.Deletes {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var errs []error
	for i := range r.targets {
		err := r.each(ctx, i, s.Restore, Params{"mark": mark, "base": base})
		if all[i] != nil && len(all[i].deleted) > 0 && err == nil {
			err = r.remake(ctx, i, all[i].deleted)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: what it wrote could not be taken back: %w", s.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (r *runner) remake(ctx context.Context, i int, list []Params) error {
	for _, p := range list {
		if _, err := r.conns[i][0].Do(ctx, &remake, p, false); err != nil {
			return fmt.Errorf("target %s: %w", r.names[i], err)
		}
	}
	return nil
}

// bulk times one large statement, which is rolled back each time.
func (r *runner) bulk(ctx context.Context, s *Scenario) error {
	p := Params{"n": int64(s.Bulk.Rows)}
	all := make([]*turns, len(r.targets))
	for i := range all {
		all[i] = &turns{texts: map[string]int64{}}
	}
	err := r.bulkTurns(ctx, s, p, all)
	// The data of a bulk scenario is its own and goes with it, also after the run was cancelled.
	clean, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	for i := range r.targets {
		err = errors.Join(err, r.each(clean, i, s.Bulk.Drop, nil))
	}
	return err
}

func (r *runner) bulkTurns(ctx context.Context, s *Scenario, p Params, all []*turns) error {
	for i := range r.targets {
		if err := r.each(ctx, i, s.Bulk.Drop, nil); err != nil {
			return err
		}
		if err := r.each(ctx, i, s.Bulk.Make, p); err != nil {
			return err
		}
	}
	st := &s.Statements[0]
	probed := *st
	probed.Probe = &s.Bulk.Probe
	if len(st.Columns) > 0 {
		probed.Probe = nil
	}
	out, err := r.checked(s, func() (map[int]error, []*Difference, error) {
		single := *s
		single.Statements = []Statement{probed}
		single.Next = func(_ *Draw, n int) (Request, bool) { return Request{0, p}, n == 0 }
		return r.verify(ctx, &single)
	})
	if err != nil {
		return err
	}
	for range r.opt.Rounds {
		for i := range r.targets {
			if out[i] == "" && ctx.Err() == nil {
				if err := r.bulkTurn(ctx, i, s, p, all[i]); err != nil {
					return err
				}
			}
			if ctx.Err() == nil {
				r.done++
				r.opt.Progress(Progress{s.Name, r.names[i], r.done, r.total})
			}
		}
	}
	r.cells(s, 1, all, out)
	return ctx.Err()
}

func (r *runner) bulkTurn(ctx context.Context, i int, s *Scenario, p Params, t *turns) error {
	pid := r.dsns[i].PID
	if r.dsns[i].Kind == Embedded {
		pid = os.Getpid()
		runtime.GC() // what the turn before left is not this one's
	}
	// A connection of its own: what a server's process has kept from an execution before would hide what this one needs.
	c, err := r.targets[i].Connect(ctx)
	if err != nil {
		return fmt.Errorf("target %s: %w", r.names[i], err)
	}
	defer c.Close()
	if err := c.Begin(ctx); err != nil {
		return fmt.Errorf("target %s: %w", r.names[i], err)
	}
	one, cancel := context.WithTimeout(ctx, r.opt.Timeout)
	defer cancel()
	memory := watch(pid)
	began := time.Now()
	_, err = c.Do(one, &s.Statements[0], p, false)
	took := time.Since(began)
	peak, growth := memory.end()
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		t.errors++
		note(t.texts, errorText(err), 1)
		c.Rollback(ctx) // the statement's error is the one to tell
		return nil
	}
	t.times.add(took)
	t.rates = append(t.rates, float64(s.Bulk.Rows)/took.Seconds())
	t.peak, t.growth = max(t.peak, peak), max(t.growth, growth)
	return c.Rollback(ctx)
}

// cells adds what all targets did in a scenario to the report.
func (r *runner) cells(s *Scenario, n int, all []*turns, out map[int]string) {
	for i, t := range all {
		c := Cell{Scenario: s.Name, Group: s.Group, Title: s.Title, Target: r.names[i], Connections: n, Skipped: out[i]}
		if s.Bulk != nil {
			c.Rows = s.Bulk.Rows
		}
		if out[i] == "" {
			c.fill(t)
			c.Ratio = ratio(t.rates, all[0].rates)
		}
		r.report.Cells = append(r.report.Cells, c)
	}
}

// ratio is the median of the ratios of turns beside each other; 0 if there are none.
func ratio(x, first []float64) float64 {
	var list []float64
	for k := range min(len(x), len(first)) {
		if first[k] > 0 {
			list = append(list, x[k]/first[k])
		}
	}
	if len(list) == 0 {
		return 0
	}
	return median(list)
}
