// Package session is one client of a database: its transaction block, settings, prepared statements and portals.
//
// A door turns messages into calls here and prints what comes back; the embedded API, the shell and every server speak to the
// same [Session]. Statements come as text in one of two languages, decided by the first words (rules D3).
//
// S1: one goroutine uses a session at a time; only [Session.Cancel] may be called from another.
// S2: outside a block every statement runs in an implicit transaction that [Session.EndImplicit] commits. A statement's error rolls it back.
// S3: inside a block an error makes the transaction fail; until ROLLBACK or ROLLBACK TO every statement is refused (25P02).
// S4: a statement that writes has run to its end before its first row is handed out (rules C3).
// S5: portals end with their transaction.
package session
