package hedgerow_test

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
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

// resident is the memory of the process in bytes, 0 where nobody says.
func resident() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	f := strings.Fields(string(b))
	if err != nil || len(f) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(f[1], 10, 64)
	return n * int64(os.Getpagesize())
}

// watch calls f now and then until the returned function is called.
func watch(f func()) (stop func()) {
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			f()
			select {
			case <-end:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() { close(end); <-done }
}

// TestUpdateOfManyRowsKeepsMemoryFlat: the memory of a statement that changes or deletes rows follows the batch, not the rows (law 2).
func TestUpdateOfManyRowsKeepsMemoryFlat(t *testing.T) {
	ctx := context.Background()
	const cache = 64 << 20
	peak := func(n int) (accounted, beyond int64) {
		db, err := hedgerow.Open(t.TempDir(), &hedgerow.Options{CacheBytes: cache, AnalyzeInterval: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for i := 0; i < n; i += 10_000 {
			if _, err := db.Exec(ctx, "UNWIND range(1, $n) AS i CREATE (:L {x: 0, i: i})", hedgerow.Params{"n": min(10_000, n-i)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, text := range []string{"MATCH (n:L) SET n.x = 1", "MATCH (n:L) DELETE n"} {
			debug.FreeOSMemory()
			start, before := time.Now(), resident()
			var most int64
			stop := watch(func() { most = max(most, resident()) })
			rows, err := db.Query(ctx, text, nil)
			took := time.Since(start)
			stop()
			if err != nil {
				t.Fatal(err)
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			rows.Close()
			if res := rows.Result(); res.PropertiesSet+res.NodesDeleted != int64(n) {
				t.Fatalf("%s: %s, want %d", text, res, n)
			}
			t.Logf("%s: %d rows in %v, accounted %d bytes; process %.1f MiB before and %.1f MiB at most, %.1f MiB beyond the cache's %d; Go heap %.1f MiB", text, n, took.Round(time.Millisecond),
				rows.PeakMemory(), mib(before), mib(most), mib(most-cache), cache>>20, mib(int64(m.HeapInuse)))
			accounted, beyond = max(accounted, rows.PeakMemory()), max(beyond, most-cache)
		}
		return accounted, beyond
	}
	small, _ := peak(10_000)
	large, beyond := peak(rows(100_000))
	if large > small+small/10+1<<20 || large > 32<<20 {
		t.Errorf("accounted %d bytes for many rows, %d for 10,000", large, small)
	}
	if beyond > 96<<20 {
		t.Errorf("the process holds %.1f MiB beyond its page cache", mib(beyond))
	}
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// TestSingleInsertsCostTheSame: what one insert touches does not grow with the table (law 3).
func TestSingleInsertsCostTheSame(t *testing.T) {
	ctx := context.Background()
	db, err := hedgerow.Open(t.TempDir(), &hedgerow.Options{CacheBytes: 256 << 20, AnalyzeInterval: -1})
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
		if i == 0 {
			first, took[0] = cost, d
		}
		last, took[1] = cost, d
		if i == part {
			t.Logf("per row of the second part: %s; time %v", cost.Per(part), d/time.Duration(part))
		}
	}
	t.Logf("per row of the first %d: %s; of the last: %s; time %v and %v (ratio %.2f)", part, first.Per(part), last.Per(part),
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
}
