package qtest

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// TestGolden runs the files of testdata/values, each on a graph of its own, over both stores and at several batch sizes. Commands:
//
//	cypher    rows in TCK notation, or the error
//	columns   the same with the names of the columns
//
// Lines ":param name value" before the statement give parameters, in TCK notation.
func TestGolden(t *testing.T) {
	for name, d := range map[string]*DB{"memory": New(nil), "engine": On(engineStore(t))} {
		for _, batch := range []int{1, 1024} {
			t.Run(name, func(t *testing.T) {
				d.Exec = exec.Options{BatchSize: batch, Poison: true}
				datadriven.Walk(t, "testdata/values", func(t *testing.T, path string) {
					if err := d.Reset(); err != nil {
						t.Fatal(err)
					}
					datadriven.RunTest(t, path, func(t *testing.T, c *datadriven.TestData) string { return d.golden(t, c) })
				})
			})
		}
	}
}

func (d *DB) golden(t *testing.T, c *datadriven.TestData) string {
	params, text := Params{}, strings.TrimSpace(c.Input)
	for strings.HasPrefix(text, ":param ") {
		line, rest, _ := strings.Cut(text, "\n")
		name, val, _ := strings.Cut(line[len(":param "):], " ")
		v, err := value.ParseTCK(val)
		if err != nil {
			t.Fatalf("%s: %v", c.Pos, err)
		}
		params[name], text = v, rest
	}
	res, err := d.Run(text, params)
	switch {
	case err != nil:
		return Explain(err) + "\n"
	case c.Cmd == "columns":
		return strings.Join(res.Columns, " | ") + "\n" + res.Text()
	}
	return res.Text()
}
