package sql

func (p *parser) ifNotExists() bool { return p.acceptKws(kIF, kNOT, kEXISTS) }
func (p *parser) ifExists() bool    { return p.acceptKws(kIF, kEXISTS) }

func (p *parser) create() Stmt {
	start := p.next().Start
	replace := p.acceptKws(kOR, kREPLACE)
	temp, unlogged := false, false
	switch {
	case p.acceptKw(kTEMP), p.acceptKw(kTEMPORARY):
		temp = true
	case p.kw() == kLOCAL || p.kw() == kGLOBAL:
		p.i++
		if !p.acceptKw(kTEMP) {
			p.expectKw(kTEMPORARY)
		}
		temp = true
	case p.acceptKw(kUNLOGGED):
		unlogged = true
	}
	t := p.tok()
	plain := !replace && !temp && !unlogged
	switch {
	case t.Keyword == kTABLE && !replace:
		return p.createTable(start, temp, unlogged)
	case t.Keyword == kSEQUENCE && !replace && !unlogged:
		p.i++
		s := &CreateSequence{Temp: temp, IfNotExists: p.ifNotExists(), Name: p.qualified()}
		s.Options = p.sequenceOptions()
		s.Span = p.from(start)
		return s
	case (t.Keyword == kVIEW || t.Keyword == kRECURSIVE) && !unlogged:
		return p.createView(start, replace, temp)
	case t.Keyword == kMATERIALIZED && plain:
		return p.createMatView(start)
	case (t.Keyword == kINDEX || t.Keyword == kUNIQUE) && plain:
		return p.createIndex(start)
	case t.Keyword == kSCHEMA && plain:
		p.i++
		s := &CreateSchema{IfNotExists: p.ifNotExists()}
		if !p.acceptKw(kAUTHORIZATION) {
			s.Name = p.colID()
			if p.acceptKw(kAUTHORIZATION) {
				s.Owner = p.colID()
			}
		} else {
			s.Owner = p.colID()
		}
		if p.kind() != EOF && p.kind() != Semicolon {
			p.unsupported(start, "CREATE SCHEMA with elements is not supported")
		}
		s.Span = p.from(start)
		return s
	case t.Keyword == kEXTENSION && plain:
		return p.createExtension(start)
	}
	switch t.Keyword {
	case kFUNCTION, kPROCEDURE, kTRIGGER, kTYPE, kDOMAIN, kROLE, kUSER, kDATABASE, kAGGREGATE, kOPERATOR, kCAST, kRULE,
		kPOLICY, kLANGUAGE, kCOLLATION, kSERVER, kFOREIGN, kPUBLICATION, kSUBSCRIPTION, kTABLESPACE, kEVENT, kCONVERSION,
		kTEXT, kSTATISTICS, kACCESS, kGROUP, kTRUSTED, kPROCEDURAL, kCONSTRAINT, kTRANSFORM:
		p.unsupported(start, "CREATE %s is not supported", t.Keyword)
	}
	p.syntax()
	return nil
}

func (p *parser) createTable(start int32, temp, unlogged bool) Stmt {
	p.i++
	s := &CreateTable{Temp: temp, Unlogged: unlogged, IfNotExists: p.ifNotExists(), Name: p.qualified()}
	if k := p.kw(); k == kPARTITION || k == kOF {
		p.unsupported(start, "CREATE TABLE %s is not supported", k)
	}
	// CREATE TABLE t (a, b) AS … lists names only.
	if p.kind() == LParen && p.isColID(p.peek(1)) && (p.peek(2).Kind == Comma || p.peek(2).Kind == RParen) {
		s.Names = p.columnList()
		p.tableOptions(s)
		if p.kw() != kAS {
			p.syntax()
		}
	} else if p.kind() == LParen {
		p.i++
		for p.kind() != RParen {
			p.tableElement(s)
			if !p.accept(Comma) {
				break
			}
		}
		p.expect(RParen)
		if p.acceptKw(kINHERITS) {
			p.expect(LParen)
			s.Inherits = p.qualifiedList()
			p.expect(RParen)
		}
		p.tableOptions(s)
		s.Span = p.from(start)
		return s
	} else {
		p.tableOptions(s)
	}
	p.expectKw(kAS)
	if p.kw() == kEXECUTE {
		s.As = p.execute()
	} else {
		s.As = p.query()
	}
	s.NoData = p.withNoData()
	s.Span = p.from(start)
	return s
}

func (p *parser) withNoData() bool {
	if p.acceptKws(kWITH, kNO, kDATA) {
		return true
	}
	p.acceptKws(kWITH, kDATA)
	return false
}

func (p *parser) tableOptions(s *CreateTable) {
	if p.kw() == kPARTITION {
		p.unsupported(p.tok().Start, "PARTITION BY is not supported")
	}
	if p.acceptKw(kUSING) {
		p.colID() // the access method: there is one
	}
	if p.acceptKws(kWITHOUT, kOIDS) {
		// The only way since PostgreSQL 12.
	} else if p.kw() == kWITH && p.peek(1).Kind == LParen {
		p.i++
		s.Options = p.relOptions()
	}
	if p.acceptKws(kON, kCOMMIT) {
		switch {
		case p.acceptKw(kDROP):
			s.OnCommit = "DROP"
		case p.acceptKws(kDELETE, kROWS):
			s.OnCommit = "DELETE ROWS"
		case p.acceptKws(kPRESERVE, kROWS):
			s.OnCommit = "PRESERVE ROWS"
		default:
			p.syntax()
		}
	}
	if p.acceptKw(kTABLESPACE) {
		p.colID() // there is one directory
	}
}

// relOptions reads (name = value, …).
func (p *parser) relOptions() []*Option {
	p.expect(LParen)
	var list []*Option
	for {
		start := p.tok().Start
		o := &Option{Name: p.colLabel().Name}
		for p.accept(Dot) {
			o.Name += "." + p.colLabel().Name
		}
		if p.acceptOp("=") {
			if o.Value = p.optionValue(); o.Value == nil {
				p.syntax()
			}
		}
		o.Span = p.from(start)
		list = append(list, o)
		if !p.accept(Comma) {
			break
		}
	}
	p.expect(RParen)
	return list
}

func (p *parser) tableElement(s *CreateTable) {
	k := p.kw()
	if n := p.peek(1); k == kEXCLUDE && n.Keyword != kUSING && n.Kind != LParen {
		k = NotKeyword // a column of that name
	}
	switch k {
	case kLIKE:
		p.i++
		s.Likes = append(s.Likes, p.qualified())
		for p.kw() == kINCLUDING || p.kw() == kEXCLUDING {
			p.i++
			p.colLabel()
		}
	case kCONSTRAINT, kCHECK, kUNIQUE, kPRIMARY, kFOREIGN, kEXCLUDE:
		s.Constraints = append(s.Constraints, p.tableConstraint())
	default:
		s.Columns = append(s.Columns, p.tableColumn())
	}
}

func (p *parser) tableColumn() *TableColumn {
	start := p.tok().Start
	c := &TableColumn{Name: p.colID()}
	c.Type = p.typeName()
	for {
		if p.acceptKw(kCOLLATE) {
			c.Collate = p.qualified()
			continue
		}
		k := p.columnConstraint()
		if k == nil {
			break
		}
		c.Constraints = append(c.Constraints, k)
	}
	c.Span = p.from(start)
	return c
}

// columnConstraint reads one constraint of a column, or returns nil.
func (p *parser) columnConstraint() *Constraint {
	start := p.tok().Start
	c := &Constraint{}
	if p.acceptKw(kCONSTRAINT) {
		c.Name = p.colID()
	}
	switch {
	case p.acceptKws(kNOT, kNULL):
		c.Kind = ConstraintNotNull
	case p.acceptKw(kNULL):
		c.Kind = ConstraintNull
	case p.acceptKw(kDEFAULT):
		c.Kind, c.Expr = ConstraintDefault, p.restricted()
	case p.acceptKw(kCHECK):
		c.Kind = ConstraintCheck
		p.check(c)
	case p.acceptKws(kPRIMARY, kKEY):
		c.Kind = ConstraintPrimaryKey
		p.indexParameters()
	case p.acceptKw(kUNIQUE):
		c.Kind = ConstraintUnique
		p.indexParameters()
	case p.acceptKw(kREFERENCES):
		c.Kind = ConstraintReferences
		p.references(c)
	case p.acceptKw(kGENERATED):
		c.Always = p.acceptKw(kALWAYS)
		if !c.Always {
			p.expectKw(kBY, kDEFAULT)
		}
		p.expectKw(kAS)
		if p.acceptKw(kIDENTITY) {
			c.Kind = ConstraintIdentity
			if p.accept(LParen) {
				c.Options = p.sequenceOptions()
				p.expect(RParen)
			}
			break
		}
		if !c.Always {
			p.syntax()
		}
		c.Kind = ConstraintGenerated
		p.expect(LParen)
		c.Expr = p.expr()
		p.expect(RParen)
		p.expectKw(kSTORED)
	default:
		if c.Name != nil {
			p.syntax()
		}
		return nil
	}
	p.deferrable(c)
	c.Span = p.from(start)
	return c
}

func (p *parser) check(c *Constraint) {
	p.expect(LParen)
	c.Expr = p.expr()
	p.expect(RParen)
	c.NoInherit = p.acceptKws(kNO, kINHERIT)
}

// indexParameters passes what may follow UNIQUE and PRIMARY KEY and means nothing here.
func (p *parser) indexParameters() {
	if p.kw() == kWITH && p.peek(1).Kind == LParen {
		p.i++
		p.relOptions()
	}
	if p.acceptKws(kUSING, kINDEX, kTABLESPACE) {
		p.colID()
	}
}

func (p *parser) references(c *Constraint) {
	c.Table = p.qualified()
	if p.kind() == LParen {
		c.RefColumns = p.columnList()
	}
	if p.acceptKw(kMATCH) {
		switch {
		case p.acceptKw(kFULL):
			c.Match = "FULL"
		case p.acceptKw(kSIMPLE):
			c.Match = "SIMPLE"
		case p.acceptKw(kPARTIAL):
			p.unsupported(p.tok().Start, "MATCH PARTIAL not yet implemented")
		default:
			p.syntax()
		}
	}
	for p.kw() == kON {
		p.i++
		switch {
		case p.acceptKw(kDELETE):
			c.OnDelete = p.keyAction()
		case p.acceptKw(kUPDATE):
			c.OnUpdate = p.keyAction()
		default:
			p.syntax()
		}
	}
}

func (p *parser) keyAction() string {
	switch {
	case p.acceptKws(kNO, kACTION):
		return "NO ACTION"
	case p.acceptKw(kRESTRICT):
		return "RESTRICT"
	case p.acceptKw(kCASCADE):
		return "CASCADE"
	case p.acceptKws(kSET, kNULL):
		return "SET NULL"
	case p.acceptKws(kSET, kDEFAULT):
		return "SET DEFAULT"
	}
	p.syntax()
	return ""
}

func (p *parser) deferrable(c *Constraint) {
	for {
		switch {
		case p.acceptKws(kNOT, kDEFERRABLE), p.acceptKws(kINITIALLY, kIMMEDIATE):
			continue
		case p.acceptKw(kDEFERRABLE):
			c.Deferrable = true
			continue
		case p.acceptKws(kINITIALLY, kDEFERRED):
			c.Deferrable, c.Deferred = true, true
			continue
		}
		return
	}
}

func (p *parser) tableConstraint() *Constraint {
	start := p.tok().Start
	c := &Constraint{}
	if p.acceptKw(kCONSTRAINT) {
		c.Name = p.colID()
	}
	switch {
	case p.acceptKw(kCHECK):
		c.Kind = ConstraintCheck
		p.check(c)
	case p.acceptKw(kUNIQUE):
		c.Kind = ConstraintUnique
		c.Columns = p.columnList()
		p.indexParameters()
	case p.acceptKws(kPRIMARY, kKEY):
		c.Kind = ConstraintPrimaryKey
		c.Columns = p.columnList()
		p.indexParameters()
	case p.acceptKws(kFOREIGN, kKEY):
		c.Kind = ConstraintReferences
		c.Columns = p.columnList()
		p.expectKw(kREFERENCES)
		p.references(c)
	case p.kw() == kEXCLUDE:
		p.unsupported(start, "EXCLUDE constraints are not supported")
	default:
		p.syntax()
	}
	p.deferrable(c)
	c.Span = p.from(start)
	return c
}

// sequenceOptions reads INCREMENT BY 2 MINVALUE 1 … as options.
func (p *parser) sequenceOptions() []*Option {
	var list []*Option
	for {
		start := p.tok().Start
		o := &Option{}
		switch {
		case p.acceptKw(kINCREMENT):
			p.acceptKw(kBY)
			o.Name, o.Value = "increment", p.signed()
		case p.acceptKw(kSTART):
			p.acceptKw(kWITH)
			o.Name, o.Value = "start", p.signed()
		case p.acceptKw(kMINVALUE):
			o.Name, o.Value = "minvalue", p.signed()
		case p.acceptKw(kMAXVALUE):
			o.Name, o.Value = "maxvalue", p.signed()
		case p.acceptKws(kNO, kMINVALUE):
			o.Name = "minvalue"
		case p.acceptKws(kNO, kMAXVALUE):
			o.Name = "maxvalue"
		case p.acceptKw(kCACHE):
			o.Name, o.Value = "cache", p.signed()
		case p.acceptKw(kCYCLE):
			o.Name, o.Value = "cycle", &BoolLit{p.from(start), true}
		case p.acceptKws(kNO, kCYCLE):
			o.Name, o.Value = "cycle", &BoolLit{p.from(start), false}
		case p.acceptKws(kOWNED, kBY):
			n := p.qualified()
			o.Name = "owned_by"
			for _, part := range n.Parts {
				o.List = append(o.List, &StringLit{Span: part.Span, Value: part.Name})
			}
		case p.kw() == kAS:
			p.i++
			ty := p.typeName()
			o.Name, o.Value = "as", &StringLit{Span: ty.Span, Value: ty.Name.Last()}
		default:
			return list
		}
		o.Span = p.from(start)
		list = append(list, o)
	}
}

func (p *parser) signed() Expr {
	if k := p.kind(); k != Integer && k != Number && !p.isOp("-") && !p.isOp("+") {
		p.syntax()
	}
	return p.value1()
}

func (p *parser) indexElems() []*IndexElem {
	p.expect(LParen)
	var list []*IndexElem
	for {
		start := p.tok().Start
		e := &IndexElem{}
		switch {
		case p.accept(LParen):
			e.Expr = p.expr()
			p.expect(RParen)
		case p.startsTableFunc():
			e.Expr = p.tableFunc()
		default:
			c := p.colID()
			e.Expr = &ColumnRef{Span: c.Span, Parts: []*Ident{c}}
		}
		if p.acceptKw(kCOLLATE) {
			e.Collate = p.qualified()
		}
		if p.isColID(p.tok()) && p.kw() != kNULLS {
			e.OpClass = p.qualified()
			if p.kind() == LParen {
				p.relOptions()
			}
		}
		switch {
		case p.acceptKw(kASC):
		case p.acceptKw(kDESC):
			e.Desc = true
		}
		e.Nulls = p.nulls()
		e.Span = p.from(start)
		list = append(list, e)
		if !p.accept(Comma) {
			break
		}
	}
	p.expect(RParen)
	return list
}

func (p *parser) createIndex(start int32) Stmt {
	s := &CreateIndex{Unique: p.acceptKw(kUNIQUE)}
	p.expectKw(kINDEX)
	s.Concurrently = p.acceptKw(kCONCURRENTLY)
	s.IfNotExists = p.ifNotExists()
	if p.kw() != kON {
		s.Name = p.colID()
	} else if s.IfNotExists {
		p.syntax()
	}
	p.expectKw(kON)
	s.Table = p.relation()
	if p.acceptKw(kUSING) {
		s.Method = p.colID().Name
	}
	s.Elems = p.indexElems()
	if p.acceptKw(kINCLUDE) {
		s.Include = p.columnList()
	}
	if p.kw() == kNULLS && (p.peek(1).Keyword == kNOT || p.peek(1).Keyword == kDISTINCT) {
		p.i++
		if p.acceptKw(kNOT) {
			p.unsupported(start, "NULLS NOT DISTINCT is not supported")
		}
		p.expectKw(kDISTINCT)
	}
	if p.kw() == kWITH {
		p.i++
		s.Options = p.relOptions()
	}
	if p.acceptKw(kTABLESPACE) {
		p.colID()
	}
	s.Where = p.where()
	s.Span = p.from(start)
	return s
}

func (p *parser) createView(start int32, replace, temp bool) Stmt {
	s := &CreateView{OrReplace: replace, Temp: temp, Recursive: p.acceptKw(kRECURSIVE)}
	p.expectKw(kVIEW)
	s.Name = p.qualified()
	if p.kind() == LParen {
		s.Columns = p.columnList()
	} else if s.Recursive {
		p.syntax()
	}
	if p.kw() == kWITH {
		p.i++
		s.Options = p.relOptions()
	}
	p.expectKw(kAS)
	s.Query = p.query()
	if p.acceptKw(kWITH) {
		s.Check = "CASCADED"
		if p.acceptKw(kLOCAL) {
			s.Check = "LOCAL"
		} else {
			p.acceptKw(kCASCADED)
		}
		p.expectKw(kCHECK, kOPTION)
	}
	s.Span = p.from(start)
	return s
}

func (p *parser) createMatView(start int32) Stmt {
	p.i++
	p.expectKw(kVIEW)
	s := &CreateView{Materialized: true, IfNotExists: p.ifNotExists(), Name: p.qualified()}
	if p.kind() == LParen {
		s.Columns = p.columnList()
	}
	if p.kw() == kWITH {
		p.i++
		s.Options = p.relOptions()
	}
	p.expectKw(kAS)
	s.Query = p.query()
	s.NoData = p.withNoData()
	s.Span = p.from(start)
	return s
}

func (p *parser) createExtension(start int32) Stmt {
	p.i++
	s := &CreateExtension{IfNotExists: p.ifNotExists(), Name: p.colID()}
	p.acceptKw(kWITH)
	for {
		switch {
		case p.acceptKw(kSCHEMA):
			s.Schema = p.colID()
			continue
		case p.acceptKw(kVERSION):
			if p.kind() == String {
				s.Version = p.stringLit().Value
			} else {
				s.Version = p.colID().Name
			}
			continue
		case p.acceptKw(kCASCADE):
			s.Cascade = true
			continue
		}
		break
	}
	s.Span = p.from(start)
	return s
}

func (p *parser) drop() Stmt {
	start := p.next().Start
	s := &Drop{}
	t := p.tok()
	switch t.Keyword {
	case kTABLE, kVIEW, kINDEX, kSEQUENCE, kSCHEMA, kEXTENSION:
		p.i++
		s.Kind = t.Keyword.String()
	case kMATERIALIZED:
		p.i++
		p.expectKw(kVIEW)
		s.Kind = "MATERIALIZED VIEW"
	case kFUNCTION, kPROCEDURE, kTRIGGER, kTYPE, kDOMAIN, kROLE, kUSER, kDATABASE, kAGGREGATE, kOPERATOR, kCAST, kRULE,
		kPOLICY, kLANGUAGE, kCOLLATION, kSERVER, kFOREIGN, kPUBLICATION, kSUBSCRIPTION, kTABLESPACE, kEVENT, kCONVERSION,
		kTEXT, kSTATISTICS, kACCESS, kGROUP, kOWNED, kROUTINE:
		p.unsupported(start, "DROP %s is not supported", t.Keyword)
	default:
		p.syntax()
	}
	if s.Kind == "INDEX" {
		s.Concurrently = p.acceptKw(kCONCURRENTLY)
	}
	s.IfExists = p.ifExists()
	s.Names = p.qualifiedList()
	s.Cascade = p.cascade()
	s.Span = p.from(start)
	return s
}

func (p *parser) alter() Stmt {
	start := p.next().Start
	if p.kw() != kTABLE {
		if p.kind() == Word {
			p.unsupported(start, "ALTER %s is not supported", p.text[p.tok().Start:p.tok().End])
		}
		p.syntax()
	}
	p.i++
	s := &AlterTable{IfExists: p.ifExists(), Table: p.relation()}
	for {
		s.Actions = append(s.Actions, p.alterAction(start))
		if !p.accept(Comma) {
			break
		}
		switch s.Actions[0].Kind {
		case RenameColumn, RenameTable, RenameConstraint, SetSchema:
			p.syntax()
		}
	}
	s.Span = p.from(start)
	return s
}

func (p *parser) alterAction(stmt int32) *AlterAction {
	start := p.tok().Start
	a := &AlterAction{}
	switch {
	case p.acceptKw(kADD):
		switch p.kw() {
		case kCONSTRAINT, kCHECK, kUNIQUE, kPRIMARY, kFOREIGN, kEXCLUDE:
			a.Kind, a.Constraint = AddConstraint, p.tableConstraint()
		default:
			p.acceptKw(kCOLUMN)
			a.IfExists = p.ifNotExists()
			a.Column = p.tableColumn()
		}
	case p.acceptKw(kDROP):
		a.Kind = DropColumn
		if p.acceptKw(kCONSTRAINT) {
			a.Kind = DropConstraint
		} else {
			p.acceptKw(kCOLUMN)
		}
		a.IfExists = p.ifExists()
		a.Name = p.colID()
		a.Cascade = p.cascade()
	case p.acceptKw(kRENAME):
		switch {
		case p.acceptKw(kTO):
			a.Kind = RenameTable
		case p.acceptKw(kCONSTRAINT):
			a.Kind = RenameConstraint
			a.Name = p.colID()
			p.expectKw(kTO)
		default:
			a.Kind = RenameColumn
			p.acceptKw(kCOLUMN)
			a.Name = p.colID()
			p.expectKw(kTO)
		}
		a.NewName = p.colID()
	case p.acceptKws(kSET, kSCHEMA):
		a.Kind, a.NewName = SetSchema, p.colID()
	case p.acceptKws(kOWNER, kTO):
		a.Kind = SetOwner
		a.NewName = p.role()
	case p.acceptKw(kALTER):
		p.acceptKw(kCOLUMN)
		a.Name = p.colID()
		switch {
		case p.acceptKws(kSET, kDEFAULT):
			a.Kind, a.Expr = SetDefault, p.expr()
		case p.acceptKws(kDROP, kDEFAULT):
			a.Kind = DropDefault
		case p.acceptKws(kSET, kNOT, kNULL):
			a.Kind = SetNotNull
		case p.acceptKws(kDROP, kNOT, kNULL):
			a.Kind = DropNotNull
		case p.acceptKws(kSET, kDATA, kTYPE), p.acceptKw(kTYPE):
			a.Kind, a.Type = AlterType, p.typeName()
			if p.acceptKw(kUSING) {
				a.Expr = p.expr()
			}
		default:
			p.unsupported(stmt, "this form of ALTER TABLE is not supported")
		}
	default:
		if p.kind() == Word {
			p.unsupported(stmt, "this form of ALTER TABLE is not supported")
		}
		p.syntax()
	}
	a.Span = p.from(start)
	return a
}

// role reads the name of a role, also one of the words for the present one.
func (p *parser) role() *Ident {
	switch p.kw() {
	case kCURRENT_USER, kSESSION_USER, kCURRENT_ROLE:
		return p.word()
	}
	return p.colID()
}
