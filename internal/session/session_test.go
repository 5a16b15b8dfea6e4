package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

var ctx = context.Background()

func database(t testing.TB) *Database {
	t.Helper()
	eng, err := engine.Open(ctx, engine.Options{CacheBytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	db := New(eng.Store(), Options{TempDir: t.TempDir(), Settings: map[string]string{"work_mem": "2048"}})
	t.Cleanup(func() {
		if n := db.Sessions(); n != 0 {
			t.Errorf("%d sessions are open at the end", n)
		}
		if err := eng.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return db
}

func open(t testing.TB, db *Database) *Session {
	s := db.Open(Client{User: "ada", Database: "main"})
	t.Cleanup(s.Close)
	return s
}

// run does what a door does with a simple Query: the statements of a text in one implicit transaction.
func run(s *Session, text string) (out []string, err error) {
	defer func() {
		if err != nil {
			s.Fail()
		}
		if e := s.EndImplicit(ctx); err == nil {
			err = e
		}
	}()
	parts, err := s.Split(text)
	if err != nil {
		return nil, err
	}
	s.InMulti(len(parts) > 1)
	for _, part := range parts {
		p, err := s.Prepare(ctx, part, nil)
		if err != nil {
			return out, Shift(err, part.Offset)
		}
		portal, err := s.Bind(ctx, "", p, nil)
		if err != nil {
			return out, err
		}
		if err := portal.Start(ctx); err != nil {
			portal.Close()
			return out, err
		}
		for {
			row, err := portal.Next(ctx)
			if err != nil {
				portal.Close()
				return out, err
			}
			if row == nil {
				break
			}
			var line []byte
			for i, v := range row {
				if i > 0 {
					line = append(line, '|')
				}
				if v.IsNull() {
					line = append(line, "NULL"...)
				} else if line, err = s.AppendText(line, portal.Columns()[i].Type, v); err != nil {
					return out, err
				}
			}
			out = append(out, string(line))
		}
		out = append(out, portal.Tag())
		portal.Close()
	}
	return out, nil
}

func must(t testing.TB, s *Session, text string) string {
	t.Helper()
	out, err := run(s, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Join(out, " ")
}

func code(err error) string {
	if err == nil {
		return "ok"
	}
	return dberr.As(err).Code.SQLState()
}

// TestStates walks the state machine of a transaction block: a statement, what becomes of it, and the state afterwards (S2, S3).
func TestStates(t *testing.T) {
	db := database(t)
	s := open(t, db)
	w := "SELECT * FROM cypher('main', $$ CREATE (:T) $$) AS (a agtype)"
	count := "SELECT * FROM cypher('main', $$ MATCH (n:T) RETURN count(n) $$) AS (a int)"
	for i, step := range []struct{ text, want, state string }{
		{count, "0 SELECT 1", "I"},
		{"BEGIN", "BEGIN", "T"}, {"BEGIN", "BEGIN", "T"}, {w, "SELECT 0", "T"}, {"COMMIT", "COMMIT", "I"}, {count, "1 SELECT 1", "I"},
		{"START TRANSACTION", "START TRANSACTION", "T"}, {w, "SELECT 0", "T"}, {"ROLLBACK", "ROLLBACK", "I"}, {count, "1 SELECT 1", "I"},
		{"BEGIN", "BEGIN", "T"}, {w, "SELECT 0", "T"}, {"SELECT 1/0", "22012", "E"}, {"SELECT 1", "25P02", "E"}, {"SHOW work_mem", "25P02", "E"},
		{"RETURN 1", "25P02", "E"}, {"SAVEPOINT a", "25P02", "E"}, {"nonsense", "42601", "E"}, {"COMMIT", "ROLLBACK", "I"}, {count, "1 SELECT 1", "I"},
		{"BEGIN", "BEGIN", "T"}, {"SAVEPOINT a", "SAVEPOINT", "T"}, {w, "SELECT 0", "T"}, {"SAVEPOINT b", "SAVEPOINT", "T"}, {w, "SELECT 0", "T"},
		{"ROLLBACK TO b", "ROLLBACK", "T"}, {count, "2 SELECT 1", "T"}, {"RELEASE b", "RELEASE", "T"}, {"RELEASE b", "3B001", "E"},
		{"ROLLBACK TO SAVEPOINT a", "ROLLBACK", "T"}, {count, "1 SELECT 1", "T"}, {w, "SELECT 0", "T"}, {"RELEASE SAVEPOINT a", "RELEASE", "T"},
		{"END", "COMMIT", "I"}, {count, "2 SELECT 1", "I"},
		{"BEGIN", "BEGIN", "T"}, {"SAVEPOINT a", "SAVEPOINT", "T"}, {w, "SELECT 0", "T"}, {"SAVEPOINT a", "SAVEPOINT", "T"}, {w, "SELECT 0", "T"},
		{"ROLLBACK TO a", "ROLLBACK", "T"}, {count, "3 SELECT 1", "T"}, {"RELEASE a", "RELEASE", "T"}, {"ROLLBACK TO a", "ROLLBACK", "T"}, {count, "2 SELECT 1", "T"},
		{"ABORT", "ROLLBACK", "I"},
		{"SAVEPOINT a", "25P01", "I"}, {"ROLLBACK TO a", "25P01", "I"}, {"RELEASE a", "25P01", "I"}, {"COMMIT", "COMMIT", "I"}, {"ROLLBACK", "ROLLBACK", "I"},
		{w + "; SELECT 1/0", "22012", "I"}, {count, "2 SELECT 1", "I"}, {w + ";" + w, "SELECT 0 SELECT 0", "I"}, {count, "4 SELECT 1", "I"},
		{w + "; COMMIT; SELECT 1/0", "22012", "I"}, {count, "5 SELECT 1", "I"},
		{w + "; BEGIN; " + w, "SELECT 0 BEGIN SELECT 0", "T"}, {"SELECT 1/0", "22012", "E"}, {"ROLLBACK", "ROLLBACK", "I"}, {count, "5 SELECT 1", "I"},
		{"BEGIN; " + w + "; COMMIT; BEGIN", "BEGIN SELECT 0 COMMIT BEGIN", "T"}, {"ROLLBACK", "ROLLBACK", "I"}, {count, "6 SELECT 1", "I"},
		{"BEGIN", "BEGIN", "T"}, {w, "SELECT 0", "T"}, {"COMMIT AND CHAIN", "COMMIT", "T"}, {w, "SELECT 0", "T"}, {"ROLLBACK AND CHAIN", "ROLLBACK", "T"},
		{"ROLLBACK", "ROLLBACK", "I"}, {count, "7 SELECT 1", "I"},
		{"BEGIN READ ONLY", "BEGIN", "T"}, {w, "25006", "E"}, {"ROLLBACK", "ROLLBACK", "I"},
		{"BEGIN", "BEGIN", "T"}, {"VACUUM", "25001", "E"}, {"ROLLBACK", "ROLLBACK", "I"}, {"VACUUM", "VACUUM", "I"},
		{"BEGIN", "BEGIN", "T"}, {"DISCARD ALL", "25001", "E"}, {"ROLLBACK", "ROLLBACK", "I"},
		{"DECLARE c CURSOR FOR SELECT 1", "25P01", "I"}, {"DECLARE c CURSOR FOR SELECT 1; FETCH c", "DECLARE CURSOR 1 FETCH 1", "I"}, {"FETCH c", "34000", "I"},
	} {
		out, err := run(s, step.text)
		got := strings.Join(out, " ")
		if err != nil {
			got = code(err)
		}
		if got != step.want || string(s.Status()) != step.state {
			t.Fatalf("step %d, %s: %q in state %c, want %q in state %s (%v)", i, step.text, got, s.Status(), step.want, step.state, err)
		}
	}
}

// TestClosedSession: what a session leaves open is undone.
func TestClosedSession(t *testing.T) {
	db := database(t)
	a, b := db.Open(Client{User: "a"}), open(t, db)
	must(t, a, "BEGIN; SELECT * FROM cypher('main', $$ CREATE (:T) $$) AS (a agtype)")
	must(t, a, "DECLARE c CURSOR FOR SELECT * FROM generate_series(1, 10) x")
	a.Close()
	if got := must(t, b, "MATCH (n:T) RETURN count(n) AS n"); got != "0 SELECT 1" {
		t.Error(got)
	}
}

// TestPortals: rows come in parts, and portals end with their transaction (S5).
func TestPortals(t *testing.T) {
	s := open(t, database(t))
	p, err := s.Prepare(ctx, Text{Text: "SELECT x FROM generate_series(1, 5) x WHERE x > $1", Lang: SQL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Bind(ctx, "p", p, nil); code(err) != "42P02" {
		t.Errorf("too few arguments: %v", err)
	}
	portal, err := s.Bind(ctx, "p", p, []value.Value{value.NewInt(2)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Bind(ctx, "p", p, []value.Value{value.NewInt(2)}); code(err) != "42P03" {
		t.Errorf("a portal's name twice: %v", err)
	}
	if err := portal.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if row, err := portal.Next(ctx); err != nil || row[0].Int() != 3 {
		t.Fatal(row, err)
	}
	portal.Pause()
	must2 := func(text string) { // a statement between two parts, in the same implicit transaction
		q, err := s.Prepare(ctx, Text{Text: text}, nil)
		if err != nil {
			t.Fatal(err)
		}
		other, err := s.Bind(ctx, "", q, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Start(ctx); err != nil {
			t.Fatal(err)
		}
		for row, err := other.Next(ctx); row != nil; row, err = other.Next(ctx) {
			if err != nil {
				t.Fatal(err)
			}
		}
		other.Close()
	}
	must2("SELECT 1")
	if err := portal.Start(ctx); err != nil {
		t.Fatal(err)
	}
	for want := int64(4); want <= 5; want++ {
		if row, err := portal.Next(ctx); err != nil || row[0].Int() != want {
			t.Fatal(row, err)
		}
	}
	if row, err := portal.Next(ctx); err != nil || row != nil {
		t.Fatal(row, err)
	}
	if err := s.EndImplicit(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Portal("p"); code(err) != "34000" {
		t.Errorf("a portal outlives its transaction: %v", err)
	}
	if len(s.active) != 0 {
		t.Errorf("%d portals can still be interrupted", len(s.active))
	}
}

// TestInterrupt: a cancel reaches what runs, and nothing that comes after it.
func TestInterrupt(t *testing.T) {
	s := open(t, database(t))
	s.Cancel() // nothing runs
	must(t, s, "SELECT 1")
	p, err := s.Prepare(ctx, Text{Text: "SELECT x FROM generate_series(1, 10000000) x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	portal, err := s.Bind(ctx, "", p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := portal.Start(ctx); err != nil {
		t.Fatal(err)
	}
	portal.Next(ctx)
	portal.Pause()
	s.Cancel() // it rests
	if err := portal.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if row, err := portal.Next(ctx); row == nil {
		t.Fatal("a resting portal was cancelled: ", err)
	}
	s.Cancel()
	for err == nil {
		var row []value.Value
		if row, err = portal.Next(ctx); row == nil && err == nil {
			t.Fatal("a cancelled portal ran to its end")
		}
	}
	if e := dberr.As(err); e.Code != dberr.Canceled || e.Message != "canceling statement due to user request" {
		t.Error(err)
	}
	s.Fail()
	must(t, s, "SELECT 1")
	stop, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Start(stop, "UNWIND range(1, 10000) AS x UNWIND range(1, 10000) AS y WITH count(*) AS c RETURN c", Cypher, nil, nil); err == nil {
		portal, _ := s.Portal("")
		_, err = portal.Next(ctx)
		if code(err) != "57014" {
			t.Errorf("a cancelled context: %v", err)
		}
	} else if code(err) != "57014" {
		t.Errorf("a cancelled context: %v", err)
	}
	s.Fail()
}

// TestCache: a statement is bound once, and bound again where its meaning may have changed.
func TestCache(t *testing.T) {
	db := database(t)
	s := open(t, db)
	prepare := func(text string, lang Language, types ...*sqltype.Type) *Prepared {
		t.Helper()
		p, err := s.Prepare(ctx, Text{Text: text, Lang: lang}, types)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	must(t, s, "SELECT create_graph('one'); SELECT create_graph('two')")
	q := "SELECT * FROM cypher('one', $$ MATCH (n:L) RETURN n.x $$) AS (x int)"
	if prepare(q, SQL) != prepare(q, SQL) {
		t.Error("a query is not kept")
	}
	if prepare("SELECT $1", SQL) == prepare("SELECT $1", SQL, sqltype.Int4) {
		t.Error("declared types make no difference")
	}
	if prepare("SHOW work_mem", SQL) == prepare("SHOW work_mem", SQL) || prepare("COPY (SELECT 1) TO STDOUT", SQL) == prepare("COPY (SELECT 1) TO STDOUT", SQL) {
		t.Error("a utility statement is kept")
	}
	must(t, s, "SET hedgerow.graph = one")
	one := prepare("MATCH (n) RETURN n", Cypher)
	must(t, s, "SET hedgerow.graph = two")
	if prepare("MATCH (n) RETURN n", Cypher) == one {
		t.Error("bare Cypher forgets its graph")
	}
	// The data, the labels and the indexes may change under a statement that is kept.
	for i, change := range []string{"CREATE (:L {x: 1})", "CREATE INDEX FOR (n:L) ON (n.x)", "MATCH (n:L) SET n.x = 2", "DROP INDEX l_x", "MATCH (n:L) DELETE n"} {
		must(t, s, "SET hedgerow.graph = one; SET hedgerow.language = cypher")
		must(t, s, change)
		must(t, s, "RESET hedgerow.language")
		if got, want := must(t, s, q), []string{"1 SELECT 1", "1 SELECT 1", "2 SELECT 1", "2 SELECT 1", "SELECT 0"}[i]; got != want {
			t.Errorf("after %s: %s, want %s", change, got, want)
		}
	}
	must(t, s, "SELECT drop_graph('one', true)")
	if _, err := run(s, q); code(err) != "3F000" {
		t.Errorf("a dropped graph: %v", err)
	}
	must(t, s, "SELECT create_graph('one')")
	if got := must(t, s, q); got != "SELECT 0" {
		t.Error(got)
	}
	// cypher(NULL, NULL) is used up by one execution
	p := "SELECT * FROM age_prepare_cypher('one', 'RETURN 1'); SELECT * FROM cypher(NULL, NULL) AS (a agtype)"
	for range 2 {
		if got := must(t, s, p); got != "t SELECT 1 1 SELECT 1" {
			t.Error(got)
		}
	}
	if _, err := run(s, "SELECT * FROM cypher(NULL, NULL) AS (a agtype)"); code(err) != "42601" {
		t.Errorf("cypher(NULL, NULL) a second time: %v", err)
	}
	for i := range 3 * maxCached {
		must(t, s, fmt.Sprint("SELECT ", i))
	}
	if len(s.cache) > maxCached {
		t.Errorf("%d statements are kept", len(s.cache))
	}
}

// TestLanguages holds the table of rules D3.
func TestLanguages(t *testing.T) {
	for text, want := range map[string][2]Language{ // under hedgerow.language = sql and = cypher
		"SELECT 1": {SQL, SQL}, "begin": {SQL, SQL}, "SHOW work_mem": {SQL, SQL}, "LOAD 'age'": {SQL, SQL}, "VALUES (1)": {SQL, SQL}, "EXPLAIN SELECT 1": {SQL, SQL},
		"EXPLAIN (ANALYZE) SELECT 1": {SQL, SQL}, "COPY (SELECT 1) TO STDOUT": {SQL, SQL}, "INSERT INTO t VALUES (1)": {SQL, SQL}, "CREATE EXTENSION age": {SQL, SQL},
		"MATCH (n) RETURN n": {Cypher, Cypher}, "optional match (n) return n": {Cypher, Cypher}, "UNWIND [1] AS x RETURN x": {Cypher, Cypher}, "RETURN 1": {Cypher, Cypher},
		"PROFILE RETURN 1": {Cypher, Cypher}, "EXPLAIN MATCH (n) RETURN n": {Cypher, Cypher}, "LOAD CSV FROM 'x' AS r RETURN r": {Cypher, Cypher},
		"CREATE INDEX FOR (n:L) ON (n.x)": {Cypher, Cypher}, "CREATE INDEX i ON t (x)": {SQL, SQL}, "CREATE CONSTRAINT FOR (n:L) REQUIRE n.x IS UNIQUE": {Cypher, Cypher},
		"SHOW INDEXES": {Cypher, Cypher}, "-- e\nMATCH (n) RETURN n": {Cypher, Cypher}, "USE g MATCH (n) RETURN n": {Cypher, Cypher}, "FOREACH (x IN [1] | CREATE (n))": {Cypher, Cypher},
		"WITH 1 AS x RETURN x": {SQL, Cypher}, "CREATE (n)": {Cypher, Cypher}, "MERGE (n:L)": {Cypher, Cypher}, "create /* x */ (": {Cypher, Cypher},
		"CREATE p = (:A)-[:R]->(:B)": {Cypher, Cypher}, "EXPLAIN CREATE (n)": {Cypher, Cypher}, "CREATE `p` = (n)": {Cypher, Cypher}, "MERGE p = (n)": {Cypher, Cypher},
		"MERGE INTO t USING s ON true": {SQL, Cypher}, "CREATE": {SQL, Cypher}, "CREATE 'x": {SQL, Cypher}, "DELETE n": {SQL, Cypher}, "CALL db.labels()": {SQL, Cypher},
		"DETACH DELETE n": {SQL, Cypher}, "DROP INDEX i": {SQL, Cypher}, "DROP TABLE t": {SQL, SQL}, "CREATE TABLE t (a int)": {SQL, SQL}, "nonsense": {SQL, Cypher},
	} {
		for i, def := range []Language{SQL, Cypher} {
			if got := languageAt(text, def); got != want[i] {
				t.Errorf("%s under %v: %v", text, def, got)
			}
		}
	}
}

// TestHintOfLanguage: SQL's syntax errors say where Cypher would have been read.
func TestHintOfLanguage(t *testing.T) {
	s := open(t, database(t))
	for text, want := range map[string]bool{"WITH 1 AS x RETURN x": true, "DETACH DELETE n": true, "CALL db.labels()": true, "DROP INDEX i": true, "SELECT 1 +": false, "nonsense": false} {
		_, err := s.Prepare(context.Background(), Text{Text: text, Lang: SQL}, nil)
		if e := dberr.As(err); e == nil || strings.Contains(e.Hint, "hedgerow.language") != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSplit(t *testing.T) {
	s := open(t, database(t))
	for text, want := range map[string][]string{
		"":                               nil,
		" ; ;; -- c\n":                   nil,
		"SELECT 1":                       {"SELECT 1"},
		"SELECT 1;":                      {"SELECT 1"},
		"SELECT ';'; RETURN \";\" ;":     {"SELECT ';'", "RETURN \";\""},
		"SELECT $$;$$; MATCH (`;`)":      {"SELECT $$;$$", "MATCH (`;`)"},
		"SELECT 1 /* ; */ ; SELECT 2 ; ": {"SELECT 1", "SELECT 2"},
	} {
		parts, err := s.Split(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got []string
		for _, p := range parts {
			got = append(got, strings.TrimSpace(p.Text))
			if !strings.HasPrefix(text[p.Offset:], p.Text) {
				t.Errorf("%q: the offset of %q is wrong", text, p.Text)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q splits into %q, want %q", text, got, want)
		}
	}
	if _, err := s.Split(strings.Repeat(" ", maxText+1)); code(err) != "54000" {
		t.Errorf("a text above the limit: %v", err)
	}
}

// TestSettingValues: what SET takes and how SHOW prints it.
func TestSettingValues(t *testing.T) {
	s := open(t, database(t))
	for _, c := range []struct{ name, set, show string }{
		{"work_mem", "4096", "4MB"}, {"work_mem", "1GB", "1GB"}, {"work_mem", "100kB", "100kB"}, {"work_mem", "1.5MB", "1536kB"}, {"work_mem", "2TB", "22023"}, {"work_mem", "1e9", "22023"}, {"statement_timeout", "30d", "22023"}, {"extra_float_digits", "9999999999", "22023"}, {"work_mem", "1kB", "22023"}, {"work_mem", "x", "22023"},
		{"statement_timeout", "1500", "1500ms"}, {"statement_timeout", "2min", "2min"}, {"statement_timeout", "0", "0"}, {"statement_timeout", "-1", "22023"},
		{"jit", "TRUE", "on"}, {"jit", "0", "off"}, {"jit", "maybe", "22023"}, {"extra_float_digits", "3", "3"}, {"extra_float_digits", "x", "22023"},
		{"client_encoding", "utf-8", "UTF8"}, {"client_encoding", "latin1", "0A000"}, {"default_transaction_isolation", "Serializable", "serializable"},
		{"default_transaction_isolation", "chaos", "22023"}, {"TimeZone", "Europe/Berlin", "Europe/Berlin"}, {"timezone", "Nowhere/Land", "22023"},
		{"server_version", "9", "22023"}, {"nosuch", "1", "42704"}, {"my.option", "x", "x"}, {"age.nosuch", "1", "42704"}, {"hedgerow.nosuch", "1", "42704"},
		{"synchronous_commit", "off", "off"}, {"synchronous_commit", "true", "on"}, {"standard_conforming_strings", "off", "22023"},
	} {
		err := s.Set(c.name, c.set, false)
		got := code(err)
		if err == nil {
			got = s.Setting(c.name)
		}
		if got != c.show {
			t.Errorf("SET %s = %s: %s, want %s (%v)", c.name, c.set, got, c.show, err)
		}
	}
	if err := s.Reset("work_mem"); err != nil || s.Setting("work_mem") != "2MB" {
		t.Errorf("RESET goes back to the database's own value, not to %s (%v)", s.Setting("work_mem"), err)
	}
	err := s.Set("wrok_mem", "1", false)
	if e := dberr.As(err); !strings.Contains(e.Hint, "work_mem") {
		t.Errorf("no hint for a slip of the pen: %v", e.Hint)
	}
}

// TestMainIsMade: the default graph appears at first use, under every isolation level (rules D2).
func TestMainIsMade(t *testing.T) {
	for _, begin := range []string{"", "BEGIN; ", "BEGIN ISOLATION LEVEL REPEATABLE READ; ", "BEGIN ISOLATION LEVEL SERIALIZABLE; "} {
		for _, q := range []string{"SELECT * FROM cypher('main', $$ RETURN 1 $$) AS (a int)", "RETURN 1 AS a"} {
			s := open(t, database(t))
			if got := must(t, s, begin+q); !strings.HasSuffix(got, "1 SELECT 1") {
				t.Errorf("%s%s: %s", begin, q, got)
			}
		}
	}
	s := open(t, database(t))
	if _, err := run(s, "SELECT * FROM cypher('other', $$ RETURN 1 $$) AS (a int)"); code(err) != "3F000" {
		t.Error(err)
	}
}

// brokenTx is a transaction whose rollback panics.
type brokenTx struct{ store.Tx }

func (brokenTx) Rollback() error { panic("rollback") }

type criticalTx struct{ store.Tx }

func (criticalTx) InCritical() bool { return true }
func (criticalTx) Rollback() error  { return nil }

// TestAbort: a panic is an error, unless it came out of a critical section (rules A11).
func TestAbort(t *testing.T) {
	s := open(t, database(t))
	must(t, s, "BEGIN; SELECT 1")
	if !s.Abort() || s.Status() != 'E' {
		t.Error("a panic in a block makes the block fail")
	}
	must(t, s, "ROLLBACK")
	must(t, s, "BEGIN; SELECT 1")
	s.Rollback()
	s.tx = brokenTx{}
	if s.Abort() {
		t.Error("a session whose rollback fails is of no use")
	}
	must(t, s, "SELECT 1")
	s.tx = criticalTx{}
	ended := 0
	was := exit
	exit = func(c int) { ended = c }
	defer func() { exit = was }()
	s.Abort()
	if ended != 134 {
		t.Errorf("a panic inside a critical section must end the process, exit code %d", ended)
	}
}

func TestCopyFormats(t *testing.T) {
	cols := []Column{{"a", sqltype.Text}, {"b,c", sqltype.Int4}}
	rows := [][]value.Value{{value.NewString("x\ty\\\n"), value.NewInt(1)}, {value.NewString(""), {}}, {value.NewString(`\.`), value.NewInt(-2)}, {value.NewString(`q"q`), {}}}
	for _, c := range []struct {
		options map[string]string
		want    string
	}{
		{map[string]string{}, "x\\ty\\\\\\n\t1\n\t\\N\n\\\\.\t-2\nq\"q\t\\N\n"},
		{map[string]string{"format": "csv", "header": ""}, "a,\"b,c\"\n\"x\ty\\\n\",1\n\"\",\n\"\\.\",-2\n\"q\"\"q\",\n"},
		{map[string]string{"format": "csv", "quote": "'", "escape": `\`, "null": "-"}, "'x\ty\\\\\n',1\n,-\n'\\\\.',-2\nq\"q,-\n"},
		{map[string]string{"format": "csv", "force_quote": "a"}, "\"x\ty\\\n\",1\n\"\",\n\"\\.\",-2\n\"q\"\"q\",\n"},
	} {
		f, err := NewCopyFormat(c.options)
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.Head(nil, cols)
		for _, r := range rows {
			if err == nil {
				out, err = f.Row(out, cols, r)
			}
		}
		out = f.Tail(out)
		if err != nil || !bytes.Equal(out, []byte(c.want)) {
			t.Errorf("%v:\n got %q\nwant %q %v", c.options, out, c.want, err)
		}
	}
	for _, bad := range []map[string]string{{"format": "xml"}, {"delimiter": "ab"}, {"nosuch": ""}, {"format": "binary", "header": "true"}} {
		if _, err := NewCopyFormat(bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// TestSettingsReference holds docs/sql.md's table against the settings that there are. HEDGEROW_PRINT_SETTINGS=1 prints the table.
func TestSettingsReference(t *testing.T) {
	doc, err := os.ReadFile("../../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, name := range settingNames() {
		d := settings[strings.ToLower(name)]
		initial := d.show(d.initial)
		if initial == "" {
			initial = "–"
		} else {
			initial = "`" + initial + "`"
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s |", name, initial, d.help))
	}
	if os.Getenv("HEDGEROW_PRINT_SETTINGS") != "" {
		fmt.Println(strings.Join(lines, "\n"))
		return
	}
	for _, l := range lines {
		if !strings.Contains(string(doc), l+"\n") {
			t.Errorf("docs/sql.md lacks\n%s", l)
		}
	}
}
