package session

import (
	"context"
	"encoding/binary"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
)

// wrapper brings SQL statements around calls of cypher() into one form if they differ only in what the normal form of the inner texts leaves
// out: clients of Apache AGE paste values into the inner text.
type wrapper struct {
	spans []sql.Span
	norm  cypher.Normalizer
	key   []byte
}

// innerText is the text of a call of cypher() in one statement.
type innerText struct {
	text string
	at   int // its byte offset in the statement
}

// wrapped returns the key of a SQL statement in that form and its inner texts; false if it has none.
func (s *Session) wrapped(t Text, types []*sqltype.Type) (cacheKey, []innerText, bool) {
	if t.Lang != SQL || s.ddl || s.cacheOfPlans() == nil || !strings.Contains(t.Text, "$") {
		return cacheKey{}, nil, false
	}
	w := &s.wrapper
	var ok bool
	if w.spans, ok = sql.CypherTexts(w.spans[:0], t.Text); !ok || len(w.spans) == 0 {
		return cacheKey{}, nil, false
	}
	k, ok := s.cacheKey(t, types)
	if !ok {
		return cacheKey{}, nil, false
	}
	defer w.norm.Free()
	var inner []innerText
	lifted, at := 0, 0
	w.key = append(w.key[:0], 0)
	for _, span := range w.spans {
		text := t.Text[span.Pos():span.End()]
		if !w.norm.Run(text, cypher.AGE) {
			return cacheKey{}, nil, false
		}
		lifted += len(w.norm.Lifted)
		w.key = append(w.key, t.Text[at:span.Pos()]...)
		w.key = binary.AppendUvarint(append(w.key, 0), uint64(len(w.norm.Key)))
		w.key = append(w.key, w.norm.Key...)
		inner, at = append(inner, innerText{text, span.Pos()}), span.End()
	}
	if lifted == 0 {
		return cacheKey{}, nil, false
	}
	w.key = append(w.key, t.Text[at:]...)
	k.text = string(w.key)
	return k, inner, true
}

// wrap makes the statement of one text of that which was prepared for another.
func wrap(p *Prepared, t Text, inner []innerText) *Prepared {
	out, c := *p, *p.command.(*queryCommand)
	out.Text, out.command, c.inner = t.Text, &c, inner
	return &out
}

// wraps reports whether a prepared statement may serve texts of its form: each inner text's form must be one that plans are made for, because
// others differ in the names of columns.
func (s *Session) wraps(p *Prepared, inner []innerText) bool {
	c, ok := p.command.(*queryCommand)
	if !ok || len(c.cat.calls) != len(inner) {
		return false
	}
	for i, call := range c.cat.calls {
		if call.at != inner[i].at {
			return false
		}
		t, err := s.textOf(s.envOf(call.graph, true), call.text, nil)
		if err != nil || t.Entry.Unfit() || t.Entry.Query() == nil {
			return false
		}
	}
	return true
}

// innerOf returns the text of a call in the statement that runs.
func (f *fenceSet) innerOf(c *callSource) innerText {
	for i, call := range f.calls {
		if call == c && i < len(f.inner) {
			return f.inner[i]
		}
	}
	return innerText{c.text, c.at}
}

// place moves the place of an error of SQL's own part from the statement that was prepared to the one that runs. Errors of the calls have theirs.
func (f *fenceSet) place(err error) error {
	e := dberr.As(err)
	if e == nil || e.Pos < 0 || f.inner == nil || f.callErr == err {
		return err
	}
	by := 0
	for i, c := range f.calls {
		if e.Pos > c.at {
			by = f.inner[i].at + len(f.inner[i].text) - c.at - len(c.text)
		}
	}
	return Shift(err, by)
}

// prepareWrapped prepares a statement that may share its form with others.
func (s *Session) prepareWrapped(ctx context.Context, t Text, types []*sqltype.Type) (*Prepared, error) {
	key, inner, ok := s.wrapped(t, types)
	if ok && !s.failed {
		if p := s.cache[key]; p != nil {
			return wrap(p, t, inner), nil
		}
	}
	p, err := s.prepareSQL(ctx, t.Text, types)
	if err == nil && ok && p.cacheable() && s.wraps(p, inner) {
		s.keep(key, p)
	}
	return p, err
}
