package hedgerow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// cells runs a query and returns its rows, cells joined by |, rows by a space.
func cells(t *testing.T, db *DB, query string, params Params) string {
	t.Helper()
	rows, err := db.Query(context.Background(), query, params)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	var out []string
	for rows.Next() {
		var row []string
		for i := range rows.Columns() {
			row = append(row, rows.Text(i))
		}
		out = append(out, strings.Join(row, "|"))
	}
	if err := rows.Close(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(out, " ")
}

func TestCallInTransactions(t *testing.T) {
	open := func(t *testing.T) *DB {
		db, err := OpenMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	ctx := context.Background()
	fails := func(t *testing.T, db *DB, query, state, text string) {
		t.Helper()
		_, err := db.Exec(ctx, query, nil)
		var e *Error
		if !errors.As(err, &e) || e.SQLState != state || !strings.Contains(e.Error(), text) {
			t.Errorf("%s: got %v, want %s %s", query, err, state, text)
		}
	}
	t.Run("counts", func(t *testing.T) {
		db := open(t)
		res, err := db.Exec(ctx, "UNWIND range(1, 25) AS i CALL { WITH i CREATE (:N {i: i}) } IN TRANSACTIONS OF 10 ROWS", nil)
		if err != nil || res.NodesCreated != 25 || res.PropertiesSet != 25 {
			t.Errorf("got %+v, %v", res, err)
		}
		if got := cells(t, db, "MATCH (n:N) RETURN count(n), sum(n.i)", nil); got != "25|325" {
			t.Errorf("got %s", got)
		}
	})
	for _, c := range []struct{ name, query, want string }{
		{"scope clause", "UNWIND [1, 2, 3] AS i CALL (i) { CREATE (n:N {i: i}) RETURN n } IN TRANSACTIONS OF 2 ROWS RETURN n.i ORDER BY n.i", "1 2 3"},
		{"importing WITH", "UNWIND [1, 2, 3] AS i CALL { WITH i CREATE (n:N {i: i}) RETURN n.i * 2 AS d } IN TRANSACTIONS RETURN i, d", "1|2 2|4 3|6"},
		{"every row of the body", "UNWIND [2, 0, 1] AS i CALL (i) { UNWIND range(1, i) AS k RETURN k } IN TRANSACTIONS RETURN i, k", "2|1 2|2 1|1"},
		{"optional", "UNWIND [2, 0, 1] AS i OPTIONAL CALL (i) { UNWIND range(1, i) AS k RETURN k } IN TRANSACTIONS OF 1 ROW RETURN i, k", "2|1 2|2 0|null 1|1"},
		{"without rows of its own", "CALL { CREATE (:N) } IN TRANSACTIONS RETURN 1 AS one", "1"},
		{"no rows at all", "UNWIND [] AS i CALL (i) { CREATE (:N) } IN TRANSACTIONS RETURN count(*)", "0"},
		{"a parameter", "UNWIND range(1, 5) AS i CALL (i) { CREATE (:N {i: i}) } IN TRANSACTIONS OF $rows ROWS RETURN count(*)", "5"},
		{"concurrent", "UNWIND range(1, 5) AS i CALL (i) { CREATE (:N {i: i}) } IN 3 CONCURRENT TRANSACTIONS OF 1 ROWS RETURN count(*)", "5"},
		{"two of them", "UNWIND [1, 2] AS i CALL (i) { CREATE (n:A {i: i}) RETURN n } IN TRANSACTIONS CALL (n) { MATCH (m:A) WHERE m.i <= n.i CREATE (:B) RETURN count(*) AS c } IN TRANSACTIONS RETURN n.i, c ORDER BY n.i", "1|1 2|2"},
		{"a write behind it", "UNWIND [1, 2] AS i CALL (i) { CREATE (n:A {i: i}) RETURN n } IN TRANSACTIONS SET n.j = n.i + 1 RETURN n.j ORDER BY n.j", "2 3"},
		{"the outer query sees it afterwards", "CALL { CREATE (:A) } IN TRANSACTIONS MATCH (a:A) RETURN count(a)", "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := cells(t, open(t), c.query, Params{"rows": 2}); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	t.Run("a property is read again behind it", func(t *testing.T) {
		db := open(t)
		cells(t, db, "CREATE (:N {v: 1})", nil)
		if got := cells(t, db, "MATCH (n:N) WITH n, n.v AS before CALL (n) { SET n.v = n.v + 1 } IN TRANSACTIONS RETURN before, n.v, n", nil); got != "1|2|(:N {v: 2})" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("the rows around are those of the beginning", func(t *testing.T) {
		db := open(t)
		cells(t, db, "UNWIND range(1, 10) AS i CREATE (:N {v: i})", nil)
		if got := cells(t, db, "MATCH (n:N) CALL (n) { CREATE (:N {v: n.v}) } IN TRANSACTIONS OF 1 ROWS RETURN count(*)", nil); got != "10" {
			t.Errorf("got %s rows", got)
		}
		if got := cells(t, db, "MATCH (n:N) RETURN count(*)", nil); got != "20" {
			t.Errorf("got %s nodes", got)
		}
		if res, err := db.Exec(ctx, "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 3 ROWS", nil); err != nil || res.NodesDeleted != 20 {
			t.Errorf("got %+v, %v", res, err)
		}
	})
	t.Run("iterations of a batch see each other", func(t *testing.T) {
		db := open(t)
		if got := cells(t, db, "UNWIND range(1, 5) AS i CALL (i) { MERGE (n:N {k: i % 2}) ON CREATE SET n.c = 1 ON MATCH SET n.c = n.c + 1 } IN TRANSACTIONS OF 2 ROWS RETURN count(*)", nil); got != "5" {
			t.Errorf("got %s", got)
		}
		if got := cells(t, db, "MATCH (n:N) RETURN n.k, n.c ORDER BY n.k", nil); got != "0|2 1|3" {
			t.Errorf("got %s", got)
		}
	})
	const body = "UNWIND [4, 2, 0, 1, 5] AS i CALL (i) { CREATE (n:N {i: 4 / i}) RETURN n.i AS v } IN TRANSACTIONS OF 2 ROWS "
	t.Run("on error fail", func(t *testing.T) {
		for _, tail := range []string{"RETURN v", "ON ERROR FAIL RETURN v"} {
			db := open(t)
			fails(t, db, body+tail, "22012", "zero")
			if got := cells(t, db, "MATCH (n:N) RETURN count(n)", nil); got != "2" {
				t.Errorf("%s nodes, want those of the first batch", got)
			}
		}
	})
	t.Run("on error continue", func(t *testing.T) {
		db := open(t)
		got := cells(t, db, body+"ON ERROR CONTINUE REPORT STATUS AS s RETURN i, v, s.started, s.committed, s.transactionId IS NULL, s.errorMessage CONTAINS 'zero'", nil)
		if want := "4|1|true|true|false|null 2|2|true|true|false|null 0|null|true|false|false|true 1|null|true|false|false|true 5|0|true|true|false|null"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got := cells(t, db, "MATCH (n:N) RETURN count(n)", nil); got != "3" {
			t.Errorf("%s nodes", got)
		}
	})
	t.Run("on error break", func(t *testing.T) {
		db := open(t)
		got := cells(t, db, body+"ON ERROR BREAK REPORT STATUS AS s RETURN i, v, s.started, s.committed, s.transactionId IS NULL, s.errorMessage CONTAINS 'zero'", nil)
		if want := "4|1|true|true|false|null 2|2|true|true|false|null 0|null|true|false|false|true 1|null|true|false|false|true 5|null|false|false|true|null"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if res, err := db.Exec(ctx, "UNWIND [1, 0, 1] AS i CALL (i) { CREATE (:M {v: 1 / i}) } IN TRANSACTIONS OF 1 ROW ON ERROR BREAK", nil); err != nil || res.NodesCreated != 1 {
			t.Errorf("got %+v, %v", res, err)
		}
	})
	t.Run("checks at the end of a batch", func(t *testing.T) {
		db := open(t)
		cells(t, db, "CREATE (:A {i: 1})-[:R]->(:A {i: 2}), (:A {i: 3})", nil)
		if got := cells(t, db, "MATCH (a:A) WITH a, a.i AS i ORDER BY i CALL (a) { DELETE a } IN TRANSACTIONS OF 1 ROW ON ERROR CONTINUE REPORT STATUS AS s RETURN i, s.committed", nil); got != "1|false 2|false 3|true" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("refused", func(t *testing.T) {
		db := open(t)
		for query, want := range map[string]string{
			"CALL { CALL { CREATE (:N) } IN TRANSACTIONS } RETURN 1 AS x":                                                 "top of a statement",
			"CALL { CREATE (:N) } IN TRANSACTIONS RETURN 1 AS x UNION CALL { CREATE (:N) } IN TRANSACTIONS RETURN 1 AS x": "UNION",
			"CREATE (a) WITH a CALL (a) { CREATE (:N) } IN TRANSACTIONS":                                                  "follow a clause that writes",
			"CALL { CREATE (:N) } WITH 1 AS x CALL { CREATE (:N) } IN TRANSACTIONS":                                       "follow a clause that writes",
			"CALL { CREATE (:N) } IN TRANSACTIONS OF 0 ROWS":                                                              "positive integer",
			"CALL { CREATE (:N) } IN TRANSACTIONS REPORT STATUS AS s RETURN s":                                            "ON ERROR CONTINUE",
			"UNWIND [1] AS s CALL { CREATE (:N) } IN TRANSACTIONS ON ERROR BREAK REPORT STATUS AS s RETURN s":             "already defined",
		} {
			fails(t, db, query, map[bool]string{true: "42712", false: "42601"}[want == "already defined"], want)
		}
		if _, err := db.Query(ctx, "CALL { CREATE (:N) } IN TRANSACTIONS OF $n ROWS", Params{"n": 0}); err == nil || !strings.Contains(err.Error(), "positive integer") {
			t.Errorf("OF $n ROWS with 0: got %v", err)
		}
		tx, err := db.Begin(ctx, TxOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(ctx, "CALL { CREATE (:N) } IN TRANSACTIONS", nil)
		var e *Error
		if !errors.As(err, &e) || e.SQLState != "25001" || e.Neo4jCode != "Neo.DatabaseError.Transaction.TransactionStartFailed" {
			t.Errorf("in a transaction: got %v", err)
		}
		tx.Rollback()
		fails(t, db, "CREATE (:M); CALL { CREATE (:N) } IN TRANSACTIONS", "42601", "2 statements")
		c := db.Conn()
		defer c.Close()
		c.Set("default_transaction_read_only", "on")
		if _, err := c.Run(ctx, "CALL { CREATE (:N) } IN TRANSACTIONS", Cypher, nil); !errors.As(err, &e) || e.SQLState != "25006" {
			t.Errorf("read only: got %v", err)
		}
		if _, err := db.QuerySQL(ctx, "SELECT * FROM cypher('main', $$ CALL { CREATE (:N) } IN TRANSACTIONS RETURN 1 $$) AS (x agtype)"); !errors.As(err, &e) || e.SQLState != "25001" {
			t.Errorf("inside SQL: got %v", err)
		}
		if got := cells(t, db, "MATCH (n) RETURN count(n)", nil); got != "0" {
			t.Errorf("%s nodes were made", got)
		}
	})
	t.Run("repeatable read", func(t *testing.T) {
		db := open(t)
		c := db.Conn()
		defer c.Close()
		c.Set("default_transaction_isolation", "repeatable read")
		r, err := c.Run(ctx, "CALL { CREATE (n:N {v: 1}) RETURN n } IN TRANSACTIONS RETURN n.v", Cypher, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Next() || r.Text(0) != "1" {
			t.Errorf("got %v", r.Err())
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("cancelled in the middle", func(t *testing.T) {
		db := open(t)
		cctx, cancel := context.WithCancel(ctx)
		defer cancel()
		done := make(chan error, 1)
		go func() {
			_, err := db.Exec(cctx, "UNWIND range(1, 1000000000) AS i CALL (i) { CREATE (:N {i: i}) } IN TRANSACTIONS OF 10 ROWS", nil)
			done <- err
		}()
		for cells(t, db, "MATCH (n:N) RETURN count(n) > 30", nil) != "true" {
		}
		cancel()
		if err := <-done; err == nil {
			t.Error("was not cancelled")
		}
		if got := cells(t, db, "MATCH (n:N) RETURN count(n) % 10, count(n) > 30", nil); got != "0|true" {
			t.Errorf("got %s: a batch is whole or not there", got)
		}
		if n := db.db.Sessions(); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
	t.Run("memory", func(t *testing.T) {
		db := open(t)
		peak := func(n int) int64 {
			rows, err := db.Query(ctx, fmt.Sprintf("UNWIND range(1, %d) AS i CALL (i) { CREATE (:N {i: i}) } IN TRANSACTIONS OF 100 ROWS", n), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			for rows.Next() {
			}
			return rows.portal.Summary().PeakMemory
		}
		small, large := peak(1000), peak(20000)
		if large > 2*small+1<<20 {
			t.Errorf("1,000 rows take %d bytes, 20,000 take %d", small, large)
		}
	})
}
