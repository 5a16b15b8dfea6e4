package heap

import (
	"context"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// The visibility map has two bits a heap page: all-visible, and all-frozen (kept for freezing).
const (
	vmBits     = 2
	vmPerWord  = 32 / vmBits
	vmPerPage  = (page.Size - page.HeaderSize) / 4 * vmPerWord // 32,640 heap pages
	vmVisible  = 1
	vmAllFlags = 3
)

func vmBlock(b page.Block) page.Block { return b / vmPerPage }

// vmWord returns the word and shift for a heap page.
func vmWord(p page.Page, b page.Block) (*uint32, uint) {
	i := int(b % vmPerPage)
	return p.Word(page.HeaderSize + i/vmPerWord*4), uint(i%vmPerWord) * vmBits
}

// vmPin returns the page of the visibility map that covers a heap page, pinned, making it if need be.
func (t *Table) vmPin(ctx context.Context, b page.Block) (*buffer.Frame, error) {
	return t.forkPin(ctx, page.VM, vmBlock(b))
}

// forkPin pins a page of a fork, extending the fork up to it.
func (t *Table) forkPin(ctx context.Context, fork page.Fork, b page.Block) (*buffer.Frame, error) {
	for {
		n, err := t.o.Pool.Size(t.o.File, fork)
		if err != nil {
			return nil, err
		}
		if id := (page.ID{Rel: t.o.File, Fork: fork, Block: b}); b < n {
			if fork == page.FSM {
				return t.o.Pool.PinOrZero(ctx, id) // A7
			}
			return t.o.Pool.Pin(ctx, id)
		}
		f, err := t.o.Pool.Extend(ctx, t.o.File, fork)
		if err != nil {
			return nil, err
		}
		f.Unlock()
		f.Unpin()
	}
}

// heapPage is a changed page with its page of the visibility map, which is pinned if the page is marked all-visible.
type heapPage struct{ f, vm *buffer.Frame }

// log inserts the record of a change within the change's critical section. If a page was marked all-visible the mark goes with
// the same record (H4).
func (t *Table) log(c *invariant.Crit, b *wal.Builder, pages ...heapPage) error {
	var locked [2]*buffer.Frame
	var index [2]int
	n := 0
	for _, hp := range pages {
		p := hp.f.Page()
		if p.Flags()&flagAllVisible == 0 {
			continue
		}
		p.SetFlags(p.Flags() &^ flagAllVisible)
		t.counters.AllVisibleCleared.Add(1)
		k := 0
		for k < n && locked[k] != hp.vm && locked[k].ID() != hp.vm.ID() {
			k++
		}
		if k == n {
			hp.vm.Lock()
			locked[n] = hp.vm
			index[n] = b.Block(hp.vm, 0)
			n++
		}
		block := hp.f.ID().Block
		if vp := locked[k].Page(); !vp.IsNew() {
			w, sh := vmWord(vp, block)
			atomic.AndUint32(w, ^uint32(vmAllFlags<<sh))
		}
		locked[k].MarkDirty()
		var d [4]byte
		le.PutUint32(d[:], uint32(block))
		b.BlockData(index[k], d[:])
	}
	_, err := t.o.Log.Insert(b)
	c.Logged(b.Len())
	for _, f := range locked[:n] {
		f.Unlock()
	}
	return err
}

// AllVisible reports whether every snapshot sees everything on the page. Who trusts it keeps its leaf pinned meanwhile (rules
// B5).
func (t *Table) AllVisible(ctx context.Context, b page.Block) (bool, error) {
	n, err := t.o.Pool.Size(t.o.File, page.VM)
	if err != nil || vmBlock(b) >= n {
		return false, err
	}
	f, err := t.o.Pool.Pin(ctx, page.ID{Rel: t.o.File, Fork: page.VM, Block: vmBlock(b)})
	if err != nil {
		return false, err
	}
	defer f.Unpin()
	f.RLock()
	defer f.RUnlock()
	if f.Page().IsNew() {
		return false, nil
	}
	w, sh := vmWord(f.Page(), b)
	return atomic.LoadUint32(w)>>sh&vmVisible != 0, nil
}

// allVisible judges the latched page: every version is seen by every snapshot, and no pointer is dead.
func (t *Table) allVisible(p page.Page, h txn.Horizon) bool {
	if p.IsNew() || p.NumItems() == 0 {
		return false
	}
	for off := 1; off <= p.NumItems(); off++ {
		id := p.ItemID(off)
		switch id.State() {
		case page.Dead:
			return false
		case page.Normal:
			v := tupleAt(p, id).version()
			if v.Mask&(txn.XminSeen|txn.Frozen) == 0 && !h.Past(t.o.Txns, v.Xmin) {
				return false
			}
			if v.Mask&txn.XmaxNone == 0 && v.Xmax != txn.InvalidXID {
				return false
			}
		}
	}
	return true
}

// markVisible marks the pinned page if it still deserves it.
func (t *Table) markVisible(ctx context.Context, f *buffer.Frame) error {
	vm, err := t.vmPin(ctx, f.ID().Block)
	if err != nil {
		return err
	}
	defer vm.Unpin()
	h := t.o.Txns.Horizon()
	f.Lock()
	defer f.Unlock()
	p := f.Page()
	if p.Flags()&flagAllVisible != 0 || !t.allVisible(p, h) || t.o.Txns.Fate().Err() != nil {
		return nil
	}
	b := builders.Get().(*wal.Builder)
	defer builders.Put(b)
	vm.Lock()
	defer vm.Unlock()
	// A panic here ends the process: nobody recovers on the way of a mark.
	flags := wal.BlockFlags(0)
	if vm.Page().IsNew() {
		vm.Page().Init(page.TypeVM, 0)
		flags = wal.WillInit
	}
	p.SetFlags(p.Flags() | flagAllVisible)
	w, sh := vmWord(vm.Page(), f.ID().Block)
	atomic.OrUint32(w, vmVisible<<sh)
	f.MarkDirty()
	vm.MarkDirty()
	b.Begin(wal.RmgrHeap, infoVisible, 0)
	i := b.Block(vm, flags)
	var d [4]byte
	le.PutUint32(d[:], uint32(f.ID().Block))
	b.BlockData(i, d[:])
	b.Block(f, wal.Standard)
	if _, err := t.o.Log.Insert(b); err != nil {
		return dberr.Wrap(dberr.IOError, err, "mark page %v all-visible", f.ID())
	}
	t.counters.AllVisibleSet.Add(1)
	return nil
}
