// Package csv reads records of separated fields, for `hedgerow load` and LOAD CSV.
//
// It follows RFC 4180: a field that begins with a double quote ends with one, holds delimiters and line ends, and two quotes stand for one. A
// quote elsewhere is a character like others. Lines end with LF or CRLF; empty lines are skipped; a byte order mark at the front is passed over.
//
// V1: memory is bounded by [Options].MaxRecord, whatever the file: a quote that is never closed ends in an error that names the line where
// it was opened.
// V2: a fault in the text is an [*Error] with the line on which it was found, counted from 1.
// V3: fields are views that the next call of [Reader.Next] overwrites.
package csv

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Error is a fault in a file at a line.
type Error struct {
	Line int
	Text string
	// OpenQuote: a quote is opened and never closed.
	OpenQuote bool
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// ErrUTF16 tells that a file begins with the byte order mark of UTF-16.
var ErrUTF16 = errors.New("the file is UTF-16; convert it to UTF-8, as with: iconv -f UTF-16 -t UTF-8")

// Options say how a file is written. The zero value reads commas and takes quotes as ordinary characters.
type Options struct {
	Comma  rune // between fields; zero is told from the first line
	Quotes bool // double quotes enclose fields
	// Backslash lets \" and \\ within quotes stand for the second character, as Neo4j reads them; any other backslash is one.
	Backslash bool
	MaxRecord int // bytes of a record; zero means 64 MiB
}

// Reader reads records one after the other.
type Reader struct {
	b   *bufio.Reader
	opt Options

	comma  []byte
	line   int    // where the record begins, from 1
	next   int    // line after what has been read
	raw    []byte // the line being read
	rec    []byte // the record's fields, one after the other
	ends   []int  // their ends in rec
	quoted []bool
	fields []string
}

// NewReader begins to read. It looks at the first bytes.
func NewReader(in io.Reader, o Options) (*Reader, error) {
	if o.MaxRecord == 0 {
		o.MaxRecord = 64 << 20
	}
	r := &Reader{b: bufio.NewReaderSize(in, 256<<10), opt: o, next: 1}
	mark, err := r.b.Peek(3)
	switch {
	case bytes.HasPrefix(mark, []byte("\xEF\xBB\xBF")):
		r.b.Discard(3)
	case bytes.HasPrefix(mark, []byte("\xFF\xFE")), bytes.HasPrefix(mark, []byte("\xFE\xFF")):
		return nil, ErrUTF16
	case err != nil && err != io.EOF:
		return nil, err
	}
	if o.Comma == 0 {
		head, _ := r.b.Peek(64 << 10)
		o.Comma = sniff(head)
	}
	r.comma = utf8.AppendRune(nil, o.Comma)
	return r, nil
}

// sniff finds the delimiter that the header uses most.
func sniff(head []byte) rune {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	best, n := ',', 0
	for _, d := range ",|\t;" {
		if k := bytes.Count(line, []byte(string(d))); k > n {
			best, n = d, k
		}
	}
	return best
}

// Line is where the current record begins; Last is the last line of it.
func (r *Reader) Line() int { return r.line }
func (r *Reader) Last() int { return r.next - 1 }

// Len is the number of fields of the current record.
func (r *Reader) Len() int { return len(r.ends) }

// Field returns field i (V3), and whether it stood in quotes.
func (r *Reader) Field(i int) (text []byte, quoted bool) {
	from := 0
	if i > 0 {
		from = r.ends[i-1]
	}
	return r.rec[from:r.ends[i]], r.quoted[i]
}

// Record is the text of all fields of the current record.
func (r *Reader) Record() []byte { return r.rec }

// Held is how many bytes the reader keeps.
func (r *Reader) Held() int { return r.b.Size() + cap(r.raw) + cap(r.rec) + 9*cap(r.ends) }

// Read returns the next record as strings; they stay valid, the slice only until the next call. At the end it returns io.EOF.
func (r *Reader) Read() ([]string, error) {
	if err := r.Next(); err != nil {
		return nil, err
	}
	all := string(r.rec)
	r.fields = r.fields[:0]
	from := 0
	for _, end := range r.ends {
		r.fields = append(r.fields, all[from:end])
		from = end
	}
	return r.fields, nil
}

// Next makes the next record current. At the end it returns io.EOF.
func (r *Reader) Next() error {
	r.rec, r.ends, r.quoted = r.rec[:0], r.ends[:0], r.quoted[:0]
	var rest []byte
	for {
		r.line = r.next
		if err := r.readLine(); err != nil {
			return err
		}
		if rest = trimEnd(r.raw); len(rest) > 0 {
			break
		}
	}
	for {
		quoted := r.opt.Quotes && len(rest) > 0 && rest[0] == '"'
		if quoted {
			var err error
			if rest, err = r.inQuotes(rest[1:]); err != nil {
				return err
			}
		} else if i := bytes.Index(rest, r.comma); i >= 0 {
			r.rec = append(r.rec, rest[:i]...)
			rest = rest[i:]
		} else {
			r.rec = append(r.rec, rest...)
			rest = nil
		}
		r.ends, r.quoted = append(r.ends, len(r.rec)), append(r.quoted, quoted)
		if rest == nil {
			return nil
		}
		rest = rest[len(r.comma):]
	}
}

// readLine reads a line into raw, with its end.
func (r *Reader) readLine() error {
	r.raw = r.raw[:0]
	for {
		part, err := r.b.ReadSlice('\n')
		r.raw = append(r.raw, part...)
		if len(r.raw)+len(r.rec) > r.opt.MaxRecord {
			return &Error{Line: r.line, Text: "the record is longer than " + sizeText(r.opt.MaxRecord) + "; is a quote not closed?"}
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(r.raw) > 0, err == nil:
			r.next++
			return nil
		default:
			return err
		}
	}
}

func sizeText(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// trimEnd cuts the line end off.
func trimEnd(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	return bytes.TrimSuffix(b, []byte("\r"))
}

// special finds the next byte of a quoted field that is no plain text, -1 if there is none.
func (r *Reader) special(b []byte) int {
	i := bytes.IndexByte(b, '"')
	if !r.opt.Backslash {
		return i
	}
	head := b
	if i >= 0 {
		head = b[:i]
	}
	if k := bytes.IndexByte(head, '\\'); k >= 0 {
		return k
	}
	return i
}

// inQuotes reads a field after its opening quote and returns what follows the closing one: nil at the record's end, else the delimiter.
func (r *Reader) inQuotes(rest []byte) ([]byte, error) {
	for {
		i := r.special(rest)
		if i < 0 {
			end := r.raw[len(trimEnd(r.raw)):] // the line end belongs to the field
			r.rec = append(append(r.rec, rest...), end...)
			switch err := r.readLine(); {
			case err == io.EOF:
				return nil, &Error{Line: r.line, Text: "a quote is opened and never closed", OpenQuote: true}
			case err != nil:
				return nil, err
			}
			rest = trimEnd(r.raw)
			continue
		}
		r.rec = append(r.rec, rest[:i]...)
		mark := rest[i]
		rest = rest[i+1:]
		switch {
		case mark == '\\' && len(rest) > 0 && (rest[0] == '"' || rest[0] == '\\'):
			r.rec = append(r.rec, rest[0])
			rest = rest[1:]
		case mark == '\\':
			r.rec = append(r.rec, mark)
		case len(rest) == 0:
			return nil, nil
		case rest[0] == '"':
			r.rec = append(r.rec, '"')
			rest = rest[1:]
		case bytes.HasPrefix(rest, r.comma):
			return rest, nil
		default:
			return nil, &Error{Line: r.next - 1, Text: "a field goes on after its closing quote; a quote inside quotes is written twice"}
		}
	}
}
