package session

import (
	"strings"
	"testing"
)

// Statements share the memory of the database: one that wants too much fails with 53200, its session goes on, small ones beside a
// big one are served, and nothing stays taken.
func TestQueryMemory(t *testing.T) {
	db := database(t)
	db.memory.limit = 4 << 20
	a, b := open(t, db), open(t, db)
	for _, s := range []*Session{a, b} {
		must(t, s, "SET work_mem = '1GB'")
	}
	big := "UNWIND range(1, 400000) AS x RETURN DISTINCT x AS y ORDER BY y"
	if _, err := run(a, big); code(err) != "53200" || !strings.Contains(err.Error(), "together") {
		t.Fatalf("got %v", err)
	}
	if n := db.QueryMemory(); n != 0 {
		t.Errorf("%d bytes are still taken", n)
	}
	if got := must(t, a, "RETURN 1 AS x"); got != "1 SELECT 1" {
		t.Errorf("got %q", got)
	}
	// One holds nearly all of it between two rows.
	p, err := a.Start(ctx, "UNWIND range(1, 40000) AS x RETURN x ORDER BY x DESC", Cypher, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Next(ctx); err != nil {
		t.Fatal(err)
	}
	held := db.QueryMemory()
	if held < 1<<20 {
		t.Errorf("a sort holds %d bytes only", held)
	}
	db.memory.limit = held
	if got := must(t, b, "UNWIND range(1, 3000) AS x RETURN count(DISTINCT x) AS c"); got != "3000 SELECT 1" {
		t.Errorf("got %q", got)
	}
	if _, err := run(b, big); code(err) != "53200" {
		t.Errorf("got %v", err)
	}
	p.Close()
	if err := a.EndImplicit(ctx); err != nil {
		t.Fatal(err)
	}
	if n := db.QueryMemory(); n != 0 {
		t.Errorf("%d bytes are still taken", n)
	}
}

// A SQL statement that writes keeps its rows in a file (rules C3), however many they are, and gives the file up.
func TestWritingCallSpills(t *testing.T) {
	db := database(t)
	s := open(t, db)
	must(t, s, "SET work_mem = '64kB'")
	must(t, s, "SET hedgerow.mem_limit = '8MB'")
	got := must(t, s, "SELECT count(*), max(length(s::text)) FROM cypher('main', $$ UNWIND range(1, 8000) AS x CREATE (n:P {x: x}) RETURN x, 'a text of some length, so that it is more than the limit of memory: ' + toString(x % 7) + toString(range(1, 400)[3]) $$) AS (x agtype, s agtype)")
	if !strings.HasPrefix(got, "8000|") {
		t.Errorf("got %q", got)
	}
	rows := must(t, s, "SELECT x FROM cypher('main', $$ UNWIND range(1, 5000) AS x CREATE (n:Q {x: x}) RETURN n.x $$) AS (x agtype)")
	if want := "5000 SELECT 5000"; !strings.HasPrefix(rows, "1 2 3 ") || !strings.HasSuffix(rows, want) {
		t.Errorf("got %.40q … %q", rows, rows[len(rows)-40:])
	}
	if n := db.QueryMemory(); n != 0 {
		t.Errorf("%d bytes are still taken", n)
	}
	if n := db.temp.(*tempDir).used.Load(); n != 0 {
		t.Errorf("temporary files still take %d bytes", n)
	}
}
