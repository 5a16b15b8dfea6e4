package adjacency

import (
	"sync"
	"sync/atomic"
)

// Roots is where the rows of one label or type were seen last, by id: what a reader without a hint tries before it descends the id index. Whoever
// found nothing there and asked the index says what it found (rules B1). An entry is a hint like any other: it is judged by the row that it
// leads to. The zero value knows nothing and keeps nothing.
type Roots struct {
	cache  *Cache
	chunks atomic.Pointer[[]atomic.Pointer[rootChunk]]
	bytes  atomic.Int64
	mu     sync.Mutex // held to add and drop chunks
	listed bool
	gone   func() bool
}

type rootChunk [runSize]atomic.Uint64

const chunkBytes = runSize * 8

// Init binds the table to the cache whose memory it uses; gone tells when the rows' file has gone.
func (r *Roots) Init(c *Cache, gone func() bool) { r.cache, r.gone = c, gone }

const entryMask = 1<<48 - 1

// Get returns where a row was seen, or 0.
func (r *Roots) Get(id uint64) uint64 {
	cs := r.chunks.Load()
	if cs == nil {
		return 0
	}
	n := id & entryMask >> runBits
	if n >= uint64(len(*cs)) {
		return 0
	}
	c := (*cs)[n].Load()
	if c == nil {
		return 0
	}
	return c[id&(runSize-1)].Load()
}

// Put notes where a row is, if there is memory for it.
func (r *Roots) Put(id, root uint64) {
	if r.cache == nil {
		return
	}
	n := id & entryMask >> runBits
	if cs := r.chunks.Load(); cs != nil && n < uint64(len(*cs)) {
		if c := (*cs)[n].Load(); c != nil {
			c[id&(runSize-1)].Store(root)
			return
		}
	}
	r.grow(n, id, root)
}

func (r *Roots) grow(n, id, root uint64) {
	if n >= denseRuns {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	cs := r.chunks.Load()
	have := uint64(0)
	if cs != nil {
		have = uint64(len(*cs))
	}
	need := int64(chunkBytes)
	size := have
	if n >= have {
		size = max(n+1, 2*have)
		need += 8 * int64(size-have)
	}
	// Places have up to half of the memory: what was not read for long gives way to them, and they to nobody.
	used, limit := r.cache.Bytes()
	if r.cache.placed.Load()+need > limit/2 {
		return
	}
	if used+need > limit {
		r.cache.full()
		return
	}
	if size > have {
		more := make([]atomic.Pointer[rootChunk], size)
		for i := range have {
			more[i].Store((*cs)[i].Load())
		}
		cs = &more
		r.chunks.Store(cs)
	}
	c := (*cs)[n].Load()
	if c == nil {
		c = new(rootChunk)
		(*cs)[n].Store(c)
		r.bytes.Add(need)
		r.cache.bytes.Add(need)
		r.cache.placed.Add(need)
	}
	c[id&(runSize-1)].Store(root)
	if !r.listed {
		r.listed = true
		r.cache.mu.Lock()
		r.cache.roots = append(r.cache.roots, r)
		r.cache.mu.Unlock()
	}
}

// drop forgets everything.
func (r *Roots) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chunks.Store(nil)
	n := r.bytes.Swap(0)
	r.cache.bytes.Add(-n)
	r.cache.placed.Add(-n)
}
