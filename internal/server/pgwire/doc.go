// Package pgwire is the PostgreSQL door: protocol 3.0 over a session.
//
// It frames and answers messages, nothing else. Statements, transactions, settings, prepared statements and portals belong to
// package session; message bodies are decoded and encoded by pgproto3, except data rows, which are written straight into
// the output buffer.
//
// W1: a declared length is never allocated before its bytes have arrived; a statement text above the limit is read past, not kept.
// W2: any bytes get an answer or a closed connection; a fault of one connection never touches another.
// W3: after an error in the extended protocol every message up to the next Sync is read and dropped.
// W4: ReadyForQuery follows only when what was executed is committed or rolled back, unless the client is inside a block.
// W5: a panic while serving a message ends that statement with XX000, not the process.
package pgwire
