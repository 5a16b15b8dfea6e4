package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Remote is a server as a target, over PostgreSQL's protocol.
type Remote struct {
	conn *pgx.Conn
	tx   bool
}

// Connect opens a connection to postgres://… for statements on a graph.
func Connect(ctx context.Context, url, graph string) (*Remote, error) {
	conf, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	conf.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return nil, err
	}
	if graph == "" {
		graph = "main"
	}
	for _, set := range [][2]string{{"hedgerow.language", "cypher"}, {"hedgerow.graph", graph}} {
		if _, err := conn.Exec(ctx, "SELECT set_config($1, $2, false)", set[0], set[1]); err != nil {
			conn.Close(ctx)
			return nil, fmt.Errorf("the server is not Hedgerow: %w", err)
		}
	}
	// The graph is made if it is missing, as it is for a directory.
	var there bool
	if err := conn.QueryRow(ctx, "SELECT count(*) > 0 FROM ag_catalog.ag_graph WHERE name = $1", graph).Scan(&there); err != nil {
		conn.Close(ctx)
		return nil, public(err)
	}
	if !there {
		if _, err := conn.Exec(ctx, "SELECT create_graph($1)", graph); err != nil {
			conn.Close(ctx)
			return nil, public(err)
		}
	}
	return &Remote{conn: conn}, nil
}

// Close ends the connection.
func (r *Remote) Close() error { return r.conn.Close(context.Background()) }

func (r *Remote) exec(ctx context.Context, text string) error {
	_, err := r.conn.PgConn().Exec(ctx, text).ReadAll()
	return public(err)
}

func (r *Remote) Begin(ctx context.Context) error {
	r.tx = true
	return r.exec(ctx, "BEGIN")
}

func (r *Remote) Commit(ctx context.Context) error {
	r.tx = false
	return r.exec(ctx, "COMMIT")
}

func (r *Remote) Rollback() {
	if r.tx {
		r.tx = false
		r.exec(context.Background(), "ROLLBACK")
	}
}

func (r *Remote) Query(ctx context.Context, cypher string, list value.Value) ([][]any, error) {
	var args []any
	if !list.IsNull() {
		args = append(args, string(value.AppendAgtype(nil, list)))
	}
	rows, err := r.conn.Query(ctx, cypher, args...)
	if err != nil {
		return nil, public(err)
	}
	defer rows.Close()
	var out [][]any
	for rows.Next() {
		row := make([]any, 0, 3)
		for _, b := range rows.RawValues() {
			if b == nil {
				row = append(row, nil)
				continue
			}
			i, err := strconv.ParseInt(string(b), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("load: the server answered %q where a number was due", b)
			}
			row = append(row, i)
		}
		out = append(out, row)
	}
	return out, public(rows.Err())
}

func public(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return &hedgerow.Error{Message: pg.Message, Detail: pg.Detail, Hint: pg.Hint, SQLState: pg.Code}
	}
	return err
}
