package bind

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// MayHoldEntity reports whether a value of the type may be an entity or a container with one.
func MayHoldEntity(t expr.Type) bool { return mayHold(t, 0) }

func mayHold(t expr.Type, depth int) bool {
	if t.Kinds&(expr.TEntity.Kinds|expr.TPath.Kinds|expr.TMap.Kinds) != 0 {
		return true
	}
	if t.Kinds.Has(value.List) {
		return t.Elem == nil || depth > 8 || mayHold(*t.Elem, depth+1)
	}
	return false
}

// Plain reports whether no value of e is or holds an entity: properties, parameters and what is computed from them alone. plain tells it of the
// columns.
func Plain(e expr.Expr, plain func(slot int) bool) bool {
	if e == nil || !MayHoldEntity(e.Type()) {
		return true
	}
	switch e := e.(type) {
	case *expr.Const, *expr.Param:
		return true
	case *expr.Col:
		return plain(e.Slot)
	case *expr.Prop:
		t := e.Of.Type()
		return t.Is(expr.TEntity.Kinds) && t.Kinds&expr.TEntity.Kinds != 0 || Plain(e.Of, plain)
	case *expr.Subplan:
		q, ok := e.Plan.(*Subquery)
		return ok && q.From != nil && q.From.Plain
	case *expr.ListComp:
		list := Plain(e.List, plain) // once: comprehensions nest
		if e.Map == nil {
			return list
		}
		return Plain(e.Map, func(s int) bool { return list && s == e.Slot || plain(s) })
	case *expr.MapProj:
		for _, it := range e.Items {
			if !Plain(it.Val, plain) {
				return false
			}
		}
		t := e.X.Type()
		return t.Is(expr.TEntity.Kinds) || Plain(e.X, plain)
	case *expr.Reduce:
		return Plain(e.Init, plain) && Plain(e.List, plain) && Plain(e.Body, func(s int) bool { return s == e.Slot || s == e.AccSlot || plain(s) })
	case *expr.Case:
		for _, w := range e.Whens {
			if !Plain(w.Then, plain) {
				return false
			}
		}
		return Plain(e.Else, plain)
	case *expr.Func:
		if t := e.Type(); e.Def.Vol == expr.Reads && t.Kinds&expr.TEntity.Kinds == 0 && t.Is(expr.TMap.Kinds) {
			return true // properties(n)
		}
	case *expr.MakePath:
		return false
	}
	ok := true
	MapChildren(e, func(x expr.Expr) expr.Expr {
		ok = ok && Plain(x, plain)
		return x
	})
	return ok
}

func (b *binder) plain(e expr.Expr) bool {
	return Plain(e, func(slot int) bool {
		v := b.bySlot(slot)
		return v != nil && v.Plain
	})
}
