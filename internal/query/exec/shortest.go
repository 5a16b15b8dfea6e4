package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/graph/path"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// shortest is ShortestPath: a search from both ends for each input row.
type shortest struct {
	core
	in      input
	n       *plan.ShortestPath
	step    stepper
	pair    path.Search  // between the ends of one row
	tree    path.Search  // from the one start of several rows to all their ends
	search  *path.Search // the one that row's trails come from
	treeTo  int          // rows before this one are served by tree; 0: it holds nothing
	batch   *expr.Batch
	first   bool
	ids     []schema.LabelID
	some    bool
	src     []uint64
	dst     []uint64
	scratch [2][]uint64
	ends    []uint64
	row     int
	live    bool               // the search holds trails of row
	cur     [2]store.RunCursor // of the forward steps (of all, if the pattern has no direction), and of those back
	runs    store.Runs
	passed  store.Runs  // of runs, those that satisfy the conditions
	edges   store.Edges // what the conditions are asked about
	rows    []uint16
	cand    []uint16
	idx     []uint16
	elem    []value.Value
	buf     []byte
	charged [2]charge
}

func (o *shortest) open() error {
	o.stop()
	o.restart()
	o.batch, o.first, o.live = nil, true, false
	return o.in.op.open()
}

func (o *shortest) close() {
	o.stop()
	for i := range o.charged {
		_ = o.charged[i].set(&o.acct, 0)
	}
	o.core.close()
}

func (o *shortest) begin() (bool, error) {
	b, err := o.in.next()
	if b == nil || err != nil {
		return false, err
	}
	if err := o.sync(); err != nil {
		return false, err
	}
	if o.first {
		o.ids, o.some = o.types(o.n.Types, o.ids)
		o.first = false
	}
	if o.src, err = ids(b.Cols[o.n.From], value.Node, &o.scratch[0]); err != nil {
		return false, err
	}
	if o.dst, err = ids(b.Cols[o.n.To], value.Node, &o.scratch[1]); err != nil {
		return false, err
	}
	o.batch, o.row, o.live, o.treeTo = b, 0, false, 0
	o.step.uniq.reset()
	return true, nil
}

func (o *shortest) next() (*expr.Batch, error) {
	for {
		if o.batch == nil {
			ok, err := o.begin()
			if !ok || err != nil {
				return nil, err
			}
		}
		n, err := o.fill()
		if err != nil {
			return nil, err
		}
		if n == 0 {
			o.stop()
			o.batch = nil
			continue
		}
		// The columns of the trails are in place; the input's come around them.
		o.out.gather(o.batch, o.keep, o.idx)
		return &o.out.b, o.account()
	}
}

// fill appends trails until the batch is full or the input is used up.
func (o *shortest) fill() (int, error) {
	limit := o.take()
	o.out.start()
	o.idx = o.idx[:0]
	for _, s := range []plan.Slot{o.n.Rels, o.n.Path, o.n.Length} {
		if s != plan.NoSlot {
			o.out.col(s)
		}
	}
	for len(o.idx) < limit {
		if !o.live {
			if o.row >= o.batch.N {
				break
			}
			ok, err := o.find()
			if err != nil {
				return 0, err
			}
			if !ok {
				o.row++
				continue
			}
			o.live = true
		}
		ok, err := o.search.Next()
		if err != nil {
			return 0, err
		}
		if !ok {
			o.live = false
			o.row++
			continue
		}
		o.add()
	}
	return len(o.idx), nil
}

// find starts the search of the current row.
func (o *shortest) find() (bool, error) {
	from, to := o.src[o.row], o.dst[o.row]
	if from == 0 || to == 0 {
		return false, nil
	}
	top := o.n.Max
	if top < 0 {
		top = int(^uint(0)>>1) - 1
	}
	o.search = &o.pair
	if !o.some {
		if from != to || o.n.Min > 0 {
			return false, nil
		}
		return o.pair.Find(o, from, to, 0, 0, o.n.All)
	}
	if ok, err := o.grown(top); err != nil || ok && from != to {
		o.search = &o.tree
		return err == nil && o.tree.To(to), err
	}
	// The search from the far end never steps onto it, so it is tested here.
	if o.step.nodePred != nil && from != to {
		o.edges.Reset()
		o.edges.Rel, o.edges.Other = append(o.edges.Rel, 0), append(o.edges.Other, to)
		o.rows, o.cand = append(o.rows[:0], uint16(o.row)), append(o.cand[:0], 0)
		relPred, group := o.step.relPred, o.step.uniq.slots
		o.step.relPred, o.step.uniq.slots = nil, nil
		cand, err := o.step.filter(&o.core, o.batch, &o.edges, o.rows, o.cand)
		o.step.relPred, o.step.uniq.slots = relPred, group
		if err != nil || len(cand) == 0 {
			return false, err
		}
	}
	return o.pair.Find(o, from, to, o.n.Min, top, o.n.All)
}

// manyRows is the number of neighbouring rows with the same start from which one search for all their ends costs less than one for each.
const manyRows = 4

// grown reports whether the tree serves the current row. It grows one where several rows begin at the same vertex.
func (o *shortest) grown(top int) (bool, error) {
	if o.row < o.treeTo {
		return true, nil
	}
	if !o.n.Shared {
		return false, nil
	}
	to := o.row
	for to < o.batch.N && o.src[to] == o.src[o.row] {
		to++
	}
	if to-o.row < manyRows {
		return false, nil
	}
	o.ends = o.ends[:0]
	for _, id := range o.dst[o.row:to] {
		if id != 0 {
			o.ends = append(o.ends, id)
		}
	}
	o.treeTo = to
	return true, o.tree.FindMany(o, o.src[o.row], o.ends, top, o.n.All)
}

// Expand implements path.Expander. What is lent goes on as it is, unless the pattern has conditions.
func (o *shortest) Expand(src []uint64, back bool, yield func(*store.Runs) error) error {
	dir, k := o.n.Dir, 0
	if back && dir != store.Both {
		dir, k = store.In-dir, 1 // Out and In swapped
	}
	if o.cur[k] == nil {
		cur, err := o.x.g.Neighbours(o.x.ctx, o.env.View, src, dir, o.ids)
		if err != nil {
			return err
		}
		o.cur[k] = cur
	} else {
		o.cur[k].Seek(src)
	}
	plain := o.step.plain() && len(o.step.uniq.slots) == 0
	for {
		if err := o.x.check(); err != nil {
			return err
		}
		if err := o.cur[k].Next(o.x.ctx, o.x.opt.BatchSize, &o.runs); err != nil {
			return err
		}
		if len(o.runs.Run) == 0 {
			return nil
		}
		runs := &o.runs
		if !plain {
			var err error
			if runs, err = o.test(back); err != nil {
				return err
			}
		}
		if err := yield(runs); err != nil {
			return err
		}
	}
}

// stop closes the cursors: they see what they saw when they were opened.
func (o *shortest) stop() {
	for k, c := range o.cur {
		if c != nil {
			c.Close()
			o.cur[k] = nil
		}
	}
}

// test keeps the relationships that satisfy the pattern.
func (o *shortest) test(back bool) (*store.Runs, error) {
	e := &o.edges
	e.Reset()
	o.runs.Edges(e)
	o.rows, o.cand = grow(o.rows, len(e.Rel)), o.cand[:0]
	var home []uint16 // steps back onto the start vertex: only the relationship is tested
	for i := range e.Rel {
		o.rows[i] = uint16(o.row)
		if back && e.Other[i] == o.src[o.row] && o.step.nodePred != nil {
			home = append(home, uint16(i))
			continue
		}
		o.cand = append(o.cand, uint16(i))
	}
	cand, err := o.step.filter(&o.core, o.batch, e, o.rows, o.cand)
	if err != nil {
		return nil, err
	}
	if len(home) > 0 {
		cand = append([]uint16(nil), cand...)
		pred := o.step.nodePred
		o.step.nodePred = nil
		home, err = o.step.filter(&o.core, o.batch, e, o.rows, home)
		o.step.nodePred = pred
		if err != nil {
			return nil, err
		}
		cand = mergeSorted(cand, home)
	}
	o.passed.Reset()
	for _, i := range cand {
		o.passed.Add(e.Row[i], back, e.Rel[i], e.Other[i], 0)
	}
	o.passed.Done()
	return &o.passed, nil
}

// mergeSorted merges two ascending lists.
func mergeSorted(a, b []uint16) []uint16 {
	out := make([]uint16, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// add appends the search's current trail.
func (o *shortest) add() {
	o.idx = append(o.idx, uint16(o.row))
	nodes, rels := o.search.Trail()
	if s := o.n.Length; s != plan.NoSlot {
		o.out.b.Cols[s].AppendWord(value.Int, uint64(len(rels)))
	}
	if s := o.n.Rels; s != plan.NoSlot {
		o.elem = o.elem[:0]
		for _, r := range rels {
			o.elem = append(o.elem, value.NewRel(r))
		}
		o.buf = value.AppendList(o.buf[:0], o.elem...)
		o.out.b.Cols[s].AppendBytes(value.List, o.buf)
	}
	if s := o.n.Path; s != plan.NoSlot {
		o.elem = append(o.elem[:0], value.NewNode(nodes[0]))
		for i, r := range rels {
			o.elem = append(o.elem, value.NewRel(r), value.NewNode(nodes[i+1]))
		}
		o.out.b.Cols[s].Append(value.NewPath(o.elem...))
	}
}
