package recovery

import (
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// TestCrashWhileManyWrite crashes with several writers, the flusher and a checkpointer at work: what was acknowledged before the
// crash is there, everything else at most once.
func TestCrashWhileManyWrite(t *testing.T) {
	for seed := range uint64(3) {
		mem := vfs.NewCrashable()
		rng := rand.New(rand.NewPCG(seed, 8))
		type crash struct {
			fs    *vfs.Mem
			acked map[uint64]bool
		}
		var (
			mu      sync.Mutex // guards the fields below
			acked   = map[uint64]bool{}
			crashes []crash
			calls   int
		)
		var on atomic.Bool
		fs := vfs.WithHook(mem, func(op vfs.Op, _ string) error {
			if op&vfs.OpMutate == 0 || !on.Load() {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls%5 == 0 {
				promised := maps.Clone(acked) // before the clone: what is acknowledged later may be missing
				crashes = append(crashes, crash{mem.CrashClone(rng, []float64{0, 0.3, 0.7, 1}[len(crashes)%4]), promised})
			}
			return nil
		})
		background = true
		d, err := openToy(t, fs)
		background = false
		if err != nil {
			t.Fatal(err)
		}
		on.Store(true)
		const writers, each = 4, 40
		var wg, bgw sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(w)))
				for i := range each {
					x := uint64(w*each + i + 1)
					err := d.insert(x, rng.IntN(1500))
					if err == nil {
						err = d.commit(x)
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					acked[x] = true
					mu.Unlock()
				}
			})
		}
		stop := make(chan struct{})
		bgw.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := d.ckpt.Run(bg, Online, nil); err != nil {
					t.Error(err)
				}
				d.pool.BackgroundWrite(bg, 5)
			}
		})
		wg.Wait()
		close(stop)
		bgw.Wait()
		on.Store(false)
		if err := d.close(); err != nil {
			t.Fatal(err)
		}
		step := max(1, len(crashes)/80)
		for i := 0; i < len(crashes); i += step {
			c := crashes[i]
			d := check(t, "concurrent", c.fs, 0, writers*each)
			seen, err := d.visible()
			if err != nil {
				t.Fatal(err)
			}
			for x := range c.acked {
				if seen[x] != 1 {
					t.Fatalf("seed %d crash %d: acknowledged transaction %d is there %d times", seed, i, x, seen[x])
				}
			}
			d.abandon()
		}
		d = check(t, "at the end", mem, writers*each, writers*each)
		d.abandon()
		t.Logf("%d crashes", len(crashes))
	}
}
