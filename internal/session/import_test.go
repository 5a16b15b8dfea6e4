package session

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

func TestImportDir(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "import")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(base, "secret.csv"), "secret")
	write(filepath.Join(dir, "a.csv"), "a")
	write(filepath.Join(dir, "sub", "b.csv"), "b")
	write(filepath.Join(dir, "with space.csv"), "c")
	write(filepath.Join(dir, "%2e.csv"), "d")
	write(filepath.Join(base, "import2", "e.csv"), "secret")
	for link, to := range map[string]string{"in.csv": "sub/b.csv", "out.csv": "../secret.csv", "abs.csv": filepath.Join(base, "secret.csv"), "up": ".."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	z, err := os.Create(filepath.Join(dir, "z.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	w := gzip.NewWriter(z)
	w.Write([]byte("zipped"))
	w.Close()
	z.Close()
	write(filepath.Join(dir, "broken.gz"), "\x1f\x8bnot gzip")

	open := func(url string) (string, string, error) {
		in, path, err := importDir(dir).Open(url)
		if err != nil {
			return "", "", err
		}
		defer in.Close()
		b, err := io.ReadAll(in)
		return string(b), path, err
	}
	for url, want := range map[string]string{
		"file:///a.csv": "a", "file:/a.csv": "a", "FILE:///a.csv": "a", "a.csv": "a", "/a.csv": "a", "./sub/./b.csv": "b", "file:///sub/b.csv": "b", "file:///sub%2Fb.csv": "b",
		"file:///with%20space.csv": "c", "with space.csv": "c", "file:///%252e.csv": "d", "%2e.csv": "d", "file:///in.csv": "b", "file:///z.csv.gz": "zipped",
		dir + "/a.csv": "a", "file://" + dir + "/sub/b.csv": "b",
	} {
		got, path, err := open(url)
		if err != nil || got != want || !strings.HasPrefix(path, dir+"/") {
			t.Errorf("%s: got %q in %q, %v", url, got, path, err)
		}
	}
	for url, code := range map[string]dberr.Code{
		"file:///none.csv":              dberr.ExternalResource,
		"file:///sub":                   dberr.ExternalResource,
		"file:///":                      dberr.ExternalResource,
		"":                              dberr.ExternalResource,
		"file:///pipe":                  dberr.ExternalResource,
		"file:///../secret.csv":         dberr.PermissionDenied,
		"file:///sub/../../secret.csv":  dberr.PermissionDenied,
		"file:///sub/../a.csv":          dberr.PermissionDenied,
		"../secret.csv":                 dberr.PermissionDenied,
		"file:///%2e%2e/secret.csv":     dberr.PermissionDenied,
		"file:///%2e%2e%2fsecret.csv":   dberr.PermissionDenied,
		"file:///%252e%252e/secret.csv": dberr.ExternalResource, // decoded once
		"file:///out.csv":               dberr.ExternalResource,
		"file:///abs.csv":               dberr.ExternalResource,
		"file:///up/secret.csv":         dberr.ExternalResource,
		"file:///up/import2/e.csv":      dberr.ExternalResource,
		base + "/secret.csv":            dberr.ExternalResource,
		base + "/import2/e.csv":         dberr.ExternalResource,
		"file:///a.csv%00.txt":          dberr.ExternalResource,
		"a.csv\x00":                     dberr.ExternalResource,
		"file:///%zz":                   dberr.ExternalResource,
		"file://host/a.csv":             dberr.ExternalResource,
		"file:///a.csv?x=1":             dberr.ExternalResource,
		"file:///a.csv#x":               dberr.ExternalResource,
		"file:///broken.gz":             dberr.ExternalResource,
		"http://127.0.0.1/a.csv":        dberr.FeatureNotSupported,
		"https://example.org/a.csv":     dberr.FeatureNotSupported,
		"ftp://example.org/a.csv":       dberr.FeatureNotSupported,
		"jar:file:///a.csv":             dberr.FeatureNotSupported,
	} {
		got, _, err := open(url)
		if !dberr.Is(err, code) {
			t.Errorf("%q: got %q, %v, want %s", url, got, err, code)
		}
	}
	_, _, err = importDir("").Open("file:///a.csv")
	if !dberr.Is(err, dberr.PermissionDenied) || !strings.Contains(dberr.As(err).Hint, "--import DIR") {
		t.Errorf("without a directory: got %v", err)
	}
}
