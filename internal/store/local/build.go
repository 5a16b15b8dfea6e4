package local

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/query/spill"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// defaultSortBytes is how much an index build keeps in memory; what is beyond it goes to sorted runs in temporary files.
const defaultSortBytes = 64 << 20

// An entry is sorted by a key of bytes alone: the index key with each zero byte as 00 FF, closed by 00 00, then the row pointer. So
// a key comes before those that it begins, as in the tree, and equal keys come in the order of their pointers.

func appendSorted(dst, key []byte, ptr uint64) []byte {
	for {
		i := bytes.IndexByte(key, 0)
		if i < 0 {
			break
		}
		dst = append(append(dst, key[:i+1]...), 0xff)
		key = key[i+1:]
	}
	dst = append(append(dst, key...), 0, 0)
	return binary.BigEndian.AppendUint64(dst, ptr)
}

// splitSorted takes apart what appendSorted made; the key is appended to dst.
func splitSorted(dst, b []byte) (key []byte, ptr uint64) {
	b, ptr = b[:len(b)-10], binary.BigEndian.Uint64(b[len(b)-8:])
	for {
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			return append(dst, b...), ptr
		}
		dst = append(dst, b[:i+1]...)
		b = b[i+2:]
	}
}

// build fills a new index from the rows that are the newest now, by an external sort and page by page; writers are locked out. See
// [catalog.Catalog.CreateIndex] for why older versions need no entries.
func (g *graphView) build(ctx context.Context, ix *catalog.Index, file page.RelFile, heaps []*catalog.Label, progress func(done, total uint64)) error {
	snap := g.s.tx.t.Fresh()
	defer snap.Close()
	ix.Built = page.LSN(snap.CSN())
	var sorted spill.Sorter
	sorted.Init(&spill.Place{Temp: g.s.tx.s.temp, Share: g.s.tx.s.sortBytes, Check: ctx.Err})
	defer sorted.Close()
	if err := g.collect(ctx, ix, snap, heaps, &sorted, progress); err != nil {
		return err
	}
	if err := sorted.Sort(); err != nil {
		return err
	}
	return g.fill(ctx, ix, file, snap, &sorted)
}

// collect gives the entries of all heaps to the sorter.
func (g *graphView) collect(ctx context.Context, ix *catalog.Index, snap *txn.Snapshot, heaps []*catalog.Label, sorted *spill.Sorter, progress func(done, total uint64)) error {
	total, done := uint64(0), uint64(0)
	if progress != nil {
		for _, l := range heaps {
			n, err := l.Heap.Blocks()
			if err != nil {
				return err
			}
			total += uint64(n)
		}
	}
	var key, rec []byte
	for _, l := range heaps {
		ord, err := ix.EnsureOrdinal(ctx, g.s.tx.t, l)
		if err != nil {
			return err
		}
		sc := l.Heap.Scan(snap, allOwn)
		var b heap.Batch
		for {
			from, _ := sc.Blocks()
			if err := sc.Next(ctx, 4096, &b); err != nil {
				return err
			}
			if b.Len() == 0 {
				break
			}
			to, _ := sc.Blocks()
			if done += uint64(to - from); progress != nil {
				progress(done, total)
			}
			for i := range b.Len() {
				k, ok, err := g.keyOf(ctx, key[:0], ix, b.Row(i))
				if err != nil {
					return err
				}
				key = k
				if !ok {
					continue
				}
				k, _ = cutKey(k, 0)
				rec = appendSorted(rec[:0], k, btree.MakePtr(ord, b.TID[i]))
				if err := sorted.Add(rec, nil); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// fill makes the tree of the entries in order. Of a unique index equal keys meet here; those of cut keys need not be equal as a whole.
func (g *graphView) fill(ctx context.Context, ix *catalog.Index, file page.RelFile, snap *txn.Snapshot, sorted *spill.Sorter) error {
	t := g.s.tx
	bld, err := btree.NewBuilder(ctx, &t.crit, t.s.pool, t.s.log, file)
	if err != nil {
		return err
	}
	var key, last []byte
	var same []uint64 // the rows with the key last
	for {
		rec, _, ok, err := sorted.Next()
		if err != nil {
			return err
		}
		if !ok {
			_, err = bld.Finish(ctx)
			return err
		}
		var ptr uint64
		key, ptr = splitSorted(key[:0], rec)
		cut := len(key) > maxWhole
		if cut {
			bld.SetHasLong()
		}
		if ix.Unique {
			if len(same) == 0 || !bytes.Equal(last, key) {
				last, same = append(last[:0], key...), same[:0]
			}
			for _, other := range same {
				if err := g.duplicateBuilt(ctx, ix, snap, other, ptr, cut); err != nil {
					return err
				}
			}
			same = append(same, ptr)
		}
		if err := bld.Add(ctx, key, ptr); err != nil {
			return err
		}
	}
}

// keyOf appends the uncut key that a row has in an index; false if it has no entry.
func (g *graphView) keyOf(ctx context.Context, dst []byte, ix *catalog.Index, row []byte) ([]byte, bool, error) {
	if err := checkRow(ix.Entity, row); err != nil {
		return dst, false, err
	}
	if ix.Entity == schema.Vertex {
		set := g.g.Set(rowSet(row))
		if set == nil || !set.Has(ix.Label) {
			return dst, false, nil
		}
	}
	p, err := g.props(ctx, ix.Entity, row)
	if err != nil {
		return dst, false, err
	}
	for _, k := range ix.Keys {
		v, ok := p.Get(uint32(k))
		if !ok {
			return dst, false, nil
		}
		if v.Kind() == value.OutOfLine {
			if v, err = g.outOfLine(ctx, v); err != nil {
				return dst, false, err
			}
		}
		dst = appendStored(dst, v, ix.Unique)
	}
	return dst, true, nil
}

// duplicateBuilt is the error of a unique build over two rows with equal keys, if cut keys are equal as a whole too.
func (g *graphView) duplicateBuilt(ctx context.Context, ix *catalog.Index, snap *txn.Snapshot, a, b uint64, cut bool) error {
	var keys [2][]byte
	var row []byte
	for i, ptr := range [2]uint64{a, b} {
		l := ix.ByOrdinal(btree.Ordinal(ptr))
		if l == nil {
			return dberr.New(dberr.Internal, "index build made an entry with an unknown ordinal")
		}
		get := l.Heap.Getter()
		r, _, ok, err := get.Get(ctx, snap, allOwn, btree.TIDOf(ptr), 0, heap.ByIndex)
		if ok {
			row = append(row[:0], r...)
		}
		get.Release()
		if err != nil {
			return err
		}
		if !ok {
			return dberr.New(dberr.Internal, "index build lost a row")
		}
		if keys[i], _, err = g.keyOf(ctx, nil, ix, row); err != nil {
			return err
		}
	}
	if cut && !bytes.Equal(keys[0], keys[1]) {
		return nil
	}
	return g.duplicate(ctx, ix, row)
}
