package session

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

func (s *Session) prepareCopy(ctx context.Context, st *sql.Statement, c *sql.Copy, types []*sqltype.Type) (*Prepared, error) {
	refuse := func(what string) error {
		return dberr.New(dberr.FeatureNotSupported, "%s is not supported yet", what).At(c.Pos(), c.End())
	}
	switch {
	case c.From:
		return nil, refuse("COPY FROM")
	case !c.Stdio:
		return nil, refuse("COPY to a file or program")
	case c.Where != nil:
		return nil, refuse("WHERE in COPY TO")
	}
	body := c.Query
	if body == nil {
		body = &sql.Query{Span: c.Span, Body: &sql.TableCmd{Span: c.Span, Table: &sql.TableRef{Span: c.Span, Name: c.Table}}}
	}
	q, ok := body.(*sql.Query)
	if !ok {
		return nil, refuse("COPY of a statement that changes rows")
	}
	options := map[string]string{}
	for _, o := range c.Options {
		text := optionText(o)
		for _, e := range o.List {
			if text != "" {
				text += ","
			}
			text += optionText(&sql.Option{Value: e})
		}
		options[o.Name] = text
	}
	f, err := NewCopyFormat(options)
	if err != nil {
		return nil, dberr.As(err).At(c.Pos(), c.End())
	}
	p, err := s.prepareQuery(ctx, st, q, types)
	if err != nil {
		return nil, err
	}
	f.Zone = s.zone()
	p.copy = f
	return p, nil
}

// executeCommand is SQL's EXECUTE.
type executeCommand struct {
	stored *Prepared
	name   string
	args   *Prepared // yields the arguments as one row; nil if there are none
}

func (c *executeCommand) inFailed() bool     { return false }
func (c *executeCommand) tag(n int64) string { return c.stored.command.tag(n) }

func (c *executeCommand) run(ctx context.Context, s *Session, args []value.Value) (rows, error) {
	if c.stored.command == nil {
		return nil, nil
	}
	vals, err := c.values(ctx, s, args)
	if err != nil {
		return nil, err
	}
	return c.stored.command.run(ctx, s, vals)
}

// values evaluates the arguments.
func (c *executeCommand) values(ctx context.Context, s *Session, args []value.Value) ([]value.Value, error) {
	if c.args == nil {
		return nil, nil
	}
	r, err := c.args.command.run(ctx, s, args)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	row, err := r.Next(ctx)
	if err != nil {
		return nil, err
	}
	return cloneRow(row), nil
}
