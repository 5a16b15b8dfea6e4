package session

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/query/plancache"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// looking is a short look at a graph.
type looking struct {
	stmt  store.Stmt
	graph store.Graph
}

// look opens a statement on the session's graph for f alone.
func (s *Session) look(ctx context.Context, f func(*looking) error) error {
	tx, err := s.need(ctx)
	if err != nil {
		return err
	}
	stmt, g, err := s.openGraph(ctx, tx, s.now().graph)
	if err != nil {
		return err
	}
	defer stmt.Close()
	return f(&looking{stmt, g})
}

// openGraph begins a statement and opens a graph in it. The default graph is made when it is missing (rules D2).
func (s *Session) openGraph(ctx context.Context, tx store.Tx, name string) (store.Stmt, store.Graph, error) {
	for made := false; ; made = true {
		if s.isolation == store.ReadCommitted || !s.used {
			s.version = s.db.store.CatalogVersion() // before the snapshot is taken
		}
		stmt, err := tx.Begin(ctx)
		if err != nil {
			return nil, nil, err
		}
		g, err := stmt.Graph(ctx, name)
		if err == nil {
			return stmt, g, nil
		}
		stmt.Close()
		if made && s.isolation != store.ReadCommitted && !s.used && dberr.Is(err, dberr.InvalidSchema) {
			// The transaction's snapshot is older than the graph, and nothing was asked of it yet: it may begin anew.
			if tx, err = s.renew(ctx); err != nil {
				return nil, nil, err
			}
			s.used = true
			continue
		}
		if made || name != DefaultGraph && name != s.client.Graph || !dberr.Is(err, dberr.InvalidSchema) {
			return nil, nil, err
		}
		if err := s.db.makeGraph(ctx, name); err != nil {
			return nil, nil, err
		}
	}
}

// makeGraph makes a graph in a transaction of its own.
func (db *Database) makeGraph(ctx context.Context, name string) error {
	tx, err := db.store.Begin(ctx, store.TxOptions{})
	if err != nil {
		return err
	}
	if err := tx.CreateGraph(ctx, name); err != nil {
		tx.Rollback()
		if dberr.Is(err, dberr.DuplicateObject) || dberr.Is(err, dberr.InvalidSchema) {
			return nil // somebody else was faster
		}
		return err
	}
	return tx.Commit(ctx)
}

// Ping reports whether the database answers.
func (db *Database) Ping(ctx context.Context) error {
	tx, err := db.store.Begin(ctx, store.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	return tx.Rollback()
}

// cypherCommand runs a bare Cypher statement.
type cypherCommand struct {
	text    string
	found   *plancache.Text // what the text was found as
	args    []string        // parameter names in the order of the arguments
	query   *plan.Query     // of any plan of it
	explain plan.ExplainMode
}

func (s *Session) prepareCypher(ctx context.Context, text string, types []*sqltype.Type) (*Prepared, error) {
	if s.failed {
		_, err := s.need(ctx)
		return nil, err
	}
	c := &cypherCommand{text: text}
	t, q, err := s.describe(ctx, text, s.now().graph, false)
	if err != nil {
		return nil, err
	}
	c.found = t
	c.query, c.explain = q, q.Explain
	p := &Prepared{Text: text, command: c}
	if p.params, c.args, err = parameters(q.Params, types); err != nil {
		return nil, err
	}
	switch {
	case q.Explain != plan.NoExplain && !s.PlanAside:
		p.columns = []Column{{"plan", sqltype.Text}}
	case len(q.Columns) > 0:
		for _, name := range q.Columns {
			p.columns = append(p.columns, Column{name, sqltype.Agtype})
		}
	}
	return p, nil
}

// parameters orders a plan's parameters as arguments: $1 … $n by number, names after them in order.
func parameters(names []string, declared []*sqltype.Type) ([]*sqltype.Type, []string, error) {
	most := len(declared)
	var words []string
	for _, n := range names {
		if i, err := strconv.Atoi(n); err == nil {
			if i < 1 || i > 65535 {
				return nil, nil, dberr.New(dberr.MissingParameter, "there is no parameter $%s", n)
			}
			most = max(most, i)
		} else {
			words = append(words, n)
		}
	}
	var types []*sqltype.Type
	var args []string
	for i := range most {
		t := sqltype.Agtype
		if i < len(declared) && declared[i] != nil {
			t = declared[i]
		}
		types = append(types, t)
		args = append(args, strconv.Itoa(i+1))
	}
	for range words {
		types = append(types, sqltype.Agtype)
	}
	return types, append(args, words...), nil
}

// arguments puts named and positional parameters into order; a missing one is an error.
func (c *cypherCommand) arguments(named Named, args []value.Value) ([]value.Value, error) {
	if len(c.args) == 0 {
		return nil, nil
	}
	out := make([]value.Value, len(c.args))
	for i, name := range c.args {
		var v value.Value
		var ok bool
		if named != nil {
			v, ok = named.Named(name)
		}
		if !ok {
			if k, err := strconv.Atoi(name); err == nil && k <= len(args) {
				v, ok = args[k-1], true
			}
		}
		if !ok && c.explain != plan.Explain {
			e := dberr.New(dberr.MissingParameter, "expected parameter $%s", name).WithToken("MissingParameter").WithHint("Parameters are given by name, without the dollar.")
			e.Phase = dberr.CompileTime
			return nil, e
		}
		out[i] = v
	}
	return out, nil
}

func (c *cypherCommand) inFailed() bool { return false }

func (c *cypherCommand) tag(n int64) string {
	switch {
	case c.query.Schema && len(c.query.Columns) == 0:
		return "CREATE"
	}
	return fmt.Sprintf("SELECT %d", n)
}

func (c *cypherCommand) run(ctx context.Context, s *Session, args []value.Value) (rows, error) {
	t, err := s.textOf(s.envOf(s.now().graph, false), c.text, c.found)
	if err != nil {
		return nil, err
	}
	params := c.params(args)
	if c.explain == plan.Explain && !slices.ContainsFunc(params, func(v value.Value) bool { return !v.IsNull() }) {
		params = nil // parameters need not be given to see the plan
	}
	return s.runCypher(ctx, t, params)
}

// params brings arguments into the order of the plan's parameters.
func (c *cypherCommand) params(args []value.Value) []value.Value {
	names := c.query.Params
	if slices.Equal(names, c.args) {
		return args
	}
	out := make([]value.Value, len(names))
	for i, name := range names {
		if k := slices.Index(c.args, name); k >= 0 && k < len(args) {
			out[i] = args[k]
		}
	}
	return out
}

// runCypher executes a Cypher text and returns its rows. params are in the order of the plan.
func (s *Session) runCypher(ctx context.Context, t *plancache.Text, params []value.Value) (rows, error) {
	tx, err := s.need(ctx)
	if err != nil {
		return nil, err
	}
	stmt, g, err := s.openGraph(ctx, tx, t.Graph)
	if err != nil {
		return nil, err
	}
	r, err := s.execute(ctx, tx, stmt, g, t, params)
	if err == errReadCommitted {
		stmt.Close()
		return s.runReadCommitted(ctx, t, params)
	}
	if err != nil {
		stmt.Close()
		return nil, err
	}
	return r, nil
}

// maxReplans bounds how often one statement is planned again because an index of its plan is gone.
const maxReplans = 5

// execute runs a text in a statement that is open. A plan that relies on an index which the statement's snapshot cannot use is replaced, as long as
// nothing was written and no row was handed out.
func (s *Session) execute(ctx context.Context, tx store.Tx, stmt store.Stmt, g store.Graph, t *plancache.Text, params []value.Value) (*cypherRows, error) {
	if name := s.named(t.Entry.Query()); name != "" && name != t.Graph {
		return s.inGraph(ctx, tx, stmt, name, t, params)
	}
	var without map[schema.IndexID]bool
	for {
		r := &cypherRows{}
		p := &r.planned
		if err := s.planInto(p, t, g, stmt, params, without); err != nil {
			return nil, err
		}
		if name := s.named(p.q); name != "" && name != g.Name() {
			return s.inGraph(ctx, tx, stmt, name, t, params)
		}
		err := s.begin(ctx, tx, stmt, g, r)
		if err == nil {
			r.retry = retry{s, tx, g, t, params, without}
			return r, nil
		}
		if !retryable(stmt, err, &without) {
			return nil, p.text.Place(err, p.v)
		}
	}
}

// named is the graph that a statement names by USE; "" if it names none or is not planned yet.
func (s *Session) named(q *plan.Query) string {
	if q == nil {
		return ""
	}
	if name := s.client.Aliases[q.Graph]; name != "" {
		return name
	}
	return q.Graph
}

// inGraph executes a text that names its graph.
func (s *Session) inGraph(ctx context.Context, tx store.Tx, stmt store.Stmt, name string, t *plancache.Text, params []value.Value) (*cypherRows, error) {
	g, err := stmt.Graph(ctx, name)
	if err != nil {
		return nil, err
	}
	env := t.Env
	env.Graph = name
	if t, err = s.textOf(env, t.Text, nil); err != nil {
		return nil, err
	}
	return s.execute(ctx, tx, stmt, g, t, params)
}

// retryable reports whether a statement that ended with err may begin again with another plan, and notes which index that must not use.
func retryable(stmt store.Stmt, err error, without *map[schema.IndexID]bool) bool {
	ix, ok := staleIndex(err)
	if !ok || wrote(stmt.Counters()) || (*without)[ix] || len(*without) >= maxReplans {
		return false
	}
	if *without == nil {
		*without = map[schema.IndexID]bool{}
	}
	(*without)[ix] = true
	return true
}

// retry is what it takes to begin a reading statement again.
type retry struct {
	s       *Session
	tx      store.Tx
	g       store.Graph
	t       *plancache.Text
	params  []value.Value
	without map[schema.IndexID]bool
}

// again begins a reading statement again after err; the error is given back if it may not.
func (r *cypherRows) again(ctx context.Context, err error) (*planned, *exec.Cursor, error) {
	t := &r.retry
	if !retryable(r.stmt, err, &t.without) {
		return nil, nil, err
	}
	p, err := t.s.planOf(t.t, t.g, r.stmt, t.params, t.without)
	if err != nil {
		return nil, nil, err
	}
	cur, err := p.v.Prep.Run(ctx, r.stmt, t.g, p.vals, t.s.execOptions(ctx, t.tx, p.q, t.t.AGE, &leases{}))
	return p, cur, err
}

// begin starts the plan of r. An error's place is in the text that the plan was made for.
func (s *Session) begin(ctx context.Context, tx store.Tx, stmt store.Stmt, g store.Graph, r *cypherRows) error {
	p := &r.planned
	q := p.q
	r.stmt, r.q, r.plan = stmt, q, p
	if !q.ReadOnly && s.readOnly() {
		return dberr.New(dberr.ReadOnlyTransaction, "cannot write in a read-only transaction")
	}
	if q.Schema && !q.ReadOnly {
		s.changesCatalog()
	}
	if q.Explain == plan.Explain {
		s.tell(p)
		r.report = p.report(nil, time.Time{})
		r.showPlan(s)
		return nil
	}
	if q.InTx {
		if err := s.allowNested(p.text.AGE); err != nil {
			return err
		}
	}
	if n := q.Lifted + len(q.Params); n != len(p.vals) {
		return dberr.New(dberr.Internal, "the plan has %d parameters, not %d", n, len(p.vals))
	}
	opt := s.execOptions(ctx, tx, q, p.text.AGE, &r.lease)
	if err := p.v.Prep.RunInto(&r.own, ctx, stmt, g, p.vals, &opt); err != nil {
		return err
	}
	cur, err := &r.own, error(nil)
	r.cur = cur
	// C3: what writes runs to its end before its first row leaves, also when nobody asks for rows. The first pull does that.
	profile := q.Explain == plan.Profile
	if profile {
		r.began = time.Now()
	}
	if !q.ReadOnly || profile && !s.PlanAside {
		r.n, err = cur.Next()
		for r.pulled = true; err == nil && profile && !s.PlanAside && r.n > 0; {
			r.n, err = cur.Next()
		}
		if err != nil {
			cur.Close()
			return err
		}
	}
	s.tell(p)
	if profile && !s.PlanAside {
		r.showPlan(s)
	}
	return nil
}

// tell hands the notices of a plan to the client.
func (s *Session) tell(p *planned) {
	for _, n := range p.q.Notices {
		pos, end := p.text.Span(n.Pos, n.End, p.v)
		s.Notify(Notice{Severity: "NOTICE", Code: "00000", Name: n.Code, Message: n.Message, Hint: n.Hint, Pos: pos, End: end})
	}
}

func (s *Session) readOnly() bool { return s.now().readOnly }

func (s *Session) execOptions(ctx context.Context, tx store.Tx, q *plan.Query, age bool, lease *leases) exec.Options {
	lease.q = &s.db.memory
	now := s.now()
	o := exec.Options{
		BatchSize: int(now.batchSize),
		Reference: now.reference,
		WorkMem:   now.workMem,
		MemLimit:  now.memLimit,
		Zone:      now.location,
		Temp:      s.db.temp,
		Budget:    lease,
		Import:    s.db.files,
		Nested:    nested{s},
		Server:    surroundings{s},
		Profile:   q.Explain == plan.Profile || profiling(ctx),
		TxNow:     s.txTime,
		AGE:       age,
		Tx:        tx,
	}
	if i := interruptOf(ctx); i != nil {
		o.Cancel, o.Watched, o.Now = &i.flag, true, i.began
	} else {
		o.Now = time.Now()
	}
	return o
}

// cypherRows is a running Cypher statement, or the lines of a plan.
type cypherRows struct {
	stmt    store.Stmt
	cur     *exec.Cursor
	q       *plan.Query
	plan    *planned // nil for SQL's own plans
	planned planned
	retry   retry // what it takes to begin again; zero for SQL's own plans
	lease   leases
	own     exec.Cursor // memory of cur
	n, i    int         // rows in the cursor's current batch, and the next of them
	pulled  bool
	report  *plan.Report
	began   time.Time       // of a profiled statement
	lines   [][]value.Value // of the plan, in place of the statement's rows
	aside   bool            // the plan is asked for beside the rows
	closed  bool
	sum     Summary

	shared bool // the statement belongs to somebody else
	fences *fenceSet
	held   *heldRows // rows kept: those that are handed out, if it is not nil

	detached bool // the statement is closed; sum is what it did
}

// showPlan makes the plan the result, unless the session's client asks for it beside the rows.
func (r *cypherRows) showPlan(s *Session) {
	if r.aside = s.PlanAside; !r.aside {
		r.lines = planLines(r.planReport().String())
	}
}

// planReport returns the plan that EXPLAIN or PROFILE made; nil without.
func (r *cypherRows) planReport() *plan.Report {
	if r.report == nil && r.q.Explain == plan.Profile && r.cur != nil {
		rep := r.plan.report(r.cur, r.began)
		if !r.closed && r.aside {
			return rep // more may come
		}
		r.report = rep
	}
	return r.report
}

func (r *cypherRows) pull(ctx context.Context) (err error) {
	first := !r.pulled
	r.pulled = true
	r.i = 0
	r.n, err = r.cur.Next()
	for err != nil && first && r.retry.s != nil {
		p, cur, e := r.again(ctx, err)
		if e != nil {
			err = e
			break
		}
		r.cur.Close()
		r.plan, r.q, r.cur = p, p.q, cur
		r.n, err = cur.Next()
	}
	if err != nil && r.plan != nil {
		return r.plan.text.Place(err, r.plan.v)
	}
	if err != nil && r.fences != nil {
		return r.fences.place(err)
	}
	return err
}

func (r *cypherRows) Next(ctx context.Context) ([]value.Value, error) {
	if r.held != nil {
		if r.closed {
			return nil, nil
		}
		return r.held.Next(ctx)
	}
	if r.report != nil && !r.aside {
		if len(r.lines) == 0 {
			return nil, nil
		}
		line := r.lines[0]
		r.lines = r.lines[1:]
		return line, nil
	}
	if r.closed || r.cur == nil {
		return nil, nil
	}
	if !r.pulled || r.i >= r.n && r.n > 0 {
		if err := r.pull(ctx); err != nil {
			return nil, err
		}
	}
	if r.n == 0 || len(r.q.Columns) == 0 {
		return nil, nil
	}
	r.i++
	return r.cur.Row(r.i - 1), nil
}

func (r *cypherRows) Close() {
	if r.closed {
		return
	}
	if !r.detached {
		r.summary()
	}
	r.closed = true
	r.planReport()
	r.held.free()
	r.fences.free()
	if r.cur != nil {
		r.cur.Close()
	}
	if !r.shared && !r.detached {
		r.stmt.Close()
	}
}

// Summary is what a statement changed and cost.
type Summary struct {
	store.Counters
	PeakMemory int64
}

func summaryOf(c *store.Counters) Summary { return Summary{Counters: *c} }

func (r *cypherRows) summary() *Summary {
	if !r.closed && !r.detached {
		r.sum = Summary{}
		if r.cur != nil {
			r.sum = summaryOf(r.cur.Counters())
			r.sum.PeakMemory = r.cur.PeakMemory()
		} else if c := r.stmt.Counters(); c != nil {
			r.sum = summaryOf(c)
		}
	}
	return &r.sum
}

// CommitBefore commits the implicit transaction of a statement that wrote while its rows are still to be read: they are bytes in a spool
// by now, or in memory. On an error the portal is closed and nothing was committed.
func (s *Session) CommitBefore(ctx context.Context, p *Portal) error {
	if r, ok := p.rows.(*cypherRows); ok && !p.done {
		if err := r.detach(s); err != nil {
			s.Fail()
			return err
		}
	}
	delete(s.portals, p.name)
	err := s.EndImplicit(ctx)
	if err != nil {
		p.Close()
	}
	return err
}

// detach ends what ties a result to its transaction.
func (r *cypherRows) detach(s *Session) error {
	if r.cur != nil && r.held == nil && !r.cur.Detach() {
		if err := r.drain(s); err != nil {
			return err
		}
	}
	r.summary()
	r.detached = true
	r.stmt.Close()
	return nil
}

// Wrote reports whether the statement may have changed something.
func (p *Portal) Wrote() bool {
	r, ok := p.rows.(*cypherRows)
	return ok && (!r.q.ReadOnly || r.fences != nil && r.fences.wrote)
}

// Profiled reports whether the statement is profiled, rather than explained or just run.
func (p *Portal) Profiled() bool {
	r, ok := p.rows.(*cypherRows)
	return ok && r.q.Explain == plan.Profile
}

// KB prints bytes as a memory setting.
func KB(bytes int64) string { return strconv.FormatInt(max(64, bytes>>10), 10) + "kB" }
