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

// setter carries out the items of SET and REMOVE.
type setter struct {
	c     *core
	items []setItem
	out   [2]writeList // vertices, relationships
	maps  vec.Column
	rows  []uint16
}

type setItem struct {
	*plan.SetItem
	target, key, val *expr.Program
	tcol, kcol, vcol vec.Column
	t, k, v          *vec.Column // evaluated for sel
	sel              []uint16
	buf              []uint16
	labels           []schema.LabelID
	keyID            schema.KeyID
	haveKey          bool
	ready            bool
	ids              []uint64
	hints            []uint64
}

// writeList is a list of property writes, in the order in which they take place.
type writeList struct {
	ids   []uint64
	hints []uint64
	back  []*uint64 // where the new hint goes
	props propRows
	slot  plan.Slot // of the last entry, and its row: further items of both join it
	row   int
}

func (l *writeList) reset() {
	l.ids, l.hints, l.back = l.ids[:0], l.hints[:0], l.back[:0]
	l.props.reset()
	l.slot, l.row = plan.NoSlot, -1
}

func (s *setter) init(c *core, items []plan.SetItem) (err error) {
	s.c = c
	s.out[0].props.x, s.out[1].props.x = c.x, c.x
	s.items = make([]setItem, len(items))
	c.x.again = append(c.x.again, s.renew)
	for i := range items {
		it := &s.items[i]
		it.SetItem = &items[i]
		if it.target, err = c.program(items[i].Target); err != nil {
			return err
		}
		if it.key, err = c.program(items[i].KeyExp); err != nil {
			return err
		}
		if it.val, err = c.program(items[i].Val); err != nil {
			return err
		}
	}
	return nil
}

// renew forgets the names and values of the statement before.
func (s *setter) renew() {
	for i := range s.items {
		s.items[i].ready, s.items[i].haveKey = false, false
	}
	s.out[0].props.forget()
	s.out[1].props.forget()
}

// batch evaluates all items on the rows of b, then writes row by row: nothing that an item reads is written here.
func (s *setter) batch(b *expr.Batch, cid uint32) error {
	return s.run(b, nil, cid)
}

// row carries the items out one after the other on one row, each seeing what those before it wrote.
func (s *setter) row(b *expr.Batch, row int, cid uint32) error {
	s.rows = append(s.rows[:0], uint16(row))
	items := s.items
	defer func() { s.items = items }()
	for i := range items {
		s.items = items[i : i+1]
		if err := s.run(b, s.rows, cid); err != nil {
			return err
		}
	}
	return nil
}

func (s *setter) run(b *expr.Batch, rows []uint16, cid uint32) error {
	s.out[0].reset()
	s.out[1].reset()
	s.maps.Reset()
	for i := range s.items {
		it := &s.items[i]
		if err := s.eval(it, b, rows); err != nil {
			return at(err, it.Pos, it.EndPos)
		}
	}
	n := b.N
	if rows != nil {
		n = len(rows)
	}
	for k := range n {
		row := k
		if rows != nil {
			row = int(rows[k])
		}
		for i := range s.items {
			it := &s.items[i]
			if it.Kind == plan.AddLabels || it.Kind == plan.RemoveLabels {
				continue
			}
			if err := s.put(it, b, row); err != nil {
				return at(err, it.Pos, it.EndPos)
			}
		}
	}
	for e := range s.out {
		if err := s.flush(schema.Entity(e), cid); err != nil {
			return err
		}
	}
	for i := range s.items {
		it := &s.items[i]
		if it.Kind == plan.AddLabels || it.Kind == plan.RemoveLabels {
			if err := s.label(it, b, cid); err != nil {
				return at(err, it.Pos, it.EndPos)
			}
		}
	}
	return nil
}

// eval computes target, key and value of an item for the rows whose target is not null.
func (s *setter) eval(it *setItem, b *expr.Batch, rows []uint16) (err error) {
	env := &s.c.env
	it.t = nil
	if it.Slot != plan.NoSlot {
		it.t = b.Cols[it.Slot]
	} else {
		// The column is spread over the rows so that it is addressed like one of the batch.
		if err := it.target.Eval(env, b, rows, &it.kcol); err != nil {
			return err
		}
		it.tcol.Nulls(b.N)
		for k := range it.kcol.Len() {
			row := k
			if rows != nil {
				row = int(rows[k])
			}
			if it.kcol.Kinds[k] > value.Rel || it.kcol.Kinds[k] == value.Map {
				return notEntity(it.kcol.Kinds[k])
			}
			it.tcol.Kinds[row], it.tcol.Words[row] = it.kcol.Kinds[k], it.kcol.Words[k]
		}
		it.t = &it.tcol
	}
	if it.t == nil {
		return dberr.New(dberr.Internal, "the target of SET is not bound")
	}
	it.sel = it.sel[:0]
	add := func(r uint16) {
		if it.t.Kinds[r] != value.Null {
			it.sel = append(it.sel, r)
		}
	}
	if rows == nil {
		for r := range b.N {
			add(uint16(r))
		}
	} else {
		for _, r := range rows {
			add(r)
		}
	}
	it.v, it.k = nil, nil
	if len(it.sel) == 0 {
		return nil
	}
	if it.val != nil {
		if it.v, err = it.val.EvalRef(env, b, it.sel, &it.vcol); err != nil {
			return err
		}
	}
	if it.key != nil {
		if it.k, err = it.key.EvalRef(env, b, it.sel, &it.kcol); err != nil {
			return err
		}
	}
	// The position of the next row of sel, while rows are visited in order.
	it.buf = it.sel
	return nil
}

func notEntity(k value.Kind) error {
	return dberr.New(dberr.TypeError, "SET and REMOVE need a node or relationship, got a %s", expr.KindName(k)).WithToken("InvalidArgumentType")
}

// put adds what an item does to a row.
func (s *setter) put(it *setItem, b *expr.Batch, row int) error {
	if len(it.buf) == 0 || int(it.buf[0]) != row {
		return nil
	}
	pos := len(it.sel) - len(it.buf)
	it.buf = it.buf[1:]
	e := 0
	switch it.t.Kinds[row] {
	case value.Node:
	case value.Rel:
		e = 1
	default:
		return notEntity(it.t.Kinds[row])
	}
	l := &s.out[e]
	id := it.t.Words[row]
	if l.row != row || l.slot == plan.NoSlot || l.slot != it.Slot {
		l.ids = append(l.ids, id)
		l.row, l.slot = row, it.Slot
		var back *uint64
		h := uint64(0)
		if it.Slot != plan.NoSlot && it.Hint != plan.NoSlot {
			if c := b.Cols[it.Hint]; c != nil {
				back, h = &c.Words[row], c.Words[row]
			}
		}
		l.hints, l.back = append(l.hints, h), append(l.back, back)
		l.props.begin(false)
	}
	x := s.c.x
	v := it.v.Value(pos)
	name := it.Key
	switch it.Kind {
	case plan.SetMap, plan.AddMap:
		if it.Kind == plan.SetMap {
			l.props.clear()
		}
		if v.IsNull() {
			if it.Kind == plan.SetMap {
				return nil
			}
			return dberr.New(dberr.TypeError, "expected a map, got null").WithToken("InvalidArgumentType")
		}
		m, err := s.c.asMap(v, &s.maps)
		if err != nil {
			return err
		}
		if v.Kind() != value.Map {
			m = m.Clone() // the buffer may move under it
		}
		return l.props.putMap(m)
	case plan.SetDynamic:
		k := it.k.Value(pos)
		if k.Kind() != value.String {
			return dberr.New(dberr.TypeError, "a property key must be a string, got a %s", expr.KindName(k.Kind())).WithToken("MapElementAccessByNonString")
		}
		name = k.Str()
	}
	if err := x.storable(name, v); err != nil {
		return err
	}
	if v.IsNull() {
		// Nothing has a key that does not exist.
		if k, ok := x.g.Key(name); ok {
			l.props.put(k, v)
		}
		return nil
	}
	k, err := x.key(name)
	if err != nil {
		return err
	}
	l.props.put(k, v)
	return nil
}

func (s *setter) flush(e schema.Entity, cid uint32) error {
	l := &s.out[e]
	if len(l.ids) == 0 {
		return nil
	}
	x, rows := s.c.x, l.props.list()
	for at := 0; at < len(l.ids); at += vec.MaxRows {
		to := min(len(l.ids), at+vec.MaxRows)
		if err := x.g.SetProps(x.ctx, cid, e, l.ids[at:to], l.hints[at:to], rows[at:to]); err != nil {
			return err
		}
	}
	for i, p := range l.back {
		if p != nil {
			*p = l.hints[i]
		}
	}
	return nil
}

// label carries out one label item.
func (s *setter) label(it *setItem, b *expr.Batch, cid uint32) error {
	x := s.c.x
	if len(it.sel) == 0 {
		return nil
	}
	if !it.ready {
		it.labels = it.labels[:0]
		for _, name := range it.Labels {
			if it.Kind == plan.AddLabels {
				id, err := x.g.EnsureLabel(x.ctx, name, schema.Vertex)
				if err != nil {
					return err
				}
				it.labels = append(it.labels, id)
			} else if id, ok := x.g.Label(s.c.env.View, name, schema.Vertex); ok {
				it.labels = append(it.labels, id)
			}
		}
		it.ready = it.Kind == plan.AddLabels
	}
	if it.k == nil {
		return s.setLabels(it, b, cid, it.sel, it.labels)
	}
	return sameNames(it.k, len(it.sel), func(from, to int) error {
		labels, err := it.labels, error(nil)
		names := it.k.Value(from)
		if it.Kind == plan.AddLabels {
			labels, err = x.ensureLabels(it.labels, names, schema.Vertex)
		} else {
			labels = slices.Clone(labels)
			for _, v := range names.All() {
				if id, ok := x.g.Label(s.c.env.View, v.Str(), schema.Vertex); ok {
					labels = append(labels, id)
				}
			}
		}
		if err != nil {
			return err
		}
		return s.setLabels(it, b, cid, it.sel[from:to], labels)
	})
}

// setLabels adds or removes labels of the nodes in some rows.
func (s *setter) setLabels(it *setItem, b *expr.Batch, cid uint32, sel []uint16, labels []schema.LabelID) error {
	if len(labels) == 0 {
		return nil
	}
	x := s.c.x
	it.ids, it.hints = it.ids[:0], it.hints[:0]
	var hint []store.Hint
	if it.Slot != plan.NoSlot {
		hint = hints(b, it.Hint)
	}
	for _, r := range sel {
		if it.t.Kinds[r] != value.Node {
			return notEntity(it.t.Kinds[r])
		}
		it.ids = append(it.ids, it.t.Words[r])
		h := uint64(0)
		if hint != nil {
			h = hint[r]
		}
		it.hints = append(it.hints, h)
	}
	add, remove := labels, []schema.LabelID(nil)
	if it.Kind == plan.RemoveLabels {
		add, remove = nil, labels
	}
	if err := x.g.SetLabels(x.ctx, cid, it.ids, it.hints, add, remove); err != nil {
		return err
	}
	if hint != nil {
		for k, r := range sel {
			hint[r] = it.hints[k]
		}
	}
	return nil
}

// set is SET and REMOVE.
type set struct {
	core
	in input
	n  *plan.Set
	w  setter
}

func (o *set) open() error { return o.in.op.open() }

func (o *set) next() (*expr.Batch, error) {
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
	cid, err := o.stamp()
	if err != nil {
		return nil, err
	}
	if o.n.RowByRow {
		o.env.View = o.x.stmt.View(cid + 1)
		for i := range b.N {
			if err := o.w.row(b, i, cid); err != nil {
				return nil, err
			}
			if i&1023 == 1023 {
				if err := o.x.check(); err != nil {
					return nil, err
				}
			}
		}
	} else if err := o.w.batch(b, cid); err != nil {
		return nil, err
	}
	o.out.pass(b)
	return &o.out.b, nil
}
