package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/load"
	"github.com/hedgerowdb/hedgerow/internal/social"
)

// network is the demo's network as plain Go data, to answer its questions without a database.
type network struct {
	name, born, city, country map[int]string // of persons
	languages                 map[int][]string
	friends                   map[int]map[int]string // since
	interests                 map[int]map[int]bool
	members                   map[int]map[int]bool // of forums
	forum, tag, content, when map[int]string
	wrote                     map[int][]int // messages of a person
	parent                    map[int]int   // of comments
	posts                     map[int]bool
}

func readNetwork(t *testing.T, dir string) *network {
	n := &network{friends: map[int]map[int]string{}, interests: map[int]map[int]bool{}, members: map[int]map[int]bool{}, wrote: map[int][]int{},
		parent: map[int]int{}, posts: map[int]bool{}, name: map[int]string{}, born: map[int]string{}, city: map[int]string{}, country: map[int]string{},
		languages: map[int][]string{}, forum: map[int]string{}, tag: map[int]string{}, content: map[int]string{}, when: map[int]string{}}
	rows := func(file string) (out [][]string) {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
			out = append(out, strings.Split(line, "|"))
		}
		return out
	}
	id := func(s string) int {
		i, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	cities := map[int][]string{}
	for _, r := range rows("city.csv") {
		cities[id(r[0])] = r
	}
	for _, r := range rows("person.csv") {
		n.name[id(r[0])], n.born[id(r[0])], n.languages[id(r[0])] = r[1], r[3], strings.Split(r[5], ";")
	}
	for _, r := range rows("lives_in.csv") {
		n.city[id(r[0])], n.country[id(r[0])] = cities[id(r[1])][1], cities[id(r[1])][2]
	}
	for _, r := range rows("tag.csv") {
		n.tag[id(r[0])] = r[1]
	}
	for _, r := range rows("forum.csv") {
		n.forum[id(r[0])] = r[1]
	}
	for _, file := range []string{"post.csv", "comment.csv"} {
		for _, r := range rows(file) {
			n.content[id(r[0])], n.when[id(r[0])] = r[1], r[2]
			n.posts[id(r[0])] = file == "post.csv"
		}
	}
	put := func(m map[int]map[int]bool, a, b int) {
		if m[a] == nil {
			m[a] = map[int]bool{}
		}
		m[a][b] = true
	}
	for _, r := range rows("knows.csv") {
		a, b := id(r[0]), id(r[1])
		for _, k := range [][2]int{{a, b}, {b, a}} {
			if n.friends[k[0]] == nil {
				n.friends[k[0]] = map[int]string{}
			}
			n.friends[k[0]][k[1]] = r[2]
		}
	}
	for _, r := range rows("has_interest.csv") {
		put(n.interests, id(r[0]), id(r[1]))
	}
	for _, r := range rows("has_member.csv") {
		put(n.members, id(r[0]), id(r[1]))
	}
	for _, file := range []string{"wrote_post.csv", "wrote_comment.csv"} {
		for _, r := range rows(file) {
			n.wrote[id(r[0])] = append(n.wrote[id(r[0])], id(r[1]))
		}
	}
	for _, file := range []string{"reply_of_post.csv", "reply_of_comment.csv"} {
		for _, r := range rows(file) {
			n.parent[id(r[0])] = id(r[1])
		}
	}
	return n
}

// common returns the names of interests that two persons share, sorted.
func (n *network) common(a, b int) []string {
	var out []string
	for t := range n.interests[a] {
		if n.interests[b][t] {
			out = append(out, n.tag[t])
		}
	}
	slices.Sort(out)
	return out
}

// distances returns the steps from a person to every other that can be reached.
func (n *network) distances(from int) map[int]int {
	d := map[int]int{from: 0}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for f := range n.friends[queue[0]] {
			if _, ok := d[f]; !ok {
				d[f] = d[queue[0]] + 1
				queue = append(queue, f)
			}
		}
	}
	return d
}

type answer []any

// top sorts rows by a number, largest first, then by another column, and keeps k.
func top(rows []answer, k int, number func(answer) int, then func(a, b answer) int) []answer {
	slices.SortFunc(rows, func(a, b answer) int { return cmp.Or(number(b)-number(a), then(a, b)) })
	return rows[:min(k, len(rows))]
}

func byID(a, b answer) int { return a[0].(int) - b[0].(int) }

// answers computes what the questions about person 1 must give; the seventh is the number of steps alone.
func (n *network) answers(you int) [][]answer {
	const me = 1
	out := make([][]answer, 12)
	out[0] = []answer{{n.name[me], n.born[me], n.city[me], n.country[me], n.languages[me]}}
	shared := map[int]int{}
	forums := map[int]int{}
	messages := []answer{}
	for f, since := range n.friends[me] {
		out[1] = append(out[1], answer{n.name[f], since})
		for ff := range n.friends[f] {
			if _, friend := n.friends[me][ff]; ff != me && !friend {
				shared[ff]++
			}
		}
		if c := n.common(me, f); len(c) > 0 {
			out[3] = append(out[3], answer{f, n.name[f], c})
		}
		for forum, members := range n.members {
			if members[f] && !members[me] {
				forums[forum]++
			}
		}
		for _, m := range n.wrote[f] {
			messages = append(messages, answer{n.when[m], n.name[f], n.content[m], m})
		}
	}
	slices.SortFunc(out[1], func(a, b answer) int {
		return cmp.Or(cmp.Compare(b[1].(string), a[1].(string)), cmp.Compare(a[0].(string), b[0].(string)))
	})
	out[1] = out[1][:min(8, len(out[1]))]
	for p, k := range shared {
		out[2] = append(out[2], answer{p, n.name[p], k})
	}
	third := func(a answer) int { return a[2].(int) }
	out[2] = top(out[2], 8, third, byID)
	out[3] = top(out[3], 8, func(a answer) int { return len(a[2].([]string)) }, byID)
	for f, k := range forums {
		out[4] = append(out[4], answer{f, n.forum[f], k})
	}
	out[4] = top(out[4], 8, third, byID)
	slices.SortFunc(messages, func(a, b answer) int { return cmp.Or(cmp.Compare(b[0].(string), a[0].(string)), a[3].(int)-b[3].(int)) })
	for _, m := range messages[:min(8, len(messages))] {
		out[5] = append(out[5], m[:3])
	}
	d := n.distances(me)
	out[6] = []answer{{d[you]}}
	near := 0
	for _, steps := range d {
		if steps >= 1 && steps <= 3 {
			near++
		}
	}
	out[7] = []answer{{near}}
	for p := range n.name {
		if _, friend := n.friends[me][p]; p != me && !friend && n.city[p] == n.city[me] {
			if c := n.common(me, p); len(c) >= 2 {
				out[8] = append(out[8], answer{p, n.name[p], n.city[p], c})
			}
		}
	}
	out[8] = top(out[8], 8, func(a answer) int { return len(a[3].([]string)) }, byID)
	threads := map[int]int{}
	for c := range n.parent {
		m := c
		for !n.posts[m] {
			m = n.parent[m]
		}
		threads[m]++
	}
	for p, k := range threads {
		out[9] = append(out[9], answer{p, n.content[p], k})
	}
	out[9] = top(out[9], 5, third, byID)
	people := map[int]int{}
	for _, list := range n.interests {
		for t := range list {
			people[t]++
		}
	}
	byName := func(a, b answer) int { return cmp.Compare(a[0].(string), b[0].(string)) }
	for t, k := range people {
		out[10] = append(out[10], answer{n.tag[t], k})
	}
	second := func(a answer) int { return a[1].(int) }
	out[10] = top(out[10], 8, second, byName)
	count, abroad := map[string]int{}, map[string]int{}
	for p, c := range n.city {
		count[c]++
		for f := range n.friends[p] {
			if n.country[f] != n.country[p] {
				abroad[c]++
				break
			}
		}
	}
	for c, k := range count {
		out[11] = append(out[11], answer{c, k, abroad[c]})
	}
	out[11] = top(out[11], 8, second, byName)
	return out
}

// TestDemoAnswers holds the demo's answers against a computation of their own.
func TestDemoAnswers(t *testing.T) {
	for _, persons := range []int{10, 40, 150} {
		t.Run(fmt.Sprint(persons), func(t *testing.T) {
			db, err := hedgerow.OpenMemory(&hedgerow.Options{CacheBytes: 64 << 20})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			dir := t.TempDir()
			if _, err := social.Generate(dir, persons, demoSeed); err != nil {
				t.Fatal(err)
			}
			if _, err := sample(t.Context(), &load.Embedded{DB: db}, persons); err != nil {
				t.Fatal(err)
			}
			n := readNetwork(t, dir)
			you := persons/2 + 1
			want := n.answers(you)
			for i, q := range social.Questions() {
				params := hedgerow.Params(q.Params)
				if _, ok := params["you"]; ok {
					params = hedgerow.Params{"me": 1, "you": you}
				}
				rows, err := db.Query(context.Background(), q.Cypher, params)
				if err != nil {
					t.Fatalf("%s: %v", q.Title, err)
				}
				var got []string
				for rows.Next() {
					var cells []any
					for c := range rows.Columns() {
						var x any
						json.Unmarshal([]byte(rows.JSON(c)), &x)
						if m, ok := x.(map[string]any); ok {
							x = m["_value"] // a date
						}
						if list, ok := x.([]any); ok && rows.Columns()[c] != "languages" && rows.Columns()[c] != "way" {
							slices.SortFunc(list, func(a, b any) int { return cmp.Compare(a.(string), b.(string)) })
						}
						cells = append(cells, x)
					}
					if i == 6 {
						way := cells[1].([]any)
						if float64(len(way)) != cells[0].(float64)+1 || way[0] != n.name[1] || way[len(way)-1] != n.name[you] {
							t.Errorf("way of %v steps: %v", cells[0], way)
						}
						cells = cells[:1]
					}
					j, _ := json.Marshal(cells)
					got = append(got, string(j))
				}
				if err := rows.Close(); err != nil {
					t.Fatalf("%s: %v", q.Title, err)
				}
				var expected []string
				for _, a := range want[i] {
					j, _ := json.Marshal(a)
					expected = append(expected, string(j))
				}
				if i == 6 && want[i][0][0] == 0 {
					expected = nil // nobody leads there
				}
				if !slices.Equal(got, expected) {
					t.Errorf("%s:\ngot  %s\nwant %s", q.Title, strings.Join(got, "\n     "), strings.Join(expected, "\n     "))
				}
			}
		})
	}
}

func TestDemo(t *testing.T) {
	keep := filepath.Join(t.TempDir(), "kept.hedge")
	began := cpuTime()
	code, out, errs := hedge(t, "", "demo", "--persons", "60", "--keep", keep)
	if code != 0 || errs != "" {
		t.Fatalf("exit %d, %s", code, errs)
	}
	t.Logf("%s of processor time", cpuTime()-began)
	for _, want := range []string{"A social network of 60 persons", "1. Who is Ada", "12. Cities", "'Ada Lindqvist'", "╭", "1 row in ", "hedgerow shell --data " + keep} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo prints no %q:\n%s", want, out)
		}
	}
	if code, out, _ := hedge(t, "", "shell", "--data", keep, "--format", "csv", "-c", "MATCH (p:Person) RETURN count(p) AS n"); code != 0 || out != "n\n60\n" {
		t.Errorf("kept: exit %d, %q", code, out)
	}
	if code, _, errs := hedge(t, "", "demo", "--keep", keep); code != 1 || !strings.Contains(errs, "holds a database already") {
		t.Errorf("a second demo in the directory: exit %d, %s", code, errs)
	}
	if code, _, errs := hedge(t, "", "demo", "--persons", "3"); code != 2 {
		t.Errorf("3 persons: exit %d, %s", code, errs)
	}
}
