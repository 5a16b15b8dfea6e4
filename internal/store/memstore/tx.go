package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

type savepoint struct {
	name string
	undo int
}

// tx is a transaction. csn is 0 until it commits and is written under DB.mu.
type tx struct {
	db    *DB
	opt   store.TxOptions
	csn   uint64
	next  uint32 // command ids handed out
	snap  uint64 // repeatable read: the transaction's snapshot, 0 until its first statement
	token bool
	done  bool
	undo  []func()
	saves []savepoint
	stmt  *stmt
}

type stmt struct {
	tx       *tx
	snap     *snapshot
	counters store.Counters
	// vertices deleted by this statement: edges left at them are looked for at its end
	deleted []*row
	detach  []bool
	graphs  []*handle
	closed  bool
}

func (t *tx) check() error {
	if t.done {
		return dberr.New(dberr.NoActiveTransaction, "the transaction is finished")
	}
	return nil
}

// lock takes the right to write.
func (t *tx) lock(ctx context.Context) error {
	if err := t.check(); err != nil {
		return err
	}
	if t.opt.ReadOnly {
		return dberr.New(dberr.ReadOnlyTransaction, "cannot write in a read-only transaction")
	}
	if t.token {
		return nil
	}
	select {
	case <-t.db.writer:
		t.token = true
		return nil
	default:
	}
	select {
	case t.db.waiting <- struct{}{}:
	default:
	}
	select {
	case <-t.db.writer:
		t.token = true
		return nil
	case <-ctx.Done():
		return dberr.As(context.Cause(ctx))
	}
}

func (t *tx) finish() {
	t.done, t.undo, t.saves = true, nil, nil
	if t.token {
		t.token = false
		t.db.writer <- struct{}{}
	}
}

func (t *tx) Begin(context.Context) (store.Stmt, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	t.db.mu.RLock()
	defer t.db.mu.RUnlock()
	csn := t.db.csn
	if t.opt.Isolation != store.ReadCommitted {
		if t.snap == 0 {
			t.snap = csn
		}
		csn = t.snap
	}
	return &stmt{tx: t, snap: &snapshot{csn: csn, tx: t, refresh: map[uint64]uint64{}}}, nil
}

func (t *tx) Commit(context.Context) error {
	if err := t.check(); err != nil {
		return err
	}
	t.db.mu.Lock()
	if len(t.undo) > 0 {
		t.db.csn++
		t.csn = t.db.csn
	}
	t.db.mu.Unlock()
	t.finish()
	return nil
}

func (t *tx) rollback(to int) {
	t.db.mu.Lock()
	for i := len(t.undo) - 1; i >= to; i-- {
		t.undo[i]()
	}
	t.undo = t.undo[:to]
	t.db.mu.Unlock()
}

func (t *tx) Rollback() error {
	if t.done {
		return nil
	}
	t.rollback(0)
	t.finish()
	return nil
}

func (t *tx) Savepoint(name string) error {
	t.saves = append(t.saves, savepoint{name, len(t.undo)})
	return t.check()
}

func (t *tx) find(name string) (int, error) {
	for i := len(t.saves) - 1; i >= 0; i-- {
		if t.saves[i].name == name {
			return i, nil
		}
	}
	return 0, dberr.New(dberr.InvalidSavepoint, "savepoint %q does not exist", name)
}

func (t *tx) Release(name string) error {
	i, err := t.find(name)
	if err == nil {
		t.saves = t.saves[:i]
	}
	return err
}

func (t *tx) RollbackTo(name string) error {
	i, err := t.find(name)
	if err != nil {
		return err
	}
	t.rollback(t.saves[i].undo)
	t.saves = t.saves[:i+1]
	return nil
}

func (t *tx) SetReadOnly(b bool) { t.opt.ReadOnly = b }
func (t *tx) SetAsync(b bool)    { t.opt.Async = b }

// SetLockTimeout does nothing: waits end with their context here.
func (t *tx) SetLockTimeout(time.Duration) {}

func (s *stmt) View(cid uint32) store.View { return store.View{Snap: s.snap, CID: cid} }

func (s *stmt) Fresh(_ context.Context, cid uint32) (store.View, error) {
	if s.tx.opt.Isolation != store.ReadCommitted {
		return s.View(cid), nil
	}
	s.tx.db.mu.RLock()
	defer s.tx.db.mu.RUnlock()
	return store.View{Snap: &snapshot{csn: s.tx.db.csn, tx: s.tx, refresh: s.snap.refresh}, CID: cid}, nil
}

func (s *stmt) Segment(writes int) (uint32, error) {
	base := s.tx.next + 1
	if uint64(base)+uint64(writes) >= 1<<32-1 {
		return 0, dberr.New(dberr.LimitExceeded, "too many commands in the transaction")
	}
	s.tx.next += uint32(writes)
	return base, nil
}

func (s *stmt) Graph(_ context.Context, name string) (store.Graph, error) {
	s.tx.db.mu.RLock()
	defer s.tx.db.mu.RUnlock()
	g, ok := s.tx.db.graphs[name]
	if !ok {
		return nil, dberr.New(dberr.InvalidSchema, "graph %q does not exist", name)
	}
	return &handle{g: g, s: s}, nil
}

// Finish looks for edges that deleted vertices left behind.
func (s *stmt) Finish(context.Context) error {
	d := s.tx.db
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, r := range s.deleted {
		for _, list := range [2][]*row{r.out, r.in} {
			for _, e := range list {
				x := live(e)
				if x == nil {
					continue
				}
				if !s.detach[i] {
					return dberr.New(dberr.ConnectedNode, "cannot delete a node that still has relationships").WithToken("DeleteConnectedNode").
						WithHint("delete the relationships first, or use DETACH DELETE")
				}
				s.end(e, x, s.tx.next, true)
				s.counters.RelsDeleted++
			}
		}
	}
	s.deleted, s.detach = nil, nil
	return nil
}

func (s *stmt) Close()                    { s.closed = true }
func (s *stmt) Counters() *store.Counters { return &s.counters }

// Catalog.

func (t *tx) graph(name string) (*graph, error) {
	g, ok := t.db.graphs[name]
	if !ok {
		return nil, dberr.New(dberr.InvalidSchema, "graph %q does not exist", name)
	}
	return g, nil
}

func (t *tx) Graphs(context.Context) ([]schema.Graph, error) {
	t.db.mu.RLock()
	defer t.db.mu.RUnlock()
	var out []schema.Graph
	for _, g := range t.db.graphs {
		out = append(out, g.Graph)
	}
	slices.SortFunc(out, func(a, b schema.Graph) int { return int(a.ID) - int(b.ID) })
	return out, nil
}

func (t *tx) CreateGraph(ctx context.Context, name string) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	d := t.db
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.graphs[name]; ok {
		return dberr.New(dberr.DuplicateObject, "graph %q already exists", name)
	}
	d.nextG++
	d.graphs[name] = newGraph(d, d.nextG, name)
	d.epoch.Add(1)
	t.undo = append(t.undo, func() { delete(d.graphs, name); d.epoch.Add(1) })
	return nil
}

func (t *tx) DropGraph(ctx context.Context, name string, cascade bool) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	d := t.db
	d.mu.Lock()
	defer d.mu.Unlock()
	g, err := t.graph(name)
	if err != nil {
		return err
	}
	if !cascade && (len(g.ents[0].rows) > 0 || len(g.ents[1].rows) > 0) {
		return dberr.New(dberr.DependentObjects, "cannot drop graph %q because other objects depend on it", name)
	}
	delete(d.graphs, name)
	d.epoch.Add(1)
	t.undo = append(t.undo, func() { d.graphs[name] = g; d.epoch.Add(1) })
	return nil
}

func (t *tx) CreateLabel(ctx context.Context, gn, name string, e schema.Entity) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	g, err := t.graph(gn)
	if err != nil {
		return err
	}
	if _, ok := g.byName[e][name]; ok {
		return dberr.New(dberr.DuplicateObject, "label %q already exists", name)
	}
	g.label(name, e)
	return nil
}

func (t *tx) DropLabel(ctx context.Context, gn, name string, e schema.Entity) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	g, err := t.graph(gn)
	if err != nil {
		return err
	}
	id, ok := g.byName[e][name]
	if !ok {
		return dberr.New(dberr.UndefinedTable, "label %q does not exist", name)
	}
	delete(g.byName[e], name)
	t.undo = append(t.undo, func() { g.byName[e][name] = id })
	return nil
}
