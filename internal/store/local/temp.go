package local

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/spill"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// tempFiles makes the temporary files of index builds. A crash leaves them behind; who opens the directory empties it.
type tempFiles struct {
	fs  vfs.FS
	dir string
	n   atomic.Uint64
}

func (t *tempFiles) Create() (spill.File, error) {
	name := vfs.Join(t.dir, fmt.Sprintf("build-%d.tmp", t.n.Add(1)))
	f, err := t.fs.Create(name)
	if err != nil {
		return nil, dberr.Wrap(tempCode(err), err, "cannot create a temporary file")
	}
	return &tempFile{File: f, fs: t.fs, name: name}, nil
}

type tempFile struct {
	vfs.File
	fs   vfs.FS
	name string
	size int64
}

func (f *tempFile) Write(b []byte) (int, error) {
	n, err := f.WriteAt(b, f.size)
	f.size += int64(n)
	if err != nil {
		return n, dberr.Wrap(tempCode(err), err, "cannot write a temporary file")
	}
	return n, nil
}

// Close removes the file too.
func (f *tempFile) Close() error { return errors.Join(f.File.Close(), f.fs.Remove(f.name)) }

func tempCode(err error) dberr.Code {
	if errors.Is(err, syscall.ENOSPC) {
		return dberr.DiskFull
	}
	return dberr.IOError
}
