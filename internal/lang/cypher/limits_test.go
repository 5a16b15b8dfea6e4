package cypher

import (
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// TestLimits: rules C12. Each text is refused with the code, none exhausts the stack, and depth within the limit is read.
func TestLimits(t *testing.T) {
	rep := strings.Repeat
	ok := dberr.Code(0)
	for _, c := range []struct {
		name, text string
		code       dberr.Code
	}{
		{"parentheses", "RETURN " + rep("(", 5000) + "1" + rep(")", 5000), dberr.StatementTooComplex},
		{"parentheses at the limit", "RETURN " + rep("(", MaxNesting) + "1" + rep(")", MaxNesting), ok},
		{"sums at the limit", "RETURN " + rep("(1 + ", MaxNesting) + "1" + rep(")", MaxNesting), ok},
		{"lists at the limit", "RETURN " + rep("[", MaxNesting) + "1" + rep("]", MaxNesting), ok},
		{"maps at the limit", "RETURN " + rep("{a: ", MaxNesting) + "1" + rep("}", MaxNesting), ok},
		{"calls at the limit", "RETURN " + rep("f(", MaxNesting) + "1" + rep(")", MaxNesting), ok},
		{"open parentheses", "RETURN " + rep("(", 1<<20), dberr.StatementTooComplex},
		{"open lists", "RETURN " + rep("[", 1<<20), dberr.StatementTooComplex},
		{"NOT", "RETURN " + rep("NOT ", 1<<16) + "true", dberr.StatementTooComplex},
		{"minus", "RETURN " + rep("- ", 1<<16) + "x", dberr.StatementTooComplex},
		{"CASE", "RETURN " + rep("CASE ", 1<<16) + "x", dberr.StatementTooComplex},
		{"label negation", "MATCH (n:" + rep("!", 1<<16) + "A) RETURN n", dberr.StatementTooComplex},
		{"EXISTS", "RETURN " + rep("EXISTS { MATCH (n) WHERE ", 2000) + "true" + rep("}", 2000), dberr.StatementTooComplex},
		{"CALL", rep("CALL { ", 2000) + "RETURN 1" + rep("}", 2000), dberr.StatementTooComplex},
		{"list type", "RETURN x IS :: " + rep("LIST<", 1<<16) + "INTEGER", dberr.StatementTooComplex},
		{"list type behind", "RETURN x IS :: INTEGER" + rep(" LIST", 1<<16), dberr.StatementTooComplex},
		{"long sum", "RETURN 1" + rep(" + 1", 1<<20), dberr.StatementTooComplex},
		{"long OR", "RETURN a" + rep(" OR a", 1<<20), dberr.StatementTooComplex},
		{"long property chain", "RETURN a" + rep(".a", 1<<20), dberr.StatementTooComplex},
		{"long target", "MATCH (a) SET a" + rep(".a", 1<<20) + " = 1", dberr.StatementTooComplex},
		{"sum of 10,000", "RETURN 1" + rep(" + 1", 10_000), ok},
		{"list of 100,000", "RETURN [1" + rep(", 1", 100_000) + "]", ok},
		{"path of 10,000", "MATCH (a)" + rep("-->()", 10_000) + " RETURN a", ok},
		{"10,000 clauses", rep("WITH 1 AS x ", 10_000) + "RETURN x", ok},
		{"10,000 unions", rep("RETURN 1 UNION ", 10_000) + "RETURN 1", ok},
		{"text", "RETURN '" + rep("x", MaxText) + "'", dberr.LimitExceeded},
		{"tokens", "RETURN [" + rep("1,", maxTokens) + "1]", dberr.LimitExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Parse(c.text, Options{})
			switch {
			case c.code == ok && err != nil:
				t.Fatal(err)
			case c.code == ok:
				if again, err := Parse(Print(s), Options{}); err != nil || again == nil {
					t.Fatal(err)
				}
			case err == nil:
				t.Fatal("no error")
			case dberr.As(err).Code != c.code:
				t.Fatalf("%v: %v", dberr.As(err).Code, err)
			}
		})
	}
}

// TestLinear: P1. Of texts made to look ambiguous at every bracket so many tokens are looked at as are in proportion to their length.
func TestLinear(t *testing.T) {
	rep := strings.Repeat
	deep := MaxNesting - 1
	for name, make := range map[string]func(n int) string{
		"patterns or parentheses": func(n int) string {
			return "RETURN " + rep(rep("(a)-(", 300)+"1"+rep(")", 300)+", ", n) + "1"
		},
		"lists or comprehensions": func(n int) string {
			return "RETURN " + rep(rep("[x IN ", deep)+"1"+rep(", 2]", deep)+", ", n) + "1"
		},
		"pattern comprehensions": func(n int) string {
			return "RETURN " + rep(rep("[(a)-->(b) WHERE ", deep/2)+"true"+rep(" | 1][0]", deep/2)+", ", n) + "1"
		},
		"label bars": func(n int) string { return "RETURN [x IN l WHERE x:A" + rep("|A", n*1000) + " | x]" },
		"node patterns with where": func(n int) string {
			return "MATCH " + rep(rep("(a WHERE EXISTS {", 200)+"(b)"+rep("})", 200)+", ", n) + "(c) RETURN a"
		},
	} {
		t.Run(name, func(t *testing.T) {
			looks := func(n int) int {
				text := make(n)
				_, looks, err := parse(text, Options{})
				if err != nil {
					t.Fatal(err)
				}
				return looks + len(text)
			}
			// 64 times the text; quadratic would be 4,096 times the work.
			if small, large := looks(2), looks(128); large > 70*small {
				t.Errorf("64 times the text took %d steps instead of %d", large, 64*small)
			}
		})
	}
}
