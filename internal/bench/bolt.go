package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
	"github.com/neo4j/neo4j-go-driver/v5/neo4j/config"

	"github.com/hedgerowdb/hedgerow/internal/load"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// bolt is a server that Neo4j's driver reaches.
type bolt struct {
	dsn    DSN
	driver neo4j.DriverWithContext
}

func openBolt(d DSN) (Target, error) {
	auth := neo4j.NoAuth()
	if d.password != nil {
		password, _ := d.password.Password()
		auth = neo4j.BasicAuth(d.password.Username(), password, "")
	}
	driver, err := neo4j.NewDriverWithContext(d.Address, auth, func(c *config.Config) { c.MaxConnectionPoolSize = 1000 })
	if err != nil {
		return nil, err
	}
	return &bolt{d, driver}, nil
}

func (t *bolt) Close() error { return t.driver.Close(context.Background()) }

func (t *bolt) text(st *Statement) string { return cypherText(st) }

func (t *bolt) agent(ctx context.Context) string {
	info, err := t.driver.GetServerInfo(ctx)
	if err != nil {
		return ""
	}
	return info.Agent()
}

func (t *bolt) Version(ctx context.Context) string {
	if a := t.agent(ctx); a != "" {
		return a + ", over Bolt"
	}
	return "Bolt"
}

func (t *bolt) session(ctx context.Context) neo4j.SessionWithContext {
	return t.driver.NewSession(ctx, neo4j.SessionConfig{DatabaseName: t.dsn.Graph})
}

func (t *bolt) Connect(ctx context.Context) (Conn, error) {
	return &boltConn{s: t.session(ctx)}, t.driver.VerifyConnectivity(ctx)
}

type boltConn struct {
	s  neo4j.SessionWithContext
	tx neo4j.ExplicitTransaction
}

func (c *boltConn) Close() { c.s.Close(context.Background()) }

func (c *boltConn) Begin(ctx context.Context) (err error) {
	c.tx, err = c.s.BeginTransaction(ctx)
	return err
}

func (c *boltConn) Rollback(ctx context.Context) error {
	tx := c.tx
	c.tx = nil
	if tx == nil {
		return nil
	}
	defer tx.Close(ctx)
	return tx.Rollback(ctx)
}

func (c *boltConn) run(ctx context.Context, text string, p map[string]any) (neo4j.ResultWithContext, error) {
	if c.tx != nil {
		return c.tx.Run(ctx, text, p)
	}
	return c.s.Run(ctx, text, p)
}

func (c *boltConn) Do(ctx context.Context, st *Statement, p Params, keep bool) (Answer, error) {
	res, err := c.run(ctx, st.Cypher, p)
	if err != nil {
		return Answer{}, err
	}
	var a Answer
	for res.Next(ctx) {
		if a.N++; keep {
			values := res.Record().Values
			row := make([]string, len(values))
			for i, v := range values {
				row[i] = canon(v)
			}
			a.Rows = append(a.Rows, row)
		}
	}
	if err := res.Err(); err != nil {
		return a, err
	}
	_, err = res.Consume(ctx)
	return a, err
}

func (t *bolt) Load(ctx context.Context, n *Network, progress LoadProgress) error {
	l := &boltLoad{boltConn: boltConn{s: t.session(ctx)}, hedgerow: strings.Contains(strings.ToLower(t.agent(ctx)), "hedgerow")}
	defer l.Close()
	return loadCypher(ctx, n, l, progress)
}

// boltLoad lets package load write over Bolt.
type boltLoad struct {
	boltConn
	hedgerow bool
}

var _ load.Target = (*boltLoad)(nil)

func (l *boltLoad) Commit(ctx context.Context) error {
	tx := l.tx
	l.tx = nil
	return tx.Commit(ctx)
}

func (l *boltLoad) Rollback() { l.boltConn.Rollback(context.Background()) }

func (l *boltLoad) Query(ctx context.Context, cypher string, list value.Value) ([][]any, error) {
	if !l.hedgerow && strings.HasPrefix(cypher, "CALL hedgerow.analyze()") {
		return nil, nil // others collect statistics by themselves
	}
	p := map[string]any{}
	if !list.IsNull() {
		p["1"] = plain(list)
	}
	res, err := l.run(ctx, cypher, p)
	if err != nil {
		return nil, fmt.Errorf("%.60s: %w", cypher, err)
	}
	var rows [][]any
	for res.Next(ctx) {
		rows = append(rows, res.Record().Values)
	}
	return rows, res.Err()
}

// plain is a value of a CSV file as the driver takes it.
func plain(v value.Value) any {
	switch v.Kind() {
	case value.Bool:
		return v.Bool()
	case value.Int:
		return v.Int()
	case value.Float:
		return v.Float()
	case value.String:
		return v.Str()
	case value.List:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plain(v.At(i))
		}
		return out
	}
	return nil
}
