package catalog

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// table is a catalog table: a heap and a tree over its natural key.
type table struct {
	heap *heap.Table
	tree *btree.Tree
}

func (c *Catalog) openHeap(rel page.RelFile) *heap.Table {
	return heap.Open(heap.Options{Pool: c.pool, Log: c.log, Txns: c.m, File: rel, Relation: uint64(rel)})
}

func (c *Catalog) openTree(rel page.RelFile) *btree.Tree { return btree.Open(c.pool, c.log, rel) }

func (c *Catalog) openTable(rel page.RelFile) *table {
	return &table{c.openHeap(rel), c.openTree(rel + 1)}
}

// createTable makes a catalog table in a new database, whose files nobody can have used.
func (c *Catalog) createTable(ctx context.Context, rel page.RelFile) (*table, error) {
	for _, want := range [2]page.RelFile{rel, rel + 1} {
		got, err := c.storage.Create(0)
		if err != nil {
			return nil, err
		}
		if got != want {
			return nil, dberr.New(dberr.Internal, "relation file %d of the catalog was made as %d", want, got)
		}
	}
	tree, err := btree.Create(ctx, nil, c.pool, c.log, rel+1)
	if err != nil {
		return nil, err
	}
	return &table{c.openHeap(rel), tree}, nil
}

// createFile makes a relation file for the transaction, with an empty tree in it if it shall be one. It goes if the transaction is
// rolled back.
func (c *Catalog) createFile(ctx context.Context, t *txn.Tx, tree bool) (page.RelFile, error) {
	rel, err := c.NewFile(ctx, t)
	if err != nil || !tree {
		return rel, err
	}
	_, err = btree.Create(ctx, t.Crit(), c.pool, c.log, rel)
	return rel, err
}

// NewFile makes an empty relation file for the transaction.
func (c *Catalog) NewFile(_ context.Context, t *txn.Tx) (page.RelFile, error) {
	x, err := t.XID()
	if err != nil {
		return 0, err
	}
	rel, err := c.storage.Create(uint64(x))
	if err != nil {
		return 0, err
	}
	t.NoteCreated(rel)
	return rel, nil
}

// insert adds a row and its entry in the tree.
func (t *table) insert(ctx context.Context, tx *txn.Tx, cid uint32, row, key []byte) (page.TID, error) {
	tid, err := t.heap.Insert(ctx, tx, cid, row)
	if err != nil {
		return 0, err
	}
	return tid, t.tree.Insert(ctx, tx.Crit(), key, btree.MakePtr(0, tid))
}

// delete ends a row. Catalog rows are never updated, so they never move.
func (t *table) delete(ctx context.Context, tx *txn.Tx, cid uint32, tid page.TID) error {
	s := tx.Fresh()
	defer s.Close()
	res, err := t.heap.Delete(ctx, tx, s, cid, tid, 0)
	if err != nil {
		return err
	}
	switch res.Outcome {
	case heap.OK, heap.SelfDeleted:
		return nil
	}
	return dberr.New(dberr.SerializationFailure, "the object was dropped by another transaction")
}

// scan calls f with each row that the snapshot sees.
func (t *table) scan(ctx context.Context, s *txn.Snapshot, f func(tid page.TID, row []byte) error) error {
	sc := t.heap.Scan(s, 0)
	var b heap.Batch
	for {
		if err := sc.Next(ctx, 256, &b); err != nil {
			return err
		}
		if b.Len() == 0 {
			return nil
		}
		for i := range b.Len() {
			if err := f(b.TID[i], b.Row(i)); err != nil {
				return err
			}
		}
	}
}
