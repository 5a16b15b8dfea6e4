package hedgerow_test

import (
	"context"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/hedgerowdb/hedgerow"
)

// TestWhatAStatementCosts is docs/performance.md's table: what a statement that was run before allocates from its text to its last row, how many
// pages it pins and how often it descends an index.
func TestWhatAStatementCosts(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates, and empties pools at random")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools
	ctx := context.Background()
	const n = 2000
	db := people(t, n)
	c := db.Conn()
	defer c.Close()
	if err := c.Set("synchronous_commit", "off"); err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		name   string
		allocs float64
		probes int64 // of indexes by keys and by ids
		pages  int64
	}{
		{"one", 7, 0, 0},
		{"point", 8, 1, 4},
		{"city", 10, 1, 5},
		{"friends", 13, 1, 30},
		{"insert", 28, 2, 16},
	} {
		text, params := "", func(int) hedgerow.Params { return nil }
		for _, o := range statements {
			if o.name == s.name {
				text, params = o.text, o.params
			}
		}
		i, p := 0, params(0)
		var cost hedgerow.Cost
		run := func() {
			if p != nil {
				p["id"] = i * 100 % n
			}
			i++
			rows, err := c.Run(ctx, text, hedgerow.Cypher, p)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
			cost = rows.Cost()
		}
		for range 20 {
			run()
		}
		allocs := testing.AllocsPerRun(200, run)
		t.Logf("%s: %.0f allocations, %s", s.name, allocs, cost.Per(1))
		if allocs > s.allocs {
			t.Errorf("%s: %.1f allocations, %.0f at most were promised", s.name, allocs, s.allocs)
		}
		if probes := cost.IndexProbes + cost.IDProbes; probes > s.probes || cost.PagesPinned > s.pages {
			t.Errorf("%s: %d probes and %d pages, promised were %d and %d", s.name, probes, cost.PagesPinned, s.probes, s.pages)
		}
	}
}

// TestMemoryOfAStatementServesOthers: rows that are read beside each other, left in the middle, kept after Close and read by many goroutines are
// each statement's own, although its memory serves others before and after.
func TestMemoryOfAStatementServesOthers(t *testing.T) {
	ctx := context.Background()
	const n = 200
	db := people(t, n)
	const text = "MATCH (p:Person {id: $id}) RETURN p.lastName AS name, [p.firstName, p.lastName] AS names"
	name := func(id int) string {
		return "Last" + string(rune('0'+id/100)) + string(rune('0'+id/10%10)) + string(rune('0'+id%10))
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 300 {
				id := 100 + (g*37+i)%100
				rows, err := db.Query(ctx, text, hedgerow.Params{"id": id})
				if err != nil {
					t.Error(err)
					return
				}
				if !rows.Next() {
					t.Error("no row", rows.Err())
					return
				}
				other, err := db.Query(ctx, text, hedgerow.Params{"id": 100 + (id+1)%100})
				if err != nil {
					t.Error(err)
					return
				}
				if i%3 == 0 {
					rows.Close() // in the middle: the current row stays
				}
				for other.Next() {
				}
				if i%5 == 0 {
					if _, err := db.Exec(ctx, "UNWIND [1, 0] AS x RETURN 1 / x", nil); err == nil {
						t.Error("no error")
					}
				}
				if got := rows.Row().Get("name"); got != name(id) {
					t.Errorf("got %v, want %v", got, name(id))
				}
				rows.Close()
			}
		}()
	}
	wg.Wait()
	rows, err := db.Query(ctx, text, hedgerow.Params{"id": 101})
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
	}
	if rows.Row().Get("name") != nil {
		t.Error("there is a row behind the last one")
	}
}

// TestSettingsDoNotLeak: what one single statement sets or leaves is not seen by the next, although it may be served by the same session.
func TestSettingsDoNotLeak(t *testing.T) {
	ctx := context.Background()
	db, err := hedgerow.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, text := range []string{"SET hedgerow.batch_size = 7", "PREPARE x AS SELECT 1", "LOAD 'age'"} {
		if _, err := db.ExecSQL(ctx, text); err != nil {
			t.Fatal(err)
		}
		rows, err := db.QuerySQL(ctx, "SELECT current_setting('hedgerow.batch_size') AS b, (SELECT count(*) FROM pg_prepared_statements) AS p, current_setting('hedgerow.agtype_plain') AS a")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			if v := rows.Row().Values(); v[0] == "7" || v[1] != int64(0) || v[2] != "off" {
				t.Errorf("after %s: %v", text, v)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestContextsDoNotOutliveTheirStatement: a context that was ended after its statement does not touch those that are served by the same session
// and the same prepared statement afterwards.
func TestContextsDoNotOutliveTheirStatement(t *testing.T) {
	db, err := hedgerow.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(context.Background(), "UNWIND range(1, 3) AS i CREATE (:N {i: i})", nil); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		for _, text := range []string{
			"SELECT count(*) FROM cypher('main', $$ MATCH (n:N) RETURN n $$) AS (n agtype)",
			"SELECT (SELECT count(*) FROM pg_class) > 0 AS some", "SELECT count(*) >= 0 FROM ag_catalog.ag_graph", "SELECT current_setting('work_mem') AS m",
		} {
			ctx, cancel := context.WithCancel(context.Background())
			rows, err := db.QuerySQL(ctx, text)
			if err != nil {
				t.Fatal(text, err)
			}
			n := 0
			for rows.Next() {
				n++
			}
			if err := rows.Close(); err != nil || n != 1 {
				t.Fatal(text, n, err)
			}
			cancel()
		}
	}
}
