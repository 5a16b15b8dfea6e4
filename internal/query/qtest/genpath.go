package qtest

import (
	"fmt"
	"strings"
)

// paths writes a statement about quantified path patterns, path selectors or shortest paths. Where a tie leaves open which path is taken, only
// its ends and its length are returned.
func (g *Generator) paths() {
	switch g.r.IntN(8) {
	case 0, 1:
		g.quantified()
	case 2:
		g.shortestWhere()
	default:
		g.selector()
	}
}

func (g *Generator) hopText(name string) string {
	t := g.one("", ":R", ":S", ":R|S", ":R", ":S")
	if g.r.IntN(8) == 0 {
		t += fmt.Sprintf(" {%s: %s}", g.one("a", "b"), g.num())
	}
	return fmt.Sprintf(g.one("-[%s%s]->", "<-[%s%s]-", "-[%s%s]-", "-[%s%s]->"), name, t)
}

// inner writes a condition over variables of a round.
func (g *Generator) inner(vars ...string) string {
	v, w := vars[g.r.IntN(len(vars))], vars[g.r.IntN(len(vars))]
	k := g.one("a", "b")
	switch g.r.IntN(6) {
	case 0:
		return fmt.Sprintf("%s.%s %s %s", v, k, g.one("<", "<=", ">", "<>"), g.num())
	case 1:
		return fmt.Sprintf("%s.%s IS NOT NULL", v, k)
	case 2:
		return fmt.Sprintf("EXISTS { (%s)%s(%s) }", vars[0], g.rel("", false), g.labels())
	case 3:
		return fmt.Sprintf("(%s:%s OR %s.%s = %s)", vars[0], g.one("A", "B", "C"), w, k, g.num())
	}
	return fmt.Sprintf("coalesce(%s.%s, %s) %s coalesce(%s.%s, 1)", v, k, g.num(), g.one("<=", "<>", "<", "="), w, g.one("a", "b"))
}

// round writes the inside of a quantified path pattern; it returns the names of its vertices and relationships.
func (g *Generator) round(n int, hops int) (text string, nodes, rels []string) {
	name := func(s string) string { return fmt.Sprintf("%s%d", s, n) }
	text = "(" + name("x") + g.labels() + ")"
	nodes = []string{name("x")}
	for i := range hops {
		r, v := name(string(rune('e'+i))), name(string(rune('y'+i)))
		if i == hops-1 && hops > 1 && g.r.IntN(8) == 0 {
			text += g.hopText(r) + "(" + nodes[0] + ")" // back where it began
			rels = append(rels, r)
			break
		}
		text += g.hopText(r) + "(" + v + g.labels() + ")"
		nodes, rels = append(nodes, v), append(rels, r)
	}
	if g.r.IntN(2) == 0 {
		text += " WHERE " + g.inner(append(append([]string(nil), nodes...), rels...)...)
	}
	return text, nodes, rels
}

// units writes the u of the elements of a list.
func units(vars []string) string {
	var out []string
	for _, v := range vars {
		out = append(out, fmt.Sprintf("[i IN %s | i.u] AS %s", v, v))
	}
	return strings.Join(out, ", ")
}

func (g *Generator) quantified() {
	hops := 1 + g.r.IntN(2)
	text, nodes, rels := g.round(1, hops)
	quant := g.one("{1,2}", "{0,2}", "{1,3}", "{2}", "{,1}")
	if hops == 2 {
		quant = g.one("{1,2}", "{0,1}", "{1}", "{2}")
	}
	tail, more := "", ""
	switch g.r.IntN(4) {
	case 0:
		tail = g.rel("f", false) + "(z" + g.labels() + ")"
		more = ", f.u AS f, z.u AS z"
	case 1:
		t2, n2, r2 := g.round(2, 1)
		tail = "(" + t2 + ")" + g.one("{1,2}", "{0,1}")
		more = ", " + units(append(n2, r2...))
	}
	closed := g.r.IntN(6) == 0
	from, to := "(s"+g.labels()+")", "(t"+g.labels()+")"
	if closed {
		to = "(s)"
	}
	g.p("%sMATCH ", g.one("", "", "MATCH (o {u: 'n1'}) ", "MATCH (o {u: 'n2'}) OPTIONAL "))
	named := g.r.IntN(2) == 0
	if named {
		g.p("p = ")
	}
	g.p("%s (%s)%s %s%s ", from, text, quant, to, tail)
	if g.r.IntN(4) == 0 {
		g.p("WHERE size(%s) %s %s ", rels[0], g.one(">", "<>", "<="), g.one("0", "1", "2"))
	}
	if g.r.IntN(5) == 0 {
		g.p("RETURN count(*) AS c, count(DISTINCT s) AS d")
		return
	}
	g.p("RETURN s.u AS s, %s%s", units(append(nodes, rels...)), more)
	if !closed {
		g.p(", t.u AS t")
	}
	if named {
		g.p(", p, length(p) AS l")
	}
}

func (g *Generator) selector() {
	all := g.r.IntN(2) == 0 // every path of the lengths chosen: the answer is the same whoever finds it
	sel := g.one("ANY SHORTEST", "SHORTEST 1", "SHORTEST 2", "SHORTEST 3 PATHS", "ANY", "ANY 2")
	if all {
		sel = g.one("ALL SHORTEST", "SHORTEST GROUP", "SHORTEST 2 GROUPS", "SHORTEST 3 PATH GROUPS", "ALL SHORTEST")
	}
	var body string
	inside := []string{}
	switch g.r.IntN(5) {
	case 0:
		body = g.rel("", false) + "{1,3}"
	case 1:
		t, n, r := g.round(1, 1)
		body = " (" + t + ")" + g.one("{1,3}", "{0,2}", "{2,3}") + " "
		inside = append(n, r...)
	case 2:
		t, n, r := g.round(1, 2)
		body = " (" + t + ")" + g.one("{1,2}", "{0,2}") + " "
		inside = append(n, r...)
	case 3:
		body = g.hopText("f") + "(m" + g.labels() + ")" + g.rel("", false) + g.one("{1,2}", "{0,2}")
	default:
		t, n, r := g.round(1, 1)
		body = " (" + t + ")" + g.one("{1,2}", "{0,2}") + " (m" + g.labels() + ")" + g.rel("", false) + g.one("{0,2}", "{1,2}", "{1}")
		inside = append(n, r...)
	}
	to := "(t" + g.labels() + ")"
	if g.r.IntN(8) == 0 {
		to = "(s)"
	}
	pattern := "(s" + g.labels() + ")" + body + to
	switch g.r.IntN(6) {
	case 0:
		pattern = "(" + pattern + " WHERE " + g.one("length(p) > 1", "length(p) <> 2", "s.a < 3", "any(i IN nodes(p) WHERE i.a = 1)", "none(i IN relationships(p) WHERE i.b = 2)", "all(i IN nodes(p) WHERE i.a < 3)") + ")"
	case 1:
		if strings.Contains(body, "(m") {
			pattern = "(" + pattern + " WHERE " + g.one("m.a > 0", "m.a <> s.a", "m.b < 3 AND s.a IS NOT NULL") + ")"
		}
	}
	switch g.r.IntN(6) {
	case 0:
		g.p("MATCH (s%s), (t%s) ", g.labels(), g.labels())
	case 1:
		g.p("MATCH (s%s) OPTIONAL ", g.labels())
	case 2:
		g.p("MATCH (t {u: 'n1'}) ")
	}
	g.p("MATCH p = %s %s ", sel, pattern)
	if g.r.IntN(6) == 0 {
		g.p("WHERE length(p) %s 2 ", g.one("<", ">", ">=", "<>"))
	}
	g.p("RETURN s.u AS s, length(p) AS l")
	if to != "(s)" {
		g.p(", t.u AS t")
	}
	if !all {
		return
	}
	g.p(", p")
	if len(inside) > 0 {
		g.p(", %s", units(inside))
	}
	if strings.Contains(body, "(m") {
		g.p(", m.u AS m")
	}
}

// shortestWhere writes shortestPath() with conditions on the path.
func (g *Generator) shortestWhere() {
	f := g.one("shortestPath", "allShortestPaths")
	where := g.one("length(p) > 1", "length(p) <> 2", "all(i IN nodes(p) WHERE i.a < 3)", "none(i IN nodes(p) WHERE i.b = 2)", "all(i IN relationships(p) WHERE i.a > 0)", "any(i IN r WHERE i.a = 1)", "size(r) > 1 AND all(i IN nodes(p) WHERE i.b >= 0)",
		"any(i IN nodes(p) WHERE i.u = x.u AND i.a = y.a)", "all(i IN nodes(p) WHERE i.a <= y.a)")
	g.p("MATCH (x%s), (y%s) %sMATCH p = %s((x)%s(y)) WHERE %s RETURN x.u AS x, y.u AS y, length(p) AS l", g.labels(), g.labels(), g.one("", "OPTIONAL "), f,
		fmt.Sprintf(g.one("-[r%s]->", "<-[r%s]-", "-[r%s]-"), g.one("", ":R", ":S")+g.one("*..3", "*1..2", "*0..3", "*..4")), where)
	if f == "allShortestPaths" {
		g.p(", p")
	}
}
