package sql

import (
	"math"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// ---- Transactions ----

func (p *parser) begin() Stmt {
	t := p.next()
	if t.Keyword == kSTART {
		p.expectKw(kTRANSACTION)
	} else if !p.acceptKw(kWORK) {
		p.acceptKw(kTRANSACTION)
	}
	s := &Begin{}
	if p.kind() != EOF && p.kind() != Semicolon {
		s.Mode = p.txModes()
	}
	s.Span = p.from(t.Start)
	return s
}

// txModes reads one mode or more, with commas or without.
func (p *parser) txModes() TxMode {
	var m TxMode
	flag := func(v bool) *bool { return &v }
	for {
		switch {
		case p.acceptKws(kISOLATION, kLEVEL):
			m.Isolation = p.isolation()
		case p.acceptKws(kREAD, kONLY):
			m.ReadOnly = flag(true)
		case p.acceptKws(kREAD, kWRITE):
			m.ReadOnly = flag(false)
		case p.acceptKw(kDEFERRABLE):
			m.Deferrable = flag(true)
		case p.acceptKws(kNOT, kDEFERRABLE):
			m.Deferrable = flag(false)
		default:
			p.syntax()
		}
		if p.accept(Comma) {
			continue
		}
		switch p.kw() {
		case kISOLATION, kREAD, kDEFERRABLE, kNOT:
			continue
		}
		return m
	}
}

func (p *parser) isolation() string {
	switch {
	case p.acceptKw(kSERIALIZABLE):
		return "SERIALIZABLE"
	case p.acceptKws(kREPEATABLE, kREAD):
		return "REPEATABLE READ"
	case p.acceptKws(kREAD, kCOMMITTED):
		return "READ COMMITTED"
	case p.acceptKws(kREAD, kUNCOMMITTED):
		return "READ UNCOMMITTED"
	}
	p.syntax()
	return ""
}

func (p *parser) workOrTransaction() {
	if !p.acceptKw(kWORK) {
		p.acceptKw(kTRANSACTION)
	}
}

func (p *parser) andChain() bool {
	if !p.acceptKw(kAND) {
		return false
	}
	no := p.acceptKw(kNO)
	p.expectKw(kCHAIN)
	return !no
}

func (p *parser) commit() Stmt {
	t := p.next()
	if p.kw() == kPREPARED {
		p.unsupported(t.Start, "COMMIT PREPARED is not supported")
	}
	p.workOrTransaction()
	s := &Commit{Chain: p.andChain()}
	s.Span = p.from(t.Start)
	return s
}

func (p *parser) rollback() Stmt {
	t := p.next()
	if t.Keyword == kROLLBACK && p.kw() == kPREPARED {
		p.unsupported(t.Start, "ROLLBACK PREPARED is not supported")
	}
	p.workOrTransaction()
	if t.Keyword == kROLLBACK && p.acceptKw(kTO) {
		if p.kw() == kSAVEPOINT && p.isColID(p.peek(1)) {
			p.i++
		}
		s := &RollbackTo{Name: p.colID()}
		s.Span = p.from(t.Start)
		return s
	}
	s := &Rollback{Chain: p.andChain()}
	s.Span = p.from(t.Start)
	return s
}

func (p *parser) lock() Stmt {
	start := p.next().Start
	p.acceptKw(kTABLE)
	s := &Lock{Tables: p.relations()}
	if p.acceptKw(kIN) {
		from := p.i
		switch {
		case p.acceptKws(kACCESS, kSHARE), p.acceptKws(kROW, kSHARE), p.acceptKws(kROW, kEXCLUSIVE),
			p.acceptKws(kSHARE, kUPDATE, kEXCLUSIVE), p.acceptKws(kSHARE, kROW, kEXCLUSIVE), p.acceptKw(kSHARE),
			p.acceptKw(kEXCLUSIVE), p.acceptKws(kACCESS, kEXCLUSIVE):
		default:
			p.syntax()
		}
		var words []string
		for i := from; i < p.i; i++ {
			words = append(words, p.toks[i].Keyword.String())
		}
		s.Mode = strings.Join(words, " ")
		p.expectKw(kMODE)
	}
	s.NoWait = p.acceptKw(kNOWAIT)
	s.Span = p.from(start)
	return s
}

// ---- Settings ----

func (p *parser) set() Stmt {
	start := p.next().Start
	s := &Set{}
	session := false
	switch {
	case p.acceptKws(kSESSION, kCHARACTERISTICS, kAS, kTRANSACTION):
		t := &SetTransaction{Session: true, Mode: p.txModes()}
		t.Span = p.from(start)
		return t
	case p.kw() == kTRANSACTION:
		p.i++
		t := &SetTransaction{}
		if p.acceptKw(kSNAPSHOT) {
			if p.kind() != String {
				p.syntax()
			}
			t.Snapshot = p.stringLit().Value
		} else {
			t.Mode = p.txModes()
		}
		t.Span = p.from(start)
		return t
	case p.acceptKw(kCONSTRAINTS):
		c := &SetConstraints{}
		if !p.acceptKw(kALL) {
			c.Names = p.qualifiedList()
		}
		if c.Deferred = p.acceptKw(kDEFERRED); !c.Deferred {
			p.expectKw(kIMMEDIATE)
		}
		c.Span = p.from(start)
		return c
	case p.kw() == kSESSION && p.peek(1).Keyword != kAUTHORIZATION && p.peek(1).Kind == Word && p.peek(1).Keyword != kTO:
		p.i++
		session = true
	case p.kw() == kLOCAL && p.peek(1).Kind == Word && p.peek(1).Keyword != kTO:
		p.i++
		s.Local = true
	}
	if p.kw() == kTRANSACTION && (session || s.Local) {
		p.i++
		t := &SetTransaction{Mode: p.txModes()}
		t.Span = p.from(start)
		return t
	}
	p.setRest(s)
	s.Span = p.from(start)
	return s
}

// setRest reads a name and its values, or one of the forms with words of their own.
func (p *parser) setRest(s *Set) {
	t := p.tok()
	str := func() {
		if p.kind() == String {
			s.Values = []Expr{p.stringLit()}
			return
		}
		id := p.colLabel()
		s.Values = []Expr{&StringLit{Span: id.Span, Value: id.Name}}
	}
	plain := p.peek(1).Kind == Op || p.peek(1).Keyword == kTO // a setting of such a name
	switch {
	case p.acceptKws(kTIME, kZONE):
		s.Name = "timezone"
		p.zone(s)
		return
	case p.acceptKws(kSESSION, kAUTHORIZATION):
		s.Name = "session_authorization"
		if s.Default = p.acceptKw(kDEFAULT); !s.Default {
			str()
		}
		return
	case t.Keyword == kROLE && !plain:
		p.i++
		s.Name = "role"
		str()
		return
	case t.Keyword == kNAMES && !plain:
		p.i++
		s.Name = "client_encoding"
		switch {
		case p.acceptKw(kDEFAULT):
			s.Default = true
		case p.kind() == String:
			str()
		default:
			s.Default = true
		}
		return
	case t.Keyword == kSCHEMA && p.peek(1).Kind == String:
		p.i++
		s.Name = "search_path"
		str()
		return
	case t.Keyword == kCATALOG && p.peek(1).Kind == String:
		p.unsupported(t.Start, "current database cannot be changed")
	case p.acceptKws(kXML, kOPTION):
		s.Name = "xmloption"
		str()
		return
	}
	s.Name = p.settingName()
	if !p.acceptOp("=") {
		if p.acceptKws(kFROM, kCURRENT) {
			p.unsupported(t.Start, "SET FROM CURRENT is not supported")
		}
		p.expectKw(kTO)
	}
	if s.Default = p.acceptKw(kDEFAULT); s.Default {
		return
	}
	for {
		s.Values = append(s.Values, p.settingValue())
		if !p.accept(Comma) {
			return
		}
	}
}

// settingName reads the name of a setting, in lower case and with its dots.
func (p *parser) settingName() string {
	name := strings.ToLower(p.colID().Name)
	for p.accept(Dot) {
		name += "." + strings.ToLower(p.colID().Name)
	}
	return name
}

func (p *parser) settingValue() Expr {
	t := p.tok()
	switch {
	case t.Kind == String:
		return p.stringLit()
	case t.Kind == Integer || t.Kind == Number || p.isOp("-") || p.isOp("+"):
		return p.value1()
	case t.Keyword == kTRUE, t.Keyword == kFALSE:
		p.i++
		return &BoolLit{t.span(), t.Keyword == kTRUE}
	case t.Kind == Word && (t.Keyword.class() != reserved || t.Keyword == kON):
		id := p.word()
		return &StringLit{Span: id.Span, Value: id.Name}
	}
	p.syntax()
	return nil
}

func (p *parser) zone(s *Set) {
	t := p.tok()
	switch {
	case p.acceptKw(kDEFAULT), p.acceptKw(kLOCAL):
		s.Default = true
	case t.Keyword == kINTERVAL:
		x := p.value()
		if _, ok := x.(*Cast); !ok {
			p.fail(nearError(p.text, "syntax error", x.Pos(), x.End()))
		}
		s.Values = []Expr{x}
	case t.Kind == String:
		s.Values = []Expr{p.stringLit()}
	case t.Kind == Integer || t.Kind == Number || p.isOp("-") || p.isOp("+"):
		s.Values = []Expr{p.value1()}
	case t.Kind == Word && (t.Keyword.class() == unreserved || t.Quoted):
		id := p.word()
		s.Values = []Expr{&StringLit{Span: id.Span, Value: id.Name}}
	default:
		p.syntax()
	}
}

// settingOrAll reads the name behind RESET and SHOW; ALL is "".
func (p *parser) settingOrAll() string {
	switch {
	case p.acceptKw(kALL):
		return ""
	case p.acceptKws(kTIME, kZONE):
		return "timezone"
	case p.acceptKws(kTRANSACTION, kISOLATION, kLEVEL):
		return "transaction_isolation"
	case p.acceptKws(kSESSION, kAUTHORIZATION):
		return "session_authorization"
	}
	return p.settingName()
}

func (p *parser) reset() Stmt {
	start := p.next().Start
	s := &Reset{Name: p.settingOrAll()}
	s.Span = p.from(start)
	return s
}

func (p *parser) show() Stmt {
	start := p.next().Start
	s := &Show{Name: p.settingOrAll()}
	s.Span = p.from(start)
	return s
}

func (p *parser) discard() Stmt {
	start := p.next().Start
	s := &Discard{}
	switch {
	case p.acceptKw(kALL):
		s.What = "ALL"
	case p.acceptKw(kPLANS):
		s.What = "PLANS"
	case p.acceptKw(kSEQUENCES):
		s.What = "SEQUENCES"
	case p.acceptKw(kTEMP), p.acceptKw(kTEMPORARY):
		s.What = "TEMP"
	default:
		p.syntax()
	}
	s.Span = p.from(start)
	return s
}

// ---- Prepared statements and cursors ----

func (p *parser) prepare() Stmt {
	start := p.next().Start
	if p.kw() == kTRANSACTION {
		p.unsupported(start, "PREPARE TRANSACTION is not supported")
	}
	s := &Prepare{Name: p.colID()}
	if p.accept(LParen) {
		for {
			s.Types = append(s.Types, p.typeName())
			if !p.accept(Comma) {
				break
			}
		}
		p.expect(RParen)
	}
	p.expectKw(kAS)
	s.Body = p.preparable()
	s.Span = p.from(start)
	return s
}

func (p *parser) execute() Stmt {
	start := p.next().Start
	s := &Execute{Name: p.colID()}
	if p.accept(LParen) {
		s.Args = p.exprs()
		p.expect(RParen)
	}
	s.Span = p.from(start)
	return s
}

func (p *parser) declare() Stmt {
	start := p.next().Start
	s := &DeclareCursor{Name: p.colID()}
	flag := func(v bool) *bool { return &v }
	for {
		switch {
		case p.acceptKw(kBINARY):
			s.Binary = true
			continue
		case p.acceptKw(kINSENSITIVE):
			s.Insensitive = true
			continue
		case p.acceptKw(kASENSITIVE):
			s.Asensitive = true
			continue
		case p.acceptKws(kNO, kSCROLL):
			s.Scroll = flag(false)
			continue
		case p.acceptKw(kSCROLL):
			s.Scroll = flag(true)
			continue
		}
		break
	}
	p.expectKw(kCURSOR)
	switch {
	case p.acceptKws(kWITH, kHOLD):
		s.Hold = flag(true)
	case p.acceptKws(kWITHOUT, kHOLD):
		s.Hold = flag(false)
	}
	p.expectKw(kFOR)
	s.Query = p.query()
	s.Span = p.from(start)
	return s
}

func (p *parser) fetch() Stmt {
	t := p.next()
	s := &Fetch{Move: t.Keyword == kMOVE, Count: 1}
	count := func() {
		n := p.tok()
		neg := p.isOp("-")
		if neg || p.isOp("+") {
			p.i++
		}
		s.Count = p.intConst()
		if neg {
			s.Count = -s.Count
		}
		_ = n
	}
	isCount := p.kind() == Integer || p.isOp("-") || p.isOp("+")
	direction := func() { // behind FORWARD and BACKWARD
		switch {
		case p.acceptKw(kALL):
			s.Count = math.MaxInt64
		case p.kind() == Integer || p.isOp("-") || p.isOp("+"):
			count()
		}
	}
	// The words are names of cursors too: FETCH next.
	if !(p.isColID(p.tok()) && (p.peek(1).Kind == EOF || p.peek(1).Kind == Semicolon)) {
		switch {
		case p.acceptKw(kNEXT):
		case p.acceptKw(kPRIOR):
			s.How = FetchBackward
		case p.acceptKw(kFIRST):
			s.How = FetchAbsolute
		case p.acceptKw(kLAST):
			s.How, s.Count = FetchAbsolute, -1
		case p.acceptKw(kABSOLUTE):
			s.How = FetchAbsolute
			count()
		case p.acceptKw(kRELATIVE):
			s.How = FetchRelative
			count()
		case isCount:
			count()
		case p.acceptKw(kALL):
			s.Count = math.MaxInt64
		case p.acceptKw(kFORWARD):
			direction()
		case p.acceptKw(kBACKWARD):
			s.How = FetchBackward
			direction()
		}
		if !p.acceptKw(kFROM) {
			p.acceptKw(kIN)
		}
	}
	s.Cursor = p.colID()
	s.Span = p.from(t.Start)
	return s
}

// ---- EXPLAIN and maintenance ----

func (p *parser) explain() Stmt {
	start := p.next().Start
	s := &Explain{}
	if p.kind() == LParen && !p.startsQuery() {
		s.Options = p.utilityOptions()
		for _, o := range s.Options {
			switch o.Name {
			case "analyze":
				s.Analyze = isOn(o.Value)
			case "verbose":
				s.Verbose = isOn(o.Value)
			}
		}
	} else {
		s.Analyze = p.acceptKw(kANALYZE) || p.acceptKw(kANALYSE)
		s.Verbose = p.acceptKw(kVERBOSE)
	}
	switch p.kw() {
	case kEXECUTE:
		s.Body = p.execute()
	case kDECLARE:
		s.Body = p.declare()
	case kCREATE:
		s.Body = p.create()
		if c, ok := s.Body.(*CreateTable); !ok || c.As == nil {
			if v, ok := s.Body.(*CreateView); !ok || !v.Materialized {
				p.fail(nearError(p.text, "syntax error", s.Body.Pos(), s.Body.Pos()+len("create")))
			}
		}
	default:
		s.Body = p.preparable()
	}
	s.Span = p.from(start)
	return s
}

// isOn reads the value of a Boolean option: without one it is on.
func isOn(x Expr) bool {
	switch x := x.(type) {
	case *BoolLit:
		return x.Value
	case *IntLit:
		return x.Value != 0
	case *StringLit:
		switch strings.ToLower(x.Value) {
		case "off", "false":
			return false
		}
	}
	return true
}

// utilityOptions reads (name [value], …).
func (p *parser) utilityOptions() []*Option {
	p.expect(LParen)
	var list []*Option
	for {
		start := p.tok().Start
		o := &Option{Name: p.colLabel().Name}
		if o.Name == "analyse" {
			o.Name = "analyze"
		}
		o.Value = p.optionValue()
		o.Span = p.from(start)
		list = append(list, o)
		if !p.accept(Comma) {
			break
		}
	}
	p.expect(RParen)
	return list
}

func (p *parser) vacuum() Stmt {
	start := p.next().Start
	s := &Vacuum{}
	if p.kind() == LParen {
		s.Options = p.utilityOptions()
		for _, o := range s.Options {
			switch o.Name {
			case "full":
				s.Full = isOn(o.Value)
			case "freeze":
				s.Freeze = isOn(o.Value)
			case "verbose":
				s.Verbose = isOn(o.Value)
			case "analyze":
				s.Analyze = isOn(o.Value)
			}
		}
	} else {
		s.Full = p.acceptKw(kFULL)
		s.Freeze = p.acceptKw(kFREEZE)
		s.Verbose = p.acceptKw(kVERBOSE)
		s.Analyze = p.acceptKw(kANALYZE) || p.acceptKw(kANALYSE)
	}
	s.Tables = p.vacuumTables()
	s.Span = p.from(start)
	return s
}

func (p *parser) analyze() Stmt {
	start := p.next().Start
	s := &Vacuum{OnlyAnalyze: true, Analyze: true}
	if p.kind() == LParen {
		s.Options = p.utilityOptions()
		for _, o := range s.Options {
			if o.Name == "verbose" {
				s.Verbose = isOn(o.Value)
			}
		}
	} else {
		s.Verbose = p.acceptKw(kVERBOSE)
	}
	s.Tables = p.vacuumTables()
	s.Span = p.from(start)
	return s
}

func (p *parser) vacuumTables() []*VacuumTable {
	if !p.isColID(p.tok()) {
		return nil
	}
	var list []*VacuumTable
	for {
		start := p.tok().Start
		t := &VacuumTable{Name: p.qualified()}
		if p.kind() == LParen {
			t.Columns = p.columnList()
		}
		t.Span = p.from(start)
		list = append(list, t)
		if !p.accept(Comma) {
			return list
		}
	}
}

func (p *parser) reindex() Stmt {
	start := p.next().Start
	if p.kind() == LParen {
		p.utilityOptions()
	}
	s := &Reindex{}
	switch t := p.next(); t.Keyword {
	case kINDEX, kTABLE, kSCHEMA, kDATABASE, kSYSTEM:
		s.Kind = t.Keyword.String()
	default:
		p.i--
		p.syntax()
	}
	s.Concurrently = p.acceptKw(kCONCURRENTLY)
	if p.isColID(p.tok()) || s.Kind != "DATABASE" && s.Kind != "SYSTEM" {
		s.Name = p.qualified()
	}
	s.Span = p.from(start)
	return s
}

func (p *parser) comment() Stmt {
	start := p.next().Start
	p.expectKw(kON)
	s := &Comment{}
	switch t := p.next(); t.Keyword {
	case kTABLE, kCOLUMN, kVIEW, kINDEX, kSEQUENCE, kSCHEMA, kEXTENSION, kDATABASE:
		s.Kind = t.Keyword.String()
	case kMATERIALIZED:
		p.expectKw(kVIEW)
		s.Kind = "MATERIALIZED VIEW"
	default:
		p.i--
		if p.kind() == Word {
			p.unsupported(start, "COMMENT ON %s is not supported", p.src(p.tok()))
		}
		p.syntax()
	}
	s.Name = p.qualified()
	p.expectKw(kIS)
	if !p.acceptKw(kNULL) {
		if p.kind() != String {
			p.syntax()
		}
		s.Text = p.stringLit()
	}
	s.Span = p.from(start)
	return s
}

// ---- Privileges ----

// grant reads GRANT and REVOKE of privileges on tables, sequences, schemas, databases and functions by name, and of roles.
func (p *parser) grant() Stmt {
	start := p.tok().Start
	s := &Grant{Revoke: p.next().Keyword == kREVOKE}
	if s.Revoke {
		switch {
		case p.acceptKws(kGRANT, kOPTION, kFOR), p.acceptKws(kADMIN, kOPTION, kFOR):
			s.GrantOption = true
		}
	}
	var words []*Ident
	if p.acceptKw(kALL) {
		p.acceptKw(kPRIVILEGES)
	} else {
		for {
			t := p.tok()
			switch t.Keyword {
			case kSELECT, kREFERENCES, kCREATE: // privileges that are reserved words
				words = append(words, p.word())
			default:
				words = append(words, p.colID())
			}
			if p.kind() == LParen {
				p.unsupported(start, "privileges on columns are not supported")
			}
			if !p.accept(Comma) {
				break
			}
		}
	}
	if p.acceptKw(kON) {
		for _, w := range words {
			s.Privileges = append(s.Privileges, strings.ToUpper(w.Name))
		}
		p.grantObjects(s)
	} else {
		if words == nil {
			p.syntax()
		}
		s.Roles = words
	}
	if s.Revoke {
		p.expectKw(kFROM)
	} else {
		p.expectKw(kTO)
	}
	for {
		p.acceptKw(kGROUP)
		s.Grantees = append(s.Grantees, p.role())
		if !p.accept(Comma) {
			break
		}
	}
	if s.Revoke {
		s.Cascade = p.cascade()
	} else if p.kw() == kWITH {
		p.i++
		if !p.acceptKw(kGRANT) {
			p.expectKw(kADMIN)
		}
		p.expectKw(kOPTION)
		s.GrantOption = true
	}
	s.Span = p.from(start)
	return s
}

func (p *parser) grantObjects(s *Grant) {
	s.Kind = "TABLE"
	t := p.tok()
	switch t.Keyword {
	case kTABLE:
		p.i++
	case kSEQUENCE, kSCHEMA, kDATABASE:
		p.i++
		s.Kind = t.Keyword.String()
	case kALL:
		p.i++
		switch k := p.next(); k.Keyword {
		case kTABLES, kSEQUENCES, kFUNCTIONS:
			s.Kind = "ALL " + k.Keyword.String() + " IN SCHEMA"
		default:
			p.i--
			p.syntax()
		}
		p.expectKw(kIN, kSCHEMA)
	case kFUNCTION, kPROCEDURE, kROUTINE, kTYPE, kDOMAIN, kLANGUAGE, kTABLESPACE, kFOREIGN, kLARGE, kPARAMETER:
		p.fail(dberr.Compile(dberr.FeatureNotSupported, "", int(t.Start), int(t.End), "GRANT ON %s is not supported", t.Keyword))
	}
	s.Objects = p.qualifiedList()
}
