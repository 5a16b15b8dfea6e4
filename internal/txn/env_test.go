package txn

import (
	"context"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// env is a manager over a log in memory.
type env struct {
	testing.TB
	ctx context.Context
	fs  *vfs.Mem
	wo  wal.Options
	log *wal.Log
	m   *Manager
}

func newEnv(t testing.TB, o Options) *env {
	t.Helper()
	fs := vfs.NewMem()
	for _, d := range []string{"wal", "xact"} {
		if err := fs.MkdirAll(d); err != nil {
			t.Fatal(err)
		}
	}
	fate := new(invariant.Fate)
	wo := wal.Options{FS: fs, Dir: "wal", SegmentSize: 1 << 20, Inline: true, Fate: fate}
	log, err := wal.Create(wo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	o.FS, o.Dir, o.Fate = fs, "xact", fate
	m := New(o)
	if err := m.Start(log); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return &env{TB: t, ctx: ctx, fs: fs, wo: wo, log: log, m: m}
}

func (e *env) write(tx *Tx) XID {
	e.Helper()
	x, err := tx.XID()
	if err != nil {
		e.Fatal(err)
	}
	return x
}

func (e *env) commit(tx *Tx) uint64 {
	e.Helper()
	csn, err := tx.Commit(e.ctx)
	if err != nil {
		e.Fatal(err)
	}
	return uint64(csn)
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// sees reports whether a new snapshot sees what x did.
func (e *env) sees(x XID) bool {
	s := e.m.Snapshot()
	defer s.Close()
	return s.SeesXID(x)
}
