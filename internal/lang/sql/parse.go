package sql

// Parse reads one statement; a final semicolon is allowed. A text without a statement gives a nil Body. An error is a
// *dberr.Error.
func Parse(text string) (*Statement, error) { panic("sql: not yet") }
