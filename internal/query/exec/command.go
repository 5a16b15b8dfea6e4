package exec

import (
	"context"
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// schemaCommand changes the catalog.
type schemaCommand struct {
	core
	n    *plan.SchemaCommand
	done bool
}

func (o *schemaCommand) open() error { o.done = false; return nil }

func (o *schemaCommand) next() (*expr.Batch, error) {
	if o.done {
		return nil, nil
	}
	o.done = true
	t, ctx := o.x.opt.Tx, o.x.ctx
	if t == nil {
		return nil, dberr.New(dberr.Internal, "a schema command needs a transaction")
	}
	if n, ok := t.(store.SchemaCounter); ok {
		n.SchemaChanges() // those of others
		defer func() {
			made, sum := n.SchemaChanges(), o.x.stmt.Counters()
			sum.IndexesAdded += made.IndexesAdded
			sum.IndexesRemoved += made.IndexesRemoved
			sum.ConstraintsAdded += made.ConstraintsAdded
			sum.ConstraintsRemoved += made.ConstraintsRemoved
		}()
	}
	graph := ""
	if o.x.g != nil {
		graph = o.x.g.Name()
	}
	switch o.n.Kind {
	case plan.CreateIndex:
		return nil, t.CreateIndex(ctx, graph, o.n.Index)
	case plan.DropIndex:
		return nil, t.DropIndex(ctx, graph, o.n.Name, o.n.IfExists)
	case plan.CreateConstraint:
		return nil, t.CreateConstraint(ctx, graph, o.n.Constraint)
	case plan.DropConstraint:
		return nil, t.DropConstraint(ctx, graph, o.n.Name, o.n.IfExists)
	case plan.CreateGraph, plan.DropGraph:
		return nil, o.graph(ctx, t)
	}
	return nil, dberr.New(dberr.Internal, "unknown schema command")
}

func (o *schemaCommand) graph(ctx context.Context, t store.Tx) error {
	if done, err := o.reserved(); done || err != nil {
		return err
	}
	if o.n.IfExists {
		list, err := t.Graphs(ctx)
		if err != nil {
			return err
		}
		exists := slices.ContainsFunc(list, func(g schema.Graph) bool { return g.Name == o.n.Name })
		if exists == (o.n.Kind == plan.CreateGraph) {
			return nil
		}
	}
	var err error
	if o.n.Kind == plan.CreateGraph {
		if err = t.CreateGraph(ctx, o.n.Name); dberr.Is(err, dberr.DuplicateObject) {
			err = dberr.New(dberr.DuplicateDatabase, "database %q already exists", o.n.Name)
		}
	} else {
		err = t.DropGraph(ctx, o.n.Name, o.n.Cascade)
	}
	if err == nil {
		o.x.stmt.Counters().GraphsChanged++
	}
	return err
}

// reserved refuses to make or drop a graph by a name that means another one, or none; done tells that IF NOT EXISTS is satisfied.
func (o *schemaCommand) reserved() (done bool, err error) {
	if o.x.opt.Server == nil {
		return false, nil
	}
	of, ok := o.x.opt.Server.Aliases()[strings.ToLower(o.n.Name)]
	switch {
	case !ok:
		return false, nil
	case o.n.Kind == plan.CreateGraph && o.n.IfExists:
		return true, nil
	case o.n.Kind == plan.CreateGraph && of != "":
		return false, dberr.New(dberr.DuplicateDatabase, "database %q already exists: it is another name of %q", o.n.Name, of)
	case o.n.Kind == plan.CreateGraph:
		return false, dberr.New(dberr.DuplicateDatabase, "database %q already exists", o.n.Name)
	case of != "":
		return false, dberr.New(dberr.FeatureNotSupported, "%q is another name of the database %q and cannot be dropped", o.n.Name, of).
			WithHint("DROP DATABASE %s drops that one and all that is in it.", of)
	}
	return false, dberr.New(dberr.FeatureNotSupported, "the database %q cannot be dropped", o.n.Name)
}
