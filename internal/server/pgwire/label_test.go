package pgwire

import (
	"context"
	"testing"
)

// TestLabelsAsTables: a label read as a table holds what MATCH finds (rules D1).
func TestLabelsAsTables(t *testing.T) {
	s := serve(t, Options{})
	c := s.pgx(t)
	ctx := context.Background()
	if _, err := c.Exec(ctx, "SELECT create_graph('tabs')"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(ctx, "SELECT * FROM cypher('tabs', $$ CREATE (:Camel {a: 1})-[:Rel_Type {w: 2}]->(:camel {b: 2}), (:`Städte`:Camel), () $$) AS (v agtype)"); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`SELECT count(*)::text FROM tabs."Camel"`:          "2",
		`SELECT count(*)::text FROM tabs.camel`:            "1",
		`SELECT count(*)::text FROM tabs."Städte"`:         "1",
		`SELECT count(*)::text FROM tabs._ag_label_vertex`: "4",
		`SELECT count(*)::text FROM tabs._ag_label_edge`:   "1",
		`SELECT (n.properties -> 'a'::text)::text || '>' || (m.properties -> 'b'::text)::text FROM tabs."Camel" n JOIN tabs."Rel_Type" e ON e.start_id = n.id JOIN tabs.camel m ON m.id = e.end_id`: "1>2",
	} {
		var got string
		if err := c.QueryRow(ctx, text).Scan(&got); err != nil || got != want {
			t.Errorf("%s gave %q, %v; want %s", text, got, err, want)
		}
	}
	// SQL reads at the statement's start: beside a call that writes a label is refused.
	if _, err := c.Exec(ctx, `SELECT * FROM tabs."Camel", cypher('tabs', $$ CREATE (x:Camel) RETURN x $$) AS (v agtype)`); pgErr(err) == nil || pgErr(err).Code != "0A000" {
		t.Errorf("a label beside a writing call: %v", err)
	}
	var n int
	if err := c.QueryRow(ctx, `SELECT count(*)::int FROM tabs."Camel"`).Scan(&n); err != nil || n != 2 {
		t.Errorf("%d rows after a refused statement, %v", n, err)
	}
}
