package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Remote is a server that speaks PostgreSQL's protocol.
type Remote struct {
	conn    *pgx.Conn
	url     string
	graph   string
	lang    string // setting hedgerow.language of the session
	notices []hedgerow.Notice
	split   *hedgerow.Conn
	local   *hedgerow.DB
}

// Connect opens a connection to postgres://…; Cypher is its first language.
func Connect(ctx context.Context, url, graph string) (*Remote, error) {
	conf, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("--url takes an address as postgres://127.0.0.1:5433: %w", err)
	}
	r := &Remote{url: conf.Host + ":" + fmt.Sprint(conf.Port)}
	if conf.RuntimeParams["application_name"] == "" {
		conf.RuntimeParams["application_name"] = "hedgerow shell"
	}
	conf.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		r.notices = append(r.notices, hedgerow.Notice{Code: n.Code, Message: n.Message, Hint: n.Hint})
	}
	// Ctrl-C asks the server to stop the statement; the connection stays.
	conf.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 10 * time.Second}
	}
	if r.conn, err = pgx.ConnectConfig(ctx, conf); err != nil {
		return nil, err
	}
	for _, set := range [][2]string{{"hedgerow.language", "cypher"}, {"hedgerow.graph", graph}} {
		if set[1] == "" {
			continue
		}
		if err := r.Set(ctx, set[0], set[1]); err != nil {
			r.conn.Close(ctx)
			return nil, fmt.Errorf("the server at %s is not Hedgerow: %w", r.url, err)
		}
	}
	if r.graph == "" {
		r.graph = r.show(ctx, "hedgerow.graph")
	}
	if r.local, err = hedgerow.OpenMemory(&hedgerow.Options{CacheBytes: 1 << 20}); err != nil { // its lexers split statements
		r.conn.Close(ctx)
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

func (r *Remote) show(ctx context.Context, name string) string {
	res, err := r.conn.PgConn().Exec(ctx, "SHOW "+name).ReadAll()
	if err != nil || len(res) != 1 || len(res[0].Rows) != 1 {
		return "main"
	}
	return string(res[0].Rows[0][0])
}

func (r *Remote) Set(ctx context.Context, name, v string) error {
	_, err := r.conn.PgConn().Exec(ctx, "SET "+name+" = '"+strings.ReplaceAll(v, "'", "''")+"'").ReadAll()
	if err == nil {
		switch name {
		case "hedgerow.graph":
			r.graph = v
		case "hedgerow.language":
			r.lang = v
		}
	}
	return remoteError(err, "")
}

// Run sends a text by the simple protocol, or by the extended one if it has parameters.
func (r *Remote) Run(ctx context.Context, text string, lang hedgerow.Language, params hedgerow.Params) (Rows, error) {
	want := "cypher"
	if lang == hedgerow.SQL {
		want = "sql"
	}
	if r.lang != want && r.Status() != 'E' {
		if err := r.Set(ctx, "hedgerow.language", want); err != nil {
			return nil, err
		}
	}
	r.notices = nil
	numbered, args, err := number(text, params)
	if err != nil {
		return nil, err
	}
	out := &remoteRows{r: r, text: text}
	if len(args) > 0 {
		out.res = r.conn.PgConn().ExecParams(ctx, numbered, args, nil, nil, nil)
		out.ready = out.res.NextRow()
		if !out.ready {
			if _, err := out.res.Close(); err != nil {
				return nil, remoteError(err, text)
			}
		}
		return out.start(), nil
	}
	out.m = r.conn.PgConn().Exec(ctx, text)
	if !out.m.NextResult() {
		out.closed = true
		return out, remoteError(out.m.Close(), text)
	}
	out.res = out.m.ResultReader()
	return out.start(), nil
}

// number replaces $name outside quotes and comments by $1 …, padded so that places in the text stay, and returns the values as agtype text.
func number(text string, params hedgerow.Params) (string, [][]byte, error) {
	if len(params) == 0 || !strings.Contains(text, "$") {
		return text, nil, nil
	}
	var b strings.Builder
	var args [][]byte
	seen := map[string]int{}
	for i := 0; i < len(text); {
		if text[i] != '$' || strings.HasPrefix(text[i:], "$$") {
			n := skip(text, i, true)
			if n < 0 { // the server says what is not closed
				n = len(text) - i
			}
			b.WriteString(text[i : i+n])
			i += n
			continue
		}
		end := i + 1
		for end < len(text) && (text[end] == '_' || text[end] >= 0x80 || isAlnum(text[end])) {
			end++
		}
		name := text[i+1 : end]
		v, ok := params[name]
		if !ok {
			b.WriteString(text[i:end])
			i = end
			continue
		}
		if seen[name] == 0 {
			val, ok := v.(value.Value)
			if !ok {
				return "", nil, fmt.Errorf("parameter $%s has no value for a server", name)
			}
			args = append(args, value.AppendAgtype(nil, val))
			seen[name] = len(args)
		}
		short := "$" + strconv.Itoa(seen[name])
		b.WriteString(short + strings.Repeat(" ", max(0, end-i-len(short))))
		i = end
	}
	return b.String(), args, nil
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Eval runs RETURN expr.
func (r *Remote) Eval(ctx context.Context, expr string, params hedgerow.Params) (any, string, error) {
	rows, err := r.Run(ctx, "RETURN "+expr, hedgerow.Cypher, params)
	if err != nil {
		return nil, "", err
	}
	var v value.Value
	for rows.Next() {
		v, _ = rows.(*remoteRows).value(0)
	}
	return v, string(value.AppendTCK(nil, v)), rows.Close()
}

// column reads the first column of a query, and with it a number from the second if there is one.
func (r *Remote) column(ctx context.Context, text string, lang hedgerow.Language) (list []hedgerow.Count, err error) {
	rows, err := r.Run(ctx, text, lang, nil)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		c := hedgerow.Count{Name: rows.Plain(0)}
		if len(rows.Columns()) > 1 {
			c.Count, _ = strconv.ParseInt(rows.Plain(1), 10, 64)
		}
		list = append(list, c)
	}
	return list, rows.Close()
}

func (r *Remote) Graphs(ctx context.Context) (names []string, err error) {
	list, err := r.column(ctx, "SELECT name FROM ag_catalog.ag_graph ORDER BY name", hedgerow.SQL)
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names, err
}

func (r *Remote) Names(ctx context.Context) (names []string, err error) {
	for _, q := range []string{"CALL db.labels() YIELD label RETURN label", "CALL db.relationshipTypes() YIELD relationshipType AS t RETURN t",
		"CALL db.propertyKeys() YIELD propertyKey AS k RETURN k"} {
		list, err := r.column(ctx, q, hedgerow.Cypher)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			names = append(names, c.Name)
		}
	}
	return names, nil
}

// Schema asks the server by queries.
func (r *Remote) Schema(ctx context.Context) (*hedgerow.Schema, error) {
	out := &hedgerow.Schema{}
	var err error
	if out.Labels, err = r.column(ctx, "MATCH (n) UNWIND labels(n) AS l RETURN l, count(*) ORDER BY l", hedgerow.Cypher); err != nil {
		return nil, err
	}
	if out.Types, err = r.column(ctx, "MATCH ()-[r]->() RETURN type(r), count(*) ORDER BY type(r)", hedgerow.Cypher); err != nil {
		return nil, err
	}
	keys, err := r.column(ctx, "CALL db.propertyKeys() YIELD propertyKey AS k RETURN k ORDER BY k", hedgerow.Cypher)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		out.Keys = append(out.Keys, k.Name)
	}
	table := func(text string, f func(row map[string]value.Value)) error {
		rows, err := r.Run(ctx, text, hedgerow.Cypher, nil)
		if err != nil {
			return err
		}
		for rows.Next() {
			row := map[string]value.Value{}
			for i, c := range rows.Columns() {
				row[c], _ = rows.(*remoteRows).value(i)
			}
			f(row)
		}
		return rows.Close()
	}
	str := func(v value.Value) string { return string(value.AppendPlain(nil, v)) }
	list := func(v value.Value) (out []string) {
		for _, e := range v.All() {
			out = append(out, str(e))
		}
		return out
	}
	first := func(l []string) string {
		if len(l) == 0 {
			return ""
		}
		return l[0]
	}
	unique := map[string]bool{}
	if err := table("SHOW CONSTRAINTS", func(row map[string]value.Value) {
		kind := "UNIQUE"
		switch k := str(row["type"]); {
		case strings.Contains(k, "EXISTENCE"):
			kind = "NOT NULL"
		case strings.Contains(k, "KEY"):
			kind = strings.TrimSuffix(k, "_KEY") + " KEY"
		case strings.Contains(k, "PROPERTY_TYPE"):
			kind = ":: " + str(row["propertyType"])
		}
		unique[str(row["name"])] = kind == "UNIQUE" || strings.HasSuffix(kind, "KEY")
		out.Constraints = append(out.Constraints, hedgerow.ConstraintInfo{Name: str(row["name"]), Kind: kind, Label: first(list(row["labelsOrTypes"])),
			Relationship: str(row["entityType"]) == "RELATIONSHIP", Keys: list(row["properties"])})
	}); err != nil {
		return nil, err
	}
	err = table("SHOW INDEXES", func(row map[string]value.Value) {
		out.Indexes = append(out.Indexes, hedgerow.IndexInfo{Name: str(row["name"]), Label: first(list(row["labelsOrTypes"])),
			Relationship: str(row["entityType"]) == "RELATIONSHIP", Keys: list(row["properties"]), Unique: unique[str(row["name"])]})
	})
	return out, err
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

// remoteRows is a result that comes from a server.
type remoteRows struct {
	r      *Remote
	m      *pgconn.MultiResultReader // nil in the extended protocol
	res    *pgconn.ResultReader
	text   string
	cols   []string
	agtype []bool
	ready  bool // a row was read ahead
	plan   string
	tag    pgconn.CommandTag
	closed bool
	err    error
}

// start learns the columns, and reads a plan, which is a table of lines.
func (r *remoteRows) start() *remoteRows {
	for _, f := range r.res.FieldDescriptions() {
		r.cols = append(r.cols, f.Name)
		r.agtype = append(r.agtype, f.DataTypeOID == sqltype.Agtype.OID)
	}
	word, _, _ := strings.Cut(strings.TrimSpace(r.text), " ")
	if len(r.cols) == 1 && (strings.EqualFold(word, "EXPLAIN") || strings.EqualFold(word, "PROFILE")) {
		var b strings.Builder
		for r.Next() {
			b.WriteString(r.Plain(0) + "\n")
		}
		r.plan = b.String()
	}
	return r
}

func (r *remoteRows) Columns() []string { return r.cols }

func (r *remoteRows) Next() bool {
	if r.ready {
		r.ready = false
		return true
	}
	return r.res != nil && r.res.NextRow()
}

// value returns a cell that is agtype as a value.
func (r *remoteRows) value(i int) (value.Value, bool) {
	b := r.res.Values()[i]
	if b == nil {
		return value.Value{}, true
	}
	if !r.agtype[i] {
		return value.NewString(string(b)), false
	}
	v, err := value.ParseAgtype(string(b))
	return v, err == nil
}

func (r *remoteRows) Text(i int) string {
	v, ok := r.value(i)
	if !ok {
		return string(r.res.Values()[i])
	}
	return string(value.AppendTCK(nil, v))
}

func (r *remoteRows) Plain(i int) string {
	v, ok := r.value(i)
	switch {
	case !ok:
		return string(r.res.Values()[i])
	case v.IsNull():
		return ""
	case v.Kind() == value.String:
		return v.Str()
	}
	return unquoted(string(value.AppendTCK(nil, v)))
}

func (r *remoteRows) JSON(i int) string {
	v, ok := r.value(i)
	if ok || r.agtype[i] {
		return string(value.AppendJSON(nil, v))
	}
	text := r.res.Values()[i]
	switch r.res.FieldDescriptions()[i].DataTypeOID {
	case sqltype.Int2.OID, sqltype.Int4.OID, sqltype.Int8.OID, sqltype.Float4.OID, sqltype.Float8.OID, sqltype.Numeric.OID:
		if json.Valid(text) {
			return string(text)
		}
	case sqltype.Bool.OID:
		return map[bool]string{true: "true", false: "false"}[string(text) == "t"]
	}
	b, _ := json.Marshal(string(text))
	return string(b)
}

func (r *remoteRows) Close() error {
	if r.closed {
		return r.err
	}
	r.closed = true
	if r.res != nil {
		r.tag, r.err = r.res.Close()
	}
	if r.m != nil {
		if err := r.m.Close(); r.err == nil {
			r.err = err
		}
	}
	r.err = remoteError(r.err, r.text)
	if word := strings.ToUpper(strings.TrimSpace(r.text)); r.err == nil && (strings.HasPrefix(word, "USE ") || strings.HasPrefix(word, "SET ") || strings.HasPrefix(word, "RESET ")) {
		r.r.graph, r.r.lang = r.r.show(context.Background(), "hedgerow.graph"), ""
	}
	return r.err
}

func (r *remoteRows) Notices() []hedgerow.Notice { return r.r.notices }
func (r *remoteRows) Plan() string               { return r.plan }

func (r *remoteRows) Summary() string {
	if r.tag.Select() || r.plan != "" {
		return ""
	}
	return r.tag.String()
}
