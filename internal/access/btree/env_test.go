package btree

import (
	"sync/atomic"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

type env struct {
	pool *buffer.Pool
	log  *wal.Log
	last atomic.Uint64
}

func newEnv(t testing.TB) *env {
	log := &wal.Log{}
	fs := vfs.NewMem()
	if err := fs.MkdirAll("base"); err != nil {
		t.Fatal(err)
	}
	pool, err := buffer.New(buffer.Options{FS: fs, Dir: "base", Frames: 4096, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return &env{pool: pool, log: log}
}
func (e *env) rel(t testing.TB) page.RelFile {
	r := page.RelFile(e.last.Add(1))
	if err := e.pool.Create(r); err != nil {
		t.Fatal(err)
	}
	return r
}
func (e *env) tree(t testing.TB) *Tree {
	tr, err := Create(t.Context(), nil, e.pool, e.log, e.rel(t))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
