package session

import (
	"context"
	"errors"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/plancache"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// errReadCommitted asks to run a statement again in a transaction that is read committed.
var errReadCommitted = errors.New("session: the statement needs a read committed transaction")

// allowNested refuses a statement with CALL { } IN TRANSACTIONS where it would not be alone in its transaction: what it has committed could not be
// undone with the rest.
func (s *Session) allowNested(age bool) error {
	switch {
	case age:
		return dberr.New(dberr.ImplicitTransaction, "a query with CALL { } IN TRANSACTIONS cannot run inside a SQL statement")
	case s.block:
		return dberr.New(dberr.ImplicitTransaction, "a query with CALL { } IN TRANSACTIONS can only run in an implicit transaction, but a transaction block is open").
			WithHint("run it before BEGIN, or without IN TRANSACTIONS")
	case s.multi || s.ran > 1:
		return dberr.New(dberr.ImplicitTransaction, "a query with CALL { } IN TRANSACTIONS must be the only statement of its implicit transaction").
			WithHint("send it by itself")
	case s.isolation != store.ReadCommitted:
		return errReadCommitted
	}
	return nil
}

// runReadCommitted runs a statement with CALL { } IN TRANSACTIONS whose own transaction must see what those inside have committed. Theirs have the
// isolation level that the session asks for.
func (s *Session) runReadCommitted(ctx context.Context, t *plancache.Text, params []value.Value) (rows, error) {
	s.committed = true
	defer func() { s.committed = false }()
	if _, err := s.renew(ctx); err != nil {
		return nil, err
	}
	return s.runCypher(ctx, t, params)
}

// nested begins transactions beside the session's own, for CALL { } IN TRANSACTIONS.
type nested struct{ s *Session }

func (n nested) Begin(ctx context.Context) (store.Tx, string, func(), error) {
	s := n.s
	tx, err := s.db.store.Begin(ctx, store.TxOptions{
		Isolation:    parseIsolation(s.raw(settings["default_transaction_isolation"])),
		ReadOnly:     s.readOnly(),
		Async:        s.raw(settings["synchronous_commit"]) == "off",
		NoGraphCache: !s.graphCache(),
	})
	if err != nil {
		return nil, "", nil, err
	}
	tx.SetLockTimeout(s.lockTimeout())
	r := s.db.register(s, s.raw(settings["hedgerow.graph"]), s.record, time.Now())
	return tx, r.name(), func() { s.db.unregister(r) }, nil
}
