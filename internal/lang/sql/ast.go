package sql

// Node is any part of the tree.
type Node interface {
	Pos() int // first byte in the text
	End() int // byte after the last
}

// Span is a half-open range of bytes in the statement's text. Every node embeds one.
type Span struct{ Start, Stop int32 }

func (s Span) Pos() int { return int(s.Start) }
func (s Span) End() int { return int(s.Stop) }

// Ident is one name, folded to lower case unless it was quoted.
type Ident struct {
	Span
	Name string
}

// Name is a possibly qualified name: [catalog.][schema.]object.
type Name struct {
	Span
	Parts []*Ident
}

// Last returns the object's own name.
func (n *Name) Last() string { return n.Parts[len(n.Parts)-1].Name }

// Schema returns the schema's name, or "".
func (n *Name) Schema() string {
	if len(n.Parts) < 2 {
		return ""
	}
	return n.Parts[len(n.Parts)-2].Name
}

// Is reports whether the name is the given one, unqualified or in the given schema.
func (n *Name) Is(schema, name string) bool {
	return n.Last() == name && (len(n.Parts) == 1 || len(n.Parts) == 2 && n.Schema() == schema)
}

// Statement is one statement.
type Statement struct {
	Span
	Text   string // the text that spans refer to
	Body   Stmt
	Params int // the highest n of $n, or 0
}

// Stmt is what a statement does.
type Stmt interface {
	Node
	stmt()
}

// ---- Queries ----

// Query is a full query: WITH, a body, and what orders and limits it.
type Query struct {
	Span
	With     *With // or nil
	Body     QueryBody
	OrderBy  []*SortItem
	Limit    Expr // or nil; FETCH FIRST too
	LimitAll bool // LIMIT ALL was said: the same as no limit
	WithTies bool
	Offset   Expr // or nil
	Locking  []*Locking
}

// QueryBody is *Select, *SetOp, *Values, *TableCmd or a parenthesised *Query.
type QueryBody interface {
	Node
	queryBody()
}

// Select is SELECT without what a Query adds.
type Select struct {
	Span
	Distinct   bool
	DistinctOn []Expr
	Targets    []*Target
	From       []TableExpr
	Where      Expr
	GroupBy    []Expr // *GroupingSet among them
	GroupDist  bool   // GROUP BY DISTINCT
	Having     Expr
	Windows    []*WindowDef // WINDOW w AS (…)
}

// Target is one output expression.
type Target struct {
	Span
	Expr  Expr   // *Star for * and t.*
	Alias *Ident // or nil
}

// SetOp is UNION, INTERSECT or EXCEPT.
type SetOp struct {
	Span
	Op   SetOpKind
	All  bool
	L, R QueryBody
}

// SetOpKind is the word of a SetOp.
type SetOpKind uint8

const (
	Union SetOpKind = iota
	Intersect
	Except
)

// Values is VALUES (…), (…).
type Values struct {
	Span
	Rows [][]Expr // *Default among them in INSERT
}

// TableCmd is TABLE t.
type TableCmd struct {
	Span
	Table *TableRef
}

func (*Select) queryBody()   {}
func (*SetOp) queryBody()    {}
func (*Values) queryBody()   {}
func (*TableCmd) queryBody() {}
func (*Query) queryBody()    {}

// With is WITH [RECURSIVE].
type With struct {
	Span
	Recursive bool
	CTEs      []*CTE
}

// CTE is one common table expression.
type CTE struct {
	Span
	Name         *Ident
	Columns      []*Ident
	Materialized *bool // nil where not said
	Body         Stmt  // *Query, *Insert, *Update, *Delete
}

// SortItem is one key of ORDER BY.
type SortItem struct {
	Span
	Expr  Expr
	Desc  bool
	Using *Operator // ORDER BY x USING op
	Nulls NullsOrder
}

// NullsOrder is NULLS FIRST or LAST.
type NullsOrder uint8

const (
	NullsDefault NullsOrder = iota
	NullsFirst
	NullsLast
)

// Locking is FOR UPDATE and its kin.
type Locking struct {
	Span
	Strength LockStrength
	Of       []*Name
	Wait     LockWait
}

// LockStrength is the words behind FOR.
type LockStrength uint8

const (
	ForUpdate LockStrength = iota
	ForNoKeyUpdate
	ForShare
	ForKeyShare
)

// LockWait says what to do about a row that is locked.
type LockWait uint8

const (
	LockBlock LockWait = iota
	LockNoWait
	LockSkip
)

// ---- FROM ----

// TableExpr is an item of FROM: *TableRef, *FuncTable, *SubqueryTable or *Join.
type TableExpr interface {
	Node
	tableExpr()
}

// TableRef is a table by name.
type TableRef struct {
	Span
	Name   *Name
	Only   bool
	Alias  *Alias
	Sample *Func // TABLESAMPLE method(args), or nil
}

// FuncTable is a function in FROM, or ROWS FROM (…).
type FuncTable struct {
	Span
	Lateral    bool
	RowsFrom   bool
	Funcs      []*RowsFrom
	Ordinality bool
	Alias      *Alias
}

// RowsFrom is one function of a FuncTable.
type RowsFrom struct {
	Span
	Func Expr         // *Func, or another expression that is written like a call
	Defs []*ColumnDef // of this function, within ROWS FROM
}

// SubqueryTable is a query in FROM.
type SubqueryTable struct {
	Span
	Lateral bool
	Query   *Query
	Alias   *Alias
}

// Join is a join of two items.
type Join struct {
	Span
	Kind    JoinKind
	Natural bool
	L, R    TableExpr
	On      Expr
	Using   []*Ident
	As      *Ident // JOIN … USING (…) AS x
	Alias   *Alias // (a JOIN b) AS x
}

// JoinKind is the kind of a Join.
type JoinKind uint8

const (
	InnerJoin JoinKind = iota
	LeftJoin
	RightJoin
	FullJoin
	CrossJoin
)

// Alias is [AS] name [(columns)], or for a function AS [name] (column definitions).
type Alias struct {
	Span
	Name    *Ident // nil in AS (a agtype)
	Columns []*Ident
	Defs    []*ColumnDef // a column definition list
}

// ColumnDef is a name and a type in a column definition list.
type ColumnDef struct {
	Span
	Name    *Ident
	Type    *TypeName
	Collate *Name
}

func (*TableRef) tableExpr()      {}
func (*FuncTable) tableExpr()     {}
func (*SubqueryTable) tableExpr() {}
func (*Join) tableExpr()          {}

// ---- Expressions ----

// Expr is any expression.
type Expr interface {
	Node
	expr()
}

// StringForm is the way in which a string was written.
type StringForm uint8

const (
	PlainString   StringForm = iota // 'x'
	EscapeString                    // E'x'
	UnicodeString                   // U&'x'
	DollarString                    // $tag$x$tag$
)

// Operator is an operator's name, schema-qualified where written OPERATOR(s.op).
type Operator struct {
	Span
	Schema []*Ident
	Name   string
}

type (
	// NullLit is NULL.
	NullLit struct{ Span }
	// BoolLit is TRUE or FALSE.
	BoolLit struct {
		Span
		Value bool
	}
	// IntLit is an integer that fits 64 bits. Those beyond 32 bits are bigint.
	IntLit struct {
		Span
		Value int64
	}
	// NumericLit is a number with a point or exponent, or a larger integer, as written.
	NumericLit struct {
		Span
		Text string
	}
	// StringLit is a string constant, of unknown type.
	StringLit struct {
		Span
		Value string
		Form  StringForm
		Body  int32 // of a DollarString: offset of the first byte between the tags
	}
	// BitLit is B'101' or X'1F'.
	BitLit struct {
		Span
		Digits string
		Hex    bool
	}
	// Param is $n.
	Param struct {
		Span
		N int
	}
	// ColumnRef is a column, qualified or not.
	ColumnRef struct {
		Span
		Parts []*Ident
	}
	// Star is * or t.*, in targets, and in row constructors and calls of the AGE kind.
	Star struct {
		Span
		Table []*Ident
	}
	// Default is DEFAULT where a value is assigned.
	Default struct{ Span }
	// Binary is l op r.
	Binary struct {
		Span
		Op   *Operator
		L, R Expr
	}
	// Unary is op x.
	Unary struct {
		Span
		Op *Operator
		X  Expr
	}
	// Logic is x AND y or x OR y.
	Logic struct {
		Span
		Or   bool
		Args []Expr // two or more: a AND b AND c is one
	}
	// Not is NOT x.
	Not struct {
		Span
		X Expr
	}
	// Is is x IS [NOT] NULL, TRUE, FALSE, UNKNOWN, DOCUMENT or NORMALIZED.
	Is struct {
		Span
		X    Expr
		Not  bool
		What IsKind
		Form string // NFC …, of IsNormalized
	}
	// IsDistinct is l IS [NOT] DISTINCT FROM r.
	IsDistinct struct {
		Span
		L, R Expr
		Not  bool
	}
	// Between is x [NOT] BETWEEN [SYMMETRIC] lo AND hi.
	Between struct {
		Span
		X, Lo, Hi Expr
		Not       bool
		Symmetric bool
	}
	// In is x [NOT] IN (list) or IN (query).
	In struct {
		Span
		X     Expr
		Not   bool
		List  []Expr
		Query *Query
	}
	// Like is x [NOT] LIKE, ILIKE or SIMILAR TO pattern [ESCAPE e].
	Like struct {
		Span
		X, Pattern Expr
		Escape     Expr
		Kind       LikeKind
		Not        bool
	}
	// Quantified is x op ANY (array or query), or ALL. LIKE and ILIKE become the operators ~~ and ~~*.
	Quantified struct {
		Span
		X     Expr
		Op    *Operator
		All   bool
		Array Expr
		Query *Query
	}
	// Func is a call.
	Func struct {
		Span
		Name        *Name
		Args        []*Arg
		Star        bool // count(*)
		Distinct    bool
		OrderBy     []*SortItem
		WithinGroup bool // OrderBy belongs to WITHIN GROUP
		Filter      Expr
		Over        *WindowDef
	}
	// Arg is one argument of a call.
	Arg struct {
		Span
		Name     *Ident // of name => value, or nil
		Variadic bool
		Value    Expr
	}
	// SystemValue is CURRENT_DATE, CURRENT_USER and the like: a call without parentheses.
	SystemValue struct {
		Span
		Name      string // lower case
		Precision Expr   // of CURRENT_TIMESTAMP(3), or nil
	}
	// Case is CASE, simple with an Operand.
	Case struct {
		Span
		Operand Expr
		Whens   []*When
		Else    Expr
	}
	// When is one branch of a Case.
	When struct {
		Span
		Cond, Then Expr
	}
	// Cast is x::type, CAST(x AS type) or type 'text'.
	Cast struct {
		Span
		X    Expr
		Type *TypeName
	}
	// Collate is x COLLATE c.
	Collate struct {
		Span
		X    Expr
		Name *Name
	}
	// AtTimeZone is x AT TIME ZONE z.
	AtTimeZone struct {
		Span
		X, Zone Expr
	}
	// Array is ARRAY[…].
	Array struct {
		Span
		Elems []Expr
	}
	// ArrayQuery is ARRAY(query).
	ArrayQuery struct {
		Span
		Query *Query
	}
	// Subscript is x[i], or x[from:to] with Slice.
	Subscript struct {
		Span
		X        Expr
		Slice    bool
		From, To Expr // To is nil without Slice; both may be nil with it
	}
	// Field is (x).name, or (x).* with a nil Name.
	Field struct {
		Span
		X    Expr
		Name *Ident
	}
	// Row is ROW(…) or (a, b).
	Row struct {
		Span
		Explicit bool
		Elems    []Expr
	}
	// Exists is EXISTS (query).
	Exists struct {
		Span
		Query *Query
	}
	// Subquery is a query as a value.
	Subquery struct {
		Span
		Query *Query
	}
	// GroupingSet is (), ROLLUP, CUBE or GROUPING SETS in GROUP BY.
	GroupingSet struct {
		Span
		Kind GroupingKind
		Args []Expr
	}
	// CurrentOf is WHERE CURRENT OF cursor.
	CurrentOf struct {
		Span
		Cursor *Ident
	}
)

// IsKind is what stands behind IS.
type IsKind uint8

const (
	IsNull IsKind = iota
	IsTrue
	IsFalse
	IsUnknown
	IsDocument
	IsNormalized
)

// LikeKind is the operator of a Like.
type LikeKind uint8

const (
	LikeLike LikeKind = iota
	LikeILike
	LikeSimilar
)

// GroupingKind is the form of a GroupingSet.
type GroupingKind uint8

const (
	GroupingEmpty GroupingKind = iota
	GroupingRollup
	GroupingCube
	GroupingSets
)

// WindowDef is a window: OVER w, OVER (…) or WINDOW w AS (…).
type WindowDef struct {
	Span
	Name      *Ident // of the WINDOW clause, or of OVER w
	Ref       *Ident // a window that this one begins with
	Partition []Expr
	OrderBy   []*SortItem
	Frame     *Frame
}

// Frame is the frame of a window.
type Frame struct {
	Span
	Mode     FrameMode
	From, To FrameBound // To.Kind is BoundNone where only one bound was given
	Exclude  FrameExclude
}

// FrameMode is RANGE, ROWS or GROUPS.
type FrameMode uint8

const (
	FrameRange FrameMode = iota
	FrameRows
	FrameGroups
)

// FrameBound is one end of a frame.
type FrameBound struct {
	Kind   BoundKind
	Offset Expr
}

// BoundKind is the kind of a FrameBound.
type BoundKind uint8

const (
	BoundNone BoundKind = iota
	UnboundedPreceding
	OffsetPreceding
	CurrentRow
	OffsetFollowing
	UnboundedFollowing
)

// FrameExclude is EXCLUDE of a frame.
type FrameExclude uint8

const (
	ExcludeNone FrameExclude = iota
	ExcludeCurrentRow
	ExcludeGroup
	ExcludeTies
	ExcludeNoOthers
)

func (*NullLit) expr()     {}
func (*BoolLit) expr()     {}
func (*IntLit) expr()      {}
func (*NumericLit) expr()  {}
func (*StringLit) expr()   {}
func (*BitLit) expr()      {}
func (*Param) expr()       {}
func (*ColumnRef) expr()   {}
func (*Star) expr()        {}
func (*Default) expr()     {}
func (*Binary) expr()      {}
func (*Unary) expr()       {}
func (*Logic) expr()       {}
func (*Not) expr()         {}
func (*Is) expr()          {}
func (*IsDistinct) expr()  {}
func (*Between) expr()     {}
func (*In) expr()          {}
func (*Like) expr()        {}
func (*Quantified) expr()  {}
func (*Func) expr()        {}
func (*SystemValue) expr() {}
func (*Case) expr()        {}
func (*Cast) expr()        {}
func (*Collate) expr()     {}
func (*AtTimeZone) expr()  {}
func (*Array) expr()       {}
func (*ArrayQuery) expr()  {}
func (*Subscript) expr()   {}
func (*Field) expr()       {}
func (*Row) expr()         {}
func (*Exists) expr()      {}
func (*Subquery) expr()    {}
func (*GroupingSet) expr() {}
func (*CurrentOf) expr()   {}

// TypeName is a type as written. Types with keywords of their own (INTEGER, TIMESTAMP WITH TIME ZONE …) are given by the
// names of PostgreSQL's catalog, as int4 and timestamptz, with System set: they mean pg_catalog's whatever the search path.
type TypeName struct {
	Span
	Name   *Name
	System bool
	SetOf  bool
	Args   []Expr // modifiers: varchar(10), numeric(10, 2)
	Fields string // of interval: "day to second"; upper case, or ""
	Array  []int  // one bound for each dimension, -1 where none was given
}

// ---- Statements that change rows ----

// Insert is INSERT.
type Insert struct {
	Span
	With       *With
	Table      *Name
	Alias      *Ident
	Columns    []*Assignee
	Overriding Overriding
	Query      *Query // nil means DEFAULT VALUES
	OnConflict *OnConflict
	Returning  []*Target
}

// Overriding is OVERRIDING … VALUE.
type Overriding uint8

const (
	OverridingNone Overriding = iota
	OverridingUser
	OverridingSystem
)

// Assignee is the left side of an assignment: a column, perhaps with subscripts or fields.
type Assignee struct {
	Span
	Column *Ident
	Path   []Expr // *Subscript and *Field with a nil X, outermost last
}

// OnConflict is ON CONFLICT.
type OnConflict struct {
	Span
	Target      []*IndexElem
	TargetWhere Expr
	Constraint  *Ident
	Set         []*Assignment // nil means DO NOTHING
	Where       Expr
}

// Assignment is column = value, or (a, b) = row.
type Assignment struct {
	Span
	Columns []*Assignee
	Multi   bool // in parentheses
	Value   Expr
}

// Update is UPDATE.
type Update struct {
	Span
	With      *With
	Table     *TableRef
	Set       []*Assignment
	From      []TableExpr
	Where     Expr
	Returning []*Target
}

// Delete is DELETE.
type Delete struct {
	Span
	With      *With
	Table     *TableRef
	Using     []TableExpr
	Where     Expr
	Returning []*Target
}

// Truncate is TRUNCATE.
type Truncate struct {
	Span
	Tables          []*TableRef
	RestartIdentity bool
	Cascade         bool
}

// Copy is COPY.
type Copy struct {
	Span
	Table   *Name // or nil with Query
	Columns []*Ident
	Query   Stmt // COPY (query) TO
	From    bool // else TO
	Stdio   bool // STDIN or STDOUT
	File    string
	Program bool
	Options []*Option
	Where   Expr
}

// Option is a name with a value, in the lists of many commands. Names are in lower case.
type Option struct {
	Span
	Name  string
	Value Expr   // *StringLit, *IntLit, *NumericLit, *BoolLit, *Star, *ColumnRef for a word; nil where none was given
	List  []Expr // of (a, b)
}

// ---- Definitions ----

// CreateTable is CREATE TABLE, also AS query.
type CreateTable struct {
	Span
	Temp        bool
	Unlogged    bool
	IfNotExists bool
	Name        *Name
	Columns     []*TableColumn
	Constraints []*Constraint
	Likes       []*Name
	Inherits    []*Name
	Options     []*Option
	OnCommit    string   // "PRESERVE ROWS", "DELETE ROWS", "DROP" or ""
	Names       []*Ident // columns' names of CREATE TABLE AS
	As          Stmt     // *Query or *Execute, or nil
	NoData      bool
}

// TableColumn is a column of CREATE TABLE.
type TableColumn struct {
	Span
	Name        *Ident
	Type        *TypeName
	Collate     *Name
	Constraints []*Constraint
}

// ConstraintKind is the kind of a Constraint.
type ConstraintKind uint8

const (
	ConstraintNotNull ConstraintKind = iota
	ConstraintNull
	ConstraintDefault
	ConstraintCheck
	ConstraintPrimaryKey
	ConstraintUnique
	ConstraintReferences // FOREIGN KEY too
	ConstraintGenerated
	ConstraintIdentity
)

// Constraint is a constraint of a column or table.
type Constraint struct {
	Span
	Name       *Ident
	Kind       ConstraintKind
	Expr       Expr     // of DEFAULT, CHECK, GENERATED
	Columns    []*Ident // of a table's constraint
	Always     bool     // of IDENTITY: ALWAYS, else BY DEFAULT
	NoInherit  bool
	Table      *Name // of REFERENCES
	RefColumns []*Ident
	OnDelete   string // "CASCADE", "SET NULL", …, or ""
	OnUpdate   string
	Match      string
	Deferrable bool
	Deferred   bool
	Options    []*Option // sequence options of IDENTITY
}

// IndexElem is one column or expression of an index.
type IndexElem struct {
	Span
	Expr    Expr // *ColumnRef for a column
	Collate *Name
	OpClass *Name
	Desc    bool
	Nulls   NullsOrder
}

// CreateIndex is CREATE INDEX.
type CreateIndex struct {
	Span
	Unique       bool
	Concurrently bool
	IfNotExists  bool
	Name         *Ident // or nil
	Table        *TableRef
	Method       string // lower case, "" is btree
	Elems        []*IndexElem
	Include      []*Ident
	Options      []*Option
	Where        Expr
}

// CreateView is CREATE VIEW.
type CreateView struct {
	Span
	OrReplace    bool
	Temp         bool
	Recursive    bool
	Materialized bool
	IfNotExists  bool
	Name         *Name
	Columns      []*Ident
	Options      []*Option
	Query        *Query
	Check        string // "LOCAL", "CASCADED" or ""
	NoData       bool
}

// CreateSchema is CREATE SCHEMA.
type CreateSchema struct {
	Span
	Name        *Ident // nil means that of the role
	IfNotExists bool
	Owner       *Ident
}

// CreateExtension is CREATE EXTENSION.
type CreateExtension struct {
	Span
	Name        *Ident
	IfNotExists bool
	Schema      *Ident
	Version     string
	Cascade     bool
}

// CreateSequence is CREATE SEQUENCE.
type CreateSequence struct {
	Span
	Temp        bool
	IfNotExists bool
	Name        *Name
	Options     []*Option
}

// AlterTable is ALTER TABLE in its common forms.
type AlterTable struct {
	Span
	IfExists bool
	Table    *TableRef
	Actions  []*AlterAction
}

// AlterKind is the kind of an AlterAction.
type AlterKind uint8

const (
	AddColumn AlterKind = iota
	DropColumn
	AddConstraint
	DropConstraint
	SetDefault
	DropDefault
	SetNotNull
	DropNotNull
	AlterType
	RenameColumn
	RenameTable
	RenameConstraint
	SetSchema
	SetOwner
)

// AlterAction is one change of ALTER TABLE.
type AlterAction struct {
	Span
	Kind       AlterKind
	Column     *TableColumn // of AddColumn
	Name       *Ident       // the column or constraint that changes
	NewName    *Ident       // of renames, SetSchema, SetOwner
	Constraint *Constraint
	Type       *TypeName
	Expr       Expr // of SetDefault, and USING of AlterType
	IfExists   bool // IF EXISTS, or IF NOT EXISTS of AddColumn
	Cascade    bool
}

// Drop is DROP of tables, views, indexes and so on.
type Drop struct {
	Span
	Kind         string // "TABLE", "VIEW", "MATERIALIZED VIEW", "INDEX", "SEQUENCE", "SCHEMA", "EXTENSION"
	Concurrently bool
	IfExists     bool
	Names        []*Name
	Cascade      bool
}

// ---- Transactions ----

// TxMode is one of the modes of a transaction; what was not said is nil or "".
type TxMode struct {
	Isolation  string // "SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED", "READ UNCOMMITTED"
	ReadOnly   *bool
	Deferrable *bool
}

// Begin is BEGIN or START TRANSACTION.
type Begin struct {
	Span
	Mode TxMode
}

// Commit is COMMIT or END.
type Commit struct {
	Span
	Chain bool
}

// Rollback is ROLLBACK or ABORT.
type Rollback struct {
	Span
	Chain bool
}

// Savepoint is SAVEPOINT.
type Savepoint struct {
	Span
	Name *Ident
}

// Release is RELEASE [SAVEPOINT].
type Release struct {
	Span
	Name *Ident
}

// RollbackTo is ROLLBACK TO [SAVEPOINT].
type RollbackTo struct {
	Span
	Name *Ident
}

// SetTransaction is SET TRANSACTION, or SET SESSION CHARACTERISTICS AS TRANSACTION with Session.
type SetTransaction struct {
	Span
	Session  bool
	Mode     TxMode
	Snapshot string
}

// SetConstraints is SET CONSTRAINTS.
type SetConstraints struct {
	Span
	Names    []*Name // nil means ALL
	Deferred bool
}

// Lock is LOCK TABLE.
type Lock struct {
	Span
	Tables []*TableRef
	Mode   string // upper case, "" is ACCESS EXCLUSIVE
	NoWait bool
}

// ---- Settings and sessions ----

// Set is SET name TO value, also the spellings with names of their own: TIME ZONE is timezone, NAMES client_encoding,
// SCHEMA search_path, ROLE role, SESSION AUTHORIZATION session_authorization, XML OPTION xmloption.
type Set struct {
	Span
	Local   bool
	Name    string // lower case, dotted where it was
	Default bool   // TO DEFAULT
	Values  []Expr // *StringLit (a word too), *IntLit, *NumericLit, *BoolLit; a *Cast for an interval
}

// Reset is RESET name, or RESET ALL with an empty name.
type Reset struct {
	Span
	Name string
}

// Show is SHOW name, or SHOW ALL with an empty name.
type Show struct {
	Span
	Name string
}

// Discard is DISCARD.
type Discard struct {
	Span
	What string // "ALL", "PLANS", "SEQUENCES", "TEMP"
}

// Load is LOAD 'library'.
type Load struct {
	Span
	Library string
}

// Listen is LISTEN.
type Listen struct {
	Span
	Channel *Ident
}

// Unlisten is UNLISTEN; a nil channel means *.
type Unlisten struct {
	Span
	Channel *Ident
}

// Notify is NOTIFY.
type Notify struct {
	Span
	Channel *Ident
	Payload string
}

// Prepare is PREPARE.
type Prepare struct {
	Span
	Name  *Ident
	Types []*TypeName
	Body  Stmt
}

// Execute is EXECUTE.
type Execute struct {
	Span
	Name *Ident
	Args []Expr
}

// Deallocate is DEALLOCATE; a nil name means ALL.
type Deallocate struct {
	Span
	Name *Ident
}

// DeclareCursor is DECLARE.
type DeclareCursor struct {
	Span
	Name        *Ident
	Binary      bool
	Insensitive bool
	Asensitive  bool
	Scroll      *bool // SCROLL or NO SCROLL
	Hold        *bool // WITH or WITHOUT HOLD
	Query       *Query
}

// Fetch is FETCH or MOVE.
type Fetch struct {
	Span
	Move   bool
	How    FetchKind
	Count  int64 // of the kinds with a count; math.MaxInt64 is ALL
	Cursor *Ident
}

// FetchKind is the direction of a Fetch.
type FetchKind uint8

const (
	FetchForward  FetchKind = iota // NEXT is forward 1, FORWARD ALL forward all
	FetchBackward                  // PRIOR is backward 1
	FetchAbsolute                  // FIRST is absolute 1, LAST absolute -1
	FetchRelative
)

// CloseCursor is CLOSE; a nil name means ALL.
type CloseCursor struct {
	Span
	Name *Ident
}

// Explain is EXPLAIN.
type Explain struct {
	Span
	Analyze bool
	Verbose bool
	Options []*Option // of the parenthesised form, ANALYZE and VERBOSE too
	Body    Stmt
}

// Vacuum is VACUUM, or ANALYZE alone with OnlyAnalyze.
type Vacuum struct {
	Span
	OnlyAnalyze bool
	Full        bool
	Freeze      bool
	Verbose     bool
	Analyze     bool
	Options     []*Option // of the parenthesised form
	Tables      []*VacuumTable
}

// VacuumTable is a table with the columns to analyse.
type VacuumTable struct {
	Span
	Name    *Name
	Columns []*Ident
}

// Reindex is REINDEX.
type Reindex struct {
	Span
	Kind         string // "INDEX", "TABLE", "SCHEMA", "DATABASE", "SYSTEM"
	Concurrently bool
	Name         *Name // or nil
}

// Checkpoint is CHECKPOINT.
type Checkpoint struct{ Span }

// Comment is COMMENT ON.
type Comment struct {
	Span
	Kind string // "TABLE", "COLUMN", …
	Name *Name
	Text *StringLit // nil is NULL
}

// Grant is GRANT or REVOKE of privileges on objects or of roles.
type Grant struct {
	Span
	Revoke      bool
	Privileges  []string // upper case; nil is ALL
	Roles       []*Ident // GRANT role TO role
	Kind        string   // "TABLE", "SCHEMA", "ALL TABLES IN SCHEMA", …; "" for roles
	Objects     []*Name
	Grantees    []*Ident
	GrantOption bool // WITH GRANT OPTION, GRANT OPTION FOR, or ADMIN OPTION
	Cascade     bool
}

func (*Query) stmt()           {}
func (*Insert) stmt()          {}
func (*Update) stmt()          {}
func (*Delete) stmt()          {}
func (*Truncate) stmt()        {}
func (*Copy) stmt()            {}
func (*CreateTable) stmt()     {}
func (*CreateIndex) stmt()     {}
func (*CreateView) stmt()      {}
func (*CreateSchema) stmt()    {}
func (*CreateExtension) stmt() {}
func (*CreateSequence) stmt()  {}
func (*AlterTable) stmt()      {}
func (*Drop) stmt()            {}
func (*Begin) stmt()           {}
func (*Commit) stmt()          {}
func (*Rollback) stmt()        {}
func (*Savepoint) stmt()       {}
func (*Release) stmt()         {}
func (*RollbackTo) stmt()      {}
func (*SetTransaction) stmt()  {}
func (*SetConstraints) stmt()  {}
func (*Lock) stmt()            {}
func (*Set) stmt()             {}
func (*Reset) stmt()           {}
func (*Show) stmt()            {}
func (*Discard) stmt()         {}
func (*Load) stmt()            {}
func (*Listen) stmt()          {}
func (*Unlisten) stmt()        {}
func (*Notify) stmt()          {}
func (*Prepare) stmt()         {}
func (*Execute) stmt()         {}
func (*Deallocate) stmt()      {}
func (*DeclareCursor) stmt()   {}
func (*Fetch) stmt()           {}
func (*CloseCursor) stmt()     {}
func (*Explain) stmt()         {}
func (*Vacuum) stmt()          {}
func (*Reindex) stmt()         {}
func (*Checkpoint) stmt()      {}
func (*Comment) stmt()         {}
func (*Grant) stmt()           {}
