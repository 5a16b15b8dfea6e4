package bind

import (
	"maps"
	"sort"
	"strings"
)

// nameMap maps names to variables. Copies share what they have in common: a copy starts a layer of its own, and layers grow by doubling, so
// that a statement of many thousand clauses, each of which adds a name, neither copies them all each time nor looks long for one.
type nameMap struct {
	layers []map[string]*Var // not changed any more; a later one hides the names of those before
	top    map[string]*Var
	size   int // names in all layers, hidden ones included
}

func (m *nameMap) get(name string) *Var {
	if v := m.top[name]; v != nil {
		return v
	}
	for i := len(m.layers) - 1; i >= 0; i-- {
		if v := m.layers[i][name]; v != nil {
			return v
		}
	}
	return nil
}

func (m *nameMap) set(name string, v *Var) {
	if m.top == nil {
		m.top = map[string]*Var{}
	}
	m.top[name] = v
	m.size++
}

// copy returns a map with the same names; both may be added to.
func (m *nameMap) copy() nameMap {
	if len(m.top) > 0 {
		top, ls := m.top, m.layers
		for len(ls) > 0 && len(ls[len(ls)-1]) <= 2*len(top) {
			joined := maps.Clone(ls[len(ls)-1])
			maps.Copy(joined, top)
			top, ls = joined, ls[:len(ls)-1]
		}
		m.layers, m.top = append(ls[:len(ls):len(ls)], top), nil
	}
	return nameMap{layers: m.layers, size: m.size}
}

// each calls f for every name.
func (m *nameMap) each(f func(name string, v *Var)) {
	for n, v := range m.top {
		f(n, v)
	}
	for i := len(m.layers) - 1; i >= 0; i-- {
	next:
		for n, v := range m.layers[i] {
			if m.top[n] != nil {
				continue
			}
			for _, l := range m.layers[i+1:] {
				if l[n] != nil {
					continue next
				}
			}
			f(n, v)
		}
	}
}

// scope maps names to variables. A scope is not changed once something else refers to it.
type scope struct {
	vars   nameMap
	parent *scope   // enclosing scope: of an outer query or around a lambda
	frame  *frame   // not nil: a subquery's border lies between this scope and its parent
	closed bool     // the parent is not visible (CALL { } without imports)
	csv    *LoadCSV // the nearest LOAD CSV of this level, for linenumber() and file(); or nil
	same   *scope   // inside a quantified path pattern: what the same MATCH binds, which is not visible
}

// frame records what a subquery reads of the rows around it.
type frame struct {
	free   []*Var
	lambda bool
}

func (f *frame) note(v *Var) {
	for _, w := range f.free {
		if w == v {
			return
		}
	}
	f.free = append(f.free, v)
	f.lambda = f.lambda || v.Lambda
}

func newScope(parent *scope) *scope { return &scope{parent: parent} }

// clone makes a scope of the same level that may be added to.
func (s *scope) clone() *scope {
	return &scope{vars: s.vars.copy(), parent: s.parent, frame: s.frame, closed: s.closed, csv: s.csv}
}

// cut makes an empty scope of the same level: what WITH leaves before its items are added.
func (s *scope) cut() *scope {
	return &scope{parent: s.parent, frame: s.frame, closed: s.closed}
}

// find looks a name up, also in the scopes around, and notes it in the subqueries whose borders it crosses.
func (s *scope) find(name string) *Var {
	var crossed []*frame
	for ; s != nil; s = s.parent {
		if v := s.vars.get(name); v != nil {
			for _, f := range crossed {
				f.note(v)
			}
			return v
		}
		if s.closed {
			return nil
		}
		if s.frame != nil {
			crossed = append(crossed, s.frame)
		}
	}
	return nil
}

// findCSV returns the nearest LOAD CSV and notes the use of its hidden variable in the subqueries whose borders are crossed.
func (s *scope) findCSV(pick func(*LoadCSV) *Var) *Var {
	var crossed []*frame
	for ; s != nil; s = s.parent {
		if s.csv != nil {
			v := pick(s.csv)
			for _, f := range crossed {
				f.note(v)
			}
			return v
		}
		if s.closed {
			return nil
		}
		if s.frame != nil {
			crossed = append(crossed, s.frame)
		}
	}
	return nil
}

// nearestCSV is findCSV without a use.
func (s *scope) nearestCSV() *LoadCSV {
	for ; s != nil; s = s.parent {
		if s.csv != nil || s.closed {
			return s.csv
		}
	}
	return nil
}

// has reports whether a name is visible, without noting a use.
func (s *scope) has(name string) bool {
	for ; s != nil; s = s.parent {
		if s.vars.get(name) != nil {
			return true
		}
		if s.closed {
			return false
		}
	}
	return false
}

// add makes a variable visible; an anonymous one never is.
func (s *scope) add(v *Var) {
	if !v.Anon {
		s.vars.set(v.Name, v)
	}
}

// named lists the written variables of this level by name.
func (s *scope) named() []*Var {
	var out []*Var
	s.vars.each(func(_ string, v *Var) { out = append(out, v) })
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// names lists every visible name, for "did you mean".
func (s *scope) names() []string {
	var out []string
	for ; s != nil; s = s.parent {
		s.vars.each(func(n string, _ *Var) { out = append(out, n) })
		if s.closed {
			break
		}
	}
	sort.Strings(out)
	return out
}

// Similar returns the name of all that is nearest to want, or "" if none is near.
func Similar(want string, all []string) string {
	best, bestDist := "", min(3, max(1, (len(want)+1)/3)) // of three letters, one may be wrong
	lw := strings.ToLower(want)
	for _, c := range all {
		if c == want {
			continue
		}
		lc := strings.ToLower(c)
		if lc == lw {
			return c
		}
		if d := distance(lw, lc, bestDist); d < bestDist || d == bestDist && best == "" && d < len(want) {
			best, bestDist = c, d
		}
	}
	return best
}

// distance is the edit distance of a and b, transpositions included, or limit+1 if it is larger.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit || len(a) > 64 || len(b) > 64 {
		return limit + 1
	}
	var pp, prev, cur [65]int
	for j := 0; j <= len(b); j++ {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			c := 1
			if a[i-1] == b[j-1] {
				c = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+c)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], pp[j-2]+1)
			}
		}
		pp, prev = prev, cur
	}
	return prev[len(b)]
}
