package cypher

// Dialect selects between the two spellings that are read.
type Dialect uint8

const (
	Cypher Dialect = iota
	AGE            // inside SQL's cypher()
)

// Options of [Parse].
type Options struct {
	Dialect Dialect
}

// Parse reads one statement; a final semicolon is allowed. An error is a *dberr.Error.
func Parse(text string, opts Options) (*Statement, error) { panic("cypher: not yet") }
