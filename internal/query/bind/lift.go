package bind

import (
	"sort"
	"strconv"

	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
)

// lifted returns the parameter in place of a literal that the normal form has taken out, or nil. It has the literal's own type, so that what is
// refused of the literal is refused of the parameter.
func (b *binder) lifted(n spanned, t expr.Type) expr.Expr {
	if b.met == nil {
		return nil
	}
	lits := b.opts.Lifted.Lifted
	i := sort.Search(len(lits), func(i int) bool { return lits[i].Pos() >= n.Pos() })
	if i == len(lits) || lits[i].Pos() != n.Pos() || lits[i].End() != n.End() {
		return nil
	}
	b.met[i] = true
	name := "autoint_"
	switch lits[i].Kind {
	case cypher.Float:
		name = "autofloat_"
	case cypher.String:
		name = "autostring_"
	case cypher.LBracket:
		name = "autolist_"
	}
	return &expr.Param{Base: at(n, notNull(t)), Name: name + strconv.Itoa(lits[i].Param), Index: lits[i].Param}
}

// liftedList is lifted for a list.
func (b *binder) liftedList(e *cypher.ListLit) expr.Expr {
	if b.met == nil || len(e.Elems) == 0 {
		return nil
	}
	elem := notNull(expr.TString)
	switch e.Elems[0].(type) {
	case *cypher.IntLit:
		elem = notNull(expr.TInt)
	case *cypher.FloatLit:
		elem = notNull(expr.TFloat)
	}
	t := expr.TList
	t.Elem = &elem
	return b.lifted(e, t)
}

// keeps notes whether the name that a column gets from the text is a part of the normal form.
func (b *binder) keeps(it *cypher.Item) {
	if b.met == nil || it.Alias != nil {
		return
	}
	switch it.Expr.(type) {
	case *cypher.Var, *cypher.Param, *cypher.BoolLit, *cypher.NullLit: // single words, unless in parentheses
		if len(it.Text) > 0 && it.Text[0] != '(' {
			return
		}
	}
	for _, s := range b.opts.Lifted.Kept {
		if s.Pos() <= it.Expr.Pos() && it.Expr.End() <= s.End() {
			return
		}
	}
	b.unkept = true
}
