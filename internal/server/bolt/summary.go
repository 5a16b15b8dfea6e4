package bolt

import (
	"strings"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/session"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// effects are Bolt's letters for what a statement may do.
var effects = map[session.Effect]string{session.Reads: "r", session.ReadsWrites: "rw", session.Writes: "w", session.ChangesSchema: "s"}

// summary writes what a client learns of a statement that has ended.
func (c *conn) summary(out meta, r *result, sum *session.Summary, rep *session.PlanReport) {
	out.text("type", effects[r.prepared.Effect()])
	out.int("t_last", time.Since(r.at).Milliseconds())
	out.text("db", c.tx.db)
	if s, ok := stats(sum); ok {
		out.put("stats", s)
	}
	if rep != nil {
		key := "plan"
		if rep.Profiled {
			key = "profile"
		}
		out.put(key, operator(rep.Root, rep))
	}
	c.remarks(out, r)
}

// stats counts what was changed; ok is false if nothing was.
func stats(sum *session.Summary) (v value.Value, ok bool) {
	out, changed := newMeta(), false
	for _, x := range []struct {
		key string
		n   int64
	}{
		{"nodes-created", sum.NodesCreated}, {"nodes-deleted", sum.NodesDeleted},
		{"relationships-created", sum.RelsCreated}, {"relationships-deleted", sum.RelsDeleted},
		{"properties-set", sum.PropsSet}, {"labels-added", sum.LabelsAdded}, {"labels-removed", sum.LabelsRemoved},
		{"indexes-added", sum.IndexesAdded}, {"indexes-removed", sum.IndexesRemoved},
		{"constraints-added", sum.ConstraintsAdded}, {"constraints-removed", sum.ConstraintsRemoved},
	} {
		if x.n != 0 {
			out.int(x.key, x.n)
			changed = true
		}
	}
	if changed {
		out.bool("contains-updates", true)
	}
	if sum.GraphsChanged != 0 {
		out.int("system-updates", sum.GraphsChanged)
		out.bool("contains-system-updates", true)
		changed = true
	}
	return out.value(), changed
}

// operator writes a plan. The root says besides how it was made, and what the whole statement cost.
func operator(n *session.PlanTree, rep *session.PlanReport) value.Value {
	args := newMeta()
	if n.Detail != "" {
		args.text("Details", n.Detail)
	}
	if !rep.NoEstimates {
		args.float("EstimatedRows", n.Est)
	}
	if n == rep.Root {
		args.text("planner", "COST")
		args.text("planner-impl", "DP")
		args.text("runtime", "BATCHED")
		args.text("runtime-impl", "BATCHED")
		args.text("version", "5")
		args.text("string-representation", rep.String())
		if rep.Cache != "" {
			args.text("PlanCache", rep.Cache)
		}
		if rep.Profiled {
			args.int("GlobalMemory", rep.Memory)
		}
	}
	out := newMeta()
	out.text("operatorType", n.Name)
	out.put("identifiers", texts(n.Identifiers))
	if st := n.Stats; st != nil {
		for _, p := range n.Properties() {
			args.put(p.Name, p.Val)
		}
		hits, read, ratio := st.Cost.PagesPinned-st.Cost.PagesRead, st.Cost.PagesRead, 0.0
		if hits+read > 0 {
			ratio = float64(hits) / float64(hits+read)
		}
		// Drivers read the figures beside the arguments, tools that draw plans among them.
		for _, f := range []struct {
			key string
			n   int64
		}{
			{"dbHits", st.Cost.DBHits()}, {"rows", st.Rows}, {"pageCacheHits", hits}, {"pageCacheMisses", read}, {"time", st.Time.Nanoseconds()},
		} {
			out.int(f.key, f.n)
			args.int(strings.ToUpper(f.key[:1])+f.key[1:], f.n)
		}
		out.float("pageCacheHitRatio", ratio)
		args.float("PageCacheHitRatio", ratio)
		args.int("Memory", st.Memory)
	}
	out.put("args", args.value())
	var kids value.ListBuilder
	for _, k := range n.Children {
		kids.Add(operator(k, rep))
	}
	out.put("children", kids.List())
	return out.value()
}
