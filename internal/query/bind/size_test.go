package bind_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
)

// TestScriptsTooLargeToPlan: a statement of many thousand clauses is refused before the planner sees it (rules C12).
func TestScriptsTooLargeToPlan(t *testing.T) {
	var chain strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&chain, "CREATE (n%d:A) ", i)
	}
	for _, c := range []struct {
		name, text string
		refused    bool
	}{
		{"2,000 creates", strings.Repeat("CREATE (:A {x: 1}) ", 2000), false},
		{"10,000 WITHs", "WITH 1 AS x " + strings.Repeat("WITH x AS x ", 10_000) + "RETURN x", false},
		{"10,000 SETs", "MATCH (n) " + strings.Repeat("SET n.x = 1 ", 10_000), true},
		{"200,000 creates", strings.Repeat("CREATE (:A) ", 200_000), true},
		{"9,000 named creates", chain.String(), true},
	} {
		st, err := cypher.Parse(c.text, cypher.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = bind.Bind(st, bind.Options{})
		if got := dberr.Is(err, dberr.StatementTooComplex); got != c.refused {
			t.Errorf("%s: refused %v, want %v (%v)", c.name, got, c.refused, err)
		}
	}
}
