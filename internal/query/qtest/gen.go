package qtest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Generator makes random statements whose answer does not depend on what openCypher leaves open: rows that drive a write are put into a
// total order before, every vertex has a key u of its own, and no expression raises an error that another order of
// evaluation would not meet.
type Generator struct {
	r *rand.Rand
	n int // statements so far: makes keys unique

	text strings.Builder
	vals []value.Value
	vars []genVar
	next int
}

type genVar struct {
	name string
	kind byte // n: vertex, m: vertex or null, r: relationship, i: integer or null, s: string or null
}

// Statement is a generated statement in both spellings.
type Statement struct {
	Literal string
	Param   string
	Params  map[string]value.Value
	Write   bool
	Ordered bool
}

// NewGenerator returns a generator that a seed determines.
func NewGenerator(seed uint64) *Generator {
	return &Generator{r: rand.New(rand.NewPCG(seed, 0x48656467))}
}

// Indexes makes statements that only the subject runs: answers must not depend on them.
func (g *Generator) Indexes() []string {
	var out []string
	for _, l := range []string{"A", "B", "C"} {
		for _, k := range []string{"a", "b", "s", "u", "m"} {
			if g.r.IntN(3) == 0 {
				out = append(out, fmt.Sprintf("CREATE INDEX IF NOT EXISTS FOR (n:%s) ON (n.%s)", l, k))
			}
		}
	}
	if g.r.IntN(3) == 0 {
		out = append(out, "CREATE INDEX IF NOT EXISTS FOR (n:A) ON (n.a, n.b)")
	}
	if g.r.IntN(3) == 0 {
		out = append(out, "CREATE INDEX IF NOT EXISTS FOR ()-[r:R]-() ON (r.a)")
	}
	return out
}

// Setup makes the statements of a small graph.
func (g *Generator) Setup() []string {
	var out []string
	nodes := 3 + g.r.IntN(6)
	for i := range nodes {
		var l string
		for _, name := range []string{"A", "B", "C"} {
			if g.r.IntN(3) > 0 {
				l += ":" + name
			}
		}
		out = append(out, fmt.Sprintf("CREATE (%s {u: 'n%d'%s})", l, i, g.setupProps()))
	}
	for i := range nodes + g.r.IntN(2*nodes) {
		t := []string{"R", "S"}[g.r.IntN(2)]
		out = append(out, fmt.Sprintf("MATCH (x {u: 'n%d'}), (y {u: 'n%d'}) CREATE (x)-[:%s {u: 'r%d'%s}]->(y)", g.r.IntN(nodes), g.r.IntN(nodes), t, i, g.setupProps()))
	}
	return out
}

func (g *Generator) setupProps() (s string) {
	if g.r.IntN(3) > 0 {
		s += fmt.Sprintf(", a: %d", g.r.IntN(4))
	}
	if g.r.IntN(3) > 0 {
		s += fmt.Sprintf(", b: %d", g.r.IntN(4))
	}
	if g.r.IntN(3) == 0 {
		s += fmt.Sprintf(", s: '%c'", 'p'+rune(g.r.IntN(3)))
	}
	return s
}

func (g *Generator) p(format string, args ...any) { fmt.Fprintf(&g.text, format, args...) }

// lit writes a literal that becomes a parameter in the other spelling.
func (g *Generator) lit(v value.Value) string {
	g.vals = append(g.vals, v)
	return fmt.Sprintf("⟦%d⟧", len(g.vals)-1)
}

func (g *Generator) num() string { return g.lit(value.NewInt(int64(g.r.IntN(5)))) }

func (g *Generator) fresh(kind byte) string {
	g.next++
	name := fmt.Sprintf("v%d", g.next)
	g.vars = append(g.vars, genVar{name, kind})
	return name
}

func (g *Generator) pick(kinds string) (string, bool) {
	var names []string
	for _, v := range g.vars {
		if strings.IndexByte(kinds, v.kind) >= 0 {
			names = append(names, v.name)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	return names[g.r.IntN(len(names))], true
}

func (g *Generator) one(options ...string) string { return options[g.r.IntN(len(options))] }

// integer writes an integer expression that never fails.
func (g *Generator) integer(depth int) string {
	if depth > 0 && g.r.IntN(2) == 0 {
		switch g.r.IntN(5) {
		case 0:
			return fmt.Sprintf("(%s + %s)", g.integer(depth-1), g.integer(depth-1))
		case 1:
			return fmt.Sprintf("(%s - %s)", g.integer(depth-1), g.integer(depth-1))
		case 2:
			return fmt.Sprintf("coalesce(%s, %s)", g.integer(depth-1), g.num())
		case 3:
			return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.pred(depth-1), g.integer(depth-1), g.integer(depth-1))
		default:
			return fmt.Sprintf("size([%s, %s])", g.integer(depth-1), g.integer(depth-1))
		}
	}
	if g.r.IntN(3) > 0 {
		if v, ok := g.pick("nmr"); ok {
			return v + "." + g.one("a", "b")
		}
	}
	if v, ok := g.pick("i"); ok && g.r.IntN(2) == 0 {
		return v
	}
	return g.num()
}

// pred writes a predicate that never fails.
func (g *Generator) pred(depth int) string {
	if depth > 0 && g.r.IntN(2) == 0 {
		switch g.r.IntN(5) {
		case 0:
			return fmt.Sprintf("(%s AND %s)", g.pred(depth-1), g.pred(depth-1))
		case 1:
			return fmt.Sprintf("(%s OR %s)", g.pred(depth-1), g.pred(depth-1))
		case 2:
			return fmt.Sprintf("NOT %s", g.pred(depth-1))
		case 3:
			if v, ok := g.pick("n"); ok {
				return fmt.Sprintf("EXISTS { (%s)%s(%s) }", v, g.rel("", false), g.labels())
			}
		default:
			if v, ok := g.pick("n"); ok {
				return fmt.Sprintf("(%s)%s(%s)", v, g.rel("", false), g.labels())
			}
		}
	}
	switch g.r.IntN(7) {
	case 0:
		if v, ok := g.pick("nmr"); ok {
			return fmt.Sprintf("%s.%s IS %sNULL", v, g.one("a", "b", "s"), g.one("", "NOT "))
		}
	case 1:
		if v, ok := g.pick("n"); ok {
			return v + ":" + g.one("A", "B", "C", "A:B")
		}
	case 2:
		return fmt.Sprintf("%s IN [%s, %s]", g.integer(0), g.num(), g.num())
	case 3:
		if v, ok := g.pick("nmr"); ok {
			return fmt.Sprintf("%s.s = %s", v, g.lit(value.NewString(g.one("p", "q", "r"))))
		}
	}
	return fmt.Sprintf("%s %s %s", g.integer(1), g.one("=", "<>", "<", "<=", ">", ">="), g.integer(1))
}

func (g *Generator) labels() string {
	return g.one("", "", "", "", "", ":A", ":B", ":C", ":A:B")
}

func (g *Generator) rel(name string, long bool) string {
	t := g.one("", ":R", ":S", ":R|S")
	if long {
		if g.r.IntN(3) == 0 {
			return fmt.Sprintf(g.one("-[%s%s]->", "<-[%s%s]-", "-[%s%s]-"), name, t) + g.one("{1,2}", "{0,1}", "{2}", "{,2}")
		}
		t += g.one("*1..2", "*0..1", "*2", "*1..3")
	}
	return fmt.Sprintf(g.one("-[%s%s]->", "<-[%s%s]-", "-[%s%s]-"), name, t)
}

// node writes a node of a pattern: a bound variable or a new one.
func (g *Generator) node(kind byte, bound bool) string {
	if bound {
		if v, ok := g.pick("n"); ok && g.r.IntN(8) > 0 {
			return "(" + v + ")"
		}
	}
	l := g.labels()
	props := ""
	if g.r.IntN(10) == 0 {
		props = fmt.Sprintf(" {%s: %s}", g.one("a", "b"), g.num())
	}
	return "(" + g.fresh(kind) + l + props + ")"
}

// match writes MATCH or OPTIONAL MATCH.
func (g *Generator) match(optional bool) {
	kind, rkind := byte('n'), byte('r')
	if optional {
		g.p("OPTIONAL ")
		kind, rkind = 'm', 'm'
	}
	// What an optional part binds is known only behind it.
	before := len(g.vars)
	g.p("MATCH ")
	parts := 1
	if g.r.IntN(8) == 0 {
		parts = 2
	}
	for i := range parts {
		if i > 0 {
			g.p(", ")
		}
		g.p("%s", g.node(kind, before > 0))
		for range []int{0, 1, 1, 1, 2}[g.r.IntN(5)] {
			if g.r.IntN(5) == 0 {
				g.p("%s", g.rel("", true))
			} else if g.r.IntN(2) == 0 {
				g.p("%s", g.rel(g.fresh(rkind), false))
			} else {
				g.p("%s", g.rel("", false))
			}
			g.p("%s", g.node(kind, false))
		}
	}
	g.p(" ")
	if g.r.IntN(3) == 0 {
		g.p("WHERE %s ", g.pred(g.r.IntN(3)))
	}
}

func (g *Generator) begin() {
	g.n++
	g.text.Reset()
	g.vals, g.vars, g.next = nil, nil, 0
}

// order writes an ORDER BY that is total on the rows: entities by u, values by themselves.
func (g *Generator) order() {
	sep := " ORDER BY "
	for _, v := range g.vars {
		if v.kind == 'i' || v.kind == 's' {
			g.p("%s%s", sep, v.name)
		} else {
			g.p("%s%s.u", sep, v.name)
		}
		if g.r.IntN(4) == 0 {
			g.p(" DESC")
		}
		sep = ", "
	}
	g.p(" ")
}

func (g *Generator) names() string {
	var out []string
	for _, v := range g.vars {
		out = append(out, v.name)
	}
	return strings.Join(out, ", ")
}

// Next makes a statement.
func (g *Generator) Next() Statement {
	g.begin()
	st := Statement{}
	if g.r.IntN(2) == 0 {
		st.Ordered = g.read()
	} else {
		g.write()
		st.Write = true
	}
	return g.finish(st)
}

func (g *Generator) finish(st Statement) Statement {
	lit, par := g.text.String(), g.text.String()
	st.Params = map[string]value.Value{}
	for i, v := range g.vals {
		mark := fmt.Sprintf("⟦%d⟧", i)
		lit = strings.ReplaceAll(lit, mark, string(value.AppendTCK(nil, v)))
		name := fmt.Sprintf("p%d", i)
		par = strings.ReplaceAll(par, mark, "$"+name)
		st.Params[name] = v
	}
	st.Literal, st.Param = lit, par
	return st
}

// read writes a reading statement and reports whether its rows are in a total order.
func (g *Generator) read() (ordered bool) {
	switch g.r.IntN(16) {
	case 0:
		return g.union()
	case 1, 2:
		g.special()
		return false
	case 3, 4, 5:
		g.paths()
		return false
	}
	if g.r.IntN(5) == 0 {
		v := g.fresh('i')
		g.p("UNWIND [%s, %s, null] AS %s ", g.num(), g.num(), v)
	}
	for range 1 + g.r.IntN(4)/3 {
		g.match(false)
	}
	if g.r.IntN(3) == 0 {
		g.match(true)
	}
	if g.r.IntN(3) == 0 {
		g.with()
		if g.r.IntN(2) == 0 {
			g.match(g.r.IntN(2) == 0)
		}
	}
	return g.ret()
}

// with writes an intermediate projection, maybe aggregating.
func (g *Generator) with() {
	switch g.r.IntN(4) {
	case 0: // group by one entity
		if v, ok := g.pick("n"); ok {
			c, x := g.integer(1), g.one("count(*)", "count(DISTINCT %s)", "sum(%s)", "min(%s)", "max(%s)", "count(%s)")
			if strings.Contains(x, "%s") {
				x = fmt.Sprintf(x, c)
			}
			g.vars = []genVar{{v, 'n'}}
			g.p("WITH %s, %s AS %s ", v, x, g.fresh('i'))
		}
	case 1:
		e := g.integer(1)
		keep := g.vars
		g.p("WITH DISTINCT %s, %s AS ", g.names(), e)
		g.vars = keep
		g.p("%s ", g.fresh('i'))
	case 2:
		g.p("WITH %s", g.names())
		g.order()
		g.p("%s%s ", g.one("", "SKIP 1 "), g.one("LIMIT 3", "LIMIT 1", "LIMIT 10"))
	default:
		g.p("WITH * WHERE %s ", g.pred(2))
	}
}

func (g *Generator) ret() bool {
	switch g.r.IntN(5) {
	case 0:
		g.p("RETURN count(*) AS c, sum(%s) AS s, max(%s) AS m", g.integer(1), g.integer(1))
		return false
	case 1:
		g.p("RETURN DISTINCT %s AS x, %s AS y", g.integer(2), g.pred(0))
		return false
	case 2:
		if v, ok := g.pick("n"); ok {
			g.p("RETURN %s.u AS u, COUNT { (%s)--(%s) } AS c, size([(%s)-->(%s) | 1]) AS k", v, v, g.labels(), v, g.labels())
			return false
		}
	case 3:
		g.p("RETURN %s", g.names())
		g.order()
		if g.r.IntN(2) == 0 {
			g.p("%sLIMIT %d", g.one("", "SKIP 1 ", "SKIP 2 "), g.r.IntN(6))
		}
		return false // ties between equal keys of DISTINCT rows may come in any order
	}
	g.p("RETURN %s, %s AS x", g.names(), g.integer(2))
	return false
}

// special writes one of the shapes that have an operator of their own.
func (g *Generator) special() {
	t := g.one("", ":R", ":S", ":R|S")
	arrow := g.one("-[%s]->", "<-[%s]-", "-[%s]-")
	switch g.r.IntN(9) {
	case 0: // end points only
		g.p("MATCH (x%s)"+arrow+"(y%s) RETURN DISTINCT x.u AS x, y.u AS y", g.labels(), t+g.one("*1..2", "*1..3", "*0..2", "*1..4"), g.labels())
	case 1:
		g.p("MATCH (x%s), (y%s) WHERE x <> y MATCH p = shortestPath((x)"+arrow+"(y)) RETURN x.u AS x, y.u AS y, length(p) AS l", g.labels(), g.labels(), t+g.one("*", "*..3", "*1..2"))
	case 2:
		g.p("MATCH (x%s), (y%s) WHERE x <> y MATCH p = allShortestPaths((x)"+arrow+"(y)) RETURN p", g.labels(), g.labels(), t+g.one("*", "*..3"))
	case 3: // join on equality
		g.p("MATCH (x%s), (y%s) WHERE x.%s = y.%s RETURN x.u AS x, y.u AS y", g.labels(), g.labels(), g.one("a", "b", "s"), g.one("a", "b", "s"))
	case 4:
		g.p("MATCH p = (x%s)"+arrow+"(y%s) RETURN p, [n IN nodes(p) | n.u] AS n, [r IN relationships(p) | r.u] AS r", g.labels(), t+g.one("", "*1..2", "*0..2"), g.labels())
	case 5:
		g.p("MATCH (x%s) CALL { WITH x MATCH (x)"+arrow+"(y%s) RETURN %s } RETURN x.u AS x, c", g.labels(), t, g.labels(),
			g.one("count(y) AS c", "max(y.a) AS c", "y.u AS c", "y.u AS c ORDER BY c LIMIT 1", "count(DISTINCT y.b) AS c"))
	case 6:
		g.p("MATCH (x%s)-[r*1..2]->(y) RETURN x.u AS x, [e IN r | e.u] AS r, size(r) AS s", g.labels())
	case 7:
		g.p("MATCH (x%s) OPTIONAL MATCH (x)"+arrow+"(y%s) WITH x, y ORDER BY y.u WITH x, collect(y.u) AS l RETURN x.u AS x, l", g.labels(), t, g.labels())
	default:
		k := g.one("a", "b")
		g.p("MATCH (x:%s) WHERE x.%s %s RETURN x.u AS x", g.one("A", "B", "C"), k, g.one(">= "+g.num(), "< "+g.num(), "= "+g.num(), "IN ["+g.num()+", "+g.num()+", null]",
			"> "+g.num()+" AND x."+k+" <= "+g.num()+" AND x.s STARTS WITH "+g.lit(value.NewString(g.one("p", "q", "")))))
	}
}

func (g *Generator) union() bool {
	all := g.one("UNION ", "UNION ALL ")
	for i := range 2 {
		if i > 0 {
			g.p("%s", all)
		}
		g.vars = nil
		g.match(false)
		g.p("RETURN %s AS x, %s AS y ", g.integer(1), g.integer(1))
	}
	return false
}

// write writes a statement that changes the graph.
func (g *Generator) write() {
	// One or two driving matches, then a total order.
	for range 1 + g.r.IntN(4)/3 {
		g.match(false)
	}
	if g.r.IntN(4) == 0 {
		g.match(true)
	}
	g.p("WITH DISTINCT %s", g.names())
	g.order()
	g.p("LIMIT %d ", 1+g.r.IntN(12))
	deleted, pending := false, true // pending: nothing ends the statement yet
	for range 1 + g.r.IntN(3) {
		if deleted {
			break
		}
		switch g.r.IntN(9) {
		case 0, 1, 2:
			g.set()
		case 3:
			if v, ok := g.pick("nr"); ok {
				g.p("REMOVE %s.%s ", v, g.one("a", "b", "s"))
			}
		case 4:
			if v, ok := g.pick("n"); ok {
				g.p("REMOVE %s:%s ", v, g.one("A", "B"))
			}
		case 5:
			g.create()
		case 6:
			g.merge()
		case 7:
			if v, ok := g.pick("nr"); ok {
				g.p("FOREACH (i IN [%s, %s] | SET %s.a = coalesce(%s.a, 0) + i) ", g.num(), g.num(), v, v)
			}
		default:
			if v, ok := g.pick("nmr"); ok {
				g.p("%s %s ", g.one("DETACH DELETE", "DELETE"), v)
				deleted = true
			}
		}
		pending = false
		if !deleted && g.r.IntN(5) == 0 {
			pending = true
			// Reads what has just been written.
			g.p("WITH %s", g.names())
			g.order()
			g.match(g.r.IntN(2) == 0)
			g.p("WITH DISTINCT %s", g.names())
			g.order()
			g.p("LIMIT 12 ")
		}
	}
	switch {
	case deleted:
		g.p("RETURN count(*) AS c")
	case g.r.IntN(3) == 0:
		g.p("RETURN count(*) AS c, sum(%s) AS s", g.integer(1))
	case pending || g.r.IntN(2) == 0:
		g.p("RETURN %s, %s AS x%s", g.names(), g.integer(1), g.one("", " LIMIT 100"))
	}
}

func (g *Generator) set() {
	g.p("SET ")
	for i := range 1 + g.r.IntN(2) {
		if i > 0 {
			g.p(", ")
		}
		v, ok := g.pick("nmr")
		if !ok {
			return
		}
		switch g.r.IntN(7) {
		case 2:
			if n, ok := g.pick("nr"); ok {
				g.p("%s = {u: %s.u, a: %s, m: %s}", n, n, g.integer(1), g.num())
				continue
			}
			g.p("%s.a = %s", v, g.num())
		case 0:
			if n, ok := g.pick("n"); ok {
				g.p("%s:%s", n, g.one("A", "B", "C"))
				continue
			}
			g.p("%s.a = %s", v, g.num())
		case 1:
			g.p("%s += {b: %s}", v, g.integer(1))
		default:
			g.p("%s.%s = %s", v, g.one("a", "b"), g.integer(2))
		}
	}
	g.p(" ")
}

// key writes an expression for the key of something that a row makes: unique as long as the rows are.
func (g *Generator) key() string {
	s := fmt.Sprintf("'s%d'", g.n)
	for _, v := range g.vars {
		switch v.kind {
		case 'n', 'r':
			s += " + '_' + " + v.name + ".u"
		case 'm':
			s += " + '_' + coalesce(" + v.name + ".u, '')"
		case 'i':
			s += " + '_' + coalesce(toString(" + v.name + "), '')"
		}
	}
	return s
}

func (g *Generator) create() {
	k, e := g.key(), g.integer(1)
	v, ok := g.pick("n")
	if ok && g.r.IntN(2) == 0 {
		w, _ := g.pick("n")
		r := g.fresh('r')
		g.p("CREATE (%s)-[%s:%s {u: %s, a: %s}]->(%s) ", v, r, g.one("R", "S"), k, e, w)
		return
	}
	n := g.fresh('n')
	g.p("CREATE (%s%s {u: %s, a: %s}) ", n, g.labels(), k, e)
	if ok && g.r.IntN(2) == 0 {
		r := g.fresh('r')
		g.p("CREATE (%s)-[%s:R {u: 'e' + %s}]->(%s) ", v, r, k, n)
	}
}

func (g *Generator) merge() {
	k := g.key()
	v, ok := g.pick("n")
	if ok && g.r.IntN(2) == 0 {
		w, _ := g.pick("n")
		r := g.fresh('r')
		// More than one match, or two relationships with one name, would give rows that nothing orders.
		t := g.one("R", "S")
		g.p("MERGE (%s)-[%s:%s {u: 'm%d%s' + %s.u + '>' + %s.u}]->(%s) ON MATCH SET %s.a = coalesce(%s.a, 0) + 1 ", v, r, t, g.r.IntN(3), t, v, w, w, r, r)
		return
	}
	if ok && g.r.IntN(3) == 0 {
		n, l, m := g.fresh('n'), g.one(":A", ":B", ""), g.r.IntN(3)
		t := g.one("R", "S")
		g.p("MERGE (%s)-[:%s {u: 'q%d%s%s' + %s.u}]->(%s%s {m: %d}) ON CREATE SET %s.u = %s ON MATCH SET %s.a = coalesce(%s.a, 0) + 1 ", v, t, m, t, l, v, n, l, m, n, k, n, n)
		return
	}
	e := g.num()
	n := g.fresh('n')
	g.p("MERGE (%s%s {m: %s}) ON CREATE SET %s.u = %s ON MATCH SET %s.b = coalesce(%s.b, 0) + 1 ", n, g.one(":A", ":B", ":C"), e, n, k, n, n)
}
