package plan

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/testkit"
)

var update = flag.Bool("update", false, "write the plans of the SNB queries anew")

// snbCatalog has the counts of the small SNB graph, times ten.
const snbCatalog = `
node Person 2220
node Forum 2360
node Message 81420
node Post 41000 sub
node Comment 40420 sub
node Tag 16080
node TagClass 710
node Place 14600
node City 13430 sub
node Country 1110 sub
node Continent 60 sub
node Organisation 79550
node Company 15750 sub
node University 63800 sub
rel KNOWS 8250 Person Person
rel HAS_CREATOR 81420 Message,Post,Comment Person
rel LIKES 60000 Person Message,Post,Comment
rel REPLY_OF 40420 Comment,Message Message,Post
rel HAS_TAG 120000 Message,Post,Comment,Forum Tag
rel CONTAINER_OF 41000 Forum Post,Message
rel HAS_MEMBER 60000 Forum Person
rel HAS_MODERATOR 2360 Forum Person
rel HAS_INTEREST 50000 Person Tag
rel IS_LOCATED_IN 165000 Person,Message,Post,Comment,Organisation,Company,University Place,City,Country
rel IS_PART_OF 14500 Place,City,Country Place,Country,Continent
rel HAS_TYPE 16080 Tag TagClass
rel IS_SUBCLASS_OF 700 TagClass TagClass
rel STUDY_AT 1800 Person Organisation,University
rel WORK_AT 4800 Person Organisation,Company
index Person id unique
index Message id unique
index Post id unique
index Comment id unique
index Forum id unique
index Tag id unique
index Tag name
index TagClass name
index Place name
index Country name
index City name
index Place id unique
index City id unique
index Organisation id unique
index University id unique
index Country id unique
index Person firstName
index Message creationDate
index Post creationDate
index Company id unique
keys id name firstName lastName creationDate content imageFile birthday gender locationIP browserUsed length title type joinDate workFrom classYear languages speaks email url language
`

// TestSNB plans the LDBC queries and compares them with testdata/snb; the shapes that query.md §3.11 asks for can be read there.
func TestSNB(t *testing.T) {
	dir := testkit.Shared(t, "snb", "v1-small", "queries")
	files, err := filepath.Glob(filepath.Join(dir, "*.cypher"))
	if err != nil || len(files) == 0 {
		t.Skip("the SNB queries are not beside the TCK")
	}
	cat := parseCatalog(t, snbCatalog)
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".cypher")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			q, err := planText(string(text), cat, Options{}, false)
			if err != nil {
				t.Fatal(errText(err))
			}
			checkPlan(t, q)
			checkShape(t, name, q)
			got := q.Print(PrintOptions{Rows: true})
			if ref, err := planText(string(text), cat, Options{Reference: true}, false); err != nil {
				t.Fatal(errText(err))
			} else {
				checkPlan(t, ref)
			}
			golden := filepath.Join("testdata", "snb", name+".plan")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if string(want) != got {
				t.Errorf("plan changed (run with -update to accept):\n%s\nwas:\n%s", got, want)
			}
		})
	}
}

// shapes says what the plan of each read must look like (in words: the comment), by the names of its operators, the last first. Between those of want
// others may stand; those of never may not occur.
var shapes = map[string]struct {
	want  []string
	never []string
}{
	// The twenty nearest are chosen before their workplaces and universities are looked for, whose text is read for those only.
	"ic1": {[]string{"TopN", "OptionalApply", "OptionalApply", "TopN", "Aggregate", "ShortestPath", "UniqueSeek"}, []string{"Eager"}},
	// Friends, their messages, the date; names and contents of the twenty that stay.
	"ic2": {[]string{"PropFetch content", "PropFetch firstName", "TopN", "PropFetch creationDate", "Expand HAS_CREATOR", "Expand KNOWS", "UniqueSeek"}, []string{"LabelScan", "AllNodesScan", "HashJoin"}},
	"ic3": {[]string{"TopN", "Aggregate", "Expand", "Distinct", "PruningVarExpand", "UniqueSeek"}, []string{"AllNodesScan"}},
	// The pairs of tag and post are made distinct before they are counted.
	"ic4": {[]string{"TopN", "PropFetch name", "Aggregate", "Distinct", "Expand HAS_TAG", "Expand HAS_CREATOR", "Expand KNOWS", "UniqueSeek"}, []string{"LabelScan", "AllNodesScan"}},
	// The set of friends first; a post's creator is looked up in it.
	"ic5":  {[]string{"TopN", "Aggregate", "OptionalApply", "Aggregate", "Expand HAS_MEMBER", "Distinct", "PruningVarExpand", "UniqueSeek", "Filter IN", "Expand HAS_CREATOR", "Expand CONTAINER_OF", "Argument"}, []string{"LabelScan", "AllNodesScan"}},
	"ic6":  {[]string{"TopN", "Aggregate", "Expand", "PruningVarExpand", "UniqueSeek"}, []string{"AllNodesScan"}},
	"ic7":  {[]string{"TopN", "Aggregate", "Sort", "Expand LIKES", "Expand HAS_CREATOR", "UniqueSeek", "ExpandInto KNOWS"}, []string{"LabelScan", "AllNodesScan"}},
	"ic8":  {[]string{"PropFetch content", "TopN", "PropFetch creationDate", "Expand HAS_CREATOR", "Expand REPLY_OF", "Expand HAS_CREATOR", "UniqueSeek"}, []string{"LabelScan", "AllNodesScan"}},
	"ic9":  {[]string{"PropFetch content", "TopN", "PropFetch creationDate", "Expand HAS_CREATOR", "PruningVarExpand", "UniqueSeek"}, []string{"LabelScan", "AllNodesScan"}},
	"ic10": {[]string{"TopN", "Aggregate", "OptionalExpand HAS_CREATOR", "Distinct", "Expand IS_LOCATED_IN", "AntiSemiApply", "VarExpand", "UniqueSeek"}, []string{"LabelScan", "AllNodesScan"}},
	"ic11": {[]string{"PropFetch firstName", "TopN", "Expand WORK_AT", "Distinct", "PruningVarExpand", "UniqueSeek"}, []string{"LabelScan", "AllNodesScan"}},
	"ic12": {[]string{"TopN", "Aggregate", "UniqueSeek"}, []string{"AllNodesScan"}},
	// Both ends by their keys.
	"ic13": {[]string{"ShortestPath", "UniqueSeek", "UniqueSeek"}, []string{"LabelScan", "AllNodesScan", "CartesianProduct"}},
	"ic14": {[]string{"ShortestPath", "UniqueSeek", "UniqueSeek"}, []string{"AllNodesScan"}},
	"is1":  {[]string{"Expand IS_LOCATED_IN", "UniqueSeek"}, []string{"LabelScan"}},
	"is2":  {[]string{"VarExpand", "TopN", "Expand HAS_CREATOR", "UniqueSeek"}, []string{"LabelScan", "AllNodesScan"}},
	"is3":  {[]string{"Sort", "Expand KNOWS", "UniqueSeek"}, []string{"LabelScan"}},
	"is4":  {[]string{"UniqueSeek"}, []string{"Expand", "LabelScan"}},
	"is5":  {[]string{"Expand HAS_CREATOR", "UniqueSeek"}, []string{"LabelScan"}},
	"is6":  {[]string{"Expand HAS_MODERATOR", "Expand CONTAINER_OF", "VarExpand REPLY_OF", "UniqueSeek"}, []string{"LabelScan"}},
	"is7":  {[]string{"Expand", "UniqueSeek"}, []string{"LabelScan", "AllNodesScan"}},
	// Ends by their keys; nothing looks whether what is made is there already: the unique index says so.
	"iu1": {[]string{"Create", "UniqueSeek", "Create", "UniqueSeek", "Create", "UniqueSeek", "Create", "UniqueSeek"}, scans},
	"iu2": {[]string{"Create", "UniqueSeek", "UniqueSeek"}, scans},
	"iu3": {[]string{"Create", "UniqueSeek", "UniqueSeek"}, scans},
	"iu4": {[]string{"Create", "UniqueSeek", "Create", "UniqueSeek"}, scans},
	"iu5": {[]string{"Create", "UniqueSeek", "UniqueSeek"}, scans},
	"iu6": {[]string{"Create", "UniqueSeek", "Create", "UniqueSeek", "UniqueSeek", "UniqueSeek"}, scans},
	"iu7": {[]string{"Create", "UniqueSeek", "Create", "UniqueSeek", "UniqueSeek", "UniqueSeek"}, scans},
	"iu8": {[]string{"Create", "UniqueSeek", "UniqueSeek"}, scans},
}

var scans = []string{"LabelScan", "AllNodesScan", "RelTypeScan", "Merge", "Eager", "Apply", "HashJoin", "CartesianProduct"}

// checkShape holds a plan against shapes. "Expand KNOWS" is an Expand whose line names KNOWS.
func checkShape(t *testing.T, name string, q *Query) {
	t.Helper()
	s, ok := shapes[name]
	if !ok {
		t.Errorf("%s has no shape to be held against", name)
		return
	}
	is := func(l *Tree, what string) bool {
		op, detail, _ := strings.Cut(what, " ")
		return l.Name == op && strings.Contains(l.Detail, detail)
	}
	var lines []*Tree
	var walk func(*Tree)
	walk = func(n *Tree) {
		lines = append(lines, n)
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(q.Tree(nil))
	at := 0
	for _, l := range lines {
		if at < len(s.want) && is(l, s.want[at]) {
			at++
		}
		for _, n := range s.never {
			if is(l, n) {
				t.Errorf("%s %s has no place in this plan", l.Name, l.Detail)
			}
		}
	}
	if at < len(s.want) {
		t.Errorf("no %s where it should stand (after %v) in\n%s", s.want[at], s.want[:at], q)
	}
}
