package exec

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/query/spill"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// File is a temporary file; see [spill.File].
type File = spill.File

// Temp makes temporary files; see [spill.Temp].
type Temp = spill.Temp

// Importer opens what LOAD CSV reads. path is what file() returns. It refuses what the database's owner has not allowed.
type Importer interface {
	Open(url string) (in io.ReadCloser, path string, err error)
}

// Options say how to run one statement. The zero value works.
type Options struct {
	BatchSize int   // rows a batch, 1 … vec.MaxRows; zero means vec.MaxRows
	Reference bool  // rules C5: batch size 1, no counters
	WorkMem   int64 // bytes that a spool, sort or barrier holds before it goes to a file; zero means 16 MiB
	MemLimit  int64 // accounted bytes of the statement; zero means 1 GiB
	Budget    Budget
	Temp      Temp // nil: nothing is spilled
	Profile   bool
	Poison    bool // tests: a batch is overwritten as soon as it is no longer valid

	Now    time.Time // clock of the statement; zero means time.Now
	TxNow  time.Time // clock of the transaction; zero means Now
	Zone   *time.Location
	AGE    bool         // Apache AGE's dialect (rules C8)
	Cancel *atomic.Bool // set from elsewhere to stop the statement; may be nil
	// Watched says that whoever sets Cancel does so also when the context ends.
	Watched bool
	Probe   func() // tests: called whenever the statement looks at Cancel; may be nil

	// Tx runs schema commands; needed for plans with Schema set.
	Tx store.Tx
	// Procedures are what CALL finds; nil means Builtins.
	Procedures Procedures
	// Nested begins the transactions of CALL { } IN TRANSACTIONS; needed for plans with InTx set, as is Tx.
	Nested Nested
	// Import opens the files of LOAD CSV; nil refuses all.
	Import Importer
	// Server is what SHOW and the dbms procedures ask; nil knows nothing.
	Server Server
}

// Prepared is a plan with its expressions compiled. Any number of executions share it.
type Prepared struct {
	Query *plan.Query
	progs sync.Map // expr.Expr → *compiled

	idle   sync.Pool    // of *run: what small executions have left (E7)
	reused atomic.Int64 // executions that took one
}

// Prepare makes a plan ready to run. Expressions are compiled when an execution first needs them.
func Prepare(q *plan.Query) *Prepared { return &Prepared{Query: q} }

// compiled is an expression's program and the subqueries in it.
type compiled struct {
	prog *expr.Program
	subs []*expr.Subplan
	// reads: it may read the graph
	reads bool
}

func (p *Prepared) program(e expr.Expr) (*compiled, error) {
	if c, ok := p.progs.Load(e); ok {
		return c.(*compiled), nil
	}
	prog, err := expr.Compile(e)
	if err != nil {
		return nil, err
	}
	c := &compiled{prog: prog}
	expr.Walk(e, func(n expr.Expr) bool {
		switch n := n.(type) {
		case *expr.Subplan:
			c.subs, c.reads = append(c.subs, n), true
		case *expr.Const, *expr.Param, *expr.Col, *expr.Unary, *expr.Binary, *expr.Chain, *expr.And, *expr.Or, *expr.Case, *expr.ListLit, *expr.MapLit:
		case *expr.Func:
			c.reads = c.reads || n.Def.Vol == expr.Reads
		default:
			c.reads = true
		}
		return true
	})
	got, _ := p.progs.LoadOrStore(e, c)
	return got.(*compiled), nil
}

// Params puts the values of lifted literals and named parameters into the order of the plan. A missing one is a MissingParameter.
func (p *Prepared) Params(named map[string]value.Value, lifted ...value.Value) ([]value.Value, error) {
	if len(lifted) != p.Query.Lifted {
		return nil, dberr.New(dberr.Internal, "the plan has %d literals, not %d", p.Query.Lifted, len(lifted))
	}
	all := make([]value.Value, len(lifted)+len(p.Query.Params))
	out := all[copy(all, lifted):]
	for i, name := range p.Query.Params {
		v, ok := named[name]
		if !ok {
			e := dberr.New(dberr.MissingParameter, "parameter $%s is missing", name).WithToken("MissingParameter")
			e.Phase = dberr.CompileTime
			return nil, e
		}
		out[i] = v
	}
	return all, nil
}

// Run starts an execution. Nothing is read before the first call of [Cursor.Next]. The cursor must be closed; the statement
// stays the caller's to close.
func (p *Prepared) Run(ctx context.Context, stmt store.Stmt, g store.Graph, params []value.Value, o Options) (*Cursor, error) {
	c := new(Cursor)
	if err := p.RunInto(c, ctx, stmt, g, params, &o); err != nil {
		return nil, err
	}
	return c, nil
}

// RunInto is Run with a cursor in memory of the caller's. The defaults are filled into the options.
func (p *Prepared) RunInto(c *Cursor, ctx context.Context, stmt store.Stmt, g store.Graph, params []value.Value, o *Options) error {
	if o.BatchSize <= 0 || o.BatchSize > vec.MaxRows {
		o.BatchSize = vec.MaxRows
	}
	if o.Reference {
		o.BatchSize = 1
	}
	if o.WorkMem == 0 {
		o.WorkMem = 16 << 20
	}
	if o.MemLimit == 0 {
		o.MemLimit = 1 << 30
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if o.TxNow.IsZero() {
		o.TxNow = o.Now
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	x := p.take(o)
	made := x == nil
	if made {
		x = &run{p: p, q: p.Query, mem: &tracker{}, segs: make([]segment, len(p.Query.Segments)), lasting: !o.Profile}
		for s, info := range p.Query.Slots {
			if info.Kind == plan.RowID {
				x.rowIDs = append(x.rowIDs, s)
			}
		}
	}
	x.bind(ctx, stmt, g, params, *o)
	*c = Cursor{x: x, q: p.Query}
	if made {
		root, err := x.build(p.Query.Root)
		if err != nil {
			x.lasting = false
			c.Close()
			return err
		}
		x.root = root
	}
	root := x.root
	c.res, _ = root.(*produce)
	if pr, ok := root.(*profiled); ok {
		c.res, x.rootProfile = pr.op.(*produce), pr.p
	}
	if c.res == nil {
		c.Close()
		return dberr.New(dberr.Internal, "plan has no ProduceResults at its root")
	}
	return nil
}

// bind gives the state of an execution the statement that it serves.
func (x *run) bind(ctx context.Context, stmt store.Stmt, g store.Graph, params []value.Value, o Options) {
	x.ctx, x.stmt, x.g, x.params, x.opt = ctx, stmt, g, params, o
	x.mem.limit, x.mem.budget = o.MemLimit, o.Budget
	if x.cancel = o.Cancel; x.cancel == nil {
		x.cancel = new(atomic.Bool)
	}
	if !(o.Watched && o.Cancel != nil) && ctx.Done() != nil {
		cancel := x.cancel
		x.unwatch = context.AfterFunc(ctx, func() { cancel.Store(true) })
	}
	if m, ok := stmt.(store.Meter); ok {
		x.ctx = m.Meter(ctx)
	}
	for _, c := range x.cores {
		c.bind()
	}
}

type segment struct {
	base uint32
	open bool
}

// run is the state of one execution.
type run struct {
	p       *Prepared
	q       *plan.Query
	ctx     context.Context
	stmt    store.Stmt
	g       store.Graph
	params  []value.Value
	opt     Options
	mem     *tracker
	segs    []segment
	cancel  *atomic.Bool
	unwatch func() bool
	root    operator
	ops     []operator // all, for Close
	profile []*OpProfile

	rootProfile *OpProfile
	first       store.Stmt // the statement that the execution was given, once stmt is another one

	rowIDs  []plan.Slot // slots of Applys' row ids
	sieves  []*sieve    // by plan.Sieve.ID
	keys    map[string]schema.KeyID
	zeros   []uint64
	scratch [2][]uint64

	cores    []*core  // of all operators
	outs     []*rows  // the batches that operators make
	again    []func() // what an operator puts back before it serves again
	lasting  bool     // the state may serve again
	busy     bool     // a call has not returned: after a panic nothing is as it should be
	detached bool     // all operators but the root are closed

	// Build-time scopes.
	args  []*argState
	fresh []*freshView
}

// openSegment takes command ids for segment i; a negative i opens none.
func (x *run) openSegment(i int) error {
	if i < 0 {
		return nil
	}
	base, err := x.stmt.Segment(x.q.Segments[i].Writes)
	if err != nil {
		return err
	}
	x.segs[i] = segment{base, true}
	return nil
}

// base returns the first command id of a segment. Segment 0 opens at its first use, which is the statement's first pull.
func (x *run) base(i int) (uint32, error) {
	if !x.segs[i].open {
		if i != 0 {
			return 0, dberr.New(dberr.Internal, "segment %d is read before it opened", i)
		}
		if err := x.openSegment(0); err != nil {
			return 0, err
		}
	}
	return x.segs[i].base, nil
}

// check ends the statement if it was cancelled.
func (x *run) check() error {
	if x.opt.Probe != nil {
		x.opt.Probe()
	}
	if x.cancel.Load() {
		if err := x.ctx.Err(); err != nil {
			return dberr.As(err)
		}
		return dberr.New(dberr.Canceled, "canceling statement due to user request")
	}
	return nil
}

// Cursor is a running statement.
type Cursor struct {
	x       *run // nil once it serves others
	q       *plan.Query
	res     *produce
	started bool
	done    bool
	err     error
	closed  bool

	// Of a cursor that is closed and has left its state to others.
	stmt store.Stmt
	peak int64
}

// Columns returns the names of the columns; nil if the statement gives none.
func (c *Cursor) Columns() []string { return c.q.Columns }

// Next makes the next rows current and returns their number; 0 means the end. After an error the cursor is finished.
func (c *Cursor) Next() (int, error) {
	if c.done || c.err != nil || c.closed {
		return 0, c.err
	}
	var n int
	var err error
	c.x.busy = true
	if c.x.rootProfile != nil {
		n, err = c.x.measureRoot(func() (int, error) { return c.res.rows(&c.started) })
	} else {
		n, err = c.res.rows(&c.started)
	}
	if err != nil {
		c.err = err
		return 0, err
	}
	c.x.busy = false
	if n == 0 {
		c.done = true
	}
	return n, nil
}

// Row returns row i of the current rows. It is valid until the next call of Next or Close; the values are views.
func (c *Cursor) Row(i int) []value.Value { return c.res.row(i) }

// Close frees what the statement holds; idempotent.
func (c *Cursor) Close() {
	if c.closed {
		return
	}
	c.closed = true
	x := c.x
	x.unwatched()
	for i := len(x.ops) - 1; i >= 0; i-- {
		if !x.detached || x.ops[i] == operator(c.res) {
			x.ops[i].close()
		}
	}
	x.endRenewed()
	x.mem.close()
	c.stmt, c.peak = x.stmt, x.mem.peak
	if x.leave() {
		c.x, c.res = nil, nil
	}
}

// unwatched ends the watch over the context. A watch that could not be ended may still stop the execution.
func (x *run) unwatched() {
	if x.unwatch != nil && !x.unwatch() {
		x.lasting = false
	}
	x.unwatch = nil
}

// Detach lets go of everything but the rows of a statement that has been evaluated to its end, which are bytes by now: its
// transaction may end while they are still being read. It reports whether the cursor could be detached.
func (c *Cursor) Detach() bool {
	if c.closed || c.err != nil || !c.res.full {
		return false
	}
	c.x.unwatched()
	for i := len(c.x.ops) - 1; i >= 0; i-- {
		if c.x.ops[i] != operator(c.res) {
			c.x.ops[i].close()
		}
	}
	c.x.detached = true
	c.x.endRenewed()
	return true
}

// Counters returns what the statement cost so far.
func (c *Cursor) Counters() *store.Counters {
	if c.x == nil {
		return c.stmt.Counters()
	}
	return c.x.counters()
}

// PeakMemory returns the most bytes that were accounted at one time.
func (c *Cursor) PeakMemory() int64 {
	if c.x == nil {
		return c.peak
	}
	return c.x.mem.peak
}

// Accounted returns the bytes that are accounted now; none after Close (E6).
func (c *Cursor) Accounted() int64 {
	if c.x == nil {
		return 0 // else it would not have been left to others
	}
	return c.x.mem.used
}
