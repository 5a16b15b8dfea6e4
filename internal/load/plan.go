package load

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
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
}

// Plan is what a load will do.
type Plan struct {
	Files []*File // nodes first
	opt   Options
}

// NewPlan reads every file once and settles columns and types.
func NewPlan(nodes, edges []Spec, o Options) (*Plan, error) {
	if o.ArrayDelimiter == "" {
		o.ArrayDelimiter = ";"
	}
	p := &Plan{opt: o}
	used := map[string]bool{}
	for _, s := range nodes {
		f := &File{Path: s.File, Labels: s.Names, Guessed: s.Guessed}
		if err := p.add(f, used); err != nil {
			return nil, err
		}
	}
	for _, s := range edges {
		f := &File{Path: s.File, Edges: true}
		if len(s.Names) > 0 {
			f.Type = s.Names[0]
		}
		if err := p.add(f, used); err != nil {
			return nil, err
		}
	}
	for file := range o.Columns {
		if !used[file] {
			return nil, fmt.Errorf("--columns names %s, which is not among the files", file)
		}
	}
	return p, p.resolveSpaces()
}

// Spec is one --nodes or --edges.
type Spec struct {
	Names   []string // labels, or the type
	File    string
	Guessed bool
}

// ParseSpec reads Label[:Label…]=FILE or TYPE=FILE. A file alone gets a label guessed from its name.
func ParseSpec(s string, edges bool) (Spec, error) {
	names, file, ok := strings.Cut(s, "=")
	if !ok {
		if edges {
			return Spec{File: s}, nil
		}
		return Spec{Names: []string{LabelFromFile(s)}, File: s, Guessed: true}, nil
	}
	spec := Spec{File: file}
	for _, n := range strings.Split(names, ":") {
		if n = strings.TrimSpace(n); n != "" {
			spec.Names = append(spec.Names, n)
		}
	}
	if edges && len(spec.Names) > 1 {
		return spec, fmt.Errorf("%s: a relationship has one type", s)
	}
	return spec, nil
}

// reader opens a file after its byte order mark.
type reader struct {
	f *os.File
	c *csv.Reader
}

func (r *reader) Close() { r.f.Close() }

func (p *Plan) open(path string) (*reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	b := bufio.NewReaderSize(f, 256<<10)
	if mark, _ := b.Peek(3); string(mark) == "\uFEFF" {
		b.Discard(3)
	}
	delimiter := p.opt.Delimiter
	if delimiter == 0 {
		head, _ := b.Peek(4096)
		delimiter = sniff(string(head))
	}
	var in io.Reader = b
	if !p.opt.Quotes {
		in = &quoter{in: b}
	}
	c := csv.NewReader(in)
	c.Comma, c.ReuseRecord, c.LazyQuotes = delimiter, true, true
	return &reader{f: f, c: c}, nil
}

// sniff finds the delimiter that the header uses most.
func sniff(head string) rune {
	line, _, _ := strings.Cut(head, "\n")
	best, n := ',', 0
	for _, d := range ",|\t;" {
		if k := strings.Count(line, string(d)); k > n {
			best, n = d, k
		}
	}
	return best
}

// quoter doubles and wraps nothing: it hides quotes from the CSV reader by replacing them with a private character.
type quoter struct {
	in   *bufio.Reader
	left []byte
}

const hiddenQuote = "\uE000"

func (q *quoter) Read(b []byte) (n int, err error) {
	for n < len(b) {
		if len(q.left) > 0 {
			k := copy(b[n:], q.left)
			n, q.left = n+k, q.left[k:]
			continue
		}
		c, err := q.in.ReadByte()
		if err != nil {
			if n > 0 {
				return n, nil
			}
			return 0, err
		}
		if c == '"' {
			q.left = []byte(hiddenQuote)
			continue
		}
		b[n] = c
		n++
	}
	return n, nil
}

func (p *Plan) field(s string) string {
	if !p.opt.Quotes && strings.Contains(s, hiddenQuote) {
		return strings.ReplaceAll(s, hiddenQuote, `"`)
	}
	return s
}

// add reads a file's header and all its rows once.
func (p *Plan) add(f *File, used map[string]bool) error {
	if err := p.scan(f, used); err != nil {
		var e *os.PathError
		if errors.As(err, &e) {
			return err
		}
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	p.Files = append(p.Files, f)
	return nil
}

func (p *Plan) scan(f *File, used map[string]bool) error {
	r, err := p.open(f.Path)
	if err != nil {
		return err
	}
	defer r.Close()
	if st, err := r.f.Stat(); err == nil {
		f.Bytes = st.Size()
	}
	head, err := r.c.Read()
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
		c, err := parseColumn(p.field(cell))
		if err != nil {
			return err
		}
		f.Columns = append(f.Columns, c)
	}
	if err := f.ends(); err != nil {
		return err
	}
	for _, name := range []string{f.Path, filepath.Base(f.Path)} {
		if spec, ok := p.opt.Columns[name]; ok {
			used[name] = true
			if err := apply(f.Columns, spec); err != nil {
				return fmt.Errorf("--columns: %w", err)
			}
		}
	}
	if err := f.roles(); err != nil {
		return err
	}
	guesses := make([]guess, len(f.Columns))
	for {
		rec, err := r.c.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		f.Rows++
		for i, s := range rec {
			if i < len(guesses) && f.Columns[i].Type == "" && s != "" {
				guesses[i].see(s)
			}
		}
	}
	for i := range f.Columns {
		if c := &f.Columns[i]; c.Type == "" {
			c.Type = guesses[i].result()
			if c.List {
				c.Type = "string"
			}
		}
	}
	return nil
}

// ends finds the columns of a relationship's ends: neo4j-admin's, else the first two, named Label.key.
func (f *File) ends() error {
	if !f.Edges {
		return nil
	}
	for _, c := range f.Columns {
		if c.Role == Start || c.Role == End {
			return nil
		}
	}
	if len(f.Columns) < 2 {
		return errors.New("a file of relationships needs two columns that name their ends, as Person.id")
	}
	for i, role := range []Role{Start, End} {
		c := &f.Columns[i]
		label, key, ok := strings.Cut(c.Header, ".")
		if !ok || label == "" || key == "" {
			return fmt.Errorf("column %d, %q, must say where the relationship's end is found, as Person.id", i+1, c.Header)
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
		if !f.Edges && c.Role == Property && c.Name == "id" && !f.has(Key) {
			c.Role = Key
		}
		count[c.Role]++
		if c.Role == Property || c.Role == Key {
			if c.Name == "" {
				return fmt.Errorf("column %d has no name", i+1)
			}
			if names[c.Name] {
				return fmt.Errorf("two columns are named %q; rename one with --columns %q", c.Name, c.Header+"=>other")
			}
			names[c.Name] = true
		}
	}
	switch {
	case f.Edges && (count[Start] != 1 || count[End] != 1):
		return errors.New("a file of relationships needs one column for the start and one for the end")
	case f.Edges && f.Type == "" && count[Type] == 0:
		return errors.New("no type given: use --edges TYPE=FILE, or a column with :TYPE")
	case !f.Edges && len(f.Labels) == 0 && count[Labels] == 0:
		return errors.New("no label given: use --nodes Label=FILE, or a column with :LABEL")
	}
	return nil
}

func (f *File) has(r Role) bool {
	for _, c := range f.Columns {
		if c.Role == r {
			return true
		}
	}
	return false
}

func (f *File) find(r Role) *Column {
	for i := range f.Columns {
		if f.Columns[i].Role == r {
			return &f.Columns[i]
		}
	}
	return nil
}

// resolveSpaces gives neo4j-admin's :START_ID(Space) the label and key of the node file with that :ID(Space), and keys their types.
func (p *Plan) resolveSpaces() error {
	for _, f := range p.Files {
		if !f.Edges {
			continue
		}
		for i := range f.Columns {
			c := &f.Columns[i]
			if c.Role != Start && c.Role != End {
				continue
			}
			for _, n := range p.Files {
				k := n.find(Key)
				if n.Edges || k == nil {
					continue
				}
				if c.Label == "" && k.Space == c.Space && len(n.Labels) > 0 {
					c.Label, c.KeyOf = n.Labels[0], k.Name
				}
				if has(n.Labels, c.Label) && c.KeyOf == k.Name && !c.Given {
					c.Type = k.Type
				}
			}
			if c.Label == "" {
				return fmt.Errorf("%s: column %q: no file of nodes has :ID(%s)", f.Path, c.Header, c.Space)
			}
		}
	}
	return nil
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// Describe prints what the plan will do, a line a file.
func (p *Plan) Describe() string {
	var b strings.Builder
	for _, f := range p.Files {
		cols := make([]string, len(f.Columns))
		for i, c := range f.Columns {
			cols[i] = c.Describe()
		}
		what := "nodes :" + strings.Join(f.Labels, ":")
		if f.Edges {
			what = "relationships :" + f.Type
		}
		if f.Guessed {
			what += " (label guessed from the file's name)"
		}
		fmt.Fprintf(&b, "%s: %d %s\n    %s\n", f.Path, f.Rows, what, strings.Join(cols, ", "))
	}
	return b.String()
}
