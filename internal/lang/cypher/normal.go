package cypher

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Literal is a literal of a text that [Normalizer.Run] took out of it: its plan is made with a parameter in its place.
type Literal struct {
	Span        // with the sign of a number; of a list from bracket to bracket
	Kind  Kind  // Integer, Float, String, or LBracket for a list of literals of one kind
	Int   int64 // if Integer
	Float float64
	Str   string    // without quotes and escapes; may be a part of the text
	Elems []Literal // of a list
	Param int       // number of the parameter: literals of one value share it
}

// Same reports whether two literals have one kind and value.
func (l *Literal) Same(m *Literal) bool {
	return l.Kind == m.Kind && l.Int == m.Int && math.Float64bits(l.Float) == math.Float64bits(m.Float) && l.Str == m.Str &&
		slices.EqualFunc(l.Elems, m.Elems, func(a, b Literal) bool { return a.Same(&b) })
}

// Limits of [Normalizer.Run]: what is longer is not worth it.
const (
	maxNormalTokens   = 8192
	maxNormalLiterals = 128
)

// Normalizer brings statements that differ in white space and literals into one form, the key of the plan cache (rules C6). Use one again and
// again: it keeps its memory. The zero Normalizer is ready.
//
// It reads tokens and does not parse, so that it may take a literal for a value that the grammar means as something else, or overlook where
// a column gets its name from the text. Whoever makes a plan for a key must therefore check the tree: every literal of Lifted has to be met as a
// value, and every item of RETURN without an alias has to lie in Kept. As all texts with one key have one tree, one check serves them all.
type Normalizer struct {
	Key    []byte    // the normal form; two texts with one key have the same tokens but for the values of Lifted
	Lifted []Literal // literals taken out, in the order of the text
	Kept   []Span    // parts of the text that stand in the key as written, as they name columns
	Params int       // parameters that Lifted needs
	// Command: Run reported false because the text is a command on the schema or a SHOW.
	Command bool

	text    string
	dialect Dialect
	toks    []Token
	i       int
	frames  []normalFrame
	elems   []Literal
	full    bool // there are too many literals
}

// normalFrame is what is known within a pair of brackets, and outside of all of them.
type normalFrame struct {
	items   bool // the items of a RETURN are being read
	literal bool // one of them is kept and has a literal
	order   bool // ORDER BY behind such items: literals are kept, so that its expressions stay equal to theirs
	rel     bool // brackets of a relationship: numbers bound its length
	strings bool // strings are kept: constants of temporal values and points, patterns
}

// Run normalises one statement without a prefix (EXPLAIN, PROFILE, CYPHER). It reports false for what has no normal form: commands, faulty and
// very long texts. What it yields is valid until the next call and refers to the text.
func (n *Normalizer) Run(text string, dialect Dialect) bool {
	n.text, n.dialect = text, dialect
	n.Key, n.Lifted, n.Kept, n.Params = n.Key[:0], n.Lifted[:0], n.Kept[:0], 0
	n.elems, n.frames, n.full = n.elems[:0], append(n.frames[:0], normalFrame{}), false
	n.Command = false
	if !n.lex() {
		return false
	}
	if n.Command = !n.isQuery(); n.Command {
		return false
	}
	n.i = 0
	for n.toks[n.i].Kind != EOF && !n.full {
		n.step()
	}
	return !n.full
}

// Free forgets the text.
func (n *Normalizer) Free() {
	n.text = ""
	clear(n.Lifted)
	clear(n.elems[:cap(n.elems)])
}

func (n *Normalizer) lex() bool {
	s := Scanner{text: n.text, dialect: n.dialect}
	n.toks = n.toks[:0]
	for len(n.toks) < maxNormalTokens {
		t, err := s.Next()
		if err != nil {
			return false
		}
		if k := len(n.toks); t.Kind == EOF && k > 0 && n.toks[k-1].Kind == Semicolon {
			n.toks = n.toks[:k-1]
		}
		n.toks = append(n.toks, t)
		if t.Kind == EOF {
			return true
		}
	}
	return false
}

// isQuery tells queries from commands on the schema, which have no plan worth keeping.
func (n *Normalizer) isQuery() bool {
	t := n.toks[0]
	switch t.Keyword {
	case kwMATCH, kwOPTIONAL, kwUNWIND, kwRETURN, kwWITH, kwMERGE, kwCALL, kwFOREACH, kwUSE, kwLOAD:
		return true
	case kwCREATE:
		next := n.tok(1)
		return next.Kind == LParen || next.Kind == Name && n.tok(2).Kind == Eq
	}
	return false
}

var noToken Token

func (n *Normalizer) tok(i int) *Token {
	if i < 0 {
		return &noToken
	}
	return &n.toks[min(i, len(n.toks)-1)]
}

func (n *Normalizer) src(t *Token) string { return n.text[t.Start:t.End] }

func (n *Normalizer) word(t *Token, w string) bool {
	return t.Kind == Name && !t.Quoted && int(t.End-t.Start) == len(w) && strings.EqualFold(n.src(t), w)
}

func (n *Normalizer) top() *normalFrame { return &n.frames[len(n.frames)-1] }

// step handles the next token, or the several that make one unit.
func (n *Normalizer) step() {
	t := &n.toks[n.i]
	f := n.top()
	switch t.Kind {
	case LParen, LBracket, LBrace:
		n.open(t)
		return
	case RParen, RBracket, RBrace:
		if len(n.frames) > 1 {
			n.frames = n.frames[:len(n.frames)-1]
		}
	case Comma:
		if f.items {
			n.emit(1)
			n.item()
			return
		}
	case Name:
		if t.Keyword != NotKeyword && n.keyword(t, f) {
			return
		}
	case Integer, Float, String:
		n.literal(0)
		return
	case Minus:
		if k := n.tok(n.i + 1).Kind; (k == Integer || k == Float) && n.operandFollows(n.i-1) {
			n.literal(1)
			return
		}
	}
	n.emit(1)
}

// emit writes so many tokens to the key as they are.
func (n *Normalizer) emit(count int) {
	for ; count > 0; count-- {
		n.Key = append(n.Key, n.src(&n.toks[n.i])...)
		n.Key = append(n.Key, 0) // no token holds it but within quotes
		n.i++
	}
}

// keyword follows the clauses of a query. It reports whether it wrote the keyword.
func (n *Normalizer) keyword(t *Token, f *normalFrame) bool {
	switch n.tok(n.i - 1).Kind {
	case Dot, Colon, Amp, Bar, Bang:
		return false // a property, label or type
	}
	switch t.Keyword {
	case kwRETURN:
		f.items, f.literal, f.order = true, false, n.inherited().order
		n.emit(1)
		if n.tok(n.i).Keyword == kwDISTINCT {
			n.emit(1)
		}
		n.item()
		return true
	case kwORDER:
		if n.tok(n.i+1).Keyword == kwBY {
			f.order = f.order || f.items && f.literal
			f.items = false
		}
	case kwSKIP, kwLIMIT, kwOFFSET:
		f.items, f.order = false, n.inherited().order
		n.emit(1)
		n.count()
		return true
	case kwUNION, kwWITH, kwMATCH, kwUNWIND, kwCALL, kwCREATE, kwMERGE, kwSET, kwDELETE, kwREMOVE, kwFOREACH:
		if k := n.tok(n.i - 1).Keyword; k != kwSTARTS && k != kwENDS {
			f.items, f.order = false, n.inherited().order
		}
	}
	return false
}

func (n *Normalizer) inherited() normalFrame {
	if k := len(n.frames); k > 1 {
		return n.frames[k-2]
	}
	return normalFrame{}
}

// count writes what follows SKIP or LIMIT: the plan depends on its size by powers of ten. Small numbers, signs and other types are kept.
func (n *Normalizer) count() {
	t := n.tok(n.i)
	switch t.Kind {
	case Minus:
		n.emit(1)
		if k := n.tok(n.i).Kind; k == Integer || k == Float {
			n.emit(1)
		}
	case Float, String:
		n.emit(1)
	case Integer:
		v, ok, _ := IntegerValue(n.src(t), false)
		if !ok || v < 2 {
			n.emit(1)
			return
		}
		bucket := 0
		for x := v; x > 9; x /= 10 {
			bucket++
		}
		n.Key = append(n.Key, 2, byte(bucket))
		n.literal(0)
	}
}

// item keeps an item of RETURN as it is written if it has no alias: the text is its column's name.
func (n *Normalizer) item() {
	from, depth, cases, literal := n.i, 0, 0, false
	i := from
scan:
	for ; ; i++ {
		t := &n.toks[i]
		switch t.Kind {
		case EOF, Semicolon:
			break scan
		case LParen, LBracket, LBrace:
			depth++
		case RParen, RBracket, RBrace:
			if depth--; depth < 0 {
				break scan
			}
		case Integer, Float, String:
			literal = true
		case Comma:
			if depth == 0 && cases == 0 {
				break scan
			}
		case Name:
			if depth > 0 || i == from {
				if t.Keyword == kwCASE && depth == 0 {
					cases++
				}
				continue
			}
			if k := n.tok(i - 1).Kind; k == Dot || k == Colon {
				continue
			}
			switch t.Keyword {
			case kwCASE:
				cases++
			case kwEND:
				cases--
			case kwORDER, kwSKIP, kwLIMIT, kwOFFSET, kwUNION:
				break scan
			}
		}
	}
	if i == from || i == from+1 && !literal || i-from >= 3 && n.toks[i-2].Keyword == kwAS && n.toks[i-1].Kind == Name {
		return // a single token is the same however it is surrounded
	}
	f := n.top()
	f.literal = f.literal || literal
	span := Span{n.toks[from].Start, n.toks[i-1].End}
	n.Kept = append(n.Kept, span)
	n.Key = append(n.Key, 3)
	n.Key = binary.AppendUvarint(n.Key, uint64(span.Stop-span.Start))
	n.Key = append(n.Key, n.text[span.Start:span.Stop]...)
	n.i = i
}

// open enters a pair of brackets.
func (n *Normalizer) open(t *Token) {
	prev := n.tok(n.i - 1)
	switch t.Kind {
	case LBracket:
		if n.operandFollows(n.i-1) && prev.Kind != Minus && n.list() {
			return
		}
	case LBrace:
		if k := n.quantifier(); k > 0 {
			n.emit(k)
			return
		}
	}
	n.frames = append(n.frames, normalFrame{
		order:   n.top().order,
		rel:     t.Kind == LBracket && prev.Kind == Minus,
		strings: n.top().strings || t.Kind == LParen && n.keepsStrings(),
	})
	n.emit(1)
}

// quantifier returns the number of tokens of {2}, {1,3}, {,3} or {1,}, and 0 for other braces.
func (n *Normalizer) quantifier() int {
	k := 1
	for ; k < 4; k++ {
		switch n.tok(n.i + k).Kind {
		case Integer, Comma:
			continue
		}
		break
	}
	if k > 1 && n.tok(n.i+k).Kind == RBrace {
		return k + 1
	}
	return 0
}

// keepsStrings reports whether the call whose parenthesis comes next makes something of constant text once and for all.
func (n *Normalizer) keepsStrings() bool {
	i := n.i - 1
	if n.tok(i).Kind == Dollar {
		return true // a label or type given by an expression
	}
	if n.tok(i).Kind != Name {
		return false
	}
	for n.tok(i-1).Kind == Dot && n.tok(i-2).Kind == Name {
		i -= 2
	}
	for _, w := range [...]string{"date", "datetime", "localdatetime", "time", "localtime", "duration", "point", "graph", "format"} {
		if n.word(n.tok(i), w) {
			return true
		}
	}
	return false
}

// operandFollows reports whether an operand, and not an operator, may follow token i. Words of the grammar are taken for such.
func (n *Normalizer) operandFollows(i int) bool {
	if i < 0 {
		return true
	}
	switch t := n.tok(i); t.Kind {
	case RParen, RBracket, RBrace, Integer, Float, String, Parameter:
		return false
	case Name:
		switch t.Keyword {
		case NotKeyword, kwEND, kwNULL, kwTRUE, kwFALSE:
			return false
		}
		return n.tok(i-1).Kind != Dot
	}
	return true
}

// literal takes out the literal behind so many signs, or writes it.
func (n *Normalizer) literal(sign int) {
	if !n.keeps(sign) {
		if l, ok := n.value(n.i, sign); ok {
			n.i += sign + 1
			n.lift(l)
			return
		}
	}
	n.emit(sign + 1)
}

// keeps reports whether the literal means something to the plan.
func (n *Normalizer) keeps(sign int) bool {
	f, t := n.top(), n.tok(n.i+sign)
	prev, next := n.tok(n.i-1), n.tok(n.i+sign+1)
	if f.order || next.Kind == DoubleColon { // x::type
		return true
	}
	if t.Kind == String {
		return f.strings || next.Kind == Colon || prev.Kind == RegexEq || n.word(prev, "FIELDTERMINATOR") ||
			prev.Kind == LBracket && next.Kind == RBracket && !n.operandFollows(n.i-2)
	}
	if f.rel {
		switch prev.Kind {
		case Star, DotDot:
			return true
		}
	}
	return prev.Keyword == kwSHORTEST || prev.Keyword == kwANY || prev.Keyword == kwIN && n.word(next, "CONCURRENT") || n.word(prev, "OF")
}

// value reads the literal at a token behind so many signs.
func (n *Normalizer) value(i, sign int) (l Literal, ok bool) {
	t := &n.toks[i+sign]
	l = Literal{Span: Span{n.toks[i].Start, t.End}, Kind: t.Kind}
	src := n.src(t)
	switch t.Kind {
	case Integer:
		l.Int, ok, _ = IntegerValue(src, sign > 0)
		return l, ok && l.Int != math.MinInt64
	case Float:
		if strings.IndexByte(src, '_') >= 0 {
			src = strings.ReplaceAll(src, "_", "")
		}
		f, err := strconv.ParseFloat(src, 64)
		if err != nil && math.IsInf(f, 0) {
			return l, false
		}
		if l.Float = f; sign > 0 {
			l.Float = -f
		}
		return l, true
	case String:
		var problem string
		l.Str, _, _, _, problem = StringValue(src, n.dialect)
		return l, problem == ""
	}
	return l, false
}

// list takes out a list of literals of one kind. It reports false if there is none.
func (n *Normalizer) list() bool {
	if n.top().order || n.top().strings {
		return false
	}
	start, i := len(n.elems), n.i+1
	for {
		sign := 0
		if n.tok(i).Kind == Minus {
			sign = 1
		}
		if k := n.tok(i + sign).Kind; k != Integer && k != Float && k != String || k == String && sign > 0 {
			break
		}
		l, ok := n.value(i, sign)
		if !ok || len(n.elems) > start && n.elems[start].Kind != l.Kind {
			break
		}
		n.elems = append(n.elems, l)
		i += sign + 1
		if n.tok(i).Kind == RBracket {
			l := Literal{Span: Span{n.toks[n.i].Start, n.toks[i].End}, Kind: LBracket, Elems: n.elems[start:len(n.elems):len(n.elems)]}
			if n.tok(i+1).Kind == DoubleColon {
				break
			}
			n.i = i + 1
			n.lift(l)
			return true
		}
		if n.tok(i).Kind != Comma {
			break
		}
		i++
	}
	n.elems = n.elems[:start]
	return false
}

// lift writes a parameter in place of a literal.
func (n *Normalizer) lift(l Literal) {
	l.Param = n.Params
	for i := range n.Lifted {
		if n.Lifted[i].Same(&l) {
			l.Param = n.Lifted[i].Param
			break
		}
	}
	if l.Param == n.Params {
		n.Params++
	}
	if n.full = len(n.Lifted) >= maxNormalLiterals; n.full {
		return
	}
	n.Lifted = append(n.Lifted, l)
	n.Key = append(n.Key, 1, byte(l.Kind))
	if l.Kind == LBracket {
		size := byte(2) // at most 1, 16, 1,000 elements, more
		for _, most := range [...]int{1, 16, 1000} {
			if len(l.Elems) > most {
				size++
			}
		}
		n.Key = append(n.Key, byte(l.Elems[0].Kind), size)
	}
	n.Key = binary.AppendUvarint(n.Key, uint64(l.Param))
}

// Place finds the span in one text that corresponds to a span in another with the same normal form; false without one. It serves faults that are
// met by a plan which was made for another text.
func Place(from string, at Span, to string, dialect Dialect) (Span, bool) {
	var a, b Normalizer
	if !a.Run(from, dialect) || !b.Run(to, dialect) || string(a.Key) != string(b.Key) {
		return Span{}, false
	}
	out := Span{-1, -1}
	inside := func(pos int32, x, y Span) int32 { return min(y.Start+pos-x.Start, y.Stop) }
	for i, j, k := 0, 0, 0; ; {
		x, y := Span{a.toks[i].Start, a.toks[i].End}, Span{b.toks[j].Start, b.toks[j].End}
		if k < len(a.Lifted) && a.Lifted[k].Start == x.Start { // lists may differ in length
			x, y = a.Lifted[k].Span, b.Lifted[k].Span
			k++
		}
		if out.Start < 0 && at.Start < max(x.Stop, x.Start+1) {
			out.Start = inside(max(at.Start, x.Start), x, y)
		}
		switch {
		case at.Stop == at.Start:
			out.Stop = out.Start
		case at.Stop == x.Stop:
			out.Stop = y.Stop
		case at.Stop < x.Stop:
			out.Stop = inside(max(at.Stop, x.Start), x, y)
		}
		if out.Start >= 0 && out.Stop >= 0 {
			return Span{out.Start, max(out.Start, out.Stop)}, true
		}
		if a.toks[i].Kind == EOF {
			return Span{}, false
		}
		for a.toks[i].Kind != EOF && a.toks[i].Start < x.Stop {
			i++
		}
		for b.toks[j].Kind != EOF && b.toks[j].Start < y.Stop {
			j++
		}
	}
}
