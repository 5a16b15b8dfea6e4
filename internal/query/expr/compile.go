package expr

import (
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// Program is a compiled expression: immutable and shared (X3).
type Program struct{}

type call struct{}
type aggMaker func() AggState

// Compile compiles an expression. It refuses aggregates.
func Compile(e Expr) (*Program, error) { panic("expr: being written") }

// Eval resets out and fills it with one row for each row of sel (nil means all rows of b, not b.Sel).
func (p *Program) Eval(env *Env, b *Batch, sel []uint16, out *vec.Column) error {
	panic("expr: being written")
}

// EvalRef is Eval that may return one of b's own columns instead of copying it; scratch is used otherwise.
func (p *Program) EvalRef(env *Env, b *Batch, sel []uint16, scratch *vec.Column) (*vec.Column, error) {
	panic("expr: being written")
}

// Filter appends to out the rows of sel for which the predicate is true (nil means all rows of b).
func (p *Program) Filter(env *Env, b *Batch, sel []uint16, out []uint16) ([]uint16, error) {
	panic("expr: being written")
}

// EvalOne evaluates an expression that reads no columns.
func (p *Program) EvalOne(env *Env) (value.Value, error) { panic("expr: being written") }

// Fold replaces constant subtrees by their values where that cannot raise (X4). The result shares unchanged nodes.
func Fold(e Expr) Expr { panic("expr: being written") }

// Walk calls f for e and everything below it in evaluation order, until f returns false for a node (its children are skipped).
func Walk(e Expr, f func(Expr) bool) { panic("expr: being written") }

// Rewrite returns e with every node replaced by f(node), children first. Unchanged nodes are shared.
func Rewrite(e Expr, f func(Expr) Expr) Expr { panic("expr: being written") }

// Equal reports whether two expressions are the same but for positions.
func Equal(a, b Expr) bool { panic("expr: being written") }

// String prints an expression as Cypher, for EXPLAIN.
func String(e Expr) string { panic("expr: being written") }

// Aggregator is an aggregate over many groups at once: columns of states, no allocation per row. Aggregating operators use it; a
// group number is whatever their hash table says.
type Aggregator interface {
	// Grow makes groups 0 … n-1 exist; new ones are empty.
	Grow(n int)
	// Add takes rows: row i belongs to group groups[i], and args[k] has the value of argument k of each row, dense. count(*) gets no args.
	Add(env *Env, groups []uint32, args []*vec.Column) error
	// Results appends the results of groups from … to-1.
	Results(env *Env, from, to int, out *vec.Column) error
	// Size is what the states hold, in bytes.
	Size() int
	// Reset drops all groups and keeps memory.
	Reset()
}

// NewAggregator makes the aggregator of a call, DISTINCT included.
func NewAggregator(a *Agg) Aggregator { panic("expr: being written") }

// AggState is the state of one group. It is pointer-light; what it keeps is charged to Env.Mem.
type AggState interface {
	// Add takes the value of one row. args has one value for each argument; count(*) gets none.
	Add(env *Env, args []value.Value) error
	// Merge takes the state of another part of the same group.
	Merge(env *Env, other AggState) error
	// Result ends the group.
	Result(env *Env) (value.Value, error)
	// Size is what the state holds, in bytes.
	Size() int
}

// NewAgg makes an empty state for an aggregate call, DISTINCT included.
func NewAgg(a *Agg) AggState { panic("expr: being written") }

func lookup(name string) (*Def, bool)          { panic("expr: being written") }
func functions() []*Def                        { panic("expr: being written") }
func (d *Def) check(args []Type) (Type, error) { panic("expr: being written") }
