package expr

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// Batch is up to vec.MaxRows rows in columns by slot. A nil column is a slot that is not filled here.
//
// Sel lists the live rows in ascending order; nil means all N. Columns have N rows.
type Batch struct {
	N    int
	Sel  []uint16
	Cols []*vec.Column
}

// Live returns the number of live rows.
func (b *Batch) Live() int {
	if b.Sel != nil {
		return len(b.Sel)
	}
	return b.N
}

// Account is charged for memory that outlives a batch. Grow returns an error over the limit; n may be negative.
type Account interface {
	Grow(n int64) error
}

// Env is what an evaluation may ask: one per operator, filled by the executor.
type Env struct {
	Ctx    context.Context
	Graph  store.Graph // nil if the statement has none
	View   store.View  // of the clause
	Params []value.Value
	Now    time.Time // fixed for the statement
	TxNow  time.Time // fixed for the transaction
	Zone   *time.Location
	Cancel *atomic.Bool // set when the statement is to stop; may be nil
	Probe  func()       // called by Check; nil but in tests
	Mem    Account      // may be nil

	// Subplan fills out with one value for each row of sel.
	Subplan func(env *Env, s *Subplan, b *Batch, sel []uint16, out *vec.Column) error

	// AGE chooses Apache AGE's error texts and quirks (rules C8).
	AGE bool
}

// Check returns an error if the statement is to stop. It is called at least once a batch.
func (e *Env) Check() error {
	if e.Probe != nil {
		e.Probe()
	}
	if e.Cancel != nil && e.Cancel.Load() {
		if e.Ctx != nil && e.Ctx.Err() != nil {
			return dberr.As(e.Ctx.Err())
		}
		return dberr.New(dberr.Canceled, "canceling statement due to user request")
	}
	return nil
}

func (e *Env) ctx() context.Context {
	if e.Ctx != nil {
		return e.Ctx
	}
	return context.Background()
}
