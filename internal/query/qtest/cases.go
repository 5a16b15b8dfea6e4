package qtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Case is one entry of the case file; its README describes the fields.
type Case struct {
	ID, Area, Kind, Dialect string
	Setup                   []string
	Query                   string
	Variants                []string
	Params                  map[string]string
	Expected                Expected
	Accept                  []Expected
	Then                    []Follow
	Indexes                 []string
	Files                   map[string]string
	Perf                    Perf
	Steps                   []SessionStep // of kind sessions
	Crowd                   *Crowd        // of kind sessions, instead of steps
}

// Perf is what a statement may cost: Bound says it in words, of which "n times the baseline" is checked.
type Perf struct{ Size, Baseline, Bound string }

// Expected is a table, an error, or nothing.
type Expected struct {
	Columns []string
	Rows    [][]string
	Ordered bool
	Error   *struct{ Type, Detail, Phase string }
	set     bool
}

// Follow is a statement that comes after the one under test.
type Follow struct {
	Query    string
	Expected Expected
	Accept   []Expected
}

// UnmarshalJSON notes that something is expected.
func (e *Expected) UnmarshalJSON(b []byte) error {
	type plain Expected
	if err := json.Unmarshal(b, (*plain)(e)); err != nil {
		return err
	}
	e.set = true
	return nil
}

// LoadCases reads the case file: a list of maps whose values are JSON, a |- block, or a list of JSON items.
func LoadCases(path string) ([]*Case, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	top := regexp.MustCompile(`^  ([A-Za-z_0-9]+):(.*)$`)
	item := regexp.MustCompile(`^    - (.*)$`)
	var out []*Case
	var cur map[string]json.RawMessage
	key := ""
	var list []json.RawMessage
	flushKey := func() {
		if cur != nil && key != "" && list != nil {
			b, _ := json.Marshal(list)
			cur[key] = b
		}
		key, list = "", nil
	}
	flush := func() error {
		flushKey()
		if cur == nil {
			return nil
		}
		b, err := json.Marshal(cur)
		if err != nil {
			return err
		}
		var c struct {
			ID, Area, Kind, Dialect, Query string
			Setup, Variants, Indexes       []string
			Params                         map[string]any
			Expected                       Expected
			Accept                         []Expected
			Then                           []Follow
			Files                          map[string]string
			Perf                           Perf
			Sessions                       json.RawMessage
		}
		if err := json.Unmarshal(b, &c); err != nil {
			return fmt.Errorf("case %s: %w", cur["id"], err)
		}
		k := &Case{ID: c.ID, Area: c.Area, Kind: c.Kind, Dialect: c.Dialect, Setup: c.Setup, Query: c.Query, Variants: c.Variants,
			Expected: c.Expected, Accept: c.Accept, Then: c.Then, Indexes: c.Indexes, Files: c.Files, Perf: c.Perf, Params: map[string]string{}}
		if err := k.steps(c.Sessions); err != nil {
			return fmt.Errorf("case %s: %w", cur["id"], err)
		}
		for n, v := range c.Params {
			s, ok := v.(string)
			if !ok {
				s = fmt.Sprint(v)
			}
			k.Params[n] = s
		}
		out = append(out, k)
		return nil
	}
	lines := strings.Split(string(src), "\n")
	for i := 0; i < len(lines); i++ {
		ln := lines[i]
		if strings.TrimSpace(ln) == "" || strings.HasPrefix(ln, "#") {
			continue
		}
		if strings.HasPrefix(ln, "- ") {
			if err := flush(); err != nil {
				return nil, err
			}
			cur = map[string]json.RawMessage{}
			ln = "  " + ln[2:]
		}
		if m := top.FindStringSubmatch(ln); m != nil {
			flushKey()
			rest := strings.TrimSpace(m[2])
			switch rest {
			case "|-":
				var block []string
				for i+1 < len(lines) && (strings.HasPrefix(lines[i+1], "    ") || strings.TrimSpace(lines[i+1]) == "") {
					i++
					block = append(block, strings.TrimPrefix(lines[i], "    "))
				}
				b, _ := json.Marshal(strings.TrimRight(strings.Join(block, "\n"), "\n"))
				cur[m[1]] = b
			case "":
				key, list = m[1], []json.RawMessage{}
			default:
				cur[m[1]] = json.RawMessage(rest)
			}
			continue
		}
		if m := item.FindStringSubmatch(ln); m != nil && key != "" {
			list = append(list, json.RawMessage(m[1]))
			continue
		}
		return nil, fmt.Errorf("line %d is not understood: %q", i+1, ln)
	}
	return out, flush()
}

var repeatRE = regexp.MustCompile(`@repeat\(((?:'[^']*'|"[^"]*"|[^,()]*)),\s*(\d+)\)`)

// expand writes @repeat(s, n) out.
func expand(q string) string {
	return repeatRE.ReplaceAllStringFunc(q, func(m string) string {
		p := repeatRE.FindStringSubmatch(m)
		n, _ := strconv.Atoi(p[2])
		s := strings.TrimSpace(p[1])
		if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') {
			s = s[1 : len(s)-1]
		}
		return strings.Repeat(s, n)
	})
}

// ErrNotHere means that a case is of a kind that a single graph cannot run.
var ErrNotHere = errors.New("needs a server, sessions or SQL")

// RunCase runs a case in every spelling and with every time of making its indexes.
func RunCase(t Target, c *Case) error {
	if c.Kind != "query" && c.Kind != "metamorphic" && c.Kind != "perf" {
		return ErrNotHere
	}
	params, err := c.params()
	if err != nil {
		return err
	}
	for _, when := range c.times() {
		for i, q := range append([]string{c.Query}, c.Variants...) {
			if err := runOnce(t, c, expand(q), when, params, i == 0); err != nil {
				return fmt.Errorf("spelling %d, indexes %s: %w\n      in %s", i, when, err, clipText(q))
			}
		}
	}
	return nil
}

func (c *Case) params() (map[string]value.Value, error) {
	params := map[string]value.Value{}
	for k, s := range c.Params {
		v, err := value.ParseTCK(s)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", k, err)
		}
		params[k] = v
	}
	return params, nil
}

// times are those at which the case's indexes are made.
func (c *Case) times() []string {
	switch {
	case len(c.Indexes) == 0:
		return []string{"none"}
	case c.Kind == "perf":
		return []string{"before", "after"} // what is fast by an index only would take minutes
	}
	return []string{"before", "after", "none"}
}

func clipText(s string) string {
	if s = strings.ReplaceAll(s, "\n", " "); len(s) > 400 {
		return s[:400] + "…"
	}
	return s
}

func runOnce(t Target, c *Case, q, when string, params map[string]value.Value, then bool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if err := prepare(t, c, when); err != nil {
		return err
	}
	res, err := t.Run(q, params)
	if err := judge(c.Expected, c.Accept, res, err); err != nil {
		return err
	}
	if !then {
		return nil
	}
	return c.follow(t, params)
}

// prepare makes the case's graph.
func prepare(t Target, c *Case, when string) error {
	if err := t.Reset(); err != nil {
		return err
	}
	if d, ok := t.(*DB); ok {
		d.Exec.Import = Files(c.Files)
	}
	index := func() error {
		for _, ix := range c.Indexes {
			text := ""
			if rest, ok := strings.CutPrefix(ix, ":"); ok {
				l, p, _ := strings.Cut(strings.TrimSuffix(rest, ")"), "(")
				text = fmt.Sprintf("CREATE INDEX FOR ()-[r:%s]-() ON (r.%s)", l, p)
			} else {
				l, p, _ := strings.Cut(strings.TrimSuffix(ix, ")"), "(")
				text = fmt.Sprintf("CREATE INDEX FOR (n:%s) ON (n.%s)", l, p)
			}
			if _, err := t.Run(text, nil); err != nil {
				return fmt.Errorf("%s: %s", text, Explain(err))
			}
		}
		return nil
	}
	if when == "before" {
		if err := index(); err != nil {
			return err
		}
	}
	for _, s := range c.Setup {
		if _, err := t.Run(expand(s), nil); err != nil {
			return fmt.Errorf("setup: %s\n      in %s", Explain(err), clipText(s))
		}
	}
	if when == "after" {
		if err := index(); err != nil {
			return err
		}
	}
	return nil
}

// follow runs what comes after the statement under test.
func (c *Case) follow(t Target, params map[string]value.Value) error {
	for i, f := range c.Then {
		res, err := t.Run(expand(f.Query), params)
		if !f.Expected.set {
			f.Expected = Expected{set: true}
		}
		if err := judge(f.Expected, f.Accept, res, err); err != nil {
			return fmt.Errorf("then %d: %w\n      in %s", i, err, clipText(f.Query))
		}
	}
	return nil
}

// judge accepts the outcome expected, or any of those that are acceptable too.
func judge(want Expected, accept []Expected, res *Result, err error) error {
	first := want.judge(res, err)
	if first == nil {
		return nil
	}
	for _, a := range accept {
		if a.judge(res, err) == nil {
			return nil
		}
	}
	return first
}

func (e *Expected) judge(res *Result, err error) error {
	if e.Error != nil {
		if err == nil {
			return fmt.Errorf("want error %v, got %s", *e.Error, clip(canonRows(res.Rows, false)))
		}
		return MatchError(err, e.Error.Type, e.Error.Phase, e.Error.Detail)
	}
	if err != nil {
		return errors.New(Explain(err))
	}
	if e.Columns == nil && e.Rows == nil {
		return nil
	}
	return Compare(Table{Columns: e.Columns, Rows: e.Rows}, res, e.Ordered, false)
}
