package hedgerow_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hedgerowdb/hedgerow"
)

// A database in memory, a few nodes, a question.
func Example() {
	db, err := hedgerow.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()

	_, err = db.Exec(ctx, `
		CREATE (:Person {name: 'Ada'}), (:Person {name: 'Bo'}), (:Person {name: 'Cy'});
		MATCH (a:Person {name: 'Ada'}), (f:Person) WHERE f <> a CREATE (a)-[:KNOWS {since: 2020}]->(f)`, nil)
	if err != nil {
		log.Fatal(err)
	}
	rows, err := db.Query(ctx, `MATCH (:Person {name: $name})-[k:KNOWS]->(f) RETURN f.name AS friend, k.since AS since ORDER BY friend`,
		hedgerow.Params{"name": "Ada"})
	if err != nil {
		log.Fatal(err)
	}
	for row, err := range rows.All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Get("friend"), row.Get("since"))
	}
	// Output:
	// Bo 2020
	// Cy 2020
}

// A directory keeps what was committed.
func ExampleOpen() {
	tmp, err := os.MkdirTemp("", "hedgerow-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "social.hedge")
	for range 2 {
		db, err := hedgerow.Open(dir, &hedgerow.Options{CacheBytes: 64 << 20})
		if err != nil {
			log.Fatal(err)
		}
		res, err := db.Exec(context.Background(), `MERGE (c:Counter) ON CREATE SET c.n = 1 ON MATCH SET c.n = c.n + 1`, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res)
		if err := db.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// Created 1 node, set 1 property, added 1 label
	// Set 1 property
}

// Collect fills structs by column name.
func ExampleCollect() {
	db, err := hedgerow.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	type person struct {
		Name  string
		Age   *int     // null is nil
		Likes []string `hedgerow:"interests"`
	}
	rows, err := db.Query(context.Background(), `
		UNWIND [{name: 'Ada', age: 36, interests: ['maps', 'tea']}, {name: 'Bo', interests: []}] AS p
		RETURN p.name AS name, p.age AS age, p.interests AS interests`, nil)
	if err != nil {
		log.Fatal(err)
	}
	people, err := hedgerow.Collect[person](rows)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range people {
		fmt.Println(p.Name, p.Age != nil, p.Likes)
	}
	// Output:
	// Ada true [maps tea]
	// Bo false []
}

// Update runs its function again when the transaction collides with another.
func ExampleDB_Update() {
	db, err := hedgerow.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	if _, err := db.Exec(ctx, `CREATE (:Account {id: 1, balance: 70}), (:Account {id: 2, balance: 0})`, nil); err != nil {
		log.Fatal(err)
	}
	move := func(amount int) error {
		return db.Update(ctx, func(tx *hedgerow.Tx) error {
			rows, err := tx.Query(ctx, `MATCH (a:Account {id: 1}) SET a.balance = a.balance - $amount RETURN a.balance`, hedgerow.Params{"amount": amount})
			if err != nil {
				return err
			}
			left, err := hedgerow.Collect[int](rows)
			if err != nil {
				return err
			}
			if left[0] < 0 {
				return errors.New("not enough") // rolls back
			}
			_, err = tx.Exec(ctx, `MATCH (a:Account {id: 2}) SET a.balance = a.balance + $amount`, hedgerow.Params{"amount": amount})
			return err
		})
	}
	fmt.Println(move(50))
	fmt.Println(move(50))
	rows, err := db.Query(ctx, `MATCH (a:Account) RETURN a.balance ORDER BY a.id`, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(hedgerow.Collect[int](rows))
	// Output:
	// <nil>
	// not enough
	// [20 50] <nil>
}

// A savepoint lets a transaction go on after an error.
func ExampleTx_Savepoint() {
	db, err := hedgerow.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	if _, err := db.Exec(ctx, `CREATE CONSTRAINT FOR (p:Person) REQUIRE p.email IS UNIQUE`, nil); err != nil {
		log.Fatal(err)
	}
	tx, err := db.Begin(ctx, hedgerow.TxOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback() // does nothing after Commit
	for _, email := range []string{"ada@x", "bo@x", "ada@x"} {
		if err := tx.Savepoint(ctx, "one"); err != nil {
			log.Fatal(err)
		}
		_, err := tx.Exec(ctx, `CREATE (:Person {email: $email})`, hedgerow.Params{"email": email})
		var e *hedgerow.Error
		if errors.As(err, &e) && e.SQLState == "23505" {
			fmt.Println(email, "is there already")
			if err := tx.RollbackTo("one"); err != nil {
				log.Fatal(err)
			}
		}
	}
	fmt.Println(tx.Commit(ctx))
	// Output:
	// ada@x is there already
	// <nil>
}

// An error in a statement's text has a line, a column and an excerpt with a caret.
func ExampleError() {
	db, err := hedgerow.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	_, err = db.Query(context.Background(), "MATCH (p:Person)\nRETURN q.name", nil)
	var e *hedgerow.Error
	if errors.As(err, &e) {
		fmt.Println(e.SQLState, e.Line, e.Column)
		fmt.Println(e.Excerpt())
	}
	// Output:
	// 42703 2 8
	// RETURN q.name
	//        ^
}

// SQL reads the same graph: cypher() is a table.
func ExampleDB_QuerySQL() {
	db, err := hedgerow.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	if _, err := db.Exec(ctx, `UNWIND range(1, 5) AS i CREATE (:Item {n: i, kind: CASE i % 2 WHEN 0 THEN 'even' ELSE 'odd' END})`, nil); err != nil {
		log.Fatal(err)
	}
	rows, err := db.QuerySQL(ctx, `SELECT kind, count(*) FROM cypher('main', $$ MATCH (i:Item) RETURN i.kind $$) AS (kind agtype) GROUP BY kind ORDER BY kind`)
	if err != nil {
		log.Fatal(err)
	}
	for row, err := range rows.All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Values()...)
	}
	// Output:
	// even 2
	// odd 3
}

// Schema lists what a graph holds.
func ExampleConn_Schema() {
	db, err := hedgerow.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	if _, err := db.Exec(ctx, `CREATE INDEX person_name FOR (p:Person) ON (p.name); CREATE (:Person {name: 'Ada'})-[:KNOWS]->(:Person {name: 'Bo'})`, nil); err != nil {
		log.Fatal(err)
	}
	c := db.Conn()
	defer c.Close()
	s, err := c.Schema(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Labels, s.Types, s.Keys, s.Indexes[0].Name)
	// Output:
	// [{Person 2}] [{KNOWS 1}] [name] person_name
}
