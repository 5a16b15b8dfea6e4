package hedgerow

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// Error is a fault of a statement or of the database.
type Error struct {
	Message   string
	Detail    string
	Hint      string
	SQLState  string // as PostgreSQL: 42601, 23505, 40001 …
	Neo4jCode string // as Neo.ClientError.Statement.SyntaxError
	Line      int    // of the fault in the statement, from 1; 0 if it has no place
	Column    int    // in characters, from 1
	text      string // the line
	cause     error
}

// Error returns the message; Excerpt shows the place.
func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s (line %d, column %d)", e.Message, e.Line, e.Column)
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.cause }

// Excerpt returns the line of the statement with a caret below the fault, or "" if it has no place.
func (e *Error) Excerpt() string {
	if e.Line == 0 {
		return ""
	}
	var pad strings.Builder
	for i, r := range []rune(e.text) {
		if i+1 >= e.Column {
			break
		}
		if r == '\t' {
			pad.WriteRune('\t')
		} else {
			pad.WriteByte(' ')
		}
	}
	return e.text + "\n" + pad.String() + "^"
}

// Retryable reports whether the same transaction may succeed if it is run again: it collided with another.
func Retryable(err error) bool {
	return dberr.Retryable(err)
}

// publicError gives an error its public form; text is the statement that its position refers to.
func publicError(err error, text string) error {
	if err == nil {
		return nil
	}
	var done *Error
	if errors.As(err, &done) {
		return err
	}
	e := dberr.As(err)
	p := &Error{Message: e.Error(), Detail: e.Detail, Hint: e.Hint, SQLState: e.Code.SQLState(), Neo4jCode: e.Code.Neo4j(), cause: err}
	if e.Pos >= 0 && e.Pos <= len(text) && text != "" {
		p.locate(text, e.Pos)
	}
	return p
}

// Locate sets the error's place from a character offset in a text.
func (e *Error) Locate(text string, char int) {
	at, n := len(text), 0
	for i := range text {
		if n == char {
			at = i
			break
		}
		n++
	}
	e.locate(text, at)
}

// locate sets the error's place from a byte offset in a text.
func (e *Error) locate(text string, at int) {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	e.Line = strings.Count(text[:at], "\n") + 1
	e.Column = utf8.RuneCountInString(text[start:at]) + 1
	e.text, _, _ = strings.Cut(text[start:], "\n")
	e.text = strings.TrimRight(e.text, "\r")
}
