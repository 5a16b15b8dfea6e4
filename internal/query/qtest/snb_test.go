package qtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/testkit"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// socialData makes a graph with the labels, types and keys of SNB, small enough for the reference run.
var socialData = []string{
	`UNWIND range(0, 2) AS i CREATE (:Place:Country {id: 1000 + i, name: 'land' + i}) WITH i UNWIND range(0, 2) AS k MATCH (l:Country {id: 1000 + i}) CREATE (:Place:City {id: 1100 + 3 * i + k, name: 'town' + (3 * i + k)})-[:IS_PART_OF]->(l)`,
	`UNWIND range(0, 3) AS i MATCH (c:Country {id: 1000 + i % 3}), (t:City {id: 1100 + i}) CREATE (:Organisation:Company {id: 1200 + i, name: 'firm' + i})-[:IS_LOCATED_IN]->(c), (:Organisation:University {id: 1300 + i, name: 'school' + i})-[:IS_LOCATED_IN]->(t)`,
	`CREATE (a:TagClass {id: 1, name: 'all'}) WITH a UNWIND range(0, 9) AS i CREATE (:Tag {id: 1400 + i, name: 'tag' + i})-[:HAS_TYPE]->(a)`,
	`UNWIND range(0, 29) AS i MATCH (t:City {id: 1100 + i % 9}) CREATE (:Person {id: i, firstName: 'f' + (i % 4), lastName: 'l' + (i % 7), birthday: 300000000000 + i * 2700000000, creationDate: 1000 + i, gender: 'x', browserUsed: 'b', locationIP: 'ip', email: ['e' + i], speaks: ['en']})-[:IS_LOCATED_IN]->(t)`,
	`MATCH (a:Person), (b:Person) WHERE a.id < b.id AND (a.id * 5 + b.id * 3) % 11 = 0 CREATE (a)-[:KNOWS {creationDate: 2000 + a.id}]->(b)`,
	`MATCH (p:Person), (t:Tag) WHERE (p.id + t.id) % 4 = 0 CREATE (p)-[:HAS_INTEREST]->(t)`,
	`MATCH (p:Person), (c:Company) WHERE (p.id + c.id) % 3 = 0 CREATE (p)-[:WORK_AT {workFrom: 2000 + p.id % 10}]->(c)`,
	`MATCH (p:Person), (u:University) WHERE (p.id + u.id) % 5 = 0 CREATE (p)-[:STUDY_AT {classYear: 1990 + p.id % 10}]->(u)`,
	`UNWIND range(0, 5) AS i MATCH (p:Person {id: i * 4}) CREATE (:Forum {id: 2000 + i, title: 'forum' + i, creationDate: 3000})-[:HAS_MODERATOR]->(p)`,
	`MATCH (f:Forum), (p:Person) WHERE (f.id + p.id) % 3 = 0 CREATE (f)-[:HAS_MEMBER {joinDate: 3000 + p.id}]->(p)`,
	`UNWIND range(0, 49) AS i MATCH (p:Person {id: i % 30}), (f:Forum {id: 2000 + i % 6}), (c:Country {id: 1000 + i % 3}) CREATE (m:Message:Post {id: 3000 + i, creationDate: 4000 + i * 10, content: 'post' + i})-[:HAS_CREATOR]->(p), (f)-[:CONTAINER_OF]->(m), (m)-[:IS_LOCATED_IN]->(c)`,
	`UNWIND range(0, 59) AS i MATCH (p:Person {id: i * 7 % 30}), (m:Post {id: 3000 + i % 50}) CREATE (:Message:Comment {id: 4000 + i, creationDate: 5000 + i * 10, content: 'comment' + i})-[:HAS_CREATOR]->(p)`,
	`UNWIND range(0, 59) AS i MATCH (c:Comment {id: 4000 + i}), (m:Message {id: CASE WHEN i % 3 = 2 THEN 4000 + i - 1 ELSE 3000 + i % 50 END}) CREATE (c)-[:REPLY_OF]->(m)`,
	`MATCH (m:Message), (t:Tag) WHERE (m.id + t.id) % 6 = 0 CREATE (m)-[:HAS_TAG]->(t)`,
	`MATCH (p:Person), (m:Message) WHERE (p.id * 3 + m.id) % 17 = 0 CREATE (p)-[:LIKES {creationDate: m.creationDate + p.id}]->(m)`,
}

var socialIndexes = []string{"CREATE CONSTRAINT FOR (n:Person) REQUIRE n.id IS UNIQUE", "CREATE CONSTRAINT FOR (n:Message) REQUIRE n.id IS UNIQUE", "CREATE CONSTRAINT FOR (n:Forum) REQUIRE n.id IS UNIQUE",
	"CREATE INDEX FOR (n:Person) ON (n.firstName)", "CREATE INDEX FOR (n:Message) ON (n.creationDate)", "CREATE INDEX FOR (n:Tag) ON (n.name)", "CREATE INDEX FOR (n:Country) ON (n.name)", "CREATE INDEX FOR (n:City) ON (n.id)"}

var socialParams = map[string]value.Value{
	"personId": value.NewInt(4), "person1Id": value.NewInt(1), "person2Id": value.NewInt(17), "firstName": value.NewString("f1"), "maxDate": value.NewInt(5300), "minDate": value.NewInt(3004),
	"startDate": value.NewInt(4100), "endDate": value.NewInt(4400), "month": value.NewInt(5), "countryName": value.NewString("land1"), "workFromYear": value.NewInt(2008), "messageId": value.NewInt(4005),
}

// TestSNBRules: no rule of the planner, no index and no batch size changes what the reads of SNB answer.
func TestSNBRules(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, "snb", "v1-small", "queries"), "i[cs]*.cypher"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no queries: %v", err)
	}
	var texts []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	open := func(index bool) *DB {
		db := New(nil)
		if index {
			for _, ix := range socialIndexes {
				db.Must(t, ix, nil)
			}
		}
		for _, d := range socialData {
			db.Must(t, d, nil)
		}
		return db
	}
	answers := func(db *DB, batch int, opt plan.Options) (out []string) {
		db.Exec, db.Plan = exec.Options{BatchSize: batch, Reference: opt.Reference}, opt
		for _, q := range texts {
			out = append(out, db.Must(t, q, socialParams).Text())
		}
		return out
	}
	bare, indexed := open(false), open(true)
	want := answers(bare, 1024, plan.Options{Reference: true})
	empty := 0
	for _, w := range want {
		if strings.TrimSpace(w) == "" {
			empty++
		}
	}
	if empty > 2 {
		t.Errorf("%d of %d reads find nothing: the data say little", empty, len(want))
	}
	check := func(name string, db *DB, batch int, opt plan.Options) {
		t.Run(name, func(t *testing.T) {
			for i, got := range answers(db, batch, opt) {
				if got != want[i] {
					t.Errorf("%s\ngot  %s\nwant %s", filepath.Base(files[i]), got, want[i])
				}
			}
		})
	}
	all := map[plan.Rule]bool{}
	for _, r := range plan.Rules {
		all[r] = true
		check(string(r)+" off", indexed, 7, plan.Options{Off: map[plan.Rule]bool{r: true}, Force: true})
	}
	for _, batch := range []int{1, 7, 1024} {
		check("all off", indexed, batch, plan.Options{Off: all})
		check("none off", indexed, batch, plan.Options{})
		check("forced", indexed, batch, plan.Options{Force: true})
		check("no index", bare, batch, plan.Options{Force: true})
	}
}

// TestSNBCost: with the indexes of SNB no read walks through a label, and none follows more than a few
// relationships or probes an index more than once for each row of its widest operator.
func TestSNBCost(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, "snb", "v1-small", "queries"), "i[cs]*.cypher"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no queries: %v", err)
	}
	db := New(nil)
	db.Exec = exec.Options{Profile: true}
	for _, q := range append(append([]string(nil), socialIndexes...), socialData...) {
		db.Must(t, q, nil)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		res := db.Must(t, string(text), socialParams)
		c, widest := res.Counters, int64(1)
		for _, op := range res.Profile {
			if op != nil {
				widest = max(widest, op.Rows)
			}
		}
		if c.SeqScans > 0 {
			t.Errorf("%s scans %d labels", filepath.Base(f), c.SeqScans)
		}
		if c.EdgesRead > 4*widest+50 || c.IndexProbes > widest+2 {
			t.Errorf("%s reads %d relationships and probes an index %d times for %d rows", filepath.Base(f), c.EdgesRead, c.IndexProbes, widest)
		}
	}
}
