package bind

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
)

func bindText(text string, age bool) (*Statement, error) {
	o := cypher.Options{}
	if age {
		o.Dialect = cypher.AGE
	}
	st, err := cypher.Parse(text, o)
	if err != nil {
		return nil, err
	}
	return Bind(st, Options{AGE: age})
}

// TestBind compares errors, columns and scopes with testdata: `bind [age]` answers with the error, its token and the text that it marks, or with the
// columns, parameters and notices.
func TestBind(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			st, err := bindText(d.Input, d.HasArg("age"))
			if err != nil {
				e := dberr.As(err)
				marked := ""
				if e.Pos >= 0 && e.End <= len(d.Input) {
					marked = d.Input[e.Pos:e.End]
				}
				out := fmt.Sprintf("%s %s at «%s»: %s\n", e.Code, e.Token, marked, e.Message)
				if e.Hint != "" {
					out += "hint: " + e.Hint + "\n"
				}
				return out
			}
			var b strings.Builder
			if st.Query != nil && st.Query.Columns != nil {
				for i, c := range st.Query.Columns {
					fmt.Fprintf(&b, "%s: %s\n", c, st.Query.Cols[i].Type)
				}
			} else {
				b.WriteString("no columns\n")
			}
			if len(st.Params) > 0 {
				fmt.Fprintf(&b, "parameters: %s\n", strings.Join(st.Params, ", "))
			}
			for _, n := range st.Notices {
				fmt.Fprintf(&b, "notice: %s\n", n.Message)
			}
			return b.String()
		})
	})
}

func TestSimilar(t *testing.T) {
	all := []string{"Person", "Place", "name", "KNOWS", "firstName"}
	for want, is := range map[string]string{"Persn": "Person", "person": "Person", "nmae": "name", "KNOW": "KNOWS", "Quark": "", "firstname": "firstName", "x": ""} {
		if got := Similar(want, all); got != is {
			t.Errorf("Similar(%q) = %q, want %q", want, got, is)
		}
	}
}

// TestPlain: what is computed from properties and parameters alone holds no entity.
func TestPlain(t *testing.T) {
	for text, want := range map[string]bool{
		"n.x": true, "$p": true, "n": false, "[n.x, 1]": true, "[n]": false, "{a: n}": false, "{a: n.x}": true, "collect(n)": false, "collect(n.x)": true,
		"head(collect(n))": false, "[x IN $p | x]": true, "[x IN [n] | x]": false, "[x IN [n] | x.y]": true, "properties(n)": true, "n {.a, b: n.x}": true, "n {.*, b: n}": false,
		"CASE WHEN n.x THEN 1 ELSE n END": false, "coalesce(n.x, $p)": true, "count(n)": true, "reduce(a = 0, x IN $p | a + x)": true, "[(n)-->(m) | m]": false, "[(n)-->(m) | m.x]": true,
	} {
		st, err := bindText("MATCH (n) RETURN "+text+" AS v", false)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		v := st.Query.Cols[0]
		if got := v.Plain || !MayHoldEntity(v.Type); got != want {
			t.Errorf("%s: plain %v, want %v (type %s)", text, got, want, v.Type)
		}
	}
}

// TestRewriteTop: untouched trees are shared, and a replacement is not looked into again.
func TestRewriteTop(t *testing.T) {
	st, err := bindText("MATCH (n) RETURN [n.x + 1, CASE WHEN n.y THEN {a: n.x} ELSE n.z END] AS v", false)
	if err != nil {
		t.Fatal(err)
	}
	e := st.Query.Parts[0].Clauses[1].(*Projection).Items[0].Expr
	if same := RewriteTop(e, func(x expr.Expr) (expr.Expr, bool) { return x, false }); same != e {
		t.Error("a rewrite that changes nothing made a new tree")
	}
	n := 0
	out := RewriteTop(e, func(x expr.Expr) (expr.Expr, bool) {
		if p, ok := x.(*expr.Prop); ok && p.Key == "x" {
			n++
			return &expr.Index{X: p, I: p}, true
		}
		return x, false
	})
	if n != 2 || out == e {
		t.Errorf("%d replacements, want 2", n)
	}
}
