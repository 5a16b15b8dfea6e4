package check

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// db is a heap with a unique index on the id and an index on the text.
type db struct {
	t    *testing.T
	ctx  context.Context
	fs   *vfs.Mem
	pool *buffer.Pool
	log  *wal.Log
	m    *txn.Manager
	rows *heap.Table
	id   *btree.Tree
	text *btree.Tree
	bad  string // what Row says
}

const (
	rowsFile = page.RelFile(11)
	idFile   = page.RelFile(12)
	textFile = page.RelFile(13)
)

func newDB(t *testing.T) *db {
	t.Helper()
	d := &db{t: t, ctx: t.Context(), fs: vfs.NewMem()}
	for _, dir := range []string{"base", "wal", "xact"} {
		if err := d.fs.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	fate := new(invariant.Fate)
	var err error
	if d.log, err = wal.Create(wal.Options{FS: d.fs, Dir: "wal", Inline: true, Fate: fate}); err != nil {
		t.Fatal(err)
	}
	if d.pool, err = buffer.New(buffer.Options{FS: d.fs, Dir: "base", Frames: 1024, Log: d.log, Fate: fate}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.log.Close()  //nolint:errcheck // nothing is kept
		d.pool.Close() //nolint:errcheck // nothing is kept
	})
	d.m = txn.New(txn.Options{FS: d.fs, Dir: "xact", Fate: fate})
	if err := d.m.Start(d.log); err != nil {
		t.Fatal(err)
	}
	for _, f := range []page.RelFile{rowsFile, idFile, textFile} {
		if err := d.pool.Create(f); err != nil {
			t.Fatal(err)
		}
	}
	d.rows = heap.Open(heap.Options{Pool: d.pool, Log: d.log, Txns: d.m, File: rowsFile, Relation: 1})
	if d.id, err = btree.Create(d.ctx, nil, d.pool, d.log, idFile); err != nil {
		t.Fatal(err)
	}
	if d.text, err = btree.Create(d.ctx, nil, d.pool, d.log, textFile); err != nil {
		t.Fatal(err)
	}
	return d
}

func row(id uint64, s string) []byte { return append(binary.LittleEndian.AppendUint64(nil, id), s...) }

func idKey(dst, row []byte) ([]byte, bool, error) {
	return binary.BigEndian.AppendUint64(dst, binary.LittleEndian.Uint64(row)), true, nil
}

// textKey is the text up to a '|': what stands behind it is not indexed.
func textKey(dst, row []byte) ([]byte, bool, error) {
	s, _, _ := strings.Cut(string(row[8:]), "|")
	return append(dst, s...), s != "", nil
}

func (d *db) enter(tid page.TID, row []byte) {
	d.t.Helper()
	k, _, _ := idKey(nil, row)
	if err := d.id.Insert(d.ctx, nil, k, btree.MakePtr(0, tid)); err != nil {
		d.t.Fatal(err)
	}
	if k, ok, _ := textKey(nil, row); ok {
		if err := d.text.Insert(d.ctx, nil, k, btree.MakePtr(3, tid)); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *db) insert(tx *txn.Tx, id uint64, s string) page.TID {
	d.t.Helper()
	tid, err := d.rows.Insert(d.ctx, tx, tx.CurrentCID(), row(id, s))
	if err != nil {
		d.t.Fatal(err)
	}
	d.enter(tid, row(id, s))
	return tid
}

func (d *db) update(tx *txn.Tx, tid page.TID, id uint64, s string, hot bool) page.TID {
	d.t.Helper()
	snap := tx.Snapshot()
	defer snap.Close()
	cid, err := tx.Segment(1)
	if err != nil {
		d.t.Fatal(err)
	}
	if s == "" {
		if _, err := d.rows.Delete(d.ctx, tx, snap, cid, tid, id); err != nil {
			d.t.Fatal(err)
		}
		return 0
	}
	res, err := d.rows.Update(d.ctx, tx, snap, cid, tid, id, row(id, s), heap.UpdateOptions{HOT: hot})
	if err != nil {
		d.t.Fatal(err)
	}
	if res.Outcome != heap.OK {
		return 0 // deleted before
	}
	if !res.HOT {
		d.enter(res.TID, row(id, s))
	}
	return res.TID
}

func (d *db) commit(tx *txn.Tx) {
	d.t.Helper()
	if _, err := tx.Commit(d.ctx); err != nil {
		d.t.Fatal(err)
	}
}

// fill makes rows in all states that a quiet database has.
func (d *db) fill() {
	tx := d.m.Begin(txn.TxOptions{})
	tids := map[uint64]page.TID{}
	for id := uint64(1); id <= 400; id++ {
		tids[id] = d.insert(tx, id, "name"+string(rune('a'+id%7))+"|x")
	}
	d.commit(tx)
	tx = d.m.Begin(txn.TxOptions{})
	for id := uint64(1); id <= 400; id += 3 {
		tids[id] = d.update(tx, tids[id], id, "name"+string(rune('a'+id%7))+"|longer", true)
	}
	for id := uint64(2); id <= 400; id += 9 {
		tids[id] = d.update(tx, tids[id], id, "other", false)
	}
	for id := uint64(3); id <= 400; id += 11 {
		d.update(tx, tids[id], id, "", false)
	}
	d.commit(tx)
	tx = d.m.Begin(txn.TxOptions{})
	for id := uint64(1); id <= 400; id += 6 {
		d.update(tx, tids[id], id, "name"+string(rune('a'+id%7))+"|never", true)
	}
	d.insert(tx, 1000, "never")
	tx.Rollback()
	s := d.m.Snapshot() // reading prunes and leaves hints
	defer s.Close()
	var b heap.Batch
	for sc := d.rows.Scan(s, 0); ; {
		if err := sc.Next(d.ctx, 100, &b); err != nil {
			d.t.Fatal(err)
		}
		if b.Len() == 0 {
			return
		}
	}
}

func (d *db) Heaps(context.Context) ([]Heap, error) {
	return []Heap{{Name: "rows", File: rowsFile, Row: func(_ context.Context, row []byte) (string, error) {
		if binary.LittleEndian.Uint64(row) == 7 {
			return d.bad, nil
		}
		return "", nil
	}}}, nil
}

func (d *db) Indexes(context.Context) ([]Index, error) {
	return []Index{
		{Name: "rows_id", Tree: d.id, Unique: true, Heaps: []Member{{0, rowsFile, idKey}}},
		{Name: "rows_text", Tree: d.text, Heaps: []Member{{3, rowsFile, textKey}}},
	}, nil
}

func (d *db) Faults(context.Context, func(string)) error  { return nil }
func (d *db) Derived(context.Context, func(string)) error { return nil }

func (d *db) check() *Report {
	d.t.Helper()
	r := NewReport(Options{EndOfLog: d.log.InsertedLSN()})
	if err := r.Database(d.ctx, d.pool, d.m, d); err != nil {
		d.t.Fatal(err)
	}
	return r
}

func TestGoodDatabaseHasNoFaults(t *testing.T) {
	d := newDB(t)
	d.fill()
	r := d.check()
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if r.NumLeaks != 0 {
		t.Fatalf("leaks: %v", r.Leaks)
	}
	if want := uint64(400 - (400-3)/11 - 1); r.Rows != want {
		t.Errorf("%d rows, want %d", r.Rows, want)
	}
	if r.Relations != 3 || r.Entries == 0 || r.Versions < r.Rows {
		t.Errorf("%+v", r)
	}
}

// patch changes bytes of a page behind everybody's back.
func (d *db) patch(rel page.RelFile, fork page.Fork, b page.Block, f func(p page.Page)) {
	d.t.Helper()
	fr, err := d.pool.Pin(d.ctx, page.ID{Rel: rel, Fork: fork, Block: b})
	if err != nil {
		d.t.Fatal(err)
	}
	fr.Lock()
	f(fr.Page())
	fr.MarkDirty()
	fr.Unlock()
	fr.Unpin()
}

// firstOf returns the first item of a page that the test likes.
func (d *db) firstOf(p page.Page, like func(off int, it heap.Item) bool) int {
	for off := 1; off <= p.NumItems(); off++ {
		if it, ok := heap.Inspect(p, off); ok && like(off, it) {
			return off
		}
	}
	d.t.Fatal("no such item")
	return 0
}

// TestEachFaultIsNamed breaks one thing at a time; the report names the file, the page and what is wrong.
func TestEachFaultIsNamed(t *testing.T) {
	u48 := func(p page.Page, at int, v uint64) {
		binary.LittleEndian.PutUint32(p[at:], uint32(v))
		binary.LittleEndian.PutUint16(p[at+4:], uint16(v>>32))
	}
	plain := func(_ int, it heap.Item) bool { return it.Version.Mask&(txn.HeapOnly|txn.HotUpdated) == 0 }
	hot := func(_ int, it heap.Item) bool { return it.Version.Mask&txn.HeapOnly != 0 }
	for _, c := range []struct {
		name, want string
		do         func(d *db)
	}{
		{"xmin of the future", "file 11 page 0: item", func(d *db) {
			d.patch(rowsFile, page.Main, 0, func(p page.Page) {
				u48(p, p.ItemID(d.firstOf(p, plain)).Offset()+4, 1<<40)
			})
		}},
		{"lower beyond upper", "contradict each other", func(d *db) {
			d.patch(rowsFile, page.Main, 0, func(p page.Page) { binary.LittleEndian.PutUint16(p[16:], 8000) })
		}},
		{"items overlap", "overlap", func(d *db) {
			d.patch(rowsFile, page.Main, 0, func(p page.Page) {
				a := d.firstOf(p, plain)
				b := d.firstOf(p, func(off int, it heap.Item) bool { return off > a && plain(off, it) })
				p.SetItemID(b, p.ItemID(a))
			})
		}},
		{"orphan heap-only", "heap-only version that no chain leads to", func(d *db) {
			d.patch(rowsFile, page.Main, 0, func(p page.Page) {
				h := d.firstOf(p, hot)
				for off := 1; off <= p.NumItems(); off++ {
					if id := p.ItemID(off); id.State() == page.Redirect && id.Target() == h {
						p.SetItemID(off, page.MakeItemID(0, page.Dead, 0))
					} else if it, ok := heap.Inspect(p, off); ok && it.Next.Offset() == h && off != h {
						p.SetItemID(off, page.MakeItemID(0, page.Dead, 0))
					}
				}
			})
		}},
		{"redirect to nothing", "is no version", func(d *db) {
			d.patch(rowsFile, page.Main, 0, func(p page.Page) {
				p.SetItemID(1, page.MakeRedirect(2))
				p.SetItemID(2, page.MakeItemID(0, page.Dead, 0))
			})
		}},
		{"false hint", "hint says that xmin", func(d *db) {
			d.patch(rowsFile, page.Main, 0, func(p page.Page) {
				at := p.ItemID(d.firstOf(p, plain)).Offset()
				m := binary.LittleEndian.Uint16(p[at:])
				binary.LittleEndian.PutUint16(p[at:], m&^uint16(txn.XminSeen)|uint16(txn.XminAborted))
			})
		}},
		{"all-visible page with a dead row", "all-visible", func(d *db) {
			d.patch(rowsFile, page.Main, 1, func(p page.Page) { p.SetFlags(p.Flags() ^ 1) })
		}},
		{"foreign page", "is a btree page in a file of heap pages", func(d *db) {
			d.patch(rowsFile, page.Main, 1, func(p page.Page) { p.Init(page.TypeBTree, 16) })
		}},
		{"LSN beyond the log", "beyond the end of the log", func(d *db) {
			d.patch(textFile, page.Main, 1, func(p page.Page) { p.SetLSN(1 << 50) })
		}},
		{"tree out of order", "file 12 page 1: item", func(d *db) {
			d.patch(idFile, page.Main, 1, func(p page.Page) {
				n := p.NumItems()
				a, b := p.ItemID(n), p.ItemID(n-1)
				p.SetItemID(n, b)
				p.SetItemID(n-1, a)
			})
		}},
		{"wrong left link", "T4", func(d *db) {
			d.patch(idFile, page.Main, 2, func(p page.Page) { binary.LittleEndian.PutUint32(p[p.SpecialStart()+4:], 9) })
		}},
		{"row without entry", "row has no entry in rows_id", func(d *db) {
			k := binary.BigEndian.AppendUint64(nil, 6)
			ptrs, err := d.id.LookupEq(d.ctx, k, nil)
			if err != nil || len(ptrs) != 1 {
				d.t.Fatal(ptrs, err)
			}
			if ok, err := d.id.Delete(d.ctx, nil, k, ptrs[0]); !ok || err != nil {
				d.t.Fatal(ok, err)
			}
		}},
		{"entry without row", "the line pointer is free", func(d *db) {
			if err := d.text.Insert(d.ctx, nil, []byte("x"), btree.MakePtr(3, page.MakeTID(0, 255))); err != nil {
				d.t.Fatal(err)
			}
		}},
		{"entry beyond the file", "the file has", func(d *db) {
			if err := d.text.Insert(d.ctx, nil, []byte("x"), btree.MakePtr(3, page.MakeTID(4000, 1))); err != nil {
				d.t.Fatal(err)
			}
		}},
		{"entry with another key", "no version of the row has the entry's key", func(d *db) {
			if err := d.text.Insert(d.ctx, nil, []byte("x"), btree.MakePtr(3, page.MakeTID(0, 4))); err != nil {
				d.t.Fatal(err)
			}
		}},
		{"duplicate", "second live row with the same key", func(d *db) {
			tx := d.m.Begin(txn.TxOptions{})
			d.insert(tx, 8, "twin")
			d.commit(tx)
		}},
		{"edge without an end", "start does not exist", func(d *db) { d.bad = "start does not exist" }},
		{"file is gone", "file is missing", func(d *db) {
			if err := d.pool.Drop(d.ctx, textFile); err != nil {
				d.t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDB(t)
			d.fill()
			c.do(d)
			r := d.check()
			if r.OK() {
				t.Fatal("no fault found")
			}
			if text := r.Err().Error(); !strings.Contains(text, c.want) {
				t.Errorf("%s\nshould say: %s", text, c.want)
			}
		})
	}
}

// TestLeaksAreNoFaults (B11).
func TestLeaksAreNoFaults(t *testing.T) {
	d := newDB(t)
	d.fill()
	if err := d.pool.Create(77); err != nil {
		t.Fatal(err)
	}
	for _, rel := range []page.RelFile{rowsFile, idFile} {
		f, err := d.pool.Extend(d.ctx, rel, page.Main)
		if err != nil {
			t.Fatal(err)
		}
		f.Unlock()
		f.Unpin()
	}
	r := d.check()
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if r.NumLeaks != 3 {
		t.Errorf("leaks: %v", r.Leaks)
	}
}

// TestBitsOnDisk: a flipped bit anywhere in a file is found by its checksum and the page is named (K1, K2).
func TestBitsOnDisk(t *testing.T) {
	d := newDB(t)
	d.fill()
	if err := d.pool.FlushAll(d.ctx); err != nil {
		t.Fatal(err)
	}
	for _, rel := range []string{"11", "12", "13"} {
		f, err := d.fs.Open("base/" + rel)
		if err != nil {
			t.Fatal(err)
		}
		var b [1]byte
		const at = page.Size + 5000
		if _, err := f.ReadAt(b[:], at); err != nil {
			t.Fatal(err)
		}
		b[0] ^= 0x10
		if _, err := f.WriteAt(b[:], at); err != nil {
			t.Fatal(err)
		}
	}
	cold, err := buffer.New(buffer.Options{FS: d.fs, Dir: "base", Frames: 64, Log: d.log})
	if err != nil {
		t.Fatal(err)
	}
	defer cold.Close() //nolint:errcheck // nothing is written
	old := d.pool
	d.pool, d.id, d.text = cold, btree.Open(cold, d.log, idFile), btree.Open(cold, d.log, textFile)
	r := d.check()
	d.pool = old
	for _, want := range []string{"file 11 page 1: ", "file 12 page 1: ", "file 13 page 1: "} {
		if !strings.Contains(r.Err().Error(), want) {
			t.Errorf("%v\nshould name %s", r.Err(), want)
		}
	}
}
