package hedgerow_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/hedgerowdb/hedgerow"
)

// TestWritesDoNotAllocateForEachRow is rule E2 for the whole product: what a write statement allocates, from its text to the log, does not
// grow with its rows. Two sizes are compared, so that what a statement costs at all falls out.
func TestWritesDoNotAllocateForEachRow(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("writes many rows, and the race detector allocates: not with -short or -race")
	}
	ctx := context.Background()
	// Without what the background builds for each 4,096 nodes: package engine counts what writers tell it.
	db, err := hedgerow.Open(t.TempDir(), &hedgerow.Options{CacheBytes: 256 << 20, GraphCacheBytes: -1, AnalyzeInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const few = 10_000
	many := few + rows(100_000)
	for label, n := range map[string]int{"Few": few, "Many": many} {
		if _, err := db.Exec(ctx, "UNWIND range(1, $n) AS i CREATE (a:"+label+" {x: 0, s: 'some text', i: i})-[:R]->(:To"+label+")", hedgerow.Params{"n": n}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(ctx, "CREATE CONSTRAINT FOR (n:Merged) REQUIRE n.x IS UNIQUE", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(ctx, "CREATE (:Merged {x: 7})", nil); err != nil {
		t.Fatal(err)
	}
	cost := func(text, label string, n int) uint64 {
		tx, err := db.Begin(ctx, hedgerow.TxOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		var a, b runtime.MemStats
		runtime.ReadMemStats(&a)
		rows, err := tx.Query(ctx, text, hedgerow.Params{"n": n})
		if err == nil {
			err = rows.Close()
		}
		runtime.ReadMemStats(&b)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return b.Mallocs - a.Mallocs
	}
	for _, c := range []struct {
		text func(label string) string
		most float64
	}{
		{func(l string) string { return "MATCH (n:" + l + ") SET n.x = 1" }, 0.01},
		{func(l string) string { return "MATCH (n:" + l + ") SET n.x = n.x + 1, n.y = 'abc'" }, 0.01},
		{func(l string) string { return "MATCH (n:" + l + ") SET n += {x: 5, s: 'another text'}" }, 0.01},
		{func(l string) string { return "MATCH (n:" + l + ") SET n:Marked" }, 0.01},
		{func(l string) string { return "MATCH (n:" + l + ") REMOVE n.x" }, 0.01},
		{func(l string) string { return "MATCH (:" + l + ")-[r:R]->() SET r.w = 1" }, 0.013}, // with the cursor of each batch of vertices
		{func(l string) string { return "MATCH (:" + l + ")-[r:R]->() DELETE r" }, 0.01},
		{func(l string) string { return "MATCH (n:" + l + ") DETACH DELETE n" }, 0.01},
		{func(l string) string { return "UNWIND range(1, $n) AS i CREATE (:New {x: i})" }, 0.01},
		{func(l string) string { return "MATCH (a:" + l + ") CREATE (a)-[:S {w: 1}]->(:New)" }, 0.01},
		{func(l string) string { return "UNWIND range(1, $n) AS i MERGE (n:Merged {x: i % 100})" }, 0.01},
		{func(l string) string { return "MATCH (n:" + l + ") MATCH (m:Merged {x: 7}) MERGE (n)-[:TO]->(m)" }, 0.03}, // with the hash locks, up to their limit
	} {
		cost(c.text("Few"), "Few", few) // what is made once
		a, b := cost(c.text("Few"), "Few", few), cost(c.text("Many"), "Many", many)
		per := (float64(b) - float64(a)) / float64(many-few)
		t.Logf("%.4f allocations a row: %s", per, c.text("Many"))
		if per > c.most {
			t.Errorf("%.4f allocations a row: %s", per, c.text("Many"))
		}
	}
}
