package hedgerow_test

import (
	"context"
	"testing"

	"github.com/hedgerowdb/hedgerow"
)

// TestRowsOfAWriteOutliveItsTransaction: a statement that writes is committed before its rows are read, however many there are and
// whoever stops reading them (rules C3).
func TestRowsOfAWriteOutliveItsTransaction(t *testing.T) {
	ctx := context.Background()
	db, err := hedgerow.Open(t.TempDir(), &hedgerow.Options{WorkMem: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const n = 20_000
	rows, err := db.Query(ctx, "UNWIND range(1, $n) AS i CREATE (m:N {i: i, text: 'some text to fill the spool'}) RETURN m, i", hedgerow.Params{"n": n})
	if err != nil {
		t.Fatal(err)
	}
	count := func() int64 {
		r, err := db.Query(ctx, "MATCH (m:N) RETURN count(m)", nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := hedgerow.Collect[int64](r)
		if err != nil {
			t.Fatal(err)
		}
		return c[0]
	}
	if got := count(); got != n {
		t.Fatalf("another client sees %d nodes before the rows are read", got)
	}
	seen := 0
	for rows.Next() {
		if m := rows.Row().Get("m").(hedgerow.Node); m.Props["i"] != rows.Row().Get("i") || m.Labels[0] != "N" {
			t.Fatalf("row %d is %v", seen, m)
		}
		seen++
	}
	if err := rows.Close(); err != nil || seen != n {
		t.Fatalf("%d rows, %v", seen, err)
	}
	if got := rows.Result().NodesCreated; got != n {
		t.Errorf("%d nodes reported", got)
	}

	// A reader that stops early changes nothing.
	rows, err = db.Query(ctx, "MATCH (m:N) SET m.seen = true RETURN m", nil)
	if err != nil {
		t.Fatal(err)
	}
	rows.Next()
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := db.Query(ctx, "MATCH (m:N {seen: true}) RETURN count(m)", nil)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := hedgerow.Collect[int64](r); err != nil || c[0] != n {
		t.Errorf("%v nodes were changed, %v", c, err)
	}
}
