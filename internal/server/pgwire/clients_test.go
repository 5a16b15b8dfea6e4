package pgwire

import (
	"bytes"
	"context"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// psql runs a script in psql and returns what it prints.
func (s *testServer) psql(t *testing.T, script string, args ...string) string {
	t.Helper()
	if _, err := osexec.LookPath("psql"); err != nil {
		t.Skip("psql is not installed: apt-get install postgresql-client")
	}
	file := filepath.Join(t.TempDir(), "in.sql")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	run, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := osexec.CommandContext(run, "psql", append([]string{"-X", "-q", "-f", "-", "postgres://tester@" + s.addr + "/main?sslmode=prefer"}, args...)...)
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd.Stdin = in
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && run.Err() != nil {
		t.Fatalf("psql hangs; so far:\n%s", out.String())
	}
	return out.String()
}

func TestPsql(t *testing.T) {
	s := serve(t, Options{})
	got := s.psql(t, `
SELECT create_graph('social');
SELECT * FROM cypher('social', $$ CREATE (:Person {name: 'Ada', born: 1815}) $$) AS (a agtype);
SELECT * FROM cypher('social', $$ MATCH (n:Person) RETURN n.name, n $$) AS (name text, n agtype);
SELECT * FROM cypher('social', $$
  MATCH (é:Person)
  RETURN nope $$) AS (a agtype);
\copy (SELECT 1 AS a, 'x' AS b) TO STDOUT WITH CSV HEADER
\echo status :SQLSTATE
BEGIN;
SELECT 1/0;
SELECT 1;
ROLLBACK;
SELECT 1 AS a \; SELECT 2 AS b;
\gdesc
SELECT 1::int8 AS n, 'x'::text AS s \gdesc
SELECT 'SELECT ' || x FROM generate_series(1, 2) x \gexec
\set FETCH_COUNT 2
SELECT x FROM generate_series(1, 5) x;
\unset FETCH_COUNT
SELECT x AS only FROM generate_series(7, 7) x \gset
\echo :only
\crosstabview
MATCH (n:Person) RETURN n.born AS born;
`, "-A")
	want := `NOTICE:  graph "social" has been created
create_graph

(1 row)
a
(0 rows)
name|n
Ada|{"id": 844424930131969, "label": "Person", "properties": {"born": 1815, "name": "Ada"}}::vertex
(1 row)
ERROR:  variable ` + "`nope`" + ` is not defined
LINE 3:   RETURN nope $$) AS (a agtype);
                 ^
a,b
1,x
status 00000
ERROR:  division by zero
LINE 1: SELECT 1/0;
               ^
ERROR:  current transaction is aborted, commands ignored until end of transaction block
a
1
(1 row)
b
2
(1 row)
`
	if !strings.HasPrefix(unmarked(got), want) {
		t.Errorf("psql printed\n%s\nwant\n%s…", got, want)
	}
	for _, part := range []string{"n|bigint\ns|text\n", "?column?\n1\n(1 row)\n?column?\n2\n(1 row)\n", "x\n1\n2\n3\n4\n5\n(5 rows)\n", "\n7\n", "NOTICE:  there is no label `Person`"} {
		if !strings.Contains(got, part) {
			t.Errorf("psql's output lacks %q:\n%s", part, got)
		}
	}
	if strings.Contains(s.log.String(), "panic") {
		t.Error(s.log.String())
	}
}

// unmarked takes psql's mark of the script's line off its messages.
func unmarked(out string) string {
	var lines []string
	for _, l := range strings.Split(out, "\n") {
		if rest, ok := strings.CutPrefix(l, "psql:"); ok {
			if _, msg, ok := strings.Cut(rest, ": "); ok {
				l = msg
			}
		}
		lines = append(lines, l)
	}
	return strings.Join(lines, "\n")
}

// TestPsqlInterrupt: Ctrl-C in psql is a cancel request on a connection of its own.
func TestPsqlInterrupt(t *testing.T) {
	if _, err := osexec.LookPath("psql"); err != nil {
		t.Skip("psql is not installed: apt-get install postgresql-client")
	}
	s := serve(t, Options{})
	cmd := osexec.Command("psql", "-X", "-c", "SELECT pg_sleep(300)", "postgres://tester@"+s.addr+"/main?sslmode=disable")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for s.db.Sessions() == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
	start := time.Now()
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if !strings.Contains(out.String(), "canceling statement due to user request") || time.Since(start) > 30*time.Second {
		t.Errorf("after %v psql printed %s", time.Since(start), out.String())
	}
}

// TestPsqlDescribe: what psql asks for its backslash commands gets an answer or a clear error.
func TestPsqlDescribe(t *testing.T) {
	s := serve(t, Options{})
	got := s.psql(t, "SELECT create_graph('social');\n\\l\n\\dn\n\\d\n\\dt\n\\dv\n\\di\n\\du\n\\df\n\\dT\n\\dx\n\\conninfo\n\\encoding\n\\timing\nSELECT 1;\n\\errverbose\n")
	if strings.Contains(got, "internal error") || strings.Contains(s.log.String(), "panic") {
		t.Errorf("%s\n%s", got, s.log.String())
	}
	if !strings.Contains(got, "You are connected to database") {
		t.Error(got)
	}
}

const nodeScript = `
const { Client, types } = require('pg');
const out = [];
const say = (...a) => out.push(a.map(x => typeof x === 'string' ? x : JSON.stringify(x)).join(' '));
(async () => {
  const c = new Client({ host: '127.0.0.1', port: +process.argv[2], user: 'node', database: 'main' });
  c.on('notice', n => say('notice', n.message));
  await c.connect();
  await c.query("CREATE EXTENSION IF NOT EXISTS age; LOAD 'age'; SET search_path = ag_catalog, \"$user\", public;");
  const oid = (await c.query("SELECT typelem FROM pg_type WHERE typname = '_agtype';")).rows[0].typelem;
  types.setTypeParser(oid, s => 'agtype:' + s);
  await c.query("SELECT create_graph('social')");
  await c.query("SELECT * FROM cypher('social', $$ CREATE (:Person {name: 'Ada'}), (:Person {name: 'Bob'}) $$) AS (a agtype)");
  let r = await c.query("SELECT * FROM cypher('social', $$ MATCH (n:Person) RETURN n.name ORDER BY n.name $$) AS (name agtype)");
  say(r.command, r.rowCount, r.rows, r.fields[0].dataTypeID === oid);
  r = await c.query("SELECT * FROM cypher('social', $$ MATCH (n:Person {name: $name}) RETURN n $$, $1) AS (n agtype)", [JSON.stringify({ name: 'Bob' })]);
  say(r.rows);
  r = await c.query('SELECT $1::int AS i, $2::text AS t, $3::float8 AS f, $4::bool AS b, $5::text[] AS a, now() AS d', [1, 'x', 1.5, true, ['p', 'q']]);
  say(r.rows[0].i, r.rows[0].t, r.rows[0].f, r.rows[0].b, r.rows[0].a, r.rows[0].d instanceof Date);
  for (let i = 0; i < 3; i++) r = await c.query({ name: 'q1', text: 'SELECT $1::int + 1 AS n', values: [i] });
  say(r.rows);
  try { await c.query('SELECT nope'); } catch (e) { say(e.code, e.message, e.position); }
  try { await c.query('SELECT $1::int', ['x']); } catch (e) { say(e.code); }
  await c.query('BEGIN');
  await c.query("SELECT * FROM cypher('social', $$ CREATE (:Person {name: 'Cyd'}) $$) AS (a agtype)");
  await c.query('SAVEPOINT s');
  try { await c.query('SELECT 1/0'); } catch (e) { say(e.code); }
  try { await c.query('SELECT 1'); } catch (e) { say(e.code); }
  await c.query('ROLLBACK TO s');
  await c.query('ROLLBACK');
  r = await c.query('SELECT 1 AS a; SELECT 2 AS b');
  say(r.map(x => x.rows));
  r = await c.query('RETURN $1 AS x', ['"hi"']);
  say(r.rows);
  r = await c.query({ text: 'SELECT 1 AS a, NULL AS b', rowMode: 'array' });
  say(r.rows);
  r = await c.query('');
  say(r.rows);
    await c.end();
  console.log(out.join('\n'));
})().catch(e => { console.log(out.join('\n')); console.log('FAILED', e); process.exit(1); });
`

// nodePG returns a directory in which node finds the package pg.
func nodePG(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := osexec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	dir := filepath.Join(os.TempDir(), "hedgerow-node-pg")
	if d := os.Getenv("HEDGEROW_NODE_PG"); d != "" {
		dir = d
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "pg", "package.json")); err == nil {
		return dir
	}
	if testing.Short() {
		t.Skip("node's pg is not installed, and -short installs nothing")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	if out, err := osexec.CommandContext(run, "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "pg@8").CombinedOutput(); err != nil {
		t.Skipf("npm cannot install pg: %v\n%s", err, out)
	}
	return dir
}

func TestNodePG(t *testing.T) {
	dir := nodePG(t)
	s := serve(t, Options{})
	script := filepath.Join(t.TempDir(), "t.js")
	if err := os.WriteFile(script, []byte(nodeScript), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(s.addr)
	run, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := osexec.CommandContext(run, "node", script, port)
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
	got, err := cmd.CombinedOutput()
	want := `notice extension "age" already exists, skipping
notice graph "social" has been created
SELECT 2 [{"name":"agtype:\"Ada\""},{"name":"agtype:\"Bob\""}] true
[{"n":"agtype:{\"id\": 844424930131970, \"label\": \"Person\", \"properties\": {\"name\": \"Bob\"}}::vertex"}]
1 x 1.5 true ["p","q"] true
[{"n":3}]
42703 column "nope" does not exist 8
22P02
22012
25P02
[[{"a":1}],[{"b":2}]]
[{"x":"agtype:\"hi\""}]
[[1,null]]
[]
`
	if err != nil || string(got) != want {
		t.Errorf("node: %v\n got %s\nwant %s", err, got, want)
	}
}
