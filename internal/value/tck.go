package value

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// AppendTCK appends the notation of openCypher's result tables: (:Label {key: 'value'}), [:TYPE {…}], <path>, temporals as strings.
// The shell prints it.
func AppendTCK(dst []byte, v Value) []byte {
	switch v.kind {
	case Bool:
		return strconv.AppendBool(dst, v.Bool())
	case Int:
		return strconv.AppendInt(dst, v.Int(), 10)
	case Float:
		switch f := v.Float(); {
		case math.IsInf(f, 1):
			return append(dst, "Inf"...)
		case math.IsInf(f, -1):
			return append(dst, "-Inf"...)
		default:
			return AppendFloat(dst, f)
		}
	case Numeric:
		return AppendNumeric(dst, v)
	case String:
		return appendSingleQuoted(dst, v.Str())
	case List:
		dst = append(dst, '[')
		for i, e := range v.All() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = AppendTCK(dst, e)
		}
		return append(dst, ']')
	case Map:
		return appendTCKMap(dst, v)
	case Node:
		dst = append(dst, '(')
		if !v.Materialised() {
			return append(strconv.AppendUint(append(dst, '#'), v.word, 10), ')')
		}
		labels := v.Labels()
		for _, l := range labels {
			dst = append(append(dst, ':'), QuoteName(l)...)
		}
		if p := v.Properties(); p.Len() > 0 {
			if len(labels) > 0 {
				dst = append(dst, ' ')
			}
			dst = appendTCKMap(dst, p)
		}
		return append(dst, ')')
	case Rel:
		if !v.Materialised() {
			return append(strconv.AppendUint(append(dst, "[#"...), v.word, 10), ']')
		}
		dst = append(append(dst, "[:"...), QuoteName(v.RelType())...)
		if p := v.Properties(); p.Len() > 0 {
			dst = appendTCKMap(append(dst, ' '), p)
		}
		return append(dst, ']')
	case Path:
		dst = append(dst, '<')
		prev := uint64(0)
		forward := true
		for i, e := range v.All() {
			if i%2 == 0 {
				if i > 0 {
					if forward {
						dst = append(dst, "->"...)
					} else {
						dst = append(dst, '-')
					}
				}
				prev = e.word
				dst = AppendTCK(dst, e)
				continue
			}
			if forward = !e.Materialised() || e.Start() == prev; forward {
				dst = append(dst, '-')
			} else {
				dst = append(dst, "<-"...)
			}
			dst = AppendTCK(dst, e)
		}
		return append(dst, '>')
	case Point:
		dst = append(dst, "point({srid: "...)
		dst = strconv.AppendUint(dst, uint64(v.SRID()), 10)
		c, n := v.coords()
		for i, f := range c[:n] {
			dst = append(append(append(dst, ", "...), "xyz"[i]), ": "...)
			dst = AppendFloat(dst, f)
		}
		return append(dst, "})"...)
	case Bytes:
		return appendSingleQuoted(dst, "0x"+hexText(v.Raw()))
	}
	if v.kind.IsTemporal() {
		return append(AppendTemporal(append(dst, '\''), v), '\'')
	}
	return append(dst, "null"...)
}

func hexText(b []byte) string {
	const hex = "0123456789abcdef"
	out := make([]byte, 0, 2*len(b))
	for _, c := range b {
		out = append(out, hex[c>>4], hex[c&15])
	}
	return string(out)
}

func appendTCKMap(dst []byte, v Value) []byte {
	dst = append(dst, '{')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		k, e := v.Entry(i)
		dst = AppendTCK(append(append(dst, QuoteName(k)...), ": "...), e)
	}
	return append(dst, '}')
}

func appendSingleQuoted(dst []byte, s string) []byte {
	dst = append(dst, '\'')
	for i := 0; i < len(s); i++ {
		if s[i] == '\'' || s[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '\'')
}

// QuoteName returns a Cypher name, in backticks if it is not a plain identifier.
func QuoteName(s string) string {
	plain := s != ""
	for i, r := range s {
		if !(r == '_' || r|0x20 >= 'a' && r|0x20 <= 'z' || r >= 0x80 && r != utf8.RuneError || i > 0 && r >= '0' && r <= '9') {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	return "`" + strings.ReplaceAll(s, "`", "``") + "`"
}

// ParseTCK reads the notation. Nodes and relationships are materialised with ids that only tell the elements of one path apart.
func ParseTCK(text string) (Value, error) {
	p := tckParser{s: text}
	v, err := p.value(0)
	if err != nil {
		return Value{}, err
	}
	if p.space(); p.i != len(p.s) {
		return Value{}, p.fail()
	}
	return v, nil
}

type tckParser struct {
	s   string
	i   int
	ids uint64
}

func (p *tckParser) fail() error {
	return dberr.New(dberr.InvalidText, "malformed value at offset %d of %q", p.i, p.s)
}

func (p *tckParser) space() {
	for p.i < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.i]) >= 0 {
		p.i++
	}
}

func (p *tckParser) eat(tok string) bool {
	p.space()
	if strings.HasPrefix(p.s[p.i:], tok) {
		p.i += len(tok)
		return true
	}
	return false
}

func (p *tckParser) name() (string, bool) {
	p.space()
	if p.eat("`") {
		var b []byte
		for p.i < len(p.s) {
			c := p.s[p.i]
			p.i++
			if c == '`' {
				if !strings.HasPrefix(p.s[p.i:], "`") {
					return string(b), true
				}
				p.i++
			}
			b = append(b, c)
		}
		return "", false
	}
	from := p.i
	for p.i < len(p.s) && (isWordByte(p.s[p.i]) || p.s[p.i] == '$') {
		p.i++
	}
	return p.s[from:p.i], p.i > from
}

func (p *tckParser) value(depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, dberr.New(dberr.StatementTooComplex, "value is nested too deeply")
	}
	p.space()
	if p.i == len(p.s) {
		return Value{}, p.fail()
	}
	switch c := p.s[p.i]; {
	case c == '(':
		return p.node(depth)
	case c == '<':
		p.i++
		prev, err := p.node(depth)
		if err != nil {
			return Value{}, err
		}
		elems := []Value{prev}
		for !p.eat(">") {
			back := p.eat("<-")
			if !back && !p.eat("-") {
				return Value{}, p.fail()
			}
			typ, props, err := p.rel(depth)
			if err != nil {
				return Value{}, err
			}
			if back && !p.eat("-") || !back && !p.eat("->") {
				return Value{}, p.fail()
			}
			next, err := p.node(depth)
			if err != nil {
				return Value{}, err
			}
			p.ids++
			from, to := prev.word, next.word
			if back {
				from, to = to, from
			}
			elems = append(elems, NewRelFull(p.ids, from, to, typ, props), next)
			prev = next
		}
		return NewPath(elems...), nil
	case c == '[':
		save := p.i
		p.i++
		if p.eat(":") {
			p.i = save
			typ, props, err := p.rel(depth)
			p.ids++
			return NewRelFull(p.ids, 0, 0, typ, props), err
		}
		var elems []Value
		for !p.eat("]") {
			if len(elems) > 0 && !p.eat(",") {
				return Value{}, p.fail()
			}
			v, err := p.value(depth + 1)
			if err != nil {
				return Value{}, err
			}
			elems = append(elems, v)
		}
		return NewList(elems...), nil
	case c == '{':
		return p.mapLit(depth)
	case c == '\'':
		var b []byte
		for p.i++; p.i < len(p.s); p.i++ {
			switch c := p.s[p.i]; {
			case c == '\'':
				p.i++
				return NewString(string(b)), nil
			case c == '\\' && p.i+1 < len(p.s) && (p.s[p.i+1] == '\'' || p.s[p.i+1] == '\\'):
				p.i++
				b = append(b, p.s[p.i])
			default:
				b = append(b, c)
			}
		}
		return Value{}, p.fail()
	}
	if p.eat("point(") {
		return p.point(depth)
	}
	from := p.i
	for p.i < len(p.s) && (isWordByte(p.s[p.i]) || strings.IndexByte("+-.", p.s[p.i]) >= 0) {
		p.i++
	}
	switch w := p.s[from:p.i]; w {
	case "true", "false":
		return NewBool(w == "true"), nil
	case "null":
		return Value{}, nil
	case "NaN":
		return NewFloat(math.NaN()), nil
	case "Inf":
		return NewFloat(math.Inf(1)), nil
	case "-Inf":
		return NewFloat(math.Inf(-1)), nil
	default:
		if i, err := strconv.ParseInt(w, 10, 64); err == nil {
			return NewInt(i), nil
		}
		if f, err := strconv.ParseFloat(w, 64); err == nil {
			return NewFloat(f), nil
		}
		p.i = from
		return Value{}, p.fail()
	}
}

// point reads what AppendTCK writes: point({srid: 7203, x: 1.0, y: 2.0}).
func (p *tckParser) point(depth int) (Value, error) {
	m, err := p.mapLit(depth)
	if err != nil {
		return Value{}, err
	}
	if !p.eat(")") {
		return Value{}, p.fail()
	}
	v, ok := pointOfMap(m)
	if !ok {
		return Value{}, p.fail()
	}
	return v, nil
}

// pointOfMap makes a point from a map of exactly srid, x, y and perhaps z.
func pointOfMap(m Value) (Value, bool) {
	srid, ok := m.Get("srid")
	if !ok || srid.kind != Int || srid.Int() < 0 || srid.Int() > math.MaxUint32 {
		return Value{}, false
	}
	var c []float64
	for _, k := range []string{"x", "y", "z"} {
		switch e, has := m.Get(k); {
		case has && e.kind == Float:
			c = append(c, e.Float())
		case has && e.kind == Int:
			c = append(c, float64(e.Int()))
		}
	}
	if m.Len() != len(c)+1 {
		return Value{}, false
	}
	v, err := MakePoint(uint32(srid.Int()), c...)
	return v, err == nil
}

func (p *tckParser) mapLit(depth int) (Value, error) {
	if !p.eat("{") {
		return Value{}, p.fail()
	}
	m := NewMapBuilder()
	for !p.eat("}") {
		if m.Len() > 0 && !p.eat(",") {
			return Value{}, p.fail()
		}
		k, ok := p.name()
		if !ok || !p.eat(":") {
			return Value{}, p.fail()
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		m.Put(k, v)
	}
	return m.Map(), nil
}

func (p *tckParser) props(depth int) (Value, error) {
	if p.space(); p.i < len(p.s) && p.s[p.i] == '{' {
		return p.mapLit(depth)
	}
	return Value{kind: Map}, nil
}

func (p *tckParser) node(depth int) (Value, error) {
	if !p.eat("(") {
		return Value{}, p.fail()
	}
	var labels []string
	for p.eat(":") {
		l, ok := p.name()
		if !ok {
			return Value{}, p.fail()
		}
		labels = append(labels, l)
	}
	props, err := p.props(depth)
	if err == nil && !p.eat(")") {
		err = p.fail()
	}
	p.ids++
	return NewNodeFull(p.ids, labels, props), err
}

func (p *tckParser) rel(depth int) (typ string, props Value, err error) {
	if !p.eat("[") || !p.eat(":") {
		return "", Value{}, p.fail()
	}
	typ, ok := p.name()
	if !ok {
		return "", Value{}, p.fail()
	}
	if props, err = p.props(depth); err == nil && !p.eat("]") {
		err = p.fail()
	}
	return typ, props, err
}
