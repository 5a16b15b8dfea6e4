package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hedgerowdb/hedgerow"
)

// Backend is what the shell talks to.
type Backend interface {
	// Run runs one statement.
	Run(ctx context.Context, text string, lang hedgerow.Language, params hedgerow.Params) (Rows, error)
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
	Summary() string // counters of a write, or the command tag
	Plan() string
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
	return r.Text(i)
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

// Remote is a server that speaks PostgreSQL's protocol.
type Remote struct {
	conn    *pgx.Conn
	url     string
	graph   string
	notices []hedgerow.Notice
	split   *hedgerow.Conn
	local   *hedgerow.DB
}

// Connect opens a connection to postgres://…; Cypher is its first language.
func Connect(ctx context.Context, url, graph string) (*Remote, error) {
	conf, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	r := &Remote{url: conf.Host + ":" + fmt.Sprint(conf.Port), graph: graph}
	conf.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conf.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		r.notices = append(r.notices, hedgerow.Notice{Code: n.Code, Message: n.Message, Hint: n.Hint})
	}
	if r.conn, err = pgx.ConnectConfig(ctx, conf); err != nil {
		return nil, err
	}
	if graph == "" {
		r.graph = "main"
	} else if err := r.Set(ctx, "hedgerow.graph", graph); err != nil {
		return nil, err
	}
	if err := r.Set(ctx, "hedgerow.language", "cypher"); err != nil {
		r.conn.Close(ctx)
		return nil, fmt.Errorf("the server is not Hedgerow: %w", err)
	}
	if r.local, err = hedgerow.OpenMemory(&hedgerow.Options{CacheBytes: 1 << 20}); err != nil { // its lexers split statements
		return nil, err
	}
	r.split = r.local.Conn()
	return r, nil
}

func (r *Remote) Close() error {
	r.split.Close()
	r.local.Close()
	return r.conn.Close(context.Background())
}
func (r *Remote) Graph() string { return r.graph }
func (r *Remote) Status() byte  { return r.conn.PgConn().TxStatus() }
func (r *Remote) Where() string { return r.url }
func (r *Remote) Split(text string, lang hedgerow.Language) ([]string, error) {
	return r.split.Split(text, lang)
}

func (r *Remote) Set(ctx context.Context, name, v string) error {
	_, err := r.conn.PgConn().Exec(ctx, "SET "+name+" = '"+strings.ReplaceAll(v, "'", "''")+"'").ReadAll()
	if err == nil && name == "hedgerow.graph" {
		r.graph = v
	}
	return remoteError(err, "")
}

func (r *Remote) Run(ctx context.Context, text string, lang hedgerow.Language, params hedgerow.Params) (Rows, error) {
	if len(params) > 0 && strings.Contains(text, "$") {
		return nil, errors.New("parameters work with --data; on a server use PREPARE and EXECUTE")
	}
	r.notices = nil
	want := "cypher"
	if lang == hedgerow.SQL {
		want = "sql"
	}
	if err := r.Set(ctx, "hedgerow.language", want); err != nil {
		return nil, err
	}
	m := r.conn.PgConn().Exec(ctx, text)
	if !m.NextResult() {
		if err := m.Close(); err != nil {
			return nil, remoteError(err, text)
		}
		return &remoteRows{r: r, m: m, closed: true}, nil
	}
	return &remoteRows{r: r, m: m, res: m.ResultReader(), text: text}, nil
}

func remoteError(err error, text string) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	e := &hedgerow.Error{Message: pg.Message, Detail: pg.Detail, Hint: pg.Hint, SQLState: pg.Code}
	if pg.Position > 0 && text != "" {
		e.Locate(text, int(pg.Position)-1)
	}
	return e
}

type remoteRows struct {
	r      *Remote
	m      *pgconn.MultiResultReader
	res    *pgconn.ResultReader
	text   string
	tag    pgconn.CommandTag
	closed bool
	err    error
}

func (r *remoteRows) Columns() []string {
	if r.res == nil {
		return nil
	}
	var out []string
	for _, f := range r.res.FieldDescriptions() {
		out = append(out, string(f.Name))
	}
	return out
}

func (r *remoteRows) Next() bool { return r.res != nil && r.res.NextRow() }

func (r *remoteRows) Text(i int) string {
	if v := r.res.Values()[i]; v != nil {
		return string(v)
	}
	return "null"
}

func (r *remoteRows) Plain(i int) string {
	s := string(r.res.Values()[i])
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

func (r *remoteRows) Close() error {
	if r.closed {
		return r.err
	}
	r.closed = true
	if r.res != nil {
		r.tag, r.err = r.res.Close()
	}
	if err := r.m.Close(); r.err == nil {
		r.err = err
	}
	r.err = remoteError(r.err, r.text)
	return r.err
}

func (r *remoteRows) Notices() []hedgerow.Notice { return r.r.notices }
func (r *remoteRows) Plan() string               { return "" }
func (r *remoteRows) Summary() string {
	if r.tag.Select() {
		return ""
	}
	return r.tag.String()
}

// JSON returns a value as JSON. An agtype value that is a scalar, list or map is JSON already; anything else is its text.
func (r *remoteRows) JSON(i int) string {
	v := r.res.Values()[i]
	if v == nil {
		return "null"
	}
	if json.Valid(v) {
		return string(v)
	}
	s := string(v)
	if k := strings.LastIndex(s, "::"); k > 0 && json.Valid([]byte(s[:k])) {
		return s[:k]
	}
	b, _ := json.Marshal(s)
	return string(b)
}
