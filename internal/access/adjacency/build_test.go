package adjacency

import (
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/txn"
)

// What is left of a relationship that changed and went, where versions have been pruned in any order, is no relationship (rules B10).
func TestVersionsLeftOfWhatIsGone(t *testing.T) {
	replaced := txn.Version{Xmin: 10, Xmax: 11, Mask: txn.XminSeen | txn.XmaxSeen}
	deleted := txn.Version{Xmin: 11, Xmax: 12, Mask: txn.XminSeen | txn.Updated | txn.XmaxSeen | txn.XmaxDelete}
	for name, versions := range map[string][]txn.Version{
		"both": {replaced, deleted}, "the last pruned": {replaced}, "the first pruned": {deleted}, "found the other way round": {deleted, replaced},
	} {
		r := reader{c: &Cache{}, out: &built{}, e: entry{near: 1, far: 2, rel: 3}}
		for _, v := range versions {
			r.version(v)
		}
		if r.e.any && !r.e.gone || r.e.n > 0 {
			t.Errorf("%s: a build takes it to be there", name)
		}
	}
}
