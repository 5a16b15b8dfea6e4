package adjacency

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// state of a segment.
type state uint32

const (
	absent   state = iota // readers use the index, writers tell nobody
	building              // writers tell of what they did; readers use the index
	ready
)

// Segment is the neighbourhoods of one run of vertices in one covering index.
type Segment struct {
	side *Side
	run  uint64

	state   atomic.Uint32 // changes under mu
	gen     atomic.Pointer[Generation]
	touches atomic.Uint32 // readers that would have liked it to be ready
	used    atomic.Uint32 // the cache's clock when it was read last
	listed  bool          // among the cache's live ones; guarded by its mutex

	mu      sync.Mutex // guards the fields below and the changes of those above
	told    *told      // nil until somebody tells
	gateCSN page.LSN   // not built again until the horizon has moved past it
	gateXID txn.XID    // nor until this one has ended
	bytes   int64      // accounted
	blocked page.LSN   // a fold is of no use until the horizon has moved past it
	folds   int32      // changes beyond which a fold is due
	epoch   uint32     // builds begun
	queued  bool       // for a fold
}

// told is what a segment keeps of those who told it of changes.
type told struct {
	pending []change // while it is built
	last    txn.XID  // the transaction that told last, and how often
	lastN   int
	adds    map[txn.XID]int // how often others did that told before it
	addsMax int             // when to forget those that have ended
}

// Ready returns the segment's generation, or nil: then the reader uses the index. The 32nd time a build begins in the background.
func (s *Segment) Ready() *Generation {
	g := s.gen.Load()
	if g == nil && s.side.cache.o.Eager {
		_ = s.side.cache.build(s.side.cache.ctx, s) // what fails is read from the index
		s.side.cache.Work(s.side.cache.ctx)
		g = s.gen.Load()
	}
	if g == nil {
		if s.touches.Add(1)%touchesToBuild == 0 {
			s.side.cache.want(s)
		}
		return nil
	}
	if now := s.side.cache.clock.Load(); s.used.Load() != now {
		s.used.Store(now)
	}
	return g
}

// Change is a relationship that came or went, told of by its writer.
type Change struct {
	Near, Far, Rel uint64
	XID, Top       txn.XID // who, and the transaction that it belongs to
	CID            uint32
	Del            bool
}

// Tell notes a change. The heap and the indexes must have it already: then either it is noted here, or whoever begins to build finds it there
// (rules B10).
func (d *Side) Tell(c Change) {
	s := d.at(RunOf(c.Near))
	if s == nil || state(s.state.Load()) == absent {
		return
	}
	if f := s.side.cache.o.Forget; f != nil && f() {
		return
	}
	sched.Point("adjacency.tell.before")
	s.tell(c)
}

func (s *Segment) tell(c Change) {
	cache := s.side.cache
	e := event{far: c.Far, rel: c.Rel, x: uint64(c.XID) << 1, cid: c.CID}
	if c.Del {
		e.x |= 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if state(s.state.Load()) == absent {
		return
	}
	if s.told == nil {
		s.told = new(told)
	}
	if s.told.over(cache, c.Top) {
		s.dropLocked()
		s.gateXID = c.Top
		cache.counters.Overflows.Add(1)
		return
	}
	if state(s.state.Load()) == building {
		s.told.pending = append(s.told.pending, change{uint16(c.Near & (runSize - 1)), e})
		return
	}
	g := s.gen.Load()
	if g.seen != nil {
		if k := e.key(); has(g.seen, k) {
			delete(g.seen, k)
			return
		}
		if cache.m.OldestRunning() > g.seenMax {
			g.seen = nil // they have ended: whoever of them had something to tell has told
		}
	}
	s.accountLocked(g.push(c.Near, e))
	cache.counters.DeltaEntries.Add(1)
	if d := g.delta.Load(); d.n >= int(s.folds) && !s.queued {
		s.queued = true
		cache.enqueue(task{s, true})
	}
}

func has(m map[key]struct{}, k key) bool {
	_, ok := m[k]
	return ok
}

// over counts a transaction's changes, and reports whether they are too many to be kept (rules B10).
func (t *told) over(c *Cache, top txn.XID) bool {
	if t.last != top {
		if t.adds == nil {
			t.adds = map[txn.XID]int{}
		}
		if len(t.adds) >= t.addsMax {
			oldest := c.m.OldestRunning()
			for x := range t.adds {
				if x < oldest {
					delete(t.adds, x)
				}
			}
			t.addsMax = max(64, 2*len(t.adds))
		}
		if t.lastN > 0 {
			t.adds[t.last] = t.lastN
		}
		t.last, t.lastN = top, t.adds[top]
	}
	t.lastN++
	return t.lastN > c.o.TxCap
}

// accountLocked adds to the memory of the segment and of the cache.
func (s *Segment) accountLocked(n int64) {
	s.bytes += n
	if s.side.cache.bytes.Add(n) > s.side.cache.o.Bytes && n > 0 {
		s.side.cache.full()
	}
}

// dropLocked makes the segment absent.
func (s *Segment) dropLocked() {
	s.gen.Store(nil)
	s.state.Store(uint32(absent))
	s.epoch++
	s.accountLocked(-s.bytes)
	s.told = nil
	s.touches.Store(0)
}

// evict makes a segment absent, for want of memory until the horizon has moved.
func (s *Segment) evict(forWant bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state(s.state.Load()) != ready {
		return
	}
	if forWant {
		s.gateCSN = s.side.cache.m.Horizon().CSN + 1
	}
	s.dropLocked()
	s.side.cache.counters.Evictions.Add(1)
}

// open reports whether the segment may be built now.
func (s *Segment) openLocked() bool {
	m := s.side.cache.m
	if s.gateXID != txn.InvalidXID {
		if st, _ := m.Outcome(s.gateXID); st == txn.InProgress {
			return false
		}
		s.gateXID = txn.InvalidXID
	}
	return s.gateCSN == 0 || m.Horizon().CSN >= s.gateCSN
}

// publishLocked makes a generation out of what the builder has read and what writers told of meanwhile.
func (s *Segment) publishLocked(b *built) {
	g := &Generation{base: b.base, first: FirstOf(s.run), seen: b.seen, seenMax: b.seenMax}
	var pending []change
	if s.told != nil {
		pending, s.told.pending = s.told.pending, nil
	}
	if n := len(b.events) + len(pending); n > 0 {
		g.delta.Store(newDelta(n))
	}
	for i := range b.events {
		g.push(b.near[i], b.events[i])
	}
	for _, e := range pending { // deduplicated by identity: the builder may have found it too
		if k := e.key(); has(b.all, k) {
			delete(g.seen, k)
			continue
		}
		g.push(g.first|uint64(e.v), e.event)
	}
	s.setLocked(g)
	s.state.Store(uint32(ready))
}

// setLocked puts a generation into its place.
func (s *Segment) setLocked(g *Generation) {
	s.folds = int32(max(s.side.cache.o.FoldMin, len(g.rel)/8))
	s.gen.Store(g)
	s.accountLocked(g.bytes() - s.bytes)
}

// chainToFold is how many events a reader walks at one vertex before it asks for a fold.
const chainToFold = 64

// Walked tells of a reader that walked so many events of one vertex.
func (s *Segment) Walked(n int) {
	if n < chainToFold {
		return
	}
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if s.queued || state(s.state.Load()) != ready || s.side.cache.m.RecentHorizon().CSN <= s.blocked {
		return
	}
	s.queued = true
	s.side.cache.enqueue(task{s, true})
}

// folder is the memory of a fold.
type folder struct {
	past, keep []change
	of         []int32
}

var folders = sync.Pool{New: func() any { return new(folder) }}

// fold makes a new generation whose base has every change that all snapshots see (rules B10).
func (s *Segment) fold() {
	c := s.side.cache
	h := c.m.Horizon()
	s.mu.Lock()
	g := s.gen.Load()
	s.queued = false
	var d *delta
	if g != nil {
		d = g.delta.Load()
	}
	if d == nil {
		s.mu.Unlock()
		return
	}
	n := d.n
	s.mu.Unlock()

	sched.Point("adjacency.fold.read")
	w := folders.Get().(*folder)
	defer folders.Put(w)
	past, keep := w.past[:0], w.keep[:0]
	defer func() { w.past, w.keep = past, keep }()
	d.byVertex(w, n, func(v uint16, e *event) {
		switch st, csn := c.m.Outcome(e.xid()); {
		case st == txn.Aborted:
		case st == txn.Committed && csn <= h.CSN:
			past = append(past, change{v, *e})
		default:
			keep = append(keep, change{v, *e})
		}
	})
	if len(keep) == n {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.counters.FoldBlocked.Add(1)
		s.blocked = h.CSN
		if s.gen.Load() != g {
			return
		}
		if s.folds = max(s.folds, int32(2*n)); n >= c.o.DeltaCap {
			s.gateCSN = h.CSN + 1
			s.dropLocked()
			c.counters.Overflows.Add(1)
		}
		return
	}
	next := &Generation{first: g.first, base: c.sizes.folded(&g.base, g.first, past)}
	next.delta.Store(newDelta(len(keep)))
	for i := range keep {
		next.push(g.first|uint64(keep[i].v), keep[i].event)
	}
	sched.Point("adjacency.fold.merged")

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gen.Load() != g {
		return
	}
	// What was told of meanwhile goes with it; nothing is told between here and the change of generations.
	i := 0
	d.byVertex(w, d.n, func(v uint16, e *event) {
		if i >= n {
			next.push(g.first|uint64(v), *e)
		}
		i++
	})
	next.seen, next.seenMax = g.seen, g.seenMax
	s.blocked = h.CSN
	c.counters.Folds.Add(1)
	if len(keep) >= c.o.DeltaCap {
		s.gateCSN = h.CSN + 1
		s.dropLocked()
		c.counters.Overflows.Add(1)
		return
	}
	s.setLocked(next)
	s.folds = max(s.folds, int32(2*len(keep)))
}

// change is an event and its vertex.
type change struct {
	v uint16
	event
}

// folded is a base with changes in it.
func (z sizes) folded(b *base, first uint64, past []change) base {
	// In the order of lists, the coming of a relationship before its going.
	slices.SortFunc(past, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.v, b.v), a.before(&b.event), cmp.Compare(a.x&1, b.x&1))
	})
	m := z.maker(first)
	defer m.free()
	var ps []Piece
	one := func(v uint16) {
		n := 0
		for n < len(past) && past[n].v == v {
			n++
		}
		changes := past[:n]
		past = past[n:]
		h := b.hub(v)
		if h == nil {
			ps = b.pieces(v, ps[:0])
			if len(changes) == 0 {
				m.copy(v, ps)
			} else {
				apply(ps, changes, func(far, rel uint64) { m.add(v, far, rel) })
			}
			return
		}
		if len(changes) == 0 {
			m.addHub(*h)
			return
		}
		if nh := h.folded(changes, z); nh.n > z.hub/2 {
			m.addHub(nh)
		} else {
			m.copy(v, nh.chunks)
		}
	}
	b.vertices(func(v uint16) {
		for len(past) > 0 && past[0].v < v {
			one(past[0].v)
		}
		one(v)
	})
	for len(past) > 0 {
		one(past[0].v)
	}
	return m.done()
}

// apply calls f with a list that changes were applied to, in order. Changes are in order, a coming before the going of the same relationship.
func apply(ps []Piece, changes []change, f func(far, rel uint64)) {
	i := 0
	emit := func(far, rel uint64) {
		// What came here may have gone again.
		if i < len(changes) && changes[i].rel == rel && changes[i].del() {
			i++
			return
		}
		f(far, rel)
	}
	come := func(far, rel uint64, all bool) {
		for i < len(changes) {
			e := &changes[i]
			if !all && (e.far > far || e.far == far && e.rel >= rel) {
				return
			}
			i++
			if !e.del() {
				emit(e.far, e.rel)
			}
		}
	}
	for k := range ps {
		p := &ps[k]
		for j := range p.Rel {
			far, rel := p.far(j), p.rel(j)
			come(far, rel, false)
			emit(far, rel)
		}
	}
	come(0, 0, true)
}

// folded is a hub with changes in it: only chunks that they fall into are made anew.
func (h *hub) folded(changes []change, z sizes) hub {
	out := hub{v: h.v, chunks: make([]Piece, 0, len(h.chunks)+1)}
	take := func(ps []Piece, es []change) {
		m := z.maker(0)
		defer m.free()
		apply(ps, es, func(far, rel uint64) {
			m.high(rel, far)
			m.b.rel, m.b.other = append(m.b.rel, uint32(rel)), append(m.b.other, uint32(far))
		})
		tmp := base{ids: []uint16{0}, off: []uint32{0, uint32(len(m.b.rel))}, rel: m.b.rel, other: m.b.other, breaks: m.b.breaks}
		for _, p := range tmp.pieces(0, nil) {
			out.chunks = z.appendChunks(out.chunks, p)
		}
	}
	for i := range h.chunks {
		p := &h.chunks[i]
		n := len(changes)
		if i+1 < len(h.chunks) { // up to the end of this chunk; the last one takes the rest
			far, rel := p.far(len(p.Rel)-1), p.rel(len(p.Rel)-1)
			n = 0
			for n < len(changes) && (changes[n].far < far || changes[n].far == far && changes[n].rel <= rel) {
				n++
			}
		}
		if n == 0 {
			out.chunks = append(out.chunks, *p)
			continue
		}
		take(h.chunks[i:i+1], changes[:n])
		changes = changes[n:]
	}
	for i := range out.chunks {
		out.n += len(out.chunks[i].Rel)
	}
	return out
}
