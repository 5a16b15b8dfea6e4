package sql

import "github.com/hedgerowdb/hedgerow/internal/dberr"

// query reads a full query: WITH, the body, ORDER BY, LIMIT and locking.
func (p *parser) query() *Query {
	p.enter()
	start := p.tok().Start
	var with *With
	if p.kw() == kWITH {
		with = p.with()
	}
	q := p.queryRest(p.setOps(0), start, with)
	p.leave()
	return q
}

// queryRest reads what follows the body. A parenthesised query to which nothing is added stays what it is.
func (p *parser) queryRest(body QueryBody, start int32, with *With) *Query {
	q := &Query{With: with, Body: body}
	begin := p.i
	if p.kw() == kORDER {
		q.OrderBy = p.orderBy()
	}
	for {
		t := p.tok()
		switch t.Keyword {
		case kLIMIT:
			if q.Limit != nil || q.LimitAll {
				p.multiple(t, "LIMIT")
			}
			p.i++
			if q.LimitAll = p.acceptKw(kALL); !q.LimitAll {
				q.Limit = p.expr()
				if p.kind() == Comma {
					p.fail(dberr.Compile(dberr.Syntax, "UnexpectedSyntax", int(t.Start), int(t.End), "LIMIT #,# syntax is not supported").
						WithHint("Use separate LIMIT and OFFSET clauses."))
				}
			}
			continue
		case kOFFSET:
			if q.Offset != nil {
				p.multiple(t, "OFFSET")
			}
			p.i++
			q.Offset = p.expr()
			if !p.acceptKw(kROW) {
				p.acceptKw(kROWS)
			}
			continue
		case kFETCH:
			if q.Limit != nil || q.LimitAll {
				p.multiple(t, "LIMIT")
			}
			p.fetchFirst(q)
			continue
		case kFOR:
			p.locking(q)
			continue
		}
		break
	}
	if inner, ok := body.(*Query); ok && with == nil && p.i == begin {
		return inner
	}
	q.Span = p.from(start)
	return q
}

func (p *parser) multiple(t *Token, what string) {
	p.fail(dberr.Compile(dberr.Syntax, "UnexpectedSyntax", int(t.Start), int(t.End), "multiple %s clauses not allowed", what))
}

func (p *parser) fetchFirst(q *Query) {
	p.i++
	if !p.acceptKw(kFIRST) {
		p.expectKw(kNEXT)
	}
	at := p.tok().Start
	if k := p.kw(); k == kROW || k == kROWS {
		q.Limit = &IntLit{Span{at, at}, 1}
	} else {
		q.Limit = p.value1()
	}
	if !p.acceptKw(kROW) {
		p.expectKw(kROWS)
	}
	if p.acceptKw(kWITH) {
		if q.OrderBy == nil {
			p.fail(dberr.Compile(dberr.Syntax, "", int(at), int(p.tok().End), "WITH TIES cannot be specified without ORDER BY clause"))
		}
		p.expectKw(kTIES)
		q.WithTies = true
	} else {
		p.expectKw(kONLY)
	}
}

// value1 reads the count of FETCH FIRST: a value, or a signed number.
func (p *parser) value1() Expr {
	t := p.tok()
	if p.isOp("-") || p.isOp("+") {
		neg := p.src(t) == "-"
		p.i++
		if k := p.kind(); k != Integer && k != Number {
			p.syntax()
		}
		x := p.number()
		if neg {
			x = negate(x)
		}
		return respan(x, p.from(t.Start))
	}
	return p.value()
}

func (p *parser) locking(q *Query) {
	start := p.next().Start
	if p.acceptKws(kREAD, kONLY) {
		return
	}
	l := &Locking{}
	switch {
	case p.acceptKw(kUPDATE):
	case p.acceptKws(kNO, kKEY, kUPDATE):
		l.Strength = ForNoKeyUpdate
	case p.acceptKw(kSHARE):
		l.Strength = ForShare
	case p.acceptKws(kKEY, kSHARE):
		l.Strength = ForKeyShare
	default:
		p.syntax()
	}
	if p.acceptKw(kOF) {
		l.Of = p.qualifiedList()
	}
	switch {
	case p.acceptKw(kNOWAIT):
		l.Wait = LockNoWait
	case p.acceptKws(kSKIP, kLOCKED):
		l.Wait = LockSkip
	}
	l.Span = p.from(start)
	q.Locking = append(q.Locking, l)
}

func (p *parser) with() *With {
	start := p.next().Start
	w := &With{Recursive: p.acceptKw(kRECURSIVE)}
	for {
		from := p.tok().Start
		c := &CTE{Name: p.colID()}
		if p.kind() == LParen {
			c.Columns = p.columnList()
		}
		p.expectKw(kAS)
		switch {
		case p.acceptKw(kMATERIALIZED):
			c.Materialized = new(bool)
			*c.Materialized = true
		case p.acceptKws(kNOT, kMATERIALIZED):
			c.Materialized = new(bool)
		}
		p.expect(LParen)
		c.Body = p.preparable()
		p.expect(RParen)
		if k := p.kw(); k == kSEARCH || k == kCYCLE {
			p.unsupported(p.tok().Start, "%s in WITH is not supported", k)
		}
		c.Span = p.from(from)
		w.CTEs = append(w.CTEs, c)
		if !p.accept(Comma) {
			break
		}
	}
	w.Span = p.from(start)
	return w
}

// preparable reads a statement that may stand in WITH, PREPARE and COPY.
func (p *parser) preparable() Stmt {
	switch p.kw() {
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
	}
	if p.kind() == LParen {
		return p.query()
	}
	p.syntax()
	return nil
}

// withStatement reads WITH before any of the statements that it may begin.
func (p *parser) withStatement() Stmt {
	p.enter()
	defer p.leave()
	start := p.tok().Start
	w := p.with()
	switch p.kw() {
	case kINSERT:
		s := p.insert(w)
		s.Start = start
		return s
	case kUPDATE:
		s := p.update(w)
		s.Start = start
		return s
	case kDELETE:
		s := p.delete(w)
		s.Start = start
		return s
	}
	return p.queryRest(p.setOps(0), start, w)
}

// setOps reads set operations whose level is at least min: 0 UNION and EXCEPT, 1 INTERSECT.
func (p *parser) setOps(min int) QueryBody {
	p.enter()
	start := p.tok().Start
	b := p.setOpsRest(p.queryPrimary(), start, min)
	p.leave()
	return b
}

func (p *parser) setOpsRest(l QueryBody, start int32, min int) QueryBody {
	for n := 0; ; n++ {
		p.chain(n)
		op := Union
		level := 0
		switch p.kw() {
		case kUNION:
		case kEXCEPT:
			op = Except
		case kINTERSECT:
			op, level = Intersect, 1
		default:
			return l
		}
		if level < min {
			return l
		}
		p.i++
		s := &SetOp{Op: op, L: l}
		if s.All = p.acceptKw(kALL); !s.All {
			p.acceptKw(kDISTINCT)
		}
		s.R = p.setOps(level + 1)
		s.Span = p.from(start)
		l = s
	}
}

func (p *parser) queryPrimary() QueryBody {
	switch p.kw() {
	case kSELECT:
		return p.selectCore()
	case kVALUES:
		return p.values()
	case kTABLE:
		start := p.next().Start
		t := &TableCmd{Table: p.relation()}
		t.Span = p.from(start)
		return t
	}
	start := p.tok().Start
	p.expect(LParen)
	q := p.query()
	p.expect(RParen)
	q.Span = p.from(start)
	return q
}

func (p *parser) values() *Values {
	start := p.next().Start
	v := &Values{}
	for {
		p.expect(LParen)
		v.Rows = append(v.Rows, p.exprs())
		p.expect(RParen)
		if !p.accept(Comma) {
			break
		}
	}
	v.Span = p.from(start)
	return v
}

func (p *parser) selectCore() *Select {
	start := p.next().Start
	s := &Select{}
	switch {
	case p.acceptKw(kDISTINCT):
		s.Distinct = true
		if p.acceptKw(kON) {
			p.expect(LParen)
			s.DistinctOn = p.exprs()
			p.expect(RParen)
		}
	default:
		p.acceptKw(kALL)
	}
	if !p.endsTargets() {
		s.Targets = p.targets()
	} else if s.Distinct {
		p.syntax()
	}
	if p.kw() == kINTO {
		p.unsupported(p.tok().Start, "SELECT INTO is not supported")
	}
	if p.acceptKw(kFROM) {
		s.From = p.fromList()
	}
	s.Where = p.where()
	if p.kw() == kGROUP {
		p.i++
		p.expectKw(kBY)
		if s.GroupDist = p.acceptKw(kDISTINCT); !s.GroupDist {
			p.acceptKw(kALL)
		}
		s.GroupBy = p.groupItems()
	}
	if p.acceptKw(kHAVING) {
		s.Having = p.expr()
	}
	if p.acceptKw(kWINDOW) {
		for {
			from := p.tok().Start
			name := p.colID()
			p.expectKw(kAS)
			w := p.window()
			w.Name, w.Span = name, p.from(from)
			s.Windows = append(s.Windows, w)
			if !p.accept(Comma) {
				break
			}
		}
	}
	s.Span = p.from(start)
	return s
}

// endsTargets reports whether an empty list of targets ends here.
func (p *parser) endsTargets() bool {
	switch p.kind() {
	case EOF, Semicolon, RParen:
		return true
	}
	switch p.kw() {
	case kFROM, kWHERE, kGROUP, kHAVING, kWINDOW, kUNION, kINTERSECT, kEXCEPT, kORDER, kLIMIT, kOFFSET, kFETCH, kFOR, kINTO:
		return true
	}
	return false
}

func (p *parser) targets() []*Target {
	list := make([]*Target, 0, 4)
	for {
		start := p.tok().Start
		t := &Target{}
		if p.isOp("*") {
			t.Expr = &Star{Span: p.next().span()}
		} else {
			t.Expr = p.expr()
			if p.acceptKw(kAS) {
				t.Alias = p.colLabel()
			} else if p.kind() == Word && p.kw().bareLabel() {
				t.Alias = p.word()
			}
		}
		t.Span = p.from(start)
		list = append(list, t)
		if !p.accept(Comma) {
			return list
		}
	}
}

func (p *parser) where() Expr {
	if p.acceptKw(kWHERE) {
		return p.expr()
	}
	return nil
}

func (p *parser) groupItems() []Expr {
	var list []Expr
	for {
		list = append(list, p.groupItem())
		if !p.accept(Comma) {
			return list
		}
	}
}

func (p *parser) groupItem() Expr {
	p.enter()
	defer p.leave()
	start := p.tok().Start
	g := &GroupingSet{}
	switch {
	case p.kind() == LParen && p.peek(1).Kind == RParen:
		p.i += 2
		g.Span = p.from(start)
		return g
	case p.kw() == kROLLUP && p.peek(1).Kind == LParen:
		g.Kind = GroupingRollup
		p.i++
	case p.kw() == kCUBE && p.peek(1).Kind == LParen:
		g.Kind = GroupingCube
		p.i++
	case p.kw() == kGROUPING && p.peek(1).Keyword == kSETS:
		g.Kind = GroupingSets
		p.i += 2
		p.expect(LParen)
		g.Args = p.groupItems()
		p.expect(RParen)
		g.Span = p.from(start)
		return g
	default:
		return p.expr()
	}
	p.expect(LParen)
	g.Args = p.exprs()
	p.expect(RParen)
	g.Span = p.from(start)
	return g
}

func (p *parser) orderBy() []*SortItem {
	p.expectKw(kORDER, kBY)
	var list []*SortItem
	for {
		start := p.tok().Start
		s := &SortItem{Expr: p.expr()}
		switch {
		case p.acceptKw(kASC):
		case p.acceptKw(kDESC):
			s.Desc = true
		case p.acceptKw(kUSING):
			switch {
			case p.kw() == kOPERATOR:
				s.Using = p.qualifiedOperator()
			case p.kind() == Op:
				s.Using = p.operator()
			default:
				p.syntax()
			}
		}
		s.Nulls = p.nulls()
		s.Span = p.from(start)
		list = append(list, s)
		if !p.accept(Comma) {
			return list
		}
	}
}

func (p *parser) nulls() NullsOrder {
	switch {
	case p.acceptKws(kNULLS, kFIRST):
		return NullsFirst
	case p.acceptKws(kNULLS, kLAST):
		return NullsLast
	}
	return NullsDefault
}

// ---- FROM ----

func (p *parser) fromList() []TableExpr {
	list := []TableExpr{p.tableExpr()}
	for p.accept(Comma) {
		list = append(list, p.tableExpr())
	}
	return list
}

func (p *parser) tableExpr() TableExpr {
	p.enter()
	start := p.tok().Start
	t := p.joins(p.tablePrimary(), start)
	p.leave()
	return t
}

// joins reads the joins behind l.
func (p *parser) joins(l TableExpr, start int32) TableExpr {
	for n := 0; ; n++ {
		p.chain(n)
		j := &Join{L: l}
		if p.acceptKws(kCROSS, kJOIN) {
			j.Kind = CrossJoin
			j.R = p.tablePrimary()
			j.Span = p.from(start)
			l = j
			continue
		}
		j.Natural = p.acceptKw(kNATURAL)
		switch p.kw() {
		case kJOIN:
		case kINNER:
			p.i++
		case kLEFT, kRIGHT, kFULL:
			switch p.next().Keyword {
			case kLEFT:
				j.Kind = LeftJoin
			case kRIGHT:
				j.Kind = RightJoin
			default:
				j.Kind = FullJoin
			}
			p.acceptKw(kOUTER)
		default:
			if j.Natural {
				p.syntax()
			}
			return l
		}
		p.expectKw(kJOIN)
		from := p.tok().Start
		j.R = p.tablePrimary()
		if !j.Natural {
			// a JOIN b JOIN c ON … ON …: the inner join comes first.
			if k := p.kw(); k != kON && k != kUSING {
				p.enter()
				j.R = p.joins(j.R, from)
				p.leave()
			}
			switch {
			case p.acceptKw(kON):
				j.On = p.expr()
			case p.acceptKw(kUSING):
				j.Using = p.columnList()
				if p.acceptKw(kAS) {
					j.As = p.colID()
				}
			default:
				p.syntax()
			}
		}
		j.Span = p.from(start)
		l = j
	}
}

// relation reads the name of a table with ONLY or *.
func (p *parser) relation() *TableRef {
	start := p.tok().Start
	t := &TableRef{Only: p.acceptKw(kONLY)}
	if t.Only && p.accept(LParen) {
		t.Name = p.qualified()
		p.expect(RParen)
	} else {
		t.Name = p.qualified()
		if !t.Only {
			p.acceptOp("*")
		}
	}
	t.Span = p.from(start)
	return t
}

func (p *parser) tablePrimary() TableExpr {
	start := p.tok().Start
	lateral := p.acceptKw(kLATERAL)
	switch {
	case p.kind() == LParen:
		return p.tableParen(start, lateral)
	case p.kw() == kROWS && p.peek(1).Keyword == kFROM && p.peek(2).Kind == LParen:
		p.i += 3
		f := &FuncTable{Lateral: lateral, RowsFrom: true}
		for {
			from := p.tok().Start
			r := &RowsFrom{Func: p.tableFunc()}
			if p.acceptKw(kAS) {
				p.expect(LParen)
				r.Defs = p.columnDefs()
				p.expect(RParen)
			}
			r.Span = p.from(from)
			f.Funcs = append(f.Funcs, r)
			if !p.accept(Comma) {
				break
			}
		}
		p.expect(RParen)
		return p.funcTableRest(f, start)
	case p.kw() == kXMLTABLE:
		p.unsupported(start, "XMLTABLE is not supported")
	case p.startsTableFunc():
		from := p.tok().Start
		r := &RowsFrom{Func: p.tableFunc()}
		r.Span = p.from(from)
		return p.funcTableRest(&FuncTable{Lateral: lateral, Funcs: []*RowsFrom{r}}, start)
	case lateral:
		p.syntax()
	}
	t := p.relation()
	t.Alias = p.alias(false)
	if p.kw() == kTABLESAMPLE {
		p.i++
		from := p.tok().Start
		name := p.qualified()
		t.Sample = &Func{Name: name}
		p.expect(LParen)
		for {
			t.Sample.Args = append(t.Sample.Args, p.arg())
			if !p.accept(Comma) {
				break
			}
		}
		p.expect(RParen)
		if p.kw() == kREPEATABLE {
			p.unsupported(start, "REPEATABLE is not supported")
		}
		t.Sample.Span = p.from(from)
	}
	t.Span = p.from(start)
	return t
}

// startsTableFunc reports whether a call stands here: a name with an opening parenthesis behind it, or a special form.
func (p *parser) startsTableFunc() bool {
	t := p.tok()
	switch t.Keyword {
	case kCURRENT_DATE, kCURRENT_TIME, kCURRENT_TIMESTAMP, kLOCALTIME, kLOCALTIMESTAMP, kCURRENT_ROLE, kCURRENT_USER,
		kSESSION_USER, kUSER, kCURRENT_CATALOG, kCURRENT_SCHEMA, kCAST:
		return true
	}
	if t.Kind != Word || t.Keyword.class() == reserved {
		return false
	}
	i := 1
	for p.peek(i).Kind == Dot && p.peek(i+1).Kind == Word {
		i += 2
	}
	return p.peek(i).Kind == LParen
}

// tableFunc reads a call as it may stand in FROM, without OVER and FILTER.
func (p *parser) tableFunc() Expr {
	t := p.tok()
	if t.Kind != Word {
		p.syntax()
	}
	x := p.value()
	switch x := x.(type) {
	case *Func:
		if x.Filter != nil || x.Over != nil || x.WithinGroup {
			p.fail(nearError(p.text, "syntax error", x.Pos(), x.End()))
		}
		return x
	case *SystemValue:
		return x
	case *Cast:
		if t.Keyword == kCAST {
			return x
		}
	}
	p.syntax()
	return nil
}

func (p *parser) funcTableRest(f *FuncTable, start int32) TableExpr {
	f.Ordinality = p.acceptKws(kWITH, kORDINALITY)
	f.Alias = p.alias(true)
	f.Span = p.from(start)
	return f
}

func (p *parser) columnDefs() []*ColumnDef {
	var list []*ColumnDef
	for {
		start := p.tok().Start
		d := &ColumnDef{Name: p.colID()}
		d.Type = p.typeName()
		if p.acceptKw(kCOLLATE) {
			d.Collate = p.qualified()
		}
		d.Span = p.from(start)
		list = append(list, d)
		if !p.accept(Comma) {
			return list
		}
	}
}

// alias reads [AS] name [(columns)] or, for a function, a column definition list with or without a name; nil if there is
// none.
func (p *parser) alias(function bool) *Alias {
	start := p.tok().Start
	a := &Alias{}
	as := p.acceptKw(kAS)
	switch {
	case as && function && p.kind() == LParen:
		p.i++
		a.Defs = p.columnDefs()
		p.expect(RParen)
		a.Span = p.from(start)
		return a
	case as || p.isColID(p.tok()):
		a.Name = p.colID()
	default:
		return nil
	}
	if p.kind() == LParen {
		p.i++
		if n := p.peek(1).Kind; function && n != Comma && n != RParen {
			a.Defs = p.columnDefs()
		} else {
			a.Columns = p.colIDs()
		}
		p.expect(RParen)
	}
	a.Span = p.from(start)
	return a
}

// tableParen reads (query) alias or (a JOIN b). Behind ((SELECT …) either may go on.
func (p *parser) tableParen(start int32, lateral bool) TableExpr {
	p.enter()
	defer p.leave()
	if p.startsQuery() || lateral {
		p.i++
		q, t := p.tableParenQuery(lateral)
		p.expect(RParen)
		if q != nil {
			s := &SubqueryTable{Lateral: lateral, Query: q, Alias: p.alias(false)}
			s.Span = p.from(start)
			return s
		}
		return p.joinAlias(t, start)
	}
	p.i++
	from := p.tok().Start
	t := p.joins(p.tablePrimary(), from)
	if _, ok := t.(*Join); !ok {
		p.syntax()
	}
	p.expect(RParen)
	return p.joinAlias(t, start)
}

func (p *parser) joinAlias(t TableExpr, start int32) TableExpr {
	j, ok := t.(*Join)
	if !ok {
		p.syntax()
	}
	if a := p.alias(false); a != nil {
		if j.Alias != nil {
			p.fail(nearError(p.text, "syntax error", a.Pos(), a.End()))
		}
		j.Alias = a
	}
	j.Span = p.from(start)
	return j
}

// tableParenQuery reads the inside of a parenthesis where startsQuery is true: a query, or joins of a query with others.
func (p *parser) tableParenQuery(lateral bool) (*Query, TableExpr) {
	p.enter()
	defer p.leave()
	if p.kind() != LParen {
		return p.query(), nil
	}
	start := p.next().Start
	q, t := p.tableParenQuery(false)
	p.expect(RParen)
	if q != nil {
		q.Span = p.from(start)
		if p.continuesQuery() || p.kind() == RParen {
			return p.queryRest(p.setOpsRest(q, start, 0), start, nil), nil
		}
		s := &SubqueryTable{Query: q, Alias: p.alias(false)}
		s.Span = p.from(start)
		t = s
	} else {
		t = p.joinAlias(t, start)
	}
	if lateral {
		p.syntax()
	}
	t = p.joins(t, start)
	if _, ok := t.(*Join); !ok {
		p.syntax()
	}
	return nil, t
}
