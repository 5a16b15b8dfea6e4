package exec

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var rewriteDocs = flag.Bool("rewrite-docs", false, "write the list of procedures into docs/cypher.md")

// TestDocumentListsTheProcedures: the list is made from the table, so that it cannot lie (rules C11).
func TestDocumentListsTheProcedures(t *testing.T) {
	const path, begin, end = "../../../docs/cypher.md", "<!-- procedures: begin -->\n", "<!-- procedures: end -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	was, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/cypher.md has lost its marks")
	}
	var b strings.Builder
	b.WriteString("| procedure | |\n|---|---|\n")
	for _, p := range builtins {
		more := ""
		if p.Deprecated {
			more = " Neo4j 5 no longer has it."
		}
		fmt.Fprintf(&b, "| `%s` | %s%s |\n", p.Signature, p.Description, more)
	}
	if *rewriteDocs {
		if err := os.WriteFile(path, []byte(head+begin+b.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if was != b.String() {
		t.Error("the list of procedures in docs/cypher.md is out of date; run go test ./internal/query/exec -run TestDocument -rewrite-docs")
	}
}
