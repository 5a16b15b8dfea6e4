package shell

import (
	"testing"

	"github.com/hedgerowdb/hedgerow"
)

func TestBackslashQLeavesAStatement(t *testing.T) {
	for text, want := range map[string]bool{
		"MATCH (n)\n\\q":                true,
		"MATCH (n) WHERE n.a =\n  \\q ": true,
		"MATCH (n)":                     false,
		"MATCH (n) WHERE n.a = '\\q":    false,
	} {
		if got := complete(text, hedgerow.Cypher); got != want {
			t.Errorf("complete(%q) = %v", text, got)
		}
	}
}
