// Package recovery makes a database's files agree with its log: checkpoints while it runs, redo after a crash.
//
// R1: every change whose record begins before the redo pointer of a control copy is in the data files, synced, when that copy is
// written. Redo from there on brings back the rest. There is no undo: what has no commit record is invisible.
//
// R2 (A4): a checkpoint chooses the redo pointer under the insert lock, flushes the log to it, waits until every final record
// below it is in its status word, has the statuses written and synced, writes the pages that are dirty, syncs the files, logs the
// checkpoint, flushes, writes the control file. Log is kept from the older control copy's redo on.
//
// R3: one of the two control copies is valid at all times: they alternate, lie in different disk blocks, and carry a sequence
// number and a checksum.
//
// R4: redo is idempotent. A page takes a change iff its LSN is below the record's; an image replaces the page; what runs twice,
// also because recovery itself was cut short, ends the same.
//
// R5: a record that needs a page that is not there, or is damaged, must be explained by a later record that drops or cuts off the
// page, or brings all of it; else the database is damaged, and recovery says so.
//
// R6 (B11): relfile numbers are logged in blocks before the first of them is used, and never used twice.
//
// R7 (B12): a new database is built in DIR/.init; it exists once its control file stands in DIR.
//
// The control file is drawn in docs/format/control.md.
package recovery
