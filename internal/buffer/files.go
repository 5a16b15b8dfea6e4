package buffer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// files knows the files of all relations: base/<relfile>[.seg][_fsm|_vm], each of SegmentBlocks pages (B12).
type files struct {
	p *Pool

	mu    sync.RWMutex // guards forks
	forks map[forkKey]*fork

	syncMu sync.Mutex // guards dirty, and the counters of every segment
	dirty  map[*segment]struct{}
	names  uint64 // names made or removed since the pool was made
	synced uint64 // names as of the last sync of the directory

	open   atomic.Int64
	enough atomic.Int64 // so many may be open before limitOpen looks again; 0: the limit
	syncs  atomic.Uint64
}

type forkKey struct {
	rel  page.RelFile
	fork page.Fork
}

// fork is one fork of a relation.
type fork struct {
	key    forkKey
	exists atomic.Bool
	blocks atomic.Uint32 // size, the pages included that are not in the file yet

	mu       sync.Mutex // held while the fork grows, shrinks or gets files; guards what follows
	reserved int64      // bytes of the last segment that space was asked for
	inSeg    int        // which segment that is

	segMu sync.RWMutex // guards segs
	segs  []*segment
}

// segment is one file.
type segment struct {
	name string

	mu   sync.RWMutex // held shared over I/O, exclusively to open and close
	f    vfs.File     // nil: not open
	gone bool

	// Of the to-fsync set; guarded by files.syncMu (B6).
	writing int
	seq     uint64
	lastUse atomic.Int64
}

func (fs *files) init(p *Pool) {
	fs.p = p
	fs.forks = map[forkKey]*fork{}
	fs.dirty = map[*segment]struct{}{}
}

var forkSuffix = [page.NumFork]string{page.Main: "", page.FSM: "_fsm", page.VM: "_vm"}

func (fs *files) name(k forkKey, seg int) string {
	s := strconv.FormatUint(uint64(k.rel), 10)
	if seg > 0 {
		s += "." + strconv.Itoa(seg)
	}
	return vfs.Join(fs.p.opts.Dir, s+forkSuffix[k.fork])
}

// ParseName tells which relation and fork a file in base/ belongs to.
func ParseName(name string) (rel page.RelFile, fork page.Fork, seg int, ok bool) {
	for f, suffix := range forkSuffix {
		if suffix != "" && strings.HasSuffix(name, suffix) {
			name, fork = strings.TrimSuffix(name, suffix), page.Fork(f)
			break
		}
	}
	num, segText, has := strings.Cut(name, ".")
	if has {
		n, err := strconv.Atoi(segText)
		if err != nil || n < 1 {
			return 0, 0, 0, false
		}
		seg = n
	}
	n, err := strconv.ParseUint(num, 10, 48)
	if err != nil || n == 0 {
		return 0, 0, 0, false
	}
	return page.RelFile(n), fork, seg, true
}

// fork returns the state of a fork, having looked at its files the first time.
func (fs *files) fork(rel page.RelFile, f page.Fork) (*fork, error) {
	k := forkKey{rel, f}
	fs.mu.RLock()
	fk := fs.forks[k]
	fs.mu.RUnlock()
	if fk != nil {
		return fk, nil
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fk := fs.forks[k]; fk != nil {
		return fk, nil
	}
	fk = &fork{key: k}
	total := int64(0)
	for seg := 0; ; seg++ {
		name := fs.name(k, seg)
		info, err := fs.p.fs.Stat(name)
		if errors.Is(err, vfs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, ioError(err, "look at", name)
		}
		fk.exists.Store(true)
		fk.segs = append(fk.segs, &segment{name: name})
		// A last page that is there in part only was being added when the system went down: redo adds it again.
		n := info.Size / page.Size
		total = int64(seg)*int64(fs.p.opts.SegmentBlocks) + n
		if n < int64(fs.p.opts.SegmentBlocks) {
			break
		}
	}
	fk.blocks.Store(uint32(min(total, int64(page.NoBlock))))
	fs.forks[k] = fk
	return fk, nil
}

func ioError(err error, verb, name string) error {
	code := dberr.IOError
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		code = dberr.DiskFull
	}
	return dberr.Wrap(code, err, "cannot %s file %s", verb, name)
}

func (p *Pool) corrupted(id page.ID, cause error) error {
	fk := forkKey{id.Rel, id.Fork}
	per := p.opts.SegmentBlocks
	name := p.files.name(fk, int(id.Block/per))
	var fault *page.Fault
	reason := cause.Error()
	if errors.As(cause, &fault) {
		reason = fault.Reason
	}
	return dberr.Wrap(dberr.DataCorrupted, cause, "file %s page %d: %s", name, id.Block%per, reason)
}

// Size returns the number of pages of a fork; 0 if it has no file.
func (p *Pool) Size(rel page.RelFile, f page.Fork) (page.Block, error) {
	fk, err := p.files.fork(rel, f)
	if err != nil {
		return 0, err
	}
	return page.Block(fk.blocks.Load()), nil
}

// Exists reports whether a relation has a main file.
func (p *Pool) Exists(rel page.RelFile) (bool, error) {
	fk, err := p.files.fork(rel, page.Main)
	if err != nil {
		return false, err
	}
	return fk.exists.Load(), nil
}

// Create makes the main file of a relation. It is no error if there is one: redo repeats it.
func (p *Pool) Create(rel page.RelFile) error {
	if err := p.fate.Err(); err != nil {
		return err
	}
	fk, err := p.files.fork(rel, page.Main)
	if err != nil {
		return err
	}
	fk.mu.Lock()
	defer fk.mu.Unlock()
	if fk.exists.Load() {
		return nil
	}
	_, err = p.files.segment(fk, 0, true)
	return err
}

// segment returns a segment of a fork, made if it is missing and create is set; nil if it is missing and create is not.
// With create, fk.mu must be held.
func (fs *files) segment(fk *fork, seg int, create bool) (*segment, error) {
	fk.segMu.RLock()
	if seg < len(fk.segs) {
		s := fk.segs[seg]
		fk.segMu.RUnlock()
		return s, nil
	}
	have := len(fk.segs)
	fk.segMu.RUnlock()
	if !create {
		return nil, nil
	}
	for ; have <= seg; have++ {
		if have > 0 {
			if err := fs.fill(fk, have-1); err != nil {
				return nil, err
			}
		}
		s := &segment{name: fs.name(fk.key, have)}
		f, err := fs.p.fs.Create(s.name)
		if err != nil {
			return nil, ioError(err, "create", s.name)
		}
		s.f = f
		s.lastUse.Store(time.Now().UnixNano())
		fs.open.Add(1)
		fs.syncMu.Lock()
		fs.names++
		fs.dirty[s] = struct{}{} // its size is news too
		s.seq++
		fs.syncMu.Unlock()
		fk.segMu.Lock()
		fk.segs = append(fk.segs, s)
		fk.segMu.Unlock()
		fk.exists.Store(true)
	}
	fs.limitOpen()
	return fs.segment(fk, seg, false)
}

// fill brings a segment to its full size before the next one is made: sizes are added up until a segment is short.
func (fs *files) fill(fk *fork, seg int) error {
	fk.segMu.RLock()
	s := fk.segs[seg]
	fk.segMu.RUnlock()
	fs.syncMu.Lock()
	fs.dirty[s] = struct{}{}
	s.seq++
	s.writing++
	fs.syncMu.Unlock()
	full := int64(fs.p.opts.SegmentBlocks) * page.Size
	err := fs.use(s, func(f vfs.File) error {
		n, err := f.Size()
		if err != nil || n >= full {
			return err
		}
		return f.Truncate(full)
	})
	fs.syncMu.Lock()
	s.writing--
	s.seq++
	fs.syncMu.Unlock()
	if err != nil {
		return ioError(err, "extend", s.name)
	}
	return nil
}

// use runs f with the segment's file open.
func (fs *files) use(s *segment, f func(vfs.File) error) error {
	for {
		s.mu.RLock()
		if s.f != nil {
			s.lastUse.Store(time.Now().UnixNano())
			err := f(s.f)
			s.mu.RUnlock()
			return err
		}
		gone := s.gone
		s.mu.RUnlock()
		if gone {
			return dberr.New(dberr.IOError, "file %s was removed", s.name)
		}
		s.mu.Lock()
		if s.f == nil && !s.gone {
			file, err := fs.p.fs.Open(s.name)
			if err != nil {
				s.mu.Unlock()
				return ioError(err, "open", s.name)
			}
			s.f = file
			s.lastUse.Store(time.Now().UnixNano())
			fs.open.Add(1)
			// Under this lock: where all others have unsynced writes, the file may be the only one that limitOpen can close, at once.
			err = f(s.f)
			s.mu.Unlock()
			fs.limitOpen()
			return err
		}
		s.mu.Unlock()
	}
}

// limitOpen closes the files that were used longest ago, down to nine tenths of the limit. Files with unsynced writes stay open:
// an error of the system's own writing is reported to the descriptors that are open (V4).
func (fs *files) limitOpen() {
	limit := int64(fs.p.opts.OpenFiles)
	if fs.open.Load() <= max(limit, fs.enough.Load()) {
		return
	}
	var all []*segment
	fs.mu.RLock()
	for _, fk := range fs.forks {
		fk.segMu.RLock()
		all = append(all, fk.segs...)
		fk.segMu.RUnlock()
	}
	fs.mu.RUnlock()
	slices.SortFunc(all, func(a, b *segment) int { return int(min(1, max(-1, a.lastUse.Load()-b.lastUse.Load()))) })
	for _, s := range all {
		if fs.open.Load() <= limit*9/10 {
			return
		}
		if !s.mu.TryLock() {
			continue
		}
		fs.syncMu.Lock()
		_, dirty := fs.dirty[s]
		fs.syncMu.Unlock()
		if s.f != nil && !dirty {
			s.f.Close() //nolint:errcheck // nothing unsynced is behind it
			s.f = nil
			fs.open.Add(-1)
		}
		s.mu.Unlock()
	}
	// Too many have unsynced writes. Until they are synced, look again only after so many more, instead of at every open.
	fs.enough.Store(fs.open.Load() + limit/10)
}

// read fills buf with a page; what the fork has but its file has not yet are zeros.
func (fs *files) read(id page.ID, buf []byte) error {
	fk, err := fs.fork(id.Rel, id.Fork)
	if err != nil {
		return err
	}
	per := fs.p.opts.SegmentBlocks
	s, err := fs.segment(fk, int(id.Block/per), false)
	if err != nil {
		return err
	}
	if s == nil {
		clear(buf)
		return nil
	}
	return fs.use(s, func(f vfs.File) error {
		n, err := f.ReadAt(buf, int64(id.Block%per)*page.Size)
		if err == io.EOF {
			clear(buf[n:])
			if n != 0 && n != len(buf) {
				clear(buf)
			}
			return nil
		}
		if err != nil {
			return ioError(err, "read", s.name)
		}
		return nil
	})
}

// write writes a page. The segment enters the to-fsync set before, and can leave it only by a sync that began after (B6).
func (fs *files) write(id page.ID, buf []byte) error {
	fk, err := fs.fork(id.Rel, id.Fork)
	if err != nil {
		return err
	}
	per := fs.p.opts.SegmentBlocks
	seg := int(id.Block / per)
	s, err := fs.segment(fk, seg, false)
	if err == nil && s == nil {
		fk.mu.Lock()
		s, err = fs.segment(fk, seg, true)
		fk.mu.Unlock()
	}
	if err != nil {
		return err
	}
	fs.syncMu.Lock()
	fs.dirty[s] = struct{}{}
	s.seq++
	s.writing++
	fs.syncMu.Unlock()
	err = fs.use(s, func(f vfs.File) error {
		_, err := f.WriteAt(buf, int64(id.Block%per)*page.Size)
		if err != nil {
			return ioError(err, "write", s.name)
		}
		return nil
	})
	sched.Point("buffer.write.returned")
	fs.syncMu.Lock()
	s.writing--
	s.seq++
	fs.syncMu.Unlock()
	if err != nil && !dberr.Is(err, dberr.DiskFull) {
		return fs.p.fate.Fail(err, "writing page %v", id)
	}
	return err
}

// reserve asks for the disk space of block b, in growing steps; fk.mu must be held.
func (fs *files) reserve(fk *fork, b page.Block) error {
	per := fs.p.opts.SegmentBlocks
	seg := int(b / per)
	s, err := fs.segment(fk, seg, true)
	if err != nil {
		return err
	}
	if fk.inSeg != seg {
		fk.inSeg, fk.reserved = seg, 0
	}
	end := (int64(b%per) + 1) * page.Size
	if end <= fk.reserved {
		return nil
	}
	// An eighth of what is there, so that neither many small relations nor one large one pays much.
	step := min(max(int64(b%per)*page.Size/8, 8*page.Size), 8<<20)
	upTo := min(end+step, int64(per)*page.Size)
	from := min(fk.reserved, end-page.Size)
	if fk.reserved == 0 {
		from = end - page.Size
	}
	err = fs.use(s, func(f vfs.File) error { return f.Preallocate(from, upTo-from, false) })
	if err != nil {
		return ioError(err, "extend", s.name)
	}
	fk.reserved = upTo
	return nil
}

// SyncFiles makes durable whatever was written before it was called. A failure poisons the database (A11).
func (p *Pool) SyncFiles(ctx context.Context) error {
	fs := &p.files
	type entry struct {
		s    *segment
		seq  uint64
		idle bool
	}
	fs.syncMu.Lock()
	todo := make([]entry, 0, len(fs.dirty))
	for s := range fs.dirty {
		todo = append(todo, entry{s, s.seq, s.writing == 0})
	}
	names := fs.names
	fs.syncMu.Unlock()
	slices.SortFunc(todo, func(a, b entry) int { return strings.Compare(a.s.name, b.s.name) })
	for _, e := range todo {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.fate.Err(); err != nil {
			return err
		}
		var err error
		e.s.mu.RLock()
		if !e.s.gone && e.s.f != nil {
			// A file that was written to is open: limitOpen leaves it so. One that is not open is about to be written to for
			// the first time, and stays in the set.
			err = e.s.f.Sync()
			fs.syncs.Add(1)
		}
		e.s.mu.RUnlock()
		if err != nil {
			return p.fate.Fail(err, "syncing file %s", e.s.name)
		}
		sched.Point("buffer.sync.done")
		fs.syncMu.Lock()
		if e.idle && e.s.seq == e.seq {
			delete(fs.dirty, e.s)
		}
		fs.syncMu.Unlock()
	}
	fs.syncMu.Lock()
	need := fs.synced < names
	fs.syncMu.Unlock()
	if need {
		if err := p.fs.SyncDir(p.opts.Dir); err != nil {
			return p.fate.Fail(err, "syncing directory %s", p.opts.Dir)
		}
		fs.syncMu.Lock()
		fs.synced = max(fs.synced, names)
		fs.syncMu.Unlock()
	}
	fs.enough.Store(0)
	fs.limitOpen()
	return nil
}

// ToSync returns the number of files in the to-fsync set.
func (p *Pool) ToSync() int {
	p.files.syncMu.Lock()
	defer p.files.syncMu.Unlock()
	return len(p.files.dirty)
}

// Truncate cuts a fork to the given number of pages. The caller has logged it and keeps everybody else away.
func (p *Pool) Truncate(ctx context.Context, rel page.RelFile, f page.Fork, blocks page.Block) error {
	if err := p.fate.Err(); err != nil {
		return err
	}
	fk, err := p.files.fork(rel, f)
	if err != nil {
		return err
	}
	if page.Block(fk.blocks.Load()) <= blocks {
		return nil
	}
	if err := p.discard(ctx, rel, int(f), blocks); err != nil {
		return err
	}
	fk.mu.Lock()
	defer fk.mu.Unlock()
	fk.blocks.Store(uint32(blocks))
	fk.inSeg, fk.reserved = -1, 0
	per := p.opts.SegmentBlocks
	fk.segMu.RLock()
	segs := slices.Clone(fk.segs)
	fk.segMu.RUnlock()
	for i := len(segs) - 1; i >= int(blocks/per); i-- { // from the end, so that a crash leaves no gap
		s := segs[i]
		size := int64(0)
		if i == int(blocks/per) {
			size = int64(blocks%per) * page.Size
		}
		p.files.syncMu.Lock()
		p.files.dirty[s] = struct{}{}
		s.seq++
		s.writing++
		p.files.syncMu.Unlock()
		err := p.files.use(s, func(f vfs.File) error {
			n, err := f.Size()
			if err != nil || n <= size {
				return err
			}
			return f.Truncate(size)
		})
		p.files.syncMu.Lock()
		s.writing--
		s.seq++
		p.files.syncMu.Unlock()
		if err != nil {
			return p.fate.Fail(err, "truncating file %s", s.name)
		}
	}
	return nil
}

// Drop forgets a relation's pages and removes its files. The caller has logged it, flushed the log, and keeps everybody away.
func (p *Pool) Drop(ctx context.Context, rel page.RelFile) error {
	if err := p.fate.Err(); err != nil {
		return err
	}
	if err := p.discard(ctx, rel, -1, 0); err != nil {
		return err
	}
	for f := range page.Fork(page.NumFork) {
		fk, err := p.files.fork(rel, f)
		if err != nil {
			return err
		}
		fk.mu.Lock()
		err = p.files.remove(fk)
		fk.mu.Unlock()
		if err != nil {
			return err
		}
		// Its number never comes back (B11), so neither need what we know of it.
		p.files.mu.Lock()
		delete(p.files.forks, fk.key)
		p.files.mu.Unlock()
	}
	return nil
}

// remove deletes the files of a fork, the last segment first, so that what a crash leaves still is found from segment 0 on.
// fk.mu must be held.
func (fs *files) remove(fk *fork) error {
	fk.segMu.Lock()
	segs := fk.segs
	fk.segs = nil
	fk.segMu.Unlock()
	fk.exists.Store(false)
	fk.blocks.Store(0)
	fk.inSeg, fk.reserved = 0, 0
	for i := len(segs) - 1; i >= 0; i-- {
		s := segs[i]
		s.mu.Lock()
		if s.f != nil {
			s.f.Close() //nolint:errcheck // its content is not wanted any more
			s.f = nil
			fs.open.Add(-1)
		}
		s.gone = true
		s.mu.Unlock()
		fs.syncMu.Lock()
		delete(fs.dirty, s)
		fs.names++
		fs.syncMu.Unlock()
		if err := fs.p.fs.Remove(s.name); err != nil && !errors.Is(err, vfs.ErrNotExist) {
			return ioError(err, "remove", s.name)
		}
	}
	return nil
}

// Relations lists the relations that have a file in base/, in ascending order.
func (p *Pool) Relations() ([]page.RelFile, error) {
	list, err := p.fs.List(p.opts.Dir)
	if err != nil {
		return nil, ioError(err, "list", p.opts.Dir)
	}
	var out []page.RelFile
	for _, e := range list {
		if rel, _, _, ok := ParseName(e.Name); ok && !e.Dir {
			out = append(out, rel)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// RemoveStray removes files of a relation that Drop does not find, because an earlier segment is missing.
func (p *Pool) RemoveStray(rel page.RelFile) error {
	list, err := p.fs.List(p.opts.Dir)
	if err != nil {
		return ioError(err, "list", p.opts.Dir)
	}
	for _, e := range list {
		if r, _, _, ok := ParseName(e.Name); ok && r == rel && !e.Dir {
			if err := p.fs.Remove(vfs.Join(p.opts.Dir, e.Name)); err != nil && !errors.Is(err, vfs.ErrNotExist) {
				return ioError(err, "remove", e.Name)
			}
			p.files.syncMu.Lock()
			p.files.names++
			p.files.syncMu.Unlock()
		}
	}
	return nil
}

func (fs *files) closeAll() error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	var errs []error
	for _, fk := range fs.forks {
		fk.segMu.RLock()
		for _, s := range fk.segs {
			s.mu.Lock()
			if s.f != nil {
				if err := s.f.Close(); err != nil {
					errs = append(errs, fmt.Errorf("close %s: %w", s.name, err))
				}
				s.f = nil
			}
			s.mu.Unlock()
		}
		fk.segMu.RUnlock()
	}
	return errors.Join(errs...)
}

// pause waits a moment for somebody else's short pin.
func (p *Pool) pause() {
	runtime.Gosched()
	time.Sleep(50 * time.Microsecond)
}
