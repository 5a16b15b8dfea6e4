package plan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentsOperators: docs/planner.md lists the operators that EXPLAIN can show, all of them and no others, and shows a plan as it is.
func TestDocumentsOperators(t *testing.T) {
	b, err := os.ReadFile("../../../docs/planner.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	listed := map[string]bool{}
	for _, line := range strings.Split(doc[strings.Index(doc, "## Operators"):], "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(cells[1], -1) {
				listed[m[1]] = true
			}
		}
	}
	shown := operatorNames(t)
	for n := range shown {
		if !listed[n] {
			t.Errorf("docs/planner.md lacks %s", n)
		}
	}
	for n := range listed {
		if base := strings.TrimSuffix(n, "Into"); !shown[n] && !shown[base] {
			t.Errorf("docs/planner.md lists %s, which no plan shows", n)
		}
	}
	golden, err := os.ReadFile("testdata/plan/access")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```\n(.*?)```").FindAllStringSubmatch(doc, -1) {
		query, plan, _ := strings.Cut(block[1], "\n\n")
		if !strings.Contains(string(golden), query+"\n----\n"+plan) {
			t.Errorf("no golden plan is the one of\n%s", query)
		}
	}
}

// operatorNames reads the names that printer.describe and its tables give.
func operatorNames(t *testing.T) map[string]bool {
	f, err := parser.ParseFile(token.NewFileSet(), "print.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile(`^"([A-Z][A-Za-z]+)"$`)
	names := map[string]bool{}
	add := func(e ast.Expr) {
		if l, ok := e.(*ast.BasicLit); ok {
			if m := word.FindStringSubmatch(l.Value); m != nil && m[1] != "Into" {
				names[m[1]] = true
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt:
			if len(n.Results) > 0 {
				add(n.Results[0])
			}
		case *ast.AssignStmt:
			if id, ok := n.Lhs[0].(*ast.Ident); ok && id.Name == "name" {
				add(n.Rhs[0])
			}
		case *ast.KeyValueExpr:
			add(n.Value)
		}
		return true
	})
	return names
}
