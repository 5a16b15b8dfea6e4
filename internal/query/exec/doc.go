// Package exec runs physical plans: operators that pull batches from each other and ask the store in batches.
//
// [Prepare] takes a plan once and compiles its expressions; [Prepared.Run] makes the state of one execution and returns a
// [Cursor]. A statement that only reads streams; a statement with a write is evaluated to its end into a spool before its
// first row leaves (rules C3), and [store.Stmt.Finish] has been called by then. Nothing here knows where rows lie.
//
// E1: the producer owns a batch; it is valid until the producer's next call. Columns that pass through an operator are shared,
// columns that it multiplies share the arena of the batch below, so an output batch never outlives one input batch.
// E2: an operator asks the store at the view of its clause (plan P4), computed after its input's first batch has arrived,
// since the segment may open only then.
// E3: memory that outlives a batch is charged to the statement's tracker; at the limit the statement ends with
// OutOfMemory and the session goes on. Spools, sorts, groups, distinct rows, joins and barriers move to temporary files at
// work_mem, and give the same rows in the same order from there.
// E4: cancellation is looked at once a batch, every 1,024 edges and every 4,096 comparisons.
// E5: in the steady state no operator allocates per row.
// E6: after Close nothing is accounted, whatever happened before.
// E7: what a small execution has made to run (operators, batches) serves the next one of its plan. It is left only by one that ended well, and
// holds nothing of its statement then; a cursor that is closed does not reach it any more.
package exec
