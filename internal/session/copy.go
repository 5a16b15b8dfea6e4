package session

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// CopyFormat is how COPY writes rows.
type CopyFormat struct {
	Binary     bool
	CSV        bool
	Header     bool
	Delimiter  byte
	Null       string
	Quote      byte
	Escape     byte
	ForceQuote map[string]bool // column names; "*" for all
	Zone       *time.Location  // that instants are shown in
}

// NewCopyFormat reads COPY's options, given by lower-case name. A list option is comma-separated.
func NewCopyFormat(options map[string]string) (*CopyFormat, error) {
	f := &CopyFormat{Delimiter: '\t', Null: `\N`, Quote: '"', Escape: '"', Zone: time.UTC}
	switch v := strings.ToLower(options["format"]); v {
	case "", "text":
	case "csv":
		f.CSV, f.Delimiter, f.Null = true, ',', ""
	case "binary":
		f.Binary = true
	default:
		return nil, dberr.New(dberr.InvalidParameterValue, "COPY format %q not recognized", v)
	}
	one := func(name string, to *byte) error {
		v, ok := options[name]
		if !ok {
			return nil
		}
		if len(v) != 1 || v[0] == '\n' || v[0] == '\r' {
			return dberr.New(dberr.InvalidParameterValue, "COPY %s must be a single one-byte character", name)
		}
		*to = v[0]
		return nil
	}
	for name := range options {
		switch name {
		case "format", "delimiter", "null", "header", "quote", "escape", "force_quote", "encoding", "freeze":
		default:
			return nil, dberr.New(dberr.Syntax, "option %q not recognized", name)
		}
	}
	if err := one("delimiter", &f.Delimiter); err != nil {
		return nil, err
	}
	if err := one("quote", &f.Quote); err != nil {
		return nil, err
	}
	f.Escape = f.Quote
	if err := one("escape", &f.Escape); err != nil {
		return nil, err
	}
	if v, ok := options["null"]; ok {
		f.Null = v
	}
	switch strings.ToLower(options["header"]) {
	case "", "false", "off", "0":
		_, given := options["header"]
		f.Header = given && options["header"] == ""
	default:
		f.Header = true
	}
	if f.Header && f.Binary {
		return nil, dberr.New(dberr.FeatureNotSupported, "cannot specify HEADER in BINARY mode")
	}
	if v := options["force_quote"]; v != "" {
		f.ForceQuote = map[string]bool{}
		for _, c := range strings.Split(v, ",") {
			f.ForceQuote[strings.TrimSpace(c)] = true
		}
	}
	return f, nil
}

// Head appends what comes before the first row.
func (f *CopyFormat) Head(dst []byte, cols []Column) ([]byte, error) {
	if f.Binary {
		for _, c := range cols {
			if !sqltype.BinaryOut(c.Type) {
				return dst, dberr.New(dberr.FeatureNotSupported, "type %s has no binary output", c.Type.Name)
			}
		}
		dst = append(dst, "PGCOPY\n\xff\r\n\x00"...)
		return append(dst, make([]byte, 8)...), nil
	}
	if f.Header {
		for i, c := range cols {
			if i > 0 {
				dst = append(dst, f.Delimiter)
			}
			dst = f.field(dst, []byte(c.Name), false)
		}
		dst = append(dst, '\n')
	}
	return dst, nil
}

// Row appends one row.
func (f *CopyFormat) Row(dst []byte, cols []Column, row []value.Value) ([]byte, error) {
	var err error
	if f.Binary {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(row)))
		for i, v := range row {
			if v.IsNull() {
				dst = binary.BigEndian.AppendUint32(dst, 0xFFFFFFFF)
				continue
			}
			at := len(dst)
			if dst, err = sqltype.AppendBinary(append(dst, 0, 0, 0, 0), cols[i].Type, v); err != nil {
				return dst, err
			}
			binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		}
		return dst, nil
	}
	var text []byte
	for i, v := range row {
		if i > 0 {
			dst = append(dst, f.Delimiter)
		}
		if v.IsNull() {
			dst = append(dst, f.Null...)
			continue
		}
		if text, err = sqltype.AppendTextZone(text[:0], cols[i].Type, v, f.Zone); err != nil {
			return dst, err
		}
		dst = f.field(dst, text, f.ForceQuote["*"] || f.ForceQuote[cols[i].Name])
	}
	return append(dst, '\n'), nil
}

// Tail appends what comes after the last row.
func (f *CopyFormat) Tail(dst []byte) []byte {
	if f.Binary {
		return append(dst, 0xFF, 0xFF)
	}
	return dst
}

func (f *CopyFormat) field(dst, text []byte, quote bool) []byte {
	if f.CSV {
		if !quote && string(text) != f.Null && string(text) != `\.` && bytes.IndexByte(text, f.Delimiter) < 0 &&
			bytes.IndexByte(text, f.Quote) < 0 && !bytes.ContainsAny(text, "\r\n") {
			return append(dst, text...)
		}
		dst = append(dst, f.Quote)
		for _, c := range text {
			if c == f.Quote || c == f.Escape {
				dst = append(dst, f.Escape)
			}
			dst = append(dst, c)
		}
		return append(dst, f.Quote)
	}
	for _, c := range text {
		switch c {
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\v':
			dst = append(dst, `\v`...)
		case '\\':
			dst = append(dst, `\\`...)
		default:
			if c == f.Delimiter {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		}
	}
	return dst
}
