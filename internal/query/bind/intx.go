package bind

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// checkInTransactions refuses CALL { } IN TRANSACTIONS where it cannot stand.
func (p *part) checkInTransactions(c *cypher.Subquery) {
	b := p.b
	refuse := func(why string) {
		b.fail(dberr.Syntax, "InvalidClauseComposition", c.InTx, "CALL { } IN TRANSACTIONS %s", why)
	}
	switch {
	case p.kind != queryTop:
		refuse("stands at the top of a statement only")
	case p.union:
		refuse("cannot be part of a UNION")
	case p.writes:
		refuse("cannot follow a clause that writes: the transactions of its batches would not see what is not committed yet")
	}
}

// inTransactions binds the words behind the body and adds the variable of REPORT STATUS to the scope.
func (p *part) inTransactions(x *cypher.InTransactions, sc *scope) *InTransactions {
	b := p.b
	positive := func(e cypher.Expr, what string) expr.Expr {
		n := b.count(e, what)
		if k, ok := n.(*expr.Const); ok && k.V.Kind() == value.Int && k.V.Int() == 0 {
			b.fail(dberr.Syntax, "InvalidArgumentValue", e, "%s must be a positive integer, found 0", what)
		}
		return n
	}
	out := &InTransactions{Rows: positive(x.BatchRows, "OF … ROWS")}
	if x.Concurrency != nil { // a negative number asks for all processors but so many
		out.Concurrency = b.expr(ectx{sc: newScope(nil), where: "CONCURRENT", const_: true}, x.Concurrency)
	}
	switch x.OnError {
	case cypher.OnErrorContinue:
		out.OnError = OnErrorContinue
	case cypher.OnErrorBreak:
		out.OnError = OnErrorBreak
	}
	if x.Status != nil {
		if out.OnError == OnErrorFail {
			b.fail(dberr.Syntax, "InvalidClauseComposition", x, "REPORT STATUS needs ON ERROR CONTINUE or ON ERROR BREAK: where an error fails the statement there is nothing to report")
		}
		if sc.has(x.Status.Name) {
			b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", x.Status, "variable `%s` is already defined", x.Status.Name)
		}
		out.Status = b.newVar(x.Status.Name, ValueVar, expr.TMap, x.Status.Pos())
		out.Status.Plain = true
		sc.add(out.Status)
	}
	return out
}
