package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// PrintOptions say what [Query.Print] shows beside the tree.
type PrintOptions struct {
	Rows bool // estimates
	CIDs bool // command ids
}

// String draws the plan.
func (q *Query) String() string { return q.Print(PrintOptions{}) }

// Print draws the plan as a tree, the last operator first.
func (q *Query) Print(o PrintOptions) string {
	var b strings.Builder
	q.Tree(nil).draw(&b, "", "", func(t *Tree) {
		if o.Rows {
			fmt.Fprintf(&b, "  ~%s rows", number(t.Est))
		}
		if o.CIDs {
			b.WriteString(cidText(t.node))
		}
	})
	return b.String()
}

type printer struct{ q *Query }

// hidden: the single row that everything starts from says nothing.
func (p *printer) hidden(n Node) bool {
	_, ok := n.(*SingleRow)
	return ok
}

func cidText(n Node) string {
	c := n.Info().CID
	switch n.(type) {
	case *Create, *Set, *Delete, *Merge:
		own := ""
		if c.Own {
			own = " own"
		}
		return fmt.Sprintf("  [seg %d read %d write %d%s]", c.Seg, c.Read, c.Write, own)
	case *Eager:
		return fmt.Sprintf("  [opens seg %d]", n.(*Eager).Opens)
	}
	return fmt.Sprintf("  [seg %d read %d]", c.Seg, c.Read)
}

func number(f float64) string {
	switch {
	case f >= 10 || f == float64(int64(f)):
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 0.01:
		return strconv.FormatFloat(f, 'f', 2, 64)
	}
	return strconv.FormatFloat(f, 'g', 1, 64)
}

// ident quotes a name where Cypher needs it.
func ident(s string) string {
	for i, r := range s {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9' {
			continue
		}
		return "`" + strings.ReplaceAll(s, "`", "``") + "`"
	}
	if s == "" {
		return "``"
	}
	return s
}

// name prints a variable; anonymous ones have none.
func (p *printer) name(s Slot) string {
	if s == NoSlot || s >= len(p.q.Slots) {
		return ""
	}
	i := &p.q.Slots[s]
	switch {
	case i.Anon && strings.HasPrefix(i.Name, "anon_"):
		return ""
	case i.Kind == AnyValue:
		return strings.Join(strings.Fields(i.Name), " ") // often the text of an expression
	}
	return ident(i.Name)
}

func (p *printer) names(ss []Slot) string {
	var out []string
	for _, s := range ss {
		if n := p.name(s); n != "" {
			out = append(out, n)
		}
	}
	return strings.Join(out, ", ")
}

func labels(ls []string, sep string) string {
	if len(ls) == 0 {
		return ""
	}
	q := make([]string, len(ls))
	for i, l := range ls {
		q[i] = ident(l)
	}
	return ":" + strings.Join(q, sep)
}

// noneOf prints a label expression: ":!(A|B)".
func noneOf(ls []string) string {
	switch len(ls) {
	case 0:
		return ""
	case 1:
		return ":!" + ident(ls[0])
	}
	return ":!(" + labels(ls, "|")[1:] + ")"
}

func (p *printer) pattern(from Slot, rel Slot, types []string, length string, dir store.Direction, to Slot) string {
	in := p.name(rel) + labels(types, "|") + length
	if in != "" || length != "" {
		in = "[" + in + "]"
	}
	l, r := "-", "-"
	switch dir {
	case store.Out:
		r = "->"
	case store.In:
		l = "<-"
	}
	return "(" + p.name(from) + ")" + l + in + r + "(" + p.name(to) + ")"
}

func length(lo, hi int) string {
	switch {
	case hi < 0 && lo == 1:
		return "*"
	case hi < 0:
		return fmt.Sprintf("*%d..", lo)
	case lo == hi:
		return fmt.Sprintf("*%d", lo)
	}
	return fmt.Sprintf("*%d..%d", lo, hi)
}

// quantifier prints how often a round is walked.
func quantifier(lo, hi int) string {
	switch {
	case hi < 0 && lo == 0:
		return "*"
	case hi < 0 && lo == 1:
		return "+"
	case hi < 0:
		return fmt.Sprintf("{%d,}", lo)
	case lo == hi:
		return fmt.Sprintf("{%d}", lo)
	}
	return fmt.Sprintf("{%d,%d}", lo, hi)
}

// search prints a PathSearch with its segments as they are walked.
func (p *printer) search(n *PathSearch) (string, string) {
	name, d := "PathSearch", "SHORTEST 1 "
	if n.Count != nil {
		d = "SHORTEST " + text(n.Count) + " "
	}
	if n.Kind == GroupsByLength {
		d += "GROUPS "
	}
	if n.Into {
		name += "Into"
	}
	if s := p.name(n.Path); s != "" {
		d += s + " = "
	}
	d += "(" + p.name(n.From) + ")"
	for i := range n.Segs {
		s := &n.Segs[i]
		if i > 0 {
			d += "("
			if s.Gate != nil {
				d += p.name(s.GateSlot) + " WHERE " + text(s.Gate)
			}
			d += ")"
		}
		d += p.round(&s.Iteration) + quantifier(s.Min, s.Max)
	}
	d += "(" + p.name(n.To) + ")"
	if n.Whole != nil {
		d += " WHERE " + text(n.Whole)
	}
	return name, d
}

// round prints one round of a quantified path pattern, in the order in which it is walked.
func (p *printer) round(it *Iteration) string {
	out, from, preds := "(", it.First, []string(nil)
	for i, h := range it.Hops {
		hop := p.pattern(from, h.Rel, h.Types, "", h.Dir, h.Node)
		if i > 0 {
			hop = hop[strings.IndexByte(hop, ')')+1:]
		}
		out += hop
		if h.Pred != nil {
			preds = append(preds, text(h.Pred))
		}
		from = h.Node
	}
	if len(preds) > 0 {
		out += " WHERE " + strings.Join(preds, " AND ")
	}
	return out + ")"
}

func exprList(es []expr.Expr, sep string) string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = text(e)
	}
	return strings.Join(out, sep)
}

// text prints an expression; made-up names lose their mark.
func text(e expr.Expr) string {
	if e == nil {
		return ""
	}
	return expr.String(e)
}

func (p *printer) items(is []Item) string {
	var out []string
	for _, it := range is {
		t := text(it.Expr)
		if n := p.name(it.Slot); n != "" && n != t {
			t += " AS " + n
		}
		if p.q.Slots[it.Slot].Kind == HintWord {
			continue
		}
		out = append(out, t)
	}
	return strings.Join(out, ", ")
}

func (p *printer) sortKeys(ks []SortKey) string {
	var out []string
	for _, k := range ks {
		t := p.name(k.Slot)
		if k.Desc {
			t += " DESC"
		}
		out = append(out, t)
	}
	return strings.Join(out, ", ")
}

func (p *printer) props(ps []Prop) string {
	if len(ps) == 0 {
		return ""
	}
	var out []string
	for _, x := range ps {
		out = append(out, ident(x.Key)+": "+text(x.Val))
	}
	return " {" + strings.Join(out, ", ") + "}"
}

func (p *printer) create(is []CreateItem) string {
	var out []string
	for _, it := range is {
		m := p.props(it.Props)
		if it.Map != nil {
			m = " " + text(it.Map)
		}
		if it.Rel {
			typ := ":" + ident(it.Type)
			if it.Names != nil {
				typ = computed(it.Names)
			}
			out = append(out, "("+p.name(it.Start)+")-["+p.name(it.Slot)+typ+m+"]->("+p.name(it.End)+")")
		} else {
			out = append(out, "("+strings.TrimSpace(p.name(it.Slot)+labels(it.Labels, ":")+computed(it.Names)+m)+")")
		}
	}
	return strings.Join(out, ", ")
}

// computed prints labels or a type whose names an expression gives.
func computed(names expr.Expr) string {
	f, ok := names.(*expr.Func)
	if !ok {
		return ""
	}
	out := ""
	for _, a := range f.Args {
		out += ":$(" + text(a) + ")"
	}
	return out
}

func (p *printer) sets(is []SetItem) string {
	var out []string
	for _, it := range is {
		t := p.name(it.Slot)
		if it.Slot == NoSlot {
			t = text(it.Target)
		}
		switch it.Kind {
		case SetProp:
			out = append(out, t+"."+ident(it.Key)+" = "+text(it.Val))
		case SetDynamic:
			out = append(out, t+"["+text(it.KeyExp)+"] = "+text(it.Val))
		case SetMap:
			out = append(out, t+" = "+text(it.Val))
		case AddMap:
			out = append(out, t+" += "+text(it.Val))
		case AddLabels:
			out = append(out, t+labels(it.Labels, ":")+computed(it.KeyExp))
		case RemoveLabels:
			out = append(out, "remove "+t+labels(it.Labels, ":")+computed(it.KeyExp))
		}
	}
	return strings.Join(out, ", ")
}

var applyNames = [...]string{Inner: "Apply", Optional: "OptionalApply", Semi: "SemiApply", Anti: "AntiSemiApply", LetSemi: "LetSemiApply", RollUp: "RollUpApply", LetCount: "LetCountApply", Unit: "UnitApply"}

// describe names an operator and its details.
func (p *printer) describe(n Node) (string, string) {
	switch n := n.(type) {
	case *SingleRow:
		return "SingleRow", ""
	case *Argument:
		return "Argument", p.names(n.Args)
	case *AllNodesScan:
		return "AllNodesScan", "(" + p.name(n.Node) + noneOf(n.But) + ")"
	case *LabelScan:
		return "LabelScan", "(" + p.name(n.Node) + labels(n.Labels, "|") + ")"
	case *RelTypeScan:
		return "RelTypeScan", p.pattern(n.Start, n.Rel, n.Types, "", n.Dir, n.End)
	case *IndexSeek:
		return p.seek(n)
	case *ByID:
		op, fn := "=", "id"
		if n.In {
			op = "IN"
		}
		if n.Element {
			fn = "elementId"
		}
		return "ByID", fmt.Sprintf("%s(%s) %s %s", fn, p.name(n.Node), op, text(n.ID))
	case *CountStore:
		l := ""
		if n.Label != "" {
			l = ":" + ident(n.Label)
		}
		if n.Entity == schema.Vertex {
			return "CountStore", "(" + l + ")"
		}
		arrow := "->()"
		if n.Both {
			arrow = "-()"
		}
		return "CountStore", "()-[" + l + "]" + arrow
	case *Expand:
		name := "Expand"
		if n.Optional {
			name = "OptionalExpand"
		}
		if n.Into {
			name += "Into"
		}
		d := p.pattern(n.From, n.Rel, n.Types, "", n.Dir, n.To)
		if n.Pred != nil {
			d += " WHERE " + text(n.Pred)
		}
		return name, d
	case *ProjectEndpoints:
		return "ProjectEndpoints", p.pattern(n.Start, n.Rel, n.Types, "", n.Dir, n.End)
	case *VarExpand:
		name := "VarExpand"
		if n.Mode == Endpoints {
			name = "PruningVarExpand"
		}
		if n.Iter != nil {
			name = "RepeatTrail"
		}
		if n.Into {
			name += "Into"
		}
		if n.Iter != nil {
			return name, "(" + p.name(n.From) + ")" + p.round(n.Iter) + quantifier(n.Min, n.Max) + "(" + p.name(n.To) + ")"
		}
		rel := n.Rels
		if n.BoundRels != NoSlot {
			rel = n.BoundRels
		}
		d := p.pattern(n.From, rel, n.Types, length(n.Min, n.Max), n.Dir, n.To)
		if n.RelPred != nil {
			d += " WHERE " + text(n.RelPred)
		}
		return name, d
	case *PathSearch:
		return p.search(n)
	case *ShortestPath:
		name := "ShortestPath"
		if n.All {
			name = "AllShortestPaths"
		}
		d := p.pattern(n.From, n.Rels, n.Types, length(n.Min, n.Max), n.Dir, n.To)
		if n.Path != NoSlot {
			d = p.name(n.Path) + " = " + d
		}
		var preds []string
		for _, e := range []expr.Expr{n.RelPred, n.NodePred} {
			if e != nil {
				preds = append(preds, text(e))
			}
		}
		if len(preds) > 0 {
			d += " WHERE " + strings.Join(preds, " AND ")
		}
		return name, d
	case *ProjectPath:
		return "ProjectPath", p.name(n.Path)
	case *Filter:
		return "Filter", exprList(n.Preds, " AND ")
	case *Project:
		return "Project", p.items(n.Items)
	case *PropFetch:
		var keys []string
		for _, r := range n.Reads {
			keys = append(keys, p.q.Slots[n.Of].Name+"."+ident(r.Key))
		}
		return "PropFetch", strings.Join(keys, ", ")
	case *LoadCSV:
		return "LoadCSV", text(n.From) + " AS " + p.name(n.Var)
	case *Unwind:
		return "Unwind", text(n.List) + " AS " + p.name(n.Var)
	case *Aggregate:
		var out []string
		if k := p.items(n.Keys); k != "" {
			out = append(out, k)
		}
		for _, a := range n.Aggs {
			t := text(a.Call)
			if nm := p.name(a.Slot); nm != "" && !p.q.Slots[a.Slot].Anon {
				t += " AS " + nm
			}
			out = append(out, t)
		}
		return "Aggregate", strings.Join(out, ", ")
	case *Distinct:
		return "Distinct", p.items(n.Keys)
	case *Sort:
		return "Sort", p.sortKeys(n.Keys)
	case *TopN:
		d := p.sortKeys(n.Keys) + " LIMIT " + text(n.Limit)
		if n.Ties {
			d += " GROUPS"
		}
		if n.Skip != nil {
			d += " SKIP " + text(n.Skip)
		}
		return "TopN", d
	case *Skip:
		return "Skip", text(n.Count)
	case *Limit:
		if n.Exhaustive {
			return "ExhaustiveLimit", text(n.Count)
		}
		return "Limit", text(n.Count)
	case *Union:
		return "Union", p.names(n.Cols)
	case *Apply:
		d := ""
		if n.PerRow {
			d = "row by row"
		}
		if n.Slot != NoSlot {
			d = strings.TrimSpace(d + " " + p.name(n.Slot))
		}
		return applyNames[n.Kind], d
	case *TransactionApply:
		d := "OF " + strconv.Itoa(DefaultBatchRows) + " ROWS"
		if n.BatchRows != nil {
			d = "OF " + text(n.BatchRows) + " ROWS"
		}
		d += [...]string{bind.OnErrorFail: "", bind.OnErrorContinue: " ON ERROR CONTINUE", bind.OnErrorBreak: " ON ERROR BREAK"}[n.OnError]
		if n.PerRow {
			d += ", row by row"
		}
		if n.Slot != NoSlot {
			d += " REPORT STATUS AS " + p.name(n.Slot)
		}
		return "TransactionApply", d
	case *CartesianProduct:
		return "CartesianProduct", ""
	case *HashJoin:
		var ks []string
		for _, k := range n.Keys {
			l, r := text(k.Left), text(k.Right)
			if a, ok := k.Left.(*expr.Col); ok {
				if b, ok := k.Right.(*expr.Col); ok && a.Slot == b.Slot {
					ks = append(ks, l) // the vertex that both sides have
					continue
				}
			}
			ks = append(ks, l+" = "+r)
		}
		return [...]string{JoinInner: "HashJoin", JoinLeft: "LeftHashJoin", JoinSemi: "SemiHashJoin", JoinAnti: "AntiHashJoin"}[n.Kind], strings.Join(ks, " AND ")
	case *Eager:
		return "Eager", n.Reason
	case *Create:
		return "Create", p.create(n.Items)
	case *Lock:
		var vs []string
		for _, t := range n.Targets {
			vs = append(vs, p.name(t.Slot))
		}
		return "Lock", strings.Join(vs, ", ")
	case *Set:
		name := "Set"
		if n.Remove {
			name = "Remove"
		}
		d := p.sets(n.Items)
		if n.RowByRow {
			d += " (row by row)"
		}
		return name, d
	case *Delete:
		name := "Delete"
		if n.Detach {
			name = "DetachDelete"
		}
		return name, exprList(n.Exprs, ", ")
	case *Merge:
		d := p.create(n.Create)
		if len(n.OnCreate) > 0 {
			d += " ON CREATE " + p.sets(n.OnCreate)
		}
		if len(n.OnMatch) > 0 {
			d += " ON MATCH " + p.sets(n.OnMatch)
		}
		return "Merge", d
	case *Foreach:
		d := p.name(n.Var) + " IN " + text(n.List)
		if n.Opens >= 0 {
			d += " (one by one)"
		}
		return "Foreach", d
	case *ProcedureCall:
		var ys []string
		for _, y := range n.Yields {
			t := y.Field
			if nm := p.name(y.Slot); nm != t {
				t += " AS " + nm
			}
			ys = append(ys, t)
		}
		d := n.Name + "(" + exprList(n.Args, ", ") + ")"
		if len(ys) > 0 {
			d += " YIELD " + strings.Join(ys, ", ")
		}
		return "ProcedureCall", d
	case *SchemaCommand:
		names := [...]string{CreateIndex: "CreateIndex", DropIndex: "DropIndex", CreateConstraint: "CreateConstraint", DropConstraint: "DropConstraint", CreateGraph: "CreateGraph", DropGraph: "DropGraph"}
		d := n.Name
		switch n.Kind {
		case CreateIndex:
			d = strings.TrimSpace(d + " " + ident(n.Index.Label) + "(" + strings.Join(n.Index.Keys, ", ") + ")")
		case CreateConstraint:
			d = strings.TrimSpace(d + " " + ident(n.Constraint.Label) + "(" + strings.Join(n.Constraint.Keys, ", ") + ")")
		}
		return names[n.Kind], d
	case *Show:
		names := [...]string{ShowIndexes: "ShowIndexes", ShowConstraints: "ShowConstraints", ShowFunctions: "ShowFunctions", ShowProcedures: "ShowProcedures", ShowGraphs: "ShowDatabases", ShowSettings: "ShowSettings",
			ShowTransactions: "ShowTransactions", TerminateTransactions: "TerminateTransactions", ShowUsers: "ShowUsers"}
		return names[n.Kind], ""
	case *ProduceResults:
		return "ProduceResults", p.names(n.Cols)
	case *EmptyRows:
		return "EmptyRows", ""
	case *External:
		return "Rows", n.Source.String()
	case *Values:
		return "Values", fmt.Sprintf("%d rows", len(n.Rows))
	case *LoopJoin:
		names := [...]string{LoopInner: "LoopJoin", LoopLeft: "LoopLeftJoin", LoopRight: "LoopRightJoin", LoopFull: "LoopFullJoin"}
		if n.Pred == nil {
			return names[n.Kind], ""
		}
		return names[n.Kind], text(n.Pred)
	}
	return fmt.Sprintf("%T", n), ""
}

func (p *printer) seek(n *IndexSeek) (string, string) {
	name := "IndexSeek"
	if n.Unique {
		name = "UniqueSeek"
	}
	d := p.name(n.Node)
	if d != "" {
		d += " "
	}
	d += ":" + ident(n.Label) + "("
	if n.Entity == schema.Edge {
		d = "[" + p.name(n.Node) + ":" + ident(n.Label) + "]("
	}
	for i, k := range n.Keys {
		if i > 0 {
			d += ", "
		}
		d += ident(k)
	}
	d += ")"
	sep := " "
	for i, e := range n.Eq {
		op := "= "
		if i == n.In {
			op = "IN "
		}
		d += sep + op + text(e)
		sep = ", "
	}
	if n.Prefix != nil {
		d += sep + "STARTS WITH " + text(n.Prefix)
	}
	if n.Lower != nil {
		op := "> "
		if n.LowerInc {
			op = ">= "
		}
		d += sep + op + text(n.Lower)
		sep = " AND "
	}
	if n.Upper != nil {
		op := "< "
		if n.UpperInc {
			op = "<= "
		}
		d += sep + op + text(n.Upper)
	}
	if len(n.Eq) == 0 && n.Prefix == nil && n.Lower == nil && n.Upper == nil {
		name = "IndexScan"
	}
	switch {
	case n.Ordered && n.Descend:
		d += " in descending order"
	case n.Ordered:
		d += " in order"
	}
	return name, d
}
