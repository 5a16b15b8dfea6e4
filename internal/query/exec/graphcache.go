package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// graphCacheProcedures look after what is in memory of neighbourhoods. On a store that keeps none there they do nothing.
var graphCacheProcedures = []Procedure{
	builtin("hedgerow.graphCache.clear() :: (cleared :: BOOLEAN)", "READ", "Forgets the neighbourhoods that are in memory, of every graph.",
		func(c *calling, _ []value.Value, yield yielder) error {
			g, ok := c.env.Graph.(store.GraphCache)
			if ok {
				g.ClearGraphCache()
			}
			return yield(value.NewBool(ok))
		}),
	builtin("hedgerow.graphCache.status() :: (name :: STRING, value :: INTEGER)", "READ", "What is in memory of neighbourhoods, and how it is used.",
		func(c *calling, _ []value.Value, yield yielder) error {
			g, ok := c.env.Graph.(store.GraphCache)
			if !ok {
				return nil
			}
			for _, f := range g.GraphCacheStatus() {
				if err := yield(value.NewString(f.Name), value.NewInt(f.Value)); err != nil {
					return err
				}
			}
			return nil
		}),
	builtin("hedgerow.graphCache.verify(sample = 16 :: INTEGER) :: (lists :: INTEGER, differences :: INTEGER)", "READ",
		"Compares parts of what is in memory of neighbourhoods, so many for each type and direction, with the indexes.",
		func(c *calling, args []value.Value, yield yielder) error {
			sample := int64(16)
			if len(args) > 0 && args[0].Kind() == value.Int {
				sample = args[0].Int()
			}
			if sample < 0 {
				return dberr.New(dberr.InvalidParameterValue, "the sample must not be negative, it is %d", sample)
			}
			var lists, differences int64
			if g, ok := c.env.Graph.(store.GraphCache); ok {
				var err error
				if lists, differences, err = g.VerifyGraphCache(c.env.Ctx, c.env.View, int(min(sample, 1<<30))); err != nil {
					return err
				}
			}
			return yield(value.NewInt(lists), value.NewInt(differences))
		}),
	builtin("hedgerow.graphCache.warm(type = :: STRING) :: (segments :: INTEGER, bytes :: INTEGER)", "READ",
		"Reads the neighbourhoods of the graph, or those of one type, into memory, as far as they fit.",
		func(c *calling, args []value.Value, yield yielder) error {
			g, ok := c.env.Graph.(store.GraphCache)
			if !ok {
				return nil
			}
			var types []schema.LabelID
			if len(args) > 0 && args[0].Kind() == value.String && args[0].Str() != "" {
				t, ok := c.env.Graph.Label(c.env.View, args[0].Str(), schema.Edge)
				if !ok {
					return dberr.New(dberr.UndefinedTable, "there is no relationship type `%s`", args[0].Str())
				}
				types = []schema.LabelID{t}
			}
			if err := g.WarmGraphCache(c.env.Ctx, c.env.View, types); err != nil {
				return err
			}
			var segments, bytes int64
			for _, f := range g.GraphCacheStatus() {
				switch f.Name {
				case "segments":
					segments = f.Value
				case "cache_bytes":
					bytes = f.Value
				}
			}
			return yield(value.NewInt(segments), value.NewInt(bytes))
		}),
}
