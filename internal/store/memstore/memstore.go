// Package memstore keeps graphs in memory behind the store interfaces, for tests of what lies above them.
//
// It is small and slow on purpose: one lock over everything, one writing transaction at a time, version lists that are
// never pruned. What it promises is exactness: versions carry (transaction, command id) at both ends and every read is
// judged by rules A5, so the executor's clause visibility can be tested without a storage engine. It is no database:
// nothing is durable and no product binary links it.
//
// M1: the versions of a row are in the order of their begin; only the last may be without an end.
// M2: an index entry is a superset (key, id); every seek re-checks label and key against the visible version.
// M3: the undo log of the writing transaction names every version it began or ended, in order.
package memstore

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// DB is an in-memory database.
type DB struct {
	mu     sync.RWMutex // guards everything below
	graphs map[string]*graph
	csn    uint64
	nextG  schema.GraphID
	nextIx schema.IndexID

	epoch   atomic.Uint64
	writer  chan struct{} // holds one token: the right to write
	waiting chan struct{} // a transaction has begun to wait for it
}

var (
	_ store.Store = (*DB)(nil)
	_ store.Tx    = (*tx)(nil)
	_ store.Stmt  = (*stmt)(nil)
	_ store.Graph = (*handle)(nil)
)

// New returns an empty database.
func New() *DB {
	d := &DB{graphs: map[string]*graph{}, csn: 1, writer: make(chan struct{}, 1), waiting: make(chan struct{}, 1)}
	d.writer <- struct{}{}
	return d
}

// AwaitWaiter returns when some transaction has begun to wait for the right to write.
func (d *DB) AwaitWaiter() { <-d.waiting }

// Caps says that command ids and savepoints are there.
func (d *DB) Caps() store.Caps { return store.Caps{CommandIDs: true, Savepoints: true} }

// CatalogVersion grows with every change of the catalog.
func (d *DB) CatalogVersion() uint64 { return d.epoch.Load() }

// Begin starts a transaction.
func (d *DB) Begin(_ context.Context, o store.TxOptions) (store.Tx, error) {
	return &tx{db: d, opt: o}, nil
}

type prop struct {
	key schema.KeyID
	val value.Value
}

type version struct {
	begin, end       *tx // end nil: live
	beginCID, endCID uint32
	endStmt          *stmt // statement that deleted the row, for WithDeleted
	deleted          bool  // end is a delete, not an update
	labels           schema.LabelSetID
	props            []prop // ordered by key
}

type row struct {
	id         uint64
	start, end uint64 // edges
	slot       uint64 // position in its table, from 1: the hint
	out, in    []*row // vertices: every edge ever made
	vers       []*version
}

func (r *row) last() *version { return r.vers[len(r.vers)-1] }

type table struct {
	byID map[uint64]*row
	rows []*row
}

type label struct {
	schema.Label
	tx  *tx // the creator by DDL, nil for names made by a system transaction
	seq uint64
}

type entry struct {
	key []byte
	id  uint64
}

func entryLess(a, b entry) bool {
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c < 0
	}
	return a.id < b.id
}

type index struct {
	schema.Index
	tree *btree.BTreeG[entry]
	dead bool
}

type graph struct {
	db *DB
	schema.Graph
	labels  []label
	byName  [2]map[string]schema.LabelID
	keys    []string
	keyIDs  map[string]schema.KeyID
	sets    [][]schema.LabelID
	setIDs  map[string]schema.LabelSetID
	ents    [2]table
	indexes []*index
	cons    []schema.Constraint
}

func newGraph(d *DB, id schema.GraphID, name string) *graph {
	g := &graph{
		db: d, Graph: schema.Graph{ID: id, Name: name},
		byName: [2]map[string]schema.LabelID{{}, {}},
		keys:   []string{""}, keyIDs: map[string]schema.KeyID{},
		sets: [][]schema.LabelID{nil}, setIDs: map[string]schema.LabelSetID{},
	}
	g.ents[0].byID, g.ents[1].byID = map[uint64]*row{}, map[uint64]*row{}
	g.labels = make([]label, schema.FirstUserLabel)
	g.labels[1].Label = schema.Label{ID: 1, Name: "_ag_label_vertex", Entity: schema.Vertex}
	g.labels[2].Label = schema.Label{ID: 2, Name: "_ag_label_edge", Entity: schema.Edge}
	g.setID(nil) // set 1 is the empty one: 0 stays for "no vertex"
	return g
}

func (g *graph) setID(ids []schema.LabelID) schema.LabelSetID {
	k := make([]byte, 0, 2*len(ids)+1)
	for _, l := range ids {
		k = append(k, byte(l), byte(l>>8))
	}
	if id, ok := g.setIDs[string(k)]; ok {
		return id
	}
	id := schema.LabelSetID(len(g.sets))
	g.sets = append(g.sets, slices.Clone(ids))
	g.setIDs[string(k)] = id
	return id
}

func (g *graph) label(name string, e schema.Entity) schema.LabelID {
	if id, ok := g.byName[e][name]; ok {
		return id
	}
	id := schema.LabelID(len(g.labels))
	g.labels = append(g.labels, label{Label: schema.Label{ID: id, Name: name, Entity: e}})
	g.byName[e][name] = id
	g.db.epoch.Add(1)
	return id
}

func (g *graph) key(name string) schema.KeyID {
	if id, ok := g.keyIDs[name]; ok {
		return id
	}
	id := schema.KeyID(len(g.keys))
	g.keys = append(g.keys, name)
	g.keyIDs[name] = id
	g.db.epoch.Add(1)
	return id
}

// has reports whether the set holds the label; NoLabel is in every set.
func (g *graph) has(set schema.LabelSetID, l schema.LabelID) bool {
	if l == schema.NoLabel || l == schema.VertexLabel {
		return true
	}
	return slices.Contains(g.sets[set], l)
}

// snapshot is what a statement sees: commits up to csn, and of refreshed rows up to their own csn (rules A9).
type snapshot struct {
	csn     uint64
	tx      *tx
	refresh map[uint64]uint64
}

func (s *snapshot) CSN() uint64 { return s.csn }

// seen reports whether an event of t at cid on row id is visible in v.
func seen(v store.View, id uint64, t *tx, cid uint32) bool {
	s := v.Snap.(*snapshot)
	if t == s.tx {
		return cid < v.CID
	}
	if t.csn == 0 {
		return false
	}
	limit := s.csn
	if c, ok := s.refresh[id]; ok && c > limit {
		limit = c
	}
	return t.csn <= limit
}

// visible returns the version of r that v sees, nil if none.
func visible(v store.View, r *row) *version {
	for i := len(r.vers) - 1; i >= 0; i-- {
		x := r.vers[i]
		if !seen(v, r.id, x.begin, x.beginCID) {
			continue
		}
		if x.end != nil && seen(v, r.id, x.end, x.endCID) {
			return nil // ended here, and no later version is visible
		}
		return x
	}
	return nil
}

// live returns the newest version unless the row is deleted, or was never there because its transaction went back. The caller holds the
// writer's token, so every end is final.
func live(r *row) *version {
	if len(r.vers) == 0 {
		return nil
	}
	if x := r.last(); x.end == nil {
		return x
	}
	return nil
}

func gone() error {
	return dberr.New(dberr.EntityNotFound, "the entity has been deleted in this transaction").WithToken("DeletedEntityAccess")
}
