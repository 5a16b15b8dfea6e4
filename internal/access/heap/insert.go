package heap

import (
	"context"
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// work is scratch for building tuples and records.
type work struct{ item, body [page.Size]byte }

var works = sync.Pool{New: func() any { return new(work) }}

func tooBig(n int) error {
	return dberr.New(dberr.LimitExceeded, "row of %d bytes is too big for a page", n).
		WithDetail("The largest row has %d bytes.", MaxRow).
		WithHint("Values above 2 KiB are stored out of line; this row has too many smaller ones.")
}

// Insert stores a row and returns its root. The version belongs to the current subtransaction and command cid.
func (t *Table) Insert(ctx context.Context, tx *txn.Tx, cid uint32, row []byte) (page.TID, error) {
	var tid [1]page.TID
	rows := [1][]byte{row}
	err := t.InsertMany(ctx, tx, cid, rows[:], tid[:])
	return tid[0], err
}

// InsertMany stores rows and their roots in tids, with one log record a page. On an error those already stored belong to a
// transaction that the caller rolls back.
func (t *Table) InsertMany(ctx context.Context, tx *txn.Tx, cid uint32, rows [][]byte, tids []page.TID) error {
	for _, r := range rows {
		if len(r) > MaxRow {
			return tooBig(len(r))
		}
	}
	x, err := tx.XID()
	if err != nil {
		return err
	}
	for done := 0; done < len(rows); {
		f, vm, err := t.room(ctx, tx, len(rows[done]), t.reserve, page.NoBlock)
		if err != nil {
			return err
		}
		n, err := t.insertOn(tx, x, cid, f, vm, rows[done:], tids[done:])
		f.Unlock()
		unpin(vm)
		f.Unpin()
		if err != nil {
			return err
		}
		done += n
	}
	t.counters.Inserts.Add(int64(len(rows)))
	return nil
}

// insertOn stores as many rows as fit on the latched page; the first does.
func (t *Table) insertOn(tx *txn.Tx, x txn.XID, cid uint32, f, vm *buffer.Frame, rows [][]byte, tids []page.TID) (n int, err error) {
	p := f.Page()
	flags := wal.Standard
	block := f.ID().Block
	c := tx.Crit()
	b := tx.Builder()
	c.Enter()
	defer c.Exit()
	if p.IsNew() {
		p.Init(page.TypeHeap, 0)
		flags |= wal.WillInit
	}
	w := works.Get().(*work)
	defer works.Put(w)
	body := w.body[:0] // each row: offset u8, length u16, bytes
	for n < len(rows) {
		row := rows[n]
		size := page.Align(HeaderSize + len(row))
		if n > 0 && p.FreeSpace() < size+t.reserve || n > 0 && len(body)+len(row)+3 > len(w.body) {
			break
		}
		off := p.AddItem(appendTuple(w.item[:0], x, cid, 0, page.MakeTID(block, 0), row), MaxTuples)
		if off == 0 {
			break
		}
		tids[n] = page.MakeTID(block, off)
		tup, _ := normal(p, off)
		tup.setCtid(tids[n])
		body = append(body, byte(off), byte(len(row)), byte(len(row)>>8))
		body = append(body, row...)
		n++
	}
	f.MarkDirty()
	b.Begin(wal.RmgrHeap, infoInsert, uint64(x))
	i := b.Block(f, flags)
	b.BlockData(i, body)
	return n, t.log(tx.Crit(), b, heapPage{f, vm})
}

func unpin(f *buffer.Frame) {
	if f != nil {
		f.Unpin()
	}
}

// room returns a page with space for a row of n bytes and spare more, pinned and exclusively latched, and its page of the
// visibility map, pinned, if the page is marked all-visible. The page is not the one to avoid.
func (t *Table) room(ctx context.Context, tx *txn.Tx, n, spare int, avoid page.Block) (f, vm *buffer.Frame, err error) {
	need := page.Align(HeaderSize + n)
	slot := &t.slots[tx.Session()%insertSlots]
	for try := 0; ; try++ {
		var b page.Block
		fresh := false
		if cur := slot.block.Load(); cur != 0 && try == 0 && page.Block(cur-1) != avoid {
			b = page.Block(cur - 1)
		} else if found, ok := t.fsmSearch(ctx, need+spare, tx.Session()); ok && try < 8 {
			b = found
			if b == avoid {
				continue
			}
		} else {
			if f, err = t.extend(ctx); err != nil {
				return nil, nil, err
			}
			b, fresh = f.ID().Block, true
		}
		if !fresh {
			if f, err = t.pin(ctx, b); err != nil {
				return nil, nil, err
			}
			f.Lock()
			t.pruneFor(f, tx.Crit(), need+spare)
		}
		p := f.Page()
		if p.IsNew() || p.FreeSpace() >= need+spare && hasPointer(p) || fresh {
			if !p.IsNew() && p.Flags()&flagAllVisible != 0 {
				f.Unlock()
				if vm, err = t.vmPin(ctx, b); err != nil {
					f.Unpin()
					return nil, nil, err
				}
				f.Lock()
				if p.FreeSpace() < need+spare || !hasPointer(p) {
					f.Unlock()
					unpin(vm)
					f.Unpin()
					vm = nil
					continue
				}
			}
			if slot.block.Load() != uint64(b)+1 {
				slot.block.Store(uint64(b) + 1)
			}
			return f, vm, nil
		}
		free := freeOf(p)
		f.Unlock()
		f.Unpin()
		t.counters.FSMWrong.Add(1)
		t.fsmRecord(ctx, b, free)
	}
}

// hasPointer reports whether the page has a line pointer to give.
func hasPointer(p page.Page) bool {
	if p.NumItems() < MaxTuples {
		return true
	}
	for off := 1; off <= MaxTuples; off++ {
		if p.ItemID(off).State() == page.Unused {
			return true
		}
	}
	return false
}

// freeOf is what the free space map should say of a page.
func freeOf(p page.Page) int {
	if p.IsNew() {
		return page.MaxItem
	}
	if !hasPointer(p) {
		return 0
	}
	return p.FreeSpace()
}

// extend adds a page; it is pinned, exclusively latched and all zero.
func (t *Table) extend(ctx context.Context) (*buffer.Frame, error) {
	t.counters.PagesExtended.Add(1)
	return t.o.Pool.Extend(ctx, t.o.File, page.Main)
}
