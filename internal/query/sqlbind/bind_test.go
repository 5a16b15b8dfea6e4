package sqlbind_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/query/sqlbind"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// catalog has a table t(a int, b text, c agtype), a table e without rows, and calls of cypher() whose text is the agtype of their rows: a list of lists.
type catalog struct{}

type table [][]value.Value

func (t table) String() string { return "table" }
func (t table) Open(context.Context, []value.Value) (plan.SourceRows, error) {
	return &tableRows{t}, nil
}

type tableRows struct{ left table }

func (r *tableRows) Next(context.Context) ([]value.Value, error) {
	if len(r.left) == 0 {
		return nil, nil
	}
	row := r.left[0]
	r.left = r.left[1:]
	return row, nil
}
func (r *tableRows) Close() {}

func str(s string) value.Value { return value.NewString(s) }
func num(i int64) value.Value  { return value.NewInt(i) }

func agtype(s string) value.Value {
	v, err := value.ParseAgtype(s)
	if err != nil {
		panic(err)
	}
	return v
}

var columns = []sqlbind.Column{{Name: "a", Type: sqltype.Int4}, {Name: "b", Type: sqltype.Text}, {Name: "c", Type: sqltype.Agtype}}

func (catalog) Relation(schema, name string) (*sqlbind.Relation, error) {
	switch {
	case schema != "" && schema != "public":
		return nil, nil
	case name == "t":
		return &sqlbind.Relation{Columns: columns, Source: table{
			{num(1), str("one"), agtype(`{"k": 1}`)}, {num(2), str("two"), agtype(`[1, "x"]`)}, {num(3), value.Value{}, value.Value{}}, {num(2), str("zwei"), agtype("2.5")},
		}}, nil
	case name == "e":
		return &sqlbind.Relation{Columns: columns, Source: table{}}, nil
	}
	return nil, nil
}

func (catalog) Cypher(graph, text *string, at int, args []expr.Expr) (*sqlbind.CypherCall, error) {
	rows := agtype(*text)
	var t table
	c := &sqlbind.CypherCall{}
	for i := range rows.Len() {
		var row []value.Value
		for k := range rows.At(i).Len() {
			row = append(row, rows.At(i).At(k))
			if i == 0 {
				c.Columns = append(c.Columns, fmt.Sprint("column ", k+1))
			}
		}
		t = append(t, row)
	}
	c.Source = t
	return c, nil
}

func (catalog) Function(schema, name string) *sqlbind.Function {
	if name == "who" {
		return &sqlbind.Function{Result: sqltype.Name, Vol: expr.Statement, Call: func([]value.Value) (value.Value, error) { return str("me"), nil }}
	}
	return nil
}

func (catalog) RegName(t *sqltype.Type, oid int64) (string, bool) { return "rel", oid == 77 }
func (catalog) RegOID(t *sqltype.Type, name string) (int64, bool) { return 77, name == "rel" }

// TestBind runs the files of testdata. Commands: "query" binds and runs a statement and prints types and rows, "plan" prints its plan, "types" the
// types of its parameters and columns. Arguments $1=…, $2=… are parameters in text.
func TestBind(t *testing.T) {
	ctx := context.Background()
	eng, err := engine.Open(ctx, engine.Options{CacheBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close(ctx)
	tx, err := eng.Store().Begin(ctx, store.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			fail := func(err error) string {
				e := dberr.As(err)
				at := ""
				if e.Pos >= 0 && e.Pos <= len(d.Input) && e.End <= len(d.Input) {
					at = " at " + strings.ReplaceAll(d.Input[e.Pos:e.End], "\n", " ")
				}
				hint := ""
				if e.Hint != "" {
					hint = "\nhint: " + e.Hint
				}
				return fmt.Sprintf("error %s: %s%s%s\n", e.Code.SQLState(), e.Error(), at, hint)
			}
			st, err := sql.Parse(d.Input)
			if err != nil {
				return fail(err)
			}
			res, err := sqlbind.Bind(st, st.Body.(*sql.Query), catalog{}, sqlbind.Options{})
			if err != nil {
				return fail(err)
			}
			var out strings.Builder
			var names []string
			for i, p := range res.Params {
				names = append(names, fmt.Sprintf("$%d %s", i+1, p))
			}
			for _, c := range res.Columns {
				names = append(names, c.Name+" "+c.Type.String())
			}
			switch d.Cmd {
			case "plan":
				return res.Query.Print(plan.PrintOptions{})
			case "types":
				return strings.Join(names, ", ") + "\n"
			}
			var params []value.Value
			for i, p := range res.Params {
				var text string
				d.ScanArgs(t, fmt.Sprintf("$%d", i+1), &text)
				v, err := sqltype.Parse(p, text)
				if err != nil {
					return fail(err)
				}
				params = append(params, v)
			}
			stmt, err := tx.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer stmt.Close()
			cur, err := exec.Prepare(res.Query).Run(ctx, stmt, nil, params, exec.Options{})
			if err != nil {
				return fail(err)
			}
			defer cur.Close()
			fmt.Fprintln(&out, strings.Join(names[len(res.Params):], ", "))
			for {
				n, err := cur.Next()
				if err != nil {
					return out.String() + fail(err)
				}
				if n == 0 {
					return out.String()
				}
				for i := range n {
					for k, v := range cur.Row(i) {
						if k > 0 {
							out.WriteString(" | ")
						}
						if v.IsNull() {
							out.WriteString("NULL")
							continue
						}
						text, err := sqltype.AppendText(nil, res.Columns[k].Type, v)
						if err != nil {
							return out.String() + fail(err)
						}
						out.Write(text)
					}
					out.WriteByte('\n')
				}
			}
		})
	})
}
