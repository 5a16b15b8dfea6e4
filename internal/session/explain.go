package session

import (
	"context"
	"strings"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// PlanReport describes a plan; see [plan.Report].
type PlanReport = plan.Report

// PlanTree is an operator of a plan; see [plan.Tree].
type PlanTree = plan.Tree

// Plan returns the plan that EXPLAIN or PROFILE made, as text, or "".
func (p *Portal) Plan() string {
	if r := p.PlanReport(); r != nil {
		return r.String()
	}
	return ""
}

// PlanReport returns the plan that EXPLAIN or PROFILE made, nil without. With Session.PlanAside that of PROFILE is complete when the
// rows have been read.
func (p *Portal) PlanReport() *PlanReport {
	if r, ok := p.rows.(*cypherRows); ok {
		return r.planReport()
	}
	return nil
}

// report describes a plan, and what its execution counted if there was one.
func report(q *plan.Query, cur *exec.Cursor, began time.Time) *plan.Report {
	if cur == nil {
		return &plan.Report{Root: q.Tree(nil), NoEstimates: q.Raw}
	}
	stats := make([]plan.OpStats, q.Nodes)
	for i, p := range cur.Profile() {
		if p != nil {
			stats[i] = plan.OpStats{
				Rows: p.Rows, Batches: p.Batches, Opens: p.Opens, Time: p.Time, Cost: p.Cost, Memory: p.Memory, Spilled: p.Spilled, Files: p.Files,
			}
		}
	}
	return &plan.Report{
		Root: q.Tree(stats), NoEstimates: q.Raw, Profiled: true, Memory: cur.PeakMemory(), Spilled: cur.Spilled(), Time: time.Since(began),
	}
}

func planLines(text string) [][]value.Value {
	var out [][]value.Value
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		out = append(out, []value.Value{value.NewString(line)})
	}
	return out
}

// explainOptions are those of SQL's EXPLAIN that change something here; the others of PostgreSQL are accepted.
type explainOptions struct {
	analyze, json, noCosts, noTiming, noSummary bool
}

func readExplain(e *sql.Explain) (o explainOptions, err error) {
	o.analyze = e.Analyze
	for _, opt := range e.Options {
		text := strings.ToLower(optionText(opt))
		on := text != "false" && text != "off" && text != "0"
		switch opt.Name {
		case "analyze":
			o.analyze = on
		case "costs":
			o.noCosts = !on
		case "timing":
			o.noTiming = !on
		case "summary":
			o.noSummary = !on
		case "verbose", "settings", "generic_plan", "buffers", "wal", "memory", "serialize":
		case "format":
			switch text {
			case "text":
			case "json":
				o.json = true
			case "xml", "yaml":
				return o, dberr.New(dberr.FeatureNotSupported, "EXPLAIN in the format %s is not supported", text).WithHint("Formats are text and json.").At(e.Pos(), e.End())
			default:
				return o, dberr.New(dberr.InvalidParameterValue, "unrecognized value for EXPLAIN option \"format\": %q", text).At(e.Pos(), e.End())
			}
		default:
			return o, dberr.New(dberr.Syntax, "unrecognized EXPLAIN option %q", opt.Name).At(e.Pos(), e.End())
		}
	}
	return o, nil
}

func (s *Session) prepareExplain(ctx context.Context, st *sql.Statement, e *sql.Explain, types []*sqltype.Type) (*Prepared, error) {
	o, err := readExplain(e)
	if err != nil {
		return nil, err
	}
	inner, err := s.prepareBody(ctx, st, e.Body, types)
	if err != nil {
		return nil, err
	}
	t := sqltype.Text
	if o.json {
		t = sqltype.JSON
	}
	return &Prepared{Text: st.Text, params: inner.params, columns: []Column{{"QUERY PLAN", t}}, command: &explainCommand{inner: inner, opt: o}}, nil
}

// explainCommand prints a plan.
type explainCommand struct {
	inner *Prepared
	opt   explainOptions
}

func (c *explainCommand) inFailed() bool   { return false }
func (c *explainCommand) tag(int64) string { return "EXPLAIN" }

func (c *explainCommand) run(ctx context.Context, s *Session, args []value.Value) (rows, error) {
	inner := c.inner.command
	if e, ok := inner.(*executeCommand); ok {
		vals, err := e.values(ctx, s, args)
		if err != nil {
			return nil, err
		}
		inner, args = e.stored.command, vals
	}
	var reports []named
	var err error
	switch q := inner.(type) {
	case *queryCommand:
		reports, err = c.query(ctx, s, q, args)
	default:
		err = dberr.New(dberr.FeatureNotSupported, "EXPLAIN of this statement is not supported yet")
	}
	if err != nil {
		return nil, err
	}
	for _, r := range reports {
		r.NoEstimates, r.NoTiming, r.NoSummary = r.NoEstimates || c.opt.noCosts, c.opt.noTiming, c.opt.noSummary
	}
	if c.opt.json {
		var all []value.Value
		for _, r := range reports {
			all = append(all, r.Value())
		}
		return &fixed{data: [][]value.Value{{value.NewString(string(value.AppendJSON(nil, value.NewList(all...))))}}}, nil
	}
	text := ""
	for _, r := range reports {
		if r.name != "" {
			text += r.name + "\n"
		}
		text += r.String()
	}
	return &fixed{data: planLines(text)}, nil
}

// named is the plan of a statement (without a name) or of a call in it.
type named struct {
	name string
	*plan.Report
}

// query describes a query and the calls of cypher() in it.
func (c *explainCommand) query(ctx context.Context, s *Session, q *queryCommand, args []value.Value) ([]named, error) {
	began := time.Now()
	if !c.opt.analyze {
		reports := []named{{"", report(q.bound.Query, nil, began)}}
		tx, err := s.need(ctx)
		if err != nil {
			return nil, err
		}
		for _, call := range q.cat.calls {
			comp, err := call.plan(ctx, s, tx)
			if err != nil {
				return nil, err
			}
			reports = append(reports, named{call.String(), comp.report(nil, began)})
		}
		return reports, nil
	}
	r, err := q.start(ctx, s, args, true)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		row, err := r.Next(ctx)
		if err != nil {
			return nil, err
		}
		if row == nil {
			break
		}
	}
	reports := []named{{"", report(q.bound.Query, r.cur, began)}}
	for _, call := range q.cat.calls {
		if ran := r.fences.ran[call]; ran != nil {
			reports = append(reports, named{call.String(), ran.plan.report(ran.cur, began)})
		}
	}
	return reports, nil
}

// plan finds the call's plan for EXPLAIN, which does not run it.
func (c *callSource) plan(ctx context.Context, s *Session, tx store.Tx) (*planned, error) {
	stmt, g, err := s.openGraph(ctx, tx, c.graph)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	t, err := s.textOf(s.envOf(c.graph, true), c.text, nil)
	if err != nil {
		return nil, c.shift(err)
	}
	p, err := s.planOf(t, g, stmt, nil, nil)
	if err != nil {
		return nil, c.shift(err)
	}
	return p, nil
}
