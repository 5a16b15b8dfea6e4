package btree

import (
	"sync/atomic"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// env is a pool and a log in memory.
type env struct {
	fs   *vfs.Mem
	pool *buffer.Pool
	log  *wal.Log
	last atomic.Uint64
}

func newEnv(t testing.TB) *env { return newEnvFrames(t, 4096) }

func newEnvFrames(t testing.TB, frames int) *env {
	t.Helper()
	fs := vfs.NewMem()
	for _, dir := range []string{"base", "wal"} {
		if err := fs.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	fate := new(invariant.Fate)
	log, err := wal.Create(wal.Options{FS: fs, Dir: "wal", Inline: true, Fate: fate})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := buffer.New(buffer.Options{FS: fs, Dir: "base", Frames: frames, Log: log, Fate: fate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return &env{fs: fs, pool: pool, log: log}
}

// rel makes an empty relfile.
func (e *env) rel(t testing.TB) page.RelFile {
	t.Helper()
	r := page.RelFile(e.last.Add(1))
	if err := e.pool.Create(r); err != nil {
		t.Fatal(err)
	}
	return r
}

// tree makes an empty tree.
func (e *env) tree(t testing.TB) *Tree {
	t.Helper()
	tr, err := Create(t.Context(), nil, e.pool, e.log, e.rel(t))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
