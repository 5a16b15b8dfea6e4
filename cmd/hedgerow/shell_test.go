package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the test binary be the program itself, for tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv("HEDGEROW_TEST_MAIN") != "" {
		os.Unsetenv("HEDGEROW_TEST_MAIN")
		main()
		return
	}
	os.Exit(m.Run())
}

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestShellScripts(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir, "good.cypher", "// people\nCREATE (:P {n: 1,\n  s: 'a;b'});\n\n:param who => 1 + 1\nCREATE (:P {n: $who});\nMATCH (p:P) RETURN p.n AS n, p.s AS s ORDER BY n\n")
	bad := write(t, dir, "bad.cypher", "RETURN 1 AS one;\n\nRETURN 2\n  AS two,\n  nothing;\nRETURN 3 AS three;\n")
	sql := write(t, dir, "s.sql", "-- it's a comment\nSELECT 1 AS a; -- and; another\nSELECT 'x--y' AS b;\n")
	for _, c := range []struct {
		name  string
		args  []string
		stdin string
		code  int
		out   string // exact, if it ends with $; else contained
		errs  string
	}{
		{"one statement", []string{"-c", "RETURN 1 AS a, 'x' AS b, null AS c, [1.5, true] AS d"}, "", 0, "╭───┬─────┬──────┬─────────────╮\n│ a │ b   │ c    │ d           │\n├───┼─────┼──────┼─────────────┤\n│ 1 │ 'x' │ null │ [1.5, true] │\n╰───┴─────┴──────┴─────────────╯\n1 row\n$", ""},
		{"several statements", []string{"--format", "csv", "-c", "RETURN 1 AS a; RETURN 'x\"y' AS b, null AS n"}, "", 0, "a\n1\nb,n\n\"x\"\"y\",\n$", ""},
		{"json", []string{"--format", "json", "-c", "RETURN 1 AS a, 'x' AS b, [null, {k: 1.5}] AS c, date('2020-01-01') AS d, 9007199254740993 AS e"}, "", 0,
			`{"a": 1, "b": "x", "c": [null,{"k":1.5}], "d": {"$type":"Date","_value":"2020-01-01"}, "e": {"$type":"Integer","_value":"9007199254740993"}}` + "\n$", ""},
		{"counters", []string{"-c", "CREATE (:A {x: 1})-[:R]->(:B)"}, "", 0, "Created 2 nodes, created 1 relationship, set 1 property, added 2 labels\n$", ""},
		{"index counters", []string{"-c", "CREATE INDEX FOR (a:A) ON (a.x)"}, "", 0, "Added 1 index\n$", ""},
		{"paths are drawn", []string{"--format", "csv", "-c", "CREATE p = (:A {x: 1})-[:R {w: 2}]->(:B)<-[:S]-(:C) RETURN p"}, "", 0, "p\n<(:A {x: 1})-[:R {w: 2}]->(:B)<-[:S]-(:C)>\n$", ""},
		{"plan", []string{"-c", "EXPLAIN MATCH (n:A) RETURN n.x"}, "", 0, "└─", "there is no label `A`"},
		{"profile", []string{"-c", "UNWIND range(1,3) AS i CREATE (:A {i: i}); PROFILE MATCH (n:A) RETURN n.i"}, "", 0, "rows", ""},
		{"a file", []string{"--format", "csv", "-f", good}, "", 0, "n,s\n1,a;b\n2,\n$", ""},
		{"standard input", []string{"--format", "csv"}, "CREATE (:X); \nMATCH (x:X)\nRETURN count(x) AS n;\n:format json\nRETURN 'ü' AS u", 0, "n\n1\n{\"u\": \"ü\"}\n$", ""},
		{"standard input as a file", []string{"--format", "csv", "-f", "-"}, "RETURN 5 AS five", 0, "five\n5\n$", ""},
		{"sql", []string{"--lang", "sql", "--format", "csv", "-f", sql}, "", 0, "a\n1\nb\nx--y\n$", ""},
		{"a fault names file and line", []string{"--format", "csv", "-f", bad}, "", 1, "one\n1\n$", bad + ":5: error: "},
		{"a fault goes on", []string{"--continue", "--format", "csv", "-f", bad}, "", 1, "one\n1\nthree\n3\n$", "42703"},
		{"a caret", []string{"-c", "MATCH (n)\nRETURN m"}, "", 1, "$", "  RETURN m\n         ^\n"},
		{"did you mean", []string{"-c", "CREATE (:Person {name: 'Ada'}); MATCH (p:Persn) RETURN p"}, "", 0, "0 rows", "note: there is no label `Persn` (Did you mean `Person`?)"},
		{"no such file", []string{"-f", filepath.Join(dir, "none")}, "", 1, "$", "no such file"},
		{"usage: format", []string{"--format", "xml", "-c", "RETURN 1"}, "", 2, "$", "unknown format \"xml\""},
		{"usage: lang", []string{"--lang", "gql"}, "", 2, "$", "--lang is cypher or sql"},
		{"usage: flag", []string{"--nonsense"}, "", 2, "$", "unknown flag"},
		{"usage: both", []string{"--data", dir, "--url", "x"}, "", 2, "$", "not both"},
		{"usage: argument", []string{"what"}, "", 2, "$", "--data what"},
		{"several -c", []string{"-c", "RETURN 1 AS a", "-c", "RETURN 2 AS b", "--format", "csv"}, "", 0, "a\n1\nb\n2\n", ""},
		{"a write that changes nothing", []string{"-c", "MATCH (n) DELETE n"}, "", 0, "No changes\n", ""},
		{"dates in CSV", []string{"-c", "RETURN date('2020-01-02') AS d, duration('P1D') AS p, ['x'] AS l", "--format", "csv"}, "", 0, "d,p,l\n2020-01-02,P1D,['x']\n", ""},
		{"transaction", []string{"--format", "csv", "-c", ":begin\nCREATE (:T);\n:rollback\n:begin\nCREATE (:T), (:T);\n:commit\nMATCH (t:T) RETURN count(t) AS n;"}, "", 0, "n\n2\n$", ""},
		{"a failed transaction", []string{"--continue", "--format", "csv", "-c", "BEGIN; CREATE (:T); RETURN 1/0; RETURN 1; COMMIT; MATCH (t:T) RETURN count(t) AS n"}, "", 1, "1/0\nn\n0\n$", "25P02"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := hedge(t, c.stdin, append([]string{"shell"}, c.args...)...)
			want, exact := strings.CutSuffix(c.out, "$")
			if code != c.code || exact && out != want || !exact && !strings.Contains(out, want) || !strings.Contains(errs, c.errs) || c.errs == "" && errs != "" {
				t.Errorf("exit %d, want %d\nout  %q\nwant %q\nerrs %q\nwant %q", code, c.code, out, want, errs, c.errs)
			}
		})
	}
}

// shellCommands is run by the embedded shell and over a server, with equal answers.
func shellCommands(t *testing.T, args ...string) {
	dir := t.TempDir()
	people := write(t, dir, "people.csv", "id,name\n1,Ada\n2,Bo\n")
	knows := write(t, dir, "knows.csv", "Person.id|Person.id\n1|2\n")
	script := write(t, dir, "more.cypher", "RETURN 'from a file' AS x;\n")
	export, exportJSON := filepath.Join(dir, "out.csv"), filepath.Join(dir, "out.json")
	code, out, errs := hedge(t, strings.Join([]string{
		":import " + people,
		`:import --delimiter '|' KNOWS=` + knows,
		":schema", `\d`, ":graphs", ":help",
		":param name => 'A' + 'da'", ":param list => [1, 'x', date('2020-01-01')]", ":params",
		"MATCH (p:Person {name: $name})-[:KNOWS]->(f) RETURN f.name AS friend, $list[1] AS x;",
		":read " + script, `\i ` + script,
		":export " + export + " MATCH (p:Person) RETURN p.id AS id, p.name AS name ORDER BY id;",
		":export " + exportJSON + " RETURN 1 AS one",
		`\timing on`, "RETURN 7 AS seven;", `\timing`, ":explain MATCH (p:Person {id: 1}) RETURN p",
		":sql SELECT create_graph('other')", ":use other", "CREATE (:O);", ":use", ":use main",
		":sql SELECT 1 + 1 AS two", ":sql", "SELECT 'sql' AS lang;", ":cypher RETURN 'cypher' AS lang", ":cypher",
		":format json", "RETURN {a: [1, null]} AS m;", ":format csv", "RETURN 'x' AS plain;", ":set work_mem 8MB", ":sql SHOW work_mem", ":q", "RETURN 'never'",
	}, "\n"), append([]string{"shell"}, args...)...)
	if code != 0 || errs != "note: graph \"other\" has been created\n" {
		t.Errorf("exit %d, %s", code, errs)
	}
	for _, want := range []string{"loaded 2 nodes and 0 relationships", "loaded 0 nodes and 1 relationship", ":Person", "[:KNOWS]", "(:Person) (id)", "IS UNIQUE", "* main",
		":rollback", "name => 'Ada'", "list => [1, 'x', '2020-01-01']", "│ 'Bo'   │ 'x' │", "'from a file'", "2 rows written to " + export, "1 row, ", "Timing is off",
		"UniqueSeek", "\nother\n", "│ two │", "'cypher'", `{"m": {"a":[1,null]}}`, "plain\nx\n", "8MB"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in the output", want)
		}
	}
	if strings.Contains(out, "never") || strings.Count(out, "from a file") != 2 {
		t.Error(":q or :read went wrong")
	}
	if t.Failed() {
		t.Log(out)
	}
	for path, want := range map[string]string{export: "id,name\n1,Ada\n2,Bo\n", exportJSON: "{\"one\": 1}\n"} {
		if b, _ := os.ReadFile(path); string(b) != want {
			t.Errorf("%s: %q", path, b)
		}
	}
	for _, c := range [][2]string{{":nonsense", "there is no command :nonsense; :help"}, {":qiut", "did you mean :quit?"}, {":sch", "did you mean :schema?"}, {":timing maybe", "on or off"}, {":export x.txt RETURN 1", ".csv or .json"}, {":param x", ":param takes"}, {":param x => 1 +", "42601"}, {":read /none", "no such file"}, {":format xml", "unknown format"},
		{":set nonsense 1", "nonsense"}, {":import", ":import takes files"}, {":import /none.csv", "none.csv"}, {":sample x", "number of persons"}, {":use nowhere", "there is no graph nowhere"}, {":export x", ":export takes"},
		{":begin\nCREATE (:Q);\n:import " + people, "transactions of its own"}, {"RETURN $missing", "42P02"}} {
		if code, _, errs := hedge(t, c[0]+"\n", append([]string{"shell"}, args...)...); code != 1 || !strings.Contains(errs, c[1]) {
			t.Errorf("%s: exit %d, %q, want %q", c[0], code, errs, c[1])
		}
	}
}

func TestShellCommands(t *testing.T) {
	t.Run("data", func(t *testing.T) { shellCommands(t, "--data", filepath.Join(t.TempDir(), "a.hedge")) })
	t.Run("url", func(t *testing.T) { shellCommands(t, "--url", pgURL(t, filepath.Join(t.TempDir(), "a.hedge"))) })
}

func TestShellURL(t *testing.T) {
	url := pgURL(t, filepath.Join(t.TempDir(), "a.hedge"))
	args := func(more ...string) []string { return append([]string{"shell", "--url", url}, more...) }
	for _, c := range []struct {
		text, out, errs string
		code            int
	}{
		{"CREATE p = (:P {s: 'it''s \\\"q\\\" ä', d: date('2020-01-01'), f: 1.0})-[:R]->(:P) RETURN p", "", "42601", 1},
		{`CREATE p = (:P {s: 'say "hi"\n', d: date('2020-01-01'), f: 1.0})-[:R]->(:P) RETURN p, 'x' AS s, null AS n`, "p,s,n\n\"<(:P {d: '2020-01-01', f: 1.0, s: 'say \"\"hi\"\"\n'})-[:R]->(:P)>\",x,\n", "", 0},
		{"MATCH (p:P)\nRETURN q", "", "  RETURN q\n         ^", 1},
		{"MATCH (p:PP) RETURN p", "p\n", "there is no label `PP`", 0},
		{":param a => 5\n:param b => 'x'\nRETURN $b AS b, $a + $a AS a, '$a' AS text // $a\n;", "b,a,text\nx,10,$a\n", "", 0},
		{":param a => 5\nRETURN $a,\n nothing;", "", "   nothing\n   ^", 1},
		{"RETURN 1 AS a; SELECT 2 AS b; RETURN 3 AS c", "a\n1\nb\n2\nc\n3\n", "", 0},
		{"BEGIN; CREATE (:Z); ROLLBACK; MATCH (z:Z) RETURN count(z) AS n", "n\n0\n", "", 0},
		{"USE main RETURN 1 AS one", "one\n1\n", "", 0},
	} {
		code, out, errs := hedge(t, "", args("--format", "csv", "-c", c.text)...)
		if code != c.code || out != c.out || !strings.Contains(errs, c.errs) {
			t.Errorf("%s: exit %d\nout  %q\nwant %q\nerrs %q", c.text, code, out, c.out, errs)
		}
	}
	if code, _, errs := hedge(t, "", "shell", "--url", "postgres://127.0.0.1:1/main", "-c", "RETURN 1"); code != 1 || !strings.Contains(errs, "127.0.0.1") {
		t.Errorf("no server: exit %d, %s", code, errs)
	}
	if code, _, errs := hedge(t, "", "shell", "--url", "nonsense://x", "-c", "RETURN 1"); code != 1 || !strings.Contains(errs, "postgres://") {
		t.Errorf("no address: exit %d, %s", code, errs)
	}
}

// TestLoadURL loads into a server: the same file, the same graph.
func TestLoadURL(t *testing.T) {
	dir := t.TempDir()
	url := pgURL(t, filepath.Join(dir, "a.hedge"))
	people := write(t, dir, "people.csv", "id,name,born:date,at:datetime,f,tags:string[],d:duration\n1,\"say \"\"hi\"\"\",2020-01-01,2020-01-01T10:00:00Z,1.5,a;b,P1D\n2,,,,2,,\n")
	knows := write(t, dir, "knows.csv", "Person.id,Person.id\n1,2\n2,3\n")
	code, out, errs := hedge(t, "", "load", "--url", url, "--nodes", "Person="+people)
	if code != 0 || !strings.Contains(out, "loaded 2 nodes") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	for range 2 { // another graph is made when it is missing
		if code, _, errs := hedge(t, "", "load", "--url", url, "--graph", "other", "--no-constraint", "--nodes", "Person="+people, "--quiet"); code != 0 {
			t.Errorf("another graph: exit %d, %s", code, errs)
		}
	}
	if code, out, errs := hedge(t, "", "shell", "--url", url, "--graph", "other", "--format", "csv", "-c", "MATCH (p:Person) RETURN count(p) AS n"); code != 0 || out != "n\n4\n" {
		t.Errorf("another graph: exit %d, %q %s", code, out, errs)
	}
	code, out, errs = hedge(t, "", "load", "--url", url, "--edges", "KNOWS="+knows)
	if code != 1 || !strings.Contains(errs, "knows.csv:3: there is no (:Person {id: 3})") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	code, out, errs = hedge(t, "", "load", "--url", url, "--edges", "KNOWS="+knows, "--skip-missing", "--batch", "1")
	if code != 0 || !strings.Contains(out, "loaded 0 nodes and 1 relationship") || !strings.Contains(out, "left out 1 relationship") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	code, _, errs = hedge(t, "", "load", "--url", url, "--nodes", "Person="+people)
	if code != 1 || !strings.Contains(errs, "people.csv:2: (:Person {id: 1}) exists already") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	code, out, errs = hedge(t, "", "shell", "--url", url, "--format", "csv", "-c", "MATCH (p:Person)-[:KNOWS]->(q) RETURN p, q, p.born.year AS y, p.at.hour AS h")
	if want := "p,q,y,h\n\"(:Person {d: 'P1D', f: 1.5, at: '2020-01-01T10:00Z', id: 1, born: '2020-01-01', name: 'say \"\"hi\"\"', tags: ['a', 'b']})\",\"(:Person {f: 2.0, id: 2})\",2020,10\n"; code != 0 || out != want {
		t.Errorf("exit %d\nout  %s\nwant %s%s", code, out, want, errs)
	}
}

func TestLoadCommand(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "a.hedge")
	people := write(t, dir, "people.csv", "id\tname\n1\tAda\n")
	if code, out, errs := hedge(t, "", "load", "--data", data, people, "--dry-run"); code != 0 || !strings.Contains(out, "people.csv: 1 node :Person (label guessed") || errs != "" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("--dry-run made a database")
	}
	if code, out, errs := hedge(t, "", "load", "--data", data, people, "--delimiter", `\t`, "--quiet"); code != 0 || out+errs != "" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	for _, args := range [][]string{{}, {"--data", data}, {people}, {"--data", data, "--url", "x", people}, {"--data", data, people, "--delimiter", "ab"}, {"--data", data, "--columns", "x", people},
		{"--data", data, "--edges", "A:B=" + people}, {"--data", data, people, "--batch", "-1"}, {"--data", data, people, "--batch", "x"}} {
		if code, _, errs := hedge(t, "", append([]string{"load"}, args...)...); code != 2 || !strings.Contains(errs, "load --help") {
			t.Errorf("%v: exit %d, %s", args, code, errs)
		}
	}
	if code, _, errs := hedge(t, "", "load", "--data", data, "--graph", "other", people, "--quiet"); code != 0 {
		t.Errorf("another graph: exit %d, %s", code, errs)
	}
	if code, out, errs := hedge(t, "", "shell", "--data", data, "--graph", "other", "--format", "csv", "-c", "MATCH (p:Person) RETURN count(p) AS n"); code != 0 || out != "n\n1\n" {
		t.Errorf("another graph: exit %d, %q %s", code, out, errs)
	}
	t.Setenv("HEDGEROW_DATA", data)
	if code, out, _ := hedge(t, "", "shell", "--format", "csv", "-c", "MATCH (p:Person) RETURN p.name AS n"); code != 0 || out != "n\nAda\n" {
		t.Errorf("HEDGEROW_DATA: exit %d, %q", code, out)
	}
	t.Setenv("HEDGEROW_BATCH", "many")
	if code, _, errs := hedge(t, "", "load", people); code != 2 || !strings.Contains(errs, "HEDGEROW_BATCH") {
		t.Errorf("a bad twin: exit %d, %s", code, errs)
	}
}
