package session

import (
	"context"
	"sort"

	"github.com/hedgerowdb/hedgerow/internal/schema"
)

// Schema is what a graph holds, for people and tools.
type Schema struct {
	Labels, Types []NameCount
	Keys          []string
	Indexes       []IndexInfo
	Constraints   []ConstraintInfo
}

// NameCount is a label or type and how many entities have it, by the planner's statistics.
type NameCount struct {
	Name  string
	Count int64
}

// IndexInfo and ConstraintInfo describe an index and a constraint.
type IndexInfo struct {
	Name, Label  string
	Relationship bool
	Keys         []string
	Unique       bool
}

type ConstraintInfo struct {
	Name, Kind, Label string
	Relationship      bool
	Keys              []string
}

// Schema describes the session's graph.
func (s *Session) Schema(ctx context.Context) (*Schema, error) {
	out := &Schema{}
	err := s.look(ctx, func(l *looking) error {
		g, v := l.graph, l.stmt.View(0)
		for _, lab := range g.Labels(v) {
			if lab.ID < schema.FirstUserLabel {
				continue
			}
			if lab.Entity == schema.Vertex {
				out.Labels = append(out.Labels, NameCount{lab.Name, int64(g.NodeCount(lab.ID))})
			} else {
				out.Types = append(out.Types, NameCount{lab.Name, int64(g.RelCount(lab.ID))})
			}
		}
		out.Keys = append([]string(nil), g.Keys()...)
		for _, ix := range g.Indexes(v) {
			out.Indexes = append(out.Indexes, IndexInfo{ix.Name, ix.LabelName, ix.Entity == schema.Edge, ix.KeyNames, ix.Unique})
		}
		for _, c := range g.Constraints(v) {
			kind := "UNIQUE"
			switch c.Kind {
			case schema.NotNull:
				kind = "NOT NULL"
			case schema.NodeKey:
				kind = "NODE KEY"
				if c.Entity == schema.Edge {
					kind = "RELATIONSHIP KEY"
				}
			case schema.PropertyType:
				kind = ":: " + c.Type.String()
			}
			out.Constraints = append(out.Constraints, ConstraintInfo{c.Name, kind, c.LabelName, c.Entity == schema.Edge, c.KeyNames})
		}
		return nil
	})
	if !s.block {
		s.rollback() // nothing was written, and no snapshot is held between statements
	}
	for _, list := range [][]NameCount{out.Labels, out.Types} {
		sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	}
	sort.Strings(out.Keys)
	return out, err
}

// Graphs returns the names of the database's graphs.
func (s *Session) Graphs(ctx context.Context) ([]string, error) {
	tx, err := s.need(ctx)
	if err != nil {
		return nil, err
	}
	graphs, err := tx.Graphs(ctx)
	if !s.block {
		s.EndImplicit(ctx)
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, g := range graphs {
		names = append(names, g.Name)
	}
	sort.Strings(names)
	return names, nil
}
