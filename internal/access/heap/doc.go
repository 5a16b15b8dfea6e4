// Package heap stores row versions in slotted pages.
//
// A row is opaque bytes that begin with its id (u64, little-endian). An update makes a new version; the old one points to it,
// and readers choose by their snapshot. A row is reached through its root: the line pointer that indexes know. Versions that
// changed nothing indexed hang behind it on the same page (heap-only tuples) and need no index entries; every TID that leaves
// this package is a root. A version lives on its page until no snapshot can see it; then pruning takes it, on the way of
// readers and writers, and its space is used again at once, its root pointer only after the indexes have forgotten it.
//
// Promised: readers take a pin and a shared latch and never wait for a row lock; nothing here waits with a latch or a pin held;
// every change is one log record and either wholly there after a crash or not at all. Refused: rows above [MaxRow].
//
// H1: xmin of a version never changes; a successor has xmin = its predecessor's xmax, else the chain ends before it.
// H2: heap-only versions lie on the page of their root, behind it, and no index knows them.
// H3: a line pointer that an index may know becomes dead, not unused, when its chain is gone; the tables without indexes
// ([Options.NoIndexes]) free it at once.
// H4: a page marked all-visible holds only versions that every snapshot sees; the mark goes with the change, in one record.
// H5: whoever sets an xmax found none in force and no lock in the table that excludes it, under the exclusive latch (rules B2).
// H6: items move only under the cleanup lock (exclusive latch, sole pin), so row bytes may be read under a pin alone.
// H7: hint bits say only what is true for every snapshot and durable (rules A2), and are set by atomics under the
// share-exclusive latch (rules A10).
// H8: the free space map is a rumour: whoever follows it looks at the page, and corrects it.
// H9: along the versions that one transaction makes of a row, cmin never decreases (rules A5).
//
// Start reading at [Table.Insert], [Getter.Get] and [Table.Update]; the bytes are drawn in docs/format/heap.md.
package heap
