package pgwire

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func sqlState(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}

// TestIdleInTransaction: a client that lets a transaction wait loses it, its locks and its connection; one without a transaction may wait.
func TestIdleInTransaction(t *testing.T) {
	s := serve(t, Options{})
	ctx := context.Background()
	a, b := s.pgx(t), s.pgx(t)
	exec(t, a, "SET hedgerow.language = cypher", "CREATE (:N {v: 1})", "SET idle_in_transaction_session_timeout = '50ms'", "BEGIN", "MATCH (n:N) SET n.v = 2")
	exec(t, b, "MATCH (n:N) SET n.v = n.v + 10") // waits for the lock of a
	if got := rows(t, b, "MATCH (n:N) RETURN n.v"); got != "11" {
		t.Errorf("got %s", got)
	}
	_, err := a.Exec(ctx, "RETURN 1 AS x")
	if err == nil || !a.IsClosed() {
		t.Errorf("the connection is still open: %v", err)
	}
	if code := sqlState(err); code != "" && code != "25P03" {
		t.Errorf("got %v", err)
	}
}

// TestTerminateOverTheWire: a statement of another connection is ended by its transaction's id, with who it is and what it runs.
func TestTerminateOverTheWire(t *testing.T) {
	s := serve(t, Options{})
	ctx := context.Background()
	a, b := s.pgx(t), s.pgx(t)
	done := make(chan error, 1)
	go func() {
		_, err := a.Exec(ctx, "UNWIND range(1, 1000000000) AS victim RETURN count(victim)")
		done <- err
	}()
	id := ""
	for id == "" {
		got := rows(t, b, "SHOW TRANSACTIONS YIELD transactionId, username, connectionId, clientAddress, protocol, currentQuery WHERE currentQuery STARTS WITH 'UNWIND' RETURN transactionId + ' ' + username + ' ' + connectionId + ' ' + protocol + ' ' + toString(clientAddress STARTS WITH '127.0.0.1:')")
		if f := strings.Fields(strings.Trim(got, `"`)); len(f) == 5 {
			if id = f[0]; f[1] != "tester" || !strings.HasPrefix(f[2], "pg-") || f[3] != "postgres" || f[4] != "true" {
				t.Errorf("got %q", got)
			}
		}
	}
	exec(t, b, "TERMINATE TRANSACTION '"+id+"'")
	if err := <-done; sqlState(err) != "57014" || !strings.Contains(err.Error(), "terminated") {
		t.Errorf("got %v", err)
	}
	exec(t, a, "RETURN 1 AS x")
}

// TestCallInTransactionsOverTheWire: outside of a block alone in its message, refused elsewhere.
func TestCallInTransactionsOverTheWire(t *testing.T) {
	s := serve(t, Options{})
	ctx := context.Background()
	c := s.pgx(t)
	const call = "UNWIND range(1, 25) AS i CALL (i) { CREATE (:N {i: i}) } IN TRANSACTIONS OF 10 ROWS"
	exec(t, c, call)
	if _, err := c.PgConn().Exec(ctx, call).ReadAll(); err != nil { // a simple query
		t.Error(err)
	}
	if got := rows(t, c, "MATCH (n:N) RETURN count(n)"); got != "50" {
		t.Errorf("got %s", got)
	}
	for _, text := range []string{"RETURN 1 AS x; " + call, "BEGIN; " + call} {
		if _, err := c.PgConn().Exec(ctx, text).ReadAll(); sqlState(err) != "25001" {
			t.Errorf("%.20s: got %v", text, err)
		}
		c.Exec(ctx, "ROLLBACK")
	}
	if got := rows(t, c, "MATCH (n:N) RETURN count(n)"); got != "50" {
		t.Errorf("got %s", got)
	}
}
