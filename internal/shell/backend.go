package shell

import (
	"context"

	"github.com/hedgerowdb/hedgerow"
)

// Backend is what the shell talks to.
type Backend interface {
	// Run runs one statement.
	Run(ctx context.Context, text string, lang hedgerow.Language, params hedgerow.Params) (Rows, error)
	// Eval returns the value of an expression, as a parameter for Run.
	Eval(ctx context.Context, expr string, params hedgerow.Params) (v any, shown string, err error)
	Schema(ctx context.Context) (*hedgerow.Schema, error)
	Names(ctx context.Context) ([]string, error) // labels, types and keys, for completion
	Graphs(ctx context.Context) ([]string, error)
	// Split cuts a text into statements.
	Split(text string, lang hedgerow.Language) ([]string, error)
	Set(ctx context.Context, name, v string) error
	Graph() string
	Status() byte
	Where() string // what is connected to, for the banner
	Close() error
}

// Rows is a running result.
type Rows interface {
	Columns() []string
	Next() bool
	Text(i int) string  // as Cypher writes it
	Plain(i int) string // a string without quotes, null as ""
	Close() error
	Notices() []hedgerow.Notice
	JSON(i int) string // for machines
	Summary() string   // counters of a write, or the command tag
	Plan() string      // drawn, of EXPLAIN and PROFILE; else ""
}

// Embedded is an open database.
type Embedded struct {
	DB   *hedgerow.DB
	Name string
	conn *hedgerow.Conn
}

// NewEmbedded opens a client of a database.
func NewEmbedded(db *hedgerow.DB, name string) *Embedded {
	return &Embedded{DB: db, Name: name, conn: db.Conn()}
}

func (e *Embedded) Close() error                                { return e.conn.Close() }
func (e *Embedded) Graph() string                               { return e.conn.Graph() }
func (e *Embedded) Status() byte                                { return e.conn.Status() }
func (e *Embedded) Where() string                               { return e.Name }
func (e *Embedded) Set(_ context.Context, name, v string) error { return e.conn.Set(name, v) }
func (e *Embedded) Split(text string, lang hedgerow.Language) ([]string, error) {
	return e.conn.Split(text, lang)
}

func (e *Embedded) Run(ctx context.Context, text string, lang hedgerow.Language, params hedgerow.Params) (Rows, error) {
	r, err := e.conn.Run(ctx, text, lang, params)
	if err != nil {
		return nil, err
	}
	return embeddedRows{r}, nil
}

type embeddedRows struct{ *hedgerow.Rows }

func (r embeddedRows) Plain(i int) string {
	switch v := r.Row().Values()[i].(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return unquoted(r.Text(i))
}

// unquoted takes off the quotes in which Cypher writes dates and durations, so that a CSV file can be loaded again.
func unquoted(s string) string {
	if len(s) > 1 && s[0] == '\'' && s[len(s)-1] == '\'' {
		return s[1 : len(s)-1]
	}
	return s
}

func (r embeddedRows) Summary() string {
	if res := r.Result(); res.Changed() {
		return res.String()
	}
	if len(r.Columns()) == 0 {
		return r.Tag()
	}
	return ""
}

// Eval runs RETURN expr.
func (e *Embedded) Eval(ctx context.Context, expr string, params hedgerow.Params) (v any, shown string, err error) {
	rows, err := e.conn.Run(ctx, "RETURN "+expr, hedgerow.Cypher, params)
	if err != nil {
		return nil, "", err
	}
	for rows.Next() {
		v, shown = rows.Value(0), rows.Text(0)
	}
	return v, shown, rows.Close()
}

func (e *Embedded) Schema(ctx context.Context) (*hedgerow.Schema, error) { return e.conn.Schema(ctx) }
func (e *Embedded) Graphs(ctx context.Context) ([]string, error)         { return e.conn.Graphs(ctx) }

func (e *Embedded) Names(ctx context.Context) (names []string, err error) {
	sc, err := e.conn.Schema(ctx)
	if err != nil {
		return nil, err
	}
	for _, list := range [][]hedgerow.Count{sc.Labels, sc.Types} {
		for _, c := range list {
			names = append(names, c.Name)
		}
	}
	return append(names, sc.Keys...), nil
}
