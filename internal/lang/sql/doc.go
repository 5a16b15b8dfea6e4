// Package sql turns SQL text of the PostgreSQL grammar into a positioned syntax tree, and a tree back into text.
//
// It reads a subset of PostgreSQL 15's grammar by PostgreSQL's own rules: lexing, the four classes of keywords, operator
// precedence, and the rewriting of special forms into calls (extract(day FROM x) is extract('day', x)). It knows no
// tables, types or functions. What PostgreSQL has and this grammar has not is FeatureNotSupported where the first words
// tell, else a syntax error in PostgreSQL's words.
//
// Promises:
//
//	S1  What is accepted, PostgreSQL accepts; apart from what a later version of it accepts too.
//	S2  Work is linear in the length of the text. Nesting deeper than 1,000 is StatementTooComplex, text above 16 MiB
//	    LimitExceeded (rules C12). No input panics.
//	S3  Every node knows its byte span in the text. A dollar-quoted string knows where its body begins, so that a language
//	    within it can report positions in the client's text.
//	S4  Printing a tree and parsing it again gives an equal tree, spans apart.
//	S5  An error is a *dberr.Error with PostgreSQL's text: syntax error at or near "x", syntax error at end of input.
//	S6  A tree is data only and not changed after Parse; it may be shared between goroutines.
//
// Start reading at [Parse]; the tree is in ast.go.
package sql
