// Package txn says who did what, when it became visible, and who must wait for whom.
//
// A transaction gets a 48-bit xid at its first write and a commit sequence number (CSN) when it commits: the LSN of the end
// of its commit record. A [Snapshot] is three numbers (csn, xmin, xmax); an xid is visible to it iff it committed with a CSN
// of at most csn. The state of every xid that some snapshot may ask about is one word in memory; older ones are two bits in a
// status page (docs/format/xact.md). Locks (rows, relations, hashes, tokens) and waits on xids share one wait-for graph.
//
// Promised: a commit is acknowledged only when the log says so (flushed, or asynchronous by choice); whoever was acknowledged
// is seen by every snapshot taken later, by any session; an aborted transaction or subtransaction was never there. Refused:
// waiting with a page latch held (the callers' duty, rules A10), waiting without end in a cycle (40P01 after a few milliseconds).
//
// X1: a status word moves once from running to aborted, to its parent's xid (released), or to a CSN; a released word moves
// once more, to aborted, if an ancestor is rolled back.
// X2: the words of a transaction are stored before publishedCSN covers its CSN, which moves before it leaves the running set,
// which it leaves before its locks are released (rules A2).
// X3: the pending queue is in LSN order; an entry is published when it is asynchronous or flushed and never before an earlier one.
// X4: xmin is loaded before csn and csn before xmax; a snapshot's slot was announced before its values were checked (rules A3).
// X5: a horizon is at most every live and every future snapshot, and its csn at most flushedLSN.
// X6: status pages hold no commit that is not durable (rules A4).
// X7: every wait is an edge of the wait-for graph while it lasts; no latch is held in it.
// X8: a lock taken since a savepoint is gone after ROLLBACK TO it; all are gone after the end of the transaction.
//
// Start reading at [Manager.Begin], [Tx.Commit] and [Snapshot.Sees].
package txn
