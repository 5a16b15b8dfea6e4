package sql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// TestErrors holds the texts of errors, which are PostgreSQL's (S5).
func TestErrors(t *testing.T) {
	datadriven.RunTest(t, "testdata/errors", func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		for _, text := range strings.Split(strings.TrimSuffix(d.Input, "\n"), "\n") {
			_, err := Parse(text)
			if err == nil {
				fmt.Fprintf(&b, "%s\n  ok\n", text)
				continue
			}
			e := dberr.As(err)
			if e.Phase != dberr.CompileTime || e.Pos < 0 || e.End < e.Pos || e.End > len(text) {
				t.Errorf("%s: span %d..%d, phase %d", text, e.Pos, e.End, e.Phase)
			}
			fmt.Fprintf(&b, "%s\n%s%s %s: %v\n", text, strings.Repeat(" ", e.Pos), strings.Repeat("^", max(1, e.End-e.Pos)), e.Code.SQLState(), e)
		}
		return b.String()
	})
}
