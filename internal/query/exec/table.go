package exec

import (
	"regexp"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// extra, if a build has it, finds procedures beside the builtins. A build with the tag tck has it, for the openCypher TCK, whose scenarios bring
// procedures of their own (rules C11).
var extra Procedures

// Lasting reports whether the procedures that a plan calls stay what they are.
func Lasting(q *plan.Query) bool { return extra == nil || !callsExtra(q.Root) }

func callsExtra(n plan.Node) bool {
	if c, ok := n.(*plan.ProcedureCall); ok {
		if _, ok := (builtinSet{}).own(c.Name); !ok {
			return true
		}
	}
	for _, c := range n.Children() {
		if callsExtra(c) {
			return true
		}
	}
	return false
}

var signatureRE = regexp.MustCompile(`^([\w.]+)\((.*?)\) :: \((.*)\)$`)

// Table makes a procedure that a table stands for: a call yields, for the rows whose first values are the arguments, the values after them.
// The signature is one as test.my.proc(in :: INTEGER?) :: (out :: STRING?). The rows are kept.
func Table(signature string, rows [][]value.Value) (*Procedure, error) {
	m := signatureRE.FindStringSubmatch(strings.TrimSpace(signature))
	if m == nil {
		return nil, dberr.New(dberr.ArgumentError, "%q is no signature of a procedure", signature)
	}
	p := &Procedure{Proc: bind.Proc{Name: m[1], In: tableFields(m[2]), Out: tableFields(m[3])}}
	p.Void = len(p.Out) == 0
	for _, row := range rows {
		if len(row) != len(p.In)+len(p.Out) {
			return nil, dberr.New(dberr.ArgumentError, "a row of %d values does not fit the signature %q", len(row), signature)
		}
	}
	p.Call = func(_ *expr.Env, args []value.Value, yield func(...value.Value) error) error {
		if p.Void {
			return nil
		}
	next:
		for _, row := range rows {
			for i, a := range args {
				if !value.Equivalent(a, row[i]) {
					continue next
				}
			}
			if err := yield(row[len(args):]...); err != nil {
				return err
			}
		}
		return nil
	}
	return p, nil
}

var tableTypes = map[string]expr.Type{"INTEGER": expr.TInt, "FLOAT": expr.TFloat, "NUMBER": expr.TNumber, "STRING": expr.TString, "BOOLEAN": expr.TBool}

// tableFields reads a list as "in :: INTEGER?, out :: STRING?".
func tableFields(s string) (out []bind.Field) {
	for _, f := range strings.Split(s, ",") {
		name, t, ok := strings.Cut(f, "::")
		if !ok {
			continue
		}
		typ, ok := tableTypes[strings.TrimSuffix(strings.TrimSpace(t), "?")]
		if !ok {
			typ = expr.Any
		}
		out = append(out, bind.Field{Name: strings.TrimSpace(name), Type: typ})
	}
	return out
}
