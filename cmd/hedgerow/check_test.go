package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCheck: a good database has no faults; flipped bytes in its data files are found and named by file and page.
func TestCheck(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "a.hedge")
	if code, _, errs := hedge(t, "", "shell", "--data", dir, "-c",
		"CREATE CONSTRAINT FOR (p:P) REQUIRE p.k IS UNIQUE; UNWIND range(1, 3000) AS i CREATE (:P {k: i, text: 'some text ' + i}); MATCH (a:P), (b:P {k: a.k % 100 + 1}) CREATE (a)-[:R]->(b)"); code != 0 {
		t.Fatal(errs)
	}
	code, out, errs := hedge(t, "", "check", "--data", dir)
	if code != 0 || out != "no faults\n" || errs != "" {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "base", "*"))
	if len(files) == 0 {
		filepath.WalkDir(filepath.Join(dir, "base"), func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, path)
			}
			return nil
		})
	}
	named := regexp.MustCompile(`(?m)^file \S+ page \d+: .+`)
	flipped, found := 0, 0
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil || len(b) < 2*8192 || strings.HasSuffix(path, "_fsm") { // a bad page of free space reads as empty (rules A7)
			continue
		}
		for _, at := range []int{8192 + 40, len(b) - 4000} {
			good := b[at]
			b[at] ^= 0x41
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			flipped++
			code, out, errs := hedge(t, "", "check", "--data", dir)
			if code == 1 && (named.MatchString(out) && strings.Contains(out, filepath.Base(path)) || strings.Contains(errs, filepath.Base(path))) {
				found++
			} else {
				t.Errorf("%s, byte %d: exit %d\n%s%s", path, at, code, out, errs)
			}
			b[at] = good
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d of %d flipped bytes found", found, flipped)
	if flipped == 0 {
		t.Error("no file to damage")
	}
	if code, out, _ := hedge(t, "", "check", "--data", dir); code != 0 {
		t.Errorf("put right again: exit %d\n%s", code, out)
	}
}

func TestCheckWrongDirectory(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"--data", filepath.Join(dir, "none")}, 1, "none holds no database"},
		{[]string{"--data", dir}, 1, "holds no database"},
		{[]string{"--data", write(t, dir, "file", "x")}, 1, "file"},
		{nil, 2, "check needs --data"},
		{[]string{"--data", dir, "more"}, 2, ""},
	} {
		code, _, errs := hedge(t, "", append([]string{"check"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.text) {
			t.Errorf("%v: exit %d, %s", c.args, code, errs)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("check made files: %v", list)
	}
	db := filepath.Join(dir, "held.hedge")
	url := pgURL(t, db)
	code, _, errs := hedge(t, "", "check", "--data", db)
	if code != 1 || !strings.Contains(errs, "is in use by pid") || !strings.Contains(errs, "hint:") {
		t.Errorf("held by a server at %s: exit %d, %s", url, code, errs)
	}
}
