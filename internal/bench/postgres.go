package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hedgerowdb/hedgerow/internal/load"
)

// postgres is a server that is reached over PostgreSQL's protocol: Hedgerow, PostgreSQL with Apache AGE, or PostgreSQL itself.
type postgres struct {
	dsn  DSN
	conf *pgconn.Config
}

func openPostgres(d DSN) (Target, error) {
	conf, err := pgconn.ParseConfig(d.Address)
	if err != nil {
		return nil, err
	}
	return &postgres{d, conf}, nil
}

func (t *postgres) Close() error { return nil }

// text returns SQL, or the Cypher that goes into cypher().
func (t *postgres) text(st *Statement) string {
	switch {
	case t.dsn.Kind == SQL:
		return st.SQL
	case st.Plain != "":
		return st.Plain
	case t.dsn.Kind == AGE && st.AGESQL != "":
		return st.AGESQL
	case t.dsn.Kind == AGE && st.AGE != "":
		if st.AGE == None {
			return ""
		}
		return st.AGE
	}
	return cypherText(st)
}

// plain reports whether a statement's text is SQL.
func (t *postgres) plain(st *Statement) bool {
	return t.dsn.Kind == SQL || st.Plain != "" || t.dsn.Kind == AGE && st.AGESQL != ""
}

// wrap puts Cypher into cypher() with a column of the answer for each name.
func (t *postgres) wrap(cypher string, columns []string, param bool) string {
	var b strings.Builder
	b.WriteString("SELECT * FROM cypher(" + quoted(t.dsn.Graph) + ", $bench$ " + cypher + " $bench$")
	if param {
		b.WriteString(", $1")
	}
	b.WriteString(") AS (")
	if len(columns) == 0 {
		columns = []string{"nothing"}
	}
	for i, c := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(`"` + c + `" agtype`)
	}
	b.WriteString(")")
	return b.String()
}

func (t *postgres) Version(ctx context.Context) string {
	c, err := t.dial(ctx)
	if err != nil {
		return string(t.dsn.Kind)
	}
	defer c.Close(ctx)
	one := func(sql string) string {
		res, err := c.Exec(ctx, sql).ReadAll()
		if err != nil || len(res) == 0 || len(res[0].Rows) == 0 {
			return ""
		}
		return string(res[0].Rows[0][0])
	}
	version := one("SELECT version()")
	if v, _, ok := strings.Cut(version, " on "); ok {
		version = v
	}
	if t.dsn.Kind == AGE {
		version = "Apache AGE " + one("SELECT extversion FROM pg_extension WHERE extname = 'age'") + ", " + version
	}
	return version
}

func (t *postgres) dial(ctx context.Context) (*pgconn.PgConn, error) {
	c, err := pgconn.ConnectConfig(ctx, t.conf.Copy())
	if err != nil {
		return nil, err
	}
	var set []string
	if !t.dsn.Sync {
		set = append(set, "SET synchronous_commit = off")
	}
	if t.dsn.Kind == AGE {
		set = append(set, "CREATE EXTENSION IF NOT EXISTS age", "LOAD 'age'", `SET search_path = ag_catalog, "$user", public`)
	}
	for _, s := range set {
		if err := c.Exec(ctx, s).Close(); err != nil {
			c.Close(ctx)
			return nil, fmt.Errorf("%s: %w", s, err)
		}
	}
	return c, nil
}

func (t *postgres) Connect(ctx context.Context) (Conn, error) {
	c := &pgConn{t: t}
	return c, c.reconnect(ctx)
}

func (t *postgres) Load(ctx context.Context, n *Network, progress LoadProgress) error {
	switch t.dsn.Kind {
	case Wire:
		r, err := load.Connect(ctx, t.dsn.Address, t.dsn.Graph)
		if err != nil {
			return err
		}
		defer r.Close()
		return loadCypher(ctx, n, r, progress)
	case AGE:
		return t.loadAGE(ctx, n, progress)
	}
	return t.loadSQL(ctx, n, progress)
}

// pgConn keeps a prepared statement for each statement it has run.
type pgConn struct {
	t        *postgres
	c        *pgconn.PgConn
	prepared map[*Statement]*prepared
	args     [][]byte
}

type prepared struct {
	name  string
	param bool     // of cypher(): one agtype map
	oids  []uint32 // of the columns
}

func (c *pgConn) reconnect(ctx context.Context) (err error) {
	c.prepared = map[*Statement]*prepared{}
	c.c, err = c.t.dial(ctx)
	return err
}

func (c *pgConn) Close() {
	if c.c != nil {
		c.c.Close(context.Background())
	}
}

func (c *pgConn) Begin(ctx context.Context) error {
	if c.c.IsClosed() {
		if err := c.reconnect(ctx); err != nil {
			return err
		}
	}
	return c.c.Exec(ctx, "BEGIN").Close()
}

func (c *pgConn) Rollback(ctx context.Context) error { return c.c.Exec(ctx, "ROLLBACK").Close() }

func (c *pgConn) Do(ctx context.Context, st *Statement, p Params, keep bool) (Answer, error) {
	if c.c.IsClosed() { // as after a time limit
		if err := c.reconnect(ctx); err != nil {
			return Answer{}, err
		}
	}
	text, plain := c.t.text(st), c.t.plain(st)
	if plain && c.t.dsn.Kind == AGE && strings.Contains(text, "$graph") {
		text = strings.ReplaceAll(text, "$graph", quoted(c.t.dsn.Graph))
		return c.simple(ctx, st, text, keep)
	}
	if c.t.dsn.Literals {
		if !plain {
			text = c.t.wrap(paste(text, p), st.Columns, false)
		}
		return c.simple(ctx, st, text, keep)
	}
	ps, err := c.prepare(ctx, st, text, plain)
	if err != nil {
		return Answer{}, err
	}
	c.args = c.args[:0]
	if plain {
		for _, a := range st.Args {
			c.args = append(c.args, sqlText(p[a]))
		}
	} else if ps.param {
		c.args = append(c.args, agtypeMap(p))
	}
	r := c.c.ExecPrepared(ctx, ps.name, c.args, nil, nil)
	return read(r, ps.oids, keep, len(st.Columns) > 0)
}

func (c *pgConn) prepare(ctx context.Context, st *Statement, text string, plain bool) (*prepared, error) {
	if ps := c.prepared[st]; ps != nil {
		return ps, nil
	}
	ps := &prepared{name: "bench" + strconv.Itoa(len(c.prepared)), param: !plain && strings.Contains(text, "$")}
	if !plain {
		text = c.t.wrap(text, st.Columns, ps.param)
	}
	d, err := c.c.Prepare(ctx, ps.name, text, nil)
	if err != nil {
		return nil, err
	}
	for _, f := range d.Fields {
		ps.oids = append(ps.oids, f.DataTypeOID)
	}
	c.prepared[st] = ps
	return ps, nil
}

// simple runs a text by the simple protocol.
func (c *pgConn) simple(ctx context.Context, st *Statement, text string, keep bool) (Answer, error) {
	m := c.c.Exec(ctx, text)
	var a Answer
	for m.NextResult() {
		r := m.ResultReader()
		var oids []uint32
		if keep {
			for _, f := range r.FieldDescriptions() {
				oids = append(oids, f.DataTypeOID)
			}
		}
		var err error
		if a, err = read(r, oids, keep, len(st.Columns) > 0); err != nil {
			m.Close()
			return a, err
		}
	}
	return a, m.Close()
}

func read(r *pgconn.ResultReader, oids []uint32, keep, answers bool) (Answer, error) {
	var a Answer
	for r.NextRow() {
		if !answers {
			continue
		}
		if a.N++; keep {
			values := r.Values()
			row := make([]string, len(values))
			for i, v := range values {
				row[i] = sqlCanon(v, oids[i])
			}
			a.Rows = append(a.Rows, row)
		}
	}
	_, err := r.Close()
	return a, err
}

// sqlCanon brings a value in PostgreSQL's text form into the form of canon. agtype writes scalars and lists as JSON does.
func sqlCanon(v []byte, oid uint32) string {
	if v == nil {
		return "null"
	}
	switch oid {
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.UnknownOID:
		return canon(string(v))
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.NumericOID, pgtype.Float8OID:
		return string(v)
	}
	d := json.NewDecoder(strings.NewReader(strings.TrimSuffix(string(v), "::numeric")))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return canon(string(v))
	}
	return canonJSON(x)
}

func canonJSON(x any) string {
	switch x := x.(type) {
	case json.Number:
		return x.String()
	case []any:
		parts := make([]string, len(x))
		for i, e := range x {
			parts[i] = canonJSON(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return canon(x)
}

// sqlText writes a parameter as PostgreSQL reads it.
func sqlText(x any) []byte {
	switch x := x.(type) {
	case int64:
		return strconv.AppendInt(nil, x, 10)
	case string:
		return []byte(x)
	case []int64:
		b := []byte{'{'}
		for i, e := range x {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, e, 10)
		}
		return append(b, '}')
	}
	return nil
}

// agtypeMap writes parameters as one map.
func agtypeMap(p Params) []byte {
	b := []byte{'{'}
	for k, v := range p {
		if len(b) > 1 {
			b = append(b, ", "...)
		}
		b = append(b, '"')
		b = append(b, k...)
		b = append(b, `": `...)
		switch v := v.(type) {
		case int64:
			b = strconv.AppendInt(b, v, 10)
		case string:
			text, _ := json.Marshal(v)
			b = append(b, text...)
		case []int64:
			b = append(b, literal(v)...)
		}
	}
	return append(b, '}')
}
