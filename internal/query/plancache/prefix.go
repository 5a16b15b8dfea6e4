package plancache

import (
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
)

// known are the options of a CYPHER prefix and their values, as Neo4j has them. But for replan none changes anything here: they choose between
// runtimes and planners of Neo4j.
var known = map[string][]string{
	"version":                      {"3.5", "4.0", "4.1", "4.2", "4.3", "4.4", "5", "25"},
	"runtime":                      {"interpreted", "slotted", "pipelined", "parallel"},
	"planner":                      {"cost", "idp", "dp"},
	"connectcomponentsplanner":     {"greedy", "idp"},
	"updatestrategy":               {"default", "eager"},
	"expressionengine":             {"default", "interpreted", "compiled"},
	"operatorengine":               {"default", "interpreted", "compiled"},
	"interpretedpipesfallback":     {"default", "disabled", "whitelisted_plans_only", "all"},
	"replan":                       {"default", "force", "skip"},
	"debug":                        nil,
	"inferschemaparts":             {"off", "most_selective_label"},
	"statefulshortestplanningmode": {"intopriority", "cardinality_heuristic", "into_only", "all_if_possible"},
	"eageranalyzer":                {"default", "ir", "lp"},
	"labelinference":               {"enabled", "disabled"},
	"planvarexpandinto":            {"minimum_cost", "single_row"},
	"parallelruntimesupport":       {"disabled", "all"},
}

// prefix takes EXPLAIN, PROFILE and CYPHER with its options off the text.
func (t *Text) prefix() error {
	var words [1]string
	if cypher.FirstWords(t.Text, words[:]) == 0 {
		return nil
	}
	switch words[0] {
	case "EXPLAIN", "PROFILE", "CYPHER":
	default:
		return nil
	}
	st, err := cypher.Parse(t.Text, cypher.Options{Dialect: t.dialect()})
	if err != nil {
		return err
	}
	for _, o := range st.Options {
		values, ok := known[strings.ToLower(o.Name)]
		if !ok {
			return dberr.Compile(dberr.Syntax, "UnexpectedSyntax", o.Pos(), o.End(), "there is no option %s of CYPHER", o.Name).
				WithHint("Known are version, runtime, planner, replan and those of Neo4j 5 beside them.")
		}
		v := strings.ToLower(o.Value)
		if values != nil && !slices.Contains(values, v) {
			return dberr.Compile(dberr.Syntax, "UnexpectedSyntax", o.Pos(), o.End(), "%s is not a value of the option %s: expected one of %s", o.Value, o.Name, strings.Join(values, ", "))
		}
		if strings.EqualFold(o.Name, "replan") {
			t.Replan = map[string]Replan{"force": ReplanForce, "skip": ReplanSkip}[v]
		}
	}
	t.Mode = plan.ExplainMode(st.Mode)
	t.Offset = st.Body.Pos()
	t.Body = t.Text[t.Offset:st.End()]
	return nil
}
