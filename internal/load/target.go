package load

import (
	"context"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Embedded is an open database as a target.
type Embedded struct {
	DB *hedgerow.DB
	// Async: commits do not wait for the disk; the last one does.
	Async bool

	tx *hedgerow.Tx
}

func (e *Embedded) Begin(ctx context.Context) (err error) {
	e.tx, err = e.DB.Begin(ctx, hedgerow.TxOptions{Async: e.Async})
	return err
}

func (e *Embedded) Commit(ctx context.Context) error {
	tx := e.tx
	e.tx = nil
	return tx.Commit(ctx)
}

func (e *Embedded) Rollback() {
	if e.tx != nil {
		e.tx.Rollback()
		e.tx = nil
	}
}

func (e *Embedded) Query(ctx context.Context, cypher string, list value.Value) ([][]any, error) {
	var params hedgerow.Params
	if !list.IsNull() {
		params = hedgerow.Params{"1": list}
	}
	var rows *hedgerow.Rows
	var err error
	if e.tx != nil {
		rows, err = e.tx.Query(ctx, cypher, params)
	} else {
		rows, err = e.DB.Query(ctx, cypher, params)
	}
	if err != nil {
		return nil, err
	}
	var out [][]any
	for rows.Next() {
		out = append(out, rows.Row().Values())
	}
	return out, rows.Close()
}
