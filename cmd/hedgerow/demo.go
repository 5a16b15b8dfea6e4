package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/load"
	"github.com/hedgerowdb/hedgerow/internal/shell"
	"github.com/hedgerowdb/hedgerow/internal/social"
)

// demoSeed makes every demo of a size the same network.
const demoSeed = 2026

func demoCommand() *cobra.Command {
	var persons int
	var keep string
	cmd := &cobra.Command{
		Use:   "demo [--persons N] [--keep DIR]",
		Short: "Make a social network, ask it a dozen questions, print answers and times",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if persons < 10 {
				return usage("--persons must be at least 10")
			}
			return demo(cmd.Context(), cmd.OutOrStdout(), persons, keep)
		},
	}
	cmd.Flags().IntVar(&persons, "persons", 2000, "size of the network")
	cmd.Flags().StringVar(&keep, "keep", "", "keep the database in this directory and, on a terminal, end in a shell on it")
	return cmd
}

func demo(ctx context.Context, out io.Writer, persons int, keep string) error {
	dir := keep
	if keep == "" {
		tmp, err := os.MkdirTemp("", "hedgerow-demo-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		dir = filepath.Join(tmp, "social.hedge")
	} else if exists(keep) == nil {
		return fmt.Errorf("%s holds a database already; open it with: hedgerow shell --data %s", keep, keep)
	}
	db, err := hedgerow.Open(dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	began := time.Now()
	rep, err := sample(ctx, &load.Embedded{DB: db}, persons)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "A social network of %d persons: %d nodes and %d relationships, made and loaded in %s (%.0f rows a second).\n",
		persons, rep.Nodes, rep.Relationships, time.Since(began).Round(time.Millisecond), float64(rep.Nodes+rep.Relationships)/rep.Took.Seconds())
	b := shell.NewEmbedded(db, dir)
	defer b.Close()
	for i, q := range social.Questions() {
		fmt.Fprintf(out, "\n%d. %s\n\n", i+1, q.Title)
		for _, line := range strings.Split(q.Cypher, "\n") {
			fmt.Fprintln(out, "    "+line)
		}
		params := hedgerow.Params{}
		for k, v := range q.Params {
			if k == "you" {
				v = int64(persons/2 + 1)
			}
			params[k] = v
		}
		if len(params) > 0 {
			var list []string
			for _, k := range []string{"me", "you"} {
				if v, ok := params[k]; ok {
					list = append(list, fmt.Sprintf("$%s = %v", k, v))
				}
			}
			fmt.Fprintln(out, "    with", strings.Join(list, ", "))
		}
		fmt.Fprintln(out)
		start := time.Now()
		rows, err := b.Run(ctx, q.Cypher, hedgerow.Cypher, params)
		if err != nil {
			return fmt.Errorf("question %d: %w", i+1, err)
		}
		var text strings.Builder
		n, err := shell.Print(&text, rows, shell.Table, 0)
		took := time.Since(start)
		if err != nil {
			return fmt.Errorf("question %d: %w", i+1, err)
		}
		fmt.Fprintf(out, "%s%s in %s\n", text.String(), shell.Plural(n, "row"), took.Round(10*time.Microsecond))
	}
	if keep == "" {
		fmt.Fprint(out, "\nThe network was in a temporary directory and is gone now. To go on:\n"+
			"  hedgerow demo --keep social.hedge      keep it, and ask your own questions in a shell\n"+
			"  hedgerow shell --data my.hedge         an empty database (:sample loads a small network, :help shows the way)\n"+
			"  hedgerow serve --data social.hedge     psql, pgx and other PostgreSQL clients, and Neo4j drivers, connect to it\n"+
			"  hedgerow load --data my.hedge --nodes Person=people.csv --edges KNOWS=knows.csv\n")
		return nil
	}
	fmt.Fprintf(out, "\nThe network is kept in %s. Go on with: hedgerow shell --data %s\n", keep, keep)
	if term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) {
		fmt.Fprintln(out)
		return newShell(b, db, "", shell.Options{Timing: true}).Loop(ctx)
	}
	return nil
}

// sample makes a network and loads it as hedgerow load would.
func sample(ctx context.Context, t load.Target, persons int) (*load.Report, error) {
	tmp, err := os.MkdirTemp("", "hedgerow-sample-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	net, err := social.Generate(tmp, persons, demoSeed)
	if err != nil {
		return nil, err
	}
	f := loadFlags{nodes: net.Nodes, edges: net.Edges, arrayDelim: ";", delimiter: "|"}
	p, err := f.plan()
	if err != nil {
		return nil, err
	}
	defer p.Close()
	progress, done := progressBars(os.Stderr, false)
	rep, err := p.Run(ctx, t, progress)
	done(err == nil)
	return rep, err
}
