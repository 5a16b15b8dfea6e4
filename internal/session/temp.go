package session

import (
	"os"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
)

// maxTemp bounds what all statements together keep in temporary files.
const maxTemp = 64 << 30

// tempDir makes temporary files that have no name: they are gone when they are closed, and when the process ends.
type tempDir struct {
	dir  string
	used atomic.Int64
}

func (t *tempDir) Create() (exec.File, error) {
	f, err := os.CreateTemp(t.dir, "hedgerow-*.tmp")
	if err != nil {
		return nil, dberr.Wrap(dberr.IOError, err, "cannot create a temporary file")
	}
	os.Remove(f.Name())
	return &tempFile{File: f, dir: t}, nil
}

type tempFile struct {
	*os.File
	dir  *tempDir
	size int64
}

func (f *tempFile) Write(b []byte) (int, error) {
	if f.dir.used.Add(int64(len(b))) > maxTemp {
		f.dir.used.Add(-int64(len(b)))
		return 0, dberr.New(dberr.TempLimit, "temporary files take more than %d bytes", int64(maxTemp)).WithHint("Raise work_mem, or let the statement return less.")
	}
	n, err := f.File.Write(b)
	f.size += int64(n)
	f.dir.used.Add(int64(n - len(b)))
	if err != nil {
		return n, dberr.Wrap(dberr.DiskFull, err, "cannot write a temporary file")
	}
	return n, nil
}

func (f *tempFile) Close() error {
	f.dir.used.Add(-f.size)
	f.size = 0
	return f.File.Close()
}
