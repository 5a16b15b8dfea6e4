package social

// Question is something that a person would ask a social network.
type Question struct {
	Title  string
	Cypher string
	Params map[string]any
}

// Questions are asked about the person with id 1.
func Questions() []Question {
	me := map[string]any{"me": int64(1)}
	return []Question{
		{"Who is Ada, and where does she live?",
			`MATCH (p:Person {id: $me})-[:LIVES_IN]->(c:City)
RETURN p.name AS name, p.born AS born, c.name AS city, c.country AS country, p.languages AS languages`, me},
		{"Her friends, newest friendship first",
			`MATCH (:Person {id: $me})-[k:KNOWS]-(f:Person)
RETURN f.name AS friend, k.since AS since ORDER BY since DESC, friend LIMIT 8`, me},
		{"Friends of friends, by how many friends are shared",
			`MATCH (me:Person {id: $me})-[:KNOWS]-(f)-[:KNOWS]-(fof:Person)
WHERE fof <> me AND NOT (me)-[:KNOWS]-(fof)
RETURN fof.id AS id, fof.name AS person, count(DISTINCT f) AS shared ORDER BY shared DESC, id LIMIT 8`, me},
		{"Friends with whom she shares interests",
			`MATCH (me:Person {id: $me})-[:HAS_INTEREST]->(t:Tag)<-[:HAS_INTEREST]-(f:Person)-[:KNOWS]-(me)
RETURN f.id AS id, f.name AS friend, collect(t.name) AS interests ORDER BY size(interests) DESC, id LIMIT 8`, me},
		{"Forums that her friends are in and she is not",
			`MATCH (me:Person {id: $me})-[:KNOWS]-(f:Person)<-[:HAS_MEMBER]-(forum:Forum)
WHERE NOT (forum)-[:HAS_MEMBER]->(me)
RETURN forum.id AS id, forum.title AS forum, count(f) AS friends ORDER BY friends DESC, id LIMIT 8`, me},
		{"The latest messages of her friends",
			`MATCH (:Person {id: $me})-[:KNOWS]-(f:Person)-[:WROTE]->(m:Message)
RETURN m.created AS at, f.name AS friend, m.content AS message ORDER BY at DESC, m.id LIMIT 8`, me},
		{"The shortest way from Ada to a person far away",
			`MATCH (a:Person {id: $me}), (b:Person {id: $you}), p = shortestPath((a)-[:KNOWS*]-(b))
RETURN length(p) AS steps, [n IN nodes(p) | n.name] AS way`, map[string]any{"me": int64(1), "you": int64(0)}},
		{"How far does her network reach?",
			`MATCH (me:Person {id: $me})-[:KNOWS*1..3]-(p:Person) WHERE p <> me
RETURN count(DISTINCT p) AS within_three_steps`, me},
		{"Whom to follow: strangers nearby with two common interests",
			`MATCH (me:Person {id: $me})-[:LIVES_IN]->(c:City)<-[:LIVES_IN]-(p:Person)
WHERE p <> me AND NOT (me)-[:KNOWS]-(p)
MATCH (me)-[:HAS_INTEREST]->(t:Tag)<-[:HAS_INTEREST]-(p)
WITH p, c, collect(t.name) AS common WHERE size(common) >= 2
RETURN p.id AS id, p.name AS person, c.name AS city, common ORDER BY size(common) DESC, id LIMIT 8`, me},
		{"The longest discussions",
			`MATCH (post:Post)<-[:REPLY_OF*1..]-(c:Comment)
RETURN post.id AS id, post.content AS post, count(c) AS comments ORDER BY comments DESC, id LIMIT 5`, nil},
		{"Which interests do the most people share?",
			`MATCH (t:Tag)<-[:HAS_INTEREST]-(p:Person)
RETURN t.name AS interest, count(p) AS people ORDER BY people DESC, interest LIMIT 8`, nil},
		{"Cities by people, and how many of them know somebody abroad",
			`MATCH (p:Person)-[:LIVES_IN]->(c:City)
OPTIONAL MATCH (p)-[:KNOWS]-(f:Person)-[:LIVES_IN]->(d:City) WHERE d.country <> c.country
WITH c, p, count(f) AS abroad
RETURN c.name AS city, count(p) AS people, sum(CASE WHEN abroad > 0 THEN 1 ELSE 0 END) AS with_friends_abroad
ORDER BY people DESC, city LIMIT 8`, nil},
	}
}
