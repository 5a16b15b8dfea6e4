package expr

import (
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Volatility says when two calls with equal arguments give the same.
type Volatility uint8

const (
	Pure      Volatility = iota // always
	Reads                       // reads the graph: the same at one view
	Statement                   // the same throughout a statement (the clock)
	Volatile                    // never (rand)
)

// Sig is one static signature.
type Sig struct {
	Args     []Type
	Optional int  // so many trailing args may be left out
	Variadic bool // the last arg may repeat
	Result   Type
}

// Def describes one function (rules C11). The table serves both languages, SHOW FUNCTIONS and the docs.
type Def struct {
	Name        string   // as Cypher writes it
	Aliases     []string // further names
	AGE         string   // name in Apache AGE's cypher(), "" if it has none
	Category    string
	Description string
	Sigs        []Sig
	Vol         Volatility
	NullIn      bool // is called with null arguments; else any null argument gives null
	Aggregate   bool
	// May raise an error for arguments of the static types, so it is never folded.
	Raises bool

	kernel kernel
	agg    aggMaker
}

// Lookup finds a function by its Cypher name, without regard to case.
func Lookup(name string) (*Def, bool) { return lookup(name) }

// Functions lists the table by name.
func Functions() []*Def { return functions() }

// Check finds the signature for so many arguments of static types. It returns the result type, and an error with the TCK's
// token (InvalidNumberOfArguments, InvalidArgumentType) and without a position.
func (d *Def) Check(args []Type) (Type, error) { return d.check(args) }

// kernel evaluates one row. args are never null unless NullIn.
type kernel func(c *call, args []value.Value) (value.Value, error)
