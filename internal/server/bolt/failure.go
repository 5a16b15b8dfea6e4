package bolt

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/server/bolt/packstream"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// appendFailure writes FAILURE; text is what the error's place counts in.
func (c *conn) appendFailure(dst []byte, e *dberr.Error, text string) []byte {
	start := len(dst)
	b := packstream.AppendStruct(append(dst, 0, 0), 1, msgFailure)
	b, _ = packstream.Append(b, c.failure(e, text), c.format)
	return appendChunked(b, start)
}

func (c *conn) failure(e *dberr.Error, text string) value.Value {
	out := newMeta()
	msg := describe(e, text)
	if !c.version.gqlErrors() {
		out.text("code", e.Code.Neo4j())
		out.text("message", msg)
		return out.value()
	}
	out.text("neo4j_code", e.Code.Neo4j())
	gql(out, e, msg, text, 0)
	return out.value()
}

// gql writes an error, and what caused it, as the GQL standard has them.
func gql(out meta, e *dberr.Error, msg, text string, depth int) {
	status := e.Code.GQLStatus()
	out.text("message", msg)
	out.text("gql_status", status)
	out.text("description", condition(status)+". "+sentence(e.Error()))
	rec := newRecord()
	rec.text("_classification", classification(e.Code))
	if p, ok := place(text, e.Pos); ok {
		rec.put("_position", p.value())
	}
	out.put("diagnostic_record", rec.value())
	var cause *dberr.Error
	if inner := errors.Unwrap(e); depth < 8 && inner != nil && errors.As(inner, &cause) && cause != e {
		m := newMeta()
		gql(m, cause, describe(cause, text), text, depth+1)
		out.put("cause", m.value())
	}
}

// newRecord is a diagnostic record with the entries that every one has.
func newRecord() meta {
	rec := newMeta()
	rec.text("OPERATION", "")
	rec.text("OPERATION_CODE", "0")
	rec.text("CURRENT_SCHEMA", "/")
	return rec
}

// classification is the class of a Neo4j code, as GQL's records name it.
func classification(code dberr.Code) string {
	switch {
	case strings.HasPrefix(code.Neo4j(), "Neo.ClientError."):
		return "CLIENT_ERROR"
	case strings.HasPrefix(code.Neo4j(), "Neo.TransientError."):
		return "TRANSIENT_ERROR"
	}
	return "DATABASE_ERROR"
}

// conditions are GQL's texts for the classes of statuses.
var conditions = map[string]string{
	"08": "error: connection exception", "22": "error: data exception", "25": "error: invalid transaction state", "2D": "error: invalid transaction termination",
	"40": "error: transaction rollback", "42": "error: syntax error or access rule violation", "50": "error: general processing exception",
	"51": "error: system configuration or operation exception", "52": "error: procedure exception", "G1": "error: dependent object error",
}

func condition(status string) string {
	if t, ok := conditions[status[:2]]; ok {
		return t
	}
	return "error: general processing exception"
}

// sentence begins with a capital letter and ends with a dot.
func sentence(s string) string {
	if r, n := utf8.DecodeRuneInString(s); n > 0 {
		s = strings.ToUpper(string(r)) + s[n:]
	}
	if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "?") {
		s += "."
	}
	return s
}

// describe prints an error for people: what is wrong, where, the line with a caret below the place, what to do (rules D6).
func describe(e *dberr.Error, text string) string {
	var b strings.Builder
	if e.Token != "" {
		b.WriteString(e.Token)
		b.WriteString(": ")
	}
	b.WriteString(e.Error())
	p, ok := locate(text, e.Pos)
	if ok {
		fmt.Fprintf(&b, " (line %d, column %d (offset: %d))", p.line, p.column, p.offset)
	}
	if e.Detail != "" {
		b.WriteString(". ")
		b.WriteString(sentence(e.Detail))
	}
	if ok {
		excerpt, caret := p.excerpt()
		fmt.Fprintf(&b, "\n\"%s\"\n %s^", excerpt, caret)
	}
	if e.Hint != "" {
		b.WriteByte('\n')
		b.WriteString(sentence(e.Hint))
	}
	return b.String()
}

// position is a place in a text, counted in characters: the line and column from 1, the offset from 0.
type position struct {
	line, column, offset int
	text                 string // the line
}

func locate(text string, at int) (p position, ok bool) {
	if at < 0 || at > len(text) || text == "" {
		return p, false
	}
	before := text[:at]
	from := strings.LastIndexByte(before, '\n') + 1
	p.line = strings.Count(before, "\n") + 1
	p.column = utf8.RuneCountInString(before[from:]) + 1
	p.offset = utf8.RuneCountInString(before)
	p.text, _, _ = strings.Cut(text[from:], "\n")
	p.text = strings.TrimSuffix(p.text, "\r")
	return p, true
}

// maxExcerpt is how many characters of a line are shown.
const maxExcerpt = 120

// excerpt returns the part of the line around the place, and the blanks below it in front of the caret.
func (p position) excerpt() (line, pad string) {
	rs := []rune(p.text)
	at := min(p.column-1, len(rs))
	from, to := 0, len(rs)
	before, after := "", ""
	if len(rs) > maxExcerpt {
		from = max(0, at-maxExcerpt/2)
		to = min(len(rs), from+maxExcerpt)
		if from > 0 {
			before = "..."
		}
		if to < len(rs) {
			after = "..."
		}
	}
	for _, r := range before + string(rs[from:at]) {
		if r == '\t' {
			pad += "\t" // as wide as the one above
		} else {
			pad += " "
		}
	}
	return before + string(rs[from:to]) + after, pad
}

// place is a position as Bolt writes it.
func place(text string, at int) (meta, bool) {
	p, ok := locate(text, at)
	if !ok {
		return meta{}, false
	}
	m := newMeta()
	m.int("offset", int64(p.offset))
	m.int("line", int64(p.line))
	m.int("column", int64(p.column))
	return m, true
}
