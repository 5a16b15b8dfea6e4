// Command hedgerow is the database: server, shell, loader and checker in one binary.
//
// Exit status 0 means done, 1 failed, 2 used wrongly. Every flag has a twin in the environment: --data is HEDGEROW_DATA.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hedgerowdb/hedgerow"
)

// usageError is a mistake on the command line.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// quietError was told to the user already.
type quietError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	root := &cobra.Command{
		Use:           "hedgerow",
		Short:         "A graph database that keeps edges in rows: openCypher and SQL, embedded or served",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return fromEnvironment(cmd.Flags())
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(demoCommand(), serveCommand(), shellCommand(), loadCommand(), benchCommand(), checkCommand(), versionCommand())
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var quiet quietError
	if errors.As(err, &quiet) {
		return 1
	}
	var wrong usageError
	if errors.As(err, &wrong) || strings.HasPrefix(err.Error(), "unknown command") || strings.HasPrefix(err.Error(), "accepts ") ||
		strings.HasPrefix(err.Error(), "required flag") {
		fmt.Fprintf(os.Stderr, "hedgerow: %v\nRun \"%s --help\" to see how it is used.\n", err, cmd.CommandPath())
		return 2
	}
	printError(err)
	return 1
}

// noArgs refuses arguments, which most often are a database's directory.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes flags only; a database is named with --data %s", cmd.Name(), args[0])
	}
	return nil
}

func printError(err error) {
	fmt.Fprintln(os.Stderr, "hedgerow:", err)
	var e *hedgerow.Error
	if errors.As(err, &e) {
		// The place is shown for a statement of the user's, not for one that a command made of its own: those errors are wrapped.
		if x := e.Excerpt(); x != "" && err == error(e) {
			fmt.Fprintln(os.Stderr, x)
		}
		if e.Detail != "" && !strings.Contains(err.Error(), e.Detail) {
			fmt.Fprintln(os.Stderr, "detail:", e.Detail)
		}
		if e.Hint != "" {
			fmt.Fprintln(os.Stderr, "hint:", e.Hint)
		}
	}
}

// fromEnvironment gives flags that were not set the value of their twin in the environment.
func fromEnvironment(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := "HEDGEROW_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if v, ok := os.LookupEnv(name); ok && !f.Changed && err == nil && f.Name != "help" && f.Name != "version" {
			if e := flags.Set(f.Name, v); e != nil {
				err = usage("%s: %v", name, e)
			}
		}
	})
	return err
}
