package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/hedgerowdb/hedgerow/internal/bench"
)

func benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure graph databases, this one among them, on one social network",
		Long: `Bench makes a social network of any size, loads it into databases, asks all of them the same questions in turns, and reports rates, times and ratios.
Answers are compared before anything is timed. Targets are named by DSNs:

  embedded:DIR                                Hedgerow in this process; "embedded:" alone is a database in memory
  hedgerow://HOST:5433/GRAPH                  Hedgerow over PostgreSQL's protocol, through cypher() with parameters
  bolt://[USER:PASSWORD@]HOST:7687/DATABASE   Hedgerow, Neo4j and others over Bolt; also neo4j:// and bolt+s://
  age://HOST:5432/DATABASE?graph=NAME         Apache AGE on PostgreSQL
  postgres://HOST:5432/DATABASE               plain SQL on PostgreSQL, hand-written

NAME=DSN gives a target a name. Options follow a question mark: pid=N is the server's process, whose memory is watched; literals=true sends parameters
pasted into the text.`,
		Example: `  hedgerow bench generate --sf 1 --out net
  hedgerow bench load --in net --target postgres://127.0.0.1/bench
  hedgerow bench run --in net --load --target embedded: --report result
  hedgerow bench run --in net --target hedgerow://127.0.0.1:5433/main --target postgres://127.0.0.1/bench --connections 1,4`,
	}
	cmd.AddCommand(benchGenerate(), benchLoad(), benchRun(), benchList(), benchReport(), benchScale())
	return cmd
}

func benchGenerate() *cobra.Command {
	var scale float64
	var out string
	var seed uint64
	var quiet bool
	cmd := &cobra.Command{
		Use:   "generate --out DIR [--sf N]",
		Short: "Write a social network as CSV files, the same for the same size and seed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usage("bench generate needs --out DIR")
			}
			bar, done := benchBar(quiet)
			files := 0
			n, err := bench.Generate(out, scale, seed, func(file string, rows int) {
				files++
				bar(fmt.Sprintf("%s (%d rows)", file, rows), int64(files), 22)
			})
			done(err == nil)
			if err != nil {
				return err
			}
			if !quiet {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %d persons, %d organisations, %d tags, %d forums, %d posts, %d comments; %d vertices and %d edges\n",
					out, n.Persons, n.Organisations, n.Tags, n.Forums, n.Posts, n.Comments, n.Vertices, n.Edges)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.Float64Var(&scale, "sf", 1, "scale: 2000 persons each")
	fl.StringVar(&out, "out", "", "directory for the files; made if there is none")
	fl.Uint64Var(&seed, "seed", demoSeed, "of the draw")
	fl.BoolVar(&quiet, "quiet", false, "print only errors")
	return cmd
}

// benchTargets are the flags that load and run share.
type benchTargets struct {
	in      string
	targets []string
	sync    bool
	quiet   bool
}

func (f *benchTargets) define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.in, "in", "", "directory that bench generate has written")
	fl.StringArrayVar(&f.targets, "target", nil, "[NAME=]DSN of a database; the first is what ratios are to")
	fl.BoolVar(&f.sync, "sync", false, "commits wait for the disk; else they do not, where a target can be told so")
	fl.BoolVar(&f.quiet, "quiet", false, "print only errors, and reports")
}

func (f *benchTargets) open() (*bench.Network, []bench.Opened, error) {
	if f.in == "" {
		return nil, nil, usage("--in DIR is missing: the network, made by hedgerow bench generate")
	}
	if len(f.targets) == 0 {
		return nil, nil, usage("at least one --target is needed")
	}
	var dsns []bench.DSN
	for _, s := range f.targets {
		d, err := bench.ParseDSN(s)
		if err != nil {
			return nil, nil, usageError{err}
		}
		d.Sync = f.sync
		dsns = append(dsns, d)
	}
	n, err := bench.OpenNetwork(f.in)
	if err != nil {
		return nil, nil, err
	}
	list, err := bench.OpenAll(dsns)
	return n, list, err
}

func (f *benchTargets) load(ctx context.Context, out io.Writer, n *bench.Network, list []bench.Opened) error {
	for _, t := range list {
		bar, done := benchBar(f.quiet)
		began := time.Now()
		err := t.Load(ctx, n, func(file string, k, total int64) { bar(t.Name+" "+file, k, total) })
		done(err == nil)
		if err != nil {
			return fmt.Errorf("target %s: %w", t.Name, err)
		}
		if took := time.Since(began); !f.quiet {
			fmt.Fprintf(out, "%s: %d vertices and %d edges loaded in %s (%.0f a second)\n", t.Name, n.Vertices, n.Edges, took.Round(time.Millisecond),
				float64(n.Vertices+n.Edges)/took.Seconds())
		}
	}
	return nil
}

func benchLoad() *cobra.Command {
	var f benchTargets
	cmd := &cobra.Command{
		Use:   "load --in DIR --target DSN …",
		Short: "Load a network into databases, with the indexes that its questions need",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			n, list, err := f.open()
			if err != nil {
				return err
			}
			defer bench.CloseAll(list)
			return f.load(ctx, cmd.OutOrStdout(), n, list)
		},
	}
	f.define(cmd)
	return cmd
}

func benchRun() *cobra.Command {
	var f benchTargets
	var opt bench.RunOptions
	var names []string
	var rows int
	var load bool
	var report, format string
	cmd := &cobra.Command{
		Use:   "run --in DIR --target DSN … [--scenario NAME …]",
		Short: "Ask databases the same questions in turns, and report",
		Long: `Run asks every target the same requests in a closed loop, target after target in each round. Before a scenario is timed the answers of all targets to its
first requests are compared; a difference ends the run, or with --keep-going leaves the target out. What a scenario writes is taken back afterwards.
Ctrl-C ends the run with a report of what was measured so far, and status 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opt.Rounds < 1 || opt.Duration <= 0 || opt.Timeout <= 0 || rows < 1 {
				return usage("--rounds, --duration, --timeout and --rows must be above zero")
			}
			if opt.Verify <= 0 { // where the zero value stands for what is usual
				opt.Verify = -1
			}
			if opt.Warmup <= 0 {
				opt.Warmup = -1
			}
			for _, n := range opt.Connections {
				if n < 1 || n > 1000 {
					return usage("--connections takes numbers from 1 to 1000, not %d", n)
				}
			}
			write, err := reportForm(format)
			if err != nil {
				return err
			}
			if opt.Scenarios, err = bench.Select(bench.Scenarios(rows), names); err != nil {
				return usageError{err}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			n, list, err := f.open()
			if err != nil {
				return err
			}
			defer bench.CloseAll(list)
			if load {
				if err := f.load(ctx, os.Stderr, n, list); err != nil {
					return err
				}
			}
			bar, done := benchBar(f.quiet)
			opt.Progress = func(p bench.Progress) { bar(p.Scenario+" "+p.Target, int64(p.Done), int64(p.Total)) }
			rep, err := bench.Run(ctx, n, list, opt)
			done(err == nil)
			if rep != nil {
				if e := writeReport(cmd.OutOrStdout(), rep, write, report, f.quiet); e != nil {
					err = errors.Join(err, e)
				}
				if err == nil && rep.Interrupted {
					return errors.New("interrupted; the report holds what was measured so far")
				}
			}
			return err
		},
	}
	f.define(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&load, "load", false, "load the network into every target first")
	fl.StringSliceVar(&names, "scenario", nil, "names, patterns (h*) or groups of scenarios; without it the nineteen; all for all")
	fl.IntSliceVar(&opt.Connections, "connections", []int{1}, "connections at a time; several numbers make several runs of each scenario")
	fl.DurationVar(&opt.Duration, "duration", 2*time.Second, "that each target is timed in each scenario, all rounds together")
	fl.IntVar(&opt.Rounds, "rounds", 5, "turns of each target")
	fl.DurationVar(&opt.Warmup, "warmup", 300*time.Millisecond, "before the first round; 0 for none")
	fl.DurationVar(&opt.Timeout, "timeout", time.Minute, "limit of a request")
	fl.IntVar(&opt.Verify, "verify", 20, "requests of each scenario whose answers are compared before it is timed; 0 for none")
	fl.BoolVar(&opt.KeepGoing, "keep-going", false, "leave a target that answers differently out of a scenario instead of ending")
	fl.IntVar(&rows, "rows", 10000, "vertices or edges of bulk scenarios")
	fl.StringVar(&report, "report", "", "write NAME.json, NAME.csv, NAME.md and NAME.html")
	fl.StringVar(&format, "format", "markdown", "of what is printed: markdown, csv, json or html")
	return cmd
}

func reportForm(format string) (func(*bench.Report) ([]byte, error), error) {
	switch format {
	case "markdown", "md":
		return func(r *bench.Report) ([]byte, error) { return r.Markdown(), nil }, nil
	case "csv":
		return (*bench.Report).CSV, nil
	case "json":
		return (*bench.Report).JSON, nil
	case "html":
		return (*bench.Report).HTML, nil
	}
	return nil, usage("--format is markdown, csv, json or html, not %q", format)
}

func writeReport(out io.Writer, rep *bench.Report, write func(*bench.Report) ([]byte, error), name string, quiet bool) error {
	b, err := write(rep)
	if err != nil {
		return err
	}
	if _, err := out.Write(b); err != nil || name == "" {
		return err
	}
	files, err := rep.Write(name)
	if err == nil && !quiet {
		fmt.Fprintln(os.Stderr, "written:", strings.Join(files, " "))
	}
	return err
}

func benchList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List scenarios by group",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, group := cmd.OutOrStdout(), ""
			for _, s := range bench.Scenarios(1) {
				if s.Group != group {
					group = s.Group
					fmt.Fprintf(out, "%s\n", group)
				}
				fmt.Fprintf(out, "  %-26s %s\n", s.Name, s.Title)
			}
			return nil
		},
	}
}

func benchReport() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "report FILE.json",
		Short: "Print a report that run has written in another form",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			write, err := reportForm(format)
			if err != nil {
				return err
			}
			b, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			rep, err := bench.ReadReport(b)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return writeReport(cmd.OutOrStdout(), rep, write, "", true)
		},
	}
	cmd.Flags().StringVar(&format, "format", "markdown", "markdown, csv, json or html")
	return cmd
}

func benchScale() *cobra.Command {
	var opt bench.ScaleOptions
	var format string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "scale [--vertices N,N …]",
		Short: "Measure how this database's own costs grow with its data",
		Long: `Scale loads random graphs of several sizes into databases of their own, in this process, and measures loading, opening, size on disk, hops by state of what is
cached, path searches and writes. Ctrl-C ends it with what was measured so far, and status 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "markdown" && format != "json" {
				return usage("--format is markdown or json, not %q", format)
			}
			if opt.Degree < 1 || opt.Duration <= 0 {
				return usage("--degree and --duration must be above zero")
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			bar, done := benchBar(quiet)
			step := int64(0)
			opt.Progress = func(n int, what string) {
				step++
				bar(fmt.Sprintf("%d vertices: %s", n, what), step, int64(25*len(opt.Vertices)))
			}
			rep, err := bench.Scale(ctx, opt)
			done(err == nil)
			if err != nil {
				return err
			}
			b := rep.Markdown()
			if format == "json" {
				if b, err = rep.JSON(); err != nil {
					return err
				}
			}
			if _, err = cmd.OutOrStdout().Write(b); err == nil && rep.Interrupted {
				return errors.New("interrupted; these are the figures so far")
			}
			return err
		},
	}
	fl := cmd.Flags()
	fl.IntSliceVar(&opt.Vertices, "vertices", []int{10_000, 100_000, 1_000_000}, "sizes of the graphs")
	fl.IntVar(&opt.Degree, "degree", 5, "edges that begin at each vertex")
	fl.StringVar(&opt.Dir, "dir", "", "where databases and files are made, and removed; without it the system's directory for such")
	fl.DurationVar(&opt.Duration, "duration", 500*time.Millisecond, "of each measurement")
	fl.StringVar(&format, "format", "markdown", "markdown or json")
	fl.BoolVar(&quiet, "quiet", false, "print only errors, and figures")
	return cmd
}

// benchBar draws one bar with a text on a terminal; elsewhere it is silent. A total that changes begins the bar anew.
func benchBar(quiet bool) (tell func(text string, done, total int64), end func(ok bool)) {
	if quiet || !term.IsTerminal(int(os.Stderr.Fd())) {
		return func(string, int64, int64) {}, func(bool) {}
	}
	p := mpb.New(mpb.WithOutput(os.Stderr), mpb.WithWidth(48), mpb.WithRefreshRate(150*time.Millisecond))
	text := make(chan string, 1) // the latest; the drawing goroutine takes it
	latest := ""
	bar := p.AddBar(1, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
			select {
			case latest = <-text:
			default:
			}
			return latest + " "
		})),
		mpb.AppendDecorators(decor.Percentage(), decor.Name(" "), decor.Elapsed(decor.ET_STYLE_GO)))
	return func(s string, done, total int64) {
			select {
			case <-text:
			default:
			}
			text <- s
			bar.SetTotal(max(total, done)+1, false) // it is complete only at the end
			bar.SetCurrent(done)
		}, func(ok bool) {
			if ok {
				bar.SetTotal(-1, true)
			} else {
				bar.Abort(true)
			}
			p.Wait()
		}
}
