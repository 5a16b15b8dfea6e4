package catalog

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// newest says what a writer must think of an object: whether it is there, or whose end decides that.
func (s *stamp) newest(m *txn.Manager, tx *txn.Tx) (there bool, wait txn.XID) {
	v := *s.v.Load()
	if v.Mask&txn.Frozen == 0 && !tx.Owns(v.Xmin) {
		switch st, _ := m.Outcome(v.Xmin); st {
		case txn.Aborted:
			return false, 0
		case txn.InProgress:
			return false, v.Xmin
		}
	}
	if v.Mask&txn.XmaxNone != 0 {
		return true, 0
	}
	if v.Mask&txn.XmaxSeen != 0 || tx.Owns(v.Xmax) {
		return false, 0
	}
	switch st, _ := m.Outcome(v.Xmax); st {
	case txn.Committed:
		return false, 0
	case txn.InProgress:
		return false, v.Xmax
	}
	return true, 0
}

// unique runs make under the DDL lock once find meets nothing that is there; meeting something uncommitted it waits for its end.
func (c *Catalog) unique(ctx context.Context, tx *txn.Tx, find func(each func(*stamp)), exists func() error, make func() error) error {
	for {
		c.ddl.Lock()
		there, wait := false, txn.XID(0)
		find(func(s *stamp) {
			t, w := s.newest(c.m, tx)
			there = there || t
			if w != 0 {
				wait = w
			}
		})
		switch {
		case there:
			c.ddl.Unlock()
			return exists()
		case wait == 0:
			err := make()
			c.ddl.Unlock()
			return err
		}
		c.ddl.Unlock()
		if err := tx.WaitXID(ctx, wait); err != nil {
			return err
		}
	}
}

// end stamps an object as dropped by the transaction, on disk and in memory.
func (c *Catalog) end(ctx context.Context, tx *txn.Tx, cid uint32, t *table, s *stamp) error {
	if err := t.delete(ctx, tx, cid, s.tid); err != nil {
		return err
	}
	x, err := tx.XID()
	if err != nil {
		return err
	}
	v := *s.v.Load()
	id, combo := tx.StampMax(v, cid)
	v.Xmax, v.CID = x, id
	v.Mask = v.Mask&^(txn.XmaxNone|txn.ComboCID) | combo | txn.XmaxDelete
	s.v.Store(&v)
	return nil
}

// CheckGraphName holds names of graphs to the rules of Apache AGE (rules D1).
func CheckGraphName(name string) error {
	bad := func(why string) error {
		return dberr.New(dberr.InvalidName, "graph name %q is invalid: %s", name, why)
	}
	switch name {
	case "public", "information_schema", "ag_catalog", "system":
		return bad("it is reserved")
	}
	if strings.HasPrefix(name, "pg_") {
		return bad("names that begin with pg_ are reserved")
	}
	if n := len(name); n < 3 || n > 63 {
		return bad("it must have 3 to 63 bytes")
	}
	for i, r := range name {
		letter := r == '_' || unicode.IsLetter(r)
		if !letter && (i == 0 || !unicode.IsDigit(r) && r != '.' && r != '-' && r != '$') {
			return bad("it must begin with a letter or underscore and have only letters, digits, '_', '.', '-' and '$'")
		}
	}
	if last := name[len(name)-1]; last == '.' || last == '-' {
		return bad("it must not end with '.' or '-'")
	}
	return nil
}

// CreateGraph makes a graph at command cid.
func (c *Catalog) CreateGraph(ctx context.Context, tx *txn.Tx, cid uint32, name string) (*Graph, error) {
	if err := CheckGraphName(name); err != nil {
		return nil, err
	}
	x, err := tx.XID()
	if err != nil {
		return nil, err
	}
	var g *Graph
	err = c.unique(ctx, tx, func(each func(*stamp)) {
		c.mu.RLock()
		defer c.mu.RUnlock()
		for _, g := range c.byName[name] {
			each(&g.stamp)
		}
	}, func() error {
		return dberr.New(dberr.DuplicateObject, "graph %q already exists", name)
	}, func() error {
		id, err := c.graphIDs.Take(1)
		if err != nil {
			return err
		}
		seq, err := c.seqIDs.Take(3)
		if err != nil {
			return err
		}
		r := graphRow{id: schema.GraphID(id), labelSeq: SeqID(seq), keySeq: SeqID(seq + 1), setSeq: SeqID(seq + 2), name: name}
		chunks, err := c.createFile(ctx, tx, false)
		if err != nil {
			return err
		}
		r.chunks = uint64(chunks)
		if r.row, err = c.rowID(); err != nil {
			return err
		}
		tid, err := c.graphs.insert(ctx, tx, cid, r.encode(), r.key())
		if err != nil {
			return err
		}
		g = c.newGraph(r)
		g.tid = tid
		g.made(x, cid)
		if _, err := g.makeLabel(ctx, tx, schema.VertexLabel, "_ag_label_vertex", schema.Vertex); err != nil {
			return err
		}
		if _, err := g.makeLabel(ctx, tx, schema.EdgeLabel, "_ag_label_edge", schema.Edge); err != nil {
			return err
		}
		c.sweep()
		c.addGraph(g)
		return nil
	})
	if err != nil {
		return nil, err
	}
	tx.Join(&epochBump{c: c})
	return g, nil
}

// sweep forgets graphs that nobody can see any more.
func (c *Catalog) sweep() {
	h := c.m.Horizon()
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, all := range c.byName {
		keep := all[:0:0]
		for _, g := range all {
			if g.gone(c.m, h) {
				delete(c.byID, g.ID)
			} else {
				keep = append(keep, g)
			}
		}
		if len(keep) == 0 {
			delete(c.byName, name)
		} else {
			c.byName[name] = keep
		}
	}
}

// DropGraph ends a graph. The caller holds ACCESS EXCLUSIVE on all its heaps and has emptied nothing: the files go as a whole when
// the transaction commits. Rows of its names stay behind without a graph and are purged when the database opens.
func (c *Catalog) DropGraph(ctx context.Context, tx *txn.Tx, cid uint32, g *Graph) error {
	if err := c.end(ctx, tx, cid, c.graphs, &g.stamp); err != nil {
		return err
	}
	for _, l := range g.Labels() {
		if l != nil && !l.FilesGone() {
			for _, f := range l.Files() {
				tx.DropAtCommit(f)
			}
		}
	}
	tx.DropAtCommit(g.Chunks.File())
	for _, ix := range load(&g.indexes) {
		if ix.live(c.m, tx) {
			tx.DropAtCommit(ix.relfile)
		}
	}
	tx.Join(&epochBump{c: c})
	return nil
}

// DropLabel ends a label whose rows the caller has removed under ACCESS EXCLUSIVE locks. keep says that its heap still holds rows
// of other labels; then it stays, hidden (rules D1).
func (c *Catalog) DropLabel(ctx context.Context, tx *txn.Tx, cid uint32, l *Label, keep bool) error {
	g := l.Graph
	for _, k := range load(&g.constraints) {
		if k.Label == l.ID && k.live(c.m, tx) {
			if err := c.DropConstraint(ctx, tx, cid, g, k); err != nil {
				return err
			}
		}
	}
	for _, ix := range load(&g.indexes) {
		if ix.Owner == l && ix.live(c.m, tx) {
			if err := c.DropIndex(ctx, tx, cid, ix); err != nil {
				return err
			}
		}
	}
	if err := c.end(ctx, tx, cid, c.labels, &l.stamp); err != nil {
		return err
	}
	if !keep {
		for _, f := range l.Files() {
			tx.DropAtCommit(f)
		}
		l.filesGone.Store(true) // counts once the end is committed
	} else {
		l.filesGone.Store(false)
		row, err := c.rowID()
		if err != nil {
			return err
		}
		r := labelRow{row: row, graph: g.ID, id: l.ID, entity: l.Entity | hiddenBit, seq: l.seqID,
			heap: uint64(l.heapFile), idx: uint64(l.idFile), out: uint64(l.outFile), in: uint64(l.inFile), name: l.Name}
		if _, err := c.labels.insert(ctx, tx, cid, r.encode(), r.key()); err != nil {
			return err
		}
	}
	tx.Join(&epochBump{c: c})
	return nil
}

// IndexSpec is what makes an index.
type IndexSpec struct {
	Name   string
	Owner  *Label
	Keys   []schema.KeyID
	Unique bool
}

// SameIndex returns the index of a writer's state that has the name or does the same, or nil.
func (g *Graph) SameIndex(tx *txn.Tx, s IndexSpec) *Index {
	for _, ix := range load(&g.indexes) {
		if ix.live(g.cat.m, tx) && (ix.Name == s.Name || ix.Owner == s.Owner && slices.Equal(ix.Keys, s.Keys)) {
			return ix
		}
	}
	return nil
}

// CreateIndex makes an empty index. The caller holds SHARE on the label's heaps and growth, and build fills it; nobody else
// sees it before the commit.
//
// Who sees the row of an index took its snapshot after the build, whose locks kept every other writer away: it sees no version that
// is older than those that were the newest then. So only these have entries, and broken HOT chains do no harm (rules B5).
func (c *Catalog) CreateIndex(ctx context.Context, tx *txn.Tx, cid uint32, s IndexSpec, build func(ix *Index, file page.RelFile) error) (*Index, error) {
	g := s.Owner.Graph
	x, err := tx.XID()
	if err != nil {
		return nil, err
	}
	id, err := c.indexIDs.Take(1)
	if err != nil {
		return nil, err
	}
	file, err := c.NewFile(ctx, tx)
	if err != nil {
		return nil, err
	}
	r := indexRow{id: schema.IndexID(id), graph: g.ID, entity: s.Owner.Entity, label: s.Owner.ID, relfile: uint64(file), keys: s.Keys, name: s.Name}
	if s.Unique {
		r.flags |= indexUnique
	}
	ix := c.newIndex(g, r)
	if err := build(ix, file); err != nil {
		return nil, err
	}
	err = c.unique(ctx, tx, func(each func(*stamp)) {
		for _, o := range load(&g.indexes) {
			if o.Name == s.Name {
				each(&o.stamp)
			}
		}
		for _, k := range load(&g.constraints) {
			if k.Name == s.Name {
				each(&k.stamp)
			}
		}
	}, func() error {
		return dberr.New(dberr.DuplicateObject, "an index or constraint named %q already exists", s.Name)
	}, func() error {
		var err error
		if r.row, err = c.rowID(); err != nil {
			return err
		}
		ix.row = r.row
		if ix.tid, err = c.indexes.insert(ctx, tx, cid, r.encode(), r.key()); err != nil {
			return err
		}
		ix.made(x, cid)
		g.forget(c.m)
		add(&g.indexes, ix)
		return nil
	})
	if err != nil {
		return nil, err
	}
	tx.Join(&epochBump{c: c})
	return ix, nil
}

// forget drops indexes and constraints that nobody can see any more from memory. The DDL lock is held.
func (g *Graph) forget(m *txn.Manager) {
	h := m.Horizon()
	var ixs []*Index
	for _, ix := range load(&g.indexes) {
		if !ix.gone(m, h) {
			ixs = append(ixs, ix)
		}
	}
	g.indexes.Store(&ixs)
	var cs []*Constraint
	for _, k := range load(&g.constraints) {
		if !k.gone(m, h) {
			cs = append(cs, k)
		}
	}
	g.constraints.Store(&cs)
}

// DropIndex ends an index; its file goes with the commit. The caller holds ACCESS EXCLUSIVE on its heaps.
func (c *Catalog) DropIndex(ctx context.Context, tx *txn.Tx, cid uint32, ix *Index) error {
	if err := c.end(ctx, tx, cid, c.indexes, &ix.stamp); err != nil {
		return err
	}
	tx.DropAtCommit(ix.relfile)
	tx.Join(&epochBump{c: c})
	return nil
}

// IndexByName returns the index of that name in a writer's state.
func (g *Graph) IndexByName(tx *txn.Tx, name string) *Index {
	for _, ix := range load(&g.indexes) {
		if ix.Name == name && ix.live(g.cat.m, tx) {
			return ix
		}
	}
	return nil
}

// ConstraintByName returns the constraint of that name in a writer's state.
func (g *Graph) ConstraintByName(tx *txn.Tx, name string) *Constraint {
	for _, k := range load(&g.constraints) {
		if k.Name == name && k.live(g.cat.m, tx) {
			return k
		}
	}
	return nil
}

// ConstraintSpec is what makes a constraint.
type ConstraintSpec struct {
	Name  string
	Owner *Label
	Keys  []schema.KeyID
	Kind  schema.ConstraintKind
	Type  value.TypeSpec // of a PropertyType constraint
	Index *Index         // behind it, or nil
}

// SameConstraint returns a constraint of a writer's state that has the name or says the same.
func (g *Graph) SameConstraint(tx *txn.Tx, s ConstraintSpec) *Constraint {
	for _, k := range load(&g.constraints) {
		if !k.live(g.cat.m, tx) {
			continue
		}
		if k.Name == s.Name || k.Label == s.Owner.ID && k.Kind == s.Kind && slices.Equal(k.Keys, s.Keys) {
			return k
		}
	}
	return nil
}

// CreateConstraint makes a constraint that the present rows fulfil.
func (c *Catalog) CreateConstraint(ctx context.Context, tx *txn.Tx, cid uint32, s ConstraintSpec) (*Constraint, error) {
	g := s.Owner.Graph
	x, err := tx.XID()
	if err != nil {
		return nil, err
	}
	r := constraintRow{graph: g.ID, entity: s.Owner.Entity, kind: s.Kind, label: s.Owner.ID, keys: s.Keys, name: s.Name, typ: s.Type}
	if s.Index != nil {
		r.index = s.Index.ID
	}
	var k *Constraint
	err = c.unique(ctx, tx, func(each func(*stamp)) {
		for _, o := range load(&g.constraints) {
			if o.Name == s.Name {
				each(&o.stamp)
			}
		}
		for _, o := range load(&g.indexes) {
			if o.Name == s.Name && o != s.Index {
				each(&o.stamp)
			}
		}
	}, func() error {
		return dberr.New(dberr.DuplicateObject, "an index or constraint named %q already exists", s.Name)
	}, func() error {
		var err error
		if r.row, err = c.rowID(); err != nil {
			return err
		}
		k = c.newConstraint(g, r)
		if k.tid, err = c.constraints.insert(ctx, tx, cid, r.encode(), r.key()); err != nil {
			return err
		}
		k.made(x, cid)
		g.forget(c.m)
		add(&g.constraints, k)
		return nil
	})
	if err != nil {
		return nil, err
	}
	tx.Join(&epochBump{c: c})
	return k, nil
}

// DropConstraint ends a constraint and the index behind it.
func (c *Catalog) DropConstraint(ctx context.Context, tx *txn.Tx, cid uint32, g *Graph, k *Constraint) error {
	if err := c.end(ctx, tx, cid, c.constraints, &k.stamp); err != nil {
		return err
	}
	if ix := g.Index(k.IndexID); ix != nil && ix.live(c.m, tx) {
		if err := c.DropIndex(ctx, tx, cid, ix); err != nil {
			return err
		}
	}
	tx.Join(&epochBump{c: c})
	return nil
}
