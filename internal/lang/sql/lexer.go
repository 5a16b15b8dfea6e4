package sql

import (
	"strings"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// Limits of rules C12, and what keeps a statement's tokens within some 64 MiB.
const (
	MaxText    = 16 << 20
	MaxNesting = 1000
	maxTokens  = 4 << 20
	maxName    = 63 // bytes of a name; the rest is cut off, as PostgreSQL does
)

// Kind is the kind of a token.
type Kind uint8

const (
	EOF    Kind = iota
	Word        // identifier or keyword, also in double quotes
	String      // any form of string; see StringForm
	Bits        // B'101' or X'1F'
	Integer
	Number // with a point or an exponent
	Parameter
	Op // operator, also the single signs + - * / % ^ < > =
	LParen
	RParen
	LBracket
	RBracket
	Comma
	Semicolon
	Colon
	Dot
	DotDot
	TypeCast // ::
	ColonEq  // :=
	Arrow    // =>
)

// Token is a piece of the text. Text[Start:End] is its source.
type Token struct {
	Kind    Kind
	Form    StringForm // of a String
	Quoted  bool       // a Word in double quotes
	Unicode bool       // a quoted Word written U&"…"
	Keyword Keyword    // of a Word that is not quoted
	Start   int32
	End     int32
}

// Scanner yields the tokens of a text one by one. It allocates nothing.
type Scanner struct {
	text string
	pos  int
}

func (s *Scanner) peek(n int) byte {
	if s.pos+n < len(s.text) {
		return s.text[s.pos+n]
	}
	return 0
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWordStart(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= utf8.RuneSelf
}
func isWordByte(c byte) bool { return isWordStart(c) || isDigit(c) || c == '$' }

func isOpByte(c byte) bool { return strings.IndexByte("+-*/<>=~!@#%^&|`?", c) >= 0 }

// near is the text of PostgreSQL's scanner and parser errors. From pos to the end of the token or, where a token is not
// closed, of the text.
func (s *Scanner) near(what string, pos, end int) *dberr.Error {
	return nearError(s.text, what, pos, end)
}

func nearError(text, what string, pos, end int) *dberr.Error {
	if pos >= len(text) {
		return dberr.Compile(dberr.Syntax, "UnexpectedSyntax", pos, pos, "%s at end of input", what)
	}
	return dberr.Compile(dberr.Syntax, "UnexpectedSyntax", pos, end, `%s at or near "%s"`, what, clip(text[pos:end]))
}

// clip shortens text for a message.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// Next skips white space and comments and returns the next token; at the end its kind is EOF. After an error the
// position is that of the fault.
func (s *Scanner) Next() (Token, error) {
	if err := s.skipSpace(); err != nil {
		return Token{}, err
	}
	t := Token{Start: int32(s.pos)}
	if s.pos >= len(s.text) {
		t.End = t.Start
		return t, nil
	}
	c := s.text[s.pos]
	next := s.peek(1)
	var err error
	switch {
	case next == '\'' && (c|0x20 == 'e' || c|0x20 == 'n' || c|0x20 == 'b' || c|0x20 == 'x'):
		s.pos++
		switch c | 0x20 {
		case 'e':
			t.Kind, t.Form = String, EscapeString
		case 'n':
			t.Kind = String
		default:
			t.Kind = Bits
		}
		err = s.quoted(int(t.Start), t.Form == EscapeString)
	case c|0x20 == 'u' && next == '&' && (s.peek(2) == '\'' || s.peek(2) == '"'):
		s.pos += 2
		if s.text[s.pos] == '"' {
			t.Kind, t.Quoted, t.Unicode = Word, true, true
			err = s.delimited(int(t.Start))
		} else {
			t.Kind, t.Form = String, UnicodeString
			err = s.quoted(int(t.Start), false)
		}
	case isWordStart(c):
		for s.pos < len(s.text) && isWordByte(s.text[s.pos]) {
			s.pos++
		}
		if !utf8.ValidString(s.text[t.Start:s.pos]) {
			return t, s.invalidUTF8(int(t.Start))
		}
		t.Kind, t.Keyword = Word, lookupKeyword(s.text[t.Start:s.pos])
	case isDigit(c), c == '.' && isDigit(next):
		t.Kind, err = s.number()
	case c == '\'':
		t.Kind = String
		err = s.quoted(s.pos, false)
	case c == '"':
		t.Kind, t.Quoted = Word, true
		err = s.delimited(s.pos)
	case c == '$':
		t.Kind, err = s.dollar()
		if t.Kind == String {
			t.Form = DollarString
		}
	default:
		t.Kind, err = s.punct(c, next)
	}
	t.End = int32(s.pos)
	return t, err
}

func (s *Scanner) invalidUTF8(from int) error {
	for i := from; i < len(s.text); {
		r, size := utf8.DecodeRuneInString(s.text[i:])
		if r == utf8.RuneError && size <= 1 {
			s.pos = i
			return dberr.Compile(dberr.InvalidEncoding, "", i, i+1, `invalid byte sequence for encoding "UTF8": 0x%02x`, s.text[i])
		}
		i += size
	}
	return nil
}

// skipSpace passes white space, -- comments and nested /* */ comments.
func (s *Scanner) skipSpace() error {
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		switch {
		case isSpace(c):
			s.pos++
		case c == '-' && s.peek(1) == '-':
			for s.pos < len(s.text) && s.text[s.pos] != '\n' && s.text[s.pos] != '\r' {
				s.pos++
			}
		case c == '/' && s.peek(1) == '*':
			start := s.pos
			s.pos += 2
			for depth := 1; depth > 0; {
				switch {
				case s.pos+1 >= len(s.text):
					s.pos = start
					return s.near("unterminated /* comment", start, len(s.text))
				case s.text[s.pos] == '*' && s.text[s.pos+1] == '/':
					s.pos += 2
					depth--
				case s.text[s.pos] == '/' && s.text[s.pos+1] == '*':
					s.pos += 2
					depth++
				default:
					s.pos++
				}
			}
		default:
			return nil
		}
	}
	return nil
}

// quoted passes a string in single quotes, the opening one next, and those that continue it on further lines.
func (s *Scanner) quoted(start int, escapes bool) error {
	for {
		s.pos++
	scan:
		for {
			if s.pos >= len(s.text) {
				s.pos = start
				return s.near("unterminated quoted string", start, len(s.text))
			}
			switch c := s.text[s.pos]; {
			case c == '\\' && escapes:
				s.pos += 2
			case c == '\'' && s.peek(1) == '\'':
				s.pos += 2
			case c == '\'':
				s.pos++
				break scan
			default:
				s.pos++
			}
		}
		if !s.continues() {
			return nil
		}
	}
}

// continues moves to the quote of a string's next part: only white space with a line break, and comments that end in one,
// may stand between.
func (s *Scanner) continues() bool {
	newline := false
	for i := s.pos; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '\n' || c == '\r':
			newline = true
		case isSpace(c):
		case c == '-' && i+1 < len(s.text) && s.text[i+1] == '-' && newline:
			for i < len(s.text) && s.text[i] != '\n' && s.text[i] != '\r' {
				i++
			}
		case c == '\'' && newline:
			s.pos = i
			return true
		default:
			return false
		}
	}
	return false
}

// delimited passes a name in double quotes.
func (s *Scanner) delimited(start int) error {
	open := s.pos
	for s.pos++; s.pos < len(s.text); s.pos++ {
		if s.text[s.pos] != '"' {
			continue
		}
		if s.peek(1) == '"' {
			s.pos++
			continue
		}
		s.pos++
		if s.pos-open == 2 {
			stop := s.pos
			s.pos = start
			return s.near("zero-length delimited identifier", start, stop)
		}
		return nil
	}
	s.pos = start
	return s.near("unterminated quoted identifier", start, len(s.text))
}

func (s *Scanner) digits() {
	for isDigit(s.peek(0)) {
		s.pos++
	}
}

func (s *Scanner) number() (Kind, error) {
	start := s.pos
	kind := Integer
	s.digits()
	if s.peek(0) == '.' && s.peek(1) != '.' {
		kind = Number
		s.pos++
		s.digits()
	}
	if s.peek(0)|0x20 == 'e' {
		n := 1
		if s.peek(n) == '+' || s.peek(n) == '-' {
			n++
		}
		if isDigit(s.peek(n)) {
			kind = Number
			s.pos += n
			s.digits()
		}
	}
	if isWordStart(s.peek(0)) {
		end := s.pos
		for end < len(s.text) && isWordByte(s.text[end]) {
			end++
		}
		s.pos = start
		return kind, s.near("trailing junk after numeric literal", start, end)
	}
	return kind, nil
}

// dollar passes $1 or a dollar-quoted string.
func (s *Scanner) dollar() (Kind, error) {
	start := s.pos
	s.pos++
	if isDigit(s.peek(0)) {
		s.digits()
		if isWordStart(s.peek(0)) {
			end := s.pos
			for end < len(s.text) && isWordByte(s.text[end]) {
				end++
			}
			s.pos = start
			return Parameter, s.near("trailing junk after parameter", start, end)
		}
		return Parameter, nil
	}
	i := s.pos
	for i < len(s.text) && s.text[i] != '$' && (isWordStart(s.text[i]) || i > s.pos && isDigit(s.text[i])) {
		i++
	}
	if i >= len(s.text) || s.text[i] != '$' {
		s.pos = start
		return EOF, s.near("syntax error", start, start+1)
	}
	tag := s.text[start : i+1]
	end := strings.Index(s.text[i+1:], tag)
	if end < 0 {
		s.pos = start
		return String, s.near("unterminated dollar-quoted string", start, len(s.text))
	}
	s.pos = i + 1 + end + len(tag)
	return String, nil
}

func (s *Scanner) punct(c, next byte) (Kind, error) {
	one := func(k Kind) (Kind, error) { s.pos++; return k, nil }
	two := func(k Kind) (Kind, error) { s.pos += 2; return k, nil }
	switch c {
	case '(':
		return one(LParen)
	case ')':
		return one(RParen)
	case '[':
		return one(LBracket)
	case ']':
		return one(RBracket)
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
		switch next {
		case ':':
			return two(TypeCast)
		case '=':
			return two(ColonEq)
		}
		return one(Colon)
	}
	if !isOpByte(c) {
		return EOF, s.near("syntax error", s.pos, s.pos+1)
	}
	end := s.pos
	for end < len(s.text) && isOpByte(s.text[end]) {
		if rest := s.text[end:]; strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "/*") {
			break
		}
		end++
	}
	// An operator of several signs ends in + or - only if it has one of the less usual signs.
	if end-s.pos > 1 && !strings.ContainsAny(s.text[s.pos:end], "~!@#^&|`?%") {
		for end-s.pos > 1 && (s.text[end-1] == '+' || s.text[end-1] == '-') {
			end--
		}
	}
	if s.text[s.pos:end] == "=>" {
		return two(Arrow)
	}
	s.pos = end
	return Op, nil
}

// lexInto appends the tokens of text, the last of kind EOF.
func lexInto(toks []Token, text string) ([]Token, error) {
	if len(text) > MaxText {
		return toks, dberr.Compile(dberr.LimitExceeded, "", 0, 0, "the statement has %d bytes: at most %d are read", len(text), MaxText)
	}
	s := Scanner{text: text}
	depth := 0
	for {
		t, err := s.Next()
		if err != nil {
			return toks, err
		}
		if len(toks) >= maxTokens {
			return toks, dberr.Compile(dberr.LimitExceeded, "", int(t.Start), int(t.End), "the statement has more than %d words and signs", maxTokens)
		}
		switch t.Kind {
		case LParen, LBracket:
			if depth++; depth > MaxNesting {
				return toks, tooDeep(int(t.Start), int(t.End))
			}
		case RParen, RBracket:
			depth--
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

// Split returns the spans of the statements in a text, without their semicolons and the white space and comments around
// them. Text that cannot be read as tokens belongs to the statement that it stands in, whose parsing reports the fault.
func Split(text string) []Span {
	var spans []Span
	for at := 0; ; {
		span, next, ok := NextStatement(text, at)
		if !ok {
			return spans
		}
		spans = append(spans, span)
		at = next
	}
}

// NextStatement returns the span of the first statement at or behind an offset, and where the next one may begin; ok is
// false if only white space, comments and semicolons are left.
func NextStatement(text string, at int) (span Span, next int, ok bool) {
	s := Scanner{text: text, pos: at}
	for {
		t, err := s.Next()
		if err != nil {
			if !ok {
				span.Start = int32(s.pos)
			}
			return Span{span.Start, int32(len(text))}, len(text), true
		}
		switch {
		case t.Kind == EOF:
			return span, len(text), ok
		case t.Kind == Semicolon && ok:
			return span, s.pos, true
		case t.Kind == Semicolon:
			continue
		case !ok:
			span.Start, ok = t.Start, true
		}
		span.Stop = t.End
	}
}

// FirstWords returns the first tokens of a text that are words, at most len(words), in upper case, behind SQL's comments:
// what a door needs to tell the language of a statement. It returns how many there are.
func FirstWords(text string, words []string) int {
	s := Scanner{text: text}
	for n := range words {
		t, err := s.Next()
		if err != nil || t.Kind != Word || t.Quoted {
			return n
		}
		if t.Keyword != NotKeyword {
			words[n] = t.Keyword.String()
		} else {
			words[n] = strings.ToUpper(text[t.Start:t.End])
		}
	}
	return len(words)
}
