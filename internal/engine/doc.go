// Package engine opens a database and keeps it: it joins files, log, pages, transactions, catalog and store, recovers after a
// crash, makes checkpoints, and closes.
//
// [Open] takes a directory. One process holds it (the LOCK file says who). A new database is built in DIR/.init and its control
// file is moved last, so that a directory either holds a database or none. After a crash the log is redone from the last checkpoint,
// files that no committed row of the catalog names are removed, and a checkpoint is made before anybody comes in.
//
// E1: whatever was acknowledged is there after Open; whatever was not is there whole or not at all.
// E2: a failed sync poisons the database: every later call returns 58030, nothing more is acknowledged or written (rules A11).
// E3: Close returns nil only if the data files are complete: the next Open has nothing to redo.
// E4: background work ends before Close goes on, and never holds a lock that a statement waits for.
//
// Lock order: catalog (ddl, tokens, sequence) → page latch (child → parent, left → right, heap → VM with the VM page pinned before)
// → row-lock partition (ascending when two) → txn (running set, commit queue) → pool shard → WAL insert. No page latch is taken
// under a partition mutex, and none is held while waiting for a transaction, a lock or a flush (rules A10).
//
// Start reading at [Open].
package engine
