package session

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// PrepareCypher parses and binds a text that is one statement of Cypher, whatever its first word. The statement begins at the offset: places
// in its notices and run-time errors count from there.
func (s *Session) PrepareCypher(ctx context.Context, text string) (p *Prepared, offset int, err error) {
	if len(text) > maxText {
		return nil, 0, errTextTooLong()
	}
	span, next, ok := cypher.NextStatement(text, 0, cypher.Cypher)
	if !ok {
		return nil, 0, dberr.Compile(dberr.Syntax, "UnexpectedSyntax", 0, len(text), "there is no statement in the text")
	}
	if more, _, ok := cypher.NextStatement(text, next, cypher.Cypher); ok {
		return nil, 0, dberr.Compile(dberr.Syntax, "UnexpectedSyntax", more.Pos(), more.End(), "the text holds more than one statement").
			WithHint("Run them one by one.")
	}
	p, err = s.Prepare(ctx, Text{Text: text[span.Pos():span.End()], Offset: span.Pos(), Lang: Cypher}, nil)
	if err != nil {
		return nil, 0, Shift(err, span.Pos())
	}
	return p, span.Pos(), nil
}

// Arguments puts named parameters into the order of [Session.Bind]; a missing one is an error, unless the statement is only explained.
func (p *Prepared) Arguments(named map[string]value.Value) ([]value.Value, error) {
	c, ok := p.command.(*cypherCommand)
	if !ok {
		return nil, nil
	}
	return c.arguments(NamedValues(named), nil)
}

// Effect is what a statement of Cypher may do.
type Effect uint8

const (
	Reads         Effect = iota
	ReadsWrites          // writes, and has rows
	Writes               // writes, and has none
	ChangesSchema        // creates or drops indexes, constraints, graphs
)

// Effect tells what the statement may do.
func (p *Prepared) Effect() Effect {
	c, ok := p.command.(*cypherCommand)
	switch {
	case !ok || c.query.ReadOnly:
		return Reads
	case c.query.Schema:
		return ChangesSchema
	case len(c.query.Columns) > 0:
		return ReadsWrites
	}
	return Writes
}

// Administers reports whether the statement is one that needs no graph: it lists or changes what there is, or calls a procedure.
func (p *Prepared) Administers() bool {
	c, ok := p.command.(*cypherCommand)
	if !ok || c.query.Schema {
		return ok
	}
	return needsNoGraph(c.query.Root)
}

func needsNoGraph(n plan.Node) bool {
	switch n.(type) {
	case *plan.ProduceResults, *plan.ProcedureCall, *plan.Show, *plan.SingleRow, *plan.Argument, *plan.Project, *plan.Filter, *plan.Sort, *plan.TopN, *plan.Skip,
		*plan.Limit:
	default:
		return false
	}
	for _, c := range n.Children() {
		if !needsNoGraph(c) {
			return false
		}
	}
	return true
}

// UseGraph makes a graph that exists the one of statements that name none; the default graph is made at first use. Inside a block the
// change ends with it.
func (s *Session) UseGraph(ctx context.Context, name string) error {
	if s.now().graph == name {
		return nil
	}
	if name != DefaultGraph {
		tx, err := s.need(ctx)
		if err != nil {
			return err
		}
		stmt, err := tx.Begin(ctx)
		if err != nil {
			return err
		}
		_, err = stmt.Graph(ctx, name)
		stmt.Close()
		if err != nil {
			return err
		}
	}
	return s.Set("hedgerow.graph", name, s.block)
}

// Position is how far the database's commits have come. A transaction that begins after Position has returned p sees everything that was
// committed up to p; positions grow.
func (db *Database) Position() uint64 {
	if p, ok := db.store.(store.Positioned); ok {
		return p.Position()
	}
	return 0
}
