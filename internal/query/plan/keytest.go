package plan

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
)

// Conditions as indexes see them.

// keyTest is a condition on one property of a vertex that an index may decide.
type keyTest struct {
	pred int
	key  string
	op   expr.Op
	val  expr.Expr // nil with IS NOT NULL
}

// element is the vertex or relationship that a seek looks for.
type element struct {
	slot Slot
	need set
}

func (g *graph) vertex(i int) element { return element{g.nodes[i].v.Slot, set{n: 1 << i}} }

// tests lists the conditions on properties of an element whose other side is given.
func (g *graph) tests(s *state, el element) []keyTest {
	all, ok := g.testsOf[el.slot]
	if !ok {
		all = g.allTests(el)
		if g.testsOf == nil {
			g.testsOf = map[Slot][]keyTest{}
		}
		g.testsOf[el.slot] = all
	}
	var out []keyTest
	for _, t := range all {
		if s.used&(1<<t.pred) == 0 && (t.val == nil || g.given(s, t.val)) {
			out = append(out, t)
		}
	}
	return out
}

func (g *graph) allTests(el element) []keyTest {
	var out []keyTest
	for pi := range g.preds {
		if pi < 64 && g.preds[pi].need.has(el.need) {
			out = append(out, testsIn(g.preds[pi].e, pi, el.slot)...)
		}
	}
	return out
}

// testsIn reads condition pi as tests of properties of the element in a slot.
func testsIn(e expr.Expr, pi int, slot Slot) []keyTest {
	propOf := func(e expr.Expr) (string, bool) {
		if pr, ok := e.(*expr.Prop); ok {
			if c, ok := pr.Of.(*expr.Col); ok && c.Slot == slot {
				return pr.Key, true
			}
		}
		return "", false
	}
	var out []keyTest
	switch b := e.(type) {
	case *expr.Unary:
		if k, ok := propOf(b.X); ok && b.Op == expr.OpIsNotNull {
			out = append(out, keyTest{pred: pi, key: k, op: b.Op})
		}
	case *expr.Binary:
		switch b.Op {
		case expr.OpEq, expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
			// Both sides may be a property of the element: then neither is given and the seek falls away.
			if k, ok := propOf(b.L); ok {
				out = append(out, keyTest{pred: pi, key: k, op: b.Op, val: b.R})
			}
			if k, ok := propOf(b.R); ok {
				out = append(out, keyTest{pred: pi, key: k, op: flip(b.Op), val: b.L})
			}
		case expr.OpIn, expr.OpStartsWith:
			if k, ok := propOf(b.L); ok {
				out = append(out, keyTest{pred: pi, key: k, op: b.Op, val: b.R})
			}
		}
	}
	return out
}

func flip(op expr.Op) expr.Op {
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
