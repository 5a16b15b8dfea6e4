package exec

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// key returns the id of a property key, making it if need be.
func (x *run) key(name string) (schema.KeyID, error) {
	if id, ok := x.keys[name]; ok {
		return id, nil
	}
	name = strings.Clone(name) // it may be a view into a batch
	id, err := x.g.EnsureKey(x.ctx, name)
	if err != nil {
		return 0, err
	}
	if x.keys == nil {
		x.keys = map[string]schema.KeyID{}
	}
	x.keys[name] = id
	return id, nil
}

// storable reports as an error a value that no property may hold.
func (x *run) storable(key string, v value.Value) error {
	if v.IsNull() || x.opt.AGE && v.Kind() != value.Node && v.Kind() != value.Rel && v.Kind() != value.Path {
		return nil
	}
	bad := func(what string) error {
		return dberr.New(dberr.TypeError, "property %q cannot hold %s", key, what).WithToken("InvalidPropertyType")
	}
	switch v.Kind() {
	case value.Map, value.Node, value.Rel, value.Path:
		return bad("a " + expr.KindName(v.Kind()))
	case value.List:
		if what := badList(v); what != "" {
			return bad("a list " + what)
		}
	}
	return nil
}

// badList says why a list cannot be a property: its elements must be of one kind (all numbers are), none null, none a container or an
// entity, and points of one reference system.
func badList(v value.Value) string {
	var first value.Value
	for i, e := range v.All() {
		switch e.Kind() {
		case value.Null:
			return "with a null"
		case value.Map, value.Node, value.Rel, value.Path, value.List:
			return "of " + expr.KindName(e.Kind())
		}
		switch {
		case i == 0:
			first = e
		case e.Kind() != first.Kind() && !(e.IsNumber() && first.IsNumber()):
			return "of both " + expr.KindName(first.Kind()) + " and " + expr.KindName(e.Kind())
		case e.Kind() == value.Point && e.SRID() != first.SRID():
			return "of points of several coordinate reference systems"
		}
	}
	return ""
}

// propRows builds the property rows of a write from memory that lives until the next reset.
type propRows struct {
	x    *run
	keys []schema.KeyID
	vals []value.Value
	ends []int // per row: end in keys
	repl []bool
	rows []store.PropRow
	maps []vec.Column // maps read from entities
}

func (p *propRows) reset() {
	p.keys, p.vals, p.ends, p.repl = p.keys[:0], p.vals[:0], p.ends[:0], p.repl[:0]
}

// forget lets go of the values.
func (p *propRows) forget() {
	clear(p.vals[:cap(p.vals)])
	clear(p.rows[:cap(p.rows)])
}

// begin starts a row; a row ends where the next begins.
func (p *propRows) begin(replace bool) {
	p.repl = append(p.repl, replace)
	p.ends = append(p.ends, len(p.keys))
}

// clear makes the current row replace all, forgetting what it had.
func (p *propRows) clear() {
	n := 0
	if len(p.ends) > 1 {
		n = p.ends[len(p.ends)-2]
	}
	p.keys, p.vals = p.keys[:n], p.vals[:n]
	p.ends[len(p.ends)-1], p.repl[len(p.repl)-1] = n, true
}

func (p *propRows) put(k schema.KeyID, v value.Value) {
	p.keys, p.vals = append(p.keys, k), append(p.vals, v)
	p.ends[len(p.ends)-1] = len(p.keys)
}

// putMap adds all entries of a map. Nulls are kept: they remove.
func (p *propRows) putMap(m value.Value) error {
	for i := range m.Len() {
		name, v := m.Entry(i)
		if err := p.x.storable(name, v); err != nil {
			return err
		}
		k, err := p.x.key(name)
		if err != nil {
			return err
		}
		p.put(k, v)
	}
	return nil
}

// list returns the rows from row on.
func (p *propRows) list() []store.PropRow {
	p.rows = grow(p.rows, len(p.ends))
	at := 0
	for i, end := range p.ends {
		p.rows[i] = store.PropRow{Replace: p.repl[i], Keys: p.keys[at:end:end], Vals: p.vals[at:end:end]}
		at = end
	}
	return p.rows
}

// asMap returns the map that a value of SET n = v or CREATE (n $v) stands for. buf keeps the properties of an entity.
func (c *core) asMap(v value.Value, buf *vec.Column) (value.Value, error) {
	switch v.Kind() {
	case value.Map:
		return v, nil
	case value.Node, value.Rel:
		e := schema.Vertex
		if v.Kind() == value.Rel {
			e = schema.Edge
		}
		id := [1]uint64{v.ID()}
		if err := c.x.g.FetchMap(c.x.ctx, c.env.View, e, id[:], nil, buf); err != nil {
			return value.Value{}, err
		}
		return buf.Value(buf.Len() - 1), nil
	}
	return value.Value{}, dberr.New(dberr.TypeError, "expected a map, got a %s", expr.KindName(v.Kind())).WithToken("InvalidArgumentType")
}

// at gives an error the place of the item that caused it.
func at(err error, pos, end int) error {
	if e, ok := err.(*dberr.Error); ok && end > pos {
		return e.At(pos, end)
	}
	return err
}

// creator makes the entities of a pattern.
type creator struct {
	c     *core
	items []createItem
	own   bool // some item reads what an earlier one made
	props propRows
	hits  store.Hits
	buf   vec.Column
	ends  [2][]uint64

	racer  store.Racer  // of MERGE, as long as it may look again
	beaten bool         // somebody else was faster
	made   []store.Made // by the row at hand, as long as there is a racer
}

type createItem struct {
	*plan.CreateItem
	progs  []*expr.Program
	m      *expr.Program
	names  *expr.Program // of further labels, or of the type
	nameC  vec.Column
	cols   []vec.Column
	refs   []*vec.Column
	keys   []schema.KeyID
	labels []schema.LabelID
	ready  bool
}

func (w *creator) init(c *core, items []plan.CreateItem) error {
	w.c, w.props.x = c, c.x
	w.items = make([]createItem, len(items))
	c.x.again = append(c.x.again, w.renew)
	for i := range items {
		it := &w.items[i]
		it.CreateItem = &items[i]
		w.own = w.own || items[i].ReadsOwn
		n := max(len(items[i].Props), 1)
		it.cols, it.refs = make([]vec.Column, n), make([]*vec.Column, n)
		for _, p := range items[i].Props {
			prog, err := c.program(p.Val)
			if err != nil {
				return err
			}
			it.progs = append(it.progs, prog)
		}
		var err error
		if it.m, err = c.program(items[i].Map); err != nil {
			return err
		}
		if it.names, err = c.program(items[i].Names); err != nil {
			return err
		}
	}
	return nil
}

// renew forgets the names and values of the statement before.
func (w *creator) renew() {
	for i := range w.items {
		w.items[i].ready = false
	}
	w.props.forget()
}

// names resolves labels, type and keys; they are made when they are missing.
func (w *creator) names(it *createItem) error {
	if it.ready {
		return nil
	}
	x := w.c.x
	it.labels, it.keys = it.labels[:0], it.keys[:0]
	add := func(name string, e schema.Entity) error {
		id, err := x.g.EnsureLabel(x.ctx, name, e)
		it.labels = append(it.labels, id)
		return err
	}
	if it.Rel && it.names == nil {
		if err := add(it.Type, schema.Edge); err != nil {
			return err
		}
	}
	for _, l := range it.Labels {
		if err := add(l, schema.Vertex); err != nil {
			return err
		}
	}
	for _, p := range it.Props {
		k, err := x.key(p.Key)
		if err != nil {
			return err
		}
		it.keys = append(it.keys, k)
	}
	it.ready = true
	return nil
}

// run makes the entities for every row of r, a dense batch, and puts their columns into it.
func (w *creator) run(r *rows, cid uint32) error {
	w.beaten, w.made = false, w.made[:0]
	var before store.Counters
	if w.racer != nil {
		before = *w.c.x.stmt.Counters()
	}
	for i := range w.items {
		it := &w.items[i]
		if err := w.item(r, it, cid); err != nil {
			return at(err, it.Pos, it.EndPos)
		}
		if w.beaten {
			return at(w.takeBack(r, i, cid, before), it.Pos, it.EndPos)
		}
	}
	return nil
}

// takeBack undoes the first items, which were made before somebody else was faster with the next one.
func (w *creator) takeBack(r *rows, items int, cid uint32, before store.Counters) error {
	for i := range items {
		if it := &w.items[i]; it.Slot != plan.NoSlot {
			r.b.Cols[it.Slot] = nil
			if it.Hint != plan.NoSlot {
				r.b.Cols[it.Hint] = nil
			}
		}
	}
	if len(w.made) == 0 {
		return nil
	}
	return w.racer.TakeBack(w.c.x.ctx, cid, w.made, before)
}

func (w *creator) item(r *rows, it *createItem, cid uint32) error {
	x, env, n := w.c.x, &w.c.env, r.b.N
	if err := w.names(it); err != nil {
		return err
	}
	for k, p := range it.progs {
		c, err := p.EvalRef(env, &r.b, nil, &it.cols[k])
		if err != nil {
			return err
		}
		it.refs[k] = c
	}
	if it.m != nil {
		c, err := it.m.EvalRef(env, &r.b, nil, &it.cols[0])
		if err != nil {
			return err
		}
		it.refs[0] = c
		w.buf.Reset()
	}
	w.props.reset()
	for i := range n {
		w.props.begin(false)
		for k := range it.progs {
			v := it.refs[k].Value(i)
			if v.IsNull() {
				continue
			}
			if err := x.storable(it.Props[k].Key, v); err != nil {
				return err
			}
			w.props.put(it.keys[k], v)
		}
		if it.m != nil {
			if v := it.refs[0].Value(i); !v.IsNull() {
				m, err := w.c.asMap(v, &w.buf)
				if err != nil {
					return err
				}
				if v.Kind() != value.Map {
					m = m.Clone() // the buffer may move under it
				}
				if err := w.props.putMap(m); err != nil {
					return err
				}
			}
		}
	}
	names, err := w.evalNames(r, it)
	if err != nil {
		return err
	}
	w.hits.Reset()
	kind := value.Node
	if it.Rel {
		kind = value.Rel
		start, err := ids(r.b.Cols[it.Start], value.Node, &w.ends[0])
		if err != nil {
			return err
		}
		end, err := ids(r.b.Cols[it.End], value.Node, &w.ends[1])
		if err != nil {
			return err
		}
		for i := range n {
			if start[i] == 0 || end[i] == 0 {
				return dberr.New(dberr.EntityNotFound, "cannot create a relationship whose end is null").WithToken("NullEndpoint")
			}
		}
		list := w.props.list()
		err = w.runs(it, names, n, func(from, to int, labels []schema.LabelID) error {
			return x.g.CreateRels(x.ctx, cid, labels[0], start[from:to], end[from:to], list[from:to], &w.hits)
		})
		if err != nil {
			return err
		}
	} else {
		list := w.props.list()
		err := w.runs(it, names, n, func(from, to int, labels []schema.LabelID) error {
			if w.racer != nil {
				var err error
				if w.beaten, err = w.racer.AwaitUnique(x.ctx, labels, &list[0]); w.beaten || err != nil {
					return err
				}
				made, err := w.racer.CreateUnique(x.ctx, cid, labels, &list[0], &w.hits)
				w.beaten = !made && err == nil
				return err
			}
			return x.g.CreateNodes(x.ctx, cid, labels, list[from:to], &w.hits)
		})
		if err != nil || w.beaten {
			return err
		}
	}
	if w.racer != nil {
		e := schema.Vertex
		if it.Rel {
			e = schema.Edge
		}
		for i, id := range w.hits.ID {
			w.made = append(w.made, store.Made{Entity: e, ID: id, Hint: w.hits.Hint[i]})
		}
	}
	if it.Slot != plan.NoSlot {
		r.entityCol(it.Slot, kind, w.hits.ID)
		r.hintCol(it.Hint, w.hits.Hint)
	}
	return nil
}

// evalNames evaluates the names of an item that are computed; nil if it has none.
func (w *creator) evalNames(r *rows, it *createItem) (*vec.Column, error) {
	if it.names == nil {
		return nil, nil
	}
	return it.names.EvalRef(&w.c.env, &r.b, nil, &it.nameC)
}

// runs calls f for runs of rows that have the same labels or type, all n of them if no names are computed.
func (w *creator) runs(it *createItem, names *vec.Column, n int, f func(from, to int, labels []schema.LabelID) error) error {
	if names == nil {
		return f(0, n, it.labels)
	}
	e := schema.Vertex
	if it.Rel {
		e = schema.Edge
	}
	return sameNames(names, n, func(from, to int) error {
		labels, err := w.c.x.ensureLabels(it.labels, names.Value(from), e)
		if err != nil {
			return err
		}
		return f(from, to, labels)
	})
}

// sameNames calls f for runs of rows of a column of lists that hold the same.
func sameNames(names *vec.Column, n int, f func(from, to int) error) error {
	for from := 0; from < n; {
		to := from + 1
		for to < n && bytes.Equal(names.Bytes(from), names.Bytes(to)) {
			to++
		}
		if err := f(from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// ensureLabels adds the labels that a list names to those that are known, each once, making them if need be.
func (x *run) ensureLabels(known []schema.LabelID, names value.Value, e schema.Entity) ([]schema.LabelID, error) {
	out := slices.Clone(known)
	for _, v := range names.All() {
		id, err := x.g.EnsureLabel(x.ctx, strings.Clone(v.Str()), e)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// create makes entities for every input row.
type create struct {
	core
	in   input
	n    *plan.Create
	w    creator
	one  rows
	idx1 [1]uint16
}

func (o *create) open() error { return o.in.op.open() }

func (o *create) next() (*expr.Batch, error) {
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
	o.out.pass(b)
	if !o.w.own {
		if err := o.w.run(&o.out, cid); err != nil {
			return nil, err
		}
		return &o.out.b, o.account()
	}
	// An item reads what an earlier one of its row made: row by row, own writes visible (rules C1).
	o.env.View = o.x.stmt.View(cid + 1)
	for _, it := range o.n.Items {
		o.out.col(it.Slot)
		if it.Hint != plan.NoSlot {
			o.out.col(it.Hint)
		}
	}
	in := *b
	for i := range b.N {
		o.idx1[0] = uint16(i)
		o.one.width = o.out.width
		o.one.start()
		for s, c := range in.Cols {
			if c != nil {
				o.one.raw(s).Gather(c, o.idx1[:])
			}
		}
		o.one.b.N = 1
		if err := o.w.run(&o.one, cid); err != nil {
			return nil, err
		}
		for _, it := range o.n.Items {
			o.out.b.Cols[it.Slot].AppendFrom(o.one.b.Cols[it.Slot], 0)
			if it.Hint != plan.NoSlot {
				o.out.b.Cols[it.Hint].AppendFrom(o.one.b.Cols[it.Hint], 0)
			}
		}
	}
	return &o.out.b, o.account()
}

// lock locks what later writes change (rules A9).
type lock struct {
	core
	in      input
	n       *plan.Lock
	checks  [][]*expr.Program
	changed []bool
	gone    []bool
	drop    []bool
	ids     []uint64
	hints   []uint64
	scratch []uint64
	sel     []uint16
	keepS   []uint16
	buf     [2][]uint16
	one     [1]uint64
	hits    store.Hits
}

func (o *lock) open() error { return o.in.op.open() }

func (o *lock) next() (*expr.Batch, error) {
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
		o.drop = grow(o.drop, b.N)
		clear(o.drop)
		o.out.pass(b)
		for i := range o.n.Targets {
			if err := o.target(b, i); err != nil {
				return nil, err
			}
		}
		o.sel = o.sel[:0]
		for i, d := range o.drop {
			if !d {
				o.sel = append(o.sel, uint16(i))
			}
		}
		switch len(o.sel) {
		case 0:
			continue
		case b.N:
			o.out.b.Sel = nil
		default:
			o.out.b.Sel = o.sel
		}
		return &o.out.b, nil
	}
}

func (o *lock) target(b *expr.Batch, i int) error {
	t := &o.n.Targets[i]
	kind := value.Node
	if t.Entity == schema.Edge {
		kind = value.Rel
	}
	idv, err := ids(b.Cols[t.Slot], kind, &o.scratch)
	if err != nil {
		return err
	}
	n := b.N
	o.ids, o.keepS, o.hints = o.ids[:0], o.keepS[:0], o.hints[:0]
	hint := hints(b, t.Hint)
	for r := range n {
		if idv[r] != 0 {
			o.ids, o.keepS = append(o.ids, idv[r]), append(o.keepS, uint16(r))
			h := store.Hint(0)
			if hint != nil {
				h = hint[r]
			}
			o.hints = append(o.hints, h)
		}
	}
	if len(o.ids) == 0 {
		return nil
	}
	o.changed, o.gone = grow(o.changed, len(o.ids)), grow(o.gone, len(o.ids))
	clear(o.changed)
	clear(o.gone)
	if err := o.x.g.Lock(o.x.ctx, o.env.View, t.Entity, o.ids, o.hints, o.changed, o.gone); err != nil {
		return err
	}
	sel := o.buf[0][:0]
	lost := func(r uint16) {
		if !t.Optional {
			o.drop[r] = true
			return
		}
		col := o.out.raw(t.Slot)
		if col.Len() != n {
			col.Reset()
			col.AppendRows(b.Cols[t.Slot], nil)
		}
		col.Kinds[r], col.Words[r] = value.Null, 0
		col.Retype()
	}
	if t.Optional {
		o.out.b.Cols[t.Slot] = b.Cols[t.Slot]
		if c := o.out.own.at(t.Slot); c != nil {
			c.Reset()
		}
	}
	for k, r := range o.keepS {
		if hint != nil {
			hint[r] = o.hints[k]
		}
		switch {
		case o.gone[k]:
			other, err := o.deletedByOther(t.Entity, o.ids[k], o.changed[k])
			if err != nil {
				return err
			}
			if other {
				lost(r)
			}
		case o.changed[k]:
			sel = append(sel, r)
		}
	}
	o.buf[0] = sel
	if len(sel) == 0 {
		return nil
	}
	// Evaluate again what made these rows match.
	pass := sel
	for k, p := range o.checks[i] {
		out := &o.buf[1]
		if k&1 == 1 {
			out = &o.keepS
		}
		if *out, err = p.Filter(&o.env, b, pass, (*out)[:0]); err != nil {
			return err
		}
		if pass = *out; len(pass) == 0 {
			break
		}
	}
	j := 0
	for _, r := range sel {
		if j < len(pass) && pass[j] == r {
			j++
			continue
		}
		lost(r)
	}
	return nil
}

// deletedByOther tells a row that somebody else has deleted from one that this transaction has: the snapshot, with all own changes, still
// shows the former. The latter stays in the stream: DELETE passes over it, SET raises (rules C8).
func (o *lock) deletedByOther(e schema.Entity, id uint64, changed bool) (bool, error) {
	if changed {
		return true, nil
	}
	o.one[0] = id
	if err := o.x.g.ByID(o.x.ctx, o.x.stmt.View(1<<32-1), e, o.one[:], &o.hits); err != nil {
		return false, err
	}
	return len(o.hits.ID) > 0, nil
}

// del is Delete.
type del struct {
	core
	in    input
	n     *plan.Delete
	progs []*expr.Program
	col   vec.Column
	ids   [2][]uint64 // vertices, relationships
	hints [2][]store.Hint
	edges store.Edges
}

func (o *del) open() error { return o.in.op.open() }

func (o *del) next() (*expr.Batch, error) {
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
	for e := range o.ids {
		o.ids[e], o.hints[e] = o.ids[e][:0], o.hints[e][:0]
	}
	for k, p := range o.progs {
		c, err := p.EvalRef(&o.env, b, nil, &o.col)
		if err != nil {
			return nil, err
		}
		var hint []store.Hint
		if x, ok := o.n.Exprs[k].(*expr.Col); ok {
			hint = hints(b, x.Hint)
		}
		for i := range b.N {
			h := store.Hint(0)
			if hint != nil {
				h = hint[i]
			}
			if err := o.collect(c.Value(i), h); err != nil {
				return nil, err
			}
		}
	}
	if o.n.Detach {
		if err := o.loosen(cid); err != nil {
			return nil, err
		}
	}
	for _, e := range []schema.Entity{schema.Edge, schema.Vertex} {
		list := o.ids[e]
		for at := 0; at < len(list); at += vec.MaxRows {
			to := min(len(list), at+vec.MaxRows)
			if err := o.x.g.Delete(o.x.ctx, cid, e, list[at:to], o.hints[e][at:to], o.n.Detach); err != nil {
				return nil, err
			}
		}
	}
	o.out.pass(b)
	return &o.out.b, o.mem.set(&o.acct, int64(16*(cap(o.ids[0])+cap(o.ids[1]))))
}

// collect adds the entities of a value. The hint belongs to a value that is an entity itself.
func (o *del) collect(v value.Value, h store.Hint) error {
	switch v.Kind() {
	case value.Null:
	case value.Node:
		o.ids[0], o.hints[0] = append(o.ids[0], v.ID()), append(o.hints[0], h)
	case value.Rel:
		o.ids[1], o.hints[1] = append(o.ids[1], v.ID()), append(o.hints[1], h)
	case value.Path, value.List:
		for _, e := range v.All() {
			if err := o.collect(e, 0); err != nil {
				return err
			}
		}
	default:
		return dberr.New(dberr.TypeError, "cannot delete a %s", expr.KindName(v.Kind())).WithToken("InvalidArgumentType")
	}
	return nil
}

// loosen collects the relationships of the vertices to be deleted, also those that this clause sees of its own transaction.
func (o *del) loosen(cid uint32) error {
	v := o.x.stmt.View(cid + 1)
	list := o.ids[0]
	for at := 0; at < len(list); at += vec.MaxRows {
		part := list[at:min(len(list), at+vec.MaxRows)]
		cur, err := o.x.g.Expand(o.x.ctx, v, part, store.Both, nil)
		if err != nil {
			return err
		}
		for {
			if err = o.x.check(); err != nil {
				break
			}
			if err = cur.Next(o.x.ctx, vec.MaxRows, &o.edges); err != nil || len(o.edges.Rel) == 0 {
				break
			}
			o.ids[1], o.hints[1] = append(o.ids[1], o.edges.Rel...), append(o.hints[1], o.edges.Hint...)
		}
		cur.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
