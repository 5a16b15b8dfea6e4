package exec_test

import (
	"context"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// quiet is a graph whose writes do nothing, so that what is counted lies above the store.
type quiet struct {
	store.Graph
	next uint64
}

func (q *quiet) CreateNodes(_ context.Context, _ uint32, _ []schema.LabelID, props []store.PropRow, out *store.Hits) error {
	for i := range props {
		q.next++
		out.Row, out.ID, out.Hint = append(out.Row, uint16(i)), append(out.ID, schema.MakeID(3, q.next)), append(out.Hint, 0)
	}
	return nil
}

func (q *quiet) CreateRels(ctx context.Context, cid uint32, _ schema.LabelID, _, _ []uint64, props []store.PropRow, out *store.Hits) error {
	return q.CreateNodes(ctx, cid, nil, props, out)
}

func (q *quiet) SetProps(context.Context, uint32, schema.Entity, []uint64, []store.Hint, []store.PropRow) error {
	return nil
}

func (q *quiet) SetLabels(context.Context, uint32, []uint64, []store.Hint, []schema.LabelID, []schema.LabelID) error {
	return nil
}

func (q *quiet) Delete(context.Context, uint32, schema.Entity, []uint64, []store.Hint, bool) error {
	return nil
}

func (q *quiet) Lock(context.Context, store.View, schema.Entity, []uint64, []store.Hint, []bool, []bool) error {
	return nil
}

// Rule E2: at most 0.01 allocations a row over 100,000 rows, encoding and spill apart. What a statement allocates once counts too.
func TestAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a graph of 100,000 vertices")
	}
	d := big(t, manyRows)
	tx := begin(t, d)
	for _, text := range []string{
		"MATCH (n:L) WHERE n.x > 5 AND n.s = 'text' RETURN count(*) AS c",
		"MATCH (n:L) WITH n.x + 1 AS y, n.s AS s WHERE y % 2 = 0 RETURN sum(y) AS c",
		"MATCH (n:L) WHERE n.s STARTS WITH 'te' AND NOT n:M RETURN max(n.x) AS c",
		"MATCH (n:L) RETURN n.x % 10 AS k, count(*) AS c, avg(n.x) AS a",
		"MATCH (n:L)-[:R]->(m) RETURN count(m.x) AS c",
		"MATCH (n:L) OPTIONAL MATCH (n)-[r:R]->(m) RETURN count(m) AS c",
		"MATCH (n:L) WHERE EXISTS { (n)-[:R]->() } RETURN count(*) AS c",
		"MATCH (n:L) RETURN n.x AS x ORDER BY x DESC LIMIT 10",
		"UNWIND range(1, 100000) AS x RETURN min(x) AS c",
		"MATCH (n:L) SET n.x = n.x + 1, n.y = 'abc'",
		"MATCH (n:L) SET n += {a: n.x, b: n.s}",
		"MATCH (n:L) SET n:M",
		"MATCH (n:L) REMOVE n.x",
		"MATCH (n:L) DELETE n",
		"MATCH (n:L) DETACH DELETE n",
		"MATCH (n:L) CREATE (:M {x: n.x, s: n.s})",
		"MATCH (n:L) CREATE (n)-[:S {x: 1}]->(m:M)",
		"UNWIND range(1, 100000) AS x CREATE (:M {x: x})",
	} {
		p := prepare(t, d, tx, text)
		ctx := context.Background()
		run := func() {
			stmt, err := tx.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer stmt.Close()
			g, err := stmt.Graph(ctx, d.Graph)
			if err != nil {
				t.Fatal(err)
			}
			cur, err := p.Run(ctx, stmt, &quiet{Graph: g}, nil, d.Exec)
			if err != nil {
				t.Fatal(err)
			}
			defer cur.Close()
			for {
				n, err := cur.Next()
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					return
				}
			}
		}
		per := testing.AllocsPerRun(1, run) / manyRows
		t.Logf("%.4f allocations a row: %s", per, text)
		if per > 0.01 {
			t.Errorf("%.3f allocations a row: %s", per, text)
		}
	}
}
