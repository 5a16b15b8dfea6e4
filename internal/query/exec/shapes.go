package exec

import (
	"sort"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// What a graph holds, found by reading it: the procedures about its schema. They keep one entry a set of labels, type and property.

// propShape is what is known of one property.
type propShape struct {
	n     int64 // entities that have it
	kinds map[string]bool
	list  bool // a value of it is a list
	apoc  string
}

// shape is a set of labels, or a type.
type shape struct {
	names []string
	n     int64
	props map[string]*propShape
}

func (s *shape) add(props value.Value) {
	s.n++
	for i := range props.Len() {
		key, v := props.Entry(i)
		p := s.props[key]
		if p == nil {
			p = &propShape{kinds: map[string]bool{}}
			s.props[strings.Clone(key)] = p
		}
		p.n++
		p.kinds[javaType(v)] = true
		p.list = p.list || v.Kind() == value.List
		p.apoc = apocType(v)
	}
}

func (s *shape) keys() []string {
	out := make([]string, 0, len(s.props))
	for k := range s.props {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func (p *propShape) types() []string {
	out := make([]string, 0, len(p.kinds))
	for k := range p.kinds {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// javaType is how db.schema.nodeTypeProperties names the type of a value.
func javaType(v value.Value) string {
	if v.Kind() == value.List {
		if v.Len() == 0 {
			return "StringArray"
		}
		return javaType(v.At(0)) + "Array"
	}
	if n, ok := map[value.Kind]string{value.Bool: "Boolean", value.Int: "Long", value.Float: "Double", value.String: "String", value.Date: "Date", value.Time: "Time", value.LocalTime: "LocalTime",
		value.DateTime: "DateTime", value.LocalDateTime: "LocalDateTime", value.Duration: "Duration", value.Point: "Point", value.Bytes: "ByteArray", value.Map: "Map"}[v.Kind()]; ok {
		return n
	}
	return "Any"
}

// apocType is how apoc.meta names the type of a value.
func apocType(v value.Value) string {
	if n, ok := map[value.Kind]string{value.Bool: "BOOLEAN", value.Int: "INTEGER", value.Float: "FLOAT", value.String: "STRING", value.Date: "DATE", value.Time: "TIME", value.LocalTime: "LOCAL_TIME",
		value.DateTime: "DATE_TIME", value.LocalDateTime: "LOCAL_DATE_TIME", value.Duration: "DURATION", value.Point: "POINT", value.List: "LIST", value.Map: "MAP"}[v.Kind()]; ok {
		return n
	}
	return "ANY"
}

// triple is a type between two labels.
type triple struct{ from, typ, to string }

// link counts relationships of a triple, and the most that one node has.
type link struct {
	n    int64
	many bool // a node has more than one
}

// graphShape is what reading the whole graph has found.
type graphShape struct {
	nodes []*shape // by set of labels
	rels  []*shape // by type
	links map[triple]*link
}

// nodeShapes reads all nodes.
func (c *calling) nodeShapes() ([]*shape, error) {
	g, ctx, v := c.env.Graph, c.x.ctx, c.env.View
	cur, err := g.ScanNodes(ctx, v, schema.NoLabel)
	if err != nil {
		return nil, err
	}
	defer cur.Close()
	by := map[schema.LabelSetID]*shape{}
	var hits store.Hits
	var col vec.Column
	var sets []schema.LabelSetID
	for {
		if err := c.x.check(); err != nil {
			return nil, err
		}
		if err := cur.Next(ctx, vec.MaxRows, &hits); err != nil {
			return nil, err
		}
		if len(hits.ID) == 0 {
			break
		}
		sets = grow(sets, len(hits.ID))
		if err := g.LabelSets(ctx, v, hits.ID, hits.Hint, sets); err != nil {
			return nil, err
		}
		col.Reset()
		if err := g.FetchMap(ctx, v, schema.Vertex, hits.ID, hits.Hint, &col); err != nil {
			return nil, err
		}
		for i, set := range sets {
			s := by[set]
			if s == nil {
				s = &shape{names: c.labelNames(set), props: map[string]*propShape{}}
				by[set] = s
			}
			s.add(col.Value(i))
		}
	}
	out := make([]*shape, 0, len(by))
	for _, s := range by {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return strings.Join(out[i].names, "\x00") < strings.Join(out[j].names, "\x00") })
	return out, nil
}

func (c *calling) labelNames(set schema.LabelSetID) []string {
	names := []string{}
	for _, id := range c.env.Graph.LabelSet(set) {
		names = append(names, c.env.Graph.LabelName(id))
	}
	sort.Strings(names)
	return names
}

// relShapes reads all relationships; with links it asks for the labels of their ends too.
func (c *calling) relShapes(links map[triple]*link) ([]*shape, error) {
	g, ctx, v := c.env.Graph, c.x.ctx, c.env.View
	cur, err := g.ScanRels(ctx, v, nil)
	if err != nil {
		return nil, err
	}
	defer cur.Close()
	by := map[schema.LabelID]*shape{}
	var rels store.Rels
	var col vec.Column
	var from, to []schema.LabelSetID
	last := map[schema.LabelID]uint64{} // the start of the relationship before, by type
	for {
		if err := c.x.check(); err != nil {
			return nil, err
		}
		if err := cur.Next(ctx, vec.MaxRows, &rels); err != nil {
			return nil, err
		}
		if len(rels.ID) == 0 {
			break
		}
		col.Reset()
		if err := g.FetchMap(ctx, v, schema.Edge, rels.ID, rels.Hint, &col); err != nil {
			return nil, err
		}
		if links != nil {
			from, to = grow(from, len(rels.ID)), grow(to, len(rels.ID))
			if err := g.LabelSets(ctx, v, rels.Start, nil, from); err != nil {
				return nil, err
			}
			if err := g.LabelSets(ctx, v, rels.End, nil, to); err != nil {
				return nil, err
			}
		}
		for i, id := range rels.ID {
			t := schema.LabelOf(id)
			s := by[t]
			if s == nil {
				s = &shape{names: []string{g.LabelName(t)}, props: map[string]*propShape{}}
				by[t] = s
			}
			s.add(col.Value(i))
			if links == nil {
				continue
			}
			again := last[t] == rels.Start[i]
			last[t] = rels.Start[i]
			for _, a := range g.LabelSet(from[i]) {
				for _, b := range g.LabelSet(to[i]) {
					k := triple{g.LabelName(a), s.names[0], g.LabelName(b)}
					l := links[k]
					if l == nil {
						l = &link{}
						links[k] = l
					}
					l.n++
					l.many = l.many || again
				}
			}
		}
	}
	out := make([]*shape, 0, len(by))
	for _, s := range by {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].names[0] < out[j].names[0] })
	return out, nil
}

func (c *calling) graphShape() (*graphShape, error) {
	s := &graphShape{links: map[triple]*link{}}
	var err error
	if s.nodes, err = c.nodeShapes(); err == nil {
		s.rels, err = c.relShapes(s.links)
	}
	return s, err
}

func (s *graphShape) triples() []triple {
	out := make([]triple, 0, len(s.links))
	for t := range s.links {
		out = append(out, t)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.from != b.from {
			return a.from < b.from
		}
		if a.typ != b.typ {
			return a.typ < b.typ
		}
		return a.to < b.to
	})
	return out
}

// byLabel joins the sets of labels that hold each label.
func (s *graphShape) byLabel() []*shape {
	by := map[string]*shape{}
	for _, set := range s.nodes {
		for _, name := range set.names {
			l := by[name]
			if l == nil {
				l = &shape{names: []string{name}, props: map[string]*propShape{}}
				by[name] = l
			}
			l.n += set.n
			for k, p := range set.props {
				q := l.props[k]
				if q == nil {
					q = &propShape{kinds: map[string]bool{}}
					l.props[k] = q
				}
				q.n, q.list, q.apoc = q.n+p.n, q.list || p.list, p.apoc
			}
		}
	}
	out := make([]*shape, 0, len(by))
	for _, l := range by {
		out = append(out, l)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].names[0] < out[j].names[0] })
	return out
}

func backticked(names []string) string {
	out := ""
	for _, n := range names {
		out += ":" + quoted([]string{n}, "")
	}
	return out
}

func nodeTypeProperties(c *calling, _ []value.Value, yield yielder) error {
	nodes, err := c.nodeShapes()
	if err != nil {
		return err
	}
	for _, s := range nodes {
		if len(s.props) == 0 {
			if err := yield(cell(backticked(s.names)), cell(s.names), value.Value{}, value.Value{}, cell(false)); err != nil {
				return err
			}
		}
		for _, k := range s.keys() {
			p := s.props[k]
			if err := yield(cell(backticked(s.names)), cell(s.names), cell(k), cell(p.types()), cell(p.n == s.n)); err != nil {
				return err
			}
		}
	}
	return nil
}

func relTypeProperties(c *calling, _ []value.Value, yield yielder) error {
	rels, err := c.relShapes(nil)
	if err != nil {
		return err
	}
	for _, s := range rels {
		if len(s.props) == 0 {
			if err := yield(cell(backticked(s.names)), value.Value{}, value.Value{}, cell(false)); err != nil {
				return err
			}
		}
		for _, k := range s.keys() {
			p := s.props[k]
			if err := yield(cell(backticked(s.names)), cell(k), cell(p.types()), cell(p.n == s.n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// virtual reports whether an entity is one that a procedure has drawn, which no graph holds. Their ids are the last ones that there are.
func virtual(v value.Value) bool { return v.Materialised() && v.ID() > ^uint64(1<<20) }

// visualization draws labels and types as nodes and relationships that no graph holds: their ids are negative.
func visualization(c *calling, _ []value.Value, yield yielder) error {
	s, err := c.graphShape()
	if err != nil {
		return err
	}
	ids := map[string]uint64{}
	var nodes, rels []value.Value
	for i, l := range s.byLabel() {
		name := l.names[0]
		ids[name] = ^uint64(i)
		indexes, constraints := []string{}, []string{}
		for _, ix := range c.env.Graph.Indexes(c.env.View) {
			if ix.Entity == schema.Vertex && ix.LabelName == name && ix.Constraint == "" {
				indexes = append(indexes, strings.Join(ix.KeyNames, ","))
			}
		}
		for _, k := range c.env.Graph.Constraints(c.env.View) {
			if k.Entity == schema.Vertex && k.LabelName == name {
				constraints = append(constraints, createStatement(&k))
			}
		}
		nodes = append(nodes, value.NewNodeFull(ids[name], []string{name}, value.NewMap([]string{"name", "indexes", "constraints"}, []value.Value{cell(name), cell(indexes), cell(constraints)})))
	}
	for i, t := range s.triples() {
		rels = append(rels, value.NewRelFull(^uint64(i), ids[t.from], ids[t.to], t.typ, value.NewMap([]string{"name"}, []value.Value{cell(t.typ)})))
	}
	return yield(value.NewList(nodes...), value.NewList(rels...))
}

// rules tells which indexes and constraints a property has.
func (c *calling) rules(e schema.Entity, name, key string) (unique, index, existence bool) {
	for _, ix := range c.env.Graph.Indexes(c.env.View) {
		index = index || ix.Entity == e && ix.LabelName == name && len(ix.KeyNames) > 0 && ix.KeyNames[0] == key
	}
	for _, k := range c.env.Graph.Constraints(c.env.View) {
		if k.Entity != e || k.LabelName != name {
			continue
		}
		for _, n := range k.KeyNames {
			if n == key {
				unique = unique || (k.Kind == schema.Unique || k.Kind == schema.NodeKey) && len(k.KeyNames) == 1
				existence = existence || k.Kind == schema.NotNull || k.Kind == schema.NodeKey
			}
		}
	}
	return
}

func metaData(c *calling, _ []value.Value, yield yielder) error {
	s, err := c.graphShape()
	if err != nil {
		return err
	}
	property := func(e schema.Entity, element, name, key string, p *propShape) error {
		unique, index, existence := c.rules(e, name, key)
		return yield(cell(name), cell(key), cell(0), cell(unique), cell(index), cell(existence), cell(p.apoc), cell(p.list), value.Value{}, cell(0), cell(0), texts(nil), texts(nil), cell(element))
	}
	outgoing := map[string]map[string][]string{} // by label and type
	counts := map[[2]string]int64{}
	many := map[[2]string]bool{}
	byType := map[string]map[string][]string{}
	for _, t := range s.triples() {
		if outgoing[t.from] == nil {
			outgoing[t.from] = map[string][]string{}
		}
		if byType[t.typ] == nil {
			byType[t.typ] = map[string][]string{}
		}
		outgoing[t.from][t.typ] = append(outgoing[t.from][t.typ], t.to)
		byType[t.typ][t.from] = append(byType[t.typ][t.from], t.to)
		k := [2]string{t.from, t.typ}
		counts[k] += s.links[t].n
		many[k] = many[k] || s.links[t].many
	}
	joined := func(name, prop string, k [2]string, other []string, element string) error {
		left := int64(1)
		if many[k] {
			left = 2
		}
		return yield(cell(name), cell(prop), cell(counts[k]), cell(false), cell(false), cell(false), cell("RELATIONSHIP"), cell(many[k]), value.Value{}, cell(left), cell(1), cell(other), texts(nil), cell(element))
	}
	for _, r := range s.rels {
		name := r.names[0]
		for _, from := range sortedKeys(byType[name]) {
			if err := joined(name, from, [2]string{from, name}, byType[name][from], "relationship"); err != nil {
				return err
			}
		}
		for _, k := range r.keys() {
			if err := property(schema.Edge, "relationship", name, k, r.props[k]); err != nil {
				return err
			}
		}
	}
	for _, l := range s.byLabel() {
		name := l.names[0]
		for _, t := range sortedKeys(outgoing[name]) {
			if err := joined(name, t, [2]string{name, t}, outgoing[name][t], "node"); err != nil {
				return err
			}
		}
		for _, k := range l.keys() {
			if err := property(schema.Vertex, "node", name, k, l.props[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

func sortedKeys(m map[string][]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func metaSchema(c *calling, _ []value.Value, yield yielder) error {
	s, err := c.graphShape()
	if err != nil {
		return err
	}
	all := value.NewMapBuilder()
	properties := func(e schema.Entity, sh *shape) value.Value {
		b := value.NewMapBuilder()
		for _, k := range sh.keys() {
			p := sh.props[k]
			unique, index, existence := c.rules(e, sh.names[0], k)
			if e == schema.Edge {
				b.Put(k, value.NewMap([]string{"type", "array", "existence"}, []value.Value{cell(p.apoc), cell(p.list), cell(existence)}))
				continue
			}
			b.Put(k, value.NewMap([]string{"type", "existence", "unique", "indexed"}, []value.Value{cell(p.apoc), cell(existence), cell(unique), cell(index)}))
		}
		return b.Map()
	}
	byType := map[string]*shape{}
	for _, r := range s.rels {
		byType[r.names[0]] = r
		all.Put(r.names[0], value.NewMap([]string{"type", "count", "properties"}, []value.Value{cell("relationship"), cell(r.n), properties(schema.Edge, r)}))
	}
	for _, l := range s.byLabel() { // a label wins over a type of its name
		name := l.names[0]
		type joined struct {
			n      int64
			labels []string
		}
		rels := map[string]*joined{}
		dirs := map[string]string{}
		for _, t := range s.triples() {
			for _, end := range []struct{ here, there, dir string }{{t.from, t.to, "out"}, {t.to, t.from, "in"}} {
				if end.here != name || dirs[t.typ] != "" && dirs[t.typ] != end.dir {
					continue
				}
				dirs[t.typ] = end.dir
				j := rels[t.typ]
				if j == nil {
					j = &joined{}
					rels[t.typ] = j
				}
				j.n += s.links[t].n
				j.labels = append(j.labels, end.there)
			}
		}
		b := value.NewMapBuilder()
		for t, j := range rels {
			b.Put(t, value.NewMap([]string{"direction", "count", "labels", "properties"}, []value.Value{cell(dirs[t]), cell(j.n), cell(j.labels), properties(schema.Edge, byType[t])}))
		}
		all.Put(name, value.NewMap([]string{"type", "count", "labels", "properties", "relationships"}, []value.Value{cell("node"), cell(l.n), texts(nil), properties(schema.Vertex, l), b.Map()}))
	}
	return yield(all.Map())
}

// retrieveStats gives what tools that look at plans of others ask for.
func retrieveStats(c *calling, a []value.Value, yield yielder) error {
	g, v := c.env.Graph, c.env.View
	section := ""
	if a[0].Kind() == value.String {
		section = strings.ToUpper(a[0].Str())
	}
	count := func(n float64, kv ...string) value.Value {
		b := value.NewMapBuilder()
		b.Put("count", cell(int64(n)))
		for i := 0; i < len(kv); i += 2 {
			b.Put(kv[i], cell(kv[i+1]))
		}
		return b.Map()
	}
	switch section {
	case "GRAPH COUNTS":
		nodes, rels := []value.Value{count(g.NodeCount(schema.NoLabel))}, []value.Value{count(g.RelCount(schema.NoLabel))}
		for _, l := range g.Labels(v) {
			if l.Entity == schema.Vertex {
				nodes = append(nodes, count(g.NodeCount(l.ID), "label", l.Name))
			} else {
				rels = append(rels, count(g.RelCount(l.ID), "relationshipType", l.Name))
			}
		}
		var indexes, constraints []value.Value
		for _, ix := range g.Indexes(v) {
			indexes = append(indexes, value.NewMap([]string{"labels", "properties", "indexType", "totalSize", "estimatedUniqueSize"},
				[]value.Value{cell([]string{ix.LabelName}), cell(ix.KeyNames), cell("RANGE"), cell(int64(g.NodeCount(ix.Label))), cell(int64(g.Distinct(ix.ID)))}))
		}
		for _, k := range g.Constraints(v) {
			constraints = append(constraints, value.NewMap([]string{"label", "properties", "type"}, []value.Value{cell(k.LabelName), cell(k.KeyNames), cell(constraintType(&k))}))
		}
		return yield(cell(section), value.NewMap([]string{"nodes", "relationships", "indexes", "constraints"},
			[]value.Value{value.NewList(nodes...), value.NewList(rels...), value.NewList(indexes...), value.NewList(constraints...)}))
	case "TOKENS":
		var ls, ts []string
		for _, l := range g.Labels(v) {
			if l.Entity == schema.Vertex {
				ls = append(ls, l.Name)
			} else {
				ts = append(ts, l.Name)
			}
		}
		return yield(cell(section), value.NewMap([]string{"labels", "relationshipTypes", "propertyKeys"}, []value.Value{texts(ls), texts(ts), texts(g.Keys())}))
	case "META":
		return yield(cell(section), value.NewMap([]string{"graphToken", "product", "version"}, []value.Value{cell(g.Name()), cell("Hedgerow"), cell(Version)}))
	}
	return dberr.New(dberr.ArgumentError, "there is no section %s of statistics", value.AppendTCK(nil, a[0])).WithToken("InvalidArgumentValue").
		WithHint("The sections are GRAPH COUNTS, TOKENS and META.")
}
