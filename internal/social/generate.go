package social

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Network is what Generate wrote, in the form of load's --nodes, --edges and --columns.
type Network struct {
	Nodes   []string // Label=path
	Edges   []string // TYPE=path
	Columns map[string]string
	Persons int
	Rows    int
}

var (
	firstNames = []string{"Ada", "Ahmed", "Aiko", "Alice", "Amara", "Anna", "Antonio", "Ayşe", "Bao", "Beatriz", "Boris", "Carlos", "Chen", "Chidi", "Clara", "Daniel",
		"Deepa", "Diego", "Elena", "Emeka", "Emil", "Fatima", "Felix", "Freya", "Giulia", "Grace", "Hana", "Hassan", "Ines", "Ivan", "Jamal", "Jan", "Jorge", "Julia",
		"Kai", "Karin", "Kofi", "Lars", "Leila", "Lin", "Lucía", "Magnus", "Maria", "Mehmet", "Mei", "Miguel", "Mira", "Nadia", "Nikhil", "Nina", "Noah", "Olga",
		"Omar", "Paolo", "Petra", "Priya", "Quang", "Rahel", "Ravi", "Rosa", "Samuel", "Sara", "Selma", "Sofia", "Stefan", "Tariq", "Tomás", "Ursula", "Vera", "Viktor",
		"Wanjiru", "Wei", "Xavier", "Yara", "Yuki", "Zainab", "Zoë"}
	lastNames = []string{"Adeyemi", "Andersson", "Bauer", "Bianchi", "Brown", "Castro", "Chatterjee", "Chen", "Cohen", "Costa", "Demir", "Diallo", "Dubois", "Eriksen",
		"Fernández", "Fischer", "García", "Haddad", "Hansen", "Hoang", "Ivanova", "Jansen", "Johnson", "Kaya", "Khan", "Kim", "Kowalski", "Lee", "Lindqvist", "López",
		"Martin", "Mbeki", "Meyer", "Moreau", "Müller", "Nakamura", "Ncube", "Nguyen", "Novák", "Okafor", "Olsen", "Pereira", "Petrov", "Rossi", "Sato", "Schmidt",
		"Silva", "Singh", "Smith", "Sørensen", "Tanaka", "Torres", "Virtanen", "Wang", "Weber", "Williams", "Yamamoto", "Yılmaz", "Zhang"}
	cities = []struct{ name, country string }{{"Amsterdam", "Netherlands"}, {"Bangalore", "India"}, {"Barcelona", "Spain"}, {"Berlin", "Germany"}, {"Bogotá", "Colombia"},
		{"Boston", "United States"}, {"Buenos Aires", "Argentina"}, {"Cairo", "Egypt"}, {"Cape Town", "South Africa"}, {"Copenhagen", "Denmark"}, {"Dakar", "Senegal"},
		{"Hanoi", "Vietnam"}, {"Helsinki", "Finland"}, {"Istanbul", "Turkey"}, {"Kraków", "Poland"}, {"Lagos", "Nigeria"}, {"Lima", "Peru"}, {"Lisbon", "Portugal"},
		{"London", "United Kingdom"}, {"Lyon", "France"}, {"Melbourne", "Australia"}, {"Mexico City", "Mexico"}, {"Milan", "Italy"}, {"Montréal", "Canada"}, {"Mumbai", "India"},
		{"Nairobi", "Kenya"}, {"Oslo", "Norway"}, {"Prague", "Czechia"}, {"São Paulo", "Brazil"}, {"Seoul", "South Korea"}, {"Shanghai", "China"}, {"Stockholm", "Sweden"},
		{"Tokyo", "Japan"}, {"Vienna", "Austria"}, {"Zürich", "Switzerland"}}
	topics = []string{"Astronomy", "Baking", "Birds", "Board games", "Botany", "Cats", "Chess", "Cinema", "Climbing", "Coffee", "Comics", "Cycling", "Dance", "Databases",
		"Design", "Dogs", "Economics", "Film music", "Football", "Gardening", "Go", "Graphs", "Hiking", "History", "Horses", "Jazz", "Juggling", "Knitting", "Languages",
		"Letterpress", "Linguistics", "Maps", "Mathematics", "Medicine", "Museums", "Opera", "Origami", "Painting", "Philosophy", "Photography", "Physics", "Poetry",
		"Pottery", "Radio", "Rivers", "Robotics", "Rowing", "Running", "Sailing", "Science fiction", "Singing", "Skiing", "Tea", "Theatre", "Trains", "Typography", "Violin",
		"Volcanoes", "Weather", "Wine"}
	facets  = []string{"", " for beginners", " history", " in winter", " clubs", " books", " and travel", " photography", " today", " festivals", " podcasts", " at home", " tools", " records", " stories"}
	kinds   = []string{"University of %s", "%s Institute of Technology", "%s Labs", "%s Harbour Works", "%s Instruments", "%s Press", "%s Energy", "%s Robotics"}
	phrases = []string{"Has anybody tried this?", "I agree.", "What a day!", "More pictures soon.", "Thanks for sharing.", "This changed how I see it.", "See you on Saturday.",
		"A first draft; comments welcome.", "Not convinced yet.", "Lovely.", "Where can one learn that?", "Same here.", "We did this last year, and it rained.", "Count me in."}
)

// writer makes one CSV file.
type writer struct {
	f   *os.File
	b   *bufio.Writer
	err error
	n   int
}

func create(path, header string) (*writer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	w := &writer{f: f, b: bufio.NewWriterSize(f, 128<<10)}
	w.row(header)
	w.n = 0
	return w, nil
}

func (w *writer) row(fields ...string) {
	for i, s := range fields {
		if i > 0 {
			w.b.WriteByte('|')
		}
		w.b.WriteString(s)
	}
	w.b.WriteByte('\n')
	w.n++
}

func (w *writer) close() error {
	if err := w.b.Flush(); w.err == nil {
		w.err = err
	}
	if err := w.f.Close(); w.err == nil {
		w.err = err
	}
	return w.err
}

func id(i int) string { return strconv.Itoa(i + 1) }

type generator struct {
	Options
	dir  string
	rnd  *rand.Rand
	more *rand.Rand // of what only a benchmark has, so that the rest is the same with and without
	net  *Network
	err  error
}

func (g *generator) file(nodes bool, name, file, header string, fill func(w *writer)) {
	if g.err != nil {
		return
	}
	path := filepath.Join(g.dir, file)
	w, err := create(path, header)
	if err != nil {
		g.err = err
		return
	}
	fill(w)
	if g.err = w.close(); g.err != nil {
		return
	}
	g.net.Rows += w.n
	if g.Progress != nil {
		g.Progress(file, w.n)
	}
	if nodes {
		g.net.Nodes = append(g.net.Nodes, name+"="+path)
	} else {
		g.net.Edges = append(g.net.Edges, name+"="+path)
	}
}

var epoch = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)

// at returns a moment as ISO text, s seconds after the network began.
func at(s int) string {
	return epoch.Add(time.Duration(s) * time.Second).Format("2006-01-02T15:04:05Z")
}

// ada is the person whom the questions are about: well connected, of many interests, in the largest city, so that there is something to find.
const ada = 0

const span = 1000 * 24 * 3600 // seconds that the network has existed

// Options of a network.
type Options struct {
	Persons int
	Seed    uint64
	// Benchmark makes the network that databases are measured with: a tag for every person, more properties of persons and messages, tags, places and likes of
	// posts, and only values that every database and SQL have. Moments are milliseconds since 1970, days of birth and languages are strings.
	Benchmark bool
	Progress  func(file string, rows int) // told of every file when it is written; may be nil
}

// Generate writes a network of so many persons into a directory.
func Generate(dir string, persons int, seed uint64) (*Network, error) {
	return Write(dir, Options{Persons: persons, Seed: seed})
}

// Write writes a network into a directory.
func Write(dir string, o Options) (*Network, error) {
	persons := o.Persons
	if persons < 10 {
		return nil, fmt.Errorf("a network needs at least 10 persons, not %d", persons)
	}
	g := &generator{Options: o, dir: dir, rnd: rand.New(rand.NewPCG(o.Seed, 0x9E3779B97F4A7C15)), more: rand.New(rand.NewPCG(o.Seed, 0xD1B54A32D192ED03)),
		net: &Network{Persons: persons, Columns: map[string]string{}}}
	rnd := g.rnd
	tags := min(persons, len(topics)*len(facets))
	if o.Benchmark {
		tags = persons
	}
	orgs := max(8, persons/10)
	forums := max(2, persons/25)
	posts := 5 * persons
	comments := posts

	city := make([]int, persons)
	joined := make([]int, persons)
	for i := range city {
		city[i] = int(math.Floor(math.Pow(rnd.Float64(), 1.5) * float64(len(cities))))
		joined[i] = rnd.IntN(span / 2)
	}
	city[ada] = 0
	g.file(true, "City", "city.csv", "id|name|country", func(w *writer) {
		for i, c := range cities {
			w.row(id(i), c.name, c.country)
		}
	})
	g.file(true, "Tag", "tag.csv", "id|name", func(w *writer) {
		for i := range tags {
			w.row(id(i), topicName(i))
		}
	})
	g.file(true, "Organisation", "organisation.csv", "id|name|kind:LABEL", func(w *writer) {
		for i := range orgs {
			kind := kinds[i/len(cities)%len(kinds)]
			label := "Company"
			if i/len(cities)%len(kinds) < 2 {
				label = "University"
			}
			name := fmt.Sprintf(kind, cities[i%len(cities)].name)
			if round := i / (len(cities) * len(kinds)); round > 0 {
				name += " " + strconv.Itoa(round+1)
			}
			w.row(id(i), name, label)
		}
	})
	g.file(true, "Person", "person.csv", g.header("id|name|firstName|born:date|joined:datetime|languages:string[]", "|lastName|gender|locationIP|browserUsed|visits:int"), func(w *writer) {
		langs := []string{"en", "es", "de", "fr", "zh", "hi", "pt", "ar", "tr", "sv", "ja"}
		for i := range persons {
			first, last := firstNames[rnd.IntN(len(firstNames))], lastNames[rnd.IntN(len(lastNames))]
			if i == 0 {
				first, last = "Ada", "Lindqvist"
			}
			spoken := "en"
			if k := rnd.IntN(len(langs)); k > 0 {
				spoken += ";" + langs[k]
			}
			w.row(append([]string{id(i), first + " " + last, first, time.Date(1950+rnd.IntN(55), time.Month(1+rnd.IntN(12)), 1+rnd.IntN(28), 0, 0, 0, 0, time.UTC).Format("2006-01-02"), g.at(joined[i]), spoken}, g.details(func() []string {
				return []string{last, []string{"female", "male"}[g.more.IntN(2)], g.address(), g.browser(), "0"}
			})...)...)
		}
	})
	moderator := make([]int, forums)
	topic := make([]int, forums)
	g.file(true, "Forum", "forum.csv", g.header("id|title|created:datetime", ""), func(w *writer) {
		for i := range forums {
			moderator[i], topic[i] = rnd.IntN(persons), skewed(rnd, tags)
			w.row(id(i), topicName(topic[i])+" in "+cities[city[moderator[i]]].name, g.at(joined[moderator[i]]+rnd.IntN(86400)))
		}
	})

	known := g.friendships(persons, city)
	friends := make([][]int, persons)
	for _, k := range known {
		friends[k[0]] = append(friends[k[0]], k[1])
		friends[k[1]] = append(friends[k[1]], k[0])
	}
	members := make([][]int, forums)
	for f := range members {
		seen := map[int]bool{moderator[f]: true}
		members[f] = []int{moderator[f]}
		for _, p := range friends[moderator[f]] {
			if !seen[p] && rnd.IntN(3) > 0 {
				seen[p] = true
				members[f] = append(members[f], p)
			}
		}
		for len(members[f]) < min(persons, 12+rnd.IntN(25)) {
			if p := rnd.IntN(persons); !seen[p] {
				seen[p] = true
				members[f] = append(members[f], p)
			}
		}
	}

	type message struct{ author, forum, when int }
	post := make([]message, posts)
	g.file(true, "Post:Message", "post.csv", g.header("id|content|created:datetime|length:int", "|locationIP|browserUsed"), func(w *writer) {
		for i := range post {
			f := rnd.IntN(forums)
			post[i] = message{members[f][rnd.IntN(len(members[f]))], f, span/2 + rnd.IntN(span/2)}
			text := topics[topic[f]%len(topics)] + ": " + phrases[rnd.IntN(len(phrases))]
			w.row(append([]string{id(i), text, g.at(post[i].when), strconv.Itoa(len(text))}, g.details(g.origin)...)...)
		}
	})
	parent := make([]int, comments) // a post, or posts + an earlier comment
	reply := make([]message, comments)
	g.file(true, "Comment:Message", "comment.csv", g.header("id|content|created:datetime|length:int", "|locationIP|browserUsed"), func(w *writer) {
		for i := range reply {
			m := post[rnd.IntN(posts)]
			if i > 10 && rnd.IntN(2) == 0 {
				c := rnd.IntN(i)
				parent[i], m = posts+c, reply[c]
			} else {
				parent[i] = rnd.IntN(posts)
				m = post[parent[i]]
			}
			crowd := members[m.forum]
			reply[i] = message{crowd[rnd.IntN(len(crowd))], m.forum, min(span, m.when+60+rnd.IntN(86400))}
			text := phrases[rnd.IntN(len(phrases))]
			w.row(append([]string{strconv.Itoa(posts + i + 1), text, g.at(reply[i].when), strconv.Itoa(len(text))}, g.details(g.origin)...)...)
		}
	})

	g.file(false, "KNOWS", "knows.csv", g.header("Person.id|Person.id|since:date", ""), func(w *writer) {
		for _, k := range known {
			day := max(joined[k[0]], joined[k[1]])/86400 + rnd.IntN(400)
			w.row(id(k[0]), id(k[1]), g.day(day))
		}
	})
	g.file(false, "LIVES_IN", "lives_in.csv", "Person.id|City.id", func(w *writer) {
		for i, c := range city {
			w.row(id(i), id(c))
		}
	})
	g.file(false, "WORKS_AT", "works_at.csv", "Person.id|Organisation.id|since:int", func(w *writer) {
		for i := range persons {
			if rnd.IntN(4) > 0 {
				w.row(id(i), id(rnd.IntN(orgs)), strconv.Itoa(2000+rnd.IntN(25)))
			}
		}
	})
	g.file(false, "HAS_INTEREST", "has_interest.csv", "Person.id|Tag.id", func(w *writer) {
		for i := range persons {
			k := 2 + rnd.IntN(4)
			if i == 0 {
				k = 12 // questions are asked about her
			}
			for _, t := range distinct(rnd, k, tags) {
				w.row(id(i), id(t))
			}
		}
	})
	g.file(false, "HAS_MEMBER", "has_member.csv", g.header("Forum.id|Person.id|joined:date", ""), func(w *writer) {
		for f, list := range members {
			for _, p := range list {
				w.row(id(f), id(p), g.day(joined[p]/86400+rnd.IntN(300)))
			}
		}
	})
	g.file(false, "ABOUT", "about.csv", "Forum.id|Tag.id", func(w *writer) {
		for f, t := range topic {
			w.row(id(f), id(t))
		}
	})
	g.file(false, "CONTAINS", "contains.csv", "Forum.id|Post.id", func(w *writer) {
		for i, m := range post {
			w.row(id(m.forum), id(i))
		}
	})
	g.file(false, "WROTE", "wrote_post.csv", "Person.id|Post.id", func(w *writer) {
		for i, m := range post {
			w.row(id(m.author), id(i))
		}
	})
	g.file(false, "WROTE", "wrote_comment.csv", "Person.id|Comment.id", func(w *writer) {
		for i, m := range reply {
			w.row(id(m.author), strconv.Itoa(posts+i+1))
		}
	})
	g.file(false, "REPLY_OF", "reply_of_post.csv", "Comment.id|Post.id", func(w *writer) {
		for i, p := range parent {
			if p < posts {
				w.row(strconv.Itoa(posts+i+1), id(p))
			}
		}
	})
	g.file(false, "REPLY_OF", "reply_of_comment.csv", "Comment.id|Comment.id", func(w *writer) {
		for i, p := range parent {
			if p >= posts {
				w.row(strconv.Itoa(posts+i+1), strconv.Itoa(p+1))
			}
		}
	})
	if o.Benchmark {
		g.benchmark(moderator, posts, tags)
	}
	return g.net, g.err
}

// benchmark writes the relationships that only a benchmark's network has: who moderates a forum, tags and places of posts, and who likes them.
func (g *generator) benchmark(moderator []int, posts, tags int) {
	g.file(false, "HAS_MODERATOR", "has_moderator.csv", "Forum.id|Person.id", func(w *writer) {
		for f, p := range moderator {
			w.row(id(f), id(p))
		}
	})
	g.file(false, "HAS_TAG", "has_tag.csv", "Post.id|Tag.id", func(w *writer) {
		for i := range posts {
			for _, t := range distinct(g.more, 1+g.more.IntN(3), tags) {
				w.row(id(i), id(t))
			}
		}
	})
	g.file(false, "LOCATED_IN", "located_in.csv", "Post.id|City.id", func(w *writer) {
		for i := range posts {
			w.row(id(i), id(skewed(g.more, len(cities))))
		}
	})
	g.file(false, "LIKES", "likes.csv", "Person.id|Post.id|since:int", func(w *writer) {
		for p := range g.Persons {
			for _, m := range distinct(g.more, g.more.IntN(11), posts) {
				w.row(id(p), id(m), g.at(g.more.IntN(span)))
			}
		}
	})
}

// header adds the columns that only a benchmark has, and gives moments the type that it has.
func (g *generator) header(columns, more string) string {
	if !g.Benchmark {
		return columns
	}
	return strings.NewReplacer("born:date", "born", ":datetime", ":int", ":date", ":int", ":string[]", "").Replace(columns) + more
}

func (g *generator) details(f func() []string) []string {
	if !g.Benchmark {
		return nil
	}
	return f()
}

func (g *generator) at(s int) string {
	if g.Benchmark {
		return strconv.FormatInt(epoch.UnixMilli()+int64(s)*1000, 10)
	}
	return at(s)
}

func (g *generator) day(n int) string {
	if g.Benchmark {
		return g.at(n * 86400)
	}
	return epoch.AddDate(0, 0, n).Format("2006-01-02")
}

func (g *generator) origin() []string { return []string{g.address(), g.browser()} }

func (g *generator) address() string {
	return fmt.Sprintf("%d.%d.%d.%d", 1+g.more.IntN(223), g.more.IntN(256), g.more.IntN(256), 1+g.more.IntN(254))
}

func (g *generator) browser() string {
	return []string{"Firefox", "Chrome", "Safari", "Opera", "Internet Explorer"}[skewed(g.more, 5)]
}

// topicName names a tag; names of more than there are words for are numbered.
func topicName(i int) string {
	name := topics[i%len(topics)] + facets[i/len(topics)%len(facets)]
	if round := i / (len(topics) * len(facets)); round > 0 {
		name += " " + strconv.Itoa(round+1)
	}
	return name
}

// friendships draws pairs with a power-law number of friends each; most friends live near each other.
func (g *generator) friendships(persons int, city []int) [][2]int {
	rnd := g.rnd
	order := make([]int, persons) // persons by place, so that neighbours in it are near
	for i := range order {
		order[i] = i
	}
	rnd.Shuffle(persons, func(i, j int) { order[i], order[j] = order[j], order[i] })
	sort.SliceStable(order, func(i, j int) bool { return city[order[i]] < city[order[j]] })
	nearness := 3.0
	if g.Benchmark {
		nearness = 2 // the few with the most friends would else have too few near enough
	}
	seen := map[[2]int]bool{}
	var out [][2]int
	for pos, p := range order {
		drawn := 2.6 / math.Pow(1-rnd.Float64()*0.9995, 0.5)
		if g.Benchmark { // a longer tail, as LDBC's; a half is what cutting off the fraction takes
			drawn = 1.78/math.Pow(1-g.more.Float64()*0.9985, 0.7) + 0.5
		}
		want := int(drawn)
		if p == ada {
			want = max(want, 14)
		}
		for range min(want, persons/4) {
			step := 1 + int(math.Pow(rnd.Float64(), nearness)*float64(persons/2))
			q := order[(pos+step)%persons]
			k := [2]int{min(p, q), max(p, q)}
			if p == q || seen[k] {
				continue
			}
			seen[k] = true
			if rnd.IntN(2) == 0 {
				k[0], k[1] = k[1], k[0]
			}
			out = append(out, k)
		}
	}
	return out
}

// skewed draws from 0 … n-1, small numbers more often.
func skewed(rnd *rand.Rand, n int) int { return int(math.Pow(rnd.Float64(), 2.5) * float64(n)) }

// distinct draws k different numbers.
func distinct(rnd *rand.Rand, k, n int) []int {
	var out []int
	for len(out) < min(k, n) {
		t := skewed(rnd, n)
		dup := false
		for _, o := range out {
			dup = dup || o == t
		}
		if !dup {
			out = append(out, t)
		}
	}
	return out
}
