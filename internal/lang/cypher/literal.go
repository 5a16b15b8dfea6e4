package cypher

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// integer turns a token into a literal; the sign belongs to it, so that -9223372036854775808 can be said.
func (p *parser) integer(t *Token, start int32, neg bool) Expr {
	span := Span{start, t.End}
	v, ok, err := IntegerValue(p.src(t), neg)
	switch {
	case err != "":
		p.errorAt(span, "InvalidNumberLiteral", "invalid number '%s': %s", clip(p.src(t)), err)
	case !ok && p.dialect == AGE:
		if f, err := strconv.ParseFloat(p.src(t), 64); err == nil {
			if neg {
				f = -f
			}
			return &FloatLit{span, f}
		}
		fallthrough
	case !ok:
		p.errorAt(span, "IntegerOverflow", "integer %s is too large: integers have 64 bits", clip(p.text[span.Start:span.Stop]))
	}
	return &IntLit{span, v}
}

// IntegerValue reads an integer token: decimal, 0x hexadecimal, 0o octal, or octal by a leading zero, with underscores
// between digits. ok is false if the value does not fit 64 bits; problem says what is wrong with the digits.
func IntegerValue(src string, neg bool) (v int64, ok bool, problem string) {
	base, digits := uint64(10), src
	if len(src) > 1 && src[0] == '0' {
		switch src[1] | 0x20 {
		case 'x':
			base, digits = 16, src[2:]
		case 'o':
			base, digits = 8, src[2:]
		default:
			base, digits = 8, src[1:]
		}
	}
	if digits == "" {
		return 0, false, "digits are missing"
	}
	var n uint64
	ok = true
	for i := 0; i < len(digits); i++ {
		c := digits[i]
		var d uint64
		switch {
		case c >= '0' && c <= '9':
			d = uint64(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			d = uint64(c|0x20-'a') + 10
		case c == '_' && i > 0 && i < len(digits)-1 && digits[i-1] != '_':
			continue
		default:
			d = base
		}
		if d >= base {
			r, _ := utf8.DecodeRuneInString(digits[i:])
			return 0, false, "'" + string(r) + "' is not a digit to base " + strconv.Itoa(int(base))
		}
		if n > (math.MaxUint64-d)/base {
			ok = false
			continue
		}
		n = n*base + d
	}
	switch {
	case !ok:
		return 0, false, ""
	case neg && n <= 1<<63:
		return -int64(n), true, ""
	case neg || n > math.MaxInt64:
		return 0, false, ""
	}
	return int64(n), true, ""
}

func (p *parser) float(t *Token, start int32, neg bool) Expr {
	src := p.src(t)
	f, err := strconv.ParseFloat(strings.ReplaceAll(src, "_", ""), 64)
	if err != nil && math.IsInf(f, 0) {
		p.errorAt(Span{start, t.End}, "FloatingPointOverflow", "number %s is too large for a float", clip(src))
	}
	if neg {
		f = -f
	}
	return &FloatLit{Span{start, t.End}, f}
}

// stringValue resolves the escapes of a string token.
func (p *parser) stringValue(t *Token) string {
	s, at, n, token, problem := StringValue(p.src(t), p.dialect)
	if problem != "" {
		err := dberr.Compile(dberr.Syntax, token, int(t.Start)+at, int(t.Start)+at+n, "%s", problem)
		if token == "UnexpectedSyntax" {
			err.WithHint(`A backslash is written \\.`)
		}
		p.fail(ageText(err, p.text))
	}
	return s
}

// StringValue resolves the escapes of a string token, quotes included. On a fault it returns the span of the escape
// within src, the TCK's token and what is wrong.
func StringValue(src string, dialect Dialect) (s string, at, n int, token, problem string) {
	quote := src[0]
	body := src[1 : len(src)-1]
	if strings.IndexByte(body, '\\') < 0 && (dialect != AGE || strings.IndexByte(body, quote) < 0) {
		return body, 0, 0, "", ""
	}
	var b strings.Builder
	b.Grow(len(body))
	for i := 0; i < len(body); {
		c := body[i]
		if c == quote { // doubled: the scanner saw to it
			b.WriteByte(quote)
			i += 2
			continue
		}
		if c != '\\' {
			j := i + 1
			for j < len(body) && body[j] != '\\' && body[j] != quote {
				j++
			}
			b.WriteString(body[i:j])
			i = j
			continue
		}
		e := body[i+1]
		i += 2
		switch e {
		case '\\', '\'', '"', '`', '/':
			b.WriteByte(e)
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
		case 'u', 'U':
			digits := 4
			if e == 'U' {
				digits = 8
			}
			r, ok := hexRune(body, i, digits)
			if !ok {
				n := min(2+digits, len(body)-i+2)
				return "", i - 1, n, "InvalidUnicodeLiteral",
					"invalid escape " + clip(body[i-2:i-2+n]) + ": expected " + strconv.Itoa(digits) + " hexadecimal digits"
			}
			i += digits
			if r >= 0xD800 && r < 0xDC00 && e == 'u' && strings.HasPrefix(body[i:], `\u`) {
				if low, ok := hexRune(body, i+2, 4); ok && low >= 0xDC00 && low < 0xE000 {
					r = (r-0xD800)<<10 + (low - 0xDC00) + 0x10000
					i += 6
				}
			}
			if !utf8.ValidRune(r) {
				return "", i - digits - 1, digits + 2, "InvalidUnicodeLiteral",
					"invalid escape " + body[i-digits-2:i] + ": it is not a Unicode character"
			}
			b.WriteRune(r)
		default:
			_, size := utf8.DecodeRuneInString(body[i-1:])
			return "", i - 1, 1 + size, "UnexpectedSyntax", "unknown escape " + body[i-2:i-1+size] + " in a string"
		}
	}
	return b.String(), 0, 0, "", ""
}

func hexRune(s string, i, digits int) (rune, bool) {
	if i+digits > len(s) {
		return 0, false
	}
	var r uint32
	for _, c := range []byte(s[i : i+digits]) {
		switch {
		case isDigit(c):
			r = r<<4 | uint32(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | uint32(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	if r > utf8.MaxRune {
		return utf8.MaxRune + 1, true
	}
	return rune(r), true
}
