package value

import (
	"math"
	"strconv"

	"github.com/cockroachdb/apd/v3"
)

// TextOptions choose a dialect of agtype text.
type TextOptions struct {
	// Plain prints what has no JSON form (temporals, points, bytes) as plain strings and objects, without a suffix (rules D5).
	Plain bool
	// Label names the storage label of a node, if set; else the first of its labels is printed.
	Label func(id uint64) string
}

// AppendAgtype appends the text that Apache AGE's clients parse, byte for byte as AGE prints it; temporals, points and bytes,
// which AGE does not have, get suffixes of their own.
func AppendAgtype(dst []byte, v Value) []byte { return AppendAgtypeOptions(dst, v, TextOptions{}) }

// AppendAgtypeOptions is [AppendAgtype] with options.
func AppendAgtypeOptions(dst []byte, v Value, o TextOptions) []byte {
	switch v.kind {
	case Null:
		return append(dst, "null"...)
	case Bool:
		return strconv.AppendBool(dst, v.Bool())
	case Int:
		return strconv.AppendInt(dst, v.Int(), 10)
	case Float:
		return AppendFloat(dst, v.Float())
	case Numeric:
		dst = AppendNumeric(dst, v)
		return append(dst, "::numeric"...)
	case String:
		return appendQuoted(dst, v.Str())
	case List, Path:
		dst = append(dst, '[')
		for i, e := range v.All() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = AppendAgtypeOptions(dst, e, o)
		}
		dst = append(dst, ']')
		if v.kind == Path {
			dst = append(dst, "::path"...)
		}
		return dst
	case Map:
		dst = append(dst, '{')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			k, e := v.Entry(i)
			dst = append(appendQuoted(dst, k), ": "...)
			dst = AppendAgtypeOptions(dst, e, o)
		}
		return append(dst, '}')
	case Node:
		label := ""
		if o.Label != nil {
			label = o.Label(v.word)
		} else if l := v.Labels(); len(l) > 0 {
			label = l[0]
		}
		dst = strconv.AppendUint(append(dst, `{"id": `...), v.word, 10)
		dst = appendQuoted(append(dst, `, "label": `...), label)
		dst = AppendAgtypeOptions(append(dst, `, "properties": `...), v.Properties(), o)
		return append(dst, "}::vertex"...)
	case Rel:
		dst = strconv.AppendUint(append(dst, `{"id": `...), v.word, 10)
		dst = appendQuoted(append(dst, `, "label": `...), v.RelType())
		dst = strconv.AppendUint(append(dst, `, "end_id": `...), v.End(), 10)
		dst = strconv.AppendUint(append(dst, `, "start_id": `...), v.Start(), 10)
		dst = AppendAgtypeOptions(append(dst, `, "properties": `...), v.Properties(), o)
		return append(dst, "}::edge"...)
	case Point:
		dst = append(strconv.AppendUint(append(dst, `{"srid": `...), uint64(v.SRID()), 10), `, "x": `...)
		c, n := v.coords()
		for i, f := range c[:n] {
			if i > 0 {
				dst = append(append(append(dst, `, "`...), "xyz"[i]), `": `...)
			}
			dst = AppendFloat(dst, f)
		}
		return o.suffix(append(dst, '}'), "::point")
	case Bytes:
		const hex = "0123456789abcdef"
		dst = append(dst, `"\\x`...)
		for _, b := range v.Raw() {
			dst = append(dst, hex[b>>4], hex[b&15])
		}
		return o.suffix(append(dst, '"'), "::bytes")
	}
	if v.kind.IsTemporal() {
		dst = append(AppendTemporal(append(dst, '"'), v), '"')
		return o.suffix(dst, "::"+agtypeTemporal[v.kind])
	}
	return append(dst, "null"...)
}

func (o *TextOptions) suffix(dst []byte, s string) []byte {
	if o.Plain {
		return dst
	}
	return append(dst, s...)
}

var agtypeTemporal = map[Kind]string{Date: "date", LocalTime: "localtime", Time: "time", LocalDateTime: "localdatetime",
	DateTime: "datetime", Duration: "duration"}

// AppendFloat appends a float as PostgreSQL's float8out does (shortest round trip), with .0 where it would look like an integer.
func AppendFloat(dst []byte, f float64) []byte {
	switch {
	case f != f:
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case f == 0:
		if math.Signbit(f) {
			return append(dst, "-0.0"...)
		}
		return append(dst, "0.0"...)
	}
	// The exponent of the shortest form decides, as in PostgreSQL's double_to_shortest_decimal.
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	at := len(dst) - 1
	for dst[at] != 'e' {
		at--
	}
	exp, _ := strconv.Atoi(string(dst[at+1:]))
	if exp < -4 || exp >= 15 {
		return dst
	}
	dst = strconv.AppendFloat(dst[:start], f, 'f', -1, 64)
	for _, c := range dst[start:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// AppendNumeric appends a Numeric as PostgreSQL prints it, scale kept.
func AppendNumeric(dst []byte, v Value) []byte {
	d := v.Decimal()
	if d.Form == apd.NaN {
		return append(dst, "NaN"...)
	}
	if d.Form == apd.Infinite {
		if d.Negative {
			dst = append(dst, '-')
		}
		return append(dst, "Infinity"...)
	}
	return d.Append(dst, 'f')
}

// appendQuoted appends a JSON string: the escapes that AGE writes, other control characters as \u00XX, everything else raw.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
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
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// AppendAgtypePlain is [AppendAgtype] as Apache AGE's own parsers read it: no suffix that they do not know (rules D5).
func AppendAgtypePlain(dst []byte, v Value) []byte {
	return AppendAgtypeOptions(dst, v, TextOptions{Plain: true})
}

// AppendPlain appends a scalar as bare text: no quotes, no suffix. Containers and entities are plain agtype.
func AppendPlain(dst []byte, v Value) []byte {
	switch {
	case v.kind == String:
		return append(dst, v.Str()...)
	case v.kind == Numeric:
		return AppendNumeric(dst, v)
	case v.kind.IsTemporal():
		return AppendTemporal(dst, v)
	}
	return AppendAgtypePlain(dst, v)
}
