package social_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/social"
)

func sum(t *testing.T, dir string) string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*.csv"))
	sort.Strings(files)
	h := sha256.New()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestSameSeedSameBytes(t *testing.T) {
	a, b, c := t.TempDir(), t.TempDir(), t.TempDir()
	na, err := social.Generate(a, 300, 7)
	if err != nil {
		t.Fatal(err)
	}
	social.Generate(b, 300, 7)
	social.Generate(c, 300, 8)
	if sum(t, a) != sum(t, b) {
		t.Error("N1: equal seeds gave different files")
	}
	if sum(t, a) == sum(t, c) {
		t.Error("different seeds gave equal files")
	}
	if na.Rows < 300*20 || len(na.Nodes) != 7 {
		t.Errorf("%d rows in %d node files", na.Rows, len(na.Nodes))
	}
	if _, err := social.Generate(a, 3, 7); err == nil {
		t.Error("a network of 3 persons was made")
	}
}
