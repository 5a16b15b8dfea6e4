package plan

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Catalog is what the planner asks about the graph: names, indexes and estimates. store.Graph satisfies it.
type Catalog interface {
	Label(v store.View, name string, e schema.Entity) (schema.LabelID, bool)
	Key(name string) (schema.KeyID, bool)
	Labels(v store.View) []schema.Label
	Keys() []string
	Indexes(v store.View) []schema.Index
	Constraints(v store.View) []schema.Constraint
	store.Stats
}

var _ Catalog = (store.Graph)(nil)

// Options of [Make].
type Options struct {
	View store.View // at which names and indexes are looked up
	// Graph is the name of the graph that the plan is for: a USE within CALL { } must mean the same. "" asks for no such test.
	Graph string

	// Reference asks for the reference run's plan (rules C5): a barrier between all clauses, textual order, no index and none of the
	// rules below.
	Reference bool
	// Off switches rules off by name, for tests that compare answers with and without them.
	Off map[Rule]bool
	// Force applies rules that only pay with many rows to few as well, for the same tests.
	Force bool
	// NoCommandIDs: the store cannot read at a command id, so every pair of clauses of a writing statement gets a barrier.
	NoCommandIDs bool
	// Value, if set, tells the value that a parameter (its index) has in the run that the plan is made for. Estimates may look at it, through
	// planner.valueOf; what the plan does must not depend on it, because the plan serves other values as well (rules C6).
	Value func(param int) (value.Value, bool)
}

// Rule names a rewrite that must not change the answer.
type Rule string

// The rules.
const (
	RuleMergeMatch     Rule = "merge-match"        // plan consecutive MATCH clauses as one graph
	RuleIndexSeek      Rule = "index-seek"         // use property indexes
	RuleIndexOrder     Rule = "index-order"        // rows in the order of an index instead of a sort; min and max from its ends
	RuleSeekUnion      Rule = "seek-union"         // find vertices by several seeks, one for each side of an OR or each label
	RuleByID           Rule = "by-id"              // find entities by id(n) = e
	RuleJoinOrder      Rule = "join-order"         // choose start and order of expansion by cost; off: textual order
	RuleHashJoin       Rule = "hash-join"          // join disconnected parts on equality
	RuleNodeJoin       Rule = "node-join"          // join two parts of a pattern on the vertices that they share
	RuleSideways       Rule = "sideways"           // a hash join tells the other side which nodes it has
	RulePushDown       Rule = "push-down"          // test a predicate as soon as its variables are bound; off: at the end of the MATCH
	RuleSemiApply      Rule = "semi-apply"         // EXISTS as a semi or anti apply
	RuleSemiJoin       Rule = "semi-join"          // EXISTS of a pattern as a hash join, where there are many rows
	RuleShare          Rule = "share"              // rows that ask a subquery the same share one answer
	RuleDegree         Rule = "degree"             // COUNT { } of one hop from the number of relationships
	RuleHopCount       Rule = "hop-count"          // counts add up degrees instead of finding the rows of the last hop
	RuleLeastLength    Rule = "least-length"       // min(length(p)) of paths by a search for the shortest
	RuleOptionalExpand Rule = "optional-expand"    // one-hop OPTIONAL MATCH without an apply
	RuleDistinctEnds   Rule = "distinct-endpoints" // BFS over end vertices where only they count (rules C7)
	RuleTopN           Rule = "top-n"              // ORDER BY with LIMIT keeps N rows
	RuleLateProject    Rule = "late-project"       // compute what the sort does not need behind it
	RuleLateProps      Rule = "late-properties"    // read all properties of a variable in one visit
	RuleCountStore     Rule = "count-store"        // count(*) of a label or type from counters
	RuleFuseSet        Rule = "fuse-set"           // adjacent SET and REMOVE with disjoint footprints as one (rules C2)
	RuleFuseCreate     Rule = "fuse-create"        // adjacent CREATEs as one
	RuleTypeUnique     Rule = "type-unique"        // no uniqueness test between relationships of disjoint types (rules C7)
)

// Rules lists all rules.
var Rules = []Rule{RuleMergeMatch, RuleIndexSeek, RuleIndexOrder, RuleSeekUnion, RuleByID, RuleJoinOrder, RuleHashJoin, RuleNodeJoin, RuleSideways, RulePushDown, RuleSemiApply, RuleSemiJoin, RuleShare, RuleDegree, RuleHopCount, RuleLeastLength, RuleOptionalExpand,
	RuleDistinctEnds, RuleTopN, RuleLateProject, RuleLateProps, RuleCountStore, RuleFuseSet, RuleFuseCreate, RuleTypeUnique}

func (o *Options) on(r Rule) bool { return !o.Reference && !o.Off[r] }

// valueOf returns the value of a constant, or of a parameter in the run that the plan is made for: for estimates alone.
func (p *planner) valueOf(e expr.Expr) (value.Value, bool) {
	switch e := e.(type) {
	case *expr.Const:
		return e.V, true
	case *expr.Param:
		if p.opt.Value != nil {
			return p.opt.Value(e.Index)
		}
	}
	return value.Value{}, false
}
