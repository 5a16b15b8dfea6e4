package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Target is where the statements of a load go.
type Target interface {
	Begin(ctx context.Context) error
	Commit(ctx context.Context) error
	Rollback()
	// Query runs one Cypher statement, with a list as its parameter $1 if it is not null, and returns its rows, which are of numbers or null.
	Query(ctx context.Context, cypher string, rows value.Value) ([][]any, error)
}

// Progress is told how far a file is. done counts rows.
type Progress func(f *File, done int64)

// Missing is a relationship whose end was not found, or not told apart.
type Missing struct {
	File  string
	Line  int
	Label string
	Key   string
	Value string
	Found int64 // nodes found: none, or more than one
}

func (m Missing) String() string {
	if m.Found > 1 {
		return fmt.Sprintf("%s:%d: %d nodes are (:%s {%s: %s})", m.File, m.Line, m.Found, m.Label, m.Key, m.Value)
	}
	return fmt.Sprintf("%s:%d: there is no (:%s {%s: %s})", m.File, m.Line, m.Label, m.Key, m.Value)
}

// Report sums up a load.
type Report struct {
	Nodes, Relationships int64     // committed
	Missing              []Missing // the first hundred
	MissingCount         int64     // relationships left out
	Took                 time.Duration
}

const (
	batchRows   = 1000
	batchBytes  = 4 << 20
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
			if l.committed > 0 {
				err = fmt.Errorf("%w\nThe first %d rows of this file are loaded.", err, l.committed)
			}
			return rep, err
		}
	}
	if rep.Nodes+rep.Relationships > 0 {
		// The first query shall not have to wait for the background to learn what was loaded.
		if _, err := t.Query(ctx, "CALL hedgerow.analyze() YIELD count RETURN sum(count)", value.Value{}); err != nil {
			return rep, fmt.Errorf("everything is loaded, but statistics are not renewed: %w", err)
		}
	}
	return rep, nil
}

// constraints makes the key of a node file unique for the first label of each row, and findable by the others that the file has in common.
func (p *Plan) constraints(ctx context.Context, t Target, f *File) error {
	k := f.find(Key)
	if f.Edges || p.opt.NoConstraint || k == nil {
		return nil
	}
	for _, label := range f.first {
		text := fmt.Sprintf("CREATE CONSTRAINT IF NOT EXISTS FOR (n:%s) REQUIRE n.%s IS UNIQUE", quote(label), quote(k.Name))
		if _, err := t.Query(ctx, text, value.Value{}); err != nil {
			return err
		}
	}
	for _, label := range f.Labels {
		if slices.Contains(f.first, label) {
			continue
		}
		text := fmt.Sprintf("CREATE INDEX IF NOT EXISTS FOR (n:%s) ON (n.%s)", quote(label), quote(k.Name))
		if _, err := t.Query(ctx, text, value.Value{}); err != nil {
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

	open      bool
	pending   int64 // rows since Begin
	committed int64
	read      int64 // rows read
	made      int64 // nodes or relationships made since Begin
	missing   int64
	groups    map[string]*group // rows by labels or type
	order     []*group
	rows      int // in all groups
	bytes     int
}

// group is a batch of rows with equal labels or type. A row of nodes is its properties in the order of columns; one of relationships begins
// with its number in the batch and the keys of its start and end.
type group struct {
	names []string
	rows  []value.Value
	lines []int
}

func (l *loader) run(ctx context.Context) error {
	r, err := l.plan.open(l.file)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := r.Read(); err != nil {
		return fmt.Errorf("%s: %w", l.file.Path, err)
	}
	limit := batchRows
	if l.plan.opt.Batch > 0 {
		limit = min(limit, l.plan.opt.Batch)
	}
	l.groups = map[string]*group{}
	for {
		rec, err := r.Read()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = l.row(rec, r.Line())
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", l.file.Path, r.Line(), err)
		}
		if l.rows >= limit || l.bytes >= batchBytes {
			if err := l.flush(ctx); err != nil {
				return err
			}
		}
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	if l.failed() {
		return l.missingError()
	}
	return l.commit(ctx)
}

// failed reports that the file cannot be loaded any more because of missing ends.
func (l *loader) failed() bool { return l.missing > 0 && !l.plan.opt.SkipMissing }

func (l *loader) missingError() error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s without one start and one end", l.file.Path, plural(int(l.missing), "relationship"))
	shown := 0
	for _, m := range l.rep.Missing {
		if m.File == l.file.Path && shown < maxFaults {
			fmt.Fprintf(&b, "\n  %s", m)
			shown++
		}
	}
	if l.missing > int64(shown) {
		fmt.Fprintf(&b, "\n  … and %d more", l.missing-int64(shown))
	}
	if l.missing == l.read {
		s := l.file.find(Start)
		fmt.Fprintf(&b, "\nNo row has both: the keys were read as %s and %s; --columns gives other types.", s.Type, l.file.find(End).Type)
	}
	if l.committed == 0 {
		b.WriteString("\nNothing of this file was loaded.")
	}
	b.WriteString(" Load the nodes first, or leave such relationships out with --skip-missing.")
	return errors.New(b.String())
}

// row adds a record to its group. The file may have changed since the plan was made, so what was checked there is checked again.
func (l *loader) row(rec []string, line int) error {
	f := l.file
	if len(rec) != len(f.Columns) {
		return fmt.Errorf("the row has %s, the header %d", plural(len(rec), "field"), len(f.Columns))
	}
	names := l.plan.names(f, rec)
	if len(names) == 0 {
		return errors.New("the row has no label or type")
	}
	name := names[0]
	if len(names) > 1 {
		name = strings.Join(names, "\x00")
	}
	g := l.groups[name]
	if g == nil {
		g = &group{names: names}
		l.groups[name] = g
		l.order = append(l.order, g)
	}
	vals := make([]value.Value, 0, len(rec)+1)
	if f.Edges {
		vals = append(vals, value.NewInt(int64(len(g.rows))), value.Value{}, value.Value{})
	}
	for i := range f.Columns {
		c := &f.Columns[i]
		switch c.Role {
		case Ignore, Labels, Type:
			continue
		}
		v, err := c.parse(rec[i], l.plan.opt.ArrayDelimiter)
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Header, err)
		}
		switch c.Role {
		case Start:
			vals[1] = v
		case End:
			vals[2] = v
		default:
			vals = append(vals, v)
		}
	}
	row := value.NewList(vals...)
	g.rows = append(g.rows, row)
	g.lines = append(g.lines, line)
	l.rows++
	l.bytes += len(row.Raw())
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
		l.read += n
		var err error
		if l.file.Edges {
			err = l.edges(ctx, g)
		} else {
			err = l.nodes(ctx, g)
		}
		if err != nil {
			return l.place(err, g)
		}
		l.pending += n
		g.rows, g.lines = g.rows[:0], g.lines[:0]
		if l.progress != nil {
			l.progress(l.file, l.read)
		}
	}
	l.rows, l.bytes = 0, 0
	if l.plan.opt.Batch > 0 && l.pending >= int64(l.plan.opt.Batch) && !l.failed() {
		return l.commit(ctx)
	}
	return nil
}

func (l *loader) commit(ctx context.Context) error {
	if !l.open {
		return nil
	}
	l.open = false
	if err := l.target.Commit(ctx); err != nil {
		return fmt.Errorf("%s: %w", l.file.Path, err)
	}
	if l.file.Edges {
		l.rep.Relationships += l.made
	} else {
		l.rep.Nodes += l.made
	}
	l.committed += l.pending
	l.pending, l.made = 0, 0
	return nil
}

// place names the lines that an error comes from: the very one if it is a key that is there already.
func (l *loader) place(err error, g *group) error {
	var e *hedgerow.Error
	if i := l.keyIndex(); errors.As(err, &e) && e.SQLState == "23505" && i >= 0 {
		k := l.file.find(Key)
		seen := map[string]int{}
		for r, row := range g.rows {
			v := row.At(i)
			key := string(value.AppendTCK(nil, v))
			line, twice := seen[key]
			if !twice {
				seen[key] = g.lines[r]
				continue
			}
			return fmt.Errorf("%s:%d: (:%s {%s: %s}) is on line %d already: %w", l.file.Path, g.lines[r], g.names[0], k.Name, key, line, err)
		}
		for r, row := range g.rows {
			key := string(value.AppendTCK(nil, row.At(i)))
			if strings.Contains(e.Detail, "=("+key+")") {
				return fmt.Errorf("%s:%d: (:%s {%s: %s}) exists already: %w", l.file.Path, g.lines[r], g.names[0], k.Name, key, err)
			}
		}
	}
	lines := fmt.Sprintf("lines %d to %d", g.lines[0], g.lines[len(g.lines)-1])
	if len(g.lines) == 1 {
		lines = fmt.Sprintf("line %d", g.lines[0])
	}
	return fmt.Errorf("%s, %s: %w", l.file.Path, lines, err)
}

// keyIndex returns the place of the key among a node row's values, or −1.
func (l *loader) keyIndex() int {
	n := 0
	for _, c := range l.file.Columns {
		switch {
		case l.file.Edges:
		case c.Role == Key:
			return n
		case c.Role == Property:
			n++
		}
	}
	return -1
}

// props prints the property map of a row r whose properties begin at element from.
func (l *loader) props(from int) string {
	var items []string
	for i := range l.file.Columns {
		c := &l.file.Columns[i]
		if c.Role == Property || c.Role == Key {
			items = append(items, quote(c.Name)+": r["+strconv.Itoa(from)+"]")
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
	for _, name := range g.names {
		labels.WriteString(":" + quote(name))
	}
	_, err := l.target.Query(ctx, "UNWIND $1 AS r CREATE (n"+labels.String()+l.props(0)+")", value.NewList(g.rows...))
	if err == nil {
		l.made += int64(len(g.rows))
	}
	return err
}

// edges makes a batch of relationships in one statement that says how many rows found their ends. If that is not each row once, which is
// rare, the rows are looked at one by one (L2).
func (l *loader) edges(ctx context.Context, g *group) error {
	s, e := l.file.find(Start), l.file.find(End)
	rows := value.NewList(g.rows...)
	if len(s.labels()) == 1 && len(e.labels()) == 1 && !l.failed() {
		res, err := l.target.Query(ctx, fmt.Sprintf("UNWIND $1 AS r MATCH (a:%s {%s: r[1]}) MATCH (b:%s {%s: r[2]}) CREATE (a)-[:%s%s]->(b) RETURN count(*), count(DISTINCT r[0])",
			quote(s.labels()[0]), quote(s.KeyOf), quote(e.labels()[0]), quote(e.KeyOf), quote(g.names[0]), l.props(3)), rows)
		if err != nil {
			return err
		}
		made, distinct := res[0][0].(int64), res[0][1].(int64)
		l.made += made
		if made == int64(len(g.rows)) && distinct == made {
			return nil
		}
		_, err = l.look(ctx, g, rows, s, e)
		return err
	}
	kept, err := l.look(ctx, g, rows, s, e)
	if err != nil || len(kept) == 0 || l.failed() {
		return err // the file will fail: go on only to find the other lines
	}
	_, err = l.target.Query(ctx, "UNWIND $1 AS r MATCH (a) WHERE id(a) = r[1] MATCH (b) WHERE id(b) = r[2] CREATE (a)-[:"+
		quote(g.names[0])+l.props(3)+"]->(b)", value.NewList(kept...))
	if err == nil {
		l.made += int64(len(kept))
	}
	return err
}

// look finds the ends of a batch's rows one by one, reports those without, and returns the others with ids in place of keys.
func (l *loader) look(ctx context.Context, g *group, rows value.Value, s, e *Column) ([]value.Value, error) {
	find := func(c *Column, at int) ([][]int64, error) {
		out := make([][]int64, len(g.rows))
		for _, label := range c.labels() {
			res, err := l.target.Query(ctx, fmt.Sprintf("UNWIND $1 AS r MATCH (a:%s {%s: r[%d]}) RETURN r[0], id(a)", quote(label), quote(c.KeyOf), at), rows)
			if err != nil {
				return nil, err
			}
			for _, f := range res {
				i, id := f[0].(int64), f[1].(int64)
				if !slices.Contains(out[i], id) {
					out[i] = append(out[i], id)
				}
			}
		}
		return out, nil
	}
	starts, err := find(s, 1)
	if err != nil {
		return nil, err
	}
	ends, err := find(e, 2)
	if err != nil {
		return nil, err
	}
	var kept []value.Value
	for i, row := range g.rows {
		if len(starts[i]) == 1 && len(ends[i]) == 1 {
			vals := []value.Value{row.At(0), value.NewInt(starts[i][0]), value.NewInt(ends[i][0])}
			for k := 3; k < row.Len(); k++ {
				vals = append(vals, row.At(k))
			}
			kept = append(kept, value.NewList(vals...))
			continue
		}
		l.miss(s, len(starts[i]), row.At(1), g.lines[i])
		l.miss(e, len(ends[i]), row.At(2), g.lines[i])
		if l.plan.opt.SkipMissing && max(len(starts[i]), len(ends[i])) > 1 { // missing ends may be skipped, ends that are not told apart may not
			return nil, fmt.Errorf("an end of a relationship is not unique: %s", l.rep.Missing[len(l.rep.Missing)-1])
		}
		l.missing++
		l.rep.MissingCount++
	}
	return kept, nil
}

func (l *loader) miss(c *Column, found int, v value.Value, line int) {
	if found != 1 && (len(l.rep.Missing) < keepMissing || found > 1) {
		l.rep.Missing = append(l.rep.Missing, Missing{File: l.file.Path, Line: line, Label: strings.Join(c.labels(), "|"), Key: c.KeyOf,
			Value: string(value.AppendTCK(nil, v)), Found: int64(found)})
	}
}
