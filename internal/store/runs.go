package store

import (
	"context"
	"slices"
)

// Run is relationships of one vertex, of one type and one direction, whose ids and whose far ends' ids have the same upper halves: what a cache of
// neighbourhoods holds, lent as it lies there. Its slices are read only, and valid until the cursor that lent them moves.
type Run struct {
	Row       uint16 // ordinal of the input vertex
	In        bool   // the relationships point to it
	RelHigh   uint64 // the upper halves; the type is the label of RelHigh
	OtherHigh uint64
	Rel       []uint32 // the lower halves
	Other     []uint32 // of the vertices at the far ends, one a relationship
	Hint      []Hint   // of the relationships; nil if nothing is known
}

// Len returns the number of relationships.
func (r *Run) Len() int { return len(r.Rel) }

// RelID returns relationship i.
func (r *Run) RelID(i int) uint64 { return r.RelHigh | uint64(r.Rel[i]) }

// OtherID returns the vertex at the far end of relationship i.
func (r *Run) OtherID(i int) uint64 { return r.OtherHigh | uint64(r.Other[i]) }

// lowHalf and highHalf are the parts of an id.
const (
	lowHalf  = 1<<32 - 1
	highHalf = ^uint64(lowHalf)
)

// AppendRels appends the relationships.
func (r *Run) AppendRels(dst []uint64) []uint64 { return appendWhole(dst, r.RelHigh, r.Rel) }

// AppendOthers appends the vertices at the far ends.
func (r *Run) AppendOthers(dst []uint64) []uint64 { return appendWhole(dst, r.OtherHigh, r.Other) }

// AppendHints appends the hints of the relationships, 0 where nothing is known.
func (r *Run) AppendHints(dst []Hint) []Hint {
	if r.Hint != nil {
		return append(dst, r.Hint...)
	}
	n := len(dst)
	dst = slices.Grow(dst, len(r.Rel))[:n+len(r.Rel)]
	clear(dst[n:])
	return dst
}

func appendWhole(dst []uint64, high uint64, low []uint32) []uint64 {
	n := len(dst)
	dst = slices.Grow(dst, len(low))[:n+len(low)]
	to := dst[n:]
	for i, id := range low {
		to[i] = high | uint64(id)
	}
	return dst
}

// Clashes appends to dst the lower halves of those of the relationships that the run may hold: they have the same upper half.
func (r *Run) Clashes(rels []uint64, dst []uint32) []uint32 {
	for _, id := range rels {
		if id&highHalf == r.RelHigh {
			dst = append(dst, uint32(id))
		}
	}
	return dst
}

// Part returns relationships from *at on, as many as lie side by side without any whose lower half is in but, and moves *at behind them. Not ok: there are
// none left.
func (r *Run) Part(at *int, but []uint32) (part Run, ok bool) {
	n, from := len(r.Rel), *at
	for from < n && slices.Contains(but, r.Rel[from]) {
		from++
	}
	if from == n {
		return Run{}, false
	}
	to := n
	if len(but) > 0 {
		for to = from + 1; to < n && !slices.Contains(but, r.Rel[to]); {
			to++
		}
	}
	*at, part = to, *r
	part.Rel, part.Other = r.Rel[from:to], r.Other[from:to]
	if r.Hint != nil {
		part.Hint = r.Hint[from:to]
	}
	return part, true
}

// RunCursor lends the relationships of a batch of vertices, in the order of the vertices. All of one vertex come from one state of the data.
type RunCursor interface {
	// Next replaces the runs of out by further ones, of at most max relationships together, none of them empty; no run means the end.
	Next(ctx context.Context, max int, out *Runs) error
	// Seek begins again, with other vertices (0 = none; at most vec.MaxRows). What the statement has written meanwhile is seen as the view says. src is copied.
	Seek(src []uint64)
	Close()
}

// Runs is what a RunCursor lends, and the memory for what must be put together first.
type Runs struct {
	Run []Run

	rel, other []uint32
	hint       []Hint
	from       []int32 // where run i begins in rel and other, for those that are put together here; -1 for others
}

// Reset empties r and keeps its memory.
func (r *Runs) Reset() {
	clear(r.Run)
	r.Run, r.rel, r.other, r.hint, r.from = r.Run[:0], r.rel[:0], r.other[:0], r.hint[:0], r.from[:0]
}

// Edges appends the relationships of all runs to e, one by one.
func (r *Runs) Edges(e *Edges) {
	for k := range r.Run {
		run := &r.Run[k]
		e.Rel, e.Other, e.Hint = run.AppendRels(e.Rel), run.AppendOthers(e.Other), run.AppendHints(e.Hint)
		for range run.Rel {
			e.Row, e.In = append(e.Row, run.Row), append(e.In, run.In)
		}
	}
}

// Lend adds a run that lies elsewhere.
func (r *Runs) Lend(run Run) { r.Run, r.from = append(r.Run, run), append(r.from, -1) }

// Add copies a relationship into the last run, or into a new one. Done must be called behind the last Add or Lend.
func (r *Runs) Add(row uint16, in bool, rel, other uint64, hint Hint) {
	n := len(r.Run)
	if n == 0 || r.from[n-1] < 0 || r.Run[n-1].Row != row || r.Run[n-1].In != in || r.Run[n-1].RelHigh != rel&highHalf || r.Run[n-1].OtherHigh != other&highHalf {
		r.Run = append(r.Run, Run{Row: row, In: in, RelHigh: rel & highHalf, OtherHigh: other & highHalf})
		r.from = append(r.from, int32(len(r.rel)))
	}
	r.rel, r.other, r.hint = append(r.rel, uint32(rel)), append(r.other, uint32(other)), append(r.hint, hint)
}

// Done gives the runs that were put together their slices: memory that grew has moved.
func (r *Runs) Done() {
	end := len(r.rel)
	for i, from := range slices.Backward(r.from) {
		if from < 0 {
			continue
		}
		b := int(from)
		r.Run[i].Rel, r.Run[i].Other, r.Run[i].Hint = r.rel[b:end:end], r.other[b:end:end], r.hint[b:end:end]
		end = b
	}
}
