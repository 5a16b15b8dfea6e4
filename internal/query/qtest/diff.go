package qtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
)

// Dump writes the graph of a target up to the identity of its entities: a bag of vertices and of relationships with their ends.
func Dump(t Target) (string, error) {
	var out []string
	for _, q := range []string{"MATCH (n) RETURN n", "MATCH (a)-[r]->(b) RETURN a, r, b"} {
		res, err := t.Run(q, nil)
		if err != nil {
			return "", err
		}
		out = append(out, canonRows(res.Rows, false)...)
	}
	slices.Sort(out)
	return strings.Join(out, "\n"), nil
}

// Differential runs random statements on a subject and on the reference run (rules C5) and compares rows, errors and final graphs.
type Differential struct {
	Subject   func(batch int) Target // a fresh graph run with the batch size
	Reference func() Target
	// PerGraph is the number of statements on one graph; zero means 12.
	PerGraph int
}

// largest is the size of a graph, in entities, at which another one is begun.
const largest = 60

var batchSizes = []int{1, 7, 1024}

// Run compares n statements from a seed on. It returns how many were run, how many of them failed on both sides, and the
// first difference.
func (d *Differential) Run(seed uint64, n int) (ran, failed int, err error) {
	per := d.PerGraph
	if per == 0 {
		per = 12
	}
	for ran < n {
		f, k, err := d.graph(seed, min(per, n-ran))
		ran, failed = ran+k, failed+f
		if err != nil {
			return ran, failed, fmt.Errorf("seed %d: %w", seed, err)
		}
		seed++
	}
	return ran, failed, nil
}

// graph compares the statements of one graph.
func (d *Differential) graph(seed uint64, n int) (failed, ran int, err error) {
	g := NewGenerator(seed)
	size := batchSizes[seed%3]
	subject, ref := d.Subject(size), d.Reference()
	var history []string
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s\nbatch size %d, after:\n  %s", fmt.Sprintf(format, args...), size, strings.Join(history, "\n  "))
	}
	for _, q := range g.Setup() {
		history = append(history, q+";")
		for _, t := range []Target{subject, ref} {
			if _, err := t.Run(q, nil); err != nil {
				return 0, 0, fail("setup: %s", Explain(err))
			}
		}
	}
	if seed%2 == 0 {
		for _, q := range g.Indexes() {
			history = append(history, "/* subject only */ "+q+";")
			if _, err := subject.Run(q, nil); err != nil {
				return 0, 0, fail("index: %s", Explain(err))
			}
		}
	}
	for i := range n {
		st := g.Next()
		history = append(history, st.Literal+";")
		text, params := st.Literal, st.Params
		if (seed/3+uint64(i))%2 == 0 {
			text = st.Param
		} else {
			params = nil
		}
		a, aerr := run(subject, text, params)
		b, berr := run(ref, st.Literal, nil)
		ran++
		switch {
		case aerr != nil && berr != nil:
			failed++
			if dberr.As(aerr).Code != dberr.As(berr).Code {
				return failed, ran, fail("errors differ:\n  subject   %s\n  reference %s", Explain(aerr), Explain(berr))
			}
			if dberr.Is(aerr, dberr.Internal) {
				return failed, ran, fail("internal error: %s", Explain(aerr))
			}
		case aerr != nil:
			return failed, ran, fail("only the subject failed: %s\n%s", Explain(aerr), text)
		case berr != nil:
			return failed, ran, fail("only the reference failed: %s", Explain(berr))
		default:
			x, y := canonRows(a.Rows, false), canonRows(b.Rows, false)
			if !st.Ordered {
				slices.Sort(x)
				slices.Sort(y)
			}
			if !slices.Equal(x, y) {
				missing, extra := bagDiff(y, x)
				return failed, ran, fail("rows differ: missing %s, unexpected %s\n%s\n%s", clip(missing), clip(extra), text, explain(a.Plan))
			}
		}
		if st.Write {
			x, err := Dump(subject)
			if err != nil {
				return failed, ran, fail("dump: %s", Explain(err))
			}
			y, err := Dump(ref)
			if err != nil {
				return failed, ran, fail("dump: %s", Explain(err))
			}
			if x != y {
				missing, extra := bagDiff(strings.Split(y, "\n"), strings.Split(x, "\n"))
				var p *plan.Query
				if a != nil {
					p = a.Plan
				}
				return failed, ran, fail("graphs differ: missing %s, unexpected %s\n%s\n%s", clip(missing), clip(extra), text, explain(p))
			}
			if strings.Count(x, "\n") > largest {
				return failed, ran, nil // answers grow with the graph, and find no more
			}
		}
	}
	return failed, ran, nil
}

// run turns a panic into an error, so that the statement is reported.
func run(t Target, text string, params Params) (res *Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(dberr.New(dberr.Internal, "panic: %v", p))
		}
	}()
	return t.Run(text, params)
}

// explain draws the operators of a plan.
func explain(q *plan.Query) string {
	if q == nil {
		return ""
	}
	var b strings.Builder
	var walk func(n plan.Node, depth int)
	walk = func(n plan.Node, depth int) {
		fmt.Fprintf(&b, "%s%T %+v\n", strings.Repeat("  ", depth), n, n.Info().CID)
		for _, c := range n.Children() {
			walk(c, depth+1)
		}
	}
	walk(q.Root, 1)
	return b.String()
}
