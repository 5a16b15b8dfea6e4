package hedgerow

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/session"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// TestFailedDisk: after a failed fsync nothing is acknowledged, every call says why, and OnFatal is called once (rules A11).
func TestFailedDisk(t *testing.T) {
	var failing atomic.Bool
	var fatal atomic.Int32
	fs := vfs.WithHook(vfs.NewMem(), func(op vfs.Op, _ string) error {
		if op == vfs.OpSync && failing.Load() {
			return errors.New("disk on fire")
		}
		return nil
	})
	ctx := context.Background()
	eng, err := engine.Open(ctx, engine.Options{Dir: "/db", FS: fs, CacheBytes: 8 << 20, OnFatal: func(error) { fatal.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	db := &DB{eng: eng, db: session.New(eng.Store(), session.Options{}), owner: true}
	if _, err := db.Exec(ctx, "CREATE (:A)", nil); err != nil {
		t.Fatal(err)
	}
	failing.Store(true)
	for i := range 3 {
		_, err := db.Exec(ctx, "CREATE (:A)", nil)
		var e *Error
		if !errors.As(err, &e) || e.SQLState != "58030" || !strings.Contains(err.Error(), "disk on fire") {
			t.Errorf("call %d: %v", i, err)
		}
		failing.Store(false) // the disk is well again, the database is not
	}
	if _, err := db.Query(ctx, "MATCH (a) RETURN a", nil); err == nil {
		t.Error("a poisoned database answers")
	}
	if fatal.Load() != 1 {
		t.Errorf("OnFatal was called %d times", fatal.Load())
	}
	if err := db.Close(); err == nil {
		t.Error("Close hides the fault")
	}
}
