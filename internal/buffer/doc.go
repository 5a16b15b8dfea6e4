// Package buffer keeps pages in memory: an arena of frames outside the Go heap, descriptors without pointers, a sharded table
// from page to frame, and a clock that finds a frame for the next page.
//
// How to use a page: [Pool.Pin] it, take the frame's latch in the mode that the work needs, work on [Frame.Page], let go of the
// latch, [Frame.Unpin] it.
//
// B1 (write-ahead): a page is written only when the log is durable up to its page.lsn.
//
// B2 (bijection): a page is in at most one frame, and a frame that is valid holds the page that its tag names.
//
// B3 (pins): a frame is given to another page only when nobody has it pinned and it is clean. Bytes of a frame may be used only
// while it is pinned; debug builds (tag `invariant`) overwrite a frame when it is given up.
//
// B4 (latches, A10): shared to look at header and visibility; share-exclusive, one holder beside shared ones, to set hint bits
// and mark line pointers dead (by try), and to copy a page for writing; exclusive to change. Moving or removing items that
// somebody may still read under a pin alone needs [Frame.TryCleanup]: exclusive and the only pin.
//
// B5 (dirty): a change marks its frame dirty under the latch, before its log record is inserted; the frame stays dirty until a
// write of its newest bytes has returned (A4). Checksums are computed on a private copy taken under share-exclusive; no latch
// is held while the log is flushed or the file written.
//
// B6 (to-fsync set, A4): a file enters the set before each write to it and leaves it when a sync that began after that write
// has returned. A failed sync or short write poisons the database (A11); its descriptor stays open until the end.
//
// B7: a page whose checksum or header is wrong is never handed out: the error is DataCorrupted and names file and page.
//
// B8: Pin and Extend fail for want of a frame only if every frame stays pinned for seconds.
//
// Latch order: a page's latch before the pool's own mutexes (fork, shard, I/O, to-fsync set, segment), none of which is held while
// a latch is waited for.
package buffer
