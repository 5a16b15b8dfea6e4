// Package cypher turns Cypher text into a positioned syntax tree, and a tree back into text.
//
// It knows grammar and nothing else: no names are resolved, no types checked, no function is known to it. The binder
// owns every error that needs a scope; the parser owns those that need only the text. Two dialects are read: [Cypher]
// everywhere, [AGE] inside SQL's cypher(), where a quote is doubled inside a string and an expression may end in a cast
// such as x::numeric.
//
// Promises:
//
//	P1  Work is linear in the length of the text, but for the nesting of patterns and parenthesised expressions, where a
//	    token is looked at no more than a few times whatever the nesting: each '(' is classified once, before parsing.
//	P2  Nesting deeper than 1,000 is StatementTooComplex, text above 16 MiB LimitExceeded (rules C12). No input panics.
//	P3  Every node knows its byte span in the text; a projection item keeps its source text, which is its column name.
//	P4  Printing a tree and parsing it again gives an equal tree, spans and source texts apart.
//	P5  An error is a *dberr.Error with a span, the TCK's token, what was found and what was expected.
//	P6  A tree is data only and not changed after Parse; it may be shared between goroutines.
//
// Start reading at [Parse]; the tree is in ast.go. [Lex] gives the tokens alone, for plan-cache keys and for doors that
// must find a statement's language or its end.
package cypher
