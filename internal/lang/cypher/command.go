package cypher

import "strings"

// createCommand reads CREATE INDEX, CONSTRAINT or DATABASE, or returns nil where CREATE begins a clause.
func (p *parser) createCommand() Body {
	at := p.i + 1
	replace := p.at(at).Keyword == kwOR && p.isWord(p.at(at+1), "REPLACE")
	if replace {
		at += 2
	}
	t := p.at(at)
	if t.Kind != Name || t.Quoted || p.at(at+1).Kind == Eq || p.at(at+1).Kind == LParen {
		return nil
	}
	start := p.tok().Start
	word := strings.ToUpper(p.src(t))
	kind, indexed := indexKinds[word]
	switch {
	case word == "INDEX":
		p.i = at + 1
		return p.createIndex(start, replace, DefaultIndex, false)
	case word == "UNIQUE" && p.isWord(p.at(at+1), "INDEX"):
		p.i = at + 2
		return p.createIndex(start, replace, DefaultIndex, true)
	case indexed && p.isWord(p.at(at+1), "INDEX"):
		p.i = at + 2
		return p.createIndex(start, replace, kind, false)
	case word == "CONSTRAINT":
		p.i = at + 1
		return p.createConstraint(start, replace)
	case word == "DATABASE" || word == "GRAPH":
		p.i = at + 1
		c := &CreateDatabase{OrReplace: replace, Name: p.nameOrParam("the name of a database")}
		c.IfNotExists = p.ifNotExists()
		c.Options = p.options()
		p.wait()
		c.Span = p.from(start)
		return c
	}
	return nil
}

// wait passes over how long a command about databases may be waited for: it is done when it returns.
func (p *parser) wait() {
	switch {
	case p.acceptWord("NOWAIT"):
	case p.acceptWord("WAIT") && p.accept(Integer):
		_ = p.acceptWord("SEC") || p.acceptWord("SECOND") || p.acceptWord("SECONDS")
	}
}

var indexKinds = map[string]IndexKind{"RANGE": RangeIndex, "BTREE": RangeIndex, "TEXT": TextIndex, "POINT": PointIndex,
	"LOOKUP": LookupIndex, "FULLTEXT": FulltextIndex, "VECTOR": VectorIndex}

func (p *parser) ifNotExists() bool {
	if !p.isWord(p.tok(), "IF") || p.peek(1).Keyword != kwNOT {
		return false
	}
	p.i += 2
	if !p.acceptKw(kwEXISTS) {
		p.unexpected("EXISTS")
	}
	return true
}

func (p *parser) ifExists() bool {
	if !p.acceptWord("IF") {
		return false
	}
	if !p.acceptKw(kwEXISTS) {
		p.unexpected("EXISTS")
	}
	return true
}

func (p *parser) nameOrParam(what string) *NameOrParam {
	t := p.tok()
	if t.Kind == Parameter {
		q := p.param()
		return &NameOrParam{Span: q.Span, Param: q}
	}
	n := &NameOrParam{Name: p.ident(what).Name}
	for p.kind() == Dot {
		p.i++
		n.Name += "." + p.ident("a name").Name
	}
	n.Span = p.from(t.Start)
	return n
}

func (p *parser) options() Expr {
	if !p.acceptWord("OPTIONS") {
		return nil
	}
	switch p.kind() {
	case LBrace:
		return p.mapLit()
	case Parameter:
		return p.param()
	}
	p.unexpected("options in braces")
	return nil
}

// entity is what an index or constraint is on: (n:A|B) or ()-[r:T]-().
type entity struct {
	rel    bool
	v      *Ident
	labels []*Ident
}

// entityPattern reads the parenthesised part behind FOR. many allows A|B, each allows no label.
func (p *parser) entityPattern(many, each bool) entity {
	var e entity
	p.expect(LParen, "a pattern such as (n:Label) or ()-[r:TYPE]-()")
	closing := RParen
	if p.accept(RParen) {
		e.rel, closing = true, RBracket
		p.accept(Lt)
		p.expect(Minus, "'-['")
		p.expect(LBracket, "'['")
	}
	e.v = p.ident("a variable")
	if !each || p.kind() == Colon {
		p.expect(Colon, "':' and a label or type")
		e.labels = append(e.labels, p.ident("a label or type"))
		for many && p.accept(Bar) {
			p.accept(Colon)
			e.labels = append(e.labels, p.ident("a label or type"))
		}
	}
	if e.rel {
		p.expect(closing, "']'")
		p.expect(Minus, "'-('")
		p.accept(Gt)
		p.expect(LParen, "'('")
		p.expect(RParen, "')'")
	} else {
		p.expect(closing, "')'")
	}
	return e
}

// keys reads n.a, n.b and checks the variable.
func (p *parser) keys(v *Ident) []*Ident {
	var keys []*Ident
	for {
		t := p.tok()
		x := p.ident("a property such as " + v.Name + ".name")
		if x.Name != v.Name {
			p.errorAt(t.span(), "UndefinedVariable", "variable '%s' is not defined: expected '%s'", clip(x.Name), clip(v.Name))
		}
		p.expect(Dot, "'.'")
		keys = append(keys, p.ident("a property key"))
		if !p.accept(Comma) {
			return keys
		}
	}
}

func (p *parser) createIndex(start int32, replace bool, kind IndexKind, unique bool) Body {
	c := &CreateIndex{OrReplace: replace, Kind: kind, Unique: unique}
	if p.kw() == kwON && p.peek(1).Kind == Colon { // CREATE INDEX ON :L(a, b)
		p.i += 2
		c.Labels = []*Ident{p.ident("a label")}
		p.expect(LParen, "'('")
		c.Keys = p.idents("a property key")
		p.expect(RParen, "',' or ')'")
		c.Options = p.options()
		c.Span = p.from(start)
		return c
	}
	if t := p.tok(); !p.isWord(t, "FOR") && !(p.isWord(t, "IF") && p.peek(1).Keyword == kwNOT) {
		c.Name = p.nameOrParam("a name, IF NOT EXISTS or FOR")
	}
	c.IfNotExists = p.ifNotExists()
	if !p.acceptWord("FOR") {
		p.unexpected("FOR and a pattern such as (n:Label)")
	}
	e := p.entityPattern(kind == FulltextIndex || kind == VectorIndex, kind == LookupIndex)
	c.OnRel, c.Var, c.Labels = e.rel, e.v, e.labels
	if !p.acceptKw(kwON) {
		p.unexpected("ON")
	}
	switch {
	case kind == LookupIndex:
		p.accept(LParen)
		p.acceptWord("EACH")
		t := p.tok()
		word := "LABELS"
		if e.rel {
			word = "TYPE"
		}
		if !p.acceptWord(word) && !p.acceptWord(strings.TrimSuffix(word, "S")) {
			p.unexpected("EACH " + strings.ToLower(word) + "(" + e.v.Name + ")")
		}
		p.expect(LParen, "'('")
		if v := p.ident("a variable"); v.Name != e.v.Name {
			p.errorAt(t.span(), "UndefinedVariable", "variable '%s' is not defined", clip(v.Name))
		}
		p.expect(RParen, "')'")
		if p.kind() == RParen && p.toks[p.i].Match >= 0 {
			p.i++
		}
	case kind == FulltextIndex:
		p.expectWord("EACH")
		p.expect(LBracket, "'['")
		c.Keys = p.keys(e.v)
		p.expect(RBracket, "',' or ']'")
	default:
		if p.accept(LParen) {
			c.Keys = p.keys(e.v)
			p.expect(RParen, "',' or ')'")
		} else {
			c.Keys = p.keys(e.v)
		}
	}
	c.Options = p.options()
	c.Span = p.from(start)
	return c
}

func (p *parser) createConstraint(start int32, replace bool) Body {
	c := &CreateConstraint{OrReplace: replace}
	if t := p.tok(); !p.isWord(t, "FOR") && !(p.isWord(t, "IF") && p.peek(1).Keyword == kwNOT) &&
		!(t.Keyword == kwON && p.peek(1).Kind == LParen) {
		c.Name = p.nameOrParam("a name, IF NOT EXISTS or FOR")
	}
	c.IfNotExists = p.ifNotExists()
	if t := p.tok(); !p.acceptWord("FOR") {
		if t.Keyword == kwON {
			p.errorAt(t.span(), "UnexpectedSyntax", "CREATE CONSTRAINT ON … ASSERT is no longer Cypher; write FOR (n:Label) REQUIRE n.key IS UNIQUE")
		}
		p.unexpected("FOR and a pattern such as (n:Label)")
	}
	e := p.entityPattern(false, false)
	c.OnRel, c.Var, c.Label = e.rel, e.v, e.labels[0]
	if !p.acceptWord("REQUIRE") {
		p.unexpected("REQUIRE")
	}
	if t := p.tok(); t.Keyword == kwEXISTS && p.peek(1).Kind == LParen {
		p.errorAt(t.span(), "UnexpectedSyntax", "REQUIRE exists(…) is no longer Cypher; write REQUIRE n.key IS NOT NULL")
	}
	if p.accept(LParen) {
		c.Keys = p.keys(e.v)
		p.expect(RParen, "',' or ')'")
	} else {
		c.Keys = p.keys(e.v)
	}
	if p.accept(DoubleColon) {
		c.Kind, c.Type = TypeConstraint, p.typ()
	} else {
		if !p.acceptKw(kwIS) {
			p.unexpected("IS UNIQUE, IS NODE KEY, IS NOT NULL or IS :: and a type")
		}
		t := p.tok()
		if onRel, onNode := p.isWord(t, "RELATIONSHIP") || p.isWord(t, "REL"), p.isWord(t, "NODE"); c.OnRel && onNode || !c.OnRel && onRel {
			p.errorAt(t.span(), "UnexpectedSyntax", "IS %s … does not go with the pattern before it", strings.ToUpper(p.src(t)))
		}
		switch {
		case p.acceptWord("UNIQUE"), p.acceptWords("NODE", "UNIQUE"), p.acceptWords("RELATIONSHIP", "UNIQUE"), p.acceptWords("REL", "UNIQUE"):
			c.Kind = UniqueConstraint
		case p.acceptWord("KEY"), p.acceptWords("NODE", "KEY"), p.acceptWords("RELATIONSHIP", "KEY"), p.acceptWords("REL", "KEY"):
			c.Kind = KeyConstraint
		case p.acceptWords("NOT", "NULL"):
			c.Kind = NotNullConstraint
		case p.accept(DoubleColon), p.acceptWord("TYPED"):
			c.Kind, c.Type = TypeConstraint, p.typ()
		default:
			p.unexpected("UNIQUE, NODE KEY, NOT NULL or '::' and a type")
		}
	}
	if len(c.Keys) > 1 && (c.Kind == NotNullConstraint || c.Kind == TypeConstraint) {
		p.errorAt(c.Keys[1].Span, "UnexpectedSyntax", "such a constraint is on one property")
	}
	c.Options = p.options()
	c.Span = p.from(start)
	return c
}

func (p *parser) dropCommand() Body {
	start := p.next().Start
	switch {
	case p.acceptWord("INDEX"):
		d := &DropIndex{}
		if p.kw() == kwON && p.peek(1).Kind == Colon {
			p.i += 2
			d.Label = p.ident("a label")
			p.expect(LParen, "'('")
			d.Keys = p.idents("a property key")
			p.expect(RParen, "',' or ')'")
		} else {
			d.Name = p.nameOrParam("the name of an index")
		}
		d.IfExists = p.ifExists()
		d.Span = p.from(start)
		return d
	case p.acceptWord("CONSTRAINT"):
		d := &DropConstraint{Name: p.nameOrParam("the name of a constraint")}
		d.IfExists = p.ifExists()
		d.Span = p.from(start)
		return d
	case p.acceptWord("DATABASE"), p.acceptWord("GRAPH"):
		d := &DropDatabase{Name: p.nameOrParam("the name of a database")}
		d.IfExists = p.ifExists()
		if p.acceptWords("DESTROY", "DATA") {
			// What we do anyway.
		}
		p.wait()
		d.Span = p.from(start)
		return d
	}
	p.unexpected("INDEX, CONSTRAINT or DATABASE")
	return nil
}

// showNouns are what SHOW lists, and the words that may filter each, as they may stand before the noun.
var showNouns = []struct {
	words   []string
	kind    ShowKind
	filters []string
	named   bool // names may follow
}{
	{[]string{"INDEXES", "INDEX"}, ShowIndexes, []string{"ALL", "RANGE", "BTREE", "TEXT", "POINT", "LOOKUP", "FULLTEXT", "VECTOR"}, false},
	{[]string{"CONSTRAINTS", "CONSTRAINT"}, ShowConstraints, []string{"ALL", "UNIQUE", "UNIQUENESS", "NODE UNIQUE", "NODE UNIQUENESS",
		"RELATIONSHIP UNIQUE", "RELATIONSHIP UNIQUENESS", "REL UNIQUE", "REL UNIQUENESS", "PROPERTY UNIQUE", "PROPERTY UNIQUENESS",
		"KEY", "NODE KEY", "RELATIONSHIP KEY", "REL KEY", "EXIST", "EXISTENCE", "NODE EXIST", "NODE EXISTENCE", "RELATIONSHIP EXIST",
		"RELATIONSHIP EXISTENCE", "REL EXIST", "PROPERTY EXIST", "PROPERTY EXISTENCE", "NODE PROPERTY EXIST", "NODE PROPERTY EXISTENCE",
		"RELATIONSHIP PROPERTY EXIST", "RELATIONSHIP PROPERTY EXISTENCE", "PROPERTY TYPE", "NODE PROPERTY TYPE",
		"RELATIONSHIP PROPERTY TYPE", "REL PROPERTY TYPE"}, false},
	{[]string{"FUNCTIONS", "FUNCTION"}, ShowFunctions, []string{"ALL", "BUILT IN", "USER DEFINED"}, false},
	{[]string{"PROCEDURES", "PROCEDURE"}, ShowProcedures, nil, false},
	{[]string{"TRANSACTIONS", "TRANSACTION"}, ShowTransactions, nil, true},
	{[]string{"SETTINGS", "SETTING"}, ShowSettings, nil, true},
	{[]string{"DATABASES", "GRAPHS"}, ShowDatabases, nil, false},
	{[]string{"DATABASE"}, ShowDatabases, []string{"DEFAULT", "HOME"}, true},
	{[]string{"USERS"}, ShowUsers, nil, false},
	{[]string{"ROLES"}, ShowRoles, []string{"ALL", "POPULATED"}, false},
	{[]string{"PRIVILEGES"}, ShowPrivileges, []string{"ALL"}, false},
}

func (p *parser) show() Body {
	start := p.next().Start
	s := &Show{}
	switch {
	case p.acceptWords("CURRENT", "USER"):
		s.Kind = ShowCurrentUser
	case p.acceptWords("SCHEMA", "INFO"):
		s.Kind = ShowSchema
	default:
		p.showNoun(s)
	}
	switch {
	case p.kw() == kwYIELD:
		s.Yield = p.yield(true)
		if p.kw() == kwRETURN {
			s.Return = p.returnClause()
		}
	case p.acceptKw(kwWHERE):
		s.Where = p.predicate()
	}
	s.Span = p.from(start)
	return s
}

func (p *parser) showNoun(s *Show) {
	var filter []string
	for n := 0; n < 4; n++ {
		t := p.tok()
		if t.Kind != Name {
			break
		}
		word := strings.ToUpper(p.src(t))
		for _, noun := range showNouns {
			if word != noun.words[0] && word != noun.words[len(noun.words)-1] {
				continue
			}
			f := strings.Join(filter, " ")
			ok := f == ""
			for _, allowed := range noun.filters {
				ok = ok || f == allowed
			}
			if !ok {
				continue
			}
			p.i++
			if f != "ALL" {
				s.Filter = f
			}
			s.Kind = noun.kind
			p.executable(s)
			if noun.named {
				s.Names = p.names(noun.kind)
			}
			return
		}
		filter = append(filter, word)
		p.i++
	}
	p.i -= len(filter)
	p.unexpected("INDEXES, CONSTRAINTS, FUNCTIONS, PROCEDURES, TRANSACTIONS, SETTINGS or DATABASES")
}

// executable passes EXECUTABLE [BY user] of SHOW FUNCTIONS and PROCEDURES.
func (p *parser) executable(s *Show) {
	if s.Kind != ShowFunctions && s.Kind != ShowProcedures || !p.acceptWord("EXECUTABLE") {
		return
	}
	if p.acceptKw(kwBY) && !p.acceptWords("CURRENT", "USER") {
		p.ident("a user")
	}
}

// names reads the names behind SHOW TRANSACTIONS, SHOW SETTINGS, SHOW DATABASE or TERMINATE.
func (p *parser) names(kind ShowKind) []Expr {
	var names []Expr
	for {
		t := p.tok()
		switch {
		case t.Kind == String:
			p.i++
			names = append(names, &StringLit{t.span(), p.stringValue(t)})
		case t.Kind == Parameter:
			names = append(names, p.param())
		case t.Kind == Name && kind == ShowDatabases && t.Keyword != kwYIELD && t.Keyword != kwWHERE:
			n := p.nameOrParam("a name")
			names = append(names, &StringLit{n.Span, n.Name})
		case len(names) > 0:
			p.unexpected("a string or a parameter")
		default:
			return nil
		}
		if !p.accept(Comma) {
			return names
		}
	}
}

func (p *parser) terminate() Body {
	start := p.next().Start
	if !p.acceptWord("TRANSACTIONS") && !p.acceptWord("TRANSACTION") {
		p.unexpected("TRANSACTIONS")
	}
	t := &Terminate{Names: p.names(ShowTransactions)}
	if len(t.Names) == 0 {
		p.unexpected("a transaction's id as a string or a parameter")
	}
	if p.kw() == kwYIELD {
		t.Yield = p.yield(true)
		if p.kw() == kwRETURN {
			t.Return = p.returnClause()
		}
	}
	t.Span = p.from(start)
	return t
}
