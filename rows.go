package hedgerow

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/session"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Params are a statement's parameters by name, without the dollar.
type Params map[string]any

// Notice is something worth knowing about a statement, such as a label that does not exist.
type Notice struct {
	Code    string // as UnknownLabel, CartesianProduct
	Message string
	Hint    string
}

// Result is what a statement changed.
type Result struct {
	NodesCreated, NodesDeleted                 int64
	RelationshipsCreated, RelationshipsDeleted int64
	PropertiesSet, LabelsAdded, LabelsRemoved  int64
	IndexesAdded, IndexesRemoved               int64
	ConstraintsAdded, ConstraintsRemoved       int64
}

func (r *Result) add(o Result) {
	a, b := reflect.ValueOf(r).Elem(), reflect.ValueOf(o)
	for i := range a.NumField() {
		a.Field(i).SetInt(a.Field(i).Int() + b.Field(i).Int())
	}
}

// Changed reports whether anything was changed.
func (r Result) Changed() bool { return r != Result{} }

// String prints the counters that are not zero, as "Created 2 nodes, set 3 properties".
func (r Result) String() string {
	var parts []string
	say := func(verb string, n int64, one, many string) {
		if n == 1 {
			parts = append(parts, fmt.Sprintf("%s 1 %s", verb, one))
		} else if n != 0 {
			parts = append(parts, fmt.Sprintf("%s %d %s", verb, n, many))
		}
	}
	say("created", r.NodesCreated, "node", "nodes")
	say("deleted", r.NodesDeleted, "node", "nodes")
	say("created", r.RelationshipsCreated, "relationship", "relationships")
	say("deleted", r.RelationshipsDeleted, "relationship", "relationships")
	say("set", r.PropertiesSet, "property", "properties")
	say("added", r.LabelsAdded, "label", "labels")
	say("removed", r.LabelsRemoved, "label", "labels")
	say("added", r.IndexesAdded, "index", "indexes")
	say("removed", r.IndexesRemoved, "index", "indexes")
	say("added", r.ConstraintsAdded, "constraint", "constraints")
	say("removed", r.ConstraintsRemoved, "constraint", "constraints")
	s := strings.Join(parts, ", ")
	if s != "" {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}

// Rows streams a statement's result.
type Rows struct {
	ctx     context.Context
	text    string
	s       *client
	portal  *session.Portal
	names   []string
	row     []value.Value
	err     error
	closed  bool
	owner   owner
	notices []Notice
	result  Result
	params  []namedValue
	few     [2]namedValue // memory of params
}

// owner is told when its rows are closed; ok says that nothing failed.
type owner interface {
	ended(r *Rows, ok bool) error
}

// listener hands a session's notices to the rows of the statement that runs.
type listener struct{ to *Rows }

func (l *listener) notice(n session.Notice) {
	if r := l.to; r != nil {
		r.notices = append(r.notices, Notice{Code: n.Name, Message: n.Message, Hint: n.Hint})
	}
}

// client is a session of the embedded API.
type client struct {
	*session.Session
	listener
}

func newClient(s *session.Session) *client {
	c := &client{Session: s}
	s.OnNotice = c.notice
	return c
}

// start runs a statement in a session and returns its rows.
func start(ctx context.Context, s *client, text string, lang session.Language, params Params, args []any) (*Rows, error) {
	r := &Rows{ctx: ctx, text: text, s: s}
	s.to = r
	r.params = r.few[:0]
	for name, x := range params {
		v, err := toValue(x)
		if err != nil {
			return nil, dberr.New(dberr.TypeError, "parameter $%s: %v", name, err)
		}
		r.params = append(r.params, namedValue{name, v})
	}
	var positional []value.Value
	for _, a := range args {
		v, err := toValue(a)
		if err != nil {
			return nil, err
		}
		positional = append(positional, v)
	}
	var err error
	var named session.Named = r
	if len(r.params) > manyParams {
		m := make(session.NamedValues, len(r.params))
		for _, p := range r.params {
			m[p.name] = p.v
		}
		named = m
	}
	if r.portal, err = s.Start(ctx, text, lang, named, positional); err != nil {
		return nil, err
	}
	r.names = r.portal.Names()
	return r, nil
}

// manyParams is the number of parameters above which they are looked up in a map.
const manyParams = 8

type namedValue struct {
	name string
	v    value.Value
}

// Named makes Rows the parameters of its statement.
func (r *Rows) Named(name string) (value.Value, bool) {
	for i := range r.params {
		if r.params[i].name == name {
			return r.params[i].v, true
		}
	}
	return value.Value{}, false
}

// Columns returns the names of the columns; none if the statement has no result.
func (r *Rows) Columns() []string { return r.names }

// Next moves to the next row. It returns false at the end and after an error, and closes the rows then.
func (r *Rows) Next() bool {
	if r.closed || r.err != nil {
		return false
	}
	row, err := r.portal.Next(r.ctx)
	if err != nil {
		r.row = nil
		r.err = publicError(err, r.text)
		r.close(false)
		return false
	}
	if row == nil {
		r.row = nil
		r.Close()
		return false
	}
	r.row = row
	return true
}

// Err returns the error that ended the rows, if one did.
func (r *Rows) Err() error { return r.err }

// Close ends the rows; idempotent. For a statement outside a transaction it commits, which is when an error may show.
func (r *Rows) Close() error {
	r.close(true)
	return r.err
}

func (r *Rows) close(ok bool) {
	if r.closed {
		return
	}
	r.closed = true
	sum := r.portal.Summary()
	r.result = Result{
		NodesCreated: sum.NodesCreated, NodesDeleted: sum.NodesDeleted, RelationshipsCreated: sum.RelsCreated, RelationshipsDeleted: sum.RelsDeleted,
		PropertiesSet: sum.PropsSet, LabelsAdded: sum.LabelsAdded, LabelsRemoved: sum.LabelsRemoved, IndexesAdded: sum.IndexesAdded,
		IndexesRemoved: sum.IndexesRemoved, ConstraintsAdded: sum.ConstraintsAdded, ConstraintsRemoved: sum.ConstraintsRemoved,
	}
	if r.row != nil {
		r.keep()
	}
	r.portal.Close()
	if r.s.to == r {
		r.s.to = nil
	}
	if err := r.owner.ended(r, ok); err != nil && r.err == nil {
		r.err = publicError(err, r.text)
	}
}

// keep makes the current row outlive the statement, whose memory serves the next one.
func (r *Rows) keep() {
	row := make([]value.Value, len(r.row))
	for i, v := range r.row {
		row[i] = v.Clone()
	}
	r.row = row
}

// Result returns what the statement changed; it is complete once the rows are closed.
func (r *Rows) Result() Result { return r.result }

// Notices returns what is worth knowing about the statement.
func (r *Rows) Notices() []Notice { return r.notices }

// Plan returns the plan that EXPLAIN or PROFILE asked for, drawn as a tree; "" for other statements.
func (r *Rows) Plan() string { return r.portal.Plan() }

// Row is one row of a result.
type Row struct {
	names  []string
	values []any
}

// Get returns the value of a column, nil if it is null or there is no such column.
func (r Row) Get(name string) any {
	for i, n := range r.names {
		if n == name {
			return r.values[i]
		}
	}
	return nil
}

// Columns and Values return the row's names and values in order.
func (r Row) Columns() []string { return r.names }
func (r Row) Values() []any     { return r.values }

// Row returns the current row; one without columns before the first and after the last.
func (r *Rows) Row() Row {
	if r.row == nil {
		return Row{}
	}
	vals := make([]any, len(r.row))
	for i, v := range r.row {
		vals[i] = fromValue(v)
	}
	return Row{names: r.names, values: vals}
}

// All iterates over the rows and closes them. An error comes last, with a zero Row.
func (r *Rows) All() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		defer r.Close()
		for r.Next() {
			if !yield(r.Row(), nil) {
				return
			}
		}
		if err := r.Close(); err != nil {
			yield(Row{}, err)
		}
	}
}

// Scan copies the current row into variables, one a column: pointers to int, int64, float64, string, bool, []byte, time.Time, slices, maps,
// structs (see [Collect]), Node, Relationship, Path, or any. A null needs a pointer to a pointer or to any, else it is the zero value.
func (r *Rows) Scan(dest ...any) error {
	if r.row == nil {
		return publicError(dberr.New(dberr.InvalidParameterValue, "Scan was called without a current row"), "")
	}
	if len(dest) != len(r.row) {
		return publicError(dberr.New(dberr.InvalidParameterValue, "Scan got %d variables for %d columns", len(dest), len(r.row)), "")
	}
	for i, d := range dest {
		p := reflect.ValueOf(d)
		if p.Kind() != reflect.Pointer || p.IsNil() {
			return publicError(dberr.New(dberr.InvalidParameterValue, "Scan needs pointers, got %T for column %q", d, r.names[i]), "")
		}
		if err := assign(p.Elem(), fromValue(r.row[i])); err != nil {
			return publicError(dberr.New(dberr.CannotCoerce, "column %q: %v", r.names[i], err), "")
		}
	}
	return nil
}

// Collect reads all rows into a slice and closes them. T is a struct, whose fields are filled by column name (tag `hedgerow:"name"`, else
// the field's name, without regard to case) or, where no field has the name of the only column, from the node, relationship or map in it;
// or anything that Scan takes, for a result of one column.
func Collect[T any](r *Rows) ([]T, error) {
	defer r.Close()
	var out []T
	for r.Next() {
		var t T
		v := reflect.ValueOf(&t).Elem()
		var err error
		if v.Kind() == reflect.Struct && !isValueStruct(v.Type()) && !r.single(v.Type()) {
			m := make(map[string]any, len(r.names))
			for i, n := range r.names {
				m[n] = fromValue(r.row[i])
			}
			err = assign(v, m)
		} else if len(r.row) != 1 {
			err = fmt.Errorf("a row of %d columns does not fit a %T", len(r.row), t)
		} else {
			err = assign(v, fromValue(r.row[0]))
		}
		if err != nil {
			return out, publicError(dberr.New(dberr.CannotCoerce, "%v", err), "")
		}
		out = append(out, t)
	}
	return out, r.Close()
}

// single reports whether the only column of the current row is a node, relationship or map that stands for a struct of type t itself: no
// field of t has the column's name.
func (r *Rows) single(t reflect.Type) bool {
	if len(r.row) != 1 {
		return false
	}
	for i := range t.NumField() {
		if name, skip := fieldName(t.Field(i)); !skip && strings.EqualFold(name, r.names[0]) {
			return false
		}
	}
	switch r.row[0].Kind() {
	case value.Node, value.Rel, value.Map:
		return true
	}
	return false
}

// JSON returns column i of the current row as JSON. Ids are strings; see the HTTP reference for values that JSON has no form for.
func (r *Rows) JSON(i int) string { return string(value.AppendJSON(nil, r.row[i])) }

// Cost is what a statement asked of the storage engine.
type Cost struct {
	HintsOK, HintsOwnChain, HintsMissing, HintsStale int64 // rows reached through the place where they were last seen, or not
	IDProbes, IndexProbes, UniqueProbes              int64
	RowsRead, EdgesRead, SeqScans                    int64
	RootHits                                         int64 // rows found without a hint by where they were seen before
	HopsCached, HopsDirty, HopsIndex                 int64 // neighbourhoods read from memory; of them, changed ones; read from an index instead
	PagesPinned, PagesRead, WALBytes                 int64
}

// Add sums two costs.
func (c *Cost) Add(o Cost) {
	a, b := reflect.ValueOf(c).Elem(), reflect.ValueOf(o)
	for i := range a.NumField() {
		a.Field(i).SetInt(a.Field(i).Int() + b.Field(i).Int())
	}
}

// Per prints the cost of one of n rows.
func (c Cost) Per(n int) string {
	v := reflect.ValueOf(c)
	var parts []string
	for i := range v.NumField() {
		if x := v.Field(i).Int(); x != 0 {
			parts = append(parts, fmt.Sprintf("%s %.2f", v.Type().Field(i).Name, float64(x)/float64(n)))
		}
	}
	return strings.Join(parts, ", ")
}

// Cost returns what the statement cost; it is complete once the rows are closed.
func (r *Rows) Cost() Cost {
	c := r.portal.Summary().Counters
	return Cost{
		HintsOK: c.HintOK, HintsOwnChain: c.HintOwnChain, HintsMissing: c.HintMissing, HintsStale: c.HintStale, IDProbes: c.IDProbes,
		IndexProbes: c.IndexProbes, UniqueProbes: c.UniqueProbes, RowsRead: c.RowsRead, EdgesRead: c.EdgesRead, SeqScans: c.SeqScans,
		RootHits: c.RootHits, HopsCached: c.HopsCached, HopsDirty: c.HopsDirty, HopsIndex: c.HopsIndex,
		PagesPinned: c.PagesPinned, PagesRead: c.PagesRead, WALBytes: c.WALBytes,
	}
}

// PeakMemory returns the most bytes that the statement held at one time, by its own account.
func (r *Rows) PeakMemory() int64 { return r.portal.Summary().PeakMemory }
