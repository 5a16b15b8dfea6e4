package hedgerow_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow"
)

// rows returns the size of a scale test: the short form, or what HEDGEROW_SCALE asks for.
func rows(short int) int {
	if n, err := strconv.Atoi(os.Getenv("HEDGEROW_SCALE")); err == nil {
		return n
	}
	return short
}

// TestUpdateOfManyRowsKeepsMemoryFlat: the memory of a statement follows the batch, not the rows (law 2).
func TestUpdateOfManyRowsKeepsMemoryFlat(t *testing.T) {
	ctx := context.Background()
	peak := func(n int) (accounted int64, beyond uint64) {
		db, err := hedgerow.Open(t.TempDir(), &hedgerow.Options{CacheBytes: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for i := 0; i < n; i += 10_000 {
			if _, err := db.Exec(ctx, "UNWIND range(1, $n) AS i CREATE (:L {x: 0, i: i})", hedgerow.Params{"n": min(10_000, n-i)}); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		start := time.Now()
		rows, err := db.Query(ctx, "MATCH (n:L) SET n.x = 1", nil)
		if err != nil {
			t.Fatal(err)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		rows.Close()
		res := rows.Result()
		if res.PropertiesSet != int64(n) {
			t.Fatalf("%d properties set, want %d", res.PropertiesSet, n)
		}
		t.Logf("%d rows in %v, accounted %d bytes, heap %d", n, time.Since(start).Round(time.Millisecond), rows.PeakMemory(), m.HeapInuse)
		return rows.PeakMemory(), m.HeapInuse
	}
	small, _ := peak(10_000)
	large, heap := peak(rows(100_000))
	if large > small+small/10+1<<20 || large > 32<<20 {
		t.Errorf("accounted %d bytes for many rows, %d for 10,000", large, small)
	}
	if heap > 96<<20 {
		t.Errorf("the process holds %d bytes beyond its page cache", heap)
	}
}

// TestSingleInsertsCostTheSame: what one insert touches does not grow with the table (law 3).
func TestSingleInsertsCostTheSame(t *testing.T) {
	ctx := context.Background()
	db, err := hedgerow.Open(t.TempDir(), &hedgerow.Options{CacheBytes: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(ctx, "CREATE CONSTRAINT FOR (n:L) REQUIRE n.id IS UNIQUE", nil); err != nil {
		t.Fatal(err)
	}
	conn := db.Conn()
	defer conn.Close()
	conn.Set("synchronous_commit", "off")
	n := rows(20_000)
	part := n / 20
	window := func(from int) (cost hedgerow.Cost, took time.Duration) {
		start := time.Now()
		for i := from; i < from+part; i++ {
			r, err := conn.Run(ctx, "CREATE (:L {id: $i, name: 'somebody'})", hedgerow.Cypher, hedgerow.Params{"i": i})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			cost.Add(r.Cost())
		}
		return cost, time.Since(start)
	}
	var first, last hedgerow.Cost
	var took [2]time.Duration
	for i := 0; i < n; i += part {
		cost, d := window(i)
		if i == part { // the first part fills the caches
			first, took[0] = cost, d
		}
		last, took[1] = cost, d
	}
	t.Logf("per row of the first part: %s; of the last: %s; time %v and %v (ratio %.2f)", first.Per(part), last.Per(part),
		took[0]/time.Duration(part), took[1]/time.Duration(part), float64(took[1])/float64(took[0]))
	grew := func(what string, a, b int64) {
		if float64(b) > 1.1*float64(a)+float64(part)/50 {
			t.Errorf("%s grew from %d to %d", what, a, b)
		}
	}
	grew("pages touched", first.PagesPinned, last.PagesPinned)
	grew("id probes", first.IDProbes, last.IDProbes)
	grew("log bytes", first.WALBytes, last.WALBytes)
	if last.SeqScans != 0 {
		t.Errorf("%d scans", last.SeqScans)
	}
	if last.UniqueProbes != int64(part) {
		t.Errorf("%d unique probes for %d rows and one constraint", last.UniqueProbes, part)
	}
	_ = fmt.Sprint
}
