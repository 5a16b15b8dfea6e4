package qtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
)

// TestHops holds counts of hops and least lengths of paths against the reference run, on random graphs with loops, parallel relationships and lone nodes.
func TestHops(t *testing.T) {
	hops := []string{"-[:R]-", "-[:R]->", "<-[:R]-", "-[:S]->", "-[:S]-", "--", "-->", "-[:R|S]-", "<-[:R|S]-"}
	var queries []string
	for i, h := range hops {
		for j, k := range hops {
			queries = append(queries, fmt.Sprintf("MATCH (a)%s(b)%s(c) RETURN count(*) AS n", h, k),
				fmt.Sprintf("MATCH (a)%s(b)%s(c)%s(d) RETURN count(*) AS n", h, k, hops[(i+2*j)%len(hops)]))
		}
		queries = append(queries,
			fmt.Sprintf("MATCH (a:A)%s(b) RETURN a.id AS id, count(b) AS n ORDER BY id", h),
			fmt.Sprintf("MATCH (a)-[r]-(b)%s(c) RETURN b.id AS id, count(c) AS n, count(*) AS m ORDER BY id", h),
			fmt.Sprintf("MATCH (a)-[r]-(b)%s(c) RETURN c.id AS id, count(*) AS n ORDER BY id", h),
			fmt.Sprintf("MATCH (a)%s(b)%s(a)%s(c) RETURN count(*) AS n", h, h, h),
			fmt.Sprintf("MATCH (a)-[:R]->(b) OPTIONAL MATCH (b)%s(c) WITH a, b, c MATCH (c)%s(d) RETURN count(d) AS n", h, h),
			fmt.Sprintf("MATCH (a:A) RETURN a.id AS id, COUNT { (a)%s()%s() } AS n ORDER BY id", h, h),
			fmt.Sprintf("MATCH (a:A) CALL (a) { MATCH (a)%s(b)%s(c) RETURN count(*) AS n } RETURN a.id AS id, n ORDER BY id", h, h),
			fmt.Sprintf("MATCH (a)%s(b) MATCH (b)%s(c) RETURN count(*) AS n", h, h),
			fmt.Sprintf("MATCH (a)%s(b)-[r]-(c) RETURN count(r) AS n, count(DISTINCT r) AS m", h))
	}
	for _, p := range []string{"-[:R*]-", "-[:R*1..3]->", "<-[*0..2]-", "-[:S*0..]-", "-[*2..3]-", "-[:R*1..4 {k: 1}]-"} {
		queries = append(queries,
			fmt.Sprintf("MATCH p = (a)%s(b) RETURN a.id AS a, b.id AS b, min(length(p)) AS n ORDER BY a, b", p),
			fmt.Sprintf("MATCH p = (a:A {id: 0})%s(b) RETURN min(length(p)) AS n", p),
			fmt.Sprintf("MATCH (a:A), (b:A) WHERE a.id < b.id MATCH p = (a)%s(b) RETURN a.id AS a, min(length(p)) AS n, min(length(p)) AS m ORDER BY a", p),
			fmt.Sprintf("MATCH p = (a:A)%s(b) WHERE length(p) > 1 RETURN min(length(p)) AS n", p),
			fmt.Sprintf("MATCH p = (a:A)%s(b) WHERE a = b RETURN min(length(p)) AS n", p),
			fmt.Sprintf("MATCH p = (a:A)%s(a) RETURN a.id AS a, min(length(p)) AS n ORDER BY a", p))
	}
	all := map[plan.Rule]bool{}
	for _, r := range plan.Rules {
		all[r] = true
	}
	ways := []plan.Options{{}, {Force: true}, {Off: map[plan.Rule]bool{plan.RuleHopCount: true}}, {Off: map[plan.Rule]bool{plan.RuleLeastLength: true}},
		{Off: map[plan.Rule]bool{plan.RuleJoinOrder: true, plan.RuleTypeUnique: true}}, {Off: all}}
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 7))
		n := 4 + rng.IntN(3)
		data := []string{"UNWIND range(0, 1) AS i CREATE (:A {id: i})", fmt.Sprintf("UNWIND range(2, %d) AS i CREATE (:B {id: i})", n)}
		for range 5 + rng.IntN(3) {
			data = append(data, fmt.Sprintf("MATCH (a {id: %d}), (b {id: %d}) CREATE (a)-[:%s {k: %d}]->(b)", rng.IntN(n), rng.IntN(n), []string{"R", "R", "S"}[rng.IntN(3)], rng.IntN(2)))
		}
		answers := func(batch int, opt plan.Options) (out []string) {
			db := New(nil)
			db.Exec, db.Plan = exec.Options{BatchSize: batch, Poison: true, Reference: opt.Reference}, opt
			for _, d := range data {
				db.Must(t, d, nil)
			}
			for _, q := range queries {
				out = append(out, db.Must(t, q, nil).Text())
			}
			return out
		}
		want := answers(1024, plan.Options{Reference: true})
		for w, opt := range ways {
			for _, batch := range []int{1, 3, 1024} {
				for i, got := range answers(batch, opt) {
					if got != want[i] {
						t.Errorf("graph %d, way %d, batch %d: %s\ngot  %q\nwant %q", seed, w, batch, queries[i], got, want[i])
					}
				}
			}
		}
	}
}
