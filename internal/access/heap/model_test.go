package heap

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"pgregory.net/rapid"
)

// model is what a table of rows under concurrent transactions must look like.
type model struct {
	e         *env
	h         *Table
	committed map[uint64]string
	stamp     map[uint64]int        // when a row last changed by a commit
	commits   int                   // so many commits until now
	roots     map[uint64][]page.TID // every root that an id index would have
	owner     map[uint64]*modelTx
	txs       []*modelTx
	snaps     []*modelSnap
	next      uint64
}

type modelTx struct {
	tx     *txn.Tx
	base   map[uint64]string // repeatable read: what was committed at its first snapshot
	at     int
	own    map[uint64]string   // "" for deleted
	byCID  []map[uint64]string // own changes that a read at each command id sees
	points []map[uint64]string // own at each open savepoint
	held   []uint64
	heldAt []int
}

type modelSnap struct {
	s    *txn.Snapshot
	base map[uint64]string
	tx   *modelTx // nil for nobody's
}

func (m *model) see(tx *modelTx) map[uint64]string {
	if tx != nil && tx.base != nil {
		return tx.base
	}
	return maps.Clone(m.committed)
}

func overlay(base, own map[uint64]string) map[uint64]string {
	out := maps.Clone(base)
	for id, s := range own {
		if s == "" {
			delete(out, id)
		} else {
			out[id] = s
		}
	}
	return out
}

// note records what a read at the new command id sees.
func (tx *modelTx) note() { tx.byCID = append(tx.byCID, maps.Clone(tx.own)) }

func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tb := &rapidTB{TB: t, rt: rt}
		defer tb.cleanup()
		e := newEnv(tb)
		m := &model{e: e, h: e.table(Options{FillPercent: 100}), committed: map[uint64]string{}, stamp: map[uint64]int{},
			roots: map[uint64][]page.TID{}, owner: map[uint64]*modelTx{}, next: 1}
		text := rapid.Custom(func(rt *rapid.T) string {
			return strings.Repeat(string(rune(rapid.IntRange('a', 'z').Draw(rt, "c"))), rapid.SampledFrom([]int{1, 10, 300, 900, 2000}).Draw(rt, "n"))
		})
		pickTx := func(rt *rapid.T) *modelTx {
			if len(m.txs) == 0 {
				rt.Skip("no transaction")
			}
			return rapid.SampledFrom(m.txs).Draw(rt, "tx")
		}
		rt.Repeat(map[string]func(*rapid.T){
			"begin": func(rt *rapid.T) {
				if len(m.txs) > 3 {
					rt.Skip()
				}
				o := txn.TxOptions{Async: rapid.Bool().Draw(rt, "async")}
				tx := &modelTx{own: map[uint64]string{}}
				if rapid.Bool().Draw(rt, "rr") {
					o.Isolation = txn.RepeatableRead
				}
				tx.tx = e.m.Begin(o)
				if o.Isolation == txn.RepeatableRead {
					tx.base, tx.at = maps.Clone(m.committed), m.commits
					tx.tx.Snapshot().Close()
				}
				tx.note()
				m.txs = append(m.txs, tx)
			},
			"insert": func(rt *rapid.T) {
				tx := pickTx(rt)
				n := rapid.IntRange(1, 5).Draw(rt, "rows")
				var rows [][]byte
				var ids []uint64
				cid, err := tx.tx.Segment(1)
				must(t, err)
				for range n {
					s := text.Draw(rt, "text")
					rows = append(rows, row(m.next, s))
					ids = append(ids, m.next)
					tx.own[m.next] = s
					m.next++
				}
				tids := make([]page.TID, n)
				must(t, m.h.InsertMany(e.ctx, tx.tx, cid, rows, tids))
				for i, id := range ids {
					m.roots[id] = append(m.roots[id], tids[i])
					m.take(tx, id)
				}
				tx.note()
			},
			"change": func(rt *rapid.T) {
				tx := pickTx(rt)
				s := tx.tx.Snapshot()
				defer s.Close()
				seen := overlay(m.see(tx), tx.own)
				var ids []uint64
				for id := range seen {
					if o := m.owner[id]; o == nil || o == tx {
						ids = append(ids, id)
					}
				}
				if len(ids) == 0 {
					rt.Skip()
				}
				slices.Sort(ids)
				id := rapid.SampledFrom(ids).Draw(rt, "id")
				txt := ""
				if rapid.IntRange(0, 3).Draw(rt, "delete") > 0 {
					txt = text.Draw(rt, "text")
				}
				cid := tx.tx.CurrentCID()
				tid := m.find(rt, s, cid, id, seen[id])
				res, err := e.tryUpdate(m.h, tx.tx, s, tid, id, txt, rapid.Bool().Draw(rt, "hot"))
				_, mine := tx.own[id]
				if !mine && tx.base != nil && m.stamp[id] > tx.at {
					if !dberr.Is(err, dberr.SerializationFailure) {
						rt.Fatalf("row %d changed since the snapshot: %+v, %v", id, res, err)
					}
					tx.note()
					return
				}
				if err != nil || res.Outcome != OK {
					rt.Fatalf("row %d: %+v, %v", id, res, err)
				}
				if txt != "" && !res.HOT {
					m.roots[id] = append(m.roots[id], res.TID)
				}
				if tx.base == nil {
					// Older snapshots of the transaction must judge the row as the one that it was changed under (A9).
					for _, sn := range m.snaps {
						if sn.tx != tx {
							continue
						}
						sn.s.Refresh(id, page.LSN(s.CSN()))
						delete(sn.base, id)
						if c, ok := m.committed[id]; ok {
							sn.base[id] = c
						}
					}
				}
				tx.own[id] = txt
				m.take(tx, id)
				tx.note()
			},
			"savepoint": func(rt *rapid.T) {
				tx := pickTx(rt)
				must(t, tx.tx.Savepoint("s"))
				tx.points = append(tx.points, maps.Clone(tx.own))
				tx.heldAt = append(tx.heldAt, len(tx.held))
			},
			"release": func(rt *rapid.T) {
				tx := pickTx(rt)
				if len(tx.points) == 0 {
					rt.Skip()
				}
				must(t, tx.tx.Release("s"))
				tx.points, tx.heldAt = tx.points[:len(tx.points)-1], tx.heldAt[:len(tx.heldAt)-1]
			},
			"rollback to": func(rt *rapid.T) {
				tx := pickTx(rt)
				if len(tx.points) == 0 {
					rt.Skip()
				}
				must(t, tx.tx.RollbackTo("s"))
				last := tx.points[len(tx.points)-1]
				tx.own = maps.Clone(last)
				// What earlier commands saw of what is undone is gone too: compare the newest alone from here on.
				tx.byCID = nil
				for range tx.tx.CurrentCID() + 1 {
					tx.byCID = append(tx.byCID, nil)
				}
				tx.byCID[len(tx.byCID)-1] = maps.Clone(tx.own)
				k := tx.heldAt[len(tx.heldAt)-1]
				for _, id := range tx.held[k:] {
					delete(m.owner, id)
				}
				tx.held = tx.held[:k]
			},
			"end": func(rt *rapid.T) {
				tx := pickTx(rt)
				if rapid.IntRange(0, 3).Draw(rt, "abort") == 0 {
					tx.tx.Rollback()
				} else {
					e.commit(tx.tx)
					m.commits++
					for id, s := range tx.own {
						if s == "" {
							delete(m.committed, id)
						} else {
							m.committed[id] = s
						}
						m.stamp[id] = m.commits
					}
				}
				for _, id := range tx.held {
					delete(m.owner, id)
				}
				m.txs = slices.DeleteFunc(m.txs, func(o *modelTx) bool { return o == tx })
				m.snaps = slices.DeleteFunc(m.snaps, func(s *modelSnap) bool {
					if s.tx == tx {
						s.s.Close()
					}
					return s.tx == tx
				})
			},
			"snapshot": func(rt *rapid.T) {
				if len(m.snaps) > 4 {
					m.snaps[0].s.Close()
					m.snaps = m.snaps[1:]
				}
				sn := &modelSnap{}
				if len(m.txs) > 0 && rapid.Bool().Draw(rt, "own") {
					sn.tx = pickTx(rt)
					sn.s = sn.tx.tx.Snapshot()
				} else {
					sn.s = e.m.Snapshot()
				}
				sn.base = m.see(sn.tx)
				m.snaps = append(m.snaps, sn)
			},
			"prune": func(rt *rapid.T) {
				must(t, e.log.FlushTo(e.log.InsertedLSN()))
				n, err := m.h.Blocks()
				must(t, err)
				for b := range n {
					_, err := m.h.Prune(e.ctx, b)
					must(t, err)
				}
			},
			"": func(rt *rapid.T) {
				for _, sn := range m.snaps {
					want, cid := sn.base, uint32(0)
					if sn.tx != nil {
						cid = rapid.Uint32Range(0, sn.tx.tx.CurrentCID()).Draw(rt, "cid")
						if sn.tx.byCID[cid] == nil {
							cid = sn.tx.tx.CurrentCID()
						}
						want = overlay(want, sn.tx.byCID[cid])
					}
					if got := e.all(m.h, sn.s, cid); !maps.Equal(got, want) {
						rt.Fatalf("scan at %d: %d rows, want %d", cid, len(got), len(want))
					}
					if len(want) > 0 {
						ids := slices.Sorted(maps.Keys(want))
						id := rapid.SampledFrom(ids).Draw(rt, "read")
						m.find(rt, sn.s, cid, id, want[id])
					}
				}
			},
		})
		for _, s := range m.snaps {
			s.s.Close()
		}
		for _, tx := range m.txs {
			tx.tx.Rollback()
		}
	})
}

func (m *model) take(tx *modelTx, id uint64) {
	if m.owner[id] == nil {
		m.owner[id] = tx
		tx.held = append(tx.held, id)
	}
}

// find looks a row up as an id index would: exactly one root leads to the version seen.
func (m *model) find(rt *rapid.T, s *txn.Snapshot, cid uint32, id uint64, want string) page.TID {
	var at page.TID
	n := 0
	g := m.h.Getter()
	defer g.Release()
	for _, r := range slices.Compact(slices.Sorted(slices.Values(m.roots[id]))) {
		b, root, ok, err := g.Get(m.e.ctx, s, cid, r, id, ByIndex)
		if err != nil {
			rt.Fatal(err)
		}
		if !ok {
			continue
		}
		n++
		at = root
		if text(b) != want {
			rt.Fatalf("row %d at %v is %.3q (%d), want %.3q (%d)", id, r, text(b), len(b), want, len(want))
		}
	}
	if n != 1 {
		rt.Fatalf("row %d is reached through %d roots of %v", id, n, m.roots[id])
	}
	return at
}

// rapidTB fails the rapid run, and cleans up with it.
type rapidTB struct {
	testing.TB
	rt *rapid.T
	fs []func()
}

func (r *rapidTB) Fatal(args ...any)                 { r.rt.Fatal(args...) }
func (r *rapidTB) Fatalf(format string, args ...any) { r.rt.Fatalf(format, args...) }
func (r *rapidTB) Cleanup(f func())                  { r.fs = append(r.fs, f) }
func (r *rapidTB) cleanup() {
	for i := len(r.fs) - 1; i >= 0; i-- {
		r.fs[i]()
	}
}
