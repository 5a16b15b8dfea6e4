package heap

import (
	"context"
	"errors"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/klauspost/compress/s2"
)

// Values out of line (rules B13) are rows of a table of their own, without indexes: each chunk holds the value's id, its number,
// where the next one is, and bytes. The pointer that a row keeps names the first chunk. A pointer that some snapshot sees
// proves that its chunks are there, so they are read without a visibility test.

const (
	// PointerSize is the length of a pointer: codec u8, raw length u32, stored length u32, id u64, first chunk u48.
	PointerSize = 23
	// MaxValue is the longest value.
	MaxValue = 1 << 30

	chunkHeader = 8 + 4 + 6
	// chunkBytes lets four chunks fill a page.
	chunkBytes = (page.Size-page.HeaderSize)/4 - page.ItemIDSize - HeaderSize - chunkHeader - 2

	codecPlain = 0
	codecS2    = 1
)

// StoreChunks stores a value in a table opened with NoIndexes and returns its pointer.
func (t *Table) StoreChunks(ctx context.Context, tx *txn.Tx, cid uint32, value []byte) ([PointerSize]byte, error) {
	var ptr [PointerSize]byte
	if len(value) > MaxValue {
		return ptr, dberr.New(dberr.LimitExceeded, "value of %d bytes is too long", len(value)).WithDetail("The limit is %d bytes.", MaxValue)
	}
	x, err := tx.XID()
	if err != nil {
		return ptr, err
	}
	stored, codec := s2.Encode(nil, value), byte(codecS2)
	if len(stored) >= len(value) {
		stored, codec = value, codecPlain
	}
	id := uint64(x)<<16 | t.chunkIDs.Add(1)&0xffff
	// The last chunk first: each knows where the next one is.
	n := max((len(stored)+chunkBytes-1)/chunkBytes, 1)
	next := page.NoTID
	row := make([]byte, 0, chunkHeader+chunkBytes)
	for seq := n - 1; seq >= 0; seq-- {
		row = le.AppendUint64(row[:0], id)
		row = le.AppendUint32(row, uint32(seq))
		row = append(row, 0, 0, 0, 0, 0, 0)
		putU48(row[12:], uint64(next))
		row = append(row, stored[seq*chunkBytes:min((seq+1)*chunkBytes, len(stored))]...)
		if next, err = t.Insert(ctx, tx, cid, row); err != nil {
			return ptr, err
		}
	}
	ptr[0] = codec
	le.PutUint32(ptr[1:], uint32(len(value)))
	le.PutUint32(ptr[5:], uint32(len(stored)))
	le.PutUint64(ptr[9:], id)
	putU48(ptr[17:], uint64(next))
	return ptr, nil
}

// ChunkLen returns the length of the value that a pointer stands for.
func ChunkLen(ptr []byte) int { return int(le.Uint32(ptr[1:])) }

// ReadChunks appends the value that a pointer stands for to dst.
func (t *Table) ReadChunks(ctx context.Context, ptr, dst []byte) ([]byte, error) {
	if len(ptr) != PointerSize || ptr[0] > codecS2 {
		return dst, dberr.New(dberr.DataCorrupted, "a pointer to a value out of line is damaged")
	}
	raw, n := ChunkLen(ptr), int(le.Uint32(ptr[5:]))
	if raw > MaxValue || n > MaxValue {
		return dst, dberr.New(dberr.DataCorrupted, "a pointer to a value out of line has an impossible length")
	}
	from := len(dst)
	var body []byte
	if ptr[0] == codecPlain {
		body = dst
	}
	err := t.eachChunk(ctx, ptr, func(_ *buffer.Frame, _ int, b []byte) error {
		body = append(body, b...)
		return nil
	})
	if err != nil {
		return dst, err
	}
	if ptr[0] == codecPlain {
		if len(body)-from != raw {
			return dst, damagedValue(ptr)
		}
		return body, nil
	}
	if l, err := s2.DecodedLen(body); len(body) != n || err != nil || l != raw {
		return dst, damagedValue(ptr)
	}
	dst = append(dst, make([]byte, raw)...)
	if _, err := s2.Decode(dst[from:], body); err != nil {
		return dst[:from], damagedValue(ptr)
	}
	return dst, nil
}

func damagedValue(ptr []byte) error {
	return dberr.New(dberr.DataCorrupted, "the value out of line %d is damaged", le.Uint64(ptr[9:]))
}

// eachChunk visits the chunks in order, each on its pinned page under a shared latch.
func (t *Table) eachChunk(ctx context.Context, ptr []byte, f func(fr *buffer.Frame, off int, b []byte) error) error {
	id, at := le.Uint64(ptr[9:]), page.TID(u48(ptr[17:]))
	left := int(le.Uint32(ptr[5:]))
	for seq := 0; ; seq++ {
		if err := ctx.Err(); err != nil {
			return dberr.As(err)
		}
		fr, err := t.pin(ctx, at.Block())
		if err != nil {
			if errors.Is(err, buffer.ErrNoBlock) {
				return damagedValue(ptr)
			}
			return err
		}
		fr.RLock()
		next, err := func() (page.TID, error) {
			tup, ok := tuple{}, false
			if !fr.Page().IsNew() {
				tup, ok = normal(fr.Page(), at.Offset())
			}
			if !ok || tup.n < HeaderSize+chunkHeader || tup.id() != id {
				return 0, damagedValue(ptr)
			}
			r := tup.row()
			if int(le.Uint32(r[8:])) != seq || len(r)-chunkHeader > left {
				return 0, damagedValue(ptr)
			}
			left -= len(r) - chunkHeader
			return page.TID(u48(r[12:])), f(fr, at.Offset(), r[chunkHeader:])
		}()
		fr.RUnlock()
		fr.Unpin()
		if err != nil {
			return err
		}
		if next == page.NoTID {
			if left != 0 {
				return damagedValue(ptr)
			}
			return nil
		}
		at = next
	}
}

// DeleteChunks deletes a value: the transaction drops the last row version that points to it.
func (t *Table) DeleteChunks(ctx context.Context, tx *txn.Tx, cid uint32, ptr []byte) error {
	if len(ptr) != PointerSize {
		return dberr.New(dberr.DataCorrupted, "a pointer to a value out of line is damaged")
	}
	x, err := tx.XID()
	if err != nil {
		return err
	}
	var tids []page.TID
	if err := t.eachChunk(ctx, ptr, func(f *buffer.Frame, off int, _ []byte) error {
		tids = append(tids, page.MakeTID(f.ID().Block, off))
		return nil
	}); err != nil {
		return err
	}
	for _, tid := range tids {
		if err := t.endChunk(ctx, tx, x, cid, tid); err != nil {
			return err
		}
	}
	return nil
}

// endChunk sets the xmax of a chunk. Nobody else does: the row that points to it is locked.
func (t *Table) endChunk(ctx context.Context, tx *txn.Tx, x txn.XID, cid uint32, tid page.TID) error {
	f, err := t.pin(ctx, tid.Block())
	if err != nil {
		return err
	}
	sp := spot{f: f, root: tid, off: tid.Offset()}
	f.Lock()
	defer sp.release()
	if f.Page().Flags()&flagAllVisible != 0 {
		f.Unlock()
		sp.vm, err = t.vmPin(ctx, tid.Block())
		f.Lock()
		if err != nil {
			return err
		}
	}
	var ok bool
	if sp.tup, ok = normal(f.Page(), tid.Offset()); !ok {
		return dberr.New(dberr.DataCorrupted, "chunk %v of a value out of line is gone", tid)
	}
	if v := sp.tup.version(); v.Mask&txn.XmaxNone == 0 && v.Xmax != txn.InvalidXID && tx.Owns(v.Xmax) {
		return nil // deleted already
	}
	return t.mark(tx, x, cid, &sp, txn.XmaxDelete, infoDelete)
}
