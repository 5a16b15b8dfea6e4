package catalog

import (
	"cmp"
	"context"
	"encoding/binary"
	"log/slog"
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/stats"
	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// statsRow is a part of what is known of a label.
type statsRow struct {
	row   uint64
	graph schema.GraphID
	label schema.LabelID
	part  uint16
	data  string
}

// statsPart is how many bytes of statistics go into one row.
const statsPart = 4000

// maxStats bounds the statistics of a label: what is longer is not kept.
const maxStats = 1 << 16 * statsPart

func (r *statsRow) encode() []byte {
	var e encoder
	e.u64(r.row)
	e.u32(uint32(r.graph))
	e.u16(uint16(r.label))
	e.u16(r.part)
	e.str(r.data)
	return e.b
}

func (r *statsRow) decode(b []byte) error {
	d := decoder{b: b}
	r.row, r.graph, r.label, r.part = d.u64(), schema.GraphID(d.u32()), schema.LabelID(d.u16()), d.u16()
	r.data = d.str()
	return d.done("statistics")
}

// Old and new statistics of a label lie side by side for a while, so the row's number is part of the key.
func (r *statsRow) key() []byte {
	k := binary.BigEndian.AppendUint32(nil, uint32(r.graph))
	k = binary.BigEndian.AppendUint16(k, uint16(r.label))
	return binary.BigEndian.AppendUint64(k, r.row)
}

// Stats returns what the newest sample said about the label, nil if none was taken.
func (l *Label) Stats() *stats.Label { return l.stats.Load() }

// SetStats replaces what is known of a label, for everybody and at once: statistics are opinions, not data, and belong to no
// transaction. nil forgets it.
func (c *Catalog) SetStats(ctx context.Context, caller *txn.Tx, l *Label, st *stats.Label) error {
	c.stats.Lock()
	defer c.stats.Unlock()
	var rows []page.TID
	err := c.system(ctx, caller, func(t *txn.Tx) error {
		for _, tid := range l.statRows {
			if err := c.statistics.delete(ctx, t, 0, tid); err != nil {
				return err
			}
		}
		if st == nil {
			return nil
		}
		b := st.Append(nil)
		if len(b) > maxStats {
			return dberr.New(dberr.LimitExceeded, "the statistics of %q take %d bytes", l.Name, len(b))
		}
		for part := range (len(b) + statsPart - 1) / statsPart {
			row, err := c.rowID()
			if err != nil {
				return err
			}
			r := statsRow{row: row, graph: l.Graph.ID, label: l.ID, part: uint16(part), data: string(b[part*statsPart : min(len(b), (part+1)*statsPart)])}
			tid, err := c.statistics.insert(ctx, t, 0, r.encode(), r.key())
			if err != nil {
				return err
			}
			rows = append(rows, tid)
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.statRows = rows
	l.stats.Store(st)
	c.Bump()
	return nil
}

// loadStats reads all statistics. What cannot be read is forgotten: plans are worse then, answers are not.
func (c *Catalog) loadStats(ctx context.Context, snap *txn.Snapshot) error {
	type part struct {
		n    uint16
		data string
	}
	parts := map[*Label][]part{}
	err := c.statistics.scan(ctx, snap, func(tid page.TID, b []byte) error {
		var r statsRow
		if err := r.decode(b); err != nil {
			return err
		}
		g := c.byID[r.graph]
		if g == nil || g.Label(r.label) == nil {
			c.orphans = true
			return nil
		}
		l := g.Label(r.label)
		l.statRows = append(l.statRows, tid)
		parts[l] = append(parts[l], part{r.part, r.data})
		return nil
	})
	if err != nil {
		return err
	}
	for l, ps := range parts {
		slices.SortFunc(ps, func(a, b part) int { return cmp.Compare(a.n, b.n) })
		var b []byte
		for _, p := range ps {
			b = append(b, p.data...)
		}
		st, err := stats.Decode(b)
		if err != nil {
			c.slog.LogAttrs(ctx, slog.LevelWarn, "statistics are malformed", slog.String("label", l.Name))
			continue
		}
		st.Graph, st.ID = l.Graph.ID, l.ID
		l.stats.Store(st)
	}
	return nil
}
