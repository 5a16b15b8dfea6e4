package shell

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Format is how results are printed.
type Format string

const (
	Table Format = "table"
	CSV   Format = "csv"
	JSON  Format = "json"
)

// ParseFormat reads a format's name.
func ParseFormat(s string) (Format, error) {
	switch f := Format(strings.ToLower(s)); f {
	case Table, CSV, JSON:
		return f, nil
	}
	return Table, fmt.Errorf("unknown format %q; there are table, csv and json", s)
}

// maxTable is the number of rows that one table holds; a longer result is printed as several, so that memory stays bounded.
const maxTable = 5000

// Print writes a result and returns the number of rows.
func Print(w io.Writer, r Rows, f Format, width int) (int, error) {
	switch f {
	case CSV:
		return printCSV(w, r)
	case JSON:
		return printJSON(w, r)
	}
	return printTable(w, r, width)
}

func printTable(w io.Writer, r Rows, width int) (n int, err error) {
	cols := r.Columns()
	if len(cols) == 0 {
		for r.Next() {
		}
		return 0, r.Close()
	}
	for {
		t := table.NewWriter()
		t.SetStyle(table.StyleRounded)
		t.Style().Format.Header = text.FormatDefault
		head := make(table.Row, len(cols))
		for i, c := range cols {
			head[i] = visible(c)
		}
		t.AppendHeader(head)
		limit := 0
		if width > 0 {
			limit = max(12, (width-3*len(cols)-1)/len(cols))
		}
		longest := make([]int, len(cols))
		rows := 0
		for rows < maxTable && r.Next() {
			row := make(table.Row, len(cols))
			for i := range row {
				cell := visible(r.Text(i))
				longest[i] = max(longest[i], text.StringWidth(cell))
				row[i] = cell
			}
			t.AppendRow(row)
			rows++
		}
		if rows == 0 {
			if err := r.Close(); err != nil || n > 0 {
				return n, err // an error shows no empty table
			}
		}
		if width > 0 {
			t.SetColumnConfigs(widths(cols, longest, width, limit))
		}
		n += rows
		fmt.Fprintln(w, t.Render())
		if rows < maxTable {
			break
		}
	}
	return n, r.Close()
}

// widths wraps the widest columns so that the table fits.
func widths(cols []string, longest []int, width, fair int) []table.ColumnConfig {
	total := 3*len(cols) + 1
	for i := range cols {
		longest[i] = max(longest[i], text.StringWidth(cols[i]))
		total += longest[i]
	}
	if total <= width {
		return nil
	}
	spare, wide := width-3*len(cols)-1, 0
	for _, n := range longest {
		if n <= fair {
			spare -= n
		} else {
			wide++
		}
	}
	var out []table.ColumnConfig
	for i, n := range longest {
		if n > fair {
			out = append(out, table.ColumnConfig{Number: i + 1, WidthMax: max(12, spare/max(1, wide)), WidthMaxEnforcer: text.WrapSoft})
		}
	}
	return out
}

// visible shows control characters, so that a value cannot move the cursor.
func visible(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7F }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r < ' ' || r == 0x7F {
			fmt.Fprintf(&b, `\x%02x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func printCSV(w io.Writer, r Rows) (n int, err error) {
	cols := r.Columns()
	c := csv.NewWriter(w)
	if len(cols) > 0 {
		c.Write(cols)
	}
	row := make([]string, len(cols))
	for r.Next() {
		for i := range row {
			row[i] = r.Plain(i)
		}
		if err := c.Write(row); err != nil {
			return n, err
		}
		n++
	}
	c.Flush()
	if err := r.Close(); err != nil {
		return n, err
	}
	return n, c.Error()
}

// printJSON writes one object a line.
func printJSON(w io.Writer, r Rows) (n int, err error) {
	cols := r.Columns()
	for r.Next() {
		var b strings.Builder
		b.WriteByte('{')
		for i, c := range cols {
			if i > 0 {
				b.WriteString(", ")
			}
			k, _ := json.Marshal(c)
			b.Write(k)
			b.WriteString(": ")
			b.WriteString(r.JSON(i))
		}
		b.WriteString("}\n")
		if _, err := io.WriteString(w, b.String()); err != nil {
			return n, err
		}
		n++
	}
	return n, r.Close()
}
