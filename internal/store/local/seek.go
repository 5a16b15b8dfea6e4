package local

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/access/btree"
	"github.com/hedgerowdb/hedgerow/internal/access/heap"
	"github.com/hedgerowdb/hedgerow/internal/catalog"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/txn"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// seek probes a property index for each row of a batch. The range of keys that it reads may be wider than what is asked for (cut
// keys, zoned values, exclusive bounds); every row found is judged again by its own values.
type seek struct {
	g    *graphView
	v    store.View
	ask  store.Seek
	rows int
	ix   *catalog.Index
	cur  btree.Cursor
	long bool // the index has cut keys: order within equal prefixes must be made

	row     int
	started bool
	n, at   int
	closed  bool

	cols       []vec.Column // copies of what was asked for
	eq         []value.Value
	lo, hi     value.Value
	prefix     value.Value
	lower, upp []byte

	run     []hit // hits with equal cut keys, sorted by value
	out     int
	pend    hit // the first hit behind the run, and what its key kept if it was cut
	pending bool
	pendKey []byte
}

type hit struct {
	row  int
	id   uint64
	hint store.Hint
	vals []value.Value
}

// copyColumn keeps the rows of a column beyond the call.
func copyColumn(dst, c *vec.Column) *vec.Column {
	if c == nil {
		return nil
	}
	dst.Kinds, dst.Words, dst.Arena = append(dst.Kinds[:0], c.Kinds...), append(dst.Words[:0], c.Words...), append(dst.Arena[:0], c.Arena...)
	return dst
}

// hitCursor lends a cursor to a caller, who may close it more than once.
type hitCursor struct{ c store.HitCursor }

func (g *graphView) lend(c store.HitCursor) *hitCursor {
	h := g.spare.hits.take()
	h.c = c
	return h
}

// Next fills out.
func (h *hitCursor) Next(ctx context.Context, max int, out *store.Hits) error {
	if h.c == nil {
		out.Reset()
		return nil
	}
	return h.c.Next(ctx, max, out)
}

// Close ends the walk.
func (h *hitCursor) Close() {
	if h.c != nil {
		h.c.Close()
		h.c = nil
	}
}

func (g *graphView) Seek(ctx context.Context, v store.View, s store.Seek, rows int) (store.HitCursor, error) {
	ix := g.g.Index(s.Index)
	if ix == nil || len(s.Eq) > len(ix.Keys) { // dropped since the plan was made: made again, it will not ask
		return nil, dberr.Wrap(dberr.SerializationFailure, &store.StaleIndex{Index: s.Index}, "index %d was dropped by another transaction", s.Index)
	}
	// Ordinals are read after the locks on their heaps are granted, again if there are more by then (rules B4).
	for n := -1; n != len(ix.Heaps()); {
		n = len(ix.Heaps())
		for _, h := range ix.Heaps() {
			if h.Label != nil && !h.Label.FilesGone() {
				if err := g.s.tx.lockLabel(ctx, h.Label, txn.AccessShare); err != nil {
					return nil, err
				}
			}
		}
	}
	if !ix.Live(g.s.tx.t) || !ix.Usable(snapOf(v), v.CID) {
		return nil, dberr.Wrap(dberr.SerializationFailure, &store.StaleIndex{Index: s.Index}, "index %q was made or dropped by another transaction", ix.Name)
	}
	long, err := ix.Tree.HasLong(ctx)
	if err != nil {
		return nil, err
	}
	c := g.spare.seek.pop()
	if c == nil {
		c = new(seek)
	}
	c.g, c.v, c.rows, c.ix, c.long = g, v, rows, ix, long
	c.row, c.started, c.n, c.at, c.closed = 0, false, 0, 0, false
	c.run, c.out, c.pend, c.pending = c.run[:0], 0, hit{}, false
	eq := c.ask.Eq[:0]
	c.ask = s
	if n := len(s.Eq) + 3; cap(c.cols) < n {
		c.cols = make([]vec.Column, n)
	}
	c.cols = c.cols[:cap(c.cols)]
	for i, col := range s.Eq {
		eq = append(eq, copyColumn(&c.cols[i+3], col))
	}
	c.ask.Eq = eq
	c.ask.LowerVal, c.ask.UpperVal, c.ask.Prefix = copyColumn(&c.cols[0], s.LowerVal), copyColumn(&c.cols[1], s.UpperVal), copyColumn(&c.cols[2], s.Prefix)
	if cap(c.eq) < len(s.Eq) {
		c.eq = make([]value.Value, len(s.Eq))
	}
	c.eq = c.eq[:len(s.Eq)]
	c.cur.Init(ix.Tree, btree.Options{Probe: rows > 1, Reverse: s.Descending})
	return g.lend(c), nil
}

// begin sets the range for the row; false if it finds nothing whatever there is.
func (c *seek) begin() bool {
	b := c.lower[:0]
	loose := false
	for i, col := range c.ask.Eq {
		v := col.Value(c.row)
		if v.IsNull() || isNaN(v) {
			return false // = is never true then
		}
		c.eq[i] = v
		if !loose {
			b, loose = appendLoose(b, v)
		}
	}
	eqLen := len(b)
	r := btree.Range{}
	switch {
	case len(c.ask.Eq) == len(c.ix.Keys):
		if !loose {
			b, _ = cutKey(b, 0)
		}
		c.lower = b
		r = btree.Prefix(cutBound(b))
	case c.ask.Prefix != nil:
		c.prefix = c.ask.Prefix.Value(c.row)
		if c.prefix.Kind() != value.String {
			return false
		}
		if !loose {
			b = value.AppendPrefixKey(b, c.prefix.Str())
		}
		c.lower = b
		r = btree.Prefix(cutBound(b))
	case c.ask.Lower.Present || c.ask.Upper.Present:
		if c.ask.Lower.Present {
			if c.lo = c.ask.LowerVal.Value(c.row); c.lo.IsNull() || isNaN(c.lo) {
				return false
			}
		}
		if c.ask.Upper.Present {
			if c.hi = c.ask.UpperVal.Value(c.row); c.hi.IsNull() || isNaN(c.hi) {
				return false
			}
		}
		up := append(c.upp[:0], b...)
		if !loose {
			// Values compare only within their class, the first byte of a key: an open end ends there.
			if c.ask.Lower.Present {
				b, _ = appendLoose(b, c.lo)
			} else {
				b = append(b, value.AppendKey(nil, c.hi)[0])
			}
			if c.ask.Upper.Present {
				up, _ = appendLoose(up, c.hi)
			} else {
				up = append(up, b[eqLen])
			}
			if b[eqLen] != up[eqLen] {
				c.lower, c.upp = b, up
				return false
			}
		}
		c.lower, c.upp = b, up
		r = btree.Range{Lower: cutBound(b), Upper: cutBound(up)}
		if len(b) == 0 {
			r = btree.Range{}
		}
	default:
		c.lower = b
		if eqLen > 0 {
			r = btree.Prefix(cutBound(b))
		}
	}
	c.g.s.counters.IndexProbes++
	c.cur.Seek(r)
	return true
}

// cutBound makes a bound meet cut keys: it is no longer than what they keep of their values, and inclusive (rules B13).
func cutBound(b []byte) []byte {
	if len(b) > maxWhole+16 || len(b) > maxWhole && len(b) != maxWhole+16 {
		return b[:maxWhole]
	}
	return b
}

func isNaN(v value.Value) bool { return v.Kind() == value.Float && v.Float() != v.Float() }

// matches judges a row by its own values.
func (c *seek) matches(ctx context.Context, id uint64, row []byte) (bool, error) {
	g, e := c.g, c.ix.Entity
	if e == schema.Vertex {
		set := g.g.Set(rowSet(row))
		if set == nil {
			return false, dberr.New(dberr.DataCorrupted, "node %d has the unknown label set %d", id, rowSet(row))
		}
		if !set.Has(c.ix.Label) {
			return false, nil
		}
	} else if schema.LabelOf(id) != c.ix.Label {
		return false, nil
	}
	p, err := g.props(ctx, e, row)
	if err != nil {
		return false, err
	}
	for i, k := range c.ix.Keys {
		v, ok := p.Get(uint32(k))
		if !ok {
			return false, nil
		}
		if i > len(c.eq) {
			continue
		}
		if v.Kind() == value.OutOfLine {
			if v, err = g.outOfLine(ctx, v); err != nil {
				return false, err
			}
		}
		if i < len(c.eq) {
			if value.Equal(v, c.eq[i]) != value.True {
				return false, nil
			}
			continue
		}
		if c.ask.Prefix != nil && (v.Kind() != value.String || !strings.HasPrefix(v.Str(), c.prefix.Str())) {
			return false, nil
		}
		if c.ask.Prefix == nil && c.ask.Lower.Present && !within(c.lo, v, c.ask.Lower.Inclusive) {
			return false, nil
		}
		if c.ask.Prefix == nil && c.ask.Upper.Present && !within(v, c.hi, c.ask.Upper.Inclusive) {
			return false, nil
		}
	}
	return true, nil
}

func within(a, b value.Value, inclusive bool) bool {
	if inclusive {
		return value.LessEqual(a, b) == value.True // not "less or equal": equal durations are not ordered
	}
	return value.Less(a, b) == value.True
}

// next returns the next row that the view sees and that is asked for.
func (c *seek) next(ctx context.Context) (h hit, key []byte, ok bool, err error) {
	g := c.g
	for c.row < c.rows {
		if !c.started {
			if !c.begin() {
				c.row++
				continue
			}
			c.started, c.n, c.at = true, 0, 0
		}
		for c.at < c.n {
			key, ptr := c.cur.At(c.at)
			c.at++
			l := c.ix.ByOrdinal(btree.Ordinal(ptr))
			if l == nil || l.FilesGone() {
				continue // an ordinal that is dead for good (rules B4)
			}
			o := g.r.at(l)
			row, root, ok, err := o.g.Get(ctx, snapOf(c.v), c.v.CID, btree.TIDOf(ptr), 0, heap.ByIndex)
			if err != nil {
				return hit{}, nil, false, err
			}
			if !ok {
				continue
			}
			if err := checkRow(c.ix.Entity, row); err != nil {
				return hit{}, nil, false, err
			}
			g.s.counters.RowsRead++
			id := rowID(row)
			if ok, err = c.matches(ctx, id, row); err != nil {
				return hit{}, nil, false, err
			}
			if !ok {
				continue
			}
			h := hit{id: id, hint: store.Hint(root)}
			if c.long && c.ask.Ordered {
				if h.vals, err = c.values(ctx, id, row); err != nil {
					return hit{}, nil, false, err
				}
			}
			if err := g.found(ctx, c.v, l, id, root); err != nil {
				return hit{}, nil, false, err
			}
			return h, key, true, nil
		}
		if c.n, err = c.cur.Page(ctx); err != nil {
			return hit{}, nil, false, err
		}
		if c.at = 0; c.n == 0 {
			c.started = false
			c.row++
			return hit{}, nil, false, nil // the end of a row's hits
		}
	}
	return hit{}, nil, false, nil
}

// values copies the indexed values of a row.
func (c *seek) values(ctx context.Context, id uint64, row []byte) ([]value.Value, error) {
	p, err := c.g.props(ctx, c.ix.Entity, row)
	if err != nil {
		return nil, err
	}
	out := make([]value.Value, len(c.ix.Keys))
	for i, k := range c.ix.Keys {
		v, _ := p.Get(uint32(k))
		if v.Kind() == value.OutOfLine {
			if v, err = c.g.outOfLine(ctx, v); err != nil {
				return nil, err
			}
		}
		out[i] = v.Clone()
	}
	return out, nil
}

// Next fills out.
func (c *seek) Next(ctx context.Context, max int, out *store.Hits) error {
	out.Reset()
	if c.closed {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return dberr.As(err)
	}
	defer c.g.r.done()
	if c.long && c.ask.Ordered {
		return c.nextSorted(ctx, max, out)
	}
	for len(out.ID) < max && c.row < c.rows {
		row := c.row
		h, _, ok, err := c.next(ctx)
		if err != nil {
			return err
		}
		if ok {
			out.Row, out.ID, out.Hint = append(out.Row, uint16(c.row)), append(out.ID, h.id), append(out.Hint, h.hint)
		} else if c.row == row {
			break
		}
	}
	return nil
}

// nextSorted is Next for an index with cut keys: hits whose keys agree in what was kept are sorted by their values (rules B13).
func (c *seek) nextSorted(ctx context.Context, max int, out *store.Hits) error {
	for len(out.ID) < max {
		if c.out < len(c.run) {
			h := &c.run[c.out]
			c.out++
			out.Row, out.ID, out.Hint = append(out.Row, uint16(h.row)), append(out.ID, h.id), append(out.Hint, h.hint)
			continue
		}
		if err := c.nextRun(ctx); err != nil {
			return err
		}
		if len(c.run) == 0 && c.row >= c.rows {
			return nil
		}
	}
	return nil
}

// nextRun collects the hits of one input row whose keys are cut and equal, or one hit with a whole key.
func (c *seek) nextRun(ctx context.Context) error {
	c.run, c.out = c.run[:0], 0
	kept := c.pendKey
	if c.pending {
		c.run, c.pending = append(c.run, c.pend), false
		if len(kept) < maxWhole {
			return nil
		}
	}
	for c.row < c.rows {
		row := c.row
		h, key, ok, err := c.next(ctx)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		h.row = row
		cut := len(key) > maxWhole
		if cut {
			key = key[:maxWhole]
		}
		if len(c.run) > 0 && (!cut || !bytes.Equal(kept, key)) {
			c.pend, c.pending = h, true
			c.pendKey = c.pendKey[:0]
			if cut {
				c.pendKey = append(c.pendKey, key...)
			}
			break
		}
		c.run = append(c.run, h)
		if !cut {
			break
		}
		c.pendKey = append(c.pendKey[:0], key...)
		kept = c.pendKey
	}
	c.sortRun()
	return nil
}

func (c *seek) sortRun() {
	slices.SortStableFunc(c.run, func(a, b hit) int {
		for i := range c.ix.Keys {
			if d := value.Compare(a.vals[i], b.vals[i]); d != 0 {
				if c.ask.Descending {
					return -d
				}
				return d
			}
		}
		return 0
	})
}

// Close ends the probe and keeps its memory for the next one.
func (c *seek) Close() {
	if !c.closed {
		c.closed = true
		c.cur.Close()
		c.g.spare.seek.push(c)
	}
}
