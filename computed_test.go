package hedgerow_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/hedgerowdb/hedgerow"
)

// MERGE with a computed label or type and MERGE with a written one take the same locks: neither makes what the other makes at that moment.
func TestMergeOfComputedLabelsMakesNoDuplicates(t *testing.T) {
	ctx := context.Background()
	db := memory(t)
	if _, err := db.Exec(ctx, "CREATE (:End {k: 1}), (:End {k: 2})", nil); err != nil {
		t.Fatal(err)
	}
	texts := []string{
		"MERGE (n:Made {k: $k})", "MERGE (n:$($l) {k: $k})", "MERGE (n:$all([$l]) {k: $k})",
		"MATCH (a:End {k: 1}), (b:End {k: 2}) MERGE (a)-[:T0]->(b)", "MATCH (a:End {k: 1}), (b:End {k: 2}) MERGE (a)-[:$('T' + toString($k % 1))]->(b)",
	}
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for w := range 8 {
		wg.Go(func() {
			for i := range 60 {
				text := texts[(w+i)%len(texts)]
				if _, err := db.Exec(ctx, text, hedgerow.Params{"k": i / 3, "l": "Made"}); err != nil {
					errs <- fmt.Errorf("%s: %w", text, err)
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	if n := one(t, db, "MATCH (n:Made) RETURN count(*) - count(DISTINCT n.k)", nil); n != int64(0) {
		t.Errorf("%v duplicates of nodes", n)
	}
	if n := one(t, db, "MATCH (:End)-[r]->(:End) RETURN count(r)", nil); n != int64(1) {
		t.Errorf("%v relationships", n)
	}
}
