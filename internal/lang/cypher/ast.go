package cypher

// Node is any part of the tree.
type Node interface {
	Pos() int // first byte in the text
	End() int // byte after the last
}

// Span is a half-open range of bytes in the statement's text. Every node embeds one.
type Span struct{ Start, Stop int32 }

func (s Span) Pos() int { return int(s.Start) }
func (s Span) End() int { return int(s.Stop) }

// Ident is a name as written: a variable, label, type, property key or alias, without its backticks.
type Ident struct {
	Span
	Name string
}

// ---- Statements ----

// Statement is one statement with its prefix.
type Statement struct {
	Span
	Text    string // the text that spans refer to
	Mode    Mode
	Options []*Option // of a CYPHER prefix
	Body    Body
	Params  []string // parameter names in order of first use, each once
}

// Mode says what the client wants of a statement.
type Mode uint8

const (
	Run     Mode = iota
	Explain      // EXPLAIN: the plan, without running
	Profile      // PROFILE (or EXPLAIN ANALYZE in the AGE dialect): rows and the plan with counters
)

// Option is one of `CYPHER runtime=slotted planner=cost`. A bare version (`CYPHER 5`) has the name "version".
type Option struct {
	Span
	Name, Value string
}

// Body is what a statement does: a *Query or a command.
type Body interface {
	Node
	body()
}

// Query is one or more single queries joined by UNION.
type Query struct {
	Span
	Parts  []*SingleQuery // at least one
	Unions []*Union       // Unions[i] joins Parts[i] and Parts[i+1]
}

// Union is the word between two parts of a query.
type Union struct {
	Span
	All bool // UNION ALL; plain UNION and UNION DISTINCT remove duplicates
}

// SingleQuery is a run of clauses.
type SingleQuery struct {
	Span
	Clauses []Clause // at least one, but for the empty body of a subquery
}

// ---- Clauses ----

// Clause is one step of a query.
type Clause interface {
	Node
	clause()
}

// Use is `USE graph`, `USE a.b` or `USE graph.byName(expr)`.
type Use struct {
	Span
	Name   string // dotted name; "" with ByName
	ByName Expr   // argument of graph.byName or graph.byElementId
	Func   string // "byName" or "byElementId"; "" without ByName
}

// Match is [OPTIONAL] MATCH.
type Match struct {
	Span
	Optional bool
	Mode     MatchMode
	Patterns []*Path
	Hints    []*Hint
	Where    Expr // or nil
}

// MatchMode is the uniqueness rule of a MATCH.
type MatchMode uint8

const (
	DefaultMatch           MatchMode = iota // each relationship at most once
	DifferentRelationships                  // the same, said aloud
	RepeatableElements
)

// Hint is `USING INDEX n:L(k)`, `USING SCAN n:L` or `USING JOIN ON a, b`.
type Hint struct {
	Span
	Kind  HintKind
	Type  IndexKind // of an index hint; DefaultIndex where not said
	Seek  bool      // USING INDEX SEEK
	Vars  []*Ident
	Label *Ident
	Keys  []*Ident
}

// HintKind is the word after USING.
type HintKind uint8

const (
	HintIndex HintKind = iota
	HintScan
	HintJoin
)

// Unwind is `UNWIND expr AS v`.
type Unwind struct {
	Span
	Expr Expr
	Var  *Ident
}

// With is WITH, whose WHERE sees the projected names.
type With struct {
	Span
	Projection
	Where Expr // or nil
}

// Return ends a query with rows.
type Return struct {
	Span
	Projection
}

// Projection is what WITH and RETURN share.
type Projection struct {
	Distinct bool
	Star     bool // `*`, before any items
	Items    []*Item
	OrderBy  []*SortItem
	Skip     Expr // SKIP or OFFSET, or nil
	Limit    Expr // or nil
}

// Item is one projected expression.
type Item struct {
	Span
	Expr  Expr
	Alias *Ident // or nil
	Text  string // the expression's source text: the column's name where there is no alias
}

// Name returns the name of the item's column.
func (i *Item) Name() string {
	if i.Alias != nil {
		return i.Alias.Name
	}
	if v, ok := i.Expr.(*Var); ok {
		return v.Name
	}
	return i.Text
}

// SortItem is one key of ORDER BY.
type SortItem struct {
	Span
	Expr Expr
	Desc bool
}

// OrderLimit is ORDER BY, SKIP and LIMIT as a clause of their own, after any clause but WITH and RETURN.
type OrderLimit struct {
	Span
	OrderBy []*SortItem
	Skip    Expr
	Limit   Expr
}

// Create makes what its patterns draw.
type Create struct {
	Span
	Patterns []*Path
}

// Merge matches its whole pattern or creates it.
type Merge struct {
	Span
	Pattern *Path
	Actions []*MergeAction
}

// MergeAction is ON CREATE SET or ON MATCH SET.
type MergeAction struct {
	Span
	OnCreate bool
	Items    []SetItem
}

// Set changes properties and labels, item by item.
type Set struct {
	Span
	Items []SetItem
}

// SetItem is *SetProperty, *SetAll or *SetLabels.
type SetItem interface {
	Node
	setItem()
}

// SetProperty is `x.key = value` (Target a *Property) or `x[expr] = value` (Target an *Index).
type SetProperty struct {
	Span
	Target Expr
	Value  Expr
}

// SetAll is `v = value`, or `v += value` with Add.
type SetAll struct {
	Span
	Target Expr // a *Var in openCypher; any expression is parsed
	Value  Expr
	Add    bool
}

// SetLabels is `v:A:B` or `v IS A`.
type SetLabels struct {
	Span
	Target Expr
	Labels []*LabelName
}

// Remove takes away properties and labels.
type Remove struct {
	Span
	Items []RemoveItem
}

// RemoveItem is *RemoveProperty or *RemoveLabels.
type RemoveItem interface {
	Node
	removeItem()
}

// RemoveProperty is `x.key` (*Property) or `x[expr]` (*Index).
type RemoveProperty struct {
	Span
	Target Expr
}

// RemoveLabels is `v:A:B` or `v IS A`.
type RemoveLabels struct {
	Span
	Target Expr
	Labels []*LabelName
}

// Delete is [DETACH | NODETACH] DELETE.
type Delete struct {
	Span
	Detach   bool
	NoDetach bool // said aloud; the same as neither
	Exprs    []Expr
}

// Foreach runs writing clauses for each element of a list.
type Foreach struct {
	Span
	Var  *Ident
	List Expr
	Body []Clause // at least one
}

// Call is `CALL ns.proc(args) YIELD …`.
type Call struct {
	Span
	Optional bool
	Name     []*Ident // namespaces, then the procedure
	HasArgs  bool     // parentheses were written; without them arguments come from parameters (stand-alone only)
	Args     []Expr
	Yield    *Yield // or nil
}

// Yield names the columns wanted of a procedure or SHOW command.
type Yield struct {
	Span
	Star    bool
	Items   []*YieldItem
	None    bool        // the AGE form YIELD -
	OrderBy []*SortItem // SHOW only, as are Skip and Limit
	Skip    Expr
	Limit   Expr
	Where   Expr // or nil
}

// YieldItem is `column [AS name]`.
type YieldItem struct {
	Span
	Column *Ident
	Alias  *Ident // or nil
}

// Subquery is `CALL { … }` or `CALL (x, y) { … }`.
type Subquery struct {
	Span
	Optional  bool
	HasScope  bool     // the form with parentheses
	ScopeStar bool     // CALL (*)
	Scope     []*Ident // the variables let in
	Body      *Query
	InTx      *InTransactions // or nil
}

// InTransactions is `IN [n CONCURRENT] TRANSACTIONS [OF n ROWS] [ON ERROR …] [REPORT STATUS AS v]`.
type InTransactions struct {
	Span
	Concurrent  bool
	Concurrency Expr // or nil
	BatchRows   Expr // or nil
	OnError     OnError
	Status      *Ident // or nil
}

// OnError says what a failing batch of CALL IN TRANSACTIONS does.
type OnError uint8

const (
	OnErrorDefault OnError = iota // FAIL
	OnErrorContinue
	OnErrorBreak
	OnErrorFail
)

// LoadCSV is `LOAD CSV [WITH HEADERS] FROM url AS row [FIELDTERMINATOR ';']`.
type LoadCSV struct {
	Span
	WithHeaders     bool
	From            Expr
	Var             *Ident
	FieldTerminator Expr // a *StringLit, or nil
}

// Finish ends a query without rows.
type Finish struct{ Span }

func (*Use) clause()        {}
func (*Match) clause()      {}
func (*Unwind) clause()     {}
func (*With) clause()       {}
func (*Return) clause()     {}
func (*OrderLimit) clause() {}
func (*Create) clause()     {}
func (*Merge) clause()      {}
func (*Set) clause()        {}
func (*Remove) clause()     {}
func (*Delete) clause()     {}
func (*Foreach) clause()    {}
func (*Call) clause()       {}
func (*Subquery) clause()   {}
func (*LoadCSV) clause()    {}
func (*Finish) clause()     {}

func (*SetProperty) setItem()       {}
func (*SetAll) setItem()            {}
func (*SetLabels) setItem()         {}
func (*RemoveProperty) removeItem() {}
func (*RemoveLabels) removeItem()   {}

// ---- Patterns ----

// Path is one comma part of a pattern.
type Path struct {
	Span
	Var      *Ident // the path variable, or nil
	Shortest ShortestFunc
	Selector Selector
	Elements []Element // nodes at even places, unless a *SubPath stands among them; relationships never touch
}

// ShortestFunc is the function form around a path.
type ShortestFunc uint8

const (
	NoShortest ShortestFunc = iota
	ShortestPath
	AllShortestPaths
)

// Selector is the GQL prefix of a path: `ANY 3`, `ALL SHORTEST`, `SHORTEST 2 GROUPS` …
type Selector struct {
	Span
	Kind  SelectorKind
	Count Expr // *IntLit or *Param, or nil for one
	Paths bool // the word PATH or PATHS was said
}

// SelectorKind says which of the paths are kept.
type SelectorKind uint8

const (
	SelectAll            SelectorKind = iota // no selector, or ALL
	SelectAny                                // ANY [k]
	SelectAnyShortest                        // ANY SHORTEST
	SelectAllShortest                        // ALL SHORTEST
	SelectShortest                           // SHORTEST [k]
	SelectShortestGroups                     // SHORTEST [k] GROUPS
)

// Element is *NodePattern, *RelPattern or *SubPath.
type Element interface {
	Node
	element()
}

// NodePattern is `(v:Labels {props} WHERE pred)`, each part optional.
type NodePattern struct {
	Span
	Var    *Ident
	Labels LabelExpr
	Props  Expr // *MapLit or *Param, or nil
	Exact  bool // AGE's `={…}`: these properties and no others
	Where  Expr
}

// RelPattern is `-[v:Types*1..3 {props} WHERE pred]->`, each part optional.
type RelPattern struct {
	Span
	Dir   Direction
	Var   *Ident
	Types LabelExpr
	Range *Range // `*…` inside the brackets: Var is a list; or nil
	Quant *Range // `{1,3}`, `+` or `*` behind the arrow; or nil
	Props Expr
	Exact bool
	Where Expr
}

// Direction of a relationship pattern, read left to right.
type Direction uint8

const (
	Both  Direction = iota // -- or <-->
	Right                  // -->
	Left                   // <--
)

// Range is a length in relationships or iterations.
type Range struct {
	Span
	Min int64 // 1 where `*` gives none; 0 for the quantifiers `*` and `{,n}`
	Max int64 // -1 means unbounded
}

// SubPath is a parenthesised path pattern, quantified or not.
type SubPath struct {
	Span
	Var      *Ident // a path variable of its own, or nil
	Elements []Element
	Where    Expr
	Quant    *Range // or nil: once
}

func (*NodePattern) element() {}
func (*RelPattern) element()  {}
func (*SubPath) element()     {}

// LabelExpr is a condition over labels or types: *LabelName, *LabelAny, *LabelNot, *LabelAnd, *LabelOr. The old forms :A:B
// and :A|:B are read as :A&B and :A|B.
type LabelExpr interface {
	Node
	labelExpr()
}

// LabelName is one name, or `$(expr)`, `$all(expr)`, `$any(expr)`.
type LabelName struct {
	Span
	Name    string
	Dynamic Expr // not nil: the name is computed
	Any     bool // $any
}

// LabelAny is `%`: at least one label.
type LabelAny struct{ Span }

// LabelNot is `!x`.
type LabelNot struct {
	Span
	X LabelExpr
}

// LabelAnd is `a&b`, with at least two terms.
type LabelAnd struct {
	Span
	Terms []LabelExpr
}

// LabelOr is `a|b`, with at least two terms.
type LabelOr struct {
	Span
	Terms []LabelExpr
}

func (*LabelName) labelExpr() {}
func (*LabelAny) labelExpr()  {}
func (*LabelNot) labelExpr()  {}
func (*LabelAnd) labelExpr()  {}
func (*LabelOr) labelExpr()   {}

// ---- Expressions ----

// Expr is any expression.
type Expr interface {
	Node
	expr()
}

type (
	// NullLit is null.
	NullLit struct{ Span }
	// BoolLit is true or false.
	BoolLit struct {
		Span
		Value bool
	}
	// IntLit is an integer; a minus sign before digits belongs to the literal.
	IntLit struct {
		Span
		Value int64
	}
	// FloatLit is a float, also NaN and Inf (INFINITY) where written as words, and AGE's integers beyond 64 bits.
	FloatLit struct {
		Span
		Value float64
	}
	// StringLit is a string with its escapes resolved.
	StringLit struct {
		Span
		Value string
	}
	// ListLit is `[a, b]`.
	ListLit struct {
		Span
		Elems []Expr
	}
	// MapLit is `{a: 1}`; keys may repeat.
	MapLit struct {
		Span
		Entries []*MapEntry
	}
	// MapEntry is one `key: value`.
	MapEntry struct {
		Span
		Key   *Ident
		Value Expr
	}
	// Var is a variable.
	Var struct {
		Span
		Name string
	}
	// Param is `$name`, `$1` or $`a name`.
	Param struct {
		Span
		Name string
	}
	// Unary is NOT x, -x or +x.
	Unary struct {
		Span
		Op Op
		X  Expr
	}
	// Binary is x op y, but for comparisons.
	Binary struct {
		Span
		Op    Op
		OpPos int32
		L, R  Expr
	}
	// Compare is `a < b <= c`: len(Operands) = len(Ops)+1; every neighbouring pair must hold.
	Compare struct {
		Span
		Operands []Expr
		Ops      []Op
	}
	// IsNull is `x IS [NOT] NULL`.
	IsNull struct {
		Span
		X   Expr
		Not bool
	}
	// IsType is `x IS [NOT] :: TYPE` (IS TYPED, or `x :: TYPE` in the Cypher dialect).
	IsType struct {
		Span
		X    Expr
		Not  bool
		Type *Type
	}
	// IsNormalized is `x IS [NOT] [NFC] NORMALIZED`.
	IsNormalized struct {
		Span
		X    Expr
		Not  bool
		Form string // NFC, NFD, NFKC, NFKD
	}
	// HasLabels is `x:A|B`, x IS A: labels of a node or the type of a relationship.
	HasLabels struct {
		Span
		X      Expr
		Labels LabelExpr
	}
	// Property is `x.key`.
	Property struct {
		Span
		X   Expr
		Key *Ident
	}
	// Index is `x[i]`.
	Index struct {
		Span
		X, I Expr
	}
	// Slice is `x[from..to]`; either bound may be nil.
	Slice struct {
		Span
		X, From, To Expr
	}
	// Cast is AGE's `x::type`.
	Cast struct {
		Span
		X    Expr
		Type string // lower case unless quoted; `a.b` where it was qualified
	}
	// Func is a call. count(*) is a CountStar.
	Func struct {
		Span
		Name     []*Ident // namespaces, then the function
		Distinct bool
		Args     []Expr
	}
	// CountStar is count(*).
	CountStar struct{ Span }
	// Case is both forms. With an Operand a When's condition is compared to it, unless it contains a *CaseOperand:
	// then it is a predicate over it (`CASE x WHEN > 5, IS NULL THEN …`).
	Case struct {
		Span
		Operand Expr // or nil
		Whens   []*When
		Else    Expr // or nil
	}
	// When is one branch: it is taken if one of Conds holds.
	When struct {
		Span
		Conds []Expr
		Then  Expr
	}
	// CaseOperand stands for the operand of the enclosing simple CASE.
	CaseOperand struct{ Span }
	// ListComp is `[v IN list WHERE p | e]`.
	ListComp struct {
		Span
		Var   *Ident
		List  Expr
		Where Expr // or nil
		Map   Expr // or nil: v itself
	}
	// PatternComp is `[p = (a)-->(b) WHERE p | e]`.
	PatternComp struct {
		Span
		Pattern *Path // with its Var
		Where   Expr  // or nil
		Map     Expr
	}
	// Quantified is all, any, none or single.
	Quantified struct {
		Span
		Kind  QuantifierKind
		Var   *Ident
		List  Expr
		Where Expr // or nil: the element itself is the predicate
	}
	// Reduce is `reduce(acc = init, v IN list | e)`.
	Reduce struct {
		Span
		Acc  *Ident
		Init Expr
		Var  *Ident
		List Expr
		Expr Expr
	}
	// PatternExpr is a pattern where an expression stands: a predicate, or a shortestPath() as value.
	PatternExpr struct {
		Span
		Pattern *Path
	}
	// SubqueryExpr is EXISTS { }, COUNT { } or COLLECT { }: either a Query, or Patterns with an optional Where.
	SubqueryExpr struct {
		Span
		Kind     SubqueryKind
		Query    *Query
		Patterns []*Path
		Where    Expr
	}
	// MapProjection is `v {.a, .*, k: e, w}`.
	MapProjection struct {
		Span
		X     Expr // a *Var in openCypher
		Items []*ProjectionEntry
	}
	// ProjectionEntry is `.key`, `.*`, `key: e` or a variable.
	ProjectionEntry struct {
		Span
		Kind  EntryKind
		Key   *Ident // nil for .*
		Value Expr   // of key: e
	}
)

// QuantifierKind is the function of a Quantified.
type QuantifierKind uint8

const (
	QuantAll QuantifierKind = iota
	QuantAny
	QuantNone
	QuantSingle
)

// SubqueryKind is the word before the brace.
type SubqueryKind uint8

const (
	ExistsSubquery SubqueryKind = iota
	CountSubquery
	CollectSubquery
)

// EntryKind is the form of a ProjectionEntry.
type EntryKind uint8

const (
	EntryProperty EntryKind = iota // .key
	EntryAll                       // .*
	EntryValue                     // key: e
	EntryVariable                  // v
)

// Op is an operator.
type Op uint8

const (
	_ Op = iota
	OpOr
	OpXor
	OpAnd
	OpNot
	OpEq
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
	OpRegex
	OpStartsWith
	OpEndsWith
	OpContains
	OpIn
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpMod
	OpPow
	OpConcat // ||
	OpNeg
	OpPlus // unary
)

var opText = [...]string{OpOr: "OR", OpXor: "XOR", OpAnd: "AND", OpNot: "NOT", OpEq: "=", OpNe: "<>", OpLt: "<", OpLe: "<=",
	OpGt: ">", OpGe: ">=", OpRegex: "=~", OpStartsWith: "STARTS WITH", OpEndsWith: "ENDS WITH", OpContains: "CONTAINS",
	OpIn: "IN", OpAdd: "+", OpSub: "-", OpMul: "*", OpDiv: "/", OpMod: "%", OpPow: "^", OpConcat: "||", OpNeg: "-", OpPlus: "+"}

func (o Op) String() string { return opText[o] }

func (*NullLit) expr()       {}
func (*BoolLit) expr()       {}
func (*IntLit) expr()        {}
func (*FloatLit) expr()      {}
func (*StringLit) expr()     {}
func (*ListLit) expr()       {}
func (*MapLit) expr()        {}
func (*Var) expr()           {}
func (*Param) expr()         {}
func (*Unary) expr()         {}
func (*Binary) expr()        {}
func (*Compare) expr()       {}
func (*IsNull) expr()        {}
func (*IsType) expr()        {}
func (*IsNormalized) expr()  {}
func (*HasLabels) expr()     {}
func (*Property) expr()      {}
func (*Index) expr()         {}
func (*Slice) expr()         {}
func (*Cast) expr()          {}
func (*Func) expr()          {}
func (*CountStar) expr()     {}
func (*Case) expr()          {}
func (*CaseOperand) expr()   {}
func (*ListComp) expr()      {}
func (*PatternComp) expr()   {}
func (*Quantified) expr()    {}
func (*Reduce) expr()        {}
func (*PatternExpr) expr()   {}
func (*SubqueryExpr) expr()  {}
func (*MapProjection) expr() {}

// Type is a Cypher type: `LIST<INTEGER NOT NULL>`, `STRING | INTEGER`.
type Type struct {
	Span
	Name    string  // canonical upper case, as "ZONED DATETIME", "LIST", "ANY", "UNION"
	Elem    *Type   // of LIST
	Dim     int64   // of VECTOR, or 0
	Alts    []*Type // of UNION
	NotNull bool
}

// ---- Commands ----

// NameOrParam is the name of a schema object, or a parameter that holds it.
type NameOrParam struct {
	Span
	Name  string // dotted where it was
	Param *Param // or nil
}

// IndexKind is the word before INDEX.
type IndexKind uint8

const (
	DefaultIndex IndexKind = iota // RANGE
	RangeIndex
	TextIndex
	PointIndex
	LookupIndex
	FulltextIndex
	VectorIndex
)

// CreateIndex is `CREATE … INDEX name IF NOT EXISTS FOR (n:L) ON (n.a, n.b) OPTIONS {…}`.
type CreateIndex struct {
	Span
	OrReplace   bool
	Unique      bool // our own CREATE UNIQUE INDEX: a unique constraint with a name for its index
	Kind        IndexKind
	Name        *NameOrParam // or nil
	IfNotExists bool
	OnRel       bool     // FOR ()-[r:T]-()
	Var         *Ident   // nil in the old form ON :L(a)
	Labels      []*Ident // several for FULLTEXT; none for LOOKUP
	Keys        []*Ident // property keys; none for LOOKUP
	Options     Expr     // *MapLit or *Param, or nil
}

// DropIndex is `DROP INDEX name IF EXISTS`, or the old form ON :L(a).
type DropIndex struct {
	Span
	Name     *NameOrParam // nil in the old form
	IfExists bool
	Label    *Ident
	Keys     []*Ident
}

// ConstraintKind says what a constraint demands.
type ConstraintKind uint8

const (
	UniqueConstraint ConstraintKind = iota
	KeyConstraint
	NotNullConstraint
	TypeConstraint
)

// CreateConstraint is `CREATE CONSTRAINT name IF NOT EXISTS FOR (n:L) REQUIRE n.a IS UNIQUE`.
type CreateConstraint struct {
	Span
	OrReplace   bool
	Name        *NameOrParam // or nil
	IfNotExists bool
	Kind        ConstraintKind
	OnRel       bool
	Var         *Ident
	Label       *Ident
	Keys        []*Ident
	Type        *Type // of a TypeConstraint
	Options     Expr
}

// DropConstraint is `DROP CONSTRAINT name IF EXISTS`.
type DropConstraint struct {
	Span
	Name     *NameOrParam
	IfExists bool
}

// CreateDatabase is `CREATE [OR REPLACE] DATABASE name [IF NOT EXISTS]`; a database is a graph.
type CreateDatabase struct {
	Span
	OrReplace   bool
	Name        *NameOrParam
	IfNotExists bool
	Options     Expr
}

// DropDatabase is `DROP DATABASE name [IF EXISTS]`.
type DropDatabase struct {
	Span
	Name     *NameOrParam
	IfExists bool
}

// ShowKind is what a SHOW command lists.
type ShowKind uint8

const (
	ShowIndexes ShowKind = iota
	ShowConstraints
	ShowFunctions
	ShowProcedures
	ShowTransactions
	ShowSettings
	ShowDatabases
	ShowUsers
	ShowCurrentUser
	ShowRoles
	ShowPrivileges
	ShowSchema
)

// Show is a SHOW command.
type Show struct {
	Span
	Kind   ShowKind
	Filter string // canonical words before the noun: "RANGE", "UNIQUE", "BUILT IN", "HOME" …; "" is all
	Names  []Expr // transaction ids, setting names, a database's name: strings or parameters
	Yield  *Yield // or nil
	Where  Expr   // without YIELD
	Return *Return
}

// Terminate is `TERMINATE TRANSACTIONS id, …`.
type Terminate struct {
	Span
	Names  []Expr
	Yield  *Yield
	Return *Return
}

func (*Query) body()            {}
func (*CreateIndex) body()      {}
func (*DropIndex) body()        {}
func (*CreateConstraint) body() {}
func (*DropConstraint) body()   {}
func (*CreateDatabase) body()   {}
func (*DropDatabase) body()     {}
func (*Show) body()             {}
func (*Terminate) body()        {}
