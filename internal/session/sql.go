package session

import (
	"context"
	"strconv"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
)

func (s *Session) prepareSQL(ctx context.Context, text string, types []*sqltype.Type) (*Prepared, error) {
	st, err := sql.Parse(text)
	if err != nil {
		return nil, inCypher(text, err)
	}
	if s.failed {
		switch st.Body.(type) {
		case *sql.Rollback, *sql.RollbackTo, *sql.Commit:
		default:
			_, err := s.need(ctx)
			return nil, err
		}
	}
	p, err := s.prepareBody(ctx, st, st.Body, types)
	return p, inCypher(text, err)
}

// prepareBody prepares a statement or a part of one, such as what EXPLAIN explains.
func (s *Session) prepareBody(ctx context.Context, st *sql.Statement, body sql.Stmt, types []*sqltype.Type) (*Prepared, error) {
	p := &Prepared{Text: st.Text}
	at := func(err error) error {
		if e := dberr.As(err); e != nil {
			return e.At(body.Pos(), body.End())
		}
		return nil
	}
	switch body := body.(type) {
	case *sql.Query:
		return s.prepareQuery(ctx, st, body, types)
	case *sql.Copy:
		return s.prepareCopy(ctx, st, body, types)
	case *sql.Explain:
		return s.prepareExplain(ctx, st, body, types)
	case *sql.Execute:
		stored, err := s.Stored(body.Name.Name)
		if err != nil {
			return nil, at(err)
		}
		if len(body.Args) != len(stored.params) {
			return nil, at(dberr.New(dberr.Syntax, "wrong number of parameters for prepared statement %q", body.Name.Name).
				WithDetail("Expected %d parameters but got %d.", len(stored.params), len(body.Args)))
		}
		q := &sql.Query{Span: body.Span, Body: &sql.Values{Span: body.Span, Rows: [][]sql.Expr{body.Args}}}
		c := &executeCommand{stored: stored, name: body.Name.Name}
		if len(body.Args) > 0 {
			var casts []sql.Expr
			for i, a := range body.Args {
				t := stored.params[i]
				name := &sql.Name{Span: body.Span, Parts: []*sql.Ident{{Span: body.Span, Name: t.Internal}}}
				if t.Elem != nil {
					name.Parts[0].Name = t.Elem.Internal
				}
				tn := &sql.TypeName{Span: body.Span, Name: name, System: true}
				if t.Elem != nil {
					tn.Array = []int{-1}
				}
				casts = append(casts, &sql.Cast{Span: body.Span, X: a, Type: tn})
			}
			q.Body = &sql.Values{Span: body.Span, Rows: [][]sql.Expr{casts}}
			if c.args, err = s.prepareQuery(ctx, st, q, types); err != nil {
				return nil, err
			}
			p.params = c.args.params
		}
		p.columns, p.copy, p.command = stored.columns, stored.copy, c
		return p, nil
	case *sql.Show:
		if body.Name == "" {
			p.columns = []Column{{"name", sqltype.Text}, {"setting", sqltype.Text}, {"description", sqltype.Text}}
		} else {
			d, err := findSetting(body.Name)
			if err != nil {
				return nil, at(err)
			}
			p.columns = []Column{{d.name, sqltype.Text}}
		}
	case *sql.Fetch:
		cur, err := s.Portal(body.Cursor.Name)
		if err != nil {
			return nil, at(dberr.New(dberr.UndefinedCursor, "cursor %q does not exist", body.Cursor.Name))
		}
		if !body.Move {
			p.columns = cur.Columns()
		}
	}
	u := &utility{st: st, body: body}
	if d, ok := body.(*sql.DeclareCursor); ok {
		inner, err := s.prepareQuery(ctx, st, d.Query, types)
		if err != nil {
			return nil, err
		}
		u.inner, p.params = inner, inner.params
	}
	if pr, ok := body.(*sql.Prepare); ok {
		var declared []*sqltype.Type
		for _, t := range pr.Types {
			name := strings.ToLower(t.Name.Last())
			if len(t.Array) > 0 {
				name += "[]"
			}
			x := sqltype.ByName(name)
			if x == nil {
				return nil, dberr.New(dberr.UndefinedObject, "type %q does not exist", t.Name.Last()).At(t.Pos(), t.End())
			}
			declared = append(declared, x)
		}
		inner, err := s.prepareBody(ctx, st, pr.Body, declared)
		if err != nil {
			return nil, err
		}
		inner.sqlText = true
		u.inner = inner
	}
	if !known(body) {
		return nil, at(dberr.New(dberr.FeatureNotSupported, "%s is not supported yet", statementName(st.Text)))
	}
	p.command = u
	return p, nil
}

func statementName(text string) string {
	var words [2]string
	n := cypher.FirstWords(text, words[:])
	return strings.Join(words[:n], " ")
}

func optionText(o *sql.Option) string {
	switch v := o.Value.(type) {
	case nil:
		return ""
	case *sql.StringLit:
		return v.Value
	case *sql.IntLit:
		return strconv.FormatInt(v.Value, 10)
	case *sql.BoolLit:
		return strconv.FormatBool(v.Value)
	case *sql.ColumnRef:
		return v.Parts[len(v.Parts)-1].Name
	case *sql.Star:
		return "*"
	}
	return ""
}
