package value

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// ParseAgtype reads agtype text: JSON with the suffixes that [AppendAgtype] writes. Faults have PostgreSQL's texts.
func ParseAgtype(text string) (Value, error) {
	p := agParser{text: text}
	if !utf8.ValidString(text) {
		return Value{}, dberr.New(dberr.InvalidEncoding, "invalid byte sequence for encoding \"UTF8\"")
	}
	bare := func(err error) error { // text as drivers send it, by the first mistake that people make
		if e := dberr.As(err); e.Code == dberr.InvalidText && text != "" && strings.IndexByte(" \t\r\n{[\"-0123456789", text[0]) < 0 {
			return e.WithHint(`agtype is written as JSON: a string stands in double quotes, as "Ada".`)
		}
		return err
	}
	if err := p.next(); err != nil {
		return Value{}, bare(err)
	}
	v, err := p.value(0)
	if err != nil {
		return Value{}, bare(err)
	}
	if p.tok != agEnd {
		return Value{}, p.expected("end of input")
	}
	return v, nil
}

type agToken uint8

const (
	agEnd agToken = iota
	agPunct
	agString
	agNumber
	agWord
	agSuffix
)

type agParser struct {
	text  string
	pos   int // after the token
	start int
	tok   agToken
	str   string // unescaped text of a string
}

func (p *agParser) fail(detail string, args ...any) error {
	return dberr.New(dberr.InvalidText, "invalid input syntax for type agtype").WithDetail(detail, args...)
}

func (p *agParser) lit() string { return p.text[p.start:p.pos] }

// expected reports the current token against what the grammar wants, as PostgreSQL's JSON parser words it.
func (p *agParser) expected(what string) error {
	if p.tok == agEnd {
		return p.fail("The input string ended unexpectedly.")
	}
	return p.fail("Expected %s, but found \"%s\".", what, p.lit())
}

func (p *agParser) next() error {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
	p.start = p.pos
	if p.pos == len(p.text) {
		p.tok = agEnd
		return nil
	}
	switch c := p.text[p.pos]; {
	case strings.IndexByte("{}[],:", c) >= 0:
		p.pos++
		if c == ':' && strings.HasPrefix(p.text[p.pos:], ":") {
			p.pos++
			p.tok = agSuffix
			return nil
		}
		p.tok = agPunct
		return nil
	case c == '"':
		p.tok = agString
		return p.scanString()
	case c == '-' && strings.HasPrefix(p.text[p.pos:], "-Infinity"):
		p.pos += len("-Infinity")
		p.tok = agWord
		return nil
	case c == '-' || c-'0' <= 9:
		p.tok = agNumber
		return p.scanNumber()
	}
	n := 0
	for n < len(p.text)-p.pos && isWordByte(p.text[p.pos+n]) {
		n++
	}
	p.pos += max(n, 1)
	if p.tok = agWord; n == 0 {
		_, w := utf8.DecodeRuneInString(p.text[p.start:])
		p.pos = p.start + w
		return p.fail("Token \"%s\" is invalid.", p.lit())
	}
	return nil
}

func isWordByte(c byte) bool {
	return c >= 0x80 || c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c-'0' <= 9
}

func (p *agParser) scanNumber() error {
	s := p.text
	i := p.pos
	if s[i] == '-' {
		i++
	}
	bad := i >= len(s) || s[i]-'0' > 9
	if !bad && s[i] == '0' {
		i++
	} else {
		i += leading(s[i:])
	}
	if i < len(s) && s[i] == '.' {
		n := leading(s[i+1:])
		bad = bad || n == 0
		i += 1 + n
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		n := leading(s[i:])
		bad = bad || n == 0
		i += n
	}
	for i < len(s) && isWordByte(s[i]) {
		i++
		bad = true
	}
	p.pos = i
	if bad {
		return p.fail("Token \"%s\" is invalid.", p.lit())
	}
	return nil
}

func (p *agParser) scanString() error {
	s := p.text
	i := p.pos + 1
	from := i
	var b []byte
	for {
		if i >= len(s) {
			p.pos = len(s)
			return p.fail("Token \"%s\" is invalid.", p.lit())
		}
		switch c := s[i]; {
		case c == '"':
			if b == nil {
				p.str = s[from:i]
			} else {
				p.str = string(append(b, s[from:i]...))
			}
			p.pos = i + 1
			return nil
		case c < 0x20:
			p.pos = i
			return p.fail("Character with value 0x%02x must be escaped.", c)
		case c == '\\':
			b = append(b, s[from:i]...)
			i++
			if i >= len(s) {
				p.pos = len(s)
				return p.fail("Token \"%s\" is invalid.", p.lit())
			}
			switch e := s[i]; e {
			case '"', '\\', '/':
				b = append(b, e)
			case 'b':
				b = append(b, '\b')
			case 'f':
				b = append(b, '\f')
			case 'n':
				b = append(b, '\n')
			case 'r':
				b = append(b, '\r')
			case 't':
				b = append(b, '\t')
			case 'u':
				r, ok := hex4(s[i+1:])
				if !ok {
					return p.fail("\"\\u\" must be followed by four hexadecimal digits.")
				}
				i += 4
				if r >= 0xDC00 && r < 0xE000 {
					return p.fail("Unicode low surrogate must follow a high surrogate.")
				}
				if r >= 0xD800 && r < 0xDC00 {
					low, ok := rune(0), false
					if strings.HasPrefix(s[i+1:], `\u`) {
						low, ok = hex4(s[i+3:])
					}
					if ok && low >= 0xD800 && low < 0xDC00 {
						return p.fail("Unicode high surrogate must not follow a high surrogate.")
					}
					if !ok || low < 0xDC00 || low >= 0xE000 {
						return p.fail("Unicode low surrogate must follow a high surrogate.")
					}
					r = utf16.DecodeRune(r, low)
					i += 6
				}
				b = utf8.AppendRune(b, r)
			default:
				_, w := utf8.DecodeRuneInString(s[i:])
				return p.fail("Escape sequence \"\\%s\" is invalid.", s[i:i+w])
			}
			i++
			from = i
		default:
			i++
		}
	}
}

func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	for i := range 4 {
		if c := s[i]; c-'0' > 9 && (c|0x20 < 'a' || c|0x20 > 'f') {
			return 0, false
		}
	}
	u, err := strconv.ParseUint(s[:4], 16, 32)
	return rune(u), err == nil
}

// suffix reads ::name if it follows.
func (p *agParser) suffix() (name string, err error) {
	if p.tok != agSuffix {
		return "", nil
	}
	if err := p.next(); err != nil {
		return "", err
	}
	if p.tok != agWord {
		return "", p.expected("annotation")
	}
	name = p.lit()
	return strings.ToLower(name), p.next()
}

func annotation(what string) error {
	return dberr.New(dberr.InvalidText, "invalid annotation value for %s", what)
}

func (p *agParser) value(depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, dberr.New(dberr.StatementTooComplex, "agtype value is nested too deeply")
	}
	switch p.tok {
	case agPunct:
		switch p.text[p.start] {
		case '{':
			return p.object(depth)
		case '[':
			return p.array(depth)
		}
	case agString:
		s := p.str
		if err := p.next(); err != nil {
			return Value{}, err
		}
		name, err := p.suffix()
		if err != nil {
			return Value{}, err
		}
		return annotatedString(s, name)
	case agNumber:
		t := p.lit()
		if err := p.next(); err != nil {
			return Value{}, err
		}
		name, err := p.suffix()
		if err != nil {
			return Value{}, err
		}
		return annotatedNumber(t, name)
	case agWord:
		w := p.lit()
		var v Value
		switch w {
		case "true", "false":
			v = NewBool(w == "true")
		case "null":
		case "NaN":
			v = NewFloat(math.NaN())
		case "Infinity":
			v = NewFloat(math.Inf(1))
		case "-Infinity":
			v = NewFloat(math.Inf(-1))
		default:
			return Value{}, p.expected("agtype value")
		}
		if err := p.next(); err != nil {
			return Value{}, err
		}
		name, err := p.suffix()
		if err != nil {
			return Value{}, err
		}
		switch {
		case name == "" || name == "float" && v.kind == Float:
			return v, nil
		case name == "numeric" && v.kind == Float:
			return ParseNumeric(w)
		}
		return Value{}, annotation("scalar")
	}
	return Value{}, p.expected("agtype value")
}

func annotatedString(s, name string) (Value, error) {
	switch name {
	case "":
		return NewString(s), nil
	case "numeric":
		return ParseNumeric(s)
	case "float":
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return Value{}, dberr.New(dberr.InvalidText, "invalid input syntax for type double precision: \"%s\"", s)
		}
		return NewFloat(f), nil
	case "int", "integer":
		i, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return Value{}, dberr.New(dberr.InvalidText, "invalid input syntax for type bigint: \"%s\"", s)
		}
		return NewInt(i), nil
	case "bytes":
		b, err := hex.DecodeString(strings.TrimPrefix(s, `\x`))
		if err != nil || !strings.HasPrefix(s, `\x`) {
			return Value{}, dberr.New(dberr.InvalidText, "invalid input syntax for type bytes: \"%s\"", s)
		}
		return NewBytes(b), nil
	}
	for k, n := range agtypeTemporal {
		if n == name {
			return ParseTemporal(k, s)
		}
	}
	return Value{}, annotation("scalar")
}

func annotatedNumber(t, name string) (Value, error) {
	switch name {
	case "numeric":
		return ParseNumeric(t)
	case "", "float", "int", "integer":
	default:
		return Value{}, annotation("scalar")
	}
	if strings.ContainsAny(t, ".eE") || name == "float" {
		f, err := strconv.ParseFloat(t, 64)
		if err != nil {
			return Value{}, dberr.New(dberr.NumericOutOfRange, "\"%s\" is out of range for type double precision", t)
		}
		if name == "int" || name == "integer" {
			if f = math.RoundToEven(f); !(f >= -1<<63 && f < 1<<63) {
				return Value{}, dberr.New(dberr.NumericOutOfRange, "bigint out of range")
			}
			return NewInt(int64(f)), nil
		}
		return NewFloat(f), nil
	}
	i, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		return Value{}, dberr.New(dberr.NumericOutOfRange, "value \"%s\" is out of range for type bigint", t)
	}
	return NewInt(i), nil
}

// ParseNumeric reads a decimal with its scale, NaN or ±Infinity.
func ParseNumeric(t string) (Value, error) {
	d, _, err := apd.NewFromString(strings.TrimSpace(t))
	if err != nil || d.Form == apd.NaNSignaling {
		return Value{}, dberr.New(dberr.InvalidText, "invalid input syntax for type numeric: \"%s\"", t)
	}
	if d.Form == apd.Finite {
		if d.Exponent > maxNumericExp || d.Exponent < -maxNumericScale || d.NumDigits() > maxNumericExp {
			return Value{}, dberr.New(dberr.NumericOutOfRange, "value overflows numeric format")
		}
		if d.Exponent > 0 { // 1e3 has scale 0: 1000
			ten := apd.New(1, d.Exponent)
			d.Coeff.Mul(&d.Coeff, new(apd.BigInt).Exp(apd.NewBigInt(10), apd.NewBigInt(int64(ten.Exponent)), nil))
			d.Exponent = 0
		}
	}
	return NewNumeric(d), nil
}

func (p *agParser) isPunct(c byte) bool { return p.tok == agPunct && p.text[p.start] == c }

func (p *agParser) array(depth int) (Value, error) {
	if err := p.next(); err != nil {
		return Value{}, err
	}
	var elems []Value
	for first := true; !p.isPunct(']'); first = false {
		if !first {
			if !p.isPunct(',') {
				return Value{}, p.expected(`"," or "]"`)
			}
			if err := p.next(); err != nil {
				return Value{}, err
			}
		} else if p.isPunct(',') || p.isPunct('}') || p.isPunct(':') || p.tok == agEnd {
			return Value{}, p.expected(`array element or "]"`)
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		elems = append(elems, v)
	}
	if err := p.next(); err != nil {
		return Value{}, err
	}
	switch name, err := p.suffix(); {
	case err != nil:
		return Value{}, err
	case name == "":
		return NewList(elems...), nil
	case name == "path":
		v := NewPath(elems...)
		if Validate(v) != nil {
			return Value{}, dberr.New(dberr.InvalidText, "array is not a valid path")
		}
		return v, nil
	}
	return Value{}, annotation("array")
}

func (p *agParser) object(depth int) (Value, error) {
	if err := p.next(); err != nil {
		return Value{}, err
	}
	m := NewMapBuilder()
	for first := true; !p.isPunct('}'); first = false {
		want := `string or "}"`
		if !first {
			if !p.isPunct(',') {
				return Value{}, p.expected(`"," or "}"`)
			}
			if err := p.next(); err != nil {
				return Value{}, err
			}
			want = "string"
		}
		if p.tok != agString {
			return Value{}, p.expected(want)
		}
		key := p.str
		if err := p.next(); err != nil {
			return Value{}, err
		}
		if !p.isPunct(':') {
			return Value{}, p.expected(`":"`)
		}
		if err := p.next(); err != nil {
			return Value{}, err
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		m.Put(key, v)
	}
	if err := p.next(); err != nil {
		return Value{}, err
	}
	v := m.Map()
	name, err := p.suffix()
	if err != nil {
		return Value{}, err
	}
	get := func(key string, k Kind) (Value, bool) {
		e, ok := v.Get(key)
		return e, ok && e.kind == k
	}
	switch name {
	case "":
		return v, nil
	case "vertex":
		id, ok1 := get("id", Int)
		label, ok2 := get("label", String)
		props, ok3 := get("properties", Map)
		if !ok1 || !ok2 || !ok3 || v.Len() != 3 {
			return Value{}, dberr.New(dberr.InvalidText, "object is not a vertex")
		}
		var labels []string
		if label.n > 0 {
			labels = []string{label.Str()}
		}
		return NewNodeFull(id.word, labels, props), nil
	case "edge":
		id, ok1 := get("id", Int)
		label, ok2 := get("label", String)
		props, ok3 := get("properties", Map)
		start, ok4 := get("start_id", Int)
		end, ok5 := get("end_id", Int)
		if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || v.Len() != 5 {
			return Value{}, dberr.New(dberr.InvalidText, "object is not an edge")
		}
		return NewRelFull(id.word, start.word, end.word, label.Str(), props), nil
	case "point":
		p, ok := pointOfMap(v)
		if !ok {
			return Value{}, dberr.New(dberr.InvalidText, "object is not a point")
		}
		return p, nil
	}
	return Value{}, annotation("object")
}
