package heap

import (
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/recovery"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Kinds of records. docs/format/heap.md draws them. The last block is a page of the visibility map if the change cleared a mark
// there; its data is the heap pages' numbers.
const (
	infoInsert  uint8 = iota + 1 // 0: rows on one page
	infoUpdate                   // 0: old and new version on one page
	infoMove                     // 0: page of the new version, 1: page of the old one
	infoDelete                   // 0: xmax that deletes
	infoLock                     // 0: xmax that only locks
	infoPrune                    // 0: redirects, dead and unused pointers
	infoVisible                  // 0: page of the visibility map, 1: heap page
)

// Redoer repeats the heap's records.
type Redoer struct{}

var _ recovery.Redoer = Redoer{}

// Name names the resource manager.
func (Redoer) Name() string { return "heap" }

func damaged(rec *wal.Record) error {
	return dberr.New(dberr.DataCorrupted, "heap record at %v of kind %d does not fit its page", rec.LSN, rec.Info)
}

// Redo repeats a record. Command ids are not in the log: whoever could ask for them is gone.
func (Redoer) Redo(rc *recovery.Context, rec *wal.Record) error {
	blocks := 1
	switch rec.Info {
	case infoMove, infoVisible:
		blocks = 2
	case infoInsert, infoUpdate, infoDelete, infoLock, infoPrune:
	default:
		return dberr.New(dberr.DataCorrupted, "heap record at %v has the unknown kind %d", rec.LSN, rec.Info)
	}
	if len(rec.Blocks) < blocks {
		return damaged(rec)
	}
	for i := range rec.Blocks {
		f, apply, err := rc.Block(rec, i)
		if err != nil {
			return err
		}
		if !apply {
			rc.Release(f)
			continue
		}
		ok := false
		if i >= blocks {
			ok = redoClear(f.Page(), rec.Blocks[i].Data)
		} else {
			ok = redoBlock(f.Page(), f.ID().Block, rec, i)
		}
		if !ok {
			rc.Release(f)
			return damaged(rec)
		}
		rc.Done(f, rec)
	}
	return nil
}

func redoBlock(p page.Page, block page.Block, rec *wal.Record, i int) bool {
	x := txn.XID(rec.XID)
	d := rec.Blocks[i].Data
	if rec.Info == infoVisible {
		if i == 0 {
			return redoVisible(p, d)
		}
		p.SetFlags(p.Flags() | flagAllVisible)
		return true
	}
	if rec.Blocks[i].Flags&wal.WillInit != 0 {
		p.Init(page.TypeHeap, 0)
	}
	if p.IsNew() {
		return false
	}
	p.SetFlags(p.Flags() &^ flagAllVisible)
	var buf [page.Size]byte
	add := func(off int, m txn.Mask, row []byte) bool {
		if off < 1 || off > MaxTuples || len(row) > MaxRow {
			return false
		}
		return p.AddItemAt(off, appendTuple(buf[:0], x, 0, m, page.MakeTID(block, off), row))
	}
	switch {
	case rec.Info == infoInsert:
		for len(d) >= 3 {
			off, n := int(d[0]), int(le.Uint16(d[1:]))
			if len(d) < 3+n || !add(off, 0, d[3:3+n]) {
				return false
			}
			d = d[3+n:]
		}
		return len(d) == 0
	case rec.Info == infoUpdate:
		if len(d) < 6 {
			return false
		}
		newOff, oldOff := int(d[0]), int(d[1])
		if !add(newOff, txn.Mask(le.Uint16(d[2:])), d[6:]) {
			return false
		}
		return redoXmax(p, oldOff, x, txn.Mask(le.Uint16(d[4:])), page.MakeTID(block, newOff))
	case rec.Info == infoMove && i == 0:
		return len(d) >= 1 && add(int(d[0]), txn.Updated, d[1:])
	case rec.Info == infoMove:
		return len(d) == 9 && redoXmax(p, int(d[0]), x, txn.Mask(le.Uint16(d[1:])), page.TID(u48(d[3:])))
	case rec.Info == infoDelete || rec.Info == infoLock:
		return len(d) == 3 && redoXmax(p, int(d[0]), x, txn.Mask(le.Uint16(d[1:])), page.MakeTID(block, int(d[0])))
	case rec.Info == infoPrune:
		return applyPrune(p, d)
	}
	return false
}

func redoXmax(p page.Page, off int, x txn.XID, bits txn.Mask, next page.TID) bool {
	tup, ok := normal(p, off)
	if !ok {
		return false
	}
	tup.setXmax(x, 0, bits, next)
	if bits&txn.XmaxLock == 0 {
		markPrunable(p, x)
	}
	return true
}

func redoVisible(p page.Page, d []byte) bool {
	if len(d) != 4 {
		return false
	}
	if p.IsNew() {
		p.Init(page.TypeVM, 0)
	}
	w, sh := vmWord(p, page.Block(le.Uint32(d)))
	atomic.OrUint32(w, vmVisible<<sh)
	return true
}

func redoClear(p page.Page, d []byte) bool {
	if p.IsNew() {
		p.Init(page.TypeVM, 0)
	}
	for ; len(d) >= 4; d = d[4:] {
		w, sh := vmWord(p, page.Block(le.Uint32(d)))
		atomic.AndUint32(w, ^uint32(vmAllFlags<<sh))
	}
	return len(d) == 0
}
