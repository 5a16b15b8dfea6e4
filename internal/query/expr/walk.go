package expr

import (
	"strconv"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/value"
)

// children returns the operands of a node in evaluation order, without nil.
func children(e Expr) []Expr {
	switch e := e.(type) {
	case *Prop:
		return []Expr{e.Of}
	case *Unary:
		return []Expr{e.X}
	case *Binary:
		return []Expr{e.L, e.R}
	case *Chain:
		return e.Args
	case *And:
		return e.Args
	case *Or:
		return e.Args
	case *Index:
		return []Expr{e.X, e.I}
	case *Slice:
		return nonNil(e.X, e.From, e.To)
	case *Case:
		out := nonNil(e.Subject)
		for _, w := range e.Whens {
			out = append(out, w.Cond, w.Then)
		}
		return append(out, nonNil(e.Else)...)
	case *Func:
		return e.Args
	case *Agg:
		return e.Args
	case *ListLit:
		return e.Elems
	case *MapLit:
		return e.Vals
	case *ListComp:
		return nonNil(e.List, e.Pred, e.Map)
	case *Quantifier:
		return nonNil(e.List, e.Pred)
	case *Reduce:
		return []Expr{e.Init, e.List, e.Body}
	case *HasLabels:
		return []Expr{e.X}
	case *IsType:
		return []Expr{e.X}
	case *MapProj:
		out := []Expr{e.X}
		for _, it := range e.Items {
			if it.Val != nil {
				out = append(out, it.Val)
			}
		}
		return out
	case *MakePath:
		return e.Elems
	}
	return nil
}

func nonNil(es ...Expr) []Expr {
	out := make([]Expr, 0, len(es))
	for _, e := range es {
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}

// Walk calls f for e and everything below it in evaluation order, until f returns false for a node (its children are skipped).
func Walk(e Expr, f func(Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	for _, k := range children(e) {
		Walk(k, f)
	}
}

// FreeSlots lists the slots of the row that an expression reads, hints included, each once; variables bound inside are not among them.
func FreeSlots(e Expr) []int {
	var out []int
	seen := map[int]bool{}
	freeSlots(e, map[int]int{}, func(s int) {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	})
	return out
}

func freeSlots(e Expr, bound map[int]int, add func(int)) {
	use := func(s int) {
		if s >= 0 && bound[s] == 0 {
			add(s)
		}
	}
	under := func(f func(), slots ...int) {
		for _, s := range slots {
			bound[s]++
		}
		f()
		for _, s := range slots {
			bound[s]--
		}
	}
	switch e := e.(type) {
	case nil:
	case *Col:
		use(e.Slot)
		if e.Hint > 0 {
			use(e.Hint)
		}
	case *Subplan:
		for _, s := range e.Free {
			use(s)
		}
	case *ListComp:
		freeSlots(e.List, bound, add)
		under(func() { freeSlots(e.Pred, bound, add); freeSlots(e.Map, bound, add) }, e.Slot)
	case *Quantifier:
		freeSlots(e.List, bound, add)
		under(func() { freeSlots(e.Pred, bound, add) }, e.Slot)
	case *Reduce:
		freeSlots(e.Init, bound, add)
		freeSlots(e.List, bound, add)
		under(func() { freeSlots(e.Body, bound, add) }, e.AccSlot, e.Slot)
	default:
		for _, k := range children(e) {
			freeSlots(k, bound, add)
		}
	}
}

// Rewrite returns e with every node replaced by f(node), children first. Unchanged nodes are shared.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	if e == nil {
		return nil
	}
	one := func(p *Expr) bool {
		if *p == nil {
			return false
		}
		n := Rewrite(*p, f)
		changed := n != *p
		*p = n
		return changed
	}
	many := func(p *[]Expr) bool {
		var out []Expr
		for i, x := range *p {
			n := Rewrite(x, f)
			if n != x && out == nil {
				out = append([]Expr(nil), *p...)
			}
			if out != nil {
				out[i] = n
			}
		}
		if out == nil {
			return false
		}
		*p = out
		return true
	}
	any := func(bs ...bool) bool {
		for _, b := range bs {
			if b {
				return true
			}
		}
		return false
	}
	switch x := e.(type) {
	case *Prop:
		if c := *x; one(&c.Of) {
			e = &c
		}
	case *Unary:
		if c := *x; one(&c.X) {
			e = &c
		}
	case *Binary:
		if c := *x; any(one(&c.L), one(&c.R)) {
			e = &c
		}
	case *Chain:
		if c := *x; many(&c.Args) {
			e = &c
		}
	case *And:
		if c := *x; many(&c.Args) {
			e = &c
		}
	case *Or:
		if c := *x; many(&c.Args) {
			e = &c
		}
	case *Index:
		if c := *x; any(one(&c.X), one(&c.I)) {
			e = &c
		}
	case *Slice:
		if c := *x; any(one(&c.X), one(&c.From), one(&c.To)) {
			e = &c
		}
	case *Case:
		c := *x
		c.Whens = append([]When(nil), x.Whens...)
		changed := any(one(&c.Subject), one(&c.Else))
		for i := range c.Whens {
			changed = any(one(&c.Whens[i].Cond), one(&c.Whens[i].Then), changed)
		}
		if changed {
			e = &c
		}
	case *Func:
		if c := *x; many(&c.Args) {
			e = &c
		}
	case *Agg:
		if c := *x; many(&c.Args) {
			e = &c
		}
	case *ListLit:
		if c := *x; many(&c.Elems) {
			e = &c
		}
	case *MapLit:
		if c := *x; many(&c.Vals) {
			e = &c
		}
	case *ListComp:
		if c := *x; any(one(&c.List), one(&c.Pred), one(&c.Map)) {
			e = &c
		}
	case *Quantifier:
		if c := *x; any(one(&c.List), one(&c.Pred)) {
			e = &c
		}
	case *Reduce:
		if c := *x; any(one(&c.Init), one(&c.List), one(&c.Body)) {
			e = &c
		}
	case *HasLabels:
		if c := *x; one(&c.X) {
			e = &c
		}
	case *IsType:
		if c := *x; one(&c.X) {
			e = &c
		}
	case *MapProj:
		c := *x
		c.Items = append([]ProjItem(nil), x.Items...)
		changed := one(&c.X)
		for i := range c.Items {
			changed = any(one(&c.Items[i].Val), changed)
		}
		if changed {
			e = &c
		}
	case *MakePath:
		if c := *x; many(&c.Elems) {
			e = &c
		}
	}
	return f(e)
}

// Equal reports whether two expressions are the same but for positions and static types.
func Equal(a, b Expr) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	same := func() bool {
		ka, kb := children(a), children(b)
		if len(ka) != len(kb) {
			return false
		}
		for i := range ka {
			if !Equal(ka[i], kb[i]) {
				return false
			}
		}
		return true
	}
	strs := func(x, y []string) bool {
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if x[i] != y[i] {
				return false
			}
		}
		return true
	}
	switch x := a.(type) {
	case *Const:
		y, ok := b.(*Const)
		return ok && x.V.Kind() == y.V.Kind() && value.Compare(x.V, y.V) == 0
	case *Param:
		y, ok := b.(*Param)
		return ok && x.Index == y.Index
	case *Col:
		y, ok := b.(*Col)
		return ok && x.Slot == y.Slot
	case *Prop:
		y, ok := b.(*Prop)
		return ok && x.Key == y.Key && same()
	case *Unary:
		y, ok := b.(*Unary)
		return ok && x.Op == y.Op && same()
	case *Binary:
		y, ok := b.(*Binary)
		return ok && x.Op == y.Op && same()
	case *Chain:
		y, ok := b.(*Chain)
		if !ok || len(x.Ops) != len(y.Ops) {
			return false
		}
		for i := range x.Ops {
			if x.Ops[i] != y.Ops[i] {
				return false
			}
		}
		return same()
	case *And:
		_, ok := b.(*And)
		return ok && same()
	case *Or:
		_, ok := b.(*Or)
		return ok && same()
	case *Index:
		_, ok := b.(*Index)
		return ok && same()
	case *Slice:
		y, ok := b.(*Slice)
		return ok && Equal(x.X, y.X) && Equal(x.From, y.From) && Equal(x.To, y.To)
	case *Case:
		y, ok := b.(*Case)
		return ok && len(x.Whens) == len(y.Whens) && (x.Subject == nil) == (y.Subject == nil) && (x.Else == nil) == (y.Else == nil) && same()
	case *Func:
		y, ok := b.(*Func)
		return ok && x.Def == y.Def && x.Def.Vol != Volatile && same()
	case *Agg:
		y, ok := b.(*Agg)
		return ok && x.Def == y.Def && x.Distinct == y.Distinct && same()
	case *ListLit:
		_, ok := b.(*ListLit)
		return ok && same()
	case *MapLit:
		y, ok := b.(*MapLit)
		return ok && strs(x.Keys, y.Keys) && same()
	case *ListComp:
		y, ok := b.(*ListComp)
		return ok && x.Slot == y.Slot && (x.Pred == nil) == (y.Pred == nil) && (x.Map == nil) == (y.Map == nil) && same()
	case *Quantifier:
		y, ok := b.(*Quantifier)
		return ok && x.Kind == y.Kind && x.Slot == y.Slot && same()
	case *Reduce:
		y, ok := b.(*Reduce)
		return ok && x.Slot == y.Slot && x.AccSlot == y.AccSlot && same()
	case *HasLabels:
		y, ok := b.(*HasLabels)
		return ok && x.Any == y.Any && strs(x.Labels, y.Labels) && same()
	case *IsType:
		y, ok := b.(*IsType)
		return ok && x.Not == y.Not && x.Spec.String() == y.Spec.String() && same()
	case *MapProj:
		y, ok := b.(*MapProj)
		if !ok || len(x.Items) != len(y.Items) {
			return false
		}
		for i, p := range x.Items {
			if q := y.Items[i]; p.All != q.All || p.Key != q.Key || (p.Val == nil) != (q.Val == nil) {
				return false
			}
		}
		return same()
	case *MakePath:
		_, ok := b.(*MakePath)
		return ok && same()
	case *Subplan:
		return a == b
	}
	return false
}

// Fold replaces constant subtrees by their values where that cannot raise (X4). The result shares unchanged nodes.
func Fold(e Expr) Expr {
	return Rewrite(e, func(e Expr) Expr {
		switch x := e.(type) {
		case *Const, *Param, *Col, *Subplan, *Agg, *ListComp, *Quantifier, *Reduce, *Prop, *HasLabels, *MakePath, *MapProj:
			return e
		case *Func:
			if x.Def.Vol != Pure || x.Def.Raises || x.Def.Aggregate {
				return e
			}
		}
		for _, k := range children(e) {
			if _, ok := k.(*Const); !ok {
				return e
			}
		}
		p, err := Compile(e)
		if err != nil {
			return e
		}
		v, err := p.EvalOne(&Env{})
		if err != nil || len(v.Raw()) > 4096 {
			return e
		}
		b := *e.base()
		b.T = Type{Kinds: Kinds(v.Kind()), NotNull: !v.IsNull(), Elem: b.T.Elem}
		return &Const{Base: b, V: v}
	})
}

// precedence of operators, loosest first; what is not listed binds tightest.
func precedence(e Expr) int {
	switch e := e.(type) {
	case *Or:
		return 1
	case *And:
		return 3
	case *Chain:
		return 5
	case *Unary:
		switch e.Op {
		case OpNot:
			return 4
		case OpIsNull, OpIsNotNull:
			return 6
		}
		return 10
	case *IsType:
		return 6
	case *Binary:
		switch e.Op {
		case OpXor:
			return 2
		case OpEq, OpNe, OpLt, OpLe, OpGt, OpGe:
			return 5
		case OpIn, OpStartsWith, OpEndsWith, OpContains, OpRegex:
			return 6
		case OpAdd, OpSub, OpConcat:
			return 7
		case OpMul, OpDiv, OpMod:
			return 8
		case OpPow:
			return 9
		}
	}
	return 11
}

// String prints an expression as Cypher, for EXPLAIN.
func String(e Expr) string {
	var b strings.Builder
	printExpr(&b, e, 0)
	return b.String()
}

func printList(b *strings.Builder, es []Expr, sep string, prec int) {
	for i, e := range es {
		if i > 0 {
			b.WriteString(sep)
		}
		printExpr(b, e, prec)
	}
}

func printExpr(b *strings.Builder, e Expr, outer int) {
	if e == nil {
		return
	}
	prec := precedence(e)
	if prec < outer {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	switch e := e.(type) {
	case *Const:
		b.WriteString(brief(e.V))
	case *Param:
		b.WriteString("$" + e.Name)
	case *Col:
		if e.Name != "" {
			b.WriteString(e.Name)
		} else {
			b.WriteString("_" + strconv.Itoa(e.Slot))
		}
	case *Prop:
		printExpr(b, e.Of, 11)
		b.WriteString("." + value.QuoteName(e.Key))
	case *Unary:
		switch e.Op {
		case OpIsNull, OpIsNotNull:
			printExpr(b, e.X, prec)
			b.WriteString(" " + e.Op.String())
		case OpNot:
			b.WriteString("NOT ")
			printExpr(b, e.X, prec)
		default:
			b.WriteString(e.Op.String())
			printExpr(b, e.X, prec)
		}
	case *Binary:
		printExpr(b, e.L, prec)
		b.WriteString(" " + e.Op.String() + " ")
		printExpr(b, e.R, prec+1)
	case *Chain:
		for i, a := range e.Args {
			if i > 0 {
				b.WriteString(" " + e.Ops[i-1].String() + " ")
			}
			printExpr(b, a, prec+1)
		}
	case *And:
		printList(b, e.Args, " AND ", prec)
	case *Or:
		printList(b, e.Args, " OR ", prec)
	case *Index:
		printExpr(b, e.X, 11)
		b.WriteByte('[')
		printExpr(b, e.I, 0)
		b.WriteByte(']')
	case *Slice:
		printExpr(b, e.X, 11)
		b.WriteByte('[')
		printExpr(b, e.From, 0)
		b.WriteString("..")
		printExpr(b, e.To, 0)
		b.WriteByte(']')
	case *Case:
		b.WriteString("CASE")
		if e.Subject != nil {
			b.WriteByte(' ')
			printExpr(b, e.Subject, 0)
		}
		for _, w := range e.Whens {
			b.WriteString(" WHEN ")
			printExpr(b, w.Cond, 0)
			b.WriteString(" THEN ")
			printExpr(b, w.Then, 0)
		}
		if e.Else != nil {
			b.WriteString(" ELSE ")
			printExpr(b, e.Else, 0)
		}
		b.WriteString(" END")
	case *IsType:
		printExpr(b, e.X, prec)
		b.WriteString(" IS ")
		if e.Not {
			b.WriteString("NOT ")
		}
		b.WriteString(":: " + e.Spec.String())
	case *Func:
		if form, ok := normalForm(e); ok {
			printExpr(b, e.Args[0], 7)
			b.WriteString(" IS " + form + " NORMALIZED")
			return
		}
		if names, word, ok := computedLabels(e); ok {
			printExpr(b, e.Args[0], 11)
			b.WriteString(":" + word + "(")
			printList(b, names, ", ", 0)
			b.WriteByte(')')
			return
		}
		b.WriteString(e.Def.Name + "(")
		printList(b, e.Args, ", ", 0)
		b.WriteByte(')')
	case *Agg:
		b.WriteString(e.Def.Name + "(")
		if e.Distinct {
			b.WriteString("DISTINCT ")
		}
		if len(e.Args) == 0 {
			b.WriteByte('*')
		}
		printList(b, e.Args, ", ", 0)
		b.WriteByte(')')
	case *ListLit:
		b.WriteByte('[')
		printList(b, e.Elems, ", ", 0)
		b.WriteByte(']')
	case *MapLit:
		b.WriteByte('{')
		for i, k := range e.Keys {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(value.QuoteName(k) + ": ")
			printExpr(b, e.Vals[i], 0)
		}
		b.WriteByte('}')
	case *ListComp:
		v := localName(e.Slot, e.Pred, e.Map)
		b.WriteString("[" + v + " IN ")
		printExpr(b, e.List, 0)
		if e.Pred != nil {
			b.WriteString(" WHERE ")
			printExpr(b, e.Pred, 0)
		}
		if e.Map != nil {
			b.WriteString(" | ")
			printExpr(b, e.Map, 0)
		}
		b.WriteByte(']')
	case *Quantifier:
		b.WriteString([...]string{"all", "any", "none", "single"}[e.Kind] + "(" + localName(e.Slot, e.Pred) + " IN ")
		printExpr(b, e.List, 0)
		b.WriteString(" WHERE ")
		printExpr(b, e.Pred, 0)
		b.WriteByte(')')
	case *Reduce:
		b.WriteString("reduce(" + localName(e.AccSlot, e.Body) + " = ")
		printExpr(b, e.Init, 0)
		b.WriteString(", " + localName(e.Slot, e.Body) + " IN ")
		printExpr(b, e.List, 0)
		b.WriteString(" | ")
		printExpr(b, e.Body, 0)
		b.WriteByte(')')
	case *HasLabels:
		printExpr(b, e.X, 11)
		for i, l := range e.Labels {
			if i > 0 && e.Any {
				b.WriteByte('|')
			} else {
				b.WriteByte(':')
			}
			b.WriteString(value.QuoteName(l))
		}
	case *MapProj:
		printExpr(b, e.X, 11)
		b.WriteByte('{')
		for i, it := range e.Items {
			if i > 0 {
				b.WriteString(", ")
			}
			switch {
			case it.All:
				b.WriteString(".*")
			case it.Val == nil:
				b.WriteString("." + value.QuoteName(it.Key))
			default:
				b.WriteString(value.QuoteName(it.Key) + ": ")
				printExpr(b, it.Val, 0)
			}
		}
		b.WriteByte('}')
	case *MakePath:
		b.WriteString("path(")
		printList(b, e.Elems, ", ", 0)
		b.WriteByte(')')
	case *Subplan:
		b.WriteString([...]string{"EXISTS", "COUNT", "COLLECT"}[e.Kind] + " { … }")
	}
}

// localName finds how a variable that is bound inside is called.
func localName(slot int, es ...Expr) string {
	name := "_" + strconv.Itoa(slot)
	for _, e := range es {
		Walk(e, func(e Expr) bool {
			if c, ok := e.(*Col); ok && c.Slot == slot && c.Name != "" {
				name = c.Name
			}
			return true
		})
	}
	return name
}
