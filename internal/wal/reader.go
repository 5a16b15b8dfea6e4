package wal

import (
	"errors"
	"hash/crc32"
	"io"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// Reader reads records one after the other.
type Reader struct {
	geometry
	next page.LSN // where the next record begins, or the end of the one before
	prev page.LSN // start of the record before
	have bool     // prev is known

	file   vfs.File
	number uint64
	buf    []byte // bytes of the file from bufOff on
	bufOff int64

	rec Record
	raw []byte
	err error
}

// NewReader returns a reader whose first record begins at from, or follows one that ends there.
func NewReader(o Options, from page.LSN) (*Reader, error) {
	g, err := newGeometry(o)
	if err != nil {
		return nil, err
	}
	return &Reader{geometry: g, next: from}, nil
}

// Close gives the reader's file back.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return f.Close()
}

// End returns the end of the last record read (where the log ends, once Next has returned io.EOF), and where that one begins.
func (r *Reader) End() (end, prev page.LSN) { return r.next, r.prev }

var errNoSegment = errors.New("wal: no such segment")

// fill reads len(p) bytes of the stream at lsn, headers of segments left out, and returns the place behind them. errNoSegment
// means that the log has no such bytes.
func (r *Reader) fill(p []byte, lsn page.LSN) (page.LSN, error) {
	for len(p) > 0 {
		lsn = r.begin(lsn)
		n := r.geometry.number(lsn)
		if r.file == nil || r.number != n {
			if err := r.open(n); err != nil {
				return 0, err
			}
		}
		off := int64(lsn) % r.segSize
		if off < r.bufOff || off >= r.bufOff+int64(len(r.buf)) {
			if err := r.load(off); err != nil {
				return 0, err
			}
		}
		k := copy(p, r.buf[off-r.bufOff:])
		p, lsn = p[k:], lsn+page.LSN(k)
	}
	return lsn, nil
}

func (r *Reader) open(n uint64) error {
	if err := r.Close(); err != nil {
		return err
	}
	f, err := r.fs.Open(r.name(n))
	if errors.Is(err, vfs.ErrNotExist) {
		return errNoSegment
	}
	if err != nil {
		return dberr.Wrap(dberr.IOError, err, "cannot open log segment %s", r.name(n))
	}
	ok, err := r.valid(f, n)
	if err != nil || !ok {
		f.Close()
		if err == nil {
			err = errNoSegment
		}
		return err
	}
	r.file, r.number, r.buf, r.bufOff = f, n, r.buf[:0], 0
	return nil
}

func (r *Reader) load(off int64) error {
	if cap(r.buf) == 0 {
		r.buf = make([]byte, min(256<<10, r.segSize))
	}
	b := r.buf[:cap(r.buf)]
	n, err := r.file.ReadAt(b[:min(int64(len(b)), r.segSize-off)], off)
	if err != nil && !isEOF(err) {
		return dberr.Wrap(dberr.IOError, err, "cannot read log segment %s", r.name(r.number))
	}
	if n == 0 {
		return errNoSegment // shorter than it should be: nothing was written here
	}
	r.buf, r.bufOff = b[:n], off
	return nil
}

// maxLen bounds what a damaged length can make us allocate.
const maxLen = 64 << 20

// Next returns the next record that is not the log's own. io.EOF is the end of the log; a DataCorrupted error says that the log
// is damaged before its end (W4).
func (r *Reader) Next() (*Record, error) {
	for {
		rec, err := r.NextAny()
		if err != nil || rec.Rmgr != RmgrLog {
			return rec, err
		}
	}
}

// NextAny is Next with watermarks included.
func (r *Reader) NextAny() (*Record, error) {
	if r.err != nil {
		return nil, r.err
	}
	rec, err := r.read(r.begin(r.next))
	switch {
	case err == nil:
		r.next, r.prev, r.have = rec.LSN, rec.Start, true
		return rec, nil
	case errors.Is(err, errBad) || errors.Is(err, errNoSegment):
		r.err = r.judge(r.begin(r.next))
	default:
		r.err = err
	}
	return nil, r.err
}

var errBad = errors.New("wal: no record here")

// read reads the record at start, or returns errBad or errNoSegment if there is none.
func (r *Reader) read(start page.LSN) (*Record, error) {
	var h [headerSize]byte
	at, err := r.fill(h[:], start)
	if err != nil {
		return nil, err
	}
	n := int(le.Uint32(h[:]))
	if n < headerSize || n > maxLen {
		return nil, errBad
	}
	if r.have && page.LSN(le.Uint64(h[8:])) != r.prev {
		return nil, errBad
	}
	// A wrong length must not make us allocate before the bytes are there.
	r.raw = append(r.raw[:0], h[:]...)
	for len(r.raw) < n {
		from, k := len(r.raw), min(n-len(r.raw), 1<<20)
		r.raw = append(r.raw, make([]byte, k)...)
		if at, err = r.fill(r.raw[from:], at); err != nil {
			return nil, err
		}
	}
	if le.Uint32(h[4:]) != r.sum(h[:], crc32.Checksum(r.raw[headerSize:], castagnoli), start) {
		return nil, errBad
	}
	if k := pad8(n) - n; k > 0 {
		var pad [8]byte
		if at, err = r.fill(pad[:k], at); err != nil {
			return nil, err
		}
	}
	rec := &r.rec
	rec.Start, rec.LSN = start, at
	return rec, rec.decode(r.raw)
}

// judge decides what it means that no record is at bad: io.EOF if the log may end there, an error if a watermark further on says
// that what stood there had been durable (W4).
func (r *Reader) judge(bad page.LSN) error {
	probe := &Reader{geometry: r.geometry}
	defer probe.Close()
	for at := bad; ; {
		n := r.geometry.number(at)
		if probe.file == nil || probe.number != n {
			if err := probe.open(n); err != nil {
				if errors.Is(err, errNoSegment) {
					return io.EOF
				}
				return err
			}
		}
		off := int64(at) % r.segSize
		if off == 0 {
			at += segHeaderSize
			continue
		}
		if err := probe.load(off); err != nil {
			if !errors.Is(err, errNoSegment) {
				return err
			}
			at = page.LSN((n + 1) * uint64(r.segSize))
			continue
		}
		chunk := probe.buf
		for i := 0; i+4 <= len(chunk); i += 8 {
			if le.Uint32(chunk[i:]) != markSize {
				continue
			}
			if w, ok := r.markAt(chunk[i:], at+page.LSN(i)); ok && w > bad {
				return dberr.New(dberr.DataCorrupted, "the log is damaged at %v (file %s), although it was durable up to %v",
					bad, r.name(r.geometry.number(bad)), w)
			}
		}
		step := len(chunk)
		if off+int64(step) < r.segSize && step > 2*markSize {
			step -= markSize // the next chunk has whole what this one has in part
		}
		at += page.LSN(step+7) &^ 7
	}
}

// markAt takes the watermark out of a record whose bytes begin b, if they are one that was written at lsn. One that is cut by the
// end of b is not seen; another will be.
func (r *Reader) markAt(b []byte, lsn page.LSN) (page.LSN, bool) {
	if len(b) < markSize || Rmgr(b[24]) != RmgrLog || b[25] != infoMark || b[26] != 0 {
		return 0, false
	}
	if le.Uint32(b[4:]) != r.sum(b, crc32.Checksum(b[headerSize:markSize], castagnoli), lsn) {
		return 0, false
	}
	return page.LSN(le.Uint64(b[headerSize:])), true
}
