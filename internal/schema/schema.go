// Package schema holds plain descriptors of what a database contains: graphs, labels, indexes, constraints.
//
// They are values, not handles: whoever holds one may read it for ever, and learns of changes only by asking again.
package schema

import "github.com/hedgerowdb/hedgerow/internal/value"

// GraphID, LabelID, KeyID, LabelSetID and IndexID name things inside one database (graphs, indexes) or one graph (the rest).
// They are never reused.
type (
	GraphID    uint32
	LabelID    uint16 // vertex labels and relationship types share one space, as in Apache AGE; 3 is the first of a user
	KeyID      uint32
	LabelSetID uint32
	IndexID    uint32
)

// VertexLabel and EdgeLabel are the labels of every graph that hold what has no label of its own.
const (
	NoLabel        LabelID = 0
	VertexLabel    LabelID = 1 // _ag_label_vertex
	EdgeLabel      LabelID = 2 // _ag_label_edge
	FirstUserLabel LabelID = 3
)

// Entity tells vertices from edges.
type Entity uint8

const (
	Vertex Entity = iota
	Edge
)

// EntryBits is the number of low bits of a graphid that hold the sequence; the label id stands above them.
const EntryBits = 48

// MakeID joins a label id and a sequence number into a graphid.
func MakeID(l LabelID, entry uint64) uint64 { return uint64(l)<<EntryBits | entry }

// LabelOf returns the storage label of a vertex or the type of an edge.
func LabelOf(id uint64) LabelID { return LabelID(id >> EntryBits) }

// Graph describes a graph.
type Graph struct {
	ID   GraphID
	Name string
}

// Label describes a vertex label or a relationship type.
type Label struct {
	ID     LabelID
	Name   string
	Entity Entity
}

// Index describes a property index. The id, out and in indexes that every label has are not listed.
type Index struct {
	ID         IndexID
	Graph      GraphID
	Name       string
	Entity     Entity
	Label      LabelID
	LabelName  string
	Keys       []KeyID
	KeyNames   []string
	Unique     bool
	Constraint string // name of the constraint that owns it, or ""
}

// Constraint describes a constraint of a graph.
type Constraint struct {
	Graph     GraphID
	Name      string
	Entity    Entity
	Label     LabelID
	LabelName string
	KeyNames  []string
	Kind      ConstraintKind
	Type      value.TypeSpec // of a PropertyType constraint
	Index     string         // name of the index behind it, or ""
}

// ConstraintKind is the kind of a constraint.
type ConstraintKind uint8

const (
	Unique ConstraintKind = iota
	NotNull
	NodeKey      // of relationships too
	PropertyType // a value that is there is of Type
)

// Indexed reports whether constraints of the kind have a unique index behind them.
func (k ConstraintKind) Indexed() bool { return k == Unique || k == NodeKey }

// RowByRow reports whether constraints of the kind look at each row alone.
func (k ConstraintKind) RowByRow() bool { return k != Unique }
