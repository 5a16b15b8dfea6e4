package house_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRacesHaveTests holds docs/races.md to the tests that it names, and to every rule of storage and transactions.
func TestRacesHaveTests(t *testing.T) {
	top := root(t)
	b, err := os.ReadFile(filepath.Join(top, "docs", "races.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{} // the test files of a package in one text
	text := func(dir string) string {
		if s, ok := tests[dir]; ok {
			return s
		}
		var all strings.Builder
		files, _ := filepath.Glob(filepath.Join(top, dir, "*_test.go"))
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(b)
		}
		tests[dir] = all.String()
		return tests[dir]
	}
	word := regexp.MustCompile("`([^`]+)`|\\b(Test[A-Z][A-Za-z0-9]*)\\b")
	rules := map[string]bool{}
	for _, line := range strings.Split(string(b), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) == 5 && regexp.MustCompile(`^ [AB]\d+ $`).MatchString(cells[1]) {
			rules[strings.TrimSpace(cells[1])] = true
			line = cells[3]
			if !strings.Contains(line, "Test") && !strings.Contains(line, "—") {
				t.Errorf("%s has no test", cells[1])
			}
		}
		dir := ""
		for _, m := range word.FindAllStringSubmatch(line, -1) {
			if m[1] != "" {
				dir = m[1]
			} else if !strings.Contains(text(dir), "func "+m[2]+"(") {
				t.Errorf("%s has no %s", dir, m[2])
			}
		}
	}
	for letter, last := range map[string]int{"A": 11, "B": 14} {
		for i := 1; i <= last; i++ {
			if r := fmt.Sprint(letter, i); !rules[r] {
				t.Errorf("the table has no line for rule %s", r)
			}
		}
	}
}
