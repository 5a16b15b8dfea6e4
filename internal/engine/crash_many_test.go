package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// TestCrashWhileManyWrite crashes the disk under sessions, the log's flusher, the background writer and checkpoints that all run freely.
// Each session counts its transactions in a node of its own, and the transaction of number n leaves, beside the count, a node and a relationship of that
// number, and changes a value out of line. After the crash the count says which transactions there are: at least those acknowledged, and of
// each of them everything.
func TestCrashWhileManyWrite(t *testing.T) {
	runs := 2
	if n, err := strconv.Atoi(os.Getenv("HEDGEROW_CRASH_POINTS")); err == nil {
		runs = max(2, n/500)
	}
	if testing.Short() {
		runs = 1
	}
	const writers, each = 6, 40
	var points, kept, behind int
	for seed := range uint64(runs) {
		mem := vfs.NewCrashable()
		rng := rand.New(rand.NewPCG(seed, 8))
		type crash struct {
			fs    *vfs.Mem
			acked [writers]int64
		}
		var (
			mu      sync.Mutex // guards the fields below
			calls   int
			crashes []crash
		)
		var acked, begun [writers]atomic.Int64
		var on atomic.Bool
		o := options(vfs.WithHook(mem, func(op vfs.Op, _ string) error {
			if op&vfs.OpMutate == 0 || !on.Load() {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls%9 == 0 {
				c := crash{}
				for i := range acked { // before the clone: what is acknowledged later may be missing
					c.acked[i] = acked[i].Load()
				}
				c.fs = mem.CrashClone(rng, []float64{0, 0.3, 0.7, 1}[len(crashes)%4])
				crashes = append(crashes, c)
			}
			return nil
		}))
		o.Steps, o.CacheBytes = false, 1<<20
		db, err := engine.Open(bg, o)
		if err != nil {
			t.Fatal(err)
		}
		update(t, db, func(c *client) {
			c.must(c.tx.CreateGraph(bg, "graph"))
			c.must(c.tx.CreateConstraint(bg, "graph", store.ConstraintDef{Name: "uq", Label: "Step", Keys: []string{"key"}, Kind: schema.Unique}))
		})
		var homes []uint64
		update(t, db, func(c *client) {
			c.begin()
			for i := range writers {
				homes = append(homes, c.node([]string{"Home"}, "w", i, "n", 0))
			}
		})
		on.Store(true)
		var wg, saver sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(w)))
				for n := 1; n <= each && !t.Failed(); n++ {
					begun[w].Store(int64(n))
					if err := manyOnce(db, homes[w], w, n, rng); err != nil {
						t.Errorf("writer %d: %v", w, err)
						return
					}
					acked[w].Store(int64(n))
				}
			})
		}
		stop := make(chan struct{})
		saver.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(3 * time.Millisecond):
				}
				if err := db.Checkpoint(bg); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Wait()
		close(stop)
		saver.Wait()
		on.Store(false)
		closeDB(t, db)
		step := max(1, len(crashes)/60)
		for i := 0; i < len(crashes) && !t.Failed(); i += step {
			points++
			db := open(t, crashes[i].fs)
			for w := range writers {
				n := manyCheck(t, fmt.Sprintf("seed %d crash %d", seed, i), db, homes[w], w)
				if n < crashes[i].acked[w] || n > each {
					t.Errorf("seed %d crash %d: writer %d had %d transactions acknowledged, %d are there", seed, i, w, crashes[i].acked[w], n)
				}
				kept += int(n)
				behind += int(n - crashes[i].acked[w])
			}
			dump(t, db)
			clean(t, db)
			closeDB(t, db)
		}
	}
	t.Logf("%d crash points; %d transactions were there, %d of them not acknowledged yet", points, kept, behind)
}

// manyOnce is transaction n of a writer.
func manyOnce(db *engine.DB, home uint64, w, n int, rng *rand.Rand) error {
	tx, err := db.Store().Begin(bg, store.TxOptions{})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	st, err := tx.Begin(bg)
	if err != nil {
		return err
	}
	defer st.Close()
	cid, err := st.Segment(1)
	if err != nil {
		return err
	}
	g, err := st.Graph(bg, "graph")
	if err != nil {
		return err
	}
	prop := func(kv ...any) (p store.PropRow) {
		for i := 0; i < len(kv); i += 2 {
			k, kerr := g.EnsureKey(bg, kv[i].(string))
			if kerr != nil {
				err = kerr
			}
			p.Keys, p.Vals = append(p.Keys, k), append(p.Vals, val(kv[i+1]))
		}
		return p
	}
	label, lerr := g.EnsureLabel(bg, "Step", schema.Vertex)
	if lerr != nil {
		return lerr
	}
	typ, lerr := g.EnsureLabel(bg, fmt.Sprintf("OF%d", n%3), schema.Edge)
	if lerr != nil {
		return lerr
	}
	long := strings.Repeat(strconv.Itoa(n)+",", 1000)
	var out store.Hits
	rows := []store.PropRow{prop("key", w*1000+n, "w", w, "n", n, "pad", strings.Repeat("x", rng.IntN(1200)))}
	if err != nil {
		return err
	}
	if err := g.CreateNodes(bg, cid, []schema.LabelID{label}, rows, &out); err != nil {
		return err
	}
	if err := g.CreateRels(bg, cid, typ, []uint64{home}, out.ID, []store.PropRow{prop("n", n)}, &store.Hits{}); err != nil {
		return err
	}
	if err := g.SetProps(bg, cid, schema.Vertex, []uint64{home}, nil, []store.PropRow{prop("n", n, "long", long)}); err != nil {
		return err
	}
	if err := st.Finish(bg); err != nil {
		return err
	}
	return tx.Commit(bg)
}

// manyCheck returns the number of a writer's last transaction, after making sure that all up to it are there whole, and no other.
func manyCheck(t *testing.T, what string, db *engine.DB, home uint64, w int) (last int64) {
	t.Helper()
	update(t, db, func(c *client) {
		c.begin()
		v := c.after()
		last, _ = strconv.ParseInt(c.get(v, schema.Vertex, home, "n"), 10, 64)
		if got := c.get(v, schema.Vertex, home, "long"); last > 0 && got != "'"+strings.Repeat(strconv.FormatInt(last, 10)+",", 1000)+"'" {
			t.Errorf("%s: writer %d: the value of transaction %d is %.40s…", what, w, last, got)
		}
		far := c.expand(v, home, store.Out)
		if int64(len(far)) != last {
			t.Errorf("%s: writer %d: %d relationships after transaction %d", what, w, len(far), last)
		}
		seen := map[int64]bool{}
		k := c.key("n")
		var col vec.Column
		c.must(c.g.Fetch(bg, v, schema.Vertex, far, nil, []schema.KeyID{k}, []*vec.Column{&col}))
		for i := range far {
			if n := col.Value(i); n.Kind() == value.Int && n.Int() <= last {
				seen[n.Int()] = true
			}
		}
		if int64(len(seen)) != last {
			t.Errorf("%s: writer %d: %d steps after transaction %d", what, w, len(seen), last)
		}
		for n := range int64(60) {
			if got := c.seek(v, "uq", int(int64(w)*1000+n)); (len(got) == 1) != (n > 0 && n <= last) {
				t.Errorf("%s: writer %d: key %d is there %d times after transaction %d", what, w, n, len(got), last)
			}
		}
	})
	return last
}
