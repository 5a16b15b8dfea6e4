package local

import (
	"context"
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// nodeScan reads the heaps that may hold a label, filtering only where label sets differ.
type nodeScan struct {
	g      *graphView
	v      store.View
	label  schema.LabelID
	but    []schema.LabelID // or all vertices with none of these
	heaps  []*catalog.Label
	at     int // which of them
	scan   *heap.Scan
	b      heap.Batch
	lastID schema.LabelSetID // the set judged last
	lastOK bool
	closed bool
}

func (g *graphView) ScanNodes(ctx context.Context, v store.View, label schema.LabelID) (store.HitCursor, error) {
	return g.scanNodes(ctx, v, label, nil)
}

// ScanOthers leaves out the heaps of which counters say that no such vertex lies there.
func (g *graphView) ScanOthers(ctx context.Context, v store.View, labels []schema.LabelID) (store.HitCursor, error) {
	return g.scanNodes(ctx, v, schema.NoLabel, labels)
}

func (g *graphView) scanNodes(ctx context.Context, v store.View, label schema.LabelID, but []schema.LabelID) (store.HitCursor, error) {
	c := g.spare.scan
	if g.spare.scan = nil; c == nil {
		c = new(nodeScan)
	}
	*c = nodeScan{g: g, v: v, label: label, but: but, heaps: c.heaps[:0], b: c.b}
	c.heaps = g.appendHeapsOf(c.heaps, label)
	for _, l := range c.heaps {
		if err := g.s.tx.lockLabel(ctx, l, txn.AccessShare); err != nil {
			return nil, err
		}
	}
	if len(but) > 0 {
		if some, ok := g.holdOthers(v, but); ok {
			c.heaps = slices.DeleteFunc(c.heaps, func(l *catalog.Label) bool { return some[uint16(l.ID)] <= 0 })
		}
	}
	g.s.counters.SeqScans += int64(len(c.heaps))
	return g.lend(c), nil
}

// heapsOf returns the labels whose heaps may hold vertices with the label. Call it after taking the snapshot (C2 of package catalog).
func (g *graphView) heapsOf(label schema.LabelID) []*catalog.Label {
	return g.appendHeapsOf(nil, label)
}

func (g *graphView) appendHeapsOf(dst []*catalog.Label, label schema.LabelID) []*catalog.Label {
	if label == schema.NoLabel || label == schema.VertexLabel {
		for _, l := range g.g.Labels() {
			if l != nil && l.Entity == schema.Vertex && l.Heap != nil && !l.FilesGone() {
				dst = append(dst, l)
			}
		}
	} else if l := g.g.Label(label); l != nil && l.Entity == schema.Vertex {
		for _, h := range l.Holders() {
			if !h.FilesGone() {
				dst = append(dst, h)
			}
		}
	}
	return dst
}

// Next fills out.
func (c *nodeScan) Next(ctx context.Context, max int, out *store.Hits) error {
	out.Reset()
	if c.closed {
		return nil
	}
	for {
		if c.scan == nil {
			if c.at == len(c.heaps) {
				return nil
			}
			c.scan = c.heaps[c.at].Heap.Scan(snapOf(c.v), c.v.CID)
		}
		if err := c.scan.Next(ctx, max, &c.b); err != nil {
			return err
		}
		if c.b.Len() == 0 {
			c.scan = nil
			c.at++
			continue
		}
		c.g.s.counters.RowsRead += int64(c.b.Len())
		for i := range c.b.Len() {
			row := c.b.Row(i)
			if err := checkRow(schema.Vertex, row); err != nil {
				return err
			}
			ok, err := c.has(rowSet(row))
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			id := rowID(row)
			if err := c.g.foundIn(ctx, c.v, c.heaps[c.at], id, c.b.TID[i]); err != nil {
				return err
			}
			out.Row, out.ID, out.Hint = append(out.Row, 0), append(out.ID, id), append(out.Hint, store.Hint(c.b.TID[i]))
		}
		if len(out.ID) > 0 {
			return nil
		}
	}
}

func (c *nodeScan) has(id schema.LabelSetID) (bool, error) {
	if id == c.lastID && id != 0 {
		return c.lastOK, nil
	}
	set := c.g.g.Set(id)
	if set == nil {
		return false, dberr.New(dberr.DataCorrupted, "a node has the unknown label set %d", id)
	}
	c.lastID, c.lastOK = id, c.but != nil && !set.HasAny(c.but) || c.but == nil && set.Has(c.label)
	return c.lastOK, nil
}

// holdOthers counts, by heap, the vertices that v sees with none of the labels; not ok if counters do not tell (rules B9).
func (g *graphView) holdOthers(v store.View, labels []schema.LabelID) (map[uint16]int64, bool) {
	snap := snapOf(v)
	if snap.Refreshed() {
		return nil, false
	}
	n := map[uint16]int64{}
	add := func(k countKey, d int64) {
		if k.graph != g.g.ID || k.kind != countNodes {
			return
		}
		if set := g.g.Set(schema.LabelSetID(k.b)); set == nil || !set.HasAny(labels) {
			n[k.a] += d
		}
	}
	return n, g.s.tx.deltas.each(v.CID, add) && g.s.tx.s.counts.each(page.LSN(snap.CSN()), add)
}

// Close ends the scan and keeps its memory for the next one.
func (c *nodeScan) Close() {
	if !c.closed {
		c.closed, c.scan = true, nil
		c.g.spare.scan = c
	}
}

// foundIn is found for a scan, whose reader holds nothing.
func (g *graphView) foundIn(ctx context.Context, v store.View, l *catalog.Label, id uint64, root page.TID) error {
	if s := snapOf(v); s != g.s.fresh || s.CSN() <= g.s.snap.CSN() {
		return nil
	}
	err := g.found(ctx, v, l, id, root)
	g.r.done()
	return err
}

// relScan reads the heaps of relationship types.
type relScan struct {
	g      *graphView
	v      store.View
	types  []*catalog.Label
	scan   *heap.Scan
	b      heap.Batch
	closed bool
}

func (g *graphView) ScanRels(ctx context.Context, v store.View, types []schema.LabelID) (store.EdgeScan, error) {
	ls, err := g.types(ctx, nil, types)
	if err != nil {
		return nil, err
	}
	g.s.counters.SeqScans += int64(len(ls))
	return &relScan{g: g, v: v, types: ls}, nil
}

// Next fills out.
func (c *relScan) Next(ctx context.Context, max int, out *store.Rels) error {
	out.Reset()
	if c.closed {
		return nil
	}
	for {
		if c.scan == nil {
			if len(c.types) == 0 {
				return nil
			}
			c.scan = c.types[0].Heap.Scan(snapOf(c.v), c.v.CID)
		}
		if err := c.scan.Next(ctx, max, &c.b); err != nil {
			return err
		}
		if c.b.Len() == 0 {
			c.scan = nil
			c.types = c.types[1:]
			continue
		}
		c.g.s.counters.RowsRead += int64(c.b.Len())
		for i := range c.b.Len() {
			row := c.b.Row(i)
			if err := checkRow(schema.Edge, row); err != nil {
				return err
			}
			id := rowID(row)
			start, end := rowEnds(row)
			if err := c.g.foundIn(ctx, c.v, c.types[0], id, c.b.TID[i]); err != nil {
				return err
			}
			if err := c.g.foundEnds(ctx, c.v, start, end); err != nil {
				return err
			}
			out.ID, out.Start, out.End = append(out.ID, id), append(out.Start, start), append(out.End, end)
			out.Hint = append(out.Hint, store.Hint(c.b.TID[i]))
		}
		return nil
	}
}

// Close ends the scan.
func (c *relScan) Close() { c.closed = true }
