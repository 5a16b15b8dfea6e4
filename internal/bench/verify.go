package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Difference is a request to which two targets gave different answers.
type Difference struct {
	Scenario  string `json:"scenario"`
	Statement string `json:"statement"`
	Params    string `json:"params"`
	First     string `json:"first"` // target
	Other     string `json:"other"`
	FirstRows string `json:"firstRows"`
	OtherRows string `json:"otherRows"`
}

func (d *Difference) Error() string {
	return fmt.Sprintf("%s: %s and %s answer differently\nstatement: %s\nwith:      %s\n%s: %s\n%s: %s",
		d.Scenario, d.First, d.Other, d.Statement, d.Params, d.First, d.FirstRows, d.Other, d.OtherRows)
}

// show writes rows in one line, shortened.
func show(rows [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows", len(rows))
	for i, r := range rows {
		if b.Len() > 1500 {
			fmt.Fprintf(&b, " … and %d more", len(rows)-i)
			break
		}
		b.WriteString(" (" + strings.Join(r, ", ") + ")")
	}
	return b.String()
}

// paramText writes parameters in the order of their names.
func paramText(p Params) string {
	names := make([]string, 0, len(p))
	for n := range p {
		names = append(names, n)
	}
	slices.Sort(names)
	for i, n := range names {
		names[i] = "$" + n + " = " + literal(p[n])
	}
	return strings.Join(names, ", ")
}

// errUnsupported: a target has no words for a statement.
var errUnsupported = errors.New("no syntax for it")

// answer asks one request as verification does: a write is rolled back after its probe was read.
func answer(ctx context.Context, c Conn, st *Statement, p Params) (rows [][]string, err error) {
	if st.Probe == nil {
		a, err := c.Do(ctx, st, p, true)
		return ordered(st, a.Rows), err
	}
	if err := c.Begin(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if e := c.Rollback(ctx); err == nil {
			err = e
		}
	}()
	if _, err := c.Do(ctx, st, p, false); err != nil {
		return nil, err
	}
	a, err := c.Do(ctx, st.Probe, p, true)
	return ordered(st.Probe, a.Rows), err
}

func ordered(st *Statement, rows [][]string) [][]string {
	if st.Ordered {
		return rows
	}
	return sorted(rows)
}

// verify asks the first requests of a scenario of every target and compares the answers with those of the first target that has some. Targets that
// fail are told in failed, those that differ in different (K2).
func (r *runner) verify(ctx context.Context, s *Scenario) (failed map[int]error, different []*Difference, err error) {
	failed = map[int]error{}
	d, err := newDraw(r.net, s, 0)
	if err != nil {
		return nil, nil, err
	}
	for i, t := range r.targets {
		for k := range s.Statements {
			if t.text(&s.Statements[k]) == "" {
				failed[i] = errUnsupported
			}
		}
	}
	differs := map[int]bool{}
	for n := range r.opt.Verify {
		req, ok := d.request(s, n)
		if !ok {
			break
		}
		st := &s.Statements[req.Statement]
		first, want := -1, [][]string(nil)
		for i := range r.targets {
			if failed[i] != nil || differs[i] {
				continue
			}
			one, cancel := context.WithTimeout(ctx, r.opt.Timeout)
			got, err := answer(one, r.conns[i][0], st, req.Params)
			cancel()
			if ctx.Err() != nil {
				return failed, different, ctx.Err()
			}
			if err != nil {
				if failed[i] = err; len(req.Params) > 0 {
					failed[i] = fmt.Errorf("%w (with %s)", err, paramText(req.Params))
				}
				continue
			}
			if first < 0 {
				first, want = i, got
				continue
			}
			if !slices.EqualFunc(want, got, slices.Equal[[]string]) {
				differs[i] = true
				different = append(different, &Difference{Scenario: s.Name, Statement: st.Cypher, Params: paramText(req.Params),
					First: r.names[first], Other: r.names[i], FirstRows: show(want), OtherRows: show(got)})
			}
		}
	}
	return failed, different, nil
}
