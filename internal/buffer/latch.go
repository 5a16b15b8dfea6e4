package buffer

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/hedgerowdb/hedgerow/internal/invariant"
)

// latch is the short lock of one frame, with the three modes of A10:
//
//	            shared   share-exclusive   exclusive
//	shared        yes          yes            no
//	share-ex.     yes          no             no
//	exclusive     no           no             no
//
// It has no pointers, so that descriptors need no scanning; who must wait parks in a table keyed by the latch's address.
// Waiters are served in the order in which they came, and nobody overtakes them: a writer cannot starve. For the same reason one
// goroutine must not take the shared mode twice.
type latch struct{ state atomic.Uint32 }

const (
	latchShared  uint32 = 1 // unit of the count of shared holders
	latchCount   uint32 = 1<<20 - 1
	latchSX      uint32 = 1 << 20 // somebody holds share-exclusive
	latchX       uint32 = 1 << 21 // somebody holds exclusive
	latchWaiters uint32 = 1 << 22 // somebody is parked: change the state only by CAS, and wake on release
)

type latchMode uint8

const (
	modeShared latchMode = iota
	modeSX
	modeX
)

// add and bar say, for each mode, what holding it adds to the state and which bits keep it out.
var (
	latchAdd = [3]uint32{modeShared: latchShared, modeSX: latchSX, modeX: latchX}
	latchBar = [3]uint32{modeShared: latchX, modeSX: latchX | latchSX, modeX: latchX | latchSX | latchCount}
)

func (l *latch) try(m latchMode) bool {
	for {
		s := l.state.Load()
		if s&(latchBar[m]|latchWaiters) != 0 {
			return false
		}
		if l.state.CompareAndSwap(s, s+latchAdd[m]) {
			return true
		}
	}
}

func (l *latch) lock(m latchMode) {
	if !l.try(m) {
		l.park(m)
	}
}

func (l *latch) unlock(m latchMode) {
	if invariant.Enabled {
		s := l.state.Load()
		if m == modeShared && s&latchCount == 0 || m != modeShared && s&latchAdd[m] == 0 {
			invariant.Failf("latch: released in a mode in which it is not held (state %x)", s)
		}
	}
	if s := l.state.Add(-latchAdd[m]); s&latchWaiters != 0 {
		l.wake()
	}
}

// tryUpgrade turns the caller's shared hold into share-exclusive, if no other share-exclusive holder is there. Waiters do not
// hinder it: the caller keeps out the exclusive ones anyway.
func (l *latch) tryUpgrade() bool {
	for {
		s := l.state.Load()
		if s&(latchX|latchSX) != 0 {
			return false
		}
		if l.state.CompareAndSwap(s, s-latchShared+latchSX) {
			return true
		}
	}
}

// downgrade turns the caller's share-exclusive or exclusive hold into shared.
func (l *latch) downgrade(from latchMode) {
	// Adding first keeps an exclusive waiter from slipping in between.
	if s := l.state.Add(latchShared - latchAdd[from]); s&latchWaiters != 0 {
		l.wake()
	}
}

// idle reports whether nobody holds the latch.
func (l *latch) held(m latchMode) bool {
	s := l.state.Load()
	if m == modeShared {
		return s&latchCount != 0
	}
	return s&latchAdd[m] != 0
}

// The parking table.

type latchWaiter struct {
	l     *latch
	mode  latchMode
	ready chan struct{}
	next  *latchWaiter
}

type latchBucket struct {
	mu         sync.Mutex // guards the list; held while a parked latch's WAITERS bit changes
	head, tail *latchWaiter
	_          [64 - 24]byte
}

var latchBuckets [256]latchBucket

var latchWaiterPool = sync.Pool{New: func() any { return &latchWaiter{ready: make(chan struct{}, 1)} }}

func (l *latch) bucket() *latchBucket {
	// Descriptors never move: the array of a pool is one allocation, and Go's collector does not move the heap.
	h := uint64(uintptr(unsafe.Pointer(l))) * 0x9e3779b97f4a7c15
	return &latchBuckets[h>>56]
}

func (l *latch) park(m latchMode) {
	b := l.bucket()
	b.mu.Lock()
	for {
		s := l.state.Load()
		if s&(latchBar[m]|latchWaiters) == 0 {
			if l.state.CompareAndSwap(s, s+latchAdd[m]) {
				b.mu.Unlock()
				return
			}
			continue
		}
		// Once the bit is set, the next release comes to wake and finds us in the list, since we hold b.mu.
		if s&latchWaiters != 0 || l.state.CompareAndSwap(s, s|latchWaiters) {
			break
		}
	}
	w := latchWaiterPool.Get().(*latchWaiter)
	w.l, w.mode, w.next = l, m, nil
	if b.tail == nil {
		b.head = w
	} else {
		b.tail.next = w
	}
	b.tail = w
	// The holder may have let go between our look at the state and the bit: it saw no bit then and did not wake.
	b.grantLocked(l)
	b.mu.Unlock()
	<-w.ready
	w.l = nil
	latchWaiterPool.Put(w)
}

func (l *latch) wake() {
	b := l.bucket()
	b.mu.Lock()
	b.grantLocked(l)
	b.mu.Unlock()
}

// grantLocked hands the latch to its waiters in order, as far as it is free for them, and clears the bit after the last.
func (b *latchBucket) grantLocked(l *latch) {
	var prev *latchWaiter
	for w := b.head; w != nil; {
		next := w.next
		if w.l != l {
			prev, w = w, next
			continue
		}
		granted := false
		for {
			s := l.state.Load()
			if s&latchBar[w.mode] != 0 {
				break
			}
			if l.state.CompareAndSwap(s, s+latchAdd[w.mode]) {
				granted = true
				break
			}
		}
		if !granted {
			return // those behind wait for their turn
		}
		if prev == nil {
			b.head = next
		} else {
			prev.next = next
		}
		if b.tail == w {
			b.tail = prev
		}
		w.ready <- struct{}{}
		w = next
	}
	// No waiter of l is left. Nobody can join meanwhile: joining needs b.mu.
	for {
		s := l.state.Load()
		if s&latchWaiters == 0 || l.state.CompareAndSwap(s, s&^latchWaiters) {
			return
		}
	}
}
