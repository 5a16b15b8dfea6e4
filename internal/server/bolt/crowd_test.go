package bolt

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
)

// crowd runs statements from so many connections at once, each in a managed transaction.
func crowd(t *testing.T, d neo4j.DriverWithContext, clients, rounds int, texts ...string) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range clients {
		wg.Go(func() {
			sess := d.NewSession(ctx, neo4j.SessionConfig{})
			defer sess.Close(ctx)
			for r := range rounds {
				for _, text := range texts {
					_, err := sess.ExecuteWrite(ctx, func(tx neo4j.ManagedTransaction) (any, error) {
						res, err := tx.Run(ctx, text, map[string]any{"k": (w + r) % 4})
						if err != nil {
							return nil, err
						}
						return res.Consume(ctx)
					})
					if err != nil {
						t.Errorf("%s: %v", text, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestGoCrowd: 32 connections merge the same nodes and relationships, with a constraint, an index and neither, and 16 of them count: nothing is made
// twice, no update is lost, and what fails is tried again by the driver (rules A9, B14).
func TestGoCrowd(t *testing.T) {
	s := serve(t, Options{})
	d := s.driver(t, "bolt")
	for i, schema := range []string{"CREATE CONSTRAINT FOR (n:%s) REQUIRE n.k IS UNIQUE", "CREATE INDEX FOR (n:%s) ON (n.k)", ""} {
		l := fmt.Sprintf("L%d", i)
		t.Run(l, func(t *testing.T) {
			if schema != "" {
				run(t, d, fmt.Sprintf(schema, l), nil)
			}
			run(t, d, fmt.Sprintf("CREATE (:%[1]sEnd {i: 1}), (:%[1]sEnd {i: 2}), (:%[1]sCount {n: 0})", l), nil)
			crowd(t, d, 32, 4,
				fmt.Sprintf("MERGE (n:%s {k: $k}) ON CREATE SET n.c = 1 ON MATCH SET n.c = n.c + 1", l),
				fmt.Sprintf("MATCH (a:%[1]sEnd {i: 1}), (b:%[1]sEnd {i: 2}) MERGE (a)-[r:%[1]sR {k: $k}]->(b) ON CREATE SET r.c = 1 ON MATCH SET r.c = r.c + 1", l),
				fmt.Sprintf("MERGE (:%[1]sA {k: $k})-[:%[1]sP]->(:%[1]sB {k: $k})", l))
			crowd(t, d, 16, 8, fmt.Sprintf("MATCH (n:%sCount) SET n.n = n.n + 1", l))
			for text, want := range map[string]int64{
				"MATCH (n:%s) RETURN count(n)":                        4,
				"MATCH (n:%s) RETURN sum(n.c)":                        128,
				"MATCH ()-[r:%sR]->() RETURN count(r)":                4,
				"MATCH ()-[r:%sR]->() RETURN sum(r.c)":                128,
				"MATCH (a:%sA)-[:%[1]sP]->(b:%[1]sB) RETURN count(*)": 4,
				"MATCH (n:%sA|%[1]sB) RETURN count(n)":                8,
				"MATCH (n:%sCount) RETURN n.n":                        128,
			} {
				text = fmt.Sprintf(text, l)
				if got := run(t, d, text, nil).Records[0].Values[0]; got != want {
					t.Errorf("%s: %v, want %d", text, got, want)
				}
			}
		})
	}
}

// TestGoInTransactions: CALL { } IN TRANSACTIONS commits batch after batch in an auto-commit statement, and is refused in any transaction that is the
// client's own.
func TestGoInTransactions(t *testing.T) {
	s := serve(t, Options{})
	d := s.driver(t, "bolt")
	sess := d.NewSession(ctx, neo4j.SessionConfig{})
	defer sess.Close(ctx)
	const text = "UNWIND range(1, 25) AS i CALL (i) { CREATE (:B {i: i, q: 1 / (i - 18)}) } IN TRANSACTIONS OF 5 ROWS"
	res, err := sess.Run(ctx, text, nil)
	if err == nil {
		_, err = res.Consume(ctx)
	}
	if code(err) != "Neo.ClientError.Statement.ArithmeticError" {
		t.Errorf("a row that fails: %v", err)
	}
	count := func() any { return run(t, d, "MATCH (n:B) RETURN count(n)", nil).Records[0].Values[0] }
	if n := count(); n != int64(15) {
		t.Errorf("%v nodes of the batches before it", n)
	}
	const refused = "Neo.DatabaseError.Transaction.TransactionStartFailed"
	_, err = sess.ExecuteWrite(ctx, func(tx neo4j.ManagedTransaction) (any, error) {
		res, err := tx.Run(ctx, text, nil)
		if err != nil {
			return nil, err
		}
		return res.Consume(ctx)
	})
	if code(err) != refused {
		t.Errorf("within a managed transaction: %v", err)
	}
	tx, err := sess.BeginTransaction(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if res, err = tx.Run(ctx, text, nil); err == nil {
		_, err = res.Consume(ctx)
	}
	if code(err) != refused {
		t.Errorf("behind BEGIN: %v", err)
	}
	tx.Close(ctx)
	if n := count(); n != int64(15) {
		t.Errorf("%v nodes after what was refused", n)
	}
}

// TestGoTimeouts: the limit that a client gives its transaction holds while it is at work and while it is idle, and so does the server's own.
func TestGoTimeouts(t *testing.T) {
	s := serve(t, Options{})
	d := s.driver(t, "bolt")
	sess := d.NewSession(ctx, neo4j.SessionConfig{})
	defer sess.Close(ctx)
	const timedOut = "Neo.ClientError.Transaction.TransactionTimedOut"
	res, err := sess.Run(ctx, "UNWIND range(1, 1000000000) AS x WITH x WHERE x < 0 RETURN x", nil, neo4j.WithTxTimeout(50*time.Millisecond))
	if err == nil {
		_, err = res.Consume(ctx)
	}
	if code(err) != timedOut {
		t.Errorf("at work: %v", err)
	}
	tx, err := sess.BeginTransaction(ctx, neo4j.WithTxTimeout(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if res, err = tx.Run(ctx, "CREATE (:T)", nil); err == nil {
		_, err = res.Consume(ctx)
	}
	if err == nil {
		shown := "SHOW TRANSACTIONS YIELD currentQuery, transactionId RETURN count(*)"
		for start := time.Now(); run(t, d, shown, nil).Records[0].Values[0] != int64(1); { // the one that asks
			if time.Since(start) > 30*time.Second {
				t.Fatal("an idle transaction goes on after its time")
			}
		}
		err = tx.Commit(ctx)
	}
	if code(err) != timedOut {
		t.Errorf("idle: %v", err)
	}
	tx.Close(ctx)
	if n := run(t, d, "MATCH (n:T) RETURN count(n)", nil).Records[0].Values[0]; n != int64(0) {
		t.Errorf("%v nodes of it", n)
	}
}
