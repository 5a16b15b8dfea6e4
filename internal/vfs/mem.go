package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// BlockSize is the unit in which a crash keeps or loses what was not synced (V2).
const BlockSize = 4096

// Mem is a file system in memory. NewMem's forgets nothing, and is what a database in memory runs on; NewCrashable's remembers
// what is durable, so that CrashClone can make the file system that a crash would leave.
type Mem struct {
	track bool
	mu    sync.RWMutex // held shared by every call, exclusively by CrashClone and what changes names
	gen   uint64       // blocks of another generation are shared with a clone and copied before they are written
	root  *memDir
	locks map[string]*memLock
}

var memGen atomic.Uint64

type memBlock struct {
	gen uint64
	b   [BlockSize]byte
}

// memFile is the inode.
type memFile struct {
	mu     sync.RWMutex // guards the fields below
	blocks []*memBlock  // nil: zeros
	size   int64
	// What a crash may bring back; only in a file system that tracks.
	old     map[int]*memBlock // content, at the last Sync, of the blocks written since
	oldSize int64
}

type memDir struct {
	entries map[string]any // *memFile or *memDir
	old     map[string]any // entries as of the last SyncDir, of those changed since; nil: there was none
}

func newMemDir() *memDir { return &memDir{entries: map[string]any{}, old: map[string]any{}} }

// NewMem returns an empty file system in memory.
func NewMem() *Mem {
	return &Mem{gen: memGen.Add(1), root: newMemDir(), locks: map[string]*memLock{}}
}

// NewCrashable returns an empty file system that can be cloned as after a crash.
func NewCrashable() *Mem {
	m := NewMem()
	m.track = true
	return m
}

func notExist(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }

func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// dirLocked finds a directory; m.mu must be held.
func (m *Mem) dirLocked(name string) *memDir {
	d := m.root
	for _, e := range strings.Split(clean(name), "/") {
		if e == "" {
			continue
		}
		next, ok := d.entries[e].(*memDir)
		if !ok {
			return nil
		}
		d = next
	}
	return d
}

// entryLocked finds the directory of a name and the name's last element; m.mu must be held.
func (m *Mem) entryLocked(name string) (*memDir, string) {
	name = clean(name)
	return m.dirLocked(path.Dir("/" + name)), path.Base(name)
}

// setLocked changes an entry (nil: removes it); m.mu must be held exclusively.
func (m *Mem) setLocked(d *memDir, name string, node any) {
	if m.track {
		if _, seen := d.old[name]; !seen {
			d.old[name] = d.entries[name]
		}
	}
	if node == nil {
		delete(d.entries, name)
	} else {
		d.entries[name] = node
	}
}

func (m *Mem) Open(name string) (File, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	d, base := m.entryLocked(name)
	if d == nil {
		return nil, notExist("open", name)
	}
	f, ok := d.entries[base].(*memFile)
	if !ok {
		return nil, notExist("open", name)
	}
	return &memHandle{m, f}, nil
}

func (m *Mem) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base := m.entryLocked(name)
	if d == nil {
		return nil, notExist("create", name)
	}
	switch e := d.entries[base].(type) {
	case *memFile:
		e.mu.Lock()
		defer e.mu.Unlock()
		m.truncateLocked(e, 0)
		return &memHandle{m, e}, nil
	case *memDir:
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	f := &memFile{old: map[int]*memBlock{}}
	m.setLocked(d, base, f)
	return &memHandle{m, f}, nil
}

func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.dirLocked(dir)
	if d == nil {
		return notExist("sync", dir)
	}
	clear(d.old)
	return nil
}

func (m *Mem) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base := m.entryLocked(from)
	if d == nil || d.entries[base] == nil {
		return notExist("rename", from)
	}
	d2, base2 := m.entryLocked(to)
	if d2 == nil {
		return notExist("rename", to)
	}
	node := d.entries[base]
	m.setLocked(d, base, nil)
	m.setLocked(d2, base2, node)
	return nil
}

func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base := m.entryLocked(name)
	if d == nil || d.entries[base] == nil {
		return notExist("remove", name)
	}
	if sub, ok := d.entries[base].(*memDir); ok && len(sub.entries) > 0 {
		return &fs.PathError{Op: "remove", Path: name, Err: fmt.Errorf("directory not empty")}
	}
	m.setLocked(d, base, nil)
	return nil
}

func (m *Mem) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base := m.entryLocked(name)
	if d == nil || d.entries[base] == nil {
		return nil
	}
	m.setLocked(d, base, nil)
	return nil
}

func (m *Mem) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.root
	for _, e := range strings.Split(clean(dir), "/") {
		if e == "" {
			continue
		}
		switch n := d.entries[e].(type) {
		case *memDir:
			d = n
		case nil:
			sub := newMemDir()
			m.setLocked(d, e, sub)
			d = sub
		default:
			return &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrExist}
		}
	}
	return nil
}

func (m *Mem) List(dir string) ([]Info, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	d := m.dirLocked(dir)
	if d == nil {
		return nil, notExist("list", dir)
	}
	out := make([]Info, 0, len(d.entries))
	for name, e := range d.entries {
		out = append(out, infoOf(name, e))
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func infoOf(name string, e any) Info {
	if f, ok := e.(*memFile); ok {
		f.mu.RLock()
		defer f.mu.RUnlock()
		return Info{Name: name, Size: f.size}
	}
	return Info{Name: name, Dir: true}
}

func (m *Mem) Stat(name string) (Info, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if clean(name) == "" {
		return Info{Name: "/", Dir: true}, nil
	}
	d, base := m.entryLocked(name)
	if d == nil || d.entries[base] == nil {
		return Info{}, notExist("stat", name)
	}
	return infoOf(base, d.entries[base]), nil
}

type memLock struct {
	m       *Mem
	name    string
	content []byte
}

func (l *memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.locks[l.name] == l {
		delete(l.m.locks, l.name)
	}
	return nil
}

func (m *Mem) Lock(name string, content []byte) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = clean(name)
	if l := m.locks[name]; l != nil {
		return nil, &LockedError{name, l.content}
	}
	l := &memLock{m, name, slices.Clone(content)}
	m.locks[name] = l
	return l, nil
}

// memHandle is an open file.
type memHandle struct {
	m *Mem
	f *memFile
}

func (h *memHandle) ReadAt(p []byte, off int64) (int, error) {
	h.m.mu.RLock()
	defer h.m.mu.RUnlock()
	f := h.f
	f.mu.RLock()
	defer f.mu.RUnlock()
	if off >= f.size {
		return 0, io.EOF
	}
	n := len(p)
	if int64(n) > f.size-off {
		n = int(f.size - off)
	}
	for done := 0; done < n; {
		i, o := int((off+int64(done))/BlockSize), int((off+int64(done))%BlockSize)
		k := min(BlockSize-o, n-done)
		if i < len(f.blocks) && f.blocks[i] != nil {
			copy(p[done:done+k], f.blocks[i].b[o:])
		} else {
			clear(p[done : done+k])
		}
		done += k
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// blockLocked returns block i ready to be written; f.mu must be held exclusively.
func (m *Mem) blockLocked(f *memFile, i int) *memBlock {
	for len(f.blocks) <= i {
		f.blocks = append(f.blocks, nil)
	}
	b := f.blocks[i]
	if m.track {
		if _, seen := f.old[i]; !seen {
			f.old[i] = b
			nb := &memBlock{gen: m.gen}
			if b != nil {
				nb.b = b.b
			}
			f.blocks[i] = nb
			return nb
		}
	}
	if b == nil || b.gen != m.gen {
		nb := &memBlock{gen: m.gen}
		if b != nil {
			nb.b = b.b
		}
		f.blocks[i] = nb
		return nb
	}
	return b
}

func (h *memHandle) WriteAt(p []byte, off int64) (int, error) {
	h.m.mu.RLock()
	defer h.m.mu.RUnlock()
	f := h.f
	f.mu.Lock()
	defer f.mu.Unlock()
	for done := 0; done < len(p); {
		i, o := int((off+int64(done))/BlockSize), int((off+int64(done))%BlockSize)
		k := min(BlockSize-o, len(p)-done)
		copy(h.m.blockLocked(f, i).b[o:o+k], p[done:])
		done += k
	}
	f.size = max(f.size, off+int64(len(p)))
	return len(p), nil
}

func (h *memHandle) Sync() error {
	h.m.mu.RLock()
	defer h.m.mu.RUnlock()
	f := h.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.m.track {
		clear(f.old)
		f.oldSize = f.size
	}
	return nil
}

// truncateLocked sets the size; f.mu must be held exclusively.
func (m *Mem) truncateLocked(f *memFile, size int64) {
	if size < f.size {
		keep := int((size + BlockSize - 1) / BlockSize)
		if o := int(size % BlockSize); o != 0 && keep <= len(f.blocks) && f.blocks[keep-1] != nil {
			clear(m.blockLocked(f, keep-1).b[o:])
		}
		for i := keep; i < len(f.blocks); i++ {
			if f.blocks[i] == nil {
				continue
			}
			if _, seen := f.old[i]; m.track && !seen {
				f.old[i] = f.blocks[i]
			}
			f.blocks[i] = nil
		}
	}
	f.size = size
}

func (h *memHandle) Truncate(size int64) error {
	h.m.mu.RLock()
	defer h.m.mu.RUnlock()
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	h.m.truncateLocked(h.f, size)
	return nil
}

func (h *memHandle) Size() (int64, error) {
	h.f.mu.RLock()
	defer h.f.mu.RUnlock()
	return h.f.size, nil
}

func (h *memHandle) Preallocate(off, n int64, grow bool) error {
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	if grow {
		h.f.size = max(h.f.size, off+n)
	}
	return nil
}

func (h *memHandle) Close() error { return nil }

// CrashClone returns the file system as a crash at this moment may leave it (V2): of what was not synced, each block, each size
// and each directory entry is there with probability p, decided by rng alone. The original is untouched and goes on. Locks are
// not cloned.
func (m *Mem) CrashClone(rng *rand.Rand, p float64) *Mem {
	if !m.track {
		panic("vfs: CrashClone of a file system that does not track")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := NewCrashable()
	m.gen = memGen.Add(1) // what is shared from here on is copied before either side writes it
	c.root = cloneDir(m.root, rng, p)
	return c
}

func cloneDir(d *memDir, rng *rand.Rand, p float64) *memDir {
	names := make([]string, 0, len(d.entries)+len(d.old))
	for name := range d.entries {
		names = append(names, name)
	}
	for name := range d.old {
		if _, both := d.entries[name]; !both {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	c := newMemDir()
	for _, name := range names {
		e := d.entries[name]
		if old, changed := d.old[name]; changed && rng.Float64() >= p {
			e = old
		}
		switch e := e.(type) {
		case *memFile:
			c.entries[name] = cloneFile(e, rng, p)
		case *memDir:
			c.entries[name] = cloneDir(e, rng, p)
		}
	}
	return c
}

func cloneFile(f *memFile, rng *rand.Rand, p float64) *memFile {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &memFile{blocks: slices.Clone(f.blocks), size: f.size, old: map[int]*memBlock{}}
	idx := make([]int, 0, len(f.old))
	for i := range f.old {
		idx = append(idx, i)
	}
	slices.Sort(idx)
	for _, i := range idx {
		if rng.Float64() < p {
			continue
		}
		for len(c.blocks) <= i {
			c.blocks = append(c.blocks, nil)
		}
		c.blocks[i] = f.old[i]
	}
	if f.size != f.oldSize && rng.Float64() >= p {
		c.size = f.oldSize
	}
	// Whatever lies beyond the size that survived is gone.
	keep := int((c.size + BlockSize - 1) / BlockSize)
	if keep < len(c.blocks) {
		c.blocks = c.blocks[:keep]
	}
	if o := int(c.size % BlockSize); o != 0 && keep <= len(c.blocks) && keep > 0 && c.blocks[keep-1] != nil {
		nb := &memBlock{b: c.blocks[keep-1].b}
		clear(nb.b[o:])
		c.blocks[keep-1] = nb
	}
	c.oldSize = c.size
	return c
}
