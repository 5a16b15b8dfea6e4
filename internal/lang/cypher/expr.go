package cypher

import "strings"

// Binding powers, from loose to tight.
const (
	precLowest = iota
	precOr
	precXor
	precAnd
	precNot
	precCompare
	precPredicate // IN, STARTS WITH, ENDS WITH, CONTAINS, =~, IS NULL, IS ::
	precAdd
	precMul
	precPow
	precUnary
	precPostfix
)

// expr reads an expression whose value is wanted: a bare pattern is refused there.
func (p *parser) expr() Expr { return p.binary(precLowest, false) }

// predicate reads an expression that is a condition: a bare pattern asks whether it has a match.
func (p *parser) predicate() Expr { return p.binary(precLowest, true) }

// binary reads an expression whose operators bind at least as tightly as min.
func (p *parser) binary(min int, patternOK bool) Expr {
	p.enter()
	start := p.tok().Start
	x := p.continueExpr(p.operand(min), start, min)
	if pe, ok := x.(*PatternExpr); ok && !patternOK && pe.Pattern.Shortest == NoShortest {
		p.errorAt(pe.Span, "UnexpectedSyntax", "a pattern cannot be used as a value here: it is a condition")
	}
	p.leave()
	return x
}

// continueExpr reads the operators that follow x.
func (p *parser) continueExpr(x Expr, start int32, min int) Expr {
	var chain *Compare // the comparison that the next one continues
	max := precPostfix // IS NULL has no right side, so that what binds tighter must not follow it
	for n := 0; ; n++ {
		if n > 100 {
			if p.long++; p.long > maxLong {
				t := p.tok()
				p.fail(tooDeep(int(t.Start), int(t.End)).WithHint("Give long conditions as a list: x IN $list."))
			}
		}
		t := p.tok()
		switch t.Kind {
		case Plus, Minus, DoubleBar:
			if min > precAdd || max < precAdd {
				return x
			}
			op := OpAdd
			switch t.Kind {
			case Minus:
				op = OpSub
			case DoubleBar:
				op = OpConcat
			}
			x = p.binaryRest(x, start, op, precAdd+1, false)
		case Star, Slash, Percent:
			if min > precMul || max < precMul {
				return x
			}
			op := OpMul
			switch t.Kind {
			case Slash:
				op = OpDiv
			case Percent:
				op = OpMod
			}
			x = p.binaryRest(x, start, op, precMul+1, false)
		case Caret:
			if min > precPow || max < precPow {
				return x
			}
			x = p.binaryRest(x, start, OpPow, precPow+1, false)
		case Eq, NotEq, Lt, LtEq, Gt, GtEq:
			if min > precCompare {
				return x
			}
			p.i++
			r := p.binary(precCompare+1, false)
			if chain == nil || Expr(chain) != x {
				p.noPattern(x)
				chain = &Compare{Operands: []Expr{x}}
			}
			chain.Operands = append(chain.Operands, r)
			chain.Ops = append(chain.Ops, compareOp(t.Kind))
			chain.Span = p.from(start)
			x = chain
			continue
		case RegexEq:
			if min > precPredicate {
				return x
			}
			x = p.binaryRest(x, start, OpRegex, precPredicate+1, false)
		case DoubleColon:
			// In the AGE dialect a cast, read as a postfix; here the type predicate.
			if p.dialect == AGE || min > precPredicate {
				return x
			}
			p.i++
			p.noPattern(x)
			ty := p.typ()
			x = &IsType{Span: p.from(start), X: x, Type: ty}
			max = precPredicate
		case Name:
			y := p.keywordOperator(x, start, min, t)
			if y == nil {
				return x
			}
			x, max = y, precPredicate
		default:
			return x
		}
	}
}

// keywordOperator reads an operator that is a word, or returns nil.
func (p *parser) keywordOperator(x Expr, start int32, min int, t *Token) Expr {
	switch t.Keyword {
	case kwOR:
		if min <= precOr {
			return p.binaryRest(x, start, OpOr, precOr+1, true)
		}
	case kwXOR:
		if min <= precXor {
			return p.binaryRest(x, start, OpXor, precXor+1, true)
		}
	case kwAND:
		if min <= precAnd {
			return p.binaryRest(x, start, OpAnd, precAnd+1, true)
		}
	case kwIN:
		if min <= precPredicate {
			return p.binaryRest(x, start, OpIn, precPredicate+1, false)
		}
	case kwCONTAINS:
		if min <= precPredicate {
			return p.binaryRest(x, start, OpContains, precPredicate+1, false)
		}
	case kwSTARTS, kwENDS:
		if min <= precPredicate && p.peek(1).Keyword == kwWITH {
			op := OpStartsWith
			if t.Keyword == kwENDS {
				op = OpEndsWith
			}
			p.i++
			return p.binaryRest(x, start, op, precPredicate+1, false)
		}
	case kwIS:
		if min <= precPredicate {
			return p.isPredicate(x, start)
		}
	}
	return nil
}

// binaryRest reads the right side of a binary operator; the operator's last token is the next.
func (p *parser) binaryRest(l Expr, start int32, op Op, min int, logical bool) Expr {
	if !logical {
		p.noPattern(l)
	}
	pos := p.next().Start
	r := p.binary(min, logical)
	return &Binary{Span: p.from(start), Op: op, OpPos: pos, L: l, R: r}
}

// noPattern refuses a bare pattern as an operand.
func (p *parser) noPattern(x Expr) {
	if pe, ok := x.(*PatternExpr); ok && pe.Pattern.Shortest == NoShortest {
		p.errorAt(pe.Span, "UnexpectedSyntax", "a pattern cannot be used as a value here: it is a condition")
	}
}

func compareOp(k Kind) Op {
	switch k {
	case Eq:
		return OpEq
	case NotEq:
		return OpNe
	case Lt:
		return OpLt
	case LtEq:
		return OpLe
	case Gt:
		return OpGt
	}
	return OpGe
}

// isPredicate reads what may follow IS.
func (p *parser) isPredicate(x Expr, start int32) Expr {
	p.noPattern(x)
	p.i++
	not := p.acceptKw(kwNOT)
	switch t := p.tok(); {
	case p.acceptKw(kwNULL):
		return &IsNull{Span: p.from(start), X: x, Not: not}
	case p.accept(DoubleColon), p.acceptWord("TYPED"):
		ty := p.typ()
		return &IsType{Span: p.from(start), X: x, Not: not, Type: ty}
	case p.acceptWord("NORMALIZED"):
		return &IsNormalized{Span: p.from(start), X: x, Not: not, Form: "NFC"}
	case p.isWord(p.peek(1), "NORMALIZED") && isNormalForm(p.src(t)):
		p.i += 2
		return &IsNormalized{Span: p.from(start), X: x, Not: not, Form: strings.ToUpper(p.src(t))}
	case !not && (t.Kind == Name || t.Kind == Percent || t.Kind == Bang || t.Kind == LParen || t.Kind == Dollar):
		l := p.labels(false)
		return &HasLabels{Span: p.from(start), X: x, Labels: l}
	}
	if not {
		p.unexpected("NULL, a type behind '::', or NORMALIZED")
	}
	p.unexpected("NULL, NOT NULL, a type behind '::', or a label")
	return nil
}

func isNormalForm(s string) bool {
	switch strings.ToUpper(s) {
	case "NFC", "NFD", "NFKC", "NFKD":
		return true
	}
	return false
}

// operand reads a prefix operator or a value with what is attached to it.
func (p *parser) operand(min int) Expr {
	t := p.tok()
	switch t.Kind {
	case Minus:
		if n := p.peek(1); n.Kind == Integer || n.Kind == Float {
			p.i += 2
			if n.Kind == Integer {
				return p.postfix(p.integer(n, t.Start, true), t.Start)
			}
			return p.postfix(p.float(n, t.Start, true), t.Start)
		}
		p.i++
		x := p.binary(precUnary, false)
		return &Unary{Span: p.from(t.Start), Op: OpNeg, X: x}
	case Plus:
		p.i++
		x := p.binary(precUnary, false)
		return &Unary{Span: p.from(t.Start), Op: OpPlus, X: x}
	case Name:
		if t.Keyword == kwNOT && p.peek(1).Kind != Dot {
			p.i++
			x := p.binary(precNot, true)
			return &Unary{Span: p.from(t.Start), Op: OpNot, X: x}
		}
	}
	return p.postfix(p.atom(), t.Start)
}

// postfix reads property access, subscripts, label predicates, map projections and the casts of AGE.
func (p *parser) postfix(x Expr, start int32) Expr {
	for n := 0; ; n++ {
		if n > 100 {
			if p.long++; p.long > maxLong {
				t := p.tok()
				p.fail(tooDeep(int(t.Start), int(t.End)))
			}
		}
		switch p.kind() {
		case Dot, LBracket:
			x = p.access(x, start)
		case Colon:
			p.noPattern(x)
			p.i++
			l := p.labels(false)
			x = &HasLabels{Span: p.from(start), X: x, Labels: l}
		case DoubleColon:
			if p.dialect != AGE {
				return x
			}
			p.noPattern(x)
			p.i++
			x = p.cast(x, start)
		case LBrace:
			if _, ok := x.(*Var); !ok {
				return x
			}
			x = p.mapProjection(x, start)
		default:
			return x
		}
	}
}

// access reads one .key, [index] or [from..to]; behind a.b.c an opening parenthesis makes it a call.
func (p *parser) access(x Expr, start int32) Expr {
	p.noPattern(x)
	if p.accept(Dot) {
		key := p.ident("a property key")
		if p.kind() == LParen {
			if name := callName(x, key); name != nil {
				return p.call(name, start)
			}
		}
		return &Property{Span: p.from(start), X: x, Key: key}
	}
	p.expect(LBracket, "'['")
	var i Expr
	if p.kind() != DotDot {
		i = p.expr()
	}
	if p.accept(DotDot) {
		var to Expr
		if p.kind() != RBracket {
			to = p.expr()
		}
		p.expect(RBracket, "an operator or ']'")
		return &Slice{Span: p.from(start), X: x, From: i, To: to}
	}
	p.expect(RBracket, "an operator, '..' or ']'")
	return &Index{Span: p.from(start), X: x, I: i}
}

// callName turns a.b + c into the name a.b.c, or returns nil.
func callName(x Expr, last *Ident) []*Ident {
	switch x := x.(type) {
	case *Var:
		return []*Ident{{Span: x.Span, Name: x.Name}, last}
	case *Property:
		if name := callName(x.X, x.Key); name != nil {
			return append(name, last)
		}
	}
	return nil
}

func (p *parser) cast(x Expr, start int32) Expr {
	name := ""
	for {
		t := p.tok()
		if t.Kind != Name {
			p.unexpected("the name of a type")
		}
		p.i++
		if t.Quoted {
			name += p.nameOf(t)
		} else {
			name += strings.ToLower(p.src(t))
		}
		if p.kind() != Dot || p.peek(1).Kind != Name {
			break
		}
		p.i++
		name += "."
	}
	return &Cast{Span: p.from(start), X: x, Type: name}
}

func (p *parser) mapProjection(x Expr, start int32) Expr {
	p.next()
	m := &MapProjection{X: x}
	if p.kind() != RBrace {
		for {
			m.Items = append(m.Items, p.projectionEntry())
			if !p.accept(Comma) {
				break
			}
		}
	}
	p.expect(RBrace, "',' or '}'")
	m.Span = p.from(start)
	return m
}

func (p *parser) projectionEntry() *ProjectionEntry {
	e := &ProjectionEntry{}
	start := p.tok().Start
	switch {
	case p.accept(Dot):
		if p.accept(Star) {
			e.Kind = EntryAll
		} else {
			e.Kind, e.Key = EntryProperty, p.ident("a property key or '*'")
		}
	case p.kind() == Name:
		e.Kind, e.Key = EntryVariable, p.ident("a name")
		if p.accept(Colon) {
			e.Kind, e.Value = EntryValue, p.expr()
		}
	default:
		p.unexpected("'.key', '.*', 'key: value' or a variable")
	}
	e.Span = p.from(start)
	return e
}

// notVariables are the words that are taken as variables only where what follows cannot stand behind the keyword.
var notVariables = [len(keywordText)]bool{kwWHERE: true, kwRETURN: true, kwWITH: true, kwMATCH: true, kwCREATE: true,
	kwMERGE: true, kwSET: true, kwDELETE: true, kwDETACH: true, kwREMOVE: true, kwUNWIND: true, kwUNION: true, kwTHEN: true,
	kwELSE: true, kwWHEN: true, kwAND: true, kwOR: true, kwXOR: true, kwAS: true, kwIN: true, kwIS: true, kwDISTINCT: true,
	kwCONTAINS: true, kwSTARTS: true, kwENDS: true, kwSKIP: true, kwLIMIT: true, kwFOREACH: true, kwCALL: true, kwYIELD: true,
	kwOPTIONAL: true, kwORDER: true}

// isVariable tells a variable named like a keyword from the keyword.
func (p *parser) isVariable(t *Token) bool {
	if !notVariables[t.Keyword] {
		return true
	}
	n := p.peek(1)
	switch n.Kind {
	case Name:
		return n.Keyword != NotKeyword && n.Keyword != kwBY
	case Integer, Float, String, Parameter, LBrace, LParen:
		return false
	case Star:
		return t.Keyword != kwRETURN && t.Keyword != kwWITH
	case EOF:
		switch t.Keyword {
		case kwRETURN, kwWITH, kwWHERE, kwMATCH, kwCREATE, kwMERGE, kwUNWIND, kwAND, kwOR, kwXOR, kwAS, kwIN, kwIS, kwYIELD:
			return false
		}
	}
	return true
}

// atom reads a value without anything attached.
func (p *parser) atom() Expr {
	t := p.tok()
	switch t.Kind {
	case Integer:
		p.i++
		return p.integer(t, t.Start, false)
	case Float:
		p.i++
		return p.float(t, t.Start, false)
	case String:
		p.i++
		return &StringLit{t.span(), p.stringValue(t)}
	case Parameter:
		return p.param()
	case LBracket:
		return p.bracketed()
	case LBrace:
		return p.mapLit()
	case LParen:
		if p.isPattern(p.i) {
			start := t.Start
			path := &Path{Elements: p.elements()}
			path.Span = p.from(start)
			return &PatternExpr{path.Span, path}
		}
		p.i++
		bar := p.bar
		p.bar = -1
		x := p.predicate() // whether a pattern may stand here is known outside
		p.bar = bar
		p.expect(RParen, "an operator or ')'")
		return x
	case Name:
		return p.word(t)
	}
	p.unexpected("an expression")
	return nil
}

// word reads what begins with a name.
func (p *parser) word(t *Token) Expr {
	next := p.peek(1).Kind
	switch t.Keyword {
	case NotKeyword:
	case kwTRUE, kwFALSE:
		p.i++
		return &BoolLit{t.span(), t.Keyword == kwTRUE}
	case kwNULL:
		p.i++
		return &NullLit{t.span()}
	case kwCASE:
		if next != Dot && next != RParen && next != Comma && next != EOF && next != RBracket && next != RBrace {
			return p.caseExpr()
		}
	case kwCOUNT:
		if next == LBrace {
			return p.subqueryExpr(CountSubquery)
		}
		if next == LParen && p.peek(2).Kind == Star && p.peek(3).Kind == RParen {
			p.i += 4
			return &CountStar{p.from(t.Start)}
		}
	case kwEXISTS:
		if next == LBrace {
			return p.subqueryExpr(ExistsSubquery)
		}
	case kwCOLLECT:
		if next == LBrace {
			return p.subqueryExpr(CollectSubquery)
		}
	case kwALL, kwANY, kwNONE, kwSINGLE:
		if next == LParen && p.peek(2).Kind == Name && p.peek(3).Keyword == kwIN {
			return p.quantified(t)
		}
	case kwREDUCE:
		if next == LParen && p.peek(2).Kind == Name && p.peek(3).Kind == Eq {
			return p.reduce()
		}
	case kwSHORTESTPATH, kwALLSHORTESTPATHS:
		if next == LParen {
			path := p.shortestFunc()
			return &PatternExpr{path.Span, path}
		}
	default:
		if !p.isVariable(t) {
			p.unexpected("an expression")
		}
	}
	if next == LParen {
		return p.call([]*Ident{p.ident("a function")}, t.Start)
	}
	p.i++
	return &Var{t.span(), p.nameOf(t)}
}

// call reads the arguments of a function; the parenthesis is the next token.
func (p *parser) call(name []*Ident, start int32) Expr {
	p.expect(LParen, "'('")
	f := &Func{Name: name}
	last := name[len(name)-1].Name
	condition := len(name) == 1 && strings.EqualFold(last, "exists")
	if len(name) == 1 && strings.EqualFold(last, "trim") {
		if x := p.trim(start); x != nil {
			return x
		}
	}
	bar := p.bar
	p.bar = -1
	f.Distinct = p.kw() == kwDISTINCT && p.peek(1).Kind != RParen && p.peek(1).Kind != Comma && p.peek(1).Kind != Dot
	if f.Distinct {
		p.i++
	}
	if p.kind() != RParen {
		normalize := len(name) == 1 && strings.EqualFold(last, "normalize")
		for {
			if t := p.tok(); normalize && len(f.Args) == 1 && t.Kind == Name && isNormalForm(p.src(t)) {
				p.i++
				f.Args = append(f.Args, &StringLit{t.span(), strings.ToUpper(p.src(t))})
			} else {
				f.Args = append(f.Args, p.binary(precLowest, condition))
			}
			if len(name) == 1 && len(f.Args) == 1 && strings.EqualFold(last, "trim") && p.acceptKw(kwFROM) { // trim(chars FROM text)
				f.Args = []Expr{p.expr(), f.Args[0]}
				break
			}
			if !p.accept(Comma) {
				break
			}
		}
	}
	p.bar = bar
	p.expect(RParen, "an operator, ',' or ')'")
	f.Span = p.from(start)
	return f
}

// trim reads GQL's trim([LEADING | TRAILING | BOTH] [chars] FROM text) as ltrim, rtrim or btrim; nil if it is the plain
// call. The opening parenthesis has been read.
func (p *parser) trim(start int32) Expr {
	name := ""
	t := p.tok()
	if n := p.peek(1); n.Kind != RParen && n.Kind != Comma && n.Kind != Dot {
		switch {
		case p.isWord(t, "LEADING"):
			name = "ltrim"
		case p.isWord(t, "TRAILING"):
			name = "rtrim"
		case p.isWord(t, "BOTH"):
			name = "btrim"
		}
	}
	if name == "" {
		return nil
	}
	p.i++
	f := &Func{Name: []*Ident{{Span: t.span(), Name: name}}}
	var chars Expr
	if p.kw() != kwFROM {
		chars = p.expr()
	}
	p.expectKw(kwFROM)
	f.Args = append(f.Args, p.expr())
	if chars != nil {
		f.Args = append(f.Args, chars)
	}
	p.expect(RParen, "an operator or ')'")
	f.Span = p.from(start)
	return f
}

// setBar notes where the part of a comprehension ends that is about to be read, and returns what to restore. open is
// the index of the comprehension's bracket. Between last and first the last bar is taken: the parts before it may hold
// label expressions.
func (p *parser) setBar(open int, first bool) (old int32) {
	old = p.bar
	p.bar = -1
	end := int(p.toks[open].Match)
	for i := open + 1; i < end; i++ {
		p.looks++
		if m := p.toks[i].Match; m > int32(i) {
			i = int(m)
			continue
		}
		if p.toks[i].Kind == Bar {
			p.bar = int32(i)
			if first {
				break
			}
		}
	}
	return old
}

// bracketed reads a list, a list comprehension or a pattern comprehension.
func (p *parser) bracketed() Expr {
	open := p.i
	start := p.next().Start
	if p.kind() == Name && p.peek(1).Keyword == kwIN && p.isComprehension(open) {
		bar := p.setBar(open, false)
		c := &ListComp{Var: p.ident("a variable")}
		p.i++
		c.List = p.expr()
		if p.acceptKw(kwWHERE) {
			c.Where = p.predicate()
		}
		p.bar = -1
		if p.accept(Bar) {
			c.Map = p.expr()
		}
		p.bar = bar
		p.expect(RBracket, "an operator, WHERE, '|' or ']'")
		c.Span = p.from(start)
		return c
	}
	if p.isPatternComprehension(open) {
		bar := p.setBar(open, false)
		c := &PatternComp{}
		path := &Path{}
		from := p.tok().Start
		if p.kind() == Name {
			path.Var = p.ident("a variable")
			p.expect(Eq, "'='")
		}
		path.Elements = p.elements()
		path.Span = p.from(from)
		c.Pattern = path
		if p.acceptKw(kwWHERE) {
			c.Where = p.predicate()
		}
		p.expect(Bar, "WHERE or '|'")
		p.bar = -1
		c.Map = p.expr()
		p.bar = bar
		p.expect(RBracket, "an operator or ']'")
		c.Span = p.from(start)
		return c
	}
	bar := p.bar
	p.bar = -1
	l := &ListLit{}
	if p.kind() != RBracket {
		base := len(p.exprs)
		for {
			p.exprs = append(p.exprs, p.expr())
			if !p.accept(Comma) {
				break
			}
		}
		l.Elems = append([]Expr(nil), p.exprs[base:]...)
		clear(p.exprs[base:])
		p.exprs = p.exprs[:base]
	}
	p.bar = bar
	p.expect(RBracket, "an operator, ',' or ']'")
	l.Span = p.from(start)
	return l
}

// isComprehension tells [x IN list …] from a list whose first element is a membership test: a comma at the bracket's own
// level makes it a list.
func (p *parser) isComprehension(open int) bool {
	end := int(p.toks[open].Match)
	cases := 0 // WHEN 1, 2 has commas of its own
	for i := open + 1; i < end; i++ {
		p.looks++
		t := &p.toks[i]
		if t.Match > int32(i) {
			i = int(t.Match)
			continue
		}
		switch {
		case t.Keyword == kwCASE:
			cases++
		case t.Keyword == kwEND && cases > 0:
			cases--
		case t.Kind == Comma && cases == 0:
			return false
		case t.Kind == Bar, t.Keyword == kwWHERE:
			return true
		}
	}
	return true
}

func (p *parser) isPatternComprehension(open int) bool {
	at := open + 1
	if p.at(at).Kind == Name && p.at(at+1).Kind == Eq {
		at += 2
	}
	if p.at(at).Kind != LParen || !p.isPattern(at) {
		return false
	}
	// Without a bar it is a list of conditions. The pattern's own parts are bracketed, so that this looks at few tokens.
	end := int(p.toks[open].Match)
	for i := at; i < end; i++ {
		p.looks++
		t := &p.toks[i]
		if t.Match > int32(i) {
			i = int(t.Match)
			continue
		}
		switch {
		case t.Kind == Comma:
			return false
		case t.Kind == Bar, t.Keyword == kwWHERE:
			return true
		}
	}
	return at > open+1
}

func (p *parser) mapLit() *MapLit {
	start := p.next().Start
	m := &MapLit{}
	bar := p.bar
	p.bar = -1
	if p.kind() != RBrace {
		for {
			from := p.tok().Start
			e := &MapEntry{}
			if t := p.tok(); t.Kind == String && p.dialect == AGE {
				p.i++
				e.Key = &Ident{t.span(), p.stringValue(t)}
			} else {
				e.Key = p.ident("a map key or '}'")
			}
			p.expect(Colon, "':'")
			e.Value = p.expr()
			e.Span = p.from(from)
			m.Entries = append(m.Entries, e)
			if !p.accept(Comma) {
				break
			}
		}
	}
	p.bar = bar
	p.expect(RBrace, "an operator, ',' or '}'")
	m.Span = p.from(start)
	return m
}

func (p *parser) caseExpr() Expr {
	start := p.next().Start
	c := &Case{}
	bar := p.bar
	p.bar = -1
	if p.kw() != kwWHEN {
		c.Operand = p.expr()
	}
	for p.kw() == kwWHEN {
		w := &When{}
		from := p.next().Start
		for {
			if c.Operand == nil {
				w.Conds = append(w.Conds, p.predicate())
				break
			}
			w.Conds = append(w.Conds, p.caseTest())
			if !p.accept(Comma) {
				break
			}
		}
		if !p.acceptKw(kwTHEN) {
			p.unexpected("an operator or THEN")
		}
		w.Then = p.expr()
		w.Span = p.from(from)
		c.Whens = append(c.Whens, w)
	}
	if len(c.Whens) == 0 {
		p.unexpected("WHEN")
	}
	if p.acceptKw(kwELSE) {
		c.Else = p.expr()
	}
	p.bar = bar
	if !p.acceptKw(kwEND) {
		p.unexpected("an operator, WHEN, ELSE or END")
	}
	c.Span = p.from(start)
	return c
}

// caseTest reads a value to compare with, or a comparison whose left side is the operand: WHEN > 5, IS NULL.
func (p *parser) caseTest() Expr {
	t := p.tok()
	n := p.peek(1)
	partial := false
	switch t.Kind {
	case Eq, NotEq, Lt, LtEq, Gt, GtEq, RegexEq:
		partial = true
	case DoubleColon:
		partial = p.dialect == Cypher
	case Name:
		switch t.Keyword {
		case kwIS:
			partial = n.Keyword == kwNULL || n.Keyword == kwNOT || n.Kind == DoubleColon || n.Kind == Name
		case kwSTARTS, kwENDS:
			partial = n.Keyword == kwWITH
		case kwCONTAINS, kwIN:
			partial = n.Kind != Dot && n.Keyword != kwTHEN && n.Kind != Comma
		}
	}
	if !partial {
		return p.expr()
	}
	p.enter()
	x := p.continueExpr(&CaseOperand{Span{t.Start, t.Start}}, t.Start, precCompare)
	p.leave()
	return x
}

func (p *parser) quantified(t *Token) Expr {
	q := &Quantified{}
	switch t.Keyword {
	case kwANY:
		q.Kind = QuantAny
	case kwNONE:
		q.Kind = QuantNone
	case kwSINGLE:
		q.Kind = QuantSingle
	}
	bar := p.bar
	p.bar = -1
	p.i += 2
	q.Var = p.ident("a variable")
	p.i++
	q.List = p.expr()
	if p.acceptKw(kwWHERE) {
		q.Where = p.predicate()
	}
	p.bar = bar
	p.expect(RParen, "an operator, WHERE or ')'")
	q.Span = p.from(t.Start)
	return q
}

func (p *parser) reduce() Expr {
	r := &Reduce{}
	start := p.next().Start
	bar := p.setBar(p.i, true)
	p.i++
	r.Acc = p.ident("a variable")
	p.i++
	r.Init = p.expr()
	p.expect(Comma, "an operator or ','")
	r.Var = p.ident("a variable")
	p.expectKw(kwIN)
	r.List = p.expr()
	p.expect(Bar, "an operator or '|'")
	p.bar = -1
	r.Expr = p.expr()
	p.bar = bar
	p.expect(RParen, "an operator or ')'")
	r.Span = p.from(start)
	return r
}

// subqueryExpr reads EXISTS { }, COUNT { } or COLLECT { }: a pattern, or a query.
func (p *parser) subqueryExpr(kind SubqueryKind) Expr {
	p.enter()
	start := p.next().Start
	p.i++
	bar := p.bar
	p.bar = -1
	s := &SubqueryExpr{Kind: kind}
	if kind != CollectSubquery && p.startsPath() {
		s.Patterns = p.patterns()
		if p.acceptKw(kwWHERE) {
			s.Where = p.predicate()
		}
		p.expect(RBrace, "',', WHERE or '}'")
	} else {
		use := exprQuery
		if kind == CollectSubquery {
			use = collectQuery
		}
		s.Query = p.query(use)
		p.expect(RBrace, "a clause or '}'")
	}
	p.bar = bar
	s.Span = p.from(start)
	p.leave()
	return s
}

// startsPath reports whether a path pattern begins here rather than a clause.
func (p *parser) startsPath() bool {
	t, n := p.tok(), p.peek(1)
	switch {
	case t.Kind == LParen, t.Kind == Name && n.Kind == Eq:
		return true
	case t.Keyword == kwSHORTESTPATH, t.Keyword == kwALLSHORTESTPATHS:
		return n.Kind == LParen
	case t.Keyword == kwALL, t.Keyword == kwANY, t.Keyword == kwSHORTEST:
		return true
	}
	return false
}

// ---- Types ----

// typ reads a type: unions, lists, NOT NULL and all the synonyms.
func (p *parser) typ() *Type {
	p.enter()
	start := p.tok().Start
	t := p.typeTerm()
	if p.kind() == Bar && int32(p.i) != p.bar {
		u := &Type{Name: "UNION", Alts: []*Type{t}}
		for p.kind() == Bar && int32(p.i) != p.bar {
			p.i++
			u.Alts = append(u.Alts, p.typeTerm())
		}
		u.Span = p.from(start)
		t = u
	}
	p.leave()
	return t
}

func (p *parser) typeTerm() *Type {
	start := p.tok().Start
	t := &Type{}
	p.typeName(t)
	p.notNull(t)
	t.Span = p.from(start)
	for p.acceptWord("LIST") || p.acceptWord("ARRAY") { // INTEGER LIST
		if p.long++; p.long > maxLong {
			p.fail(tooDeep(int(start), int(p.tok().Start)))
		}
		t = &Type{Name: "LIST", Elem: t}
		p.notNull(t)
		t.Span = p.from(start)
	}
	return t
}

func (p *parser) notNull(t *Type) {
	if p.accept(Bang) || p.kw() == kwNOT && p.peek(1).Keyword == kwNULL && p.acceptWords("NOT", "NULL") {
		t.NotNull = true
	}
}

func (p *parser) typeName(t *Type) {
	tok := p.tok()
	if tok.Kind != Name || tok.Quoted {
		p.unexpected("a type")
	}
	p.i++
	zone := func(base string) string {
		switch {
		case p.acceptWords("WITH", "TIMEZONE"), p.acceptWords("WITH", "TIME", "ZONE"):
			return "ZONED " + base
		case p.acceptWords("WITHOUT", "TIMEZONE"), p.acceptWords("WITHOUT", "TIME", "ZONE"):
			return "LOCAL " + base
		}
		p.unexpected("WITH TIMEZONE or WITHOUT TIMEZONE")
		return ""
	}
	switch strings.ToUpper(p.src(tok)) {
	case "NOTHING":
		t.Name = "NOTHING"
	case "NULL":
		t.Name = "NULL"
	case "BOOL", "BOOLEAN":
		t.Name = "BOOLEAN"
	case "STRING", "VARCHAR":
		t.Name = "STRING"
	case "INT", "INTEGER", "INT64", "INTEGER64":
		t.Name = "INTEGER"
	case "SIGNED":
		p.expectWord("INTEGER")
		t.Name = "INTEGER"
	case "NUMERIC":
		t.Name = "NUMERIC"
	case "BYTES":
		t.Name = "BYTES"
	case "FLOAT", "FLOAT64":
		t.Name = "FLOAT"
	case "NUMBER":
		t.Name = "NUMBER"
	case "DATE":
		t.Name = "DATE"
	case "DURATION":
		t.Name = "DURATION"
	case "LOCAL":
		switch {
		case p.acceptWord("TIME"):
			t.Name = "LOCAL TIME"
		case p.acceptWord("DATETIME"):
			t.Name = "LOCAL DATETIME"
		default:
			p.unexpected("TIME or DATETIME")
		}
	case "ZONED":
		switch {
		case p.acceptWord("TIME"):
			t.Name = "ZONED TIME"
		case p.acceptWord("DATETIME"):
			t.Name = "ZONED DATETIME"
		default:
			p.unexpected("TIME or DATETIME")
		}
	case "TIME":
		t.Name = zone("TIME")
	case "TIMESTAMP":
		t.Name = zone("DATETIME")
	case "POINT":
		t.Name = "POINT"
	case "NODE", "VERTEX":
		t.Name = "NODE"
	case "RELATIONSHIP", "EDGE":
		t.Name = "RELATIONSHIP"
	case "PATH", "PATHS":
		t.Name = "PATH"
	case "MAP":
		t.Name = "MAP"
	case "PROPERTY":
		p.expectWord("VALUE")
		t.Name = "PROPERTY VALUE"
	case "VECTOR":
		t.Name = "VECTOR"
		if p.accept(Lt) {
			t.Elem = p.typ()
			p.closeAngle()
		}
		if p.accept(LParen) {
			n := p.expect(Integer, "a number of dimensions")
			v, ok, _ := IntegerValue(p.src(n), false)
			if !ok || v < 1 {
				p.errorAt(n.span(), "InvalidNumberLiteral", "invalid number of dimensions %s", clip(p.src(n)))
			}
			t.Dim = v
			p.expect(RParen, "')'")
		}
	case "LIST", "ARRAY":
		p.expect(Lt, "'<' and the elements' type")
		bar := p.bar
		p.bar = -1
		t.Name, t.Elem = "LIST", p.typ()
		p.bar = bar
		p.closeAngle()
	case "ANY":
		t.Name = "ANY"
		switch {
		case p.acceptWord("NODE"), p.acceptWord("VERTEX"):
			t.Name = "NODE"
		case p.acceptWord("RELATIONSHIP"), p.acceptWord("EDGE"):
			t.Name = "RELATIONSHIP"
		case p.acceptWord("MAP"):
			t.Name = "MAP"
		case p.acceptWords("PROPERTY", "VALUE"):
			t.Name = "PROPERTY VALUE"
		default:
			p.acceptWord("VALUE")
			if p.accept(Lt) {
				t.Name = "UNION"
				bar := p.bar
				p.bar = -1
				if u := p.typ(); u.Name == "UNION" && !u.NotNull {
					t.Alts = u.Alts
				} else {
					t.Alts = []*Type{u}
				}
				p.bar = bar
				p.closeAngle()
			}
		}
	default:
		p.i--
		p.unexpected("a type such as INTEGER, STRING or LIST<STRING>")
	}
}

func (p *parser) closeAngle() { p.expect(Gt, "'>'") }
