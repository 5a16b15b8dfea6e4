package btree

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/recovery"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Kinds of records, the info byte. docs/format/btree.md lists what each carries; numbers never change their meaning.
const (
	opCreate      = 1 // 0 meta, 1 root: an empty tree
	opInsertLeaf  = 2 // 0 leaf: index u16, item
	opInsertInner = 3 // 0 parent: index u16, item; 1 left child, whose split is complete now
	opSplit       = 4 // 0 left: size u16, high key, new item; 1 right: its items; [2] old right sibling; [next] child
	opNewRoot     = 5 // 0 root: items; 1 meta; 2 left child; data: root u32, level u16
	opRemove      = 6 // 0 leaf: indexes u16
	opSetLong     = 7 // 0 meta
	opImage       = 8 // 0 any page, as an image: bulk build
)

// builders keeps record builders: one insert makes one record.
var builders = sync.Pool{New: func() any { return wal.NewBuilder() }}

// beginRecord starts a record. Records of a tree belong to no transaction: what they change is undone by nobody.
func beginRecord(op uint8) *wal.Builder {
	b := builders.Get().(*wal.Builder)
	b.Begin(wal.RmgrBTree, op, 0)
	return b
}

// splitHead and rootHead are the sizes of the data of opSplit and opNewRoot.
const (
	splitHead = 12
	rootHead  = 6
)

// splitRecord is the data of opSplit.
type splitRecord struct {
	first, newAt          int // among the data items with the new one
	newOnLeft, sib, child bool
	level                 int
	next                  uint32 // right sibling of the new right page
}

func (r splitRecord) put(b []byte) {
	binary.LittleEndian.PutUint16(b[0:], uint16(r.first))
	binary.LittleEndian.PutUint16(b[2:], uint16(r.newAt))
	binary.LittleEndian.PutUint32(b[4:], r.next)
	b[8] = byte(r.level)
	var f byte
	for i, set := range []bool{r.newOnLeft, r.sib, r.child} {
		if set {
			f |= 1 << i
		}
	}
	b[9] = f
	b[10], b[11] = 0, 0
}

func decodeSplit(b []byte) (r splitRecord, err error) {
	if len(b) != splitHead {
		return r, fmt.Errorf("split record with %d bytes", len(b))
	}
	return splitRecord{
		first: int(binary.LittleEndian.Uint16(b[0:])), newAt: int(binary.LittleEndian.Uint16(b[2:])),
		next: binary.LittleEndian.Uint32(b[4:]), level: int(b[8]),
		newOnLeft: b[9]&1 != 0, sib: b[9]&2 != 0, child: b[9]&4 != 0,
	}, nil
}

// Redoer repeats the changes of tree records.
type Redoer struct{}

var _ recovery.Redoer = Redoer{}

// Name returns "btree".
func (Redoer) Name() string { return "btree" }

// Redo repeats one record. Each page is judged by its LSN alone, so a record may be repeated any number of times.
func (Redoer) Redo(rc *recovery.Context, rec *wal.Record) error {
	// each applies f to block i if that has not seen the record yet.
	each := func(i int, f func(fr *buffer.Frame, data []byte) error) error {
		fr, apply, err := rc.Block(rec, i)
		if err != nil {
			return err
		}
		if !apply {
			rc.Release(fr)
			return nil
		}
		if err := f(fr, rec.Blocks[i].Data); err != nil {
			rc.Release(fr)
			return dberr.Wrap(dberr.DataCorrupted, err, "log record %v: page %v", rec.LSN, rec.Blocks[i].ID)
		}
		rc.Done(fr, rec)
		return nil
	}
	complete := func(fr *buffer.Frame, _ []byte) error { completed(node(fr.Page())); return nil }
	need := func(n int) error {
		if len(rec.Blocks) != n {
			return dberr.New(dberr.DataCorrupted, "log record %v: btree record %d with %d blocks", rec.LSN, rec.Info, len(rec.Blocks))
		}
		return nil
	}
	insert := func(fr *buffer.Frame, data []byte) error {
		n := node(fr.Page())
		if len(data) < 2 {
			return fmt.Errorf("no index")
		}
		at, it := int(binary.LittleEndian.Uint16(data)), data[2:]
		if at < n.first() || at > n.count() || n.free() < room(len(it)) {
			return fmt.Errorf("item of %d bytes at %d of %d does not fit", len(it), at, n.count())
		}
		n.insertAt(at, it)
		return nil
	}
	switch rec.Info {
	case opCreate:
		if err := need(2); err != nil {
			return err
		}
		root := uint32(rec.Blocks[1].ID.Block)
		if err := each(0, func(fr *buffer.Frame, _ []byte) error { formatMeta(fr.Page(), root, 0); return nil }); err != nil {
			return err
		}
		return each(1, func(fr *buffer.Frame, _ []byte) error { node(fr.Page()).format(0); return nil })

	case opInsertLeaf:
		if err := need(1); err != nil {
			return err
		}
		return each(0, insert)

	case opInsertInner:
		if err := need(2); err != nil {
			return err
		}
		if err := each(0, insert); err != nil {
			return err
		}
		return each(1, complete)

	case opSplit:
		r, err := decodeSplit(rec.Data)
		if err != nil {
			return dberr.Wrap(dberr.DataCorrupted, err, "log record %v", rec.LSN)
		}
		blocks := 2
		if r.sib {
			blocks++
		}
		if r.child {
			blocks++
		}
		if err := need(blocks); err != nil {
			return err
		}
		left, right := uint32(rec.Blocks[0].ID.Block), uint32(rec.Blocks[1].ID.Block)
		// Right before left, as everybody reads: a left page must never name a right one that is not there.
		if err := each(1, func(fr *buffer.Frame, data []byte) error {
			var scratch [page.Size]byte
			n := node(scratch[:])
			n.format(r.level)
			n.setPrev(left)
			n.setNext(r.next)
			if err := loadItems(n, data); err != nil {
				return err
			}
			copyPage(fr.Page(), n)
			return nil
		}); err != nil {
			return err
		}
		if err := each(0, func(fr *buffer.Frame, data []byte) error { return redoLeft(fr, data, r, right) }); err != nil {
			return err
		}
		i := 2
		if r.sib {
			if err := each(i, func(fr *buffer.Frame, _ []byte) error { node(fr.Page()).setPrev(right); return nil }); err != nil {
				return err
			}
			i++
		}
		if r.child {
			return each(i, complete)
		}
		return nil

	case opNewRoot:
		if err := need(3); err != nil {
			return err
		}
		if len(rec.Data) != rootHead {
			return dberr.New(dberr.DataCorrupted, "log record %v: root record with %d bytes", rec.LSN, len(rec.Data))
		}
		root, level := binary.LittleEndian.Uint32(rec.Data), int(binary.LittleEndian.Uint16(rec.Data[4:]))
		if err := each(0, func(fr *buffer.Frame, data []byte) error {
			n := node(fr.Page())
			n.format(level)
			return loadItems(n, data)
		}); err != nil {
			return err
		}
		if err := each(1, func(fr *buffer.Frame, _ []byte) error { setMetaRoot(fr.Page(), root, level); return nil }); err != nil {
			return err
		}
		return each(2, complete)

	case opRemove:
		if err := need(1); err != nil {
			return err
		}
		return each(0, func(fr *buffer.Frame, data []byte) error {
			n := node(fr.Page())
			idx := make([]uint16, 0, len(data)/2)
			for ; len(data) >= 2; data = data[2:] {
				i := binary.LittleEndian.Uint16(data)
				if int(i) >= n.count() {
					return fmt.Errorf("item %d of %d is to be removed", i, n.count())
				}
				idx = append(idx, i)
			}
			n.remove(idx)
			return nil
		})

	case opSetLong:
		if err := need(1); err != nil {
			return err
		}
		return each(0, func(fr *buffer.Frame, _ []byte) error { setMetaLong(fr.Page()); return nil })

	case opImage:
		return each(0, func(*buffer.Frame, []byte) error { return fmt.Errorf("image is missing") })
	}
	return dberr.New(dberr.DataCorrupted, "log record %v: btree record of unknown kind %d", rec.LSN, rec.Info)
}

// redoLeft makes the left page of a split from what it was before.
func redoLeft(fr *buffer.Frame, data []byte, r splitRecord, right uint32) error {
	old := node(fr.Page())
	if len(data) < 2 {
		return fmt.Errorf("no high key")
	}
	size := int(binary.LittleEndian.Uint16(data))
	data = data[2:]
	if size > len(data) {
		return fmt.Errorf("high key of %d bytes is cut short", size)
	}
	high, newItem := data[:size], data[size:]
	fromOld := r.first
	if r.newOnLeft {
		fromOld--
	}
	if r.first < 1 || old.first()+fromOld > old.count() || r.newOnLeft && r.newAt > fromOld {
		return fmt.Errorf("split at %d of %d items", r.first, old.count())
	}
	items := make([][]byte, 0, r.first)
	total := room(len(high))
	for i := old.first(); len(items) < r.first; {
		if r.newOnLeft && len(items) == r.newAt {
			items = append(items, newItem)
		} else {
			items = append(items, old.item(i))
			i++
		}
		total += room(len(items[len(items)-1]))
	}
	if total > capacity {
		return fmt.Errorf("left page of a split would hold %d bytes", total)
	}
	var scratch [page.Size]byte
	n := node(scratch[:])
	buildLeft(n, old, items, high, right)
	copyPage(fr.Page(), n)
	return nil
}
