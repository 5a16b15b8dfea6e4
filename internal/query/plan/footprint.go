package plan

import (
	"fmt"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// The footprint of a clause (rules C2): what it reads at its command id (R), what it reads its own earlier rows of (O), what it writes (W).
// A footprint errs on the large side: what is not known is "any".

// entKind is a set of entity kinds.
type entKind uint8

const (
	aNode entKind = 1 << iota
	aRel
	anEntity = aNode | aRel
)

// unknownVar stands for "some entity, no telling which variable".
const unknownVar = -1

const anyName = "*"

type (
	scanFP  struct{ labels []string } // finds vertices that have all the labels
	relFP   struct{ types []string }  // finds relationships of the types (none: any)
	namedFP struct {                  // a property or label of an entity
		name string // anyName: any
		v    int    // slot of the variable's root, or unknownVar
		ent  entKind
	}
	entFP struct { // an entity
		v   int
		ent entKind
	}
)

// access is what may be read, or written.
type access struct {
	scans  []scanFP
	rels   []relFP
	props  []namedFP
	labels []namedFP
	exists []entFP
}

// changes is what may be written.
type changes struct {
	nodes   []scanFP // created, with exactly these labels
	rels    []relFP  // created
	props   []namedFP
	labels  []namedFP
	deletes []entFP
	detach  bool
	rows    []entFP // every existing row of which a version may be made
	merged  []entFP // made by MERGE: not fresh for each input row
	all     bool    // anything
}

// effects is the footprint of one clause.
type effects struct {
	name     string
	r, o     access
	w        changes
	distinct func(v int) bool // at the clause: are rows distinct on the variable?
}

func (w *changes) any() bool {
	return w.all || len(w.nodes)+len(w.rels)+len(w.props)+len(w.labels)+len(w.deletes) > 0
}

// conflict returns why a barrier must stand between i and k, or "" if none needs to.
func conflict(i, k *effects) string {
	if i.creates() && k.creates() {
		return "" // the common case of long scripts
	}
	same := func(a, b int) bool { return a == b && a != unknownVar && i.distinct(a) }
	if s := readWrite(&i.w, &k.r, same); s != "" {
		return fmt.Sprintf("%s reads %s that %s writes", k.name, s, i.name)
	}
	if s := readWrite(&i.w, &k.o, same); s != "" {
		return fmt.Sprintf("%s reads %s that %s writes", k.name, s, i.name)
	}
	if s := readWrite(&k.w, &i.o, same); s != "" {
		return fmt.Sprintf("%s reads %s that %s writes", i.name, s, k.name)
	}
	if i.w.all && k.w.any() || k.w.all && i.w.any() {
		return fmt.Sprintf("%s and %s both write", i.name, k.name)
	}
	touch := func(as, bs []entFP) bool {
		for _, a := range as {
			for _, b := range bs {
				if a.ent&b.ent != 0 && !same(a.v, b.v) {
					return true
				}
			}
		}
		return false
	}
	if touch(i.w.rows, k.w.rows) || touch(i.w.merged, k.w.rows) || touch(i.w.rows, k.w.merged) {
		return fmt.Sprintf("%s and %s may change the same row", i.name, k.name)
	}
	if i.w.detach && len(k.w.rels) > 0 || k.w.detach && len(i.w.rels) > 0 {
		return fmt.Sprintf("%s and %s change the same relationships", i.name, k.name)
	}
	return ""
}

// window is the footprints of the clauses since the last barrier, as far as one of them can ask for the next. Footprints that say the same are kept
// once, so that a script of many thousand clauses is compared with what differs in it.
type window struct {
	n       int // clauses
	wrote   bool
	clauses []*effects
	same    map[string]bool     // which footprints are in clauses
	made    map[string]*effects // what clauses that only create made, by the clause's name
}

// push notes a clause. One that neither writes nor reads its own rows can be in nobody's way (only R_i∩W_k needs no barrier).
func (w *window) push(e *effects) {
	w.n++
	w.wrote = w.wrote || e.w.any()
	if !e.w.any() && e.o.none() {
		return
	}
	if w.same == nil {
		w.same, w.made = map[string]bool{}, map[string]*effects{}
	}
	if !e.creates() {
		if key := e.key(); !w.same[key] {
			w.same[key] = true
			w.clauses = append(w.clauses, e)
		}
		return
	}
	m := w.made[e.name]
	if m == nil {
		m = &effects{name: e.name, distinct: func(int) bool { return true }}
		w.made[e.name] = m
		w.clauses = append(w.clauses, m)
	}
	once := func(format string, args ...any) bool {
		key := e.name + fmt.Sprintf(format, args...)
		if w.same[key] {
			return false
		}
		w.same[key] = true
		return true
	}
	for _, s := range e.w.nodes {
		if once(" node %q", s.labels) {
			m.w.nodes = append(m.w.nodes, s)
		}
	}
	for _, r := range e.w.rels {
		if once(" rel %q", r.types) {
			m.w.rels = append(m.w.rels, r)
		}
	}
	// What is not distinct on its variable is acquitted by nothing.
	ent := func(x entFP) entFP {
		if !e.distinct(x.v) {
			x.v = unknownVar
		}
		return x
	}
	for _, x := range e.w.merged {
		if x = ent(x); once(" merged %v", x) {
			m.w.merged = append(m.w.merged, x)
		}
	}
	for _, x := range e.o.props {
		x.v = ent(entFP{v: x.v}).v
		m.o.props = append(m.o.props, x)
	}
	for _, x := range e.o.labels {
		x.v = ent(entFP{v: x.v}).v
		m.o.labels = append(m.o.labels, x)
	}
	for _, x := range e.o.exists {
		if x = ent(x); once(" exists %v", x) {
			m.o.exists = append(m.o.exists, x)
		}
	}
}

// conflict returns why a barrier must stand before k, or "".
func (w *window) conflict(k *effects) string {
	for _, i := range w.clauses {
		if reason := conflict(i, k); reason != "" {
			return reason
		}
	}
	return ""
}

// key writes down all that conflict asks of a footprint.
func (e *effects) key() string {
	return fmt.Sprintf("%s %q %q", e.name, e.known(&e.o), fmt.Sprintf("%v %v", e.w, e.knownChanges()))
}

func (e *effects) known(a *access) string {
	var b strings.Builder
	fmt.Fprint(&b, *a)
	for _, x := range a.props {
		fmt.Fprint(&b, e.distinct(x.v))
	}
	for _, x := range a.labels {
		fmt.Fprint(&b, e.distinct(x.v))
	}
	for _, x := range a.exists {
		fmt.Fprint(&b, e.distinct(x.v))
	}
	return b.String()
}

func (e *effects) knownChanges() []bool {
	var out []bool
	for _, x := range e.w.props {
		out = append(out, e.distinct(x.v))
	}
	for _, x := range e.w.labels {
		out = append(out, e.distinct(x.v))
	}
	for _, xs := range [][]entFP{e.w.deletes, e.w.rows, e.w.merged} {
		for _, x := range xs {
			out = append(out, e.distinct(x.v))
		}
	}
	return out
}

func (a *access) none() bool {
	return len(a.scans)+len(a.rels)+len(a.props)+len(a.labels)+len(a.exists) == 0
}

// creates reports whether a clause makes entities and neither looks for any nor changes old ones.
func (e *effects) creates() bool {
	w := &e.w
	return !w.all && len(w.props)+len(w.labels)+len(w.deletes)+len(w.rows)+len(e.r.scans)+len(e.r.rels)+len(e.o.scans)+len(e.o.rels) == 0
}

// readWrite returns what r may read of what w changes, or "".
func readWrite(w *changes, r *access, same func(a, b int) bool) string {
	if !w.any() && !w.detach {
		return ""
	}
	if w.all && (len(r.scans)+len(r.rels)+len(r.props)+len(r.labels)+len(r.exists) > 0) {
		return "what"
	}
	for _, s := range r.scans {
		for _, c := range w.nodes {
			if subset(s.labels, c.labels) {
				return "nodes" + colon(s.labels)
			}
		}
		for _, l := range w.labels {
			if l.name == anyName || contains(s.labels, l.name) {
				return "label " + l.name
			}
		}
		for _, d := range w.deletes {
			if d.ent&aNode != 0 {
				return "nodes"
			}
		}
	}
	for _, s := range r.rels {
		for _, c := range w.rels {
			if overlap(s.types, c.types) {
				return "relationships" + colon(s.types)
			}
		}
		if len(w.deletes) > 0 {
			return "relationships" + colon(s.types)
		}
	}
	named := func(rs, ws []namedFP, what string) string {
		for _, a := range rs {
			for _, c := range ws {
				if (a.name == anyName || c.name == anyName || a.name == c.name) && a.ent&c.ent != 0 && !same(c.v, a.v) {
					name := a.name
					if name == anyName {
						name = c.name
					}
					if name == anyName {
						return what + "s"
					}
					return what + " " + name
				}
			}
			for _, d := range w.deletes {
				if (d.ent&a.ent != 0 || w.detach && a.ent&aRel != 0) && !same(d.v, a.v) {
					return "entities"
				}
			}
		}
		return ""
	}
	if s := named(r.props, w.props, "property"); s != "" {
		return s
	}
	if s := named(r.labels, w.labels, "label"); s != "" {
		return s
	}
	for _, d := range w.deletes {
		for _, e := range r.exists {
			if d.ent&e.ent != 0 && !same(d.v, e.v) {
				return "entities"
			}
		}
	}
	return ""
}

func colon(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " :" + strings.Join(names, ":")
}

func contains(names []string, n string) bool {
	for _, x := range names {
		if x == n {
			return true
		}
	}
	return false
}

func subset(a, b []string) bool {
	for _, x := range a {
		if !contains(b, x) {
			return false
		}
	}
	return true
}

func overlap(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	for _, x := range a {
		if contains(b, x) {
			return true
		}
	}
	return false
}

// ---- reading -----------------------------------------------------------------------------------------------------------

func entOf(t expr.Type) entKind {
	var e entKind
	if t.Kinds.Has(value.Node) {
		e |= aNode
	}
	if t.Kinds.Has(value.Rel) {
		e |= aRel
	}
	return e
}

// target is the variable that an expression names, and what it may be.
func (p *planner) target(e expr.Expr) (int, entKind) {
	if c, ok := e.(*expr.Col); ok {
		if v := p.vars[c.Slot]; v != nil && !v.Lambda {
			return v.Root.Slot, p.entities(c)
		}
	}
	return unknownVar, p.entities(e)
}

// entities says which entities a value of e may be.
func (p *planner) entities(e expr.Expr) entKind {
	if e == nil {
		return 0
	}
	k := entOf(e.Type())
	if k != 0 && bind.Plain(e, func(slot int) bool { v := p.vars[slot]; return v != nil && v.Plain }) {
		return 0
	}
	return k
}

// expr adds what an expression reads of the graph.
func (a *access) expr(p *planner, e expr.Expr) {
	if e == nil {
		return
	}
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Prop:
			if v, ent := p.target(x.Of); ent != 0 {
				a.props = append(a.props, namedFP{x.Key, v, ent})
			}
		case *expr.Index:
			if v, ent := p.target(x.X); ent != 0 && x.I.Type().May(expr.TString.Kinds) {
				name := anyName
				if k, ok := x.I.(*expr.Const); ok && k.V.Kind() == value.String {
					name = k.V.Str()
				}
				a.props = append(a.props, namedFP{name, v, ent})
			}
		case *expr.HasLabels:
			v, ent := p.target(x.X)
			if ent&aNode != 0 {
				for _, l := range x.Labels {
					a.labels = append(a.labels, namedFP{l, v, aNode})
				}
			}
		case *expr.MapProj:
			if v, ent := p.target(x.X); ent != 0 {
				for _, it := range x.Items {
					if it.All {
						a.props = append(a.props, namedFP{anyName, v, ent})
					} else if it.Val == nil {
						a.props = append(a.props, namedFP{it.Key, v, ent})
					}
				}
			}
		case *expr.Func:
			if x.Def.Vol != expr.Reads {
				break
			}
			for _, arg := range x.Args {
				v, ent := p.target(arg)
				if ent == 0 {
					continue
				}
				switch strings.ToLower(x.Def.Name) {
				case "labels", "::haslabels":
					a.labels = append(a.labels, namedFP{anyName, v, aNode})
				case "keys", "properties":
					a.props = append(a.props, namedFP{anyName, v, ent})
				case "type", "startnode", "endnode", "id", "elementid":
				default:
					a.labels = append(a.labels, namedFP{anyName, v, aNode})
					a.props = append(a.props, namedFP{anyName, v, ent})
					if ent&aNode != 0 {
						a.rels = append(a.rels, relFP{})
					}
				}
			}
		case *expr.Subplan:
			if q, ok := x.Plan.(*bind.Subquery); ok {
				for _, part := range q.Query.Parts {
					for _, c := range part.Clauses {
						e := p.effects(c)
						a.merge(&e.r)
					}
				}
			}
		}
		return true
	})
}

func (a *access) exprs(p *planner, es []expr.Expr) {
	for _, e := range es {
		a.expr(p, e)
	}
}

func (a *access) merge(b *access) {
	a.scans = append(a.scans, b.scans...)
	a.rels = append(a.rels, b.rels...)
	a.props = append(a.props, b.props...)
	a.labels = append(a.labels, b.labels...)
	a.exists = append(a.exists, b.exists...)
}

func (w *changes) merge(b *changes) {
	w.nodes = append(w.nodes, b.nodes...)
	w.rels = append(w.rels, b.rels...)
	w.props = append(w.props, b.props...)
	w.labels = append(w.labels, b.labels...)
	w.deletes = append(w.deletes, b.deletes...)
	w.rows = append(w.rows, b.rows...)
	w.merged = append(w.merged, b.merged...)
	w.detach = w.detach || b.detach
	w.all = w.all || b.all
}

// pattern adds what matching a pattern reads. A vertex that hangs on a relationship exists because that does.
func (a *access) pattern(p *planner, pt *bind.Pattern, extra []expr.Expr) {
	preds := append(append([]expr.Expr(nil), pt.Preds...), extra...)
	attached := map[*bind.Var]bool{}
	for _, r := range pt.Rels {
		if !r.VarLen || r.Min > 0 {
			attached[r.Left], attached[r.Right] = true, true
		}
		a.rels = append(a.rels, relFP{r.Types})
		if r.Sel != nil {
			a.pattern(p, &r.Sel.Pattern, nil)
			continue
		}
		a.exprs(p, r.Inner())
	}
	for _, n := range pt.Nodes {
		if n.Bound || attached[n.Var] {
			continue
		}
		var s scanFP
		for _, e := range preds {
			if h, ok := e.(*expr.HasLabels); ok && !h.Any {
				if c, ok := h.X.(*expr.Col); ok && c.Slot == n.Var.Slot {
					s.labels = append(s.labels, h.Labels...)
				}
			}
		}
		a.scans = append(a.scans, s)
	}
	a.exprs(p, preds)
}

// encode adds what turning a value into a result reads: every label and property of the entities in it.
func (a *access) encode(p *planner, v *bind.Var) {
	t := v.Type
	if t.Is(expr.TEntity.Kinds) {
		a.props = append(a.props, namedFP{anyName, v.Root.Slot, entOf(t)})
		if t.Kinds.Has(value.Node) {
			a.labels = append(a.labels, namedFP{anyName, v.Root.Slot, aNode})
		}
		return
	}
	if !v.Plain && bind.MayHoldEntity(t) {
		a.props = append(a.props, namedFP{anyName, unknownVar, anEntity})
		a.labels = append(a.labels, namedFP{anyName, unknownVar, aNode})
	}
}

// ---- clauses -----------------------------------------------------------------------------------------------------------

// effects computes the footprint of a clause.
func (p *planner) effects(c bind.Clause) *effects {
	e := &effects{name: c.Origin().Name}
	switch c := c.(type) {
	case *bind.Match:
		e.r.pattern(p, &c.Pattern, c.Where)
	case *bind.Unwind:
		e.r.expr(p, c.List)
	case *bind.LoadCSV:
		e.r.expr(p, c.From)
	case *bind.Projection:
		for _, k := range c.Keys {
			e.r.expr(p, k.Expr)
		}
		for _, a := range c.Aggs {
			e.r.expr(p, a.Call)
		}
		for _, it := range c.Items {
			e.r.expr(p, it.Expr)
		}
		for _, s := range c.OrderBy {
			e.r.expr(p, s.Expr)
		}
		e.r.exprs(p, c.Where)
	case *bind.Create:
		p.createEffects(e, c.Items, c.Fresh)
	case *bind.Set:
		p.setEffects(e, c.Items, false)
	case *bind.Delete:
		for _, x := range c.Exprs {
			e.r.expr(p, x)
			v, ent := p.target(x)
			if _, ok := x.(*expr.Col); !ok || x.Type().Kinds&(expr.TPath.Kinds|expr.TList.Kinds) != 0 {
				v = unknownVar
			}
			if bind.MayHoldEntity(x.Type()) && ent == 0 {
				ent = anEntity
			}
			e.w.deletes = append(e.w.deletes, entFP{v, ent})
			e.w.rows = append(e.w.rows, entFP{v, ent})
		}
		if c.Detach {
			e.w.detach = true
			e.w.deletes = append(e.w.deletes, entFP{unknownVar, aRel})
			e.w.rows = append(e.w.rows, entFP{unknownVar, aRel})
			e.o.rels = append(e.o.rels, relFP{})
		}
	case *bind.Merge:
		e.o.pattern(p, &c.Pattern, nil)
		p.createEffects(e, c.Items, c.Fresh)
		e.o.merge(&e.r)
		p.setEffects(e, c.OnCreate, true)
		p.setEffects(e, c.OnMatch, true)
		// A later row may match what an earlier one made: the rows are no fresh ones.
		for _, it := range c.Items {
			ent := aNode
			if it.Rel {
				ent = aRel
			}
			e.w.merged = append(e.w.merged, entFP{it.Var.Root.Slot, ent})
		}
	case *bind.Foreach:
		e.r.expr(p, c.List)
		for _, k := range c.Body {
			b := p.effects(k)
			e.r.merge(&b.r)
			e.o.merge(&b.o)
			e.w.merge(&b.w)
		}
		// A body's rows are those of the list, distinct on nothing.
		blur(&e.w)
		blurReads(&e.r)
		blurReads(&e.o)
	case *bind.CallProc:
		for _, a := range c.Args {
			e.r.expr(p, a)
		}
		if c.Proc.Writes {
			e.w.all = true
		}
		e.r.scans = append(e.r.scans, scanFP{})
		e.r.rels = append(e.r.rels, relFP{})
		e.r.props = append(e.r.props, namedFP{anyName, unknownVar, anEntity})
	case *bind.CallSub:
		for _, part := range c.Body.Parts {
			for _, k := range part.Clauses {
				b := p.effects(k)
				e.r.merge(&b.r)
				e.o.merge(&b.o)
				e.w.merge(&b.w)
			}
		}
		if c.Writes {
			blur(&e.w)
			blurReads(&e.r)
			blurReads(&e.o)
		}
	}
	return e
}

func blur(w *changes) {
	for i := range w.props {
		w.props[i].v = unknownVar
	}
	for i := range w.labels {
		w.labels[i].v = unknownVar
	}
	for i := range w.deletes {
		w.deletes[i].v = unknownVar
	}
	for i := range w.rows {
		w.rows[i].v = unknownVar
	}
	for i := range w.merged {
		w.merged[i].v = unknownVar
	}
}

func blurReads(a *access) {
	for i := range a.props {
		a.props[i].v = unknownVar
	}
	for i := range a.labels {
		a.labels[i].v = unknownVar
	}
	for i := range a.exists {
		a.exists[i].v = unknownVar
	}
}

func (p *planner) createEffects(e *effects, items []bind.CreateItem, fresh []*bind.Var) {
	made := map[*bind.Var]bool{}
	for _, v := range fresh {
		made[v] = true
	}
	for _, it := range items {
		for _, pr := range it.Props {
			e.r.expr(p, pr.Val)
		}
		if it.Map != nil {
			e.r.expr(p, it.Map)
			if ent := p.entities(it.Map); ent != 0 {
				v, _ := p.target(it.Map)
				e.r.props = append(e.r.props, namedFP{anyName, v, ent})
			}
		}
		e.r.expr(p, it.Names)
		if !it.Rel {
			e.w.nodes = append(e.w.nodes, scanFP{it.Labels})
			if it.Names != nil { // whatever a later clause looks for
				e.w.labels = append(e.w.labels, namedFP{anyName, unknownVar, aNode})
			}
			continue
		}
		types := []string{it.Type}
		if it.Names != nil {
			types = nil
		}
		e.w.rels = append(e.w.rels, relFP{types})
		for _, end := range []*bind.Var{it.Start, it.End} {
			if !made[end] {
				e.r.exists = append(e.r.exists, entFP{end.Root.Slot, aNode})
				// An end must exist when the relationship is made, whatever the clause's command id: a later row's too.
				e.o.exists = append(e.o.exists, entFP{end.Root.Slot, aNode})
			}
		}
	}
	// What the CREATE itself made is read in its own row only.
	mine := map[int]bool{}
	for _, v := range fresh {
		mine[v.Root.Slot] = true
	}
	e.r.props = without(e.r.props, mine)
	e.r.labels = without(e.r.labels, mine)
}

func without(fs []namedFP, mine map[int]bool) []namedFP {
	out := fs[:0]
	for _, f := range fs {
		if !mine[f.v] {
			out = append(out, f)
		}
	}
	return out
}

// setEffects: SET reads with its own effects visible; the reads count as R too, since the first row sees what earlier clauses did.
func (p *planner) setEffects(e *effects, items []bind.SetItem, merge bool) {
	var a access
	for _, it := range items {
		a.expr(p, it.Val)
		a.expr(p, it.KeyExpr)
		if it.Var == nil {
			a.expr(p, it.Target)
		}
		v, ent := p.target(it.Target)
		if it.Var == nil {
			v = unknownVar
		}
		switch it.Kind {
		case bind.SetProp:
			e.w.props = append(e.w.props, namedFP{it.Key, v, ent})
		case bind.SetMap, bind.AddMap:
			if from := p.entities(it.Val); from != 0 {
				fv, _ := p.target(it.Val)
				a.props = append(a.props, namedFP{anyName, fv, from})
			}
			if m, ok := it.Val.(*expr.MapLit); ok && it.Kind == bind.AddMap {
				for _, k := range m.Keys {
					e.w.props = append(e.w.props, namedFP{k, v, ent})
				}
				break
			}
			e.w.props = append(e.w.props, namedFP{anyName, v, ent})
		case bind.SetDynamic:
			e.w.props = append(e.w.props, namedFP{anyName, v, ent})
		case bind.AddLabels, bind.RemoveLabels:
			for _, l := range it.Labels {
				e.w.labels = append(e.w.labels, namedFP{l, v, aNode})
			}
			if it.KeyExpr != nil {
				e.w.labels = append(e.w.labels, namedFP{anyName, v, aNode})
			}
		}
		e.w.rows = append(e.w.rows, entFP{v, ent})
		a.exists = append(a.exists, entFP{v, ent}) // SET on what was deleted raises
	}
	e.o.merge(&a)
	if !merge {
		e.r.merge(&a)
	}
}

// rowByRow reports whether the items of a SET must run one row and one item at a time: one of them reads what the clause writes.
func (p *planner) rowByRow(items []bind.SetItem, distinct func(int) bool) bool {
	var all effects
	p.setEffects(&all, items, true)
	for j := range items {
		var a access
		a.expr(p, items[j].Val)
		a.expr(p, items[j].KeyExpr)
		if items[j].Var == nil {
			a.expr(p, items[j].Target)
		}
		if from := p.entities(items[j].Val); from != 0 && (items[j].Kind == bind.SetMap || items[j].Kind == bind.AddMap) {
			fv, _ := p.target(items[j].Val)
			a.props = append(a.props, namedFP{anyName, fv, from})
		}
		if readWrite(&all.w, &a, func(x, y int) bool { return false }) == "" {
			continue
		}
		for i := range items {
			var w effects
			p.setEffects(&w, items[i:i+1], true)
			same := func(x, y int) bool {
				// The item's own row, read before it is written: no other row touches the entity.
				return j <= i && x == y && x != unknownVar && distinct(x)
			}
			if readWrite(&w.w, &a, same) != "" {
				return true
			}
		}
	}
	return false
}

// writesStore reports whether a clause writes.
func writesStore(c bind.Clause) bool {
	switch c := c.(type) {
	case *bind.Create, *bind.Set, *bind.Delete, *bind.Merge, *bind.Foreach:
		return true
	case *bind.CallProc:
		return c.Proc.Writes
	case *bind.CallSub:
		return c.Writes
	}
	return false
}
