package adjacency

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/txn"
)

const (
	touchesToBuild = 32
	buildDeadline  = 30 * time.Second
	maxQueue       = 1024
)

// Options make a cache.
type Options struct {
	Txns  *txn.Manager
	Bytes int64 // memory; must be positive
	// TxCap is how many changes of one transaction a segment keeps, DeltaCap how many that cannot be folded. FoldMin is the least number of
	// changes that makes a fold due. Zero means defaults.
	TxCap, DeltaCap, FoldMin int
	// HubEdges is how many relationships make a vertex a hub, ChunkEdges the size of the parts of its list. Zero means defaults.
	HubEdges, ChunkEdges int
	// Workers is how many goroutines build and fold; zero means none: tests call Work.
	Workers int
	// Eager has the first reader that misses a segment build it, and folds at once: for tests, which want to see it used.
	Eager bool
	// Forget, if not nil, says of a change whether to lose it: for tests of those who look for differences.
	Forget func() bool
	Logger *slog.Logger
}

// Counters say what the cache did since it was made.
type Counters struct {
	Built, BuildNanos, BuildFailed atomic.Int64
	Folds, FoldBlocked             atomic.Int64 // a fold is blocked where the horizon lets no change be folded
	DeltaEntries                   atomic.Int64 // changes told of and kept
	Evictions                      atomic.Int64
	Overflows                      atomic.Int64 // segments given up because of too many changes
	Refused                        atomic.Int64 // builds that were not begun: the queue was full, or the time had not come
	// What readers told at the end of each batch: lists read from memory, of them changed ones, lists read from an index instead, changes walked,
	// and relationships handed out.
	Hops, DirtyHops, FallbackHops, Walks, Edges atomic.Int64
	Verified, Differences                       atomic.Int64 // lists compared with the indexes
}

// Tally is what a reader counts for itself, and tells now and then.
type Tally struct{ Hops, DirtyHops, FallbackHops, Walks, Edges int64 }

// Add adds another tally.
func (t *Tally) Add(o *Tally) {
	t.Hops += o.Hops
	t.DirtyHops += o.DirtyHops
	t.FallbackHops += o.FallbackHops
	t.Walks += o.Walks
	t.Edges += o.Edges
}

// Count adds what a reader has counted.
func (c *Cache) Count(t *Tally) {
	n := &c.counters
	for _, x := range [...]struct {
		to *atomic.Int64
		n  int64
	}{{&n.Hops, t.Hops}, {&n.DirtyHops, t.DirtyHops}, {&n.FallbackHops, t.FallbackHops}, {&n.Walks, t.Walks}, {&n.Edges, t.Edges}} {
		if x.n != 0 {
			x.to.Add(x.n)
		}
	}
}

// Cache is the segments of a database: what they share is the memory, and who builds them.
type Cache struct {
	o        Options
	m        *txn.Manager
	sizes    sizes
	counters Counters
	bytes    atomic.Int64
	dirBytes atomic.Int64  // of them, what finds segments, ready or not
	placed   atomic.Int64  // of them, what tables of places take
	clock    atomic.Uint32 // moves with every build
	tight    atomic.Bool   // an eviction is due
	ctx      context.Context
	stop     context.CancelFunc
	tasks    sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	live    []*Segment // ready, or were
	roots   []*Roots   // that have chunks
	sides   []*Side    // that have segments
	queue   []task
	running int
	closed  bool
}

// task is a build or a fold; without a segment, an eviction.
type task struct {
	s    *Segment
	fold bool
}

// New returns a cache without segments.
func New(o Options) *Cache {
	if o.TxCap == 0 {
		o.TxCap = 8 << 10
	}
	if o.DeltaCap == 0 {
		o.DeltaCap = 64 << 10
	}
	if o.FoldMin == 0 {
		o.FoldMin = 1024
	}
	if o.HubEdges == 0 {
		o.HubEdges, o.ChunkEdges = 64<<10, 4<<10
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Cache{o: o, m: o.Txns, sizes: sizes{o.HubEdges, o.ChunkEdges}}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// Counters returns the counters.
func (c *Cache) Counters() *Counters { return &c.counters }

// Bytes returns the memory accounted, and how much there may be.
func (c *Cache) Bytes() (used, limit int64) { return c.bytes.Load(), c.o.Bytes }

// Close ends the work in the background; nothing is built any more.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed, c.queue = true, nil
	c.mu.Unlock()
	c.stop()
	c.tasks.Wait()
}

// want asks for a build.
func (c *Cache) want(s *Segment) {
	s.mu.Lock()
	ok := state(s.state.Load()) == absent && s.openLocked()
	s.mu.Unlock()
	if !ok {
		c.counters.Refused.Add(1)
		return
	}
	c.enqueue(task{s, false})
}

// full says that there is too much memory in use.
func (c *Cache) full() {
	if c.tight.CompareAndSwap(false, true) {
		c.enqueue(task{})
	}
}

// enqueue gives a task to the background.
func (c *Cache) enqueue(t task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || t.s != nil && !t.fold && (len(c.queue) >= maxQueue || slices.Contains(c.queue, t)) {
		c.counters.Refused.Add(1)
		return
	}
	c.queue = append(c.queue, t)
	if c.running < c.o.Workers {
		c.running++
		c.tasks.Go(c.worker)
	}
}

func (c *Cache) worker() {
	for c.one(c.ctx, true) {
	}
}

// one runs the next task. Without one a worker leaves.
func (c *Cache) one(ctx context.Context, worker bool) bool {
	c.mu.Lock()
	if len(c.queue) == 0 || ctx.Err() != nil {
		if worker {
			c.running--
		}
		c.mu.Unlock()
		return false
	}
	t := c.queue[0]
	c.queue = c.queue[1:]
	c.mu.Unlock()
	switch {
	case t.s == nil:
		c.evict(0)
	case t.fold:
		t.s.fold()
	default:
		if err := c.build(ctx, t.s); err != nil && ctx.Err() == nil {
			c.o.Logger.LogAttrs(ctx, slog.LevelDebug, "a neighbourhood was not built", slog.Uint64("run", t.s.run), slog.Any("error", err))
		}
	}
	return true
}

// Work does what waits to be done, in the calling goroutine.
func (c *Cache) Work(ctx context.Context) {
	for c.one(ctx, false) {
	}
}

// Warm builds the segment of a run now, in the calling goroutine.
func (c *Cache) Warm(ctx context.Context, d *Side, run uint64) error {
	s := d.Segment(run)
	if s.gen.Load() != nil {
		return nil
	}
	return c.build(ctx, s)
}

// sweep forgets what belongs to files that are gone.
func (c *Cache) sweep() {
	c.mu.Lock()
	var sides []*Side
	var roots []*Roots
	c.sides = slices.DeleteFunc(c.sides, func(d *Side) bool {
		if d.src.Gone == nil || !d.src.Gone() {
			return false
		}
		sides = append(sides, d)
		return true
	})
	c.roots = slices.DeleteFunc(c.roots, func(r *Roots) bool {
		if r.gone == nil || !r.gone() {
			return false
		}
		roots = append(roots, r)
		return true
	})
	c.mu.Unlock()
	for _, d := range sides {
		d.forget()
	}
	for _, r := range roots {
		r.drop()
	}
}

// sweepEvery is how many builds there are between two looks for what has gone.
const sweepEvery = 64

// evict gives memory back until there is room for so much more: what was read the longest time ago goes first.
func (c *Cache) evict(need int64) {
	c.tight.Store(false)
	full := c.bytes.Load()+need > c.o.Bytes
	if full || c.clock.Load()%sweepEvery == 0 {
		c.sweep()
	}
	if !full {
		return
	}
	goal := c.o.Bytes - need - c.o.Bytes/16
	c.mu.Lock()
	c.live = slices.DeleteFunc(c.live, func(s *Segment) bool {
		s.listed = s.gen.Load() != nil
		return !s.listed
	})
	live := slices.Clone(c.live)
	roots := slices.Clone(c.roots)
	c.mu.Unlock()
	now := c.clock.Load()
	age := func(s *Segment) uint32 { return now - s.used.Load() }
	slices.SortStableFunc(live, func(a, b *Segment) int { return cmp.Compare(age(b), age(a)) })
	for _, s := range live {
		if c.bytes.Load() <= goal {
			return
		}
		s.evict(true)
	}
	for _, r := range roots {
		if c.bytes.Load() <= goal {
			return
		}
		r.drop()
	}
}

// Sizes are what the cache holds.
type Sizes struct {
	Segments, Edges, Changes int64
	Bytes, Limit             int64
	Roots                    int64 // bytes of them that tables of places take
	Directory                int64 // and that finding segments takes, ready or not
}

// Sizes looks through the segments.
func (c *Cache) Sizes() (z Sizes) {
	c.mu.Lock()
	live := slices.Clone(c.live)
	c.mu.Unlock()
	for _, s := range live {
		s.mu.Lock()
		if g := s.gen.Load(); g != nil {
			z.Segments++
			z.Edges += int64(g.edges)
			if d := g.delta.Load(); d != nil {
				z.Changes += int64(d.n)
			}
		}
		s.mu.Unlock()
	}
	z.Roots, z.Directory = c.placed.Load(), c.dirBytes.Load()
	z.Bytes, z.Limit = c.Bytes()
	return z
}

// EvictAll makes every segment absent. They may be built again at once.
func (c *Cache) EvictAll() {
	c.sweep()
	c.mu.Lock()
	live := slices.Clone(c.live)
	c.mu.Unlock()
	for _, s := range live {
		s.evict(false)
	}
}
