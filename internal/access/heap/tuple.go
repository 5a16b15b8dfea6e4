package heap

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// The tuple header: infomask u16, infomask2 u16 (zero), xmin u48, xmax u48, cid u32, ctid block u32, ctid offset u16, header
// length u8, zero u8.
const (
	HeaderSize = 28

	offXmin = 4
	offXmax = 10
	offCID  = 16
	offCtid = 20
	offHoff = 26

	// MaxTuples is the most line pointers that a heap page has, so that an offset fits a byte (storage D2).
	MaxTuples = 255
	// MaxRow is the longest row that fits a page.
	MaxRow = page.MaxItem - HeaderSize
)

var le = binary.LittleEndian

// tuple is a version on a page.
type tuple struct {
	p  page.Page
	at int // where it begins
	n  int // its length
}

func tupleAt(p page.Page, id page.ItemID) tuple { return tuple{p, id.Offset(), id.Len()} }

func u48(b []byte) uint64 { return uint64(le.Uint32(b)) | uint64(le.Uint16(b[4:]))<<32 }

func putU48(b []byte, v uint64) {
	le.PutUint32(b, uint32(v))
	le.PutUint16(b[4:], uint16(v>>32))
}

func (t tuple) mask() txn.Mask { return txn.Mask(atomic.LoadUint32(t.p.Word(t.at))) }

// setMask is called under the exclusive latch.
func (t tuple) setMask(m txn.Mask) { atomic.StoreUint32(t.p.Word(t.at), uint32(m)) }

// addMask sets hint bits under the share-exclusive latch (H7).
func (t tuple) addMask(m txn.Mask) { atomic.OrUint32(t.p.Word(t.at), uint32(m)) }

func (t tuple) xmin() txn.XID { return txn.XID(u48(t.p[t.at+offXmin:])) }
func (t tuple) xmax() txn.XID { return txn.XID(u48(t.p[t.at+offXmax:])) }
func (t tuple) cid() uint32   { return le.Uint32(t.p[t.at+offCID:]) }
func (t tuple) row() []byte   { return t.p[t.at+HeaderSize : t.at+t.n : t.at+t.n] }

func (t tuple) id() uint64 {
	if t.n < HeaderSize+8 {
		return 0
	}
	return le.Uint64(t.p[t.at+HeaderSize:])
}

func (t tuple) ctid() page.TID {
	return page.MakeTID(page.Block(le.Uint32(t.p[t.at+offCtid:])), int(le.Uint16(t.p[t.at+offCtid+4:])))
}

func (t tuple) setCtid(tid page.TID) {
	le.PutUint32(t.p[t.at+offCtid:], uint32(tid.Block()))
	le.PutUint16(t.p[t.at+offCtid+4:], uint16(tid.Offset()))
}

func (t tuple) version() txn.Version {
	return txn.Version{Xmin: t.xmin(), Xmax: t.xmax(), CID: t.cid(), Mask: t.mask()}
}

// Bits of the mask that describe xmax.
const xmaxBits = txn.XmaxSeen | txn.XmaxNone | txn.XmaxLock | txn.XmaxDelete | txn.XmaxNoKey | txn.ComboCID | txn.HotUpdated

// setXmax ends the version, or locks it. Under the exclusive latch.
func (t tuple) setXmax(x txn.XID, cid uint32, bits txn.Mask, next page.TID) {
	putU48(t.p[t.at+offXmax:], uint64(x))
	le.PutUint32(t.p[t.at+offCID:], cid)
	t.setCtid(next)
	t.setMask(t.mask()&^xmaxBits | bits)
}

// appendTuple appends a new version to dst.
func appendTuple(dst []byte, x txn.XID, cid uint32, m txn.Mask, self page.TID, row []byte) []byte {
	var h [HeaderSize]byte
	le.PutUint16(h[:], uint16(m|txn.XmaxNone))
	putU48(h[offXmin:], uint64(x))
	le.PutUint32(h[offCID:], cid)
	le.PutUint32(h[offCtid:], uint32(self.Block()))
	le.PutUint16(h[offCtid+4:], uint16(self.Offset()))
	h[offHoff] = HeaderSize
	return append(append(dst, h[:]...), row...)
}

// xmaxMode returns the row lock that an xmax in force stands for.
func xmaxMode(m txn.Mask) txn.Mode {
	if m&txn.XmaxNoKey != 0 {
		return txn.RowNoKeyUpdate
	}
	return txn.RowUpdate
}

// normal returns the version that a line pointer stands for directly.
func normal(p page.Page, off int) (tuple, bool) {
	if off < 1 || off > p.NumItems() {
		return tuple{}, false
	}
	id := p.ItemID(off)
	if id.State() != page.Normal || id.Len() < HeaderSize {
		return tuple{}, false
	}
	return tupleAt(p, id), true
}

// head returns the version that a root stands for, and its offset.
func head(p page.Page, off int) (tuple, int, bool) {
	if off < 1 || off > p.NumItems() {
		return tuple{}, 0, false
	}
	if id := p.ItemID(off); id.State() == page.Redirect {
		off = id.Target()
	}
	t, ok := normal(p, off)
	return t, off, ok
}

// next returns the heap-only successor on the same page, checking that it is one (H1, H2).
func (t tuple) next(block page.Block) (tuple, int, bool) {
	if t.mask()&txn.HotUpdated == 0 {
		return tuple{}, 0, false
	}
	c := t.ctid()
	if c.Block() != block {
		return tuple{}, 0, false
	}
	n, ok := normal(t.p, c.Offset())
	if !ok || n.xmin() != t.xmax() || n.mask()&txn.HeapOnly == 0 {
		return tuple{}, 0, false
	}
	return n, c.Offset(), true
}
