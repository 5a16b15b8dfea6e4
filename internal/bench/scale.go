package bench

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/load"
)

// ScaleOptions say how costs are measured by size. The zero value of a field means what its comment says.
type ScaleOptions struct {
	Vertices   []int         // {10,000, 100,000, 1,000,000}
	Degree     int           // edges that begin at each vertex; 5
	Dir        string        // for databases and files, which are removed; "" is the system's directory for them
	Duration   time.Duration // of each measurement; 500 ms
	CacheBytes int64         // of the page cache; zero means as the database chooses
	Progress   func(vertices int, what string)
}

// ScaleReport is how costs grow.
type ScaleReport struct {
	Made    time.Time `json:"made"`
	Machine Machine   `json:"machine"`
	Degree  int       `json:"degree"`
	Sizes   []Scaled  `json:"sizes"`
	// Interrupted: sizes are missing, or figures of the last one.
	Interrupted bool `json:"interrupted,omitempty"`
}

// Scaled is the costs at one size. Times are nanoseconds.
type Scaled struct {
	Vertices, Edges int
	Load            time.Duration // of all files, with indexes
	VertexBytes     float64       // on disk after a clean stop, of a vertex with a key, a number and the unique index on the key
	EdgeBytes       float64       // on disk, of an edge with one property
	DiskBytes       int64
	Open            time.Duration // after a clean stop, to the answer of a first one-hop read
	CacheBytes      float64       // of an edge in the cache of neighbourhoods, both its ends
	Warm            time.Duration // of reading all neighbourhoods into that cache
	Costs           []Cost        // by state of what is cached, then by what was done
}

// Cost is what one statement costs at one size.
type Cost struct {
	State string        // of what is cached
	What  string        // "one hop"
	N     int64         // statements measured
	P50   time.Duration // of a statement
	Edges float64       // that a statement follows, on average; 0 if it is about none
	Edge  time.Duration // of one edge beyond what a statement without edges costs; 0 if it is about none
}

func (o ScaleOptions) withDefaults() ScaleOptions {
	if len(o.Vertices) == 0 {
		o.Vertices = []int{10_000, 100_000, 1_000_000}
	}
	o.Degree = cmp.Or(o.Degree, 5)
	o.Duration = cmp.Or(o.Duration, 500*time.Millisecond)
	if o.Progress == nil {
		o.Progress = func(int, string) {}
	}
	return o
}

// Scale loads random graphs of several sizes into databases in directories and measures what statements cost in this process, one after the other. A
// cancelled call returns what it has measured and no error.
func Scale(ctx context.Context, opt ScaleOptions) (*ScaleReport, error) {
	opt = opt.withDefaults()
	rep := &ScaleReport{Made: time.Now().UTC().Truncate(time.Second), Machine: thisMachine(orElse(opt.Dir, os.TempDir())), Degree: opt.Degree}
	for _, n := range opt.Vertices {
		if n < 100 {
			return nil, fmt.Errorf("bench: a graph of %d vertices is too small to measure; 100 is the least", n)
		}
		s := &scaler{opt: opt, out: Scaled{Vertices: n, Edges: n * opt.Degree}, rnd: rand.New(rand.NewPCG(uint64(n), 5))}
		err := s.run(ctx)
		if s.out.Load > 0 {
			rep.Sizes = append(rep.Sizes, s.out)
		}
		if ctx.Err() != nil {
			rep.Interrupted = true
			return rep, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%d vertices: %w", n, err)
		}
	}
	return rep, nil
}

// scaler measures one size.
type scaler struct {
	opt  ScaleOptions
	out  Scaled
	rnd  *rand.Rand
	dir  string
	db   *hedgerow.DB
	conn *hedgerow.Conn
}

func (s *scaler) run(ctx context.Context) (err error) {
	if s.dir, err = os.MkdirTemp(s.opt.Dir, "hedgerow-scale-"); err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)
	defer s.close()
	steps := []struct {
		what string
		do   func(context.Context) error
	}{{"load", s.load}, {"open", s.reopen}, {"reads, pages not yet in the cache", s.cold}, {"reads", s.reads}, {"writes", s.writes}}
	for _, step := range steps {
		s.opt.Progress(s.out.Vertices, step.what)
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *scaler) close() error {
	if s.db == nil {
		return nil
	}
	if s.conn != nil {
		s.conn.Close()
	}
	err := s.db.Close()
	s.db, s.conn = nil, nil
	return err
}

func (s *scaler) data() string { return filepath.Join(s.dir, "scale.hedge") }

func (s *scaler) open() (err error) {
	if s.db, err = hedgerow.Open(s.data(), &hedgerow.Options{CacheBytes: s.opt.CacheBytes, AnalyzeInterval: -1}); err != nil {
		return err
	}
	s.conn = s.db.Conn()
	return s.conn.Set("synchronous_commit", "off")
}

// size is what a closed database takes on disk, without its log, whose files are made in advance.
func (s *scaler) size() (sum int64, err error) {
	err = filepath.WalkDir(s.data(), func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if e.Name() == "wal" {
				return fs.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

// files writes the graph: every vertex has Degree edges to vertices drawn at random.
func (s *scaler) files() (nodes, edges string, err error) {
	nodes, edges = filepath.Join(s.dir, "n.csv"), filepath.Join(s.dir, "next.csv")
	write := func(path, header string, lines int, line func(w *bufio.Writer, i int)) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		w := bufio.NewWriterSize(f, 1<<20)
		fmt.Fprintln(w, header)
		for i := range lines {
			line(w, i)
		}
		if err := w.Flush(); err != nil {
			f.Close()
			return err
		}
		return f.Close()
	}
	err = write(nodes, "id|v", s.out.Vertices, func(w *bufio.Writer, i int) { fmt.Fprintf(w, "%d|%d\n", i+1, i%1000) })
	if err == nil {
		err = write(edges, "N.id|N.id|w", s.out.Edges, func(w *bufio.Writer, i int) {
			fmt.Fprintf(w, "%d|%d|%d\n", i/s.opt.Degree+1, s.rnd.IntN(s.out.Vertices)+1, i%100)
		})
	}
	return nodes, edges, err
}

// load loads vertices, then edges, and looks at what each took on disk.
func (s *scaler) load(ctx context.Context) error {
	nodes, edges, err := s.files()
	if err != nil {
		return err
	}
	if err := s.open(); err != nil { // an empty database has a size too
		return err
	}
	if err := s.close(); err != nil {
		return err
	}
	empty, err := s.size()
	if err != nil {
		return err
	}
	part := func(n, e []load.Spec) (int64, error) {
		plan, err := load.NewPlan(n, e, load.Options{Delimiter: '|'})
		if err != nil {
			return 0, err
		}
		defer plan.Close()
		if err := s.open(); err != nil {
			return 0, err
		}
		rep, err := plan.Run(ctx, &load.Embedded{DB: s.db, Async: true}, nil)
		if err != nil {
			return 0, err
		}
		s.out.Load += rep.Took
		if err := s.close(); err != nil {
			return 0, err
		}
		return s.size()
	}
	one, err := part([]load.Spec{{Names: []string{"N"}, File: nodes}}, nil)
	if err != nil {
		return err
	}
	all, err := part(nil, []load.Spec{{Names: []string{"NEXT"}, File: edges}})
	if err != nil {
		return err
	}
	s.out.VertexBytes = float64(one-empty) / float64(s.out.Vertices)
	s.out.EdgeBytes = float64(all-one) / float64(s.out.Edges)
	s.out.DiskBytes = all
	return nil
}

const oneHop = `MATCH (:N {id: $id})-[:NEXT]->(b:N) RETURN sum(b.v) AS s`

// reopen opens the database as a program that starts does.
func (s *scaler) reopen(ctx context.Context) error {
	began := time.Now()
	if err := s.open(); err != nil {
		return err
	}
	if err := s.do(ctx, oneHop, hedgerow.Params{"id": int64(s.out.Vertices / 2)}); err != nil {
		return err
	}
	s.out.Open = time.Since(began)
	return nil
}

func (s *scaler) do(ctx context.Context, text string, p hedgerow.Params) error {
	rows, err := s.conn.Run(ctx, text, hedgerow.Cypher, p)
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	return rows.Close()
}

// time runs a statement for a while, or a given number of times, with parameters that draw gives.
func (s *scaler) time(ctx context.Context, times int, text string, draw func(i int) hedgerow.Params) (*histogram, error) {
	h := &histogram{}
	start := time.Now()
	more := func(i int) bool {
		if times > 0 {
			return i < times
		}
		took := time.Since(start)
		return i == 0 || took < s.opt.Duration || i < 3 && took < 10*s.opt.Duration
	}
	for i := 0; more(i); i++ {
		p := draw(i)
		began := time.Now()
		if err := s.do(ctx, text, p); err != nil {
			return nil, err
		}
		h.add(time.Since(began))
	}
	return h, nil
}

func (s *scaler) vertex() int64 { return int64(s.rnd.IntN(s.out.Vertices)) + 1 }

func (s *scaler) anyVertex(int) hedgerow.Params { return hedgerow.Params{"id": s.vertex()} }

func (s *scaler) add(state, what string, h *histogram, edges float64, without time.Duration) {
	c := Cost{State: state, What: what, N: h.n, P50: h.quantile(0.5), Edges: edges}
	if edges > 0 {
		c.Edge = time.Duration(max(0, float64(c.P50-without)) / edges)
	}
	s.out.Costs = append(s.out.Costs, c)
}

// cold measures reads whose pages have not been asked for since the database was opened.
func (s *scaler) cold(ctx context.Context) error {
	h, err := s.time(ctx, min(200, s.out.Vertices/50), oneHop, s.anyVertex)
	if err == nil {
		s.add("opened just now", "one hop", h, 0, 0)
	}
	return err
}

// reads measures statements on warm pages: by the indexes alone, and by the cache of neighbourhoods.
func (s *scaler) reads(ctx context.Context) error {
	for _, state := range []struct{ name, set string }{{"indexes", "off"}, {"cache of neighbourhoods", "on"}} {
		if err := s.conn.Set("graph_cache", state.set); err != nil {
			return err
		}
		if state.set == "on" {
			if err := s.warm(ctx); err != nil {
				return err
			}
		}
		if err := s.readsIn(ctx, state.name); err != nil {
			return err
		}
	}
	return nil
}

// warm reads all neighbourhoods into memory and asks what they take there.
func (s *scaler) warm(ctx context.Context) error {
	s.opt.Progress(s.out.Vertices, "warming the cache of neighbourhoods")
	began := time.Now()
	rows, err := s.conn.Run(ctx, "CALL hedgerow.graphCache.warm('NEXT') YIELD bytes RETURN bytes", hedgerow.Cypher, nil)
	if err != nil {
		return err
	}
	for rows.Next() {
		bytes, _ := rows.Row().Values()[0].(int64)
		s.out.CacheBytes = float64(bytes) / float64(s.out.Edges)
	}
	s.out.Warm = time.Since(began)
	return rows.Close()
}

func (s *scaler) readsIn(ctx context.Context, state string) error {
	d := float64(s.opt.Degree)
	type read struct {
		what, text string
		edges      float64
		draw       func(int) hedgerow.Params
	}
	list := []read{
		{"point read", `MATCH (a:N {id: $id}) RETURN a.v AS v`, 0, s.anyVertex},
		{"one hop", oneHop, d, s.anyVertex},
		{"two hops, property of each end", `MATCH (:N {id: $id})-[:NEXT]->(:N)-[:NEXT]->(c:N) RETURN sum(c.v) AS s`, d + d*d, s.anyVertex},
		{"three hops, paths counted", `MATCH (:N {id: $id})-[:NEXT]->(:N)-[:NEXT]->(:N)-[:NEXT]->(c:N) RETURN count(c) AS n`, d + d*d + d*d*d, s.anyVertex},
		{"within three hops", `MATCH (:N {id: $id})-[:NEXT*1..3]->(c:N) RETURN count(DISTINCT c) AS n`, d + d*d + d*d*d, s.anyVertex},
		{"shortest path of two vertices", `MATCH (a:N {id: $id}), (b:N {id: $to}) MATCH p = shortestPath((a)-[:NEXT*]->(b)) RETURN length(p) AS n`, 0,
			func(int) hedgerow.Params { return hedgerow.Params{"id": s.vertex(), "to": s.vertex()} }},
		{"all edges with a property of their ends", `MATCH (a:N)-[:NEXT]->(b:N) RETURN sum(a.v - b.v) AS s`, float64(s.out.Edges), func(int) hedgerow.Params { return nil }},
	}
	point := time.Duration(0)
	for i, r := range list {
		s.opt.Progress(s.out.Vertices, state+": "+r.what)
		if r.edges < 1000 {
			// Warming up: plans, pages, and neighbourhoods that are cached when they are asked for.
			if _, err := s.time(ctx, 50, r.text, r.draw); err != nil {
				return err
			}
		}
		h, err := s.time(ctx, 0, r.text, r.draw)
		if err != nil {
			return err
		}
		if i == 0 {
			point = h.quantile(0.5)
		}
		s.add(state, r.what, h, r.edges, point)
	}
	return nil
}

// writes measures single changes, each in a transaction of its own that does not wait for the disk.
func (s *scaler) writes(ctx context.Context) error {
	pair := func(i int) hedgerow.Params {
		return hedgerow.Params{"a": s.vertex(), "b": s.vertex(), "w": int64(1000 + i)}
	}
	for _, w := range []struct {
		what, text string
		draw       func(int) hedgerow.Params
	}{
		{"CREATE of a vertex", `CREATE (:N {id: $id, v: 0})`, func(i int) hedgerow.Params { return hedgerow.Params{"id": base + int64(i)} }},
		{"CREATE of an edge, ends by key", `MATCH (a:N {id: $a}), (b:N {id: $b}) CREATE (a)-[:NEXT {w: $w}]->(b)`, pair},
		{"SET of a property", `MATCH (a:N {id: $a}) SET a.v = $w`, pair},
		{"MERGE of an edge that is not there", `MATCH (a:N {id: $a}), (b:N {id: $b}) MERGE (a)-[:NEXT {w: $w}]->(b)`, pair},
	} {
		s.opt.Progress(s.out.Vertices, w.what)
		h, err := s.time(ctx, 0, w.text, w.draw)
		if err != nil {
			return err
		}
		s.add("writes", w.what, h, 0, 0)
	}
	return nil
}

// JSON writes the report whole.
func (r *ScaleReport) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	return append(b, '\n'), err
}

// Markdown writes tables with a column for each size.
func (r *ScaleReport) Markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d processors, %s, %s; a fixed loop takes %s; %d edges begin at each vertex and end at vertices drawn at random.\n", r.Machine.System, r.Machine.Processors,
		r.Machine.Go, r.Made.Format("2006-01-02"), timeText(r.Machine.Loop), r.Degree)
	if r.Interrupted {
		b.WriteString("\n**Interrupted: these are the figures so far.**\n")
	}
	head := func(first string) {
		b.WriteString("\n| " + first + " |")
		for _, s := range r.Sizes {
			fmt.Fprintf(&b, " %s vertices |", thousands(s.Vertices))
		}
		b.WriteString("\n|---|" + strings.Repeat("---:|", len(r.Sizes)) + "\n")
	}
	line := func(name string, cell func(s Scaled) string) {
		b.WriteString("| " + name + " |")
		for _, s := range r.Sizes {
			b.WriteString(" " + cell(s) + " |")
		}
		b.WriteString("\n")
	}
	head("the database")
	line("edges", func(s Scaled) string { return thousands(s.Edges) })
	line("loading, rows a second", func(s Scaled) string { return thousands(int(float64(s.Vertices+s.Edges) / s.Load.Seconds())) })
	line("on disk, a vertex", func(s Scaled) string { return fmt.Sprintf("%.0f bytes", s.VertexBytes) })
	line("on disk, an edge", func(s Scaled) string { return fmt.Sprintf("%.0f bytes", s.EdgeBytes) })
	line("on disk, all but the log", func(s Scaled) string { return fmt.Sprintf("%.1f MB", float64(s.DiskBytes)/(1<<20)) })
	line("in the cache of neighbourhoods, an edge", func(s Scaled) string { return fmt.Sprintf("%.0f bytes", s.CacheBytes) })
	line("filling that cache, both directions", func(s Scaled) string { return timeText(s.Warm) })
	line("opening and the first one-hop read", func(s Scaled) string { return timeText(s.Open) })
	for _, state := range r.states() {
		head(state)
		for _, what := range r.whats(state) {
			line(what, func(s Scaled) string {
				c := s.cost(state, what)
				switch {
				case c == nil:
					return ""
				case c.Edge > 0:
					return fmt.Sprintf("%s (%s an edge)", timeText(c.P50), nanos(c.Edge))
				}
				return timeText(c.P50)
			})
		}
	}
	return []byte(b.String())
}

func nanos(d time.Duration) string {
	if d < 10*time.Microsecond {
		return fmt.Sprintf("%d ns", d)
	}
	return timeText(d)
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (s *Scaled) cost(state, what string) *Cost {
	for i := range s.Costs {
		if c := &s.Costs[i]; c.State == state && c.What == what {
			return c
		}
	}
	return nil
}

// states lists the states in the order in which they were measured.
func (r *ScaleReport) states() []string {
	return r.distinct(func(c Cost) string { return c.State })
}

func (r *ScaleReport) whats(state string) []string {
	return r.distinct(func(c Cost) string {
		if c.State != state {
			return ""
		}
		return c.What
	})
}

func (r *ScaleReport) distinct(of func(Cost) string) (out []string) {
	seen := map[string]bool{"": true}
	for _, s := range r.Sizes {
		for _, c := range s.Costs {
			if x := of(c); !seen[x] {
				seen[x] = true
				out = append(out, x)
			}
		}
	}
	return out
}
