package load

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// maxRecord is the size of the longest record; a quote that is never closed is told there instead of filling the memory.
const maxRecord = 64 << 20

// lineError is a fault in a file at a line.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

// reader reads records of separated fields, after RFC 4180: a field that begins with a double quote ends with one, holds delimiters and line
// ends, and two quotes stand for one. A quote elsewhere is a character like others, and without quotes it always is. Lines end with LF or
// CRLF; empty lines are skipped.
type reader struct {
	f      *os.File
	b      *bufio.Reader
	comma  []byte
	quotes bool

	line   int    // where the record begins, from 1
	next   int    // line after what has been read
	raw    []byte // the line being read
	rec    []byte // the record's fields, one after the other
	ends   []int  // their ends in rec
	fields []string
}

// newReader begins to read a file; a zero delimiter is told from the first line.
func newReader(path string, delimiter rune, quotes bool) (*reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &reader{f: f, b: bufio.NewReaderSize(f, 256<<10), quotes: quotes, next: 1}
	mark, _ := r.b.Peek(3)
	switch {
	case bytes.HasPrefix(mark, []byte("\xEF\xBB\xBF")):
		r.b.Discard(3)
	case bytes.HasPrefix(mark, []byte("\xFF\xFE")), bytes.HasPrefix(mark, []byte("\xFE\xFF")):
		f.Close()
		return nil, fmt.Errorf("%s is UTF-16; convert it to UTF-8, as with: iconv -f UTF-16 -t UTF-8", path)
	}
	if delimiter == 0 {
		head, _ := r.b.Peek(64 << 10)
		delimiter = sniff(head)
	}
	r.comma = utf8.AppendRune(nil, delimiter)
	return r, nil
}

func (r *reader) Close() { r.f.Close() }

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

// readLine reads a line into raw, with its end.
func (r *reader) readLine() error {
	r.raw = r.raw[:0]
	for {
		part, err := r.b.ReadSlice('\n')
		r.raw = append(r.raw, part...)
		if len(r.raw)+len(r.rec) > maxRecord {
			return &lineError{r.line, fmt.Sprintf("the record is longer than %d MiB; is a quote not closed?", maxRecord>>20)}
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

// trimEnd cuts the line end off.
func trimEnd(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	return bytes.TrimSuffix(b, []byte("\r"))
}

// Read returns the next record; its strings stay valid, the slice only until the next call. At the end it returns io.EOF.
func (r *reader) Read() ([]string, error) {
	r.rec, r.ends = r.rec[:0], r.ends[:0]
	var rest []byte
	for {
		r.line = r.next
		if err := r.readLine(); err != nil {
			return nil, err
		}
		if rest = trimEnd(r.raw); len(rest) > 0 {
			break
		}
	}
	for {
		if r.quotes && len(rest) > 0 && rest[0] == '"' {
			var err error
			if rest, err = r.quoted(rest[1:]); err != nil {
				return nil, err
			}
		} else {
			i := bytes.Index(rest, r.comma)
			if i < 0 {
				r.rec = append(r.rec, rest...)
				rest = nil
			} else {
				r.rec = append(r.rec, rest[:i]...)
				rest = rest[i:]
			}
		}
		r.ends = append(r.ends, len(r.rec))
		if rest == nil {
			break
		}
		rest = rest[len(r.comma):]
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

// quoted reads a field after its opening quote and returns what follows the closing one: nil at the record's end, else the delimiter.
func (r *reader) quoted(rest []byte) ([]byte, error) {
	for {
		i := bytes.IndexByte(rest, '"')
		if i < 0 {
			end := r.raw[len(trimEnd(r.raw)):] // the line end belongs to the field
			r.rec = append(append(r.rec, rest...), end...)
			opened := r.line
			switch err := r.readLine(); {
			case err == io.EOF:
				return nil, &lineError{opened, "a quote is opened and never closed; give --no-quotes if quotes mean nothing in this file"}
			case err != nil:
				return nil, err
			}
			rest = trimEnd(r.raw)
			continue
		}
		r.rec = append(r.rec, rest[:i]...)
		rest = rest[i+1:]
		switch {
		case len(rest) == 0:
			return nil, nil
		case rest[0] == '"':
			r.rec = append(r.rec, '"')
			rest = rest[1:]
		case bytes.HasPrefix(rest, r.comma):
			return rest, nil
		default:
			return nil, &lineError{r.next - 1, "a field goes on after its closing quote; a quote inside quotes is written twice"}
		}
	}
}
