package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/plancache"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// plans runs f and returns what the plan cache did meanwhile.
func plansIn(db *Database, f func()) (d plancache.Stats) {
	a := db.PlanCache()
	f()
	b := db.PlanCache()
	return plancache.Stats{Exact: b.Exact - a.Exact, Normal: b.Normal - a.Normal, Misses: b.Misses - a.Misses, Plans: b.Plans - a.Plans}
}

func TestLiteralsShareAPlan(t *testing.T) {
	db := database(t)
	s, other := open(t, db), open(t, db)
	must(t, s, "UNWIND range(1, 30) AS i CREATE (:A {id: i, name: 'n' + i})")
	for _, form := range []string{
		"MATCH (n:A {id: %d}) RETURN n.name",
		"MATCH (n:A) WHERE n.id IN [%d, 100] RETURN n.name AS name",
		"SELECT * FROM cypher('main', $$ MATCH (n:A {id: %d}) RETURN n.name $$) AS (name agtype)",
		"MATCH (n:A) WHERE n.id > 31 - %d RETURN count(*) AS c",
	} {
		must(t, s, fmt.Sprintf(form, 1))
		d := plansIn(db, func() {
			for i := 2; i < 20; i++ {
				got := must(t, []*Session{s, other}[i%2], fmt.Sprintf(form, i))
				if want := fmt.Sprintf("n%d", i); !strings.Contains(got, want) && !strings.Contains(got, fmt.Sprint(i-1)) {
					t.Errorf("%s of %d: %s", form, i, got)
				}
			}
		})
		if d.Plans != 0 {
			t.Errorf("%s: %d plans for literals that were not seen before", form, d.Plans)
		}
	}
}

// TestPlanCacheIsAside runs statements with the cache, twice with other literals before, and without: rows, names and errors are equal.
func TestPlanCacheIsAside(t *testing.T) {
	db := database(t)
	s, plain := open(t, db), open(t, db)
	must(t, plain, "SET hedgerow.plan_cache = off")
	must(t, s, "UNWIND range(1, 30) AS i CREATE (:A {id: i, name: 'n' + i, l: [i, i + 1]})")
	for _, c := range [][]string{
		{"RETURN 1", "RETURN 2", "RETURN  2"},
		{"RETURN 1/1 AS x", "RETURN 1/0 AS x", "RETURN   10 / 0 AS x"},
		{"RETURN 1 + 1 AS x", "RETURN 9223372036854775807 + 9 AS x", "RETURN -9223372036854775808 - 1 AS x"},
		{"MATCH (n:A) RETURN n.id AS x ORDER BY x LIMIT 5", "MATCH (n:A) RETURN n.id AS x ORDER BY x LIMIT 3", "MATCH (n:A) RETURN n.id AS x ORDER BY x LIMIT 0", "MATCH (n:A) RETURN n.id AS x ORDER BY x LIMIT -1"},
		{"MATCH (n:A) RETURN n.id + 1 AS x, count(*) AS c ORDER BY n.id + 1 LIMIT 2", "MATCH (n:A) RETURN n.id + 7 AS x, count(*) AS c ORDER BY n.id + 7 LIMIT 2"},
		{"MATCH (n:A) RETURN n.id + 1, count(*) ORDER BY n.id + 1 LIMIT 2", "MATCH (n:A) RETURN n.id + 7, count(*) ORDER BY n.id + 7 LIMIT 2"},
		{"MATCH (n:A) RETURN n.id + 1 AS x, count(*) AS c ORDER BY n.id + 2", "MATCH (n:A) RETURN n.id + 1 AS x, count(*) AS c ORDER BY n.id + 1"},
		{"RETURN date('2020-01-01') AS d", "RETURN date('2020-13-01') AS d"},
		{"RETURN 'a' =~ 'a.*' AS d", "RETURN 'a' =~ '(' AS d"},
		{"RETURN size('abc') AS d", "RETURN size(12) AS d", "RETURN size([1,2]) AS d", "RETURN size([1,2,3]) AS d"},
		{"RETURN [1,2,3][0] AS d", "RETURN [1,2,3]['x'] AS d", "RETURN ['a','b'][1] AS d"},
		{"RETURN {k: 1}['k'] AS d", "RETURN {k: 2}['j'] AS d"},
		{"UNWIND [3,1,2] AS x RETURN x ORDER BY x", "UNWIND [9] AS x RETURN x ORDER BY x", "UNWIND [] AS x RETURN x ORDER BY x"},
		{"MATCH (a:A {id: 1}) RETURN a.l[0] AS h, a.l[-1] AS t", "MATCH (a:A {id: 2}) RETURN a.l[1] AS h, a.l[-2] AS t"},
		{"RETURN 1 = 1.0 AS a, 1 = 1 AS b", "RETURN 2 = 2.0 AS a, 2 = 3 AS b"},
		{"RETURN toInteger('12') AS x", "RETURN toInteger('x') AS x", "RETURN toInteger(12) AS x"},
		{"RETURN CASE 1 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END AS x", "RETURN CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END AS x"},
		{"MATCH (a:A {id: 1}) SET a.v = 5 RETURN a.v AS v", "MATCH (a:A {id: 1}) SET a.v = 'x' RETURN a.v AS v", "MATCH (a:A {id: 2}) SET a.v = [1,2] RETURN a.v AS v"},
		{"MATCH (n:A) WHERE n.id = 3 RETURN DISTINCT n.id AS x, 5 AS y", "MATCH (n:A) WHERE n.id = 4 RETURN DISTINCT n.id AS x, 4 AS y"},
		{"RETURN 1 AS a UNION RETURN 2 AS a", "RETURN 1 AS a UNION RETURN 1 AS a"},
		{"RETURN range(1, 5, 2) AS r", "RETURN range(1, 5, 0) AS r"},
		{"RETURN percentileDisc(1, 0.5) AS r", "RETURN percentileDisc(1, 1.5) AS r"},
		{"RETURN NOT true AS x, 5 AS y", "RETURN NOT 5 AS x, 5 AS y"},
		{"MATCH (n:A) WHERE n.id < 3 RETURN count(*) AS c, sum(n.id * 2) AS s", "MATCH (n:A) WHERE n.id < 9 RETURN count(*) AS c, sum(n.id * 3) AS s"},
		{"MATCH (n:A {id: 1})-[*1..2]->(m) RETURN m", "MATCH (n:A {id: 1})-[*1..3]->(m) RETURN m"},
		{"RETURN 'it''s' AS x", "RETURN 'it\\'s' AS x", "RETURN \"it's\" AS x"},
	} {
		for _, text := range c {
			for range 2 {
				got, err := run(s, text)
				want, err2 := run(plain, text)
				if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w || whole(err) != whole(err2) {
					t.Errorf("%s\nwith the cache    %s %s\nwithout           %s %s", text, g, whole(err), w, whole(err2))
				}
			}
		}
	}
}

// whole is all that a client is told of an error.
func whole(err error) string {
	e := dberr.As(err)
	if e == nil {
		return ""
	}
	return fmt.Sprint(e.Code, " ", e.Token, " ", e.Phase, " ", e.Pos, "-", e.End, " ", e.Error())
}

func TestPlacesInOtherTexts(t *testing.T) {
	db := database(t)
	s := open(t, db)
	must(t, s, "RETURN 8/4 AS x, 1 AS y")
	for text, want := range map[string]string{
		"RETURN   10/0   AS x, 2 AS y":       "10/0",
		"RETURN /* a / b */ 1/0 AS x,3 AS y": "1/0",
		"PROFILE RETURN 7 / 0 AS x, 1 AS y":  "7 / 0",
	} {
		var err error
		d := plansIn(db, func() { _, err = run(s, text) })
		e := dberr.As(err)
		if e == nil || e.Pos < 0 || text[e.Pos:e.End] != want || d.Plans != 0 {
			t.Errorf("%s: %+v, %d plans", text, e, d.Plans)
		}
	}
}

func TestExplainTellsOfTheCache(t *testing.T) {
	db := database(t)
	s := open(t, db)
	must(t, s, "CREATE (:A {id: 1})")
	const text = "MATCH (n:A) WHERE n.id = 4711 AND n.name = 'Ada' RETURN n"
	for _, c := range []struct{ prefix, want string }{
		{"EXPLAIN ", "Plan Cache: miss"}, {"EXPLAIN ", "Plan Cache: hit, plan 1"}, {"PROFILE ", "Plan Cache: hit, plan 1"},
		{"CYPHER replan=force EXPLAIN ", "Plan Cache: miss"}, {"CYPHER replan=skip EXPLAIN ", "Plan Cache: hit"},
	} {
		got := must(t, s, c.prefix+text)
		if !strings.Contains(got, c.want) || !strings.Contains(got, "4711") || !strings.Contains(got, "'Ada'") || strings.Contains(got, "$auto") {
			t.Errorf("%s%s: want %s\n%s", c.prefix, text, c.want, got)
		}
	}
	must(t, s, "SET hedgerow.plan_cache = off")
	if got := must(t, s, "EXPLAIN "+text); !strings.Contains(got, "Plan Cache: off") {
		t.Error(got)
	}
}

// TestPlansLookAtValues: a value that most rows have gets another plan than one that few have, whether it is a literal or a parameter; both are kept, and
// their rows are those of no plan in particular.
func TestPlansLookAtValues(t *testing.T) {
	db := database(t)
	s := open(t, db)
	must(t, s, "UNWIND range(1, 4000) AS i CREATE (:P {id: i, city: CASE WHEN i % 10 = 0 THEN 'b' + i ELSE 'aa' END, n: i})")
	must(t, s, "MATCH (p:P) WHERE p.id <= 400 MATCH (q:P {id: p.id + 1}) CREATE (p)-[:R]->(:Q {kind: p.id % 20}), (q)-[:R]->(:Q {kind: p.id % 20})")
	must(t, s, "CREATE INDEX FOR (n:P) ON (n.city)")
	must(t, s, "CREATE INDEX FOR (n:P) ON (n.n)")
	must(t, s, "CREATE INDEX FOR (n:Q) ON (n.kind)")
	must(t, s, "ANALYZE")
	const scan, seek = "LabelScan (p:P)", "IndexSeek p :P"
	for _, c := range []struct {
		form         string
		much, rare   string
		onMuch, rows string // what the plan of the common value has; the answers of both
	}{
		{"MATCH (p:P) WHERE p.city = %s RETURN count(*) AS c", "'aa'", "'b10'", scan, "3600 1"},
		{"MATCH (p:P {city: %s}) RETURN count(*) AS c", "'aa'", "'b10'", scan, "3600 1"},
		{"MATCH (p:P) WHERE p.city IN %s RETURN count(*) AS c", "['aa', 'b10']", "['b20', 'b10']", scan, "3601 2"},
		{"MATCH (p:P) WHERE p.n > %s RETURN count(*) AS c", "10", "3990", scan, "3990 10"},
		{"MATCH (p:P) WHERE p.n < %s RETURN count(*) AS c", "3990", "10", scan, "3989 9"},
		{"MATCH (p:P) WHERE p.city STARTS WITH %s RETURN count(*) AS c", "'a'", "'b399'", scan, "3600 1"},
		{"MATCH (p:P)-[:R]->(q:Q {kind: 9}) WHERE p.city = %s RETURN count(*) AS c", "'aa'", "'b30'", "IndexSeek q :Q", "20 1"},
	} {
		want := strings.Fields(c.rows)
		for round := range 2 {
			for i, v := range []string{c.much, c.rare} {
				text := fmt.Sprintf(c.form, v)
				begins := [...]string{c.onMuch, seek}[i]
				if got := must(t, s, "EXPLAIN "+text); !strings.Contains(got, begins) || round > 0 && !strings.Contains(got, "hit") {
					t.Errorf("round %d: %s: want %s\n%s", round, text, begins, got)
				}
				if got := must(t, s, text); got != want[i]+" SELECT 1" {
					t.Errorf("%s: %s, want %s", text, got, want[i])
				}
			}
		}
		must(t, s, "SET hedgerow.reference = on")
		for i, v := range []string{c.much, c.rare} {
			if got := must(t, s, fmt.Sprintf(c.form, v)); got != want[i]+" SELECT 1" {
				t.Errorf("reference run: %s, want %s", got, want[i])
			}
		}
		must(t, s, "SET hedgerow.reference = off")
	}
}

// TestIndexGoesAway drops an index between a statement's planning and its first row.
func TestIndexGoesAway(t *testing.T) {
	db := database(t)
	s, other := open(t, db), open(t, db)
	must(t, s, "UNWIND range(1, 100) AS i CREATE (:A {id: i})")
	start := func(s *Session, text string) *Portal {
		t.Helper()
		p, _, err := s.PrepareCypher(ctx, text)
		if err != nil {
			t.Fatal(err)
		}
		portal, err := s.Bind(ctx, "", p, nil)
		if err == nil {
			err = portal.Start(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		return portal
	}
	const text = "MATCH (n:A {id: 17}) RETURN n.id AS id"
	must(t, s, "CREATE RANGE INDEX ix FOR (n:A) ON (n.id)")
	if got := must(t, s, "EXPLAIN "+text); !strings.Contains(got, "IndexSeek") {
		t.Fatal(got)
	}
	portal := start(s, text)
	if _, err := run(other, "SET hedgerow.language = cypher"); err != nil {
		t.Fatal(err)
	}
	must(t, other, "DROP INDEX ix")
	row, err := portal.Next(ctx)
	if err != nil || len(row) != 1 || row[0].Int() != 17 {
		t.Errorf("%v %v", row, err)
	}
	portal.Close()
	if err := s.EndImplicit(ctx); err != nil {
		t.Fatal(err)
	}

	// A snapshot that is older than an index that others have plans for.
	must(t, s, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	must(t, s, "MATCH (n:B) RETURN n")
	must(t, other, "CREATE RANGE INDEX ix FOR (n:A) ON (n.id)")
	if got := must(t, other, text); !strings.Contains(got, "17") {
		t.Fatal(got)
	}
	for range 2 {
		portal = start(s, text)
		if row, err := portal.Next(ctx); err != nil || len(row) != 1 || row[0].Int() != 17 {
			t.Errorf("%v %v", row, err)
		}
		portal.Close()
	}
	portal = start(s, "MATCH (n:A {id: 17}) SET n.x = 1")
	portal.Close()
	must(t, s, "COMMIT")
	if got := must(t, other, "EXPLAIN "+text); !strings.Contains(got, "IndexSeek") || !strings.Contains(got, "hit") {
		t.Errorf("what the old snapshot planned is shared:\n%s", got)
	}
}

// TestPlansOfATransaction: what a transaction has changed of the catalog is in its plans and in nobody else's.
func TestPlansOfATransaction(t *testing.T) {
	db := database(t)
	s, other := open(t, db), open(t, db)
	must(t, s, "UNWIND range(1, 100) AS i CREATE (:A {id: i})")
	must(t, s, "SET hedgerow.language = cypher")
	const text = "MATCH (n:A {id: 17}) RETURN n.id AS id"
	must(t, s, "CREATE RANGE INDEX ix FOR (n:A) ON (n.id)")
	must(t, s, text)
	must(t, s, "BEGIN")
	must(t, s, "DROP INDEX ix")
	for range 2 {
		if got := must(t, s, "EXPLAIN "+text); strings.Contains(got, "IndexSeek") {
			t.Error(got)
		}
		if got := must(t, s, text); !strings.Contains(got, "17") {
			t.Error(got)
		}
	}
	must(t, s, "ROLLBACK")
	for _, x := range []*Session{s, other} {
		if got := must(t, x, "EXPLAIN "+text); !strings.Contains(got, "IndexSeek") {
			t.Error(got)
		}
	}
}

func TestPreparedStatementsShareAPlan(t *testing.T) {
	db := database(t)
	a, b := open(t, db), open(t, db)
	must(t, a, "CREATE (:A {id: 1})")
	runs := func(s *Session, id int64) {
		t.Helper()
		p, _, err := s.PrepareCypher(ctx, "MATCH (n:A {id: $id}) RETURN n.id AS id")
		if err != nil {
			t.Fatal(err)
		}
		args, err := p.Arguments(map[string]value.Value{"id": value.NewInt(id)})
		if err != nil {
			t.Fatal(err)
		}
		portal, err := s.Bind(ctx, "", p, args)
		if err == nil {
			err = portal.Start(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		for row, err := portal.Next(ctx); row != nil || err != nil; row, err = portal.Next(ctx) {
			if err != nil {
				t.Fatal(err)
			}
		}
		portal.Close()
		if err := s.EndImplicit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	runs(a, 1)
	if d := plansIn(db, func() { runs(a, 2); runs(b, 3); runs(b, 4) }); d.Plans != 0 {
		t.Errorf("%+v", d)
	}
}

// TestWrappersShareAStatement: SQL around cypher() is read once for texts that differ in the inner literals.
func TestWrappersShareAStatement(t *testing.T) {
	db := database(t)
	s, plain := open(t, db), open(t, db)
	must(t, plain, "SET hedgerow.plan_cache = off")
	must(t, s, "UNWIND range(1, 30) AS i CREATE (:A {id: i, name: 'n' + i})")
	for _, form := range []string{
		"SELECT * FROM cypher('main', $$ MATCH (n:A {id: %d}) RETURN n.name $$) AS (name agtype)",
		"SELECT name, 1 AS one FROM cypher('main', $q$ MATCH (n:A) WHERE n.id IN [%d, 3] RETURN n.name AS x $q$) AS (name agtype) ORDER BY 1 LIMIT 5",
		"SELECT a.x, b.y FROM cypher('main', $$ RETURN %d AS x $$) AS a(x agtype), cypher('main', $$ RETURN 'it''s' AS y $$) AS b(y agtype)",
		"SELECT * FROM cypher('main', $$ MATCH (n:A {id: %d}) SET n.seen = 1 RETURN n.id AS x $$) AS (x agtype)",
		"SELECT x, 1 / (x::int8 - 7) AS q FROM cypher('main', $$ RETURN %d AS x $$) AS (x agtype)",
		"SELECT * FROM cypher('main', $$ RETURN 10 / (%d - 7) AS x $$) AS (x agtype)",
		"SELECT * FROM cypher('main', $$ MATCH (n:A) RETURN n.id + %d, count(*) ORDER BY n.id + %[1]d $$) AS (x agtype, c agtype)",
		"SELECT * FROM cypher('main', $$ MATCH (n:A {id: %d}) RETURN n.id, n . name $$)",
	} {
		for i, n := range []int{1, 7, 12, 1234, 7} {
			text := fmt.Sprintf(form, n)
			var got []string
			var err error
			d := plansIn(db, func() { got, err = run(s, text) })
			if err == nil && i == 2 && d.Plans > 0 && !strings.Contains(form, "count(*)") {
				t.Errorf("%s: %d plans", text, d.Plans)
			}
			want, err2 := run(plain, text)
			if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w || whole(err) != whole(err2) {
				t.Errorf("%s\nwith the cache    %s %s\nwithout           %s %s", text, g, whole(err), w, whole(err2))
			}
		}
	}
	text := func(n int) Text {
		return Text{Text: fmt.Sprintf("SELECT * FROM cypher('main', $$ MATCH (n:A {id: %d}) RETURN n.name $$) AS (name agtype)", n), Lang: SQL}
	}
	one, err := s.Prepare(ctx, text(100), nil)
	if err != nil {
		t.Fatal(err)
	}
	two, err := s.Prepare(ctx, text(200), nil)
	if err != nil {
		t.Fatal(err)
	}
	if one.command.(*queryCommand).prep != two.command.(*queryCommand).prep {
		t.Error("the wrapper was prepared again")
	}
}

// A plan made for three rows is not what a hundred thousand are read by: the next run makes another, whatever the plan's age.
func TestPlanIsOutgrown(t *testing.T) {
	db := database(t)
	s := open(t, db)
	must(t, s, "CREATE INDEX FOR (n:A) ON (n.id)")
	must(t, s, "UNWIND range(1, 3) AS i CREATE (:A {id: i})")
	const text = "PROFILE MATCH (n:A {id: %d}) RETURN n.id AS id"
	must(t, s, fmt.Sprintf(text, 1))
	must(t, s, fmt.Sprintf(text, 2))
	must(t, s, "UNWIND range(4, 20000) AS i CREATE (:A {id: i})")
	time.Sleep(110 * time.Millisecond) // counts are looked at ten times a second
	d := plansIn(db, func() {
		if got := must(t, s, fmt.Sprintf(text, 3)); !strings.Contains(got, "IndexSeek") {
			t.Errorf("a plan for few rows serves many:\n%s", got)
		}
	})
	if d.Plans != 1 {
		t.Errorf("%d plans made", d.Plans)
	}
	if d := plansIn(db, func() { must(t, s, fmt.Sprintf(text, 4)) }); d.Plans != 0 {
		t.Errorf("%d plans made again", d.Plans)
	}
}
