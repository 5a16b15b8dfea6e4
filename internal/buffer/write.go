package buffer

import (
	"context"
	"slices"
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
)

var copyPool = sync.Pool{New: func() any { return new([page.Size]byte) }}

// writeOut writes the frame's page to its file if it is dirty. The caller has it pinned and holds no latch on it. With try it
// does not wait for a latch or for another writer, and reports false then. On return without an error and with true, every
// change made before the call is in the file (not yet synced).
func (p *Pool) writeOut(f *Frame, try bool) (done bool, err error) {
	// One writer at a time, so that an older copy never overwrites a newer one; whoever waits here waits for a write in
	// progress, as a checkpoint must (A4).
	if !p.startIO(f, try) {
		return false, nil
	}
	defer p.settle(f, 0, stateIO)
	if try {
		if !f.latch.try(modeSX) {
			return false, nil
		}
	} else {
		f.latch.lock(modeSX)
	}
	if f.state.Load()&stateDirty == 0 {
		f.latch.unlock(modeSX)
		return true, nil
	}
	buf := copyPool.Get().(*[page.Size]byte)
	defer copyPool.Put(buf)
	cp := page.Page(buf[:])
	copy(cp, p.arena.frame(f.index))
	f.state.And(^(stateRedirtied | stateHint))
	f.latch.unlock(modeSX)

	sched.Point("buffer.write.copied")
	if err := p.fate.Err(); err != nil {
		return false, err
	}
	id := f.ID()
	if lsn := cp.LSN(); lsn != 0 { // pages without a log (free space maps) have no LSN
		if l := p.log.Load(); l != nil && (*l).FlushedLSN() < lsn { // B1
			if err := (*l).FlushTo(lsn); err != nil {
				return false, err
			}
		}
	}
	cp.SetChecksum(id)
	if err := p.files.write(id, cp); err != nil {
		f.state.Or(stateRedirtied)
		return false, err
	}
	p.writes.Add(1)
	for {
		s := f.state.Load()
		if s&stateRedirtied != 0 {
			// It changed while we wrote. What was there before the call is in the file, so a checkpoint is content.
			return !try, nil
		}
		if f.state.CompareAndSwap(s, s&^stateDirty) {
			return true, nil
		}
	}
}

// read fills a frame from its file and verifies the bytes (B7).
func (p *Pool) read(f *Frame, id page.ID, orZero bool) error {
	pg := p.arena.frame(f.index)
	if err := p.files.read(id, pg); err != nil {
		return err
	}
	p.reads.Add(1)
	if err := pg.Verify(id); err != nil {
		if orZero {
			p.zeroed.Add(1)
			clear(pg)
			return nil
		}
		return p.corrupted(id, err)
	}
	return nil
}

// WriteStats say what a round of writing did.
type WriteStats struct {
	Pages int // pages written
}

// WriteDirty writes every page that is dirty now, in the order of files and blocks. pace is called after each slice of pages with
// the number done and the total; it may sleep, and its error ends the round. Nothing is synced: SyncFiles does that.
func (p *Pool) WriteDirty(ctx context.Context, pace func(done, total int) error) (WriteStats, error) {
	type target struct {
		id    page.ID
		index uint32
	}
	var todo []target
	for i := range p.frames {
		f := &p.frames[i]
		// Writers that the caller must not miss have marked the frame before their record got its place in the log.
		if f.state.Load()&(stateDirty|stateTagged) != stateDirty|stateTagged || !f.pinQuietly() {
			continue
		}
		todo = append(todo, target{f.ID(), f.index})
		f.Unpin()
	}
	slices.SortFunc(todo, func(a, b target) int { return compareID(a.id, b.id) })
	var st WriteStats
	for i, t := range todo {
		if err := ctx.Err(); err != nil {
			return st, err
		}
		f := &p.frames[t.index]
		// If the frame holds another page by now, its old one was written before that (B3).
		if f.pinQuietly() {
			var err error
			if f.ID() == t.id && f.state.Load()&(stateDirty|stateIO) != 0 {
				st.Pages++
				_, err = p.writeOut(f, false)
			}
			f.Unpin()
			if err != nil {
				return st, err
			}
		}
		if pace != nil && (i%32 == 31 || i == len(todo)-1) {
			if err := pace(i+1, len(todo)); err != nil {
				return st, err
			}
		}
	}
	return st, nil
}

func compareID(a, b page.ID) int {
	switch {
	case a.Rel != b.Rel:
		if a.Rel < b.Rel {
			return -1
		}
		return 1
	case a.Fork != b.Fork:
		return int(a.Fork) - int(b.Fork)
	case a.Block < b.Block:
		return -1
	case a.Block > b.Block:
		return 1
	}
	return 0
}

// FlushAll writes all dirty pages and syncs all files.
func (p *Pool) FlushAll(ctx context.Context) error {
	if _, err := p.WriteDirty(ctx, nil); err != nil {
		return err
	}
	return p.SyncFiles(ctx)
}

// BackgroundWrite writes at most limit dirty pages that nobody uses and that the clock's hand will come to next, so that who
// needs a frame finds a clean one. It returns how many it wrote.
func (p *Pool) BackgroundWrite(ctx context.Context, limit int) (int, error) {
	n := uint64(len(p.frames))
	hand := p.hand.Load()
	wrote := 0
	for i := uint64(1); i <= n/4 && wrote < limit; i++ {
		f := &p.frames[(hand+i)%n]
		s := f.state.Load()
		if s&(stateDirty|stateValid) != stateDirty|stateValid || s&statePins != 0 || s&stateUsageMask > stateUsage {
			continue
		}
		if err := ctx.Err(); err != nil {
			return wrote, err
		}
		if !f.state.CompareAndSwap(s, s+statePin) {
			continue
		}
		_, err := p.writeOut(f, true)
		f.Unpin()
		if err != nil {
			return wrote, err
		}
		wrote++
	}
	return wrote, nil
}

// discard throws away the frames of a relation from block on, in one fork or (fork < 0) all, without writing them. Nobody may
// use these pages any more; a checkpoint that looks at one is waited for.
func (p *Pool) discard(ctx context.Context, rel page.RelFile, fork int, from page.Block) error {
	for i := range p.frames {
		f := &p.frames[i]
		for {
			if !f.pinQuietly() {
				break
			}
			if f.rel != rel || fork >= 0 && f.fork != page.Fork(fork) || f.block < from {
				f.Unpin()
				break
			}
			if p.drop(f) {
				break
			}
			f.Unpin()
			if err := ctx.Err(); err != nil {
				return err
			}
			sched.Point("buffer.discard.wait")
			p.pause()
		}
	}
	return nil
}

// pinQuietly pins a valid frame without making it look used: a checkpoint, or a drop, says nothing about what is wanted. A frame
// that is being read in is left out: it is clean, and nobody reads pages of what is dropped.
func (f *Frame) pinQuietly() bool {
	for {
		s := f.state.Load()
		if s&stateValid == 0 {
			return false
		}
		if f.state.CompareAndSwap(s, s+statePin) {
			return true
		}
	}
}

// drop empties a frame on which the caller has the only pin, dirty or not; the pin is gone then.
func (p *Pool) drop(f *Frame) bool {
	h := hashOf(f.ID())
	s := p.shardOf(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		st := f.state.Load()
		if st&statePins != 1 || st&stateIO != 0 {
			return false
		}
		if f.state.CompareAndSwap(st, statePin) {
			break
		}
	}
	s.removeLocked(p, h, f)
	if f.latch.state.Load() != 0 {
		// Without pins there are no latches: only a checkpoint's copy could be, and it has a pin.
		panic("buffer: a dropped page is latched")
	}
	f.state.Store(0)
	return true
}
