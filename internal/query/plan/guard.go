package plan

import (
	"math"

	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/stats"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Class says how much of the data the value of a parameter selects. A plan that was chosen for one value is as good for another of its class.
type Class uint8

// Classes. RangeClass+d: between 10^-d and 10^-(d+1) of all rows; ListClass+b: lists by length; CommonList+b: those of them that hold one of the most
// common values.
const (
	NoClass    Class = iota // of what cannot be compared
	NullClass               // null: nothing is found
	FewClass                // at most 10 rows
	UsualClass              // as many rows as a value has on average
	MuchClass               // one of the most common values
	RangeClass Class = 16   // … 23
	ListClass  Class = 32   // none, 1, up to 16, up to 1,000, more elements
	CommonList Class = 40
)

// String names the class as EXPLAIN shows it.
func (c Class) String() string {
	switch {
	case c == NullClass:
		return "null"
	case c == FewClass:
		return "few"
	case c == UsualClass:
		return "usual"
	case c == MuchClass:
		return "common"
	case c >= CommonList:
		return (c - CommonList + ListClass).String() + ", one common"
	case c >= ListClass:
		return [...]string{"no element", "1 element", "2–16 elements", "17–1,000 elements", "more than 1,000 elements"}[min(4, c-ListClass)]
	case c >= RangeClass:
		return [...]string{"10–100 %", "1–10 %", "0.1–1 %", "less than 0.1 %"}[min(3, c-RangeClass)]
	}
	return "other"
}

// Guard is a condition on a parameter that the choice of the plan hangs on.
type Guard struct {
	Param int     // index in Env.Params
	Text  string  // the condition
	Op    expr.Op // property Op parameter
	Key   *stats.Key
	Rows  float64 // with the label
}

// maxGuards bounds what a run has to look at.
const maxGuards = 8

// Class puts a value into its class. It neither raises nor refuses anything: what is wrong with a value is found out by who uses it.
func (g *Guard) Class(v value.Value) Class {
	switch {
	case v.IsNull():
		return NullClass
	case g.Op == expr.OpIn:
		return g.listClass(v)
	case g.Op == expr.OpEq:
		share := g.Key.Equal(v)
		switch {
		case share*g.Rows <= 10:
			return FewClass
		case g.Key.IsCommon(v):
			return MuchClass
		}
		return UsualClass
	case g.Op == expr.OpStartsWith:
		if v.Kind() != value.String {
			return NoClass
		}
		return rangeClass(g.Key.Prefix(v.Str()))
	case g.Op == expr.OpLt || g.Op == expr.OpLe:
		return rangeClass(g.Key.Range(stats.Interval{Upper: v, HasUpper: true, UpperInc: g.Op == expr.OpLe}))
	}
	return rangeClass(g.Key.Range(stats.Interval{Lower: v, HasLower: true, LowerInc: g.Op == expr.OpGe}))
}

func rangeClass(share float64) Class {
	d := 0.0
	if share > 0 {
		d = -math.Log10(share)
	} else {
		d = 3
	}
	return RangeClass + Class(max(0, min(3, d)))
}

// maxListLook bounds the elements of a list that a run looks at: of a longer one the length says more than what is in it.
const maxListLook = 16

func (g *Guard) listClass(v value.Value) Class {
	if v.Kind() != value.List {
		return NoClass
	}
	c := ListClass
	for _, most := range [...]int{0, 1, 16, 1000} {
		if v.Len() > most {
			c++
		}
	}
	if g.Key == nil || v.Len() > maxListLook {
		return c
	}
	for _, e := range v.All() {
		if g.Key.IsCommon(e) && g.Key.Equal(e)*g.Rows > 10 {
			return c - ListClass + CommonList
		}
	}
	return c
}

// Guards finds the parameters whose values tell plans apart: those that a property with statistics is compared with. A property with a unique
// index has no guard for equality, because every value finds at most one row.
func Guards(st *bind.Statement, cat Catalog, v store.View) []Guard {
	if st.Query == nil {
		return nil
	}
	g := &guards{cat: cat, view: v, labels: map[int][]guardLabel{}}
	g.query(st.Query)
	return g.out
}

type guardLabel struct {
	name   string
	entity schema.Entity
}

type guards struct {
	cat    Catalog
	view   store.View
	labels map[int][]guardLabel // by slot of the variable
	out    []Guard
}

func (g *guards) query(q *bind.Query) {
	for _, p := range q.Parts {
		for _, c := range p.Clauses {
			switch c := c.(type) {
			case *bind.Match:
				g.pattern(&c.Pattern, c.Where)
			case *bind.Merge:
				g.pattern(&c.Pattern, nil)
			case *bind.CallSub:
				g.query(c.Body)
			}
		}
	}
}

func (g *guards) pattern(p *bind.Pattern, where []expr.Expr) {
	for _, r := range p.Rels {
		if len(r.Types) == 1 && !r.VarLen {
			g.labels[r.Var.Root.Slot] = []guardLabel{{r.Types[0], schema.Edge}}
		}
	}
	conds := append(append([]expr.Expr(nil), p.Preds...), where...)
	for _, e := range conds {
		if h, ok := e.(*expr.HasLabels); ok && !h.Any {
			if c, ok := h.X.(*expr.Col); ok {
				for _, l := range h.Labels {
					g.labels[c.Slot] = append(g.labels[c.Slot], guardLabel{l, schema.Vertex})
				}
			}
		}
	}
	for _, e := range conds {
		if b, ok := e.(*expr.Binary); ok {
			g.comparison(b)
		}
	}
}

func (g *guards) comparison(b *expr.Binary) {
	op, l, r := b.Op, b.L, b.R
	if _, ok := l.(*expr.Param); ok && op != expr.OpIn && op != expr.OpStartsWith {
		l, r, op = r, l, mirror(op)
	}
	prop, ok := l.(*expr.Prop)
	if !ok || len(g.out) == maxGuards {
		return
	}
	col, ok := prop.Of.(*expr.Col)
	par, ok2 := r.(*expr.Param)
	if !ok || !ok2 {
		return
	}
	switch op {
	case expr.OpEq, expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe, expr.OpStartsWith, expr.OpIn:
	default:
		return
	}
	k, known := g.cat.Key(prop.Key)
	if !known {
		return
	}
	var best *Guard
	for _, l := range g.labels[col.Slot] {
		id, ok := g.cat.Label(g.view, l.name, l.entity)
		if !ok {
			continue
		}
		if op == expr.OpEq && g.unique(l, prop.Key) {
			return
		}
		rows := g.cat.RelCount(id)
		if l.entity == schema.Vertex {
			rows = g.cat.NodeCount(id)
		}
		ks := g.cat.KeyStats(id, k)
		if ks == nil && op != expr.OpIn || best != nil && best.Rows <= rows {
			continue
		}
		best = &Guard{Param: par.Index, Text: text(b), Op: op, Key: ks, Rows: rows}
	}
	if best != nil {
		g.out = append(g.out, *best)
	}
}

func mirror(op expr.Op) expr.Op {
	switch op {
	case expr.OpLt:
		return expr.OpGt
	case expr.OpLe:
		return expr.OpGe
	case expr.OpGt:
		return expr.OpLt
	case expr.OpGe:
		return expr.OpLe
	}
	return op
}

// unique reports whether a unique index holds the key alone.
func (g *guards) unique(l guardLabel, key string) bool {
	for _, ix := range g.cat.Indexes(g.view) {
		if ix.Unique && ix.Entity == l.entity && ix.LabelName == l.name && len(ix.KeyNames) == 1 && ix.KeyNames[0] == key {
			return true
		}
	}
	return false
}
