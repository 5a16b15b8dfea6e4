// Package store is the door between queries and data: small interfaces, batches in, batches out.
//
// The executor knows nothing below it. A graph is read at a [View] and written through a [Writer]; every call takes a batch
// (at most [vec.MaxRows] rows) and a context. Identities are graphids; a [Hint] says where a row was last seen and is
// only ever a hint: a stale or zero one costs an index probe, never a wrong answer (law 1).
//
// D1: no call keeps a pin, latch or lock on a page after it returned; batches hold copies.
// D2: a cursor holds its snapshot until Close; Close is idempotent and must be called.
// D3: labels, types and keys are resolved by name when an operator opens, at its clause's command id, and a name that does
// not exist finds nothing.
// D4: the relationships of one vertex come in a stable order for one data layout; nothing else is promised.
package store

import (
	"context"
	"fmt"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/stats"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// Hint is where a row was last seen: opaque above this package, 0 for unknown.
type Hint = uint64

// Caps says what an implementation can do.
type Caps struct {
	CommandIDs bool // reads may choose a command id; without it the planner must put more barriers
	Savepoints bool
}

// Isolation is a transaction's isolation level.
type Isolation uint8

const (
	ReadCommitted Isolation = iota
	RepeatableRead
	Serializable
)

// TxOptions begin a transaction.
type TxOptions struct {
	Isolation Isolation
	ReadOnly  bool
	Async     bool // commit does not wait for the log (synchronous_commit = off)
	// NoGraphCache reads neighbourhoods from the indexes, whatever is in memory of them: GraphCacher's SetGraphCache changes it.
	NoGraphCache bool
}

// Store is one database.
type Store interface {
	Caps() Caps
	Begin(ctx context.Context, o TxOptions) (Tx, error)
	// CatalogVersion grows with every committed change that may outdate a plan.
	CatalogVersion() uint64
}

// Positioned is a store that tells how far its commits have come.
type Positioned interface {
	// Position grows with every commit; a transaction that begins after it has returned p sees every commit up to p.
	Position() uint64
}

// Tx is one transaction. It is used by one goroutine at a time.
type Tx interface {
	// Begin opens a statement: a snapshot (a fresh one under read committed) and its deferred checks.
	Begin(ctx context.Context) (Stmt, error)

	Commit(ctx context.Context) error
	Rollback() error
	Savepoint(name string) error
	Release(name string) error
	RollbackTo(name string) error

	// SetReadOnly and SetAsync change the options of a transaction that has not written yet.
	SetReadOnly(bool)
	SetAsync(bool)
	// SetLockTimeout bounds every later wait for a lock (55P03); zero means the store's own limit.
	SetLockTimeout(time.Duration)

	Catalog
}

// Stmt is one statement of a transaction.
type Stmt interface {
	// View returns what a clause with the command id sees: the snapshot, plus own changes with cmin < cid and not cmax < cid.
	View(cid uint32) View
	// Fresh is View at a snapshot taken now, for MERGE's probe; under repeatable read and above it is View.
	Fresh(ctx context.Context, cid uint32) (View, error)
	// Segment takes the next command ids for a run of clauses with so many write clauses (rules A5): write clause j of it
	// stamps base+j and a reading clause after w of them reads at base+w. An own-inclusive read of clause j uses base+j+1.
	Segment(writes int) (base uint32, err error)

	Graph(ctx context.Context, name string) (Graph, error) // InvalidSchema if there is none

	// Finish runs the checks due at the end of a statement, such as edges left without an end. It comes before the first row leaves.
	Finish(ctx context.Context) error
	// Close ends the statement; idempotent.
	Close()
	// Counters returns what the statement cost so far.
	Counters() *Counters
}

// Meter is a statement that counts what is asked of the store under a context of its own: who runs the statement passes that one on.
// The result serves one goroutine at a time, until the statement is closed.
type Meter interface {
	Meter(ctx context.Context) context.Context
}

// Snapshot identifies what a statement sees. Only the implementation that made it reads it.
type Snapshot interface{ CSN() uint64 }

// View is a snapshot and a command id.
type View struct {
	Snap Snapshot
	CID  uint32
	// WithDeleted makes Fetch and Labels serve an entity that this statement deleted (its newest version).
	WithDeleted bool
}

// Catalog reads and changes what exists. Changes are transactional.
type Catalog interface {
	Graphs(ctx context.Context) ([]schema.Graph, error)
	CreateGraph(ctx context.Context, name string) error
	DropGraph(ctx context.Context, name string, cascade bool) error
	CreateLabel(ctx context.Context, graph, name string, e schema.Entity) error // DuplicateObject if it exists
	DropLabel(ctx context.Context, graph, name string, e schema.Entity) error

	CreateIndex(ctx context.Context, graph string, def IndexDef) error
	DropIndex(ctx context.Context, graph, name string, ifExists bool) error
	CreateConstraint(ctx context.Context, graph string, def ConstraintDef) error
	DropConstraint(ctx context.Context, graph, name string, ifExists bool) error
}

// IndexDef asks for an index. An empty Name gets one made from label and keys.
type IndexDef struct {
	Name        string
	Entity      schema.Entity
	Label       string
	Keys        []string
	Unique      bool
	IfNotExists bool
	// Progress, if set, is called now and then with rows done and rows expected.
	Progress func(done, total uint64)
}

// ConstraintDef asks for a constraint.
type ConstraintDef struct {
	Name        string
	Entity      schema.Entity
	Label       string
	Keys        []string
	Kind        schema.ConstraintKind
	Type        value.TypeSpec // of a PropertyType constraint
	IfNotExists bool
}

// SameConstraint answers a request for a constraint where another one has its name or says the same: nothing to do if it may exist, else a
// DuplicateObject. One that asks for another type of the same property is in the way even then.
func SameConstraint(def *ConstraintDef, old *schema.Constraint) error {
	switch {
	case def.Kind == schema.PropertyType && old.Kind == schema.PropertyType && def.Name != old.Name && def.Type.String() != old.Type.String():
		return dberr.New(dberr.DuplicateObject, "constraint %q asks for the type %s of the same property", old.Name, old.Type)
	case def.IfNotExists:
		return nil
	}
	return dberr.New(dberr.DuplicateObject, "an equivalent constraint already exists: %q", old.Name)
}

// CheckValue holds the value of one of a constraint's keys to what the constraint asks of each row alone; v is null if the row has none. The
// error is NotNullViolation or CheckViolation.
func CheckValue(c *schema.Constraint, key string, v value.Value) error {
	var e *dberr.Error
	switch {
	case c.Kind == schema.PropertyType:
		if c.Type.Has(v, nil) {
			return nil
		}
		e = dberr.New(dberr.CheckViolation, "property %q of %q must be of type %s, found %s", key, c.LabelName, c.Type, value.TypeOf(v, nil).OrNull())
	case c.Kind.RowByRow() && v.IsNull():
		e = dberr.New(dberr.NotNullViolation, "property %q of %q must not be null", key, c.LabelName)
	default:
		return nil
	}
	e.Constraint, e.Table = c.Name, c.LabelName
	return e.WithToken("ConstraintValidationFailed")
}

// Graph is one graph as a statement sees it.
type Graph interface {
	Names
	Reader
	Stats
	Writer
	Name() string
}

// Names maps names to ids and back. Look-ups are in memory.
type Names interface {
	Label(v View, name string, e schema.Entity) (schema.LabelID, bool)
	LabelName(id schema.LabelID) string
	LabelSet(id schema.LabelSetID) []schema.LabelID // in the order in which labels(n) shows them
	Key(name string) (schema.KeyID, bool)
	KeyName(id schema.KeyID) string

	// EnsureLabel, EnsureKey create the name in a system transaction of its own when it is missing (rules B7).
	EnsureLabel(ctx context.Context, name string, e schema.Entity) (schema.LabelID, error)
	EnsureKey(ctx context.Context, name string) (schema.KeyID, error)

	Labels(v View) []schema.Label // shown ones, ordered by id
	Keys() []string
	Indexes(v View) []schema.Index
	Constraints(v View) []schema.Constraint
}

// Hits are entities found for the rows of an input batch.
type Hits struct {
	Row  []uint16 // ordinal of the input row; 0 throughout for a scan
	ID   []uint64
	Hint []Hint
}

// Reset empties h and keeps its memory.
func (h *Hits) Reset() { h.Row, h.ID, h.Hint = h.Row[:0], h.ID[:0], h.Hint[:0] }

// Edges are relationships found for the rows of an input batch.
type Edges struct {
	Row   []uint16
	Rel   []uint64
	Hint  []Hint   // of the relationship
	Other []uint64 // the vertex at the far end
	In    []bool   // true if the relationship points to the input vertex
}

// Reset empties e and keeps its memory.
func (e *Edges) Reset() {
	e.Row, e.Rel, e.Hint, e.Other, e.In = e.Row[:0], e.Rel[:0], e.Hint[:0], e.Other[:0], e.In[:0]
}

// HitCursor yields Hits. Next replaces out by up to max hits; none means the end.
type HitCursor interface {
	Next(ctx context.Context, max int, out *Hits) error
	Close()
}

// EdgeCursor yields Edges, in the order of the input rows.
type EdgeCursor interface {
	Next(ctx context.Context, max int, out *Edges) error
	Close()
}

// Direction of a relationship as seen from the input vertex.
type Direction uint8

const (
	Out Direction = iota
	In
	Both // a loop is found once
)

// StaleIndex is the cause of Seek's error for an index that the snapshot cannot use: it was dropped, or made, by another transaction after
// the plan was made. A plan without it gives the same answer.
type StaleIndex struct{ Index schema.IndexID }

func (e *StaleIndex) Error() string { return fmt.Sprintf("index %d cannot be used", e.Index) }

// Bound is one end of a range. Missing means open.
type Bound struct {
	Present   bool
	Inclusive bool
}

// Seek asks an index. Eq are the leading keys' values, one column a key and one row an input row (a null finds nothing); the
// next key may have a range or a prefix. Results of one input row come in index order if Ordered.
type Seek struct {
	Index        schema.IndexID
	Eq           []*vec.Column
	Lower, Upper Bound
	LowerVal     *vec.Column // one row an input row, if Lower.Present
	UpperVal     *vec.Column
	Prefix       *vec.Column // STARTS WITH, instead of bounds
	Ordered      bool
	Descending   bool
}

// Reader reads a graph.
type Reader interface {
	// ScanNodes finds the vertices with the label; NoLabel means all. ScanRels those of the types; none given means all.
	ScanNodes(ctx context.Context, v View, label schema.LabelID) (HitCursor, error)
	// ScanOthers finds the vertices that have none of the labels.
	ScanOthers(ctx context.Context, v View, labels []schema.LabelID) (HitCursor, error)
	ScanRels(ctx context.Context, v View, types []schema.LabelID) (EdgeScan, error)
	// Seek probes an index for rows 0 … rows-1. Label and keys are re-checked; a hit is exact.
	Seek(ctx context.Context, v View, s Seek, rows int) (HitCursor, error)
	// Count tells from counters how many vertices with the label, or relationships of the type, v sees (NoLabel: all), and how many of
	// the relationships begin and end at one vertex. Not ok: counters do not tell, only a scan does (rules B9).
	Count(ctx context.Context, v View, e schema.Entity, l schema.LabelID) (n, loops int64, ok bool, err error)
	// ByID keeps the ids that exist: one id probe a row. 0 finds nothing.
	ByID(ctx context.Context, v View, e schema.Entity, ids []uint64, out *Hits) error
	// Expand finds the relationships of src[i] (0 = none) of the types (none given means all).
	Expand(ctx context.Context, v View, src []uint64, dir Direction, types []schema.LabelID) (EdgeCursor, error)
	// ExpandInto finds the relationships between src[i] and dst[i].
	ExpandInto(ctx context.Context, v View, src, dst []uint64, dir Direction, types []schema.LabelID) (EdgeCursor, error)
	// Neighbours is Expand that lends: where neighbourhoods are kept in memory nothing is copied. Hints are not always known.
	Neighbours(ctx context.Context, v View, src []uint64, dir Direction, types []schema.LabelID) (RunCursor, error)
	// Degree counts what Expand would find.
	Degree(ctx context.Context, v View, src []uint64, dir Direction, types []schema.LabelID, out []int64) error

	// Fetch reads properties: out[k] gets one row a row of ids with the value of keys[k], null if absent. hints may be nil and
	// are repaired in place. An id of 0 gives nulls. An entity that v does not see is an EntityNotFound (DeletedEntityAccess).
	Fetch(ctx context.Context, v View, e schema.Entity, ids []uint64, hints []Hint, keys []schema.KeyID, out []*vec.Column) error
	// FetchMap appends one Map a row with all properties.
	FetchMap(ctx context.Context, v View, e schema.Entity, ids []uint64, hints []Hint, out *vec.Column) error
	// LabelSets reads the label set of each vertex (0 for id 0).
	LabelSets(ctx context.Context, v View, ids []uint64, hints []Hint, out []schema.LabelSetID) error
	// Ends reads start and end of each relationship.
	Ends(ctx context.Context, v View, rels []uint64, hints []Hint, start, end []uint64) error
}

// EdgeScan yields whole relationships.
type EdgeScan interface {
	Next(ctx context.Context, max int, out *Rels) error
	Close()
}

// Rels are relationships with both ends.
type Rels struct {
	ID, Start, End []uint64
	Hint           []Hint
}

// Reset empties r and keeps its memory.
func (r *Rels) Reset() {
	r.ID, r.Start, r.End, r.Hint = r.ID[:0], r.Start[:0], r.End[:0], r.Hint[:0]
}

// Stats are estimates for the planner; exact where an implementation can.
type Stats interface {
	NodeCount(label schema.LabelID) float64 // NoLabel means all
	RelCount(t schema.LabelID) float64      // NoLabel means all
	// LabelsCount is the number of vertices that have all the labels.
	LabelsCount(labels []schema.LabelID) float64
	// RelsBetween is the number of relationships of the type from vertices with one label to vertices with another; NoLabel means any.
	RelsBetween(src, t, dst schema.LabelID) float64
	// Degree is the mean number of relationships of the type that a vertex of the label has in the direction.
	DegreeMean(label, t schema.LabelID, dir Direction) float64
	// Distinct estimates the number of distinct values of the index's leading keys.
	Distinct(ix schema.IndexID) float64
	// KeyStats is what a sample of the vertices of a label, or of the relationships of a type, said about a key; DegreeStats what it
	// said about the relationships of type t (NoLabel: all types) that vertices of the label have. nil: nothing is known. What they
	// return is shared and never changes; newer statistics come with a new CatalogVersion.
	KeyStats(l schema.LabelID, k schema.KeyID) *stats.Key
	DegreeStats(label, t schema.LabelID, dir Direction) *stats.Degree
}

// PropRow is what a write does to the properties of one row.
type PropRow struct {
	Replace bool // drop what is there first (SET n = map)
	Keys    []schema.KeyID
	Vals    []value.Value // null removes the key; a later entry of the same key wins
}

// Writer changes a graph. Every method stamps its versions with cid. Hints are read and replaced by where the new version is.
type Writer interface {
	// CreateNodes makes len(props) vertices with the labels (the first is the storage label; none means unlabelled) and
	// appends their ids and hints to out.
	CreateNodes(ctx context.Context, cid uint32, labels []schema.LabelID, props []PropRow, out *Hits) error
	// CreateRels makes relationships; an end that does not exist is an EntityNotFound (DeletedEntityAccess).
	CreateRels(ctx context.Context, cid uint32, t schema.LabelID, start, end []uint64, props []PropRow, out *Hits) error
	// SetProps changes properties of the rows, in order; an id may occur more than once. Rows already locked are not awaited.
	SetProps(ctx context.Context, cid uint32, e schema.Entity, ids []uint64, hints []Hint, rows []PropRow) error
	// SetLabels adds and removes labels of vertices.
	SetLabels(ctx context.Context, cid uint32, ids []uint64, hints []Hint, add, remove []schema.LabelID) error
	// Delete deletes; an id that this transaction deleted already is skipped. Edges that a vertex leaves behind are looked
	// for by Stmt.Finish, or with detach deleted there and counted.
	Delete(ctx context.Context, cid uint32, e schema.Entity, ids []uint64, hints []Hint, detach bool) error

	// Lock locks rows for update, in id order, waiting for others. changed[i] tells that the row's newest version is not the
	// one that v sees, gone[i] that it is deleted; the statement's later reads see the locked versions (rules A9).
	// Under repeatable read and above such a row is a SerializationFailure.
	Lock(ctx context.Context, v View, e schema.Entity, ids []uint64, hints []Hint, changed, gone []bool) error
	// LockKeys takes the locks of MERGE (rules B14) for a batch of hashes over label or type and equivalent key values.
	LockKeys(ctx context.Context, hashes []uint64) error
}

// Analyzer is what a Graph offers that keeps statistics. Analyze looks at a sample of the label's vertices or the type's relationships
// as v sees them, and keeps what it learns for everybody at once, whatever becomes of the transaction. It costs at most a bounded number of
// pages and probes, and may be cancelled.
type Analyzer interface {
	Analyze(ctx context.Context, v View, l schema.LabelID) error
}

// SchemaCounter is a transaction that counts changes of the catalog. SchemaChanges returns those since the last call.
type SchemaCounter interface{ SchemaChanges() Counters }

// GraphCacher is a transaction whose reads may leave alone what the store keeps in memory of neighbourhoods: answers are the same (rules B10).
type GraphCacher interface{ SetGraphCache(on bool) }

// GraphCache is what a Graph offers whose neighbourhoods are kept in memory.
type GraphCache interface {
	// WarmGraphCache builds what readers have not asked for often enough yet, as far as there is memory; no types means all.
	WarmGraphCache(ctx context.Context, v View, types []schema.LabelID) error
	// ClearGraphCache forgets the neighbourhoods of every graph.
	ClearGraphCache()
	// VerifyGraphCache compares up to sample parts of each type and direction with the indexes; what differs is logged, counted and thrown away.
	VerifyGraphCache(ctx context.Context, v View, sample int) (lists, differences int64, err error)
	GraphCacheStatus() []Figure
}

// Figure is a named number.
type Figure struct {
	Name  string
	Value int64
}

// Racer is what a Graph offers to MERGE where writers run side by side (rules B14). A store with one writer at a time need not have it.
type Racer interface {
	// Latest is a view at a snapshot taken now where the isolation level fixes the statement's own; false where Fresh is that already.
	Latest(cid uint32) (View, bool)
	// AwaitUnique looks for vertices that stand in the way of a new one under a unique constraint, and waits for transactions that
	// may have made one. True means that there is one now. Nothing is written, and nothing is promised for later.
	AwaitUnique(ctx context.Context, labels []schema.LabelID, row *PropRow) (bool, error)
	// CreateUnique is CreateNodes for one vertex, unless a unique constraint stands in the way: then nothing is left of it, and made is false.
	CreateUnique(ctx context.Context, cid uint32, labels []schema.LabelID, row *PropRow, out *Hits) (made bool, err error)
	// TakeBack deletes what the command has made, the last first, as if it had never been: the counters are those from before.
	TakeBack(ctx context.Context, cid uint32, made []Made, before Counters) error
}

// Made is an entity that a command has made.
type Made struct {
	Entity schema.Entity
	ID     uint64
	Hint   Hint
}
