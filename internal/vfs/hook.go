package vfs

import (
	"errors"
	"io"
	"math/rand/v2"
	"sync"
)

// Op is a class of calls.
type Op uint16

const (
	OpOpen Op = 1 << iota
	OpCreate
	OpRead
	OpWrite
	OpSync
	OpSyncDir
	OpTruncate
	OpRename
	OpRemove
	OpMkdir
	OpList
	OpPreallocate
	OpLock

	// OpMutate are the calls that change something, or make a change durable.
	OpMutate = OpCreate | OpWrite | OpSync | OpSyncDir | OpTruncate | OpRename | OpRemove | OpMkdir | OpPreallocate
	OpAll    = 1<<13 - 1
)

// Hook is called before each call; an error is returned in place of making it. With ErrShort a write writes half.
type Hook func(op Op, name string) error

// ErrShort makes a write stop half-way.
var ErrShort = errors.New("vfs: short write")

// WithHook returns a file system that asks hook before every call of inner.
func WithHook(inner FS, hook Hook) FS { return &hooked{inner, hook} }

// FailNth returns a hook under which the n-th call (from 1) of a class of calls, and with sticky all after it, fail with err.
func FailNth(class Op, n int, err error, sticky bool) Hook {
	var mu sync.Mutex
	count := 0
	return func(op Op, _ string) error {
		if op&class == 0 {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if count++; count == n || sticky && count > n {
			return err
		}
		return nil
	}
}

// CrashPoints returns a hook that hands a crash clone of m to at before every k-th call that changes something. The clones take
// turns with the probabilities ps; the point counts from 0. The workload stands still meanwhile.
func CrashPoints(m *Mem, k int, seed uint64, ps []float64, at func(point int, clone *Mem)) Hook {
	var mu sync.Mutex
	calls, point := 0, 0
	rng := rand.New(rand.NewPCG(seed, 0x6865646765)) //nolint:gosec // reproducible on purpose
	return func(op Op, _ string) error {
		if op&OpMutate == 0 {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls%k != 0 {
			return nil
		}
		at(point, m.CrashClone(rng, ps[point%len(ps)]))
		point++
		return nil
	}
}

type hooked struct {
	FS
	hook Hook
}

func (h *hooked) Open(name string) (File, error) {
	if err := h.hook(OpOpen, name); err != nil {
		return nil, err
	}
	f, err := h.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return &hookedFile{f, h.hook, name}, nil
}

func (h *hooked) Create(name string) (File, error) {
	if err := h.hook(OpCreate, name); err != nil {
		return nil, err
	}
	f, err := h.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return &hookedFile{f, h.hook, name}, nil
}

func (h *hooked) SyncDir(dir string) error {
	if err := h.hook(OpSyncDir, dir); err != nil {
		return err
	}
	return h.FS.SyncDir(dir)
}

func (h *hooked) Rename(from, to string) error {
	if err := h.hook(OpRename, from); err != nil {
		return err
	}
	return h.FS.Rename(from, to)
}

func (h *hooked) Remove(name string) error {
	if err := h.hook(OpRemove, name); err != nil {
		return err
	}
	return h.FS.Remove(name)
}

func (h *hooked) RemoveAll(name string) error {
	if err := h.hook(OpRemove, name); err != nil {
		return err
	}
	return h.FS.RemoveAll(name)
}

func (h *hooked) MkdirAll(dir string) error {
	if err := h.hook(OpMkdir, dir); err != nil {
		return err
	}
	return h.FS.MkdirAll(dir)
}

func (h *hooked) List(dir string) ([]Info, error) {
	if err := h.hook(OpList, dir); err != nil {
		return nil, err
	}
	return h.FS.List(dir)
}

func (h *hooked) Stat(name string) (Info, error) {
	if err := h.hook(OpList, name); err != nil {
		return Info{}, err
	}
	return h.FS.Stat(name)
}

func (h *hooked) Lock(name string, content []byte) (io.Closer, error) {
	if err := h.hook(OpLock, name); err != nil {
		return nil, err
	}
	return h.FS.Lock(name, content)
}

type hookedFile struct {
	File
	hook Hook
	name string
}

func (f *hookedFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.hook(OpRead, f.name); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *hookedFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.hook(OpWrite, f.name); err != nil {
		if errors.Is(err, ErrShort) {
			n, _ := f.File.WriteAt(p[:len(p)/2], off)
			return n, err
		}
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *hookedFile) Sync() error {
	if err := f.hook(OpSync, f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *hookedFile) Truncate(size int64) error {
	if err := f.hook(OpTruncate, f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *hookedFile) Preallocate(off, n int64, grow bool) error {
	if err := f.hook(OpPreallocate, f.name); err != nil {
		return err
	}
	return f.File.Preallocate(off, n, grow)
}
