// Package expr is the expressions of both languages: a bound tree, one table of functions, and vector kernels.
//
// The binder makes a tree of [Expr] nodes: data only, no names left but those that are resolved late (property keys, labels).
// [Compile] turns a tree into a [Program]: closures over columns, immutable, shared by every execution of a plan. A Program
// evaluates the selected rows of a [Batch] and nothing else, so an error in a row that was filtered out is never raised.
//
// X1: a program touches only the rows of sel; AND, OR, CASE and coalesce narrow sel before they evaluate what they guard.
// X2: results are dense: row i of the output belongs to sel[i] (to row i if sel is nil).
// X3: a program keeps no state between calls; all scratch lives in a pooled frame, so one Program serves many goroutines.
// X4: folding never evaluates what may raise, what reads the graph, or what differs between two calls (rules C6).
// X5: once warm, typed kernels allocate nothing per row.
package expr

import (
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Expr is a node of a bound expression. Nodes are immutable after binding.
type Expr interface {
	// Type is what is known of the result before it runs.
	Type() Type
	// Span is the byte span in the statement's text, -1, -1 if it has none.
	Span() (pos, end int)
	base() *Base
}

// Base is the part that every node shares.
type Base struct {
	Pos, End int
	T        Type // zero means Any
}

// Type returns the static type; [Any] if nothing is known.
func (b *Base) Type() Type {
	if b.T.Kinds == 0 {
		return Any
	}
	return b.T
}

// Span returns the byte span.
func (b *Base) Span() (pos, end int) { return b.Pos, b.End }

func (b *Base) base() *Base { return b }

type (
	// Const is a literal.
	Const struct {
		Base
		V value.Value
	}

	// Param is a statement parameter: Env.Params[Index].
	Param struct {
		Base
		Name  string
		Index int
	}

	// Col is a column of the batch. Hint is the slot of its hint column, or NoSlot.
	Col struct {
		Base
		Slot int
		Hint int
		Name string
	}

	// Prop is n.key on a node, relationship, map, point or temporal; null on null; TypeError on anything else.
	Prop struct {
		Base
		Of  Expr
		Key string
	}

	// Unary is an operator on one operand.
	Unary struct {
		Base
		Op Op
		X  Expr
	}

	// Binary is an operator on two operands that are both always evaluated (arithmetic, comparison, string and regex tests, XOR, IN).
	Binary struct {
		Base
		Op   Op
		L, R Expr
	}

	// Chain is a chained comparison: Args[0] Ops[0] Args[1] AND Args[1] Ops[1] Args[2] …; each argument is evaluated once.
	Chain struct {
		Base
		Ops  []Op
		Args []Expr
	}

	// And and Or are three-valued and evaluate an argument only for the rows not decided by those before it.
	And struct {
		Base
		Args []Expr
	}
	Or struct {
		Base
		Args []Expr
	}

	// Index is x[i]: list by integer, map and entity by string.
	Index struct {
		Base
		X, I Expr
	}

	// Slice is x[from..to]; nil bounds are open.
	Slice struct {
		Base
		X, From, To Expr
	}

	// Case is CASE. With a Subject a When matches if Subject = When.Cond is true (null never matches). Else may be nil.
	Case struct {
		Base
		Subject Expr
		Whens   []When
		Else    Expr
	}

	// Func calls a function of the table.
	Func struct {
		Base
		Def  *Def
		Args []Expr
	}

	// Agg calls an aggregate. Compile refuses it: an aggregating operator takes it apart (see [NewAgg]). count(*) has no Args.
	Agg struct {
		Base
		Def      *Def
		Args     []Expr
		Distinct bool
	}

	// ListLit is [a, b, …].
	ListLit struct {
		Base
		Elems []Expr
	}

	// MapLit is {k: v, …}. Null values are kept.
	MapLit struct {
		Base
		Keys []string
		Vals []Expr
	}

	// ListComp is [x IN list WHERE pred | map]. Slot is x's column, free in the outer row. Pred and Map may be nil.
	ListComp struct {
		Base
		Slot      int
		List      Expr
		Pred, Map Expr
	}

	// Quantifier is all, any, none or single (x IN list WHERE pred).
	Quantifier struct {
		Base
		Kind QuantKind
		Slot int
		List Expr
		Pred Expr
	}

	// Reduce is reduce(acc = init, x IN list | body).
	Reduce struct {
		Base
		AccSlot, Slot int
		Init, List    Expr
		Body          Expr
	}

	// HasLabels is n:A:B on a node or r:T on a relationship (all of Labels; null on null). Any tests for at least one (n:A|B).
	HasLabels struct {
		Base
		X      Expr
		Labels []string
		Any    bool
		Hint   int // slot of the hint of X if X is a Col, or NoSlot
	}

	// IsType is x IS [NOT] :: TYPE. It is never null.
	IsType struct {
		Base
		X    Expr
		Spec value.TypeSpec
		Not  bool
	}

	// MapProj is x{.a, .*, k: e}.
	MapProj struct {
		Base
		X     Expr
		Items []ProjItem
	}

	// MakePath makes a path from nodes and relationships in turn. An element that is a list is spliced; if it holds
	// relationships only, the nodes between them are found through the graph. Any null element makes the path null.
	MakePath struct {
		Base
		Elems []Expr
	}

	// Subplan is EXISTS { }, COUNT { }, COLLECT { }, a pattern predicate or a pattern comprehension. The executor evaluates it
	// through Env.Subplan; Plan is its own business. Free are the slots of the outer row that the plan reads.
	Subplan struct {
		Base
		Kind SubplanKind
		Plan any
		Free []int
	}
)

// When is one branch of a [Case].
type When struct{ Cond, Then Expr }

// ProjItem is one item of a [MapProj]: all properties if All, else Key: Val, where a nil Val means the property Key of x.
type ProjItem struct {
	All bool
	Key string
	Val Expr
}

// NoSlot means that there is no such column.
const NoSlot = -1

// Op names an operator.
type Op uint8

const (
	OpNone Op = iota
	// Unary.
	OpNeg
	OpPos
	OpNot
	OpIsNull
	OpIsNotNull
	// Binary.
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpMod
	OpPow
	OpEq
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
	OpXor
	OpIn
	OpStartsWith
	OpEndsWith
	OpContains
	OpRegex
	OpConcat // || : strings and lists only
)

var opText = [...]string{OpNeg: "-", OpPos: "+", OpNot: "NOT", OpIsNull: "IS NULL", OpIsNotNull: "IS NOT NULL", OpAdd: "+", OpSub: "-",
	OpMul: "*", OpDiv: "/", OpMod: "%", OpPow: "^", OpEq: "=", OpNe: "<>", OpLt: "<", OpLe: "<=", OpGt: ">", OpGe: ">=", OpXor: "XOR",
	OpIn: "IN", OpStartsWith: "STARTS WITH", OpEndsWith: "ENDS WITH", OpContains: "CONTAINS", OpRegex: "=~", OpConcat: "||"}

// String returns the operator as Cypher writes it.
func (o Op) String() string { return opText[o] }

// QuantKind tells the quantifiers apart.
type QuantKind uint8

const (
	All QuantKind = iota
	AnyOf
	NoneOf
	Single
)

// SubplanKind says what a subplan yields for a row.
type SubplanKind uint8

const (
	SubExists  SubplanKind = iota // a boolean
	SubCount                      // an integer
	SubCollect                    // a list of the plan's only column
)
