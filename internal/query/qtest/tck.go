package qtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Step is one step of a scenario with its placeholders filled in.
type Step struct {
	Text  string
	Doc   string
	Table [][]string
}

// Scenario is a scenario, or an outline with one row of its examples.
type Scenario struct {
	File  string // below the root, as clauses/match/Match1.feature
	Name  string
	Steps []Step
}

// ID names a scenario uniquely.
func (s *Scenario) ID() string { return s.File + " " + s.Name }

// LoadTCK reads every feature file below root, in path order.
func LoadTCK(root string) ([]*Scenario, error) {
	var out []*Scenario
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".feature" {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		out = append(out, parseFeature(filepath.ToSlash(rel), string(src))...)
		return nil
	})
	return out, err
}

// parseFeature reads the part of Gherkin that the TCK uses.
func parseFeature(file, src string) []*Scenario {
	var out []*Scenario
	var background, steps []Step
	var name string
	var examples [][][]string // the tables of an outline, each with its header
	ignore, open, inBackground, inExamples := false, false, false, false
	tagged := false
	flush := func() {
		if inBackground {
			background, inBackground = steps, false
		} else if open && !ignore {
			all := append(append([]Step(nil), background...), steps...)
			if examples == nil {
				out = append(out, &Scenario{File: file, Name: name, Steps: all})
			}
			n := 0
			for _, table := range examples {
				for i := 1; i < len(table); i++ {
					n++
					out = append(out, &Scenario{File: file, Name: fmt.Sprintf("%s #%d", name, n), Steps: outlined(all, table[0], table[i])})
				}
			}
		}
		steps, examples, open, inExamples = nil, nil, false, false
	}
	lines := strings.Split(strings.ReplaceAll(src, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		raw := lines[i]
		line := strings.TrimSpace(raw)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "@"):
			tagged = strings.Contains(line, "@ignore")
		case line == `"""`:
			indent := strings.Index(raw, `"""`)
			var doc []string
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != `"""`; i++ {
				l := lines[i]
				cut := 0
				for cut < indent && cut < len(l) && l[cut] == ' ' {
					cut++
				}
				doc = append(doc, l[cut:])
			}
			if n := len(steps); n > 0 {
				steps[n-1].Doc = strings.Join(doc, "\n")
			}
		case strings.HasPrefix(line, "|"):
			cells := splitCells(line)
			switch {
			case inExamples:
				examples[len(examples)-1] = append(examples[len(examples)-1], cells)
			case len(steps) > 0:
				steps[len(steps)-1].Table = append(steps[len(steps)-1].Table, cells)
			}
		case strings.HasPrefix(line, "Background:"):
			flush()
			inBackground = true
		case strings.HasPrefix(line, "Scenario"):
			flush()
			_, name, _ = strings.Cut(line, ":")
			name = strings.TrimSpace(name)
			open, ignore, tagged = true, tagged, false
		case strings.HasPrefix(line, "Examples:"):
			inExamples = true
			examples = append(examples, nil)
		default:
			for _, w := range []string{"Given ", "When ", "Then ", "And ", "But ", "* "} {
				if strings.HasPrefix(line, w) {
					steps = append(steps, Step{Text: strings.TrimSpace(line[len(w):])})
					break
				}
			}
		}
	}
	flush()
	return out
}

// outlined is the steps of an outline with the cells of one row of examples in place of the header's names.
func outlined(steps []Step, header, row []string) []Step {
	var old []string
	for k, h := range header {
		old = append(old, "<"+h+">", row[k])
	}
	r := strings.NewReplacer(old...)
	out := make([]Step, len(steps))
	for i, st := range steps {
		out[i] = Step{Text: r.Replace(st.Text), Doc: r.Replace(st.Doc)}
		for _, cells := range st.Table {
			var c []string
			for _, cell := range cells {
				c = append(c, r.Replace(cell))
			}
			out[i].Table = append(out[i].Table, c)
		}
	}
	return out
}

// splitCells splits a table row; \| is a bar, \n a line break and \\ a backslash.
func splitCells(line string) []string {
	var out []string
	var b strings.Builder
	for i := 1; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line):
			i++
			switch line[i] {
			case '|', '\\':
				b.WriteByte(line[i])
			case 'n':
				b.WriteByte('\n')
			default:
				b.WriteByte('\\')
				b.WriteByte(line[i])
			}
		case c == '|':
			out = append(out, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	return out
}

// Graphs are the named graphs of the TCK: statements by name.
type Graphs map[string][]string

// LoadGraphs reads the named graphs below dir.
func LoadGraphs(dir string) (Graphs, error) {
	out := Graphs{}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.cypher"))
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(filepath.Dir(f))
		for _, q := range strings.Split(string(src), ";") {
			if q = strings.TrimSpace(q); q != "" {
				out[name] = append(out[name], q)
			}
		}
	}
	return out, err
}

var (
	namedGraphRE = regexp.MustCompile(`^the (.+) graph$`)
	procedureRE  = regexp.MustCompile(`^there exists a procedure (.+):$`)
	resultRE     = regexp.MustCompile(`^the result should be( empty|(, in any order|, in order)?( \(ignoring element order for lists\))?:)$`)
	errorRE      = regexp.MustCompile(`^an? (\S+) should be raised at (.+): (\S+)$`)
)

// RunScenario runs one scenario on a freshly reset target. Errors must match in type, phase and detail.
func RunScenario(t Target, graphs Graphs, s *Scenario) (err error) {
	r := &scenarioRun{t: t, graphs: graphs, params: map[string]value.Value{}}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v in %q", p, r.query)
		}
	}()
	if err := t.Reset(); err != nil {
		return err
	}
	for _, st := range s.Steps {
		if err := r.step(st); err != nil {
			if r.query != "" {
				return fmt.Errorf("%w\n      in %s", err, strings.ReplaceAll(r.query, "\n", " "))
			}
			return err
		}
	}
	if r.err != nil && !r.seen {
		return errors.New(Explain(r.err))
	}
	return nil
}

type scenarioRun struct {
	t      Target
	graphs Graphs
	params map[string]value.Value
	query  string
	before graphState
	res    *Result
	err    error
	seen   bool // err was expected
}

func (r *scenarioRun) step(st Step) error {
	if m := namedGraphRE.FindStringSubmatch(st.Text); m != nil {
		stmts, ok := r.graphs[m[1]]
		if !ok {
			return fmt.Errorf("unknown graph %q", m[1])
		}
		for _, q := range stmts {
			if err := r.setup(q); err != nil {
				return err
			}
		}
		return nil
	}
	if m := procedureRE.FindStringSubmatch(st.Text); m != nil {
		d, ok := r.t.(*DB)
		if !ok {
			return errors.New("the target cannot register procedures")
		}
		return d.register(m[1], st.Table)
	}
	if m := resultRE.FindStringSubmatch(st.Text); m != nil {
		if r.err != nil {
			return errors.New(Explain(r.err))
		}
		var want Table
		if len(st.Table) > 0 {
			want = Table{Columns: st.Table[0], Rows: st.Table[1:]}
		}
		return Compare(want, r.res, m[2] == ", in order", m[3] != "")
	}
	if m := errorRE.FindStringSubmatch(st.Text); m != nil {
		return r.raised(m[1], m[2], m[3])
	}
	switch st.Text {
	case "an empty graph", "any graph":
		return nil
	case "having executed:":
		return r.setup(st.Doc)
	case "parameters are:":
		for _, row := range st.Table {
			v, err := value.ParseTCK(row[1])
			if err != nil {
				return err
			}
			r.params[row[0]] = v
		}
		return nil
	case "executing query:":
		var err error
		if r.before, err = measure(r.t); err != nil {
			return err
		}
		r.exec(st.Doc)
		return nil
	case "executing control query:":
		if r.err != nil && !r.seen {
			return errors.New(Explain(r.err))
		}
		r.exec(st.Doc)
		return nil
	case "no side effects":
		return r.effects(nil)
	case "the side effects should be:":
		return r.effects(st.Table)
	}
	return fmt.Errorf("unknown step %q", st.Text)
}

func (r *scenarioRun) setup(q string) error {
	if _, err := r.t.Run(q, r.params); err != nil {
		return fmt.Errorf("setup failed: %s\n      in %s", Explain(err), strings.ReplaceAll(q, "\n", " "))
	}
	return nil
}

func (r *scenarioRun) exec(q string) {
	r.query, r.seen = q, false
	r.res, r.err = r.t.Run(q, r.params)
}

func (r *scenarioRun) raised(typ, phase, detail string) error {
	want := typ + " at " + phase + ": " + detail
	if r.err == nil {
		return fmt.Errorf("want error %s, got %d rows: %s", want, len(r.res.Rows), clip(canonRows(r.res.Rows, false)))
	}
	r.seen = true
	if err := MatchError(r.err, typ, phase, detail); err != nil {
		return err
	}
	return r.effects(nil)
}

// MatchError compares an error with the one expected; * is any detail.
func MatchError(got error, typ, phase, detail string) error {
	e := dberr.As(got)
	have := "runtime"
	if e.Phase == dberr.CompileTime {
		have = "compile time"
	}
	typeOK := typ == "*" || typ == "Error" || e.Code.TCKType() == typ || strings.Replace(typ, "Verification", "Validation", 1) == strings.Replace(e.Code.TCKType(), "Verification", "Validation", 1)
	if !typeOK || phase != "any time" && phase != "any" && phase != have && phase+" time" != have || detail != "*" && e.Token != detail && !strings.Contains(e.Message, detail) {
		return fmt.Errorf("want error %s at %s: %s, got %s", typ, phase, detail, Explain(got))
	}
	return nil
}

// graphState is what the TCK can observe of a graph.
type graphState struct{ nodes, rels, labels, props []string }

func measure(t Target) (s graphState, err error) {
	seen := map[string]bool{}
	for _, q := range []string{"MATCH (n) RETURN n", "MATCH ()-[r]->() RETURN r"} {
		res, err := t.Run(q, nil)
		if err != nil {
			return s, fmt.Errorf("measuring side effects: %w", err)
		}
		for _, row := range res.Rows {
			v := row[0]
			id := strconv.FormatUint(v.ID(), 10)
			if v.Kind() == value.Node {
				s.nodes = append(s.nodes, id)
				for _, l := range v.Labels() {
					if !seen[l] {
						seen[l] = true
						s.labels = append(s.labels, l)
					}
				}
			} else {
				s.rels = append(s.rels, id)
			}
			p := v.Properties()
			for i := range p.Len() {
				k, e := p.Entry(i)
				s.props = append(s.props, v.RelType()+id+"|"+k+"|"+Canon(e, false))
			}
		}
	}
	return s, nil
}

func (r *scenarioRun) effects(table [][]string) error {
	if r.err != nil && !r.seen {
		return errors.New(Explain(r.err))
	}
	want := map[string]int{}
	for _, row := range table {
		n, err := strconv.Atoi(row[len(row)-1])
		if err != nil {
			return fmt.Errorf("side effects row %q", row)
		}
		want[row[0]] = n
	}
	after, err := measure(r.t)
	if err != nil {
		return err
	}
	b := [][]string{r.before.nodes, r.before.rels, r.before.labels, r.before.props}
	a := [][]string{after.nodes, after.rels, after.labels, after.props}
	for i, name := range []string{"nodes", "relationships", "labels", "properties"} {
		gone, added := bagDiff(b[i], a[i])
		if len(added) != want["+"+name] || len(gone) != want["-"+name] {
			return fmt.Errorf("side effects: want %s +%d -%d, got +%d -%d", name, want["+"+name], want["-"+name], len(added), len(gone))
		}
	}
	return nil
}

// procSet are the procedures of one scenario, before the builtins.
type procSet map[string]*exec.Procedure

func (s procSet) Lookup(name string) (*exec.Procedure, bool) {
	if p, ok := s[name]; ok {
		return p, true
	}
	return exec.Builtins.Lookup(name)
}

// register makes the table-backed procedure of a scenario.
func (d *DB) register(sig string, table [][]string) error {
	var rows [][]value.Value
	if len(table) > 0 {
		for _, cells := range table[1:] {
			var row []value.Value
			for _, c := range cells {
				v, err := value.ParseTCK(c)
				if err != nil {
					return err
				}
				row = append(row, v)
			}
			rows = append(rows, row)
		}
	}
	p, err := exec.Table(sig, rows)
	if err != nil {
		return err
	}
	set, ok := d.Exec.Procedures.(procSet)
	if !ok {
		set = procSet{}
		d.Exec.Procedures = set
	}
	set[p.Name] = p
	return nil
}
