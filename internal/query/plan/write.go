package plan

import (
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
)

// write runs the barrier test of a writing clause and returns the command ids that it works at.
func (p *planner) write(s *stream, c bind.Clause) CID {
	e := p.effects(c)
	e.distinct = s.distinctOn
	p.barrier(s, e)
	return p.wrote()
}

func (p *planner) createItems(items []bind.CreateItem, fresh []*bind.Var) []CreateItem {
	mine := slotSet{}
	var out []CreateItem
	for _, it := range items {
		ci := CreateItem{Rel: it.Rel, Slot: it.Var.Slot, Hint: it.Var.Hint, Labels: it.Labels, Type: it.Type, Start: NoSlot, End: NoSlot, Pos: it.Pos, EndPos: it.Stop}
		if it.Rel {
			ci.Start, ci.End = it.Start.Slot, it.End.Slot
		}
		for _, pr := range it.Props {
			ci.Props = append(ci.Props, Prop{Key: pr.Key, Val: p.expr(pr.Val)})
			ci.ReadsOwn = ci.ReadsOwn || readsAny(pr.Val, mine)
		}
		if it.Names != nil {
			ci.Names = p.expr(it.Names)
			ci.ReadsOwn = ci.ReadsOwn || readsAny(it.Names, mine)
		}
		if it.Map != nil {
			ci.Map = p.expr(it.Map)
			ci.ReadsOwn = ci.ReadsOwn || readsAny(it.Map, mine)
		}
		mine.add(it.Var.Slot)
		out = append(out, ci)
	}
	return out
}

func readsAny(e expr.Expr, set slotSet) bool {
	r := slotSet{}
	r.reads(e)
	return r.meets(set)
}

// fuseCreates joins a CREATE with those right behind it that read nothing which it makes: a script of many thousand clauses is one operator then.
// It returns the joined clause and how many it took.
func (p *planner) fuseCreates(c *bind.Create, rest []bind.Clause) (*bind.Create, int) {
	n := 0
	made := slotSet{}
	all := *c
	for _, r := range rest {
		next, ok := r.(*bind.Create)
		if !ok || !p.opt.on(RuleFuseCreate) {
			break
		}
		if n == 0 {
			all.Items, all.Fresh, all.Paths = append([]bind.CreateItem(nil), c.Items...), append([]*bind.Var(nil), c.Fresh...), append([]*bind.PatPath(nil), c.Paths...)
			for _, v := range c.Fresh {
				made.add(v.Slot)
			}
		}
		if !p.apart(next, made) {
			break
		}
		all.Items, all.Fresh, all.Paths = append(all.Items, next.Items...), append(all.Fresh, next.Fresh...), append(all.Paths, next.Paths...)
		all.End = next.End
		for _, v := range next.Fresh {
			made.add(v.Slot)
		}
		n++
	}
	if n == 0 {
		return c, 0
	}
	return &all, n
}

// apart reports whether a CREATE looks for nothing in the graph and reads no value of what was made.
func (p *planner) apart(c *bind.Create, made slotSet) bool {
	for _, it := range c.Items {
		if it.Names != nil && (hasSubplan(it.Names) || readsAny(it.Names, made)) {
			return false
		}
		if it.Map != nil && (hasSubplan(it.Map) || readsAny(it.Map, made)) {
			return false
		}
		for _, pr := range it.Props {
			if hasSubplan(pr.Val) || readsAny(pr.Val, made) {
				return false
			}
		}
	}
	return true
}

func (p *planner) create(s *stream, c *bind.Create) *stream {
	cid := p.write(s, c)
	n := &Create{Base: p.base(s.est), Child: s.root, Items: p.createItems(c.Items, c.Fresh)}
	n.CID = cid
	s = s.with(n) // nobody else holds s.bound: a statement may have thousands of CREATEs
	for _, v := range c.Fresh {
		s.bound.add(v.Slot)
		if v.Kind != bind.PathVar {
			s.key(v.Root.Slot)
		}
	}
	for _, pt := range c.Paths {
		s = p.path(s, pt)
	}
	return s
}

// setItems plans the items of SET and REMOVE.
func (p *planner) setItems(items []bind.SetItem) []SetItem {
	var out []SetItem
	for _, it := range items {
		si := SetItem{Kind: SetKind(it.Kind), Slot: NoSlot, Hint: NoSlot, Key: it.Key, KeyExp: p.expr(it.KeyExpr), Val: p.expr(it.Val), Labels: it.Labels, Pos: it.Pos, EndPos: it.End}
		if it.Var != nil {
			si.Slot, si.Hint = it.Var.Slot, it.Var.Hint
			si.Entity, si.Known = it.Var.Entity()
		} else {
			si.Target = p.expr(it.Target)
			t := it.Target.Type()
			switch {
			case t.Is(expr.TNode.Kinds) && t.Kinds&expr.TNode.Kinds != 0:
				si.Entity, si.Known = schema.Vertex, true
			case t.Is(expr.TRel.Kinds) && t.Kinds&expr.TRel.Kinds != 0:
				si.Entity, si.Known = schema.Edge, true
			}
		}
		if it.Kind == bind.AddLabels || it.Kind == bind.RemoveLabels {
			si.Entity, si.Known = schema.Vertex, true
		}
		out = append(out, si)
	}
	return out
}

// fusion is a run of adjacent SET and REMOVE clauses that one pass may do (rules C2).
type fusion struct {
	eff   effects
	names map[string]bool // keys and labels that they write
}

// takes reports whether a clause with the footprint k may join: disjoint keys and labels, and neither reads what the other writes. It then has.
func (f *fusion) takes(k *effects) bool {
	never := func(a, b int) bool { return false }
	if f.names == nil {
		f.names = map[string]bool{}
	} else if readWrite(&f.eff.w, &k.r, never) != "" || readWrite(&k.w, &f.eff.r, never) != "" {
		return false
	}
	for _, x := range k.w.props {
		if f.names["key "+x.name] || f.names["key "+anyName] || x.name == anyName && len(f.eff.w.props) > 0 {
			return false
		}
	}
	for _, x := range k.w.labels {
		if f.names["label "+x.name] {
			return false
		}
	}
	for _, x := range k.w.props {
		f.names["key "+x.name] = true
	}
	for _, x := range k.w.labels {
		f.names["label "+x.name] = true
	}
	f.eff.r.merge(&k.r)
	f.eff.w.merge(&k.w)
	return true
}

func (p *planner) set(s *stream, group []*bind.Set) *stream {
	c := *group[0]
	c.Items = nil
	for _, g := range group {
		c.Items = append(c.Items, g.Items...)
		c.End = g.End
	}
	rows := p.rowByRow(c.Items, s.distinctOn)
	cid := p.write(s, &c)
	s = p.lock(s, cid)
	n := &Set{Base: p.base(s.est), Child: s.root, Items: p.setItems(c.Items), RowByRow: rows || p.opt.Reference, Remove: c.Remove && len(group) == 1}
	n.CID = cid
	n.CID.Own = n.RowByRow
	return s.with(n)
}

// ahead lists the variables that the clauses of one part of a query change, each once, as long as they wait for their lock.
type ahead struct {
	clauses []bind.Clause // not yet looked through
	vars    []*bind.Var
}

// targets returns the variables that wait.
func (a *ahead) targets(p *planner) []*bind.Var {
	seen := map[*bind.Var]bool{}
	add := func(v *bind.Var) {
		if v != nil && !v.Lambda && !seen[v.Root] {
			seen[v.Root] = true
			a.vars = append(a.vars, v)
		}
	}
	for _, c := range a.clauses {
		switch c := c.(type) {
		case *bind.Set:
			for _, it := range c.Items {
				add(it.Var)
			}
		case *bind.Delete:
			for _, e := range c.Exprs {
				if col, ok := e.(*expr.Col); ok {
					add(p.vars[col.Slot])
				}
			}
		}
	}
	a.clauses = nil
	return a.vars
}

// lock puts a Lock below the first write clause for the targets of it and of later clauses that are bound by now (rules A9).
func (p *planner) lock(s *stream, cid CID) *stream {
	if p.opt.Reference {
		return s
	}
	n := &Lock{Child: s.root}
	wait := p.ahead.vars[:0]
	for _, v := range p.ahead.targets(p) {
		if p.locked.has(v.Root.Slot) {
			continue
		}
		// The variable may have another name further down: what is bound here has the same root.
		var here *bind.Var
		for _, w := range p.named[v.Root] {
			if s.bound.has(w.Slot) {
				here = w
				break
			}
		}
		if here == nil {
			wait = append(wait, v)
			continue
		}
		ent, ok := here.Entity()
		if !ok {
			wait = append(wait, v)
			continue
		}
		p.locked.add(v.Root.Slot)
		t := LockTarget{Slot: here.Slot, Hint: here.Hint, Entity: ent, Optional: p.opts.has(here.Root.Slot)}
		for _, e := range p.preds[here.Slot] {
			if readsBound(p, e, s.bound) {
				t.Recheck = append(t.Recheck, e)
			}
		}
		n.Targets = append(n.Targets, t)
	}
	p.ahead.vars = wait
	if len(n.Targets) == 0 {
		return s
	}
	n.Base = p.base(s.est)
	n.CID = CID{Seg: cid.Seg, Read: cid.Read}
	return s.with(n)
}

func readsBound(p *planner, e expr.Expr, bound slotSet) bool {
	r := slotSet{}
	r.reads(e)
	for x := range r.all() {
		if !bound.has(x) && !p.hintOfBound(x, bound) {
			return false
		}
	}
	return true
}

func (p *planner) delete(s *stream, c *bind.Delete) *stream {
	cid := p.write(s, c)
	s = p.lock(s, cid)
	n := &Delete{Base: p.base(s.est), Child: s.root, Detach: c.Detach}
	n.CID = cid
	for _, e := range c.Exprs {
		n.Exprs = append(n.Exprs, p.expr(e))
	}
	if !p.deleted {
		p.deleted, p.deletedAt = true, p.clause
	}
	return s.with(n)
}

func (p *planner) merge(s *stream, c *bind.Merge) *stream {
	cid := p.write(s, c)
	cid.Own = true
	rowID := p.slot("row", RowID)
	// The match reads what the MERGE's earlier rows wrote.
	outer := p.cid
	p.cid = cid
	arg := &Argument{Base: p.base(1), RowID: rowID}
	in := &stream{root: arg, bound: clone(s.bound), est: 1, keys: [][]int{{}}, one: true}
	leave := p.enter(rowID)
	pat := c.Pattern
	pat.Paths = nil // built above, for matched and created rows alike
	create, onCreate, onMatch := p.createItems(c.Items, c.Fresh), p.setItems(c.OnCreate), p.setItems(c.OnMatch)
	in.batch = batchMerge(create, onCreate, onMatch)
	right := p.pattern(in, []*bind.Match{{Place: c.Place, Pattern: pat}}, false)
	leave()
	p.cid = outer
	n := &Merge{Base: p.base(max(s.est, s.est*right.est)), Left: s.root, Right: right.root, RowID: rowID, Create: create, OnCreate: onCreate, OnMatch: onMatch, Batch: in.batch}
	n.CID = cid
	for _, v := range c.Fresh {
		if v.Kind != bind.PathVar {
			n.Binds = append(n.Binds, v.Slot)
		}
	}
	rels := 0
	fresh := slotSet{}
	for _, it := range n.Create {
		if it.Rel {
			rels++
		}
		fresh.add(it.Slot)
		for _, pr := range it.Props {
			n.NullCheck = append(n.NullCheck, pr)
		}
	}
	for _, it := range n.Create {
		l := MergeLock{Rel: it.Rel, Labels: it.Labels, Type: it.Type, Names: it.Names, Keys: it.Props, Start: NoSlot, End: NoSlot}
		if it.Rel {
			if fresh.has(it.Start) || fresh.has(it.End) {
				continue // its ends are new as well, their locks cover it
			}
			l.Start, l.End, l.Keys = it.Start, it.End, nil
		} else {
			l.Unique = p.uniqueCovers(it)
		}
		n.Locks = append(n.Locks, l)
	}
	out := s.with(n)
	out.est = n.Est
	out.bound = clone(s.bound)
	for _, v := range c.Fresh {
		out.bound.add(v.Slot)
	}
	for _, it := range c.Items {
		out.extend(it.Var.Root.Slot)
	}
	for _, pt := range c.Pattern.Paths {
		out = p.path(out, pt)
	}
	return out
}

// batchMerge reports whether the rows of a MERGE can be looked for together: the pattern is one vertex whose properties read none of what ON CREATE
// and ON MATCH set, and these set no label and none of the pattern's properties. What an earlier row did then changes whether a later one
// matches in one way only: by having made the vertex.
func batchMerge(create []CreateItem, sets ...[]SetItem) bool {
	if len(create) != 1 || create[0].Rel || create[0].Names != nil || create[0].Map != nil || len(create[0].Props) == 0 {
		return false
	}
	keys := map[string]bool{} // that decide who matches
	for _, pr := range create[0].Props {
		keys[pr.Key] = true
		if !readsOnly(pr.Val, keys) {
			return false
		}
	}
	for _, items := range sets {
		for i := range items {
			if it := &items[i]; it.Kind != SetProp || keys[it.Key] {
				return false
			}
		}
	}
	return true
}

// readsOnly reports whether all that an expression reads of the graph are properties with fixed keys, which it adds to keys, and whether it gives
// the same when it is computed again.
func readsOnly(e expr.Expr, keys map[string]bool) bool {
	free := true
	expr.Walk(e, func(n expr.Expr) bool {
		switch n := n.(type) {
		case *expr.Const, *expr.Param, *expr.Col, *expr.Unary, *expr.Binary, *expr.Chain, *expr.And, *expr.Or, *expr.Case, *expr.ListLit:
		case *expr.Prop:
			keys[n.Key] = true
		case *expr.Func:
			free = free && (n.Def.Vol == expr.Pure || n.Def.Vol == expr.Statement)
		default:
			free = false
		}
		return free
	})
	return free
}

// uniqueCovers reports whether a unique constraint decides a MERGE of a vertex: an index on one of its labels whose keys are all given.
func (p *planner) uniqueCovers(it CreateItem) bool {
	for _, ix := range p.indexes() {
		if !ix.Unique || ix.Entity != schema.Vertex || !contains(it.Labels, ix.LabelName) {
			continue
		}
		all := true
		for _, k := range ix.KeyNames {
			found := false
			for _, pr := range it.Props {
				found = found || pr.Key == k
			}
			all = all && found
		}
		if all {
			return true
		}
	}
	return false
}

// selfConflict reports why the iterations of a body must run one at a time: some clause conflicts with another or itself, in either order.
func (p *planner) selfConflict(body []bind.Clause) string {
	if len(body) == 1 {
		switch body[0].(type) {
		case *bind.Set, *bind.Merge:
			return "" // alone such a clause sees its own earlier rows anyway
		}
	}
	var es []*effects
	for _, c := range body {
		e := p.effects(c)
		e.distinct = never
		es = append(es, e)
	}
	for _, a := range es {
		for _, b := range es {
			if r := conflict(a, b); r != "" {
				return r
			}
			// A later iteration's read sees what an earlier one wrote.
			if r := readWrite(&a.w, &b.r, func(x, y int) bool { return false }); r != "" {
				return b.name + " reads " + r + " that " + a.name + " writes"
			}
		}
	}
	return ""
}

func (p *planner) foreach(s *stream, c *bind.Foreach, rest []bind.Clause) *stream {
	e := p.effects(c)
	e.distinct = s.distinctOn
	p.barrier(s, e)
	n := &Foreach{Child: s.root, List: p.expr(c.List), Var: c.Var.Slot, Opens: -1}
	arg := &Argument{RowID: NoSlot}
	in := &stream{root: arg, bound: clone(s.bound), est: 10, one: false}
	in.bound.add(c.Var.Slot)
	reason := p.selfConflict(c.Body)
	if p.barrierAll {
		reason = "reference run"
	}
	perIteration := reason != ""
	n.Base = p.base(s.est)
	if perIteration {
		// A barrier before and after; a segment for every iteration.
		if !p.noBarrier && p.window.n > 1 {
			p.eager(s, "FOREACH runs one iteration at a time: "+reason)
			n.Child = s.root
		}
		n.Base = p.base(s.est)
		saved, win := p.cid, p.window
		p.q.Segments = append(p.q.Segments, Segment{})
		p.cid = CID{Seg: len(p.q.Segments) - 1}
		n.Opens = p.cid.Seg
		arg.Base = p.base(10)
		leave := p.enter(NoSlot)
		// Inside one iteration barriers stand as in any statement.
		p.noBarrier, p.window = false, window{}
		body := p.bodyOf(in, c.Body)
		leave()
		n.Body = body.root
		p.cid, p.window = saved, win
		out := s.with(n)
		if !p.noBarrier {
			p.eager(out, "FOREACH runs one iteration at a time")
		}
		return out
	}
	arg.Base = p.base(10)
	leave := p.enter(NoSlot)
	body := p.bodyOf(in, c.Body)
	leave()
	n.Body = body.root
	return s.with(n)
}

func (p *planner) bodyOf(s *stream, body []bind.Clause) *stream {
	return p.partOf(s, &bind.Part{Clauses: body})
}

func (p *planner) callProc(s *stream, c *bind.CallProc) *stream {
	var cid CID
	if c.Proc.Writes {
		cid = p.write(s, c)
	} else {
		p.reads(s, c)
		cid = p.cid
	}
	n := &ProcedureCall{Base: p.base(s.est * 10), Child: leafChild(s.root), Name: c.Proc.Name, Void: len(c.Proc.Out) == 0 || c.Proc.Void, Optional: c.Optional}
	n.CID = cid
	for _, a := range c.Args {
		n.Args = append(n.Args, p.expr(a))
	}
	s = s.with(n)
	s.bound = clone(s.bound)
	for _, y := range c.Yields {
		n.Yields = append(n.Yields, Yield{Field: y.Field, Slot: y.Var.Slot})
		s.bound.add(y.Var.Slot)
	}
	if !n.Void {
		s.est *= 10
		s.keys = nil
	}
	n.Est = s.est
	return s
}

func (p *planner) callSub(s *stream, c *bind.CallSub) *stream {
	if c.Writes {
		e := p.effects(c)
		e.distinct = s.distinctOn
		p.barrier(s, e)
	} else {
		p.reads(s, c)
	}
	rowID := p.slot("row", RowID)
	in := &stream{bound: slotSet{}, est: 1, keys: [][]int{{}}, one: true}
	for _, v := range c.Imports {
		in.bound.add(v.Slot)
	}
	n := &Apply{Kind: callKind(c), RowID: rowID, Opens: -1, Slot: NoSlot, From: NoSlot}
	if c.Writes {
		// One row at a time, each iteration a segment of its own, unless nothing in the body touches what it reads.
		reason := p.bodyConflict(c)
		if reason != "" || len(c.Body.Parts) > 1 && !p.noBarrier {
			if !p.noBarrier && p.window.n > 1 {
				p.eager(s, "CALL { } runs one row at a time: "+reason)
			}
			n.PerRow = true
		}
	}
	n.Base = p.base(s.est)
	n.Left = s.root
	saved := p.cid
	win := p.window
	if n.PerRow {
		p.q.Segments = append(p.q.Segments, Segment{})
		p.cid = CID{Seg: len(p.q.Segments) - 1}
		n.Opens = p.cid.Seg
	}
	nb := p.noBarrier
	leave := p.enter(rowID)
	if n.PerRow {
		// Inside one iteration barriers stand as in any statement.
		p.noBarrier, p.window = false, window{}
	}
	p.outer = clone(in.bound)
	in.root, in.batch = &Argument{Base: p.base(1), RowID: rowID}, !n.PerRow
	right, _ := p.query(in, c.Body, rowID)
	leave()
	n.Right = right.root
	out := s.with(n)
	if n.PerRow {
		p.cid, p.window = saved, win
	}
	out.bound = clone(s.bound)
	for _, v := range c.Body.Cols {
		out.bound.add(v.Slot)
		out.extend(v.Root.Slot)
		if n.Kind == Optional {
			n.Nulls = append(n.Nulls, v.Slot)
		}
	}
	if n.Kind != Unit {
		out.est = max(1, s.est*right.est)
		n.Est = out.est
	}
	if n.PerRow && !nb {
		p.eager(out, "CALL { } runs one row at a time")
	}
	return out
}
