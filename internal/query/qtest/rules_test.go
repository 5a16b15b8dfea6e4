package qtest

import (
	"fmt"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
)

// TestRules: no rewrite rule of the planner, and no index, changes an answer. Each rule in turn is switched off, then all, with indexes made before
// the data; the reference run has neither rules nor indexes.
func TestRules(t *testing.T) {
	per := 120
	if testing.Short() {
		per = 36
	}
	reference := func() Target {
		db := New(nil)
		db.Exec = exec.Options{Reference: true}
		return db
	}
	all := map[plan.Rule]bool{}
	for _, r := range plan.Rules {
		all[r] = true
	}
	sets := []map[plan.Rule]bool{nil, all}
	for _, r := range plan.Rules {
		sets = append(sets, map[plan.Rule]bool{r: true})
	}
	for i, off := range sets {
		name := "none off"
		if len(off) > 1 {
			name = "all off"
		} else {
			for r := range off {
				name = string(r) + " off"
			}
		}
		t.Run(name, func(t *testing.T) {
			d := &Differential{Reference: reference, Subject: func(batch int) Target {
				db := New(nil)
				for _, l := range []string{"A", "B", "C"} {
					for _, k := range []string{"u", "a", "b", "s"} {
						db.Must(t, fmt.Sprintf("CREATE INDEX FOR (n:%s) ON (n.%s)", l, k), nil)
					}
				}
				db.Must(t, "CREATE INDEX FOR (n:A) ON (n.a, n.b)", nil)
				for _, r := range []string{"R", "S"} {
					db.Must(t, fmt.Sprintf("CREATE INDEX FOR ()-[r:%s]-() ON (r.a)", r), nil)
				}
				db.Exec = exec.Options{BatchSize: batch, Poison: true}
				db.Plan = plan.Options{Off: off, Force: true}
				return db
			}}
			if _, _, err := d.Run(uint64(50_000+i*1000), per); err != nil {
				t.Fatal(err)
			}
		})
	}
}
