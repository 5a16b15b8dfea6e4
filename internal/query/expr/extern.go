package expr

import "github.com/hedgerowdb/hedgerow/internal/value"

// NewFunc makes a function that is not in the table: SQL's operators, casts and system functions. With nullIn it is called with null
// arguments, else any null argument gives null. It may raise, so it is never folded.
func NewFunc(name string, nullIn bool, vol Volatility, f func(args []value.Value) (value.Value, error)) *Def {
	return &Def{
		Name: name, NullIn: nullIn, Vol: vol, Raises: true, Sigs: []Sig{{Args: []Type{Any}, Variadic: true, Result: Any}},
		kernel: func(_ *call, args []value.Value) (value.Value, error) { return f(args) },
	}
}
