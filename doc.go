// Package hedgerow is an embedded graph database: edges in rows, asked in openCypher or SQL.
//
// A [DB] is a directory, or memory. [DB.Query] runs one Cypher statement in a transaction of its own and streams its rows;
// [DB.Update] and [DB.View] run a function in a transaction and, when two transactions collide, run it again:
//
//	db, err := hedgerow.Open("social.hedge", nil)
//	…
//	rows, err := db.Query(ctx, `MATCH (p:Person {name: $name})-[:KNOWS]->(f) RETURN f.name AS name`, hedgerow.Params{"name": "Ada"})
//	for row, err := range rows.All() {
//		…
//		fmt.Println(row.Get("name"))
//	}
//
// Promises. What [DB.Exec], [Tx.Commit] or [DB.Update] acknowledged survives a crash (unless [TxOptions.Async] was asked for). A statement that
// writes has run to its end before its first row is handed out, so closing [Rows] early changes nothing. A [DB] may be used by any
// number of goroutines, a [Tx] and its Rows by one at a time. A directory belongs to one process.
//
// Values. Cypher's INTEGER, FLOAT, STRING, BOOLEAN, LIST and MAP are int64, float64, string, bool, []any and map[string]any; nodes, relationships
// and paths are [Node], [Relationship] and [Path]; dates and date-times are time.Time, durations and times of day their ISO text; null is nil.
// Parameters may be any of these, other integers and floats, []byte, time.Duration, slices, maps with string keys, and structs, whose exported
// fields become a map. A time.Time is a zoned date-time; [Date] and [LocalDateTime] make the other kinds.
//
// Errors are [*Error] with PostgreSQL's SQLSTATE, Neo4j's code and, for a fault in the text, its line, column and a caret.
package hedgerow
