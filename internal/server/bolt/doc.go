// Package bolt is the door for Neo4j's drivers: Bolt 4.4 and 5.0 to 5.8 over a session.
//
// It frames and answers messages, nothing else. Statements, transactions and results belong to package session; values are written and read by
// package packstream. A connection is three goroutines: one reads messages, one answers them and alone uses the session, one writes.
// So a RESET, or the end of the connection, is noticed while a statement runs and while nobody reads its rows.
//
// B1: a declared length is never allocated before its bytes have arrived, and what is read ahead and not yet answered is bounded.
// B2: any bytes get an answer or a closed connection; a fault of one connection never touches another.
// B3: after a failure every message up to the next RESET is ignored.
// B4: SUCCESS to COMMIT, and the first row of a statement that writes outside a transaction, follow the commit.
// B5: what compiling can find is told in answer to RUN; a statement is executed from its first PULL or DISCARD on.
// B6: a result is made as it is pulled: memory does not grow with its rows.
// B7: a panic while answering ends that statement, not the process.
package bolt
