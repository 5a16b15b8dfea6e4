package hedgerow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/hedgerowdb/hedgerow"
)

// TestLockTimeout: lock_timeout ends a wait for another transaction's row with 55P03, also when it is set inside the block.
func TestLockTimeout(t *testing.T) {
	ctx := context.Background()
	db, err := hedgerow.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(ctx, "CREATE (:L {x: 1})", nil); err != nil {
		t.Fatal(err)
	}
	holder, err := db.Begin(ctx, hedgerow.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback()
	if _, err := holder.Exec(ctx, "MATCH (n:L) SET n.x = 2", nil); err != nil {
		t.Fatal(err)
	}
	c := db.Conn()
	defer c.Close()
	run := func(text string, lang hedgerow.Language) error {
		r, err := c.Run(ctx, text, lang, nil)
		if err != nil {
			return err
		}
		return r.Close()
	}
	for _, text := range []string{"BEGIN", "SELECT 1", "SET lock_timeout = '20ms'"} {
		if err := run(text, hedgerow.SQL); err != nil {
			t.Fatal(err)
		}
	}
	var e *hedgerow.Error
	if err := run("MATCH (n:L) SET n.x = 3", hedgerow.Cypher); !errors.As(err, &e) || e.SQLState != "55P03" {
		t.Errorf("a wait beyond lock_timeout ends with %v", err)
	}
}
