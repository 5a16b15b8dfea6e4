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
