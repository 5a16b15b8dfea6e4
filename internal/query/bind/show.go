package bind

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
)

type showCol struct {
	name string
	t    expr.Type
	all  bool // shown with YIELD only
}

// cols makes the columns of a SHOW command: those shown by default, and those that YIELD may ask for, marked by a star.
func cols(list ...any) []showCol {
	var out []showCol
	for i := 0; i < len(list); i += 2 {
		c := showCol{name: list[i].(string), t: list[i+1].(expr.Type)}
		if c.name[0] == '*' {
			c.name, c.all = c.name[1:], true
		}
		out = append(out, c)
	}
	return out
}

// showColumns are the columns of each SHOW command, with the names and in the order of Neo4j 5.
var showColumns = func() map[ShowKind][]showCol {
	i, s, f, b, l, m, d := expr.TInt, expr.TString, expr.TFloat, expr.TBool, expr.TList, expr.TMap, expr.Any
	return map[ShowKind][]showCol{
		ShowIndexes: cols("id", i, "name", s, "state", s, "populationPercent", f, "type", s, "entityType", s, "labelsOrTypes", l, "properties", l, "indexProvider", s,
			"owningConstraint", s, "lastRead", d, "readCount", i, "*trackedSince", d, "*options", m, "*failureMessage", s, "*createStatement", s),
		ShowConstraints: cols("id", i, "name", s, "type", s, "entityType", s, "labelsOrTypes", l, "properties", l, "ownedIndex", s, "propertyType", s, "*options", m, "*createStatement", s),
		ShowFunctions: cols("name", s, "category", s, "description", s, "*signature", s, "*isBuiltIn", b, "*argumentDescription", l, "*returnDescription", s, "*aggregating", b,
			"*rolesExecution", l, "*rolesBoostedExecution", l, "*isDeprecated", b, "*deprecatedBy", s),
		ShowProcedures: cols("name", s, "description", s, "mode", s, "worksOnSystem", b, "*signature", s, "*argumentDescription", l, "*returnDescription", l, "*admin", b,
			"*rolesExecution", l, "*rolesBoostedExecution", l, "*isDeprecated", b, "*deprecatedBy", s, "*option", m),
		ShowGraphs: cols("name", s, "type", s, "aliases", l, "access", s, "*databaseID", s, "*serverID", s, "address", s, "role", s, "writer", b, "requestedStatus", s, "currentStatus", s,
			"statusMessage", s, "default", b, "home", b, "*currentPrimariesCount", i, "*currentSecondariesCount", i, "*requestedPrimariesCount", i, "*requestedSecondariesCount", i,
			"*creationTime", d, "*lastStartTime", d, "*lastStopTime", d, "*store", s, "*lastCommittedTxn", i, "*replicationLag", i, "constituents", l),
		ShowSettings: cols("name", s, "value", s, "isDynamic", b, "defaultValue", s, "description", s, "*startupValue", s, "*isExplicitlySet", b, "*validValues", s, "*isDeprecated", b),
		ShowTransactions: cols("database", s, "transactionId", s, "currentQueryId", s, "*outerTransactionId", s, "connectionId", s, "clientAddress", s, "username", s, "*metaData", m,
			"currentQuery", s, "*parameters", m, "*planner", s, "*runtime", s, "*indexes", l, "startTime", s, "*currentQueryStartTime", s, "*protocol", s, "*requestUri", s, "status", s,
			"*currentQueryStatus", s, "*statusDetails", s, "*resourceInformation", m, "*activeLockCount", i, "*currentQueryActiveLockCount", i, "elapsedTime", d, "*cpuTime", d, "*waitTime", d,
			"*idleTime", d, "*currentQueryElapsedTime", d, "*currentQueryCpuTime", d, "*currentQueryWaitTime", d, "*currentQueryIdleTime", d, "*currentQueryAllocatedBytes", i,
			"*allocatedDirectBytes", i, "*estimatedUsedHeapMemory", i, "*pageHits", i, "*pageFaults", i, "*currentQueryPageHits", i, "*currentQueryPageFaults", i, "*initializationStackTrace", s),
		TerminateTransactions: cols("transactionId", s, "username", s, "message", s),
		ShowUsers:             cols("user", s, "roles", l, "passwordChangeRequired", b, "suspended", b, "home", s),
	}
}()

// show binds a SHOW command as a query over its rows.
func (b *binder) show(c *cypher.Show) *Query {
	kinds := map[cypher.ShowKind]ShowKind{cypher.ShowIndexes: ShowIndexes, cypher.ShowConstraints: ShowConstraints, cypher.ShowFunctions: ShowFunctions,
		cypher.ShowProcedures: ShowProcedures, cypher.ShowDatabases: ShowGraphs, cypher.ShowSettings: ShowSettings, cypher.ShowTransactions: ShowTransactions,
		cypher.ShowCurrentUser: ShowUsers, cypher.ShowUsers: ShowUsers}
	kind, ok := kinds[c.Kind]
	if !ok {
		b.fail(dberr.FeatureNotSupported, "", c, "this SHOW command is not supported yet")
	}
	return b.showRows(c, kind, "SHOW")
}

// terminate binds TERMINATE TRANSACTIONS as a query over what became of them.
func (b *binder) terminate(c *cypher.Terminate) *Query {
	return b.showRows(&cypher.Show{Span: c.Span, Names: c.Names, Yield: c.Yield, Return: c.Return}, TerminateTransactions, "TERMINATE TRANSACTIONS")
}

func (b *binder) showRows(c *cypher.Show, kind ShowKind, word string) *Query {
	place := Place{Name: word, Pos: c.Pos(), End: c.End()}
	src := &ShowRows{Place: place, Kind: kind, Filter: c.Filter}
	p := &part{b: b, sc: newScope(nil), out: &Part{}, kind: queryShowTail}
	p.add(src)
	full := newScope(nil)
	star := c.Yield != nil && (c.Yield.Star || len(c.Yield.Items) > 0)
	vars := map[string]*Var{}
	var order []*Var
	for _, col := range showColumns[kind] {
		if col.all && !star {
			continue
		}
		v := b.newVar(col.name, ValueVar, col.t, c.Pos())
		src.Yields = append(src.Yields, Yield{Field: col.name, Var: v})
		vars[col.name] = v
		full.add(v)
		order = append(order, v)
	}
	for _, n := range c.Names {
		src.Args = append(src.Args, b.expr(ectx{sc: newScope(nil), where: "SHOW", const_: true}, n))
	}
	p.sc = full
	if y := c.Yield; y != nil {
		pr := &Projection{Place: place}
		next := newScope(nil)
		if y.Star {
			for _, v := range order {
				pr.Items = append(pr.Items, Item{Var: v, Expr: v.Col(y.Pos(), y.Pos()), Name: v.Name})
				next.add(v)
			}
		}
		var outVars []*Var
		for _, it := range y.Items {
			v := vars[it.Column.Name]
			if v == nil {
				b.undefined(full, it.Column, it.Column.Name)
			}
			nv := v
			if it.Alias != nil && it.Alias.Name != v.Name {
				nv = b.alias(it.Alias.Name, v.Col(it.Pos(), it.End()), it.Pos())
			}
			if next.vars.get(nv.Name) != nil {
				b.fail(dberr.VariableAlreadyBound, "VariableAlreadyBound", it, "column `%s` is defined more than once", nv.Name)
			}
			pr.Items = append(pr.Items, Item{Var: nv, Expr: v.Col(it.Pos(), it.End()), Name: nv.Name})
			next.add(nv)
			outVars = append(outVars, nv)
		}
		for _, s := range y.OrderBy {
			pr.OrderBy = append(pr.OrderBy, SortItem{Expr: b.expr(b.ectx(next, "ORDER BY"), s.Expr), Desc: s.Desc})
		}
		pr.Skip, pr.Limit = b.count(y.Skip, "SKIP"), b.count(y.Limit, "LIMIT")
		pr.Where = b.predicate(b.ectx(next, "WHERE"), y.Where)
		p.add(pr)
		p.sc = next
		if !y.Star {
			order = outVars
		}
	}
	if c.Where != nil {
		pr := &Projection{Place: place, Where: b.predicate(b.ectx(p.sc, "WHERE"), c.Where)}
		for _, v := range order {
			pr.Items = append(pr.Items, Item{Var: v, Expr: v.Col(c.Pos(), c.Pos()), Name: v.Name})
		}
		p.add(pr)
	}
	if c.Return != nil {
		p.projection(c.Return, &c.Return.Projection, nil, true)
		return &Query{Parts: []*Part{p.out}, Columns: p.names, Cols: p.out.Out}
	}
	pr := &Projection{Place: place, Return: true}
	for _, v := range order {
		pr.Items = append(pr.Items, Item{Var: v, Expr: v.Col(c.Pos(), c.Pos()), Name: v.Name})
		p.names = append(p.names, v.Name)
	}
	p.add(pr)
	p.out.Out = order
	return &Query{Parts: []*Part{p.out}, Columns: p.names, Cols: order}
}
