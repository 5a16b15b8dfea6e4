package adjacency

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// built is what a builder has read.
type built struct {
	base    base
	events  []event
	near    []uint64         // of each event
	all     map[key]struct{} // the events
	seen    map[key]struct{} // those of transactions that had not ended
	seenMax txn.XID
}

// build makes a segment ready. What fails leaves it absent.
func (c *Cache) build(ctx context.Context, s *Segment) (err error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, buildDeadline)
	defer cancel()
	// The snapshot keeps versions from being pruned between the reading of two entries of one relationship. The horizon is fixed before
	// anybody is asked to tell: what it takes for settled nobody will tell of (rules B10).
	snap := c.m.Snapshot()
	defer snap.Close()
	h := c.m.Horizon()
	sched.Point("adjacency.build.horizon")
	s.mu.Lock()
	if state(s.state.Load()) != absent || !s.openLocked() {
		s.mu.Unlock()
		return nil
	}
	s.epoch++
	epoch := s.epoch
	s.state.Store(uint32(building))
	s.mu.Unlock()
	sched.Point("adjacency.build.building")
	done := false
	defer func() { // a panic, too, leaves it absent
		if done {
			return
		}
		c.counters.BuildFailed.Add(1)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.epoch == epoch {
			s.dropLocked()
			s.gateCSN = max(s.gateCSN, h.CSN+1)
		}
	}()
	b, err := c.read(ctx, s, h)
	if err != nil {
		return err
	}
	sched.Point("adjacency.build.read")
	need := b.base.bytes() + int64(len(b.events))*eventBytes
	if need > c.o.Bytes/2 {
		return fmt.Errorf("%d bytes are more than half of the memory of the cache", need)
	}
	c.evict(need)
	s.mu.Lock()
	defer s.mu.Unlock()
	if done = true; s.epoch != epoch {
		c.counters.BuildFailed.Add(1) // a writer gave it up
		return nil
	}
	s.used.Store(c.clock.Add(1))
	s.gateCSN = 0
	s.publishLocked(b)
	c.mu.Lock()
	if !s.listed {
		s.listed, c.live = true, append(c.live, s)
	}
	c.mu.Unlock()
	c.counters.Built.Add(1)
	c.counters.BuildNanos.Add(int64(time.Since(began)))
	return nil
}

// entry is what the index and the heap say of one relationship: all entries and versions of it.
type entry struct {
	near, far, rel uint64
	any, came      bool // there is a version; one of them says when it came, or it was always there
	gone           bool // for every snapshot
	events         [4]event
	n              int
	more           []event
}

// read reads the run's part of the index and every version behind it.
func (c *Cache) read(ctx context.Context, s *Segment, h txn.Horizon) (*built, error) {
	unlock, err := s.side.src.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	first := FirstOf(s.run)
	r := reader{c: c, h: h, m: c.sizes.maker(first), out: &built{}, first: first}
	defer r.m.free()
	g := s.side.src.Heap.Getter()
	defer g.Release()
	var cur btree.Cursor
	// A leaf is kept pinned until the heap was looked at, so that vacuum does not pass it (rules B5).
	cur.Init(s.side.src.Index, btree.Options{KeepPin: true})
	defer cur.Close()
	rg := btree.Range{Lower: binary.BigEndian.AppendUint64(nil, first)}
	if last := first | (runSize - 1); last != ^uint64(0) {
		rg.Upper = binary.BigEndian.AppendUint64(nil, last)
	}
	cur.Seek(rg)
	for n := 0; ; n++ {
		if n&255 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		ok, err := cur.Next(ctx)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		k := cur.Key()
		if len(k) != 24 {
			return nil, dberr.New(dberr.DataCorrupted, "an adjacency key of %d bytes is malformed", len(k))
		}
		near, far, rel := binary.BigEndian.Uint64(k), binary.BigEndian.Uint64(k[8:]), binary.BigEndian.Uint64(k[16:])
		if e := &r.e; !e.any && e.n == 0 || e.near != near || e.far != far || e.rel != rel {
			if err := r.flush(); err != nil {
				return nil, err
			}
			r.e = entry{near: near, far: far, rel: rel}
		}
		r.versions = r.versions[:0]
		if err := g.Chain(ctx, btree.TIDOf(cur.Ptr()), rel, func(v txn.Version) { r.versions = append(r.versions, v) }); err != nil {
			return nil, err
		}
		for _, v := range r.versions {
			r.version(v)
		}
	}
	if err := r.flush(); err != nil {
		return nil, err
	}
	r.out.base = r.m.done()
	return r.out, nil
}

type reader struct {
	c        *Cache
	h        txn.Horizon
	first    uint64
	m        *maker
	out      *built
	e        entry
	versions []txn.Version
}

// version judges one version (rules B10): one that no update made says when the relationship came, one whose xmax deletes when it went.
func (r *reader) version(v txn.Version) {
	m, e := r.c.m, &r.e
	settled := v.Mask&(txn.XminSeen|txn.Frozen) != 0
	if !settled {
		if v.Mask&txn.XminAborted != 0 {
			return
		}
		st, csn := m.Outcome(v.Xmin)
		if st == txn.Aborted {
			return
		}
		settled = st == txn.Committed && csn <= r.h.CSN
	}
	ended := v.Mask&(txn.XmaxNone|txn.XmaxLock) == 0 && v.Xmax != txn.InvalidXID
	var (
		end     txn.State
		forever bool // its end is settled too: no snapshot sees it
	)
	if ended {
		if forever = v.Mask&txn.XmaxSeen != 0; !forever {
			var csn page.LSN
			end, csn = m.Outcome(v.Xmax)
			forever = end == txn.Committed && csn <= r.h.CSN
		}
	}
	if forever {
		// What an update has replaced says nothing: if the relationship is there, a later version says so. That one may have gone since, and may
		// have been pruned before this one, which lies on another page.
		e.gone = e.gone || v.Mask&txn.XmaxDelete != 0
		return
	}
	cmin, cmax, ok := m.CIDs(v)
	if !ok {
		cmin, cmax = 0, 0 // they have ended: no reader is one of them
	}
	e.any = true
	if v.Mask&txn.Updated == 0 && !settled {
		e.came = true
		r.event(event{far: e.far, rel: e.rel, x: uint64(v.Xmin) << 1, cid: cmin})
	}
	if ended && end != txn.Aborted && v.Mask&txn.XmaxDelete != 0 {
		r.event(event{far: e.far, rel: e.rel, x: uint64(v.Xmax)<<1 | 1, cid: cmax})
	}
}

func (r *reader) event(ev event) {
	if e := &r.e; e.n < len(e.events) {
		e.events[e.n] = ev
		e.n++
	} else {
		e.more = append(e.more, ev)
	}
}

// flush adds what was read of one relationship.
func (r *reader) flush() error {
	e := &r.e
	if !e.any || e.gone {
		return nil
	}
	if !e.came { // it is there for every snapshot, or the version that it came with is no longer needed by any
		r.m.add(uint16(e.near-r.first), e.far, e.rel)
		if int64(len(r.m.b.rel))*8 > r.c.o.Bytes {
			return fmt.Errorf("more relationships than the cache has memory for")
		}
	}
	for _, ev := range append(e.events[:e.n:e.n], e.more...) {
		r.out.events, r.out.near = append(r.out.events, ev), append(r.out.near, e.near)
		if r.out.all == nil {
			r.out.all = map[key]struct{}{}
		}
		r.out.all[ev.key()] = struct{}{}
		if st, _ := r.c.m.Outcome(ev.xid()); st == txn.InProgress {
			if r.out.seen == nil {
				r.out.seen = map[key]struct{}{}
			}
			r.out.seen[ev.key()] = struct{}{}
			r.out.seenMax = max(r.out.seenMax, ev.xid())
		}
		if len(r.out.events) > r.c.o.DeltaCap {
			return fmt.Errorf("more than %d changes that not every snapshot sees", r.c.o.DeltaCap)
		}
	}
	return nil
}
