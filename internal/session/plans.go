package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/query/plancache"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// planned is a plan as one statement runs it.
type planned struct {
	text *plancache.Text
	v    *plancache.Variant
	q    *plan.Query // of v, in the mode of the text
	vals []value.Value
	how  string // what EXPLAIN says of the cache; "" if hit says it
	hit  int    // number of the plan among those of its form
}

// envOf says what the plan of a text depends on beside it.
func (s *Session) envOf(graph string, age bool) plancache.Env {
	return plancache.Env{Graph: graph, Zone: s.now().zone, AGE: age, ReadOnly: s.readOnly()}
}

// cacheOfPlans returns the cache that the session's statements use now, or nil. Plans of a transaction that has changed the catalog may name what
// others do not see: they are its own (rules B7).
func (s *Session) cacheOfPlans() *plancache.Cache {
	switch {
	case s.now().reference || !s.now().planCache:
		return nil
	case !s.ddl:
		return s.db.plans
	case s.private == nil:
		s.private = plancache.New(plancache.Options{Entries: 100, Bytes: 4 << 20})
	}
	return s.private
}

// changesCatalog notes that the open transaction changes the catalog: plans that it has made for itself may be outdated by that.
func (s *Session) changesCatalog() { s.ddl, s.private = true, nil }

// textOf looks a text up; a fault of its prefix is an error. known, if it is not nil, is a text found before.
func (s *Session) textOf(env plancache.Env, text string, known *plancache.Text) (*plancache.Text, error) {
	c := s.cacheOfPlans()
	if c == nil {
		return plancache.Plain(&env, text)
	}
	if known != nil && known.Of(c) && known.Env == env && !known.Entry.Unfit() {
		return known, nil
	}
	if t := c.Text(&env, text); t != nil {
		return t, nil
	}
	return c.Form(&env, text)
}

// describe returns what is the same in all plans of a text: columns, parameters, kind. Without a plan it makes one.
func (s *Session) describe(ctx context.Context, text, graph string, age bool) (*plancache.Text, *plan.Query, error) {
	t, err := s.textOf(s.envOf(graph, age), text, nil)
	if err != nil {
		return nil, nil, err
	}
	if v := t.Entry.Any(s.db.store.CatalogVersion()); v != nil && !t.Entry.Unfit() {
		return t, inMode(v.Prep.Query, t), nil
	}
	tx, err := s.need(ctx)
	if err != nil {
		return nil, nil, err
	}
	stmt, g, err := s.openGraph(ctx, tx, graph)
	if err != nil {
		return nil, nil, err
	}
	defer stmt.Close()
	p, err := s.planOf(t, g, stmt, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	return p.text, p.q, nil
}

// inMode returns the query as a text with EXPLAIN or PROFILE runs it.
func inMode(q *plan.Query, t *plancache.Text) *plan.Query {
	if q.Explain == t.Mode {
		return q
	}
	c := *q
	c.Explain = t.Mode
	return &c
}

// planOf finds or makes the plan of a text on a graph that is open. params are the values of the text's parameters in the order of the plan, nil if
// they are not known. Indexes of without are not used.
func (s *Session) planOf(t *plancache.Text, g store.Graph, stmt store.Stmt, params []value.Value, without map[schema.IndexID]bool) (*planned, error) {
	p := new(planned)
	if err := s.planInto(p, t, g, stmt, params, without); err != nil {
		return nil, err
	}
	return p, nil
}

// planInto is planOf in memory of the caller's.
func (s *Session) planInto(p *planned, t *plancache.Text, g store.Graph, stmt store.Stmt, params []value.Value, without map[schema.IndexID]bool) error {
	c := s.cacheOfPlans()
	cached := c != nil && t.Of(c)
	if cached && t.Entry.Unfit() {
		t = c.Exact(t)
	}
	q := t.Entry.Query()
	known := params != nil || q != nil && len(q.Params) == 0
	version := s.db.store.CatalogVersion()
	*p = planned{text: t, how: "off"}
	var old *plancache.Variant // to be replaced
	if cached && without == nil && q != nil && t.Replan != plancache.ReplanForce {
		p.vals = lifted(t, params)
		v, n := t.Entry.Pick(version, p.vals, known)
		if v != nil && t.Replan != plancache.ReplanSkip && c.Outgrown(v, g) {
			old, v = v, nil
		}
		if v != nil {
			p.v, p.q, p.how = v, inMode(v.Prep.Query, t), "miss" // made when the statement was prepared
			if v.Uses() > 1 {
				p.how, p.hit = "", n
			}
			if t.Replan != plancache.ReplanSkip && c.Drifted(v, g) {
				s.db.replan(c, t, v, params)
			}
			return nil
		}
	}
	r := plancache.Request{
		Text: t, Catalog: g, View: stmt.View(math.MaxUint32), Version: version, Params: params, Without: without,
		Procs: exec.Signatures{Procedures: exec.Builtins}, Reference: s.now().reference,
	}
	compile := plancache.Compile
	if cached {
		compile, p.how = c.Make, "miss"
	}
	v, err := compile(r)
	if cached && plancache.NotLifted(err) {
		p.text = c.Exact(t)
		r.Text = p.text
		v, err = compile(r)
	}
	if err != nil {
		return p.text.Place(err, nil)
	}
	p.v, p.q, p.vals = v, inMode(v.Prep.Query, t), lifted(p.text, params)
	// What an older snapshot than the catalog's version has made is not for others.
	if cached && without == nil && s.version == version && !p.q.Schema && exec.Lasting(p.q) {
		c.Add(p.text.Entry, v, old)
	}
	if known {
		v.Use()
	}
	return nil
}

// lifted joins the values of literals and of parameters.
func lifted(t *plancache.Text, params []value.Value) []value.Value {
	switch {
	case len(params) == 0:
		return t.Lifted
	case len(t.Lifted) == 0:
		return params
	}
	return append(t.Lifted[:len(t.Lifted):len(t.Lifted)], params...)
}

// report describes the plan, and what its execution counted if there was one.
func (p *planned) report(cur *exec.Cursor, began time.Time) *plan.Report {
	r := report(p.q, cur, began)
	p.show(r.Root)
	if r.Cache = p.how; p.how == "" {
		r.Cache = fmt.Sprintf("hit, plan %d", p.hit)
	}
	if g := p.v.Guard(); g != "" {
		r.Cache += ", for " + p.literals().Replace(g)
	}
	return r
}

// show puts the statement's literals back in place of the parameters that the plan has for them.
func (p *planned) show(t *plan.Tree) {
	if len(p.text.Lifted) == 0 {
		return
	}
	r := p.literals()
	var walk func(*plan.Tree)
	walk = func(t *plan.Tree) {
		t.Detail = r.Replace(t.Detail)
		for _, c := range t.Children {
			walk(c)
		}
	}
	walk(t)
}

func (p *planned) literals() *strings.Replacer {
	var pairs []string
	for i := len(p.text.Lifted) - 1; i >= 0; i-- { // $autoint_10 before $autoint_1
		brief := string(value.AppendTCK(nil, p.text.Lifted[i]))
		if len(brief) > 60 {
			brief = brief[:57] + "..."
		}
		for _, name := range [...]string{"int", "float", "string", "list"} {
			pairs = append(pairs, "$auto"+name+"_"+strconv.Itoa(i), brief)
		}
	}
	return strings.NewReplacer(pairs...)
}

// staleIndex returns the index that an error is about, if the plan relied on one that the snapshot cannot use.
func staleIndex(err error) (schema.IndexID, bool) {
	var s *store.StaleIndex
	if errors.As(err, &s) {
		return s.Index, true
	}
	return 0, false
}

// wrote reports whether a statement has changed something.
func wrote(c *store.Counters) bool {
	return c != nil && c.NodesCreated+c.NodesDeleted+c.RelsCreated+c.RelsDeleted+c.PropsSet+c.LabelsAdded+c.LabelsRemoved+
		c.IndexesAdded+c.IndexesRemoved+c.ConstraintsAdded+c.ConstraintsRemoved > 0
}

// background makes plans anew for statistics that have changed.
type background struct {
	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{}
	wg     sync.WaitGroup
}

func newBackground() *background {
	b := &background{slots: make(chan struct{}, 1)}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// replan makes a plan in the background, one at a time; meanwhile the old one serves.
func (db *Database) replan(c *plancache.Cache, t *plancache.Text, old *plancache.Variant, params []value.Value) {
	b := db.background
	if !t.Entry.Begin() {
		return
	}
	select {
	case b.slots <- struct{}{}:
	default:
		c.End(t.Entry, false)
		return
	}
	params = cloneRow(params)
	b.wg.Add(1)
	go func() {
		made := false
		defer func() {
			if p := recover(); p != nil {
				db.opt.Log.Error("a plan could not be made in the background", "panic", p)
			}
			c.End(t.Entry, made)
			<-b.slots
			b.wg.Done()
		}()
		err := db.replanNow(b.ctx, c, t, old, params)
		if made = err == nil; !made && b.ctx.Err() == nil {
			db.opt.Log.Warn("a plan could not be made in the background", "error", err)
		}
	}()
}

func (db *Database) replanNow(ctx context.Context, c *plancache.Cache, t *plancache.Text, old *plancache.Variant, params []value.Value) error {
	version := db.store.CatalogVersion()
	tx, err := db.store.Begin(ctx, store.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	stmt, err := tx.Begin(ctx)
	if err != nil {
		return err
	}
	defer stmt.Close()
	g, err := stmt.Graph(ctx, t.Graph)
	if err != nil {
		return err
	}
	v, err := c.Make(plancache.Request{
		Text: t, Catalog: g, View: stmt.View(0), Version: version, Params: params, Procs: exec.Signatures{Procedures: exec.Builtins},
	})
	if err != nil {
		return err
	}
	c.Add(t.Entry, v, old)
	return nil
}

// PlanCache returns what the plan cache has done.
func (db *Database) PlanCache() plancache.Stats { return db.plans.Stats() }

// Close ends what the database does in the background. Sessions are their owners' to close.
func (db *Database) Close() {
	db.background.cancel()
	db.background.wg.Wait()
}
