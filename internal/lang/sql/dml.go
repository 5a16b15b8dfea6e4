package sql

func (p *parser) insert(w *With) *Insert {
	start := p.next().Start
	s := &Insert{With: w}
	p.expectKw(kINTO)
	s.Table = p.qualified()
	if p.acceptKw(kAS) {
		s.Alias = p.colID()
	}
	// A parenthesis begins columns or the query.
	if p.kind() == LParen && !p.startsQuery() {
		p.i++
		s.Columns = p.assignees()
		p.expect(RParen)
	}
	if p.acceptKw(kOVERRIDING) {
		switch {
		case p.acceptKw(kUSER):
			s.Overriding = OverridingUser
		case p.acceptKw(kSYSTEM):
			s.Overriding = OverridingSystem
		default:
			p.syntax()
		}
		p.expectKw(kVALUE)
	}
	if p.kw() == kDEFAULT {
		if s.Columns != nil {
			p.syntax()
		}
		p.i++
		p.expectKw(kVALUES)
	} else {
		switch p.kw() {
		case kSELECT, kVALUES, kTABLE, kWITH:
		default:
			if p.kind() != LParen {
				p.syntax()
			}
		}
		s.Query = p.query()
	}
	if p.kw() == kON {
		s.OnConflict = p.onConflict()
	}
	s.Returning = p.returning()
	s.Span = p.from(start)
	return s
}

func (p *parser) assignees() []*Assignee {
	var list []*Assignee
	for {
		list = append(list, p.assignee())
		if !p.accept(Comma) {
			return list
		}
	}
}

func (p *parser) assignee() *Assignee {
	start := p.tok().Start
	a := &Assignee{Column: p.colID()}
	for {
		switch p.kind() {
		case Dot:
			from := p.next().Start
			f := &Field{Name: p.colLabel()}
			f.Span = p.from(from)
			a.Path = append(a.Path, f)
			continue
		case LBracket:
			a.Path = append(a.Path, p.subscript(nil, p.tok().Start))
			continue
		}
		break
	}
	a.Span = p.from(start)
	return a
}

func (p *parser) onConflict() *OnConflict {
	start := p.next().Start
	p.expectKw(kCONFLICT)
	c := &OnConflict{}
	switch {
	case p.kind() == LParen:
		c.Target = p.indexElems()
		c.TargetWhere = p.where()
	case p.acceptKws(kON, kCONSTRAINT):
		c.Constraint = p.colID()
	}
	p.expectKw(kDO)
	if !p.acceptKw(kNOTHING) {
		p.expectKw(kUPDATE, kSET)
		c.Set = p.assignments()
		c.Where = p.where()
	}
	c.Span = p.from(start)
	return c
}

func (p *parser) assignments() []*Assignment {
	var list []*Assignment
	for {
		start := p.tok().Start
		a := &Assignment{}
		if p.accept(LParen) {
			a.Multi = true
			a.Columns = p.assignees()
			p.expect(RParen)
		} else {
			a.Columns = []*Assignee{p.assignee()}
		}
		if !p.acceptOp("=") {
			p.syntax()
		}
		a.Value = p.expr()
		a.Span = p.from(start)
		list = append(list, a)
		if !p.accept(Comma) {
			return list
		}
	}
}

func (p *parser) returning() []*Target {
	if p.acceptKw(kRETURNING) {
		return p.targets()
	}
	return nil
}

// dmlTable reads the table of UPDATE or DELETE with its alias; SET is no alias.
func (p *parser) dmlTable() *TableRef {
	start := p.tok().Start
	t := p.relation()
	if p.kw() == kAS || p.isColID(p.tok()) && p.kw() != kSET {
		from := p.tok().Start
		p.acceptKw(kAS)
		t.Alias = &Alias{Name: p.colID()}
		t.Alias.Span = p.from(from)
	}
	t.Span = p.from(start)
	return t
}

func (p *parser) update(w *With) *Update {
	start := p.next().Start
	s := &Update{With: w, Table: p.dmlTable()}
	p.expectKw(kSET)
	s.Set = p.assignments()
	if p.acceptKw(kFROM) {
		s.From = p.fromList()
	}
	s.Where = p.whereOrCurrent()
	s.Returning = p.returning()
	s.Span = p.from(start)
	return s
}

func (p *parser) delete(w *With) *Delete {
	start := p.next().Start
	s := &Delete{With: w}
	p.expectKw(kFROM)
	s.Table = p.dmlTable()
	if p.acceptKw(kUSING) {
		s.Using = p.fromList()
	}
	s.Where = p.whereOrCurrent()
	s.Returning = p.returning()
	s.Span = p.from(start)
	return s
}

func (p *parser) whereOrCurrent() Expr {
	if p.kw() == kWHERE && p.peek(1).Keyword == kCURRENT && p.peek(2).Keyword == kOF {
		p.i++
		start := p.tok().Start
		p.i += 2
		c := &CurrentOf{Cursor: p.colID()}
		c.Span = p.from(start)
		return c
	}
	return p.where()
}

func (p *parser) relations() []*TableRef {
	list := []*TableRef{p.relation()}
	for p.accept(Comma) {
		list = append(list, p.relation())
	}
	return list
}

// cascade reads CASCADE or RESTRICT.
func (p *parser) cascade() bool {
	if p.acceptKw(kCASCADE) {
		return true
	}
	p.acceptKw(kRESTRICT)
	return false
}

func (p *parser) truncate() Stmt {
	start := p.next().Start
	p.acceptKw(kTABLE)
	s := &Truncate{Tables: p.relations()}
	if s.RestartIdentity = p.acceptKws(kRESTART, kIDENTITY); !s.RestartIdentity {
		p.acceptKws(kCONTINUE, kIDENTITY)
	}
	s.Cascade = p.cascade()
	s.Span = p.from(start)
	return s
}

func (p *parser) copy() Stmt {
	start := p.next().Start
	s := &Copy{}
	if p.kind() == LParen {
		p.i++
		s.Query = p.preparable()
		p.expect(RParen)
		p.expectKw(kTO)
	} else {
		if p.acceptKw(kBINARY) {
			s.Options = append(s.Options, word(p.toks[p.i-1].span(), "format", "binary"))
		}
		s.Table = p.qualified()
		if p.kind() == LParen {
			s.Columns = p.columnList()
		}
		if s.From = p.acceptKw(kFROM); !s.From {
			p.expectKw(kTO)
		}
	}
	if s.Program = p.acceptKw(kPROGRAM); !s.Program && (p.acceptKw(kSTDIN) || p.acceptKw(kSTDOUT)) {
		s.Stdio = true
	} else {
		if p.kind() != String {
			p.syntax()
		}
		s.File = p.stringLit().Value
	}
	p.acceptKw(kWITH)
	if p.accept(LParen) {
		s.Options = append(s.Options, p.copyOptions()...)
		p.expect(RParen)
	} else {
		s.Options = append(s.Options, p.oldCopyOptions()...)
	}
	if s.From {
		s.Where = p.where()
	}
	s.Span = p.from(start)
	return s
}

// word makes an option whose value is a word.
func word(span Span, name, value string) *Option {
	return &Option{Span: span, Name: name, Value: &StringLit{Span: span, Value: value}}
}

func (p *parser) copyOptions() []*Option {
	var list []*Option
	for {
		start := p.tok().Start
		o := &Option{Name: p.colLabel().Name}
		switch {
		case p.isOp("*"):
			o.Value = &Star{Span: p.next().span()}
		case p.accept(LParen):
			for {
				t := p.tok()
				if t.Kind == String {
					o.List = append(o.List, p.stringLit())
				} else {
					id := p.colLabel()
					o.List = append(o.List, &StringLit{Span: id.Span, Value: id.Name})
				}
				if !p.accept(Comma) {
					break
				}
			}
			p.expect(RParen)
		default:
			o.Value = p.optionValue()
		}
		o.Span = p.from(start)
		list = append(list, o)
		if !p.accept(Comma) {
			return list
		}
	}
}

// optionValue reads a word, string or number, or returns nil.
func (p *parser) optionValue() Expr {
	t := p.tok()
	switch {
	case t.Kind == String:
		return p.stringLit()
	case t.Kind == Integer || t.Kind == Number || p.isOp("-") || p.isOp("+"):
		return p.value1()
	case t.Keyword == kTRUE, t.Keyword == kFALSE:
		p.i++
		return &BoolLit{t.span(), t.Keyword == kTRUE}
	case t.Kind == Word:
		id := p.word()
		return &StringLit{Span: id.Span, Value: id.Name}
	}
	return nil
}

// oldCopyOptions reads the options of COPY as before PostgreSQL 9.0.
func (p *parser) oldCopyOptions() []*Option {
	var list []*Option
	str := func(name string) {
		start := p.next().Start
		p.acceptKw(kAS)
		if p.kind() != String {
			p.syntax()
		}
		o := &Option{Name: name, Value: p.stringLit()}
		o.Span = p.from(start)
		list = append(list, o)
	}
	for {
		t := p.tok()
		switch t.Keyword {
		case kBINARY, kCSV:
			p.i++
			list = append(list, word(t.span(), "format", foldName(p.src(t))))
			continue
		case kFREEZE, kHEADER:
			p.i++
			list = append(list, &Option{Span: t.span(), Name: foldName(p.src(t)), Value: &BoolLit{t.span(), true}})
			continue
		case kDELIMITER:
			str("delimiter")
			continue
		case kNULL:
			str("null")
			continue
		case kQUOTE:
			str("quote")
			continue
		case kESCAPE:
			str("escape")
			continue
		case kENCODING:
			str("encoding")
			continue
		case kFORCE:
			p.i++
			o := &Option{}
			switch {
			case p.acceptKw(kQUOTE):
				o.Name = "force_quote"
			case p.acceptKws(kNOT, kNULL):
				o.Name = "force_not_null"
			default:
				p.expectKw(kNULL)
				o.Name = "force_null"
			}
			if o.Name == "force_quote" && p.isOp("*") {
				o.Value = &Star{Span: p.next().span()}
			} else {
				for _, id := range p.colIDs() {
					o.List = append(o.List, &StringLit{Span: id.Span, Value: id.Name})
				}
			}
			o.Span = p.from(t.Start)
			list = append(list, o)
			continue
		}
		return list
	}
}
