package engine_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// TestManySessions lets sessions fight over few rows, with checkpoints and a small cache, and then holds everything against
// everything: no error but those that the rules allow, no dangling edge, exact counters, a sum that transfers keep.
func TestManySessions(t *testing.T) {
	total := 2 * time.Second
	if s, err := strconv.Atoi(os.Getenv("HEDGEROW_STRESS_SECONDS")); err == nil {
		total = time.Duration(s) * time.Second
	}
	o := options(vfs.NewMem())
	o.Steps, o.CheckpointBytes, o.CacheBytes = false, 1<<20, 2<<20
	db, err := engine.Open(bg, o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(bg)
	update(t, db, func(c *client) {
		c.must(c.tx.CreateGraph(bg, "graph"))
		c.must(c.tx.CreateConstraint(bg, "graph", store.ConstraintDef{Name: "uq", Label: "A", Keys: []string{"k"}, Kind: schema.Unique}))
	})
	const accounts = 10
	var ids []uint64
	update(t, db, func(c *client) {
		c.begin()
		for range accounts {
			ids = append(ids, c.node([]string{"Account"}, "money", 100))
		}
	})
	ctx, cancel := context.WithTimeout(bg, total)
	defer cancel()
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 5))
			for ctx.Err() == nil {
				if err := stressOnce(db, rng, ids); err != nil {
					switch dberr.As(err).Code {
					case dberr.Deadlock, dberr.SerializationFailure, dberr.UniqueViolation, dberr.ConnectedNode, dberr.EntityNotFound:
						continue
					}
					t.Errorf("session %d: %v", w, err)
					return
				}
			}
		})
	}
	wg.Wait()
	update(t, db, func(c *client) {
		c.begin()
		sum := int64(0)
		var col vec.Column
		c.must(c.g.Fetch(bg, c.after(), schema.Vertex, ids, nil, []schema.KeyID{c.key("money")}, []*vec.Column{&col}))
		for i := range ids {
			sum += col.Value(i).Int()
		}
		if sum != 100*accounts {
			t.Errorf("the money became %d", sum)
		}
		t.Logf("%d nodes, %v relationships, %+v", len(c.scan(c.after(), "")), c.g.RelCount(schema.NoLabel), db.Stats().Txn)
	})
	clean(t, db)
}

func stressOnce(db *engine.DB, rng *rand.Rand, accounts []uint64) (err error) {
	iso := store.ReadCommitted
	if rng.IntN(3) == 0 {
		iso = store.RepeatableRead
	}
	tx, err := db.Store().Begin(bg, store.TxOptions{Isolation: iso, Async: rng.IntN(2) == 0})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for range 1 + rng.IntN(3) {
		if err := stressStatement(tx, rng, accounts); err != nil {
			return err
		}
	}
	if rng.IntN(10) == 0 {
		return nil
	}
	return tx.Commit(bg)
}

func stressStatement(tx store.Tx, rng *rand.Rand, accounts []uint64) error {
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
	key := func(name string) schema.KeyID {
		k, kerr := g.EnsureKey(bg, name)
		if kerr != nil {
			err = kerr
		}
		return k
	}
	label := func(name string, e schema.Entity) schema.LabelID {
		l, lerr := g.EnsureLabel(bg, name, e)
		if lerr != nil {
			err = lerr
		}
		return l
	}
	v := st.View(cid)
	switch rng.IntN(6) {
	case 0, 1: // a transfer: lock, read, write
		a, b := accounts[rng.IntN(len(accounts))], accounts[rng.IntN(len(accounts))]
		if a == b {
			return nil
		}
		two, hints := []uint64{a, b}, make([]store.Hint, 2)
		changed, gone := make([]bool, 2), make([]bool, 2)
		if err := g.Lock(bg, v, schema.Vertex, two, hints, changed, gone); err != nil {
			return err
		}
		money := key("money")
		var col vec.Column
		if err := g.Fetch(bg, v, schema.Vertex, two, hints, []schema.KeyID{money}, []*vec.Column{&col}); err != nil {
			return err
		}
		amount := int64(rng.IntN(20))
		row := func(i int, d int64) store.PropRow {
			return store.PropRow{Keys: []schema.KeyID{money, key("pad")}, Vals: []value.Value{value.NewInt(col.Value(i).Int() + d),
				value.NewString(strings.Repeat("p", rng.IntN(900)))}}
		}
		if err := g.SetProps(bg, cid, schema.Vertex, two, hints, []store.PropRow{row(0, -amount), row(1, amount)}); err != nil {
			return err
		}
	case 2: // a node with a unique key, as MERGE would make it
		k := uint64(rng.IntN(30))
		if err := g.LockKeys(bg, []uint64{k}); err != nil {
			return err
		}
		var out store.Hits
		labels := []schema.LabelID{label("A", schema.Vertex)}
		if rng.IntN(2) == 0 {
			labels = slices.Insert(labels, 0, label("L"+strconv.Itoa(rng.IntN(4)), schema.Vertex))
		}
		p := store.PropRow{Keys: []schema.KeyID{key("k")}, Vals: []value.Value{value.NewInt(int64(k))}}
		if err != nil {
			return err
		}
		if err := g.CreateNodes(bg, cid, labels, []store.PropRow{p}, &out); err != nil {
			return err
		}
	default:
		cur, err := g.ScanNodes(bg, v, schema.NoLabel)
		if err != nil {
			return err
		}
		var all, h store.Hits
		for {
			if err := cur.Next(bg, 100, &h); err != nil {
				cur.Close()
				return err
			}
			if len(h.ID) == 0 {
				break
			}
			all.ID, all.Hint = append(all.ID, h.ID...), append(all.Hint, h.Hint...)
		}
		cur.Close()
		i, j := rng.IntN(len(all.ID)), rng.IntN(len(all.ID))
		if rng.IntN(2) == 0 {
			typ := label("T"+strconv.Itoa(rng.IntN(3)), schema.Edge)
			var out store.Hits
			if err := g.CreateRels(bg, cid, typ, all.ID[i:i+1], all.ID[j:j+1], nil, &out); err != nil {
				return err
			}
			break
		}
		if slices.Contains(accounts, all.ID[i]) {
			return nil
		}
		if rng.IntN(2) == 0 {
			if err := g.SetLabels(bg, cid, all.ID[i:i+1], all.Hint[i:i+1], []schema.LabelID{label("X", schema.Vertex)}, []schema.LabelID{label("A", schema.Vertex)}); err != nil {
				return err
			}
			break
		}
		if err := g.Delete(bg, cid, schema.Vertex, all.ID[i:i+1], all.Hint[i:i+1], rng.IntN(3) > 0); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return st.Finish(bg)
}
