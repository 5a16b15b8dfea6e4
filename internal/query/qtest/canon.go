package qtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Canon writes a value so that two values are the same for the TCK exactly when their texts are: labels and map keys are sorted, NaN
// equals NaN, -0.0 equals 0.0, and an integer never equals a float. With sortLists the elements of every list are sorted too.
func Canon(v value.Value, sortLists bool) string {
	switch v.Kind() {
	case value.Float:
		if v.Float() == 0 {
			return "0.0"
		}
	case value.List:
		parts := make([]string, 0, v.Len())
		for _, e := range v.All() {
			parts = append(parts, Canon(e, sortLists))
		}
		if sortLists {
			slices.Sort(parts)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case value.Map:
		parts := make([]string, 0, v.Len())
		for i := range v.Len() {
			k, e := v.Entry(i)
			parts = append(parts, k+": "+Canon(e, sortLists))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case value.Node:
		labels := slices.Clone(v.Labels())
		slices.Sort(labels)
		s := ""
		for _, l := range slices.Compact(labels) {
			s += ":" + l
		}
		return "(" + s + props(s != "", v, sortLists) + ")"
	case value.Rel:
		return "[:" + v.RelType() + props(true, v, sortLists) + "]"
	case value.Path:
		s, prev, forward := "<", uint64(0), true
		for i, e := range v.All() {
			if i%2 == 0 {
				switch {
				case i > 0 && forward:
					s += "->"
				case i > 0:
					s += "-"
				}
				prev = e.ID()
			} else if forward = e.Start() == prev; forward {
				s += "-"
			} else {
				s += "<-"
			}
			s += Canon(e, sortLists)
		}
		return s + ">"
	}
	return string(value.AppendTCK(nil, v))
}

func props(space bool, v value.Value, sortLists bool) string {
	p := v.Properties()
	if p.Len() == 0 {
		return ""
	}
	s := Canon(p, sortLists)
	if space {
		s = " " + s
	}
	return s
}

// Table is an expected result in TCK notation.
type Table struct {
	Columns []string
	Rows    [][]string
}

func canonRows(rows [][]value.Value, sortLists bool) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, v := range row {
			cells[j] = Canon(v, sortLists)
		}
		out[i] = "| " + strings.Join(cells, " | ") + " |"
	}
	return out
}

// Compare checks a result against a table: the columns, and the rows as a list or as a bag.
func Compare(want Table, got *Result, inOrder, sortLists bool) error {
	if len(want.Columns)+len(got.Columns) > 0 && !slices.Equal(want.Columns, got.Columns) {
		return fmt.Errorf("columns: want %q, got %q", want.Columns, got.Columns)
	}
	var parsed [][]value.Value
	for _, row := range want.Rows {
		var vals []value.Value
		for _, cell := range row {
			v, err := value.ParseTCK(cell)
			if err != nil {
				return fmt.Errorf("expected value %q: %w", cell, err)
			}
			vals = append(vals, v)
		}
		parsed = append(parsed, vals)
	}
	w, g := canonRows(parsed, sortLists), canonRows(got.Rows, sortLists)
	if inOrder {
		if !slices.Equal(w, g) {
			return fmt.Errorf("rows in order: want %s, got %s", clip(w), clip(g))
		}
		return nil
	}
	missing, extra := bagDiff(w, g)
	if len(missing)+len(extra) > 0 {
		return fmt.Errorf("rows: missing %s, unexpected %s", clip(missing), clip(extra))
	}
	return nil
}

// bagDiff returns what a has more of than b, and b more than a.
func bagDiff(a, b []string) (onlyA, onlyB []string) {
	n := map[string]int{}
	for _, s := range b {
		n[s]++
	}
	for _, s := range a {
		if n[s] > 0 {
			n[s]--
		} else {
			onlyA = append(onlyA, s)
		}
	}
	for _, s := range b {
		if n[s] > 0 {
			n[s]--
			onlyB = append(onlyB, s)
		}
	}
	return onlyA, onlyB
}

func clip(rows []string) string {
	const most = 5
	s := strings.Join(rows[:min(len(rows), most)], " ")
	if len(rows) > most {
		s += fmt.Sprintf(" ... (%d rows)", len(rows))
	}
	if s == "" {
		s = "none"
	}
	return s
}
