package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow"
)

// Target is where the statements of a load go.
type Target interface {
	Begin(ctx context.Context) error
	Commit(ctx context.Context) error
	Rollback()
	// Query runs one Cypher statement and returns its rows.
	Query(ctx context.Context, cypher string, params map[string]any) ([][]any, error)
}

// Progress is told how far a file is. done counts rows.
type Progress func(f *File, done int64)

// Missing is a relationship whose end was not found.
type Missing struct {
	File  string
	Line  int
	Label string
	Key   string
	Value any
}

func (m Missing) String() string {
	return fmt.Sprintf("%s:%d: there is no (:%s {%s: %v})", m.File, m.Line, m.Label, m.Key, literal(m.Value))
}

func literal(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	if v == nil {
		return "null"
	}
	return fmt.Sprint(v)
}

// Report sums up a load.
type Report struct {
	Nodes, Relationships int64
	Missing              []Missing // the first hundred
	MissingCount         int64
	Took                 time.Duration
}

const (
	batchRows   = 1000
	keepMissing = 100
)

// Run loads the plan's files.
func (p *Plan) Run(ctx context.Context, t Target, progress Progress) (*Report, error) {
	rep, began := &Report{}, time.Now()
	defer func() { rep.Took = time.Since(began) }()
	for _, f := range p.Files {
		if err := p.constraints(ctx, t, f); err != nil {
			return rep, fmt.Errorf("%s: %w", f.Path, err)
		}
		l := &loader{plan: p, file: f, target: t, rep: rep, progress: progress}
		if err := l.run(ctx); err != nil {
			if l.open {
				t.Rollback()
			}
			return rep, err
		}
	}
	return rep, nil
}

// constraints makes the key of a node file unique for its first label, and findable by the others.
func (p *Plan) constraints(ctx context.Context, t Target, f *File) error {
	k := f.find(Key)
	if f.Edges || p.opt.NoConstraint || k == nil {
		return nil
	}
	for i, label := range f.Labels {
		text := fmt.Sprintf("CREATE INDEX IF NOT EXISTS FOR (n:%s) ON (n.%s)", quote(label), quote(k.Name))
		if i == 0 {
			text = fmt.Sprintf("CREATE CONSTRAINT IF NOT EXISTS FOR (n:%s) REQUIRE n.%s IS UNIQUE", quote(label), quote(k.Name))
		}
		if _, err := t.Query(ctx, text, nil); err != nil {
			return err
		}
	}
	return nil
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// loader writes one file.
type loader struct {
	plan     *Plan
	file     *File
	target   Target
	rep      *Report
	progress Progress

	open    bool
	pending int // rows since Begin
	done    int64
	missing int64
	groups  map[string]*group // rows by labels or type
	order   []*group
}

// group is a batch of rows with equal labels or type.
type group struct {
	labels []string
	rows   []any
	lines  []int
}

func (l *loader) run(ctx context.Context) error {
	r, err := l.plan.open(l.file.Path)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := r.c.Read(); err != nil {
		return fmt.Errorf("%s: %w", l.file.Path, err)
	}
	l.groups = map[string]*group{}
	n := 0
	for {
		rec, err := r.c.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", l.file.Path, err)
		}
		line, _ := r.c.FieldPos(0)
		if err := l.row(rec, line); err != nil {
			return fmt.Errorf("%s:%d: %w", l.file.Path, line, err)
		}
		if n++; n == batchRows {
			if err := l.flush(ctx); err != nil {
				return err
			}
			n = 0
		}
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	if l.missing > 0 && !l.plan.opt.SkipMissing {
		return l.missingError()
	}
	return l.commit(ctx)
}

func (l *loader) missingError() error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d relationships have no start or end", l.file.Path, l.missing)
	shown := 0
	for _, m := range l.rep.Missing {
		if m.File == l.file.Path && shown < 10 {
			fmt.Fprintf(&b, "\n  %s", m)
			shown++
		}
	}
	if l.missing > int64(shown) {
		fmt.Fprintf(&b, "\n  … and %d more", l.missing-int64(shown))
	}
	b.WriteString("\nNothing of this file was loaded. Load the nodes first, or leave such relationships out with --skip-missing.")
	return errors.New(b.String())
}

// row adds a record to its group: [key of start, key of end,] properties in column order.
func (l *loader) row(rec []string, line int) error {
	f := l.file
	labels := f.Labels
	if f.Edges {
		labels = []string{f.Type}
	}
	var vals []any
	var start, end any
	for i := range f.Columns {
		c := &f.Columns[i]
		s := l.plan.field(rec[i])
		if !utf8.ValidString(s) {
			return fmt.Errorf("column %s is not valid UTF-8", c.Header)
		}
		switch c.Role {
		case Ignore:
		case Labels:
			labels = append([]string(nil), labels...)
			for _, name := range strings.Split(s, l.plan.opt.ArrayDelimiter) {
				if name = withCase(name, c.Case); name != "" && !has(labels, name) {
					labels = append(labels, name)
				}
			}
		case Type:
			if s = strings.TrimSpace(s); s != "" {
				labels = []string{s}
			}
		default:
			v, err := c.parse(s, l.plan.opt.ArrayDelimiter)
			if err != nil {
				return fmt.Errorf("column %s: %w", c.Header, err)
			}
			switch c.Role {
			case Start:
				start = v
			case End:
				end = v
			default:
				vals = append(vals, v)
			}
		}
	}
	if len(labels) == 0 || labels[0] == "" {
		return errors.New("the row has no label or type")
	}
	if f.Edges {
		vals = append([]any{start, end}, vals...)
	}
	name := strings.Join(labels, "\x00")
	g := l.groups[name]
	if g == nil {
		g = &group{labels: labels}
		l.groups[name] = g
		l.order = append(l.order, g)
	}
	g.rows = append(g.rows, vals)
	g.lines = append(g.lines, line)
	return nil
}

func (l *loader) flush(ctx context.Context) error {
	for _, g := range l.order {
		if len(g.rows) == 0 {
			continue
		}
		if !l.open {
			if err := l.target.Begin(ctx); err != nil {
				return err
			}
			l.open = true
		}
		n := int64(len(g.rows))
		var err error
		if l.file.Edges {
			err = l.edges(ctx, g)
		} else {
			err = l.nodes(ctx, g)
		}
		if err != nil {
			return l.place(err, g)
		}
		l.pending += int(n)
		l.done += n
		g.rows, g.lines = g.rows[:0], g.lines[:0]
		if l.progress != nil {
			l.progress(l.file, l.done)
		}
	}
	if l.plan.opt.Batch > 0 && l.pending >= l.plan.opt.Batch {
		return l.commit(ctx)
	}
	return nil
}

func (l *loader) commit(ctx context.Context) error {
	if !l.open {
		return nil
	}
	l.open, l.pending = false, 0
	if err := l.target.Commit(ctx); err != nil {
		return fmt.Errorf("%s: %w", l.file.Path, err)
	}
	return nil
}

// place names the lines that an error comes from: the very one if the error's detail shows its key.
func (l *loader) place(err error, g *group) error {
	var e *hedgerow.Error
	if errors.As(err, &e) && e.Detail != "" {
		if i := l.keyIndex(); i >= 0 {
			for r, row := range g.rows {
				v := row.([]any)[i]
				if strings.Contains(e.Detail, "=("+fmt.Sprint(v)+")") || strings.Contains(e.Detail, "=("+literal(v)+")") {
					return fmt.Errorf("%s:%d: %w: %s", l.file.Path, g.lines[r], err, e.Detail)
				}
			}
		}
		err = fmt.Errorf("%w: %s", err, e.Detail)
	}
	return fmt.Errorf("%s, lines %d to %d: %w", l.file.Path, g.lines[0], g.lines[len(g.lines)-1], err)
}

// keyIndex returns the place of the key among a node row's values, or −1.
func (l *loader) keyIndex() int {
	n := 0
	for _, c := range l.file.Columns {
		switch c.Role {
		case Key:
			return n
		case Property:
			n++
		}
	}
	return -1
}

// props prints the property map of a row r whose values begin at element from.
func (l *loader) props(from int) string {
	var items []string
	for i := range l.file.Columns {
		c := &l.file.Columns[i]
		if c.Role == Property || c.Role == Key {
			items = append(items, quote(c.Name)+": "+c.cypher("r["+strconv.Itoa(from)+"]"))
			from++
		}
	}
	if len(items) == 0 {
		return ""
	}
	return " {" + strings.Join(items, ", ") + "}"
}

func (l *loader) nodes(ctx context.Context, g *group) error {
	var labels strings.Builder
	for _, name := range g.labels {
		labels.WriteString(":" + quote(name))
	}
	_, err := l.target.Query(ctx, "UNWIND $rows AS r CREATE (n"+labels.String()+l.props(0)+")", map[string]any{"rows": g.rows})
	if err == nil {
		l.rep.Nodes += int64(len(g.rows))
	}
	return err
}

func (l *loader) edges(ctx context.Context, g *group) error {
	s, e := l.file.find(Start), l.file.find(End)
	found, err := l.target.Query(ctx, fmt.Sprintf(
		"UNWIND range(0, size($rows) - 1) AS i WITH i, $rows[i] AS r OPTIONAL MATCH (a:%s {%s: %s}) OPTIONAL MATCH (b:%s {%s: %s}) RETURN i, id(a), id(b)",
		quote(s.Label), quote(s.KeyOf), s.cypher("r[0]"), quote(e.Label), quote(e.KeyOf), e.cypher("r[1]")), map[string]any{"rows": g.rows})
	if err != nil {
		return err
	}
	kept := make([]any, 0, len(found))
	for _, f := range found {
		i := int(f[0].(int64))
		row := g.rows[i].([]any)
		if f[1] == nil || f[2] == nil {
			l.miss(s, f[1], row[0], g.lines[i])
			if f[1] != nil {
				l.miss(e, f[2], row[1], g.lines[i])
			}
			l.missing++
			l.rep.MissingCount++
			continue
		}
		kept = append(kept, append([]any{f[1], f[2]}, row[2:]...))
	}
	if len(kept) == 0 || l.missing > 0 && !l.plan.opt.SkipMissing {
		return nil // the file will fail: go on only to find the other lines
	}
	_, err = l.target.Query(ctx, "UNWIND $rows AS r MATCH (a) WHERE id(a) = r[0] MATCH (b) WHERE id(b) = r[1] CREATE (a)-[:"+
		quote(g.labels[0])+l.props(2)+"]->(b)", map[string]any{"rows": kept})
	if err == nil {
		l.rep.Relationships += int64(len(kept))
	}
	return err
}

func (l *loader) miss(c *Column, id, v any, line int) {
	if id == nil && len(l.rep.Missing) < keepMissing {
		l.rep.Missing = append(l.rep.Missing, Missing{File: l.file.Path, Line: line, Label: c.Label, Key: c.KeyOf, Value: v})
	}
}
