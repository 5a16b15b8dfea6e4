package expr

import (
	"context"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/store/memstore"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// countingGraph counts visits.
type countingGraph struct {
	store.Graph
	fetches int
}

func (g *countingGraph) Fetch(ctx context.Context, v store.View, e schema.Entity, ids []uint64, hints []store.Hint, keys []schema.KeyID, out []*vec.Column) error {
	g.fetches++
	return g.Graph.Fetch(ctx, v, e, ids, hints, keys, out)
}

// world is (a:Person:Admin {name, age})-[r:KNOWS {since}]->(b:Person {name}), a null row, and a node that the statement deleted.
type world struct {
	env     *Env
	g       *countingGraph
	b       *Batch // slot 0: nodes, 1: relationships, 2: mixed, 3: the deleted node and relationship
	a, bID  uint64
	r, gone uint64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tx, err := memstore.New().Begin(ctx, store.TxOptions{})
	must(err)
	must(tx.CreateGraph(ctx, "main"))
	st, err := tx.Begin(ctx)
	must(err)
	t.Cleanup(func() { st.Close(); _ = tx.Rollback() })
	g, err := st.Graph(ctx, "main")
	must(err)
	label := func(n string, e schema.Entity) schema.LabelID {
		l, err := g.EnsureLabel(ctx, n, e)
		must(err)
		return l
	}
	key := func(n string) schema.KeyID {
		k, err := g.EnsureKey(ctx, n)
		must(err)
		return k
	}
	person, admin, knows := label("Person", schema.Vertex), label("Admin", schema.Vertex), label("KNOWS", schema.Edge)
	name, age, since := key("name"), key("age"), key("since")
	base, err := st.Segment(3)
	must(err)
	var hits store.Hits
	must(g.CreateNodes(ctx, base, []schema.LabelID{person, admin}, []store.PropRow{{Keys: []schema.KeyID{name, age}, Vals: []value.Value{value.NewString("Ada"), value.NewInt(36)}}}, &hits))
	must(g.CreateNodes(ctx, base, []schema.LabelID{person}, []store.PropRow{{Keys: []schema.KeyID{name}, Vals: []value.Value{value.NewString("Bob")}}, {}}, &hits))
	w := &world{a: hits.ID[0], bID: hits.ID[1], gone: hits.ID[2]}
	hits.Reset()
	must(g.CreateRels(ctx, base+1, knows, []uint64{w.a}, []uint64{w.bID}, []store.PropRow{{Keys: []schema.KeyID{since}, Vals: []value.Value{value.NewInt(2020)}}}, &hits))
	w.r = hits.ID[0]
	must(g.Delete(ctx, base+2, schema.Vertex, []uint64{w.gone}, make([]store.Hint, 1), false))
	w.g = &countingGraph{Graph: g}
	w.env = testEnv()
	w.env.Ctx, w.env.Graph, w.env.View = ctx, w.g, st.View(base+3)
	w.b = &Batch{N: 3, Cols: make([]*vec.Column, 10)}
	for i, vals := range [][]value.Value{
		{value.NewNode(w.a), {}, value.NewNode(w.bID)},
		{value.NewRel(w.r), {}, value.NewRel(w.r)},
		{value.NewNode(w.a), value.NewRel(w.r), value.NewMap([]string{"name"}, []value.Value{value.NewString("map")})},
		{value.NewNode(w.gone), value.NewNode(w.gone), value.NewNode(w.gone)},
	} {
		w.b.Cols[i] = new(vec.Column)
		for _, v := range vals {
			w.b.Cols[i].Append(v)
		}
	}
	return w
}

func (w *world) eval(t *testing.T, e Expr) (string, error) {
	t.Helper()
	p, err := Compile(e)
	if err != nil {
		t.Fatal(err)
	}
	var out vec.Column
	if err := p.Eval(w.env, w.b, nil, &out); err != nil {
		return "", err
	}
	var l value.ListBuilder
	for i := range out.Len() {
		l.Add(out.Value(i))
	}
	return string(value.AppendTCK(nil, l.List())), nil
}

func nodeCol(slot int) Expr { return &Col{Base: Base{T: TNode}, Slot: slot, Hint: NoSlot, Name: "n"} }

func TestGraphFunctions(t *testing.T) {
	w := newWorld(t)
	labels := func(x Expr, any bool, names ...string) Expr {
		return &HasLabels{X: x, Labels: names, Any: any, Hint: NoSlot}
	}
	for _, c := range []evalCase{
		{prop(nodeCol(0), "name"), "['Ada', null, 'Bob']"}, {prop(nodeCol(0), "nothing"), "[null, null, null]"}, {prop(col(1), "since"), "[2020, null, 2020]"},
		{prop(col(2), "name"), "['Ada', null, 'map']"}, {&Index{X: col(0), I: k("'age'")}, "[36, null, null]"},
		{fn("labels", col(0)), "[['Person', 'Admin'], null, ['Person']]"}, {fn("type", col(1)), "['KNOWS', null, 'KNOWS']"}, {fn("keys", col(2)), "[['age', 'name'], ['since'], ['name']]"},
		{fn("properties", col(0)), "[{age: 36, name: 'Ada'}, null, {name: 'Bob'}]"}, {fn("label", col(2)), "!InvalidArgumentValue"},
		{labels(col(0), false, "Person", "Admin"), "[true, null, false]"}, {labels(col(0), true, "Admin", "Nope"), "[true, null, false]"}, {labels(col(1), false, "KNOWS"), "[true, null, true]"}, {labels(col(0), false, "Nope"), "[false, null, false]"},
		{bin(OpEq, fn("startNode", col(1)), col(0)), "[true, null, false]"}, {bin(OpEq, fn("endNode", col(1)), col(0)), "[false, null, true]"}, {bin(OpIn, col(0), list(col(0), k("1"))), "[true, null, true]"},
		{fn("length", &MakePath{Elems: []Expr{col(0), list(col(1))}}), "[1, null, 1]"}, {fn("size", fn("nodes", &MakePath{Elems: []Expr{col(0), list(col(1))}})), "[2, null, 2]"},
		{&MapProj{X: col(0), Items: []ProjItem{{Key: "name"}, {Key: "x", Val: k("1")}}}, "[{x: 1, name: 'Ada'}, null, {x: 1, name: 'Bob'}]"}, {&MapProj{X: col(0), Items: []ProjItem{{All: true}}}, "[{age: 36, name: 'Ada'}, null, {name: 'Bob'}]"},
		{&ListComp{Slot: 9, List: list(col(0)), Map: prop(col(9), "name")}, "[['Ada'], [null], ['Bob']]"},
		{prop(col(3), "name"), "!DeletedEntityAccess"}, {fn("labels", col(3)), "!DeletedEntityAccess"}, {labels(col(3), false, "Person"), "!DeletedEntityAccess"}, {fn("size", list(col(3))), "[1, 1, 1]"}, {bin(OpEq, col(3), col(3)), "[true, true, true]"},
		{bin(OpGt, fn("id", col(3)), k("0")), "[true, true, true]"}, {fn("labels", k("1")), "!InvalidArgumentValue"}, {fn("startNode", col(0)), "!InvalidArgumentType"},
	} {
		got, err := w.eval(t, c.e)
		if c.want[0] == '!' {
			if e := dberr.As(err); e == nil || e.Token != c.want[1:] {
				t.Errorf("%s: got %s, %v; want %s", String(c.e), got, err, c.want)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s: got %s, %v; want %s", String(c.e), got, err, c.want)
		}
	}
}

// All keys of one variable that every row needs are read in one visit; what is guarded is not read for rows that do not need it.
func TestPropertiesOfOneVariableAreFetchedTogether(t *testing.T) {
	w := newWorld(t)
	e := list(prop(nodeCol(0), "name"), prop(nodeCol(0), "age"), prop(nodeCol(0), "name"), prop(nodeCol(0), "nothing"))
	for range 2 { // also when the frame is used again
		w.g.fetches = 0
		got, err := w.eval(t, e)
		if err != nil || got != "[['Ada', 36, 'Ada', null], [null, null, null, null], ['Bob', null, 'Bob', null]]" {
			t.Errorf("%s %v", got, err)
		}
		if w.g.fetches != 1 {
			t.Errorf("%d visits, want 1", w.g.fetches)
		}
	}
	// The deleted node in slot 3 is only touched where the guard lets it.
	guarded := &Case{Whens: []When{{k("false"), prop(&Col{Base: Base{T: TNode}, Slot: 3, Hint: NoSlot}, "name")}}, Else: prop(nodeCol(0), "age")}
	if got, err := w.eval(t, guarded); err != nil || got != "[36, null, null]" {
		t.Errorf("%s %v", got, err)
	}
}

// A subplan is evaluated for the selected rows only, inside lambdas over the gathered outer columns.
func TestSubplans(t *testing.T) {
	w := newWorld(t)
	calls := 0
	w.env.Subplan = func(env *Env, s *Subplan, b *Batch, sel []uint16, out *vec.Column) error {
		calls++
		for i := range count(b, sel) {
			id := b.Cols[s.Free[0]].Words[rowOf(sel, i)]
			out.AppendWord(value.Bool, boolWord(id == w.a))
		}
		return nil
	}
	sub := &Subplan{Kind: SubExists, Free: []int{0}}
	if got, err := w.eval(t, sub); err != nil || got != "[true, false, false]" {
		t.Errorf("%s %v", got, err)
	}
	lam := &ListComp{Slot: 9, List: k("[1, 2]"), Pred: sub}
	if got, err := w.eval(t, lam); err != nil || got != "[[1, 2], [], []]" {
		t.Errorf("%s %v", got, err)
	}
	calls = 0
	if got, err := w.eval(t, and(k("false"), sub)); err != nil || got != "[false, false, false]" || calls != 0 {
		t.Errorf("%s %v, %d calls", got, err, calls)
	}
}

// Rows of SQL hold whole entities: functions read them without a graph.
func TestWholeEntities(t *testing.T) {
	props := value.NewMap([]string{"name"}, []value.Value{value.NewString("Ada")})
	b := &Batch{N: 2, Cols: []*vec.Column{new(vec.Column), new(vec.Column)}}
	b.Cols[0].AppendWhole(value.NewNodeFull(7, []string{"Person", "X"}, props))
	b.Cols[1].AppendWhole(value.NewRelFull(9, 7, 8, "KNOWS", props))
	b.Cols[0].AppendNull()
	b.Cols[1].AppendNull()
	w := &world{env: testEnv(), b: b}
	for _, c := range []evalCase{
		{prop(col(0), "name"), "['Ada', null]"}, {fn("id", col(1)), "[9, null]"}, {fn("type", col(1)), "['KNOWS', null]"}, {fn("labels", col(0)), "[['Person', 'X'], null]"},
		{fn("label", col(0)), "['Person', null]"}, {fn("properties", col(0)), "[{name: 'Ada'}, null]"}, {fn("keys", col(1)), "[['name'], null]"}, {fn("start_id", col(1)), "[7, null]"}, {fn("end_id", col(1)), "[8, null]"},
		{bin(OpEq, col(0), col(0)), "[true, null]"},
	} {
		if got, err := w.eval(t, c.e); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v; want %s", String(c.e), got, err, c.want)
		}
	}
}
