package session

import (
	"context"
	"fmt"

	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/sqlbind"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// queryCommand runs a SELECT.
type queryCommand struct {
	st    *sql.Statement
	query *sql.Query
	types []*sqltype.Type
	// plain is the plan of a query without a call of cypher(), which does not depend on the graph; made once.
	bound *sqlbind.Result
	cat   *catalog
	prep  *exec.Prepared
	inner []innerText // texts of the calls, if they are others than those that it was prepared for
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
	fences := &fenceSet{s: s, tx: tx, stmt: stmt, calls: c.cat.calls, inner: c.inner}
	if profile {
		fences.ran = map[*callSource]*cypherRows{}
		ctx = context.WithValue(ctx, profileKey{}, true)
	}
	if err := fences.run(ctx, c.cat.calls, args); err != nil {
		fences.free()
		stmt.Close()
		return nil, err
	}
	r := &cypherRows{stmt: stmt, q: c.bound.Query, fences: fences}
	opt := s.execOptions(ctx, tx, c.bound.Query, false, &r.lease)
	fences.ctx = fenceContext{ctx, fences}
	if err := c.prep.RunInto(&r.own, &fences.ctx, stmt, nil, args, &opt); err != nil {
		fences.free()
		stmt.Close()
		return nil, err
	}
	r.cur = &r.own
	if fences.wrote {
		// C3: nothing may raise after the first row of a statement that wrote, and its commit must not wait for the reader.
		if err := r.drain(s); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// drain reads the rest of a result, and keeps it.
func (r *cypherRows) drain(s *Session) error {
	held := s.holdRows()
	err := held.all(context.Background(), r)
	if err == nil {
		err = held.rewind()
	}
	if err != nil {
		held.free()
		return err
	}
	r.held = held
	return nil
}
