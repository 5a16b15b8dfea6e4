package session

import (
	"strconv"
	"time"
)

// record is an open transaction as others see it.
type record struct {
	id    uint64
	s     *Session
	graph string
	outer string // name of the transaction that it runs for, or ""
	begun time.Time
}

// name is the transaction's id as SHOW TRANSACTIONS gives it.
func (r *record) name() string { return r.graph + "-transaction-" + strconv.FormatUint(r.id, 10) }

// register enters a transaction into the list of those that are open.
func (db *Database) register(s *Session, graph string) *record {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.lastTx++
	r := &record{id: db.lastTx, s: s, graph: graph, begun: time.Now()}
	db.txs[r.id] = r
	return r
}

func (db *Database) unregister(r *record) {
	db.mu.Lock()
	defer db.mu.Unlock()
	delete(db.txs, r.id)
}
