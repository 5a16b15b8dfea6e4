package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/testkit"
)

// tckCase is one expanded scenario.
type tckCase struct {
	name    string
	queries []string // all but the last prepare
	query   string
	procs   []string
	params  []string
	typ     string // expected error, or ""
	phase   string
	detail  string
}

var (
	reScenario = regexp.MustCompile(`^\s*Scenario(?: Outline)?: *(.*)$`)
	reError    = regexp.MustCompile(`Then an? (\w+) should be raised at (compile time|runtime|any time): (\S+)`)
	reProc     = regexp.MustCompile(`there exists a procedure (.*):$`)
)

// readFeature reads the parts of a feature file that matter to a compiler.
func readFeature(t testing.TB, path string) []tckCase {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []tckCase
	var lines []string
	flush := func() {
		if len(lines) > 0 {
			out = append(out, expand(filepath.Base(path), lines)...)
		}
		lines = nil
	}
	for _, l := range strings.Split(strings.ReplaceAll(string(data), "\r", ""), "\n") {
		if reScenario.MatchString(l) {
			flush()
			lines = append(lines, l)
		} else if lines != nil {
			lines = append(lines, l)
		}
	}
	flush()
	return out
}

func cells(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	var out []string
	var cur strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line):
			i++
			switch line[i] {
			case 'n':
				cur.WriteByte('\n')
			case '|', '\\':
				cur.WriteByte(line[i])
			default:
				cur.WriteByte('\\')
				cur.WriteByte(line[i])
			}
		case line[i] == '|':
			out = append(out, strings.TrimSpace(cur.String()))
			cur.Reset()
		default:
			cur.WriteByte(line[i])
		}
	}
	return append(out, strings.TrimSpace(cur.String()))
}

func expand(file string, lines []string) []tckCase {
	c := tckCase{name: file + ": " + reScenario.FindStringSubmatch(lines[0])[1]}
	var header []string
	var rows [][]string
	inExamples, inParams := false, false
	last := ""
	for i := 1; i < len(lines); i++ {
		l := strings.TrimSpace(lines[i])
		switch {
		case strings.HasPrefix(l, `"""`):
			var body []string
			for i++; i < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[i]), `"""`); i++ {
				body = append(body, lines[i])
			}
			q := strings.Join(body, "\n")
			if strings.Contains(last, "executing query") {
				if c.query != "" {
					c.queries = append(c.queries, c.query)
				}
				c.query = q
			} else {
				c.queries = append(c.queries, q)
			}
		case strings.HasPrefix(l, "Examples:"):
			inExamples, header, inParams = true, nil, false
		case strings.HasPrefix(l, "#"), l == "":
		case strings.HasPrefix(l, "|"):
			switch {
			case inExamples && header == nil:
				header = cells(l)
			case inExamples:
				rows = append(rows, cells(l))
			case inParams:
				c.params = append(c.params, cells(l)[0])
			}
		default:
			last, inParams = l, strings.Contains(l, "parameters are")
			if m := reError.FindStringSubmatch(l); m != nil {
				c.typ, c.phase, c.detail = m[1], m[2], m[3]
			}
			if m := reProc.FindStringSubmatch(l); m != nil {
				c.procs = append(c.procs, m[1])
			}
		}
	}
	if len(rows) == 0 {
		return []tckCase{c}
	}
	var out []tckCase
	for n, r := range rows {
		x := c
		sub := func(s string) string {
			for i, h := range header {
				if i < len(r) {
					s = strings.ReplaceAll(s, "<"+h+">", r[i])
				}
			}
			return s
		}
		x.name = fmt.Sprintf("%s #%d", c.name, n+1)
		x.query, x.detail, x.typ = sub(c.query), sub(c.detail), sub(c.typ)
		x.queries = nil
		for _, q := range c.queries {
			x.queries = append(x.queries, sub(q))
		}
		out = append(out, x)
	}
	return out
}

// tckProcs are the procedures that a scenario registers.
type tckProcs map[string]*bind.Proc

func (p tckProcs) Procedure(name string) (*bind.Proc, bool) {
	x, ok := p[name]
	return x, ok
}

func parseProcs(sigs []string) tckProcs {
	out := tckProcs{}
	fields := func(s string) []bind.Field {
		var fs []bind.Field
		for _, f := range strings.Split(strings.Trim(strings.TrimSpace(s), "()"), ",") {
			nm, typ, ok := strings.Cut(strings.TrimSpace(f), "::")
			if !ok {
				continue
			}
			t := map[string]expr.Type{"INTEGER": expr.TInt, "FLOAT": expr.TFloat, "NUMBER": expr.TNumber, "STRING": expr.TString}[strings.Trim(strings.TrimSpace(typ), "? ")]
			t.Kinds |= expr.TNull.Kinds
			if t.Kinds == expr.TFloat.Kinds|expr.TNull.Kinds {
				t = expr.TFloat
			}
			fs = append(fs, bind.Field{Name: strings.TrimSpace(nm), Type: t})
		}
		return fs
	}
	for _, s := range sigs {
		open := strings.IndexByte(s, '(')
		shut := strings.IndexByte(s, ')')
		p := &bind.Proc{Name: strings.TrimSpace(s[:open]), In: fields(s[open : shut+1])}
		_, res, _ := strings.Cut(s[shut+1:], "::")
		p.Out = fields(res)
		p.Void = len(p.Out) == 0
		out[p.Name] = p
	}
	return out
}

// compile binds a statement and, if that goes well, plans it twice and holds the plans to their promises.
func compile(t testing.TB, text string, procs bind.Procs) (*bind.Statement, error) {
	var out *bind.Statement
	for _, ref := range []bool{false, true} {
		st, err := cypher.Parse(text, cypher.Options{})
		if err != nil {
			return nil, err
		}
		b, err := bind.Bind(st, bind.Options{Procs: procs})
		if err != nil {
			return nil, err
		}
		q, err := Make(b, parseCatalog(t, "node A 10\nnode B 1000\nrel T 5000 A,B A,B\nrel REL 50 A B\nindex A id unique\nindex A name\nindex B num"), Options{Reference: ref})
		if err != nil {
			return nil, err
		}
		checkPlan(t, q)
		_ = q.String()
		out = b
	}
	return out, nil
}

func tckCases(t testing.TB) []tckCase {
	var files []string
	filepath.Walk(testkit.Shared(t, "tck", "tck", "features"), func(p string, i os.FileInfo, err error) error {
		if err == nil && strings.HasSuffix(p, ".feature") {
			files = append(files, p)
		}
		return nil
	})
	sort.Strings(files)
	var out []tckCase
	for _, f := range files {
		out = append(out, readFeature(t, f)...)
	}
	return out
}

// TestTCKErrors: every scenario of the openCypher TCK that expects an error before execution gets exactly that type and detail, and every
// other statement of the TCK is accepted.
func TestTCKErrors(t *testing.T) {
	wrong, right, accepted := 0, 0, 0
	later := map[string]int{} // functions that the table does not have yet, by message
	for _, c := range tckCases(t) {
		procs := parseProcs(c.procs)
		for _, q := range c.queries {
			if _, err := compile(t, q, procs); err != nil {
				t.Errorf("%s: preparing statement refused: %s\n%s", c.name, describeErr(err), q)
				wrong++
			}
		}
		if c.query == "" {
			continue
		}
		st, err := compile(t, c.query, procs)
		if err == nil && c.detail == "MissingParameter" {
			// Presence of parameters is tested by the session (rules C8): it needs the names.
			have := map[string]bool{}
			for _, p := range c.params {
				have[p] = true
			}
			for _, p := range st.Params {
				if !have[p] {
					err = dberr.Compile(dberr.MissingParameter, "MissingParameter", 0, 0, "")
				}
			}
		}
		switch {
		case c.typ == "" || c.phase == "runtime":
			if err != nil && dberr.As(err).Token == "UnknownFunction" {
				later[dberr.As(err).Message]++
			} else if err != nil {
				t.Errorf("%s: refused: %s\n%s", c.name, describeErr(err), c.query)
				wrong++
			} else {
				accepted++
			}
		case c.phase == "any time":
		case err == nil:
			t.Errorf("%s: accepted, want %s %s\n%s", c.name, c.typ, c.detail, c.query)
			wrong++
		default:
			e := dberr.As(err)
			if e.Code.TCKType() != c.typ || e.Token != c.detail && c.detail != "*" || e.Phase != dberr.CompileTime {
				t.Errorf("%s: %s, want %s %s\n%s", c.name, describeErr(err), c.typ, c.detail, c.query)
				wrong++
				continue
			}
			if e.Pos < 0 || e.Pos > len(c.query) || e.End < e.Pos || e.End > len(c.query) {
				t.Errorf("%s: B2: span %d–%d of %d", c.name, e.Pos, e.End, len(c.query))
			}
			right++
		}
	}
	for m, n := range later {
		t.Logf("%d statements wait for: %s", n, m)
	}
	t.Logf("%d errors as wanted, %d statements accepted, %d wrong", right, accepted, wrong)
}

func describeErr(err error) string {
	e := dberr.As(err)
	return fmt.Sprintf("%s %s (%s)", e.Code.TCKType(), e.Token, e.Error())
}
