package qtest

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
)

func TestLoadCSV(t *testing.T) {
	d := New(nil)
	d.Exec = exec.Options{BatchSize: 7, Poison: true, Import: Files{
		"p.csv":     "name,age\nAda,36\nBob,\n\"\",\"\"\n",
		"semi.csv":  "a;b\n1;2\n",
		"tab.csv":   "a\tb\n",
		"short.csv": "a,b,c\n1\n1,2,3,4\n",
		"heads.csv": "a,,a\n1,2,3\n",
		"lines.csv": "a,b\n\"x\ny\",1\n\nz,2\n",
		"empty.csv": "",
		"head.csv":  "a,b\n",
		"esc.csv":   `a` + "\n" + `"x\"y"` + "\n" + `"x""y"` + "\n" + `"c:\\d"` + "\n" + `c:\d` + "\n",
	}}
	for _, c := range []struct{ name, query, want string }{
		{"with headers", "LOAD CSV WITH HEADERS FROM 'file:///p.csv' AS r RETURN r.name, r.age",
			"'Ada' | '36'\n'Bob' | null\n'' | ''\n"},
		{"without", "LOAD CSV FROM 'file:///p.csv' AS r RETURN r, size(r)",
			"['name', 'age'] | 2\n['Ada', '36'] | 2\n['Bob', null] | 2\n['', ''] | 2\n"},
		{"keys", "LOAD CSV WITH HEADERS FROM 'file:///p.csv' AS r RETURN keys(r) LIMIT 1", "['age', 'name']\n"},
		{"field terminator", "LOAD CSV WITH HEADERS FROM 'file:///semi.csv' AS r FIELDTERMINATOR ';' RETURN r.a, r.b", "'1' | '2'\n"},
		{"field terminator, escaped", `LOAD CSV FROM 'file:///tab.csv' AS r FIELDTERMINATOR '\t' RETURN r`, "['a', 'b']\n"},
		{"a row may be short or long", "LOAD CSV WITH HEADERS FROM 'file:///short.csv' AS r RETURN r.a, r.b, r.c, size(keys(r))",
			"'1' | null | null | 3\n'1' | '2' | '3' | 3\n"},
		{"equal and empty headers", "LOAD CSV WITH HEADERS FROM 'file:///heads.csv' AS r RETURN r", "{a: '3'}\n"},
		{"escapes", "LOAD CSV WITH HEADERS FROM 'file:///esc.csv' AS r RETURN r.a", "'x\"y'\n'x\"y'\n'c:\\\\d'\n'c:\\\\d'\n"},
		{"an empty file", "LOAD CSV FROM 'file:///empty.csv' AS r RETURN count(r)", "0\n"},
		{"an empty file with headers", "LOAD CSV WITH HEADERS FROM 'file:///empty.csv' AS r RETURN count(r)", "0\n"},
		{"a header alone", "LOAD CSV WITH HEADERS FROM 'file:///head.csv' AS r RETURN count(r)", "0\n"},
		{"a file for each row", "UNWIND ['semi', 'head', 'p'] AS f LOAD CSV FROM 'file:///' + f + '.csv' AS r RETURN f, count(*) AS n ORDER BY f",
			"'head' | 1\n'p' | 4\n'semi' | 2\n"},
		{"two files", "LOAD CSV WITH HEADERS FROM 'file:///p.csv' AS r LOAD CSV FROM 'file:///semi.csv' AS q RETURN count(*)", "6\n"},
		{"line and file", "LOAD CSV WITH HEADERS FROM 'file:///lines.csv' AS r RETURN r.b, linenumber(), file()",
			"'1' | 3 | '/lines.csv'\n'2' | 5 | '/lines.csv'\n"},
		{"line and file behind WITH", "LOAD CSV WITH HEADERS FROM 'file:///lines.csv' AS r WITH r.b AS b WHERE b = '2' RETURN b, linenumber() AS l, file() AS f ORDER BY l",
			"'2' | 5 | '/lines.csv'\n"},
		{"line within CALL", "LOAD CSV WITH HEADERS FROM 'file:///lines.csv' AS r CALL (r) { RETURN linenumber() AS l } RETURN r.b, l", "'1' | 3\n'2' | 5\n"},
		{"line in a list", "LOAD CSV WITH HEADERS FROM 'file:///lines.csv' AS r RETURN [x IN [1] | linenumber() + x]", "[4]\n[6]\n"},
		{"line behind an aggregation", "LOAD CSV WITH HEADERS FROM 'file:///lines.csv' AS r WITH count(*) AS n RETURN n, linenumber()", "2 | null\n"},
		{"no LOAD CSV", "RETURN linenumber(), file()", "null | null\n"},
		{"RETURN * shows no hidden column", "LOAD CSV FROM 'file:///semi.csv' AS r FIELDTERMINATOR ';' RETURN *", "['a', 'b']\n['1', '2']\n"},
		{"LIMIT ends the reading", "LOAD CSV FROM 'file:///p.csv' AS r RETURN r[0] LIMIT 1", "'name'\n"},
	} {
		if got := d.Must(t, c.query, nil).Text(); got != c.want {
			t.Errorf("%s:\n%s\ngot\n%swant\n%s", c.name, c.query, got, c.want)
		}
	}
	d.Must(t, "LOAD CSV WITH HEADERS FROM 'file:///p.csv' AS r CREATE (:P {name: r.name, line: linenumber()})", nil)
	d.Must(t, "LOAD CSV WITH HEADERS FROM 'file:///p.csv' AS r MATCH (p:P {name: r.name}) SET p.age = toInteger(r.age)", nil)
	if got := d.Must(t, "MATCH (p:P) RETURN p.name, p.age, p.line ORDER BY p.line", nil).Text(); got != "'Ada' | 36 | 2\n'Bob' | null | 3\n'' | null | 4\n" {
		t.Errorf("after writing: got\n%s", got)
	}
	// A clause that reads what an earlier one wrote comes behind a barrier, whichever stands first.
	if got := d.Must(t, "LOAD CSV FROM 'file:///p.csv' AS r CREATE (:Q) WITH r MATCH (q:Q) RETURN count(*)", nil).Text(); got != "16\n" {
		t.Errorf("write, then read: got %s", got)
	}
}

func TestLoadCSVRefuses(t *testing.T) {
	d := New(nil)
	files := Files{"open.csv": "a\n\"b\n", "after.csv": "a\n\"b\"c\n", "utf8.csv": "a\nb\n\xff\n", "long.csv": "a\n" + strings.Repeat("x", 17<<20)}
	d.Exec = exec.Options{Import: files}
	for _, c := range []struct {
		query, want string
		code        dberr.Code
		phase       dberr.Phase
	}{
		{"LOAD CSV FROM 'file:///none.csv' AS r RETURN r", "none.csv", dberr.ExternalResource, dberr.Runtime},
		{"LOAD CSV FROM null AS r RETURN r", "found null", dberr.TypeError, dberr.Runtime},
		{"UNWIND [null] AS u LOAD CSV FROM u AS r RETURN r", "found null", dberr.TypeError, dberr.Runtime},
		{"UNWIND [1] AS u LOAD CSV FROM u AS r RETURN r", "", dberr.DatatypeMismatch, dberr.CompileTime},
		{"LOAD CSV FROM 'file:///open.csv' AS r RETURN r", "/open.csv:2: a quote is opened and never closed", dberr.BadFileFormat, dberr.Runtime},
		{"LOAD CSV FROM 'file:///after.csv' AS r RETURN r", "/after.csv:2: a field goes on", dberr.BadFileFormat, dberr.Runtime},
		{"LOAD CSV FROM 'file:///utf8.csv' AS r RETURN r", "/utf8.csv:3: the text is not valid UTF-8", dberr.InvalidEncoding, dberr.Runtime},
		{"LOAD CSV FROM 'file:///long.csv' AS r RETURN count(*)", "/long.csv:2: the record is longer than 16 MiB", dberr.BadFileFormat, dberr.Runtime},
		{"LOAD CSV FROM 'file:///a' AS r FIELDTERMINATOR ';;' RETURN r", "one character", dberr.Syntax, dberr.CompileTime},
		{"LOAD CSV FROM 'file:///a' AS r FIELDTERMINATOR '\"' RETURN r", "one character", dberr.Syntax, dberr.CompileTime},
		{"LOAD CSV FROM 'file:///a' AS r FIELDTERMINATOR '' RETURN r", "one character", dberr.Syntax, dberr.CompileTime},
		{"LOAD CSV FROM 'file:///a' AS r", "cannot end with LOAD CSV", dberr.Syntax, dberr.CompileTime},
		{"MATCH (r) LOAD CSV FROM 'file:///a' AS r RETURN r", "already defined", dberr.VariableAlreadyBound, dberr.CompileTime},
	} {
		_, err := d.Run(c.query, nil)
		e := dberr.As(err)
		if err == nil || e.Code != c.code || e.Phase != c.phase || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%s\ngot %v, want %s: %s", c.query, err, c.code, c.want)
		}
	}
	d.Exec.Import = nil
	if _, err := d.Run("LOAD CSV FROM 'file:///a' AS r RETURN r", nil); !dberr.Is(err, dberr.PermissionDenied) {
		t.Errorf("without a directory: got %v", err)
	}
}

// endless is a file without an end, which says how much of it was read.
type endless struct {
	read, limit, stopAt int64
	stop                *atomic.Bool // set once stopAt is read
}

func (e *endless) Read(b []byte) (int, error) {
	if e.read >= e.limit {
		return 0, io.EOF
	}
	const line = "some text,and more of it,1234567890\n"
	n := 0
	for n+len(line) <= len(b) {
		n += copy(b[n:], line)
	}
	if e.read += int64(n); e.stop != nil && e.read >= e.stopAt {
		e.stop.Store(true)
	}
	return n, nil
}

func (e *endless) Close() error                               { return nil }
func (e *endless) Open(string) (io.ReadCloser, string, error) { return e, "/endless", nil }

// TestLoadCSVMemory: what a statement holds does not depend on the file's size.
func TestLoadCSVMemory(t *testing.T) {
	peak := func(size int64) int64 {
		d := New(nil)
		d.Exec.Import = &endless{limit: size}
		return d.Must(t, "LOAD CSV FROM 'file:///x' AS r WITH r WHERE r[2] STARTS WITH 'x' RETURN count(r)", nil).Peak
	}
	small, large := peak(1<<20), peak(32<<20)
	if large > small+small/10+64<<10 || large > 8<<20 {
		t.Errorf("1 MiB takes %d bytes, 32 MiB takes %d", small, large)
	}
}

// TestLoadCSVStops: LIMIT reads no more of a file than it needs, and cancelling ends a reading that would never end.
func TestLoadCSVStops(t *testing.T) {
	d := New(nil)
	e := &endless{limit: 1 << 40}
	d.Exec.Import = e
	if got := d.Must(t, "LOAD CSV FROM 'file:///x' AS r RETURN r[0] LIMIT 3", nil); len(got.Rows) != 3 {
		t.Errorf("got %d rows", len(got.Rows))
	}
	if e.read > 1<<20 {
		t.Errorf("LIMIT 3 read %d bytes", e.read)
	}
	e = &endless{limit: 1 << 40, stopAt: 1 << 20, stop: new(atomic.Bool)}
	d.Exec.Import, d.Exec.Cancel = e, e.stop
	if _, err := d.Run("LOAD CSV FROM 'file:///x' AS r WITH r WHERE r[0] = '' RETURN count(*)", nil); !dberr.Is(err, dberr.Canceled) {
		t.Errorf("got %v", err)
	}
	if e.read > 2<<20 {
		t.Errorf("cancelled at 1 MiB, it read %d bytes", e.read)
	}
}
