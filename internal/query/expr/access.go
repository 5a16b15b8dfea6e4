package expr

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/temporal"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// propGroup is the keys of one variable that every row needs: they are fetched in one visit.
type propGroup struct {
	id   int
	of   *Col
	keys []string
	cols []int
	x    child
}

// groupState says whether a group's columns are filled in this evaluation.
type groupState struct {
	done   bool
	filled []*vec.Column
}

// groupProps finds variables of which at least two properties are read for every row.
func (c *comp) groupProps(e Expr) {
	found := map[int]*propGroup{}
	var order []*propGroup
	walkUnguarded(e, func(e Expr) {
		p, ok := e.(*Prop)
		if !ok {
			return
		}
		col, ok := p.Of.(*Col)
		if !ok || !col.Type().Is(TEntity.Kinds) {
			return
		}
		g := found[col.Slot]
		if g == nil {
			g = &propGroup{of: col}
			found[col.Slot] = g
			order = append(order, g)
		}
		for _, k := range g.keys {
			if k == p.Key {
				return
			}
		}
		g.keys = append(g.keys, p.Key)
	})
	for _, g := range order {
		if len(g.keys) < 2 {
			continue
		}
		g.id = len(c.p.groups)
		for range g.keys {
			g.cols = append(g.cols, c.col())
		}
		g.x = child{colKernel(g.of), c.col()}
		c.p.groups = append(c.p.groups, g)
		c.bySlot[g.of.Slot] = g
	}
}

// walkUnguarded visits what is evaluated for every row of the program.
func walkUnguarded(e Expr, f func(Expr)) {
	if e == nil {
		return
	}
	f(e)
	switch e := e.(type) {
	case *And:
		if len(e.Args) > 0 {
			walkUnguarded(e.Args[0], f)
		}
	case *Or:
		if len(e.Args) > 0 {
			walkUnguarded(e.Args[0], f)
		}
	case *Case:
		if e.Subject != nil {
			walkUnguarded(e.Subject, f)
		}
	case *Func:
		for i, a := range e.Args {
			if i > 0 && e.Def.lazy {
				break
			}
			walkUnguarded(a, f)
		}
	case *ListComp:
		walkUnguarded(e.List, f)
	case *Quantifier:
		walkUnguarded(e.List, f)
	case *Reduce:
		walkUnguarded(e.Init, f)
		walkUnguarded(e.List, f)
	case *Subplan, *Agg:
	default:
		for _, k := range children(e) {
			walkUnguarded(k, f)
		}
	}
}

func (g *propGroup) fetch(f *frame, b *Batch, sel []uint16) error {
	st := &f.fetch[g.id]
	if st.done {
		return nil
	}
	x, err := g.x.eval(f, b, sel)
	if err != nil {
		return err
	}
	st.filled = st.filled[:0]
	for _, c := range g.cols {
		st.filled = append(st.filled, &f.cols[c])
	}
	if err := fetchProps(f, x, g.of, b, sel, g.keys, st.filled); err != nil {
		return err
	}
	st.done = true
	return nil
}

// hintsOf returns the hints of the rows of sel, nil if there are none.
func hintsOf(e Expr, b *Batch, sel []uint16) []store.Hint {
	c, ok := e.(*Col)
	if !ok || c.Hint <= 0 || c.Hint >= len(b.Cols) || c.Hint == c.Slot || b.Cols[c.Hint] == nil {
		return nil
	}
	w := b.Cols[c.Hint].Words
	if sel == nil {
		return w[:b.N]
	}
	h := make([]store.Hint, len(sel))
	for i, r := range sel {
		h[i] = w[r]
	}
	return h
}

func (f *frame) graph() (store.Graph, error) {
	if f.env.Graph == nil {
		return nil, dberr.New(dberr.Internal, "the expression reads a graph, but the statement has none")
	}
	return f.env.Graph, nil
}

// fetchProps reads properties of entities, one column a key. x must hold entities of one kind and nulls.
func fetchProps(f *frame, x *vec.Column, of Expr, b *Batch, sel []uint16, keys []string, out []*vec.Column) error {
	n := count(b, sel)
	ent, ids, err := entities(x, n)
	if err != nil {
		return err
	}
	for _, o := range out {
		o.Reset()
	}
	if ids == nil { // all null
		for _, o := range out {
			o.Nulls(n)
		}
		return nil
	}
	g, err := f.graph()
	if err != nil {
		return err
	}
	var keyBuf [16]schema.KeyID
	var colBuf [16]*vec.Column
	known, cols := keyBuf[:0], colBuf[:0]
	for i, k := range keys {
		if id, ok := g.Key(k); ok {
			known, cols = append(known, id), append(cols, out[i])
		} else {
			out[i].Nulls(n)
		}
	}
	// Also without keys, so that an entity that is gone is noticed (rules C8).
	return g.Fetch(f.env.ctx(), f.env.View, ent, ids, hintsOf(of, b, sel), known, cols)
}

// entities returns the ids of a column of nodes or of relationships, 0 for null; nil ids if all rows are null.
func entities(x *vec.Column, n int) (ent schema.Entity, ids []uint64, err error) {
	kind := value.Null
	if k, ok := x.Uniform(); ok {
		kind = k
	} else {
		for i, k := range x.Kinds[:n] {
			if k == value.Null {
				continue
			}
			if kind == value.Null {
				kind = k
			} else if k != kind {
				return 0, nil, typeError(x.Value(i), KindName(kind))
			}
		}
	}
	switch kind {
	case value.Null:
		return 0, nil, nil
	case value.Node:
		ent = schema.Vertex
	case value.Rel:
		ent = schema.Edge
	default:
		return 0, nil, typeError(x.Value(0), "a Node or Relationship")
	}
	return ent, x.Words[:n], nil
}

// prop compiles n.key.
func (c *comp) prop(e *Prop) (evalFn, error) {
	if col, ok := e.Of.(*Col); ok && c.guarded == 0 {
		if g := c.bySlot[col.Slot]; g != nil {
			for i, k := range g.keys {
				if k == e.Key {
					return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
						if err := g.fetch(f, b, sel); err != nil {
							return nil, err
						}
						return f.fetch[g.id].filled[i], nil
					}, nil
				}
			}
		}
	}
	x, err := c.child(e.Of)
	if err != nil {
		return nil, err
	}
	keys := []string{e.Key}
	nodeCol, relCol, ids := c.col(), c.col(), c.any()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		col, err := x.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		n := count(b, sel)
		if k, ok := col.Uniform(); ok && (k == value.Node || k == value.Rel) {
			one := [1]*vec.Column{out}
			return out, fetchProps(f, col, e.Of, b, sel, keys, one[:])
		}
		nodes, rels, err := mixedFetch(f, col, n, e.Key, &f.cols[nodeCol], &f.cols[relCol], ids)
		if err != nil {
			return nil, err
		}
		out.Reset()
		for i := range n {
			switch col.Kinds[i] {
			case value.Null:
				out.AppendNull()
			case value.Node:
				out.AppendFrom(nodes, i)
			case value.Rel:
				out.AppendFrom(rels, i)
			default:
				v, err := member1(col.Value(i), e.Key)
				if err != nil {
					return nil, err
				}
				out.Append(v)
			}
		}
		return out, nil
	}, nil
}

// mixedFetch reads one property of the nodes and of the relationships of a mixed column; other rows are null in both results.
func mixedFetch(f *frame, col *vec.Column, n int, key string, nodes, rels *vec.Column, state int) (_, _ *vec.Column, err error) {
	for _, t := range [...]struct {
		k   value.Kind
		ent schema.Entity
		out *vec.Column
	}{{value.Node, schema.Vertex, nodes}, {value.Rel, schema.Edge, rels}} {
		ids, _ := f.any[state].([]uint64)
		ids = ids[:0]
		found := false
		for i := range n {
			id := uint64(0)
			if col.Kinds[i] == t.k {
				id, found = col.Words[i], true
			}
			ids = append(ids, id)
		}
		f.any[state] = ids
		if !found {
			continue
		}
		g, err := f.graph()
		if err != nil {
			return nil, nil, err
		}
		t.out.Reset()
		if id, ok := g.Key(key); ok {
			err = g.Fetch(f.env.ctx(), f.env.View, t.ent, ids, nil, []schema.KeyID{id}, []*vec.Column{t.out})
		} else {
			t.out.Nulls(n)
			err = g.Fetch(f.env.ctx(), f.env.View, t.ent, ids, nil, nil, nil)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return nodes, rels, nil
}

// member1 is v.key on what is not an entity of the graph. SQL's rows may hold whole entities, which carry their properties.
func member1(v value.Value, key string) (value.Value, error) {
	switch k := v.Kind(); {
	case v.Materialised():
		e, _ := v.Properties().Get(key)
		return e, nil
	case k == value.Map:
		e, _ := v.Get(key)
		return e, nil
	case k == value.Point:
		return pointComponent(v, key)
	case k.IsTemporal():
		return temporal.Component(v, key)
	}
	return value.Value{}, typeError(v, "a Map, Node, Relationship, Point or temporal value")
}

// index compiles x[i].
func (c *comp) index(e *Index) (evalFn, error) {
	x, err := c.child(e.X)
	if err != nil {
		return nil, err
	}
	at, err := c.child(e.I)
	if err != nil {
		return nil, err
	}
	one := c.col()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		col, err := x.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		idx, err := at.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		out.Reset()
		for i := range count(b, sel) {
			kx, ki := col.Kinds[i], idx.Kinds[i]
			switch {
			case kx == value.Null || ki == value.Null:
				if kx != value.Null && !indexable(kx) {
					return nil, typeError(col.Value(i), "a List or Map")
				}
				out.AppendNull()
			case kx == value.List:
				if ki != value.Int {
					return nil, typeError(idx.Value(i), "an Integer as list index")
				}
				out.Append(elementAt(col.Value(i), int64(idx.Words[i])))
			case !indexable(kx):
				return nil, typeError(col.Value(i), "a List or Map")
			case ki != value.String:
				return nil, dberr.New(dberr.TypeError, "expected a String as key, found %s", KindName(ki)).WithToken("MapElementAccessByNonString")
			case kx == value.Node || kx == value.Rel:
				ent := schema.Vertex
				if kx == value.Rel {
					ent = schema.Edge
				}
				v, err := fetchOne(f, ent, col.Words[i], text(idx, i), &f.cols[one])
				if err != nil {
					return nil, err
				}
				out.Append(v)
			default:
				v, err := member1(col.Value(i), text(idx, i))
				if err != nil {
					return nil, err
				}
				out.Append(v)
			}
		}
		return out, nil
	}, nil
}

func indexable(k value.Kind) bool {
	return k == value.List || k == value.Map || k == value.Node || k == value.Rel || k == value.Point || k.IsTemporal()
}

// fetchOne reads a property whose key is only known in the row.
func fetchOne(f *frame, ent schema.Entity, id uint64, key string, tmp *vec.Column) (value.Value, error) {
	g, err := f.graph()
	if err != nil {
		return value.Value{}, err
	}
	ids := [1]uint64{id}
	k, ok := g.Key(key)
	if !ok {
		return value.Value{}, g.Fetch(f.env.ctx(), f.env.View, ent, ids[:], nil, nil, nil)
	}
	tmp.Reset()
	if err := g.Fetch(f.env.ctx(), f.env.View, ent, ids[:], nil, []schema.KeyID{k}, []*vec.Column{tmp}); err != nil {
		return value.Value{}, err
	}
	return tmp.Value(0), nil
}

// elementAt counts negative indexes from the end; outside there is null.
func elementAt(list value.Value, i int64) value.Value {
	n := int64(list.Len())
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return value.Value{}
	}
	return list.At(int(i))
}

// slice compiles x[from..to].
func (c *comp) slice(e *Slice) (evalFn, error) {
	x, err := c.child(e.X)
	if err != nil {
		return nil, err
	}
	var from, to child
	if e.From != nil {
		if from, err = c.child(e.From); err != nil {
			return nil, err
		}
	}
	if e.To != nil {
		if to, err = c.child(e.To); err != nil {
			return nil, err
		}
	}
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		col, err := x.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		var lo, hi *vec.Column
		if e.From != nil {
			if lo, err = from.eval(f, b, sel); err != nil {
				return nil, err
			}
		}
		if e.To != nil {
			if hi, err = to.eval(f, b, sel); err != nil {
				return nil, err
			}
		}
		out.Reset()
		for i := range count(b, sel) {
			k := col.Kinds[i]
			if k != value.List && k != value.Null {
				return nil, typeError(col.Value(i), "a List")
			}
			null := k == value.Null
			n := int64(0)
			var list value.Value
			if !null {
				list = col.Value(i)
				n = int64(list.Len())
			}
			bound := func(c *vec.Column, open int64) (int64, error) {
				if c == nil {
					return open, nil
				}
				switch c.Kinds[i] {
				case value.Null:
					null = true
					return 0, nil
				case value.Int:
					v := int64(c.Words[i])
					if v < 0 {
						v += n
					}
					return min(max(v, 0), n), nil
				}
				return 0, typeError(c.Value(i), "an Integer as list index")
			}
			l, err := bound(lo, 0)
			if err != nil {
				return nil, err
			}
			h, err := bound(hi, n)
			if err != nil {
				return nil, err
			}
			if null {
				out.AppendNull()
				continue
			}
			lb := &f.c.lb
			lb.Reset()
			for j := l; j < h; j++ {
				f.c.add(list.At(int(j)))
			}
			out.Append(f.c.list())
		}
		return out, nil
	}, nil
}

func (c *comp) listLit(e *ListLit) (evalFn, error) {
	kids, err := c.children(e.Elems)
	if err != nil {
		return nil, err
	}
	state := c.any()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		cols, err := evalAll(f, b, sel, kids, state)
		if err != nil {
			return nil, err
		}
		out.Reset()
		lb := &f.c.lb
		for i := range count(b, sel) {
			lb.Reset()
			for _, col := range cols {
				f.c.add(col.Value(i))
			}
			out.Append(f.c.list())
		}
		return out, nil
	}, nil
}

// evalAll evaluates children over the same rows.
func evalAll(f *frame, b *Batch, sel []uint16, kids []child, state int) ([]*vec.Column, error) {
	cols, _ := f.any[state].([]*vec.Column)
	if cols == nil {
		cols = make([]*vec.Column, len(kids))
		f.any[state] = cols
	}
	for i := range kids {
		var err error
		if cols[i], err = kids[i].eval(f, b, sel); err != nil {
			return nil, err
		}
	}
	return cols, nil
}

func (c *comp) mapLit(e *MapLit) (evalFn, error) {
	kids, err := c.children(e.Vals)
	if err != nil {
		return nil, err
	}
	state := c.any()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		cols, err := evalAll(f, b, sel, kids, state)
		if err != nil {
			return nil, err
		}
		out.Reset()
		m := &f.c.mb
		for i := range count(b, sel) {
			m.Reset()
			for k, col := range cols {
				m.Put(e.Keys[k], col.Value(i))
			}
			out.Append(f.c.mapValue())
		}
		return out, nil
	}, nil
}

// mapProj compiles x{.a, .*, k: e}.
func (c *comp) mapProj(e *MapProj) (evalFn, error) {
	x, err := c.child(e.X)
	if err != nil {
		return nil, err
	}
	kids := make([]child, len(e.Items))
	for i, it := range e.Items {
		switch {
		case it.All:
			continue
		case it.Val != nil:
			kids[i], err = c.child(it.Val)
		default:
			pos, end := e.Span()
			kids[i], err = c.child(&Prop{Base: Base{Pos: pos, End: end}, Of: e.X, Key: it.Key})
		}
		if err != nil {
			return nil, err
		}
	}
	state, all := c.any(), c.col()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		col, err := x.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		n := count(b, sel)
		cols, _ := f.any[state].([]*vec.Column)
		if cols == nil {
			cols = make([]*vec.Column, len(kids))
			f.any[state] = cols
		}
		var whole *vec.Column
		for i, it := range e.Items {
			if it.All {
				if whole, err = propertiesOf(f, col, n, &f.cols[all]); err != nil {
					return nil, err
				}
			} else if cols[i], err = kids[i].eval(f, b, sel); err != nil {
				return nil, err
			}
		}
		out.Reset()
		m := &f.c.mb
		for i := range n {
			switch k := col.Kinds[i]; k {
			case value.Null:
				out.AppendNull()
				continue
			case value.Node, value.Rel, value.Map:
			default:
				return nil, typeError(col.Value(i), "a Map, Node or Relationship")
			}
			m.Reset()
			for j, it := range e.Items {
				if !it.All {
					m.Put(it.Key, cols[j].Value(i))
					continue
				}
				w := whole.Value(i)
				for p := range w.Len() {
					m.Put(w.Entry(p))
				}
			}
			out.Append(f.c.mapValue())
		}
		return out, nil
	}, nil
}

// propertiesOf fills out with the map of each node, relationship or map; null for null.
func propertiesOf(f *frame, col *vec.Column, n int, out *vec.Column) (*vec.Column, error) {
	kind, uniform := col.Uniform()
	if uniform && kind == value.Map {
		return col, nil
	}
	ent, ids, err := entities(col, n)
	if err == nil {
		if ids == nil {
			out.Nulls(n)
			return out, nil
		}
		g, err := f.graph()
		if err != nil {
			return nil, err
		}
		out.Reset()
		if err := g.FetchMap(f.env.ctx(), f.env.View, ent, ids, nil, out); err != nil {
			return nil, err
		}
		for i := range n { // an id of 0 is a null row, whatever the store gave for it
			if col.Kinds[i] == value.Null {
				out.Kinds[i], out.Words[i] = value.Null, 0
			}
		}
		out.Retype()
		return out, nil
	}
	// Mixed kinds: row by row.
	out.Reset()
	var one vec.Column
	for i := range n {
		switch k := col.Kinds[i]; k {
		case value.Null:
			out.AppendNull()
		case value.Map:
			out.AppendFrom(col, i)
		case value.Node, value.Rel:
			g, err := f.graph()
			if err != nil {
				return nil, err
			}
			ent := schema.Vertex
			if k == value.Rel {
				ent = schema.Edge
			}
			one.Reset()
			id := [1]uint64{col.Words[i]}
			if err := g.FetchMap(f.env.ctx(), f.env.View, ent, id[:], nil, &one); err != nil {
				return nil, err
			}
			out.AppendFrom(&one, 0)
		default:
			v := col.Value(i)
			if !v.Materialised() {
				return nil, typeError(v, "a Map, Node or Relationship")
			}
			out.Append(v.Properties())
		}
	}
	return out, nil
}

// hasLabels compiles n:A:B and r:T.
func (c *comp) hasLabels(e *HasLabels) (evalFn, error) {
	x, err := c.child(e.X)
	if err != nil {
		return nil, err
	}
	idState, setState := c.any(), c.any()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		col, err := x.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		n := count(b, sel)
		g, err := f.graph()
		if err != nil {
			return nil, err
		}
		ids, _ := f.any[idState].([]uint64)
		ids = ids[:0]
		nodes := false
		for i := range n {
			id := uint64(0)
			switch col.Kinds[i] {
			case value.Node:
				id, nodes = col.Words[i], true
			case value.Null, value.Rel:
			default:
				return nil, typeError(col.Value(i), "a Node or Relationship")
			}
			ids = append(ids, id)
		}
		f.any[idState] = ids
		sets, _ := f.any[setState].([]schema.LabelSetID)
		if nodes {
			if cap(sets) < n {
				sets = make([]schema.LabelSetID, n)
			}
			sets = sets[:n]
			f.any[setState] = sets
			var hints []store.Hint
			if _, ok := col.Uniform(); ok {
				hints = hintsOf(e.X, b, sel)
			}
			if err := g.LabelSets(f.env.ctx(), f.env.View, ids, hints, sets); err != nil {
				return nil, err
			}
		}
		var last schema.LabelSetID
		lastRes, known := false, false
		out.Reset()
		for i := range n {
			switch col.Kinds[i] {
			case value.Null:
				out.AppendNull()
			case value.Node:
				if !known || sets[i] != last {
					last, known = sets[i], true
					lastRes = holds(g, f.env.View, e, g.LabelSet(last))
				}
				out.AppendWord(value.Bool, boolWord(lastRes))
			default:
				t := [1]schema.LabelID{schema.LabelOf(col.Words[i])}
				out.AppendWord(value.Bool, boolWord(holdsType(g, f.env.View, e, t[0])))
			}
		}
		return out, nil
	}, nil
}

func holds(g store.Graph, v store.View, e *HasLabels, set []schema.LabelID) bool {
	for _, name := range e.Labels {
		id, ok := g.Label(v, name, schema.Vertex)
		has := false
		if ok {
			for _, l := range set {
				has = has || l == id
			}
		}
		if has == e.Any {
			return has
		}
	}
	return !e.Any
}

func holdsType(g store.Graph, v store.View, e *HasLabels, t schema.LabelID) bool {
	for _, name := range e.Labels {
		id, ok := g.Label(v, name, schema.Edge)
		has := ok && id == t
		if has == e.Any {
			return has
		}
	}
	return !e.Any
}

// makePath compiles a path from its elements.
func (c *comp) makePath(e *MakePath) (evalFn, error) {
	kids, err := c.children(e.Elems)
	if err != nil {
		return nil, err
	}
	state := c.any()
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		cols, err := evalAll(f, b, sel, kids, state)
		if err != nil {
			return nil, err
		}
		out.Reset()
		lb := &f.c.lb
	rows:
		for i := range count(b, sel) {
			lb.Reset()
			for _, col := range cols {
				if col.Kinds[i] == value.Null {
					out.AppendNull()
					continue rows
				}
			}
			at := uint64(0) // the node where the path stands
			step := func(v value.Value) error {
				switch {
				case v.Kind() == value.Node && (lb.Len()&1 == 0 || at == v.ID()):
					if lb.Len()&1 == 0 {
						f.c.add(v.Bare())
					}
					at = v.ID()
					return nil
				case v.Kind() == value.Rel:
					if lb.Len()&1 == 1 {
						f.c.add(v.Bare())
						return nil
					}
				}
				return typeError(v, "a path element")
			}
			for _, col := range cols {
				v := col.Value(i)
				if v.Kind() != value.List && v.Kind() != value.Path {
					if err := step(v); err != nil {
						return nil, err
					}
					continue
				}
				bare := true
				for _, el := range v.All() {
					bare = bare && el.Kind() == value.Rel
				}
				if !bare {
					for _, el := range v.All() {
						if err := step(el); err != nil {
							return nil, err
						}
					}
					continue
				}
				for _, el := range v.All() {
					next, err := otherEnd(f, el.ID(), at)
					if err != nil {
						return nil, err
					}
					if err := step(el); err != nil {
						return nil, err
					}
					if err := step(value.NewNode(next)); err != nil {
						return nil, err
					}
				}
			}
			out.AppendBytes(value.Path, f.c.list().Raw())
		}
		return out, nil
	}, nil
}

// otherEnd finds the far end of a relationship.
func otherEnd(f *frame, rel, from uint64) (uint64, error) {
	g, err := f.graph()
	if err != nil {
		return 0, err
	}
	var start, end [1]uint64
	id := [1]uint64{rel}
	v := f.env.View
	v.WithDeleted = true
	if err := g.Ends(f.env.ctx(), v, id[:], nil, start[:], end[:]); err != nil {
		return 0, err
	}
	if start[0] == from {
		return end[0], nil
	}
	return start[0], nil
}
