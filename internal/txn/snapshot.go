package txn

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
)

// slot announces a live snapshot to whoever computes a horizon.
type slot struct {
	csn  atomic.Uint64 // MaxUint64 when free
	xmin atomic.Uint64
	next *slot // free list
	_    [40]byte
}

const slotBlock = 64

// slots grow by blocks and never shrink, so that a scan needs no lock.
type slots struct {
	mu     sync.Mutex // guards free and growth
	free   *slot
	blocks atomic.Pointer[[]*[slotBlock]slot]
}

func (s *slots) take() *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == nil {
		b := new([slotBlock]slot)
		for i := range b {
			b[i].csn.Store(math.MaxUint64)
			b[i].xmin.Store(math.MaxUint64)
			b[i].next, s.free = s.free, &b[i]
		}
		var all []*[slotBlock]slot
		if p := s.blocks.Load(); p != nil {
			all = append(all, *p...)
		}
		all = append(all, b)
		s.blocks.Store(&all)
	}
	x := s.free
	s.free = x.next
	return x
}

func (s *slots) give(x *slot) {
	x.csn.Store(math.MaxUint64)
	x.xmin.Store(math.MaxUint64)
	s.mu.Lock()
	x.next, s.free = s.free, x
	s.mu.Unlock()
}

// Horizon is what no live or future snapshot is older than: an xid below Xmin has ended for all of them, and what was committed
// at or below CSN is committed for all of them.
type Horizon struct {
	Xmin XID
	CSN  page.LSN
}

// Horizon computes the present horizon. It only grows: an older result stays true.
func (m *Manager) Horizon() Horizon {
	// A3: both before the scan. A snapshot that the scan misses compares its numbers with newer ones than these.
	h := Horizon{XID(m.oldest.Load()), page.LSN(m.published.Load())}
	h.CSN = min(h.CSN, m.log.FlushedLSN()) // A2
	sched.Point("txn.horizon.loaded")
	if p := m.slots.blocks.Load(); p != nil {
		for _, b := range *p {
			for i := range b {
				if c := b[i].csn.Load(); page.LSN(c) < h.CSN {
					h.CSN = page.LSN(c)
				}
				if x := b[i].xmin.Load(); XID(x) < h.Xmin {
					h.Xmin = XID(x)
				}
			}
		}
	}
	storeMax(&m.horizonXmin, uint64(h.Xmin))
	storeMax(&m.horizonCSN, uint64(h.CSN))
	return h
}

func storeMax(a *atomic.Uint64, v uint64) {
	for {
		o := a.Load()
		if v <= o || a.CompareAndSwap(o, v) {
			return
		}
	}
}

// RecentHorizon returns a horizon computed a while ago: cheap, still true, perhaps lower than need be.
func (m *Manager) RecentHorizon() Horizon {
	return Horizon{XID(m.horizonXmin.Load()), page.LSN(m.horizonCSN.Load())}
}

// Past reports whether the xid committed, and every snapshot sees it.
func (h Horizon) Past(m *Manager, x XID) bool {
	s, csn := m.resolve(x)
	return s == Committed && csn <= h.CSN
}

// Snapshot decides what is seen. It belongs to one goroutine and must be closed. Its numbers never change; its refresh set may
// grow (rules A9).
type Snapshot struct {
	m    *Manager
	tx   *Tx // whose own changes count; nil for none
	csn  page.LSN
	xmin XID
	xmax XID
	slot *slot // nil when the transaction's slot protects it

	refresh map[uint64]page.LSN
}

// take loads the three numbers in the one right order and announces them (A3).
func (m *Manager) take(s *Snapshot, sl *slot) {
	for {
		xmin, csn, xmax := m.oldest.Load(), m.published.Load(), m.next.Load()
		if sl != nil {
			sched.Point("txn.snapshot.loaded")
			sl.csn.Store(csn)
			sl.xmin.Store(xmin)
			sched.Point("txn.snapshot.announced")
			if x2, c2, m2 := m.oldest.Load(), m.published.Load(), m.next.Load(); x2 != xmin || c2 != csn || m2 != xmax {
				continue
			}
		}
		s.m, s.csn, s.xmin, s.xmax, s.slot = m, page.LSN(csn), XID(xmin), XID(xmax), sl
		return
	}
}

// Snapshot takes a snapshot outside any transaction.
func (m *Manager) Snapshot() *Snapshot {
	s := new(Snapshot)
	m.take(s, m.slots.take())
	m.snapshots.Add(1)
	return s
}

// Close gives the slot back. It may be called again.
func (s *Snapshot) Close() {
	if s.slot != nil {
		s.m.slots.give(s.slot)
		s.slot = nil
	}
}

// CSN returns the commit sequence number up to which commits are seen.
func (s *Snapshot) CSN() uint64 { return uint64(s.csn) }

// Xmin returns the xid below which all had ended.
func (s *Snapshot) Xmin() XID { return s.xmin }

// Xmax returns the first xid that had not been assigned.
func (s *Snapshot) Xmax() XID { return s.xmax }

// Tx returns the transaction whose own changes the snapshot sees, or nil.
func (s *Snapshot) Tx() *Tx { return s.tx }

// Manager returns the manager that made the snapshot.
func (s *Snapshot) Manager() *Manager { return s.m }

// Refresh makes every later read judge the versions of row id at csn (rules A9). An entry only grows.
func (s *Snapshot) Refresh(id uint64, csn page.LSN) {
	if csn <= s.csn {
		return
	}
	if s.refresh == nil {
		s.refresh = make(map[uint64]page.LSN)
	}
	if csn > s.refresh[id] {
		s.refresh[id] = csn
	}
}

// Refreshed reports whether the refresh set is not empty: exact counters must not be used then.
func (s *Snapshot) Refreshed() bool { return len(s.refresh) > 0 }

// RefreshedIDs calls f with every id of the refresh set: an index scan must look for them too, since the set may have brought
// a version into its range.
func (s *Snapshot) RefreshedIDs(f func(id uint64) bool) {
	for id := range s.refresh {
		if !f(id) {
			return
		}
	}
}

// limit returns the CSN at which versions of row id are judged.
func (s *Snapshot) limit(id uint64) page.LSN {
	if len(s.refresh) > 0 {
		if c, ok := s.refresh[id]; ok {
			return c
		}
	}
	return s.csn
}

// committedBy reports whether x is committed at or below limit, which is at least s.csn, and what became of it.
func (s *Snapshot) committedBy(x XID, limit page.LSN) (ok bool, st State, at page.LSN) {
	if x >= s.xmax && limit == s.csn {
		return false, InProgress, 0 // began later; what became of it does not matter
	}
	st, at = s.m.resolve(x)
	return st == Committed && at <= limit, st, at
}

// SeesXID reports whether the snapshot sees what x committed, own changes apart.
func (s *Snapshot) SeesXID(x XID) bool {
	ok, _, _ := s.committedBy(x, s.csn)
	return ok
}
