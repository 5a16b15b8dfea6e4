package main

import (
	"context"
	"regexp"
	"slices"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/session"
)

// profile runs a query with PROFILE and returns what it reports.
func profile(t *testing.T, s *session.Session, text string) *session.PlanReport {
	t.Helper()
	ctx := context.Background()
	p, _, err := s.PrepareCypher(ctx, "PROFILE "+text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	portal, err := s.Bind(ctx, "", p, nil)
	if err == nil {
		err = portal.Start(ctx)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for {
		row, err := portal.Next(ctx)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if row == nil {
			break
		}
	}
	r := portal.PlanReport()
	portal.Close()
	if err := s.EndImplicit(ctx); err != nil {
		t.Fatal(err)
	}
	return r
}

// guess is what was expected of an operator, and what came, over all runs of its query.
type guess struct {
	est, rows float64
	leaf      bool
}

func (g *guess) off() float64 { // the q-error; a row more or less is none
	a, b := max(g.est, 1), max(g.rows, 1)
	return max(a/b, b/a)
}

// leaves are the operators that find vertices or relationships from nothing, expands those that follow relationships to new vertices. ExpandInto is not among
// them: how often friends like each other's messages no statistics say.
var (
	snbNumber = regexp.MustCompile(`\d\d+|'[^']*'`)
	leaves    = []string{"AllNodesScan", "LabelScan", "RelTypeScan", "IndexSeek", "UniqueSeek", "NodeById"}
	expands   = []string{"Expand", "VarExpand", "PruningVarExpand", "OptionalExpand"}
)

// firsts collects leaves and the first expansion above each, and returns how many expansions and rows from outside are below an operator.
func firsts(n *session.PlanTree, into map[string]*guess) (depth int, outside float64) {
	outside = 1
	for i, c := range n.Children {
		d, o := firsts(c, into)
		if depth = max(depth, d); i == 0 {
			outside = o
		}
	}
	if n.Stats == nil {
		return depth, outside
	}
	add := func(leaf bool) {
		g := into[n.Name+" "+n.Detail]
		if g == nil {
			g = &guess{leaf: leaf}
			into[n.Name+" "+n.Detail] = g
		}
		g.est, g.rows = g.est+n.Est*outside, g.rows+float64(n.Stats.Rows)
	}
	switch {
	case n.Name == "Argument":
		outside = float64(n.Stats.Rows)
	case slices.Contains(leaves, n.Name):
		add(true)
	case slices.Contains(expands, n.Name):
		if depth++; depth == 1 {
			add(false)
		}
	case n.Name == "ExpandInto":
		depth++
	}
	return depth, outside
}

// TestSNBEstimates: with statistics, the estimates of where the reads of SNB begin are within a factor of 2 of the rows that come, and those of the first
// expansions within a factor of 6, summed over the cases: these take persons and countries that have more than others.
func TestSNBEstimates(t *testing.T) {
	ctx := context.Background()
	eng, err := engine.Open(ctx, engine.Options{Dir: snb(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close(ctx)
	db := session.New(eng.Store(), session.Options{})
	defer db.Close()
	s := db.Open(session.Client{User: "ada", Database: "main"})
	defer s.Close()
	for _, q := range snbQueries {
		text, f := snbExpected(t, q)
		all := map[string]*guess{}
		var last *session.PlanReport
		first := 0
		for _, c := range f.Cases {
			before := map[string]*guess{}
			last = profile(t, s, snbParamRE.ReplaceAllStringFunc(text, func(m string) string { return cypherLiteral(c.Params[m[1:]]) }))
			firsts(last.Root, before)
			for k, g := range before {
				k = snbNumber.ReplaceAllString(k, "…") // the values of the case
				if all[k] == nil {
					all[k] = &guess{leaf: g.leaf}
				}
				all[k].est, all[k].rows = all[k].est+g.est, all[k].rows+g.rows
			}
		}
		last.NoTiming, last.NoSummary = true, true
		for k, g := range all {
			bound := 6.0
			if g.leaf {
				bound = 2
			}
			if !g.leaf {
				first++
			}
			if g.off() > bound {
				t.Errorf("%s: %s: %g rows, expected %g\n%s", q, k, g.rows, g.est, last)
			}
		}
		if len(all) == first {
			t.Errorf("%s: no leaf was looked at\n%s", q, last)
		}
	}
}
