package exec

import (
	"slices"
	"strconv"

	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// singleRow yields one row without columns.
type singleRow struct {
	core
	done bool
}

func (o *singleRow) open() error { o.done = false; return nil }

func (o *singleRow) next() (*expr.Batch, error) {
	if o.done {
		return nil, nil
	}
	o.done = true
	o.out.start()
	o.out.b.N = 1
	return &o.out.b, nil
}

// argState is what an Apply hands to the Arguments of its right side.
type argState struct {
	batch *expr.Batch // dense; nil: nothing
	row   plan.Slot   // slot of the ordinal, or NoSlot
	rows  vec.Column  // the ordinals
	// done marks left rows of which nothing more is needed; nil if all rows are.
	done []bool
	left int // rows not done
}

// set hands a dense batch down.
func (a *argState) set(b *expr.Batch) {
	a.batch = b
	if a.row != plan.NoSlot {
		w := a.rows.Fill(value.Int, b.N)
		for i := range w {
			w[i] = uint64(i)
		}
	}
}

// argument yields the batch of the enclosing Apply.
type argument struct {
	core
	n    *plan.Argument
	arg  *argState
	done bool
}

func (o *argument) open() error { o.done = false; return nil }

func (o *argument) next() (*expr.Batch, error) {
	if o.done || o.arg.batch == nil || o.arg.batch.N == 0 {
		return nil, nil
	}
	o.done = true
	o.out.start()
	for _, s := range o.n.Args {
		o.out.b.Cols[s] = o.arg.batch.Cols[s]
	}
	if o.n.RowID != plan.NoSlot {
		o.out.b.Cols[o.n.RowID] = &o.arg.rows
	}
	o.out.b.N = o.arg.batch.N
	return &o.out.b, nil
}

// nodeScan is AllNodesScan and LabelScan: the vertices, for every input row.
type nodeScan struct {
	core
	in         input
	node, hint plan.Slot
	names      []string // labels; nil: all vertices
	but        []string // of those, only the ones with none of these labels

	batch  *expr.Batch
	row    int
	labels []schema.LabelID
	label  int // cursor is at labels[label]
	others []schema.LabelID
	cur    store.HitCursor
	hits   store.Hits
	sets   []schema.LabelSetID
	idx    []uint16
	first  bool
}

func (o *nodeScan) open() error {
	o.restart()
	o.stop()
	o.batch, o.row, o.label, o.first = nil, 0, 0, true
	return o.in.op.open()
}

func (o *nodeScan) stop() {
	if o.cur != nil {
		o.cur.Close()
		o.cur = nil
	}
}

func (o *nodeScan) close() { o.stop(); o.core.close() }

func (o *nodeScan) resolve() {
	o.labels = o.labels[:0]
	if o.names == nil {
		o.labels, o.others = append(o.labels, schema.NoLabel), o.others[:0]
		for _, n := range o.but {
			if id, ok := o.x.g.Label(o.env.View, n, schema.Vertex); ok {
				o.others = append(o.others, id)
			}
		}
		return
	}
	for _, n := range o.names {
		if id, ok := o.x.g.Label(o.env.View, n, schema.Vertex); ok {
			o.labels = append(o.labels, id)
		}
	}
}

func (o *nodeScan) next() (*expr.Batch, error) {
	for {
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if o.batch == nil {
			b, err := o.in.next()
			if b == nil || err != nil {
				return nil, err
			}
			o.batch, o.row, o.label = b, 0, 0
			if err := o.sync(); err != nil {
				return nil, err
			}
			if o.first {
				o.resolve()
				o.first = false
			}
		}
		if o.row >= o.batch.N {
			o.batch = nil
			continue
		}
		if o.label >= len(o.labels) {
			o.row, o.label = o.row+1, 0
			continue
		}
		if o.cur == nil {
			cur, err := o.scan()
			if err != nil {
				return nil, err
			}
			o.cur = cur
		}
		if err := o.cur.Next(o.x.ctx, o.take(), &o.hits); err != nil {
			return nil, err
		}
		if len(o.hits.ID) == 0 {
			o.stop()
			o.label++
			continue
		}
		n, err := o.dedup()
		if err != nil {
			return nil, err
		}
		if n == 0 {
			continue
		}
		o.out.start()
		if o.batch.N > 0 {
			o.idx = grow(o.idx, n)
			for i := range o.idx {
				o.idx[i] = uint16(o.row)
			}
			o.out.gather(o.batch, o.keep, o.idx)
		}
		o.out.b.N = n
		o.out.entityCol(o.node, value.Node, o.hits.ID)
		o.out.hintCol(o.hint, o.hits.Hint)
		return &o.out.b, o.account()
	}
}

func (o *nodeScan) scan() (store.HitCursor, error) {
	if len(o.others) > 0 {
		return o.x.g.ScanOthers(o.x.ctx, o.env.View, o.others)
	}
	return o.x.g.ScanNodes(o.x.ctx, o.env.View, o.labels[o.label])
}

// dedup drops hits that an earlier label of the list has yielded already.
func (o *nodeScan) dedup() (int, error) {
	if o.label == 0 {
		return len(o.hits.ID), nil
	}
	o.sets = grow(o.sets, len(o.hits.ID))
	if err := o.x.g.LabelSets(o.x.ctx, o.env.View, o.hits.ID, o.hits.Hint, o.sets); err != nil {
		return 0, err
	}
	n := 0
next:
	for i, set := range o.sets {
		for _, l := range o.x.g.LabelSet(set) {
			for _, earlier := range o.labels[:o.label] {
				if l == earlier {
					continue next
				}
			}
		}
		o.hits.ID[n], o.hits.Hint[n] = o.hits.ID[i], o.hits.Hint[i]
		n++
	}
	o.hits.ID, o.hits.Hint = o.hits.ID[:n], o.hits.Hint[:n]
	return n, nil
}

// relScan is RelTypeScan.
type relScan struct {
	core
	in    input
	n     *plan.RelTypeScan
	batch *expr.Batch
	row   int
	first bool
	ids   []schema.LabelID
	some  bool
	cur   store.EdgeScan
	rels  store.Rels
	back  bool // the mirrored rows of rels come next
	sel   []uint16
	idx   []uint16
	buf   [4][]uint64
}

func (o *relScan) open() error {
	o.restart()
	o.stop()
	o.batch, o.row, o.first, o.back = nil, 0, true, false
	return o.in.op.open()
}

func (o *relScan) stop() {
	if o.cur != nil {
		o.cur.Close()
		o.cur = nil
	}
}

func (o *relScan) close() { o.stop(); o.core.close() }

func (o *relScan) next() (*expr.Batch, error) {
	for {
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if o.batch == nil {
			b, err := o.in.next()
			if b == nil || err != nil {
				return nil, err
			}
			o.batch, o.row = b, 0
			if err := o.sync(); err != nil {
				return nil, err
			}
			if o.first {
				o.ids, o.some = o.types(o.n.Types, o.ids)
				o.first = false
			}
		}
		if o.row >= o.batch.N || !o.some {
			o.batch = nil
			continue
		}
		if o.back {
			o.back = false
			if b, err := o.emit(true); b != nil || err != nil {
				return b, err
			}
			continue
		}
		if o.cur == nil {
			cur, err := o.x.g.ScanRels(o.x.ctx, o.env.View, o.ids)
			if err != nil {
				return nil, err
			}
			o.cur = cur
		}
		if err := o.cur.Next(o.x.ctx, o.take(), &o.rels); err != nil {
			return nil, err
		}
		if len(o.rels.ID) == 0 {
			o.stop()
			o.row++
			continue
		}
		o.back = o.n.Dir == store.Both
		return o.emit(false)
	}
}

func (o *relScan) emit(back bool) (*expr.Batch, error) {
	rel, hint, start, end := o.rels.ID, o.rels.Hint, o.rels.Start, o.rels.End
	if back {
		for i := range o.buf {
			o.buf[i] = o.buf[i][:0]
		}
		for i := range rel {
			if start[i] != end[i] {
				o.buf[0], o.buf[1] = append(o.buf[0], rel[i]), append(o.buf[1], hint[i])
				o.buf[2], o.buf[3] = append(o.buf[2], end[i]), append(o.buf[3], start[i])
			}
		}
		rel, hint, start, end = o.buf[0], o.buf[1], o.buf[2], o.buf[3]
		if len(rel) == 0 {
			return nil, nil
		}
	}
	o.idx = grow(o.idx, len(rel))
	for i := range o.idx {
		o.idx[i] = uint16(o.row)
	}
	o.out.start()
	o.out.gather(o.batch, o.keep, o.idx)
	o.out.entityCol(o.n.Rel, value.Rel, rel)
	o.out.hintCol(o.n.RelHint, hint)
	o.out.entityCol(o.n.Start, value.Node, start)
	o.out.entityCol(o.n.End, value.Node, end)
	o.noHint(o.n.Start, len(rel))
	o.noHint(o.n.End, len(rel))
	return &o.out.b, o.account()
}

// probes is the common part of IndexSeek and ByID: probe rows made from the rows of an input batch, and hits for them.
type probes struct {
	core
	in                     input
	entity                 schema.Entity
	node, hint, start, end plan.Slot
	batch                  *expr.Batch
	of                     []uint16 // input row of each probe
	cur                    store.HitCursor
	hits                   store.Hits
	idx                    []uint16
	ends                   [2][]uint64
	col                    [8]vec.Column
}

func (o *probes) open() error {
	o.restart()
	o.stop()
	o.batch = nil
	return o.in.op.open()
}

func (o *probes) stop() {
	if o.cur != nil {
		o.cur.Close()
		o.cur = nil
	}
}

func (o *probes) close() { o.stop(); o.core.close() }

// emit yields the rows of hits.
func (o *probes) emit() (*expr.Batch, error) {
	o.idx = grow(o.idx, len(o.hits.ID))
	for i, p := range o.hits.Row {
		o.idx[i] = o.of[p]
	}
	o.out.start()
	o.out.gather(o.batch, o.keep, o.idx)
	kind := value.Node
	if o.entity == schema.Edge {
		kind = value.Rel
		if o.start != plan.NoSlot || o.end != plan.NoSlot {
			o.ends[0], o.ends[1] = grow(o.ends[0], len(o.idx)), grow(o.ends[1], len(o.idx))
			if err := o.x.g.Ends(o.x.ctx, o.env.View, o.hits.ID, o.hits.Hint, o.ends[0], o.ends[1]); err != nil {
				return nil, err
			}
			o.out.entityCol(o.start, value.Node, o.ends[0])
			o.out.entityCol(o.end, value.Node, o.ends[1])
			o.noHint(o.start, len(o.idx))
			o.noHint(o.end, len(o.idx))
		}
	}
	o.out.entityCol(o.node, kind, o.hits.ID)
	o.out.hintCol(o.hint, o.hits.Hint)
	return &o.out.b, o.account()
}

// indexSeek probes an index for all rows of a batch at once.
type indexSeek struct {
	probes
	n                 *plan.IndexSeek
	eq                []*expr.Program
	lower, upper, pre *expr.Program
	seek              store.Seek
	cols              []vec.Column // evaluated per input row
	probe             []vec.Column // per probe, when a list multiplies rows
	row, elem         int          // where the list expansion goes on
	more              bool
	elems             []value.Value // of the list at hand
}

func (o *indexSeek) prepare() (err error) {
	o.eq = make([]*expr.Program, len(o.n.Eq))
	for i, e := range o.n.Eq {
		if o.eq[i], err = o.program(e); err != nil {
			return err
		}
	}
	if o.lower, err = o.program(o.n.Lower); err != nil {
		return err
	}
	if o.upper, err = o.program(o.n.Upper); err != nil {
		return err
	}
	if o.pre, err = o.program(o.n.Prefix); err != nil {
		return err
	}
	o.cols, o.probe = make([]vec.Column, len(o.eq)+3), make([]vec.Column, len(o.eq)+3)
	o.seek = store.Seek{
		Index: o.n.Index, Ordered: o.n.Ordered, Descending: o.n.Descend,
		Lower: store.Bound{Present: o.lower != nil, Inclusive: o.n.LowerInc},
		Upper: store.Bound{Present: o.upper != nil, Inclusive: o.n.UpperInc},
		Eq:    make([]*vec.Column, len(o.eq)),
	}
	return nil
}

func (o *indexSeek) open() error {
	o.more = false
	return o.probes.open()
}

func (o *indexSeek) next() (*expr.Batch, error) {
	for {
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if o.cur != nil {
			if err := o.cur.Next(o.x.ctx, o.take(), &o.hits); err != nil {
				return nil, err
			}
			if len(o.hits.ID) > 0 {
				return o.emit()
			}
			o.stop()
		}
		if !o.more {
			b, err := o.in.next()
			if b == nil || err != nil {
				return nil, err
			}
			o.batch = b
			if err := o.sync(); err != nil {
				return nil, err
			}
			if err := o.eval(); err != nil {
				return nil, err
			}
			o.row, o.elem, o.more = 0, 0, true
		}
		n := o.fill()
		if n == 0 {
			o.more = false
			continue
		}
		cur, err := o.x.g.Seek(o.x.ctx, o.env.View, o.seek, n)
		if err != nil {
			return nil, err
		}
		o.cur = cur
	}
}

// eval computes the probe values of the batch.
func (o *indexSeek) eval() error {
	one := func(p *expr.Program, i int) error {
		if p == nil {
			return nil
		}
		return p.Eval(&o.env, o.batch, nil, &o.cols[i])
	}
	for i, p := range o.eq {
		if err := one(p, i); err != nil {
			return err
		}
	}
	k := len(o.eq)
	for i, p := range []*expr.Program{o.lower, o.upper, o.pre} {
		if err := one(p, k+i); err != nil {
			return err
		}
	}
	return nil
}

// fill makes the next probes and returns their number.
func (o *indexSeek) fill() int {
	src := o.cols
	if o.n.In < 0 {
		if o.row > 0 {
			return 0
		}
		o.row = o.batch.N
		o.of = grow(o.of, o.batch.N)
		for i := range o.of {
			o.of[i] = uint16(i)
		}
	} else {
		src = o.probe
		for i := range src {
			src[i].Reset()
		}
		o.of = o.of[:0]
		for o.row < o.batch.N && len(o.of) < vec.MaxRows {
			if o.elem == 0 {
				o.elems = o.sorted(o.cols[o.n.In].Value(o.row))
			}
			if o.elem >= len(o.elems) {
				o.row, o.elem = o.row+1, 0
				continue
			}
			v := o.elems[o.elem]
			o.elem++
			for i := range src {
				switch {
				case i == o.n.In:
					src[i].Append(v)
				case o.cols[i].Len() > 0:
					src[i].AppendFrom(&o.cols[i], o.row)
				}
			}
			o.of = append(o.of, uint16(o.row))
		}
	}
	k := len(o.eq)
	for i := range o.eq {
		o.seek.Eq[i] = &src[i]
	}
	o.seek.LowerVal, o.seek.UpperVal, o.seek.Prefix = nil, nil, nil
	if o.lower != nil {
		o.seek.LowerVal = &src[k]
	}
	if o.upper != nil {
		o.seek.UpperVal = &src[k+1]
	}
	if o.pre != nil {
		o.seek.Prefix = &src[k+2]
	}
	return len(o.of)
}

// sorted returns the values of a list that an index can find, in the order of the index and each once, so that probes go through it from left to right.
func (o *indexSeek) sorted(list value.Value) []value.Value {
	vs := o.elems[:0]
	if list.Kind() == value.List {
		for i := range list.Len() {
			if v := list.At(i); !v.IsNull() {
				vs = append(vs, v)
			}
		}
	}
	slices.SortFunc(vs, value.Compare)
	// A seek finds what = holds for, and that holds between one moment in two zones, which stand side by side unless something precedes them
	// in a list or map.
	out := vs[:0]
	for i := range vs {
		from := max(0, len(out)-1)
		if k := vs[i].Kind(); k == value.List || k == value.Map {
			from = 0
		}
		if !slices.ContainsFunc(out[from:], func(o value.Value) bool { return value.Equal(o, vs[i]) == value.True || value.Equivalent(o, vs[i]) }) {
			out = append(out, vs[i])
		}
	}
	return out
}

// byID finds entities by id.
type byID struct {
	probes
	n     *plan.ByID
	id    *expr.Program
	val   vec.Column
	ids   []uint64
	row   int
	elem  int
	seen  idSet
	avail bool
}

func (o *byID) open() error {
	o.avail = false
	return o.probes.open()
}

func (o *byID) next() (*expr.Batch, error) {
	for {
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if !o.avail {
			b, err := o.in.next()
			if b == nil || err != nil {
				return nil, err
			}
			o.batch = b
			if err := o.sync(); err != nil {
				return nil, err
			}
			if err := o.id.Eval(&o.env, b, nil, &o.val); err != nil {
				return nil, err
			}
			o.row, o.elem, o.avail = 0, 0, true
		}
		if o.fill(); len(o.ids) == 0 {
			o.avail = false
			continue
		}
		if err := o.x.g.ByID(o.x.ctx, o.env.View, o.entity, o.ids, &o.hits); err != nil {
			return nil, err
		}
		if len(o.hits.ID) > 0 {
			return o.emit()
		}
	}
}

func (o *byID) fill() {
	o.ids, o.of = o.ids[:0], o.of[:0]
	for o.row < o.batch.N && len(o.ids) < o.x.opt.BatchSize {
		v, at := o.val.Value(o.row), uint16(o.row)
		if o.n.In {
			if o.elem == 0 {
				o.seen.reset()
			}
			if v.Kind() != value.List || o.elem >= v.Len() {
				o.row, o.elem = o.row+1, 0
				continue
			}
			v = v.At(o.elem)
			o.elem++
		}
		id, ok := idOf(v, o.n.Element)
		if !o.n.In {
			o.row++
		} else if ok && !o.seen.add(id) {
			continue
		}
		if ok {
			o.ids, o.of = append(o.ids, id), append(o.of, at)
		}
	}
}

// idOf reads an id as WHERE id(n) = v compares it: an exact float counts.
func idOf(v value.Value, element bool) (uint64, bool) {
	switch {
	case element:
		if v.Kind() != value.String {
			return 0, false
		}
		id, err := strconv.ParseUint(v.Str(), 10, 64)
		return id, err == nil && id != 0
	case v.Kind() == value.Int:
		return uint64(v.Int()), v.Int() > 0
	case v.Kind() == value.Float:
		f := v.Float()
		if f >= 1 && f < 1<<63 && f == float64(int64(f)) {
			return uint64(int64(f)), true
		}
	}
	return 0, false
}

// countScan is CountStore: counters tell where rules B9 allow it, else it counts what a scan finds.
type countScan struct {
	core
	n    *plan.CountStore
	done bool
	hits store.Hits
	rels store.Rels
}

func (o *countScan) open() error { o.done = false; return nil }

func (o *countScan) next() (*expr.Batch, error) {
	if o.done {
		return nil, nil
	}
	o.done = true
	if err := o.sync(); err != nil {
		return nil, err
	}
	n, err := o.count()
	if err != nil {
		return nil, err
	}
	o.out.start()
	o.out.b.N = 1
	o.out.col(o.n.Out1).AppendWord(value.Int, uint64(n))
	return &o.out.b, nil
}

func (o *countScan) count() (n int64, err error) {
	label := schema.NoLabel
	if o.n.Label != "" {
		id, ok := o.x.g.Label(o.env.View, o.n.Label, o.n.Entity)
		if !ok {
			return 0, nil
		}
		label = id
	}
	n, loops, ok, err := o.x.g.Count(o.x.ctx, o.env.View, o.n.Entity, label)
	if err != nil {
		return 0, err
	}
	if ok {
		if o.n.Both {
			n += n - loops
		}
		return n, nil
	}
	n = 0
	if o.n.Entity == schema.Vertex {
		cur, err := o.x.g.ScanNodes(o.x.ctx, o.env.View, label)
		if err != nil {
			return 0, err
		}
		defer cur.Close()
		for {
			if err := o.x.check(); err != nil {
				return 0, err
			}
			if err := cur.Next(o.x.ctx, vec.MaxRows, &o.hits); err != nil {
				return 0, err
			}
			if len(o.hits.ID) == 0 {
				return n, nil
			}
			n += int64(len(o.hits.ID))
		}
	}
	var types []schema.LabelID
	if label != schema.NoLabel {
		types = []schema.LabelID{label}
	}
	cur, err := o.x.g.ScanRels(o.x.ctx, o.env.View, types)
	if err != nil {
		return 0, err
	}
	defer cur.Close()
	for {
		if err := o.x.check(); err != nil {
			return 0, err
		}
		if err := cur.Next(o.x.ctx, vec.MaxRows, &o.rels); err != nil {
			return 0, err
		}
		if len(o.rels.ID) == 0 {
			return n, nil
		}
		for i := range o.rels.ID {
			if n++; o.n.Both && o.rels.Start[i] != o.rels.End[i] {
				n++
			}
		}
	}
}
