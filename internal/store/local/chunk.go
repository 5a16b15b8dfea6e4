package local

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Values out of line (rules B13, docs/format/rows.md) lie in the graph's table of chunks.

// putOut stores a value out of line and returns the pointer to it.
func (g *graphView) putOut(ctx context.Context, cid uint32, v value.Value) (value.Value, error) {
	w := g.s.tx.writer()
	w.out = value.AppendValue(w.out[:0], v)
	ptr, err := g.g.Chunks.StoreChunks(ctx, g.s.tx.t, cid, w.out)
	if err != nil {
		return value.Value{}, err
	}
	return value.NewOutOfLine(ptr[:]), nil
}

// outOfLine reads a value that lies in chunks. The result lives until the next call.
func (g *graphView) outOfLine(ctx context.Context, p value.Value) (value.Value, error) {
	b, err := g.g.Chunks.ReadChunks(ctx, p.Raw(), g.r.buf[:0])
	if err != nil {
		return value.Value{}, err
	}
	g.r.buf = b
	v, rest, err := value.DecodeValue(b)
	if err != nil || len(rest) != 0 {
		return value.Value{}, dberr.New(dberr.DataCorrupted, "a value out of line of graph %q is malformed", g.g.Name)
	}
	return v, nil
}

// props returns the property record of a row. One that lay out of line lives until the next call.
func (g *graphView) props(ctx context.Context, e schema.Entity, row []byte) (value.Props, error) {
	p, out := inlineProps(e, row)
	if out == nil {
		return p, nil
	}
	b, err := g.g.Chunks.ReadChunks(ctx, out, g.r.mapBuf[:0])
	if err != nil {
		return nil, err
	}
	g.r.mapBuf = b
	return value.Props(b), nil
}

// dropOut deletes the chunks that the old row (w.old) points to and the new one (w.m; empty after a delete) does not.
func (g *graphView) dropOut(ctx context.Context, cid uint32, e schema.Entity) error {
	t := g.s.tx
	p, out := inlineProps(e, t.writer().old)
	if out != nil {
		b, err := g.g.Chunks.ReadChunks(ctx, out, nil)
		if err != nil {
			return err
		}
		p = value.Props(b)
		if err := g.g.Chunks.DeleteChunks(ctx, t.t, cid, out); err != nil {
			return err
		}
	}
	for i, k := 0, p.Len(); i < k; i++ {
		key, v := p.At(i)
		if v.Kind() != value.OutOfLine || same(v, t.writer().m.get(schema.KeyID(key))) {
			continue
		}
		if err := g.g.Chunks.DeleteChunks(ctx, t.t, cid, v.Raw()); err != nil {
			return err
		}
	}
	return nil
}
