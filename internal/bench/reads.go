package bench

// one makes a scenario of one statement.
func one(name, group, title string, draw func(d *Draw, n int) Params, st Statement) *Scenario {
	return &Scenario{Name: name, Group: group, Title: title, Statements: []Statement{st},
		Next: func(d *Draw, n int) (Request, bool) { return Request{0, draw(d, n)}, true }}
}

func nothing(*Draw, int) Params        { return nil }
func somePerson(d *Draw, _ int) Params { return Params{"id": d.person()} }
func somePost(d *Draw, _ int) Params   { return Params{"id": d.post()} }

// floors are what a request costs when it does nothing: other figures are compared with it.
func floors() []*Scenario {
	return []*Scenario{
		one("f01_select_1", Floor, "SELECT 1: a round trip", nothing, Statement{
			Cypher: "RETURN 1 AS one", Plain: "SELECT 1 AS one", SQL: "SELECT 1", Columns: []string{"one"}}),
		one("f02_return_1", Floor, "RETURN 1: a round trip through Cypher", nothing, Statement{
			Cypher: "RETURN 1 AS one", SQL: "SELECT 1", Columns: []string{"one"}}),
	}
}

var (
	personCity = Statement{
		Cypher: `MATCH (p:Person {id: $id})-[:LIVES_IN]->(c:City)
RETURN p.firstName AS firstName, p.lastName AS lastName, p.born AS born, p.locationIP AS ip, p.browserUsed AS browser, p.gender AS gender, p.joined AS joined, c.id AS city`,
		SQL: `SELECT p.first_name, p.last_name, p.born, p.location_ip, p.browser_used, p.gender, p.joined, l.dst
FROM person p JOIN lives_in l ON l.src = p.id WHERE p.id = $1`,
		Args: []string{"id"}, Columns: []string{"firstName", "lastName", "born", "ip", "browser", "gender", "joined", "city"}}
	friendsByDate = Statement{
		Cypher: `MATCH (:Person {id: $id})-[k:KNOWS]-(f:Person)
RETURN f.id AS friend, f.firstName AS firstName, f.lastName AS lastName, k.since AS since ORDER BY k.since DESC, f.id`,
		SQL: `SELECT p.id, p.first_name, p.last_name, k.since
FROM (SELECT dst AS friend, since FROM knows WHERE src = $1 UNION ALL SELECT src, since FROM knows WHERE dst = $1) k JOIN person p ON p.id = k.friend
ORDER BY k.since DESC, p.id`,
		Args: []string{"id"}, Columns: []string{"friend", "firstName", "lastName", "since"}, Ordered: true}
	personByID = Statement{
		Cypher: `MATCH (p:Person {id: $id}) RETURN p.firstName AS firstName, p.lastName AS lastName, p.joined AS joined`,
		SQL:    `SELECT first_name, last_name, joined FROM person WHERE id = $1`,
		Args:   []string{"id"}, Columns: []string{"firstName", "lastName", "joined"}}
	twoHops = Statement{
		Cypher: `MATCH (p:Person {id: $id})-[:KNOWS*1..2]->(f:Person) RETURN count(DISTINCT f) AS people`,
		SQL: `WITH one AS (SELECT DISTINCT dst AS id FROM knows WHERE src = $1)
SELECT count(*) FROM (SELECT id FROM one UNION SELECT k.dst FROM one JOIN knows k ON k.src = one.id) f`,
		Args: []string{"id"}, Columns: []string{"people"}}
)

// shortReads look at one vertex and what is next to it.
func shortReads() []*Scenario {
	return []*Scenario{
		one("s01_person_city", Short, "a person's profile and city", somePerson, personCity),
		one("s02_post_author", Short, "who wrote a post", somePost, Statement{
			Cypher: `MATCH (:Post {id: $id})<-[:WROTE]-(p:Person) RETURN p.id AS person, p.firstName AS firstName, p.lastName AS lastName`,
			SQL:    `SELECT p.id, p.first_name, p.last_name FROM wrote_post w JOIN person p ON p.id = w.src WHERE w.dst = $1`,
			Args:   []string{"id"}, Columns: []string{"person", "firstName", "lastName"}}),
		one("s03_friends_by_date", Short, "a person's friends, newest friendship first", somePerson, friendsByDate),
		one("s04_person_by_id", Short, "a person by id", somePerson, personByID),
		one("s05_person_range", Short, "twenty persons by a range of ids", func(d *Draw, _ int) Params {
			low := d.person()
			return Params{"low": low, "high": low + 20}
		}, Statement{
			Cypher: `MATCH (p:Person) WHERE p.id >= $low AND p.id < $high RETURN p.id AS person, p.firstName AS firstName ORDER BY p.id`,
			SQL:    `SELECT id, first_name FROM person WHERE id >= $1 AND id < $2 ORDER BY id`,
			Args:   []string{"low", "high"}, Columns: []string{"person", "firstName"}, Ordered: true}),
		one("s06_person_tags", Short, "a person's interests", somePerson, Statement{
			Cypher: `MATCH (:Person {id: $id})-[:HAS_INTEREST]->(t:Tag) RETURN t.id AS tag, t.name AS name ORDER BY t.id`,
			SQL:    `SELECT t.id, t.name FROM has_interest h JOIN tag t ON t.id = h.dst WHERE h.src = $1 ORDER BY t.id`,
			Args:   []string{"id"}, Columns: []string{"tag", "name"}, Ordered: true}),
		one("s07_post_replies", Short, "replies to a post with their authors", somePost, Statement{
			Cypher: `MATCH (:Post {id: $id})<-[:REPLY_OF]-(c:Comment)<-[:WROTE]-(a:Person)
RETURN c.id AS comment, c.content AS content, c.created AS created, a.id AS author, a.firstName AS firstName ORDER BY c.created DESC, c.id`,
			SQL: `SELECT c.id, c.content, c.created, a.id, a.first_name
FROM reply_of_post r JOIN comment c ON c.id = r.src JOIN wrote_comment w ON w.dst = c.id JOIN person a ON a.id = w.src
WHERE r.dst = $1 ORDER BY c.created DESC, c.id`,
			Args: []string{"id"}, Columns: []string{"comment", "content", "created", "author", "firstName"}, Ordered: true}),
		one("s08_forum_members", Short, "the members of a forum", func(d *Draw, _ int) Params { return Params{"id": d.forum()} }, Statement{
			Cypher: `MATCH (:Forum {id: $id})-[m:HAS_MEMBER]->(p:Person) RETURN p.id AS person, p.firstName AS firstName, m.joined AS joined ORDER BY p.id`,
			SQL:    `SELECT p.id, p.first_name, m.joined FROM has_member m JOIN person p ON p.id = m.dst WHERE m.src = $1 ORDER BY p.id`,
			Args:   []string{"id"}, Columns: []string{"person", "firstName", "joined"}, Ordered: true}),
		one("s09_recent_posts", Short, "a person's ten latest posts", somePerson, Statement{
			Cypher: `MATCH (:Person {id: $id})-[:WROTE]->(m:Post)
RETURN m.id AS post, m.content AS content, m.created AS created ORDER BY m.created DESC, m.id DESC LIMIT 10`,
			SQL: `SELECT m.id, m.content, m.created FROM wrote_post w JOIN post m ON m.id = w.dst WHERE w.src = $1
ORDER BY m.created DESC, m.id DESC LIMIT 10`,
			Args: []string{"id"}, Columns: []string{"post", "content", "created"}, Ordered: true}),
		one("s10_post_forum_moderator", Short, "the forum of a post and who moderates it", somePost, Statement{
			Cypher: `MATCH (:Post {id: $id})<-[:CONTAINS]-(f:Forum)-[:HAS_MODERATOR]->(p:Person)
RETURN f.id AS forum, f.title AS title, p.id AS person, p.firstName AS firstName, p.lastName AS lastName`,
			SQL: `SELECT f.id, f.title, p.id, p.first_name, p.last_name
FROM contains c JOIN forum f ON f.id = c.src JOIN has_moderator m ON m.src = f.id JOIN person p ON p.id = m.dst WHERE c.dst = $1`,
			Args: []string{"id"}, Columns: []string{"forum", "title", "person", "firstName", "lastName"}}),
	}
}

// somePair draws two persons to find a way between.
func somePair(d *Draw, _ int) Params {
	a, b := d.pair()
	return Params{"a": a, "b": b}
}

// steps is the least length of the paths of a pattern between two persons, as users write it who have no function for it.
func steps(pattern, most, both string) Statement {
	return Statement{
		Cypher: "MATCH p = (a:Person {id: $a})" + pattern + "(b:Person {id: $b}) RETURN min(length(p)) AS steps",
		SQL:    "SELECT bench_shortest($1, $2, " + most + ", " + both + ")",
		Args:   []string{"a", "b"}, Columns: []string{"steps"}}
}

// heavyReads look at what lies several steps away.
func heavyReads() []*Scenario {
	return []*Scenario{
		one("h01_fof_forums", Heavy, "forums that friends and their friends joined lately, by their posts", func(d *Draw, _ int) Params {
			return Params{"id": d.person(), "since": int64(1700000000000) - int64(d.rnd.IntN(300))*86400000}
		}, Statement{
			Cypher: `MATCH (:Person {id: $id})-[:KNOWS*1..2]-(f:Person) WHERE f.id <> $id
WITH DISTINCT f
MATCH (f)<-[m:HAS_MEMBER]-(forum:Forum) WHERE m.joined > $since
OPTIONAL MATCH (f)-[:WROTE]->(post:Post)<-[:CONTAINS]-(forum)
RETURN forum.id AS forum, forum.title AS title, count(post) AS posts ORDER BY posts DESC, forum LIMIT 20`,
			AGE: `MATCH (:Person {id: $id})-[:KNOWS*1..2]-(f:Person) WHERE f.id <> $id
WITH DISTINCT f
MATCH (f)<-[m:HAS_MEMBER]-(forum:Forum) WHERE m.joined > $since
OPTIONAL MATCH (f)-[:WROTE]->(post:Post)<-[:CONTAINS]-(forum)
WITH forum.id AS forum, forum.title AS title, count(post) AS posts
RETURN forum, title, posts ORDER BY posts DESC, forum LIMIT 20`,
			SQL: `WITH friend AS (SELECT dst AS id FROM knows WHERE src = $1 UNION SELECT src FROM knows WHERE dst = $1),
near AS (SELECT id FROM friend UNION SELECT k.dst FROM friend JOIN knows k ON k.src = friend.id UNION SELECT k.src FROM friend JOIN knows k ON k.dst = friend.id)
SELECT f.id, f.title, count(c.dst)
FROM near n JOIN has_member m ON m.dst = n.id JOIN forum f ON f.id = m.src
LEFT JOIN (wrote_post w JOIN contains c ON c.dst = w.dst) ON w.src = n.id AND c.src = f.id
WHERE n.id <> $1 AND m.joined > $2 GROUP BY f.id, f.title ORDER BY 3 DESC, 1 LIMIT 20`,
			Args: []string{"id", "since"}, Columns: []string{"forum", "title", "posts"}, Ordered: true}),
		one("h02_shortest_1_3", Heavy, "the least number of steps between two persons, up to 3", somePair, steps("-[:KNOWS*1..3]-", "3", "true")),
		one("h03_hop2_count", Heavy, "paths of two steps from a person", somePerson, Statement{
			Cypher: `MATCH (:Person {id: $id})-[:KNOWS]->(:Person)-[:KNOWS]->(f:Person) RETURN count(f) AS paths`,
			SQL:    `SELECT count(*) FROM knows a JOIN knows b ON b.src = a.dst WHERE a.src = $1`,
			Args:   []string{"id"}, Columns: []string{"paths"}}),
		one("h04_hop3_count", Heavy, "people within three steps of a person", somePerson, Statement{
			Cypher: `MATCH (:Person {id: $id})-[:KNOWS*1..3]->(f:Person) RETURN count(DISTINCT f) AS people`,
			SQL: `WITH one AS (SELECT DISTINCT dst AS id FROM knows WHERE src = $1),
two AS (SELECT DISTINCT k.dst AS id FROM one JOIN knows k ON k.src = one.id)
SELECT count(*) FROM (SELECT id FROM one UNION SELECT id FROM two UNION SELECT k.dst FROM two JOIN knows k ON k.src = two.id) f`,
			Args: []string{"id"}, Columns: []string{"people"}}),
		one("h05_common_interests", Heavy, "people with the most interests in common with a person", somePerson, Statement{
			Cypher: `MATCH (:Person {id: $id})-[:HAS_INTEREST]->(t:Tag)<-[:HAS_INTEREST]-(o:Person) WHERE o.id <> $id
RETURN o.id AS person, count(t) AS common ORDER BY common DESC, person LIMIT 10`,
			AGE: `MATCH (:Person {id: $id})-[:HAS_INTEREST]->(t:Tag)<-[:HAS_INTEREST]-(o:Person) WHERE o.id <> $id
WITH o.id AS person, count(t) AS common RETURN person, common ORDER BY common DESC, person LIMIT 10`,
			SQL: `SELECT b.src, count(*) FROM has_interest a JOIN has_interest b ON b.dst = a.dst WHERE a.src = $1 AND b.src <> $1
GROUP BY b.src ORDER BY 2 DESC, 1 LIMIT 10`,
			Args: []string{"id"}, Columns: []string{"person", "common"}, Ordered: true}),
	}
}

// extras are reads and writes beside the nineteen.
func extras() []*Scenario {
	out := []*Scenario{
		one("h02b_shortest_1_4", Extra, "as h02, up to 4 steps", somePair, steps("-[:KNOWS*1..4]-", "4", "true")),
		one("h02c_shortest_1_5", Extra, "as h02, up to 5 steps", somePair, steps("-[:KNOWS*1..5]-", "5", "true")),
		one("h02d_shortest_dir_1_5", Extra, "as h02, along the direction of friendships, up to 5 steps", somePair, steps("-[:KNOWS*1..5]->", "5", "false")),
		one("h02f_shortest_path", Extra, "shortestPath() between two persons, of any length", somePair, Statement{
			Cypher: "MATCH (a:Person {id: $a}), (b:Person {id: $b}) MATCH p = shortestPath((a)-[:KNOWS*]-(b)) RETURN length(p) AS steps",
			AGE:    None,
			SQL:    "SELECT s FROM bench_shortest($1, $2, 1000, true) s WHERE s IS NOT NULL",
			Args:   []string{"a", "b"}, Columns: []string{"steps"}}),
		one("h03b_hop2_undirected", Extra, "paths of two steps from a person in any direction", somePerson, Statement{
			Cypher: `MATCH (:Person {id: $id})-[:KNOWS]-(:Person)-[:KNOWS]-(f:Person) RETURN count(f) AS paths`,
			SQL: `WITH k AS (SELECT src, dst, ctid AS edge FROM knows WHERE src = $1 UNION ALL SELECT dst, src, ctid FROM knows WHERE dst = $1)
SELECT (SELECT count(*) FROM k JOIN knows n ON n.src = k.dst AND n.ctid <> k.edge) + (SELECT count(*) FROM k JOIN knows n ON n.dst = k.dst AND n.ctid <> k.edge)`,
			Args: []string{"id"}, Columns: []string{"paths"}}),
		one("h04b_hop3_joins", Extra, "people three steps from a person, by fixed steps", somePerson, Statement{
			Cypher: `MATCH (:Person {id: $id})-[:KNOWS]->(:Person)-[:KNOWS]->(:Person)-[:KNOWS]->(f:Person) RETURN count(DISTINCT f) AS people`,
			SQL:    `SELECT count(DISTINCT c.dst) FROM knows a JOIN knows b ON b.src = a.dst JOIN knows c ON c.src = b.dst WHERE a.src = $1`,
			Args:   []string{"id"}, Columns: []string{"people"}}),
		one("h06_count_knows", Extra, "friendships, counted by a join with both persons", nothing, Statement{
			Cypher:  `MATCH (:Person)-[k:KNOWS]->(:Person) RETURN count(k) AS friendships`,
			SQL:     `SELECT count(*) FROM knows k JOIN person a ON a.id = k.src JOIN person b ON b.id = k.dst`,
			Columns: []string{"friendships"}}),
		one("h06b_sum_knows", Extra, "a sum over all friendships of a property of both persons", nothing, Statement{
			Cypher:  `MATCH (a:Person)-[:KNOWS]->(b:Person) RETURN sum(a.id - b.id) AS total`,
			SQL:     `SELECT sum(a.id - b.id) FROM knows k JOIN person a ON a.id = k.src JOIN person b ON b.id = k.dst`,
			Columns: []string{"total"}}),
		one("h07_group_posts", Extra, "posts by browser", nothing, Statement{
			Cypher:  `MATCH (m:Post) RETURN m.browserUsed AS browser, count(*) AS posts ORDER BY posts DESC, browser`,
			AGE:     `MATCH (m:Post) WITH m.browserUsed AS browser, count(*) AS posts RETURN browser, posts ORDER BY posts DESC, browser`,
			SQL:     `SELECT browser_used, count(*) FROM post GROUP BY 1 ORDER BY 2 DESC, 1`,
			Columns: []string{"browser", "posts"}}),
		one("h08_count_all", Extra, "all relationships, seen from both ends", nothing, Statement{
			Cypher: `MATCH ()-[r]-() RETURN count(r) AS relationships`,
			SQL: `SELECT 2 * ((SELECT count(*) FROM knows) + (SELECT count(*) FROM lives_in) + (SELECT count(*) FROM works_at) + (SELECT count(*) FROM has_interest)
+ (SELECT count(*) FROM has_member) + (SELECT count(*) FROM about) + (SELECT count(*) FROM contains) + (SELECT count(*) FROM wrote_post)
+ (SELECT count(*) FROM wrote_comment) + (SELECT count(*) FROM reply_of_post) + (SELECT count(*) FROM reply_of_comment)
+ (SELECT count(*) FROM has_moderator) + (SELECT count(*) FROM has_tag) + (SELECT count(*) FROM located_in) + (SELECT count(*) FROM likes))`,
			Columns: []string{"relationships"}}),
	}
	return append(out, moreWrites()...)
}
