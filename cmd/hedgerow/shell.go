package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/load"
	"github.com/hedgerowdb/hedgerow/internal/shell"
)

func shellCommand() *cobra.Command {
	var data, url, graph, format, lang, importDir string
	var commands, files []string
	var goOn, timing bool
	cmd := &cobra.Command{
		Use:   "shell [--data DIR | --url URL] [--graph G] [-c TEXT] [-f FILE] [--format table|csv|json]",
		Short: "Ask questions at a prompt, or run statements from a file",
		Long:  "Shell opens a database, or connects to a server; without --data and --url it works in memory. Statements are Cypher; :sql changes that, :help lists the commands.",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data != "" && url != "" {
				return usage("give --data or --url, not both")
			}
			if importDir != "" && url != "" {
				return usage("--import is for a database opened here; a server has its own: serve --import DIR")
			}
			f, err := shell.ParseFormat(format)
			if err != nil {
				return usageError{err}
			}
			o := shell.Options{Format: f, GoOn: goOn, Timing: timing}
			switch strings.ToLower(lang) {
			case "cypher":
			case "sql":
				o.Lang = hedgerow.SQL
			default:
				return usage("--lang is cypher or sql, not %q", lang)
			}
			var b shell.Backend
			var db *hedgerow.DB
			switch {
			case url != "":
				if b, err = shell.Connect(cmd.Context(), url, graph); err != nil {
					return err
				}
			case data != "":
				if db, err = hedgerow.Open(data, &hedgerow.Options{Graph: graph, ImportDir: importDir}); err != nil {
					return err
				}
				b = shell.NewEmbedded(db, data)
			default:
				if db, err = hedgerow.OpenMemory(&hedgerow.Options{Graph: graph, ImportDir: importDir}); err != nil {
					return err
				}
				b = shell.NewEmbedded(db, "memory (gone at the end; --data DIR keeps it)")
			}
			if db != nil {
				defer db.Close()
			}
			defer b.Close()
			s := newShell(b, db, url, o)
			if len(commands)+len(files) == 0 {
				return quietly(s.Loop(cmd.Context()))
			}
			for _, name := range files {
				f := os.Stdin
				if name != "-" {
					if f, err = os.Open(name); err != nil {
						return err
					}
					defer f.Close()
				}
				if err := s.Script(cmd.Context(), name, f); err != nil {
					return quietly(err)
				}
			}
			for _, text := range commands {
				if err := s.Script(cmd.Context(), "", strings.NewReader(text)); err != nil {
					return quietly(err)
				}
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&data, "data", "", "directory of the database; made if there is none")
	fl.StringVar(&url, "url", "", "server, as postgres://127.0.0.1:5433")
	fl.StringVar(&graph, "graph", "", `graph (default "main")`)
	fl.StringArrayVarP(&commands, "command", "c", nil, "run these statements and leave")
	fl.StringArrayVarP(&files, "file", "f", nil, "run the statements of a file and leave")
	fl.StringVar(&importDir, "import", "", "directory below which LOAD CSV may read; without it LOAD CSV is refused")
	fl.StringVar(&format, "format", "table", "table, csv or json")
	fl.StringVar(&lang, "lang", "cypher", "language of statements: cypher or sql")
	fl.BoolVar(&goOn, "continue", false, "go on after a statement that failed")
	fl.BoolVar(&timing, "timing", false, "print how long statements take")
	return cmd
}

// quietly turns the shell's own failure into an exit status without a second message.
func quietly(err error) error {
	if errors.Is(err, shell.ErrFailed) {
		return quietError{err}
	}
	return err
}

// newShell joins a shell with the terminal and the loader; db is nil for a server at url.
func newShell(b shell.Backend, db *hedgerow.DB, url string, o shell.Options) *shell.Shell {
	o.In, o.Out, o.Err = os.Stdin, os.Stdout, os.Stderr
	o.Interactive = term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
	if o.Interactive {
		o.Timing = true
		if dir, err := os.UserConfigDir(); err == nil {
			o.History = filepath.Join(dir, "hedgerow", "history")
		}
	}
	// target opens what :import and :sample load into, in the shell's graph.
	target := func(ctx context.Context) (load.Target, func(), error) {
		if db != nil {
			return &load.Embedded{DB: db.Graph(b.Graph())}, func() {}, nil
		}
		r, err := load.Connect(ctx, url, b.Graph())
		if err != nil {
			return nil, nil, err
		}
		return r, func() { r.Close() }, nil
	}
	o.Import = func(ctx context.Context, args []string) error {
		var f loadFlags
		cmd := &cobra.Command{Use: ":import"}
		f.define(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			return err
		}
		for _, a := range cmd.Flags().Args() {
			name, _, ok := strings.Cut(a, "=")
			if ok && name == strings.ToUpper(name) { // types are written in capitals
				f.edges = append(f.edges, a)
			} else {
				f.nodes = append(f.nodes, a)
			}
		}
		t, done, err := target(ctx)
		if err != nil {
			return err
		}
		defer done()
		return f.run(ctx, o.Out, t)
	}
	o.Sample = func(ctx context.Context, persons int) error {
		t, done, err := target(ctx)
		if err != nil {
			return err
		}
		defer done()
		_, err = sample(ctx, t, persons)
		return err
	}
	return shell.New(b, o)
}
