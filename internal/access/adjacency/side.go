package adjacency

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
)

// Source is where a side's relationships lie.
type Source struct {
	Heap  *heap.Table
	Index *btree.Tree // keys are near end, far end and relationship, 8 bytes each, big-endian
	// Lock keeps the files from going while a builder reads them, or says why it cannot now; it does not wait.
	Lock func() (unlock func(), err error)
	// Gone tells that the files have gone for everybody.
	Gone func() bool
}

// Side is the segments of one covering index: one type, seen from one end. It belongs to the index's file: where that is replaced there is
// another one. The zero value has no cache, and nothing is ever ready.
type Side struct {
	cache *Cache
	src   Source
	dir   atomic.Pointer[directory]
	mu    sync.Mutex // held to make segments and to change dir
	bytes int64      // that dir and the segments take, beside their generations; guarded by mu
}

// directory finds segments: by the label of the vertices, and by number within it.
type directory struct {
	labels []labelRuns
	far    map[uint64]*Segment // runs with a number beyond denseRuns
}

type labelRuns struct {
	label uint64
	segs  *[]atomic.Pointer[Segment]
}

const (
	labelShift = 48 - runBits
	runInLabel = 1<<labelShift - 1
	denseRuns  = 1 << 20
)

// Init binds the side to its cache and its source, before anybody uses it.
func (d *Side) Init(c *Cache, src Source) { d.cache, d.src = c, src }

// On reports whether the side has a cache.
func (d *Side) On() bool { return d.cache != nil }

// at returns the segment of a run, or nil if nobody has asked for it yet.
func (d *Side) at(run uint64) *Segment {
	dir := d.dir.Load()
	if dir == nil {
		return nil
	}
	n := run & runInLabel
	if n >= denseRuns {
		return dir.far[run]
	}
	for i := range dir.labels {
		if l := &dir.labels[i]; l.label == run>>labelShift {
			if segs := *l.segs; n < uint64(len(segs)) {
				return segs[n].Load()
			}
			return nil
		}
	}
	return nil
}

// Segment returns the segment of a run for reading.
func (d *Side) Segment(run uint64) *Segment {
	if s := d.at(run); s != nil {
		return s
	}
	return d.make(run)
}

func (d *Side) make(run uint64) *Segment {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.at(run); s != nil {
		return s
	}
	s := &Segment{side: d, run: run}
	d.account(int64(unsafe.Sizeof(*s)))
	next := new(directory)
	if old := d.dir.Load(); old != nil {
		next.labels, next.far = append(next.labels, old.labels...), old.far
	}
	n := run & runInLabel
	if n >= denseRuns {
		far := make(map[uint64]*Segment, len(next.far)+1)
		for k, v := range next.far {
			far[k] = v
		}
		far[run], next.far = s, far
		d.account(16)
		d.dir.Store(next)
		return s
	}
	at := -1
	for i := range next.labels {
		if next.labels[i].label == run>>labelShift {
			at = i
		}
	}
	if at < 0 {
		at = len(next.labels)
		next.labels = append(next.labels, labelRuns{label: run >> labelShift, segs: new([]atomic.Pointer[Segment])})
	}
	l := &next.labels[at]
	if n < uint64(len(*l.segs)) {
		(*l.segs)[n].Store(s) // in place: the array is shared with the present directory
		return s
	}
	segs := make([]atomic.Pointer[Segment], max(n+1, min(denseRuns, 2*uint64(len(*l.segs)))))
	d.account(8 * int64(len(segs)-len(*l.segs)))
	for i := range *l.segs {
		segs[i].Store((*l.segs)[i].Load())
	}
	segs[n].Store(s)
	l.segs = &segs
	d.dir.Store(next)
	return s
}

// account adds to what the directory takes; mu is held.
func (d *Side) account(n int64) {
	if d.bytes == 0 {
		d.cache.mu.Lock()
		d.cache.sides = append(d.cache.sides, d)
		d.cache.mu.Unlock()
	}
	d.bytes += n
	d.cache.dirBytes.Add(n)
	d.cache.bytes.Add(n)
}

// forget gives up everything, when the files are gone.
func (d *Side) forget() {
	d.each(func(s *Segment) bool {
		s.evict(false)
		return true
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dir.Store(nil)
	n := d.bytes
	d.bytes = 0
	d.cache.dirBytes.Add(-n)
	d.cache.bytes.Add(-n)
}

// each calls f with every segment.
func (d *Side) each(f func(s *Segment) bool) {
	dir := d.dir.Load()
	if dir == nil {
		return
	}
	for _, l := range dir.labels {
		for i := range *l.segs {
			if s := (*l.segs)[i].Load(); s != nil && !f(s) {
				return
			}
		}
	}
	for _, s := range dir.far {
		if !f(s) {
			return
		}
	}
}
