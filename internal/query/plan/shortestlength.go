package plan

import (
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
)

// The least length of paths by a search: MATCH p = (a)-[:T*1..5]-(b) RETURN min(length(p)) asks for all paths, and is answered by one of the shortest between
// each a and b. It is the same number only if
//   - all aggregates are min(length(p)), and the groups read neither the path nor its relationships: every pair of ends keeps a path exactly if it has one, and
//     none of its others is shorter;
//   - no condition reads the path or its relationships as a whole: what holds for the shortest one of those kept is not asked of another;
//   - there is no other relationship in the MATCH that the path must not use;
//   - the path has one relationship pattern of at least 0 or 1 steps: a longer least length can make a way longer than the shortest the only one.

// leastLengths returns the group of clauses with the path sought by a search, or as it is.
func (p *planner) leastLengths(group []*bind.Match, rest []bind.Clause) []*bind.Match {
	if !p.opt.on(RuleLeastLength) || !p.q.ReadOnly || len(rest) == 0 {
		return group
	}
	pr, ok := rest[0].(*bind.Projection)
	if !ok || !pr.Agg || len(pr.Aggs) == 0 {
		return group
	}
	for i, m := range group {
		if !searchable(m) {
			continue
		}
		r, pt := m.Pattern.Rels[0], m.Pattern.Paths[0]
		if !leastOf(pr, pt.Var.Slot) {
			continue
		}
		hidden := setOf([]Slot{pt.Var.Slot, r.Var.Slot})
		if groupReads(group, hidden) || keysRead(pr, hidden) {
			continue
		}
		out := append([]*bind.Match(nil), group...)
		out[i] = anyShortest(m, r, pt)
		return out
	}
	return group
}

// searchable reports whether a clause is one path of one repeated relationship, whose shortest trails a search finds.
func searchable(m *bind.Match) bool {
	if m.Optional || len(m.Pattern.Paths) != 1 || len(m.Pattern.Rels) != 1 || len(m.Pattern.Paths[0].Parts) != 3 {
		return false
	}
	r := m.Pattern.Rels[0]
	return r.VarLen && !r.Bound && r.Iter == nil && r.Sel == nil && r.Left != r.Right && r.Min <= 1 && (r.Max < 0 || r.Max > 1) && stablePreds(r.StepPreds)
}

// leastOf reports whether all that is computed of a path is min(length(p)).
func leastOf(pr *bind.Projection, path Slot) bool {
	for _, a := range pr.Aggs {
		if a.Call.Def.Name != "min" || len(a.Call.Args) != 1 {
			return false
		}
		f, ok := a.Call.Args[0].(*expr.Func)
		if !ok || f.Def.Name != "length" || len(f.Args) != 1 {
			return false
		}
		if c, ok := f.Args[0].(*expr.Col); !ok || c.Slot != path {
			return false
		}
	}
	return true
}

func groupReads(group []*bind.Match, hidden slotSet) bool {
	for _, m := range group {
		for _, e := range append(append([]expr.Expr(nil), m.Where...), m.Pattern.Preds...) {
			if hasSubplan(e) || readsAny(e, hidden) {
				return true
			}
		}
		for _, r := range m.Pattern.Rels {
			if r.Bound && hidden.has(r.Var.Slot) {
				return true
			}
		}
	}
	return false
}

func keysRead(pr *bind.Projection, hidden slotSet) bool {
	for _, k := range pr.Keys {
		if hasSubplan(k.Expr) || readsAny(k.Expr, hidden) {
			return true
		}
	}
	return false
}

// anyShortest is the clause with ANY SHORTEST in front of its path.
func anyShortest(m *bind.Match, r *bind.PatRel, pt *bind.PatPath) *bind.Match {
	inner := bind.Pattern{Rels: []*bind.PatRel{r}, Paths: []*bind.PatPath{pt}}
	for _, v := range []*bind.Var{r.Left, r.Right} {
		inner.Nodes = append(inner.Nodes, &bind.PatNode{Var: v, Bound: true})
	}
	whole := &bind.PatRel{Var: r.Var, Left: r.Left, Right: r.Right, Types: r.Types, VarLen: true, Min: r.Min, Max: r.Max, Pos: r.Pos, End: r.End,
		Sel: &bind.Selection{Kind: bind.SelectPaths, Pattern: inner, Path: pt.Var}}
	out := *m
	out.Pattern.Rels, out.Pattern.Paths = []*bind.PatRel{whole}, nil
	return &out
}
