package sql

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// name returns the name that a Word stands for.
func (p *parser) name(t *Token) string {
	src := p.src(t)
	if !t.Quoted {
		return truncateName(foldName(src))
	}
	if t.Unicode {
		name := p.unicodeEscapes(t, strings.ReplaceAll(src[3:len(src)-1], `""`, `"`))
		p.checkText(t, name)
		return truncateName(name)
	}
	name := src[1 : len(src)-1]
	if strings.IndexByte(name, '"') >= 0 {
		name = strings.ReplaceAll(name, `""`, `"`)
	}
	p.checkText(t, name)
	return truncateName(name)
}

// foldName turns ASCII capitals into small letters.
func foldName(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// truncateName cuts a name to 63 bytes, between characters.
func truncateName(s string) string {
	if len(s) <= maxName {
		return s
	}
	n := maxName
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// stringLit reads a string token of any form; for U&” a UESCAPE may follow.
func (p *parser) stringLit() *StringLit {
	t := p.next()
	l := &StringLit{Span: t.span(), Form: t.Form}
	src := p.src(t)
	switch t.Form {
	case DollarString:
		tag := strings.IndexByte(src[1:], '$') + 2
		l.Value, l.Body = src[tag:len(src)-tag], t.Start+int32(tag)
	case EscapeString:
		l.Value = p.escapes(t, parts(src[1:], true))
	case UnicodeString:
		l.Value = p.unicodeEscapes(t, parts(src[2:], false))
		l.Span = p.from(t.Start)
	default:
		if src[0] != '\'' { // N'…'
			src = src[1:]
		}
		l.Value = parts(src, false)
	}
	p.checkText(t, l.Value)
	return l
}

// checkText refuses what is not UTF-8, and the byte 0, which PostgreSQL's text cannot hold.
func (p *parser) checkText(t *Token, s string) {
	if strings.IndexByte(s, 0) >= 0 {
		p.fail(dberr.Compile(dberr.InvalidEncoding, "", int(t.Start), int(t.End), `invalid byte sequence for encoding "UTF8": 0x00`))
	}
	if !utf8.ValidString(s) {
		p.fail(dberr.Compile(dberr.InvalidEncoding, "", int(t.Start), int(t.End), `invalid byte sequence for encoding "UTF8"`))
	}
}

// parts joins the parts of a string that goes on over several lines and undoubles its quotes; escapes keeps backslashes
// and what follows them as they are.
func parts(src string, escapes bool) string {
	body := src[1 : len(src)-1]
	if strings.IndexByte(body, '\'') < 0 {
		return body
	}
	var b strings.Builder
	b.Grow(len(body))
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case escapes && c == '\\':
			b.WriteByte(c)
			i++
			b.WriteByte(body[i])
		case c != '\'':
			b.WriteByte(c)
		case body[i+1] == '\'':
			b.WriteByte(c)
			i++
		default: // the end of a part: go on behind the next quote that is not in a comment
			for i++; body[i] != '\''; i++ {
				if body[i] == '-' {
					for body[i] != '\n' && body[i] != '\r' {
						i++
					}
				}
			}
		}
	}
	return b.String()
}

// escapes resolves the backslashes of E'…'.
func (p *parser) escapes(t *Token, s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	invalid := func(what string) {
		p.fail(nearError(p.text, what, int(t.Start), int(t.End)))
	}
	var b strings.Builder
	b.Grow(len(s))
	var high rune
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			if high != 0 {
				invalid("invalid Unicode surrogate pair")
			}
			b.WriteByte(s[i])
			continue
		}
		i++
		c := s[i]
		if high != 0 && c != 'u' && c != 'U' {
			invalid("invalid Unicode surrogate pair")
		}
		switch c {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'v':
			b.WriteByte('\v')
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v := 0
			n := 0
			for n < 3 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7' {
				v = v<<3 | int(s[i+n]-'0')
				n++
			}
			i += n - 1
			b.WriteByte(byte(v))
		case 'x':
			n := 0
			for n < 2 && i+1+n < len(s) && hexDigit(s[i+1+n]) >= 0 {
				n++
			}
			if n == 0 {
				b.WriteByte(c)
				break
			}
			v, _ := strconv.ParseUint(s[i+1:i+1+n], 16, 8)
			i += n
			b.WriteByte(byte(v))
		case 'u', 'U':
			n := 4
			if c == 'U' {
				n = 8
			}
			r, ok := hexRune(s, i+1, n)
			if !ok {
				invalid("invalid Unicode escape")
			}
			i += n
			switch {
			case high != 0:
				if r < 0xDC00 || r > 0xDFFF {
					invalid("invalid Unicode surrogate pair")
				}
				b.WriteRune((high-0xD800)<<10 + (r - 0xDC00) + 0x10000)
				high = 0
			case r >= 0xD800 && r < 0xDC00:
				high = r
			case !utf8.ValidRune(r):
				invalid("invalid Unicode escape value")
			default:
				b.WriteRune(r)
			}
		default:
			b.WriteByte(c)
		}
	}
	if high != 0 {
		invalid("invalid Unicode surrogate pair")
	}
	return b.String()
}

// unicodeEscapes resolves \XXXX and \+XXXXXX of U&'…' and U&"…", and reads UESCAPE.
func (p *parser) unicodeEscapes(t *Token, s string) string {
	esc := byte('\\')
	if p.tok() != t && p.acceptKw(kUESCAPE) {
		u := p.tok()
		if u.Kind != String || u.Form != PlainString {
			p.syntax()
		}
		v := p.stringLit().Value
		if len(v) != 1 || hexDigit(v[0]) >= 0 || v[0] == '+' || v[0] == '\'' || v[0] == '"' || isSpace(v[0]) {
			p.fail(nearError(p.text, "invalid Unicode escape character", int(u.Start), int(u.End)))
		}
		esc = v[0]
	}
	if strings.IndexByte(s, esc) < 0 {
		return s
	}
	invalid := func(what string) { p.fail(nearError(p.text, what, int(t.Start), int(t.End))) }
	var b strings.Builder
	var high rune
	for i := 0; i < len(s); i++ {
		if s[i] != esc || i+1 < len(s) && s[i+1] == esc {
			if high != 0 {
				invalid("invalid Unicode surrogate pair")
			}
			if s[i] == esc {
				i++
			}
			b.WriteByte(s[i])
			continue
		}
		n := 4
		if i+1 < len(s) && s[i+1] == '+' {
			n = 6
			i++
		}
		r, ok := hexRune(s, i+1, n)
		if !ok {
			invalid("invalid Unicode escape")
		}
		i += n
		switch {
		case high != 0:
			if r < 0xDC00 || r > 0xDFFF {
				invalid("invalid Unicode surrogate pair")
			}
			b.WriteRune((high-0xD800)<<10 + (r - 0xDC00) + 0x10000)
			high = 0
		case r >= 0xD800 && r < 0xDC00:
			high = r
		case !utf8.ValidRune(r):
			invalid("invalid Unicode escape value")
		default:
			b.WriteRune(r)
		}
	}
	if high != 0 {
		invalid("invalid Unicode surrogate pair")
	}
	return b.String()
}

func hexDigit(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

func hexRune(s string, i, digits int) (rune, bool) {
	if i+digits > len(s) {
		return 0, false
	}
	var r uint32
	for _, c := range []byte(s[i : i+digits]) {
		d := hexDigit(c)
		if d < 0 {
			return 0, false
		}
		r = r<<4 | uint32(d)
	}
	if r > utf8.MaxRune {
		return utf8.MaxRune + 1, true
	}
	return rune(r), true
}

// number reads an integer or numeric constant.
func (p *parser) number() Expr {
	t := p.next()
	src := p.src(t)
	if t.Kind == Integer {
		if v, err := strconv.ParseInt(src, 10, 64); err == nil {
			return &IntLit{t.span(), v}
		}
	}
	return &NumericLit{t.span(), src}
}

// intConst reads an integer that fits an int.
func (p *parser) intConst() int64 {
	t := p.tok()
	if t.Kind != Integer {
		p.syntax()
	}
	v, err := strconv.ParseInt(p.src(t), 10, 32)
	if err != nil {
		p.fail(nearError(p.text, "integer out of range", int(t.Start), int(t.End)))
	}
	p.i++
	return v
}

// negate puts a minus sign before a constant, or returns nil.
func negate(x Expr) Expr {
	switch x := x.(type) {
	case *IntLit:
		if x.Value > 0 || x.Value == 0 {
			return &IntLit{x.Span, -x.Value}
		}
	case *NumericLit:
		switch {
		case x.Text == "9223372036854775808":
			return &IntLit{x.Span, -1 << 63}
		case x.Text[0] != '-':
			return &NumericLit{x.Span, "-" + x.Text}
		}
	}
	return nil
}
