package cypher

import (
	"reflect"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	text := " RETURN 1; ; // a;b\n RETURN ';' /* ; */ AS `;` ;\n\tRETURN \"\\\";\" ;RETURN 'open ; "
	var got []string
	for _, s := range Split(text, Cypher) {
		got = append(got, text[s.Start:s.Stop])
	}
	want := []string{"RETURN 1", "RETURN ';' /* ; */ AS `;`", `RETURN "\";"`, "RETURN 'open ; "}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if got := Split(" ;; // x\n", Cypher); got != nil {
		t.Errorf("nothing became %v", got)
	}
}

func TestFirstWords(t *testing.T) {
	var words [3]string
	if n := FirstWords("/* x */ create range Index i FOR", words[:]); n != 3 || words != [3]string{"CREATE", "RANGE", "INDEX"} {
		t.Errorf("%d %q", n, words)
	}
	if n := FirstWords("load 'age'", words[:]); n != 1 || words[0] != "LOAD" {
		t.Errorf("%d %q", n, words)
	}
}

func TestLexBrackets(t *testing.T) {
	toks, err := Lex("f([a}, b)", Cypher)
	if err != nil {
		t.Fatal(err)
	}
	var match []int32
	for _, tok := range toks {
		match = append(match, tok.Match)
	}
	if want := []int32{-1, 7, -1, -1, -1, -1, -1, 1, -1}; !reflect.DeepEqual(match, want) {
		t.Errorf("matches %v", match)
	}
}

func TestItemText(t *testing.T) {
	s, err := Parse("MATCH (n) RETURN ( n.x ) +  1, cOuNt( * ) , n, n.y AS `a b`, (n)", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, it := range s.Body.(*Query).Parts[0].Clauses[1].(*Return).Items {
		names = append(names, it.Name())
	}
	if got := strings.Join(names, "|"); got != "( n.x ) +  1|cOuNt( * )|n|a b|n" {
		t.Errorf("got %q", got)
	}
}

func TestParams(t *testing.T) {
	s, err := Parse("MATCH (n $`a b`) WHERE n.x = $x AND n.y IN [$1, $x] RETURN n LIMIT $n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a b", "x", "1", "n"}; !reflect.DeepEqual(s.Params, want) {
		t.Errorf("got %q", s.Params)
	}
}

// TestPrecedence shows where parentheses would stand.
func TestPrecedence(t *testing.T) {
	for text, want := range map[string]string{
		"a OR b XOR c AND NOT d":       "(a OR (b XOR (c AND (NOT d))))",
		"NOT a = b":                    "(NOT (a = b))",
		"a + b * c ^ -d":               "(a + (b * (c ^ (-d))))",
		"a - b - c":                    "((a - b) - c)",
		"a ^ b ^ c":                    "((a ^ b) ^ c)",
		"-a ^ b":                       "((-a) ^ b)",
		"-1 ^ 2":                       "(-1 ^ 2)",
		"a < b = c":                    "(a < b = c)",
		"a IN b + c":                   "(a IN (b + c))",
		"a = b IN c":                   "(a = (b IN c))",
		"a IS NULL = b IS NULL":        "((a IS NULL) = (b IS NULL))",
		"a STARTS WITH b IS NULL":      "((a STARTS WITH b) IS NULL)",
		"-a.b[0]":                      "(-a.b[0])",
		"NOT a IS NULL":                "(NOT (a IS NULL))",
		"a % b / c":                    "((a % b) / c)",
		"n.x + n:A":                    "(n.x + n:A)",
		"a || b + c":                   "((a || b) + c)",
		"NOT NOT a AND b":              "((NOT (NOT a)) AND b)",
		"a AND b IS NOT NULL OR c > 1": "((a AND (b IS NOT NULL)) OR (c > 1))",
	} {
		s, err := Parse("RETURN "+text, Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		x := s.Body.(*Query).Parts[0].Clauses[0].(*Return).Items[0].Expr
		if got := parenthesised(x); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func parenthesised(x Expr) string {
	switch x := x.(type) {
	case *Binary:
		return "(" + parenthesised(x.L) + " " + x.Op.String() + " " + parenthesised(x.R) + ")"
	case *Compare:
		s := "(" + parenthesised(x.Operands[0])
		for i, op := range x.Ops {
			s += " " + op.String() + " " + parenthesised(x.Operands[i+1])
		}
		return s + ")"
	case *Unary:
		if x.Op == OpNot {
			return "(NOT " + parenthesised(x.X) + ")"
		}
		return "(" + x.Op.String() + parenthesised(x.X) + ")"
	case *IsNull:
		if x.Not {
			return "(" + parenthesised(x.X) + " IS NOT NULL)"
		}
		return "(" + parenthesised(x.X) + " IS NULL)"
	}
	return Text(x)
}

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"one":   "RETURN 1",
		"seek":  "MATCH (n:Person {id: $id}) RETURN n.name AS name, n.age AS age",
		"hop":   "MATCH (p:Person {id: $id})-[:KNOWS]->(f:Person) WHERE f.age > 30 AND f.name STARTS WITH 'A' RETURN f.name, f.age ORDER BY f.age DESC LIMIT 10",
		"write": "UNWIND $rows AS row MATCH (a:A {id: row.a}), (b:B {id: row.b}) MERGE (a)-[r:T {k: row.k}]->(b) ON CREATE SET r.n = 1 ON MATCH SET r.n = r.n + 1",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := Parse(text, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
