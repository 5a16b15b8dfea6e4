package csv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// read returns all records as text: fields joined by |, quoted ones marked by ', each with its lines.
func read(text string, o Options) (string, error) {
	r, err := NewReader(strings.NewReader(text), o)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for {
		err := r.Next()
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		fmt.Fprintf(&b, "%d-%d", r.Line(), r.Last())
		for i := range r.Len() {
			f, quoted := r.Field(i)
			b.WriteByte('|')
			if quoted {
				fmt.Fprintf(&b, "'%s'", f)
			} else {
				b.Write(f)
			}
		}
		b.WriteByte('\n')
	}
}

func TestReader(t *testing.T) {
	neo := Options{Comma: ',', Quotes: true, Backslash: true}
	for name, c := range map[string]struct {
		text string
		opt  Options
		want string
	}{
		"plain":                      {"a,b\n1,2\n", neo, "1-1|a|b\n2-2|1|2\n"},
		"no end of line":             {"a,b", neo, "1-1|a|b\n"},
		"CRLF":                       {"a,b\r\n1,2\r\n", neo, "1-1|a|b\n2-2|1|2\n"},
		"byte order mark":            {"\xEF\xBB\xBFa\n1\n", neo, "1-1|a\n2-2|1\n"},
		"empty lines":                {"\n\na\n\r\n1\n\n", neo, "3-3|a\n5-5|1\n"},
		"empty fields":               {",\n\"\",\n", neo, "1-1||\n2-2|''|\n"},
		"doubled quotes":             {`"a""b",c` + "\n", neo, "1-1|'a\"b'|c\n"},
		"backslash before a quote":   {`"a\"b"` + "\n", neo, "1-1|'a\"b'\n"},
		"backslash before itself":    {`"a\\"` + "\n", neo, "1-1|'a\\'\n"},
		"another backslash":          {`"a\nb",\"` + "\n", neo, "1-1|'a\\nb'|\\\"\n"},
		"backslash means nothing":    {`"a\""` + "\n", Options{Comma: ',', Quotes: true}, ""},
		"lines within quotes":        {"\"a\r\nb\",c\nd,e\n", neo, "1-2|'a\r\nb'|c\n3-3|d|e\n"},
		"delimiter within quotes":    {`"a,b",c` + "\n", neo, "1-1|'a,b'|c\n"},
		"quote inside a field":       {"a\"b,c\n", neo, "1-1|a\"b|c\n"},
		"quotes mean nothing":        {"\"a,b\"\n", Options{Comma: ','}, "1-1|\"a|b\"\n"},
		"another delimiter":          {"a;b,c\n", Options{Comma: ';'}, "1-1|a|b,c\n"},
		"a delimiter of three bytes": {"a→b\n", Options{Comma: '→'}, "1-1|a|b\n"},
		"the delimiter is told":      {"a;b;c,d\n", Options{}, "1-1|a|b|c,d\n"},
		"nothing":                    {"", neo, ""},
	} {
		got, err := read(c.text, c.opt)
		if name == "backslash means nothing" {
			var at *Error
			if !errors.As(err, &at) || at.Line != 1 {
				t.Errorf("%s: got %q, %v", name, got, err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestReaderFaults(t *testing.T) {
	o := Options{Comma: ',', Quotes: true, Backslash: true, MaxRecord: 1000}
	for name, c := range map[string]struct {
		text, want string
		open       bool
	}{
		"open quote":       {"a\nb,\"c\nd\n", "line 2: a quote is opened and never closed", true},
		"text after quote": {"a\nb,\"c\"d\n", "line 2: a field goes on after its closing quote; a quote inside quotes is written twice", false},
		"long record":      {"a\n" + strings.Repeat("x", 2000), "line 2: the record is longer than 1000 bytes; is a quote not closed?", false},
		"long by lines":    {"a\n\"" + strings.Repeat("x\n", 2000), "line 2: the record is longer than 1000 bytes; is a quote not closed?", false},
	} {
		_, err := read(c.text, o)
		var at *Error
		if !errors.As(err, &at) || at.Error() != c.want || at.OpenQuote != c.open {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	if _, err := read("\xFF\xFEa\x00", o); !errors.Is(err, ErrUTF16) {
		t.Errorf("UTF-16: got %v", err)
	}
}

// FuzzReader: whatever the bytes are, the reader ends, keeps its bound, and what it read can be written and read again.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"a,b\n\"c\"\"d\",e\r\n", "\"\\\"\\\\\n\",", "\xEF\xBB\xBF,;\n", "\"a\nb"} {
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, backslash bool) {
		o := Options{Comma: ',', Quotes: true, Backslash: backslash, MaxRecord: 1 << 10}
		r, err := NewReader(bytes.NewReader(text), o)
		if err != nil {
			return
		}
		var records [][]string
		var again strings.Builder
		for {
			rec, err := r.Read()
			if err != nil {
				break
			}
			records = append(records, append([]string(nil), rec...))
			for i, s := range rec {
				if i > 0 {
					again.WriteByte(',')
				}
				if s = strings.ReplaceAll(s, `"`, `""`); backslash {
					s = strings.ReplaceAll(s, `\`, `\\`)
				}
				again.WriteString(`"` + s + `"`)
			}
			again.WriteByte('\n')
		}
		o.MaxRecord = 1 << 20
		if r, err = NewReader(strings.NewReader(again.String()), o); err != nil {
			t.Fatal(err)
		}
		for _, want := range records {
			got, err := r.Read()
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("got %q, %v, want %q, from %q", got, err, want, again.String())
			}
		}
	})
}
