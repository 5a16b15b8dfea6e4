package buffer

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// LogFlusher is all that the pool wants of the log.
type LogFlusher interface {
	// FlushTo returns when everything up to lsn is durable.
	FlushTo(lsn page.LSN) error
	// FlushedLSN returns how far the log is durable.
	FlushedLSN() page.LSN
}

// Options configure a Pool.
type Options struct {
	FS            vfs.FS
	Dir           string          // the directory base/, which exists
	Frames        int             // number of pages kept; zero means 16,384 (128 MiB)
	SegmentBlocks page.Block      // pages in one file; zero means 131,072 (1 GiB)
	OpenFiles     int             // data files kept open at most, those with unsynced writes apart; zero means 800
	Log           LogFlusher      // may be set later by SetLog; without one every page counts as logged (recovery)
	Fate          *invariant.Fate // shared with the log; nil means one of its own
}

// ErrNoBlock is found by errors.Is when a block beyond the end of its fork, or of a relation without files, is asked for.
var ErrNoBlock = errors.New("buffer: no such block")

// Pool is the page cache of one database.
type Pool struct {
	opts   Options
	fs     vfs.FS
	fate   *invariant.Fate
	arena  *arena
	frames []Frame
	slot   uint32 // place in the registry
	shards [numShards]shard
	hand   atomic.Uint64
	log    atomic.Pointer[LogFlusher]
	files  files
	io     [64]ioBucket
	closed atomic.Bool

	reads, writes, evictions, extends, zeroed atomic.Uint64
}

// Stats are counters since the pool was made.
type Stats struct {
	Pins      uint64 // pages asked for
	Reads     uint64 // pages read from files
	Writes    uint64 // pages written to files
	Evictions uint64 // frames given to another page
	Extends   uint64 // pages added to relations
	BadFSM    uint64 // pages that PinOrZero found damaged
	Syncs     uint64 // file syncs
}

// Frame is a place for a page. A *Frame that Pin returned stays what it is until Unpin.
type Frame struct {
	state atomic.Uint64
	rel   page.RelFile // the tag: written only by the one who has the frame claimed and invalid
	block page.Block
	fork  page.Fork
	_     [3]byte
	latch latch
	index uint32
	pool  uint32
	_     [64 - 36]byte
}

// The state word: pins in 18 bits, usage in 3, then flags.
const (
	statePin       uint64 = 1
	statePins      uint64 = 1<<18 - 1
	stateUsage     uint64 = 1 << 18
	stateUsageMask uint64 = 7 << 18
	maxUsage              = 5

	stateTagged    uint64 = 1 << 21 // the tag means something; the table has an entry
	stateValid     uint64 = 1 << 22 // the bytes are the page's
	stateDirty     uint64 = 1 << 23 // the bytes are newer than the file's
	stateRedirtied uint64 = 1 << 24 // changed since the copy for the last write was taken
	stateIO        uint64 = 1 << 25 // one goroutine reads or writes the file for this frame
	stateHint      uint64 = 1 << 26 // hint bits were set; not worth a write
	stateCleanup   uint64 = 1 << 27 // somebody waits for the other pins to go
)

const numShards = 64

// shard is a part of the page table: open addressing, entries hash<<32 | frame+1.
type shard struct {
	mu    sync.Mutex // guards changes of table and used
	table atomic.Pointer[[]atomic.Uint64]
	used  int
	pins  atomic.Uint64
}

// ioBucket is where the waiters for a frame's I/O, or its pins, sleep.
type ioBucket struct {
	mu   sync.Mutex
	cond *sync.Cond
}

// The registry leads from a descriptor, which must not have pointers, to its pool.
var registry struct {
	mu    sync.Mutex
	table atomic.Pointer[[]*Pool]
}

func (p *Pool) register() {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	var old []*Pool
	if t := registry.table.Load(); t != nil {
		old = *t
	}
	table := append([]*Pool(nil), old...)
	for i := range table {
		if table[i] == nil {
			table[i], p.slot = p, uint32(i)
			registry.table.Store(&table)
			return
		}
	}
	p.slot = uint32(len(table))
	table = append(table, p)
	registry.table.Store(&table)
}

func (p *Pool) unregister() {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	table := append([]*Pool(nil), *registry.table.Load()...)
	table[p.slot] = nil
	registry.table.Store(&table)
}

func (f *Frame) owner() *Pool { return (*registry.table.Load())[f.pool] }

// New makes a pool. Close must be called to give its memory back.
func New(o Options) (*Pool, error) {
	if o.Frames == 0 {
		o.Frames = 16384
	}
	o.Frames = max(o.Frames, 16)
	if o.SegmentBlocks == 0 {
		o.SegmentBlocks = 131072
	}
	if o.OpenFiles == 0 {
		o.OpenFiles = 800
	}
	if o.Fate == nil {
		o.Fate = new(invariant.Fate)
	}
	a, err := newArena(o.Frames)
	if err != nil {
		return nil, dberr.Wrap(dberr.OutOfMemory, err, "cannot reserve %d pages for the buffer pool", o.Frames)
	}
	p := &Pool{opts: o, fs: o.FS, fate: o.Fate, arena: a, frames: make([]Frame, o.Frames)}
	p.register()
	for i := range p.frames {
		p.frames[i].index, p.frames[i].pool = uint32(i), p.slot
	}
	size := 1 << bits.Len(uint(2*o.Frames/numShards+7))
	for i := range p.shards {
		t := make([]atomic.Uint64, size)
		p.shards[i].table.Store(&t)
	}
	for i := range p.io {
		p.io[i].cond = sync.NewCond(&p.io[i].mu)
	}
	p.files.init(p)
	if o.Log != nil {
		p.SetLog(o.Log)
	}
	return p, nil
}

// SetLog gives the pool its log, once recovery has found its end.
func (p *Pool) SetLog(l LogFlusher) { p.log.Store(&l) }

// Close gives memory and files back without writing anything. Nothing may be pinned.
func (p *Pool) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	err := p.files.closeAll()
	p.unregister()
	return errors.Join(err, p.arena.close())
}

// Frames returns the number of pages that the pool holds at most.
func (p *Pool) Frames() int { return len(p.frames) }

// Stats returns the counters.
func (p *Pool) Stats() Stats {
	s := Stats{Reads: p.reads.Load(), Writes: p.writes.Load(), Evictions: p.evictions.Load(), Extends: p.extends.Load(),
		BadFSM: p.zeroed.Load(), Syncs: p.files.syncs.Load()}
	for i := range p.shards {
		s.Pins += p.shards[i].pins.Load()
	}
	return s
}

func hashOf(id page.ID) uint64 {
	h := uint64(id.Rel)*0x9e3779b97f4a7c15 ^ (uint64(id.Block)|uint64(id.Fork)<<32)*0xc2b2ae3d27d4eb4f
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>29
}

func (p *Pool) shardOf(h uint64) *shard { return &p.shards[h>>58] }

// entryOf is the table entry of a frame: low half the frame, high half hash bits that are not used for the place.
func entryOf(h uint64, index uint32) uint64 { return h>>26<<32 | uint64(index+1) }

// lookup finds and pins a valid frame without the shard's mutex. A miss may be false, since entries move under the mutex.
func (s *shard) lookup(p *Pool, id page.ID, h uint64) *Frame {
	t := *s.table.Load()
	mask := uint64(len(t) - 1)
	tag := h >> 26 << 32
	for i, n := h&mask, 0; n < len(t); i, n = (i+1)&mask, n+1 {
		e := t[i].Load()
		if e == 0 {
			return nil
		}
		if e>>32<<32 != tag {
			continue
		}
		f := &p.frames[uint32(e)-1]
		if !f.pinIfValid() {
			continue
		}
		// Pinned and valid: the tag cannot change any more.
		if f.rel == id.Rel && f.block == id.Block && f.fork == id.Fork {
			return f
		}
		f.Unpin()
	}
	return nil
}

// findLocked returns the frame of a page, valid or being read. s.mu must be held.
func (s *shard) findLocked(p *Pool, id page.ID, h uint64) *Frame {
	t := *s.table.Load()
	mask := uint64(len(t) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		e := t[i].Load()
		if e == 0 {
			return nil
		}
		if f := &p.frames[uint32(e)-1]; e>>32<<32 == h>>26<<32 && f.rel == id.Rel && f.block == id.Block && f.fork == id.Fork {
			return f
		}
	}
}

// insertLocked adds an entry; s.mu must be held.
func (s *shard) insertLocked(p *Pool, h uint64, f *Frame) {
	t := *s.table.Load()
	if s.used*4 >= len(t)*3 {
		bigger := make([]atomic.Uint64, 2*len(t))
		for i := range t {
			if e := t[i].Load(); e != 0 {
				put(bigger, hashOf(p.frames[uint32(e)-1].ID()), e)
			}
		}
		s.table.Store(&bigger)
		t = bigger
	}
	put(t, h, entryOf(h, f.index))
	s.used++
}

func put(t []atomic.Uint64, h, e uint64) {
	mask := uint64(len(t) - 1)
	i := h & mask
	for t[i].Load() != 0 {
		i = (i + 1) & mask
	}
	t[i].Store(e)
}

// removeLocked takes the entry of f out and closes the gap; s.mu must be held.
func (s *shard) removeLocked(p *Pool, h uint64, f *Frame) {
	t := *s.table.Load()
	mask := uint64(len(t) - 1)
	want := entryOf(h, f.index)
	i := h & mask
	for t[i].Load() != want {
		if t[i].Load() == 0 {
			invariant.Failf("B2: frame %d (%v) has no entry in the table", f.index, f.ID())
		}
		i = (i + 1) & mask
	}
	s.used--
	for j := i; ; {
		j = (j + 1) & mask
		e := t[j].Load()
		if e == 0 {
			break
		}
		home := hashOf(p.frames[uint32(e)-1].ID()) & mask
		if (j-home)&mask >= (j-i)&mask { // its way from home to j passes i
			t[i].Store(e)
			i = j
		}
	}
	t[i].Store(0)
}

// pinIfValid pins the frame if its bytes are a page's.
func (f *Frame) pinIfValid() bool {
	for {
		s := f.state.Load()
		if s&stateValid == 0 {
			return false
		}
		if f.state.CompareAndSwap(s, bump(s)+statePin) {
			return true
		}
	}
}

func bump(s uint64) uint64 {
	if s&stateUsageMask < maxUsage*stateUsage {
		s += stateUsage
	}
	return s
}

// pin adds a pin, whatever the frame holds; the caller has the shard's mutex.
func (f *Frame) pin() {
	for {
		s := f.state.Load()
		if f.state.CompareAndSwap(s, bump(s)+statePin) {
			return
		}
	}
}

// Unpin lets the frame go; the pointer means nothing afterwards.
func (f *Frame) Unpin() {
	s := f.state.Add(^uint64(0))
	if invariant.Enabled && s&statePins == statePins {
		invariant.Failf("B3: frame %d unpinned more often than pinned", f.index)
	}
	if s&stateCleanup != 0 && s&statePins <= 1 {
		f.owner().wake(f)
	}
}

// Pin brings a page into memory and keeps it there until Unpin. A block that the fork does not have is ErrNoBlock.
func (p *Pool) Pin(ctx context.Context, id page.ID) (*Frame, error) {
	h := hashOf(id)
	s := p.shardOf(h)
	s.pins.Add(1)
	meterPin(ctx)
	if f := s.lookup(p, id, h); f != nil {
		return f, nil
	}
	return p.pinSlow(ctx, id, h, s, nil, false)
}

// PinRing is Pin for scans that touch each page once: pages that are not in memory yet go through the few frames of the ring.
func (p *Pool) PinRing(ctx context.Context, id page.ID, r *Ring) (*Frame, error) {
	h := hashOf(id)
	s := p.shardOf(h)
	s.pins.Add(1)
	meterPin(ctx)
	if f := s.lookup(p, id, h); f != nil {
		return f, nil
	}
	return p.pinSlow(ctx, id, h, s, r, false)
}

// PinOrZero is Pin for pages that are not logged (free space maps, A7): damaged bytes, or a block beyond the end, read as a page
// of zeros. It is counted.
func (p *Pool) PinOrZero(ctx context.Context, id page.ID) (*Frame, error) {
	h := hashOf(id)
	s := p.shardOf(h)
	s.pins.Add(1)
	meterPin(ctx)
	if f := s.lookup(p, id, h); f != nil {
		return f, nil
	}
	return p.pinSlow(ctx, id, h, s, nil, true)
}

func (p *Pool) pinSlow(ctx context.Context, id page.ID, h uint64, s *shard, r *Ring, orZero bool) (*Frame, error) {
	for {
		if err := p.fate.Err(); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.mu.Lock()
		if f := s.findLocked(p, id, h); f != nil {
			f.pin()
			s.mu.Unlock()
			if p.waitIO(f) {
				return f, nil
			}
			f.Unpin() // the reader failed; try for ourselves and get our own error
			continue
		}
		s.mu.Unlock()

		n, err := p.Size(id.Rel, id.Fork)
		if err != nil {
			return nil, err
		}
		if id.Block >= n {
			return nil, fmt.Errorf("page %v of %d: %w", id, n, ErrNoBlock)
		}
		v, err := p.victim(ctx, r)
		if err != nil {
			return nil, err
		}
		if !p.claim(v, id, h, s, stateIO) {
			p.free(v)
			continue
		}
		if err := p.read(v, id, orZero); err != nil {
			s.mu.Lock()
			s.removeLocked(p, h, v)
			p.settle(v, 0, stateTagged|stateIO)
			s.mu.Unlock()
			v.Unpin()
			return nil, err
		}
		p.settle(v, stateValid, stateIO)
		if m, ok := ctx.(*Meter); ok {
			m.Reads++
		}
		return v, nil
	}
}

// claim gives a victim to a page, unless the page has a frame by now.
func (p *Pool) claim(v *Frame, id page.ID, h uint64, s *shard, flags uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.findLocked(p, id, h) != nil {
		return false
	}
	v.rel, v.fork, v.block = id.Rel, id.Fork, id.Block
	v.state.Store(statePin | stateUsage | stateTagged | flags)
	s.insertLocked(p, h, v)
	return true
}

// free gives a victim back that was not needed.
func (p *Pool) free(v *Frame) { v.state.Store(0) }

// settle ends I/O on a frame: sets and clears flags in one step and wakes who waits.
func (p *Pool) settle(f *Frame, set, unset uint64) {
	for {
		s := f.state.Load()
		if f.state.CompareAndSwap(s, s&^unset|set) {
			break
		}
	}
	p.wake(f)
}

func (p *Pool) wake(f *Frame) {
	b := &p.io[f.index%uint32(len(p.io))]
	b.mu.Lock()
	b.cond.Broadcast()
	b.mu.Unlock()
}

// waitIO returns when nobody reads the page any more, and whether it is valid.
func (p *Pool) waitIO(f *Frame) bool {
	if s := f.state.Load(); s&stateValid != 0 {
		return true
	}
	b := &p.io[f.index%uint32(len(p.io))]
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		s := f.state.Load()
		if s&stateValid != 0 {
			return true
		}
		if s&stateIO == 0 {
			return false
		}
		b.cond.Wait()
	}
}

// startIO makes the caller, who has f pinned, the one who writes it; with try it does not wait for another.
func (p *Pool) startIO(f *Frame, try bool) bool {
	for {
		s := f.state.Load()
		if s&stateIO == 0 {
			if f.state.CompareAndSwap(s, s|stateIO) {
				return true
			}
			continue
		}
		if try {
			return false
		}
		b := &p.io[f.index%uint32(len(p.io))]
		b.mu.Lock()
		for f.state.Load()&stateIO != 0 {
			b.cond.Wait()
		}
		b.mu.Unlock()
	}
}

// victim finds a frame for another page: pinned once, by the caller, in no table and without a page.
func (p *Pool) victim(ctx context.Context, r *Ring) (*Frame, error) {
	if f, err := r.victim(p); f != nil || err != nil {
		return f, err
	}
	n := uint64(len(p.frames))
	for tries := 0; ; tries++ {
		unpinned := false
		var full error
		for range n * (maxUsage + 2) {
			f := &p.frames[p.hand.Add(1)%n]
			s := f.state.Load()
			if s&statePins != 0 {
				continue
			}
			unpinned = true
			if s&stateUsageMask != 0 {
				f.state.CompareAndSwap(s, s-stateUsage)
				continue
			}
			if !f.state.CompareAndSwap(s, s+statePin) {
				continue
			}
			ok, err := p.takeOver(f, s)
			if dberr.Is(err, dberr.DiskFull) {
				full = err // a clean frame may do (B8)
				continue
			}
			if err != nil {
				return nil, err
			}
			if ok {
				r.remember(f)
				return f, nil
			}
		}
		if full != nil {
			return nil, full
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// B8: pins are short; wait for one to go before giving up.
		if !unpinned && tries >= 2000 {
			return nil, dberr.New(dberr.OutOfMemory, "all %d pages of the buffer pool are in use", n).
				WithHint("Give the database a larger cache.")
		}
		time.Sleep(time.Millisecond)
	}
}

// takeOver empties a frame that the caller has just pinned in state s; if it cannot, the pin is gone.
func (p *Pool) takeOver(f *Frame, s uint64) (bool, error) {
	if s&stateTagged == 0 {
		return true, nil
	}
	if s&stateDirty != 0 {
		if done, err := p.writeOut(f, true); err != nil || !done {
			f.Unpin()
			return false, err
		}
	}
	if p.evict(f) {
		return true, nil
	}
	f.Unpin()
	return false, nil
}

// evict takes the page out of a frame on which the caller has the only pin (B3); it fails if somebody came or it got dirty.
func (p *Pool) evict(f *Frame) bool {
	id := f.ID()
	h := hashOf(id)
	s := p.shardOf(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		st := f.state.Load()
		if st&statePins != 1 || st&(stateDirty|stateIO|stateCleanup) != 0 || st&(stateTagged|stateValid) != stateTagged|stateValid {
			return false
		}
		if f.state.CompareAndSwap(st, statePin) {
			break
		}
	}
	s.removeLocked(p, h, f)
	p.evictions.Add(1)
	if invariant.Enabled {
		poison(p.arena.frame(f.index))
	}
	return true
}

func poison(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}

// Extend adds a page of zeros to a fork, and makes the fork's file if it is the first. The frame is pinned and exclusively
// latched; it is not dirty until the caller says so. Space is reserved on the disk, so that a full disk is met here, where it can
// be reported (DiskFull), rather than when the page is written.
func (p *Pool) Extend(ctx context.Context, rel page.RelFile, fork page.Fork) (*Frame, error) {
	if err := p.fate.Err(); err != nil {
		return nil, err
	}
	fk, err := p.files.fork(rel, fork)
	if err != nil {
		return nil, err
	}
	v, err := p.victim(ctx, nil)
	if err != nil {
		return nil, err
	}
	fk.mu.Lock()
	defer fk.mu.Unlock()
	b := page.Block(fk.blocks.Load())
	if b == page.NoBlock {
		p.free(v)
		return nil, dberr.New(dberr.LimitExceeded, "relation file %d is full", rel)
	}
	if err := p.files.reserve(fk, b); err != nil {
		p.free(v)
		return nil, err
	}
	p.place(v, page.ID{Rel: rel, Fork: fork, Block: b})
	fk.blocks.Store(uint32(b) + 1)
	p.extends.Add(1)
	return v, nil
}

// place gives a victim to a page that no frame holds, filled with zeros and exclusively latched.
func (p *Pool) place(v *Frame, id page.ID) {
	clear(p.arena.frame(v.index))
	if !v.latch.try(modeX) {
		invariant.Failf("B3: a free frame is latched")
	}
	h := hashOf(id)
	if !p.claim(v, id, h, p.shardOf(h), stateValid) {
		invariant.Failf("B2: new page %v is in memory already", id)
	}
}

// PinZero pins a page and latches it exclusively, without reading it from its file: for a caller that replaces all of it, as redo
// does. If it is in memory its bytes are as they are, else zeros. A block beyond the end lengthens the fork.
func (p *Pool) PinZero(ctx context.Context, id page.ID) (*Frame, error) {
	fk, err := p.files.fork(id.Rel, id.Fork)
	if err != nil {
		return nil, err
	}
	h := hashOf(id)
	s := p.shardOf(h)
	s.pins.Add(1)
	for {
		if err := p.fate.Err(); err != nil {
			return nil, err
		}
		s.mu.Lock()
		f := s.findLocked(p, id, h)
		if f != nil {
			f.pin()
		}
		s.mu.Unlock()
		if f != nil {
			if p.waitIO(f) {
				f.Lock()
				return f, nil
			}
			f.Unpin()
			continue
		}
		v, err := p.victim(ctx, nil)
		if err != nil {
			return nil, err
		}
		fk.mu.Lock()
		if n := page.Block(fk.blocks.Load()); id.Block >= n {
			if err := p.files.reserve(fk, id.Block); err != nil {
				fk.mu.Unlock()
				p.free(v)
				return nil, err
			}
			fk.blocks.Store(uint32(id.Block) + 1)
		}
		fk.mu.Unlock()
		clear(p.arena.frame(v.index))
		v.latch.try(modeX)
		if p.claim(v, id, h, s, stateValid) {
			return v, nil
		}
		v.latch.unlock(modeX)
		p.free(v)
	}
}

// ID returns the page that the frame holds.
func (f *Frame) ID() page.ID { return page.ID{Rel: f.rel, Fork: f.fork, Block: f.block} }

// Page returns the bytes; they may be used while the frame is pinned, under the latch that B4 asks for.
func (f *Frame) Page() page.Page {
	if invariant.Enabled && f.state.Load()&statePins == 0 {
		invariant.Failf("B3: bytes of frame %d taken without a pin", f.index)
	}
	return f.owner().arena.frame(f.index)
}

// MarkDirty says that the page was or will be changed under the latch that the caller holds, exclusive or share-exclusive.
func (f *Frame) MarkDirty() {
	if invariant.Enabled && !f.latch.held(modeX) && !f.latch.held(modeSX) {
		invariant.Failf("B5: page %v marked dirty without a latch", f.ID())
	}
	const both = stateDirty | stateRedirtied
	if f.state.Load()&both != both {
		f.state.Or(both)
	}
}

// MarkHintDirty says that only hints changed: they go to the disk if the page does, and are lost else.
func (f *Frame) MarkHintDirty() {
	if f.state.Load()&stateHint == 0 {
		f.state.Or(stateHint)
	}
}

// Dirty reports whether the page has changes that are not in its file.
func (f *Frame) Dirty() bool { return f.state.Load()&stateDirty != 0 }

// Lock takes the exclusive latch.
func (f *Frame) Lock() { f.latch.lock(modeX) }

// TryLock takes the exclusive latch if it is free.
func (f *Frame) TryLock() bool { return f.latch.try(modeX) }

// Unlock lets go of the exclusive latch.
func (f *Frame) Unlock() { f.latch.unlock(modeX) }

// RLock takes the shared latch.
func (f *Frame) RLock() { f.latch.lock(modeShared) }

// RUnlock lets go of the shared latch.
func (f *Frame) RUnlock() { f.latch.unlock(modeShared) }

// SXLock takes the share-exclusive latch.
func (f *Frame) SXLock() { f.latch.lock(modeSX) }

// TrySXLock takes the share-exclusive latch if it is free.
func (f *Frame) TrySXLock() bool { return f.latch.try(modeSX) }

// SXUnlock lets go of the share-exclusive latch.
func (f *Frame) SXUnlock() { f.latch.unlock(modeSX) }

// TryUpgrade turns the caller's shared latch into share-exclusive, if nobody holds that: what hint bits need (A10).
func (f *Frame) TryUpgrade() bool { return f.latch.tryUpgrade() }

// DowngradeSX turns the caller's share-exclusive latch into shared.
func (f *Frame) DowngradeSX() { f.latch.downgrade(modeSX) }

// Downgrade turns the caller's exclusive latch into shared.
func (f *Frame) Downgrade() { f.latch.downgrade(modeX) }

// TryCleanup takes the exclusive latch if it is free and the caller's pin is the only one; Unlock ends it.
func (f *Frame) TryCleanup() bool {
	if f.state.Load()&statePins != 1 || !f.latch.try(modeX) {
		return false
	}
	if f.state.Load()&statePins != 1 {
		f.latch.unlock(modeX)
		return false
	}
	return true
}

// UpgradeCleanup reports whether the holder of the exclusive latch has the only pin, and so the cleanup lock.
func (f *Frame) UpgradeCleanup() bool { return f.state.Load()&statePins == 1 }

// LockCleanup waits for the exclusive latch with the caller's pin as the only one. The latch is not held while it waits. One
// goroutine at a time may wait for a page.
func (f *Frame) LockCleanup(ctx context.Context) error {
	p := f.owner()
	b := &p.io[f.index%uint32(len(p.io))]
	stop := context.AfterFunc(ctx, func() {
		b.mu.Lock()
		b.cond.Broadcast()
		b.mu.Unlock()
	})
	defer stop()
	for {
		f.Lock()
		if f.state.Load()&statePins == 1 {
			f.state.And(^stateCleanup)
			return nil
		}
		f.state.Or(stateCleanup)
		f.Unlock()
		sched.Point("buffer.cleanup.wait")
		b.mu.Lock()
		for f.state.Load()&statePins > 1 && ctx.Err() == nil {
			b.cond.Wait()
		}
		b.mu.Unlock()
		if err := ctx.Err(); err != nil {
			f.state.And(^stateCleanup)
			return err
		}
	}
}

// Ring is a handful of frames through which a scan passes, so that it does not push out everything else. It belongs to one
// goroutine.
type Ring struct {
	frames []*Frame
	next   int
}

// NewRing returns a ring of about the given bytes, at most an eighth of the pool: 256 KiB for scans, 16 MiB for bulk writes.
func (p *Pool) NewRing(bytes int) *Ring {
	return &Ring{frames: make([]*Frame, max(4, min(bytes/page.Size, len(p.frames)/8)))}
}

// victim re-uses the ring's next frame, if nobody but the ring seems to want it.
func (r *Ring) victim(p *Pool) (*Frame, error) {
	if r == nil {
		return nil, nil
	}
	r.next = (r.next + 1) % len(r.frames)
	f := r.frames[r.next]
	if f == nil {
		return nil, nil
	}
	s := f.state.Load()
	if s&statePins != 0 || s&stateUsageMask > stateUsage || !f.state.CompareAndSwap(s, s+statePin) {
		return nil, nil
	}
	ok, err := p.takeOver(f, s)
	if ok {
		return f, nil
	}
	return nil, err
}

func (r *Ring) remember(f *Frame) {
	if r != nil {
		r.frames[r.next] = f
	}
}
