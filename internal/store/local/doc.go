// Package local keeps graphs in the pages of this machine: it is package store's interfaces over the catalog, heaps, B-trees and
// transactions.
//
// A vertex is a row in the heap of the first label that it was created with, a relationship one in the heap of its type
// (docs/format/rows.md). A row is reached by its hint, a TID, if that is still right, else by the id index; nothing else exists, and
// no write scans. Readers judge versions by the statement's snapshot and the clause's command id. Writers lock rows first, wait for
// others outside every latch, and follow to the newest version. What a statement saw after its snapshot (a row that it waited for, a
// MERGE probe) it sees from then on, in every read.
//
// Promised: what package store promises; a call returns with nothing pinned; memory of a write is bounded by its batch, the list of
// vertices that a statement deleted apart (16 bytes each). Refused: a vertex with relationships is not deleted (23503), an edge
// without ends is not made (P0002).
//
// L1: a version of a row has an entry in every index of its label set whose keys it has, or is heap-only behind one that has: a
// change is heap-only iff no indexed key and no indexed label changes.
// L2: whoever writes rows of a heap holds ROW EXCLUSIVE on it, and ACCESS SHARE on every heap of the indexes that it enters; whoever
// reads holds ACCESS SHARE (rules B4). An index build holds SHARE on the heaps and on the label's growth (rules B5).
// L3: both ends of an edge were locked KEY SHARE and there, at the end of their chains, when it was made; a vertex is gone only if, at the end
// of its statement, a fresh snapshot shows no edge at it (rules B3).
// L4: chunks of values out of line belong to exactly one pointer in exactly one row's newest version, or in older ones that share it (rules B13).
// L5: counters move with the commit, before it is visible (rules B9).
//
// Start reading at [Store.Begin]; reads are in read.go, seek.go and scan.go, writes in write.go.
package local
