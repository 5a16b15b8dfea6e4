package cypher

import (
	"unicode"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// Limits of rules C12, and what keeps a statement's tokens within some 64 MiB.
const (
	MaxText    = 16 << 20
	MaxNesting = 1000
	maxTokens  = 4 << 20
)

// Scanner yields the tokens of a text one by one. It allocates nothing.
type Scanner struct {
	text    string
	pos     int
	dialect Dialect
}

// Next skips white space and comments and returns the next token; at the end its kind is EOF. After an error the
// position is that of the fault.
func (s *Scanner) Next() (Token, error) {
	if err := s.skipSpace(); err != nil {
		return Token{}, err
	}
	t := Token{Start: int32(s.pos), Match: -1}
	if s.pos >= len(s.text) {
		t.End = t.Start
		return t, nil
	}
	c := s.text[s.pos]
	var err error
	switch {
	case isIdentStart(c):
		s.name()
		t.Kind, t.Keyword = Name, lookupKeyword(s.text[t.Start:s.pos])
	case c >= utf8.RuneSelf:
		r, size := utf8.DecodeRuneInString(s.text[s.pos:])
		if r == utf8.RuneError && size <= 1 {
			return t, dberr.Compile(dberr.InvalidEncoding, "InvalidUnicodeCharacter", s.pos, s.pos+1,
				"invalid byte 0x%02x: the text is not UTF-8", c)
		}
		if !unicode.IsLetter(r) && !unicode.Is(unicode.Nl, r) {
			return t, dberr.Compile(dberr.Syntax, "InvalidUnicodeCharacter", s.pos, s.pos+size,
				"unexpected character '%s' (U+%04X)", string(r), r).WithHint("Outside of strings and backticks only letters, digits and ASCII signs may stand.")
		}
		s.name()
		t.Kind = Name
	case c >= '0' && c <= '9', c == '.' && s.pos+1 < len(s.text) && isDigit(s.text[s.pos+1]):
		t.Kind, err = s.number()
	case c == '\'' || c == '"':
		t.Kind = String
		err = s.str(c)
	case c == '`':
		t.Kind, t.Quoted = Name, true
		err = s.backtick()
	case c == '$':
		t.Kind, err = s.dollar()
	default:
		t.Kind, err = s.punct(c)
	}
	t.End = int32(s.pos)
	return t, err
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isIdentStart(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

func isIdentByte(c byte) bool { return isIdentStart(c) || isDigit(c) }

// skipSpace passes white space, // and /* */ comments.
func (s *Scanner) skipSpace() error {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == ' ' || c >= '\t' && c <= '\r' || c >= 0x1c && c <= 0x1f:
			s.pos++
		case c == '/' && s.peek(1) == '/':
			for s.pos < len(s.text) && s.text[s.pos] != '\n' && s.text[s.pos] != '\r' {
				s.pos++
			}
		case c == '/' && s.peek(1) == '*':
			start := s.pos
			for s.pos += 2; ; s.pos++ {
				if s.pos+1 >= len(s.text) {
					s.pos = start
					return dberr.Compile(dberr.Syntax, "UnexpectedSyntax", start, len(s.text), "the comment that begins here is not closed: expected */")
				}
				if s.text[s.pos] == '*' && s.text[s.pos+1] == '/' {
					s.pos += 2
					break
				}
			}
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s.text[s.pos:])
			if r != '\uFEFF' && !unicode.IsSpace(r) && !unicode.Is(unicode.Zs, r) {
				return nil
			}
			s.pos += size
		default:
			return nil
		}
	}
	return nil
}

func (s *Scanner) peek(n int) byte {
	if s.pos+n < len(s.text) {
		return s.text[s.pos+n]
	}
	return 0
}

func (s *Scanner) name() {
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		if isIdentByte(c) {
			s.pos++
			continue
		}
		if c < utf8.RuneSelf {
			return
		}
		r, size := utf8.DecodeRuneInString(s.text[s.pos:])
		if !unicode.In(r, unicode.L, unicode.Nl, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc) {
			return
		}
		s.pos += size
	}
}

func (s *Scanner) number() (Kind, error) {
	start := s.pos
	kind := Integer
	if s.text[s.pos] == '0' && (s.peek(1)|0x20 == 'x' || s.peek(1)|0x20 == 'o') {
		s.pos += 2
		s.name() // digits are judged when the value is read
		return kind, nil
	}
	s.digits()
	if s.peek(0) == '.' && isDigit(s.peek(1)) {
		kind = Float
		s.pos++
		s.digits()
	}
	if s.peek(0)|0x20 == 'e' {
		n := 1
		if s.peek(n) == '+' || s.peek(n) == '-' {
			n++
		}
		if isDigit(s.peek(n)) {
			kind = Float
			s.pos += n
			s.digits()
		}
	}
	end := s.pos
	if s.name(); s.pos > end {
		stop := s.pos
		s.pos = start
		return kind, dberr.Compile(dberr.Syntax, "InvalidNumberLiteral", start, stop, "invalid number '%s': unexpected '%s' behind the digits",
			clip(s.text[start:stop]), clip(s.text[end:stop]))
	}
	return kind, nil
}

// digits passes decimal digits with single underscores between them.
func (s *Scanner) digits() {
	for isDigit(s.peek(0)) || s.peek(0) == '_' && isDigit(s.peek(1)) && s.pos > 0 && isDigit(s.text[s.pos-1]) {
		s.pos++
	}
}

// str passes a string; its escapes are judged when the value is read.
func (s *Scanner) str(quote byte) error {
	start := s.pos
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case '\\':
			s.pos++
		case quote:
			if s.dialect == AGE && s.peek(1) == quote {
				s.pos++
				continue
			}
			s.pos++
			return nil
		}
	}
	s.pos = start
	return dberr.Compile(dberr.Syntax, "UnexpectedSyntax", start, len(s.text), "the string that begins here is not closed: expected %c", quote).
		WithHint("A quote inside a string is written \\%c.", quote)
}

func (s *Scanner) backtick() error {
	start := s.pos
	for s.pos++; s.pos < len(s.text); s.pos++ {
		if s.text[s.pos] == '`' {
			if s.peek(1) == '`' {
				s.pos++
				continue
			}
			s.pos++
			if s.pos-start == 2 {
				s.pos = start
				return dberr.Compile(dberr.Syntax, "UnexpectedSyntax", start, start+2, "a name in backticks must not be empty")
			}
			return nil
		}
	}
	s.pos = start
	return dberr.Compile(dberr.Syntax, "UnexpectedSyntax", start, len(s.text), "the name that begins here is not closed: expected `")
}

func (s *Scanner) dollar() (Kind, error) {
	s.pos++
	switch c := s.peek(0); {
	case c == '`':
		return Parameter, s.backtick()
	case isDigit(c):
		start := s.pos - 1
		s.name()
		for _, d := range []byte(s.text[start+1 : s.pos]) {
			if !isDigit(d) {
				stop := s.pos
				s.pos = start
				return Parameter, dberr.Compile(dberr.Syntax, "UnexpectedSyntax", start, stop,
					"invalid parameter '%s': a name begins with a letter, a number has digits only", clip(s.text[start:stop]))
			}
		}
		return Parameter, nil
	case isIdentStart(c):
		s.name()
		return Parameter, nil
	case c >= utf8.RuneSelf:
		if r, _ := utf8.DecodeRuneInString(s.text[s.pos:]); unicode.IsLetter(r) {
			s.name()
			return Parameter, nil
		}
	}
	return Dollar, nil
}

func (s *Scanner) punct(c byte) (Kind, error) {
	next := s.peek(1)
	two := func(k Kind) (Kind, error) { s.pos += 2; return k, nil }
	one := func(k Kind) (Kind, error) { s.pos++; return k, nil }
	switch c {
	case '(':
		return one(LParen)
	case ')':
		return one(RParen)
	case '[':
		return one(LBracket)
	case ']':
		return one(RBracket)
	case '{':
		return one(LBrace)
	case '}':
		return one(RBrace)
	case ',':
		return one(Comma)
	case ';':
		return one(Semicolon)
	case '.':
		if next == '.' {
			return two(DotDot)
		}
		return one(Dot)
	case ':':
		if next == ':' {
			return two(DoubleColon)
		}
		return one(Colon)
	case '|':
		if next == '|' {
			return two(DoubleBar)
		}
		return one(Bar)
	case '&':
		return one(Amp)
	case '!':
		if next == '=' {
			return two(NotEq)
		}
		return one(Bang)
	case '%':
		return one(Percent)
	case '+':
		if next == '=' {
			return two(PlusEq)
		}
		return one(Plus)
	case '-':
		return one(Minus)
	case '*':
		return one(Star)
	case '/':
		return one(Slash)
	case '^':
		return one(Caret)
	case '=':
		if next == '~' {
			return two(RegexEq)
		}
		return one(Eq)
	case '<':
		switch next {
		case '=':
			return two(LtEq)
		case '>':
			return two(NotEq)
		}
		return one(Lt)
	case '>':
		if next == '=' {
			return two(GtEq)
		}
		return one(Gt)
	}
	return EOF, dberr.Compile(dberr.Syntax, "UnexpectedSyntax", s.pos, s.pos+1, "unexpected character '%s'", string(rune(c)))
}

// Lex returns the tokens of one statement or more, the last of kind EOF. Brackets know their partners; a bracket
// without one has Match -1.
func Lex(text string, dialect Dialect) ([]Token, error) {
	return lexInto(make([]Token, 0, len(text)/4+8), text, dialect)
}

func lexInto(toks []Token, text string, dialect Dialect) ([]Token, error) {
	if len(text) > MaxText {
		return toks, dberr.Compile(dberr.LimitExceeded, "", 0, 0, "the statement has %d bytes: at most %d are read", len(text), MaxText)
	}
	s := Scanner{text: text, dialect: dialect}
	var open []int32
	for {
		t, err := s.Next()
		if err != nil {
			return toks, err
		}
		if len(toks) >= maxTokens {
			return toks, dberr.Compile(dberr.LimitExceeded, "", int(t.Start), int(t.End), "the statement has more than %d words and signs", maxTokens).
				WithHint("Give large lists as parameters.")
		}
		switch t.Kind {
		case LParen, LBracket, LBrace:
			if len(open) >= MaxNesting {
				return toks, tooDeep(int(t.Start), int(t.End))
			}
			open = append(open, int32(len(toks)))
		case RParen, RBracket, RBrace:
			// Each closing kind follows its opening kind in the list of kinds. A wrong partner leaves both without
			// one; the parser then says what it expected there.
			if n := len(open); n > 0 {
				if o := open[n-1]; toks[o].Kind+1 == t.Kind {
					t.Match = o
					toks[o].Match = int32(len(toks))
				}
				open = open[:n-1]
			}
		}
		toks = append(toks, t)
		if t.Kind == EOF {
			return toks, nil
		}
	}
}

func tooDeep(pos, end int) *dberr.Error {
	return dberr.Compile(dberr.StatementTooComplex, "StatementTooComplex", pos, end, "the statement is nested deeper than %d levels", MaxNesting)
}

// clip shortens text for a message.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
