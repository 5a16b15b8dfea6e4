package local

import (
	"context"
	"fmt"

	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/check"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// checkSource tells package check what the committed catalog names.
type checkSource struct {
	s    *Store
	tx   *tx
	stmt *stmt
}

// CheckSource returns what a check asks; done ends it. Nobody may write meanwhile.
func (s *Store) CheckSource(ctx context.Context) (src check.Source, done func(), err error) {
	t, err := s.Begin(ctx, store.TxOptions{Isolation: store.RepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, nil, err
	}
	st, err := t.Begin(ctx)
	if err != nil {
		_ = t.Rollback()
		return nil, nil, err
	}
	c := &checkSource{s: s, tx: t.(*tx), stmt: st.(*stmt)}
	return c, func() {
		st.Close()
		_ = t.Rollback()
	}, nil
}

// graphs returns a view of each graph.
func (c *checkSource) graphs() []*graphView {
	var out []*graphView
	for _, g := range c.s.cat.Graphs(c.stmt.snap, 0) {
		out = append(out, &graphView{g: g, s: c.stmt})
	}
	return out
}

// Heaps lists the heaps.
func (c *checkSource) Heaps(context.Context) ([]check.Heap, error) {
	var out []check.Heap
	for _, t := range c.s.cat.Tables() {
		out = append(out, check.Heap{Name: "catalog " + t.Name, File: t.Heap})
	}
	for _, g := range c.graphs() {
		out = append(out, check.Heap{Name: g.g.Name + " values out of line", File: g.g.Chunks.File()})
		for _, l := range g.g.Labels() {
			if l == nil || l.Heap == nil || l.FilesGone() {
				continue
			}
			out = append(out, check.Heap{Name: g.g.Name + "." + l.Name, File: l.Heap.File(), Row: func(ctx context.Context, row []byte) (string, error) {
				return g.checkLive(ctx, l, row)
			}})
		}
	}
	return out, nil
}

// checkLive looks at a live row.
func (g *graphView) checkLive(ctx context.Context, l *catalog.Label, row []byte) (string, error) {
	if checkRow(l.Entity, row) != nil {
		return "the row is too short", nil
	}
	id := rowID(row)
	if schema.LabelOf(id) != l.ID {
		return fmt.Sprintf("id %d belongs to another label", id), nil
	}
	if l.Entity == schema.Vertex {
		set := g.g.Set(rowSet(row))
		if set == nil {
			return fmt.Sprintf("node %d has the unknown label set %d", id, rowSet(row)), nil
		}
		for _, x := range set.Labels {
			if !l.MayHold(x) {
				return fmt.Sprintf("node %d has label %d, which its heap is not known to hold", id, x), nil
			}
		}
	} else {
		start, end := rowEnds(row)
		for _, v := range [2]uint64{start, end} {
			_, ok, err := g.find(ctx, store.View{Snap: g.s.snap, CID: allOwn}, schema.Vertex, v, nil)
			g.r.done()
			if err != nil {
				return "", err
			}
			if !ok {
				return fmt.Sprintf("relationship %d has an end %d that does not exist", id, v), nil
			}
		}
	}
	p, err := g.props(ctx, l.Entity, row)
	if err != nil {
		return fmt.Sprintf("properties of %d: %v", id, err), nil
	}
	if err := p.Validate(); err != nil {
		return fmt.Sprintf("properties of %d: %v", id, err), nil
	}
	for i := range p.Len() {
		k, v := p.At(i)
		if g.g.KeyName(schema.KeyID(k)) == "" {
			return fmt.Sprintf("%d has a property with the unknown key %d", id, k), nil
		}
		if v.Kind() == value.OutOfLine {
			if _, err := g.outOfLine(ctx, v); err != nil {
				return fmt.Sprintf("property %d of %d: %v", k, id, err), nil
			}
		}
	}
	return "", nil
}

// Indexes lists the indexes.
func (c *checkSource) Indexes(context.Context) ([]check.Index, error) {
	var out []check.Index
	for _, t := range c.s.cat.Tables() {
		out = append(out, check.Index{Name: "catalog " + t.Name, Tree: c.s.cat.TreeOf(t), Heaps: []check.Member{{File: t.Heap, Key: func(dst, row []byte) ([]byte, bool, error) {
			k, err := catalog.TableKey(t.Heap, row)
			return append(dst, k...), err == nil, err
		}}}})
	}
	for _, g := range c.graphs() {
		for _, l := range g.g.Labels() {
			if l == nil || l.Heap == nil || l.FilesGone() {
				continue
			}
			name, file := g.g.Name+"."+l.Name, l.Heap.File()
			fixed := func(key func(dst, row []byte) []byte) []check.Member {
				return []check.Member{{File: file, Key: func(dst, row []byte) ([]byte, bool, error) {
					if err := checkRow(l.Entity, row); err != nil {
						return dst, false, err
					}
					return key(dst, row), true, nil
				}}}
			}
			out = append(out, check.Index{Name: name + " id", Tree: l.ByID, Heaps: fixed(func(dst, row []byte) []byte {
				return appendID(dst, rowID(row))
			})})
			if l.Entity != schema.Edge {
				continue
			}
			out = append(out, check.Index{Name: name + " out", Tree: l.Out, Heaps: fixed(func(dst, row []byte) []byte {
				start, end := rowEnds(row)
				return appendAdj(dst, start, end, rowID(row))
			})}, check.Index{Name: name + " in", Tree: l.In, Heaps: fixed(func(dst, row []byte) []byte {
				start, end := rowEnds(row)
				return appendAdj(dst, end, start, rowID(row))
			})})
		}
		g.g.Indexes(c.stmt.snap, 0, func(ix *catalog.Index) {
			x := check.Index{Name: g.g.Name + "." + ix.Name, Tree: ix.Tree, Unique: ix.Unique}
			for _, h := range ix.Heaps() {
				if h.Label == nil || h.Label.FilesGone() {
					continue
				}
				x.Heaps = append(x.Heaps, check.Member{Ordinal: h.Ordinal, File: h.Label.Heap.File(), Key: func(dst, row []byte) ([]byte, bool, error) {
					from := len(dst)
					k, ok, err := g.keyOf(context.Background(), dst, ix, row)
					if !ok || err != nil {
						return dst, false, err
					}
					k, _ = cutKey(k, from)
					return k, true, nil
				}})
			}
			out = append(out, x)
		})
	}
	return out, nil
}

// Faults looks at the catalog itself and at the counters.
func (c *checkSource) Faults(ctx context.Context, report func(reason string)) error {
	for _, g := range c.graphs() {
		for _, l := range g.g.Labels() {
			if l == nil || l.Heap == nil || l.FilesGone() {
				continue
			}
			for _, f := range l.Files() {
				if ok, err := c.s.pool.Exists(f); err != nil {
					return err
				} else if !ok {
					report(fmt.Sprintf("label %q of graph %q names file %d, which does not exist", l.Name, g.g.Name, f))
				}
			}
		}
		if err := c.counts(ctx, g, report); err != nil {
			return err
		}
	}
	return nil
}

// counts holds the counters against the rows (rules B9).
func (c *checkSource) counts(ctx context.Context, g *graphView, report func(reason string)) error {
	found := map[countKey]int64{}
	for _, l := range g.g.Labels() {
		if l == nil || l.Heap == nil || l.FilesGone() {
			continue
		}
		sc := l.Heap.Scan(c.stmt.snap, 0)
		var b heap.Batch
		for {
			if err := sc.Next(ctx, 1024, &b); err != nil {
				return err
			}
			if b.Len() == 0 {
				break
			}
			for i := range b.Len() {
				row := b.Row(i)
				if checkRow(l.Entity, row) != nil {
					continue
				}
				if l.Entity == schema.Vertex {
					found[nodeKey(g.g.ID, l.ID, rowSet(row))]++
				} else {
					start, end := rowEnds(row)
					found[relKey(g.g.ID, l.ID, schema.LabelOf(start), schema.LabelOf(end))]++
					if start == end {
						found[loopKey(g.g.ID, l.ID)]++
					}
				}
			}
		}
	}
	c.s.counts.mu.RLock()
	defer c.s.counts.mu.RUnlock()
	for k, n := range c.s.counts.n {
		if k.graph == g.g.ID && found[k] != n {
			report(fmt.Sprintf("graph %q: counter %+v is %d, there are %d rows", g.g.Name, k, n, found[k]))
		}
		if k.graph == g.g.ID {
			delete(found, k)
		}
	}
	for k, n := range found {
		report(fmt.Sprintf("graph %q: counter %+v is 0, there are %d rows", g.g.Name, k, n))
	}
	return nil
}

var _ check.Transactions = (*txn.Manager)(nil)
