package session

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/query/sqlbind"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

func (s *Session) prepareSQL(ctx context.Context, text string, types []*sqltype.Type) (*Prepared, error) {
	st, err := sql.Parse(text)
	if err != nil {
		return nil, inCypher(text, err)
	}
	if s.failed {
		switch st.Body.(type) {
		case *sql.Rollback, *sql.RollbackTo, *sql.Commit:
		default:
			_, err := s.need(ctx)
			return nil, err
		}
	}
	p, err := s.prepareBody(ctx, st, st.Body, types)
	return p, inCypher(text, err)
}

// prepareBody prepares a statement or a part of one, such as what EXPLAIN explains.
func (s *Session) prepareBody(ctx context.Context, st *sql.Statement, body sql.Stmt, types []*sqltype.Type) (*Prepared, error) {
	p := &Prepared{Text: st.Text}
	at := func(err error) error {
		if e := dberr.As(err); e != nil {
			return e.At(body.Pos(), body.End())
		}
		return nil
	}
	switch body := body.(type) {
	case *sql.Query:
		return s.prepareQuery(ctx, st, body, types)
	case *sql.Copy:
		return s.prepareCopy(ctx, st, body, types)
	case *sql.Explain:
		inner, err := s.prepareBody(ctx, st, body.Body, types)
		if err != nil {
			return nil, err
		}
		analyze := body.Analyze
		for _, o := range body.Options {
			if o.Name == "analyze" {
				analyze = optionText(o) != "false" && optionText(o) != "off"
			}
		}
		p.params, p.columns = inner.params, []Column{{"QUERY PLAN", sqltype.Text}}
		p.command = &explainCommand{inner: inner, analyze: analyze}
		return p, nil
	case *sql.Execute:
		stored, err := s.Stored(body.Name.Name)
		if err != nil {
			return nil, at(err)
		}
		if len(body.Args) != len(stored.params) {
			return nil, at(dberr.New(dberr.Syntax, "wrong number of parameters for prepared statement %q", body.Name.Name).
				WithDetail("Expected %d parameters but got %d.", len(stored.params), len(body.Args)))
		}
		q := &sql.Query{Span: body.Span, Body: &sql.Values{Span: body.Span, Rows: [][]sql.Expr{body.Args}}}
		c := &executeCommand{stored: stored, name: body.Name.Name}
		if len(body.Args) > 0 {
			var casts []sql.Expr
			for i, a := range body.Args {
				t := stored.params[i]
				name := &sql.Name{Span: body.Span, Parts: []*sql.Ident{{Span: body.Span, Name: t.Internal}}}
				if t.Elem != nil {
					name.Parts[0].Name = t.Elem.Internal
				}
				tn := &sql.TypeName{Span: body.Span, Name: name, System: true}
				if t.Elem != nil {
					tn.Array = []int{-1}
				}
				casts = append(casts, &sql.Cast{Span: body.Span, X: a, Type: tn})
			}
			q.Body = &sql.Values{Span: body.Span, Rows: [][]sql.Expr{casts}}
			if c.args, err = s.prepareQuery(ctx, st, q, types); err != nil {
				return nil, err
			}
			p.params = c.args.params
		}
		p.columns, p.copy, p.command = stored.columns, stored.copy, c
		return p, nil
	case *sql.Show:
		if body.Name == "" {
			p.columns = []Column{{"name", sqltype.Text}, {"setting", sqltype.Text}, {"description", sqltype.Text}}
		} else {
			d, err := findSetting(body.Name)
			if err != nil {
				return nil, at(err)
			}
			p.columns = []Column{{d.name, sqltype.Text}}
		}
	case *sql.Fetch:
		cur, err := s.Portal(body.Cursor.Name)
		if err != nil {
			return nil, at(dberr.New(dberr.UndefinedCursor, "cursor %q does not exist", body.Cursor.Name))
		}
		if !body.Move {
			p.columns = cur.Columns()
		}
	}
	u := &utility{st: st, body: body}
	if d, ok := body.(*sql.DeclareCursor); ok {
		inner, err := s.prepareQuery(ctx, st, d.Query, types)
		if err != nil {
			return nil, err
		}
		u.inner, p.params = inner, inner.params
	}
	if pr, ok := body.(*sql.Prepare); ok {
		var declared []*sqltype.Type
		for _, t := range pr.Types {
			name := strings.ToLower(t.Name.Last())
			if len(t.Array) > 0 {
				name += "[]"
			}
			x := sqltype.ByName(name)
			if x == nil {
				return nil, dberr.New(dberr.UndefinedObject, "type %q does not exist", t.Name.Last()).At(t.Pos(), t.End())
			}
			declared = append(declared, x)
		}
		inner, err := s.prepareBody(ctx, st, pr.Body, declared)
		if err != nil {
			return nil, err
		}
		inner.sqlText = true
		u.inner = inner
	}
	if !known(body) {
		return nil, at(dberr.New(dberr.FeatureNotSupported, "%s is not supported yet", statementName(st.Text)))
	}
	p.command = u
	return p, nil
}

func statementName(text string) string {
	var words [2]string
	n := cypher.FirstWords(text, words[:])
	return strings.Join(words[:n], " ")
}

func optionText(o *sql.Option) string {
	switch v := o.Value.(type) {
	case nil:
		return ""
	case *sql.StringLit:
		return v.Value
	case *sql.IntLit:
		return strconv.FormatInt(v.Value, 10)
	case *sql.BoolLit:
		return strconv.FormatBool(v.Value)
	case *sql.ColumnRef:
		return v.Parts[len(v.Parts)-1].Name
	case *sql.Star:
		return "*"
	}
	return ""
}

// ---- queries ----------------------------------------------------------------------------------------------------------

// queryCommand runs a SELECT.
type queryCommand struct {
	st    *sql.Statement
	query *sql.Query
	types []*sqltype.Type
	// plain is the plan of a query without a call of cypher(), which does not depend on the graph; made once.
	bound *sqlbind.Result
	cat   *catalog
	prep  *exec.Prepared
}

func (s *Session) prepareQuery(ctx context.Context, st *sql.Statement, q *sql.Query, types []*sqltype.Type) (*Prepared, error) {
	c := &queryCommand{st: st, query: q, types: types}
	var err error
	if c.cat, c.bound, err = s.bindQuery(ctx, st, q, types); err != nil {
		return nil, err
	}
	c.types = c.bound.Params
	c.prep = exec.Prepare(c.bound.Query)
	p := &Prepared{Text: st.Text, command: c, params: c.bound.Params}
	for _, col := range c.bound.Columns {
		p.columns = append(p.columns, Column{col.Name, col.Type})
	}
	if p.columns == nil {
		p.columns = []Column{}
	}
	return p, nil
}

func (s *Session) bindQuery(ctx context.Context, st *sql.Statement, q *sql.Query, types []*sqltype.Type) (*catalog, *sqlbind.Result, error) {
	cat := &catalog{ctx: ctx, s: s}
	bound, err := sqlbind.Bind(st, q, cat, sqlbind.Options{Params: types})
	return cat, bound, err
}

func (c *queryCommand) inFailed() bool { return false }

func (c *queryCommand) tag(n int64) string { return fmt.Sprintf("SELECT %d", n) }

func (c *queryCommand) run(ctx context.Context, s *Session, args []value.Value) (rows, error) {
	r, err := c.start(ctx, s, args, false)
	if err != nil {
		return nil, err // not a nil *cypherRows
	}
	return r, nil
}

func (c *queryCommand) start(ctx context.Context, s *Session, args []value.Value, profile bool) (*cypherRows, error) {
	tx, err := s.need(ctx)
	if err != nil {
		return nil, err
	}
	stmt, err := tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	fences := &fenceSet{s: s, tx: tx, stmt: stmt}
	if err := fences.run(ctx, c.cat.calls, args); err != nil {
		stmt.Close()
		return nil, err
	}
	opt := s.execOptions(ctx, tx, c.bound.Query, false)
	opt.Profile = profile
	cur, err := c.prep.Run(context.WithValue(ctx, fenceKey{}, fences), stmt, nil, args, opt)
	if err != nil {
		stmt.Close()
		return nil, err
	}
	r := &cypherRows{stmt: stmt, cur: cur, q: c.bound.Query, fences: fences}
	if fences.wrote {
		// C3: nothing may raise after the first row of a statement that wrote, and its commit must not wait for the reader.
		if err := r.drain(); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// drain reads the rest of a result into memory.
func (r *cypherRows) drain() error {
	for {
		row, err := r.Next(context.Background())
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		if r.fences != nil {
			if err := r.fences.charge(row); err != nil {
				return err
			}
		}
		r.held = append(r.held, cloneRow(row))
	}
	r.holding = true
	return nil
}

// fenceSet is one execution's calls of cypher() (rules C4). It reaches the sources through the context of the plan's run.
type fenceSet struct {
	s     *Session
	tx    store.Tx
	stmt  store.Stmt
	wrote bool
	rows  map[*callSource][][]value.Value // results of the calls, if one of them writes

	opened map[*callSource]int              // times that a reading call was opened
	kept   map[*callSource][][]value.Value  // results of reading calls that are opened again and again, as in a subquery
	tables map[*tableSource][][]value.Value // rows of catalog tables

	bytes int64 // of rows held in memory
}

// charge accounts a row that is held in memory until the statement ends.
func (f *fenceSet) charge(row []value.Value) error {
	f.bytes += 24
	for _, v := range row {
		f.bytes += 24 + int64(len(v.Raw()))
	}
	if limit := f.s.intSetting("hedgerow.mem_limit") << 10; f.bytes > limit {
		return dberr.New(dberr.OutOfMemory, "the rows of a statement that writes take more than %d bytes", limit).
			WithHint("Raise hedgerow.mem_limit, or let the statement return less.")
	}
	return nil
}

// maxKept and maxKeptBytes bound what a reading call keeps for its next opening.
const (
	maxKept      = 100_000
	maxKeptBytes = 16 << 20
)

type fenceKey struct{}

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
	f.rows = map[*callSource][][]value.Value{}
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
	for {
		row, err := r.Next(ctx)
		if row == nil || err != nil {
			return err
		}
		if err := f.charge(row); err != nil {
			return err
		}
		f.rows[call] = append(f.rows[call], cloneRow(row))
	}
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
	if f.rows != nil {
		return &fixed{data: f.rows[c]}, nil
	}
	// A call reads parameters only and sees the statement's start: all its runs in one statement are the same.
	if rows, ok := f.kept[c]; ok {
		return &fixed{data: rows}, nil
	}
	if f.opened == nil {
		f.opened, f.kept = map[*callSource]int{}, map[*callSource][][]value.Value{}
	}
	f.opened[c]++
	r, err := c.run(ctx, f, args)
	if err != nil || f.opened[c] != 2 {
		return r, err
	}
	keep := &keeping{rows: r}
	keep.done = func() { f.kept[c] = keep.held }
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
	g, err := f.stmt.Graph(ctx, c.graph) // binding has made main, if it was missing
	if err != nil {
		return nil, err
	}
	r, err := f.s.execute(ctx, f.tx, f.stmt, g, c.text, params, true)
	if err != nil {
		return nil, c.shift(err)
	}
	r.shared = true
	return &shifted{rows: r, call: c}, nil
}

// shift moves an error's place from the Cypher text to the SQL text around it.
func (c *callSource) shift(err error) error {
	if c.at < 0 { // the text stands elsewhere
		moved := *dberr.As(err)
		moved.Pos, moved.End = -1, -1
		return &moved
	}
	return Shift(err, c.at)
}

type shifted struct {
	rows
	call *callSource
}

func (r *shifted) Next(ctx context.Context) ([]value.Value, error) {
	row, err := r.rows.Next(ctx)
	if err != nil {
		return nil, r.call.shift(err)
	}
	return row, nil
}

// callParams takes cypher()'s third argument apart: a map of the parameters.
func callParams(names []string, args []value.Value) (map[string]value.Value, error) {
	out := map[string]value.Value{}
	if len(args) == 0 || args[0].IsNull() {
		for _, n := range names {
			out[n] = value.Value{}
		}
		return out, nil
	}
	m := args[0]
	if m.Kind() != value.Map {
		return nil, dberr.New(dberr.TypeError, "the third argument of cypher() must be an agtype map, not a %s", kindName(m))
	}
	for _, n := range names {
		v, ok := m.Get(n)
		if !ok {
			e := dberr.New(dberr.MissingParameter, "parameter $%s is missing in the map given to cypher()", n).WithToken("MissingParameter")
			e.Phase = dberr.CompileTime
			return nil, e
		}
		out[n] = v
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
	tx, err := s.need(ctx)
	if err != nil {
		return nil, err
	}
	stmt, g, err := s.openGraph(ctx, tx, graph)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	c, err := s.compile(ctx, text, g, stmt, true)
	if err != nil {
		return nil, err
	}
	return c.query(), nil
}

// ---- COPY, EXPLAIN, EXECUTE -------------------------------------------------------------------------------------------

func (s *Session) prepareCopy(ctx context.Context, st *sql.Statement, c *sql.Copy, types []*sqltype.Type) (*Prepared, error) {
	refuse := func(what string) error {
		return dberr.New(dberr.FeatureNotSupported, "%s is not supported yet", what).At(c.Pos(), c.End())
	}
	switch {
	case c.From:
		return nil, refuse("COPY FROM")
	case !c.Stdio:
		return nil, refuse("COPY to a file or program")
	case c.Where != nil:
		return nil, refuse("WHERE in COPY TO")
	}
	body := c.Query
	if body == nil {
		body = &sql.Query{Span: c.Span, Body: &sql.TableCmd{Span: c.Span, Table: &sql.TableRef{Span: c.Span, Name: c.Table}}}
	}
	q, ok := body.(*sql.Query)
	if !ok {
		return nil, refuse("COPY of a statement that changes rows")
	}
	options := map[string]string{}
	for _, o := range c.Options {
		text := optionText(o)
		for _, e := range o.List {
			if text != "" {
				text += ","
			}
			text += optionText(&sql.Option{Value: e})
		}
		options[o.Name] = text
	}
	f, err := NewCopyFormat(options)
	if err != nil {
		return nil, dberr.As(err).At(c.Pos(), c.End())
	}
	p, err := s.prepareQuery(ctx, st, q, types)
	if err != nil {
		return nil, err
	}
	f.Zone = s.zone()
	p.copy = f
	return p, nil
}

// executeCommand is SQL's EXECUTE.
type executeCommand struct {
	stored *Prepared
	name   string
	args   *Prepared // yields the arguments as one row; nil if there are none
}

func (c *executeCommand) inFailed() bool     { return false }
func (c *executeCommand) tag(n int64) string { return c.stored.command.tag(n) }

func (c *executeCommand) run(ctx context.Context, s *Session, args []value.Value) (rows, error) {
	if c.stored.command == nil {
		return nil, nil
	}
	var vals []value.Value
	if c.args != nil {
		r, err := c.args.command.run(ctx, s, args)
		if err != nil {
			return nil, err
		}
		row, err := r.Next(ctx)
		if err == nil {
			vals = cloneRow(row)
		}
		r.Close()
		if err != nil {
			return nil, err
		}
	}
	return c.stored.command.run(ctx, s, vals)
}

// explainCommand prints a plan.
type explainCommand struct {
	inner   *Prepared
	analyze bool
}

func (c *explainCommand) inFailed() bool   { return false }
func (c *explainCommand) tag(int64) string { return "EXPLAIN" }

func (c *explainCommand) run(ctx context.Context, s *Session, args []value.Value) (rows, error) {
	q, ok := c.inner.command.(*queryCommand)
	if !ok {
		return nil, dberr.New(dberr.FeatureNotSupported, "EXPLAIN of this statement is not supported yet")
	}
	var stats []plan.OpStats
	began := time.Now()
	if c.analyze {
		r, err := q.start(ctx, s, args, true)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		for {
			row, err := r.Next(ctx)
			if err != nil {
				return nil, err
			}
			if row == nil {
				break
			}
		}
		stats = profileOf(r.cur)
	}
	text := q.bound.Query.Print(plan.PrintOptions{Stats: stats})
	tx, err := s.need(ctx)
	if err != nil {
		return nil, err
	}
	for _, call := range q.cat.calls {
		stmt, g, err := s.openGraph(ctx, tx, call.graph)
		if err != nil {
			return nil, err
		}
		comp, err := s.compile(ctx, call.text, g, stmt, true)
		if err == nil {
			text += "cypher " + call.graph + "\n" + comp.query().Print(plan.PrintOptions{Rows: true})
		}
		stmt.Close()
		if err != nil {
			return nil, call.shift(err)
		}
	}
	if c.analyze {
		text += fmt.Sprintf("Execution Time: %.3f ms\n", float64(time.Since(began).Microseconds())/1000)
	}
	return &fixed{data: planLines(text)}, nil
}

// ---- everything else --------------------------------------------------------------------------------------------------

// utility is a statement that is no query.
type utility struct {
	st    *sql.Statement
	body  sql.Stmt
	inner *Prepared
	done  string // command tag, if it differs from the usual one
	n     int64
}

// known reports whether utility knows what to do.
func known(body sql.Stmt) bool {
	switch b := body.(type) {
	case *sql.Begin, *sql.Commit, *sql.Rollback, *sql.Savepoint, *sql.Release, *sql.RollbackTo, *sql.SetTransaction, *sql.SetConstraints,
		*sql.Set, *sql.Reset, *sql.Show, *sql.Discard, *sql.Load, *sql.Listen, *sql.Unlisten, *sql.Notify, *sql.Prepare, *sql.Deallocate,
		*sql.DeclareCursor, *sql.Fetch, *sql.CloseCursor, *sql.Checkpoint, *sql.CreateExtension, *sql.Vacuum:
		return true
	case *sql.Drop:
		return b.Kind == "EXTENSION"
	}
	return false
}

func (u *utility) inFailed() bool {
	switch u.body.(type) {
	case *sql.Commit, *sql.Rollback, *sql.RollbackTo:
		return true
	}
	return false
}

func (u *utility) tag(n int64) string {
	if u.done != "" {
		return u.done
	}
	switch b := u.body.(type) {
	case *sql.Begin:
		if strings.HasPrefix(strings.ToUpper(u.st.Text), "START") {
			return "START TRANSACTION"
		}
		return "BEGIN"
	case *sql.Commit:
		return "COMMIT"
	case *sql.Rollback, *sql.RollbackTo:
		return "ROLLBACK"
	case *sql.Savepoint:
		return "SAVEPOINT"
	case *sql.Release:
		return "RELEASE"
	case *sql.Set, *sql.SetTransaction:
		return "SET"
	case *sql.SetConstraints:
		return "SET CONSTRAINTS"
	case *sql.Reset:
		return "RESET"
	case *sql.Show:
		return "SHOW"
	case *sql.Discard:
		return "DISCARD " + b.What
	case *sql.Load:
		return "LOAD"
	case *sql.Listen:
		return "LISTEN"
	case *sql.Unlisten:
		return "UNLISTEN"
	case *sql.Notify:
		return "NOTIFY"
	case *sql.Prepare:
		return "PREPARE"
	case *sql.Deallocate:
		if b.Name == nil {
			return "DEALLOCATE ALL"
		}
		return "DEALLOCATE"
	case *sql.DeclareCursor:
		return "DECLARE CURSOR"
	case *sql.Fetch:
		if b.Move {
			return fmt.Sprintf("MOVE %d", u.n)
		}
		return fmt.Sprintf("FETCH %d", n)
	case *sql.CloseCursor:
		if b.Name == nil {
			return "CLOSE CURSOR ALL"
		}
		return "CLOSE CURSOR"
	case *sql.Checkpoint:
		return "CHECKPOINT"
	case *sql.CreateExtension:
		return "CREATE EXTENSION"
	case *sql.Drop:
		return "DROP " + b.Kind
	case *sql.Vacuum:
		if b.OnlyAnalyze {
			return "ANALYZE"
		}
		return "VACUUM"
	}
	return "OK"
}

func isolationOf(m sql.TxMode) string {
	return strings.ToLower(m.Isolation)
}

func (u *utility) run(ctx context.Context, s *Session, args []value.Value) (rows, error) {
	switch b := u.body.(type) {
	case *sql.Begin:
		return nil, s.Begin(Modes{Isolation: isolationOf(b.Mode), ReadOnly: b.Mode.ReadOnly})
	case *sql.Commit:
		undone, err := s.Commit(ctx)
		if undone {
			u.done = "ROLLBACK"
		}
		if err == nil && b.Chain {
			err = s.Begin(Modes{})
		}
		return nil, err
	case *sql.Rollback:
		s.Rollback()
		if b.Chain {
			return nil, s.Begin(Modes{})
		}
		return nil, nil
	case *sql.Savepoint:
		return nil, s.Savepoint(ctx, b.Name.Name)
	case *sql.Release:
		return nil, s.Release(ctx, b.Name.Name)
	case *sql.RollbackTo:
		return nil, s.RollbackTo(b.Name.Name)
	case *sql.SetTransaction:
		return nil, s.setTransaction(b)
	case *sql.SetConstraints:
		return nil, nil
	case *sql.Set:
		return nil, s.setStatement(b)
	case *sql.Reset:
		if b.Name == "" {
			return nil, s.Reset("all")
		}
		return nil, s.Reset(b.Name)
	case *sql.Show:
		return s.show(b)
	case *sql.Discard:
		if s.block {
			return nil, dberr.New(dberr.ActiveTransaction, "DISCARD %s cannot run inside a transaction block", b.What)
		}
		if b.What == "ALL" {
			clear(s.prepared)
			s.ageDialect = false
			return nil, s.Reset("all")
		}
		return nil, nil
	case *sql.Load:
		if lib := strings.TrimSuffix(strings.TrimPrefix(b.Library, "$libdir/"), ".so"); lib == "age" || lib == "plugins/age" {
			s.ageDialect = true
			return nil, nil
		}
		return nil, dberr.New(dberr.UndefinedObject, "could not access file %q: there are no libraries to load", b.Library)
	case *sql.CreateExtension:
		switch b.Name.Name {
		case "age":
			s.ageDialect = true
		case "plpgsql":
		default:
			return nil, dberr.New(dberr.FeatureNotSupported, "extension %q is not available", b.Name.Name)
		}
		if b.IfNotExists {
			s.notice("NOTICE", "42710", fmt.Sprintf("extension %q already exists, skipping", b.Name.Name))
		}
		return nil, nil
	case *sql.Drop:
		return nil, dberr.New(dberr.FeatureNotSupported, "extension age is part of the server and cannot be dropped")
	case *sql.Listen, *sql.Unlisten, *sql.Notify:
		s.notice("WARNING", "0A000", "notifications are accepted and not delivered")
		return nil, nil
	case *sql.Vacuum:
		if s.block {
			return nil, dberr.New(dberr.ActiveTransaction, "VACUUM cannot run inside a transaction block")
		}
		return nil, nil
	case *sql.Prepare:
		return nil, s.Store(b.Name.Name, u.inner)
	case *sql.Deallocate:
		if b.Name == nil {
			clear(s.prepared)
			return nil, nil
		}
		if !s.Deallocate(b.Name.Name) {
			return nil, dberr.New(dberr.UndefinedPreparedStatement, "prepared statement %q does not exist", b.Name.Name)
		}
		return nil, nil
	case *sql.DeclareCursor:
		if !s.block && !s.multi && (b.Hold == nil || !*b.Hold) {
			return nil, dberr.New(dberr.NoActiveTransaction, "DECLARE CURSOR can only be used in transaction blocks")
		}
		if b.Hold != nil && *b.Hold {
			return nil, dberr.New(dberr.FeatureNotSupported, "a cursor WITH HOLD is not supported")
		}
		portal, err := s.Bind(ctx, b.Name.Name, u.inner, args)
		if err != nil {
			return nil, err
		}
		err = portal.Start(context.WithoutCancel(ctx))
		portal.Pause()
		return nil, err
	case *sql.Fetch:
		return u.fetch(ctx, s, b)
	case *sql.CloseCursor:
		if b.Name == nil {
			for name, p := range s.portals {
				if name != "" {
					p.Close()
				}
			}
			return nil, nil
		}
		p, err := s.Portal(b.Name.Name)
		if err != nil {
			return nil, dberr.New(dberr.UndefinedCursor, "cursor %q does not exist", b.Name.Name)
		}
		p.Close()
		return nil, nil
	case *sql.Checkpoint:
		if s.db.opt.Checkpoint == nil {
			return nil, nil
		}
		return nil, s.db.opt.Checkpoint(ctx)
	}
	return nil, dberr.New(dberr.FeatureNotSupported, "%s is not supported yet", statementName(u.st.Text))
}

func (u *utility) fetch(ctx context.Context, s *Session, b *sql.Fetch) (rows, error) {
	p, err := s.Portal(b.Cursor.Name)
	if err != nil {
		return nil, dberr.New(dberr.UndefinedCursor, "cursor %q does not exist", b.Cursor.Name)
	}
	if b.How != sql.FetchForward || b.Count < 0 {
		return nil, dberr.New(dberr.FeatureNotSupported, "a cursor moves forward only").WithHint("Use FETCH NEXT, FETCH n or FETCH ALL.")
	}
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	out := &fetched{p: p, left: b.Count}
	if !b.Move {
		return out, nil
	}
	defer out.Close()
	for {
		row, err := out.Next(ctx)
		if err != nil || row == nil {
			return nil, err
		}
		u.n++
	}
}

// fetched is the part of a cursor's rows that one FETCH asks for.
type fetched struct {
	p    *Portal
	left int64
}

func (f *fetched) Next(ctx context.Context) ([]value.Value, error) {
	if f.left <= 0 {
		return nil, nil
	}
	f.left--
	return f.p.Next(ctx)
}

func (f *fetched) Close() { f.p.Pause() }

func (s *Session) setTransaction(b *sql.SetTransaction) error {
	if b.Session {
		if b.Mode.Isolation != "" {
			if err := s.Set("default_transaction_isolation", isolationOf(b.Mode), false); err != nil {
				return err
			}
		}
		if b.Mode.ReadOnly != nil {
			return s.Set("default_transaction_read_only", onOff(*b.Mode.ReadOnly), false)
		}
		return nil
	}
	if !s.block {
		s.notice("WARNING", "25P01", "SET TRANSACTION can only be used in transaction blocks")
		return nil
	}
	if b.Mode.Isolation != "" {
		if err := s.setIsolation(isolationOf(b.Mode)); err != nil {
			return err
		}
	}
	if b.Mode.ReadOnly != nil {
		return s.Set("transaction_read_only", onOff(*b.Mode.ReadOnly), true)
	}
	return nil
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func (s *Session) setStatement(b *sql.Set) error {
	if b.Default {
		return s.Reset(b.Name)
	}
	var parts []string
	for _, v := range b.Values {
		if c, ok := v.(*sql.Cast); ok {
			v = c.X
		}
		switch v := v.(type) {
		case *sql.StringLit:
			parts = append(parts, v.Value)
		case *sql.IntLit:
			parts = append(parts, strconv.FormatInt(v.Value, 10))
		case *sql.NumericLit:
			parts = append(parts, v.Text)
		case *sql.BoolLit:
			parts = append(parts, onOff(v.Value))
		case *sql.Unary:
			if i, ok := v.X.(*sql.IntLit); ok {
				parts = append(parts, v.Op.Name+strconv.FormatInt(i.Value, 10))
			}
		case *sql.ColumnRef:
			parts = append(parts, v.Parts[len(v.Parts)-1].Name)
		}
	}
	if len(parts) > 1 && b.Name != "search_path" && b.Name != "datestyle" {
		return dberr.New(dberr.InvalidParameterValue, "SET %s takes only one argument", b.Name)
	}
	if b.Name == "search_path" {
		for i, p := range parts {
			if p == "$user" {
				parts[i] = `"$user"`
			}
		}
	}
	if b.Local && !s.block {
		s.notice("WARNING", "25P01", "SET LOCAL can only be used in transaction blocks")
		return nil
	}
	return s.Set(b.Name, strings.Join(parts, ", "), b.Local)
}

func (s *Session) show(b *sql.Show) (rows, error) {
	if b.Name != "" {
		return &fixed{data: [][]value.Value{{value.NewString(s.Setting(b.Name))}}}, nil
	}
	out := &fixed{}
	for _, name := range settingNames() {
		d := settings[strings.ToLower(name)]
		out.data = append(out.data, []value.Value{value.NewString(name), value.NewString(s.Setting(name)), value.NewString(d.help)})
	}
	return out, nil
}

// labelKind tells vertices from edges as ag_label does.
func labelKind(e schema.Entity) string {
	if e == schema.Edge {
		return "e"
	}
	return "v"
}
