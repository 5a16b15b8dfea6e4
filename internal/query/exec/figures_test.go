package exec_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/qtest"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// drain runs a prepared statement in a transaction and counts its rows without looking at them.
func drain(t testing.TB, d *qtest.DB, p *exec.Prepared, tx store.Tx, params []value.Value) (rows int, peak int64) {
	ctx := context.Background()
	stmt, err := tx.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	g, err := stmt.Graph(ctx, d.Graph)
	if err != nil {
		t.Fatal(err)
	}
	cur, err := p.Run(ctx, stmt, g, params, d.Exec)
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
			return rows, cur.PeakMemory()
		}
		rows += n
	}
}

func begin(t testing.TB, d *qtest.DB) store.Tx {
	tx, err := d.Store.Begin(context.Background(), store.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func prepare(t testing.TB, d *qtest.DB, tx store.Tx, text string) *exec.Prepared {
	ctx := context.Background()
	stmt, err := tx.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	g, err := stmt.Graph(ctx, d.Graph)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Prepare(text, g, stmt.View(1<<32-1))
	if err != nil {
		t.Fatal(qtest.Explain(err))
	}
	return p
}

const manyRows = 100_000

// big is a graph of n vertices L(x, s) in a chain.
func big(t testing.TB, n int) *qtest.DB {
	d := qtest.New(nil)
	for _, q := range []string{
		fmt.Sprintf("UNWIND range(1, %d) AS i CREATE (:L {x: i, s: 'text'})", n),
		"MATCH (a:L) WITH a ORDER BY a.x WITH collect(a) AS l UNWIND range(0, size(l) - 2) AS i WITH l[i] AS a, l[i+1] AS b CREATE (a)-[:R]->(b)",
	} {
		if n > 20_000 && q[0] == 'M' {
			continue // l[i] copies the list's bytes for each row
		}
		if _, err := d.Run(q, nil); err != nil {
			t.Fatal(qtest.Explain(err))
		}
	}
	return d
}

// start runs a prepared statement in a transaction that is rolled back at the end.
func start(t testing.TB, d *qtest.DB, tx store.Tx, p *exec.Prepared) (cur *exec.Cursor, end func()) {
	t.Helper()
	ctx := context.Background()
	stmt, err := tx.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	g, err := stmt.Graph(ctx, d.Graph)
	if err != nil {
		t.Fatal(err)
	}
	if cur, err = p.Run(ctx, stmt, g, nil, d.Exec); err != nil {
		t.Fatal(err)
	}
	return cur, func() {
		cur.Close()
		stmt.Close()
		_ = tx.Rollback()
	}
}
