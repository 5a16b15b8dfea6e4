package plan

import "github.com/hedgerowdb/hedgerow/internal/query/expr"

type (
	exprT    = expr.Expr
	subplanT = expr.Subplan
)
