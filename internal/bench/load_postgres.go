package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hedgerowdb/hedgerow/internal/csv"
)

// counted tells how much of a file has been read.
type counted struct {
	io.Reader
	done, total int64
	tell        func(done, total int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.done += int64(n)
	c.tell(c.done, c.total)
	return n, err
}

// table is a file of the network as a table.
type table struct {
	name    string // the file's name without its end
	edges   bool
	columns []string // in SQL's way of writing names
	types   []string
	keys    []string // as the file writes them
}

// header reads the first line of a file.
func header(path string, edges bool) (table, error) {
	t := table{name: strings.TrimSuffix(filepath.Base(path), ".csv"), edges: edges}
	f, err := os.Open(path)
	if err != nil {
		return t, err
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	for i, c := range strings.Split(strings.TrimSpace(line), "|") {
		name, kind, _ := strings.Cut(c, ":")
		column, sqlType := snake(name), "text"
		switch {
		case edges && i < 2:
			column, sqlType = []string{"src", "dst"}[i], "bigint"
		case name == "id" || kind == "int":
			sqlType = "bigint"
		}
		t.keys, t.columns, t.types = append(t.keys, name), append(t.columns, column), append(t.types, sqlType)
	}
	return t, nil
}

// snake writes firstName as first_name.
func snake(s string) string {
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(runes[i-1]) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// shortestFunction searches for the shortest way between two persons from both sides, a step at a time from the side with fewer persons.
const shortestFunction = `CREATE OR REPLACE FUNCTION bench_shortest(a bigint, b bigint, most int, undirected boolean) RETURNS int LANGUAGE plpgsql STABLE AS $$
DECLARE
  near bigint[] := ARRAY[a]; far bigint[] := ARRAY[b];
  near_seen bigint[] := near; far_seen bigint[] := far;
  steps int := 0;
BEGIN
  WHILE steps < most LOOP
    steps := steps + 1;
    IF cardinality(near) <= cardinality(far) THEN
      SELECT array_agg(v) INTO near FROM (
        (SELECT k.dst AS v FROM unnest(near) n JOIN knows k ON k.src = n UNION SELECT k.src FROM unnest(near) n JOIN knows k ON undirected AND k.dst = n)
        EXCEPT SELECT unnest(near_seen)) q;
      near_seen := near_seen || near;
    ELSE
      SELECT array_agg(v) INTO far FROM (
        (SELECT k.src AS v FROM unnest(far) n JOIN knows k ON k.dst = n UNION SELECT k.dst FROM unnest(far) n JOIN knows k ON undirected AND k.src = n)
        EXCEPT SELECT unnest(far_seen)) q;
      far_seen := far_seen || far;
    END IF;
    IF near IS NULL OR far IS NULL THEN RETURN NULL; END IF;
    IF EXISTS (SELECT FROM unnest(near) x JOIN unnest(far) y ON x = y) THEN RETURN steps; END IF;
  END LOOP;
  RETURN NULL;
END $$`

// more are columns that scenarios write and the files do not have.
var more = map[string]string{"person": ", nickname text", "post": ", note text"}

// loadSQL makes a table of every file: vertices with a primary key, edges with indexes from both ends.
func (t *postgres) loadSQL(ctx context.Context, n *Network, progress LoadProgress) error {
	c, err := t.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	exec := func(sql string) error {
		if err := c.Exec(ctx, sql).Close(); err != nil {
			return fmt.Errorf("%.80s: %w", sql, err)
		}
		return nil
	}
	if err := exec("BEGIN"); err != nil {
		return err
	}
	each := func(files []File, edges bool) error {
		for _, f := range files {
			path := filepath.Join(n.dir, f.Path)
			tab, err := header(path, edges)
			if err != nil {
				return err
			}
			defs := make([]string, len(tab.columns))
			for i := range defs {
				defs[i] = tab.columns[i] + " " + tab.types[i]
			}
			if err := exec("CREATE TABLE " + tab.name + " (" + strings.Join(defs, ", ") + more[tab.name] + ")"); err != nil {
				return fmt.Errorf("%w; the network is loaded into a database without tables of such names", err)
			}
			copyIn := "COPY " + tab.name + " (" + strings.Join(tab.columns, ", ") + ") FROM STDIN (FORMAT csv, DELIMITER '|', HEADER, QUOTE E'\\x01')"
			if err := copyFile(ctx, c, path, copyIn, progress); err != nil {
				return err
			}
			index := "ALTER TABLE " + tab.name + " ADD PRIMARY KEY (id)"
			if edges {
				index = "CREATE INDEX ON " + tab.name + " (src, dst); CREATE INDEX ON " + tab.name + " (dst, src)"
			}
			if err := exec(index); err != nil {
				return err
			}
		}
		return nil
	}
	if err := each(n.NodeFiles, false); err != nil {
		return err
	}
	if err := each(n.EdgeFiles, true); err != nil {
		return err
	}
	if err := exec(shortestFunction); err != nil {
		return err
	}
	if err := exec("COMMIT"); err != nil {
		return err
	}
	return exec("VACUUM ANALYZE")
}

func copyFile(ctx context.Context, c *pgconn.PgConn, path, sql string, progress LoadProgress) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	in := &counted{Reader: f, total: st.Size(), tell: func(done, total int64) {
		if progress != nil {
			progress(filepath.Base(path), done, total)
		}
	}}
	if _, err := c.CopyFrom(ctx, in, sql); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// loadAGE copies into the tables of AGE's labels, and makes the indexes that its users make: by id and by ends, and GIN on properties of vertices.
func (t *postgres) loadAGE(ctx context.Context, n *Network, progress LoadProgress) error {
	c, err := t.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	a := &ageLoader{c: c, graph: t.dsn.Graph, ids: map[string]map[string]int64{}, counts: map[string]int64{}, progress: progress}
	there, err := a.number(ctx, "SELECT count(*) FROM ag_graph WHERE name = "+quoted(a.graph))
	if err != nil {
		return err
	}
	if there > 0 {
		return fmt.Errorf("the graph %s exists already; drop it with: SELECT drop_graph('%[1]s', true)", a.graph)
	}
	if err := a.exec(ctx, "SELECT create_graph("+quoted(a.graph)+")"); err != nil {
		return err
	}
	for _, f := range n.NodeFiles {
		if err := a.nodes(ctx, f, filepath.Join(n.dir, f.Path)); err != nil {
			return err
		}
	}
	for _, f := range n.EdgeFiles {
		if err := a.edges(ctx, f, filepath.Join(n.dir, f.Path)); err != nil {
			return err
		}
	}
	for label := range a.counts {
		name := ident(a.graph, label)
		index := "CREATE INDEX ON " + name + " (start_id); CREATE INDEX ON " + name + " (end_id); CREATE UNIQUE INDEX ON " + name + " (id)"
		if _, vertices := a.ids[label]; vertices {
			index = "CREATE UNIQUE INDEX ON " + name + " (id); CREATE INDEX ON " + name + " USING gin (properties); " +
				"CREATE INDEX ON " + name + ` (agtype_access_operator(VARIADIC ARRAY[properties, '"id"'::agtype]))`
		}
		if err := a.exec(ctx, index+fmt.Sprintf("; SELECT setval(%s, %d)", quoted(ident(a.graph, label+"_id_seq")), a.counts[label])); err != nil {
			return err
		}
	}
	return a.exec(ctx, "VACUUM ANALYZE")
}

type ageLoader struct {
	c        *pgconn.PgConn
	graph    string
	ids      map[string]map[string]int64 // label → key → id
	counts   map[string]int64            // of each label
	progress LoadProgress
}

func (a *ageLoader) exec(ctx context.Context, sql string) error {
	if err := a.c.Exec(ctx, sql).Close(); err != nil {
		return fmt.Errorf("%.80s: %w", sql, err)
	}
	return nil
}

func (a *ageLoader) number(ctx context.Context, sql string) (int64, error) {
	res, err := a.c.Exec(ctx, sql).ReadAll()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(res[0].Rows[0][0]), 10, 64)
}

// label makes a label if it is new, and returns the part that its ids begin with.
func (a *ageLoader) label(ctx context.Context, name, create string) (int64, error) {
	if _, there := a.counts[name]; !there {
		if err := a.exec(ctx, "SELECT "+create+"("+quoted(a.graph)+", "+quoted(name)+")"); err != nil {
			return 0, err
		}
		a.counts[name] = 0
	}
	id, err := a.number(ctx, "SELECT l.id FROM ag_label l JOIN ag_graph g ON g.graphid = l.graph WHERE g.name = "+quoted(a.graph)+" AND l.name = "+quoted(name))
	return id << 48, err
}

func (a *ageLoader) nodes(ctx context.Context, f File, path string) error {
	label, _, _ := strings.Cut(f.Name, ":")
	first, err := a.label(ctx, label, "create_vlabel")
	if err != nil {
		return err
	}
	tab, err := header(path, false)
	if err != nil {
		return err
	}
	ids := map[string]int64{}
	a.ids[label] = ids
	return a.copy(ctx, path, "COPY "+ident(a.graph, label)+` (id, properties) FROM STDIN`, func(line []string, out *bufio.Writer) error {
		a.counts[label]++
		id := first | a.counts[label]
		ids[line[0]] = id
		fmt.Fprintf(out, "%d\t%s\n", id, copyText(properties(tab, line, 0)))
		return nil
	})
}

func (a *ageLoader) edges(ctx context.Context, f File, path string) error {
	first, err := a.label(ctx, f.Name, "create_elabel")
	if err != nil {
		return err
	}
	tab, err := header(path, true)
	if err != nil {
		return err
	}
	from, _, _ := strings.Cut(tab.keys[0], ".")
	to, _, _ := strings.Cut(tab.keys[1], ".")
	return a.copy(ctx, path, "COPY "+ident(a.graph, f.Name)+` (id, start_id, end_id, properties) FROM STDIN`, func(line []string, out *bufio.Writer) error {
		s, e := a.ids[from][line[0]], a.ids[to][line[1]]
		if s == 0 || e == 0 {
			return fmt.Errorf("%s: %v has an end that is not there", path, line)
		}
		a.counts[f.Name]++
		fmt.Fprintf(out, "%d\t%d\t%d\t%s\n", first|a.counts[f.Name], s, e, copyText(properties(tab, line, 2)))
		return nil
	})
}

// properties writes a line as an agtype map.
func properties(t table, line []string, from int) string {
	m := map[string]any{}
	for i := from; i < len(line); i++ {
		switch {
		case line[i] == "":
		case t.types[i] == "bigint":
			m[t.keys[i]] = json.Number(line[i])
		default:
			m[t.keys[i]] = line[i]
		}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		panic(err) // of strings and numbers nothing fails
	}
	return strings.TrimSpace(b.String())
}

// ident writes a name with its schema as an identifier of SQL.
func ident(schema, name string) string {
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	return quote(schema) + "." + quote(name)
}

// quoted writes a string of SQL.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func copyText(s string) string { return strings.ReplaceAll(s, `\`, `\\`) }

// copy turns the lines of a file into lines of COPY.
func (a *ageLoader) copy(ctx context.Context, path, sql string, line func(rec []string, out *bufio.Writer) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	in := &counted{Reader: f, total: st.Size(), tell: func(done, total int64) {
		if a.progress != nil {
			a.progress(filepath.Base(path), done, total)
		}
	}}
	r, err := csv.NewReader(in, csv.Options{Comma: '|'})
	if err != nil {
		return err
	}
	if _, err := r.Read(); err != nil {
		return err
	}
	pr, pw := io.Pipe()
	go func() {
		out := bufio.NewWriterSize(pw, 64<<10)
		for {
			rec, err := r.Read()
			if err == nil {
				err = line(rec, out)
			}
			if err == io.EOF {
				pw.CloseWithError(out.Flush())
				return
			}
			if err != nil {
				pw.CloseWithError(err)
				return
			}
		}
	}()
	_, err = a.c.CopyFrom(ctx, pr, sql)
	pr.Close() // ends the goroutine if the server refused
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
