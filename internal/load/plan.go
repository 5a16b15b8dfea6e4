package load

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/csv"
)

// Options say how files are read and written.
type Options struct {
	Delimiter      rune              // zero: told from the header among , | tab ;
	ArrayDelimiter string            // "" means ;
	Columns        map[string]string // file (path or base name) → spec of --columns
	Batch          int               // rows of a transaction; zero: one transaction a file
	NoConstraint   bool              // make no unique constraints and indexes on keys
	SkipMissing    bool              // leave out relationships without an end instead of failing
	Quotes         bool              // fields may be quoted; off: a quote is a character like others
}

// File is a file to load.
type File struct {
	Path    string
	Labels  []string // of nodes: at least one, unless a column gives them
	Type    string   // of relationships
	Edges   bool
	Columns []Column
	Rows    int64
	Bytes   int64
	Guessed bool // the label was guessed from the file's name

	source string   // where it is read: Path, or a copy if that can be read only once
	first  []string // the first labels of its rows: under these their keys are unique and nodes are found
}

// Plan is what a load will do.
type Plan struct {
	Files []*File // nodes first
	opt   Options
	temp  []string
}

// Spec is one --nodes or --edges.
type Spec struct {
	Names   []string // labels, or the type
	File    string
	Guessed bool
}

// ParseSpec reads Label[:Label…]=FILE or TYPE=FILE. A file alone gets a label guessed from its name, unless a column gives labels.
func ParseSpec(s string, edges bool) (Spec, error) {
	names, file, ok := strings.Cut(s, "=")
	if !ok {
		if edges {
			return Spec{File: s}, nil
		}
		return Spec{Names: []string{LabelFromFile(s)}, File: s, Guessed: true}, nil
	}
	spec := Spec{File: file}
	if file == "" {
		return spec, fmt.Errorf("%s: the file is missing after the equals sign", s)
	}
	for _, n := range strings.Split(names, ":") {
		if n = strings.TrimSpace(n); n != "" && !slices.Contains(spec.Names, n) {
			spec.Names = append(spec.Names, n)
		}
	}
	if edges && len(spec.Names) > 1 {
		return spec, fmt.Errorf("%s: a relationship has one type", s)
	}
	return spec, nil
}

// NewPlan reads every file once, settles columns and types and checks every value (L5). Close must be called.
func NewPlan(nodes, edges []Spec, o Options) (*Plan, error) {
	if o.ArrayDelimiter == "" {
		o.ArrayDelimiter = ";"
	}
	p := &Plan{opt: o}
	used := map[string]bool{}
	for i, s := range slices.Concat(nodes, edges) {
		f := &File{Path: s.File, Edges: i >= len(nodes)}
		if f.Edges {
			if len(s.Names) > 0 {
				f.Type = s.Names[0]
			}
		} else {
			f.Labels, f.Guessed = s.Names, s.Guessed
		}
		if err := p.add(f, used); err != nil {
			p.Close()
			return nil, err
		}
	}
	for file := range o.Columns {
		if !used[file] {
			p.Close()
			return nil, fmt.Errorf("--columns names %s, which is not among the files", file)
		}
	}
	return p, nil
}

// Close removes the copies of files that could be read only once.
func (p *Plan) Close() {
	for _, path := range p.temp {
		os.Remove(path)
	}
	p.temp = nil
}

// reader reads the records of a file.
type reader struct {
	*csv.Reader
	f *os.File
}

func (r *reader) Close() { r.f.Close() }

func (p *Plan) open(f *File) (*reader, error) {
	in, err := os.Open(f.source)
	if err != nil {
		return nil, err
	}
	r, err := csv.NewReader(in, csv.Options{Comma: p.opt.Delimiter, Quotes: p.opt.Quotes})
	if err != nil {
		in.Close()
		return nil, err
	}
	return &reader{r, in}, nil
}

// add reads a file's header and all its rows once.
func (p *Plan) add(f *File, used map[string]bool) error {
	err := p.scan(f, used)
	var path *os.PathError
	var at *csv.Error
	switch {
	case err == nil:
		p.Files = append(p.Files, f)
		return nil
	case errors.As(err, &path):
		return err
	case errors.As(err, &at):
		text := at.Text
		if at.OpenQuote {
			text += "; give --no-quotes if quotes mean nothing in this file"
		}
		return fmt.Errorf("%s:%d: %s", f.Path, at.Line, text)
	}
	return fmt.Errorf("%s: %w", f.Path, err)
}

// regular makes sure that a file can be read twice: a pipe is copied first.
func (p *Plan) regular(f *File) error {
	st, err := os.Stat(f.Path)
	if err != nil {
		return err
	}
	if f.source, f.Bytes = f.Path, st.Size(); st.Mode().IsRegular() {
		return nil
	}
	if st.IsDir() {
		return errors.New("is a directory, not a file")
	}
	in, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp("", "hedgerow-load-*.csv")
	if err != nil {
		return err
	}
	p.temp = append(p.temp, out.Name())
	f.source = out.Name()
	if f.Bytes, err = io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// What a scan tells of one file at most.
const (
	maxFaults = 10
	maxLabels = 1000
)

func (p *Plan) scan(f *File, used map[string]bool) error {
	if err := p.regular(f); err != nil {
		return err
	}
	r, err := p.open(f)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := p.header(f, r, used); err != nil {
		return err
	}
	guesses := make([]guess, len(f.Columns))
	firsts := map[string]bool{}
	var faults []string
	count := 0
	fault := func(format string, args ...any) {
		if count++; count <= maxFaults {
			faults = append(faults, fmt.Sprintf("  %s:%d: ", f.Path, r.Line())+fmt.Sprintf(format, args...))
		}
	}
	for {
		rec, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		f.Rows++
		if len(rec) != len(f.Columns) {
			fault("the row has %s, the header %d", plural(len(rec), "field"), len(f.Columns))
			continue
		}
		for i, s := range rec {
			c := &f.Columns[i]
			switch {
			case c.Role == Ignore:
			case !utf8.ValidString(s):
				fault("column %s is not valid UTF-8", c.Header)
			case c.Role == Labels, c.Role == Type:
			case s == "" && (c.Role == Key || c.Role == Start || c.Role == End):
				fault("column %s is empty: %s", c.Header, map[Role]string{Key: "a node needs its key", Start: "the relationship has no start", End: "the relationship has no end"}[c.Role])
			case s == "":
			case c.Type == "":
				guesses[i].see(s)
			default:
				if _, err := c.parse(s, p.opt.ArrayDelimiter); err != nil {
					fault("column %s: %v", c.Header, err)
				}
			}
		}
		if names := p.names(f, rec); len(names) == 0 {
			fault("the row has no %s", map[bool]string{true: "type", false: "label"}[f.Edges])
		} else if !f.Edges && !firsts[names[0]] {
			if firsts[names[0]] = true; len(firsts) > maxLabels {
				return &csv.Error{Line: r.Line(), Text: fmt.Sprintf("more than %d different labels; is this the column of labels?", maxLabels)}
			}
			f.first = append(f.first, names[0])
		}
	}
	if f.first == nil && len(f.Labels) > 0 {
		f.first = f.Labels[:1]
	}
	if count > 0 {
		more := ""
		if count > maxFaults {
			more = fmt.Sprintf("\n  … and %d more", count-maxFaults)
		}
		return fmt.Errorf("%s; nothing was loaded\n%s%s", plural(count, "fault"), strings.Join(faults, "\n"), more)
	}
	for i := range f.Columns {
		if c := &f.Columns[i]; c.Type == "" {
			if c.Type = guesses[i].result(); c.Type == "string" && c.Role == Property {
				c.hint = guesses[i].hint()
			}
		}
	}
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// names returns the labels of a row of nodes, or the type of a relationship.
func (p *Plan) names(f *File, rec []string) []string {
	names := f.Labels
	if f.Edges {
		if names = nil; f.Type != "" {
			names = []string{f.Type}
		}
	}
	for i := range f.Columns {
		switch c := &f.Columns[i]; c.Role {
		case Labels:
			names = slices.Clone(names)
			for _, n := range strings.Split(rec[i], p.opt.ArrayDelimiter) {
				if n = withCase(n, c.Case); n != "" && !slices.Contains(names, n) {
					names = append(names, n)
				}
			}
		case Type:
			if s := strings.TrimSpace(rec[i]); s != "" {
				names = []string{s}
			}
		}
	}
	return names
}

// header reads the first line and settles what the columns are for.
func (p *Plan) header(f *File, r *reader, used map[string]bool) error {
	head, err := r.Read()
	if err == io.EOF {
		return errors.New("the file is empty; its first line must name the columns")
	}
	if err != nil {
		return err
	}
	for _, cell := range head {
		if !utf8.ValidString(cell) {
			return errors.New("the header is not valid UTF-8")
		}
		c, err := parseColumn(cell)
		if err != nil {
			return err
		}
		f.Columns = append(f.Columns, c)
	}
	for _, name := range []string{f.Path, filepath.Base(f.Path)} {
		if spec, ok := p.opt.Columns[name]; ok {
			used[name] = true
			if err := apply(f.Columns, spec); err != nil {
				return fmt.Errorf("--columns: %w", err)
			}
			break
		}
	}
	for i := range f.Columns {
		if c := &f.Columns[i]; c.List && c.Type == "" {
			c.Type = "string"
		}
	}
	if err := f.ends(); err != nil {
		return err
	}
	if err := f.roles(); err != nil {
		return err
	}
	return p.resolve(f)
}

// ends finds the columns of a relationship's ends: neo4j-admin's, else the first two, named Label.key.
func (f *File) ends() error {
	if !f.Edges || f.find(Start) != nil || f.find(End) != nil {
		return nil
	}
	if len(f.Columns) < 2 {
		return errors.New("a file of relationships needs two columns that name their ends, as Person.id")
	}
	for i, role := range []Role{Start, End} {
		c := &f.Columns[i]
		label, key, ok := strings.Cut(c.Name, ".")
		if !ok || label == "" || key == "" {
			return fmt.Errorf("column %d, %q, must say where the relationship's end is found, as Person.id; name it so, or give --columns '%s=%s=>Person.id'",
				i+1, c.Header, filepath.Base(f.Path), c.Header)
		}
		c.Role, c.Label, c.KeyOf = role, label, key
	}
	return nil
}

// roles checks what the columns are for.
func (f *File) roles() error {
	count := map[Role]int{}
	names := map[string]bool{}
	for i := range f.Columns {
		c := &f.Columns[i]
		if !f.Edges && c.Role == Property && c.Name == "id" && f.find(Key) == nil {
			c.Role = Key
		}
		count[c.Role]++
		if c.Role == Property || c.Role == Key {
			if c.Name == "" {
				return fmt.Errorf("column %d has no name", i+1)
			}
			if names[c.Name] {
				return fmt.Errorf("two columns are named %q; rename one, as with --columns '%s=%s=>other'", c.Name, filepath.Base(f.Path), c.Header)
			}
			names[c.Name] = true
		}
		if c.List && c.Role != Property {
			return fmt.Errorf("column %q cannot be a list", c.Header)
		}
	}
	if f.Guessed && count[Labels] > 0 {
		f.Labels, f.Guessed = nil, false // a column says better
	}
	switch {
	case f.Edges && (count[Start] != 1 || count[End] != 1):
		return errors.New("a file of relationships needs one column for the start and one for the end")
	case f.Edges && f.Type == "" && count[Type] == 0:
		return errors.New("no type given: use --edges TYPE=FILE, or a column with :TYPE")
	case f.Edges && count[Key]+count[Labels] > 0:
		return errors.New("a file of relationships has no :ID or :LABEL column; load files of nodes with --nodes")
	case !f.Edges && count[Start]+count[End]+count[Type] > 0:
		return errors.New("a file of nodes has no :START_ID, :END_ID or :TYPE column; load files of relationships with --edges")
	case !f.Edges && count[Key] > 1:
		return errors.New("a node has one key; two columns are :ID")
	case !f.Edges && len(f.Labels) == 0 && count[Labels] == 0:
		return errors.New("no label given: use --nodes Label=FILE, or a column with :LABEL")
	}
	return nil
}

func (f *File) find(r Role) *Column {
	for i := range f.Columns {
		if f.Columns[i].Role == r {
			return &f.Columns[i]
		}
	}
	return nil
}

// resolve gives a relationship's ends the label, key and type of the node files that were read before: by neo4j-admin's space, or by name.
func (p *Plan) resolve(f *File) error {
	for i := range f.Columns {
		c := &f.Columns[i]
		if c.Role != Start && c.Role != End {
			continue
		}
		bySpace := c.Label == ""
		for _, n := range p.Files {
			k := n.find(Key)
			if n.Edges || k == nil {
				continue
			}
			if bySpace && k.Space == c.Space {
				for _, l := range n.first {
					if !slices.Contains(c.owners, l) {
						c.owners = append(c.owners, l)
					}
				}
				c.KeyOf = k.Name
			}
			here := slices.Contains(n.Labels, c.Label) || slices.Contains(n.first, c.Label)
			if !c.Given && (bySpace && k.Space == c.Space || here && c.KeyOf == k.Name) {
				c.Type = k.Type
			}
		}
		if len(c.labels()) == 0 {
			space := ":ID"
			if c.Space != "" {
				space = ":ID(" + c.Space + ")"
			}
			return fmt.Errorf("column %q: no file of nodes has %s; for nodes that are there already name the column by label and key, as Person.id", strings.TrimPrefix(c.Name+":"+role(c.Role), ":"), space)
		}
	}
	return nil
}

func role(r Role) string { return map[Role]string{Start: "START_ID", End: "END_ID"}[r] }

// Describe prints what the plan will do, a line a file, and what it noticed.
func (p *Plan) Describe() string {
	var b strings.Builder
	for _, f := range p.Files {
		cols := make([]string, len(f.Columns))
		for i, c := range f.Columns {
			cols[i] = c.Describe()
		}
		what := plural(int(f.Rows), "node")
		if f.Edges {
			what = plural(int(f.Rows), "relationship")
			if f.Type != "" {
				what += " :" + f.Type
			}
		} else if len(f.Labels) > 0 {
			what += " :" + strings.Join(f.Labels, ":")
		}
		if f.Guessed {
			what += " (label guessed from the file's name)"
		}
		fmt.Fprintf(&b, "%s: %s\n    %s\n", f.Path, what, strings.Join(cols, ", "))
		for _, c := range f.Columns {
			if c.hint != "" {
				fmt.Fprintf(&b, "    %s looks like a %s; to store it as one: --columns '%s=%s:%s'\n", c.Name, c.hint, filepath.Base(f.Path), c.Header, c.hint)
			}
		}
	}
	return b.String()
}
