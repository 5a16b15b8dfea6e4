package sql

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

var spanType = reflect.TypeOf(Span{})

// sameTree compares two trees but for spans.
func sameTree(a, b reflect.Value) bool {
	if a.Kind() != b.Kind() || a.IsValid() && a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return sameTree(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := 0; i < a.Len(); i++ {
			if !sameTree(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		if a.Type() == spanType {
			return true
		}
		for i := 0; i < a.NumField(); i++ {
			if f := a.Type().Field(i); f.Name == "Body" && f.Type.Kind() == reflect.Int32 || f.Name == "Text" && a.NumField() > 3 {
				continue
			}
			if !sameTree(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	default:
		return a.Equal(b)
	}
}

// checkSpans checks S3: every child lies within its parent and no span leaves the text. Names that a special form gives to
// a function, and the parts of a system type, lie where the form does.
func checkSpans(t *testing.T, text string, v reflect.Value, lo, hi int) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if n, ok := v.Interface().(Node); ok && v.Kind() == reflect.Pointer {
			if n.Pos() < lo || n.End() > hi || n.Pos() > n.End() {
				t.Fatalf("%q: %T at %d..%d lies outside of %d..%d", text, n, n.Pos(), n.End(), lo, hi)
			}
			lo, hi = n.Pos(), n.End()
		}
		checkSpans(t, text, v.Elem(), lo, hi)
	case reflect.Slice:
		for i := 0; i < v.Len(); i++ {
			checkSpans(t, text, v.Index(i), lo, hi)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			checkSpans(t, text, v.Field(i), lo, hi)
		}
	}
}

// roundTrip parses, checks spans, prints and parses again (S2, S3, S4).
func roundTrip(t *testing.T, text string) {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		return
	}
	checkSpans(t, text, reflect.ValueOf(s), 0, len(text))
	printed := Print(s)
	again, err := Parse(printed)
	if err != nil {
		t.Fatalf("%q printed as %q does not parse: %v", text, printed, err)
	}
	if !sameTree(reflect.ValueOf(s), reflect.ValueOf(again)) {
		t.Fatalf("%q printed as %q is another tree, printed as %q", text, printed, Print(again))
	}
}

// seeds hold each form of the grammar once.
var seeds = []string{
	"SELECT", "SELECT 1", "SELECT *, t.*, a.b.c, 1 AS x, 2 y, 'z' \"Z\" FROM t", "SELECT FROM t", "SELECT ALL a FROM ONLY t, s.t AS u (a, b), v*",
	"SELECT DISTINCT a FROM t", "SELECT DISTINCT ON (a, b) c FROM t", "SELECT a, count(*) FROM t WHERE b > 1 GROUP BY a, (b), ROLLUP (c, d), CUBE (e), GROUPING SETS ((), (f), ROLLUP (g)) HAVING count(*) > 1",
	"SELECT a FROM t GROUP BY DISTINCT a, ()", "SELECT a FROM t ORDER BY a DESC NULLS LAST, b ASC NULLS FIRST, c USING >, d USING OPERATOR(pg_catalog.<) LIMIT 1 OFFSET 2 ROWS FOR UPDATE OF t NOWAIT FOR KEY SHARE SKIP LOCKED",
	"SELECT a FROM t LIMIT ALL", "SELECT a FROM t OFFSET 1 FETCH FIRST 2 ROWS ONLY", "SELECT a FROM t ORDER BY 1 FETCH NEXT ROW WITH TIES", "SELECT 1 FOR READ ONLY",
	"SELECT 1 UNION SELECT 2 INTERSECT SELECT 3 EXCEPT ALL SELECT 4", "(SELECT 1) UNION ALL (SELECT 2 LIMIT 1) ORDER BY 1", "((SELECT 1))", "SELECT 1 UNION (SELECT 2 UNION SELECT 3)", "VALUES (1, 2), (3, DEFAULT) ORDER BY 1", "TABLE t", "TABLE ONLY s.t LIMIT 1",
	"WITH a AS (SELECT 1), b (x, y) AS MATERIALIZED (VALUES (1, 2)), c AS NOT MATERIALIZED (INSERT INTO t VALUES (1) RETURNING a) SELECT * FROM a, b, c", "WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) TABLE a", "WITH a AS (SELECT 1) (SELECT 2) LIMIT 1",
	"SELECT * FROM a JOIN b ON a.x = b.x LEFT OUTER JOIN c USING (x, y) RIGHT JOIN d USING (z) AS j FULL JOIN e ON true CROSS JOIN f NATURAL JOIN g NATURAL LEFT JOIN h INNER JOIN i ON true",
	"SELECT * FROM a JOIN b JOIN c ON 1 = 1 ON 2 = 2", "SELECT * FROM (a JOIN b ON true) AS x JOIN (c CROSS JOIN d) ON true", "SELECT * FROM (SELECT 1) x, LATERAL (SELECT x.a) AS y (b), ((SELECT 1) UNION SELECT 2) z, ((SELECT 1) AS q JOIN t ON true)",
	"SELECT * FROM f(1) AS x, LATERAL g(x.a) WITH ORDINALITY AS y (a, b), h() AS (a int, b text COLLATE \"C\"), i() z (a int), ROWS FROM (j(1) AS (a int), k(2)) WITH ORDINALITY AS w, current_date AS d, CAST('x' AS text) c",
	"SELECT * FROM t TABLESAMPLE system(1)", "SELECT * FROM cypher('social', $$ MATCH (n) RETURN n $$, $1) AS (n agtype)", "SELECT * FROM ag_catalog.cypher('g', $x$ RETURN '$$' $x$) AS v(a ag_catalog.agtype, b agtype)",
	"SELECT a + b * c ^ d - -e / f % g, - -5, -5, +5, -9223372036854775808, 9223372036854775808, 1.5, .5, 1., 1e3, -1.5e-3, 0",
	"SELECT a = b, a <> b, a != b, a < b, a || b -> 'c' ->> 'd' #> '{}' @> e, @ a, ~ b, ! c, a ? 'b', a ?| b, a <-> b, a OPERATOR(pg_catalog.~) b, OPERATOR(pg_catalog.-) a",
	"SELECT a AND b OR NOT c AND NOT NOT d, (a OR b) AND c, NOT a = b, (a = b) = c",
	"SELECT a IS NULL, a IS NOT NULL, a ISNULL, a NOTNULL, a IS TRUE, a IS NOT FALSE, a IS UNKNOWN, a IS DOCUMENT, a IS NFD NORMALIZED, a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b + 1, a IS NULL IS TRUE, a IS NULL = b",
	"SELECT a BETWEEN 1 AND 2, a NOT BETWEEN SYMMETRIC b + 1 AND c, a BETWEEN (b IS NULL) AND c AND d, a IN (1, 2), a NOT IN (SELECT 1), (a, b) IN ((1, 2), (3, 4)), a IN ((SELECT 1)), a IN ((SELECT 1), 2)",
	"SELECT a LIKE 'b' ESCAPE '!', a NOT ILIKE b || c, a SIMILAR TO b, a NOT SIMILAR TO b ESCAPE c, a LIKE ANY (b), a NOT ILIKE ALL (ARRAY['x']), a = ANY ('{1}'), a <> ALL (SELECT 1), a > SOME ((SELECT 1)), a OPERATOR(pg_catalog.=) ANY (b)",
	"SELECT a::int, a::pg_catalog.regclass, a::\"regtype\", a::numeric(10, 2)[], a::int[3][], a::int ARRAY[4], CAST(a AS timestamp(3) with time zone), a::double precision, a::character varying(3), a::bit varying, a::char, a::\"char\", a::float(3), a::time without time zone, a::interval day to second(3), a::interval(2), a::varchar, (-5)::text, -5::text",
	"SELECT date '2020-01-01', timestamp with time zone 'x', interval '1' day, interval '1-2' year to month, interval(3) 'x', char 'x', bit '1', double precision '1', numeric(3) '1', s.t 'x', nchar 'x', time(3) 'x', interval '1' second(2)",
	"SELECT 'it''s', E'a\\n\\'\\x41\\101\\u00e9\\U0001F600\\ud83d\\ude00', U&'d\\0061t\\+000061', U&'d!0061' UESCAPE '!', N'x', B'101', X'1F', $$a$$, $q$a$$b$q$, 'a'\n'b', U&\"d\\0061t\"",
	"SELECT f(), f(a, b), s.f(DISTINCT a ORDER BY b DESC), f(ALL a), f(a => 1, b := 2), f(VARIADIC ARRAY[1]), count(*) FILTER (WHERE a), percentile_cont(0.5) WITHIN GROUP (ORDER BY a), left('a', 1), f(t.*)",
	"SELECT row_number() OVER (PARTITION BY a ORDER BY b), sum(a) OVER w, sum(a) OVER (w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES), sum(a) OVER (RANGE UNBOUNDED PRECEDING), sum(a) OVER (GROUPS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM t WINDOW w AS (PARTITION BY c), x AS (w ORDER BY d)",
	"SELECT coalesce(a, b), nullif(a, b), greatest(a), least(a, b), grouping(a), extract(day FROM a), extract('epoch' from a), position('a' IN b), overlay(a PLACING b FROM 1 FOR 2), overlay(a, b, 1), substring(a FROM 1 FOR 2), substring(a FOR 2), substring(a FROM '.'), substring(a SIMILAR b ESCAPE c), substring(a, 1), trim(a), trim(both '\"' from a), trim(LEADING FROM a), trim(trailing 'x' from a), normalize(a, NFKC), collation for (a)",
	"SELECT current_date, current_time(3), current_timestamp, localtime, localtimestamp(0), current_user, session_user, user, current_role, current_catalog, current_schema, current_schema()",
	"SELECT CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END, CASE a WHEN 1 THEN 2 END, EXISTS (SELECT 1), (SELECT 1), ((SELECT 1)), ((SELECT 1) + 2), (((SELECT 1) UNION (SELECT 2))), ARRAY[1, 2], ARRAY[[1], [2]], ARRAY[], ARRAY(SELECT 1), ROW(1, 2), ROW(), (1, 2), ROW(t.*)",
	"SELECT a[1], a.b[1:2], a[:2][1:], a[:], (f(x)).y, (a).b, (a).*, (a[1]).b, a[1].b, $1.x, $1[1], (SELECT a)[1], ((SELECT a)).b, (ARRAY[1])[1], (a + b).c, ((a).b)[1]",
	"SELECT a COLLATE \"C\", a COLLATE pg_catalog.default || b, a AT TIME ZONE 'x' AT TIME ZONE b, (a, b) OVERLAPS (c, d), NULL, TRUE, false, $1 + $2",
	"SELECT time, timestamp, int, a.select, a.\"Select\", \"A b\" FROM t", "SELECT a AS select, b type, c value, d \"from\" FROM t",
	"INSERT INTO t VALUES (1, DEFAULT)", "INSERT INTO s.t AS x (a, b[1], c.d) OVERRIDING SYSTEM VALUE SELECT 1 ON CONFLICT (a, lower(b) COLLATE \"C\" text_ops) WHERE a > 1 DO UPDATE SET a = excluded.a, (b, c) = (1, 2), d = DEFAULT WHERE t.a > 1 RETURNING *, a AS b",
	"INSERT INTO t DEFAULT VALUES", "INSERT INTO t (SELECT 1)", "INSERT INTO t (a) (SELECT 1) ON CONFLICT DO NOTHING", "INSERT INTO t TABLE u ON CONFLICT ON CONSTRAINT c DO NOTHING", "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
	"UPDATE ONLY t AS x SET a = 1, b.c = 2, (d, e) = (SELECT 1, 2) FROM u, v WHERE x.a = u.a RETURNING a", "UPDATE t SET a = DEFAULT WHERE CURRENT OF c", "WITH a AS (SELECT 1) UPDATE t x SET a = 1",
	"DELETE FROM t USING u WHERE t.a = u.a RETURNING *", "DELETE FROM t AS x WHERE CURRENT OF c", "TRUNCATE TABLE a, ONLY b RESTART IDENTITY CASCADE",
	"COPY t FROM STDIN", "COPY s.t (a, b) TO STDOUT WITH (FORMAT csv, HEADER, DELIMITER ';', FORCE_QUOTE (a, b), NULL 'x')", "COPY (SELECT 1) TO STDOUT (FORMAT binary)", "COPY t FROM STDIN BINARY", "COPY BINARY t TO 'f'", "COPY t FROM STDIN CSV HEADER QUOTE AS '\"' ESCAPE '\\' NULL '' FORCE NOT NULL a, b WHERE a > 1", "COPY t TO STDOUT CSV FORCE QUOTE *", "copy \"t\" ( \"id\", \"name\" ) from stdin binary;",
	"CREATE TABLE t (a int PRIMARY KEY, b text NOT NULL DEFAULT 'x' COLLATE \"C\", c numeric(3, 1) CHECK (c > 0) NO INHERIT, d int REFERENCES u (x) ON DELETE CASCADE ON UPDATE SET NULL DEFERRABLE INITIALLY DEFERRED, e int GENERATED ALWAYS AS (a + 1) STORED, f bigint GENERATED BY DEFAULT AS IDENTITY (START WITH 5 INCREMENT BY -1 NO CYCLE), g int UNIQUE, h int NULL, CONSTRAINT pk PRIMARY KEY (a, b), UNIQUE (c), FOREIGN KEY (d, e) REFERENCES v MATCH FULL, CHECK (a > b), LIKE w INCLUDING ALL) INHERITS (x, y) WITH (fillfactor = 70, a.b) ON COMMIT DELETE ROWS",
	"CREATE TEMP TABLE IF NOT EXISTS t ()", "CREATE UNLOGGED TABLE t (exclude int)", "CREATE TABLE t AS SELECT 1 WITH NO DATA", "CREATE TABLE t (a, b) AS VALUES (1, 2)", "CREATE TABLE t AS EXECUTE p(1)", "CREATE LOCAL TEMPORARY TABLE t (a int) ON COMMIT DROP",
	"CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS i ON ONLY s.t USING gin (a, (b + 1) DESC NULLS LAST, lower(c) COLLATE \"C\" x.text_ops ASC) INCLUDE (d) WITH (fillfactor = 70) WHERE a > 1", "CREATE INDEX ON t (a)", "CREATE INDEX ON g.\"L\" (agtype_access_operator(properties,'\"name\"'::agtype))",
	"CREATE OR REPLACE VIEW v (a) WITH (security_barrier) AS SELECT 1 WITH LOCAL CHECK OPTION", "CREATE TEMP RECURSIVE VIEW v (a) AS SELECT 1", "CREATE MATERIALIZED VIEW IF NOT EXISTS v AS SELECT 1 WITH DATA",
	"CREATE SCHEMA IF NOT EXISTS s AUTHORIZATION o", "CREATE SCHEMA AUTHORIZATION o", "CREATE EXTENSION IF NOT EXISTS age WITH SCHEMA s VERSION '1.5' CASCADE", "CREATE SEQUENCE s AS bigint INCREMENT 2 MINVALUE -5 NO MAXVALUE CACHE 3 CYCLE OWNED BY t.a",
	"ALTER TABLE IF EXISTS ONLY t ADD COLUMN IF NOT EXISTS a int DEFAULT 1, DROP b CASCADE, ALTER c TYPE text USING c::text, ALTER COLUMN d SET DEFAULT 1, ALTER d DROP DEFAULT, ALTER e SET NOT NULL, ALTER e DROP NOT NULL, ADD CONSTRAINT x CHECK (a > 1), DROP CONSTRAINT IF EXISTS y, OWNER TO current_user",
	"ALTER TABLE t RENAME a TO b", "ALTER TABLE t RENAME TO u", "ALTER TABLE t RENAME CONSTRAINT a TO b", "ALTER TABLE t SET SCHEMA s",
	"DROP TABLE IF EXISTS a, s.b CASCADE", "DROP INDEX CONCURRENTLY i RESTRICT", "DROP SCHEMA s", "DROP MATERIALIZED VIEW v", "DROP EXTENSION age",
	"BEGIN", "BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY DEFERRABLE", "START TRANSACTION READ WRITE, NOT DEFERRABLE", "begin read only", "COMMIT WORK AND NO CHAIN", "END TRANSACTION AND CHAIN", "ROLLBACK", "ABORT", "SAVEPOINT \"_pg3_1\"", "RELEASE savepoint", "RELEASE SAVEPOINT a", "ROLLBACK TO a", "ROLLBACK WORK TO SAVEPOINT a",
	"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET LOCAL TRANSACTION READ ONLY", "SET TRANSACTION SNAPSHOT 'x'", "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", "SET CONSTRAINTS ALL DEFERRED", "SET CONSTRAINTS a, b IMMEDIATE", "LOCK TABLE a, ONLY b IN ACCESS EXCLUSIVE MODE NOWAIT", "LOCK a",
	"SET a TO b", "SET SESSION a.b = 'x', \"Y\", 1, -2.5, on, off, true", "SET LOCAL search_path TO ag_catalog, \"$user\", public", "SET TIME ZONE 'UTC'", "SET TIME ZONE LOCAL", "SET TIME ZONE -5", "SET TIME ZONE INTERVAL '1' HOUR TO MINUTE", "SET NAMES 'utf8'", "SET NAMES", "SET ROLE none", "SET role = 'x'", "SET SESSION AUTHORIZATION DEFAULT", "SET SCHEMA 'x'", "SET XML OPTION document", "SET x TO DEFAULT", "SET extra_float_digits = 3", "SET session TO 1",
	"RESET ALL", "RESET a.b", "RESET TIME ZONE", "SHOW ALL", "SHOW a", "SHOW TRANSACTION ISOLATION LEVEL", "DISCARD ALL", "DISCARD TEMPORARY", "LOAD 'age'", "LISTEN c", "UNLISTEN *", "UNLISTEN c", "NOTIFY c, 'x'", "NOTIFY c",
	"PREPARE p (int, agtype) AS SELECT $1", "PREPARE p AS INSERT INTO t VALUES ($1)", "EXECUTE p(1, 'x')", "EXECUTE p", "DEALLOCATE PREPARE p", "DEALLOCATE ALL", "DEALLOCATE prepare",
	"DECLARE c BINARY INSENSITIVE NO SCROLL CURSOR WITH HOLD FOR SELECT 1", "DECLARE c CURSOR FOR VALUES (1)", "FETCH c", "FETCH NEXT FROM c", "FETCH next", "FETCH ALL IN c", "FETCH FORWARD 5 FROM c", "FETCH BACKWARD ALL IN c", "FETCH ABSOLUTE -1 c", "FETCH RELATIVE 2 FROM c", "FETCH FIRST FROM c", "FETCH LAST c", "FETCH PRIOR c", "FETCH -5 FROM c", "MOVE 3 c", "MOVE FORWARD c", "CLOSE c", "CLOSE ALL",
	"EXPLAIN SELECT 1", "EXPLAIN ANALYZE VERBOSE SELECT 1", "EXPLAIN (ANALYZE, VERBOSE off, FORMAT json, COSTS false) UPDATE t SET a = 1", "EXPLAIN (SELECT 1)", "EXPLAIN EXECUTE p", "EXPLAIN CREATE TABLE t AS SELECT 1", "EXPLAIN DECLARE c CURSOR FOR SELECT 1",
	"VACUUM", "VACUUM FULL FREEZE VERBOSE ANALYZE t (a, b), u", "VACUUM (FULL, ANALYZE false) t", "ANALYZE", "ANALYZE VERBOSE t", "ANALYZE (VERBOSE) t", "REINDEX TABLE t", "REINDEX INDEX CONCURRENTLY i", "REINDEX DATABASE", "CHECKPOINT", "COMMENT ON TABLE t IS 'x'", "COMMENT ON COLUMN t.a IS NULL",
	"GRANT SELECT, INSERT ON t, u TO a, PUBLIC WITH GRANT OPTION", "GRANT ALL PRIVILEGES ON SCHEMA s TO CURRENT_USER", "REVOKE GRANT OPTION FOR UPDATE ON ALL TABLES IN SCHEMA s FROM a CASCADE", "GRANT a TO b", "REVOKE ALL ON DATABASE d FROM public",
	"", ";", "-- ping", "/* /* */ */ SELECT /* a */ 1 -- b\n;",
}

func TestSeedsParse(t *testing.T) {
	for _, s := range seeds {
		if _, err := Parse(s); err != nil {
			e := dberr.As(err)
			t.Errorf("%s\n%s^ %v", s, strings.Repeat(" ", e.Pos), err)
			continue
		}
		roundTrip(t, s)
	}
}

// FuzzParse: whatever parses prints to an equal tree, with spans in place; nothing panics.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		roundTrip(t, text)
		for _, span := range Split(text) {
			if span.Start > span.Stop || span.End() > len(text) {
				t.Fatalf("%q: statement at %v", text, span)
			}
		}
	})
}

// TestLimits: rules C12.
func TestLimits(t *testing.T) {
	rep := strings.Repeat
	ok := dberr.Code(0)
	for _, c := range []struct {
		name, text string
		code       dberr.Code
	}{
		{"parentheses", "SELECT " + rep("(", 5000) + "1" + rep(")", 5000), dberr.StatementTooComplex},
		{"parentheses at the limit", "SELECT " + rep("(", MaxNesting) + "1" + rep(")", MaxNesting), ok},
		{"sums at the limit", "SELECT " + rep("(1 + ", MaxNesting) + "1" + rep(")", MaxNesting), ok},
		{"calls at the limit", "SELECT " + rep("f(", MaxNesting) + "1" + rep(")", MaxNesting), ok},
		{"queries at the limit", rep("(", MaxNesting) + "SELECT 1" + rep(")", MaxNesting), ok},
		{"queries as values", "SELECT " + rep("(", MaxNesting) + "SELECT 1" + rep(")", MaxNesting), ok},
		{"open parentheses", "SELECT " + rep("(", 1<<20), dberr.StatementTooComplex},
		{"NOT", "SELECT " + rep("NOT ", 1<<16) + "true", dberr.StatementTooComplex},
		{"minus", "SELECT " + rep("- ", 1<<16) + "x", dberr.StatementTooComplex},
		{"CASE", "SELECT " + rep("CASE ", 1<<16) + "x", dberr.StatementTooComplex},
		{"joins inside", "SELECT * FROM t" + rep(" JOIN t", 1<<16), dberr.StatementTooComplex},
		{"long sum", "SELECT 1" + rep(" + 1", 1<<20), dberr.StatementTooComplex},
		{"long casts", "SELECT 1" + rep("::int", 1<<20), dberr.StatementTooComplex},
		{"long subscripts", "SELECT a" + rep("[1]", 1<<20), dberr.StatementTooComplex},
		{"long unions", "SELECT 1" + rep(" UNION SELECT 1", 1<<18), dberr.StatementTooComplex},
		{"long joins", "SELECT * FROM t" + rep(" CROSS JOIN t", 1<<18), dberr.StatementTooComplex},
		{"EXPLAIN", rep("EXPLAIN ", 1<<16) + "SELECT 1", dberr.Syntax},
		{"PREPARE", rep("PREPARE p AS ", 1<<16) + "SELECT 1", dberr.Syntax},
		{"WITH", rep("WITH a AS (", 2000) + "SELECT 1" + rep(") SELECT 1", 2000), dberr.StatementTooComplex},
		{"OR of 100,000", "SELECT a" + rep(" OR a", 100_000), ok},
		{"IN of 100,000", "SELECT a IN (1" + rep(", 1", 100_000) + ")", ok},
		{"rows", "INSERT INTO t VALUES (1)" + rep(", (1)", 100_000), ok},
		{"text", "SELECT '" + rep("x", MaxText) + "'", dberr.LimitExceeded},
		{"tokens", "SELECT " + rep("1,", maxTokens) + "1", dberr.LimitExceeded},
		{"parameter", "SELECT $65536", dberr.LimitExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Parse(c.text)
			switch {
			case c.code == ok && err != nil:
				t.Fatal(err)
			case c.code == ok:
				if _, err := Parse(Print(s)); err != nil {
					t.Fatal(err)
				}
			case err == nil:
				t.Fatal("no error")
			case dberr.As(err).Code != c.code:
				t.Fatalf("%v: %v", dberr.As(err).Code, err)
			}
		})
	}
}

// TestLinear: S2. Parentheses that may hold a query or an expression are looked at once, however many there are.
func TestLinear(t *testing.T) {
	rep := strings.Repeat
	for name, make := range map[string]func(n int) string{
		"values":  func(n int) string { return "SELECT 1" + rep(", "+rep("(", 900)+"1"+rep(")", 900), n) },
		"queries": func(n int) string { return "SELECT 1" + rep(", "+rep("((SELECT 1) + ", 400)+"1"+rep(")", 400), n) },
		"tables": func(n int) string {
			return "SELECT * FROM t" + rep(", "+rep("(", 900)+"SELECT 1"+rep(")", 899)+") x", n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			looks := func(n int) int {
				text := make(n)
				_, looks, err := parse(text)
				if err != nil {
					t.Fatal(err)
				}
				return looks + len(text)
			}
			// 64 times the text; quadratic would be 4,096 times the work.
			if small, large := looks(2), looks(128); large > 70*small {
				t.Errorf("64 times the text took %d steps instead of %d", large, 64*small)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	text := " SELECT 1; ; -- a;b\n SELECT ';' /* ; /* ; */ */ ;\n\tSELECT $x$ ; $$ ; $x$ ;SELECT E'\\';' ; SELECT 'open ; "
	var got []string
	for _, s := range Split(text) {
		got = append(got, text[s.Start:s.Stop])
	}
	want := []string{"SELECT 1", "SELECT ';'", "SELECT $x$ ; $$ ; $x$", `SELECT E'\';'`, "SELECT 'open ; "}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestDollarBody: S3. The body of a dollar-quoted string is found in the client's text.
func TestDollarBody(t *testing.T) {
	text := "SELECT * FROM cypher('g', $tag$ RETURN 1 $tag$) AS (a agtype)"
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	f := s.Body.(*Query).Body.(*Select).From[0].(*FuncTable)
	lit := f.Funcs[0].Func.(*Func).Args[1].Value.(*StringLit)
	if lit.Form != DollarString || lit.Value != " RETURN 1 " || text[lit.Body:int(lit.Body)+len(lit.Value)] != lit.Value {
		t.Errorf("%+v", lit)
	}
	if d := f.Alias.Defs; len(d) != 1 || d[0].Name.Name != "a" || d[0].Type.Name.Last() != "agtype" {
		t.Errorf("%+v", f.Alias)
	}
}

func TestNames(t *testing.T) {
	s, err := Parse(`SELECT FooBar, "FooBar", "a""b", ` + strings.Repeat("x", 70))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tg := range s.Body.(*Query).Body.(*Select).Targets {
		got = append(got, tg.Expr.(*ColumnRef).Parts[0].Name)
	}
	if want := []string{"foobar", "FooBar", `a"b`, strings.Repeat("x", 63)}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"one":    "SELECT 1",
		"cypher": "SELECT * FROM cypher('g', $$ MATCH (n) RETURN n.name $$) AS (name agtype)",
		"join":   "SELECT a.x, b.y, count(*) FROM a JOIN b ON a.id = b.a_id LEFT JOIN c ON c.id = b.c_id WHERE a.x > 10 AND b.y LIKE 'q%' GROUP BY a.x, b.y ORDER BY 3 DESC LIMIT 10",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestFirstWords(t *testing.T) {
	var words [3]string
	if n := FirstWords("-- x\n/* /* */ */ create Range index i FOR", words[:]); n != 3 || words != [3]string{"CREATE", "RANGE", "INDEX"} {
		t.Errorf("%d %q", n, words)
	}
	if n := FirstWords("load 'age'", words[:]); n != 1 || words[0] != "LOAD" {
		t.Errorf("%d %q", n, words)
	}
}
