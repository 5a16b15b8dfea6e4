// Package wal is the write-ahead log: one stream of records, kept in segments that are made beforehand and used again.
//
// A change works so: pin and latch the pages; check everything that can fail; enter a critical section; change the pages; put
// the record together with a [Builder] and [Log.Insert] it; leave the critical section; unlatch. Commit is [Log.FlushTo] the
// commit record's LSN.
//
// W1: an LSN names the end of a record (A1). LSNs grow strictly; the next record begins at the LSN of the one before, or behind
// the segment header where that is due.
//
// W2: FlushTo returns without an error only if every byte below the LSN is on disk. One goroutine writes at a time, and takes with
// it everything inserted by then: commits of many share one sync.
//
// W3: a record is readable only where it was written: its checksum covers its position and the database's id, and it names the
// start of the record before it. Bytes left over in a segment that is used again are never taken for records. What recovery finds
// behind the end of the log is erased before anything new is written.
//
// W4: every flush is followed, before the next record, by a watermark record that says how far the log was durable. A damaged
// record below a watermark that can be read further on is corruption, and the log is refused; else it is the torn end of the
// last write, and the log ends there.
//
// W5: the first record that changes a page after the redo pointer carries an image of the page (page.lsn ≤ redoPtr, decided
// under the insert lock), unless the record makes the page anew.
//
// W6: a sync that fails, or a short write, is the end (A11): the log and whoever shares its Fate are poisoned, nothing more is
// written or acknowledged, and every call returns 58030.
//
// The hook of InsertWith runs under the insert lock, so that a queue that it appends to has the order of LSNs (A2). The callback
// of OnFlush runs after a flush and before those wake who waited for it; it must not insert.
//
// The bytes are drawn in docs/format/wal.md.
package wal
