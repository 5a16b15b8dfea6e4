package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestConcurrentClients runs 32 connections against a server: MERGE makes nothing twice and counts every match, increments sum up. With a unique
// constraint, with a plain index, and with neither (rules A9, B14). Nothing but a deadlock may be reported, and that has to be tried again.
func TestConcurrentClients(t *testing.T) {
	url := pgURL(t, t.TempDir())
	ctx := context.Background()
	connect := func() *pgx.Conn {
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	one := connect()
	defer one.Close(ctx)
	do := func(c *pgx.Conn, text string) error {
		for {
			_, err := c.PgConn().ExecParams(ctx, text, nil, nil, nil, nil).Close()
			var pg *pgconn.PgError
			if errors.As(err, &pg) && pg.Code == "40P01" {
				continue
			}
			return err
		}
	}
	must := func(text string) {
		t.Helper()
		if err := do(one, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	int64Of := func(text string) (n int64) {
		t.Helper()
		var cell string
		if err := one.QueryRow(ctx, text).Scan(&cell); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		fmt.Sscan(cell, &n)
		return n
	}
	const clients, keys, rounds = 32, 4, 2
	for i, index := range []string{"CREATE CONSTRAINT FOR (n:%s) REQUIRE n.k IS UNIQUE", "CREATE RANGE INDEX FOR (n:%s) ON (n.k)", ""} {
		label := fmt.Sprintf("L%d", i)
		t.Run(label, func(t *testing.T) {
			if index != "" {
				must(fmt.Sprintf(index, label))
			}
			must(fmt.Sprintf("CREATE (:%sCounter {k: 1, c: 0}), (:%sEnd {k: 1}), (:%sEnd {k: 2})", label, label, label))
			var wg sync.WaitGroup
			for w := range clients {
				wg.Go(func() {
					c, err := pgx.Connect(ctx, url)
					if err != nil {
						t.Error(err)
						return
					}
					defer c.Close(ctx)
					for r := range rounds * keys {
						k := (r + w) % keys
						for _, text := range []string{
							fmt.Sprintf("SELECT * FROM cypher('main', $$ MERGE (n:%s {k: %d}) ON CREATE SET n.c = 1 ON MATCH SET n.c = n.c + 1 $$) AS (x agtype)", label, k),
							fmt.Sprintf("MATCH (a:%[1]sEnd {k: 1}), (b:%[1]sEnd {k: 2}) MERGE (a)-[r:%[1]sR {k: %d}]->(b) ON CREATE SET r.c = 1 ON MATCH SET r.c = r.c + 1", label, k),
							fmt.Sprintf("MERGE (a:%[1]sA {k: %d})-[:%[1]sP]->(b:%[1]sB {k: %[2]d})", label, k),
							fmt.Sprintf("MATCH (n:%sCounter {k: 1}) SET n.c = n.c + 1", label),
						} {
							if err := do(c, text); err != nil {
								t.Errorf("%s: %v", text, err)
								return
							}
						}
					}
				})
			}
			wg.Wait()
			const all = clients * rounds * keys
			for text, want := range map[string]int64{
				"MATCH (n:%s) RETURN count(n)":                keys,
				"MATCH (n:%s) RETURN sum(n.c)":                all,
				"MATCH ()-[r:%sR]->() RETURN count(r)":        keys,
				"MATCH ()-[r:%sR]->() RETURN sum(r.c)":        all,
				"MATCH (n:%sA) RETURN count(n)":               keys,
				"MATCH ()-[r:%sP]->(:%[1]sB) RETURN count(r)": keys,
				"MATCH (n:%sCounter) RETURN n.c":              all,
			} {
				if got := int64Of(fmt.Sprintf(text, label)); got != want {
					t.Errorf("%s: %d, want %d", fmt.Sprintf(text, label), got, want)
				}
			}
		})
	}
}
