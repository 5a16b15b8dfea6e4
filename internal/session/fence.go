package session

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// fenceSet is one execution's calls of cypher() (rules C4). It reaches the sources through the context of the plan's run.
type fenceSet struct {
	s     *Session
	tx    store.Tx
	stmt  store.Stmt
	wrote bool
	rows  map[*callSource]*heldRows // results of the calls, if one of them writes

	one    [1]openedCall
	opened []openedCall                     // reading calls that were opened
	tables map[*tableSource][][]value.Value // rows of catalog tables

	calls   []*callSource
	inner   []innerText // texts of calls, if they are others than those that the statement was prepared for
	callErr error       // the last error of a call

	ctx fenceContext

	ran map[*callSource]*cypherRows // EXPLAIN ANALYZE: the last run of each call
}

// openedCall is a reading call that was opened. One that is opened again and again, as in a subquery, keeps its result.
type openedCall struct {
	call  *callSource
	times int
	kept  bool
	rows  [][]value.Value
}

// openedOf finds or makes the entry of a call.
func (f *fenceSet) openedOf(c *callSource) *openedCall {
	for i := range f.opened {
		if f.opened[i].call == c {
			return &f.opened[i]
		}
	}
	if f.opened == nil {
		f.opened = f.one[:0]
	}
	f.opened = append(f.opened, openedCall{call: c})
	return &f.opened[len(f.opened)-1]
}

// fenceContext is a context that leads to the calls of its statement.
type fenceContext struct {
	context.Context
	f *fenceSet
}

// Value finds the calls, and what the context around has.
func (c *fenceContext) Value(key any) any {
	if key == (fenceKey{}) {
		return c.f
	}
	return c.Context.Value(key)
}

// free gives up the results of the calls.
func (f *fenceSet) free() {
	if f != nil {
		for _, h := range f.rows {
			h.free()
		}
	}
}

// maxKept and maxKeptBytes bound what a reading call keeps for its next opening.
const (
	maxKept      = 100_000
	maxKeptBytes = 16 << 20
)

type fenceKey struct{}

// profileKey marks the context of a statement whose operators are measured, those of its calls included.
type profileKey struct{}

func profiling(ctx context.Context) bool { return ctx.Value(profileKey{}) != nil }

// run executes the calls to their end, in textual order, if one of them writes.
func (f *fenceSet) run(ctx context.Context, calls []*callSource, args []value.Value) error {
	for _, call := range calls {
		f.wrote = f.wrote || call.writes
	}
	if !f.wrote {
		return nil
	}
	if f.s.readOnly() {
		return dberr.New(dberr.ReadOnlyTransaction, "cannot execute a writing cypher() in a read-only transaction")
	}
	f.rows = map[*callSource]*heldRows{}
	for _, call := range calls {
		if err := f.fence(ctx, call, args); err != nil {
			return err
		}
	}
	return nil
}

func (f *fenceSet) fence(ctx context.Context, call *callSource, args []value.Value) error {
	var params []value.Value
	if call.args != nil {
		for _, a := range call.args {
			v, err := constantOf(a, args)
			if err != nil {
				return err
			}
			params = append(params, v)
		}
	}
	r, err := call.run(ctx, f, params)
	if err != nil {
		return err
	}
	defer r.Close()
	h := f.s.holdRows()
	f.rows[call] = h
	return h.all(ctx, r)
}

func cloneRow(row []value.Value) []value.Value {
	kept := make([]value.Value, len(row))
	for i, v := range row {
		kept[i] = v.Clone()
	}
	return kept
}

// constantOf evaluates an expression that reads parameters only.
func constantOf(e expr.Expr, params []value.Value) (value.Value, error) {
	p, err := expr.Compile(e)
	if err != nil {
		return value.Value{}, err
	}
	return p.EvalOne(&expr.Env{Params: params})
}

// callSource is a call of cypher() as a source of rows.
type callSource struct {
	graph   string
	text    string
	at      int // byte offset of the text in the statement
	names   []string
	columns []string
	writes  bool
	args    []expr.Expr // third argument, if there is one
}

func (c *callSource) String() string { return "cypher " + c.graph }

func (c *callSource) Open(ctx context.Context, args []value.Value) (plan.SourceRows, error) {
	f := ctx.Value(fenceKey{}).(*fenceSet)
	if h := f.rows[c]; h != nil {
		return h, h.rewind()
	}
	// A call reads parameters only and sees the statement's start: all its runs in one statement are the same.
	o := f.openedOf(c)
	if o.kept {
		return &fixed{data: o.rows}, nil
	}
	o.times++
	again := o.times == 2
	r, err := c.run(ctx, f, args)
	if err != nil || !again {
		return r, err
	}
	keep := &keeping{rows: r}
	keep.done = func() {
		o := f.openedOf(c)
		o.kept, o.rows = true, keep.held
	}
	return keep, nil
}

// keeping keeps the rows that it hands out; done is called if all were read.
type keeping struct {
	rows
	held  [][]value.Value
	bytes int
	done  func()
}

func (k *keeping) Next(ctx context.Context) ([]value.Value, error) {
	row, err := k.rows.Next(ctx)
	switch {
	case err != nil || k.done == nil:
	case row == nil:
		k.done()
		k.done = nil
	case len(k.held) == maxKept || k.bytes > maxKeptBytes:
		k.held, k.done = nil, nil
	default:
		for _, v := range row {
			k.bytes += len(v.Raw())
		}
		k.held = append(k.held, cloneRow(row))
	}
	return row, err
}

// run executes the call in the statement that is open.
func (c *callSource) run(ctx context.Context, f *fenceSet, args []value.Value) (rows, error) {
	params, err := callParams(c.names, args)
	if err != nil {
		return nil, err
	}
	in := f.innerOf(c)
	t, err := f.s.textOf(f.s.envOf(c.graph, true), in.text, nil)
	if err != nil {
		return nil, f.shift(in, err)
	}
	g, err := f.stmt.Graph(ctx, c.graph) // binding has made main, if it was missing
	if err != nil {
		return nil, err
	}
	r, err := f.s.execute(ctx, f.tx, f.stmt, g, t, params)
	if err != nil {
		return nil, f.shift(in, err)
	}
	r.shared = true
	if f.ran != nil {
		f.ran[c] = r
	}
	return &shifted{rows: r, f: f, in: in}, nil
}

// shift moves an error's place from the Cypher text to the SQL text around it.
func (c *callSource) shift(err error) error { return innerText{c.text, c.at}.shift(err) }

func (in innerText) shift(err error) error {
	if in.at < 0 { // the text stands elsewhere
		moved := *dberr.As(err)
		moved.Pos, moved.End = -1, -1
		return &moved
	}
	return Shift(err, in.at)
}

// shift is innerText.shift, and remembers that the error is a call's.
func (f *fenceSet) shift(in innerText, err error) error {
	f.callErr = in.shift(err)
	return f.callErr
}

type shifted struct {
	rows
	f  *fenceSet
	in innerText
}

func (r *shifted) Next(ctx context.Context) ([]value.Value, error) {
	row, err := r.rows.Next(ctx)
	if err != nil {
		return nil, r.f.shift(r.in, err)
	}
	return row, nil
}

// callParams takes cypher()'s third argument apart, a map of the parameters: their values in the order of names.
func callParams(names []string, args []value.Value) ([]value.Value, error) {
	out := make([]value.Value, len(names))
	if len(args) == 0 || args[0].IsNull() {
		return out, nil
	}
	m := args[0]
	if m.Kind() != value.Map {
		return nil, dberr.New(dberr.TypeError, "the third argument of cypher() must be an agtype map, not a %s", kindName(m))
	}
	for i, n := range names {
		v, ok := m.Get(n)
		if !ok {
			e := dberr.New(dberr.MissingParameter, "parameter $%s is missing in the map given to cypher()", n).WithToken("MissingParameter")
			e.Phase = dberr.CompileTime
			return nil, e
		}
		out[i] = v
	}
	return out, nil
}

func kindName(v value.Value) string {
	switch v.Kind() {
	case value.List:
		return "list"
	case value.String:
		return "string"
	case value.Node:
		return "vertex"
	case value.Rel:
		return "edge"
	}
	return "scalar"
}

// bindCypher finds what a call of cypher() returns and whether it writes.
func (s *Session) bindCypher(ctx context.Context, graph, text string) (*plan.Query, error) {
	_, q, err := s.describe(ctx, text, graph, true)
	return q, err
}
