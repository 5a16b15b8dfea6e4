package hedgerow

import (
	"context"
	"strings"
	"testing"
)

func movies(t *testing.T) *DB {
	t.Helper()
	db, err := OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for _, q := range []string{
		"CREATE (k:Person:Actor {name: 'Keanu', born: 1964}), (h:Person {name: 'Hugo'}), (m:Movie {title: 'The Matrix', rating: 8.7}), (m2:Movie {title: 'Reloaded', tags: ['a', 'b']}), " +
			"(k)-[:ACTED_IN {roles: ['Neo']}]->(m), (k)-[:ACTED_IN {roles: ['Neo']}]->(m2), (h)-[:ACTED_IN]->(m), (h)-[:KNOWS]->(k), ()",
		"CREATE INDEX born FOR (p:Person) ON (p.born)",
		"CREATE CONSTRAINT title FOR (m:Movie) REQUIRE m.title IS UNIQUE",
		"CREATE CONSTRAINT named FOR (p:Person) REQUIRE p.name IS NOT NULL",
	} {
		cells(t, db, q, nil)
	}
	return db
}

func TestProcedures(t *testing.T) {
	db := movies(t)
	for query, want := range map[string]string{
		"CALL db.labels": "'Person' 'Actor' 'Movie'",
		"CALL db.labels() YIELD label RETURN label ORDER BY label":           "'Actor' 'Movie' 'Person'",
		"CALL db.labels() YIELD label AS l WHERE l STARTS WITH 'M' RETURN l": "'Movie'",
		"CALL db.labels YIELD *":                                          "'Person' 'Actor' 'Movie'",
		"CALL db.relationshipTypes()":                                     "'ACTED_IN' 'KNOWS'",
		"CALL db.propertyKeys() YIELD propertyKey RETURN count(*)":        "6",
		"CALL db.ping()":                                                  "true",
		"CALL db.info() YIELD name":                                       "'main'",
		"CALL dbms.components() YIELD name, edition RETURN name, edition": "'Neo4j Kernel'|'community'",
		"CALL dbms.components() YIELD versions UNWIND versions AS v RETURN v STARTS WITH '5.'": "true",
		"CALL dbms.showCurrentUser()": "'go'|['admin', 'PUBLIC']|[]",
		"CALL dbms.clientConfig() YIELD name WHERE name = 'statement_timeout' RETURN name":                                         "'statement_timeout'",
		"CALL dbms.listConfig('work_') YIELD name, value":                                                                          "'work_mem'|'16MB'",
		"CALL dbms.listConfig() YIELD name RETURN count(*) > 20":                                                                   "true",
		"CALL dbms.routing.getRoutingTable({address: 'h:1'}) YIELD ttl, servers RETURN ttl, servers[0].role, servers[0].addresses": "300|'WRITE'|['h:1']",
		"CALL dbms.routing.getRoutingTable({}, 'main') YIELD servers RETURN size(servers)":                                         "3",
		"CALL dbms.queryJmx('java.lang:type=Mem*') YIELD name, attributes RETURN name, attributes.HeapMemoryUsage.value.used > 0":  "'java.lang:type=Memory'|true",
		"CALL db.awaitIndexes":              "",
		"CALL db.awaitIndexes(1)":           "",
		"CALL db.awaitIndex('born')":        "",
		"CALL db.resampleIndex('born')":     "",
		"CALL db.resampleOutdatedIndexes()": "",
		"MATCH (m:Movie) CALL db.ping() YIELD success RETURN m.title, success ORDER BY m.title":                                                "'Reloaded'|true 'The Matrix'|true",
		"UNWIND [1, 2] AS i OPTIONAL CALL db.constraints() YIELD name WHERE name = 'none' RETURN i, name":                                      "",
		"CALL db.indexes() YIELD name, uniqueness, labelsOrTypes, properties RETURN name, uniqueness, labelsOrTypes, properties ORDER BY name": "'born'|'NONUNIQUE'|['Person']|['born'] 'title'|'UNIQUE'|['Movie']|['title']",
		"CALL db.constraints() YIELD name, description RETURN name, description ORDER BY name":                                                 "'named'|'CONSTRAINT FOR (n:`Person`) REQUIRE (n.`name`) IS NOT NULL' 'title'|'CONSTRAINT FOR (n:`Movie`) REQUIRE (n.`title`) IS UNIQUE'",
		"CALL db.schema.nodeTypeProperties()":                cellsOfNodeTypes,
		"CALL db.schema.relTypeProperties()":                 "':`ACTED_IN`'|'roles'|['StringArray']|false ':`KNOWS`'|null|null|false",
		"CALL db.schema.visualization() YIELD nodes":         "[(:Actor {name: 'Actor', indexes: [], constraints: []}), (:Movie {name: 'Movie', indexes: [], constraints: ['CREATE CONSTRAINT `title` FOR (n:`Movie`) REQUIRE (n.`title`) IS UNIQUE']}), (:Person {name: 'Person', indexes: ['born'], constraints: ['CREATE CONSTRAINT `named` FOR (n:`Person`) REQUIRE (n.`name`) IS NOT NULL']})]",
		"CALL db.schema.visualization() YIELD relationships": "[[:ACTED_IN {name: 'ACTED_IN'}], [:ACTED_IN {name: 'ACTED_IN'}], [:KNOWS {name: 'KNOWS'}], [:KNOWS {name: 'KNOWS'}]]",
		"CALL db.schema.visualization() YIELD nodes UNWIND nodes AS n RETURN labels(n), n.name, n.indexes ORDER BY n.name":         "['Actor']|'Actor'|[] ['Movie']|'Movie'|[] ['Person']|'Person'|['born']",
		"CALL db.stats.retrieve('GRAPH COUNTS') YIELD data RETURN data.nodes[0].count, size(data.indexes), size(data.constraints)": "5|2|2",
		"CALL dbms.procedures() YIELD name WHERE name = 'db.labels' RETURN name":                                                   "'db.labels'",
		"CALL dbms.functions() YIELD name WHERE name = 'toUpper' RETURN name":                                                      "'toUpper'",
		// What LangChain asks of apoc.meta.data.
		"CALL apoc.meta.data() YIELD label, other, elementType, type, property WHERE NOT type = 'RELATIONSHIP' AND elementType = 'node' WITH label AS l, collect(property + ':' + type) AS ps RETURN l, ps":   "'Actor'|['born:INTEGER', 'name:STRING'] 'Movie'|['rating:FLOAT', 'tags:LIST', 'title:STRING'] 'Person'|['born:INTEGER', 'name:STRING']",
		"CALL apoc.meta.data() YIELD label, other, elementType, type, property WHERE type = 'RELATIONSHIP' AND elementType = 'node' UNWIND other AS o RETURN label, property, o":                              "'Actor'|'ACTED_IN'|'Movie' 'Person'|'ACTED_IN'|'Movie' 'Person'|'KNOWS'|'Actor' 'Person'|'KNOWS'|'Person'",
		"CALL apoc.meta.data({sample: 1}) YIELD label, elementType, type, property WHERE NOT type = 'RELATIONSHIP' AND elementType = 'relationship' RETURN label, property, type":                             "'ACTED_IN'|'roles'|'LIST'",
		"CALL apoc.meta.data() YIELD label, property, unique, index, existence WHERE label = 'Movie' AND property = 'title' OR label = 'Person' AND property = 'name' RETURN label, unique, index, existence": "'Movie'|true|true|false 'Person'|false|false|true",
		"CALL apoc.meta.schema() YIELD value RETURN value.Movie.properties.title, value.Movie.count, value.Person.relationships.ACTED_IN.direction, value.ACTED_IN.type":                                      "{type: 'STRING', unique: true, indexed: true, existence: false}|2|'out'|'relationship'",
	} {
		if got := cells(t, db, query, nil); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"CALL db.none()":                              "42883",
		"CALL db.awaitIndex('none')":                  "42704",
		"CALL db.awaitIndex()":                        "42601",
		"CALL db.ping(1)":                             "42601",
		"CALL db.stats.retrieve('NONE')":              "22023",
		"CALL db.labels() YIELD nothing":              "42703",
		"MATCH (n) CALL db.labels RETURN n":           "42601",
		"MATCH (n) CALL db.labels() YIELD * RETURN n": "42601",
	} {
		_, err := db.Exec(context.Background(), query, nil)
		if got, _, _ := strings.Cut(state(err), " "); got != want {
			t.Errorf("%s: got %v, want %s", query, err, want)
		}
	}
	cells(t, db, "CALL db.createLabel('Fresh')", nil)
	cells(t, db, "CALL db.createRelationshipType('NEW')", nil)
	cells(t, db, "CALL db.createProperty('key')", nil)
	if got := cells(t, db, "CALL db.propertyKeys() YIELD propertyKey WHERE propertyKey = 'key' RETURN count(*)", nil); got != "1" {
		t.Errorf("got %s", got)
	}
}

const cellsOfNodeTypes = "''|[]|null|null|false ':`Actor`:`Person`'|['Actor', 'Person']|'born'|['Long']|true ':`Actor`:`Person`'|['Actor', 'Person']|'name'|['String']|true " +
	"':`Movie`'|['Movie']|'rating'|['Double']|false ':`Movie`'|['Movie']|'tags'|['StringArray']|false ':`Movie`'|['Movie']|'title'|['String']|true ':`Person`'|['Person']|'name'|['String']|true"

func TestShow(t *testing.T) {
	db := movies(t)
	columns := func(query string) string {
		rows, err := db.Query(context.Background(), query, nil)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			return ""
		}
		defer rows.Close()
		return strings.Join(rows.Columns(), " ")
	}
	for query, want := range map[string]string{
		"SHOW INDEXES":              "id name state populationPercent type entityType labelsOrTypes properties indexProvider owningConstraint lastRead readCount",
		"SHOW CONSTRAINTS":          "id name type entityType labelsOrTypes properties ownedIndex propertyType",
		"SHOW FUNCTIONS":            "name category description",
		"SHOW PROCEDURES":           "name description mode worksOnSystem",
		"SHOW SETTINGS":             "name value isDynamic defaultValue description",
		"SHOW DATABASES":            "name type aliases access address role writer requestedStatus currentStatus statusMessage default home constituents",
		"SHOW INDEXES YIELD *":      "id name state populationPercent type entityType labelsOrTypes properties indexProvider owningConstraint lastRead readCount trackedSince options failureMessage createStatement",
		"TERMINATE TRANSACTION 'x'": "transactionId username message",
	} {
		if got := columns(query); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"SHOW INDEXES YIELD name, type, owningConstraint":                                                        "'born'|'RANGE'|null 'title'|'RANGE'|'title'",
		"SHOW RANGE INDEXES YIELD name WHERE name STARTS WITH 'b'":                                               "'born'",
		"SHOW TEXT INDEXES YIELD name":                                                                           "",
		"SHOW ALL INDEXES YIELD name, createStatement AS s ORDER BY name DESC SKIP 1 LIMIT 1":                    "'born'|'CREATE RANGE INDEX `born` FOR (n:`Person`) ON (n.`born`)'",
		"SHOW INDEXES YIELD * RETURN count(*)":                                                                   "2",
		"SHOW CONSTRAINTS YIELD name, type":                                                                      "'named'|'NODE_PROPERTY_EXISTENCE' 'title'|'UNIQUENESS'",
		"SHOW UNIQUE CONSTRAINTS YIELD name":                                                                     "'title'",
		"SHOW NODE EXISTENCE CONSTRAINTS YIELD name":                                                             "'named'",
		"SHOW REL EXIST CONSTRAINTS YIELD name":                                                                  "",
		"SHOW CONSTRAINTS WHERE name = 'title'":                                                                  "2|'title'|'UNIQUENESS'|'NODE'|['Movie']|['title']|'title'|null",
		"SHOW FUNCTIONS YIELD name, aggregating WHERE name = 'count' RETURN aggregating":                         "true",
		"SHOW BUILT IN FUNCTIONS YIELD name RETURN count(*) > 100":                                               "true",
		"SHOW USER DEFINED FUNCTIONS YIELD name RETURN count(*)":                                                 "0",
		"SHOW PROCEDURES EXECUTABLE YIELD name, mode, signature WHERE name = 'db.labels' RETURN mode, signature": "'READ'|'db.labels() :: (label :: STRING)'",
		"SHOW PROCEDURES EXECUTABLE BY CURRENT USER YIELD name, argumentDescription AS a WHERE name = 'db.awaitIndex' RETURN a[1].default, a[1].type": "'DefaultParameterValue{value=300, type=INTEGER}'|'INTEGER'",
		"SHOW SETTINGS 'work_mem', 'statement_timeout' YIELD name, value":                                                                             "'statement_timeout'|'0' 'work_mem'|'16MB'",
		"SHOW SETTING $name YIELD name":                "'row_security' 'work_mem'",
		"SHOW DATABASES YIELD name, home":              "'main'|true 'system'|false",
		"SHOW DATABASE main YIELD name, aliases":       "'main'|[]",
		"SHOW DATABASE neo4j YIELD name":               "", // a name for Neo4j's drivers
		"SHOW DEFAULT DATABASE YIELD name":             "'main'",
		"SHOW HOME DATABASE YIELD name, currentStatus": "'main'|'online'",
		"SHOW DATABASE system YIELD name, type, home":  "'system'|'system'|false",
		"SHOW HOME DATABASE YIELD name":                "'main'",
		"SHOW DATABASE other":                          "",
		"SHOW CURRENT USER YIELD user, home":           "'go'|'main'",
	} {
		if got := cells(t, db, query, Params{"name": []any{"work_mem", "row_security"}}); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", query, got, want)
		}
	}
}
