package session

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/query/sqlbind"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// catalog is what names in a SQL statement mean to a session.
type catalog struct {
	ctx   context.Context
	s     *Session
	calls []*callSource // in textual order
	once  bool          // what was bound is of use for one execution only
}

// Cypher binds a call of cypher().
func (c *catalog) Cypher(graph, text *string, at int, args []expr.Expr) (*sqlbind.CypherCall, error) {
	if graph == nil {
		if c.s.agePrepared == "" {
			return nil, dberr.New(dberr.Syntax, "a name constant is expected")
		}
		graph, text = &c.s.ageGraph, new(string)
		*text = c.s.agePrepared
		c.s.agePrepared = ""
		c.once, at = true, -1
	} else {
		for _, known := range c.calls { // of a CTE that is read more than once: it runs once all the same
			if known.at == at {
				return &sqlbind.CypherCall{Columns: known.columns, Source: known}, nil
			}
		}
	}
	call := &callSource{graph: *graph, text: *text, at: at, args: args}
	q, err := c.s.bindCypher(c.ctx, call.graph, call.text)
	if err != nil {
		if dberr.Is(err, dberr.InvalidSchema) {
			return nil, err
		}
		return nil, call.shift(err)
	}
	if len(q.Params) > 0 && args == nil {
		return nil, dberr.New(dberr.MissingParameter, "parameters argument is missing from cypher() function call")
	}
	call.names, call.columns, call.writes = q.Params, q.Columns, !q.ReadOnly
	if q.Explain != plan.NoExplain {
		call.columns = []string{"QUERY PLAN"}
	}
	i := len(c.calls)
	for i > 0 && c.calls[i-1].at > at {
		i--
	}
	c.calls = slices.Insert(c.calls, i, call)
	return &sqlbind.CypherCall{Columns: call.columns, Source: call}, nil
}

// Relation finds a catalog table.
func (c *catalog) Relation(schemaName, name string) (*sqlbind.Relation, error) {
	t := catalogTables[name]
	if t == nil || t.schema != schemaName && schemaName != "" {
		if schemaName != "" && schemaName != "pg_catalog" && schemaName != "ag_catalog" && schemaName != "information_schema" && schemaName != "public" {
			return c.labelTable(schemaName, name)
		}
		return nil, nil
	}
	if schemaName != "" && schemaName != t.schema {
		return nil, nil
	}
	return &sqlbind.Relation{Columns: t.columns, Source: &tableSource{t: t, s: c.s, name: name}}, nil
}

// labelTable is a label read as a table (rules D1): exactly what MATCH finds, with the columns that Apache AGE's tables have.
func (c *catalog) labelTable(graph, label string) (*sqlbind.Relation, error) {
	tx, err := c.s.need(c.ctx)
	if err != nil {
		return nil, err
	}
	stmt, err := tx.Begin(c.ctx)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	missing := dberr.New(dberr.UndefinedTable, "relation \"%s.%s\" does not exist", graph, label)
	g, err := stmt.Graph(c.ctx, graph)
	if dberr.Is(err, dberr.InvalidSchema) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	entity, pattern := schema.Vertex, ":"+cypher.QuoteName(label)
	switch label {
	case "_ag_label_vertex":
		pattern = ""
	case "_ag_label_edge":
		entity, pattern = schema.Edge, ""
	default:
		found := false
		for _, l := range g.Labels(stmt.View(0)) {
			if l.Name == label && !(found && l.Entity == schema.Edge) { // a label and a type of one name: the label
				entity, found = l.Entity, true
			}
		}
		if !found {
			return nil, missing
		}
	}
	columns, text := cols("id", sqltype.Graphid, "properties", sqltype.Agtype), "MATCH (n"+pattern+") RETURN id(n), properties(n)"
	if entity == schema.Edge {
		columns = cols("id", sqltype.Graphid, "start_id", sqltype.Graphid, "end_id", sqltype.Graphid, "properties", sqltype.Agtype)
		text = "MATCH (a)-[r" + pattern + "]->(b) RETURN id(r), id(a), id(b), properties(r)"
	}
	return &sqlbind.Relation{Columns: columns, Source: &labelSource{callSource{graph: graph, text: text}, label}}, nil
}

// labelSource reads a label's rows at the statement's start.
type labelSource struct {
	callSource
	label string
}

func (l *labelSource) String() string { return l.graph + "." + quoteIdent(l.label) }

func (l *labelSource) Open(ctx context.Context, args []value.Value) (plan.SourceRows, error) {
	if f := ctx.Value(fenceKey{}).(*fenceSet); f.wrote {
		// It would see what the calls of cypher() have written, and SQL reads at the statement's start (rules C4).
		return nil, dberr.New(dberr.FeatureNotSupported, "a statement that writes through cypher() cannot read %s as a table", l).
			WithHint("Read it in a statement of its own, or with MATCH inside cypher().")
	}
	return l.callSource.Open(ctx, args)
}

// catalogTable is a table that the session computes.
type catalogTable struct {
	schema  string
	columns []sqlbind.Column
	rows    func(ctx context.Context, s *Session, tx store.Tx, stmt store.Stmt) ([][]value.Value, error)
}

type tableSource struct {
	t    *catalogTable
	s    *Session
	name string
}

func (t *tableSource) String() string { return t.t.schema + "." + t.name }

func (t *tableSource) Open(ctx context.Context, _ []value.Value) (plan.SourceRows, error) {
	f := ctx.Value(fenceKey{}).(*fenceSet)
	data, ok := f.tables[t]
	if !ok {
		var err error
		if data, err = t.t.rows(ctx, t.s, f.tx, f.stmt); err != nil {
			return nil, err
		}
		if f.tables == nil {
			f.tables = map[*tableSource][][]value.Value{}
		}
		f.tables[t] = data
	}
	return &fixed{data: data}, nil
}

func cols(pairs ...any) []sqlbind.Column {
	var out []sqlbind.Column
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, sqlbind.Column{Name: pairs[i].(string), Type: pairs[i+1].(*sqltype.Type)})
	}
	return out
}

func text(s string) value.Value { return value.NewString(s) }
func num(i int64) value.Value   { return value.NewInt(i) }
func flag(b bool) value.Value   { return value.NewBool(b) }

// Object ids of schemas and other rows that have no id of their own.
const (
	oidPgCatalog = 11
	oidPublic    = 2200
	oidAgCatalog = 16385
	oidInfo      = 13000
	oidGraphs    = 20000 // + graph id
	oidLabels    = 1 << 20
	oidOwner     = 10
)

func graphOID(g schema.Graph) int64 { return oidGraphs + int64(g.ID) }

func labelOID(g schema.Graph, l schema.Label) int64 { return oidLabels + int64(g.ID)<<16 + int64(l.ID) }

// eachGraph visits the graphs with their labels, those of every graph (_ag_label_vertex, _ag_label_edge) first.
func eachGraph(ctx context.Context, tx store.Tx, stmt store.Stmt, f func(g schema.Graph, labels []schema.Label)) error {
	graphs, err := tx.Graphs(ctx)
	if err != nil {
		return err
	}
	for _, g := range graphs {
		sg, err := stmt.Graph(ctx, g.Name)
		if err != nil {
			return err
		}
		labels := []schema.Label{{ID: schema.VertexLabel, Name: "_ag_label_vertex"}, {ID: schema.EdgeLabel, Name: "_ag_label_edge", Entity: schema.Edge}}
		for _, l := range sg.Labels(stmt.View(0)) {
			if l.ID >= schema.FirstUserLabel {
				labels = append(labels, l)
			}
		}
		f(g, labels)
	}
	return nil
}

var catalogTables map[string]*catalogTable

func init() {
	T := sqltype.Text
	catalogTables = map[string]*catalogTable{
		"ag_graph": {"ag_catalog", cols("graphid", sqltype.OID, "name", sqltype.Name, "namespace", sqltype.Regnamespc),
			func(ctx context.Context, _ *Session, tx store.Tx, _ store.Stmt) (out [][]value.Value, err error) {
				graphs, err := tx.Graphs(ctx)
				for _, g := range graphs {
					out = append(out, []value.Value{num(graphOID(g)), text(g.Name), num(graphOID(g))})
				}
				return out, err
			}},
		"ag_label": {"ag_catalog", cols("name", sqltype.Name, "graph", sqltype.OID, "id", sqltype.Int4, "kind", sqltype.Char, "relation", sqltype.Regclass, "seq_name", sqltype.Name),
			func(ctx context.Context, _ *Session, tx store.Tx, stmt store.Stmt) (out [][]value.Value, err error) {
				err = eachGraph(ctx, tx, stmt, func(g schema.Graph, labels []schema.Label) {
					for _, l := range labels {
						out = append(out, []value.Value{text(l.Name), num(graphOID(g)), num(int64(l.ID)), text(labelKind(l.Entity)),
							num(labelOID(g, l)), text(l.Name + "_id_seq")})
					}
				})
				return out, err
			}},
		"pg_namespace": {"pg_catalog", cols("oid", sqltype.OID, "nspname", sqltype.Name, "nspowner", sqltype.OID, "nspacl", sqltype.TextArray),
			func(ctx context.Context, _ *Session, tx store.Tx, _ store.Stmt) (out [][]value.Value, err error) {
				for _, n := range schemas {
					out = append(out, []value.Value{num(n.oid), text(n.name), num(oidOwner), {}})
				}
				graphs, err := tx.Graphs(ctx)
				for _, g := range graphs {
					out = append(out, []value.Value{num(graphOID(g)), text(g.Name), num(oidOwner), {}})
				}
				return out, err
			}},
		"pg_type": {"pg_catalog", cols("oid", sqltype.OID, "typname", sqltype.Name, "typnamespace", sqltype.OID, "typowner", sqltype.OID, "typlen", sqltype.Int2, "typbyval", sqltype.Bool,
			"typtype", sqltype.Char, "typcategory", sqltype.Char, "typispreferred", sqltype.Bool, "typisdefined", sqltype.Bool, "typdelim", sqltype.Char, "typrelid", sqltype.OID,
			"typelem", sqltype.OID, "typarray", sqltype.OID, "typinput", sqltype.Regproc, "typoutput", sqltype.Regproc, "typreceive", sqltype.Regproc, "typsend", sqltype.Regproc, "typcollation", sqltype.OID, "typndims", sqltype.Int4, "typdefault", T, "typacl", sqltype.TextArray,
			"typnotnull", sqltype.Bool, "typbasetype", sqltype.OID, "typtypmod", sqltype.Int4),
			func(context.Context, *Session, store.Tx, store.Stmt) (out [][]value.Value, err error) {
				for _, t := range sqltype.All {
					ns, elem, array, kind := int64(oidPgCatalog), int64(0), int64(0), "b"
					if t == sqltype.Agtype || t == sqltype.Graphid || t == sqltype.AgtypeArray {
						ns = oidAgCatalog
					}
					if t.Elem != nil {
						elem = int64(t.Elem.OID)
					}
					in := t.Internal
					if t.Array != nil {
						array = int64(t.Array.OID)
					}
					if t.Elem != nil {
						in = "array_"
					}
					if t.Category == 'P' || t.Category == 'X' {
						kind = "p"
					}
					out = append(out, []value.Value{num(int64(t.OID)), text(t.Internal), num(ns), num(oidOwner), num(int64(t.Len)), flag(t.Len > 0 && t.Len <= 8),
						text(kind), text(string(t.Category)), flag(false), flag(true), text(","), num(0), num(elem), num(array),
						text(in + "in"), text(in + "out"), text(in + "recv"), text(in + "send"), num(0), num(0), {}, {}, flag(false), num(0), num(-1)})
				}
				return out, nil
			}},
		"pg_class": {"pg_catalog", cols("oid", sqltype.OID, "relname", sqltype.Name, "relnamespace", sqltype.OID, "reltype", sqltype.OID, "relowner", sqltype.OID, "relam", sqltype.OID,
			"relpages", sqltype.Int4, "reltuples", sqltype.Float4, "relhasindex", sqltype.Bool, "relkind", sqltype.Char, "relnatts", sqltype.Int2, "relpersistence", sqltype.Char, "relispartition", sqltype.Bool,
			"relchecks", sqltype.Int2, "relhasrules", sqltype.Bool, "relhastriggers", sqltype.Bool, "relrowsecurity", sqltype.Bool, "relforcerowsecurity", sqltype.Bool,
			"reltablespace", sqltype.OID, "reloftype", sqltype.OID, "relreplident", sqltype.Char, "reltoastrelid", sqltype.OID, "relacl", sqltype.TextArray,
			"reloptions", sqltype.TextArray, "relpartbound", T, "relhassubclass", sqltype.Bool),
			func(ctx context.Context, _ *Session, tx store.Tx, stmt store.Stmt) (out [][]value.Value, err error) {
				err = eachGraph(ctx, tx, stmt, func(g schema.Graph, labels []schema.Label) {
					sg, gerr := stmt.Graph(ctx, g.Name)
					if gerr != nil {
						return
					}
					for _, l := range labels {
						n, atts := sg.NodeCount(l.ID), int64(2)
						if l.Entity == schema.Edge {
							n, atts = sg.RelCount(l.ID), 4
						}
						out = append(out, []value.Value{num(labelOID(g, l)), text(l.Name), num(graphOID(g)), num(0), num(oidOwner), num(2), num(0),
							value.NewFloat(n), flag(true), text("r"), num(atts), text("p"), flag(false),
							num(0), flag(false), flag(false), flag(false), flag(false), num(0), num(0), text("d"), num(0), {}, {}, {}, flag(false)})
					}
				})
				return out, err
			}},
		"pg_database": {"pg_catalog", cols("oid", sqltype.OID, "datname", sqltype.Name, "datdba", sqltype.OID, "encoding", sqltype.Int4, "datistemplate", sqltype.Bool, "datallowconn", sqltype.Bool,
			"datcollate", T, "datctype", T, "daticulocale", T, "datlocprovider", sqltype.Char, "datacl", sqltype.TextArray, "datconnlimit", sqltype.Int4, "dattablespace", sqltype.OID),
			func(_ context.Context, s *Session, _ store.Tx, _ store.Stmt) ([][]value.Value, error) {
				return [][]value.Value{{num(5), text(s.client.Database), num(oidOwner), num(6), flag(false), flag(true), text("C"), text("C"), {}, text("c"), {}, num(-1), num(0)}}, nil
			}},
		"pg_roles": {"pg_catalog", cols("oid", sqltype.OID, "rolname", sqltype.Name, "rolsuper", sqltype.Bool, "rolcanlogin", sqltype.Bool,
			"rolinherit", sqltype.Bool, "rolcreaterole", sqltype.Bool, "rolcreatedb", sqltype.Bool, "rolconnlimit", sqltype.Int4, "rolvaliduntil", sqltype.Timestamptz,
			"rolreplication", sqltype.Bool, "rolbypassrls", sqltype.Bool), rolesTable},
		"pg_user": {"pg_catalog", cols("usesysid", sqltype.OID, "usename", sqltype.Name, "usesuper", sqltype.Bool, "usecanlogin", sqltype.Bool), rolesTable},
		"pg_extension": {"pg_catalog", cols("oid", sqltype.OID, "extname", sqltype.Name, "extowner", sqltype.OID, "extnamespace", sqltype.OID, "extrelocatable", sqltype.Bool, "extversion", T),
			func(context.Context, *Session, store.Tx, store.Stmt) ([][]value.Value, error) {
				return [][]value.Value{
					{num(13500), text("plpgsql"), num(oidOwner), num(oidPgCatalog), flag(false), text("1.0")},
					{num(16386), text("age"), num(oidOwner), num(oidAgCatalog), flag(false), text("1.7.0")},
				}, nil
			}},
		"pg_available_extensions": {"pg_catalog", cols("name", sqltype.Name, "default_version", T, "installed_version", T, "comment", T),
			func(context.Context, *Session, store.Tx, store.Stmt) ([][]value.Value, error) {
				return [][]value.Value{{text("age"), text("1.7.0"), text("1.7.0"), text("graph queries with cypher()")}}, nil
			}},
		"pg_settings": {"pg_catalog", cols("name", T, "setting", T, "unit", T, "category", T, "short_desc", T, "vartype", T, "boot_val", T, "reset_val", T),
			func(_ context.Context, s *Session, _ store.Tx, _ store.Stmt) (out [][]value.Value, err error) {
				for _, n := range settingNames() {
					d := settings[strings.ToLower(n)]
					kind := map[settingKind]string{boolSetting: "bool", intSetting: "integer", enumSetting: "enum", memorySetting: "integer", durationSetting: "integer"}[d.kind]
					if kind == "" {
						kind = "string"
					}
					out = append(out, []value.Value{text(n), text(s.raw(d)), {}, text("Hedgerow"), text(d.help), text(kind), text(d.initial), text(d.initial)})
				}
				return out, nil
			}},
		"pg_prepared_statements": {"pg_catalog", cols("name", T, "statement", T, "from_sql", sqltype.Bool),
			func(_ context.Context, s *Session, _ store.Tx, _ store.Stmt) (out [][]value.Value, err error) {
				var names []string
				for n := range s.prepared {
					names = append(names, n)
				}
				sort.Strings(names)
				for _, n := range names {
					if n != "" {
						out = append(out, []value.Value{text(n), text(s.prepared[n].Text), flag(s.prepared[n].sqlText)})
					}
				}
				return out, nil
			}},
	}
}

func rolesTable(_ context.Context, s *Session, _ store.Tx, _ store.Stmt) ([][]value.Value, error) {
	return [][]value.Value{{num(oidOwner), text(s.client.User), flag(true), flag(true), flag(true), flag(true), flag(true), num(-1), {}, flag(false), flag(true)}}, nil
}

func quoteIdent(s string) string {
	for i, r := range s {
		if !(r >= 'a' && r <= 'z' || r == '_' || i > 0 && r >= '0' && r <= '9') {
			return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
		}
	}
	return s
}

// RegName and RegOID know the relations and schemas by number: those of graphs and those of the catalog.
func (c *catalog) RegName(t *sqltype.Type, oid int64) (string, bool) { return c.s.regName(t, oid) }

func (c *catalog) RegOID(t *sqltype.Type, name string) (oid int64, ok bool) {
	schemaName, rest, qualified := strings.Cut(name, ".")
	schemaName, rest = unquoteIdent(schemaName), unquoteIdent(rest)
	for _, n := range schemas {
		if t == sqltype.Regnamespc && !qualified && n.name == schemaName {
			return n.oid, true
		}
	}
	if (t == sqltype.Regclass) != qualified {
		return 0, false
	}
	tx, err := c.s.need(c.s.runContext())
	if err != nil {
		return 0, false
	}
	graphs, err := tx.Graphs(c.s.runContext())
	for _, g := range graphs {
		if g.Name != schemaName || err != nil {
			continue
		}
		if t == sqltype.Regnamespc {
			return graphOID(g), true
		}
		c.s.labelsOf(c.s.runContext(), tx, g.Name, func(l schema.Label) {
			if l.Name == rest {
				oid, ok = labelOID(g, l), true
			}
		})
	}
	return oid, ok
}

// schemas are those that are no graphs.
var schemas = []struct {
	oid  int64
	name string
}{{oidPgCatalog, "pg_catalog"}, {oidPublic, "public"}, {oidAgCatalog, "ag_catalog"}, {oidInfo, "information_schema"}}

func (s *Session) regName(t *sqltype.Type, oid int64) (name string, ok bool) {
	for _, n := range schemas {
		if t == sqltype.Regnamespc && n.oid == oid {
			return n.name, true
		}
	}
	ctx := s.runContext()
	tx, err := s.need(ctx)
	if err != nil {
		return "", false
	}
	graphs, err := tx.Graphs(ctx)
	for _, g := range graphs {
		switch {
		case err != nil:
		case t == sqltype.Regnamespc && graphOID(g) == oid:
			return quoteIdent(g.Name), true
		case t == sqltype.Regclass && oid >= oidLabels && (oid-oidLabels)>>16 == int64(g.ID):
			s.labelsOf(ctx, tx, g.Name, func(l schema.Label) {
				if labelOID(g, l) == oid {
					name, ok = quoteIdent(g.Name)+"."+quoteIdent(l.Name), true
				}
			})
		}
	}
	return name, ok
}

func unquoteIdent(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
	}
	return strings.ToLower(s)
}

// Function finds the functions that need a session.
func (c *catalog) Function(schemaName, name string) *sqlbind.Function {
	if schemaName != "" && schemaName != "pg_catalog" && schemaName != "ag_catalog" && schemaName != "public" {
		return nil
	}
	s := c.s
	constant := func(t *sqltype.Type, f func() string) *sqlbind.Function {
		return &sqlbind.Function{Result: t, Vol: expr.Statement, Call: func([]value.Value) (value.Value, error) { return text(f()), nil }}
	}
	switch name {
	case "version":
		return constant(sqltype.Text, func() string { return "PostgreSQL 15.8 (Hedgerow)" })
	case "current_database", "current_catalog":
		return constant(sqltype.Name, func() string { return s.client.Database })
	case "current_user", "session_user", "user", "current_role":
		return constant(sqltype.Name, func() string { return s.client.User })
	case "current_schema":
		return constant(sqltype.Name, func() string { return "public" })
	case "current_schemas":
		return &sqlbind.Function{Args: []*sqltype.Type{sqltype.Bool}, Result: sqltype.NameArray, Call: func(a []value.Value) (value.Value, error) {
			return value.NewList(text("pg_catalog"), text("public"), text("ag_catalog")), nil
		}}
	case "pg_backend_pid":
		return &sqlbind.Function{Result: sqltype.Int4, Vol: expr.Statement, Call: func([]value.Value) (value.Value, error) { return num(int64(os.Getpid())), nil }}
	case "now", "transaction_timestamp", "statement_timestamp", "clock_timestamp":
		return &sqlbind.Function{Result: sqltype.Timestamptz, Vol: expr.Statement, Call: func([]value.Value) (value.Value, error) {
			t := time.Now()
			if !s.txTime.IsZero() && (name == "now" || name == "transaction_timestamp") {
				t = s.txTime
			}
			return value.ParseTemporal(value.DateTime, t.UTC().Format("2006-01-02T15:04:05.999999Z07:00"))
		}}
	case "current_setting":
		return &sqlbind.Function{Args: []*sqltype.Type{sqltype.Text, sqltype.Bool}, Optional: 1, Result: sqltype.Text, Vol: expr.Volatile, Call: func(a []value.Value) (value.Value, error) {
			if _, err := findSetting(a[0].Str()); err != nil {
				if len(a) > 1 && a[1].Bool() {
					return value.Value{}, nil
				}
				return value.Value{}, err
			}
			return text(s.Setting(a[0].Str())), nil
		}}
	case "set_config":
		return &sqlbind.Function{Args: []*sqltype.Type{sqltype.Text, sqltype.Text, sqltype.Bool}, Result: sqltype.Text, Vol: expr.Volatile, Call: func(a []value.Value) (value.Value, error) {
			if err := s.Set(strings.Clone(a[0].Str()), strings.Clone(a[1].Str()), a[2].Bool()); err != nil {
				return value.Value{}, err
			}
			return text(s.Setting(a[0].Str())), nil
		}}
	case "pg_sleep":
		return &sqlbind.Function{Args: []*sqltype.Type{sqltype.Float8}, Result: sqltype.Void, Vol: expr.Volatile, Call: func(a []value.Value) (value.Value, error) {
			end := time.Now().Add(time.Duration(a[0].Float() * float64(time.Second)))
			for time.Now().Before(end) && !s.interrupted() {
				time.Sleep(min(5*time.Millisecond, time.Until(end)))
			}
			if s.interrupted() {
				return value.Value{}, dberr.New(dberr.Canceled, "canceling statement due to user request")
			}
			return text(""), nil
		}}
	case "format_type":
		return &sqlbind.Function{Args: []*sqltype.Type{sqltype.OID, sqltype.Int4}, Result: sqltype.Text, NullIn: true, Call: func(a []value.Value) (value.Value, error) {
			if a[0].IsNull() {
				return value.Value{}, nil
			}
			if t := sqltype.ByOID(uint32(a[0].Int())); t != nil {
				return text(t.Name), nil
			}
			return text("???"), nil
		}}
	case "pg_get_expr", "pg_get_indexdef", "pg_get_constraintdef", "pg_get_triggerdef", "pg_get_function_result", "pg_get_function_arguments", "pg_get_functiondef",
		"pg_get_viewdef", "pg_get_statisticsobjdef_columns", "pg_get_partkeydef":
		return &sqlbind.Function{Args: []*sqltype.Type{nil, nil, nil}, Optional: 2, Result: sqltype.Text, NullIn: true, Call: func([]value.Value) (value.Value, error) { return value.Value{}, nil }}
	case "pg_relation_is_publishable":
		return &sqlbind.Function{Args: []*sqltype.Type{nil}, Result: sqltype.Bool, Call: func([]value.Value) (value.Value, error) { return flag(false), nil }}
	case "pg_get_userbyid":
		return &sqlbind.Function{Args: []*sqltype.Type{sqltype.OID}, Result: sqltype.Name, Call: func([]value.Value) (value.Value, error) { return text(s.client.User), nil }}
	case "pg_table_is_visible", "pg_type_is_visible", "pg_function_is_visible":
		return &sqlbind.Function{Args: []*sqltype.Type{sqltype.OID}, Result: sqltype.Bool, Call: func([]value.Value) (value.Value, error) { return flag(true), nil }}
	case "pg_encoding_to_char":
		return &sqlbind.Function{Args: []*sqltype.Type{sqltype.Int4}, Result: sqltype.Name, Call: func([]value.Value) (value.Value, error) { return text("UTF8"), nil }}
	case "obj_description", "col_description", "shobj_description":
		return &sqlbind.Function{Args: []*sqltype.Type{nil, nil}, Optional: 1, Result: sqltype.Text, NullIn: true, Call: func([]value.Value) (value.Value, error) { return value.Value{}, nil }}
	case "has_schema_privilege", "has_table_privilege", "has_database_privilege":
		return &sqlbind.Function{Args: []*sqltype.Type{nil, nil, nil}, Optional: 1, Result: sqltype.Bool, Call: func([]value.Value) (value.Value, error) { return flag(true), nil }}
	}
	return c.graphFunction(name)
}

// graphFunction finds Apache AGE's functions on graphs and labels. Their texts are AGE's.
func (c *catalog) graphFunction(name string) *sqlbind.Function {
	s := c.s
	N, B := sqltype.Name, sqltype.Bool
	do := func(args []*sqltype.Type, optional int, f func(ctx context.Context, tx store.Tx, a []value.Value) error) *sqlbind.Function {
		return &sqlbind.Function{Args: args, Optional: optional, Result: sqltype.Void, NullIn: true, Vol: expr.Volatile, Call: func(a []value.Value) (value.Value, error) {
			ctx := s.runContext()
			tx, err := s.need(ctx)
			if err != nil {
				return value.Value{}, err
			}
			if s.readOnly() {
				return value.Value{}, dberr.New(dberr.ReadOnlyTransaction, "cannot execute %s() in a read-only transaction", name)
			}
			s.changesCatalog()
			return text(""), f(ctx, tx, a)
		}}
	}
	arg := func(a []value.Value, i int) string {
		if i < len(a) && !a[i].IsNull() {
			return strings.Clone(a[i].Str())
		}
		return ""
	}
	exists := func(ctx context.Context, tx store.Tx, graph string) (bool, error) {
		graphs, err := tx.Graphs(ctx)
		for _, g := range graphs {
			if g.Name == graph {
				return true, err
			}
		}
		return false, err
	}
	switch name {
	case "create_graph":
		return do([]*sqltype.Type{N}, 0, func(ctx context.Context, tx store.Tx, a []value.Value) error {
			if a[0].IsNull() {
				return dberr.New(dberr.InvalidParameterValue, "graph name can not be NULL")
			}
			if err := tx.CreateGraph(ctx, arg(a, 0)); err != nil {
				if dberr.Is(err, dberr.DuplicateObject) {
					return dberr.New(dberr.InvalidSchema, "graph %q already exists", arg(a, 0))
				}
				if dberr.Is(err, dberr.InvalidName) || dberr.Is(err, dberr.InvalidParameterValue) {
					return dberr.New(dberr.InvalidParameterValue, "graph name is invalid").WithDetail("%s", dberr.As(err).Message)
				}
				return err
			}
			s.notice("NOTICE", "00000", fmt.Sprintf("graph %q has been created", arg(a, 0)))
			return nil
		})
	case "drop_graph":
		return do([]*sqltype.Type{N, B}, 1, func(ctx context.Context, tx store.Tx, a []value.Value) error {
			if a[0].IsNull() {
				return dberr.New(dberr.InvalidParameterValue, "graph name can not be NULL")
			}
			graph, cascade := arg(a, 0), len(a) > 1 && a[1].Bool()
			ok, err := exists(ctx, tx, graph)
			if err != nil {
				return err
			}
			if !ok {
				return dberr.New(dberr.InvalidSchema, "graph %q does not exist", graph)
			}
			if !cascade {
				return dberr.New(dberr.DependentObjects, "cannot drop schema %s because other objects depend on it", quoteIdent(graph)).
					WithDetail("table %s._ag_label_vertex depends on schema %s\ntable %s._ag_label_edge depends on schema %s", quoteIdent(graph), quoteIdent(graph), quoteIdent(graph), quoteIdent(graph)).
					WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
			}
			var names []string
			if err := s.labelsOf(ctx, tx, graph, func(l schema.Label) {
				names = append(names, fmt.Sprintf("drop cascades to table %s.%s", quoteIdent(graph), quoteIdent(l.Name)))
			}); err != nil {
				return err
			}
			if err := tx.DropGraph(ctx, graph, true); err != nil {
				return err
			}
			s.Notify(Notice{Severity: "NOTICE", Code: "00000", Message: fmt.Sprintf("drop cascades to %d other objects", len(names)),
				Detail: strings.Join(names, "\n"), Pos: -1, End: -1})
			s.notice("NOTICE", "00000", fmt.Sprintf("graph %q has been dropped", graph))
			return nil
		})
	case "create_vlabel", "create_elabel":
		entity, what := schema.Vertex, "VLabel"
		if name == "create_elabel" {
			entity, what = schema.Edge, "ELabel"
		}
		return do([]*sqltype.Type{sqltype.Text, sqltype.Text}, 0, func(ctx context.Context, tx store.Tx, a []value.Value) error {
			switch {
			case a[0].IsNull():
				return dberr.New(dberr.InvalidParameterValue, "graph name must not be NULL")
			case a[1].IsNull():
				return dberr.New(dberr.InvalidParameterValue, "label name must not be NULL")
			}
			graph, label := arg(a, 0), arg(a, 1)
			ok, err := exists(ctx, tx, graph)
			if err != nil {
				return err
			}
			if !ok {
				return dberr.New(dberr.InvalidSchema, "graph %q does not exist.", graph)
			}
			if !validLabel(label) {
				return dberr.New(dberr.InvalidParameterValue, "label name is invalid")
			}
			if err := tx.CreateLabel(ctx, graph, label, entity); err != nil {
				if dberr.Is(err, dberr.DuplicateObject) {
					return dberr.New(dberr.InvalidSchema, "label %q already exists", label)
				}
				return err
			}
			s.notice("NOTICE", "00000", fmt.Sprintf("%s %q has been created", what, label))
			return nil
		})
	case "drop_label":
		return do([]*sqltype.Type{N, N, B}, 1, func(ctx context.Context, tx store.Tx, a []value.Value) error {
			graph, label := arg(a, 0), arg(a, 1)
			switch {
			case a[0].IsNull():
				return dberr.New(dberr.InvalidParameterValue, "graph name must not be NULL")
			case a[1].IsNull():
				return dberr.New(dberr.InvalidParameterValue, "label name must not be NULL")
			case len(a) > 2 && a[2].Bool():
				return dberr.New(dberr.FeatureNotSupported, "force option is not supported yet")
			}
			entity, found := schema.Vertex, false
			if err := s.labelsOf(ctx, tx, graph, func(l schema.Label) {
				if l.Name == label && l.ID >= schema.FirstUserLabel {
					entity, found = l.Entity, true
				}
			}); err != nil {
				return err
			}
			if !found {
				return dberr.New(dberr.InvalidSchema, "label %q does not exist", label)
			}
			if err := tx.DropLabel(ctx, graph, label, entity); err != nil {
				return err
			}
			s.notice("NOTICE", "00000", fmt.Sprintf("label \"%s\".\"%s\" has been dropped", graph, label))
			return nil
		})
	case "graph_exists":
		return &sqlbind.Function{Args: []*sqltype.Type{N}, Result: sqltype.Agtype, Vol: expr.Volatile, Call: func(a []value.Value) (value.Value, error) {
			ctx := s.runContext()
			tx, err := s.need(ctx)
			if err != nil {
				return value.Value{}, err
			}
			ok, err := exists(ctx, tx, arg(a, 0))
			return flag(ok), err
		}}
	case "age_prepare_cypher":
		return &sqlbind.Function{Args: []*sqltype.Type{sqltype.Text, sqltype.Text}, Result: B, Vol: expr.Volatile, Call: func(a []value.Value) (value.Value, error) {
			s.ageGraph, s.agePrepared, s.ageDialect = arg(a, 0), arg(a, 1), true
			s.changed()
			return flag(true), nil
		}}
	case "is_valid_label_name":
		return &sqlbind.Function{Args: []*sqltype.Type{sqltype.Text}, Result: B, Call: func(a []value.Value) (value.Value, error) {
			return flag(validLabel(a[0].Str())), nil
		}}
	}
	return nil
}

// labelsOf visits the labels of a graph, those of every graph first.
func (s *Session) labelsOf(ctx context.Context, tx store.Tx, graph string, f func(schema.Label)) error {
	stmt, err := tx.Begin(ctx)
	if err != nil {
		return err
	}
	defer stmt.Close()
	g, err := stmt.Graph(ctx, graph)
	if err != nil {
		return err
	}
	f(schema.Label{ID: schema.VertexLabel, Name: "_ag_label_vertex"})
	f(schema.Label{ID: schema.EdgeLabel, Name: "_ag_label_edge", Entity: schema.Edge})
	for _, l := range g.Labels(stmt.View(0)) {
		if l.ID >= schema.FirstUserLabel {
			f(l)
		}
	}
	return nil
}

// validLabel is AGE's rule for the names of labels.
func validLabel(s string) bool {
	if s == "" || len(s) > 63 {
		return false
	}
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
}
