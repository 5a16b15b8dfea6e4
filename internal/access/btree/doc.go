// Package btree keeps index entries in B-trees after Lehman and Yao: every page has a right link and, unless it is the last
// of its level, a high key, so that a search that lost its way finds it again to the right.
//
// A key is opaque bytes in memcmp order, at most [MaxKey] of them. An entry is a key and a row pointer (see [MakePtr]); the
// pointer is the last column of the order, so no two entries are equal and each can be found and removed exactly. The tree
// knows nothing of rows: whoever inserts into a unique index passes a [Judge], whoever reads checks what the pointer leads to.
//
// Promises. Insert, Delete and scans may run at the same time from any number of goroutines. A scan returns every entry that
// was in its range from its beginning to its end, once, in order; entries that came or went meanwhile may be missing or
// present. No call keeps a latch after it returned, and none a pin but a cursor that was asked to ([Options].KeepPin).
// The tree never waits for a transaction: InsertUnique says for whom to wait and has changed nothing then.
//
// Refused: keys above MaxKey (cut them first, B13), an entry that is there already.
//
// Invariants, checked by [Tree.Verify] and cited by number:
//
// T1: entries of a page ascend strictly by (key, pointer); all are below the page's high key and not below that of its left
// neighbour.
//
// T2: item 0 of a page with a right sibling is its high key; the first data item of an inner page carries no key and stands
// for everything up to the second.
//
// T3: a page never changes its level and never moves; its range only shrinks, at the right. Pages are not removed.
//
// T4: the right link of a page and the left link of its right sibling name each other; both change in one record.
//
// T5: every page but the root and the right half of an incomplete split has exactly one downlink, one level up, whose
// separator equals the high key of the page's left sibling. The left half of an incomplete split carries the flag; the next
// inserter that comes by finishes it, readers just move right (B6).
//
// T6: an item is marked dead only if its row version is dead to every snapshot and the page has not changed since the marker
// read it; it takes part in searches until a split threatens or vacuum comes.
//
// Latches: one at a time on the way down; children before parents and left before right on the way up (A10).
//
// Start reading at [Tree.Insert] and [Cursor.Next]; docs/format/btree.md draws the pages.
package btree
