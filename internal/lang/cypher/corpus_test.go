package cypher

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/testkit"
)

// scenario is what matters here of a scenario: its texts and what the last one should raise at compile time.
type scenario struct {
	name     string
	texts    []string
	expected string // "SyntaxError UnexpectedSyntax", or ""
}

var (
	raised      = regexp.MustCompile(`an? (\w+) should be raised at (compile time|any time): (\S+)`)
	placeholder = regexp.MustCompile(`<(\w+)>`)
)

// scenarios reads a feature file, outlines expanded.
func scenarios(t *testing.T, path string) []scenario {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []scenario
	var cur *scenario
	var background []string
	inBackground := false
	var header []string
	examples := false
	flush := func() {
		if cur != nil && header == nil {
			out = append(out, *cur)
		}
		cur, header, examples = nil, nil, false
	}
	sc := bufio.NewScanner(strings.NewReader(strings.ReplaceAll(string(data), "\r\n", "\n")))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		switch {
		case line == `"""`:
			var doc []string
			for sc.Scan() && strings.TrimSpace(sc.Text()) != `"""` {
				doc = append(doc, sc.Text())
			}
			text := strings.Join(doc, "\n")
			if inBackground {
				background = append(background, text)
			} else if cur != nil {
				cur.texts = append(cur.texts, text)
			}
		case strings.HasPrefix(line, "Background:"):
			inBackground = true
		case strings.HasPrefix(line, "Scenario"):
			flush()
			inBackground = false
			_, name, _ := strings.Cut(line, ":")
			cur = &scenario{name: filepath.Base(path) + name, texts: append([]string(nil), background...)}
		case strings.HasPrefix(line, "Examples:"):
			examples, header = true, []string{}
		case examples && strings.HasPrefix(line, "|") && cur != nil:
			cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00"), "|")
			for i := range cells {
				cells[i] = strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(cells[i]), "\x00", "|"), `\\`, `\`)
			}
			if len(header) == 0 {
				header = cells
				continue
			}
			s := scenario{name: cur.name, expected: cur.expected}
			for _, text := range cur.texts {
				for i, h := range header {
					if i < len(cells) {
						text = strings.ReplaceAll(text, "<"+h+">", cells[i])
					}
				}
				s.texts = append(s.texts, text)
			}
			out = append(out, s)
		default:
			if m := raised.FindStringSubmatch(line); m != nil && cur != nil {
				cur.expected = m[1] + " " + m[3]
			}
		}
	}
	flush()
	return out
}

// parsersOwn are the details that the text alone decides.
var parsersOwn = map[string]bool{"UnexpectedSyntax": true, "InvalidNumberLiteral": true, "IntegerOverflow": true,
	"FloatingPointOverflow": true, "InvalidUnicodeLiteral": true, "InvalidUnicodeCharacter": true,
	"InvalidRelationshipPattern": true, "InvalidClauseComposition": true,
	"RequiresDirectedRelationship": true, "CreatingVarLength": true, "InvalidArgumentPassingMode": true}

// TestTCK parses every statement of the openCypher TCK: what should be a syntax error of the parser is one with the right
// detail, everything else parses.
func TestTCK(t *testing.T) {
	n := 0
	err := filepath.WalkDir(testkit.Shared(t, "tck/tck/features"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".feature" {
			return err
		}
		for _, s := range scenarios(t, path) {
			for i, text := range s.texts {
				n++
				_, err := Parse(text, Options{})
				typ, detail, _ := strings.Cut(s.expected, " ")
				fails := i == len(s.texts)-1 && typ == "SyntaxError" && parsersOwn[detail]
				var e *dberr.Error
				switch {
				case err == nil && fails:
					t.Errorf("%s: %s is missing\n%s", s.name, s.expected, text)
				case err == nil:
					roundTrip(t, text, Options{})
				case !errors.As(err, &e):
					t.Errorf("%s: %T", s.name, err)
				case !fails && (i < len(s.texts)-1 || e.Token != detail): // a fault of the binder's may be found here
					t.Errorf("%s (expects %q): %v [%s]\n%s", s.name, s.expected, err, e.Token, text)
				case e.Token != detail || e.Code.TCKType() != typ || e.Phase != dberr.CompileTime || e.Pos < 0 || e.End > len(text):
					t.Errorf("%s: expected %s, got %s %s at %d: %v", s.name, s.expected, e.Code.TCKType(), e.Token, e.Pos, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 3000 {
		t.Errorf("only %d statements were found", n)
	}
	t.Logf("%d statements", n)
}

var (
	caseQuery = regexp.MustCompile(`^\s*-? *(?:query|q): (".*")$`)
	caseItem  = regexp.MustCompile(`^\s+- (".*")$`)
	caseJSON  = regexp.MustCompile(`\{"query": ("(?:[^"\\]|\\.)*")`)
	indexSpec = regexp.MustCompile(`^\w*(:\w+)?\(\w+\)$`)
	repeated  = regexp.MustCompile(`@repeat\((.*?), (\d+)\)`)
)

// TestCases parses the statements of the real-world cases that are Cypher.
func TestCases(t *testing.T) {
	data, err := os.ReadFile(testkit.Shared(t, "cases/cases.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, block := range strings.Split(string(data), "\n- id: ")[1:] {
		if strings.Contains(block, "dialect: \"age\"") || strings.Contains(block, "kind: \"sql\"") || strings.Contains(block, "kind: \"bolt\"") {
			continue
		}
		name, _, _ := strings.Cut(block, "\n")
		for _, line := range strings.Split(block, "\n") {
			var quoted []string
			if m := caseQuery.FindStringSubmatch(line); m != nil {
				quoted = append(quoted, m[1])
			} else if m := caseItem.FindStringSubmatch(line); m != nil {
				quoted = append(quoted, m[1])
			}
			for _, m := range caseJSON.FindAllStringSubmatch(line, -1) {
				quoted = append(quoted, m[1])
			}
			for _, q := range quoted {
				var text string
				if json.Unmarshal([]byte(q), &text) != nil || strings.HasPrefix(text, "@") || indexSpec.MatchString(text) || strings.HasPrefix(strings.ToUpper(text), "SELECT") {
					continue
				}
				text = repeated.ReplaceAllString(text, "$1")
				n++
				if _, err := Parse(text, Options{}); err != nil {
					e := dberr.As(err)
					if strings.HasPrefix(name, `"overflow-literals"`) && strings.HasSuffix(e.Token, "Overflow") ||
						strings.HasPrefix(name, `"crash-foreign-ddl"`) && e.Token == "UnexpectedSyntax" {
						continue
					}
					t.Errorf("%s: %v at %d\n%s", name, err, e.Pos, text)
				}
				roundTrip(t, text, Options{})
			}
		}
	}
	if n < 300 {
		t.Errorf("only %d statements were found", n)
	}
	t.Logf("%d statements", n)
}

// TestSNB parses the LDBC queries and the named graphs.
func TestSNB(t *testing.T) {
	n := 0
	for _, root := range []string{"snb", "tck/tck/graphs"} {
		err := filepath.WalkDir(testkit.Shared(t, root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".cypher" && filepath.Ext(path) != ".cyp" {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, span := range Split(string(data), Cypher) {
				n++
				text := string(data)[span.Start:span.Stop]
				if _, err := Parse(text, Options{}); err != nil {
					t.Errorf("%s: %v", path, err)
				}
				roundTrip(t, text, Options{})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 20 {
		t.Errorf("only %d statements were found", n)
	}
	t.Logf("%d statements", n)
}
