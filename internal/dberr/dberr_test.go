package dberr_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

func TestCodesReachBothDoors(t *testing.T) {
	err := fmt.Errorf("insert: %w", dberr.New(dberr.UniqueViolation, "duplicate key"))
	e := dberr.As(err)
	if got := e.Code.SQLState(); got != "23505" {
		t.Errorf("SQLState = %s", got)
	}
	if got := e.Code.Neo4j(); got != "Neo.ClientError.Schema.ConstraintValidationFailed" {
		t.Errorf("Neo4j = %s", got)
	}
	if dberr.Retryable(err) || !dberr.Retryable(dberr.New(dberr.Deadlock, "x")) {
		t.Error("only 40001 and 40P01 are retryable")
	}
}

func TestAsClassifiesForeignErrors(t *testing.T) {
	if got := dberr.As(context.Canceled).Code; got != dberr.Canceled {
		t.Errorf("context.Canceled became %v", got)
	}
	if got := dberr.As(fmt.Errorf("odd")).Code; got != dberr.Internal {
		t.Errorf("an unknown error became %v", got)
	}
	if dberr.As(nil) != nil {
		t.Error("nil must stay nil")
	}
}
