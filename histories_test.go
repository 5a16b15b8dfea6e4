package hedgerow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow"
)

// history is what a transaction that committed did to lists that are only ever appended to: such lists say by themselves in which order
// they were written.
type history struct {
	session int
	reads   []listRead
	appends map[int64][]int64 // by key, in order
}

type listRead struct {
	key  int64
	list []int64 // without what the transaction itself had appended
}

// dependency is one transaction that must come before another.
type dependency struct {
	to   int
	kind string // ww, wr, so (session order), rw (an anti-dependency)
}

// TestConcurrentHistories runs random transactions over a few lists and looks for what their isolation level forbids: values of transactions
// that went back, values lost or doubled, reads that are no prefix of the final list, and, under repeatable read, cycles of dependencies with at most one
// anti-dependency, which no order of snapshots explains.
func TestConcurrentHistories(t *testing.T) { // A2, A3, A8
	for _, iso := range []hedgerow.Isolation{hedgerow.ReadCommitted, hedgerow.RepeatableRead} {
		t.Run([]string{"read committed", "repeatable read"}[iso], func(t *testing.T) {
			a := newArena(t)
			const keys, sessions = 5, 8
			a.exec("CREATE CONSTRAINT FOR (n:Reg) REQUIRE n.k IS UNIQUE", nil)
			a.exec("UNWIND range(0, $n - 1) AS k CREATE (:Reg {k: k, l: []})", hedgerow.Params{"n": keys})
			var mu sync.Mutex
			var done []history
			gone := map[int64]bool{}
			end := time.Now().Add(time.Second)
			all(sessions, func(s int) {
				rng := rand.New(rand.NewPCG(uint64(s), uint64(iso)))
				for n := int64(1); time.Now().Before(end); n++ {
					h, err := appendSome(a, iso, s, n, rng, keys)
					mu.Lock()
					if err == nil {
						done = append(done, h)
					} else if hedgerow.Retryable(err) || err == errWentBack {
						for _, vs := range h.appends {
							for _, v := range vs {
								gone[v] = true
							}
						}
					} else {
						a.Error(err)
					}
					mu.Unlock()
				}
			})
			final := map[int64][]int64{}
			for k := range int64(keys) {
				final[k] = readList(a, a, k)
			}
			judge(t, done, gone, final, iso == hedgerow.RepeatableRead)
			t.Logf("%d transactions committed, %d values of others", len(done), len(gone))
		})
	}
}

var errWentBack = fmt.Errorf("rolled back on purpose")

func readList(a *arena, q querier, key int64) []int64 {
	rows, err := q.Query(a.ctx, "MATCH (n:Reg {k: $k}) UNWIND n.l AS v RETURN v", hedgerow.Params{"k": key})
	if err != nil {
		a.Error(err)
		return nil
	}
	out, err := hedgerow.Collect[int64](rows)
	if err != nil {
		a.Error(err)
	}
	return out
}

// appendSome is one transaction of reads and appends.
func appendSome(a *arena, iso hedgerow.Isolation, session int, n int64, rng *rand.Rand, keys int) (history, error) {
	h := history{session: session, appends: map[int64][]int64{}}
	tx, err := a.Begin(a.ctx, hedgerow.TxOptions{Isolation: iso, Async: session%2 == 0})
	if err != nil {
		return h, err
	}
	defer tx.Rollback()
	for i := range int64(1 + rng.IntN(4)) {
		key := rng.Int64N(int64(keys))
		if rng.IntN(2) == 0 {
			list, own := readList(a, tx, key), h.appends[key]
			rest := len(list) - len(own)
			if rest < 0 || !slices.Equal(list[rest:], own) {
				return h, fmt.Errorf("a transaction that appended %v reads %v", own, list)
			}
			h.reads = append(h.reads, listRead{key, list[:rest]})
			continue
		}
		v := int64(session)*1_000_000 + n*10 + i
		h.appends[key] = append(h.appends[key], v)
		if _, err := tx.Exec(a.ctx, "MATCH (n:Reg {k: $k}) SET n.l = n.l + [$v]", hedgerow.Params{"k": key, "v": v}); err != nil {
			return h, err
		}
	}
	if rng.IntN(10) == 0 {
		return h, errWentBack
	}
	return h, tx.Commit(a.ctx)
}

func judge(t *testing.T, done []history, gone map[int64]bool, final map[int64][]int64, snapshots bool) {
	t.Helper()
	writer := map[int64]int{} // of each value
	for i, h := range done {
		for key, vs := range h.appends {
			at := slices.Index(final[key], vs[0])
			if at < 0 || at+len(vs) > len(final[key]) || !slices.Equal(final[key][at:at+len(vs)], vs) {
				t.Errorf("transaction %d appended %v to %d, which are not there in one piece", i, vs, key)
			}
			for _, v := range vs {
				writer[v] = i
			}
		}
	}
	place := map[int64]bool{}
	for key, list := range final {
		for _, v := range list {
			if place[v] || gone[v] {
				t.Errorf("list %d holds %d, twice: %v, of a transaction that went back: %v", key, v, place[v], gone[v])
			}
			place[v] = true
		}
	}
	if t.Failed() {
		return
	}
	after := make([][]dependency, len(done))
	edge := func(from, to int, kind string) {
		if from != to {
			after[from] = append(after[from], dependency{to, kind})
		}
	}
	for _, list := range final {
		for i := 1; i < len(list); i++ {
			edge(writer[list[i-1]], writer[list[i]], "ww")
		}
	}
	last := map[int]int{}
	for i, h := range done {
		if p, ok := last[h.session]; ok {
			edge(p, i, "so") // histories of one session stand in its order
		}
		last[h.session] = i
		for _, r := range h.reads {
			list := final[r.key]
			if len(r.list) > len(list) || !slices.Equal(list[:len(r.list)], r.list) {
				t.Errorf("transaction %d read %v of list %d, which is no prefix of %v", i, r.list, r.key, list)
				return
			}
			if !snapshots {
				continue // each statement has a snapshot of its own
			}
			if n := len(r.list); n > 0 {
				edge(writer[r.list[n-1]], i, "wr")
			}
			// The next value is by somebody that the snapshot did not see, unless it is the transaction's own.
			if n := len(r.list); n < len(list) {
				edge(i, writer[list[n]], "rw")
			}
		}
	}
	if !snapshots {
		return
	}
	// A cycle without anti-dependencies, or with one: from the end of each edge back to its beginning over the other kinds.
	for from := range done {
		for _, d := range after[from] {
			if path := reach(after, d.to, from); path != nil {
				t.Errorf("a cycle: %d -%s-> %v, sessions and reads %+v %+v", from, d.kind, path, done[from], done[d.to])
				return
			}
		}
	}
}

// reach finds a way over dependencies other than rw.
func reach(after [][]dependency, from, to int) []int {
	seen := make([]bool, len(after))
	var walk func(at int) []int
	walk = func(at int) []int {
		if at == to {
			return []int{at}
		}
		seen[at] = true
		for _, d := range after[at] {
			if d.kind != "rw" && !seen[d.to] {
				if rest := walk(d.to); rest != nil {
					return append([]int{at}, rest...)
				}
			}
		}
		return nil
	}
	return walk(from)
}
