package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/klauspost/compress/s2"
)

// Rmgr says whose record it is.
type Rmgr uint8

// The resource managers. Numbers are part of the format and never change their meaning.
const (
	RmgrLog      Rmgr = iota // the log itself: flush watermarks
	RmgrXact                 // commit, abort, continuation records
	RmgrStorage              // relfiles: create, drop, truncate, blocks of numbers; checkpoints
	RmgrHeap                 // heap, its visibility map included
	RmgrBTree                // B-tree
	RmgrCatalog              // tokens, what labels are shown
	RmgrSequence             // sequences
	RmgrGIN                  // reserved
	RmgrEngine               // counters and the like
	NumRmgr
)

func (r Rmgr) String() string {
	names := [NumRmgr]string{"log", "xact", "storage", "heap", "btree", "catalog", "sequence", "gin", "engine"}
	if r < NumRmgr {
		return names[r]
	}
	return fmt.Sprintf("rmgr %d", uint8(r))
}

// BlockFlags say how a block of a record is treated.
type BlockFlags uint8

const (
	WillInit   BlockFlags = 1 << iota // redo makes the page anew; no image is ever taken
	Standard                          // the page has slots: its hole is left out of images
	NoImage                           // never take an image: for pages that may be lost
	ForceImage                        // take an image always: restoring it is the redo
	KeepData                          // keep the block's data in the record also beside an image

	flagSameRel BlockFlags = 1 << 6 // relfile and fork are those of the block before
	flagImage   BlockFlags = 1 << 7 // an image follows
)

// Sizes of the format.
const (
	headerSize    = 32
	segHeaderSize = 64
	markSize      = headerSize + 16
	// MaxBlocks is the number of pages that one record may change.
	MaxBlocks = 32
	// MaxBlockData is the length of the data that goes with one page.
	MaxBlockData = 1<<16 - 1
)

// Info of the log's own records.
const infoMark uint8 = 1

const (
	codecNone = 0
	codecS2   = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var le = binary.LittleEndian

func pad8(n int) int { return (n + 7) &^ 7 }

// Builder puts one record together. It belongs to one goroutine and is used again and again: its memory is kept.
type Builder struct {
	rmgr   Rmgr
	info   uint8
	xid    uint64
	blocks []builderBlock
	data   []byte // of the record
	bdata  []byte // of all blocks; each has its list of pieces
	buf    []byte // the assembled record
	image  []byte
	comp   []byte
}

type builderBlock struct {
	frame  *buffer.Frame
	flags  BlockFlags
	pieces [][2]int // from, to in bdata
	n      int
}

// NewBuilder returns an empty builder.
func NewBuilder() *Builder { return &Builder{} }

// Begin starts a record; xid is 0 if it belongs to no transaction.
func (b *Builder) Begin(rm Rmgr, info uint8, xid uint64) *Builder {
	b.rmgr, b.info, b.xid = rm, info, xid
	for i := range b.blocks {
		b.blocks[i].frame = nil
	}
	b.blocks, b.data, b.bdata = b.blocks[:0], b.data[:0], b.bdata[:0]
	return b
}

// Block registers a page that the record changes; the caller has it pinned and exclusively latched until Insert has returned. It
// marks the page dirty, so that this is never done too late (buffer's B5), and returns the index of the block in the record.
func (b *Builder) Block(f *buffer.Frame, flags BlockFlags) int {
	if len(b.blocks) == MaxBlocks {
		invariant.Failf("wal: more than %d blocks in a record", MaxBlocks)
	}
	f.MarkDirty()
	if len(b.blocks) < cap(b.blocks) {
		b.blocks = b.blocks[:len(b.blocks)+1]
		bb := &b.blocks[len(b.blocks)-1]
		bb.frame, bb.flags, bb.pieces, bb.n = f, flags, bb.pieces[:0], 0
	} else {
		b.blocks = append(b.blocks, builderBlock{frame: f, flags: flags})
	}
	return len(b.blocks) - 1
}

// BlockData appends copies of the given bytes to the data of block i. They are left out if the record has an image of the page.
func (b *Builder) BlockData(i int, data ...[]byte) {
	bb := &b.blocks[i]
	for _, d := range data {
		from := len(b.bdata)
		b.bdata = append(b.bdata, d...)
		bb.pieces = append(bb.pieces, [2]int{from, len(b.bdata)})
		bb.n += len(d)
	}
	if bb.n > MaxBlockData {
		invariant.Failf("wal: %d bytes of data for one block", bb.n)
	}
}

// Data appends copies of the given bytes to the record's own data.
func (b *Builder) Data(data ...[]byte) {
	for _, d := range data {
		b.data = append(b.data, d...)
	}
}

// Len returns the bytes of the record that was inserted last.
func (b *Builder) Len() int { return len(b.buf) }

// Size returns at most how long the record can become; see Log.MaxRecord.
func (b *Builder) Size() int {
	return headerSize + len(b.blocks)*(16+8+page.Size) + len(b.bdata) + len(b.data) + 8
}

// assemble writes the record into b.buf, all but checksum and prev; pages with an LSN up to redo get images.
func (b *Builder) assemble(redo page.LSN) (images, imageBytes int) {
	b.buf = append(b.buf[:0], make([]byte, headerSize)...)
	var last page.ID
	for i := range b.blocks {
		bb := &b.blocks[i]
		id := bb.frame.ID()
		pg := bb.frame.Page()
		withImage := bb.flags&ForceImage != 0 || bb.flags&(WillInit|NoImage) == 0 && pg.LSN() <= redo
		flags := bb.flags & (WillInit | Standard | ForceImage)
		if withImage {
			flags |= flagImage
		}
		if i > 0 && last.Rel == id.Rel && last.Fork == id.Fork {
			flags |= flagSameRel
		}
		n := bb.n
		if withImage && bb.flags&KeepData == 0 {
			n = 0
		}
		b.buf = append(b.buf, byte(id.Fork), byte(flags))
		b.buf = le.AppendUint16(b.buf, uint16(n))
		b.buf = le.AppendUint32(b.buf, uint32(id.Block))
		if flags&flagSameRel == 0 {
			b.buf = le.AppendUint64(b.buf, uint64(id.Rel))
		}
		last = id
		if withImage {
			before := len(b.buf)
			b.appendImage(pg, flags)
			images++
			imageBytes += len(b.buf) - before
		}
		if n > 0 {
			for _, p := range bb.pieces {
				b.buf = append(b.buf, b.bdata[p[0]:p[1]]...)
			}
		}
	}
	b.buf = append(b.buf, b.data...)
	h := b.buf
	le.PutUint32(h[0:], uint32(len(b.buf)))
	le.PutUint64(h[16:], b.xid)
	h[24], h[25], h[26], h[27] = byte(b.rmgr), b.info, byte(len(b.blocks)), 0
	le.PutUint32(h[28:], uint32(len(b.data)))
	return images, imageBytes
}

func (b *Builder) appendImage(pg page.Page, flags BlockFlags) {
	off, hole := 0, 0
	if flags&Standard != 0 {
		off, hole = pg.Hole()
	}
	b.image = append(append(b.image[:0], pg[:off]...), pg[off+hole:]...)
	if need := s2.MaxEncodedLen(len(b.image)); cap(b.comp) < need {
		b.comp = make([]byte, need)
	}
	codec, body := byte(codecNone), b.image
	if c := s2.Encode(b.comp[:cap(b.comp)], b.image); len(c) < len(b.image) {
		codec, body = codecS2, c
	}
	b.buf = le.AppendUint16(b.buf, uint16(off))
	b.buf = le.AppendUint16(b.buf, uint16(hole))
	b.buf = le.AppendUint16(b.buf, uint16(len(body)))
	b.buf = append(b.buf, codec, 0)
	b.buf = append(b.buf, body...)
}

// identity is what makes a record belong to its place (W3).
type identity struct {
	id       [16]byte
	timeline uint32
	// tail is scratch of sum, which would escape on the stack: a record would cost an allocation. Who calls sum is alone.
	tail [headerSize + 8 + 16 + 4]byte
}

// sum computes the checksum of a record that starts at start; body is what follows the header, whose checksum is bodySum.
func (d *identity) sum(header []byte, bodySum uint32, start page.LSN) uint32 {
	tail := &d.tail
	copy(tail[:], header[:headerSize])
	le.PutUint32(tail[4:], 0)
	le.PutUint64(tail[headerSize:], uint64(start))
	copy(tail[headerSize+8:], d.id[:])
	le.PutUint32(tail[headerSize+24:], d.timeline)
	return crc32.Update(bodySum, castagnoli, tail[:])
}

// Record is a decoded record. Its slices point into the reader's buffer and live until the next call of Next.
type Record struct {
	Start  page.LSN // where it begins
	LSN    page.LSN // its name: where it ends (A1)
	Prev   page.LSN // where the record before it begins; 0 for the first
	XID    uint64
	Rmgr   Rmgr
	Info   uint8
	Blocks []BlockRef
	Data   []byte
}

// BlockRef is a page of a decoded record.
type BlockRef struct {
	ID       page.ID
	Flags    BlockFlags
	HasImage bool
	Data     []byte // what BlockData was given; empty if an image stands for it

	holeOff, holeLen int
	codec            byte
	image            []byte
}

// Restore writes the image over dst. The caller sets the LSN.
func (b *BlockRef) Restore(dst page.Page) error {
	want := page.Size - b.holeLen
	var buf [page.Size]byte
	img := b.image
	if b.codec == codecS2 {
		if n, err := s2.DecodedLen(img); err != nil || n != want {
			return dberr.New(dberr.DataCorrupted, "the image of page %v has a wrong length", b.ID)
		}
		var err error
		if img, err = s2.Decode(buf[:], img); err != nil {
			return dberr.Wrap(dberr.DataCorrupted, err, "the image of page %v cannot be read", b.ID)
		}
	}
	copy(dst, img[:b.holeOff])
	clear(dst[b.holeOff : b.holeOff+b.holeLen])
	copy(dst[b.holeOff+b.holeLen:], img[b.holeOff:])
	return nil
}

// decode takes a record apart; buf is the whole record with its header, whose checksum is known to be right. It never panics,
// whatever the bytes.
func (r *Record) decode(buf []byte) error {
	bad := func(what string) error {
		return dberr.New(dberr.DataCorrupted, "log record at %v: %s", r.Start, what)
	}
	if len(buf) < headerSize || int(le.Uint32(buf)) != len(buf) {
		return bad("wrong length")
	}
	r.Prev = page.LSN(le.Uint64(buf[8:]))
	r.XID = le.Uint64(buf[16:])
	r.Rmgr, r.Info = Rmgr(buf[24]), buf[25]
	nblocks, dataLen := int(buf[26]), int(le.Uint32(buf[28:]))
	if nblocks > MaxBlocks {
		return bad("too many blocks")
	}
	rest := buf[headerSize:]
	r.Blocks = r.Blocks[:0]
	for i := range nblocks {
		if len(rest) < 8 {
			return bad("ends within a block reference")
		}
		b := BlockRef{Flags: BlockFlags(rest[1])}
		b.ID.Fork, b.ID.Block = page.Fork(rest[0]), page.Block(le.Uint32(rest[4:]))
		n := int(le.Uint16(rest[2:]))
		rest = rest[8:]
		if b.Flags&flagSameRel != 0 {
			if i == 0 {
				return bad("its first block has no relation")
			}
			b.ID.Rel = r.Blocks[i-1].ID.Rel
		} else {
			if len(rest) < 8 {
				return bad("ends within a block reference")
			}
			b.ID.Rel = page.RelFile(le.Uint64(rest))
			rest = rest[8:]
		}
		if b.ID.Fork >= page.NumFork || b.ID.Rel == 0 || b.ID.Rel > page.MaxRelFile || b.ID.Block == page.NoBlock {
			return bad("names a page that cannot be")
		}
		if b.HasImage = b.Flags&flagImage != 0; b.HasImage {
			if len(rest) < 8 {
				return bad("ends within an image")
			}
			b.holeOff, b.holeLen = int(le.Uint16(rest)), int(le.Uint16(rest[2:]))
			size := int(le.Uint16(rest[4:]))
			b.codec = rest[6]
			rest = rest[8:]
			if b.holeOff+b.holeLen > page.Size || b.codec > codecS2 || size > len(rest) ||
				b.codec == codecNone && size != page.Size-b.holeLen {
				return bad("has an image of a wrong shape")
			}
			b.image, rest = rest[:size:size], rest[size:]
		}
		if n > len(rest) {
			return bad("ends within the data of a block")
		}
		b.Data, rest = rest[:n:n], rest[n:]
		b.Flags &^= flagSameRel | flagImage
		r.Blocks = append(r.Blocks, b)
	}
	if len(rest) != dataLen {
		return bad("has data of a wrong length")
	}
	r.Data = rest
	return nil
}
