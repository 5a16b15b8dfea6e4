package exec

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// Server tells what SHOW, TERMINATE and the dbms procedures say of what lies around a statement.
type Server interface {
	Settings() []Setting
	// Transactions lists the open transactions, those of others too, in the order in which they began.
	Transactions() []Transaction
	// Terminate ends the open transactions with the names: what they run is interrupted, and they fail. It returns the user of each that it found.
	Terminate(names []string) map[string]string
	User() string
	Home() string // the graph of statements that name none
	Address() string
	// Aliases are names of databases that no graph may have: the graph that each means, "" for one that holds none.
	Aliases() map[string]string
}

// Setting is a row of SHOW SETTINGS.
type Setting struct {
	Name, Value, Default, Startup, Description, Valid string
	Dynamic, Set                                      bool // may be changed; was changed
}

// Transaction is a row of SHOW TRANSACTIONS.
type Transaction struct {
	ID, Outer, Graph, User        string
	Connection, Address, Protocol string
	Begun                         time.Time
	Metadata                      value.Value // a map, or null
	Terminated                    bool
	Query                         string // that runs, or ""
	QueryID                       uint64
	QueryBegun                    time.Time
}

// show yields rows about the catalog and the server.
type show struct {
	core
	n    *plan.Show
	args []*expr.Program

	names []string // behind the noun; nil for all
	rows  []map[string]value.Value
	pos   int
	have  bool
}

func (o *show) open() error { o.have = false; return nil }

func (o *show) next() (*expr.Batch, error) {
	if !o.have {
		o.have = true
		if err := o.sync(); err != nil {
			return nil, err
		}
		o.rows, o.pos = nil, 0
		if err := o.evalNames(); err != nil {
			return nil, err
		}
		if err := o.load(); err != nil {
			return nil, err
		}
	}
	if o.pos >= len(o.rows) {
		return nil, nil
	}
	to := min(len(o.rows), o.pos+o.x.opt.BatchSize)
	o.out.start()
	for _, f := range o.n.Fields {
		col := o.out.col(f.Slot)
		for _, r := range o.rows[o.pos:to] {
			col.Append(r[f.Field])
		}
	}
	o.out.b.N = to - o.pos
	o.pos = to
	return &o.out.b, nil
}

// evalNames evaluates the names behind the noun.
func (o *show) evalNames() error {
	o.names = nil
	one := expr.Batch{N: 1, Cols: make([]*vec.Column, o.out.width)}
	var col vec.Column
	add := func(v value.Value) error {
		if v.Kind() != value.String {
			return dberr.New(dberr.TypeError, "a name is a String or a List of them, found %s", value.AppendTCK(nil, v)).WithToken("InvalidArgumentType")
		}
		o.names = append(o.names, strings.Clone(v.Str()))
		return nil
	}
	for _, p := range o.args {
		if err := p.Eval(&o.env, &one, nil, &col); err != nil {
			return err
		}
		v := col.Value(0)
		if v.Kind() != value.List {
			if err := add(v); err != nil {
				return err
			}
			continue
		}
		o.names = append(o.names, "")[:len(o.names)] // an empty list names nothing, which is not all
		for i := range v.Len() {
			if err := add(v.At(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *show) named(name string) bool {
	return len(o.args) == 0 || slices.ContainsFunc(o.names, func(n string) bool { return strings.EqualFold(n, name) })
}

func texts(list []string) value.Value {
	out := make([]value.Value, len(list))
	for i, s := range list {
		out[i] = value.NewString(s)
	}
	return value.NewList(out...)
}

func (o *show) add(kv ...any) {
	row := map[string]value.Value{}
	for i := 0; i < len(kv); i += 2 {
		row[kv[i].(string)] = cell(kv[i+1])
	}
	o.rows = append(o.rows, row)
}

// cell turns what Go holds into a value; nil is null.
func cell(x any) value.Value {
	switch x := x.(type) {
	case value.Value:
		return x
	case string:
		return value.NewString(x)
	case int:
		return value.NewInt(int64(x))
	case int64:
		return value.NewInt(x)
	case float64:
		return value.NewFloat(x)
	case bool:
		return value.NewBool(x)
	case []string:
		return texts(x)
	case time.Duration:
		return value.NewDuration(0, 0, int64(x/time.Second), int64(x%time.Second))
	}
	return value.Value{}
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

// indexStatement is the command that makes an index.
func indexStatement(ix *schema.Index) string {
	return fmt.Sprintf("CREATE RANGE INDEX %s FOR %s ON (%s)", quoted([]string{ix.Name}, ""), target(ix.Entity, ix.LabelName), quoted(ix.KeyNames, "n."))
}

func (o *show) load() error {
	switch o.n.Kind {
	case plan.ShowIndexes:
		o.indexes()
	case plan.ShowConstraints:
		o.constraints()
	case plan.ShowFunctions:
		o.functions()
	case plan.ShowProcedures:
		o.procedures()
	case plan.ShowGraphs:
		return o.graphs()
	case plan.ShowSettings:
		o.settings()
	case plan.ShowTransactions:
		o.transactions()
	case plan.TerminateTransactions:
		o.terminate()
	case plan.ShowUsers:
		user, home := "", ""
		if s := o.x.opt.Server; s != nil {
			user, home = s.User(), s.Home()
		}
		o.add("user", user, "roles", []string{"admin", "PUBLIC"}, "passwordChangeRequired", false, "suspended", false, "home", home)
	}
	return nil
}

func (o *show) indexes() {
	if o.n.Filter != "" && o.n.Filter != "RANGE" {
		return // there are no others
	}
	list := slices.Clone(o.x.g.Indexes(o.env.View))
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	options := value.NewMap([]string{"indexProvider", "indexConfig"}, []value.Value{value.NewString("range-1.0"), value.NewMap(nil, nil)})
	for _, ix := range list {
		o.add("id", int(ix.ID), "name", ix.Name, "state", "ONLINE", "populationPercent", 100.0, "type", "RANGE", "entityType", entityNames[ix.Entity],
			"labelsOrTypes", []string{ix.LabelName}, "properties", ix.KeyNames, "indexProvider", "range-1.0", "owningConstraint", orNull(ix.Constraint),
			"options", options, "failureMessage", "", "createStatement", indexStatement(&ix))
	}
}

// constraintFilters are the types that the words before CONSTRAINTS choose.
var constraintFilters = func() map[string]string {
	out := map[string]string{"": " "}
	add := func(types string, words ...string) {
		for _, w := range words {
			out[w] = " " + types + " "
		}
	}
	add("UNIQUENESS", "NODE UNIQUE", "NODE UNIQUENESS", "NODE PROPERTY UNIQUE", "NODE PROPERTY UNIQUENESS")
	add("RELATIONSHIP_UNIQUENESS", "RELATIONSHIP UNIQUE", "RELATIONSHIP UNIQUENESS", "REL UNIQUE", "REL UNIQUENESS")
	add("UNIQUENESS RELATIONSHIP_UNIQUENESS", "UNIQUE", "UNIQUENESS", "PROPERTY UNIQUE", "PROPERTY UNIQUENESS")
	add("NODE_KEY", "NODE KEY")
	add("RELATIONSHIP_KEY", "RELATIONSHIP KEY", "REL KEY")
	add("NODE_KEY RELATIONSHIP_KEY", "KEY")
	add("NODE_PROPERTY_EXISTENCE", "NODE EXIST", "NODE EXISTENCE", "NODE PROPERTY EXIST", "NODE PROPERTY EXISTENCE")
	add("RELATIONSHIP_PROPERTY_EXISTENCE", "RELATIONSHIP EXIST", "RELATIONSHIP EXISTENCE", "REL EXIST", "RELATIONSHIP PROPERTY EXIST", "RELATIONSHIP PROPERTY EXISTENCE")
	add("NODE_PROPERTY_EXISTENCE RELATIONSHIP_PROPERTY_EXISTENCE", "EXIST", "EXISTENCE", "PROPERTY EXIST", "PROPERTY EXISTENCE")
	add("NODE_PROPERTY_TYPE", "NODE PROPERTY TYPE")
	add("RELATIONSHIP_PROPERTY_TYPE", "RELATIONSHIP PROPERTY TYPE", "REL PROPERTY TYPE")
	add("NODE_PROPERTY_TYPE RELATIONSHIP_PROPERTY_TYPE", "PROPERTY TYPE")
	return out
}()

func (o *show) constraints() {
	list := slices.Clone(o.x.g.Constraints(o.env.View))
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	want := constraintFilters[o.n.Filter]
	for i, c := range list {
		t := constraintType(&c)
		if o.n.Filter != "" && !strings.Contains(want, " "+t+" ") {
			continue
		}
		o.add("id", i+1, "name", c.Name, "type", t, "entityType", entityNames[c.Entity], "labelsOrTypes", []string{c.LabelName}, "properties", c.KeyNames,
			"ownedIndex", orNull(c.Index), "propertyType", propertyType(&c), "options", value.NewMap(nil, nil), "createStatement", createStatement(&c))
	}
}

func (o *show) functions() {
	if o.n.Filter == "USER DEFINED" {
		return
	}
	for _, d := range expr.Functions() {
		args := []value.Value{}
		if len(d.Sigs) > 0 {
			for i, a := range d.Sigs[0].Args {
				args = append(args, describeArg(fmt.Sprintf("input%d", i+1), a.String(), "", false))
			}
		}
		o.add("name", d.Name, "category", d.Category, "description", d.Description, "signature", signature(d), "isBuiltIn", true,
			"argumentDescription", value.NewList(args...), "returnDescription", resultOf(d), "aggregating", d.Aggregate, "isDeprecated", false)
	}
}

// describeArg describes an argument of a function or procedure.
func describeArg(name, typ, deflt string, optional bool) value.Value {
	keys := []string{"name", "type", "description", "isDeprecated"}
	vals := []value.Value{value.NewString(name), value.NewString(typ), value.NewString(name + " :: " + typ), value.NewBool(false)}
	if optional {
		keys = append(keys, "default")
		vals = append(vals, value.NewString("DefaultParameterValue{value="+deflt+", type="+typ+"}"))
	}
	return value.NewMap(keys, vals)
}

func resultOf(d *expr.Def) string {
	if len(d.Sigs) == 0 {
		return "ANY"
	}
	return d.Sigs[0].Result.String()
}

func signature(d *expr.Def) string {
	if len(d.Sigs) == 0 {
		return d.Name + "()"
	}
	s := d.Sigs[0]
	args := make([]string, len(s.Args))
	for i, a := range s.Args {
		args[i] = fmt.Sprintf("input%d :: %s", i+1, a)
	}
	return fmt.Sprintf("%s(%s) :: %s", d.Name, strings.Join(args, ", "), s.Result)
}

func (o *show) procedures() {
	for _, p := range builtins {
		var in, out []value.Value
		for _, f := range p.In {
			in = append(in, describeArg(f.Name, p.types[f.Name], p.defaults[f.Name], f.Optional))
		}
		for _, f := range p.Out {
			out = append(out, describeArg(f.Name, p.types[f.Name], "", false))
		}
		o.add("name", p.Name, "description", p.Description, "mode", p.Mode, "worksOnSystem", p.System, "signature", p.Signature,
			"argumentDescription", value.NewList(in...), "returnDescription", value.NewList(out...), "admin", false, "isDeprecated", p.Deprecated,
			"option", value.NewMap([]string{"deprecated"}, []value.Value{value.NewBool(p.Deprecated)}))
	}
}

func (o *show) graphs() error {
	if o.x.opt.Tx == nil {
		return dberr.New(dberr.Internal, "SHOW DATABASES needs a transaction")
	}
	list, err := o.x.opt.Tx.Graphs(o.x.ctx)
	if err != nil {
		return err
	}
	home, address, names := "main", "", map[string]string(nil)
	if s := o.x.opt.Server; s != nil {
		home, address, names = s.Home(), s.Address(), s.Aliases()
	} else if o.x.g != nil {
		home = o.x.g.Name()
	}
	slices.SortFunc(list, func(a, b schema.Graph) int { return strings.Compare(a.Name, b.Name) })
	for _, g := range list {
		aliases := []string{}
		for _, alias := range slices.Sorted(maps.Keys(names)) {
			if names[alias] == g.Name {
				aliases = append(aliases, alias)
			}
		}
		// DEFAULT and HOME are one here: each client has the graph that it asked for.
		if (o.n.Filter != "" && g.Name != home) || !o.named(g.Name) && !slices.ContainsFunc(aliases, o.named) {
			continue
		}
		o.add("name", g.Name, "type", "standard", "aliases", aliases, "access", "read-write", "databaseID", g.Name, "serverID", address, "address", address, "role", "primary",
			"writer", true, "requestedStatus", "online", "currentStatus", "online", "statusMessage", "", "default", g.Name == home, "home", g.Name == home,
			"currentPrimariesCount", 1, "currentSecondariesCount", 0, "requestedPrimariesCount", 1, "requestedSecondariesCount", 0, "store", "hedgerow", "replicationLag", 0,
			"constituents", []string{})
	}
	if o.n.Filter == "" && o.named("system") {
		o.add("name", "system", "type", "system", "aliases", []string{}, "access", "read-write", "databaseID", "system", "serverID", address, "address", address, "role", "primary",
			"writer", true, "requestedStatus", "online", "currentStatus", "online", "statusMessage", "", "default", false, "home", false,
			"currentPrimariesCount", 1, "currentSecondariesCount", 0, "requestedPrimariesCount", 1, "requestedSecondariesCount", 0, "store", "hedgerow", "replicationLag", 0,
			"constituents", []string{})
	}
	return nil
}

func (o *show) settings() {
	s := o.x.opt.Server
	if s == nil {
		return
	}
	for _, set := range s.Settings() {
		if o.named(set.Name) {
			o.add("name", set.Name, "value", set.Value, "isDynamic", set.Dynamic, "defaultValue", set.Default, "description", set.Description, "startupValue", set.Startup,
				"isExplicitlySet", set.Set, "validValues", set.Valid, "isDeprecated", false)
		}
	}
}

// instant writes a time as Cypher's DATETIME does.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func (o *show) transactions() {
	s := o.x.opt.Server
	if s == nil {
		return
	}
	now := time.Now()
	for _, t := range s.Transactions() {
		if !o.named(t.ID) {
			continue
		}
		status := "Running"
		if t.Terminated {
			status = "Terminated with reason: Neo.ClientError.Transaction.Terminated"
		}
		if t.Metadata.IsNull() {
			t.Metadata = value.NewMap(nil, nil)
		}
		kv := []any{"database", t.Graph, "transactionId", t.ID, "outerTransactionId", t.Outer, "connectionId", t.Connection, "clientAddress", t.Address, "username", t.User,
			"metaData", t.Metadata, "currentQueryId", "", "currentQuery", "", "parameters", value.NewMap(nil, nil), "startTime", instant(t.Begun), "protocol", t.Protocol,
			"status", status, "statusDetails", "", "elapsedTime", max(0, now.Sub(t.Begun)).Round(time.Millisecond)}
		if t.Query != "" {
			kv = append(kv, "currentQueryId", fmt.Sprintf("query-%d", t.QueryID), "currentQuery", t.Query, "currentQueryStartTime", instant(t.QueryBegun), "currentQueryStatus", "running",
				"currentQueryElapsedTime", max(0, now.Sub(t.QueryBegun)).Round(time.Millisecond))
		}
		o.add(kv...)
	}
}

func (o *show) terminate() {
	var found map[string]string
	if s := o.x.opt.Server; s != nil {
		found = s.Terminate(o.names)
	}
	for _, name := range o.names {
		if user, ok := found[name]; ok {
			o.add("transactionId", name, "username", user, "message", "Transaction terminated.")
		} else {
			o.add("transactionId", name, "username", nil, "message", "Transaction not found.")
		}
	}
}
