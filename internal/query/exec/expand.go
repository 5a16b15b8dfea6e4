package exec

import (
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// unique tests a relationship against the slots of its uniqueness group.
type unique struct {
	slots []plan.Slot
	ids   []uint64 // scratch: relationships of the row in lists
	row   int
	batch *expr.Batch
}

func (u *unique) reset() { u.row, u.batch = -1, nil }

// clash reports whether the row uses the relationship already.
func (u *unique) clash(b *expr.Batch, row int, rel uint64) bool {
	for _, id := range u.used(b, row) {
		if id == rel {
			return true
		}
	}
	return false
}

// used returns the relationships of the group that the row has.
func (u *unique) used(b *expr.Batch, row int) []uint64 {
	if len(u.slots) == 0 {
		return nil
	}
	if u.batch != b || u.row != row {
		u.batch, u.row, u.ids = b, row, u.ids[:0]
		for _, s := range u.slots {
			c := b.Cols[s]
			if c == nil {
				continue
			}
			switch c.Kinds[row] {
			case value.Rel:
				u.ids = append(u.ids, c.Words[row])
			case value.List:
				for _, e := range c.Value(row).All() {
					if e.Kind() == value.Rel {
						u.ids = append(u.ids, e.ID())
					}
				}
			}
		}
	}
	return u.ids
}

// semiChunk is how many vertices an Expand below a Semi apply asks for at a time, so that a vertex with many relationships is
// left as soon as its row is decided.
const semiChunk = 16

// expand is Expand, plain, Into and Optional.
type expand struct {
	core
	in   input
	n    *plan.Expand
	pred *expr.Program
	arg  *argState // of the enclosing Apply, for early stop

	batch   *expr.Batch
	first   bool
	ids     []schema.LabelID
	some    bool
	cur     store.EdgeCursor // Into
	lent    store.RunCursor  // else
	runs    store.Runs
	edges   store.Edges
	banned  []uint32 // scratch: lower halves of the relationships that the row has
	src     []uint64
	dst     []uint64
	scratch [2][]uint64
	part    []uint64
	chunk   int // sources before this one have been asked for
	uniq    unique

	idx   []uint16
	sel   []uint16
	stage rows
	e     found
	done  int  // Optional: rows before this one are decided
	hit   bool // Optional: row done has had a match
}

// found are relationships that survived.
type found struct {
	row              []uint16
	rel, other, hint []uint64
}

// addRun adds the relationships of a run that are not banned.
func (f *found) addRun(r *store.Run, banned []uint32) {
	at := 0
	for part, ok := r.Part(&at, banned); ok; part, ok = r.Part(&at, banned) {
		f.rel, f.other, f.hint = part.AppendRels(f.rel), part.AppendOthers(f.other), part.AppendHints(f.hint)
		f.row = repeat(f.row, r.Row, part.Len())
	}
}

// repeat appends n times the same.
func repeat(dst []uint16, x uint16, n int) []uint16 {
	at := len(dst)
	dst = slices.Grow(dst, n)[:at+n]
	for i := range dst[at:] {
		dst[at+i] = x
	}
	return dst
}

func (f *found) reset() {
	f.row, f.rel, f.other, f.hint = f.row[:0], f.rel[:0], f.other[:0], f.hint[:0]
}

func (f *found) add(row uint16, rel, other, hint uint64) {
	f.row, f.rel, f.other, f.hint = append(f.row, row), append(f.rel, rel), append(f.other, other), append(f.hint, hint)
}

func (o *expand) open() error {
	o.restart()
	o.stop()
	o.batch, o.first = nil, true
	return o.in.op.open()
}

func (o *expand) stop() {
	if o.cur != nil {
		o.cur.Close()
		o.cur = nil
	}
	if o.lent != nil {
		o.lent.Close()
		o.lent = nil
	}
}

func (o *expand) close() { o.stop(); o.core.close() }

func (o *expand) next() (*expr.Batch, error) {
	for {
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if o.batch == nil {
			if err := o.begin(); o.batch == nil || err != nil {
				return nil, err
			}
		}
		o.e.reset()
		more, err := o.pull()
		if err != nil {
			return nil, err
		}
		b := o.batch
		if !more {
			if o.n.Optional {
				o.misses(b.N)
			}
			o.batch = nil
		}
		if len(o.e.row) > 0 {
			return o.emit(b)
		}
	}
}

// begin takes the next input batch.
func (o *expand) begin() (err error) {
	b, err := o.in.next()
	if b == nil || err != nil {
		return err
	}
	if err := o.sync(); err != nil {
		return err
	}
	if o.first {
		o.ids, o.some = o.types(o.n.Types, o.ids)
		o.first = false
	}
	if o.src, err = ids(b.Cols[o.n.From], value.Node, &o.scratch[0]); err != nil {
		return err
	}
	if o.n.Into {
		if o.dst, err = ids(b.Cols[o.n.To], value.Node, &o.scratch[1]); err != nil {
			return err
		}
	}
	o.batch, o.chunk, o.done, o.hit = b, 0, 0, false
	o.uniq.reset()
	return nil
}

// cursor opens the next cursor over sources of the batch; nil at the end.
func (o *expand) cursor() error {
	n := o.batch.N
	if !o.some || o.chunk >= n {
		return nil
	}
	src, dst, to := o.src, o.dst, n
	if o.arg != nil && o.arg.done != nil {
		to = min(n, o.chunk+semiChunk)
		o.part = grow(o.part, n)
		src = o.part
		copy(src, o.src)
		clear(src[:o.chunk])
		clear(src[to:])
		rid := o.batch.Cols[o.arg.row]
		for i := o.chunk; i < to; i++ {
			if o.arg.done[rid.Words[i]] {
				src[i] = 0
			}
		}
	}
	o.chunk = to
	var err error
	if o.n.Into {
		o.cur, err = o.x.g.ExpandInto(o.x.ctx, o.env.View, src, dst, o.n.Dir, o.ids)
	} else {
		o.lent, err = o.x.g.Neighbours(o.x.ctx, o.env.View, src, o.n.Dir, o.ids)
	}
	return err
}

// decided reports whether every row of the current chunk needs no more.
func (o *expand) decided() bool {
	if o.arg == nil || o.arg.done == nil {
		return false
	}
	rid := o.batch.Cols[o.arg.row]
	for i := max(0, o.chunk-semiChunk); i < o.chunk; i++ {
		if !o.arg.done[rid.Words[i]] {
			return false
		}
	}
	return true
}

// pull fills e with the next relationships that fit; false at the end of the batch.
func (o *expand) pull() (bool, error) {
	for {
		if (o.cur != nil || o.lent != nil) && o.decided() {
			o.stop()
		}
		if o.cur == nil && o.lent == nil {
			if err := o.cursor(); err != nil {
				return false, err
			}
			if o.cur == nil && o.lent == nil {
				return false, nil
			}
		}
		last, err := o.piece()
		if err != nil {
			return false, err
		}
		if last < 0 {
			o.stop()
			continue
		}
		if o.n.Optional {
			o.misses(last)
		}
		if len(o.e.row) > 0 {
			return true, nil
		}
		if err := o.x.check(); err != nil {
			return false, err
		}
	}
}

// piece takes the next relationships of the cursor and accepts those that fit. It returns the last row that had any, -1 at the end.
func (o *expand) piece() (last int, err error) {
	o.edges.Reset()
	if o.lent != nil {
		if err := o.lent.Next(o.x.ctx, o.take(), &o.runs); err != nil {
			return 0, err
		}
		if o.pred == nil {
			return o.acceptRuns(), nil
		}
		o.runs.Edges(&o.edges)
	} else if err := o.cur.Next(o.x.ctx, o.take(), &o.edges); err != nil {
		return 0, err
	}
	if len(o.edges.Rel) == 0 {
		return -1, nil
	}
	if o.pred != nil {
		if err := o.test(); err != nil {
			return 0, err
		}
	} else {
		for i, row := range o.edges.Row {
			o.accept(i, row)
		}
	}
	return int(o.edges.Row[len(o.edges.Row)-1]), nil
}

// acceptRuns accepts what is lent, whole runs at a time.
func (o *expand) acceptRuns() (last int) {
	last = -1
	for k := range o.runs.Run {
		r := &o.runs.Run[k]
		last = int(r.Row)
		if o.n.Optional {
			o.misses(last)
		}
		n := len(o.e.row)
		o.banned = r.Clashes(o.uniq.used(o.batch, last), o.banned[:0])
		o.e.addRun(r, o.banned)
		o.hit = o.hit || len(o.e.row) > n
	}
	return last
}

func (o *expand) accept(i int, row uint16) {
	rel := o.edges.Rel[i]
	if o.uniq.clash(o.batch, int(row), rel) {
		return
	}
	if o.n.Optional {
		o.misses(int(row))
		o.hit = true
	}
	o.e.add(row, rel, o.edges.Other[i], o.edges.Hint[i])
}

// misses adds a row of nulls for every undecided row before to.
func (o *expand) misses(to int) {
	for o.done < to {
		if !o.hit {
			o.e.add(uint16(o.done), 0, 0, 0)
		}
		o.done, o.hit = o.done+1, false
	}
}

// test evaluates the predicate of an optional expand on the edges and accepts those that satisfy it.
func (o *expand) test() error {
	o.stage.width = o.out.width
	o.stage.start()
	o.stage.gather(o.batch, nil, o.edges.Row)
	o.columns(&o.stage, o.edges.Rel, o.edges.Other, o.edges.Hint)
	sel, err := o.pred.Filter(&o.env, &o.stage.b, nil, o.sel[:0])
	if err != nil {
		return err
	}
	o.sel = sel
	for _, i := range sel {
		o.accept(int(i), o.edges.Row[i])
	}
	return nil
}

func (o *expand) columns(r *rows, rel, other, hint []uint64) {
	r.entityCol(o.n.Rel, value.Rel, rel)
	r.hintCol(o.n.RelHint, hint)
	if o.n.Into {
		return
	}
	r.entityCol(o.n.To, value.Node, other)
	if o.n.ToHint != plan.NoSlot {
		clear(r.raw(o.n.ToHint).Fill(value.Int, len(other)))
	}
}

func (o *expand) emit(in *expr.Batch) (*expr.Batch, error) {
	o.out.start()
	o.out.gather(in, o.keep, o.e.row)
	o.columns(&o.out, o.e.rel, o.e.other, o.e.hint)
	o.out.b.N = len(o.e.row)
	return &o.out.b, o.account()
}

// endpoints is ProjectEndpoints: the ends of bound relationships.
type endpoints struct {
	core
	in      input
	n       *plan.ProjectEndpoints
	first   bool
	ids     []schema.LabelID
	some    bool
	uniq    unique
	idx     []uint16
	ends    [4][]uint64
	scratch [3][]uint64
}

func (o *endpoints) open() error { o.first = true; return o.in.op.open() }

func (o *endpoints) next() (*expr.Batch, error) {
	for {
		b, err := o.in.next()
		if b == nil || err != nil {
			return nil, err
		}
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if err := o.sync(); err != nil {
			return nil, err
		}
		if o.first {
			o.ids, o.some = o.types(o.n.Types, o.ids)
			o.first = false
		}
		if !o.some {
			continue
		}
		if err := o.project(b); err != nil {
			return nil, err
		}
		if len(o.idx) == 0 {
			continue
		}
		o.out.start()
		o.out.gather(b, o.keep, o.idx)
		if !o.n.StartBound {
			o.out.entityCol(o.n.Start, value.Node, o.ends[2])
			o.noHint(o.n.Start, len(o.idx))
		}
		if !o.n.EndBound {
			o.out.entityCol(o.n.End, value.Node, o.ends[3])
			o.noHint(o.n.End, len(o.idx))
		}
		return &o.out.b, o.account()
	}
}

func (o *endpoints) project(b *expr.Batch) (err error) {
	o.idx, o.ends[2], o.ends[3] = o.idx[:0], o.ends[2][:0], o.ends[3][:0]
	rels, err := ids(b.Cols[o.n.Rel], value.Rel, &o.scratch[0])
	if err != nil {
		return err
	}
	o.ends[0], o.ends[1] = grow(o.ends[0], b.N), grow(o.ends[1], b.N)
	// A relationship that the statement has deleted has no match (rules C8): ask one by one what is still there.
	if err := o.x.g.Ends(o.x.ctx, o.env.View, rels[:b.N], nil, o.ends[0], o.ends[1]); err != nil {
		if !dberr.Is(err, dberr.EntityNotFound) {
			return err
		}
		for i := range b.N {
			err := o.x.g.Ends(o.x.ctx, o.env.View, rels[i:i+1], nil, o.ends[0][i:i+1], o.ends[1][i:i+1])
			if dberr.Is(err, dberr.EntityNotFound) {
				o.ends[0][i], o.ends[1][i] = 0, 0
			} else if err != nil {
				return err
			}
		}
	}
	var start, end []uint64
	if o.n.StartBound {
		if start, err = ids(b.Cols[o.n.Start], value.Node, &o.scratch[1]); err != nil {
			return err
		}
	}
	if o.n.EndBound {
		if end, err = ids(b.Cols[o.n.End], value.Node, &o.scratch[2]); err != nil {
			return err
		}
	}
	o.uniq.reset()
	for i := range b.N {
		s, e := o.ends[0][i], o.ends[1][i]
		if rels[i] == 0 || s == 0 || !typeIn(rels[i], o.ids) || o.uniq.clash(b, i, rels[i]) {
			continue
		}
		try := func(s, e uint64) {
			if (start == nil || start[i] == s) && (end == nil || end[i] == e) {
				o.idx = append(o.idx, uint16(i))
				o.ends[2], o.ends[3] = append(o.ends[2], s), append(o.ends[3], e)
			}
		}
		if o.n.Dir != store.In {
			try(s, e)
		}
		if o.n.Dir == store.In || o.n.Dir == store.Both && s != e {
			try(e, s)
		}
	}
	return nil
}

func typeIn(rel uint64, types []schema.LabelID) bool {
	if len(types) == 0 {
		return true
	}
	for _, t := range types {
		if schema.LabelOf(rel) == t {
			return true
		}
	}
	return false
}

// projectPath builds path values.
type projectPath struct {
	core
	in   input
	n    *plan.ProjectPath
	elem []value.Value
	rels []uint64
	ends [2][]uint64
	buf  []byte
}

func (o *projectPath) open() error { return o.in.op.open() }

func (o *projectPath) next() (*expr.Batch, error) {
	b, err := o.in.next()
	if b == nil || err != nil {
		return nil, err
	}
	if err := o.sync(); err != nil {
		return nil, err
	}
	o.out.pass(b)
	col := o.out.col(o.n.Path)
	for i := range b.N {
		ok, err := o.path(b, i)
		if err != nil {
			return nil, err
		}
		if !ok {
			col.AppendNull()
			continue
		}
		col.Append(value.NewPath(o.elem...))
	}
	return &o.out.b, o.account()
}

// path collects the elements of row i; false if one is null.
func (o *projectPath) path(b *expr.Batch, i int) (bool, error) {
	o.elem = o.elem[:0]
	for _, p := range o.n.Parts {
		switch {
		case p.Rel != plan.NoSlot:
			v := b.Cols[p.Rel].Value(i)
			if v.IsNull() {
				return false, nil
			}
			o.elem = append(o.elem, value.NewRel(v.ID()))
		case p.Rels != plan.NoSlot:
			v := b.Cols[p.Rels].Value(i)
			if v.Kind() != value.List {
				return false, nil
			}
			if err := o.splice(v); err != nil {
				return false, err
			}
		default:
			v := b.Cols[p.Node].Value(i)
			if v.IsNull() {
				return false, nil
			}
			// After an empty list of relationships the vertex is there already.
			if n := len(o.elem); n > 0 && o.elem[n-1].Kind() == value.Node {
				continue
			}
			o.elem = append(o.elem, value.NewNode(v.ID()))
		}
	}
	return true, nil
}

// splice appends the relationships of a list and the vertices between and after them.
func (o *projectPath) splice(list value.Value) error {
	o.rels = o.rels[:0]
	for _, e := range list.All() {
		o.rels = append(o.rels, e.ID())
	}
	n := len(o.rels)
	if n == 0 {
		return nil
	}
	if len(o.elem) == 0 {
		return dberr.New(dberr.Internal, "a path begins with relationships")
	}
	o.ends[0], o.ends[1] = grow(o.ends[0], n), grow(o.ends[1], n)
	v := o.env.View
	v.WithDeleted = true
	for at := 0; at < n; at += vec.MaxRows {
		to := min(n, at+vec.MaxRows)
		if err := o.x.g.Ends(o.x.ctx, v, o.rels[at:to], nil, o.ends[0][at:to], o.ends[1][at:to]); err != nil {
			return err
		}
	}
	here := o.elem[len(o.elem)-1].ID()
	for i, r := range o.rels {
		next := o.ends[1][i]
		if next == here {
			next = o.ends[0][i]
		}
		here = next
		o.elem = append(o.elem, value.NewRel(r), value.NewNode(next))
	}
	return nil
}
