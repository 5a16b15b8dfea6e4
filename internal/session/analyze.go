package session

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// analyze runs ANALYZE: of the named labels, of the graphs that are named, or of every graph.
func (s *Session) analyze(ctx context.Context, tables []*sql.VacuumTable) error {
	tx, err := s.need(ctx)
	if err != nil {
		return err
	}
	if len(tables) == 0 {
		graphs, err := tx.Graphs(ctx)
		if err != nil {
			return err
		}
		for _, g := range graphs {
			if err := s.analyzeGraph(ctx, tx, g.Name, ""); err != nil {
				return err
			}
		}
		return nil
	}
	for _, t := range tables {
		name, graph := t.Name.Last(), t.Name.Schema()
		if catalogTables[name] != nil && (graph == "" || graph == catalogTables[name].schema) {
			continue // they are small and kept in memory
		}
		if graph == "" {
			graph = s.raw(settings["hedgerow.graph"])
		}
		if err := s.analyzeGraph(ctx, tx, graph, name); err != nil {
			return err
		}
	}
	return nil
}

// analyzeGraph analyses the labels and types of a graph that have the name, "" for all.
func (s *Session) analyzeGraph(ctx context.Context, tx store.Tx, graph, name string) error {
	missing := dberr.New(dberr.UndefinedTable, "relation \"%s.%s\" does not exist", graph, name).
		WithHint("ANALYZE takes labels and relationship types, such as %s.\"Person\", or nothing.", graph)
	stmt, err := tx.Begin(ctx)
	if err != nil {
		return err
	}
	defer stmt.Close()
	g, err := stmt.Graph(ctx, graph)
	if dberr.Is(err, dberr.InvalidSchema) && name != "" {
		return missing
	}
	if err != nil {
		return err
	}
	a, ok := g.(store.Analyzer)
	if !ok {
		return nil // a store without statistics
	}
	found := false
	v := stmt.View(0)
	for _, l := range g.Labels(v) {
		if l.ID < schema.FirstUserLabel || name != "" && l.Name != name {
			continue
		}
		found = true
		if err := a.Analyze(ctx, v, l.ID); err != nil {
			return err
		}
	}
	if !found && name != "" {
		return missing
	}
	return nil
}
