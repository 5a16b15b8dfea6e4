package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hedgerowdb/hedgerow"
)

func checkCommand() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "check --data DIR",
		Short: "Verify every page, row, index and edge of a database",
		Long: "Check verifies checksums, page structure, version chains, the agreement of indexes and rows, the ends of edges, and the catalog.\n" +
			"It prints \"file F page N: …\" for every fault and exits with 1 if there is one.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data == "" {
				return usage("check needs --data DIR")
			}
			if err := exists(data); err != nil {
				return err
			}
			db, err := hedgerow.Open(data, nil)
			if err != nil {
				return err
			}
			defer db.Close()
			faults, err := db.Check(cmd.Context())
			if err != nil {
				return err
			}
			for _, f := range faults {
				fmt.Fprintln(cmd.OutOrStdout(), f)
			}
			if len(faults) > 0 {
				fmt.Fprintf(os.Stderr, "hedgerow: %d faults\n", len(faults))
				return quietError{errors.New("faults")}
			}
			fmt.Fprintln(cmd.OutOrStdout(), "no faults")
			return nil
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "directory of the database")
	return cmd
}

// exists refuses a directory without a database, so that a mistyped path is not made one.
func exists(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "control")); err != nil {
		if os.IsNotExist(err) {
			return fmt.Errorf("%s holds no database", dir)
		}
		return err
	}
	return nil
}
