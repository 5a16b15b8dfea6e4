package load_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/load"
)

// loading is one load: files by name, what to load of them, and how.
type loading struct {
	files        map[string]string
	nodes, edges []string
	opt          load.Options
}

func open(t testing.TB) *hedgerow.DB {
	t.Helper()
	db, err := hedgerow.OpenMemory(&hedgerow.Options{CacheBytes: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func (l loading) plan(t testing.TB) (*load.Plan, string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range l.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	specs := func(list []string, edges bool) (out []load.Spec) {
		for _, s := range list {
			names, file, ok := strings.Cut(s, "=")
			if !ok {
				names, file = "", s
			}
			s = filepath.Join(dir, file)
			if ok {
				s = names + "=" + s
			}
			spec, err := load.ParseSpec(s, edges)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, spec)
		}
		return out
	}
	p, err := load.NewPlan(specs(l.nodes, false), specs(l.edges, true), l.opt)
	if p != nil {
		t.Cleanup(p.Close)
	}
	return p, dir, err
}

// run loads into a database and returns the report and the error's text, without the directory.
func (l loading) run(t testing.TB, db *hedgerow.DB) (*load.Report, string) {
	t.Helper()
	p, dir, err := l.plan(t)
	var rep *load.Report
	if err == nil {
		rep, err = p.Run(context.Background(), &load.Embedded{DB: db}, nil)
	}
	if err == nil {
		return rep, ""
	}
	return rep, strings.ReplaceAll(err.Error(), dir+"/", "")
}

// ask returns a result's rows as text, one a line.
func ask(t testing.TB, db *hedgerow.DB, q string) string {
	t.Helper()
	rows, err := db.Query(context.Background(), q, nil)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	var out []string
	for rows.Next() {
		var cells []string
		for i := range rows.Columns() {
			cells = append(cells, rows.Text(i))
		}
		out = append(out, strings.Join(cells, " | "))
	}
	if err := rows.Close(); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return strings.Join(out, "\n")
}

func expect(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\ngot  %s\nwant %s", what, got, want)
	}
}

var quoted = load.Options{Quotes: true}

func TestLoad(t *testing.T) {
	for name, c := range map[string]struct { // labels are printed in the order in which the graph first met them
		loading
		ask, want string
		err       string // beginning of the error
	}{
		"nodes and edges": {loading{map[string]string{
			"p.csv": "id,name,age\n1,Ada,36\n2,Bo,\n", "k.csv": "Person.id,Person.id,since:date\n1,2,2020-02-29\n"},
			[]string{"Person=p.csv"}, []string{"KNOWS=k.csv"}, quoted},
			"MATCH (a)-[k]->(b) RETURN a, k, b.age, k.since.day", "(:Person {id: 1, age: 36, name: 'Ada'}) | [:KNOWS {since: '2020-02-29'}] | null | 29", ""},
		"inference keeps what a number would lose": {loading{map[string]string{
			"a.csv": "zip,phone,big,f,neg,b,mixed,empty,e,lead\n01234,+4912,12345678901234567890,1.5,-3,true,1,,1e3,-05\n1,2,3,2,4,FALSE,x,,2,1\n"},
			[]string{"A=a.csv"}, nil, quoted},
			"MATCH (n:A) WHERE n.zip = '01234' RETURN n.phone, n.big, n.f, n.neg, n.b, n.mixed, n.empty, n.e, n.lead",
			"'+4912' | '12345678901234567890' | 1.5 | -3 | true | '1' | null | 1000.0 | '-05'", ""},
		"types": {loading{map[string]string{
			"a.csv": "i:int,f:float,b:boolean,s:string,d:date,t:time,lt:localtime,dt:datetime,ldt:localdatetime,du:duration,li:int[],ls:string[],ld:date[]\n" +
				"7,2,yes,12,2020-01-02,10:00+01:00,10:00,2020-01-02T03:04:05Z,2020-01-02T03:04,P1D,1;2,a;;b,2020-01-01;2021-01-01\n"},
			[]string{"A=a.csv"}, nil, quoted},
			"MATCH (n:A) RETURN n.i, n.f, n.b, n.s, n.d, n.t, n.lt, n.dt, n.ldt, n.du, n.li, n.ls, n.ld, n.dt.epochSeconds, n.du.days",
			"7 | 2.0 | true | '12' | '2020-01-02' | '10:00+01:00' | '10:00' | '2020-01-02T03:04:05Z' | '2020-01-02T03:04' | 'P1D' | [1, 2] | ['a', '', 'b'] | ['2020-01-01', '2021-01-01'] | 1577934245 | 1", ""},
		"renames, types and labels by columns": {loading{map[string]string{
			"w.csv": "id|name|type|lang|junk\n1|Bergen|city|nn;nb|x\n2|Norge|country||\n"},
			[]string{"Place=w.csv"}, nil, load.Options{Columns: map[string]string{"w.csv": "name=>title,type:LABEL(title),lang=>speaks:string[],junk:IGNORE"}}},
			"MATCH (n:Place) RETURN n ORDER BY n.id", "(:Place:City {id: 1, title: 'Bergen', speaks: ['nn', 'nb']})\n(:Place:Country {id: 2, title: 'Norge'})", ""},
		"several labels": {loading{map[string]string{"p.csv": "id,x\n1,2\n"}, []string{"Post:Message=p.csv"}, nil, quoted},
			"MATCH (n:Message {id: 1}) RETURN labels(n)", "['Post', 'Message']", ""},
		"headers of neo4j-admin": {loading{map[string]string{
			"m.csv": "movieId:ID(Movie),title,year:int,:LABEL,note:IGNORE\ntt1,Matrix,1999,Movie,x\ntt2,Matrix 2,2003,Movie;Sequel,y\n",
			"a.csv": "personId:ID(Person),name,:LABEL\n1,Keanu,Actor\n2,Lana,Director;Actor\n",
			"r.csv": ":START_ID(Person),role,:END_ID(Movie),:TYPE\n1,Neo,tt1,ACTED_IN\n2,,tt2,DIRECTED\n"},
			[]string{"m.csv", "a.csv"}, []string{"r.csv"}, quoted},
			"MATCH (a)-[r]->(m) RETURN labels(a), r, m.movieId, m.title ORDER BY m.year",
			"['Actor'] | [:ACTED_IN {role: 'Neo'}] | 'tt1' | 'Matrix'\n['Actor', 'Director'] | [:DIRECTED] | 'tt2' | 'Matrix 2'", ""},
		"ends named by columns": {loading{map[string]string{"p.csv": "id,n\n1,a\n2,b\n", "k.csv": "from,to,w\n1,2,0.5\n"},
			[]string{"P=p.csv"}, []string{"K=k.csv"}, load.Options{Quotes: true, Columns: map[string]string{"k.csv": "from=>P.id,to=>P.id"}}},
			"MATCH (a:P)-[k:K]->(b) RETURN a.n, k.w, b.n", "'a' | 0.5 | 'b'", ""},
		"another key": {loading{map[string]string{"p.csv": "email:ID,n\nx@y,a\n", "k.csv": "P.email,P.email\nx@y,x@y\n"},
			[]string{"P=p.csv"}, []string{"K=k.csv"}, quoted}, "MATCH (a:P)-[:K]->(a) RETURN a.email", "'x@y'", ""},
		"mark, CRLF, quotes, newlines, no last line end": {loading{map[string]string{
			"p.csv": "\uFEFF\"id\",\"text\"\r\n1,\"say \"\"hi\"\"\r\nagain, please\"\r\n\r\n2,a \"b\" c\r\n3,\"\""},
			[]string{"P=p.csv"}, nil, quoted},
			"MATCH (n:P) RETURN n.id, n.text ORDER BY n.id", "1 | 'say \"hi\"\r\nagain, please'\n2 | 'a \"b\" c'\n3 | null", ""},
		"quotes off": {loading{map[string]string{"p.csv": "id|t\n1|\"a\n2|b\"c\n"}, []string{"P=p.csv"}, nil, load.Options{}},
			"MATCH (n:P) RETURN n.t ORDER BY n.id", "'\"a'\n'b\"c'", ""},
		"delimiter of two bytes": {loading{map[string]string{"p.csv": "id§t\n1§a;b\n"}, []string{"P=p.csv"}, nil, load.Options{Delimiter: '§'}},
			"MATCH (n:P) RETURN n.id, n.t", "1 | 'a;b'", ""},
		"names that need quoting": {loading{map[string]string{"p.csv": "id,a b,c`d\n1,2,3\n"}, []string{"My Label=p.csv"}, nil, quoted},
			"MATCH (n:`My Label`) RETURN n.`a b`, n.`c``d`", "2 | 3", ""},
		"header only": {loading{map[string]string{"p.csv": "id,name\n"}, []string{"P=p.csv"}, nil, quoted}, "MATCH (n) RETURN count(*)", "0", ""},

		"missing ends": {loading{map[string]string{"p.csv": "id\n1\n2\n", "k.csv": "P.id,P.id\n1,2\n1,7\n8,2\n9,9\n"}, []string{"P=p.csv"}, []string{"K=k.csv"}, quoted},
			"MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN count(n), count(r)", "2 | 0",
			"k.csv: 3 relationships without one start and one end\n  k.csv:3: there is no (:P {id: 7})\n  k.csv:4: there is no (:P {id: 8})\n  k.csv:5: there is no (:P {id: 9})\n  k.csv:5: there is no (:P {id: 9})\nNothing of this file was loaded."},
		"missing ends skipped": {loading{map[string]string{"p.csv": "id\n1\n2\n", "k.csv": "P.id,P.id\n1,2\n1,7\n8,2\n2,1\n"}, []string{"P=p.csv"}, []string{"K=k.csv"}, load.Options{SkipMissing: true}},
			"MATCH (a)-[r]->(b) RETURN a.id, b.id ORDER BY a.id", "1 | 2\n2 | 1", ""},
		"ends not told apart": {loading{map[string]string{"p.csv": "id\n1\n1\n2\n", "k.csv": "P.id,P.id\n2,1\n"}, []string{"P=p.csv"}, []string{"K=k.csv"}, load.Options{NoConstraint: true}},
			"MATCH (a)-[r]->(b) RETURN count(*)", "0", "k.csv: 1 relationship without one start and one end\n  k.csv:2: 2 nodes are (:P {id: 1})"},
		"keys of the wrong type": {loading{map[string]string{"p.csv": "id:string\n1\n", "k.csv": "P.id:int,P.id:int\n1,1\n"}, []string{"P=p.csv"}, []string{"K=k.csv"}, quoted},
			"MATCH ()-->() RETURN count(*)", "0", "k.csv: 1 relationship without one start and one end\n  k.csv:2: there is no (:P {id: 1})\n  k.csv:2: there is no (:P {id: 1})\nNo row has both: the keys were read as int and int"},
		"bad values": {loading{map[string]string{"p.csv": "id,age:int,born:date\n1,x,2020-01-01\n2,3,2020-13-01\n3,99999999999999999999,\n"}, []string{"P=p.csv"}, nil, quoted},
			"MATCH (n) RETURN count(*)", "0",
			"p.csv: 3 faults; nothing was loaded\n  p.csv:2: column age: \"x\" is no int\n  p.csv:3: column born: \"2020-13-01\" is no date\n  p.csv:4: column age: \"99999999999999999999\" is out of range for an int"},
		"field counts": {loading{map[string]string{"p.csv": "id,a\n1,2\n1\n\"3\nx\",4,5\n"}, []string{"P=p.csv"}, nil, quoted}, "MATCH (n) RETURN count(*)", "0",
			"p.csv: 2 faults; nothing was loaded\n  p.csv:3: the row has 1 field, the header 2\n  p.csv:4: the row has 3 fields, the header 2"},
		"open quote": {loading{map[string]string{"p.csv": "id,a\n1,2\n2,\"x\n3,y\n"}, []string{"P=p.csv"}, nil, quoted}, "MATCH (n) RETURN count(*)", "0",
			"p.csv:3: a quote is opened and never closed"},
		"text after a quote": {loading{map[string]string{"p.csv": "id,a\n1,\"x\"y\n"}, []string{"P=p.csv"}, nil, quoted}, "MATCH (n) RETURN count(*)", "0",
			"p.csv:2: a field goes on after its closing quote"},
		"empty file": {loading{map[string]string{"p.csv": "\n"}, []string{"P=p.csv"}, nil, quoted}, "MATCH (n) RETURN count(*)", "0", "p.csv: the file is empty"},
		"UTF-16":     {loading{map[string]string{"p.csv": "\xFF\xFEi\x00"}, []string{"P=p.csv"}, nil, quoted}, "MATCH (n) RETURN count(*)", "0", "p.csv: the file is UTF-16"},
		"not UTF-8": {loading{map[string]string{"p.csv": "id,a\n1,\xff\n"}, []string{"P=p.csv"}, nil, quoted}, "MATCH (n) RETURN count(*)", "0",
			"p.csv: 1 fault; nothing was loaded\n  p.csv:2: column a is not valid UTF-8"},
		"empty key": {loading{map[string]string{"p.csv": "id,a\n,x\n"}, []string{"P=p.csv"}, nil, quoted}, "MATCH (n) RETURN count(*)", "0",
			"p.csv: 1 fault; nothing was loaded\n  p.csv:2: column id is empty"},
		"duplicate in the file": {loading{map[string]string{"p.csv": "id,a\n1,x\n2,y\n1,z\n"}, []string{"P=p.csv"}, nil, quoted}, "MATCH (n) RETURN count(*)", "0",
			"p.csv:4: (:P {id: 1}) is on line 2 already: duplicate key"},
		"unknown type":         {loading{map[string]string{"p.csv": "id,a:integr\n"}, []string{"P=p.csv"}, nil, quoted}, "MATCH (n) RETURN count(*)", "0", "p.csv: column \"a:integr\": unknown type \"integr\"; known are string"},
		"no such column":       {loading{map[string]string{"p.csv": "id,a\n"}, []string{"P=p.csv"}, nil, load.Options{Columns: map[string]string{"p.csv": "b:int"}}}, "MATCH (n) RETURN count(*)", "0", "p.csv: --columns: there is no column \"b\"; the header has id, a"},
		"no such file":         {loading{nil, []string{"P=p.csv"}, nil, quoted}, "MATCH (n) RETURN count(*)", "0", "stat p.csv"},
		"columns of no file":   {loading{map[string]string{"p.csv": "id\n"}, []string{"P=p.csv"}, nil, load.Options{Columns: map[string]string{"q.csv": "id:int"}}}, "MATCH (n) RETURN count(*)", "0", "--columns names q.csv, which is not among the files"},
		"two columns alike":    {loading{map[string]string{"p.csv": "id,a,a\n"}, []string{"P=p.csv"}, nil, quoted}, "MATCH (n) RETURN count(*)", "0", "p.csv: two columns are named \"a\""},
		"ends without a label": {loading{map[string]string{"k.csv": "from,to\n1,2\n"}, nil, []string{"K=k.csv"}, quoted}, "MATCH (n) RETURN count(*)", "0", "k.csv: column 1, \"from\", must say where the relationship's end is found, as Person.id; name it so, or give --columns 'k.csv=from=>Person.id'"},
		"unknown space":        {loading{map[string]string{"k.csv": ":START_ID(X),:END_ID(X)\n1,2\n"}, nil, []string{"K=k.csv"}, quoted}, "MATCH (n) RETURN count(*)", "0", "k.csv: column \"START_ID\": no file of nodes has :ID(X)"},
		"no type":              {loading{map[string]string{"k.csv": "P.id,P.id\n"}, nil, []string{"k.csv"}, quoted}, "MATCH (n) RETURN count(*)", "0", "k.csv: no type given"},
		"row without a label":  {loading{map[string]string{"p.csv": "id:ID,:LABEL\n1,A\n2,\n"}, []string{"p.csv"}, nil, quoted}, "MATCH (n) RETURN count(*)", "0", "p.csv: 1 fault; nothing was loaded\n  p.csv:3: the row has no label"},
		"empty element":        {loading{map[string]string{"p.csv": "id,a:int[]\n1,1;;2\n"}, []string{"P=p.csv"}, nil, quoted}, "MATCH (n) RETURN count(*)", "0", "p.csv: 1 fault; nothing was loaded\n  p.csv:2: column a: \"1;;2\" has an empty element"},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			_, err := c.run(t, db)
			if !strings.HasPrefix(err, c.err) || c.err == "" && err != "" {
				t.Errorf("error:\ngot  %s\nwant %s", err, c.err)
			}
			expect(t, c.ask, ask(t, db, c.ask), c.want)
		})
	}
}

func TestConstraints(t *testing.T) {
	db := open(t)
	l := loading{map[string]string{"p.csv": "id,a\n1,x\n", "m.csv": "k:ID,:LABEL\n1,A\n2,B;C\n"}, []string{"Post:Message=p.csv", "m.csv"}, nil, quoted}
	if _, err := l.run(t, db); err != "" {
		t.Fatal(err)
	}
	c := db.Conn()
	defer c.Close()
	sc, err := c.Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ix := range sc.Indexes {
		got = append(got, fmt.Sprint(ix.Label, ix.Keys, ix.Unique))
	}
	slices.Sort(got)
	expect(t, "indexes", strings.Join(got, " "), "A[k] true B[k] true Message[id] false Post[id] true")
	// A key that is there is told by line; nothing of the file stays, and what was there does.
	l = loading{map[string]string{"p.csv": "id,a\n5,x\n1,y\n"}, []string{"Post=p.csv"}, nil, quoted}
	_, text := l.run(t, db)
	if !strings.HasPrefix(text, "p.csv:3: (:Post {id: 1}) exists already: duplicate key") {
		t.Error(text)
	}
	expect(t, "posts", ask(t, db, "MATCH (n:Post) RETURN n.id, n.a"), "1 | 'x'")
	db = open(t)
	l = loading{map[string]string{"p.csv": "id,a\n5,x\n5,y\n"}, []string{"Post=p.csv"}, nil, load.Options{NoConstraint: true}}
	if _, err := l.run(t, db); err != "" {
		t.Error(err)
	}
	expect(t, "without constraints", ask(t, db, "MATCH (n:Post {id: 5}) RETURN n.a ORDER BY n.a"), "'x'\n'y'")
	expect(t, "indexes", ask(t, db, "SHOW INDEXES"), "")
}

func TestBatch(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,v:int\n")
	for i := range 25 {
		fmt.Fprintf(&b, "%d,%d\n", i%23, i)
	}
	db := open(t)
	l := loading{map[string]string{"p.csv": b.String()}, []string{"P=p.csv"}, nil, load.Options{Batch: 10}}
	_, text := l.run(t, db)
	if !strings.HasPrefix(text, "p.csv:25: (:P {id: 0}) exists already") || !strings.HasSuffix(text, "The first 20 rows of this file are loaded.") {
		t.Error(text)
	}
	expect(t, "committed batches stay", ask(t, db, "MATCH (n:P) RETURN count(*)"), "20")
}

func TestDescribe(t *testing.T) {
	l := loading{map[string]string{"order_items.csv": "id,born,at,n,tags\n1,2020-01-01,2020-01-01T10:00:00Z,1.5,a;b\n", "k.csv": "OrderItem.id,OrderItem.id\n1,1\n"},
		[]string{"order_items.csv"}, []string{"K=k.csv"}, quoted}
	p, dir, err := l.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "plan", strings.ReplaceAll(p.Describe(), dir+"/", ""), `order_items.csv: 1 node :OrderItem (label guessed from the file's name)
    id:int, born:string, at:string, n:float, tags:string
    born looks like a date; to store it as one: --columns 'order_items.csv=born:date'
    at looks like a datetime; to store it as one: --columns 'order_items.csv=at:datetime'
k.csv: 1 relationship :K
    from (:OrderItem).id:int, to (:OrderItem).id:int
`)
	for file, want := range map[string]string{"people.csv": "Person", "x/children.tsv": "Child", "cities.csv": "City", "boxes.csv": "Box", "status.csv": "Status",
		"person_0_0.csv": "Person", "order-lines.csv": "OrderLine", "7up.csv": "N7up", "!.csv": "Node", "classes.csv": "Class", "éclairs.csv": "Éclair"} {
		if got := load.LabelFromFile(file); got != want {
			t.Errorf("%s: label %s, want %s", file, got, want)
		}
	}
}

// TestPipe: a file that can be read only once is copied.
func TestPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		fmt.Fprint(w, "id,a\n1,x\n2,y\n")
		w.Close()
	}()
	p, err := load.NewPlan([]load.Spec{{Names: []string{"P"}, File: "/dev/fd/" + strconv.Itoa(int(r.Fd()))}}, nil, quoted)
	if err != nil {
		t.Skip(err)
	}
	defer p.Close()
	db := open(t)
	if _, err := p.Run(context.Background(), &load.Embedded{DB: db}, nil); err != nil {
		t.Fatal(err)
	}
	expect(t, "rows", ask(t, db, "MATCH (n:P) RETURN count(*)"), "2")
}

func TestHugeFields(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	db := open(t)
	l := loading{map[string]string{"p.csv": "id,t\n1,\"" + big + "\"\n2," + big + "\n"}, []string{"P=p.csv"}, nil, quoted}
	if _, err := l.run(t, db); err != "" {
		t.Fatal(err)
	}
	expect(t, "sizes", ask(t, db, "MATCH (n:P) RETURN size(n.t), left(n.t, 3), right(n.t, 3)"), "1048576 | '012' | 'def'\n1048576 | '012' | 'def'")
	l.files["p.csv"] = "id,t\n1,\"" + strings.Repeat(big+"\n", 65)
	if _, err := l.run(t, db); !strings.HasPrefix(err, "p.csv:2: the record is longer than 64 MiB") {
		t.Error(err)
	}
}

func TestProgress(t *testing.T) {
	var b strings.Builder
	b.WriteString("id\n")
	for i := range 2500 {
		fmt.Fprintln(&b, i)
	}
	p, _, err := loading{map[string]string{"p.csv": b.String()}, []string{"P=p.csv"}, nil, quoted}.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	var seen []int64
	if _, err := p.Run(context.Background(), &load.Embedded{DB: open(t)}, func(f *load.File, n int64) { seen = append(seen, n) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, []int64{1000, 2000, 2500}) || p.Files[0].Rows != 2500 {
		t.Errorf("progress %v of %d", seen, p.Files[0].Rows)
	}
	ctx, cancel := context.WithCancel(context.Background())
	db := open(t)
	if _, err := p.Run(ctx, &load.Embedded{DB: db}, func(f *load.File, n int64) { cancel() }); err == nil {
		t.Error("a load went on after its context ended")
	}
	expect(t, "a cancelled file is undone", ask(t, db, "MATCH (n:P) RETURN count(*)"), "0")
}

// TestSpeed loads tens of thousands of rows a second, counted in processor time of a machine that others use too.
func TestSpeed(t *testing.T) {
	const n = 20000
	var p, k strings.Builder
	p.WriteString("id,name,born:date,score\n")
	k.WriteString("P.id,P.id,w\n")
	for i := range n {
		fmt.Fprintf(&p, "%d,person %d,19%02d-01-01,%d.5\n", i, i, i%100, i)
		fmt.Fprintf(&k, "%d,%d,%d\n", i, i*7919%n, i)
	}
	began := time.Now()
	rep, text := loading{map[string]string{"p.csv": p.String(), "k.csv": k.String()}, []string{"P=p.csv"}, []string{"K=k.csv"}, quoted}.run(t, open(t))
	if text != "" {
		t.Fatal(text)
	}
	t.Logf("%d nodes, %d relationships: %.0f rows a second", rep.Nodes, rep.Relationships, 2*n/time.Since(began).Seconds())
}

func FuzzReader(f *testing.F) {
	f.Add("id,a\n1,\"x\"\"y\"\r\n", true)
	f.Add("\uFEFFid|a:int[]\n1|2;3", false)
	f.Fuzz(func(t *testing.T, text string, quotes bool) {
		p, _, err := loading{map[string]string{"p.csv": text}, []string{"P=p.csv"}, nil, load.Options{Quotes: quotes}}.plan(t)
		if err == nil && p.Files[0].Rows > int64(strings.Count(text, "\n")+1) {
			t.Errorf("%d rows of %q", p.Files[0].Rows, text)
		}
	})
}
