package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// analyzeProcedure renews what the planner knows of the graph.
var analyzeProcedure = builtin("hedgerow.analyze(label = :: STRING) :: (label :: STRING, isRelationship :: BOOLEAN, count :: INTEGER)", "READ",
	"Samples the graph, or one label or type of it, for the planner.",
	func(c *calling, args []value.Value, yield yielder) error {
		env := c.env
		a, ok := env.Graph.(store.Analyzer)
		if !ok {
			return nil // a store that keeps no statistics
		}
		name := ""
		if len(args) > 0 && args[0].Kind() == value.String {
			name = args[0].Str()
		}
		found := false
		for _, l := range env.Graph.Labels(env.View) {
			if l.ID < schema.FirstUserLabel || name != "" && l.Name != name {
				continue
			}
			found = true
			if err := env.Check(); err != nil {
				return err
			}
			if err := a.Analyze(env.Ctx, env.View, l.ID); err != nil {
				return err
			}
			if err := yield(value.NewString(l.Name), value.NewBool(l.Entity == schema.Edge), value.NewInt(int64(entitiesOf(env, l)))); err != nil {
				return err
			}
		}
		if !found && name != "" {
			return dberr.New(dberr.UndefinedTable, "there is no label or relationship type `%s`", name)
		}
		return nil
	})

func entitiesOf(env *expr.Env, l schema.Label) float64 {
	if l.Entity == schema.Edge {
		return env.Graph.RelCount(l.ID)
	}
	return env.Graph.NodeCount(l.ID)
}

// statisticsProcedure shows what the planner knows: a row for each key, and one for each type and direction of a label's relationships.
var statisticsProcedure = builtin("hedgerow.statistics() :: (label :: STRING, isRelationship :: BOOLEAN, of :: STRING, rows :: FLOAT, nulls :: FLOAT, distinctValues :: FLOAT, width :: FLOAT, "+
	"commonValues :: LIST<ANY>, commonShares :: LIST<ANY>, histogram :: LIST<ANY>, degree :: MAP)", "READ",
	"What the last samples said: a row for each property key, and for each type and direction of relationships.",
	func(c *calling, _ []value.Value, yield yielder) error {
		env := c.env
		labels := env.Graph.Labels(env.View)
		for _, l := range labels {
			if err := env.Check(); err != nil {
				return err
			}
			for _, name := range env.Graph.Keys() {
				if err := keyRow(env, l, name, yield); err != nil {
					return err
				}
			}
			if l.Entity == schema.Edge {
				continue
			}
			for _, t := range labels {
				for _, dir := range [...]store.Direction{store.Out, store.In} {
					if t.Entity != schema.Edge {
						continue
					}
					if err := degreeRow(env, l, t, dir, yield); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})

func keyRow(env *expr.Env, l schema.Label, name string, yield func(...value.Value) error) error {
	id, ok := env.Graph.Key(name)
	if !ok {
		return nil
	}
	k := env.Graph.KeyStats(l.ID, id)
	if k == nil {
		return nil
	}
	var vals, shares []value.Value
	for _, c := range k.Common {
		vals, shares = append(vals, c.Value), append(shares, value.NewFloat(c.Share))
	}
	return yield(value.NewString(l.Name), value.NewBool(l.Entity == schema.Edge), value.NewString(name), value.NewFloat(k.Rows), value.NewFloat(k.Null),
		value.NewFloat(k.Distinct), value.NewFloat(k.Width), value.NewList(vals...), value.NewList(shares...), value.NewList(k.Bounds...), value.Value{})
}

func degreeRow(env *expr.Env, l, t schema.Label, dir store.Direction, yield func(...value.Value) error) error {
	d := env.Graph.DegreeStats(l.ID, t.ID, dir)
	if d == nil || d.Mean == 0 {
		return nil
	}
	of := "()-[:" + value.QuoteName(t.Name) + "]->"
	if dir == store.In {
		of = "()<-[:" + value.QuoteName(t.Name) + "]-"
	}
	m := value.NewMapBuilder()
	for _, f := range [...]struct {
		name string
		x    float64
	}{{"zero", d.Zero}, {"p50", d.P50}, {"p90", d.P90}, {"p99", d.P99}, {"max", d.Max}, {"mean", d.Mean}, {"second", d.Second}, {"neighbours", d.Neighbours}} {
		m.Put(f.name, value.NewFloat(f.x))
	}
	var null value.Value
	return yield(value.NewString(l.Name), value.NewBool(false), value.NewString(of), value.NewFloat(d.Rows), null, null, null, null, null, null, m.Map())
}
