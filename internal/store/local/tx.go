package local

import (
	"context"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/stats"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// tx is a transaction.
type tx struct {
	s    *Store
	t    *txn.Tx // own
	own  txn.Tx
	crit invariant.Crit
	over bool
	// broken says that a statement failed half-way: what it did must be undone, by a rollback to a savepoint before it or of everything.
	broken bool
	cached bool           // reads use what is in memory of neighbourhoods
	ddl    bool           // the catalog was changed
	schema store.Counters // changes of the catalog not yet reported by SchemaChanges

	locks  relLocks
	hashes int // MERGE locks held
	deltas deltas
	w      *writer // memory of the write paths, kept from statement to statement; nil before the first write
}

func (t *tx) check() error {
	if t.over {
		return dberr.New(dberr.NoActiveTransaction, "the transaction has ended")
	}
	return t.s.up()
}

// InCritical reports whether the transaction's goroutine is within a critical section: a panic that is recovered there must end the
// process (rules A11).
func (t *tx) InCritical() bool { return t.crit.Depth() > 0 }

// Begin opens a statement.
func (t *tx) Begin(ctx context.Context) (store.Stmt, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &stmt{tx: t}
	s.snap = t.t.SnapshotInto(&s.own)
	s.log0 = t.t.Crit().LogBytes()
	return s, nil
}

func (t *tx) Commit(ctx context.Context) error {
	if err := t.check(); err != nil {
		return err
	}
	if t.broken {
		_ = t.Rollback()
		return dberr.New(dberr.InFailedTransaction, "the transaction was rolled back because a statement in it had failed")
	}
	if _, err := t.t.Commit(ctx); err != nil {
		if !t.t.Done() {
			t.t.Rollback()
		}
		t.end()
		return err
	}
	t.end()
	if t.ddl {
		t.s.cat.Bump()
	}
	return nil
}

func (t *tx) Rollback() error {
	if t.over {
		return nil
	}
	t.t.Rollback()
	t.end()
	return nil
}

func (t *tx) end() {
	if !t.over {
		t.over = true
		t.s.open.Add(-1)
		if w := t.w; w != nil {
			if t.w = nil; w.rest() {
				writers.Put(w)
			}
		}
	}
}

func (t *tx) Savepoint(name string) error {
	if err := t.check(); err != nil {
		return err
	}
	return t.t.Savepoint(name)
}

func (t *tx) Release(name string) error {
	if err := t.check(); err != nil {
		return err
	}
	return t.t.Release(name)
}

func (t *tx) RollbackTo(name string) error {
	if err := t.check(); err != nil {
		return err
	}
	t.locks = relLocks{} // those taken since are gone; the others are found held again
	t.hashes = 0
	if err := t.t.RollbackTo(name); err != nil {
		return err
	}
	t.broken = false
	return nil
}

func (t *tx) SetReadOnly(ro bool) { t.t.SetReadOnly(ro) }
func (t *tx) SetAsync(async bool) { t.t.SetAsync(async) }

// SetGraphCache makes tx a store.GraphCacher.
func (t *tx) SetGraphCache(on bool) { t.cached = on && t.s.adj != nil }

var _ store.GraphCacher = (*tx)(nil)

// SetLockTimeout is store.Tx's.
func (t *tx) SetLockTimeout(d time.Duration) { t.t.SetLockTimeout(d) }

// lockRel takes a relation lock to the end of the transaction.
func (t *tx) lockRel(ctx context.Context, rel uint64, mode txn.Mode) error {
	if t.locks.modes(rel)&(1<<mode) != 0 {
		return nil
	}
	if err := t.t.LockRelation(ctx, rel, mode); err != nil {
		return err
	}
	t.locks.add(rel, mode)
	return nil
}

// lockLabel locks a label's heap and makes sure that it was not dropped while we waited.
func (t *tx) lockLabel(ctx context.Context, l *catalog.Label, mode txn.Mode) error {
	if t.locks.holds(l, mode) {
		return nil
	}
	if err := t.lockRel(ctx, l.Rel(), mode); err != nil {
		return err
	}
	if l.Heap == nil || l.FilesGone() {
		return dberr.New(dberr.SerializationFailure, "%q was dropped by another transaction", l.Name)
	}
	return nil
}

// graphLock is the number under which a graph as a whole is locked.
func graphLock(g *catalog.Graph) uint64 { return 1<<61 | uint64(g.ID) }

// stmt is a statement.
type stmt struct {
	tx    *tx
	snap  *txn.Snapshot // own
	own   txn.Snapshot
	fresh *txn.Snapshot // the newest one taken for MERGE
	first uint32        // command id at which it began
	log0  int64         // log bytes of the transaction before it
	meter buffer.Meter  // pages that it asked for

	counters store.Counters
	graphs   []*graphView
	closed   bool

	// The first graph and its first cursors, with which most statements get along.
	one     [1]*graphView
	graph   graphView
	seeks   [2]hitCursor
	expands [2]edgeCursor
	lends   [2]runCursor
}

func (s *stmt) View(cid uint32) store.View { return store.View{Snap: s.snap, CID: cid} }

func (s *stmt) Fresh(_ context.Context, cid uint32) (store.View, error) {
	if err := s.tx.check(); err != nil {
		return store.View{}, err
	}
	if s.tx.t.Isolation() != txn.ReadCommitted {
		return s.View(cid), nil
	}
	return s.latest(cid), nil
}

// latest is a view of what is published now.
func (s *stmt) latest(cid uint32) store.View {
	now := uint64(s.tx.s.m.PublishedCSN())
	if now == s.snap.CSN() {
		return s.View(cid)
	}
	if s.fresh == nil || s.fresh.CSN() != now {
		if s.fresh != nil {
			s.fresh.Close() // views of an earlier probe are over
		}
		s.fresh = s.tx.t.Fresh()
	}
	return store.View{Snap: s.fresh, CID: cid}
}

// Latest makes graphView a store.Racer.
func (g *graphView) Latest(cid uint32) (store.View, bool) {
	if g.s.tx.t.Isolation() == txn.ReadCommitted {
		return store.View{}, false
	}
	return g.s.latest(cid), true
}

var _ store.Racer = (*graphView)(nil)

func (s *stmt) Segment(writes int) (uint32, error) { return s.tx.t.Segment(writes) }

func (s *stmt) Graph(ctx context.Context, name string) (store.Graph, error) {
	if err := s.tx.check(); err != nil {
		return nil, err
	}
	for _, g := range s.graphs {
		if g.g.Name == name {
			return g, nil
		}
	}
	g := s.tx.s.cat.Graph(s.snap, s.tx.t.CurrentCID(), name)
	if g == nil {
		return nil, dberr.New(dberr.InvalidSchema, "graph %q does not exist", name)
	}
	if err := s.tx.lockRel(ctx, graphLock(g), txn.AccessShare); err != nil {
		return nil, err
	}
	if g.Gone() {
		return nil, dberr.New(dberr.InvalidSchema, "graph %q does not exist", name)
	}
	var v *graphView
	if s.graphs == nil {
		s.graphs, v = s.one[:0], &s.graph
	} else {
		v = new(graphView)
	}
	*v = graphView{g: g, s: s}
	if v.take(); v == &s.graph {
		v.spare.hits.free, v.spare.edges.free, v.spare.runs.free = s.seeks[:], s.expands[:], s.lends[:]
	}
	s.graphs = append(s.graphs, v)
	return v, nil
}

func (s *stmt) Close() {
	if s.closed {
		return
	}
	s.Counters()
	s.closed = true
	for _, g := range s.graphs {
		g.give()
	}
	s.snap.Close()
	if s.fresh != nil {
		s.fresh.Close()
	}
}

// Counters returns what the statement cost. Pages are those that were asked for under its metered context.
func (s *stmt) Counters() *store.Counters {
	if !s.closed {
		s.counters.WALBytes = s.tx.t.Crit().LogBytes() - s.log0
		s.counters.PagesPinned, s.counters.PagesRead = s.meter.Pins, s.meter.Reads
	}
	return &s.counters
}

// Meter makes stmt a store.Meter.
func (s *stmt) Meter(ctx context.Context) context.Context {
	if ctx == context.Context(&s.meter) {
		return ctx
	}
	s.meter.Context = ctx
	return &s.meter
}

var _ store.Meter = (*stmt)(nil)

// graphView is a graph as a statement sees it.
type graphView struct {
	g *catalog.Graph
	s *stmt

	deleted [][]deletedVertex // vertices deleted by the statement, whose edges Finish looks for; in chunks, so that growing copies nothing
	shapes  []*shape
	sets    []askedSet
	r       reader
	spare   spares
	mem     *memory // what r and spare came from
}

// spares are cursors that were closed, kept for their memory: MERGE opens some for every row.
type spares struct {
	expand stack[expand]
	seek   stack[seek]
	scan   *nodeScan
	src    []uint64
	hits   slab[hitCursor]
	edges  slab[edgeCursor]
	runs   slab[runCursor]
}

// stack keeps a few closed cursors: a plan may have several open at once.
type stack[T any] struct {
	p [3]*T
	n int
}

// pop takes one; nil if there is none.
func (s *stack[T]) pop() *T {
	if s.n == 0 {
		return nil
	}
	s.n--
	x := s.p[s.n]
	s.p[s.n] = nil
	return x
}

// push keeps one, if there is room.
func (s *stack[T]) push(x *T) {
	if s.n < len(s.p) {
		s.p[s.n] = x
		s.n++
	}
}

// slab hands out values one by one, from allocations of growing size.
type slab[T any] struct {
	free []T
	size int
}

func (s *slab[T]) take() *T {
	if len(s.free) == 0 {
		s.size = min(max(1, 2*s.size), 256)
		s.free = make([]T, s.size)
	}
	p := &s.free[0]
	s.free = s.free[1:]
	return p
}

// askedSet remembers the set of a list of labels for the statement.
type askedSet struct {
	asked []schema.LabelID
	set   *catalog.LabelSet
}

// deletedChunk is how many of them are looked up at once.
const deletedChunk = 1024

type deletedVertex struct {
	id     uint64
	detach bool
}

func (g *graphView) Name() string { return g.g.Name }

// snap returns the snapshot of a view.
func snapOf(v store.View) *txn.Snapshot { return v.Snap.(*txn.Snapshot) }

// Names.

func (g *graphView) Label(v store.View, name string, e schema.Entity) (schema.LabelID, bool) {
	if l := g.g.LabelByName(snapOf(v), v.CID, name, e); l != nil {
		return l.ID, true
	}
	return 0, false
}

func (g *graphView) LabelName(id schema.LabelID) string {
	if l := g.g.Label(id); l != nil {
		return l.Name
	}
	return ""
}

func (g *graphView) LabelSet(id schema.LabelSetID) []schema.LabelID {
	if s := g.g.Set(id); s != nil {
		return s.Labels
	}
	return nil
}

func (g *graphView) Key(name string) (schema.KeyID, bool) { return g.g.Key(name) }
func (g *graphView) KeyName(id schema.KeyID) string       { return g.g.KeyName(id) }

func (g *graphView) EnsureLabel(ctx context.Context, name string, e schema.Entity) (schema.LabelID, error) {
	l, _, err := g.g.EnsureLabel(ctx, g.s.tx.t, name, e)
	if err != nil {
		return 0, err
	}
	return l.ID, nil
}

func (g *graphView) EnsureKey(ctx context.Context, name string) (schema.KeyID, error) {
	return g.g.EnsureKey(ctx, g.s.tx.t, name)
}

func (g *graphView) Labels(v store.View) []schema.Label {
	var out []schema.Label
	for _, l := range g.g.Labels() {
		if l != nil && l.ID >= schema.FirstUserLabel && l.Shown(snapOf(v), v.CID) {
			out = append(out, l.Label)
		}
	}
	return out
}

func (g *graphView) Keys() []string {
	var out []string
	for _, k := range g.g.Keys() {
		if k != "" {
			out = append(out, k)
		}
	}
	return out
}

func (g *graphView) Indexes(v store.View) []schema.Index {
	var out []schema.Index
	g.g.Indexes(snapOf(v), v.CID, func(ix *catalog.Index) {
		if ix.Usable(snapOf(v), v.CID) {
			out = append(out, ix.Index)
		}
	})
	return out
}

func (g *graphView) Constraints(v store.View) []schema.Constraint {
	var out []schema.Constraint
	g.g.Constraints(snapOf(v), v.CID, func(c *catalog.Constraint) { out = append(out, c.Constraint) })
	return out
}

// Stats.

func (g *graphView) NodeCount(l schema.LabelID) float64 {
	return float64(max(0, g.s.tx.s.counts.nodes(g, l)))
}

// LabelsCount is store.Stats'.
func (g *graphView) LabelsCount(labels []schema.LabelID) float64 {
	return float64(max(0, g.s.tx.s.counts.together(g, labels)))
}

func (g *graphView) RelCount(t schema.LabelID) float64 {
	return g.RelsBetween(schema.NoLabel, t, schema.NoLabel)
}

// RelsBetween is store.Stats'.
func (g *graphView) RelsBetween(src, t, dst schema.LabelID) float64 {
	c := g.s.tx.s.counts
	n := max(0, c.rels(g, t, src, dst))
	if n == 0 {
		return 0
	}
	most := c.rels(g, t, schema.NoLabel, schema.NoLabel)
	return min(most, n*g.skew(src, t, store.Out)*g.skew(dst, t, store.In))
}

// skew is how many times more relationships the vertices with a label have than an even share of those of all vertices that are stored with them: 1 where
// the counters are exact, or no sample says better.
func (g *graphView) skew(l, t schema.LabelID, dir store.Direction) float64 {
	if l == schema.NoLabel || l == schema.VertexLabel || t == schema.NoLabel {
		return 1
	}
	c := g.s.tx.s.counts
	if c.whole(g, l) {
		return 1
	}
	st := g.DegreeStats(l, t, dir)
	if st == nil || !(st.Mean > 0) {
		return 1
	}
	even := c.rels(g, t, l, schema.NoLabel)
	if dir == store.In {
		even = c.rels(g, t, schema.NoLabel, l)
	}
	if even <= 0 {
		return 1
	}
	return st.Mean * g.NodeCount(l) / even
}

// Count is store.Reader's. It takes the locks of the scan that it stands for.
func (g *graphView) Count(ctx context.Context, v store.View, e schema.Entity, l schema.LabelID) (n, loops int64, ok bool, err error) {
	snap := snapOf(v)
	if snap.Refreshed() {
		return 0, 0, false, nil // rules A9
	}
	any := l == schema.NoLabel
	if e == schema.Vertex {
		for _, h := range g.heapsOf(l) {
			if err := g.s.tx.lockLabel(ctx, h, txn.AccessShare); err != nil {
				return 0, 0, false, err
			}
		}
		any = any || l == schema.VertexLabel
	} else {
		var types []schema.LabelID
		if any = any || l == schema.EdgeLabel; !any {
			types = []schema.LabelID{l}
		}
		if _, err := g.types(ctx, nil, types); err != nil {
			return 0, 0, false, err
		}
		if any {
			l = schema.NoLabel
		}
	}
	one := func(k countKey) int64 {
		switch {
		case k.graph != g.g.ID:
		case e == schema.Edge && k.kind == countRels && (any || k.a == uint16(l)):
			return 1
		case e == schema.Vertex && k.kind == countNodes:
			if set := g.g.Set(schema.LabelSetID(k.b)); any || set != nil && set.Has(l) {
				return 1
			}
		}
		return 0
	}
	c, d := g.s.tx.s.counts, &g.s.tx.deltas
	own, ok := d.before(v.CID, one)
	if !ok {
		return 0, 0, false, nil
	}
	sched.Point("counts.count")
	if n, ok = c.exact(g, page.LSN(snap.CSN()), e, l, one); !ok || e == schema.Vertex {
		return n + own, 0, ok, nil
	}
	loop := func(k countKey) int64 {
		if k.graph == g.g.ID && k.kind == countLoops && (any || k.a == uint16(l)) {
			return 1
		}
		return 0
	}
	ownLoops, _ := d.before(v.CID, loop)
	loops, ok = c.loops(g, page.LSN(snap.CSN()), loop)
	return n + own, loops + ownLoops, ok, nil
}

// countRel counts a relationship that came or went.
func (g *graphView) countRel(cid uint32, t schema.LabelID, start, end uint64, d int64) {
	g.s.tx.deltas.add(cid, relKey(g.g.ID, t, schema.LabelOf(start), schema.LabelOf(end)), d)
	if start == end {
		g.s.tx.deltas.add(cid, loopKey(g.g.ID, t), d)
	}
}

// KeyStats is store.Stats'.
func (g *graphView) KeyStats(l schema.LabelID, k schema.KeyID) *stats.Key {
	if lab := g.g.Label(l); lab != nil {
		return lab.Stats().Key(k)
	}
	return nil
}

// DegreeStats is store.Stats'.
func (g *graphView) DegreeStats(l, t schema.LabelID, dir store.Direction) *stats.Degree {
	if l == schema.NoLabel {
		l = schema.VertexLabel
	}
	if lab := g.g.Label(l); lab != nil {
		return lab.Stats().Degree(t, stats.Direction(dir))
	}
	return nil
}

// DegreeMean divides the relationships at vertices with the label by their number.
func (g *graphView) DegreeMean(l, t schema.LabelID, dir store.Direction) float64 {
	n := g.NodeCount(l)
	if n == 0 {
		return 0
	}
	sum := 0.0
	if dir != store.In {
		sum += g.RelsBetween(l, t, schema.NoLabel)
	}
	if dir != store.Out {
		sum += g.RelsBetween(schema.NoLabel, t, l)
	}
	return sum / n
}
