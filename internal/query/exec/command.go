package exec

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// schemaCommand changes the catalog.
type schemaCommand struct {
	core
	n    *plan.SchemaCommand
	done bool
}

func (o *schemaCommand) open() error { o.done = false; return nil }

func (o *schemaCommand) next() (*expr.Batch, error) {
	if o.done {
		return nil, nil
	}
	o.done = true
	t, ctx := o.x.opt.Tx, o.x.ctx
	if t == nil {
		return nil, dberr.New(dberr.Internal, "a schema command needs a transaction")
	}
	if n, ok := t.(store.SchemaCounter); ok {
		n.SchemaChanges() // those of others
		defer func() {
			made, sum := n.SchemaChanges(), o.x.stmt.Counters()
			sum.IndexesAdded += made.IndexesAdded
			sum.IndexesRemoved += made.IndexesRemoved
			sum.ConstraintsAdded += made.ConstraintsAdded
			sum.ConstraintsRemoved += made.ConstraintsRemoved
		}()
	}
	graph := ""
	if o.x.g != nil {
		graph = o.x.g.Name()
	}
	switch o.n.Kind {
	case plan.CreateIndex:
		return nil, t.CreateIndex(ctx, graph, o.n.Index)
	case plan.DropIndex:
		return nil, t.DropIndex(ctx, graph, o.n.Name, o.n.IfExists)
	case plan.CreateConstraint:
		return nil, t.CreateConstraint(ctx, graph, o.n.Constraint)
	case plan.DropConstraint:
		return nil, t.DropConstraint(ctx, graph, o.n.Name, o.n.IfExists)
	case plan.CreateGraph, plan.DropGraph:
		return nil, o.graph(ctx, t)
	}
	return nil, dberr.New(dberr.Internal, "unknown schema command")
}

func (o *schemaCommand) graph(ctx context.Context, t store.Tx) error {
	if o.n.IfExists {
		list, err := t.Graphs(ctx)
		if err != nil {
			return err
		}
		exists := slices.ContainsFunc(list, func(g schema.Graph) bool { return g.Name == o.n.Name })
		if exists == (o.n.Kind == plan.CreateGraph) {
			return nil
		}
	}
	var err error
	if o.n.Kind == plan.CreateGraph {
		err = t.CreateGraph(ctx, o.n.Name)
	} else {
		err = t.DropGraph(ctx, o.n.Name, o.n.Cascade)
	}
	if err == nil {
		o.x.stmt.Counters().GraphsChanged++
	}
	return err
}

// rowsOf is what SHOW yields: rows of named fields, handed out in batches.
type rowsOf struct {
	rows []map[string]value.Value
	pos  int
}

func texts(list []string) value.Value {
	out := make([]value.Value, len(list))
	for i, s := range list {
		out[i] = value.NewString(s)
	}
	return value.NewList(out...)
}

// show yields rows about the catalog.
type show struct {
	core
	n    *plan.Show
	data rowsOf
	have bool
}

func (o *show) open() error { o.have = false; return nil }

func (o *show) next() (*expr.Batch, error) {
	if !o.have {
		o.have = true
		if err := o.sync(); err != nil {
			return nil, err
		}
		o.data = rowsOf{}
		if err := o.load(); err != nil {
			return nil, err
		}
	}
	if o.data.pos >= len(o.data.rows) {
		return nil, nil
	}
	to := min(len(o.data.rows), o.data.pos+o.x.opt.BatchSize)
	o.out.start()
	for _, f := range o.n.Fields {
		col := o.out.col(f.Slot)
		for _, r := range o.data.rows[o.data.pos:to] {
			col.Append(r[f.Field])
		}
	}
	o.out.b.N = to - o.data.pos
	o.data.pos = to
	return &o.out.b, nil
}

func (o *show) add(kv ...any) {
	row := map[string]value.Value{}
	for i := 0; i < len(kv); i += 2 {
		var v value.Value
		switch x := kv[i+1].(type) {
		case string:
			v = value.NewString(x)
		case int:
			v = value.NewInt(int64(x))
		case float64:
			v = value.NewFloat(x)
		case bool:
			v = value.NewBool(x)
		case []string:
			v = texts(x)
		}
		row[kv[i].(string)] = v
	}
	o.data.rows = append(o.data.rows, row)
}

func quoted(names []string, prefix string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = prefix + "`" + strings.ReplaceAll(n, "`", "``") + "`"
	}
	return strings.Join(out, ", ")
}

// target writes (n:`L`) or ()-[n:`T`]-().
func target(e schema.Entity, label string) string {
	l := quoted([]string{label}, "n:")
	if e == schema.Edge {
		return "()-[" + l + "]-()"
	}
	return "(" + l + ")"
}

var entityNames = [...]string{schema.Vertex: "NODE", schema.Edge: "RELATIONSHIP"}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// constraintType is what SHOW CONSTRAINTS calls a constraint.
func constraintType(c *schema.Constraint) string {
	kind := [...]string{schema.Unique: "UNIQUENESS", schema.NotNull: "PROPERTY_EXISTENCE", schema.NodeKey: "KEY", schema.PropertyType: "PROPERTY_TYPE"}[c.Kind]
	if c.Kind == schema.Unique && c.Entity == schema.Vertex {
		return kind
	}
	return entityNames[c.Entity] + "_" + kind
}

// propertyType is the type that a constraint asks for, or null.
func propertyType(c *schema.Constraint) any {
	if c.Kind != schema.PropertyType {
		return nil
	}
	return c.Type.String()
}

// createStatement is the command that makes a constraint.
func createStatement(c *schema.Constraint) string {
	is := "IS " + [...]string{schema.Unique: "UNIQUE", schema.NotNull: "NOT NULL", schema.NodeKey: entityNames[c.Entity] + " KEY", schema.PropertyType: ":: "}[c.Kind]
	if c.Kind == schema.PropertyType {
		is += c.Type.String()
	}
	return fmt.Sprintf("CREATE CONSTRAINT %s FOR %s REQUIRE (%s) %s", quoted([]string{c.Name}, ""), target(c.Entity, c.LabelName), quoted(c.KeyNames, "n."), is)
}

func (o *show) load() error {
	x := o.x
	switch o.n.Kind {
	case plan.ShowIndexes:
		for _, ix := range x.g.Indexes(o.env.View) {
			o.add("id", int(ix.ID), "name", ix.Name, "state", "ONLINE", "populationPercent", 100.0, "type", "RANGE",
				"entityType", entityNames[ix.Entity], "labelsOrTypes", []string{ix.LabelName}, "properties", ix.KeyNames,
				"owningConstraint", orNull(ix.Constraint), "unique", ix.Unique,
				"createStatement", fmt.Sprintf("CREATE INDEX %s FOR %s ON (%s)", quoted([]string{ix.Name}, ""), target(ix.Entity, ix.LabelName), quoted(ix.KeyNames, "n.")))
		}
	case plan.ShowConstraints:
		for i, c := range x.g.Constraints(o.env.View) {
			o.add("id", i+1, "name", c.Name, "type", constraintType(&c), "entityType", entityNames[c.Entity],
				"labelsOrTypes", []string{c.LabelName}, "properties", c.KeyNames, "ownedIndex", orNull(c.Index), "propertyType", propertyType(&c),
				"createStatement", createStatement(&c))
		}
	case plan.ShowFunctions:
		for _, d := range expr.Functions() {
			o.add("name", d.Name, "category", d.Category, "description", d.Description, "signature", signature(d), "aggregating", d.Aggregate)
		}
	case plan.ShowProcedures:
		for _, p := range builtins {
			o.add("name", p.Name, "description", p.Description, "mode", "READ", "worksOnSystem", false, "signature", p.signature())
		}
	case plan.ShowGraphs:
		if x.opt.Tx == nil {
			return dberr.New(dberr.Internal, "SHOW DATABASES needs a transaction")
		}
		list, err := x.opt.Tx.Graphs(x.ctx)
		if err != nil {
			return err
		}
		for _, g := range list {
			home := x.g != nil && g.Name == x.g.Name()
			o.add("name", g.Name, "type", "standard", "access", "read-write", "currentStatus", "online", "default", home, "home", home)
		}
	case plan.ShowSettings:
		for _, s := range x.opt.Settings {
			o.add("name", s[0], "value", s[1], "isDynamic", true, "defaultValue", nil, "description", nil)
		}
	case plan.ShowTransactions:
	case plan.ShowLabels, plan.ShowTypes:
		for _, l := range x.g.Labels(o.env.View) {
			if (l.Entity == schema.Edge) == (o.n.Kind == plan.ShowTypes) {
				o.add("name", l.Name)
			}
		}
	case plan.ShowKeys:
		for _, k := range x.g.Keys() {
			o.add("name", k)
		}
	}
	return nil
}

func signature(d *expr.Def) string {
	if len(d.Sigs) == 0 {
		return d.Name + "()"
	}
	s := d.Sigs[0]
	args := make([]string, len(s.Args))
	for i, a := range s.Args {
		args[i] = a.String()
	}
	return fmt.Sprintf("%s(%s) :: %s", d.Name, strings.Join(args, ", "), s.Result)
}

// Procedure is something that CALL can call.
type Procedure struct {
	bind.Proc
	Description string
	// Call yields rows, one value for each field of Out.
	Call func(env *expr.Env, args []value.Value, yield func(row ...value.Value) error) error
}

func (p *Procedure) signature() string {
	fields := func(fs []bind.Field) string {
		out := make([]string, len(fs))
		for i, f := range fs {
			out[i] = f.Name + " :: " + f.Type.String()
		}
		return strings.Join(out, ", ")
	}
	return fmt.Sprintf("%s(%s) :: (%s)", p.Name, fields(p.In), fields(p.Out))
}

// Procedures finds procedures by name.
type Procedures interface {
	Lookup(name string) (*Procedure, bool)
}

// Builtins are the procedures that every database has.
var Builtins Procedures = builtinSet{}

type builtinSet struct{}

func (b builtinSet) Lookup(name string) (*Procedure, bool) {
	if p, ok := b.own(name); ok || extra == nil {
		return p, ok
	}
	return extra.Lookup(name)
}

func (builtinSet) own(name string) (*Procedure, bool) {
	for i := range builtins {
		if strings.EqualFold(builtins[i].Name, name) {
			return &builtins[i], true
		}
	}
	return nil, false
}

// Signatures shows procedures to the binder.
type Signatures struct{ Procedures }

// Procedure implements bind.Procs.
func (s Signatures) Procedure(name string) (*bind.Proc, bool) {
	if p, ok := s.Lookup(name); ok {
		return &p.Proc, true
	}
	return nil, false
}

var builtins = []Procedure{
	{
		Proc:        bind.Proc{Name: "db.labels", Out: []bind.Field{{Name: "label", Type: expr.TString}}},
		Description: "The labels of the graph.",
		Call: func(env *expr.Env, _ []value.Value, yield func(...value.Value) error) error {
			return labels(env, schema.Vertex, yield)
		},
	},
	{
		Proc:        bind.Proc{Name: "db.propertyKeys", Out: []bind.Field{{Name: "propertyKey", Type: expr.TString}}},
		Description: "The property keys of the graph.",
		Call: func(env *expr.Env, _ []value.Value, yield func(...value.Value) error) error {
			for _, k := range env.Graph.Keys() {
				if err := yield(value.NewString(k)); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		Proc:        bind.Proc{Name: "db.relationshipTypes", Out: []bind.Field{{Name: "relationshipType", Type: expr.TString}}},
		Description: "The relationship types of the graph.",
		Call: func(env *expr.Env, _ []value.Value, yield func(...value.Value) error) error {
			return labels(env, schema.Edge, yield)
		},
	},
	{
		Proc: bind.Proc{Name: "dbms.components", Out: []bind.Field{
			{Name: "name", Type: expr.TString}, {Name: "versions", Type: expr.TList}, {Name: "edition", Type: expr.TString},
		}},
		Description: "What serves this database.",
		Call: func(_ *expr.Env, _ []value.Value, yield func(...value.Value) error) error {
			return yield(value.NewString("Hedgerow"), texts([]string{"5.0.0"}), value.NewString("community"))
		},
	},
	analyzeProcedure,
	statisticsProcedure,
}

func labels(env *expr.Env, e schema.Entity, yield func(...value.Value) error) error {
	for _, l := range env.Graph.Labels(env.View) {
		if l.Entity == e {
			if err := yield(value.NewString(l.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// procedure calls a procedure for every input row.
type procedure struct {
	core
	in    input
	n     *plan.ProcedureCall
	proc  *Procedure
	args  []*expr.Program
	argv  []vec.Column
	field []int // of Out, for each yield
	idx   []uint16
	vals  []value.Value
	acc   spool
	have  bool
	page  rows
}

// find looks the procedure up again: the plan holds its name only.
func (o *procedure) find() error {
	procs := o.x.opt.Procedures
	if procs == nil {
		procs = Builtins
	}
	p, ok := procs.Lookup(o.n.Name)
	if !ok {
		return dberr.New(dberr.ProcedureNotFound, "there is no procedure with the name `%s`", o.n.Name).WithToken("ProcedureNotFound")
	}
	o.proc = p
	for _, y := range o.n.Yields {
		i := slices.IndexFunc(p.Out, func(f bind.Field) bool { return f.Name == y.Field })
		if i < 0 {
			return dberr.New(dberr.Internal, "procedure %s has no field %s", p.Name, y.Field)
		}
		o.field = append(o.field, i)
	}
	o.acc.init(o.x, &o.acct)
	return nil
}

func (o *procedure) open() error {
	o.have = false
	return o.in.op.open()
}

func (o *procedure) close() {
	if o.acc.x != nil {
		o.acc.close()
	}
	o.core.close()
}

func (o *procedure) next() (*expr.Batch, error) {
	for {
		if o.have {
			ok, err := o.acc.read(&o.out, o.x.opt.BatchSize)
			if err != nil {
				return nil, err
			}
			if ok {
				return &o.out.b, nil
			}
			o.have = false
		}
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
		for i, p := range o.args {
			if err := p.Eval(&o.env, b, nil, &o.argv[i]); err != nil {
				return nil, err
			}
		}
		o.acc.reset()
		for i := range b.N {
			if err := o.call(b, i); err != nil {
				return nil, err
			}
		}
		o.have = true
		o.acc.rewind()
	}
}

func (o *procedure) call(b *expr.Batch, row int) error {
	o.vals = o.vals[:0]
	for i := range o.argv {
		o.vals = append(o.vals, o.argv[i].Value(row))
	}
	o.idx = append(o.idx[:0], uint16(row))
	o.page.width = o.out.width
	emit := func(vals ...value.Value) error {
		o.page.start()
		o.page.gather(b, nil, o.idx)
		for k, y := range o.n.Yields {
			v := value.Value{}
			if vals != nil {
				v = vals[o.field[k]]
			}
			o.page.col(y.Slot).Append(v)
		}
		o.page.b.N = 1
		return o.acc.add(&o.page.b, nil)
	}
	n := 0
	err := o.proc.Call(&o.env, o.vals, func(vals ...value.Value) error {
		n++
		return emit(vals...)
	})
	if err == nil && (o.n.Void || n == 0 && o.n.Optional) {
		err = emit()
	}
	return err
}
