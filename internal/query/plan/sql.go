package plan

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Source yields rows from outside of the plan: a call of cypher() in SQL, a catalog table, a set-returning function.
type Source interface {
	// Open starts it with the values of External.Args.
	Open(ctx context.Context, args []value.Value) (SourceRows, error)
	// String names the source in EXPLAIN.
	String() string
}

// SourceRows is a running source.
type SourceRows interface {
	Next(ctx context.Context) ([]value.Value, error) // nil at the end; valid until the next call
	Close()
}

// External yields the rows of a source for every input row. Values go into Cols whole: an entity keeps what it carries.
type External struct {
	Base
	Child  Node // the rows to combine with (Args may read them); nil for one row without columns
	Source Source
	Args   []expr.Expr
	Cols   []Slot
	// Ordinality, if not NoSlot, numbers the source's rows from 1.
	Ordinality Slot
}

// LoopKind says which rows a LoopJoin keeps.
type LoopKind uint8

const (
	LoopInner LoopKind = iota
	LoopLeft
	LoopRight
	LoopFull
)

// LoopJoin joins SQL's relations on any predicate. Right does not depend on Left and is read once. Unmatched rows that the kind keeps have nulls
// in the other side's slots.
type LoopJoin struct {
	Base
	Left, Right         Node
	Kind                LoopKind
	Pred                expr.Expr // nil: true
	LeftCols, RightCols []Slot
}

// Values yields constant rows.
type Values struct {
	Base
	Rows [][]expr.Expr
	Cols []Slot
}

func (n *External) Children() []Node { return kids(n.Child) }
func (n *LoopJoin) Children() []Node { return kids(n.Left, n.Right) }
func (n *Values) Children() []Node   { return nil }
