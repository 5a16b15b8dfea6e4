package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// OpStats is what an execution counted for one operator; a slice of them is indexed by Base.ID.
type OpStats struct {
	Rows    int64          // rows out
	Batches int64          // batches out
	Opens   int64          // times that it was begun: once for each batch that an Apply passes down
	Time    time.Duration  // with everything below
	Cost    store.Counters // with everything below
	Memory  int64          // most bytes that it held at one time, without what is below
	Spilled int64          // bytes that it wrote to temporary files
	Files   int64          // temporary files that it made
}

// Tree is an operator of an explained or profiled plan, in the form that doors show.
type Tree struct {
	Name        string   // "Expand"
	Detail      string   // "(p)-[:KNOWS]->(f)"; the reason of an Eager
	Identifiers []string // variables in its rows, in the order of their slots
	Est         float64  // estimated rows out
	// Stats is what the operator did by itself, nil if nothing was run: Time and Cost are without its children.
	Stats    *OpStats
	Children []*Tree

	node Node
}

// Report is a plan with what is known of it as a whole.
type Report struct {
	Root *Tree
	// Cache says how the plan came to be, as "hit"; "" if nobody looked.
	Cache string
	// Profiled says that the statement was run; what follows is known only then.
	Profiled bool
	Memory   int64 // most bytes that the statement held at one time
	Spilled  int64 // bytes that it wrote to temporary files
	Time     time.Duration

	// What String leaves out: estimates where there are none; times and the lines at the end for output that is to be compared.
	NoEstimates, NoTiming, NoSummary bool
}

// Tree returns the plan as it is shown. stats is nil if nothing was run.
func (q *Query) Tree(stats []OpStats) *Tree {
	t := (&printer{q}).tree(q.Root, stats)
	t.own()
	return t
}

func (p *printer) tree(n Node, stats []OpStats) *Tree {
	bs := n.Info()
	t := &Tree{Est: bs.Est, node: n, Identifiers: p.identifiers(n)}
	t.Name, t.Detail = p.describe(n)
	for _, s := range bs.Sieves {
		if v := p.name(s.Slot); v != "" {
			t.Detail += ", only " + v + " that join"
		} else {
			t.Detail += ", only nodes that join"
		}
	}
	if bs.ID < len(stats) {
		s := stats[bs.ID]
		t.Stats = &s
	}
	for _, c := range n.Children() {
		if !p.hidden(c) {
			t.Children = append(t.Children, p.tree(c, stats))
		}
	}
	exprs(n, func(e *expr.Expr, _ bool) {
		subplans(*e, func(_ *expr.Subplan, s *Subplan) { t.Children = append(t.Children, p.tree(s.Root, stats)) })
	})
	return t
}

// identifiers lists the variables of an operator's rows.
func (p *printer) identifiers(n Node) []string {
	slots := n.Info().Out
	if r, ok := n.(*ProduceResults); ok {
		return r.Names
	}
	var out []string
	for _, s := range slots {
		if i := &p.q.Slots[s]; !i.Anon && i.Kind != HintWord && i.Kind != RowID {
			out = append(out, i.Name)
		}
	}
	return out
}

// own takes what the children did away from what an operator did with them.
func (t *Tree) own() {
	for _, c := range t.Children {
		if t.Stats != nil && c.Stats != nil {
			t.Stats.Time = max(0, t.Stats.Time-c.Stats.Time)
			t.Stats.Cost.AddDifference(&store.Counters{}, &c.Stats.Cost)
		}
		c.own()
	}
}

// draw writes the tree, the last operator first; note adds to a line.
func (t *Tree) draw(b *strings.Builder, self, below string, note func(*Tree)) {
	b.WriteString(self)
	b.WriteString(t.Name)
	if t.Detail != "" {
		b.WriteByte(' ')
		b.WriteString(t.Detail)
	}
	note(t)
	b.WriteByte('\n')
	for i, c := range t.Children {
		if i == len(t.Children)-1 {
			c.draw(b, below+"└─ ", below+"   ", note)
		} else {
			c.draw(b, below+"├─ ", below+"│  ", note)
		}
	}
}

// Walk calls f for every operator, the last one first.
func (t *Tree) Walk(f func(*Tree)) {
	f(t)
	for _, c := range t.Children {
		c.Walk(f)
	}
}

// Property is a named figure of an operator.
type Property struct {
	Name string
	Val  value.Value
}

// Properties lists what an operator counted, by the names that PROFILE prints; those that are 0 are left out, but for rows and hits.
func (t *Tree) Properties() []Property {
	s := t.Stats
	if s == nil {
		return nil
	}
	out := []Property{{"rows", value.NewInt(s.Rows)}, {"hits", value.NewInt(s.Cost.DBHits())}}
	for _, x := range []struct {
		name string
		n    int64
	}{
		{"batches", s.Batches}, {"opens", s.Opens - 1},
		{"probes", s.Cost.IDProbes + s.Cost.IndexProbes + s.Cost.UniqueProbes},
		{"hint_ok", s.Cost.HintOK}, {"hint_chain", s.Cost.HintOwnChain}, {"hint_missing", s.Cost.HintMissing}, {"hint_stale", s.Cost.HintStale},
		{"places", s.Cost.RootHits}, {"hops", s.Cost.HopsCached}, {"hops_changed", s.Cost.HopsDirty}, {"hops_index", s.Cost.HopsIndex},
		{"scans", s.Cost.SeqScans}, {"pages_hit", s.Cost.PagesPinned - s.Cost.PagesRead}, {"pages_read", s.Cost.PagesRead},
		{"log_bytes", s.Cost.WALBytes}, {"memory", s.Memory}, {"spilled", s.Spilled}, {"files", s.Files},
	} {
		if x.n > 0 {
			if x.name == "opens" {
				x.n++
			}
			out = append(out, Property{x.name, value.NewInt(x.n)})
		}
	}
	return out
}

// String draws the plan with what is known of each operator, and of the whole below.
func (r *Report) String() string {
	var b strings.Builder
	r.Root.draw(&b, "", "", func(t *Tree) {
		if !r.NoEstimates {
			fmt.Fprintf(&b, "  ~%s rows", number(t.Est))
		}
		if t.Stats == nil {
			return
		}
		sep := "  ("
		for _, p := range t.Properties() {
			fmt.Fprintf(&b, "%s%s %d", sep, p.Name, p.Val.Int())
			sep = ", "
		}
		if !r.NoTiming {
			fmt.Fprintf(&b, "%stime %s", sep, t.Stats.Time.Round(time.Microsecond))
		}
		b.WriteByte(')')
	})
	if r.NoSummary {
		return b.String()
	}
	if r.Cache != "" {
		fmt.Fprintf(&b, "Plan Cache: %s\n", r.Cache)
	}
	if r.Profiled {
		fmt.Fprintf(&b, "Peak Memory: %d bytes\n", r.Memory)
		if r.Spilled > 0 {
			fmt.Fprintf(&b, "Spilled: %d bytes\n", r.Spilled)
		}
		fmt.Fprintf(&b, "Execution Time: %.3f ms\n", float64(r.Time.Nanoseconds())/1e6)
	}
	return b.String()
}

// Value is the report as a map, for doors that hand plans over as values and for EXPLAIN (FORMAT JSON).
func (r *Report) Value() value.Value {
	m := value.NewMapBuilder()
	m.Put("Plan", r.Root.value())
	if r.Cache != "" {
		m.Put("Plan Cache", value.NewString(r.Cache))
	}
	if r.Profiled {
		m.Put("Peak Memory", value.NewInt(r.Memory))
		m.Put("Spilled", value.NewInt(r.Spilled))
		m.Put("Execution Time", value.NewFloat(float64(r.Time.Nanoseconds())/1e6))
	}
	return m.Map()
}

func (t *Tree) value() value.Value {
	m := value.NewMapBuilder()
	m.Put("Node Type", value.NewString(t.Name))
	if t.Detail != "" {
		m.Put("Detail", value.NewString(t.Detail))
	}
	var ids []value.Value
	for _, s := range t.Identifiers {
		ids = append(ids, value.NewString(s))
	}
	m.Put("Output", value.NewList(ids...))
	m.Put("Plan Rows", value.NewFloat(t.Est))
	if t.Stats != nil {
		for _, p := range t.Properties() {
			m.Put(p.Name, p.Val)
		}
		m.Put("time", value.NewFloat(float64(t.Stats.Time.Nanoseconds())/1e6))
	}
	if len(t.Children) > 0 {
		var kids []value.Value
		for _, c := range t.Children {
			kids = append(kids, c.value())
		}
		m.Put("Plans", value.NewList(kids...))
	}
	return m.Map()
}
