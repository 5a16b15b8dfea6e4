package heap

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// env is a pool, a log and a transaction manager in memory.
type env struct {
	testing.TB
	ctx  context.Context
	fs   *vfs.Mem
	pool *buffer.Pool
	log  *wal.Log
	m    *txn.Manager
	rels page.RelFile
}

func newEnv(t testing.TB) *env { return newEnvWith(t, txn.Options{}) }

func newEnvWith(t testing.TB, o txn.Options) *env {
	t.Helper()
	fs := vfs.NewMem()
	for _, dir := range []string{"base", "wal", "xact"} {
		if err := fs.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	fate := new(invariant.Fate)
	log, err := wal.Create(wal.Options{FS: fs, Dir: "wal", Inline: true, Fate: fate})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := buffer.New(buffer.Options{FS: fs, Dir: "base", Frames: 2048, Log: log, Fate: fate})
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
	o.FS, o.Dir, o.Fate = fs, "xact", fate
	m := txn.New(o)
	if err := m.Start(log); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return &env{TB: t, ctx: ctx, fs: fs, pool: pool, log: log, m: m}
}

func (e *env) table(o Options) *Table {
	e.Helper()
	e.rels++
	if err := e.pool.Create(e.rels); err != nil {
		e.Fatal(err)
	}
	o.Pool, o.Log, o.Txns, o.File, o.Relation = e.pool, e.log, e.m, e.rels, uint64(e.rels)+1000
	return Open(o)
}

func (e *env) begin() *txn.Tx { return e.m.Begin(txn.TxOptions{}) }

func (e *env) beginRR() *txn.Tx {
	return e.m.Begin(txn.TxOptions{Isolation: txn.RepeatableRead})
}

func (e *env) commit(tx *txn.Tx) {
	e.Helper()
	if _, err := tx.Commit(e.ctx); err != nil {
		e.Fatal(err)
	}
}

// row makes a row of an id and text.
func row(id uint64, text string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, id), text...)
}

func text(r []byte) string { return string(r[8:]) }

func (e *env) insert(t *Table, tx *txn.Tx, id uint64, s string) page.TID {
	e.Helper()
	tid, err := t.Insert(e.ctx, tx, tx.CurrentCID(), row(id, s))
	if err != nil {
		e.Fatal(err)
	}
	if _, err := tx.Segment(1); err != nil {
		e.Fatal(err)
	}
	return tid
}

// update changes a row as a statement of its own does; text "" deletes.
func (e *env) update(t *Table, tx *txn.Tx, tid page.TID, id uint64, s string, hot bool) Result {
	e.Helper()
	snap := tx.Snapshot()
	defer snap.Close()
	res, err := e.tryUpdate(t, tx, snap, tid, id, s, hot)
	if err != nil {
		e.Fatal(err)
	}
	return res
}

func (e *env) tryUpdate(t *Table, tx *txn.Tx, snap *txn.Snapshot, tid page.TID, id uint64, s string, hot bool) (res Result, err error) {
	cid, err := tx.Segment(1)
	if err != nil {
		return res, err
	}
	if s == "" {
		return t.Delete(e.ctx, tx, snap, cid, tid, id)
	}
	return t.Update(e.ctx, tx, snap, cid, tid, id, row(id, s), UpdateOptions{HOT: hot})
}

// read returns the text of a row, or "" if the snapshot does not see it from tid.
func (e *env) read(t *Table, s *txn.Snapshot, cid uint32, tid page.TID, id uint64, w Want) string {
	e.Helper()
	g := t.Getter()
	defer g.Release()
	r, _, ok, err := g.Get(e.ctx, s, cid, tid, id, w)
	if err != nil {
		e.Fatal(err)
	}
	if !ok {
		return ""
	}
	return text(r)
}

// look reads with a snapshot of the transaction's own, or of nobody.
func (e *env) look(t *Table, tx *txn.Tx, tid page.TID, id uint64) string {
	e.Helper()
	if tx == nil {
		s := e.m.Snapshot()
		defer s.Close()
		return e.read(t, s, 0, tid, id, ByIndex)
	}
	s := tx.Snapshot()
	defer s.Close()
	return e.read(t, s, tx.CurrentCID(), tid, id, ByHint)
}

// all returns everything that a snapshot sees by scanning.
func (e *env) all(t *Table, s *txn.Snapshot, cid uint32) map[uint64]string {
	e.Helper()
	out := map[uint64]string{}
	sc := t.Scan(s, cid)
	var b Batch
	for {
		if err := sc.Next(e.ctx, 7, &b); err != nil {
			e.Fatal(err)
		}
		if b.Len() == 0 {
			return out
		}
		for i := range b.Len() {
			r := b.Row(i)
			id := binary.LittleEndian.Uint64(r)
			if _, twice := out[id]; twice {
				e.Fatalf("row %d twice in one scan", id)
			}
			out[id] = text(r)
		}
	}
}
