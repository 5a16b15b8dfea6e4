package session

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// planKey finds a plan. Two statements with one key have the same plan for as long as the catalog does not change.
type planKey struct {
	text, graph string
	flags       uint8
}

const (
	flagAGE uint8 = 1 << iota
	flagReference
)

// compiled is a plan ready to run. It is immutable and shared by sessions.
type compiled struct {
	prep    *exec.Prepared
	version uint64 // of the catalog that it was made for
	numbers bool   // parameters are $1 … $n
}

func (c *compiled) query() *plan.Query { return c.prep.Query }

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
	stmt, g, err := s.openGraph(ctx, tx, s.raw(settings["hedgerow.graph"]))
	if err != nil {
		return err
	}
	defer stmt.Close()
	return f(&looking{stmt, g})
}

// openGraph begins a statement and opens a graph in it. The default graph is made when it is missing (rules D2).
func (s *Session) openGraph(ctx context.Context, tx store.Tx, name string) (store.Stmt, store.Graph, error) {
	for made := false; ; made = true {
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

// compile returns the plan of a Cypher text on a graph that is open.
func (s *Session) compile(ctx context.Context, text string, g store.Graph, stmt store.Stmt, age bool) (*compiled, error) {
	key := planKey{text: text, graph: g.Name()}
	if age {
		key.flags |= flagAGE
	}
	reference := s.boolSetting("hedgerow.reference")
	if reference {
		key.flags |= flagReference
	}
	version := s.db.store.CatalogVersion()
	if c, ok := s.db.plans.GetIfPresent(key); ok && c.version == version && !reference {
		return c, nil
	}
	dialect := cypher.Cypher
	if age {
		dialect = cypher.AGE
	}
	st, err := cypher.Parse(text, cypher.Options{Dialect: dialect})
	if err != nil {
		return nil, err
	}
	bound, err := bind.Bind(st, bind.Options{AGE: age, Procs: exec.Signatures{Procedures: exec.Builtins}})
	if err != nil {
		return nil, err
	}
	q, err := plan.Make(bound, g, plan.Options{View: stmt.View(0), Reference: reference})
	if err != nil {
		return nil, err
	}
	c := &compiled{prep: exec.Prepare(q), version: version}
	for _, name := range q.Params {
		if _, err := strconv.Atoi(name); err == nil {
			c.numbers = true
		}
	}
	// A plan that was made while this transaction had changed the catalog itself may name what others do not see: it is not shared.
	if !q.Schema && !reference && q.Explain == plan.NoExplain && exec.Lasting(q) && !s.changedCatalog() {
		s.db.plans.Set(key, c)
	}
	return c, nil
}

// changedCatalog reports whether the open transaction has changed the catalog.
func (s *Session) changedCatalog() bool { return s.ddl }

// cypherCommand runs a bare Cypher statement.
type cypherCommand struct {
	text    string
	graph   string // graph that it was prepared on; "" for the session's
	names   []string
	args    []string // parameter names in the order of the arguments
	query   *plan.Query
	explain plan.ExplainMode
}

func (s *Session) prepareCypher(ctx context.Context, text string, types []*sqltype.Type) (*Prepared, error) {
	if s.failed {
		_, err := s.need(ctx)
		return nil, err
	}
	c := &cypherCommand{text: text}
	var q *plan.Query
	err := s.look(ctx, func(l *looking) error {
		comp, err := s.compile(ctx, text, l.graph, l.stmt, false)
		if err != nil {
			return err
		}
		q = comp.query()
		return nil
	})
	if err != nil {
		return nil, err
	}
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
func (c *cypherCommand) arguments(named map[string]value.Value, args []value.Value) ([]value.Value, error) {
	out := make([]value.Value, len(c.args))
	for i, name := range c.args {
		v, ok := named[name]
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
	byName := make(map[string]value.Value, len(args))
	for i, name := range c.args {
		byName[name] = args[i]
	}
	return s.runCypher(ctx, c.text, s.raw(settings["hedgerow.graph"]), byName, false)
}

// runCypher executes a Cypher text on a graph and returns its rows.
func (s *Session) runCypher(ctx context.Context, text, graph string, params map[string]value.Value, age bool) (rows, error) {
	tx, err := s.need(ctx)
	if err != nil {
		return nil, err
	}
	stmt, g, err := s.openGraph(ctx, tx, graph)
	if err != nil {
		return nil, err
	}
	r, err := s.execute(ctx, tx, stmt, g, text, params, age)
	if err == errReadCommitted {
		stmt.Close()
		return s.runReadCommitted(ctx, text, graph, params, age)
	}
	if err != nil {
		stmt.Close()
		return nil, err
	}
	return r, nil
}

func (s *Session) execute(ctx context.Context, tx store.Tx, stmt store.Stmt, g store.Graph, text string, params map[string]value.Value, age bool) (*cypherRows, error) {
	comp, err := s.compile(ctx, text, g, stmt, age)
	if err != nil {
		return nil, err
	}
	q := comp.query()
	if q.Graph != "" && q.Graph != g.Name() {
		if g, err = stmt.Graph(ctx, q.Graph); err != nil {
			return nil, err
		}
		if comp, err = s.compile(ctx, text, g, stmt, age); err != nil {
			return nil, err
		}
		q = comp.query()
	}
	for _, n := range q.Notices {
		s.Notify(Notice{Severity: "NOTICE", Code: "00000", Name: n.Code, Message: n.Message, Hint: n.Hint, Pos: n.Pos, End: n.End})
	}
	if !q.ReadOnly && s.readOnly() {
		return nil, dberr.New(dberr.ReadOnlyTransaction, "cannot write in a read-only transaction")
	}
	if q.Schema && !q.ReadOnly {
		s.ddl = true
	}
	if q.Explain == plan.Explain {
		r := &cypherRows{stmt: stmt, q: q, report: report(q, nil, time.Time{})}
		r.showPlan(s)
		return r, nil
	}
	began := time.Now()
	if q.InTx {
		if err := s.allowNested(age); err != nil {
			return nil, err
		}
	}
	vals, err := comp.prep.Params(params)
	if err != nil {
		return nil, err
	}
	cur, err := comp.prep.Run(ctx, stmt, g, vals, s.execOptions(ctx, tx, q, age))
	if err != nil {
		return nil, err
	}
	r := &cypherRows{stmt: stmt, cur: cur, q: q}
	// C3: what writes runs to its end before its first row leaves, also when nobody asks for rows. The first pull does that.
	profile := q.Explain == plan.Profile
	if !q.ReadOnly || profile && !s.PlanAside {
		if err := r.pull(); err != nil {
			cur.Close()
			return nil, err
		}
	}
	if profile {
		r.began = began
	}
	if profile && !s.PlanAside {
		for r.n > 0 {
			if err := r.pull(); err != nil {
				cur.Close()
				return nil, err
			}
		}
		r.showPlan(s)
	}
	return r, nil
}

func (s *Session) readOnly() bool { return s.boolSetting("transaction_read_only") }

func (s *Session) execOptions(ctx context.Context, tx store.Tx, q *plan.Query, age bool) exec.Options {
	o := exec.Options{
		BatchSize: int(s.intSetting("hedgerow.batch_size")),
		Reference: s.boolSetting("hedgerow.reference"),
		WorkMem:   s.intSetting("work_mem") << 10,
		MemLimit:  s.intSetting("hedgerow.mem_limit") << 10,
		Temp:      s.db.temp,
		Import:    s.db.files,
		Nested:    nested{s},
		Profile:   q.Explain == plan.Profile || profiling(ctx),
		Now:       time.Now(),
		TxNow:     s.txTime,
		AGE:       age,
		Tx:        tx,
	}
	if i := interruptOf(ctx); i != nil {
		o.Cancel = &i.flag
	}
	if zone := s.raw(settings["timezone"]); zone != "UTC" {
		o.Zone, _ = location(zone)
	}
	if q.Schema {
		for _, name := range settingNames() {
			o.Settings = append(o.Settings, [2]string{name, s.Setting(name)})
		}
	}
	return o
}

// cypherRows is a running Cypher statement, or the lines of a plan.
type cypherRows struct {
	stmt   store.Stmt
	cur    *exec.Cursor
	q      *plan.Query
	n, i   int // rows in the cursor's current batch, and the next of them
	pulled bool
	report *plan.Report
	began  time.Time       // of a profiled statement
	lines  [][]value.Value // of the plan, in place of the statement's rows
	aside  bool            // the plan is asked for beside the rows
	closed bool
	sum    Summary

	shared  bool // the statement belongs to somebody else
	fences  *fenceSet
	held    [][]value.Value // rows kept, once holding is set
	holding bool

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
		rep := report(r.q, r.cur, r.began)
		if !r.closed && r.aside {
			return rep // more may come
		}
		r.report = rep
	}
	return r.report
}

func (r *cypherRows) pull() (err error) {
	r.pulled = true
	r.i = 0
	r.n, err = r.cur.Next()
	return err
}

func (r *cypherRows) Next(ctx context.Context) ([]value.Value, error) {
	if r.holding {
		if len(r.held) == 0 {
			return nil, nil
		}
		row := r.held[0]
		r.held = r.held[1:]
		return row, nil
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
		if err := r.pull(); err != nil {
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
		r.sum = *r.summary()
	}
	r.closed = true
	r.planReport()
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
		var sum Summary
		if r.cur != nil {
			sum = summaryOf(r.cur.Counters())
		} else if c := r.stmt.Counters(); c != nil {
			sum = summaryOf(c)
		}
		if r.cur != nil {
			sum.PeakMemory = r.cur.PeakMemory()
		}
		return &sum
	}
	return &r.sum
}

// CommitBefore commits the implicit transaction of a statement that wrote while its rows are still to be read: they are bytes in a spool
// by now, or in memory. On an error the portal is closed and nothing was committed.
func (s *Session) CommitBefore(ctx context.Context, p *Portal) error {
	if r, ok := p.rows.(*cypherRows); ok && !p.done {
		if err := r.detach(); err != nil {
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
func (r *cypherRows) detach() error {
	if r.cur != nil && !r.holding && !r.cur.Detach() {
		if err := r.drain(); err != nil {
			return err
		}
	}
	r.sum = *r.summary()
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
