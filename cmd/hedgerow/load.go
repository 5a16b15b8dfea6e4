package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/load"
	"github.com/hedgerowdb/hedgerow/internal/shell"
)

// loadFlags are what load and the shell's :import share.
type loadFlags struct {
	data, url, graph      string
	nodes, edges, columns []string
	delimiter, arrayDelim string
	batch                 int
	dryRun, noConstraint  bool
	skipMissing, noQuotes bool
	quiet                 bool
}

func loadCommand() *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "load (--data DIR | --url URL) [--nodes Label[:Label…]=FILE …] [--edges TYPE=FILE …] [FILE …]",
		Short: "Load nodes and relationships from CSV files",
		Long: `Load reads CSV files with a header line. A column is "name" or "name:type" (string, int, float, bool, date, time, datetime, …, with []
for a list); without a type it is inferred and printed. An empty field is null.

A node file's key is its column "id"; it is made unique unless --no-constraint is given. An edge file's first two columns say where its
ends are found, as Person.id. The header forms of neo4j-admin (:ID(Space), :START_ID, :END_ID, :LABEL, :TYPE, :IGNORE) work too. A file named
alone is a node file whose label is guessed from its name.`,
		Example: `  hedgerow load --data social.hedge --nodes Person=people.csv --edges KNOWS=knows.csv
  hedgerow load --data social.hedge people.csv
  hedgerow load --data w.hedge --nodes Place=place.csv --columns 'place.csv=id:int,name,type:LABEL(title)'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.nodes = append(f.nodes, args...)
			if (f.data == "") == (f.url == "") {
				return usage("load needs --data DIR or --url URL")
			}
			if len(f.nodes)+len(f.edges) == 0 {
				return usage("load needs at least one --nodes, --edges or file")
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt) // Ctrl-C undoes the open transaction and ends
			defer stop()
			return f.run(ctx, cmd.OutOrStdout(), nil)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.data, "data", "", "directory of the database; made if there is none")
	fl.StringVar(&f.url, "url", "", "server, as postgres://127.0.0.1:5433")
	fl.StringVar(&f.graph, "graph", "", `graph to load into (default "main")`)
	f.define(cmd)
	return cmd
}

func (f *loadFlags) define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVar(&f.nodes, "nodes", nil, "Label[:Label…]=FILE, a file of nodes")
	fl.StringArrayVar(&f.edges, "edges", nil, "TYPE=FILE, a file of relationships")
	fl.StringArrayVar(&f.columns, "columns", nil, "FILE=SPEC: types, renames (a=>b) and labels (type:LABEL(title)) of columns")
	fl.StringVar(&f.delimiter, "delimiter", "", `between fields; without it the header tells among , | ; and tab (\t)`)
	fl.StringVar(&f.arrayDelim, "array-delimiter", ";", "between the elements of a list")
	fl.IntVar(&f.batch, "batch", 0, "rows of a transaction; 0 makes each file one transaction")
	fl.BoolVar(&f.dryRun, "dry-run", false, "only say what would be done")
	fl.BoolVar(&f.noConstraint, "no-constraint", false, "make no constraints and indexes on keys")
	fl.BoolVar(&f.skipMissing, "skip-missing", false, "leave out relationships whose start or end is not there")
	fl.BoolVar(&f.noQuotes, "no-quotes", false, "a double quote is a character like any other")
	fl.BoolVar(&f.quiet, "quiet", false, "print only errors")
}

func (f *loadFlags) plan() (*load.Plan, error) {
	opt := load.Options{Batch: f.batch, ArrayDelimiter: f.arrayDelim, NoConstraint: f.noConstraint, SkipMissing: f.skipMissing, Quotes: !f.noQuotes, Columns: map[string]string{}}
	switch d := strings.ReplaceAll(f.delimiter, `\t`, "\t"); utf8.RuneCountInString(d) {
	case 0:
	case 1:
		opt.Delimiter, _ = utf8.DecodeRuneInString(d)
	default:
		return nil, usage("--delimiter takes one character, not %q", f.delimiter)
	}
	for _, c := range f.columns {
		file, spec, ok := strings.Cut(c, "=")
		if !ok {
			return nil, usage("--columns takes FILE=SPEC, not %q", c)
		}
		if opt.Columns[file] != "" {
			spec = opt.Columns[file] + "," + spec
		}
		opt.Columns[file] = spec
	}
	if f.batch < 0 {
		return nil, usage("--batch takes a number of rows, not %d", f.batch)
	}
	var nodes, edges []load.Spec
	for _, n := range f.nodes {
		s, err := load.ParseSpec(n, false)
		if err != nil {
			return nil, usageError{err}
		}
		nodes = append(nodes, s)
	}
	for _, e := range f.edges {
		s, err := load.ParseSpec(e, true)
		if err != nil {
			return nil, usageError{err}
		}
		edges = append(edges, s)
	}
	return load.NewPlan(nodes, edges, opt)
}

// run loads into target, or if it is nil into what the flags name.
func (f *loadFlags) run(ctx context.Context, out io.Writer, target load.Target) error {
	p, err := f.plan()
	if err != nil {
		return err
	}
	defer p.Close()
	if !f.quiet {
		fmt.Fprint(out, p.Describe())
	}
	if f.dryRun {
		return nil
	}
	switch {
	case target != nil:
	case f.url != "":
		r, err := load.Connect(ctx, f.url, f.graph)
		if err != nil {
			return err
		}
		defer r.Close()
		target = r
	default:
		db, err := hedgerow.Open(f.data, &hedgerow.Options{Graph: f.graph})
		if err != nil {
			return err
		}
		defer db.Close()
		target = &load.Embedded{DB: db}
	}
	progress, done := progressBars(os.Stderr, f.quiet)
	rep, err := p.Run(ctx, target, progress)
	done(err == nil)
	if err != nil {
		return err
	}
	if !f.quiet {
		for i, m := range rep.Missing {
			if i == 10 {
				break
			}
			fmt.Fprintln(out, "left out:", m)
		}
		rows := rep.Nodes + rep.Relationships
		fmt.Fprintf(out, "loaded %s and %s in %s (%.0f rows a second)", shell.Plural(int(rep.Nodes), "node"), shell.Plural(int(rep.Relationships), "relationship"), rep.Took.Round(time.Millisecond), float64(rows)/rep.Took.Seconds())
		if rep.MissingCount > 0 {
			fmt.Fprintf(out, ", left out %s without an end", shell.Plural(int(rep.MissingCount), "relationship"))
		}
		fmt.Fprintln(out)
	}
	return nil
}

// progressBars draws a bar a file on a terminal; elsewhere it is silent.
func progressBars(w *os.File, quiet bool) (load.Progress, func(ok bool)) {
	if quiet || !term.IsTerminal(int(w.Fd())) {
		return nil, func(bool) {}
	}
	p := mpb.New(mpb.WithOutput(w), mpb.WithWidth(48), mpb.WithRefreshRate(150*time.Millisecond))
	var bar *mpb.Bar
	var file *load.File
	return func(f *load.File, n int64) {
			if f != file {
				if bar != nil {
					bar.SetTotal(-1, true)
				}
				file = f
				bar = p.AddBar(max(1, f.Rows), mpb.BarRemoveOnComplete(),
					mpb.PrependDecorators(decor.Name(filepath.Base(f.Path)+" ")),
					mpb.AppendDecorators(decor.CountersNoUnit("%d / %d "), decor.AverageSpeed(0, "%.0f/s "), decor.AverageETA(decor.ET_STYLE_GO)))
			}
			bar.SetCurrent(n)
		}, func(ok bool) {
			if bar != nil {
				if ok {
					bar.SetTotal(-1, true)
				} else {
					bar.Abort(true)
				}
			}
			p.Wait()
		}
}
