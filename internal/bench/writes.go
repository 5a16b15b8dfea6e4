package bench

import "fmt"

var (
	edgeProbe = Statement{
		Cypher: `MATCH (:Person {id: $a})-[k:KNOWS]->(:Person {id: $b}) RETURN count(k) AS edges, coalesce(sum(k.since), 0) AS total`,
		SQL:    `SELECT count(*), coalesce(sum(since), 0) FROM knows WHERE src = $1 AND dst = $2`,
		Args:   []string{"a", "b"}, Columns: []string{"edges", "total"}}
	personProbe = Statement{
		Cypher: `MATCH (p:Person {id: $id}) RETURN p.firstName AS firstName, p.visits AS visits, p.nickname AS nickname`,
		SQL:    `SELECT first_name, visits, nickname FROM person WHERE id = $1`,
		Args:   []string{"id"}, Columns: []string{"firstName", "visits", "nickname"}}

	insertEdge = Statement{
		Cypher: `MATCH (a:Person {id: $a}), (b:Person {id: $b}) CREATE (a)-[:KNOWS {since: $since}]->(b)`,
		SQL:    `INSERT INTO knows (src, dst, since) SELECT a.id, b.id, $3 FROM person a, person b WHERE a.id = $1 AND b.id = $2`,
		Args:   []string{"a", "b", "since"}, Probe: &edgeProbe}
	setExisting = Statement{
		Cypher: `MATCH (p:Person {id: $id}) SET p.visits = $visits`,
		SQL:    `UPDATE person SET visits = $2 WHERE id = $1`,
		Args:   []string{"id", "visits"}, Probe: &personProbe}
	setNew = Statement{
		Cypher: `MATCH (p:Person {id: $id}) SET p.nickname = $nickname`,
		SQL:    `UPDATE person SET nickname = $2 WHERE id = $1`,
		Args:   []string{"id", "nickname"}, Probe: &personProbe}
	removeKey = Statement{
		Cypher: `MATCH (p:Person {id: $id}) REMOVE p.nickname`,
		SQL:    `UPDATE person SET nickname = NULL WHERE id = $1`,
		Args:   []string{"id"}, Probe: &personProbe}
	deleteEdge = Statement{
		Cypher: `MATCH (:Person {id: $a})-[k:KNOWS]->(:Person {id: $b}) DELETE k`,
		SQL:    `DELETE FROM knows WHERE src = $1 AND dst = $2`,
		Args:   []string{"a", "b"}, Probe: &edgeProbe}

	restoreEdges   = Statement{Cypher: `MATCH ()-[k:KNOWS]->() WHERE k.since >= $mark DELETE k`, SQL: `DELETE FROM knows WHERE since >= $1`, Args: []string{"mark"}}
	restoreMerged  = Statement{Cypher: `MATCH ()-[k:KNOWS]->() WHERE k.since IS NULL DELETE k`, SQL: `DELETE FROM knows WHERE since IS NULL`}
	restoreVisits  = Statement{Cypher: `MATCH (p:Person) WHERE p.visits <> 0 SET p.visits = 0`, SQL: `UPDATE person SET visits = 0 WHERE visits <> 0`}
	restoreNames   = Statement{Cypher: `MATCH (p:Person) WHERE p.nickname IS NOT NULL REMOVE p.nickname`, SQL: `UPDATE person SET nickname = NULL WHERE nickname IS NOT NULL`}
	restorePersons = Statement{Cypher: `MATCH (p:Person) WHERE p.id >= $base DETACH DELETE p`,
		SQL: `WITH gone AS (DELETE FROM person WHERE id >= $1), a AS (DELETE FROM lives_in WHERE src >= $1), b AS (DELETE FROM works_at WHERE src >= $1)
DELETE FROM has_interest WHERE src >= $1`, Args: []string{"base"}}
)

func newEdge(d *Draw, n int) Params {
	a, b := d.pair()
	return Params{"a": a, "b": b, "since": mark + int64(n)}
}

func visit(d *Draw, n int) Params { return Params{"id": d.person(), "visits": int64(n + 1)} }

// friendshipToDelete is the n-th friendship of the network in an order of its own; each is deleted once.
func friendshipToDelete(d *Draw, n int) (Params, bool) {
	f, ok := d.friendship(n)
	return Params{"a": f.a, "b": f.b, "since": f.since}, ok
}

// newPerson has all properties that persons of the network have, a city, an employer and three interests.
func newPerson(d *Draw, n int) Params {
	tags := []int64{d.tag(), d.tag(), d.tag()}
	for tags[1] == tags[0] || tags[2] == tags[0] || tags[2] == tags[1] {
		tags[1], tags[2] = d.tag(), d.tag()
	}
	return Params{"id": base + d.shift + int64(n), "name": fmt.Sprintf("Nova Person%d", n), "firstName": "Nova", "lastName": fmt.Sprintf("Person%d", n), "gender": "female",
		"born": fmt.Sprintf("%d-0%d-1%d", 1950+d.rnd.IntN(50), 1+d.rnd.IntN(9), d.rnd.IntN(10)), "joined": 1672531200000 + int64(n)*1000, "languages": "en;es",
		"locationIP": fmt.Sprintf("10.1.%d.%d", d.rnd.IntN(256), d.rnd.IntN(256)), "browserUsed": "Firefox", "visits": int64(0),
		"city": d.city(), "organisation": d.organisation(), "since": int64(2000 + d.rnd.IntN(25)), "tags": tags}
}

const (
	createPerson = `CREATE (p:Person {id: $id, name: $name, firstName: $firstName, lastName: $lastName, gender: $gender, born: $born, joined: $joined,
  languages: $languages, locationIP: $locationIP, browserUsed: $browserUsed, visits: $visits})`
	insertPerson = `INSERT INTO person (id, name, first_name, last_name, gender, born, joined, languages, location_ip, browser_used, visits)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
)

var personArgs = []string{"id", "name", "firstName", "lastName", "gender", "born", "joined", "languages", "locationIP", "browserUsed", "visits"}

// writes are the changes of the nineteen.
func writes() []*Scenario {
	w01 := one("w01_insert_edge", Write, "a friendship between two persons", newEdge, insertEdge)
	w01.Restore = []Statement{restoreEdges}
	w02 := one("w02_insert_person", Write, "a person with all properties and five relationships", newPerson, Statement{
		Cypher: createPerson + `
WITH p MATCH (c:City {id: $city}) CREATE (p)-[:LIVES_IN]->(c)
WITH p MATCH (o:Organisation {id: $organisation}) CREATE (p)-[:WORKS_AT {since: $since}]->(o)
WITH p UNWIND $tags AS tag MATCH (t:Tag {id: tag}) CREATE (p)-[:HAS_INTEREST]->(t)`,
		SQL: "WITH p AS (" + insertPerson + ` RETURNING id),
c AS (INSERT INTO lives_in (src, dst) SELECT p.id, c.id FROM p, city c WHERE c.id = $12),
o AS (INSERT INTO works_at (src, dst, since) SELECT p.id, o.id, $14 FROM p, organisation o WHERE o.id = $13)
INSERT INTO has_interest (src, dst) SELECT p.id, t.id FROM p, tag t WHERE t.id = ANY($15)`,
		Args: append(append([]string{}, personArgs...), "city", "organisation", "since", "tags"),
		Probe: &Statement{
			Cypher: `MATCH (p:Person {id: $id})-[:LIVES_IN]->(c:City) MATCH (p)-[w:WORKS_AT]->(o:Organisation) MATCH (p)-[:HAS_INTEREST]->(t:Tag)
RETURN p.name AS name, p.born AS born, p.locationIP AS ip, c.id AS city, o.id AS organisation, w.since AS since, t.id AS tag ORDER BY t.id`,
			SQL: `SELECT p.name, p.born, p.location_ip, l.dst, w.dst, w.since, h.dst
FROM person p JOIN lives_in l ON l.src = p.id JOIN works_at w ON w.src = p.id JOIN has_interest h ON h.src = p.id WHERE p.id = $1 ORDER BY h.dst`,
			Args: []string{"id"}, Columns: []string{"name", "born", "ip", "city", "organisation", "since", "tag"}, Ordered: true}})
	w02.Restore = []Statement{restorePersons}
	w03 := one("w03_merge_edge", Write, "MERGE of a friendship; every second one is there", func(d *Draw, n int) Params {
		a, b := d.pair()
		if n%2 == 0 && len(d.friends) > 0 {
			f := d.friends[d.rnd.IntN(len(d.friends))]
			a, b = f.a, f.b
		}
		return Params{"a": a, "b": b}
	}, Statement{
		Cypher: `MATCH (a:Person {id: $a}), (b:Person {id: $b}) MERGE (a)-[:KNOWS]->(b)`,
		SQL: `INSERT INTO knows (src, dst) SELECT a.id, b.id FROM person a, person b WHERE a.id = $1 AND b.id = $2
AND NOT EXISTS (SELECT FROM knows k WHERE k.src = $1 AND k.dst = $2)`,
		Args: []string{"a", "b"}, Probe: &edgeProbe})
	w03.Friends, w03.Restore = true, []Statement{restoreMerged}
	w04 := &Scenario{Name: "w04_update_mix", Group: Write, Title: "SET of an existing and of a new key, REMOVE and DELETE of a friendship in turns",
		Statements: []Statement{setExisting, setNew, removeKey, deleteEdge}, Friends: true, Deletes: true,
		Restore: []Statement{restoreVisits, restoreNames},
		Next: func(d *Draw, n int) (Request, bool) {
			switch n % 4 {
			case 0:
				return Request{0, visit(d, n)}, true
			case 1, 2: // what one sets the next removes
				id := int64(n/4*7919)%int64(d.Persons) + 1
				if n%4 == 1 {
					return Request{1, Params{"id": id, "nickname": fmt.Sprintf("nick %d", n)}}, true
				}
				return Request{2, Params{"id": id}}, true
			}
			p, ok := friendshipToDelete(d, n/4)
			return Request{3, p}, ok
		}}
	return []*Scenario{w01, w02, w03, w04}
}

// moreWrites are single changes beside the nineteen.
func moreWrites() []*Scenario {
	w05 := one("w05_set", Extra, "SET of an existing key", visit, setExisting)
	w05.Restore = []Statement{restoreVisits}
	note := Statement{Cypher: `MATCH (m:Post {id: $id}) RETURN m.note AS note, m.length AS length`, SQL: `SELECT note, length FROM post WHERE id = $1`,
		Args: []string{"id"}, Columns: []string{"note", "length"}}
	w06 := &Scenario{Name: "w06_remove", Group: Extra, Title: "REMOVE of a key that is there",
		Statements: []Statement{{Cypher: `MATCH (m:Post {id: $id}) REMOVE m.note`, SQL: `UPDATE post SET note = NULL WHERE id = $1`, Args: []string{"id"}, Probe: &note}},
		Setup:      []Statement{{Cypher: `MATCH (m:Post) SET m.note = 'to be removed'`, SQL: `UPDATE post SET note = 'to be removed'`}},
		Restore:    []Statement{{Cypher: `MATCH (m:Post) WHERE m.note IS NOT NULL REMOVE m.note`, SQL: `UPDATE post SET note = NULL WHERE note IS NOT NULL`}},
		Next:       func(d *Draw, n int) (Request, bool) { return Request{0, Params{"id": int64(n) + 1}}, n < d.Posts }}
	w07 := &Scenario{Name: "w07_delete_edge", Group: Extra, Title: "DELETE of a friendship", Statements: []Statement{deleteEdge}, Friends: true, Deletes: true,
		Next: func(d *Draw, n int) (Request, bool) {
			p, ok := friendshipToDelete(d, n)
			return Request{0, p}, ok
		}}
	w08 := one("w08_create_vertex", Extra, "a person with all properties and no relationships", newPerson, Statement{
		Cypher: createPerson, SQL: insertPerson, Args: personArgs, Probe: &personProbe})
	w08.Restore = []Statement{restorePersons}
	return []*Scenario{w05, w06, w07, w08}
}

// mixed is what an application does: four reads to one write; one read in four goes two steps far.
func mixed() []*Scenario {
	return []*Scenario{{Name: "m01_mixed_80_20", Group: Mixed, Title: "80 % reads, a quarter of them two steps of variable length, and 20 % writes",
		Statements: []Statement{personByID, personCity, friendsByDate, twoHops, insertEdge, setExisting},
		Restore:    []Statement{restoreEdges, restoreVisits},
		Next: func(d *Draw, n int) (Request, bool) {
			switch k := n % 10; {
			case k == 4:
				return Request{4, newEdge(d, n)}, true
			case k == 9:
				return Request{5, visit(d, n)}, true
			default:
				return Request{(n - n/5) % 4, Params{"id": d.person()}}, true // n-n/5 numbers the reads
			}
		}}}
}
