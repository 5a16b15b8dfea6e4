package bench

import (
	"strings"
	"testing"
)

func TestParseDSN(t *testing.T) {
	for _, c := range []struct {
		text string
		want DSN
	}{
		{"embedded:", DSN{Name: "embedded", Kind: Embedded, Graph: "main"}},
		{"mine=embedded:/data/x=y", DSN{Name: "mine", Kind: Embedded, Address: "/data/x=y", Graph: "main"}},
		{"hedgerow://u@h:5433/social?pid=12", DSN{Name: "hedgerow", Kind: Wire, Address: "postgres://u@h:5433/social", Graph: "social", PID: 12}},
		{"hedgerow://h/?literals=true&sslmode=disable", DSN{Name: "hedgerow-literals", Kind: Wire, Address: "postgres://h/?sslmode=disable", Graph: "main", Literals: true}},
		{"bolt://h:7687/social", DSN{Name: "bolt", Kind: Bolt, Address: "bolt://h:7687", Graph: "social"}},
		{"neo=neo4j+s://h", DSN{Name: "neo", Kind: Bolt, Address: "neo4j+s://h"}},
		{"age://h/db?graph=g1", DSN{Name: "age", Kind: AGE, Address: "postgres://h/db", Graph: "g1"}},
		{"postgres://h/db?host=/run", DSN{Name: "sql", Kind: SQL, Address: "postgres://h/db?host=%2Frun"}},
	} {
		if got, err := ParseDSN(c.text); err != nil || got != c.want {
			t.Errorf("%s is %+v, %v", c.text, got, err)
		}
	}
	for _, wrong := range []string{"", "nothing", "mysql://h", "age://h?pid=x", "postgres://h?pid=0", "bolt://h?literals=true", "hedgerow://h?literals=maybe", "embedded:?x=1", "bolt://%zz", "hedgerow://%zz", "age://h?%zz"} {
		if d, err := ParseDSN(wrong); err == nil {
			t.Errorf("%q is %+v", wrong, d)
		}
	}
	d, err := ParseDSN("bolt://neo4j:secret@h")
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParseDSN("postgres://u:secret@h/db")
	if err != nil {
		t.Fatal(err)
	}
	if d.password == nil || strings.Contains(d.Address, "secret") || strings.Contains(p.redacted().Address, "secret") || d.redacted().password != nil {
		t.Errorf("a password can be seen in %+v or %+v", d, p.redacted())
	}
}

func TestTexts(t *testing.T) {
	p := Params{"id": int64(-7), "name": `O'Hara \ x`, "ids": []int64{1, 2}}
	if got := paste("MATCH (p {id: $id, n: $name}) WHERE p.x IN $ids RETURN $other, $id", p); got != `MATCH (p {id: -7, n: 'O\'Hara \\ x'}) WHERE p.x IN [1, 2] RETURN $other, -7` {
		t.Error(got)
	}
	if got := paramText(p); got != `$id = -7, $ids = [1, 2], $name = 'O\'Hara \\ x'` {
		t.Error(got)
	}
	if got := string(sqlText([]int64{3, 4})) + string(sqlText("x")) + string(sqlText(int64(5))); got != "{3,4}x5" {
		t.Error(got)
	}
	if got := string(agtypeMap(Params{"a": "x\"y"})); got != `{"a": "x\"y"}` {
		t.Error(got)
	}
	for _, c := range []struct {
		x    any
		want string
	}{{nil, "null"}, {true, "true"}, {int64(3), "3"}, {3.0, "3.0"}, {2.5, "2.5"}, {"a\"<b", `"a\"\u003cb"`}, {[]any{int64(1), "x", nil}, `[1, "x", null]`}} {
		if got := canon(c.x); got != c.want {
			t.Errorf("%v is %s", c.x, got)
		}
	}
	for _, c := range []struct {
		text string
		oid  uint32
		want string
	}{{"12", 20, "12"}, {"a", 25, `"a"`}, {`"a<b"`, 99999, `"a\u003cb"`}, {"12", 99999, "12"}, {"[1, \"x\"]", 99999, `[1, "x"]`}, {"7::numeric", 99999, "7"}, {"null", 99999, "null"}, {"{broken", 99999, `"{broken"`}} {
		if got := sqlCanon([]byte(c.text), c.oid); got != c.want {
			t.Errorf("%s of type %d is %s", c.text, c.oid, got)
		}
	}
	if sqlCanon(nil, 25) != "null" {
		t.Error("NULL")
	}
	if snake("locationIP") != "location_ip" || snake("firstName") != "first_name" || snake("id") != "id" {
		t.Error("names of columns")
	}
}
