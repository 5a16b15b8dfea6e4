package adjacency

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// index is a set of runs that is read as a covering index is.
type index struct {
	mu   sync.Mutex
	runs []uint64
}

func (x *index) insert(run uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if i, ok := slices.BinarySearch(x.runs, run); !ok {
		x.runs = slices.Insert(x.runs, i, run)
	}
}

func (x *index) next(from uint64) (uint64, bool, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i, _ := slices.BinarySearch(x.runs, from)
	if i == len(x.runs) {
		return 0, false, nil
	}
	return x.runs[i], true, nil
}

func TestRuns(t *testing.T) {
	var r Runs
	x := &index{runs: []uint64{0, 7, 8, 1 << 51}}
	if r.Known() || !r.May(5) {
		t.Error("the zero value claims to know")
	}
	r.Add(3) // nobody listens yet
	if err := r.Build(x.next); err != nil {
		t.Fatal(err)
	}
	for run, want := range map[uint64]bool{0: true, 1: false, 3: false, 7: true, 8: true, 9: false, 1 << 51: true, 1<<51 + 1: false} {
		if got := r.May(run); got != want {
			t.Errorf("May(%d) is %t", run, got)
		}
	}
	r.Add(9)
	if !r.May(9) || r.May(10) {
		t.Error("what was added is not there, or more is")
	}
}

// TestRunsBuildFails: what was not read to its end says nothing.
func TestRunsBuildFails(t *testing.T) {
	var r Runs
	broken := errors.New("broken")
	n := 0
	err := r.Build(func(from uint64) (uint64, bool, error) {
		if n++; n == 3 {
			return 0, false, broken
		}
		return from, true, nil
	})
	if err != broken || r.Known() || !r.May(100) {
		t.Errorf("%v, known %t", err, r.Known())
	}
}

// TestRunsDuringBuild: an entry written while the index is read, before or behind the reader, is not missed, wherever its writer is stopped.
func TestRunsDuringBuild(t *testing.T) {
	var r Runs
	x := &index{runs: []uint64{10, 20, 30}}
	err := r.Build(func(from uint64) (uint64, bool, error) {
		run, ok, err := x.next(from)
		if run == 20 { // the reader is past 5
			x.insert(5)
			r.Add(5)
			if !r.May(6) || !r.May(5) {
				t.Error("what is being read is believed")
			}
			if err := r.Build(x.next); err != nil || r.Known() {
				t.Error("a second builder waits or finishes the work of the first")
			}
		}
		return run, ok, err
	})
	if err != nil || !r.May(5) || r.May(6) || !r.May(30) {
		t.Errorf("%v: 5 %t, 6 %t, 30 %t", err, r.May(5), r.May(6), r.May(30))
	}
}

// TestRunsConcurrent: whatever the order of writers and builders, an entry whose writer has told of it is known.
func TestRunsConcurrent(t *testing.T) {
	for round := range 200 {
		var (
			r  Runs
			x  index
			wg sync.WaitGroup
		)
		for w := range 4 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(round), uint64(w)))
				for range 50 {
					run := rnd.Uint64N(1000)
					x.insert(run)
					r.Add(run)
					if !r.May(run) {
						t.Errorf("run %d is not known to its writer", run)
					}
				}
			})
		}
		wg.Go(func() {
			if err := r.Build(x.next); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if len(r.known.Load().runs) != len(x.runs) {
			t.Fatalf("%d runs are known, there are %d", len(r.known.Load().runs), len(x.runs))
		}
	}
}
