package sql

import "github.com/hedgerowdb/hedgerow/internal/dberr"

// Binding powers, from loose to tight, as in PostgreSQL since 9.5.
const (
	precLowest = iota
	precOr
	precAnd
	precNot
	precIs
	precCompare // < > = <= >= <>, not associative
	precBetween // BETWEEN IN LIKE ILIKE SIMILAR, not associative
	precOp      // any other operator
	precAdd
	precMul
	precPow
	precAt
	precCollate
	precUnary
	precPostfix // :: and below it subscripts and dots, which belong to the operand
)

// expr reads any expression (PostgreSQL's a_expr).
func (p *parser) expr() Expr { return p.binary(precLowest, false) }

// restricted reads what may stand before AND in BETWEEN, before IN in POSITION and behind DEFAULT (b_expr).
func (p *parser) restricted() Expr { return p.binary(precIs, true) }

func (p *parser) exprs() []Expr {
	x := p.expr()
	if p.kind() != Comma {
		return []Expr{x}
	}
	list := make([]Expr, 1, 4)
	list[0] = x
	for p.accept(Comma) {
		list = append(list, p.expr())
	}
	return list
}

func (p *parser) binary(min int, restricted bool) Expr {
	p.enter()
	start := p.tok().Start
	x := p.continueExpr(p.operand(min, restricted), start, min, restricted)
	p.leave()
	return x
}

func operatorPrec(op string) int {
	switch op {
	case "<", ">", "=", "<=", ">=", "<>", "!=":
		return precCompare
	case "+", "-":
		return precAdd
	case "*", "/", "%":
		return precMul
	case "^":
		return precPow
	}
	return precOp
}

// operator reads an operator token; != is the same as <>.
func (p *parser) operator() *Operator {
	t := p.next()
	name := p.src(t)
	if name == "!=" {
		name = "<>"
	}
	return &Operator{Span: t.span(), Name: name}
}

// qualifiedOperator reads OPERATOR(schema.op).
func (p *parser) qualifiedOperator() *Operator {
	start := p.next().Start
	p.expect(LParen)
	var schema []*Ident
	for p.kind() == Word {
		schema = append(schema, p.colID())
		p.expect(Dot)
	}
	if p.kind() != Op {
		p.syntax()
	}
	o := p.operator()
	p.expect(RParen)
	o.Schema, o.Span = schema, p.from(start)
	return o
}

// continueExpr reads the operators behind x that bind at least as tightly as min.
func (p *parser) continueExpr(x Expr, start int32, min int, restricted bool) Expr {
	max := precPostfix
	for n := 0; ; n++ {
		p.chain(n)
		t := p.tok()
		switch t.Kind {
		case Op:
			prec := operatorPrec(p.src(t))
			if prec < min || prec > max {
				return x
			}
			x = p.operatorRest(x, start, p.operator(), prec, restricted)
			max = precPostfix
			if _, ok := x.(*Binary); ok && prec == precCompare {
				max = precCompare - 1 // a < b < c is an error
			}
		case TypeCast:
			if max < precPostfix {
				return x
			}
			p.i++
			x = &Cast{X: x, Type: p.typeName()}
			x.(*Cast).Span = p.from(start)
		case Word:
			y, level := p.keywordOperator(x, start, min, max, restricted)
			if y == nil {
				return x
			}
			x, max = y, level
		default:
			return x
		}
	}
}

// operatorRest reads the right side of an operator: an operand, or ANY, ALL, SOME.
func (p *parser) operatorRest(l Expr, start int32, op *Operator, prec int, restricted bool) Expr {
	if k := p.kw(); (k == kANY || k == kSOME || k == kALL) && !restricted && p.peek(1).Kind == LParen {
		return p.quantifiedRest(l, start, op)
	}
	r := p.binary(prec+1, restricted)
	return &Binary{Span: p.from(start), Op: op, L: l, R: r}
}

func (p *parser) quantifiedRest(l Expr, start int32, op *Operator) Expr {
	q := &Quantified{X: l, Op: op, All: p.next().Keyword == kALL}
	p.expect(LParen)
	if p.startsQuery() {
		q.Array, q.Query = p.paren(false).value()
	} else {
		q.Array = p.expr()
	}
	p.expect(RParen)
	q.Span = p.from(start)
	return q
}

// keywordOperator reads an operator that is a word. It returns nil if there is none that fits between min and max, and the
// tightest operator that may follow.
func (p *parser) keywordOperator(x Expr, start int32, min, max int, restricted bool) (Expr, int) {
	t := p.tok()
	fits := func(prec int) bool { return min <= prec && prec <= max }
	switch t.Keyword {
	case kAND, kOR:
		prec := precAnd
		if t.Keyword == kOR {
			prec = precOr
		}
		if restricted || !fits(prec) {
			return nil, 0
		}
		l := &Logic{Or: t.Keyword == kOR, Args: []Expr{x}}
		for p.acceptKw(t.Keyword) {
			l.Args = append(l.Args, p.binary(prec+1, false))
		}
		l.Span = p.from(start)
		return l, precPostfix
	case kIS:
		if !fits(precIs) {
			return nil, 0
		}
		return p.isRest(x, start, restricted), precPostfix
	case kISNULL, kNOTNULL:
		if restricted || !fits(precIs) {
			return nil, 0
		}
		p.i++
		return &Is{Span: p.from(start), X: x, Not: t.Keyword == kNOTNULL, What: IsNull}, precPostfix
	case kNOT:
		switch p.peek(1).Keyword {
		case kBETWEEN, kIN, kLIKE, kILIKE, kSIMILAR:
			if restricted || !fits(precBetween) {
				return nil, 0
			}
			if p.peek(1).Keyword == kSIMILAR && p.peek(2).Keyword != kTO {
				return nil, 0
			}
			p.i++
			return p.betweenRest(x, start, true)
		}
	case kBETWEEN, kIN, kLIKE, kILIKE, kSIMILAR:
		if restricted || !fits(precBetween) || t.Keyword == kSIMILAR && p.peek(1).Keyword != kTO {
			return nil, 0 // substring(x SIMILAR y ESCAPE z) is read elsewhere
		}
		return p.betweenRest(x, start, false)
	case kOPERATOR:
		if p.peek(1).Kind != LParen || !fits(precOp) {
			return nil, 0
		}
		op := p.qualifiedOperator()
		return p.operatorRest(x, start, op, precOp, restricted), precPostfix
	case kAT:
		if restricted || !fits(precAt) || p.peek(1).Keyword != kTIME || p.peek(2).Keyword != kZONE {
			return nil, 0
		}
		p.i += 3
		z := p.binary(precAt+1, restricted)
		return &AtTimeZone{Span: p.from(start), X: x, Zone: z}, precPostfix
	case kCOLLATE:
		if restricted || !fits(precCollate) {
			return nil, 0
		}
		p.i++
		name := p.qualified()
		return &Collate{Span: p.from(start), X: x, Name: name}, precPostfix
	case kOVERLAPS:
		l, ok := x.(*Row)
		if restricted || !ok || !fits(precOp) {
			return nil, 0
		}
		op := &Operator{Span: p.next().span(), Name: "OVERLAPS"}
		r, ok := p.binary(precOp+1, false).(*Row)
		if !ok || len(l.Elems) != 2 || len(r.Elems) != 2 {
			p.fail(dberr.Compile(dberr.Syntax, "UnexpectedSyntax", int(start), int(p.toks[p.i-1].End), "wrong number of parameters on OVERLAPS expression"))
		}
		return &Binary{Span: p.from(start), Op: op, L: l, R: r}, precPostfix
	}
	return nil, 0
}

// isRest reads what follows IS.
func (p *parser) isRest(x Expr, start int32, restricted bool) Expr {
	p.i++
	not := p.acceptKw(kNOT)
	is := &Is{X: x, Not: not}
	switch k := p.kw(); {
	case k == kDISTINCT:
		p.i++
		p.expectKw(kFROM)
		r := p.binary(precIs+1, restricted)
		return &IsDistinct{Span: p.from(start), L: x, R: r, Not: not}
	case k == kDOCUMENT:
		is.What = IsDocument
	case restricted:
		p.syntax()
	case k == kNULL:
		is.What = IsNull
	case k == kTRUE:
		is.What = IsTrue
	case k == kFALSE:
		is.What = IsFalse
	case k == kUNKNOWN:
		is.What = IsUnknown
	case k == kNORMALIZED:
		is.What, is.Form = IsNormalized, "NFC"
	case (k == kNFC || k == kNFD || k == kNFKC || k == kNFKD) && p.peek(1).Keyword == kNORMALIZED:
		is.What, is.Form = IsNormalized, k.String()
		p.i++
	default:
		p.syntax()
	}
	p.i++
	is.Span = p.from(start)
	return is
}

// betweenRest reads BETWEEN, IN, LIKE, ILIKE or SIMILAR TO behind x, and returns with it the tightest operator that may follow.
func (p *parser) betweenRest(x Expr, start int32, not bool) (Expr, int) {
	t := p.next()
	switch t.Keyword {
	case kBETWEEN:
		b := &Between{X: x, Not: not}
		if b.Symmetric = p.acceptKw(kSYMMETRIC); !b.Symmetric {
			p.acceptKw(kASYMMETRIC)
		}
		b.Lo = p.restricted()
		p.expectKw(kAND)
		b.Hi = p.binary(precBetween+1, false)
		b.Span = p.from(start)
		return b, precBetween - 1
	case kIN:
		in := &In{X: x, Not: not}
		p.expect(LParen)
		if p.startsQuery() {
			r := p.paren(true)
			if in.Query = r.query; in.Query == nil {
				in.List = r.list
			}
		} else {
			in.List = p.exprs()
		}
		p.expect(RParen)
		in.Span = p.from(start)
		return in, precPostfix
	}
	l := &Like{X: x, Not: not}
	switch t.Keyword {
	case kILIKE:
		l.Kind = LikeILike
	case kSIMILAR:
		p.expectKw(kTO)
		l.Kind = LikeSimilar
	}
	if k := p.kw(); (k == kANY || k == kSOME || k == kALL) && p.peek(1).Kind == LParen && l.Kind != LikeSimilar {
		name := "~~"
		if l.Kind == LikeILike {
			name = "~~*"
		}
		if not {
			name = "!" + name
		}
		return p.quantifiedRest(x, start, &Operator{Span: t.span(), Name: name}), precPostfix
	}
	l.Pattern = p.binary(precBetween+1, false)
	if p.acceptKw(kESCAPE) {
		l.Escape = p.binary(precBetween+1, false)
	}
	l.Span = p.from(start)
	return l, precBetween - 1
}

// operand reads a prefix operator or a value.
func (p *parser) operand(min int, restricted bool) Expr {
	t := p.tok()
	switch {
	case t.Kind == Op:
		op := p.operator()
		if op.Name == "<>" || op.Name == "=" || op.Name == "<" || op.Name == ">" || op.Name == "<=" || op.Name == ">=" ||
			op.Name == "*" || op.Name == "/" || op.Name == "%" || op.Name == "^" {
			p.i--
			p.syntax()
		}
		prec := precOp + 1
		if op.Name == "-" || op.Name == "+" {
			prec = precUnary
		}
		x := p.binary(prec, restricted)
		if op.Name == "-" {
			if lit := negate(x); lit != nil {
				return respan(lit, p.from(t.Start))
			}
		}
		return &Unary{Span: p.from(t.Start), Op: op, X: x}
	case t.Keyword == kNOT:
		if restricted || min > precNot {
			p.syntax()
		}
		p.i++
		x := p.binary(precNot, false)
		return &Not{Span: p.from(t.Start), X: x}
	case t.Keyword == kOPERATOR && p.peek(1).Kind == LParen:
		op := p.qualifiedOperator()
		x := p.binary(precOp+1, restricted)
		return &Unary{Span: p.from(t.Start), Op: op, X: x}
	}
	return p.value()
}

func respan(x Expr, s Span) Expr {
	switch x := x.(type) {
	case *IntLit:
		x.Span = s
	case *NumericLit:
		x.Span = s
	}
	return x
}

// value reads a constant, column, call, parenthesis or special form (c_expr).
func (p *parser) value() Expr {
	t := p.tok()
	switch t.Kind {
	case Integer, Number:
		return p.number()
	case String:
		return p.stringLit()
	case Bits:
		p.i++
		return p.bits(t)
	case Parameter:
		p.i++
		n := 0
		for _, c := range []byte(p.src(t)[1:]) {
			if n = n*10 + int(c-'0'); n > 65535 {
				p.fail(dberr.Compile(dberr.LimitExceeded, "", int(t.Start), int(t.End), "there is no parameter %s: at most 65535 are allowed", clip(p.src(t))))
			}
		}
		if n == 0 {
			p.fail(dberr.Compile(dberr.MissingParameter, "", int(t.Start), int(t.End), "there is no parameter %s", p.src(t)))
		}
		if n > p.params {
			p.params = n
		}
		return p.indirection(&Param{t.span(), n}, t.Start)
	case LParen:
		return p.parenthesised()
	case Word:
		return p.wordValue(t)
	}
	p.syntax()
	return nil
}

func (p *parser) bits(t *Token) Expr {
	src := p.src(t)
	b := &BitLit{Span: t.span(), Digits: parts(src[1:], false), Hex: src[0]|0x20 == 'x'}
	for _, c := range []byte(b.Digits) {
		if b.Hex && hexDigit(c) < 0 {
			p.fail(dberr.Compile(dberr.InvalidText, "", int(t.Start), int(t.End), `"%c" is not a valid hexadecimal digit`, c))
		}
		if !b.Hex && c != '0' && c != '1' {
			p.fail(dberr.Compile(dberr.InvalidText, "", int(t.Start), int(t.End), `"%c" is not a valid binary digit`, c))
		}
	}
	return b
}

// indirection reads the subscripts and fields that may follow a parameter or parenthesis.
func (p *parser) indirection(x Expr, start int32) Expr {
	for n := 0; ; n++ {
		p.chain(n)
		switch p.kind() {
		case LBracket:
			x = p.subscript(x, start)
		case Dot:
			p.i++
			f := &Field{X: x}
			if !p.acceptOp("*") {
				f.Name = p.colLabel()
			}
			f.Span = p.from(start)
			x = f
		default:
			return x
		}
	}
}

func (p *parser) subscript(x Expr, start int32) *Subscript {
	p.expect(LBracket)
	s := &Subscript{X: x}
	if p.kind() != Colon {
		s.From = p.expr()
	}
	if p.accept(Colon) {
		s.Slice = true
		if p.kind() != RBracket {
			s.To = p.expr()
		}
	}
	p.expect(RBracket)
	s.Span = p.from(start)
	return s
}

// ---- What a parenthesis holds ----

// startsQuery reports whether a query stands here, perhaps behind further opening parentheses. Where such a run of
// parentheses ends is kept, so that each is looked at once.
func (p *parser) startsQuery() bool {
	if p.i < p.runStart || p.i > p.runEnd {
		p.runStart, p.runEnd = p.i, p.i
		for p.toks[p.runEnd].Kind == LParen {
			p.looks++
			p.runEnd++
		}
	}
	switch p.toks[p.runEnd].Keyword {
	case kSELECT, kVALUES, kWITH, kTABLE:
		return true
	}
	return false
}

// parenResult is what a parenthesis held: a query, or one expression or more.
type parenResult struct {
	query *Query
	list  []Expr
	comma bool
}

// value splits a result that must be one expression or a query.
func (r parenResult) value() (Expr, *Query) {
	if r.query != nil {
		return nil, r.query
	}
	return r.list[0], nil
}

// paren reads the inside of a parenthesis where startsQuery is true: ((SELECT 1) UNION SELECT 2) is a query, and
// ((SELECT 1) + 2) an expression, which is known only behind the inner one. many allows a list of expressions.
func (p *parser) paren(many bool) parenResult {
	p.enter()
	defer p.leave()
	start := p.tok().Start
	if p.kind() != LParen {
		return parenResult{query: p.query()}
	}
	p.i++
	inner := p.paren(true)
	p.expect(RParen)
	var x Expr
	if inner.query != nil {
		inner.query.Span = p.from(start)
		if p.continuesQuery() || p.kind() == RParen {
			return parenResult{query: p.queryRest(p.setOpsRest(inner.query, start, 0), start, nil)}
		}
		x = p.indirection(&Subquery{Span: inner.query.Span, Query: inner.query}, start)
	} else {
		if x = p.rowOrValue(inner, start); !inner.comma {
			x = p.indirection(x, start)
		}
	}
	x = p.continueExpr(x, start, precLowest, false)
	r := parenResult{list: []Expr{x}}
	for many && p.accept(Comma) {
		r.comma = true
		r.list = append(r.list, p.expr())
	}
	return r
}

// continuesQuery reports whether what follows a parenthesised query belongs to a query around it.
func (p *parser) continuesQuery() bool {
	switch p.kw() {
	case kUNION, kINTERSECT, kEXCEPT, kORDER, kLIMIT, kOFFSET, kFETCH, kFOR:
		return true
	}
	return false
}

func (p *parser) rowOrValue(r parenResult, start int32) Expr {
	if r.comma {
		return &Row{Span: p.from(start), Elems: r.list}
	}
	return r.list[0]
}

// parenthesised reads (expr), (a, b), (query), and what is attached to them.
func (p *parser) parenthesised() Expr {
	start := p.next().Start
	var r parenResult
	if p.startsQuery() {
		r = p.paren(true)
	} else {
		r.list = p.exprs()
		r.comma = len(r.list) > 1
	}
	p.expect(RParen)
	if r.query != nil {
		return p.indirection(&Subquery{Span: p.from(start), Query: r.query}, start)
	}
	x := p.rowOrValue(r, start)
	if r.comma {
		return x
	}
	return p.indirection(x, start)
}

// ---- Words ----

// wordValue reads what begins with a word: a column, a call, a typed constant, a special form.
func (p *parser) wordValue(t *Token) Expr {
	if x := p.specialForm(t); x != nil {
		return x
	}
	n := p.peek(1)
	switch t.Keyword.class() {
	case reserved:
		p.syntax()
	case typeFuncName:
		if n.Kind != LParen && n.Kind != Dot && n.Kind != String {
			p.syntax()
		}
	}
	if p.isBuiltinType(t) && p.startsTypedConstant(t) {
		return p.typedConstant(t)
	}
	// A chain of names.
	parts := make([]*Ident, 1, 3)
	parts[0] = p.word()
	for p.kind() == Dot {
		if p.peek(1).Kind == Op && p.src(p.peek(1)) == "*" {
			p.i += 2
			return &Star{Span: p.from(t.Start), Table: parts}
		}
		p.i++
		parts = append(parts, p.colLabel())
		if len(parts) > 4 {
			p.fail(dberr.Compile(dberr.Syntax, "UnexpectedSyntax", int(t.Start), int(p.toks[p.i-1].End),
				"improper qualified name (too many dotted names): %s", clip(p.text[t.Start:p.toks[p.i-1].End])))
		}
	}
	switch p.kind() {
	case LParen:
		if len(parts) == 1 && t.Keyword.class() == colName {
			p.syntax()
		}
		return p.call(&Name{p.from(t.Start), parts}, t.Start)
	case String:
		if len(parts) == 1 && !p.isTypeFuncName(t) {
			p.syntax()
		}
		ty := &TypeName{Span: p.from(t.Start), Name: &Name{p.from(t.Start), parts}}
		return p.constantOf(ty, t.Start)
	}
	if len(parts) == 1 && t.Keyword.class() == typeFuncName {
		p.syntax()
	}
	c := &ColumnRef{Span: p.from(t.Start), Parts: parts}
	if p.kind() == LBracket {
		return p.indirection(c, t.Start)
	}
	return c
}

// constantOf reads the string of a constant such as date '2020-01-01'.
func (p *parser) constantOf(ty *TypeName, start int32) Expr {
	s := p.stringLit()
	return &Cast{Span: p.from(start), X: s, Type: ty}
}

// startsTypedConstant tells timestamp '…' from a column named timestamp.
func (p *parser) startsTypedConstant(t *Token) bool {
	n := p.peek(1)
	switch {
	case n.Kind == String, n.Kind == LParen:
		return true
	case t.Keyword == kTIMESTAMP || t.Keyword == kTIME:
		return (n.Keyword == kWITH || n.Keyword == kWITHOUT) && p.peek(2).Keyword == kTIME && p.peek(3).Keyword == kZONE
	case t.Keyword == kDOUBLE:
		return true
	case t.Keyword == kNATIONAL:
		return n.Keyword == kCHARACTER || n.Keyword == kCHAR
	}
	return n.Keyword == kVARYING
}

// typedConstant reads a constant of a type with a keyword: timestamp '…', interval '1' day, char(3) 'x'.
func (p *parser) typedConstant(t *Token) Expr {
	start := t.Start
	ty := p.builtinType(true)
	if p.kind() != String {
		p.syntax()
	}
	x := p.constantOf(ty, start).(*Cast)
	if t.Keyword == kINTERVAL && len(ty.Args) == 0 {
		p.intervalFields(ty)
		x.Span = p.from(start)
	}
	return x
}

func (p *parser) specialForm(t *Token) Expr {
	n := p.peek(1)
	switch t.Keyword {
	case 0:
		return nil
	case kNULL:
		p.i++
		return &NullLit{t.span()}
	case kTRUE, kFALSE:
		p.i++
		return &BoolLit{t.span(), t.Keyword == kTRUE}
	case kDEFAULT:
		p.i++
		return &Default{t.span()}
	case kCASE:
		return p.caseExpr()
	case kCAST, kTREAT:
		if t.Keyword == kTREAT {
			p.unsupported(t.Start, "TREAT is not supported")
		}
		p.i++
		p.expect(LParen)
		c := &Cast{X: p.expr()}
		p.expectKw(kAS)
		c.Type = p.typeName()
		p.expect(RParen)
		c.Span = p.from(t.Start)
		return c
	case kEXISTS:
		p.i++
		p.expect(LParen)
		if !p.startsQuery() {
			p.syntax()
		}
		r := p.paren(false)
		if r.query == nil {
			p.syntax()
		}
		p.expect(RParen)
		return &Exists{p.from(t.Start), r.query}
	case kARRAY:
		p.i++
		if p.accept(LParen) {
			if !p.startsQuery() {
				p.syntax()
			}
			r := p.paren(false)
			if r.query == nil {
				p.syntax()
			}
			p.expect(RParen)
			return &ArrayQuery{p.from(t.Start), r.query}
		}
		return p.arrayElems(t.Start)
	case kROW:
		if n.Kind != LParen {
			p.syntax()
		}
		p.i += 2
		r := &Row{Explicit: true}
		if p.kind() != RParen {
			r.Elems = p.exprs()
		}
		p.expect(RParen)
		r.Span = p.from(t.Start)
		return r
	case kCURRENT_DATE, kCURRENT_ROLE, kCURRENT_USER, kSESSION_USER, kUSER, kCURRENT_CATALOG:
		p.i++
		return &SystemValue{Span: t.span(), Name: foldName(p.src(t))}
	case kCURRENT_SCHEMA:
		if n.Kind == LParen || n.Kind == Dot || n.Kind == String {
			return nil
		}
		p.i++
		return &SystemValue{Span: t.span(), Name: foldName(p.src(t))}
	case kCURRENT_TIME, kCURRENT_TIMESTAMP, kLOCALTIME, kLOCALTIMESTAMP:
		p.i++
		v := &SystemValue{Name: foldName(p.src(t))}
		if p.accept(LParen) {
			from := p.tok().Start
			n := p.intConst()
			v.Precision = &IntLit{p.from(from), n}
			p.expect(RParen)
		}
		v.Span = p.from(t.Start)
		return v
	case kCOALESCE, kNULLIF, kGREATEST, kLEAST, kGROUPING:
		if n.Kind != LParen {
			return nil
		}
		f := p.plainCall(t)
		if len(f.Args) == 0 || t.Keyword == kNULLIF && len(f.Args) != 2 {
			p.i--
			p.syntax()
		}
		return f
	case kEXTRACT, kPOSITION, kOVERLAY, kSUBSTRING, kTRIM, kNORMALIZE:
		if n.Kind == LParen {
			return p.keywordCall(t)
		}
	case kCOLLATION:
		if n.Keyword == kFOR && p.peek(2).Kind == LParen {
			p.i += 3
			f := p.named(t, "pg_collation_for", p.expr())
			p.expect(RParen)
			f.Span = p.from(t.Start)
			return f
		}
	case kXMLCONCAT, kXMLELEMENT, kXMLEXISTS, kXMLFOREST, kXMLPARSE, kXMLPI, kXMLROOT, kXMLSERIALIZE:
		if n.Kind == LParen {
			p.unsupported(t.Start, "%s is not supported", t.Keyword)
		}
	}
	return nil
}

// arrayElems reads [a, b] or [[a], [b]].
func (p *parser) arrayElems(start int32) *Array {
	p.enter()
	p.expect(LBracket)
	a := &Array{}
	if p.kind() != RBracket {
		nested := p.kind() == LBracket
		for {
			if nested {
				a.Elems = append(a.Elems, p.arrayElems(p.tok().Start))
			} else {
				a.Elems = append(a.Elems, p.expr())
			}
			if !p.accept(Comma) {
				break
			}
		}
	}
	p.expect(RBracket)
	a.Span = p.from(start)
	p.leave()
	return a
}

func (p *parser) caseExpr() Expr {
	start := p.next().Start
	c := &Case{}
	if p.kw() != kWHEN {
		c.Operand = p.expr()
	}
	for p.kw() == kWHEN {
		w := &When{}
		from := p.next().Start
		w.Cond = p.expr()
		p.expectKw(kTHEN)
		w.Then = p.expr()
		w.Span = p.from(from)
		c.Whens = append(c.Whens, w)
	}
	if len(c.Whens) == 0 {
		p.syntax()
	}
	if p.acceptKw(kELSE) {
		c.Else = p.expr()
	}
	p.expectKw(kEND)
	c.Span = p.from(start)
	return c
}

// ---- Calls ----

// named makes a call of a function by its catalog name.
func (p *parser) named(t *Token, name string, args ...Expr) *Func {
	f := &Func{Name: &Name{t.span(), []*Ident{{t.span(), name}}}}
	for _, a := range args {
		f.Args = append(f.Args, &Arg{Span: Span{int32(a.Pos()), int32(a.End())}, Value: a})
	}
	f.Span = p.from(t.Start)
	return f
}

// plainCall reads name(a, b) of a keyword that is called like a function.
func (p *parser) plainCall(t *Token) *Func {
	p.i += 2
	var args []Expr
	if p.kind() != RParen {
		args = p.exprs()
	}
	p.expect(RParen)
	return p.named(t, foldName(p.src(t)), args...)
}

// keywordCall reads the calls whose arguments are separated by words, as the functions that they stand for.
func (p *parser) keywordCall(t *Token) Expr {
	p.i += 2
	name := foldName(p.src(t))
	var args []Expr
	switch t.Keyword {
	case kEXTRACT:
		f := p.tok()
		if f.Kind == String {
			args = append(args, p.stringLit())
		} else if f.Kind == Word {
			p.i++
			args = append(args, &StringLit{Span: f.span(), Value: p.name(f)})
		} else {
			p.syntax()
		}
		p.expectKw(kFROM)
		args = append(args, p.expr())
	case kPOSITION:
		sub := p.restricted()
		p.expectKw(kIN)
		args = []Expr{p.restricted(), sub}
	case kOVERLAY:
		args = p.exprs()
		if len(args) == 1 && p.acceptKw(kPLACING) {
			args = append(args, p.expr())
			p.expectKw(kFROM)
			args = append(args, p.expr())
			if p.acceptKw(kFOR) {
				args = append(args, p.expr())
			}
		}
	case kSUBSTRING:
		if p.kind() == RParen {
			break
		}
		args = p.exprs()
		if len(args) > 1 {
			break
		}
		switch {
		case p.acceptKw(kFROM):
			args = append(args, p.expr())
			if p.acceptKw(kFOR) {
				args = append(args, p.expr())
			}
		case p.acceptKw(kFOR):
			n := p.expr()
			if p.acceptKw(kFROM) {
				args = append(args, p.expr(), n)
			} else {
				args = append(args, &IntLit{Span{int32(n.Pos()), int32(n.Pos())}, 1}, n)
			}
		case p.acceptKw(kSIMILAR):
			args = append(args, p.expr())
			p.expectKw(kESCAPE)
			args = append(args, p.expr())
		}
	case kTRIM:
		name = "btrim"
		switch {
		case p.acceptKw(kLEADING):
			name = "ltrim"
		case p.acceptKw(kTRAILING):
			name = "rtrim"
		default:
			p.acceptKw(kBOTH)
		}
		if !p.acceptKw(kFROM) {
			args = p.exprs()
			if len(args) == 1 && p.acceptKw(kFROM) {
				chars := args[0]
				args = append(p.exprs(), chars)
			}
		} else {
			args = p.exprs()
		}
	case kNORMALIZE:
		args = append(args, p.expr())
		if p.accept(Comma) {
			f := p.tok()
			switch f.Keyword {
			case kNFC, kNFD, kNFKC, kNFKD:
				p.i++
				args = append(args, &StringLit{Span: f.span(), Value: f.Keyword.String()})
			default:
				p.syntax()
			}
		}
	}
	p.expect(RParen)
	return p.named(t, name, args...)
}

// call reads an ordinary call; the parenthesis is next.
func (p *parser) call(name *Name, start int32) Expr {
	f := &Func{Name: name}
	p.expect(LParen)
	switch {
	case p.isOp("*") && p.peek(1).Kind == RParen:
		p.i++
		f.Star = true
	case p.kind() == RParen:
	default:
		if f.Distinct = p.acceptKw(kDISTINCT); !f.Distinct {
			p.acceptKw(kALL)
		}
		for {
			f.Args = append(f.Args, p.arg())
			if !p.accept(Comma) {
				break
			}
		}
		if p.kw() == kORDER {
			f.OrderBy = p.orderBy()
		}
	}
	p.expect(RParen)
	// A call before a string is a type with modifiers: numeric(3) '1' of a type without a keyword.
	if p.kind() == String && !f.Star && !f.Distinct && f.OrderBy == nil && len(f.Args) > 0 {
		ty := &TypeName{Name: name, Span: p.from(start)}
		for _, a := range f.Args {
			if a.Name != nil || a.Variadic {
				p.syntax()
			}
			ty.Args = append(ty.Args, a.Value)
		}
		return p.constantOf(ty, start)
	}
	if p.kw() == kWITHIN && p.peek(1).Keyword == kGROUP {
		if f.OrderBy != nil || f.Distinct {
			p.syntax()
		}
		p.i += 2
		p.expect(LParen)
		f.OrderBy, f.WithinGroup = p.orderBy(), true
		p.expect(RParen)
	}
	if p.kw() == kFILTER && p.peek(1).Kind == LParen {
		p.i += 2
		p.expectKw(kWHERE)
		f.Filter = p.expr()
		p.expect(RParen)
	}
	if p.kw() == kOVER {
		p.i++
		f.Over = p.over()
	}
	f.Span = p.from(start)
	return f
}

func (p *parser) arg() *Arg {
	start := p.tok().Start
	a := &Arg{Variadic: p.acceptKw(kVARIADIC)}
	if k := p.peek(1).Kind; (k == Arrow || k == ColonEq) && p.isTypeFuncName(p.tok()) {
		a.Name = p.word()
		p.i++
	}
	a.Value = p.expr()
	a.Span = p.from(start)
	return a
}

// over reads OVER w or OVER (…).
func (p *parser) over() *WindowDef {
	if p.kind() != LParen {
		w := &WindowDef{Name: p.colID()}
		w.Span = w.Name.Span
		return w
	}
	return p.window()
}

// window reads a window in parentheses.
func (p *parser) window() *WindowDef {
	start := p.expect(LParen).Start
	w := &WindowDef{}
	if p.isColID(p.tok()) {
		switch p.kw() {
		case kPARTITION, kRANGE, kROWS, kGROUPS:
		default:
			w.Ref = p.colID()
		}
	}
	if p.acceptKw(kPARTITION) {
		p.expectKw(kBY)
		w.Partition = p.exprs()
	}
	if p.kw() == kORDER {
		w.OrderBy = p.orderBy()
	}
	switch p.kw() {
	case kRANGE, kROWS, kGROUPS:
		w.Frame = p.frame()
	}
	p.expect(RParen)
	w.Span = p.from(start)
	return w
}

func (p *parser) frame() *Frame {
	t := p.next()
	f := &Frame{}
	switch t.Keyword {
	case kROWS:
		f.Mode = FrameRows
	case kGROUPS:
		f.Mode = FrameGroups
	}
	if p.acceptKw(kBETWEEN) {
		f.From = p.frameBound()
		p.expectKw(kAND)
		f.To = p.frameBound()
	} else {
		f.From = p.frameBound()
	}
	problem := ""
	switch {
	case f.From.Kind == UnboundedFollowing:
		problem = "frame start cannot be UNBOUNDED FOLLOWING"
	case f.To.Kind == UnboundedPreceding:
		problem = "frame end cannot be UNBOUNDED PRECEDING"
	case f.From.Kind == OffsetFollowing && f.To.Kind == BoundNone:
		problem = "frame starting from following row cannot end with current row"
	case f.To.Kind != BoundNone && f.From.Kind == CurrentRow && f.To.Kind < CurrentRow:
		problem = "frame starting from current row cannot have preceding rows"
	case f.From.Kind == OffsetFollowing && f.To.Kind < OffsetFollowing:
		problem = "frame starting from following row cannot have preceding rows"
	}
	f.Span = p.from(t.Start)
	if problem != "" {
		p.fail(dberr.Compile(dberr.Syntax, "", f.Pos(), f.End(), "%s", problem))
	}
	if p.acceptKw(kEXCLUDE) {
		switch {
		case p.acceptKws(kCURRENT, kROW):
			f.Exclude = ExcludeCurrentRow
		case p.acceptKw(kGROUP):
			f.Exclude = ExcludeGroup
		case p.acceptKw(kTIES):
			f.Exclude = ExcludeTies
		case p.acceptKws(kNO, kOTHERS):
			f.Exclude = ExcludeNoOthers
		default:
			p.syntax()
		}
	}
	f.Span = p.from(t.Start)
	return f
}

func (p *parser) frameBound() FrameBound {
	switch {
	case p.acceptKws(kUNBOUNDED, kPRECEDING):
		return FrameBound{Kind: UnboundedPreceding}
	case p.acceptKws(kUNBOUNDED, kFOLLOWING):
		return FrameBound{Kind: UnboundedFollowing}
	case p.acceptKws(kCURRENT, kROW):
		return FrameBound{Kind: CurrentRow}
	}
	x := p.expr()
	switch {
	case p.acceptKw(kPRECEDING):
		return FrameBound{OffsetPreceding, x}
	case p.acceptKw(kFOLLOWING):
		return FrameBound{OffsetFollowing, x}
	}
	p.syntax()
	return FrameBound{}
}

// ---- Types ----

// typeName reads a type with its array bounds.
func (p *parser) typeName() *TypeName {
	start := p.tok().Start
	setOf := p.acceptKw(kSETOF)
	ty := p.simpleType()
	ty.SetOf = setOf
	if p.acceptKw(kARRAY) {
		n := -1
		if p.accept(LBracket) {
			n = int(p.intConst())
			p.expect(RBracket)
		}
		ty.Array = []int{n}
	} else {
		for n := 0; p.accept(LBracket); n++ {
			p.chain(n)
			b := -1
			if p.kind() != RBracket {
				b = int(p.intConst())
			}
			p.expect(RBracket)
			ty.Array = append(ty.Array, b)
		}
	}
	ty.Span = p.from(start)
	return ty
}

func (p *parser) simpleType() *TypeName {
	t := p.tok()
	if t.Kind != Word {
		p.syntax()
	}
	if p.isBuiltinType(t) {
		return p.builtinType(false)
	}
	if !p.isTypeFuncName(t) {
		// A qualifier may be any name of a column.
		if !p.isColID(t) || p.peek(1).Kind != Dot {
			p.syntax()
		}
	}
	name := &Name{Parts: []*Ident{p.word()}}
	for p.accept(Dot) {
		name.Parts = append(name.Parts, p.colLabel())
		if len(name.Parts) > 3 {
			p.syntax()
		}
	}
	name.Span = p.from(t.Start)
	ty := &TypeName{Name: name}
	if p.accept(LParen) {
		ty.Args = p.exprs()
		p.expect(RParen)
	}
	ty.Span = p.from(t.Start)
	return ty
}

// isBuiltinType reports whether a keyword begins a type of the grammar's own.
func (p *parser) isBuiltinType(t *Token) bool {
	switch t.Keyword {
	case kINT, kINTEGER, kSMALLINT, kBIGINT, kREAL, kFLOAT, kDECIMAL, kDEC, kNUMERIC, kBOOLEAN, kBIT, kCHARACTER, kCHAR,
		kVARCHAR, kNATIONAL, kNCHAR, kTIMESTAMP, kTIME, kINTERVAL:
		return true
	case kDOUBLE:
		return p.peek(1).Keyword == kPRECISION
	}
	return false
}

// builtinType reads a type that has keywords of its own. constant is true before a string: interval fields then stand
// behind the string.
func (p *parser) builtinType(constant bool) *TypeName {
	t := p.next()
	ty := &TypeName{System: true}
	name := ""
	args := func() {
		if p.accept(LParen) {
			ty.Args = p.exprs()
			p.expect(RParen)
		}
	}
	precision := func() {
		if p.accept(LParen) {
			from := p.tok().Start
			n := p.intConst()
			ty.Args = []Expr{&IntLit{p.from(from), n}}
			p.expect(RParen)
		}
	}
	varying := func(yes, no string) {
		name = no
		if p.acceptKw(kVARYING) {
			name = yes
		}
	}
	switch t.Keyword {
	case kINT, kINTEGER:
		name = "int4"
	case kSMALLINT:
		name = "int2"
	case kBIGINT:
		name = "int8"
	case kREAL:
		name = "float4"
	case kDOUBLE:
		p.expectKw(kPRECISION)
		name = "float8"
	case kFLOAT:
		name = "float8"
		if p.accept(LParen) {
			at := p.tok()
			switch n := p.intConst(); {
			case n < 1:
				p.fail(dberr.Compile(dberr.InvalidParameterValue, "", int(at.Start), int(at.End), "precision for type float must be at least 1 bit"))
			case n > 53:
				p.fail(dberr.Compile(dberr.InvalidParameterValue, "", int(at.Start), int(at.End), "precision for type float must be less than 54 bits"))
			case n <= 24:
				name = "float4"
			}
			p.expect(RParen)
		}
	case kDECIMAL, kDEC, kNUMERIC:
		name = "numeric"
		args()
	case kBOOLEAN:
		name = "bool"
	case kBIT:
		varying("varbit", "bit")
		args()
		if name == "bit" && ty.Args == nil && !constant {
			ty.Args = []Expr{&IntLit{p.from(t.Start), 1}}
		}
	case kCHARACTER, kCHAR, kNCHAR, kNATIONAL:
		if t.Keyword == kNATIONAL && !p.acceptKw(kCHARACTER) {
			p.expectKw(kCHAR)
		}
		varying("varchar", "bpchar")
		precision()
		if name == "bpchar" && ty.Args == nil && !constant {
			ty.Args = []Expr{&IntLit{p.from(t.Start), 1}}
		}
	case kVARCHAR:
		name = "varchar"
		precision()
	case kTIMESTAMP, kTIME:
		name = foldName(p.src(t))
		precision()
		switch {
		case p.acceptKws(kWITH, kTIME, kZONE):
			name += "tz"
		case p.acceptKws(kWITHOUT, kTIME, kZONE):
		}
	case kINTERVAL:
		name = "interval"
		precision()
		if !constant && ty.Args == nil {
			p.intervalFields(ty)
		}
	}
	ty.Span = p.from(t.Start)
	ty.Name = &Name{ty.Span, []*Ident{{ty.Span, name}}}
	return ty
}

// intervalFields reads YEAR, DAY TO SECOND(3) and so on.
func (p *parser) intervalFields(ty *TypeName) {
	from := p.kw()
	switch from {
	case kYEAR, kMONTH, kDAY, kHOUR, kMINUTE, kSECOND:
		p.i++
	default:
		return
	}
	last := from
	ty.Fields = from.String()
	if p.kw() == kTO {
		ok := false
		switch to := p.peek(1).Keyword; to {
		case kMONTH:
			ok = from == kYEAR
		case kHOUR:
			ok = from == kDAY
		case kMINUTE:
			ok = from == kDAY || from == kHOUR
		case kSECOND:
			ok = from == kDAY || from == kHOUR || from == kMINUTE
		}
		p.i++
		if !ok {
			p.syntax()
		}
		last = p.next().Keyword
		ty.Fields += " TO " + last.String()
	}
	if last == kSECOND && p.accept(LParen) {
		at := p.tok().Start
		n := p.intConst()
		ty.Args = []Expr{&IntLit{p.from(at), n}}
		p.expect(RParen)
	}
	ty.Span = p.from(ty.Start)
}
