package catalog

import (
	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
)

// TableKey returns the key that a row of the catalog table with the heap has in the table's tree: for checkers.
func TableKey(heap page.RelFile, row []byte) ([]byte, error) {
	var r interface {
		decode([]byte) error
		key() []byte
	}
	switch heap {
	case fileGraphs:
		r = new(graphRow)
	case fileLabels:
		r = new(labelRow)
	case fileKeys:
		r = new(keyRow)
	case fileSets:
		r = new(setRow)
	case fileHeapLabels:
		r = new(heapLabelRow)
	case fileShown:
		r = new(shownRow)
	case fileIndexes:
		r = new(indexRow)
	case fileIndexHeaps:
		r = new(indexHeapRow)
	case fileConstraints:
		r = new(constraintRow)
	case fileStats:
		r = new(statsRow)
	default:
		return nil, dberr.New(dberr.Internal, "file %d is no catalog table", heap)
	}
	if err := r.decode(row); err != nil {
		return nil, err
	}
	return r.key(), nil
}

// TreeOf returns the tree of one of the catalog's own tables.
func (c *Catalog) TreeOf(r CatalogRelation) *btree.Tree {
	for _, t := range c.tables() {
		if (*t).heap.File() == r.Heap {
			return (*t).tree
		}
	}
	return nil
}
