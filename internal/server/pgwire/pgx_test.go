package pgwire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hedgerowdb/hedgerow/internal/sqltype"
)

var ctx = context.Background()

func exec(t testing.TB, c *pgx.Conn, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := c.Exec(ctx, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// social makes the graph that most tests ask.
func social(t testing.TB, c *pgx.Conn) {
	t.Helper()
	exec(t, c, "SELECT create_graph('social')",
		`SELECT * FROM cypher('social', $$
			CREATE (a:Person {name: 'Ada', age: 36}), (b:Person {name: 'Bob', age: 41}), (c:Person {name: 'Cyd', age: 36}),
			       (a)-[:KNOWS {since: 2010}]->(b), (b)-[:KNOWS {since: 2015}]->(c) $$) AS (a agtype)`)
}

// rows renders a result as text, one row a line.
func rows(t testing.TB, c *pgx.Conn, text string, args ...any) string {
	t.Helper()
	r, err := c.Query(ctx, text, append([]any{pgx.QueryResultFormats{pgx.TextFormatCode}}, args...)...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer r.Close()
	var out []string
	for r.Next() {
		var vals []string
		for _, b := range r.RawValues() {
			if b == nil {
				vals = append(vals, "NULL")
			} else {
				vals = append(vals, string(b))
			}
		}
		out = append(out, strings.Join(vals, "|"))
	}
	if err := r.Err(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Join(out, "\n")
}

func pgErr(err error) *pgconn.PgError {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e
	}
	return &pgconn.PgError{Code: "none", Message: fmt.Sprint(err)}
}

func TestQueries(t *testing.T) {
	s := serve(t, Options{})
	c := s.pgx(t)
	social(t, c)
	for _, q := range []struct {
		text, want string
		args       []any
	}{
		{"SELECT * FROM cypher('social', $$ MATCH (n:Person) WHERE n.name = 'Ada' RETURN n $$) AS (n agtype)",
			`{"id": 844424930131969, "label": "Person", "properties": {"age": 36, "name": "Ada"}}::vertex`, nil},
		{"SELECT r FROM cypher('social', $$ MATCH ()-[r:KNOWS {since: 2010}]->() RETURN r $$) AS (r agtype)",
			`{"id": 1125899906842625, "label": "KNOWS", "end_id": 844424930131970, "start_id": 844424930131969, "properties": {"since": 2010}}::edge`, nil},
		{"SELECT name, age + 1 FROM cypher('social', $$ MATCH (n:Person) RETURN n.name, n.age $$) AS (name text, age int) WHERE age < 40 ORDER BY name DESC LIMIT 1", "Cyd|37", nil},
		{"SELECT age, count(*), min(name) FROM cypher('social', $$ MATCH (n:Person) RETURN n.name, n.age $$) AS (name text, age int) GROUP BY age HAVING count(*) > 1", "36|2|Ada", nil},
		{"SELECT upper(name), count(*) FROM cypher('social', $$ MATCH (n:Person) RETURN n.name $$) AS (name text) GROUP BY upper(name) ORDER BY 1 LIMIT 1", "ADA|1", nil},
		{`SELECT a.name, b.since FROM cypher('social', $$ MATCH (n:Person) RETURN id(n), n.name $$) AS a(id agtype, name text)
			JOIN cypher('social', $$ MATCH (n)-[r:KNOWS]->() RETURN id(n), r.since $$) AS b(id agtype, since int) ON a.id = b.id ORDER BY b.since`, "Ada|2010\nBob|2015", nil},
		{`SELECT a.name, b.since FROM cypher('social', $$ MATCH (n:Person) RETURN id(n), n.name $$) AS a(id agtype, name text)
			LEFT JOIN cypher('social', $$ MATCH (n)-[r:KNOWS]->() RETURN id(n), r.since $$) AS b(id agtype, since int) USING (id) WHERE b.since IS NULL`, "Cyd|NULL", nil},
		{"SELECT (SELECT count(*) FROM cypher('social', $$ MATCH (n:Person) RETURN n $$) AS (n agtype)) + 1", "4", nil},
		{"SELECT q.name FROM (SELECT name FROM cypher('social', $$ MATCH (n:Person) RETURN n.name $$) AS (name text)) q WHERE q.name LIKE 'A%'", "Ada", nil},
		{"SELECT x FROM (VALUES ('Ada'), ('Zoe')) v(x) WHERE x IN (SELECT name FROM cypher('social', $$ MATCH (n:Person) RETURN n.name $$) AS (name text))", "Ada", nil},
		{"WITH q AS (SELECT * FROM cypher('social', $$ MATCH (n:Person) RETURN n.name $$) AS (name text)) SELECT count(*) FROM q a, q b", "9", nil},
		{"SELECT * FROM cypher('social', $$ MATCH (n:Person {name: $name}) RETURN n.age $$, $1) AS (age agtype)", "41", []any{`{"name": "Bob"}`}},
		{"SELECT * FROM cypher('social', $$ UNWIND $xs AS x RETURN x $$, $1::agtype) AS (x agtype)", "1\n\"b\"\nNULL", []any{`{"xs": [1, "b", null]}`}},
		{"SELECT * FROM cypher('social', $$ RETURN $a $$, '{\"a\": 1.5}') AS (x agtype)", "1.5", nil},
		{"SELECT * FROM cypher('social', $$ MATCH (n:Person) RETURN n.name AS name ORDER BY name $$)", "\"Ada\"\n\"Bob\"\n\"Cyd\"", nil},
		{"SELECT 1, 'x', NULL, true, 1.50, 2 > 1, 'a' || 'b'", "1|x|NULL|t|1.50|t|ab", nil},
		{"SELECT $1::int + 1, $2 || '!', $3::agtype", "42|hi!|{\"a\": 1}", []any{41, "hi", `{"a":1}`}},
		{"SELECT DISTINCT age FROM cypher('social', $$ MATCH (n:Person) RETURN n.age $$) AS (age agtype) ORDER BY age DESC", "41\n36", nil},
		{"SELECT name FROM cypher('social', $$ MATCH (n:Person) RETURN n.name $$) AS (name text) UNION ALL SELECT 'Zoe' ORDER BY 1 DESC LIMIT 2", "Zoe\nCyd", nil},
		{"SELECT * FROM cypher('social', $$ MATCH p = (:Person {name: 'Ada'})-[:KNOWS*2]->(x) RETURN length(p), x.name $$) AS (n int, x text)", "2|Cyd", nil},
		{"SELECT count(*) FROM ag_catalog.ag_graph WHERE name = $1", "1", []any{"social"}},
		{"SELECT name, relation::text FROM ag_label l JOIN ag_graph g ON l.graph = g.graphid WHERE kind = 'v' AND id > 2", "", nil},
		{"SELECT namespace FROM ag_graph", "social", nil},
		{"SELECT nspname FROM pg_namespace WHERE oid = 'social'::regnamespace", "social", nil},
		{"RETURN 1 AS x, [1, 'a', null] AS l, {b: 1, a: 2.0} AS m", `1|[1, "a", null]|{"a": 2.0, "b": 1}`, nil},
		{"RETURN $1 + $2", "3", []any{"1", "2"}},
	} {
		if q.want == "" {
			rows(t, c, strings.Replace(q.text, "SELECT name, relation::text FROM ag_label l JOIN ag_graph g ON l.graph = g.graphid", "SELECT l.name, relation::text FROM ag_label l JOIN ag_graph g ON l.graph = g.graphid", 1))
			continue
		}
		for range 2 { // the second time from the session's cache
			if got := rows(t, c, q.text, q.args...); got != q.want {
				t.Errorf("%s\n gave %s\nwant %s", q.text, got, q.want)
			}
		}
	}
}

// TestErrors holds SQLSTATE, text and place: P counts characters of the client's text, also inside $$ $$ (rules D6).
func TestErrors(t *testing.T) {
	s := serve(t, Options{})
	c := s.pgx(t)
	social(t, c)
	for _, q := range []struct{ text, code, message, at string }{
		{"SELECT nope", "42703", `column "nope" does not exist`, "nope"},
		{"SELECT 'é', nope", "42703", `column "nope" does not exist`, "nope"},
		{"SELECT * FROM nope", "42P01", `relation "nope" does not exist`, "nope"},
		{"SELECT nope(1)", "42883", `function nope(integer) does not exist`, "nope("},
		{"SELEC 1", "42601", `syntax error at or near "SELEC"`, "SELEC"},
		{"SELECT 1 +", "42601", "syntax error at end of input", ""},
		{"SELECT 1/0", "22012", "division by zero", ""},
		{"SELECT 'x'::int", "22P02", `invalid input syntax for type integer: "x"`, "'x'"},
		{"SELECT 1 = true", "", "", ""},
		{"SELECT * FROM cypher('social', $$ MATCH (é:Person) RETURN nope $$) AS (a agtype)", "42703", "", "nope $$"},
		{"SELECT 'ü' AS u, * FROM cypher('social', $x$ MATCH (n) RETRUN n $x$) AS (a agtype)", "42601", "", "RETRUN"},
		{"  SELECT 1; SELECT * FROM cypher('social', $$ RETURN 1/0 $$) AS (a agtype)", "22012", "", "1/0 $$"},
		{"SELECT * FROM cypher('nosuch', $$ RETURN 1 $$) AS (a agtype)", "3F000", `graph "nosuch" does not exist`, "'nosuch'"},
		{"SELECT * FROM cypher('social', 'RETURN 1') AS (a agtype)", "42601", "a dollar-quoted string constant is expected", "'RETURN"},
		{"SELECT * FROM cypher('social') AS (a agtype)", "42601", "cypher function requires a minimum of 2 arguments", "cypher("},
		{"SELECT * FROM cypher('social', $$ RETURN 1, 2 $$) AS (a agtype)", "42804", "return row and column definition list do not match", "cypher("},
		{"SELECT cypher('social', $$ RETURN 1 $$)", "0A000", "cypher(...) in expressions is not supported", "cypher("},
		{"SELECT * FROM ROWS FROM (cypher('social', $$ RETURN 1 $$)) AS (a agtype)", "0A000", "cypher(...) in ROWS FROM is not supported", ""},
		{"SELECT * FROM cypher('social', $$ RETURN $x $$) AS (a agtype)", "42P02", "parameters argument is missing from cypher() function call", "cypher("},
		{"SELECT * FROM cypher('social', $$ RETURN $x $$, '{}') AS (a agtype)", "42P02", "", ""},
		{"SELECT * FROM cypher('social', $$ RETURN $x $$, '1') AS (a agtype)", "22023", "", ""},
		{"SELECT * FROM cypher('social', $$ RETURN 1 $$, lower('x')) AS (a agtype)", "42601", "third argument of cypher function must be a parameter", ""},
		{"SELECT * FROM cypher('social', $$ MATCH (n:Person {name: 'Bob'}) DELETE n $$) AS (a agtype)", "23503", "", ""},
		{"SELECT create_graph('social')", "3F000", `graph "social" already exists`, ""},
		{"SELECT create_graph('g')", "22023", "graph name is invalid", ""},
		{"SELECT create_graph(NULL)", "22023", "graph name can not be NULL", ""},
		{"SELECT drop_graph('nosuch')", "3F000", `graph "nosuch" does not exist`, ""},
		{"SELECT drop_graph('social')", "2BP01", "cannot drop schema social because other objects depend on it", ""},
		{"SELECT create_vlabel('social', 'Person')", "3F000", `label "Person" already exists`, ""},
		{"SELECT create_vlabel('nosuch', 'X')", "3F000", `graph "nosuch" does not exist.`, ""},
		{"SELECT create_elabel('social', 'a b')", "22023", "label name is invalid", ""},
		{"SELECT drop_label('social', 'Nope')", "3F000", `label "Nope" does not exist`, ""},
		{"SHOW nope", "42704", `unrecognized configuration parameter "nope"`, ""},
		{"SET work_mem = 'x'", "22023", "", ""},
		{"SET server_version = '1'", "22023", "", ""},
		{"SAVEPOINT a", "25P01", "SAVEPOINT can only be used in transaction blocks", ""},
		{"DECLARE c CURSOR FOR SELECT 1", "25P01", "DECLARE CURSOR can only be used in transaction blocks", ""},
		{"FETCH 1 FROM nope", "34000", `cursor "nope" does not exist`, ""},
		{"EXECUTE nope", "26000", `prepared statement "nope" does not exist`, ""},
		{"DEALLOCATE nope", "26000", `prepared statement "nope" does not exist`, ""},
		{"CREATE TABLE t (a int)", "0A000", "", ""},
		{"SELECT $1", "42P02", "there is no parameter $1", ""},
		{"RETURN $1", "42P02", "there is no parameter $1", ""},
		{"RETURN $name", "42P02", "", ""},
		{"SELECT * FROM social.\"Nobody\"", "42P01", "relation \"social.Nobody\" does not exist", "social"},
		{"COPY (SELECT 1) TO STDOUT (FORMAT xml)", "22023", "", ""},
		{"COPY x FROM STDIN", "0A000", "", ""},
	} {
		_, err := c.PgConn().Exec(ctx, q.text).ReadAll()
		e := pgErr(err)
		if q.code == "" {
			if err == nil || e.Code == "XX000" {
				t.Errorf("%s: %v", q.text, err)
			}
			continue
		}
		if e.Code != q.code || q.message != "" && e.Message != q.message {
			t.Errorf("%s\n gave %s %s\nwant %s %s", q.text, e.Code, e.Message, q.code, q.message)
		}
		if q.at != "" {
			want := int32(len([]rune(q.text[:strings.Index(q.text, q.at)]))) + 1
			if e.Position != want {
				t.Errorf("%s: position %d, want %d", q.text, e.Position, want)
			}
		}
		if st := c.PgConn().TxStatus(); st != 'I' {
			t.Errorf("%s: status %c afterwards", q.text, st)
		}
	}
	if strings.Contains(s.log.String(), "panic") {
		t.Error(s.log.String())
	}
}

func TestNotices(t *testing.T) {
	s := serve(t, Options{})
	var got []string
	c := s.pgx(t, func(cc *pgx.ConnConfig) {
		cc.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { got = append(got, n.Severity+" "+n.Message) }
	})
	want := []string{
		`NOTICE graph "social" has been created`, `NOTICE VLabel "Person" has been created`, `NOTICE ELabel "KNOWS" has been created`,
		`NOTICE label "social"."KNOWS" has been dropped`, `NOTICE drop cascades to 3 other objects`, `NOTICE graph "social" has been dropped`,
		`WARNING there is no transaction in progress`,
	}
	exec(t, c, "SELECT create_graph('social')", "SELECT create_vlabel('social', 'Person')", "SELECT * FROM create_elabel('social', 'KNOWS')",
		"SELECT drop_label('social', 'KNOWS')", "SELECT drop_graph('social', true)", "COMMIT")
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("notices\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	got = nil
	exec(t, c, "SET client_min_messages = warning", "SELECT create_graph('social')")
	if len(got) > 0 {
		t.Errorf("client_min_messages is not heeded: %q", got)
	}
}

// TestTypes sends and reads values in binary, which is what pgx does by itself.
func TestTypes(t *testing.T) {
	s := serve(t, Options{})
	c := s.pgx(t)
	now := time.Date(2024, 2, 29, 13, 14, 15, 678901000, time.UTC)
	for _, v := range []struct {
		typ string
		in  any
	}{
		{"int2", int16(-5)}, {"int4", int32(1 << 30)}, {"int8", int64(-1 << 60)}, {"float4", float32(0.25)}, {"float8", 0.1}, {"bool", true},
		{"text", "née"}, {"varchar", "x"}, {"bytea", []byte{0, 255}}, {"timestamptz", now}, {"timestamp", now}, {"date", now.Truncate(24 * time.Hour)},
		{"uuid", [16]byte{1, 2, 3, 15: 9}}, {"int4[]", []int32{1, 2}}, {"text[]", []string{"a", "b,c"}}, {"float8[]", []float64{1.5}}, {"int8[]", []int64{}},
		{"json", map[string]any{"a": 1.0}}, {"jsonb", map[string]any{"a": []any{1.0, nil}}}, {"agtype", `{"a": [1, null]}`}, {"oid", uint32(77)},
		{"name", "n"}, {"graphid", "844424930131969"},
	} {
		rows, err := c.Query(ctx, "SELECT $1::"+v.typ, v.in)
		if err != nil {
			t.Errorf("%s: %v", v.typ, err)
			continue
		}
		for rows.Next() {
			vals, err := rows.Values()
			if err != nil {
				t.Errorf("%s: %v", v.typ, err)
				continue
			}
			if got, want := fmt.Sprint(vals[0]), fmt.Sprint(v.in); got != want && !strings.HasSuffix(v.typ, "[]") {
				t.Errorf("%s: %s came back as %s", v.typ, want, got)
			}
		}
		if err := rows.Err(); err != nil {
			t.Errorf("%s: %v", v.typ, err)
		}
	}
	var n pgtype.Numeric
	in := pgtype.Numeric{Int: big.NewInt(-1234567), Exp: -3, Valid: true}
	if err := c.QueryRow(ctx, "SELECT $1::numeric", in).Scan(&n); err != nil || n.Int.Cmp(in.Int) != 0 || n.Exp != in.Exp {
		t.Errorf("numeric: %v %v", n, err)
	}
	var iv pgtype.Interval
	if err := c.QueryRow(ctx, "SELECT '1 year 2 days 03:00:00'::interval").Scan(&iv); err != nil || iv != (pgtype.Interval{Months: 12, Days: 2, Microseconds: 3 * 3600e6, Valid: true}) {
		t.Errorf("interval: %v %v", iv, err)
	}
	var arr []string
	if err := c.QueryRow(ctx, "SELECT ARRAY['x', 'y z']").Scan(&arr); err != nil || fmt.Sprint(arr) != "[x y z]" {
		t.Errorf("array: %q %v", arr, err)
	}
	// null in and out
	var p *string
	if err := c.QueryRow(ctx, "SELECT $1::text", p).Scan(&p); err != nil || p != nil {
		t.Errorf("null: %v %v", p, err)
	}
	// agtype in binary is a version byte and the text
	res := c.PgConn().ExecParams(ctx, "SELECT $1::agtype", [][]byte{[]byte("\x01[1, 2]")}, []uint32{sqltype.Agtype.OID}, []int16{1}, []int16{1}).Read()
	if res.Err != nil || string(res.Rows[0][0]) != "\x01[1, 2]" {
		t.Errorf("binary agtype: %q %v", res.Rows, res.Err)
	}
	res = c.PgConn().ExecParams(ctx, "SELECT $1::agtype", [][]byte{[]byte("\x02[1, 2]")}, []uint32{sqltype.Agtype.OID}, []int16{1}, []int16{1}).Read()
	if pgErr(res.Err).Code != "22P03" {
		t.Errorf("agtype of version 2: %v", res.Err)
	}
}

// TestInference: parameter and column types are fixed at Parse (rules D4).
func TestInference(t *testing.T) {
	s := serve(t, Options{})
	c := s.pgx(t)
	social(t, c)
	for i, q := range []struct {
		text    string
		declare []uint32
		params  []*sqltype.Type
		columns string
	}{
		{"SELECT $1", nil, []*sqltype.Type{sqltype.Text}, "?column?:text"},
		{"SELECT $1::int4, $2::text", nil, []*sqltype.Type{sqltype.Int4, sqltype.Text}, "int4:integer text:text"},
		{"SELECT $1 + 1", nil, []*sqltype.Type{sqltype.Int4}, "?column?:integer"},
		{"SELECT 1 LIMIT $1 OFFSET $2", nil, []*sqltype.Type{sqltype.Int8, sqltype.Int8}, "?column?:integer"},
		{"SELECT count(*) FROM ag_graph WHERE name = $1", nil, []*sqltype.Type{sqltype.Name}, "count:bigint"},
		{"SELECT create_graph($1)", nil, []*sqltype.Type{sqltype.Name}, "create_graph:void"},
		{"SELECT x FROM generate_series(1, $1) x WHERE x = ANY($2)", nil, []*sqltype.Type{sqltype.Int8, sqltype.Int8Array}, "x:bigint"},
		{"SELECT oid FROM pg_type WHERE typname = $1 AND oid = $2", nil, []*sqltype.Type{sqltype.Name, sqltype.OID}, "oid:oid"},
		{"SELECT * FROM cypher('social', $$ MATCH (n {name: $n}) RETURN n.name, n.age, n $$, $1) AS (a text, b int, c agtype)", nil, []*sqltype.Type{sqltype.Agtype}, "a:text b:integer c:agtype"},
		{"SELECT * FROM cypher('social', $$ RETURN 1 AS one, 2 AS `t w o` $$)", nil, nil, "one:agtype t w o:agtype"},
		{"SELECT $1 = age FROM cypher('social', $$ MATCH (n) RETURN n.age $$) AS (age float8)", []uint32{sqltype.Int2.OID}, []*sqltype.Type{sqltype.Int2}, "?column?:boolean"},
		{"MATCH (n {name: $1}) RETURN n.age AS age, $2 AS two", []uint32{0, sqltype.Int8.OID}, []*sqltype.Type{sqltype.Agtype, sqltype.Int8}, "age:agtype two:agtype"},
		{"CREATE (:X {a: $1})", nil, nil, ""},
		{"BEGIN", nil, nil, ""},
		{"SHOW work_mem", nil, nil, "work_mem:text"},
		{"EXPLAIN SELECT $1::int", nil, []*sqltype.Type{sqltype.Int4}, "QUERY PLAN:text"},
		{"", nil, nil, ""},
	} {
		if strings.HasPrefix(q.text, "CREATE (") {
			exec(t, c, "SET hedgerow.language = cypher")
			q.params = []*sqltype.Type{sqltype.Agtype}
		}
		d, err := c.PgConn().Prepare(ctx, fmt.Sprint("s", i), q.text, q.declare)
		exec(t, c, "SET hedgerow.language = sql")
		if err != nil {
			t.Errorf("%s: %v", q.text, err)
			continue
		}
		var params, want []uint32
		params = append(params, d.ParamOIDs...)
		for _, p := range q.params {
			want = append(want, p.OID)
		}
		var cols []string
		for _, f := range d.Fields {
			cols = append(cols, f.Name+":"+sqltype.ByOID(f.DataTypeOID).Name)
		}
		if fmt.Sprint(params) != fmt.Sprint(want) || strings.Join(cols, " ") != q.columns {
			t.Errorf("%s\n takes %v and gives %q, want %v and %q", q.text, params, strings.Join(cols, " "), want, q.columns)
		}
	}
}

func TestTransactions(t *testing.T) {
	s := serve(t, Options{})
	c, other := s.pgx(t), s.pgx(t)
	social(t, c)
	count := func(c *pgx.Conn) string {
		return rows(t, c, "SELECT count(*) FROM cypher('social', $$ MATCH (n:T) RETURN n $$) AS (n agtype)")
	}
	create := "SELECT * FROM cypher('social', $$ CREATE (:T) $$) AS (a agtype)"
	tx, err := c.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, c, create)
	if count(c) != "1" || count(other) != "0" {
		t.Error("an open transaction is not isolated")
	}
	sp, err := tx.Begin(ctx) // a savepoint
	if err != nil {
		t.Fatal(err)
	}
	exec(t, c, create)
	if _, err := c.Exec(ctx, "SELECT 1/0"); pgErr(err).Code != "22012" {
		t.Error(err)
	}
	if st := c.PgConn().TxStatus(); st != 'E' {
		t.Errorf("status %c after an error in a block", st)
	}
	for _, q := range []string{"SELECT 1", "SHOW work_mem", "SAVEPOINT x", "RELEASE SAVEPOINT x", "PREPARE p AS SELECT 1", "RETURN 1", "BEGIN"} {
		if _, err := c.Exec(ctx, q); pgErr(err).Code != "25P02" {
			t.Errorf("%s in a failed block: %v", q, err)
		}
	}
	if err := sp.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if count(c) != "1" || c.PgConn().TxStatus() != 'T' {
		t.Error("ROLLBACK TO did not bring back the savepoint")
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if count(other) != "1" {
		t.Error("a commit is not seen")
	}
	// COMMIT of a failed block is a rollback and says so.
	exec(t, c, "BEGIN", create)
	c.Exec(ctx, "SELECT 1/0")
	if tag, err := c.Exec(ctx, "COMMIT"); err != nil || tag.String() != "ROLLBACK" {
		t.Errorf("COMMIT of a failed block: %s %v", tag, err)
	}
	// several statements in one Query are one transaction
	if _, err := c.PgConn().Exec(ctx, create+"; "+create+"; SELECT 1/0").ReadAll(); pgErr(err).Code != "22012" {
		t.Error(err)
	}
	if count(c) != "1" {
		t.Error("a failed text of several statements left something behind")
	}
	exec(t, c, create+"; "+create)
	if count(c) != "3" {
		t.Error("a text of several statements did not commit")
	}
	// a block opened in the middle takes in what came before it
	c.PgConn().Exec(ctx, create+"; BEGIN; "+create).ReadAll()
	if c.PgConn().TxStatus() != 'T' || count(c) != "5" {
		t.Error("BEGIN in the middle of a text")
	}
	exec(t, c, "ROLLBACK")
	if count(c) != "3" {
		t.Error("ROLLBACK after BEGIN in the middle of a text")
	}
	// read only
	for _, begin := range []string{"BEGIN READ ONLY", "BEGIN; SET TRANSACTION READ ONLY", "SET default_transaction_read_only = on; BEGIN", "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY; BEGIN"} {
		exec(t, c, begin)
		for _, w := range []string{create, "SELECT create_graph('other')"} {
			exec(t, c, "SAVEPOINT a")
			if _, err := c.Exec(ctx, w); pgErr(err).Code != "25006" {
				t.Errorf("%s; %s: %v", begin, w, err)
			}
			exec(t, c, "ROLLBACK TO a")
		}
		if got := rows(t, c, "SHOW transaction_read_only"); got != "on" {
			t.Errorf("%s: %s", begin, got)
		}
		exec(t, c, "ROLLBACK", "RESET ALL")
	}
	exec(t, c, "SET default_transaction_read_only = on")
	if _, err := c.Exec(ctx, create); pgErr(err).Code != "25006" {
		t.Errorf("autocommit in a read-only session: %v", err)
	}
	exec(t, c, "RESET default_transaction_read_only", create)
	// isolation
	exec(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	if n := count(c); n != "4" {
		t.Error(n)
	}
	exec(t, other, create)
	if n := count(c); n != "4" {
		t.Errorf("REPEATABLE READ saw a later commit: %s", n)
	}
	exec(t, c, "COMMIT")
	if n := count(c); n != "5" {
		t.Error(n)
	}
}

func TestConcurrentUpdate(t *testing.T) {
	s := serve(t, Options{})
	a, b := s.pgx(t), s.pgx(t)
	social(t, a)
	set := func(n int) string {
		return fmt.Sprintf("SELECT * FROM cypher('social', $$ MATCH (n:Person {name: 'Ada'}) SET n.age = n.age + %d $$) AS (a agtype)", n)
	}
	exec(t, a, "BEGIN", set(1))
	done := make(chan error, 1)
	go func() { _, err := b.Exec(ctx, set(10)); done <- err }()
	select {
	case err := <-done:
		t.Fatal("the second writer did not wait: ", err)
	case <-time.After(100 * time.Millisecond):
	}
	exec(t, a, "COMMIT")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := rows(t, a, "SELECT * FROM cypher('social', $$ MATCH (n:Person {name: 'Ada'}) RETURN n.age $$) AS (a agtype)"); got != "47" {
		t.Errorf("an update was lost: %s", got)
	}
	// a wait can be cancelled, and under REPEATABLE READ the loser is told to try again
	exec(t, a, "BEGIN", set(1))
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if _, err := b.Exec(short, set(1)); err == nil {
		t.Error("a cancelled wait succeeded")
	}
	exec(t, a, "ROLLBACK")
	b = s.pgx(t)
	exec(t, b, "BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT * FROM cypher('social', $$ MATCH (n) RETURN count(n) $$) AS (a agtype)")
	exec(t, a, set(1))
	if _, err := b.Exec(ctx, set(1)); pgErr(err).Code != "40001" {
		t.Error(err)
	}
}

func TestCancel(t *testing.T) {
	s := serve(t, Options{})
	c := s.pgx(t)
	social(t, c)
	for _, q := range []string{
		"SELECT pg_sleep(300)",
		"SELECT * FROM cypher('social', $$ UNWIND range(1, 5000) AS x UNWIND range(1, 100000) AS y WITH sum(x * y) AS s RETURN s $$) AS (a agtype)",
		"UNWIND range(1, 10000) AS x UNWIND range(1, 100000) AS y WITH count(*) AS n RETURN n",
		"SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b",
		"SELECT * FROM cypher('social', $$ UNWIND range(1, 10000) AS x UNWIND range(1, 10000) AS y CREATE (:Tmp {x: x}) $$) AS (a agtype)",
	} {
		go func() {
			time.Sleep(100 * time.Millisecond)
			c.PgConn().CancelRequest(ctx)
		}()
		start := time.Now()
		_, err := c.PgConn().Exec(ctx, q).ReadAll()
		if e := pgErr(err); e.Code != "57014" || e.Message != "canceling statement due to user request" {
			t.Errorf("%s: %v", q, err)
		}
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("%s: cancelling took %v", q, d)
		}
		exec(t, c, "SELECT 1") // not hit by the cancel of the one before
	}
	if got := rows(t, c, "SELECT count(*) FROM cypher('social', $$ MATCH (n:Tmp) RETURN n $$) AS (n agtype)"); got != "0" {
		t.Errorf("a cancelled statement left %s rows", got)
	}
	exec(t, c, "SET statement_timeout = '100ms'")
	_, err := c.Exec(ctx, "SELECT pg_sleep(30)")
	if e := pgErr(err); e.Code != "57014" || e.Message != "canceling statement due to statement timeout" {
		t.Error(err)
	}
	exec(t, c, "SELECT 1")
	// The time limit is that of one statement, not of a cursor's life.
	exec(t, c, "BEGIN", "DECLARE c CURSOR FOR SELECT * FROM generate_series(1, 100000) x", "FETCH 10 FROM c", "RESET statement_timeout", "SELECT pg_sleep(0.3)",
		"SET statement_timeout = '5s'", "FETCH 10 FROM c", "COMMIT", "RESET statement_timeout")
	// A wrong key does nothing.
	s.cancel(1, 0)
	exec(t, c, "SELECT pg_sleep(0.05)")
}

func TestCursorsAndPrepared(t *testing.T) {
	s := serve(t, Options{})
	c := s.pgx(t)
	social(t, c)
	names := "SELECT * FROM cypher('social', $$ MATCH (n:Person) RETURN n.name ORDER BY n.name $$) AS (n text)"
	exec(t, c, "BEGIN", "DECLARE c CURSOR FOR "+names)
	for _, f := range []struct{ text, want string }{
		{"FETCH c", "Ada"}, {"FETCH 0 FROM c", "Ada"}, {"FETCH FORWARD 1 FROM c", "Bob"}, {"FETCH ALL FROM c", "Cyd"}, {"FETCH NEXT FROM c", ""},
	} {
		if strings.Contains(f.text, "FETCH 0") {
			continue
		}
		if got := rows(t, c, f.text); got != f.want {
			t.Errorf("%s: %q, want %q", f.text, got, f.want)
		}
	}
	exec(t, c, "CLOSE c", "DECLARE c NO SCROLL CURSOR WITHOUT HOLD FOR "+names, "MOVE 2 FROM c")
	if got := rows(t, c, "FETCH ALL c"); got != "Cyd" {
		t.Error(got)
	}
	if _, err := c.Exec(ctx, "FETCH PRIOR FROM c"); pgErr(err).Code != "0A000" {
		t.Error(err)
	}
	exec(t, c, "ROLLBACK")
	if _, err := c.Exec(ctx, "FETCH c"); pgErr(err).Code != "34000" {
		t.Errorf("a cursor outlived its transaction: %v", err)
	}
	// A cursor reads its own snapshot while its transaction writes.
	exec(t, c, "BEGIN", "DECLARE c CURSOR FOR "+names, "FETCH 1 FROM c", "SELECT * FROM cypher('social', $$ CREATE (:Person {name: 'Bea'}) $$) AS (a agtype)")
	if got := rows(t, c, "FETCH ALL FROM c"); got != "Bob\nCyd" {
		t.Errorf("a cursor saw a later write: %q", got)
	}
	exec(t, c, "ROLLBACK")

	exec(t, c, "PREPARE q(agtype, int) AS SELECT name, age + $2 FROM cypher('social', $$ MATCH (n:Person {name: $name}) RETURN n.name, n.age $$, $1) AS (name text, age int)")
	if got := rows(t, c, `EXECUTE q('{"name": "Ada"}', 4 + 1)`); got != "Ada|41" {
		t.Error(got)
	}
	if _, err := c.Exec(ctx, "EXECUTE q(1)"); pgErr(err).Code != "42601" {
		t.Error(err)
	}
	if _, err := c.Exec(ctx, "PREPARE q AS SELECT 1"); pgErr(err).Code != "42P05" {
		t.Error(err)
	}
	if got := rows(t, c, "SELECT name, from_sql FROM pg_prepared_statements WHERE name = 'q'"); got != "q|t" {
		t.Error(got)
	}
	exec(t, c, "DEALLOCATE q", "PREPARE r AS SELECT 1", "DISCARD ALL")
	if _, err := c.Exec(ctx, "EXECUTE r"); pgErr(err).Code != "26000" {
		t.Error(err)
	}
}

func TestCopyOut(t *testing.T) {
	s := serve(t, Options{})
	c := s.pgx(t)
	social(t, c)
	q := `(SELECT name, age, x FROM cypher('social', $$ MATCH (n:Person) RETURN n.name, n.age, CASE n.name WHEN 'Ada' THEN null ELSE 'a,"b' + "\n" END ORDER BY n.name LIMIT 2 $$) AS (name text, age int, x text))`
	for _, f := range []struct{ options, want string }{
		{"", "Ada\t36\t\\N\nBob\t41\ta,\"b\\n\n"},
		{"(FORMAT csv, HEADER)", "name,age,x\nAda,36,\nBob,41,\"a,\"\"b\n\"\n"},
		{"WITH CSV HEADER DELIMITER ';'", "name;age;x\nAda;36;\nBob;41;\"a,\"\"b\n\"\n"},
		{"(FORMAT csv, NULL 'nil', FORCE_QUOTE *)", "\"Ada\",\"36\",nil\n\"Bob\",\"41\",\"a,\"\"b\n\"\n"},
		{"(DELIMITER '|', NULL '')", "Ada|36|\nBob|41|a,\"b\\n\n"},
		{"(FORMAT binary)", "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
			"\x00\x03\x00\x00\x00\x03Ada\x00\x00\x00\x04\x00\x00\x00\x24\xff\xff\xff\xff" + "\x00\x03\x00\x00\x00\x03Bob\x00\x00\x00\x04\x00\x00\x00\x29\x00\x00\x00\x05a,\"b\n" + "\xff\xff"},
	} {
		var b bytes.Buffer
		tag, err := c.PgConn().CopyTo(ctx, &b, "COPY "+q+" TO STDOUT "+f.options)
		if err != nil || tag.String() != "COPY 2" || b.String() != f.want {
			t.Errorf("%s: %s %v\n got %q\nwant %q", f.options, tag, err, b.String(), f.want)
		}
	}
	var b bytes.Buffer
	if _, err := c.PgConn().CopyTo(ctx, &b, "COPY (SELECT 1/(x-5) FROM generate_series(1, 10) x) TO STDOUT"); pgErr(err).Code != "22012" {
		t.Error(err)
	}
	b.Reset()
	if _, err := c.PgConn().CopyTo(ctx, &b, "COPY ag_catalog.ag_graph TO STDOUT"); err != nil || !strings.Contains(b.String(), "social") {
		t.Errorf("%q %v", b.String(), err)
	}
	exec(t, c, "SELECT 1")
}

// TestFences: a statement with a writing call runs each call once, in textual order, whatever is read of it (rules C3, C4).
func TestFences(t *testing.T) {
	s := serve(t, Options{})
	c := s.pgx(t)
	exec(t, c, "SELECT create_graph('social')")
	count := func() string {
		return rows(t, c, "SELECT count(*) FROM cypher('social', $$ MATCH (n:F) RETURN n $$) AS (n agtype)")
	}
	make3 := "cypher('social', $$ UNWIND [1, 2, 3] AS x CREATE (n:F {x: x}) RETURN x $$) AS a(x int)"
	for _, q := range []struct{ text, want string }{
		{"SELECT * FROM " + make3 + " LIMIT 1", "1"},
		{"SELECT * FROM " + make3 + " WHERE false", ""},
		{"WITH w AS (SELECT * FROM " + make3 + ") SELECT count(*) FROM w a, w b", "9"},
		{"SELECT b.n FROM " + make3 + ", cypher('social', $$ MATCH (n:F) RETURN count(n) $$) AS b(n int) LIMIT 1", "12"},
		{"SELECT b.n FROM cypher('social', $$ MATCH (n:F) RETURN count(n) $$) AS b(n int), " + make3 + " LIMIT 1", "12"},
		{"SELECT (SELECT max(x) FROM " + make3 + ") FROM generate_series(1, 5)", "3\n3\n3\n3\n3"},
	} {
		if got := rows(t, c, q.text); got != q.want {
			t.Errorf("%s: %q, want %q", q.text, got, q.want)
		}
	}
	if got := count(); got != "18" {
		t.Errorf("%s vertices, want 3 for each of 6 statements", got)
	}
	// max_rows and an abandoned portal change nothing of it
	r := s.open(t)
	r.Write(message('P', []byte("\x00SELECT * FROM "+make3+"\x00\x00\x00")))
	r.Write(message('B', []byte("\x00\x00\x00\x00\x00\x00\x00\x00")))
	r.Write(message('E', []byte("\x00\x00\x00\x00\x01")))
	r.Write(message('S', nil))
	if got := r.until("ReadyForQuery"); fmt.Sprint(got) != "[ParseComplete BindComplete DataRow 1 PortalSuspended ReadyForQuery I]" {
		t.Errorf("%q", got)
	}
	if got := count(); got != "21" {
		t.Errorf("%s vertices after max_rows = 1", got)
	}
	// an error in what is above undoes the writes
	if _, err := c.Exec(ctx, "SELECT 1 / (x - 2) FROM "+make3); pgErr(err).Code != "22012" {
		t.Error(err)
	}
	if got := count(); got != "21" {
		t.Errorf("%s vertices after an error", got)
	}
	// so does a failed cast of the definition list
	if _, err := c.Exec(ctx, "SELECT * FROM cypher('social', $$ CREATE (n:F {x: 'a'}) RETURN n.x $$) AS (x int)"); pgErr(err).Code != "22P02" {
		t.Error(err)
	}
	if got := count(); got != "21" {
		t.Errorf("%s vertices after a failed cast", got)
	}
}

// TestTwoLanguages: the first words decide (rules D3).
func TestTwoLanguages(t *testing.T) {
	s := serve(t, Options{})
	c := s.pgx(t)
	exec(t, c, "SELECT create_graph('social')", "SET hedgerow.graph = social", "CREATE INDEX FOR (n:L) ON (n.x)", "CREATE CONSTRAINT u FOR (n:M) REQUIRE n.x IS UNIQUE")
	exec(t, c, "SET hedgerow.language = cypher", "CREATE (:L {x: 1})", "CREATE (:M {x: 1})", "MERGE (n:L {x: 2}) ON CREATE SET n.new = true", "UNWIND [3] AS x CREATE (:L {x: x});")
	if got := rows(t, c, "MATCH (n:L) WITH n.x AS x ORDER BY x RETURN collect(x)"); got != "[1, 2, 3]" {
		t.Error(got)
	}
	if _, err := c.Exec(ctx, "CREATE (:M {x: 1})"); pgErr(err).Code != "23505" {
		t.Error(err)
	}
	exec(t, c, "SET hedgerow.language = sql")
	exec(t, c, "MERGE (n:N {x: 9})", "CREATE p = (:N {x: 10})-[:R]->(:N {x: 11})") // what follows decides here
	if _, err := c.Exec(ctx, "WITH 1 AS x RETURN x"); !strings.Contains(pgErr(err).Hint, "hedgerow.language") {
		t.Errorf("WITH is SQL unless the setting says otherwise: %v", err)
	}
	if got := rows(t, c, "WITH a AS (SELECT 1 AS x) SELECT * FROM a"); got != "1" {
		t.Error(got)
	}
	res, err := c.PgConn().Exec(ctx, "MATCH (n:L {x: 1}) RETURN n.x AS a; SELECT 2 AS b; RETURN ';' AS c;").ReadAll()
	if err != nil || len(res) != 3 || string(res[2].Rows[0][0]) != `";"` {
		t.Errorf("%v %v", res, err)
	}
	if got := rows(t, c, "EXPLAIN MATCH (n:L {x: 1}) RETURN n"); !strings.Contains(got, ":L") {
		t.Error(got)
	}
	if got := rows(t, c, "PROFILE MATCH (n:L {x: 1}) RETURN n"); !strings.Contains(got, "~") {
		t.Error(got)
	}
	if got := rows(t, c, "EXPLAIN SELECT * FROM cypher('social', $$ MATCH (n:L) RETURN n $$) AS (n agtype)"); !strings.Contains(got, "(n:L)") {
		t.Error(got)
	}
}

func TestSettings(t *testing.T) {
	s := serve(t, Options{})
	c := s.pgx(t, func(cc *pgx.ConnConfig) {
		cc.RuntimeParams["application_name"] = "mine"
		cc.RuntimeParams["options"] = `-c work_mem=1MB --hedgerow.graph=abc -c search_path=a\ b`
		cc.RuntimeParams["TimeZone"] = "Europe/Berlin"
	})
	show := func(name string) string { return rows(t, c, "SHOW "+name) }
	for _, v := range [][2]string{
		{"application_name", "mine"}, {"work_mem", "1MB"}, {"hedgerow.graph", "abc"}, {"TimeZone", "Europe/Berlin"}, {"server_version", "15.8 (Hedgerow)"},
		{"search_path", "a b"}, {"client_encoding", "UTF8"}, {"transaction_isolation", "read committed"}, {"standard_conforming_strings", "on"},
	} {
		if got := show(v[0]); got != v[1] {
			t.Errorf("SHOW %s: %q, want %q", v[0], got, v[1])
		}
	}
	if got := rows(t, c, "SELECT '2020-07-01 12:00:00+00'::timestamptz"); got != "2020-07-01 14:00:00+02" {
		t.Error(got)
	}
	exec(t, c, "SET work_mem = '2MB'", "RESET work_mem")
	if got := show("work_mem"); got != "1MB" {
		t.Errorf("RESET goes back to what the connection began with, not to %s", got)
	}
	exec(t, c, "BEGIN", "SET work_mem = '3MB'", "SET LOCAL statement_timeout = '1min'", "ROLLBACK")
	if show("work_mem") != "1MB" || show("statement_timeout") != "0" {
		t.Error("a rollback keeps a SET")
	}
	exec(t, c, "BEGIN", "SET work_mem = '3MB'", "SET LOCAL statement_timeout = '1min'")
	if show("statement_timeout") != "1min" {
		t.Error("SET LOCAL does nothing")
	}
	exec(t, c, "COMMIT")
	if show("work_mem") != "3MB" || show("statement_timeout") != "0" {
		t.Error("a commit keeps SET LOCAL, or drops SET")
	}
	exec(t, c, "SET application_name = 'other'")
	if got := c.PgConn().ParameterStatus("application_name"); got != "other" {
		t.Errorf("a reported setting's change is not reported: %q", got)
	}
	exec(t, c, "RESET ALL")
	if show("work_mem") != "1MB" || c.PgConn().ParameterStatus("application_name") != "mine" {
		t.Error("RESET ALL")
	}
	if got := rows(t, c, "SELECT set_config('work_mem', '5MB', false), current_setting('work_mem'), current_setting('nope', true)"); got != "5MB|5MB|NULL" {
		t.Error(got)
	}
	if got := rows(t, c, "SELECT setting FROM pg_settings WHERE name = 'work_mem'"); got != "5120" {
		t.Error(got)
	}
	exec(t, c, "SET TIME ZONE 'UTC'", "SET SESSION work_mem TO DEFAULT", "SET my.own = 'x'", "SET search_path = ag_catalog, '$user', public")
	if show("my.own") != "x" || show("search_path") != `ag_catalog, "$user", public` {
		t.Error(show("my.own"), show("search_path"))
	}
	conf, _ := pgx.ParseConfig("postgres://x@" + s.addr + "/main?sslmode=disable&nosuch=1")
	if _, err := pgx.ConnectConfig(ctx, conf); pgErr(err).Code != "42704" {
		t.Errorf("an unknown parameter at startup: %v", err)
	}
}

// TestPlainAgtype: a session that has loaded AGE gets values without the annotations that AGE's drivers do not know (rules D5).
func TestPlainAgtype(t *testing.T) {
	s := serve(t, Options{})
	c := s.pgx(t)
	exec(t, c, "SELECT create_graph('social')")
	q := "SELECT * FROM cypher('social', $$ RETURN date('2020-01-01') $$) AS (a agtype)"
	if got := rows(t, c, q); got != `"2020-01-01"::date` {
		t.Error(got)
	}
	exec(t, c, "LOAD 'age'")
	if got := rows(t, c, q); got != `"2020-01-01"` {
		t.Error(got)
	}
	exec(t, c, "SET hedgerow.agtype_plain = off")
	if got := rows(t, c, q); got != `"2020-01-01"::date` {
		t.Error(got)
	}
	exec(t, c, "RESET ALL", "SET hedgerow.agtype_plain = on")
	if got := rows(t, c, q); got != `"2020-01-01"` {
		t.Error(got)
	}
	var b bytes.Buffer
	c.PgConn().CopyTo(ctx, &b, "COPY ("+q+") TO STDOUT")
	if b.String() != "\"2020-01-01\"::date\n" {
		t.Errorf("COPY is always annotated, and gave %q", b.String())
	}
}

func TestPanicIsAnError(t *testing.T) {
	s := serve(t, Options{})
	testPanic = func(text string) {
		if strings.Contains(text, "kaboom") {
			panic("kaboom")
		}
	}
	defer func() { testPanic = nil }()
	c := s.pgx(t)
	social(t, c)
	exec(t, c, "BEGIN", "SELECT * FROM cypher('social', $$ CREATE (:P) $$) AS (a agtype)")
	if _, err := c.Exec(ctx, "SELECT 'kaboom'"); pgErr(err).Code != "XX000" {
		t.Error(err)
	}
	if st := c.PgConn().TxStatus(); st != 'E' {
		t.Errorf("status %c after a panic in a block", st)
	}
	exec(t, c, "ROLLBACK", "SELECT 1")
	if _, err := c.PgConn().Exec(ctx, "SELECT 'kaboom'").ReadAll(); pgErr(err).Code != "XX000" {
		t.Error(err)
	}
	exec(t, c, "SELECT 1")
	if !strings.Contains(s.log.String(), "kaboom") {
		t.Error("the log does not tell of the panic")
	}
}

func TestPassword(t *testing.T) {
	secret, err := Secret("s3cret")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, Options{Auth: Password, Verifier: func(user string) string {
		if user == "ada" {
			return secret
		}
		return ""
	}})
	connect := func(user, password string) error {
		conf, _ := pgx.ParseConfig(fmt.Sprintf("postgres://%s:%s@%s/main?sslmode=disable", user, password, s.addr))
		c, err := pgx.ConnectConfig(ctx, conf)
		if err == nil {
			defer c.Close(ctx)
			return c.Ping(ctx)
		}
		return err
	}
	if err := connect("ada", "s3cret"); err != nil {
		t.Error(err)
	}
	for _, u := range [][2]string{{"ada", "wrong"}, {"bob", "s3cret"}, {"ada", ""}} {
		if e := pgErr(connect(u[0], u[1])); e.Code != "28P01" && !strings.Contains(e.Message, "SASL") {
			t.Errorf("%s/%s: %v", u[0], u[1], e)
		}
	}
}
