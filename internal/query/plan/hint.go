package plan

import (
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/query/bind"
)

// Hints make what they ask for look cheap, so that the search takes it where it can be had; what could not be is told.

// hintWeight is what the cost of a hinted way is multiplied by where ways to one vertex are compared.
const hintWeight = 1e-4

// hinted reports whether a hint asks for a way to find vertex i.
func (g *graph) hinted(i int, lf *leaf) bool {
	for k := range g.hints {
		if h := &g.hints[k]; !h.Join && h.Var == g.nodes[i].v && asks(h, lf) {
			return true
		}
	}
	return false
}

// asks reports whether a leaf is what an index or scan hint wants.
func asks(h *bind.Hint, lf *leaf) bool {
	if len(h.Keys) == 0 {
		return !lf.seek && (lf.all || contains(lf.labels, h.Label))
	}
	for _, p := range lf.union {
		if asks(h, p) {
			return true
		}
	}
	return lf.ix != nil && lf.ix.LabelName == h.Label && sameStrings(lf.ix.KeyNames, h.Keys)
}

// joinHinted reports whether a hint asks for a join at one of the vertices.
func (g *graph) joinHinted(nodes uint64) bool {
	for k := range g.hints {
		h := &g.hints[k]
		for i := range g.nodes {
			if h.Join && nodes&(1<<i) != 0 && g.nodes[i].v == h.Var {
				return true
			}
		}
	}
	return false
}

// follow notes which hints the way to a state follows.
func (g *graph) follow(s *state) {
	if s.prev == nil {
		return
	}
	s.hints |= s.prev.hints
	if s.step.sub != nil {
		s.hints |= s.step.sub.hints
	}
	for k := range g.hints {
		if k < 64 && g.follows(&g.hints[k], s) {
			s.hints |= 1 << k
		}
	}
}

// follows reports whether the last step to a state does what a hint asks for.
func (g *graph) follows(h *bind.Hint, st *state) bool {
	switch s := &st.step; s.kind {
	case stepLeaf:
		return !h.Join && g.nodes[s.i].v == h.Var && asks(h, s.leaf)
	case stepRelSeek:
		return !h.Join && g.rels[s.i].Var == h.Var && asks(h, s.leaf)
	case stepRelScan:
		return !h.Join && g.rels[s.i].Var == h.Var && len(h.Keys) == 0
	case stepNodeJoin:
		for i := range g.nodes {
			if h.Join && g.nodes[i].v == h.Var && st.prev.done.n&s.sub.done.n&(1<<i) != 0 {
				return true
			}
		}
	}
	return false
}

// hintNotices tells of hints that the plan does not follow.
func (g *graph) hintNotices(end *state) {
	if g.p.opt.Reference {
		return
	}
	for k := range g.hints {
		h := &g.hints[k]
		if k < 64 && end.hints&(1<<k) != 0 {
			continue
		}
		switch {
		case h.Join:
			g.p.notice("JoinHintUnfulfillable", "Take the hint out, or join at a node where two parts of one pattern meet.", h.Pos, h.End, "the pattern cannot be joined at `%s`", h.Var.Name)
		case len(h.Keys) == 0:
			g.p.notice("HintUnfulfillable", "Take the hint out.", h.Pos, h.End, "`%s` is not found by a scan of :%s", h.Var.Name, h.Label)
		case !g.p.hasIndex(h.Label, h.Keys):
			g.p.notice("HintedIndexNotFound", "Create the index or take the hint out.", h.Pos, h.End, "there is no index on :%s(%s)", h.Label, strings.Join(h.Keys, ", "))
		default:
			g.p.notice("HintUnfulfillable", "Compare the properties of the index with values that are known by then, or take the hint out.", h.Pos, h.End,
				"the index on :%s(%s) cannot serve to find `%s`", h.Label, strings.Join(h.Keys, ", "), h.Var.Name)
		}
	}
}

func (p *planner) hasIndex(label string, keys []string) bool {
	for _, ix := range p.indexes() {
		if ix.LabelName == label && sameStrings(ix.KeyNames, keys) {
			return true
		}
	}
	return false
}
