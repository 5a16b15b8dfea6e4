package hedgerow

import "context"

// Schema says what a graph holds.
type Schema struct {
	Labels      []Count // nodes by label
	Types       []Count // relationships by type
	Keys        []string
	Indexes     []IndexInfo
	Constraints []ConstraintInfo
}

// Count is a name and how many there are, as the planner knows it: exact or nearly so.
type Count struct {
	Name  string
	Count int64
}

// IndexInfo describes an index.
type IndexInfo struct {
	Name, Label  string
	Relationship bool
	Keys         []string
	Unique       bool
}

// ConstraintInfo describes a constraint.
type ConstraintInfo struct {
	Name, Kind, Label string
	Relationship      bool
	Keys              []string
}

// Schema describes the connection's graph.
func (c *Conn) Schema(ctx context.Context) (*Schema, error) {
	c.closeRows()
	c.s.Wake()
	defer c.s.Idle(nil)
	in, err := c.s.Schema(ctx)
	if err != nil {
		return nil, publicError(err, "")
	}
	out := &Schema{Keys: in.Keys}
	for _, l := range in.Labels {
		out.Labels = append(out.Labels, Count{l.Name, l.Count})
	}
	for _, l := range in.Types {
		out.Types = append(out.Types, Count{l.Name, l.Count})
	}
	for _, ix := range in.Indexes {
		out.Indexes = append(out.Indexes, IndexInfo{Name: ix.Name, Label: ix.Label, Relationship: ix.Relationship, Keys: ix.Keys, Unique: ix.Unique})
	}
	for _, k := range in.Constraints {
		out.Constraints = append(out.Constraints, ConstraintInfo{Name: k.Name, Kind: k.Kind, Label: k.Label, Relationship: k.Relationship, Keys: k.Keys})
	}
	return out, nil
}

// Graphs returns the names of the database's graphs.
func (c *Conn) Graphs(ctx context.Context) ([]string, error) {
	c.closeRows()
	c.s.Wake()
	defer c.s.Idle(nil)
	names, err := c.s.Graphs(ctx)
	return names, publicError(err, "")
}
