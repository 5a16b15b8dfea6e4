package exec

import (
	"runtime"
	"sort"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Version is the version of Neo4j whose procedures and columns clients find here; they choose their queries by it.
const Version = "5.26.0"

// yielder takes a row of a procedure.
type yielder = func(row ...value.Value) error

// fieldTypes are the types of arguments and columns by how a signature writes them.
var fieldTypes = map[string]expr.Type{
	"STRING": expr.TString, "INTEGER": expr.TInt, "FLOAT": expr.TFloat, "BOOLEAN": expr.TBool, "MAP": expr.TMap, "ANY": expr.Any,
	"LIST<STRING>": expr.TList, "LIST<ANY>": expr.TList, "LIST<MAP>": expr.TList, "LIST<NODE>": expr.TList, "LIST<RELATIONSHIP>": expr.TList,
}

// defaultValues are the defaults that signatures write.
var defaultValues = map[string]value.Value{"null": {}, "{}": value.NewMap(nil, nil), "300": value.NewInt(300), "16": value.NewInt(16), "": value.NewString("")}

// builtin makes a procedure from its signature: name(argument = default :: TYPE, …) :: (column :: TYPE, …), or without columns.
func builtin(signature, mode, description string, run func(c *calling, args []value.Value, yield yielder) error) Procedure {
	p := Procedure{Signature: signature, Mode: mode, Description: description, run: run, types: map[string]string{}, defaults: map[string]string{}}
	head, out, _ := strings.Cut(signature, ") :: (")
	name, in, _ := strings.Cut(strings.TrimSuffix(head, ")"), "(")
	fields := func(list string) (fs []bind.Field) {
		for _, text := range strings.Split(strings.TrimSuffix(list, ")"), ", ") {
			if text == "" {
				continue
			}
			id, typ, ok := strings.Cut(text, " :: ")
			id, deflt, optional := strings.Cut(id, " =")
			t, known := fieldTypes[typ]
			v, valued := defaultValues[strings.TrimSpace(deflt)]
			if !ok || !known || optional && !valued {
				panic("exec: signature of " + name + ": " + text)
			}
			if optional {
				p.defaults[id] = strings.TrimSpace(deflt)
			}
			p.types[id], p.values = typ, append(p.values, v)
			fs = append(fs, bind.Field{Name: id, Type: t, Optional: optional})
		}
		return fs
	}
	p.Name = name
	p.Out = fields(out)
	p.values = nil
	p.In = fields(in)
	p.Void = len(p.Out) == 0
	p.System = mode == "DBMS"
	p.Writes = mode == "WRITE"
	return p
}

// deprecated marks what Neo4j 5 no longer has and tools still call.
func deprecated(p Procedure) Procedure {
	p.Deprecated = true
	return p
}

// builtins are all procedures, by name: the one table of them (rules C11).
var builtins = func() []Procedure {
	list := []Procedure{
		builtin("db.labels() :: (label :: STRING)", "READ", "List all labels of the graph.", func(c *calling, _ []value.Value, yield yielder) error {
			return labels(c.env, schema.Vertex, yield)
		}),
		builtin("db.relationshipTypes() :: (relationshipType :: STRING)", "READ", "List all relationship types of the graph.", func(c *calling, _ []value.Value, yield yielder) error {
			return labels(c.env, schema.Edge, yield)
		}),
		builtin("db.propertyKeys() :: (propertyKey :: STRING)", "READ", "List all property keys of the graph.", func(c *calling, _ []value.Value, yield yielder) error {
			for _, k := range c.env.Graph.Keys() {
				if err := yield(value.NewString(k)); err != nil {
					return err
				}
			}
			return nil
		}),
		builtin("db.ping() :: (success :: BOOLEAN)", "READ", "Tell that the database answers.", func(_ *calling, _ []value.Value, yield yielder) error {
			return yield(value.NewBool(true))
		}),
		builtin("db.info() :: (id :: STRING, name :: STRING, creationDate :: STRING)", "READ", "Tell which graph is used.", func(c *calling, _ []value.Value, yield yielder) error {
			return yield(value.NewString(c.env.Graph.Name()), value.NewString(c.env.Graph.Name()), value.Value{})
		}),
		builtin("db.createLabel(newLabel :: STRING)", "WRITE", "Create a label.", func(c *calling, a []value.Value, _ yielder) error {
			return ensure(c, a[0], func(name string) error { _, err := c.env.Graph.EnsureLabel(c.x.ctx, name, schema.Vertex); return err })
		}),
		builtin("db.createRelationshipType(newRelationshipType :: STRING)", "WRITE", "Create a relationship type.", func(c *calling, a []value.Value, _ yielder) error {
			return ensure(c, a[0], func(name string) error { _, err := c.env.Graph.EnsureLabel(c.x.ctx, name, schema.Edge); return err })
		}),
		builtin("db.createProperty(newProperty :: STRING)", "WRITE", "Create a property key.", func(c *calling, a []value.Value, _ yielder) error {
			return ensure(c, a[0], func(name string) error { _, err := c.env.Graph.EnsureKey(c.x.ctx, name); return err })
		}),
		builtin("db.awaitIndex(indexName :: STRING, timeOutSeconds = 300 :: INTEGER)", "READ", "Wait for an index to come online. An index is online as soon as it exists.", func(c *calling, a []value.Value, _ yielder) error {
			return hasIndex(c, a[0])
		}),
		builtin("db.awaitIndexes(timeOutSeconds = 300 :: INTEGER)", "READ", "Wait for all indexes to come online. An index is online as soon as it exists.", nothing),
		builtin("db.resampleIndex(indexName :: STRING)", "READ", "Renew the statistics of an index. They are exact or renewed by themselves.", func(c *calling, a []value.Value, _ yielder) error {
			return hasIndex(c, a[0])
		}),
		builtin("db.resampleOutdatedIndexes()", "READ", "Renew the statistics of all indexes. They are exact or renewed by themselves.", nothing),
		builtin("db.schema.visualization() :: (nodes :: LIST<NODE>, relationships :: LIST<RELATIONSHIP>)", "READ",
			"Draw the schema: a node for each label, a relationship for each type between two labels.", visualization),
		builtin("db.schema.nodeTypeProperties() :: (nodeType :: STRING, nodeLabels :: LIST<STRING>, propertyName :: STRING, propertyTypes :: LIST<STRING>, mandatory :: BOOLEAN)", "READ",
			"List the properties of the nodes of each set of labels. It reads all nodes.", nodeTypeProperties),
		builtin("db.schema.relTypeProperties() :: (relType :: STRING, propertyName :: STRING, propertyTypes :: LIST<STRING>, mandatory :: BOOLEAN)", "READ",
			"List the properties of the relationships of each type. It reads all relationships.", relTypeProperties),
		builtin("db.stats.retrieve(section :: STRING, config = {} :: MAP) :: (section :: STRING, data :: MAP)", "READ",
			"Give the statistics of a section: GRAPH COUNTS, TOKENS or META.", retrieveStats),
		builtin("dbms.components() :: (name :: STRING, versions :: LIST<STRING>, edition :: STRING)", "DBMS", "List what serves this database.", func(_ *calling, _ []value.Value, yield yielder) error {
			return yield(value.NewString("Neo4j Kernel"), texts([]string{Version}), value.NewString("community"))
		}),
		builtin("dbms.info() :: (id :: STRING, name :: STRING, creationDate :: STRING)", "DBMS", "Tell which server this is.", func(_ *calling, _ []value.Value, yield yielder) error {
			return yield(value.NewString("hedgerow"), value.NewString("hedgerow"), value.Value{})
		}),
		builtin("dbms.clientConfig() :: (name :: STRING, description :: STRING, value :: STRING, dynamic :: BOOLEAN)", "DBMS", "List the settings that a client may want to know.", func(c *calling, _ []value.Value, yield yielder) error {
			return listSettings(c, "timeout", yield)
		}),
		builtin("dbms.listConfig(searchString = :: STRING) :: (name :: STRING, description :: STRING, value :: STRING, dynamic :: BOOLEAN)", "DBMS", "List the settings whose names contain a text.", func(c *calling, a []value.Value, yield yielder) error {
			if a[0].Kind() != value.String {
				return listSettings(c, "", yield)
			}
			return listSettings(c, a[0].Str(), yield)
		}),
		builtin("dbms.queryJmx(query :: STRING) :: (name :: STRING, description :: STRING, attributes :: MAP)", "DBMS", "Query management beans. There are those of the memory and the runtime.", queryJmx),
		builtin("dbms.showCurrentUser() :: (username :: STRING, roles :: LIST<STRING>, flags :: LIST<STRING>)", "DBMS", "Tell who the client is.", func(c *calling, _ []value.Value, yield yielder) error {
			user := ""
			if s := c.x.opt.Server; s != nil {
				user = s.User()
			}
			return yield(value.NewString(user), texts([]string{"admin", "PUBLIC"}), texts(nil))
		}),
		builtin("dbms.routing.getRoutingTable(context :: MAP, database = null :: STRING) :: (ttl :: INTEGER, servers :: LIST<MAP>)", "DBMS", "Tell where a database is served.", routingTable),
		builtin("dbms.cluster.routing.getRoutingTable(context :: MAP, database = null :: STRING) :: (ttl :: INTEGER, servers :: LIST<MAP>)", "DBMS", "Tell where a database is served.", routingTable),
		builtin("apoc.meta.data(config = {} :: MAP) :: (label :: STRING, property :: STRING, count :: INTEGER, unique :: BOOLEAN, index :: BOOLEAN, existence :: BOOLEAN, type :: STRING, "+
			"array :: BOOLEAN, sample :: LIST<ANY>, left :: INTEGER, right :: INTEGER, other :: LIST<STRING>, otherLabels :: LIST<STRING>, elementType :: STRING)", "READ",
			"Describe labels, types, their properties and what joins them as a table. It reads the whole graph.", metaData),
		builtin("apoc.meta.schema(config = {} :: MAP) :: (value :: MAP)", "READ", "Describe labels, types, their properties and what joins them as a map. It reads the whole graph.", metaSchema),
		deprecated(builtin("db.indexes() :: (id :: INTEGER, name :: STRING, state :: STRING, populationPercent :: FLOAT, uniqueness :: STRING, type :: STRING, entityType :: STRING, "+
			"labelsOrTypes :: LIST<STRING>, properties :: LIST<STRING>, provider :: STRING)", "READ", "List all indexes; SHOW INDEXES tells more.", listIndexes)),
		deprecated(builtin("db.constraints() :: (name :: STRING, description :: STRING, details :: STRING)", "READ", "List all constraints; SHOW CONSTRAINTS tells more.", listConstraints)),
		deprecated(builtin("dbms.procedures() :: (name :: STRING, signature :: STRING, description :: STRING, mode :: STRING, defaultBuiltInRoles :: LIST<STRING>, worksOnSystem :: BOOLEAN)", "DBMS",
			"List all procedures; SHOW PROCEDURES tells more.", nil)),
		deprecated(builtin("dbms.functions() :: (name :: STRING, signature :: STRING, category :: STRING, description :: STRING, aggregating :: BOOLEAN, defaultBuiltInRoles :: LIST<STRING>)", "DBMS",
			"List all functions; SHOW FUNCTIONS tells more.", listFunctions)),
		analyzeProcedure,
		statisticsProcedure,
	}
	list = append(list, graphCacheProcedures...)
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}()

func init() { // it reads the table that it stands in
	for i := range builtins {
		if builtins[i].Name == "dbms.procedures" {
			builtins[i].run = listProcedures
		}
	}
}

func nothing(*calling, []value.Value, yielder) error { return nil }

func labels(env *expr.Env, e schema.Entity, yield yielder) error {
	for _, l := range env.Graph.Labels(env.View) {
		if l.Entity == e {
			if err := yield(value.NewString(l.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func ensure(_ *calling, name value.Value, f func(string) error) error {
	if name.Kind() != value.String || name.Str() == "" {
		return dberr.New(dberr.ArgumentError, "a name is a String that is not empty, found %s", value.AppendTCK(nil, name)).WithToken("InvalidArgumentValue")
	}
	return f(name.Str())
}

func hasIndex(c *calling, name value.Value) error {
	if name.Kind() == value.String {
		for _, ix := range c.env.Graph.Indexes(c.env.View) {
			if ix.Name == name.Str() {
				return nil
			}
		}
	}
	return dberr.New(dberr.UndefinedIndex, "there is no index %s", value.AppendTCK(nil, name)).WithHint("SHOW INDEXES lists those that there are.")
}

func listSettings(c *calling, part string, yield yielder) error {
	if c.x.opt.Server == nil {
		return nil
	}
	for _, s := range c.x.opt.Server.Settings() {
		if !strings.Contains(strings.ToLower(s.Name), strings.ToLower(part)) {
			continue
		}
		if err := yield(value.NewString(s.Name), value.NewString(s.Description), value.NewString(s.Value), value.NewBool(s.Dynamic)); err != nil {
			return err
		}
	}
	return nil
}

// queryJmx knows two beans by their names in Java's virtual machine, for dashboards that draw memory and load.
func queryJmx(_ *calling, a []value.Value, yield yielder) error {
	attribute := func(text string, v value.Value) value.Value {
		return value.NewMap([]string{"description", "value"}, []value.Value{value.NewString(text), v})
	}
	beans := []struct {
		name, text string
		attributes func() value.Value
	}{
		{"java.lang:type=Memory", "Memory of the process", func() value.Value {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			used := value.NewMap([]string{"used", "committed"}, []value.Value{value.NewInt(int64(m.HeapAlloc)), value.NewInt(int64(m.HeapSys))})
			return value.NewMap([]string{"HeapMemoryUsage"}, []value.Value{attribute("HeapMemoryUsage", used)})
		}},
		{"java.lang:type=OperatingSystem", "The machine", func() value.Value {
			return value.NewMap([]string{"AvailableProcessors"}, []value.Value{attribute("AvailableProcessors", value.NewInt(int64(runtime.NumCPU())))})
		}},
	}
	if a[0].Kind() != value.String {
		return nil
	}
	for _, b := range beans {
		if !matchBean(a[0].Str(), b.name) {
			continue
		}
		if err := yield(value.NewString(b.name), value.NewString(b.text), b.attributes()); err != nil {
			return err
		}
	}
	return nil
}

// matchBean compares a name with a pattern in which a star stands for any text.
func matchBean(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	if !strings.HasPrefix(name, parts[0]) {
		return false
	}
	rest := name[len(parts[0]):]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

func routingTable(c *calling, a []value.Value, yield yielder) error {
	address := ""
	if s := c.x.opt.Server; s != nil {
		address = s.Address()
	}
	if asked, ok := a[0].Get("address"); ok && asked.Kind() == value.String && a[0].Kind() == value.Map {
		address = asked.Str()
	}
	var servers []value.Value
	for _, role := range []string{"WRITE", "READ", "ROUTE"} {
		servers = append(servers, value.NewMap([]string{"addresses", "role"}, []value.Value{texts([]string{address}), value.NewString(role)}))
	}
	return yield(value.NewInt(300), value.NewList(servers...))
}

func listIndexes(c *calling, _ []value.Value, yield yielder) error {
	for _, ix := range c.env.Graph.Indexes(c.env.View) {
		unique := "NONUNIQUE"
		if ix.Unique {
			unique = "UNIQUE"
		}
		err := yield(cell(int(ix.ID)), cell(ix.Name), cell("ONLINE"), cell(100.0), cell(unique), cell("RANGE"), cell(entityNames[ix.Entity]), cell([]string{ix.LabelName}), cell(ix.KeyNames), cell("range-1.0"))
		if err != nil {
			return err
		}
	}
	return nil
}

func listConstraints(c *calling, _ []value.Value, yield yielder) error {
	for _, k := range c.env.Graph.Constraints(c.env.View) {
		_, rule, _ := strings.Cut(createStatement(&k), " FOR ")
		details := "Constraint( name='" + k.Name + "', type='" + constraintType(&k) + "', schema=" + target(k.Entity, k.LabelName) + " )"
		if err := yield(cell(k.Name), cell("CONSTRAINT FOR "+rule), cell(details)); err != nil {
			return err
		}
	}
	return nil
}

func listProcedures(_ *calling, _ []value.Value, yield yielder) error {
	for i := range builtins {
		p := &builtins[i]
		if err := yield(cell(p.Name), cell(p.Signature), cell(p.Description), cell(p.Mode), cell([]string{"admin"}), cell(p.System)); err != nil {
			return err
		}
	}
	return nil
}

func listFunctions(_ *calling, _ []value.Value, yield yielder) error {
	for _, d := range expr.Functions() {
		if err := yield(cell(d.Name), cell(signature(d)), cell(d.Category), cell(d.Description), cell(d.Aggregate), cell([]string{"admin"})); err != nil {
			return err
		}
	}
	return nil
}
