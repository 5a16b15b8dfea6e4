package expr_test

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/expr"
)

var rewriteDocs = flag.Bool("rewrite-docs", false, "write the function list into docs/cypher.md")

// TestDocumentListsTheFunctions: the reference is made from the table, so that it cannot lie (rules C11).
func TestDocumentListsTheFunctions(t *testing.T) {
	const path, begin, end = "../../../docs/cypher.md", "<!-- functions: begin -->\n", "<!-- functions: end -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	was, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/cypher.md has lost its marks")
	}
	groups := map[string][]string{}
	for _, d := range expr.Functions() {
		groups[d.Category] = append(groups[d.Category], "`"+d.Name+"`")
	}
	var names []string
	for c := range groups {
		names = append(names, c)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, c := range names {
		fmt.Fprintf(&b, "- **%s**: %s\n", c, strings.Join(groups[c], ", "))
	}
	if *rewriteDocs {
		if err := os.WriteFile(path, []byte(head+begin+b.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if was != b.String() {
		t.Error("the list of functions in docs/cypher.md is out of date; run go test ./internal/query/expr -rewrite-docs")
	}
}
