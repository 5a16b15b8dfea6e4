package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// Heap describes a heap to the checker.
type Heap struct {
	Name string
	File page.RelFile
	// Row, if set, looks at a live row: a fault is returned as text, for instance that an end of an edge does not exist.
	Row func(ctx context.Context, row []byte) (fault string, err error)
}

// Index describes a B-tree to the checker.
type Index struct {
	Name   string
	Tree   *btree.Tree
	Unique bool
	Heaps  []Member // those that its ordinals name
}

// Member is a heap of an index.
type Member struct {
	Ordinal uint16
	File    page.RelFile
	// Key appends the key that a row has in the index; ok is false if it has no entry. It is asked about old versions too.
	Key func(dst, row []byte) (key []byte, ok bool, err error)
}

// Source is what the checker asks of whoever knows the catalog.
type Source interface {
	// Heaps and Indexes return every one that the committed catalog names, the catalog's own among them.
	Heaps(ctx context.Context) ([]Heap, error)
	Indexes(ctx context.Context) ([]Index, error)
	// Faults, if there are any in the catalog itself, are told to report.
	Faults(ctx context.Context, report func(reason string)) error
	// Derived tells of what is made from rows and indexes and does not agree with them. It is asked if they are in order.
	Derived(ctx context.Context, report func(reason string)) error
}

// Database checks everything: the catalog against the files, each heap, each index, rows against entries both ways.
func (r *Report) Database(ctx context.Context, pool *buffer.Pool, xs Transactions, src Source) error {
	heaps, err := src.Heaps(ctx)
	if err != nil {
		return err
	}
	indexes, err := src.Indexes(ctx)
	if err != nil {
		return err
	}
	if err := src.Faults(ctx, func(reason string) { r.fault(Finding{Block: page.NoBlock, Reason: reason}) }); err != nil {
		return err
	}
	if err := r.files(pool, heaps, indexes); err != nil {
		return err
	}
	broken := map[page.RelFile]bool{} // relations with faults of their own: what they say of others is worth nothing
	for i := range indexes {
		ix := &indexes[i]
		r.Relations++
		r.name = ix.Name
		before := r.NumFaults
		if err := r.Tree(ctx, pool, ix.Tree, nil); err != nil {
			return err
		}
		broken[ix.Tree.Rel()] = r.NumFaults > before
	}
	for i := range heaps {
		r.Relations++
		before := r.NumFaults
		if err := r.heapAndEntries(ctx, pool, xs, &heaps[i], indexes, broken); err != nil {
			return err
		}
		broken[heaps[i].File] = r.NumFaults > before
	}
	for i := range indexes {
		if broken[indexes[i].Tree.Rel()] {
			continue
		}
		if err := r.entriesHaveRows(ctx, pool, xs, &indexes[i], heaps, broken); err != nil {
			return err
		}
	}
	r.name = ""
	if r.NumFaults > 0 {
		return nil
	}
	return src.Derived(ctx, func(reason string) { r.fault(Finding{Block: page.NoBlock, Reason: reason}) })
}

// files holds the catalog against the directory.
func (r *Report) files(pool *buffer.Pool, heaps []Heap, indexes []Index) error {
	named := map[page.RelFile]string{}
	name := func(f page.RelFile, n string) {
		if old, ok := named[f]; ok {
			r.fault(Finding{Rel: f, Block: page.NoBlock, Reason: fmt.Sprintf("belongs to %s and to %s", old, n)})
		}
		named[f] = n
	}
	for _, h := range heaps {
		name(h.File, h.Name)
	}
	for _, ix := range indexes {
		name(ix.Tree.Rel(), ix.Name)
	}
	for f, n := range named {
		ok, err := pool.Exists(f)
		if err != nil {
			return err
		}
		if !ok {
			r.fault(Finding{Rel: f, Block: page.NoBlock, Name: n, Reason: "file is missing"})
		}
	}
	there, err := pool.Relations()
	if err != nil {
		return err
	}
	for _, f := range there {
		if _, ok := named[f]; !ok {
			r.leak(Finding{Rel: f, Block: page.NoBlock, Reason: "no relation names this file"})
		}
	}
	return nil
}

// heapAndEntries checks a heap, and that each live row has its entry in every index.
func (r *Report) heapAndEntries(ctx context.Context, pool *buffer.Pool, xs Transactions, h *Heap, indexes []Index, broken map[page.RelFile]bool) error {
	type want struct {
		ix *Index
		m  *Member
	}
	var wants []want
	for i := range indexes {
		if broken[indexes[i].Tree.Rel()] {
			continue
		}
		for j := range indexes[i].Heaps {
			if m := &indexes[i].Heaps[j]; m.File == h.File {
				wants = append(wants, want{&indexes[i], m})
			}
		}
	}
	r.name = h.Name
	var key []byte
	return r.Heap(ctx, pool, xs, h.File, func(root page.TID, row []byte) error {
		id := page.ID{Rel: h.File, Block: root.Block()}
		for _, w := range wants {
			k, ok, err := w.m.Key(key[:0], row)
			if err != nil {
				r.faultAt(id, "item %d: row cannot be read for %s: %v", root.Offset(), w.ix.Name, err)
				continue
			}
			key = k
			if !ok {
				continue
			}
			has, err := w.ix.Tree.Has(ctx, k, btree.MakePtr(w.m.Ordinal, root))
			if err != nil {
				return err
			}
			if !has {
				r.faultAt(id, "item %d: row has no entry in %s", root.Offset(), w.ix.Name)
			}
		}
		if h.Row != nil {
			text, err := h.Row(ctx, row)
			if err != nil {
				return err
			}
			if text != "" {
				r.faultAt(id, "item %d: %s", root.Offset(), text)
			}
		}
		return nil
	})
}

// entriesHaveRows checks that each entry leads to a line pointer that still waits for the indexes to forget it, or to a chain of
// which some version has the entry's key; and that a unique index has one live row a key.
func (r *Report) entriesHaveRows(ctx context.Context, pool *buffer.Pool, xs Transactions, ix *Index, heaps []Heap, broken map[page.RelFile]bool) error {
	members := map[uint16]*Member{}
	for i := range ix.Heaps {
		members[ix.Heaps[i].Ordinal] = &ix.Heaps[i]
	}
	r.name = ix.Name
	c := &heapPage{r: NewReport(Options{}), xs: xs, next: xs.NextXID(), p: make(page.Page, page.Size)}
	var key, lastKey []byte
	var lastLive uint64
	loaded := page.ID{Block: page.NoBlock}
	var cur btree.Cursor
	cur.Init(ix.Tree, btree.Options{})
	defer cur.Close()
	cur.Seek(btree.Range{})
	for {
		ok, err := cur.Next(ctx)
		if err != nil || !ok {
			return err
		}
		ptr := cur.Ptr()
		m := members[btree.Ordinal(ptr)]
		if m == nil || broken[m.File] {
			continue // an ordinal that nobody has is dead for good (B4)
		}
		tid := btree.TIDOf(ptr)
		id := page.ID{Rel: m.File, Block: tid.Block()}
		wrong := func(format string, args ...any) {
			r.fault(Finding{Rel: ix.Tree.Rel(), Block: page.NoBlock, Reason: fmt.Sprintf("entry for row %v of file %d: %s", tid, m.File, fmt.Sprintf(format, args...))})
		}
		if id != loaded {
			loaded = page.ID{Block: page.NoBlock}
			size, err := pool.Size(m.File, page.Main)
			if err != nil {
				return err
			}
			if id.Block >= size {
				wrong("the file has %d pages", size)
				continue
			}
			if ok, err := r.read(ctx, pool, id, c.p); err != nil {
				return err
			} else if !ok {
				continue
			}
			loaded, c.id = id, id
		}
		if c.p.IsNew() {
			wrong("the page was never written")
			continue
		}
		match, any, heapOnly := false, false, false // any: a version whose key could be told
		if it, ok := heap.Inspect(c.p, tid.Offset()); ok {
			heapOnly = it.Version.Mask&txn.HeapOnly != 0
		}
		state := chainRows(c.p, id.Block, tid.Offset(), func(row []byte) bool {
			k, ok, err := m.Key(key[:0], row)
			if err != nil {
				return false // values out of line of an old version may be gone
			}
			key, any = k, true
			match = ok && bytes.Equal(k, cur.Key())
			return match
		})
		switch {
		case state == page.Unused:
			wrong("the line pointer is free")
		case heapOnly:
			wrong("the version is heap-only")
		case any && !match:
			wrong("no version of the row has the entry's key")
		}
		if !ix.Unique || !match {
			continue
		}
		row, alive := c.liveAt(tid.Offset())
		if !alive {
			continue
		}
		k, ok, err := m.Key(key[:0], row)
		if err != nil || !ok || !bytes.Equal(k, cur.Key()) {
			continue
		}
		key = k
		if lastLive != 0 && lastLive != ptr && bytes.Equal(lastKey, k) && len(k) < btree.MaxKey {
			wrong("a second live row with the same key in a unique index")
		}
		lastKey, lastLive = append(lastKey[:0], k...), ptr
	}
}

// ErrFaults is what Err returns, wrapped, when there are faults.
var ErrFaults = errors.New("check: the database has faults")

// Err returns nil if there is no fault, else an error with the first few.
func (r *Report) Err() error {
	if r.OK() {
		return nil
	}
	text := ""
	for i, f := range r.Faults {
		if i == 5 {
			text += "; …"
			break
		}
		if i > 0 {
			text += "; "
		}
		text += f.String()
	}
	return fmt.Errorf("%w: %d: %s", ErrFaults, r.NumFaults, text)
}
