package txn

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// Two bits an xid. Released subtransactions are stored as what their top became.
const (
	statusNone      = 0 // running, or ended by a crash
	statusCommitted = 1
	statusAborted   = 2
)

const (
	sectorSize   = 512
	sectorWords  = sectorSize/4 - 1 // the last word is the CRC
	sectorXIDs   = sectorWords * 16
	pageSectors  = page.Size / sectorSize
	pageXIDs     = pageSectors * sectorXIDs // 32,512
	pagesPerFile = 1024
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type statusPage struct {
	words [pageSectors][sectorWords]uint32 // atomic
	dirty atomic.Bool
}

// statusPages is the final state of every xid below the window of words: a quarter of a byte each, all in memory, written to
// xact/ by checkpoints. A page is missing if nothing on it was ever final.
type statusPages struct {
	mu  sync.Mutex // serialises growing
	dir atomic.Pointer[[]*statusPage]
}

func (s *statusPages) at(x XID) (p *statusPage, sector, word int, shift uint) {
	n := uint64(x) / pageXIDs
	in := int(uint64(x) % pageXIDs)
	if d := s.dir.Load(); d != nil && n < uint64(len(*d)) {
		p = (*d)[n]
	}
	return p, in / sectorXIDs, in % sectorXIDs / 16, uint(in%16) * 2
}

func (s *statusPages) get(x XID) uint32 {
	p, sec, w, sh := s.at(x)
	if p == nil {
		return statusNone
	}
	return atomic.LoadUint32(&p.words[sec][w]) >> sh & 3
}

// set stores a final state. A state never changes once it is final, so or-ing it in is enough, also when redo repeats it.
func (s *statusPages) set(x XID, v uint32) {
	p, sec, w, sh := s.at(x)
	if p == nil {
		s.grow(uint64(x) / pageXIDs)
		p, sec, w, sh = s.at(x)
	}
	if atomic.LoadUint32(&p.words[sec][w])>>sh&3 == v {
		return
	}
	atomic.OrUint32(&p.words[sec][w], v<<sh)
	p.dirty.Store(true)
}

func (s *statusPages) grow(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var old []*statusPage
	if d := s.dir.Load(); d != nil {
		old = *d
	}
	size := max(uint64(len(old)), n+1)
	d := make([]*statusPage, size)
	copy(d, old)
	if d[n] == nil {
		d[n] = new(statusPage)
	}
	s.dir.Store(&d)
}

func statusFile(n int) string { return fmt.Sprintf("%06x", n) }

// encode writes the page with a CRC at the end of each sector, seeded with its place: a sector is written whole or not at all.
func (p *statusPage) encode(n int, b []byte) {
	for s := range p.words {
		sec := b[s*sectorSize : (s+1)*sectorSize]
		zero := true
		for w := range p.words[s] {
			v := atomic.LoadUint32(&p.words[s][w])
			zero = zero && v == 0
			binary.LittleEndian.PutUint32(sec[w*4:], v)
		}
		sum := sectorSum(n, s, sec)
		if zero {
			sum = 0 // a sector of zeros is one that was never written
		}
		binary.LittleEndian.PutUint32(sec[sectorWords*4:], sum)
	}
}

func sectorSum(n, s int, sec []byte) uint32 {
	var seed [8]byte
	binary.LittleEndian.PutUint32(seed[:], uint32(n))
	binary.LittleEndian.PutUint32(seed[4:], uint32(s))
	c := crc32.Update(0, castagnoli, seed[:])
	return crc32.Update(c, castagnoli, sec[:sectorWords*4])
}

func (p *statusPage) decode(n int, b []byte) error {
	for s := range p.words {
		sec := b[s*sectorSize : (s+1)*sectorSize]
		zero := true
		for w := range p.words[s] {
			p.words[s][w] = binary.LittleEndian.Uint32(sec[w*4:])
			zero = zero && p.words[s][w] == 0
		}
		sum := binary.LittleEndian.Uint32(sec[sectorWords*4:])
		if zero && sum == 0 {
			continue
		}
		if want := sectorSum(n, s, sec); sum != want {
			return dberr.New(dberr.DataCorrupted, "status page %d, sector %d: checksum is %08x, should be %08x", n, s, sum, want)
		}
	}
	return nil
}

// read loads the pages of all xids below next.
func (s *statusPages) read(dir statusDir, next XID) error {
	last := int(uint64(next) / pageXIDs)
	d := make([]*statusPage, last+1)
	buf := make([]byte, page.Size)
	for f := 0; f <= last/pagesPerFile; f++ {
		file, err := dir.open(statusFile(f), false)
		if err != nil {
			return fmt.Errorf("open status file %s: %w", statusFile(f), err)
		}
		if file == nil {
			continue
		}
		for n := f * pagesPerFile; n <= last && n < (f+1)*pagesPerFile; n++ {
			clear(buf)
			k, err := file.ReadAt(buf, int64(n%pagesPerFile)*page.Size)
			if err != nil && err != io.EOF {
				file.Close()
				return dberr.Wrap(dberr.IOError, err, "read status file %s", statusFile(f))
			}
			if k == 0 {
				break
			}
			p := new(statusPage)
			if err := p.decode(n, buf); err != nil {
				file.Close()
				return err
			}
			d[n] = p
		}
		if err := file.Close(); err != nil {
			return dberr.Wrap(dberr.IOError, err, "close status file %s", statusFile(f))
		}
	}
	s.dir.Store(&d)
	return nil
}

// write stores every page that changed since the last time and makes it durable.
func (s *statusPages) write(ctx context.Context, dir statusDir) (n int, err error) {
	dp := s.dir.Load()
	if dp == nil {
		return 0, nil
	}
	var file vfs.File
	open, made := -1, false
	var redo []*statusPage // dirty again if the sync fails
	done := func() error {
		if file == nil {
			return nil
		}
		f := file
		file = nil
		if err := f.Sync(); err != nil {
			f.Close()
			return dberr.Wrap(dberr.IOError, err, "sync status file %s", statusFile(open))
		}
		return f.Close()
	}
	defer func() {
		if err != nil {
			for _, p := range redo {
				p.dirty.Store(true)
			}
			if file != nil {
				file.Close()
			}
		}
	}()
	buf := make([]byte, page.Size)
	for i, p := range *dp {
		if p == nil || !p.dirty.Load() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return n, dberr.As(err)
		}
		if f := i / pagesPerFile; f != open || file == nil {
			if err := done(); err != nil {
				return n, err
			}
			if file, err = dir.open(statusFile(f), false); err == nil && file == nil {
				made = true
				file, err = dir.open(statusFile(f), true)
			}
			if err != nil {
				return n, fmt.Errorf("open status file %s: %w", statusFile(f), err)
			}
			open = f
		}
		p.dirty.Store(false)
		redo = append(redo, p)
		p.encode(i, buf)
		if _, err := file.WriteAt(buf, int64(i%pagesPerFile)*page.Size); err != nil {
			return n, dberr.Wrap(dberr.IOError, err, "write status file %s", statusFile(open))
		}
		n++
	}
	if err := done(); err != nil {
		return n, err
	}
	if made {
		if err := dir.fs.SyncDir(dir.dir); err != nil {
			return n, dberr.Wrap(dberr.IOError, err, "sync the directory of status files")
		}
	}
	return n, nil
}
