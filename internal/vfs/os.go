package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// OS is the operating system's file system.
var OS FS = osFS{}

type osFS struct{}

type osFile struct{ f *os.File }

func (osFS) Open(name string) (File, error) {
	f, err := os.OpenFile(filepath.FromSlash(name), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Create(name string) (File, error) {
	f, err := os.OpenFile(filepath.FromSlash(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Rename(from, to string) error   { return os.Rename(from, to) }
func (osFS) Remove(name string) error       { return os.Remove(name) }
func (osFS) RemoveAll(name string) error    { return os.RemoveAll(name) }
func (osFS) MkdirAll(dir string) error      { return os.MkdirAll(dir, 0o700) }
func (osFS) SyncDir(dir string) error       { return syncDir(dir) }
func (osFS) Stat(name string) (Info, error) { return infoFrom(os.Stat(name)) }

func infoFrom(st fs.FileInfo, err error) (Info, error) {
	if err != nil {
		return Info{}, err
	}
	return Info{Name: st.Name(), Size: st.Size(), Dir: st.IsDir()}, nil
}

func (osFS) List(dir string) ([]Info, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := make([]Info, 0, len(entries))
	for _, e := range entries {
		info, err := infoFrom(e.Info())
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since ReadDir
		}
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

// osLock keeps the descriptor on which the lock stands.
type osLock struct{ f *os.File }

func (l osLock) Close() error { return l.f.Close() }

func (osFS) Lock(name string, content []byte) (io.Closer, error) {
	f, err := os.OpenFile(filepath.FromSlash(name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ok, err := tryLock(f)
	if err == nil && !ok {
		holder, _ := io.ReadAll(io.LimitReader(f, 4096))
		err = &LockedError{name, holder}
	}
	if err == nil {
		if err = f.Truncate(0); err == nil {
			_, err = f.WriteAt(content, 0)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return osLock{f}, nil
}

func (o osFile) ReadAt(p []byte, off int64) (int, error)  { return o.f.ReadAt(p, off) }
func (o osFile) WriteAt(p []byte, off int64) (int, error) { return o.f.WriteAt(p, off) }
func (o osFile) Truncate(size int64) error                { return o.f.Truncate(size) }
func (o osFile) Close() error                             { return o.f.Close() }
func (o osFile) Sync() error                              { return datasync(o.f) }

func (o osFile) Size() (int64, error) {
	st, err := o.f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (o osFile) Preallocate(off, n int64, grow bool) error {
	return preallocate(o.f, off, n, grow)
}

// growOnly is Preallocate where the system has no way to reserve blocks.
func growOnly(f *os.File, off, n int64, grow bool) error {
	if !grow {
		return nil
	}
	st, err := f.Stat()
	if err != nil || st.Size() >= off+n {
		return err
	}
	return f.Truncate(off + n)
}
