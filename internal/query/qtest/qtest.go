// Package qtest runs Cypher against any store, for tests: single statements, openCypher's TCK, and the case file.
//
// It joins parser, binder, planner and executor the way a session does, without a session: every statement is a transaction of
// its own. Only tests import it.
package qtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/query/plancache"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/store/memstore"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Result is what a statement gave. Values are the caller's own.
type Result struct {
	Columns  []string
	Rows     [][]value.Value
	Counters store.Counters
	Peak     int64 // accounted bytes
	Profile  []*exec.OpProfile
	Plan     *plan.Query
}

// Params are parameters by name.
type Params = map[string]value.Value

// Target runs statements: a query engine under test.
type Target interface {
	// Reset makes the graph empty and forgets procedures.
	Reset() error
	Run(text string, params map[string]value.Value) (*Result, error)
}

// DB is a graph in a store, and how statements are run on it.
type DB struct {
	Store store.Store
	Graph string
	Exec  exec.Options
	Plan  plan.Options
	Iso   store.Isolation
	// Cache, if set, finds plans as sessions do: a statement's plan is made for the same text with other literals.
	Cache *plancache.Cache
	// Begin, if set, is run in every new graph.
	Begin []string

	newStore func() store.Store
	reuse    bool // one store, a graph for each Reset
	graphs   int
}

// Name of the graph that New makes.
const graphName = "main"

// New returns an empty graph in a store of its own. A nil maker means memstore.
func New(maker func() store.Store) *DB {
	if maker == nil {
		maker = func() store.Store { return memstore.New() }
	}
	d := &DB{Graph: graphName, newStore: maker}
	if err := d.Reset(); err != nil {
		panic(err)
	}
	return d
}

// On returns an empty graph in a store that serves others too; every Reset drops the graph and makes another one.
func On(s store.Store) *DB {
	d := &DB{Store: s, reuse: true}
	if err := d.Reset(); err != nil {
		panic(err)
	}
	return d
}

// Reset starts again with a new store, or with On with a new graph.
func (d *DB) Reset() error {
	ctx := context.Background()
	d.Exec.Procedures = nil
	if d.Cache != nil {
		d.Cache.Clear() // another graph, and perhaps other procedures
	}
	if !d.reuse {
		d.Store = d.newStore()
	}
	tx, err := d.Store.Begin(ctx, store.TxOptions{})
	if err != nil {
		return err
	}
	if d.reuse {
		if d.Graph != "" {
			if err := tx.DropGraph(ctx, d.Graph, true); err != nil {
				_ = tx.Rollback()
				return err
			}
		}
		d.graphs++
		d.Graph = fmt.Sprintf("graph%p_%d", d, d.graphs)
	}
	if err := tx.CreateGraph(ctx, d.Graph); err != nil {
		_ = tx.Rollback()
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	for _, q := range d.Begin {
		if _, err := d.Run(q, nil); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

// Run runs one statement in a transaction of its own.
func (d *DB) Run(text string, params map[string]value.Value) (*Result, error) {
	ctx := context.Background()
	tx, err := d.Store.Begin(ctx, store.TxOptions{Isolation: d.Iso})
	if err != nil {
		return nil, err
	}
	res, err := d.RunIn(ctx, tx, text, params)
	if err != nil {
		_ = tx.Rollback()
		return nil, err
	}
	return res, tx.Commit(ctx)
}

// Prepare parses, binds and plans a statement.
func (d *DB) Prepare(text string, g store.Graph, v store.View) (*exec.Prepared, error) {
	if d.Cache != nil {
		p, _, _, err := d.prepare(text, g, v)
		return p, err
	}
	st, err := cypher.Parse(text, cypher.Options{})
	if err != nil {
		return nil, err
	}
	bound, err := bind.Bind(st, bind.Options{Procs: d.procs()})
	if err != nil {
		return nil, err
	}
	po := d.Plan
	po.View, po.Reference = v, d.Exec.Reference
	q, err := plan.Make(bound, g, po)
	if err != nil {
		return nil, err
	}
	return exec.Prepare(q), nil
}

func (d *DB) procs() bind.Procs {
	if d.Exec.Procedures != nil {
		return exec.Signatures{Procedures: d.Exec.Procedures}
	}
	return exec.Signatures{Procedures: exec.Builtins}
}

// RunIn runs one statement in a transaction.
func (d *DB) RunIn(ctx context.Context, tx store.Tx, text string, params map[string]value.Value) (_ *Result, err error) {
	stmt, err := tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	g, err := stmt.Graph(ctx, d.Graph)
	if err != nil {
		return nil, err
	}
	p, t, v, err := d.prepare(text, g, stmt.View(1<<32-1))
	if err != nil {
		return nil, err
	}
	if t != nil {
		defer func() {
			if err != nil {
				err = t.Place(err, v)
			}
		}()
	}
	args, err := p.Params(params, t.Values()...)
	if err != nil {
		return nil, err
	}
	o := d.Exec
	o.Tx = tx
	cur, err := p.Run(ctx, stmt, g, args, o)
	if err != nil {
		return nil, err
	}
	defer cur.Close()
	res := &Result{Columns: cur.Columns(), Plan: p.Query}
	for {
		n, err := cur.Next()
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		for i := range n {
			row := slices.Clone(cur.Row(i))
			for k := range row {
				row[k] = row[k].Clone()
			}
			res.Rows = append(res.Rows, row)
		}
	}
	res.Counters, res.Peak, res.Profile = *cur.Counters(), cur.PeakMemory(), cur.Profile()
	return res, nil
}

// Must runs a statement that has to succeed.
func (d *DB) Must(t testing.TB, text string, params map[string]value.Value) *Result {
	t.Helper()
	res, err := d.Run(text, params)
	if err != nil {
		t.Fatalf("%s\n%s", text, Explain(err))
	}
	return res
}

// Text writes rows in TCK notation, one row a line, cells joined by |.
func (r *Result) Text() string {
	var b strings.Builder
	for _, row := range r.Rows {
		for i, v := range row {
			if i > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(Canon(v, false))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Explain writes an error with all that clients are told.
func Explain(err error) string {
	var e *dberr.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	phase := "runtime"
	if e.Phase == dberr.CompileTime {
		phase = "compile time"
	}
	return e.Code.TCKType() + " at " + phase + ": " + e.Token + " (" + e.Code.String() + "): " + e.Error()
}

// TempDir makes temporary files in a directory.
type TempDir struct {
	Dir string

	mu    sync.Mutex
	Files int // made so far
}

// Create implements exec.Temp.
func (d *TempDir) Create() (exec.File, error) {
	f, err := os.CreateTemp(d.Dir, "spill-*")
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.Files++
	d.mu.Unlock()
	return tempFile{f}, nil
}

type tempFile struct{ *os.File }

func (f tempFile) Close() error {
	err := f.File.Close()
	return errors.Join(err, os.Remove(f.Name()))
}

// Files are what LOAD CSV finds: content by the path of a file: URL without its first slash.
type Files map[string]string

// Open implements exec.Importer.
func (f Files) Open(url string) (io.ReadCloser, string, error) {
	name := strings.TrimPrefix(url, "file:///")
	text, ok := f[name]
	if !ok {
		return nil, "", dberr.New(dberr.ExternalResource, "there is no file %q", url)
	}
	return io.NopCloser(strings.NewReader(text)), "/" + name, nil
}
