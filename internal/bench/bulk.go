package bench

import (
	"fmt"
	"strings"
)

// Bulk is a scenario whose request is one statement over many rows. It has vertices, or edges, of its own; each execution is rolled back, so that
// every one begins with the same data, and the rolling back is not timed.
type Bulk struct {
	Rows  int
	Make  []Statement
	Drop  []Statement
	Probe Statement
}

// bulk lists one large statement of each kind over vertices with 2 and 100 properties, and over edges. These are the kinds that Apache AGE's developers
// used for bounding the memory of writes and for finding what is to be written faster.
func bulk(rows int) []*Scenario {
	if rows < 1 {
		rows = 1
	}
	var out []*Scenario
	add := func(name, title string, b *Bulk, st Statement) {
		b.Rows = rows
		s := one(name, BulkG, title, func(*Draw, int) Params { return Params{"n": int64(rows)} }, st)
		s.Bulk = b
		out = append(out, s)
	}
	for _, width := range []int{2, 100} {
		suffix, with := "", "2 properties"
		if width == 100 {
			suffix, with = "_100", "100 properties"
		}
		v := func(name, title, cypher, sql string, args ...string) {
			add("b"+name+suffix, title+", vertices with "+with, vertices(width), Statement{Cypher: cypher, SQL: sql, Args: args})
		}
		v("01_read", "a count of all, for comparison", `MATCH (n:BenchBulk) RETURN count(n.v) AS n`, `SELECT count(v) FROM bench_bulk`)
		out[len(out)-1].Statements[0].Columns = []string{"n"}
		v("02_set_new", "SET of a new key", `MATCH (n:BenchBulk) SET n.fresh = 1`, `UPDATE bench_bulk SET fresh = 1`)
		v("03_set_existing", "SET of an existing key", `MATCH (n:BenchBulk) SET n.v = -1`, `UPDATE bench_bulk SET v = -1`)
		v("04_remove", "REMOVE", `MATCH (n:BenchBulk) REMOVE n.v`, `UPDATE bench_bulk SET v = NULL`)
		v("05_set_map", "SET += a map", `MATCH (n:BenchBulk) SET n += {v: -1, fresh: 1}`, `UPDATE bench_bulk SET v = -1, fresh = 1`)
		v("06_delete", "DELETE", `MATCH (n:BenchBulk) DELETE n`, `DELETE FROM bench_bulk`)
		v("07_merge_set", "MERGE with ON MATCH SET", `UNWIND range(1, $n) AS i MERGE (n:BenchBulk {id: i}) ON MATCH SET n.v = -1`,
			`INSERT INTO bench_bulk (id) SELECT i FROM generate_series(1, $1::bigint) i ON CONFLICT (id) DO UPDATE SET v = -1`, "n")
	}
	add("b08_create", "CREATE", vertices(2), Statement{Cypher: `UNWIND range(1, $n) AS i CREATE (:BenchBulk {id: -i, v: i})`,
		SQL: `INSERT INTO bench_bulk (id, v) SELECT -i, i FROM generate_series(1, $1::bigint) i`, Args: []string{"n"}})
	add("b09_edge_set", "SET of an existing key of edges", edges(), Statement{Cypher: `MATCH ()-[r:BENCH_NEXT]->() SET r.w = 1`, SQL: `UPDATE bench_bulk_next SET w = 1`})
	return out
}

// vertices are those of bulk scenarios, with a key, a number and so many more properties.
func vertices(width int) *Bulk {
	var props, columns, values strings.Builder
	for i := 3; i <= width; i++ {
		fmt.Fprintf(&props, ", p%d: 'value %d'", i, i)
		fmt.Fprintf(&columns, ", p%d text", i)
		fmt.Fprintf(&values, ", 'value %d'", i)
	}
	return &Bulk{
		Drop: []Statement{{Cypher: `MATCH (n:BenchBulk) DELETE n`, AGESQL: `SELECT drop_label($graph, 'BenchBulk') FROM ag_label WHERE name = 'BenchBulk' AND graph = (SELECT graphid FROM ag_graph WHERE name = $graph)`,
			SQL: `DROP TABLE IF EXISTS bench_bulk`}},
		Make: []Statement{
			{Cypher: `CREATE CONSTRAINT bench_bulk_id IF NOT EXISTS FOR (n:BenchBulk) REQUIRE n.id IS UNIQUE`, AGESQL: `SELECT create_vlabel($graph, 'BenchBulk')`,
				SQL: `CREATE TABLE bench_bulk (id bigint PRIMARY KEY, v bigint, fresh bigint` + columns.String() + `)`},
			{Cypher: `UNWIND range(1, $n) AS i CREATE (:BenchBulk {id: i, v: i` + props.String() + `})`,
				SQL: `INSERT INTO bench_bulk SELECT i, i, NULL` + values.String() + ` FROM generate_series(1, $1::bigint) i`, Args: []string{"n"}},
			{Cypher: None, AGESQL: `DO $do$ BEGIN EXECUTE format('CREATE INDEX ON %I."BenchBulk" USING gin (properties)', $graph);
EXECUTE format('CREATE UNIQUE INDEX ON %I."BenchBulk" (id)', $graph); EXECUTE format('ANALYZE %I."BenchBulk"', $graph); END $do$`, SQL: `ANALYZE bench_bulk`},
		},
		Probe: Statement{Cypher: `MATCH (n:BenchBulk) RETURN count(n) AS n, count(n.v) AS v, coalesce(sum(n.v), 0) AS total, count(n.fresh) AS fresh, coalesce(sum(n.id), 0) AS ids`,
			SQL: `SELECT count(*), count(v), coalesce(sum(v), 0), count(fresh), coalesce(sum(id), 0) FROM bench_bulk`, Columns: []string{"n", "v", "total", "fresh", "ids"}},
	}
}

// edges are those of bulk scenarios, each between two vertices of its own.
func edges() *Bulk {
	return &Bulk{
		Drop: []Statement{
			{Cypher: `MATCH (n:BenchEnd) DETACH DELETE n`, AGESQL: `SELECT drop_label($graph, name) FROM ag_label WHERE name IN ('BENCH_NEXT', 'BenchEnd') AND graph = (SELECT graphid FROM ag_graph WHERE name = $graph)`,
				SQL: `DROP TABLE IF EXISTS bench_bulk_next`}},
		Make: []Statement{
			{Cypher: `UNWIND range(1, $n) AS i CREATE (:BenchEnd {id: i})-[:BENCH_NEXT {w: 0}]->(:BenchEnd {id: -i})`,
				SQL: `CREATE TABLE bench_bulk_next (src bigint, dst bigint, w bigint)`},
			{Cypher: None, SQL: `INSERT INTO bench_bulk_next SELECT i, -i, 0 FROM generate_series(1, $1::bigint) i`, Args: []string{"n"}},
			{Cypher: None, AGESQL: `DO $do$ BEGIN EXECUTE format('CREATE UNIQUE INDEX ON %I."BENCH_NEXT" (id)', $graph); EXECUTE format('ANALYZE %I."BENCH_NEXT"', $graph); END $do$`,
				SQL: `ANALYZE bench_bulk_next`},
		},
		Probe: Statement{Cypher: `MATCH ()-[r:BENCH_NEXT]->() RETURN count(r) AS n, coalesce(sum(r.w), 0) AS total`, SQL: `SELECT count(*), coalesce(sum(w), 0) FROM bench_bulk_next`,
			Columns: []string{"n", "total"}},
	}
}
