// Package dberr is the one vocabulary of faults that a client may see.
//
// An [Error] is classified once, where its cause is known; the doors only translate it: pgwire prints [Code.SQLState],
// Bolt prints [Code.Neo4j]. Codes live in codes.txt and nowhere else. Errors that only our own code branches on stay
// sentinels of their package. An error that reaches a door without a code is [Internal].
package dberr

import (
	"context"
	"errors"
	"fmt"
)

//go:generate go run gen.go

// Code names one kind of fault: a row of codes.txt.
type Code uint16

type row struct {
	name, sqlState, neo4j, gql, tckType string
	retry                               bool
}

func (c Code) row() row {
	if int(c) < len(table) && table[c].name != "" {
		return table[c]
	}
	return table[Internal]
}

// String returns the Go name of the code.
func (c Code) String() string { return c.row().name }

// SQLState returns the five characters that PostgreSQL clients branch on.
func (c Code) SQLState() string { return c.row().sqlState }

// Neo4j returns the status code that Neo4j drivers branch on, as Neo.ClientError.Statement.SyntaxError.
func (c Code) Neo4j() string { return c.row().neo4j }

// GQLStatus returns the status of the GQL standard.
func (c Code) GQLStatus() string { return c.row().gql }

// TCKType returns the openCypher TCK's error type, or "".
func (c Code) TCKType() string { return c.row().tckType }

// Phase says when a fault was found; the TCK tells the two apart.
type Phase uint8

const (
	Runtime Phase = iota
	CompileTime
)

// Error is a fault with everything that a client may be told.
type Error struct {
	Code    Code
	Message string // what was wrong, in one sentence, without a final dot
	Detail  string // the facts behind it
	Hint    string // what to do
	Token   string // TCK detail such as "UndefinedVariable"; "" where the TCK has none
	AGEText string // Apache AGE's wording where it differs; the PostgreSQL door prints it inside cypher()
	Phase   Phase

	// Pos and End are the byte span in the client's text, or -1. Whoever embeds one language in another shifts them.
	Pos, End int

	// Schema objects, as PostgreSQL reports them.
	Constraint, Table, Column string

	cause error
}

// New returns a run-time error with a formatted message and no position.
func New(code Code, format string, args ...any) *Error {
	msg := format
	if len(args) > 0 {
		msg = fmt.Sprintf(format, args...)
	}
	return &Error{Code: code, Message: msg, Pos: -1, End: -1}
}

// Compile is New for a fault found before execution, at a byte span of the text.
func Compile(code Code, token string, pos, end int, format string, args ...any) *Error {
	e := New(code, format, args...)
	e.Token, e.Phase, e.Pos, e.End = token, CompileTime, pos, end
	return e
}

// Wrap gives a cause a code; the cause's text is appended to the message.
func Wrap(code Code, cause error, format string, args ...any) *Error {
	e := New(code, format, args...)
	e.cause = cause
	return e
}

func (e *Error) Error() string {
	if e.cause != nil && e.Code != Canceled && e.Code != StatementTimeout { // whose message says what a context's error says
		return e.Message + ": " + e.cause.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.cause }

// WithDetail adds the facts behind the fault.
func (e *Error) WithDetail(format string, args ...any) *Error {
	e.Detail = fmt.Sprintf(format, args...)
	return e
}

// WithHint adds what the client can do.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithToken adds the TCK's detail token.
func (e *Error) WithToken(token string) *Error { e.Token = token; return e }

// At sets the byte span unless one is set already: the innermost place knows best.
func (e *Error) At(pos, end int) *Error {
	if e.Pos < 0 {
		e.Pos, e.End = pos, end
	}
	return e
}

// As returns err as an *Error. Context errors become [Canceled], anything unclassified [Internal]; nil stays nil.
func As(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, context.Canceled) {
		return Wrap(Canceled, err, "canceling statement due to user request")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return Wrap(Canceled, err, "canceling statement due to statement timeout")
	}
	return Wrap(Internal, err, "internal error")
}

// Is reports whether err carries the code.
func Is(err error, code Code) bool {
	if err == nil {
		return false // the common case allocates nothing
	}
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// Retryable reports whether running the same transaction again may succeed (40001 and 40P01).
func Retryable(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code.row().retry
}
