package session

import (
	"fmt"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// TestInTransactionsCrash: wherever the machine stops within CALL { } IN TRANSACTIONS, the batches that were committed are whole and there, in their
// order, and nothing is left of the one that was open. What was there at a crash is there at every later one.
func TestInTransactionsCrash(t *testing.T) {
	const rows, size = 60, 5
	options := func(fs vfs.FS) engine.Options { return engine.Options{Dir: "/db", FS: fs, CacheBytes: 4 << 20} }
	for _, kept := range []float64{1, 0.5, 0} { // of what was not synced, the share that the clone keeps
		t.Run(fmt.Sprint(kept), func(t *testing.T) {
			mem := vfs.NewCrashable()
			active := false
			var clones []*vfs.Mem
			hook := vfs.CrashPoints(mem, 1, 7, []float64{kept}, func(_ int, clone *vfs.Mem) {
				if active {
					clones = append(clones, clone)
				}
			})
			eng, err := engine.Open(ctx, options(vfs.WithHook(mem, hook)))
			if err != nil {
				t.Fatal(err)
			}
			db := New(eng.Store(), Options{TempDir: t.TempDir()})
			s := db.Open(Client{User: "ada", Database: "main"})
			if err := s.Set("hedgerow.language", "cypher", false); err != nil {
				t.Fatal(err)
			}
			must(t, s, "CREATE (:Other)")
			active = true
			_, err = run(s, fmt.Sprintf("UNWIND range(1, %d) AS i CALL (i) { CREATE (:N {i: i})-[:R]->(:M {i: i}) } IN TRANSACTIONS OF %d ROWS", rows, size))
			active = false
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
			if err := eng.Close(ctx); err != nil {
				t.Fatal(err)
			}
			seen, last := map[int]bool{}, 0
			for i, fs := range clones {
				eng, err := engine.Open(ctx, options(fs))
				if err != nil {
					t.Fatalf("point %d: %v", i, err)
				}
				s := New(eng.Store(), Options{TempDir: t.TempDir()}).Open(Client{User: "ada", Database: "main"})
				var n, m, r, top int
				got := must(t, s, "MATCH (n) WITH sum(CASE WHEN n:N THEN 1 ELSE 0 END) AS n, sum(CASE WHEN n:M THEN 1 ELSE 0 END) AS m, max(n.i) AS top "+
					"RETURN n, m, COUNT { (a)-[:R]->(b) WHERE a.i = b.i } AS r, coalesce(top, 0) AS top")
				if _, err := fmt.Sscanf(got, "%d|%d|%d|%d", &n, &m, &r, &top); err != nil {
					t.Fatalf("%s: %v", got, err)
				}
				if n%size != 0 || m != n || r != n || top != n {
					t.Errorf("point %d: %d and %d nodes, %d relationships, the last one is %d", i, n, m, r, top)
				}
				if n < last && kept == 0 {
					t.Errorf("point %d: %d rows, and %d before", i, n, last)
				}
				last = n
				seen[n] = true
				s.Close()
				if err := eng.Close(ctx); err != nil {
					t.Error(err)
				}
			}
			t.Logf("%d crash points with %d numbers of batches", len(clones), len(seen))
			if len(seen) < rows/size {
				t.Errorf("%d crash points have %d numbers of batches", len(clones), len(seen))
			}
		})
	}
}
