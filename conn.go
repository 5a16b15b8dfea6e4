package hedgerow

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/session"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Language is the language of a statement's text.
type Language uint8

const (
	Cypher Language = iota
	SQL
)

// Conn is one client of the database, as a connection to a server would be: settings, BEGIN and COMMIT as statements, prepared statements.
// It is used by one goroutine at a time. Most programs need only [DB.Query] and [DB.Update].
type Conn struct {
	s *client
	r *Rows
}

// Conn opens a client. Close rolls back what it left open.
func (db *DB) Conn() *Conn { return &Conn{s: newClient(db.session())} }

// Close ends the client.
func (c *Conn) Close() error {
	c.s.Close()
	return nil
}

func (c *Conn) closeRows() {
	if c.r != nil {
		c.r.Close()
	}
}

// Status is I outside a transaction, T inside one and E inside one that has failed.
func (c *Conn) Status() byte { return c.s.Status() }

// Graph returns the name of the graph of statements that name none.
func (c *Conn) Graph() string { return c.s.Setting("hedgerow.graph") }

// Set changes a setting, as SET does.
func (c *Conn) Set(name, v string) error { return publicError(c.s.Set(name, v, false), "") }

// Cancel interrupts the running statement; it may be called from another goroutine.
func (c *Conn) Cancel() { c.s.Cancel() }

// Split cuts a text into its statements. The first words of each decide its language where they can: BEGIN, SET or SELECT is SQL, MATCH is Cypher;
// lang decides the rest.
func (c *Conn) Split(text string, lang Language) ([]string, error) {
	parts, err := c.s.SplitAs(text, internalLanguage(lang))
	if err != nil {
		return nil, publicError(err, text)
	}
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = p.Text
	}
	return out, nil
}

func internalLanguage(l Language) session.Language {
	if l == SQL {
		return session.SQL
	}
	return session.Cypher
}

// Run runs one statement. Outside a transaction it is committed when its rows are closed; a statement that writes before Run returns.
func (c *Conn) Run(ctx context.Context, text string, lang Language, params Params) (*Rows, error) {
	c.closeRows()
	c.s.Wake()
	r, err := start(ctx, c.s, text, internalLanguage(lang), params, nil)
	if err != nil {
		c.s.Fail()
		c.s.Idle(nil)
		return nil, publicError(err, text)
	}
	if r.portal.Wrote() && c.s.Status() == 'I' {
		if err := c.s.CommitBefore(ctx, r.portal); err != nil {
			return nil, publicError(err, text)
		}
	}
	c.r, r.owner = r, c
	return r, nil
}

// ended is told by the rows of a statement.
func (c *Conn) ended(r *Rows, ok bool) error {
	c.r = nil
	defer c.s.Idle(nil)
	if !ok {
		c.s.Fail()
		return nil
	}
	return c.s.EndImplicit(r.ctx)
}

// Text returns column i of the current row as Cypher writes it: strings in single quotes, nodes as (:Label {key: value}).
func (r *Rows) Text(i int) string { return string(value.AppendTCK(nil, r.row[i])) }

// Value returns column i of the current row in a form that can be a parameter again.
func (r *Rows) Value(i int) any { return r.row[i].Clone() }

// Tag returns the command tag, as "SELECT 3" or "BEGIN".
func (r *Rows) Tag() string { return r.portal.Tag() }
