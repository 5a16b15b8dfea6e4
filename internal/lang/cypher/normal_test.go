package cypher

import (
	"fmt"
	"strings"
	"testing"
)

// show writes a normal form readably: literals as ‹kind number›, kept text in ‹›.
func show(n *Normalizer) string {
	var b strings.Builder
	for i := range n.Lifted {
		l := &n.Lifted[i]
		fmt.Fprintf(&b, "%d=%s ", l.Param, n.text[l.Start:l.Stop])
	}
	for _, k := range n.Kept {
		fmt.Fprintf(&b, "[%s] ", n.text[k.Start:k.Stop])
	}
	return strings.TrimSpace(b.String())
}

func TestLifted(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`MATCH (n:A {id: 5, name: 'x'}) RETURN n`, `0=5 1='x'`},
		{`MATCH (n) WHERE n.x = -5 AND n.y > 1.5 RETURN n.x AS x`, `0=-5 1=1.5`},
		{`MATCH (n) WHERE n.x - 5 = 3 RETURN n`, `0=5 1=3`},
		{`MATCH (n) RETURN n.x+1, count(*) ORDER BY n.x+1`, `[n.x+1] [count(*)]`},
		{`MATCH (n) RETURN n.x+1 AS a, count(*) AS c ORDER BY n.x+1`, `0=1 0=1`},
		{`MATCH (n) RETURN n.x ORDER BY n.x + 7 LIMIT 10`, `0=7 1=10 [n.x]`},
		{`RETURN 1`, `[1]`},
		{`RETURN 1 AS one`, `0=1`},
		{`RETURN CASE 1 WHEN 1, 2 THEN 'a' ELSE 'b' END`, `[CASE 1 WHEN 1, 2 THEN 'a' ELSE 'b' END]`},
		{`RETURN CASE 1 WHEN 1, 2 THEN 'a' ELSE 'b' END AS x`, `0=1 0=1 1=2 2='a' 3='b'`},
		{`MATCH (n) RETURN n LIMIT 1`, ``},
		{`MATCH (n) RETURN n SKIP 0 LIMIT 25`, `0=25`},
		{`MATCH (n) RETURN n LIMIT -1`, ``},
		{`MATCH (n) RETURN n LIMIT 1.5`, ``},
		{`MATCH (a)-[:R*1..3]->(b) RETURN a`, ``},
		{`MATCH (a)-[:R*..3 {x: 3}]->(b) RETURN a`, `0=3`},
		{`MATCH (a)((x)-[:R]->(y)){1,3}(b) RETURN a`, ``},
		{`MATCH (a)-[:R]->{2}(b) RETURN a`, ``},
		{`MATCH p = SHORTEST 2 (a)-[:R]->+(b) RETURN p`, ``},
		{`MATCH (n) WHERE n.name =~ 'a.*' RETURN n`, ``},
		{`MATCH (n) WHERE n['k'] = 'k' RETURN n`, `0='k'`},
		{`WITH [1, 2, 3] AS l RETURN l[0] AS h`, `0=[1, 2, 3] 1=0`},
		{`MATCH (n) WHERE n.x IN [1, 'a'] RETURN n`, `0=1 1='a'`},
		{`MATCH (n) WHERE n.x IN [] RETURN n`, ``},
		{`RETURN date('2020-01-01') AS d, date({year: 2020}) AS e, duration.between(date('2020-01-01'), $x) AS f`, `0=2020`},
		{`WITH -9223372036854775808 AS x RETURN x`, ``},
		{`WITH 9223372036854775808 AS x RETURN x`, ``},
		{`UNWIND [1,2] AS x CALL (x) { RETURN x * 2 AS y } RETURN y`, `0=[1,2] 1=2`},
		{`MATCH (n) WHERE EXISTS { MATCH (n)--(m) WHERE m.x = 3 RETURN 1 } RETURN n`, `0=3 [1]`},
		{`LOAD CSV FROM 'file:///a.csv' AS row FIELDTERMINATOR ';' RETURN row`, `0='file:///a.csv'`},
		{`MATCH (n) WHERE true = false OR n.x = null RETURN n`, ``},
		{`RETURN 'a' + 'a' + "a" AS s`, `0='a' 0='a' 0="a"`},
		{`RETURN 0x10 = 16 AS s`, `0=0x10 0=16`},
		{`RETURN 1 = 1.0 AS s`, `0=1 1=1.0`},
		{`CREATE (n {a: 1, b: -1, c: [1.5, -2.5]})`, `0=1 1=-1 2=[1.5, -2.5]`},
		{`MATCH (n) SET n.x = n.x+1, n:Label`, `0=1`},
	} {
		var n Normalizer
		if !n.Run(c.text, Cypher) {
			t.Errorf("%s: no normal form", c.text)
		} else if got := show(&n); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
		if _, err := Parse(c.text, Options{}); err != nil && !strings.Contains(c.text, "9223372036854775808 AS") {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

func TestSameKey(t *testing.T) {
	key := func(text string) string {
		var n Normalizer
		if !n.Run(text, Cypher) {
			return "none: " + text
		}
		return string(n.Key)
	}
	same := func(a, b string, want bool) {
		t.Helper()
		if got := key(a) == key(b); got != want {
			t.Errorf("%s\n%s\nsame key: %v", a, b, got)
		}
	}
	same(`MATCH (n {id: 1}) RETURN n`, "MATCH  (n{id:2})\nRETURN n;", true)
	same(`MATCH (n {id: 1}) RETURN n`, `MATCH (n {id: 1.0}) RETURN n`, false)
	same(`MATCH (n {id: 1}) RETURN n`, `MATCH (n {id: -1}) RETURN n`, true)
	same(`MATCH (n {a: 1, b: 1}) RETURN n`, `MATCH (n {a: 1, b: 2}) RETURN n`, false)
	same(`MATCH (n {a: 2, b: 1}) RETURN n`, `MATCH (n {a: 1, b: 2}) RETURN n`, true)
	same(`MATCH (n) RETURN n.name`, `MATCH (n) RETURN n . name`, false)
	same(`MATCH (n) RETURN n.name AS name`, `MATCH (n) RETURN n . name AS name`, true)
	same(`MATCH (n) RETURN count(n)`, `MATCH (n) RETURN COUNT(n)`, false)
	same(`MATCH (n) RETURN n LIMIT 10`, `MATCH (n) RETURN n LIMIT 99`, true)
	same(`MATCH (n) RETURN n LIMIT 10`, `MATCH (n) RETURN n LIMIT 100`, false)
	same(`MATCH (n) WHERE n.x IN [1,2] RETURN n`, `MATCH (n) WHERE n.x IN [3,4,5] RETURN n`, true)
	same(`MATCH (n) WHERE n.x IN [1,2] RETURN n`, `MATCH (n) WHERE n.x IN ['a','b'] RETURN n`, false)
	same(`MATCH (n) WHERE n.x IN [1] RETURN n`, `MATCH (n) WHERE n.x IN [1,2] RETURN n`, false)
	same("MATCH (n:`a b`) RETURN n", "MATCH (n:`a  b`) RETURN n", false)
	same(`MATCH (n) WHERE n.x = "a" RETURN n`, `MATCH (n) WHERE n.x = 'b' RETURN n`, true)
	same(`MATCH (n:A) RETURN n`, `MATCH (n:B) RETURN n`, false)
}

func TestPlace(t *testing.T) {
	for _, c := range []struct{ from, at, to, want string }{
		{`RETURN 1/0 AS x`, `1/0`, `RETURN  100 /  0  AS x`, `100 /  0`},
		{`UNWIND [1,2,3] AS x RETURN x + toInteger($y) AS z`, `toInteger($y)`, `UNWIND [1] AS x RETURN x + toInteger($y) AS z`, ``},
		{`UNWIND [1,2,3] AS x RETURN x + toInteger($y) AS z`, `toInteger($y)`, `UNWIND [1, 2] AS x RETURN x+toInteger( $y ) AS z`, `toInteger( $y )`},
		{`UNWIND [1,2,3] AS x RETURN x AS z`, `[1,2,3]`, `UNWIND [10 , 20] AS x RETURN x AS z`, `[10 , 20]`},
	} {
		at := strings.Index(c.from, c.at)
		got, ok := Place(c.from, Span{int32(at), int32(at + len(c.at))}, c.to, Cypher)
		if ok != (c.want != "") || ok && c.to[got.Start:got.Stop] != c.want {
			t.Errorf("%s in %s: %v %v, want %s", c.at, c.to, got, ok, c.want)
		}
	}
}

func TestNormalizerAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const text = `MATCH (p:Person {id: 933})-[:KNOWS]->(f:Person) WHERE f.age > 30 AND f.name STARTS WITH 'A' RETURN f.name AS name, f.age AS age ORDER BY name LIMIT 20`
	var n Normalizer
	if got := testing.AllocsPerRun(100, func() { n.Run(text, Cypher) }); got > 0 {
		t.Errorf("%v allocations a run", got)
	}
}

func BenchmarkNormalize(b *testing.B) {
	const text = `MATCH (p:Person {id: 933})-[:KNOWS]->(f:Person) WHERE f.age > 30 AND f.name STARTS WITH 'A' RETURN f.name AS name, f.age AS age ORDER BY name LIMIT 20`
	var n Normalizer
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		n.Run(text, Cypher)
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add(`MATCH (n {id: 1}) RETURN n.x + 1, [1,2] AS l ORDER BY n.x + 1 LIMIT 10`)
	f.Add(`RETURN CASE WHEN x THEN -1 END AS a, $p{`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []Dialect{Cypher, AGE} {
			var n, m Normalizer
			if !n.Run(text, d) {
				continue
			}
			last := int32(0)
			for _, l := range n.Lifted {
				if l.Start < last || l.Stop <= l.Start || int(l.Stop) > len(text) || l.Param >= n.Params {
					t.Fatalf("literal %+v", l)
				}
				last = l.Stop
			}
			// Space between two tokens changes nothing but the places.
			// Of several semicolons at the end one is left out, so each run leaves out another.
			if len(n.Kept) == 0 && !strings.HasSuffix(string(n.Key), ";\x00") {
				var b strings.Builder
				for _, tok := range n.toks {
					b.WriteString(text[tok.Start:tok.End])
					b.WriteString(" \n")
				}
				if !m.Run(b.String(), d) || string(m.Key) != string(n.Key) {
					t.Fatalf("with more space the key differs: %q %q", n.Key, m.Key)
				}
			}
			for _, l := range n.Lifted {
				if at, ok := Place(text, l.Span, text, d); !ok || at != l.Span {
					t.Fatalf("%v is found at %v", l.Span, at)
				}
			}
		}
	})
}
