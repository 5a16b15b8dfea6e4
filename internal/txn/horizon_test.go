package txn

import "testing"

// A commit that does not wait is seen before it is durable. What it made old must stay: after a crash it may never have been (A2).
func TestHorizonStopsAtTheFlushedLog(t *testing.T) {
	e := newEnv(t, Options{})
	first := e.m.Begin(TxOptions{})
	e.write(first)
	e.commit(first)
	tx := e.m.Begin(TxOptions{Async: true})
	x := e.write(tx)
	e.commit(tx)
	s := e.m.Snapshot()
	seen := s.SeesXID(x)
	s.Close()
	flushed := e.log.FlushedLSN()
	if !seen || e.m.PublishedCSN() <= flushed {
		t.Fatal("the commit is not seen, or is durable already")
	}
	if h := e.m.Horizon(); h.CSN > flushed {
		t.Errorf("the horizon is at %v, the log is flushed to %v", h.CSN, flushed)
	}
}
