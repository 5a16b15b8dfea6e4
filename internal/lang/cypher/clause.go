package cypher

import "github.com/hedgerowdb/hedgerow/internal/dberr"

// queryUse says where a query stands: what it may end with and hold depends on it.
type queryUse uint8

const (
	topQuery     queryUse = iota
	callQuery             // CALL { }
	exprQuery             // EXISTS { }, COUNT { }: reads only, RETURN may be left out
	collectQuery          // COLLECT { }: reads only, ends with RETURN
)

// query reads single queries joined by UNION.
func (p *parser) query(use queryUse) *Query {
	p.enter()
	start := p.tok().Start
	q := &Query{}
	for {
		q.Parts = append(q.Parts, p.singleQuery(use))
		if p.kw() != kwUNION {
			break
		}
		t := p.next()
		u := &Union{All: p.acceptKw(kwALL)}
		if !u.All {
			p.acceptKw(kwDISTINCT)
		}
		u.Span = p.from(t.Start)
		if len(q.Unions) > 0 && q.Unions[0].All != u.All {
			p.errorAt(u.Span, "InvalidClauseComposition", "UNION and UNION ALL cannot be mixed in one query")
		}
		q.Unions = append(q.Unions, u)
	}
	q.Span = p.from(start)
	p.checkQuery(q, use)
	p.leave()
	return q
}

func (p *parser) singleQuery(use queryUse) *SingleQuery {
	start := p.tok().Start
	s := &SingleQuery{}
	for {
		switch p.kind() {
		case EOF, Semicolon, RBrace:
		default:
			if p.kw() == kwUNION && len(s.Clauses) > 0 {
				break
			}
			if n := len(s.Clauses); n > 0 {
				switch last := s.Clauses[n-1].(type) {
				case *Return:
					p.unexpected("an operator, ',', AS, ORDER BY, SKIP, LIMIT, UNION or the end of the query")
				case *Finish:
					p.unexpected("UNION or the end of the query: nothing follows FINISH")
				default:
					s.Clauses = append(s.Clauses, p.clause(last))
					continue
				}
			}
			s.Clauses = append(s.Clauses, p.clause(nil))
			continue
		}
		break
	}
	if len(s.Clauses) == 0 {
		p.unexpected("a clause such as MATCH, CREATE or RETURN")
	}
	s.Span = p.from(start)
	return s
}

// clause reads one clause; after is the one before it, or nil.
func (p *parser) clause(after Clause) Clause {
	t := p.tok()
	switch t.Keyword {
	case kwMATCH:
		return p.match()
	case kwOPTIONAL:
		switch n := p.peek(1); n.Keyword {
		case kwMATCH:
			return p.match()
		case kwCALL:
			return p.callClause()
		}
		p.i++
		p.unexpected("MATCH or CALL")
	case kwUNWIND:
		return p.unwind()
	case kwWITH:
		return p.with()
	case kwRETURN:
		return p.returnClause()
	case kwCREATE:
		p.i++
		c := &Create{Patterns: p.writePatterns(true)}
		c.Span = p.from(t.Start)
		return c
	case kwMERGE:
		return p.merge()
	case kwSET:
		p.i++
		c := &Set{Items: p.setItems()}
		c.Span = p.from(t.Start)
		return c
	case kwREMOVE:
		return p.remove()
	case kwDELETE, kwDETACH, kwNODETACH:
		return p.delete()
	case kwFOREACH:
		return p.foreach()
	case kwCALL:
		return p.callClause()
	case kwLOAD:
		return p.loadCSV()
	case kwUSE:
		return p.use()
	case kwFINISH:
		p.i++
		return &Finish{t.span()}
	case kwORDER, kwSKIP, kwOFFSET, kwLIMIT:
		if after != nil {
			o := &OrderLimit{}
			o.OrderBy, o.Skip, o.Limit = p.orderSkipLimit()
			o.Span = p.from(t.Start)
			return o
		}
	}
	expected := "a clause such as MATCH, CREATE or RETURN"
	switch after := after.(type) {
	case *Match:
		expected = "',', WHERE or a clause such as RETURN"
		if after.Where != nil {
			expected = "an operator or a clause such as RETURN"
		}
	case *Create, *Set, *Delete, *Remove:
		expected = "',', a clause or the end of the query"
	case *With:
		expected = "an operator, ',', AS, ORDER BY, SKIP, LIMIT, WHERE or a clause such as RETURN"
	}
	p.unexpected(expected)
	return nil
}

func (p *parser) match() Clause {
	start := p.tok().Start
	m := &Match{Optional: p.acceptKw(kwOPTIONAL)}
	p.i++
	switch {
	case p.acceptWords("DIFFERENT", "RELATIONSHIPS"), p.acceptWords("DIFFERENT", "RELATIONSHIP", "BINDINGS"):
		m.Mode = DifferentRelationships
	case p.acceptWords("REPEATABLE", "ELEMENTS"), p.acceptWords("REPEATABLE", "ELEMENT", "BINDINGS"):
		m.Mode = RepeatableElements
	}
	m.Patterns = p.patterns()
	for p.kw() == kwUSING {
		m.Hints = append(m.Hints, p.hint())
	}
	if p.acceptKw(kwWHERE) {
		m.Where = p.predicate()
	}
	m.Span = p.from(start)
	return m
}

func (p *parser) hint() *Hint {
	start := p.next().Start
	h := &Hint{}
	labelled := func() {
		h.Vars = []*Ident{p.ident("a variable")}
		p.expect(Colon, "':'")
		h.Label = p.ident("a label or type")
	}
	switch {
	case p.acceptWord("SCAN"):
		h.Kind = HintScan
		labelled()
	case p.acceptWord("JOIN"):
		h.Kind = HintJoin
		p.expectKw(kwON)
		h.Vars = p.idents("a variable")
	default:
		switch {
		case p.acceptWord("RANGE"):
			h.Type = RangeIndex
		case p.acceptWord("TEXT"):
			h.Type = TextIndex
		case p.acceptWord("POINT"):
			h.Type = PointIndex
		}
		if !p.acceptWord("INDEX") {
			p.unexpected("INDEX, SCAN or JOIN")
		}
		h.Seek = p.acceptWord("SEEK")
		labelled()
		p.expect(LParen, "'('")
		h.Keys = p.idents("a property key")
		p.expect(RParen, "',' or ')'")
	}
	h.Span = p.from(start)
	return h
}

func (p *parser) idents(what string) []*Ident {
	list := []*Ident{p.ident(what)}
	for p.accept(Comma) {
		list = append(list, p.ident(what))
	}
	return list
}

func (p *parser) unwind() Clause {
	start := p.next().Start
	u := &Unwind{Expr: p.expr()}
	if !p.acceptKw(kwAS) {
		p.unexpected("an operator or AS")
	}
	u.Var = p.ident("a variable")
	u.Span = p.from(start)
	return u
}

func (p *parser) with() Clause {
	start := p.next().Start
	w := &With{Projection: p.projection()}
	if p.acceptKw(kwWHERE) {
		w.Where = p.predicate()
	}
	w.Span = p.from(start)
	return w
}

func (p *parser) returnClause() *Return {
	start := p.next().Start
	r := &Return{Projection: p.projection()}
	r.Span = p.from(start)
	return r
}

func (p *parser) projection() Projection {
	var pr Projection
	pr.Distinct = p.acceptKw(kwDISTINCT)
	if p.accept(Star) {
		pr.Star = true
		if p.accept(Comma) {
			pr.Items = p.items()
		}
	} else {
		pr.Items = p.items()
	}
	pr.OrderBy, pr.Skip, pr.Limit = p.orderSkipLimit()
	return pr
}

func (p *parser) items() []*Item {
	items := make([]*Item, 0, 4)
	for {
		start := p.tok().Start
		it := &Item{Expr: p.expr()}
		it.Text = p.text[start:p.toks[p.i-1].End]
		if p.acceptKw(kwAS) {
			it.Alias = p.ident("a name")
		}
		it.Span = p.from(start)
		items = append(items, it)
		if !p.accept(Comma) {
			return items
		}
	}
}

// orderSkipLimit reads what may follow a projection.
func (p *parser) orderSkipLimit() (order []*SortItem, skip, limit Expr) {
	if p.acceptKw(kwORDER) {
		p.expectKw(kwBY)
		for {
			start := p.tok().Start
			s := &SortItem{Expr: p.expr()}
			switch p.kw() {
			case kwASC, kwASCENDING:
				p.i++
			case kwDESC, kwDESCENDING:
				p.i++
				s.Desc = true
			}
			s.Span = p.from(start)
			order = append(order, s)
			if !p.accept(Comma) {
				break
			}
		}
	}
	if p.acceptKw(kwSKIP) || p.acceptKw(kwOFFSET) {
		skip = p.expr()
	}
	if p.acceptKw(kwLIMIT) {
		limit = p.expr()
	}
	return order, skip, limit
}

// writePatterns reads the patterns of CREATE, or the one of MERGE, which have fewer forms.
func (p *parser) writePatterns(create bool) []*Path {
	var paths []*Path
	if create {
		paths = p.patterns()
	} else {
		paths = []*Path{p.path()}
	}
	for _, path := range paths {
		if path.Shortest != NoShortest || path.Selector.Stop > path.Selector.Start {
			p.errorAt(path.Span, "UnexpectedSyntax", "a shortest path or a selector can be matched only, not created")
		}
		for _, e := range path.Elements {
			switch e := e.(type) {
			case *NodePattern:
				if e.Where != nil {
					p.errorAt(Span{e.Start, e.Stop}, "UnexpectedSyntax", "WHERE cannot stand in a pattern that is created")
				}
				if e.Labels != nil && !plainLabels(e.Labels) {
					p.errorAt(Span{int32(e.Labels.Pos()), int32(e.Labels.End())}, "UnexpectedSyntax",
						"%s", "a node that is created has given labels: '|', '!' and '%' are for matching")
				}
			case *RelPattern:
				p.checkCreatedRel(e, create)
			case *SubPath:
				p.errorAt(e.Span, "UnexpectedSyntax", "a parenthesised pattern can be matched only, not created")
			}
		}
	}
	return paths
}

func (p *parser) checkCreatedRel(r *RelPattern, create bool) {
	switch {
	case r.Range != nil || r.Quant != nil:
		p.errorAt(r.Span, "CreatingVarLength", "a relationship that is created has no length: variable length is for matching")
	case r.Dir == Both && create:
		p.errorAt(r.Span, "RequiresDirectedRelationship", "a relationship that is created has a direction: --> or <--")
	case r.Where != nil:
		p.errorAt(r.Span, "UnexpectedSyntax", "WHERE cannot stand in a pattern that is created")
	}
	// Without a type but with a variable the binder must say first whether the variable is bound already.
	if _, ok := r.Types.(*LabelName); !ok && (r.Types != nil || r.Var == nil) {
		p.errorAt(r.Span, "NoSingleRelationshipType", "a relationship that is created has exactly one type, as in -[:KNOWS]->")
	}
}

// plainLabels reports whether a label expression is a conjunction of names.
func plainLabels(l LabelExpr) bool {
	switch l := l.(type) {
	case *LabelName:
		return !l.Any
	case *LabelAnd:
		for _, t := range l.Terms {
			if _, ok := t.(*LabelName); !ok {
				return false
			}
		}
		return true
	}
	return false
}

func (p *parser) merge() Clause {
	start := p.next().Start
	m := &Merge{Pattern: p.writePatterns(false)[0]}
	for p.kw() == kwON {
		from := p.next().Start
		a := &MergeAction{}
		switch p.kw() {
		case kwCREATE:
			a.OnCreate = true
		case kwMATCH:
		default:
			p.unexpected("CREATE or MATCH")
		}
		p.i++
		p.expectKw(kwSET)
		a.Items = p.setItems()
		a.Span = p.from(from)
		m.Actions = append(m.Actions, a)
	}
	m.Span = p.from(start)
	return m
}

func (p *parser) setItems() []SetItem {
	var items []SetItem
	for {
		items = append(items, p.setItem())
		if !p.accept(Comma) {
			return items
		}
	}
}

// target reads the left side of an assignment: a value with property accesses.
func (p *parser) target() Expr {
	p.enter()
	start := p.tok().Start
	x := p.atom()
	for n := 0; p.kind() == Dot || p.kind() == LBracket; n++ {
		if n > MaxNesting {
			t := p.tok()
			p.fail(tooDeep(int(t.Start), int(t.End)))
		}
		x = p.access(x, start)
	}
	p.noPattern(x)
	p.leave()
	return x
}

func (p *parser) setItem() SetItem {
	start := p.tok().Start
	x := p.target()
	switch {
	case p.accept(Eq):
		v := p.expr()
		switch x.(type) {
		case *Property, *Index:
			return &SetProperty{Span: p.from(start), Target: x, Value: v}
		case *Slice:
			p.errorAt(p.from(start), "UnexpectedSyntax", "a part of a list cannot be set: expected a variable or a property")
		}
		return &SetAll{Span: p.from(start), Target: x, Value: v}
	case p.accept(PlusEq):
		v := p.expr()
		return &SetAll{Span: p.from(start), Target: x, Value: v, Add: true}
	case p.kind() == Colon || p.kw() == kwIS:
		l := p.labelList()
		return &SetLabels{Span: p.from(start), Target: x, Labels: l}
	}
	switch x.(type) {
	case *Property, *Index:
		p.unexpected("'=' and a value")
	}
	p.unexpected("'=', '+=', or a label behind ':'")
	return nil
}

// labelList reads :A:B, IS A or IS A IS B.
func (p *parser) labelList() []*LabelName {
	var list []*LabelName
	for p.accept(Colon) || p.acceptKw(kwIS) || len(list) > 0 && p.accept(Amp) {
		list = append(list, p.labelName())
	}
	return list
}

func (p *parser) remove() Clause {
	c := &Remove{}
	start := p.next().Start
	for {
		from := p.tok().Start
		x := p.target()
		if p.kind() == Colon || p.kw() == kwIS {
			l := p.labelList()
			c.Items = append(c.Items, &RemoveLabels{Span: p.from(from), Target: x, Labels: l})
		} else {
			switch x.(type) {
			case *Property, *Index:
			default:
				p.unexpected("a property such as n.name, or a label behind ':'")
			}
			c.Items = append(c.Items, &RemoveProperty{Span: p.from(from), Target: x})
		}
		if !p.accept(Comma) {
			break
		}
	}
	c.Span = p.from(start)
	return c
}

func (p *parser) delete() Clause {
	start := p.tok().Start
	d := &Delete{Detach: p.acceptKw(kwDETACH)}
	if !d.Detach {
		d.NoDetach = p.acceptKw(kwNODETACH)
	}
	p.expectKw(kwDELETE)
	for {
		d.Exprs = append(d.Exprs, p.expr())
		if !p.accept(Comma) {
			break
		}
	}
	d.Span = p.from(start)
	return d
}

func (p *parser) foreach() Clause {
	p.enter()
	start := p.next().Start
	f := &Foreach{}
	if p.kind() != LParen {
		p.unexpected("'('")
	}
	bar := p.setBar(p.i, true)
	p.i++
	f.Var = p.ident("a variable")
	p.expectKw(kwIN)
	f.List = p.expr()
	p.expect(Bar, "an operator or '|'")
	p.bar = -1
	for p.kind() != RParen {
		switch p.kw() {
		case kwSET, kwREMOVE, kwCREATE, kwMERGE, kwDELETE, kwDETACH, kwNODETACH, kwFOREACH, kwCALL:
			f.Body = append(f.Body, p.clause(nil))
		default:
			if len(f.Body) == 0 {
				p.unexpected("a clause that writes: CREATE, MERGE, SET, REMOVE, DELETE or FOREACH")
			}
			p.unexpected("',', a clause that writes, or ')'")
		}
	}
	if len(f.Body) == 0 {
		p.unexpected("a clause that writes: CREATE, MERGE, SET, REMOVE, DELETE or FOREACH")
	}
	p.bar = bar
	p.expect(RParen, "')'")
	f.Span = p.from(start)
	p.leave()
	return f
}

func (p *parser) callClause() Clause {
	start := p.tok().Start
	optional := p.acceptKw(kwOPTIONAL)
	p.i++
	if p.kind() == LBrace || p.kind() == LParen {
		return p.subquery(start, optional)
	}
	c := &Call{Optional: optional, Name: []*Ident{p.ident("a procedure, '{' or '('")}}
	for p.accept(Dot) {
		c.Name = append(c.Name, p.ident("a procedure's name"))
	}
	if p.accept(LParen) {
		c.HasArgs = true
		if p.kind() != RParen {
			for {
				c.Args = append(c.Args, p.expr())
				if !p.accept(Comma) {
					break
				}
			}
		}
		p.expect(RParen, "an operator, ',' or ')'")
	}
	if p.kw() == kwYIELD {
		c.Yield = p.yield(false)
	}
	c.Span = p.from(start)
	return c
}

// yield reads YIELD; show allows the ORDER BY, SKIP and LIMIT of SHOW commands.
func (p *parser) yield(show bool) *Yield {
	start := p.next().Start
	y := &Yield{}
	switch {
	case p.accept(Star):
		y.Star = true
	case p.kind() == Minus:
		p.i++
		y.None = true
	default:
		for {
			from := p.tok().Start
			it := &YieldItem{Column: p.ident("a column")}
			if p.acceptKw(kwAS) {
				it.Alias = p.ident("a name")
			}
			it.Span = p.from(from)
			y.Items = append(y.Items, it)
			if !p.accept(Comma) {
				break
			}
		}
	}
	if show {
		y.OrderBy, y.Skip, y.Limit = p.orderSkipLimit()
	}
	if p.acceptKw(kwWHERE) {
		y.Where = p.predicate()
	}
	y.Span = p.from(start)
	return y
}

func (p *parser) subquery(start int32, optional bool) Clause {
	p.enter()
	s := &Subquery{Optional: optional}
	if p.accept(LParen) {
		s.HasScope = true
		if p.accept(Star) {
			s.ScopeStar = true
		} else if p.kind() != RParen {
			s.Scope = p.idents("a variable")
		}
		p.expect(RParen, "',' or ')'")
	}
	p.expect(LBrace, "'{'")
	bar := p.bar
	p.bar = -1
	s.Body = p.query(callQuery)
	p.bar = bar
	p.expect(RBrace, "a clause or '}'")
	if p.kw() == kwIN {
		s.InTx = p.inTransactions()
	}
	s.Span = p.from(start)
	p.leave()
	return s
}

func (p *parser) inTransactions() *InTransactions {
	start := p.next().Start
	x := &InTransactions{}
	number := func() Expr {
		switch t := p.tok(); t.Kind {
		case Integer:
			p.i++
			return p.integer(t, t.Start, false)
		case Parameter:
			return p.param()
		}
		return nil
	}
	x.Concurrency = number()
	if p.acceptWord("CONCURRENT") {
		x.Concurrent = true
	} else if x.Concurrency != nil {
		p.unexpected("CONCURRENT")
	}
	if !p.acceptWord("TRANSACTIONS") {
		p.unexpected("TRANSACTIONS")
	}
	for {
		switch {
		case x.BatchRows == nil && p.acceptWord("OF"):
			if x.BatchRows = number(); x.BatchRows == nil {
				p.unexpected("a number or a parameter")
			}
			if !p.acceptWord("ROWS") && !p.acceptWord("ROW") {
				p.unexpected("ROWS")
			}
			continue
		case x.OnError == OnErrorDefault && p.kw() == kwON:
			p.i++
			p.expectWord("ERROR")
			switch {
			case p.acceptWord("CONTINUE"):
				x.OnError = OnErrorContinue
			case p.acceptWord("BREAK"):
				x.OnError = OnErrorBreak
			case p.acceptWord("FAIL"):
				x.OnError = OnErrorFail
			default:
				p.unexpected("CONTINUE, BREAK or FAIL")
			}
			continue
		case x.Status == nil && p.acceptWord("REPORT"):
			p.expectWord("STATUS")
			p.expectKw(kwAS)
			x.Status = p.ident("a variable")
			continue
		}
		break
	}
	x.Span = p.from(start)
	return x
}

func (p *parser) loadCSV() Clause {
	start := p.next().Start
	p.expectWord("CSV")
	l := &LoadCSV{WithHeaders: p.acceptWords("WITH", "HEADERS")}
	p.expectKw(kwFROM)
	l.From = p.expr()
	if !p.acceptKw(kwAS) {
		p.unexpected("an operator or AS")
	}
	l.Var = p.ident("a variable")
	if p.acceptWord("FIELDTERMINATOR") {
		t := p.expect(String, "a string")
		l.FieldTerminator = &StringLit{t.span(), p.stringValue(t)}
	}
	l.Span = p.from(start)
	return l
}

func (p *parser) use() Clause {
	start := p.next().Start
	u := &Use{}
	first := p.ident("the name of a graph")
	u.Name = first.Name
	for p.accept(Dot) {
		part := p.ident("a name")
		if p.kind() == LParen {
			u.Func, u.Name = part.Name, ""
			p.i++
			u.ByName = p.expr()
			p.expect(RParen, "an operator or ')'")
			break
		}
		u.Name += "." + part.Name
	}
	u.Span = p.from(start)
	return u
}

// ---- What a query must look like as a whole ----

// checkQuery holds the rules about the order of clauses that need no scope.
func (p *parser) checkQuery(q *Query, use queryUse) {
	for _, part := range q.Parts {
		alone := len(q.Parts) == 1 && use == topQuery && len(part.Clauses) == 1
		for i, c := range part.Clauses {
			last := i == len(part.Clauses)-1
			if use == exprQuery || use == collectQuery {
				p.readOnly(c)
			}
			if call, ok := c.(*Call); ok {
				if _, used := part.Clauses[0].(*Use); used && len(part.Clauses) == 2 && len(q.Parts) == 1 && use == topQuery {
					alone = true
				}
				p.checkCall(call, alone)
			}
			if s, ok := c.(*Subquery); ok && s.InTx != nil && use != topQuery {
				p.errorAt(s.InTx.Span, "InvalidClauseComposition", "CALL { } IN TRANSACTIONS stands at the top of a statement only")
			}
			if last {
				p.checkEnd(c, use, alone)
			}
		}
	}
}

// checkCall: arguments come from parameters, and all columns are taken, only by a call that stands alone.
func (p *parser) checkCall(c *Call, alone bool) {
	switch {
	case alone:
		if c.Yield != nil && c.Yield.Where != nil && p.dialect == AGE {
			p.errorAt(c.Yield.Span, "UnexpectedSyntax", "Cannot use standalone CALL with WHERE")
		}
	case !c.HasArgs:
		p.errorAt(c.Span, "InvalidArgumentPassingMode", "a procedure called within a query takes its arguments in parentheses")
	case c.Yield != nil && c.Yield.Star:
		p.errorAt(c.Yield.Span, "UnexpectedSyntax", "YIELD * is for a CALL that stands alone: name the columns")
	}
}

// checkEnd: a query ends with rows or with a write.
func (p *parser) checkEnd(c Clause, use queryUse, alone bool) {
	ends := use == exprQuery
	word := ""
	switch c := c.(type) {
	case *Return:
		ends = true
	case *Finish, *Create, *Merge, *Set, *Remove, *Delete, *Foreach, *Call, *Subquery:
		ends = use != collectQuery
		if call, ok := c.(*Call); ok && !alone && call.Yield != nil && use == topQuery && p.dialect == AGE {
			ends, word = false, "CALL"
		}
	case *Match:
		word = "MATCH"
	case *Unwind:
		word = "UNWIND"
	case *With:
		word = "WITH"
	case *LoadCSV:
		word = "LOAD CSV"
	case *Use:
		word = "USE"
	case *OrderLimit:
		word = "LIMIT"
	}
	if ends {
		return
	}
	if use == collectQuery && word == "" {
		word = "a clause that returns nothing"
	}
	end := int32(c.End())
	err := dberr.Compile(dberr.Syntax, "InvalidClauseComposition", c.Pos(), int(end), "a query cannot end with %s: expected RETURN or a clause that writes", word)
	p.fail(ageText(err, p.text))
}

// readOnly refuses a write within an expression's subquery.
func (p *parser) readOnly(c Clause) {
	switch c := c.(type) {
	case *Create, *Merge, *Set, *Remove, *Delete, *Foreach, *LoadCSV:
		p.errorAt(Span{int32(c.Pos()), int32(c.End())}, "InvalidClauseComposition", "a subquery in an expression can only read")
	case *Subquery:
		for _, part := range c.Body.Parts {
			for _, inner := range part.Clauses {
				p.readOnly(inner)
			}
		}
	}
}
