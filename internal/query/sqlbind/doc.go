// Package sqlbind resolves a parsed SQL query against a catalog and makes its plan: the same operators that Cypher's plans are made of, and a
// few for what only SQL has (outer joins on any predicate, rows from outside).
//
// A call of cypher() in FROM is a source of rows whose columns are agtype, cast to the types of the column definition list. Expressions carry a
// SQL type each; a string constant or parameter of unknown type takes the type that its place wants, as in PostgreSQL.
//
// Q1: comparison of agtype is the total order (rules C9) and two-valued; a null operand gives null, and so it is for every other type.
// Q2: every value in a row is whole: an entity carries its labels and properties, so nothing above asks a graph.
// Q3: what is not supported is refused with 0A000 and a position, never answered approximately.
package sqlbind
