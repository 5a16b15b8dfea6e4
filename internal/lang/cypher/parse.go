package cypher

import (
	"strings"
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// Dialect selects between the two spellings that are read.
type Dialect uint8

const (
	Cypher Dialect = iota
	AGE            // inside SQL's cypher(): 'it''s', x::numeric, (n = {a: 1}), integers beyond 64 bits as floats
)

// Options of [Parse]. The zero value reads Cypher.
type Options struct {
	Dialect Dialect
}

// Parse reads one statement; a final semicolon is allowed. An error is a *dberr.Error.
func Parse(text string, opts Options) (*Statement, error) {
	stmt, _, err := parse(text, opts)
	return stmt, err
}

// parse also returns how many tokens were looked at while deciding what comes.
func parse(text string, opts Options) (stmt *Statement, looks int, err error) {
	p := parsers.Get().(*parser)
	defer func() {
		// The parser unwinds by panicking with a bailout; anything else is a fault of ours and goes on.
		if r := recover(); r != nil {
			b, ok := r.(bailout)
			if !ok {
				panic(r)
			}
			stmt, err = nil, b.err
		}
		looks = p.looks
		p.release()
	}()
	p.text, p.dialect, p.bar = text, opts.Dialect, -1
	if p.toks, err = lexInto(p.toks[:0], text, opts.Dialect); err != nil {
		return nil, 0, ageText(err.(*dberr.Error), text)
	}
	return p.statement(), 0, nil
}

// parser walks the tokens. It never steps back: whatever looks ambiguous is decided by looking ahead over whole
// bracket groups, which costs a step each since brackets know their partners.
type parser struct {
	text    string
	toks    []Token
	i       int // the next token
	dialect Dialect
	depth   int   // of recursion
	long    int   // operators beyond the first hundred of each chain: bounds the height of the tree
	bar     int32 // index of the | that ends the part of a comprehension being read; a label expression stops there
	params  []string
	seen    map[string]struct{} // params, once they are many
	exprs   []Expr              // scratch
	looks   int                 // tokens looked at ahead of i
}

const (
	maxDepth = 4 * MaxNesting // one pair of brackets takes up to four levels
	maxLong  = 20_000
)

var parsers = sync.Pool{New: func() any { return new(parser) }}

// release returns the parser to the pool, without what belongs to the statement.
func (p *parser) release() {
	const keep = 1 << 14 // tokens; an unusually long statement's are left to the collector
	toks := p.toks
	if cap(toks) > keep {
		toks = nil
	}
	*p = parser{toks: toks[:0]}
	parsers.Put(p)
}

type bailout struct{ err *dberr.Error }

func (p *parser) fail(err *dberr.Error) { panic(bailout{err}) }

// ---- Tokens ----

func (p *parser) tok() *Token { return &p.toks[p.i] }

// peek returns the token n places ahead, the last one beyond the end.
func (p *parser) peek(n int) *Token { return p.at(p.i + n) }

func (p *parser) at(i int) *Token {
	p.looks++
	if i >= len(p.toks) {
		i = len(p.toks) - 1
	}
	return &p.toks[i]
}

func (p *parser) kind() Kind  { return p.toks[p.i].Kind }
func (p *parser) kw() Keyword { return p.toks[p.i].Keyword }

func (p *parser) next() *Token {
	t := &p.toks[p.i]
	if t.Kind != EOF {
		p.i++
	}
	return t
}

func (p *parser) src(t *Token) string { return p.text[t.Start:t.End] }

func (p *parser) accept(k Kind) bool {
	if p.kind() == k {
		p.i++
		return true
	}
	return false
}

func (p *parser) acceptKw(k Keyword) bool {
	if p.kw() == k {
		p.i++
		return true
	}
	return false
}

// isWord compares a token with a rare keyword, given in upper case.
func (p *parser) isWord(t *Token, word string) bool {
	return t.Kind == Name && !t.Quoted && int(t.End-t.Start) == len(word) && strings.EqualFold(p.src(t), word)
}

func (p *parser) acceptWord(word string) bool {
	if p.isWord(p.tok(), word) {
		p.i++
		return true
	}
	return false
}

// acceptWords takes all of the words or nothing.
func (p *parser) acceptWords(words ...string) bool {
	for n, w := range words {
		if !p.isWord(p.peek(n), w) {
			return false
		}
	}
	p.i += len(words)
	return true
}

func (p *parser) expect(k Kind, what string) *Token {
	if p.kind() != k {
		p.unexpected(what)
	}
	return p.next()
}

func (p *parser) expectKw(k Keyword) {
	if !p.acceptKw(k) {
		p.unexpected(k.String())
	}
}

func (p *parser) expectWord(word string) {
	if !p.acceptWord(word) {
		p.unexpected(word)
	}
}

// from spans from a start to the end of the last token read.
func (p *parser) from(start int32) Span {
	s := Span{Start: start, Stop: start}
	if p.i > 0 {
		if end := p.toks[p.i-1].End; end > start {
			s.Stop = end
		}
	}
	return s
}

func (t *Token) span() Span { return Span{t.Start, t.End} }

// enter counts a level of nesting; each caller defers or calls leave.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		t := p.tok()
		p.fail(tooDeep(int(t.Start), int(t.End)))
	}
}

func (p *parser) leave() { p.depth-- }

// ident reads a name of any kind; what says what it names.
func (p *parser) ident(what string) *Ident {
	t := p.tok()
	if t.Kind != Name {
		p.unexpected(what)
	}
	p.i++
	return &Ident{Span: t.span(), Name: p.nameOf(t)}
}

func (p *parser) nameOf(t *Token) string {
	if !t.Quoted {
		return p.src(t)
	}
	return unquoteName(p.src(t))
}

func unquoteName(s string) string { return strings.ReplaceAll(s[1:len(s)-1], "``", "`") }

// ---- Errors ----

// unexpected fails at the next token, saying what stands there and what should.
func (p *parser) unexpected(expected string) {
	p.fail(p.unexpectedErr(p.tok(), "UnexpectedSyntax", expected))
}

func (p *parser) unexpectedErr(t *Token, token, expected string) *dberr.Error {
	err := dberr.Compile(dberr.Syntax, token, int(t.Start), int(t.End), "unexpected %s, expected %s", p.describe(t), expected)
	prev := &Token{}
	if p.i > 0 {
		prev = &p.toks[p.i-1]
	}
	switch {
	case t.Kind == Eq && prev.Kind == Eq:
		err.WithHint("Equality is written with one sign: a = b.")
	case p.i == 0 && t.Kind == Colon:
		err.WithHint("What begins with a colon is a command of a shell or browser, such as :auto; leave it out.")
	case t.Keyword == kwUSING && p.isWord(p.peek(1), "PERIODIC"):
		err.WithHint("USING PERIODIC COMMIT is no longer Cypher; write LOAD CSV … AS row CALL (row) { … } IN TRANSACTIONS OF 500 ROWS.")
	case t.Keyword == kwNOT && p.peek(1).Keyword == kwIN:
		err.WithHint("Write NOT x IN list.")
	case t.Kind == Name && !t.Quoted && t.Keyword == NotKeyword:
		if w := nearestKeyword(p.src(t)); w != "" {
			err.WithHint("Did you mean %s?", w)
		}
	}
	return ageText(err, p.text)
}

// ageText adds the wording of Apache AGE, which is that of PostgreSQL's parsers.
func ageText(err *dberr.Error, text string) *dberr.Error {
	if err.Code == dberr.Syntax && err.AGEText == "" {
		if err.Pos >= len(text) {
			err.AGEText = "syntax error at end of input"
		} else if err.Pos >= 0 {
			err.AGEText = `syntax error at or near "` + clip(text[err.Pos:err.End]) + `"`
		}
	}
	return err
}

func (p *parser) describe(t *Token) string {
	switch t.Kind {
	case EOF:
		return "end of the statement"
	case String:
		return "string " + clip(p.src(t))
	case Integer, Float:
		return "number " + clip(p.src(t))
	case Parameter:
		return "parameter " + clip(p.src(t))
	}
	return "'" + clip(p.src(t)) + "'"
}

// errorAt fails at a span with a message of its own.
func (p *parser) errorAt(s Span, token, format string, args ...any) {
	p.fail(ageText(dberr.Compile(dberr.Syntax, token, s.Pos(), s.End(), format, args...), p.text))
}

// nearestKeyword returns a word that begins or continues a clause and that differs from s by a slip of the hand.
func nearestKeyword(s string) string {
	if len(s) < 4 || len(s) > 12 {
		return ""
	}
	up := strings.ToUpper(s)
	for _, k := range [...]Keyword{kwMATCH, kwOPTIONAL, kwWHERE, kwRETURN, kwWITH, kwUNWIND, kwCREATE, kwMERGE, kwDELETE,
		kwDETACH, kwREMOVE, kwORDER, kwLIMIT, kwSKIP, kwUNION, kwFOREACH, kwCALL, kwYIELD, kwDISTINCT, kwEXPLAIN, kwPROFILE,
		kwCONTAINS, kwSTARTS} {
		if w := k.String(); w != up && oneSlip(up, w) {
			return w
		}
	}
	return ""
}

// oneSlip reports whether one letter changed, added, missing or swapped with its neighbour makes a into b.
func oneSlip(a, b string) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	a, b = a[i:], b[i:]
	switch {
	case a == "" || b == "":
		return len(a)+len(b) <= 1
	case a[1:] == b[1:], a[1:] == b, a == b[1:]:
		return true
	}
	return len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
}

// ---- Statement ----

func (p *parser) statement() *Statement {
	s := &Statement{Text: p.text}
	start := p.tok().Start
	p.prefix(s)
	s.Body = p.body()
	s.Span = p.from(start)
	p.accept(Semicolon)
	if p.kind() != EOF {
		p.unexpected(p.afterBody(s.Body))
	}
	s.Params = p.params
	return s
}

func (p *parser) afterBody(b Body) string {
	if p.i > 0 && p.toks[p.i-1].Kind == Semicolon {
		return "the end: only one statement is read here"
	}
	if q, ok := b.(*Query); ok {
		last := q.Parts[len(q.Parts)-1].Clauses
		switch last[len(last)-1].(type) {
		case *Return:
			return "an operator, ',', AS, ORDER BY, SKIP, LIMIT, UNION or the end of the statement"
		}
		return "a clause or the end of the statement"
	}
	return "the end of the statement"
}

// prefix reads EXPLAIN, PROFILE and CYPHER with its options.
func (p *parser) prefix(s *Statement) {
	for {
		switch p.kw() {
		case kwEXPLAIN:
			p.i++
			s.Mode = Explain
			for {
				switch {
				case p.acceptWord("ANALYZE"):
					s.Mode = Profile
					continue
				case p.acceptWord("VERBOSE"):
					continue
				case p.kind() == LParen:
					p.explainOptions(s)
				}
				break
			}
		case kwPROFILE:
			p.i++
			s.Mode = Profile
		case kwCYPHER:
			p.i++
			p.cypherOptions(s)
		default:
			return
		}
	}
}

// explainOptions reads PostgreSQL's parenthesised form, (ANALYZE, VERBOSE off).
func (p *parser) explainOptions(s *Statement) {
	p.next()
	for {
		name := p.ident("an option of EXPLAIN")
		value := ""
		if p.kind() == Name || p.kind() == Integer || p.kind() == String {
			value = p.src(p.next())
		}
		if strings.EqualFold(name.Name, "ANALYZE") {
			s.Mode = Profile
			if v := strings.ToLower(strings.Trim(value, `'"`)); v == "off" || v == "false" || v == "0" {
				s.Mode = Explain
			}
		}
		if !p.accept(Comma) {
			break
		}
	}
	p.expect(RParen, "',' or ')'")
}

func (p *parser) cypherOptions(s *Statement) {
	if k := p.kind(); k == Integer || k == Float {
		t := p.next()
		s.Options = append(s.Options, &Option{Span: t.span(), Name: "version", Value: p.src(t)})
	}
	for p.kind() == Name && p.peek(1).Kind == Eq {
		start := p.tok().Start
		o := &Option{Name: p.ident("an option").Name}
		p.next()
		switch t := p.tok(); t.Kind {
		case Name:
			p.i++
			o.Value = p.nameOf(t)
		case Integer, Float:
			p.i++
			o.Value = p.src(t)
		case String:
			p.i++
			o.Value = p.stringValue(t)
		default:
			p.unexpected("a value of the option")
		}
		o.Span = p.from(start)
		s.Options = append(s.Options, o)
	}
}

func (p *parser) body() Body {
	switch p.kw() {
	case kwCREATE:
		if b := p.createCommand(); b != nil {
			return b
		}
	case kwDROP:
		return p.dropCommand()
	case kwSHOW:
		return p.show()
	case kwTERMINATE:
		return p.terminate()
	}
	return p.query(topQuery)
}

func (p *parser) param() *Param {
	t := p.next()
	name := p.src(t)[1:]
	if name[0] == '`' {
		name = unquoteName(name)
	}
	p.noteParam(name)
	return &Param{Span: t.span(), Name: name}
}

func (p *parser) noteParam(name string) {
	if p.seen == nil {
		for _, q := range p.params {
			if q == name {
				return
			}
		}
		p.params = append(p.params, name)
		if len(p.params) == 32 {
			p.seen = make(map[string]struct{}, 128)
			for _, q := range p.params {
				p.seen[q] = struct{}{}
			}
		}
		return
	}
	if _, ok := p.seen[name]; !ok {
		p.seen[name] = struct{}{}
		p.params = append(p.params, name)
	}
}
