package memstore

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/tidwall/btree"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// covers reports whether version x of r belongs into the index, and its values.
func (ix *index) covers(g *graph, r *row, x *version) ([]value.Value, bool) {
	if ix.Entity == schema.Vertex && !slices.Contains(g.sets[x.labels], ix.Label) || ix.Entity == schema.Edge && schema.LabelOf(r.id) != ix.Label {
		return nil, false
	}
	vals := make([]value.Value, 0, len(ix.Keys))
	for _, k := range ix.Keys {
		j, ok := slices.BinarySearchFunc(x.props, k, func(p prop, k schema.KeyID) int { return int(p.key) - int(k) })
		if !ok {
			return nil, false
		}
		vals = append(vals, x.props[j].val)
	}
	return vals, true
}

func encode(vals []value.Value) []byte {
	var b []byte
	for _, v := range vals {
		b = value.AppendKey(b, v)
	}
	return b
}

// enter puts a new version into the indexes and checks constraints.
func (h *handle) enter(e schema.Entity, r *row, x *version) error {
	for _, ix := range h.g.indexes {
		if ix.dead || ix.Entity != e {
			continue
		}
		if err := ix.enter(h.g, r, x, &h.s.counters); err != nil {
			return err
		}
	}
	for _, c := range h.g.cons {
		if !c.Kind.RowByRow() || c.Entity != e {
			continue
		}
		if err := h.g.checkRow(&c, r, x); err != nil {
			return err
		}
	}
	return nil
}

// checkRow holds a version to a constraint that looks at each row alone.
func (g *graph) checkRow(c *schema.Constraint, r *row, x *version) error {
	if c.Entity == schema.Vertex && !slices.Contains(g.sets[x.labels], c.Label) || c.Entity == schema.Edge && schema.LabelOf(r.id) != c.Label {
		return nil
	}
	for _, name := range c.KeyNames {
		var v value.Value
		if i := slices.IndexFunc(x.props, func(p prop) bool { return g.keys[p.key] == name }); i >= 0 {
			v = x.props[i].val
		}
		if err := store.CheckValue(c, name, v); err != nil {
			return err
		}
	}
	return nil
}

func (ix *index) enter(g *graph, r *row, x *version, counters *store.Counters) error {
	vals, ok := ix.covers(g, r, x)
	if !ok {
		return nil
	}
	key := encode(vals)
	if ix.Unique {
		counters.UniqueProbes++
		var err error
		ix.tree.Ascend(entry{key: key}, func(it entry) bool {
			if !bytes.Equal(it.key, key) {
				return false
			}
			o := g.ents[ix.Entity].byID[it.id]
			if o == r || o == nil || len(o.vers) == 0 {
				return true
			}
			if y := live(o); y != nil {
				if ov, ok := ix.covers(g, o, y); ok && bytes.Equal(encode(ov), key) {
					err = dberr.New(dberr.UniqueViolation, "duplicate key value violates unique constraint %q", ix.Name).
						WithDetail("an entity with label %q and these values of %s exists already", ix.LabelName, strings.Join(ix.KeyNames, ", ")).
						WithToken("ConstraintValidationFailed")
					return false
				}
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	ix.tree.Set(entry{key: key, id: r.id})
	return nil
}

func (g *graph) addIndex(def store.IndexDef, counters *store.Counters) (*index, error) {
	keys := make([]schema.KeyID, len(def.Keys))
	for i, k := range def.Keys {
		keys[i] = g.key(k)
	}
	name := def.Name
	if name == "" {
		name = strings.ToLower(def.Label + "_" + strings.Join(def.Keys, "_"))
	}
	for _, ix := range g.indexes {
		if ix.dead {
			continue
		}
		same := ix.LabelName == def.Label && ix.Entity == def.Entity && slices.Equal(ix.Keys, keys)
		if ix.Name != name && !same {
			continue
		}
		if def.IfNotExists {
			return nil, nil
		}
		return nil, dberr.New(dberr.DuplicateObject, "an equivalent index already exists: %q", ix.Name)
	}
	g.db.nextIx++
	ix := &index{
		Index: schema.Index{
			ID: g.db.nextIx, Graph: g.ID, Name: name, Entity: def.Entity, Label: g.label(def.Label, def.Entity), LabelName: def.Label,
			Keys: keys, KeyNames: slices.Clone(def.Keys), Unique: def.Unique,
		},
		tree: btree.NewBTreeG(entryLess),
	}
	for _, r := range g.ents[def.Entity].rows {
		for _, x := range r.vers {
			if x.end != nil {
				if vals, ok := ix.covers(g, r, x); ok {
					ix.tree.Set(entry{key: encode(vals), id: r.id})
				}
			} else if err := ix.enter(g, r, x, counters); err != nil {
				return nil, err
			}
		}
	}
	g.indexes = append(g.indexes, ix)
	return ix, nil
}

func (t *tx) CreateIndex(ctx context.Context, gn string, def store.IndexDef) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	g, err := t.graph(gn)
	if err != nil {
		return err
	}
	ix, err := g.addIndex(def, &store.Counters{})
	if err != nil || ix == nil {
		return err
	}
	t.db.epoch.Add(1)
	t.undo = append(t.undo, func() { ix.dead = true; t.db.epoch.Add(1) })
	return nil
}

func (t *tx) DropIndex(ctx context.Context, gn, name string, ifExists bool) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	g, err := t.graph(gn)
	if err != nil {
		return err
	}
	for _, ix := range g.indexes {
		if ix.Name == name && !ix.dead {
			ix.dead = true
			t.db.epoch.Add(1)
			t.undo = append(t.undo, func() { ix.dead = false; t.db.epoch.Add(1) })
			return nil
		}
	}
	if ifExists {
		return nil
	}
	return dberr.New(dberr.UndefinedIndex, "index %q does not exist", name)
}

func (t *tx) CreateConstraint(ctx context.Context, gn string, def store.ConstraintDef) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	g, err := t.graph(gn)
	if err != nil {
		return err
	}
	c := schema.Constraint{
		Graph: g.ID, Name: def.Name, Entity: def.Entity, Label: g.label(def.Label, def.Entity), LabelName: def.Label,
		KeyNames: slices.Clone(def.Keys), Kind: def.Kind, Type: def.Type,
	}
	if c.Name == "" {
		suffix := map[schema.ConstraintKind]string{schema.NotNull: "_not_null", schema.PropertyType: "_type"}[def.Kind]
		c.Name = strings.ToLower("constraint_"+def.Label+"_"+strings.Join(def.Keys, "_")) + suffix
	}
	for _, o := range g.cons {
		if o.Name == c.Name || o.Label == c.Label && o.Kind == c.Kind && slices.Equal(o.KeyNames, c.KeyNames) {
			return store.SameConstraint(&def, &o)
		}
	}
	if def.Kind.RowByRow() {
		for _, r := range g.ents[def.Entity].byID {
			if x := live(r); x != nil {
				if err := g.checkRow(&c, r, x); err != nil {
					return err
				}
			}
		}
	}
	var ix *index
	if def.Kind.Indexed() {
		c.Index = c.Name
		ix, err = g.addIndex(store.IndexDef{Name: c.Name, Entity: def.Entity, Label: def.Label, Keys: def.Keys, Unique: true}, &store.Counters{})
		if err != nil {
			return err
		}
		ix.Constraint = c.Name
	}
	old := g.cons
	g.cons = append(slices.Clone(old), c)
	t.db.epoch.Add(1)
	t.undo = append(t.undo, func() {
		if g.cons = old; ix != nil {
			ix.dead = true
		}
		t.db.epoch.Add(1)
	})
	return nil
}

func (t *tx) DropConstraint(ctx context.Context, gn, name string, ifExists bool) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	g, err := t.graph(gn)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(g.cons, func(c schema.Constraint) bool { return c.Name == name })
	if i < 0 {
		if ifExists {
			return nil
		}
		return dberr.New(dberr.UndefinedConstraint, "constraint %q does not exist", name)
	}
	old := g.cons
	var killed []*index
	for _, ix := range g.indexes {
		if ix.Constraint == name && !ix.dead {
			ix.dead = true
			killed = append(killed, ix)
		}
	}
	g.cons = slices.Delete(slices.Clone(old), i, i+1)
	t.db.epoch.Add(1)
	t.undo = append(t.undo, func() {
		g.cons = old
		for _, ix := range killed {
			ix.dead = false
		}
		t.db.epoch.Add(1)
	})
	return nil
}

type seek struct {
	rows, ids, hints []uint64
	pos              int
}

// Seek answers the whole batch at once and keeps the hits.
func (h *handle) Seek(_ context.Context, v store.View, s store.Seek, rows int) (store.HitCursor, error) {
	h.g.db.mu.RLock()
	defer h.g.db.mu.RUnlock()
	i := slices.IndexFunc(h.g.indexes, func(ix *index) bool { return ix.ID == s.Index })
	if i < 0 {
		return nil, dberr.Wrap(dberr.SerializationFailure, &store.StaleIndex{Index: s.Index}, "index %d was dropped", s.Index)
	}
	ix := h.g.indexes[i]
	out := &seek{}
	for row := range rows {
		h.s.counters.IndexProbes++
		h.seekRow(ix, v, &s, row, out)
	}
	return out, nil
}

func (h *handle) seekRow(ix *index, v store.View, s *store.Seek, row int, out *seek) {
	var prefix []byte
	eq := make([]value.Value, len(s.Eq))
	for k, c := range s.Eq {
		if eq[k] = c.Value(row); eq[k].IsNull() {
			return
		}
		prefix = value.AppendKey(prefix, eq[k])
	}
	at := func(c *vec.Column) value.Value {
		if c == nil {
			return value.Value{}
		}
		return c.Value(row)
	}
	lo, hi, pre := at(s.LowerVal), at(s.UpperVal), at(s.Prefix)
	if s.Lower.Present && lo.IsNull() || s.Upper.Present && hi.IsNull() || s.Prefix != nil && pre.Kind() != value.String {
		return
	}
	first := len(out.ids)
	ix.tree.Ascend(entry{key: prefix}, func(it entry) bool {
		if !bytes.HasPrefix(it.key, prefix) {
			return false
		}
		r := h.g.ents[ix.Entity].byID[it.id]
		if r == nil {
			return true
		}
		x := visible(v, r)
		if x == nil {
			return true
		}
		vals, ok := ix.covers(h.g, r, x)
		if !ok || !bytes.Equal(encode(vals), it.key) {
			return true
		}
		for k := range eq {
			if value.Equal(vals[k], eq[k]) != value.True {
				return true
			}
		}
		if len(vals) > len(eq) {
			n := vals[len(eq)]
			if s.Lower.Present && !within(lo, n, s.Lower.Inclusive) || s.Upper.Present && !within(n, hi, s.Upper.Inclusive) {
				return true
			}
			if s.Prefix != nil && (n.Kind() != value.String || !strings.HasPrefix(n.Str(), pre.Str())) {
				return true
			}
		}
		out.rows, out.ids, out.hints = append(out.rows, uint64(row)), append(out.ids, r.id), append(out.hints, r.slot)
		return true
	})
	if s.Descending {
		slices.Reverse(out.ids[first:])
		slices.Reverse(out.hints[first:])
	}
}

func (c *seek) Next(_ context.Context, max int, out *store.Hits) error {
	out.Reset()
	for ; c.pos < len(c.ids) && len(out.ID) < max; c.pos++ {
		out.Row, out.ID, out.Hint = append(out.Row, uint16(c.rows[c.pos])), append(out.ID, c.ids[c.pos]), append(out.Hint, c.hints[c.pos])
	}
	return nil
}

func (c *seek) Close() {}

func within(a, b value.Value, inclusive bool) bool {
	if inclusive {
		return value.LessEqual(a, b) == value.True
	}
	return value.Less(a, b) == value.True
}
