package hedgerow

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func state(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.SQLState + " " + e.Neo4jCode
	}
	return ""
}

const killed = "57014 Neo.ClientError.Transaction.Terminated"

// awaitCells repeats a query until it gives what is wanted.
func awaitCells(t *testing.T, db *DB, query string, params Params, want string) {
	t.Helper()
	for begin := time.Now(); ; {
		got := cells(t, db, query, params)
		if got == want {
			return
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("%s: got %s, want %s", query, got, want)
		}
	}
}

func TestShowAndTerminateTransactions(t *testing.T) {
	ctx := context.Background()
	db, err := OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	cells(t, db, "CREATE (:N {v: 1})", nil)

	t.Run("columns", func(t *testing.T) {
		if got := cells(t, db, "SHOW TRANSACTIONS YIELD database, username, currentQuery, status, connectionId", nil); got != "'main'|'go'|'SHOW TRANSACTIONS YIELD database, username, currentQuery, status, connectionId'|'Running'|''" {
			t.Errorf("got %s", got)
		}
		rows, err := db.Query(ctx, "SHOW TRANSACTIONS", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		if got := strings.Join(rows.Columns(), " "); got != "database transactionId currentQueryId connectionId clientAddress username currentQuery startTime status elapsedTime" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("an idle transaction is listed, and ended at once", func(t *testing.T) {
		tx, err := db.Begin(ctx, TxOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec(ctx, "MATCH (n:N) SET n.v = 2", nil); err != nil {
			t.Fatal(err)
		}
		id := strings.Trim(cells(t, db, "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery WHERE currentQuery = '' RETURN id", nil), "'")
		if got := cells(t, db, "SHOW TRANSACTION $id YIELD transactionId, status", Params{"id": id}); got != "'"+id+"'|'Running'" {
			t.Fatalf("got %s", got)
		}
		if got := cells(t, db, "TERMINATE TRANSACTIONS $ids YIELD transactionId AS id, username, message RETURN username, message ORDER BY message", Params{"ids": []any{id, "main-transaction-999999"}}); got != "null|'Transaction not found.' 'go'|'Transaction terminated.'" {
			t.Errorf("got %s", got)
		}
		// Its locks are gone although its client has not said a word since.
		if got := cells(t, db, "MATCH (n:N) SET n.v = n.v + 10 RETURN n.v", nil); got != "11" {
			t.Errorf("got %s", got)
		}
		if _, err := tx.Exec(ctx, "RETURN 1 AS x", nil); state(err) != killed {
			t.Errorf("a statement after it: got %v", err)
		}
		if err := tx.Commit(ctx); state(err) != killed {
			t.Errorf("commit: got %v", err)
		}
		if got := cells(t, db, "SHOW TRANSACTIONS $id", Params{"id": id}); got != "" {
			t.Errorf("it is still there: %s", got)
		}
	})
	t.Run("a running statement is interrupted", func(t *testing.T) {
		for name, query := range map[string]string{
			"reading": "UNWIND range(1, 1000000000) AS victim RETURN count(victim)",
			"writing": "UNWIND range(1, 1000000000) AS victim CREATE (:M)",
			"batches": "UNWIND range(1, 1000000000) AS victim CALL (victim) { CREATE (:K) } IN TRANSACTIONS OF 5 ROWS",
		} {
			done := make(chan error, 1)
			go func() {
				_, err := db.Exec(ctx, query, nil)
				done <- err
			}()
			const find = "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery AS q, outerTransactionId AS outer WHERE q STARTS WITH 'UNWIND' AND outer = '' RETURN id"
			id := ""
			for id == "" {
				id = strings.Trim(cells(t, db, find, nil), "'")
			}
			if got := cells(t, db, "TERMINATE TRANSACTION '"+id+"'", nil); got != "'"+id+"'|'go'|'Transaction terminated.'" {
				t.Errorf("%s: got %s", name, got)
			}
			if err := <-done; state(err) != killed {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if got := cells(t, db, "MATCH (n:M) RETURN count(n)", nil); got != "0" {
			t.Errorf("%s nodes of the interrupted statement are left", got)
		}
		if got := cells(t, db, "MATCH (n:K) RETURN count(n) % 5", nil); got != "0" {
			t.Errorf("half a batch is left")
		}
	})
	t.Run("the transaction of a batch", func(t *testing.T) {
		done := make(chan error, 1)
		go func() {
			_, err := db.Exec(ctx, "CALL { UNWIND range(1, 1000000000) AS i CREATE (:M) } IN TRANSACTIONS ON ERROR CONTINUE", nil)
			done <- err
		}()
		id := ""
		for id == "" {
			id = strings.Trim(cells(t, db, "SHOW TRANSACTIONS YIELD transactionId AS id, outerTransactionId AS outer WHERE outer <> '' RETURN id", nil), "'")
		}
		cells(t, db, "TERMINATE TRANSACTION $id", Params{"id": id})
		if err := <-done; state(err) != killed {
			t.Errorf("got %v", err)
		}
	})
	t.Run("rows that are still to be read", func(t *testing.T) {
		tx, err := db.Begin(ctx, TxOptions{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		rows, err := tx.Query(ctx, "UNWIND range(1, 100000) AS x RETURN x", nil)
		if err != nil || !rows.Next() {
			t.Fatal(err)
		}
		id := strings.Trim(cells(t, db, "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery AS q WHERE q STARTS WITH 'UNWIND' RETURN id", nil), "'")
		cells(t, db, "TERMINATE TRANSACTION $id", Params{"id": id})
		for rows.Next() {
		}
		if state(rows.Err()) != killed {
			t.Errorf("got %v", rows.Err())
		}
	})
	if n := db.db.Sessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
	if got := cells(t, db, "SHOW TRANSACTIONS YIELD transactionId RETURN count(*)", nil); got != "1" {
		t.Errorf("%s transactions are left", got)
	}
}

func TestTransactionTimeouts(t *testing.T) {
	ctx := context.Background()
	db, err := OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	cells(t, db, "CREATE (:N {v: 1})", nil)
	run := func(c *Conn, text string) error {
		r, err := c.Run(ctx, text, Cypher, nil)
		if err != nil {
			return err
		}
		for r.Next() {
		}
		if err := r.Err(); err != nil {
			r.Close()
			return err
		}
		return r.Close()
	}
	must := func(t *testing.T, c *Conn, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if err := run(c, text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	}
	const long = "UNWIND range(1, 1000000000) AS x RETURN count(x)"
	t.Run("statement", func(t *testing.T) {
		c := db.Conn()
		defer c.Close()
		c.Set("statement_timeout", "50ms")
		if err := run(c, long); state(err) != "57014 Neo.ClientError.Transaction.TransactionTimedOut" {
			t.Errorf("got %v", err)
		}
		must(t, c, "RETURN 1 AS x")
	})
	t.Run("lock", func(t *testing.T) {
		tx, err := db.Begin(ctx, TxOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		tx.Exec(ctx, "MATCH (n:N) SET n.v = 2", nil)
		c := db.Conn()
		defer c.Close()
		c.Set("lock_timeout", "20ms")
		if err := run(c, "MATCH (n:N) SET n.v = 3"); state(err) != "55P03 Neo.TransientError.Transaction.LockAcquisitionTimeout" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("transaction, running", func(t *testing.T) {
		c := db.Conn()
		defer c.Close()
		c.Set("transaction_timeout", "100ms")
		must(t, c, "BEGIN", "MATCH (n:N) SET n.v = 4")
		if err := run(c, long); state(err) != "25P04 Neo.ClientError.Transaction.TransactionTimedOut" {
			t.Errorf("got %v", err)
		}
		if err := run(c, "COMMIT"); state(err) != "25P04 Neo.ClientError.Transaction.TransactionTimedOut" {
			t.Errorf("commit: got %v", err)
		}
		must(t, c, "MATCH (n:N) SET n.v = n.v + 1")
	})
	t.Run("transaction, idle", func(t *testing.T) {
		c := db.Conn()
		defer c.Close()
		c.Set("transaction_timeout", "50ms")
		must(t, c, "BEGIN", "MATCH (n:N) SET n.v = 5")
		awaitCells(t, db, "SHOW TRANSACTIONS YIELD transactionId RETURN count(*)", nil, "1")
		if err := run(c, "RETURN 1 AS x"); state(err) != "25P04 Neo.ClientError.Transaction.TransactionTimedOut" {
			t.Errorf("got %v", err)
		}
		must(t, c, "ROLLBACK", "RETURN 1 AS x")
	})
	t.Run("idle in transaction", func(t *testing.T) {
		c := db.Conn()
		defer c.Close()
		c.Set("idle_in_transaction_session_timeout", "50ms")
		must(t, c, "BEGIN", "MATCH (n:N) SET n.v = 6")
		awaitCells(t, db, "SHOW TRANSACTIONS YIELD transactionId RETURN count(*)", nil, "1")
		if got := cells(t, db, "MATCH (n:N) SET n.w = 1 RETURN n.v", nil); got != "2" {
			t.Errorf("got %s", got)
		}
		if err := run(c, "RETURN 1 AS x"); state(err) != "25P03 Neo.ClientError.Transaction.TransactionTimedOut" {
			t.Errorf("got %v", err)
		}
		must(t, c, "ROLLBACK", "RETURN 1 AS x")
		// Outside of a block nothing waits.
		time.Sleep(100 * time.Millisecond)
		must(t, c, "RETURN 1 AS x")
	})
}
