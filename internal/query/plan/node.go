package plan

import (
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// Slot numbers a column of a row. Slots are dense from 0; NoSlot means none.
type Slot = int

const NoSlot Slot = expr.NoSlot

// Subplan is what expr.Subplan.Plan holds: Root starts at an Argument that yields Args and RowID, and is run for a batch of outer rows as
// the right side of an Apply would be. The executor folds its rows by expr.Subplan.Kind; From is the slot collected. Subqueries
// in the place of a condition become Semi or Anti Applys instead, where they can.
type Subplan struct {
	Root  Node
	Args  []Slot
	RowID Slot
	From  Slot
	// Shared: rows of a batch that agree in Args, hints aside, have the same answer. The executor may look for it once.
	Shared bool
}

// Query is a finished plan.
type Query struct {
	Root    Node
	Columns []string // names of the result's columns, in order; nil if the statement gives no rows
	Slots   []SlotInfo
	Nodes   int // operators in the plan: Base.ID < Nodes
	Sieves  int // Sieve.ID < Sieves

	ReadOnly bool
	InTx     bool      // CALL { } IN TRANSACTIONS: only outside of a transaction block
	Schema   bool      // a schema command or SHOW: Root is one of SchemaCommand, Show
	Segments []Segment // at least one
	Lifted   int       // parameters in place of literals: Env.Params[0] … Env.Params[Lifted-1] (rules C6)
	Params   []string  // names of the parameters that must be given: Env.Params[Lifted+i] is the value of Params[i]
	Notices  []Notice
	Graph    string // USE g, or "" for the session's graph
	Explain  ExplainMode
	Raw      bool // values are handed out as they are: entities were encoded before (SQL)

	// LastSeg and LastRead are where the result's entities are encoded (rules C3).
	LastSeg  int
	LastRead int
}

// ExplainMode tells EXPLAIN and PROFILE from a plain statement.
type ExplainMode uint8

const (
	NoExplain ExplainMode = iota
	Explain               // print the plan, run nothing
	Profile               // run, then print the plan with counters
)

// SlotInfo describes a slot.
type SlotInfo struct {
	Name string // of the variable or a made-up one such as "n.name"
	Anon bool   // the name is made up
	Kind SlotKind
	Hint Slot // slot of the hint that goes with an entity, or NoSlot
}

// SlotKind is what a slot holds, as far as it is known before execution.
type SlotKind uint8

const (
	AnyValue  SlotKind = iota
	NodeID             // node or null
	RelID              // relationship or null
	RelList            // list of relationships or null
	PathValue          // path or null
	HintWord           // Int column of hints
	RowID              // Int column of row ordinals of an Apply
)

// Segment is a run of clauses between two barriers (rules A5).
type Segment struct {
	Writes int // number of write clauses
}

// CID says at which command ids an operator works (P4).
type CID struct {
	Seg   int
	Read  int  // reads at base+Read
	Write int  // writes at base+Write; meaningful for writing operators only
	Own   bool // reads include the clause's own writes: base+Write+1
}

// Notice is something that the client should be told about the statement (rules D7).
type Notice struct {
	Code     string // e.g. "CartesianProduct"
	Message  string
	Hint     string
	Pos, End int // byte span, or -1
}

// Node is an operator. The set is closed: the types of this file.
type Node interface {
	Info() *Base
	Children() []Node // inputs first to last; the right side of an Apply is the second
}

// Base is what all operators have.
type Base struct {
	ID     int
	Est    float64 // estimated rows out
	Cost   float64 // estimated cost of the subtree in ns
	Out    []Slot  // slots that are read above, ascending
	CID    CID
	Clause int     // ordinal of the clause it serves, for messages
	Sieves []Sieve // sets of entities, filled by joins above; rows whose entity is in one of them not are dropped
}

// Info returns the operator's common part.
func (b *Base) Info() *Base { return b }

// ---- leaves -----------------------------------------------------------------------------------------------------------

// SingleRow yields one row without columns: the start of a query.
type SingleRow struct{ Base }

// Argument yields the rows that the enclosing Apply (or Foreach, Merge, expr sub-plan) passes down: the slots Args and, if RowID is
// not NoSlot, the row's ordinal in the batch.
type Argument struct {
	Base
	Args  []Slot
	RowID Slot
}

// AllNodesScan yields every vertex for every input row.
type AllNodesScan struct {
	Base
	Child Node // the rows to combine with; nil for one row without columns
	Node  Slot
	Hint  Slot
	But   []string // only those with none of these labels
}

// LabelScan yields the vertices with any of the labels, each once, for every input row.
type LabelScan struct {
	Base
	Child  Node // as in AllNodesScan
	Node   Slot
	Hint   Slot
	Labels []string
}

// RelTypeScan yields relationships with their ends: the start of ()-[r:T]->(). With Dir Both each relationship but a loop comes twice,
// once in either direction.
type RelTypeScan struct {
	Base
	Child        Node // as in AllNodesScan
	Rel, RelHint Slot
	Start, End   Slot // the pattern's left and right node by Dir Out or Both; swapped for In by the planner
	Types        []string
	Dir          store.Direction // Out or Both
}

// IndexSeek finds entities through a property index, in a batch for all input rows. Eq are the values of the leading keys; the
// next key may have a range or a prefix. A null or incomparable bound finds nothing. Results are exact: label and
// keys are re-checked by the store.
type IndexSeek struct {
	Base
	Child     Node // as in AllNodesScan
	Entity    schema.Entity
	Node      Slot // vertex, or relationship when Entity is Edge
	Hint      Slot
	Start     Slot // ends of a relationship, else NoSlot
	End       Slot
	Index     schema.IndexID
	IndexName string
	Label     string
	Keys      []string // all keys of the index
	Eq        []expr.Expr
	// In marks one element of Eq as a list: the seek is made once for each of its elements that differ under equivalence. -1: none.
	In       int
	Lower    expr.Expr // nil: open
	Upper    expr.Expr
	LowerInc bool
	UpperInc bool
	Prefix   expr.Expr // STARTS WITH, instead of bounds
	Ordered  bool      // rows of one input row come in index order (ascending unless Descending)
	Descend  bool
	Unique   bool // at most one hit per probe
}

// ByID finds entities by id: WHERE id(n) = e, id(n) IN list, elementId(n) = e. Several equal ids of a list find one row.
type ByID struct {
	Base
	Child      Node // as in AllNodesScan
	Entity     schema.Entity
	Node       Slot
	Hint       Slot
	Start, End Slot      // ends of a relationship, else NoSlot
	ID         expr.Expr // an integer; with In a list; with Element the text of elementId
	In         bool
	Element    bool
}

// CountStore answers count(*) over one label or type from counters where rules B9 allow it, else by a scan.
type CountStore struct {
	Base
	Entity schema.Entity
	Label  string // "" for all
	Both   bool   // ()-[r]-(): 2E − loops
	Out1   Slot
}

// ---- traversal --------------------------------------------------------------------------------------------------------

// Expand follows single relationships from a bound vertex; into a bound one with Into. Rows whose relationship occurs in
// Unique (slots of relationships or lists of them; null is no conflict) are dropped.
type Expand struct {
	Base
	Child        Node
	From         Slot
	To, ToHint   Slot // ToHint is NoSlot with Into
	Rel, RelHint Slot // NoSlot if the relationship is not needed
	Types        []string
	Dir          store.Direction
	Into         bool
	Unique       []Slot
	// Optional keeps an input row without a match, with nulls in To (unless Into) and Rel. A match must satisfy Pred and ToLabels.
	Optional bool
	Pred     expr.Expr
}

// ProjectEndpoints yields the ends of a relationship that is already bound. StartBound, EndBound: keep only the rows where the end equals the slot.
// With Dir Both a relationship but a loop yields two rows unless an end is bound.
type ProjectEndpoints struct {
	Base
	Child                Node
	Rel                  Slot
	Start, End           Slot
	StartBound, EndBound bool
	Types                []string // empty: any
	Dir                  store.Direction
	Unique               []Slot
}

// VarMode says which rows a VarExpand yields.
type VarMode uint8

const (
	// Trails yields one row per trail (walk without a repeated relationship).
	Trails VarMode = iota
	// Endpoints yields each end vertex once per input row (rules C7: the planner has checked the conditions: Min ≤ 1, list and
	// path unused, no other relationship in the uniqueness group). With Min 1 and Dir Both the start vertex itself is an end iff a closed
	// trail of at most Max edges passes through it.
	Endpoints
)

// VarExpand follows trails of Min to Max relationships. Rels gets the list of relationships from From to To. A trail may not
// use a relationship found in Unique.
type VarExpand struct {
	Base
	Child      Node
	From       Slot
	To, ToHint Slot
	Rels       Slot // NoSlot if unused
	// Reversed: the pattern names From at its right end; the list in Rels is then given in pattern order (To first).
	Reversed bool
	Types    []string
	Dir      store.Direction
	Min, Max int // Max −1: unbounded
	Into     bool
	Mode     VarMode
	Unique   []Slot
	// RelPred must hold for every relationship of the trail, which stands in the slot StepRel while it is evaluated; nil: none. Only input
	// slots and StepRel are read by it.
	RelPred expr.Expr
	StepRel Slot
	// NodePred must hold for every vertex reached after From (To included), in the slot StepNode.
	NodePred expr.Expr
	StepNode Slot
	// BoundRels: the list of relationships is already bound in this slot; the only trail is exactly that list.
	BoundRels Slot
	// Iter, if not nil, is what is repeated Min to Max times in place of the single relationship that Types, Dir and the predicates tell of.
	Iter *Iteration

	prune bool // Mode may become Endpoints if nothing reads Rels
}

// Iteration is one round of a quantified path pattern, in the order in which it is walked: from First over Hops. The slots of its
// vertices and relationships hold them while the predicates are evaluated, and nowhere else.
type Iteration struct {
	First  Slot
	Hops   []Hop
	Groups []Group
}

// Hop is one relationship of a round and the vertex that it leads to. Pred must hold; it reads input slots and those of the round up to here.
type Hop struct {
	Types     []string
	Dir       store.Direction
	Rel, Node Slot
	Pred      expr.Expr // nil: none
}

// Group gets the list of one element of all rounds, in pattern order: of vertex At (0 is First), or (Rel) of the relationship of hop At.
type Group struct {
	Slot Slot // NoSlot: nothing reads it
	Rel  bool
	At   int
}

// ShortestPath finds one or all shortest trails between two bound vertices of Min (0 or 1) to Max relationships. Shared: no condition reads a variable
// of the row but From, so that neighbouring rows with the same From can be served by one search.
type ShortestPath struct {
	Base
	Child    Node
	From, To Slot // both bound
	Rels     Slot // list of relationships; NoSlot if unused
	Path     Slot // path value; NoSlot if unused
	Length   Slot // NoSlot, or gets the length alone
	Types    []string
	Dir      store.Direction
	Min, Max int // Max −1: unbounded
	All      bool
	Shared   bool
	Unique   []Slot
	RelPred  expr.Expr // as in VarExpand
	StepRel  Slot
	NodePred expr.Expr
	StepNode Slot
}

// PathSearch finds, for every input row, paths of a pattern that begin at From; of those that lead to the same vertex it keeps some, the
// shorter ones. With Into only those to To count. A path repeats no relationship and uses none found in Unique.
type PathSearch struct {
	Base
	Child      Node
	From       Slot
	To, ToHint Slot // ToHint is NoSlot with Into
	Into       bool
	Segs       []PathSegment // in the order in which they are walked
	// Reversed: the pattern names From at its right end. Rels, Path and Vars are in the pattern's order all the same.
	Reversed bool
	Kind     PathKind
	Count    expr.Expr // nil: one
	Rels     Slot      // list of all relationships, NoSlot if unused
	Path     Slot      // NoSlot if unused
	Vars     []PathVar
	Unique   []Slot
	// Whole must hold for a path to count; it reads input slots and what this operator binds.
	Whole expr.Expr
	// Shared: no condition reads a variable of the row but From, so that one search serves all rows with the same From.
	Shared bool
}

// PathSegment is a part of the pattern of a PathSearch: a round, Min to Max times (Max −1: unbounded). Its Groups are not used.
type PathSegment struct {
	Iteration
	Min, Max int
	Gate     expr.Expr // must hold for the vertex in front of the segment, which stands in GateSlot; nil: none
	GateSlot Slot
}

// PathKind says which paths to a vertex a PathSearch keeps.
type PathKind uint8

const (
	PathsByLength  PathKind = iota // the Count shortest
	GroupsByLength                 // all of the Count least lengths
)

// PathVar is a variable inside the pattern of a PathSearch. Seg counts segments in the pattern's order.
type PathVar struct {
	Slot Slot
	Seg  int
	Rel  bool
	// One: the single vertex in front of the segment, or the first relationship of it; else the list of what stands at At in every round.
	One bool
	At  int // vertices from 0; relationships from 0
}

// PathPart is a vertex or what joins two vertices.
type PathPart struct {
	Node Slot // vertex, or NoSlot
	Rel  Slot // relationship, or NoSlot
	Rels Slot // list of relationships, or NoSlot
}

// ProjectPath builds a path value from alternating vertices and relationships or lists of them; null if any of them is null.
type ProjectPath struct {
	Base
	Child Node
	Path  Slot
	Parts []PathPart
}

// ---- shape ------------------------------------------------------------------------------------------------------------

// Filter keeps the rows where every predicate is true. Preds are ordered cheapest first; a row that one drops is not seen by the next.
type Filter struct {
	Base
	Child Node
	Preds []expr.Expr
}

// Item is an expression and the slot that gets its value.
type Item struct {
	Slot Slot
	Expr expr.Expr
}

// Project computes Items. Cut means that only the items (and hints, row ids and what Keep names) go on.
type Project struct {
	Base
	Child Node
	Items []Item
	Cut   bool
	Keep  []Slot
}

// Read is a property and the slot that gets it.
type Read struct {
	Key  string
	Slot Slot
}

// PropFetch reads properties of one variable in one visit, at the clause's command id. A null entity gives nulls.
// Map, if not NoSlot, gets all properties as a map. Labels, if not NoSlot, gets labels(n) as a list of strings.
type PropFetch struct {
	Base
	Child  Node
	Entity schema.Entity
	Of     Slot
	Hint   Slot
	Reads  []Read
}

// Unwind yields one row per element of a list; a null gives none, any other value one row.
type Unwind struct {
	Base
	Child Node
	List  expr.Expr
	Var   Slot
}

// LoadCSV yields a row for each record of the file that From names: a map with Headers, else a list. Line and File get the number of the last
// line of the record and the file's path; NoSlot if unused.
type LoadCSV struct {
	Base
	Child      Node
	From       expr.Expr
	Headers    bool
	Terminator rune
	Var        Slot
	Line, File Slot
}

// Agg is an aggregate: Call is an aggregate function of package expr with its arguments and DISTINCT flag.
type Agg struct {
	Slot Slot
	Call *expr.Agg
}

// Aggregate groups by Keys under equivalence. Without keys there is one row, also for an empty input; with Part (and no keys) one row
// for every value of Part that the enclosing Apply passed down. Only Keys, Aggs and Part go on.
type Aggregate struct {
	Base
	Child Node
	Keys  []Item
	Aggs  []Agg
	Part  []Slot
}

// Distinct keeps the first row of every class of rows equivalent on Keys (evaluated into their slots). Only Keys and Part go on.
type Distinct struct {
	Base
	Child Node
	Keys  []Item
	Part  []Slot
}

// SortKey orders by the total order (rules C9); Desc is its exact reverse.
type SortKey struct {
	Slot Slot
	Desc bool
}

// Sort is stable.
type Sort struct {
	Base
	Child Node
	Keys  []SortKey
	Part  []Slot
}

// TopN is Sort, then Skip, then Limit. Exhaustive is implied: it reads all its input.
type TopN struct {
	Base
	Child Node
	Keys  []SortKey
	Skip  expr.Expr // nil: none
	Limit expr.Expr
	Part  []Slot
	// Ties: Limit counts distinct keys, and all rows with one of them pass.
	Ties bool
	// Paths: Limit is the number behind a path selector, which must be positive.
	Paths bool
}

// Skip drops the first Count rows. Count is evaluated once, without a row; it must be a non-negative integer (else InvalidArgumentType or
// NegativeIntegerArgument at run time, also for an empty input).
type Skip struct {
	Base
	Child Node
	Count expr.Expr
	Part  []Slot
}

// Limit passes the first Count rows. Exhaustive: the input holds a write and is pulled to its end all the same.
type Limit struct {
	Base
	Child      Node
	Count      expr.Expr
	Exhaustive bool
	Part       []Slot
}

// Union concatenates its inputs in order. From[i][c] is the slot of input i that goes to Cols[c]. Opens[i] is the segment that opens
// before input i starts, or −1.
type Union struct {
	Base
	Inputs []Node
	From   [][]Slot
	Cols   []Slot
	Opens  []int
	Part   []Slot
}

// ---- joins ------------------------------------------------------------------------------------------------------------

// ApplyKind says what an Apply makes of the right rows of a left row.
type ApplyKind uint8

const (
	Inner    ApplyKind = iota // left row × right rows
	Optional                  // as Inner; a left row without right rows stays, with nulls in Nulls
	Semi                      // the left row if there is a right row
	Anti                      // the left row if there is none
	LetSemi                   // the left row, Slot := is there a right row
	RollUp                    // the left row, Slot := list of the right rows' values in From
	LetCount                  // the left row, Slot := number of right rows
	Unit                      // the left row; right rows are used up (CALL { } that returns nothing)
)

// Apply runs Right for every row of Left, a batch at a time (P6).
type Apply struct {
	Base
	Left, Right Node
	Kind        ApplyKind
	Args        []Slot // slots of the left row that Right reads
	RowID       Slot   // ordinal within the batch; carried by Right's rows
	Nulls       []Slot // Optional: slots that Right would have bound
	Slot        Slot   // LetSemi, RollUp, LetCount
	From        Slot   // RollUp: the value collected
	// PerRow: Right runs for one left row at a time, to its end. Opens is then the segment that opens at each of them, or −1.
	PerRow     bool
	Opens      int
	Exhaustive bool // Semi, Anti, LetSemi: Right holds a write
	Shared     bool // Semi, Anti, LetSemi, LetCount, RollUp: as Subplan.Shared
}

// TransactionApply runs Right for the rows of Left in batches, each in a transaction of its own beside the statement's, and yields rows once all of
// them are done: from then on the statement reads at a new snapshot, which sees what they committed. Kind is Inner, Optional or Unit. Slot, if not NoSlot, gets a map about the row's batch; Nulls are the slots that are
// null for the rows of a batch that was not committed, too. Opens is the body's segment: it opens for each batch, or with PerRow for each row.
type TransactionApply struct {
	Apply
	BatchRows expr.Expr // nil: DefaultBatchRows
	OnError   bind.OnError
	After     int // segment that opens when all batches are done
}

// DefaultBatchRows is how many rows go into a transaction where the statement does not say.
const DefaultBatchRows = 1000

// CartesianProduct yields every pair of a left and a right row; Right does not depend on Left and is read once.
type CartesianProduct struct {
	Base
	Left, Right Node
}

// JoinKey is a pair of expressions compared by Cypher's equality (a null or unknown joins nothing).
type JoinKey struct{ Left, Right expr.Expr }

// JoinKind tells joins apart.
type JoinKind uint8

const (
	JoinInner JoinKind = iota
	JoinLeft           // left rows without a partner stay, with nulls in Nulls
	JoinSemi
	JoinAnti
)

// HashJoin joins on equality. Right does not depend on Left and is the build side; Left's order is kept.
type HashJoin struct {
	Base
	Left, Right Node
	Kind        JoinKind
	Keys        []JoinKey
	Nulls       []Slot
	Equiv       bool // keys are compared by equivalence, as SQL's = does; a null joins nothing all the same
	// Fills are sets that the build side's keys make for operators below Left. Right is then read before Left (the statement only reads).
	Fills []Sieve
}

// ---- barriers ---------------------------------------------------------------------------------------------------------

// Eager reads its input to the end before it yields a row, then opens a segment (rules C2). It keeps the slots of Out.
type Eager struct {
	Base
	Child  Node
	Reason string
	Opens  int // segment that opens when the input is drained; −1: none
}

// ---- writes -----------------------------------------------------------------------------------------------------------

// Prop is one entry of a property map.
type Prop struct {
	Key string
	Val expr.Expr
}

// CreateItem makes a vertex (Rel false) or a relationship. Items are made in order; an item may read the slots of those before it (rules C1).
type CreateItem struct {
	Rel        bool
	Slot, Hint Slot
	Labels     []string  // of a vertex
	Type       string    // of a relationship
	Names      expr.Expr // a list of further labels of the vertex, or of the one type of the relationship, or nil
	Start, End Slot      // of a relationship, in storage direction
	Props      []Prop
	Map        expr.Expr // instead of Props: a map (or entity) with all properties, such as a parameter
	// ReadsOwn: Props or Map read a property of an entity that an earlier item of this Create made; then rows go one by one, at base+Write+1.
	ReadsOwn    bool
	Pos, EndPos int // byte span for errors
}

// Create makes entities for every input row.
type Create struct {
	Base
	Child Node
	Items []CreateItem
}

// LockTarget is a variable that a later write changes.
type LockTarget struct {
	Slot, Hint Slot
	Entity     schema.Entity
	// Recheck are the predicates of the variable within its clause group (labels, properties), evaluated again after the lock changed
	// what is seen (rules A9). A row where one is not true leaves the stream, or, if Optional, gets null in the slot.
	Recheck  []expr.Expr
	Optional bool
}

// Lock locks the targets of SET, REMOVE and DELETE at the first write clause where they are bound (rules A9).
type Lock struct {
	Base
	Child   Node
	Targets []LockTarget
}

// SetKind tells the items of SET and REMOVE apart.
type SetKind uint8

const (
	SetProp      SetKind = iota // Target.Key = Val (null removes)
	SetMap                      // Target = Val: a map or an entity, replaces all
	AddMap                      // Target += Val
	AddLabels                   // Target:Labels, and those that KeyExp lists
	RemoveLabels                // REMOVE Target:Labels, and those that KeyExp lists
	SetDynamic                  // Target[KeyExpr] = Val
)

// SetItem is one item of SET or REMOVE. A REMOVE n.k is SetProp with a constant null.
type SetItem struct {
	Kind   SetKind
	Slot   Slot      // variable of the entity, or NoSlot: then Target
	Hint   Slot      // hint of Slot
	Target expr.Expr // expression that gives an entity or null, when it is not a variable
	Entity schema.Entity
	Known  bool // Entity is known; else it is told by the value
	Key    string
	KeyExp expr.Expr
	Val    expr.Expr
	Labels []string
	Pos    int
	EndPos int
}

// Set changes properties and labels: SET and REMOVE, several such clauses if fused. Items go item by item within a row. RowByRow: an item reads what
// the clause writes, so rows go one by one with own-inclusive reads; else a batch may be evaluated at once.
type Set struct {
	Base
	Child    Node
	Items    []SetItem
	RowByRow bool
	Remove   bool // written as REMOVE
}

// Delete deletes what Exprs give: vertices, relationships, paths, lists or nulls.
type Delete struct {
	Base
	Child  Node
	Exprs  []expr.Expr
	Detach bool
}

// MergeLock says what a MERGE locks before its probe (rules B14).
type MergeLock struct {
	Rel        bool
	Labels     []string  // of a vertex; nil for a relationship
	Type       string    // of a relationship between bound ends
	Names      expr.Expr // as in CreateItem
	Keys       []Prop
	Start, End Slot // bound ends of a relationship, else NoSlot
	Unique     bool // a unique constraint covers (one of Labels, one of Keys): the index judges, no hash lock is needed
}

// Merge matches the whole pattern or creates it, row by row, seeing its own earlier rows. Right is the match, starting at an Argument of one row.
type Merge struct {
	Base
	Left, Right Node
	Args        []Slot
	RowID       Slot
	Binds       []Slot // slots that the match or the creation binds
	Locks       []MergeLock
	Create      []CreateItem
	NullCheck   []Prop // properties that must not be null (MergeReadOwnWrites)
	OnCreate    []SetItem
	OnMatch     []SetItem
	// Batch: rows are independent of what earlier rows of the MERGE changed, except that one may have made what another looks for (see
	// planner.batchMerge). A batch is then locked, probed and created at once.
	Batch bool
}

// Foreach runs Body for every element of a list; rows pass through unchanged. Opens as in Apply.PerRow, at every iteration; −1: the body has
// joined the segment around it and may run batched.
type Foreach struct {
	Base
	Child Node
	List  expr.Expr
	Var   Slot
	Body  Node // starts at an Argument
	Args  []Slot
	Opens int
}

// ---- procedures and schema --------------------------------------------------------------------------------------------

// Yield is an output field of a procedure and the slot that gets it.
type Yield struct {
	Field string
	Slot  Slot
}

// ProcedureCall calls a procedure for every input row and yields its rows; Void procedures pass the row on.
type ProcedureCall struct {
	Base
	Child    Node // nil for one row without columns
	Name     string
	Args     []expr.Expr
	Yields   []Yield
	Void     bool
	Optional bool
}

// SchemaKind tells schema commands apart.
type SchemaKind uint8

const (
	CreateIndex SchemaKind = iota
	DropIndex
	CreateConstraint
	DropConstraint
	CreateGraph
	DropGraph
)

// SchemaCommand changes the catalog.
type SchemaCommand struct {
	Base
	Kind       SchemaKind
	Name       string // of what is dropped, or of the graph
	NameParam  int    // parameter that holds the name, or −1
	Index      store.IndexDef
	Constraint store.ConstraintDef
	IfExists   bool // or IF NOT EXISTS for a graph
	Cascade    bool
}

// ShowKind tells SHOW commands apart.
type ShowKind uint8

const (
	ShowIndexes ShowKind = iota
	ShowConstraints
	ShowFunctions
	ShowProcedures
	ShowGraphs // SHOW DATABASES too
	ShowSettings
	ShowTransactions
	TerminateTransactions
	ShowUsers
)

// Show yields rows about the catalog, one slot a column of Fields. Filter are the words before the noun, Args the names behind it, evaluated without a
// row: texts, or lists of them.
type Show struct {
	Base
	Kind   ShowKind
	Filter string
	Args   []expr.Expr
	Fields []Yield
}

// ---- result -----------------------------------------------------------------------------------------------------------

// ProduceResults is the root of a query: it encodes entities at Query.LastSeg/LastRead and hands the columns out in order. Cols is empty for a
// statement without RETURN: its input is pulled to the end and yields no row.
type ProduceResults struct {
	Base
	Child Node
	Cols  []Slot
	Names []string
}

// EmptyRows yields nothing (a predicate is known to be false).
type EmptyRows struct {
	Base
	Child      Node // pulled to its end if Exhaustive
	Exhaustive bool
}

func kids(ns ...Node) []Node {
	out := ns[:0]
	for _, n := range ns {
		if n != nil {
			out = append(out, n)
		}
	}
	return out
}

func (n *SingleRow) Children() []Node        { return nil }
func (n *Argument) Children() []Node         { return nil }
func (n *AllNodesScan) Children() []Node     { return kids(n.Child) }
func (n *LabelScan) Children() []Node        { return kids(n.Child) }
func (n *RelTypeScan) Children() []Node      { return kids(n.Child) }
func (n *IndexSeek) Children() []Node        { return kids(n.Child) }
func (n *ByID) Children() []Node             { return kids(n.Child) }
func (n *CountStore) Children() []Node       { return nil }
func (n *Expand) Children() []Node           { return kids(n.Child) }
func (n *ProjectEndpoints) Children() []Node { return kids(n.Child) }
func (n *VarExpand) Children() []Node        { return kids(n.Child) }
func (n *ShortestPath) Children() []Node     { return kids(n.Child) }
func (n *PathSearch) Children() []Node       { return kids(n.Child) }
func (n *ProjectPath) Children() []Node      { return kids(n.Child) }
func (n *Filter) Children() []Node           { return kids(n.Child) }
func (n *Project) Children() []Node          { return kids(n.Child) }
func (n *PropFetch) Children() []Node        { return kids(n.Child) }
func (n *Unwind) Children() []Node           { return kids(n.Child) }
func (n *LoadCSV) Children() []Node          { return kids(n.Child) }
func (n *Aggregate) Children() []Node        { return kids(n.Child) }
func (n *Distinct) Children() []Node         { return kids(n.Child) }
func (n *Sort) Children() []Node             { return kids(n.Child) }
func (n *TopN) Children() []Node             { return kids(n.Child) }
func (n *Skip) Children() []Node             { return kids(n.Child) }
func (n *Limit) Children() []Node            { return kids(n.Child) }
func (n *Union) Children() []Node            { return n.Inputs }
func (n *Apply) Children() []Node            { return kids(n.Left, n.Right) }
func (n *CartesianProduct) Children() []Node { return kids(n.Left, n.Right) }
func (n *HashJoin) Children() []Node         { return kids(n.Left, n.Right) }
func (n *Eager) Children() []Node            { return kids(n.Child) }
func (n *Create) Children() []Node           { return kids(n.Child) }
func (n *Lock) Children() []Node             { return kids(n.Child) }
func (n *Set) Children() []Node              { return kids(n.Child) }
func (n *Delete) Children() []Node           { return kids(n.Child) }
func (n *Merge) Children() []Node            { return kids(n.Left, n.Right) }
func (n *Foreach) Children() []Node          { return kids(n.Child, n.Body) }
func (n *ProcedureCall) Children() []Node    { return kids(n.Child) }
func (n *SchemaCommand) Children() []Node    { return nil }
func (n *Show) Children() []Node             { return nil }
func (n *ProduceResults) Children() []Node   { return kids(n.Child) }
func (n *EmptyRows) Children() []Node        { return kids(n.Child) }
