package hedgerow

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoadCSV reads a file through the Go API: refused until a directory is named, and then below it only.
func TestLoadCSV(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.csv"), []byte("name,age\nAda,36\nBob,41\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const load = "LOAD CSV WITH HEADERS FROM 'file:///p.csv' AS row CREATE (:Person {name: row.name, age: toInteger(row.age)})"
	for _, c := range []struct{ dir, want string }{{"", "42501"}, {dir, ""}} {
		db, err := OpenMemory(&Options{ImportDir: c.dir})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		res, err := db.Exec(ctx, load, nil)
		var e *Error
		if c.want != "" {
			if !errors.As(err, &e) || e.SQLState != c.want || !strings.Contains(e.Hint, "Options.ImportDir") {
				t.Errorf("without a directory: got %v", err)
			}
			continue
		}
		if err != nil || res.NodesCreated != 2 || res.PropertiesSet != 4 {
			t.Errorf("got %+v, %v", res, err)
		}
		if _, err := db.Exec(ctx, "LOAD CSV FROM 'file:///none.csv' AS row CREATE ()", nil); !errors.As(err, &e) || e.SQLState != "58P01" {
			t.Errorf("a file that is not there: got %v", err)
		}
	}
}
