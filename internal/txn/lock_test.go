package txn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

func TestConflictsAreSymmetric(t *testing.T) {
	for a := Mode(1); a < modes; a++ {
		for b := Mode(1); b < modes; b++ {
			if Conflicts(a, b) != Conflicts(b, a) {
				t.Errorf("%v and %v", a, b)
			}
			if kindOf(a) != kindOf(b) && Conflicts(a, b) {
				t.Errorf("%v of one kind conflicts with %v of another", a, b)
			}
		}
	}
	if Conflicts(RowKeyShare, RowNoKeyUpdate) || !Conflicts(RowKeyShare, RowUpdate) { // B2
		t.Error("KEY SHARE")
	}
}

// async runs f and returns what it returned.
func async(f func() error) chan error {
	c := make(chan error, 1)
	go func() { c <- f() }()
	return c
}

// blocked fails if c is done soon.
func blocked(t *testing.T, c chan error) {
	t.Helper()
	select {
	case err := <-c:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
}

func TestLocksQueueInOrder(t *testing.T) {
	e := newEnv(t, Options{})
	res := Resource{KindRelation, 7, 0}
	a, b, c := e.m.Begin(TxOptions{}), e.m.Begin(TxOptions{}), e.m.Begin(TxOptions{})
	e.must(a.Lock(e.ctx, res, AccessShare))
	excl := async(func() error { return b.Lock(e.ctx, res, AccessExclusive) })
	blocked(t, excl)
	share := async(func() error { return c.Lock(e.ctx, res, AccessShare) })
	blocked(t, share) // does not overtake the one that waits for exclusive
	e.must(a.Lock(e.ctx, res, AccessShare))
	a.Rollback()
	e.must(<-excl)
	blocked(t, share)
	b.Rollback()
	e.must(<-share)
	if c.TryLock(res, AccessExclusive) != true {
		t.Fatal("an upgrade without others must be granted")
	}
	c.Rollback()
	if n := len(e.m.locks.part(res).heads); n != 1 {
		t.Fatalf("%d heads are left, not the one that stays for whoever comes next", n)
	}
}

// Heads that stay for the next one are few, whoever holds what when they are replaced; a head in use is never taken from its holders.
func TestKeptHeadsAreFew(t *testing.T) {
	e := newEnv(t, Options{})
	holder := e.m.Begin(TxOptions{})
	e.must(holder.Lock(e.ctx, Resource{KindRelation, 1, 0}, AccessShare))
	for round := range 3 {
		for i := uint64(1); i < 2000; i++ {
			tx := e.m.Begin(TxOptions{})
			e.must(tx.Lock(e.ctx, Resource{KindRelation, i, 0}, AccessShare))
			tx.Rollback()
		}
		other := e.m.Begin(TxOptions{})
		if other.TryLock(Resource{KindRelation, 1, 0}, AccessExclusive) != (round == 2) {
			t.Fatal("the lock of a relation was lost, or stays")
		}
		other.Rollback()
		if round == 1 {
			holder.Rollback()
		}
	}
	for i := range e.m.locks.parts {
		if n := len(e.m.locks.parts[i].heads); n > keptHeads {
			t.Errorf("%d heads are left in one partition", n)
		}
	}
}

func TestDeadlockVictimIsTheYoungest(t *testing.T) {
	e := newEnv(t, Options{DeadlockDelay: time.Millisecond})
	for n := 2; n <= 4; n++ {
		txs := make([]*Tx, n)
		for i := range txs {
			txs[i] = e.m.Begin(TxOptions{})
			e.must(txs[i].LockRow(e.ctx, 1, uint64(i), RowUpdate))
		}
		errs := make([]chan error, n)
		for i := range txs {
			errs[i] = async(func() error { return txs[i].LockRow(e.ctx, 1, uint64((i+1)%n), RowNoKeyUpdate) })
		}
		if err := <-errs[n-1]; !dberr.Is(err, dberr.Deadlock) {
			t.Fatalf("cycle of %d: %v", n, err)
		}
		for i := n - 1; i >= 0; i-- {
			txs[i].Rollback()
			if i > 0 {
				e.must(<-errs[i-1])
			}
		}
	}
}

func TestDeadlockThroughXIDsAndGroups(t *testing.T) { // B7
	e := newEnv(t, Options{DeadlockDelay: time.Millisecond})
	a, b := e.m.Begin(TxOptions{}), e.m.Begin(TxOptions{})
	xa := e.write(a)
	e.must(b.LockRelation(e.ctx, 9, Exclusive))
	sys := e.m.BeginSystem(a, TxOptions{})
	e.must(a.LockRelation(e.ctx, 8, Exclusive))
	e.must(sys.LockRelation(e.ctx, 8, Exclusive)) // no conflict within the group
	if err := sys.WaitXID(e.ctx, xa); !dberr.Is(err, dberr.Deadlock) {
		t.Fatalf("waiting for the caller: %v", err)
	}
	// The system transaction waits for b, so its caller a does; b waits for a's xid.
	one := async(func() error { return sys.LockRelation(e.ctx, 9, Share) })
	blocked(t, one)
	two := async(func() error { return b.WaitXID(e.ctx, xa) })
	if err := <-two; !dberr.Is(err, dberr.Deadlock) {
		t.Fatalf("the youngest is b: %v", err)
	}
	b.Rollback()
	e.must(<-one)
	sys.Rollback()
	a.Rollback()
}

func TestWaitsEnd(t *testing.T) {
	e := newEnv(t, Options{})
	a := e.m.Begin(TxOptions{})
	x := e.write(a)
	e.must(a.LockRow(e.ctx, 1, 1, RowUpdate))
	b := e.m.Begin(TxOptions{LockTimeout: 5 * time.Millisecond})
	if err := b.LockRow(e.ctx, 1, 1, RowKeyShare); !dberr.Is(err, dberr.LockTimeout) {
		t.Fatal(err)
	}
	if err := b.WaitXID(e.ctx, x); !dberr.Is(err, dberr.LockTimeout) {
		t.Fatal(err)
	}
	b.SetLockTimeout(-1)
	ctx, cancel := context.WithCancel(e.ctx)
	c := async(func() error { return b.LockRow(ctx, 1, 1, RowKeyShare) })
	blocked(t, c)
	cancel()
	if err := <-c; !dberr.Is(err, dberr.Canceled) {
		t.Fatal(err)
	}
	c = async(func() error { return b.WaitXID(e.ctx, x) })
	blocked(t, c)
	e.commit(a)
	e.must(<-c)
	if !e.sees(x) {
		t.Fatal("who waited does not see the commit")
	}
	e.must(b.LockRow(e.ctx, 1, 1, RowKeyShare))
	b.Rollback()
	if e.m.Stats().RowLocks != 0 {
		t.Fatal("row locks are left")
	}
}

func TestWaitForRolledBackSubtransaction(t *testing.T) { // A6
	e := newEnv(t, Options{})
	a, b := e.m.Begin(TxOptions{}), e.m.Begin(TxOptions{})
	e.write(a)
	e.must(a.Savepoint("s"))
	e.must(a.Savepoint("t"))
	x := e.write(a)
	e.must(a.Release("t"))
	c := async(func() error { return b.WaitXID(e.ctx, x) })
	blocked(t, c)
	e.must(a.RollbackTo("s"))
	e.must(<-c)
	a.Rollback()
	b.Rollback()
}

func TestSavepointRollbackGivesLocksBack(t *testing.T) { // X8
	e := newEnv(t, Options{})
	a, b := e.m.Begin(TxOptions{}), e.m.Begin(TxOptions{})
	row := func(i uint64) Resource { return Resource{KindRow, 1, i} }
	e.must(a.LockRow(e.ctx, 1, 1, RowShared))
	e.must(a.Savepoint("s"))
	e.must(a.LockRow(e.ctx, 1, 1, RowUpdate)) // stronger, only since the savepoint
	e.must(a.LockRow(e.ctx, 1, 2, RowUpdate))
	e.must(a.Savepoint("t"))
	e.must(a.LockRow(e.ctx, 1, 3, RowUpdate))
	e.must(a.Release("t"))
	for i := uint64(1); i <= 3; i++ {
		if b.TryLock(row(i), RowKeyShare) {
			t.Fatalf("row %d is free", i)
		}
	}
	e.must(a.RollbackTo("s"))
	for i := uint64(1); i <= 3; i++ {
		if !b.TryLock(row(i), RowKeyShare) {
			t.Fatalf("row %d is still locked", i)
		}
	}
	if b.TryLock(row(1), RowNoKeyUpdate) {
		t.Fatal("the lock from before the savepoint is gone")
	}
	a.Rollback()
	b.Rollback()
}

func TestSharedRowLocksEscalate(t *testing.T) { // B2
	e := newEnv(t, Options{MaxRowLocks: 10})
	a, b := e.m.Begin(TxOptions{}), e.m.Begin(TxOptions{})
	for i := range uint64(50) {
		e.must(a.LockRow(e.ctx, 1, i, RowKeyShare))
	}
	if n := a.RowLocks(); n > 10 {
		t.Fatalf("%d row locks are listed", n)
	}
	if !b.RowBlocked(1, 1000, RowUpdate) || b.RowBlocked(1, 1000, RowNoKeyUpdate) || b.RowBlocked(2, 1, RowUpdate) {
		t.Fatal("the lock on the relation must exclude deletes there, and nothing else")
	}
	c := async(func() error { return b.LockRow(e.ctx, 1, 1000, RowUpdate) })
	blocked(t, c)
	a.Rollback()
	e.must(<-c)
	// And the other way round: an escalated holder still meets exclusive locks of single rows.
	a = e.m.Begin(TxOptions{})
	for i := range uint64(20) {
		e.must(a.LockRow(e.ctx, 1, i, RowKeyShare))
	}
	c = async(func() error { return a.LockRow(e.ctx, 1, 1000, RowKeyShare) })
	blocked(t, c)
	b.Rollback()
	e.must(<-c)
	a.Rollback()
}

func TestRowCoveredForgetsOnlyWhatTheXmaxProtects(t *testing.T) {
	e := newEnv(t, Options{})
	a := e.m.Begin(TxOptions{})
	e.must(a.LockRow(e.ctx, 1, 1, RowNoKeyUpdate))
	a.RowCovered(1, 1, RowNoKeyUpdate)
	if a.RowLocks() != 0 {
		t.Fatal("still listed")
	}
	e.must(a.LockRow(e.ctx, 1, 1, RowUpdate))
	a.RowCovered(1, 1, RowNoKeyUpdate) // weaker than the lock
	if a.RowLocks() != 1 {
		t.Fatal("a stronger lock was forgotten")
	}
	e.must(a.Savepoint("s"))
	a.RowCovered(1, 1, RowUpdate) // the xmax of a savepoint may go away again
	if a.RowLocks() != 1 {
		t.Fatal("the lock of an outer level was forgotten")
	}
	a.Rollback()
}

func TestHashIntent(t *testing.T) { // B14
	e := newEnv(t, Options{})
	a, b := e.m.Begin(TxOptions{}), e.m.Begin(TxOptions{})
	over := Resource{KindHash, 5, 0}
	e.must(a.Lock(e.ctx, over, HashIntent))
	e.must(b.Lock(e.ctx, over, HashIntent))
	if a.TryLock(over, HashExclusive) {
		t.Fatal("exclusive beside another's intent")
	}
	b.Rollback()
	if !a.TryLock(over, HashExclusive) {
		t.Fatal("not granted")
	}
	a.Rollback()
}

// Whatever happens, nobody waits for ever, exclusive holders are alone, and nothing is left at the end.
func TestLocksUnderFire(t *testing.T) {
	e := newEnv(t, Options{DeadlockDelay: time.Millisecond})
	var held [8]atomic.Int32
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			for range 200 {
				tx := e.m.Begin(TxOptions{})
				var mine []int
				for range 3 {
					i := rng.IntN(len(held))
					if err := tx.LockRow(e.ctx, 1, uint64(i), RowUpdate); err != nil {
						if !dberr.Is(err, dberr.Deadlock) {
							t.Error(err)
						}
						break
					}
					if n := held[i].Add(1); n > 1 {
						own := false
						for _, k := range mine {
							own = own || k == i
						}
						if !own {
							t.Error(fmt.Sprintf("row %d is held twice", i))
						}
					}
					mine = append(mine, i)
				}
				for _, i := range mine {
					held[i].Add(-1)
				}
				tx.Rollback()
			}
		})
	}
	wg.Wait()
	if e.m.Stats().RowLocks != 0 {
		t.Fatal("row locks are left")
	}
}
