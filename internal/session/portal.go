package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// rows is a running result. Next returns nil at the end; a row is valid until the next call.
type rows interface {
	Next(ctx context.Context) ([]value.Value, error)
	Close()
}

// Prepared is a statement that was parsed and bound: it knows its parameters and columns.
type Prepared struct {
	Text string

	command command // nil for an empty statement
	params  []*sqltype.Type
	columns []Column
	names   []string // of columns, once they were asked for
	copy    *CopyFormat
	sqlText bool // made by SQL's PREPARE: shown by pg_prepared_statements
}

// command is what a prepared statement does.
type command interface {
	// run executes; it returns rows, or nil for a statement without a result. tag gives the command tag once n rows were handed out.
	run(ctx context.Context, s *Session, args []value.Value) (rows, error)
	tag(n int64) string
	// inFailed reports whether the command may run in a failed block.
	inFailed() bool
}

// Empty reports whether the text holds no statement.
func (p *Prepared) Empty() bool { return p.command == nil }

// ParamTypes returns the types of $1 … $n.
func (p *Prepared) ParamTypes() []*sqltype.Type { return p.params }

// Columns returns the result's columns, nil if there is no result.
func (p *Prepared) Columns() []Column { return p.columns }

// Store keeps a prepared statement under a name; the unnamed one is replaced.
func (s *Session) Store(name string, p *Prepared) error {
	if name != "" && s.prepared[name] != nil {
		return dberr.New(dberr.DuplicatePreparedStatement, "prepared statement %q already exists", name)
	}
	s.prepared[name] = p
	return nil
}

// Stored returns a prepared statement by name.
func (s *Session) Stored(name string) (*Prepared, error) {
	if p := s.prepared[name]; p != nil {
		return p, nil
	}
	if name == "" {
		return nil, dberr.New(dberr.UndefinedPreparedStatement, "unnamed prepared statement does not exist")
	}
	return nil, dberr.New(dberr.UndefinedPreparedStatement, "prepared statement %q does not exist", name)
}

// Deallocate forgets a prepared statement and reports whether there was one.
func (s *Session) Deallocate(name string) bool {
	_, ok := s.prepared[name]
	delete(s.prepared, name)
	return ok
}

// Portal is an execution of a prepared statement (S5).
type Portal struct {
	Formats []int16 // result formats; the door's own

	s       *Session
	name    string
	p       *Prepared
	args    []value.Value
	started bool
	closed  bool
	done    bool
	rows    rows
	n       int64 // rows handed out since Start
	ctx     context.Context
	stop    *interrupt // own, once it runs
	own     interrupt
	broken  error // the transaction was ended from outside while rows were left
	running bool  // stop is reached by Cancel and the time limit
}

// Bind makes a portal. The unnamed one is replaced.
func (s *Session) Bind(ctx context.Context, name string, p *Prepared, args []value.Value) (*Portal, error) {
	if old := s.portals[name]; old != nil {
		if name != "" {
			return nil, dberr.New(dberr.DuplicateCursor, "cursor %q already exists", name)
		}
		old.Close()
	}
	if s.failed && (p.command == nil || !p.command.inFailed()) {
		_, err := s.need(ctx)
		return nil, err
	}
	if len(args) != len(p.params) {
		e := dberr.New(dberr.MissingParameter, "there is no parameter $%d", len(args)+1)
		if len(args) > 0 {
			e = dberr.New(dberr.MissingParameter, "the statement has %d parameters, %d were given", len(p.params), len(args))
		}
		return nil, e
	}
	portal := &Portal{s: s, name: name, p: p, args: args}
	s.portals[name] = portal
	return portal, nil
}

// Portal returns a portal by name.
func (s *Session) Portal(name string) (*Portal, error) {
	if p := s.portals[name]; p != nil {
		return p, nil
	}
	return nil, dberr.New(dberr.UndefinedCursor, "portal %q does not exist", name)
}

// ClosePortal closes a portal by name, if there is one.
func (s *Session) ClosePortal(name string) {
	if p := s.portals[name]; p != nil {
		p.Close()
	}
}

func (s *Session) closePortals() {
	for _, p := range s.portals {
		p.Close()
	}
}

// Names returns the names of the portal's columns, not to be changed; nil if there are none.
func (p *Portal) Names() []string {
	if p.p.names == nil && len(p.p.columns) > 0 {
		names := make([]string, len(p.p.columns))
		for i, c := range p.p.columns {
			names[i] = c.Name
		}
		p.p.names = names
	}
	return p.p.names
}

// Columns, Copy, Empty and Text describe the portal's statement.
func (p *Portal) Columns() []Column { return p.p.columns }
func (p *Portal) Copy() *CopyFormat { return p.p.copy }
func (p *Portal) Empty() bool       { return p.p.Empty() }
func (p *Portal) Text() string      { return p.p.Text }

// Start executes the statement; a second call goes on with it.
func (p *Portal) Start(ctx context.Context) error {
	if p.closed {
		return dberr.New(dberr.UndefinedCursor, "portal %q does not exist", p.name)
	}
	if p.started {
		if p.done {
			p.n = 0
		} else {
			p.resume()
		}
		return nil
	}
	p.started = true
	if p.s.failed && !p.p.command.inFailed() {
		_, err := p.s.need(ctx)
		return err
	}
	p.stop = &p.own
	p.stop.text, p.stop.query, p.stop.began = p.p.Text, p.s.db.lastQuery.Add(1), time.Now()
	p.stop.begin(ctx)
	p.ctx = p.stop
	p.s.used = true
	p.s.ran++
	p.resume()
	p.s.clock = p.stop.began // of a transaction that it begins
	r, err := p.p.command.run(p.ctx, p.s, p.args)
	p.s.clock = time.Time{}
	if err != nil {
		p.finish()
		return p.mapError(err)
	}
	p.rows = r
	if r == nil {
		p.finish()
	}
	return nil
}

func (p *Portal) resume() {
	if !p.running && !p.done {
		p.running, p.n = true, 0
		p.s.resume(p.stop)
	}
}

// Pause says that no more rows are asked for now: the time limit rests, and Cancel means something else. Start goes on.
func (p *Portal) Pause() {
	if p.running {
		p.running = false
		p.s.pause(p.stop)
	}
}

// Next returns the next row, nil at the end.
func (p *Portal) Next(ctx context.Context) ([]value.Value, error) {
	if p.broken != nil {
		return nil, p.broken
	}
	if p.done || p.rows == nil {
		return nil, nil
	}
	row, err := p.rows.Next(p.ctx)
	if err != nil {
		p.finish()
		return nil, p.mapError(err)
	}
	if row == nil {
		p.finish()
		return nil, nil
	}
	p.n++
	return row, nil
}

// Summary is what a statement did, known once its rows have been read.
func (p *Portal) Summary() *Summary {
	if r, ok := p.rows.(interface{ summary() *Summary }); ok {
		return r.summary()
	}
	return &Summary{}
}

func (p *Portal) finish() {
	if p.done {
		return
	}
	p.done = true
	if p.rows != nil {
		p.rows.Close()
	}
	p.Pause()
	if p.stop != nil {
		p.stop.cancel()
	}
}

// AppendTag appends the command tag.
func (p *Portal) AppendTag(dst []byte) []byte {
	if _, ok := p.p.command.(*queryCommand); ok && p.p.copy == nil {
		return strconv.AppendInt(append(dst, "SELECT "...), p.n, 10)
	}
	return append(dst, p.Tag()...)
}

// Tag returns the command tag.
func (p *Portal) Tag() string {
	if p.p.copy != nil {
		return fmt.Sprintf("COPY %d", p.n)
	}
	return p.p.command.tag(p.n)
}

// Close ends the portal; idempotent.
func (p *Portal) Close() {
	if p.closed {
		return
	}
	p.closed = true
	p.finish()
	if p.s.portals[p.name] == p {
		delete(p.s.portals, p.name)
	}
}

// mapError gives a statement that was interrupted its error: who interrupted it is known here alone.
func (p *Portal) mapError(err error) error {
	e := dberr.As(err)
	if e.Code == dberr.Canceled {
		if err := p.s.record.fate(); err != nil {
			return err
		}
		code, why := dberr.Canceled, "user request"
		if p.stop.timeout.Load() || errors.Is(p.ctx.Err(), context.DeadlineExceeded) {
			code, why = dberr.StatementTimeout, "statement timeout"
		}
		return dberr.Wrap(code, p.ctx.Err(), "canceling statement due to %s", why)
	}
	return e
}

// Interrupted is the error of a statement whose client has stopped taking rows because of err.
func (p *Portal) Interrupted(err error) error { return p.mapError(dberr.As(err)) }

// fixed is a result that is there already.
type fixed struct {
	data [][]value.Value
	at   int
}

func (f *fixed) Next(context.Context) ([]value.Value, error) {
	if f.at == len(f.data) {
		return nil, nil
	}
	f.at++
	return f.data[f.at-1], nil
}

func (f *fixed) Close() {}
