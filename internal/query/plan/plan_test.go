package plan

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/stats"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// fakeCatalog is a catalog whose counts are written down in the test.
type fakeCatalog struct {
	labels  []schema.Label
	count   map[schema.LabelID]float64 // of vertices and of relationships
	ends    map[string]float64         // "label/type/dir" → relationships
	indexes []schema.Index
	dist    map[schema.IndexID]float64
	keys    []string
	total   float64
}

func (c *fakeCatalog) Label(_ store.View, name string, e schema.Entity) (schema.LabelID, bool) {
	for _, l := range c.labels {
		if l.Name == name && l.Entity == e {
			return l.ID, true
		}
	}
	return 0, false
}

func (c *fakeCatalog) Key(name string) (schema.KeyID, bool) {
	for i, k := range c.keys {
		if k == name {
			return schema.KeyID(i + 1), true
		}
	}
	return 0, false
}
func (c *fakeCatalog) Labels(store.View) []schema.Label           { return c.labels }
func (c *fakeCatalog) Keys() []string                             { return c.keys }
func (c *fakeCatalog) Indexes(store.View) []schema.Index          { return c.indexes }
func (c *fakeCatalog) Constraints(store.View) []schema.Constraint { return nil }
func (c *fakeCatalog) NodeCount(l schema.LabelID) float64 {
	if l == schema.NoLabel {
		return c.total
	}
	return c.count[l]
}

func (c *fakeCatalog) RelCount(t schema.LabelID) float64 {
	if t != schema.NoLabel {
		return c.count[t]
	}
	var n float64
	for _, l := range c.labels {
		if l.Entity == schema.Edge {
			n += c.count[l.ID]
		}
	}
	return n
}

func (c *fakeCatalog) DegreeMean(label, t schema.LabelID, dir store.Direction) float64 {
	if t == schema.NoLabel {
		var d float64
		for _, l := range c.labels {
			if l.Entity == schema.Edge {
				d += c.DegreeMean(label, l.ID, dir)
			}
		}
		return d
	}
	if label == schema.NoLabel {
		return c.count[t] / c.total
	}
	return c.ends[fmt.Sprintf("%d/%d/%d", label, t, dir)] / max(1, c.count[label])
}
func (c *fakeCatalog) Distinct(ix schema.IndexID) float64 { return c.dist[ix] }
func (c *fakeCatalog) LabelsCount(ls []schema.LabelID) float64 {
	n := c.total
	for _, l := range ls {
		n *= c.count[l] / max(1, c.total)
	}
	return n
}
func (c *fakeCatalog) RelsBetween(src, t, dst schema.LabelID) float64 {
	n := c.RelCount(t)
	if src != schema.NoLabel {
		n = c.DegreeMean(src, t, store.Out) * c.NodeCount(src)
	}
	if dst != schema.NoLabel {
		in := c.DegreeMean(dst, t, store.In) * c.NodeCount(dst)
		n *= in / max(1, c.RelCount(t))
	}
	return n
}
func (c *fakeCatalog) KeyStats(schema.LabelID, schema.KeyID) *stats.Key                 { return nil }
func (c *fakeCatalog) DegreeStats(_, _ schema.LabelID, _ store.Direction) *stats.Degree { return nil }

func (c *fakeCatalog) add(name string, e schema.Entity, n float64) schema.LabelID {
	id := schema.FirstUserLabel + schema.LabelID(len(c.labels))
	c.labels = append(c.labels, schema.Label{ID: id, Name: name, Entity: e})
	c.count[id] = n
	return id
}

// parse reads lines such as `node Person 1000`, `rel KNOWS 5000 Person Person`, `index Person id unique`, `keys a b`.
func parseCatalog(t testing.TB, text string) *fakeCatalog {
	c := &fakeCatalog{count: map[schema.LabelID]float64{}, ends: map[string]float64{}, dist: map[schema.IndexID]float64{}}
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		num := func(s string) float64 {
			n, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatalf("catalog: %q: %v", line, err)
			}
			return n
		}
		switch f[0] {
		case "node":
			n := num(f[2])
			c.add(f[1], schema.Vertex, n)
			if len(f) < 4 { // "sub": its vertices are counted elsewhere
				c.total += n
			}
		case "rel":
			n := num(f[2])
			id := c.add(f[1], schema.Edge, n)
			for _, l := range strings.Split(f[3], ",") {
				from, _ := c.Label(store.View{}, l, schema.Vertex)
				c.ends[fmt.Sprintf("%d/%d/%d", from, id, store.Out)] += n / float64(len(strings.Split(f[3], ",")))
			}
			for _, l := range strings.Split(f[4], ",") {
				to, _ := c.Label(store.View{}, l, schema.Vertex)
				c.ends[fmt.Sprintf("%d/%d/%d", to, id, store.In)] += n / float64(len(strings.Split(f[4], ",")))
			}
		case "index":
			id := schema.IndexID(len(c.indexes) + 1)
			label, _ := c.Label(store.View{}, f[1], schema.Vertex)
			keys := strings.Split(f[2], ",")
			ent := schema.Vertex
			if label == 0 {
				label, _ = c.Label(store.View{}, f[1], schema.Edge)
				ent = schema.Edge
			}
			ix := schema.Index{ID: id, Entity: ent, Name: "ix_" + f[1] + "_" + strings.Join(keys, "_"), Label: label, LabelName: f[1], KeyNames: keys, Unique: len(f) > 3 && f[3] == "unique"}
			c.dist[id] = c.count[label]
			if !ix.Unique {
				c.dist[id] = max(1, c.count[label]/10)
			}
			c.indexes = append(c.indexes, ix)
		case "keys":
			c.keys = append(c.keys, f[1:]...)
		default:
			t.Fatalf("catalog: what is %q?", line)
		}
	}
	return c
}

type testProcs struct{}

func (testProcs) Procedure(name string) (*bind.Proc, bool) {
	if name == "db.labels" {
		return &bind.Proc{Name: name, Out: []bind.Field{{Name: "label"}}}, true
	}
	return nil, false
}

func planText(text string, cat Catalog, opt Options, age bool) (*Query, error) {
	d := cypher.Cypher
	if age {
		d = cypher.AGE
	}
	st, err := cypher.Parse(text, cypher.Options{Dialect: d})
	if err != nil {
		return nil, err
	}
	b, err := bind.Bind(st, bind.Options{AGE: age, Procs: testProcs{}})
	if err != nil {
		return nil, err
	}
	return Make(b, cat, opt)
}

func errText(err error) string {
	e := dberr.As(err)
	return fmt.Sprintf("error %s %s at %d: %s\n", e.Code.TCKType(), e.Token, e.Pos, e.Message)
}

// TestPlan compares plans with testdata/plan: `plan [cid] [rows] [notices] [reference] [force] [off=rule,…]`.
func TestPlan(t *testing.T) {
	datadriven.Walk(t, "testdata/plan", func(t *testing.T, path string) {
		cat := parseCatalog(t, "")
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "catalog":
				cat = parseCatalog(t, d.Input)
				return ""
			case "plan":
				opt := Options{Reference: d.HasArg("reference"), Force: d.HasArg("force")}
				for _, a := range d.CmdArgs {
					if a.Key == "off" {
						opt.Off = map[Rule]bool{}
						for _, v := range a.Vals {
							opt.Off[Rule(v)] = true
						}
					}
				}
				q, err := planText(d.Input, cat, opt, d.HasArg("age"))
				if err != nil {
					return errText(err)
				}
				checkPlan(t, q)
				out := q.Print(PrintOptions{CIDs: d.HasArg("cid"), Rows: d.HasArg("rows")})
				if d.HasArg("notices") {
					for _, n := range q.Notices {
						out += fmt.Sprintf("-- %s: %s %s\n", n.Code, n.Message, n.Hint)
					}
				}
				return out
			}
			t.Fatalf("what is %q?", d.Cmd)
			return ""
		})
	})
}

// checkPlan holds what doc.go promises of any plan.
func checkPlan(t testing.TB, q *Query) {
	t.Helper()
	seen := map[int]bool{}
	q.Walk(func(n Node) {
		b := n.Info()
		if seen[b.ID] || b.ID < 0 || b.ID >= q.Nodes {
			t.Errorf("P1: operator %T has the id %d of %d", n, b.ID, q.Nodes)
		}
		seen[b.ID] = true
		if b.CID.Seg >= len(q.Segments) {
			t.Errorf("P4: %T in segment %d of %d", n, b.CID.Seg, len(q.Segments))
		} else if w := q.Segments[b.CID.Seg].Writes; b.CID.Read > w {
			t.Errorf("P4: %T reads at %d of %d writes", n, b.CID.Read, w)
		}
	})
	checkSlots(t, q, q.Root, slotSet{})
}

// checkSlots: whatever an operator reads is there (P2).
func checkSlots(t testing.TB, q *Query, n Node, arg slotSet) slotSet {
	t.Helper()
	if a, ok := n.(*Argument); ok {
		s := setOf(a.Args)
		s.add(a.RowID)
		for _, x := range a.Args {
			if !arg.has(x) {
				t.Errorf("P2: Argument %v wants slot %d (%s) that nothing passes down", a.Args, x, q.Slots[x].Name)
			}
		}
		return s
	}
	var have slotSet
	keys := slotSet{}
	switch n := n.(type) {
	case *Union:
		for i, c := range n.Inputs {
			in := checkSlots(t, q, c, arg)
			for _, f := range n.From[i] {
				if !in.has(f) {
					t.Errorf("P2: Union input %d lacks slot %d (%s)", i, f, q.Slots[f].Name)
				}
			}
		}
		return setOf(n.Cols)
	case *Apply:
		have = checkSlots(t, q, n.Left, arg)
		r := checkSlots(t, q, n.Right, have)
		if !r.has(n.RowID) {
			t.Errorf("P6: the right side of %s loses its row id", applyNames[n.Kind])
		}
		if n.Kind == Inner || n.Kind == Optional {
			have.join(r)
			have.add(n.Nulls...)
		}
		have.add(n.Slot)
		return have
	case *Merge:
		have = checkSlots(t, q, n.Left, arg)
		r := checkSlots(t, q, n.Right, have)
		if !r.has(n.RowID) {
			t.Errorf("P6: the right side of Merge loses its row id")
		}
		have.add(n.Binds...)
		for _, s := range n.Binds {
			have.add(q.Slots[s].Hint)
		}
	case *CartesianProduct, *HashJoin:
		cs := n.Children()
		have = checkSlots(t, q, cs[0], arg)
		right := checkSlots(t, q, cs[1], slotSet{})
		if h, ok := n.(*HashJoin); ok && (h.Kind == JoinSemi || h.Kind == JoinAnti) {
			keys = right // nothing else of it is there above
		} else {
			have.join(right)
		}
	case *Foreach:
		have = checkSlots(t, q, n.Child, arg)
		in := clone(have)
		in.add(n.Var)
		checkSlots(t, q, n.Body, in)
	default:
		have = slotSet{}
		if c := child(n); c != nil {
			have = checkSlots(t, q, c, arg)
		}
	}
	defs := slotSet{}
	switch n := n.(type) {
	case *Project:
		for _, it := range n.Items {
			defs.add(it.Slot)
		}
	case *Create:
		for _, it := range n.Items {
			defs.add(it.Slot, it.Hint)
		}
	case *VarExpand:
		defs.add(n.StepRel, n.StepNode, n.To, n.ToHint, n.Rels)
		if n.StepRel != NoSlot {
			defs.add(q.Slots[n.StepRel].Hint)
		}
		if n.Iter != nil {
			defs.add(n.Iter.slots()...)
		}
	case *PathSearch:
		n.binds(&defs)
		for i := range n.Segs {
			defs.add(n.Segs[i].slots()...)
			defs.add(n.Segs[i].GateSlot)
		}
	case *ShortestPath:
		defs.add(n.StepRel, n.StepNode)
		if n.StepRel != NoSlot {
			defs.add(q.Slots[n.StepRel].Hint)
		}
	case *Expand:
		defs.add(n.To, n.ToHint, n.Rel, n.RelHint)
	}
	exprs(n, func(e *exprT, _ bool) {
		r := slotSet{}
		r.reads(*e)
		for s := range r.all() {
			if !have.has(s) && !defs.has(s) && !keys.has(s) && q.Slots[s].Kind != HintWord {
				t.Errorf("P2: %T reads slot %d (%s) that is not there, in %s", n, s, q.Slots[s].Name, text(*e))
			}
		}
		subplans(*e, func(_ *subplanT, p *Subplan) {
			in := clone(have)
			in.join(lambdas(*e))
			in.join(defs)
			if !checkSlots(t, q, p.Root, in).has(p.RowID) {
				t.Errorf("P6: a sub-plan loses its row id")
			}
		})
	})
	switch n := n.(type) {
	case *Aggregate:
		out := slotSet{}
		for _, k := range n.Keys {
			out.add(k.Slot)
		}
		for _, a := range n.Aggs {
			out.add(a.Slot)
		}
		out.add(n.Part...)
		return out
	case *Distinct:
		out := slotSet{}
		for _, k := range n.Keys {
			out.add(k.Slot)
		}
		out.add(n.Part...)
		return out
	case *ProduceResults:
		for _, c := range n.Cols {
			if !have.has(c) {
				t.Errorf("P2: column %s is not there", q.Slots[c].Name)
			}
		}
	}
	out := clone(have)
	one := slotSet{}
	producedBy(n, &one)
	out.join(one)
	return out
}
