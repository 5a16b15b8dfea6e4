package bench

import (
	"context"
	"path/filepath"
	"runtime/debug"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/load"
)

// embedded is Hedgerow in this process.
type embedded struct {
	dsn DSN
	db  *hedgerow.DB
}

func openEmbedded(d DSN) (Target, error) {
	var db *hedgerow.DB
	var err error
	if opt := (&hedgerow.Options{Graph: d.Graph}); d.Address == "" {
		db, err = hedgerow.OpenMemory(opt)
	} else {
		db, err = hedgerow.Open(d.Address, opt)
	}
	if err != nil {
		return nil, err
	}
	return &embedded{d, db}, nil
}

func (t *embedded) Close() error { return t.db.Close() }

func (t *embedded) text(st *Statement) string { return cypherText(st) }

func (t *embedded) Version(context.Context) string {
	version := "devel"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	return "Hedgerow " + version + ", embedded"
}

func (t *embedded) Load(ctx context.Context, n *Network, progress LoadProgress) error {
	return loadCypher(ctx, n, &load.Embedded{DB: t.db, Async: true}, progress)
}

func (t *embedded) Connect(context.Context) (Conn, error) {
	c := &embeddedConn{conn: t.db.Conn()}
	if !t.dsn.Sync {
		if err := c.conn.Set("synchronous_commit", "off"); err != nil {
			return nil, err
		}
	}
	return c, nil
}

type embeddedConn struct{ conn *hedgerow.Conn }

func (c *embeddedConn) Close() { c.conn.Close() }

func (c *embeddedConn) Do(ctx context.Context, st *Statement, p Params, keep bool) (Answer, error) {
	rows, err := c.conn.Run(ctx, st.Cypher, hedgerow.Cypher, hedgerow.Params(p))
	if err != nil {
		return Answer{}, err
	}
	var a Answer
	for rows.Next() {
		if a.N++; keep {
			values := rows.Row().Values()
			row := make([]string, len(values))
			for i, v := range values {
				row[i] = canon(v)
			}
			a.Rows = append(a.Rows, row)
		}
	}
	return a, rows.Close()
}

func (c *embeddedConn) sql(ctx context.Context, text string) error {
	rows, err := c.conn.Run(ctx, text, hedgerow.SQL, nil)
	if err != nil {
		return err
	}
	return rows.Close()
}

func (c *embeddedConn) Begin(ctx context.Context) error    { return c.sql(ctx, "BEGIN") }
func (c *embeddedConn) Rollback(ctx context.Context) error { return c.sql(ctx, "ROLLBACK") }

// loadCypher loads as hedgerow load would.
func loadCypher(ctx context.Context, n *Network, t load.Target, progress LoadProgress) error {
	specs := func(files []File, edges bool) (out []load.Spec, err error) {
		for _, f := range files {
			s, err := load.ParseSpec(f.Name+"="+filepath.Join(n.dir, f.Path), edges)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
		return out, nil
	}
	nodes, err := specs(n.NodeFiles, false)
	if err != nil {
		return err
	}
	edges, err := specs(n.EdgeFiles, true)
	if err != nil {
		return err
	}
	plan, err := load.NewPlan(nodes, edges, load.Options{Delimiter: '|'})
	if err != nil {
		return err
	}
	defer plan.Close()
	_, err = plan.Run(ctx, t, func(f *load.File, done int64) {
		if progress != nil {
			progress(filepath.Base(f.Path), done, f.Rows)
		}
	})
	return err
}
