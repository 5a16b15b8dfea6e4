package adjacency

import (
	"slices"
	"sync"
	"sync/atomic"
)

// runBits is how many of the lowest bits of a graphid number a vertex within its run.
const runBits = 12

// RunOf returns the run of a vertex.
func RunOf(vertex uint64) uint64 { return vertex >> runBits }

// FirstOf returns the first vertex of a run.
func FirstOf(run uint64) uint64 { return run << runBits }

// Runs are the runs of vertices that may have entries in one covering index. They only grow, so that an entry that is gone keeps its run.
//
// The zero value knows nothing: every run may have entries. [Runs.Build] reads the index; from its beginning on, [Runs.Add] must be told of
// every new entry, after it was written and before its transaction commits. A reader that took its snapshot before it asks then never
// misses a committed entry, nor one of its own.
type Runs struct {
	known atomic.Pointer[runList]
	mu    sync.Mutex // held to replace known
}

// runList never changes.
type runList struct {
	building bool
	runs     []uint64 // ascending
}

// Known reports whether the index has been read.
func (r *Runs) Known() bool {
	l := r.known.Load()
	return l != nil && !l.building
}

// May reports whether vertices of the run may have entries.
func (r *Runs) May(run uint64) bool {
	l := r.known.Load()
	if l == nil || l.building {
		return true
	}
	_, ok := slices.BinarySearch(l.runs, run)
	return ok
}

// Add notes that there is an entry of the run.
func (r *Runs) Add(run uint64) {
	l := r.known.Load()
	if l == nil {
		return // who begins to build now reads the index later than the entry was written
	}
	if _, ok := slices.BinarySearch(l.runs, run); ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if l = r.known.Load(); l == nil {
		return
	}
	if i, ok := slices.BinarySearch(l.runs, run); !ok {
		r.known.Store(&runList{building: l.building, runs: slices.Insert(slices.Clone(l.runs), i, run)})
	}
}

// Build reads the index: next returns the first run from a given one on that has an entry. Someone else who builds already is not waited for. After
// an error nothing is known, as before.
func (r *Runs) Build(next func(from uint64) (run uint64, ok bool, err error)) error {
	r.mu.Lock()
	if r.known.Load() != nil {
		r.mu.Unlock()
		return nil
	}
	r.known.Store(&runList{building: true})
	r.mu.Unlock()

	var (
		read []uint64
		err  error
	)
	for from := uint64(0); ; from++ {
		run, ok, failed := next(from)
		if err = failed; err != nil || !ok {
			break
		}
		read = append(read, run)
		from = run
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.known.Store(nil)
		return err
	}
	read = append(read, r.known.Load().runs...)
	slices.Sort(read)
	r.known.Store(&runList{runs: slices.Compact(read)})
	return nil
}
