package qtest

import (
	"fmt"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plancache"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// prepare plans a text: by itself, or with Cache as a session does. Then the plan is made for a text of the same normal form with other literals,
// wherever there is one, so that whatever a plan takes over from a literal shows.
func (d *DB) prepare(text string, g store.Graph, v store.View) (*exec.Prepared, *plancache.Text, *plancache.Variant, error) {
	if d.Cache == nil {
		p, err := d.Prepare(text, g, v)
		return p, nil, nil, err
	}
	env := plancache.Env{Graph: g.Name()}
	t, err := d.Cache.Form(&env, text)
	if err != nil {
		return nil, nil, nil, err
	}
	r := plancache.Request{Text: t, Catalog: g, View: v, Version: d.Store.CatalogVersion(), Procs: d.procs(), Reference: d.Exec.Reference, Plan: d.Plan}
	if !t.Entry.Unfit() {
		if p, _ := t.Entry.Pick(r.Version, t.Lifted, false); p != nil {
			return p.Prep, t, p, nil
		}
		if r.Text, err = d.Cache.Form(&env, otherLiterals(t.Body)); err != nil {
			return nil, nil, nil, err
		}
		p, err := d.Cache.Make(r)
		switch {
		case err == nil:
			d.Cache.Add(t.Entry, p, nil)
			return p.Prep, t, p, nil
		case !plancache.NotLifted(err):
			return nil, nil, nil, t.Place(err, nil)
		}
	}
	t = d.Cache.Exact(t)
	r.Text = t
	p, err := d.Cache.Make(r)
	if err != nil {
		return nil, nil, nil, t.Place(err, nil)
	}
	return p.Prep, t, p, nil
}

// otherLiterals writes a text with other literals, as far as its normal form stays the same.
func otherLiterals(text string) string {
	var n, m cypher.Normalizer
	if !n.Run(text, cypher.Cypher) {
		return text
	}
	params := map[int]string{}
	write := func() string {
		var b strings.Builder
		at := 0
		for _, l := range n.Lifted {
			b.WriteString(text[at:l.Start])
			if s, ok := params[l.Param]; ok {
				b.WriteString(s)
			} else {
				b.WriteString(text[l.Start:l.Stop])
			}
			at = int(l.Stop)
		}
		return b.String() + text[at:]
	}
	out := text
	for i := range n.Lifted {
		l := &n.Lifted[i]
		if _, ok := params[l.Param]; ok {
			continue
		}
		found := false
		for _, s := range []string{otherLiteral(l, i), fmt.Sprint(l.Int + 1)} { // SKIP and LIMIT have the form of numbers of their size
			params[l.Param] = s
			if try := write(); m.Run(try, cypher.Cypher) && string(m.Key) == string(n.Key) {
				out, found = try, true
				break
			}
		}
		if !found {
			delete(params, l.Param)
		}
	}
	return out
}

func otherLiteral(l *cypher.Literal, i int) string {
	switch l.Kind {
	case cypher.Integer:
		return fmt.Sprint(1_000_003 + i)
	case cypher.Float:
		return fmt.Sprintf("%d.5", 1_000_003+i)
	case cypher.String:
		return fmt.Sprintf("'other %d'", i)
	}
	var elems []string
	for k := range l.Elems {
		elems = append(elems, otherLiteral(&l.Elems[k], 100*i+k))
	}
	return "[" + strings.Join(elems, " , ") + "]"
}
