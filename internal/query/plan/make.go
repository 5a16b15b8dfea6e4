package plan

import (
	"fmt"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Make plans a bound statement. The result is immutable and may be shared (P1).
func Make(st *bind.Statement, cat Catalog, opt Options) (q *Query, err error) {
	defer func() {
		// A refusal deep inside a pattern unwinds by panic(*fault); nothing else is caught here.
		if r := recover(); r != nil {
			f, ok := r.(*fault)
			if !ok {
				panic(r)
			}
			q, err = nil, f.err
		}
	}()
	p := &planner{st: st, cat: tame{cat}, opt: opt, vars: map[int]*bind.Var{}, named: map[*bind.Var][]*bind.Var{}, hintOf: map[int][]*bind.Var{}, told: map[*bind.Var]schema.LabelID{}, q: &Query{Graph: st.Graph, Explain: ExplainMode(st.Mode)}, preds: map[int][]expr.Expr{},
		part: NoSlot, outer: slotSet{}, opts: slotSet{}, locked: slotSet{}}
	for _, v := range st.Vars {
		p.vars[v.Slot] = v
		p.named[v.Root] = append(p.named[v.Root], v)
		if v.Hint != NoSlot {
			p.hintOf[v.Hint] = append(p.hintOf[v.Hint], v)
		}
	}
	for i := 0; i < st.Slots; i++ {
		p.q.Slots = append(p.q.Slots, SlotInfo{Hint: NoSlot})
	}
	for _, v := range st.Vars {
		p.describe(v)
	}
	for _, n := range st.Notices {
		p.q.Notices = append(p.q.Notices, Notice(n))
	}
	if opt.NoCommandIDs {
		p.barrierAll = true
	}
	if opt.Reference {
		p.barrierAll = true
	}
	if opt.Graph != "" && (st.Graph == "" || st.Graph == opt.Graph) {
		for _, u := range st.Inner {
			if u.Graph != opt.Graph {
				return nil, dberr.Compile(dberr.FeatureNotSupported, "", u.Pos, u.End, "a query cannot use more than one graph: it runs on %q", opt.Graph)
			}
		}
	}
	p.q.Lifted, p.q.Params = st.Lifted, st.Params
	if st.Command != nil {
		if err := p.command(st.Command); err != nil {
			return nil, err
		}
		return p.q, nil
	}
	p.q.ReadOnly = !writes(st.Query)
	p.q.Segments = []Segment{{}}
	p.readNames(st.Query)

	s := p.start(&SingleRow{Base: p.base(1)})
	root, cols := p.query(s, st.Query, NoSlot)
	names := st.Query.Columns
	if !p.q.ReadOnly {
		e := &effects{name: "RETURN", distinct: never}
		for _, v := range cols {
			e.r.encode(p, v)
		}
		p.barrier(root, e)
	}
	res := &ProduceResults{Base: p.base(root.est), Child: root.root, Names: names}
	for _, v := range cols {
		res.Cols = append(res.Cols, v.Slot)
	}
	p.q.Root, p.q.Columns = res, names
	p.q.LastSeg, p.q.LastRead = p.cid.Seg, p.cid.Read
	p.hopCounts()
	if p.opt.on(RuleLateProps) {
		p.lateProps()
	}
	p.sideways()
	p.finish()
	if cells := p.q.Nodes * len(p.q.Slots); cells > maxCells {
		e := dberr.Compile(dberr.StatementTooComplex, "StatementTooComplex", -1, -1, "the statement is too long to run: %d operators with %d columns", p.q.Nodes, len(p.q.Slots))
		e.Hint = "Send the data as a parameter and UNWIND it, or split the text into several statements."
		return nil, e
	}
	return p.q, nil
}

// maxCells is what a plan may ask of the executor, whose operators have a place for each column of the statement: a longer script would take gigabytes
// before its first row (rules C12).
const maxCells = 256 << 20

// fault carries an error up to Make.
type fault struct{ err error }

func (p *planner) fail(err error) { panic(&fault{err}) }

func never(int) bool { return false }

func writes(q *bind.Query) bool {
	for _, part := range q.Parts {
		for _, c := range part.Clauses {
			if writesStore(c) {
				return true
			}
		}
	}
	return false
}

type planner struct {
	st   *bind.Statement
	cat  Catalog
	opt  Options
	q    *Query
	vars map[int]*bind.Var // by slot

	named  map[*bind.Var][]*bind.Var // the names of one root, itself included, by ascending slot
	hintOf map[int][]*bind.Var       // the variables whose hint a slot is

	cid        CID // where reading operators of the current clause stand
	clause     int
	window     window // clauses since the last barrier
	barrierAll bool
	deleted    bool // a DELETE lies before
	deletedAt  int  // its clause
	noBarrier  bool // inside a body that runs one iteration at a time, or a reading subquery
	labelCache []schema.Label
	shares     map[shareKey]float64
	ixCache    []schema.Index
	ixLoaded   bool
	told       map[*bind.Var]schema.LabelID // by root: the label that a vertex probably has, for estimates alone
	outer      slotSet                      // variables of the rows around a subquery: visible in all of it
	existsDup  bool                         // inside EXISTS: only whether there is a row matters

	part   Slot                // row id of the enclosing Apply's right side, or NoSlot
	preds  map[int][]expr.Expr // conditions by variable, for Lock
	opts   slotSet             // variables that an OPTIONAL MATCH may have left null
	locked slotSet
	ahead  *ahead // what the part at hand will change
}

// describe fills SlotInfo of a variable.
func (p *planner) describe(v *bind.Var) {
	info := SlotInfo{Name: v.Name, Anon: v.Anon, Hint: v.Hint}
	switch {
	case v.Kind == bind.PathVar:
		info.Kind = PathValue
	case v.Kind == bind.RelListVar:
		info.Kind = RelList
	default:
		if e, ok := v.Entity(); ok && e == schema.Vertex {
			info.Kind = NodeID
		} else if ok {
			info.Kind = RelID
		}
	}
	p.q.Slots[v.Slot] = info
	if v.Hint != NoSlot {
		p.q.Slots[v.Hint] = SlotInfo{Name: info.Name + ".hint", Kind: HintWord, Hint: NoSlot}
	}
}

// slot allots a slot beyond the binder's.
func (p *planner) slot(name string, kind SlotKind) Slot {
	p.q.Slots = append(p.q.Slots, SlotInfo{Name: name, Kind: kind, Hint: NoSlot})
	return len(p.q.Slots) - 1
}

// temp makes a column for an intermediate value.
func (p *planner) temp(name string, t expr.Type) (Slot, *expr.Col) {
	s := p.slot(name, AnyValue)
	return s, &expr.Col{Base: expr.Base{Pos: -1, End: -1, T: t}, Slot: s, Hint: NoSlot, Name: name}
}

func (p *planner) base(est float64) Base { return Base{Est: est, CID: p.cid, Clause: p.clause} }

func (p *planner) notice(code, hint string, pos, end int, format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	for _, n := range p.q.Notices {
		if n.Code == code && n.Message == msg {
			return
		}
	}
	p.q.Notices = append(p.q.Notices, Notice{Code: code, Message: msg, Hint: hint, Pos: pos, End: end})
}

// stream is a plan under construction and what is known of its rows.
type stream struct {
	root  Node
	bound slotSet
	est   float64
	// keys are sets of variables (slots of their roots) on each of which rows are distinct. An empty set: at most one row.
	keys [][]int
	one  bool // exactly one row, without columns, from outside: nothing has been done yet
	// batch: est and one speak of each row of a batch that an Apply hands down
	batch bool
}

func (p *planner) start(n Node) *stream {
	return &stream{root: n, bound: slotSet{}, est: 1, keys: [][]int{{}}, one: true}
}

func (s *stream) with(n Node) *stream {
	c := *s
	c.root, c.one = n, false
	return &c
}

// distinctOn reports whether rows are proven distinct on one variable.
func (s *stream) distinctOn(v int) bool {
	for _, k := range s.keys {
		ok := true
		for _, x := range k {
			ok = ok && x == v
		}
		if ok {
			return true
		}
	}
	return false
}

// maxKeys bounds the keys of a stream: each step copies them, and a key left out only costs a barrier.
const maxKeys = 64

// key adds a set of variables on which rows are distinct. Where there is at most one row nothing can be added.
func (s *stream) key(vs ...int) {
	if len(s.keys) > 0 && len(s.keys[0]) == 0 || len(s.keys) >= maxKeys {
		return
	}
	s.keys = append(s.keys, vs)
}

// extend adds a variable to every key.
func (s *stream) extend(v int) {
	out := make([][]int, 0, len(s.keys))
	for _, k := range s.keys {
		if len(k) < 8 && len(out) < maxKeys {
			out = append(out, append(append([]int(nil), k...), v))
		}
	}
	s.keys = out
}

// barrier puts an Eager below the clause whose footprint is e, if one of the clauses before conflicts with it.
func (p *planner) barrier(s *stream, e *effects) {
	if e.distinct == nil {
		e.distinct = never
	}
	if p.noBarrier || p.q.ReadOnly {
		return
	}
	defer func() { p.window.push(e) }()
	reason := ""
	if p.barrierAll {
		// Between two clauses that only read, with no write before them, a barrier would change nothing but the memory that it takes.
		if p.window.n > 0 && (p.window.wrote || e.w.any() || p.cid.Seg > 0) {
			reason = "reference run"
			if p.opt.NoCommandIDs && !p.opt.Reference {
				reason = "the store has no command ids"
			}
		}
	} else {
		reason = p.window.conflict(e)
	}
	if reason != "" {
		p.eager(s, reason)
	}
}

// eager opens a new segment above s.
func (p *planner) eager(s *stream, reason string) {
	n := &Eager{Base: p.base(s.est), Child: s.root, Reason: reason}
	p.newSegment()
	n.Opens = p.cid.Seg
	s.root, s.one = n, false
}

func (p *planner) newSegment() {
	p.q.Segments = append(p.q.Segments, Segment{})
	p.cid = CID{Seg: len(p.q.Segments) - 1}
	p.window = window{}
}

// wrote takes the next command id of the segment for a write clause and returns the clause's own CID.
func (p *planner) wrote() CID {
	c := p.cid
	seg := &p.q.Segments[c.Seg]
	c.Write = seg.Writes
	seg.Writes++
	p.cid.Read = seg.Writes
	return c
}

// query plans the parts of a query on top of s, which all of them start from. rowID is the slot of the enclosing Apply's ordinal, or NoSlot;
// with several parts each begins with its own copy of s's leaf.
func (p *planner) query(s *stream, q *bind.Query, rowID Slot) (*stream, []*bind.Var) {
	if len(q.Parts) == 1 {
		return p.partOf(s, q.Parts[0]), q.Cols
	}
	u := &Union{}
	var est float64
	for i, part := range q.Parts {
		in := *s
		in.root, in.bound, in.keys = p.copyLeaf(s.root), clone(s.bound), s.keys
		opens := -1
		if i > 0 && !p.q.ReadOnly && !p.noBarrier {
			p.newSegment()
			opens = p.cid.Seg
			setCID(in.root, p.cid)
		}
		out := p.partOf(&in, part)
		est += out.est
		u.Inputs = append(u.Inputs, out.root)
		u.Opens = append(u.Opens, opens)
		var from []Slot
		for _, v := range part.Out {
			from = append(from, v.Slot)
		}
		if rowID != NoSlot {
			from = append(from, rowID)
		}
		u.From = append(u.From, from)
	}
	for _, v := range q.Cols {
		u.Cols = append(u.Cols, v.Slot)
	}
	if rowID != NoSlot {
		u.Cols = append(u.Cols, rowID)
		u.Part = []Slot{rowID}
	}
	u.Base = p.base(est)
	out := &stream{root: u, bound: clone(s.bound), est: est}
	for _, v := range q.Cols {
		out.bound.add(v.Slot)
	}
	if q.Distinct {
		d := &Distinct{Base: p.base(est), Child: u, Part: u.Part}
		for _, v := range q.Cols {
			d.Keys = append(d.Keys, Item{Slot: v.Slot, Expr: v.Col(-1, -1)})
		}
		out.root = d
	}
	if !p.q.ReadOnly && !p.noBarrier {
		// What reads behind a union of writing parts reads behind all of them.
		for _, part := range q.Parts {
			for _, c := range part.Clauses {
				if writesStore(c) {
					e := p.effects(c)
					e.distinct = never
					p.window.push(e)
				}
			}
		}
	}
	return out, q.Cols
}

// copyLeaf copies the leaf that a part of a union starts from.
func (p *planner) copyLeaf(n Node) Node {
	switch n := n.(type) {
	case *SingleRow:
		c := *n
		return &c
	case *Argument:
		c := *n
		c.Args = append([]Slot(nil), n.Args...)
		return &c
	}
	return n
}

func setCID(n Node, c CID) { n.Info().CID = c }

func (p *planner) partOf(s *stream, part *bind.Part) *stream {
	cs := part.Clauses
	defer func(a *ahead) { p.ahead = a }(p.ahead)
	p.ahead = &ahead{clauses: cs}
	for i := 0; i < len(cs); i++ {
		p.clause++
		switch c := cs[i].(type) {
		case *bind.Match:
			group := []*bind.Match{c}
			if !c.Optional && p.opt.on(RuleMergeMatch) {
				for i+1 < len(cs) {
					m, ok := cs[i+1].(*bind.Match)
					if !ok || m.Optional {
						break
					}
					group = append(group, m)
					i++
				}
			}
			if counted, ok := p.countStore(s, group, cs[i+1:]); ok {
				s = counted
				i++
				continue
			}
			s = p.match(s, p.leastLengths(group, cs[i+1:]), dupFree(cs[i+1:]))
		case *bind.Unwind:
			p.reads(s, c)
			n := &Unwind{Base: p.base(s.est * 10), Child: s.root, List: p.expr(c.List), Var: c.Var.Slot}
			s = s.with(n)
			s.est *= 10
			s.keys = nil
			s.bound = clone(s.bound)
			s.bound.add(c.Var.Slot)
		case *bind.LoadCSV:
			p.reads(s, c)
			s = p.loadCSV(s, c)
		case *bind.Projection:
			p.reads(s, c)
			s = p.projection(s, c)
		case *bind.ShowRows:
			n := &Show{Base: p.base(10), Kind: ShowKind(c.Kind), Filter: c.Filter, Args: c.Args}
			for _, y := range c.Yields {
				n.Fields = append(n.Fields, Yield{Field: y.Field, Slot: y.Var.Slot})
			}
			s = s.with(n)
			s.keys = nil
			s.bound = clone(s.bound)
			for _, y := range c.Yields {
				s.bound.add(y.Var.Slot)
			}
			p.q.Schema = true
		case *bind.Create:
			c, n := p.fuseCreates(c, cs[i+1:])
			s = p.create(s, c)
			i += n
		case *bind.Set:
			fused := []*bind.Set{c}
			var f fusion
			f.takes(p.effects(c))
			for p.opt.on(RuleFuseSet) && i+1 < len(cs) {
				n, ok := cs[i+1].(*bind.Set)
				if !ok || !f.takes(p.effects(n)) {
					break
				}
				fused = append(fused, n)
				i++
			}
			s = p.set(s, fused)
		case *bind.Delete:
			s = p.delete(s, c)
		case *bind.Merge:
			s = p.merge(s, c)
		case *bind.Foreach:
			s = p.foreach(s, c, cs[i:])
		case *bind.CallProc:
			s = p.callProc(s, c)
		case *bind.CallSub:
			if c.InTx != nil {
				s = p.callInTransactions(s, c)
			} else {
				s = p.callSub(s, c)
			}
		default:
			panic(fmt.Sprintf("plan: unknown clause %T", c))
		}
	}
	return s
}

// reads runs the barrier test of a clause that only reads.
func (p *planner) reads(s *stream, c bind.Clause) {
	if p.q.ReadOnly {
		return
	}
	e := p.effects(c)
	e.distinct = s.distinctOn
	p.barrier(s, e)
}

// dupFree reports whether what follows treats a row like two equal rows: DISTINCT, or aggregates that do not count.
func dupFree(rest []bind.Clause) bool {
	for _, c := range rest {
		switch c := c.(type) {
		case *bind.Match:
			continue
		case *bind.Projection:
			if c.Agg {
				for _, a := range c.Aggs {
					n := strings.ToLower(a.Call.Def.Name)
					if !a.Call.Distinct && n != "min" && n != "max" {
						return false
					}
				}
				return true
			}
			if c.Distinct {
				return true
			}
			if c.Limit != nil || c.Skip != nil {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// ---- projections -------------------------------------------------------------------------------------------------------

// projection plans WITH, RETURN and free-standing ORDER BY, SKIP, LIMIT.
func (p *planner) projection(s *stream, c *bind.Projection) *stream {
	items := make([]Item, len(c.Items))
	for i, it := range c.Items {
		items[i] = Item{Slot: it.Var.Slot, Expr: p.expr(it.Expr)}
	}
	var before, late []Item
	switch {
	case c.Agg:
		p.firstOf(s, c)
		a := &Aggregate{Child: s.root}
		for _, k := range c.Keys {
			a.Keys = append(a.Keys, Item{Slot: k.Var.Slot, Expr: p.expr(k.Expr)})
		}
		for _, g := range c.Aggs {
			a.Aggs = append(a.Aggs, Agg{Slot: g.Slot, Call: p.expr(g.Call).(*expr.Agg)})
		}
		if p.part != NoSlot {
			a.Part = []Slot{p.part}
		}
		est := 1.0
		if len(a.Keys) > 0 {
			est = max(1, s.est/3)
		}
		a.Base = p.base(est)
		s = s.with(a)
		s.est = est
		var key []int
		for _, k := range c.Keys {
			key = append(key, k.Var.Root.Slot)
		}
		s.keys = [][]int{key}
		for _, it := range items {
			if col, ok := it.Expr.(*expr.Col); !ok || col.Slot != it.Slot {
				before = append(before, it)
			}
		}
		// An item that is a renamed key or an aggregate alone needs its own column as well.
	case c.Distinct:
		d := &Distinct{Base: p.base(max(1, s.est/2)), Child: s.root, Keys: items}
		if p.part != NoSlot {
			d.Part = []Slot{p.part}
		}
		s = s.with(d)
		s.est = d.Est
		var key []int
		for _, it := range c.Items {
			key = append(key, it.Var.Root.Slot)
		}
		s.keys = [][]int{key}
	default:
		for _, it := range items {
			if col, ok := it.Expr.(*expr.Col); !ok || col.Slot != it.Slot {
				before = append(before, it)
			}
		}
	}
	before = p.copyHints(before)

	// Sort keys.
	var keys []SortKey
	needed := slotSet{}
	var extra []Item
	for _, o := range c.OrderBy {
		e := p.expr(o.Expr)
		if col, ok := e.(*expr.Col); ok {
			keys = append(keys, SortKey{Slot: col.Slot, Desc: o.Desc})
			needed.add(col.Slot)
			continue
		}
		needed.reads(e)
		slot, _ := p.temp(text(e), e.Type())
		extra = append(extra, Item{Slot: slot, Expr: e})
		keys = append(keys, SortKey{Slot: slot, Desc: o.Desc})
	}
	skip, limit := p.expr(c.Skip), p.expr(c.Limit)
	if len(keys) > 0 && limit != nil && p.opt.on(RuleLateProject) && !c.Distinct {
		var now []Item
		for _, it := range before {
			if needed.has(it.Slot) {
				now = append(now, it)
			} else {
				late = append(late, it)
			}
		}
		before = now
	}
	s = p.project(s, before)
	s = p.project(s, extra)
	var part []Slot
	if p.part != NoSlot {
		part = []Slot{p.part}
	}
	limEst := s.est
	if v, ok := p.valueOf(limit); ok && v.Kind() == value.Int {
		limEst = min(limEst, max(0, float64(v.Int())))
	}
	if wanted := p.wanted(skip, limit, limEst); len(keys) > 0 && p.inOrder(s, keys, wanted) {
		keys = nil
	}
	switch {
	case len(keys) > 0 && limit != nil && p.opt.on(RuleTopN):
		s = s.with(&TopN{Base: p.base(limEst), Child: s.root, Keys: keys, Skip: skip, Limit: limit, Part: part})
		s.est = limEst
	default:
		if len(keys) > 0 {
			s = s.with(&Sort{Base: p.base(s.est), Child: s.root, Keys: keys, Part: part})
		}
		if skip != nil {
			s = s.with(&Skip{Base: p.base(s.est), Child: s.root, Count: skip, Part: part})
		}
		if limit != nil {
			s = s.with(&Limit{Base: p.base(limEst), Child: s.root, Count: limit, Exhaustive: p.hasWrites(), Part: part})
			s.est = limEst
		}
	}
	if k, ok := limit.(*expr.Const); ok && k.V.Kind() == value.Int && k.V.Int() <= 1 && len(part) == 0 {
		s.keys = [][]int{{}}
	}
	s = p.project(s, late)

	// What goes on.
	bound := clone(p.outer)
	for _, it := range c.Items {
		bound.add(it.Var.Slot)
	}
	s.bound = bound
	keepPreds := map[int][]expr.Expr{}
	for v, es := range p.preds {
		for _, e := range es {
			r := slotSet{}
			r.reads(e)
			ok := true
			for x := range r.all() {
				ok = ok && (bound.has(x) || p.hintOfBound(x, bound))
			}
			if ok {
				keepPreds[v] = append(keepPreds[v], e)
			}
		}
	}
	p.preds = keepPreds
	if len(c.Where) > 0 {
		s = p.filter(s, c.Where)
	}
	return s
}

// hintOfBound reports whether a slot is the hint of a bound variable.
func (p *planner) hintOfBound(slot int, bound slotSet) bool {
	for _, v := range p.hintOf[slot] {
		if bound.has(v.Slot) {
			return true
		}
	}
	return false
}

// copyHints adds to renamed entities the copy of their hint.
func (p *planner) copyHints(items []Item) []Item {
	out := items
	for _, it := range items {
		if col, ok := it.Expr.(*expr.Col); ok && col.Hint != NoSlot {
			if v := p.vars[it.Slot]; v != nil && v.Hint != NoSlot && v.Hint != col.Hint {
				out = append(out, Item{Slot: v.Hint, Expr: &expr.Col{Base: expr.Base{Pos: -1, End: -1, T: expr.TInt}, Slot: col.Hint, Hint: NoSlot, Name: col.Name + ".hint"}})
			}
		}
	}
	return out
}

func (p *planner) project(s *stream, items []Item) *stream {
	if len(items) == 0 {
		return s
	}
	n := &Project{Base: p.base(s.est), Child: s.root, Items: items}
	s = s.with(n)
	s.bound = clone(s.bound)
	for _, it := range items {
		s.bound.add(it.Slot)
	}
	return s
}

// wanted is how many rows a LIMIT with its SKIP asks for: a guess if they are not constants, 0 without a LIMIT.
func (p *planner) wanted(skip, limit expr.Expr, est float64) float64 {
	if limit == nil {
		return 0
	}
	n := 100.0
	if _, ok := limit.(*expr.Const); ok {
		n = max(1, est)
	}
	if k, ok := skip.(*expr.Const); ok && k.V.Kind() == value.Int {
		n += float64(max(0, k.V.Int()))
	} else if skip != nil {
		n += 1000
	}
	return n
}

func (p *planner) hasWrites() bool { return !p.q.ReadOnly }

// ---- expressions -------------------------------------------------------------------------------------------------------

// expr plans the subqueries inside an expression; without any it returns e itself.
func (p *planner) expr(e expr.Expr) expr.Expr {
	if e == nil {
		return nil
	}
	return bind.RewriteTop(e, func(x expr.Expr) (expr.Expr, bool) {
		s, ok := x.(*expr.Subplan)
		if !ok {
			return x, false
		}
		q, ok := s.Plan.(*bind.Subquery)
		if !ok {
			return x, true
		}
		if d := p.degreeOf(s, q); d != nil {
			return d, true
		}
		c := *s
		c.Plan = p.subplan(q, s.Kind)
		return &c, true
	})
}

// degreeOf recognises COUNT { (n)-[:T]->() } with only n known: the number of n's relationships. nil: it is something else.
func (p *planner) degreeOf(s *expr.Subplan, q *bind.Subquery) expr.Expr {
	if s.Kind != expr.SubCount || q.Lambda || !p.opt.on(RuleDegree) || len(q.Query.Parts) != 1 {
		return nil
	}
	cs := q.Query.Parts[0].Clauses
	if len(cs) == 2 {
		if r, ok := cs[1].(*bind.Projection); !ok || r.Agg || r.Distinct || r.Skip != nil || r.Limit != nil || len(r.Where) > 0 {
			return nil
		}
		for _, it := range cs[1].(*bind.Projection).Items {
			if raises(it.Expr) {
				return nil
			}
		}
	} else if len(cs) != 1 {
		return nil
	}
	m, ok := cs[0].(*bind.Match)
	if !ok || m.Optional || len(m.Where) > 0 || len(m.Pattern.Preds) > 0 || len(m.Pattern.Rels) != 1 || len(m.Pattern.Nodes) != 2 {
		return nil
	}
	r := m.Pattern.Rels[0]
	if r.VarLen || r.Bound || r.Iter != nil || r.Sel != nil || len(r.StepPreds) > 0 || r.Left == r.Right {
		return nil
	}
	known := func(v *bind.Var) bool {
		for _, f := range q.Free {
			if f.Slot == v.Slot {
				return true
			}
		}
		return false
	}
	from, dir := r.Left, r.Dir
	if !known(from) {
		if from = r.Right; dir != store.Both {
			dir = 1 - dir
		}
	}
	if !known(from) || known(r.Left) && known(r.Right) || known(r.Var) {
		return nil
	}
	return &expr.Func{Base: expr.Base{Pos: -1, End: -1, T: expr.TInt}, Def: expr.Degree(dir, r.Types), Args: []expr.Expr{from.Col(-1, -1)}}
}

// subplan plans a subquery that is evaluated inside an expression.
func (p *planner) subplan(q *bind.Subquery, kind expr.SubplanKind) *Subplan {
	rowID := p.slot("row", RowID)
	root := p.right(q, rowID, kind == expr.SubExists)
	from := NoSlot
	if q.From != nil {
		from = q.From.Slot
	}
	return &Subplan{Root: root.root, RowID: rowID, From: from}
}

// right plans a reading subquery as the right side of an Apply.
func (p *planner) right(q *bind.Subquery, rowID Slot, exists bool) *stream {
	arg := &Argument{Base: p.base(1), RowID: rowID}
	in := &stream{root: arg, bound: slotSet{}, est: 1, keys: [][]int{{}}, one: true, batch: true}
	for _, v := range q.Free {
		in.bound.add(v.Slot)
	}
	defer p.enter(rowID)()
	p.outer = clone(in.bound)
	if exists {
		defer func(d bool) { p.existsDup = d }(p.existsDup)
		p.existsDup = true
	}
	out, _ := p.query(in, q.Query, rowID)
	return out
}

// enter begins a right side that only reads: its operators work at the clause's command id, so no barrier stands in it.
func (p *planner) enter(rowID Slot) (leave func()) {
	part, nb, win, preds, cl, outer := p.part, p.noBarrier, p.window, p.preds, p.clause, p.outer
	p.part, p.noBarrier, p.preds = rowID, true, map[int][]expr.Expr{}
	return func() {
		p.part, p.noBarrier, p.window, p.preds, p.clause, p.outer = part, nb, win, preds, cl, outer
	}
}

// filter applies conjuncts above s: those that are EXISTS as semi or anti applies.
func (p *planner) filter(s *stream, preds []expr.Expr) *stream {
	var plain []expr.Expr
	var subs []expr.Expr
	for _, e := range p.conjuncts(preds) {
		if p.opt.on(RuleSemiApply) {
			if q, _ := semi(e); q != nil && !q.Lambda {
				subs = append(subs, e)
				continue
			}
		}
		plain = append(plain, e)
	}
	if len(plain) > 0 {
		p.sortPreds(plain)
		est := s.est
		for i := range plain {
			est *= p.selectivity(plain[i])
			plain[i] = p.expr(plain[i])
		}
		s = s.with(&Filter{Base: p.base(est), Child: s.root, Preds: plain})
		s.est = est
	}
	for _, e := range subs {
		s = p.semiApply(s, e)
	}
	return s
}

// semi recognises EXISTS and NOT EXISTS.
func semi(e expr.Expr) (*bind.Subquery, bool) {
	anti := false
	if u, ok := e.(*expr.Unary); ok && u.Op == expr.OpNot {
		anti, e = true, u.X
	}
	if s, ok := e.(*expr.Subplan); ok && s.Kind == expr.SubExists {
		if q, ok := s.Plan.(*bind.Subquery); ok {
			return q, anti
		}
	}
	return nil, false
}

func (p *planner) semiApply(s *stream, e expr.Expr) *stream {
	q, anti := semi(e)
	if j := p.semiJoin(q); j != nil && j.pays(p, s.est, q) {
		return p.semiHashJoin(s, j, anti)
	}
	rowID := p.slot("row", RowID)
	r := p.right(q, rowID, true)
	n := &Apply{Base: p.base(s.est * 0.5), Left: s.root, Right: r.root, Kind: Semi, RowID: rowID, Opens: -1, Slot: NoSlot, From: NoSlot}
	if anti {
		n.Kind = Anti
	}
	s = s.with(n)
	s.est *= 0.5
	return s
}

// conjuncts splits chains of comparisons and nested ANDs.
func (p *planner) conjuncts(es []expr.Expr) []expr.Expr {
	var out []expr.Expr
	for _, e := range es {
		switch e := e.(type) {
		case *expr.And:
			out = append(out, p.conjuncts(e.Args)...)
		case *expr.Chain:
			if p.opt.Reference || !stable(e) {
				out = append(out, e)
				break
			}
			for i, op := range e.Ops {
				out = append(out, &expr.Binary{Base: e.Base, Op: op, L: e.Args[i], R: e.Args[i+1]})
			}
		default:
			out = append(out, e)
		}
	}
	return out
}

// stable reports whether an expression gives the same when it is evaluated again for the same row.
func stable(e expr.Expr) bool {
	ok := true
	expr.Walk(e, func(x expr.Expr) bool {
		if f, is := x.(*expr.Func); is && f.Def.Vol == expr.Volatile {
			ok = false
		}
		return ok
	})
	return ok
}

// sortPreds puts cheap tests first; the order of equals is kept.
func (p *planner) sortPreds(es []expr.Expr) {
	cost := make([]float64, len(es))
	for i, e := range es {
		cost[i] = predCost(e)
	}
	for i := 1; i < len(es); i++ {
		for j := i; j > 0 && cost[j] < cost[j-1]; j-- {
			cost[j], cost[j-1] = cost[j-1], cost[j]
			es[j], es[j-1] = es[j-1], es[j]
		}
	}
}

// predCost estimates a test in ns a row.
func predCost(e expr.Expr) float64 {
	c := 0.0
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Prop:
			c += 40
		case *expr.HasLabels:
			c += 20
		case *expr.Subplan:
			c += 2000
		case *expr.ListComp, *expr.Quantifier, *expr.Reduce:
			c += 200
		case *expr.Func:
			c += 30
			if x.Def.Vol == expr.Reads {
				c += 40
			}
		case *expr.Binary:
			c += 2
			if x.Op == expr.OpRegex {
				c += 200
			}
		default:
			c++
		}
		return true
	})
	return c
}

// ---- commands ----------------------------------------------------------------------------------------------------------

func (p *planner) command(c *bind.Command) error {
	n := &SchemaCommand{Base: Base{Est: 0}, Kind: SchemaKind(c.Kind), Name: c.Name, NameParam: c.NameParam, Index: c.Index, Constraint: c.Constraint, IfExists: c.IfExists, Cascade: c.Cascade}
	if c.By != nil {
		for _, ix := range p.cat.Indexes(p.opt.View) {
			if ix.LabelName == c.By.Label && ix.Constraint == "" && sameStrings(ix.KeyNames, c.By.Keys) {
				n.Name = ix.Name
			}
		}
		if n.Name == "" && !c.IfExists {
			return dberr.Compile(dberr.UndefinedIndex, "", c.Pos, c.End, "there is no index on :%s(%s)", c.By.Label, strings.Join(c.By.Keys, ", "))
		}
	}
	p.q.Schema = true
	p.q.Segments = []Segment{{}}
	p.q.Root = &ProduceResults{Base: Base{Est: 0}, Child: n}
	p.finish()
	return nil
}

func sameStrings(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
