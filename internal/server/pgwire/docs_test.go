package pgwire

import (
	"os"
	"strings"
	"testing"
)

// TestReference runs the examples of docs/sql.md from its beginning to its end.
func TestReference(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, Options{})
	c := s.open(t)
	n := 0
	for _, block := range strings.Split(string(doc), "```sql")[1:] {
		text, _, _ := strings.Cut(block, "\n```")
		kind, text, _ := strings.Cut(text, "\n")
		for _, stmt := range strings.Split(text, ";\n") {
			if strings.TrimSpace(stmt) == "" {
				continue
			}
			n++
			got := c.query(stmt)
			failed := strings.Contains(strings.Join(got, " "), "ErrorResponse")
			if failed != (strings.TrimSpace(kind) == "error") || strings.Contains(strings.Join(got, " "), "XX000") {
				t.Errorf("%s\n%q", stmt, got)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d examples were found", n)
	}
}
