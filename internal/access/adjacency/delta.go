package adjacency

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// event is a relationship that came or went at a vertex, with who did it. What its doer's end means for it is decided when it is read, as for
// a version of a row, so that a commit or a rollback has nothing to do here.
type event struct {
	far, rel uint64
	x        uint64 // xid<<1, and 1 if the relationship went
	cid      uint32 // the doer's command
	prev     uint32 // the vertex's event before this one: its number + 1, or 0
}

func (e *event) xid() txn.XID { return txn.XID(e.x >> 1) }
func (e *event) del() bool    { return e.x&1 != 0 }

// key is an event's identity. A relationship's id is used once, so its coming is its own, and a subtransaction that has ended one cannot end
// it again: the command, which nobody can tell of a combo id any more once its transaction has ended, adds nothing (rules B10).
type key struct{ rel, x uint64 }

func (e *event) key() key { return key{e.rel, e.x} }

// before is the order of lists.
func (e *event) before(o *event) int {
	return cmp.Or(cmp.Compare(e.far, o.far), cmp.Compare(e.rel, o.rel))
}

// headPage is how many heads are made at once: enough that writers make few, few enough for a segment with few changes.
const headPage = 512

// delta is the events since a base was made: a log that readers walk without a lock, one chain a vertex, the newest first. It is appended to
// under the segment's mutex.
type delta struct {
	heads [runSize / headPage]atomic.Pointer[[headPage]atomic.Uint32]
	log   atomic.Pointer[[]event]
	n     int // events; guarded by the segment's mutex
	pages int // of heads
}

const eventBytes = 32

// newDelta makes room for so many events.
func newDelta(n int) *delta {
	d := new(delta)
	log := make([]event, max(8, n))
	d.log.Store(&log)
	return d
}

// push appends an event of a vertex, and returns by how many bytes it grew.
func (d *delta) push(v uint16, e event) (grew int64) {
	hp := &d.heads[v/headPage]
	h := hp.Load()
	if h == nil {
		h = new([headPage]atomic.Uint32)
		hp.Store(h)
		d.pages++
		grew += 4 * headPage
	}
	log := d.log.Load()
	if d.n == len(*log) {
		more := make([]event, 2*d.n)
		copy(more, *log)
		grew += int64(len(more)-d.n) * eventBytes
		log = &more
		d.log.Store(log)
	}
	head := &h[v%headPage]
	e.prev = head.Load()
	(*log)[d.n] = e
	d.n++
	head.Store(uint32(d.n)) // from here on readers see it
	return grew
}

// head returns the number of a vertex's newest event + 1, or 0.
func (d *delta) head(v uint16) uint32 {
	h := d.heads[v/headPage].Load()
	if h == nil {
		return 0
	}
	return h[v%headPage].Load()
}

func (d *delta) bytes() int64 {
	return int64(d.pages)*4*headPage + 8*runSize/headPage + 32 + int64(len(*d.log.Load()))*eventBytes
}

// anyFar is every far end; no vertex has this id.
const anyFar = ^uint64(0)

// visible returns the changes that a view sees at a vertex, in the order of lists: relationships that came since the base, and ones that went
// from it. One that came and went is neither. Of one far end it stops when it has walked too far.
func (d *delta) visible(head uint32, v View, far uint64, ins, del []event) (came, went []event, walked int) {
	ins, del = ins[:0], del[:0]
	log := *d.log.Load() // after the head: it has whatever the head leads to
	for head != 0 {
		e := &log[head-1]
		head = e.prev
		walked++
		if far != anyFar {
			if walked > maxWalk {
				break
			}
			if e.far != far {
				continue
			}
		}
		if !v.Snap.SeesChange(e.xid(), e.cid, e.rel, v.CID) {
			continue
		}
		if e.del() {
			del = append(del, *e)
		} else {
			ins = append(ins, *e)
		}
	}
	if len(ins) > 1 {
		slices.SortFunc(ins, func(a, b event) int { return a.before(&b) })
	}
	if len(del) > 1 {
		slices.SortFunc(del, func(a, b event) int { return a.before(&b) })
	}
	if len(ins) == 0 || len(del) == 0 {
		return ins, del, walked
	}
	i, a, b := 0, 0, 0
	for _, e := range del {
		for ; i < len(ins) && ins[i].before(&e) < 0; i++ {
			ins[a] = ins[i]
			a++
		}
		if i < len(ins) && ins[i].rel == e.rel {
			i++
			continue
		}
		del[b] = e
		b++
	}
	a += copy(ins[a:], ins[i:])
	return ins[:a], del[:b], walked
}
