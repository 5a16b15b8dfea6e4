package sqlbind_test

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/sqlbind"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// writer makes random statements, most of which make sense.
type writer struct {
	t      *rapid.T
	depth  int
	serial int
}

func (w *writer) pick(xs ...string) string { return rapid.SampledFrom(xs).Draw(w.t, "") }
func (w *writer) chance(n int) bool        { return rapid.IntRange(0, n-1).Draw(w.t, "") == 0 }

// kinds of expressions, by the last letter of a column's name.
var kinds = map[byte]string{'a': "int", 'n': "int", 'p': "int", 'b': "text", 'q': "text", 'c': "agtype"}

func (w *writer) expr(cols []string, kind string) string {
	w.depth++
	defer func() { w.depth-- }()
	var own []string
	for _, c := range cols {
		if kinds[c[len(c)-1]] == kind {
			own = append(own, c)
		}
	}
	if w.chance(25) { // now and then anything
		kind = w.pick("int", "text", "bool", "agtype")
	}
	leaf := map[string][]string{
		"int": {"1", "0", "-2", "NULL"}, "text": {"'x'", "'1'", "NULL"}, "bool": {"true", "false", "NULL"},
		"agtype": {"'1'::agtype", "'[1, 2]'::agtype", "'{\"k\": 1}'::agtype", "'\"x\"'::agtype", "NULL"},
	}[kind]
	if w.depth > 4 || w.chance(3) {
		return w.pick(append(append(leaf, own...), own...)...)
	}
	e := func(k string) string { return w.expr(cols, k) }
	any := func() string { return e(w.pick("int", "text", "bool", "agtype")) }
	both := w.pick("int", "text", "agtype")
	switch rapid.IntRange(0, 6).Draw(w.t, "") {
	case 0:
		return "CASE WHEN " + e("bool") + " THEN " + e(kind) + w.pick("", " ELSE "+e(kind)) + " END"
	case 1:
		return w.pick("coalesce", "greatest", "least", "nullif") + "(" + e(kind) + ", " + e(kind) + ")"
	case 2:
		return "(" + w.query(cols, kind) + ")"
	}
	switch kind {
	case "int":
		return w.pick("("+e("int")+w.pick(" + ", " - ", " * ", " / ", " % ")+e("int")+")", "abs("+e("int")+")", "length("+e("text")+")", "("+e("agtype")+")::int",
			"("+e("bool")+")::int", "array_length(ARRAY["+e("int")+", "+e("int")+"], 1)", "(ARRAY("+w.query(cols, "int")+"))[1]")
	case "text":
		return w.pick("("+e("text")+" || "+e("text")+")", "lower("+e("text")+")", "("+any()+")::text", "("+e("agtype")+" ->> 'k')", "concat("+any()+", "+any()+")")
	case "agtype":
		return w.pick("("+e("agtype")+w.pick(" + ", " -> ", " || ")+e("agtype")+")", "("+e("int")+")::agtype", "agtype_build_list("+e("agtype")+", "+e("agtype")+")",
			"("+e("agtype")+" -> 0)")
	}
	return w.pick("("+e(both)+w.pick(" = ", " <> ", " < ", " >= ", " IS DISTINCT FROM ")+e(both)+")", "("+e("bool")+w.pick(" AND ", " OR ")+e("bool")+")", "(NOT "+e("bool")+")",
		"("+any()+w.pick(" IS NULL", " IS NOT NULL")+")", "("+e("bool")+w.pick(" IS TRUE", " IS NOT FALSE", " IS UNKNOWN")+")",
		"("+e(both)+w.pick(" IN ", " NOT IN ")+"("+e(both)+", "+e(both)+"))", "("+e(both)+w.pick(" IN ", " > ALL ", " = ANY ", " NOT IN ")+"("+w.query(cols, both)+"))",
		"("+w.pick("EXISTS (", "NOT EXISTS (")+w.query(cols, "int")+"))", "("+e("int")+" BETWEEN "+e("int")+" AND "+e("int")+")", "("+e("text")+" LIKE '%x%')",
		"("+e("agtype")+w.pick(" @> ", " <@ ")+e("agtype")+")")
}

func (w *writer) from(outer []string, alias string) (text string, cols []string) {
	switch rapid.IntRange(0, 5).Draw(w.t, "") {
	case 0:
		return "generate_series(" + w.pick("1, 3", "1, 2", w.expr(outer, "int")+", 2") + ") AS " + alias + "(n)", []string{alias + ".n"}
	case 1:
		return "(VALUES (1, 'v'), (2, NULL)) AS " + alias + "(p, q)", []string{alias + ".p", alias + ".q"}
	case 2:
		if w.depth < 5 {
			return "(" + w.query(nil, "int", "text") + ") AS " + alias + "(a, b)", []string{alias + ".a", alias + ".b"}
		}
	case 3:
		return "cypher('g', $$[[1, \"x\"], [2, null]]$$) AS " + alias + "(a int, c agtype)", []string{alias + ".a", alias + ".c"}
	}
	return w.pick("t", "t", "e") + " AS " + alias, []string{alias + ".a", alias + ".b", alias + ".c"}
}

// query makes a SELECT whose columns have the kinds.
func (w *writer) query(outer []string, kinds ...string) string {
	w.depth++
	defer func() { w.depth-- }()
	names := []string{"x", "y", "z"}
	w.serial++
	tag := fmt.Sprint(w.serial)
	text, cols := w.from(outer, names[0]+tag)
	for _, n := range names[1:] {
		if !w.chance(3) {
			break
		}
		right, more := w.from(outer, n+tag)
		join := w.pick(" JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN ", " CROSS JOIN ", ", ")
		on := ""
		if join != " CROSS JOIN " && join != ", " {
			on = " ON " + w.pick(cols[0]+" = "+more[0], cols[0]+" = "+more[0]+" AND "+w.expr(append(cols[:len(cols):len(cols)], more...), "bool"), w.expr(append(more[:len(more):len(more)], outer...), "bool"))
		}
		text += join + right + on
		cols = append(cols, more...)
	}
	all := append(cols[:len(cols):len(cols)], outer...)
	group := w.chance(4)
	key := w.expr(cols, "int")
	var outs []string
	for _, k := range kinds {
		switch {
		case !group:
			outs = append(outs, w.expr(all, k))
		case k == "int":
			outs = append(outs, w.pick("count(*)::int", "max("+w.expr(cols, "int")+")", "sum("+cols[0]+")::int", "count(DISTINCT "+w.expr(cols, "text")+")::int", key))
		case k == "bool":
			outs = append(outs, "count(*) > 1")
		default:
			outs = append(outs, w.pick("min", "max")+"("+w.expr(cols, k)+")")
		}
	}
	q := "SELECT " + w.pick("", "", "DISTINCT ") + strings.Join(outs, ", ") + " FROM " + text
	if w.chance(2) {
		q += " WHERE " + w.expr(all, "bool")
	}
	if group {
		q += " GROUP BY " + key
		if w.chance(3) {
			q += " HAVING count(*) > 0"
		}
	}
	if w.chance(5) {
		var arm []string
		for _, k := range kinds {
			arm = append(arm, w.expr(nil, k))
		}
		q += w.pick(" UNION ", " UNION ALL ") + "SELECT " + strings.Join(arm, ", ")
	}
	if w.chance(3) {
		q += " ORDER BY 1" + w.pick("", " DESC", " NULLS FIRST")
	}
	if w.chance(3) {
		q += " LIMIT " + w.pick("1", "2", "0")
	}
	return q
}

// TestRandom: whatever a statement is, it gives rows or an error that says what is wrong with it, never a fault of ours.
func TestRandom(t *testing.T) {
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
	ran, good := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := &writer{t: rt}
		text := w.query(nil, []string{"int", "text", "agtype", "bool"}[:rapid.IntRange(1, 4).Draw(rt, "")]...)
		defer func() {
			if p := recover(); p != nil {
				if _, ours := p.(runtime.Error); ours {
					rt.Fatalf("%s\npanics: %v\n%s", text, p, debug.Stack())
				}
				panic(p)
			}
		}()
		check := func(err error) {
			if dberr.As(err).Code == dberr.Internal {
				rt.Fatalf("%s\n%v", text, err)
			}
		}
		ran++
		st, err := sql.Parse(text)
		if err != nil {
			rt.Fatalf("%s\n%v", text, err)
		}
		res, err := sqlbind.Bind(st, st.Body.(*sql.Query), catalog{}, sqlbind.Options{})
		if err != nil {
			check(err)
			return
		}
		stmt, err := tx.Begin(ctx)
		if err != nil {
			rt.Fatal(err)
		}
		defer stmt.Close()
		cur, err := exec.Prepare(res.Query).Run(ctx, stmt, nil, nil, exec.Options{BatchSize: rapid.SampledFrom([]int{1, 2, 1024}).Draw(rt, "batch")})
		if err != nil {
			check(err)
			return
		}
		defer cur.Close()
		for {
			n, err := cur.Next()
			if err != nil {
				check(err)
				return
			}
			if n == 0 {
				good++
				return
			}
			for i := range n {
				for k, v := range cur.Row(i) {
					if v.IsNull() {
						continue
					}
					if _, err := sqltype.AppendText(nil, res.Columns[k].Type, v); err != nil {
						check(err)
					}
					if sqltype.BinaryOut(res.Columns[k].Type) {
						if _, err := sqltype.AppendBinary(nil, res.Columns[k].Type, v); err != nil {
							check(err)
						}
					}
				}
			}
		}
	})
	t.Logf("%d of %d statements gave rows", good, ran)
}
