package wal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// Format is the version of the log's format.
const Format = 1

// DefaultSegmentSize is the size of a segment file (B12).
const DefaultSegmentSize = 64 << 20

const segMagic = "HGWALSEG"

// geometry is what reader and writer must agree on.
type geometry struct {
	identity
	fs      vfs.FS
	dir     string
	segSize int64
}

func newGeometry(o Options) (geometry, error) {
	if o.SegmentSize == 0 {
		o.SegmentSize = DefaultSegmentSize
	}
	if s := o.SegmentSize; s < 64<<10 || s > 1<<30 || s&(s-1) != 0 {
		return geometry{}, dberr.New(dberr.InvalidParameterValue, "log segment size %d is not a power of two between 64 KiB and 1 GiB", s)
	}
	return geometry{identity{id: o.DatabaseID, timeline: o.Timeline}, o.FS, o.Dir, o.SegmentSize}, nil
}

// begin returns where a record begins that follows one that ends at lsn (W1).
func (g *geometry) begin(lsn page.LSN) page.LSN {
	if int64(lsn)%g.segSize == 0 {
		return lsn + segHeaderSize
	}
	return lsn
}

func (g *geometry) number(lsn page.LSN) uint64 { return uint64(lsn) / uint64(g.segSize) }

func (g *geometry) name(n uint64) string { return vfs.Join(g.dir, fmt.Sprintf("%016X", n)) }

func parseSegment(name string) (uint64, bool) {
	if len(name) != 16 {
		return 0, false
	}
	n, err := strconv.ParseUint(name, 16, 64)
	return n, err == nil
}

// header makes the 64 bytes that segment n begins with.
func (g *geometry) header(n uint64) [segHeaderSize]byte {
	var h [segHeaderSize]byte
	copy(h[0:], segMagic)
	le.PutUint32(h[8:], Format)
	copy(h[16:], g.id[:])
	le.PutUint32(h[32:], g.timeline)
	le.PutUint32(h[36:], uint32(g.segSize))
	le.PutUint64(h[40:], n)
	le.PutUint64(h[48:], n*uint64(g.segSize)) // first LSN
	le.PutUint32(h[12:], crc32.Checksum(h[:], castagnoli))
	return h
}

// list returns the numbers of the segment files, ascending.
func (g *geometry) list() ([]uint64, error) {
	l, err := g.fs.List(g.dir)
	if err != nil {
		return nil, dberr.Wrap(dberr.IOError, err, "cannot list %s", g.dir)
	}
	var out []uint64
	for _, e := range l {
		if n, ok := parseSegment(e.Name); ok && !e.Dir {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// valid reports whether f begins with the header of segment n.
func (g *geometry) valid(f vfs.File, n uint64) (bool, error) {
	var have [segHeaderSize]byte
	if k, err := f.ReadAt(have[:], 0); k < len(have) {
		if isEOF(err) {
			return false, nil
		}
		return false, dberr.Wrap(dberr.IOError, err, "cannot read file %s", g.name(n))
	}
	return have == g.header(n), nil
}

var zeros [1 << 20]byte

// prepare makes sure that the file of segment n is there at its full size, durable but for its content. A file that is there
// already, recycled or made beforehand, is taken as it is.
func (g *geometry) prepare(n uint64, fill bool) error {
	name := g.name(n)
	if info, err := g.fs.Stat(name); err == nil && info.Size == g.segSize {
		return nil
	} else if err != nil && !errors.Is(err, vfs.ErrNotExist) {
		return err
	}
	f, err := g.fs.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Preallocate(0, g.segSize, true); err != nil {
		return err
	}
	if fill {
		// Written once, so that a commit's sync finds blocks that are there and need no change of the file's map.
		for off := int64(0); off < g.segSize; off += int64(len(zeros)) {
			if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), g.segSize-off)], off); err != nil {
				return err
			}
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return g.fs.SyncDir(g.dir)
}

// erase makes sure that nothing behind end can be taken for a record (W3): what the crash left of writes that were not
// acknowledged could otherwise follow, valid and in its place, on what is written now. Later segments go whole, with or without
// their header: that may be the one block that the crash took.
func (g *geometry) erase(end page.LSN) error {
	nums, err := g.list()
	if err != nil {
		return err
	}
	last, from := g.number(end), int64(end)%g.segSize
	removed := false
	for _, n := range nums {
		switch {
		case n > last || n == last && from == 0:
			removed = true
			err = g.fs.Remove(g.name(n))
		case n == last:
			err = g.eraseFrom(n, from)
		}
		if err != nil {
			return dberr.Wrap(dberr.IOError, err, "cannot erase what follows the end of the log in %s", g.name(n))
		}
	}
	if removed {
		if err := g.fs.SyncDir(g.dir); err != nil {
			return dberr.Wrap(dberr.IOError, err, "cannot sync directory %s", g.dir)
		}
	}
	return nil
}

func (g *geometry) eraseFrom(n uint64, from int64) error {
	f, err := g.fs.Open(g.name(n))
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 256<<10)
	changed := false
	for off := from; off < g.segSize; off += int64(len(buf)) {
		k, err := f.ReadAt(buf[:min(int64(len(buf)), g.segSize-off)], off)
		if err != nil && !isEOF(err) {
			return err
		}
		if !slices.ContainsFunc(buf[:k], func(b byte) bool { return b != 0 }) {
			continue
		}
		changed = true
		if _, err := f.WriteAt(zeros[:k], off); err != nil {
			return err
		}
	}
	if changed {
		return f.Sync()
	}
	return nil
}

// SyncSegments makes durable whatever the files of the log hold: recovery must not bring pages to the disk by records that a
// second crash could take away.
func SyncSegments(o Options) error {
	g, err := newGeometry(o)
	if err != nil {
		return err
	}
	nums, err := g.list()
	if err != nil {
		return err
	}
	for _, n := range nums {
		f, err := g.fs.Open(g.name(n))
		if err == nil {
			err = f.Sync()
			f.Close()
		}
		if err != nil {
			return dberr.Wrap(dberr.IOError, err, "cannot sync file %s", g.name(n))
		}
	}
	return nil
}
