package heap

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

func TestChunksKeepValues(t *testing.T) { // B13
	e := newEnv(t)
	h := e.table(Options{NoIndexes: true, FillPercent: 100})
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 50_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	for _, v := range [][]byte{{}, []byte("short"), bytes.Repeat([]byte("abc"), 40_000), noise} {
		tx := e.begin()
		ptr, err := h.StoreChunks(e.ctx, tx, 0, v)
		must(t, err)
		e.commit(tx)
		if ChunkLen(ptr[:]) != len(v) {
			t.Fatalf("length %d, want %d", ChunkLen(ptr[:]), len(v))
		}
		got, err := h.ReadChunks(e.ctx, ptr[:], []byte("head"))
		must(t, err)
		if string(got[:4]) != "head" || !bytes.Equal(got[4:], v) {
			t.Fatalf("value of %d bytes came back as %d", len(v), len(got)-4)
		}
		tx = e.begin()
		must(t, h.DeleteChunks(e.ctx, tx, 0, ptr[:]))
		tx.Rollback()
		if _, err := h.ReadChunks(e.ctx, ptr[:], nil); err != nil {
			t.Fatal(err)
		}
		tx = e.begin()
		must(t, h.DeleteChunks(e.ctx, tx, 0, ptr[:]))
		e.commit(tx)
		n, _ := h.Blocks()
		for b := range n {
			_, err := h.Prune(e.ctx, b)
			must(t, err)
		}
		if _, err := h.ReadChunks(e.ctx, ptr[:], nil); !dberr.Is(err, dberr.DataCorrupted) {
			t.Fatalf("after everything is gone: %v", err)
		}
	}
}
