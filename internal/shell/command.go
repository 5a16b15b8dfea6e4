package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"github.com/hedgerowdb/hedgerow"
)

// command is one of the shell's own.
type command struct {
	names []string // first is the one shown
	args  string
	help  string
	run   func(s *Shell, ctx context.Context, rest string)
}

var commands []command

func init() {
	commands = []command{
		{[]string{":help", ":h", ":?", `\?`, `\h`}, "", "show this list", (*Shell).help},
		{[]string{":quit", ":q", ":exit", `\q`}, "", "leave; exit and Ctrl-D do too", func(s *Shell, _ context.Context, _ string) { s.quit = true }},
		{[]string{":schema", `\d`}, "", "labels, types, indexes and constraints of the graph", (*Shell).schema},
		{[]string{":graphs", `\l`, `\dn`}, "", "graphs of the database", (*Shell).graphs},
		{[]string{":use", `\c`}, "GRAPH", "choose the graph", (*Shell).use},
		{[]string{":param", ":params"}, "[NAME => EXPR]", "set a parameter, or show all", (*Shell).param},
		{[]string{":begin"}, "", "begin a transaction", func(s *Shell, ctx context.Context, _ string) { s.sql(ctx, "BEGIN") }},
		{[]string{":commit"}, "", "commit it", func(s *Shell, ctx context.Context, _ string) { s.sql(ctx, "COMMIT") }},
		{[]string{":rollback"}, "", "undo it", func(s *Shell, ctx context.Context, _ string) { s.sql(ctx, "ROLLBACK") }},
		{[]string{":cypher"}, "[STATEMENT]", "statements are Cypher, or run this one", (*Shell).cypher},
		{[]string{":sql"}, "[STATEMENT]", "statements are SQL, or run this one", (*Shell).toSQL},
		{[]string{":explain"}, "STATEMENT", "draw the plan of a statement", func(s *Shell, ctx context.Context, rest string) { s.run(ctx, "EXPLAIN "+rest) }},
		{[]string{":profile"}, "STATEMENT", "run a statement and draw its plan with counters", func(s *Shell, ctx context.Context, rest string) { s.run(ctx, "PROFILE "+rest) }},
		{[]string{":read", ":source", `\i`}, "FILE", "run the statements of a file", (*Shell).readFile},
		{[]string{":import"}, "[Label=]FILE …", "load CSV files, as hedgerow load does", (*Shell).importFiles},
		{[]string{":export"}, "FILE STATEMENT", "write a statement's result to a .csv or .json file", (*Shell).export},
		{[]string{":sample"}, "[PERSONS]", "load a small social network to try things on", (*Shell).sample},
		{[]string{":format", `\pset`}, "table|csv|json", "how results are printed", (*Shell).format},
		{[]string{":timing", `\timing`}, "[on|off]", "print how long statements take", (*Shell).timing},
		{[]string{":set"}, "NAME VALUE", "change a setting, as work_mem", (*Shell).set},
	}
}

// command answers a line that begins with a colon or a backslash.
func (s *Shell) command(ctx context.Context, line string) {
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSuffix(strings.TrimSpace(rest), ";")
	name = strings.ToLower(strings.TrimSuffix(name, ";"))
	for _, c := range commands {
		for _, n := range c.names {
			if n == name {
				c.run(s, ctx, rest)
				return
			}
		}
	}
	hint := ""
	for _, c := range commands {
		for _, n := range c.names {
			if hint == "" && len(n) > 3 && len(name) > 3 && nearly(name[1:], n[1:]) {
				hint = "; did you mean " + n + "?"
			}
		}
	}
	s.report(fmt.Errorf("there is no command %s%s; :help lists them", name, hint))
}

// nearly reports whether b begins with a, or one letter changed, added, missing or swapped with its neighbour makes a into b.
func nearly(a, b string) bool {
	if strings.HasPrefix(b, a) {
		return true
	}
	i, j := 0, 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	for j < len(a)-i && j < len(b)-i && a[len(a)-1-j] == b[len(b)-1-j] {
		j++
	}
	a, b = a[i:len(a)-j], b[i:len(b)-j]
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

func (s *Shell) help(context.Context, string) {
	for _, c := range commands {
		left := c.names[0]
		if c.args != "" {
			left += " " + c.args
		}
		also := ""
		for _, n := range c.names[1:] {
			if strings.HasPrefix(n, `\`) {
				also = "  (also " + n + ")"
			}
		}
		fmt.Fprintf(s.o.Out, "  %-24s %s%s\n", left, c.help, also)
	}
	fmt.Fprint(s.o.Out, "\nAnything else is a statement. It ends with a semicolon, or an empty line; Ctrl-C drops it, or stops it while it runs.\n")
}

func (s *Shell) schema(ctx context.Context, _ string) {
	sc, err := s.b.Schema(ctx)
	if err != nil {
		s.report(err)
		return
	}
	if len(sc.Labels)+len(sc.Types) == 0 {
		fmt.Fprintln(s.o.Out, "The graph is empty. :sample loads something to try, :import loads CSV files.")
		return
	}
	show := func(title string, list []hedgerow.Count, form string) {
		if len(list) > 0 {
			fmt.Fprintln(s.o.Out, title)
		}
		for _, c := range list {
			fmt.Fprintf(s.o.Out, "  %-32s %12d\n", fmt.Sprintf(form, c.Name), c.Count)
		}
	}
	show("Nodes", sc.Labels, ":%s")
	show("Relationships", sc.Types, "[:%s]")
	if len(sc.Keys) > 0 {
		fmt.Fprintln(s.o.Out, "Property keys\n  "+strings.Join(sc.Keys, ", "))
	}
	owner := func(label string, rel bool) string {
		if rel {
			return "()-[:" + label + "]-()"
		}
		return "(:" + label + ")"
	}
	if len(sc.Indexes) > 0 {
		fmt.Fprintln(s.o.Out, "Indexes")
		for _, ix := range sc.Indexes {
			kind := ""
			if ix.Unique {
				kind = " unique"
			}
			fmt.Fprintf(s.o.Out, "  %-32s %s (%s)%s\n", ix.Name, owner(ix.Label, ix.Relationship), strings.Join(ix.Keys, ", "), kind)
		}
	}
	if len(sc.Constraints) > 0 {
		fmt.Fprintln(s.o.Out, "Constraints")
		for _, c := range sc.Constraints {
			fmt.Fprintf(s.o.Out, "  %-32s %s (%s) IS %s\n", c.Name, owner(c.Label, c.Relationship), strings.Join(c.Keys, ", "), c.Kind)
		}
	}
}

func (s *Shell) graphs(ctx context.Context, _ string) {
	names, err := s.b.Graphs(ctx)
	if err != nil {
		s.report(err)
		return
	}
	for _, n := range names {
		mark := " "
		if n == s.b.Graph() {
			mark = "*"
		}
		fmt.Fprintln(s.o.Out, mark, n)
	}
	if len(names) == 0 {
		fmt.Fprintln(s.o.Out, "There is no graph yet; the first write makes one.")
	}
}

func (s *Shell) use(ctx context.Context, rest string) {
	if rest == "" {
		fmt.Fprintln(s.o.Out, s.b.Graph())
		return
	}
	names, err := s.b.Graphs(ctx)
	if err != nil {
		s.report(err)
		return
	}
	if rest != "main" && !slices.Contains(names, rest) { // main is made when it is first used
		s.report(fmt.Errorf("there is no graph %s; make it with :sql SELECT create_graph('%s')", rest, rest))
		return
	}
	if err := s.b.Set(ctx, "hedgerow.graph", rest); err != nil {
		s.report(err)
	}
}

// param evaluates an expression and keeps its value.
func (s *Shell) param(ctx context.Context, rest string) {
	name, text, ok := strings.Cut(rest, "=>")
	if !ok {
		name, text, ok = strings.Cut(rest, " ")
	}
	name = strings.TrimPrefix(strings.TrimSpace(name), "$")
	if rest == "" {
		names := make([]string, 0, len(s.exprs))
		for n := range s.exprs {
			names = append(names, n)
		}
		sort.Strings(names)
		for _, n := range names {
			fmt.Fprintf(s.o.Out, "%s => %s\n", n, s.exprs[n])
		}
		return
	}
	if !ok || name == "" {
		s.report(errors.New(":param takes NAME => EXPRESSION"))
		return
	}
	v, shown, err := s.b.Eval(ctx, strings.TrimSuffix(strings.TrimSpace(text), ";"), s.params)
	if err != nil {
		s.report(err)
		return
	}
	s.params[name], s.exprs[name] = v, shown
}

func (s *Shell) sql(ctx context.Context, text string) {
	lang := s.o.Lang
	s.o.Lang = hedgerow.SQL
	s.run(ctx, text)
	s.o.Lang = lang
}

func (s *Shell) toSQL(ctx context.Context, rest string) {
	if rest != "" {
		s.sql(ctx, rest)
		return
	}
	s.o.Lang = hedgerow.SQL
}

func (s *Shell) cypher(ctx context.Context, rest string) {
	lang := s.o.Lang
	s.o.Lang = hedgerow.Cypher
	if rest != "" {
		s.run(ctx, rest)
		s.o.Lang = lang
	}
}

func (s *Shell) importFiles(ctx context.Context, rest string) {
	args := words(rest)
	switch {
	case s.o.Import == nil:
		s.report(errors.New(":import is not available here"))
	case len(args) == 0:
		s.report(errors.New(":import takes files, as :import Person=people.csv KNOWS=knows.csv, and the options of hedgerow load"))
	case s.b.Status() != 'I':
		s.report(errors.New(":import has transactions of its own; :commit or :rollback first"))
	default:
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
		defer stop()
		if err := s.o.Import(ctx, args); err != nil {
			s.report(err)
		}
		s.learn(ctx)
	}
}

// words splits at white space outside quotes.
func words(s string) (out []string) {
	var b strings.Builder
	quote, begun := rune(0), false
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case quote == 0 && unicode.IsSpace(r):
			if begun {
				out = append(out, b.String())
				b.Reset()
				begun = false
			}
		default:
			b.WriteRune(r)
			begun = true
		}
	}
	if begun {
		out = append(out, b.String())
	}
	return out
}

func (s *Shell) export(ctx context.Context, rest string) {
	path, text, ok := strings.Cut(rest, " ")
	if !ok {
		s.report(errors.New(":export takes a file and a statement, as :export friends.csv MATCH … RETURN …"))
		return
	}
	var f Format
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		f = CSV
	case ".json", ".jsonl":
		f = JSON
	default:
		s.report(fmt.Errorf("the name of %s says no format; end it with .csv or .json", path))
		return
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	rows, err := s.b.Run(ctx, strings.TrimSuffix(strings.TrimSpace(text), ";"), s.o.Lang, s.params)
	if err != nil {
		s.report(err)
		return
	}
	out, err := os.Create(path)
	if err != nil {
		rows.Close()
		s.report(err)
		return
	}
	n, err := Print(out, rows, f, 0)
	if e := out.Close(); err == nil {
		err = e
	}
	if err != nil {
		s.report(err)
		return
	}
	fmt.Fprintf(s.o.Out, "%s written to %s\n", Plural(n, "row"), path)
}

func (s *Shell) sample(ctx context.Context, rest string) {
	persons := 500
	if rest != "" {
		n, err := strconv.Atoi(rest)
		if err != nil {
			s.report(errors.New(":sample takes a number of persons"))
			return
		}
		persons = n
	}
	if s.o.Sample == nil {
		s.report(errors.New(":sample is not available here"))
		return
	}
	if s.b.Status() != 'I' {
		s.report(errors.New(":sample has transactions of its own; :commit or :rollback first"))
		return
	}
	if err := s.o.Sample(ctx, persons); err != nil {
		s.report(err)
		return
	}
	s.learn(ctx)
	fmt.Fprintln(s.o.Out, "Try: MATCH (p:Person {name: 'Ada Lindqvist'})-[:KNOWS]-(f) RETURN f.name ORDER BY f.name LIMIT 5;")
}

func (s *Shell) format(_ context.Context, rest string) {
	rest = strings.TrimPrefix(rest, "format ")
	f, err := ParseFormat(rest)
	if err != nil {
		s.report(err)
		return
	}
	s.o.Format = f
}

func (s *Shell) timing(_ context.Context, rest string) {
	switch strings.ToLower(rest) {
	case "":
		s.o.Timing = !s.o.Timing
	case "on":
		s.o.Timing = true
	case "off":
		s.o.Timing = false
	default:
		s.report(fmt.Errorf(":timing takes on or off, not %s", rest))
		return
	}
	state := "off"
	if s.o.Timing {
		state = "on"
	}
	fmt.Fprintln(s.o.Out, "Timing is", state+".")
}

func (s *Shell) set(ctx context.Context, rest string) {
	name, v, ok := strings.Cut(rest, " ")
	if !ok {
		s.report(errors.New(":set takes a name and a value, as :set work_mem 64MB"))
		return
	}
	if err := s.b.Set(ctx, name, strings.Trim(strings.TrimSpace(v), "'")); err != nil {
		s.report(err)
	}
}
