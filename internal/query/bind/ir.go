// Package bind turns a syntax tree into a bound query: names become variables with slots, expressions become the typed trees of
// package expr, and everything that Cypher forbids before execution is refused with the error that the openCypher TCK names.
//
// It promises:
//
//	B1  A bound query holds no name that still needs a scope; labels, types and property keys stay names (rules B7).
//	B2  Every error is a *dberr.Error of phase CompileTime with a byte span of the statement's text and the TCK's token.
//	B3  A variable is one [Var] from where it is introduced to where its scope ends; a WITH that passes it on unchanged keeps
//	    the Var, a renaming makes a new one whose Root is the old.
//	B4  Parameters are numbered in the order of Statement.Params; nothing is read from their values.
//	B5  Binding asks nothing of the database but the signatures of procedures.
//
// Start reading at [Bind]; the result is described in ir.go.
package bind

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// VarKind is what a variable was introduced as.
type VarKind uint8

const (
	ValueVar VarKind = iota
	NodeVar
	RelVar
	RelListVar // of a variable-length relationship
	PathVar
)

// Var is a variable: one column of the row.
type Var struct {
	Name   string // as written, or a made-up name that no scope holds
	Slot   int
	Hint   int // slot of the hint of an entity, or expr.NoSlot
	Kind   VarKind
	Type   expr.Type
	Root   *Var // the variable of which this one is a renaming, or itself
	Lambda bool // bound inside an expression (list comprehension, quantifier, reduce)
	Anon   bool
	Plain  bool // no value of it is or holds an entity
	Pos    int
}

// Col makes the expression that reads v.
func (v *Var) Col(pos, end int) *expr.Col {
	return &expr.Col{Base: expr.Base{Pos: pos, End: end, T: v.Type}, Slot: v.Slot, Hint: v.Hint, Name: v.Name}
}

// Entity reports whether v holds a node or a relationship or null, and which.
func (v *Var) Entity() (schema.Entity, bool) {
	switch {
	case v.Type.Is(expr.TNode.Kinds) && v.Type.Kinds&expr.TNode.Kinds != 0:
		return schema.Vertex, true
	case v.Type.Is(expr.TRel.Kinds) && v.Type.Kinds&expr.TRel.Kinds != 0:
		return schema.Edge, true
	}
	return 0, false
}

// Mode tells EXPLAIN and PROFILE from a plain statement.
type Mode uint8

const (
	Run Mode = iota
	Explain
	Profile
)

// Statement is a bound statement: a Query or a Command.
type Statement struct {
	Mode    Mode
	Query   *Query   // or nil
	Command *Command // or nil
	Vars    []*Var   // by slot order of introduction
	Slots   int      // slots 0 … Slots-1 are taken
	Lifted  int      // parameters in place of literals: Env.Params[0] … Env.Params[Lifted-1]
	Params  []string // Env.Params[Lifted+i] is the value of Params[i]
	Graph   string   // of USE, "" without
	Inner   []InnerUse
	Options map[string]string
	Notices []Notice
	AGE     bool
}

// InnerUse is a USE within CALL { }. It must name the statement's own graph, which is not known before planning.
type InnerUse struct {
	Graph    string
	Pos, End int
}

// Notice is a remark to the client about a doubtful place.
type Notice struct {
	Code, Message, Hint string
	Pos, End            int
}

// Query is one or more parts joined by UNION.
type Query struct {
	Parts    []*Part
	Distinct bool // UNION without ALL
	// Columns are the names of the result, nil for a query without RETURN; Cols are the variables that hold them: of the single part, or
	// of the union.
	Columns []string
	Cols    []*Var
}

// Part is a run of clauses.
type Part struct {
	Clauses []Clause
	Out     []*Var // what RETURN projects, nil without RETURN
}

// Clause is one of the clause types below.
type Clause interface{ Origin() Place }

// Place is where a clause stands in the text.
type Place struct {
	Name     string // "MATCH", "WITH" …
	Pos, End int
}

// Origin returns p.
func (p Place) Origin() Place { return p }

// Match is MATCH or OPTIONAL MATCH.
type Match struct {
	Place
	Optional bool
	Pattern  Pattern
	Where    []expr.Expr // conjuncts
	Hints    []Hint
}

// Hint is USING INDEX, USING SCAN or USING JOIN ON.
type Hint struct {
	Var      *Var
	Label    string
	Keys     []string // none: USING SCAN
	Join     bool     // USING JOIN ON
	Pos, End int
}

// Pattern is what one MATCH or MERGE looks for. Preds are the conditions written inside the pattern, as conjuncts.
type Pattern struct {
	Nodes []*PatNode
	Rels  []*PatRel
	Paths []*PatPath
	Preds []expr.Expr
}

// PatNode is a vertex of a pattern; a variable occurs once.
type PatNode struct {
	Var   *Var
	Bound bool // before this clause
}

// Dir of a relationship pattern.
type Dir = store.Direction

// PatRel is a relationship of a pattern.
type PatRel struct {
	Var         *Var // a list if VarLen
	Bound       bool // before this clause
	Left, Right *Var
	Dir         Dir      // Out: from Left to Right
	Types       []string // none: any
	VarLen      bool
	Min, Max    int  // Max −1: unbounded
	Step        *Var // the relationship in StepPreds
	StepPreds   []expr.Expr
	Iter        *Iteration // a quantified path pattern: what is repeated, Min to Max times; nil: the relationship itself is
	Sel         *Selection // a path of which only some are wanted; the other fields tell of it as a whole
	Pos, End    int
}

// Iteration is what a quantified path pattern repeats: Nodes[0], Hops[0], Nodes[1] … Its variables are seen by Preds alone; outside each
// stands for the list of its values, a Group.
type Iteration struct {
	Nodes  []*Var // one more than Hops
	Hops   []Hop
	Preds  []expr.Expr // conjuncts that must hold in every iteration
	Groups []Group
}

// Bare reports whether a round is one relationship without conditions that nothing outside reads.
func (it *Iteration) Bare() bool {
	return len(it.Hops) == 1 && len(it.Preds) == 0 && len(it.Groups) == 0
}

// Hop is a relationship inside an Iteration.
type Hop struct {
	Rel   *Var
	Dir   Dir
	Types []string // none: any
}

// Group is a variable that holds one element for each iteration: of Nodes[At], or (Rel) of Hops[At].
type Group struct {
	Var *Var
	Rel bool
	At  int
}

// Selection is a path pattern behind a selector, or inside shortestPath() or allShortestPaths(). Of the paths that satisfy Pattern, conditions
// included, some are kept for each pair of ends and each row from before.
type Selection struct {
	Kind  SelectKind
	Count expr.Expr // paths or groups of paths; nil: one
	// Pattern holds the relationships from Left to Right in order, and all that is between the ends.
	Pattern Pattern
	Path    *Var // always there
}

// SelectKind says which paths a Selection keeps.
type SelectKind uint8

const (
	SelectAny    SelectKind = iota // Count paths
	SelectPaths                    // Count of the shortest paths
	SelectGroups                   // all paths of the Count least lengths
)

// Binds lists the variables that a match of the relationship binds, without its ends.
func (r *PatRel) Binds() []*Var {
	out := []*Var{r.Var}
	if r.Iter != nil {
		for _, g := range r.Iter.Groups {
			out = append(out, g.Var)
		}
	}
	if r.Sel != nil {
		for _, n := range r.Sel.Pattern.Nodes {
			if !n.Bound {
				out = append(out, n.Var)
			}
		}
		for _, q := range r.Sel.Pattern.Rels {
			if q.Bound {
				continue
			}
			for _, v := range q.Binds() {
				if v != r.Var {
					out = append(out, v)
				}
			}
		}
		out = append(out, r.Sel.Path)
	}
	return out
}

// Inner lists the conditions that are tested while the relationship is matched.
func (r *PatRel) Inner() []expr.Expr {
	out := append([]expr.Expr(nil), r.StepPreds...)
	if r.Iter != nil {
		out = append(out, r.Iter.Preds...)
	}
	if r.Sel != nil {
		out = append(out, r.Sel.Pattern.Preds...)
		for _, q := range r.Sel.Pattern.Rels {
			out = append(out, q.Inner()...)
		}
	}
	return out
}

// PatPath is a path variable over parts of the pattern.
type PatPath struct {
	Var   *Var
	Parts []PathPart // vertex, relationship, vertex, …
}

// PathPart is a vertex, a relationship, or (List) the list of relationships of a variable-length one.
type PathPart struct {
	Var  *Var
	List bool
}

// Unwind is UNWIND.
type Unwind struct {
	Place
	List expr.Expr
	Var  *Var
}

// LoadCSV is LOAD CSV. Line and File are hidden variables: what linenumber() and file() read behind the clause.
type LoadCSV struct {
	Place
	From       expr.Expr
	Headers    bool
	Terminator rune
	Var        *Var
	Line, File *Var
}

// Item is a projected column.
type Item struct {
	Var  *Var
	Expr expr.Expr
	Name string
}

// AggItem is an aggregate call and the slot of its result.
type AggItem struct {
	Slot int
	Call *expr.Agg
}

// SortItem is a key of ORDER BY.
type SortItem struct {
	Expr expr.Expr
	Desc bool
}

// Projection is WITH, RETURN, or a free-standing ORDER BY / SKIP / LIMIT.
//
// Without Agg: Items are computed, then (Distinct) made distinct; OrderBy and Where may read items and, unless Distinct, what was
// there before. With Agg: Keys are the grouping keys, Aggs the calls; Items are then computed over both. Only Items go on.
type Projection struct {
	Place
	Return   bool
	Items    []Item
	Distinct bool
	Agg      bool
	Keys     []Item
	Aggs     []AggItem
	OrderBy  []SortItem
	Skip     expr.Expr
	Limit    expr.Expr
	Where    []expr.Expr
}

// Prop is an entry of a property map.
type Prop struct {
	Key      string
	Val      expr.Expr
	Pos, End int
}

// CreateItem makes a vertex or a relationship.
type CreateItem struct {
	Rel        bool
	Var        *Var
	Labels     []string
	Type       string
	Names      expr.Expr // a list of further labels, or of the one type, or nil
	Start, End *Var      // in storage direction
	Props      []Prop
	Map        expr.Expr // instead of Props
	Pos, Stop  int
}

// Create is CREATE. Fresh are the variables that it introduces.
type Create struct {
	Place
	Items []CreateItem
	Paths []*PatPath
	Fresh []*Var
}

// SetKind tells the items of SET and REMOVE apart.
type SetKind uint8

const (
	SetProp SetKind = iota
	SetMap
	AddMap
	AddLabels
	RemoveLabels
	SetDynamic
)

// SetItem is one item of SET or REMOVE.
type SetItem struct {
	Kind     SetKind
	Var      *Var      // the entity, or nil: then Target
	Target   expr.Expr // always set
	Key      string
	KeyExpr  expr.Expr // the key of SetDynamic; a list of further labels of AddLabels and RemoveLabels, or nil
	Val      expr.Expr
	Labels   []string
	Pos, End int
}

// Set is SET or REMOVE.
type Set struct {
	Place
	Items  []SetItem
	Remove bool
}

// Delete is [DETACH] DELETE.
type Delete struct {
	Place
	Exprs  []expr.Expr
	Detach bool
}

// Merge is MERGE. Fresh are the variables that it introduces.
type Merge struct {
	Place
	Pattern  Pattern
	Items    []CreateItem
	Fresh    []*Var
	OnCreate []SetItem
	OnMatch  []SetItem
}

// Foreach is FOREACH.
type Foreach struct {
	Place
	List expr.Expr
	Var  *Var
	Body []Clause
}

// Yield is an output field and the variable that holds it.
type Yield struct {
	Field string
	Var   *Var
}

// CallProc is CALL of a procedure.
type CallProc struct {
	Place
	Proc     *Proc
	Args     []expr.Expr
	Yields   []Yield
	Optional bool
}

// CallSub is CALL { … }.
type CallSub struct {
	Place
	Body     *Query
	Imports  []*Var
	Optional bool
	Writes   bool
	InTx     *InTransactions // or nil
}

// InTransactions is IN TRANSACTIONS: rows go to the body in batches, each a transaction of its own.
type InTransactions struct {
	Rows        expr.Expr // rows of a batch, or nil
	Concurrency expr.Expr // checked; batches run one after the other, which gives the same rows
	OnError     OnError
	Status      *Var // of REPORT STATUS, or nil
}

// OnError says what becomes of the batches behind one that failed.
type OnError uint8

const (
	OnErrorFail     OnError = iota // the statement fails
	OnErrorContinue                // they run
	OnErrorBreak                   // they do not
)

// ShowRows is the source of a SHOW command.
type ShowRows struct {
	Place
	Kind   ShowKind
	Filter string      // the words before the noun: RANGE, UNIQUE, BUILT IN, HOME …; "" for all
	Args   []expr.Expr // names behind the noun: texts, or lists of them
	Yields []Yield
}

// Subquery is what expr.Subplan.Plan holds after binding: EXISTS { }, COUNT { }, COLLECT { }, a pattern predicate or comprehension.
type Subquery struct {
	Query *Query
	From  *Var   // the collected column
	Free  []*Var // variables of the outer row that it reads
	// Lambda: it reads a variable of an enclosing list comprehension or the like, so it can only run inside the expression.
	Lambda   bool
	Pattern  bool // a pattern predicate or comprehension
	Pos, End int
}

// Proc is a procedure's signature.
type Proc struct {
	Name   string
	In     []Field
	Out    []Field
	Writes bool
	Void   bool // declared without outputs
}

// Field is an argument or output of a procedure.
type Field struct {
	Name     string
	Type     expr.Type
	Optional bool // an argument that may be left out
}

// Procs finds procedures by their dotted name.
type Procs interface {
	Procedure(name string) (*Proc, bool)
}

// CommandKind tells schema commands apart.
type CommandKind uint8

const (
	CreateIndex CommandKind = iota
	DropIndex
	CreateConstraint
	DropConstraint
	CreateGraph
	DropGraph
)

// Command is a schema command. NameParam is the parameter (its index) that holds the name, or −1.
type Command struct {
	Place
	Kind       CommandKind
	Name       string
	NameParam  int
	Index      store.IndexDef
	Constraint store.ConstraintDef
	IfExists   bool // DROP … IF EXISTS; CREATE GRAPH … IF NOT EXISTS
	Cascade    bool
	// By finds the index of the old form DROP INDEX ON :L(k).
	By *store.IndexDef
}

// ShowKind tells SHOW commands apart.
type ShowKind uint8

const (
	ShowIndexes ShowKind = iota
	ShowConstraints
	ShowFunctions
	ShowProcedures
	ShowGraphs
	ShowSettings
	ShowTransactions
	TerminateTransactions
	ShowUsers
)
