package wal

import (
	"hash/crc32"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

func isEOF(err error) bool { return err == io.EOF }

// Options configure a log.
type Options struct {
	FS          vfs.FS
	Dir         string   // the directory wal/, which exists
	DatabaseID  [16]byte // of the control file
	Timeline    uint32
	SegmentSize int64 // zero means 64 MiB
	BufferSize  int   // bytes inserted but not yet written, at most; a power of two; zero means 16 MiB
	// Inline makes whoever asks for a flush do it, instead of a goroutine: for tests that need every step in their own hands,
	// and for databases in memory, where a flush costs nothing.
	Inline bool
	Fate   *invariant.Fate // shared with the pool; nil means one of its own
}

// Log is the write end of the log.
type Log struct {
	geometry
	fate   *invariant.Fate
	inline bool

	mu      sync.Mutex // the insert lock: guards the fields below
	ring    []byte     // byte at LSN l is ring[l & (len-1)]
	pos     page.LSN   // where the next byte goes
	prev    page.LSN   // start of the last record
	closing bool

	inserted atomic.Uint64 // = pos, stored when a record is complete
	redo     atomic.Uint64 // W5
	forced   atomic.Int32  // backups that want images of every page (B6)
	mark     atomic.Bool   // a watermark is due before the next record

	flushMu sync.Mutex    // held by the one who writes; guards seg
	flushed atomic.Uint64 // everything below is durable
	seg     struct {
		f vfs.File
		n uint64
	}
	onFlush func(page.LSN)
	ahead   uint64 // segment that prepareNext saw to; guarded by flushMu

	segMu sync.Mutex // guards names of segments: making, recycling, removing

	waitMu sync.Mutex    // guards batch
	batch  chan struct{} // closed at the end of the next flush
	kick   chan struct{}
	stop   chan struct{}
	tasks  sync.WaitGroup
	armed  atomic.Bool // a timer will kick

	records, images, imageBytes, flushes, syncs, prepared, recycled atomic.Uint64
	first                                                           page.LSN
}

var _ buffer.LogFlusher = (*Log)(nil)

// Stats are counters since the log was opened.
type Stats struct {
	Records    uint64
	Bytes      uint64 // of records, images and headers
	Images     uint64
	ImageBytes uint64 // of images alone, compressed
	Flushes    uint64
	Syncs      uint64
	Prepared   uint64 // segments made
	Recycled   uint64 // segments used again
}

// Create begins the log of a new database.
func Create(o Options) (*Log, error) {
	l, err := newLog(o, 0, 0)
	if err != nil {
		return nil, err
	}
	// The first segment is not filled with zeros: a new database shall be there at once.
	if err := l.prepare(0, false); err != nil {
		return nil, dberr.Wrap(dberr.IOError, err, "cannot make the first log segment")
	}
	l.start()
	return l, nil
}

// Open continues a log behind its last record, which begins at prev and ends at end, as a Reader found it.
func Open(o Options, end, prev page.LSN) (*Log, error) {
	l, err := newLog(o, end, prev)
	if err != nil {
		return nil, err
	}
	if err := l.erase(end); err != nil {
		return nil, err
	}
	l.start()
	return l, nil
}

func newLog(o Options, end, prev page.LSN) (*Log, error) {
	g, err := newGeometry(o)
	if err != nil {
		return nil, err
	}
	if o.BufferSize == 0 {
		o.BufferSize = 16 << 20
	}
	if s := o.BufferSize; s < 64<<10 || s&(s-1) != 0 {
		return nil, dberr.New(dberr.InvalidParameterValue, "log buffer size %d is not a power of two of at least 64 KiB", s)
	}
	if o.Fate == nil {
		o.Fate = new(invariant.Fate)
	}
	l := &Log{geometry: g, fate: o.Fate, inline: o.Inline, ring: make([]byte, o.BufferSize), pos: end, prev: prev, first: end,
		batch: make(chan struct{}), kick: make(chan struct{}, 1), stop: make(chan struct{})}
	l.inserted.Store(uint64(end))
	l.flushed.Store(uint64(end))
	l.redo.Store(uint64(g.begin(end)))
	l.mark.Store(true)
	return l, nil
}

func (l *Log) start() {
	if !l.inline {
		l.tasks.Go(l.flusher)
	}
}

// MaxRecord returns the size of the largest record that fits.
func (l *Log) MaxRecord() int { return len(l.ring) / 2 }

// Insert appends the record and gives its LSN to the pages. It belongs into a critical section: an error means that the
// database is poisoned.
func (l *Log) Insert(b *Builder) (page.LSN, error) { return l.InsertWith(b, nil) }

// InsertWith is Insert with a hook that is called under the insert lock, with the record's LSN (A2).
func (l *Log) InsertWith(b *Builder, hook func(end page.LSN)) (page.LSN, error) {
	if hook == nil {
		return l.InsertAt(b, nil)
	}
	return l.InsertAt(b, func(_, end page.LSN) { hook(end) })
}

// InsertAt is InsertWith whose hook also learns where the record begins.
func (l *Log) InsertAt(b *Builder, hook func(start, end page.LSN)) (page.LSN, error) {
	if err := l.fate.Err(); err != nil {
		return 0, err
	}
	for {
		redo := page.LSN(l.redo.Load())
		limit := redo
		if l.forced.Load() > 0 {
			limit = ^page.LSN(0)
		}
		images, imageBytes := b.assemble(limit)
		if len(b.buf) > l.MaxRecord() {
			return 0, l.fate.Fail(dberr.New(dberr.LimitExceeded, "log record of %d bytes", len(b.buf)), "inserting a record")
		}
		bodySum := crc32.Checksum(b.buf[headerSize:], castagnoli)
		sched.Point("wal.insert.assembled")

		l.mu.Lock()
		// W5: the redo pointer may have moved since we looked; then pages that seemed to need no image do.
		if page.LSN(l.redo.Load()) != redo || l.forced.Load() > 0 && limit == redo {
			l.mu.Unlock()
			continue
		}
		end, err := l.appendLocked(b.buf, bodySum)
		if err != nil {
			l.mu.Unlock()
			return 0, err
		}
		if hook != nil {
			hook(l.prev, end)
		}
		l.mu.Unlock()

		l.records.Add(1)
		if images > 0 {
			l.images.Add(uint64(images))
			l.imageBytes.Add(uint64(imageBytes))
		}
		for i := range b.blocks {
			b.blocks[i].frame.Page().SetLSN(end)
		}
		return end, nil
	}
}

// appendLocked puts a record into the ring; l.mu must be held.
func (l *Log) appendLocked(buf []byte, bodySum uint32) (page.LSN, error) {
	if l.closing {
		return 0, dberr.New(dberr.ShuttingDown, "the log is closed")
	}
	need := pad8(len(buf)) + markSize + (len(buf)/int(l.segSize-segHeaderSize)+3)*segHeaderSize
	for int(l.pos-page.LSN(l.flushed.Load()))+need > len(l.ring) {
		if err := l.FlushTo(l.pos); err != nil {
			return 0, err
		}
	}
	if l.mark.Load() {
		l.mark.Store(false)
		var m [markSize]byte
		le.PutUint32(m[0:], markSize)
		m[24], m[25] = byte(RmgrLog), infoMark
		le.PutUint32(m[28:], 16)
		le.PutUint64(m[headerSize:], l.flushed.Load())
		le.PutUint64(m[headerSize+8:], uint64(time.Now().UnixNano()))
		l.putLocked(m[:], crc32.Checksum(m[headerSize:], castagnoli))
	}
	l.putLocked(buf, bodySum)
	l.inserted.Store(uint64(l.pos))
	return l.pos, nil
}

func (l *Log) putLocked(buf []byte, bodySum uint32) {
	if int64(l.pos)%l.segSize == 0 {
		l.headerLocked()
	}
	start := l.pos
	le.PutUint64(buf[8:], uint64(l.prev))
	le.PutUint32(buf[4:], l.sum(buf, bodySum, start))
	l.prev = start
	l.bytesLocked(buf)
	var pad [8]byte
	l.bytesLocked(pad[:pad8(len(buf))-len(buf)])
}

func (l *Log) headerLocked() {
	h := l.header(l.number(l.pos))
	l.copyLocked(h[:])
}

// bytesLocked appends to the stream, with the header of each segment that it enters.
func (l *Log) bytesLocked(b []byte) {
	for len(b) > 0 {
		room := l.segSize - int64(l.pos)%l.segSize
		if room == l.segSize {
			l.headerLocked()
			room -= segHeaderSize
		}
		n := int(min(room, int64(len(b))))
		l.copyLocked(b[:n])
		b = b[n:]
	}
}

func (l *Log) copyLocked(b []byte) {
	i := int(l.pos) & (len(l.ring) - 1)
	n := copy(l.ring[i:], b)
	copy(l.ring, b[n:])
	l.pos += page.LSN(len(b))
}

// FlushedLSN returns how far the log is durable.
func (l *Log) FlushedLSN() page.LSN { return page.LSN(l.flushed.Load()) }

// InsertedLSN returns the end of the last record.
func (l *Log) InsertedLSN() page.LSN { return page.LSN(l.inserted.Load()) }

// RedoLSN returns where the redo of the checkpoint begins that was begun last.
func (l *Log) RedoLSN() page.LSN { return page.LSN(l.redo.Load()) }

// OnFlush sets what is called with the new FlushedLSN after each flush, before those go on who waited for it. It is set before
// the log is shared. It must not insert, nor take a lock under which somebody inserts: who fills the ring flushes within Insert.
func (l *Log) OnFlush(f func(flushed page.LSN)) { l.onFlush = f }

// FlushTo returns when everything up to lsn is durable (W2).
func (l *Log) FlushTo(lsn page.LSN) error {
	for l.FlushedLSN() < lsn {
		if err := l.fate.Err(); err != nil {
			return err
		}
		if at := l.InsertedLSN(); lsn > at && lsn == l.begin(at) {
			lsn = at // a redo pointer behind the header of a segment that nothing is in yet
			continue
		} else if lsn > at {
			// A page that claims to be newer than the log was not written by it.
			return dberr.New(dberr.DataCorrupted, "a page was changed at %v, but the log ends at %v", lsn, l.InsertedLSN())
		}
		if l.inline {
			if err := l.flush(); err != nil {
				return err
			}
			continue
		}
		l.waitMu.Lock()
		batch := l.batch
		l.waitMu.Unlock()
		if l.FlushedLSN() >= lsn {
			break
		}
		l.wake()
		select {
		case <-batch:
		case <-l.stop:
			if l.FlushedLSN() < lsn {
				if err := l.fate.Err(); err != nil {
					return err
				}
				return dberr.New(dberr.ShuttingDown, "the log is closed")
			}
		}
	}
	return nil
}

func (l *Log) wake() {
	select {
	case l.kick <- struct{}{}:
	default: // one is on its way
	}
}

// asyncDelay is how long an asynchronous commit may wait for its flush.
const asyncDelay = 5 * time.Millisecond

// RequestFlush asks for a flush soon, without waiting: for asynchronous commits. With Inline it does nothing.
func (l *Log) RequestFlush() {
	if !l.inline && !l.armed.Load() && l.armed.CompareAndSwap(false, true) {
		time.AfterFunc(asyncDelay, func() {
			l.armed.Store(false)
			l.wake()
		})
	}
}

func (l *Log) flusher() {
	for {
		select {
		case <-l.kick:
			_ = l.flush() // whoever waits looks at the Fate
		case <-l.stop:
			return
		}
	}
}

// flush writes and syncs all that is inserted.
func (l *Log) flush() error {
	l.flushMu.Lock()
	defer l.flushMu.Unlock()
	err := l.flushLocked()
	l.waitMu.Lock()
	close(l.batch)
	l.batch = make(chan struct{})
	l.waitMu.Unlock()
	return err
}

func (l *Log) flushLocked() error {
	if err := l.fate.Err(); err != nil {
		return err
	}
	from, to := page.LSN(l.flushed.Load()), page.LSN(l.inserted.Load())
	if from == to {
		return nil
	}
	sched.Point("wal.flush.begin")
	for at := from; at < to; {
		n := l.number(at)
		if err := l.openLocked(n); err != nil {
			return l.fate.Fail(err, "opening log segment %s", l.name(n))
		}
		off := int64(at) % l.segSize
		k := min(l.segSize-off, int64(to-at))
		for k > 0 {
			i := int(at) & (len(l.ring) - 1)
			piece := l.ring[i:min(i+int(k), len(l.ring))]
			if _, err := l.seg.f.WriteAt(piece, off); err != nil {
				return l.fate.Fail(err, "writing log segment %s", l.name(n))
			}
			off, k, at = off+int64(len(piece)), k-int64(len(piece)), at+page.LSN(len(piece))
		}
		sched.Point("wal.flush.written")
		if err := l.seg.f.Sync(); err != nil {
			return l.fate.Fail(err, "syncing log segment %s", l.name(n))
		}
		l.syncs.Add(1)
		if off > l.segSize/2 {
			l.prepareNext(n)
		}
	}
	l.flushes.Add(1)
	l.flushed.Store(uint64(to))
	l.mark.Store(true)
	if l.onFlush != nil {
		l.onFlush(to)
	}
	return nil
}

// openLocked makes segment n the one that is written to; flushMu must be held.
func (l *Log) openLocked(n uint64) error {
	if l.seg.f != nil && l.seg.n == n {
		return nil
	}
	if l.seg.f != nil {
		if err := l.seg.f.Close(); err != nil {
			return err
		}
		l.seg.f = nil
	}
	l.segMu.Lock()
	err := l.prepare(n, true)
	l.segMu.Unlock()
	if err != nil {
		return err
	}
	f, err := l.fs.Open(l.name(n))
	if err != nil {
		return err
	}
	l.seg.f, l.seg.n = f, n
	l.prepared.Add(1)
	return nil
}

// prepareNext has the segment behind n made while n fills, so that no commit waits for it; flushMu must be held.
func (l *Log) prepareNext(n uint64) {
	if l.inline || l.ahead == n+1 {
		return
	}
	l.ahead = n + 1
	l.tasks.Go(func() {
		l.segMu.Lock()
		defer l.segMu.Unlock()
		_ = l.prepare(n+1, true) // tried again, and reported, when it is needed
	})
}

// BeginCheckpoint moves the redo pointer to the place of the next record and returns it; under is called while the insert lock
// is held, with the new pointer, so that what it reads belongs to exactly this place.
func (l *Log) BeginCheckpoint(under func(redo page.LSN)) page.LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	redo := l.begin(l.pos)
	l.redo.Store(uint64(redo))
	if under != nil {
		under(redo)
	}
	return redo
}

// ForceImages makes every record carry images of its pages until the returned function is called (B6).
func (l *Log) ForceImages() (stop func()) {
	l.forced.Add(1)
	var once sync.Once
	return func() { once.Do(func() { l.forced.Add(-1) }) }
}

// Recycle gives the segments that end at or below keep another turn: up to spare of them are renamed to follow the newest, the
// rest are removed.
func (l *Log) Recycle(keep page.LSN, spare int) error {
	l.segMu.Lock()
	defer l.segMu.Unlock()
	nums, err := l.list()
	if err != nil {
		return err
	}
	current := l.number(l.FlushedLSN())
	next := current + 1
	for _, n := range nums {
		next = max(next, n+1)
	}
	changed := false
	for _, n := range nums {
		if n >= l.number(keep) || n >= current {
			break
		}
		changed = true
		if int64(next-current)-1 < int64(spare) {
			if err := l.fs.Rename(l.name(n), l.name(next)); err != nil {
				return dberr.Wrap(dberr.IOError, err, "cannot recycle log segment %s", l.name(n))
			}
			next++
			l.recycled.Add(1)
			continue
		}
		if err := l.fs.Remove(l.name(n)); err != nil {
			return dberr.Wrap(dberr.IOError, err, "cannot remove log segment %s", l.name(n))
		}
	}
	if !changed {
		return nil
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return l.fate.Fail(err, "syncing directory %s", l.dir)
	}
	return nil
}

// Stats returns the counters.
func (l *Log) Stats() Stats {
	return Stats{Records: l.records.Load(), Bytes: l.inserted.Load() - uint64(l.first), Images: l.images.Load(),
		ImageBytes: l.imageBytes.Load(), Flushes: l.flushes.Load(), Syncs: l.syncs.Load(), Prepared: l.prepared.Load(),
		Recycled: l.recycled.Load()}
}

// Close flushes what was inserted, unless the log is poisoned, and gives its files back.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		return nil
	}
	l.closing = true
	l.mu.Unlock()
	err := l.fate.Err()
	if err == nil {
		err = l.flush()
	}
	close(l.stop)
	l.tasks.Wait()
	l.flushMu.Lock()
	defer l.flushMu.Unlock()
	if l.seg.f != nil {
		if e := l.seg.f.Close(); err == nil {
			err = e
		}
		l.seg.f = nil
	}
	return err
}
