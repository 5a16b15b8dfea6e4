package exec_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/qtest"
)

// scanned runs a statement and returns how many rows its scans of labels gave.
func scanned(t *testing.T, d *qtest.DB, text string) (n int64) {
	t.Helper()
	tx := begin(t, d)
	cur, end := start(t, d, tx, prepare(t, d, tx, text))
	defer end()
	for {
		k, err := cur.Next()
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			break
		}
	}
	for _, p := range cur.Profile() {
		if p != nil && strings.HasSuffix(p.Name, "Scan") {
			n += p.Rows
		}
	}
	return n
}

// TestOneScanForABatch: without an index a label is read once for each batch of rows that look for something in it, not once for each row.
func TestOneScanForABatch(t *testing.T) {
	const label, rows = 2000, 5000
	for _, text := range []string{
		"UNWIND range(1, %d) AS i MERGE (n:M {id: i %% 4000}) RETURN count(n)",
		"UNWIND range(1, %d) AS i MERGE (n:M {id: i %% 4000}) ON CREATE SET n.new = true ON MATCH SET n.seen = i RETURN count(n)",
		"UNWIND range(1, %d) AS i OPTIONAL MATCH (n:M {id: i}) RETURN count(n)",
		"UNWIND range(1, %d) AS i OPTIONAL MATCH (n:M {id: i})-[:R]->(m) RETURN count(m)",
		"UNWIND range(1, %d) AS i CALL (i) { MATCH (n:M {id: i}) RETURN count(n) AS c } RETURN sum(c)",
		"UNWIND range(1, %d) AS i WITH i WHERE EXISTS { MATCH (n:M {id: i}) } RETURN count(i)",
		"UNWIND range(1, %d) AS i WITH i WHERE NOT EXISTS { (:M {id: i}) } RETURN count(i)",
		"UNWIND range(1, %d) AS i RETURN sum(COUNT { MATCH (n:M) WHERE n.id = i })",
	} {
		d := qtest.New(nil)
		d.Exec.Profile = true
		d.Must(t, fmt.Sprintf("UNWIND range(1, %d) AS i CREATE (:M {id: i})-[:R]->(:X)", label), nil)
		n := scanned(t, d, fmt.Sprintf(text, rows))
		// The first batches are smaller than 1,024 rows, and MERGE finds up to 4,000 vertices in the end.
		if most := int64(rows/1024+5) * 2 * label; n == 0 || n > most {
			t.Errorf("%d rows were scanned, %d at most are wanted: %s", n, most, text)
		}
	}
}

// TestMergeInBatches: a MERGE that looks for the rows of a batch at once gives what one that takes row by row does.
func TestMergeInBatches(t *testing.T) {
	for _, setup := range [][]string{nil, {"CREATE INDEX FOR (n:M) ON (n.id)"}, {"CREATE CONSTRAINT FOR (n:U) REQUIRE n.id IS UNIQUE"}} {
		open := func(batch int) *qtest.DB {
			db, err := engine.Open(context.Background(), engine.Options{CacheBytes: 16 << 20})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close(context.Background()) })
			d := qtest.On(db.Store())
			d.Exec = exec.Options{BatchSize: batch, Poison: true}
			for _, s := range setup {
				d.Must(t, s, nil)
			}
			return d
		}
		one, many, few := open(1), open(1024), open(7)
		for _, text := range []string{
			"CREATE (:M {id: 3, a: 'first'}), (:M {id: 3.0, a: 'second'}), (:Other {id: 4}), (:U {id: 2, x: 1})",
			"UNWIND [1, 2, 1.0, 3, 2, 4, 1] AS i MERGE (n:M {id: i}) RETURN i, n.id AS id, n.a AS a, labels(n) AS l",
			"UNWIND range(1, 1200) AS i MERGE (n:M {id: i % 600, k: 'x'}) RETURN count(n) AS c, count(DISTINCT n) AS d",
			"UNWIND [7, 8, 7, 3, 7] AS i MERGE (n:M {id: i}) ON CREATE SET n.made = i, n.times = 1 ON MATCH SET n.times = coalesce(n.times, 0) + 1 RETURN i, n.times AS times, n.a AS a",
			"UNWIND [0.0/0.0, 0.0/0.0, 1] AS i MERGE (n:NaN {id: i}) RETURN count(DISTINCT n) AS c",
			"UNWIND [[1], [1.0], [1, 2], [1]] AS l MERGE (n:List {id: l}) RETURN count(DISTINCT n) AS c",
			"UNWIND ['2020-01-01T00:00+00:00', '2020-01-01T01:00+01:00'] AS s MERGE (n:T {id: datetime(s)}) RETURN count(DISTINCT n) AS c, collect(toString(n.id)) AS t",
			// What an earlier row sets decides about a later one.
			"UNWIND [20, 20, 21, 21] AS i MERGE (n:M {id: i}) ON CREATE SET n.id = i + 1 RETURN i, n.id AS id",
			"UNWIND [30, 30, 31] AS i MERGE (n:M {id: i}) ON CREATE SET n:Gone ON MATCH SET n += {id: 31} RETURN i, n.id AS id",
			"MATCH (m:M {k: 'x'}) WHERE m.id < 5 MERGE (n:Copy {v: m.id}) ON MATCH SET m.id = -m.id RETURN count(n) AS c",
			"MATCH (m:M) WHERE m.id < 50 MERGE (n:Copy {v: m.id % 10}) ON CREATE SET n.from = m.id RETURN count(n) AS c, min(n.from) AS f",
			"UNWIND [{id: 1}, {id: 2}, {id: 5}, {id: 2}] AS row MERGE (n:U {id: row.id}) ON MATCH SET n.seen = row.id RETURN n.id AS id, n.seen AS seen",
			"UNWIND [5, 6, 6] AS i MERGE (n:U {id: i}) RETURN n.id AS id",
			"UNWIND [1, 1] AS i MERGE (:Silent {id: i})",
			"UNWIND [1, 2, 1] AS i MERGE p = (n:M {id: i, way: 'p'}) RETURN length(p) AS l, n.id AS id",
		} {
			want := one.Must(t, text, nil).Text()
			for _, d := range []*qtest.DB{many, few} {
				if got := d.Must(t, text, nil).Text(); got != want {
					t.Errorf("%s\nrow by row: %.300s\nin batches: %.300s", text, want, got)
				}
			}
		}
		const all = "MATCH (n) RETURN labels(n) AS l, properties(n) AS p ORDER BY l, p"
		want := one.Must(t, all, nil).Text()
		for _, d := range []*qtest.DB{many, few} {
			if got := d.Must(t, all, nil).Text(); got != want {
				t.Error("the graphs differ")
			}
		}
		if _, err := many.Run("UNWIND [1, null] AS i MERGE (n:M {id: i})", nil); err == nil {
			t.Error("a null was merged")
		}
	}
}
