package cypher

import "strings"

// patterns reads the comma parts of a pattern.
func (p *parser) patterns() []*Path {
	paths := []*Path{p.path()}
	for p.accept(Comma) {
		paths = append(paths, p.path())
	}
	return paths
}

// path reads [v =] [selector] elements, or shortestPath(…).
func (p *parser) path() *Path {
	p.enter()
	start := p.tok().Start
	path := &Path{}
	if p.kind() == Name && p.peek(1).Kind == Eq {
		path.Var = p.ident("a variable")
		p.i++
	}
	switch p.kw() {
	case kwALL, kwANY, kwSHORTEST:
		path.Selector = p.selector()
	}
	if k := p.kw(); (k == kwSHORTESTPATH || k == kwALLSHORTESTPATHS) && p.peek(1).Kind == LParen {
		f := p.shortestFunc()
		path.Shortest, path.Elements = f.Shortest, f.Elements
	} else {
		if p.kind() != LParen {
			p.unexpected("a pattern such as (n)")
		}
		path.Elements = p.elements()
	}
	path.Span = p.from(start)
	p.leave()
	return path
}

// shortestFunc reads shortestPath((a)-[*]->(b)) or allShortestPaths(…).
func (p *parser) shortestFunc() *Path {
	t := p.next()
	path := &Path{Shortest: ShortestPath}
	if t.Keyword == kwALLSHORTESTPATHS {
		path.Shortest = AllShortestPaths
	}
	p.expect(LParen, "'('")
	if p.kind() != LParen {
		p.unexpected("a pattern such as (a)-[*]->(b)")
	}
	path.Elements = p.elements()
	p.expect(RParen, "')'")
	path.Span = p.from(t.Start)
	return path
}

func (p *parser) selector() Selector {
	s := Selector{}
	t := p.next()
	start := t.Start
	count := func() {
		switch p.kind() {
		case Integer:
			n := p.next()
			s.Count = p.integer(n, n.Start, false)
		case Parameter:
			s.Count = p.param()
		}
	}
	switch t.Keyword {
	case kwALL:
		if p.acceptKw(kwSHORTEST) {
			s.Kind = SelectAllShortest
		}
	case kwANY:
		s.Kind = SelectAny
		if p.acceptKw(kwSHORTEST) {
			s.Kind = SelectAnyShortest
		} else {
			count()
		}
	case kwSHORTEST:
		s.Kind = SelectShortest
		count()
	}
	s.Paths = p.acceptWord("PATHS") || p.acceptWord("PATH")
	if s.Kind == SelectShortest && (p.acceptWord("GROUPS") || p.acceptWord("GROUP")) {
		s.Kind = SelectShortestGroups
	}
	if s.Kind == SelectShortest && s.Count == nil {
		p.unexpected("a number of paths, as in SHORTEST 1, or GROUPS")
	}
	s.Span = p.from(start)
	return s
}

// elements reads nodes, relationships and parenthesised path patterns; an opening parenthesis is the next token.
func (p *parser) elements() []Element {
	p.enter()
	var buf [8]Element
	elems := buf[:0]
	sub := p.isSubPath(p.i)
	if sub {
		elems = append(elems, p.subPath())
	} else {
		elems = append(elems, p.node())
	}
	for {
		switch {
		case p.kind() == LParen:
			// Two parts touch only where one of them is parenthesised.
			next := p.isSubPath(p.i)
			if !next && !sub {
				p.unexpected("a relationship such as -[:KNOWS]->, or ','")
			}
			if sub = next; sub {
				elems = append(elems, p.subPath())
			} else {
				elems = append(elems, p.node())
			}
			continue
		case p.kind() == Minus, p.kind() == Lt && p.peek(1).Kind == Minus:
			if sub {
				p.unexpected("a node such as (n) between the parenthesised pattern and the relationship")
			}
			elems = append(elems, p.rel())
			if p.kind() != LParen {
				p.unexpected("a node such as (n)")
			}
			if sub = p.isSubPath(p.i); sub {
				p.unexpected("a node between the relationship and the parenthesised pattern")
			}
			elems = append(elems, p.node())
			continue
		}
		break
	}
	p.leave()
	return append([]Element(nil), elems...)
}

// isSubPath tells a parenthesised path pattern from a node, by the first tokens in the parenthesis.
func (p *parser) isSubPath(i int) bool {
	if p.at(i+1).Kind == Name && p.at(i+2).Kind == Eq {
		i += 2
		if p.at(i+1).Kind == LBrace {
			return false // AGE's (n ={…}) is a node
		}
	}
	switch t := p.at(i + 1); t.Keyword {
	case kwSHORTESTPATH, kwALLSHORTESTPATHS:
		return p.at(i+2).Kind == LParen
	case kwALL, kwANY, kwSHORTEST:
		// A node may have such a name: (any), (all:Person).
		n := p.at(i + 2)
		return n.Kind == LParen || n.Kind == Integer || n.Keyword == kwSHORTEST
	default:
		return t.Kind == LParen
	}
}

func (p *parser) subPath() *SubPath {
	p.enter()
	start := p.next().Start
	s := &SubPath{}
	bar := p.bar
	p.bar = -1
	switch k := p.kw(); {
	case (k == kwSHORTESTPATH || k == kwALLSHORTESTPATHS) && p.peek(1).Kind == LParen:
		p.errorAt(p.tok().span(), "UnexpectedSyntax", "%s() is only allowed as a whole path, not inside a parenthesised path pattern", clip(p.src(p.tok())))
	case (k == kwALL || k == kwANY || k == kwSHORTEST) && p.peek(1).Kind != Eq:
		p.errorAt(p.tok().span(), "UnexpectedSyntax", "a path selector stands in front of a whole path, not inside a parenthesised path pattern")
	}
	if p.kind() == Name {
		s.Var = p.ident("a variable")
		p.expect(Eq, "'='")
	}
	if p.kind() != LParen {
		p.unexpected("a pattern such as (n)")
	}
	s.Elements = p.elements()
	if p.acceptKw(kwWHERE) {
		s.Where = p.predicate()
	}
	p.bar = bar
	p.expect(RParen, "WHERE or ')'")
	s.Quant = p.quantifier()
	s.Span = p.from(start)
	p.leave()
	return s
}

// node reads (v:Labels {props} WHERE p).
func (p *parser) node() *NodePattern {
	start := p.expect(LParen, "'('").Start
	n := &NodePattern{}
	bar := p.bar
	p.bar = -1
	if p.namesElement() {
		n.Var = p.ident("a variable")
	}
	if p.accept(Colon) || p.acceptKw(kwIS) {
		n.Labels = p.labels(false)
	}
	n.Props, n.Exact = p.props()
	if p.acceptKw(kwWHERE) {
		n.Where = p.predicate()
	}
	p.bar = bar
	p.expect(RParen, "a label behind ':', properties in braces, WHERE or ')'")
	n.Span = p.from(start)
	return n
}

// namesElement reports whether the next token is the variable of a node or relationship, and not WHERE or IS.
func (p *parser) namesElement() bool {
	t := p.tok()
	if t.Kind != Name {
		return false
	}
	switch t.Keyword {
	case kwWHERE:
		switch n := p.peek(1); n.Kind {
		case RParen, RBracket, Colon, LBrace, Star:
			return true
		default:
			return n.Keyword == kwWHERE || n.Keyword == kwIS
		}
	case kwIS:
		switch n := p.peek(1); n.Kind {
		case Name:
			return n.Keyword == kwWHERE || n.Keyword == kwIS
		case Bang, Percent, LParen, Dollar:
			return false
		}
	}
	return true
}

// props reads a map, a parameter, or AGE's ={…}.
func (p *parser) props() (Expr, bool) {
	exact := p.dialect == AGE && p.accept(Eq)
	switch p.kind() {
	case LBrace:
		return p.mapLit(), exact
	case Parameter:
		return p.param(), exact
	}
	if exact {
		p.unexpected("properties in braces")
	}
	return nil, false
}

// rel reads a relationship with its arrows.
func (p *parser) rel() *RelPattern {
	start := p.tok().Start
	r := &RelPattern{}
	left := p.accept(Lt)
	p.expect(Minus, "'-'")
	if p.accept(LBracket) {
		p.relDetail(r)
		p.expect(Minus, "'-' or '->'")
	} else {
		p.expect(Minus, "a relationship such as -->, <-- or -[:KNOWS]-")
	}
	right := p.accept(Gt)
	switch {
	case left && !right:
		r.Dir = Left
	case right && !left:
		r.Dir = Right
	}
	quantAt := p.tok()
	if r.Quant = p.quantifier(); r.Quant != nil && r.Range != nil {
		p.errorAt(quantAt.span(), "InvalidRelationshipPattern", "a relationship has either a length in its brackets or a quantifier behind it, not both")
	}
	r.Span = p.from(start)
	return r
}

// relDetail reads what stands in the brackets, and the closing one.
func (p *parser) relDetail(r *RelPattern) {
	bar := p.bar
	p.bar = -1
	if p.namesElement() {
		r.Var = p.ident("a variable")
	}
	if p.accept(Colon) || p.acceptKw(kwIS) {
		r.Types = p.labels(true)
	}
	if p.kind() == Star {
		r.Range = p.lengthRange()
	}
	r.Props, r.Exact = p.props()
	if p.acceptKw(kwWHERE) {
		r.Where = p.predicate()
	}
	p.bar = bar
	if p.kind() == DotDot {
		p.fail(p.unexpectedErr(p.tok(), "InvalidRelationshipPattern", "'*' before a range").WithHint("A length is written as *1..3."))
	}
	p.expect(RBracket, "a type behind ':', a length such as *1..3, properties in braces, WHERE or ']'")
}

// lengthRange reads *, *n, *n.., *..m, *n..m.
func (p *parser) lengthRange() *Range {
	start := p.next().Start
	r := &Range{Min: 1, Max: -1}
	if p.kind() == Integer {
		r.Min = p.bound()
		r.Max = r.Min
	}
	if p.accept(DotDot) {
		r.Max = -1
		if p.kind() == Integer {
			r.Max = p.bound()
		}
	}
	if k := p.kind(); k == Minus || k == Float {
		p.fail(p.unexpectedErr(p.tok(), "InvalidRelationshipPattern", "a whole number that is not negative"))
	}
	r.Span = p.from(start)
	return r
}

func (p *parser) bound() int64 {
	t := p.next()
	v, ok, problem := IntegerValue(p.src(t), false)
	if !ok {
		if problem == "" {
			problem = "it is too large"
		}
		p.errorAt(t.span(), "InvalidRelationshipPattern", "invalid length %s: %s", clip(p.src(t)), problem)
	}
	return v
}

// quantifier reads {n}, {n,m}, {n,}, {,m}, + or * behind a relationship or a parenthesised pattern; nil if there is none.
func (p *parser) quantifier() *Range {
	start := p.tok().Start
	switch p.kind() {
	case Plus:
		p.i++
		return &Range{Span: p.from(start), Min: 1, Max: -1}
	case Star:
		p.i++
		return &Range{Span: p.from(start), Min: 0, Max: -1}
	case LBrace:
		p.i++
		r := &Range{Max: -1}
		if p.kind() == Integer {
			r.Min = p.bound()
			r.Max = r.Min
			if p.accept(Comma) {
				r.Max = -1
				if p.kind() == Integer {
					r.Max = p.bound()
				}
			}
		} else {
			p.expect(Comma, "a number or ','")
			if p.kind() == Integer {
				r.Max = p.bound()
			}
		}
		p.expect(RBrace, "',' or '}'")
		r.Span = p.from(start)
		if r.Max == 0 || r.Max >= 0 && r.Max < r.Min {
			p.errorAt(r.Span, "InvalidRelationshipPattern", "invalid quantifier %s: the upper bound must be at least one and not below the lower",
				clip(p.text[r.Start:r.Stop]))
		}
		return r
	}
	return nil
}

// ---- What a parenthesis in an expression begins ----

// isPattern reports whether the parenthesis at token i begins a pattern rather than a parenthesised expression: what is
// inside can be a node, and what follows the closing parenthesis can only be a relationship.
func (p *parser) isPattern(i int) bool {
	end := int(p.toks[i].Match)
	if end < 0 || !p.startsRel(end+1) {
		return false
	}
	if d := p.at(end + 1); d.Kind == Minus && p.at(end+2).Kind == Minus && d.End != p.at(end+2).Start {
		return false // (a) - -(b) is arithmetic
	}
	t := p.at(i + 1)
	if t.Kind == Name {
		n := p.at(i + 2)
		switch {
		case t.Keyword == kwWHERE, t.Keyword == kwIS, n.Keyword == kwWHERE, n.Keyword == kwIS:
			return true
		}
		switch n.Kind {
		case RParen, Colon, LBrace, Parameter:
			return true
		case Eq:
			return p.dialect == AGE && p.at(i+3).Kind == LBrace
		}
		return false
	}
	return t.Kind == RParen || t.Kind == Colon || t.Kind == LBrace || t.Kind == Parameter || t.Kind == Eq && p.dialect == AGE
}

// startsRel reports whether a relationship begins at token i, and not a comparison or a minus: it needs the second dash.
func (p *parser) startsRel(i int) bool {
	left := p.at(i).Kind == Lt
	if left {
		i++
	}
	if p.at(i).Kind != Minus {
		return false
	}
	t := p.at(i + 1)
	switch t.Kind {
	case LBracket:
		return t.Match > 0 && p.at(int(t.Match)+1).Kind == Minus
	case Minus:
		switch p.at(i + 2).Kind {
		case LParen, Gt, LBrace:
			return true
		case Plus, Star:
			return p.at(i+3).Kind == LParen
		}
		return left
	}
	return false
}

// ---- Labels ----

// labels reads a label expression; the colon or IS before it has been read. In a relationship a colon may follow a bar.
func (p *parser) labels(rel bool) LabelExpr {
	l := labelParser{parser: p, rel: rel}
	return l.or()
}

type labelParser struct {
	*parser
	rel   bool
	colon bool // :A:B was met
	other bool // & or | was met, which do not mix with it
}

func (l *labelParser) or() LabelExpr {
	l.enter()
	start := l.tok().Start
	x := l.and()
	if l.atBar() {
		or := &LabelOr{Terms: []LabelExpr{x}}
		for l.atBar() {
			l.i++
			l.mix(false)
			if l.kind() == Colon && (l.rel || l.dialect == Cypher) {
				l.i++
			}
			or.Terms = append(or.Terms, l.and())
		}
		or.Span = l.from(start)
		x = or
	}
	l.leave()
	return x
}

func (l *labelParser) atBar() bool { return l.kind() == Bar && int32(l.i) != l.bar }

func (l *labelParser) and() LabelExpr {
	start := l.tok().Start
	x := l.primary()
	if l.kind() != Amp && !l.atColon() {
		return x
	}
	and := &LabelAnd{Terms: []LabelExpr{x}}
	for l.kind() == Amp || l.atColon() {
		l.mix(l.kind() == Colon)
		l.i++
		and.Terms = append(and.Terms, l.primary())
	}
	and.Span = l.from(start)
	return and
}

func (l *labelParser) atColon() bool { return l.kind() == Colon && !l.rel }

func (l *labelParser) mix(colon bool) {
	if colon {
		l.colon = true
	} else {
		l.other = true
	}
	if l.colon && l.other {
		l.unexpected("labels joined either all by ':' or by '&', '|' and '!'")
	}
}

func (l *labelParser) primary() LabelExpr {
	t := l.tok()
	switch t.Kind {
	case Bang:
		l.i++
		l.enter()
		l.mix(false)
		x := l.primary()
		l.leave()
		return &LabelNot{Span: l.from(t.Start), X: x}
	case Percent:
		l.i++
		return &LabelAny{t.span()}
	case LParen:
		l.i++
		inner := labelParser{parser: l.parser, rel: l.rel}
		bar := l.bar
		l.bar = -1
		x := inner.or()
		l.bar = bar
		l.expect(RParen, "'&', '|' or ')'")
		return x
	}
	return l.labelName()
}

// labelName reads a name or $(expr), $all(expr), $any(expr).
func (p *parser) labelName() *LabelName {
	t := p.tok()
	switch {
	case t.Kind == Name:
		p.i++
		return &LabelName{Span: t.span(), Name: p.nameOf(t)}
	case t.Kind == Dollar && p.peek(1).Kind == LParen,
		t.Kind == Parameter && p.peek(1).Kind == LParen && p.dynamicWord(t):
		any := t.Kind == Parameter && strings.EqualFold(p.src(t), "$any")
		p.i += 2
		bar := p.bar
		p.bar = -1
		x := p.expr()
		p.bar = bar
		p.expect(RParen, "an operator or ')'")
		return &LabelName{Span: p.from(t.Start), Dynamic: x, Any: any}
	}
	p.unexpected("a label or type")
	return nil
}

func (p *parser) dynamicWord(t *Token) bool {
	s := p.src(t)
	return strings.EqualFold(s, "$any") || strings.EqualFold(s, "$all")
}
