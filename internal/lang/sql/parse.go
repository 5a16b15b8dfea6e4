package sql

import (
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// Parse reads one statement; a final semicolon is allowed. A text without a statement gives a nil Body. An error is a
// *dberr.Error.
func Parse(text string) (*Statement, error) {
	stmt, _, err := parse(text)
	return stmt, err
}

// parse also returns how many tokens were looked at while deciding what comes.
func parse(text string) (stmt *Statement, looks int, err error) {
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
	p.text, p.runEnd = text, -1
	if p.toks, err = lexInto(p.toks[:0], text); err != nil {
		return nil, 0, err
	}
	s := &Statement{Text: text}
	start := p.tok().Start
	if p.kind() != EOF && p.kind() != Semicolon {
		s.Body = p.statement()
	}
	s.Span = p.from(start)
	for p.accept(Semicolon) {
	}
	if p.kind() != EOF {
		if p.toks[p.i-1].Kind == Semicolon {
			p.fail(dberr.Compile(dberr.Syntax, "UnexpectedSyntax", int(p.tok().Start), int(p.tok().End),
				"cannot insert multiple commands into a prepared statement"))
		}
		p.syntax()
	}
	s.Params = p.params
	return s, 0, nil
}

// parser walks the tokens. It never steps back: see paren for what a parenthesis may hold.
type parser struct {
	text   string
	toks   []Token
	i      int
	depth  int // of recursion
	long   int // operators beyond the first hundred of each chain: bounds the height of the tree
	params int
	looks  int // tokens looked at ahead of i

	runStart, runEnd int // a run of opening parentheses, see startsQuery
}

const (
	maxDepth = 4 * MaxNesting
	maxLong  = 20_000
)

var parsers = sync.Pool{New: func() any { return new(parser) }}

func (p *parser) release() {
	const keep = 1 << 14
	toks := p.toks
	if cap(toks) > keep {
		toks = nil
	}
	*p = parser{toks: toks[:0]}
	parsers.Put(p)
}

type bailout struct{ err *dberr.Error }

func (p *parser) fail(err *dberr.Error) { panic(bailout{err}) }

// syntax fails at the next token with PostgreSQL's words.
func (p *parser) syntax() {
	t := p.tok()
	p.fail(nearError(p.text, "syntax error", int(t.Start), int(t.End)))
}

// unsupported fails for what PostgreSQL has and we have not.
func (p *parser) unsupported(start int32, format string, args ...any) {
	p.fail(dberr.Compile(dberr.FeatureNotSupported, "", int(start), int(p.tok().End), format, args...))
}

func (p *parser) tok() *Token { return &p.toks[p.i] }

func (p *parser) peek(n int) *Token {
	p.looks++
	i := p.i + n
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
func (t *Token) span() Span           { return Span{t.Start, t.End} }

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

// acceptKws takes all of the words or nothing.
func (p *parser) acceptKws(ks ...Keyword) bool {
	for n, k := range ks {
		if p.peek(n).Keyword != k {
			return false
		}
	}
	p.i += len(ks)
	return true
}

func (p *parser) expect(k Kind) *Token {
	if p.kind() != k {
		p.syntax()
	}
	return p.next()
}

func (p *parser) expectKw(ks ...Keyword) {
	for _, k := range ks {
		if !p.acceptKw(k) {
			p.syntax()
		}
	}
}

// isOp reports whether the next token is the operator.
func (p *parser) isOp(op string) bool { return p.kind() == Op && p.src(p.tok()) == op }

func (p *parser) acceptOp(op string) bool {
	if p.isOp(op) {
		p.i++
		return true
	}
	return false
}

func (p *parser) from(start int32) Span {
	s := Span{Start: start, Stop: start}
	if p.i > 0 {
		if end := p.toks[p.i-1].End; end > start {
			s.Stop = end
		}
	}
	return s
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		t := p.tok()
		p.fail(tooDeep(int(t.Start), int(t.End)))
	}
}

func (p *parser) leave() { p.depth-- }

// chain counts the n-th step of a chain that makes the tree higher.
func (p *parser) chain(n int) {
	if n > 100 {
		if p.long++; p.long > maxLong {
			t := p.tok()
			p.fail(tooDeep(int(t.Start), int(t.End)))
		}
	}
}

// ---- Names, by the classes of PostgreSQL's keywords ----

func (p *parser) isColID(t *Token) bool {
	if t.Kind != Word {
		return false
	}
	c := t.Keyword.class()
	return c == unreserved || c == colName
}

func (p *parser) isTypeFuncName(t *Token) bool {
	if t.Kind != Word {
		return false
	}
	c := t.Keyword.class()
	return c == unreserved || c == typeFuncName
}

func (p *parser) word() *Ident {
	t := p.next()
	return &Ident{t.span(), p.name(t)}
}

// colID reads a name of a column, table or other object.
func (p *parser) colID() *Ident {
	if !p.isColID(p.tok()) {
		p.syntax()
	}
	return p.word()
}

// colLabel reads a name behind AS or a dot: any word.
func (p *parser) colLabel() *Ident {
	if p.kind() != Word {
		p.syntax()
	}
	return p.word()
}

func (p *parser) colIDs() []*Ident {
	list := []*Ident{p.colID()}
	for p.accept(Comma) {
		list = append(list, p.colID())
	}
	return list
}

// columnList reads (a, b).
func (p *parser) columnList() []*Ident {
	p.expect(LParen)
	list := p.colIDs()
	p.expect(RParen)
	return list
}

// qualified reads a name with its qualifiers.
func (p *parser) qualified() *Name {
	start := p.tok().Start
	n := &Name{Parts: []*Ident{p.colID()}}
	for p.accept(Dot) {
		if len(n.Parts) == 3 {
			p.fail(dberr.Compile(dberr.Syntax, "UnexpectedSyntax", int(start), int(p.tok().End),
				"improper qualified name (too many dotted names): %s", clip(p.text[start:p.tok().End])))
		}
		n.Parts = append(n.Parts, p.colLabel())
	}
	n.Span = p.from(start)
	return n
}

func (p *parser) qualifiedList() []*Name {
	list := []*Name{p.qualified()}
	for p.accept(Comma) {
		list = append(list, p.qualified())
	}
	return list
}

// ---- Statements ----

func (p *parser) statement() Stmt {
	p.enter()
	s := p.command()
	p.leave()
	return s
}

func (p *parser) command() Stmt {
	t := p.tok()
	switch t.Keyword {
	case kSELECT, kVALUES, kTABLE:
		return p.query()
	case kWITH:
		return p.withStatement()
	case kINSERT:
		return p.insert(nil)
	case kUPDATE:
		return p.update(nil)
	case kDELETE:
		return p.delete(nil)
	case kTRUNCATE:
		return p.truncate()
	case kCOPY:
		return p.copy()
	case kCREATE:
		return p.create()
	case kALTER:
		return p.alter()
	case kDROP:
		return p.drop()
	case kBEGIN, kSTART:
		return p.begin()
	case kCOMMIT, kEND:
		return p.commit()
	case kROLLBACK, kABORT:
		return p.rollback()
	case kSAVEPOINT:
		p.i++
		s := &Savepoint{Name: p.colID()}
		s.Span = p.from(t.Start)
		return s
	case kRELEASE:
		p.i++
		if p.kw() == kSAVEPOINT && p.isColID(p.peek(1)) {
			p.i++
		}
		s := &Release{Name: p.colID()}
		s.Span = p.from(t.Start)
		return s
	case kSET:
		return p.set()
	case kRESET:
		return p.reset()
	case kSHOW:
		return p.show()
	case kDISCARD:
		return p.discard()
	case kLOAD:
		p.i++
		if p.kind() != String {
			p.syntax()
		}
		s := &Load{Library: p.stringLit().Value}
		s.Span = p.from(t.Start)
		return s
	case kLISTEN:
		p.i++
		s := &Listen{Channel: p.colID()}
		s.Span = p.from(t.Start)
		return s
	case kUNLISTEN:
		p.i++
		s := &Unlisten{}
		if !p.acceptOp("*") {
			s.Channel = p.colID()
		}
		s.Span = p.from(t.Start)
		return s
	case kNOTIFY:
		p.i++
		s := &Notify{Channel: p.colID()}
		if p.accept(Comma) {
			if p.kind() != String {
				p.syntax()
			}
			s.Payload = p.stringLit().Value
		}
		s.Span = p.from(t.Start)
		return s
	case kPREPARE:
		return p.prepare()
	case kEXECUTE:
		return p.execute()
	case kDEALLOCATE:
		p.i++
		if p.kw() == kPREPARE && (p.isColID(p.peek(1)) || p.peek(1).Keyword == kALL) {
			p.i++
		}
		s := &Deallocate{}
		if !p.acceptKw(kALL) {
			s.Name = p.colID()
		}
		s.Span = p.from(t.Start)
		return s
	case kDECLARE:
		return p.declare()
	case kFETCH, kMOVE:
		return p.fetch()
	case kCLOSE:
		p.i++
		s := &CloseCursor{}
		if !p.acceptKw(kALL) {
			s.Name = p.colID()
		}
		s.Span = p.from(t.Start)
		return s
	case kEXPLAIN:
		return p.explain()
	case kVACUUM:
		return p.vacuum()
	case kANALYZE, kANALYSE:
		return p.analyze()
	case kREINDEX:
		return p.reindex()
	case kCHECKPOINT:
		p.i++
		return &Checkpoint{t.span()}
	case kCOMMENT:
		return p.comment()
	case kGRANT, kREVOKE:
		return p.grant()
	case kLOCK:
		return p.lock()
	case kDO, kCALL, kMERGE, kCLUSTER, kREFRESH, kREASSIGN, kSECURITY, kIMPORT:
		p.unsupported(t.Start, "%s is not supported", t.Keyword)
	}
	if t.Kind == LParen {
		return p.query()
	}
	p.syntax()
	return nil
}
