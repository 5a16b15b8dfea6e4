package plan

import (
	"sort"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
)

// readNames tells of labels, types and keys that a query reads though nothing has them (rules D7). What the statement itself writes counts as known.
func (p *planner) readNames(q *bind.Query) {
	n := &nameCheck{p: p, keys: map[string]bool{}, labels: map[string]bool{}, types: map[string]bool{}}
	n.written(q)
	n.query(q)
}

type nameCheck struct {
	p                   *planner
	keys, labels, types map[string]bool
	anyKey              bool
}

func (n *nameCheck) clausesOf(q *bind.Query, f func(bind.Clause)) {
	var walk func(cs []bind.Clause)
	walk = func(cs []bind.Clause) {
		for _, c := range cs {
			f(c)
			switch c := c.(type) {
			case *bind.Foreach:
				walk(c.Body)
			case *bind.CallSub:
				n.clausesOf(c.Body, f)
			}
		}
	}
	for _, p := range q.Parts {
		walk(p.Clauses)
	}
}

func (n *nameCheck) written(q *bind.Query) {
	items := func(is []bind.CreateItem) {
		for _, it := range is {
			for _, l := range it.Labels {
				n.labels[l] = true
			}
			if it.Rel {
				n.types[it.Type] = true
			}
			for _, pr := range it.Props {
				n.keys[pr.Key] = true
			}
			n.anyKey = n.anyKey || it.Map != nil
		}
	}
	sets := func(is []bind.SetItem) {
		for _, it := range is {
			for _, l := range it.Labels {
				n.labels[l] = true
			}
			if it.Key != "" {
				n.keys[it.Key] = true
			} else if it.Val != nil || it.KeyExpr != nil {
				n.anyKey = true
			}
		}
	}
	n.clausesOf(q, func(c bind.Clause) {
		switch c := c.(type) {
		case *bind.Create:
			items(c.Items)
		case *bind.Merge:
			items(c.Items)
			sets(c.OnCreate)
			sets(c.OnMatch)
		case *bind.Set:
			sets(c.Items)
		}
	})
}

func (n *nameCheck) query(q *bind.Query) {
	n.clausesOf(q, func(c bind.Clause) {
		switch c := c.(type) {
		case *bind.Match:
			for _, r := range c.Pattern.Rels {
				for _, t := range r.Types {
					n.relType(t, r.Pos, r.End)
				}
				n.exprs(r.Inner())
			}
			n.exprs(c.Pattern.Preds)
			n.exprs(c.Where)
		case *bind.Unwind:
			n.expr(c.List)
		case *bind.LoadCSV:
			n.expr(c.From)
		case *bind.Projection:
			for _, it := range c.Items {
				n.expr(it.Expr)
			}
			for _, it := range c.Keys {
				n.expr(it.Expr)
			}
			for _, a := range c.Aggs {
				n.expr(a.Call)
			}
			for _, s := range c.OrderBy {
				n.expr(s.Expr)
			}
			n.exprs(c.Where)
		}
	})
}

func (n *nameCheck) exprs(es []expr.Expr) {
	for _, e := range es {
		n.expr(e)
	}
}

func (n *nameCheck) expr(e expr.Expr) {
	if e == nil {
		return
	}
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Prop:
			if t := x.Of.Type(); t.Is(expr.TEntity.Kinds) && t.Kinds&expr.TEntity.Kinds != 0 {
				n.key(x.Key, x.Pos, x.End)
			}
		case *expr.HasLabels:
			for _, l := range x.Labels {
				if x.X.Type().Is(expr.TNode.Kinds) {
					n.label(l, x.Pos, x.End)
				}
			}
		}
		return true
	})
	subqueries(e, func(_ *expr.Subplan, q *bind.Subquery) { n.query(q.Query) })
}

func (n *nameCheck) key(k string, pos, end int) {
	if n.keys[k] || n.anyKey {
		return
	}
	n.keys[k] = true
	if _, ok := n.p.cat.Key(k); ok {
		return
	}
	n.p.notice("UnknownPropertyKey", didYouMean(k, n.p.cat.Keys()), pos, end, "no entity has a property `%s`", k)
}

func (n *nameCheck) label(l string, pos, end int) {
	if n.labels[l] {
		return
	}
	n.labels[l] = true
	if _, ok := n.p.cat.Label(n.p.opt.View, l, schema.Vertex); ok {
		return
	}
	n.p.notice("UnknownLabel", didYouMean(l, n.names(schema.Vertex)), pos, end, "there is no label `%s`", l)
}

func (n *nameCheck) relType(t string, pos, end int) {
	if n.types[t] {
		return
	}
	n.types[t] = true
	if _, ok := n.p.cat.Label(n.p.opt.View, t, schema.Edge); ok {
		return
	}
	n.p.notice("UnknownRelationshipType", didYouMean(t, n.names(schema.Edge)), pos, end, "there is no relationship type `%s`", t)
}

func (n *nameCheck) names(e schema.Entity) []string {
	var out []string
	for _, l := range n.p.cat.Labels(n.p.opt.View) {
		if l.Entity == e && l.ID >= schema.FirstUserLabel {
			out = append(out, l.Name)
		}
	}
	return out
}

func didYouMean(want string, all []string) string {
	if s := bind.Similar(want, all); s != "" {
		return "Did you mean `" + s + "`?"
	}
	return ""
}

// cartesianNotice tells of parts that nothing joins (rules D7).
func (g *graph) cartesianNotice() {
	if len(g.comps) < 2 {
		return
	}
	// Conditions join parts, too.
	par := make([]int, len(g.comps))
	for i := range par {
		par[i] = i
	}
	var find func(int) int
	find = func(i int) int {
		for par[i] != i {
			i = par[i]
		}
		return i
	}
	for _, pr := range g.preds {
		first := -1
		for i := range g.nodes {
			if pr.need.n&(1<<i) != 0 {
				if first < 0 {
					first = g.nodes[i].comp
				} else {
					par[find(g.nodes[i].comp)] = find(first)
				}
			}
		}
	}
	roots := map[int]bool{}
	for i := range par {
		roots[find(i)] = true
	}
	if len(roots) < 2 {
		return
	}
	// Parts that find a single row each multiply nothing.
	big := 0
	for c := range g.comps {
		if st := g.component(c); st == nil || st.card > 1.5 {
			big++
		}
	}
	if big < 2 {
		return
	}
	var names []string
	for i := range g.nodes {
		if !g.nodes[i].v.Anon {
			names = append(names, g.nodes[i].v.Name)
		}
	}
	sort.Strings(names)
	pos := -1
	if len(g.nodes) > 0 {
		pos = g.nodes[len(g.nodes)-1].v.Pos
	}
	g.p.notice("CartesianProduct", "Connect the parts by a relationship or a condition in WHERE.", pos, pos,
		"this MATCH combines every row of one disconnected part with every row of the others (%s)", strings.Join(names, ", "))
}
