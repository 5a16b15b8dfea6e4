package qtest

import (
	"fmt"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
)

// TestJoins: patterns joined on nodes that both sides have, with the sets of nodes that joins hand to what finds them, give the rows of the reference run;
// every join is forced in turn.
func TestJoins(t *testing.T) {
	data := []string{
		`UNWIND range(0, 39) AS i CREATE (:A {id: i, x: i % 5}), (:B {id: i, x: i % 3}), (:C {id: i, x: i % 4})`,
		`MATCH (a:A), (b:B) WHERE (a.id * 7 + b.id) % 5 = 0 CREATE (a)-[:R {w: a.id}]->(b)`,
		`MATCH (c:C), (b:B) WHERE (c.id * 3 + b.id) % 6 = 0 CREATE (c)-[:S]->(b)`,
		`MATCH (a:A), (c:C) WHERE a.id = c.id CREATE (a)-[:T]->(c), (c)-[:R]->(a), (c)-[:R]->(c)`,
	}
	queries := []string{
		"MATCH (a:A {x: 1})-[:R]->(b:B)<-[:S]-(c:C {x: 2}) RETURN a.id, b.id, c.id ORDER BY a.id, b.id, c.id",
		"MATCH (a:A)-[r:R]-(b)-[s:R]-(c:A) WHERE a.x = 1 AND c.x = 2 RETURN a.id, c.id, count(*) ORDER BY a.id, c.id",
		"MATCH (a:A)-[:R]->(b)<-[:R]-(c:A) WHERE a.x = 1 AND c.x = 1 AND a.id < 20 RETURN count(*), sum(b.id)",
		"MATCH (a:A)-[:R]->(b)<-[:S]-(c)<-[:T]-(a) RETURN a.id, b.id ORDER BY a.id, b.id",
		"MATCH (a:A)-[:R]->(b:B)<-[:S]-(c:C), (a)-[:T]->(c) WHERE b.x = 1 RETURN count(*), sum(a.id), sum(b.id)",
		"MATCH p = (a:A {id: 3})-[:R]->(b)<-[:S]-(c {x: 1}) RETURN length(p), c.id ORDER BY c.id",
		"MATCH (a:A {x: 1}) WITH a MATCH (a)-[:R]->(b)<-[:S]-(c:C {x: 3}) RETURN count(*), sum(c.id)",
		"MATCH (a:A)-[:R*1..2]->(b)<-[:S]-(c:C {x: 3}) WHERE a.id < 4 RETURN count(*), sum(c.id)",
		"MATCH (a:A), (b:B) WHERE a.id = b.id AND a.x = 2 RETURN count(*), sum(b.x)",
		"MATCH (a:A {x: 1})-[:R]->(b:B) OPTIONAL MATCH (b)<-[:S]-(c:C)<-[:T]-(d {x: 0}) RETURN count(*), count(d), sum(d.id)",
		"MATCH (b:B) RETURN b.id, COUNT { (b)<--() } AS i, COUNT { (b)-->() } AS o, COUNT { (b)-[:R|S]-() } AS s, COUNT { (b)-[:NONE]-() } AS n ORDER BY b.id",
		"MATCH (a:A) OPTIONAL MATCH (a)-[:S]->(x) WITH a, x, COUNT { (x)--() } AS c WHERE COUNT { (a)<-[:R]-() } >= 1 AND c = 0 RETURN count(*), sum(COUNT { (a)-[:R]-() })",
		"MATCH (a:A) WHERE EXISTS { (a)-[:R]->(b)<-[:S]-(:C {x: 2}) } RETURN count(*), sum(a.id)",
		"MATCH (a:A) WHERE NOT EXISTS { (a)-[:R]->(b)<-[:S]-(:C {x: 2}) } RETURN a.id, a.x ORDER BY a.id",
		"MATCH (a:A) WHERE (a)-[:R]->({x: 1}) AND NOT (a)-[:R]->({x: 0}) RETURN count(*), sum(a.id)",
		"MATCH (a:A)-[:R]->(b:B) WHERE EXISTS { (b)<-[:S]-(c:C) WHERE c.x = a.x } RETURN count(*), sum(a.id), sum(b.id)",
		"MATCH (a:A)-[:R]->(b:B) WHERE NOT EXISTS { (b)<-[:S]-(c:C) WHERE a.x = c.x AND c.id <> b.id } RETURN count(*), sum(a.id), sum(b.id)",
		"UNWIND [0, 1, 2, null, 1.0, 'x'] AS v WITH v WHERE NOT EXISTS { (c:C) WHERE c.x = v } RETURN v",
		"UNWIND [0, 1, 2, null, 1.0, 'x'] AS v WITH v WHERE EXISTS { (c:C)<-[:T]-(d) WHERE c.x = v AND d.x >= 0 } RETURN v",
		"MATCH (a:A) OPTIONAL MATCH (a)-[:S]->(x) WITH a, x WHERE NOT EXISTS { (x)<-[:S]-(y) WHERE y.x = 1 } RETURN count(*), count(x), sum(a.id)",
		"MATCH (a:A), (b:B) WHERE a.x = b.x AND EXISTS { (a)-[:R]->(b) } AND NOT EXISTS { (a)-[:R]->(b), (a)-[:R]->(c) WHERE c.id > b.id } RETURN count(*), sum(a.id), sum(b.id)",
		"MATCH (a:A) WHERE NOT EXISTS { (a)-[:R]->(b) WHERE NOT EXISTS { (b)<-[:S]-(:C {x: a.x}) } } RETURN count(*), sum(a.id)",
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
	for _, batch := range []int{1, 7, 1024} {
		for _, off := range []plan.Rule{"", plan.RuleSideways, plan.RuleNodeJoin, plan.RuleHashJoin, plan.RuleDegree, plan.RuleSemiJoin} {
			for _, force := range []bool{false, true} {
				t.Run(fmt.Sprintf("batch %d, force %v, off %q", batch, force, off), func(t *testing.T) {
					for i, got := range answers(batch, plan.Options{Force: force, Off: map[plan.Rule]bool{off: true}}) {
						if got != want[i] {
							t.Errorf("%s\ngot  %q\nwant %q", queries[i], got, want[i])
						}
					}
				})
			}
		}
	}
}
