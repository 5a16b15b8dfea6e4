package plan

import (
	"os"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/testkit"
)

// BenchmarkPlan binds and plans a statement: what a plan-cache miss costs beyond parsing.
func BenchmarkPlan(b *testing.B) {
	cat := parseCatalog(b, snbCatalog)
	texts := map[string]string{"point": "MATCH (p:Person {id: $id}) RETURN p.firstName", "create": "CREATE (p:Person {id: $id, name: $name})"}
	for _, q := range []string{"is1", "ic2", "ic5", "ic1", "ic10"} {
		if t, err := os.ReadFile(testkit.Shared(b, "snb", "v1-small", "queries", q+".cypher")); err == nil {
			texts[q] = string(t)
		}
	}
	for name, text := range texts {
		st, err := cypher.Parse(text, cypher.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bound, err := bind.Bind(st, bind.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := Make(bound, cat, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
